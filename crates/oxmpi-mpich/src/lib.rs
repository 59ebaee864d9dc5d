//! MPICH's ABI: `libmpi.so.12`, with which programs built for MPICH, Intel MPI and their kin run on
//! OxMPI. It converts arguments and results, and has no other part of MPI in it: everything happens
//! in `libmpi_abi.so.1`, which it needs.
//!
//! ```text
//! generated/        MPI_X and PMPI_X, written by `cargo xtask codegen` from `api/` and `api/mpich.txt`;
//! callbacks.rs …    those that follow no rule, by hand
//!    |
//! entry.rs          what both are made of: values.rs, handles.rs, status.rs, lists.rs
//!    |
//! libmpi_abi.so.1   oxmpi_X: the same function as its MPI_X, by a name that is not MPICH's
//! ```
//!
//! It must define every `MPI_` name that `libmpi_abi.so.1` has: a program's reference to a name that
//! is missing here would lead there, with handles of MPICH. It never calls an `MPI_` name, because
//! that would be its own or a profiling tool's. Two copies of it in one process share no state that
//! matters. A panic must never cross into C.

#[cfg(not(any(panic = "abort", test)))]
compile_error!("libmpi_mpich is built with panic = \"abort\": no panic may unwind into C");

#[macro_use]
mod entry;

mod attributes;
mod by_hand;
mod callbacks;
mod data;
mod datatypes;
mod fortran;
mod generated;
mod handles;
mod lists;
mod status;
mod trampolines;
mod values;
