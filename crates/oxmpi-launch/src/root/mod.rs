//! A job on several hosts, as `mpirun` itself runs it: it starts the agents, sends them their orders, shows the output
//! of all ranks, passes on input and signals, and decides how the job ends. It does not return while an agent is left
//! that it can reach. This module has its state and its loop; `agents.rs`, `parents.rs`, `streams.rs` and `ending.rs` have
//! what it does with each.

mod agents;
mod broken_links;
mod deadlocks;
mod debugger;
mod ending;
mod going_on;
mod parents;
mod streams;

use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Child;
use std::time::{Duration, Instant};

use oxmpi_agent::frame::{BadFrame, Credit};
use oxmpi_agent::message::{Down, FailedRank, LauncherOrder, Machine, NodeAddresses, Order, ParentTies, RankPlace};

use crate::agent::LATE;
use crate::branch::Branches;
use crate::findings::Findings;
use crate::input::SentInput;
use crate::job;
use crate::job_names::JobNames;
use crate::options::{Cluster, Request, Settings, StageIn};
use crate::order::Plan;
use crate::output::Outputs;
use crate::share;
use crate::spawned::Spawned;
use crate::stage;
use crate::start::{self, Refusal};
use crate::sys;
use deadlocks::HostRests;
use debugger::Running;
use ending::{END, Verdict};
use going_on::GoingOn;

/// Runs a job to its end and returns the exit status of `mpirun`. `spawned` is set for a job that `MPI_Comm_spawn` of
/// another job started.
pub fn run(request: &Request, cluster: &Cluster, mut spawned: Option<Spawned>) -> i32 {
    let signals = match sys::take_signals(&job::TAKEN) {
        Ok((signals, _)) => signals,
        Err(error) => {
            eprintln!("mpirun: cannot watch for signals: {error}");
            return 1;
        }
    };
    let refuse = |refusal: Refusal, spawned: Option<Spawned>| match spawned {
        Some(mut spawned) => spawned.refuse(&refusal.text),
        None => {
            eprintln!("mpirun: {}", refusal.text);
            refusal.status
        }
    };
    if cluster.stage_in != StageIn::Nothing
        && let Err(refusal) = stage::stage_in(request, cluster)
    {
        return refuse(refusal, spawned);
    }
    let parent = spawned.as_ref().map(|spawned| spawned.port.clone());
    let mut hosts = cluster.hosts.clone();
    loop {
        let cluster = Cluster { hosts: std::mem::take(&mut hosts), ..cluster.clone() };
        let root = match Root::new(request, &cluster, &signals, parent.as_deref()) {
            Ok(root) => Root { spawned: spawned.take(), ..root },
            Err(refusal) => return refuse(refusal, spawned),
        };
        match root.run() {
            Outcome::Ended(status) => return status,
            // Each round has fewer hosts than the one before.
            Outcome::SameMachine(same, parents) => {
                (hosts, spawned) = (share::rename(&cluster.hosts, &same), parents.map(|parents| *parents));
            }
        }
    }
}

/// What became of a job.
enum Outcome {
    /// The exit status.
    Ended(i32),
    /// Nothing was started, because these pairs of names, a later one and the first, mean one machine.
    SameMachine(Vec<(String, String)>, Option<Box<Spawned>>),
}

struct Root<'a> {
    settings: &'a Settings,
    findings: Findings,
    signals: &'a OwnedFd,
    branches: Branches,
    /// For agents that another one could not start.
    launcher: LauncherOrder,
    orders: Vec<Order>,
    /// All hosts are this machine, and shall count as different ones.
    pretended: bool,
    /// Hosts that are one machine.
    same_machine: Vec<(String, String)>,
    nodes: Vec<Node>,
    /// What the plan says of all ranks: their number.
    size: usize,
    outputs: Outputs,
    /// The streams of stdout and stderr of each rank.
    streams: Vec<[usize; 2]>,
    input: SentInput,
    verdict: Option<Verdict>,
    /// The first rank that failed after `MPI_Finalize`.
    late: Option<FailedRank>,
    all_well: bool,
    /// Exit status of the first spawned job that failed.
    bad_child: i32,
    places: Vec<RankPlace>,
    /// When the user last asked where the ranks are, and until when the agents may answer.
    looked: Option<Instant>,
    /// What is known of ranks that wait for each other.
    rests: HostRests,
    shows_places: Option<Instant>,
    time_limit: Option<Instant>,
    /// The time limit was reached, and until then the agents may say where the ranks are.
    last_places: Option<Instant>,
    /// When the agents were told to end the job.
    stopped_at: Option<Instant>,
    /// The agents know of a rank that ended without calling `MPI_Init`.
    told_missing: bool,
    /// The user does not want to wait for the reader of the output.
    hurry: bool,
    /// Names that the ranks have published.
    names: JobNames,
    /// The processes that spawned this job.
    spawned: Option<Spawned>,
    /// The first program, as the user typed it.
    program: String,
    /// The agents were told to start the ranks.
    has_run: bool,
    /// The processes that a debugger is told of.
    running: Running,
    /// Processes that show ranks in gdb.
    screens: Vec<Child>,
    /// Deaths and votes, if the job goes on when ranks die.
    going_on: GoingOn,
}

struct Node {
    host: String,
    ranks: Vec<u32>,
    phase: Phase,
    /// Ranks that have not ended.
    live: usize,
    /// Ranks that have ended well.
    well: usize,
    machine: Option<Machine>,
    address: Option<NodeAddresses>,
    /// `mpirun` has tried to start its agent because another agent could not.
    tried_here: bool,
    /// Credit for stdin, if ranks there read it.
    stdin: Option<Credit>,
    /// Bytes of output that were shown and not acknowledged.
    shown: usize,
    /// How its ranks are tied to the processes that spawned the job.
    ties: ParentTies,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Starting,
    Ready,
    Running,
    Gone,
    Lost,
}

