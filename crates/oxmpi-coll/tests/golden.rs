//! The choices of the table for a grid of shapes, held against `golden.txt`. The file was first written by the code before the
//! board was a part of the table, so that it proves that nothing was decided differently.
//!
//! After a deliberate change: `OXMPI_BLESS=1 cargo test -p oxmpi-coll --test golden`, and read what differs.

use oxmpi_coll::choose::{Algorithm, BoardWay, Facts, Kind, Shape};
use oxmpi_coll::operation::Operation;
use oxmpi_coll::plan::Blocks;
use oxmpi_coll::reduce_scatter::Counts;
use oxmpi_coll::rules::longest_on_board;
use oxmpi_coll::tuning::{Limit, Tuning};
use std::fmt::Write;

const RANKS: [u32; 18] = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 32, 33, 64, 65, 128, 256, 257, 1000];
const BOARD_RANKS: [u32; 9] = [2, 3, 4, 5, 6, 7, 16, 33, 64];

#[test]
fn choices_are_those_that_were_reviewed() {
    let mut found = String::from(
        "# D: direct copies, H: huge pages, O: oversubscribed, L: large staging buffers. From so many bytes on, this way.\n",
    );
    on_boards(&mut found);
    in_background(&mut found);
    by_messages(&mut found);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden.txt");
    if std::env::var_os("OXMPI_BLESS").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap();
    for (found, golden) in found.lines().zip(golden.lines()) {
        assert_eq!(found, golden);
    }
    assert_eq!(found.lines().count(), golden.lines().count());
}

#[test]
fn choices_by_size_are_those_of_the_table() {
    for kind in ON_BOARD {
        for ranks in 2..=64 {
            for (facts, _) in board_facts() {
                let choices = Shape::choices(kind, ranks, facts, Tuning::NONE);
                let way = |bytes| Shape::new(kind, ranks, bytes, facts).choose().take;
                for bytes in sizes() {
                    let kept = choices.iter().rev().find(|(from, _)| *from <= bytes).map(|(_, algorithm)| *algorithm);
                    assert_eq!(kept, Some(way(bytes)), "{kind:?} of {ranks}, {bytes} bytes");
                }
                assert!(choices.iter().all(|&(from, algorithm)| from == 0 || way(from - 1) != algorithm));
                assert_eq!(choices[0], (0, Algorithm::Board(BoardWay::Pieces)), "the hot path has no other way");
                if matches!(kind, Kind::Gather | Kind::Scatter | Kind::Scan | Kind::Exscan) {
                    let first = choices.iter().find(|(_, way)| !matches!(way, Algorithm::Board(_)));
                    let least = longest_on_board(kind) + 1;
                    match first {
                        Some((from, _)) if !facts.has(Facts::DIRECT) => assert_eq!(*from, least),
                        Some((from, _)) => assert!(*from >= least),
                        None => assert!(facts.has(Facts::DIRECT)),
                    }
                }
            }
        }
    }
}

/// On any machine the choices by size are those of the table, short operations take the only way of the hot path, and the
/// ways of reductions give the same bits.
#[test]
fn limits_of_a_machine_move_the_choices() {
    for bytes in [Limit::LEAST, 4 << 10, 16 << 10, 64 << 10, 256 << 10] {
        let least = |limit: &Limit| bytes.min(limit.most());
        let set = |tuning: Tuning, limit| tuning.with(limit, least(&limit)).unwrap();
        let tuning = Limit::ALL.into_iter().fold(Tuning::NONE, set);
        for kind in ON_BOARD {
            for ranks in BOARD_RANKS {
                for (facts, _) in board_facts() {
                    let choices = Shape::choices(kind, ranks, facts, tuning);
                    let way = |bytes| Shape::new(kind, ranks, bytes, facts).tuned(tuning).choose().take;
                    for bytes in sizes() {
                        let kept = choices.iter().rev().find(|(from, _)| *from <= bytes);
                        assert_eq!(
                            kept.map(|(_, algorithm)| *algorithm),
                            Some(way(bytes)),
                            "{kind:?} of {ranks}, {bytes} bytes"
                        );
                    }
                    assert_eq!(choices[0], (0, Algorithm::Board(BoardWay::Pieces)), "the hot path has no other way");
                    let pieces_below = |limit: Limit| {
                        let at = least(&limit);
                        assert_eq!(way(at - 1), Algorithm::Board(BoardWay::Pieces), "{kind:?} of {ranks}");
                        assert_eq!(way(at), Algorithm::Board(BoardWay::Direct), "{kind:?} of {ranks}, {at} bytes");
                    };
                    match (kind, ranks) {
                        _ if !facts.has(Facts::DIRECT) => {}
                        (Kind::Bcast, 2) => pieces_below(Limit::Bcast2),
                        (Kind::Gather, 2) => pieces_below(Limit::Gather2),
                        (Kind::Gather, _) => pieces_below(Limit::Gather),
                        (Kind::Scatter, 2) => pieces_below(Limit::Scatter2),
                        (Kind::Scatter, _) => pieces_below(Limit::Scatter),
                        (Kind::Allgather, 2) => pieces_below(Limit::Allgather2),
                        (Kind::Alltoall, 2) => pieces_below(Limit::Alltoall2),
                        (Kind::Alltoall, ranks) if bytes * u64::from(ranks) < 8 << 20 => pieces_below(Limit::Alltoall),
                        _ => {}
                    }
                }
            }
        }
    }
}

