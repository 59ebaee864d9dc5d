//! Names of processes that are valid in every process: a job, named by where its segment can be
//! opened, and a process of a job, named by its node and its slot there.

use crate::ids::{NodeId, Slot};
use crate::lifeline;
use crate::segment::Segment;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

/// A job, named by where its segment can be opened: in `mpirun`, or in a process that was started
/// without `mpirun`. All processes see the same order of jobs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct JobId {
    pub inode: u64,
    /// The process that holds the segment, and the number of the descriptor there.
    pub holder: u32,
    pub fd: u32,
}

/// Set in the holder of a job that has a segment on each of several hosts: no process has such a number.
const ON_HOSTS: u32 = 1 << 31;

impl JobId {
    /// A job on several hosts, by the random name that all of its processes know.
    pub fn on_hosts(name: [u8; 16]) -> JobId {
        let word = u128::from_le_bytes(name);
        JobId { inode: word as u64, holder: (word >> 64) as u32 | ON_HOSTS, fd: (word >> 96) as u32 }
    }

    /// Maps the segment of the job. Fails when its holder has ended or belongs to another user.
    pub fn open(&self) -> io::Result<Segment> {
        if self.holder & ON_HOSTS != 0 {
            let text = "connecting to a job on several hosts is not supported yet";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        let path = format!("/proc/{}/fd/{}", self.holder, self.fd);
        let another = || io::Error::new(io::ErrorKind::NotFound, "it is another file now");
        // Opening a device or a pipe could block or have side effects: check first.
        let found = std::fs::metadata(&path)?;
        if !found.is_file() || found.ino() != self.inode {
            return Err(another());
        }
        let opened = File::options().read(true).write(true).open(path)?;
        if lifeline::inode(opened.as_fd())? != self.inode {
            return Err(another());
        }
        Segment::attach(opened.as_fd())
    }
}

/// A process of any job: the only name of a process that may be sent to other processes. All
/// processes see the same order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProcessId {
    pub job: JobId,
    /// The node of its job that it runs on.
    pub node: NodeId,
    /// Its slot in that node's segment.
    pub slot: Slot,
}

impl ProcessId {
    /// Number of words of a process id in a message.
    pub const WORDS: usize = 3;

    pub fn words(self) -> [u64; ProcessId::WORDS] {
        let JobId { inode, holder, fd } = self.job;
        let place = u64::from(self.node.number()) << 32 | self.slot.index() as u64;
        [inode, u64::from(holder) << 32 | u64::from(fd), place]
    }

    /// `None` for words that are not a valid process id.
    pub fn from_words(words: &[u64]) -> Option<ProcessId> {
        let &[inode, held, place] = words else { return None };
        let job = JobId { inode, holder: (held >> 32) as u32, fd: held as u32 };
        Some(ProcessId { job, node: NodeId::new((place >> 32) as u32), slot: Slot::new(place as u32 as usize)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn words_and_back() {
        let job = JobId { inode: u64::MAX - 5, holder: 4_000_000, fd: 77 };
        let id = ProcessId { job, node: NodeId::new(16_383), slot: Slot::new(123).unwrap() };
        assert_eq!(ProcessId::from_words(&id.words()), Some(id));
        assert_eq!(ProcessId::from_words(&[1, 2, u64::MAX]), None);
        assert_eq!(ProcessId::from_words(&[1, 2]), None);
    }

    #[test]
    fn a_segment_is_opened_where_it_is_held_and_nothing_else_is() {
        let (fd, segment) = Segment::create(3, 1).unwrap();
        let inode = lifeline::inode(fd.as_fd()).unwrap();
        let job = JobId { inode, holder: std::process::id(), fd: fd.as_raw_fd() as u32 };
        assert_eq!(job.open().unwrap().layout(), segment.layout());
        assert!(JobId { inode: inode + 1, ..job }.open().is_err());
        assert!(JobId { fd: 1 << 20, ..job }.open().is_err());
    }
}
