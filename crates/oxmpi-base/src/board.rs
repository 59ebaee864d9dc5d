//! A board that the ranks of a communicator share: the ground of collective operations on one node.
//!
//! ```text
//! header | a line a rank: rounds finished | SLOTS times a line a rank | a staging buffer a rank, for what a line cannot hold
//! ```
//!
//! A collective operation is one or more *rounds*, counted alike by everybody. In a round a rank may write its line and
//! its staging buffer; each is written by its rank alone. The line says which round it is of (written last: the line is ready) and
//! which call its rank is in, and has room for a few bytes, so that a small contribution is one cache line from core
//! to core. Lines rotate: round r uses slot r mod SLOTS, and a rank reuses a slot, or a part of its staging buffer, only when it
//! knows that everybody has finished the round that used it last. It knows that for free after an *exchange*, a
//! round in which it has seen everybody's line: who has come to a round has finished the one before. Otherwise it looks at
//! the counts of finished rounds.
//!
//! The word for the call is the sum of the call and of a hash of all calls before it, so that ranks whose earlier calls
//! differed find out where they meet next. A rank that waits for long says in which call it does, beside its count of
//! finished rounds: two that wait for each other find out, too.
//!
//! Nothing here blocks or interprets what is written.

use crate::arena::Mapping;
use crate::notice::Notice;
use crate::prefetch;
use crate::segment::{CACHE_LINE, PAGE};
use crate::sync::{AtomicU32, AtomicU64, Ordering};
use std::ptr::NonNull;
use std::sync::Arc;

/// Rounds that a rank may be ahead of the slowest. A power of two.
const SLOTS: usize = 128;
/// The part of a call that all later rounds depend on, too. Ranks that differ in the rest may go on after that round.
pub const LASTING: u64 = (1 << 30) - 1;
/// In the number of a round: the rank makes no more calls after it.
const LEAVING: u64 = 1 << 63;

/// Bytes that are prefetched at the most, and the most of a round for which another place is taken than that of the round
/// before: a longer one would only fill the caches.
const PREFETCH_MOST: usize = 8 << 10;
const ALTERNATE_MOST: usize = 64 << 10;

/// Who is ahead of the others looks after so many rounds how far they are, so that it uses little of its staging buffer, which stays
/// in its cache, and has few rounds to remember. A power of two.
const SELDOM: u64 = 16;

/// Bytes that fit into a line.
pub const LINE_BYTES: usize = CACHE_LINE - 16;

#[repr(C, align(64))]
struct Header {
    /// Set once the ranks were found to be out of step; it stays so.
    broken: AtomicU32,
    /// Ranks that wait for others to finish a round.
    awaited: AtomicU32,
    /// Whether a rank is about to change its CPU.
    moves: AtomicU32,
}

#[repr(C, align(64))]
struct Finished {
    round: AtomicU64,
    /// Ranks that wait for this one alone to finish a round.
    awaited: AtomicU32,
    /// The CPU that this rank was on, and one; 0 before it has said so.
    cpu: AtomicU32,
    /// The round in which this rank waits or last waited for long, and its word for the call.
    waiting: Notice<1>,
}

#[repr(C, align(64))]
struct Line {
    round: AtomicU64,
    call: AtomicU64,
    body: [u8; LINE_BYTES],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Header>() == CACHE_LINE && size_of::<Finished>() == CACHE_LINE);

/// The memory of a board, as everybody sees it. It outlives the value: who makes one keeps the memory mapped.
#[derive(Clone, Copy)]
struct Memory {
    header: NonNull<Header>,
    finished: NonNull<Finished>,
    lines: NonNull<Line>,
    staging_buffers: NonNull<u8>,
    ranks: usize,
    slots: usize,
    staging: usize,
}

