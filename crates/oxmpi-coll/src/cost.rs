//! Cost formulas of the algorithms: rounds, units on the wire and units combined, for any number of
//! ranks.
//!
//! The formulas are those of the module of each algorithm; the simulator in the tests compares them
//! with the plans. For reductions it is the cost with root 0 of a commutative operation; operations
//! whose blocks differ between ranks have no formula.

use crate::choose::Algorithm;
use crate::operation::{Operation, segment_units};
use crate::reduce_scatter::Counts;

/// The cost of an operation on all ranks together, in units of [`crate::plan::Region`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Messages one after the other until the last rank is done, where a rank sends one and
    /// receives one at a time.
    pub rounds: u64,
    /// The largest amount that one rank sends.
    pub sent: u64,
    /// The amount that is sent one after the other until the last rank is done.
    pub path: u64,
    /// The amount that is combined one after the other until the last rank is done.
    pub reduced: u64,
}

/// A machine in three numbers.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Seconds that a message takes, however short.
    pub latency: f64,
    /// Bytes a second that a rank can send while it receives as many.
    pub bandwidth: f64,
    /// Bytes a second that a rank can combine.
    pub reduction: f64,
}

impl Model {
    /// Processes on one node, messages through shared memory.
    pub const NODE: Model = Model { latency: 0.5e-6, bandwidth: 10e9, reduction: 12e9 };
    /// Nodes on a fast network.
    pub const NETWORK: Model = Model { latency: 2e-6, bandwidth: 20e9, reduction: 12e9 };

    pub fn seconds(&self, work: Work, unit_bytes: u64) -> f64 {
        let bytes = |units: u64| units as f64 * unit_bytes as f64;
        work.rounds as f64 * self.latency + bytes(work.path) / self.bandwidth + bytes(work.reduced) / self.reduction
    }
}

