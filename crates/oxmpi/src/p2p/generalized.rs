//! Generalized requests: operations that the program carries out and completes itself.

use oxmpi_abi::callbacks::{GrequestCancelFn, GrequestFreeFn, GrequestQueryFn};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_core::call::Call;
use oxmpi_core::callback::Callback;
use oxmpi_core::engine::Outcome;
use oxmpi_core::request::{Body, Generalized};
use std::ffi::c_int;

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
            return guard.call_user(|| free_generalized(cx, &generalized));
        }
    }
    Ok(())
}

/// Asks the user's functions for the status of a generalized request and lets them clean up.
pub(super) fn end_generalized(cx: &Call, generalized: &Generalized) -> Outcome {
    let mut outcome = query_generalized(cx, generalized);
    let freed = free_generalized(cx, generalized);
    outcome.error = outcome.error.or(freed.err());
    outcome
}

/// Lets the user's function clean up after a generalized request.
pub(super) fn free_generalized(cx: &Call, generalized: &Generalized) -> Result<()> {
    match generalized.free.call(generalized.extra_state) {
        MPI_SUCCESS => Ok(()),
        answer => Err(callback_error(cx, answer, "free")),
    }
}

pub(super) fn query_generalized(cx: &Call, generalized: &Generalized) -> Outcome {
    let mut outcome = Outcome::sent();
    let answer = generalized.query.call(generalized.extra_state, &mut outcome.status);
    if answer != MPI_SUCCESS {
        outcome.error = Some(callback_error(cx, answer, "query"));
    }
    outcome
}

pub(super) fn callback_error(cx: &Call, code: c_int, which: &str) -> Error {
    let class = cx.library().errors().class_of(code).unwrap_or(MPI_ERR_OTHER);
    let class = if code > MPI_ERR_LASTCODE { code } else { class };
    Error::new(class, format!("the {which} function of the generalized request returned {code}"))
}
