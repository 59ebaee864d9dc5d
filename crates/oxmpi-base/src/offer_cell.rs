//! An offer cell is a cache line in the segment that a sender owns. With it, sender and receiver agree
//! on one message that is not complete when it is announced: whether the sender may still withdraw
//! it, and which side copies which part.
//!
//! ```text
//! Offered --receiver take--> Taken --receiver finish--> Done     (the sender frees it then)
//!    \--sender withdraw--> withdrawn (a late receiver finds another generation)
//! ```
//!
//! The number in the announcement names the offer cell and its generation. After the message is taken,
//! both sides claim chunks of the copy from `claimed`: two waiting ranks copy in parallel, and a
//! rank that computes delays nothing. One side begins at the front, the other at the back. If messages
//! go back and forth between the same buffers, each rank then copies the same half of them both ways,
//! which is in its cache.

use crate::segment::{OFFER_CELLS, Segment};
use crate::sync::{AtomicU64, Ordering};
use std::ptr::NonNull;
use std::sync::Arc;

/// Names one use of one offer cell of one sender: index (low 32 bits) and generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OfferId(pub u64);

impl OfferId {
    /// An offer cell from a packet of a peer; `None` for a number that no sender gives out.
    #[inline]
    pub fn from_wire(word: u64) -> Option<OfferId> {
        let id = OfferId(word);
        (id.index() < OFFER_CELLS && id.generation() != 0).then_some(id)
    }

    #[inline]
    fn index(self) -> usize {
        self.0 as u32 as usize
    }

    #[inline]
    fn generation(self) -> u64 {
        self.0 >> 32
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Offered,
    Taken,
    Done,
    /// Withdrawn, or an older generation.
    Gone,
}

const OFFERED: u64 = 1;
const TAKEN: u64 = 2;
const DONE: u64 = 3;

#[repr(C, align(64))]
pub struct OfferCell {
    /// Generation (high 32 bits) and one of the state numbers.
    state: AtomicU64,
    /// Bytes of the copy that either side has claimed, in whole chunks; may exceed `length`.
    claimed: AtomicU64,
    /// Bytes of the copy that are complete.
    copied: AtomicU64,
    /// The address where the receiver wants the bytes, or of its list of pieces; 0 until it asks
    /// the sender to help.
    target: AtomicU64,
    /// Length of that list; 0: the target is contiguous. With [`SENDER_AT_FRONT`]. Valid when there is a target.
    pieces: AtomicU64,
    /// Bytes to copy, which may be fewer than offered after truncation; valid when taken.
    length: AtomicU64,
    /// Bytes of a claim; valid when taken.
    chunk: AtomicU64,
    /// Set when the sender claimed a part and could not copy it.
    broken: AtomicU64,
}

/// The part of a copy that the receiver offers to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    pub target: usize,
    /// 0: the target is contiguous. Otherwise it is a list of that many pieces.
    pub pieces: u64,
    pub length: u64,
    pub chunk: u64,
    /// Which end of the copy the sender begins at; the receiver begins at the other one.
    pub sender: End,
}

/// An end of a copy, where one side begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Front,
    Back,
}

/// In the word for the number of pieces: [`Copy::sender`] is the front.
const SENDER_AT_FRONT: u64 = 1 << 63;

impl Copy {
    /// The end that the receiver begins at.
    pub fn receiver(&self) -> End {
        match self.sender {
            End::Front => End::Back,
            End::Back => End::Front,
        }
    }
}

/// The chunks of a copy that one side has claimed.
pub struct Claims {
    from: End,
    chunks: u64,
}

impl Claims {
    pub fn new(from: End) -> Claims {
        Claims { from, chunks: 0 }
    }

    /// Offset and length of the next chunk; `None` if there is none, which only a peer with wrong
    /// numbers brings about.
    fn next(&mut self, copy: &Copy) -> Option<(u64, u64)> {
        let chunks = copy.length.div_ceil(copy.chunk);
        let last = chunks.checked_sub(self.chunks + 1)?;
        let from = copy.chunk * if self.from == End::Front { self.chunks } else { last };
        self.chunks += 1;
        Some((from, copy.chunk.min(copy.length - from)))
    }
}

impl OfferCell {
    fn is(&self, id: OfferId, state: u64) -> u64 {
        debug_assert!(id.generation() != 0);
        id.generation() << 32 | state
    }

