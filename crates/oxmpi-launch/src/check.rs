//! `mpirun --host a,b --check-hosts`: tries everything that a job on these hosts needs, and prints a table. Agents are
//! started and make ready as for a job, but no program is started: instead each agent connects to all others.
//!
//! Unlike a job, it goes on when a host fails, so that one run shows what is wrong with all of them.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant, SystemTime};

use oxmpi_agent::frame::{Class, EVERY_NODE};
use oxmpi_agent::message::{self, Down, Machine, NodeAddresses, Unreached, Up};

use crate::branch::{Branches, Event};
use crate::job;
use crate::options::{Cluster, Request};
use crate::order::Plan;
use crate::report::{VERSION, printable};
use crate::sys;

/// Time for the launchers to end after the agents.
const LEAVE: Duration = Duration::from_secs(3);
/// Clocks that differ by more are reported: files of a shared file system look older or newer than they are.
const CLOCK: f64 = 2.0;

/// Prints the table; the exit status is 1 if a job would fail.
pub fn run(request: &Request, cluster: &Cluster) -> i32 {
    let checked = sys::take_signals(&job::TAKEN)
        .map_err(|error| format!("cannot watch for signals: {error}"))
        .and_then(|(signals, _)| Check::new(request, cluster, signals).map_err(|refusal| refusal.text));
    match checked {
        Ok(check) => check.run(),
        Err(text) => {
            eprintln!("mpirun: {text}");
            2
        }
    }
}

struct Check {
    signals: OwnedFd,
    branches: Branches,
    nodes: Vec<Node>,
    /// The agents were told to connect to each other.
    probing: bool,
}

#[derive(Default)]
struct Node {
    host: String,
    machine: Option<Machine>,
    /// Seconds by which its clock is ahead of ours.
    ahead: f64,
    address: Option<NodeAddresses>,
    unreached: Option<Vec<Unreached>>,
    /// Why it cannot take part.
    trouble: Option<String>,
}

impl Check {
    fn new(request: &Request, cluster: &Cluster, signals: OwnedFd) -> Result<Check, crate::start::Refusal> {
        let plan = Plan::new(request, cluster, None)?;
        let nodes = plan.hosts.iter().map(|host| Node { host: host.clone(), ..Node::default() }).collect();
        let (branches, events) = Branches::start(&plan.below, &plan.launcher, plan.host_timeout);
        let mut check = Check { signals, branches, nodes, probing: false };
        events.into_iter().for_each(|event| check.on_event(event));
        for order in plan.orders {
            let node = order.node as usize;
            if let Err(bad) = check.branches.send(order.node, &Down::Order(Box::new(order))) {
                check.nodes[node].trouble.get_or_insert(bad.0);
            }
        }
        Ok(check)
    }

