//! Blocking calls in which processes agree on something: the call drives the agreement while it
//! waits.

use super::mismatch::MismatchCheck;
use super::needs::Needs;
use super::{Waiting, describe};
use crate::agreement::{Agreement, AgreementIo};
use crate::call::{Call, Guard};
use crate::jobs::Jobs;
use crate::process::Process;
use oxmpi_abi::{Error, Result};
use oxmpi_base::ids::Peer;
use std::cell::RefCell;
use std::future::Future;

/// An agreement under way.
struct AgreementWait<'a, T> {
    check: Option<&'a MismatchCheck>,
    agreement: &'a RefCell<Agreement<T>>,
}

impl<T> Waiting for AgreementWait<'_, T> {
    fn describe(&self, state: &Process) -> String {
        let awaited = state.awaited_by(&self.agreement.borrow());
        awaited.map_or_else(String::new, |(peer, context)| describe::member(state, peer, context))
    }

    fn failed(&self, state: &mut Process) -> Option<Error> {
        state.fail_if_hopeless(&mut self.agreement.borrow_mut());
        None
    }

    fn awaited(&self, state: &Process) -> Vec<Peer> {
        state.awaited_by(&self.agreement.borrow()).into_iter().map(|(peer, _)| peer).collect()
    }

    fn collective(&self) -> Option<&MismatchCheck> {
        self.check
    }

    fn needs(&self, state: &Process, needs: &mut Needs) {
        state.agreement_needs(&self.agreement.borrow(), needs);
    }
}

/// Runs an agreement to its end. If a process has died, the agreement itself reports it.
pub fn run_agreement<T, F>(call: &Call, guard: &mut Guard, agreement: impl FnOnce(AgreementIo) -> F) -> Result<T>
where
    F: Future<Output = Result<T>> + Send + 'static,
{
    let agreement = &RefCell::new(Agreement::new(agreement));
    call.wait(guard, &AgreementWait { check: None, agreement }, |process| process.drive(&mut agreement.borrow_mut()))?
}

/// The same for an agreement that leaves [`Jobs`] to this thread. They are run without the lock.
pub fn run_agreement_with_jobs<T, F>(
    call: &Call,
    guard: &mut Guard,
    jobs: &Jobs,
    agreement: impl FnOnce(AgreementIo) -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>> + Send + 'static,
{
    let agreement = &RefCell::new(Agreement::new(agreement));
    loop {
        let next = call.wait(guard, &AgreementWait { check: None, agreement }, |process| {
            match process.drive(&mut agreement.borrow_mut()) {
                Some(end) => Some(Ok(end)),
                None => jobs.take().map(Err),
            }
        })?;
        match next {
            Ok(end) => return end,
            Err(job) => guard.unlocked(|_| job.run()),
        }
    }
}

/// The same for an agreement in a collective call on a communicator: an error if some ranks are in
/// another call.
pub fn run_agreement_watched<T, F>(
    call: &Call,
    guard: &mut Guard,
    check: &MismatchCheck,
    agreement: impl FnOnce(AgreementIo) -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>> + Send + 'static,
{
    let agreement = RefCell::new(Agreement::new(agreement));
    let what = AgreementWait { check: Some(check), agreement: &agreement };
    let result = call.wait(guard, &what, |process| process.drive(&mut agreement.borrow_mut()));
    if result.is_err() {
        // Leaked: its messages may still arrive.
        std::mem::forget(agreement);
    }
    result?.map_err(|error| {
        let cause = check.cause(guard, error);
        if !cause.is_of_others() {
            check.differed(guard);
        }
        cause
    })
}
