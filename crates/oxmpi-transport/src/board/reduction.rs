//! Operations that compute. Where more than one rank gets the result, operands are always combined
//! in rank order, so that all ranks get the same bits.
//!
//! Short operations: each rank writes its elements, and every rank that wants the result computes
//! it. Long operations: each rank computes a part for all or, with one root, adds its elements to
//! those of the ranks before it.

use super::{CallSignature, SharedBoard, Wait, pieces};
use oxmpi_abi::Result;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::Op;
use oxmpi_base::board::ENTRY_BYTES;
use oxmpi_base::segment::CACHE_LINE;
use oxmpi_base::wait::WakeFence;
use oxmpi_base::{copy, prefetch};
use oxmpi_coll::choose::BoardWay;
use oxmpi_datatype::Source;
use std::mem::MaybeUninit;

/// `out[i] = left[i] op right[i]` for `count` elements. `out` may be `left` or `right`.
pub type Kernel = unsafe fn(left: *const u8, right: *const u8, out: *mut u8, count: usize);

/// An operation on contiguous elements.
#[derive(Clone, Copy)]
pub struct Reduction {
    pub op: Op,
    pub kernel: Kernel,
    /// Bytes from one element to the next.
    pub element: usize,
    pub count: usize,
}

impl Reduction {
    /// Parts of ranks are cut to multiples of this number of elements.
    pub(super) const CUT: usize = 16;

    #[inline]
    pub fn bytes(&self) -> usize {
        self.element * self.count
    }

    /// The part of the elements that a rank computes for all: the first one, and how many.
    pub(super) fn part(&self, rank: usize, ranks: usize) -> (usize, usize) {
        let each = self.count.div_ceil(ranks).next_multiple_of(Reduction::CUT);
        let (start, end) = ((rank * each).min(self.count), ((rank + 1) * each).min(self.count));
        (start, end - start)
    }
}

/// How many elements each rank gets of a reduce-scatter.
#[derive(Clone, Copy, Debug)]
pub enum Shares<'a> {
    Equal(usize),
    /// One number for each rank.
    Given(&'a [usize]),
}

impl Shares<'_> {
    fn count(&self, rank: usize) -> usize {
        match self {
            Shares::Equal(count) => *count,
            Shares::Given(counts) => counts[rank],
        }
    }

    fn start(&self, rank: usize) -> usize {
        match self {
            Shares::Equal(count) => count * rank,
            Shares::Given(counts) => counts[..rank].iter().sum(),
        }
    }

    pub(super) fn longest(&self) -> usize {
        match self {
            Shares::Equal(count) => *count,
            Shares::Given(counts) => counts.iter().copied().max().unwrap_or(0),
        }
    }

    /// The elements that ranks compare: those of a block, or of all where blocks differ.
    fn compared(&self) -> usize {
        match self {
            Shares::Equal(count) => *count,
            Shares::Given(counts) => counts.iter().sum(),
        }
    }

    /// Where a piece of a rank's block begins in the whole vector, and how many elements of it the
    /// rank has.
    fn piece(&self, rank: usize, (at, count): (usize, usize)) -> (usize, usize) {
        let (own, first) = (self.count(rank), at.min(self.count(rank)));
        (self.start(rank) + first, own.min(at + count) - first)
    }
}

/// The most bytes that are combined at a time, and those of all ranks together: they stay in the
/// first-level cache together with those of the next part.
const PART: usize = 1 << 10;
const PARTS: usize = 8 << 10;

