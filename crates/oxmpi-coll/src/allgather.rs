//! Allgather: each rank sends the same block to all. `send` is the block of this rank, `recv` gives
//! the position of each rank's block; in place, it is already there.

use crate::plan::{Blocks, Piece, Plan, Region};
use crate::tree::{after, before};

/// Each rank to each other, all at once: one round, n - 1 messages.
pub fn linear(rank: u32, size: u32, in_place: bool, send: Piece, recv: Blocks) -> Plan {
    let mut plan = Plan::default();
    let mine = own(&mut plan, rank, in_place, send, recv);
    for step in 1..size {
        let from = before(rank, step, size);
        plan.recv(from, recv.at(Region::Recv, from));
    }
    for step in 1..size {
        plan.send(after(rank, step, size), mine);
    }
    plan
}

/// Around a ring: n - 1 rounds, in each a block to the next rank.
pub fn ring(rank: u32, size: u32, in_place: bool, send: Piece, recv: Blocks) -> Plan {
    let mut plan = Plan::default();
    let mut passing = own(&mut plan, rank, in_place, send, recv);
    for step in 1..size {
        let coming = recv.at(Region::Recv, before(rank, step, size));
        plan.send(after(rank, 1, size), passing);
        plan.recv(before(rank, 1, size), coming);
        plan.received();
        passing = coming;
    }
    plan
}

/// Pairs, then pairs of pairs: log2 n rounds. Only for a power of two, and for contiguous blocks.
pub fn doubling(rank: u32, size: u32, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    own(&mut plan, rank, in_place, Region::Send.at(0, 1), Blocks::Units);
    let mut step = 1;
    while step < size {
        let blocks = |of: u32| Region::Recv.at(u64::from(of & !(step - 1)), u64::from(step));
        plan.send(rank ^ step, blocks(rank));
        plan.recv(rank ^ step, blocks(rank ^ step));
        plan.received();
        step *= 2;
    }
    plan
}

/// Bruck's algorithm: doubling for any number of ranks, ceil(log2 n) rounds. Blocks are collected
/// in `Temp`, the rank's own first, and copied to their positions at the end.
pub fn bruck(rank: u32, size: u32, in_place: bool, send: Piece, recv: Blocks) -> Plan {
    let mut plan = Plan::default();
    let mine = if in_place { recv.at(Region::Recv, rank) } else { send };
    // On rank 0 the own block is first anyway.
    let work = if rank == 0 && recv == Blocks::Units { Region::Recv } else { Region::Temp };
    let mut starts = vec![0u64];
    for block in 0..size {
        let end = starts[block as usize] + recv.at(Region::Recv, after(rank, block, size)).count;
        starts.push(end);
    }
    let blocks = |first: u32, many: u32| {
        let start = starts[first as usize];
        work.at(start, starts[(first + many) as usize] - start)
    };
    if mine != blocks(0, 1) {
        plan.copy(mine, blocks(0, 1));
    }
    let mut step = 1;
    while step < size {
        let many = step.min(size - step);
        plan.send(before(rank, step, size), blocks(0, many));
        plan.recv(after(rank, step, size), blocks(step, many));
        plan.received();
        step *= 2;
    }
    if work == Region::Temp {
        let mut from = work.at(0, 0);
        let mut to = recv.at(Region::Recv, rank);
        to.count = 0;
        for block in 0..size {
            let next = recv.at(Region::Recv, after(rank, block, size));
            if next.offset != to.offset + to.count as i64 {
                plan.copy(from, to);
                from = work.at(starts[block as usize], 0);
                to = Piece { count: 0, ..next };
            }
            from.count += next.count;
            to.count += next.count;
        }
        plan.copy(from, to);
    }
    plan
}

/// Copies the own block of a rank to its position; returns where to send it from.
fn own(plan: &mut Plan, rank: u32, in_place: bool, send: Piece, recv: Blocks) -> Piece {
    let place = recv.at(Region::Recv, rank);
    if in_place {
        return place;
    }
    plan.copy(send, place);
    send
}
