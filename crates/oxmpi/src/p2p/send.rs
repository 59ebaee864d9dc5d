//! Sends, blocking and nonblocking, in every mode.
//!
//! A small contiguous message takes the short way ([`try_send`]): one look at each thing on its path, no operation in
//! the engine's table. Everything else, wrong arguments too, takes the general way, which checks in full. The engine
//! (`oxmpi-core/src/engine/send.rs`) comes next.

use oxmpi_abi::Result;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::*;
use oxmpi_core::args::SourceArg;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check::{self, buffers::Use};
use oxmpi_core::engine::{Mode, Route};
use oxmpi_core::record;
use oxmpi_datatype::{Signature, Source};
use oxmpi_profile::hooks::Message;
use std::ffi::c_int;

#[inline(always)]
pub fn send(cx: &Call, buf: SourceArg<'static>, dest: c_int, tag: c_int, comm: Comm) -> Result<()> {
    let mut guard = cx.enter()?;
    if try_send(&mut guard, buf, dest, tag, comm, check::is_watched()) {
        return Ok(());
    }
    send_mode(cx, guard, Mode::Standard, buf, dest, tag, comm)
}

/// Sends a small contiguous message at once, if nothing is queued before it. Returns `false` for
/// everything unusual or wrong, which the general path handles.
#[inline(always)]
fn try_send(guard: &mut Guard, buf: SourceArg, dest: c_int, tag: c_int, comm: Comm, is_watched: bool) -> bool {
    let Some(buf) = buf.plain() else { return false };
    let Some(comm) = guard.comms.get(comm) else { return false };
    if (dest as u32 >= comm.reach) | (tag < 0) | is_watched {
        return false;
    }
    let route =
        Route { peer: comm.peer(dest), context: comm.context, source: comm.rank, tag, signature: Signature::NONE };
    guard.engine.send_small(&route, &buf)
}

/// The short way while a recorder hears of it.
#[cold]
fn try_send_recorded(guard: &mut Guard, buf: SourceArg, dest: c_int, tag: c_int, comm: Comm) -> bool {
    if !try_send(guard, buf, dest, tag, comm, false) {
        return false;
    }
    if let (Some(found), Some(buf)) = (guard.comms.get(comm), buf.plain()) {
        let message = Message { bytes: buf.len() as u64, context: found.context, source: found.rank, tag };
        record::sent(guard.engine.node(), found.peer(dest), message);
    }
    true
}

#[inline(never)]
fn send_mode(
    cx: &Call,
    mut guard: Guard,
    mode: Mode,
    buf: SourceArg<'static>,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<()> {
    if record::is_alone() && mode == Mode::Standard && try_send_recorded(&mut guard, buf, dest, tag, comm) {
        return Ok(());
    }
    let (buf, route) = outgoing(&guard, buf, dest, tag, comm)?;
    let route = promised(cx, route);
    propose(cx, &mut guard, &buf, route.as_ref(), false);
    let mode = if check::is_strict() { strict_mode(&guard, mode, route.as_ref()) } else { mode };
    match route {
        Some(route) => send_and_wait(cx, guard, mode, &route, buf),
        None => Ok(()),
    }
}

/// A send to another rank may have to wait for its receive, anywhere: with strict checks it does.
#[cold]
pub(super) fn strict_mode(guard: &Guard, mode: Mode, route: Option<&Route>) -> Mode {
    let to_itself = route.is_none_or(|route| route.peer == guard.engine.node().own());
    if matches!(mode, Mode::Standard) && !to_itself { Mode::Synchronous } else { mode }
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
    if try_send(&mut guard, buf, dest, tag, comm, check::is_watched()) {
        return Ok(guard.sent);
    }
    start_send(cx, guard, Mode::Standard, buf, dest, tag, comm)
}

pub fn issend(cx: &Call, buf: SourceArg<'static>, dest: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    start_send(cx, cx.enter()?, Mode::Synchronous, buf, dest, tag, comm)
}

#[inline(never)]
fn start_send(
    cx: &Call,
    mut guard: Guard,
    mode: Mode,
    buf: SourceArg<'static>,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<Request> {
    if record::is_alone() && mode == Mode::Standard && try_send_recorded(&mut guard, buf, dest, tag, comm) {
        return Ok(guard.sent);
    }
    let (buf, route) = outgoing(&guard, buf, dest, tag, comm)?;
    let route = promised(cx, route);
    propose(cx, &mut guard, &buf, route.as_ref(), true);
    let mode = if check::is_strict() { strict_mode(&guard, mode, route.as_ref()) } else { mode };
    let op = route.and_then(|route| guard.engine.send(mode, &route, buf));
    Ok(guard.send_request(comm, op))
}

pub fn ibsend(cx: &Call, buf: SourceArg<'static>, dest: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    let mut guard = cx.enter()?;
    let (buf, route) = outgoing(&guard, buf, dest, tag, comm)?;
    propose(cx, &mut guard, &buf, route.as_ref(), true);
    if let Some(route) = route {
        guard.send_buffered(comm, &route, &buf)?;
    }
    Ok(guard.send_request(comm, None))
}

/// A call is about to read a buffer; `stays`: until its request is complete.
#[inline]
pub(super) fn propose(cx: &Call, guard: &mut Guard, buf: &Source<'static>, route: Option<&Route>, stays: bool) {
    if check::is_on() {
        propose_checked(cx, guard, buf, route, stays);
    }
}

#[cold]
#[inline(never)]
fn propose_checked(cx: &Call, guard: &mut Guard, buf: &Source<'static>, route: Option<&Route>, stays: bool) {
    let uses = route.map(|_| Use::reads(cx.fun, buf.clone()));
    guard.propose_buffers(uses.into_iter().collect(), stays);
}

/// With `--check` a message in ready mode says so: its receive has to be posted when it comes.
#[inline]
pub(super) fn promised(cx: &Call, route: Option<Route>) -> Option<Route> {
    let is_ready = |fun: Fun| {
        matches!(fun, Fun::Rsend | Fun::RsendC | Fun::Irsend | Fun::IrsendC | Fun::RsendInit | Fun::RsendInitC)
    };
    match route {
        Some(route) if check::is_on() && is_ready(cx.fun) => {
            Some(Route { signature: route.signature.ready(), ..route })
        }
        other => other,
    }
}

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
    let signature = guard.signature_of(&buf);
    let buf = guard.source_of(buf)?;
    let route = guard.route(comm, dest, tag)?;
    Ok((buf, route.map(|route| Route { signature, ..route })))
}
