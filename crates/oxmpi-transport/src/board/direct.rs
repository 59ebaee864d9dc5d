//! Long operations. The ranks exchange the addresses of their buffers and copy directly between
//! them, each its share. The board carries only addresses.
//!
//! A second round ends every operation, so that no rank continues before all have read what they
//! need. A rank that leaves with an error while others go on first waits until nobody copies from or to its memory
//! ([`SharedBoard::fenced`]). A buffer with gaps goes through dense memory of our own, so that all ranks do the same
//! whatever their layouts are.

use super::{CallSignature, Reduction, SharedBoard, Wait, call, pieces, unpack, unpack_streaming};
use crate::local;
use oxmpi_abi::Result;
use oxmpi_base::copy;
use oxmpi_datatype::{OwnedBytes, Region, Source, Target};

/// From this many ranks on, each rank writes its block, which stays in its cache, to all others
/// instead of each reading it.
const PUSHES: usize = 6;

/// Bytes of all ranks together that are combined at a time.
const PIECES: usize = 256 << 10;

/// Dense memory for data: the user's, or our own.
pub(super) struct Run {
    base: *mut u8,
    own: Option<OwnedBytes>,
}

impl Run {
    /// The packed bytes of a buffer.
    fn of(buf: &Source<'_>) -> Run {
        match buf.as_dense() {
            Some(base) => Run { base, own: None },
            None => Run::holding(OwnedBytes::packed(buf)),
        }
    }

    /// Room for the packed bytes of a buffer; [`Run::put`] stores them there later.
    pub(super) fn room_for(buf: &Region) -> Run {
        match buf.as_dense() {
            Some(base) => Run { base, own: None },
            None => Run::holding(OwnedBytes::zeroed(buf.len())),
        }
    }

    fn holding(own: OwnedBytes) -> Run {
        Run { base: own.as_ptr(), own: Some(own) }
    }

    pub(super) fn at(&self, offset: usize) -> *mut u8 {
        self.base.wrapping_add(offset)
    }

    /// Copies bytes from offset `at` on to the user's buffer, unless they are already there.
    pub(super) fn put(&self, buf: &Target<'_>, at: usize, bytes: usize) {
        if self.own.is_some() {
            // SAFETY: `own` has as many bytes as the target, and the copies into it have ended.
            unsafe { unpack(buf, at, self.at(at), bytes) };
        }
    }
}

/// A rank writes its own block with streaming stores from this length on: together with the
/// kernel's copies of the other blocks it would not stay in the cache. Blocks of 4 MiB between two
/// ranks arrive 3 to 9 % sooner; blocks of 1 and 2 MiB up to 1.7 times later where caches are large.
const STREAM_OWN: usize = 4 << 20;

/// Copies our own block from an offset in one buffer to an offset in the other.
fn copy_own(send: &Source<'_>, from: usize, recv: &Target<'_>, to: usize, block: usize) {
    match send.as_dense() {
        // SAFETY: both are buffers of a pending operation with so many bytes there, and may not overlap.
        Some(base) if block >= STREAM_OWN => unsafe { unpack_streaming(recv, to, base.wrapping_add(from), block) },
        _ => local::copy_part(send, from, recv, to, block),
    }
}

impl SharedBoard {
    /// Whether the kernel lets this rank read and write the memory of the next one. All ranks ask
    /// together.
    pub fn probe(&mut self, wait: &mut impl Wait) -> Result<bool> {
        const WORD: u64 = 0x4f78_4d50_4921_u64;
        let mut words = [WORD + self.rank() as u64, 0];
        let places = words.as_mut_ptr();
        self.fenced(wait, |board, wait| {
            board.show(wait, CallSignature::BARRIER, [places as u64, 0])?;
            board.meet_all(wait)?;
            let next = (board.rank() + 1) % board.ranks();
            let theirs = board.addresses(next).0;
            let mut found = 0u64;
            let wanted = WORD + next as u64;
            // SAFETY: the next rank's two words, which live until the second round.
            let read = unsafe { board.read(wait, next, (&raw mut found).cast(), theirs, 8) };
            // SAFETY: the next rank's two words, which live until the second round.
            let wrote = unsafe { board.write_to(wait, next, (&raw const wanted).cast(), theirs + 8, 8) };
            board.close(wait);
            board.show(wait, CallSignature::BARRIER, [0, 0])?;
            board.meet_all(wait)?;
            board.close(wait);
            // SAFETY: our own; the rank before us may have written there.
            let heard = unsafe { places.add(1).read_volatile() };
            Ok(read.is_ok() && wrote.is_ok() && found == wanted && heard == WORD + board.rank() as u64)
        })
    }

