//! A job that goes on when ranks die (`--with-ft`): each death is told when it happens, and the status of the job is that of
//! those who are left. `MPI_Abort` ends only the ranks of its communicator.

use std::time::Instant;

use crate::deaths::Doom;
use crate::report::{self, Ending, Failure};
use crate::spawned::Spawned;
use crate::watch::{AFTER_FAILURE, Death};

use super::{Job, Verdict};

/// What has happened to the job and to those that it spawned.
#[derive(Default)]
pub(super) struct Deaths {
    /// The last failure.
    last: Option<Failure>,
    /// A process of a spawned job has ended well.
    pub(super) family_is_well: bool,
    /// The job ends, and with it those that it spawned and those that spawned it.
    pub(super) ends_family: bool,
}

impl Job<'_> {
    /// Whether the other ranks go on when one fails. A spawned job that the root has not taken ends, so that the root
    /// hears of the failure.
    pub(super) fn goes_on(&self) -> bool {
        self.settings.keep_going && self.spawned.as_ref().is_none_or(Spawned::is_taken)
    }

    /// A rank has failed, and the others go on, unless it has ended the job.
    pub(super) fn go_on_after(&mut self, death: &Death, now: Instant) {
        self.watch.miss_no_longer(death);
        self.deadlocks.forget();
        let others = self.watch.others(death);
        let failure = self.watch.failure(death, others);
        let is_abort = matches!(death.ending, Ending::Abort(_));
        let doom = self.watch.doom(death);
        if is_abort && doom != Doom::Part {
            self.deaths.ends_family = doom == Doom::Nobody;
            self.verdict = Some(Verdict::Failed(failure));
            self.tell_parents();
            return self.stop(&AFTER_FAILURE, now);
        }
        if doom != Doom::Nobody && !is_abort {
            // It was told with the call that has ended it.
            return;
        }
        let failure = Failure { others: 0, ..failure };
        if matches!(death.ending, Ending::Exit(_)) && failure.at.never_came() {
            // No process of MPI: its status counts.
            self.late.get_or_insert(failure);
            return;
        }
        let ended = if is_abort { self.watch.kill_doomed() } else { 0 };
        let is_last = others == ended && self.watch.well == 0;
        self.outputs.say(&format!("{}{}", failure.text(), report::go_on(ended, others - ended, is_last)));
        self.deaths.last = Some(failure);
    }

    /// The status of a job of which no rank has ended the others.
    pub(super) fn status_after_deaths(&self) -> i32 {
        let is_spawned = self.spawned.as_ref().is_some_and(Spawned::is_looked_after);
        let some_are_well = self.watch.well > 0 || self.deaths.family_is_well || is_spawned;
        match &self.deaths.last {
            Some(failure) if !some_are_well => failure.ending.status(),
            _ => self.watch.bad_child,
        }
    }

    /// Whether a process of this job, or of one that it spawned, has ended well.
    pub(super) fn is_well(&self) -> bool {
        self.watch.well > 0 || self.deaths.family_is_well
    }

    /// Why a spawned job has ended before its ranks came to their parents.
    pub(super) fn last_death(&self) -> Option<String> {
        self.deaths.last.as_ref().map(Failure::text)
    }
}
