//! A job on this machine alone: the event loop over output and input of the ranks, signals, ended
//! processes, deadlines. It blocks only in `poll`, and it does not return while a process of the job
//! is left. `watch.rs` has the processes, `report.rs` the texts about the end of a job.

mod going_on;

use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use oxmpi_agent::door::Door;
use oxmpi_agent::message::ParentTies;
use oxmpi_agent::one_sided::Workers;
use oxmpi_boot::spawned::Message;

use crate::deadlock::{self, Deadlocks, Found, Look};
use crate::deaths;
use crate::debug::{self, Route};
use crate::findings::Findings;
use crate::input::Input;
use crate::mpir;
use crate::node_port;
use crate::options::{Request, Settings};
use crate::output::Outputs;
use crate::report::{self, Ending, Failure};
use crate::spawned::{News, Spawned, Untaken};
use crate::start::{self, Kept, Refusal, Started};
use crate::strays;
use crate::sys::{self, Pid};
use crate::watch::{AFTER_FAILURE, AFTER_INTERRUPT, AFTER_LIMIT, AFTER_QUIET_FAILURE, AT_ONCE, Death, Steps, Watch};

use going_on::Deaths;

pub const TAKEN: [i32; 9] = [
    sys::SIGCHLD,
    sys::SIGINT,
    sys::SIGTERM,
    sys::SIGHUP,
    sys::SIGQUIT,
    sys::SIGUSR1,
    sys::SIGUSR2,
    sys::SIGTSTP,
    sys::SIGCONT,
];

/// A second SIGQUIT within this time ends the job.
pub const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Runs a job to its end and returns the exit status of `mpirun`. `spawned` is set for a job that
/// `MPI_Comm_spawn` of another job started.
pub fn run(request: &Request, mut spawned: Option<Spawned>) -> i32 {
    let (signals, mut mask) = match sys::take_signals(&TAKEN) {
        Ok(taken) => taken,
        Err(error) => {
            eprintln!("mpirun: cannot watch for signals: {error}");
            return 1;
        }
    };
    sys::adopt_orphans();
    // A shell that started a background command and then called `exec mpirun` leaves `mpirun` a
    // child that does not belong to the job.
    let mut not_ours = if sys::have_children() { strays::children() } else { Vec::new() };
    if spawned.is_some() {
        // The library starts this `mpirun` with all signals blocked, so that none is lost during
        // the start. The programs must start with none blocked.
        mask = sys::no_signals();
    }
    let parent = spawned.as_ref().map(|spawned| spawned.port.as_str());
    match (start::start(request, mask, parent), &mut spawned) {
        (Ok(started), _) => {
            let screens = match debug::open(request.settings.screens.as_ref(), |_| Route::default()) {
                Ok(screens) => screens,
                Err(text) => {
                    eprintln!("mpirun: {text}");
                    return 1;
                }
            };
            not_ours.extend(screens.iter().map(|screen| screen.id() as Pid));
            let status = Job::new(started, &request.settings, signals, not_ours, spawned).run();
            // They give the terminal back.
            screens.into_iter().for_each(|mut screen| drop(screen.wait()));
            status
        }
        (Err(refusal), Some(spawned)) => spawned.refuse(&refusal.text),
        (Err(refusal), None) => {
            eprintln!("mpirun: {}", refusal.text);
            refusal.status
        }
    }
}

struct Job<'a> {
    watch: Watch,
    outputs: Outputs,
    input: Input,
    /// Why not all ranks could be started.
    trouble: Option<Refusal>,
    settings: &'a Settings,
    signals: OwnedFd,
    spawned: Option<Spawned>,
    verdict: Option<Verdict>,
    deaths: Deaths,
    /// The first rank that failed after `MPI_Finalize`.
    late: Option<Failure>,
    /// When a rank failed, while its text is kept for the end of the job.
    untold_since: Option<Instant>,
    /// The text was printed while commands of ranks still ran.
    told_failure: bool,
    time_limit: Option<Instant>,
    deadlocks: Deadlocks,
    findings: Findings,
    /// When the user last asked where the ranks are.
    looked: Option<Instant>,
    door: Door,
    workers: Workers,
    _kept: Kept,
}

