//! A board: shared memory of the ranks of a communicator for collective operations on one node.
//!
//! ```text
//! header | per rank: counter of finished rounds | SLOTS x per rank: an entry
//!        | per rank: a staging buffer, for data that does not fit an entry
//! ```
//!
//! A collective operation is one or more *rounds*, which all ranks count alike. In a round a rank
//! may write its entry and its staging buffer; no other rank writes them. The entry contains the
//! number of its round (written last: the entry is ready), a word for the call that the rank is in,
//! and a few bytes of data, so that a small contribution moves from core to core as one cache line.
//!
//! Entries are reused: round r uses slot r mod SLOTS. A rank reuses a slot, or a part of its
//! staging buffer, only when it knows that all ranks have finished the round that used it last. It
//! knows this without extra loads after an *exchange*, a round in which it has seen the entries of
//! all ranks: a rank that has arrived in a round has finished the round before. Otherwise it reads
//! the counters of finished rounds.
//!
//! The word for the call is the sum of the call and of a hash of all earlier calls, so ranks whose
//! earlier calls differed detect it in the next round. A rank that waits for long publishes its
//! call beside its counter of finished rounds, so two ranks that wait for each other in different
//! calls detect it too.
//!
//! Nothing here blocks or interprets the data.

use crate::arena::Mapping;
use crate::prefetch;
use crate::segment::{CACHE_LINE, PAGE};
use crate::seq_record::SeqRecord;
use crate::sync::{AtomicU32, AtomicU64, Ordering, fence};
use std::ptr::NonNull;
use std::sync::Arc;

/// Rounds by which a rank may be ahead of the slowest one. A power of two.
const SLOTS: usize = 128;
/// The part of a call that must be the same in all ranks for later rounds, too. Ranks that differ
/// only in the rest may continue after that round.
pub const LASTING: u64 = (1 << 30) - 1;
/// Flag in the number of a round: the rank makes no more calls after it.
const LEAVING: u64 = 1 << 63;

/// Upper limit of bytes to prefetch; and the largest round for which a place other than that of the
/// round before is chosen (a larger one would only fill the caches).
const PREFETCH_MOST: usize = 8 << 10;
const ALTERNATE_MOST: usize = 64 << 10;

/// A rank that is ahead of the others reads their counters once in so many rounds. So it uses only
/// a small part of its staging buffer, which stays in its cache, and has few rounds to remember. A
/// power of two.
const SELDOM: u64 = 16;

/// Bytes of data in an entry.
pub const ENTRY_BYTES: usize = CACHE_LINE - 16;

#[repr(C, align(64))]
struct Header {
    /// Set when the ranks were found to make different calls; never cleared.
    broken: AtomicU32,
    /// Number of ranks that wait for others to finish a round.
    awaited: AtomicU32,
    /// Set while a rank is changing its CPU.
    moves: AtomicU32,
}

#[repr(C, align(64))]
struct Finished {
    round: AtomicU64,
    /// Number of ranks that wait for this rank alone to finish a round.
    awaited: AtomicU32,
    /// The CPU that this rank last reported, plus one; 0 before its first report.
    cpu: AtomicU32,
    /// Whether this rank copies from or to the memory of others. Only in jobs that go on after deaths.
    copies: AtomicU32,
    /// The round in which this rank waits or last waited for long, and its word for the call.
    waiting: SeqRecord<1>,
}

#[repr(C, align(64))]
struct Entry {
    round: AtomicU64,
    call: AtomicU64,
    body: [u8; ENTRY_BYTES],
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Header>() == CACHE_LINE && size_of::<Finished>() == CACHE_LINE);

/// The memory of a board, the same for all ranks. It outlives this value: the owner keeps it
/// mapped.
#[derive(Clone, Copy)]
struct Memory {
    header: NonNull<Header>,
    finished: NonNull<Finished>,
    entries: NonNull<Entry>,
    staging_buffers: NonNull<u8>,
    ranks: usize,
    slots: usize,
    staging: usize,
}

/// Distance between staging buffers. Not a power of two, so that equal offsets of different buffers
/// do not share a cache set.
const fn staging_stride(staging: usize) -> usize {
    staging + 17 * CACHE_LINE
}