    /// `MPI_Bcast` between two ranks: the root writes one half, the other rank reads the other
    /// half.
    pub(super) fn bcast_directly(
        &mut self,
        wait: &mut impl Wait,
        call: CallSignature,
        root: usize,
        buf: &Target<'_>,
    ) -> Result<()> {
        let sends = self.rank() == root;
        let run = if sends { Run::of(buf) } else { Run::room_for(buf) };
        let other = 1 - self.rank();
        self.fenced(wait, |board, wait| {
            board.show(wait, call, [run.base as u64, 0])?;
            board.meet_all(wait)?;
            let theirs = board.addresses(other).0;
            let half = (buf.len() / 2).next_multiple_of(4096).min(buf.len());
            // SAFETY: both buffers have that many bytes and are those of pending operations.
            unsafe {
                if sends {
                    board.write_to(wait, other, run.base, theirs, half)?;
                } else {
                    board.read(wait, other, run.at(half), theirs + half, buf.len() - half)?;
                }
            }
            board.close(wait);
            board.part(wait, call)?;
            if !sends {
                run.put(buf, 0, buf.len());
            }
            Ok(())
        })
    }

    /// `MPI_Gather`: each rank writes its block to its place at the root.
    pub(super) fn gather_directly(
        &mut self,
        wait: &mut impl Wait,
        call: CallSignature,
        root: usize,
        block: usize,
        send: Option<&Source<'_>>,
        recv: Option<&Target<'_>>,
    ) -> Result<()> {
        let Some(recv) = recv else {
            let (from, at) = (send.map(Run::of), self.rank() * block);
            return self.use_roots_memory(wait, call, root, |board, wait, base| match &from {
                // SAFETY: our block, and the place for it at the root.
                Some(from) => unsafe { board.write_to(wait, root, from.base, base + at, block) },
                None => Ok(()),
            });
        };
        let to = Run::room_for(recv);
        self.lend_memory(wait, call, to.base, || {
            if let Some(send) = send {
                local::copy_part(send, 0, recv, root * block, block);
            }
        })?;
        for rank in self.others() {
            to.put(recv, rank * block, block);
        }
        Ok(())
    }

    /// `MPI_Scatter`: each rank reads its block from the root.
    pub(super) fn scatter_directly(
        &mut self,
        wait: &mut impl Wait,
        call: CallSignature,
        root: usize,
        block: usize,
        send: Option<&Source<'_>>,
        recv: Option<&Target<'_>>,
    ) -> Result<()> {
        if let Some(send) = send {
            let from = Run::of(send);
            return self.lend_memory(wait, call, from.base, || {
                if let Some(recv) = recv {
                    local::copy_part(send, root * block, recv, 0, block);
                }
            });
        }
        let Some(recv) = recv else { return Ok(()) };
        let (to, at) = (Run::room_for(recv), self.rank() * block);
        self.use_roots_memory(wait, call, root, |board, wait, base| {
            // SAFETY: our block at the root, and the place for it.
            unsafe { board.read(wait, root, to.base, base + at, block) }
        })?;
        to.put(recv, 0, block);
        Ok(())
    }

    /// The root of a gather or scatter shows its memory, does its own part, and waits until all others have done theirs.
    fn lend_memory(
        &mut self,
        wait: &mut impl Wait,
        call: CallSignature,
        base: *mut u8,
        own_part: impl FnOnce(),
    ) -> Result<()> {
        self.fenced(wait, |board, wait| {
            board.show(wait, call, [base as u64, 0])?;
            board.wake_all(wait);
            own_part();
            board.close(wait);
            board.listen(call)?;
            for rank in board.others() {
                board.await_entry(wait, rank)?;
            }
            board.member.exchanged();
            board.close(wait);
            Ok(())
        })
    }

