//! An agent, `mpirun --agent`: starts and watches the ranks of one host for an `mpirun` on another one, and starts the
//! agents below it in the tree. Everything goes over its stdin and stdout; the end of its stdin ends it and its ranks, so
//! that nothing is left behind, whatever is killed.
//!
//! It decides nothing about the job: `root/` does. It must never block, and never be silent for long: the process
//! above it gives it up after some seconds without a heartbeat. `order.rs` starts the ranks, `ranks.rs` watches them.

mod going_on;
mod order;
mod ranks;
mod rest;

use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use oxmpi_agent::channel::{Channel, State};
use oxmpi_agent::door::Door;
use oxmpi_agent::frame::{BadFrame, Class, EVERY_NODE, Frame};
use oxmpi_agent::message::{self, Down, FailedRank, ParentTies, Up};
use oxmpi_agent::one_sided::Workers;
use oxmpi_boot::handshake::Key;
use oxmpi_boot::requests::Answer;

use crate::back::BackConnections;
use crate::branch::{Branches, Event, GREETING, heartbeat};
use crate::forward::Forward;
use crate::hosts;
use crate::input::FedInput;
use crate::job;
use crate::options::Settings;
use crate::pbs;
use crate::probe::Probe;
use crate::reach::Listening;
use crate::report::VERSION;
use crate::start::{Kept, Prepared, Refusal, Work};
use crate::step;
use crate::sys;
use crate::watch::{AT_ONCE, MISSED, Watch};
use going_on::LocalDeaths;
use rest::Rests;

/// An agent that was late itself by more than this does not blame others.
pub const LATE: Duration = Duration::from_secs(1);
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
            step::report_failure(&step::own_node(), &error.to_string());
            1
        }
        Err(error) if start == Start::OfJob => {
            step::report_failure(&pbs::own_host(), &error.to_string());
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
    /// As a task of a batch system's job: it connects to `mpirun`, too.
    OfJob,
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
    /// A process of a spawned job has ended well.
    family_is_well: bool,
    told_missing: bool,
    told_unread: bool,
    /// A rank of some node that ended without calling `MPI_Init`, and when that was heard.
    missing: Option<(Box<FailedRank>, Instant)>,
    /// What was told of the ties to the processes that spawned the job; `None` if there are none.
    ties: Option<ParentTies>,
    /// Deadlocks: what was told of the ranks.
    rests: Rests,
    /// Processes that have ended, where the ranks go on.
    deaths: Option<LocalDeaths>,
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
        family_is_well: bool,
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
            Start::OfJob => pbs::connect(&greeting)?,
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
            family_is_well: false,
            told_missing: false,
            told_unread: false,
            missing: None,
            ties: None,
            rests: Rests::new(now),
            deaths: None,
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
            self.tell_deaths();
            self.look_after_ranks(now);
            self.look_at_rests(now);
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
            fds.extend(self.deaths.iter().map(|deaths| sys::pollfd(deaths.news.bell(), sys::POLLIN)));
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
        let rests = matches!(self.phase, Phase::Running(..)).then(|| self.rests.deadline());
        // Draining looks again soon, since the end of a pipe that nobody holds any more may be near.
        let drain = matches!(self.phase, Phase::Draining { .. }).then(|| now + Duration::from_millis(20));
        let leave = self.left_at.map(|at| (at + LEAVE).max(now + Duration::from_millis(20)));
        let door = self.door.deadline(now);
        let probe = self.probe.as_ref().and_then(|probe| probe.deadline(now));
        // After that, the heartbeats are often enough.
        let missing = self.missing.as_ref().map(|&(_, since)| since + MISSED).filter(|at| *at >= now);
        [watch, rests, drain, leave, door, probe, missing, self.back.deadline(now), self.branches.deadline()]
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
        } else if silent {
            let silence = (now - self.heard).as_secs();
            eprintln!("mpirun: the agent on {} has heard nothing from above for {silence} s, and ends", self.host);
            self.leave(now);
        } else if state != State::Open {
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
                watch.stop(&AT_ONCE, true, now);
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
            Down::Missing(rank) => {
                self.missing = Some((rank, now));
                Ok(())
            }
            Down::Where => {
                self.tell_places();
                Ok(())
            }
            Down::Ask { question, ranks } => {
                self.ask(question, &ranks, now);
                Ok(())
            }
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
            Down::Deaths(dead) => {
                self.hear_of_deaths(&dead);
                Ok(())
            }
            Down::Revoke(context) => {
                self.hear_of_revoked(context);
                Ok(())
            }
            Down::Voted { slots, vote, ballots } => {
                let said = Answer::Voted { vote, ballots };
                slots.iter().for_each(|&slot| self.door.answer_surely(slot as usize, &said));
                Ok(())
            }
            Down::Doom(slots) => {
                self.end_doomed(&slots);
                Ok(())
            }
            Down::DoesLive(slot) => {
                self.tell_whether_it_lives(slot);
                Ok(())
            }
            Down::End(slot) => {
                self.end_rank(slot as usize);
                Ok(())
            }
            Down::Release => {
                if let Phase::Running(watch, _) = &self.phase {
                    watch.ranks.segment().header().release_ranks();
                }
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
        if let Phase::Draining { all_well, bad_child, family_is_well } = self.phase
            && !moved
            && self.forward.is_drained()
        {
            self.phase = Phase::Gone;
            self.tell(&Up::Gone { all_well, bad_child, family_is_well });
        }
    }
}
