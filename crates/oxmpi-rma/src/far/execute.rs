//! One request on the memory of a rank: checks that the memory is in its window, then copies or combines, with the
//! stripes that the ranks of the node use. Nothing here waits for a stripe for long: the request is tried again.

use super::served::{Memory, ServedMember, ServedNode, ServedWindow};
use super::wire::{FETCH, Kind, Request};
use crate::accumulate::{bits, stripes_of};
use crate::scattered::spread;
use crate::transfer::transfer_pieces;
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::cma::{MAX_PIECES, Piece};
use oxmpi_base::stripe::Stripe;
use oxmpi_datatype::{Named, Program, element_on_wire};
use oxmpi_ops::{Kernel, Op};
use std::collections::HashMap;
use std::io;

/// Programs of types by their numbers.
pub(super) type Programs = HashMap<u32, Program>;

/// Memory that is used again from request to request.
#[derive(Default)]
pub(super) struct Scratch {
    pieces: Vec<Piece>,
    before: Vec<u8>,
    after: Vec<u8>,
}

/// Whether a request has been executed.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Done {
    Yes,
    /// Another process holds something that is needed.
    TryAgain,
}

/// Tries for a stripe before the request is parked.
const TRIES: u32 = 64;
/// Reads of the table of attached memory before the request is parked.
const LOOKS: u32 = 64;

/// Executes a request on memory. What it answers is appended to `answer`.
pub(super) fn execute(
    node: &ServedNode,
    request: &Request,
    payload: &[u8],
    programs: &Programs,
    scratch: &mut Scratch,
    answer: &mut Vec<u8>,
) -> Result<Done> {
    let window = node.window(request.window)?;
    let member = window.member(request.target)?;
    let access = Access { node, window: &window, member: &member, rank: request.target as usize };
    scratch.pieces.clear();
    if access.find(request, programs, &mut scratch.pieces)? == Done::TryAgain {
        return Ok(Done::TryAgain);
    }
    match request.kind {
        Kind::Put => access.write(&mut scratch.pieces, payload).map(|()| Done::Yes),
        Kind::Get => {
            let start = answer.len();
            answer.resize(start + request.length as usize, 0);
            access.read(&mut scratch.pieces, &mut answer[start..]).map(|()| Done::Yes)
        }
        Kind::Accumulate => access.accumulate(request, payload, scratch, answer),
        Kind::CompareAndSwap => access.compare_and_swap(request, payload, scratch, answer),
        _ => bail!(MPI_ERR_INTERN, "{:?} is no access to memory", request.kind),
    }
}

struct Access<'a> {
    node: &'a ServedNode,
    window: &'a ServedWindow,
    member: &'a ServedMember,
    rank: usize,
}

