//! Random point-to-point programs over the simulated network with faults, checked against the serial model.
//!
//! Each program has a number; a failure prints it with the smallest program that still fails.
//! `OXMPI_SIM_PROGRAM=N` runs only that one, `OXMPI_SIM_PROGRAMS=N` so many instead of 200.

use oxmpi_testkit::model::check;
use oxmpi_testkit::program::{Message, Program};
use oxmpi_testkit::runner::run_program;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

fn lengths() -> impl Strategy<Value = usize> {
    prop_oneof![
        2 => 0usize..64,
        2 => 64usize..1000,
        1 => 4000usize..4200,
        1 => 8100usize..8300,
        1 => 8300usize..20_000,
    ]
}

fn blocks() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(0usize), 1 => Just(13), 1 => Just(2500)]
}

prop_compose! {
    fn messages(ranks: usize)(
        route in (0..ranks, 0..ranks, 0u32..4, 0i32..3),
        length in lengths(),
        (synchronous, probe) in (weighted(0.3, Just(())), weighted(0.2, Just(()))),
        short in weighted(0.1, Just(())),
        (sender_block, receiver_block) in (blocks(), blocks()),
        (cancel, cancel_receive) in (weighted(0.2, 0usize..40), weighted(0.1, 0usize..40)),
        (sent_at, received_at) in (0usize..12, 0usize..12),
        (wait_send, wait_receive) in (weighted(0.3, 0usize..12), weighted(0.3, 0usize..12)),
    ) -> Message {
        let (from, to, class, tag) = route;
        Message {
            from, to, class, tag, length,
            synchronous: synchronous.is_some(), probe: probe.is_some(), short: short.is_some(),
            sender_block, receiver_block, cancel, cancel_receive, sent_at, received_at, wait_send, wait_receive,
        }
    }
}

fn programs() -> impl Strategy<Value = Program> {
    (2usize..5).prop_flat_map(|ranks| {
        let death = weighted(0.3, (0..ranks, 0u64..3000));
        (Just(ranks), 0u64..1_000_000, death, prop::collection::vec(messages(ranks), 1..25))
            .prop_map(|(ranks, seed, death, messages)| Program { ranks, seed, death, messages })
    })
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

#[test]
fn random_programs_do_what_the_serial_model_says() {
    let numbers = match number("OXMPI_SIM_PROGRAM") {
        Some(one) => one..one + 1,
        None => 0..number("OXMPI_SIM_PROGRAMS").unwrap_or(200),
    };
    for number in numbers {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&number.to_le_bytes());
        let config = Config { cases: 1, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
        let result = runner.run(&programs(), |program| {
            let logs = run_program(&program).map_err(TestCaseError::fail)?;
            check(&program, &logs).map_err(TestCaseError::fail)
        });
        match result {
            Ok(()) => {}
            Err(TestError::Fail(why, program)) => {
                panic!("program {number} fails (OXMPI_SIM_PROGRAM={number} runs it alone): {why}\n{program:#?}")
            }
            Err(error) => panic!("program {number}: {error}"),
        }
    }
}
