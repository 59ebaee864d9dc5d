//! Guests of a segment: processes of other jobs that send to ranks of this one.
//!
//! A guest has a slot of the table while it is connected, and with the slot a ring to every rank, in the part of the file that
//! nobody maps as a whole. It marks itself, once for each rank, in that rank's bits and rings its bell.
//!
//! ```text
//! Free --claim--> Taken --its address is written--> Present --leave--> Left --the last share is given up--> Free
//! ```
//!
//! The guest itself has a share of the slot, and every rank that it opened a ring to. A rank gives its share up when the guest has
//! left and its ring is empty and reads as zeroes again, so the next guest finds everything as it was at the start.

use crate::address::Address;
use crate::sync::{AtomicU64, Ordering};

/// Guests that a segment has room for at a time.
pub const GUESTS: usize = 4096;

/// Cells of a guest's ring: as many as any rank's own ring has at the most, so that what fits into those fits into these.
pub const GUEST_CELLS: usize = 2047;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Free,
    Taken,
    Present,
    Left,
}

#[repr(C, align(64))]
pub struct Guest {
    /// The guest's process id (high 32 bits) and its phase.
    state: AtomicU64,
    shares: AtomicU64,
    address: [AtomicU64; Address::WORDS],
}

impl Guest {
    /// Takes a free slot for the process; `false` when it is not free.
    pub fn claim(&self, pid: u32, address: Address) -> bool {
        let taken = word(pid, Phase::Taken);
        // Acquire: whoever gave the slot up is done with it.
        if self.state.compare_exchange(0, taken, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return false;
        }
        self.shares.store(1, Ordering::Relaxed);
        for (place, word) in self.address.iter().zip(address.words()) {
            place.store(word, Ordering::Relaxed);
        }
        // Release: who sees the guest sees its address.
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

    /// The process that has the slot, 0 when nobody has.
    pub fn pid(&self) -> u32 {
        (self.state.load(Ordering::Relaxed) >> 32) as u32
    }

    /// Who the guest is, of one that has marked itself somewhere.
    pub fn address(&self) -> Address {
        Address::from_words(&self.address.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }

    /// The guest opens a ring to one more rank, which gets a share.
    pub fn add_share(&self) {
        self.shares.fetch_add(1, Ordering::Relaxed);
    }

    /// The guest sends nothing more, or is dead; `false` when that has been said of it. Whoever says it tells the ranks and gives
    /// up the guest's share.
    pub fn leave(&self, pid: u32) -> bool {
        let left = word(pid, Phase::Left);
        [Phase::Present, Phase::Taken].into_iter().any(|phase| {
            // Release: its last packets come before it.
            self.state.compare_exchange(word(pid, phase), left, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }

    /// One that had a share has none any more; with the last one the slot is free.
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
    use crate::segment::Segment;

    fn address(slot: u32) -> Address {
        Address { job: JobId { inode: 9, holder: 8, fd: 7 }, slot }
    }

    #[test]
    fn a_slot_is_free_again_when_all_have_given_it_up() {
        let (_fd, segment) = Segment::create(2, 1).unwrap();
        let guest = segment.guest(5);
        assert_eq!((guest.phase(), guest.pid()), (Phase::Free, 0));
        assert!(guest.claim(77, address(3)));
        assert!(!guest.claim(78, address(4)));
        assert_eq!((guest.phase(), guest.pid(), guest.address()), (Phase::Present, 77, address(3)));
        guest.add_share();
        guest.add_share();
        assert!(!guest.leave(78), "it is another's");
        assert!(guest.leave(77));
        assert!(!guest.leave(77), "once is enough");
        guest.give_up_share();
        guest.give_up_share();
        assert_eq!(guest.phase(), Phase::Left);
        assert!(!guest.claim(78, address(4)));
        guest.give_up_share();
        assert!(guest.claim(78, address(4)));
        assert_eq!((guest.pid(), guest.address()), (78, address(4)));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::address::JobId;
    use loom::sync::Arc;

    fn address(slot: u32) -> Address {
        Address { job: JobId { inode: 1, holder: 1, fd: 1 }, slot }
    }

    /// A guest leaves while its receiver gives its share up and a second guest wants the slot: it gets the slot only when both are done,
    /// and what they wrote is seen then.
    #[test]
    fn loom_a_slot_goes_to_the_next_when_nobody_uses_it() {
        loom::model(|| {
            let guest = Arc::new(Guest {
                state: AtomicU64::new(0),
                shares: AtomicU64::new(0),
                address: [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)],
            });
            let cleaned = Arc::new(AtomicU64::new(0));
            assert!(guest.claim(1, address(1)));
            guest.add_share();
            let receiver = {
                let (guest, cleaned) = (Arc::clone(&guest), Arc::clone(&cleaned));
                loom::thread::spawn(move || {
                    if guest.phase() == Phase::Left {
                        cleaned.store(1, Ordering::Relaxed);
                        guest.give_up_share();
                    }
                })
            };
            let next = {
                let (guest, cleaned) = (Arc::clone(&guest), Arc::clone(&cleaned));
                loom::thread::spawn(move || {
                    if guest.claim(2, address(2)) {
                        assert_eq!(cleaned.load(Ordering::Relaxed), 1);
                        assert_eq!(guest.address(), address(2));
                    }
                })
            };
            assert!(guest.leave(1));
            guest.give_up_share();
            receiver.join().unwrap();
            next.join().unwrap();
        });
    }
}
