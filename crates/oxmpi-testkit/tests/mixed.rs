//! Random programs of the whole interface, checked against a serial model: over the simulated network with faults, and
//! over shared memory with pretended nodes.
//!
//! Each program has a number; a failure prints it with the smallest program that still fails.
//! `OXMPI_SIM_PROGRAM=N` runs only that one, `OXMPI_SIM_PROGRAMS=N` so many instead of a few.

use oxmpi_testkit::mixed::check::check;
use oxmpi_testkit::mixed::perform::run_program;
use oxmpi_testkit::mixed::program::Program;
use oxmpi_testkit::mixed::strategy;
use oxmpi_testkit::numbered::run_numbered;
use proptest::prelude::*;

fn run_and_check(name: &str, program: &Program) -> Result<(), String> {
    let logs = run_program(name, program)?;
    check(program, &logs)
}

#[test]
fn mixed_programs_over_a_simulated_network() {
    run_numbered("simulated program", 300, &strategy::simulated().boxed(), run_and_check);
}

#[test]
fn mixed_programs_over_shared_memory() {
    run_numbered("shared-memory program", 300, &strategy::shared().boxed(), run_and_check);
}

#[test]
fn programs_with_files() {
    run_numbered("program with files", 200, &strategy::with_files().boxed(), run_and_check);
}
