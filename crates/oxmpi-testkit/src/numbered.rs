//! Random programs by their numbers.

use proptest::strategy::BoxedStrategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::fmt::Debug;

/// Runs programs number 0, 1, …: so many as usual, or as `OXMPI_SIM_PROGRAMS` says, or the one of `OXMPI_SIM_PROGRAM`
/// alone. A number is a program. One that fails is made smaller first; the failure says its number.
pub fn run_numbered<P: Debug>(
    name: &str,
    usual: u64,
    programs: &BoxedStrategy<P>,
    run: impl Fn(&str, &P) -> Result<(), String>,
) {
    let variable = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let numbers = match variable("OXMPI_SIM_PROGRAM") {
        Some(one) => one..one + 1,
        None => 0..variable("OXMPI_SIM_PROGRAMS").unwrap_or(usual),
    };
    for number in numbers {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&number.to_le_bytes());
        let config = Config { cases: 1, failure_persistence: None, max_shrink_iters: 400, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
        let named = format!("{name} {number}");
        let result = runner.run(programs, |program| run(&named, &program).map_err(TestCaseError::fail));
        match result {
            Ok(()) => {}
            Err(TestError::Fail(why, program)) => {
                panic!("{named} fails (OXMPI_SIM_PROGRAM={number} runs it alone): {why}\n{program:#?}")
            }
            Err(error) => panic!("{named}: {error}"),
        }
    }
}
