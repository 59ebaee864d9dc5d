//! Bytes of predefined types that hold no value: the last 6 of the 16 of a `long double`. Compilers do not write them, and
//! valgrind must not miss values there.

use crate::datatype::Datatype;
use crate::external::each_run;
use crate::named::{NAMED, Scalar, forget_dense};
use oxmpi_base::valgrind;

/// Bytes of a long double, and those that have a value.
const LENGTH: usize = 16;
const USED: usize = 10;

/// Where the long doubles of one element begin.
fn padded(scalar: Scalar) -> &'static [usize] {
    match scalar {
        Scalar::LongDouble => &[0],
        Scalar::CLongDouble => &[0, LENGTH],
        _ => &[],
    }
}

/// In valgrind: from now on these types are not among those whose elements are bytes without gaps.
#[cold]
pub fn watch_padding() {
    NAMED.iter().filter(|named| !padded(named.scalar).is_empty()).for_each(forget_dense);
}

/// The bytes of these elements that hold no value count as written.
#[cold]
pub fn define_padding(address: usize, count: u64, datatype: &Datatype) {
    // Long arrays of other types are not walked through.
    if !datatype.runs().any(|run| !padded(run.named.scalar).is_empty()) {
        return;
    }
    each_run(count, datatype, |named, at, n| {
        for element in 0..n as usize {
            let element = address.wrapping_add_signed(at).wrapping_add(element * named.extent());
            for place in padded(named.scalar) {
                valgrind::make_defined(element.wrapping_add(place + USED), LENGTH - USED);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_with_long_doubles_are_known() {
        let names: Vec<&str> =
            NAMED.iter().filter(|named| !padded(named.scalar).is_empty()).map(|named| named.name).collect();
        let expected =
            ["MPI_LONG_DOUBLE", "MPI_C_LONG_DOUBLE_COMPLEX", "MPI_CXX_LONG_DOUBLE_COMPLEX", "MPI_LONG_DOUBLE_INT"];
        assert_eq!(names, expected);
    }
}
