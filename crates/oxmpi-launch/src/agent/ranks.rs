//! How an agent watches the ranks of its host, and ends them.

use std::collections::HashMap;
use std::time::Instant;

use oxmpi_agent::frame::BadFrame;
use oxmpi_agent::message::{FailedRank, ParentTies, RankPlace, Stop, Up};
use oxmpi_boot::spawned::Message;

use super::{Agent, Phase};
use crate::deadlock::is_traced;
use crate::findings;
use crate::report::Place;
use crate::start::Refusal;
use crate::sys;
use crate::watch::{
    AFTER_FAILURE, AFTER_INTERRUPT, AFTER_LIMIT, AFTER_QUIET_FAILURE, AT_ONCE, Death, MISSED, Steps, Watch,
};

impl Agent {
    pub(super) fn on_signal(&mut self, signal: i32, now: Instant) {
        match signal {
            sys::SIGCHLD => self.reap(now),
            sys::SIGTERM | sys::SIGHUP | sys::SIGINT | sys::SIGQUIT => {
                let text = format!("the agent received {}", sys::signal_text(signal));
                self.tell_trouble(Refusal { text, status: 128 + signal });
                if let Phase::Running(watch, _) = &mut self.phase {
                    watch.pass_on_end(signal, now);
                }
            }
            _ => {}
        }
    }

    pub(super) fn reap(&mut self, now: Instant) {
        if let Phase::Running(watch, _) = &mut self.phase {
            let failed = watch.reap();
            for (pid, status) in watch.take_others_ended() {
                self.branches.ended(pid, status, now);
            }
            let most = if self.settings.keep_going { failed.len() } else { 1 };
            failed.iter().take(most).for_each(|death| self.fail(death));
        } else {
            while let Some(pid) = sys::ended_child() {
                match sys::reap(pid) {
                    Some(status) => self.branches.ended(pid, status, now),
                    None => break,
                };
            }
        }
    }

    pub(super) fn fail(&mut self, death: &Death) {
        let Phase::Running(watch, _) = &self.phase else { return };
        if self.told_failure || watch.is_forced() {
            return;
        }
        let rank = failed_rank(watch, death);
        if death.is_late {
            // The others do not need it any more.
            return self.tell(&Up::FailedLate(rank));
        }
        if self.settings.keep_going {
            return self.go_on_after(death);
        }
        self.tell_failure(rank);
    }

    pub(super) fn tell_failure(&mut self, rank: Box<FailedRank>) {
        self.told_failure = true;
        self.tell_live();
        self.tell(&Up::Failed(rank));
    }

    /// A rank that ended without calling `MPI_Init` may be awaited on other nodes; and ranks here may wait for one of
    /// another node.
    fn look_for_missing(&mut self, now: Instant) {
        // A job that goes on goes on without it.
        let Phase::Running(watch, _) = &self.phase else { return };
        if self.settings.keep_going {
            return;
        }
        if !self.told_missing
            && let Some(death) = watch.never_came(|_| true)
        {
            let rank = failed_rank(watch, &death);
            self.told_missing = true;
            self.tell(&Up::Missing(rank));
        }
        let Phase::Running(watch, _) = &self.phase else { return };
        if self.missing.as_ref().is_some_and(|&(_, since)| now >= since + MISSED)
            && watch.is_inside_mpi()
            && !self.told_failure
            && !watch.is_forced()
            && let Some((rank, _)) = self.missing.take()
        {
            self.tell_failure(rank);
        }
    }

    pub(super) fn tell_live(&mut self) {
        self.tell_ties(false);
        if let Phase::Running(watch, _) = &self.phase
            && let running = watch.running()
            && running != self.told_live
        {
            self.told_live = running;
            let well = watch.well as u32;
            self.tell(&Up::Live { running: running as u32, well });
        }
    }

    /// Tells how the ranks are tied to the processes that spawned them, if that has changed or is told for the last time.
    fn tell_ties(&mut self, are_final: bool) {
        let (Phase::Running(watch, _), Some(known)) = (&self.phase, self.ties) else { return };
        let ties = ParentTies { are_final, ..watch.parent_ties() };
        if !known.are_final && ties != known {
            self.ties = Some(ties);
            self.tell(&Up::Ties(ties));
        }
    }

    pub(super) fn look_after_ranks(&mut self, now: Instant) {
        let Phase::Running(watch, _) = &mut self.phase else { return };
        let heard = watch.hear();
        let deaths = watch.tick(now);
        watch.send_due_signals(now);
        deaths.iter().for_each(|death| self.fail(death));
        heard.into_iter().for_each(|message| self.on_spawned(message));
        self.tell_live();
        self.look_for_missing(now);
        self.tell_findings();
        let Phase::Running(watch, _) = &mut self.phase else { return };
        let said = watch.take_said();
        let has_told = self.has_told_deaths();
        let Phase::Running(watch, _) = &mut self.phase else { return };
        let ended = watch.live == 0 && has_told && {
            self.reap(now);
            let Phase::Running(watch, _) = &mut self.phase else { return };
            let may_revive = !self.told_failure && !watch.is_stopping();
            let cleared = watch.is_cleared(may_revive, now);
            watch.send_due_signals(now);
            cleared
        };
        said.into_iter().for_each(|text| self.tell(&Up::Say(text)));
        if ended && let Phase::Running(watch, _) = &mut self.phase {
            watch.note_groups_ended();
            // What a spawned job has said last.
            let heard = watch.hear();
            heard.into_iter().for_each(|message| self.on_spawned(message));
            self.look_for_missing(now);
        }
        if ended {
            self.tell_findings();
        }
        if ended && let Phase::Running(watch, _) = &self.phase {
            let Watch { all_well, bad_child, .. } = **watch;
            self.phase = Phase::Draining { all_well, bad_child, family_is_well: self.family_is_well };
        }
    }