    /// Another rank copies to or from the memory that the root shows, and says that it has done so.
    fn use_roots_memory<W: Wait>(
        &mut self,
        wait: &mut W,
        call: CallSignature,
        root: usize,
        copy: impl FnOnce(&mut SharedBoard, &mut W, usize) -> Result<()>,
    ) -> Result<()> {
        self.listen(call)?;
        self.await_entry(wait, root)?;
        let base = self.addresses(root).0;
        copy(self, wait, base)?;
        self.close(wait);
        self.open(wait, call)?;
        self.member.publish();
        self.wake(wait, root);
        self.close(wait);
        Ok(())
    }

    /// `MPI_Allgather`. A few ranks read all blocks; among many, each rank writes its block, which
    /// stays in its cache, to all. Our own block is copied while the others are still arriving.
    pub(super) fn allgather_directly(
        &mut self,
        wait: &mut impl Wait,
        call: CallSignature,
        block: usize,
        send: Option<&Source<'_>>,
        recv: &Target<'_>,
    ) -> Result<()> {
        let own = self.rank() * block;
        let to = Run::room_for(recv);
        let from = match send {
            Some(send) => Run::of(send),
            None if recv.as_dense().is_some() => Run { base: to.at(own), own: None },
            None => Run::holding(OwnedBytes::packed(&recv.part(own, block))),
        };
        self.fenced(wait, |board, wait| {
            board.show(wait, call, [from.base as u64, to.base as u64])?;
            if let Some(send) = send {
                copy_own(send, 0, recv, own, block);
            }
            let pushes = board.ranks() >= PUSHES;
            for rank in board.partners() {
                board.await_entry(wait, rank)?;
                let theirs = board.addresses(rank);
                // SAFETY: a block of that rank's, and the place for it in ours; or ours, and the place in theirs.
                unsafe {
                    if pushes {
                        board.write_to(wait, rank, from.base, theirs.1 + own, block)?;
                    } else {
                        board.read(wait, rank, to.at(rank * block), theirs.0, block)?;
                    }
                }
            }
            board.exchanged(wait);
            board.close(wait);
            board.part(wait, call)?;
            for rank in board.partners() {
                to.put(recv, rank * block, block);
            }
            Ok(())
        })
    }

    /// `MPI_Alltoall`: each rank reads the blocks that are for it.
    pub(super) fn alltoall_directly(
        &mut self,
        wait: &mut impl Wait,
        call: CallSignature,
        block: usize,
        send: Option<&Source<'_>>,
        recv: &Target<'_>,
    ) -> Result<()> {
        let _pin = self.pin_with_neighbours(block);
        let own = self.rank() * block;
        // In place, a rank must not overwrite what the others have not read yet.
        let from = send.map_or_else(|| Run::holding(OwnedBytes::packed(recv)), Run::of);
        let to = Run::room_for(recv);
        self.fenced(wait, |board, wait| {
            board.show(wait, call, [from.base as u64, 0])?;
            if let Some(send) = send {
                copy_own(send, own, recv, own, block);
            }
            for rank in board.partners() {
                board.await_entry(wait, rank)?;
                let theirs = board.addresses(rank).0;
                // SAFETY: that rank's block for us, and the place for it in ours.
                unsafe { board.read(wait, rank, to.at(rank * block), theirs + own, block)? };
                to.put(recv, rank * block, block);
            }
            board.exchanged(wait);
            board.close(wait);
            board.part(wait, call)
        })
    }

    /// The other ranks, in an order in which ranks work in pairs: the caches of a pair, and what
    /// the kernel locks, are then used by that pair alone.
    fn partners(&self) -> impl Iterator<Item = usize> + use<> {
        let (rank, ranks) = (self.rank(), self.ranks());
        (0..ranks).map(move |turn| (turn + ranks - rank) % ranks).filter(move |&other| other != rank)
    }

