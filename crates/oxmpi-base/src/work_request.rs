//! A work request: the words in the segment with which one rank (the origin) asks another (the
//! target) to do something in the target's memory. Neither side depends on the other: a request
//! that is not taken is withdrawn, and of a long request both sides do parts, the origin from the
//! front and the target from the back. A request that is repeated then finds its memory in the
//! caches of the same sides.
//!
//! ```text
//!            origin            target           target
//!  IDLE ---------------> ASKED -------> TAKEN ---------> DONE or BROKEN, which are as good as IDLE
//!    ^   (or OFFERED)     | ^             |
//!    +----- origin -------+ +-- target ---+   a part of a long request is done, and the
//!                                             target returns the rest
//! ```
//!
//! The description of the work lies beside these words. The origin writes it before it asks. From
//! `TAKEN` to `DONE` it belongs to the target; in all other states only the origin accesses it.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

const IDLE: u32 = 0;
/// A short request, which the target executes as a whole.
const ASKED: u32 = 1;
/// A long request, of which both sides do parts.
const OFFERED: u32 = 2;
const TAKEN: u32 = 3;
const DONE: u32 = 4;
/// The target could not do a part that it had claimed.
const BROKEN: u32 = 5;

/// Zeroes: no request.
#[repr(C)]
pub struct WorkRequest {
    state: AtomicU32,
    /// Units of a long request that the origin (low 32 bits) and the target have claimed; together
    /// they may exceed its length.
    claimed: AtomicU64,
}

/// One unit that the target has claimed.
const OF_TARGET: u64 = 1 << 32;

/// The units that the two sides have claimed.
fn of_both(claimed: u64) -> (u64, u64) {
    (claimed % OF_TARGET, claimed / OF_TARGET)
}

/// The state of a request as the target sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    Nothing,
    All,
    Parts,
}

/// How a long request ended for the origin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// All claimed parts are done, and the words belong to the origin again.
    Over,
    /// The same, except for one part that the target claimed and could not do.
    Broken,
    /// The target is doing a part.
    NotYet,
}

impl WorkRequest {
    // ---- the origin ----

    /// Publishes a short request.
    #[inline]
    pub fn ask(&self) {
        // Release: the target that takes it sees the description.
        self.state.store(ASKED, Ordering::Release);
    }

    /// Publishes a long request.
    pub fn offer(&self) {
        self.claimed.store(0, Ordering::Relaxed);
        self.state.store(OFFERED, Ordering::Release);
    }

