//! Asking for the status of requests without completing them.

use super::completion::is_active;
use super::generalized::query_generalized;
use super::several::{all_done, check_all, check_some, find_done};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Result, Status};
use oxmpi_core::args::{Out, OutArray, OutStatus, Requests, Statuses};
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check;
use oxmpi_core::request::Body;
use std::cell::Cell;
use std::ffi::c_int;

/// The status that a request would complete with, without completing it; `None` while it is not done.
fn peek_status(cx: &Call, guard: &mut Guard, request: Request) -> Result<Option<Status>> {
    if !is_active(guard, request)? {
        return Ok(Some(Status::empty()));
    }
    if !guard.is_request_done(request)? {
        return Ok(None);
    }
    if check::is_on() {
        // The operation is complete: the program may use its buffers.
        guard.release_buffers(request.0);
    }
    let generalized = match &guard.request(request)?.body {
        Body::Once(active) | Body::Persistent(_, Some(active)) => return Ok(Some(active.peek(&guard.engine))),
        Body::Sent | Body::Persistent(_, None) => return Ok(Some(Status::empty())),
        Body::Generalized(generalized) => **generalized,
    };
    let outcome = guard.call_user(|| query_generalized(cx, &generalized));
    match outcome.error {
        None => Ok(Some(outcome.status)),
        Some(error) => Err(error),
    }
}

pub fn request_get_status(cx: &Call, request: Request, status: OutStatus) -> Result<bool> {
    let mut guard = cx.enter()?;
    cx.progress(&mut guard);
    let active = is_active(&guard, request)?;
    let found = peek_status(cx, &mut guard, request)?;
    match &found {
        Some(found) if active => status.set(found),
        Some(_) => status.set_empty(),
        None => guard.yield_cpu_at_times(),
    }
    Ok(found.is_some())
}

pub fn request_get_status_all(cx: &Call, array_of_requests: Requests, array_of_statuses: Statuses) -> Result<bool> {
    let mut guard = cx.enter()?;
    let requests = array_of_requests.cells("array_of_requests")?;
    check_all(&guard, requests)?;
    cx.progress(&mut guard);
    let done = all_done(&mut guard, requests)?;
    for (index, request) in requests.iter().enumerate().filter(|_| done) {
        if let Some(found) = peek_status(cx, &mut guard, request.get())? {
            array_of_statuses.at(index).set_whole(found);
        }
    }
    if !done {
        guard.yield_cpu_at_times();
    }
    Ok(done)
}

pub fn request_get_status_any(cx: &Call, array_of_requests: Requests, status: OutStatus) -> Result<(c_int, bool)> {
    let mut guard = cx.enter()?;
    let requests = array_of_requests.cells("array_of_requests")?;
    check_all(&guard, requests)?;
    cx.progress(&mut guard);
    let found = find_done(&mut guard, requests);
    match found {
        Some(Some(at)) => {
            if let Some(found) = peek_status(cx, &mut guard, requests[at].get())? {
                status.set(&found);
            }
        }
        Some(None) => status.set_empty(),
        None => guard.yield_cpu_at_times(),
    }
    Ok((found.flatten().map_or(MPI_UNDEFINED, |at| at as c_int), found.is_some()))
}

pub fn request_get_status_some(
    cx: &Call,
    array_of_requests: Requests,
    outcount: Out<c_int>,
    array_of_indices: OutArray<c_int>,
    array_of_statuses: Statuses,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let requests = array_of_requests.cells("array_of_requests")?;
    check_some(&guard, requests, outcount, array_of_indices)?;
    cx.progress(&mut guard);
    let mut done = 0;
    let mut any = false;
    for (index, request) in requests.iter().map(Cell::get).enumerate() {
        if !is_active(&guard, request)? {
            continue;
        }
        any = true;
        if let Some(found) = peek_status(cx, &mut guard, request)? {
            array_of_indices.set(done, index as c_int);
            array_of_statuses.at(done).set_whole(found);
            done += 1;
        }
    }
    if any && done == 0 {
        guard.yield_cpu_at_times();
    }
    outcount.set(if any { done as c_int } else { MPI_UNDEFINED });
    Ok(())
}