    pub fn state(&self, id: OfferId) -> State {
        // Acquire: what the other side wrote before it changed the state is visible.
        let word = self.state.load(Ordering::Acquire);
        if word >> 32 != id.generation() {
            return State::Gone;
        }
        match word & 0xff {
            OFFERED => State::Offered,
            TAKEN => State::Taken,
            DONE => State::Done,
            _ => State::Gone,
        }
    }

    /// Receiver: whether the message is still offered, for a probe.
    pub fn is_offered(&self, id: OfferId) -> bool {
        self.state(id) == State::Offered
    }

    /// Receiver: takes the message, which the sender can no longer withdraw; `false` if it was
    /// withdrawn.
    pub fn take(&self, id: OfferId) -> bool {
        let (from, taken) = (self.is(id, OFFERED), self.is(id, TAKEN));
        self.state.compare_exchange(from, taken, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Receiver of a taken message: asks the sender to help with the copy.
    pub fn invite(&self, copy: &Copy) {
        let end = if copy.sender == End::Front { SENDER_AT_FRONT } else { 0 };
        self.pieces.store(copy.pieces | end, Ordering::Relaxed);
        self.length.store(copy.length, Ordering::Relaxed);
        self.chunk.store(copy.chunk, Ordering::Relaxed);
        self.claimed.store(0, Ordering::Relaxed);
        self.copied.store(0, Ordering::Relaxed);
        self.broken.store(0, Ordering::Relaxed);
        // Release: a sender that sees the target also sees the other fields.
        self.target.store(copy.target as u64, Ordering::Release);
    }

    /// Receiver: the message is received, and the sender may use its buffer again.
    pub fn finish(&self, id: OfferId) {
        self.state.store(self.is(id, DONE), Ordering::Release);
    }

    /// Sender: withdraws an offer; `false` if the receiver took it first.
    pub fn withdraw(&self, id: OfferId) -> bool {
        let gone = self.is(id, 0);
        self.state.compare_exchange(self.is(id, OFFERED), gone, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Sender: the copy with which the receiver wants help, if there is one.
    pub fn copy(&self) -> Option<Copy> {
        let target = self.target.load(Ordering::Acquire) as usize;
        let (pieces, chunk) = (self.pieces.load(Ordering::Relaxed), self.chunk.load(Ordering::Relaxed));
        (target != 0 && chunk != 0).then(|| Copy {
            target,
            pieces: pieces & !SENDER_AT_FRONT,
            length: self.length.load(Ordering::Relaxed),
            chunk,
            sender: if pieces & SENDER_AT_FRONT != 0 { End::Front } else { End::Back },
        })
    }

    /// Either side: whether an unclaimed part is left.
    pub fn has_unclaimed(&self, copy: &Copy) -> bool {
        self.claimed.load(Ordering::Relaxed) < copy.length
    }

    /// Either side: the next part to copy, as offset and length. Both sides together claim as many
    /// chunks as there are, each from its end on, so no part is claimed twice.
    pub fn claim(&self, copy: &Copy, own: &mut Claims) -> Option<(u64, u64)> {
        if !self.has_unclaimed(copy) {
            return None;
        }
        // Release: orders the reads of the other side's list before the claim.
        let claimed = self.claimed.fetch_add(copy.chunk, Ordering::AcqRel);
        if claimed < copy.length { own.next(copy) } else { None }
    }

    /// Receiver: closes the copy, so that nothing more can be claimed, and returns how many bytes
    /// were. If the receiver gives up the copy, the sender must not access its list and buffer any
    /// more.
    pub fn close(&self, copy: &Copy, own: &Claims) -> u64 {
        let claimed = self.claimed.fetch_add(copy.length, Ordering::SeqCst);
        if claimed >= copy.length {
            return copy.length;
        }
        // What the last chunk lacks.
        let lacks = copy.length.next_multiple_of(copy.chunk) - copy.length;
        let from_back = match own.from {
            End::Back => own.chunks,
            End::Front => (claimed / copy.chunk).saturating_sub(own.chunks),
        };
        claimed.saturating_sub(if from_back > 0 { lacks } else { 0 })
    }

    /// Either side: adds claimed bytes that have been copied.
    pub fn add_copied(&self, bytes: u64) {
        // Release: orders the copy before the count.
        self.copied.fetch_add(bytes, Ordering::Release);
    }

    /// Sender: a claimed part could not be copied; the receiver must copy it.
    pub fn break_off(&self) {
        self.broken.store(1, Ordering::Release);
    }

    /// Either side: whether the sender gave up a claimed part.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire) != 0
    }

    /// Receiver: whether all bytes have been copied.
    pub fn all_copied(&self, copy: &Copy) -> bool {
        self.has_copied(copy.length)
    }

    /// Receiver: whether so many bytes have been copied.
    pub fn has_copied(&self, bytes: u64) -> bool {
        self.copied.load(Ordering::Acquire) >= bytes
    }
}

/// A rank's view of its own offer cells: which are free, and the generation of each. Cells with low
/// numbers are used first, so that few pages are touched.
pub struct OfferCells {
    first: NonNull<OfferCell>,
    free: Vec<u32>,
    fresh: u32,
    /// Keeps the offer cells mapped.
    _segment: Arc<Segment>,
}

// SAFETY: nothing in it belongs to a thread: the pointer is to atomics in shared memory that the
// `_segment` keeps mapped.
unsafe impl Send for OfferCells {}

impl OfferCells {
    /// The offer cells of `rank`. Only [`OwnSlot`](crate::own_slot::OwnSlot) calls it.
    pub(crate) fn new(segment: Arc<Segment>, rank: usize) -> OfferCells {
        OfferCells { first: segment.offer_cells(rank).cast(), free: Vec::new(), fresh: 0, _segment: segment }
    }

    /// An offer cell in the state Offered, or `None` while all are in use.
    pub fn offer(&mut self) -> Option<OfferId> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if (self.fresh as usize) < OFFER_CELLS => {
                self.fresh += 1;
                self.fresh - 1
            }
            None => return None,
        };
        let cell = self.at(index as usize);
        let generation = ((cell.state.load(Ordering::Relaxed) >> 32) as u32).wrapping_add(1).max(1);
        let id = OfferId(u64::from(generation) << 32 | u64::from(index));
        cell.target.store(0, Ordering::Relaxed);
        cell.state.store(cell.is(id, OFFERED), Ordering::Release);
        Some(id)
    }

    pub fn cell(&self, id: OfferId) -> &OfferCell {
        self.at(id.index())
    }

    /// Frees an offer cell that is Done or withdrawn.
    pub fn release(&mut self, id: OfferId) {
        debug_assert!(matches!(self.cell(id).state(id), State::Done | State::Gone));
        self.free.push(id.index() as u32);
    }

    fn at(&self, index: usize) -> &OfferCell {
        assert!(index < OFFER_CELLS);
        // SAFETY: the assertion above: one of the rank's OFFER_CELLS offer cells, all atomics, which
        // `_segment` keeps mapped.
        unsafe { &*self.first.as_ptr().add(index) }
    }
}

/// A peer's offer cell, as a receiver sees it.
pub fn offer_cell_of(segment: &Segment, sender: usize, id: OfferId) -> &OfferCell {
    assert!(id.index() < OFFER_CELLS);
    // SAFETY: the assertion above: one of the sender's OFFER_CELLS offer cells, all atomics, mapped as long
    // as `segment` lives.
    unsafe { &*segment.offer_cells(sender).cast::<OfferCell>().as_ptr().add(id.index()) }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_withdrawn_offer_cannot_be_taken_and_the_next_use_is_another() {
        let (_fd, segment) = Segment::create(2, 1).unwrap();
        let segment = Arc::new(segment);
        let mut cells = OfferCells::new(Arc::clone(&segment), 1);
        let first = cells.offer().unwrap();
        let seen = offer_cell_of(&segment, 1, first);
        assert!(seen.is_offered(first));
        assert!(cells.cell(first).withdraw(first));
        assert!(!seen.take(first));
        cells.release(first);
        let second = cells.offer().unwrap();
        assert_eq!(first.index(), second.index());
        assert!(!seen.take(first), "the old number names nothing");
        assert!(seen.take(second));
        assert!(!cells.cell(second).withdraw(second));
        seen.finish(second);
        assert_eq!(cells.cell(second).state(second), State::Done);
    }

    fn one_offer() -> (Arc<Segment>, OfferCells, OfferId) {
        let (_fd, segment) = Segment::create(1, 1).unwrap();
        let segment = Arc::new(segment);
        let mut cells = OfferCells::new(Arc::clone(&segment), 0);
        let id = cells.offer().unwrap();
        (segment, cells, id)
    }

    #[test]
    fn claims_cover_the_copy_once() {
        let (segment, cells, id) = one_offer();
        assert!(offer_cell_of(&segment, 0, id).take(id));
        for sender in [End::Front, End::Back] {
            let copy = Copy { target: 4096, pieces: 3, length: 1000, chunk: 300, sender };
            offer_cell_of(&segment, 0, id).invite(&copy);
            assert_eq!(cells.cell(id).copy(), Some(copy));
            let (mut ours, mut theirs) = (Claims::new(copy.sender), Claims::new(copy.receiver()));
            let claim = |claims: &mut Claims| {
                let part = cells.cell(id).claim(&copy, claims);
                cells.cell(id).add_copied(part.map_or(0, |part| part.1));
                part
            };
            let mut covered = [claim(&mut ours), claim(&mut theirs), claim(&mut ours), claim(&mut ours)];
            assert_eq!([claim(&mut ours), claim(&mut theirs)], [None, None]);
            covered.sort();
            assert_eq!(covered, [Some((0, 300)), Some((300, 300)), Some((600, 300)), Some((900, 100))]);
            assert!(cells.cell(id).all_copied(&copy));
        }
    }

    #[test]
    fn nothing_is_claimed_of_a_closed_copy() {
        let (_, cells, id) = one_offer();
        let copy = Copy { target: 4096, pieces: 0, length: 1000, chunk: 300, sender: End::Back };
        cells.cell(id).invite(&copy);
        let (mut sender, mut receiver) = (Claims::new(End::Back), Claims::new(End::Front));
        assert_eq!(cells.cell(id).claim(&copy, &mut receiver), Some((0, 300)));
        assert_eq!(cells.cell(id).close(&copy, &receiver), 300);
        assert!(!cells.cell(id).has_unclaimed(&copy));
        assert_eq!(cells.cell(id).claim(&copy, &mut receiver), None);
        assert_eq!(cells.cell(id).claim(&copy, &mut sender), None);
    }

    /// The receiver waits for just the bytes that were claimed, also if the short last chunk is one of
    /// them.
    #[test]
    fn a_closed_copy_says_what_was_claimed() {
        let (_, cells, id) = one_offer();
        for sender in [End::Front, End::Back] {
            for (by_sender, by_receiver) in [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (1, 2), (4, 0), (0, 4)] {
                let copy = Copy { target: 4096, pieces: 0, length: 1000, chunk: 300, sender };
                cells.cell(id).invite(&copy);
                let (mut ours, mut theirs) = (Claims::new(sender), Claims::new(copy.receiver()));
                let mut claimed = 0;
                let mut claim = |claims: &mut Claims, times| {
                    (0..times).for_each(|_| claimed += cells.cell(id).claim(&copy, claims).unwrap().1);
                };
                claim(&mut ours, by_sender);
                claim(&mut theirs, by_receiver);
                assert_eq!(cells.cell(id).close(&copy, &theirs), claimed, "{sender:?} {by_sender} {by_receiver}");
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    fn new_cell() -> OfferCell {
        let zero = || AtomicU64::new(0);
        OfferCell {
            state: zero(),
            claimed: zero(),
            copied: zero(),
            target: zero(),
            pieces: zero(),
            length: zero(),
            chunk: zero(),
            broken: zero(),
        }
    }

    /// A sender that withdraws and a receiver that takes: exactly one of them wins.
    #[test]
    fn loom_take_and_withdraw_exclude_each_other() {
        loom::model(|| {
            let id = OfferId(1 << 32);
            let cell = Arc::new(new_cell());
            cell.state.store(cell.is(id, OFFERED), Ordering::Relaxed);
            let other = Arc::clone(&cell);
            let taker = loom::thread::spawn(move || other.take(id));
            let withdrawn = cell.withdraw(id);
            assert_ne!(taker.join().unwrap(), withdrawn);
        });
    }

    /// A receiver that gives up the copy waits for the parts that were claimed. Then the sender touches its buffer no more.
    #[test]
    fn loom_a_closed_copy_is_left_alone() {
        loom::model(|| {
            let shared = Arc::new(new_cell());
            let is_freed = Arc::new(AtomicU64::new(0));
            let copy = Copy { target: 8, pieces: 0, length: 5, chunk: 2, sender: End::Back };
            shared.invite(&copy);
            let (sender, freed) = (Arc::clone(&shared), Arc::clone(&is_freed));
            let helper = loom::thread::spawn(move || {
                let mut claims = Claims::new(copy.sender);
                while let Some((_, length)) = sender.claim(&copy, &mut claims) {
                    assert_eq!(freed.load(Ordering::Relaxed), 0, "the receiver has not waited");
                    sender.add_copied(length);
                }
            });
            let mut claims = Claims::new(copy.receiver());
            let own = shared.claim(&copy, &mut claims).map_or(0, |(_, length)| length);
            shared.add_copied(own);
            let claimed = shared.close(&copy, &claims);
            while !shared.has_copied(claimed) {
                loom::thread::yield_now();
            }
            is_freed.store(1, Ordering::Relaxed);
            helper.join().unwrap();
            assert!(!shared.has_copied(claimed + 1), "more was copied than was claimed");
        });
    }

    /// A sender that cannot copy a part says so: the receiver never waits for it for ever.
    #[test]
    fn loom_a_broken_copy_is_noticed() {
        loom::model(|| {
            let shared = Arc::new(new_cell());
            let copy = Copy { target: 8, pieces: 0, length: 4, chunk: 2, sender: End::Back };
            shared.invite(&copy);
            let sender = Arc::clone(&shared);
            let helper = loom::thread::spawn(move || {
                let claimed = sender.claim(&copy, &mut Claims::new(copy.sender)).is_some();
                if claimed {
                    sender.break_off();
                }
                claimed
            });
            let mut claims = Claims::new(copy.receiver());
            while let Some((_, length)) = shared.claim(&copy, &mut claims) {
                shared.add_copied(length);
            }
            while !shared.all_copied(&copy) && !shared.is_broken() {
                loom::thread::yield_now();
            }
            let was_claimed = helper.join().unwrap();
            assert_eq!(shared.all_copied(&copy), !was_claimed);
        });
    }

    /// A cell that is used again: a receiver that comes late for the message before takes nothing.
    #[test]
    fn loom_a_late_receiver_takes_no_other_message() {
        loom::model(|| {
            let (first, second) = (OfferId(1 << 32), OfferId(2 << 32));
            let cell = Arc::new(new_cell());
            cell.state.store(cell.is(first, OFFERED), Ordering::Relaxed);
            let other = Arc::clone(&cell);
            let late = loom::thread::spawn(move || other.take(first));
            if cell.withdraw(first) {
                cell.state.store(cell.is(second, OFFERED), Ordering::Release);
                assert!(!late.join().unwrap());
                assert_eq!(cell.state(second), State::Offered);
            } else {
                assert!(late.join().unwrap());
                assert_eq!(cell.state(first), State::Taken);
            }
        });
    }

    /// Both sides claim: each byte is copied once, and the receiver sees the end only when all are
    /// copied.
    #[test]
    fn loom_claims_are_disjoint_and_complete() {
        loom::model(|| {
            let id = OfferId(1 << 32);
            let shared = Arc::new(new_cell());
            shared.state.store(shared.is(id, OFFERED), Ordering::Relaxed);
            let copy = Copy { target: 8, pieces: 0, length: 5, chunk: 2, sender: End::Back };
            let claim_all = |cell: &OfferCell, copy: &Copy, from: End| {
                let (mut claims, mut mine) = (Claims::new(from), vec![]);
                while let Some((offset, length)) = cell.claim(copy, &mut claims) {
                    mine.extend(offset..offset + length);
                    cell.add_copied(length);
                }
                mine
            };
            let sender = Arc::clone(&shared);
            let helper = loom::thread::spawn(move || {
                sender.copy().map_or(vec![], |copy| claim_all(&sender, &copy, copy.sender))
            });
            assert!(shared.take(id));
            shared.invite(&copy);
            let mut all = claim_all(&shared, &copy, copy.receiver());
            all.extend(helper.join().unwrap());
            all.sort_unstable();
            assert!(shared.all_copied(&copy));
            assert_eq!(all, [0, 1, 2, 3, 4]);
        });
    }
}
