//! The mapping from the ranks of a group to processes.

use oxmpi_base::ids::{Peer, Rank, Slot, WorldRank};
use oxmpi_base::message_queues::{RanksPlace, list_place};
use oxmpi_boot::nodes::NodeTable;
use std::sync::Arc;

/// The mapping from ranks to processes. The kind is the first byte, so that a debugger can read it.
#[derive(Clone, Debug)]
#[repr(u8)]
pub enum Ranks {
    /// The first slots of this node in order: all processes of a job on one node, or some of them.
    OneNode {
        count: u32,
    } = ONE_NODE,
    /// All ranks of a job on several nodes.
    World(Arc<NodeTable>) = WORLD,
    List(Arc<[Peer]>) = LIST,
}

const ONE_NODE: u8 = 0;
const WORLD: u8 = 1;
const LIST: u8 = 2;

impl Ranks {
    /// The first `count` slots of this node, in their order.
    pub fn one_node(count: usize) -> Ranks {
        Ranks::OneNode { count: count as u32 }
    }

    /// Where a debugger finds the processes.
    pub fn place() -> RanksPlace {
        // What `repr(u8)` promises: a variant is a structure of C that begins with the kind.
        let (address, len, skip) = list_place(align_of::<Arc<[Peer]>>(), Peer::at_slot(0));
        let count = align_of::<u32>() as u32;
        RanksPlace { one_node: ONE_NODE.into(), count, world: WORLD.into(), list: LIST.into(), address, len, skip }
    }

    /// The cheapest form for a list of processes.
    pub fn from_list(list: Vec<Peer>) -> Ranks {
        if list.iter().enumerate().all(|(rank, &process)| process == Peer::at_slot(rank)) {
            return Ranks::one_node(list.len());
        }
        Ranks::List(list.into())
    }

    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Ranks::OneNode { count } => *count as usize,
            Ranks::World(nodes) => nodes.size(),
            Ranks::List(list) => list.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The process with this rank. No other code makes a peer from a rank.
    #[inline]
    pub fn peer(&self, rank: Rank) -> Peer {
        match self {
            Ranks::OneNode { .. } => Peer::at_slot(rank.index()),
            Ranks::List(list) => list[rank.index()],
            Ranks::World(nodes) => match WorldRank::new(rank.index()) {
                Some(rank) => nodes.peer(rank),
                None => unreachable!("a rank of the world, which is smaller"),
            },
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Peer> + '_ {
        (0..self.len()).map(|rank| self.peer(Rank::new(rank)))
    }

    /// The same processes in another order, if one is given.
    pub fn ordered(&self, order: Option<&[u32]>) -> Ranks {
        match order {
            None => self.clone(),
            Some(order) => Ranks::from_list(order.iter().map(|&rank| self.peer(Rank::new(rank as usize))).collect()),
        }
    }

    /// The rank of a process, by search. For frequent use, [`Group`](crate::group::Group) has a
    /// table.
    pub fn position(&self, process: Peer) -> Option<usize> {
        match self {
            Ranks::OneNode { count } => process.slot().map(Slot::index).filter(|&rank| rank < *count as usize),
            Ranks::World(nodes) => nodes.rank_of(process).map(WorldRank::index),
            Ranks::List(list) => list.iter().position(|&member| member == process),
        }
    }
}

impl From<Vec<Peer>> for Ranks {
    fn from(list: Vec<Peer>) -> Ranks {
        Ranks::from_list(list)
    }
}
