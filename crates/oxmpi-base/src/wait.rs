//! Waiting for a peer without burning the machine: spin while that is free, hand the CPU over when ranks outnumber
//! CPUs, then sleep on a futex in the segment.
//!
//! The waker must not pay for sleepers that are not there. After it has published a packet it only loads the peer's
//! `sleep` word, without a fence. The fence is on the sleeper's side: it sets the word, forces every rank's pending
//! stores out with `membarrier`, looks at its rings once more, and only then sleeps. Where the kernel has no
//! `membarrier` for this, the waker pays for a fence of its own.

use crate::load::{self, now};
use crate::segment::{JobHeader, RankBlock};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::time::Duration;

/// How this process orders its packets against the sleep words of others. Every rank must agree, so it is decided by
/// what the kernel offers, which is the same for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WakeFence {
    /// Sleepers use `membarrier`; wakers need no fence.
    Asymmetric,
    /// Wakers fence.
    Symmetric,
}

const MEMBARRIER_GLOBAL_EXPEDITED: i32 = 2;
const MEMBARRIER_REGISTER_GLOBAL_EXPEDITED: i32 = 4;

/// Registers this process for other ranks' barriers; to be called once, before the first packet is sent.
pub fn register() -> WakeFence {
    if membarrier(MEMBARRIER_REGISTER_GLOBAL_EXPEDITED) { WakeFence::Asymmetric } else { WakeFence::Symmetric }
}

fn membarrier(command: i32) -> bool {
    // SAFETY: takes plain numbers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// Orders everything before it before everything after it, for all ranks.
#[inline(always)]
pub fn full_fence() {
    // A locked instruction does what `mfence` does, in half the time.
    // SAFETY: changes nothing but the flags; the stack is there.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    fence(Ordering::SeqCst);
}

/// Orders what other threads and ranks did before they see what this thread did before, against what this thread does after:
/// they need no fence of their own for that, if the barrier is asymmetric.
pub fn order_everywhere(barrier: WakeFence) {
    fence(Ordering::SeqCst);
    if barrier == WakeFence::Asymmetric {
        membarrier(MEMBARRIER_GLOBAL_EXPEDITED);
    }
}

/// Wakes `peer` if it sleeps; to be called after something was published to it.
#[inline]
pub fn wake(job: &JobHeader, peer: &RankBlock, barrier: WakeFence) {
    if barrier == WakeFence::Symmetric {
        fence(Ordering::SeqCst);
    }
    // Keeps the compiler from moving the load before the packet's stores; the processor is ordered by the sleeper.
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    if peer.sleep.load(Ordering::Relaxed) != 0 {
        wake_now(job, peer);
    }
}

/// Wakes everybody who sleeps on the rank's word.
#[cold]
pub fn wake_now(job: &JobHeader, peer: &RankBlock) {
    peer.woken_at.store(now(), Ordering::Relaxed);
    let was = peer.sleep.swap(0, Ordering::AcqRel);
    if was == COUNTED {
        // Done for the sleeper: whoever spins on its CPU must see the oversubscription now, not once the sleeper runs.
        job.awake.fetch_add(1, Ordering::Relaxed);
    }
    if was != 0 {
        futex_wake(&peer.sleep, i32::MAX);
    }
}

/// The rank's sleep word while its one thread sleeps, which is not among the awake meanwhile.
const COUNTED: u32 = 1;
/// The same while one of several threads sleeps; the rank stays among the awake, since others of its threads may run.
const UNCOUNTED: u32 = 2;

/// Says that this rank is about to sleep, `alone` when it has no other thread in the library. The caller looks for work
/// once more, then calls [`sleep`], or [`wake_now`] on itself.
pub fn prepare_to_sleep(job: &JobHeader, me: &RankBlock, barrier: WakeFence, alone: bool) {
    if alone {
        job.awake.fetch_sub(1, Ordering::Relaxed);
    }
    me.sleep.store(if alone { COUNTED } else { UNCOUNTED }, Ordering::SeqCst);
    match barrier {
        WakeFence::Asymmetric => {
            membarrier(MEMBARRIER_GLOBAL_EXPEDITED);
        }
        WakeFence::Symmetric => fence(Ordering::SeqCst),
    }
}

/// Sleeps until woken, or for `limit`, after [`prepare_to_sleep`]. With several threads the word is left as it is, since
/// others may sleep on it too; at worst the next message makes a needless system call.
pub fn sleep(job: &JobHeader, me: &RankBlock, limit: Duration, alone: bool) {
    let start = now();
    futex_wait(&me.sleep, if alone { COUNTED } else { UNCOUNTED }, Some(limit));
    load::slept();
    // Where ranks outnumber CPUs it is not the machine that makes us wait. Whoever cleared the word has said when before; if
    // that was before we slept, we did not sleep.
    let woken_at = (me.sleep.load(Ordering::Acquire) == 0).then(|| me.woken_at.load(Ordering::Relaxed));
    if let Some(woken_at) = woken_at.filter(|&at| at > start && job.has_cpu_for_everybody()) {
        WAKE_LATENCY.was(now().saturating_sub(woken_at));
    }
    if alone && me.sleep.compare_exchange(COUNTED, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        // Nobody woke us, so nobody has counted us.
        job.awake.fetch_add(1, Ordering::Relaxed);
    }
}

/// Sleeps while the word has the expected value, or for `limit`; may return for no reason.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) {
    let time =
        limit.map(|limit| libc::timespec { tv_sec: limit.as_secs() as i64, tv_nsec: i64::from(limit.subsec_nanos()) });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word and the time are alive; the kernel compares and sleeps, or returns at once.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, time);
    }
}

