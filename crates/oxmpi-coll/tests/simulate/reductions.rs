//! Operations that combine: every operand once, in the order of ranks where it matters, and
//! everywhere in the same way.

use crate::machine::{self, NOTHING, Outcome, Process, ROUNDS, Store, Units, Value, everyone};
use crate::{counts, planned, roots, sizes, some};
use oxmpi_coll::choose::Algorithm;
use oxmpi_coll::operation::Operation;
use oxmpi_coll::plan::Plan;
use oxmpi_coll::reduce_scatter::Counts;
use oxmpi_coll::{reduce, scan};
use std::ops::Range;

/// What a rank should have at the end.
pub(crate) struct Expected {
    /// The elements of the vector that are at the start of `Recv`.
    pub(crate) elements: Range<u64>,
    /// The ranks whose operands are combined.
    pub(crate) ranks: Range<u32>,
}

pub(crate) struct Reduction<'a> {
    pub(crate) case: String,
    pub(crate) size: u32,
    /// The units of a rank's operand.
    pub(crate) units: u64,
    /// In the order of ranks.
    pub(crate) ordered: bool,
    /// Ranks that combine the same elements combine them in the same order.
    pub(crate) alike: bool,
    pub(crate) in_place: &'a dyn Fn(u32) -> bool,
    pub(crate) plan: &'a dyn Fn(u32) -> Plan,
    pub(crate) expect: &'a dyn Fn(u32) -> Option<Expected>,
}

impl Reduction<'_> {
    pub(crate) fn check(&self) -> Outcome {
        let case = &self.case;
        let size = self.size;
        let operand = |rank: u32| -> Vec<Value> { (0..self.units).map(|i| Value::operand(rank, i, size)).collect() };
        let length = |rank: u32| (self.expect)(rank).map_or(0, |e| e.elements.end - e.elements.start);
        let make = |rank: u32| {
            let (send, recv) = match (self.in_place)(rank) {
                true => (vec![], operand(rank)),
                false => (operand(rank), vec![NOTHING; length(rank) as usize]),
            };
            let plan = (self.plan)(rank);
            Process { plan, send: Store::new(1, send), recv: Store::new(1, recv), temp: Units::Even(1) }
        };
        let run = |eager| {
            let all = (0..size).map(make).collect();
            machine::run(all, size as usize, eager, ROUNDS).unwrap_or_else(|e| panic!("{case}: {e}"))
        };
        let outcome = run(false);
        if size <= 17 {
            assert_eq!(run(true).recv, outcome.recv, "{case}: it depends on buffers");
        }
        let mut trees = vec![None; self.units as usize];
        for rank in 0..size {
            let recv = &outcome.recv[rank as usize];
            let Some(expected) = (self.expect)(rank) else {
                let untouched = recv.iter().all(|v| *v == NOTHING) || *recv == operand(rank);
                assert!(untouched, "{case}: rank {rank} was given something");
                continue;
            };
            let who = everyone(expected.ranks.clone(), size);
            let order = Some((expected.ranks.start, expected.ranks.end));
            for (at, element) in expected.elements.clone().enumerate() {
                let value = recv[at];
                assert!(value.what == element && value.who == who, "{case}: rank {rank} has {value:?} at {at}");
                assert!(!self.ordered || value.order == order, "{case}: rank {rank} has {value:?} at {at}: order");
                let tree = trees[element as usize].get_or_insert(value.tree);
                assert!(!self.alike || *tree == value.tree, "{case}: rank {rank} computes {at} in its own way");
            }
            // In place, the rest of the operand stays as it was.
            let rest = length(rank) as usize;
            if (self.in_place)(rank) {
                assert!(recv[rest..] == operand(rank)[rest..], "{case}: rank {rank} wrote more than the result");
            }
        }
        outcome
    }
}

#[test]
fn reduce() {
    for size in sizes().chain([1000]) {
        for root in roots(size) {
            for in_place in some(size, &[size % 2 == 0, size % 2 == 1]) {
                let run = |name: String, units: u64, ordered: bool, plan: &dyn Fn(u32) -> Plan| {
                    let expect = |rank| (rank == root).then_some(Expected { elements: 0..units, ranks: 0..size });
                    let case = format!("{name} reduce of {units} to {root} of {size}, in place: {in_place}");
                    let in_place = |rank| in_place && rank == root;
                    let (in_place, expect): (&dyn Fn(u32) -> bool, &dyn Fn(u32) -> _) = (&in_place, &expect);
                    Reduction { case, size, units, ordered, alike: true, in_place, plan, expect }.check()
                };
                for commutes in [false, true] {
                    let units = 3;
                    let operation = Operation::Reduce { root, units, commutes, in_place };
                    let plan = |rank| planned(operation, Algorithm::Binomial, rank, size);
                    let outcome = run(format!("binomial (commutes: {commutes})"), units, !commutes, &plan);
                    // Two trees where the order matters: one round more at most.
                    let rounds = f64::from(size.next_power_of_two().trailing_zeros() + u32::from(!commutes));
                    assert!(outcome.time <= rounds, "{} rounds of reduce to {root} of {size}", outcome.time);
                }
                for units in if size > 128 { vec![3] } else { counts(size) } {
                    let operation = Operation::Reduce { root, units, commutes: false, in_place };
                    run("halving".into(), units, true, &|rank| planned(operation, Algorithm::Halving, rank, size));
                }
                // A chain of a thousand has nothing that a chain of a hundred lacks.
                for (units, segment) in
                    some(size, &[(7, 3), (0, 3), (1, 3), (4, 9)]).into_iter().filter(|_| size <= 128)
                {
                    run("chain".into(), units, true, &|rank| reduce::chain(rank, size, root, units, segment, in_place));
                }
            }
        }
    }
}

