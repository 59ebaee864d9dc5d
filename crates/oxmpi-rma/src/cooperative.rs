//! Long operations. While the target waits in the library, both sides work on parts at the same
//! time: the origin as it would do alone, the target with single-copy system calls on the origin's
//! memory. Each part is done by the side that claims it first. A target that leaves, or never
//! polls, leaves its parts to the origin, which never waits for longer than one part takes.

use crate::accumulate::{Combine, predefined_combine};
use crate::request::{AssistRequest, Order, PART_UNIT, What, pause};
use crate::transfer::transfer_run;
use crate::{RemoteRun, Target, Window};
use oxmpi_abi::Result;
use oxmpi_abi::constants::{MPI_NO_OP, MPI_REPLACE};
use oxmpi_base::wait;
use oxmpi_base::work_request::{End, Wanted};
use oxmpi_ops::Op;
use oxmpi_transport::NodeMemory;
use std::sync::atomic::Ordering::Relaxed;

/// Like [`SHORTEST`](crate::request::SHORTEST), for memory of the target that is mapped here. Puts and gets from this length
/// on take the general path, as all uses of long buffers do.
pub const SHORTEST_MAPPED: usize = oxmpi_base::huge::LONG;

/// From this length on it pays to wake a target that sleeps in the library, if there is a CPU for
/// it.
const WORTH_WAKING: usize = 512 << 10;

/// How much each side claims at a time. Few and long parts, since each costs system calls and an
/// agreement; short enough that neither side waits long for the other's last one. In units, of which
/// the last one may be shorter than the others.
#[derive(Clone, Copy)]
struct Parts {
    origin: u64,
    target: u64,
    /// All of the operation.
    all: u64,
    bytes: u64,
}

const UNIT: u64 = PART_UNIT as u64;

impl Parts {
    fn new(what: What, length: u64, mapped: bool) -> Parts {
        let piece = |parts: u64, most: u64| (length / parts).div_ceil(UNIT).min(most / UNIT);
        let half = |most: u64| (piece(2, most), piece(2, most));
        let (origin, target) = match what {
            What::Combine { op, .. } if op == MPI_REPLACE.0 as u32 || op == MPI_NO_OP.0 as u32 => half(128 << 10),
            // The target must fetch the operands first.
            What::Combine { .. } if mapped => (2 * piece(3, 64 << 10), piece(3, 64 << 10)),
            // The origin must fetch the old elements and bring back the new ones.
            What::Combine { fetch: false, .. } => (piece(3, 64 << 10), 2 * piece(3, 64 << 10)),
            What::Combine { .. } => half(128 << 10),
            _ => half(256 << 10),
        };
        Parts { origin, target, all: length.div_ceil(UNIT), bytes: length }
    }

    /// Offset and length in bytes of a part that was claimed.
    fn bytes_of(&self, (first, units): (u64, u64)) -> (usize, usize) {
        let from = first * UNIT;
        (from as usize, (units * UNIT).min(self.bytes - from) as usize)
    }
}

impl Window {
    /// Performs a long operation together with its target if that waits, and alone otherwise. `own`
    /// does `bytes` bytes from an offset on. `ends` are the addresses here of the operands and of
    /// the result.
    pub(crate) fn share(
        &self,
        node: &NodeMemory,
        at: RemoteRun,
        what: What,
        bytes: usize,
        ends: [usize; 2],
        mut own: impl FnMut(usize, usize) -> Result<()>,
    ) -> Result<()> {
        if self.helpless.load(Relaxed) {
            return own(0, bytes);
        }
        let is_there = node.is_waiting(at.process) && !wait::is_oversubscribed(node.job());
        let may_come = bytes >= WORTH_WAKING && node.is_asleep(at.process) && wait::has_idle_cpu(node.job());
        let Some(request) = self.control.requests(at.rank).get(self.rank).filter(|_| is_there || may_come) else {
            return own(0, bytes);
        };
        let length = bytes as u64;
        let mapped = !self.targets[at.rank].base.is_null();
        let parts = Parts::new(what, length, mapped);
        // SAFETY: no other rank accesses it before it is offered.
        unsafe {
            *request.near.get() = ends.map(|end| end as u64);
            *request.order.get() = Order { what, length, offset: at.offset as u64 };
        }
        let work = &request.work;
        work.offer();
        if mapped {
            self.control.ring(at.rank);
        }
        if may_come {
            node.wake(at.process);
        }
        let mut result = Ok(());
        while let Some(part) = work.claim(parts.origin, parts.all) {
            let (from, count) = parts.bytes_of(part);
            result = own(from, count);
            if result.is_err() {
                work.stop(parts.all);
                break;
            }
        }
        let mut polls = 0;
        loop {
            match work.end() {
                End::Over => return result,
                End::Broken => {
                    self.helpless.store(true, Relaxed);
                    result?;
                    // SAFETY: the words are ours again; the target has stored its part there.
                    let [from, count] = unsafe { *request.near.get() };
                    return own(from as usize, count as usize);
                }
                End::NotYet => {
                    pause(polls);
                    std::hint::spin_loop();
                    polls += 1;
                }
            }
        }
    }

