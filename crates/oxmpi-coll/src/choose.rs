//! Chooses the algorithm of each operation: one table, and the step from a choice to a plan.
//!
//! All ranks must make the same choice. The table therefore uses only facts that are equal on all
//! ranks: never a buffer that only some have, counts that only the root knows, or "in place" where
//! each rank decides it.

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
    /// `recv` is used only at the root.
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
    /// `send` is used only at the root.
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
    /// With [`Blocks::Spread`] for `v`, [`Blocks::Each`] for `w`; in place, `send` is not used.
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
    /// With equal blocks, or with given ones.
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

/// An algorithm. The same name stands for the same idea in several operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// All messages at once, directly from their source to their destination.
    Linear,
    /// A tree with a root of log2 n children.
    Binomial,
    /// Each rank signals the one `2^k` further.
    Dissemination,
    /// Exchange with a partner at distance 1, 2, 4, …
    Doubling,
    /// Doubling for any number of ranks, through packed blocks.
    Bruck,
    /// Recursive halving (and then gathering of the shares).
    Halving,
    /// Shares down a tree, then around a ring.
    ScatterAllgather,
    /// Shares down a tree, then doubled.
    ScatterDoubling,
    /// From neighbour to neighbour, once around.
    Ring,
    /// One partner at a time.
    Pairwise,
    /// Segments along the row of ranks.
    Chain,
}

/// Chooses an algorithm. `unit_bytes`: the size of a unit, or of a block for operations in blocks.
pub fn choose(operation: &Operation, size: u32, unit_bytes: u64) -> Algorithm {
    let bytes = operation.measure(size).saturating_mul(unit_bytes);
    let kind = operation.kind();
    let fits = |rule: &&Rule| {
        let only = rule.only == Only::Any || size.is_power_of_two();
        rule.kind == kind && size <= rule.ranks && bytes <= rule.bytes && only && operation.allows(rule.algorithm, size)
    };
    TABLE.iter().find(fits).map_or(Algorithm::Linear, |rule| rule.algorithm)
}

