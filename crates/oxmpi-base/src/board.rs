//! A board that the ranks of a communicator share: the ground of collective operations on one node.
//!
//! ```text
//! header | a line a rank: rounds finished | SLOTS times a line a rank | a room a rank, for what a line cannot hold
//! ```
//!
//! A collective operation is one or more *rounds*, counted alike by everybody. In a round a rank may write its line and
//! its room; each is written by its rank alone. The line says which round it is of (written last: the line is ready) and
//! which call its rank is in, and has room for a few bytes, so that a small contribution is one cache line from core
//! to core. Lines rotate: round r uses slot r mod SLOTS, and a rank reuses a slot, or a part of its room, only when it
//! knows that everybody has finished the round that used it last. It knows that for free after an *exchange*, a
//! round in which it has seen everybody's line: who has come to a round has finished the one before. Otherwise it looks at
//! the counts of finished rounds.
//!
//! Nothing here blocks or interprets what is written.

use crate::arena::Mapping;
use crate::ring::prefetch_for_writing;
use crate::segment::{CACHE_LINE, PAGE};
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use std::ptr::NonNull;

/// Rounds that a rank may be ahead of the slowest. A power of two.
const SLOTS: usize = 128;

/// Bytes that are prefetched at the most.
const PREFETCH_MOST: usize = 8 << 10;

/// Bytes that fit into a line.
pub const LINE_BYTES: usize = CACHE_LINE - 16;

#[repr(C, align(64))]
struct Header {
    /// Set once the ranks were found to be out of step; it stays so.
    broken: AtomicU32,
    /// Ranks that wait for others to finish a round.
    awaited: AtomicU32,
}

#[repr(C, align(64))]
struct Finished {
    round: AtomicU64,
}

#[repr(C, align(64))]
struct Line {
    round: AtomicU64,
    call: AtomicU64,
    body: [u8; LINE_BYTES],
}

/// The memory of a board, as everybody sees it. It outlives the value: who makes one keeps the memory mapped.
#[derive(Clone, Copy)]
struct Memory {
    header: NonNull<Header>,
    finished: NonNull<Finished>,
    lines: NonNull<Line>,
    rooms: NonNull<u8>,
    ranks: usize,
    slots: usize,
    room: usize,
}

/// From one room to the next: not a power of two, so that the same place in all rooms is not the same place in a cache.
const fn room_stride(room: usize) -> usize {
    room + 17 * CACHE_LINE
}

impl Memory {
    fn lines_end(ranks: usize) -> usize {
        (CACHE_LINE * (1 + ranks + SLOTS * ranks)).next_multiple_of(PAGE)
    }

    #[inline]
    fn header(&self) -> &Header {
        // SAFETY: mapped and all atomics.
        unsafe { self.header.as_ref() }
    }

    #[inline]
    fn finished(&self, rank: usize) -> &AtomicU64 {
        assert!(rank < self.ranks);
        // SAFETY: in bounds, mapped and atomic.
        unsafe { &self.finished.add(rank).as_ref().round }
    }

    #[inline]
    fn line(&self, rank: usize, round: u64) -> NonNull<Line> {
        assert!(rank < self.ranks);
        let slot = round as usize & (self.slots - 1);
        // SAFETY: in bounds.
        unsafe { self.lines.add(slot * self.ranks + rank) }
    }

    #[inline]
    fn words(&self, rank: usize, round: u64) -> (&AtomicU64, &AtomicU64) {
        let line = self.line(rank, round).as_ptr();
        // SAFETY: mapped; references to the two atomics alone, not to the body.
        unsafe { (&(*line).round, &(*line).call) }
    }
}

/// One rank's place at a board.
pub struct Seat {
    memory: Memory,
    rank: usize,
    round: u64,
    /// Everybody has finished this round, as far as we know.
    settled: u64,
    /// The part of our room that a round uses, by slot: from where to where.
    places: Box<[(usize, usize)]>,
    /// Bytes of our room that the last round that used any did.
    usual: usize,
}

// SAFETY: the memory is shared between processes by design; a seat is used by one thread at a time.
unsafe impl Send for Seat {}
// SAFETY: as above; by shared reference only atomics are read, and pointers handed out.
unsafe impl Sync for Seat {}

impl Seat {
    /// Bytes of memory for a board; all zeroes is an empty one.
    pub fn memory_for(ranks: usize, room: usize) -> usize {
        Memory::lines_end(ranks) + ranks * room_stride(room)
    }

