//! Watches the processes of a job on this machine: the ranks, what they started and the jobs that they spawned. It
//! says how ranks end, and ends all of them on request, in steps. Why a job ends, and what is said about it, is decided
//! by its owner: `job.rs` for a job of one machine, `agent/` for the ranks of one host.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

use oxmpi_agent::message::ParentTies;
use oxmpi_base::callers::CALLERS;
use oxmpi_base::lifeline::process_lives;
use oxmpi_base::pid;
use oxmpi_base::segment::{
    DOOMED_JOB, DOOMED_PART, PARENTS_CONNECTED, PARENTS_LEAVING, PARENTS_LEFT, PARENTS_NONE, RankBlock, STATE_ABORTED,
    STATE_FINALIZED, STATE_RUNNING,
};
use oxmpi_base::wait_record::Waits;
use oxmpi_boot::spawned::Message;
use oxmpi_lines::{self as lines, Caller, Lines, Site};
use oxmpi_verdict as rest;

use crate::deaths::{Doom, Unreaped};
use crate::mailbox::Mailbox;
use crate::report::{self, Ending, Failure, Place, Where};
use crate::start::Ranks;
use crate::strays;
use crate::sys::{self, Pid};
use crate::tools;

/// The signals sent to the ranks to end a job.
pub struct Steps {
    /// Each with its time in milliseconds.
    signals: &'static [(u64, i32)],
    /// A command around the MPI program (a debugger, a shell) ends by itself: only its program gets the signals.
    spares_commands: bool,
}

/// A rank has failed. The others can be anywhere and are stopped at once.
pub const AFTER_FAILURE: Steps = Steps { signals: &[(0, sys::SIGTERM), (400, sys::SIGKILL)], spares_commands: true };
/// A rank has failed outside MPI. The others do not wait for it and may be about to print an error
/// of their own, so they get a little time.
pub const AFTER_QUIET_FAILURE: Steps =
    Steps { signals: &[(250, sys::SIGTERM), (650, sys::SIGKILL)], spares_commands: true };
/// The time limit was reached, or the output has no reader any more.
pub const AFTER_LIMIT: Steps = Steps { signals: &[(0, sys::SIGTERM), (400, sys::SIGKILL)], spares_commands: false };
pub const AFTER_INTERRUPT: Steps =
    Steps { signals: &[(0, sys::SIGINT), (500, sys::SIGTERM), (900, sys::SIGKILL)], spares_commands: false };
pub const AT_ONCE: Steps = Steps { signals: &[(0, sys::SIGKILL)], spares_commands: false };
/// All ranks have succeeded, but a process that they started still runs: a pipeline may be writing
/// its last lines.
const AFTER_SUCCESS: Steps = Steps { signals: &[(500, sys::SIGTERM), (800, sys::SIGKILL)], spares_commands: false };
const STRAYS_AFTER_FAILURE: Steps =
    Steps { signals: &[(0, sys::SIGTERM), (200, sys::SIGKILL)], spares_commands: false };
/// A rank in valgrind writes its report after SIGTERM, and is not killed before this time.
const VALGRIND_REPORT: Duration = Duration::from_secs(60);
/// A rank that names a program that nobody has seen is not taken for a command for longer: it may have damaged what it
/// says of itself.
const UNSEEN: Duration = Duration::from_secs(5);
/// Time for the ranks to react to a signal that a user sent to `mpirun` to end the job.
const SIGNAL_GRACE: Duration = Duration::from_secs(5);
/// A process that still exists this long after SIGKILL hangs in the kernel and cannot be ended.
const UNKILLABLE: Duration = Duration::from_secs(10);
/// Time that ranks inside MPI may run after another rank has ended without calling `MPI_Init`.
pub const MISSED: Duration = Duration::from_secs(1);
/// Interval between checks of MPI processes that are not direct children of `mpirun`.
const TICK: Duration = Duration::from_millis(400);

