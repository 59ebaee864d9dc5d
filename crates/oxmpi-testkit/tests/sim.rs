//! The simulated network itself: a seed determines the run, and a run in which nothing moves any
//! more ends with a report.

use oxmpi_core::engine::Mode;
use oxmpi_testkit::{ANY_SOURCE, ANY_TAG, Link, Rank, run, seeds, try_run};
use oxmpi_transport::sim::{Faults, Network};
use oxmpi_transport::{Life, Peer};
use std::sync::Mutex;

/// All ranks send to rank 0, which receives everything: the order of arrivals and the number of
/// turns.
fn arrivals(seed: u64) -> (Vec<(i32, i32)>, u64) {
    let network = Network::new(seed, 4);
    let order = Mutex::new(Vec::new());
    let body = |rank: &mut Rank| {
        for n in 0..10 {
            if rank.me > 0 {
                let bytes = vec![n as u8; 1000 * rank.me];
                let op = rank.send(Mode::Synchronous, 0, n, &bytes);
                rank.wait_send(op);
            } else {
                for _ in 1..rank.ranks {
                    let mut bytes = [0; 3000];
                    let op = rank.recv(ANY_SOURCE, ANY_TAG, &mut bytes);
                    let status = rank.wait(op).status;
                    order.lock().unwrap().push((status.source, status.tag));
                }
            }
        }
    };
    try_run(&network, 4, body).unwrap();
    (order.into_inner().unwrap(), network.turns())
}

#[test]
fn a_seed_determines_the_run() {
    for seed in seeds(6) {
        assert_eq!(arrivals(seed), arrivals(seed), "seed {seed}");
    }
    assert!(seeds(6).count() < 2 || seeds(6).any(|seed| arrivals(seed).0 != arrivals(seed + 1).0));
}

#[test]
fn a_deadlock_is_reported_with_the_seed_and_all_positions() {
    let network = Network::new(77, 2);
    let body = |rank: &mut Rank| {
        if rank.me == 1 {
            let mut never = [0u8; 8];
            let op = rank.recv(0, 3, &mut never);
            rank.wait(op);
        }
    };
    let text = try_run(&network, 2, body).expect_err("rank 1 waits for ever");
    for part in ["seed 77", "nothing moves", "rank 0: Finalized, it has left", "rank 1: Running, it waits for OpId"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn a_failure_of_one_rank_ends_the_others() {
    let network = Network::new(3, 3);
    let body = |rank: &mut Rank| {
        let mut never = [0u8; 8];
        let op = rank.recv(0, 3, &mut never);
        assert!(rank.me != 1, "on purpose");
        rank.wait(op);
    };
    let text = try_run(&network, 3, body).expect_err("rank 1 fails");
    assert!(text.contains("seed 3: rank 1 has failed: on purpose"), "{text}");
}

/// Ranks share nothing, so only packets can connect them.
#[test]
fn ranks_have_no_memory_in_common() {
    run(Link::Sim(1), 2, |rank| {
        let other = rank.peer(1 - rank.me);
        assert!(other.is_far());
        assert!(rank.engine.node().home(other).is_none());
        assert!(rank.engine.node().home(Peer::at_slot(0)).is_some());
    });
}

#[test]
fn dead_ranks_are_detected() {
    let faults = Faults { death: Some((1, 50)), ..Faults::none() };
    let network = Network::with_faults(5, 2, faults);
    let body = |rank: &mut Rank| {
        let mut never = [0u8; 8];
        let op = rank.recv(1 - rank.me as i32, 3, &mut never);
        let error = rank.wait(op).error.expect("rank 1 has died");
        assert_eq!(error.text(), "rank 1 has died");
        assert_eq!(rank.engine.life(Peer::far(1)), Life::Dead);
        // A later send to it ends as well.
        let op = rank.send(Mode::Synchronous, 1, 3, &[1; 100]).expect("a synchronous send waits");
        assert_eq!(rank.wait(op).error.expect("rank 1 has died").text(), "rank 1 has died");
    };
    try_run(&network, 2, body).unwrap();
}
