//! Operations over nodes that only move data, except the all-to-all.

use super::{Here, Rooted};
use crate::choose::Algorithm;
use crate::operation::Operation;
use crate::plan::{Blocks, Piece, Plan, Region};
use crate::tree::{after, before, children, parent, segments, subtree};
use crate::{allgather, barrier, bcast};

/// Each node reports to its leader; the leaders meet, and then tell their nodes.
pub(super) fn barrier(here: &Here) -> Plan {
    let name = |index: u32| here.map.rank(here.node, index);
    let (mut up, mut down) = (Plan::default(), Plan::default());
    for child in children(here.index, here.size) {
        up.await_signal(name(child));
    }
    up.received();
    if here.index > 0 {
        up.signal(name(parent(here.index)));
        down.await_signal(name(parent(here.index)));
        down.received();
    }
    for child in children(here.index, here.size).rev() {
        down.signal(name(child));
    }
    let meeting = match here.index {
        0 => barrier::dissemination(here.node, here.nodes()).among(|node| here.leader(node)),
        _ => Plan::default(),
    };
    up.then(meeting).then(down)
}

/// To the leaders, and from each to its node.
pub(super) fn bcast(here: &Here, root: u32, units: u64) -> Plan {
    let tree = Rooted::new(here, root);
    let mut plan = Plan::default();
    if tree.leads() {
        plan = here.between(&Operation::Bcast { root: tree.home, units }, |node| tree.leader(node));
    }
    let within = here.within(&Operation::Bcast { root: tree.top(), units });
    // Other leaders than the root have got the data in `Recv`.
    let within = if here.node == tree.home { within } else { within.moved(Region::Send, Region::Recv.at(0, 0)) };
    plan.then_pass_on(within)
}

/// Segments from node to node, and in each node from rank to rank.
pub(super) fn bcast_pipeline(here: &Here, root: u32, units: u64) -> Plan {
    let tree = Rooted::new(here, root);
    let mut plan = Plan::default();
    let (node, index) = (tree.relative(), before(here.index, tree.top(), here.size));
    let neighbour = |index: u32| here.map.rank(here.node, after(index, tree.top(), here.size));
    let from = match () {
        _ if index > 0 => Some(neighbour(index - 1)),
        _ if node > 0 => Some(tree.leader(tree.node(node - 1))),
        _ => None,
    };
    let next_node = (index == 0 && node + 1 < here.nodes()).then(|| tree.leader(tree.node(node + 1)));
    let next_rank = (index + 1 < here.size).then(|| neighbour(index + 1));
    let region = if tree.is_root() { Region::Send } else { Region::Recv };
    for (start, count) in segments(units, here.segment()) {
        let piece = region.at(start, count);
        if let Some(from) = from {
            plan.recv(from, piece);
            plan.received();
        }
        for to in next_node.into_iter().chain(next_rank) {
            plan.send(to, piece);
        }
    }
    plan
}

/// The blocks of each node are collected by its leader, and go up a tree of nodes in one message each.
pub(super) fn gather(here: &Here, root: u32, in_place: bool) -> Plan {
    let tree = Rooted::new(here, root);
    let in_place = in_place && tree.is_root();
    let mut plan = Plan::default();
    let own = Region::Send.at(0, 1);
    if !tree.leads() {
        plan.send(tree.leader(here.node), own);
        return plan;
    }
    let held = Held::new(&tree);
    let place = |index: u32, rank: u32| match tree.is_root() {
        true => Region::Recv.at(u64::from(rank), 1),
        false => Region::Temp.at(u64::from(index), 1),
    };
    if !tree.is_root() && held.blocks() == 1 {
        plan.send(tree.leader(tree.node(parent(tree.relative()))), own);
        return plan;
    }
    for (index, rank) in (0..).zip(here.map.members(here.node)).filter(|(_, rank)| *rank != here.rank) {
        plan.recv(rank, place(index, rank));
    }
    for child in children(tree.relative(), here.nodes()) {
        plan.recv(tree.leader(tree.node(child)), held.of_subtree(child));
    }
    if !in_place {
        plan.copy(own, place(here.index, here.rank));
    }
    plan.received();
    match tree.is_root() {
        true => held.for_runs(|packed, ranks| plan.copy(packed, Region::Recv.at(ranks.0, ranks.1))),
        false => plan.send(tree.leader(tree.node(parent(tree.relative()))), Region::Temp.at(0, held.blocks())),
    }
    plan
}

