//! Blocking calls in which processes agree on something: the agreement is driven while the call waits.

use super::mismatch::MismatchCheck;
use super::waiting::Unending;
use crate::agreement::{Agreement, Line};
use crate::call::Call;
use crate::guard::Guard;
use oxmpi_abi::Result;
use oxmpi_abi::constants::MPI_ERR_PROC_ABORTED;
use std::future::Future;

/// Runs an agreement to its end. When a process has died, the agreement says so itself.
pub fn run_agreement<T, F>(call: &Call, guard: &mut Guard, agreement: impl FnOnce(Line) -> F) -> Result<T>
where
    F: Future<Output = Result<T>> + Send + 'static,
{
    let mut agreement = Agreement::new(agreement);
    call.wait(guard, &Unending, |process| process.drive(&mut agreement))?
}

/// The same for one that the ranks of a communicator make in a collective call: an error if some ranks are in another call.
pub fn run_agreement_watched<T, F>(
    call: &Call,
    guard: &mut Guard,
    check: &MismatchCheck,
    agreement: impl FnOnce(Line) -> F,
) -> Result<T>
where
    F: Future<Output = Result<T>> + Send + 'static,
{
    let mut agreement = Agreement::new(agreement);
    let result = call.wait(guard, check, |process| process.drive(&mut agreement));
    if result.is_err() {
        // Its messages may still come.
        std::mem::forget(agreement);
    }
    result?.map_err(|error| {
        let cause = check.cause(guard, error);
        if cause.class() != MPI_ERR_PROC_ABORTED {
            check.differed(guard);
        }
        cause
    })
}
