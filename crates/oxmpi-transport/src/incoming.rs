//! The receiving half of the links: which peers send to this process, and the packets that have come from each.
//!
//! A sender sets its bit in the receiver's doorbell once; the receiver polls the rings of all
//! senders whose bit is set. Senders of other jobs ring a doorbell of their own (`foreign.rs`).

use crate::far::FarRx;
use crate::foreign::SenderRing;
use crate::node_memory::NodeMemory;
use crate::outgoing::Outgoing;
use crate::packet::{Packet, PacketSize};
use crate::table::FarTable;
use crate::tcp::TcpRx;
use oxmpi_base::ids::Peer;
use oxmpi_base::ring::Consumer;
use std::sync::atomic::Ordering::Relaxed;

pub struct Incoming {
    local: Box<[Option<Box<Consumer>>]>,
    far: FarTable<FarRx>,
    /// Peers that ever sent something here, in the order of their detection.
    senders: Vec<Peer>,
    doorbell_seen: Vec<u64>,
    /// The last value of the foreign senders' doorbell.
    foreign_heard: u64,
    /// The foreign senders with a ring to this rank.
    pub(crate) sender_rings: Vec<SenderRing>,
    /// Peers that sent an invalid packet. Nothing more is read from them.
    refused: Vec<Peer>,
    /// There are links between nodes, so that every turn looks for news of far peers.
    pub(crate) polls_network: bool,
    /// Peers of other nodes that may have sent something.
    pub(crate) ready: Vec<Peer>,
    /// The link that was read last; it keeps its buffer.
    pub(crate) last_read: Option<Peer>,
    /// Peers whose links are broken, of which the program is told a little later.
    pub(crate) breaking: Vec<Peer>,
}

impl Incoming {
    pub(crate) fn new(ranks: usize) -> Incoming {
        Incoming {
            local: (0..ranks).map(|_| None).collect(),
            far: FarTable::default(),
            senders: Vec::new(),
            doorbell_seen: vec![0; ranks.div_ceil(64)],
            foreign_heard: 0,
            sender_rings: Vec::new(),
            refused: Vec::new(),
            polls_network: false,
            ready: Vec::new(),
            last_read: None,
            breaking: Vec::new(),
        }
    }

    /// How many peers ever sent something here; [`Incoming::sender`]`(0..)` are those peers.
    #[inline]
    pub fn senders(&mut self, tx: &mut Outgoing) -> usize {
        #[cfg(feature = "sim")]
        if let Some(sim) = &tx.node().sim {
            sim.take_turn();
            // Who is about to sleep gives up its turn instead: nothing but a turn moves packets.
            tx.node().wake(tx.own());
        }
        let node = tx.node();
        let bells = node.segment().doorbell(node.slot().index());
        if bells.iter().zip(&self.doorbell_seen).any(|(bell, seen)| bell.load(Relaxed) != *seen) {
            self.admit(tx);
        }
        self.senders.len()
    }

    #[inline]
    pub fn sender(&self, index: usize) -> Option<Peer> {
        self.senders.get(index).copied()
    }

    #[cold]
    fn admit(&mut self, tx: &mut Outgoing) {
        let me = tx.node().slot().index();
        for word in 0..self.doorbell_seen.len() {
            let rung = tx.node().segment().doorbell(me)[word].load(Relaxed);
            let mut new = rung & !self.doorbell_seen[word];
            self.doorbell_seen[word] = rung;
            while new != 0 {
                let slot = word * 64 + new.trailing_zeros() as usize;
                new &= new - 1;
                // A bit that belongs to no rank, or that is set twice, comes from a faulty peer.
                if let Some(rx) = tx.consumer(slot) {
                    self.receive_from(tx.node().peer_in_slot(slot), Box::new(rx));
                }
            }
        }
    }

    /// Whether foreign senders came or left since [`Incoming::see_foreign_senders`].
    #[inline]
    pub fn has_foreign_news(&self, node: &NodeMemory) -> bool {
        node.segment().foreign_bell(node.slot().index()).load(Relaxed) != self.foreign_heard
    }

    pub(crate) fn heard_foreign(&mut self, rung: u64) {
        // With a network there are always news, so that a process without one does not have to look for it.
        self.foreign_heard = if self.polls_network { rung.wrapping_sub(1) } else { rung };
    }

    pub(crate) fn has_receiver(&self, peer: Peer) -> bool {
        match peer.slot() {
            Some(slot) => self.local.get(slot.index()).is_some_and(Option::is_some),
            None => self.far.get(peer).is_some_and(FarRx::is_open),
        }
    }

    /// Packets of a peer come through this ring from now on.
    pub(crate) fn receive_from(&mut self, peer: Peer, rx: Box<Consumer>) {
        match peer.slot() {
            Some(slot) => self.local[slot.index()] = Some(rx),
            None => *self.far.at(peer) = FarRx::Ring(rx),
        }
        self.senders.push(peer);
    }