    /// Two ranks: each reads its part from the other, combines it, and writes the result to the
    /// other if the other wants it.
    ///
    /// # Safety
    /// `own` can be read and `out` written for the elements of the reduction; `out` is `None` where no result is wanted.
    pub(super) unsafe fn reduce_directly(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        call: CallSignature,
        own: *const u8,
        out: Option<*mut u8>,
    ) -> Result<()> {
        self.fenced(wait, |board, wait| {
            board.show(wait, call, [own as u64, out.map_or(0, |out| out as u64)])?;
            board.meet_all(wait)?;
            let element = reduction.element;
            let other = 1 - board.rank();
            let theirs = board.addresses(other).1;
            let (start, count) = if out.is_some() != (theirs != 0) {
                // The root writes no result to the other rank, so it takes a larger part.
                let more = (reduction.count * 3 / 5).next_multiple_of(Reduction::CUT).min(reduction.count);
                if out.is_some() { (0, more) } else { (more, reduction.count - more) }
            } else {
                reduction.part(board.rank(), 2)
            };
            for (at, count) in pieces(count, board.piece() / element) {
                let (at, bytes) = ((start + at) * element, count * element);
                let result = out.map(|out| out.wrapping_add(at));
                // SAFETY: `own` has the elements of the part, and `out`, where there is one, room for them.
                let result = unsafe { board.combine(wait, reduction, own, (at, count), result)? };
                if theirs != 0 {
                    // SAFETY: the other's buffer for the result; its own elements of our part have been read.
                    unsafe { board.write_to(wait, other, result, theirs + at, bytes)? };
                }
            }
            board.close(wait);
            board.part(wait, call)
        })
    }

    /// Three ranks or more: each reads its part from all, combines it and puts the result into its
    /// staging buffer, from where all fetch it. If each rank wrote its result to all others, they
    /// would wait for the locks of the kernel.
    ///
    /// # Safety
    /// `own` can be read and `out` written for the elements of the reduction.
    pub(super) unsafe fn allreduce_directly(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        call: CallSignature,
        own: *const u8,
        out: *mut u8,
    ) -> Result<()> {
        let element = reduction.element;
        // As many elements as fit: each part is cut to whole groups of elements and must fit into a
        // staging buffer.
        let most = (self.chunk() / element - Reduction::CUT) * self.ranks();
        self.fenced(wait, |board, wait| {
            for (at, count) in pieces(reduction.count, most) {
                let reduction = &Reduction { count, ..*reduction };
                let (own, out) = (own.wrapping_add(at * element), out.wrapping_add(at * element));
                board.show(wait, call, [own as u64, 0])?;
                board.meet_all(wait)?;
                let (start, count) = reduction.part(board.rank(), board.ranks());
                let place = board.place(wait, count * element)?;
                let staging = board.member.staging(board.rank(), place).as_ptr();
                for (at, count) in pieces(count, board.piece() / element) {
                    let result = staging.wrapping_add(at * element);
                    let at = (start + at) * element;
                    // SAFETY: as the caller says; our staging buffer has a place for our part, which nobody else reads in our memory.
                    unsafe {
                        board.combine(wait, reduction, own, (at, count), Some(result))?;
                        copy::bytes(result, out.wrapping_add(at), count * element);
                    }
                }
                board.close(wait);

                let round = board.open(wait, call)?;
                board.member.keep(place, count * element);
                board.say(round, place);
                board.member.publish();
                for rank in board.others() {
                    board.await_entry(wait, rank)?;
                    let (start, count) = reduction.part(rank, board.ranks());
                    let from = board.member.staging(rank, board.heard(rank, round)).as_ptr();
                    // SAFETY: that rank has written the results of its part, and has read ours.
                    unsafe { copy::bytes(from, out.wrapping_add(start * element), count * element) };
                }
                board.exchanged(wait);
                board.close(wait);
            }
            Ok(())
        })
    }

    /// Combines the elements that all ranks have at an offset in the memory that they show, ours at
    /// `own`; at most a [piece](SharedBoard::piece). Reads the next rank first: if all ranks began with
    /// the same one, they would wait for its lock in the kernel.
    ///
    /// # Safety
    /// The elements can be read and the results written; the results may replace our own
    /// elements. Without a place for the results they stay in our scratch memory until the next
    /// call.
    unsafe fn combine(
        &mut self,
        wait: &mut impl Wait,
        reduction: &Reduction,
        own: *const u8,
        (at, count): (usize, usize),
        result: Option<*mut u8>,
    ) -> Result<*const u8> {
        let bytes = count * reduction.element;
        self.scratch.resize(self.ranks() * self.piece(), 0);
        let operands = self.scratch.as_mut_ptr();
        let operand = |rank: usize| operands.wrapping_add(rank * bytes);
        for rank in self.others() {
            // SAFETY: that rank's elements, and a place for them in our memory.
            unsafe { self.read(wait, rank, operand(rank), self.addresses(rank).0 + at, bytes)? };
        }
        let source = |rank: usize| if rank == self.rank() { own.wrapping_add(at) } else { operand(rank) };
        let result = result.unwrap_or(operand(self.rank()));
        // SAFETY: all elements are there; the rest is as the caller says.
        unsafe { self.fold(reduction, count, source, result, None) };
        Ok(result)
    }