    /// A place at the board in this memory, which must stay mapped. Everybody gives the same number of ranks and bytes
    /// of room; `None` if the memory is too small for them.
    pub fn new(mapping: &Mapping, ranks: usize, room: usize, rank: usize) -> Option<Seat> {
        if rank >= ranks || room % CACHE_LINE != 0 || mapping.area().bytes < Seat::memory_for(ranks, room) {
            return None;
        }
        let header = mapping.base().cast::<Header>();
        // SAFETY: in bounds by the check above; pages are aligned to lines.
        let memory = unsafe {
            let finished = header.add(1).cast::<Finished>();
            let lines = finished.add(ranks).cast::<Line>();
            let rooms = header.cast::<u8>().add(Memory::lines_end(ranks));
            Memory { header, finished, lines, rooms, ranks, slots: SLOTS, room }
        };
        Some(Seat::over(memory, rank))
    }

    fn over(memory: Memory, rank: usize) -> Seat {
        Seat { memory, rank, round: 0, settled: 0, places: vec![(0, 0); memory.slots].into(), usual: 0 }
    }

    #[inline]
    pub fn rank(&self) -> usize {
        self.rank
    }

    #[inline]
    pub fn ranks(&self) -> usize {
        self.memory.ranks
    }

    /// The largest part of a room that one round may use: two rounds can overlap.
    #[inline]
    pub fn largest_place(&self) -> usize {
        self.memory.room / 2
    }

    // ---- a round ----

    /// The round that we are in.
    #[inline]
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Goes on to the next round. The last one must be [finished](Seat::finish).
    #[inline]
    pub fn advance(&mut self) -> u64 {
        self.round += 1;
        self.places[self.round as usize & (self.memory.slots - 1)] = (0, 0);
        self.round
    }

    /// The round whose slot this one uses: our line may be written once that one is settled.
    #[inline]
    pub fn replaced(&self) -> u64 {
        self.round.saturating_sub(self.memory.slots as u64)
    }

    /// Where our line's [`LINE_BYTES`] bytes go, and where those of others are once they have [arrived](Seat::has_arrived);
    /// aligned to 16 bytes.
    #[inline]
    pub fn body(&self, rank: usize, round: u64) -> NonNull<u8> {
        let line = self.memory.line(rank, round).as_ptr();
        // SAFETY: a place inside the line.
        unsafe { NonNull::new_unchecked((&raw mut (*line).body).cast()) }
    }

    /// A part of our room for this round, as an offset; `None` until more of the earlier rounds is
    /// [settled](Seat::oldest).
    #[inline]
    pub fn place(&mut self, bytes: usize) -> Option<usize> {
        let bytes = bytes.next_multiple_of(CACHE_LINE);
        assert!(bytes <= self.memory.room);
        let at = self.find(bytes, self.round);
        if let Some(at) = at {
            self.keep(at, bytes);
        }
        at
    }

    /// A part of our room that the rounds before one do not use.
    #[inline]
    fn find(&self, bytes: usize, before: u64) -> Option<usize> {
        let mask = self.memory.slots - 1;
        let live = self.settled + 1..before;
        let fits = |at: usize| {
            at + bytes <= self.memory.room
                && live.clone().all(|round| {
                    let (start, end) = self.places[round as usize & mask];
                    at + bytes <= start || end <= at
                })
        };
        // The start first: what was used just now is in the caches.
        let behind = |round: u64| self.places[round as usize & mask].1;
        if fits(0) { Some(0) } else { live.clone().rev().map(behind).find(|&at| fits(at)) }
    }

    /// Takes the lines of our room that a next round with as many bytes as the last will use into this core's cache for
    /// writing, off the path of the last: others have read them, and taking a line back costs as much as handing one
    /// over.
    #[inline]
    pub fn prefetch(&self) {
        if self.usual == 0 {
            return;
        }
        let bytes = self.usual.min(PREFETCH_MOST);
        if let Some(at) = self.find(self.usual, self.round + 1) {
            let place = self.room(self.rank, at);
            for line in (0..bytes).step_by(CACHE_LINE) {
                // SAFETY: inside our room; only its address is used.
                prefetch_for_writing(unsafe { place.add(line).as_ref() });
            }
        }
    }

    /// This round uses a part of our room, also if an earlier one [got](Seat::place) it.
    #[inline]
    pub fn keep(&mut self, at: usize, bytes: usize) {
        let bytes = bytes.next_multiple_of(CACHE_LINE);
        self.usual = bytes;
        self.places[self.round as usize & (self.memory.slots - 1)] = (at, at + bytes);
    }

