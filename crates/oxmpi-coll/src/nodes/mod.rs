//! Collective operations of ranks on several nodes: plans that are composed of plans within nodes and plans between them, so
//! that little goes over the network, few messages wait for each other there, and all processes of a node share the work.
//!
//! A stage is an operation of a few ranks (those of a node, or one rank of each node) and takes the algorithm that the table has
//! for so many ranks. Which composition an operation takes is decided in the table too ([`crate::choose`]). Nothing here may
//! depend on anything but the shape of the operation and the [`NodeMap`], which all ranks have alike.
//!
//! `moves.rs` has the operations that only move data, `exchange.rs` the all-to-all, `uneven.rs` those whose ranks know only their
//! own lengths, `combine.rs` the reductions, `cost.rs` what they cost.

mod combine;
mod cost;
mod exchange;
mod map;
mod moves;
mod uneven;

pub use cost::{Cluster, Figures, figures, seconds};
pub use map::NodeMap;
pub use uneven::{Question, UnitBytes, answer, question};

use crate::choose::{Facts, NodeWay, Shape};
use crate::operation::{Operation, plan_in_segments};
use crate::plan::Plan;
use crate::reduce_scatter::{self, Counts};

/// The bytes of a segment between nodes: each has costs of its own, of which the network has more than shared memory.
const SEGMENT: u64 = 512 << 10;

/// The plan of a rank. `None` if the operation cannot be done in this way, or has to ask first ([`question`]). `unit_bytes`: as
/// in [`crate::operation::plan`].
pub fn plan(operation: &Operation, way: NodeWay, rank: u32, map: &NodeMap, unit_bytes: u64) -> Option<Plan> {
    if !operation.allows_over_nodes(way, map) {
        return None;
    }
    let here = Here::new(map, rank, unit_bytes);
    use NodeWay::{Leaders, Pipeline, Slices};
    let plan = match (*operation, way) {
        (Operation::Barrier, Leaders) => moves::barrier(&here),
        (Operation::Bcast { root, units }, Leaders) => moves::bcast(&here, root, units),
        (Operation::Bcast { root, units }, Pipeline) => moves::bcast_pipeline(&here, root, units),
        (Operation::Gather { root, in_place }, Leaders) => moves::gather(&here, root, in_place),
        (Operation::Scatter { root, in_place }, Leaders) => moves::scatter(&here, root, in_place),
        (Operation::Allgather { in_place }, Leaders) => moves::allgather(&here, in_place, 1, UNITS),
        (Operation::Allgather { in_place }, Slices) => moves::allgather_slices(&here, in_place, 1, UNITS),
        (Operation::Allgatherv { in_place, send, recv }, Leaders) => moves::allgather(&here, in_place, send, recv),
        (Operation::Allgatherv { in_place, send, recv }, Slices) => {
            moves::allgather_slices(&here, in_place, send, recv)
        }
        (Operation::Alltoall { in_place }, Leaders) => exchange::alltoall(&here, in_place),
        (Operation::Reduce { root, units, commutes, in_place }, Leaders) => {
            combine::reduce(&here, root, units, commutes, in_place)
        }
        (Operation::Allreduce { units, commutes, in_place }, Leaders) => {
            combine::allreduce(&here, units, commutes, in_place)
        }
        (Operation::Allreduce { units, commutes, in_place }, Slices) => {
            combine::allreduce_slices(&here, units, commutes, in_place)
        }
        (Operation::ReduceScatter { counts, commutes, in_place }, Leaders) => {
            combine::reduce_scatter(&here, counts, commutes, in_place)
        }
        (Operation::ReduceScatter { counts, commutes, in_place }, Slices) => {
            combine::reduce_scatter_slices(&here, counts, commutes, in_place)
        }
        (Operation::Scan { units, in_place }, Leaders) => combine::scan(&here, units, in_place),
        (Operation::Exscan { units, in_place }, Leaders) => combine::exscan(&here, units, in_place),
        _ => return None,
    };
    Some(plan)
}

const UNITS: crate::plan::Blocks<'static> = crate::plan::Blocks::Units;

