//! Persistent point-to-point requests.

use super::pt2pt::{incoming, outgoing};
use super::{check_place, slice_mut, store};
use crate::call::{Call, On};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Result, Status, bail};
use oxmpi_core::engine::Mode;
use oxmpi_core::guard::Guard;
use oxmpi_core::request::{Body, Start};
use std::ffi::{c_int, c_void};

pub(super) fn make(mut guard: Guard, comm: Comm, start: Start, request: *mut Request) -> Result<()> {
    check_place(request, "request")?;
    let body = Body::Persistent(Box::new(start), None);
    let handle = guard.requests.insert(oxmpi_core::request::Request { comm, body });
    // SAFETY: checked.
    unsafe { store(request, Request(handle), "request") }
}

fn make_send(
    cx: &Call,
    mode: Mode,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    let guard = cx.enter()?;
    let (buf, route) = outgoing(&guard, buf, count, datatype, dest, tag, comm)?;
    let start = match route {
        Some(route) => Start::Send { mode, route, buf },
        None => Start::Nothing(Status::empty()),
    };
    make(guard, comm, start, request)
}

pub unsafe fn send_init(
    cx: &Call,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    make_send(cx, Mode::Standard, buf, count, datatype, dest, tag, comm, request)
}

pub unsafe fn rsend_init(
    cx: &Call,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    make_send(cx, Mode::Standard, buf, count, datatype, dest, tag, comm, request)
}

pub unsafe fn ssend_init(
    cx: &Call,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    make_send(cx, Mode::Synchronous, buf, count, datatype, dest, tag, comm, request)
}

pub unsafe fn bsend_init(
    cx: &Call,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    let guard = cx.enter()?;
    let (buf, route) = outgoing(&guard, buf, count, datatype, dest, tag, comm)?;
    let start = match route {
        Some(route) => Start::Buffered { comm, route, buf },
        None => Start::Nothing(Status::empty()),
    };
    make(guard, comm, start, request)
}

pub unsafe fn recv_init(
    cx: &Call,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    source: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    let guard = cx.enter()?;
    let (buf, pattern) = incoming(&guard, buf, count, datatype, source, tag, comm)?;
    let start = match pattern {
        Some(pattern) => Start::Recv { pattern, buf },
        None => Start::Nothing(Status::proc_null()),
    };
    make(guard, comm, start, request)
}

fn start_one(cx: &Call, guard: &mut Guard, request: Request) -> Result<()> {
    let (comm, start) = startable(guard, request)?;
    let active = guard.begin(&start).inspect_err(|_| cx.raise_on(On::Comm(comm)))?;
    if let Some(Body::Persistent(_, slot)) = guard.requests.get_mut(request.0).map(|found| &mut found.body) {
        *slot = Some(active);
    }
    Ok(())
}

/// What a request starts, if it is one that can be started now.
fn startable(guard: &Guard, request: Request) -> Result<(Comm, Start)> {
    let found = guard.request(request)?;
    match &found.body {
        Body::Persistent(start, None) => Ok((found.comm, (**start).clone())),
        Body::Persistent(_, Some(_)) => bail!(MPI_ERR_REQUEST, "the persistent request is active already"),
        _ => bail!(MPI_ERR_REQUEST, "the request is not a persistent one"),
    }
}

pub unsafe fn start(cx: &Call, request: *mut Request) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(request, "request")?;
    // SAFETY: checked.
    start_one(cx, &mut guard, unsafe { request.read() })
}

pub unsafe fn startall(cx: &Call, count: c_int, requests: *mut Request) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: as the standard asks of the caller.
    let requests = unsafe { slice_mut(requests, count, "array_of_requests")? };
    for (index, request) in requests.iter().enumerate() {
        startable(&guard, *request).map_err(|error| error.within(format!("element {index} of array_of_requests")))?;
    }
    for request in requests {
        start_one(cx, &mut guard, *request)?;
    }
    Ok(())
}
