//! Operations over several nodes: nodes of equal and unequal sizes, with ranks in rows, dealt out in turn, and in any order.

use crate::check;
use crate::machine::{NOTHING, Process, Store, Units, Value, everyone};
use crate::movement::{Spread, count, data, nothing, process};
use crate::reductions::{Expected, Reduction};
use oxmpi_coll::choose::Algorithm;
use oxmpi_coll::choose::NodeWay;
use oxmpi_coll::nodes::{Cluster, NodeMap, UnitBytes, figures, plan, question, seconds};
use oxmpi_coll::operation::Operation;
use oxmpi_coll::plan::{Blocks, Plan, Step};
use oxmpi_coll::reduce_scatter::Counts;

/// The node of each rank.
fn placements() -> Vec<Vec<u32>> {
    let rows = |sizes: &[u32]| -> Vec<u32> {
        (0..).zip(sizes).flat_map(|(node, size)| std::iter::repeat_n(node, *size as usize)).collect()
    };
    let dealt = |ranks: u32, nodes: u32| (0..ranks).map(|rank| rank % nodes).collect();
    // In no order at all.
    let mixed = |ranks: u32, nodes: u32| (0..ranks).map(|rank| (rank * rank + rank / 3) % nodes).collect();
    let mut all: Vec<Vec<u32>> = Vec::new();
    for sizes in [
        &[1, 1][..],
        &[2, 2],
        &[1, 2],
        &[3, 1],
        &[2, 2, 2],
        &[4, 4],
        &[3, 3, 2],
        &[5, 1, 4],
        &[1, 1, 6],
        &[2, 3, 4, 5],
        &[4, 4, 4, 4],
        &[7, 2, 2, 2, 3],
        &[1, 1, 1, 1, 1, 1, 1],
        &[3, 3, 3, 3, 3, 3, 3, 3, 2],
    ] {
        all.push(rows(sizes));
    }
    for (ranks, nodes) in [(4, 2), (5, 2), (7, 3), (12, 4), (17, 5), (23, 7)] {
        all.push(dealt(ranks, nodes));
        all.push(mixed(ranks, nodes));
    }
    all
}

pub(crate) fn maps() -> impl Iterator<Item = NodeMap> {
    placements().into_iter().filter_map(|nodes| NodeMap::new(nodes.len() as u32, |rank| nodes[rank as usize]))
}

fn planned(operation: &Operation, way: NodeWay, rank: u32, map: &NodeMap) -> Plan {
    plan(operation, way, rank, map, 1).unwrap_or_else(|| panic!("{way:?} is not for {operation:?}"))
}

pub(crate) fn roots(map: &NodeMap) -> Vec<u32> {
    let ranks = map.ranks();
    if ranks <= 9 { (0..ranks).collect() } else { vec![0, ranks / 3, ranks - 1] }
}

/// Over nodes, and by the flat algorithm that sends to few at a time.
const LEADERS: NodeWay = NodeWay::Leaders;

#[test]
fn barrier() {
    for map in maps() {
        let size = map.ranks();
        let make = |rank| process(planned(&Operation::Barrier, LEADERS, rank, &map), vec![], vec![]);
        let outcome = check(&format!("barrier of {map:?}"), size, size, make, |_, _| NOTHING);
        assert!(outcome.heard.iter().all(|heard| *heard == everyone(0..size, size)), "{map:?}");
    }
}

#[test]
fn bcast() {
    for map in maps() {
        let size = map.ranks();
        for root in roots(&map) {
            for (way, units, unit_bytes) in
                [(LEADERS, 1, 1), (LEADERS, 0, 1), (LEADERS, 13, 1 << 20), (NodeWay::Pipeline, 5, 1 << 18)]
            {
                let operation = Operation::Bcast { root, units };
                let make = |rank: u32| {
                    let plan = plan(&operation, way, rank, &map, unit_bytes).unwrap();
                    match rank == root {
                        true => process(plan, data(root, units), vec![]),
                        false => process(plan, vec![], nothing(units)),
                    }
                };
                let case = format!("{way:?} bcast of {units} from {root}, {map:?}");
                check(&case, size, size, make, |_, i| Value::data(root, i as u64));
            }
        }
    }
}