/// The mirror image of the gather.
pub(super) fn scatter(here: &Here, root: u32, in_place: bool) -> Plan {
    let tree = Rooted::new(here, root);
    let in_place = in_place && tree.is_root();
    let mut plan = Plan::default();
    let own = Region::Recv.at(0, 1);
    if !tree.leads() {
        plan.recv(tree.leader(here.node), own);
        return plan;
    }
    let held = Held::new(&tree);
    if tree.is_root() {
        held.for_runs(|packed, ranks| plan.copy(Region::Send.at(ranks.0, ranks.1), packed));
    } else {
        let piece = if held.blocks() == 1 { own } else { Region::Temp.at(0, held.blocks()) };
        plan.recv(tree.leader(tree.node(parent(tree.relative()))), piece);
        if held.blocks() == 1 {
            return plan;
        }
        plan.received();
    }
    for child in children(tree.relative(), here.nodes()).rev() {
        plan.send(tree.leader(tree.node(child)), held.of_subtree(child));
    }
    let place = |index: u32, rank: u32| match tree.is_root() {
        true => Region::Send.at(u64::from(rank), 1),
        false => Region::Temp.at(u64::from(index), 1),
    };
    for (index, rank) in (0..).zip(here.map.members(here.node)).filter(|(_, rank)| *rank != here.rank) {
        plan.send(rank, place(index, rank));
    }
    if !in_place {
        plan.copy(place(here.index, here.rank), own);
    }
    plan
}

/// The blocks that a leader holds in `Temp` in a gather or scatter: of the nodes of its subtree, in their order from the root.
/// Those of the root's own node are not among them.
struct Held<'a> {
    tree: &'a Rooted<'a>,
    /// The first of these nodes, counted from the root's, and the one after the last.
    first: u32,
    end: u32,
}

impl Held<'_> {
    fn new<'a>(tree: &'a Rooted<'a>) -> Held<'a> {
        let relative = tree.relative();
        let end = relative + subtree(relative, tree.here.nodes());
        Held { tree, first: relative.max(1), end }
    }

    fn between(&self, first: u32, end: u32) -> u64 {
        (first..end).map(|node| u64::from(self.tree.here.map.size(self.tree.node(node)))).sum()
    }

    fn blocks(&self) -> u64 {
        self.between(self.first, self.end)
    }

    /// The blocks of a child's subtree.
    fn of_subtree(&self, child: u32) -> Piece {
        let end = child + subtree(child, self.tree.here.nodes());
        Region::Temp.at(self.between(self.first, child), self.between(child, end))
    }

    /// Calls a function for the blocks of ranks that follow each other: where they are, and the first rank with their number.
    fn for_runs(&self, mut each: impl FnMut(Piece, (u64, u64))) {
        let (map, mut at) = (self.tree.here.map, 0);
        let mut run: Option<(Piece, (u64, u64))> = None;
        for rank in (self.first..self.end).flat_map(|node| map.members(self.tree.node(node))).map(u64::from) {
            match &mut run {
                Some((packed, (first, ranks))) if *first + *ranks == rank => {
                    packed.count += 1;
                    *ranks += 1;
                }
                _ => {
                    run.take().into_iter().for_each(|(packed, ranks)| each(packed, ranks));
                    run = Some((Region::Temp.at(at, 1), (rank, 1)));
                }
            }
            at += 1;
        }
        run.into_iter().for_each(|(packed, ranks)| each(packed, ranks));
    }
}