pub struct Watch {
    pub ranks: Ranks,
    pub mailbox: Mailbox,
    pub host: String,
    /// Children that do not belong to the ranks: those that this process had before it started
    /// anything, and launchers.
    not_ours: Vec<Pid>,
    /// Those of them that have ended, with their status.
    others_ended: Vec<(Pid, i32)>,
    /// Exit status of the first spawned job that failed.
    pub bad_child: i32,
    states: Vec<State>,
    by_pid: HashMap<Pid, usize>,
    pub live: usize,
    pub all_well: bool,
    /// Signals still to be sent.
    plan: VecDeque<(Instant, i32)>,
    /// The signals also go to spawned jobs.
    ends_spawned_jobs: bool,
    spares_commands: bool,
    /// All ranks have ended; the processes that they started are being ended.
    clearing: bool,
    /// A signal to end was sent. From now on, the way in which a process ends says nothing about
    /// the program.
    forced: bool,
    killed_at: Option<Instant>,
    next_tick: Instant,
    /// Messages of spawned jobs that the owner has not taken.
    heard: Vec<Message>,
    /// Texts that the owner has not printed.
    said: Vec<String>,
    /// Ranks that have ended since the owner asked: their slots, and whether MPI had ended in them.
    ended: Vec<(usize, bool)>,
    /// Ranks that have ended, of a job that goes on.
    unreaped: Unreaped,
    /// Ranks that have ended well.
    pub well: usize,
    /// The source lines of calls.
    lines: Lines,
}

/// A rank of this machine.
struct State {
    /// The process that `mpirun` started; its process group has the same number.
    leader: Pid,
    leader_ended: bool,
    /// There may be processes in its group. An empty group's number can be reused, so it is not
    /// used again.
    group_open: bool,
    ended: bool,
    /// Its MPI process has failed, and the command that `mpirun` started around it still runs. The rank ends with that.
    has_failed: bool,
    /// Its MPI process was seen alive, and is not the one that `mpirun` started.
    has_program: bool,
    /// When the rank ended with status 0 without having called `MPI_Init`.
    never_came: Option<Instant>,
}

/// A rank that did not end well.
pub struct Death {
    /// Its number among the ranks of this machine.
    index: usize,
    pid: Pid,
    pub ending: Ending,
    core_dumped: bool,
    /// It had called `MPI_Finalize`, so that no other rank waits for it.
    pub is_late: bool,
}

impl Death {
    /// Of several deaths at about the same time, the one with the highest weight is the likeliest cause.
    fn weight(&self) -> (bool, u32) {
        (!self.is_late, self.ending.weight())
    }
}

impl Watch {
    pub fn new(ranks: Ranks, mailbox: Mailbox, host: String, not_ours: Vec<Pid>) -> Watch {
        let state = |leader| State {
            leader,
            leader_ended: false,
            group_open: true,
            ended: false,
            has_failed: false,
            has_program: false,
            never_came: None,
        };
        Watch {
            states: ranks.list.iter().map(|started| state(started.pid)).collect(),
            by_pid: ranks.list.iter().enumerate().map(|(index, started)| (started.pid, index)).collect(),
            live: ranks.list.len(),
            all_well: true,
            plan: VecDeque::new(),
            ends_spawned_jobs: false,
            spares_commands: false,
            clearing: false,
            forced: false,
            killed_at: None,
            next_tick: Instant::now() + TICK,
            heard: Vec::new(),
            said: Vec::new(),
            ended: Vec::new(),
            unreaped: Unreaped::default(),
            well: 0,
            lines: Lines::new(),
            bad_child: 0,
            ranks,
            mailbox,
            host,
            not_ours,
            others_ended: Vec::new(),
        }
    }

    /// A child that belongs to no rank.
    pub fn do_not_count(&mut self, pid: Pid) {
        self.not_ours.push(pid);
    }

    /// Children that belong to no rank and have ended since the last call.
    pub fn take_others_ended(&mut self) -> Vec<(Pid, i32)> {
        std::mem::take(&mut self.others_ended)
    }

    /// Neither ranks nor spawned jobs.
    pub fn nobody_lives(&self) -> bool {
        self.live == 0 && self.mailbox.jobs().is_empty()
    }

    /// A signal to end was sent: how processes end now says nothing about the program.
    pub fn is_forced(&self) -> bool {
        self.forced
    }

