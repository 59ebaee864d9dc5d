//! The macro for entry points, and helpers for their bodies. Only files with entry points use it;
//! the files that it is made of use `c_names.rs`.

pub use crate::c_names::*;
pub use crate::handles::{
    Few, dimensions, get, get_named, int, neighbors, peers, peers_unless_in_place, positive, put,
};
#[cfg(integer8)]
pub use crate::handles::{last_of, sum_of};
pub(crate) use crate::pending;
pub use crate::places::{buffer_at, check_kind, unless_ignored};
#[cfg(not(mpich))]
pub use crate::section::described;
pub use crate::section::{Descriptor, Scratch, Section, start_of, whole};
pub use crate::text::{put_text, room, text, trimmed};

use crate::error_codes;
use crate::integer::{AtomicFint, low};
use std::sync::atomic::Ordering::Relaxed;

/// The symbols of one procedure: pairs of the name and its profiling twin, the C functions that
/// they call, the arguments, and the body, in which `call` is the C function. `or` names the
/// large-count functions that take their place where an INTEGER is as wide as their counts; `and`
/// those that the body may call then (`large!`).
macro_rules! entry {
    ($names:tt $c:ident $pc:ident or $large:ident $plarge:ident $params:tt |$call:ident| $body:block) => {
        #[cfg(not(integer8))]
        entry! { $names $c $pc $params |$call| $body }
        #[cfg(integer8)]
        entry! { $names $large $plarge $params |$call| $body }
    };
    ([$($mpi:ident $pmpi:ident)+] $c:ident $pc:ident and $large:ident $plarge:ident
        $params:tt |$call:ident, $twin:ident| $body:block
    ) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $mpi $params {
            let $call = crate::generated::c::$c;
            #[cfg(integer8)]
            let $twin = crate::generated::c::$large;
            // SAFETY: the caller's arguments are what the standard asks of a caller of this
            // procedure.
            unsafe { $body }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $pmpi $params {
            let $call = crate::generated::c::$pc;
            #[cfg(integer8)]
            let $twin = crate::generated::c::$plarge;
            // SAFETY: the caller's arguments are what the standard asks of a caller of the
            // profiled procedure.
            unsafe { $body }
        }
    )+};
    ([$($mpi:ident $pmpi:ident)+] $c:ident $pc:ident $params:tt |$call:ident| $body:block) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $mpi $params {
            let $call = crate::generated::c::$c;
            // SAFETY: the caller's arguments are what the standard asks of a caller of the
            // procedure.
            unsafe { $body }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $pmpi $params {
            let $call = crate::generated::c::$pc;
            // SAFETY: the caller passes what the standard asks for this procedure.
            unsafe { $body }
        }
    )+};
}

/// Address and length of a text beside a buffer.
#[cfg(not(mpich))]
macro_rules! text_parts {
    ($text:ident, $length:ident) => {
        described($text)
    };
}

/// Address and length of a text beside a buffer.
#[cfg(mpich)]
macro_rules! text_parts {
    ($text:ident, $length:ident) => {
        ($text, $length)
    };
}

/// Whether an INTEGER, or one of an array, needs a large-count function.
///
/// # Safety
/// The arrays have as many elements as stands beside them.
#[cfg(integer8)]
pub unsafe fn is_large(integers: &[Fint], arrays: &[(*mut Fint, usize)]) -> bool {
    let is_long = |value: Fint| c_int::try_from(value).is_err();
    // SAFETY: the caller promises that the arrays have these elements.
    let has_long = |(array, count): &(*mut Fint, usize)| (0..*count).any(|i| is_long(unsafe { *array.add(i) }));
    integers.iter().any(|value| is_long(*value)) || arrays.iter().any(has_long)
}

/// Stores the error code; in `mpi_f08` the argument is optional.
///
/// # Safety
/// `ierror` is null or may be written.
#[inline]
pub unsafe fn set(ierror: *mut Fint, code: c_int) {
    if !ierror.is_null() {
        // SAFETY: the caller promises that this memory is valid: see the Safety section.
        unsafe { *ierror = wide(code) };
    }
}

/// The object whose error handler is called.
pub trait Raises {
    /// # Safety
    /// Calls a procedure of the program.
    unsafe fn raise(self, code: c_int);
}

macro_rules! raises {
    ($($handle:ident $call:ident)*) => {$(
        impl Raises for $handle {
            unsafe fn raise(self, code: c_int) {
                // SAFETY: the function takes any handle: C reports a bad one.
                unsafe { c::$call(self, code) };
            }
        }
    )*};
}

raises! { Comm PMPI_Comm_call_errhandler Win PMPI_Win_call_errhandler File PMPI_File_call_errhandler }

