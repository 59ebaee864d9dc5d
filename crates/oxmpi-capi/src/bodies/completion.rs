//! Completing requests: waits, tests, freeing, cancelling, and status queries.

use crate::args::{Out, OutArray, OutStatus, Requests, Statuses};
use crate::call::{Call, On};
use crate::library::LIBRARY;
use crate::raise;
use oxmpi_abi::callbacks::{GrequestCancelFn, GrequestFreeFn, GrequestQueryFn};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Error, Result, Status, bail};
use oxmpi_core::callback::Callback;
use oxmpi_core::engine::Outcome;
use oxmpi_core::guard::Guard;
use oxmpi_core::request::Plain;
use oxmpi_core::request::{Active, Body, Generalized, Start};
use oxmpi_core::wait::waiting::{AnyRequest, Requests as Awaited};
use std::cell::Cell;
use std::ffi::c_int;

/// Whether a request can still complete: it is neither null nor an inactive persistent one.
fn is_active(guard: &Guard, request: Request) -> Result<bool> {
    if request == MPI_REQUEST_NULL {
        return Ok(false);
    }
    Ok(!matches!(guard.request(request)?.body, Body::Persistent(_, None)))
}

/// Completes a request that is done: frees it, or makes a persistent one inactive.
fn complete(cx: &Call, guard: &mut Guard, request: &Cell<Request>) -> Outcome {
    let Some(found) = guard.requests.get_mut(request.get().0) else { return Outcome::sent() };
    let comm = found.comm;
    let outcome = match &mut found.body {
        Body::Sent => {
            request.set(MPI_REQUEST_NULL);
            return Outcome::sent();
        }
        Body::Persistent(_, active) => match active.take() {
            Some(active) => active.finish(&mut guard.engine),
            None => Outcome::sent(),
        },
        Body::Once(_) | Body::Generalized(_) => {
            let handle = request.replace(MPI_REQUEST_NULL);
            match guard.requests.remove(handle.0).map(|removed| removed.body) {
                Some(Body::Once(active)) => active.finish(&mut guard.engine),
                Some(Body::Generalized(generalized)) => guard.call_user(|| end_generalized(&generalized)),
                _ => Outcome::sent(),
            }
        }
    };
    guard.shared().occupancy.found();
    if outcome.error.is_some() {
        cx.raise_on(On::Comm(comm));
    }
    outcome
}

/// Asks the user's functions for the status of a generalized request and lets them clean up.
fn end_generalized(generalized: &Generalized) -> Outcome {
    let mut outcome = query_generalized(generalized);
    let freed = free_generalized(generalized);
    outcome.error = outcome.error.or(freed.err());
    outcome
}

/// Lets the user's function clean up after a generalized request.
fn free_generalized(generalized: &Generalized) -> Result<()> {
    match generalized.free.call(generalized.extra_state) {
        MPI_SUCCESS => Ok(()),
        answer => Err(callback_error(answer, "free")),
    }
}

fn query_generalized(generalized: &Generalized) -> Outcome {
    let mut outcome = Outcome::sent();
    let answer = generalized.query.call(generalized.extra_state, &mut outcome.status);
    if answer != MPI_SUCCESS {
        outcome.error = Some(callback_error(answer, "query"));
    }
    outcome
}

fn callback_error(code: c_int, which: &str) -> Error {
    let class = LIBRARY.errors().class_of(code).unwrap_or(MPI_ERR_OTHER);
    let class = if code > MPI_ERR_LASTCODE { code } else { class };
    Error::new(class, format!("the {which} function of the generalized request returned {code}"))
}

