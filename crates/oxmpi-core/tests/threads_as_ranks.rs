//! The engine over the shared-memory transport, with ranks as threads of this process: every way a message can take,
//! in random order, against what each rank knows it must receive.

use oxmpi_base::address::JobId;
use oxmpi_base::segment::Segment;
use oxmpi_core::engine::{Engine, Mode, OpId, Outcome, Route};
use oxmpi_core::matching::Pattern;
use oxmpi_datatype::Buf;
use oxmpi_transport::{Links, Peer, Slot};
use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::sync::Barrier;

const ANY_SOURCE: i32 = -1;
const ANY_TAG: i32 = -2;

/// Runs `body` once for every rank, each on a thread with an engine of its own.
fn with_ranks(ranks: usize, single_copy: bool, body: impl Fn(usize, &mut Engine) + Sync) {
    let (fd, _keep) = Segment::create(ranks, 2).unwrap();
    let (fd, body, barrier) = (&fd, &body, &Barrier::new(ranks));
    std::thread::scope(|scope| {
        for rank in 0..ranks {
            scope.spawn(move || {
                let links = Links::attach(
                    Segment::attach(fd.as_fd()).unwrap(),
                    JobId { inode: 1, holder: 1, fd: 1 },
                    Slot::new(rank).unwrap(),
                )
                .unwrap();
                let mut engine = Engine::new(links, single_copy);
                barrier.wait();
                body(rank, &mut engine);
                engine.node().prepare_to_leave();
                while !engine.is_flushed() {
                    engine.progress();
                    std::thread::yield_now();
                }
                // Nobody unmaps what a peer may still read.
                barrier.wait();
            });
        }
    });
}

fn wait(engine: &mut Engine, op: OpId) -> Outcome {
    loop {
        if let Some(outcome) = engine.take_outcome(op) {
            return outcome;
        }
        if !engine.progress() {
            std::thread::yield_now();
        }
    }
}

fn send(engine: &mut Engine, mode: Mode, to: usize, tag: i32, bytes: &[u8]) -> Option<OpId> {
    let source = engine.node().slot().index() as i32;
    engine.send(
        mode,
        &Route { peer: Peer::at_slot(to), context: 0, source, tag },
        Buf::dense(bytes.as_ptr().cast_mut(), bytes.len()),
    )
}

fn recv(engine: &mut Engine, source: i32, tag: i32, bytes: &mut [u8]) -> OpId {
    engine.recv(Pattern { context: 0, source, tag }, Buf::dense(bytes.as_mut_ptr(), bytes.len()))
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Lengths around every limit of the protocol.
    fn length(&mut self) -> usize {
        match self.next() % 8 {
            0 => 0,
            1 | 2 => self.next() as usize % 64,
            3 => self.next() as usize % 5000,
            4 => 4000 + self.next() as usize % 3000,
            5 => 16_000 + self.next() as usize % 800,
            6 => self.next() as usize % 100_000,
            _ => self.next() as usize % 600_000,
        }
    }
}

/// Message number `n` from one rank to another: its length, mode and bytes follow from these three numbers.
fn message(from: usize, to: usize, n: usize) -> (Mode, Vec<u8>) {
    let mut random = Random((from as u64) << 40 | (to as u64) << 20 | n as u64);
    let length = random.length();
    let mode = if random.next().is_multiple_of(4) { Mode::Synchronous } else { Mode::Standard };
    let seed = random.next();
    (mode, (0..length).map(|i| (seed.wrapping_add(i as u64 * 0x9d)) as u8).collect())
}

fn everybody_to_everybody(ranks: usize, messages: usize, single_copy: bool) {
    with_ranks(ranks, single_copy, |me, engine| {
        let mut random = Random(me as u64 ^ 77);
        let mut sends: VecDeque<(Option<OpId>, Vec<u8>)> = VecDeque::new();
        let mut recvs: VecDeque<(usize, usize, OpId, Vec<u8>)> = VecDeque::new();
        let mut sent = vec![0; ranks];
        let mut received = vec![0; ranks];
        let check = |engine: &mut Engine, (from, n, op, bytes): (usize, usize, OpId, Vec<u8>)| {
            let (_, expected) = message(from, me, n);
            let outcome = wait(engine, op);
            assert!(outcome.error.is_none(), "{:?}", outcome.error);
            assert_eq!(outcome.status.bytes(), expected.len() as u64, "message {n} from {from} to {me}");
            assert_eq!((outcome.status.source, outcome.status.tag), (from as i32, 5));
            let wrong = (0..expected.len()).find(|&i| bytes[i] != expected[i]);
            assert_eq!(wrong, None, "message {n} from {from} to {me} of {} bytes is damaged", expected.len());
        };
        for _ in 0..2 * messages * ranks {
            let peer = random.next() as usize % ranks;
            if random.next().is_multiple_of(2) && sent[peer] < messages {
                let (mode, bytes) = message(me, peer, sent[peer]);
                sent[peer] += 1;
                let op = send(engine, mode, peer, 5, &bytes);
                sends.push_back((op, bytes));
            } else if received[peer] < messages {
                let mut bytes = vec![0; 600_000];
                let op = recv(engine, peer as i32, 5, &mut bytes);
                recvs.push_back((peer, received[peer], op, bytes));
                received[peer] += 1;
            }
            engine.progress();
            while recvs.len() > 16 && engine.is_done(recvs[0].2) {
                if let Some(first) = recvs.pop_front() {
                    check(engine, first);
                }
            }
        }
        for peer in 0..ranks {
            for n in sent[peer]..messages {
                let (mode, bytes) = message(me, peer, n);
                let op = send(engine, mode, peer, 5, &bytes);
                sends.push_back((op, bytes));
            }
            for n in received[peer]..messages {
                let mut bytes = vec![0; 600_000];
                let op = recv(engine, peer as i32, 5, &mut bytes);
                recvs.push_back((peer, n, op, bytes));
            }
        }
        while let Some(first) = recvs.pop_front() {
            check(engine, first);
        }
        while let Some((op, _bytes)) = sends.pop_front() {
            if let Some(op) = op {
                assert!(wait(engine, op).error.is_none());
            }
        }
    });
}

