//! The formulas against the plans: rounds, what a rank sends, what is on the critical path. And the
//! table against the formulas.

use crate::machine::{Model, Process, ROUNDS, Store, Units, Value, run};
use oxmpi_coll::cost::{self, work};
use oxmpi_coll::operation::{Operation, plan};
use oxmpi_coll::reduce_scatter::Counts;

/// So many bytes a unit that a segment is of four.
const UNIT: u64 = 16 << 10;

/// Operations with a vector of so many units.
fn vectors(units: u64) -> [Operation<'static>; 5] {
    let (commutes, in_place) = (true, false);
    [
        Operation::Bcast { root: 0, units },
        Operation::Reduce { root: 0, units, commutes, in_place },
        Operation::Allreduce { units, commutes, in_place },
        Operation::Scan { units, in_place },
        Operation::Exscan { units, in_place },
    ]
}

/// Operations with a block for each rank.
fn blocks() -> [Operation<'static>; 6] {
    let in_place = false;
    [
        Operation::Barrier,
        Operation::Gather { root: 0, in_place },
        Operation::Scatter { root: 0, in_place },
        Operation::Allgather { in_place },
        Operation::Alltoall { in_place },
        Operation::ReduceScatter { counts: Counts::Equal(1), commutes: true, in_place },
    ]
}

/// Simulates all algorithms of an operation with `units` in each buffer.
fn check(operation: Operation, size: u32, units: u64) {
    for algorithm in operation.algorithms(size) {
        let expected = work(&operation, algorithm, size, UNIT).expect("there is a formula");
        let case = format!("{algorithm:?} {operation:?} by {size}");
        let go = |model: Model| {
            let make = |rank: u32| Process {
                plan: plan(&operation, algorithm, rank, size, UNIT).expect("it is allowed"),
                send: Store::new(1, (0..units).map(|i| Value::operand(rank, i, size)).collect()),
                recv: Store::empty(1, units),
                temp: Units::Even(1),
            };
            let all = (0..size).map(make).collect();
            run(all, size as usize, false, model).unwrap_or_else(|e| panic!("{case}: {e}"))
        };
        let outcome = go(ROUNDS);
        assert_eq!(outcome.time, expected.rounds as f64, "rounds of {case}");
        assert_eq!(outcome.sent.iter().max(), Some(&expected.sent), "most sent by a rank of {case}");
        let path = go(Model { message: 0.0, atom: 1.0, reduce: 0.0 }).time;
        assert_eq!(path, expected.path as f64, "path of {case}");
        let reduced = go(Model { message: 0.0, atom: 0.0, reduce: 1.0 }).time;
        assert_eq!(reduced, expected.reduced as f64, "reductions of {case}");
        // All costs together: at most their sum, and at least half of it though some overlap.
        let together = go(Model { message: 5.0, atom: 1.0, reduce: 0.5 }).time;
        let sum = expected.rounds as f64 * 5.0 + expected.path as f64 + expected.reduced as f64 * 0.5;
        assert!(together <= sum * 1.001 && together >= sum * 0.5, "{case} takes {together}, by formula {sum}");
    }
}

#[test]
fn formulas() {
    for size in (1..=17).chain([24, 31, 32, 33]) {
        let n = u64::from(size);
        // All shares are equal: by the ranks and by the power of two below.
        let units = n << n.ilog2();
        for operation in vectors(units).into_iter().chain(vectors(0)) {
            check(operation, size, units);
        }
        for operation in blocks() {
            check(operation, size, n);
        }
    }
}

/// The table need not be the best at every point of any machine, but it must not be far from it on
/// either of these.
#[test]
fn the_table_is_sound() {
    for size in [2, 3, 4, 7, 8, 16, 24, 64, 100, 128, 1000, 1024, 10_000, 1 << 20] {
        for bytes in (0..25).map(|log| 1u64 << log) {
            // Blocks for a million ranks: of a size that they can have.
            let all = vectors(bytes).into_iter().map(|o| (o, 1)).chain(blocks().into_iter().map(|o| (o, bytes)));
            for (operation, unit) in all.filter(|(_, unit)| unit * u64::from(size) < 1 << 34) {
                let chosen = operation.shape(size, unit).choose().take;
                assert!(operation.allows(chosen, size), "{operation:?} by {size}");
                for model in [cost::Model::NODE, cost::Model::NETWORK] {
                    let seconds = |algorithm| {
                        work(&operation, algorithm, size, unit).map_or(0.0, |work| model.seconds(work, unit))
                    };
                    let best = operation.algorithms(size).map(seconds).fold(f64::INFINITY, f64::min);
                    let factor = seconds(chosen) / best;
                    assert!(factor < 3.0, "{operation:?} by {size}: {chosen:?} takes {factor:.1} times the best");
                }
            }
        }
    }
}
