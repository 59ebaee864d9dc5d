//! The Fortran interface: `libmpifort_abi.so.1`, on top of the functions of the standard C ABI and
//! nothing else.
//!
//! ```text
//! fortran/generated/   mpif.h, module mpi, module mpi_f08: what a compiler reads
//!    |
//! generated/           the symbols that its programs call, written by `cargo xtask codegen` from `api/`;
//! requests.rs …        those that follow no rule, by hand
//!    |
//! entry.rs             what both are made of: handles.rs, text.rs, places.rs, section.rs over c_names.rs
//!    |
//! libmpi_abi.so.1      MPI_X, and PMPI_X for the symbols that begin with pmpi_
//! ```
//!
//! It relies on an INTEGER of four bytes, and on the integer of a handle being its low word where C
//! passes a handle to a Fortran procedure by reference (reductions, error handlers). Both hold for
//! OxMPI. A panic must never cross into Fortran.

#[cfg(not(any(panic = "abort", test)))]
compile_error!("libmpifort_abi is built with panic = \"abort\": no panic may unwind into Fortran");

#[macro_use]
mod entry;

mod addresses;
mod attributes;
mod c_names;
mod callbacks;
mod generated;
mod handles;
mod output;
mod pending;
mod places;
mod plain;
mod removed;
mod requests;
mod section;
mod strings;
mod text;
