//! What every link must do, as functions of the link. `tests/conformance.rs` runs each on each
//! link.

use crate::random::{Random, length};
use crate::{ANY_SOURCE, ANY_TAG, Link, Rank, run, run_with};
use oxmpi_abi::Error;
use oxmpi_abi::constants::{MPI_BYTE, MPI_ERR_OTHER, MPI_ERR_PROC_ABORTED};
use oxmpi_core::engine::{Mode, OpId, STORE_LIMIT};
use oxmpi_core::matching::Pattern;
use oxmpi_datatype::{Datatype, Region, Source, Target};
use oxmpi_transport::sim::Faults;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Message number `n` from one rank to another: its length, mode and bytes follow from these three
/// numbers.
fn message(link: Link, from: usize, to: usize, n: usize) -> (Mode, Vec<u8>) {
    let mut random = Random((from as u64) << 40 | (to as u64) << 20 | n as u64);
    let length = length(&mut random, link.most());
    let mode = if random.below(4) == 0 { Mode::Synchronous } else { Mode::Standard };
    let seed = random.word();
    (mode, (0..length).map(|i| (seed.wrapping_add(i as u64 * 0x9d)) as u8).collect())
}

/// All ranks send to all, in random order of sends and receives: the messages of a pair arrive
/// complete and in order, for every length and mode.
pub fn ordering(link: Link) {
    for ranks in [2, 3, 5] {
        let ranks = link.ranks(ranks);
        run(link, ranks, |rank| all_to_all(link, rank, link.times(100)));
    }
}

fn all_to_all(link: Link, rank: &mut Rank, messages: usize) {
    type Receive = (usize, usize, OpId, Vec<u8>);
    let (me, ranks) = (rank.me, rank.ranks);
    let mut random = Random(me as u64 ^ 77);
    let mut sends: VecDeque<(Option<OpId>, Vec<u8>)> = VecDeque::new();
    let mut recvs: VecDeque<Receive> = VecDeque::new();
    let (mut sent, mut received) = (vec![0; ranks], vec![0; ranks]);
    let check = |rank: &mut Rank, (from, n, op, bytes): Receive| {
        let (_, expected) = message(link, from, me, n);
        let outcome = rank.wait(op);
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        assert_eq!(outcome.status.bytes(), expected.len() as u64, "message {n} from {from} to {me}");
        assert_eq!((outcome.status.source, outcome.status.tag), (from as i32, 5));
        let wrong = (0..expected.len()).find(|&i| bytes[i] != expected[i]);
        assert_eq!(wrong, None, "message {n} from {from} to {me} of {} bytes is damaged", expected.len());
    };
    let left = |counts: &[usize]| counts.iter().any(|&count| count < messages);
    while left(&sent) || left(&received) {
        let peer = random.below(ranks);
        if random.below(2) == 0 && sent[peer] < messages {
            let (mode, bytes) = message(link, me, peer, sent[peer]);
            sent[peer] += 1;
            let op = rank.send(mode, peer, 5, &bytes);
            sends.push_back((op, bytes));
        } else if received[peer] < messages {
            let mut bytes = vec![0; link.most()];
            let op = rank.recv(peer as i32, 5, &mut bytes);
            recvs.push_back((peer, received[peer], op, bytes));
            received[peer] += 1;
        }
        rank.engine.progress();
        while recvs.len() > 16 && rank.engine.is_done(recvs[0].2) {
            if let Some(first) = recvs.pop_front() {
                check(rank, first);
            }
        }
    }
    while let Some(first) = recvs.pop_front() {
        check(rank, first);
    }
    while let Some((op, _bytes)) = sends.pop_front() {
        rank.wait_send(op);
    }
}

