//! Blocks of any length between some pairs of ranks.

use super::*;
use oxmpi_abi::functions::Fun;
use smallvec::SmallVec;

/// One exchange, blocking or in the background; what the board has left of it.
fn exchanged(board: &mut SharedBoard, step: u64, exchange: Exchange) -> Remainder {
    if step & 1 == 0 {
        return board.exchange(&mut Yield, &exchange).unwrap();
    }
    let mut run = board.run(Work::Exchange(Arc::new(exchange)), BoardWay::Pieces, 0);
    while board.advance(&mut run, &mut Never).unwrap() != Advance::Ended {
        std::thread::yield_now();
    }
    run.end_of_exchange().unwrap().1
}

#[test]
fn blocks_of_any_length_go_over_the_board_or_as_messages() {
    const WORDS: [usize; 8] = [0, 1, 2, 5, 6, 100, 1000, 20_000];
    const ROOTED: [(Kind, Fun); 2] = [(Kind::Gatherv, Fun::Gatherv), (Kind::Scatterv, Fun::Scatterv)];
    const OTHERS: [(Kind, Fun); 3] = [
        (Kind::Alltoallv, Fun::Alltoallv),
        (Kind::Allgatherv, Fun::Allgatherv),
        (Kind::Neighbors, Fun::NeighborAlltoallv),
    ];
    everybody(3, 16 << 10, |mut board| {
        let (me, short) = (board.rank(), |words: usize| words < 100);
        for step in 0..600u64 {
            let root = (step % 3) as usize;
            let (kind, fun) = match step as usize / 2 % 5 {
                place @ (0 | 1) => ROOTED[place],
                place => OTHERS[place - 2],
            };
            let is_rooted = matches!(kind, Kind::Gatherv | Kind::Scatterv);
            let is_same = kind == Kind::Allgatherv;
            // The blocks from one rank to another: two for neighbours, and some for the rank itself.
            let words = |from: usize, to: usize, nth: usize| {
                let to = if is_same { 0 } else { to };
                WORDS[(step as usize / 10 + 3 * from + 5 * to + nth) % WORDS.len()]
            };
            let filled = |from: usize, to: usize, nth: usize| -> Vec<u64> {
                (0..words(from, to, nth)).map(|i| value(step, from, if is_same { i } else { i + to + nth })).collect()
            };
            let is_edge = |from: usize, to: usize| match kind {
                Kind::Gatherv => from != to && to == root,
                Kind::Scatterv => from != to && from == root,
                Kind::Neighbors => from != 2,
                _ => from != to,
            };
            let times = if kind == Kind::Neighbors { 2 } else { 1 };
            let pairs = |is_mine: &dyn Fn(usize) -> bool| -> Vec<(usize, usize)> {
                (0..times)
                    .flat_map(|nth| (0..3).map(move |rank| (rank, nth)))
                    .filter(|(rank, _)| is_mine(*rank))
                    .collect()
            };
            let (to, from) = (pairs(&|to| is_edge(me, to)), pairs(&|from| is_edge(from, me)));
            let mut given: Vec<_> = to.iter().map(|(to, nth)| filled(me, *to, *nth)).collect();
            let mut got: Vec<_> = from.iter().map(|(from, nth)| vec![0; words(*from, me, *nth)]).collect();
            let left = exchanged(
                &mut board,
                step,
                Exchange {
                    fun,
                    kind,
                    root: is_rooted.then_some(root),
                    sends: to
                        .iter()
                        .zip(&mut given)
                        .map(|(to, block)| (to.0, Source::clone(&lasting(block))))
                        .collect(),
                    recvs: from.iter().zip(&mut got).map(|(from, block)| (from.0, lasting(block))).collect(),
                    own: None,
                    is_same,
                },
            );
            assert_eq!((left.own, left.differs), (false, None));
            for (place, (from, nth)) in from.into_iter().enumerate() {
                let expected = filled(from, me, nth);
                assert!(left.recvs.contains(&place) || got[place] == expected, "step {step}");
                // Which are short depends on the number of blocks.
                assert!(expected.len() < 20_000 || left.recvs.contains(&place), "step {step}");
                assert!(!short(expected.len()) || !left.recvs.contains(&place), "step {step}");
            }
            for (place, block) in given.iter().enumerate() {
                assert!(block.len() < 20_000 || left.sends.contains(&place), "step {step}");
                assert!(!short(block.len()) || !left.sends.contains(&place), "step {step}");
            }
        }
    });
}

