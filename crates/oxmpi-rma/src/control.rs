//! What the ranks of a window share beside its memory: counters of fences, locks, flags of posts
//! and completions, and the stripes that make accumulates atomic. The initial state of everything
//! is zero, as in a fresh area.
//!
//! Nothing here waits for long: `try_` functions return at once and the caller decides what to do
//! in the meantime. A rank that changes a word for which another may sleep wakes that rank
//! afterwards.
//!
//! ```text
//! | left | a control block of a rank a rank | stripes, 64 a rank | posts, n by n | completions, n by n | assist requests, n by n | attached memory |
//! ```

use crate::request::{AssistRequest, MAX_ASSISTED_RANKS};
use oxmpi_base::segment::CACHE_LINE;
use oxmpi_base::stripe::Stripe;
use oxmpi_base::sync::shared::{AtomicU32, AtomicU64};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::fence;

/// Stripes per rank for accumulates on its memory. Neighbouring blocks of memory have different
/// ones.
pub const STRIPES: usize = 64;

/// Regions that a rank may attach to a dynamic window at a time.
pub const MAX_ATTACHED: usize = 1 << 15;

/// A word with a cache line of its own.
#[repr(C, align(64))]
struct Lone(AtomicU32);

/// What one rank writes for another one.
#[repr(C, align(64))]
struct Cell {
    count: AtomicU32,
    /// Whether it holds the lock of the other's memory, shared; see [`Control::try_take`].
    hold: AtomicU32,
}

const NO_HOLD: u32 = 0;
/// The lock is being taken, or given back.
const CHANGING: u32 = 1;
const HELD: u32 = 2;

#[repr(C, align(64))]
struct RankControl {
    /// Rounds of fences that the rank has reached.
    rounds: AtomicU64,
    _pad: [u8; 56],
    lock: WindowLock,
    /// How often others have offered the rank parts of long operations.
    work_doorbell: Lone,
    /// Changes whenever the rank polls for assist requests, and is odd while it does.
    poll_count: Lone,
}

/// The lock of one rank's memory, for `MPI_Win_lock`.
#[repr(C, align(64))]
pub struct WindowLock {
    /// [`EXCLUSIVE`] and the rank that holds it, or the number of shared holders.
    state: AtomicU32,
    /// The number of ranks that wait for an exclusive lock.
    writers: AtomicU32,
    /// The number of ranks that wait for it and may sleep.
    waiting: AtomicU32,
}

const EXCLUSIVE: u32 = 1 << 31;

/// How a dead rank held a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Held {
    Exclusively,
    Perhaps,
}

/// The memory that a rank has attached, ordered by address, behind a version that is odd during
/// changes.
#[repr(C, align(64))]
pub struct Attached {
    version: AtomicU64,
    count: AtomicU64,
    regions: [[AtomicU64; 2]; MAX_ATTACHED],
}

/// The offsets in the area.
#[derive(Clone, Copy)]
struct Layout {
    ranks: usize,
    stripes: usize,
    posts: usize,
    completions: usize,
    requests: usize,
    attached: usize,
    end: usize,
}

impl Layout {
    fn new(ranks: usize, dynamic: bool) -> Layout {
        let up = |n: usize| n.next_multiple_of(4096);
        let stripes = up(CACHE_LINE + ranks * size_of::<RankControl>());
        let posts = stripes + ranks * STRIPES * CACHE_LINE;
        let completions = up(posts + ranks * ranks * CACHE_LINE);
        let requests = up(completions + ranks * ranks * CACHE_LINE);
        let attached = if ranks <= MAX_ASSISTED_RANKS {
            up(requests + ranks * ranks * size_of::<AssistRequest>())
        } else {
            requests
        };
        let end = if dynamic { attached + ranks * up(size_of::<Attached>()) } else { attached };
        Layout { ranks, stripes, posts, completions, requests, attached, end }
    }
}

