//! Blocking collective operations by messages: the call drives a plan while it waits.

use super::Waiting;
use super::mismatch::MismatchCheck;
use super::needs::Needs;
use crate::call::{Call, Guard};
use crate::collective::{BoundPlan, Run, Turn};
use crate::process::Process;
use oxmpi_abi::{Error, Result};
use oxmpi_base::ids::Peer;
use std::cell::RefCell;
use std::sync::Arc;

/// A plan under way.
struct PlanWait<'a> {
    check: &'a MismatchCheck,
    run: &'a RefCell<Run>,
}

impl Waiting for PlanWait<'_> {
    fn failed(&self, state: &mut Process) -> Option<Error> {
        state.hopeless_run(&self.run.borrow())
    }

    fn awaited(&self, state: &Process) -> Vec<Peer> {
        state.awaited_by_run(&self.run.borrow()).collect()
    }

    fn collective(&self) -> Option<&MismatchCheck> {
        Some(self.check)
    }

    fn needs(&self, state: &Process, needs: &mut Needs) {
        state.run_needs(&self.run.borrow(), needs);
    }
}

impl Call<'_> {
    /// Performs a bound plan to its end; an error if ranks are in another call. `check` is for a
    /// call that has been counted.
    pub fn perform(&self, guard: &mut Guard, bound_plan: Arc<BoundPlan>, check: &MismatchCheck) -> Result<()> {
        let run = RefCell::new(Run::new(bound_plan));
        loop {
            let advance = |process: &mut Process| match process.advance(&mut run.borrow_mut()) {
                Turn::Waiting => None,
                turn => Some(turn),
            };
            let turn = self.wait(guard, &PlanWait { check, run: &run }, advance);
            match turn {
                Ok(Turn::Call(call)) => self.make_call(guard, &call),
                Ok(Turn::Done(result)) => return result,
                Ok(Turn::Waiting | Turn::Part) => {}
                Err(error) => guard.abandon(&mut run.borrow_mut(), error),
            }
        }
    }
}