#[test]
fn gather_and_scatter() {
    for map in maps() {
        let size = map.ranks();
        let n = u64::from(size);
        for (root, in_place) in roots(&map).into_iter().flat_map(|root| [(root, false), (root, true)]) {
            let operation = Operation::Gather { root, in_place };
            let gather = |rank: u32| {
                let mut recv = nothing(if rank == root { n } else { 0 });
                let absent = in_place && rank == root;
                if absent {
                    recv[root as usize] = Value::data(root, 0);
                }
                process(planned(&operation, LEADERS, rank, &map), data(rank, u64::from(!absent)), recv)
            };
            let case = format!("gather to {root}, in place: {in_place}, {map:?}");
            check(&case, size, size, gather, |_, i| Value::data(i as u32, 0));

            let operation = Operation::Scatter { root, in_place };
            let scatter = |rank: u32| {
                let absent = in_place && rank == root;
                let send = if rank == root { data(root, n) } else { vec![] };
                process(planned(&operation, LEADERS, rank, &map), send, nothing(u64::from(!absent)))
            };
            let case = format!("scatter from {root}, in place: {in_place}, {map:?}");
            check(&case, size, size, scatter, |rank, _| Value::data(root, rank.into()));
        }
    }
}

#[test]
fn allgather() {
    for map in maps() {
        let size = map.ranks();
        for (way, in_place) in [(LEADERS, false), (LEADERS, true), (NodeWay::Slices, false), (NodeWay::Slices, true)] {
            let operation = Operation::Allgather { in_place };
            let make = |rank: u32| {
                let mut recv = nothing(size.into());
                if in_place {
                    recv[rank as usize] = Value::data(rank, 0);
                }
                process(planned(&operation, way, rank, &map), data(rank, u64::from(!in_place)), recv)
            };
            let case = format!("{way:?} allgather, in place: {in_place}, {map:?}");
            check(&case, size, size, make, |_, i| Value::data(i as u32, 0));

            // Each rank names the blocks in its own way: elements of two or three atoms.
            let spread = |rank: u32| Spread::new((0..size).map(|i| count(i, 2)), u64::from(2 + rank % 2));
            let spreads = [spread(0), spread(1)];
            let full = [spreads[0].filled(Value::data), spreads[1].filled(Value::data)];
            let make = |rank: u32| {
                let all = &spreads[rank as usize % 2];
                let send = if in_place { 0 } else { count(rank, 2) };
                let operation = Operation::Allgatherv { in_place, send, recv: all.blocks() };
                let plan = plan(&operation, way, rank, &map, all.atoms).unwrap();
                let recv = all.filled(|i, k| if in_place && i == rank { Value::data(i, k) } else { NOTHING });
                let send = Store::new(6, data(rank, send * 6));
                Process { plan, send, recv: all.store(recv), temp: Units::Even(all.atoms) }
            };
            let case = format!("{way:?} allgatherv, in place: {in_place}, {map:?}");
            check(&case, size, size, make, |rank, i| full[rank as usize % 2][i]);
        }
    }
}

#[test]
fn alltoall() {
    for map in maps() {
        let size = map.ranks();
        for in_place in [false, true] {
            let operation = Operation::Alltoall { in_place };
            let make = |rank: u32| {
                let out = data(rank, size.into());
                let plan = planned(&operation, LEADERS, rank, &map);
                if in_place { process(plan, vec![], out) } else { process(plan, out, nothing(size.into())) }
            };
            let case = format!("alltoall, in place: {in_place}, {map:?}");
            check(&case, size, size, make, |rank, i| Value::data(i as u32, rank.into()));
            // One message between each two nodes.
            let mut pairs = vec![0; (map.nodes() * map.nodes()) as usize];
            for rank in 0..size {
                for step in planned(&operation, LEADERS, rank, &map).steps {
                    let Step::Send { to, .. } = step else { continue };
                    let (from, to) = (map.place(rank).0, map.place(to).0);
                    pairs[(from * map.nodes() + to) as usize] += u32::from(from != to);
                }
            }
            assert!(pairs.iter().all(|messages| *messages <= 1), "{map:?}: {pairs:?}");
        }
    }
}

