//! The Fortran interface: `libmpifort_abi.so.1`, on top of the functions of the standard C ABI and
//! nothing else. The crate `oxmpi-fortran-i8` compiles the same files with `cfg(integer8)` to
//! `libmpifort_abi_i8.so.1`, for programs whose INTEGER has eight bytes. The crates
//! `oxmpi-fortran-mpich` and `oxmpi-fortran-openmpi` compile them with `cfg(mpich)` and `cfg(openmpi)` to
//! `libmpifort.so.12` and `libmpi_mpifh.so.40`, for programs of these ABIs: they call the C functions of
//! `libmpi.so.12` and `libmpi.so.40`. What is particular to them is in foreign/.
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
//! All that depends on the length of an INTEGER is in integer4.rs and integer8.rs, which have the
//! same names, and in trampolines.rs. With four bytes it relies on the integer of a handle being
//! its low word where C passes a handle to a Fortran procedure by reference (reductions, error
//! handlers), which holds for OxMPI. A panic must never cross into Fortran.

#[cfg(not(any(panic = "abort", test, debug_assertions)))]
compile_error!("libmpifort_abi is built with panic = \"abort\": no panic may unwind into Fortran");

#[macro_use]
#[cfg_attr(not(integer8), path = "integer4.rs")]
#[cfg_attr(integer8, path = "integer8.rs")]
mod integer;

#[macro_use]
mod entry;

#[cfg_attr(not(any(mpich, openmpi)), path = "standard.rs")]
#[cfg_attr(any(mpich, openmpi), path = "foreign/mod.rs")]
mod abi;
mod addresses;
mod attributes;
mod c_names;
mod callbacks;
#[cfg_attr(mpich, path = "foreign/descriptor.rs")]
mod descriptor;
mod error_codes;
mod generated;
mod handles;
mod late;
#[cfg(any(mpich, openmpi))]
#[path = "foreign/modules.rs"]
mod modules;
mod output;
mod pending;
#[cfg_attr(any(mpich, openmpi), path = "foreign/places.rs")]
mod places;
mod plain;
mod removed;
mod requests;
mod section;
mod strings;
mod symbols;
#[cfg(not(openmpi))]
mod tell_c;
mod text;
#[cfg(any(integer8, openmpi))]
mod trampolines;
