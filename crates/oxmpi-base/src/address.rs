//! Names of processes that are valid in every process: a job, named by where its segment can be
//! opened and on which machine, and a process of a job, named by its node and its slot there.

use crate::ids::{NodeId, Slot};
use crate::lifeline;
use crate::segment::Segment;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

/// A job, named by where its segment can be opened: in `mpirun`, or in a process that was started
/// without `mpirun`. All processes see the same order of jobs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct JobId {
    pub inode: u64,
    /// The process that holds the segment, and the number of the descriptor there.
    pub holder: u32,
    pub fd: u32,
    /// [The machine](this_host) where that is so; 0 for a job on several hosts.
    pub host: u64,
}

/// Set in the holder of a job that has a segment on each of several hosts: no process has such a number.
const ON_HOSTS: u32 = 1 << 31;

impl JobId {
    /// A job on several hosts, by the random name that all of its processes know.
    pub fn on_hosts(name: [u8; 16]) -> JobId {
        let word = u128::from_le_bytes(name);
        JobId { inode: word as u64, holder: (word >> 64) as u32 | ON_HOSTS, fd: (word >> 96) as u32, host: 0 }
    }

    /// A job on this machine.
    pub fn here(inode: u64, holder: u32, fd: u32) -> JobId {
        JobId { inode, holder, fd, host: this_host() }
    }

    /// Whether it has a segment on each of several hosts.
    pub fn is_on_hosts(&self) -> bool {
        self.holder & ON_HOSTS != 0
    }

    /// Whether processes of the two jobs share memory: both have one segment, on the same machine. Both sides come to
    /// the same answer.
    pub fn shares_machine(&self, other: &JobId) -> bool {
        !self.is_on_hosts() && !other.is_on_hosts() && self.host == other.host
    }

    pub fn words(self) -> [u64; JobId::WORDS] {
        [self.inode, u64::from(self.holder) << 32 | u64::from(self.fd), self.host]
    }

    pub fn from_words([inode, held, host]: [u64; JobId::WORDS]) -> JobId {
        JobId { inode, holder: (held >> 32) as u32, fd: held as u32, host }
    }

    /// Number of words of a job in a message.
    pub const WORDS: usize = 3;

    /// Maps the segment of the job. Fails when its holder has ended or belongs to another user.
    pub fn open(&self) -> io::Result<Segment> {
        if self.is_on_hosts() || self.host != this_host() {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "its memory is on another machine"));
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

/// Names this machine as far as processes can open each other's memory: other machines and other process namespaces have
/// other numbers.
pub fn this_host() -> u64 {
    static HOST: OnceLock<u64> = OnceLock::new();
    *HOST.get_or_init(|| {
        let boot = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let space = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        let bytes = boot.iter().chain(space.as_os_str().as_encoded_bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    })
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
    pub const WORDS: usize = JobId::WORDS + 1;

    pub fn words(self) -> [u64; ProcessId::WORDS] {
        let [inode, held, host] = self.job.words();
        let place = u64::from(self.node.number()) << 32 | self.slot.index() as u64;
        [inode, held, host, place]
    }

    /// `None` for words that are not a valid process id.
    pub fn from_words(words: &[u64]) -> Option<ProcessId> {
        let &[inode, held, host, place] = words else { return None };
        let job = JobId::from_words([inode, held, host]);
        Some(ProcessId { job, node: NodeId::new((place >> 32) as u32), slot: Slot::new(place as u32 as usize)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn words_and_back() {
        let job = JobId { inode: u64::MAX - 5, holder: 4_000_000, fd: 77, host: 9 };
        let id = ProcessId { job, node: NodeId::new(16_383), slot: Slot::new(123).unwrap() };
        assert_eq!(ProcessId::from_words(&id.words()), Some(id));
        assert_eq!(ProcessId::from_words(&[1, 2, 3, u64::MAX]), None);
        assert_eq!(ProcessId::from_words(&[1, 2, 3]), None);
    }

    #[test]
    fn a_segment_is_opened_where_it_is_held_and_nothing_else_is() {
        let (fd, segment) = Segment::create(3, 1).unwrap();
        let inode = lifeline::inode(fd.as_fd()).unwrap();
        let job = JobId::here(inode, std::process::id(), fd.as_raw_fd() as u32);
        assert_eq!(job.open().unwrap().layout(), segment.layout());
        assert!(JobId { inode: inode + 1, ..job }.open().is_err());
        assert!(JobId { fd: 1 << 20, ..job }.open().is_err());
        assert!(JobId { host: job.host + 1, ..job }.open().is_err());
        assert!(job.shares_machine(&JobId { inode: 3, ..job }) && !job.shares_machine(&JobId { host: 1, ..job }));
        assert!(!job.shares_machine(&JobId::on_hosts([7; 16])));
    }
}
