//! Alltoall: each rank sends a different block to each rank. In place, the data to send is in
//! `Recv` and passes through `Temp`.

use crate::gather::BATCH;
use crate::plan::{Blocks, Piece, Plan, Region};
use crate::tree::{after, before};

/// All at once: one round, n - 1 messages. In place only for blocks that are units: all of them are
/// copied aside first.
pub fn linear(rank: u32, size: u32, in_place: bool, send: Blocks, recv: Blocks) -> Plan {
    let mut plan = Plan::default();
    if in_place {
        plan.copy(Region::Recv.at(0, u64::from(size)), Region::Temp.at(0, u64::from(size)));
    }
    for step in 1..size {
        let from = before(rank, step, size);
        plan.recv(from, recv.at(Region::Recv, from));
    }
    for step in 1..size {
        let to = after(rank, step, size);
        plan.send(to, if in_place { Blocks::Units.at(Region::Temp, to) } else { send.at(Region::Send, to) });
    }
    if !in_place {
        plan.copy(send.at(Region::Send, rank), recv.at(Region::Recv, rank));
    }
    plan
}

/// A few partners at a time, and all ranks begin with others: no receiver has more long messages under way than that.
pub fn batched(rank: u32, size: u32, send: Blocks, recv: Blocks) -> Plan {
    let mut plan = Plan::default();
    let steps: Vec<u32> = (1..size).collect();
    for batch in steps.chunks(BATCH) {
        plan.fence();
        for step in batch {
            let from = before(rank, *step, size);
            plan.recv(from, recv.at(Region::Recv, from));
        }
        for step in batch {
            let to = after(rank, *step, size);
            plan.send(to, send.at(Region::Send, to));
        }
    }
    plan.copy(send.at(Region::Send, rank), recv.at(Region::Recv, rank));
    plan
}

/// One partner at a time: n - 1 rounds (n in place, in one of which a rank may have no partner).
pub fn pairwise(rank: u32, size: u32, in_place: bool, send: Blocks, recv: Blocks) -> Plan {
    let mut plan = Plan::default();
    if in_place {
        // The pairs of round `s` are those whose ranks add up to `s`, so both ranks of a pair swap
        // in the same round.
        for partner in (0..size).map(|round| before(round, rank, size)).filter(|partner| *partner != rank) {
            let block = recv.at(Region::Recv, partner);
            let aside = match recv {
                Blocks::Each { bytes } => Region::Temp.at(0, bytes[partner as usize]),
                _ => Region::Temp.at(0, block.count),
            };
            plan.copy(block, aside);
            plan.send(partner, aside);
            plan.recv(partner, block);
            plan.fence();
        }
        return plan;
    }
    plan.copy(send.at(Region::Send, rank), recv.at(Region::Recv, rank));
    for step in 1..size {
        let (to, from) = (after(rank, step, size), before(rank, step, size));
        plan.send(to, send.at(Region::Send, to));
        plan.recv(from, recv.at(Region::Recv, from));
        plan.fence();
    }
    plan
}

/// Bruck's algorithm, ceil(log2 n) rounds of about n/2 blocks: a block travels by the powers of two
/// in its distance.
///
/// A block with the total distance `j` is kept in the position that it would have if it ended
/// there: `Recv[rank - j]`. Its first hop takes it from `Send`, so no rotation is needed before or
/// after.
pub fn bruck(rank: u32, size: u32, in_place: bool) -> Plan {
    let mut plan = Plan::default();
    // Where the packed blocks begin in `Temp`: after the blocks to send, if those are kept there.
    let mut pack = 0;
    let mut out = Region::Send;
    if in_place {
        plan.copy(Region::Recv.at(0, u64::from(size)), Region::Temp.at(0, u64::from(size)));
        (pack, out) = (u64::from(size), Region::Temp);
    } else {
        plan.copy(out.at(u64::from(rank), 1), Region::Recv.at(u64::from(rank), 1));
    }
    let unpack = pack + u64::from(size / 2);
    let mut step = 1;
    while step < size {
        let mut many = 0;
        for run in runs(rank, size, step) {
            plan.copy(out.at(u64::from(after(rank, run.first, size)), 1), Region::Temp.at(pack + many, 1));
            many += 1;
            for place in run.rest() {
                plan.copy(place, Region::Temp.at(pack + many, place.count));
                many += place.count;
            }
        }
        plan.send(after(rank, step, size), Region::Temp.at(pack, many));
        plan.recv(before(rank, step, size), Region::Temp.at(unpack, many));
        plan.fence();
        let mut next = unpack;
        for run in runs(rank, size, step) {
            plan.copy(Region::Temp.at(next, 1), Region::Recv.at(u64::from(before(rank, run.first, size)), 1));
            next += 1;
            for place in run.rest() {
                plan.copy(Region::Temp.at(next, place.count), place);
                next += place.count;
            }
        }
        step *= 2;
    }
    plan
}

/// Distances `first..end` that all have the bit of the round; all but the first have a lower bit
/// too and have travelled.
struct Run {
    rank: u32,
    size: u32,
    first: u32,
    end: u32,
}

impl Run {
    /// The positions of the distances after the first: ascending positions, descending distances,
    /// in two pieces if they wrap around the end. The pieces of the rank that sends them and of the
    /// one that receives them may be cut differently; their order is the same.
    fn rest(&self) -> impl Iterator<Item = Piece> {
        let many = self.end - self.first - 1;
        let start = before(self.rank, self.end - 1, self.size);
        let head = many.min(self.size - start);
        [Region::Recv.at(u64::from(start), u64::from(head)), Region::Recv.at(0, u64::from(many - head))]
            .into_iter()
            .filter(|piece| piece.count > 0)
    }
}

fn runs(rank: u32, size: u32, step: u32) -> impl Iterator<Item = Run> {
    (step..size).step_by(2 * step as usize).map(move |first| Run { rank, size, first, end: (first + step).min(size) })
}
