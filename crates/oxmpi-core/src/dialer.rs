//! Makes the connections of a rank to ranks of other hosts, for the links: what `oxmpi-boot` knows of the network of the
//! job, as a [`Connector`].

use crate::agents::Agents;
use oxmpi_base::address::ProcessId;
use oxmpi_boot::Reached;
use oxmpi_boot::handshake::{End, Kind};
use oxmpi_boot::network::{Attempt, Network};
use oxmpi_transport::Links;
use oxmpi_transport::tcp::connect::{Arrivals, ConnectError, Connector, Pending};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// From now on ranks of other hosts are reached over TCP.
pub fn use_network(links: &mut Links, reached: Reached) -> io::Result<Agents> {
    let Reached { network, arrivals } = reached;
    let (job, network) = (network.job(), Arc::new(network));
    links.use_tcp(Box::new(Dialer(Arc::clone(&network))), Arrivals::new(arrivals), job)?;
    Ok(Agents::new(network))
}

struct Dialer(Arc<Network>);

struct Dialing(Attempt);

impl Connector for Dialer {
    fn connect(&self, to: ProcessId) -> Result<Box<dyn Pending>, ConnectError> {
        let to = End { node: to.node.number(), slot: to.slot.index() as u32 };
        Ok(Box::new(Dialing(self.0.connect(to, Kind::Link).map_err(ConnectError)?)))
    }

    fn host(&self, of: ProcessId) -> Option<String> {
        self.0.port(of.node.number()).ok().map(|port| port.host)
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
