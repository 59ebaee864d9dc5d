//! Long allreduces. Each rank writes its elements to its staging buffer, piece by piece. A piece
//! has a part for every rank, which computes it unless a rank that would have to wait has begun
//! with it (`oxmpi_base::steal_table`).
//!
//! No rank waits until a rank on a slow CPU has written its elements: where every rank has a CPU,
//! they are read from its memory, and a rank that finds the others ahead does not write a piece at
//! all. Otherwise two ranks on one core would need almost twice as long, and so would all others.
//!
//! All ranks synchronise once, to exchange the addresses of steal tables, areas and buffers.

use super::{CallSignature, Reduction, SharedBoard, Wait, call};
use oxmpi_abi::Result;
use oxmpi_base::copy;
use oxmpi_base::steal_table::{AREAS, StealTable};
use oxmpi_coll::choose::{BoardWay, Facts};
use std::ptr::NonNull;

/// The longest pieces. Long pieces are read in long runs and seldom waited for, but those under way
/// should stay in the caches.
const PIECE: usize = 256 << 10;
const PIECE_OVERSUBSCRIBED: usize = 128 << 10;

/// From this piece length on, a rank that has a CPU can be late.
const LATE: usize = 16 << 10;

/// An allreduce under way, from the view of one rank.
struct Work<'a> {
    reduction: &'a Reduction,
    own: *const u8,
    out: *mut u8,
    me: usize,
    /// The address of each rank's steal table; the areas of pieces follow it.
    places: Vec<NonNull<u8>>,
    /// The address of each rank's elements in its own memory.
    buffers: Vec<usize>,
    /// Whether to read there what is not in the staging buffer in time.
    reads: bool,
    /// Elements of a piece, and bytes of an area.
    most: usize,
    area: usize,
    /// How results are copied.
    copy: unsafe fn(*const u8, *mut u8, usize),
}

impl SharedBoard {
    /// # Safety
    /// `own` can be read and `out` written for the elements of the reduction.
    pub(super) unsafe fn allreduce_in_parts(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        call: CallSignature,
        way: BoardWay,
        own: *const u8,
        out: *mut u8,
    ) -> Result<()> {
        let me = self.rank();
        let oversubscribed = self.is_oversubscribed();
        let piece = if oversubscribed { PIECE_OVERSUBSCRIBED } else { PIECE };
        let most = (((self.chunk() - size_of::<StealTable>()) / AREAS).min(piece) & !63) / reduction.element;
        let count = reduction.count.div_ceil(most);
        // Pieces of the same length.
        let most = reduction.count.div_ceil(count).next_multiple_of(Reduction::CUT).min(most);
        let area = (most * reduction.element).next_multiple_of(64);
        let round = self.open(wait, call)?;
        let place = self.place(wait, size_of::<StealTable>() + area * count.min(AREAS))?;
        self.say_both(round, [place as u64, own as u64]);
        // Only our own address is known so far.
        let places = vec![self.member.staging(me, place); self.ranks()];
        let copy = if way == BoardWay::PartsPastCache { copy::past_cache } else { copy::bytes };
        let reads = self.facts.has(Facts::DIRECT) && !oversubscribed;
        let mut work = Work { reduction, own, out, me, places, buffers: Vec::new(), reads, most, area, copy };
        self.fenced(wait, |board, wait| board.all_pieces(wait, &mut work, count))
    }

    /// All pieces of the work, whose buffers others may read meanwhile.
    fn all_pieces(&mut self, wait: &mut impl Wait, work: &mut Work, count: usize) -> Result<()> {
        let me = self.rank();
        work.table(me).clear();
        // SAFETY: `own` has all elements; nobody uses our area before we publish.
        unsafe { work.show(0) };
        self.member.publish();
        self.meet_all(wait)?;
        let told: Vec<_> = (0..self.ranks()).map(|rank| self.addresses(rank)).collect();
        work.places = told.iter().enumerate().map(|(rank, &(place, _))| self.member.staging(rank, place)).collect();
        work.buffers = told.into_iter().map(|(_, buffer)| buffer).collect();
        for piece in 1..=count {
            if piece < count {
                // SAFETY: `own` has all elements, and the work refers to it.
                unsafe { self.come_to(wait, work, piece)? };
            }
            if !work.reads {
                self.await_all(wait, |rank| work.table(rank).has_shown(piece as u64 - 1))?;
            }
            // SAFETY: each rank has written the piece, or can be read from.
            unsafe { self.finish_piece(wait, work, piece - 1)? };
        }
        self.close(wait);
        Ok(())
    }

    /// Writes our elements of a piece, unless others are so far ahead that they have started
    /// without it.
    ///
    /// # Safety
    /// The work's buffers can be read.
    unsafe fn come_to(&self, wait: &mut impl Wait, work: &Work, piece: usize) -> Result<()> {
        let index = piece as u64;
        // All ranks have taken the results that the area may hold.
        if let Some(taken) = index.checked_sub(2) {
            self.await_all(wait, |rank| work.table(rank).has_reached(taken))?;
        }
        if work.reads && self.others().any(|rank| work.table(rank).has_reached(index + 1)) {
            work.table(work.me).pass(index);
        } else {
            // SAFETY: all ranks have taken the results of the piece before the last, which was in
            // this area; `own` has the elements.
            unsafe { work.show(piece) };
        }
        self.wake_all(wait);
        Ok(())
    }

    fn await_all(&self, wait: &mut impl Wait, is_ready: impl Fn(usize) -> bool) -> Result<()> {
        self.others().try_for_each(|rank| self.look_out(wait, || is_ready(rank)))
    }