    /// The job is being ended, or has been.
    pub fn is_stopping(&self) -> bool {
        !self.plan.is_empty()
    }

    /// Messages of spawned jobs since the last call.
    pub fn hear(&mut self) -> Vec<Message> {
        self.heard.extend(self.mailbox.hear());
        std::mem::take(&mut self.heard)
    }

    /// The slots of the ranks that have ended since the last call, and whether MPI had ended in them.
    pub fn take_ended(&mut self) -> Vec<(usize, bool)> {
        std::mem::take(&mut self.ended)
    }

    /// What the user should read, since the last call.
    pub fn take_said(&mut self) -> Vec<String> {
        std::mem::take(&mut self.said)
    }

    /// The children that have ended since the last call, and their status.
    fn ended_children(&mut self) -> Vec<(Pid, i32)> {
        let mut dead = Vec::new();
        // Read the mailbox before a child is reaped: it says which processes are spawned jobs, and
        // believes that only of processes that are still in /proc.
        if self.ranks.segment().goes_on() {
            for pid in strays::children() {
                let Some(status) = pid::status_of_ended_child(pid).filter(|_| !self.unreaped.has(pid)) else {
                    continue;
                };
                self.heard.extend(self.mailbox.hear());
                match self.by_pid.get(&pid) {
                    Some(&rank) => self.unreaped.add(pid, rank),
                    None => _ = sys::reap(pid),
                }
                dead.push((pid, status));
            }
            return dead;
        }
        while let Some(pid) = sys::ended_child() {
            self.heard.extend(self.mailbox.hear());
            match sys::reap(pid) {
                Some(status) => dead.push((pid, status)),
                None => break,
            }
        }
        dead
    }

    /// Reaps ranks that were kept for the others.
    fn reap_kept(&mut self) {
        for (rank, pid) in self.unreaped.reap(&self.ranks, self.live > 0) {
            self.states[rank].group_open = sys::kill(-pid, 0);
        }
    }

    /// Looks at the children that have ended. Returns the ranks that failed, the likeliest cause first.
    pub fn reap(&mut self) -> Vec<Death> {
        let mut dead = self.ended_children();
        dead.retain(|&(pid, status)| {
            let job = self.mailbox.ended(pid);
            let killed = report::killed_by(status);
            if let Some(signal) = killed.filter(|_| job && !self.forced) {
                // It could not report this itself. Its ranks end with it, and ranks here that wait
                // for them get an error.
                let signal = sys::signal_text(signal);
                self.said.push(format!("the mpirun of a spawned job (pid {pid}) was killed by {signal}"));
            }
            // Where others go on, that is the death of its ranks.
            let is_survived = killed.is_some() && self.ranks.segment().goes_on();
            if job && self.bad_child == 0 && !is_survived {
                self.bad_child = report::status(status);
            }
            let other = self.not_ours.contains(&pid);
            if other {
                self.not_ours.retain(|&known| known != pid);
                self.others_ended.push((pid, status));
            }
            !job && !other
        });
        // Handle a rank's MPI process before the shell that started it: its status says more.
        dead.sort_by_key(|(pid, _)| self.by_pid.contains_key(pid));
        let mut failed = Vec::new();
        for (pid, status) in dead {
            if let Some((index, ending)) = self.on_death(pid, status) {
                let core_dumped = libc::WIFSIGNALED(status) && libc::WCOREDUMP(status);
                let has_finalized = self.ranks.block(index).state.load(Acquire) == STATE_FINALIZED;
                let is_late = has_finalized && matches!(ending, Ending::Exit(_) | Ending::Signal(_));
                failed.push(Death { index, pid, ending, core_dumped, is_late });
            }
        }
        failed.retain(|death| death.ending != Ending::Well);
        failed.sort_by_key(|death| Reverse(death.weight()));
        self.reap_kept();
        failed
    }

