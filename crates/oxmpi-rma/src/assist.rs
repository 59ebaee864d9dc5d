//! Assist requests: a rank that is in the library performs small operations of others on its own
//! memory, which takes less time than their system calls would. It polls for requests while it
//! waits, and whenever it accesses the window itself. No rank depends on that: the origin takes
//! back a request that is not accepted at once and does the work itself. Only for memory that is
//! not mapped by all ranks. `request.rs` has the format of requests, `cooperative.rs` the work that
//! both sides share.

use crate::accumulate::predefined_combine;
use crate::request::{AssistRequest, MOST_BYTES, Order, What, pause};
use crate::{Flavor, RemoteRun, Window};
use oxmpi_base::prefetch;
use oxmpi_base::work_request::Wanted;
use oxmpi_transport::{NodeMemory, Peer};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, compiler_fence};
use std::time::Instant;

/// The recent answers of a target. A target that never polls is not asked again and again; one that
/// always does is asked without reading its state, which would take away a cache line that it
/// writes in every call.
#[derive(Default)]
pub struct ResponseHistory {
    /// It answered the last request.
    is_responsive: AtomicU32,
    /// Polls for an answer beyond the usual number that have paid off.
    extra_polls: AtomicU32,
    failures: AtomicU32,
    skip: AtomicU32,
    /// The target's [poll count](crate::Control::poll_count) when it was last read.
    polls: AtomicU32,
}

/// Polls for an answer before the origin takes the request back: about as long as system calls
/// take, and longer for a target that has many requests and answers them.
const POLLS: u32 = 20;
const MORE_POLLS: u32 = 80;

/// The same for a target that is seen polling. An origin that does the work alone locks the target
/// out, so that the next request is in vain, too, and soon all origins would work alone.
const MAX_POLLS: u32 = 20_000;

/// Accesses to the window that a rank makes between polls while it gets no requests.
const PASSING: u32 = 1;

impl ResponseHistory {
    /// Whether to send a request now. Also when ranks outnumber CPUs: a target that does not run is
    /// soon no longer asked, and one that does saves the others from delaying all ranks while
    /// holding a stripe lock.
    #[inline]
    fn is_inviting(&self, node: &NodeMemory, process: Peer, polls: impl FnOnce() -> u32) -> bool {
        if self.is_responsive.load(Relaxed) != 0 {
            return true;
        }
        if !node.is_waiting(process) && !self.has_polled(polls()) {
            return false;
        }
        let skip = self.skip.load(Relaxed);
        if skip > 0 {
            self.skip.store(skip - 1, Relaxed);
        }
        skip == 0
    }

    /// Whether the target polls now, or has polled since the last question.
    fn has_polled(&self, polls: u32) -> bool {
        let before = self.polls.load(Relaxed);
        self.polls.store(polls, Relaxed);
        polls != before || polls % 2 == 1
    }

    fn answered(&self, polls: u32) {
        self.is_responsive.store(1, Relaxed);
        self.failures.store(0, Relaxed);
        let poll_limit = self.extra_polls.load(Relaxed);
        let wanted = (2 * polls).saturating_sub(POLLS).min(MORE_POLLS);
        self.extra_polls.store(if wanted > poll_limit { wanted } else { poll_limit - poll_limit / 8 }, Relaxed);
    }

    #[cold]
    fn ignored(&self) {
        // Not for ever: a request costs less than it may save, and a rank in the library soon polls
        // again.
        let failures = (self.failures.load(Relaxed) + 1).min(4);
        self.failures.store(failures, Relaxed);
        self.skip.store(1 << failures, Relaxed);
        self.is_responsive.store(0, Relaxed);
        self.extra_polls.store(0, Relaxed);
    }
}

impl Window {
    /// Asks the target to perform an operation on a run of its memory; true when it was done.
    /// `given` is sent along, and `back`, unless it is null, gets the reply.
    ///
    /// # Safety
    /// Both runs of `given` can be read; `back`, unless it is null, has room for the run.
    #[inline]
    pub(crate) unsafe fn ask(
        &self,
        node: &NodeMemory,
        at: RemoteRun,
        what: What,
        length: usize,
        given: [(*const u8, usize); 2],
        back: *mut u8,
    ) -> bool {
        let (room, history) = (what.room(length), &self.history[at.rank]);
        if room > what.most() || !history.is_inviting(node, at.process, || self.control.poll_count(at.rank)) {
            return false;
        }
        let Some(request) = self.control.requests(at.rank).get(self.rank) else { return false };
        let bytes = request.bytes(room);
        // SAFETY: no other rank reads the request before it is posted; the runs of `given` can be
        // read.
        unsafe {
            let mut to = bytes;
            for (from, count) in given {
                to.copy_from_nonoverlapping(from, count);
                to = to.add(count);
            }
            // The cache line that the target polls is written last and at once: the target soon
            // takes it away.
            compiler_fence(std::sync::atomic::Ordering::Release);
            *request.order.get() = Order { what, length: length as u64, offset: at.offset as u64 };
        }
        request.work.ask();
        if !matches!(what, What::Put | What::Get) {
            // A poll now would take the line away from the target, which writes it again when it is
            // done.
            (0..self.answering_pauses).for_each(|_| std::hint::spin_loop());
        }
        let mut poll_limit = POLLS + history.extra_polls.load(Relaxed);
        let mut polls = 0;
        while !request.work.is_done() {
            if polls >= poll_limit {
                if polls < MAX_POLLS && history.has_polled(self.control.poll_count(at.rank)) {
                    // The target has many requests, and will get to this one.
                    poll_limit = polls + POLLS;
                } else if request.work.withdraw() {
                    history.ignored();
                    return false;
                }
                // Otherwise the target is working on it, and its program cannot interrupt that.
            } else if polls % 2 == 1 {
                // The target may have requests for us. Not too often, or the line of the answer is
                // taken away while it is written.
                self.serve(None);
            }
            pause(polls);
            std::hint::spin_loop();
            polls += 1;
        }
        if !back.is_null() {
            // SAFETY: the request is done, so the bytes are ours again; `back` has room for the
            // run.
            unsafe { back.copy_from_nonoverlapping(bytes, length) };
        }
        history.answered(polls);
        true
    }

