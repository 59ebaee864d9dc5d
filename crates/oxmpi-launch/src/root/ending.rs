//! How a job on several hosts ends: the reasons, the order to stop, the last output, the final message and the status.

use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use oxmpi_agent::frame::EVERY_NODE;
use oxmpi_agent::message::{Down, FailedRank, RankPlace, Stop};

use super::{Node, Phase, Root};
use crate::deadlock;
use crate::job;
use crate::mpir;
use crate::report::{self, Place, Where, printable};
use crate::sys;

/// Time for the agents to end their ranks. A host that does not answer is given up earlier.
pub(super) const END: Duration = Duration::from_secs(15);
/// Time for the launchers to end after the agents.
const LEAVE: Duration = Duration::from_secs(3);

/// Why the job ends before all ranks have ended well.
pub(super) enum Verdict {
    /// A rank failed, and so many others were stopped.
    Failed(FailedRank, usize),
    /// A spawned job failed while it was connected to the ranks: its text, its status, and the number of ranks that were
    /// stopped.
    ChildFailed(String, i32, usize),
    /// A host or an agent failed.
    Lost(String),
    /// `mpirun` received a signal: the number of live ranks.
    Signalled(i32, usize),
    TimedOut,
    OutputGone,
    Trouble(String, i32),
    /// Ranks wait for each other for ever.
    Deadlock(String),
    /// A spawned job that its root no longer wants.
    Unwanted,
    /// A spawned job whose parents ended while it was connected to them.
    Orphaned(String),
}

/// Agents have this long to say where their ranks are, if the job goes on.
const ANSWERS: Duration = Duration::from_secs(1);
/// The same before the job ends: on a busy machine the report had better be late than name no rank.
pub(super) const LAST_ANSWERS: Duration = Duration::from_secs(5);

