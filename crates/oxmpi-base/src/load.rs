//! Detects whether this process gets the CPUs that it expects. `wait.rs` counts ranks that
//! outnumber CPUs. Other load (other programs, more threads of the program) is not counted, but it
//! shows: the kernel preempts a polling thread, which loses time.
//!
//! A polling thread calls [`polled_in_vain`] from time to time, which compares the clock with the
//! CPU time of the thread. Only `wait.rs` acts on the result, through [`is_contended`], which is
//! one load. The evidence expires after some milliseconds in which no other thread wanted the CPU.
//!
//! Others that wait as we do give the CPU back soon when we yield it. A program that computes keeps
//! it for a whole time slice, or several; meanwhile the peers on the other CPUs wait in vain. So
//! after a few such yields this process does not yield for a while, and polls for as long as the
//! kernel lets it. Not if several of its threads poll: each would keep the CPU that another one needs.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Whether something else has recently run where a thread of this process wanted to run, and gives
/// the CPU back when this thread yields it.
#[inline]
pub fn is_contended() -> bool {
    // Relaxed, here and below: hints.
    STATE.load(Ordering::Relaxed) == SHARED
}

/// Whether other programs keep the CPU when this thread yields it.
#[inline]
pub fn is_taken() -> bool {
    STATE.load(Ordering::Relaxed) == TAKEN
}

/// Called by a thread that has polled some dozens of times without finding anything.
#[inline]
pub fn polled_in_vain() {
    let polls = POLLS.load(Ordering::Relaxed).wrapping_add(1);
    POLLS.store(polls, Ordering::Relaxed);
    if polls.is_multiple_of(POLLS_A_LOOK) {
        look();
    }
}

/// Called after the calling thread has slept voluntarily: that time is not lost.
pub fn slept() {
    LAST.set(None);
}

/// Yields this CPU. While the machine counts as contended, notices whether another thread wanted it.
pub fn yield_cpu() {
    if is_contended() {
        yield_cpu_timed();
    } else {
        sched_yield();
    }
}

/// Yields this CPU, and notices whether another thread wanted it. Returns the duration in
/// nanoseconds.
pub fn yield_cpu_timed() -> u64 {
    let start = now();
    sched_yield();
    let end = now();
    let absence = end.saturating_sub(start);
    if is_contended() {
        STATE.store(after_yield(absence, end), Ordering::Relaxed);
    }
    absence
}

/// What a yield of a contended CPU says that ended now.
fn after_yield(absence: u64, now: u64) -> u32 {
    if absence < TIME_SLICE || several_poll(now) {
        DEAR.store(0, Ordering::Relaxed);
    } else if DEAR.fetch_add(1, Ordering::Relaxed) >= DEAR_YIELDS {
        DEAR.store(DEAR_YIELDS, Ordering::Relaxed);
        UNTIL.store(now + PERSISTS, Ordering::Relaxed);
        return TAKEN;
    }
    if absence >= SHORTEST_LOSS {
        UNTIL.store(now + LASTS, Ordering::Relaxed);
    } else if now > UNTIL.load(Ordering::Relaxed) {
        return FREE;
    }
    SHARED
}

fn sched_yield() {
    // SAFETY: no arguments.
    unsafe { libc::sched_yield() };
}

pub fn now() -> u64 {
    time(libc::CLOCK_MONOTONIC)
}

/// One of the constants below.
static STATE: AtomicU32 = AtomicU32::new(FREE);
const FREE: u32 = 0;
/// Others use our CPUs.
const SHARED: u32 = 1;
/// They keep them when we yield.
const TAKEN: u32 = 2;
/// Yields in succession that have cost a time slice.
static DEAR: AtomicU32 = AtomicU32::new(0);
/// When the evidence expires, in nanoseconds of the monotonic clock.
static UNTIL: AtomicU64 = AtomicU64::new(0);
static POLLS: AtomicU32 = AtomicU32::new(0);
/// The address of [`LAST`] of the thread that has taken the last sample.
static POLLER: AtomicUsize = AtomicUsize::new(0);
/// When a sample was last taken by another thread than the one before, or 0.
static POLLER_CHANGED: AtomicU64 = AtomicU64::new(0);

/// Calls of [`polled_in_vain`] between two readings of the clock.
const POLLS_A_LOOK: u32 = 8;
/// Minimum and maximum time between two samples of a thread that are compared, in nanoseconds.
const SHORTEST_SAMPLE: u64 = 200_000;
const LONGEST_SAMPLE: u64 = 100_000_000;
/// Shorter losses come from interrupts and kernel threads, also on an idle machine.
const SHORTEST_LOSS: u64 = 300_000;
/// How long the machine counts as contended after the last evidence.
const LASTS: u64 = 30_000_000;
/// Others that wait as we do come back sooner than this, in nanoseconds.
const TIME_SLICE: u64 = 1_000_000;
/// So many yields may cost more before the next one ends the yielding: another job that has just begun to share our CPUs
/// notices it only after a time slice.
const DEAR_YIELDS: u32 = 2;
/// After so long the next yield shows whether it is still so.
const PERSISTS: u64 = 500_000_000;

#[derive(Clone, Copy)]
struct Sample {
    clock: u64,
    cpu: u64,
    /// Number of involuntary context switches of the thread.
    switches: i64,
}

thread_local! {
    static LAST: Cell<Option<Sample>> = const { Cell::new(None) };
}

