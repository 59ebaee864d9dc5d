//! Long allreduces: everybody shows its elements in its room, piece after piece; each piece has a part for every rank, which
//! computes it unless somebody who would have to wait has begun with it (`oxmpi_base::desk`).
//!
//! All ranks meet once, to learn where the others' desks and areas are.

use super::reduction::fold;
use super::{Call, Node, Reduction, Wait, call};
use oxmpi_abi::Result;
use oxmpi_base::copy;
use oxmpi_base::desk::{AREAS, Desk};
use std::ptr::NonNull;

/// The longest pieces. Long ones are read in long runs and seldom waited for, but those under way should stay in the
/// caches.
const PIECE: usize = 256 << 10;
const PIECE_IN_CROWD: usize = 128 << 10;

/// Ranks that share CPUs share caches: when all their results are so many bytes, they write them past those. Not the others, who
/// would only wait for memory.
const STREAM_IN_CROWD: usize = 16 << 20;

/// An allreduce under way, as one rank sees it.
struct Work<'a> {
    reduction: &'a Reduction,
    own: *const u8,
    out: *mut u8,
    me: usize,
    /// Where each rank's desk is, with the areas of pieces behind it.
    places: Vec<NonNull<u8>>,
    /// Elements of a piece, and bytes of an area.
    most: usize,
    area: usize,
    /// How results are taken.
    copy: unsafe fn(*const u8, *mut u8, usize),
}

impl Node {
    /// # Safety
    /// `own` can be read and `out` written for the elements of the reduction.
    pub(super) unsafe fn allreduce_in_parts(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        call: Call,
        own: *const u8,
        out: *mut u8,
    ) -> Result<()> {
        let me = self.rank();
        let piece = if self.crowded { PIECE_IN_CROWD } else { PIECE };
        let most = (((self.chunk() - size_of::<Desk>()) / AREAS).min(piece) & !63) / reduction.element;
        let count = reduction.count.div_ceil(most);
        // Pieces of the same length.
        let most = reduction.count.div_ceil(count).next_multiple_of(Reduction::CUT).min(most);
        let area = (most * reduction.element).next_multiple_of(64);
        let round = self.open(wait, call)?;
        let place = self.place(wait, size_of::<Desk>() + area * count.min(AREAS))?;
        self.say(round, place);
        // Of the places we know only ours yet.
        let places = vec![self.seat.room(me, place); self.ranks()];
        let streams = self.crowded && reduction.bytes() * self.ranks() >= STREAM_IN_CROWD;
        let copy = if streams { copy::past_cache } else { copy::bytes };
        let mut work = Work { reduction, own, out, me, places, most, area, copy };
        work.desk(me).clear();
        // SAFETY: as the caller says; nobody looks at our place before we publish.
        unsafe { work.show(0) };
        self.seat.publish();
        self.meet_all(wait)?;
        work.places = (0..self.ranks()).map(|rank| self.seat.room(rank, self.heard(rank, round))).collect();
        for piece in 1..=count {
            if piece < count {
                // SAFETY: as the caller says; the area is free as the desks have it.
                unsafe { work.show(piece) };
                self.wake_all(wait);
            }
            self.await_piece(wait, &work, piece - 1)?;
            // SAFETY: everybody has shown the piece.
            unsafe { self.finish_piece(wait, &work, piece - 1)? };
        }
        self.close(wait);
        Ok(())
    }

    /// Until everybody has shown a piece.
    fn await_piece(&self, wait: &mut impl Wait, work: &Work, piece: usize) -> Result<()> {
        for rank in self.others() {
            self.look_out(wait, || work.desk(rank).has_shown(piece as u64))?;
        }
        Ok(())
    }

