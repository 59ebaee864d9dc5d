//! Operations that only move data: every atom comes from where it should.

use crate::machine::{NOTHING, Process, Store, Units, Value, everyone};
use crate::{check, counts, planned, roots, sizes, some};
use oxmpi_coll::choose::Algorithm;
use oxmpi_coll::operation::Operation;
use oxmpi_coll::plan::{Blocks, Plan};
use oxmpi_coll::{allgather, bcast};

pub(crate) fn process(plan: Plan, send: Vec<Value>, recv: Vec<Value>) -> Process {
    Process { plan, send: Store::new(1, send), recv: Store::new(1, recv), temp: Units::Even(1) }
}

pub(crate) fn data(rank: u32, count: u64) -> Vec<Value> {
    (0..count).map(|i| Value::data(rank, i)).collect()
}

pub(crate) fn nothing(count: u64) -> Vec<Value> {
    vec![NOTHING; count as usize]
}

/// Each algorithm, in place and not; of larger sizes only the one or the other.
fn both(size: u32, algorithms: &[Algorithm]) -> Vec<(Algorithm, bool)> {
    algorithms.iter().flat_map(|a| some(size, &[(*a, size.is_multiple_of(2)), (*a, size % 2 == 1)])).collect()
}

#[test]
fn barrier() {
    for size in sizes().chain([1000]) {
        let plan = |rank| planned(Operation::Barrier, Algorithm::Dissemination, rank, size);
        let outcome = check("barrier", size, size, |rank| process(plan(rank), vec![], vec![]), |_, _| NOTHING);
        if size <= 128 {
            let all = everyone(0..size, size);
            assert!(outcome.heard.iter().all(|heard| *heard == all), "barrier of {size}: somebody left too early");
        }
    }
}

#[test]
fn bcast() {
    for size in sizes() {
        for root in roots(size) {
            let run = |units: u64, name: &str, plan: &dyn Fn(u32) -> Plan| {
                let case = format!("{name} bcast of {units} from {root} of {size}");
                let process = |rank: u32| match rank == root {
                    true => process(plan(rank), data(root, units), vec![]),
                    false => process(plan(rank), vec![], nothing(units)),
                };
                check(&case, size, size, process, |_, i| Value::data(root, i as u64))
            };
            for units in counts(size) {
                let operation = Operation::Bcast { root, units };
                run(units, "binomial", &|rank| planned(operation, Algorithm::Binomial, rank, size));
                run(units, "doubled", &|rank| planned(operation, Algorithm::ScatterDoubling, rank, size));
                run(units, "scattered", &|rank| planned(operation, Algorithm::ScatterAllgather, rank, size));
            }
            for (units, segment) in some(size, &[(7, 3), (0, 3), (1, 3), (12, 4), (5, 100)]) {
                run(units, "chain", &|rank| bcast::chain(rank, size, root, units, segment));
            }
        }
    }
}

#[test]
fn bcast_to_a_thousand() {
    let (size, root, units) = (1000, 333, 7);
    let operation = Operation::Bcast { root, units };
    for algorithm in [Algorithm::Binomial, Algorithm::ScatterDoubling] {
        let process = |rank: u32| match rank == root {
            true => process(planned(operation, algorithm, rank, size), data(root, units), vec![]),
            false => process(planned(operation, algorithm, rank, size), vec![], nothing(units)),
        };
        check("bcast", size, size, process, |_, i| Value::data(root, i as u64));
    }
}

#[test]
fn gather_and_scatter() {
    for size in sizes().chain([1000]) {
        let n = u64::from(size);
        for root in roots(size) {
            for (algorithm, in_place) in both(size, &[Algorithm::Linear, Algorithm::Binomial]) {
                let operation = Operation::Gather { root, in_place };
                let gather = |rank: u32| {
                    let mut recv = nothing(if rank == root { n } else { 0 });
                    let absent = in_place && rank == root;
                    if absent {
                        recv[root as usize] = Value::data(root, 0);
                    }
                    process(planned(operation, algorithm, rank, size), data(rank, u64::from(!absent)), recv)
                };
                let case = format!("{algorithm:?} gather to {root} of {size}, in place: {in_place}");
                check(&case, size, size, gather, |_, i| Value::data(i as u32, 0));

                let operation = Operation::Scatter { root, in_place };
                let scatter = |rank: u32| {
                    let absent = in_place && rank == root;
                    let send = if rank == root { data(root, n) } else { vec![] };
                    process(planned(operation, algorithm, rank, size), send, nothing(u64::from(!absent)))
                };
                let case = format!("{algorithm:?} scatter from {root} of {size}, in place: {in_place}");
                check(&case, size, size, scatter, |rank, _| Value::data(root, rank.into()));
            }
        }
    }
}

