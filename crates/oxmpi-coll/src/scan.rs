//! Scan: combines the operands of all ranks up to the own one, with it (inclusive) or without
//! (exclusive), in rank order.

use crate::accumulate::Accumulator;
use crate::plan::{Plan, Region, Side};
use crate::tree::segments;

/// In round `k` a rank sends its partial result, the combination of the last `2^k` ranks, to the
/// one `2^k` further. ceil(log2 n) rounds.
pub fn inclusive(rank: u32, size: u32, units: u64, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    grow(&mut plan, Accumulator::in_recv(units, in_place), rank, size, 0);
    plan
}

/// Each rank gets its neighbour's operand and is then one of n - 1 ranks that scan: one round more.
/// `Recv` of rank 0 stays as it is.
pub fn exclusive(rank: u32, size: u32, units: u64, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    let (own, recv) = (if in_place { Region::Recv } else { Region::Send }, Region::Recv.at(0, units));
    let came = if in_place { Region::Temp.at(0, units) } else { recv };
    if rank + 1 < size {
        plan.send(rank + 1, own.at(0, units));
    }
    if rank == 0 {
        return plan;
    }
    plan.recv(rank - 1, came);
    if in_place {
        plan.fence();
        plan.copy(came, recv);
    } else {
        plan.received();
    }
    grow(&mut plan, Accumulator::in_recv(units, true), rank - 1, size - 1, 1);
    plan
}

/// Pipelined segments along the row of ranks, each rank adding its own operand: n - 2 + (number of
/// segments) rounds, and each rank sends the vector once.
pub fn inclusive_chain(rank: u32, size: u32, units: u64, segment: u64, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    let own = if in_place { Region::Recv } else { Region::Send };
    for (start, count) in segments(units, segment) {
        let (own, result) = (own.at(start, count), Region::Recv.at(start, count));
        if rank == 0 {
            if !in_place {
                plan.copy(own, result);
            }
        } else {
            let came = if in_place { Region::Temp.at(0, count) } else { result };
            plan.recv(rank - 1, came);
            plan.received();
            match in_place {
                true => plan.reduce(came, result, Side::Left),
                false => plan.reduce(own, result, Side::Right),
            }
        }
        if rank + 1 < size {
            plan.send(rank + 1, if rank == 0 { own } else { result });
        }
    }
    plan
}

/// The same without the own operand, which is added only to what is sent to the next rank.
pub fn exclusive_chain(rank: u32, size: u32, units: u64, segment: u64, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    let own = if in_place { Region::Recv } else { Region::Send };
    let step = segment.clamp(1, units.max(1));
    for (start, count) in segments(units, segment) {
        let (own, result) = (own.at(start, count), Region::Recv.at(start, count));
        if rank == 0 {
            if size > 1 {
                plan.send(1, own);
            }
            continue;
        }
        // The data for the next rank is made in `Temp`, after the previous send from there is
        // complete.
        let (came, going) = (if in_place { Region::Temp.at(step, count) } else { result }, Region::Temp.at(0, count));
        plan.recv(rank - 1, came);
        plan.fence();
        if rank + 1 < size {
            plan.copy(own, going);
            plan.reduce(came, going, Side::Left);
            plan.send(rank + 1, going);
        }
        if in_place {
            plan.copy(came, result);
        }
    }
    plan
}

/// The rounds of a scan of `size` ranks, the first of which is rank `first` of the communicator.
fn grow(plan: &mut Plan, mut acc: Accumulator, rank: u32, size: u32, first: u32) {
    let mut step = 1;
    while step < size {
        if step < size - rank {
            plan.send(first + rank + step, acc.value(acc.whole()));
        }
        if rank >= step {
            let own = acc.is_own();
            acc.start(plan, first + rank - step, acc.whole());
            if own {
                plan.received()
            } else {
                plan.fence()
            }
            acc.finish(plan, acc.whole(), Side::Left);
        }
        step *= 2;
    }
    acc.settle(plan);
}
