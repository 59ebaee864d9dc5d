//! Completing requests: waits, tests, their multiple forms, freeing, cancelling, asking without completing.

use super::{check_place, slice_mut, store, store_empty, store_status};
use crate::call::{Call, On};
use crate::generated::callbacks::{GrequestCancelFn, GrequestFreeFn, GrequestQueryFn};
use crate::library::LIBRARY;
use crate::raise;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Error, Result, Status, bail};
use oxmpi_core::engine::Outcome;
use oxmpi_core::guard::Guard;
use oxmpi_core::request::Plain;
use oxmpi_core::request::{Active, Body, Generalized, Start};
use oxmpi_core::wait::waiting::Requests;
use std::ffi::{c_int, c_void};

/// Whether a request can still complete something: it is neither null nor an inactive persistent one.
fn is_active(guard: &Guard, request: Request) -> Result<bool> {
    if request == MPI_REQUEST_NULL {
        return Ok(false);
    }
    Ok(!matches!(guard.request(request)?.body, Body::Persistent(_, None)))
}

/// Ends a request that is done: frees it, or makes a persistent one inactive. Callbacks run with the lock released.
fn complete(cx: &Call, guard: &mut Guard, request: &mut Request) -> Outcome {
    let Some(found) = guard.requests.get_mut(request.0) else { return Outcome::sent() };
    let comm = found.comm;
    let outcome = match &mut found.body {
        Body::Sent => {
            *request = MPI_REQUEST_NULL;
            return Outcome::sent();
        }
        Body::Persistent(_, active) => match active.take() {
            Some(active) => active.finish(&mut guard.engine),
            None => Outcome::sent(),
        },
        Body::Once(_) | Body::Generalized(_) => {
            let handle = std::mem::replace(request, MPI_REQUEST_NULL);
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
    // SAFETY: the address was given as a function of this type to MPI_Grequest_start.
    let answer = unsafe {
        let free = std::mem::transmute::<usize, GrequestFreeFn>(generalized.free);
        free.map_or(MPI_SUCCESS, |free| free(generalized.extra_state as *mut c_void))
    };
    if answer == MPI_SUCCESS { Ok(()) } else { Err(callback_error(answer, "free")) }
}

fn query_generalized(generalized: &Generalized) -> Outcome {
    let mut outcome = Outcome::sent();
    // SAFETY: as above.
    let answer = unsafe {
        let query = std::mem::transmute::<usize, GrequestQueryFn>(generalized.query);
        query.map_or(MPI_SUCCESS, |query| query(generalized.extra_state as *mut c_void, &mut outcome.status))
    };
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

/// # Safety
/// `request` is null or points to a request.
unsafe fn one<'a>(request: *mut Request) -> Result<&'a mut Request> {
    check_place(request, "request")?;
    // SAFETY: not null.
    Ok(unsafe { &mut *request })
}

pub unsafe fn wait(cx: &Call, request: *mut Request, status: *mut Status) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: null or a request.
    let request = unsafe { one(request)? };
    // SAFETY: null or a status.
    match unsafe { wait_one(cx, &mut guard, request, status)? } {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

/// Waits for one request. Its status is stored, its error returned.
///
/// # Safety
/// `status` is null or points to a status.
#[inline]
unsafe fn wait_one(cx: &Call, guard: &mut Guard, request: &mut Request, status: *mut Status) -> Result<Option<Error>> {
    let handle = *request;
    // SAFETY: as the caller says; a status is integers, which have no invalid values.
    let place = || unsafe { status.as_mut() };
    let mut found = guard.finish_plain(handle, place());
    if let Plain::Pending = found {
        found = cx.wait(guard, &Requests(&[handle]), |process| match process.finish_plain(handle, place()) {
            Plain::Pending => None,
            other => Some(other),
        })?;
    }
    match found {
        Plain::Done => {
            *request = MPI_REQUEST_NULL;
            Ok(None)
        }
        Plain::Failed(error, comm) => {
            *request = MPI_REQUEST_NULL;
            cx.raise_on(On::Comm(comm));
            Ok(Some(error))
        }
        _ if !is_active(guard, *request)? => {
            // SAFETY: as the caller says.
            unsafe { store_empty(status) };
            Ok(None)
        }
        _ => {
            let outcome = wait_other(cx, guard, request)?;
            // SAFETY: as the caller says.
            unsafe { store_status(status, &outcome.status) };
            Ok(outcome.error)
        }
    }
}

/// Waits for an active request of another kind than a plain send or receive.
fn wait_other(cx: &Call, guard: &mut Guard, request: &mut Request) -> Result<Outcome> {
    let handle = *request;
    cx.wait(guard, &Requests(&[handle]), |process| match process.is_request_done(handle) {
        Ok(false) => None,
        Ok(true) => Some(Ok(())),
        Err(error) => Some(Err(error)),
    })??;
    Ok(complete(cx, guard, request))
}

pub unsafe fn test(cx: &Call, request: *mut Request, flag: *mut c_int, status: *mut Status) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: null or a request.
    let request = unsafe { one(request)? };
    check_place(flag, "flag")?;
    if !is_active(&guard, *request)? {
        // SAFETY: checked; null or a status.
        unsafe {
            flag.write(1);
            store_empty(status);
        }
        return Ok(());
    }
    cx.progress(&mut guard);
    let done = guard.is_request_done(*request)?;
    // SAFETY: checked; null or a status.
    unsafe {
        flag.write(c_int::from(done));
        if done {
            return super::finish(complete(cx, &mut guard, request), status);
        }
    }
    guard.yield_cpu_at_times();
    Ok(())
}

/// Every handle of an array, checked before anything else happens.
fn check_all(guard: &Guard, requests: &[Request]) -> Result<()> {
    for (index, request) in requests.iter().enumerate() {
        if *request != MPI_REQUEST_NULL {
            guard.request(*request).map_err(|error| error.within(format!("element {index} of array_of_requests")))?;
        }
    }
    Ok(())
}

/// # Safety
/// The array has `count` statuses, or is null.
unsafe fn status_at(statuses: *mut Status, index: usize) -> *mut Status {
    // SAFETY: in the array.
    if statuses.is_null() { statuses } else { unsafe { statuses.add(index) } }
}

/// Collects the outcomes of a call that completes several requests. The error fields of the statuses are written if one
/// has failed, and only then.
struct Several<'a> {
    cx: &'a Call<'a>,
    statuses: *mut Status,
    count: usize,
    /// Which of the statuses stands for a failure, and its code.
    failed: Vec<(usize, c_int)>,
    text: String,
}

impl<'a> Several<'a> {
    fn new(cx: &'a Call<'a>, statuses: *mut Status) -> Several<'a> {
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
        // A line for each.
        let class = error_class_name(error.class()).unwrap_or("an error class of the program's");
        let line = if self.text.is_empty() { "" } else { "\n" };
        self.text.push_str(&format!("{line}request {index}: {class}: {}", error.text()));
    }

    fn end(self) -> Result<()> {
        if self.failed.is_empty() {
            return Ok(());
        }
        if !self.statuses.is_null() {
            for index in 0..self.count {
                let code = self.failed.iter().find(|failed| failed.0 == index).map_or(MPI_SUCCESS, |failed| failed.1);
                // SAFETY: was stored above.
                unsafe { (*self.statuses.add(index)).error = code };
            }
        }
        Err(Error::new(MPI_ERR_IN_STATUS, self.text))
    }
}

pub unsafe fn waitall(cx: &Call, count: c_int, requests: *mut Request, statuses: *mut Status) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: as the standard asks of the caller.
    let requests = unsafe { slice_mut(requests, count, "array_of_requests")? };
    check_all(&guard, requests)?;
    let mut several = Several::new(cx, statuses);
    for (index, request) in requests.iter_mut().enumerate() {
        // SAFETY: the array of statuses is as long as that of requests, or null.
        let error = unsafe { wait_one(cx, &mut guard, request, status_at(statuses, index))? };
        several.add(error, index);
    }
    several.end()
}