/// Why the job ends before all ranks have ended well.
enum Verdict {
    Failed(Failure),
    /// A spawned job failed while it was connected to the ranks: its text, its status, and the
    /// number of ranks that were stopped.
    ChildFailed(String, i32, usize),
    /// A spawned job that its root no longer wants.
    Unwanted,
    /// A spawned job whose parents ended while it was connected to them.
    Orphaned(String),
    /// `mpirun` received a signal: the number of live ranks, and where they were.
    Signalled(i32, usize, String),
    TimedOut(String),
    /// Ranks wait for each other for ever.
    Deadlock(String),
    /// The reader of `mpirun`'s stdout has closed it.
    OutputGone(i32),
    /// Any failure that is not one of a rank.
    Trouble(String, i32),
}

impl<'a> Job<'a> {
    fn new(
        started: Started,
        settings: &'a Settings,
        signals: OwnedFd,
        not_ours: Vec<Pid>,
        spawned: Option<Spawned>,
    ) -> Job<'a> {
        let Started { ranks, trouble, outputs, input, mailbox, host, kept, door, workers } = started;
        Job {
            watch: Watch::new(ranks, mailbox, host, not_ours),
            outputs,
            input,
            trouble,
            settings,
            signals,
            spawned,
            verdict: None,
            deaths: Deaths::default(),
            late: None,
            untold_since: None,
            told_failure: false,
            time_limit: settings.timeout.map(|limit| Instant::now() + limit),
            deadlocks: Deadlocks::new(settings.deadlock, Instant::now()),
            findings: Findings::new(&settings.check, Instant::now()),
            looked: None,
            door,
            workers,
            _kept: kept,
        }
    }

    fn run(mut self) -> i32 {
        if let Some(trouble) = self.trouble.take() {
            self.verdict = Some(Verdict::Trouble(trouble.text, trouble.status));
            self.stop(&AT_ONCE, Instant::now());
        } else if self.settings.keep_going
            && let Err(error) = deaths::watch(&self.watch.ranks)
        {
            self.verdict = Some(Verdict::Trouble(format!("cannot watch the ranks: {error}"), 1));
            self.stop(&AT_ONCE, Instant::now());
        } else {
            self.show_to_debugger();
        }
        let mut fds = Vec::new();
        loop {
            let now = Instant::now();
            while let Some(signal) = sys::next_signal(&self.signals) {
                self.on_signal(signal, now);
            }
            self.outputs.work(now);
            self.input.work(now);
            self.on_output_trouble(now);
            self.hear_children(now);
            self.hear_parents(now);
            self.on_time(now);
            self.on_deadlock(now);
            self.on_findings(now);
            let listening = &self.settings.listening;
            node_port::serve_job(&mut self.door, &mut self.workers, &mut self.watch, listening, now);
            if self.watch.live == 0 && self.is_cleared(now) {
                break;
            }
            fds.clear();
            fds.push(sys::pollfd(self.signals.as_raw_fd(), sys::POLLIN));
            fds.push(sys::pollfd(self.watch.mailbox.as_raw_fd(), sys::POLLIN));
            self.spawned.iter().for_each(|spawned| spawned.poll_for(&mut fds));
            self.outputs.poll_for(&mut fds);
            self.input.poll_for(&mut fds, now);
            fds.extend(self.door.descriptors().map(|fd| sys::pollfd(fd, sys::POLLIN)));
            let timeout = self.next_deadline().map(|at| at.saturating_duration_since(now));
            if let Err(error) = sys::poll(&mut fds, timeout) {
                eprintln!("mpirun: cannot wait for the ranks: {error}");
                self.watch.signal_ranks(sys::SIGKILL);
                return 1;
            }
        }
        self.conclude()
    }

    /// Publishes the processes of the ranks, and releases the ranks that a debugger holds. Their time limit counts from then on.
    fn show_to_debugger(&mut self) {
        let ranks = &self.watch.ranks;
        mpir::publish(ranks.list.iter().map(|rank| mpir::Process {
            host: &self.watch.host,
            executable: ranks.paths[rank.app].as_os_str().as_bytes(),
            pid: rank.pid,
        }));
        if ranks.segment().header().holds_ranks() {
            ranks.segment().header().release_ranks();
            self.time_limit = self.settings.timeout.map(|limit| Instant::now() + limit);
        }
    }

    /// Prints what the ranks have found wrong with the program.
    fn on_findings(&mut self, now: Instant) {
        if self.findings.is_due(now) {
            self.findings.look(&self.watch, now);
            self.findings.lines(now).iter().for_each(|line| self.outputs.say(line));
        }
    }

    fn on_signal(&mut self, signal: i32, now: Instant) {
        match signal {
            sys::SIGCHLD => self.reap(now),
            sys::SIGQUIT if self.looks_only(now) => {}
            sys::SIGINT | sys::SIGTERM | sys::SIGHUP | sys::SIGQUIT => self.on_end_signal(signal, now),
            sys::SIGUSR1 | sys::SIGUSR2 => self.watch.tell_programs(signal),
            sys::SIGTSTP => {
                self.watch.signal_everybody(sys::SIGTSTP);
                sys::stop_self();
            }
            sys::SIGCONT => self.watch.signal_everybody(sys::SIGCONT),
            _ => {}
        }
    }

    /// The first SIGQUIT shows where the ranks are, and the job goes on; one within two seconds ends it.
    fn looks_only(&mut self, now: Instant) -> bool {
        let again = self.looked.replace(now).is_some_and(|before| now < before + LOOK_AGAIN);
        if again || self.verdict.is_some() || self.watch.nobody_lives() {
            return false;
        }
        let text = format!("{}:{}", report::LOOK, self.places());
        self.outputs.say(&text);
        true
    }

    /// The first signal asks the ranks to end; the second kills them.
    fn on_end_signal(&mut self, signal: i32, now: Instant) {
        let ending = match self.verdict {
            // Spawned jobs that are not connected to the failed rank may still run.
            Some(Verdict::Failed(_) | Verdict::ChildFailed(..)) => self.watch.mailbox.jobs().is_empty(),
            Some(_) => true,
            None => self.watch.nobody_lives(),
        };
        if ending {
            return self.stop(&AT_ONCE, now);
        }
        self.verdict = Some(Verdict::Signalled(signal, self.watch.live, self.places()));
        if signal == sys::SIGINT {
            self.stop(&AFTER_INTERRUPT, now);
        } else {
            self.watch.pass_on_end(signal, now);
        }
    }

    // ---- spawned jobs, and the parents of this one ----

    fn hear_children(&mut self, now: Instant) {
        for message in self.watch.hear() {
            self.deaths.family_is_well |= matches!(message, Message::Well(_));
            if let Message::Failed { status, text, .. } = message
                && self.verdict.is_none()
                && !self.watch.is_forced()
            {
                self.verdict = Some(Verdict::ChildFailed(text, status, self.watch.live));
                self.deaths.ends_family = self.settings.keep_going;
                self.tell_parents();
                self.stop(&AFTER_FAILURE, now);
            }
        }
    }

    fn hear_parents(&mut self, now: Instant) {
        let Some(spawned) = &mut self.spawned else { return };
        let (news, root) = (spawned.look(now), spawned.root());
        if self.verdict.is_some() {
            // The job may have failed before the root took it.
            return self.tell_parents();
        }
        if news == News::Unwanted {
            self.verdict = Some(Verdict::Unwanted);
            self.stop(&AT_ONCE, now);
        }
        if news == News::Bereft && self.is_connected() && !self.settings.keep_going {
            let text = report::orphaned(root, self.watch.live);
            self.verdict = Some(Verdict::Orphaned(text));
            // If the root has an `mpirun`, that has usually reported the root's failure already. If
            // not, this reports it.
            self.tell_parents();
            self.stop(&AFTER_FAILURE, now);
        }
    }

    /// Whether the failure of this job must end the processes that spawned it.
    fn is_connected(&self) -> bool {
        ParentTies::are_connected([self.watch.parent_ties()].into_iter())
    }

    /// Reports the failure of this job, once, to the processes that spawned it and are connected to
    /// it.
    fn tell_parents(&mut self) {
        let (text, status) = match &self.verdict {
            Some(Verdict::Failed(_)) if self.goes_on() && !self.deaths.ends_family => return,
            Some(Verdict::Failed(failure)) => (failure.text(), failure.ending.status()),
            Some(Verdict::ChildFailed(text, status, _)) => (text.clone(), *status),
            Some(Verdict::Orphaned(text)) => (text.clone(), 1),
            Some(Verdict::Deadlock(text)) => (text.clone(), deadlock::STATUS),
            _ => return,
        };
        let is_connected = self.is_connected();
        if let Some(spawned) = &mut self.spawned {
            spawned.fail(is_connected, status, &text);
        }
    }

    fn reap(&mut self, now: Instant) {
        let failed = self.watch.reap();
        self.hear_children(now);
        self.watch.take_said().iter().for_each(|text| self.outputs.say(text));
        for death in &failed {
            self.fail(death, now);
        }
    }

    fn fail(&mut self, death: &Death, now: Instant) {
        if self.verdict.is_some() || self.watch.is_forced() {
            return;
        }
        let ending = death.ending;
        if self.output_is_gone() && matches!(ending, Ending::Signal(sys::SIGPIPE) | Ending::Exit(_)) {
            self.verdict = Some(Verdict::OutputGone(ending.status()));
            return self.stop(&AFTER_LIMIT, now);
        }
        if death.is_late {
            // The others do not need it any more.
            self.late.get_or_insert_with(|| self.watch.failure(death, 0));
            return;
        }
        if self.goes_on() {
            return self.go_on_after(death, now);
        }
        let failure = self.watch.failure(death, self.watch.others(death));
        let quiet = failure.is_quiet();
        mpir::abort(&failure.text());
        self.verdict = Some(Verdict::Failed(failure));
        self.untold_since = Some(now);
        self.tell_parents();
        self.stop(if quiet { &AFTER_QUIET_FAILURE } else { &AFTER_FAILURE }, now);
    }

    fn output_is_gone(&self) -> bool {
        // A single rank may write to the same stdout itself; then the pipe's error flag shows it.
        self.outputs.stdout_is_gone() || sys::ready(1, sys::POLLOUT) & sys::POLLERR != 0
    }

    fn on_output_trouble(&mut self, now: Instant) {
        if let Some(error) = self.outputs.failure()
            && self.verdict.is_none()
        {
            self.verdict = Some(Verdict::Trouble(format!("cannot forward the output of the ranks: {error}"), 1));
            self.stop(&AFTER_LIMIT, now);
        }
    }

    fn on_time(&mut self, now: Instant) {
        if self.time_limit.is_some_and(|at| at <= now) {
            self.time_limit = None;
            if !self.watch.nobody_lives() && (!self.watch.is_stopping() || self.watch.is_sparing()) {
                if self.verdict.is_none() {
                    self.verdict = Some(Verdict::TimedOut(self.places()));
                }
                self.stop(&AFTER_LIMIT, now);
            }
        }
        for death in self.watch.tick(now) {
            self.fail(&death, now);
        }
        self.send_due_signals(now);
        if self.watch.is_sparing() && self.untold_since.is_some_and(|since| now > since + report::SPARED) {
            self.untold_since = None;
            let commands = report::commands(self.watch.commands());
            if let (Some(Verdict::Failed(failure)), Some(commands)) = (&self.verdict, commands) {
                self.told_failure = true;
                self.outputs.say(&format!("{}; {commands}", failure.text()));
            }
        }
    }

    fn on_deadlock(&mut self, now: Instant) {
        if self.verdict.is_some() || self.watch.is_stopping() {
            return;
        }
        let found = match self.deadlocks.look(&self.watch, now).filter(|_| self.watch.live > 0) {
            None => return,
            Some(Look::NobodyElse(found)) => found,
            Some(Look::Stuck(stuck, states)) => self.deadlocks.report(deadlock::facts_here(&self.watch, stuck, states)),
        };
        let Found { text, ends, sends } = found;
        self.findings.add_sends(sends, now);
        if !ends {
            return self.outputs.say(&text);
        }
        self.verdict = Some(Verdict::Deadlock(text));
        self.tell_parents();
        self.stop(&AFTER_FAILURE, now);
    }

    fn stop(&mut self, steps: &Steps, now: Instant) {
        self.watch.stop(steps, self.ends_spawned_jobs(), now);
        self.send_due_signals(now);
    }

    fn send_due_signals(&mut self, now: Instant) {
        for signal in self.watch.send_due_signals(now) {
            if let Some(spawned) = &self.spawned {
                spawned.pass_on(signal);
            }
        }
    }

    /// Describes where the live ranks are, to follow a colon.
    fn places(&self) -> String {
        report::places(&self.watch.places(), self.watch.mailbox.jobs().len())
    }

    /// Whether the reason for ending also ends the spawned jobs. When a rank has failed, the
    /// spawned jobs that are connected to it end by themselves, and the others continue.
    fn ends_spawned_jobs(&self) -> bool {
        let ends_own =
            matches!(self.verdict, None | Some(Verdict::Failed(_) | Verdict::ChildFailed(..) | Verdict::Orphaned(_)));
        !ends_own || self.deaths.ends_family
    }

    /// Called when all ranks have ended: whether all processes that they started have ended too.
    fn is_cleared(&mut self, now: Instant) -> bool {
        self.reap(now);
        let cleared = self.watch.is_cleared(self.verdict.is_none(), now);
        self.watch.take_said().iter().for_each(|text| self.outputs.say(text));
        self.send_due_signals(now);
        cleared
    }

    fn next_deadline(&self) -> Option<Instant> {
        let outputs = self.outputs.deadline();
        let parents = self.spawned.as_ref().and_then(Spawned::deadline);
        let own = self.watch.deadline();
        let door = self.door.deadline(Instant::now());
        let deadlock = self.deadlocks.deadline().filter(|_| self.verdict.is_none() && self.watch.live > 0);
        let findings = self.findings.deadline();
        [own, outputs, self.time_limit, self.input.deadline(), parents, door, deadlock, findings]
            .into_iter()
            .flatten()
            .min()
    }

    /// All processes have ended: writes the remaining output and the final message, and returns the
    /// status.
    fn conclude(mut self) -> i32 {
        let outputs = &mut self.outputs;
        let mut hurry = false;
        while !outputs.finish(Duration::from_millis(200)) && !hurry {
            while let Some(signal) = sys::next_signal(&self.signals) {
                hurry |= matches!(signal, sys::SIGINT | sys::SIGTERM | sys::SIGHUP | sys::SIGQUIT);
            }
        }
        let now = Instant::now();
        self.findings.look(&self.watch, now);
        let found = self.findings.conclude(now);
        found.iter().for_each(|line| self.outputs.say(line));
        let (text, status) = self.ending();
        let status = self.findings.status(status);
        let (text, status) = match self.spawned.take() {
            Some(spawned) => self.conclude_spawned(spawned, text, status),
            None => (text, status),
        };
        let outputs = &mut self.outputs;
        let losses = outputs.losses();
        if let Some(text) = text {
            outputs.say(&text);
        }
        if !losses.is_empty() {
            outputs.say(&report::losses(&losses));
        }
        outputs.finish(Duration::from_secs(1));
        if losses.is_empty() || status != 0 { status } else { 1 }
    }

    /// The final message, if there is one, and the status.
    fn ending(&self) -> (Option<String>, i32) {
        match &self.verdict {
            None => match &self.late {
                Some(failure) => (Some(failure.text()), failure.ending.status()),
                None => (None, self.status_after_deaths()),
            },
            // It was said while commands of ranks still ran.
            Some(Verdict::Failed(failure)) if self.told_failure => (None, failure.ending.status()),
            Some(Verdict::Failed(failure)) => (Some(failure.text()), failure.ending.status()),
            Some(Verdict::ChildFailed(text, status, others)) => (Some(report::child_failed(text, *others)), *status),
            Some(Verdict::Unwanted) => (None, 0),
            Some(Verdict::Orphaned(text)) => (Some(text.clone()), 1),
            Some(Verdict::Signalled(signal, ..)) if *signal != sys::SIGINT && self.watch.all_well => (None, 0),
            Some(Verdict::Signalled(signal, live, places)) => {
                let ranks = report::ranks(*live);
                let text = format!("received {}; {ranks} stopped:{places}", sys::signal_text(*signal));
                ((!self.settings.quiet && self.spawned.is_none()).then_some(text), 128 + signal)
            }
            Some(Verdict::TimedOut(places)) => (
                Some(format!(
                    "{}:{places}",
                    report::time_limit(self.settings.timeout, self.settings.timeout_of_variable)
                )),
                124,
            ),
            Some(Verdict::Deadlock(text)) => (Some(text.clone()), deadlock::STATUS),
            Some(Verdict::OutputGone(status)) => (None, *status),
            Some(Verdict::Trouble(text, status)) => (Some(text.clone()), *status),
        }
    }

    /// The same for a spawned job.
    fn conclude_spawned(&self, mut spawned: Spawned, text: Option<String>, status: i32) -> (Option<String>, i32) {
        if self.settings.keep_going && self.is_well() {
            spawned.tell_of_survivors();
        }
        let ranks = &self.watch.ranks.list;
        let untaken = match &self.verdict {
            Some(Verdict::Unwanted) => Untaken::Unwanted,
            None if text.is_none() && self.watch.parent_ties().came => Untaken::Came,
            None if text.is_none() => {
                let program = ranks.first().map_or("", |rank| &rank.program);
                Untaken::NeverCame(self.last_death().unwrap_or_else(|| report::never_came(program, ranks.len())))
            }
            _ => Untaken::Failed,
        };
        let goes_on = self.settings.keep_going && !self.deaths.ends_family;
        spawned.conclude(text, status, ranks.len(), untaken, goes_on)
    }
}