/// Operations that combine, with and without an order that matters.
fn combined(map: &NodeMap, case: &str, units: u64, commutes: bool, run: impl Fn(&str, u64, bool)) {
    if commutes || map.is_in_order() {
        run(&format!("{case} of {units}, commutes: {commutes}, {map:?}"), units, commutes);
    }
}

#[test]
fn reduce() {
    for map in maps() {
        let size = map.ranks();
        for (root, in_place) in roots(&map).into_iter().flat_map(|root| [(root, false), (root, true)]) {
            for (units, commutes) in [(3, true), (3, false), (0, true), (40_000, true)] {
                combined(&map, &format!("reduce to {root}, in place {in_place}"), units, commutes, |case, units, _| {
                    // Vectors that are long by their bytes, not by their elements.
                    let (units, bytes) = if units > 100 { (11, units) } else { (units, 1) };
                    let operation = Operation::Reduce { root, units, commutes, in_place };
                    let expect = |rank| (rank == root).then_some(Expected { elements: 0..units, ranks: 0..size });
                    Reduction {
                        case: case.into(),
                        size,
                        units,
                        ordered: !commutes,
                        alike: true,
                        in_place: &|rank| in_place && rank == root,
                        plan: &|rank| plan(&operation, LEADERS, rank, &map, bytes).unwrap(),
                        expect: &expect,
                    }
                    .check();
                });
            }
        }
    }
}

#[test]
fn allreduce() {
    for map in maps() {
        let size = map.ranks();
        for (way, in_place) in [(LEADERS, false), (LEADERS, true), (NodeWay::Slices, false), (NodeWay::Slices, true)] {
            for (units, bytes) in [(1, 1), (0, 1), (3, 1), (19, 1), (19, 40_000)] {
                for commutes in [true, false] {
                    combined(
                        &map,
                        &format!("{way:?} allreduce, in place {in_place}"),
                        units,
                        commutes,
                        |case, _, _| {
                            let operation = Operation::Allreduce { units, commutes, in_place };
                            Reduction {
                                case: case.into(),
                                size,
                                units,
                                ordered: !commutes,
                                alike: true,
                                in_place: &|_| in_place,
                                plan: &|rank| plan(&operation, way, rank, &map, bytes).unwrap(),
                                expect: &|_| Some(Expected { elements: 0..units, ranks: 0..size }),
                            }
                            .check();
                        },
                    );
                }
            }
        }
    }
}

#[test]
fn reduce_scatter() {
    for map in maps() {
        let size = map.ranks();
        let irregular: Vec<u64> = (0..size).map(|i| u64::from((i * 5 + 2) % 4)).collect();
        let one: Vec<u64> = (0..size).map(|i| if i == size / 2 { 5 } else { 0 }).collect();
        for counts in [Counts::Given(&irregular), Counts::Given(&one), Counts::Equal(2), Counts::Equal(0)] {
            let of = |rank: u32| match counts {
                Counts::Equal(each) => each,
                Counts::Given(list) => list[rank as usize],
            };
            let start = |rank: u32| (0..rank).map(of).sum::<u64>();
            for (way, places) in [LEADERS, NodeWay::Slices].into_iter().flat_map(|way| (0..3).map(move |p| (way, p))) {
                for commutes in [true, false] {
                    let name = format!("{way:?} reduce_scatter of {counts:?}, in place {places}");
                    combined(&map, &name, start(size), commutes, |case, units, commutes| {
                        let in_place = |rank: u32| places == 1 || (places == 2 && rank.is_multiple_of(2));
                        Reduction {
                            case: case.into(),
                            size,
                            units,
                            ordered: !commutes,
                            alike: true,
                            in_place: &in_place,
                            plan: &|rank| {
                                let in_place = in_place(rank);
                                planned(&Operation::ReduceScatter { counts, commutes, in_place }, way, rank, &map)
                            },
                            expect: &|rank| {
                                let first = start(rank);
                                Some(Expected { elements: first..first + of(rank), ranks: 0..size })
                            },
                        }
                        .check();
                    });
                }
            }
        }
    }
}