    /// A place in a rank's room, aligned to cache lines as its offset is.
    #[inline]
    pub fn room(&self, rank: usize, offset: usize) -> NonNull<u8> {
        assert!(rank < self.memory.ranks && offset <= self.memory.room);
        // SAFETY: in bounds.
        unsafe { self.memory.rooms.add(rank * room_stride(self.memory.room) + offset) }
    }

    /// Shows our line. All that we wrote before can be read by whoever sees it.
    #[inline]
    pub fn publish(&self, call: u64) {
        let (round, word) = self.memory.words(self.rank, self.round);
        word.store(call, Ordering::Relaxed);
        // Release: what was written to the line and the room comes first; so does what was read in rounds before.
        round.store(self.round, Ordering::Release);
    }

    /// Whether a rank has shown its line of this round.
    #[inline]
    pub fn has_arrived(&self, rank: usize) -> bool {
        // Acquire: pairs with `publish`.
        self.memory.words(rank, self.round).0.load(Ordering::Acquire) == self.round
    }

    /// Whether all ranks of a list have. Their lines are loaded at the same time, not one when the last has come: from other
    /// cores each takes as long as a small operation.
    #[inline]
    pub fn have_arrived(&self, ranks: impl Iterator<Item = usize>) -> bool {
        ranks.fold(true, |all, rank| all & self.has_arrived(rank))
    }

    /// The call of a rank that has arrived.
    #[inline]
    pub fn call_of(&self, rank: usize) -> u64 {
        self.memory.words(rank, self.round).1.load(Ordering::Relaxed)
    }

    /// Everybody has been seen to arrive in this round, and so has finished the one before.
    #[inline]
    pub fn exchanged(&mut self) {
        self.settled = self.settled.max(self.round - 1);
    }

    /// We read nothing of this round any more. `true` when somebody waits to hear that.
    #[inline]
    pub fn finish(&self) -> bool {
        // Release: our reads come first.
        self.memory.finished(self.rank).store(self.round, Ordering::Release);
        prefetch_for_writing(self.memory.words(self.rank, self.round + 1).0);
        self.memory.header().awaited.load(Ordering::Relaxed) != 0
    }

    // ---- what others have finished ----

    /// Whether everybody has finished a round.
    #[inline]
    pub fn is_settled(&mut self, round: u64) -> bool {
        self.settled >= round || self.look(round)
    }

    #[cold]
    fn look(&mut self, round: u64) -> bool {
        let mut least = u64::MAX;
        for rank in (0..self.memory.ranks).filter(|&rank| rank != self.rank) {
            // Acquire: pairs with `finish`; what was read comes before we overwrite it.
            least = least.min(self.memory.finished(rank).load(Ordering::Acquire));
            if least < round {
                return false;
            }
        }
        // Ours is not finished before it is.
        self.settled = least.min(self.round.saturating_sub(1));
        self.settled >= round
    }

    /// The round that has to be settled before there is more room.
    #[inline]
    pub fn oldest(&self) -> u64 {
        self.settled + 1
    }

    /// We begin, or no longer have, to wait for somebody to finish a round, and want to be woken.
    pub fn set_waiting(&self, waits: bool) {
        let awaited = &self.memory.header().awaited;
        if waits {
            awaited.fetch_add(1, Ordering::SeqCst)
        } else {
            awaited.fetch_sub(1, Ordering::Relaxed)
        };
    }

    // ---- the end ----

    pub fn is_broken(&self) -> bool {
        self.memory.header().broken.load(Ordering::Relaxed) != 0
    }

    /// The ranks are out of step: nobody shall wait for anybody any more.
    pub fn break_up(&self) {
        self.memory.header().broken.store(1, Ordering::Relaxed);
    }

    /// Leaves for good: the memory is not touched any more, but for [`Seat::is_deserted`].
    pub fn leave(&self) {
        // Release: all that we read and wrote comes first.
        self.memory.finished(self.rank).store(u64::MAX, Ordering::Release);
    }

