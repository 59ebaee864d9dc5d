//! The macro for entry points, and what their bodies use.

pub use crate::abi::{TheirHandle, as_address, as_weights};
pub use crate::attributes::codes_changed;
pub use crate::generated::c;
pub use crate::lists::{List, Place, Statuses, length, neighbors, peers, peers_unless_in_place, put_ranks, sum};
pub use crate::status::{OneStatus, TheirStatus};
pub use crate::values::*;
pub use oxmpi_abi::constants::*;
pub use oxmpi_abi::handle::*;
pub use std::ffi::{c_char, c_int, c_void};

/// A function and its twin for profiling libraries: `entry! { MPI_X PMPI_X(arguments) -> type { … } }`.
macro_rules! entry {
    ($name:ident $profiling:ident($($argument:ident: $type:ty),* $(,)?) -> $returns:ty $body:block) => {
        entry! { @one $name($($argument: $type),*) -> $returns $body }
        entry! { @one $profiling($($argument: $type),*) -> $returns $body }
    };
    (@one $name:ident($($argument:ident: $type:ty),*) -> $returns:ty $body:block) => {
        #[unsafe(no_mangle)]
        #[allow(unused_unsafe, reason = "some bodies have nothing unsafe in them")]
        unsafe extern "C" fn $name($($argument: $type),*) -> $returns {
            // SAFETY: the program promises with its call that the standard's text on this function
            // holds: pointers are null, have a meaning in the program's ABI, or point to what the text
            // says, and arrays have the lengths that the text says.
            unsafe { $body }
        }
    };
}

/// The result of a call.
#[inline]
pub fn answer(code: c_int) -> c_int {
    if code == MPI_SUCCESS { code } else { Code::theirs(code) }
}

/// After a call that gives back the address of an attached buffer.
///
/// # Safety
/// `place` is null or that of a pointer.
pub unsafe fn put_address(code: c_int, place: *mut c_void) {
    let place = place.cast::<usize>();
    // SAFETY: after success the place is that of a pointer which the call has written.
    unsafe {
        if code == MPI_SUCCESS && !place.is_null() && *place == MPI_BUFFER_AUTOMATIC {
            *place = crate::abi::THEIR_BUFFER_AUTOMATIC;
        }
    }
}