/// Long messages in both directions at once.
pub fn long_transfers(link: Link) {
    let ranks = link.ranks(2);
    run(link, ranks, |rank| {
        for bytes in [link.most() + (400 << 10), link.times(5 << 20) + 13] {
            let other = ranks - 1 - rank.me;
            let from: Vec<u8> = (0..bytes).map(|i| (i * 7 + rank.me) as u8).collect();
            let mut to = vec![0u8; bytes];
            let receive = rank.recv(other as i32, 1, &mut to);
            let send = rank.send(Mode::Standard, other, 1, &from);
            assert!(rank.wait(receive).error.is_none());
            rank.wait_send(send);
            assert!((0..bytes).all(|i| to[i] == (i * 7 + other) as u8), "{bytes} bytes");
        }
    });
}

/// Types with gaps at the sender, the receiver or both, with short and with long blocks; the gaps
/// stay unchanged.
pub fn types_with_gaps(link: Link) {
    let byte = oxmpi_datatype::predefined(MPI_BYTE.0).expect("a predefined type");
    let gapped = |blocks: i64, length: i64| {
        let ty = Datatype::vector(blocks, length, 2 * length, byte).expect("a vector");
        ty.commit().expect("a type that can be used");
        ty
    };
    let ranks = link.ranks(2);
    let long = link.times(300) as i64;
    for (blocks, length) in [(5, 3), (1000, 4), (40, 4096), (long, 10_000)] {
        let ty = &gapped(blocks, length);
        let (span, packed) = ((2 * blocks * length) as usize, (blocks * length) as usize);
        for gaps in [[true, false], [false, true], [true, true]] {
            run(link, ranks, |rank| {
                let place = |i: usize| i / length as usize * 2 * length as usize + i % length as usize;
                let at = |gap: bool, i: usize| if gap { place(i) } else { i };
                let value = |i: usize| (i % 251) as u8;
                let buf = |gap: bool, memory: &mut [u8]| match gap {
                    true => Region::typed(memory.as_mut_ptr(), 1, ty),
                    false => Region::dense(memory.as_mut_ptr(), packed),
                };
                let (mut from, mut to) = (vec![255u8; span], vec![254u8; span]);
                (0..packed).for_each(|i| from[at(gaps[0], i)] = value(i));
                let (mut receive, mut send) = (None, None);
                if rank.me == ranks - 1 {
                    // SAFETY: `to` has `span` bytes, and is not read until the receive has ended.
                    let to = unsafe { Target::new(buf(gaps[1], &mut to)) };
                    receive = Some(rank.recv_buf(0, 2, to));
                }
                if rank.me == 0 {
                    // SAFETY: `from` has `span` bytes, and does not change until the send has ended.
                    let from = unsafe { Source::new(buf(gaps[0], &mut from)) };
                    send = rank.send_buf(Mode::Standard, ranks - 1, 2, from);
                }
                if let Some(op) = receive {
                    assert_eq!(rank.wait(op).status.bytes(), packed as u64);
                    let wrong = (0..packed).find(|&i| to[at(gaps[1], i)] != value(i));
                    assert_eq!(wrong, None, "{blocks} blocks of {length}, gaps {gaps:?}");
                    let touched = to.iter().filter(|&&byte| byte == 254).count();
                    assert!(
                        touched >= span - packed,
                        "{blocks} blocks of {length}, gaps {gaps:?}: written between them"
                    );
                }
                rank.wait_send(send);
            });
        }
    }
}

/// A synchronous send, long or short, is not complete before its receive is posted.
pub fn synchronous_mode(link: Link) {
    for length in [0, 8, 3000, 200_000] {
        let ranks = link.ranks(2);
        let is_posted = &AtomicBool::new(false);
        run(link, ranks, |rank| {
            let bytes = vec![3u8; length];
            let send = (rank.me == 0).then(|| rank.send(Mode::Synchronous, ranks - 1, 4, &bytes)).flatten();
            if let Some(op) = send {
                rank.progress_for(200);
                assert!(!rank.engine.is_done(op) || is_posted.load(Ordering::SeqCst), "{length} bytes");
            }
            if rank.me == ranks - 1 {
                rank.progress_for(400);
                is_posted.store(true, Ordering::SeqCst);
                let mut to = vec![0u8; length];
                let op = rank.recv(0, 4, &mut to);
                assert_eq!(rank.wait(op).status.bytes(), length as u64);
                assert!(to == bytes);
            }
            rank.wait_send(send);
        });
    }
}