/// The shared words of one window, mapped here.
pub struct Control {
    base: NonNull<u8>,
    layout: Layout,
    /// Ranks may die without ending the others: it is noted who holds a lock, and nobody asks another rank for help.
    recovers: bool,
}

// SAFETY: shared memory that is only ever touched through atomics.
unsafe impl Send for Control {}
// SAFETY: `&Control` gives access to atomics, and to cells whose access is unsafe.
unsafe impl Sync for Control {}

impl Control {
    /// Bytes for the words of a window of so many ranks, in whole pages.
    pub fn bytes(ranks: usize, dynamic: bool) -> usize {
        Layout::new(ranks, dynamic).end
    }

    /// # Safety
    /// `base` is aligned to a page and has [`Control::bytes`] of shared memory for as long as this
    /// value lives; all ranks of the window see the same memory.
    pub unsafe fn new(base: NonNull<u8>, ranks: usize, dynamic: bool) -> Control {
        Control { base, layout: Layout::new(ranks, dynamic), recovers: false }
    }

    /// The same for ranks that go on when some of them die.
    #[must_use]
    pub fn recovering(self, recovers: bool) -> Control {
        Control { recovers, ..self }
    }

    /// # Safety
    /// A `T` of atomics lies at that offset.
    unsafe fn at<T>(&self, offset: usize) -> &T {
        debug_assert!(offset + size_of::<T>() <= self.layout.end);
        // SAFETY: a `T` of atomics lies there: this function's condition; `new` was promised memory for this one's life.
        unsafe { self.base.add(offset).cast::<T>().as_ref() }
    }

    fn rank_control(&self, rank: usize) -> &RankControl {
        assert!(rank < self.layout.ranks);
        // SAFETY: the layout has a `RankControl` for every rank at that offset.
        unsafe { self.at(CACHE_LINE + rank * size_of::<RankControl>()) }
    }

    fn cell(&self, table: usize, row: usize, column: usize) -> &Cell {
        assert!(row < self.layout.ranks && column < self.layout.ranks);
        // SAFETY: the layout has a line for every row and column at that offset.
        unsafe { self.at(table + (row * self.layout.ranks + column) * CACHE_LINE) }
    }

    // ---- locks of the ranks of this node ----

    /// Takes the lock of `target` for `origin`, if it is free.
    #[inline]
    pub fn try_take(&self, target: usize, origin: usize, exclusive: bool, polite: bool) -> bool {
        if exclusive || !self.recovers {
            return self.lock(target).try_take(origin, exclusive, polite);
        }
        self.try_share(target, origin, polite)
    }

    /// Takes a shared lock so that others can tell that this rank holds it.
    #[cold]
    fn try_share(&self, target: usize, origin: usize, polite: bool) -> bool {
        let hold = &self.cell(self.layout.completions, target, origin).hold;
        hold.store(CHANGING, SeqCst);
        let taken = self.lock(target).try_take(origin, false, polite);
        hold.store(if taken { HELD } else { NO_HOLD }, SeqCst);
        taken
    }

    /// Releases a lock; true when a rank waits and must be woken.
    #[inline]
    pub fn give_back(&self, target: usize, origin: usize, exclusive: bool) -> bool {
        if exclusive || !self.recovers {
            return self.lock(target).give_back(exclusive);
        }
        self.give_back_share(target, origin)
    }

    #[cold]
    fn give_back_share(&self, target: usize, origin: usize) -> bool {
        let hold = &self.cell(self.layout.completions, target, origin).hold;
        hold.store(CHANGING, SeqCst);
        let waited = self.lock(target).give_back(false);
        hold.store(NO_HOLD, SeqCst);
        waited
    }

