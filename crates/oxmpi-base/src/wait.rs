//! Waiting for a peer without wasting CPU time: spin while every rank has a CPU, yield the CPU when
//! ranks outnumber CPUs, then sleep: on a futex in the segment, or in `epoll_wait` where the rank has
//! sockets (`wake_pipe.rs`).
//!
//! The waker must not pay for sleepers that do not exist. After it has published a packet, it only
//! loads the peer's `sleep` word, without a fence. The sleeper has the fence: it sets the word,
//! flushes the pending stores of all ranks with `membarrier`, looks at its rings again, and only
//! then sleeps. Where the kernel has no such `membarrier`, the waker executes a fence.

use crate::load::{self, now};
use crate::segment::{JobHeader, RankBlock};
use crate::sync::shared::{AtomicU32, AtomicU64};
use crate::wake_pipe;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

/// How packets are ordered against the sleep words of other ranks. All ranks must agree, so it
/// depends only on what the kernel offers, which is the same for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WakeFence {
    /// Sleepers use `membarrier`; wakers need no fence.
    Asymmetric,
    /// Wakers execute a fence.
    Symmetric,
}

const MEMBARRIER_GLOBAL_EXPEDITED: i32 = 2;
const MEMBARRIER_REGISTER_GLOBAL_EXPEDITED: i32 = 4;

/// Registers this process for the barriers of other ranks. Called once, before the first packet is
/// sent.
pub fn register() -> WakeFence {
    if membarrier(MEMBARRIER_REGISTER_GLOBAL_EXPEDITED) { WakeFence::Asymmetric } else { WakeFence::Symmetric }
}

fn membarrier(command: i32) -> bool {
    // SAFETY: takes plain numbers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// A full memory fence, for all ranks.
#[inline(always)]
pub fn full_fence() {
    // A locked instruction is a full fence like `mfence`, in half the time.
    // SAFETY: changes nothing but the flags; the stack is there.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    fence(Ordering::SeqCst);
}

/// A fence that also acts on the other threads and ranks. With an asymmetric barrier they need no
/// fence of their own: either they see what this thread did before, or it sees what they did.
pub fn order_everywhere(barrier: WakeFence) {
    fence(Ordering::SeqCst);
    if barrier == WakeFence::Asymmetric {
        membarrier(MEMBARRIER_GLOBAL_EXPEDITED);
    }
}

/// Wakes `peer` if it sleeps; called after something was published to it.
#[inline]
pub fn wake(job: &JobHeader, peer: &RankBlock, barrier: WakeFence) {
    if barrier == WakeFence::Symmetric {
        fence(Ordering::SeqCst);
    }
    // The compiler must not move the load before the stores of the packet; the sleeper's barrier
    // orders the processor.
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    if peer.sleep.load(Ordering::Relaxed) != 0 {
        wake_now(job, peer);
    }
}

/// Wakes all threads that sleep on the rank's word.
#[cold]
pub fn wake_now(job: &JobHeader, peer: &RankBlock) {
    peer.woken_at.store(now(), Ordering::Relaxed);
    let was = peer.sleep.swap(0, Ordering::AcqRel);
    if was & !IN_EPOLL == COUNTED {
        // Count the sleeper now: a rank that spins on its CPU must see the oversubscription before
        // the sleeper runs.
        job.awake.fetch_add(1, Ordering::Relaxed);
    }
    if was & IN_EPOLL != 0 {
        wake_pipe::wake(peer);
    } else if was != 0 {
        futex_wake(&peer.sleep, i32::MAX);
    }
}

/// Wakes all threads of a rank that sleep, also where another rank was killed between taking the word and waking them.
pub(crate) fn wake_in_any_case(job: &JobHeader, peer: &RankBlock) {
    let had_pipe = peer.sleep.load(Ordering::Relaxed) & IN_EPOLL != 0;
    wake_now(job, peer);
    if !had_pipe && peer.wake_inode.load(Ordering::Relaxed) != 0 {
        wake_pipe::wake(peer);
    }
    futex_wake(&peer.sleep, i32::MAX);
}

/// Whether a rank sleeps and is not counted as awake.
pub(crate) fn is_counted_asleep(peer: &RankBlock) -> bool {
    peer.sleep.load(Ordering::Relaxed) & !IN_EPOLL == COUNTED
}

/// The rank's sleep word while its only thread sleeps; the rank is then not counted as awake.
const COUNTED: u32 = 1;
/// The same while one of several threads sleeps; the rank stays counted as awake, because its other
/// threads may run.
const UNCOUNTED: u32 = 2;
/// Set beside one of them while the rank sleeps in `epoll_wait`.
pub(crate) const IN_EPOLL: u32 = 4;

/// A thread that is about to sleep, or has slept; `alone` if the rank has no other thread in the library.
#[derive(Clone, Copy)]
pub struct Sleep<'a> {
    pub job: &'a JobHeader,
    pub block: &'a RankBlock,
    pub alone: bool,
}

