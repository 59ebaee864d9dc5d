//! A send and a receive in one call, blocking and nonblocking.

use super::finish;
use super::recv::incoming;
use super::send::outgoing;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Error, Result};
use oxmpi_core::args::{OutStatus, SourceArg, TargetArg};
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check::buffers::Use;
use oxmpi_core::check::{self, message::Expected};
use oxmpi_core::engine::{Mode, Route};
use oxmpi_core::matching::Pattern;
use oxmpi_core::request::{Active, Exchange};
use oxmpi_datatype::{OwnedBytes, Source, Target};
use std::ffi::c_int;

/// An exchange is about to read and to write; `stays`: until its request is complete.
#[inline]
fn propose(
    cx: &Call,
    guard: &mut Guard,
    out: &(Source<'static>, Option<Route>),
    into: &(Target<'static>, Option<Pattern>),
    stays: bool,
) {
    if check::is_on() {
        let reads = out.1.as_ref().map(|_| Use::reads(cx.fun, out.0.clone()));
        let writes = into.1.as_ref().map(|_| Use::writes(cx.fun, (*into.0).clone()));
        guard.propose_buffers(reads.into_iter().chain(writes).collect(), stays);
    }
}

/// Starts both halves of an exchange: the receive first, so that a message to oneself matches it.
fn start_exchange(
    guard: &mut Guard,
    (send, route): (Source<'static>, Option<Route>),
    (recv, pattern): (Target<'static>, Option<Pattern>),
    expected: Option<Expected>,
    kept: Option<OwnedBytes>,
) -> Active {
    let recv = pattern.map(|pattern| guard.post_recv(pattern, recv, expected));
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
    let expected = guard.expected_by(cx.fun, comm, &recvbuf);
    let into = incoming(&guard, recvbuf, source, recvtag, comm).map_err(in_the_receive)?;
    propose(cx, &mut guard, &out, &into, false);
    let active = start_exchange(&mut guard, out, into, expected, None);
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
    let active = start_replacing(cx, &mut guard, buf, (dest, sendtag), (source, recvtag), comm)?;
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
    let expected = guard.expected_by(cx.fun, comm, &recvbuf);
    let into = incoming(&guard, recvbuf, source, recvtag, comm).map_err(in_the_receive)?;
    propose(cx, &mut guard, &out, &into, true);
    let active = start_exchange(&mut guard, out, into, expected, None);
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
    let active = start_replacing(cx, &mut guard, buf, (dest, sendtag), (source, recvtag), comm)?;
    Ok(guard.once(comm, active))
}

/// An exchange that receives into its send buffer: what it sends is copied first.
fn start_replacing(
    cx: &Call,
    guard: &mut Guard,
    buf: TargetArg<'static>,
    (dest, sendtag): (c_int, c_int),
    (source, recvtag): (c_int, c_int),
    comm: Comm,
) -> Result<Active> {
    let (send, route) = outgoing(guard, buf.as_source(), dest, sendtag, comm)?;
    let expected = guard.expected_by(cx.fun, comm, &buf);
    let into = incoming(guard, buf, source, recvtag, comm)?;
    if check::is_on() {
        // What is sent was copied: the call only writes afterwards.
        let used = into.1.is_some() || route.is_some();
        let uses = used.then(|| Use::writes(cx.fun, (*into.0).clone()));
        guard.propose_buffers(uses.into_iter().collect(), cx.fun == Fun::IsendrecvReplace);
    }
    let (send, kept) = keep_copy(&send);
    Ok(start_exchange(guard, (send, route), into, expected, kept))
}