/// The plan of a rank. `None` if the algorithm cannot do the operation.
pub fn plan(operation: &Operation, algorithm: Algorithm, rank: u32, size: u32, unit_bytes: u64) -> Option<Plan> {
    if !operation.allows(algorithm, size) {
        return None;
    }
    let segment = segment_units(unit_bytes);
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
        (Operation::Gather { root, in_place }, Binomial) => gather::binomial(rank, size, root, in_place),
        (Operation::Gatherv { root, in_place, send, recv }, Linear) => {
            gather::linear(rank, size, root, in_place, Region::Send.at(0, send), recv)
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
        (Operation::Alltoall { in_place }, Pairwise) => alltoall::pairwise(rank, size, in_place, units, units),
        (Operation::Alltoall { in_place }, Bruck) => alltoall::bruck(rank, size, in_place),
        (Operation::Alltoallv { in_place, send, recv }, Linear) => alltoall::linear(rank, size, in_place, send, recv),
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

/// The choice for a call, as text.
pub fn describe(operation: &Operation, algorithm: Algorithm, size: u32, unit_bytes: u64) -> String {
    let kind = operation.kind();
    let bytes = operation.measure(size).saturating_mul(unit_bytes);
    let measured = kind.measured().map_or(String::new(), |what| format!(", {bytes} bytes {what}"));
    format!("{} on {size} ranks{measured}: {}", kind.name(), algorithm.describe())
}

/// The whole table, as text.
pub fn table() -> String {
    let mut text = String::from("operation        ranks up to  bytes up to  only             algorithm\n");
    for rule in TABLE {
        let limit = |n: u64, none: u64| if n == none { "any".to_string() } else { n.to_string() };
        text.push_str(&format!(
            "{:15}  {:>11}  {:>11}  {:15}  {}\n",
            rule.kind.name(),
            limit(rule.ranks.into(), ANY_RANKS.into()),
            limit(rule.bytes, ANY_BYTES),
            if rule.only == Only::Any { "" } else { "powers of two" },
            rule.algorithm.describe()
        ));
    }
    text
}

/// The bytes of a segment in a pipeline.
const SEGMENT: u64 = 64 << 10;

pub(crate) fn segment_units(unit_bytes: u64) -> u64 {
    (SEGMENT / unit_bytes.max(1)).max(1)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Barrier,
    Bcast,
    Gather,
    Gatherv,
    Scatter,
    Scatterv,
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
    Reduce,
    Allreduce,
    ReduceScatter,
    Scan,
    Exscan,
}

/// A rule holds up to a number of ranks and a number of bytes, which [`Kind::measured`] defines.
/// The first rule that fits is taken, and each kind has one that always fits. A rule whose
/// algorithm the operation does not allow is skipped.
struct Rule {
    kind: Kind,
    ranks: u32,
    bytes: u64,
    only: Only,
    algorithm: Algorithm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Only {
    Any,
    PowersOfTwo,
}

const ANY_RANKS: u32 = u32::MAX;
const ANY_BYTES: u64 = u64::MAX;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

const fn rule(kind: Kind, ranks: u32, bytes: u64, algorithm: Algorithm) -> Rule {
    Rule { kind, ranks, bytes, only: Only::Any, algorithm }
}

const fn power_of_two(kind: Kind, ranks: u32, bytes: u64, algorithm: Algorithm) -> Rule {
    Rule { kind, ranks, bytes, only: Only::PowersOfTwo, algorithm }
}

const TABLE: &[Rule] = &[
    rule(Kind::Barrier, ANY_RANKS, ANY_BYTES, Algorithm::Dissemination),
    rule(Kind::Bcast, 64, 16 * KIB, Algorithm::Binomial),
    rule(Kind::Bcast, 2, ANY_BYTES, Algorithm::Binomial),
    rule(Kind::Bcast, 3, ANY_BYTES, Algorithm::Chain),
    rule(Kind::Bcast, ANY_RANKS, 8 * KIB, Algorithm::Binomial),
    rule(Kind::Bcast, ANY_RANKS, 512 * KIB, Algorithm::ScatterDoubling),
    rule(Kind::Bcast, 8, ANY_BYTES, Algorithm::Chain),
    rule(Kind::Bcast, 64, 2 * MIB, Algorithm::ScatterAllgather),
    rule(Kind::Bcast, 64, ANY_BYTES, Algorithm::Chain),
    rule(Kind::Bcast, ANY_RANKS, ANY_BYTES, Algorithm::ScatterDoubling),
    rule(Kind::Gather, 8, 2 * KIB, Algorithm::Binomial),
    rule(Kind::Gather, 8, ANY_BYTES, Algorithm::Linear),
    rule(Kind::Gather, ANY_RANKS, 16 * KIB, Algorithm::Binomial),
    rule(Kind::Gather, ANY_RANKS, ANY_BYTES, Algorithm::Linear),
    rule(Kind::Gatherv, ANY_RANKS, ANY_BYTES, Algorithm::Linear),
    rule(Kind::Scatter, 8, 2 * KIB, Algorithm::Binomial),
    rule(Kind::Scatter, 8, ANY_BYTES, Algorithm::Linear),
    rule(Kind::Scatter, ANY_RANKS, 16 * KIB, Algorithm::Binomial),
    rule(Kind::Scatter, ANY_RANKS, ANY_BYTES, Algorithm::Linear),
    rule(Kind::Scatterv, ANY_RANKS, ANY_BYTES, Algorithm::Linear),
    power_of_two(Kind::Allgather, ANY_RANKS, 32 * KIB, Algorithm::Doubling),
    rule(Kind::Allgather, 64, 8 * KIB, Algorithm::Bruck),
    rule(Kind::Allgather, 64, ANY_BYTES, Algorithm::Ring),
    rule(Kind::Allgather, ANY_RANKS, 32 * KIB, Algorithm::Bruck),
    rule(Kind::Allgather, ANY_RANKS, ANY_BYTES, Algorithm::Ring),
    rule(Kind::Allgatherv, ANY_RANKS, 256 * KIB, Algorithm::Bruck),
    rule(Kind::Allgatherv, ANY_RANKS, ANY_BYTES, Algorithm::Ring),
    rule(Kind::Alltoall, 4, 32 * KIB, Algorithm::Linear),
    rule(Kind::Alltoall, 8, 512, Algorithm::Bruck),
    rule(Kind::Alltoall, 8, 32 * KIB, Algorithm::Linear),
    rule(Kind::Alltoall, ANY_RANKS, 2 * KIB, Algorithm::Bruck),
    rule(Kind::Alltoall, 32, 32 * KIB, Algorithm::Linear),
    rule(Kind::Alltoall, ANY_RANKS, ANY_BYTES, Algorithm::Pairwise),
    rule(Kind::Alltoallv, 64, ANY_BYTES, Algorithm::Linear),
    rule(Kind::Alltoallv, ANY_RANKS, ANY_BYTES, Algorithm::Pairwise),
    rule(Kind::Reduce, 64, 16 * KIB, Algorithm::Binomial),
    rule(Kind::Reduce, ANY_RANKS, 8 * KIB, Algorithm::Binomial),
    rule(Kind::Reduce, ANY_RANKS, 512 * KIB, Algorithm::Halving),
    rule(Kind::Reduce, 8, ANY_BYTES, Algorithm::Chain),
    rule(Kind::Reduce, ANY_RANKS, ANY_BYTES, Algorithm::Halving),
    rule(Kind::Allreduce, ANY_RANKS, 4 * KIB, Algorithm::Doubling),
    power_of_two(Kind::Allreduce, ANY_RANKS, ANY_BYTES, Algorithm::Halving),
    rule(Kind::Allreduce, ANY_RANKS, 64 * KIB, Algorithm::Halving),
    rule(Kind::Allreduce, 64, ANY_BYTES, Algorithm::Ring),
    rule(Kind::Allreduce, ANY_RANKS, ANY_BYTES, Algorithm::Halving),
    power_of_two(Kind::ReduceScatter, ANY_RANKS, ANY_BYTES, Algorithm::Halving),
    rule(Kind::ReduceScatter, ANY_RANKS, 64 * KIB, Algorithm::Halving),
    rule(Kind::ReduceScatter, 64, ANY_BYTES, Algorithm::Pairwise),
    rule(Kind::ReduceScatter, ANY_RANKS, ANY_BYTES, Algorithm::Halving),
    rule(Kind::Scan, ANY_RANKS, 256 * KIB, Algorithm::Doubling),
    rule(Kind::Scan, 16, ANY_BYTES, Algorithm::Chain),
    rule(Kind::Scan, ANY_RANKS, MIB, Algorithm::Doubling),
    rule(Kind::Scan, 64, ANY_BYTES, Algorithm::Chain),
    rule(Kind::Scan, ANY_RANKS, 4 * MIB, Algorithm::Doubling),
    rule(Kind::Scan, 256, ANY_BYTES, Algorithm::Chain),
    rule(Kind::Scan, ANY_RANKS, ANY_BYTES, Algorithm::Doubling),
    rule(Kind::Exscan, ANY_RANKS, 256 * KIB, Algorithm::Doubling),
    rule(Kind::Exscan, 16, ANY_BYTES, Algorithm::Chain),
    rule(Kind::Exscan, ANY_RANKS, MIB, Algorithm::Doubling),
    rule(Kind::Exscan, 64, ANY_BYTES, Algorithm::Chain),
    rule(Kind::Exscan, ANY_RANKS, 4 * MIB, Algorithm::Doubling),
    rule(Kind::Exscan, 256, ANY_BYTES, Algorithm::Chain),
    rule(Kind::Exscan, ANY_RANKS, ANY_BYTES, Algorithm::Doubling),
];

impl Operation<'_> {
    /// Whether the algorithm gives the right result. An operation that does not commute needs one
    /// that keeps the order of ranks.
    pub fn allows(&self, algorithm: Algorithm, size: u32) -> bool {
        match (self, algorithm) {
            (Operation::Allgather { .. }, Algorithm::Doubling) => size.is_power_of_two(),
            (Operation::Allreduce { commutes, .. }, Algorithm::Ring) => *commutes,
            (Operation::Alltoallv { in_place, .. }, Algorithm::Linear) => !in_place,
            _ => self.kind().algorithms().contains(&algorithm),
        }
    }

    /// All algorithms that it allows.
    pub fn algorithms(&self, size: u32) -> impl Iterator<Item = Algorithm> {
        self.kind().algorithms().iter().copied().filter(move |algorithm| self.allows(*algorithm, size))
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

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Barrier => "barrier",
            Kind::Bcast => "bcast",
            Kind::Gather => "gather",
            Kind::Gatherv => "gatherv",
            Kind::Scatter => "scatter",
            Kind::Scatterv => "scatterv",
            Kind::Allgather => "allgather",
            Kind::Allgatherv => "allgatherv",
            Kind::Alltoall => "alltoall",
            Kind::Alltoallv => "alltoallv, w",
            Kind::Reduce => "reduce",
            Kind::Allreduce => "allreduce",
            Kind::ReduceScatter => "reduce_scatter",
            Kind::Scan => "scan",
            Kind::Exscan => "exscan",
        }
    }

    /// What the bytes of the table measure; nothing where ranks do not know the same value.
    fn measured(self) -> Option<&'static str> {
        match self {
            Kind::Gather | Kind::Scatter | Kind::Allgather | Kind::Alltoall => Some("a block"),
            Kind::Barrier | Kind::Gatherv | Kind::Scatterv | Kind::Alltoallv => None,
            _ => Some("in all"),
        }
    }

    /// All algorithms for it.
    fn algorithms(self) -> &'static [Algorithm] {
        use Algorithm::*;
        match self {
            Kind::Barrier => &[Dissemination],
            Kind::Bcast => &[Binomial, ScatterDoubling, ScatterAllgather, Chain],
            Kind::Gather | Kind::Scatter => &[Linear, Binomial],
            Kind::Gatherv | Kind::Scatterv => &[Linear],
            Kind::Allgather => &[Linear, Ring, Bruck, Doubling],
            Kind::Allgatherv => &[Linear, Ring, Bruck],
            Kind::Alltoall => &[Linear, Pairwise, Bruck],
            Kind::Alltoallv => &[Linear, Pairwise],
            Kind::Reduce => &[Binomial, Halving, Chain],
            Kind::Allreduce => &[Doubling, Halving, Ring],
            Kind::ReduceScatter => &[Halving, Pairwise],
            Kind::Scan | Kind::Exscan => &[Doubling, Chain],
        }
    }
}

impl Algorithm {
    fn describe(self) -> &'static str {
        match self {
            Algorithm::Linear => "linear (all messages at once)",
            Algorithm::Binomial => "binomial tree",
            Algorithm::Dissemination => "dissemination",
            Algorithm::Doubling => "recursive doubling",
            Algorithm::Bruck => "Bruck (doubling with packed blocks)",
            Algorithm::Halving => "recursive halving (Rabenseifner)",
            Algorithm::ScatterAllgather => "scatter and ring (van de Geijn)",
            Algorithm::ScatterDoubling => "scatter and doubling (van de Geijn)",
            Algorithm::Ring => "ring",
            Algorithm::Pairwise => "pairwise exchange",
            Algorithm::Chain => "pipelined chain",
        }
    }
}
