//! What operations over nodes cost: a sum over the stages of a composition, each by the formula of its algorithm
//! ([`crate::cost`]), and figures that are read off the plans of a few ranks. For regular placements and root 0.

use super::{NodeMap, SEGMENT};
use crate::choose::{Algorithm, NodeWay};
use crate::cost::{Model, Work, work};
use crate::gather::BATCH;
use crate::operation::Operation;
use crate::plan::Step;
use crate::reduce_scatter::Counts;
use crate::tree::log2_ceil;

/// Nodes with a network between them.
#[derive(Clone, Copy, Debug)]
pub struct Cluster {
    pub within: Model,
    /// The bandwidth is that of a node, which its ranks share.
    pub between: Model,
}

impl Cluster {
    /// TCP over Ethernet, and a fast network.
    pub const TCP: Cluster =
        Cluster { within: Model::NODE, between: Model { latency: 5e-6, bandwidth: 4e9, reduction: 12e9 } };
    pub const FAST: Cluster = Cluster { within: Model::NODE, between: Model::NETWORK };

    fn seconds(&self, part: &Part, unit_bytes: u64) -> f64 {
        match part.sharers {
            0 => self.within.seconds(part.work, unit_bytes),
            sharers => {
                let path = part.work.path.saturating_mul(sharers.into());
                self.between.seconds(Work { path, ..part.work }, unit_bytes)
            }
        }
    }
}

/// A part of an operation: so many ranks of a node use its network at the same time, or none.
struct Part {
    sharers: u32,
    work: Work,
}

/// How long an operation takes by an algorithm; `None` where there is no formula.
pub fn seconds(
    operation: &Operation,
    algorithm: Algorithm,
    map: &NodeMap,
    unit_bytes: u64,
    cluster: &Cluster,
) -> Option<f64> {
    let parts = parts(operation, algorithm, map, unit_bytes)?;
    Some(parts.iter().map(|part| cluster.seconds(part, unit_bytes)).sum())
}

/// What an operation asks of ranks and nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Messages one after the other, between nodes and within them.
    pub depth_between: u64,
    pub depth_within: u64,
    /// The most messages that a rank sends, and those that the ranks of a node send to other nodes.
    pub messages: u64,
    pub messages_of_node: u64,
    /// The most units that a node sends to other nodes.
    pub sent_by_node: u64,
    /// The most units of `Temp` that a rank needs.
    pub temp: u64,
}

/// The figures of an operation; messages and memory are those of the ranks of some nodes.
pub fn figures(operation: &Operation, algorithm: Algorithm, map: &NodeMap, unit_bytes: u64) -> Option<Figures> {
    let mut found = Figures::default();
    for part in parts(operation, algorithm, map, unit_bytes)? {
        match part.sharers {
            0 => found.depth_within += part.work.rounds,
            _ => found.depth_between += part.work.rounds,
        }
    }
    let nodes = [0, 1, map.nodes() / 2, map.nodes() - 1];
    for node in nodes {
        let (mut messages_of_node, mut sent_by_node) = (0, 0);
        for rank in map.members(node) {
            let plan = match algorithm {
                Algorithm::OverNodes(way) => super::plan(operation, way, rank, map, unit_bytes)?,
                _ => crate::operation::plan(operation, algorithm, rank, map.ranks(), unit_bytes)?,
            };
            let mut messages = 0;
            for step in &plan.steps {
                let Step::Send { to, piece } = step else { continue };
                messages += 1;
                if map.place(*to).0 != node {
                    messages_of_node += 1;
                    sent_by_node += piece.count;
                }
            }
            found.messages = found.messages.max(messages);
            found.temp = found.temp.max(plan.temp);
        }
        found.messages_of_node = found.messages_of_node.max(messages_of_node);
        found.sent_by_node = found.sent_by_node.max(sent_by_node);
    }
    Some(found)
}

