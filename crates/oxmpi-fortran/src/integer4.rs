//! INTEGER and LOGICAL of four bytes, which are C's int: what the program passes goes to C as it
//! is, at no cost. [`integer8.rs`](../integer8.rs) has the same names for eight bytes; the entry
//! points are written in these names and compiled with either file.

use crate::abi::Status;
use std::ffi::c_int;

pub use oxmpi_abi::types::Fint;
pub use std::sync::atomic::AtomicI32 as AtomicFint;

/// A status of the program: eight INTEGERs.
pub type FortranStatus = Status;

/// An integer of C as an INTEGER.
#[inline(always)]
pub fn wide(value: c_int) -> Fint {
    value
}

/// An INTEGER that is a handle, an error code or a length, as an integer of C.
#[inline(always)]
pub fn short(value: Fint) -> c_int {
    value
}

/// What decides about the truth of a LOGICAL.
#[inline(always)]
pub fn low(logical: Fint) -> c_int {
    logical
}

/// The value of an INTEGER argument for C: `narrow!(dest, MPI_ERR_RANK, "MPI_Send", comm_c,
/// ierror)`. What follows the argument is for the error where an INTEGER is longer than an int.
macro_rules! narrow {
    ($place:ident, $($rest:tt)*) => {
        *$place
    };
}

/// An INTEGER that C reads, and writes when an operation is complete: its place, and as for `narrow!`.
macro_rules! lasting {
    ($place:ident, $($rest:tt)*) => {
        $place
    };
}

/// An array of INTEGERs that C reads: the array, its length, and as for `narrow!`.
macro_rules! narrowed {
    ($array:expr, $length:expr, $($rest:tt)*) => {
        crate::integer::Ints::new($array)
    };
}

/// The weights of a graph that C reads, as for `narrowed!`, or writes.
macro_rules! weights {
    ($array:ident, $($rest:tt)*) => {
        crate::integer::Ints::new(crate::places::weights_of($array))
    };
}

/// The array for C: from `narrowed!`, `stored!` or `weights!`.
pub struct Ints(*mut c_int);

impl Ints {
    #[inline(always)]
    pub fn new(array: *mut Fint) -> Ints {
        Ints(array)
    }

    /// Room for elements that C writes; it may use the first ones only.
    #[inline(always)]
    pub fn room(array: *mut Fint, _length: usize) -> Ints {
        Ints(array)
    }

    #[inline(always)]
    pub fn as_mut_ptr(&mut self) -> *mut c_int {
        self.0
    }

    /// An element that C has stored.
    ///
    /// # Safety
    /// The array has such an element.
    #[inline(always)]
    pub unsafe fn at(&self, index: usize) -> c_int {
        // SAFETY: the caller promises that the array has the element.
        unsafe { *self.0.add(index) }
    }

    /// Hands the array to the program: C has written it in place.
    ///
    /// # Safety
    /// The array may be written.
    #[inline(always)]
    pub unsafe fn put(self) {}

    /// Hands the first elements to the program.
    ///
    /// # Safety
    /// So many elements may be written.
    #[inline(always)]
    pub unsafe fn put_first(self, _count: usize) {}
}

/// An array of INTEGERs that C writes, and perhaps reads: the array and its length.
macro_rules! stored {
    ($array:expr, $length:expr) => {
        crate::integer::Ints::new($array)
    };
}

/// An INTEGER that C writes, and perhaps reads.
pub struct Out(*mut c_int);

impl Out {
    /// # Safety
    /// `place` may be read and written.
    #[inline(always)]
    pub unsafe fn new(place: *mut Fint) -> Out {
        Out(place)
    }

    #[inline(always)]
    pub fn place(&mut self) -> *mut c_int {
        self.0
    }

    /// # Safety
    /// The INTEGER may be written.
    #[inline(always)]
    pub unsafe fn put(self) {}
}

/// One status or several, of the program.
pub struct Statuses(*mut Status);

impl Statuses {
    /// # Safety
    /// There are `count` statuses, or the pointer is null: the program ignores them.
    #[inline(always)]
    pub unsafe fn new(statuses: *mut FortranStatus, _count: usize) -> Statuses {
        Statuses(statuses)
    }

    /// Room for statuses that C writes; it may use the first ones only. Null as above.
    #[inline(always)]
    pub fn room(statuses: *mut FortranStatus, _count: usize) -> Statuses {
        Statuses(statuses)
    }

    /// Null where the program ignores them.
    #[inline(always)]
    pub fn as_mut_ptr(&mut self) -> *mut Status {
        self.0
    }

    /// # Safety
    /// The statuses may be written.
    #[inline(always)]
    pub unsafe fn put(self) {}

    /// Hands the first statuses to the program.
    ///
    /// # Safety
    /// So many statuses may be written.
    #[inline(always)]
    pub unsafe fn put_first(self, _count: usize) {}
}

/// The error codes of spawned processes.
pub struct Codes(*mut c_int);

impl Codes {
    /// `codes` is null where the program ignores them.
    #[inline(always)]
    pub fn new(codes: *mut Fint) -> Codes {
        Codes(codes)
    }

    #[inline(always)]
    pub fn as_mut_ptr(&mut self) -> *mut c_int {
        self.0
    }

    /// # Safety
    /// The codes may be written.
    #[inline(always)]
    pub unsafe fn put(self, _spawned: impl FnOnce() -> usize) {}
}