impl Access<'_> {
    /// The pieces of the window that a request names, as bytes from its start. All are in the window.
    fn find(&self, request: &Request, programs: &Programs, pieces: &mut Vec<Piece>) -> Result<Done> {
        let (start, length) = (request.offset as usize, request.length as usize);
        if request.program == 0 {
            pieces.push((start, length));
        } else {
            let Some(program) = programs.get(&request.program) else {
                bail!(MPI_ERR_TYPE, "the type with number {} has not been sent", request.program);
            };
            let from = request.position as usize;
            let end = from.checked_add(length);
            if !end.is_some_and(|end| program.pieces(start, request.count, from, end, pieces)) {
                bail!(MPI_ERR_RMA_RANGE, "the elements of the type at {start:#x} are in no address space");
            }
        }
        for &(at, bytes) in pieces.iter() {
            let inside = match self.window.dynamic {
                true => match self.window.control.attached(self.rank).contains_soon(at as u64, bytes as u64, LOOKS) {
                    Some(inside) => inside,
                    None => return Ok(Done::TryAgain),
                },
                false => at <= self.member.size && self.member.size - at >= bytes,
            };
            if !inside {
                return Err(self.outside(at, bytes));
            }
        }
        Ok(Done::Yes)
    }

    #[cold]
    fn outside(&self, at: usize, bytes: usize) -> Error {
        let (rank, size) = (self.rank, self.member.size);
        let text = match self.window.dynamic {
            true => format!("rank {rank} has not attached all of the {bytes} bytes from address {at:#x} on"),
            false => format!(
                "bytes {at} to {} of the memory of rank {rank} are not all in its window, which has {size} bytes",
                at.saturating_add(bytes)
            ),
        };
        Error::new(MPI_ERR_RMA_RANGE, text)
    }

    /// Writes the pieces of the window.
    fn write(&self, pieces: &mut [Piece], from: &[u8]) -> Result<()> {
        match self.member.memory {
            Memory::Mapped(base) => {
                let mut from = from;
                for &(at, bytes) in pieces.iter() {
                    let (now, rest) = from.split_at(bytes);
                    // SAFETY: `find` has found the piece inside the window, which is mapped at `base`.
                    unsafe { copy(now.as_ptr(), base.wrapping_add(at), bytes) };
                    from = rest;
                }
                Ok(())
            }
            Memory::Process(base) => {
                let write = |local: &[Piece], remote: &[Piece]| {
                    // SAFETY: the local pieces are in `from`, and the remote ones in memory that the rank gave to its window.
                    unsafe { self.node.write(self.member.slot, local, remote) }
                };
                by_kernel(write, from.as_ptr().expose_provenance(), base, pieces)
            }
        }
    }

    /// Reads the pieces of the window.
    fn read(&self, pieces: &mut [Piece], to: &mut [u8]) -> Result<()> {
        match self.member.memory {
            Memory::Mapped(base) => {
                let mut to = to;
                for &(at, bytes) in pieces.iter() {
                    let (now, rest) = to.split_at_mut(bytes);
                    // SAFETY: `find` has found the piece inside the window, which is mapped at `base`.
                    unsafe { copy(base.wrapping_add(at), now.as_mut_ptr(), bytes) };
                    to = rest;
                }
                Ok(())
            }
            Memory::Process(base) => {
                let read = |local: &[Piece], remote: &[Piece]| {
                    // SAFETY: the local pieces are in `to`, which is borrowed exclusively and not used during the call.
                    unsafe { self.node.read(self.member.slot, local, remote) }
                };
                by_kernel(read, to.as_mut_ptr().expose_provenance(), base, pieces)
            }
        }
    }

    /// Takes stripes in the order of their numbers, as ranks do; `None` when one is not free soon.
    fn take(&self, stripes: u64) -> Option<Taken<'_>> {
        let mut taken = Taken { window: self.window, rank: self.rank, stripes: 0 };
        for number in bits(stripes) {
            let stripe = self.window.control.stripe(self.rank, number);
            if !(0..TRIES).any(|_| try_take(stripe, self.rank)) {
                return None;
            }
            taken.stripes |= 1 << number;
        }
        Some(taken)
    }

    fn accumulate(
        &self,
        request: &Request,
        payload: &[u8],
        scratch: &mut Scratch,
        answer: &mut Vec<u8>,
    ) -> Result<Done> {
        let Some(op) = oxmpi_ops::predefined(request.op as usize) else {
            bail!(MPI_ERR_OP, "{:#x} is not a predefined operation", request.op);
        };
        let element = element(request.datatype)?;
        let kernel = oxmpi_ops::kernel(op, element)?;
        let (size, bytes) = (element.size(), request.length as usize);
        let has_operand = payload.len() == bytes || (op == Op::NoOp && payload.is_empty());
        if !bytes.is_multiple_of(size) || !has_operand {
            bail!(MPI_ERR_TYPE, "{bytes} bytes are no whole elements of {}", element.name);
        }
        let fetch = request.flags & FETCH != 0;
        let Scratch { pieces, before, after } = scratch;
        let Some(_taken) = self.take(self.stripes(pieces, element)) else { return Ok(Done::TryAgain) };
        let plain = size == element.extent();
        if let (Memory::Mapped(base), true, true, false) = (self.member.memory, plain, op != Op::NoOp, fetch) {
            self.combine_in_place(kernel, base, pieces, payload, size);
            return Ok(Done::Yes);
        }
        let old = room(before, bytes);
        self.read(&mut pieces.clone(), old)?;
        if fetch {
            answer.extend_from_slice(old);
        }
        if op == Op::NoOp {
            return Ok(Done::Yes);
        }
        if plain {
            let new = room(after, bytes);
            // SAFETY: all three have `bytes` bytes, which are whole elements.
            unsafe { kernel(old.as_ptr(), payload.as_ptr(), new.as_mut_ptr(), bytes / size) };
            self.write(pieces, new)?;
        } else {
            let new = combine_apart(kernel, element, old, payload);
            self.write(pieces, &new)?;
        }
        Ok(Done::Yes)
    }

    /// Combines elements without gaps where they are.
    fn combine_in_place(&self, kernel: Kernel, base: *mut u8, pieces: &[Piece], source: &[u8], size: usize) {
        let mut done = 0;
        for &(at, bytes) in pieces {
            let at = base.wrapping_add(at);
            // SAFETY: the piece is inside the window, which is mapped here; the source has as many bytes from `done` on,
            // since the pieces have as many as it has together; the stripes of all elements are held.
            unsafe { kernel(at, source[done..].as_ptr(), at, bytes / size) };
            done += bytes;
        }
    }

    /// The stripes of all elements in some pieces: those of the blocks in which the elements begin.
    fn stripes(&self, pieces: &[Piece], element: &Named) -> u64 {
        let (size, extent, shift) = (element.size(), element.extent(), self.window.block_shift);
        if size == extent {
            return pieces.iter().fold(0, |mask, &(at, bytes)| mask | stripes_of(shift, at, bytes, size.min(bytes)));
        }
        // An element has two pieces, and the second may be joined to the first of the next element.
        let (mut mask, mut position) = (0, 0usize);
        for &(at, bytes) in pieces {
            let mut first = position.next_multiple_of(size) - position;
            while first < bytes {
                mask |= stripes_of(shift, at + first, extent, extent);
                first += size;
            }
            position += bytes;
        }
        mask
    }

    fn compare_and_swap(
        &self,
        request: &Request,
        payload: &[u8],
        scratch: &mut Scratch,
        answer: &mut Vec<u8>,
    ) -> Result<Done> {
        let element = element(request.datatype)?;
        crate::check_comparable(element)?;
        let bytes = request.length as usize;
        if element.size() != bytes || scratch.pieces.len() != 1 {
            bail!(MPI_ERR_TYPE, "{bytes} bytes are no element of {}", element.name);
        }
        let (new, compare) = payload.split_at(bytes);
        let stripes = self.stripes(&scratch.pieces, element);
        let Some(_taken) = self.take(stripes) else { return Ok(Done::TryAgain) };
        let old = room(&mut scratch.before, bytes);
        self.read(&mut scratch.pieces.clone(), old)?;
        answer.extend_from_slice(old);
        if *old == *compare {
            self.write(&mut scratch.pieces, new)?;
        }
        Ok(Done::Yes)
    }
}

