//! An agent, `mpirun --agent`: starts and watches the ranks of one host for an `mpirun` on another one, and starts the
//! agents below it in the tree. Everything goes over its stdin and stdout; the end of its stdin ends it and its ranks, so
//! that nothing is left behind, whatever is killed.
//!
//! It decides nothing about the job: `root.rs` does. It must never block, and never be silent for long: the process
//! above it gives it up after some seconds without a heartbeat.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use oxmpi_agent::channel::{Channel, State};
use oxmpi_agent::door::Door;
use oxmpi_agent::frame::{BadFrame, Class, EVERY_NODE, Frame};
use oxmpi_agent::message::{
    self, BackOrder, Down, FailedRank, Machine, NodeAddresses, Order, ParentTies, RankPlace, Stop, Up,
};
use oxmpi_agent::one_sided::Workers;
use oxmpi_agent::requests::{RankRequest, RequestKind};
use oxmpi_base::address::JobId;
use oxmpi_base::{dial, limits};
use oxmpi_boot::handshake::{End, Key};
use oxmpi_boot::network::{NodePort, describe};
use oxmpi_boot::requests::Answer;
use oxmpi_boot::spawned::Message;

use crate::back::BackConnections;
use crate::branch::{Branches, Event, GREETING, heartbeat};
use crate::forward::{AgentWires, Forward};
use crate::hosts;
use crate::input::FedInput;
use crate::job;
use crate::node_port;
use crate::options::{self, Command, Settings};
use crate::order;
use crate::place::Budget;
use crate::probe::Probe;
use crate::reach::Listening;
use crate::report::VERSION;
use crate::start::{Kept, Prepared, RankNetwork, Refusal, Running, Work};
use crate::step;
use crate::sys;
use crate::watch::{AFTER_FAILURE, AFTER_INTERRUPT, AFTER_QUIET_FAILURE, AT_ONCE, Death, Watch};

/// An agent that was late itself by more than this does not blame others.
pub const LATE: Duration = Duration::from_secs(1);
/// More nodes are a damaged message.
const MOST_NODES: usize = 1 << 20;
/// Time for the launchers of agents below to end after their streams were closed.
const LEAVE: Duration = Duration::from_secs(3);

/// Runs an agent to its end. The exit status says nothing about the job.
pub fn run(start: Start) -> i32 {
    match Agent::begin(start) {
        Ok(mut agent) => {
            agent.work();
            0
        }
        Err(error) if start == Start::InStep => {
            step::report_failure(&error.to_string());
            1
        }
        Err(error) => {
            eprintln!("mpirun: the agent cannot start: {error}");
            1
        }
    }
}

/// How an agent was started.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// By a command that connects its stdin and stdout with the process above it.
    OverStream,
    /// Together with all others: it connects to `mpirun`.
    InStep,
}

struct Agent {
    signals: OwnedFd,
    /// `None` after its end.
    up: Option<Channel>,
    /// When something came from above. Before the order there is no limit.
    heard: Instant,
    patience: Option<Duration>,
    /// `mpirun` has announced its silence.
    paused: bool,
    beat: Duration,
    next_beat: Instant,
    node: u32,
    host: String,
    settings: Settings,
    branches: Branches,
    phase: Phase,
    forward: Forward,
    input: FedInput,
    /// The port of this node.
    door: Door,
    /// What callers must prove to be let in.
    secret: JobSecret,
    pretended: bool,
    listening: Listening,
    /// Connections to nodes whose ranks cannot reach this one.
    back: BackConnections,
    /// Execute one-sided requests of other nodes.
    workers: Option<Workers>,
    /// Connections to all other nodes, for a check of hosts.
    probe: Option<Probe>,
    /// Ranks that have not ended, as it was told.
    told_live: usize,
    told_failure: bool,
    told_unread: bool,
    /// What was told of the ties to the processes that spawned the job; `None` if there are none.
    ties: Option<ParentTies>,
    /// When the stream from above ended.
    left_at: Option<Instant>,
}

/// What callers must prove to be let in.
struct JobSecret {
    job: [u8; 16],
    key: Key,
    /// The job has other nodes.
    is_needed: bool,
}