    /// Takes the lock of `target` away from a rank that has died. An error says that it held the lock exclusively, so that what
    /// it was changing may be half done, or that nobody can tell whether it held it.
    pub fn take_from_dead(&self, target: usize, dead: usize) -> Result<(), Held> {
        let lock = self.lock(target);
        let exclusive = EXCLUSIVE | dead as u32;
        if lock.state.compare_exchange(exclusive, 0, SeqCst, SeqCst).is_ok() {
            return Err(Held::Exclusively);
        }
        let hold = &self.cell(self.layout.completions, target, dead).hold;
        match hold.compare_exchange(HELD, NO_HOLD, SeqCst, SeqCst) {
            Ok(_) => {
                lock.state.fetch_sub(1, SeqCst);
                Ok(())
            }
            Err(CHANGING) => Err(Held::Perhaps),
            Err(_) => Ok(()),
        }
    }

    /// The number of ranks that have left the window and will not access these words again.
    pub fn left(&self) -> &AtomicU32 {
        // SAFETY: the layout has this word in its first line.
        unsafe { &self.at::<Lone>(0).0 }
    }

    /// The lock for accumulates on one part of a rank's memory.
    #[inline]
    pub fn stripe(&self, rank: usize, stripe: usize) -> &Stripe {
        debug_assert!(rank < self.layout.ranks && stripe < STRIPES);
        // SAFETY: the layout has STRIPES stripes for every rank there; a `Stripe` is one atomic.
        unsafe { self.at(self.layout.stripes + (rank * STRIPES + stripe) * CACHE_LINE) }
    }

    #[inline]
    pub fn lock(&self, rank: usize) -> &WindowLock {
        &self.rank_control(rank).lock
    }

    /// How often `target` has exposed its memory to `origin`. Only the target writes it.
    pub fn posts(&self, origin: usize, target: usize) -> &AtomicU32 {
        &self.cell(self.layout.posts, origin, target).count
    }

    /// How often `origin` has completed its accesses to `target`. Only the origin writes it.
    pub fn completions(&self, target: usize, origin: usize) -> &AtomicU32 {
        &self.cell(self.layout.completions, target, origin).count
    }

    /// The assist requests to `target`, one per origin; none among many ranks.
    #[inline]
    pub fn requests(&self, target: usize) -> &[AssistRequest] {
        let ranks = self.layout.ranks;
        if ranks > MAX_ASSISTED_RANKS || target >= ranks || self.recovers {
            return &[];
        }
        // SAFETY: the layout has these requests there; the work request of each says which rank may
        // access it.
        unsafe {
            let first = self.base.add(self.layout.requests + target * ranks * size_of::<AssistRequest>());
            std::slice::from_raw_parts(first.cast::<AssistRequest>().as_ptr(), ranks)
        }
    }

    /// Rings the work doorbell of a rank after something was offered to it.
    pub fn ring(&self, rank: usize) {
        // Release: a rank that sees the new value sees the offer.
        self.rank_control(rank).work_doorbell.0.fetch_add(1, Release);
    }

    /// How often a rank's work doorbell has been rung.
    #[inline]
    pub fn rings(&self, rank: usize) -> u32 {
        self.rank_control(rank).work_doorbell.0.load(Acquire)
    }

    /// Marks the rank as polling for assist requests while `does` runs. Only that rank calls this.
    #[inline]
    pub fn while_polling<T>(&self, rank: usize, does: impl FnOnce() -> T) -> T {
        let polls = &self.rank_control(rank).poll_count.0;
        let before = polls.load(Relaxed);
        polls.store(before | 1, Relaxed);
        let done = does();
        // Not in a nested call.
        if before.is_multiple_of(2) {
            polls.store(before.wrapping_add(2), Relaxed);
        }
        done
    }

    /// A number that is odd while a rank polls for assist requests, and changes afterwards.
    pub fn poll_count(&self, rank: usize) -> u32 {
        self.rank_control(rank).poll_count.0.load(Relaxed)
    }

    /// The regions that a rank has attached; only for dynamic windows.
    pub fn attached(&self, rank: usize) -> &Attached {
        assert!(rank < self.layout.ranks && self.layout.end > self.layout.attached);
        // SAFETY: the layout of a dynamic window has an `Attached` for every rank there.
        unsafe { self.at(self.layout.attached + rank * size_of::<Attached>().next_multiple_of(4096)) }
    }

