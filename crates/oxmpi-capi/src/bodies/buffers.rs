//! Buffers for buffered sends: the process's, a communicator's, a session's.

use super::{check_place, store};
use crate::args::OutInt;
use crate::call::Call;
use crate::library::LIBRARY;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_core::buffer::BufferPool;
use oxmpi_core::request::{Active, PoolId};
use oxmpi_core::wait::waiting::Unending;
use std::ffi::c_void;

/// A session's handle is checked here, where sessions are known.
fn check(id: PoolId) -> Result<()> {
    if let PoolId::Session(session) = id { LIBRARY.session(session, |_| ()) } else { Ok(()) }
}

fn attach(cx: &Call, id: PoolId, buffer: *mut c_void, size: i64) -> Result<()> {
    let mut guard = cx.enter()?;
    check(id)?;
    let (slot, _) = guard.pool_slot(id)?;
    if slot.is_some() {
        bail!(MPI_ERR_BUFFER, "a buffer is attached already; detach it first");
    }
    let automatic = buffer as usize == MPI_BUFFER_AUTOMATIC;
    if !automatic && size < 0 {
        bail!(MPI_ERR_ARG, "the size is {size}, which is negative");
    }
    if !automatic && buffer.is_null() && size > 0 {
        bail!(MPI_ERR_BUFFER, "the buffer is a null pointer, but its size is {size}");
    }
    *slot = Some(BufferPool::new(buffer as usize, (!automatic).then_some(size as u64)));
    Ok(())
}

/// Waits until every buffered message has left, then gives the buffer back.
///
/// # Safety
/// `address` is null or points to a pointer.
unsafe fn detach(cx: &Call, id: PoolId, address: *mut c_void, size: OutInt) -> Result<()> {
    check_place(address, "buffer_addr")?;
    if size.is_null() {
        return Err(super::null_pointer("size"));
    }
    flush(cx, id)?;
    let mut guard = cx.enter()?;
    let (slot, _) = guard.pool_slot(id)?;
    if let Some(pool) = slot.take() {
        // SAFETY: checked not to be null.
        unsafe {
            store(address.cast::<usize>(), pool.address, "buffer_addr")?;
            if !size.set(pool.size.unwrap_or(0) as i64) {
                bail!(MPI_ERR_VALUE_TOO_LARGE, "the size of the buffer does not fit an int; use the _c function");
            }
        }
    }
    Ok(())
}

/// Waits until every buffered message so far has left: as detaching and attaching again would, so a buffer must be there.
fn flush(cx: &Call, id: PoolId) -> Result<()> {
    let mut guard = cx.enter()?;
    check(id)?;
    let mark = match guard.pool_slot(id)?.0 {
        Some(pool) => pool.mark(),
        None => return Err(nothing_attached()),
    };
    cx.wait(&mut guard, &Unending, |process| match process.pool_slot(id) {
        Ok((Some(pool), engine)) => pool.is_flushed(engine, mark).then_some(()),
        _ => Some(()),
    })
}

#[cold]
fn nothing_attached() -> Error {
    Error::new(MPI_ERR_BUFFER, "no buffer is attached")
}

/// # Safety
/// `request` is null or may be written.
unsafe fn iflush(cx: &Call, id: PoolId, request: *mut Request) -> Result<()> {
    let mut guard = cx.enter()?;
    check(id)?;
    check_place(request, "request")?;
    let mark = guard.pool_slot(id)?.0.as_ref().ok_or_else(nothing_attached)?.mark();
    let comm = if let PoolId::Comm(comm) = id { comm } else { MPI_COMM_SELF };
    let handle = guard.once(comm, Active::Flush(id, mark));
    // SAFETY: checked.
    unsafe { store(request, handle, "request") }
}

pub unsafe fn buffer_attach(cx: &Call, buffer: *mut c_void, size: i64) -> Result<()> {
    attach(cx, PoolId::Process, buffer, size)
}

pub unsafe fn buffer_detach(cx: &Call, buffer_addr: *mut c_void, size: OutInt) -> Result<()> {
    // SAFETY: passed on.
    unsafe { detach(cx, PoolId::Process, buffer_addr, size) }
}

pub unsafe fn buffer_flush(cx: &Call) -> Result<()> {
    flush(cx, PoolId::Process)
}

pub unsafe fn buffer_iflush(cx: &Call, request: *mut Request) -> Result<()> {
    // SAFETY: passed on.
    unsafe { iflush(cx, PoolId::Process, request) }
}

pub unsafe fn comm_attach_buffer(cx: &Call, comm: Comm, buffer: *mut c_void, size: i64) -> Result<()> {
    attach(cx, PoolId::Comm(comm), buffer, size)
}

pub unsafe fn comm_detach_buffer(cx: &Call, comm: Comm, buffer_addr: *mut c_void, size: OutInt) -> Result<()> {
    // SAFETY: passed on.
    unsafe { detach(cx, PoolId::Comm(comm), buffer_addr, size) }
}

pub unsafe fn comm_flush_buffer(cx: &Call, comm: Comm) -> Result<()> {
    flush(cx, PoolId::Comm(comm))
}

pub unsafe fn comm_iflush_buffer(cx: &Call, comm: Comm, request: *mut Request) -> Result<()> {
    // SAFETY: passed on.
    unsafe { iflush(cx, PoolId::Comm(comm), request) }
}

pub unsafe fn session_attach_buffer(cx: &Call, session: Session, buffer: *mut c_void, size: i64) -> Result<()> {
    attach(cx, PoolId::Session(session), buffer, size)
}

pub unsafe fn session_detach_buffer(cx: &Call, session: Session, buffer_addr: *mut c_void, size: OutInt) -> Result<()> {
    // SAFETY: passed on.
    unsafe { detach(cx, PoolId::Session(session), buffer_addr, size) }
}

pub unsafe fn session_flush_buffer(cx: &Call, session: Session) -> Result<()> {
    flush(cx, PoolId::Session(session))
}

pub unsafe fn session_iflush_buffer(cx: &Call, session: Session, request: *mut Request) -> Result<()> {
    // SAFETY: passed on.
    unsafe { iflush(cx, PoolId::Session(session), request) }
}
