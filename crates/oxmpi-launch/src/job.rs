//! The event loop of a running job: output and input of the ranks, signals, ended processes,
//! deadlines. It blocks only in `poll`, and it does not return while a process of the job is left.
//! `report.rs` has the texts about the end of a job.

use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

use oxmpi_base::lifeline::process_lives;
use oxmpi_base::pid;
use oxmpi_base::segment::{
    PARENTS_CONNECTED, PARENTS_LEAVING, PARENTS_LEFT, PARENTS_NONE, RankBlock, STATE_ABORTED, STATE_FINALIZED,
    STATE_RUNNING,
};
use oxmpi_boot::spawned::Message;

use crate::options::{Request, Settings};
use crate::report::{self, Ending, Failure, Where};
use crate::spawned::{News, Spawned};
use crate::start::{self, Started};
use crate::strays;
use crate::sys::{self, Pid};

const TAKEN: [i32; 9] = [
    libc::SIGCHLD,
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGTSTP,
    libc::SIGCONT,
];

/// The signals sent to the ranks to end a job, each with its time in milliseconds.
type Steps = &'static [(u64, i32)];
/// A rank has failed. The others can be anywhere and are stopped at once.
const AFTER_FAILURE: Steps = &[(0, libc::SIGTERM), (400, libc::SIGKILL)];
/// A rank has failed outside MPI. The others do not wait for it and may be about to print an error
/// of their own, so they get a little time.
const AFTER_QUIET_FAILURE: Steps = &[(250, libc::SIGTERM), (650, libc::SIGKILL)];
const AFTER_INTERRUPT: Steps = &[(0, libc::SIGINT), (500, libc::SIGTERM), (900, libc::SIGKILL)];
const AT_ONCE: Steps = &[(0, libc::SIGKILL)];
/// All ranks have succeeded, but a process that they started still runs: a pipeline may be writing
/// its last lines.
const AFTER_SUCCESS: Steps = &[(500, libc::SIGTERM), (800, libc::SIGKILL)];
const STRAYS_AFTER_FAILURE: Steps = &[(0, libc::SIGTERM), (200, libc::SIGKILL)];
/// Time for the ranks to react to a signal that a user sent to `mpirun` to end the job.
const SIGNAL_GRACE: Duration = Duration::from_secs(5);
/// A process that still exists this long after SIGKILL hangs in the kernel and cannot be ended.
const UNKILLABLE: Duration = Duration::from_secs(10);
/// Time that ranks inside MPI may run after another rank has ended without calling `MPI_Init`.
const MISSED: Duration = Duration::from_secs(1);
/// Interval between checks of MPI processes that are not direct children of `mpirun`.
const TICK: Duration = Duration::from_millis(400);

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
    let not_ours = if sys::have_children() { strays::children() } else { Vec::new() };
    if spawned.is_some() {
        // The library starts this `mpirun` with all signals blocked, so that none is lost during
        // the start. The programs must start with none blocked.
        mask = sys::no_signals();
    }
    let parent = spawned.as_ref().map(|spawned| spawned.port.as_str());
    match (start::start(request, mask, parent), &mut spawned) {
        (Ok(started), _) => Job::new(started, &request.settings, signals, not_ours, spawned).run(),
        (Err(refusal), Some(spawned)) => spawned.refuse(&refusal.text),
        (Err(refusal), None) => {
            eprintln!("mpirun: {}", refusal.text);
            refusal.status
        }
    }
}

struct Job<'a> {
    started: Started,
    settings: &'a Settings,
    signals: OwnedFd,
    not_ours: Vec<Pid>,
    spawned: Option<Spawned>,
    /// Exit status of the first spawned job that failed.
    bad_child: i32,
    ranks: Vec<Rank>,
    by_pid: HashMap<Pid, usize>,
    live: usize,
    all_well: bool,
    verdict: Option<Verdict>,
    /// Signals still to be sent.
    plan: VecDeque<(Instant, i32)>,
    /// All ranks have ended; the processes that they started are being ended.
    clearing: bool,
    /// A signal to end was sent. From now on, the way in which a process ends says nothing about
    /// the program.
    forced: bool,
    /// The outer `mpirun` reports the failure of this job, because its own job ends for it.
    told_parents: bool,
    /// The process that spawned this job must end with it.
    takes_root_along: bool,
    killed_at: Option<Instant>,
    time_limit: Option<Instant>,
    next_tick: Instant,
}

