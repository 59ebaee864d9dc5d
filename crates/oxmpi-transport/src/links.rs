//! All links of a process: how it reaches its peers, and how they reach it. The engine owns the
//! links and knows only what these types tell about a peer, never which memory or network is behind
//! it.
//!
//! The sending and the receiving half are separate, so that a packet can be read from one half
//! while answers go out through the other. Messages to oneself never come here; they stay in the
//! engine. `outgoing.rs` and `incoming.rs` are the halves.

use crate::incoming::Incoming;
use crate::node_memory::NodeMemory;
use crate::outgoing::Outgoing;
use crate::tcp::connect::{Arrivals, Connector};
use oxmpi_base::address::JobId;
use oxmpi_base::ids::{Slot, WorldRank};
use oxmpi_base::own_slot::OwnSlot;
use oxmpi_base::segment::Segment;
use oxmpi_boot::nodes::NodeTable;
use std::io;
use std::sync::Arc;

pub struct Links {
    pub tx: Outgoing,
    pub rx: Incoming,
}

impl Links {
    /// Attaches to a slot of the segment of a job on one node. Each slot can be attached to once.
    pub fn attach(segment: Segment, job: JobId, me: Slot) -> io::Result<Links> {
        let Some(rank) = WorldRank::new(me.index()) else { return Err(io::ErrorKind::InvalidInput.into()) };
        let nodes = NodeTable::one_node(rank, segment.ranks());
        Links::attach_on(segment, job, nodes)
    }

    /// Attaches to the segment of one of a job's nodes, in the slot that the node table names.
    pub fn attach_on(segment: Segment, job: JobId, nodes: NodeTable) -> io::Result<Links> {
        let me = nodes.own_slot();
        let segment = Arc::new(segment);
        let taken = || {
            io::Error::other(format!("slot {} of the job's shared segment is in use, or does not exist", me.index()))
        };
        let mut ends = OwnSlot::claim(Arc::clone(&segment), me.index()).ok_or_else(taken)?;
        let cells = ends.offer_cells().ok_or_else(taken)?;
        let node = NodeMemory::attach(segment, job, nodes);
        Ok(Links { rx: Incoming::new(node.ranks()), tx: Outgoing::new(ends, cells, node) })
    }

    /// As [`Incoming::use_tcp`].
    pub fn use_tcp(&mut self, connector: Box<dyn Connector>, arrivals: Arrivals) -> io::Result<()> {
        self.rx.use_tcp(&mut self.tx, connector, arrivals)
    }

    /// As [`Incoming::use_fabric`].
    pub fn use_fabric(&mut self, provider: Option<&str>) -> Result<String, String> {
        self.rx.use_fabric(&mut self.tx, provider)
    }

    /// The links of one rank of a test, on a node of its own.
    #[cfg(feature = "sim")]
    pub fn attach_alone(ranks: usize, me: usize) -> io::Result<Links> {
        let (_, segment) = Segment::create(1, 1)?;
        let job = JobId { inode: 1, holder: 1, fd: 1, host: 0 };
        let own = WorldRank::new(me).ok_or(io::ErrorKind::InvalidInput)?;
        let places: Vec<_> = (0..ranks as u32).map(|node| (node, 0)).collect();
        let nodes = NodeTable::new(oxmpi_boot::deal::blocks(&places), own, false).map_err(io::Error::other)?;
        Links::attach_on(segment, job, nodes)
    }

    /// The links of one rank of a simulated network, on a node of its own.
    #[cfg(feature = "sim")]
    pub fn attach_sim(network: &crate::sim::Network, me: usize) -> io::Result<Links> {
        let mut links = Links::attach_alone(network.ranks(), me)?;
        for from in (0..network.ranks()).filter(|&from| from != me) {
            links.rx.receive_from_sim(oxmpi_base::ids::Peer::far(from), network.receiver(from, me));
        }
        let sim = network.node(me);
        links.tx.caps.set_sim_part(sim.max_part());
        links.tx.node_mut().sim = Some(sim);
        Ok(links)
    }