pub(crate) fn futex_wake(word: &AtomicU32, most: i32) {
    // SAFETY: the word is alive.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, most);
    }
}

/// Whether more ranks are awake than there are CPUs for them, or something else runs on those CPUs.
#[inline]
pub fn is_oversubscribed(job: &JobHeader) -> bool {
    job.awake.load(Ordering::Relaxed) > job.cpus.load(Ordering::Relaxed) as i32 || load::is_contended()
}

/// Whether there is a CPU for one more rank than are awake.
pub fn has_idle_cpu(job: &JobHeader) -> bool {
    job.awake.load(Ordering::Relaxed) < job.cpus.load(Ordering::Relaxed) as i32
}

/// Lets another rank have this CPU.
pub fn yield_cpu() {
    load::yield_cpu();
}

/// When a rank that asks again and again instead of waiting lets others have its CPU. A hand-over at every question would cost
/// a program far more than the work that it does between them, and none at all would keep its peers from answering. So it comes
/// at once while hand-overs bring something, and ever less often while they do not.
#[derive(Default)]
pub struct PollYieldPolicy {
    /// When the last one came back, in nanoseconds of the monotonic clock.
    came_back: AtomicU64,
    /// How many were in vain since a question brought something.
    in_vain: AtomicU32,
}

/// Hand-overs in vain before turns get longer.
const QUICK_TURNS: u32 = 4;
/// No other rank had the CPU when it is back sooner than this, in nanoseconds.
const SHORTEST_ABSENCE: u64 = 1_000;
/// Some times the cost of a hand-over, in nanoseconds, so that little is lost to them.
const LONGEST_TURN: u64 = 16_000;

impl PollYieldPolicy {
    pub const fn new() -> PollYieldPolicy {
        PollYieldPolicy { came_back: AtomicU64::new(0), in_vain: AtomicU32::new(0) }
    }

    /// A question brought something.
    #[inline]
    pub fn found(&self) {
        // Relaxed, here and below: these are hints, and mostly one thread's.
        self.in_vain.store(0, Ordering::Relaxed);
    }

