//! Receives, blocking and nonblocking.
//!
//! A message of one packet that is here already, or comes within a few looks, takes the short way ([`try_recv`]).
//! Everything else takes the general way, which checks in full. The engine (`oxmpi-core/src/engine/recv.rs`) comes next.

use super::finish;
use oxmpi_abi::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG};
use oxmpi_abi::handle::*;
use oxmpi_abi::{Result, Status};
use oxmpi_core::args::{OutStatus, TargetArg};
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::engine::{Outcome, Small};
use oxmpi_core::matching::Pattern;
use oxmpi_core::request::Active;
use oxmpi_datatype::Target;
use std::ffi::c_int;

/// Polls of a ring before a receive is posted: most messages have arrived by then. Few where
/// another rank may need this CPU, or another thread the lock, to answer.
#[inline]
fn first_polls(guard: &Guard) -> usize {
    if guard.is_shared() {
        1
    } else if oxmpi_base::wait::is_oversubscribed(guard.shared().job()) {
        4
    } else {
        200
    }
}

#[inline(always)]
pub fn recv(
    cx: &Call,
    buf: TargetArg<'static>,
    source: c_int,
    tag: c_int,
    comm: Comm,
    status: OutStatus,
) -> Result<()> {
    let mut guard = cx.enter()?;
    if let Some(received) = try_recv(&mut guard, buf, source, tag, comm) {
        status.set(&received);
        return Ok(());
    }
    recv_and_wait(cx, guard, buf, source, tag, comm, status)
}

/// Receives a message of one packet that is here or comes soon. Returns `None` for everything
/// unusual or wrong, which the general path handles.
#[inline(always)]
fn try_recv(guard: &mut Guard, buf: TargetArg, source: c_int, tag: c_int, comm: Comm) -> Option<Status> {
    let buf = buf.plain()?;
    let comm = guard.comms.get(comm)?;
    if source as u32 >= comm.size() as u32 || tag < 0 {
        return None;
    }
    let peer = comm.peer(source);
    let pattern = Pattern { context: comm.context, source, tag };
    for _ in 0..first_polls(guard) {
        match guard.engine.recv_small(peer, &pattern, &buf) {
            Small::Received(received) => return Some(received),
            Small::Nothing => std::hint::spin_loop(),
            Small::Other => break,
        }
    }
    None
}

#[inline(never)]
fn recv_and_wait(
    cx: &Call,
    mut guard: Guard,
    buf: TargetArg<'static>,
    source: c_int,
    tag: c_int,
    comm: Comm,
    status: OutStatus,
) -> Result<()> {
    let (buf, pattern) = incoming(&guard, buf, source, tag, comm)?;
    let outcome = match pattern {
        None => nothing_received(),
        Some(pattern) => {
            let op = guard.engine.recv(pattern, buf);
            cx.wait_op(&mut guard, op)
        }
    };
    finish(outcome, status)
}

#[inline(always)]
pub fn irecv(cx: &Call, buf: TargetArg<'static>, source: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    let mut guard = cx.enter()?;
    if let Some((buf, pattern)) = plain_pattern(&guard, buf, source, tag, comm) {
        let op = guard.engine.recv(pattern, buf);
        return Ok(guard.once(comm, Active::Recv(op)));
    }
    start_recv(guard, buf, source, tag, comm)
}

/// Memory and pattern of a receive into a contiguous buffer, if the arguments are plainly valid.
#[inline(always)]
fn plain_pattern(
    guard: &Guard,
    buf: TargetArg<'static>,
    source: c_int,
    tag: c_int,
    comm: Comm,
) -> Option<(Target<'static>, Pattern)> {
    let buf = buf.plain()?;
    let comm = guard.comms.get(comm)?;
    let known = (source as u32) < comm.size() as u32 || source == MPI_ANY_SOURCE;
    (known && (tag >= 0 || tag == MPI_ANY_TAG)).then_some((buf, Pattern { context: comm.context, source, tag }))
}

#[inline(never)]
fn start_recv(mut guard: Guard, buf: TargetArg<'static>, source: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    let (buf, pattern) = incoming(&guard, buf, source, tag, comm)?;
    let active = match pattern {
        Some(pattern) => Active::Recv(guard.engine.recv(pattern, buf)),
        None => Active::Done(nothing_received()),
    };
    Ok(guard.once(comm, active))
}

/// The arguments of a receive, checked. `None`: from `MPI_PROC_NULL`.
#[inline(always)]
pub(super) fn incoming(
    guard: &Guard,
    buf: TargetArg<'static>,
    source: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<(Target<'static>, Option<Pattern>)> {
    let comm = guard.comm(comm)?;
    let buf = guard.target_of(buf)?;
    Ok((buf, guard.pattern(comm, source, tag)?))
}

/// The outcome of a receive from `MPI_PROC_NULL`.
pub(super) fn nothing_received() -> Outcome {
    Outcome { status: Status::proc_null(), error: None }
}