    /// The node's memory.
    pub fn node(&self) -> &NodeMemory {
        self.tx.node()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Head;
    use oxmpi_base::arena::Area;
    use oxmpi_base::ids::{NodeId, Peer};
    use oxmpi_boot::deal;
    use std::io::ErrorKind;
    use std::os::fd::AsFd;

    const HEAD: Head = Head { kind: 1, flags: 0, context: 8, tag: 3, source: 5, aux: 0 };

    /// Three ranks on two pretended nodes, assigned cyclically: ranks 0 and 2 share memory, rank 1
    /// is alone.
    fn ranks() -> Vec<Links> {
        let (fd, segment) = Segment::create(3, 1).unwrap();
        let places = deal::slots_of_one_segment(&[0, 1, 0]);
        let table = NodeTable::new(deal::blocks(&places), WorldRank::FIRST, true).unwrap();
        table.store(&segment).unwrap();
        let attach = |rank: usize| {
            let mapped = Segment::attach(fd.as_fd()).unwrap();
            let nodes = NodeTable::load(&mapped, WorldRank::new(rank).unwrap()).unwrap();
            Links::attach_on(mapped, JobId { inode: 1, holder: 1, fd: 1, host: 0 }, nodes).unwrap()
        };
        (0..3).map(attach).collect()
    }

    /// Sends a word; returns the receiver's name for the sender.
    fn send(all: &mut [Links], from: usize, to: usize) -> Peer {
        let peer = all[from].node().nodes().peer(WorldRank::new(to).unwrap());
        let word = (10 * from + to) as u64;
        all[from].tx.send_control(peer, &HEAD, &[0, 0, word, 0]).unwrap();
        let Links { tx, rx } = &mut all[to];
        let senders: Vec<Peer> = (0..rx.senders(tx)).filter_map(|index| rx.sender(index)).collect();
        let sender = senders.into_iter().find(|&sender| rx.next(sender).is_some()).unwrap();
        let packet = rx.next(sender).unwrap();
        assert_eq!((packet.head(), packet.word(2)), (HEAD, word));
        let size = packet.size();
        rx.pop(sender, size, tx.node());
        sender
    }

    #[test]
    fn only_messages_go_between_pretended_nodes() {
        let mut all = ranks();
        for (from, to) in [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1), (0, 1), (2, 1)] {
            let sender = send(&mut all, from, to);
            let node = all[to].node();
            assert_eq!(sender, node.nodes().peer(WorldRank::new(from).unwrap()));
            let apart = from == 1 || to == 1;
            assert_eq!((sender.is_far(), node.shares_memory(sender)), (apart, !apart));
            assert!(!node.is_foreign(sender));
            let id = node.id_of(sender);
            assert_eq!(id.node, NodeId::new(u32::from(from == 1)));
            assert_eq!(all[to].tx.node_mut().peer_at(id).unwrap(), sender);
        }
        // Rank 2 has the second slot, because the slots of a node are contiguous.
        assert_eq!(all[2].node().slot().index(), 1);
        let (near, far) = (Peer::at_slot(1), Peer::far(1));
        let area = all[0].tx.node_mut().allocate(64).unwrap();
        let nowhere = Area { offset: area.offset, bytes: area.bytes };
        assert!(all[2].node().map(Peer::at_slot(0), area).is_ok());
        assert_eq!(all[0].node().map(far, nowhere).err().map(|error| error.kind()), Some(ErrorKind::Unsupported));
        let mut word = 7u64;
        let here = [((&raw mut word).expose_provenance(), 8)];
        assert_eq!(all[0].node().copy_from(far, &here, &here).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(all[0].node().copy_to(far, &here, &here).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(all[0].node().cpu_of(far), None);
        assert!(all[0].node().shares_memory(near));
    }
}