enum Phase {
    /// Before the order, or after an order that cannot be carried out.
    Idle,
    Ready(Box<(Work, Prepared)>, Vec<bool>, bool),
    Running(Box<Watch>, #[allow(dead_code, reason = "held until the ranks have ended")] Kept),
    /// All processes have ended; their output is being sent.
    Draining {
        all_well: bool,
        bad_child: i32,
    },
    Gone,
}

impl Agent {
    fn begin(start: Start) -> io::Result<Agent> {
        let (signals, _) = sys::take_signals(&job::TAKEN)?;
        sys::adopt_orphans();
        let mut nonce = [0u8; 16];
        getrandom::fill(&mut nonce).map_err(|error| io::Error::other(format!("no random bytes: {error}")))?;
        let nonce: String = nonce.iter().map(|byte| format!("{byte:02x}")).collect();
        let greeting = format!("{GREETING} {VERSION} {nonce}\n");
        let (read, write) = match start {
            Start::OverStream => {
                let mut stdout = io::stdout();
                stdout.write_all(greeting.as_bytes())?;
                stdout.flush()?;
                sys::take_stdio()?
            }
            Start::InStep => step::connect(&greeting)?,
        };
        let now = Instant::now();
        let nobody = message::LauncherOrder { command: Vec::new(), also_here: false, agent: Vec::new(), step: None };
        Ok(Agent {
            signals,
            up: Some(Channel::new(read, write)),
            heard: now,
            patience: None,
            paused: false,
            beat: heartbeat(0),
            next_beat: now + heartbeat(0),
            node: EVERY_NODE,
            host: hosts::own_name(),
            settings: Settings::default(),
            branches: Branches::start(&[], &nobody, 0).0,
            phase: Phase::Idle,
            forward: Forward::new()?,
            input: FedInput::default(),
            door: Door::new(&hosts::own_name()),
            secret: JobSecret { job: [0; 16], key: Key::from_bytes([0; 32]), is_needed: false },
            pretended: false,
            listening: Listening::default(),
            back: BackConnections::default(),
            workers: None,
            probe: None,
            told_live: 0,
            told_failure: false,
            told_unread: false,
            ties: None,
            left_at: None,
        })
    }

    fn work(&mut self) {
        let (mut fds, mut frames) = (Vec::new(), Vec::new());
        let mut wake = Instant::now();
        loop {
            let now = Instant::now();
            if now > wake + LATE {
                // This process was stopped, or the machine is overloaded.
                self.heard += now - wake;
                self.branches.forgive(now - wake);
            }
            self.hear_above(&mut frames, now);
            while let Some(signal) = sys::next_signal(&self.signals) {
                self.on_signal(signal, now);
            }
            for event in self.branches.work(now) {
                self.on_event(event);
            }
            self.look_after_ranks(now);
            self.move_data();
            self.serve_connections(now);
            self.go_on_probing();
            self.beat(now);
            if let Some(up) = &mut self.up
                && up.flush().is_err()
            {
                self.leave(now);
            }
            if self.is_done(now) {
                return;
            }
            fds.clear();
            fds.push(sys::pollfd(self.signals.as_raw_fd(), sys::POLLIN));
            if let Some(up) = &self.up {
                fds.extend(up.read_fd().map(|fd| sys::pollfd(fd, sys::POLLIN)));
                fds.extend(up.write_fd().map(|fd| sys::pollfd(fd, sys::POLLOUT)));
            }
            self.branches.poll_for(&mut fds);
            self.forward.poll_for(&mut fds);
            fds.extend(self.door.descriptors().map(|fd| sys::pollfd(fd, sys::POLLIN)));
            self.input.poll_for(&mut fds);
            self.probe.iter().for_each(|probe| probe.poll_for(&mut fds));
            self.back.poll_for(&mut fds);
            if let Phase::Running(watch, _) = &self.phase {
                fds.push(sys::pollfd(watch.mailbox.as_raw_fd(), sys::POLLIN));
            }
            wake = self.deadline(now);
            if sys::poll(&mut fds, Some(wake.saturating_duration_since(now))).is_err() {
                self.leave(now);
            }
            wake = wake.max(now);
        }
    }

