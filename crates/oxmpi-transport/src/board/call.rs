//! The signature of a rank's call: a word beside its data, so that ranks in different calls are
//! detected at no extra cost.

use oxmpi_abi::Error;
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::Op;
use oxmpi_base::board::LASTING;

/// From the lowest bit: function (10 bits), operation (6), root (14), bytes (34, of the total or of each rank's block).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallSignature(pub(super) u64);

const ROOTS: usize = (1 << 14) - 1;
const MOST_BYTES: usize = (1 << 34) - 1;
const _: () = assert!(LASTING == (1 << 30) - 1, "all but the bytes");

impl CallSignature {
    pub(super) const BARRIER: CallSignature = CallSignature::new(Fun::Barrier, None, ROOTS, 0);

    /// A call without a root.
    pub(super) fn of(fun: Fun, op: Option<Op>, bytes: usize) -> CallSignature {
        CallSignature::new(fun, op, ROOTS, bytes)
    }

    pub(super) fn rooted(fun: Fun, op: Option<Op>, root: usize, bytes: usize) -> CallSignature {
        CallSignature::new(fun, op, root, bytes)
    }

    const fn new(fun: Fun, op: Option<Op>, root: usize, bytes: usize) -> CallSignature {
        let op = match op {
            Some(op) => op.0 as u64 & 0x3f,
            None => 0,
        };
        let root = if root < ROOTS { root } else { ROOTS };
        let bytes = if bytes < MOST_BYTES { bytes } else { MOST_BYTES };
        CallSignature(fun as u64 | op << 10 | (root as u64) << 16 | (bytes as u64) << 30)
    }

    /// Whether both are the same call apart from the bytes, which may be at most `most`.
    pub(super) fn is_like(self, other: CallSignature, most: usize) -> bool {
        self.0 & LASTING == other.0 & LASTING && self.bytes().max(other.bytes()) <= most as u64
    }

    fn fun(self) -> Option<Fun> {
        Fun::from_u16(self.0 as u16 & 0x3ff)
    }

    /// Whether the word is a call that goes over a board. A word from a diverged history need not
    /// be one.
    fn makes_sense(self) -> bool {
        use Fun::*;
        let has_one_length_or_none = |fun| {
            matches!(
                fun,
                Allgather
                    | Iallgather
                    | Allreduce
                    | Iallreduce
                    | Alltoall
                    | Ialltoall
                    | Barrier
                    | Ibarrier
                    | Bcast
                    | Ibcast
                    | Exscan
                    | Iexscan
                    | Gather
                    | Igather
                    | Reduce
                    | Ireduce
                    | ReduceScatter
                    | IreduceScatter
                    | ReduceScatterBlock
                    | IreduceScatterBlock
                    | Scan
                    | Iscan
                    | Scatter
                    | Iscatter
            )
        };
        self.fun().is_some_and(|fun| has_many_lengths(fun) || has_one_length_or_none(fun))
    }

    fn op(self) -> u64 {
        self.0 >> 10 & 0x3f
    }

    fn root(self) -> u64 {
        self.0 >> 16 & ROOTS as u64
    }

    fn bytes(self) -> u64 {
        self.0 >> 30
    }

    fn describe(self) -> String {
        let mut words = Vec::new();
        if self.bytes() == MOST_BYTES as u64 {
            words.push(format!("{MOST_BYTES} bytes or more"));
        } else if self.fun().is_some_and(has_one_length) {
            words.push(format!("{} bytes", self.bytes()));
        }
        if self.op() != 0 {
            let name = OP_NAMES.iter().find(|(op, _)| op.0 as u64 == self.op());
            words.push(name.map_or("an operation", |(_, name)| name).to_string());
        }
        if self.root() != ROOTS as u64 {
            words.push(format!("root {}", self.root()));
        }
        format!("{}({})", self.fun().map_or("a collective function", Fun::name), words.join(", "))
    }
}

/// Whether all ranks name the same length.
fn has_one_length(fun: Fun) -> bool {
    !matches!(fun, Fun::Barrier | Fun::Ibarrier) && !has_many_lengths(fun)
}

