//! The contexts that this process uses, and drawing one that it does not use.

use super::{BETWEEN_BITS, Proposal};
use crate::process::Process;
use crate::request::{Body, Start};

impl Process {
    /// A context that nothing here uses, from this process's share or from those between jobs.
    pub(crate) fn draw_context(&mut self, between_jobs: bool) -> Option<Proposal> {
        let bits = if between_jobs { BETWEEN_BITS } else { self.contexts.bits };
        for _ in 0..1u64 << bits {
            let proposal = if between_jobs { self.contexts.draw_between() } else { self.contexts.draw() };
            if !proposal.used || !self.uses_context(proposal.context) {
                return Some(proposal);
            }
        }
        None
    }

    /// Holds a context for an agreement; `false` when it is used or held here.
    pub(crate) fn reserve_context(&mut self, context: u32) -> bool {
        !self.uses_context(context) && self.contexts.reserved.insert(context)
    }

    /// Whether this process uses a context or its twin.
    pub fn uses_context(&self, context: u32) -> bool {
        let ours = |other: u32| other & !1 == context;
        let starts = |start: &Start| match start {
            Start::Send { route, .. } | Start::Buffered { route, .. } => ours(route.context),
            Start::Recv { pattern, .. } => ours(pattern.context),
            Start::Collective(bound_plan, _) => ours(bound_plan.context()),
            Start::OnBoard(operation, _) => ours(operation.context()),
            Start::Outgoing(plan) => plan.context().is_some_and(ours),
            Start::Incoming(plan) => ours(plan.context()),
            Start::Nothing(_) => false,
        };
        self.comms.made.iter().any(|(_, comm)| comm.context == context)
            || self.files.iter().any(|(_, file)| file.comm.context == context)
            || self.messages.iter().any(|(_, (envelope, ..))| ours(envelope.context))
            || self.requests.iter().any(|(_, request)| match &request.body {
                Body::Persistent(start, _) => starts(start),
                Body::Once(_) | Body::Sent | Body::Generalized(_) => false,
            })
            || self.performs_on(context)
            || self.failures.is_revoked(context)
            || self.old_places.iter().any(|old| old.context == context)
            || self.votes.iter().any(|vote| vote.context == context)
            || self.engine.uses_context(context)
    }
}