#[test]
fn scans() {
    for map in maps().filter(NodeMap::is_in_order) {
        let size = map.ranks();
        for (units, in_place, bytes) in
            [(2, false, 1), (2, true, 1), (7, false, 40_000), (7, true, 40_000), (0, true, 1)]
        {
            for (exclusive, operation) in
                [Operation::Scan { units, in_place }, Operation::Exscan { units, in_place }].into_iter().enumerate()
            {
                let least = exclusive as u32;
                // Rank 0 of an exclusive scan gets nothing, and keeps what it has.
                let expect =
                    |rank: u32| (rank >= least).then_some(Expected { elements: 0..units, ranks: 0..rank + 1 - least });
                Reduction {
                    case: format!("{operation:?} {map:?}"),
                    size,
                    units,
                    ordered: true,
                    alike: false,
                    in_place: &|_| in_place,
                    plan: &|rank| plan(&operation, LEADERS, rank, &map, bytes).unwrap(),
                    expect: &expect,
                }
                .check();
            }
        }
    }
}

/// What does not commute is not combined by nodes whose ranks are not in a row.
#[test]
fn order_is_not_lost() {
    for map in maps().filter(|map| !map.is_in_order()) {
        let (units, commutes, in_place) = (3, false, false);
        for operation in [
            Operation::Reduce { root: 0, units, commutes, in_place },
            Operation::Allreduce { units, commutes, in_place },
            Operation::ReduceScatter { counts: Counts::Equal(1), commutes, in_place },
            Operation::Scan { units, in_place },
            Operation::Exscan { units, in_place },
        ] {
            assert!(plan(&operation, LEADERS, 0, &map, 1).is_none(), "{operation:?}");
            let rule = operation.shape_over_nodes(&map, 1).choose();
            assert!(!matches!(rule.take, Algorithm::OverNodes(_)), "{operation:?}");
        }
    }
}

fn operations(bytes: u64, ranks: u32) -> Vec<(Operation<'static>, u64)> {
    let (commutes, in_place) = (true, false);
    let counts = Counts::Equal(bytes.div_ceil(ranks.into()));
    vec![
        (Operation::Barrier, 1),
        (Operation::Bcast { root: 0, units: bytes }, 1),
        (Operation::Gather { root: 0, in_place }, bytes),
        (Operation::Scatter { root: 0, in_place }, bytes),
        (Operation::Allgather { in_place }, bytes),
        (Operation::Alltoall { in_place }, bytes),
        (Operation::Reduce { root: 0, units: bytes, commutes, in_place }, 1),
        (Operation::Allreduce { units: bytes, commutes, in_place }, 1),
        (Operation::ReduceScatter { counts, commutes, in_place }, 1),
        (Operation::Scan { units: bytes, in_place }, 1),
        (Operation::Exscan { units: bytes, in_place }, 1),
    ]
}

/// Whatever the table chooses can be planned, for all sizes, placements and forms.
#[test]
fn every_choice_has_a_plan() {
    for map in maps() {
        let counts = vec![3; map.ranks() as usize];
        let displs: Vec<i64> = (0..i64::from(map.ranks())).map(|rank| rank * 3).collect();
        let blocks = Blocks::Spread { counts: &counts, displs: &displs };
        for (bytes, in_place, commutes) in
            (0..26).flat_map(|log| [(1 << log, false, true), (1 << log, true, true), (1 << log, false, false)])
        {
            let (root, units) = (0, bytes);
            let every = [
                (Operation::Barrier, 1),
                (Operation::Bcast { root, units }, 1),
                (Operation::Gather { root, in_place }, bytes),
                (Operation::Gatherv { root, in_place, send: 3, recv: blocks }, bytes),
                (Operation::Scatter { root, in_place }, bytes),
                (Operation::Scatterv { root, in_place, send: blocks, recv: 3 }, bytes),
                (Operation::Allgather { in_place }, bytes),
                (Operation::Allgatherv { in_place, send: 3, recv: blocks }, bytes),
                (Operation::Alltoall { in_place }, bytes),
                (Operation::Alltoallv { in_place, send: blocks, recv: blocks }, bytes),
                (Operation::Reduce { root, units, commutes, in_place }, 1),
                (Operation::Allreduce { units, commutes, in_place }, 1),
                (Operation::ReduceScatter { counts: Counts::Equal(units), commutes, in_place }, 1),
                (Operation::ReduceScatter { counts: Counts::Given(&counts), commutes, in_place }, bytes),
                (Operation::Scan { units, in_place }, 1),
                (Operation::Exscan { units, in_place }, 1),
            ];
            for (operation, unit) in every {
                let rule = operation.shape_over_nodes(&map, unit).choose();
                let units = UnitBytes { send: unit, recv: unit };
                let has_plan = match rule.take {
                    Algorithm::OverNodes(way) => {
                        plan(&operation, way, 0, &map, unit).is_some() || question(&operation, units, 0, &map).is_some()
                    }
                    algorithm => oxmpi_coll::operation::plan(&operation, algorithm, 0, map.ranks(), unit).is_some(),
                };
                assert!(has_plan, "{operation:?} by {:?}, {map:?}", rule.take);
            }
        }
    }
}