/// Cancel and receive race: exactly one of them wins, and a cancelled message is never received.
pub fn cancel_races_with_claim(link: Link) {
    let ranks = link.ranks(2);
    run(link, ranks, |rank| {
        let (first, second) = (vec![1u8; 40_000], vec![2u8; 100]);
        for n in 0..link.times(300) as i32 {
            let told;
            let mut sent = None;
            if rank.me == 0 {
                let op = rank.send(Mode::Synchronous, ranks - 1, n, &first).expect("a synchronous send waits");
                rank.engine.cancel_send(op);
                let cancelled = rank.wait(op).status.is_cancelled();
                told = [u8::from(cancelled)];
                sent = rank.send(Mode::Standard, ranks - 1, n, if cancelled { &second } else { &told });
            }
            if rank.me == ranks - 1 {
                let mut bytes = vec![0; 40_000];
                let op = rank.recv(0, n, &mut bytes);
                let length = rank.wait(op).status.bytes();
                if length == 40_000 {
                    // The sender was too late; its next message says so.
                    let op = rank.recv(0, n, &mut bytes);
                    assert_eq!(rank.wait(op).status.bytes(), 1);
                    assert_eq!(bytes[0], 0);
                } else {
                    assert_eq!(length, 100);
                    assert!(bytes[..100].iter().all(|&byte| byte == 2));
                }
            }
            rank.wait_send(sent);
        }
    });
}

/// A receive that no message has matched can be cancelled, and a later message matches the next
/// receive.
pub fn cancelled_receives(link: Link) {
    let ranks = link.ranks(2);
    run(link, ranks, |rank| {
        let mut bytes = [0u8; 8];
        if rank.me == ranks - 1 {
            let op = rank.recv(0, 99, &mut bytes);
            rank.engine.cancel_recv(op);
            assert!(rank.wait(op).status.is_cancelled());
        }
        let send = if rank.me == 0 { rank.send(Mode::Standard, ranks - 1, 99, &[5; 8]) } else { None };
        if rank.me == ranks - 1 {
            let op = rank.recv(0, 99, &mut bytes);
            assert!(!rank.wait(op).status.is_cancelled());
            assert_eq!(bytes, [5; 8]);
        }
        rank.wait_send(send);
    });
}

/// Many senders and wildcard receives: the messages of each pair keep their order, and none is
/// lost.
pub fn many_senders_to_any_source(link: Link) {
    let each = link.times(300) as i32;
    let ranks = link.ranks(6);
    run(link, ranks, |rank| {
        let length = |n: i32| if n % 17 == 0 { 50_000 } else { n as usize % 90 };
        let mut sends = Vec::new();
        if rank.me > 0 || ranks == 1 {
            for n in 0..each {
                let bytes = vec![n as u8; length(n)];
                let op = rank.send(Mode::Standard, 0, n, &bytes);
                sends.push((op, bytes));
            }
        }
        if rank.me == 0 {
            let mut next = vec![0; ranks];
            for _ in 0..each * (ranks as i32 - 1).max(1) {
                let mut bytes = vec![0; 50_000];
                let op = rank.recv(ANY_SOURCE, ANY_TAG, &mut bytes);
                let status = rank.wait(op).status;
                let from = status.source as usize;
                assert_eq!(status.tag, next[from], "from {from}");
                assert_eq!(status.bytes() as usize, length(status.tag));
                assert!(bytes[..status.bytes() as usize].iter().all(|&byte| byte == status.tag as u8));
                next[from] += 1;
            }
        }
        sends.into_iter().for_each(|(op, _bytes)| rank.wait_send(op));
    });
}