/// The error for an array section that cannot be passed to MPI: it goes to the error handler of the
/// object of the call.
///
/// # Safety
/// As for [`set`].
#[cold]
pub unsafe fn refuse(ierror: *mut Fint, name: &str, object: impl Raises) {
    let text = format!(
        "{name}: the buffer is an array section with gaps; memory that MPI keeps must have none, and what a count and a \
         datatype describe must lie within the section"
    );
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    unsafe { set(ierror, fail_on(object, MPI_ERR_BUFFER, &text)) };
}

/// The error for an INTEGER that C's int cannot hold; `argument` is the procedure and the name.
///
/// # Safety
/// As for [`set`].
#[cfg(integer8)]
#[cold]
pub unsafe fn too_long(ierror: *mut Fint, class: c_int, argument: (&str, &str), value: Fint, object: impl Raises) {
    let problem = match c_int::try_from(value) {
        Ok(_) => "which must not be negative where INTEGERs have eight bytes",
        Err(_) => "which does not fit the four bytes of a C int",
    };
    let text = format!("{}: {} is {value}, {problem}", argument.0, argument.1);
    // SAFETY: the caller promises that `ierror` is null or may be written.
    unsafe { set(ierror, fail_on(object, class, &text)) };
}

/// Raises an error of this library, with a text, on no particular object; returns its code.
pub fn fail(class: c_int, text: &str) -> c_int {
    fail_on(MPI_COMM_SELF, class, text)
}

fn fail_on(object: impl Raises, class: c_int, text: &str) -> c_int {
    let code = error_codes::code(class, text);
    // SAFETY: the function takes any handle: C reports a bad one.
    unsafe { object.raise(code) };
    code
}

/// The values of LOGICAL; `MPI_Abi_set_fortran_booleans` can change them.
pub static TRUE: AtomicFint = AtomicFint::new(1);
pub static FALSE: AtomicFint = AtomicFint::new(0);

/// Converts a LOGICAL to a C integer.
///
/// # Safety
/// `logical` may be read.
#[inline]
pub unsafe fn truth(logical: *mut Fint) -> c_int {
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    let value = unsafe { *logical };
    c_int::from(low(value) != low(FALSE.load(Relaxed)))
}

/// Stores a LOGICAL.
///
/// # Safety
/// `logical` may be written.
#[inline]
pub unsafe fn put_truth(logical: *mut Fint, value: c_int) {
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    unsafe { *logical = if value != 0 { TRUE.load(Relaxed) } else { FALSE.load(Relaxed) } };
}

/// Converts an array of LOGICALs for C; where false is an int of zero, it is the array itself.
///
/// # Safety
/// `count` elements may be read.
pub unsafe fn truths(logicals: *mut Fint, count: impl FnOnce() -> usize) -> Truths {
    #[cfg(not(integer8))]
    if FALSE.load(Relaxed) == 0 {
        return Truths::Same(logicals);
    }
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    Truths::Made((0..count()).map(|i| unsafe { truth(logicals.add(i)) }).collect())
}

pub enum Truths {
    #[cfg(not(integer8))]
    Same(*mut c_int),
    Made(Vec<c_int>),
}

impl Truths {
    pub fn as_mut_ptr(&mut self) -> *mut c_int {
        match self {
            #[cfg(not(integer8))]
            Truths::Same(logicals) => *logicals,
            Truths::Made(integers) => integers.as_mut_ptr(),
        }
    }
}

/// Converts the integers that C has stored into an array to LOGICALs.
///
/// # Safety
/// `count` elements may be read and written.
pub unsafe fn put_truths(logicals: *mut Fint, count: usize) {
    for i in 0..count {
        // SAFETY: the caller promises that this memory is valid: see the Safety section.
        unsafe { put_truth(logicals.add(i), short(*logicals.add(i))) };
    }
}

/// Stores an index; Fortran counts from one.
///
/// # Safety
/// `index` may be written.
#[inline]
pub unsafe fn put_index(index: *mut Fint, value: c_int) {
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    unsafe { *index = wide(if value == MPI_UNDEFINED { value } else { value + 1 }) };
}

/// Stores a number of indices.
///
/// # Safety
/// `count` may be written.
#[inline]
pub unsafe fn put_count(count: *mut Fint, value: c_int) {
    // SAFETY: the caller promises that this memory is valid: see the Safety section.
    unsafe { *count = wide(value) };
}

/// Converts the indices that C has stored to count from one. `MPI_UNDEFINED` is negative.
///
/// # Safety
/// `count` elements may be read and written.
#[inline]
pub unsafe fn from_one(indices: *mut Fint, count: c_int) {
    for i in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the caller promises that this memory is valid: see the Safety section.
        unsafe { *indices.add(i) += 1 };
    }
}
