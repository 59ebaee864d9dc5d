//! Connecting and disconnecting of processes of other jobs. State for a foreign process is dropped
//! when nothing names it any more.

use super::ops::{Op, OpId};
use super::send::Route;
use super::{Assembly, Engine, Messages, PeerState, Queued};
use crate::matching::{Envelope, MessageId, Pattern};
use oxmpi_abi::Error;
use oxmpi_base::address::{JobId, ProcessId};
use oxmpi_transport::tcp::Contact;
use oxmpi_transport::tcp::connect::{Arrivals, Connector};
use oxmpi_transport::transfer::Quiet;
use oxmpi_transport::{Ended, Peer};
use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;

/// The source of a message that the receiver identifies by the sender's process. A process number
/// is valid in its own process only, so the receiver fills in its own number of the sender.
pub const BY_PROCESS: i32 = i32::MIN;

/// The source by which the receiver identifies a message.
#[inline]
pub(super) fn source(source: i32, peer: Peer) -> i32 {
    if source == BY_PROCESS { peer.as_source() } else { source }
}

/// What an operation waits for.
pub enum Pending {
    /// The receiver must take the message.
    Send(Route),
    /// A message.
    Recv(Pattern),
}

impl Engine {
    /// Foreign senders connected or disconnected, or there are links between nodes, which are looked at in every turn.
    /// `true` when an operation may have completed.
    #[cold]
    pub(super) fn see_foreign_senders(&mut self) -> bool {
        self.rx.see_foreign_senders(self.messages.tx.node_mut());
        self.forget_deserted();
        self.messages.has_news = self.node().has_news() || self.has_broken_links() || !self.messages.revoked.is_empty();
        self.messages.has_news | (self.rx.has_network() && self.progress_network(false))
    }

    /// Leaves the jobs of which no process is used here or named by the caller; returns those that were
    /// reached over TCP.
    pub fn leave_jobs(&mut self, named: &BTreeSet<Peer>) -> Vec<JobId> {
        self.forget_withdrawn();
        let held = self.held();
        let left = self.rx.leave_jobs(&mut self.messages.tx, |peer| named.contains(&peer) || held.contains(&peer));
        self.forget_deserted();
        left
    }

    /// Leaves all other jobs, whatever is under way: this process is finalizing.
    pub fn leave_all_jobs(&mut self) -> Vec<JobId> {
        let left = self.rx.leave_jobs(&mut self.messages.tx, |_| false);
        self.forget_deserted();
        left
    }

    /// Drops the state of foreign processes that left. Their send queues are empty.
    fn forget_deserted(&mut self) {
        if self.node().knows_deserted() {
            let held = self.held();
            for peer in self.rx.drop_deserted(&mut self.messages.tx, |peer| held.contains(&peer)) {
                self.peers.forget(peer);
            }
        }
    }

    /// Searches for far processes that have ended; returns all of them.
    pub fn find_ended(&mut self) -> Vec<(Peer, Ended)> {
        self.rx.find_ended(&mut self.messages.tx)
    }
}

impl Engine {
    /// From now on processes of other nodes and jobs are reached over TCP.
    pub fn use_network(&mut self, connector: Box<dyn Connector>, arrivals: Arrivals) -> io::Result<()> {
        self.rx.use_tcp(&mut self.messages.tx, connector, arrivals)
    }

    /// Links to other nodes go over an endpoint of libfabric from now on; its name, or why there is none.
    pub fn use_fabric(&mut self, provider: Option<&str>) -> Result<String, String> {
        self.rx.use_fabric(&mut self.messages.tx, provider)
    }

    /// A connection that this process and a peer have agreed on becomes their link.
    pub fn adopt(&mut self, peer: Peer, connection: OwnedFd) -> io::Result<()> {
        self.rx.adopt(&mut self.messages.tx, peer, connection)
    }
}

impl Messages {
    /// Whether this process can reach others over TCP.
    pub fn has_network(&self) -> bool {
        self.tx.has_network()
    }

    /// The peer for a process of another job that is reached over TCP. `is_introduced`: its agent can
    /// be reached, too.
    pub fn meet(&mut self, id: ProcessId, is_introduced: bool) -> Peer {
        self.tx.meet(id, is_introduced)
    }