    /// Records the end of a process. If it was a rank's, returns the rank and how it ended.
    fn on_death(&mut self, pid: Pid, status: i32) -> Option<(usize, Ending)> {
        let rank = self.by_pid.remove(&pid);
        let is_leader = rank.is_some();
        if !is_leader {
            // Not a rank's leader; its process group may be empty now.
            for rank in self.states.iter_mut().filter(|rank| rank.leader_ended && rank.group_open) {
                rank.group_open = sys::kill(-rank.leader, 0);
            }
        }
        let rank = rank.or_else(|| (0..self.states.len()).find(|&rank| self.program(rank) == Some(pid)))?;
        if is_leader {
            self.states[rank].leader_ended = true;
            self.states[rank].group_open = sys::kill(-pid, 0);
            if status == 0 && self.other_program(rank).is_some() {
                return None;
            }
        }
        let mut ending = Ending::of(status, self.ranks.block(rank));
        if !is_leader && !self.states[rank].leader_ended {
            return self.note_failure(rank).then_some((rank, ending));
        }
        if is_leader && status == 0 && self.is_judged_by_command(rank) {
            ending = Ending::Well;
        }
        // An MPI process that its shell left behind is still reported.
        if !self.states[rank].ended {
            self.end_rank(rank, ending);
            if self.states[rank].has_failed {
                return None;
            }
        } else if is_leader {
            return None;
        }
        Some((rank, ending))
    }

    /// The MPI process of a rank has ended while the command around it runs. Returns whether that is news, and a failure.
    fn note_failure(&mut self, rank: usize) -> bool {
        let state = self.ranks.block(rank).state.load(Acquire);
        let is_failure = !self.is_judged_by_command(rank) && matches!(state, STATE_RUNNING | STATE_ABORTED);
        let is_news = is_failure && !std::mem::replace(&mut self.states[rank].has_failed, is_failure);
        self.all_well &= !is_failure;
        is_news
    }

    /// Nobody waits for the process of the only rank of a job: only the end of the command counts, and a debugger may run
    /// the program again.
    fn is_judged_by_command(&self, rank: usize) -> bool {
        self.ranks.job_size == 1 && self.program(rank).is_some_and(|program| program != self.states[rank].leader)
    }

    /// The pid of the rank's MPI process after `MPI_Init`. It is read from memory that every rank
    /// can write, so check it with [`Watch::is_ours`] before acting on the process.
    fn program(&self, rank: usize) -> Option<Pid> {
        pid::Pid::new(self.ranks.block(rank).pid.load(Relaxed)).map(pid::Pid::get)
    }

    /// Whether a process belongs to this job, dead or alive.
    fn is_ours(&self, rank: usize, program: Pid) -> bool {
        program == self.states[rank].leader || strays::belongs_here(program)
    }

    /// The rank's MPI process, if it is alive and is not the process that `mpirun` started.
    fn other_program(&self, rank: usize) -> Option<Pid> {
        let program = self.program(rank).filter(|&program| program != self.states[rank].leader)?;
        (process_lives(program as u32) && strays::belongs_here(program)).then_some(program)
    }

    fn end_rank(&mut self, rank: usize, ending: Ending) {
        let at = Where::of(self.ranks.block(rank));
        self.states[rank].never_came = (ending == Ending::Well && at.never_came()).then(Instant::now);
        self.states[rank].ended = true;
        let has_finalized = self.ranks.block(rank).state.load(Acquire) == STATE_FINALIZED;
        self.ended.push((self.ranks.slot(rank), has_finalized));
        self.live -= 1;
        let is_well = ending == Ending::Well && !self.states[rank].has_failed;
        self.well += usize::from(is_well);
        self.all_well &= ending == Ending::Well;
    }

    /// Whether the process of a rank has ended.
    pub fn has_ended(&self, rank: usize) -> bool {
        self.states[rank].ended
    }

    /// The ranks that still run beside one that has died.
    pub fn others(&self, death: &Death) -> usize {
        let runs = |(index, state): (usize, &State)| index != death.index && !state.ended && !state.has_failed;
        self.states.iter().enumerate().filter(|&state| runs(state)).count()
    }

    /// The ranks that still run, without those that have failed, and without commands that will end by themselves.
    pub fn running(&self) -> usize {
        let spared = |index: usize| self.is_sparing() && self.is_command(index);
        let runs = |(index, state): &(usize, &State)| !state.ended && !state.has_failed && !spared(*index);
        self.states.iter().enumerate().filter(runs).count()
    }