impl SharedBoard {
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
        let call = CallSignature::of(Fun::Allreduce, Some(reduction.op), bytes);
        self.balance_cpu(bytes);
        if bytes <= self.one_round {
            // SAFETY: `own` has so many bytes, and `out` room for them.
            return unsafe {
                self.begin_allreduce(wait, call, own, bytes)?;
                self.end_allreduce(wait, reduction, (0, reduction.count), own, out)
            };
        }
        let way = self.choices.allreduce.long(bytes);
        if way == BoardWay::Direct {
            // SAFETY: `own` has the elements of the reduction, and `out` room for them: this
            // function's condition.
            return unsafe {
                match self.ranks() {
                    2 => self.reduce_directly(wait, reduction, call, own, Some(out)),
                    _ => self.allreduce_directly(wait, reduction, call, own, out),
                }
            };
        }
        // SAFETY: `own` has the elements of the reduction, and `out` room for them: this function's
        // condition.
        unsafe { self.allreduce_in_parts(wait, reduction, call, way, own, out) }
    }

    /// Writes so many bytes of operands for all ranks.
    ///
    /// # Safety
    /// `own` can be read for so many bytes.
    #[inline]
    pub(super) unsafe fn begin_allreduce(
        &mut self,
        wait: &mut impl Wait,
        call: CallSignature,
        own: *const u8,
        bytes: usize,
    ) -> Result<()> {
        let round = self.open(wait, call)?;
        // SAFETY: `own` has so many bytes, which may be read until this function returns.
        let operand = unsafe { Source::dense(own, bytes) };
        self.write(wait, round, &operand, 0, bytes)?;
        self.member.publish();
        Ok(())
    }

    /// Combines a part of the operands that all ranks have written: so many elements from one on.
    ///
    /// # Safety
    /// `own` can be read and `out` written for the elements of the reduction, all of which were shown.
    #[inline]
    pub(super) unsafe fn end_allreduce(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        (first, count): (usize, usize),
        own: *const u8,
        out: *mut u8,
    ) -> Result<()> {
        self.meet_all(wait)?;
        let (bytes, start, round) = (reduction.bytes(), first * reduction.element, self.member.round());
        // Our own elements are not read from our staging buffer, whose cache lines the others are
        // fetching.
        let shown = |rank| if rank == self.rank() { own } else { self.found(rank, round, bytes) };
        let source = |rank| shown(rank).wrapping_add(start);
        // SAFETY: all ranks have written all elements, and these are some of them; `out` has room
        // for all.
        unsafe { self.fold(reduction, count, source, out.wrapping_add(start), None) };
        self.close(wait);
        Ok(())
    }

    /// `MPI_Reduce`: `out` is `None` except at the root. In place, `own` is `out` at the root.
    ///
    /// # Safety
    /// As for [`SharedBoard::allreduce`].
    pub unsafe fn reduce(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        root: usize,
        own: *const u8,
        out: Option<*mut u8>,
    ) -> Result<()> {
        let bytes = reduction.bytes();
        let call = CallSignature::rooted(Fun::Reduce, Some(reduction.op), root, bytes);
        self.balance_cpu(bytes);
        let offset = |at: usize| at * reduction.element;
        match self.choices.reduce.of(bytes) {
            BoardWay::Chain => {
                let _pin = self.pin_with_neighbours(bytes);
                // SAFETY: `own` has all elements and, at the root, `out` room for them.
                return unsafe { self.reduce_along_chain(wait, reduction, call, root, own, out) };
            }
            // SAFETY: `own` has all elements and, at the root, `out` room for them: this function's
            // condition.
            BoardWay::Direct => return unsafe { self.reduce_directly(wait, reduction, call, own, out) },
            _ => {}
        }
        for (at, count) in pieces(reduction.count, self.reduce_piece(reduction)) {
            let piece = Reduction { count, ..*reduction };
            let (own, out) = (own.wrapping_add(offset(at)), out.map(|out| out.wrapping_add(offset(at))));
            // SAFETY: `own` has so many elements from there on and, at the root, `out` room for them.
            unsafe {
                self.begin_reduce(wait, &piece, call, root, own)?;
                self.end_reduce(wait, &piece, |rank| rank, own, out)?;
            }
        }
        Ok(())
    }

    /// Elements of a piece that the root combines alone.
    pub(super) fn reduce_piece(&self, reduction: &Reduction) -> usize {
        REDUCE.min(self.chunk()) / reduction.element
    }

    /// # Safety
    /// `own` can be read for the elements of the piece.
    #[inline]
    pub(super) unsafe fn begin_reduce(
        &mut self,
        wait: &mut impl Wait,
        piece: &Reduction,
        call: CallSignature,
        root: usize,
        own: *const u8,
    ) -> Result<()> {
        if self.rank() == root {
            return self.listen(call).map(drop);
        }
        let round = self.open(wait, call)?;
        // SAFETY: `own` has so many bytes, which may be read until this function returns.
        let operand = unsafe { Source::dense(own, piece.bytes()) };
        self.write_for_one(wait, round, &operand, 0, piece.bytes())?;
        self.member.publish();
        self.wake(wait, root);
        Ok(())
    }

    /// `order` gives the rank of the operand at an index.
    ///
    /// # Safety
    /// `own` can be read and, at the root, `out` written for the elements of the piece.
    #[inline]
    pub(super) unsafe fn end_reduce(
        &mut self,
        wait: &mut impl Wait,
        piece: &Reduction,
        order: impl Fn(usize) -> usize,
        own: *const u8,
        out: Option<*mut u8>,
    ) -> Result<()> {
        if let Some(out) = out {
            self.meet_others(wait)?;
            self.member.exchanged();
            let (root, round, bytes) = (self.rank(), self.member.round(), piece.bytes());
            let shown = |rank| if rank == root { own } else { self.found(rank, round, bytes) };
            // SAFETY: the others have written their elements, we have ours, and `out` has room for the result.
            unsafe { self.fold(piece, piece.count, |place| shown(order(place)), out, None) };
        }
        self.close(wait);
        Ok(())
    }

    /// `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block`: `own` has a block for every rank, `out`
    /// gets the results of ours. The count of the reduction does not matter.
    ///
    /// # Safety
    /// `own` can be read for the elements of all blocks and `out` written for those of our block.
    pub unsafe fn reduce_scatter(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        shares: Shares<'_>,
        own: *const u8,
        out: *mut u8,
    ) -> Result<()> {
        let fun = if matches!(shares, Shares::Equal(_)) { Fun::ReduceScatterBlock } else { Fun::ReduceScatter };
        let call = CallSignature::of(fun, Some(reduction.op), shares.compared() * reduction.element);
        for piece in pieces(shares.longest(), self.scattered_piece(reduction)) {
            // SAFETY: `own` has the elements of all blocks, and `out` room for those of ours.
            unsafe {
                self.begin_reduce_scatter(wait, reduction, shares, call, own, piece)?;
                self.end_reduce_scatter(wait, reduction, shares, own, out, piece)?;
            }
        }
        Ok(())
    }

    /// Elements of a piece of each rank's block.
    pub(super) fn scattered_piece(&self, reduction: &Reduction) -> usize {
        (self.chunk() / self.ranks() / reduction.element).max(1)
    }

    /// # Safety
    /// `own` can be read for the elements of all blocks.
    pub(super) unsafe fn begin_reduce_scatter(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        shares: Shares<'_>,
        call: CallSignature,
        own: *const u8,
        piece: (usize, usize),
    ) -> Result<()> {
        let stride = piece.1 * reduction.element;
        let round = self.open(wait, call)?;
        let place = self.place(wait, stride * self.ranks())?;
        self.say(round, place);
        for rank in self.others() {
            let (first, count) = shares.piece(rank, piece);
            let from = own.wrapping_add(first * reduction.element);
            let to = self.member.staging(self.rank(), place + rank * stride).as_ptr();
            // SAFETY: our staging buffer has room for a piece for every rank, none of which is longer than `stride`, and
            // `own` has the elements.
            unsafe { copy::bytes(from, to, count * reduction.element) };
        }
        self.member.publish();
        Ok(())
    }

    /// # Safety
    /// `own` can be read for the elements of all blocks and `out` written for those of our block.
    pub(super) unsafe fn end_reduce_scatter(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        shares: Shares<'_>,
        own: *const u8,
        out: *mut u8,
        piece: (usize, usize),
    ) -> Result<()> {
        self.meet_all(wait)?;
        let (me, round, stride) = (self.rank(), self.member.round(), piece.1 * reduction.element);
        let (first, count) = shares.piece(me, piece);
        let mine = own.wrapping_add(first * reduction.element);
        let source = |rank: usize| match rank {
            _ if rank == me => mine,
            _ => self.member.staging(rank, self.heard(rank, round) + me * stride).as_ptr().cast_const(),
        };
        // SAFETY: every rank has written our piece. In place, `out` begins where `own` does: it overwrites pieces that were
        // sent, and of our own block, which lies behind `out`, only elements before those that are combined.
        unsafe { self.fold(reduction, count, source, out.wrapping_add(piece.0 * reduction.element), None) };
        self.close(wait);
        Ok(())
    }

    /// `MPI_Scan`, or `MPI_Exscan` when it is `exclusive`: then the first rank's `out` is not written.
    ///
    /// # Safety
    /// As for [`SharedBoard::allreduce`].
    pub unsafe fn scan(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        exclusive: bool,
        own: *const u8,
        out: *mut u8,
    ) -> Result<()> {
        let fun = if exclusive { Fun::Exscan } else { Fun::Scan };
        let call = CallSignature::of(fun, Some(reduction.op), reduction.bytes());
        for (at, count) in pieces(reduction.count, self.chunk() / reduction.element) {
            let piece = Reduction { count, ..*reduction };
            let (own, out) = (own.wrapping_add(at * reduction.element), out.wrapping_add(at * reduction.element));
            // SAFETY: `own` has so many elements from there on, and `out` room for them where it is written.
            unsafe {
                self.begin_scan(wait, &piece, call, own)?;
                self.end_scan(wait, &piece, exclusive, own, out)?;
            }
        }
        Ok(())
    }

    /// # Safety
    /// `own` can be read for the elements of the piece.
    pub(super) unsafe fn begin_scan(
        &mut self,
        wait: &mut impl Wait,
        piece: &Reduction,
        call: CallSignature,
        own: *const u8,
    ) -> Result<()> {
        let round = self.open(wait, call)?;
        // SAFETY: `own` has so many bytes, which may be read until this function returns.
        let operand = unsafe { Source::dense(own, piece.bytes()) };
        self.write(wait, round, &operand, 0, piece.bytes())?;
        self.member.publish();
        for rank in self.rank() + 1..self.ranks() {
            self.wake(wait, rank);
        }
        Ok(())
    }

    /// # Safety
    /// `own` can be read and `out` written for the elements of the piece; not that of the first rank of an exclusive scan.
    pub(super) unsafe fn end_scan(
        &mut self,
        wait: &mut impl Wait,
        piece: &Reduction,
        exclusive: bool,
        own: *const u8,
        out: *mut u8,
    ) -> Result<()> {
        for rank in 0..self.rank() {
            self.await_entry(wait, rank)?;
        }
        let (bytes, round) = (piece.bytes(), self.member.round());
        let source = |rank| if rank == self.rank() { own } else { self.found(rank, round, bytes) };
        // SAFETY: the ranks before us have written their elements, and so have we.
        unsafe {
            match self.rank() + usize::from(!exclusive) {
                0 => {}
                1 => copy::bytes(self.found(0, round, bytes), out, bytes),
                ranks => fold(piece, piece.count, (ranks, 0), source, out, None),
            }
        }
        self.close(wait);
        Ok(())
    }

    /// The pieces travel from the rank after the root around to the root, one after another. Each
    /// rank adds its elements in one pass and writes to one of a few areas in turn. The areas stay
    /// in the caches, and a rank waits only for its neighbour: ranks that share its CPU get a turn,
    /// and several pieces under way keep every CPU busy.
    ///
    /// # Safety
    /// `own` can be read and, at the root, `out` written for the elements of the reduction.
    unsafe fn reduce_along_chain(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        call: CallSignature,
        root: usize,
        own: *const u8,
        out: Option<*mut u8>,
    ) -> Result<()> {
        let (me, ranks) = (self.rank(), self.ranks());
        let (before, behind) = ((me + ranks - 1) % ranks, (me + 1) % ranks);
        let Reduction { kernel, element, count, .. } = *reduction;
        let most = CHAIN.min(self.chunk() / 2) / element;
        let size = (most * element).next_multiple_of(CACHE_LINE);
        let used = AREAS.min(self.chunk() / size).min(count.div_ceil(most));
        let mut areas = Areas { start: None, size, count: used };
        for (index, (at, count)) in pieces(count, most).enumerate() {
            let (bytes, offset) = (count * element, at * element);
            let own = own.wrapping_add(offset);
            if let Some(out) = out {
                let round = self.listen(call)?;
                self.await_entry(wait, before)?;
                // SAFETY: the rank before us has written as many elements; `own` has them and `out`
                // room for them.
                unsafe { kernel(self.found(before, round, bytes), own, out.wrapping_add(offset), count) };
            } else {
                let round = self.open(wait, call)?;
                let to = self.own_area(wait, &mut areas, index, behind, bytes)?;
                // SAFETY: an area has room for a piece, and `own` has its elements.
                unsafe {
                    if before == root {
                        copy::bytes(own, to, bytes);
                    } else {
                        self.await_entry(wait, before)?;
                        kernel(self.found(before, round, bytes), own, to, count);
                    }
                }
                self.member.publish();
                self.wake(wait, behind);
            }
            self.close(wait);
            if self.member.is_awaited() || self.barrier == WakeFence::Symmetric {
                self.wake(wait, before);
            }
        }
        Ok(())
    }

    /// An area of our staging buffer for a piece, once the next rank has read what was there.
    fn own_area(
        &mut self,
        wait: &mut impl Wait,
        areas: &mut Areas,
        index: usize,
        behind: usize,
        bytes: usize,
    ) -> Result<*mut u8> {
        let (me, round) = (self.rank(), self.member.round());
        let start = match areas.start {
            Some(start) => start,
            None => *areas.start.insert(self.place(wait, areas.size * areas.count)?),
        };
        self.member.keep(start, areas.size * areas.count);
        if index >= areas.count {
            self.await_finished(wait, behind, round - areas.count as u64)?;
        }
        if bytes <= ENTRY_BYTES {
            return Ok(self.member.body(me, round).as_ptr());
        }
        let at = start + index % areas.count * areas.size;
        self.say(round, at);
        Ok(self.member.staging(me, at).as_ptr())
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
        // SAFETY: the sources of all ranks can be read, and `out` and `also` written, for `count` elements.
        unsafe { fold(reduction, count, (self.ranks(), self.rank()), source, out, also) };
    }
}