    /// The next first contact at a port of this process.
    pub fn take_contact(&mut self, port: u32) -> Option<Contact> {
        self.tx.take_contact(port)
    }

    /// Puts a first contact back, so that it is the next one.
    pub fn return_contact(&mut self, contact: Contact) {
        self.tx.return_contact(contact);
    }

    /// Lets go of all who have called at a port.
    pub fn drop_contacts(&mut self, port: u32) {
        self.tx.drop_contacts(port);
    }

    /// The answers of the agent since the last call.
    pub fn take_answers(&mut self) -> Vec<Vec<u8>> {
        self.tx.take_answers()
    }

    /// The peer for a process of any job; an error says why it cannot be reached.
    pub fn peer_at(&mut self, id: ProcessId) -> io::Result<Peer> {
        self.tx.node_mut().peer_at(id)
    }

    /// The foreign processes that an operation under way or an unreceived message names.
    fn held(&self) -> BTreeSet<Peer> {
        let waits = |state: &PeerState| state.queue.front().is_some_and(|first| !matches!(first, Queued::Ended));
        let busy = |state: &PeerState| waits(state) || !matches!(state.assembly, Assembly::None);
        let peers = self.peers.iter().filter(|(_, state)| busy(state)).map(|(peer, _)| peer);
        let messages = self.unexpected.iter().map(|(_, _, message)| message.from);
        let all = self.ops.pending_sends().chain(self.ops.moving_peers()).chain(peers).chain(messages);
        all.filter(|&peer| self.tx.node().is_foreign(peer)).collect()
    }

    /// Drops the messages that foreign processes have withdrawn.
    fn forget_withdrawn(&mut self) {
        let gone: Vec<MessageId> = self
            .unexpected
            .iter()
            .filter(|(_, _, message)| self.tx.node().is_foreign(message.from))
            .filter(|(_, _, message)| message.offer.is_some_and(|offer| !self.tx.is_offered(message.from, offer)))
            .map(|(id, _, _)| id)
            .collect();
        gone.into_iter().for_each(|id| self.forget(id));
    }

    /// What an operation waits for, if nothing has been done for it yet.
    pub fn pending(&self, op: OpId) -> Option<Pending> {
        match self.ops.get(op) {
            Op::Send(send) if send.is_untaken() => Some(Pending::Send(send.route)),
            Op::Recv(_) => {
                self.posted.iter().find(|(_, _, posted)| **posted == op).map(|(_, pattern, _)| Pending::Recv(pattern))
            }
            _ => None,
        }
    }

    /// Ends an operation with an error, if nothing has been done for it yet: its peer has finalized, or a failure or a revocation
    /// ends it.
    pub fn fail(&mut self, op: OpId, error: Error) {
        match self.ops.get(op) {
            // On another host the receiver would have to be asked, and does not answer soon, or any more.
            Op::Send(send) if send.waits_for_answer() && !self.tx.node().shares_memory(send.peer()) => {
                if error.is_survivable() {
                    self.give_up(op, send.peer(), error.class());
                }
                let quiet = self.abort_transfer(op);
                return self.ops.fail(op, error, quiet);
            }
            Op::Send(_) => self.cancel_send(op),
            Op::Recv(_) => self.cancel_recv(op),
            _ => return,
        }
        if self.ops.outcome(op).is_some_and(|outcome| outcome.status.is_cancelled()) {
            self.ops.fail(op, error, Quiet::unshared());
        }
    }

    /// Messages that have arrived without a posted receive, with their lengths.
    pub fn unmatched(&self) -> impl Iterator<Item = (Envelope, u64)> {
        self.unexpected.iter().map(|(_, envelope, message)| (envelope, message.bytes()))
    }

    /// The contexts of posted receives that no message has matched.
    pub fn posted_contexts(&self) -> impl Iterator<Item = u32> + '_ {
        self.posted.iter().map(|(_, pattern, _)| pattern.context)
    }
}

impl super::ops::Ops {
    /// The peers of receives that have claimed an offer, one for each.
    fn moving_peers(&self) -> impl Iterator<Item = Peer> + '_ {
        self.all().filter_map(|op| match op {
            Op::Recv(recv) => recv.moves_from(),
            _ => None,
        })
    }
}
