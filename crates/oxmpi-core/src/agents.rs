//! The connections of this process to the agents of nodes, of its own job and of others, which execute one-sided operations
//! there. They are made when they are needed first, and stay until the process ends or leaves the other job.
//!
//! The agent of the own node is told about windows over a socket of its own, and is asked for nothing else: what is on this
//! node, the process accesses itself.

use crate::dialer::SharedNetwork;
use oxmpi_abi::constants::{MPI_ERR_OTHER, MPI_ERR_PROC_ABORTED, MPIX_ERR_PROC_FAILED};
use oxmpi_abi::{Error, Result};
use oxmpi_base::address::JobId;
use oxmpi_base::socket::{Interest, ReadySet};
use oxmpi_rma::far::link::{IsDeserted, Link};
use oxmpi_rma::far::origin::AgentId;
use oxmpi_rma::far::wire::Held;
use oxmpi_transport::NodeMemory;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The agent of the own node reads requests at least so often, or something is wrong with it.
const PATIENCE: Duration = Duration::from_secs(10);

pub struct Agents {
    network: SharedNetwork,
    /// The jobs and nodes of the agents that windows have named, by their numbers.
    named: Vec<(JobId, u32)>,
    links: BTreeMap<AgentId, Link>,
    /// The connection to the agent of the own node.
    own: Option<Link>,
    /// Nodes of this job that a connection could not be made to, and why.
    unreached: Vec<(u32, String)>,
    /// The nodes that were told to be cut off.
    told: BTreeSet<u32>,
    /// Windows that this process has given numbers.
    windows: u32,
    /// Whether all processes of a node of the job have ended, in a job that goes on when some do.
    is_deserted: Option<Arc<dyn Fn(u32) -> bool + Send + Sync>>,
}

impl Agents {
    pub(crate) fn new(network: SharedNetwork, node: &NodeMemory) -> Agents {
        let is_deserted = node.goes_on().then(|| node.deserted_nodes());
        Agents {
            network,
            named: Vec::new(),
            links: BTreeMap::new(),
            own: None,
            unreached: Vec::new(),
            told: BTreeSet::new(),
            windows: 0,
            is_deserted,
        }
    }

    /// The number of the agent of a node.
    pub fn id_of(&mut self, job: JobId, node: u32) -> AgentId {
        let known = self.named.iter().position(|&named| named == (job, node));
        let index = known.unwrap_or_else(|| {
            self.named.push((job, node));
            self.named.len() - 1
        });
        AgentId(index as u32)
    }

    /// A number for a window that no other process of the job, and no other window, has: from the rank in the job.
    pub fn new_window(&mut self, world_rank: usize) -> u64 {
        self.windows = self.windows.wrapping_add(1);
        (world_rank as u64) << 32 | u64::from(self.windows)
    }

    /// The connection to an agent of another node or job.
    pub fn link(&mut self, agent: AgentId) -> Result<&mut Link> {
        if !self.links.contains_key(&agent) {
            let Some(&(job, node)) = self.named.get(agent.0 as usize) else {
                return Err(Error::new(MPI_ERR_OTHER, "an agent that no window has named"));
            };
            let is_deserted = self.is_deserted.clone().filter(|_| job == self.network.lock().job());
            let socket = self.connect(job, node);
            if let (Some(is_deserted), Err(error)) = (&is_deserted, &socket)
                && !is_deserted(node)
            {
                self.unreached.push((node, error.text().into()));
            }
            let mut link = new_link(socket?, self.describe(job, node))?;
            link.is_deserted = is_deserted.map(|is_deserted| -> IsDeserted { Box::new(move || is_deserted(node)) });
            self.links.insert(agent, link);
        }
        self.links.get_mut(&agent).ok_or_else(|| unreachable!("just inserted"))
    }

    /// The nodes of this job whose agents this process cannot reach any more although processes are left there, and why; each
    /// once.
    pub(crate) fn take_cut_off(&mut self) -> Vec<(u32, String)> {
        let mut cut_off = std::mem::take(&mut self.unreached);
        for (agent, link) in &self.links {
            if let (Some(&(_, node)), Some(error)) = (self.named.get(agent.0 as usize), link.cut_off()) {
                cut_off.push((node, error.text().into()));
            }
        }
        cut_off.retain(|(node, _)| self.told.insert(*node));
        cut_off
    }

    /// The connection to an agent, if there is one.
    pub fn known(&mut self, agent: AgentId) -> Option<&mut Link> {
        self.links.get_mut(&agent)
    }

    /// Why an agent has not granted a lock yet, as far as it has said it.
    pub fn held(&self, agent: AgentId, tag: u32) -> Option<Held> {
        self.links.get(&agent)?.held(tag)
    }

    /// The connection to the agent of this node.
    pub fn own(&mut self) -> Result<&mut Link> {
        if self.own.is_none() {
            let socket = self.connect_own()?;
            self.own = Some(new_link(socket, "the agent of this node".into())?);
        }
        self.own.as_mut().ok_or_else(|| unreachable!("just made"))
    }

    /// Closes the connections to the agents of jobs that this process has left.
    pub(crate) fn forget(&mut self, jobs: &[JobId]) {
        let named = &self.named;
        let has_left = |agent: &AgentId| named.get(agent.0 as usize).is_some_and(|(job, _)| jobs.contains(job));
        self.links.retain(|agent, _| !has_left(agent));
    }

    fn describe(&self, job: JobId, node: u32) -> String {
        let network = self.network.lock();
        let host = network.place(job, node).map(|port| port.host).filter(|host| !host.is_empty());
        let host = host.map_or_else(String::new, |host| format!(" ({host})"));
        let of = if job == network.job() { "" } else { " of another job" };
        format!("the agent of node {node}{host}{of}")
    }

    /// Waits for the agent alone, which answers without any rank's help.
    fn connect(&self, job: JobId, node: u32) -> Result<OwnedFd> {
        let class = if self.is_deserted.is_some() { MPIX_ERR_PROC_FAILED } else { MPI_ERR_PROC_ABORTED };
        let cannot = |why: String| Error::new(class, why);
        let mut attempt = self.network.lock().connect_one_sided(job, node).map_err(cannot)?;
        let ready = ReadySet::new().map_err(|error| cannot(error.to_string()))?;
        ready.add(attempt.readiness(), 0, Interest::Read).map_err(|error| cannot(error.to_string()))?;
        loop {
            if let Some(socket) = attempt.step().map_err(cannot)? {
                return Ok(socket);
            }
            ready.wait(Duration::from_millis(100), &mut Vec::new()).map_err(|error| cannot(error.to_string()))?;
        }
    }

    /// As [`Agents::connect`], for the agent of this node.
    fn connect_own(&self) -> Result<OwnedFd> {
        let cannot = |why: String| Error::new(MPI_ERR_OTHER, why);
        let start = Instant::now();
        loop {
            if let Some(socket) = self.network.lock().tell_windows().map_err(cannot)? {
                return Ok(socket);
            }
            if start.elapsed() >= PATIENCE {
                return Err(cannot("the agent of this node reads no requests".into()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn new_link(socket: OwnedFd, name: String) -> Result<Link> {
    let cannot = format!("the connection to {name} cannot be used");
    Link::new(socket, name).map_err(|error| Error::new(MPI_ERR_OTHER, format!("{cannot}: {error}")))
}
