//! Operations that compute. Operands are combined in the order of ranks, wherever that is done, so that everybody gets
//! the same bits.
//!
//! Short: everybody writes, and who wants the result computes it. Long: each rank computes a part for all.

use super::{Call, Node, Wait, pieces};
use oxmpi_abi::Result;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::Op;
use oxmpi_base::board::LINE_BYTES;
use oxmpi_base::prefetch;
use oxmpi_datatype::Buf;
use std::mem::MaybeUninit;

/// `out[i] = left[i] op right[i]` for `count` elements. `out` may be `left` or `right`.
pub type Kernel = unsafe fn(left: *const u8, right: *const u8, out: *mut u8, count: usize);

/// An operation on elements that lie side by side.
#[derive(Clone, Copy)]
pub struct Reduction {
    pub op: Op,
    pub kernel: Kernel,
    /// Bytes from one element to the next.
    pub element: usize,
    pub count: usize,
}

impl Reduction {
    /// Elements to whose multiples the parts of ranks are cut.
    pub(super) const CUT: usize = 16;

    fn bytes(&self) -> usize {
        self.element * self.count
    }

    /// The part of the elements that a rank computes for all: the first one, and how many.
    pub(super) fn part(&self, rank: usize, ranks: usize) -> (usize, usize) {
        let each = self.count.div_ceil(ranks).next_multiple_of(Reduction::CUT);
        let (start, end) = ((rank * each).min(self.count), ((rank + 1) * each).min(self.count));
        (start, end - start)
    }
}

/// Bytes that are combined at a time: the operands of many ranks stay in the first cache, with those of the next part.
const PART: usize = 1 << 10;

impl Node {
    /// `MPI_Allreduce`. In place, `own` is `out`.
    ///
    /// # Safety
    /// `own` can be read and `out` written for the elements of the reduction, whose kernel is for them.
    pub unsafe fn allreduce(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        own: *const u8,
        out: *mut u8,
    ) -> Result<()> {
        let bytes = reduction.bytes();
        let call = Call::of(Fun::Allreduce, Some(reduction.op), bytes);
        if bytes <= self.shared_work() {
            let round = self.open(wait, call)?;
            self.write(wait, round, &Buf::dense(own.cast_mut(), bytes), 0, bytes)?;
            self.seat.publish();
            self.meet_all(wait)?;
            // Our own elements not from our room, whose lines others are taking.
            let source = |rank| if rank == self.rank() { own } else { self.found(rank, round, bytes) };
            // SAFETY: everybody has written all elements; the rest is as the caller says.
            unsafe { self.fold(reduction, reduction.count, source, out, None) };
            self.close(wait);
            return Ok(());
        }
        if self.computes_directly(bytes, true) {
            // SAFETY: as the caller says.
            return unsafe {
                match self.ranks() {
                    2 => self.reduce_directly(wait, reduction, call, own, Some(out)),
                    _ => self.allreduce_directly(wait, reduction, call, own, out),
                }
            };
        }
        for (at, count) in pieces(reduction.count, self.chunk() / reduction.element) {
            let (own, out) = (own.wrapping_add(at * reduction.element), out.wrapping_add(at * reduction.element));
            // SAFETY: as the caller says.
            unsafe { self.reduce_parts(wait, &Reduction { count, ..*reduction }, call, own, Some(out), None)? };
        }
        Ok(())
    }

    /// `MPI_Reduce`: `out` is `None` but at the root. In place, the root's `own` is `out`.
    ///
    /// # Safety
    /// As for [`Node::allreduce`].
    pub unsafe fn reduce(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        root: usize,
        own: *const u8,
        out: Option<*mut u8>,
    ) -> Result<()> {
        let bytes = reduction.bytes();
        let call = Call::rooted(Fun::Reduce, Some(reduction.op), root, bytes);
        let offset = |at: usize| at * reduction.element;
        if self.computes_directly(bytes, false) {
            // SAFETY: as the caller says.
            return unsafe { self.reduce_directly(wait, reduction, call, own, out) };
        }
        if self.ranks() > 2 && bytes > self.shared_work() {
            for (at, count) in pieces(reduction.count, self.chunk() / reduction.element) {
                let (own, out) = (own.wrapping_add(offset(at)), out.map(|out| out.wrapping_add(offset(at))));
                // SAFETY: as the caller says.
                unsafe { self.reduce_parts(wait, &Reduction { count, ..*reduction }, call, own, out, Some(root))? };
            }
            return Ok(());
        }
        let most = REDUCE.min(self.chunk()) / reduction.element;
        for (at, count) in pieces(reduction.count, most) {
            let (own, bytes) = (own.wrapping_add(offset(at)), count * reduction.element);
            if let Some(out) = out {
                let round = self.listen(call)?;
                self.meet_others(wait)?;
                self.seat.exchanged();
                let source = |rank| if rank == root { own } else { self.found(rank, round, bytes) };
                // SAFETY: the others have written their elements; the rest is as the caller says.
                unsafe { self.fold(reduction, count, source, out.wrapping_add(offset(at)), None) };
            } else {
                let round = self.open(wait, call)?;
                self.write(wait, round, &Buf::dense(own.cast_mut(), bytes), 0, bytes)?;
                self.seat.publish();
                self.wake(wait, root);
            }
            self.close(wait);
        }
        Ok(())
    }

