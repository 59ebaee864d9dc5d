//! Reductions over nodes. Operands are combined within each node first, in the order of its ranks, and then between nodes, in
//! the order of nodes: always the same, whatever comes first.

use super::{Here, Rooted};
use crate::operation::Operation;
use crate::plan::{Blocks, Piece, Plan, Region, Side};
use crate::reduce_scatter::Counts;
use crate::tree::share;

/// Each node combines at its leader; the leaders combine at the root.
pub(super) fn reduce(here: &Here, root: u32, units: u64, commutes: bool, in_place: bool) -> Plan {
    let tree = Rooted::new(here, root);
    let in_place = in_place && tree.is_root();
    if here.size == 1 {
        return here
            .between(&Operation::Reduce { root: tree.home, units, commutes, in_place }, |node| tree.leader(node));
    }
    let within = here.within(&Operation::Reduce { root: tree.top(), units, commutes, in_place });
    if !tree.leads() {
        return within;
    }
    let at_root = tree.is_root();
    let between = Operation::Reduce { root: tree.home, units, commutes, in_place: at_root };
    let between = here.between(&between, |node| tree.leader(node));
    if at_root {
        return within.then(between);
    }
    let combined = Region::Temp.at(within.temp, units);
    let between = between.after_temp(within.temp + units).moved(Region::Send, combined);
    within.moved(Region::Recv, combined).then(between)
}

/// Each node combines at its leader; the leaders combine everything and give it to their nodes.
pub(super) fn allreduce(here: &Here, units: u64, commutes: bool, in_place: bool) -> Plan {
    let result = Region::Recv.at(0, 0);
    if here.size == 1 {
        return here.between(&Operation::Allreduce { units, commutes, in_place }, |node| here.leader(node));
    }
    let leads = here.index == 0;
    let mut within = here.within(&Operation::Reduce { root: 0, units, commutes, in_place: in_place && leads });
    if in_place {
        within = within.moved(Region::Send, result);
    }
    let spread = here.within(&Operation::Bcast { root: 0, units }).moved(Region::Send, result);
    if !leads {
        return within.then(spread);
    }
    let between = here.between(&Operation::Allreduce { units, commutes, in_place: true }, |node| here.leader(node));
    within.then(between).then_pass_on(spread)
}

/// Each rank of a node combines a slice for its node, and with the ranks that have the same slice on other nodes for all; then
/// the ranks of each node exchange their slices. No link carries more than its share.
pub(super) fn allreduce_slices(here: &Here, units: u64, commutes: bool, in_place: bool) -> Plan {
    let slices = here.slices();
    let start = |index: u32| share(units, slices, index.min(slices));
    let counts: Vec<u64> = (0..here.size).map(|index| start(index + 1) - start(index)).collect();
    let displs: Vec<i64> = (0..here.size).map(|index| start(index) as i64).collect();
    let own = Region::Recv.at(start(here.index), counts[here.index as usize]);
    let mut plan = here.scatter_within(&counts, commutes);
    if in_place {
        // The operands are where the result goes until they have been sent.
        let aside = Region::Temp.at(plan.temp, own.count);
        plan = plan.moved(Region::Recv, aside).moved(Region::Send, Region::Recv.at(0, 0));
        plan.fence();
        plan.copy(aside, own);
    } else {
        plan = plan.moved(Region::Recv, own);
    }
    if here.index < slices {
        let between = Operation::Allreduce { units: own.count, commutes, in_place: true };
        let between = here.between(&between, |node| here.map.rank(node, here.index));
        plan = plan.then(between.moved(Region::Recv, own));
    }
    let recv = Blocks::Spread { counts: &counts, displs: &displs };
    plan.then(here.within(&Operation::Allgatherv { in_place: true, send: 0, recv }))
}

