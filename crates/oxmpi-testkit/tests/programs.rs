//! Random point-to-point programs over the simulated network with faults, checked against the serial model.
//!
//! Each program has a number; a failure prints it with the smallest program that still fails.
//! `OXMPI_SIM_PROGRAM=N` runs only that one, `OXMPI_SIM_PROGRAMS=N` so many instead of 200.

use oxmpi_testkit::model::check;
use oxmpi_testkit::numbered::run_numbered;
use oxmpi_testkit::program::{Message, Program};
use oxmpi_testkit::runner::run_program;
use proptest::option::weighted;
use proptest::prelude::*;

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

#[test]
fn random_programs_do_what_the_serial_model_says() {
    run_numbered("program", 200, &programs().boxed(), |_, program| check(program, &run_program(program)?));
}