impl Memory {
    fn entries_end(ranks: usize) -> usize {
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
    fn entry(&self, rank: usize, round: u64) -> NonNull<Entry> {
        assert!(rank < self.ranks);
        let slot = round as usize & (self.slots - 1);
        // SAFETY: in bounds.
        unsafe { self.entries.add(slot * self.ranks + rank) }
    }

    #[inline]
    fn words(&self, rank: usize, round: u64) -> (&AtomicU64, &AtomicU64) {
        let entry = self.entry(rank, round).as_ptr();
        // SAFETY: mapped; references to the two atomics alone, not to the body.
        unsafe { (&(*entry).round, &(*entry).call) }
    }
}

/// The state of one rank on a board.
pub struct BoardMember {
    memory: Memory,
    rank: usize,
    round: u64,
    /// The last round that all ranks are known to have finished.
    settled: u64,
    /// The last round that each rank is known to have finished, from its entries.
    seen: Box<[u64]>,
    /// The recent rounds, by slot.
    past: Box<[Past]>,
    /// Bytes of the own staging buffer that were used last.
    usual: usize,
    /// Where a buffer of that size would go next, if its lines have been prefetched.
    ready: Option<usize>,
    /// A hash that enters the history of the next round beside the calls on this board.
    mixed: u64,
    /// Keeps the memory mapped; `None` in tests, which own their memory.
    _mapping: Option<Arc<Mapping>>,
}

/// Adds or subtracts one (adding `u32::MAX` is subtracting one).
fn count(awaited: &AtomicU32, waits: bool) {
    awaited.fetch_add(if waits { 1 } else { u32::MAX }, Ordering::SeqCst);
}

/// What a rank remembers of a round.
#[derive(Clone, Copy, Default)]
struct Past {
    /// The part of the own staging buffer that the round uses: start and end.
    place: (usize, usize),
    call: u64,
    /// A hash of the calls before it.
    history: u64,
}

impl Past {
    /// The word that is published for the call. A rank with the same history can recover the call
    /// from it.
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

// SAFETY: nothing in it belongs to a thread: the pointers are to shared memory that the member
// keeps mapped.
unsafe impl Send for BoardMember {}
// SAFETY: through `&BoardMember` only atomics are accessed, and raw pointers handed out.
unsafe impl Sync for BoardMember {}

impl BoardMember {
    /// Bytes of memory for a board. Zeroed memory is a new board.
    pub fn memory_for(ranks: usize, staging: usize) -> usize {
        Memory::entries_end(ranks) + ranks * staging_stride(staging)
    }

    /// The member of rank `rank` on the board in this memory. All ranks pass the same number of
    /// ranks and the same size of staging buffers; `None` if the memory is too small for them.
    pub fn new(mapping: Arc<Mapping>, ranks: usize, staging: usize, rank: usize) -> Option<BoardMember> {
        if rank >= ranks
            || !staging.is_multiple_of(CACHE_LINE)
            || mapping.area().bytes < BoardMember::memory_for(ranks, staging)
        {
            return None;
        }
        let header = mapping.base().cast::<Header>();
        // SAFETY: the mapping has `memory_for(ranks, staging)` bytes, as was compared above:
        // header, `ranks` lines of `Finished`, `SLOTS * ranks` entries, then the staging buffers. A
        // mapping begins at a page, so all are aligned.
        let memory = unsafe {
            let finished = header.add(1).cast::<Finished>();
            let entries = finished.add(ranks).cast::<Entry>();
            let staging_buffers = header.cast::<u8>().add(Memory::entries_end(ranks));
            Memory { header, finished, entries, staging_buffers, ranks, slots: SLOTS, staging }
        };
        Some(BoardMember { _mapping: Some(mapping), ..BoardMember::over(memory, rank) })
    }

    /// Like [`BoardMember::new`], over memory that outlives the member.
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

    /// Adds a hash of calls that were made elsewhere to the history of the next round.
    pub fn mix_in(&mut self, history: u64) {
        self.mixed = history;
    }

    // ---- a round ----

    /// The current round.
    #[inline]
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Starts the next round, with this call. The last round must be
    /// [finished](BoardMember::finish).
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

