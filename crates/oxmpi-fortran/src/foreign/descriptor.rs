//! How a buffer of MPICH's `mpi_f08` arrives: its procedures are not `bind(C)`, so gfortran passes the descriptor that it uses
//! among procedures of Fortran.

use crate::handles::positive;
use std::ffi::{c_int, c_void};

/// gfortran's descriptor of an array, since its version 9.
#[repr(C)]
pub struct Descriptor {
    pub base_addr: *mut c_void,
    _offset: isize,
    pub elem_len: usize,
    _version: c_int,
    rank: i8,
    _type_and_attribute: [u8; 3],
    /// The unit of strides, in bytes; 0 where the compiler has not set it, for the length of an element.
    span: isize,
    dim: [Bounds; 15],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Bounds {
    stride: isize,
    lower: isize,
    upper: isize,
}

#[derive(Clone, Copy)]
pub struct Dimension {
    /// Not positive for the last one of an assumed-size array, and for that of an empty array.
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
pub unsafe fn dimensions(
    descriptor: *mut Descriptor,
) -> impl ExactSizeIterator<Item = Dimension> + DoubleEndedIterator + Clone {
    // SAFETY: the caller promises that the descriptor may be read.
    let (rank, span, length) = unsafe { ((*descriptor).rank, (*descriptor).span, (*descriptor).elem_len) };
    let unit = if span == 0 { length as isize } else { span };
    (0..positive(rank).min(15)).map(move |index| {
        // SAFETY: a descriptor has as many dimensions as its rank.
        let bounds = unsafe { (&raw const (*descriptor).dim).cast::<Bounds>().add(index).read() };
        let extent = bounds.upper.wrapping_sub(bounds.lower).wrapping_add(1);
        Dimension { extent, stride: bounds.stride.wrapping_mul(unit) }
    })
}
