//! The receiving half of the links: which peers send to this process, and the packets that have come from each.
//!
//! A sender marks itself, once, in the receiver's doorbell; the receiver polls the rings of those that ever rang. Senders
//! of other jobs ring a bell of their own (`foreign.rs`).

use crate::foreign::SenderRing;
use crate::node_memory::NodeMemory;
use crate::outgoing::Outgoing;
use crate::packet::{Packet, PacketSize};
use crate::table::PeerTable;
use oxmpi_base::ids::Peer;
use oxmpi_base::ring::Consumer;
use std::sync::atomic::Ordering::Relaxed;

pub struct Incoming {
    ends: PeerTable<Option<Box<Consumer>>>,
    /// Peers that ever sent something here, in the order in which they were noticed.
    senders: Vec<Peer>,
    doorbell_seen: Vec<u64>,
    /// What foreign senders have told so far.
    foreign_heard: u64,
    /// The foreign senders with a ring to this rank.
    pub(crate) sender_rings: Vec<SenderRing>,
    /// Peers that sent what makes no sense, from whom nothing more is read.
    refused: Vec<Peer>,
}

impl Incoming {
    pub(crate) fn new(ranks: usize) -> Incoming {
        Incoming {
            ends: PeerTable::new(ranks),
            senders: Vec::new(),
            doorbell_seen: vec![0; ranks.div_ceil(64)],
            foreign_heard: 0,
            sender_rings: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// How many peers ever sent something here; their numbers are [`Shm::sender`]`(0..)`.
    #[inline]
    pub fn senders(&mut self, tx: &mut Outgoing) -> usize {
        let me = tx.node().slot().index();
        for word in 0..self.doorbell_seen.len() {
            let rung = tx.node().segment().doorbell(me)[word].load(Relaxed);
            if rung != self.doorbell_seen[word] {
                self.admit(word, rung, tx);
            }
        }
        self.senders.len()
    }

    #[inline]
    pub fn sender(&self, index: usize) -> Peer {
        self.senders[index]
    }

    #[cold]
    fn admit(&mut self, word: usize, rung: u64, tx: &mut Outgoing) {
        let mut new = rung & !self.doorbell_seen[word];
        self.doorbell_seen[word] = rung;
        while new != 0 {
            let slot = word * 64 + new.trailing_zeros() as usize;
            new &= new - 1;
            // A bit that is none of a rank, or comes again, was set by no peer that follows the rules.
            if let Some(rx) = tx.consumer(slot) {
                self.receive_from(tx.node().peer_in_slot(slot), Box::new(rx));
            }
        }
    }

    /// Whether foreign senders came or left since [`Incoming::see_foreign_senders`].
    #[inline]
    pub fn has_foreign_news(&self, node: &NodeMemory) -> bool {
        node.segment().foreign_bell(node.slot().index()).load(Relaxed) != self.foreign_heard
    }

    pub(crate) fn heard_foreign(&mut self, rung: u64) {
        self.foreign_heard = rung;
    }

    pub(crate) fn has_receiver(&self, peer: Peer) -> bool {
        self.ends.get(peer).is_some_and(Option::is_some)
    }

    pub(crate) fn receive_from(&mut self, peer: Peer, rx: Box<Consumer>) {
        *self.ends.at(peer) = Some(rx);
        self.senders.push(peer);
    }

    /// Reads nothing more from a peer whose packets make no sense.
    pub fn refuse(&mut self, peer: Peer) {
        self.receive_no_more_from(peer);
        self.refused.push(peer);
    }

    /// Whether `peer` wrote something to its ring that cannot be a packet, or is [refused](Incoming::refuse).
    pub(crate) fn is_ring_broken(&self, peer: Peer) -> bool {
        if self.refused.contains(&peer) {
            return true;
        }
        self.ends.get(peer).and_then(Option::as_ref).is_some_and(|rx| rx.is_broken())
    }

    pub(crate) fn receive_no_more_from(&mut self, peer: Peer) {
        *self.ends.at(peer) = None;
        self.senders.retain(|&sender| sender != peer);
    }

    /// Forgets a far peer of which nothing is known any more.
    pub(crate) fn forget(&mut self, peer: Peer) {
        self.ends.forget(peer);
        self.refused.retain(|&refused| refused != peer);
    }

    /// The next packet from `peer`, which stays the next one until [`Incoming::pop`].
    #[inline]
    pub fn next(&mut self, peer: Peer) -> Option<Packet<'_>> {
        let packet = self.ends.at(peer).as_mut()?.peek()?;
        // SAFETY: the ring has compared the length with what it holds, and its sender writes the cells again only after
        // `pop`, which needs this end while the packet borrows it.
        Some(unsafe { Packet::new(packet) })
    }

    /// Gives the packet that came last from `peer` back to it.
    #[inline]
    pub fn pop(&mut self, peer: Peer, size: PacketSize, node: &NodeMemory) {
        let Some(rx) = self.ends.at(peer).as_mut() else { return };
        if rx.advance(size.cells) {
            // It may sleep until there is room.
            node.wake(peer);
        }
    }

    /// Asks `peer` to send nothing that we would have to store, or lifts that.
    pub fn set_pressure(&mut self, peer: Peer, on: bool) {
        if let Some(rx) = self.ends.at(peer) {
            rx.set_pressure(on);
        }
    }
}