/// From one staging buffer to the next: not a power of two, so that the same place in all staging buffers is not the same place in a cache.
const fn staging_stride(staging: usize) -> usize {
    staging + 17 * CACHE_LINE
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
    fn finished(&self, rank: usize) -> &Finished {
        assert!(rank < self.ranks);
        // SAFETY: in bounds, mapped and all atomics.
        unsafe { self.finished.add(rank).as_ref() }
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
pub struct BoardMember {
    memory: Memory,
    rank: usize,
    round: u64,
    /// Everybody has finished this round, as far as we know.
    settled: u64,
    /// The same of each rank alone, as far as its lines have told.
    seen: Box<[u64]>,
    /// What we know of the rounds, by slot.
    past: Box<[Past]>,
    /// Bytes of our staging buffer that the last round that used any did.
    usual: usize,
    /// Where as many would go next, if their lines have been asked for.
    ready: Option<usize>,
    /// What the history of the next round has beside the calls of the last.
    mixed: u64,
    /// Keeps the memory mapped; tests keep theirs themselves.
    _mapping: Option<Arc<Mapping>>,
}

/// One more, or one less: modulo 2^32 that is adding, too.
fn count(awaited: &AtomicU32, waits: bool) {
    awaited.fetch_add(if waits { 1 } else { u32::MAX }, Ordering::SeqCst);
}

/// What a rank remembers of a round.
#[derive(Clone, Copy, Default)]
struct Past {
    /// The part of our staging buffer that it uses: from where to where.
    place: (usize, usize),
    call: u64,
    /// A hash of the calls before it.
    history: u64,
}

impl Past {
    /// What stands in a line or says that a rank waits: the call as whoever has the same history reads it.
    #[inline]
    fn word(&self) -> u64 {
        self.call.wrapping_add(self.history)
    }

    /// The history of the round after this one.
    #[inline]
    fn next_history(&self) -> u64 {
        (self.history.rotate_left(23) ^ self.call & LASTING).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

// SAFETY: nothing in it belongs to a thread: the pointers are to shared memory that the member keeps mapped.
unsafe impl Send for BoardMember {}
// SAFETY: through `&BoardMember` only atomics are accessed, and raw pointers handed out.
unsafe impl Sync for BoardMember {}

impl BoardMember {
    /// Bytes of memory for a board; all zeroes is an empty one.
    pub fn memory_for(ranks: usize, staging: usize) -> usize {
        Memory::lines_end(ranks) + ranks * staging_stride(staging)
    }

    /// A place at the board in this memory. Everybody gives the same number of ranks and bytes of room; `None` if the
    /// memory is too small for them.
    pub fn new(mapping: Arc<Mapping>, ranks: usize, staging: usize, rank: usize) -> Option<BoardMember> {
        if rank >= ranks
            || !staging.is_multiple_of(CACHE_LINE)
            || mapping.area().bytes < BoardMember::memory_for(ranks, staging)
        {
            return None;
        }
        let header = mapping.base().cast::<Header>();
        // SAFETY: the mapping has `memory_for(ranks, staging)` bytes, as was compared above: header, `ranks` lines of
        // `Finished`, `SLOTS * ranks` lines, then the staging buffers. A mapping begins at a page, so all are aligned.
        let memory = unsafe {
            let finished = header.add(1).cast::<Finished>();
            let lines = finished.add(ranks).cast::<Line>();
            let staging_buffers = header.cast::<u8>().add(Memory::lines_end(ranks));
            Memory { header, finished, lines, staging_buffers, ranks, slots: SLOTS, staging }
        };
        Some(BoardMember { _mapping: Some(mapping), ..BoardMember::over(memory, rank) })
    }

    /// The memory outlives the member.
    fn over(memory: Memory, rank: usize) -> BoardMember {
        let past = vec![Past::default(); memory.slots].into();
        let mut seen: Box<[u64]> = vec![0; memory.ranks].into();
        seen[rank] = u64::MAX;
        BoardMember { memory, rank, round: 0, settled: 0, seen, past, usual: 0, ready: None, mixed: 0, _mapping: None }
    }

    #[inline]
    pub fn rank(&self) -> usize {
        self.rank
    }

    #[inline]
    pub fn ranks(&self) -> usize {
        self.memory.ranks
    }

    /// The largest part of a staging buffer that one round may use: two rounds can overlap.
    #[inline]
    pub fn largest_place(&self) -> usize {
        self.memory.staging / 2
    }

    /// What was called elsewhere before the next round, as a hash, belongs to the history, too.
    pub fn mix_in(&mut self, history: u64) {
        self.mixed = history;
    }

    // ---- a round ----

    /// The round that we are in.
    #[inline]
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Goes on to the next round, in which we make this call. The last one must be [finished](BoardMember::finish).
    #[inline]
    pub fn advance(&mut self, call: u64) -> u64 {
        let history = self.past(self.round).next_history() ^ std::mem::take(&mut self.mixed);
        self.round += 1;
        *self.past_mut() = Past { place: (0, 0), call, history };
        self.round
    }

    #[inline]
    fn past(&self, round: u64) -> &Past {
        &self.past[round as usize & (self.memory.slots - 1)]
    }

    /// Of the round that we are in.
    #[inline]
    fn past_mut(&mut self) -> &mut Past {
        &mut self.past[self.round as usize & (self.memory.slots - 1)]
    }

    /// The round whose slot this one uses: our line may be written once that one is settled.
    #[inline]
    pub fn replaced(&self) -> u64 {
        self.round.saturating_sub(self.memory.slots as u64)
    }

    /// Where our line's [`LINE_BYTES`] bytes go, and where those of others are once they have [arrived](BoardMember::has_arrived);
    /// aligned to 16 bytes.
    #[inline]
    pub fn body(&self, rank: usize, round: u64) -> NonNull<u8> {
        let line = self.memory.line(rank, round).as_ptr();
        // SAFETY: a place inside the line.
        unsafe { NonNull::new_unchecked((&raw mut (*line).body).cast()) }
    }

    /// A part of our room for this round, as an offset; `None` until more of the earlier rounds is
    /// [settled](BoardMember::spare).
    #[inline]
    pub fn place(&mut self, bytes: usize) -> Option<usize> {
        let bytes = bytes.next_multiple_of(CACHE_LINE);
        assert!(bytes <= self.memory.staging);
        self.settled = self.settled.max(self.told());
        if self.round.is_multiple_of(SELDOM) && self.round - self.settled > SELDOM {
            self.look(self.settled + 1);
        }
        let at = self.find(bytes, self.round);
        if let Some(at) = at {
            self.keep(at, bytes);
        }
        at
    }

    /// The round that all lines together tell to be settled.
    #[inline]
    fn told(&self) -> u64 {
        self.seen.iter().fold(self.round - 1, |least, &round| least.min(round))
    }

    /// A part of our staging buffer that the rounds before one do not use.
    #[inline]
    fn find(&self, bytes: usize, before: u64) -> Option<usize> {
        let live = self.settled + 1..before;
        let fits = |at: usize| {
            at + bytes <= self.memory.staging
                && live.clone().all(|round| {
                    let (start, end) = self.past(round).place;
                    at + bytes <= start || end <= at
                })
        };
        // What is on its way to our cache first, then the start: what was used just now is in the caches.
        let behind = live.clone().rev().map(|round| self.past(round).place.1);
        self.ready.into_iter().chain([0]).chain(behind).find(|&at| fits(at))
    }

    /// Takes the lines of our staging buffer that a next round with as many bytes as the last will use into this core's cache for
    /// writing, off the path of the last: others have read them, and taking a line back costs as much as handing one
    /// over. They are not those of the last round, which others may be reading.
    #[inline]
    pub fn prefetch(&mut self) {
        if self.ready.is_some() || !(1..=ALTERNATE_MOST).contains(&self.usual) {
            return;
        }
        let bytes = self.usual.min(PREFETCH_MOST);
        self.ready = self.find(self.usual, self.round + 1);
        if let Some(at) = self.ready {
            let place = self.staging(self.rank, at);
            for line in (0..bytes).step_by(CACHE_LINE) {
                // SAFETY: inside our staging buffer; only its address is used.
                prefetch::line_for_writing(unsafe { place.add(line).as_ref() });
            }
        }
    }

    /// This round uses a part of our staging buffer, also if an earlier one [got](BoardMember::place) it.
    #[inline]
    pub fn keep(&mut self, at: usize, bytes: usize) {
        let bytes = bytes.next_multiple_of(CACHE_LINE);
        if bytes != self.usual || self.ready == Some(at) {
            self.ready = None;
        }
        self.usual = bytes;
        self.past_mut().place = (at, at + bytes);
    }

    /// A place in a rank's staging buffer, aligned to cache lines as its offset is.
    #[inline]
    pub fn staging(&self, rank: usize, offset: usize) -> NonNull<u8> {
        assert!(rank < self.memory.ranks && offset <= self.memory.staging);
        // SAFETY: in bounds.
        unsafe { self.memory.staging_buffers.add(rank * staging_stride(self.memory.staging) + offset) }
    }

    /// Shows our line. All that we wrote before can be read by whoever sees it.
    #[inline]
    pub fn publish(&self) {
        let (round, word) = self.memory.words(self.rank, self.round);
        word.store(self.past(self.round).word(), Ordering::Relaxed);
        // Release: what was written to the line and the staging buffer comes first; so does what was read in rounds before.
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

    /// Whether a rank that has arrived makes the same call as we do, and made the same ones before.
    #[inline]
    pub fn agrees(&self, rank: usize) -> bool {
        self.memory.words(rank, self.round).1.load(Ordering::Relaxed) == self.past(self.round).word()
    }

    /// We have been waiting for a while: others may see in which call.
    pub fn say_waiting(&self) {
        self.memory.finished(self.rank).waiting.put(self.round, [self.past(self.round).word()]);
    }

    /// Whether a rank that has not arrived waits in this round, too, but in another call.
    pub fn waits_elsewhere(&self, rank: usize) -> bool {
        self.waiting_word(rank).is_some_and(|word| word != self.past(self.round).word())
    }

    fn waiting_word(&self, rank: usize) -> Option<u64> {
        let (round, [word]) = self.memory.finished(rank).waiting.get()?;
        (round == self.round).then_some(word)
    }

    /// The first call in which a rank differs from us, and ours: of this round or, as far as its lines tell, an earlier
    /// one. `None` if only its history tells that there was one.
    pub fn first_difference(&self, rank: usize) -> Option<(u64, u64)> {
        // Lines of earlier rounds may be overwritten just now, so that what they say is a guess. Not that of this round.
        let now = self.difference(rank, self.round).filter(|(theirs, ours)| (theirs ^ ours) & LASTING == 0);
        let oldest = self.round.saturating_sub(self.memory.slots as u64 - 1).max(1);
        now.or_else(|| (oldest..=self.round).find_map(|round| self.difference(rank, round)))
    }

    /// The call of a rank and ours in a round, if they differ and we know.
    fn difference(&self, rank: usize, round: u64) -> Option<(u64, u64)> {
        let (at, word) = self.memory.words(rank, round);
        let word = match () {
            // Acquire: pairs with `publish`.
            () if at.load(Ordering::Acquire) == round => word.load(Ordering::Relaxed),
            () if round == self.round => self.waiting_word(rank)?,
            () => return None,
        };
        let (theirs, ours) = (word.wrapping_sub(self.past(round).history), self.past(round).call);
        let counts = if round == self.round { u64::MAX } else { LASTING };
        ((theirs ^ ours) & counts != 0).then_some((theirs, ours))
    }

    /// A rank has been seen to arrive in this round, and so has finished the one before.
    #[inline]
    pub fn saw(&mut self, rank: usize) {
        self.seen[rank] = self.round - 1;
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
        self.memory.finished(self.rank).round.store(self.round, Ordering::Release);
        prefetch::line_for_writing(self.memory.words(self.rank, self.round + 1).0);
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
            least = least.min(self.memory.finished(rank).round.load(Ordering::Acquire));
            if least < round {
                return false;
            }
        }
        // Ours is not finished before it is.
        self.settled = least.min(self.round.saturating_sub(1));
        self.settled >= round
    }

    /// The round to wait for when a slot or room is lacking: a later one than has to be settled at the least, so that who is
    /// far ahead is not held up again at once. Others finish it whatever we do, since our lines up to now are written.
    #[inline]
    pub fn spare(&self) -> u64 {
        let open = self.round - 1 - self.settled;
        (self.settled + (open / 2).max(1)).max(self.replaced())
    }

    /// We begin, or no longer have, to wait for somebody to finish a round, and want to be woken.
    pub fn set_waiting(&self, waits: bool) {
        count(&self.memory.header().awaited, waits);
    }

    /// Whether a rank has finished a round.
    #[inline]
    pub fn has_finished(&self, rank: usize, round: u64) -> bool {
        // Acquire: pairs with `finish`; what was read comes before we overwrite it.
        self.memory.finished(rank).round.load(Ordering::Acquire) >= round
    }

    /// We begin, or no longer have, to wait for this rank to finish a round, and want to be woken by it.
    pub fn set_waiting_for(&self, rank: usize, waits: bool) {
        count(&self.memory.finished(rank).awaited, waits);
    }

    /// Whether somebody waits for us alone to finish a round.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.memory.finished(self.rank).awaited.load(Ordering::Relaxed) != 0
    }

    // ---- which CPU a rank is on ----

    /// Which CPU we are on. Relaxed, here and below: what others make of it is right or wrong soon after anyway.
    pub fn say_cpu(&self, cpu: usize) {
        self.memory.finished(self.rank).cpu.store(cpu as u32 + 1, Ordering::Relaxed);
    }

    /// The CPU that a rank was on when it last said so.
    pub fn cpu_of(&self, rank: usize) -> Option<usize> {
        self.memory.finished(rank).cpu.load(Ordering::Relaxed).checked_sub(1).map(|cpu| cpu as usize)
    }

    /// Does something that only one rank does at a time; nothing if another one does.
    pub fn alone_in_move(&self, change: impl FnOnce()) {
        let moves = &self.memory.header().moves;
        // Acquire: what the last one said is seen.
        if moves.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            change();
            moves.store(0, Ordering::Release);
        }
    }

    // ---- the end ----

    pub fn is_broken(&self) -> bool {
        self.memory.header().broken.load(Ordering::Relaxed) != 0
    }

    /// The ranks are out of step: nobody shall wait for anybody any more.
    pub fn break_up(&self) {
        self.memory.header().broken.store(1, Ordering::Relaxed);
    }

    /// Publishes the history of all our calls, before we leave, and compares it with those of ranks that have done so after as
    /// many rounds: the first one that differs. Of two ranks that differ at least one finds the other.
    pub fn compare_histories(&mut self) -> Option<usize> {
        let history = self.past(self.round).next_history() ^ std::mem::take(&mut self.mixed);
        let about = LEAVING | self.round;
        self.memory.finished(self.rank).waiting.put(about, [history]);
        let differs = |&rank: &usize| match self.memory.finished(rank).waiting.get() {
            Some((theirs, [other])) => theirs == about && other != history,
            None => false,
        };
        (0..self.memory.ranks).filter(|&rank| rank != self.rank).find(differs)
    }

    /// Leaves for good: the memory is not touched any more, but for [`BoardMember::is_deserted`].
    pub fn leave(&self) {
        // Release: all that we read and wrote comes first.
        self.memory.finished(self.rank).round.store(u64::MAX, Ordering::Release);
    }

    /// Whether a rank has left. What it wrote before is seen from then on.
    pub fn has_left(&self, rank: usize) -> bool {
        // Acquire: pairs with `leave`.
        self.memory.finished(rank).round.load(Ordering::Acquire) == u64::MAX
    }

    /// Whether everybody has left, so that the memory can be used for something else.
    pub fn is_deserted(&self) -> bool {
        (0..self.memory.ranks).all(|rank| self.has_left(rank))
    }
}

#[cfg(test)]
mod tests;