    /// Serves parts that were offered since the last call, where this rank gets no other requests.
    #[inline]
    pub(crate) fn answer_work_doorbell(&self, node: &NodeMemory) -> bool {
        let rung = self.control.rings(self.rank);
        rung != self.heard.load(Relaxed) && self.answer(node, rung)
    }

    #[cold]
    fn answer(&self, node: &NodeMemory, rung: u32) -> bool {
        let (mut helped, mut more) = (false, false);
        for (origin, request) in self.control.requests(self.rank).iter().enumerate() {
            helped |= request.work.wanted() == Wanted::Parts && self.help(node, origin, request);
            more |= request.work.wanted() == Wanted::Parts;
        }
        if !more {
            self.heard.store(rung, Relaxed);
        }
        helped
    }

    /// A run of mapped memory, if its rank may help with a long operation on it.
    fn helped_at(&self, rank: usize, at: *mut u8, bytes: usize, ends: [usize; 2]) -> Option<RemoteRun> {
        let Target { base, process, .. } = self.targets[rank];
        // Buffers that overlap the target's memory are rare, and better copied by one side.
        let apart = |&end: &usize| end + bytes <= at.addr() || at.addr() + bytes <= end;
        let offset = at.addr().wrapping_sub(base.addr());
        let helps = self.has_work_doorbell && rank != self.rank && ends.iter().all(apart);
        helps.then_some(RemoteRun { rank, process, address: at.addr(), offset })
    }

    /// A long put into memory that is mapped here.
    ///
    /// # Safety
    /// Both runs are memory of that length, `at` in the window of the rank.
    #[cold]
    pub unsafe fn put_mapped(
        &self,
        node: &NodeMemory,
        rank: usize,
        from: *const u8,
        at: *mut u8,
        bytes: usize,
    ) -> Result<()> {
        // SAFETY: both runs have `bytes` bytes; `share` asks only for parts of them.
        let own = |start: usize, count: usize| unsafe {
            at.add(start).copy_from(from.add(start), count);
            Ok(())
        };
        match self.helped_at(rank, at, bytes, [from.expose_provenance(), 0]) {
            Some(remote) => self.share(node, remote, What::Put, bytes, [from.addr(), 0], own),
            None => own(0, bytes),
        }
    }

    /// A long get from memory that is mapped here.
    ///
    /// # Safety
    /// As for [`Window::put_mapped`].
    #[cold]
    pub unsafe fn get_mapped(
        &self,
        node: &NodeMemory,
        rank: usize,
        to: *mut u8,
        at: *mut u8,
        bytes: usize,
    ) -> Result<()> {
        // SAFETY: both runs have `bytes` bytes; `share` asks only for parts of them.
        let own = |start: usize, count: usize| unsafe {
            to.add(start).copy_from(at.add(start), count);
            Ok(())
        };
        match self.helped_at(rank, at, bytes, [0, to.expose_provenance()]) {
            Some(remote) => self.share(node, remote, What::Get, bytes, [0, to.addr()], own),
            None => own(0, bytes),
        }
    }

