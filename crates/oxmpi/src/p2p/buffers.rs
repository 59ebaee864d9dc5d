//! Buffers for buffered sends: the process's, a communicator's, a session's.

use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_core::args::OutInt;
use oxmpi_core::buffer::BufferPool;
use oxmpi_core::call::Call;
use oxmpi_core::request::{Active, PoolId};
use oxmpi_core::wait::waiting::Receivers;

/// Checks a session's handle.
fn check(cx: &Call, id: PoolId) -> Result<()> {
    if let PoolId::Session(session) = id { cx.library().session(session, |_| ()) } else { Ok(()) }
}

fn attach(cx: &Call, id: PoolId, buffer: usize, size: i64) -> Result<()> {
    let mut guard = cx.enter()?;
    check(cx, id)?;
    let (slot, _) = guard.pool_slot(id)?;
    if slot.is_some() {
        bail!(MPI_ERR_BUFFER, "a buffer is attached already; detach it first");
    }
    let automatic = buffer == MPI_BUFFER_AUTOMATIC;
    if !automatic && size < 0 {
        bail!(MPI_ERR_ARG, "the size is {size}, which is negative");
    }
    if !automatic && buffer == 0 && size > 0 {
        bail!(MPI_ERR_BUFFER, "the buffer is a null pointer, but its size is {size}");
    }
    *slot = Some(BufferPool::new(buffer, (!automatic).then_some(size as u64)));
    Ok(())
}

/// Waits until every buffered message has been sent, then detaches the buffer: returns its address,
/// and stores its size.
fn detach(cx: &Call, id: PoolId, size: OutInt) -> Result<usize> {
    size.check("size")?;
    flush(cx, id)?;
    let mut guard = cx.enter()?;
    let (slot, _) = guard.pool_slot(id)?;
    let Some(pool) = slot else { return Err(nothing_attached()) };
    if !size.set(pool.size.unwrap_or(0) as i64, "size")? {
        bail!(MPI_ERR_VALUE_TOO_LARGE, "the size of the buffer does not fit an int; use the _c function");
    }
    let address = pool.address;
    *slot = None;
    Ok(address)
}

/// Waits until every buffered message so far has been sent, like detaching and attaching again, so
/// a buffer must be attached.
fn flush(cx: &Call, id: PoolId) -> Result<()> {
    let mut guard = cx.enter()?;
    check(cx, id)?;
    let mark = match guard.pool_slot(id)?.0 {
        Some(pool) => pool.mark(),
        None => return Err(nothing_attached()),
    };
    cx.wait(&mut guard, &Receivers, |process| match process.pool_slot(id) {
        Ok((Some(pool), engine)) => pool.is_flushed(engine, mark).then_some(()),
        _ => Some(()),
    })
}

#[cold]
fn nothing_attached() -> Error {
    Error::new(MPI_ERR_BUFFER, "no buffer is attached")
}

fn iflush(cx: &Call, id: PoolId) -> Result<Request> {
    let mut guard = cx.enter()?;
    check(cx, id)?;
    let mark = guard.pool_slot(id)?.0.as_ref().ok_or_else(nothing_attached)?.mark();
    let comm = if let PoolId::Comm(comm) = id { comm } else { MPI_COMM_SELF };
    Ok(guard.once(comm, Active::Flush(id, mark)))
}

pub fn buffer_attach(cx: &Call, buffer: usize, size: i64) -> Result<()> {
    attach(cx, PoolId::Process, buffer, size)
}

pub fn buffer_detach(cx: &Call, size: OutInt) -> Result<usize> {
    detach(cx, PoolId::Process, size)
}

pub fn buffer_flush(cx: &Call) -> Result<()> {
    flush(cx, PoolId::Process)
}

pub fn buffer_iflush(cx: &Call) -> Result<Request> {
    iflush(cx, PoolId::Process)
}

pub fn comm_attach_buffer(cx: &Call, comm: Comm, buffer: usize, size: i64) -> Result<()> {
    attach(cx, PoolId::Comm(comm), buffer, size)
}

pub fn comm_detach_buffer(cx: &Call, comm: Comm, size: OutInt) -> Result<usize> {
    detach(cx, PoolId::Comm(comm), size)
}

pub fn comm_flush_buffer(cx: &Call, comm: Comm) -> Result<()> {
    flush(cx, PoolId::Comm(comm))
}

pub fn comm_iflush_buffer(cx: &Call, comm: Comm) -> Result<Request> {
    iflush(cx, PoolId::Comm(comm))
}

pub fn session_attach_buffer(cx: &Call, session: Session, buffer: usize, size: i64) -> Result<()> {
    attach(cx, PoolId::Session(session), buffer, size)
}

pub fn session_detach_buffer(cx: &Call, session: Session, size: OutInt) -> Result<usize> {
    detach(cx, PoolId::Session(session), size)
}

pub fn session_flush_buffer(cx: &Call, session: Session) -> Result<()> {
    flush(cx, PoolId::Session(session))
}

pub fn session_iflush_buffer(cx: &Call, session: Session) -> Result<Request> {
    iflush(cx, PoolId::Session(session))
}
