//! An operation of one group, with its shape, and the way from it and an algorithm to a plan.
//!
//! Which algorithm is taken is decided in [`crate::choose`]; here is only which ones give the right result.

use crate::choose::{Algorithm, Facts, Kind, Shape};
use crate::plan::{Blocks, Plan, Region};
use crate::reduce_scatter::Counts;
use crate::{allgather, allreduce, alltoall, barrier, bcast, gather, reduce, reduce_scatter, scan, scatter};

/// An operation of one group, with its shape in units (see [`Region`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation<'a> {
    Barrier,
    Bcast {
        root: u32,
        units: u64,
    },
    Gather {
        root: u32,
        in_place: bool,
    },
    /// `recv` is looked at only at the root.
    Gatherv {
        root: u32,
        in_place: bool,
        send: u64,
        recv: Blocks<'a>,
    },
    Scatter {
        root: u32,
        in_place: bool,
    },
    /// `send` is looked at only at the root.
    Scatterv {
        root: u32,
        in_place: bool,
        send: Blocks<'a>,
        recv: u64,
    },
    Allgather {
        in_place: bool,
    },
    Allgatherv {
        in_place: bool,
        send: u64,
        recv: Blocks<'a>,
    },
    Alltoall {
        in_place: bool,
    },
    /// With [`Blocks::Spread`] for `v`, [`Blocks::Each`] for `w`; in place, `send` is not looked at.
    Alltoallv {
        in_place: bool,
        send: Blocks<'a>,
        recv: Blocks<'a>,
    },
    Reduce {
        root: u32,
        units: u64,
        commutes: bool,
        in_place: bool,
    },
    Allreduce {
        units: u64,
        commutes: bool,
        in_place: bool,
    },
    /// Of equal blocks and of given ones.
    ReduceScatter {
        counts: Counts<'a>,
        commutes: bool,
        in_place: bool,
    },
    Scan {
        units: u64,
        in_place: bool,
    },
    Exscan {
        units: u64,
        in_place: bool,
    },
}

/// The plan of a rank. `None` if the operation cannot be done in this way.
pub fn plan(operation: &Operation, algorithm: Algorithm, rank: u32, size: u32, unit_bytes: u64) -> Option<Plan> {
    plan_in_segments(operation, algorithm, rank, size, segment_units(unit_bytes))
}

