//! Broadcast. The root has the data in `Send`, the others get it in `Recv`.

use crate::plan::{Piece, Plan, Region};
use crate::tree::{after, before, children, parent, segments, share, subtree};

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

/// A share for each rank down a binomial tree, then all shares around a ring: ceil(log2 n) + n - 1
/// rounds, but no rank sends more than about twice the message.
///
/// A rank keeps what passed through it on its way down, so the ring ends early for it.
pub fn scatter_allgather(rank: u32, size: u32, root: u32, units: u64) -> Plan {
    let mut plan = Plan::default();
    let rel = before(rank, root, size);
    scatter(&mut plan, rel, size, units, |rel| after(rel, root, size));
    let next = after(rel, 1, size);
    for step in 0..size - 1 {
        if step < size - subtree(next, size) {
            plan.send(after(next, root, size), shares(rel, size, units, before(rel, step, size), 1));
        }
        if step < size - subtree(rel, size) {
            plan.recv(before(rank, 1, size), shares(rel, size, units, before(rel, step + 1, size), 1));
            plan.received();
        }
    }
    plan
}

/// A share for each rank down a binomial tree, then exchanged with a partner at distance 1, 2, 4,
/// …: 2 log2 n rounds, and the root sends twice the message. Ranks beyond a power of two get all of
/// it in one more round.
///
/// A rank needs nothing from a partner whose shares passed through it on their way down.
pub fn scatter_doubling(rank: u32, size: u32, root: u32, units: u64) -> Plan {
    let mut plan = Plan::default();
    let rel = before(rank, root, size);
    let power = 1 << size.ilog2();
    let peer = |rel: u32| after(rel, root, size);
    if rel >= power {
        plan.recv(peer(rel - power), region(rel).at(0, units));
        return plan;
    }
    scatter(&mut plan, rel, power, units, peer);
    let mut step = 1;
    while step < power {
        let partner = rel ^ step;
        let window = |of: u32| shares(rel, power, units, of & !(step - 1), step);
        if subtree(partner, power) <= step {
            plan.send(peer(partner), window(rel));
        }
        if subtree(rel, power) <= step {
            plan.recv(peer(partner), window(partner));
        }
        // One round at a time: otherwise large messages of later rounds would delay those that
        // others wait for.
        plan.fence();
        step *= 2;
    }
    if rel + power < size {
        plan.send(peer(rel + power), region(rel).at(0, units));
    }
    plan
}

/// Segments from rank to rank along a chain: n - 2 + (number of segments) rounds, and each rank
/// sends the message once.
pub fn chain(rank: u32, size: u32, root: u32, units: u64, segment: u64) -> Plan {
    let mut plan = Plan::default();
    let rel = before(rank, root, size);
    for (start, count) in segments(units, segment) {
        let piece = region(rel).at(start, count);
        if rel > 0 {
            plan.recv(before(rank, 1, size), piece);
            plan.received();
        }
        if rel + 1 < size {
            plan.send(after(rank, 1, size), piece);
        }
    }
    plan
}

/// Gives each of `size` ranks, counted from the root, the shares of its subtree.
fn scatter(plan: &mut Plan, rel: u32, size: u32, units: u64, peer: impl Fn(u32) -> u32) {
    if rel > 0 {
        plan.recv(peer(parent(rel)), shares(rel, size, units, rel, subtree(rel, size)));
        plan.received();
    }
    for child in children(rel, size).rev() {
        plan.send(peer(child), shares(rel, size, units, child, subtree(child, size)));
    }
}

/// A number of shares, in the buffer of the rank `rel` from the root.
fn shares(rel: u32, size: u32, units: u64, first: u32, many: u32) -> Piece {
    let start = share(units, size, first);
    region(rel).at(start, share(units, size, first + many) - start)
}

fn region(rel: u32) -> Region {
    if rel == 0 { Region::Send } else { Region::Recv }
}