    fn deadline(&self, now: Instant) -> Instant {
        let watch = match &self.phase {
            Phase::Running(watch, _) => watch.deadline(),
            _ => None,
        };
        // Draining looks again soon, since the end of a pipe that nobody holds any more may be near.
        let drain = matches!(self.phase, Phase::Draining { .. }).then(|| now + Duration::from_millis(20));
        let leave = self.left_at.map(|at| (at + LEAVE).max(now + Duration::from_millis(20)));
        let door = self.door.deadline(now);
        let probe = self.probe.as_ref().and_then(|probe| probe.deadline(now));
        [watch, drain, leave, door, probe, self.back.deadline(now), self.branches.deadline()]
            .into_iter()
            .flatten()
            .fold(self.next_beat, Instant::min)
    }

    /// Whether this process may end.
    fn is_done(&mut self, now: Instant) -> bool {
        let Some(left) = self.left_at else { return false };
        if now > left + LEAVE {
            self.branches.kill();
        }
        let ranks = matches!(self.phase, Phase::Running(..));
        !ranks && (self.branches.have_ended() || now > left + 2 * LEAVE)
    }

    // ---- above ----

    fn hear_above(&mut self, frames: &mut Vec<Frame>, now: Instant) {
        let Some(up) = &mut self.up else { return };
        let state = up.receive(frames);
        if !frames.is_empty() {
            (self.heard, self.paused) = (now, false);
        }
        let mut bad = None;
        for frame in frames.drain(..) {
            bad = bad.or(self.on_frame(frame, now).err());
        }
        let silent = self.patience.is_some_and(|patience| !self.paused && now > self.heard + patience);
        if let Some(BadFrame(what)) = bad {
            eprintln!("mpirun: the agent on {} got a bad message: {what}", self.host);
            self.leave(now);
        } else if state != State::Open || silent {
            self.leave(now);
        }
    }

    /// Nobody is above any more: everything ends.
    fn leave(&mut self, now: Instant) {
        if self.left_at.is_some() {
            return;
        }
        self.left_at = Some(now);
        self.up = None;
        self.branches.close();
        self.forward.close();
        match &mut self.phase {
            Phase::Running(watch, _) => {
                watch.stop(AT_ONCE, true, now);
                watch.send_due_signals(now);
            }
            _ => self.phase = Phase::Gone,
        }
    }

    fn on_frame(&mut self, frame: Frame, now: Instant) -> Result<(), BadFrame> {
        let Frame { class, node, body } = frame;
        let is_own = node == self.node || self.node == EVERY_NODE;
        if !is_own || node == EVERY_NODE {
            let beat = class == Class::Control && message::decode::<Down>(&body) == Ok(Down::Heartbeat);
            if beat {
                return Ok(());
            }
            self.branches.put(class, node, &body)?;
        }
        if !is_own && node != EVERY_NODE {
            return Ok(());
        }
        match class {
            // No bytes: there will be no more. A message could overtake the bytes before it.
            Class::Stdin if body.is_empty() => {
                self.input.end();
                Ok(())
            }
            Class::Stdin => {
                self.input.feed(&body);
                Ok(())
            }
            Class::Output => Err(BadFrame("output came from above".into())),
            Class::Control => self.on_message(message::decode(&body)?, now),
        }
    }

    fn on_message(&mut self, down: Down, now: Instant) -> Result<(), BadFrame> {
        match down {
            Down::Order(order) => self.on_order(*order),
            Down::Go { nodes } => self.go(nodes, now),
            Down::Probe { nodes } => {
                self.probe(&nodes);
                Ok(())
            }
            Down::Signal(signal) => {
                self.pass_on(signal, now);
                Ok(())
            }
            Down::Stop(how) => self.stop(how, now),
            Down::Taken(bytes) => self.forward.taken(bytes as usize),
            Down::Pause => {
                self.paused = true;
                Ok(())
            }
            Down::ConnectBack(order) => {
                self.back.begin(order, self.node);
                Ok(())
            }
            Down::NoConnection { number, text } => {
                self.door.give_up(number, &text);
                Ok(())
            }
            Down::Names { slot, ticket, result } => {
                self.door.answer(slot as usize, &Answer::Names { ticket, result });
                Ok(())
            }
            Down::Heartbeat => Ok(()),
        }
    }

