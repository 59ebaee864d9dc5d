//! Scatter: from the root, one block to each rank.

use crate::gather::at_root;
use crate::plan::{Blocks, Piece, Plan, Region};
use crate::tree::{after, before, children, parent, subtree};

/// From the root to each rank, in one round. `send` (used at the root) gives the position of each
/// block, `recv` that of the block of this rank.
pub fn linear(rank: u32, size: u32, root: u32, in_place: bool, send: Blocks, recv: Piece) -> Plan {
    let mut plan = Plan::default();
    if rank != root {
        plan.recv(root, recv);
        return plan;
    }
    for to in (0..size).filter(|to| *to != root) {
        plan.send(to, send.at(Region::Send, to));
    }
    if !in_place {
        plan.copy(send.at(Region::Send, root), recv);
    }
    plan
}

/// Down a binomial tree: ceil(log2 n) rounds, the mirror image of the gather.
pub fn binomial(rank: u32, size: u32, root: u32, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    let rel = before(rank, root, size);
    if rel == 0 {
        for child in children(0, size).rev() {
            for (_, place) in at_root(child, size, root, Region::Send) {
                plan.send(after(child, root, size), place);
            }
        }
        if !in_place {
            plan.copy(Region::Send.at(u64::from(root), 1), Region::Recv.at(0, 1));
        }
        return plan;
    }
    let blocks = subtree(rel, size);
    let mine = if blocks == 1 { Region::Recv.at(0, 1) } else { Region::Temp.at(0, u64::from(blocks)) };
    let up = parent(rel);
    if up > 0 {
        plan.recv(after(up, root, size), mine);
    } else {
        for (skip, place) in at_root(rel, size, root, Region::Send) {
            plan.recv(root, Piece { offset: mine.offset + skip as i64, count: place.count, ..mine });
        }
    }
    if blocks > 1 {
        plan.received();
        for child in children(rel, size).rev() {
            plan.send(
                after(child, root, size),
                Region::Temp.at(u64::from(child - rel), u64::from(subtree(child, size))),
            );
        }
        plan.copy(Region::Temp.at(0, 1), Region::Recv.at(0, 1));
    }
    plan
}