/// The same with segments of so many units in a pipeline.
pub(crate) fn plan_in_segments(
    operation: &Operation,
    algorithm: Algorithm,
    rank: u32,
    size: u32,
    segment: u64,
) -> Option<Plan> {
    if !operation.allows(algorithm, size) {
        return None;
    }
    let (one, block) = (Region::Send.at(0, 1), Region::Recv.at(0, 1));
    let units = Blocks::Units;
    use Algorithm::*;
    let plan = match (*operation, algorithm) {
        (Operation::Barrier, Dissemination) => barrier::dissemination(rank, size),

        (Operation::Bcast { root, units }, Binomial) => bcast::binomial(rank, size, root, units),
        (Operation::Bcast { root, units }, ScatterAllgather) => bcast::scatter_allgather(rank, size, root, units),
        (Operation::Bcast { root, units }, ScatterDoubling) => bcast::scatter_doubling(rank, size, root, units),
        (Operation::Bcast { root, units }, Chain) => bcast::chain(rank, size, root, units, segment),

        (Operation::Gather { root, in_place }, Linear) => gather::linear(rank, size, root, in_place, one, units),
        (Operation::Gather { root, in_place }, Batched) => gather::batched(rank, size, root, in_place, one, units),
        (Operation::Gather { root, in_place }, Binomial) => gather::binomial(rank, size, root, in_place),
        (Operation::Gatherv { root, in_place, send, recv }, Linear) => {
            gather::linear(rank, size, root, in_place, Region::Send.at(0, send), recv)
        }
        (Operation::Gatherv { root, in_place, send, recv }, Batched) => {
            gather::batched(rank, size, root, in_place, Region::Send.at(0, send), recv)
        }

        (Operation::Scatter { root, in_place }, Linear) => scatter::linear(rank, size, root, in_place, units, block),
        (Operation::Scatter { root, in_place }, Binomial) => scatter::binomial(rank, size, root, in_place),
        (Operation::Scatterv { root, in_place, send, recv }, Linear) => {
            scatter::linear(rank, size, root, in_place, send, Region::Recv.at(0, recv))
        }

        (Operation::Allgather { in_place }, Linear) => allgather::linear(rank, size, in_place, one, units),
        (Operation::Allgather { in_place }, Ring) => allgather::ring(rank, size, in_place, one, units),
        (Operation::Allgather { in_place }, Doubling) => allgather::doubling(rank, size, in_place),
        (Operation::Allgather { in_place }, Bruck) => allgather::bruck(rank, size, in_place, one, units),
        (Operation::Allgatherv { in_place, send, recv }, Linear) => {
            allgather::linear(rank, size, in_place, Region::Send.at(0, send), recv)
        }
        (Operation::Allgatherv { in_place, send, recv }, Ring) => {
            allgather::ring(rank, size, in_place, Region::Send.at(0, send), recv)
        }
        (Operation::Allgatherv { in_place, send, recv }, Bruck) => {
            allgather::bruck(rank, size, in_place, Region::Send.at(0, send), recv)
        }

        (Operation::Alltoall { in_place }, Linear) => alltoall::linear(rank, size, in_place, units, units),
        (Operation::Alltoall { .. }, Batched) => alltoall::batched(rank, size, units, units),
        (Operation::Alltoall { in_place }, Pairwise) => alltoall::pairwise(rank, size, in_place, units, units),
        (Operation::Alltoall { in_place }, Bruck) => alltoall::bruck(rank, size, in_place),
        (Operation::Alltoallv { in_place, send, recv }, Linear) => alltoall::linear(rank, size, in_place, send, recv),
        (Operation::Alltoallv { send, recv, .. }, Batched) => alltoall::batched(rank, size, send, recv),
        (Operation::Alltoallv { in_place, send, recv }, Pairwise) => {
            alltoall::pairwise(rank, size, in_place, send, recv)
        }

        (Operation::Reduce { root, units, commutes, in_place }, Binomial) => {
            reduce::binomial(rank, size, root, units, commutes, in_place)
        }
        (Operation::Reduce { root, units, in_place, .. }, Halving) => {
            reduce::halving(rank, size, root, units, in_place)
        }
        (Operation::Reduce { root, units, in_place, .. }, Chain) => {
            reduce::chain(rank, size, root, units, segment, in_place)
        }

        (Operation::Allreduce { units, in_place, .. }, Doubling) => allreduce::doubling(rank, size, units, in_place),
        (Operation::Allreduce { units, in_place, .. }, Halving) => allreduce::halving(rank, size, units, in_place),
        (Operation::Allreduce { units, in_place, .. }, Ring) => allreduce::ring(rank, size, units, in_place),

        (Operation::ReduceScatter { counts, commutes, in_place }, Halving) => {
            reduce_scatter::halving(rank, size, counts, commutes, in_place)
        }
        (Operation::ReduceScatter { counts, commutes, in_place }, Pairwise) => {
            reduce_scatter::pairwise(rank, size, counts, commutes, in_place)
        }

        (Operation::Scan { units, in_place }, Doubling) => scan::inclusive(rank, size, units, in_place),
        (Operation::Scan { units, in_place }, Chain) => scan::inclusive_chain(rank, size, units, segment, in_place),
        (Operation::Exscan { units, in_place }, Doubling) => scan::exclusive(rank, size, units, in_place),
        (Operation::Exscan { units, in_place }, Chain) => scan::exclusive_chain(rank, size, units, segment, in_place),
        _ => return None,
    };
    Some(plan)
}

/// The bytes of a segment in a pipeline.
const SEGMENT: u64 = 64 << 10;

pub(crate) fn segment_units(unit_bytes: u64) -> u64 {
    (SEGMENT / unit_bytes.max(1)).max(1)
}