/// A flood to a rank that receives nothing: its stored messages are bounded, later messages still
/// find their receives, and in the end all arrive.
pub fn flood_with_bounded_memory(link: Link) {
    if link == Link::Loopback {
        // A rank must bound what it sends to itself.
        return;
    }
    const BYTES: usize = 8 << 10;
    const COUNT: usize = STORE_LIMIT / BYTES * 3 / 2;
    let sent = &AtomicUsize::new(0);
    // With small packets so many bytes would take too long.
    let wide = |faults: &mut Faults| (faults.part, faults.capacity) = (16 << 10, 2000);
    run_with(link, 2, wide, |rank| {
        let bytes = vec![9u8; BYTES];
        if rank.me == 0 {
            let mut sends = Vec::new();
            for n in 0..COUNT {
                sends.push(rank.send(Mode::Standard, 1, 1, &bytes));
                sent.store(n + 1, Ordering::Relaxed);
            }
            sends.push(rank.send(Mode::Standard, 1, 2, &[4]));
            sends.into_iter().for_each(|op| rank.wait_send(op));
            return;
        }
        let mut last = [0u8];
        let op = rank.recv(0, 2, &mut last);
        assert!(rank.wait(op).error.is_none());
        assert_eq!((last[0], sent.load(Ordering::Relaxed)), (4, COUNT));
        // Beyond the limit: what was in flight when the sender was told, and a record of each
        // offer.
        let slack = (4 << 20) + 256 * COUNT;
        assert!(rank.engine.stored() <= STORE_LIMIT + slack, "{} bytes are stored", rank.engine.stored());
        for _ in 0..COUNT {
            let mut to = vec![0u8; BYTES];
            let op = rank.recv(0, 1, &mut to);
            assert!(rank.wait(op).error.is_none() && to == bytes);
        }
        assert_eq!(rank.engine.stored(), 0);
    });
}

/// A message longer than its receive fills the buffer, and the receiver gets an error.
pub fn truncation(link: Link) {
    for length in [50, 5_000, 30_000, 500_000] {
        let ranks = link.ranks(2);
        run(link, ranks, |rank| {
            let bytes = vec![7u8; length];
            let room = length / 2;
            let mut small = vec![0u8; room + 1];
            let receive = (rank.me == ranks - 1).then(|| rank.recv(0, 3, &mut small[..room]));
            let send = if rank.me == 0 { rank.send(Mode::Standard, ranks - 1, 3, &bytes) } else { None };
            if let Some(op) = receive {
                let error = rank.wait(op).error.expect("truncated");
                for part in [format!("{length} bytes"), format!("{room} bytes"), "rank 0".into(), "tag 3".into()] {
                    assert!(error.text().contains(&part), "{part} in: {}", error.text());
                }
                assert!(small[..room].iter().all(|&byte| byte == 7));
                assert_eq!(small[room], 0, "one past the buffer");
            }
            // The send succeeds.
            rank.wait_send(send);
        });
    }
}

/// A message that was probed and taken is received only by the matched receive, and by no receive
/// with the same pattern.
pub fn matched_probe(link: Link) {
    for length in [16, 6_000, 300_000] {
        let ranks = link.ranks(2);
        run(link, ranks, |rank| {
            let (first, second) = (vec![1u8; length], vec![2u8; length]);
            let mut sends = Vec::new();
            if rank.me == 0 {
                sends.push(rank.send(Mode::Standard, ranks - 1, 6, &first));
                sends.push(rank.send(Mode::Standard, ranks - 1, 6, &second));
            }
            if rank.me == ranks - 1 {
                let pattern = Pattern { context: 0, source: ANY_SOURCE, tag: 6 };
                let (envelope, taken) = loop {
                    rank.engine.progress();
                    if let Some(found) = rank.engine.take_message(&pattern) {
                        break found;
                    }
                    std::thread::yield_now();
                };
                let (mut mine, mut other) = (vec![0u8; length], vec![0u8; length]);
                let later = rank.recv(ANY_SOURCE, 6, &mut other);
                // SAFETY: `mine` is not read until the receive has ended.
                let target = unsafe { Target::dense(mine.as_mut_ptr(), length) };
                let now = rank.engine.recv_message(&envelope, taken, target);
                assert!(rank.wait(later).error.is_none() && rank.wait(now).error.is_none());
                assert!(mine == first && other == second, "{length} bytes");
            }
            sends.into_iter().for_each(|op| rank.wait_send(op));
        });
    }
}

