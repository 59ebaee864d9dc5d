//! Gather: from all ranks to the root.

use crate::plan::{Blocks, Piece, Plan, Region};
use crate::tree::{after, before, children, parent, subtree};

/// Each rank to the root, in one round. `send` is what this rank gives, `recv` (used at the root)
/// where each block goes.
pub fn linear(rank: u32, size: u32, root: u32, in_place: bool, send: Piece, recv: Blocks) -> Plan {
    let mut plan = Plan::default();
    if rank != root {
        plan.send(root, send);
        return plan;
    }
    for from in (0..size).filter(|from| *from != root) {
        plan.recv(from, recv.at(Region::Recv, from));
    }
    if !in_place {
        plan.copy(send, recv.at(Region::Recv, root));
    }
    plan
}

/// The same with so many receives at a time, so that long messages from many nodes do not meet in the root's link.
pub fn batched(rank: u32, size: u32, root: u32, in_place: bool, send: Piece, recv: Blocks) -> Plan {
    if rank != root {
        return linear(rank, size, root, in_place, send, recv);
    }
    let mut plan = Plan::default();
    for (turn, from) in (0..size).filter(|from| *from != root).enumerate() {
        if turn > 0 && turn % BATCH == 0 {
            plan.received();
        }
        plan.recv(from, recv.at(Region::Recv, from));
    }
    if !in_place {
        plan.copy(send, recv.at(Region::Recv, root));
    }
    plan
}

/// Long messages that go to one receiver at a time.
pub(crate) const BATCH: usize = 8;

/// Up a binomial tree: ceil(log2 n) rounds. Inner ranks collect in `Temp`; the blocks that arrive
/// at the root are contiguous there too, except those of one child, which wrap around the end and
/// come in two messages.
pub fn binomial(rank: u32, size: u32, root: u32, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    let rel = before(rank, root, size);
    if rel == 0 {
        for child in children(0, size) {
            for (_, place) in at_root(child, size, root, Region::Recv) {
                plan.recv(after(child, root, size), place);
            }
        }
        if !in_place {
            plan.copy(Region::Send.at(0, 1), Region::Recv.at(u64::from(root), 1));
        }
        return plan;
    }
    let blocks = subtree(rel, size);
    let mine = if blocks == 1 { Region::Send.at(0, 1) } else { Region::Temp.at(0, u64::from(blocks)) };
    if blocks > 1 {
        for child in children(rel, size) {
            plan.recv(
                after(child, root, size),
                Region::Temp.at(u64::from(child - rel), u64::from(subtree(child, size))),
            );
        }
        plan.copy(Region::Send.at(0, 1), Region::Temp.at(0, 1));
        plan.received();
    }
    let up = parent(rel);
    if up > 0 {
        plan.send(after(up, root, size), mine);
    } else {
        for (skip, place) in at_root(rel, size, root, Region::Recv) {
            plan.send(root, Piece { offset: mine.offset + skip as i64, count: place.count, ..mine });
        }
    }
    plan
}

/// The blocks of a child of the root in the root's buffer: one or two pieces, each with the number
/// of blocks before it.
pub(crate) fn at_root(child: u32, size: u32, root: u32, region: Region) -> impl Iterator<Item = (u64, Piece)> {
    let blocks = subtree(child, size);
    let start = after(child, root, size);
    let first = blocks.min(size - start);
    let rest = blocks - first;
    let pieces =
        [(0, region.at(u64::from(start), u64::from(first))), (u64::from(first), region.at(0, u64::from(rest)))];
    pieces.into_iter().filter(|(_, piece)| piece.count > 0)
}