/// Irregular counts with zeros: of `of`, for blocks that go to or come from others.
pub(crate) fn count(of: u32, with: u32) -> u64 {
    u64::from((of * 7 + with * 3) % 5)
}

/// Blocks with gaps between them, in reverse order, in elements of `atoms` atoms. A block of `c`
/// has `6 c` atoms.
pub(crate) struct Spread {
    counts: Vec<u64>,
    displs: Vec<i64>,
    elements: u64,
    pub(crate) atoms: u64,
}

impl Spread {
    pub(crate) fn new(counts: impl DoubleEndedIterator<Item = u64>, atoms: u64) -> Spread {
        let mut at = 1;
        let (mut list, mut displs) = (Vec::new(), Vec::new());
        for count in counts.rev().map(|c| c * 6 / atoms) {
            list.push(count);
            displs.push(at as i64);
            at += count + 1;
        }
        list.reverse();
        displs.reverse();
        Spread { counts: list, displs, elements: at, atoms }
    }

    pub(crate) fn blocks(&self) -> Blocks<'_> {
        Blocks::Spread { counts: &self.counts, displs: &self.displs }
    }

    /// A buffer where block `i` holds what `value` says, and the gaps nothing.
    pub(crate) fn filled(&self, value: impl Fn(u32, u64) -> Value) -> Vec<Value> {
        let mut atoms = nothing(self.elements * self.atoms);
        for (i, (count, displ)) in self.counts.iter().zip(&self.displs).enumerate() {
            for k in 0..count * self.atoms {
                atoms[(*displ as u64 * self.atoms + k) as usize] = value(i as u32, k);
            }
        }
        atoms
    }

    pub(crate) fn store(&self, atoms: Vec<Value>) -> Store {
        Store::new(self.atoms, atoms)
    }
}

/// Data that goes from one rank to another.
pub(crate) fn between(from: u32, to: u32, size: u32, k: u64) -> Value {
    Value::data(from, u64::from(to) * 1000 * u64::from(size) + k)
}

#[test]
fn gatherv_and_scatterv() {
    for size in sizes() {
        for root in roots(size) {
            for in_place in [false, true] {
                // In the send type an element has two atoms, in the receive type three.
                let spread = |atoms| Spread::new((0..size).map(|i| count(i, 1)), atoms);
                let all = spread(3);
                let full = all.filled(Value::data);
                let gather = |rank: u32| {
                    let absent = in_place && rank == root;
                    let send = if absent { 0 } else { count(rank, 1) * 3 };
                    let recv = match rank == root {
                        true => all.filled(|i, k| if in_place && i == root { Value::data(i, k) } else { NOTHING }),
                        false => vec![],
                    };
                    let operation = Operation::Gatherv { root, in_place, send, recv: all.blocks() };
                    let plan = planned(operation, Algorithm::Linear, rank, size);
                    let send = Store::new(2, data(rank, send * 2));
                    Process { plan, send, recv: all.store(recv), temp: Units::Even(3) }
                };
                let case = format!("gatherv to {root} of {size}, in place: {in_place}");
                check(&case, size, size, gather, |_, i| full[i]);

                let out = spread(2);
                let scatter = |rank: u32| {
                    let absent = in_place && rank == root;
                    let recv = if absent { 0 } else { count(rank, 1) * 2 };
                    let operation = Operation::Scatterv { root, in_place, send: out.blocks(), recv };
                    let plan = planned(operation, Algorithm::Linear, rank, size);
                    let send = if rank == root { out.filled(|i, k| between(root, i, size, k)) } else { vec![] };
                    Process { plan, send: out.store(send), recv: Store::empty(3, recv), temp: Units::Even(3) }
                };
                let case = format!("scatterv from {root} of {size}, in place: {in_place}");
                check(&case, size, size, scatter, |rank, i| between(root, rank, size, i as u64));
            }
        }
    }
}

