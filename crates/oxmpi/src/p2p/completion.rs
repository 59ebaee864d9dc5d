//! Completing one request: waiting, testing, freeing, cancelling. Several at once are in `several.rs`.

use super::finish;
use super::generalized::{callback_error, end_generalized, free_generalized};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_core::args::{Out, OutStatus};
use oxmpi_core::call::{Call, Guard, On};
use oxmpi_core::check;
use oxmpi_core::engine::Outcome;
use oxmpi_core::process::Process;
use oxmpi_core::request::{Active, Body, Plain, Start};
use oxmpi_core::wait::waiting::Requests as Awaited;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;

/// Whether a request can still complete: it is neither null nor an inactive persistent one.
pub(super) fn is_active(guard: &Guard, request: Request) -> Result<bool> {
    if request == MPI_REQUEST_NULL {
        return Ok(false);
    }
    Ok(!matches!(guard.request(request)?.body, Body::Persistent(_, None)))
}

/// Completes a request that is done: frees it, or makes a persistent one inactive.
pub(super) fn complete(cx: &Call, guard: &mut Guard, request: &Cell<Request>) -> Outcome {
    if check::is_on() {
        guard.complete_buffers(request.get().0);
        guard.end_wait(request.get().0);
    }
    let Some(found) = guard.requests.get_mut(request.get().0) else { return Outcome::sent() };
    let on = found.body.file().map_or(On::Comm(found.comm), On::File);
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
                Some(Body::Generalized(generalized)) => guard.call_user(|| end_generalized(cx, &generalized)),
                _ => Outcome::sent(),
            }
        }
    };
    guard.shared().poll_yield.found();
    if outcome.error.is_some() {
        cx.raise_on(on);
    }
    outcome
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
pub(super) fn wait_one(
    cx: &Call,
    guard: &mut Guard,
    request: &Cell<Request>,
    status: OutStatus,
) -> Result<Option<Error>> {
    let handle = request.get();
    if check::is_on() {
        guard.begin_wait(handle.0);
    }
    let mut found = status.with(|place| guard.finish_plain(handle, place));
    if let Plain::Pending = found {
        let waited = cx.wait(guard, &Awaited(&[handle]), |process| {
            match status.with(|place| process.finish_plain(handle, place)) {
                Plain::Pending => None,
                other => Some(other),
            }
        });
        found = waited.inspect_err(|_| raise_on_comm_of(cx, guard, handle))?;
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
    let is_done = |process: &mut Process| match process.is_request_done(handle) {
        Ok(false) => None,
        Ok(true) => Some(Ok(None)),
        Err(error) => Some(Err(error)),
    };
    match &guard.request(handle)?.body {
        Body::Once(Active::File(access)) => {
            let access = Arc::clone(access);
            let ready =
                |process: &mut Process| is_done(process).or_else(|| process.take_file_job(&access).map(Some).map(Ok));
            while let Some(job) = cx.wait(guard, &Awaited(&[handle]), ready)?? {
                guard.unlocked(|_| job.run());
            }
        }
        _ => {
            let waited = cx.wait(guard, &Awaited(&[handle]), is_done);
            waited.inspect_err(|_| raise_on_comm_of(cx, guard, handle))??;
        }
    }
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
        return finish(complete(cx, &mut guard, request), status);
    }
    guard.yield_cpu_at_times();
    check_pending(cx, &guard, [request.get()])
}

/// Requests were tested in vain: an error if one goes on although somebody has failed from whom its message might have come.
#[inline]
pub(super) fn check_pending(cx: &Call, guard: &Guard, requests: impl IntoIterator<Item = Request>) -> Result<()> {
    if !guard.failures.any() {
        return Ok(());
    }
    match requests.into_iter().find_map(|request| Some((request, guard.pends_after_failure(request)?))) {
        None => Ok(()),
        Some((request, error)) => {
            raise_on_comm_of(cx, guard, request);
            Err(error)
        }
    }
}

/// An error belongs to the communicator of a request.
#[cold]
fn raise_on_comm_of(cx: &Call, guard: &Guard, request: Request) {
    if let Ok(found) = guard.request(request) {
        cx.raise_on(On::Comm(found.comm));
    }
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
    if check::is_on() {
        guard.note_freed(handle.0);
        guard.forget_buffers(handle.0);
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
            return guard.call_user(|| free_generalized(cx, &generalized));
        }
        Some(Body::Persistent(start, None)) => {
            if let Start::Incoming(plan) = &*start {
                plan.forget(&mut guard.engine);
            }
            drop(start);
            guard.leave_kept_boards();
        }
        Some(Body::Sent) | None => {}
    }
    Ok(())
}

pub fn cancel(cx: &Call, request: &Cell<Request>) -> Result<()> {
    let mut guard = cx.enter()?;
    let request = request.get();
    guard.request(request)?;
    if check::is_on() {
        guard.note_cancelled(request.0);
    }
    let Process { requests, engine, .. } = &mut *guard;
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
        answer => Err(callback_error(cx, answer, "cancel")),
    }
}