    /// `MPI_Reduce_scatter_block`: the reduction is of one rank's block, `own` has one for every rank.
    ///
    /// # Safety
    /// `own` can be read for the elements of all blocks and `out` written for those of one.
    pub unsafe fn reduce_scatter_block(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        own: *const u8,
        out: *mut u8,
    ) -> Result<()> {
        let call = Call::of(Fun::ReduceScatterBlock, Some(reduction.op), reduction.bytes());
        let (me, ranks) = (self.rank(), self.ranks());
        for (at, count) in pieces(reduction.count, (self.chunk() / ranks / reduction.element).max(1)) {
            let (bytes, offset) = (count * reduction.element, at * reduction.element);
            let round = self.open(wait, call)?;
            let place = self.place(wait, bytes * ranks)?;
            self.say(round, place);
            for rank in self.others() {
                let from = own.wrapping_add(rank * reduction.bytes() + offset);
                let to = self.seat.room(me, place + rank * bytes).as_ptr();
                // SAFETY: our room has a place for everybody's piece; the rest is as the caller says.
                unsafe { from.copy_to_nonoverlapping(to, bytes) };
            }
            self.seat.publish();
            self.meet_all(wait)?;
            let mine = own.wrapping_add(me * reduction.bytes() + offset);
            let source = |rank: usize| match rank {
                _ if rank == me => mine,
                _ => self.seat.room(rank, self.heard(rank, round) + me * bytes).as_ptr().cast_const(),
            };
            // SAFETY: everybody has written our piece. In place, `out` begins where `own` does: what it overwrites is
            // this piece of our own block, or of blocks that have been sent.
            unsafe { self.fold(reduction, count, source, out.wrapping_add(offset), None) };
            self.close(wait);
        }
        Ok(())
    }

    /// `MPI_Scan`, or `MPI_Exscan` when it is `exclusive`: then the first rank's `out` is not written.
    ///
    /// # Safety
    /// As for [`Node::allreduce`].
    pub unsafe fn scan(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        exclusive: bool,
        own: *const u8,
        out: *mut u8,
    ) -> Result<()> {
        let fun = if exclusive { Fun::Exscan } else { Fun::Scan };
        let call = Call::of(fun, Some(reduction.op), reduction.bytes());
        let ranks = self.rank() + usize::from(!exclusive);
        for (at, count) in pieces(reduction.count, self.chunk() / reduction.element) {
            let (bytes, offset) = (count * reduction.element, at * reduction.element);
            let round = self.open(wait, call)?;
            self.write(wait, round, &Buf::dense(own.wrapping_add(offset).cast_mut(), bytes), 0, bytes)?;
            self.seat.publish();
            for rank in self.rank() + 1..self.ranks() {
                self.wake(wait, rank);
            }
            for rank in 0..self.rank() {
                self.meet(wait, rank)?;
            }
            let (own, out) = (own.wrapping_add(offset), out.wrapping_add(offset));
            let source = |rank| if rank == self.rank() { own } else { self.found(rank, round, bytes) };
            // SAFETY: the ranks before us have written their elements, and so have we.
            unsafe {
                match ranks {
                    0 => {}
                    1 => out.copy_from_nonoverlapping(self.found(0, round, bytes), bytes),
                    _ => fold(reduction, count, (ranks, 0), source, out, None),
                }
            }
            self.close(wait);
        }
        Ok(())
    }

    /// Whether parts are worth being copied by the kernel. Two ranks have one copy in and one out each; more have as many
    /// copies in as there are others, each of a part. Where all want the result, everybody's copy of it is the longer
    /// work, and a copy in gains less.
    fn computes_directly(&self, bytes: usize, all: bool) -> bool {
        let ranks = self.ranks();
        self.goes_directly(match ranks {
            2 => bytes,
            _ if all => bytes / ranks / 16,
            _ => bytes / ranks,
        })
    }

    /// Up to so many bytes everybody who wants a result computes it all.
    fn shared_work(&self) -> usize {
        (SHARED_WORK / self.ranks()).max(LINE_BYTES).min(self.chunk())
    }