    /// The job ends, but the commands that `mpirun` started end by themselves.
    pub fn is_sparing(&self) -> bool {
        self.is_stopping() && self.spares_commands
    }

    /// The commands that still run around programs: rank, name and process.
    pub fn commands(&self) -> impl Iterator<Item = (usize, &str, Pid)> {
        let lives = |index: &usize| !self.states[*index].ended && self.is_command(*index);
        (0..self.states.len()).filter(lives).map(|index| {
            let started = &self.ranks.list[index];
            (started.number, started.program.as_str(), started.pid)
        })
    }

    /// The message about a death; `others` ranks of the job still run.
    pub fn failure(&self, death: &Death, others: usize) -> Failure {
        Failure {
            rank: self.ranks.list[death.index].number,
            program: self.ranks.list[death.index].program.clone(),
            pid: death.pid,
            host: self.host.clone(),
            ending: death.ending,
            core_dumped: death.core_dumped,
            at: Where::of(self.ranks.block(death.index)),
            others,
        }
    }

    /// What every rank of this machine says of itself.
    pub fn blocks(&self) -> impl Iterator<Item = &RankBlock> {
        (0..self.states.len()).map(|rank| self.ranks.block(rank))
    }

    /// How the ranks of this machine are tied to the processes that spawned their job.
    pub fn parent_ties(&self) -> ParentTies {
        let stays =
            |block: &&RankBlock| block.state.load(Acquire) != STATE_FINALIZED && block.leaving.load(Acquire) == 0;
        let is = |block: &RankBlock, tie: u32| block.parents.load(Acquire) == tie;
        ParentTies {
            came: self.blocks().all(|block| !is(block, PARENTS_NONE)),
            connected: self.blocks().filter(stays).any(|block| is(block, PARENTS_CONNECTED)),
            leaving: self.blocks().filter(stays).any(|block| is(block, PARENTS_LEAVING)),
            left: self.blocks().any(|block| is(block, PARENTS_LEFT)),
            are_final: false,
        }
    }

    /// The number of a rank in the job.
    pub fn number_of(&self, rank: usize) -> usize {
        self.ranks.list[rank].number
    }

    /// The process of a rank, if it belongs to the job.
    pub fn pid_of(&self, rank: usize) -> Option<Pid> {
        self.program(rank).filter(|&program| self.is_ours(rank, program))
    }

    /// What is known of each rank, to find deadlocks.
    pub fn rest_states(&self) -> Vec<rest::State> {
        let state = |rank: usize| {
            let state = &self.states[rank];
            if state.ended && !state.group_open {
                // One that never came is missed after a while, with a text of its own.
                return if state.never_came.is_some() { rest::State::Free } else { rest::State::Ended };
            }
            let block = self.ranks.block(rank);
            match block.state.load(Acquire) {
                // One that has only ended its sessions may still begin the world.
                STATE_FINALIZED if block.world_ended.load(Acquire) != 0 => rest::State::Finalized,
                STATE_RUNNING => self.ranks.resting(rank).map_or(rest::State::Free, rest::State::Resting),
                _ => rest::State::Free,
            }
        };
        (0..self.states.len()).map(state).collect()
    }

    /// Where the live ranks are, and what they say that they wait for.
    pub fn places(&self) -> Vec<Place> {
        self.places_of(|_| true)
    }

    /// The same for some of them.
    pub fn places_of(&self, is_meant: impl Fn(usize) -> bool) -> Vec<Place> {
        let live = self.states.iter().enumerate().filter(|(rank, state)| !state.ended && is_meant(*rank));
        let live: Vec<(usize, Waits)> =
            live.map(|(rank, _)| (rank, self.ranks.waits(rank).unwrap_or_default())).collect();
        // The number of the process is read from memory that every rank can write; only files of our own are read.
        let pid = |rank: usize| self.pid_of(rank).unwrap_or_default() as u32;
        let callers = live.iter().map(|(rank, waits)| Caller { pid: pid(*rank), callers: waits.callers });
        let sites = self.lines.sites(&callers.collect::<Vec<_>>(), lines::LIMIT);
        let place = |((rank, waits), site): ((usize, Waits), Option<Site>)| Place {
            rank: self.ranks.list[rank].number,
            at: Where::of(self.ranks.block(rank)),
            line: site.map(|site| site.to_string()),
            waits: Some(waits.text).filter(|text| !text.is_empty()),
        };
        live.into_iter().zip(sites).map(place).collect()
    }

