//! Views of files against a list of the places of their elements. A failure prints the simplest view
//! that still fails.

use oxmpi_abi::constants::MPI_INT;
use oxmpi_datatype::{Datatype, predefined};
use oxmpi_io::{Representation, View};
use proptest::prelude::*;
use std::sync::Arc;

/// A view from a displacement on, of runs of numbers with gaps behind them.
fn view(disp: i64, runs: &[(i64, i64)]) -> (View, Vec<i64>, i64) {
    let int = predefined(MPI_INT.0).expect("a predefined type");
    let (mut lens, mut disps, mut ints, mut at) = (vec![], vec![], vec![], 0);
    for (len, gap) in runs {
        lens.push(*len);
        disps.push(at);
        ints.extend(at..at + len);
        at += len + gap;
    }
    let filetype = Datatype::resized(&Datatype::indexed(lens, disps, int).unwrap(), 0, 4 * at).unwrap();
    filetype.commit().unwrap();
    let view = View::new(disp, &Arc::clone(int), &filetype, Representation::Native, true).unwrap();
    view.lay_out().unwrap();
    (view, ints, at)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Etypes lie where the runs and gaps, repeated from the displacement on, say; and the end of a
    /// file of any size is the first of them that begins behind it.
    #[test]
    fn offsets_and_ends_are_those_of_the_definition(
        disp in 0..200i64,
        runs in prop::collection::vec((1..4i64, 0..5i64), 1..5),
        size in 0..2000i64,
    ) {
        let (view, ints, extent) = view(disp, &runs);
        let count = ints.len() as i64;
        let place = |number: i64| disp + 4 * (number / count * extent + ints[(number % count) as usize]);
        for number in 0..100 {
            prop_assert_eq!(view.byte_offset(number).unwrap(), place(number));
            prop_assert_eq!(view.etypes(4 * number as usize).unwrap(), number);
        }
        let end = (0..).find(|&number| place(number) >= size).unwrap();
        prop_assert_eq!(view.end(size as u64), end);
    }
}
