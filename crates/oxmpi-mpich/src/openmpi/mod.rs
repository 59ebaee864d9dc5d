//! What is particular to Open MPI's ABI.

pub mod codes;
pub mod cxx;
pub mod data;
mod fortran;
pub mod handles;
pub mod status;

use oxmpi_abi::constants::{MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY};
use oxmpi_abi::handle::Errhandler;
use std::ffi::{c_int, c_void};

/// A handle is a pointer.
pub type TheirHandle = usize;

pub const NAME: &str = "Open MPI";

pub const THEIR_IN_PLACE: usize = 1;
/// Open MPI has no such buffer, so OxMPI's stands for it.
pub const THEIR_BUFFER_AUTOMATIC: usize = oxmpi_abi::constants::MPI_BUFFER_AUTOMATIC;
const _: () = assert!(THEIR_IN_PLACE == oxmpi_abi::constants::MPI_IN_PLACE);

/// The handle that stands for all performance variables.
pub const ALL_HANDLES: usize = usize::MAX;

const THEIR_UNWEIGHTED: usize = 2;
const THEIR_WEIGHTS_EMPTY: usize = 3;

/// An address that may have a meaning: `MPI_IN_PLACE` is the standard's.
#[inline]
pub fn as_address(theirs: *mut c_void) -> *mut c_void {
    theirs
}

/// Weights of a graph, which may have a meaning.
pub fn as_weights(theirs: *mut c_int) -> *mut c_int {
    match theirs as usize {
        THEIR_UNWEIGHTED => MPI_UNWEIGHTED as *mut c_int,
        THEIR_WEIGHTS_EMPTY => MPI_WEIGHTS_EMPTY as *mut c_int,
        _ => theirs,
    }
}

/// The error handlers of C++ that throw, which Open MPI's bindings have in `libmpi_cxx.so.40`, are not there.
pub fn for_comm(_errhandler: TheirHandle) -> Option<Errhandler> {
    None
}

pub use for_comm as for_file;
pub use for_comm as for_win;