#[test]
fn long_blocks_are_copied_from_the_memory_of_their_sender() {
    const WORDS: [usize; 4] = [3, 1025, 5000, 40_000];
    for ranks in [2, 3] {
        everybody(ranks, 64 << 10, move |mut board| {
            assert!(board.probe(&mut Yield).unwrap());
            board.add_facts(Facts::DIRECT);
            let me = board.rank();
            for step in 0..200u64 {
                let words = |from: usize, to: usize| WORDS[(step as usize + from + 2 * to) % WORDS.len()];
                let others: Vec<usize> = (me + 1..ranks).chain(0..me).collect();
                let sorted: Vec<usize> = (0..ranks).filter(|rank| *rank != me).collect();
                let mut given: Vec<_> = sorted.iter().map(|to| vec![step + me as u64; words(me, *to)]).collect();
                let mut got: Vec<_> = others.iter().map(|from| vec![0; words(*from, me)]).collect();
                let sends = sorted.iter().zip(&mut given);
                let recvs = others.iter().zip(&mut got);
                let exchange = Exchange {
                    fun: Fun::Alltoallv,
                    kind: Kind::Alltoallv,
                    root: None,
                    sends: sends.map(|(to, block)| (*to, Source::clone(&lasting(block)))).collect(),
                    recvs: recvs.map(|(from, block)| (*from, lasting(block))).collect(),
                    own: None,
                    is_same: false,
                };
                let left = match step & 1 {
                    0 => board.exchange(&mut Yield, &exchange).unwrap(),
                    _ => {
                        let mut run = board.run(Work::Exchange(Arc::new(exchange)), BoardWay::Pieces, 0);
                        while board.advance(&mut run, &mut Yield).unwrap() != Advance::Ended {
                            std::thread::yield_now();
                        }
                        run.end_of_exchange().unwrap().1
                    }
                };
                assert!(!left.is_some() && left.differs.is_none());
                // Nobody reads what was sent any more.
                given.iter_mut().for_each(|block| block.fill(u64::MAX));
                for (from, block) in others.iter().zip(got) {
                    assert!(block == vec![step + *from as u64; words(*from, me)], "step {step}");
                }
            }
        });
    }
}

#[test]
fn a_table_that_is_too_long_for_the_board_sends_all_as_messages() {
    everybody(2, 8 << 10, |mut board| {
        let (mut given, mut got) = (vec![1u64; 5000], vec![0u64; 5000]);
        let other = 1 - board.rank();
        for step in 0..4 {
            let left = exchanged(
                &mut board,
                step,
                Exchange {
                    fun: Fun::NeighborAlltoall,
                    kind: Kind::Neighbors,
                    root: None,
                    sends: given.chunks_mut(1).map(|block| (other, Source::clone(&lasting(block)))).collect(),
                    recvs: got.chunks_mut(1).map(|block| (other, lasting(block))).collect(),
                    own: None,
                    is_same: false,
                },
            );
            assert_eq!((left.sends.len(), left.recvs.len()), (5000, 5000));
        }
    });
}

#[test]
fn the_own_block_is_copied_at_once_or_left() {
    everybody(2, 16 << 10, |mut board| {
        for (step, words) in [1, 20_000, 0, 100].into_iter().enumerate() {
            let (mut from, mut to, mut short) = (vec![7u64; words], vec![0; words], [1, 0]);
            let other = 1 - board.rank();
            let (send, recv) = short.split_at_mut(1);
            let left = exchanged(
                &mut board,
                step as u64,
                Exchange {
                    fun: Fun::Alltoallv,
                    kind: Kind::Alltoallv,
                    root: None,
                    sends: [(other, Source::clone(&lasting(send)))].into_iter().collect(),
                    recvs: [(other, lasting(recv))].into_iter().collect(),
                    own: Some((Source::clone(&lasting(&mut from)), lasting(&mut to))),
                    is_same: false,
                },
            );
            assert_eq!((left.own, left.is_some()), (words == 20_000, words == 20_000));
            assert_eq!(to == from, words != 20_000);
            assert_eq!(short, [1, 1]);
        }
    });
}

#[test]
fn blocks_of_another_length_than_expected_are_told() {
    everybody(2, 16 << 10, |mut board| {
        for (sent, expected) in [(1, 2), (2, 1), (0, 1), (1, 0), (50, 60), (60, 50)] {
            for (kind, fun) in [(Kind::Gatherv, Fun::Gatherv), (Kind::Neighbors, Fun::NeighborAlltoallv)] {
                let mut words = vec![0u64; 60];
                let root = (kind == Kind::Gatherv).then_some(0);
                let (sends, recvs) = (SmallVec::new(), SmallVec::new());
                let mut exchange = Exchange { fun, kind, root, sends, recvs, own: None, is_same: false };
                if board.rank() == 0 {
                    exchange.recvs.push((1, lasting(&mut words[..expected])));
                } else {
                    exchange.sends.push((0, Source::clone(&lasting(&mut words[..sent]))));
                }
                let left = exchanged(&mut board, sent as u64, exchange);
                let differs = Difference { rank: 1, got: 8 * sent, expected: 8 * expected };
                assert_eq!(left.differs, (board.rank() == 0).then_some(differs));
            }
            board.barrier(&mut Yield).unwrap();
        }
    });
}

#[test]
fn a_neighbour_that_sends_nothing_is_told() {
    everybody(2, 16 << 10, |mut board| {
        let mut word = [5u64];
        let is_first = board.rank() == 0;
        let exchange = Exchange {
            fun: Fun::NeighborAlltoall,
            kind: Kind::Neighbors,
            root: None,
            sends: SmallVec::new(),
            recvs: is_first.then(|| (1, lasting(&mut word))).into_iter().collect(),
            own: None,
            is_same: false,
        };
        let left = exchanged(&mut board, 0, exchange);
        assert_eq!(left.differs, is_first.then_some(Difference { rank: 1, got: 0, expected: 8 }));
    });
}