impl Root<'_> {
    pub(super) fn on_failure(&mut self, mut failed: FailedRank) {
        failed.text = printable(&failed.text);
        let live = self.live();
        let how = if failed.quiet { Stop::QuietFailure } else { Stop::Failure };
        self.fail(Verdict::Failed(failed, live), how);
    }

    /// A job that ranks have spawned failed while it was connected to them.
    pub(super) fn on_child_failure(&mut self, text: String, status: i32) {
        let others = if self.settings.keep_going { 0 } else { self.live() };
        let verdict = Verdict::ChildFailed(text, status, others);
        match self.settings.keep_going {
            true => drop(self.verdict.get_or_insert(verdict)),
            false => self.fail(verdict, Stop::Failure),
        }
    }

    /// Whether nothing more is expected of a node.
    pub(super) fn is_over(&self, node: &Node) -> bool {
        matches!(node.phase, Phase::Gone | Phase::Lost) || (self.hurry && node.live == 0)
    }

    pub(super) fn live(&self) -> usize {
        self.nodes.iter().map(|node| node.live).sum()
    }

    /// Ends the job, for the first reason that there is.
    pub(super) fn fail(&mut self, verdict: Verdict, how: Stop) {
        if self.verdict.is_none() || self.stopped_at.is_none() {
            if let Verdict::Failed(failed, _) = self.verdict.get_or_insert(verdict) {
                mpir::abort(&failed.text);
            }
            self.stop(how);
        }
    }

    pub(super) fn stop(&mut self, how: Stop) {
        self.stopped_at.get_or_insert_with(Instant::now);
        // A message of this length always fits into a frame.
        let _ = self.branches.send(EVERY_NODE, &Down::Stop(how));
    }

    pub(super) fn on_signal(&mut self, signal: i32, now: Instant) {
        match signal {
            sys::SIGCHLD => self.reap(now),
            sys::SIGQUIT if self.looks_only(now) => {}
            sys::SIGINT | sys::SIGTERM | sys::SIGHUP | sys::SIGQUIT => {
                if self.stopped_at.is_some() || self.live() == 0 {
                    self.hurry = true;
                    return self.stop(Stop::AtOnce);
                }
                self.verdict = Some(Verdict::Signalled(signal, self.live()));
                if self.nodes.iter().any(|node| matches!(node.phase, Phase::Starting | Phase::Ready)) {
                    return self.stop(Stop::AtOnce);
                }
                self.stopped_at = Some(now);
                let _ = self.branches.send(EVERY_NODE, &Down::Signal(signal));
            }
            sys::SIGTSTP => {
                let _ = self.branches.send(EVERY_NODE, &Down::Signal(signal));
                let _ = self.branches.send(EVERY_NODE, &Down::Pause);
                // No heartbeat may follow: it would end the pause.
                self.branches.flush();
                sys::stop_self();
            }
            sys::SIGUSR1 | sys::SIGUSR2 | sys::SIGCONT => {
                let _ = self.branches.send(EVERY_NODE, &Down::Signal(signal));
            }
            _ => {}
        }
    }

    /// The first SIGQUIT asks the agents where the ranks are, and the job goes on; one within two seconds ends it.
    fn looks_only(&mut self, now: Instant) -> bool {
        let again = self.looked.replace(now).is_some_and(|before| now < before + job::LOOK_AGAIN);
        let runs = self.nodes.iter().all(|node| !matches!(node.phase, Phase::Starting | Phase::Ready));
        if again || self.verdict.is_some() || self.stopped_at.is_some() || self.live() == 0 || !runs {
            return false;
        }
        self.places.clear();
        self.shows_places = Some(now + ANSWERS);
        let _ = self.branches.send(EVERY_NODE, &Down::Where);
        true
    }

    /// Shows where the ranks are once all agents have said so, or after a while what is known.
    pub(super) fn show_places(&mut self, now: Instant) {
        let Some(until) = self.shows_places else { return };
        if self.verdict.is_some() {
            self.shows_places = None;
        } else if self.places.len() >= self.live() || until <= now {
            self.shows_places = None;
            let text = format!("{}:{}", report::LOOK, self.whereabouts());
            self.places.clear();
            self.say(&text);
        }
    }

    pub(super) fn reap(&mut self, now: Instant) {
        while let Some(pid) = sys::ended_child() {
            match sys::reap(pid) {
                Some(status) => self.branches.ended(pid, status, now),
                None => break,
            };
        }
    }

    pub(super) fn on_time(&mut self, now: Instant) {
        self.end_cut_off(now);
        if self.time_limit.is_some_and(|at| at <= now) {
            self.time_limit = None;
            if self.stopped_at.is_none() {
                self.verdict = Some(Verdict::TimedOut);
                self.places.clear();
                self.last_places = Some(now + LAST_ANSWERS);
                let _ = self.branches.send(EVERY_NODE, &Down::Where);
            }
        }
        // No rank is ended before all agents have answered: the end of one changes where others are.
        if self.last_places.is_some_and(|until| until <= now || self.places.len() >= self.live()) {
            self.last_places = None;
            if self.stopped_at.is_none() {
                self.stop(Stop::TimeLimit);
            }
        }
        if self.stopped_at.is_some_and(|at| now > at + END) {
            // Those that have only output left wait for its reader.
            let is_late = |node: &Node| node.live > 0 && !matches!(node.phase, Phase::Gone | Phase::Lost);
            let late: Vec<String> =
                self.nodes.iter().filter(|node| is_late(node)).map(|node| node.host.clone()).collect();
            if !late.is_empty() {
                self.say(&format!("the ranks on {} could not be ended in {} s", late.join(", "), END.as_secs()));
                self.nodes.iter_mut().filter(|node| is_late(node)).for_each(|node| node.phase = Phase::Lost);
            }
        }
    }

    /// Ends the agents, which have no ranks any more.
    pub(super) fn close(&mut self) {
        self.branches.close();
        let until = Instant::now() + LEAVE;
        loop {
            let now = Instant::now();
            while sys::next_signal(self.signals).is_some() {}
            self.reap(now);
            self.branches.work(now);
            if self.branches.have_ended() {
                return;
            }
            if now >= until {
                return self.branches.kill();
            }
            let mut fds = vec![sys::pollfd(self.signals.as_raw_fd(), sys::POLLIN)];
            if sys::poll(&mut fds, Some(until - now)).is_err() {
                return self.branches.kill();
            }
        }
    }

    /// Writes the remaining output and the final message, and returns the status.
    pub(super) fn conclude(mut self) -> i32 {
        let mut hurry = self.hurry;
        while !self.outputs.finish(Duration::from_millis(200)) && !hurry {
            while let Some(signal) = sys::next_signal(self.signals) {
                hurry |= matches!(signal, sys::SIGINT | sys::SIGTERM | sys::SIGHUP | sys::SIGQUIT);
            }
        }
        // They give the terminal back.
        self.screens.iter_mut().for_each(|screen| drop(screen.wait()));
        let (text, status) = self.ending();
        let found = self.findings.conclude(Instant::now());
        found.iter().for_each(|line| self.say(line));
        let status = self.findings.status(status);
        let (text, status) = match self.spawned.take() {
            Some(spawned) => self.conclude_spawned(spawned, text, status),
            None => (text, status),
        };
        let losses = self.outputs.losses();
        if let Some(text) = text {
            self.say(&text);
        }
        if !losses.is_empty() {
            self.say(&report::losses(&losses));
        }
        self.outputs.finish(Duration::from_secs(1));
        if losses.is_empty() || status != 0 { status } else { 1 }
    }

    pub(super) fn ending(&self) -> (Option<String>, i32) {
        match &self.verdict {
            None if let Some(late) = &self.late => (Some(late.text.clone()), late.status & 0xff),
            None if self.bad_child != 0 => (None, self.bad_child),
            None if let Some(status) = self.status_after_deaths() => (None, status),
            None => (None, i32::from(!self.all_well)),
            Some(Verdict::Failed(failed, others)) => {
                (Some(format!("{}{}", failed.text, report::stopped(*others))), failed.status & 0xff)
            }
            Some(Verdict::ChildFailed(text, status, others)) => (Some(report::child_failed(text, *others)), *status),
            Some(Verdict::Lost(text)) => (Some(text.clone()), 1),
            Some(Verdict::Signalled(signal, _)) if *signal != sys::SIGINT && self.all_well => (None, 0),
            Some(Verdict::Signalled(signal, live)) => {
                let ranks = report::ranks(*live);
                let text = format!("received {}; {ranks} stopped:{}", sys::signal_text(*signal), self.whereabouts());
                ((!self.settings.quiet && self.spawned.is_none()).then_some(text), 128 + signal)
            }
            Some(Verdict::TimedOut) => (
                Some(format!(
                    "{}:{}",
                    report::time_limit(self.settings.timeout, self.settings.timeout_of_variable),
                    self.whereabouts()
                )),
                124,
            ),
            Some(Verdict::Deadlock(text)) => (Some(text.clone()), deadlock::STATUS),
            Some(Verdict::Unwanted) => (None, 0),
            Some(Verdict::Orphaned(text)) => (Some(text.clone()), 1),
            Some(Verdict::OutputGone) => (None, 128 + sys::SIGPIPE),
            Some(Verdict::Trouble(text, status)) => (Some(text.clone()), *status),
        }
    }

    /// Where the ranks were, to follow a colon.
    pub(super) fn whereabouts(&self) -> String {
        let mut places: Vec<&RankPlace> =
            self.places.iter().filter(|place| (place.rank as usize) < self.size).collect();
        places.sort_by_key(|place| place.rank);
        places.dedup_by_key(|place| place.rank);
        let places: Vec<_> = places.into_iter().map(place).collect();
        match places.is_empty() {
            true => " the agents were being started".into(),
            false => report::places(&places, 0),
        }
    }
}

/// Where an agent says that a rank is.
pub(super) fn place(told: &RankPlace) -> Place {
    let text = |text: &Option<String>| text.as_deref().map(printable);
    let at = Where::from_words(told.state, told.call);
    Place { rank: told.rank as usize, at, line: text(&told.line), waits: text(&told.waits) }
}