/// The pieces of a chain.
const CHAIN: usize = 32 << 10;
/// Pieces that a rank may be ahead of the next one.
const AREAS: usize = 8;

/// The areas of a staging buffer for the pieces of a chain.
struct Areas {
    start: Option<usize>,
    size: usize,
    count: usize,
}

/// Pieces of a reduction that the root computes alone: combining one overlaps writing the next.
const REDUCE: usize = 64 << 10;

/// Combines the elements of `ranks` ranks, at least two, in rank order. The results go to `out`,
/// and to a second place if one is given. `out` may be the source of any rank. The elements of
/// other ranks are in their caches: they are prefetched one part ahead, beginning with rank
/// `first`, so that not all ranks fetch from the same one at the same time.
///
/// # Safety
/// The sources of all ranks can be read and the results written for `count` elements.
pub(super) unsafe fn fold(
    reduction: &Reduction,
    count: usize,
    (ranks, first): (usize, usize),
    source: impl Fn(usize) -> *const u8,
    out: *mut u8,
    also: Option<*mut u8>,
) {
    let Reduction { kernel, element, .. } = *reduction;
    let ask = |at: usize, count: usize| {
        for rank in (first..ranks).chain(0..first).filter(|_| count > 0) {
            prefetch::for_reading(source(rank).wrapping_add(at), count * element);
        }
    };
    let mut scratch = MaybeUninit::<[u128; PART / 16]>::uninit();
    let most = (PARTS / ranks).clamp(PART / 4, PART) / element;
    // Bytes that fit into an entry have arrived with it.
    if count * element > ENTRY_BYTES {
        ask(0, count.min(most));
    }
    for (done, part) in pieces(count, most) {
        let (at, behind) = (done * element, done + part);
        ask(behind * element, (count - behind).min(most));
        let to = out.wrapping_add(at);
        let mut left = source(0).wrapping_add(at);
        // SAFETY: this function's condition; a part fits into the scratch memory. `out` is written
        // last, when all sources of these elements but one have been read.
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