    /// The source lines of calls of ranks, by their return addresses.
    pub fn lines_of(&self, calls: &[(usize, [u64; CALLERS])]) -> Vec<Option<String>> {
        if calls.is_empty() {
            return Vec::new();
        }
        // Only files of processes of our own are read.
        let pid = |rank: usize| self.pid_of(rank).unwrap_or_default() as u32;
        let callers: Vec<Caller> = calls.iter().map(|&(rank, callers)| Caller { pid: pid(rank), callers }).collect();
        self.lines.sites(&callers, lines::LIMIT).into_iter().map(|site| site.map(|site| site.to_string())).collect()
    }

    // ---- time ----

    /// Looks after processes that the kernel does not report, at times. Returns ranks that failed.
    pub fn tick(&mut self, now: Instant) -> Vec<Death> {
        self.reap_kept();
        if self.next_tick > now {
            return Vec::new();
        }
        self.next_tick = now + TICK;
        let mut deaths = self.look_after_programs();
        deaths.extend(self.miss_those_who_never_came(now));
        deaths
    }

    /// Sends the signals whose time has come, and returns them.
    pub fn send_due_signals(&mut self, now: Instant) -> Vec<i32> {
        let mut sent = Vec::new();
        while let Some(&(at, signal)) = self.plan.front()
            && at <= now
        {
            self.plan.pop_front();
            self.forced = true;
            if self.spares_commands {
                self.signal_programs(signal, now);
            } else {
                self.signal_ranks(signal);
            }
            if self.ends_spawned_jobs {
                self.mailbox.signal(signal);
            }
            if self.clearing {
                self.signal_strays(signal);
            }
            if signal == sys::SIGKILL {
                self.killed_at.get_or_insert(now);
                // A process that was being started meanwhile gets the next signal.
                self.plan.push_back((now + Duration::from_millis(100), sys::SIGKILL));
            }
            sent.push(signal);
        }
        sent
    }

    /// Checks MPI processes that are not direct children (a shell or a debugger stands between):
    /// the kernel does not report their end to `mpirun`.
    fn look_after_programs(&mut self) -> Vec<Death> {
        let mut deaths = Vec::new();
        for index in 0..self.states.len() {
            let state = &self.states[index];
            let block = self.ranks.block(index);
            let Some(pid) = self.program(index).filter(|&program| !state.ended && program != state.leader) else {
                continue;
            };
            let lives = self.other_program(index).is_some();
            self.states[index].has_program |= lives;
            let state = &self.states[index];
            let ending = match block.state.load(Acquire) {
                STATE_ABORTED => Ending::Abort(block.abort_code.load(Relaxed)),
                STATE_RUNNING if !lives => Ending::NoFinalize,
                STATE_FINALIZED if !lives && state.leader_ended => Ending::Well,
                _ => continue,
            };
            if !state.leader_ended {
                if !self.note_failure(index) {
                    continue;
                }
            } else {
                self.end_rank(index, ending);
            }
            if ending != Ending::Well {
                deaths.push(Death { index, pid, ending, core_dumped: false, is_late: false });
            }
        }
        deaths
    }

    /// A rank that ended without calling `MPI_Init` while other ranks are inside MPI: they would
    /// wait for it sooner or later.
    fn miss_those_who_never_came(&mut self, now: Instant) -> Option<Death> {
        self.never_came(|since| now > since + MISSED).filter(|_| self.is_inside_mpi())
    }

    /// A rank that ended without calling `MPI_Init`, at a time that satisfies a condition.
    pub fn never_came(&self, is_so: impl Fn(Instant) -> bool) -> Option<Death> {
        let missing = |state: &State| !state.group_open && state.never_came.is_some_and(&is_so);
        let index = self.states.iter().position(missing)?;
        Some(Death {
            index,
            pid: self.states[index].leader,
            ending: Ending::NoInit,
            core_dumped: false,
            is_late: false,
        })
    }

