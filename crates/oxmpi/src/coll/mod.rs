//! Collective operations, each written once for its blocking, nonblocking and persistent [`Form`].
//!
//! ```text
//! mod.rs        the forms and the operations: they try a board, the rest uses plans
//! board.rs      over memory that all ranks share; `None` where that is not the way
//! exchange.rs   the same for vector forms and neighbours: blocks whose lengths only their two ranks know
//! data.rs  reductions.rs  neighbors.rs      check the arguments, ask for a plan, bind it to the program's memory
//! args.rs       buffer arguments            shape.rs  the communicator as plans see it
//! mode.rs       carries a plan out, starts it, or keeps it
//! checked.rs    what --check compares
//! plans.rs      from an operation with checked arguments to its plan (`oxmpi-coll`)
//! ```
//!
//! The choice of algorithm and plan depends only on what is the same on every rank: sizes in bytes,
//! the operation, the communicator; never a layout or an address.
//!
//! All operations have one contract. The caller promises that the memory is as the arguments
//! describe it, that send buffers can be read and receive buffers written, and that nobody else
//! changes them until the operation is complete: when the function returns, or when the request is
//! complete. Arrays of counts, displacements and types have an entry for every block and are read
//! before the function returns.
#![allow(clippy::missing_safety_doc, reason = "all functions have the contract of the module")]

pub mod args;
mod board;
mod checked;
mod data;
mod exchange;
mod mode;
mod neighbors;
mod plans;
mod reductions;
mod shape;
mod used;

pub use args::{Block, Blocks, Mixed};
pub use mode::Mode;
pub use reductions::Operands;

use crate::args::Ints;
use checked::Results;
use oxmpi_abi::Result;
use oxmpi_abi::constants::MPI_REQUEST_NULL;
use oxmpi_abi::handle::{Comm, Info, Request};
use oxmpi_core::call::Call;
use oxmpi_core::check;
use used::Memory;

/// How a collective operation is carried out.
pub trait Form: Copy {
    /// Whether the operation is complete when the function returns.
    const BLOCKING: bool;
    type Output;

    fn mode(self) -> Mode;

    /// What the function returns; a request where the form has one.
    fn output(request: Option<Request>) -> Self::Output;
}

/// The function returns when the operation is complete.
#[derive(Clone, Copy, Debug)]
pub struct Blocking;

/// The function starts the operation; the request completes it.
#[derive(Clone, Copy, Debug)]
pub struct Nonblocking;

/// The function prepares the operation; the request starts it any number of times.
#[derive(Clone, Copy, Debug)]
pub struct Persistent(pub Info);

impl Form for Blocking {
    const BLOCKING: bool = true;
    type Output = ();

    #[inline(always)]
    fn mode(self) -> Mode {
        Mode::Blocking
    }

    #[inline(always)]
    fn output(_: Option<Request>) {}
}

impl Form for Nonblocking {
    const BLOCKING: bool = false;
    type Output = Request;

    #[inline(always)]
    fn mode(self) -> Mode {
        Mode::Nonblocking
    }

    #[inline(always)]
    fn output(request: Option<Request>) -> Request {
        request.unwrap_or(MPI_REQUEST_NULL)
    }
}

impl Form for Persistent {
    const BLOCKING: bool = false;
    type Output = Request;

    #[inline(always)]
    fn mode(self) -> Mode {
        Mode::Persistent(self.0)
    }

    #[inline(always)]
    fn output(request: Option<Request>) -> Request {
        request.unwrap_or(MPI_REQUEST_NULL)
    }
}

