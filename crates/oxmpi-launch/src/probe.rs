//! Connections that an agent makes to the ports of all other nodes, for `--check-hosts`: whether each can be reached, and
//! what each address answers. Nothing here waits.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use oxmpi_agent::message::Unreached;
use oxmpi_boot::handshake::{End, Kind};
use oxmpi_boot::network::{Attempt, Network};

use crate::start::RankNetwork;
use crate::sys;

/// Attempts that run at the same time.
const MOST: usize = 32;

pub struct Probe {
    network: Network,
    /// Nodes that were not tried yet.
    left: Vec<u32>,
    running: Vec<(u32, Attempt)>,
    unreached: Vec<Unreached>,
    is_done: bool,
    /// Held, because the agent lets nobody in for ranks that have ended.
    _sockets: RankNetwork,
}

impl Probe {
    /// `sockets`: what ranks would inherit; `nodes`: those to be tried. `None`: the job has no other nodes.
    pub fn new(sockets: RankNetwork, own: u32, nodes: Vec<u32>) -> io::Result<Option<Probe>> {
        let Some(description) = sockets.description() else { return Ok(None) };
        let network = Network::open(description.try_clone()?, End { node: own, slot: End::AGENT })?;
        Ok(Some(Probe {
            network,
            left: nodes,
            running: Vec::new(),
            unreached: Vec::new(),
            is_done: false,
            _sockets: sockets,
        }))
    }

    /// Goes on; the nodes that cannot be reached, once, when all were tried.
    pub fn work(&mut self) -> Option<Vec<Unreached>> {
        if self.is_done {
            return None;
        }
        while self.running.len() < MOST
            && let Some(node) = self.left.pop()
        {
            match self.network.connect_agent(End { node, slot: End::AGENT }, Kind::OneSided) {
                Ok(attempt) => self.running.push((node, attempt)),
                Err(text) => self.unreached.push(Unreached { node, text }),
            }
        }
        let unreached = &mut self.unreached;
        self.running.retain_mut(|(node, attempt)| match attempt.step() {
            Ok(None) => true,
            // The connection has done its work, and is closed.
            Ok(Some(_)) => false,
            Err(text) => {
                unreached.push(Unreached { node: *node, text });
                false
            }
        });
        self.is_done = self.running.is_empty() && self.left.is_empty();
        self.is_done.then(|| std::mem::take(&mut self.unreached))
    }

    pub fn poll_for(&self, fds: &mut Vec<sys::PollFd>) {
        let ready = self.running.iter().map(|(_, attempt)| attempt.readiness().as_fd().as_raw_fd());
        fds.extend(ready.map(|fd| sys::pollfd(fd, sys::POLLIN)));
    }

    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        (!self.is_done).then(|| now + Duration::from_millis(100))
    }
}
