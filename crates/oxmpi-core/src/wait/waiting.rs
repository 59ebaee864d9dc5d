//! What calls wait for, except collective operations and windows, and how each of these waits can
//! fail. A new wait that can fail in none of these ways uses [`Unending`].

use super::needs::Needs;
use super::{Waiting, describe};
use crate::engine::OpId;
use crate::matching::Pattern;
use crate::process::Process;
use crate::request::Active;
use oxmpi_abi::Error;
use oxmpi_abi::handle::{Comm, Request};
use std::cell::Cell;
use std::cell::RefCell;
use std::time::Duration;

/// A send or a receive. When its peer has died it ends by itself: see `liveness.rs`.
pub struct Operation(pub OpId);

impl Waiting for Operation {
    fn describe(&self, state: &Process) -> String {
        describe::operation(state, self.0)
    }

    fn failed(&self, state: &mut Process) -> Option<Error> {
        state.fail_operation(self.0);
        None
    }

    fn lost(&self, state: &mut Process) -> Option<Error> {
        state.end_lost(self.0);
        None
    }

    fn needs(&self, state: &Process, needs: &mut Needs) {
        state.operation_needs(self.0, needs);
    }

    fn hint(&self, state: &Process) -> String {
        describe::near_miss_of(state, self.0)
    }
}

/// A send and a receive that have no request.
pub struct Started<'a>(pub &'a RefCell<Active>);

impl Waiting for Started<'_> {
    fn describe(&self, state: &Process) -> String {
        describe::active(state, &self.0.borrow())
    }

    fn failed(&self, state: &mut Process) -> Option<Error> {
        state.fail_active(&self.0.borrow());
        None
    }

    fn lost(&self, state: &mut Process) -> Option<Error> {
        state.end_lost_active(&self.0.borrow());
        None
    }

    fn needs(&self, state: &Process, needs: &mut Needs) {
        state.active_needs(&self.0.borrow(), needs);
    }

    fn hint(&self, state: &Process) -> String {
        describe::near_miss_of_active(state, &self.0.borrow())
    }
}

/// One of some requests.
pub struct Requests<'a>(pub &'a [Request]);

impl Waiting for Requests<'_> {
    fn describe(&self, state: &Process) -> String {
        describe::requests(state, self.0)
    }

    fn failed(&self, state: &mut Process) -> Option<Error> {
        state.fail_requests(self.0);
        None
    }

    fn lost(&self, state: &mut Process) -> Option<Error> {
        self.0.iter().find_map(|request| state.pends_after_failure(*request))
    }

    fn needs(&self, state: &Process, needs: &mut Needs) {
        state.requests_needs(self.0, needs);
    }

    fn hint(&self, state: &Process) -> String {
        describe::near_miss_of_requests(state, self.0)
    }
}

/// As [`Requests`], for an array of requests in the program's memory.
pub struct AnyRequest<'a>(pub &'a [Cell<Request>]);

impl AnyRequest<'_> {
    fn with<R>(&self, ask: impl FnOnce(&[Request]) -> R) -> R {
        ask(&self.0.iter().map(Cell::get).collect::<Vec<_>>())
    }
}

impl Waiting for AnyRequest<'_> {
    fn describe(&self, state: &Process) -> String {
        self.with(|requests| describe::requests(state, requests))
    }

    fn failed(&self, state: &mut Process) -> Option<Error> {
        self.with(|requests| state.fail_requests(requests));
        None
    }

    fn lost(&self, state: &mut Process) -> Option<Error> {
        self.0.iter().find_map(|request| state.pends_after_failure(request.get()))
    }

    fn needs(&self, state: &Process, needs: &mut Needs) {
        self.with(|requests| state.requests_needs(requests, needs));
    }

    fn hint(&self, state: &Process) -> String {
        self.with(|requests| describe::near_miss_of_requests(state, requests))
    }
}

/// Something that ends by itself, or with an operation that does.
pub struct Unending;

impl Waiting for Unending {}

/// Something that goes on in the background, such as accesses to a file, and can fail in none of these ways.
pub struct InBackground;

impl Waiting for InBackground {
    /// What goes on in the background is always looked at.
    fn needs(&self, _state: &Process, _needs: &mut Needs) {}
}

/// All that is under way on a communicator that is left.
pub struct Leaving {
    /// The requests that were started on it.
    requests: Vec<Request>,
}

impl Leaving {
    pub fn of(state: &Process, comm: Comm) -> Leaving {
        let started = state.requests.iter().filter(|(_, request)| request.comm == comm);
        Leaving { requests: started.map(|(started, _)| Request(started)).collect() }
    }

    /// Whether the requests are complete, or freed.
    pub fn is_done(&self, state: &mut Process) -> bool {
        self.requests.iter().all(|&request| state.is_request_done(request).unwrap_or(true))
    }
}

impl Waiting for Leaving {
    fn describe(&self, state: &Process) -> String {
        describe::requests(state, &self.requests)
    }

    fn needs(&self, state: &Process, needs: &mut Needs) {
        state.requests_needs(&self.requests, needs);
        // A message that has matched does not know its communicator: more are named than are waited for.
        needs.peers(state.engine.awaited_receivers());
        state.engine.posted_patterns().for_each(|pattern| state.any_pattern_needs(&pattern, needs));
    }
}

/// Messages of this rank that others must receive.
pub struct Receivers;

impl Waiting for Receivers {
    fn describe(&self, state: &Process) -> String {
        describe::receivers(state)
    }

    fn needs(&self, state: &Process, needs: &mut Needs) {
        needs.peers(state.engine.awaited_receivers());
    }
}

/// A message for a probe.
pub struct Message(pub Pattern);

impl Waiting for Message {
    fn describe(&self, state: &Process) -> String {
        describe::pattern(state, &self.0)
    }

    fn failed(&self, state: &mut Process) -> Option<Error> {
        state.dead_source(&self.0).or_else(|| state.gone_source(&self.0))
    }

    fn lost(&self, state: &mut Process) -> Option<Error> {
        state.lost_source(&self.0, true)
    }

    fn needs(&self, state: &Process, needs: &mut Needs) {
        state.pattern_needs(&self.0, needs);
    }

    fn hint(&self, state: &Process) -> String {
        describe::near_miss(state, &self.0)
    }
}

/// Something of which only the caller knows whether it can still come; asked at this interval.
pub struct Asking<F>(Duration, RefCell<F>);

impl<F: FnMut(&mut Process) -> Option<Error>> Asking<F> {
    pub fn new(longest_sleep: Duration, never: F) -> Asking<F> {
        Asking(longest_sleep, RefCell::new(never))
    }
}

impl<F: FnMut(&mut Process) -> Option<Error>> Waiting for Asking<F> {
    fn failed(&self, state: &mut Process) -> Option<Error> {
        self.1.borrow_mut()(state)
    }

    fn longest_sleep(&self) -> Duration {
        self.0
    }
}
