//! The ABIs of other MPIs: `libmpi.so.12`, with which programs built for MPICH, Intel MPI and their kin
//! run on OxMPI, and `libmpi.so.40` for those of Open MPI. The crate `oxmpi-openmpi` compiles the same
//! files with `cfg(openmpi)` to the second. They convert arguments and results, and have no other part
//! of MPI in them: everything happens in `libmpi_abi.so.1`, which they need.
//!
//! ```text
//! generated/        MPI_X and PMPI_X, written by `cargo xtask codegen` from `api/`; they are the same for
//!                   both ABIs, whose constants come from `api/mpich.txt` and `api/openmpi.txt`
//! callbacks.rs …    those that follow no rule, by hand
//!    |
//! entry.rs          what both are made of: values.rs, status.rs, lists.rs, trampolines.rs
//!    |
//! mpich/, openmpi/  what is particular to an ABI: handles, the layout of a status, error codes, variables
//!    |
//! libmpi_abi.so.1   oxmpi_X: the same function as its MPI_X, by a name that is in no other ABI
//! ```
//!
//! A library must define every `MPI_` name that `libmpi_abi.so.1` has: a program's reference to a name
//! that is missing here would lead there, with handles of another ABI. It never calls an `MPI_` name,
//! because that would be its own or a profiling tool's. Two copies of it in one process share no state
//! that matters. A panic must never cross into C.

#[cfg(not(any(panic = "abort", test, debug_assertions)))]
compile_error!("the library is built with panic = \"abort\": no panic may unwind into C");

#[macro_use]
mod entry;

#[cfg_attr(not(openmpi), path = "mpich/mod.rs")]
#[cfg_attr(openmpi, path = "openmpi/mod.rs")]
mod abi;
mod attributes;
mod by_hand;
mod callbacks;
mod datatypes;
mod fortran_status;
mod generated;
mod lists;
mod status;
mod trampolines;
mod values;
