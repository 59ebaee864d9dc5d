//! Sends and receives, blocking and nonblocking, in every mode; exchanges.

use super::finish;
use crate::args::{OutStatus, SourceArg, TargetArg};
use crate::call::Call;
use oxmpi_abi::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG};
use oxmpi_abi::handle::*;
use oxmpi_abi::{Error, Result, Status};
use oxmpi_core::engine::{Mode, Outcome, Route, Small};
use oxmpi_core::guard::Guard;
use oxmpi_core::matching::Pattern;
use oxmpi_core::request::{Active, Exchange};
use oxmpi_datatype::{OwnedBytes, Source, Target};
use std::ffi::c_int;

/// The arguments of a send, checked. `None`: to `MPI_PROC_NULL`.
#[inline(always)]
pub(super) fn outgoing(
    guard: &Guard,
    buf: SourceArg<'static>,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<(Source<'static>, Option<Route>)> {
    let comm = guard.comm(comm)?;
    let buf = guard.source_of(buf)?;
    Ok((buf, guard.route(comm, dest, tag)?))
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

#[inline(always)]
pub fn send(cx: &Call, buf: SourceArg<'static>, dest: c_int, tag: c_int, comm: Comm) -> Result<()> {
    let mut guard = cx.enter()?;
    if try_send(&mut guard, buf, dest, tag, comm) {
        return Ok(());
    }
    send_mode(cx, guard, Mode::Standard, buf, dest, tag, comm)
}

/// Sends a small contiguous message at once, if nothing is queued before it. Returns `false` for
/// everything unusual or wrong, which the general path handles.
#[inline(always)]
fn try_send(guard: &mut Guard, buf: SourceArg, dest: c_int, tag: c_int, comm: Comm) -> bool {
    let Some(buf) = buf.plain() else { return false };
    let Ok(comm) = guard.comm(comm) else { return false };
    if dest as u32 >= comm.size() as u32 || tag < 0 {
        return false;
    }
    let route = Route { peer: comm.peer(dest), context: comm.context, source: comm.rank, tag };
    guard.engine.send_small(&route, &buf)
}

#[inline(never)]
fn send_mode(
    cx: &Call,
    guard: Guard,
    mode: Mode,
    buf: SourceArg<'static>,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<()> {
    let (buf, route) = outgoing(&guard, buf, dest, tag, comm)?;
    match route {
        Some(route) => send_and_wait(cx, guard, mode, &route, buf),
        None => Ok(()),
    }
}

fn send_and_wait(cx: &Call, mut guard: Guard, mode: Mode, route: &Route, buf: Source<'static>) -> Result<()> {
    match guard.engine.send(mode, route, buf) {
        None => Ok(()),
        Some(op) => match cx.wait_op(&mut guard, op).error {
            None => Ok(()),
            Some(error) => Err(error),
        },
    }
}

pub fn ssend(cx: &Call, buf: SourceArg<'static>, dest: c_int, tag: c_int, comm: Comm) -> Result<()> {
    let guard = cx.enter()?;
    send_mode(cx, guard, Mode::Synchronous, buf, dest, tag, comm)
}

pub fn bsend(cx: &Call, buf: SourceArg<'static>, dest: c_int, tag: c_int, comm: Comm) -> Result<()> {
    let mut guard = cx.enter()?;
    let (buf, route) = outgoing(&guard, buf, dest, tag, comm)?;
    match route {
        Some(route) => guard.send_buffered(comm, &route, &buf),
        None => Ok(()),
    }
}

#[inline(always)]
pub fn isend(cx: &Call, buf: SourceArg<'static>, dest: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    let mut guard = cx.enter()?;
    if try_send(&mut guard, buf, dest, tag, comm) {
        return Ok(guard.sent);
    }
    start_send(guard, Mode::Standard, buf, dest, tag, comm)
}

pub fn issend(cx: &Call, buf: SourceArg<'static>, dest: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    start_send(cx.enter()?, Mode::Synchronous, buf, dest, tag, comm)
}

#[inline(never)]
fn start_send(
    mut guard: Guard,
    mode: Mode,
    buf: SourceArg<'static>,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Request> {
    let (buf, route) = outgoing(&guard, buf, dest, tag, comm)?;
    let op = route.and_then(|route| guard.engine.send(mode, &route, buf));
    Ok(guard.send_request(comm, op))
}

pub fn ibsend(cx: &Call, buf: SourceArg<'static>, dest: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    let mut guard = cx.enter()?;
    let (buf, route) = outgoing(&guard, buf, dest, tag, comm)?;
    if let Some(route) = route {
        guard.send_buffered(comm, &route, &buf)?;
    }
    Ok(guard.send_request(comm, None))
}

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
    let comm = guard.comm(comm).ok()?;
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
    let comm = guard.comm(comm).ok()?;
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

/// The outcome of a receive from `MPI_PROC_NULL`.
pub(super) fn nothing_received() -> Outcome {
    Outcome { status: Status::proc_null(), error: None }
}

/// Starts both halves of an exchange: the receive first, so that a message to oneself matches it.
fn start_exchange(
    guard: &mut Guard,
    (send, route): (Source<'static>, Option<Route>),
    (recv, pattern): (Target<'static>, Option<Pattern>),
    kept: Option<OwnedBytes>,
) -> Active {
    let recv = pattern.map(|pattern| guard.engine.recv(pattern, recv));
    let send = route.and_then(|route| guard.engine.send(Mode::Standard, &route, send));
    Active::Exchange(Box::new(Exchange { send, recv, sent: None, kept }))
}

fn finish_exchange(cx: &Call, mut guard: Guard, active: Active, status: OutStatus) -> Result<()> {
    finish(cx.wait_exchange(&mut guard, active), status)
}

/// A copy of what `MPI_Sendrecv_replace` sends, as a buffer of its own.
fn keep_copy(buf: &Source<'_>) -> (Source<'static>, Option<OwnedBytes>) {
    let bytes = OwnedBytes::packed(buf);
    // SAFETY: the exchange keeps the bytes until its send has ended; the engine does where the request is freed before.
    (unsafe { bytes.lend() }, Some(bytes))
}

/// Says that the send half has the wrong argument; both halves have a count, a datatype and a tag.
#[cold]
fn in_the_send(error: Error) -> Error {
    error.within("the send")
}

#[cold]
fn in_the_receive(error: Error) -> Error {
    error.within("the receive")
}

pub fn sendrecv(
    cx: &Call,
    sendbuf: SourceArg<'static>,
    dest: c_int,
    sendtag: c_int,
    recvbuf: TargetArg<'static>,
    source: c_int,
    recvtag: c_int,
    comm: Comm,
    status: OutStatus,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let out = outgoing(&guard, sendbuf, dest, sendtag, comm).map_err(in_the_send)?;
    let into = incoming(&guard, recvbuf, source, recvtag, comm).map_err(in_the_receive)?;
    let active = start_exchange(&mut guard, out, into, None);
    finish_exchange(cx, guard, active, status)
}

pub fn sendrecv_replace(
    cx: &Call,
    buf: TargetArg<'static>,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: Comm,
    status: OutStatus,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let active = start_replacing(&mut guard, buf, (dest, sendtag), (source, recvtag), comm)?;
    finish_exchange(cx, guard, active, status)
}

pub fn isendrecv(
    cx: &Call,
    sendbuf: SourceArg<'static>,
    dest: c_int,
    sendtag: c_int,
    recvbuf: TargetArg<'static>,
    source: c_int,
    recvtag: c_int,
    comm: Comm,
) -> Result<Request> {
    let mut guard = cx.enter()?;
    let out = outgoing(&guard, sendbuf, dest, sendtag, comm).map_err(in_the_send)?;
    let into = incoming(&guard, recvbuf, source, recvtag, comm).map_err(in_the_receive)?;
    let active = start_exchange(&mut guard, out, into, None);
    Ok(guard.once(comm, active))
}

pub fn isendrecv_replace(
    cx: &Call,
    buf: TargetArg<'static>,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: Comm,
) -> Result<Request> {
    let mut guard = cx.enter()?;
    let active = start_replacing(&mut guard, buf, (dest, sendtag), (source, recvtag), comm)?;
    Ok(guard.once(comm, active))
}

/// An exchange that receives into its send buffer: what it sends is copied first.
fn start_replacing(
    guard: &mut Guard,
    buf: TargetArg<'static>,
    (dest, sendtag): (c_int, c_int),
    (source, recvtag): (c_int, c_int),
    comm: Comm,
) -> Result<Active> {
    let (send, route) = outgoing(guard, buf.as_source(), dest, sendtag, comm)?;
    let into = incoming(guard, buf, source, recvtag, comm)?;
    let (send, kept) = keep_copy(&send);
    Ok(start_exchange(guard, (send, route), into, kept))
}