    /// A question was in vain: yields the CPU if the turn has ended.
    pub fn ask_in_vain(&self) {
        let (in_vain, start) = (self.in_vain.load(Ordering::Relaxed), now());
        let lasted = start.saturating_sub(self.came_back.load(Ordering::Relaxed));
        if in_vain > QUICK_TURNS && lasted < length_after(in_vain) {
            return;
        }
        let absence = load::yield_cpu();
        self.came_back.store(now(), Ordering::Relaxed);
        // A scheduler that has given this rank less than others lets it go on; nobody could have brought anything.
        if absence >= SHORTEST_ABSENCE {
            self.in_vain.store(in_vain.saturating_add(1), Ordering::Relaxed);
        }
    }
}

/// Doubles from a microsecond on.
fn length_after(in_vain: u32) -> u64 {
    (1_000 << in_vain.saturating_sub(QUICK_TURNS + 1).min(16)).min(LONGEST_TURN)
}

/// What a waiting loop does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Look again at once.
    Again,
    /// Time to sleep.
    Sleep,
}

/// How long it takes this process to come back when it is woken, in nanoseconds, as seen lately.
///
/// On a machine whose CPUs others use too, a sleeper may come back later than its peers fall asleep: those who wait for each
/// other would then sleep at every step, for ever, once one of them was late. So whoever comes back late sleeps later.
struct WakeLatency(AtomicU64);

static WAKE_LATENCY: WakeLatency = WakeLatency(AtomicU64::new(0));

/// Whoever spins for a while anyway need not mind to be so late, in nanoseconds.
const IN_TIME: u64 = 100_000;
/// More is no habit of the machine's.
const LATEST: u64 = 8_000_000;

impl WakeLatency {
    /// It took so long.
    fn was(&self, time: u64) {
        // Relaxed: a hint. It is forgotten in a few sleeps.
        let before = self.0.load(Ordering::Relaxed) / 2;
        self.0.store(before.max(time.min(LATEST)), Ordering::Relaxed);
    }

    /// How much longer to be awake for something that may come soon.
    fn more_backoff(&self) -> u64 {
        match self.0.load(Ordering::Relaxed) {
            0..=IN_TIME => 0,
            time => time * 4,
        }
    }
}

/// The backoff of one waiting call: a few looks in a row, then hand-overs, then sleep.
pub struct Backoff {
    looks: u32,
    yields: u32,
    /// Until when it is awake for fear of being late, once it knows.
    until: Option<u64>,
}

/// Looks between two questions about the load of the machine.
const LOOKS_A_ROUND: u32 = 64;
/// Rounds of spinning while every awake rank has a CPU (some hundred microseconds).
const ROUNDS_ALONE: u32 = 256;
/// Hand-overs before sleeping while ranks outnumber CPUs.
const YIELDS_OVERSUBSCRIBED: u32 = 48;

/// Looks before a hand-over while ranks outnumber CPUs.
const LOOKS_OVERSUBSCRIBED: u32 = 4;

impl Backoff {
    #[inline]
    pub fn new(job: &JobHeader) -> Backoff {
        Backoff {
            looks: if is_oversubscribed(job) { LOOKS_A_ROUND - LOOKS_OVERSUBSCRIBED } else { 0 },
            yields: 0,
            until: None,
        }
    }

    /// Something moved, so that more may come soon: looks in vain are counted anew.
    #[inline]
    pub fn renew(&mut self) {
        self.looks %= LOOKS_A_ROUND;
        self.until = None;
    }

    /// One look was in vain.
    #[inline]
    pub fn pause(&mut self, job: &JobHeader) -> Step {
        self.looks += 1;
        if !self.looks.is_multiple_of(LOOKS_A_ROUND) {
            std::hint::spin_loop();
            return Step::Again;
        }
        self.round(job)
    }