pub unsafe fn testall(
    cx: &Call,
    count: c_int,
    requests: *mut Request,
    flag: *mut c_int,
    statuses: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: as the standard asks of the caller.
    let requests = unsafe { slice_mut(requests, count, "array_of_requests")? };
    check_place(flag, "flag")?;
    check_all(&guard, requests)?;
    cx.progress(&mut guard);
    let done = all_done(&mut guard, requests)?;
    // SAFETY: checked.
    unsafe { flag.write(c_int::from(done)) };
    if !done {
        guard.yield_cpu_at_times();
        return Ok(());
    }
    let mut several = Several::new(cx, statuses);
    for (index, request) in requests.iter_mut().enumerate() {
        // SAFETY: the array of statuses is as long as that of requests, or null.
        let error = unsafe { wait_one(cx, &mut guard, request, status_at(statuses, index))? };
        several.add(error, index);
    }
    several.end()
}

fn all_done(guard: &mut Guard, requests: &[Request]) -> Result<bool> {
    for request in requests {
        if is_active(guard, *request)? && !guard.is_request_done(*request)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Requests after the first one that is done that may have been done sooner.
const LOOK_AHEAD: usize = 16;

/// An active request that is done: of several mostly the first that was, so that a program that has many receives open for
/// anybody's messages sees them in the order of their arrival. `Some(None)` when none is active at all.
fn find_done(process: &mut oxmpi_core::process::Process, requests: &[Request]) -> Option<Option<usize>> {
    let mut any = false;
    let (mut found, mut lowest) = (None, u64::MAX);
    for (index, &request) in requests.iter().enumerate() {
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

pub unsafe fn waitany(
    cx: &Call,
    count: c_int,
    requests: *mut Request,
    index: *mut c_int,
    status: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: as the standard asks of the caller.
    let requests = unsafe { slice_mut(requests, count, "array_of_requests")? };
    check_place(index, "indx")?;
    check_all(&guard, requests)?;
    let found = cx.wait(&mut guard, &Requests(requests), |process| find_done(process, requests))?;
    // SAFETY: checked; null or a status.
    unsafe { end_any(cx, &mut guard, requests, found, index, status) }
}

/// # Safety
/// `index` may be written; `status` is null or a status.
unsafe fn end_any(
    cx: &Call,
    guard: &mut Guard,
    requests: &mut [Request],
    found: Option<usize>,
    index: *mut c_int,
    status: *mut Status,
) -> Result<()> {
    // SAFETY: as the caller says.
    unsafe {
        let Some(at) = found else {
            index.write(MPI_UNDEFINED);
            store_empty(status);
            return Ok(());
        };
        let outcome = complete(cx, guard, &mut requests[at]);
        index.write(at as c_int);
        super::finish(outcome, status)
    }
}

pub unsafe fn testany(
    cx: &Call,
    count: c_int,
    requests: *mut Request,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: as the standard asks of the caller.
    let requests = unsafe { slice_mut(requests, count, "array_of_requests")? };
    check_place(index, "indx")?;
    check_place(flag, "flag")?;
    check_all(&guard, requests)?;
    cx.progress(&mut guard);
    // SAFETY: checked; null or a status.
    unsafe {
        match find_done(&mut guard, requests) {
            Some(found) => {
                flag.write(1);
                end_any(cx, &mut guard, requests, found, index, status)
            }
            None => {
                flag.write(0);
                index.write(MPI_UNDEFINED);
                guard.yield_cpu_at_times();
                Ok(())
            }
        }
    }
}

pub unsafe fn waitsome(
    cx: &Call,
    incount: c_int,
    requests: *mut Request,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: as the standard asks of the caller.
    let requests = unsafe { slice_mut(requests, incount, "array_of_requests")? };
    check_some(&guard, requests, outcount, indices)?;
    let found = cx.wait(&mut guard, &Requests(requests), |process| find_done(process, requests))?;
    // SAFETY: checked; the arrays are as long as that of requests.
    unsafe { end_some(cx, &mut guard, requests, found.is_some(), outcount, indices, statuses) }
}

pub unsafe fn testsome(
    cx: &Call,
    incount: c_int,
    requests: *mut Request,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: as the standard asks of the caller.
    let requests = unsafe { slice_mut(requests, incount, "array_of_requests")? };
    check_some(&guard, requests, outcount, indices)?;
    cx.progress(&mut guard);
    let found = find_done(&mut guard, requests);
    if found.is_none() {
        guard.yield_cpu_at_times();
    }
    let any = !matches!(found, Some(None));
    // SAFETY: checked; the arrays are as long as that of requests.
    unsafe { end_some(cx, &mut guard, requests, any, outcount, indices, statuses) }
}

fn check_some(guard: &Guard, requests: &[Request], outcount: *mut c_int, indices: *mut c_int) -> Result<()> {
    check_place(outcount, "outcount")?;
    if !requests.is_empty() {
        check_place(indices, "array_of_indices")?;
    }
    check_all(guard, requests)
}

/// Completes every request that is done.
///
/// # Safety
/// `outcount` may be written; the arrays are as long as that of requests (statuses may be null).
unsafe fn end_some(
    cx: &Call,
    guard: &mut Guard,
    requests: &mut [Request],
    any_active: bool,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Result<()> {
    if !any_active {
        // SAFETY: as the caller says.
        unsafe { outcount.write(MPI_UNDEFINED) };
        return Ok(());
    }
    let mut several = Several::new(cx, statuses);
    let mut done = 0;
    for (index, request) in requests.iter_mut().enumerate() {
        if is_active(guard, *request)? && guard.is_request_done(*request)? {
            let outcome = complete(cx, guard, request);
            // SAFETY: as the caller says.
            unsafe {
                indices.add(done).write(index as c_int);
                store_status(status_at(statuses, done), &outcome.status);
            }
            several.add(outcome.error, index);
            done += 1;
        }
    }
    // SAFETY: as the caller says.
    unsafe { outcount.write(done as c_int) };
    several.end()
}

pub unsafe fn request_free(cx: &Call, request: *mut Request) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: null or a request.
    let request = unsafe { one(request)? };
    let kind = match &guard.request(*request)?.body {
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
    let handle = std::mem::replace(request, MPI_REQUEST_NULL);
    if handle == guard.sent {
        return Ok(());
    }
    if let Some(Body::Generalized(generalized)) = guard.requests.get_mut(handle.0).map(|found| &mut found.body)
        && !generalized.complete
    {
        // It ends when the program completes it.
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

pub unsafe fn cancel(cx: &Call, request: *mut Request) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: null or a request.
    let request = unsafe { one(request)? };
    guard.request(*request)?;
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
    // SAFETY: given as such a function to MPI_Grequest_start.
    let answer = guard.call_user(|| unsafe {
        let cancel = std::mem::transmute::<usize, GrequestCancelFn>(function);
        cancel.map_or(MPI_SUCCESS, |cancel| cancel(state as *mut c_void, c_int::from(complete)))
    });
    if answer == MPI_SUCCESS { Ok(()) } else { Err(callback_error(answer, "cancel")) }
}

pub unsafe fn grequest_start(
    cx: &Call,
    query_fn: GrequestQueryFn,
    free_fn: GrequestFreeFn,
    cancel_fn: GrequestCancelFn,
    extra_state: *mut c_void,
    request: *mut Request,
) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(request, "request")?;
    let address = |function: Option<usize>| function.unwrap_or(0);
    let generalized = Generalized {
        query: address(query_fn.map(|function| function as usize)),
        free: address(free_fn.map(|function| function as usize)),
        cancel: address(cancel_fn.map(|function| function as usize)),
        extra_state: extra_state as usize,
        complete: false,
        freed: false,
    };
    let body = Body::Generalized(Box::new(generalized));
    let handle = guard.requests.insert(oxmpi_core::request::Request { comm: MPI_COMM_SELF, body });
    // SAFETY: checked.
    unsafe { store(request, Request(handle), "request") }
}

pub unsafe fn grequest_complete(cx: &Call, request: Request) -> Result<()> {
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

pub unsafe fn request_get_status(cx: &Call, request: Request, flag: *mut c_int, status: *mut Status) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(flag, "flag")?;
    cx.progress(&mut guard);
    let active = is_active(&guard, request)?;
    let found = peek_status(&mut guard, request)?;
    // SAFETY: checked; null or a status.
    unsafe {
        flag.write(c_int::from(found.is_some()));
        match found {
            Some(found) if active => store_status(status, &found),
            Some(_) => store_empty(status),
            None => guard.yield_cpu_at_times(),
        }
    }
    Ok(())
}

pub unsafe fn request_get_status_all(
    cx: &Call,
    count: c_int,
    requests: *const Request,
    flag: *mut c_int,
    statuses: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: as the standard asks of the caller; the elements are only read.
    let requests = unsafe { slice_mut(requests.cast_mut(), count, "array_of_requests")? };
    check_place(flag, "flag")?;
    check_all(&guard, requests)?;
    cx.progress(&mut guard);
    let done = all_done(&mut guard, requests)?;
    // SAFETY: checked; the array of statuses is as long as that of requests, or null.
    unsafe {
        flag.write(c_int::from(done));
        for (index, request) in requests.iter().enumerate().filter(|_| done) {
            if let Some(found) = peek_status(&mut guard, *request)? {
                let to = status_at(statuses, index);
                if !to.is_null() {
                    to.write(found);
                }
            }
        }
    }
    if !done {
        guard.yield_cpu_at_times();
    }
    Ok(())
}

pub unsafe fn request_get_status_any(
    cx: &Call,
    count: c_int,
    requests: *const Request,
    index: *mut c_int,
    flag: *mut c_int,
    status: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: as the standard asks of the caller; the elements are only read.
    let requests = unsafe { slice_mut(requests.cast_mut(), count, "array_of_requests")? };
    check_place(index, "indx")?;
    check_place(flag, "flag")?;
    check_all(&guard, requests)?;
    cx.progress(&mut guard);
    let found = find_done(&mut guard, requests);
    // SAFETY: checked; null or a status.
    unsafe {
        flag.write(c_int::from(found.is_some()));
        index.write(found.flatten().map_or(MPI_UNDEFINED, |at| at as c_int));
        match found {
            Some(Some(at)) => {
                if let Some(found) = peek_status(&mut guard, requests[at])? {
                    store_status(status, &found);
                }
            }
            Some(None) => store_empty(status),
            None => guard.yield_cpu_at_times(),
        }
    }
    Ok(())
}

pub unsafe fn request_get_status_some(
    cx: &Call,
    incount: c_int,
    requests: *const Request,
    outcount: *mut c_int,
    indices: *mut c_int,
    statuses: *mut Status,
) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: as the standard asks of the caller; the elements are only read.
    let requests = unsafe { slice_mut(requests.cast_mut(), incount, "array_of_requests")? };
    check_some(&guard, requests, outcount, indices)?;
    cx.progress(&mut guard);
    let mut done = 0;
    let mut any = false;
    for (index, request) in requests.iter().enumerate() {
        if !is_active(&guard, *request)? {
            continue;
        }
        any = true;
        if let Some(found) = peek_status(&mut guard, *request)? {
            // SAFETY: the arrays are as long as that of requests (statuses may be null).
            unsafe {
                indices.add(done).write(index as c_int);
                let to = status_at(statuses, done);
                if !to.is_null() {
                    to.write(found);
                }
            }
            done += 1;
        }
    }
    if any && done == 0 {
        guard.yield_cpu_at_times();
    }
    // SAFETY: checked.
    unsafe { store(outcount, if any { done as c_int } else { MPI_UNDEFINED }, "outcount") }
}