struct Rank {
    /// The process that `mpirun` started; its process group has the same number.
    leader: Pid,
    leader_ended: bool,
    /// There may be processes in its group. An empty group's number can be reused, so it is not
    /// used again.
    group_open: bool,
    ended: bool,
    /// When the rank ended with status 0 without having called `MPI_Init`.
    never_came: Option<Instant>,
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
        let rank = |leader| Rank { leader, leader_ended: false, group_open: true, ended: false, never_came: None };
        let now = Instant::now();
        Job {
            ranks: started.ranks.iter().map(|started| rank(started.pid)).collect(),
            by_pid: started.ranks.iter().enumerate().map(|(rank, started)| (started.pid, rank)).collect(),
            live: started.ranks.len(),
            all_well: true,
            verdict: None,
            plan: VecDeque::new(),
            clearing: false,
            forced: false,
            told_parents: false,
            takes_root_along: false,
            killed_at: None,
            time_limit: settings.timeout.map(|limit| now + limit),
            next_tick: now + TICK,
            started,
            settings,
            signals,
            not_ours,
            spawned,
            bad_child: 0,
        }
    }

    fn run(mut self) -> i32 {
        if let Some(trouble) = self.started.trouble.take() {
            self.verdict = Some(Verdict::Trouble(trouble.text, trouble.status));
            self.stop(AT_ONCE, Instant::now());
        }
        let mut fds = Vec::new();
        loop {
            let now = Instant::now();
            while let Some(signal) = sys::next_signal(&self.signals) {
                self.on_signal(signal, now);
            }
            self.started.outputs.work(now);
            self.started.input.work(now);
            self.on_output_trouble(now);
            self.hear_children(now);
            self.hear_parents(now);
            self.on_time(now);
            if self.live == 0 && self.is_cleared(now) {
                break;
            }
            fds.clear();
            fds.push(sys::pollfd(self.signals.as_raw_fd(), libc::POLLIN));
            fds.push(sys::pollfd(self.started.mailbox.as_raw_fd(), libc::POLLIN));
            self.spawned.iter().for_each(|spawned| spawned.poll_for(&mut fds));
            self.started.outputs.poll_for(&mut fds);
            self.started.input.poll_for(&mut fds, now);
            let timeout = self.next_deadline().map(|at| at.saturating_duration_since(now));
            if let Err(error) = sys::poll(&mut fds, timeout) {
                eprintln!("mpirun: cannot wait for the ranks: {error}");
                self.signal_ranks(libc::SIGKILL);
                return 1;
            }
        }
        self.conclude()
    }

    fn on_signal(&mut self, signal: i32, now: Instant) {
        match signal {
            libc::SIGCHLD => self.reap(now),
            libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT => self.on_end_signal(signal, now),
            libc::SIGUSR1 | libc::SIGUSR2 => self.tell_programs(signal),
            libc::SIGTSTP => {
                self.signal_everybody(libc::SIGTSTP);
                sys::stop_self();
            }
            libc::SIGCONT => self.signal_everybody(libc::SIGCONT),
            _ => {}
        }
    }

    /// The first signal asks the ranks to end; the second kills them.
    fn on_end_signal(&mut self, signal: i32, now: Instant) {
        let ending = match self.verdict {
            Some(Verdict::Failed(_)) if self.settings.keep_going => self.nobody_lives(),
            // Spawned jobs that are not connected to the failed rank may still run.
            Some(Verdict::Failed(_) | Verdict::ChildFailed(..)) => self.started.mailbox.jobs().is_empty(),
            Some(_) => true,
            None => self.nobody_lives(),
        };
        if ending {
            return self.stop(AT_ONCE, now);
        }
        self.verdict = Some(Verdict::Signalled(signal, self.live, self.places()));
        if signal == libc::SIGINT {
            self.stop(AFTER_INTERRUPT, now);
        } else {
            self.signal_everybody(signal);
            self.plan = VecDeque::from([(now + SIGNAL_GRACE, libc::SIGKILL)]);
        }
    }

    /// Sends a user signal to the MPI program itself: a shell around the program would die of it.
    fn tell_programs(&self, signal: i32) {
        for (rank, state) in self.ranks.iter().enumerate().filter(|(_, state)| !state.ended) {
            match self.program(rank).filter(|&program| self.is_ours(rank, program)) {
                None => sys::kill(-state.leader, signal),
                Some(program) => sys::kill(program, signal),
            };
        }
        self.started.mailbox.signal(signal);
    }

    fn nobody_lives(&self) -> bool {
        self.live == 0 && self.started.mailbox.jobs().is_empty()
    }

    // ---- spawned jobs, and the parents of this one ----

    fn hear_children(&mut self, now: Instant) {
        for message in self.started.mailbox.hear() {
            if let Message::Failed { status, text, .. } = message
                && self.verdict.is_none()
                && !self.forced
            {
                let others = if self.settings.keep_going { 0 } else { self.live };
                self.verdict = Some(Verdict::ChildFailed(text, status, others));
                self.tell_parents();
                if !self.settings.keep_going {
                    self.stop(AFTER_FAILURE, now);
                }
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
            self.stop(AT_ONCE, now);
        }
        if news == News::Bereft && self.is_connected() {
            let ranks = report::ranks(self.live);
            let text = format!(
                "process {root}, which had spawned the job and was connected to it, has ended; {ranks} stopped"
            );
            self.verdict = Some(Verdict::Orphaned(text));
            // If the root has an `mpirun`, that has usually reported the root's failure already. If
            // not, this reports it.
            self.tell_parents();
            self.stop(AFTER_FAILURE, now);
        }
    }

    /// Whether the failure of this job must end the processes that spawned it.
    fn is_connected(&self) -> bool {
        let blocks = || (0..self.ranks.len()).map(|rank| self.started.block(rank));
        let stays =
            |block: &&RankBlock| block.state.load(Acquire) != STATE_FINALIZED && block.leaving.load(Acquire) == 0;
        let has_left = blocks().any(|block| block.parents.load(Acquire) == PARENTS_LEFT);
        blocks().filter(stays).any(|block| match block.parents.load(Acquire) {
            PARENTS_CONNECTED => true,
            // The ranks leave together.
            PARENTS_LEAVING => !has_left,
            _ => false,
        })
    }

    /// Reports the failure of this job, once, to the processes that spawned it and are connected to
    /// it.
    fn tell_parents(&mut self) {
        let (text, status) = match &self.verdict {
            Some(Verdict::Failed(failure)) => (failure.text(), failure.ending.status()),
            Some(Verdict::ChildFailed(text, status, _)) => (text.clone(), *status),
            Some(Verdict::Orphaned(text)) => (text.clone(), 1),
            _ => return,
        };
        let connected = self.is_connected();
        if let Some(spawned) = &mut self.spawned
            && spawned.is_taken()
            && connected
            && !self.takes_root_along
        {
            self.told_parents = spawned.tell(status, &text);
            self.takes_root_along = true;
            spawned.signal_root(libc::SIGTERM);
        }
    }

    fn reap(&mut self, now: Instant) {
        let mut dead = Vec::new();
        // Read the mailbox before a child is reaped: it says which processes are spawned jobs, and
        // believes that only of processes that are still in /proc.
        while let Some(pid) = sys::ended_child() {
            self.hear_children(now);
            match sys::reap(pid) {
                Some(status) => dead.push((pid, status)),
                None => break,
            }
        }
        dead.retain(|&(pid, status)| {
            let job = self.started.mailbox.ended(pid);
            if let Some(signal) = report::killed_by(status).filter(|_| job && !self.forced) {
                // It could not report this itself. Its ranks end with it, and ranks here that wait
                // for them get an error.
                let signal = sys::signal_text(signal);
                self.started.outputs.say(&format!("the mpirun of a spawned job (pid {pid}) was killed by {signal}"));
            }
            if job && self.bad_child == 0 {
                self.bad_child = report::status(status);
            }
            !job
        });
        // Handle a rank's MPI process before the shell that started it: its status says more.
        dead.sort_by_key(|(pid, _)| self.by_pid.contains_key(pid));
        let mut failed: Option<(usize, Pid, i32, Ending)> = None;
        for (pid, status) in dead {
            if let Some((rank, ending)) = self.on_death(pid, status) {
                let worse = failed.is_none_or(|(.., worst)| ending.weight() > worst.weight());
                if ending != Ending::Well && worse {
                    failed = Some((rank, pid, status, ending));
                }
            }
        }
        if let Some((rank, pid, status, ending)) = failed {
            self.fail(rank, pid, ending, libc::WIFSIGNALED(status) && libc::WCOREDUMP(status), now);
        }
    }

    /// Records the end of a process. If it was a rank's, returns the rank and how it ended.
    fn on_death(&mut self, pid: Pid, status: i32) -> Option<(usize, Ending)> {
        let rank = self.by_pid.remove(&pid);
        let is_leader = rank.is_some();
        if !is_leader {
            // Not a rank's leader; its process group may be empty now.
            for rank in self.ranks.iter_mut().filter(|rank| rank.leader_ended && rank.group_open) {
                rank.group_open = sys::kill(-rank.leader, 0);
            }
        }
        let rank = rank.or_else(|| (0..self.ranks.len()).find(|&rank| self.program(rank) == Some(pid)))?;
        if is_leader {
            self.ranks[rank].leader_ended = true;
            self.ranks[rank].group_open = sys::kill(-pid, 0);
            if status == 0 && self.other_program(rank).is_some() {
                return None;
            }
        }
        let ending = Ending::of(status, self.started.block(rank));
        // An MPI process that its shell left behind is still reported.
        if !self.ranks[rank].ended {
            self.end_rank(rank, ending);
        } else if is_leader {
            return None;
        }
        Some((rank, ending))
    }

    /// The pid of the rank's MPI process after `MPI_Init`. It is read from memory that every rank
    /// can write, so check it with [`Job::is_ours`] before acting on the process.
    fn program(&self, rank: usize) -> Option<Pid> {
        pid::Pid::new(self.started.block(rank).pid.load(Relaxed)).map(pid::Pid::get)
    }

    /// Whether a process belongs to this job, dead or alive.
    fn is_ours(&self, rank: usize, program: Pid) -> bool {
        program == self.ranks[rank].leader || strays::belongs_here(program)
    }

    /// The rank's MPI process, if it is alive and is not the process that `mpirun` started.
    fn other_program(&self, rank: usize) -> Option<Pid> {
        let program = self.program(rank).filter(|&program| program != self.ranks[rank].leader)?;
        (process_lives(program as u32) && strays::belongs_here(program)).then_some(program)
    }

    fn end_rank(&mut self, rank: usize, ending: Ending) {
        let at = Where::of(self.started.block(rank));
        self.ranks[rank].never_came = (ending == Ending::Well && at.never_came()).then(Instant::now);
        self.ranks[rank].ended = true;
        self.live -= 1;
        self.all_well &= ending == Ending::Well;
    }

    fn fail(&mut self, rank: usize, pid: Pid, ending: Ending, core_dumped: bool, now: Instant) {
        if self.verdict.is_some() || self.forced {
            return;
        }
        let at = Where::of(self.started.block(rank));
        if self.output_is_gone() && matches!(ending, Ending::Signal(libc::SIGPIPE) | Ending::Exit(_)) {
            self.verdict = Some(Verdict::OutputGone(ending.status()));
            return self.stop(AFTER_FAILURE, now);
        }
        let others = if self.settings.keep_going { 0 } else { self.live };
        let failure = Failure {
            rank,
            program: self.started.ranks[rank].program.clone(),
            pid,
            host: self.started.host.clone(),
            ending,
            core_dumped,
            at,
            others,
        };
        self.verdict = Some(Verdict::Failed(failure));
        self.tell_parents();
        if !self.settings.keep_going {
            let quiet = matches!(ending, Ending::Exit(_)) && at.is_outside();
            self.stop(if quiet { AFTER_QUIET_FAILURE } else { AFTER_FAILURE }, now);
        }
    }

    fn output_is_gone(&self) -> bool {
        // A single rank may write to the same stdout itself; then the pipe's error flag shows it.
        self.started.outputs.stdout_is_gone() || sys::ready(1, libc::POLLOUT) & libc::POLLERR != 0
    }

    fn on_output_trouble(&mut self, now: Instant) {
        if let Some(error) = self.started.outputs.failure()
            && self.verdict.is_none()
        {
            self.verdict = Some(Verdict::Trouble(format!("cannot forward the output of the ranks: {error}"), 1));
            self.stop(AFTER_FAILURE, now);
        }
    }

    fn on_time(&mut self, now: Instant) {
        if self.time_limit.is_some_and(|at| at <= now) {
            self.time_limit = None;
            if !self.nobody_lives() && self.plan.is_empty() {
                self.verdict = Some(Verdict::TimedOut(self.places()));
                self.stop(AFTER_FAILURE, now);
            }
        }
        if self.next_tick <= now {
            self.next_tick = now + TICK;
            self.look_after_programs(now);
            self.miss_those_who_never_came(now);
        }
        while let Some(&(at, signal)) = self.plan.front()
            && at <= now
        {
            self.plan.pop_front();
            self.forced = true;
            if self.ends_spawned_jobs() {
                self.signal_everybody(signal);
            } else {
                self.signal_ranks(signal);
            }
            if self.clearing {
                self.signal_strays(signal);
            }
            if let Some(spawned) = self.spawned.as_ref().filter(|_| self.takes_root_along) {
                spawned.signal_root(signal);
            }
            if signal == libc::SIGKILL {
                self.killed_at.get_or_insert(now);
                // A process that was being started meanwhile gets the next signal.
                self.plan.push_back((now + Duration::from_millis(100), libc::SIGKILL));
            }
        }
    }

    /// Describes where the live ranks are, to follow a colon.
    fn places(&self) -> String {
        let live = self.ranks.iter().enumerate().filter(|(_, state)| !state.ended);
        let place = |rank: usize| (rank, Where::of(self.started.block(rank)), self.started.wait_record(rank));
        let places: Vec<_> = live.map(|(rank, _)| place(rank)).collect();
        let text = report::whereabouts(&places, self.started.mailbox.jobs().len());
        if text.starts_with('\n') { text } else { format!(" {text}") }
    }

    /// Checks MPI processes that are not direct children (a shell or a debugger stands between):
    /// the kernel does not report their end to `mpirun`.
    fn look_after_programs(&mut self, now: Instant) {
        for rank in 0..self.ranks.len() {
            let state = &self.ranks[rank];
            let block = self.started.block(rank);
            let Some(program) = self.program(rank).filter(|&program| !state.ended && program != state.leader) else {
                continue;
            };
            let lives = self.other_program(rank).is_some();
            let ending = match block.state.load(Acquire) {
                STATE_ABORTED => Ending::Abort(block.abort_code.load(Relaxed)),
                STATE_RUNNING if !lives => Ending::NoFinalize,
                STATE_FINALIZED if !lives && state.leader_ended => Ending::Well,
                _ => continue,
            };
            self.end_rank(rank, ending);
            if ending != Ending::Well {
                self.fail(rank, program, ending, false, now);
            }
        }
    }

    /// Fails the job if a rank ended without calling `MPI_Init` while other ranks are inside MPI:
    /// they would wait for it sooner or later.
    fn miss_those_who_never_came(&mut self, now: Instant) {
        let inside = |rank: usize| !self.ranks[rank].ended && Where::of(self.started.block(rank)).is_inside();
        let late = |state: &Rank| !state.group_open && state.never_came.is_some_and(|since| now > since + MISSED);
        let missing = self.ranks.iter().position(late);
        if let Some(rank) = missing.filter(|_| (0..self.ranks.len()).any(inside)) {
            self.fail(rank, self.ranks[rank].leader, Ending::NoInit, false, now);
        }
    }

    fn stop(&mut self, steps: Steps, now: Instant) {
        self.plan = steps.iter().map(|&(after, signal)| (now + Duration::from_millis(after), signal)).collect();
        self.on_time(now);
    }

    /// Whether the reason for ending also ends the spawned jobs. When a rank has failed, the
    /// spawned jobs that are connected to it end by themselves, and the others continue.
    fn ends_spawned_jobs(&self) -> bool {
        !matches!(self.verdict, None | Some(Verdict::Failed(_) | Verdict::ChildFailed(..) | Verdict::Orphaned(_)))
    }

    fn signal_everybody(&mut self, signal: i32) {
        self.signal_ranks(signal);
        self.started.mailbox.signal(signal);
    }

    fn signal_ranks(&mut self, signal: i32) {
        for rank in self.ranks.iter_mut().filter(|rank| rank.group_open) {
            let there = sys::kill(-rank.leader, signal);
            // A stopped process reacts only to SIGCONT and SIGKILL.
            if there && matches!(signal, libc::SIGTERM | libc::SIGINT | libc::SIGHUP | libc::SIGQUIT) {
                sys::kill(-rank.leader, libc::SIGCONT);
            }
            // The leader keeps the number in use until it is reaped.
            rank.group_open = there || !rank.leader_ended;
        }
    }

    fn signal_strays(&self, signal: i32) {
        for pid in self.strays() {
            sys::kill(pid, signal);
        }
    }

    /// Children that are neither ranks nor spawned jobs.
    fn strays(&self) -> Vec<Pid> {
        let known = |pid: &Pid| self.not_ours.contains(pid) || self.started.mailbox.jobs().contains(pid);
        strays::children().into_iter().filter(|pid| !known(pid)).collect()
    }

    /// Called when all ranks have ended: whether all processes that they started have ended too.
    /// Processes that are left are asked to end.
    fn is_cleared(&mut self, now: Instant) -> bool {
        self.reap(now);
        if !sys::have_children() {
            return true;
        }
        let jobs = self.started.mailbox.jobs().len();
        if jobs + self.not_ours.len() > 0 && self.strays().is_empty() {
            if jobs > 0 && !self.ends_spawned_jobs() {
                self.plan.clear();
            }
            return jobs == 0;
        }
        if self.killed_at.is_some_and(|at| now > at + UNKILLABLE) {
            let left = strays::children();
            self.started.outputs.say(&format!("these processes cannot be ended: {left:?}"));
            return true;
        }
        if self.verdict.is_none() && self.revive() {
            return false;
        }
        if !self.clearing {
            self.clearing = true;
            let steps = if self.all_well { AFTER_SUCCESS } else { STRAYS_AFTER_FAILURE };
            self.stop(steps, now);
        }
        false
    }

    /// Handles a shell that ended before the MPI program it started in the background called
    /// `MPI_Init`: the rank is alive again.
    fn revive(&mut self) -> bool {
        for rank in 0..self.ranks.len() {
            let state = self.started.block(rank).state.load(Acquire);
            if state == STATE_RUNNING && self.other_program(rank).is_some() {
                self.ranks[rank].ended = false;
                self.live += 1;
            }
        }
        if self.live > 0 {
            self.clearing = false;
            self.plan.clear();
        }
        self.live > 0
    }

    fn next_deadline(&self) -> Option<Instant> {
        let tick = (self.live > 0 && self.somebody_needs_watching()).then_some(self.next_tick);
        let plan = self.plan.front().map(|&(at, _)| at);
        let outputs = self.started.outputs.deadline();
        let parents = self.spawned.as_ref().and_then(Spawned::deadline);
        [plan, outputs, self.time_limit, self.started.input.deadline(), tick, parents].into_iter().flatten().min()
    }

    fn somebody_needs_watching(&self) -> bool {
        let watch = |(rank, state): (usize, &Rank)| match state.ended {
            false => self.program(rank) != Some(state.leader),
            true => state.never_came.is_some(),
        };
        self.ranks.iter().enumerate().any(watch)
    }

    /// All processes have ended: writes the remaining output and the final message, and returns the
    /// status.
    fn conclude(mut self) -> i32 {
        let outputs = &mut self.started.outputs;
        let mut hurry = false;
        while !outputs.finish(Duration::from_millis(200)) && !hurry {
            while let Some(signal) = sys::next_signal(&self.signals) {
                hurry |= matches!(signal, libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT);
            }
        }
        let (text, status) = self.ending();
        let (text, status) = match self.spawned.take() {
            Some(spawned) => self.conclude_spawned(spawned, text, status),
            None => (text, status),
        };
        let outputs = &mut self.started.outputs;
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
            None => (None, self.bad_child),
            Some(Verdict::Failed(failure)) => (Some(failure.text()), failure.ending.status()),
            Some(Verdict::ChildFailed(text, status, others)) => {
                let too =
                    if *others == 0 { String::new() } else { format!("; {} stopped too", report::ranks(*others)) };
                (Some(format!("in a spawned job, {text}{too}")), *status)
            }
            Some(Verdict::Unwanted) => (None, 0),
            Some(Verdict::Orphaned(text)) => (Some(text.clone()), 1),
            Some(Verdict::Signalled(signal, ..)) if *signal != libc::SIGINT && self.all_well => (None, 0),
            Some(Verdict::Signalled(signal, live, places)) => {
                let ranks = report::ranks(*live);
                let text = format!("received {}; {ranks} stopped:{places}", sys::signal_text(*signal));
                ((!self.settings.quiet && self.spawned.is_none()).then_some(text), 128 + signal)
            }
            Some(Verdict::TimedOut(places)) => {
                let limit = self.settings.timeout.unwrap_or_default().as_secs_f64();
                (Some(format!("the time limit of {limit} s was reached and the job was stopped:{places}")), 124)
            }
            Some(Verdict::OutputGone(status)) => (None, *status),
            Some(Verdict::Trouble(text, status)) => (Some(text.clone()), *status),
        }
    }

    /// The same for a spawned job. Until the root has taken the job, everything is reported to the
    /// root.
    fn conclude_spawned(&self, mut spawned: Spawned, text: Option<String>, status: i32) -> (Option<String>, i32) {
        if spawned.is_taken() {
            return (text.filter(|_| !self.told_parents), status);
        }
        let came = |rank: usize| self.started.block(rank).parents.load(Acquire) != PARENTS_NONE;
        let text = match (text, &self.verdict) {
            (_, Some(Verdict::Unwanted)) => return (None, 0),
            (None, None) if (0..self.ranks.len()).all(came) => {
                spawned.await_root();
                return (None, status);
            }
            (None, None) => report::never_came(&self.started.ranks),
            (None, _) => format!("the job was stopped with status {status}"),
            (Some(text), _) => text,
        };
        let started = self.started.ranks.len();
        if spawned.report(started, &text) && !spawned.tell(status, &text) {
            spawned.signal_root(libc::SIGTERM);
            return (Some(text), status);
        }
        (None, 0)
    }
}
