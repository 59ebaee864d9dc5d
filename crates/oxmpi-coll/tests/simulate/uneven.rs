//! Operations over nodes whose ranks know only the lengths of their own blocks: empty ones, short ones that go through a rank
//! of the node, and long ones.

use crate::machine::{NOTHING, Outcome, Store, Units, Value, run_asking};
use crate::movement::{Spread, between, data, nothing};
use crate::nodes::{maps, roots};
use oxmpi_coll::choose::Algorithm;
use oxmpi_coll::nodes::{NodeMap, UnitBytes, answer, question};
use oxmpi_coll::operation::Operation;
use oxmpi_coll::plan::{Blocks, Plan};

/// In units of six bytes.
fn length(of: u32, with: u32, lengths: [u64; 5]) -> u64 {
    lengths[((of * 7 + with * 3) % 5) as usize]
}

/// Nothing but what fits behind the lengths; all ways; what is too long to be passed on.
const GATHERED: [[u64; 5]; 3] = [[0, 1, 2, 0, 3], [0, 1, 10, 200, 2800], [2800, 2800, 3000, 2800, 2800]];
const EXCHANGED: [[u64; 5]; 3] = [[0, 1, 2, 0, 3], [0, 1, 10, 50, 350], [350, 350, 400, 350, 350]];

const UNITS: UnitBytes = UnitBytes { send: 2, recv: 3 };

/// What a rank gives to an operation.
struct Rank<'a> {
    operation: Operation<'a>,
    send: Store,
    recv: Store,
}

fn check(case: &str, map: &NodeMap, units: UnitBytes, rank: impl Fn(u32) -> Rank<'static>, full: &[Vec<Value>]) {
    let mut outcomes =
        [false, true].map(|eager| run(map, units, eager, &rank).unwrap_or_else(|e| panic!("{case}: {e}")));
    assert_eq!(outcomes[0].recv, outcomes[1].recv, "{case}: it depends on buffers");
    for (rank, (got, full)) in std::mem::take(&mut outcomes[0].recv).into_iter().zip(full).enumerate() {
        assert!(got.iter().zip(full).all(|(got, full)| got == full), "{case}: rank {rank}");
    }
}

fn run(map: &NodeMap, units: UnitBytes, eager: bool, rank: impl Fn(u32) -> Rank<'static>) -> Result<Outcome, String> {
    let ranks = (0..map.ranks()).map(|number| {
        let Rank { operation, send, recv } = rank(number);
        let question = question(&operation, units, number, map).expect("it asks");
        let answer = Box::new(move |told: &[u8]| -> Plan { answer(&operation, units, number, map, told) });
        (question, answer as Box<dyn Fn(&[u8]) -> Plan>, [send, recv])
    });
    run_asking(ranks.collect(), eager)
}