    /// The rank was reported.
    pub fn miss_no_longer(&mut self, death: &Death) {
        self.states[death.index].never_came = None;
    }

    /// Whom a rank that has failed wanted to end.
    pub fn doom(&self, death: &Death) -> Doom {
        match self.ranks.block(death.index).doomed.load(Relaxed) {
            DOOMED_PART => Doom::Part,
            DOOMED_JOB => Doom::Job,
            _ => Doom::Nobody,
        }
    }

    /// Kills the ranks that an `MPI_Abort` was to end, and returns how many.
    pub fn kill_doomed(&mut self) -> usize {
        let is_meant = |rank: &usize| {
            let state = &self.states[*rank];
            !state.ended && !state.has_failed && self.ranks.block(*rank).doomed.load(Relaxed) == DOOMED_PART
        };
        let doomed: Vec<usize> = (0..self.states.len()).filter(is_meant).collect();
        doomed.iter().for_each(|&rank| self.signal_rank(rank, sys::SIGKILL));
        doomed.len()
    }

    /// All processes of the job have ended here, also those that a rank had started.
    pub fn note_groups_ended(&mut self) {
        self.states.iter_mut().for_each(|state| state.group_open = false);
    }

    /// Whether a live rank is inside MPI.
    pub fn is_inside_mpi(&self) -> bool {
        let inside = |rank: usize| !self.states[rank].ended && Where::of(self.ranks.block(rank)).is_inside();
        (0..self.states.len()).any(inside)
    }

    pub fn deadline(&self) -> Option<Instant> {
        let tick = (self.live > 0 && self.somebody_needs_watching()).then_some(self.next_tick);
        [tick, self.unreaped.deadline(), self.plan.front().map(|&(at, _)| at)].into_iter().flatten().min()
    }

    fn somebody_needs_watching(&self) -> bool {
        let watch = |(rank, state): (usize, &State)| match state.ended {
            false => self.program(rank) != Some(state.leader),
            true => state.never_came.is_some(),
        };
        self.states.iter().enumerate().any(watch)
    }

    // ---- signals ----

    /// Ends the ranks in steps. The owner calls [`Watch::send_due_signals`] afterwards.
    pub fn stop(&mut self, steps: &Steps, ends_spawned_jobs: bool, now: Instant) {
        let at = |&(after, signal): &(u64, i32)| (now + Duration::from_millis(after), signal);
        self.plan = steps.signals.iter().map(at).collect();
        self.ends_spawned_jobs = ends_spawned_jobs;
        self.spares_commands = steps.spares_commands;
    }

    /// Passes on a signal with which the user ends the job, and gives the programs time for it.
    pub fn pass_on_end(&mut self, signal: i32, now: Instant) {
        (self.ends_spawned_jobs, self.spares_commands) = (true, false);
        self.signal_everybody(signal);
        self.plan = VecDeque::from([(now + SIGNAL_GRACE, sys::SIGKILL)]);
    }

    /// Sends a user signal to the MPI program itself: a shell around the program would die of it.
    pub fn tell_programs(&self, signal: i32) {
        for (rank, state) in self.states.iter().enumerate().filter(|(_, state)| !state.ended) {
            match self.program(rank).filter(|&program| self.is_ours(rank, program)) {
                None => sys::kill(-state.leader, signal),
                Some(program) => sys::kill(program, signal),
            };
        }
        self.mailbox.signal(signal);
    }

    pub fn signal_everybody(&mut self, signal: i32) {
        self.signal_ranks(signal);
        self.mailbox.signal(signal);
    }

    pub fn signal_ranks(&mut self, signal: i32) {
        (0..self.states.len()).for_each(|rank| self.signal_rank(rank, signal));
    }

