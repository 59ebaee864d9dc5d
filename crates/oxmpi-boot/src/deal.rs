//! From a plain list of places to the blocks of a table of nodes: what `mpirun` does once for a job. The list says for
//! every rank on which node and in which slot it is; ranks that follow a rule become one block.

use crate::nodes::NodeBlock;

/// A node and a slot of it.
pub type NodeSlot = (u32, u32);

/// The slots of ranks that are dealt to nodes in this order: on each node they follow each other from 0 on.
pub fn slots(nodes: &[u32]) -> Vec<NodeSlot> {
    let mut used = vec![0; nodes.iter().max().map_or(0, |&last| last as usize + 1)];
    let mut next = |node: u32| {
        let slot = used[node as usize];
        used[node as usize] += 1;
        slot
    };
    nodes.iter().map(|&node| (node, next(node))).collect()
}

/// The same where all nodes have one segment: the slots of a node follow those of the nodes before it.
pub fn slots_of_one_segment(nodes: &[u32]) -> Vec<NodeSlot> {
    let mut by_node: Vec<usize> = (0..nodes.len()).collect();
    by_node.sort_by_key(|&rank| nodes[rank]);
    let mut places = vec![(0, 0); nodes.len()];
    for (slot, rank) in by_node.into_iter().enumerate() {
        places[rank] = (nodes[rank], slot as u32);
    }
    places
}

/// The blocks of ranks with these places.
pub fn blocks(places: &[NodeSlot]) -> Vec<NodeBlock> {
    let mut blocks = Vec::new();
    let mut first = 0;
    while first < places.len() {
        let rest = &places[first..];
        let [rows, cycle] = [rows(rest), cyclic(rest)];
        let block = if cycle.count > rows.count { cycle } else { rows };
        blocks.push(NodeBlock { first: first as u32, ..block });
        first += block.count as usize;
    }
    blocks
}

/// The longest block from the first place on that fills one node after the other.
fn rows(places: &[NodeSlot]) -> NodeBlock {
    let (node, slot) = places[0];
    let per_node = run(places);
    let (mut count, mut nodes) = (per_node, 1);
    while let Some(&(next, first)) = places.get(count)
        && next == node + nodes
        && first == slot
    {
        let here = run(&places[count..]).min(per_node);
        count += here;
        nodes += 1;
        if here < per_node {
            break;
        }
    }
    let (count, per_node) = (count as u32, per_node as u32);
    NodeBlock { first: 0, count, first_node: node, nodes, per_node, first_slot: slot, cyclic: false }
}

/// How many places from the first one on are on its node, in slots that follow each other.
fn run(places: &[NodeSlot]) -> usize {
    let (node, slot) = places[0];
    (slot..).zip(places).take_while(|&(slot, &place)| place == (node, slot)).count()
}

/// The longest block from the first place on that gives one rank to each node in turn.
fn cyclic(places: &[NodeSlot]) -> NodeBlock {
    let (node, slot) = places[0];
    let nodes = (node..).zip(places).take_while(|&(node, &place)| place == (node, slot)).count();
    let count = (0..).zip(places).take_while(|&(index, &place)| {
        let (round, number) = (index / nodes as u32, index % nodes as u32);
        place == (node + number, slot + round)
    });
    let (count, nodes) = (count.count() as u32, nodes as u32);
    NodeBlock {
        first: 0,
        count,
        first_node: node,
        nodes,
        per_node: count.div_ceil(nodes),
        first_slot: slot,
        cyclic: true,
    }
}