#[inline(always)]
pub unsafe fn barrier<F: Form>(call: &Call, form: F, comm: Comm) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            checked::plain(call, comm);
        }
        if let Some(output) = board::barrier(call, form, comm)? {
            return Ok(output);
        }
        data::barrier(call, form.mode(), comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn bcast<F: Form>(call: &Call, form: F, buffer: Block, root: i32, comm: Comm) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::bcast(call, form.mode(), &buffer, root, comm);
        }
        if let Some(output) = board::bcast(call, form, buffer, root, comm)? {
            return Ok(output);
        }
        data::bcast(call, form.mode(), buffer, root, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn gather<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Block,
    root: i32,
    comm: Comm,
) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::gather(call, form.mode(), &send, &recv, root, comm);
        }
        if let Some(output) = board::gather(call, form, send, recv, root, comm)? {
            return Ok(output);
        }
        data::gather(call, form.mode(), send, recv, root, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn gatherv<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Blocks,
    root: i32,
    comm: Comm,
) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::gatherv(call, form.mode(), &send, &recv, root, comm);
        }
        if let Some(output) = exchange::gatherv(call, form, send, recv, root, comm)? {
            return Ok(output);
        }
        data::gatherv(call, form.mode(), send, recv, root, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn scatter<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Block,
    root: i32,
    comm: Comm,
) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::scatter(call, form.mode(), &send, &recv, root, comm);
        }
        if let Some(output) = board::scatter(call, form, send, recv, root, comm)? {
            return Ok(output);
        }
        data::scatter(call, form.mode(), send, recv, root, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn scatterv<F: Form>(
    call: &Call,
    form: F,
    send: Blocks,
    recv: Block,
    root: i32,
    comm: Comm,
) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::scatterv(call, form.mode(), &send, &recv, root, comm);
        }
        if let Some(output) = exchange::scatterv(call, form, send, recv, root, comm)? {
            return Ok(output);
        }
        data::scatterv(call, form.mode(), send, recv, root, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn allgather<F: Form>(call: &Call, form: F, send: Block, recv: Block, comm: Comm) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::among_all(call, form.mode(), &send, &recv, comm);
        }
        if let Some(output) = board::allgather(call, form, send, recv, comm)? {
            return Ok(output);
        }
        data::allgather(call, form.mode(), send, recv, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn allgatherv<F: Form>(call: &Call, form: F, send: Block, recv: Blocks, comm: Comm) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::allgatherv(call, form.mode(), &send, &recv, comm);
        }
        if let Some(output) = exchange::allgatherv(call, form, send, recv, comm)? {
            return Ok(output);
        }
        data::allgatherv(call, form.mode(), send, recv, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn alltoall<F: Form>(call: &Call, form: F, send: Block, recv: Block, comm: Comm) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::among_all(call, form.mode(), &send, &recv, comm);
        }
        if let Some(output) = board::alltoall(call, form, send, recv, comm)? {
            return Ok(output);
        }
        data::alltoall(call, form.mode(), send, recv, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn alltoallv<F: Form>(call: &Call, form: F, send: Blocks, recv: Blocks, comm: Comm) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::alltoallv(call, form.mode(), &send, &recv, comm);
        }
        if let Some(output) = exchange::alltoallv(call, form, send, recv, comm)? {
            return Ok(output);
        }
        data::alltoallv(call, form.mode(), send, recv, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn alltoallw<F: Form>(call: &Call, form: F, send: Mixed, recv: Mixed, comm: Comm) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::alltoallw(call, form.mode(), &send, &recv, comm);
        }
        if let Some(output) = exchange::alltoallw(call, form, send, recv, comm)? {
            return Ok(output);
        }
        data::alltoallw(call, form.mode(), send, recv, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn reduce<F: Form>(
    call: &Call,
    form: F,
    operands: Operands,
    count: i64,
    root: i32,
    comm: Comm,
) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::reduction(call, form.mode(), &operands, count, Results::At(root), comm);
        }
        if let Some(output) = board::reduce(call, form, &operands, count, root, comm)? {
            return Ok(output);
        }
        reductions::reduce(call, form.mode(), operands, count, root, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn allreduce<F: Form>(
    call: &Call,
    form: F,
    operands: Operands,
    count: i64,
    comm: Comm,
) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::reduction(call, form.mode(), &operands, count, Results::Everywhere, comm);
        }
        if let Some(output) = board::allreduce(call, form, &operands, count, comm)? {
            return Ok(output);
        }
        reductions::allreduce(call, form.mode(), operands, count, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn reduce_scatter_block<F: Form>(
    call: &Call,
    form: F,
    operands: Operands,
    count: i64,
    comm: Comm,
) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::reduction(call, form.mode(), &operands, count, Results::Block, comm);
        }
        if let Some(output) = board::reduce_scatter_block(call, form, &operands, count, comm)? {
            return Ok(output);
        }
        reductions::reduce_scatter_block(call, form.mode(), operands, count, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn reduce_scatter<F: Form>(
    call: &Call,
    form: F,
    operands: Operands,
    counts: Ints,
    comm: Comm,
) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::reduce_scatter(call, form.mode(), &operands, counts, comm);
        }
        if let Some(output) = board::reduce_scatter(call, form, &operands, counts, comm)? {
            return Ok(output);
        }
        reductions::reduce_scatter(call, form.mode(), operands, counts, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn scan<F: Form>(call: &Call, form: F, operands: Operands, count: i64, comm: Comm) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::reduction(call, form.mode(), &operands, count, Results::Everywhere, comm);
        }
        if let Some(output) = board::scan(call, form, &operands, count, false, comm)? {
            return Ok(output);
        }
        reductions::scan(call, form.mode(), operands, count, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn exscan<F: Form>(call: &Call, form: F, operands: Operands, count: i64, comm: Comm) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let _ = checked::reduction(call, form.mode(), &operands, count, Results::Everywhere, comm);
        }
        if let Some(output) = board::scan(call, form, &operands, count, true, comm)? {
            return Ok(output);
        }
        reductions::exscan(call, form.mode(), operands, count, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn neighbor_allgather<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Block,
    comm: Comm,
) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let sides = (Memory::Block(&send, 1), Memory::Block(&recv, 1));
            let _ = checked::neighbors(call, form.mode(), true, sides, comm);
        }
        if let Some(output) = exchange::neighbor_allgather(call, form, send, recv, comm)? {
            return Ok(output);
        }
        neighbors::neighbor_allgather(call, form.mode(), send, recv, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn neighbor_allgatherv<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Blocks,
    comm: Comm,
) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let sides = (Memory::Block(&send, 1), Memory::Blocks(&recv, 1));
            let _ = checked::neighbors(call, form.mode(), true, sides, comm);
        }
        if let Some(output) = exchange::neighbor_allgatherv(call, form, send, recv, comm)? {
            return Ok(output);
        }
        neighbors::neighbor_allgatherv(call, form.mode(), send, recv, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn neighbor_alltoall<F: Form>(
    call: &Call,
    form: F,
    send: Block,
    recv: Block,
    comm: Comm,
) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let sides = (Memory::Block(&send, 1), Memory::Block(&recv, 1));
            let _ = checked::neighbors(call, form.mode(), false, sides, comm);
        }
        if let Some(output) = exchange::neighbor_alltoall(call, form, send, recv, comm)? {
            return Ok(output);
        }
        neighbors::neighbor_alltoall(call, form.mode(), send, recv, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn neighbor_alltoallv<F: Form>(
    call: &Call,
    form: F,
    send: Blocks,
    recv: Blocks,
    comm: Comm,
) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let sides = (Memory::Blocks(&send, 1), Memory::Blocks(&recv, 1));
            let _ = checked::neighbors(call, form.mode(), false, sides, comm);
        }
        if let Some(output) = exchange::neighbor_alltoallv(call, form, send, recv, comm)? {
            return Ok(output);
        }
        neighbors::neighbor_alltoallv(call, form.mode(), send, recv, comm).map(F::output)
    }
}

#[inline(always)]
pub unsafe fn neighbor_alltoallw<F: Form>(
    call: &Call,
    form: F,
    send: Mixed,
    recv: Mixed,
    comm: Comm,
) -> Result<F::Output> {
    // SAFETY: the caller keeps the contract of this module, which is that of the functions below it.
    unsafe {
        if check::is_watched() {
            let sides = (Memory::Mixed(&send, 1), Memory::Mixed(&recv, 1));
            let _ = checked::neighbors(call, form.mode(), false, sides, comm);
        }
        if let Some(output) = exchange::neighbor_alltoallw(call, form, send, recv, comm)? {
            return Ok(output);
        }
        neighbors::neighbor_alltoallw(call, form.mode(), send, recv, comm).map(F::output)
    }
}
