//! Foreign senders of a segment: processes of other jobs that send to ranks of this job.
//!
//! A foreign sender has a slot of the table while it is connected, and with the slot a ring to each
//! rank, in the part of the file that is mapped ring by ring. It sets its bit in the bitmap of each
//! rank that it sends to, once, and rings the rank's bell.
//!
//! ```text
//! Free --claim--> Taken --its name is written--> Present --leave--> Left
//!   ^                                                                 |
//!   +---------------------- the last share is given up ---------------+
//! ```
//!
//! The slot is shared by the foreign sender and each rank that it has opened a ring to. A rank
//! gives up its share when the foreign sender has left and its ring is empty and zeroed, so that
//! the next foreign sender finds the initial state.

use crate::address::ProcessId;
use crate::sync::{AtomicU64, Ordering};

/// Number of foreign senders that a segment can have at a time.
pub const FOREIGN_SENDERS: usize = 4096;

/// Cells of a foreign sender's ring: as many as the largest ring between ranks has, so that the
/// same packets fit.
pub const FOREIGN_CELLS: usize = 2047;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Free,
    Taken,
    Present,
    Left,
}

#[repr(C, align(64))]
pub struct ForeignSender {
    /// The foreign sender's process id (high 32 bits) and its phase.
    state: AtomicU64,
    shares: AtomicU64,
    process: [AtomicU64; ProcessId::WORDS],
}

impl ForeignSender {
    /// Takes a free slot for the process; `false` when it is not free.
    pub fn claim(&self, pid: u32, process: ProcessId) -> bool {
        let taken = word(pid, Phase::Taken);
        // Acquire: the previous users of the slot have finished with it.
        if self.state.compare_exchange(0, taken, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        self.shares.store(1, Ordering::Relaxed);
        for (place, word) in self.process.iter().zip(process.words()) {
            place.store(word, Ordering::Relaxed);
        }
        // Release: a process that sees the phase also sees the name.
        self.state.store(word(pid, Phase::Present), Ordering::Release);
        true
    }

    pub fn phase(&self) -> Phase {
        match self.state.load(Ordering::Acquire) as u32 {
            0 => Phase::Free,
            1 => Phase::Taken,
            2 => Phase::Present,
            _ => Phase::Left,
        }
    }

    /// The process that has the slot; 0 if it is free.
    pub fn pid(&self) -> u32 {
        (self.state.load(Ordering::Relaxed) >> 32) as u32
    }

    /// The name of a foreign sender that has set its bit somewhere; `None` if it wrote an invalid
    /// name.
    pub fn process(&self) -> Option<ProcessId> {
        ProcessId::from_words(&self.process.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }

    /// Adds a share for a rank to which the foreign sender opens a ring.
    pub fn add_share(&self) {
        self.shares.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that the foreign sender has left or died. Returns `false` if that was recorded
    /// before. The caller then notifies the ranks and gives up the foreign sender's share.
    pub fn leave(&self, pid: u32) -> bool {
        let left = word(pid, Phase::Left);
        [Phase::Present, Phase::Taken].into_iter().any(|phase| {
            // Release: its last packets come before it.
            self.state.compare_exchange(word(pid, phase), left, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }

    /// Gives up one share; with the last one the slot becomes free.
    pub fn give_up_share(&self) {
        if self.shares.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.state.store(0, Ordering::Release);
        }
    }
}

fn word(pid: u32, phase: Phase) -> u64 {
    let phase = match phase {
        Phase::Free => return 0,
        Phase::Taken => 1,
        Phase::Present => 2,
        Phase::Left => 3,
    };
    u64::from(pid) << 32 | phase
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::address::JobId;
    use crate::ids::{NodeId, Slot};
    use crate::segment::Segment;

    fn process(slot: usize) -> ProcessId {
        let slot = Slot::new(slot).unwrap();
        ProcessId { job: JobId { inode: 9, holder: 8, fd: 7, host: 0 }, node: NodeId::FIRST, slot }
    }

    #[test]
    fn a_slot_is_free_again_when_all_have_given_it_up() {
        let (_fd, segment) = Segment::create(2, 1).unwrap();
        let foreign_sender = segment.foreign_sender(5);
        assert_eq!((foreign_sender.phase(), foreign_sender.pid()), (Phase::Free, 0));
        assert!(foreign_sender.claim(77, process(3)));
        assert!(!foreign_sender.claim(78, process(4)));
        assert_eq!(
            (foreign_sender.phase(), foreign_sender.pid(), foreign_sender.process()),
            (Phase::Present, 77, Some(process(3)))
        );
        foreign_sender.add_share();
        foreign_sender.add_share();
        assert!(!foreign_sender.leave(78), "it is another's");
        assert!(foreign_sender.leave(77));
        assert!(!foreign_sender.leave(77), "once is enough");
        foreign_sender.give_up_share();
        foreign_sender.give_up_share();
        assert_eq!(foreign_sender.phase(), Phase::Left);
        assert!(!foreign_sender.claim(78, process(4)));
        foreign_sender.give_up_share();
        assert!(foreign_sender.claim(78, process(4)));
        assert_eq!((foreign_sender.pid(), foreign_sender.process()), (78, Some(process(4))));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::address::JobId;
    use crate::ids::{NodeId, Slot};
    use loom::sync::Arc;

    fn process(slot: usize) -> ProcessId {
        let slot = Slot::new(slot).unwrap();
        ProcessId { job: JobId { inode: 1, holder: 1, fd: 1, host: 0 }, node: NodeId::FIRST, slot }
    }

    /// A foreign sender leaves while its receiver gives up its share and a second foreign sender
    /// claims the slot: the second one gets the slot only when both are done, and then sees their
    /// writes.
    #[test]
    fn loom_a_free_slot_is_reused() {
        loom::model(|| {
            let foreign_sender = Arc::new(ForeignSender {
                state: AtomicU64::new(0),
                shares: AtomicU64::new(0),
                process: std::array::from_fn(|_| AtomicU64::new(0)),
            });
            let cleaned = Arc::new(AtomicU64::new(0));
            assert!(foreign_sender.claim(1, process(1)));
            foreign_sender.add_share();
            let receiver = {
                let (foreign_sender, cleaned) = (Arc::clone(&foreign_sender), Arc::clone(&cleaned));
                loom::thread::spawn(move || {
                    if foreign_sender.phase() == Phase::Left {
                        cleaned.store(1, Ordering::Relaxed);
                        foreign_sender.give_up_share();
                    }
                })
            };
            let next = {
                let (foreign_sender, cleaned) = (Arc::clone(&foreign_sender), Arc::clone(&cleaned));
                loom::thread::spawn(move || {
                    if foreign_sender.claim(2, process(2)) {
                        assert_eq!(cleaned.load(Ordering::Relaxed), 1);
                        assert_eq!(foreign_sender.process(), Some(process(2)));
                    }
                })
            };
            assert!(foreign_sender.leave(1));
            foreign_sender.give_up_share();
            receiver.join().unwrap();
            next.join().unwrap();
        });
    }
}
