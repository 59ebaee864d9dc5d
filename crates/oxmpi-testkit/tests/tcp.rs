//! What only links over TCP have: connections that cross each other, frames from a peer that does not follow the
//! protocol, links that break, and short messages that pass long ones.

use oxmpi_base::socket;
use oxmpi_core::engine::{Mode, STORE_LIMIT};
use oxmpi_testkit::tcp::{Mesh, mesh, rank, run_delayed};
use oxmpi_testkit::{ANY_SOURCE, ANY_TAG, Link, Rank, run};
use oxmpi_transport::Life;
use oxmpi_transport::sim::Random;
use oxmpi_transport::tcp::connect::{Arrivals, Record};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rank 0, and a connection with which the test is rank 1.
fn rank_and_socket() -> (Rank, TcpStream) {
    let (mesh, mut ends) = mesh(2, 0);
    let socket = connect(&mesh);
    (rank(&mesh, 0, ends.remove(0)), socket)
}

/// A connection of rank 1, which is the test, to rank 0.
fn connect(mesh: &Mesh) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (theirs, _) = listener.accept().unwrap();
    mesh.hand(0, 1, theirs.as_fd());
    ours.set_nodelay(true).unwrap();
    ours
}

/// length, kind, flags, sequence, tag, source, total; the context is 0.
fn frame(kind: u8, flags: u8, sequence: u32, total: u64, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((body.len() as u32).to_le_bytes());
    bytes.extend([kind, flags, 0, 0]);
    bytes.extend(sequence.to_le_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(5i32.to_le_bytes());
    bytes.extend(1i32.to_le_bytes());
    bytes.extend(total.to_le_bytes());
    bytes.extend(body);
    bytes
}

const EAGER: u8 = 1;
const DATA: u8 = 6;
const PRESS: u8 = 0xf0;
const SWITCH: u8 = 0xf2;
const BYE: u8 = 0xf3;
const REST: u8 = 0xf5;
const RESTS: u8 = 1;

/// Moves messages until the rank has read all that was sent.
fn settle(rank: &mut Rank) {
    for _ in 0..200 {
        rank.engine.progress();
    }
    std::thread::sleep(std::time::Duration::from_millis(1));
    for _ in 0..200 {
        rank.engine.progress();
    }
}

/// Bytes come as the network likes: every split of a frame gives the same message.
#[test]
fn messages_in_any_pieces() {
    let (mut rank, mut socket) = rank_and_socket();
    let bytes: Vec<u8> = (0..9000).map(|i| (i * 7) as u8).collect();
    for (number, length) in [0usize, 1, 40, 41, 64, 100, 4096, 9000].into_iter().enumerate() {
        for step in [1, 31, 33, 64, 1000, 100_000] {
            let sequence =
                (number * 6 + [1, 31, 33, 64, 1000, 100_000].iter().position(|&s| s == step).unwrap()) as u32;
            let mut to = vec![0u8; length];
            let op = rank.recv(1, 5, &mut to);
            let mut left = &frame(EAGER, 0, sequence, length as u64, &bytes[..length])[..];
            let mut written = 0;
            while !left.is_empty() {
                let count = step.min(left.len());
                socket.write_all(&left[..count]).unwrap();
                left = &left[count..];
                written += 1;
                if written < 300 {
                    rank.engine.progress();
                }
            }
            let outcome = rank.wait(op);
            assert!(outcome.error.is_none(), "{:?}", outcome.error);
            assert!(outcome.status.bytes() as usize == length && to == bytes[..length], "{length} bytes in {step}");
        }
    }
}

/// A peer that sends what cannot be loses its link, with an error that names it; nothing panics, and nothing hangs.
#[test]
fn frames_that_make_no_sense_break_the_link() {
    let bad: Vec<(&str, Vec<u8>)> = vec![
        ("a kind", frame(99, 0, 0, 0, &[0; 32])),
        ("a control frame that is too short", frame(4, 0, 0, 0, &[0; 8])),
        ("an answer to nothing", frame(4, 0, 0, 0, &[7; 32])),
        ("bytes for no receive", frame(DATA, 0, 0, 77, &[1; 5000])),
        ("a length that lies", frame(EAGER, 0, 0, 10, &[1; 9])),
        ("an order that is none", frame(EAGER, 0, 3, 1, &[1])),
        ("a frame behind the last", [frame(BYE, 0, 0, 0, &[]), frame(PRESS, 0, 1, 0, &[])].concat()),
        ("another connection that never comes", [frame(SWITCH, 0, 0, 0, &[]), frame(PRESS, 0, 1, 0, &[])].concat()),
        ("zeroes", vec![0; 64]),
        ("text", b"GET / HTTP/1.1\r\nHost: somewhere\r\n\r\n".to_vec()),
    ];
    for (what, bytes) in bad {
        let (mut rank, mut socket) = rank_and_socket();
        let mut never = [0u8; 8];
        let op = rank.recv(1, 9, &mut never);
        socket.write_all(&bytes).unwrap();
        let error = rank.wait(op).error.unwrap_or_else(|| panic!("{what}: no error"));
        let text = error.text();
        assert!(text.contains("rank 1") || text.contains("far process 1"), "{what}: {text}");
        assert_eq!(rank.engine.life(rank.peer(1)), Life::Dead, "{what}");
    }
}

/// Random bytes, and frames of which a byte was changed: whatever they are, no panic, and a broken link stays broken.
#[test]
fn any_bytes_are_survived() {
    let mut random = Random(0xf0f0);
    let mut broken = 0;
    for round in 0..400 {
        let (mut rank, mut socket) = rank_and_socket();
        let mut bytes = match round % 4 {
            0 => (0..random.below(300)).map(|_| random.word() as u8).collect(),
            1 => frame(EAGER, 0, 0, 200, &[3; 200]),
            2 => [frame(EAGER, 1, 0, 24, &[0; 40]), frame(EAGER, 0, 1, 8, &[1; 8])].concat(),
            _ => [frame(3, 0, 0, 0, &[0; 32]), frame(DATA, 0, 1, 1 << 32, &[1; 300])].concat(),
        };
        if round % 4 > 0 {
            let at = random.below(bytes.len());
            bytes[at] ^= 1 << random.below(8);
        }
        let mut to = [0u8; 300];
        let op = rank.recv(ANY_SOURCE, ANY_TAG, &mut to);
        socket.write_all(&bytes).unwrap();
        drop(socket);
        // It ends with a message, or with an error once the connection has ended.
        broken += usize::from(rank.wait(op).error.is_some());
    }
    assert!(broken > 100, "{broken}");
}

/// A link that breaks says both addresses and why; what is sent later fails, too.
#[test]
fn a_broken_link_says_where_and_why() {
    let (mut rank, mut socket) = rank_and_socket();
    socket.write_all(&frame(PRESS, 0, 0, 0, &[])).unwrap();
    let mut never = [0u8; 8];
    let op = rank.recv(1, 9, &mut never);
    let long = vec![1u8; 300_000];
    let send = rank.send(Mode::Standard, 1, 1, &long).expect("a long send waits");
    settle(&mut rank);
    let (here, there) = (socket.peer_addr().unwrap(), socket.local_addr().unwrap());
    drop(socket);
    let error = rank.wait(op).error.expect("an error");
    for part in ["rank 1 on node 1", &here.to_string(), &there.to_string()] {
        assert!(error.text().contains(part), "{part} in {}", error.text());
    }
    assert_eq!(rank.wait(send).error.expect("an error").text(), error.text());
    let later = rank.send(Mode::Synchronous, 1, 1, &[1]).expect("a synchronous send waits");
    assert_eq!(rank.wait(later).error.expect("an error").text(), error.text());
}

/// A peer that gets a connection and closes it without a word has ended: it counts as finalized, and what is sent to it
/// vanishes, as it does in the memory of a process that ends without receiving it.
#[test]
fn a_peer_that_ends_without_a_word_has_finalized() {
    let (mesh, mut ends) = mesh(2, 0);
    let mut peer = Arrivals::new(ends.remove(1));
    let mut rank = rank(&mesh, 0, ends.remove(0));
    let first = rank.send(Mode::Standard, 1, 1, &[1; 8]);
    settle(&mut rank);
    let Some(Record::Connection(_, connection)) = peer.take().unwrap() else { panic!("there is no connection") };
    // With unread bytes it would be reset.
    while socket::receive(connection.as_fd(), &mut [0; 64]).is_ok_and(|count| count > 0) {}
    drop(connection);
    settle(&mut rank);
    rank.wait_send(first);
    assert_eq!(rank.engine.life(rank.peer(1)), Life::Finalized);
    assert_eq!(rank.engine.finalized_far(), [rank.peer(1)]);
    for bytes in [8, 10_000, 200_000] {
        let send = rank.send(Mode::Standard, 1, 1, &vec![1; bytes]);
        rank.wait_send(send);
    }
    assert!(rank.engine.is_flushed());
    while !rank.engine.part() {
        std::thread::yield_now();
    }
}

/// A rank that has said farewell has not failed.
#[test]
fn a_farewell_is_no_failure() {
    let (mut rank, mut socket) = rank_and_socket();
    socket.write_all(&frame(BYE, 0, 0, 0, &[])).unwrap();
    settle(&mut rank);
    assert_eq!(rank.engine.life(rank.peer(1)), Life::Finalized);
    while !rank.engine.part() {
        std::thread::yield_now();
    }
    drop(rank);
    let mut all = Vec::new();
    socket.read_to_end(&mut all).unwrap();
    assert_eq!(all, frame_of_link(BYE));
}

fn frame_of_link(kind: u8) -> Vec<u8> {
    let mut bytes = vec![0; 32];
    bytes[4] = kind;
    bytes
}

/// A link that rests is closed by both sides, and neither has parted. The next one is another.
#[test]
fn a_link_that_rests_ends_nothing() {
    let (mesh, mut ends) = mesh(2, 0);
    let mut first = connect(&mesh);
    let mut rank = rank(&mesh, 0, ends.remove(0));
    first.write_all(&frame(EAGER, 0, 0, 8, &[7; 8])).unwrap();
    first.write_all(&frame(BYE, RESTS, 1, 0, &[])).unwrap();
    settle(&mut rank);
    let mut all = Vec::new();
    first.read_to_end(&mut all).unwrap();
    let mut answer = frame_of_link(BYE);
    answer[5] = RESTS;
    assert_eq!(all, answer, "the connection is closed on both sides");
    assert_eq!(rank.engine.life(rank.peer(1)), Life::Running);
    let mut second = connect(&mesh);
    second.write_all(&frame(EAGER, 0, 0, 8, &[8; 8])).unwrap();
    settle(&mut rank);
    for expected in [7, 8] {
        let mut to = [0u8; 8];
        let op = rank.recv(1, 5, &mut to);
        assert!(rank.wait(op).error.is_none());
        assert_eq!(to, [expected; 8]);
    }
    rank.send(Mode::Standard, 1, 1, &[1; 8]);
    settle(&mut rank);
    let mut header = [0; 40];
    second.read_exact(&mut header).unwrap();
    assert_eq!((header[4], &header[32..]), (EAGER, &[1; 8][..]));
}

/// A process that has made a connection asks the other one to let it rest.
#[test]
fn a_link_rests_when_the_peer_asks() {
    let (mut rank, mut socket) = rank_and_socket();
    socket.write_all(&frame(REST, 0, 0, 0, &[])).unwrap();
    settle(&mut rank);
    let mut header = [0; 32];
    socket.read_exact(&mut header).unwrap();
    assert_eq!(header[4..6], [BYE, RESTS]);
    socket.write_all(&frame(BYE, RESTS, 1, 0, &[])).unwrap();
    settle(&mut rank);
    assert_eq!(socket.read(&mut header).unwrap(), 0);
    assert_eq!(rank.engine.life(rank.peer(1)), Life::Running);
}

/// A peer gives up a connection that it has made when it gets another one. It has not ended, and what is sent to it is not lost
/// on that connection.
#[test]
fn a_connection_that_was_given_up_is_no_link() {
    let (mesh, mut ends) = mesh(2, 0);
    let first = connect(&mesh);
    let mut rank = rank(&mesh, 0, ends.remove(0));
    settle(&mut rank);
    let op = rank.send(Mode::Standard, 1, 1, &[1; 8]);
    settle(&mut rank);
    drop(first);
    settle(&mut rank);
    assert_eq!(rank.engine.life(rank.peer(1)), Life::Running);
    let mut second = connect(&mesh);
    second.write_all(&frame(PRESS, 0, 0, 0, &[])).unwrap();
    settle(&mut rank);
    rank.wait_send(op);
}

/// Both processes come back after their farewells, and both begin the next link: the peer's connection came before its farewell
/// was read, and belongs to the link that this process has begun.
#[test]
fn both_begin_the_link_after_a_farewell() {
    let (mesh, mut ends) = mesh(2, 0);
    let mut first = connect(&mesh);
    let mut rank = rank(&mesh, 0, ends.remove(0));
    settle(&mut rank);
    rank.engine.part();
    let mut second = connect(&mesh);
    second.write_all(&frame(EAGER, 0, 0, 8, &[7; 8])).unwrap();
    settle(&mut rank);
    first.write_all(&frame(BYE, 0, 0, 0, &[])).unwrap();
    while rank.engine.life(rank.peer(1)) == Life::Running {
        rank.engine.progress();
    }
    rank.send(Mode::Standard, 1, 1, &[1; 8]);
    let mut to = [0u8; 8];
    let op = rank.recv(1, 5, &mut to);
    settle(&mut rank);
    assert!(rank.engine.is_done(op), "the connection of the peer is not read");
    assert!(rank.wait(op).error.is_none());
    assert_eq!(to, [7; 8]);
}

/// All pairs send first at one moment, with connections that take different times: one of two that cross each other
/// stays, and messages keep their order.
#[test]
fn connections_that_cross_each_other() {
    for round in 0..150 {
        run_delayed(4, [0, 2, 5, 9, 40][round % 5], |rank| {
            let (me, ranks) = (rank.me, rank.ranks);
            let length = |n: usize| [8, 300, 5_000, 200_000, 0][n % 5];
            let all: Vec<Vec<u8>> = (0..12).map(|n| vec![(n * 16 + me) as u8; length(n)]).collect();
            let mut sends = Vec::new();
            for bytes in &all {
                for other in (0..ranks).filter(|&other| other != me) {
                    sends.push(rank.send(Mode::Standard, other, 1, bytes));
                }
            }
            for other in (0..ranks).filter(|&other| other != me) {
                for n in 0..12 {
                    let mut to = vec![0u8; length(n)];
                    let op = rank.recv(other as i32, 1, &mut to);
                    let outcome = rank.wait(op);
                    assert!(outcome.error.is_none(), "{:?}", outcome.error);
                    assert_eq!(outcome.status.bytes() as usize, length(n));
                    assert!(to.iter().all(|&byte| byte == (n * 16 + other) as u8), "round {round}, message {n}");
                }
            }
            sends.into_iter().for_each(|op| rank.wait_send(op));
        });
    }
}

/// A short message that is sent after a long one comes before its end.
#[test]
fn short_messages_pass_long_ones() {
    run(Link::Tcp, 2, |rank| {
        let mut long = vec![7u8; 256 << 20];
        if rank.me == 0 {
            let first = rank.send(Mode::Standard, 1, 1, &long);
            let mut go = [0u8];
            let op = rank.recv(1, 3, &mut go);
            rank.wait(op);
            let second = rank.send(Mode::Standard, 1, 2, &[1; 8]);
            rank.wait_send(second);
            rank.wait_send(first);
        } else {
            let op = rank.recv(0, 1, &mut long);
            let go = rank.send(Mode::Standard, 0, 3, &[1]);
            rank.wait_send(go);
            let mut short = [0u8; 8];
            let second = rank.recv(0, 2, &mut short);
            rank.wait(second);
            assert!(!rank.engine.is_done(op), "the long message came first");
            assert!(rank.wait(op).error.is_none());
        }
    });
}

/// Several senders flood a rank that receives nothing: all together it stores no more than its limit.
#[test]
fn senders_share_the_store() {
    const SENDERS: usize = 4;
    const BYTES: usize = 64 << 10;
    const EACH: usize = (40 << 20) / BYTES;
    let done = &AtomicUsize::new(0);
    run(Link::Tcp, SENDERS + 1, |rank| {
        let bytes = vec![9u8; BYTES];
        if rank.me > 0 {
            let mut sends = Vec::new();
            for _ in 0..EACH {
                sends.push(rank.send(Mode::Standard, 0, 1, &bytes));
                rank.engine.progress();
            }
            done.fetch_add(1, Ordering::Relaxed);
            sends.into_iter().for_each(|op| rank.wait_send(op));
            return;
        }
        let mut most = 0;
        while done.load(Ordering::Relaxed) < SENDERS || rank.engine.progress() {
            rank.engine.progress();
            most = most.max(rank.engine.stored());
        }
        assert!(most < STORE_LIMIT * 3 / 2, "{most} bytes were stored");
        for _ in 0..EACH * SENDERS {
            let mut to = vec![0u8; BYTES];
            let op = rank.recv(ANY_SOURCE, 1, &mut to);
            assert!(rank.wait(op).error.is_none() && to == bytes);
        }
    });
}
