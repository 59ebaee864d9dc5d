//! A job on several hosts, as `mpirun` itself runs it: it starts the agents, sends them their orders, shows the output
//! of all ranks, passes on input and signals, and decides how the job ends. It does not return while an agent is left
//! that it can reach.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use oxmpi_agent::frame::{BadFrame, Class, Credit, EVERY_NODE, Frame};
use oxmpi_agent::message::{
    self, Below, Down, FailedRank, LauncherOrder, Machine, NodeAddresses, Order, ParentTies, RankPlace, Stop, Up,
};
use oxmpi_base::cpus::CpuSet;

use crate::agent::LATE;
use crate::branch::{Branches, Event, printable};
use crate::input::SentInput;
use crate::job;
use crate::job_names::JobNames;
use crate::options::{Cluster, Request, Settings, StageIn};
use crate::order::Plan;
use crate::output::{Channel, Destination, Outputs};
use crate::record::Record;
use crate::report::{self, Where};
use crate::share;
use crate::spawned::{News, Spawned};
use crate::stage;
use crate::start::{self, Refusal};
use crate::sys;
use crate::wires::{self, Files};

/// Time for the agents to end their ranks. A host that does not answer is given up earlier.
const END: Duration = Duration::from_secs(15);
/// Time for the launchers to end after the agents.
const LEAVE: Duration = Duration::from_secs(3);

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
    all_well: bool,
    /// Exit status of the first spawned job that failed.
    bad_child: i32,
    places: Vec<RankPlace>,
    time_limit: Option<Instant>,
    /// When the agents were told to end the job.
    stopped_at: Option<Instant>,
    /// The user does not want to wait for the reader of the output.
    hurry: bool,
    /// Names that the ranks have published.
    names: JobNames,
    /// The processes that spawned this job.
    spawned: Option<Spawned>,
    /// Their `mpirun` reports the failure of this job, because its own job ends for it.
    told_parents: bool,
    /// The process that spawned this job must end with it.
    takes_root_along: bool,
    /// The first program, as the user typed it.
    program: String,
    /// The agents were told to start the ranks.
    has_run: bool,
}

struct Node {
    host: String,
    ranks: Vec<u32>,
    phase: Phase,
    /// Ranks that have not ended.
    live: usize,
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

/// Why the job ends before all ranks have ended well.
enum Verdict {
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
    /// A spawned job that its root no longer wants.
    Unwanted,
    /// A spawned job whose parents ended while it was connected to them.
    Orphaned(String),
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
        let streams = connect(&plan, settings, &mut outputs)?;
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
            all_well: true,
            bad_child: 0,
            places: Vec::new(),
            time_limit: settings.timeout.map(|limit| Instant::now() + limit),
            stopped_at: None,
            hurry: false,
            names: JobNames::default(),
            spawned: None,
            told_parents: false,
            takes_root_along: false,
            has_run: false,
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
        let all = [self.branches.deadline(), outputs, self.time_limit, input, end, parents];
        all.into_iter().flatten().fold(now + Duration::from_secs(1), Instant::min)
    }

    // ---- agents ----

    fn on_event(&mut self, event: Event, now: Instant) {
        match event {
            Event::Frame(frame) => {
                let node = frame.node;
                if let Err(BadFrame(what)) = self.on_frame(frame, now) {
                    let host = self.nodes.get(node as usize).map_or("?", |node| &node.host);
                    let text = format!("the agent of host {host} sent a bad message: {what}");
                    self.fail(Verdict::Lost(text), Stop::Failure);
                }
            }
            Event::Lost { nodes, host, text } => nodes.iter().for_each(|&node| self.lose(node, &host, &text)),
            Event::Unstarted { below, text } => {
                below.nodes.iter().for_each(|&node| self.lose(node, &below.host, &text))
            }
            Event::Noise { host, line } => self.say(&format!("{host}: {line}")),
        }
    }

    /// The agent of a node cannot be reached any more.
    fn lose(&mut self, node: u32, host: &str, text: &str) {
        let Some(node) = self.nodes.get_mut(node as usize) else { return };
        let before = std::mem::replace(&mut node.phase, Phase::Lost);
        node.live = 0;
        if matches!(before, Phase::Gone | Phase::Lost) {
            return;
        }
        let ranks: CpuSet = node.ranks.iter().map(|&rank| rank as usize).collect();
        let plural = if node.ranks.len() == 1 { "" } else { "s" };
        let via = if node.host == host { String::new() } else { format!(", behind {}", printable(host)) };
        let text = format!("host {} (rank{plural} {ranks}{via}): {}", node.host, printable(text));
        self.fail(Verdict::Lost(text), if before == Phase::Running { Stop::Failure } else { Stop::AtOnce });
    }

