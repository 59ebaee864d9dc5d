//! How a buffer of `mpi_f08` arrives: its procedures are `bind(C)`, so all compilers pass the descriptor of C.

use crate::handles::positive;
use std::ffi::{c_int, c_void};

/// `CFI_cdesc_t`, as far as all compilers agree on it.
#[repr(C)]
pub struct Descriptor {
    pub base_addr: *mut c_void,
    pub elem_len: usize,
    version: c_int,
    rank: i8,
    _attribute_and_type: [u8; 3],
    dim: [Dimension; 15],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dimension {
    _lower_bound: isize,
    /// -1 for the last one of an assumed-size array, and in old compilers for that of an empty
    /// array.
    pub extent: isize,
    /// The distance in bytes from one element to the next.
    pub stride: isize,
}

/// The dimensions of a descriptor. There are only as many as the rank says, so no reference to the
/// whole structure may exist.
///
/// # Safety
/// `descriptor` may be read.
#[inline]
pub unsafe fn dimensions<'a>(descriptor: *mut Descriptor) -> std::iter::Copied<std::slice::Iter<'a, Dimension>> {
    // SAFETY: the caller promises that the descriptor may be read; it has as many dimensions as its
    // rank.
    unsafe {
        // Volatile, so that it stays a load of one byte: the caller has just stored the rank and
        // its neighbours one by one, and a wider load, which the optimiser prefers, would have to
        // wait for all of them.
        let rank = positive((&raw const (*descriptor).rank).read_volatile()).min(15);
        std::slice::from_raw_parts((&raw const (*descriptor).dim).cast(), rank).iter().copied()
    }
}