    /// Bytes per rank that are combined at a time: enough to be worth a system call, and few enough
    /// that those of all ranks stay in the second-level cache.
    fn piece(&self) -> usize {
        (PIECES / self.ranks()).clamp(4 << 10, 64 << 10) & !63
    }

    /// An operation that shows memory to others. When it has failed, nobody copies from or to that memory any more.
    pub(super) fn fenced<W: Wait, R>(
        &mut self,
        wait: &mut W,
        operation: impl FnOnce(&mut SharedBoard, &mut W) -> Result<R>,
    ) -> Result<R> {
        let result = operation(self, wait);
        if result.is_err() && self.is_fenced {
            self.bar_copies(wait);
        }
        result
    }

    /// Waits until no living rank copies. A copy that has begun ends soon, and none begins on a board that is broken.
    #[cold]
    fn bar_copies(&self, wait: &mut impl Wait) {
        self.member.bar_copies();
        for rank in self.others() {
            while self.member.is_copying(rank) && !wait.has_ended(self.members[rank]) {
                wait.give_way();
            }
        }
    }

    /// Copies from the memory that another rank shows.
    ///
    /// # Safety
    /// As for [`Wait::read`].
    pub(super) unsafe fn read(
        &mut self,
        wait: &mut impl Wait,
        rank: usize,
        to: *mut u8,
        from: usize,
        bytes: usize,
    ) -> Result<()> {
        self.begin_copy()?;
        // SAFETY: the caller's condition; the rank waits for the end of the copy before it leaves with an error.
        let copied = unsafe { wait.read(self.members[rank], to, from, bytes) };
        self.end_copy();
        copied
    }

    /// Copies to the memory that another rank shows.
    ///
    /// # Safety
    /// As for [`Wait::write`].
    unsafe fn write_to(
        &mut self,
        wait: &mut impl Wait,
        rank: usize,
        from: *const u8,
        to: usize,
        bytes: usize,
    ) -> Result<()> {
        self.begin_copy()?;
        // SAFETY: the caller's condition; the rank waits for the end of the copy before it leaves with an error.
        let copied = unsafe { wait.write(self.members[rank], from, to, bytes) };
        self.end_copy();
        copied
    }

    #[inline]
    fn begin_copy(&self) -> Result<()> {
        if self.is_fenced && !self.member.begin_copy() { Err(call::out_of_step()) } else { Ok(()) }
    }

    #[inline]
    fn end_copy(&self) {
        if self.is_fenced {
            self.member.end_copy();
        }
    }

    /// Begins a round and shows two addresses.
    fn show(&mut self, wait: &mut impl Wait, call: CallSignature, addresses: [u64; 2]) -> Result<()> {
        let round = self.open(wait, call)?;
        self.say_both(round, addresses);
        self.member.publish();
        Ok(())
    }

    /// Writes two addresses, or offsets, into our entry.
    pub(super) fn say_both(&self, round: u64, addresses: [u64; 2]) {
        // SAFETY: our line of this round, aligned to 16 bytes.
        unsafe { self.member.body(self.rank(), round).cast::<[u64; 2]>().write(addresses) };
    }

    /// The addresses in the entry of a rank that has arrived.
    pub(super) fn addresses(&self, rank: usize) -> (usize, usize) {
        // SAFETY: the entry of a rank that has arrived, aligned to 16 bytes; nobody writes to it
        // before we finish.
        let [first, second] = unsafe { self.member.body(rank, self.member.round()).cast::<[u64; 2]>().read() };
        (first as usize, second as usize)
    }

    /// A round in which each rank says that it has read what it needs.
    fn part(&mut self, wait: &mut impl Wait, call: CallSignature) -> Result<()> {
        self.open(wait, call)?;
        self.member.publish();
        self.meet_all(wait)?;
        self.close(wait);
        Ok(())
    }
}
