//! What is done with the plan of an operation: it is carried out, started, or kept for later starts.

use oxmpi_abi::Result;
use oxmpi_abi::constants::MPI_INFO_NULL;
use oxmpi_abi::handle::{Comm, Info, Request};
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::collective::BoundPlan;
use oxmpi_core::record;
use oxmpi_core::request::{Active, Body, Request as Made, Start};
use oxmpi_core::wait::mismatch::MismatchCheck;
use std::sync::Arc;

/// A form as a value, so that the general way of an operation is compiled once.
#[derive(Clone, Copy, Debug)]
pub enum Mode {
    Blocking,
    Nonblocking,
    Persistent(Info),
}

impl Mode {
    /// Checks the arguments that the form adds, before anything is started.
    pub fn check(self, call: &Call) -> Result<()> {
        match self {
            Mode::Persistent(info) if info != MPI_INFO_NULL => call.library().read_info(info, |_| Ok(())),
            _ => Ok(()),
        }
    }

    /// Carries the operation out, starts it, or keeps it.
    ///
    /// # Safety
    /// The bound plan's memory is the program's, for as long as the standard says for this form.
    pub(super) unsafe fn perform(
        self,
        call: &Call,
        guard: &mut Guard,
        comm: Comm,
        mut bound_plan: BoundPlan,
    ) -> Result<Option<Request>> {
        let stage = bound_plan.stage();
        let check = MismatchCheck::new(call.fun, comm, stage.root);
        let spans_nodes = guard.node_map(comm)?.is_some();
        guard.comm(comm)?.check_whole()?;
        let calls = &mut guard.comm_mut(comm)?.calls;
        calls.count(check.call());
        calls.by_messages(check.call().word());
        if spans_nodes {
            stage.tag = calls.sign(stage.tag);
        }
        stage.calls = *calls;
        let bound_plan = Arc::new(bound_plan);
        match self {
            Mode::Blocking => call.perform(guard, bound_plan, &check.counted()).map(|()| None),
            Mode::Nonblocking => {
                let promise = guard.perform_later(bound_plan);
                Ok(Some(guard.once(comm, Active::Promise(promise))))
            }
            Mode::Persistent(_) => {
                let body = Body::Persistent(Box::new(Start::Collective(bound_plan, record::kept())), None);
                Ok(Some(Request(guard.requests.insert(Made { comm, body }))))
            }
        }
    }
}