#[cold]
fn look() {
    let clock = now();
    let last = LAST.get();
    if last.is_some_and(|last| clock.saturating_sub(last.clock) < SHORTEST_SAMPLE) {
        return;
    }
    let new = Sample { clock, cpu: time(libc::CLOCK_THREAD_CPUTIME_ID), switches: switches() };
    LAST.set(Some(new));
    note_poller(clock);
    if is_taken() {
        if clock > UNTIL.load(Ordering::Relaxed) || several_poll(clock) {
            UNTIL.store(clock + LASTS, Ordering::Relaxed);
            STATE.store(SHARED, Ordering::Relaxed);
        }
    } else if last.is_some_and(|last| is_evidence(&last, &new)) {
        UNTIL.store(clock + LASTS, Ordering::Relaxed);
        STATE.store(SHARED, Ordering::Relaxed);
    }
}

/// The calling thread polls.
fn note_poller(now: u64) {
    let this = LAST.with(|last| std::ptr::from_ref(last).addr());
    let before = POLLER.swap(this, Ordering::Relaxed);
    if before != this && before != 0 {
        POLLER_CHANGED.store(now, Ordering::Relaxed);
    }
}

/// Whether several threads of this process have polled lately.
fn several_poll(now: u64) -> bool {
    let changed = POLLER_CHANGED.load(Ordering::Relaxed);
    changed != 0 && now.saturating_sub(changed) < PERSISTS
}

/// Whether a thread that polled between two samples was prevented from running. A thread that
/// waited for something else in between lost no time by being switched out.
fn is_evidence(last: &Sample, new: &Sample) -> bool {
    let (passed, got) = (new.clock.saturating_sub(last.clock), new.cpu.saturating_sub(last.cpu));
    passed <= LONGEST_SAMPLE && new.switches > last.switches && passed.saturating_sub(got) >= SHORTEST_LOSS
}

fn switches() -> i64 {
    // SAFETY: a structure of numbers, for which zeroes are fine.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure may be written.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    usage.ru_nivcsw
}

fn time(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time may be written; both clocks exist everywhere.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn lost_time_is_evidence_and_time_given_away_is_not() {
        let last = Sample { clock: 1_000_000, cpu: 5_000, switches: 3 };
        let after = |clock: u64, cpu: u64, switches: i64| {
            is_evidence(&last, &Sample { clock: last.clock + clock, cpu: last.cpu + cpu, switches: 3 + switches })
        };
        assert!(after(3_000_000, 1_000_000, 1), "another thread's time slice");
        assert!(!after(3_000_000, 2_990_000, 4), "short interruptions");
        assert!(!after(3_000_000, 1_000_000, 0), "it slept of its own will");
        assert!(!after(LONGEST_SAMPLE + 1, 0, 1), "it did something else meanwhile");
    }

    #[test]
    fn yields_that_cost_a_time_slice_are_not_repeated() {
        // The statics are those of this process, and the other test uses them too.
        let _one = ONE.lock().unwrap();
        DEAR.store(0, Ordering::Relaxed);
        UNTIL.store(0, Ordering::Relaxed);
        POLLER_CHANGED.store(0, Ordering::Relaxed);
        assert_eq!(after_yield(1_000, 10), FREE, "nobody wanted the CPU");
        assert_eq!(after_yield(400_000, 10), SHARED);
        for _ in 0..DEAR_YIELDS {
            assert_eq!(after_yield(TIME_SLICE, 10), SHARED, "it may be an exception");
        }
        assert_eq!(after_yield(TIME_SLICE, 10), TAKEN);
        assert_eq!(UNTIL.load(Ordering::Relaxed), 10 + PERSISTS);
        assert_eq!(after_yield(TIME_SLICE, 10), TAKEN, "the first yield after a while");
        assert_eq!(after_yield(400_000, 10), SHARED, "others come back soon");
        assert_eq!(after_yield(TIME_SLICE, 10), SHARED);
        DEAR.store(DEAR_YIELDS, Ordering::Relaxed);
        POLLER_CHANGED.store(5, Ordering::Relaxed);
        assert_eq!(after_yield(TIME_SLICE, 10), SHARED, "other threads of the process poll, too");
        DEAR.store(DEAR_YIELDS, Ordering::Relaxed);
        assert_eq!(after_yield(TIME_SLICE, 5 + PERSISTS), TAKEN, "they do not any more");
        POLLER_CHANGED.store(0, Ordering::Relaxed);
        UNTIL.store(0, Ordering::Relaxed);
    }

    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

    /// More polling threads than CPUs: noticed soon, and forgotten when they have ended.
    #[test]
    fn threads_that_outnumber_cpus_are_noticed() {
        let _one = ONE.lock().unwrap();
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let poll = |until: &(dyn Fn() -> bool + Sync)| {
            let start = Instant::now();
            while !until() && start.elapsed() < Duration::from_secs(20) {
                polled_in_vain();
            }
        };
        std::thread::scope(|scope| {
            (0..2 * cpus).for_each(|_| drop(scope.spawn(|| poll(&is_contended))));
        });
        assert!(is_contended());
        UNTIL.store(0, Ordering::Relaxed);
        while yield_cpu_timed() >= SHORTEST_LOSS {
            UNTIL.store(0, Ordering::Relaxed);
        }
        assert!(!is_contended());
    }
}
