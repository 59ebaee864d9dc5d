//! The C interface: `libmpi_abi.so.1`.
//!
//! ```text
//! generated/   one `entry!` for MPI_X and PMPI_X, written by `cargo xtask codegen` from `api/`
//!    |
//! args.rs      C's pointers -> values that carry their proof; what a body gives back -> C's output arguments
//! call.rs      runs the body, hands an error to the error handler
//!    |
//! bodies/      by hand, safe code: values -> objects of oxmpi-core -> the work
//! ```
//!
//! Only this crate knows C's integers, error codes and callbacks. A callback runs while no lock of the library is held.
//! A panic must never cross into C; the library is built to abort instead.

#[cfg(not(any(panic = "abort", test, debug_assertions)))]
compile_error!("libmpi_abi is built with panic = \"abort\": no panic may unwind into C");

mod args;
mod bodies;
mod call;
mod generated;
mod keyvals;
mod library;
mod passed;
mod raise;
mod tool;