#[test]
fn random_messages_arrive_in_order_and_whole() {
    for ranks in [1, 2, 3, 5] {
        everybody_to_everybody(ranks, 150, true);
    }
}

#[test]
fn so_they_do_where_the_kernel_forbids_single_copies() {
    for ranks in [2, 4] {
        everybody_to_everybody(ranks, 150, false);
    }
}

#[test]
fn wildcards_see_messages_of_one_pair_in_order() {
    with_ranks(3, true, |me, engine| {
        if me > 0 {
            for n in 0..500i32 {
                let bytes = vec![n as u8; if n % 7 == 0 { 50_000 } else { n as usize % 90 }];
                if let Some(op) = send(engine, Mode::Standard, 0, n, &bytes) {
                    wait(engine, op);
                }
            }
            return;
        }
        let mut next = [0; 3];
        for _ in 0..1000 {
            let mut bytes = vec![0; 50_000];
            let op = recv(engine, ANY_SOURCE, ANY_TAG, &mut bytes);
            let status = wait(engine, op).status;
            let from = status.source as usize;
            assert_eq!(status.tag, next[from]);
            assert!(bytes[..status.bytes() as usize].iter().all(|&byte| byte == status.tag as u8));
            next[from] += 1;
        }
    });
}

#[test]
fn a_withdrawn_message_is_never_received() {
    with_ranks(2, true, |me, engine| {
        let rounds = 300;
        if me == 0 {
            let (first, second) = (vec![1u8; 40_000], vec![2u8; 100]);
            for n in 0..rounds {
                let op = send(engine, Mode::Synchronous, 1, n, &first).expect("a synchronous send waits");
                engine.cancel_send(op);
                let cancelled = wait(engine, op).status.is_cancelled();
                let told = [u8::from(cancelled)];
                if let Some(op) = send(engine, Mode::Standard, 1, n, if cancelled { &second } else { &told }) {
                    wait(engine, op);
                }
            }
        } else {
            for n in 0..rounds {
                let mut bytes = vec![0; 40_000];
                let op = recv(engine, 0, n, &mut bytes);
                let length = wait(engine, op).status.bytes();
                if length == 40_000 {
                    // The sender was too late; its next message says so.
                    let op = recv(engine, 0, n, &mut bytes);
                    assert_eq!(wait(engine, op).status.bytes(), 1);
                    assert_eq!(bytes[0], 0);
                } else {
                    assert_eq!(length, 100);
                    assert!(bytes[..100].iter().all(|&byte| byte == 2));
                }
            }
        }
    });
}

#[test]
fn too_long_a_message_fills_the_buffer_and_says_so() {
    for length in [50, 5_000, 30_000, 500_000] {
        with_ranks(2, true, move |me, engine| {
            let bytes = vec![7u8; length];
            if me == 0 {
                if let Some(op) = send(engine, Mode::Standard, 1, 3, &bytes) {
                    assert!(wait(engine, op).error.is_none(), "the sender is not to blame");
                }
                if let Some(op) = send(engine, Mode::Standard, 1, 4, &bytes) {
                    wait(engine, op);
                }
            } else {
                let mut small = vec![0u8; length / 2 + 1];
                let room = length / 2;
                let op = recv(engine, 0, 3, &mut small[..room]);
                let outcome = wait(engine, op);
                let error = outcome.error.expect("truncated");
                for part in [format!("{length} bytes"), format!("{room} bytes"), "rank 0".into(), "tag 3".into()] {
                    assert!(error.text().contains(&part), "{part} in: {}", error.text());
                }
                assert!(small[..room].iter().all(|&byte| byte == 7));
                assert_eq!(small[room], 0, "one past the buffer");
                let mut whole = vec![0u8; length];
                let op = recv(engine, 0, 4, &mut whole);
                assert_eq!(wait(engine, op).status.bytes(), length as u64);
                assert!(whole == bytes);
            }
        });
    }
}
