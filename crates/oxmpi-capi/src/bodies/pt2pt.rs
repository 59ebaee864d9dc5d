//! Sends and receives, blocking and nonblocking, in every mode; exchanges.

use super::{check_place, finish, store, store_status};
use crate::call::Call;
use crate::library::LIBRARY;
use oxmpi_abi::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG};
use oxmpi_abi::handle::*;
use oxmpi_abi::{Error, Result, Status};
use oxmpi_core::engine::{Mode, Outcome, Route, Small};
use oxmpi_core::guard::Guard;
use oxmpi_core::matching::Pattern;
use oxmpi_core::request::{Active, Exchange};
use oxmpi_datatype::{OwnedBytes, Source, Target};
use std::ffi::{c_int, c_void};

/// The arguments of a send, checked. `None`: to `MPI_PROC_NULL`.
#[inline(always)]
pub(super) fn outgoing(
    guard: &Guard,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<(Source<'static>, Option<Route>)> {
    let comm = guard.comm(comm)?;
    let buf = guard.buffer(buf.cast(), count, datatype)?;
    // SAFETY: the program keeps the buffer of an MPI call as its arguments say until the operation is complete.
    let buf = unsafe { Source::new(buf) };
    Ok((buf, guard.route(comm, dest, tag)?))
}

/// The arguments of a receive, checked. `None`: from `MPI_PROC_NULL`.
#[inline(always)]
pub(super) fn incoming(
    guard: &Guard,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    source: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<(Target<'static>, Option<Pattern>)> {
    let comm = guard.comm(comm)?;
    let buf = guard.target(buf.cast(), count, datatype)?;
    // SAFETY: the program keeps the buffer of an MPI call as its arguments say until the operation is complete.
    let buf = unsafe { Target::new(buf) };
    Ok((buf, guard.pattern(comm, source, tag)?))
}

pub unsafe fn send(
    cx: &Call,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<()> {
    let mut guard = cx.enter()?;
    if send_quickly(&mut guard, buf, count, datatype, dest, tag, comm) {
        return Ok(());
    }
    send_mode(cx, guard, Mode::Standard, buf, count, datatype, dest, tag, comm)
}

/// A small contiguous message with nothing in its way is sent here and now. Whatever is unusual or wrong answers
/// `false`, and the long way finds out.
#[inline(always)]
fn send_quickly(
    guard: &mut Guard,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> bool {
    let Some(bytes) = quick_bytes(buf, count, datatype) else { return false };
    let Ok(comm) = guard.comm(comm) else { return false };
    if dest as u32 >= comm.size() as u32 || tag < 0 {
        return false;
    }
    let route = Route { peer: comm.peer(dest), context: comm.context, source: comm.rank, tag };
    // SAFETY: the program keeps `count` elements at `buf` until the send returns, which is after this.
    guard.engine.send_small(&route, &unsafe { Source::dense(buf.cast(), bytes) })
}

/// The length of a contiguous buffer of a predefined type, if the arguments are plainly right.
#[inline(always)]
fn quick_bytes(buf: *const c_void, count: i64, datatype: Datatype) -> Option<usize> {
    let size = oxmpi_datatype::dense_size(datatype.0)?;
    // Counts beyond this take the long way, so that the product cannot overflow.
    if !(0..1 << 31).contains(&count) || ((buf as usize) < 4096 && count > 0) {
        return None;
    }
    Some(count as usize * size)
}

#[inline(never)]
fn send_mode(
    cx: &Call,
    guard: Guard,
    mode: Mode,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<()> {
    let (buf, route) = outgoing(&guard, buf, count, datatype, dest, tag, comm)?;
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

pub unsafe fn ssend(
    cx: &Call,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<()> {
    let guard = cx.enter()?;
    send_mode(cx, guard, Mode::Synchronous, buf, count, datatype, dest, tag, comm)
}

pub unsafe fn rsend(
    cx: &Call,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<()> {
    // SAFETY: passed on. A standard send does all that a ready send promises.
    unsafe { send(cx, buf, count, datatype, dest, tag, comm) }
}

pub unsafe fn bsend(
    cx: &Call,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let (buf, route) = outgoing(&guard, buf, count, datatype, dest, tag, comm)?;
    match route {
        Some(route) => guard.send_buffered(comm, &route, &buf),
        None => Ok(()),
    }
}

#[inline(always)]
fn start_send(
    mode: Mode,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    let mut guard = LIBRARY.enter_active()?;
    check_place(request, "request")?;
    if mode == Mode::Standard && send_quickly(&mut guard, buf, count, datatype, dest, tag, comm) {
        // SAFETY: checked not to be null.
        unsafe { request.write(guard.sent) };
        return Ok(());
    }
    let (buf, route) = outgoing(&guard, buf, count, datatype, dest, tag, comm)?;
    let op = route.and_then(|route| guard.engine.send(mode, &route, buf));
    let handle = guard.send_request(comm, op);
    // SAFETY: checked not to be null.
    unsafe { request.write(handle) };
    Ok(())
}

pub unsafe fn isend(
    _cx: &Call,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    start_send(Mode::Standard, buf, count, datatype, dest, tag, comm, request)
}

pub unsafe fn issend(
    _cx: &Call,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    start_send(Mode::Synchronous, buf, count, datatype, dest, tag, comm, request)
}

pub unsafe fn irsend(
    _cx: &Call,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    start_send(Mode::Standard, buf, count, datatype, dest, tag, comm, request)
}

pub unsafe fn ibsend(
    cx: &Call,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let (buf, route) = outgoing(&guard, buf, count, datatype, dest, tag, comm)?;
    check_place(request, "request")?;
    if let Some(route) = route {
        guard.send_buffered(comm, &route, &buf)?;
    }
    let handle = guard.send_request(comm, None);
    // SAFETY: checked not to be null.
    unsafe { request.write(handle) };
    Ok(())
}

/// Looks at a ring before a receive is entered into the books: most messages are here by then. Few where somebody else
/// may need this CPU or this lock in order to answer.
#[inline]
fn quick_looks(guard: &Guard) -> usize {
    if guard.is_shared() {
        1
    } else if oxmpi_base::wait::is_oversubscribed(guard.shared().job()) {
        4
    } else {
        200
    }
}

pub unsafe fn recv(
    cx: &Call,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    source: c_int,
    tag: c_int,
    comm: Comm,
    status: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    if let Some(received) = recv_quickly(&mut guard, buf, count, datatype, source, tag, comm) {
        // SAFETY: null or a status.
        unsafe { store_status(status, &received) };
        return Ok(());
    }
    recv_and_wait(cx, guard, buf, count, datatype, source, tag, comm, status)
}

/// Length and pattern of a receive into a contiguous buffer, if the arguments are plainly right.
#[inline(always)]
fn quick_pattern(
    guard: &Guard,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    source: c_int,
    tag: c_int,
    comm: Comm,
) -> Option<(usize, Pattern)> {
    let bytes = quick_bytes(buf, count, datatype)?;
    let comm = guard.comm(comm).ok()?;
    let known = (source as u32) < comm.size() as u32 || source == MPI_ANY_SOURCE;
    (known && (tag >= 0 || tag == MPI_ANY_TAG)).then_some((bytes, Pattern { context: comm.context, source, tag }))
}

/// A message of one packet that is here, or comes soon, is received at once. Whatever is unusual or wrong answers `None`,
/// and the long way finds out.
#[inline(always)]
fn recv_quickly(
    guard: &mut Guard,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    source: c_int,
    tag: c_int,
    comm: Comm,
) -> Option<Status> {
    let bytes = quick_bytes(buf, count, datatype)?;
    let comm = guard.comm(comm).ok()?;
    if source as u32 >= comm.size() as u32 || tag < 0 {
        return None;
    }
    let peer = comm.peer(source);
    let pattern = Pattern { context: comm.context, source, tag };
    // SAFETY: the program keeps `count` elements at `buf` until the receive returns, which is after this.
    let buf = unsafe { Target::dense(buf.cast(), bytes) };
    for _ in 0..quick_looks(guard) {
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
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    source: c_int,
    tag: c_int,
    comm: Comm,
    status: *mut Status,
) -> Result<()> {
    let (buf, pattern) = incoming(&guard, buf, count, datatype, source, tag, comm)?;
    let outcome = match pattern {
        None => nothing_received(),
        Some(pattern) => {
            let op = guard.engine.recv(pattern, buf);
            cx.wait_op(&mut guard, op)
        }
    };
    // SAFETY: null or a status.
    unsafe { finish(outcome, status) }
}

pub unsafe fn irecv(
    _cx: &Call,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    source: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    let mut guard = LIBRARY.enter_active()?;
    check_place(request, "request")?;
    if let Some((bytes, pattern)) = quick_pattern(&guard, buf, count, datatype, source, tag, comm) {
        // SAFETY: the program keeps `count` elements at `buf` until the request is complete.
        let op = guard.engine.recv(pattern, unsafe { Target::dense(buf.cast(), bytes) });
        let handle = guard.once(comm, Active::Recv(op));
        // SAFETY: checked not to be null.
        unsafe { request.write(handle) };
        return Ok(());
    }
    let (buf, pattern) = incoming(&guard, buf, count, datatype, source, tag, comm)?;
    let active = match pattern {
        Some(pattern) => Active::Recv(guard.engine.recv(pattern, buf)),
        None => Active::Done(nothing_received()),
    };
    let handle = guard.once(comm, active);
    // SAFETY: checked not to be null.
    unsafe { request.write(handle) };
    Ok(())
}

/// What a receive from `MPI_PROC_NULL` gets.
pub(super) fn nothing_received() -> Outcome {
    Outcome { status: Status::proc_null(), error: None }
}

/// Both halves of an exchange, checked and started: the receive first, so that a message to oneself finds it.
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

fn finish_exchange(cx: &Call, mut guard: Guard, active: Active, status: *mut Status) -> Result<()> {
    let outcome = cx.wait_exchange(&mut guard, active);
    // SAFETY: null or a status.
    unsafe { finish(outcome, status) }
}

/// A copy of what a replacing exchange sends, as a buffer of its own.
fn keep_copy(buf: &Source<'_>) -> (Source<'static>, Option<OwnedBytes>) {
    let bytes = OwnedBytes::packed(buf);
    // SAFETY: the exchange keeps the bytes until its send has ended; the engine does where the request is freed before.
    (unsafe { bytes.lend() }, Some(bytes))
}

/// Which half of an exchange has the wrong argument; both have a count, a datatype and a tag.
#[cold]
fn in_the_send(error: Error) -> Error {
    error.within("the send")
}

#[cold]
fn in_the_receive(error: Error) -> Error {
    error.within("the receive")
}

pub unsafe fn sendrecv(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    dest: c_int,
    sendtag: c_int,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    source: c_int,
    recvtag: c_int,
    comm: Comm,
    status: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let out = outgoing(&guard, sendbuf, sendcount, sendtype, dest, sendtag, comm).map_err(in_the_send)?;
    let into = incoming(&guard, recvbuf, recvcount, recvtype, source, recvtag, comm).map_err(in_the_receive)?;
    let active = start_exchange(&mut guard, out, into, None);
    finish_exchange(cx, guard, active, status)
}

pub unsafe fn sendrecv_replace(
    cx: &Call,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: Comm,
    status: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let (send, route) = outgoing(&guard, buf, count, datatype, dest, sendtag, comm)?;
    let into = incoming(&guard, buf, count, datatype, source, recvtag, comm)?;
    let (send, kept) = keep_copy(&send);
    let active = start_exchange(&mut guard, (send, route), into, kept);
    finish_exchange(cx, guard, active, status)
}

pub unsafe fn isendrecv(
    cx: &Call,
    sendbuf: *const c_void,
    sendcount: i64,
    sendtype: Datatype,
    dest: c_int,
    sendtag: c_int,
    recvbuf: *mut c_void,
    recvcount: i64,
    recvtype: Datatype,
    source: c_int,
    recvtag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let out = outgoing(&guard, sendbuf, sendcount, sendtype, dest, sendtag, comm).map_err(in_the_send)?;
    let into = incoming(&guard, recvbuf, recvcount, recvtype, source, recvtag, comm).map_err(in_the_receive)?;
    check_place(request, "request")?;
    let active = start_exchange(&mut guard, out, into, None);
    let handle = guard.once(comm, active);
    // SAFETY: checked not to be null.
    unsafe { store(request, handle, "request") }
}

pub unsafe fn isendrecv_replace(
    cx: &Call,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let (send, route) = outgoing(&guard, buf, count, datatype, dest, sendtag, comm)?;
    let into = incoming(&guard, buf, count, datatype, source, recvtag, comm)?;
    check_place(request, "request")?;
    let (send, kept) = keep_copy(&send);
    let active = start_exchange(&mut guard, (send, route), into, kept);
    let handle = guard.once(comm, active);
    // SAFETY: checked not to be null.
    unsafe { store(request, handle, "request") }
}
