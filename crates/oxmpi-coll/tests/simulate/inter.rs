//! Between two groups.

use crate::check;
use crate::machine::{self, NOTHING, Process, ROUNDS, Store, Units, Value, everyone};
use oxmpi_coll::inter::{self, Root, Vector};
use oxmpi_coll::plan::{Blocks, Plan, Region};
use oxmpi_coll::reduce_scatter::Counts;

/// The sizes of the two groups.
fn groups() -> impl Iterator<Item = (u32, u32)> {
    let small = (1..=9).flat_map(|a| (1..=9).map(move |b| (a, b)));
    small.chain([(1, 64), (64, 1), (17, 23), (100, 28), (64, 64)])
}

/// A rank of the machine: its rank in its group, its group's size, the other's, and where the other
/// one begins.
struct Place {
    rank: u32,
    local: u32,
    remote: u32,
    others: u32,
}

fn place(rank: u32, (a, b): (u32, u32)) -> Place {
    match rank < a {
        true => Place { rank, local: a, remote: b, others: a },
        false => Place { rank: rank - a, local: b, remote: a, others: 0 },
    }
}

fn process(plan: Plan, send: Vec<Value>, recv: u64) -> Process {
    Process { plan, send: Store::new(1, send), recv: Store::empty(1, recv), temp: Units::Even(1) }
}

fn data(rank: u32, count: u64) -> Vec<Value> {
    (0..count).map(|i| Value::data(rank, i)).collect()
}

/// Every root in small groups, in either group: the root's rank in the machine and what a rank
/// passes.
fn roots((a, b): (u32, u32)) -> Vec<u32> {
    if a + b <= 10 { (0..a + b).collect() } else { vec![0, a - 1, a, a + b - 1] }
}

fn root_for(rank: u32, root: u32, a: u32) -> Root {
    match ((rank < a) == (root < a), rank == root) {
        (true, true) => Root::Me,
        (true, false) => Root::Sibling,
        (false, _) => Root::Remote(if root < a { root } else { root - a }),
    }
}

#[test]
fn barrier() {
    for groups in groups() {
        let size = groups.0 + groups.1;
        let make = |rank| {
            let at = place(rank, groups);
            process(inter::barrier(at.rank, at.local), vec![], 0)
        };
        let outcome = check(&format!("barrier of {groups:?}"), size, groups.0, make, |_, _| NOTHING);
        for rank in 0..size {
            let at = place(rank, groups);
            let others = everyone(at.others..at.others + at.remote, size);
            let heard = outcome.heard[rank as usize] & others;
            assert!(heard == others, "barrier of {groups:?}: rank {rank} left too early");
        }
    }
}

#[test]
fn rooted() {
    for groups in groups() {
        let (a, size) = (groups.0, groups.0 + groups.1);
        for root in roots(groups) {
            let receives = |rank: u32| (rank < a) != (root < a);
            let others = place(root, groups).others;
            let remote = place(root, groups).remote;
            for (units, unit_bytes) in [(0, 1), (5, 1), (33, 1 << 10), (40, 32 << 10)] {
                let bcast = |rank: u32| {
                    let at = place(rank, groups);
                    let send = if rank == root { data(root, units) } else { vec![] };
                    let recv = if receives(rank) { units } else { 0 };
                    process(inter::bcast(root_for(rank, root, a), at.rank, at.local, units, unit_bytes), send, recv)
                };
                let case = format!("bcast of {units} from {root} of {groups:?}");
                check(&case, size, a, bcast, |_, i| Value::data(root, i as u64));
            }
            // Blocks of the size that the rank's number says, at displacements of their own.
            let count = |rank: u32| u64::from(rank % 3);
            let counts: Vec<u64> = (0..remote).map(count).collect();
            let displs: Vec<i64> = (0..remote).map(|i| i64::from(i) * 3).collect();
            let spread = Blocks::Spread { counts: &counts, displs: &displs };
            let width = 3 * u64::from(remote);
            let gather = |rank: u32| {
                let send = if receives(rank) { data(rank, count(place(rank, groups).rank)) } else { vec![] };
                let recv = if rank == root { width } else { 0 };
                let piece = Region::Send.at(0, send.len() as u64);
                process(inter::gather(root_for(rank, root, a), remote, piece, spread), send, recv)
            };
            let expect = |_: u32, i: usize| {
                let (block, k) = (i as u32 / 3, i as u64 % 3);
                if k < count(block) { Value::data(others + block, k) } else { NOTHING }
            };
            check(&format!("gatherv to {root} of {groups:?}"), size, a, gather, expect);
            let scatter = |rank: u32| {
                let send = if rank == root { data(root, width) } else { vec![] };
                let recv = if receives(rank) { count(place(rank, groups).rank) } else { 0 };
                process(inter::scatter(root_for(rank, root, a), remote, spread, Region::Recv.at(0, recv)), send, recv)
            };
            let expect = |rank: u32, i: usize| Value::data(root, u64::from(place(rank, groups).rank) * 3 + i as u64);
            check(&format!("scatterv from {root} of {groups:?}"), size, a, scatter, expect);
        }
    }
}