/// Each node combines at its leader; the leaders share the result out among nodes, and then among the ranks of their node.
pub(super) fn reduce_scatter(here: &Here, counts: Counts, commutes: bool, in_place: bool) -> Plan {
    let result = Region::Recv.at(0, counts.of(here.rank));
    let operand = if in_place { Region::Recv } else { Region::Send };
    let by_node: Vec<u64> =
        (0..here.nodes()).map(|node| here.map.members(node).map(|rank| counts.of(rank)).sum()).collect();
    let total = by_node.iter().sum();
    let mut plan = Plan::default();
    let mut combined = operand.at(0, total);
    let mut free = 0;
    if here.size > 1 {
        let within = here.within(&Operation::Reduce { root: 0, units: total, commutes, in_place: false });
        combined = Region::Temp.at(within.temp, total);
        free = within.temp + total;
        plan = within.moved(Region::Recv, combined).moved(Region::Send, operand.at(0, 0));
    }
    let mut own_node = result;
    if here.index == 0 {
        if !here.map.is_in_order() {
            let ordered = Region::Temp.at(free, total);
            plan.fence();
            let order = (0..here.nodes()).flat_map(|node| here.map.members(node));
            rearrange(&mut plan, counts, here.map.ranks(), combined, ordered, order);
            combined = ordered;
            free += total;
        }
        if here.size > 1 || in_place {
            own_node = Region::Temp.at(free, by_node[here.node as usize]);
            free += own_node.count;
        }
        let scatter = Operation::ReduceScatter { counts: Counts::Given(&by_node), commutes, in_place: false };
        let between = here.between(&scatter, |node| here.leader(node)).after_temp(free);
        plan = plan.then(between.moved(Region::Recv, own_node).moved(Region::Send, combined));
    }
    plan.then(deal(here, counts, 0, own_node, result))
}

/// Each rank of a node combines a slice for its node: the blocks of the ranks with its number on all nodes. The ranks with one
/// number share theirs out among each other, and give blocks to ranks that not every node has.
pub(super) fn reduce_scatter_slices(here: &Here, counts: Counts, commutes: bool, in_place: bool) -> Plan {
    let result = Region::Recv.at(0, counts.of(here.rank));
    let operand = if in_place { Region::Recv } else { Region::Send };
    let slices = here.slices();
    let of = |node: u32, slice: u32| {
        (slice..here.map.size(node)).step_by(slices as usize).map(move |index| here.map.rank(node, index))
    };
    let units = |node: u32, slice: u32| of(node, slice).map(|rank| counts.of(rank)).sum::<u64>();
    let by_slice: Vec<u64> = (0..here.size)
        .map(|slice| if slice < slices { (0..here.nodes()).map(|node| units(node, slice)).sum() } else { 0 })
        .collect();
    let total = by_slice.iter().sum();
    let mut plan = Plan::default();
    let ordered = Region::Temp.at(0, total);
    let order = (0..slices).flat_map(|slice| (0..here.nodes()).flat_map(move |node| of(node, slice)));
    rearrange(&mut plan, counts, here.map.ranks(), operand.at(0, total), ordered, order);
    let within = here.scatter_within(&by_slice, commutes).after_temp(total);
    let slice = Region::Temp.at(within.temp, by_slice[here.index as usize]);
    let mut free = within.temp + slice.count;
    plan = plan.then(within.moved(Region::Recv, slice).moved(Region::Send, ordered));
    let mut own_node = result;
    if here.index < slices {
        let by_node: Vec<u64> = (0..here.nodes()).map(|node| units(node, here.index)).collect();
        if here.size > slices {
            own_node = Region::Temp.at(free, by_node[here.node as usize]);
            free += own_node.count;
        }
        let scatter = Operation::ReduceScatter { counts: Counts::Given(&by_node), commutes, in_place: false };
        let between = here.between(&scatter, |node| here.map.rank(node, here.index)).after_temp(free);
        plan = plan.then(between.moved(Region::Recv, own_node).moved(Region::Send, slice));
    }
    plan.then(deal_slice(here, counts, own_node, result))
}

/// Copies the blocks of all ranks to another order.
fn rearrange(plan: &mut Plan, counts: Counts, ranks: u32, from: Piece, to: Piece, order: impl Iterator<Item = u32>) {
    let starts = counts.starts(ranks);
    let mut at = to.offset as u64;
    for rank in order {
        let count = counts.of(rank);
        let start = starts[rank as usize];
        plan.copy(Piece { offset: from.offset + start as i64, count, ..from }, to.region.at(at, count));
        at += count;
    }
}