    /// Two rounds: everybody shows its elements, each computes a part and shows that; then all, or the root, put the
    /// parts together.
    ///
    /// # Safety
    /// `own` can be read and `out` written for the elements of the reduction.
    unsafe fn reduce_parts(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        call: Call,
        own: *const u8,
        out: Option<*mut u8>,
        root: Option<usize>,
    ) -> Result<()> {
        let (me, ranks) = (self.rank(), self.ranks());
        let Reduction { element, count, .. } = *reduction;
        let part = |rank: usize| {
            let (start, count) = reduction.part(rank, ranks);
            (start * element, count * element)
        };
        let (start, bytes) = part(me);

        let round = self.open(wait, call)?;
        let place = self.place(wait, count * element)?;
        let room = self.seat.room(me, place).as_ptr();
        self.say(round, place);
        // Nobody but us reads our own part: its place is for the result.
        // SAFETY: our room has a place for all elements; the rest is as the caller says.
        unsafe {
            own.copy_to_nonoverlapping(room, start);
            let behind = start + bytes;
            own.wrapping_add(behind).copy_to_nonoverlapping(room.wrapping_add(behind), count * element - behind);
        }
        self.seat.publish();
        self.meet_all(wait)?;
        let source = |rank: usize| match rank {
            _ if rank == me => own.wrapping_add(start),
            _ => self.seat.room(rank, self.heard(rank, round) + start).as_ptr().cast_const(),
        };
        // SAFETY: everybody has written our part; the results go to a place of ours that nobody reads yet.
        unsafe {
            let also = out.map(|out| out.wrapping_add(start));
            self.fold(reduction, bytes / element, source, room.wrapping_add(start), also);
        }
        self.close(wait);

        let round = self.open(wait, call)?;
        self.seat.keep(place, count * element);
        self.say(round, place);
        self.seat.publish();
        match (out, root) {
            (Some(out), _) => {
                for rank in self.others() {
                    self.meet(wait, rank)?;
                    let (start, bytes) = part(rank);
                    let from = self.seat.room(rank, self.heard(rank, round) + start).as_ptr();
                    // SAFETY: that rank has written the results of its part.
                    unsafe { out.wrapping_add(start).copy_from_nonoverlapping(from, bytes) };
                }
                self.exchanged(wait);
            }
            (None, Some(root)) => self.wake(wait, root),
            (None, None) => {}
        }
        self.close(wait);
        Ok(())
    }

    /// # Safety
    /// As for [`fold`].
    pub(super) unsafe fn fold(
        &self,
        reduction: &Reduction,
        count: usize,
        source: impl Fn(usize) -> *const u8,
        out: *mut u8,
        also: Option<*mut u8>,
    ) {
        // SAFETY: as the caller says.
        unsafe { fold(reduction, count, (self.ranks(), self.rank()), source, out, also) };
    }
}

/// Pieces of a reduction that the root computes alone: combining one overlaps writing the next.
const REDUCE: usize = 64 << 10;

/// Bytes that a rank reads for a result that all of them compute for themselves.
const SHARED_WORK: usize = 16 << 10;

/// Combines the elements of `ranks` ranks, at least two, in their order. The results go to `out`, and also elsewhere.
/// `out` may be the source of any rank. What others have written is in their caches: it is asked for a part ahead,
/// beginning with rank `first`, so that not everybody asks the same one at the same time.
///
/// # Safety
/// The sources of all ranks can be read and the results written for `count` elements.
unsafe fn fold(
    reduction: &Reduction,
    count: usize,
    (ranks, first): (usize, usize),
    source: impl Fn(usize) -> *const u8,
    out: *mut u8,
    also: Option<*mut u8>,
) {
    let Reduction { kernel, element, .. } = *reduction;
    let ask = |at: usize, count: usize| {
        for rank in (first..ranks).chain(0..first) {
            prefetch::for_reading(source(rank).wrapping_add(at), count * element);
        }
    };
    let mut scratch = MaybeUninit::<[u128; PART / 16]>::uninit();
    let most = PART / element;
    ask(0, count.min(most));
    for (done, part) in pieces(count, most) {
        let (at, behind) = (done * element, done + part);
        ask(behind * element, (count - behind).min(most));
        let to = out.wrapping_add(at);
        let mut left = source(0).wrapping_add(at);
        // SAFETY: as the caller says; a part fits into the scratch memory. `out` is written last, when all sources of
        // these elements but one have been read.
        unsafe {
            for rank in 1..ranks - 1 {
                let so_far = scratch.as_mut_ptr().cast::<u8>();
                kernel(left, source(rank).wrapping_add(at), so_far, part);
                left = so_far;
            }
            kernel(left, source(ranks - 1).wrapping_add(at), to, part);
            if let Some(also) = also {
                also.wrapping_add(at).copy_from_nonoverlapping(to, part * element);
            }
        }
    }
}