/// Tests end soon, and operations borrow their arrays.
fn kept(spread: &Spread) -> Blocks<'static> {
    match spread.blocks() {
        Blocks::Spread { counts, displs } => {
            Blocks::Spread { counts: counts.to_vec().leak(), displs: displs.to_vec().leak() }
        }
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn gatherv_and_scatterv() {
    for (number, map) in maps().enumerate() {
        let size = map.ranks();
        for (turn, root) in roots(&map).into_iter().enumerate() {
            let (in_place, lengths) = ((number + turn) % 3 == 0, GATHERED[(number + turn) % 3]);
            let spread = |atoms| Spread::new((0..size).map(|i| length(i, 1, lengths)), atoms);
            let (all, out) = (spread(3), spread(2));
            let full = all.filled(Value::data);
            let gather = |rank: u32| {
                let absent = in_place && rank == root;
                let send = if absent { 0 } else { length(rank, 1, lengths) * 3 };
                let recv = match rank == root {
                    true => all.filled(|i, k| if absent && i == root { Value::data(i, k) } else { NOTHING }),
                    false => vec![],
                };
                // Other ranks have no arrays.
                let blocks = if rank == root { kept(&all) } else { Blocks::Spread { counts: &[], displs: &[] } };
                let operation = Operation::Gatherv { root, in_place, send, recv: blocks };
                Rank { operation, send: Store::new(2, data(rank, send * 2)), recv: all.store(recv) }
            };
            let mut expected = vec![vec![]; size as usize];
            expected[root as usize] = full;
            check(&format!("gatherv to {root}, in place: {in_place}, {map:?}"), &map, UNITS, gather, &expected);

            let scatter = |rank: u32| {
                let absent = in_place && rank == root;
                let recv = if absent { 0 } else { length(rank, 1, lengths) * 2 };
                let send = if rank == root { out.filled(|i, k| between(root, i, size, k)) } else { vec![] };
                let blocks = if rank == root { kept(&out) } else { Blocks::Spread { counts: &[], displs: &[] } };
                let operation = Operation::Scatterv { root, in_place, send: blocks, recv };
                Rank { operation, send: out.store(send), recv: Store::empty(3, recv) }
            };
            let got = |rank| (0..length(rank, 1, lengths) * 6).map(move |k| between(root, rank, size, k));
            let full: Vec<Vec<Value>> = (0..size).map(|rank| got(rank).collect()).collect();
            check(&format!("scatterv from {root}, in place: {in_place}, {map:?}"), &map, UNITS, scatter, &full);
        }
    }
}

#[test]
fn alltoallv_and_alltoallw() {
    for map in maps() {
        let size = map.ranks();
        for lengths in EXCHANGED {
            let out = |rank| Spread::new((0..size).map(|to| length(rank, to, lengths)), 2);
            let into = |rank| Spread::new((0..size).map(|from| length(from, rank, lengths)), 3);
            let full: Vec<Vec<Value>> =
                (0..size).map(|rank| into(rank).filled(|from, k| between(from, rank, size, k))).collect();
            let exchange = |rank: u32| {
                let (out, into) = (out(rank), into(rank));
                let recv = into.store(into.filled(|_, _| NOTHING));
                Rank {
                    operation: Operation::Alltoallv { in_place: false, send: kept(&out), recv: kept(&into) },
                    send: out.store(out.filled(|to, k| between(rank, to, size, k))),
                    recv,
                }
            };
            check(&format!("alltoallv of {lengths:?}, {map:?}"), &map, UNITS, exchange, &full);

            // Blocks as units of different sizes.
            let table = |bytes: &[u64]| {
                let ends = bytes.iter().scan(0, |end, bytes| {
                    *end += *bytes as usize;
                    Some(*end)
                });
                let places = ends.zip(bytes).map(|(end, bytes)| end - *bytes as usize..end);
                Units::Table(places.collect())
            };
            let bytes = |spread: Spread| -> &'static [u64] {
                let Blocks::Spread { counts, .. } = kept(&spread) else { unreachable!("a spread") };
                counts.iter().map(|count| count * spread.atoms).collect::<Vec<u64>>().leak()
            };
            let values = |bytes: &[u64], value: &dyn Fn(u32, u64) -> Value| -> Vec<Value> {
                (0..).zip(bytes).flat_map(|(i, bytes)| (0..*bytes).map(move |k| value(i, k))).collect()
            };
            let full: Vec<Vec<Value>> =
                (0..size).map(|rank| values(bytes(into(rank)), &|from, k| between(from, rank, size, k))).collect();
            let exchange = |rank: u32| {
                let (outs, ins) = (bytes(out(rank)), bytes(into(rank)));
                let atoms = values(outs, &|to, k| between(rank, to, size, k));
                Rank {
                    operation: Operation::Alltoallv {
                        in_place: false,
                        send: Blocks::Each { bytes: outs },
                        recv: Blocks::Each { bytes: ins },
                    },
                    send: Store { units: table(outs), atoms },
                    recv: Store { units: table(ins), atoms: nothing(ins.iter().sum()) },
                }
            };
            let ones = UnitBytes { send: 1, recv: 1 };
            check(&format!("alltoallw of {lengths:?}, {map:?}"), &map, ones, exchange, &full);
        }
    }
}

/// Short blocks of all ranks of a node go to another node in one message, or with the lengths in two.
#[test]
fn few_messages_go_between_nodes() {
    let (nodes, each) = (3, 4);
    let size = nodes * each;
    let map = NodeMap::new(size, |rank| rank / each).unwrap();
    // Messages between nodes, of what all ranks send in both parts of their plans.
    let count = |units: u64| {
        let all = Spread::new((0..size).map(|_| units), 2);
        let rank = |rank: u32| Rank {
            operation: Operation::Gatherv {
                root: 0,
                in_place: false,
                send: units * 3,
                recv: if rank == 0 { kept(&all) } else { Blocks::Spread { counts: &[], displs: &[] } },
            },
            send: Store::new(2, data(rank, units * 6)),
            recv: all.store(if rank == 0 { nothing(size as u64 * (units * 6 + 2) + 2) } else { vec![] }),
        };
        let units = UnitBytes { send: 2, recv: 2 };
        run(&map, units, false, rank).unwrap().messages[each as usize..].iter().sum::<u64>()
    };
    let within = u64::from((nodes - 1) * (each - 1) * 2);
    assert_eq!(count(10), within + u64::from(nodes - 1));
    assert_eq!(count(100), within + u64::from(nodes - 1) * 2);
}

/// In place, and where each rank is alone on its node, blocks go straight.
#[test]
fn the_table_says_when() {
    let blocks = Blocks::Spread { counts: &[1; 4], displs: &[0; 4] };
    let shared = NodeMap::new(4, |rank| rank / 2).unwrap();
    let alone = NodeMap::new(4, |rank| rank).unwrap();
    let composed = |in_place, map| {
        let operation = Operation::Alltoallv { in_place, send: blocks, recv: blocks };
        matches!(operation.shape_over_nodes(map, 1).choose().take, Algorithm::OverNodes(_))
    };
    assert!(composed(false, &shared));
    assert!(!composed(true, &shared) && !composed(false, &alone));
}
