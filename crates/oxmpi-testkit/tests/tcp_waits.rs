//! Waiting with links between nodes: who waits sleeps, and is woken by peers of its own node and of others. The look
//! around that would find a lost wake-up is switched off. `OXMPI_WAKE_ROUNDS=N` runs so many rounds.

use oxmpi_abi::constants::MPI_COMM_WORLD;
use oxmpi_abi::functions::Fun;
use oxmpi_core::engine::Mode;
use oxmpi_core::wait::Waiting;
use oxmpi_datatype::{Source, Target};
use oxmpi_testkit::tcp::run_world;
use oxmpi_testkit::world::Rank;
use std::time::{Duration, Instant};

const NEVER: Duration = Duration::from_secs(600);

/// A wait that does not look around by itself.
struct Patient;

impl Waiting for Patient {
    fn longest_sleep(&self) -> Duration {
        NEVER
    }
}

fn send(rank: &Rank<'_>, to: usize, bytes: &[u8]) {
    let call = rank.call(Fun::Send);
    let mut guard = call.enter().unwrap();
    let route = guard.route(guard.comm(MPI_COMM_WORLD).unwrap(), to as i32, 1).unwrap().unwrap();
    // SAFETY: the bytes are borrowed until this function returns, when the send has ended.
    let buf = unsafe { Source::dense(bytes.as_ptr(), bytes.len()) };
    if let Some(op) = guard.engine.send(Mode::Standard, &route, buf) {
        let outcome = call.wait(&mut guard, &Patient, |process| process.engine.take_outcome(op)).unwrap();
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
    }
}

/// Receives from a rank, or from any.
fn recv(rank: &Rank<'_>, from: i32, bytes: &mut [u8]) -> usize {
    let call = rank.call(Fun::Recv);
    let mut guard = call.enter().unwrap();
    let pattern = guard.pattern(guard.comm(MPI_COMM_WORLD).unwrap(), from, 1).unwrap().unwrap();
    // SAFETY: the bytes are borrowed until this function returns, when the receive has ended.
    let buf = unsafe { Target::dense(bytes.as_mut_ptr(), bytes.len()) };
    let op = guard.engine.recv(pattern, buf);
    let outcome = call.wait(&mut guard, &Patient, |process| process.engine.take_outcome(op)).unwrap();
    assert!(outcome.error.is_none(), "{:?}", outcome.error);
    outcome.status.source as usize
}

fn rounds(usual: usize) -> usize {
    std::env::var("OXMPI_WAKE_ROUNDS").ok().and_then(|value| value.parse().ok()).unwrap_or(usual)
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

#[test]
fn a_rank_that_waits_for_another_node_sleeps() {
    run_world(&[0, 1], NEVER, |rank| {
        // So that both have a connection.
        let mut byte = [0u8];
        if rank.me == 0 {
            send(rank, 1, &[1]);
            recv(rank, 1, &mut byte);
            std::thread::sleep(Duration::from_secs(5));
            send(rank, 1, &[2]);
        } else {
            recv(rank, 0, &mut byte);
            send(rank, 0, &[1]);
            let (start, before) = (Instant::now(), cpu_time());
            recv(rank, 0, &mut byte);
            let used = cpu_time() - before;
            assert_eq!(byte, [2]);
            assert!(start.elapsed() > Duration::from_secs(4));
            assert!(used < Duration::from_millis(100), "it used {used:?}");
        }
    });
}

/// The token goes around: to the other rank of the node through shared memory, to the other node over TCP, and back, with
/// pauses in which the others fall asleep.
#[test]
fn no_wake_up_is_lost_between_and_in_nodes() {
    let rounds = rounds(1500);
    run_world(&[0, 0, 1, 1], NEVER, |rank| {
        let (next, last) = ((rank.me + 1) % rank.size, (rank.me + rank.size - 1) % rank.size);
        let mut byte = [0u8];
        for round in 0..rounds {
            let pause = [0u64, 0, 0, 0, 40, 400, 900][(round + rank.me) % 7];
            if rank.me > 0 || round > 0 {
                recv(rank, last as i32, &mut byte);
                assert_eq!(byte[0], (round - usize::from(rank.me == 0)) as u8, "round {round}");
            }
            std::thread::sleep(Duration::from_micros(pause));
            send(rank, next, &[round as u8]);
        }
        if rank.me == 0 {
            recv(rank, last as i32, &mut byte);
        }
    });
}

/// One rank waits for whoever comes: from its own node and from another one, at once and in turn.
#[test]
fn a_rank_is_woken_by_all_its_peers() {
    let each = rounds(2000);
    run_world(&[0, 0, 1], NEVER, |rank| {
        if rank.me == 0 {
            let mut counts = [0usize; 3];
            let mut bytes = [0u8; 8];
            for _ in 0..2 * each {
                let from = recv(rank, -1, &mut bytes);
                assert_eq!(u64::from_le_bytes(bytes) as usize, counts[from]);
                counts[from] += 1;
                send(rank, from, &bytes);
            }
            assert_eq!(counts, [0, each, each]);
        } else {
            let mut bytes = [0u8; 8];
            for n in 0..each {
                send(rank, 0, &(n as u64).to_le_bytes());
                recv(rank, 0, &mut bytes);
                std::thread::sleep(Duration::from_micros([0, 0, 30, 200, 700][n * (rank.me + 2) % 5]));
            }
        }
    });
}

/// A long message to a rank that does not receive for a while: its sender sleeps until there is room, and goes on then.
#[test]
fn a_sender_sleeps_until_there_is_room() {
    run_world(&[0, 1], NEVER, |rank| {
        let mut bytes = vec![rank.me as u8; 64 << 20];
        if rank.me == 0 {
            let before = cpu_time();
            send(rank, 1, &bytes);
            let used = cpu_time() - before;
            assert!(used < Duration::from_millis(500), "it used {used:?}");
        } else {
            // The first bytes fill the sockets, since the receive is posted; then nothing moves for a second.
            let call = rank.call(Fun::Irecv);
            let mut guard = call.enter().unwrap();
            let pattern = guard.pattern(guard.comm(MPI_COMM_WORLD).unwrap(), 0, 1).unwrap().unwrap();
            // SAFETY: the bytes are not looked at until the receive has ended.
            let buf = unsafe { Target::dense(bytes.as_mut_ptr(), bytes.len()) };
            let op = guard.engine.recv(pattern, buf);
            for _ in 0..2000 {
                guard.progress();
            }
            drop(guard);
            std::thread::sleep(Duration::from_secs(1));
            let mut guard = call.enter().unwrap();
            let outcome = call.wait(&mut guard, &Patient, |process| process.engine.take_outcome(op)).unwrap();
            assert!(outcome.error.is_none());
            drop(guard);
            assert!(bytes.iter().all(|&byte| byte == 0));
        }
    });
}