    /// The entry of `past` for the current round.
    #[inline]
    fn past_mut(&mut self) -> &mut Past {
        &mut self.past[self.round as usize & (self.memory.slots - 1)]
    }

    /// The earlier round that used the slot of this one: the own entry may be written when that
    /// round is settled.
    #[inline]
    pub fn replaced(&self) -> u64 {
        self.round.saturating_sub(self.memory.slots as u64)
    }

    /// The [`ENTRY_BYTES`] bytes of an entry, aligned to 16 bytes. Those of another rank are valid
    /// after it has [arrived](BoardMember::has_arrived).
    #[inline]
    pub fn body(&self, rank: usize, round: u64) -> NonNull<u8> {
        let entry = self.memory.entry(rank, round).as_ptr();
        // SAFETY: a place inside the entry.
        unsafe { NonNull::new_unchecked((&raw mut (*entry).body).cast()) }
    }

    /// Whether the next round can write its entry, and so many bytes of the own staging buffer,
    /// before other ranks finish more of the earlier rounds. The current round is
    /// [finished](BoardMember::finish).
    #[inline]
    pub fn has_room(&mut self, bytes: usize) -> bool {
        let next = self.round + 1;
        let replaced = next.saturating_sub(self.memory.slots as u64);
        let bytes = bytes.next_multiple_of(CACHE_LINE);
        let has_room =
            |member: &BoardMember| member.settled >= replaced && (bytes == 0 || member.find(bytes, next).is_some());
        has_room(self) || {
            self.look_at_all();
            has_room(self)
        }
    }

    /// Reads how far all other ranks are, when this one has finished its current round.
    #[cold]
    fn look_at_all(&mut self) {
        let others = (0..self.memory.ranks).filter(|&rank| rank != self.rank);
        // Acquire: pairs with `finish`, so that their reads come before our writes.
        let finished = others.map(|rank| self.memory.finished(rank).round.load(Ordering::Acquire));
        let least = finished.fold(self.round, u64::min);
        self.settled = self.settled.max(least);
    }

    /// Allocates a part of the own staging buffer for this round and returns its offset; `None`
    /// until more of the earlier rounds are [settled](BoardMember::spare).
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

    /// The last settled round, as far as the entries that were seen tell.
    #[inline]
    fn told(&self) -> u64 {
        self.seen.iter().fold(self.round - 1, |least, &round| least.min(round))
    }

    /// A part of the own staging buffer that no unsettled round before `before` uses.
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
        // First the prefetched place, then the start, then the places behind those in use: recently
        // used memory is in the caches.
        let behind = live.clone().rev().map(|round| self.past(round).place.1);
        self.ready.into_iter().chain([0]).chain(behind).find(|&at| fits(at))
    }

    /// Prefetches for writing the part of the own staging buffer that the next round will use if it
    /// has the same size as the last one. Other ranks have read those lines, and getting them back
    /// takes as long as sending one. The lines of the last round are left alone: other ranks may be
    /// reading them.
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

    /// Marks a part of the own staging buffer as used by this round, also if an earlier round
    /// [allocated](BoardMember::place) it.
    #[inline]
    pub fn keep(&mut self, at: usize, bytes: usize) {
        let bytes = bytes.next_multiple_of(CACHE_LINE);
        if bytes != self.usual || self.ready == Some(at) {
            self.ready = None;
        }
        self.usual = bytes;
        self.past_mut().place = (at, at + bytes);
    }

    /// An address in a rank's staging buffer; aligned to a cache line if the offset is.
    #[inline]
    pub fn staging(&self, rank: usize, offset: usize) -> NonNull<u8> {
        assert!(rank < self.memory.ranks && offset <= self.memory.staging);
        // SAFETY: in bounds.
        unsafe { self.memory.staging_buffers.add(rank * staging_stride(self.memory.staging) + offset) }
    }

    /// Publishes the own entry. A rank that sees it also sees all earlier writes of this rank.
    #[inline]
    pub fn publish(&self) {
        let (round, word) = self.memory.words(self.rank, self.round);
        word.store(self.past(self.round).word(), Ordering::Relaxed);
        // Release: orders the writes to the entry and the staging buffer, and the reads of earlier
        // rounds, before the number.
        round.store(self.round, Ordering::Release);
    }