impl Operation<'_> {
    /// What the table looks at, where the ranks are on several nodes; as [`Operation::shape`].
    pub fn shape_over_nodes(&self, map: &NodeMap, unit_bytes: u64) -> Shape {
        let shape = self.shape(map.ranks(), unit_bytes);
        let shared = Facts::SHARED_NODES.when(map.most() > 1);
        let keeps = Facts::KEEPS_ORDER.when(map.is_in_order() || self.commutes());
        let apart = Facts::APART.when(matches!(self, Operation::Alltoall { in_place: false }));
        Shape { nodes: map.nodes(), facts: shape.facts.and(shared).and(keeps).and(apart), ..shape }
    }

    /// Whether this way gives the right result. What does not commute needs nodes whose ranks are in a row.
    pub fn allows_over_nodes(&self, way: NodeWay, map: &NodeMap) -> bool {
        let keeps_order = map.is_in_order() || self.commutes();
        let exists = match self {
            Operation::Barrier | Operation::Gather { .. } | Operation::Scatter { .. } | Operation::Alltoall { .. } => {
                way == NodeWay::Leaders
            }
            Operation::Bcast { .. } => way != NodeWay::Slices,
            Operation::Allgather { .. }
            | Operation::Allgatherv { .. }
            | Operation::Allreduce { .. }
            | Operation::ReduceScatter { .. } => way != NodeWay::Pipeline,
            Operation::Reduce { .. } | Operation::Scan { .. } | Operation::Exscan { .. } => way == NodeWay::Leaders,
            // By a question.
            Operation::Gatherv { .. } | Operation::Scatterv { .. } | Operation::Alltoallv { .. } => false,
        };
        exists && keeps_order
    }
}

/// A rank as the planners of this module see it.
struct Here<'a> {
    map: &'a NodeMap,
    rank: u32,
    node: u32,
    /// The rank's number on its node, and how many ranks that has.
    index: u32,
    size: u32,
    unit_bytes: u64,
}

impl<'a> Here<'a> {
    fn new(map: &'a NodeMap, rank: u32, unit_bytes: u64) -> Here<'a> {
        let (node, index) = map.place(rank);
        Here { map, rank, node, index, size: map.size(node), unit_bytes }
    }

    fn nodes(&self) -> u32 {
        self.map.nodes()
    }

    /// The plan of this rank in an operation of the ranks of its node.
    fn within(&self, operation: &Operation) -> Plan {
        let segment = crate::operation::segment_units(self.unit_bytes);
        stage(operation, self.index, self.size, self.unit_bytes, segment).among(|index| self.map.rank(self.node, index))
    }

    /// The plan of this rank in a reduce-scatter of the ranks of its node. Each operand goes straight to the rank that combines
    /// it, so that a long vector needs no second place for all of it.
    fn scatter_within(&self, counts: &[u64], commutes: bool) -> Plan {
        reduce_scatter::pairwise(self.index, self.size, Counts::Given(counts), commutes, false)
            .among(|index| self.map.rank(self.node, index))
    }

    /// The plan of this rank in an operation of one rank of each node; `name` tells which.
    fn between(&self, operation: &Operation, name: impl Fn(u32) -> u32) -> Plan {
        stage(operation, self.node, self.nodes(), self.unit_bytes, self.segment()).among(name)
    }

    /// The first rank of a node.
    fn leader(&self, node: u32) -> u32 {
        self.map.rank(node, 0)
    }

    /// How many slices there are where every rank has one: nodes of different sizes have ranks without.
    fn slices(&self) -> u32 {
        self.map.least()
    }

    fn segment(&self) -> u64 {
        (SEGMENT / self.unit_bytes.max(1)).max(1)
    }
}

/// The plan of one of `size` ranks by the algorithm that the table has for them.
fn stage(operation: &Operation, rank: u32, size: u32, unit_bytes: u64, segment: u64) -> Plan {
    let algorithm = operation.shape(size, unit_bytes).choose().take;
    match plan_in_segments(operation, algorithm, rank, size, segment) {
        Some(plan) => plan,
        None => unreachable!("the table has only what there is"),
    }
}

/// A tree of nodes and their leaders in an operation with a root: the root speaks for its own node.
struct Rooted<'a> {
    here: &'a Here<'a>,
    root: u32,
    /// The root's node and its number there.
    home: u32,
    place: u32,
}

impl<'a> Rooted<'a> {
    fn new(here: &'a Here<'a>, root: u32) -> Rooted<'a> {
        let (home, place) = here.map.place(root);
        Rooted { here, root, home, place }
    }

    fn leader(&self, node: u32) -> u32 {
        if node == self.home { self.root } else { self.here.leader(node) }
    }

    /// The number of this node's leader there.
    fn top(&self) -> u32 {
        if self.here.node == self.home { self.place } else { 0 }
    }

    fn leads(&self) -> bool {
        self.here.index == self.top()
    }

    fn is_root(&self) -> bool {
        self.here.rank == self.root
    }

    /// This node, counted from the root's.
    fn relative(&self) -> u32 {
        crate::tree::before(self.here.node, self.home, self.here.nodes())
    }

    /// A node that is counted from the root's.
    fn node(&self, relative: u32) -> u32 {
        crate::tree::after(relative, self.home, self.here.nodes())
    }
}