/// Stripes that are held; given back on drop.
struct Taken<'a> {
    window: &'a ServedWindow,
    rank: usize,
    stripes: u64,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        bits(self.stripes).for_each(|number| self.window.control.stripe(self.rank, number).give_back());
    }
}

fn try_take(stripe: &Stripe, own: usize) -> bool {
    let taken = stripe.try_take(own);
    if !taken {
        std::hint::spin_loop();
    }
    taken
}

fn element(handle: u32) -> Result<&'static Named> {
    match element_on_wire(handle) {
        Some(element) if element.size() > 0 => Ok(element),
        _ => bail!(MPI_ERR_TYPE, "{handle:#x} is not a predefined datatype"),
    }
}

/// Combines elements with gaps, which have none in their packed form.
fn combine_apart(kernel: Kernel, element: &Named, old: &[u8], given: &[u8]) -> Vec<u8> {
    let (size, extent) = (element.size(), element.extent());
    let (mut left, mut right) = (vec![0; extent], vec![0; extent]);
    let mut new = old.to_vec();
    for (new, given) in new.chunks_exact_mut(size).zip(given.chunks_exact(size)) {
        spread(element, &mut given.to_vec(), &mut right, false);
        spread(element, new, &mut left, false);
        let at = left.as_mut_ptr();
        // SAFETY: both have room for one element, and the kernel may write where it reads.
        unsafe { kernel(at, right.as_ptr(), at, 1) };
        spread(element, new, &mut left, true);
    }
    new
}

fn room(memory: &mut Vec<u8>, bytes: usize) -> &mut [u8] {
    memory.resize(memory.len().max(bytes), 0);
    &mut memory[..bytes]
}

/// Moves bytes between `local` and pieces of another process, whose window begins at `base`, as many pieces at a time as the
/// kernel takes.
fn by_kernel(
    transfer: impl Fn(&[Piece], &[Piece]) -> io::Result<usize>,
    mut local: usize,
    base: usize,
    pieces: &mut [Piece],
) -> Result<()> {
    pieces.iter_mut().for_each(|piece| piece.0 = piece.0.wrapping_add(base));
    for part in pieces.chunks_mut(MAX_PIECES) {
        let bytes: usize = part.iter().map(|piece| piece.1).sum();
        transfer_pieces(&transfer, local, part)?;
        local += bytes;
    }
    Ok(())
}

/// # Safety
/// `from` may be read and `to` written for `bytes` bytes. Other processes may access the window's side meanwhile.
unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: both runs have `bytes` bytes. Small sizes are one move, so that nobody sees half of a word.
    unsafe {
        match bytes {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            _ => to.copy_from(from, bytes),
        }
    }
}