#[test]
fn allreduce() {
    for size in sizes().chain([1000]) {
        for algorithm in [Algorithm::Doubling, Algorithm::Halving, Algorithm::Ring] {
            let commutes = algorithm == Algorithm::Ring;
            if size > 128 && commutes {
                continue;
            }
            for in_place in some(size, &[size % 2 == 0, size % 2 == 1]) {
                for units in if size > 128 { vec![3] } else { counts(size) } {
                    let operation = Operation::Allreduce { units, commutes, in_place };
                    let case = format!("{algorithm:?} allreduce of {units} by {size}, in place: {in_place}");
                    let plan = |rank| planned(operation, algorithm, rank, size);
                    let expect = |_| Some(Expected { elements: 0..units, ranks: 0..size });
                    Reduction {
                        case,
                        size,
                        units,
                        ordered: !commutes,
                        alike: true,
                        in_place: &|_| in_place,
                        plan: &plan,
                        expect: &expect,
                    }
                    .check();
                }
            }
        }
    }
}

#[test]
fn reduce_scatter() {
    for size in sizes().chain([1000]) {
        // Of a thousand only a few get anything, so that memory suffices.
        let irregular: Vec<u64> =
            (0..size).map(|i| u64::from((i * 5 + 2) % 4) * u64::from(size <= 128 || i % 100 == 7)).collect();
        let one: Vec<u64> = (0..size).map(|i| if i == size / 2 { 5 } else { 0 }).collect();
        let (irregular, one) = (Counts::Given(&irregular), Counts::Given(&one));
        for counts in some(size, &[irregular, one, Counts::Equal(1), Counts::Equal(0), Counts::Equal(3)]) {
            let of = |rank: u32| match counts {
                Counts::Equal(each) => each,
                Counts::Given(list) => list[rank as usize],
            };
            let start = |rank: u32| (0..rank).map(of).sum::<u64>();
            for algorithm in [Algorithm::Halving, Algorithm::Pairwise] {
                if size > 128 && algorithm == Algorithm::Pairwise {
                    continue;
                }
                for commutes in [false, true] {
                    // No rank in place, all ranks, and some: each rank decides for itself.
                    for places in some(size, &[size % 3, (size + 1) % 3, (size + 2) % 3]) {
                        let in_place = |rank: u32| places == 1 || (places == 2 && rank.is_multiple_of(2));
                        let plan = |rank: u32| {
                            let operation = Operation::ReduceScatter { counts, commutes, in_place: in_place(rank) };
                            planned(operation, algorithm, rank, size)
                        };
                        let expect = |rank: u32| {
                            let first = start(rank);
                            Some(Expected { elements: first..first + of(rank), ranks: 0..size })
                        };
                        let case = format!(
                            "{algorithm:?} reduce_scatter of {counts:?} by {size}, commutes: {commutes}, in place: {places}"
                        );
                        Reduction {
                            case,
                            size,
                            units: start(size),
                            ordered: !commutes,
                            alike: true,
                            in_place: &in_place,
                            plan: &plan,
                            expect: &expect,
                        }
                        .check();
                    }
                }
            }
        }
    }
}

#[test]
fn scans() {
    for size in sizes().chain([1000]) {
        for (units, in_place) in some(size, &[(2, size % 2 == 0), (2, size % 2 == 1), (7, false), (7, true), (0, true)])
        {
            let run = |case: &str, least: u32, plan: &dyn Fn(u32) -> Plan| {
                // Rank 0 of an exclusive scan gets nothing, and keeps what it has.
                let expect =
                    |rank: u32| (rank >= least).then_some(Expected { elements: 0..units, ranks: 0..rank + 1 - least });
                Reduction {
                    case: format!("{case} of {units} by {size}, in place: {in_place}"),
                    size,
                    units,
                    ordered: true,
                    alike: false,
                    in_place: &|_| in_place,
                    plan,
                    expect: &expect,
                }
                .check()
            };
            let (scan, exscan) = (Operation::Scan { units, in_place }, Operation::Exscan { units, in_place });
            run("scan", 0, &|rank| planned(scan, Algorithm::Doubling, rank, size));
            run("exscan", 1, &|rank| planned(exscan, Algorithm::Doubling, rank, size));
            if size <= 128 {
                run("scan chain", 0, &|rank| scan::inclusive_chain(rank, size, units, 3, in_place));
                run("exscan chain", 1, &|rank| scan::exclusive_chain(rank, size, units, 3, in_place));
            }
        }
    }
}
