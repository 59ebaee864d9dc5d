//! The description of a mixed program. Numbers that name something (a communicator, a rank) are
//! taken modulo how many there are, so that a program without some of its steps is still a program.

use super::file::FileUse;
use super::window::WindowUse;
use crate::world::Ground;
use oxmpi_transport::sim::{Faults, Network};

#[derive(Clone, Debug)]
pub struct Program {
    pub ground: GroundKind,
    pub ranks: usize,
    /// Determines the faults of a simulated network.
    pub seed: u64,
    /// A rank that dies, and at which turn; only on a simulated network.
    pub death: Option<(usize, u64)>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug)]
pub enum GroundKind {
    Sim,
    /// Shared memory with so many nodes, to which ranks are assigned cyclically or in blocks.
    Shm {
        nodes: u32,
        in_turn: bool,
        single_copy: bool,
    },
}

#[derive(Clone, Debug)]
pub enum Step {
    Message(Message),
    Collective(Collective),
    /// Makes a new communicator from an existing one.
    Make {
        comm: usize,
        how: Make,
    },
    Free {
        comm: usize,
    },
    /// A window is made, used and freed.
    Window(WindowUse),
    /// A file is opened, used and closed.
    File(FileUse),
}

/// A message whose send and receive are started in the step, and waited for so many steps later.
#[derive(Clone, Debug)]
pub struct Message {
    pub comm: usize,
    pub from: usize,
    pub to: usize,
    pub units: usize,
    pub synchronous: bool,
    /// Received from any source, with a tag that no other message has.
    pub any_source: bool,
    /// The layouts of its two sides: see [`Layout`](super::strip::Layout).
    pub layouts: u32,
    pub later: usize,
}

#[derive(Clone, Debug)]
pub struct Collective {
    pub comm: usize,
    pub kind: Kind,
    pub form: Form,
    pub root: usize,
    /// Units of a block, or the maximum if blocks differ.
    pub count: usize,
    pub op: Op,
    /// Two bits for every rank.
    pub layouts: u32,
    pub in_place: bool,
    /// Determines how blocks differ.
    pub spread: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Alltoallw,
    Reduce,
    Allreduce,
    ReduceScatterBlock,
    ReduceScatter,
    Scan,
    Exscan,
}

pub const KINDS: [Kind; 17] = [
    Kind::Barrier,
    Kind::Bcast,
    Kind::Gather,
    Kind::Gatherv,
    Kind::Scatter,
    Kind::Scatterv,
    Kind::Allgather,
    Kind::Allgatherv,
    Kind::Alltoall,
    Kind::Alltoallv,
    Kind::Alltoallw,
    Kind::Reduce,
    Kind::Allreduce,
    Kind::ReduceScatterBlock,
    Kind::ReduceScatter,
    Kind::Scan,
    Kind::Exscan,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Blocking,
    /// Waited for so many steps later.
    Nonblocking {
        later: usize,
    },
    /// Started twice.
    Persistent,
}

/// An operation on pairs of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Sum,
    Max,
    Bxor,
    MinLoc,
    /// User-defined; commutes.
    UserSum,
    /// User-defined; does not commute: the pairs are functions `x -> a * x + b`, which it composes.
    Compose,
}

#[derive(Clone, Debug)]
pub enum Make {
    Dup,
    /// By colors and keys derived from the number; some ranks have no color.
    Split {
        spread: u32,
    },
    /// The ranks whose bits are set, in reverse order if the lowest bit is not.
    Group {
        members: u32,
    },
    /// `MPI_Comm_split` in two, and an intercommunicator of the two.
    Inter {
        spread: u32,
    },
}

impl Program {
    pub fn ground(&self) -> Ground {
        match self.ground {
            GroundKind::Sim => {
                let faults = Faults { death: self.death, ..Faults::from_seed(self.seed) };
                Ground::Sim(Network::with_faults(self.seed, self.ranks, faults))
            }
            GroundKind::Shm { single_copy, .. } => Ground::Shm { nodes: self.nodes(), single_copy },
        }
    }

    /// The node of every rank.
    pub fn nodes(&self) -> Vec<u32> {
        let ranks = self.ranks as u32;
        match self.ground {
            GroundKind::Sim => (0..ranks).collect(),
            GroundKind::Shm { nodes, in_turn: true, .. } => {
                (0..ranks).map(|rank| rank % nodes.clamp(1, ranks)).collect()
            }
            GroundKind::Shm { nodes, .. } => {
                let each = ranks.div_ceil(nodes.clamp(1, ranks));
                (0..ranks).map(|rank| rank / each).collect()
            }
        }
    }

    /// The rank that dies, if one does.
    pub fn dead(&self) -> Option<usize> {
        match self.ground {
            GroundKind::Sim => self.death.map(|(rank, _)| rank % self.ranks),
            GroundKind::Shm { .. } => None,
        }
    }
}

/// A hash of numbers, the same on all ranks.
pub fn mix(a: u32, b: usize, c: usize) -> u32 {
    let mut z = u64::from(a) ^ (b as u64) << 20 ^ (c as u64) << 44;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as u32
}