#[test]
fn allgather() {
    let all = [Algorithm::Linear, Algorithm::Ring, Algorithm::Bruck, Algorithm::Doubling];
    for size in sizes().chain([500]) {
        for (algorithm, in_place) in both(size, &all) {
            let operation = Operation::Allgather { in_place };
            if !operation.allows(algorithm, size) || (size > 128 && algorithm != Algorithm::Bruck) {
                continue;
            }
            let make = |rank: u32| {
                let mut recv = nothing(size.into());
                if in_place {
                    recv[rank as usize] = Value::data(rank, 0);
                }
                process(planned(operation, algorithm, rank, size), data(rank, u64::from(!in_place)), recv)
            };
            let case = format!("{algorithm:?} allgather of {size}, in place: {in_place}");
            check(&case, size, size, make, |_, i| Value::data(i as u32, 0));
        }
    }
}

#[test]
fn allgatherv() {
    for size in sizes() {
        for (algorithm, in_place) in both(size, &[Algorithm::Linear, Algorithm::Ring, Algorithm::Bruck]) {
            // Each rank names the blocks in its own way: elements of two or three atoms.
            let spread = |rank: u32| Spread::new((0..size).map(|i| count(i, 2)), u64::from(2 + rank % 2));
            let spreads = [spread(0), spread(1)];
            let full = [spreads[0].filled(Value::data), spreads[1].filled(Value::data)];
            let make = |rank: u32| {
                let all = &spreads[rank as usize % 2];
                let send = if in_place { 0 } else { count(rank, 2) };
                let operation = Operation::Allgatherv { in_place, send, recv: all.blocks() };
                let plan = planned(operation, algorithm, rank, size);
                let recv = all.filled(|i, k| if in_place && i == rank { Value::data(i, k) } else { NOTHING });
                let send = Store::new(6, data(rank, send * 6));
                Process { plan, send, recv: all.store(recv), temp: Units::Even(all.atoms) }
            };
            let case = format!("{algorithm:?} allgatherv of {size}, in place: {in_place}");
            check(&case, size, size, make, |rank, i| full[rank as usize % 2][i]);
        }
    }
}

#[test]
fn blocks_that_follow_each_other_are_copied_at_once() {
    // Rank 2 of 5 has its blocks behind those of 0 and 1 once they are collected: two copies put
    // them into place.
    let plan = allgather::bruck(2, 5, false, oxmpi_coll::plan::Region::Send.at(0, 1), Blocks::Units);
    let copies = plan.steps.iter().filter(|step| matches!(step, oxmpi_coll::plan::Step::Copy { .. })).count();
    assert_eq!(copies, 3);
}

#[test]
fn alltoall() {
    for size in sizes() {
        for (algorithm, in_place) in both(size, &[Algorithm::Linear, Algorithm::Pairwise, Algorithm::Bruck]) {
            let operation = Operation::Alltoall { in_place };
            let make = |rank: u32| {
                let out = data(rank, size.into());
                let plan = planned(operation, algorithm, rank, size);
                if in_place { process(plan, vec![], out) } else { process(plan, out, nothing(size.into())) }
            };
            let case = format!("{algorithm:?} alltoall of {size}, in place: {in_place}");
            check(&case, size, size, make, |rank, i| Value::data(i as u32, rank.into()));
        }
    }
}