    fn on_frame(&mut self, frame: Frame, now: Instant) -> Result<(), BadFrame> {
        let number = frame.node as usize;
        if number >= self.nodes.len() {
            // Heartbeats of agents that have no order yet have no node.
            let beat = frame.class == Class::Control && message::decode::<Up>(&frame.body)? == Up::Heartbeat;
            return if beat { Ok(()) } else { Err(BadFrame(format!("there is no node {number}"))) };
        }
        match frame.class {
            Class::Stdin => Err(BadFrame("input came from below".into())),
            Class::Output => self.on_output(number, &frame.body, now),
            Class::Control => self.on_message(number, message::decode(&frame.body)?),
        }
    }

    fn on_message(&mut self, number: usize, up: Up) -> Result<(), BadFrame> {
        let node = &mut self.nodes[number];
        match up {
            Up::Here(machine) => {
                if machine.user != sys::own_user() && self.settings.verbose {
                    let text = format!("host {}: the user's number there is {}", node.host, machine.user);
                    self.say(&text);
                }
                self.nodes[number].machine = Some(*machine);
            }
            Up::Ready(address) => {
                if node.phase == Phase::Starting {
                    (node.phase, node.address) = (Phase::Ready, Some(address));
                    self.go_when_ready()?;
                }
            }
            Up::Running { said } => said.iter().for_each(|text| self.say(&printable(text))),
            Up::Ties(ties) => node.ties = ties,
            Up::Live(live) => node.live = (live as usize).min(node.ranks.len()),
            Up::Failed(failed) => self.on_failure(*failed),
            Up::ChildFailed { text, status } => self.on_child_failure(printable(&text), status & 0xff),
            Up::Trouble { text, status } => {
                let text = printable(&text);
                let text = if text.contains(&node.host) { text } else { format!("host {}: {text}", node.host) };
                self.fail(Verdict::Trouble(text, if status == 0 { 1 } else { status & 0xff }), Stop::AtOnce);
            }
            Up::Say(text) => self.say(&printable(&text)),
            Up::Places(places) => self.places.extend(places),
            Up::Gone { all_well, bad_child } => {
                (node.phase, node.live) = (Phase::Gone, 0);
                self.all_well &= all_well;
                if self.bad_child == 0 {
                    self.bad_child = bad_child & 0xff;
                }
            }
            Up::Lost { node, host, text } => self.lose(node, &host, &text),
            Up::Unstarted { below, text } => self.start_here(below, text),
            Up::Taken(bytes) => match &mut node.stdin {
                Some(credit) => credit.taken(bytes as usize)?,
                None => return Err(BadFrame("input was taken that was not sent".into())),
            },
            Up::StdinUnread => {
                node.stdin = None;
                if self.nodes.iter().all(|node| node.stdin.is_none()) {
                    self.input.close();
                }
            }
            Up::Names { slot, ticket, what } => {
                let result = self.names.answer((number as u32, slot), what);
                self.branches.send(number as u32, &Down::Names { slot, ticket, result })?;
            }
            // No job asks for it.
            Up::Probed(_) => return Err(BadFrame("an answer to no question".into())),
            Up::Heartbeat => {}
        }
        Ok(())
    }

    /// When all agents are ready, all start their ranks.
    fn go_when_ready(&mut self) -> Result<(), BadFrame> {
        if self.verdict.is_some() || self.nodes.iter().any(|node| node.phase != Phase::Ready) {
            return Ok(());
        }
        self.same_machine = if self.pretended { Vec::new() } else { self.find_same_machine() };
        if !self.same_machine.is_empty() {
            return Ok(());
        }
        self.nodes.iter_mut().for_each(|node| node.phase = Phase::Running);
        self.has_run = true;
        let nodes = self.nodes.iter().filter_map(|node| node.address.clone()).collect();
        self.branches.send(EVERY_NODE, &Down::Go { nodes })
    }

    /// Names of one machine: each later one, and the first. Ranks there can share memory, so one agent serves them.
    fn find_same_machine(&self) -> Vec<(String, String)> {
        let is_same = |a: &Node, b: &Node| match (&a.machine, &b.machine) {
            (Some(a), Some(b)) => !a.boot_id.is_empty() && a.boot_id == b.boot_id && a.namespaces == b.namespaces,
            _ => false,
        };
        let first = |(number, node): (usize, &Node)| {
            let first = self.nodes[..number].iter().find(|first| is_same(first, node))?;
            Some((node.host.clone(), first.host.clone()))
        };
        self.nodes.iter().enumerate().filter_map(first).collect()
    }

