//! Allreduce: combines the operands of all ranks at all ranks. All ranks get the same bits: an
//! element is combined either by one rank alone or by all ranks in the same order.

use crate::accumulate::{Accumulator, Fold, Meeting, Role, halve, rounds};
use crate::plan::{Plan, Region, Side};
use crate::tree::{after, before, share};

/// Pairs exchange what they have, then pairs of pairs: log2 n rounds, and two more unless n is a
/// power of two. In the order of ranks.
pub fn doubling(rank: u32, size: u32, units: u64, in_place: bool) -> Plan {
    folded(rank, size, units, in_place, |plan, acc, id, fold| {
        for bit in 0..fold.bits {
            let partner = id ^ (1 << bit);
            let side = if partner < id { Side::Left } else { Side::Right };
            acc.exchange(plan, fold.rank(partner), acc.whole(), acc.whole(), side);
        }
    })
}

/// Rabenseifner's algorithm: recursive halving and back. 2 log2 n rounds, but no rank sends more
/// than about twice the vector (three times unless n is a power of two). In the order of ranks.
pub fn halving(rank: u32, size: u32, units: u64, in_place: bool) -> Plan {
    folded(rank, size, units, in_place, |plan, acc, id, fold| {
        let parts = 1 << fold.bits;
        let range = |(first, many): (u32, u32)| {
            let start = share(units, parts, first);
            (start, share(units, parts, first + many) - start)
        };
        halve(plan, acc, id, fold, Meeting::NearFirst, range);
        acc.settle(plan);
        plan.fence();
        for round in rounds(id, fold.bits, Meeting::NearFirst).rev() {
            let partner = fold.rank(round.partner);
            plan.send(partner, acc.value(range(round.mine)));
            plan.recv(partner, acc.value(range(round.theirs)));
            plan.received();
        }
    })
}

/// A share for each rank, twice around a ring: 2 (n - 1) rounds, and no rank sends more than twice
/// the vector. Only for operations that commute.
pub fn ring(rank: u32, size: u32, units: u64, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    let (next, previous) = (after(rank, 1, size), before(rank, 1, size));
    let block = |region: Region, of: u32| {
        let start = share(units, size, of);
        region.at(start, share(units, size, of + 1) - start)
    };
    if size == 1 {
        if !in_place {
            plan.copy(Region::Send.at(0, units), Region::Recv.at(0, units));
        }
        return plan;
    }
    let own = if in_place { Region::Recv } else { Region::Send };
    for step in 0..size - 1 {
        let (going, coming) = (before(rank, step, size), before(rank, step + 1, size));
        plan.send(next, block(if step == 0 { own } else { Region::Recv }, going));
        let mut arrived = block(Region::Recv, coming);
        if in_place {
            arrived = Region::Temp.at(0, arrived.count);
        }
        plan.recv(previous, arrived);
        plan.received();
        if in_place {
            plan.reduce(arrived, block(Region::Recv, coming), Side::Left);
        } else {
            plan.reduce(block(Region::Send, coming), arrived, Side::Right);
        }
    }
    plan.fence();
    for step in 0..size - 1 {
        plan.send(next, block(Region::Recv, before(next, step, size)));
        plan.recv(previous, block(Region::Recv, before(rank, step, size)));
        plan.received();
    }
    plan
}

/// Extends an algorithm for a power of two to any number: ranks beyond it give their operand to a
/// neighbour and get the result.
fn folded(
    rank: u32,
    size: u32,
    units: u64,
    in_place: bool,
    among: impl FnOnce(&mut Plan, &mut Accumulator, u32, &Fold),
) -> Plan {
    let mut plan = Plan::default();
    let mut acc = Accumulator::in_recv(units, in_place);
    let fold = Fold::new(size, None);
    match fold.role(rank) {
        Role::Aside { partner } => {
            plan.send(partner, acc.value((0, units)));
            plan.fence();
            plan.recv(partner, Region::Recv.at(0, units));
        }
        Role::Id { id, partner } => {
            if let Some((partner, side)) = partner {
                acc.absorb(&mut plan, partner, (0, units), side);
            }
            among(&mut plan, &mut acc, id, &fold);
            acc.settle(&mut plan);
            if let Some((partner, _)) = partner {
                plan.send(partner, acc.value((0, units)));
            }
        }
    }
    plan
}