/// A peer dies: sends to it and receives from it end with the given error, whatever they wait for,
/// and other operations continue.
pub fn death_of_a_peer(link: Link) {
    if link == Link::Loopback {
        return;
    }
    run(link, 3, |rank| {
        let long = vec![1u8; 300_000];
        if rank.me == 0 {
            let (offered, other) = (rank.send(Mode::Standard, 2, 1, &long), rank.send(Mode::Standard, 1, 1, &long));
            let mut never = [0u8; 8];
            let posted = rank.recv(2, 9, &mut never);
            rank.progress_for(50);
            let error = Error::new(MPI_ERR_OTHER, "rank 2 has died");
            let dead = rank.peer(2);
            rank.engine.end_with_dead(dead, &error);
            rank.engine.end_posted(|pattern| pattern.source == 2, &error);
            for op in [offered.expect("a long send waits"), posted] {
                assert_eq!(rank.wait(op).error.expect("an error").text(), "rank 2 has died");
            }
            rank.wait_send(other);
        } else if rank.me == 1 {
            let mut to = vec![0u8; 300_000];
            let op = rank.recv(0, 1, &mut to);
            assert!(rank.wait(op).error.is_none() && to == long);
        }
    });
}

/// Many sends are withdrawn in any order while the receiver takes what arrives: both sides agree on
/// which were received, and the rest keep their order.
pub fn many_cancels(link: Link) {
    let ranks = link.ranks(2);
    let count = link.times(300);
    run(link, ranks, |rank| {
        let mut random = Random(0xca);
        let messages: Vec<(Mode, Vec<u8>)> = (0..count)
            .map(|n| {
                let length = [4, 300, 5000, 20_000][random.below(4)];
                let mode = if random.below(2) == 0 { Mode::Synchronous } else { Mode::Standard };
                (mode, (n as u32).to_le_bytes().into_iter().cycle().take(length).collect())
            })
            .collect();
        let mut received = Vec::new();
        let mut survivors = vec![1u8; count];
        let mut sends: Vec<Option<OpId>> = Vec::new();
        let mut list = None;
        if rank.me == 0 {
            for (n, (mode, bytes)) in messages.iter().enumerate() {
                sends.push(rank.send(*mode, ranks - 1, 7, bytes));
                rank.progress_for(random.below(4));
                let other = random.below(n + 1);
                if let Some(op) = sends[other].filter(|_| random.below(2) == 0) {
                    rank.engine.cancel_send(op);
                }
            }
            if ranks == 1 {
                // Messages that are not withdrawn by now are received below.
                sends.iter().enumerate().for_each(|(n, op)| {
                    survivors[n] = u8::from(!op.is_some_and(|op| rank.engine.is_done(op)));
                });
            } else {
                for (n, op) in sends.drain(..).enumerate() {
                    let cancelled = op.is_some_and(|op| rank.wait(op).status.is_cancelled());
                    survivors[n] = u8::from(!cancelled);
                }
            }
            list = rank.send(Mode::Standard, ranks - 1, 8, &survivors);
        }
        if rank.me == ranks - 1 {
            let mut bytes = vec![0u8; 20_000.max(count)];
            loop {
                let op = rank.recv(0, ANY_TAG, &mut bytes);
                let status = rank.wait(op).status;
                if status.tag == 8 {
                    break;
                }
                let n = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
                assert_eq!(bytes[..status.bytes() as usize], messages[n].1[..], "message {n}");
                received.push(n);
            }
            let expected: Vec<usize> = (0..count).filter(|&n| bytes[n] == 1).collect();
            assert_eq!(received, expected);
        }
        sends.into_iter().flatten().for_each(|op| drop(rank.wait(op)));
        rank.wait_send(list);
    });
}

