//! Sends and receives, blocking and nonblocking, in every mode; exchanges.

use super::{check_place, finish, store, store_status};
use crate::call::Cx;
use crate::library::Guard;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Result, Status};
use oxmpi_core::engine::{Mode, Outcome, Route, Small};
use oxmpi_core::matching::Pattern;
use oxmpi_core::request::Active;
use oxmpi_datatype::Buf;
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
) -> Result<(Buf, Option<Route>)> {
    let comm = guard.comm(comm)?;
    let buf = guard.buffer(buf.cast(), count, datatype)?;
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
) -> Result<(Buf, Option<Pattern>)> {
    let comm = guard.comm(comm)?;
    let buf = guard.buffer(buf.cast(), count, datatype)?;
    Ok((buf, guard.pattern(comm, source, tag)?))
}

pub unsafe fn send(
    cx: &Cx,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<()> {
    let mut guard = cx.process()?;
    let (buf, route) = outgoing(&guard, buf, count, datatype, dest, tag, comm)?;
    let Some(route) = route else { return Ok(()) };
    if guard.engine.send_small(&route, &buf) {
        return Ok(());
    }
    send_and_wait(cx, guard, Mode::Standard, &route, buf)
}

#[inline(never)]
fn send_and_wait(cx: &Cx, mut guard: Guard, mode: Mode, route: &Route, buf: Buf) -> Result<()> {
    match guard.engine.send(mode, route, buf) {
        None => Ok(()),
        Some(op) => match cx.wait_op(&mut guard, op).error {
            None => Ok(()),
            Some(error) => Err(error),
        },
    }
}

pub unsafe fn ssend(
    cx: &Cx,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<()> {
    let guard = cx.process()?;
    let (buf, route) = outgoing(&guard, buf, count, datatype, dest, tag, comm)?;
    let Some(route) = route else { return Ok(()) };
    send_and_wait(cx, guard, Mode::Synchronous, &route, buf)
}

pub unsafe fn rsend(
    cx: &Cx,
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
    cx: &Cx,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
) -> Result<()> {
    let mut guard = cx.process()?;
    let (buf, route) = outgoing(&guard, buf, count, datatype, dest, tag, comm)?;
    match route {
        Some(route) => guard.send_buffered(comm, &route, &buf),
        None => Ok(()),
    }
}

#[inline(always)]
fn start_send(
    cx: &Cx,
    mode: Mode,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    let mut guard = cx.process()?;
    let (buf, route) = outgoing(&guard, buf, count, datatype, dest, tag, comm)?;
    check_place(request, "request")?;
    let op = match &route {
        None => None,
        Some(route) if mode == Mode::Standard && guard.engine.send_small(route, &buf) => None,
        Some(route) => guard.engine.send(mode, route, buf),
    };
    let handle = guard.send_request(comm, op);
    // SAFETY: checked not to be null.
    unsafe { request.write(handle) };
    Ok(())
}

pub unsafe fn isend(
    cx: &Cx,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    start_send(cx, Mode::Standard, buf, count, datatype, dest, tag, comm, request)
}

pub unsafe fn issend(
    cx: &Cx,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    start_send(cx, Mode::Synchronous, buf, count, datatype, dest, tag, comm, request)
}

pub unsafe fn irsend(
    cx: &Cx,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    start_send(cx, Mode::Standard, buf, count, datatype, dest, tag, comm, request)
}

pub unsafe fn ibsend(
    cx: &Cx,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    dest: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    let mut guard = cx.process()?;
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
    } else if oxmpi_base::wait::is_crowded(guard.engine.shm().job()) {
        4
    } else {
        200
    }
}

pub unsafe fn recv(
    cx: &Cx,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    source: c_int,
    tag: c_int,
    comm: Comm,
    status: *mut Status,
) -> Result<()> {
    let mut guard = cx.process()?;
    let (buf, pattern) = incoming(&guard, buf, count, datatype, source, tag, comm)?;
    let Some(pattern) = pattern else {
        // SAFETY: null or a status.
        unsafe { store_status(status, &Status::proc_null()) };
        return Ok(());
    };
    if source >= 0 {
        let peer = guard.comm(comm)?.group.get(source as usize);
        for _ in 0..guard.engine.pauses_before_reply(peer) {
            std::hint::spin_loop();
        }
        for look in 0..quick_looks(&guard) {
            match guard.engine.recv_small(peer, &pattern, &buf) {
                Small::Received(received) => {
                    guard.engine.learn_reply(peer, look == 0);
                    // SAFETY: null or a status.
                    unsafe { store_status(status, &received) };
                    return Ok(());
                }
                Small::Nothing => std::hint::spin_loop(),
                Small::Other => break,
            }
        }
    }
    recv_and_wait(cx, guard, pattern, buf, status)
}

#[inline(never)]
fn recv_and_wait(cx: &Cx, mut guard: Guard, pattern: Pattern, buf: Buf, status: *mut Status) -> Result<()> {
    let op = guard.engine.recv(pattern, buf);
    let outcome = cx.wait_op(&mut guard, op);
    // SAFETY: null or a status.
    unsafe { finish(outcome, status) }
}

pub unsafe fn irecv(
    cx: &Cx,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    source: c_int,
    tag: c_int,
    comm: Comm,
    request: *mut Request,
) -> Result<()> {
    let mut guard = cx.process()?;
    let (buf, pattern) = incoming(&guard, buf, count, datatype, source, tag, comm)?;
    check_place(request, "request")?;
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
    (send, route): (Buf, Option<Route>),
    (recv, pattern): (Buf, Option<Pattern>),
    kept: Option<Box<[u8]>>,
) -> Active {
    let recv = pattern.map(|pattern| guard.engine.recv(pattern, recv));
    let send = route.and_then(|route| guard.engine.send(Mode::Standard, &route, send));
    Active::Exchange { send, recv, sent: None, kept }
}

fn finish_exchange(cx: &Cx, mut guard: Guard, mut active: Active, status: *mut Status) -> Result<()> {
    cx.wait(&mut guard, |process| active.is_done(&mut process.engine, |_, _, _| true).then_some(()));
    let outcome = active.finish(&mut guard.engine);
    // SAFETY: null or a status.
    unsafe { finish(outcome, status) }
}

/// A copy of what a replacing exchange sends, as a buffer of its own.
fn keep_copy(buf: &Buf) -> (Buf, Option<Box<[u8]>>) {
    let bytes = oxmpi_transport::own::pack(buf).into_boxed_slice();
    (Buf::dense(bytes.as_ptr().cast_mut(), bytes.len()), Some(bytes))
}

pub unsafe fn sendrecv(
    cx: &Cx,
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
    let mut guard = cx.process()?;
    let out = outgoing(&guard, sendbuf, sendcount, sendtype, dest, sendtag, comm)?;
    let into = incoming(&guard, recvbuf, recvcount, recvtype, source, recvtag, comm)?;
    let active = start_exchange(&mut guard, out, into, None);
    finish_exchange(cx, guard, active, status)
}

pub unsafe fn sendrecv_replace(
    cx: &Cx,
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
    let mut guard = cx.process()?;
    let (send, route) = outgoing(&guard, buf, count, datatype, dest, sendtag, comm)?;
    let into = incoming(&guard, buf, count, datatype, source, recvtag, comm)?;
    let (send, kept) = keep_copy(&send);
    let active = start_exchange(&mut guard, (send, route), into, kept);
    finish_exchange(cx, guard, active, status)
}

pub unsafe fn isendrecv(
    cx: &Cx,
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
    let mut guard = cx.process()?;
    let out = outgoing(&guard, sendbuf, sendcount, sendtype, dest, sendtag, comm)?;
    let into = incoming(&guard, recvbuf, recvcount, recvtype, source, recvtag, comm)?;
    check_place(request, "request")?;
    let active = start_exchange(&mut guard, out, into, None);
    let handle = guard.once(comm, active);
    // SAFETY: checked not to be null.
    unsafe { store(request, handle, "request") }
}

pub unsafe fn isendrecv_replace(
    cx: &Cx,
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
    let mut guard = cx.process()?;
    let (send, route) = outgoing(&guard, buf, count, datatype, dest, sendtag, comm)?;
    let into = incoming(&guard, buf, count, datatype, source, recvtag, comm)?;
    check_place(request, "request")?;
    let (send, kept) = keep_copy(&send);
    let active = start_exchange(&mut guard, (send, route), into, kept);
    let handle = guard.once(comm, active);
    // SAFETY: checked not to be null.
    unsafe { store(request, handle, "request") }
}
