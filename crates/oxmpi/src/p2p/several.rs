//! Completing several requests in one call: all, any or some of them.

use super::completion::{check_pending, complete, is_active, wait_one};
use super::finish;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Error, Result};
use oxmpi_core::args::{Out, OutArray, OutStatus, Requests, Statuses};
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::process::Process;
use oxmpi_core::request::Body;
use oxmpi_core::wait::waiting::AnyRequest;
use std::cell::Cell;
use std::ffi::c_int;

/// Checks every handle of an array before anything else happens.
pub(super) fn check_all(guard: &Guard, requests: &[Cell<Request>]) -> Result<()> {
    for (index, request) in requests.iter().map(Cell::get).enumerate() {
        if request != MPI_REQUEST_NULL {
            guard.request(request).map_err(|error| error.within(format!("element {index} of array_of_requests")))?;
        }
    }
    Ok(())
}

/// Collects the outcomes of a call that completes several requests. The error fields of the statuses are written if one
/// has failed, and only then.
struct Several<'a> {
    cx: &'a Call<'a>,
    statuses: Statuses<'a>,
    count: usize,
    /// The indices of the statuses of failed requests, and their error codes.
    failed: Vec<(usize, c_int)>,
    text: String,
}

impl<'a> Several<'a> {
    fn new(cx: &'a Call<'a>, statuses: Statuses<'a>) -> Several<'a> {
        Several { cx, statuses, count: 0, failed: Vec::new(), text: String::new() }
    }

    /// Counts the request at `index`, whose status is stored.
    #[inline]
    fn add(&mut self, error: Option<Error>, index: usize) {
        if let Some(error) = error {
            self.add_failed(&error, index);
        }
        self.count += 1;
    }

    #[cold]
    fn add_failed(&mut self, error: &Error, index: usize) {
        let code = self.cx.library().errors().code_for(error, self.cx.fun.name());
        self.failed.push((self.count, code));
        let class = error_class_name(error.class()).unwrap_or("an error class of the program's");
        let line = if self.text.is_empty() { "" } else { "\n" };
        self.text.push_str(&format!("{line}request {index}: {class}: {}", error.text()));
    }

    fn end(self) -> Result<()> {
        if self.failed.is_empty() {
            return Ok(());
        }
        for index in 0..self.count {
            let code = self.failed.iter().find(|failed| failed.0 == index).map_or(MPI_SUCCESS, |failed| failed.1);
            self.statuses.set_error(index, code);
        }
        let first = self.failed[0].1;
        Err(Error::new(MPI_ERR_IN_STATUS, self.text).with_code_for_handler(first))
    }
}

pub fn waitall(cx: &Call, array_of_requests: Requests, array_of_statuses: Statuses) -> Result<()> {
    let mut guard = cx.enter()?;
    let requests = array_of_requests.cells("array_of_requests")?;
    check_all(&guard, requests)?;
    wait_all(cx, &mut guard, requests, array_of_statuses)
}

fn wait_all(cx: &Call, guard: &mut Guard, requests: &[Cell<Request>], statuses: Statuses) -> Result<()> {
    let mut several = Several::new(cx, statuses);
    let mut has_failed = false;
    for (index, request) in requests.iter().enumerate() {
        // After a failure others may wait for this process to do something about it.
        if has_failed && !is_over(guard, request.get())? {
            several.add(Some(Error::new(MPI_ERR_PENDING, "it is not complete")), index);
            continue;
        }
        let error = match wait_one(cx, guard, request, statuses.at(index)) {
            Err(error) if error.class() == MPIX_ERR_PROC_FAILED_PENDING => Some(error),
            waited => waited?,
        };
        has_failed |= error.as_ref().is_some_and(Error::is_of_others);
        several.add(error, index);
    }
    several.end()
}

#[cold]
fn is_over(guard: &mut Guard, request: Request) -> Result<bool> {
    Ok(!is_active(guard, request)? || guard.is_request_done(request)?)
}

pub fn testall(cx: &Call, array_of_requests: Requests, flag: Out<c_int>, array_of_statuses: Statuses) -> Result<()> {
    let mut guard = cx.enter()?;
    let requests = array_of_requests.cells("array_of_requests")?;
    flag.check("flag")?;
    check_all(&guard, requests)?;
    cx.progress(&mut guard);
    let done = all_done(&mut guard, requests)?;
    flag.set(c_int::from(done));
    if !done {
        guard.yield_cpu_at_times();
        return check_pending(cx, &guard, requests.iter().map(Cell::get));
    }
    wait_all(cx, &mut guard, requests, array_of_statuses)
}

pub(super) fn all_done(guard: &mut Guard, requests: &[Cell<Request>]) -> Result<bool> {
    for request in requests.iter().map(Cell::get) {
        if is_active(guard, request)? && !guard.is_request_done(request)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How many requests after the first completed one are checked for an earlier completion.
const LOOK_AHEAD: usize = 16;

/// An active request that is done: mostly the one that completed first, so that a program with many
/// wildcard receives sees messages in the order of arrival. `Some(None)`: no request is active.
pub(super) fn find_done(process: &mut Process, requests: &[Cell<Request>]) -> Option<Option<usize>> {
    let mut any = false;
    let (mut found, mut lowest) = (None, u64::MAX);
    for (index, request) in requests.iter().map(Cell::get).enumerate() {
        if found.is_some_and(|found| index > found + LOOK_AHEAD) {
            break;
        }
        if request == MPI_REQUEST_NULL {
            continue;
        }
        if matches!(process.requests.get(request.0).map(|found| &found.body), Some(Body::Persistent(_, None)) | None) {
            continue;
        }
        any = true;
        if !matches!(process.is_request_done(request), Ok(true)) {
            continue;
        }
        let place = process.place_of(request);
        if place < lowest {
            (found, lowest) = (Some(index), place);
        }
        if place == 0 {
            break;
        }
    }
    if any && found.is_none() { None } else { Some(found) }
}

pub fn waitany(cx: &Call, array_of_requests: Requests, indx: Out<c_int>, status: OutStatus) -> Result<()> {
    let mut guard = cx.enter()?;
    let requests = array_of_requests.cells("array_of_requests")?;
    indx.check("indx")?;
    check_all(&guard, requests)?;
    match cx.wait(&mut guard, &AnyRequest(requests), |process| find_done(process, requests)) {
        Ok(found) => end_any(cx, &mut guard, requests, found, indx, status),
        Err(error) => Err(pending_any(cx, &guard, requests, indx).unwrap_or(error)),
    }
}

/// The error of a call that none of the requests ends, because one goes on although somebody has failed from whom its message
/// might have come; stores its index.
fn pending_any(cx: &Call, guard: &Guard, requests: &[Cell<Request>], indx: Out<c_int>) -> Option<Error> {
    if !guard.failures.any() {
        return None;
    }
    let at = requests.iter().position(|request| guard.pends_after_failure(request.get()).is_some())?;
    indx.set(at as c_int);
    check_pending(cx, guard, [requests[at].get()]).err()
}

/// Completes the request that was found, and stores its index whether or not it failed.
fn end_any(
    cx: &Call,
    guard: &mut Guard,
    requests: &[Cell<Request>],
    found: Option<usize>,
    indx: Out<c_int>,
    status: OutStatus,
) -> Result<()> {
    let Some(at) = found else {
        indx.set(MPI_UNDEFINED);
        status.set_empty();
        return Ok(());
    };
    let outcome = complete(cx, guard, &requests[at]);
    indx.set(at as c_int);
    finish(outcome, status)
}

pub fn testany(
    cx: &Call,
    array_of_requests: Requests,
    indx: Out<c_int>,
    flag: Out<c_int>,
    status: OutStatus,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let requests = array_of_requests.cells("array_of_requests")?;
    indx.check("indx")?;
    flag.check("flag")?;
    check_all(&guard, requests)?;
    cx.progress(&mut guard);
    let found = find_done(&mut guard, requests);
    flag.set(c_int::from(found.is_some()));
    let Some(found) = found else {
        indx.set(MPI_UNDEFINED);
        guard.yield_cpu_at_times();
        return pending_any(cx, &guard, requests, indx).map_or(Ok(()), Err);
    };
    end_any(cx, &mut guard, requests, found, indx, status)
}

pub fn waitsome(
    cx: &Call,
    array_of_requests: Requests,
    outcount: Out<c_int>,
    array_of_indices: OutArray<c_int>,
    array_of_statuses: Statuses,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let requests = array_of_requests.cells("array_of_requests")?;
    check_some(&guard, requests, outcount, array_of_indices)?;
    let found = cx.wait(&mut guard, &AnyRequest(requests), |process| find_done(process, requests));
    let any = match found {
        Err(error) if error.class() == MPIX_ERR_PROC_FAILED_PENDING => true,
        found => found?.is_some(),
    };
    end_some(cx, &mut guard, requests, any, outcount, array_of_indices, array_of_statuses)
}

pub fn testsome(
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
    let found = find_done(&mut guard, requests);
    if found.is_none() {
        guard.yield_cpu_at_times();
    }
    let any = !matches!(found, Some(None));
    end_some(cx, &mut guard, requests, any, outcount, array_of_indices, array_of_statuses)
}

pub(super) fn check_some(
    guard: &Guard,
    requests: &[Cell<Request>],
    outcount: Out<c_int>,
    indices: OutArray<c_int>,
) -> Result<()> {
    outcount.check("outcount")?;
    indices.check("array_of_indices")?;
    check_all(guard, requests)
}

/// Completes every request that is done.
fn end_some(
    cx: &Call,
    guard: &mut Guard,
    requests: &[Cell<Request>],
    any_active: bool,
    outcount: Out<c_int>,
    indices: OutArray<c_int>,
    statuses: Statuses,
) -> Result<()> {
    if !any_active {
        outcount.set(MPI_UNDEFINED);
        return Ok(());
    }
    let any_failed = guard.failures.any();
    let mut several = Several::new(cx, statuses);
    let mut done = 0;
    for (index, request) in requests.iter().enumerate() {
        if is_active(guard, request.get())? && guard.is_request_done(request.get())? {
            let outcome = complete(cx, guard, request);
            indices.set(done, index as c_int);
            statuses.at(done).set(&outcome.status);
            several.add(outcome.error, index);
            done += 1;
        } else if any_failed && let Some(error) = guard.pends_after_failure(request.get()) {
            indices.set(done, index as c_int);
            several.add(Some(error), index);
            done += 1;
        }
    }
    outcount.set(done as c_int);
    several.end()
}