#[test]
fn alltoallv() {
    for size in sizes().filter(|size| *size <= 40 || size % 11 == 0) {
        // What `i` gives to `j`; in place, both give each other the same.
        let between_them = |i: u32, j: u32| count(i, j);
        for algorithm in [Algorithm::Linear, Algorithm::Pairwise] {
            let make = |rank: u32| {
                let out = Spread::new((0..size).map(|to| between_them(rank, to)), 2);
                let into = Spread::new((0..size).map(|from| between_them(from, rank)), 3);
                let operation = Operation::Alltoallv { in_place: false, send: out.blocks(), recv: into.blocks() };
                let plan = planned(operation, algorithm, rank, size);
                let send = out.store(out.filled(|to, k| between(rank, to, size, k)));
                let recv = into.store(nothing(into.elements * 3));
                Process { plan, send, recv, temp: Units::Even(3) }
            };
            let full: Vec<Vec<Value>> = (0..size)
                .map(|rank| {
                    let into = Spread::new((0..size).map(|from| between_them(from, rank)), 3);
                    into.filled(|from, k| between(from, rank, size, k))
                })
                .collect();
            let case = format!("{algorithm:?} alltoallv of {size}");
            check(&case, size, size, make, |rank, i| full[rank as usize][i]);
        }
        let both = |i: u32, j: u32| count(i.min(j), i.max(j));
        let spreads: Vec<Spread> =
            (0..size).map(|rank| Spread::new((0..size).map(|other| both(rank, other)), 3)).collect();
        let make = |rank: u32| {
            let all = &spreads[rank as usize];
            let operation = Operation::Alltoallv { in_place: true, send: Blocks::Whole(0), recv: all.blocks() };
            let plan = planned(operation, Algorithm::Pairwise, rank, size);
            let recv = all.store(all.filled(|to, k| between(rank, to, size, k)));
            Process { plan, send: Store::empty(1, 0), recv, temp: Units::Even(3) }
        };
        let full: Vec<Vec<Value>> =
            (0..size).map(|rank| spreads[rank as usize].filled(|from, k| between(from, rank, size, k))).collect();
        let case = format!("alltoallv of {size} in place");
        check(&case, size, size, make, |rank, i| full[rank as usize][i]);
    }
}

#[test]
fn alltoallw() {
    for size in sizes().filter(|size| *size <= 40 || size % 13 == 0) {
        for (algorithm, in_place) in
            [(Algorithm::Linear, false), (Algorithm::Pairwise, false), (Algorithm::Pairwise, true)]
        {
            let bytes = |i: u32, j: u32| if in_place { count(i.min(j), i.max(j)) } else { count(i, j) };
            // The blocks of a buffer as units of different sizes: a table of places, in reverse
            // order.
            let table = |bytes: &dyn Fn(u32) -> u64| {
                let mut at = 0;
                let mut places: Vec<_> = (0..size)
                    .rev()
                    .map(|i| {
                        at += bytes(i) as usize + 1;
                        at - 1 - bytes(i) as usize..at - 1
                    })
                    .collect();
                places.reverse();
                (places, at)
            };
            let filled = |bytes: &dyn Fn(u32) -> u64, value: &dyn Fn(u32, u64) -> Value| {
                let (places, len) = table(bytes);
                let mut atoms = vec![NOTHING; len];
                for (i, place) in places.iter().enumerate() {
                    place.clone().enumerate().for_each(|(k, at)| atoms[at] = value(i as u32, k as u64));
                }
                Store { units: Units::Table(places), atoms }
            };
            let make = |rank: u32| {
                let (out, into) = (|to: u32| bytes(rank, to), |from: u32| bytes(from, rank));
                let (outs, ins): (Vec<u64>, Vec<u64>) = ((0..size).map(out).collect(), (0..size).map(into).collect());
                let operation = Operation::Alltoallv {
                    in_place,
                    send: Blocks::Each { bytes: &outs },
                    recv: Blocks::Each { bytes: &ins },
                };
                let plan = planned(operation, algorithm, rank, size);
                let given = filled(&out, &|to, k| between(rank, to, size, k));
                let temp = Units::Even(1);
                match in_place {
                    true => Process { plan, send: Store::empty(1, 0), recv: given, temp },
                    false => Process { plan, send: given, recv: filled(&into, &|_, _| NOTHING), temp },
                }
            };
            let full: Vec<Vec<Value>> = (0..size)
                .map(|rank| filled(&|from| bytes(from, rank), &|from, k| between(from, rank, size, k)).atoms)
                .collect();
            let case = format!("{algorithm:?} alltoallw of {size}, in place: {in_place}");
            check(&case, size, size, make, |rank, i| full[rank as usize][i]);
        }
    }
}
