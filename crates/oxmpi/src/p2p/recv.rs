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
use oxmpi_core::check::buffers::Use;
use oxmpi_core::check::{self, message::Expected};
use oxmpi_core::engine::Outcome;
use oxmpi_core::matching::Pattern;
use oxmpi_core::record;
use oxmpi_core::request::Active;
use oxmpi_datatype::Target;
use std::ffi::c_int;

/// Looks at a ring before a receive is posted: most messages have arrived by then. One where another
/// thread may need the lock to answer.
#[inline]
fn first_looks(guard: &Guard) -> usize {
    if guard.is_shared() { 1 } else { oxmpi_base::wait::first_looks(guard.shared().job()) }
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
    let Some((buf, pattern)) = plain_pattern(&guard, buf, source, tag, comm, check::is_watched()) else {
        return recv_checked(cx, guard, buf, source, tag, comm, status);
    };
    if let Some(received) = try_recv(&mut guard, &buf, &pattern, comm) {
        status.set(&received);
        return Ok(());
    }
    if guard.engine.may_be_here(&pattern)
        && let Some(received) = recv_here(&mut guard, &buf, &pattern, comm)
    {
        status.set(&received);
        return Ok(());
    }
    finish(recv_and_wait(cx, &mut guard, pattern, buf), status)
}

/// Receives a short message from any source, or one that was stored.
#[inline(never)]
fn recv_here(guard: &mut Guard, buf: &Target<'_>, pattern: &Pattern, comm: Comm) -> Option<Status> {
    let peer = match pattern.source {
        MPI_ANY_SOURCE => None,
        source => Some(guard.comms.get(comm)?.peer(source)),
    };
    guard.engine.recv_here(peer, pattern, buf)
}

/// Receives a message of one packet that is here or comes soon.
#[inline(always)]
fn try_recv(guard: &mut Guard, buf: &Target<'_>, pattern: &Pattern, comm: Comm) -> Option<Status> {
    if pattern.source == MPI_ANY_SOURCE {
        return None;
    }
    let peer = guard.comms.get(comm)?.peer(pattern.source);
    let looks = first_looks(guard);
    guard.engine.recv_small(peer, pattern, buf, looks)
}

#[inline(never)]
fn recv_and_wait(cx: &Call, guard: &mut Guard, pattern: Pattern, buf: Target<'static>) -> Outcome {
    let op = guard.engine.recv(pattern, buf);
    cx.wait_op(guard, op)
}

/// Receives with any arguments, and finds what is wrong with them.
#[inline(never)]
fn recv_checked(
    cx: &Call,
    mut guard: Guard,
    buf: TargetArg<'static>,
    source: c_int,
    tag: c_int,
    comm: Comm,
    status: OutStatus,
) -> Result<()> {
    if record::is_alone()
        && let Some((buf, pattern)) = plain_pattern(&guard, buf, source, tag, comm, false)
        && let Some(received) = try_recv(&mut guard, &buf, &pattern, comm)
    {
        record::received(pattern.context, &received);
        status.set(&received);
        return Ok(());
    }
    let expected = guard.expected_by(cx.fun, comm, &buf);
    let (buf, pattern) = incoming(&guard, buf, source, tag, comm)?;
    propose(cx, &mut guard, &buf, pattern.as_ref(), expected.clone(), false);
    let outcome = match pattern {
        None => nothing_received(),
        Some(pattern) => {
            let op = guard.post_recv(pattern, buf, expected);
            cx.wait_op(&mut guard, op)
        }
    };
    finish(outcome, status)
}

#[inline(always)]
pub fn irecv(cx: &Call, buf: TargetArg<'static>, source: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    let mut guard = cx.enter()?;
    if let Some((buf, pattern)) = plain_pattern(&guard, buf, source, tag, comm, check::is_watched()) {
        let op = guard.engine.recv(pattern, buf);
        return Ok(guard.once(comm, Active::Recv(op)));
    }
    start_recv(cx, guard, buf, source, tag, comm)
}

/// Memory and pattern of a receive into a contiguous buffer, if the arguments are plainly valid.
#[inline(always)]
fn plain_pattern(
    guard: &Guard,
    buf: TargetArg<'static>,
    source: c_int,
    tag: c_int,
    comm: Comm,
    is_watched: bool,
) -> Option<(Target<'static>, Pattern)> {
    let buf = buf.plain()?;
    let comm = guard.comms.get(comm)?;
    let known = (source as u32) < comm.reach || (source == MPI_ANY_SOURCE && comm.reach > 0);
    (known & !is_watched && (tag >= 0 || tag == MPI_ANY_TAG))
        .then_some((buf, Pattern { context: comm.context, source, tag }))
}

#[inline(never)]
fn start_recv(
    cx: &Call,
    mut guard: Guard,
    buf: TargetArg<'static>,
    source: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Request> {
    let expected = guard.expected_by(cx.fun, comm, &buf);
    let (buf, pattern) = incoming(&guard, buf, source, tag, comm)?;
    propose(cx, &mut guard, &buf, pattern.as_ref(), expected.clone(), true);
    let active = match pattern {
        Some(pattern) => {
            let op = guard.post_recv(pattern, buf, expected);
            Active::Recv(op)
        }
        None => Active::Done(nothing_received()),
    };
    Ok(guard.once(comm, active))
}

/// A call is about to write a buffer; `stays`: until its request is complete.
#[inline]
pub(super) fn propose(
    cx: &Call,
    guard: &mut Guard,
    buf: &Target<'static>,
    pattern: Option<&Pattern>,
    expected: Option<Expected>,
    stays: bool,
) {
    if check::is_on() {
        propose_checked(cx, guard, buf, pattern, expected, stays);
    }
}

#[cold]
#[inline(never)]
fn propose_checked(
    cx: &Call,
    guard: &mut Guard,
    buf: &Target<'static>,
    pattern: Option<&Pattern>,
    expected: Option<Expected>,
    stays: bool,
) {
    let uses = pattern.map(|_| Use::receives(cx.fun, (**buf).clone(), expected));
    guard.propose_buffers(uses.into_iter().collect(), stays);
    // A message in ready mode that is here has come too early.
    guard.engine.progress();
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