/// Each node collects its blocks at its leader; the leaders exchange them and give all to their nodes. `send` is the number of
/// units of the own block, `recv` gives the places.
pub(super) fn allgather(here: &Here, in_place: bool, send: u64, recv: Blocks) -> Plan {
    let count = |rank: u32| recv.at(Region::Recv, rank).count;
    // Where the blocks of each node begin when they follow each other.
    let mut starts = vec![0];
    for node in 0..here.nodes() {
        starts.push(starts[node as usize] + here.map.members(node).map(count).sum::<u64>());
    }
    let all = starts[here.nodes() as usize];
    let direct = here.map.is_in_order() && recv == Blocks::Units;
    let hall = if direct { Region::Recv } else { Region::Temp };
    let own = if in_place { recv.at(Region::Recv, here.rank) } else { Region::Send.at(0, send) };

    let mut collect = Plan::default();
    if here.index > 0 {
        collect.send(here.leader(here.node), own);
    } else {
        let mut at = starts[here.node as usize];
        for rank in here.map.members(here.node) {
            let place = hall.at(at, count(rank));
            match rank == here.rank {
                true if own != place => collect.copy(own, place),
                true => {}
                false => collect.recv(rank, place),
            }
            at += place.count;
        }
    }
    let mut exchange = Plan::default();
    if here.index == 0 {
        let counts: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let displs: Vec<i64> = starts.iter().map(|start| *start as i64).collect();
        let recv = Blocks::Spread { counts: &counts, displs: &displs[..counts.len()] };
        exchange = match doubles(here.nodes(), all * here.unit_bytes) {
            true => allgather::bruck(here.node, here.nodes(), true, hall.at(0, 0), recv),
            false => allgather::ring(here.node, here.nodes(), true, hall.at(0, 0), recv),
        };
        exchange = exchange.among(|node| here.leader(node));
        if !direct {
            exchange = exchange.after_temp(all).moved(Region::Recv, hall.at(0, 0));
        }
    }
    // Ranks may count a block in different units, so that only whole ones have the same limits everywhere.
    let spread = match recv {
        Blocks::Units => here.within(&Operation::Bcast { root: 0, units: all }),
        _ => bcast::binomial(here.index, here.size, 0, all).among(|index| here.map.rank(here.node, index)),
    };
    let spread = spread.moved(Region::Send, hall.at(0, 0)).moved(Region::Recv, hall.at(0, 0));
    let mut plan = match here.index {
        0 => collect.then(exchange).then_pass_on(spread),
        _ => collect.then(spread),
    };
    if !direct {
        plan.received();
        let mut at = 0;
        let mut run: Option<(Piece, Piece)> = None;
        for rank in (0..here.nodes()).flat_map(|node| here.map.members(node)) {
            let place = recv.at(Region::Recv, rank);
            match &mut run {
                Some((from, to)) if to.offset + to.count as i64 == place.offset => {
                    from.count += place.count;
                    to.count += place.count;
                }
                _ => {
                    run.take().into_iter().for_each(|(from, to)| plan.copy(from, to));
                    run = Some((Region::Temp.at(at, place.count), place));
                }
            }
            at += place.count;
        }
        run.into_iter().for_each(|(from, to)| plan.copy(from, to));
    }
    plan
}

/// Whether nodes that exchange so many bytes in all double what they have, or pass it around a ring: as ranks with blocks of
/// the same size would.
pub(super) fn doubles(nodes: u32, bytes: u64) -> bool {
    let block = bytes / u64::from(nodes);
    let algorithm = Operation::Allgather { in_place: true }.shape(nodes, block).choose().take;
    matches!(algorithm, Algorithm::Doubling | Algorithm::Bruck)
}

/// Every rank collects the blocks of the ranks with its number on all nodes, around a ring of nodes; then the ranks of each node
/// exchange what they have, around a ring of theirs. Ranks that not every node has give their block to another one first.
pub(super) fn allgather_slices(here: &Here, in_place: bool, send: u64, recv: Blocks) -> Plan {
    let mut plan = Plan::default();
    let place = |rank: u32| recv.at(Region::Recv, rank);
    let slices = here.slices();
    // The blocks of a node that belong to a slice; ranks beyond the slices have none.
    let held = |node: u32, slice: u32| {
        let size = if slice < slices { here.map.size(node) } else { 0 };
        (slice..size).step_by(slices as usize).map(move |index| place(here.map.rank(node, index)))
    };
    if !in_place {
        plan.copy(Region::Send.at(0, send), place(here.rank));
    }
    let name = |index: u32| here.map.rank(here.node, index);
    if here.index >= slices {
        plan.send(name(here.index % slices), place(here.rank));
    } else {
        for index in (here.index..here.size).step_by(slices as usize).skip(1) {
            plan.recv(name(index), place(name(index)));
        }
    }
    plan.fence();
    if here.index < slices {
        let (next, previous) = (after(here.node, 1, here.nodes()), before(here.node, 1, here.nodes()));
        let peer = |node: u32| here.map.rank(node, here.index);
        for step in 0..here.nodes() - 1 {
            let (going, coming) = (before(here.node, step, here.nodes()), before(previous, step, here.nodes()));
            held(coming, here.index).for_each(|piece| plan.recv(peer(previous), piece));
            held(going, here.index).for_each(|piece| plan.send(peer(next), piece));
            plan.received();
        }
        plan.fence();
    }
    let (next, previous) = (after(here.index, 1, here.size), before(here.index, 1, here.size));
    for step in 0..here.size - 1 {
        let (going, coming) = (before(here.index, step, here.size), before(previous, step, here.size));
        // A rank has its own block already.
        let is_own = |piece: &Piece| *piece == place(here.rank);
        for node in 0..here.nodes() {
            held(node, coming).filter(|piece| !is_own(piece)).for_each(|piece| plan.recv(name(previous), piece));
            let theirs = place(name(next));
            held(node, going).filter(|piece| *piece != theirs).for_each(|piece| plan.send(name(next), piece));
        }
        plan.received();
    }
    plan
}
