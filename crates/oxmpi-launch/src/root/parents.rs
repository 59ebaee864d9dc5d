//! A job that was spawned, and the processes that spawned it: what `mpirun` hears of them and tells them.

use std::time::{Duration, Instant};

use oxmpi_agent::message::{ParentTies, Stop};

use super::ending::Verdict;
use super::{Phase, Root};
use crate::report;
use crate::spawned::{News, Spawned, Untaken};

/// How long the agents have to say how their ranks are tied to the parents of a job that is stopped.
const PATIENCE: Duration = Duration::from_secs(1);

impl Root<'_> {
    pub(super) fn hear_parents(&mut self, now: Instant) {
        let Some(spawned) = &mut self.spawned else { return };
        let (news, root) = (spawned.look(now), spawned.root());
        if self.verdict.is_some() {
            // The job may have failed before the root took it.
            return self.tell_parents(now);
        }
        match news {
            News::Unwanted => self.fail(Verdict::Unwanted, Stop::AtOnce),
            News::Bereft if self.is_connected() && !self.settings.keep_going => {
                self.fail(Verdict::Orphaned(report::orphaned(root, self.live())), Stop::Failure);
            }
            News::Bereft | News::Nothing => {}
        }
    }

    pub(super) fn is_connected(&self) -> bool {
        ParentTies::are_connected(self.nodes.iter().map(|node| node.ties))
    }

    /// Whether the ties of all ranks are known as they were when the job was stopped. A rank that has left its parents and
    /// failed then may be heard of before the others, which have left with it.
    fn knows_ties(&self, now: Instant) -> bool {
        let is_late = self.stopped_at.is_some_and(|at| now >= at + PATIENCE);
        is_late || self.nodes.iter().all(|node| node.ties.are_final || node.phase != Phase::Running)
    }

    /// Reports the failure of this job, once, to the processes that spawned it and are connected to it.
    fn tell_parents(&mut self, now: Instant) {
        let (text, status) = match &self.verdict {
            Some(Verdict::Failed(..) | Verdict::ChildFailed(..) | Verdict::Orphaned(_) | Verdict::Lost(_)) => {
                self.ending()
            }
            _ => return,
        };
        if !self.knows_ties(now) {
            return;
        }
        let is_connected = self.is_connected();
        if let Some(spawned) = &mut self.spawned {
            spawned.fail(is_connected, status, &text.unwrap_or_default());
        }
    }

    /// The final message and the status of a spawned job.
    pub(super) fn conclude_spawned(
        &self,
        mut spawned: Spawned,
        text: Option<String>,
        status: i32,
    ) -> (Option<String>, i32) {
        if self.settings.keep_going && self.is_well() {
            spawned.tell_of_survivors();
        }
        let untaken = match &self.verdict {
            Some(Verdict::Unwanted) => Untaken::Unwanted,
            None if text.is_none() && self.nodes.iter().all(|node| node.ties.came) => Untaken::Came,
            None if text.is_none() => Untaken::NeverCame(report::never_came(&self.program, self.size)),
            _ => Untaken::Failed,
        };
        let started = if self.has_run { self.size } else { 0 };
        spawned.conclude(text, status, started, untaken, self.goes_on())
    }
}
