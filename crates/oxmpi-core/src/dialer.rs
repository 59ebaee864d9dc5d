//! Makes the connections of a process to processes of other hosts, for the links: what `oxmpi-boot` knows of the network,
//! as a [`Connector`]. The process and its links share that knowledge.

use oxmpi_base::address::{JobId, ProcessId};
use oxmpi_base::ids::NodeId;
use oxmpi_boot::network::{Attempt, Network};
use oxmpi_transport::tcp::connect::{ConnectError, Connector, Pending};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a process knows of the network.
#[derive(Clone)]
pub struct SharedNetwork(Arc<Mutex<Network>>);

impl SharedNetwork {
    pub fn new(network: Network) -> SharedNetwork {
        SharedNetwork(Arc::new(Mutex::new(network)))
    }

    pub fn lock(&self) -> MutexGuard<'_, Network> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Dialing(Attempt);

impl Connector for SharedNetwork {
    fn connect(&self, to: ProcessId) -> Result<Box<dyn Pending>, ConnectError> {
        Ok(Box::new(Dialing(self.lock().connect(to).map_err(ConnectError)?)))
    }

    fn watch(&self, job: JobId, node: NodeId) -> Result<Box<dyn Pending>, ConnectError> {
        Ok(Box::new(Dialing(self.lock().watch(job, node.number()).map_err(ConnectError)?)))
    }

    fn host(&self, of: ProcessId) -> Option<String> {
        self.lock().place(of.job, of.node.number()).map(|port| port.host).filter(|host| !host.is_empty())
    }

    fn verdict(&self) -> Duration {
        Duration::from_secs(3)
    }
}

impl Pending for Dialing {
    fn step(&mut self) -> Result<Option<OwnedFd>, ConnectError> {
        self.0.step().map_err(ConnectError)
    }

    fn readiness(&self) -> BorrowedFd<'_> {
        self.0.readiness()
    }
}
