//! Common parts of the reductions: a partial result that grows from the left and from the right,
//! and recursive halving.

use crate::plan::{Piece, Plan, Region, Side};

/// The partial result of one rank. At first it is the rank's own operand, which may not be written;
/// the first operand from another rank is received in the place of the result and combined with it,
/// so nothing is copied.
pub(crate) struct Accumulator {
    /// Where the result grows; pieces below count from the offset of these two.
    home: Piece,
    /// The rank's own operand, until it is part of what is in `home`.
    own: Option<Piece>,
    /// The first free unit of `Temp`.
    scratch: u64,
}

impl Accumulator {
    /// `own` in another place than `home`; `None`: it is there already.
    pub(crate) fn new(home: Piece, own: Option<Piece>, scratch: u64) -> Accumulator {
        Accumulator { home, own, scratch }
    }

    /// For results in `Recv` of operands in `Send`, or in place; `scratch` begins at the start of
    /// `Temp`.
    pub(crate) fn in_recv(units: u64, in_place: bool) -> Accumulator {
        Accumulator::new(Region::Recv.at(0, units), (!in_place).then(|| Region::Send.at(0, units)), 0)
    }

    pub(crate) fn whole(&self) -> (u64, u64) {
        (0, self.home.count)
    }

    /// Where `count` units from `start` of the value are now.
    pub(crate) fn value(&self, (start, count): (u64, u64)) -> Piece {
        part(self.own.unwrap_or(self.home), start, count)
    }

    /// Receives an operand and combines it. No part of the value there may be in the process of
    /// being sent.
    pub(crate) fn absorb(&mut self, plan: &mut Plan, from: u32, range: (u64, u64), side: Side) {
        self.start(plan, from, range);
        plan.received();
        self.finish(plan, range, side);
    }

    /// Sends one part and receives an operand for another, or both for the same part.
    pub(crate) fn exchange(&mut self, plan: &mut Plan, with: u32, give: (u64, u64), keep: (u64, u64), side: Side) {
        plan.send(with, self.value(give));
        self.start(plan, with, keep);
        if self.own.is_none() && give == keep {
            plan.fence()
        } else {
            plan.received()
        }
        self.finish(plan, keep, side);
    }

    /// Receives an operand that [`finish`](Self::finish) combines.
    pub(crate) fn start(&self, plan: &mut Plan, from: u32, (start, count): (u64, u64)) {
        let to = match self.own {
            Some(_) => part(self.home, start, count),
            None => Region::Temp.at(self.scratch, count),
        };
        plan.recv(from, to);
    }

    /// Combines what was received from `side`.
    pub(crate) fn finish(&mut self, plan: &mut Plan, (start, count): (u64, u64), side: Side) {
        let home = part(self.home, start, count);
        match self.own.take() {
            Some(own) => plan.reduce(part(own, start, count), home, side.other()),
            None => plan.reduce(Region::Temp.at(self.scratch, count), home, side),
        }
    }

    /// Whether the value is still the rank's own operand.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Makes sure that the value is in `home`, also if no operand came.
    pub(crate) fn settle(&mut self, plan: &mut Plan) {
        if let Some(own) = self.own.take() {
            plan.copy(own, self.home);
        }
    }
}

pub(crate) fn part(of: Piece, start: u64, count: u64) -> Piece {
    Piece { offset: of.offset + start as i64, count, ..of }
}

/// Ranks beyond the largest power of two give their operand to a neighbour and are idle. The others
/// have an id.
pub(crate) struct Fold {
    /// log2 of the number of ids.
    pub(crate) bits: u32,
    /// The first `2 * pairs` ranks are pairs with one id each.
    pub(crate) pairs: u32,
    /// The rank that is not idle even if it is the lower one of its pair.
    stays: Option<u32>,
}

pub(crate) enum Role {
    /// Takes part, for a neighbour too if there is one.
    Id { id: u32, partner: Option<(u32, Side)> },
    /// Idle; the neighbour does the work.
    Aside { partner: u32 },
}

impl Fold {
    pub(crate) fn new(size: u32, stays: Option<u32>) -> Fold {
        let bits = size.ilog2();
        Fold { bits, pairs: size - (1 << bits), stays }
    }

    pub(crate) fn role(&self, rank: u32) -> Role {
        if rank >= 2 * self.pairs {
            return Role::Id { id: rank - self.pairs, partner: None };
        }
        let partner = rank ^ 1;
        match self.rank(rank / 2) == rank {
            true => Role::Id { id: rank / 2, partner: Some((partner, side_of(partner, rank))) },
            false => Role::Aside { partner },
        }
    }

    /// The rank that has an id.
    pub(crate) fn rank(&self, id: u32) -> u32 {
        match id < self.pairs {
            true if self.stays == Some(2 * id) => 2 * id,
            true => 2 * id + 1,
            false => id + self.pairs,
        }
    }
}

pub(crate) fn side_of(other: u32, me: u32) -> Side {
    if other < me { Side::Left } else { Side::Right }
}

/// Which ids, differing in one bit, exchange in which round of [`halve`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// Neighbours first: the operands are always a range of ranks and the next range, so their
    /// order is kept. The parts that ids end up with are in bit-reversed order.
    NearFirst,
    /// The most distant first: ids end up with parts in their own order, but operands are not
    /// combined in order.
    FarFirst,
}

/// The part that an id ends up with.
pub(crate) fn position(id: u32, bits: u32, meeting: Meeting) -> u32 {
    match meeting {
        Meeting::FarFirst => id,
        Meeting::NearFirst if bits == 0 => 0,
        Meeting::NearFirst => id.reverse_bits() >> (32 - bits),
    }
}

/// A round of recursive halving: the id of the partner, and the first and the number of the parts
/// that each keeps.
pub(crate) struct Round {
    pub(crate) partner: u32,
    pub(crate) mine: (u32, u32),
    pub(crate) theirs: (u32, u32),
}

pub(crate) fn rounds(id: u32, bits: u32, meeting: Meeting) -> impl DoubleEndedIterator<Item = Round> {
    let position = position(id, bits, meeting);
    (0..bits).map(move |round| {
        let far = bits - 1 - round;
        let bit = if meeting == Meeting::NearFirst { round } else { far };
        let first = |position: u32| (position >> far << far, 1 << far);
        Round { partner: id ^ (1 << bit), mine: first(position), theirs: first(position ^ (1 << far)) }
    })
}

/// Scatters the reduction over the ids: each is left with the value of its part. `range` gives the
/// units of a number of parts.
pub(crate) fn halve(
    plan: &mut Plan,
    acc: &mut Accumulator,
    id: u32,
    fold: &Fold,
    meeting: Meeting,
    range: impl Fn((u32, u32)) -> (u64, u64),
) {
    for round in rounds(id, fold.bits, meeting) {
        let side = side_of(round.partner, id);
        acc.exchange(plan, fold.rank(round.partner), range(round.theirs), range(round.mine), side);
    }
}
