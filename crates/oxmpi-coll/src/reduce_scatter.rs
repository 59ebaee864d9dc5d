//! The combination of the operands of all ranks, a block of it at each rank: `counts[rank]` units, at
//! the start of `Recv`. Operands are in `Send`, or in place in `Recv`, of which only the result's
//! place is written. Some ranks may be in place and others not.

use crate::accumulate::{Accumulator, Fold, Meeting, Role, halve, position};
use crate::plan::{Plan, Region, Side};
use crate::tree::{after, before};

/// How the result is distributed over the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Counts<'a> {
    Equal(u64),
    Given(&'a [u64]),
}

impl Counts<'_> {
    pub(crate) fn of(&self, rank: u32) -> u64 {
        match self {
            Counts::Equal(units) => *units,
            Counts::Given(counts) => counts[rank as usize],
        }
    }

    /// Where each block begins, and at the end where the last one ends.
    pub(crate) fn starts(&self, size: u32) -> Vec<u64> {
        let mut starts = vec![0];
        for rank in 0..size {
            starts.push(starts[rank as usize] + self.of(rank));
        }
        starts
    }
}

/// Recursive halving: about log2 n rounds, two more unless n is a power of two. For an operation
/// that does not commute neighbours exchange first, which needs the blocks in another order; they
/// are copied to `Temp` for this.
pub fn halving(rank: u32, size: u32, counts: Counts, commutes: bool, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    let starts = counts.starts(size);
    let total = starts[size as usize];
    let own = own(in_place).at(0, total);
    let result = Region::Recv.at(0, counts.of(rank));
    let fold = Fold::new(size, None);
    let (id, partner) = match fold.role(rank) {
        Role::Id { id, partner } => (id, partner.map(|(partner, _)| partner)),
        Role::Aside { partner } => {
            plan.send(partner, own);
            plan.fence();
            plan.recv(partner, result);
            return plan;
        }
    };
    if size == 1 {
        if !in_place {
            plan.copy(own, result);
        }
        return plan;
    }
    let mut acc = Accumulator::new(Region::Temp.at(0, total), Some(own), total);
    if let Some(partner) = partner {
        acc.absorb(&mut plan, partner, (0, total), Side::Left);
    }
    // The blocks of an id: two for a pair.
    let blocks = |id: u32| -> (u32, u32) {
        if id < fold.pairs { (2 * id, 2 * id + 2) } else { (id + fold.pairs, id + fold.pairs + 1) }
    };
    let meeting = if commutes { Meeting::FarFirst } else { Meeting::NearFirst };
    // Where the blocks of each position begin.
    let mut places = vec![0];
    for place in 0..1 << fold.bits {
        // Mirroring bits twice gives them back: the id at a position.
        let (first, end) = blocks(position(place, fold.bits, meeting));
        places.push(places[place as usize] + starts[end as usize] - starts[first as usize]);
    }
    if !commutes {
        for place in 0..1 << fold.bits {
            let (first, end) = blocks(position(place, fold.bits, meeting));
            let (start, count) = (starts[first as usize], starts[end as usize] - starts[first as usize]);
            plan.copy(acc.value((start, count)), Region::Temp.at(total + places[place as usize], count));
        }
        acc = Accumulator::new(Region::Temp.at(total, total), None, 0);
    }
    let range = |(first, many): (u32, u32)| {
        let start = places[first as usize];
        (start, places[(first + many) as usize] - start)
    };
    halve(&mut plan, &mut acc, id, &fold, meeting, range);
    // The data that was sent may be where the result goes.
    if in_place {
        plan.fence();
    }
    let (start, count) = range((position(id, fold.bits, meeting), 1));
    let mine = counts.of(rank);
    if let Some(partner) = partner {
        plan.send(partner, acc.value((start, count - mine)));
    }
    plan.copy(acc.value((start + count - mine, mine)), result);
    plan
}

/// Each rank gets the operands of its block one after the other: n - 1 rounds, and no operand is
/// sent twice. They come from the lower ranks in descending order, then from the last rank in
/// descending order; if the operation does not commute, the latter are combined separately first.
pub fn pairwise(rank: u32, size: u32, counts: Counts, commutes: bool, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    let starts = counts.starts(size);
    let block = |of: u32| own(in_place).at(starts[of as usize], counts.of(of));
    let (mine, result) = (block(rank), Region::Recv.at(0, counts.of(rank)));
    let count = result.count;
    // In place, operands for other ranks are where the result goes until they are sent.
    let (home, free) = if in_place { (Region::Temp.at(0, count), count) } else { (result, 0) };
    let mut low = Accumulator::new(home, Some(mine), free);
    let above = Region::Temp.at(free + count, count);
    let mut high: Option<Accumulator> = None;
    for step in 1..size {
        let (to, from) = (after(rank, step, size), before(rank, step, size));
        plan.send(to, block(to));
        match &mut high {
            _ if commutes || from < rank => exchange(&mut plan, &mut low, from),
            Some(high) => exchange(&mut plan, high, from),
            None => {
                plan.recv(from, above);
                plan.fence();
                high = Some(Accumulator::new(above, None, free));
            }
        }
    }
    if high.is_some() {
        low.settle(&mut plan);
        plan.reduce(above, home, Side::Right);
    }
    if size == 1 && in_place {
        return plan;
    }
    low.settle(&mut plan);
    if home != result {
        plan.fence();
        plan.copy(home, result);
    }
    plan
}

fn exchange(plan: &mut Plan, acc: &mut Accumulator, from: u32) {
    acc.start(plan, from, acc.whole());
    plan.fence();
    acc.finish(plan, acc.whole(), Side::Left);
}

fn own(in_place: bool) -> Region {
    if in_place { Region::Recv } else { Region::Send }
}
