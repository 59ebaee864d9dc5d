//! Probing for messages, and receiving a probed message.

use super::finish;
use super::recv::nothing_received;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Result, Status};
use oxmpi_core::args::{Out, OutStatus, TargetArg};
use oxmpi_core::call::{Call, Guard, On};
use oxmpi_core::checks::bad_handle;
use oxmpi_core::engine::OpId;
use oxmpi_core::matching::Pattern;
use oxmpi_core::request::Active;
use oxmpi_core::wait::waiting::Message as Awaited;
use std::cell::Cell;
use std::ffi::c_int;

fn wanted(guard: &Guard, source: c_int, tag: c_int, comm: Comm) -> Result<Option<Pattern>> {
    guard.pattern(guard.comm(comm)?, source, tag)
}

pub fn probe(cx: &Call, source: c_int, tag: c_int, comm: Comm, status: OutStatus) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = match wanted(&guard, source, tag, comm)? {
        None => Status::proc_null(),
        Some(pattern) => cx.wait(&mut guard, &Awaited(pattern), |process| process.engine.probe(&pattern))?,
    };
    status.set(&found);
    Ok(())
}

pub fn iprobe(cx: &Call, source: c_int, tag: c_int, comm: Comm, status: OutStatus) -> Result<bool> {
    let mut guard = cx.enter()?;
    let pattern = wanted(&guard, source, tag, comm)?;
    let found = match pattern {
        None => Some(Status::proc_null()),
        Some(pattern) => {
            cx.progress(&mut guard);
            guard.engine.probe(&pattern)
        }
    };
    match &found {
        Some(found) => status.set(found),
        None => guard.probed_in_vain(pattern)?,
    }
    Ok(found.is_some())
}

/// Takes a message out of matching; `None` while there is none.
fn take(process: &mut oxmpi_core::process::Process, pattern: &Pattern, comm: Comm) -> Option<(Message, Status)> {
    let (envelope, message) = process.engine.take_message(pattern)?;
    let status = Status::new(envelope.source, envelope.tag, message.bytes());
    Some((Message(process.messages.insert((envelope, message, comm))), status))
}

pub fn mprobe(cx: &Call, source: c_int, tag: c_int, comm: Comm, status: OutStatus) -> Result<Message> {
    let mut guard = cx.enter()?;
    let (message, seen) = match wanted(&guard, source, tag, comm)? {
        None => (MPI_MESSAGE_NO_PROC, Status::proc_null()),
        Some(pattern) => cx.wait(&mut guard, &Awaited(pattern), |process| take(process, &pattern, comm))?,
    };
    status.set(&seen);
    Ok(message)
}

pub fn improbe(
    cx: &Call,
    source: c_int,
    tag: c_int,
    comm: Comm,
    message: Out<Message>,
    status: OutStatus,
) -> Result<bool> {
    let mut guard = cx.enter()?;
    let pattern = wanted(&guard, source, tag, comm)?;
    message.check("message")?;
    let found = match pattern {
        None => Some((MPI_MESSAGE_NO_PROC, Status::proc_null())),
        Some(pattern) => {
            cx.progress(&mut guard);
            take(&mut guard, &pattern, comm)
        }
    };
    match &found {
        Some((found, seen)) => {
            message.set(*found);
            status.set(seen);
        }
        None => guard.probed_in_vain(pattern)?,
    }
    Ok(found.is_some())
}

/// Starts the receive of a matched message. `None`: it came from `MPI_PROC_NULL`.
fn start(
    cx: &Call,
    guard: &mut Guard,
    buf: TargetArg<'static>,
    message: &Cell<Message>,
) -> Result<(Option<OpId>, Comm)> {
    let handle = message.get();
    if handle == MPI_MESSAGE_NO_PROC {
        guard.target_of(buf)?;
        message.set(MPI_MESSAGE_NULL);
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
    let expected = guard.expected_by(cx.fun, comm, &buf);
    let buf = guard.target_of(buf)?;
    let taken = guard.messages.remove(handle.0);
    let op = taken.map(|(envelope, found, _)| guard.engine.recv_message_as(&envelope, found, buf, expected));
    message.set(MPI_MESSAGE_NULL);
    Ok((op, comm))
}

pub fn mrecv(cx: &Call, buf: TargetArg<'static>, message: &Cell<Message>, status: OutStatus) -> Result<()> {
    let mut guard = cx.enter()?;
    let outcome = match start(cx, &mut guard, buf, message)?.0 {
        Some(op) => cx.wait_op(&mut guard, op),
        None => nothing_received(),
    };
    finish(outcome, status)
}

pub fn imrecv(cx: &Call, buf: TargetArg<'static>, message: &Cell<Message>) -> Result<Request> {
    let mut guard = cx.enter()?;
    let (op, comm) = start(cx, &mut guard, buf, message)?;
    let active = op.map_or_else(|| Active::Done(nothing_received()), Active::Recv);
    Ok(guard.once(comm, active))
}