    /// Takes all results of a piece, and computes those that nobody else does: our own first, others rather than wait.
    ///
    /// # Safety
    /// Everybody has shown the piece, and the work's buffers can be read and written.
    unsafe fn finish_piece(&self, wait: &mut impl Wait, work: &Work, piece: usize) -> Result<()> {
        let index = piece as u64;
        let mut left: Vec<usize> = self.others().collect();
        let compute = |wait: &mut _, rank: usize| {
            let claimed = work.desk(rank).is_free(index) && work.desk(rank).claim(index);
            if claimed {
                // SAFETY: what we claim is ours to compute; the rest is as the caller says.
                unsafe { work.compute(piece, rank) };
                self.wake_all(wait);
            }
            claimed
        };
        if !compute(wait, work.me) {
            left.push(work.me);
        }
        while !left.is_empty() {
            let before = left.len();
            left.retain(|&rank| {
                let done = work.desk(rank).is_done(index);
                if done {
                    // SAFETY: the result is there, the rest as the caller says.
                    unsafe { work.take(piece, rank) };
                }
                !done
            });
            if left.len() < before {
                continue;
            }
            match left.iter().position(|&rank| compute(wait, rank)) {
                Some(at) => drop(left.remove(at)),
                None => self.look_out(wait, || left.iter().any(|&rank| work.desk(rank).is_done(index)))?,
            }
        }
        Ok(())
    }

    /// Waits for something that other ranks do in this round.
    fn look_out(&self, wait: &mut impl Wait, ready: impl Fn() -> bool) -> Result<()> {
        if ready() || wait.shortly(&ready) || wait.until(|| ready() || self.seat.is_broken()) && ready() {
            return Ok(());
        }
        Err(call::out_of_step())
    }
}

impl Work<'_> {
    fn desk(&self, rank: usize) -> &Desk {
        // SAFETY: mapped, aligned to a line, and all atomics.
        unsafe { self.places[rank].cast().as_ref() }
    }

    /// Where a rank has its elements of a piece.
    fn area(&self, piece: usize, rank: usize) -> *mut u8 {
        let at = size_of::<Desk>() + piece % AREAS * self.area;
        self.places[rank].as_ptr().wrapping_add(at)
    }

    /// Where a piece begins, in bytes, and its elements.
    fn piece(&self, piece: usize) -> (usize, Reduction) {
        let first = piece * self.most;
        let count = self.most.min(self.reduction.count - first);
        (first * self.reduction.element, Reduction { count, ..*self.reduction })
    }

    /// Where a rank's part begins in its piece, and how many elements it has.
    fn part(&self, reduction: &Reduction, rank: usize) -> (usize, usize) {
        let (first, count) = reduction.part(rank, self.places.len());
        (first * reduction.element, count)
    }

    /// Shows our elements of a piece.
    ///
    /// # Safety
    /// They can be read, and nobody uses the area.
    unsafe fn show(&self, piece: usize) {
        let (at, reduction) = self.piece(piece);
        let from = self.own.wrapping_add(at);
        // SAFETY: as the caller says; an area has room for all elements of a piece.
        unsafe { copy::bytes(from, self.area(piece, self.me), reduction.count * reduction.element) };
        self.desk(self.me).show(piece as u64);
    }

    /// Computes a part that we have claimed. The results go where its rank has shown its elements, and to our buffer.
    ///
    /// # Safety
    /// Everybody has shown the piece, and the buffers can be read and written.
    unsafe fn compute(&self, piece: usize, rank: usize) {
        let (at, reduction) = self.piece(piece);
        let (start, count) = self.part(&reduction, rank);
        let source = |other: usize| match other {
            _ if other == self.me => self.own.wrapping_add(at + start),
            _ => self.area(piece, other).wrapping_add(start).cast_const(),
        };
        let result = self.area(piece, rank).wrapping_add(start);
        let also = Some(self.out.wrapping_add(at + start));
        // SAFETY: as the caller says; nobody else reads these elements.
        unsafe { fold(&reduction, count, (self.places.len(), self.me), source, result, also) };
        self.desk(rank).finish(piece as u64);
    }

    /// Takes the results of a part that is done.
    ///
    /// # Safety
    /// It is, and the buffer can be written.
    unsafe fn take(&self, piece: usize, rank: usize) {
        let (at, reduction) = self.piece(piece);
        let (start, count) = self.part(&reduction, rank);
        let from = self.area(piece, rank).wrapping_add(start);
        // SAFETY: as the caller says.
        unsafe { (self.copy)(from, self.out.wrapping_add(at + start), count * reduction.element) };
    }
}