impl<'a> Root<'a> {
    fn new(
        request: &'a Request,
        cluster: &Cluster,
        signals: &'a OwnedFd,
        parent: Option<&str>,
    ) -> Result<Root<'a>, Refusal> {
        let settings = &request.settings;
        let plan = Plan::new(request, cluster, parent)?;
        let mut outputs = Outputs::new(settings.label, settings.merge_stderr)
            .map_err(start::cannot("watch the output of the ranks"))?;
        plan.warnings.iter().for_each(|text| outputs.say(text));
        start::warn_of_mca(&mut outputs, settings);
        let streams = streams::connect(&plan, settings, &mut outputs)?;
        let nodes: Vec<Node> = plan
            .hosts
            .iter()
            .zip(&plan.ranks)
            .zip(&plan.reads)
            .map(|((host, ranks), &reads)| Node {
                host: host.clone(),
                ranks: ranks.clone(),
                phase: Phase::Starting,
                live: ranks.len(),
                well: 0,
                machine: None,
                address: None,
                tried_here: false,
                stdin: reads.then(Credit::default),
                shown: 0,
                ties: ParentTies::default(),
            })
            .collect();
        let (mut branches, events) = Branches::start(&plan.below, &plan.launcher, plan.host_timeout);
        for order in &plan.orders {
            branches.send(order.node, &Down::Order(Box::new(order.clone()))).map_err(|BadFrame(what)| Refusal {
                text: format!("the programs and their environment are too long for an agent: {what}"),
                status: 1,
            })?;
        }
        let mut root = Root {
            settings,
            findings: Findings::new(&settings.check, Instant::now()),
            signals,
            branches,
            launcher: plan.launcher,
            orders: plan.orders,
            pretended: cluster.pretended,
            same_machine: Vec::new(),
            size: plan.apps.len(),
            outputs,
            streams,
            input: SentInput::new(nodes.iter().any(|node| node.stdin.is_some())),
            nodes,
            verdict: None,
            late: None,
            all_well: true,
            bad_child: 0,
            places: Vec::new(),
            looked: None,
            rests: HostRests::new(settings.deadlock, plan.apps.len(), Instant::now()),
            shows_places: None,
            time_limit: settings.timeout.map(|limit| Instant::now() + limit),
            last_places: None,
            stopped_at: None,
            hurry: false,
            names: JobNames::default(),
            spawned: None,
            told_missing: false,
            has_run: false,
            running: Running::new(plan.apps.len(), plan.ranks.len(), plan.is_held),
            screens: Vec::new(),
            going_on: GoingOn::default(),
            program: request.blocks.first().map_or(String::new(), |block| block.program.to_string_lossy().into_owned()),
        };
        events.into_iter().for_each(|event| root.on_event(event, Instant::now()));
        Ok(root)
    }

    fn run(mut self) -> Outcome {
        let mut fds = Vec::new();
        let mut wake = Instant::now();
        loop {
            let now = Instant::now();
            if now > wake + LATE {
                // Stopped by the user, or the machine is overloaded: no agent is silent because of that.
                self.branches.forgive(now - wake);
                self.stopped_at = self.stopped_at.map(|at| at + (now - wake));
            }
            for event in self.branches.work(now) {
                self.on_event(event, now);
            }
            while let Some(signal) = sys::next_signal(self.signals) {
                self.on_signal(signal, now);
            }
            self.outputs.work(now);
            self.acknowledge();
            self.on_output_trouble();
            self.send_input(now);
            self.hear_parents(now);
            self.on_time(now);
            if self.findings.is_due(now) {
                self.findings.lines(now).iter().for_each(|line| self.say(line));
            }
            self.show_places(now);
            self.look_for_deadlock(now);
            if !self.same_machine.is_empty() {
                self.close();
                return Outcome::SameMachine(self.same_machine, self.spawned.map(Box::new));
            }
            if self.nodes.iter().all(|node| self.is_over(node)) {
                break;
            }
            fds.clear();
            fds.push(sys::pollfd(self.signals.as_raw_fd(), sys::POLLIN));
            self.branches.poll_for(&mut fds);
            self.outputs.poll_for(&mut fds);
            self.input.poll_for(&mut fds, self.room(), now);
            self.spawned.iter().for_each(|spawned| spawned.poll_for(&mut fds));
            wake = self.deadline(now);
            if let Err(error) = sys::poll(&mut fds, Some(wake.saturating_duration_since(now))) {
                self.say(&format!("cannot wait for the agents: {error}"));
                break;
            }
            wake = wake.max(now);
        }
        self.close();
        Outcome::Ended(self.conclude())
    }

    fn deadline(&self, now: Instant) -> Instant {
        let end = self.stopped_at.map(|at| (at + END).max(now + Duration::from_millis(100)));
        let parents = self.spawned.as_ref().and_then(Spawned::deadline);
        let (outputs, input) = (self.outputs.deadline(), self.input.deadline());
        let rests = self.rests.deadline().filter(|_| self.verdict.is_none() && self.has_run);
        let findings = self.findings.deadline();
        let branches = self.branches.deadline();
        let places = [self.shows_places, self.last_places];
        let all = [branches, outputs, self.time_limit, input, end, parents, rests, findings];
        all.into_iter().chain(places).flatten().fold(now + Duration::from_secs(1), Instant::min)
    }
}
