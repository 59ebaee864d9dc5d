//! Proves the planners: every plan of every rank, run together by a machine that knows nothing of
//! them.

mod costs;
mod faults;
mod inter;
mod machine;
mod movement;
mod neighbor;
mod nodes;
mod reductions;
mod uneven;

use machine::{Outcome, Process, ROUNDS, Value};
use oxmpi_coll::choose::Algorithm;
use oxmpi_coll::operation::{Operation, plan};
use oxmpi_coll::plan::Plan;

/// Runs the plans of `size` ranks and compares what is in `Recv` at the end with what `expect`
/// says; untouched memory holds `NOTHING`.
fn check(
    case: &str,
    size: u32,
    first: u32,
    process: impl Fn(u32) -> Process,
    expect: impl Fn(u32, usize) -> Value,
) -> Outcome {
    let all = || (0..size).map(&process).collect();
    let run = |eager| machine::run(all(), first as usize, eager, ROUNDS).unwrap_or_else(|e| panic!("{case}: {e}"));
    let outcome = run(false);
    if size <= 17 {
        assert_eq!(run(true).recv, outcome.recv, "{case}: it depends on buffers");
    }
    for (rank, recv) in outcome.recv.iter().enumerate() {
        for (at, value) in recv.iter().enumerate() {
            let expected = expect(rank as u32, at);
            assert!(*value == expected, "{case}: rank {rank} has {value:?} at {at} instead of {expected:?}");
        }
    }
    outcome
}

fn planned(operation: Operation, algorithm: Algorithm, rank: u32, size: u32) -> Plan {
    plan(&operation, algorithm, rank, size, 1).unwrap_or_else(|| panic!("{algorithm:?} is not for {operation:?}"))
}

/// The sizes that every planner is tried with.
fn sizes() -> impl Iterator<Item = u32> {
    1..=128
}

/// All roots of small sizes, some of others.
fn roots(size: u32) -> Vec<u32> {
    if size <= 17 { (0..size).collect() } else { vec![0, size / 3, size - 1] }
}

/// Up to this size every combination is tried, of larger ones a few.
const THOROUGH: u32 = 24;

/// All of a list for small sizes, otherwise the first.
fn some<T: Clone>(size: u32, list: &[T]) -> Vec<T> {
    if size <= THOROUGH { list.to_vec() } else { list[..1].to_vec() }
}

/// The numbers of units that every planner is tried with.
fn counts(size: u32) -> Vec<u64> {
    let n = u64::from(size);
    some(size, &[n + 1, 0, 1, n - 1])
}
