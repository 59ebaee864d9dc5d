//! Links that rest. A connection takes a descriptor, of which a process has only so many. Where links become too many,
//! those that were not used for the longest time are closed, as if the peers had parted: BYE, with the flag
//! [`RESTS`](super::frame::RESTS), and the peer's BYE. The next packet in either direction opens a new link.
//!
//! A process connects only while its own connections are few enough, and takes those that others have made only while
//! those are. The two are counted apart, so that processes with too many links do not wait for each other: one that
//! takes no connection waits for the answers to its BYEs, and an answer needs no descriptor.
//!
//! No frame may be under way on a second connection when a link rests. A process that has connected and heard nothing
//! cannot know that its peer has not connected, too. So it asks the peer to say the first BYE (REST).

use super::capacity::CONNECTING;
use super::network::{ARRIVALS, Network};
use super::tx::TcpTx;
use crate::far::{Far, FarRx};
use crate::incoming::Incoming;
use crate::outgoing::Outgoing;
use oxmpi_base::ids::Peer;
use oxmpi_base::socket::Interest;
use std::os::fd::AsFd;

/// This share of the links is closed at a time.
const PART: usize = 4;

/// What the links of a process take.
struct Taken {
    made: usize,
    accepted: usize,
}

impl Outgoing {
    /// Whether a connection may be made. Otherwise some link that rests makes room for it.
    pub(super) fn may_connect(&mut self) -> bool {
        let Some(network) = &self.network else { return false };
        // It is not worth counting.
        let is_far_from_full = network.peers.len() + CONNECTING * (network.pending.len() + 1) < network.capacity.each();
        let may = is_far_from_full || self.taken(network).made + 1 + CONNECTING <= network.capacity.each();
        if let Some(network) = &mut self.network {
            network.wants_descriptors |= !may;
        }
        may
    }

    fn taken(&self, network: &Network) -> Taken {
        let links = network.peers.iter().filter_map(|&peer| match self.far_known(peer) {
            Some(Far::Tcp(tcp)) => Some(tcp),
            _ => None,
        });
        let waiting = network.strangers.len() + network.early.len() + network.contacts.len();
        let mut taken = Taken { made: CONNECTING * network.pending.len(), accepted: waiting };
        for tcp in links {
            // A link that goes on over a fabric closes its sockets.
            let is_socket = !tcp.joint().is_on_fabric();
            taken.made += usize::from(is_socket && tcp.has_connected());
            taken.accepted += usize::from(is_socket && tcp.has_arrived());
        }
        taken
    }

    /// The link to a peer, if it is one over TCP.
    fn known_tcp(&mut self, peer: Peer) -> Option<&mut TcpTx> {
        match self.far_entry(peer) {
            Far::Tcp(tcp) => Some(tcp),
            _ => None,
        }
    }
}

impl Incoming {
    /// Whether a connection that a peer has made may be taken. Otherwise the agent keeps it until links have made room.
    pub(super) fn may_accept(&mut self, network: &mut Network, tx: &Outgoing) -> bool {
        let may = tx.taken(network).accepted < network.capacity.each();
        if !may && !std::mem::replace(&mut network.holds_arrivals, true) {
            network.sleeper.set().remove(network.arrivals.as_fd());
        }
        may
    }

    /// Closes links where there are too many; lets go of those that are closed on both sides.
    pub(super) fn rest_links(&mut self, network: &mut Network, tx: &mut Outgoing) {
        self.close_resting(network, tx);
        if network.holds_arrivals && tx.taken(network).accepted < network.capacity.each() {
            network.holds_arrivals = false;
            // A set of descriptors that the process has made fails for no reason that could be mended here.
            let _ = network.sleeper.set().add(network.arrivals.as_fd(), ARRIVALS, Interest::Read);
        }
        if std::mem::take(&mut network.wants_descriptors) {
            self.rest_oldest(network, tx, TcpTx::has_connected);
        }
        if network.holds_arrivals {
            self.rest_oldest(network, tx, TcpTx::has_arrived);
        }
    }

    /// Closes some of the links that were not used for the longest time. Those that are being closed count.
    fn rest_oldest(&mut self, network: &mut Network, tx: &mut Outgoing, is_meant: fn(&TcpTx) -> bool) {
        let now = network.turn();
        let peers = network.peers.clone();
        let mut idle = Vec::new();
        let (mut closing, mut all) = (0, 0);
        for peer in peers {
            let (is_quiet, has_heard) = self.tcp(peer).map_or((false, false), |rx| (rx.is_idle(), rx.has_heard()));
            let Some(tcp) = tx.known_tcp(peer).filter(|tcp| is_meant(tcp)) else { continue };
            all += 1;
            if tcp.has_said_bye() || tcp.has_asked_for_rest() && !has_heard {
                closing += 1;
            } else if is_quiet && tcp.is_idle() {
                idle.push((now.wrapping_sub(tcp.joint().last_use()), peer));
            }
        }
        idle.sort_unstable_by_key(|&(age, _)| std::cmp::Reverse(age));
        for (_, peer) in idle.into_iter().take((all / PART).max(1).saturating_sub(closing)) {
            self.rest(network, tx, peer);
        }
    }

    /// Closes an idle link, or asks its peer to.
    fn rest(&mut self, network: &mut Network, tx: &mut Outgoing, peer: Peer) {
        let Some((has_heard, has_one)) = self.tcp(peer).map(|rx| (rx.has_heard(), rx.sockets() == 1)) else {
            return;
        };
        let Some(tcp) = tx.known_tcp(peer) else { return };
        if !has_one {
            return;
        }
        if tcp.has_arrived() || has_heard {
            tcp.rest();
            network.note_resting(peer);
        } else {
            tcp.ask_for_rest();
        }
        if tcp.wants_room() && !network.busy.contains(&peer) {
            network.busy.push(peer);
        }
    }

    /// Lets go of the links that both sides have closed to let them rest.
    fn close_resting(&mut self, network: &mut Network, tx: &mut Outgoing) {
        for peer in std::mem::take(&mut network.resting) {
            let Some(tcp) = tx.known_tcp(peer).filter(|tcp| tcp.has_said_bye()) else { continue };
            if !tcp.is_over() {
                network.resting.push(peer);
            } else if tcp.joint().rests() {
                *tx.far_entry(peer) = Far::Unopened;
                *self.far_entry(peer) = FarRx::None;
                self.ready.retain(|&known| known != peer);
                network.let_go(peer);
            }
        }
    }
}
