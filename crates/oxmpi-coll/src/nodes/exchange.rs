//! All-to-all over nodes: one message between each pair of nodes and in each direction.
//!
//! The ranks of a node share the other nodes: each is the agent for some of them. A rank gives its blocks to the agents of its
//! node; the two agents of a pair of nodes exchange what their nodes have for each other; and each agent gives the ranks of its
//! node what came for them. Everything passes through `Temp` several times, so that it is for short blocks.

use super::Here;
use crate::plan::{Piece, Plan, Region};

/// See the module. In place, the blocks are copied to `Temp` first.
pub(super) fn alltoall(here: &Here, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    let mut room = Room(0);
    let out = match in_place {
        false => Region::Send,
        true => {
            let all = room.take(u64::from(here.map.ranks()));
            plan.copy(Region::Recv.at(0, all.count), all);
            Region::Temp
        }
    };
    let name = |index: u32| here.map.rank(here.node, index);
    let others = || (0..here.size).filter(|index| *index != here.index);
    let size = |node: u32| u64::from(here.map.size(node));
    // The blocks for or from all ranks of the nodes of an agent.
    let width = |agent: u32| far_nodes(here, agent).map(size).sum::<u64>();
    let mine = width(here.index);

    // To the agents of this node, and directly to its ranks.
    let collected: Vec<(u32, Piece)> =
        far_nodes(here, here.index).map(|node| (node, room.take(size(node) * u64::from(here.size)))).collect();
    let at = |piece: Piece, units: u64, count: u64| Region::Temp.at(piece.offset as u64 + units, count);
    let rows: Vec<(u32, Piece)> = others()
        .map(|index| match &collected[..] {
            [(node, only)] => (index, at(*only, u64::from(index) * size(*node), size(*node))),
            _ => (index, room.take(mine)),
        })
        .collect();
    for (index, row) in &rows {
        plan.recv(name(*index), *row);
        plan.recv(name(*index), Region::Recv.at(u64::from(name(*index)), 1));
    }
    for agent in others() {
        let packed = room.take(width(agent));
        pack(here, &mut plan, agent, out, packed);
        plan.send(name(agent), packed);
        plan.send(name(agent), out.at(u64::from(name(agent)), 1));
    }
    let own = room.take(mine);
    pack(here, &mut plan, here.index, out, own);
    if !in_place {
        plan.copy(out.at(u64::from(here.rank), 1), Region::Recv.at(u64::from(here.rank), 1));
    }
    plan.received();
    // By node, and for each node by the rank that sends.
    let mut skip = 0;
    for (node, piece) in &collected {
        let place = |index: u32| at(*piece, u64::from(index) * size(*node), size(*node));
        plan.copy(at(own, skip, size(*node)), place(here.index));
        if collected.len() > 1 {
            for (index, row) in &rows {
                plan.copy(at(*row, skip, size(*node)), place(*index));
            }
        }
        skip += size(*node);
    }

    // Between the agents.
    let came: Vec<(u32, Piece)> = collected.iter().map(|(node, piece)| (*node, room.take(piece.count))).collect();
    let peer = |node: u32| here.map.rank(node, agent_for(here.node, here.map.size(node)));
    for (node, piece) in &came {
        plan.recv(peer(*node), *piece);
    }
    for (node, piece) in &collected {
        plan.send(peer(*node), *piece);
    }
    plan.received();

    // From the agents to the ranks of this node.
    let incoming: Vec<(u32, Piece)> = others().map(|agent| (agent, room.take(width(agent)))).collect();
    for (agent, piece) in &incoming {
        plan.recv(name(*agent), *piece);
    }
    for index in 0..here.size {
        let going = room.take(mine);
        let mut next = 0;
        for (node, piece) in &came {
            for sender in 0..size(*node) {
                let block = at(*piece, sender * u64::from(here.size) + u64::from(index), 1);
                plan.copy(block, at(going, next, 1));
                next += 1;
            }
        }
        match index == here.index {
            true => unpack(here, &mut plan, index, going),
            false => plan.send(name(index), going),
        }
    }
    plan.received();
    for (agent, piece) in incoming {
        unpack(here, &mut plan, agent, piece);
    }
    plan
}

/// The next free units of `Temp`.
struct Room(u64);

impl Room {
    fn take(&mut self, units: u64) -> Piece {
        self.0 += units;
        Region::Temp.at(self.0 - units, units)
    }
}

/// The number of the rank that is the agent for another node, on a node of so many ranks.
pub(super) fn agent_for(node: u32, size: u32) -> u32 {
    node % size
}

/// The nodes that a rank of this node is the agent for.
fn far_nodes(here: &Here, agent: u32) -> impl Iterator<Item = u32> {
    (agent..here.nodes()).step_by(here.size as usize).filter(move |node| *node != here.node)
}

/// The blocks of this rank for all ranks of the nodes of an agent.
fn pack(here: &Here, plan: &mut Plan, agent: u32, out: Region, packed: Piece) {
    in_turn(here, agent, packed, |blocks, place| plan.copy(Piece { region: out, ..blocks }, place));
}

/// What came from all ranks of the nodes of an agent, to where it belongs.
fn unpack(here: &Here, plan: &mut Plan, agent: u32, packed: Piece) {
    in_turn(here, agent, packed, |blocks, place| plan.copy(place, Piece { region: Region::Recv, ..blocks }));
}

/// Calls a function for ranks that follow each other on the nodes of an agent: with the place of their blocks by rank, and
/// where they are packed.
fn in_turn(here: &Here, agent: u32, packed: Piece, mut each: impl FnMut(Piece, Piece)) {
    let mut at = packed.offset as u64;
    for node in far_nodes(here, agent) {
        let size = u64::from(here.map.size(node));
        if here.map.is_in_order() {
            each(Region::Recv.at(u64::from(here.map.rank(node, 0)), size), Region::Temp.at(at, size));
        } else {
            for (rank, at) in here.map.members(node).zip(at..) {
                each(Region::Recv.at(u64::from(rank), 1), Region::Temp.at(at, 1));
            }
        }
        at += size;
    }
}