    // ---- barrier: dissemination with a large radix, so that few ranks need only one round ----

    pub fn rounds(&self) -> u32 {
        let mut rounds = 0;
        let mut reach = 1;
        while reach < self.layout.ranks {
            reach *= RADIX;
            rounds += 1;
        }
        rounds
    }

    /// Marks that `rank` has reached the next round; returns the number that others must reach.
    pub fn arrive(&self, rank: usize) -> u64 {
        let word = &self.rank_control(rank).rounds;
        let goal = word.load(Relaxed) + 1;
        // Release: a rank that sees the number sees all earlier stores of this rank.
        word.store(goal, Release);
        goal
    }

    /// A rank of another node has reached a round. Only the agent calls this, for one request of that rank at a time.
    pub fn has_reached(&self, rank: usize, round: u64) {
        // Release: a rank that sees the number sees what the agent wrote before.
        self.rank_control(rank).rounds.store(round, Release);
    }

    /// Whether the ranks that `rank` waits for in this round have reached it.
    #[inline]
    pub fn has_arrived(&self, rank: usize, round: u32, goal: u64) -> bool {
        self.missing(rank, round, goal).next().is_none()
    }

    /// Those of them that have not.
    #[inline]
    pub fn missing(&self, rank: usize, round: u32, goal: u64) -> impl Iterator<Item = usize> {
        let size = self.layout.ranks;
        // Without a division: polled in a loop.
        let heard = steps(size, round).map(move |step| if rank < step { rank + size - step } else { rank - step });
        heard.filter(move |&other| self.rank_control(other).rounds.load(Acquire) < goal)
    }

    /// The ranks that wait for `rank` in this round.
    pub fn waiters(&self, rank: usize, round: u32) -> impl Iterator<Item = usize> + use<> {
        let size = self.layout.ranks;
        steps(size, round).map(move |step| if rank + step < size { rank + step } else { rank + step - size })
    }
}

const RADIX: usize = 16;

/// The distances of the ranks that a rank waits for in a round.
#[inline]
fn steps(size: usize, round: u32) -> impl Iterator<Item = usize> {
    let distance = RADIX.pow(round);
    (1..RADIX).map(move |step| step * distance).take_while(move |&step| step < size)
}