#[test]
fn kinds_are_at_their_places() {
    assert!(Kind::ALL.into_iter().enumerate().all(|(place, kind)| kind as usize == place));
}

#[test]
fn every_shape_has_a_row_and_no_board_spans_nodes() {
    for kind in ON_BOARD {
        for ranks in [1, 2, 65, u32::MAX] {
            for (facts, _) in board_facts() {
                let shape = Shape { nodes: 2, ..Shape::new(kind, ranks, 8, facts) };
                assert!(!matches!(shape.choose().take, Algorithm::Board(_)));
                assert!(!shape.describe(shape.choose()).contains("board") && !shape.choose().why.is_empty());
            }
        }
    }
}

const ON_BOARD: [Kind; 16] = [
    Kind::Barrier,
    Kind::Bcast,
    Kind::Gather,
    Kind::Gatherv,
    Kind::Scatter,
    Kind::Scatterv,
    Kind::Allgather,
    Kind::Allgatherv,
    Kind::Alltoall,
    Kind::Alltoallv,
    Kind::Reduce,
    Kind::Allreduce,
    Kind::ReduceScatter,
    Kind::Scan,
    Kind::Exscan,
    Kind::Neighbors,
];

/// All that a board may have, and its name.
fn board_facts() -> impl Iterator<Item = (Facts, String)> {
    (0..16).map(|bits| {
        let (mut facts, mut name) = (Facts::BOARD, String::new());
        let all = [
            (Facts::DIRECT, Facts::NONE, 'D'),
            (Facts::HUGE_PAGES, Facts::NONE, 'H'),
            (Facts::OVERSUBSCRIBED, Facts::CPU_EACH, 'O'),
            (Facts::LARGE_STAGING, Facts::SMALL_STAGING, 'L'),
        ];
        for (bit, (fact, otherwise, letter)) in all.into_iter().enumerate() {
            let is_true = bits >> bit & 1 == 1;
            facts = facts.and(if is_true { fact } else { otherwise });
            name.push(if is_true { letter } else { '-' });
        }
        (facts, name)
    })
}

fn on_boards(text: &mut String) {
    for kind in ON_BOARD {
        for ranks in BOARD_RANKS {
            let mut groups: Vec<(String, Vec<String>)> = Vec::new();
            for (facts, name) in board_facts() {
                let line = by_bytes(|bytes| way(Shape::new(kind, ranks, bytes, facts).choose().take));
                match groups.iter_mut().find(|(known, _)| *known == line) {
                    Some((_, names)) => names.push(name),
                    None => groups.push((line, vec![name])),
                }
            }
            for (line, names) in groups {
                let names = if names.len() == 16 { "any".to_string() } else { names.join(" ") };
                writeln!(text, "{} of {ranks} on a board, {names}: {line}", kind.name()).unwrap();
            }
        }
    }
}

/// What is true of a board does not count in the background.
fn in_background(text: &mut String) {
    for kind in ON_BOARD {
        for ranks in BOARD_RANKS {
            let line = by_bytes(|bytes| way(Shape::new(kind, ranks, bytes, Facts::BACKGROUND_BOARD).choose().take));
            writeln!(text, "{} of {ranks} in the background: {line}", kind.name()).unwrap();
        }
    }
}

/// Reductions combine operands in an order that depends on the way, and so do the bits of their results. All ways over a board
/// take the order of ranks but the chain.
#[test]
fn blocking_and_background_reductions_give_the_same_bits() {
    let in_chain_order = |algorithm| match algorithm {
        Algorithm::Board(BoardWay::Chain | BoardWay::ChainOrder) => Some(true),
        Algorithm::Board(_) => Some(false),
        _ => None,
    };
    for kind in [Kind::Reduce, Kind::Allreduce, Kind::ReduceScatter, Kind::Scan, Kind::Exscan] {
        for ranks in 2..=64 {
            for (facts, _) in board_facts() {
                for bytes in sizes() {
                    let blocking = in_chain_order(Shape::new(kind, ranks, bytes, facts).choose().take);
                    let shape = Shape::new(kind, ranks, bytes, Facts::BACKGROUND_BOARD);
                    let background = in_chain_order(shape.choose().take);
                    // Of two operands it does not matter which is the left one: all predefined operations commute.
                    let same = blocking == background || ranks == 2 && blocking.is_some() && background.is_some();
                    assert!(same, "{kind:?} of {ranks}, {bytes} bytes");
                }
            }
        }
    }
}