/// Whether each block may have another length.
fn has_many_lengths(fun: Fun) -> bool {
    use Fun::*;
    matches!(
        fun,
        Gatherv
            | Igatherv
            | Scatterv
            | Iscatterv
            | Allgatherv
            | Iallgatherv
            | Alltoallv
            | Ialltoallv
            | Alltoallw
            | Ialltoallw
            | NeighborAllgather
            | IneighborAllgather
            | NeighborAllgatherv
            | IneighborAllgatherv
            | NeighborAlltoall
            | IneighborAlltoall
            | NeighborAlltoallv
            | IneighborAlltoallv
            | NeighborAlltoallw
            | IneighborAlltoallw
    )
}

const RULE: &str = "all must make the same calls in the same order";

/// The error when a rank will not make this call any more.
#[cold]
pub(super) fn gone(rank: usize, me: usize) -> Error {
    let text = format!(
        "rank {rank} of the communicator has called MPI_Finalize or freed it, but this one, rank {me}, waits for it here: \
         {RULE}"
    );
    Error::new(MPI_ERR_OTHER, text)
}

/// The error when two ranks made different calls: theirs and ours, if both are known.
#[cold]
pub(super) fn mismatch(rank: usize, me: usize, calls: Option<(CallSignature, CallSignature)>) -> Error {
    let Some((theirs, ours)) = calls.filter(|(theirs, _)| theirs.makes_sense()) else {
        return Error::new(MPI_ERR_OTHER, unknown_calls(rank, me));
    };
    let class = match () {
        () if theirs.fun() != ours.fun() => MPI_ERR_OTHER,
        () if theirs.root() != ours.root() => MPI_ERR_ROOT,
        () if theirs.op() != ours.op() => MPI_ERR_OP,
        () => MPI_ERR_COUNT,
    };
    Error::new(class, different_calls((rank, "the communicator"), me, &theirs.describe(), &ours.describe()))
}

/// The text about two ranks whose calls differed earlier.
pub fn unknown_calls(rank: usize, me: usize) -> String {
    format!(
        "rank {rank} of the communicator and this one, rank {me}, made different collective calls before this one: {RULE}"
    )
}

/// The text about two ranks in different calls. `of` names the group of the other rank.
pub fn different_calls((rank, of): (usize, &str), me: usize, theirs: &str, ours: &str) -> String {
    format!("rank {rank} of {of} called {theirs} while this one, rank {me}, called {ours}: {RULE}")
}

/// The error when another rank has already detected the mismatch.
#[cold]
pub(super) fn out_of_step() -> Error {
    let text = format!(
        "the ranks of the communicator made different collective calls (another rank reports \
         which): {RULE}"
    );
    Error::new(MPI_ERR_OTHER, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_calls_are_named() {
        let (a, b) =
            (CallSignature::rooted(Fun::Bcast, None, 1, 800), CallSignature::of(Fun::Allreduce, Some(MPI_SUM), 8));
        let error = mismatch(3, 0, Some((a, b)));
        assert_eq!(error.class(), MPI_ERR_OTHER);
        assert!(error.text().starts_with(
            "rank 3 of the communicator called MPI_Bcast(800 bytes, root 1) while this one, rank 0, called \
             MPI_Allreduce(8 bytes, MPI_SUM)"
        ));
        assert_eq!(mismatch(1, 0, Some((a, CallSignature::rooted(Fun::Bcast, None, 2, 800)))).class(), MPI_ERR_ROOT);
        assert_eq!(mismatch(1, 0, Some((a, CallSignature::rooted(Fun::Bcast, None, 1, 801)))).class(), MPI_ERR_COUNT);
        assert_eq!(mismatch(1, 0, Some((b, CallSignature::of(Fun::Allreduce, Some(MPI_MAX), 8)))).class(), MPI_ERR_OP);
        assert_eq!(
            CallSignature::of(Fun::Allgather, None, usize::MAX).describe(),
            "MPI_Allgather(17179869183 bytes or more)"
        );
        assert_eq!(CallSignature::BARRIER.describe(), "MPI_Barrier()");
    }
}