    pub(crate) fn far_entry(&mut self, peer: Peer) -> &mut FarRx {
        self.far.at(peer)
    }

    /// The receiving end of a link between nodes.
    pub(crate) fn tcp(&mut self, peer: Peer) -> Option<&mut TcpRx> {
        match self.far.at(peer) {
            FarRx::Tcp(rx) => Some(rx),
            _ => None,
        }
    }

    #[cfg(feature = "sim")]
    pub(crate) fn receive_from_sim(&mut self, peer: Peer, rx: crate::sim::SimRx) {
        *self.far.at(peer) = FarRx::Sim(rx);
        self.senders.push(peer);
    }

    /// Stops reading from a peer that sent an invalid packet.
    pub fn refuse(&mut self, peer: Peer) {
        self.receive_no_more_from(peer);
        self.refused.push(peer);
    }

    /// Whether `peer` wrote something to its ring that is no packet, or was
    /// [refused](Incoming::refuse).
    pub(crate) fn is_ring_broken(&self, peer: Peer) -> bool {
        if self.refused.contains(&peer) {
            return true;
        }
        match peer.slot() {
            Some(slot) => self.local.get(slot.index()).and_then(Option::as_ref).is_some_and(|rx| rx.is_broken()),
            None => self.far.get(peer).is_some_and(FarRx::is_broken),
        }
    }

    /// Reads nothing more from a process that has ended.
    pub fn close(&mut self, peer: Peer) {
        self.receive_no_more_from(peer);
    }

    pub(crate) fn receive_no_more_from(&mut self, peer: Peer) {
        match peer.slot() {
            Some(slot) => self.local[slot.index()] = None,
            None => *self.far.at(peer) = FarRx::None,
        }
        self.senders.retain(|&sender| sender != peer);
        self.ready.retain(|&ready| ready != peer);
        self.breaking.retain(|&broken| broken != peer);
    }

    /// Drops the entry of a far peer.
    pub(crate) fn forget(&mut self, peer: Peer) {
        self.far.forget(peer);
        self.refused.retain(|&refused| refused != peer);
        self.ready.retain(|&ready| ready != peer);
        self.breaking.retain(|&broken| broken != peer);
    }

    /// The next packet from `peer`; it stays the next one until [`Incoming::pop`].
    #[inline]
    pub fn next(&mut self, peer: Peer) -> Option<Packet<'_>> {
        let packet = match peer.slot() {
            Some(slot) => self.local[slot.index()].as_mut()?.peek()?,
            None => self.far.at(peer).peek()?,
        };
        // SAFETY: the link has compared the length with what it holds. The sender writes the cells
        // again only after `pop`, which cannot be called while the packet borrows this end.
        Some(unsafe { Packet::new(packet) })
    }

    /// Whether `peer` is a rank on this node from which no packet has come.
    #[inline(always)]
    pub fn is_empty(&self, peer: Peer) -> bool {
        let ring = peer.slot().and_then(|slot| self.local.get(slot.index())?.as_deref());
        ring.is_some_and(|ring| !ring.has_next())
    }

    /// The next packet from a rank on this node, if it is there or comes within so many looks. It
    /// looks at nothing else meanwhile.
    #[inline(always)]
    pub fn await_local(&mut self, peer: Peer, looks: usize) -> Option<Packet<'_>> {
        let rx = self.local.get_mut(peer.slot()?.index())?.as_deref_mut()?;
        for _ in 0..looks {
            if rx.has_next() {
                // SAFETY: as in `next`: the ring has compared the length with what it holds, and
                // the packet borrows this end, so `pop` cannot be called while it is used.
                return rx.peek().map(|packet| unsafe { Packet::new(packet) });
            }
            std::hint::spin_loop();
        }
        None
    }

    /// Returns the cells of the last packet from `peer` to it.
    #[inline(always)]
    pub fn pop(&mut self, peer: Peer, size: PacketSize, node: &NodeMemory) {
        let is_awaited = match peer.slot() {
            Some(slot) => self.local[slot.index()].as_mut().is_some_and(|rx| rx.advance(size.cells)),
            None => self.far.at(peer).advance(size.cells),
        };
        if is_awaited {
            // The peer may sleep until there is room.
            node.wake(peer);
        }
    }

    /// Asks `peer` for offers instead of messages that we would have to store, or lifts that.
    pub fn set_pressure(&mut self, peer: Peer, on: bool) {
        match peer.slot() {
            Some(slot) => self.local[slot.index()].iter().for_each(|rx| rx.set_pressure(on)),
            None => self.far.at(peer).set_pressure(on),
        }
    }
}
