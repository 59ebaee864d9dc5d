//! Connections that an agent makes to other nodes for ranks there that cannot reach this one, because a firewall may be
//! open in one direction only. The far agent hands the connection to the rank that asked; here it becomes what it would
//! be if that rank had called. Nothing here waits.

use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use oxmpi_agent::message::BackOrder;
use oxmpi_boot::handshake::{End, Kind};
use oxmpi_boot::network::{Attempt, Network};

use crate::sys;

/// Attempts at a time; more are a damaged message.
const MOST: usize = 4096;

#[derive(Default)]
pub struct BackConnections {
    /// The description of the nodes of the job.
    description: Option<OwnedFd>,
    running: Vec<(BackOrder, Attempt)>,
    refused: Vec<(BackOrder, String)>,
}

impl BackConnections {
    /// The nodes of the job are known from now on.
    pub fn describe(&mut self, description: OwnedFd) {
        self.description = Some(description);
    }

    /// Begins a connection from node `own`.
    pub fn begin(&mut self, order: BackOrder, own: u32) {
        match self.attempt(order, own) {
            Ok(attempt) => self.running.push((order, attempt)),
            Err(text) => self.refused.push((order, text)),
        }
    }

    fn attempt(&self, order: BackOrder, own: u32) -> Result<Attempt, String> {
        let description = self.description.as_ref().ok_or("the nodes of the job are not known yet")?;
        if self.running.len() >= MOST {
            return Err("there are too many such connections".into());
        }
        let description = description.try_clone().map_err(|error| error.to_string())?;
        // It calls in the name of the process that it is for.
        let network = Network::open(description, End { node: own, slot: order.for_slot });
        let to = End { node: order.node, slot: order.number };
        network.map_err(|error| error.to_string())?.connect_agent(to, Kind::Back)
    }

    /// The connections that have been made, or have failed, since the last call.
    pub fn work(&mut self) -> Vec<(BackOrder, Result<TcpStream, String>)> {
        let refused = std::mem::take(&mut self.refused);
        let mut done: Vec<_> = refused.into_iter().map(|(order, text)| (order, Err(text))).collect();
        self.running.retain_mut(|(order, attempt)| match attempt.step() {
            Ok(None) => true,
            Ok(Some(socket)) => {
                done.push((*order, Ok(TcpStream::from(socket))));
                false
            }
            Err(text) => {
                done.push((*order, Err(text)));
                false
            }
        });
        done
    }

    pub fn poll_for(&self, fds: &mut Vec<sys::PollFd>) {
        let ready = self.running.iter().map(|(_, attempt)| attempt.readiness().as_raw_fd());
        fds.extend(ready.map(|fd| sys::pollfd(fd, sys::POLLIN)));
    }

    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        match (self.refused.is_empty(), self.running.is_empty()) {
            (false, _) => Some(now),
            (true, false) => Some(now + Duration::from_millis(100)),
            (true, true) => None,
        }
    }
}
