//! Collective operations, each written once for its blocking, nonblocking and persistent form: the generator makes an entry
//! point of every form call the function here. A blocking call first tries the communicator's board; whatever that does
//! not take goes by a plan. Neighbourhood operations are in `neighbor.rs`.

use crate::call::Call;
use crate::collective::{self, Block, Form, Operands};
use crate::quick;
use oxmpi_abi::Result;
use oxmpi_abi::handle::Comm;
use std::ffi::c_int;

// Those that the board does not take.
pub use crate::collective::{allgatherv, alltoallv, alltoallw, gatherv, reduce_scatter, scatterv};

#[inline(always)]
pub unsafe fn barrier(cx: &Call, form: Form, comm: Comm) -> Result<()> {
    if form.is_blocking() && quick::barrier(cx, comm)? {
        return Ok(());
    }
    // SAFETY: the caller of MPI promises that the place for a request may be written.
    unsafe { collective::barrier(cx, form, comm) }
}

#[inline(always)]
pub unsafe fn bcast(cx: &Call, form: Form, buffer: Block, root: c_int, comm: Comm) -> Result<()> {
    // SAFETY: the caller of MPI promises that the memory is as its arguments say, for as long as the form needs it.
    unsafe {
        if form.is_blocking() && quick::bcast(cx, buffer, root, comm)? {
            return Ok(());
        }
        collective::bcast(cx, form, buffer, root, comm)
    }
}

#[inline(always)]
pub unsafe fn gather(cx: &Call, form: Form, send: Block, recv: Block, root: c_int, comm: Comm) -> Result<()> {
    // SAFETY: the caller of MPI promises that the memory is as its arguments say, for as long as the form needs it.
    unsafe {
        if form.is_blocking() && quick::gather(cx, send, recv, root, comm)? {
            return Ok(());
        }
        collective::gather(cx, form, send, recv, root, comm)
    }
}

#[inline(always)]
pub unsafe fn scatter(cx: &Call, form: Form, send: Block, recv: Block, root: c_int, comm: Comm) -> Result<()> {
    // SAFETY: the caller of MPI promises that the memory is as its arguments say, for as long as the form needs it.
    unsafe {
        if form.is_blocking() && quick::scatter(cx, send, recv, root, comm)? {
            return Ok(());
        }
        collective::scatter(cx, form, send, recv, root, comm)
    }
}

#[inline(always)]
pub unsafe fn allgather(cx: &Call, form: Form, send: Block, recv: Block, comm: Comm) -> Result<()> {
    // SAFETY: the caller of MPI promises that the memory is as its arguments say, for as long as the form needs it.
    unsafe {
        if form.is_blocking() && quick::allgather(cx, send, recv, comm)? {
            return Ok(());
        }
        collective::allgather(cx, form, send, recv, comm)
    }
}

#[inline(always)]
pub unsafe fn alltoall(cx: &Call, form: Form, send: Block, recv: Block, comm: Comm) -> Result<()> {
    // SAFETY: the caller of MPI promises that the memory is as its arguments say, for as long as the form needs it.
    unsafe {
        if form.is_blocking() && quick::alltoall(cx, send, recv, comm)? {
            return Ok(());
        }
        collective::alltoall(cx, form, send, recv, comm)
    }
}

#[inline(always)]
pub unsafe fn reduce(cx: &Call, form: Form, operands: Operands, count: i64, root: c_int, comm: Comm) -> Result<()> {
    // SAFETY: the caller of MPI promises that the memory is as its arguments say, for as long as the form needs it.
    unsafe {
        if form.is_blocking() && quick::reduce(cx, &operands, count, root, comm)? {
            return Ok(());
        }
        collective::reduce(cx, form, operands, count, root, comm)
    }
}

#[inline(always)]
pub unsafe fn allreduce(cx: &Call, form: Form, operands: Operands, count: i64, comm: Comm) -> Result<()> {
    // SAFETY: the caller of MPI promises that the memory is as its arguments say, for as long as the form needs it.
    unsafe {
        if form.is_blocking() && quick::allreduce(cx, &operands, count, comm)? {
            return Ok(());
        }
        collective::allreduce(cx, form, operands, count, comm)
    }
}

#[inline(always)]
pub unsafe fn reduce_scatter_block(cx: &Call, form: Form, operands: Operands, count: i64, comm: Comm) -> Result<()> {
    // SAFETY: the caller of MPI promises that the memory is as its arguments say, for as long as the form needs it.
    unsafe {
        if form.is_blocking() && quick::reduce_scatter_block(cx, &operands, count, comm)? {
            return Ok(());
        }
        collective::reduce_scatter_block(cx, form, operands, count, comm)
    }
}

#[inline(always)]
pub unsafe fn scan(cx: &Call, form: Form, operands: Operands, count: i64, comm: Comm) -> Result<()> {
    // SAFETY: the caller of MPI promises that the memory is as its arguments say, for as long as the form needs it.
    unsafe {
        if form.is_blocking() && quick::scan(cx, &operands, count, false, comm)? {
            return Ok(());
        }
        collective::scan(cx, form, operands, count, comm)
    }
}

#[inline(always)]
pub unsafe fn exscan(cx: &Call, form: Form, operands: Operands, count: i64, comm: Comm) -> Result<()> {
    // SAFETY: the caller of MPI promises that the memory is as its arguments say, for as long as the form needs it.
    unsafe {
        if form.is_blocking() && quick::scan(cx, &operands, count, true, comm)? {
            return Ok(());
        }
        collective::exscan(cx, form, operands, count, comm)
    }
}