    /// Whether a rank has published its entry of this round.
    #[inline]
    pub fn has_arrived(&self, rank: usize) -> bool {
        // Acquire: pairs with `publish`.
        self.memory.words(rank, self.round).0.load(Ordering::Acquire) == self.round
    }

    /// Whether all ranks of a list have arrived. All entries are loaded, without stopping at the
    /// first missing one, so that the cache misses overlap: each takes as long as a small
    /// operation.
    #[inline]
    pub fn have_arrived(&self, ranks: impl Iterator<Item = usize>) -> bool {
        ranks.fold(true, |all, rank| all & self.has_arrived(rank))
    }

    /// Whether a rank that has arrived makes the same call as this one, after the same earlier
    /// calls.
    #[inline]
    pub fn agrees(&self, rank: usize) -> bool {
        self.memory.words(rank, self.round).1.load(Ordering::Relaxed) == self.past(self.round).word()
    }

    /// Publishes the call in which this rank has been waiting for a while.
    pub fn say_waiting(&self) {
        self.memory.finished(self.rank).waiting.put(self.round, [self.past(self.round).word()]);
    }

    /// Whether a rank that has not arrived waits in this round too, but in another call.
    pub fn waits_elsewhere(&self, rank: usize) -> bool {
        self.waiting_word(rank).is_some_and(|word| word != self.past(self.round).word())
    }

    fn waiting_word(&self, rank: usize) -> Option<u64> {
        let (round, [word]) = self.memory.finished(rank).waiting.get()?;
        (round == self.round).then_some(word)
    }

    /// The first call in which a rank differs from this one, and the own call: of this round or, as
    /// far as the entries show, of an earlier one. `None` if only the history shows a difference.
    pub fn first_difference(&self, rank: usize) -> Option<(u64, u64)> {
        // Entries of earlier rounds may be overwritten at any time, so they give a guess only; that
        // of this round does not change.
        let now = self.difference(rank, self.round).filter(|(theirs, ours)| (theirs ^ ours) & LASTING == 0);
        let oldest = self.round.saturating_sub(self.memory.slots as u64 - 1).max(1);
        now.or_else(|| (oldest..=self.round).find_map(|round| self.difference(rank, round)))
    }

    /// The call of a rank and the own one in a round, if they are known and differ.
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

    /// Records that a rank has arrived in this round, and so has finished the one before.
    #[inline]
    pub fn saw(&mut self, rank: usize) {
        self.seen[rank] = self.round - 1;
    }

    /// Records that all ranks have arrived in this round, and so have finished the one before.
    #[inline]
    pub fn exchanged(&mut self) {
        self.settled = self.settled.max(self.round - 1);
    }

    /// Marks this round as finished: this rank reads nothing of it any more. Returns whether a rank
    /// waits for that.
    #[inline]
    pub fn finish(&self) -> bool {
        // Release: orders the reads of this rank before it.
        self.memory.finished(self.rank).round.store(self.round, Ordering::Release);
        prefetch::line_for_writing(self.memory.words(self.rank, self.round + 1).0);
        self.memory.header().awaited.load(Ordering::Relaxed) != 0
    }

    // ---- what others have finished ----

    /// Whether all ranks have finished a round.
    #[inline]
    pub fn is_settled(&mut self, round: u64) -> bool {
        self.settled >= round || self.look(round)
    }

    #[cold]
    fn look(&mut self, round: u64) -> bool {
        let mut least = u64::MAX;
        for rank in (0..self.memory.ranks).filter(|&rank| rank != self.rank) {
            // Acquire: pairs with `finish`, so that their reads come before our writes.
            least = least.min(self.memory.finished(rank).round.load(Ordering::Acquire));
            if least < round {
                return false;
            }
        }
        // The own round is not finished yet.
        self.settled = least.min(self.round.saturating_sub(1));
        self.settled >= round
    }

    /// The round to wait for when a slot or a part of the staging buffer is missing. It is later
    /// than strictly needed, so that a rank far ahead does not wait again at once. The other ranks
    /// finish it without this rank, whose entries up to now are published.
    #[inline]
    pub fn spare(&self) -> u64 {
        let open = self.round - 1 - self.settled;
        (self.settled + (open / 2).max(1)).max(self.replaced())
    }