    fn signal_rank(&mut self, rank: usize, signal: i32) {
        let rank = &mut self.states[rank];
        if !rank.group_open {
            return;
        }
        let there = sys::kill(-rank.leader, signal);
        // The kernel does not stop a session without a terminal, so all that do not want to do something before are stopped.
        if signal == sys::SIGTSTP && !tools::handles(rank.leader, signal) {
            sys::kill(-rank.leader, sys::SIGSTOP);
        }
        // A stopped process reacts only to SIGCONT and SIGKILL.
        if there && matches!(signal, sys::SIGTERM | sys::SIGINT | sys::SIGHUP | sys::SIGQUIT) {
            sys::kill(-rank.leader, sys::SIGCONT);
        }
        // The leader keeps the number in use until it is reaped.
        rank.group_open = there || !rank.leader_ended;
    }

    /// Signals the ranks, but of those that are in a command only the MPI program: a debugger shows where it was.
    fn signal_programs(&mut self, signal: i32, now: Instant) {
        for rank in 0..self.states.len() {
            let state = &self.states[rank];
            if state.ended || state.leader_ended {
                self.signal_rank(rank, signal);
            } else if self.is_command(rank) {
                // A debugger that has stopped the program looks at it.
                let program = self.other_program(rank).or_else(|| tools::traced_child(state.leader));
                if let Some(program) = program.filter(|&pid| signal != sys::SIGKILL || !tools::is_held(pid)) {
                    sys::kill(program, signal);
                }
            } else if signal != sys::SIGKILL
                || self.killed_at.is_none_or(|at| now > at + VALGRIND_REPORT)
                || !tools::is_valgrind(state.leader)
            {
                self.signal_rank(rank, signal);
            }
        }
    }

    /// Whether the process that `mpirun` started for a live rank is a command around the MPI program.
    fn is_command(&self, rank: usize) -> bool {
        let State { leader, leader_ended, has_program, .. } = self.states[rank];
        let says_so = || {
            let may_be = self.killed_at.is_none_or(|at| at.elapsed() < UNSEEN);
            may_be && self.program(rank).is_some_and(|program| program != leader)
        };
        !leader_ended && (has_program || says_so() || tools::traced_child(leader).is_some())
    }

    fn signal_strays(&self, signal: i32) {
        for pid in self.strays() {
            sys::kill(pid, signal);
        }
    }

    /// Children that are neither ranks nor spawned jobs.
    fn strays(&self) -> Vec<Pid> {
        let known = |pid: &Pid| self.not_ours.contains(pid) || self.mailbox.jobs().contains(pid);
        strays::children().into_iter().filter(|pid| !known(pid)).collect()
    }

    // ---- the end ----

    /// Called when all ranks have ended and all ended children were reaped: whether all processes
    /// that they started have ended too. Processes that are left are asked to end. `may_revive`: a
    /// program that its shell left behind counts as a rank again.
    pub fn is_cleared(&mut self, may_revive: bool, now: Instant) -> bool {
        if !sys::have_children() {
            return true;
        }
        let jobs = self.mailbox.jobs().len();
        if jobs + self.not_ours.len() > 0 && self.strays().is_empty() {
            if jobs > 0 && !self.ends_spawned_jobs {
                self.plan.clear();
            }
            return jobs == 0;
        }
        if self.killed_at.is_some_and(|at| now > at + UNKILLABLE) {
            let left = strays::children();
            self.said.push(format!("these processes cannot be ended: {left:?}"));
            return true;
        }
        if may_revive && self.revive() {
            return false;
        }
        if !self.clearing {
            self.clearing = true;
            let steps = if self.all_well { &AFTER_SUCCESS } else { &STRAYS_AFTER_FAILURE };
            self.stop(steps, self.ends_spawned_jobs, now);
        }
        false
    }

    /// Handles a shell that ended before the MPI program it started in the background called
    /// `MPI_Init`: the rank is alive again.
    fn revive(&mut self) -> bool {
        for rank in 0..self.states.len() {
            let state = self.ranks.block(rank).state.load(Acquire);
            if state == STATE_RUNNING && self.other_program(rank).is_some() {
                self.states[rank].ended = false;
                self.live += 1;
            }
        }
        if self.live > 0 {
            self.clearing = false;
            self.plan.clear();
        }
        self.live > 0
    }
}
