//! What calls wait for, except collective operations and windows, and how each of these waits can
//! fail. A new wait that can fail in none of these ways uses [`Unending`].

use super::{Waiting, describe};
use crate::engine::OpId;
use crate::matching::Pattern;
use crate::process::Process;
use crate::request::Active;
use oxmpi_abi::Error;
use oxmpi_abi::handle::Request;
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
}

/// Something that ends by itself, or with an operation that does.
pub struct Unending;

impl Waiting for Unending {}

/// A message for a probe.
pub struct Message(pub Pattern);

impl Waiting for Message {
    fn describe(&self, state: &Process) -> String {
        describe::pattern(state, &self.0)
    }

    fn failed(&self, state: &mut Process) -> Option<Error> {
        state.dead_source(&self.0).or_else(|| state.gone_source(&self.0))
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