    /// Tells what the ranks have found wrong with the program.
    fn tell_findings(&mut self) {
        let Phase::Running(watch, _) = &self.phase else { return };
        let (lines, lost) = findings::collect(watch);
        if !lines.is_empty() || lost > 0 {
            let lines = lines.into_iter().map(|(rank, finding, place)| (rank as u32, finding.line(), place)).collect();
            self.tell(&Up::Findings { lines, lost: u32::try_from(lost).unwrap_or(u32::MAX) });
        }
    }

    /// A job that ranks have spawned has failed while it was connected to them: so does their job. Or a process of it has ended
    /// well.
    pub(super) fn on_spawned(&mut self, message: Message) {
        self.family_is_well |= matches!(message, Message::Well(_));
        let Phase::Running(watch, _) = &self.phase else { return };
        if let Message::Failed { status, text, .. } = message
            && !self.told_failure
            && !watch.is_forced()
        {
            self.told_failure = true;
            self.tell_live();
            self.tell(&Up::ChildFailed { text, status });
        }
    }

    /// A signal that the user sent to `mpirun`.
    pub(super) fn pass_on(&mut self, signal: i32, now: Instant) {
        let Phase::Running(watch, _) = &mut self.phase else { return };
        match signal {
            sys::SIGUSR1 | sys::SIGUSR2 => watch.tell_programs(signal),
            sys::SIGTSTP | sys::SIGCONT => watch.signal_everybody(signal),
            sys::SIGINT => {
                self.tell_places();
                self.stop_ranks(&AFTER_INTERRUPT, true, now);
            }
            sys::SIGTERM | sys::SIGHUP | sys::SIGQUIT => {
                watch.pass_on_end(signal, now);
                self.told_failure = true;
                self.tell_places();
            }
            _ => {}
        }
    }

    pub(super) fn stop(&mut self, how: Stop, now: Instant) -> Result<(), BadFrame> {
        if matches!(&self.phase, Phase::Idle | Phase::Ready(..)) {
            self.phase = Phase::Draining { all_well: true, bad_child: 0, family_is_well: false };
        }
        // Spawned jobs that are connected to a rank that failed end by themselves, and the others go on.
        let (steps, ends_spawned_jobs) = match how {
            Stop::Failure => (&AFTER_FAILURE, false),
            Stop::TimeLimit => (&AFTER_LIMIT, true),
            Stop::QuietFailure => (&AFTER_QUIET_FAILURE, false),
            Stop::AtOnce => (&AT_ONCE, true),
        };
        self.stop_ranks(steps, ends_spawned_jobs, now);
        Ok(())
    }

    pub(super) fn stop_ranks(&mut self, steps: &Steps, ends_spawned_jobs: bool, now: Instant) {
        self.told_failure = true;
        self.tell_ties(true);
        if let Phase::Running(watch, _) = &mut self.phase {
            watch.stop(steps, ends_spawned_jobs, now);
            watch.send_due_signals(now);
        }
    }

    pub(super) fn tell_places(&mut self) {
        let Phase::Running(watch, _) = &self.phase else { return };
        // By their numbers in the job, as the places.
        let numbers = 0..watch.ranks.list.len();
        let numbers: HashMap<usize, usize> = numbers.map(|index| (watch.number_of(index), index)).collect();
        let place = |place: Place| {
            let (state, call) = place.at.words();
            let index = numbers.get(&place.rank).copied();
            let rests = index.and_then(|index| watch.ranks.rests_since(index));
            RankPlace {
                rank: place.rank as u32,
                state,
                call,
                line: place.line,
                waits: place.waits,
                hint: index.and_then(|index| watch.ranks.hint(index)).filter(|hint| !hint.is_empty()),
                rests: rests.map(|time| time.as_millis() as u64),
                is_traced: index.and_then(|index| watch.pid_of(index)).is_some_and(is_traced),
            }
        };
        let places = watch.places().into_iter().map(place).collect();
        self.tell(&Up::Places(places));
    }
}

pub(super) fn failed_rank(watch: &Watch, death: &Death) -> Box<FailedRank> {
    let failure = watch.failure(death, 0);
    Box::new(FailedRank {
        rank: failure.rank as u32,
        text: failure.text(),
        status: failure.ending.status(),
        quiet: failure.is_quiet(),
    })
}
