//! What the agents report, and how they are started and lost.

use std::time::Instant;

use oxmpi_agent::frame::{BadFrame, Class, EVERY_NODE, Frame};
use oxmpi_agent::message::{self, BackOrder, Below, Down, Stop, Up};
use oxmpi_base::cpus::CpuSet;
use oxmpi_check::Finding;

use super::ending::Verdict;
use super::{Node, Phase, Root};
use crate::branch::Event;
use crate::report::printable;
use crate::slurm::Allocation;
use crate::sys;

impl Root<'_> {
    pub(super) fn on_event(&mut self, event: Event, now: Instant) {
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
    pub(super) fn lose(&mut self, number: u32, host: &str, text: &str) {
        let Some(node) = self.nodes.get_mut(number as usize) else { return };
        let before = std::mem::replace(&mut node.phase, Phase::Lost);
        node.live = 0;
        if matches!(before, Phase::Gone | Phase::Lost) {
            return;
        }
        let ranks: CpuSet = node.ranks.iter().map(|&rank| rank as usize).collect();
        let plural = if node.ranks.len() == 1 { "" } else { "s" };
        let via = if node.host == host { String::new() } else { format!(", behind {}", printable(host)) };
        let text = format!("host {} (rank{plural} {ranks}{via}): {}", node.host, printable(text));
        if before == Phase::Running && self.verdict.is_none() && self.goes_on() {
            if let Err(BadFrame(what)) = self.go_on_without(number as usize, &text) {
                self.fail(Verdict::Lost(format!("{text}; the other hosts cannot be told: {what}")), Stop::Failure);
            }
            return;
        }
        self.fail(Verdict::Lost(text), if before == Phase::Running { Stop::Failure } else { Stop::AtOnce });
    }

    pub(super) fn on_frame(&mut self, frame: Frame, now: Instant) -> Result<(), BadFrame> {
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

    pub(super) fn on_message(&mut self, number: usize, up: Up) -> Result<(), BadFrame> {
        let node = &mut self.nodes[number];
        match up {
            Up::Here(machine) => {
                if machine.user != sys::own_user() && self.settings.verbose {
                    let text = format!("host {}: the user's number there is {}", node.host, machine.user);
                    self.say(&text);
                }
                if self.settings.verbose {
                    let plural = if machine.cpus == 1 { "" } else { "s" };
                    let host = &self.nodes[number].host;
                    self.say(&format!("host {host}: {} CPU{plural} may be used", machine.cpus));
                }
                self.compare_cpus(number, machine.cpus as usize);
                self.nodes[number].machine = Some(*machine);
            }
            Up::Ready(address) => {
                if node.phase == Phase::Starting {
                    (node.phase, node.address) = (Phase::Ready, Some(address));
                    self.go_when_ready()?;
                }
            }
            Up::Running { said, pids, paths } => {
                said.iter().for_each(|text| self.say(&printable(text)));
                self.on_running(number, &pids, &paths)?;
            }
            Up::Ties(ties) => node.ties = ties,
            Up::Live { running, well } => {
                node.live = (running as usize).min(node.ranks.len());
                node.well = (well as usize).min(node.ranks.len());
            }
            Up::Failed(failed) => self.on_failure(*failed),
            Up::FailedAlone { rank, ended, is_no_mpi } => self.on_lone_failure(*rank, ended, is_no_mpi),
            Up::Deaths(dead) => self.on_deaths(number, dead)?,
            Up::Vote { slot, vote, members, ballot } => self.on_vote((number, slot), vote, members, ballot)?,
            Up::Revoke(context) => self.branches.send(EVERY_NODE, &Down::Revoke(context))?,
            Up::Abort { slot, members } => self.on_abort((number, slot), &members)?,
            Up::LinkBroken { slot, rank, why } => self.on_broken_link((number, slot), rank, &why)?,
            Up::Lives(slot) => self.on_living((number, slot)),
            Up::FailedLate(mut failed) => {
                failed.text = printable(&failed.text);
                self.late.get_or_insert(*failed);
            }
            Up::Missing(rank) => {
                // One is enough.
                if !std::mem::replace(&mut self.told_missing, true) && self.stopped_at.is_none() {
                    self.branches.send(EVERY_NODE, &Down::Missing(rank))?;
                }
            }
            Up::ChildFailed { text, status } => self.on_child_failure(printable(&text), status & 0xff),
            Up::Trouble { text, status } => {
                let text = printable(&text);
                let text = if text.contains(&node.host) { text } else { format!("host {}: {text}", node.host) };
                self.fail(Verdict::Trouble(text, if status == 0 { 1 } else { status & 0xff }), Stop::AtOnce);
            }
            Up::Say(text) => self.say(&printable(&text)),
            Up::Findings { lines, lost } => {
                let ranks = &self.nodes[number].ranks;
                let own = lines.into_iter().filter(|(rank, ..)| ranks.contains(rank));
                let read = |(rank, line, place): (u32, String, Option<String>)| {
                    Some((rank as usize, Finding::read(&printable(&line))?, place.as_deref().map(printable)))
                };
                let lines = own.filter_map(read).collect();
                self.findings.add((lines, lost.into()), Instant::now());
            }
            Up::Places(places) => self.places.extend(places),
            Up::Rest(rests) => self.rests.set(&node.ranks, rests),
            Up::Answers { question, answers } => self.rests.answered(&node.ranks, question, &answers),
            Up::Gone { all_well, bad_child, family_is_well } => {
                (node.phase, node.live) = (Phase::Gone, 0);
                self.all_well &= all_well;
                self.going_on.family_is_well |= family_is_well;
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
            Up::ConnectBack { to, order } => {
                self.branches.send(to, &Down::ConnectBack(BackOrder { node: number as u32, ..order }))?;
            }
            Up::NoConnection { to, number, text } => {
                self.branches.send(to, &Down::NoConnection { number, text: printable(&text) })?;
            }
            // No job asks for it.
            Up::Probed(_) => return Err(BadFrame("an answer to no question".into())),
            Up::Heartbeat => {}
        }
        Ok(())
    }

    /// Says so if the agent of a host may use fewer CPUs than Slurm has given to the job there.
    fn compare_cpus(&mut self, number: usize, cpus: usize) {
        let host = &self.nodes[number].host;
        let is_slurm = self.launcher.step.as_ref().is_some_and(|step| !step.one_by_one) && !self.settings.quiet;
        let allocated = if is_slurm { Allocation::from_env().ok().and_then(|all| all.cpus_of(host)) } else { None };
        if let Some(allocated) = allocated.filter(|&allocated| cpus < allocated) {
            self.say(&format!(
                "host {host}: only {cpus} of the {allocated} CPUs that Slurm has given to the job can be used there"
            ));
        }
    }

    /// When all agents are ready, all start their ranks.
    pub(super) fn go_when_ready(&mut self) -> Result<(), BadFrame> {
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
    pub(super) fn find_same_machine(&self) -> Vec<(String, String)> {
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
    pub(super) fn start_here(&mut self, below: Below, text: String) {
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
}
