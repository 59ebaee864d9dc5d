//! From the root to everybody. The root has the data in `Send`, the others get it in `Recv`.

use crate::plan::{Plan, Region};
use crate::tree::{after, before, children, parent, share, subtree};

/// The whole message down a binomial tree: ceil(log2 n) rounds.
pub fn binomial(rank: u32, size: u32, root: u32, units: u64) -> Plan {
    let mut plan = Plan::default();
    let rel = before(rank, root, size);
    let data = region(rel).at(0, units);
    if rel > 0 {
        plan.recv(after(parent(rel), root, size), data);
        plan.received();
    }
    for child in children(rel, size).rev() {
        plan.send(after(child, root, size), data);
    }
    plan
}

/// A share for each rank down a binomial tree, then all shares around a ring: ceil(log2 n) + n - 1 rounds, but no rank
/// sends more than about twice the message.
///
/// A rank keeps what passed through it on its way down, so the ring ends early for it.
pub fn scatter_allgather(rank: u32, size: u32, root: u32, units: u64) -> Plan {
    let mut plan = Plan::default();
    let rel = before(rank, root, size);
    let shares = |first: u32, many: u32| {
        let start = share(units, size, first);
        region(rel).at(start, share(units, size, first + many) - start)
    };
    if rel > 0 {
        plan.recv(after(parent(rel), root, size), shares(rel, subtree(rel, size)));
        plan.received();
    }
    for child in children(rel, size).rev() {
        plan.send(after(child, root, size), shares(child, subtree(child, size)));
    }
    let next = after(rel, 1, size);
    for step in 0..size - 1 {
        if step < size - subtree(next, size) {
            plan.send(after(next, root, size), shares(before(rel, step, size), 1));
        }
        if step < size - subtree(rel, size) {
            plan.recv(before(rank, 1, size), shares(before(rel, step + 1, size), 1));
            plan.received();
        }
    }
    plan
}

/// Segments from rank to rank along a chain: n - 2 + (number of segments) rounds, and each rank sends the message once.
pub fn chain(rank: u32, size: u32, root: u32, units: u64, segment: u64) -> Plan {
    let mut plan = Plan::default();
    let rel = before(rank, root, size);
    let segment = segment.max(1);
    let mut start = 0;
    while start < units {
        let piece = region(rel).at(start, segment.min(units - start));
        if rel > 0 {
            plan.recv(before(rank, 1, size), piece);
            plan.received();
        }
        if rel + 1 < size {
            plan.send(after(rank, 1, size), piece);
        }
        start += segment;
    }
    plan
}

fn region(rel: u32) -> Region {
    if rel == 0 { Region::Send } else { Region::Recv }
}