/// The formula of an algorithm; `None` where there is none.
pub fn work(operation: &Operation, algorithm: Algorithm, size: u32, unit_bytes: u64) -> Option<Work> {
    if !operation.allows(algorithm, size) {
        return None;
    }
    let n = u64::from(size);
    // There is no other rank.
    if n == 1 {
        return Some(Work::default());
    }
    let up = u64::from(n.next_power_of_two().trailing_zeros());
    let down = u64::from(n.ilog2());
    let power = 1 << down;
    // Whether ranks beyond the power of two are idle in the main rounds.
    let aside = u64::from(n != power);
    let segment = segment_units(unit_bytes);
    use Algorithm::*;
    use Operation::*;
    let work = match (*operation, algorithm) {
        (Barrier, Dissemination) => Work { rounds: up, ..Work::default() },

        (Bcast { units: 0, .. }, _) => Work::default(),
        (Bcast { units, .. }, Binomial) => same(up, up * units, 0),
        (Bcast { units, .. }, ScatterAllgather) => {
            let sent = units - share(units, n) + (n - 1) * share(units, n);
            Work { rounds: up + n - 1, sent, path: sent, reduced: 0 }
        }
        (Bcast { units, .. }, ScatterDoubling) => {
            let sent = 2 * (units - share(units, power)) + aside * units;
            Work { rounds: 2 * down + aside, sent, path: sent, reduced: 0 }
        }
        (Bcast { units, .. }, Chain) => chain(n, units, segment, 0),

        (Gather { .. }, Linear | Batched) => Work { rounds: n - 1, sent: 1, path: n - 1, reduced: 0 },
        (Gather { .. }, Binomial) => {
            // The last child of the root sends the rest, the one before it half a power of two.
            let last = n - n.next_power_of_two() / 2;
            Work { rounds: up, sent: last.max(n.next_power_of_two() / 4), path: n - 1, reduced: 0 }
        }
        (Scatter { .. }, Linear) => same(n - 1, n - 1, 0),
        (Scatter { .. }, Binomial) => same(up, n - 1, 0),

        (Allgather { .. }, Linear) | (Alltoall { .. }, Linear | Batched) => same(n - 1, n - 1, 0),
        (Allgather { .. }, Ring) => same(n - 1, n - 1, 0),
        (Allgather { .. }, Doubling | Bruck) => same(up, n - 1, 0),
        (Alltoall { .. }, Pairwise) => same(n - 1, n - 1, 0),
        (Alltoall { .. }, Bruck) => {
            let with_bit = |bit: u64| n / (2 << bit) * (1 << bit) + (n % (2 << bit)).saturating_sub(1 << bit);
            same(up, (0..up).map(with_bit).sum(), 0)
        }

        (Reduce { units: 0, .. } | Allreduce { units: 0, .. } | Scan { units: 0, .. } | Exscan { units: 0, .. }, _) => {
            Work::default()
        }
        (Reduce { units, .. }, Binomial) => Work { rounds: up, sent: units, path: up * units, reduced: up * units },
        (Reduce { units, .. }, Halving) => {
            let shares = units - share(units, power);
            let path = 2 * shares + aside * units;
            // A rank that stands aside sends everything once; others their halves, and up to one
            // half again.
            let sent = (shares + share(units, power) * (power / 2)).max(aside * units);
            Work { rounds: 2 * down + aside, sent, path, reduced: shares + aside * units }
        }
        (Reduce { units, .. }, Chain) => chain(n, units, segment, 1),

        (Allreduce { units, .. }, Doubling) => Work {
            rounds: down + 2 * aside,
            sent: (down + aside) * units,
            path: (down + 2 * aside) * units,
            reduced: (down + aside) * units,
        },
        (Allreduce { units, .. }, Halving) => {
            let shares = units - share(units, power);
            Work {
                rounds: 2 * down + 2 * aside,
                sent: 2 * shares + aside * units,
                path: 2 * shares + 2 * aside * units,
                reduced: shares + aside * units,
            }
        }
        (Allreduce { units, .. }, Ring) => {
            let around = (n - 1) * share(units, n);
            Work { rounds: 2 * (n - 1), sent: 2 * around, path: 2 * around, reduced: around }
        }

        (ReduceScatter { counts: Counts::Equal(0), .. }, _) => Work::default(),
        (ReduceScatter { counts: Counts::Equal(each), .. }, Halving) => {
            let all = n * each;
            // The first ids have the blocks of two ranks each. Of the halves that are exchanged,
            // theirs are the larger ones.
            let pairs = n - power;
            let halves: u64 = (0..down).map(|bit| (1 << bit) + pairs.min(1 << bit)).sum();
            Work {
                rounds: down + 2 * aside,
                sent: if aside == 1 { all } else { all - each },
                path: halves * each + aside * (all + each),
                reduced: halves * each + aside * all,
            }
        }
        (ReduceScatter { counts: Counts::Equal(each), .. }, Pairwise) => same(n - 1, (n - 1) * each, (n - 1) * each),

        (Scan { units, .. }, Doubling) => same(up, up * units, up * units),
        (Scan { units, .. }, Chain) => chain(n, units, segment, 1),
        (Exscan { units, .. }, Doubling) => {
            let rounds = u64::from((n - 1).next_power_of_two().trailing_zeros());
            same(1 + rounds, (1 + rounds) * units, rounds * units)
        }
        (Exscan { units, .. }, Chain) => {
            // Only ranks between the first and the last combine anything.
            let work = chain(n, units, segment, 1);
            Work { reduced: if n == 2 { 0 } else { work.path - segment.min(units) }, ..work }
        }
        _ => return None,
    };
    Some(work)
}

/// What is sent most by one rank is all that is on the path.
fn same(rounds: u64, sent: u64, reduced: u64) -> Work {
    Work { rounds, sent, path: sent, reduced }
}

/// The largest of nearly equal parts.
fn share(units: u64, parts: u64) -> u64 {
    units.div_ceil(parts)
}

/// The last segment starts when those before it have left, and passes through all ranks.
fn chain(n: u64, units: u64, segment: u64, reductions: u64) -> Work {
    let segments = units.div_ceil(segment);
    let path = units + (n - 2) * segment.min(units);
    Work { rounds: n - 2 + segments, sent: units, path, reduced: reductions * path }
}