    /// An agent could not start one below it, for example because its host has no key for that one: tries it from here.
    fn start_here(&mut self, below: Below, text: String) {
        let may_try = |&node: &u32| {
            let node = self.nodes.get(node as usize);
            node.is_some_and(|node| node.phase == Phase::Starting && !node.tried_here)
        };
        let is_known = self.nodes.get(below.node as usize).is_some_and(|node| node.host == below.host);
        if self.verdict.is_some() || !is_known || !below.nodes.iter().all(may_try) {
            return below.nodes.iter().for_each(|&node| self.lose(node, &below.host, &text));
        }
        if self.settings.verbose {
            self.say(&format!("host {}: {text}; mpirun tries it itself", below.host));
        }
        if let Err(event) = self.branches.add(&below, &self.launcher) {
            return self.on_event(event, Instant::now());
        }
        for &node in &below.nodes {
            self.nodes[node as usize].tried_here = true;
            let order = self.orders[node as usize].clone();
            // It was sent once already, so it fits into a frame.
            let _ = self.branches.send(node, &Down::Order(Box::new(order)));
        }
    }

    // ---- the processes that spawned this job ----

    fn hear_parents(&mut self, now: Instant) {
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

    fn is_connected(&self) -> bool {
        ParentTies::are_connected(self.nodes.iter().map(|node| node.ties))
    }

    /// Reports the failure of this job, once, to the processes that spawned it and are connected to it.
    fn tell_parents(&mut self) {
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
    fn conclude_spawned(&self, mut spawned: Spawned, text: Option<String>, status: i32) -> (Option<String>, i32) {
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

    // ---- how it ends ----

    fn on_failure(&mut self, mut failed: FailedRank) {
        failed.text = printable(&failed.text);
        let live = self.live();
        if self.settings.keep_going {
            self.verdict.get_or_insert(Verdict::Failed(failed, 0));
        } else {
            let how = if failed.quiet { Stop::QuietFailure } else { Stop::Failure };
            self.fail(Verdict::Failed(failed, live), how);
        }
    }

    /// A job that ranks have spawned failed while it was connected to them.
    fn on_child_failure(&mut self, text: String, status: i32) {
        let others = if self.settings.keep_going { 0 } else { self.live() };
        let verdict = Verdict::ChildFailed(text, status, others);
        match self.settings.keep_going {
            true => drop(self.verdict.get_or_insert(verdict)),
            false => self.fail(verdict, Stop::Failure),
        }
    }

    /// Whether nothing more is expected of a node.
    fn is_over(&self, node: &Node) -> bool {
        matches!(node.phase, Phase::Gone | Phase::Lost) || (self.hurry && node.live == 0)
    }

    fn live(&self) -> usize {
        self.nodes.iter().map(|node| node.live).sum()
    }

    /// Ends the job, for the first reason that there is.
    fn fail(&mut self, verdict: Verdict, how: Stop) {
        if self.verdict.is_none() || self.stopped_at.is_none() {
            self.verdict.get_or_insert(verdict);
            self.stop(how);
        }
    }

    fn stop(&mut self, how: Stop) {
        self.stopped_at.get_or_insert_with(Instant::now);
        // A message of this length always fits into a frame.
        let _ = self.branches.send(EVERY_NODE, &Down::Stop(how));
    }

    fn on_signal(&mut self, signal: i32, now: Instant) {
        match signal {
            sys::SIGCHLD => self.reap(now),
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

    fn reap(&mut self, now: Instant) {
        while let Some(pid) = sys::ended_child() {
            match sys::reap(pid) {
                Some(status) => self.branches.ended(pid, status, now),
                None => break,
            };
        }
    }

    fn on_time(&mut self, now: Instant) {
        if self.time_limit.is_some_and(|at| at <= now) {
            self.time_limit = None;
            if self.stopped_at.is_none() {
                self.verdict = Some(Verdict::TimedOut);
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

    // ---- input and output ----

    fn say(&mut self, text: &str) {
        self.outputs.say(text);
    }

    fn on_output(&mut self, number: usize, body: &[u8], now: Instant) -> Result<(), BadFrame> {
        let (rank, channel, bytes) = message::read_output(body)?;
        let node = &mut self.nodes[number];
        if node.ranks.binary_search(&rank).is_err() {
            return Err(BadFrame(format!("rank {rank} is not on this host")));
        }
        node.shown += bytes.len();
        self.outputs.feed(self.streams[rank as usize][usize::from(channel) - 1], bytes, now);
        Ok(())
    }

    /// Gives credit for output that was shown, unless the reader of `mpirun`'s output is slow.
    fn acknowledge(&mut self) {
        if self.outputs.is_full() {
            return;
        }
        for (number, node) in self.nodes.iter_mut().enumerate().filter(|(_, node)| node.shown > 0) {
            let bytes = std::mem::take(&mut node.shown) as u32;
            let _ = self.branches.send(number as u32, &Down::Taken(bytes));
        }
    }

    fn on_output_trouble(&mut self) {
        if let Some(error) = self.outputs.failure() {
            let text = format!("cannot forward the output of the ranks: {error}");
            self.fail(Verdict::Trouble(text, 1), Stop::Failure);
        } else if self.outputs.stdout_is_gone() && self.stopped_at.is_none() {
            self.fail(Verdict::OutputGone, Stop::Failure);
        }
    }

    /// How many bytes of stdin all readers can take.
    fn room(&self) -> usize {
        // Before they run, nobody reads.
        if self.nodes.iter().any(|node| matches!(node.phase, Phase::Starting | Phase::Ready)) {
            return 0;
        }
        self.nodes.iter().filter_map(|node| node.stdin.as_ref()).map(|credit| credit.room(0)).min().unwrap_or(0)
    }

    fn send_input(&mut self, now: Instant) {
        let Some(bytes) = self.input.work(self.room(), now) else { return };
        for (number, node) in self.nodes.iter_mut().enumerate() {
            let Some(credit) = &mut node.stdin else { continue };
            // No bytes stand for the end. They are not more than a frame can have.
            credit.sent(bytes.len());
            let _ = self.branches.put(Class::Stdin, number as u32, &bytes);
        }
    }

    // ---- the end ----

    /// Ends the agents, which have no ranks any more.
    fn close(&mut self) {
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
    fn conclude(mut self) -> i32 {
        let mut hurry = self.hurry;
        while !self.outputs.finish(Duration::from_millis(200)) && !hurry {
            while let Some(signal) = sys::next_signal(self.signals) {
                hurry |= matches!(signal, sys::SIGINT | sys::SIGTERM | sys::SIGHUP | sys::SIGQUIT);
            }
        }
        let (text, status) = self.ending();
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

    fn ending(&self) -> (Option<String>, i32) {
        match &self.verdict {
            None if self.bad_child != 0 => (None, self.bad_child),
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
            Some(Verdict::TimedOut) => {
                let limit = self.settings.timeout.unwrap_or_default().as_secs_f64();
                let places = self.whereabouts();
                (Some(format!("the time limit of {limit} s was reached and the job was stopped:{places}")), 124)
            }
            Some(Verdict::Unwanted) => (None, 0),
            Some(Verdict::Orphaned(text)) => (Some(text.clone()), 1),
            Some(Verdict::OutputGone) => (None, 128 + sys::SIGPIPE),
            Some(Verdict::Trouble(text, status)) => (Some(text.clone()), *status),
        }
    }

    /// Where the ranks were, to follow a colon.
    fn whereabouts(&self) -> String {
        let mut places: Vec<&RankPlace> =
            self.places.iter().filter(|place| (place.rank as usize) < self.size).collect();
        places.sort_by_key(|place| place.rank);
        places.dedup_by_key(|place| place.rank);
        let place = |place: &&RankPlace| {
            let at = Where::from_words(place.state, place.call);
            (place.rank as usize, at, place.waits.as_deref().map(printable))
        };
        let places: Vec<_> = places.iter().map(place).collect();
        match places.is_empty() {
            true => " the agents were being started".into(),
            false => report::places(&places, 0),
        }
    }
}

/// The streams of all ranks, with the files that get their output.
fn connect(plan: &Plan, settings: &Settings, outputs: &mut Outputs) -> Result<Vec<[usize; 2]>, Refusal> {
    let mut streams = vec![[0; 2]; plan.apps.len()];
    let mut files = Files::default();
    for (host, ranks) in plan.hosts.iter().zip(&plan.ranks) {
        for &rank in ranks {
            let place = wires::Place { index: 0, rank: rank as usize, app: plan.apps[rank as usize] };
            for (stream, channel) in streams[rank as usize].iter_mut().zip([Channel::Stdout, Channel::Stderr]) {
                let mut to = Destination { record: None, shown: true, host: host.clone() };
                if let Some((path, shown)) = wires::file_of(channel, settings, &place, host) {
                    let file = files.open(&path)?;
                    if wires::may_block(&file) {
                        let text = format!("{} is no plain file, as output of other hosts needs it", path.display());
                        return Err(Refusal { text, status: 1 });
                    }
                    to =
                        Destination { record: Some(Record::new(file, path, rank as usize)), shown, host: host.clone() };
                }
                *stream = outputs.add_fed(rank as usize, channel, to);
            }
        }
    }
    Ok(streams)
}