    /// Whether a short request is done.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.state.load(Ordering::Acquire) == DONE
    }

    /// Withdraws a short request; false if the target is executing it or has finished.
    pub fn withdraw(&self) -> bool {
        self.state.compare_exchange(ASKED, IDLE, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Ends a long request of which nothing is left to claim.
    pub fn end(&self) -> End {
        // Acquire: pairs with the release in `hand_back` and `finish`, so the parts of the target
        // are visible.
        match self.state.compare_exchange(OFFERED, IDLE, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) | Err(DONE) => End::Over,
            Err(BROKEN) => End::Broken,
            Err(_) => End::NotYet,
        }
    }

    /// Claims the next part of a long request of `length` units, at most `part` units: the first one
    /// and how many.
    pub fn claim(&self, part: u64, length: u64) -> Option<(u64, u64)> {
        self.claim_for(1, part, length).map(|((origin, _), units)| (origin, units))
    }

    /// Prevents further claims of a long request.
    pub fn stop(&self, length: u64) {
        self.claimed.fetch_add(length, Ordering::Relaxed);
    }

    // ---- the target ----

    #[inline]
    pub fn wanted(&self) -> Wanted {
        match self.state.load(Ordering::Relaxed) {
            ASKED => Wanted::All,
            OFFERED => Wanted::Parts,
            _ => Wanted::Nothing,
        }
    }

    /// Takes the request that `wanted` reported; false if the origin withdrew it first.
    #[inline]
    pub fn take(&self, wanted: Wanted) -> bool {
        let from = if wanted == Wanted::Parts { OFFERED } else { ASKED };
        self.state.compare_exchange(from, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Offers the rest of a long request again; the target may return to it or not.
    pub fn hand_back(&self) {
        self.state.store(OFFERED, Ordering::Release);
    }

    #[inline]
    pub fn finish(&self) {
        self.state.store(DONE, Ordering::Release);
    }

    /// The target could not do a part that it had claimed.
    pub fn break_off(&self) {
        self.state.store(BROKEN, Ordering::Release);
    }

    /// As [`WorkRequest::claim`], for the target, after it has taken the request.
    pub fn claim_from_back(&self, part: u64, length: u64) -> Option<(u64, u64)> {
        let ((_, target), units) = self.claim_for(OF_TARGET, part, length)?;
        // Only a wrong origin makes it less than nothing.
        Some((length.checked_sub(target + units)?, units))
    }

    // ---- both sides ----

    pub fn has_unclaimed(&self, length: u64) -> bool {
        let (origin, target) = of_both(self.claimed.load(Ordering::Relaxed));
        origin + target < length
    }

    /// Claims for one side: what both had before, and how many units it gets. Both together get
    /// each unit once, since one begins at the front and the other at the back.
    fn claim_for(&self, unit: u64, part: u64, length: u64) -> Option<((u64, u64), u64)> {
        if !self.has_unclaimed(length) {
            return None;
        }
        let before = of_both(self.claimed.fetch_add(unit * part, Ordering::Relaxed));
        let left = length.saturating_sub(before.0 + before.1);
        (left > 0).then(|| (before, part.min(left)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn work() -> WorkRequest {
        WorkRequest { state: AtomicU32::new(IDLE), claimed: AtomicU64::new(0) }
    }

    #[test]
    fn what_is_withdrawn_is_not_taken_and_what_is_taken_is_not_withdrawn() {
        let work = work();
        work.ask();
        assert_eq!(work.wanted(), Wanted::All);
        assert!(work.withdraw() && !work.take(Wanted::All));
        work.ask();
        assert!(work.take(Wanted::All) && !work.withdraw() && !work.is_done());
        work.finish();
        assert!(work.is_done() && work.wanted() == Wanted::Nothing);
    }

    #[test]
    fn parts_cover_a_long_request_once() {
        let work = work();
        work.offer();
        assert!(work.take(Wanted::Parts));
        assert_eq!(work.claim_from_back(4, 10), Some((6, 4)));
        assert_eq!(work.end(), End::NotYet);
        work.hand_back();
        assert_eq!((work.claim(3, 10), work.claim(4, 10), work.claim(4, 10)), (Some((0, 3)), Some((3, 3)), None));
        assert_eq!(work.claim_from_back(4, 10), None);
        assert_eq!(work.end(), End::Over);
        assert!(!work.take(Wanted::Parts));
        work.offer();
        assert!(work.take(Wanted::Parts));
        assert_eq!((work.claim_from_back(4, 10), work.claim_from_back(4, 10)), (Some((6, 4)), Some((2, 4))));
        assert_eq!((work.claim_from_back(4, 10), work.claim(4, 10)), (Some((0, 2)), None));
        work.finish();
        work.offer();
        work.stop(10);
        assert!(work.take(Wanted::Parts) && work.claim_from_back(4, 10).is_none());
        work.break_off();
        assert_eq!(work.end(), End::Broken);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    struct Asked {
        work: WorkRequest,
        order: UnsafeCell<u64>,
        /// How often each part was done.
        parts: [UnsafeCell<u64>; 3],
    }

    // SAFETY: what loom is here to check.
    unsafe impl Sync for Asked {}

    fn asked() -> Arc<Asked> {
        let work = WorkRequest { state: AtomicU32::new(IDLE), claimed: AtomicU64::new(0) };
        Arc::new(Asked { work, order: UnsafeCell::new(0), parts: [0; 3].map(UnsafeCell::new) })
    }

    fn write(cell: &UnsafeCell<u64>, value: u64) {
        // SAFETY: loom checks that no other thread accesses it.
        cell.with_mut(|at| unsafe { *at = value });
    }

    fn read(cell: &UnsafeCell<u64>) -> u64 {
        // SAFETY: loom checks that no other thread writes it.
        cell.with(|at| unsafe { *at })
    }

    /// A target polls twice while an origin asks, gives up waiting, and asks for something else:
    /// each request is executed or withdrawn, the answer belongs to its request, and no side
    /// accesses the description too early.
    #[test]
    fn loom_questions_are_answered_or_taken_back() {
        loom::model(|| {
            let shared = asked();
            let target = Arc::clone(&shared);
            let servant = loom::thread::spawn(move || {
                for _ in 0..2 {
                    let wanted = target.work.wanted();
                    if wanted != Wanted::Nothing && target.work.take(wanted) {
                        let order = read(&target.order);
                        write(&target.order, order * 10);
                        target.work.finish();
                    }
                }
            });
            for question in 1..=2 {
                write(&shared.order, question);
                shared.work.ask();
                if !shared.work.is_done() && shared.work.withdraw() {
                    assert_eq!(read(&shared.order), question);
                    continue;
                }
                while !shared.work.is_done() {
                    loom::thread::yield_now();
                }
                assert_eq!(read(&shared.order), question * 10);
            }
            servant.join().unwrap();
        });
    }

    /// Both sides do parts, the target one at a time: each part is done once, and the origin sees
    /// the end only when all are done.
    #[test]
    fn loom_parts_are_done_once_before_the_end() {
        loom::model(|| {
            let shared = asked();
            let target = Arc::clone(&shared);
            let servant = loom::thread::spawn(move || {
                for _ in 0..2 {
                    if target.work.wanted() != Wanted::Parts || !target.work.take(Wanted::Parts) {
                        continue;
                    }
                    let length = read(&target.order);
                    if let Some((from, _)) = target.work.claim_from_back(1, length) {
                        let part = &target.parts[from as usize];
                        write(part, read(part) + 1);
                    }
                    if target.work.has_unclaimed(length) {
                        target.work.hand_back();
                    } else {
                        target.work.finish();
                    }
                }
            });
            write(&shared.order, 3);
            shared.work.offer();
            while let Some((from, _)) = shared.work.claim(1, 3) {
                let part = &shared.parts[from as usize];
                write(part, read(part) + 1);
            }
            while shared.work.end() == End::NotYet {
                loom::thread::yield_now();
            }
            assert!(shared.parts.iter().all(|part| read(part) == 1));
            // The words belong to the origin again.
            write(&shared.order, 7);
            servant.join().unwrap();
        });
    }

    /// A target that fails at its part reports it and leaves the part to the origin.
    #[test]
    fn loom_a_broken_part_is_left_to_the_origin() {
        loom::model(|| {
            let shared = asked();
            let target = Arc::clone(&shared);
            let servant = loom::thread::spawn(move || {
                if target.work.take(Wanted::Parts) {
                    match target.work.claim_from_back(1, 2) {
                        Some((from, _)) => {
                            write(&target.order, from);
                            target.work.break_off();
                        }
                        None => target.work.finish(),
                    }
                }
            });
            write(&shared.order, 9);
            shared.work.offer();
            let mut done = 0;
            while shared.work.claim(1, 2).is_some() {
                done += 1;
            }
            let end = loop {
                match shared.work.end() {
                    End::NotYet => loom::thread::yield_now(),
                    end => break end,
                }
            };
            match end {
                End::Broken => assert_eq!((done, read(&shared.order) < 2), (1, true)),
                _ => assert_eq!((done, read(&shared.order)), (2, 9)),
            }
            servant.join().unwrap();
        });
    }
}
