//! Neighbourhood collectives: all at once, one message for each edge.

use crate::plan::{Blocks, Plan, Region};

/// The order of several messages from one rank to another. They are matched in the order in which
/// they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edges {
    /// In a graph: the order of the neighbours on both sides.
    Listed,
    /// In a Cartesian grid, two for each dimension: what is sent in one direction arrives from the
    /// neighbour in the other one. Where both neighbours are the same process, the first of the two
    /// that it sends is the second of the two that are received.
    Opposite,
}

/// The places of the blocks to be received, in the order in which their senders send them.
pub fn arrivals(incoming: usize, edges: Edges) -> impl Iterator<Item = usize> {
    // Both neighbours of a dimension change places; a last one without a partner stays.
    (0..incoming).map(move |place| if edges == Edges::Opposite && place ^ 1 < incoming { place ^ 1 } else { place })
}

/// Every form of the neighbourhood allgather ([`Blocks::Whole`] as `send`) and alltoall. Without a
/// neighbour (at a border), its block is neither sent nor written.
pub fn exchange(incoming: &[Option<u32>], outgoing: &[Option<u32>], edges: Edges, send: Blocks, recv: Blocks) -> Plan {
    let mut plan = Plan::default();
    for i in arrivals(incoming.len(), edges) {
        if let Some(from) = incoming[i] {
            plan.recv(from, recv.at(Region::Recv, i as u32));
        }
    }
    for (i, to) in outgoing.iter().enumerate() {
        if let Some(to) = to {
            plan.send(*to, send.at(Region::Send, i as u32));
        }
    }
    plan
}