fn way(algorithm: Algorithm) -> String {
    match algorithm {
        Algorithm::Board(BoardWay::Pieces) => "pieces".to_string(),
        Algorithm::Board(BoardWay::PiecesPastCache) => "pieces past the cache".to_string(),
        Algorithm::Board(BoardWay::Direct) => "direct".to_string(),
        Algorithm::Board(BoardWay::Parts) => "parts".to_string(),
        Algorithm::Board(BoardWay::PartsPastCache) => "parts past the cache".to_string(),
        Algorithm::Board(BoardWay::Chain) => "chain".to_string(),
        Algorithm::Board(BoardWay::ChainOrder) => "pieces in the order of a chain".to_string(),
        Algorithm::Board(BoardWay::FixedParts) => "fixed parts".to_string(),
        _ => "messages".to_string(),
    }
}

/// What the operations are by name, of so many bytes.
type Made<'a> = fn(u64, Blocks<'a>, &'a [u64]) -> (Operation<'a>, u64);

fn operations<'a>() -> [(&'static str, Made<'a>); 20] {
    use Operation::*;
    const ROOT: u32 = 0;
    [
        ("barrier", |_, _, _| (Barrier, 0)),
        ("bcast", |units, _, _| (Bcast { root: ROOT, units }, 1)),
        ("gather", |bytes, _, _| (Gather { root: ROOT, in_place: false }, bytes)),
        ("gatherv", |send, recv, _| (Gatherv { root: ROOT, in_place: false, send, recv }, 1)),
        ("scatter", |bytes, _, _| (Scatter { root: ROOT, in_place: false }, bytes)),
        ("scatterv", |recv, send, _| (Scatterv { root: ROOT, in_place: false, send, recv }, 1)),
        ("allgather", |bytes, _, _| (Allgather { in_place: false }, bytes)),
        ("allgatherv", |send, recv, _| (Allgatherv { in_place: false, send, recv }, 1)),
        ("alltoall", |bytes, _, _| (Alltoall { in_place: false }, bytes)),
        ("alltoallv", |_, all, _| (Alltoallv { in_place: false, send: all, recv: all }, 1)),
        ("alltoallv in place", |_, all, _| (Alltoallv { in_place: true, send: all, recv: all }, 1)),
        ("reduce", |units, _, _| (Reduce { root: ROOT, units, commutes: true, in_place: false }, 1)),
        ("reduce in order", |units, _, _| (Reduce { root: ROOT, units, commutes: false, in_place: false }, 1)),
        ("allreduce", |units, _, _| (Allreduce { units, commutes: true, in_place: false }, 1)),
        ("allreduce in order", |units, _, _| (Allreduce { units, commutes: false, in_place: false }, 1)),
        ("reduce_scatter", |units, _, _| (reduce_scatter(Counts::Equal(units), true), 1)),
        ("reduce_scatter in order", |units, _, _| (reduce_scatter(Counts::Equal(units), false), 1)),
        ("reduce_scatter of counts", |_, _, counts| (reduce_scatter(Counts::Given(counts), true), 1)),
        ("scan", |units, _, _| (Scan { units, in_place: false }, 1)),
        ("exscan", |units, _, _| (Exscan { units, in_place: false }, 1)),
    ]
}

fn reduce_scatter(counts: Counts, commutes: bool) -> Operation {
    Operation::ReduceScatter { counts, commutes, in_place: false }
}

fn by_messages(text: &mut String) {
    for index in 0..operations().len() {
        for ranks in RANKS {
            let line = by_bytes(|bytes| {
                let mut counts = vec![0; ranks as usize];
                counts[ranks as usize - 1] = bytes;
                let displs = vec![0; ranks as usize];
                let blocks = Blocks::Spread { counts: &counts, displs: &displs };
                let (operation, unit) = operations()[index].1(bytes, blocks, &counts);
                let algorithm = operation.shape(ranks, unit).choose().take;
                assert!(operation.allows(algorithm, ranks), "{operation:?} cannot be done by {algorithm:?}");
                format!("{algorithm:?}").to_lowercase()
            });
            writeln!(text, "{} of {ranks} by messages: {line}", operations()[index].0).unwrap();
        }
    }
}

/// Sizes close to each other.
fn sizes() -> impl Iterator<Item = u64> {
    (0..32).chain((5..34).flat_map(|octave| (0..16).map(move |step| (1 << octave) + (step << octave) / 16)))
}

/// The choices by bytes: from which on which one.
fn by_bytes(decide: impl Fn(u64) -> String) -> String {
    let mut text = format!("0 {}", decide(0));
    let mut low = 0;
    for sample in sizes() {
        while decide(sample) != decide(low) {
            let (mut before, mut after) = (low, sample);
            while before + 1 < after {
                let middle = before + (after - before) / 2;
                if decide(middle) == decide(low) { before = middle } else { after = middle }
            }
            low = after;
            write!(text, " | {low} {}", decide(low)).unwrap();
        }
        low = sample;
    }
    text
}