    /// Whether everybody has left, so that the memory can be used for something else.
    pub fn is_deserted(&self) -> bool {
        (0..self.memory.ranks).all(|rank| self.memory.finished(rank).load(Ordering::Acquire) == u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A board of its own, outside any segment.
    struct Owned {
        header: Box<Header>,
        finished: Vec<Finished>,
        lines: Vec<Line>,
        rooms: Vec<u8>,
    }

    impl Owned {
        fn new(ranks: usize, slots: usize, room: usize) -> (Owned, Memory) {
            let line = || Line { round: AtomicU64::new(0), call: AtomicU64::new(0), body: [0; LINE_BYTES] };
            let mut owned = Owned {
                header: Box::new(Header { broken: AtomicU32::new(0), awaited: AtomicU32::new(0) }),
                finished: (0..ranks).map(|_| Finished { round: AtomicU64::new(0) }).collect(),
                lines: (0..ranks * slots).map(|_| line()).collect(),
                rooms: vec![0; ranks * room_stride(room)],
            };
            let memory = Memory {
                header: NonNull::from(&mut *owned.header),
                finished: NonNull::new(owned.finished.as_mut_ptr()).unwrap(),
                lines: NonNull::new(owned.lines.as_mut_ptr()).unwrap(),
                rooms: NonNull::new(owned.rooms.as_mut_ptr()).unwrap(),
                ranks,
                slots,
                room,
            };
            (owned, memory)
        }
    }

    #[cfg(not(loom))]
    mod alone {
        use super::*;

        #[test]
        fn parts_of_a_room_do_not_meet() {
            let (_owned, memory) = Owned::new(2, 4, 1024);
            let (mut a, b) = (Seat::over(memory, 0), Seat::over(memory, 1));
            a.advance();
            assert_eq!(a.place(500), Some(0));
            a.finish();
            a.advance();
            assert_eq!(a.place(400), Some(512));
            a.finish();
            a.advance();
            assert_eq!(a.place(64), Some(960));
            a.finish();
            a.advance();
            assert_eq!(a.place(64), None, "the other rank has finished nothing");
            assert!(!a.is_settled(a.oldest()));
            b.memory.finished(1).store(1, Ordering::Release);
            assert!(a.is_settled(1));
            assert_eq!(a.place(65), Some(0));
            a.finish();
            a.advance();
            assert!(a.is_settled(a.replaced()), "round 1 is settled");
            a.finish();
            a.advance();
            assert!(!a.is_settled(a.replaced()), "round 2 is not");
        }

        #[test]
        fn a_board_is_deserted_when_all_have_left() {
            let (_owned, memory) = Owned::new(3, 4, 64);
            let seats: Vec<Seat> = (0..3).map(|rank| Seat::over(memory, rank)).collect();
            for seat in &seats {
                assert!(!seats[0].is_deserted());
                seat.leave();
            }
            assert!(seats[0].is_deserted());
        }
    }

    #[cfg(loom)]
    mod loom_tests {
        use super::*;

        /// One tells another for more rounds than there are slots: nothing is overwritten before it was read.
        #[test]
        fn loom_a_fast_writer_does_not_overrun_a_reader() {
            loom::model(|| {
                let (_owned, memory) = Owned::new(2, 2, 64);
                let (mut tx, mut rx) = (Seat::over(memory, 0), Seat::over(memory, 1));
                let writer = loom::thread::spawn(move || {
                    for _ in 0..3 {
                        let round = tx.advance();
                        while !tx.is_settled(tx.replaced()) {
                            loom::thread::yield_now();
                        }
                        tx.publish(round * 10);
                        tx.finish();
                    }
                });
                for _ in 0..3 {
                    let round = rx.advance();
                    while !rx.has_arrived(0) {
                        loom::thread::yield_now();
                    }
                    assert_eq!(rx.call_of(0), round * 10);
                    rx.finish();
                }
                writer.join().unwrap();
            });
        }

        /// Both write and both read: two slots are enough, and the counts of finished rounds are not needed.
        #[test]
        fn loom_exchanges_settle_themselves() {
            fn take_part(seat: &mut Seat) {
                for _ in 0..3 {
                    let round = seat.advance();
                    assert!(seat.settled + 2 >= round);
                    seat.publish(round * 10 + seat.rank as u64);
                    let other = 1 - seat.rank;
                    while !seat.has_arrived(other) {
                        loom::thread::yield_now();
                    }
                    assert_eq!(seat.call_of(other), round * 10 + other as u64);
                    seat.exchanged();
                    seat.finish();
                }
            }
            loom::model(|| {
                let (_owned, memory) = Owned::new(2, 2, 64);
                let (mut a, mut b) = (Seat::over(memory, 0), Seat::over(memory, 1));
                let peer = loom::thread::spawn(move || take_part(&mut a));
                take_part(&mut b);
                peer.join().unwrap();
            });
        }
    }
}