    /// [`Window::combine`] for many elements.
    ///
    /// # Safety
    /// As for [`Window::combine`].
    pub unsafe fn combine_mapped(
        &self,
        node: &NodeMemory,
        rank: usize,
        with: &Combine,
        at: *mut u8,
        (source, old): (*const u8, *mut u8),
        count: usize,
    ) -> Result<()> {
        let bytes = count * with.extent;
        // SAFETY: `at`, `from` and, unless it is null, `old` have `count` elements; `share` asks
        // for parts of whole elements.
        let own = |start: usize, bytes: usize| unsafe {
            let old = if old.is_null() { old } else { old.add(start) };
            self.combine(rank, with, at.add(start), source.wrapping_add(start), old, bytes / with.extent);
            Ok(())
        };
        let [op, datatype] = with.handles;
        let what = What::Combine { op, datatype, fetch: !old.is_null() };
        let ends = [source.expose_provenance(), old.expose_provenance()];
        match self.helped_at(rank, at, bytes, ends).filter(|_| PART_UNIT.is_multiple_of(with.extent)) {
            Some(remote) => self.share(node, remote, what, bytes, ends, own),
            None => own(0, bytes),
        }
    }

    /// Does one part of an operation that another rank offers.
    #[inline(never)]
    pub(crate) fn help(&self, node: &NodeMemory, origin: usize, request: &AssistRequest) -> bool {
        let work = &request.work;
        if !work.take(Wanted::Parts) {
            return false;
        }
        // SAFETY: the request is taken, so no other rank accesses it.
        let (Order { what, length, offset }, ends) = unsafe { (*request.order.get(), *request.near.get()) };
        let parts = Parts::new(what, length, !self.is_remote);
        let Some(part) = work.claim_from_back(parts.target, parts.all) else {
            work.finish();
            return false;
        };
        let (from, count) = parts.bytes_of(part);
        let ends = ends.map(|end| end as usize + from);
        let done = match self.own_memory(offset, length as usize) {
            // SAFETY: memory of this rank's window, which the origin may access in its epoch.
            Some(at) => unsafe { self.do_part(node, origin, what, at.wrapping_add(from), ends, count).is_some() },
            None => false,
        };
        if !done {
            // SAFETY: the request is still taken.
            unsafe { *request.near.get() = [from as u64, count as u64] };
            work.break_off();
        } else if work.has_unclaimed(parts.all) {
            work.hand_back();
        } else {
            work.finish();
        }
        true
    }

    /// Does one part, at the same offset from `ends` as from `at`; `None` when it failed, and can
    /// be repeated.
    ///
    /// # Safety
    /// `at` is memory of this rank's window and has `bytes` bytes.
    unsafe fn do_part(
        &self,
        node: &NodeMemory,
        origin: usize,
        what: What,
        at: *mut u8,
        [given, back]: [usize; 2],
        bytes: usize,
    ) -> Option<()> {
        let process = self.process_of(origin);
        let read = |to: *mut u8| {
            transfer_run(|local, remote| node.copy_from(process, local, remote), to.expose_provenance(), given, bytes)
        };
        let write =
            || transfer_run(|local, remote| node.copy_to(process, local, remote), at.expose_provenance(), back, bytes);
        match what {
            What::Put => read(at).ok(),
            What::Get => write().ok(),
            What::CompareAndSwap => None,
            What::Combine { op, datatype, fetch } => {
                let with = predefined_combine(op as usize, datatype as usize)?;
                let mut operands = Vec::<u8>::new();
                let direct = with.op == Op::NoOp || with.op == Op::Replace;
                if !direct {
                    operands.reserve_exact(bytes);
                    read(operands.as_mut_ptr()).ok()?;
                }
                let at_window = at.addr().wrapping_sub(self.targets[self.rank].base.addr());
                let stripes = self.stripes_of(at_window, bytes, with.extent);
                self.take_stripes(self.rank, stripes);
                // The old elements go back first, so that nothing has changed yet if that fails.
                let mut result = if fetch { write() } else { Ok(()) };
                if result.is_ok() {
                    match with.op {
                        Op::NoOp => {}
                        Op::Replace => result = read(at),
                        // SAFETY: `bytes` bytes at `at` are this window's, and as many operands were read.
                        _ => unsafe { (with.kernel)(at, operands.as_ptr(), at, bytes / with.extent) },
                    }
                }
                self.give_stripes_back(self.rank, stripes);
                result.ok()
            }
        }
    }
}