    fn run(mut self) -> i32 {
        let mut fds = Vec::new();
        loop {
            let now = Instant::now();
            for event in self.branches.work(now) {
                self.on_event(event);
            }
            while let Some(signal) = sys::next_signal(&self.signals) {
                match signal {
                    sys::SIGCHLD => self.reap(now),
                    sys::SIGINT | sys::SIGTERM | sys::SIGHUP | sys::SIGQUIT => {
                        self.close();
                        return 128 + signal;
                    }
                    _ => {}
                }
            }
            if !self.probing && self.nodes.iter().all(|node| node.trouble.is_some() || node.address.is_some()) {
                self.probe();
            }
            if self.probing && self.nodes.iter().all(|node| node.trouble.is_some() || node.unreached.is_some()) {
                break;
            }
            fds.clear();
            fds.push(sys::pollfd(self.signals.as_raw_fd(), sys::POLLIN));
            self.branches.poll_for(&mut fds);
            let wake = self.branches.deadline().unwrap_or(now + Duration::from_secs(1));
            if sys::poll(&mut fds, Some(wake.saturating_duration_since(now))).is_err() {
                break;
            }
        }
        self.close();
        let (text, is_good) = self.table();
        print!("{text}");
        i32::from(!is_good)
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Frame(frame) => {
                let up = match frame.class {
                    Class::Control => message::decode::<Up>(&frame.body),
                    _ => return,
                };
                let Some(node) = self.nodes.get_mut(frame.node as usize) else { return };
                match up {
                    Ok(Up::Here(machine)) => {
                        node.ahead = seconds(machine.clock) - now_seconds();
                        node.machine = Some(*machine);
                    }
                    Ok(Up::Ready(address)) => node.address = Some(address),
                    Ok(Up::Probed(unreached)) => node.unreached = Some(unreached),
                    Ok(Up::Trouble { text, .. }) => {
                        node.trouble.get_or_insert(printable(&text));
                    }
                    Ok(Up::Lost { node, text, .. }) => self.lose(node, &text),
                    Ok(_) => {}
                    Err(bad) => {
                        node.trouble.get_or_insert(format!("its agent sent a bad message: {}", bad.0));
                    }
                }
            }
            Event::Unstarted { below, text } => below.nodes.iter().for_each(|&node| self.lose(node, &text)),
            Event::Lost { nodes, text, .. } => nodes.iter().for_each(|&node| self.lose(node, &text)),
            Event::Noise { .. } => {}
        }
    }

    fn lose(&mut self, node: u32, text: &str) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.trouble.get_or_insert(printable(text));
        }
    }

    /// Tells all agents that are ready to connect to each other.
    fn probe(&mut self) {
        self.probing = true;
        let nodes: Vec<NodeAddresses> = self.nodes.iter().filter_map(|node| node.address.clone()).collect();
        // What cannot be sent is missing in the answers.
        let _ = self.branches.send(EVERY_NODE, &Down::Probe { nodes });
    }

    fn reap(&mut self, now: Instant) {
        while let Some(pid) = sys::ended_child() {
            match sys::reap(pid) {
                Some(status) => self.branches.ended(pid, status, now),
                None => break,
            };
        }
    }

    fn close(&mut self) {
        self.branches.close();
        let until = Instant::now() + LEAVE;
        loop {
            let now = Instant::now();
            while sys::next_signal(&self.signals).is_some() {}
            self.reap(now);
            if self.branches.have_ended() {
                return;
            }
            let mut fds = vec![sys::pollfd(self.signals.as_raw_fd(), sys::POLLIN)];
            if now >= until || sys::poll(&mut fds, Some(until - now)).is_err() {
                return self.branches.kill();
            }
        }
    }

    /// The table, and whether a job would run.
    fn table(&self) -> (String, bool) {
        let own_user = sys::own_user();
        let mut rows = vec![["host", "state", "OxMPI", "CPUs", "user", "clock", "address"].map(String::from)];
        let (mut notes, mut is_good) = (Vec::new(), true);
        for node in &self.nodes {
            let Node { host, machine, ahead, address, trouble, .. } = node;
            let dash = || "-".to_string();
            let cell = |text: Option<String>| text.unwrap_or_else(dash);
            let state = if trouble.is_none() { "good" } else { "BROKEN" };
            rows.push([
                host.clone(),
                state.into(),
                cell(machine.as_ref().map(|_| VERSION.to_string())),
                cell(machine.as_ref().map(|machine| machine.cpus.to_string())),
                cell(machine.as_ref().map(|machine| machine.user.to_string())),
                cell(machine.as_ref().map(|_| format!("{ahead:+.1} s"))),
                cell(address.as_ref().map(shown_address)),
            ]);
            if let Some(text) = trouble {
                is_good = false;
                notes.push(format!("BROKEN  {host}: {text}"));
            }
            if ahead.abs() > CLOCK {
                notes.push(format!("note    {host}: its clock differs from the one here by {ahead:+.1} s"));
            }
            if let Some(machine) = machine.as_ref().filter(|machine| machine.user != own_user) {
                let user = machine.user;
                notes.push(format!(
                    "note    {host}: the user's number there is {user}, and {own_user} here; on a shared file system \
                     they are different users"
                ));
            }
        }
        let (tried, failed) = self.connections(&mut notes);
        is_good &= failed == 0;
        notes.push(match (tried, failed) {
            (0, _) => "good    there are no connections between hosts to try".into(),
            (_, 0) => format!("good    all {tried} connections between the hosts work"),
            _ => format!("BROKEN  {failed} of {tried} connections between the hosts do not work"),
        });
        let text = format!("{}\n{}\n", columns(&rows), notes.join("\n"));
        (text, is_good)
    }

    /// The numbers of connections that were tried and that failed, with a note about each of those.
    fn connections(&self, notes: &mut Vec<String>) -> (usize, usize) {
        let ready = self.nodes.iter().filter(|node| node.address.is_some()).count();
        let (mut tried, mut failed) = (0, 0);
        for node in &self.nodes {
            let Some(unreached) = &node.unreached else { continue };
            tried += ready.saturating_sub(1);
            for Unreached { node: to, text } in unreached {
                failed += 1;
                let to = self.nodes.get(*to as usize).map_or("?", |node| &node.host);
                notes.push(format!("BROKEN  from {} to {to}: {}", node.host, printable(text)));
            }
        }
        (tried, failed)
    }
}