fn parts(operation: &Operation, algorithm: Algorithm, map: &NodeMap, unit_bytes: u64) -> Option<Vec<Part>> {
    let Algorithm::OverNodes(way) = algorithm else {
        let work = work(operation, algorithm, map.ranks(), unit_bytes)?;
        // All ranks send to other nodes at the same time, unless one has the data or passes it on.
        let one =
            algorithm == Algorithm::Chain || matches!(operation, Operation::Gather { .. } | Operation::Scatter { .. });
        return Some(vec![Part { sharers: if one { 1 } else { map.most() }, work }]);
    };
    if !operation.allows_over_nodes(way, map) {
        return None;
    }
    let (nodes, size, slices) = (u64::from(map.nodes()), u64::from(map.most()), u64::from(map.least()));
    let all = u64::from(map.ranks());
    let chosen = |operation: Operation, ranks: u32| {
        let algorithm = operation.shape(ranks, unit_bytes).choose().take;
        work(&operation, algorithm, ranks, unit_bytes)
    };
    let within = |operation: Operation| Some(Part { sharers: 0, work: chosen(operation, map.most())? });
    let between = |sharers: u32, operation: Operation| Some(Part { sharers, work: chosen(operation, map.nodes())? });
    let moved = |sharers: u32, rounds: u64, path: u64| {
        Some(Part { sharers, work: Work { rounds, sent: path, path, reduced: 0 } })
    };
    // Each rank of a node combines so many units.
    let scattered = |units: u64| {
        let path = (size - 1) * units;
        Some(Part { sharers: 0, work: Work { rounds: size - 1, sent: path, path, reduced: path } })
    };
    let slice = |units: u64| units.div_ceil(slices);
    let up = |ranks: u32| u64::from(log2_ceil(ranks));
    use NodeWay::{Leaders, Pipeline, Slices};
    let parts = match (*operation, way) {
        (Operation::Barrier, _) => [moved(0, 2 * up(map.most()), 0), between(1, Operation::Barrier), None],
        (Operation::Bcast { units, .. }, Pipeline) => {
            let segment = (SEGMENT / unit_bytes.max(1)).clamp(1, units.max(1));
            let chain = moved(1, nodes - 2 + units.div_ceil(segment), units + (nodes - 2) * segment);
            [chain, moved(0, size - 1, (size - 1) * segment), None]
        }
        (Operation::Bcast { .. }, _) => [between(1, *operation), within(*operation), None],
        (Operation::Gather { .. } | Operation::Scatter { .. }, _) => {
            [moved(0, size - 1, size - 1), moved(1, up(map.nodes()), all - size), None]
        }
        (Operation::Allgather { .. }, Leaders) => {
            let doubles = super::moves::doubles(map.nodes(), all * unit_bytes);
            let rounds = if doubles { up(map.nodes()) } else { nodes - 1 };
            let spread = within(Operation::Bcast { root: 0, units: all });
            [moved(0, size - 1, size - 1), moved(1, rounds, (nodes - 1) * size), spread]
        }
        (Operation::Allgather { .. }, _) => {
            [moved(map.least(), nodes - 1, nodes - 1), moved(0, (size - 1) * nodes, (size - 1) * nodes), None]
        }
        (Operation::Alltoall { .. }, _) => {
            // Everything is copied about four times beside the messages.
            let inside = Work { rounds: 3 * (size - 1), sent: 0, path: 2 * all, reduced: 4 * all };
            let far = (nodes - 1) * size * size;
            // An agent has all its messages under way at once; as many as BATCH cost about as much as one.
            let rounds = 1 + (nodes - 1).div_ceil(size) / BATCH as u64;
            [Some(Part { sharers: 0, work: inside }), moved(1, rounds, far), None]
        }
        (Operation::Reduce { .. }, _) => [within(*operation), between(1, *operation), None],
        (Operation::Allreduce { units, commutes, in_place }, Leaders) => {
            let first = within(Operation::Reduce { root: 0, units, commutes, in_place });
            [first, between(1, *operation), within(Operation::Bcast { root: 0, units })]
        }
        (Operation::Allreduce { units, commutes, in_place }, _) => {
            let leaders = Operation::Allreduce { units: slice(units), commutes, in_place };
            let exchange = moved(0, size - 1, (size - 1) * slice(units));
            [scattered(slice(units)), between(map.least(), leaders), exchange]
        }
        (Operation::ReduceScatter { counts: Counts::Equal(each), commutes, in_place }, Leaders) => {
            let counts = Counts::Equal(each * size);
            let first = within(Operation::Reduce { root: 0, units: all * each, commutes, in_place });
            let leaders = Operation::ReduceScatter { counts, commutes, in_place };
            [first, between(1, leaders), moved(0, size - 1, (size - 1) * each)]
        }
        (Operation::ReduceScatter { counts: Counts::Equal(each), commutes, in_place }, Slices) => {
            let mut first = scattered(each * nodes)?;
            // The operands are put in order.
            first.work.reduced += all * each;
            let leaders = Operation::ReduceScatter { counts: Counts::Equal(each), commutes, in_place };
            [Some(first), between(map.least(), leaders), None]
        }
        (Operation::Scan { units, .. } | Operation::Exscan { units, .. }, _) => {
            let leaders = Operation::Exscan { units, in_place: false };
            [within(*operation), between(1, leaders), within(Operation::Bcast { root: 0, units })]
        }
        _ => return None,
    };
    Some(parts.into_iter().flatten().collect())
}