/// The table need not be the best at every point of any cluster, but it must not be far from it on either of these.
#[test]
fn the_table_is_sound() {
    let mut wrong = Vec::new();
    for (nodes, size) in [(2, 2), (4, 2), (2, 16), (3, 5), (16, 16), (64, 64), (1024, 8), (16_384, 64)] {
        let map = NodeMap::new(nodes * size, |rank| rank / size).unwrap();
        for bytes in (0..25).step_by(2).map(|log| 1u64 << log) {
            for (operation, unit) in operations(bytes, map.ranks()) {
                if unit * u64::from(map.ranks()) >= 1 << 34 {
                    continue;
                }
                let rule = operation.shape_over_nodes(&map, unit).choose();
                for cluster in [Cluster::TCP, Cluster::FAST] {
                    let time = |algorithm| seconds(&operation, algorithm, &map, unit, &cluster);
                    let Some(chosen) = time(rule.take) else {
                        assert!(rule.take == Algorithm::Batched, "no formula for {operation:?} by {:?}", rule.take);
                        continue;
                    };
                    let ways = [LEADERS, NodeWay::Pipeline, NodeWay::Slices].map(Algorithm::OverNodes);
                    let all = operation.algorithms(map.ranks()).chain(ways).filter_map(time);
                    let best = all.fold(f64::INFINITY, f64::min);
                    let factor = chosen / best;
                    if factor >= 3.0 {
                        wrong.push(format!(
                            "{operation:?} of {bytes} by {nodes} x {size}: {:?} takes {factor:.1} times the best",
                            rule.take
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a node sends to others by plans of every rank, against what must be sent.
#[test]
fn little_goes_between_nodes() {
    let (nodes, size) = (6, 4);
    let map = NodeMap::new(nodes * size, |rank| rank / size).unwrap();
    let (units, commutes, in_place) = (2400, true, false);
    let sent = |operation: Operation, way: NodeWay| {
        figures(&operation, Algorithm::OverNodes(way), &map, 1000).unwrap().sent_by_node
    };
    // Twice the vector but for a share; once for each half of an allreduce.
    let allreduce = Operation::Allreduce { units, commutes, in_place };
    assert!(sent(allreduce, NodeWay::Slices) <= 2 * units);
    let blocks = u64::from(size * size * (nodes - 1));
    assert_eq!(sent(Operation::Alltoall { in_place }, LEADERS), blocks);
    assert_eq!(sent(Operation::Allgather { in_place }, NodeWay::Slices), u64::from(size * (nodes - 1)));
    assert_eq!(sent(Operation::Bcast { root: 0, units }, NodeWay::Pipeline), units);
    let scatter = Operation::ReduceScatter { counts: Counts::Equal(100), commutes, in_place };
    assert!(sent(scatter, NodeWay::Slices) <= units);
    let flat = figures(&allreduce, Algorithm::Ring, &map, 1000).unwrap();
    assert!(flat.depth_between > 2 * u64::from(nodes), "{flat:?}");
}
