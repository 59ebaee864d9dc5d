//! A job that was spawned, and the processes that spawned it: what `mpirun` hears of them and tells them.

use std::time::Instant;

use oxmpi_agent::message::{ParentTies, Stop};

use super::Root;
use super::ending::Verdict;
use crate::report;
use crate::spawned::{News, Spawned};
use crate::sys;

impl Root<'_> {
    pub(super) fn hear_parents(&mut self, now: Instant) {
        let Some(spawned) = &mut self.spawned else { return };
        let (news, root) = (spawned.look(now), spawned.root());
        if self.verdict.is_some() {
            // The job may have failed before the root took it.
            return self.tell_parents();
        }
        match news {
            News::Unwanted => self.fail(Verdict::Unwanted, Stop::AtOnce),
            News::Bereft if self.is_connected() => {
                self.fail(Verdict::Orphaned(report::orphaned(root, self.live())), Stop::Failure);
                self.tell_parents();
            }
            News::Bereft | News::Nothing => {}
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        ParentTies::are_connected(self.nodes.iter().map(|node| node.ties))
    }

    /// Reports the failure of this job, once, to the processes that spawned it and are connected to it.
    pub(super) fn tell_parents(&mut self) {
        let (text, status) = match &self.verdict {
            Some(Verdict::Failed(..) | Verdict::ChildFailed(..) | Verdict::Orphaned(_) | Verdict::Lost(_)) => {
                self.ending()
            }
            _ => return,
        };
        let connected = self.is_connected();
        if let Some(spawned) = &mut self.spawned
            && spawned.is_taken()
            && connected
            && !self.takes_root_along
        {
            self.told_parents = spawned.tell(status, &text.unwrap_or_default());
            self.takes_root_along = true;
            spawned.signal_root(sys::SIGTERM);
        }
    }

    /// The final message and the status of a spawned job. Until the root has taken the job, everything is reported to the
    /// root.
    pub(super) fn conclude_spawned(
        &self,
        mut spawned: Spawned,
        text: Option<String>,
        status: i32,
    ) -> (Option<String>, i32) {
        if spawned.is_taken() {
            return (text.filter(|_| !self.told_parents), status);
        }
        let text = match (text, &self.verdict) {
            (_, Some(Verdict::Unwanted)) => return (None, 0),
            (None, None) if self.nodes.iter().all(|node| node.ties.came) => {
                spawned.await_root();
                return (None, status);
            }
            (None, None) => report::never_came(&self.program, self.size),
            (None, _) => format!("the job was stopped with status {status}"),
            (Some(text), _) => text,
        };
        let started = if self.has_run { self.size } else { 0 };
        if spawned.report(started, &text) && !spawned.tell(status, &text) {
            spawned.signal_root(sys::SIGTERM);
            return (Some(text), status);
        }
        (None, 0)
    }
}