    #[cold]
    fn round(&mut self, job: &JobHeader) -> Step {
        load::polled_in_vain();
        let oversubscribed = is_oversubscribed(job);
        if !oversubscribed && self.looks / LOOKS_A_ROUND < ROUNDS_ALONE {
            return Step::Again;
        }
        if oversubscribed && self.yields < YIELDS_OVERSUBSCRIBED {
            self.yields += 1;
            yield_cpu();
            self.looks += LOOKS_A_ROUND - LOOKS_OVERSUBSCRIBED;
            return Step::Again;
        }
        let more = WAKE_LATENCY.more_backoff();
        if !oversubscribed && more > 0 && now() < *self.until.get_or_insert_with(|| now() + more) {
            // Awake, but in nobody's way.
            yield_cpu();
            return Step::Again;
        }
        Step::Sleep
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::segment::Segment;
    use std::time::Instant;

    #[test]
    fn a_sleeper_is_woken_and_a_forgotten_one_wakes_by_itself() {
        let (_fd, segment) = Segment::create(1, 2).unwrap();
        let barrier = register();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let start = Instant::now();
                prepare_to_sleep(segment.header(), segment.rank(0), barrier, true);
                sleep(segment.header(), segment.rank(0), Duration::from_secs(20), true);
                assert!(start.elapsed() < Duration::from_secs(10));
            });
            while segment.rank(0).sleep.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(segment.header().awake.load(Ordering::Relaxed), -1);
            wake(segment.header(), segment.rank(0), barrier);
            assert_eq!(segment.header().awake.load(Ordering::Relaxed), 0, "counted before it runs");
        });
        let start = Instant::now();
        prepare_to_sleep(segment.header(), segment.rank(0), barrier, true);
        sleep(segment.header(), segment.rank(0), Duration::from_millis(30), true);
        assert!(start.elapsed() >= Duration::from_millis(25));
        assert_eq!(segment.header().awake.load(Ordering::Relaxed), 0, "decremented and incremented in pairs");
    }

    #[test]
    fn turns_grow_while_nothing_comes() {
        let lengths: Vec<u64> = (QUICK_TURNS + 1..).take(6).map(length_after).collect();
        assert_eq!(lengths, [1_000, 2_000, 4_000, 8_000, 16_000, 16_000]);
        assert_eq!(length_after(u32::MAX), LONGEST_TURN);
        let rank = PollYieldPolicy::new();
        // Whether a rank that came back long ago, or only now, yields the CPU.
        let hands_over = |came_back| {
            rank.came_back.store(came_back, Ordering::Relaxed);
            rank.ask_in_vain();
            rank.came_back.load(Ordering::Relaxed) != came_back
        };
        assert!(hands_over(0) && hands_over(u64::MAX), "at once");
        rank.in_vain.store(QUICK_TURNS + 1, Ordering::Relaxed);
        assert!(hands_over(0) && !hands_over(u64::MAX), "after a while");
        rank.found();
        assert!(hands_over(u64::MAX), "at once again");
    }

    #[test]
    fn who_comes_back_late_sleeps_later() {
        let wake_latency = WakeLatency(AtomicU64::new(0));
        let after = |time| {
            wake_latency.was(time);
            wake_latency.more_backoff()
        };
        assert_eq!(after(IN_TIME), 0);
        assert_eq!(after(3_000_000), 12_000_000);
        assert_eq!(after(0), 6_000_000, "not forgotten at once");
        assert_eq!(after(3_600_000_000_000), 4 * LATEST, "a night's sleep");
        (0..10).for_each(|_| wake_latency.was(0));
        assert_eq!(after(0), 0);
    }

    #[test]
    fn backoff_ends_sooner_when_oversubscribed() {
        let (_fd, segment) = Segment::create(4, 2).unwrap();
        let count = |awake: i32| {
            segment.header().awake.store(awake, Ordering::Relaxed);
            let mut backoff = Backoff::new(segment.header());
            let mut looks = 0;
            while backoff.pause(segment.header()) == Step::Again {
                looks += 1;
            }
            looks
        };
        assert!(count(4) * 10 < count(2));
    }
}