/// No probe finds a withdrawn message.
pub fn withdrawn_messages_are_not_probed(link: Link) {
    let ranks = link.ranks(2);
    run(link, ranks, |rank| {
        for length in [8, 40_000] {
            let bytes = vec![1u8; length];
            let mut sent = None;
            if rank.me == 0 {
                let op = rank.send(Mode::Synchronous, ranks - 1, 1, &bytes).expect("a synchronous send waits");
                rank.progress_for(50);
                rank.engine.cancel_send(op);
                assert!(rank.wait(op).status.is_cancelled(), "nobody received it");
                sent = rank.send(Mode::Synchronous, ranks - 1, 2, &[7]);
            }
            if rank.me == ranks - 1 {
                let mut seven = [0u8];
                let op = rank.recv(0, 2, &mut seven);
                rank.wait(op);
                assert!(rank.engine.probe(&Pattern { context: 0, source: 0, tag: 1 }).is_none(), "{length} bytes");
                assert!(rank.engine.take_message(&Pattern { context: 0, source: 0, tag: ANY_TAG }).is_none());
            }
            rank.wait_send(sent);
        }
    });
}

/// Two ranks send each other more than the link holds before either receives anything.
pub fn floods_that_meet(link: Link) {
    let ranks = link.ranks(2);
    let count = link.times(3000);
    run(link, ranks, |rank| {
        let other = ranks - 1 - rank.me;
        let length = |n: usize| [0, 8, 700, 3000, 9000][n % 5];
        let all: Vec<Vec<u8>> = (0..count).map(|n| vec![n as u8; length(n)]).collect();
        let sends: Vec<_> = all.iter().map(|bytes| rank.send(Mode::Standard, other, 1, bytes)).collect();
        for (n, expected) in all.iter().enumerate() {
            let mut to = vec![0u8; length(n)];
            let op = rank.recv(other as i32, 1, &mut to);
            let outcome = rank.wait(op);
            assert!(outcome.error.is_none() && outcome.status.bytes() as usize == length(n), "{n}");
            assert!(to == *expected, "{n}");
        }
        sends.into_iter().for_each(|op| rank.wait_send(op));
    });
}

/// A rank dies during communication between all ranks: operations with it end, successfully or with
/// the class for dead peers, and operations between the others continue. Only on a link that can
/// lose a rank.
pub fn death_at_any_time(link: Link) {
    const DEAD: usize = 2;
    let Link::Sim(seed) = link else { return };
    let mut random = Random(seed ^ 0xdead);
    let turn = random.below([60, 600, 6000][seed as usize % 3]) as u64;
    let others = &AtomicUsize::new(0);
    run_with(
        link,
        3,
        |faults| faults.death = Some((DEAD, turn)),
        |rank| {
            let me = rank.me;
            let mut random = Random(seed ^ me as u64);
            let (mut sends, mut recvs) = (Vec::new(), Vec::new());
            for n in 0..20 {
                for other in (0..3).filter(|&other| other != me) {
                    let (mode, bytes) = message(link, me, other, n);
                    sends.push((other, rank.send(mode, other, 5, &bytes), bytes));
                    let mut bytes = vec![0u8; link.most()];
                    recvs.push((other, n, rank.recv(other as i32, 5, &mut bytes), bytes));
                }
                rank.progress_for(random.below(20));
            }
            let expect = |rank: &Rank, with: usize, error: Option<&Error>| match error {
                Some(error) if with == DEAD => assert_eq!(error.class(), MPI_ERR_PROC_ABORTED),
                Some(error) => panic!("rank {} with {with}: {}", rank.me, error.text()),
                None => {}
            };
            for (from, n, op, bytes) in recvs {
                let outcome = rank.wait(op);
                expect(rank, from, outcome.error.as_ref());
                let (_, expected) = message(link, from, me, n);
                if outcome.error.is_none() {
                    assert_eq!(outcome.status.bytes() as usize, expected.len(), "message {n} from {from} to {me}");
                    assert!(bytes[..expected.len()] == expected, "message {n} from {from} to {me} is damaged");
                }
            }
            for (to, op, _bytes) in sends {
                let outcome = op.map(|op| rank.wait(op));
                expect(rank, to, outcome.and_then(|outcome| outcome.error).as_ref());
            }
            others.fetch_add(1, Ordering::Relaxed);
        },
    );
    assert!(others.load(Ordering::Relaxed) >= 2, "the others have ended");
}
