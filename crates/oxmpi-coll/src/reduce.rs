//! Reduce: combines the operands of all ranks at the root. Operands are always combined in rank
//! order, except in the binomial tree of a commutative operation, which starts at the root.

use crate::accumulate::{Accumulator, Fold, Meeting, Role, halve, part, rounds};
use crate::plan::{Piece, Plan, Region, Side};
use crate::tree::{after, before, children, parent, segments, share};

/// Up a binomial tree: ceil(log2 n) rounds. If the operation does not commute, two trees, of the
/// ranks below the root and of the others, so that each subtree is a range of ranks: at most one
/// round more.
pub fn binomial(rank: u32, size: u32, root: u32, units: u64, commutes: bool, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    let mut acc = accumulator(rank == root, units, in_place);
    let (top, members) = match () {
        _ if commutes => (root, size),
        _ if rank < root => (0, root),
        _ => (root, size - root),
    };
    let rel = before(rank, top, size);
    for child in children(rel, members) {
        acc.absorb(&mut plan, after(child, top, size), (0, units), Side::Right);
    }
    if rank != root {
        plan.send(if rel == 0 { root } else { after(parent(rel), top, size) }, acc.value((0, units)));
        return plan;
    }
    if root > 0 && !commutes {
        acc.absorb(&mut plan, 0, (0, units), Side::Left);
    }
    acc.settle(&mut plan);
    plan
}

/// Rabenseifner's algorithm: recursive halving leaves each rank with a share of the result, and the
/// shares are gathered at the root. 2 log2 n rounds, but no rank sends more than about twice the
/// vector.
pub fn halving(rank: u32, size: u32, root: u32, units: u64, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    let mut acc = accumulator(rank == root, units, in_place);
    let fold = Fold::new(size, Some(root));
    let id = match fold.role(rank) {
        Role::Aside { partner } => {
            plan.send(partner, acc.value((0, units)));
            return plan;
        }
        Role::Id { id, partner } => {
            if let Some((partner, side)) = partner {
                acc.absorb(&mut plan, partner, (0, units), side);
            }
            id
        }
    };
    let parts = 1 << fold.bits;
    let range = |(first, many): (u32, u32)| {
        let start = share(units, parts, first);
        (start, share(units, parts, first + many) - start)
    };
    halve(&mut plan, &mut acc, id, &fold, Meeting::NearFirst, range);
    acc.settle(&mut plan);
    plan.fence();
    let Role::Id { id: root_id, .. } = fold.role(root) else { unreachable!("the root does not stand aside") };
    // In reverse; in each pair the rank that is not on the root's side sends its data and is done.
    for round in rounds(id, fold.bits, Meeting::NearFirst).rev() {
        let bit = id ^ round.partner;
        if (id ^ root_id) & bit != 0 {
            plan.send(fold.rank(round.partner), acc.value(range(round.mine)));
            return plan;
        }
        plan.recv(fold.rank(round.partner), acc.value(range(round.theirs)));
        plan.received();
    }
    plan
}

/// Pipelined segments from both ends of the row of ranks to the root, each rank adding its own
/// operand: at most n - 2 + (number of segments) rounds, and each rank sends the vector once.
pub fn chain(rank: u32, size: u32, root: u32, units: u64, segment: u64, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    let below = (rank <= root && rank > 0).then(|| (rank - 1, Side::Left));
    let above = (rank >= root && rank + 1 < size).then(|| (rank + 1, Side::Right));
    let to = match () {
        _ if rank == root => None,
        _ if rank < root => Some(rank + 1),
        _ => Some(rank - 1),
    };
    let own = if rank == root && in_place { Region::Recv } else { Region::Send };
    let pieces: Vec<(u64, u64)> = segments(units, segment).collect();
    let room = segment.clamp(1, units.max(1));
    let inputs: Vec<(u32, Side)> = above.into_iter().chain(below).collect();
    if inputs.is_empty() {
        for (start, count) in pieces {
            match to {
                Some(to) => plan.send(to, own.at(start, count)),
                None if in_place => {}
                None => plan.copy(own.at(start, count), Region::Recv.at(start, count)),
            }
        }
        return plan;
    }
    // Where the segment from an input is received: two places in turn, so that the next one can
    // arrive at the same time. The first input uses the place of the result, unless the operand is
    // there.
    let place = |input: usize, i: usize| -> Piece {
        let (start, count) = pieces[i];
        match rank == root && input == 0 && !in_place {
            true => Region::Recv.at(start, count),
            false => Region::Temp.at((2 * input + i % 2) as u64 * room, count),
        }
    };
    let receive = |plan: &mut Plan, i: usize| {
        for (input, (from, _)) in inputs.iter().enumerate() {
            plan.recv(*from, place(input, i));
        }
    };
    if !pieces.is_empty() {
        receive(&mut plan, 0);
        plan.received();
    }
    for (i, (start, count)) in pieces.iter().enumerate() {
        if i + 1 < pieces.len() {
            receive(&mut plan, i + 1);
        }
        let own = part(own.at(0, 0), *start, *count);
        let mut result = own;
        for (input, (_, side)) in inputs.iter().enumerate() {
            let came = place(input, i);
            if input == 0 && !(rank == root && in_place) {
                plan.reduce(own, came, side.other());
                result = came;
            } else {
                plan.reduce(came, result, *side);
            }
        }
        if let Some(to) = to {
            plan.send(to, result);
        }
        plan.fence();
    }
    plan
}

/// The root has the result in `Recv`, the others have a part of it in `Temp`.
fn accumulator(root: bool, units: u64, in_place: bool) -> Accumulator {
    match root {
        true => Accumulator::in_recv(units, in_place),
        false => Accumulator::new(Region::Temp.at(0, units), Some(Region::Send.at(0, units)), units),
    }
}