    /// Serves requests of other ranks; true if there was one. Parts of long operations need `node`,
    /// to access the memory of others.
    #[inline]
    pub fn serve(&self, node: Option<&NodeMemory>) -> bool {
        if !self.is_remote {
            return self.has_work_doorbell && node.is_some_and(|node| self.answer_work_doorbell(node));
        }
        self.control.while_polling(self.rank, || self.serve_all(node))
    }

    fn serve_all(&self, node: Option<&NodeMemory>) -> bool {
        let requests = self.control.requests(self.rank);
        // Prefetched for writing, so that a line comes once; all at once, so that they come
        // together.
        requests.iter().for_each(|request| prefetch::line_for_writing(&request.work));
        let mut served = false;
        for (origin, request) in requests.iter().enumerate() {
            match (request.work.wanted(), node) {
                (Wanted::Nothing, _) | (Wanted::Parts, None) => {}
                (Wanted::All, _) => served |= self.execute(request),
                (Wanted::Parts, Some(node)) => served |= self.help(node, origin, request),
            }
        }
        served
    }

    /// Serves requests during an access to the window.
    #[inline]
    pub fn poll_requests(&self) {
        if self.is_remote {
            self.poll_requests_now();
        }
    }

    #[inline(never)]
    fn poll_requests_now(&self) {
        let skip = self.passing.load(Relaxed);
        if skip > 0 {
            self.passing.store(skip - 1, Relaxed);
        } else if !self.serve(None) {
            self.passing.store(PASSING, Relaxed);
        }
    }

    #[inline(never)]
    fn execute(&self, request: &AssistRequest) -> bool {
        if !request.work.take(Wanted::All) {
            return false;
        }
        // SAFETY: the request is taken, so no other rank accesses it.
        let Order { what, length, offset } = unsafe { *request.order.get() };
        let length = length as usize;
        let room = what.room(length);
        if room <= MOST_BYTES
            && let Some(at) = self.own_memory(offset, length)
        {
            // SAFETY: memory of this rank's window, which the origin may access in its epoch; the
            // bytes of the request are ours.
            unsafe { self.carry_out(what, at, request.bytes(room), length) };
        }
        request.work.finish();
        true
    }

    /// The address of bytes in this rank's window, if they are part of it.
    pub(crate) fn own_memory(&self, offset: u64, length: usize) -> Option<*mut u8> {
        let target = &self.targets[self.rank];
        let inside = match self.flavor {
            Flavor::Dynamic => self.control.attached(self.rank).contains(offset, length as u64, || false),
            _ => offset <= target.size as u64 && target.size as u64 - offset >= length as u64,
        };
        inside.then(|| target.base.wrapping_add(offset as usize))
    }

    /// # Safety
    /// `at` is memory of this rank's window and has `length` bytes, `bytes` has the [room](What::room) for them.
    unsafe fn carry_out(&self, what: What, at: *mut u8, bytes: *mut u8, length: usize) {
        // SAFETY: this function's condition.
        unsafe {
            match what {
                What::Put => copy_few(bytes, at, length),
                What::Get => copy_few(at, bytes, length),
                What::Combine { op, datatype, fetch } => {
                    let Some(with) = predefined_combine(op as usize, datatype as usize) else { return };
                    let count = length / with.extent;
                    if !fetch {
                        return self.combine(self.rank, &with, at, bytes, std::ptr::null_mut(), count);
                    }
                    let mut old = [0u64; MOST_BYTES / 8];
                    self.combine(self.rank, &with, at, bytes, old.as_mut_ptr().cast(), count);
                    copy_few(old.as_ptr().cast(), bytes, length);
                }
                What::CompareAndSwap => {
                    let mut old = [0u64; MOST_BYTES / 16];
                    let old = old.as_mut_ptr().cast();
                    self.compare_and_swap(self.rank, at, length, bytes, bytes.add(length), old);
                    copy_few(old, bytes, length);
                }
            }
        }
    }
}

/// How long a target takes for an accumulate, in pauses of this processor, whose length differs
/// much.
pub(crate) fn answering_pauses() -> u32 {
    const TIME: f64 = 230e-9;
    const PAUSES: u32 = 32;
    let measure = || {
        let start = Instant::now();
        (0..PAUSES).for_each(|_| std::hint::spin_loop());
        start.elapsed().as_secs_f64() / f64::from(PAUSES)
    };
    let pause = (0..4).map(|_| measure()).fold(TIME, f64::min);
    (TIME / pause.max(2e-9)) as u32
}

/// # Safety
/// Both have `length` bytes and do not overlap.
#[inline]
unsafe fn copy_few(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: this function's condition. A word is one move, so that nobody sees half of it.
    unsafe {
        match length {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            _ => to.copy_from_nonoverlapping(from, length),
        }
    }
}
