//! A job on several hosts that goes on when ranks die, as an agent sees it. It tells `mpirun` which processes of its host have
//! ended, and what the ranks say in votes; `mpirun` puts all of that into one order, in which each agent tells its ranks. So
//! whatever a rank concludes from the log of deaths and from the ballots, all others conclude the same.

use oxmpi_agent::message::{DeadRank, Up};
use oxmpi_base::death_log::{Death, End, Who};
use oxmpi_base::segment::DOOMED_PART;
use std::sync::atomic::Ordering::Relaxed;

use super::ranks::failed_rank;
use super::{Agent, Phase};
use crate::deaths::{Doom, News};
use crate::report::Ending;
use crate::sys;
use crate::watch::{self, Watch};

/// The ends of the processes of this host.
pub(super) struct LocalDeaths {
    pub news: News,
    /// So many have not been told.
    pub untold: usize,
}

impl Agent {
    /// A rank has failed, and the others go on, unless it has ended the job.
    pub(super) fn go_on_after(&mut self, death: &watch::Death) {
        let is_abort = matches!(death.ending, Ending::Abort(_));
        if is_abort {
            // It may have said whom it ends on other hosts.
            self.hear_ranks();
        }
        let Phase::Running(watch, _) = &mut self.phase else { return };
        watch.miss_no_longer(death);
        let doom = watch.doom(death);
        let rank = failed_rank(watch, death);
        if is_abort && doom != Doom::Part {
            return self.tell_failure(rank);
        }
        if doom != Doom::Nobody && !is_abort {
            // It was told with the call that has ended it.
            return;
        }
        let ended = if is_abort { watch.kill_doomed() as u32 } else { 0 };
        let is_no_mpi = matches!(death.ending, Ending::Exit(_)) && watch.failure(death, 0).at.never_came();
        self.tell_live();
        self.tell(&Up::FailedAlone { rank, ended, is_no_mpi });
    }

    /// Tells `mpirun` of processes of this host that have ended.
    pub(super) fn tell_deaths(&mut self) {
        let (Phase::Running(watch, _), Some(deaths)) = (&self.phase, &mut self.deaths) else { return };
        let dead = |Death { who, end, status }: Death| {
            let Who::Here(slot) = who else { return None };
            let rank = (0..watch.ranks.list.len()).find(|&index| watch.ranks.slot(index) == slot)?;
            Some(DeadRank { rank: watch.number_of(rank) as u32, has_left: end == End::Left, status })
        };
        let dead: Vec<DeadRank> = deaths.news.take().into_iter().filter_map(dead).collect();
        deaths.untold = deaths.untold.saturating_sub(dead.len());
        if !dead.is_empty() {
            self.tell(&Up::Deaths(dead));
        }
    }

    /// Whether `mpirun` knows of all processes that have ended here.
    pub(super) fn has_told_deaths(&self) -> bool {
        self.deaths.as_ref().is_none_or(|deaths| deaths.untold == 0)
    }

    /// `mpirun` says which processes of the job have ended, on all hosts.
    pub(super) fn hear_of_deaths(&mut self, dead: &[DeadRank]) {
        let Phase::Running(watch, _) = &self.phase else { return };
        let who = |rank: usize| match index_of(watch, rank) {
            Some(index) => Who::Here(watch.ranks.slot(index)),
            None => Who::Elsewhere(rank),
        };
        let death = |&DeadRank { rank, has_left, status }: &DeadRank| Death {
            who: who(rank as usize),
            end: if has_left { End::Left } else { End::Failed },
            status,
        };
        watch.ranks.segment().tell_of_deaths(&dead.iter().map(death).collect::<Vec<_>>());
    }

    /// A context was revoked on some host.
    pub(super) fn hear_of_revoked(&self, context: u32) {
        let Phase::Running(watch, _) = &self.phase else { return };
        let segment = watch.ranks.segment();
        segment.revoke(context);
        segment.ring_and_wake(0..segment.ranks());
    }

    /// Ends ranks of which another host's rank has aborted a communicator.
    pub(super) fn end_doomed(&mut self, slots: &[u32]) {
        let Phase::Running(watch, _) = &mut self.phase else { return };
        let segment = watch.ranks.segment();
        let blocks = slots.iter().filter_map(|&slot| segment.get(slot as usize));
        blocks.for_each(|block| block.doomed.store(DOOMED_PART, Relaxed));
        watch.kill_doomed();
    }

    /// Another rank has lost its link to one of this host: says whether that one lives, after the deaths that are known.
    pub(super) fn tell_whether_it_lives(&mut self, slot: u32) {
        self.tell_deaths();
        let Phase::Running(watch, _) = &self.phase else { return };
        let index = (0..watch.ranks.list.len()).find(|&index| watch.ranks.slot(index) == slot as usize);
        if index.is_some_and(|index| !watch.has_ended(index)) {
            self.tell(&Up::Lives(slot));
        }
    }

    /// Ends one rank, which has lost its link to another.
    pub(super) fn end_rank(&self, slot: usize) {
        let Phase::Running(watch, _) = &self.phase else { return };
        let index = (0..watch.ranks.list.len()).find(|&index| watch.ranks.slot(index) == slot);
        if let Some(pid) = index.and_then(|index| watch.pid_of(index)) {
            sys::kill(pid, sys::SIGKILL);
        }
    }
}

/// The index of a rank of this host.
fn index_of(watch: &Watch, rank: usize) -> Option<usize> {
    (0..watch.ranks.list.len()).find(|&index| watch.number_of(index) == rank)
}