impl Operation<'_> {
    /// Whether the algorithm gives the right result. What does not commute needs one that keeps the order of ranks.
    pub fn allows(&self, algorithm: Algorithm, size: u32) -> bool {
        match (self, algorithm) {
            (Operation::Allgather { .. }, Algorithm::Doubling) => size.is_power_of_two(),
            (Operation::Allreduce { commutes, .. }, Algorithm::Ring) => *commutes,
            (Operation::Alltoallv { in_place, .. }, Algorithm::Linear | Algorithm::Batched) => !in_place,
            (Operation::Alltoall { in_place }, Algorithm::Batched) => !in_place,
            _ => algorithms(self.kind()).contains(&algorithm),
        }
    }

    /// All algorithms that it allows.
    pub fn algorithms(&self, size: u32) -> impl Iterator<Item = Algorithm> {
        algorithms(self.kind()).iter().copied().filter(move |algorithm| self.allows(*algorithm, size))
    }

    /// What the table looks at, where ranks send each other messages. `unit_bytes`: the size of a unit; of an operation in
    /// blocks, of one block.
    pub fn shape(&self, ranks: u32, unit_bytes: u64) -> Shape {
        let facts = match *self {
            Operation::Reduce { commutes, .. }
            | Operation::Allreduce { commutes, .. }
            | Operation::ReduceScatter { commutes, .. } => Facts::COMMUTES.when(commutes),
            Operation::Alltoallv { in_place, .. } => Facts::APART.when(!in_place),
            _ => Facts::NONE,
        };
        let bytes = self.measure(ranks).saturating_mul(unit_bytes);
        Shape::new(self.kind(), ranks, bytes, facts)
    }

    /// The same operation, unless it has arrays of the program.
    pub fn without_arrays(&self) -> Option<Operation<'static>> {
        use Operation::*;
        Some(match *self {
            Barrier => Barrier,
            Bcast { root, units } => Bcast { root, units },
            Gather { root, in_place } => Gather { root, in_place },
            Scatter { root, in_place } => Scatter { root, in_place },
            Allgather { in_place } => Allgather { in_place },
            Alltoall { in_place } => Alltoall { in_place },
            Reduce { root, units, commutes, in_place } => Reduce { root, units, commutes, in_place },
            Allreduce { units, commutes, in_place } => Allreduce { units, commutes, in_place },
            Scan { units, in_place } => Scan { units, in_place },
            Exscan { units, in_place } => Exscan { units, in_place },
            ReduceScatter { counts: Counts::Equal(units), commutes, in_place } => {
                ReduceScatter { counts: Counts::Equal(units), commutes, in_place }
            }
            Gatherv { .. } | Scatterv { .. } | Allgatherv { .. } | Alltoallv { .. } | ReduceScatter { .. } => {
                return None;
            }
        })
    }

    /// Whether operands may be combined in any order; true where there are none.
    pub(crate) fn commutes(&self) -> bool {
        match *self {
            Operation::Reduce { commutes, .. }
            | Operation::Allreduce { commutes, .. }
            | Operation::ReduceScatter { commutes, .. } => commutes,
            Operation::Scan { .. } | Operation::Exscan { .. } => false,
            _ => true,
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Operation::Barrier => Kind::Barrier,
            Operation::Bcast { .. } => Kind::Bcast,
            Operation::Gather { .. } => Kind::Gather,
            Operation::Gatherv { .. } => Kind::Gatherv,
            Operation::Scatter { .. } => Kind::Scatter,
            Operation::Scatterv { .. } => Kind::Scatterv,
            Operation::Allgather { .. } => Kind::Allgather,
            Operation::Allgatherv { .. } => Kind::Allgatherv,
            Operation::Alltoall { .. } => Kind::Alltoall,
            Operation::Alltoallv { .. } => Kind::Alltoallv,
            Operation::Reduce { .. } => Kind::Reduce,
            Operation::Allreduce { .. } => Kind::Allreduce,
            Operation::ReduceScatter { .. } => Kind::ReduceScatter,
            Operation::Scan { .. } => Kind::Scan,
            Operation::Exscan { .. } => Kind::Exscan,
        }
    }

    /// The units that the table measures.
    fn measure(&self, size: u32) -> u64 {
        match self {
            Operation::Bcast { units, .. }
            | Operation::Reduce { units, .. }
            | Operation::Allreduce { units, .. }
            | Operation::Scan { units, .. }
            | Operation::Exscan { units, .. } => *units,
            Operation::Gather { .. }
            | Operation::Scatter { .. }
            | Operation::Allgather { .. }
            | Operation::Alltoall { .. } => 1,
            Operation::Allgatherv { recv, .. } => (0..size).map(|i| recv.at(Region::Recv, i).count).sum(),
            Operation::ReduceScatter { counts: Counts::Equal(units), .. } => units * u64::from(size),
            Operation::ReduceScatter { counts: Counts::Given(counts), .. } => counts.iter().sum(),
            Operation::Barrier
            | Operation::Gatherv { .. }
            | Operation::Scatterv { .. }
            | Operation::Alltoallv { .. } => 0,
        }
    }
}

/// All ways to do an operation by messages.
fn algorithms(kind: Kind) -> &'static [Algorithm] {
    use Algorithm::*;
    match kind {
        Kind::Barrier => &[Dissemination],
        Kind::Bcast => &[Binomial, ScatterDoubling, ScatterAllgather, Chain],
        Kind::Gather => &[Linear, Batched, Binomial],
        Kind::Scatter => &[Linear, Binomial],
        Kind::Gatherv => &[Linear, Batched],
        Kind::Scatterv => &[Linear],
        Kind::Allgather => &[Linear, Ring, Bruck, Doubling],
        Kind::Allgatherv => &[Linear, Ring, Bruck],
        Kind::Alltoall => &[Linear, Batched, Pairwise, Bruck],
        Kind::Alltoallv => &[Linear, Batched, Pairwise],
        Kind::Neighbors => &[Linear],
        Kind::Reduce => &[Binomial, Halving, Chain],
        Kind::Allreduce => &[Doubling, Halving, Ring],
        Kind::ReduceScatter => &[Halving, Pairwise],
        Kind::Scan | Kind::Exscan => &[Doubling, Chain],
    }
}