    fn tell(&mut self, message: &Up) {
        if let Some(up) = &mut self.up
            && let Err(BadFrame(what)) = up.send(self.node, message)
        {
            eprintln!("mpirun: the agent on {} cannot report: {what}", self.host);
        }
    }

    fn tell_trouble(&mut self, refusal: Refusal) {
        let Refusal { text, status } = refusal;
        self.tell(&Up::Trouble { text, status });
    }

    fn beat(&mut self, now: Instant) {
        if self.next_beat <= now {
            self.next_beat = now + self.beat;
            self.tell(&Up::Heartbeat);
        }
    }

    // ---- the order ----

    fn on_order(&mut self, order: Order) -> Result<(), BadFrame> {
        if self.node != EVERY_NODE {
            return Err(BadFrame("a second order".into()));
        }
        let seconds = order.host_timeout;
        (self.node, self.host) = (order.node, order.host.clone());
        self.patience = (seconds > 0).then(|| Duration::from_secs(seconds.into()));
        (self.heard, self.beat) = (Instant::now(), heartbeat(seconds));
        self.next_beat = self.heard;
        self.tell(&Up::Here(Box::new(machine())));
        let (branches, events) = Branches::start(&order.below, &order.launcher, seconds);
        self.branches = branches;
        events.into_iter().for_each(|event| self.on_event(event));
        let words = order.options.iter().cloned().chain(["program".into()]).map(OsString::from);
        match options::parse("mpirun", words) {
            Ok(Command::Run(request)) => {
                self.settings = Settings { spawn_options: order.spawn_options.clone(), ..request.settings };
            }
            Ok(_) => return Err(BadFrame("options that start nothing".into())),
            Err(options::Mistake(text)) => return Err(BadFrame(text)),
        }
        self.ties = order.parent.is_some().then(ParentTies::default);
        let reads = order.ranks.iter().map(|rank| rank.reads_stdin).collect();
        match self.prepare(&order).and_then(|prepared| Ok((prepared, self.listen(&order)?))) {
            Ok((prepared, address)) => {
                self.phase = Phase::Ready(Box::new(prepared), reads, order.terminal);
                self.tell(&Up::Ready(address));
            }
            Err(refusal) => self.tell_trouble(refusal),
        }
        Ok(())
    }

    /// Opens the port of this node, if the job has other nodes.
    fn listen(&mut self, order: &Order) -> Result<NodeAddresses, Refusal> {
        let node = order.node;
        let is_needed = order.node_count() > 1;
        self.secret = JobSecret { job: order.job, key: Key::from_bytes(order.key), is_needed };
        self.pretended = order.pretended;
        self.listening = Listening { port_range: order.port_range, interface: order.net_interface.clone() };
        if !is_needed {
            return Ok(NodeAddresses { node, host: self.host.clone(), addresses: Vec::new(), port: 0 });
        }
        let listening = node_port::listen(&mut self.door, order.pretended, &self.listening);
        let (port, addresses) = listening.map_err(|text| Refusal { text, status: 1 })?;
        Ok(NodeAddresses { node, host: self.host.clone(), addresses, port })
    }

    /// What the ranks inherit to reach those of other nodes. From now on connections are let in.
    fn connect(&mut self, nodes: &[NodeAddresses], seats: usize) -> io::Result<RankNetwork> {
        let JobSecret { job, key, is_needed } = &self.secret;
        if !is_needed {
            return RankNetwork::sockets(&mut self.door, self.node, seats, None);
        }
        // A check leaves out nodes that are not ready.
        let most = nodes.iter().map(|node| node.node as usize + 1).max().unwrap_or(0).min(MOST_NODES);
        let mut ports = vec![NodePort::default(); most];
        for NodeAddresses { node, host, addresses, port } in nodes {
            let place =
                ports.get_mut(*node as usize).ok_or_else(|| io::Error::other(format!("there is no node {node}")))?;
            *place = NodePort { port: *port, addresses: addresses.clone(), host: host.clone() };
        }
        let mut file = File::from(dial::memory_file(c"oxmpi-network")?);
        file.write_all(&describe(*job, key, &ports))?;
        self.door.admit_job(*job, key.clone());
        let file = OwnedFd::from(file);
        self.back.describe(file.try_clone()?);
        RankNetwork::sockets(&mut self.door, self.node, seats, Some(&file))
    }

