//! Links to processes of other jobs: a first contact at a port becomes the link of the two roots; all others connect when
//! they first send, once they were introduced. A job that nothing names any more is left: its links say BYE.

use super::connect::{Arrivals, Connector};
use super::fabric::Fabric;
use super::joint::Connection;
use super::network::{Contact, Early, Network, WATCHED};
use super::tx::TcpTx;
use crate::far::Far;
use crate::incoming::Incoming;
use crate::outgoing::Outgoing;
use oxmpi_base::address::{JobId, ProcessId};
use oxmpi_base::ids::Peer;
use oxmpi_fabric::Seat;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

impl Incoming {
    /// From now on processes of other nodes and jobs are reached over TCP: `connector` makes connections, `arrivals` has
    /// those that others make.
    pub fn use_tcp(&mut self, tx: &mut Outgoing, connector: Box<dyn Connector>, arrivals: Arrivals) -> io::Result<()> {
        let network = Network::new(connector, arrivals, tx.node().block())?;
        tx.network = Some(Box::new(network));
        self.polls_network = true;
        self.see_foreign_senders(tx.node_mut());
        Ok(())
    }

    /// From now on links to other nodes of this job go over a fabric: an endpoint of a provider, or of the first real fabric.
    /// The provider, in words; or why there is none.
    pub fn use_fabric(&mut self, tx: &mut Outgoing, provider: Option<&str>) -> Result<String, String> {
        let seat = Seat::own(tx.node().own_id().slot.index());
        let Some(network) = &mut tx.network else { return Err("there is no network".into()) };
        let fabric = Fabric::new(provider, &seat)?;
        fabric
            .watch(network.sleeper.set(), WATCHED)
            .map_err(|error| format!("its endpoint cannot be watched: {error}"))?;
        let name = fabric.describe();
        network.fabric = Some(Arc::new(fabric));
        Ok(name)
    }

    /// A connection that both processes have agreed on becomes their link, as soon as an earlier one is over.
    pub fn adopt(&mut self, tx: &mut Outgoing, peer: Peer, connection: OwnedFd) -> io::Result<()> {
        let connection = Arc::new(Connection::new(connection)?);
        let Some(mut network) = tx.network.take() else { return Err(io::ErrorKind::Unsupported.into()) };
        network.abandon(peer);
        let has_link = match tx.far_entry(peer) {
            Far::Tcp(tcp) => tcp.connection().is_some() && !tcp.is_over(),
            _ => false,
        };
        let early = Early { peer, connection, is_arrival: false };
        match has_link {
            true => network.early.push(early),
            false => self.begin_link(&mut network, tx, early),
        }
        tx.network = Some(network);
        Ok(())
    }

    /// A new link over a connection.
    pub(super) fn begin_link(&mut self, network: &mut Network, tx: &mut Outgoing, new: Early) {
        let Early { peer, connection, is_arrival } = new;
        let (joint, offer) = network.joint(peer, tx.name_of(peer, Some(network)), tx.node().is_foreign(peer));
        joint.set_awaits_greeting(is_arrival);
        network.opened.retain(|(opened, _)| *opened != peer);
        self.open_tcp(peer, Arc::clone(&joint));
        let mut tcp = TcpTx::new(joint, offer);
        tcp.joint().note_arrival();
        tcp.use_connection(Arc::clone(&connection));
        *tx.far_entry(peer) = Far::Tcp(Box::new(tcp));
        tx.tell_opened(peer);
        self.read_from(network, peer, connection);
    }
}

impl Outgoing {
    /// The next first contact at a port of this process.
    pub fn take_contact(&mut self, port: u32) -> Option<Contact> {
        let contacts = &mut self.network.as_mut()?.contacts;
        let index = contacts.iter().position(|contact| contact.port == port)?;
        Some(contacts.remove(index))
    }

    /// Puts a first contact back, so that it is the next one.
    pub fn return_contact(&mut self, contact: Contact) {
        if let Some(network) = &mut self.network {
            network.contacts.insert(0, contact);
        }
    }

    /// Lets go of all who have called at a port: it is closed.
    pub fn drop_contacts(&mut self, port: u32) {
        if let Some(network) = &mut self.network {
            network.contacts.retain(|contact| contact.port != port);
        }
    }

    /// The answers of the agent since the last call.
    pub fn take_answers(&mut self) -> Vec<Vec<u8>> {
        self.network.as_mut().map_or(Vec::new(), |network| std::mem::take(&mut network.answers))
    }

    /// Whether links to other nodes of the job go over a fabric.
    pub(crate) fn has_fabric(&self) -> bool {
        self.network.as_ref().is_some_and(|network| network.fabric.is_some())
    }

    /// Whether this process can reach others over TCP.
    pub fn has_network(&self) -> bool {
        self.network.is_some()
    }

    /// The peer for a process of another job that is reached over TCP. `is_introduced`: there is a way to its agent, which
    /// has news of it.
    pub fn meet(&mut self, id: ProcessId, is_introduced: bool) -> Peer {
        let peer = self.node_mut().meet(id);
        if let Some(network) = self.network.as_mut().filter(|_| is_introduced) {
            network.watch(id.job, id.node);
        }
        peer
    }

    /// Says farewell to a process of a job that is left.
    pub(crate) fn say_bye(&mut self, peer: Peer) {
        let has_connection = match self.far_entry(peer) {
            Far::Tcp(tcp) => {
                tcp.say_bye();
                tcp.connection().is_some()
            }
            _ => false,
        };
        match has_connection {
            true => self.note_sent(peer),
            false => {
                if let Some(network) = &mut self.network {
                    network.forget(peer);
                }
                self.close(peer);
            }
        }
    }

    /// No more news of a job.
    pub(crate) fn watch_no_more(&mut self, job: JobId) {
        if let Some(network) = &mut self.network {
            network.watch_no_more(job);
        }
    }

    /// Whether a link to a process needs nothing more: there is none, or it is over or broken.
    pub(crate) fn is_link_over(&self, peer: Peer) -> bool {
        match self.far_known(peer) {
            Some(Far::Tcp(tcp)) => tcp.is_over() || tcp.joint().is_shut(),
            _ => true,
        }
    }

    /// Drops all that is known of a peer.
    pub(crate) fn forget(&mut self, peer: Peer) {
        if let Some(network) = &mut self.network {
            network.forget(peer);
        }
        self.close(peer);
    }
}
