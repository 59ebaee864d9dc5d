//! What is particular to MPICH's ABI.

pub mod codes;
mod cxx;
pub mod data;
mod fortran;
pub mod handles;
pub mod status;

pub use cxx::exceptions::{for_comm, for_file, for_win};
use oxmpi_abi::constants::*;
use std::ffi::{c_int, c_void};

/// A handle, except that of a file, which is a pointer.
pub type TheirHandle = c_int;

pub const NAME: &str = "MPICH";

pub const THEIR_IN_PLACE: usize = usize::MAX;
pub const THEIR_BUFFER_AUTOMATIC: usize = usize::MAX - 1;

/// The handle that stands for all performance variables is in a variable, which has OxMPI's.
pub const ALL_HANDLES: usize = MPI_T_PVAR_ALL_HANDLES.0;

/// An address that may have a meaning.
#[inline]
pub fn as_address(theirs: *mut c_void) -> *mut c_void {
    match theirs as usize {
        THEIR_IN_PLACE => MPI_IN_PLACE as *mut c_void,
        THEIR_BUFFER_AUTOMATIC => MPI_BUFFER_AUTOMATIC as *mut c_void,
        _ => theirs,
    }
}

/// Weights of a graph: the addresses with a meaning are in variables, which have OxMPI's.
pub fn as_weights(theirs: *mut c_int) -> *mut c_int {
    theirs
}