    /// Lets in processes of other nodes and jobs, and carries out what the ranks ask for.
    fn serve_connections(&mut self, now: Instant) {
        if let Phase::Running(watch, _) = &mut self.phase {
            watch.take_ended().into_iter().for_each(|(slot, well)| self.door.rank_ended(slot, well));
        }
        for RankRequest { slot, kind } in self.door.hear_ranks() {
            match kind {
                RequestKind::Listen { ticket } => {
                    let at = node_port::listen(&mut self.door, self.pretended, &self.listening);
                    self.door.answer(slot, &Answer::Listening { ticket, at });
                }
                RequestKind::ConnectBack { number, to } => {
                    let order = BackOrder { node: self.node, slot: slot as u32, number, for_slot: to.slot };
                    self.tell(&Up::ConnectBack { to: to.node, order });
                }
                RequestKind::Names { ticket, what } => self.tell(&Up::Names { slot: slot as u32, ticket, what }),
            }
        }
        self.door.work(now);
        self.connect_back();
        for caller in self.door.take_one_sided() {
            // A caller that is not served sees the end of its connection.
            if let Some(Err(error)) = self.workers.as_mut().map(|workers| workers.serve(caller)) {
                eprintln!("mpirun: the agent on {} cannot serve one-sided requests: {error}", self.host);
            }
        }
    }

    /// Goes on with connections to nodes whose ranks cannot reach this one.
    fn connect_back(&mut self) {
        for (order, outcome) in self.back.work() {
            match outcome {
                Ok(stream) => {
                    let (job, from) = (JobId::on_hosts(self.secret.job), End { node: order.node, slot: order.slot });
                    self.door.take_back_connection(job, from, order.for_slot, stream);
                }
                Err(text) => self.tell(&Up::NoConnection { to: order.node, number: order.number, text }),
            }
        }
    }

    fn prepare(&self, order: &Order) -> Result<(Work, Prepared), Refusal> {
        let work = order::work(order)?;
        let mut budget = Budget::count(&self.settings).map_err(|text| Refusal { text, status: 1 })?;
        if order.pretended {
            // All agents share the CPUs of this machine, so none may bind its ranks to all of them.
            budget.cpus = (budget.cpus / order.node_count().max(1) as usize).max(1);
        }
        let prepared = Prepared::new(&work, &self.settings, &budget)?;
        Ok((work, prepared))
    }

    fn go(&mut self, nodes: Vec<NodeAddresses>, now: Instant) -> Result<(), BadFrame> {
        let phase = std::mem::replace(&mut self.phase, Phase::Idle);
        let Phase::Ready(prepared, reads, terminal) = phase else { return Err(BadFrame("nothing to start".into())) };
        let (mut work, prepared) = *prepared;
        let workers = self.secret.is_needed.then(|| Workers::new(prepared.segment_fd())).transpose();
        match workers.and_then(|workers| Ok((workers, self.connect(&nodes, work.seats.len())?))) {
            Ok((workers, network)) => (self.workers, work.network) = (workers, Some(network)),
            Err(error) => {
                let text = format!("cannot prepare connections to other hosts: {}", limits::explain(&error));
                self.tell_trouble(Refusal { text, status: 1 });
                return Ok(());
            }
        }
        let merge = self.settings.merge_stderr;
        let wires = AgentWires::new(&mut self.forward, &mut self.input, reads, merge, terminal);
        let started = wires.and_then(|mut wires| prepared.start(&work, &self.settings, sys::no_signals(), &mut wires));
        match started {
            Ok(Running { ranks, trouble, mailbox, kept, said }) => {
                self.told_live = ranks.list.len();
                let mut watch = Watch::new(ranks, mailbox, self.host.clone(), Vec::new());
                self.branches.pids().for_each(|pid| watch.do_not_count(pid));
                if let Some(refusal) = trouble {
                    watch.stop(AT_ONCE, true, now);
                    watch.send_due_signals(now);
                    self.tell_trouble(refusal);
                }
                self.phase = Phase::Running(Box::new(watch), kept);
                self.tell(&Up::Running { said });
            }
            Err(refusal) => self.tell_trouble(refusal),
        }
        Ok(())
    }