impl WindowLock {
    /// Takes the lock for `rank` if it is free. A polite reader lets waiting writers go first.
    #[inline]
    pub fn try_take(&self, rank: usize, exclusive: bool, polite: bool) -> bool {
        if exclusive {
            let held = EXCLUSIVE | rank as u32;
            return self.state.load(Relaxed) == 0 && self.state.compare_exchange(0, held, SeqCst, Relaxed).is_ok();
        }
        if polite && self.writers.load(Relaxed) > 0 {
            return false;
        }
        let mut state = self.state.load(Relaxed);
        while state & EXCLUSIVE == 0 {
            match self.state.compare_exchange_weak(state, state + 1, SeqCst, Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// The rank that holds it exclusively at the moment.
    pub fn owner(&self) -> Option<usize> {
        let state = self.state.load(Acquire);
        (state & EXCLUSIVE != 0).then_some((state & !EXCLUSIVE) as usize)
    }

    /// Whether a reader could take it at the moment.
    pub fn is_free_to_read(&self, polite: bool) -> bool {
        self.state.load(Acquire) & EXCLUSIVE == 0 && !(polite && self.writers.load(Relaxed) > 0)
    }

    /// Releases the lock; true when a rank waits and must be woken.
    pub fn give_back(&self, exclusive: bool) -> bool {
        // SeqCst: a full barrier before reading `waiting`. A waiting rank reads the state after it
        // has incremented `waiting`.
        if exclusive {
            self.state.swap(0, SeqCst);
        } else {
            self.state.fetch_sub(1, SeqCst);
        }
        self.waiting.load(SeqCst) > 0
    }

    /// Marks that a rank waits and may sleep.
    pub fn begin_waiting(&self, exclusive: bool) {
        self.waiting.fetch_add(1, SeqCst);
        if exclusive {
            self.writers.fetch_add(1, SeqCst);
        }
    }

    pub fn end_waiting(&self, exclusive: bool) {
        self.waiting.fetch_sub(1, SeqCst);
        if exclusive {
            self.writers.fetch_sub(1, SeqCst);
        }
    }
}

impl Attached {
    /// All regions: address and length. Only for the rank whose regions they are.
    pub fn regions(&self) -> impl Iterator<Item = (u64, u64)> {
        self.regions[..self.len()].iter().map(|[start, length]| (start.load(Relaxed), length.load(Relaxed)))
    }

    /// Whether `bytes` from `address` on are attached, in one region or in several adjacent ones.
    /// Any rank may ask at any time.
    /// Nothing is attached any more if its rank is gone.
    pub fn contains(&self, address: u64, bytes: u64, is_gone: impl Fn() -> bool) -> bool {
        loop {
            if let Some(found) = self.try_contains(address, bytes) {
                return found;
            }
            if is_gone() {
                return self.try_contains(address, bytes).unwrap_or(false);
            }
            std::thread::yield_now();
        }
    }

    /// The same for a process that must not wait: `None` when its rank changes the table all the time, or was stopped
    /// while it did.
    pub fn contains_soon(&self, address: u64, bytes: u64, tries: u32) -> Option<bool> {
        (0..tries).find_map(|_| self.try_contains(address, bytes))
    }

    /// `None` during a change.
    #[inline]
    fn try_contains(&self, address: u64, bytes: u64) -> Option<bool> {
        let version = self.version.load(Acquire);
        // During a change the numbers may belong to different regions; then they are not used.
        let found = self.before(address).is_some_and(|(number, start, length)| {
            let inside = address.wrapping_sub(start);
            inside <= length
                && (length - inside >= bytes
                    || self.goes_on(number, start.wrapping_add(length), bytes - (length - inside)))
        });
        // The reads above come before the second read of the version.
        fence(Acquire);
        (version.is_multiple_of(2) && self.version.load(Relaxed) == version).then_some(found)
    }

    /// Whether the regions after one that ends at `end` cover the `bytes` that follow.
    #[cold]
    fn goes_on(&self, number: usize, mut end: u64, mut bytes: u64) -> bool {
        for region in &self.regions[number + 1..self.len().max(number + 1)] {
            let [start, length] = region.each_ref().map(|word| word.load(Relaxed));
            if start != end {
                return false;
            }
            if length >= bytes {
                return true;
            }
            end = end.wrapping_add(length);
            bytes -= length;
        }
        false
    }

    /// The number of regions.
    pub fn len(&self) -> usize {
        (self.count.load(Relaxed) as usize).min(MAX_ATTACHED)
    }

    /// The last region that starts at or before an address: its number, start and length.
    pub fn before(&self, address: u64) -> Option<(usize, u64, u64)> {
        let regions = &self.regions[..self.len()];
        let number = regions.partition_point(|region| region[0].load(Relaxed) <= address).checked_sub(1)?;
        let [start, length] = &regions[number];
        Some((number, start.load(Relaxed), length.load(Relaxed)))
    }

    /// Inserts a region at an index. There must be room. Only the owner calls this.
    pub fn insert(&self, number: usize, start: u64, length: u64) {
        let count = self.len();
        self.change(|| {
            for later in (number..count).rev() {
                self.store(later + 1, self.regions[later].each_ref().map(|word| word.load(Relaxed)));
            }
            self.store(number, [start, length]);
            self.count.store(count as u64 + 1, Relaxed);
        });
    }

    /// Removes a region. Only the owner calls this.
    pub fn remove(&self, number: usize) {
        let count = self.len();
        self.change(|| {
            for later in number + 1..count {
                self.store(later - 1, self.regions[later].each_ref().map(|word| word.load(Relaxed)));
            }
            self.count.store(count as u64 - 1, Relaxed);
        });
    }

    fn store(&self, number: usize, region: [u64; 2]) {
        self.regions[number][0].store(region[0], Relaxed);
        self.regions[number][1].store(region[1], Relaxed);
    }

    /// Makes a change that no reader sees half of.
    fn change(&self, change: impl FnOnce()) {
        let version = self.version.load(Relaxed);
        self.version.store(version + 1, Relaxed);
        // A reader that sees a change sees the odd version.
        fence(Release);
        change();
        self.version.store(version + 2, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_control(ranks: usize, dynamic: bool, test: impl FnOnce(&Control)) {
        let bytes = Control::bytes(ranks, dynamic);
        let mut memory = vec![0u8; bytes + 4096];
        let offset = memory.as_ptr().align_offset(4096);
        let base = NonNull::new(memory[offset..].as_mut_ptr()).unwrap();
        // SAFETY: aligned, large enough, and alive until the test ends.
        test(&unsafe { Control::new(base, ranks, dynamic) });
    }

    #[test]
    fn every_rank_learns_of_every_rank() {
        for ranks in [1, 2, 3, 15, 16, 17, 33, 40, 256, 300] {
            with_control(ranks, false, |control| {
                let mut known: Vec<Vec<bool>> = (0..ranks).map(|me| (0..ranks).map(|r| r == me).collect()).collect();
                for round in 0..control.rounds() {
                    let before = known.clone();
                    for (rank, what) in before.iter().enumerate() {
                        for waiter in control.waiters(rank, round) {
                            for (knows, said) in known[waiter].iter_mut().zip(what) {
                                *knows |= said;
                            }
                        }
                    }
                }
                assert!(known.iter().flatten().all(|known| *known), "{ranks} ranks");
            });
        }
    }

    #[test]
    fn a_round_ends_when_all_have_come() {
        with_control(3, false, |control| {
            let goal = control.arrive(0);
            control.arrive(2);
            assert!(!control.has_arrived(0, 0, goal));
            control.arrive(1);
            assert!((0..3).all(|rank| control.has_arrived(rank, 0, goal)));
        });
    }

    #[test]
    fn locks_exclude_and_readers_are_polite() {
        with_control(2, false, |control| {
            let lock = control.lock(1);
            assert!(lock.try_take(5, false, true) && lock.try_take(5, false, true) && !lock.try_take(5, true, true));
            lock.begin_waiting(true);
            assert!(!lock.try_take(5, false, true) && lock.try_take(5, false, false));
            assert!((0..3).all(|_| lock.give_back(false)));
            assert!(lock.try_take(5, true, true) && !lock.try_take(5, false, false));
            assert_eq!(lock.owner(), Some(5));
            lock.end_waiting(true);
            assert!(!lock.give_back(true));
        });
    }

    #[test]
    fn attached_memory_is_found() {
        with_control(2, true, |control| {
            let table = control.attached(1);
            assert!(!table.contains(100, 1, || false));
            assert_eq!(table.before(100), None);
            table.insert(0, 200, 8);
            table.insert(0, 100, 50);
            assert_eq!((table.before(199), table.before(200)), (Some((0, 100, 50)), Some((1, 200, 8))));
            assert!(
                table.contains(100, 50, || false)
                    && table.contains(149, 1, || false)
                    && table.contains(150, 0, || false)
            );
            assert!(
                !table.contains(99, 1, || false)
                    && !table.contains(100, 51, || false)
                    && !table.contains(150, 1, || false)
            );
            assert!(
                table.contains(200, 8, || false)
                    && !table.contains(201, 8, || false)
                    && !table.contains(u64::MAX, 2, || false)
            );
            table.remove(0);
            assert_eq!(table.len(), 1);
            assert!(!table.contains(100, 1, || false) && table.contains(200, 8, || false));
        });
    }
}