fn shown_address(node: &NodeAddresses) -> String {
    match node.addresses.first() {
        Some(address) if node.port > 0 => std::net::SocketAddr::new(*address, node.port).to_string(),
        _ => "-".into(),
    }
}

fn columns(rows: &[[String; 7]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..7).map(width).collect();
    let line = |row: &[String; 7]| {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

fn seconds((seconds, nanoseconds): (u64, u32)) -> f64 {
    seconds as f64 + f64::from(nanoseconds) * 1e-9
}

fn now_seconds() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(nodes: Vec<Node>) -> Check {
        let nobody = message::LauncherOrder { command: Vec::new(), also_here: false, agent: Vec::new(), step: None };
        let signals = std::fs::File::open("/dev/null").unwrap().into();
        Check { signals, branches: Branches::start(&[], &nobody, 0).0, nodes, probing: true }
    }

    fn node(host: &str, node: u32, user: u32) -> Node {
        let machine =
            Machine { host: host.into(), boot_id: "b".into(), namespaces: Vec::new(), user, cpus: 4, clock: (0, 0) };
        let address =
            NodeAddresses { node, host: host.into(), addresses: vec!["198.18.0.1".parse().unwrap()], port: 99 };
        Node {
            host: host.into(),
            machine: Some(machine),
            address: Some(address),
            unreached: Some(Vec::new()),
            ..Node::default()
        }
    }

    #[test]
    fn all_is_well() {
        let user = sys::own_user();
        let (text, is_good) = check(vec![node("a", 0, user), node("long-name", 1, user)]).table();
        assert!(is_good, "{text}");
        assert!(text.contains("long-name  good   "), "{text}");
        assert!(text.contains("198.18.0.1:99") && text.contains("all 2 connections"), "{text}");
    }

    #[test]
    fn each_fault_has_a_line() {
        let user = sys::own_user();
        let mut far = node("far", 1, user + 1);
        far.ahead = -7.0;
        far.unreached = Some(vec![Unreached { node: 0, text: "198.18.0.1:99: refused".into() }]);
        let gone = Node { host: "gone".into(), trouble: Some("unknown".into()), ..Node::default() };
        let (text, is_good) = check(vec![node("a", 0, user), far, gone]).table();
        assert!(!is_good);
        for part in [
            "clock differs from the one here by -7.0 s",
            &format!("number there is {}", user + 1),
            "BROKEN  from far to a: 198.18.0.1:99: refused",
            "BROKEN  gone: unknown",
            "1 of 2 connections",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