    /// Connects to all other nodes, instead of starting ranks.
    fn probe(&mut self, nodes: &[NodeAddresses]) {
        let others = nodes.iter().map(|node| node.node).filter(|&node| node != self.node).collect();
        let probe = self.connect(nodes, 1).and_then(|network| Probe::new(network, self.node, others));
        match probe {
            Ok(Some(probe)) => self.probe = Some(probe),
            Ok(None) => self.tell(&Up::Probed(Vec::new())),
            Err(error) => {
                let text = format!("cannot prepare connections to other hosts: {}", limits::explain(&error));
                self.tell_trouble(Refusal { text, status: 1 });
            }
        }
    }

    fn go_on_probing(&mut self) {
        if let Some(unreached) = self.probe.as_mut().and_then(Probe::work) {
            self.tell(&Up::Probed(unreached));
        }
    }

    // ---- below ----

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Frame(Frame { class, node, body }) => {
                // Heartbeats are between neighbours.
                let beat = class == Class::Control && message::decode::<Up>(&body) == Ok(Up::Heartbeat);
                if let Some(up) = self.up.as_mut().filter(|_| !beat)
                    && let Err(BadFrame(what)) = up.put(class, node, &body)
                {
                    eprintln!("mpirun: the agent on {} cannot pass on a message: {what}", self.host);
                }
            }
            Event::Lost { nodes, host, text } => {
                let text = format!("{text} (seen from {})", self.host);
                nodes.iter().for_each(|&node| self.tell(&Up::Lost { node, host: host.clone(), text: text.clone() }));
            }
            Event::Unstarted { below, text } => {
                let text = format!("{text} (seen from {})", self.host);
                self.tell(&Up::Unstarted { below, text });
            }
            Event::Noise { host, line } => self.tell(&Up::Say(format!("{host}: {line}"))),
        }
    }

    // ---- ranks ----

    fn on_signal(&mut self, signal: i32, now: Instant) {
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

    fn reap(&mut self, now: Instant) {
        if let Phase::Running(watch, _) = &mut self.phase {
            let failed = watch.reap();
            for (pid, status) in watch.take_others_ended() {
                self.branches.ended(pid, status, now);
            }
            if let Some(death) = failed {
                self.fail(&death);
            }
        } else {
            while let Some(pid) = sys::ended_child() {
                match sys::reap(pid) {
                    Some(status) => self.branches.ended(pid, status, now),
                    None => break,
                };
            }
        }
    }

    fn fail(&mut self, death: &Death) {
        let Phase::Running(watch, _) = &self.phase else { return };
        if self.told_failure || watch.is_forced() {
            return;
        }
        self.told_failure = true;
        let failure = watch.failure(death, 0);
        let rank = FailedRank {
            rank: failure.rank as u32,
            text: failure.text(),
            status: failure.ending.status(),
            quiet: failure.is_quiet(),
        };
        self.tell_live();
        self.tell(&Up::Failed(Box::new(rank)));
    }

    fn tell_live(&mut self) {
        if let (Phase::Running(watch, _), Some(known)) = (&self.phase, self.ties) {
            let ties = watch.parent_ties();
            if ties != known {
                self.ties = Some(ties);
                self.tell(&Up::Ties(ties));
            }
        }
        if let Phase::Running(watch, _) = &self.phase
            && watch.live != self.told_live
        {
            self.told_live = watch.live;
            self.tell(&Up::Live(self.told_live as u32));
        }
    }

    fn look_after_ranks(&mut self, now: Instant) {
        let Phase::Running(watch, _) = &mut self.phase else { return };
        let heard = watch.hear();
        let deaths = watch.tick(now);
        watch.send_due_signals(now);
        deaths.iter().for_each(|death| self.fail(death));
        heard.into_iter().for_each(|message| self.on_spawned(message));
        self.tell_live();
        let Phase::Running(watch, _) = &mut self.phase else { return };
        let said = watch.take_said();
        let ended = watch.live == 0 && {
            self.reap(now);
            let Phase::Running(watch, _) = &mut self.phase else { return };
            let may_revive = !self.told_failure && !watch.is_stopping();
            let cleared = watch.is_cleared(may_revive, now);
            watch.send_due_signals(now);
            cleared
        };
        said.into_iter().for_each(|text| self.tell(&Up::Say(text)));
        if ended && let Phase::Running(watch, _) = &self.phase {
            self.phase = Phase::Draining { all_well: watch.all_well, bad_child: watch.bad_child };
        }
    }

    /// A job that ranks have spawned has failed while it was connected to them: so does their job.
    fn on_spawned(&mut self, message: Message) {
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
    fn pass_on(&mut self, signal: i32, now: Instant) {
        let Phase::Running(watch, _) = &mut self.phase else { return };
        match signal {
            sys::SIGUSR1 | sys::SIGUSR2 => watch.tell_programs(signal),
            sys::SIGTSTP | sys::SIGCONT => watch.signal_everybody(signal),
            sys::SIGINT => {
                self.tell_places();
                self.stop_ranks(AFTER_INTERRUPT, true, now);
            }
            sys::SIGTERM | sys::SIGHUP | sys::SIGQUIT => {
                watch.pass_on_end(signal, now);
                self.told_failure = true;
                self.tell_places();
            }
            _ => {}
        }
    }

    fn stop(&mut self, how: Stop, now: Instant) -> Result<(), BadFrame> {
        match &self.phase {
            Phase::Idle | Phase::Ready(..) => self.phase = Phase::Draining { all_well: true, bad_child: 0 },
            Phase::Running(..) if how == Stop::TimeLimit => self.tell_places(),
            _ => {}
        }
        // Spawned jobs that are connected to a rank that failed end by themselves, and the others go on.
        let (steps, ends_spawned_jobs) = match how {
            Stop::Failure => (AFTER_FAILURE, false),
            Stop::TimeLimit => (AFTER_FAILURE, true),
            Stop::QuietFailure => (AFTER_QUIET_FAILURE, false),
            Stop::AtOnce => (AT_ONCE, true),
        };
        self.stop_ranks(steps, ends_spawned_jobs, now);
        Ok(())
    }

    fn stop_ranks(&mut self, steps: crate::watch::Steps, ends_spawned_jobs: bool, now: Instant) {
        self.told_failure = true;
        if let Phase::Running(watch, _) = &mut self.phase {
            watch.stop(steps, ends_spawned_jobs, now);
            watch.send_due_signals(now);
        }
    }

    fn tell_places(&mut self) {
        let Phase::Running(watch, _) = &self.phase else { return };
        let place = |(rank, at, waits): (usize, crate::report::Where, Option<String>)| {
            let (state, call) = at.words();
            RankPlace { rank: rank as u32, state, call, waits }
        };
        let places = watch.places().into_iter().map(place).collect();
        self.tell(&Up::Places(places));
    }

    // ---- input and output ----

    fn move_data(&mut self) {
        let taken = self.input.work();
        if taken > 0 {
            self.tell(&Up::Taken(taken as u32));
        }
        if let Phase::Running(..) = self.phase
            && self.input.is_unread()
            && !self.told_unread
        {
            self.told_unread = true;
            self.tell(&Up::StdinUnread);
        }
        let Some(up) = &mut self.up else { return };
        let moved = self.forward.work(self.node, up);
        if let Phase::Draining { all_well, bad_child } = self.phase
            && !moved
            && self.forward.is_drained()
        {
            self.phase = Phase::Gone;
            self.tell(&Up::Gone { all_well, bad_child });
        }
    }
}

/// The namespaces that keep two agents of one machine apart: ranks in different ones cannot share memory.
fn namespaces() -> Vec<String> {
    let name =
        |kind| std::fs::read_link(format!("/proc/self/ns/{kind}")).map(|path| path.to_string_lossy().into_owned());
    ["ipc", "mnt", "net", "pid", "user"].into_iter().filter_map(|kind| name(kind).ok()).collect()
}

/// This machine.
fn machine() -> Machine {
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Machine {
        host: hosts::own_name(),
        boot_id: boot_id.trim().into(),
        namespaces: namespaces(),
        user: sys::own_user(),
        cpus: oxmpi_base::cpus::available(),
        clock: (since.as_secs(), since.subsec_nanos()),
    }
}
