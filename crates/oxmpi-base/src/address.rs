//! Where a process can be found by processes of other jobs on the node: its job's segment, and its slot in there.

use crate::lifeline;
use crate::segment::Segment;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

/// A job, known by where its segment can be opened: in `mpirun`, or in a process that was started alone. The order is one
/// that all processes agree on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct JobId {
    pub inode: u64,
    /// The process that holds the segment, and the descriptor's number there.
    pub holder: u32,
    pub fd: u32,
}

impl JobId {
    /// Maps the job's segment; an error when its holder has ended, or is another user's.
    pub fn open(&self) -> io::Result<Segment> {
        let path = format!("/proc/{}/fd/{}", self.holder, self.fd);
        let another = || io::Error::new(io::ErrorKind::NotFound, "it is another file now");
        // Opening a device or a pipe could wait or have effects: look first.
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

/// A process of any job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Address {
    pub job: JobId,
    /// Its number in its own job.
    pub slot: u32,
}

impl Address {
    /// How many words an address is in a message.
    pub const WORDS: usize = 3;

    pub fn words(self) -> [u64; Address::WORDS] {
        let JobId { inode, holder, fd } = self.job;
        [inode, u64::from(holder) << 32 | u64::from(fd), u64::from(self.slot)]
    }

    pub fn from_words(words: &[u64]) -> Address {
        let job = JobId { inode: words[0], holder: (words[1] >> 32) as u32, fd: words[1] as u32 };
        Address { job, slot: words[2] as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn words_and_back() {
        let address = Address { job: JobId { inode: u64::MAX - 5, holder: 4_000_000, fd: 77 }, slot: 123 };
        assert_eq!(Address::from_words(&address.words()), address);
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
