//! What an agent does for its order: it makes ready, opens the port of its node, starts the ranks, and serves their
//! connections; or, for a check of hosts, connects to all other nodes.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use oxmpi_agent::frame::{BadFrame, EVERY_NODE};
use oxmpi_agent::message::{BackOrder, Machine, NodeAddresses, Order, ParentTies, Up};
use oxmpi_agent::one_sided::Workers;
use oxmpi_agent::requests::{RankRequest, RequestKind};
use oxmpi_base::address::JobId;
use oxmpi_base::{dial, limits};
use oxmpi_boot::handshake::{End, Key};
use oxmpi_boot::network::{NodePort, describe};
use oxmpi_boot::requests::Answer;

use super::going_on::LocalDeaths;
use super::{Agent, JobSecret, Phase};
use crate::branch::{Branches, heartbeat};
use crate::deaths::News;
use crate::forward::AgentWires;
use crate::hosts;
use crate::node_port;
use crate::options::{self, Command, Settings};
use crate::order;
use crate::place::Budget;
use crate::probe::Probe;
use crate::reach::Listening;
use crate::start::{Prepared, RankNetwork, Refusal, Running, Work};
use crate::sys;
use crate::watch::{AT_ONCE, Watch};

/// More nodes are a damaged message.
const MOST_NODES: usize = 1 << 20;

impl Agent {
    pub(super) fn on_order(&mut self, order: Order) -> Result<(), BadFrame> {
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
    pub(super) fn listen(&mut self, order: &Order) -> Result<NodeAddresses, Refusal> {
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
    pub(super) fn connect(&mut self, nodes: &[NodeAddresses], seats: usize) -> io::Result<RankNetwork> {
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
    pub(super) fn serve_connections(&mut self, now: Instant) {
        if let Phase::Running(watch, _) = &mut self.phase {
            watch.take_ended().into_iter().for_each(|(slot, well)| self.door.rank_ended(slot, well));
        }
        self.hear_ranks();
        self.door.work(now);
        self.connect_back();
        for caller in self.door.take_one_sided() {
            // A caller that is not served sees the end of its connection.
            if let Some(Err(error)) = self.workers.as_mut().map(|workers| workers.serve(caller)) {
                eprintln!("mpirun: the agent on {} cannot serve one-sided requests: {error}", self.host);
            }
        }
    }

    /// Carries out what the ranks ask for.
    pub(super) fn hear_ranks(&mut self) {
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
                RequestKind::Vote { vote, members, ballot } => {
                    self.tell(&Up::Vote { slot: slot as u32, vote, members, ballot });
                }
                RequestKind::Revoke { context } => self.tell(&Up::Revoke(context)),
                RequestKind::Abort { members } => self.tell(&Up::Abort { slot: slot as u32, members }),
                RequestKind::LinkBroken { rank, why } => self.tell(&Up::LinkBroken { slot: slot as u32, rank, why }),
            }
        }
    }

    /// Goes on with connections to nodes whose ranks cannot reach this one.
    pub(super) fn connect_back(&mut self) {
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

    pub(super) fn prepare(&mut self, order: &Order) -> Result<(Work, Prepared), Refusal> {
        let work = order::work(order)?;
        self.settings.debugger = order::debugger(order)?;
        let mut budget = Budget::count(&self.settings).map_err(|text| Refusal { text, status: 1 })?;
        if order.pretended {
            // All agents share the CPUs of this machine, so none may bind its ranks to all of them.
            budget.cpus = (budget.cpus / order.node_count().max(1) as usize).max(1);
        }
        let prepared = Prepared::new(&work, &self.settings, &budget)?;
        Ok((work, prepared))
    }

    pub(super) fn go(&mut self, nodes: Vec<NodeAddresses>, now: Instant) -> Result<(), BadFrame> {
        let phase = std::mem::replace(&mut self.phase, Phase::Idle);
        let Phase::Ready(prepared, reads, terminal) = phase else { return Err(BadFrame("nothing to start".into())) };
        let (mut work, prepared) = *prepared;
        self.workers = Some(Workers::new(prepared.segment()));
        match self.connect(&nodes, work.seats.len()) {
            Ok(network) => work.network = Some(network),
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
                if self.settings.keep_going {
                    match News::of(&ranks) {
                        Ok(news) => self.deaths = Some(LocalDeaths { news, untold: ranks.list.len() }),
                        Err(error) => {
                            let text = format!("cannot watch the ranks: {error}");
                            self.tell_trouble(Refusal { text, status: 1 });
                        }
                    }
                }
                let pids = ranks.list.iter().map(|rank| rank.pid).collect();
                let paths = ranks.paths.iter().map(|path| path.as_os_str().as_bytes().to_vec()).collect();
                let mut watch = Watch::new(ranks, mailbox, self.host.clone(), Vec::new());
                self.branches.pids().for_each(|pid| watch.do_not_count(pid));
                if let Some(refusal) = trouble {
                    watch.stop(&AT_ONCE, true, now);
                    watch.send_due_signals(now);
                    self.tell_trouble(refusal);
                }
                self.phase = Phase::Running(Box::new(watch), kept);
                self.tell(&Up::Running { said, pids, paths });
            }
            Err(refusal) => self.tell_trouble(refusal),
        }
        Ok(())
    }

    /// Connects to all other nodes, instead of starting ranks.
    pub(super) fn probe(&mut self, nodes: &[NodeAddresses]) {
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

    pub(super) fn go_on_probing(&mut self) {
        if let Some(unreached) = self.probe.as_mut().and_then(Probe::work) {
            self.tell(&Up::Probed(unreached));
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