impl Sleep<'_> {
    #[inline]
    fn word(&self) -> u32 {
        if self.alone { COUNTED } else { UNCOUNTED }
    }

    /// Sets the sleep word, with a bit that says how the rank sleeps.
    pub(crate) fn announce(&self, how: u32, barrier: WakeFence) {
        if self.alone {
            self.job.awake.fetch_sub(1, Ordering::Relaxed);
        }
        // An exchange, as a waker's is: what it overwrites is then older for every rank. (On x86 a
        // store of this kind is an exchange anyway.)
        self.block.sleep.swap(self.word() | how, Ordering::SeqCst);
        match barrier {
            WakeFence::Asymmetric => {
                membarrier(MEMBARRIER_GLOBAL_EXPEDITED);
            }
            WakeFence::Symmetric => fence(Ordering::SeqCst),
        }
    }

    /// The sleep that began at `start` is over. With several threads the word is not reset, because
    /// others may sleep on it too; at worst the next message makes a needless system call.
    pub(crate) fn woke_up(&self, how: u32, start: u64) {
        let Sleep { job, block, alone } = *self;
        load::slept();
        // Measure the wake latency, but not where ranks outnumber CPUs: there the delay is expected.
        // The waker stored the time before it cleared the word. A time before `start` means that we
        // did not sleep.
        let woken_at = (block.sleep.load(Ordering::Acquire) == 0).then(|| block.woken_at.load(Ordering::Relaxed));
        if let Some(woken_at) = woken_at.filter(|&at| at > start && job.has_cpu_for_all()) {
            WAKE_LATENCY.was(now().saturating_sub(woken_at));
        }
        let word = self.word() | how;
        if alone && block.sleep.compare_exchange(word, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            // No waker has counted this rank: the sleep timed out, or a socket ended it.
            job.awake.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Announces that this rank is about to sleep on its word; `alone` if it has no other thread in the
/// library. The caller looks for work again, then calls [`sleep`], or [`wake_now`] on itself.
pub fn prepare_to_sleep(job: &JobHeader, me: &RankBlock, barrier: WakeFence, alone: bool) {
    Sleep { job, block: me, alone }.announce(0, barrier);
}

/// Sleeps until woken, or for `limit`, after [`prepare_to_sleep`].
pub fn sleep(job: &JobHeader, me: &RankBlock, limit: Duration, alone: bool) {
    let sleep = Sleep { job, block: me, alone };
    let start = now();
    futex_wait(&me.sleep, sleep.word(), Some(limit));
    sleep.woke_up(0, start);
}

/// Sleeps while the word has the expected value, or for `limit`; may return early.
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

/// Whether more ranks are awake than CPUs are available, or other threads run on those CPUs.
#[inline]
pub fn is_oversubscribed(job: &JobHeader) -> bool {
    outnumber_cpus(job) || load::is_contended()
}

/// Whether more ranks are awake than CPUs are available.
#[inline]
fn outnumber_cpus(job: &JobHeader) -> bool {
    job.awake.load(Ordering::Relaxed) > job.cpus.load(Ordering::Relaxed) as i32
}

/// How often a call looks for what it needs before it begins to wait in earnest. Few times where the
/// other rank may need this CPU; for about as long as a yield takes where other programs run, since the
/// other rank has its own CPU then, most of the time.
#[inline]
pub fn first_looks(job: &JobHeader) -> usize {
    looks_before_yield(job, 200).max(LOOKS_OVERSUBSCRIBED as usize)
}

/// As [`first_looks`], where the caller looks again after a yield: at most `usual` times, and not at all where ranks
/// outnumber CPUs.
#[inline]
pub fn looks_before_yield(job: &JobHeader, usual: usize) -> usize {
    if outnumber_cpus(job) {
        0
    } else if load::is_contended() {
        LOOKS_CONTENDED as usize
    } else {
        usual
    }
}

/// Whether a CPU is free for one more rank than are awake.
pub fn has_idle_cpu(job: &JobHeader) -> bool {
    job.awake.load(Ordering::Relaxed) < job.cpus.load(Ordering::Relaxed) as i32
}

/// Yields this CPU to another rank.
pub fn yield_cpu() {
    load::yield_cpu();
}

/// Decides when a rank that polls (`MPI_Test`) instead of waiting yields its CPU. Yielding at each
/// poll would cost a program far more than the work that it does in between; never yielding would
/// keep its peers from answering. So it yields at once while that helps, and less and less often
/// while it does not.
#[derive(Default)]
pub struct PollYieldPolicy {
    /// When the last yield returned, in nanoseconds of the monotonic clock.
    came_back: AtomicU64,
    /// Number of useless yields since a poll found something.
    in_vain: AtomicU32,
}

/// Useless yields before the time between them grows.
const QUICK_TURNS: u32 = 4;
/// If a yield takes less than this, in nanoseconds, no other rank had the CPU.
const SHORTEST_ABSENCE: u64 = 1_000;
/// Some times the cost of a yield, in nanoseconds, so that little time is lost to yields.
const LONGEST_TURN: u64 = 16_000;

impl PollYieldPolicy {
    pub const fn new() -> PollYieldPolicy {
        PollYieldPolicy { came_back: AtomicU64::new(0), in_vain: AtomicU32::new(0) }
    }

    /// A poll found something.
    #[inline]
    pub fn found(&self) {
        // Relaxed, here and below: these are hints, usually of one thread.
        self.in_vain.store(0, Ordering::Relaxed);
    }

    /// A poll found nothing: yields the CPU if the time between yields has passed.
    pub fn ask_in_vain(&self) {
        let (in_vain, start) = (self.in_vain.load(Ordering::Relaxed), now());
        let lasted = start.saturating_sub(self.came_back.load(Ordering::Relaxed));
        if in_vain > QUICK_TURNS && lasted < length_after(in_vain) {
            return;
        }
        let absence = load::yield_cpu_timed();
        self.came_back.store(now(), Ordering::Relaxed);
        // A scheduler that has given this rank less time than others returns at once; then no other
        // rank could have progressed.
        if absence >= SHORTEST_ABSENCE {
            self.in_vain.store(in_vain.saturating_add(1), Ordering::Relaxed);
        }
    }
}

/// The time between yields: doubles from one microsecond on.
fn length_after(in_vain: u32) -> u64 {
    (1_000 << in_vain.saturating_sub(QUICK_TURNS + 1).min(16)).min(LONGEST_TURN)
}

/// The next step of a waiting loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Poll again at once.
    Again,
    /// Time to sleep.
    Sleep,
}

/// The recent time from the wake-up of this process until it runs, in nanoseconds.
///
/// On a machine whose CPUs are also used by others, a sleeper may need longer to run again than its
/// peers spin before they sleep. Ranks that wait for each other would then sleep at every step,
/// without end, after one of them was late. So a process that wakes up late spins longer before it
/// sleeps.
struct WakeLatency(AtomicU64);

static WAKE_LATENCY: WakeLatency = WakeLatency(AtomicU64::new(0));

/// Wake-ups faster than this need no extra spinning, in nanoseconds.
const IN_TIME: u64 = 100_000;
/// Longer wake-ups are exceptions and not counted in full.
const LATEST: u64 = 8_000_000;

impl WakeLatency {
    /// Records a wake-up.
    fn was(&self, time: u64) {
        // Relaxed: a hint. It is halved at each sleep.
        let before = self.0.load(Ordering::Relaxed) / 2;
        self.0.store(before.max(time.min(LATEST)), Ordering::Relaxed);
    }

    /// How much longer to spin for something that may come soon.
    fn more_backoff(&self) -> u64 {
        match self.0.load(Ordering::Relaxed) {
            0..=IN_TIME => 0,
            time => time * 4,
        }
    }
}

/// The backoff of one waiting call: first polls, then yields, then sleep.
pub struct Backoff {
    looks: u32,
    yields: u32,
    /// The end of the extra spinning after late wake-ups, once it has begun.
    until: Option<u64>,
}

/// Polls between two checks of the machine's load.
const LOOKS_A_ROUND: u32 = 64;
/// Rounds of spinning while every awake rank has a CPU (some hundred microseconds).
const ROUNDS_ALONE: u32 = 256;
/// Yields before sleeping while ranks outnumber CPUs.
const YIELDS_OVERSUBSCRIBED: u32 = 48;

/// How long a call polls before it sleeps where other programs keep the CPUs, in nanoseconds: some of their time slices.
const PATIENCE_BESIDE_OTHERS: u64 = 20_000_000;

/// Polls before a yield while ranks outnumber CPUs.
const LOOKS_OVERSUBSCRIBED: u32 = 4;

/// Polls before a yield while other threads run on the CPUs of the ranks: about as long as a yield takes, since the other
/// rank has its own CPU most of the time. Two threads of each rank that exchange messages would otherwise hand the CPU
/// over at each message.
const LOOKS_CONTENDED: u32 = 40;

impl Backoff {
    #[inline]
    pub fn new(job: &JobHeader) -> Backoff {
        let looks = if is_oversubscribed(job) { Self::skipped(job) } else { 0 };
        Backoff { looks, yields: 0, until: None }
    }

    /// What is left out of a round before a yield.
    #[inline]
    fn skipped(job: &JobHeader) -> u32 {
        LOOKS_A_ROUND - if outnumber_cpus(job) { LOOKS_OVERSUBSCRIBED } else { LOOKS_CONTENDED }
    }

    /// Something arrived, and more may come soon: restarts the backoff.
    #[inline]
    pub fn renew(&mut self) {
        self.looks %= LOOKS_A_ROUND;
        self.until = None;
    }

    /// Called after a poll that found nothing.
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
        let outnumber = outnumber_cpus(job);
        if !outnumber {
            load::polled_in_vain();
        }
        let oversubscribed = outnumber || load::is_contended();
        if !oversubscribed && self.looks / LOOKS_A_ROUND < ROUNDS_ALONE {
            return Step::Again;
        }
        if oversubscribed && self.yields < YIELDS_OVERSUBSCRIBED {
            self.yields += 1;
            yield_cpu();
            self.looks += Self::skipped(job);
            return Step::Again;
        }
        // A sleeper would get a CPU back after the time slices of others, and its peer then sleeps, and so on.
        if !oversubscribed && load::is_taken() {
            let is_early = now() < *self.until.get_or_insert_with(|| now() + PATIENCE_BESIDE_OTHERS);
            return if is_early { Step::Again } else { Step::Sleep };
        }
        let more = WAKE_LATENCY.more_backoff();
        if !oversubscribed && more > 0 && now() < *self.until.get_or_insert_with(|| now() + more) {
            // Stay awake, but let other threads run.
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
        // Whether a rank whose last yield returned at this time yields the CPU.
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
    fn late_wake_ups_delay_sleep() {
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
        // Other programs or tests may use the CPUs at times, which also counts as oversubscribed.
        let is_sooner = |_| {
            let sooner = count(4) * 10 < count(2);
            if !sooner {
                std::thread::sleep(Duration::from_millis(50));
            }
            sooner
        };
        assert!((0..400).any(is_sooner));
    }
}
