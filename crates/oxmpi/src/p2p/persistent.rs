//! Persistent point-to-point requests.

use super::recv::incoming;
use super::send::{outgoing, promised, strict_mode};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Result, Status, bail};
use oxmpi_core::args::{Requests, SourceArg, TargetArg};
use oxmpi_core::call::{Call, Guard, On};
use oxmpi_core::check::{self, buffers::Use};
use oxmpi_core::engine::Mode;
use oxmpi_core::request::{Body, Start};
use std::cell::Cell;
use std::ffi::c_int;

pub(super) fn make(mut guard: Guard, comm: Comm, start: Start) -> Request {
    let body = Body::Persistent(Box::new(start), None);
    Request(guard.requests.insert(oxmpi_core::request::Request { comm, body }))
}

/// Each operation of the request that a call makes will use a buffer.
pub(super) fn keep(guard: &mut Guard, one: impl FnOnce() -> Use) {
    if check::is_on() {
        guard.propose_kept_buffers(vec![one()]);
    }
}

fn make_send(cx: &Call, mode: Mode, buf: SourceArg<'static>, dest: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    let mut guard = cx.enter()?;
    let (buf, route) = outgoing(&guard, buf, dest, tag, comm)?;
    let start = match promised(cx, route) {
        Some(route) => {
            keep(&mut guard, || Use::reads(cx.fun, buf.clone()));
            let mode = if check::is_strict() { strict_mode(&guard, mode, Some(&route)) } else { mode };
            Start::Send { mode, route, buf }
        }
        None => Start::Nothing(Status::empty()),
    };
    Ok(make(guard, comm, start))
}

pub fn send_init(cx: &Call, buf: SourceArg<'static>, dest: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    make_send(cx, Mode::Standard, buf, dest, tag, comm)
}

pub fn ssend_init(cx: &Call, buf: SourceArg<'static>, dest: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    make_send(cx, Mode::Synchronous, buf, dest, tag, comm)
}

pub fn bsend_init(cx: &Call, buf: SourceArg<'static>, dest: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    let mut guard = cx.enter()?;
    let (buf, route) = outgoing(&guard, buf, dest, tag, comm)?;
    let start = match route {
        Some(route) => {
            keep(&mut guard, || Use::reads(cx.fun, buf.clone()));
            Start::Buffered { comm, route, buf }
        }
        None => Start::Nothing(Status::empty()),
    };
    Ok(make(guard, comm, start))
}

pub fn recv_init(cx: &Call, buf: TargetArg<'static>, source: c_int, tag: c_int, comm: Comm) -> Result<Request> {
    let mut guard = cx.enter()?;
    let expected = guard.expected_by(cx.fun, comm, &buf);
    let (buf, pattern) = incoming(&guard, buf, source, tag, comm)?;
    let start = match pattern {
        Some(pattern) => {
            keep(&mut guard, || Use::receives(cx.fun, (*buf).clone(), expected.clone()));
            Start::Recv { pattern, buf, expected }
        }
        None => Start::Nothing(Status::proc_null()),
    };
    Ok(make(guard, comm, start))
}

fn start_one(cx: &Call, guard: &mut Guard, request: Request) -> Result<()> {
    let (comm, start) = startable(guard, request)?;
    if check::is_on() {
        guard.propose_start(request.0);
    }
    guard.comm(comm).map_or(Ok(()), |comm| comm.check_not_revoked()).inspect_err(|_| cx.raise_on(On::Comm(comm)))?;
    let active = guard.begin(&start).inspect_err(|_| cx.raise_on(On::Comm(comm)))?;
    if let Some(Body::Persistent(_, slot)) = guard.requests.get_mut(request.0).map(|found| &mut found.body) {
        *slot = Some(active);
    }
    if check::is_on() {
        guard.bind_start(request.0);
        guard.note_start(request.0);
    }
    Ok(())
}

/// The operation of a request that can be started now.
fn startable(guard: &Guard, request: Request) -> Result<(Comm, Start)> {
    let found = guard.request(request)?;
    match &found.body {
        Body::Persistent(start, None) => Ok((found.comm, (**start).clone())),
        Body::Persistent(_, Some(_)) => bail!(MPI_ERR_REQUEST, "the persistent request is active already"),
        _ => bail!(MPI_ERR_REQUEST, "the request is not a persistent one"),
    }
}

pub fn start(cx: &Call, request: &Cell<Request>) -> Result<()> {
    start_one(cx, &mut cx.enter()?, request.get())
}

pub fn startall(cx: &Call, array_of_requests: Requests) -> Result<()> {
    let mut guard = cx.enter()?;
    let requests = array_of_requests.cells("array_of_requests")?;
    for (index, request) in requests.iter().enumerate() {
        startable(&guard, request.get())
            .map_err(|error| error.within(format!("element {index} of array_of_requests")))?;
    }
    for request in requests {
        start_one(cx, &mut guard, request.get())?;
    }
    Ok(())
}