    /// Takes all results of a piece and computes those that no other rank does, our own first. A
    /// rank that finds results of others is late, and takes them before it starts with its own: the
    /// others may compute that part, too, instead of waiting.
    ///
    /// # Safety
    /// Each rank has written the piece or can be read from, and the buffers of the work
    /// can be read and written.
    unsafe fn finish_piece(&mut self, wait: &mut impl Wait, work: &Work, piece: usize) -> Result<()> {
        let index = piece as u64;
        let mut left: Vec<usize> = [work.me].into_iter().chain(self.others()).collect();
        let can_be_late = work.reads && work.area >= LATE;
        // SAFETY: all have shown the piece or may be read from, and the work's buffers can be read and written.
        if !can_be_late && unsafe { self.compute(wait, work, piece, work.me)? } {
            left.remove(0);
        }
        while !left.is_empty() {
            let before = left.len();
            left.retain(|&rank| {
                let done = work.table(rank).done_by(index);
                if let Some(by) = done {
                    // SAFETY: the result is there, and the buffers of the work can be written.
                    unsafe { work.take(piece, rank, by) };
                }
                done.is_none()
            });
            if left.len() < before {
                continue;
            }
            let mut computed = None;
            for (at, &rank) in left.iter().enumerate() {
                // SAFETY: all have shown the piece or may be read from, and the work's buffers can be read and
                // written.
                if unsafe { self.compute(wait, work, piece, rank)? } {
                    computed = Some(at);
                    break;
                }
            }
            match computed {
                Some(at) => drop(left.remove(at)),
                None => self.look_out(wait, || left.iter().any(|&rank| work.table(rank).done_by(index).is_some()))?,
            }
        }
        Ok(())
    }

    /// Computes a part unless another rank does; whether it did. The results go to our area and to
    /// our buffer.
    ///
    /// # Safety
    /// As for [`SharedBoard::finish_piece`].
    unsafe fn compute(&mut self, wait: &mut impl Wait, work: &Work, piece: usize, rank: usize) -> Result<bool> {
        let index = piece as u64;
        if !work.table(rank).is_free(index) || !work.table(rank).claim(index) {
            return Ok(false);
        }
        let (at, reduction) = work.piece(piece);
        let (start, count) = work.part(&reduction, rank);
        let bytes = count * reduction.element;
        let mut sources = Vec::with_capacity(self.ranks());
        for other in 0..self.ranks() {
            sources.push(if other == work.me {
                work.own.wrapping_add(at + start)
            } else if work.table(other).has_shown(index) {
                work.area(piece, other).wrapping_add(start).cast_const()
            } else {
                let all = self.ranks() * bytes;
                if self.scratch.len() < all {
                    self.scratch.resize(all, 0);
                }
                let to = self.scratch.as_mut_ptr().wrapping_add(other * bytes);
                // SAFETY: that rank's elements, which it keeps until all parts are done, and a place for them in our memory.
                unsafe { self.read(wait, other, to, work.buffers[other] + at + start, bytes)? };
                to.cast_const()
            });
        }
        let result = work.area(piece, work.me).wrapping_add(start);
        let also = Some(work.out.wrapping_add(at + start));
        // SAFETY: `sources` has the part's elements of all ranks; nobody needs ours in the area, where the result
        // goes, nor in `out`.
        unsafe { self.fold(&reduction, count, |rank| sources[rank], result, also) };
        work.table(rank).finish(index, work.me);
        self.wake_all(wait);
        Ok(true)
    }

    /// Waits for progress of other ranks in this round.
    fn look_out(&self, wait: &mut impl Wait, ready: impl Fn() -> bool) -> Result<()> {
        if ready() || wait.shortly(&ready) || wait.until(|| ready() || self.member.is_broken()) && ready() {
            return Ok(());
        }
        Err(call::out_of_step())
    }
}

impl Work<'_> {
    fn table(&self, rank: usize) -> &StealTable {
        // SAFETY: mapped, aligned to a line, and all atomics.
        unsafe { self.places[rank].cast().as_ref() }
    }

    /// The address of a rank's elements of a piece.
    fn area(&self, piece: usize, rank: usize) -> *mut u8 {
        let at = size_of::<StealTable>() + piece % AREAS * self.area;
        self.places[rank].as_ptr().wrapping_add(at)
    }

    /// The offset of a piece in bytes, and its elements.
    fn piece(&self, piece: usize) -> (usize, Reduction) {
        let first = piece * self.most;
        let count = self.most.min(self.reduction.count - first);
        (first * self.reduction.element, Reduction { count, ..*self.reduction })
    }

    /// The first element of a rank's part of a piece, and the number of elements.
    fn part(&self, reduction: &Reduction, rank: usize) -> (usize, usize) {
        let (first, count) = reduction.part(rank, self.places.len());
        (first * reduction.element, count)
    }

    /// Writes our elements of a piece to our area.
    ///
    /// # Safety
    /// They can be read, and nobody uses the area.
    unsafe fn show(&self, piece: usize) {
        let (at, reduction) = self.piece(piece);
        let from = self.own.wrapping_add(at);
        // SAFETY: `own` has the elements of the piece, and an area has room for them.
        unsafe { copy::bytes(from, self.area(piece, self.me), reduction.count * reduction.element) };
        self.table(self.me).show(piece as u64);
    }

    /// Copies the results of a part that is done.
    ///
    /// # Safety
    /// The part is done, and the buffer can be written.
    unsafe fn take(&self, piece: usize, rank: usize, by: usize) {
        let (at, reduction) = self.piece(piece);
        let (start, count) = self.part(&reduction, rank);
        let from = self.area(piece, by).wrapping_add(start);
        // SAFETY: the area of rank `by` has the results of the part, and `out` has room for all elements.
        unsafe { (self.copy)(from, self.out.wrapping_add(at + start), count * reduction.element) };
    }
}
