//! Looking at messages before they are received, and receiving just the one that was looked at.

use super::pt2pt::nothing_received;
use super::{check_place, finish, store, store_status};
use crate::call::{Call, On};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Result, Status};
use oxmpi_core::checks::bad_handle;
use oxmpi_core::engine::OpId;
use oxmpi_core::guard::Guard;
use oxmpi_core::matching::Pattern;
use oxmpi_core::request::Active;
use oxmpi_core::wait::waiting::Message as Awaited;
use oxmpi_datatype::Target;
use std::ffi::{c_int, c_void};

fn wanted(guard: &Guard, source: c_int, tag: c_int, comm: Comm) -> Result<Option<Pattern>> {
    guard.pattern(guard.comm(comm)?, source, tag)
}

pub unsafe fn probe(cx: &Call, source: c_int, tag: c_int, comm: Comm, status: *mut Status) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = match wanted(&guard, source, tag, comm)? {
        None => Status::proc_null(),
        Some(pattern) => cx.wait(&mut guard, &Awaited(pattern), |process| process.engine.probe(&pattern))?,
    };
    // SAFETY: null or a status.
    unsafe { store_status(status, &found) };
    Ok(())
}

pub unsafe fn iprobe(
    cx: &Call,
    source: c_int,
    tag: c_int,
    comm: Comm,
    flag: *mut c_int,
    status: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let pattern = wanted(&guard, source, tag, comm)?;
    check_place(flag, "flag")?;
    let found = match pattern {
        None => Some(Status::proc_null()),
        Some(pattern) => {
            cx.progress(&mut guard);
            guard.engine.probe(&pattern)
        }
    };
    // SAFETY: checked; null or a status.
    unsafe {
        flag.write(c_int::from(found.is_some()));
        match found {
            Some(found) => store_status(status, &found),
            None => guard.probed_in_vain(pattern)?,
        }
    }
    Ok(())
}

/// Takes a message out of matching; `None` while there is none.
fn take(process: &mut oxmpi_core::process::Process, pattern: &Pattern, comm: Comm) -> Option<(Message, Status)> {
    let (envelope, message) = process.engine.take_message(pattern)?;
    let status = Status::new(envelope.source, envelope.tag, message.bytes());
    Some((Message(process.messages.insert((envelope, message, comm))), status))
}

pub unsafe fn mprobe(
    cx: &Call,
    source: c_int,
    tag: c_int,
    comm: Comm,
    message: *mut Message,
    status: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let pattern = wanted(&guard, source, tag, comm)?;
    check_place(message, "message")?;
    let (found, seen) = match pattern {
        None => (MPI_MESSAGE_NO_PROC, Status::proc_null()),
        Some(pattern) => cx.wait(&mut guard, &Awaited(pattern), |process| take(process, &pattern, comm))?,
    };
    // SAFETY: checked; null or a status.
    unsafe {
        message.write(found);
        store_status(status, &seen);
    }
    Ok(())
}

pub unsafe fn improbe(
    cx: &Call,
    source: c_int,
    tag: c_int,
    comm: Comm,
    flag: *mut c_int,
    message: *mut Message,
    status: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let pattern = wanted(&guard, source, tag, comm)?;
    check_place(flag, "flag")?;
    check_place(message, "message")?;
    let found = match pattern {
        None => Some((MPI_MESSAGE_NO_PROC, Status::proc_null())),
        Some(pattern) => {
            cx.progress(&mut guard);
            take(&mut guard, &pattern, comm)
        }
    };
    // SAFETY: checked; null or a status.
    unsafe {
        flag.write(c_int::from(found.is_some()));
        match found {
            Some((found, seen)) => {
                message.write(found);
                store_status(status, &seen);
            }
            None => guard.probed_in_vain(pattern)?,
        }
    }
    Ok(())
}

/// Starts the receive of a matched message. `None`: it came from `MPI_PROC_NULL`.
///
/// # Safety
/// `message` is null or points to a message handle.
unsafe fn start(
    cx: &Call,
    guard: &mut Guard,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    message: *mut Message,
) -> Result<(Option<OpId>, Comm)> {
    check_place(message, "message")?;
    // SAFETY: checked.
    let handle = unsafe { message.read() };
    if handle == MPI_MESSAGE_NO_PROC {
        guard.target(buf.cast(), count, datatype)?;
        // SAFETY: checked.
        unsafe { message.write(MPI_MESSAGE_NULL) };
        return Ok((None, MPI_COMM_SELF));
    }
    let comm = match guard.messages.get(handle.0) {
        Some((_, _, comm)) => *comm,
        None => {
            let (null, name) = (MPI_MESSAGE_NULL.0, "MPI_MESSAGE_NULL");
            return Err(bad_handle(&guard.messages, MPI_ERR_REQUEST, handle.0, "message", null, name));
        }
    };
    cx.raise_on(On::Comm(comm));
    let buf = guard.target(buf.cast(), count, datatype)?;
    // SAFETY: the program keeps the buffer of an MPI call as its arguments say until the operation is complete.
    let buf = unsafe { Target::new(buf) };
    let op =
        guard.messages.remove(handle.0).map(|(envelope, found, _)| guard.engine.recv_message(&envelope, found, buf));
    // SAFETY: checked.
    unsafe { message.write(MPI_MESSAGE_NULL) };
    Ok((op, comm))
}

pub unsafe fn mrecv(
    cx: &Call,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    message: *mut Message,
    status: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: null or a message handle; null or a status.
    unsafe {
        let outcome = match start(cx, &mut guard, buf, count, datatype, message)?.0 {
            Some(op) => cx.wait_op(&mut guard, op),
            None => nothing_received(),
        };
        finish(outcome, status)
    }
}

pub unsafe fn imrecv(
    cx: &Call,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    message: *mut Message,
    request: *mut Request,
) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(request, "request")?;
    // SAFETY: null or a message handle; checked.
    unsafe {
        let (op, comm) = start(cx, &mut guard, buf, count, datatype, message)?;
        let active = op.map_or_else(|| Active::Done(nothing_received()), Active::Recv);
        let handle = guard.once(comm, active);
        store(request, handle, "request")
    }
}