/// One rank of a node has the blocks of all of them and gives each its own.
fn deal(here: &Here, counts: Counts, from: u32, blocks: Piece, result: Piece) -> Plan {
    let mut plan = Plan::default();
    if here.index != from {
        plan.recv(here.map.rank(here.node, from), result);
    } else if blocks != result {
        share_out(&mut plan, here, counts, here.map.members(here.node), blocks, result);
    }
    plan
}

/// The same for the ranks of a slice.
fn deal_slice(here: &Here, counts: Counts, blocks: Piece, result: Piece) -> Plan {
    let mut plan = Plan::default();
    let slices = here.slices();
    let name = |index: u32| here.map.rank(here.node, index);
    if here.index >= slices {
        plan.recv(name(here.index % slices), result);
    } else if blocks != result {
        let ranks = (here.index..here.size).step_by(slices as usize).map(name);
        share_out(&mut plan, here, counts, ranks, blocks, result);
    }
    plan
}

fn share_out(
    plan: &mut Plan,
    here: &Here,
    counts: Counts,
    ranks: impl Iterator<Item = u32>,
    blocks: Piece,
    result: Piece,
) {
    let mut at = blocks.offset;
    for rank in ranks {
        let block = Piece { offset: at, count: counts.of(rank), ..blocks };
        match rank == here.rank {
            true => plan.copy(block, result),
            false => plan.send(rank, block),
        }
        at += block.count as i64;
    }
}

/// A scan in each node; then the last rank of each gets what all nodes before have, for its node.
pub(super) fn scan(here: &Here, units: u64, in_place: bool) -> Plan {
    let result = Region::Recv.at(0, units);
    let plan = here.within(&Operation::Scan { units, in_place });
    let mut plan = before_node(here, plan, units, result);
    if here.node > 0 {
        plan.reduce(Region::Temp.at(plan.temp - units, units), result, Side::Left);
    }
    plan
}

/// The same without the own operand. The last rank of a node needs that too, for the nodes after it.
pub(super) fn exscan(here: &Here, units: u64, in_place: bool) -> Plan {
    let (own, result) = (if in_place { Region::Recv } else { Region::Send }, Region::Recv.at(0, units));
    let mut plan = Plan::default();
    let within = here.within(&Operation::Exscan { units, in_place });
    let all = Region::Temp.at(0, units);
    let is_last = here.index + 1 == here.size && here.node + 1 < here.nodes();
    if is_last {
        plan.copy(own.at(0, units), all);
    }
    plan = plan.then(within.after_temp(units));
    if is_last && here.index > 0 {
        plan.fence();
        plan.reduce(result, all, Side::Left);
    }
    let mut plan = before_node(here, plan, units, all);
    if here.node > 0 {
        let before = Region::Temp.at(plan.temp - units, units);
        match here.index {
            0 => plan.copy(before, result),
            _ => plan.reduce(before, result, Side::Left),
        }
    }
    plan
}

/// Extends a plan: what the nodes before this one have is in the last units of `Temp` then. `all` is what the last rank of a
/// node has for the whole node.
fn before_node(here: &Here, plan: Plan, units: u64, all: Piece) -> Plan {
    let last = |node: u32| here.map.rank(node, here.map.size(node) - 1);
    let mut between = Plan::default();
    if here.rank == last(here.node) {
        between = here.between(&Operation::Exscan { units, in_place: false }, last);
    }
    let free = plan.temp;
    let room = free + between.temp;
    let before = Region::Temp.at(room, units);
    let between = between.after_temp(free).moved(Region::Recv, before).moved(Region::Send, all);
    let mut plan = plan.then(between);
    if here.node > 0 {
        let spread = here.within(&Operation::Bcast { root: here.size - 1, units });
        plan = plan.then(spread.moved(Region::Send, before).moved(Region::Recv, before));
        plan.fence();
        plan.temp = room + units;
    }
    plan
}
