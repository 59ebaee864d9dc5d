//! The connections of this process to the agents of nodes, which execute one-sided operations there. They are made when
//! they are needed first, and stay until the process ends.

use crate::dialer::SharedNetwork;
use oxmpi_abi::constants::{MPI_ERR_OTHER, MPI_ERR_PROC_ABORTED};
use oxmpi_abi::{Error, Result};
use oxmpi_base::socket::{Interest, ReadySet};
use oxmpi_boot::handshake::{End, Kind};
use oxmpi_rma::far::link::Link;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::time::Duration;

pub struct Agents {
    network: SharedNetwork,
    links: BTreeMap<u32, Link>,
    /// Windows that this process has given numbers.
    windows: u32,
}

impl Agents {
    pub(crate) fn new(network: SharedNetwork) -> Agents {
        Agents { network, links: BTreeMap::new(), windows: 0 }
    }

    /// This process's own node.
    pub fn own_node(&self) -> u32 {
        self.network.lock().own().node
    }

    /// A number for a window that no other process of the job, and no other window, has: from the rank in the job.
    pub fn new_window(&mut self, world_rank: usize) -> u64 {
        self.windows = self.windows.wrapping_add(1);
        (world_rank as u64) << 32 | u64::from(self.windows)
    }

    /// The connection to the agent of a node.
    pub fn link(&mut self, node: u32) -> Result<&mut Link> {
        if !self.links.contains_key(&node) {
            let socket = self.connect(node)?;
            let link = Link::new(socket, node).map_err(|error| {
                Error::new(MPI_ERR_OTHER, format!("the connection to the agent of node {node} cannot be used: {error}"))
            })?;
            self.links.insert(node, link);
        }
        self.links.get_mut(&node).ok_or_else(|| unreachable!("just inserted"))
    }

    /// The connection to a node, if there is one.
    pub fn known(&mut self, node: u32) -> Option<&mut Link> {
        self.links.get_mut(&node)
    }

    /// Waits for the agent alone, which answers without any rank's help.
    fn connect(&self, node: u32) -> Result<OwnedFd> {
        let cannot = |why: String| Error::new(MPI_ERR_PROC_ABORTED, why);
        let to = End { node, slot: End::AGENT };
        let mut attempt = self.network.lock().connect_agent(to, Kind::OneSided).map_err(cannot)?;
        let ready = ReadySet::new().map_err(|error| cannot(error.to_string()))?;
        ready.add(attempt.readiness(), 0, Interest::Read).map_err(|error| cannot(error.to_string()))?;
        loop {
            if let Some(socket) = attempt.step().map_err(cannot)? {
                return Ok(socket);
            }
            ready.wait(Duration::from_millis(100), &mut Vec::new()).map_err(|error| cannot(error.to_string()))?;
        }
    }
}