    /// Registers, or removes, this rank as waiting for any rank to finish a round; it is then
    /// woken.
    pub fn set_waiting(&self, waits: bool) {
        count(&self.memory.header().awaited, waits);
    }

    /// Whether a rank has finished a round.
    #[inline]
    pub fn has_finished(&self, rank: usize, round: u64) -> bool {
        // Acquire: pairs with `finish`, so that their reads come before our writes.
        self.memory.finished(rank).round.load(Ordering::Acquire) >= round
    }

    /// Registers, or removes, this rank as waiting for one rank to finish a round; that rank wakes
    /// it.
    pub fn set_waiting_for(&self, rank: usize, waits: bool) {
        count(&self.memory.finished(rank).awaited, waits);
    }

    /// Whether a rank waits for this one alone to finish a round.
    #[inline]
    pub fn is_awaited(&self) -> bool {
        self.memory.finished(self.rank).awaited.load(Ordering::Relaxed) != 0
    }

    // ---- which CPU a rank is on ----

    /// Reports the CPU of this rank. Relaxed, here and below: the information may be outdated
    /// anyway.
    pub fn say_cpu(&self, cpu: usize) {
        self.memory.finished(self.rank).cpu.store(cpu as u32 + 1, Ordering::Relaxed);
    }

    /// The CPU that a rank last reported.
    pub fn cpu_of(&self, rank: usize) -> Option<usize> {
        self.memory.finished(rank).cpu.load(Ordering::Relaxed).checked_sub(1).map(|cpu| cpu as usize)
    }

    /// Runs `change` unless another rank is running its own.
    pub fn alone_in_move(&self, change: impl FnOnce()) {
        let moves = &self.memory.header().moves;
        // Acquire: what the last rank reported is visible.
        if moves.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            change();
            moves.store(0, Ordering::Release);
        }
    }

    // ---- the end ----

    pub fn is_broken(&self) -> bool {
        self.memory.header().broken.load(Ordering::Relaxed) != 0
    }

    /// Marks the ranks as being in different calls, so that no rank waits for another any more.
    pub fn break_up(&self) {
        self.memory.header().broken.store(1, Ordering::Relaxed);
    }

    /// Says that this rank copies from or to the memory of others; `false`: it must not, because one of them may have left with
    /// an error.
    pub fn begin_copy(&self) -> bool {
        let copies = &self.memory.finished(self.rank).copies;
        copies.store(1, Ordering::Relaxed);
        // Either this rank sees that the board is broken, or whoever breaks it sees the copy.
        fence(Ordering::SeqCst);
        let may_copy = !self.is_broken();
        if !may_copy {
            self.end_copy();
        }
        may_copy
    }

    pub fn end_copy(&self) {
        // Release: whoever sees that the copy is over may use the memory.
        self.memory.finished(self.rank).copies.store(0, Ordering::Release);
    }

    /// No rank begins a copy after this one has seen that it makes none.
    pub fn bar_copies(&self) {
        self.break_up();
        fence(Ordering::SeqCst);
    }

    /// Whether a rank is making a copy.
    pub fn is_copying(&self, rank: usize) -> bool {
        self.memory.finished(rank).copies.load(Ordering::Acquire) != 0
    }

    /// Publishes the history of all calls before leaving, and compares it with those of ranks that
    /// left after as many rounds. Returns the first rank that differs. Of two ranks that differ, at
    /// least one finds the other.
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

    /// Leaves the board. The memory is not accessed any more, except by
    /// [`BoardMember::is_deserted`].
    pub fn leave(&self) {
        // Release: orders all reads and writes of this rank before it.
        self.memory.finished(self.rank).round.store(u64::MAX, Ordering::Release);
    }

    /// Whether a rank has left. Its earlier writes are visible from then on.
    pub fn has_left(&self, rank: usize) -> bool {
        // Acquire: pairs with `leave`.
        self.memory.finished(rank).round.load(Ordering::Acquire) == u64::MAX
    }

    /// Whether all ranks have left, so that the memory can be used for something else.
    pub fn is_deserted(&self) -> bool {
        (0..self.memory.ranks).all(|rank| self.has_left(rank))
    }
}

#[cfg(test)]
mod tests;