#[test]
fn all_to_all() {
    for groups in groups() {
        let (a, size) = (groups.0, groups.0 + groups.1);
        let allgather = |rank: u32| {
            let at = place(rank, groups);
            let plan = inter::allgather(at.rank, at.local, at.remote, Region::Send.at(0, 1), Blocks::Units);
            process(plan, data(rank, 1), at.remote.into())
        };
        let expect = |rank: u32, i: usize| Value::data(place(rank, groups).others + i as u32, 0);
        check(&format!("allgather of {groups:?}"), size, a, allgather, expect);

        // The contribution of a rank depends on its number in the machine; each rank stores it at
        // another place.
        let count = |rank: u32| u64::from(rank % 3);
        let allgatherv = |rank: u32| {
            let at = place(rank, groups);
            let counts: Vec<u64> = (0..at.remote).map(|i| count(at.others + i)).collect();
            let turn = |i: u32| if rank.is_multiple_of(2) { i } else { at.remote - 1 - i };
            let displs: Vec<i64> = (0..at.remote).map(|i| i64::from(turn(i)) * 3).collect();
            let spread = Blocks::Spread { counts: &counts, displs: &displs };
            let plan = inter::allgather(at.rank, at.local, at.remote, Region::Send.at(0, count(rank)), spread);
            process(plan, data(rank, count(rank)), 3 * u64::from(at.remote))
        };
        let expect = |rank: u32, i: usize| {
            let at = place(rank, groups);
            let (place, k) = (i as u32 / 3, i as u64 % 3);
            let from = at.others + if rank.is_multiple_of(2) { place } else { at.remote - 1 - place };
            if k < count(from) { Value::data(from, k) } else { NOTHING }
        };
        check(&format!("allgatherv of {groups:?}"), size, a, allgatherv, expect);

        let alltoall = |rank: u32| {
            let at = place(rank, groups);
            let plan = inter::alltoall(at.rank, at.remote, Blocks::Units, Blocks::Units);
            process(plan, data(rank, at.remote.into()), at.remote.into())
        };
        let expect = |rank: u32, i: usize| {
            let at = place(rank, groups);
            Value::data(at.others + i as u32, at.rank.into())
        };
        check(&format!("alltoall of {groups:?}"), size, a, alltoall, expect);
    }
}

#[test]
fn reductions() {
    for groups in groups() {
        let (a, size) = (groups.0, groups.0 + groups.1);
        let operand =
            |rank: u32, units: u64| -> Vec<Value> { (0..units).map(|i| Value::operand(rank, i, size)).collect() };
        let run = |case: &str, make: &dyn Fn(u32) -> Process, element: &dyn Fn(u32, usize) -> u64| {
            let case = format!("{case} of {groups:?}");
            let all = (0..size).map(make).collect();
            let outcome = machine::run(all, a as usize, false, ROUNDS).unwrap_or_else(|e| panic!("{case}: {e}"));
            for rank in 0..size {
                let at = place(rank, groups);
                let ranks = at.others..at.others + at.remote;
                let (who, order) = (everyone(ranks.clone(), size), Some((ranks.start, ranks.end)));
                for (i, value) in outcome.recv[rank as usize].iter().enumerate() {
                    let right = value.what == element(rank, i) && value.who == who && value.order == order;
                    assert!(right, "{case}: rank {rank} has {value:?} at {i}");
                }
            }
        };
        for (units, unit_bytes) in [(0, 1), (3, 1), (33, 1 << 10), (40, 32 << 10)] {
            let vector = Vector { units, unit_bytes, commutes: false };
            let allreduce = |rank: u32| {
                let at = place(rank, groups);
                process(inter::allreduce(at.rank, at.local, vector), operand(rank, units), units)
            };
            run("allreduce", &allreduce, &|_, i| i as u64);
            for root in roots(groups) {
                let reduce = |rank: u32| {
                    let at = place(rank, groups);
                    let root_arg = root_for(rank, root, a);
                    let gives = matches!(root_arg, Root::Remote(_));
                    let send = if gives { operand(rank, units) } else { vec![] };
                    let plan = inter::reduce(root_arg, at.rank, at.local, vector);
                    process(plan, send, if rank == root { units } else { 0 })
                };
                run(&format!("reduce to {root}"), &reduce, &|_, i| i as u64);
            }
        }
        let vector = |units| Vector { units, unit_bytes: 1 << 10, commutes: false };
        // Both groups combine a vector of the same length, each with its own blocks.
        let total = u64::from(groups.0 * groups.1);
        let equal = |rank: u32| {
            let at = place(rank, groups);
            let each = total / u64::from(at.local);
            process(
                inter::reduce_scatter(at.rank, at.local, Counts::Equal(each), vector(total)),
                operand(rank, total),
                each,
            )
        };
        let element = |rank: u32, i: usize| {
            let at = place(rank, groups);
            u64::from(at.rank) * (total / u64::from(at.local)) + i as u64
        };
        run("reduce_scatter_block", &equal, &element);
        // The last rank gets what is left after the others took one each; every third takes
        // nothing.
        let counts = |local: u32| {
            let mut list: Vec<u64> = (0..local).map(|i| u64::from(i % 3 != 0)).collect();
            let rest = u64::from(size) + 1 - list[..local as usize - 1].iter().sum::<u64>();
            list[local as usize - 1] = rest;
            list
        };
        let given = |rank: u32| {
            let at = place(rank, groups);
            let list = counts(at.local);
            let plan = inter::reduce_scatter(at.rank, at.local, Counts::Given(&list), vector(u64::from(size) + 1));
            process(plan, operand(rank, u64::from(size) + 1), list[at.rank as usize])
        };
        let element = |rank: u32, i: usize| {
            let at = place(rank, groups);
            counts(at.local)[..at.rank as usize].iter().sum::<u64>() + i as u64
        };
        run("reduce_scatter", &given, &element);
    }
}
