//! Addresses of 64 bits as INTEGERs of 32, for `MPI_ADDRESS` and the old datatype functions, whose
//! displacements are INTEGERs.
//!
//! An address near `MPI_BOTTOM` (data of the program) becomes its distance from there. Other
//! addresses, usually on the stack, become their distance from the first of them plus [`FAR`]. So
//! numbers of the two kinds differ, and so do differences between the kinds, and [`displacement`]
//! can reverse the mapping. An address in neither range has no number.
//!
//! An INTEGER of eight bytes holds any address as it is.

use crate::c_names::*;
use crate::places::bottom;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

/// Addresses with a smaller distance from `MPI_BOTTOM` are near.
const NEAR: i64 = 0x4000_0000;

/// The number of the first far address; those around it fill the numbers from [`NEAR`] on.
const FAR: i64 = 0x6000_0000;

/// Whether numbers relative to `MPI_BOTTOM` were given out.
static RELATIVE: AtomicBool = AtomicBool::new(false);

/// The first far address; zero as long as there is none.
static ANCHOR: AtomicI64 = AtomicI64::new(0);

/// Whether an INTEGER holds an address.
const HOLDS_ADDRESS: bool = size_of::<Fint>() >= size_of::<usize>();

/// The base of near addresses. In a program that is linked to low addresses they are absolute.
fn base() -> i64 {
    if HOLDS_ADDRESS || i32::try_from(bottom()).is_ok() { 0 } else { bottom() as i64 }
}

/// The number of an address, if it has one.
pub fn number(address: i64) -> Option<Fint> {
    if HOLDS_ADDRESS {
        return integer(address);
    }
    let near = address.wrapping_sub(base());
    if near.unsigned_abs() < NEAR as u64 {
        RELATIVE.store(base() != 0, Relaxed);
        return integer(near);
    }
    let anchor = match ANCHOR.compare_exchange(0, address, Relaxed, Relaxed) {
        Ok(_) => address,
        Err(anchor) => anchor,
    };
    let far = address.wrapping_sub(anchor);
    if far.unsigned_abs() < (FAR - NEAR) as u64 { integer(FAR + far) } else { None }
}

/// The INTEGER of that value.
#[allow(clippy::useless_conversion, clippy::unnecessary_fallible_conversions)]
pub fn integer(value: i64) -> Option<Fint> {
    Fint::try_from(value).ok()
}

/// An INTEGER, of either length, as an address or a difference of addresses.
pub fn long(value: impl Into<i64>) -> i64 {
    value.into()
}

/// The displacement that a number, or the difference of two numbers, stands for.
pub fn displacement(number: Fint) -> i64 {
    let (number, anchor) = (long(number), ANCHOR.load(Relaxed));
    if anchor == 0 || number.abs() < NEAR {
        number
    } else if number > 0 {
        number - FAR + (anchor - base())
    } else {
        number + FAR - (anchor - base())
    }
}

/// What C adds to the displacements of a datatype that is used with `MPI_BOTTOM`: nothing if they
/// are absolute addresses. Relative displacements cannot be mistaken for absolute addresses: a
/// program has no memory there.
pub fn origin(datatype: Datatype) -> usize {
    let anchor = ANCHOR.load(Relaxed);
    if !RELATIVE.load(Relaxed) && anchor == 0 || datatype == MPI_DATATYPE_NULL {
        return 0;
    }
    let (mut lb, mut extent) = (0, 0);
    // SAFETY: the pointers lead to variables of this function.
    let code = unsafe { c::PMPI_Type_get_true_extent(datatype, &mut lb, &mut extent) };
    let is_within = |middle: i64| lb.wrapping_sub(middle).unsigned_abs() < 2 * NEAR as u64;
    match code {
        MPI_SUCCESS if anchor != 0 && is_within(FAR) && lb >= NEAR => (anchor - FAR) as usize,
        MPI_SUCCESS if is_within(0) || anchor != 0 && is_within(anchor - base()) => base() as usize,
        _ => 0,
    }
}
