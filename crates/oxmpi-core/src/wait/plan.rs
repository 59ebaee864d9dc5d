//! Blocking collective operations that go by messages: a plan is carried out while the call waits.

use super::mismatch::MismatchCheck;
use crate::call::Call;
use crate::collective::{BoundPlan, Run, Turn};
use crate::guard::Guard;
use crate::process::Process;
use oxmpi_abi::Result;
use std::sync::Arc;

impl Call<'_> {
    /// Performs a bound plan to its end; an error if ranks are in another call. `check` is of a call that has been counted.
    pub fn perform(&self, guard: &mut Guard, bound_plan: Arc<BoundPlan>, check: &MismatchCheck) -> Result<()> {
        let mut run = Run::new(bound_plan);
        loop {
            let advance = |process: &mut Process| match process.advance(&mut run) {
                Turn::Waiting => None,
                turn => Some(turn),
            };
            let turn = self.wait(guard, check, advance);
            match turn {
                Ok(Turn::Call(call)) => self.make_call(guard, &call),
                Ok(Turn::Done(result)) => return result,
                Ok(Turn::Waiting) => {}
                Err(error) => {
                    guard.abandon(&mut run);
                    return Err(error);
                }
            }
        }
    }
}