#[inline(always)]
pub fn wait(cx: &Call, request: &Cell<Request>, status: OutStatus) -> Result<()> {
    let mut guard = cx.enter()?;
    match wait_one(cx, &mut guard, request, status)? {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

/// Waits for one request. Its status is stored, its error returned.
#[inline]
fn wait_one(cx: &Call, guard: &mut Guard, request: &Cell<Request>, status: OutStatus) -> Result<Option<Error>> {
    let handle = request.get();
    let mut found = status.with(|place| guard.finish_plain(handle, place));
    if let Plain::Pending = found {
        found = cx.wait(guard, &Awaited(&[handle]), |process| {
            match status.with(|place| process.finish_plain(handle, place)) {
                Plain::Pending => None,
                other => Some(other),
            }
        })?;
    }
    match found {
        Plain::Done => {
            request.set(MPI_REQUEST_NULL);
            Ok(None)
        }
        Plain::Failed(error, comm) => {
            request.set(MPI_REQUEST_NULL);
            cx.raise_on(On::Comm(comm));
            Ok(Some(error))
        }
        _ if !is_active(guard, handle)? => {
            status.set_empty();
            Ok(None)
        }
        _ => {
            let outcome = wait_other(cx, guard, request)?;
            status.set(&outcome.status);
            Ok(outcome.error)
        }
    }
}

/// Waits for an active request of another kind than a plain send or receive.
fn wait_other(cx: &Call, guard: &mut Guard, request: &Cell<Request>) -> Result<Outcome> {
    let handle = request.get();
    cx.wait(guard, &Awaited(&[handle]), |process| match process.is_request_done(handle) {
        Ok(false) => None,
        Ok(true) => Some(Ok(())),
        Err(error) => Some(Err(error)),
    })??;
    Ok(complete(cx, guard, request))
}

#[inline(always)]
pub fn test(cx: &Call, request: &Cell<Request>, flag: Out<c_int>, status: OutStatus) -> Result<()> {
    let mut guard = cx.enter()?;
    flag.check("flag")?;
    if !is_active(&guard, request.get())? {
        flag.set(1);
        status.set_empty();
        return Ok(());
    }
    cx.progress(&mut guard);
    let done = guard.is_request_done(request.get())?;
    flag.set(c_int::from(done));
    if done {
        return super::finish(complete(cx, &mut guard, request), status);
    }
    guard.yield_cpu_at_times();
    Ok(())
}

/// Checks every handle of an array before anything else happens.
fn check_all(guard: &Guard, requests: &[Cell<Request>]) -> Result<()> {
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
        let code = LIBRARY.errors().code_for(error, self.cx.fun.name());
        raise::note_status_code(code);
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
        Err(Error::new(MPI_ERR_IN_STATUS, self.text))
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
    for (index, request) in requests.iter().enumerate() {
        let error = wait_one(cx, guard, request, statuses.at(index))?;
        several.add(error, index);
    }
    several.end()
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
        return Ok(());
    }
    wait_all(cx, &mut guard, requests, array_of_statuses)
}

fn all_done(guard: &mut Guard, requests: &[Cell<Request>]) -> Result<bool> {
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
fn find_done(process: &mut oxmpi_core::process::Process, requests: &[Cell<Request>]) -> Option<Option<usize>> {
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
    let found = cx.wait(&mut guard, &AnyRequest(requests), |process| find_done(process, requests))?;
    end_any(cx, &mut guard, requests, found, indx, status)
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
    super::finish(outcome, status)
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
        return Ok(());
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
    let found = cx.wait(&mut guard, &AnyRequest(requests), |process| find_done(process, requests))?;
    end_some(cx, &mut guard, requests, found.is_some(), outcount, array_of_indices, array_of_statuses)
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

fn check_some(guard: &Guard, requests: &[Cell<Request>], outcount: Out<c_int>, indices: OutArray<c_int>) -> Result<()> {
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
    let mut several = Several::new(cx, statuses);
    let mut done = 0;
    for (index, request) in requests.iter().enumerate() {
        if is_active(guard, request.get())? && guard.is_request_done(request.get())? {
            let outcome = complete(cx, guard, request);
            indices.set(done, index as c_int);
            statuses.at(done).set(&outcome.status);
            several.add(outcome.error, index);
            done += 1;
        }
    }
    outcount.set(done as c_int);
    several.end()
}

pub fn request_free(cx: &Call, request: &Cell<Request>) -> Result<()> {
    let mut guard = cx.enter()?;
    let kind = match &guard.request(request.get())?.body {
        Body::Once(Active::Promise(_)) | Body::Persistent(_, Some(Active::Promise(_))) => Some("collective"),
        Body::Persistent(_, Some(Active::Sending(_) | Active::Receiving(_))) => Some("partitioned"),
        _ => None,
    };
    if let Some(kind) = kind {
        bail!(
            MPI_ERR_REQUEST,
            "the request belongs to a pending {kind} operation: complete it first, for example with MPI_Wait"
        );
    }
    let handle = request.replace(MPI_REQUEST_NULL);
    if handle == guard.sent {
        return Ok(());
    }
    if let Some(Body::Generalized(generalized)) = guard.requests.get_mut(handle.0).map(|found| &mut found.body)
        && !generalized.complete
    {
        // It is freed when the program completes it.
        generalized.freed = true;
        return Ok(());
    }
    match guard.requests.remove(handle.0).map(|removed| removed.body) {
        Some(Body::Once(active) | Body::Persistent(_, Some(active))) => active.detach(&mut guard.engine),
        Some(Body::Generalized(generalized)) => {
            return guard.call_user(|| free_generalized(&generalized));
        }
        Some(Body::Persistent(start, None)) => {
            if let Start::Incoming(plan) = *start {
                plan.forget(&mut guard.engine);
            }
        }
        Some(Body::Sent) | None => {}
    }
    Ok(())
}

pub fn cancel(cx: &Call, request: &Cell<Request>) -> Result<()> {
    let mut guard = cx.enter()?;
    let request = request.get();
    guard.request(request)?;
    let oxmpi_core::process::Process { requests, engine, .. } = &mut *guard;
    let (function, state, complete) = match requests.get_mut(request.0).map(|found| &mut found.body) {
        Some(Body::Once(active) | Body::Persistent(_, Some(active))) => {
            if active.cancel(engine) {
                return Ok(());
            }
            bail!(MPI_ERR_REQUEST, "only sends, receives and generalized requests can be cancelled")
        }
        Some(Body::Persistent(_, None)) => bail!(MPI_ERR_REQUEST, "the persistent request is not active"),
        Some(Body::Generalized(generalized)) => (generalized.cancel, generalized.extra_state, generalized.complete),
        Some(Body::Sent) | None => return Ok(()),
    };
    match guard.call_user(|| function.call(state, complete)) {
        MPI_SUCCESS => Ok(()),
        answer => Err(callback_error(answer, "cancel")),
    }
}

pub fn grequest_start(
    cx: &Call,
    query_fn: Callback<GrequestQueryFn>,
    free_fn: Callback<GrequestFreeFn>,
    cancel_fn: Callback<GrequestCancelFn>,
    extra_state: usize,
) -> Result<Request> {
    let mut guard = cx.enter()?;
    let generalized =
        Generalized { query: query_fn, free: free_fn, cancel: cancel_fn, extra_state, complete: false, freed: false };
    let body = Body::Generalized(Box::new(generalized));
    Ok(Request(guard.requests.insert(oxmpi_core::request::Request { comm: MPI_COMM_SELF, body })))
}

pub fn grequest_complete(cx: &Call, request: Request) -> Result<()> {
    let mut guard = cx.enter()?;
    guard.request(request)?;
    let freed = match guard.requests.get_mut(request.0).map(|found| &mut found.body) {
        Some(Body::Generalized(generalized)) if generalized.complete => {
            bail!(MPI_ERR_REQUEST, "the generalized request is complete already")
        }
        Some(Body::Generalized(generalized)) => {
            generalized.complete = true;
            generalized.freed
        }
        _ => bail!(MPI_ERR_REQUEST, "the request is not a generalized one"),
    };
    if freed {
        let removed = guard.requests.remove(request.0);
        if let Some(Body::Generalized(generalized)) = removed.map(|removed| removed.body) {
            return guard.call_user(|| free_generalized(&generalized));
        }
    }
    Ok(())
}

/// The status that a request would complete with, without completing it; `None` while it is not done.
fn peek_status(guard: &mut Guard, request: Request) -> Result<Option<Status>> {
    if !is_active(guard, request)? {
        return Ok(Some(Status::empty()));
    }
    if !guard.is_request_done(request)? {
        return Ok(None);
    }
    let generalized = match &guard.request(request)?.body {
        Body::Once(active) | Body::Persistent(_, Some(active)) => return Ok(Some(active.peek(&guard.engine))),
        Body::Sent | Body::Persistent(_, None) => return Ok(Some(Status::empty())),
        Body::Generalized(generalized) => **generalized,
    };
    let outcome = guard.call_user(|| query_generalized(&generalized));
    match outcome.error {
        None => Ok(Some(outcome.status)),
        Some(error) => Err(error),
    }
}

pub fn request_get_status(cx: &Call, request: Request, status: OutStatus) -> Result<bool> {
    let mut guard = cx.enter()?;
    cx.progress(&mut guard);
    let active = is_active(&guard, request)?;
    let found = peek_status(&mut guard, request)?;
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
        if let Some(found) = peek_status(&mut guard, request.get())? {
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
            if let Some(found) = peek_status(&mut guard, requests[at].get())? {
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
        if let Some(found) = peek_status(&mut guard, request)? {
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
