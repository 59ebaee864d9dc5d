//! Every MPI operation as a Rust function over typed values.
//!
//! ```text
//! p2p/         messages from one process to another; requests
//! comm/        communicators: made, split, joined, ended; their hints
//! group.rs  datatype.rs  memory.rs        groups, handles of datatypes, MPI_Alloc_mem
//! rma/         windows
//! file/        files: opened, accessed; data representations of the program
//! ft/          what a program does after processes have failed
//! dynamic/     processes of other jobs: ports, sockets, spawning
//! coll/        collective operations
//! extra_state.rs            functions of the program with an extra state, for MPICH's `MPIX_Op_create_x` and its kin
//! tool/        the tool information interface
//! args.rs  hardware.rs      arrays of the program; the parts of the machine
//! ```
//!
//! A function gets the [`Call`](oxmpi_core::call::Call) that it serves, which knows its library;
//! nothing here is global, so a test can run several ranks as threads. Above is `oxmpi-capi`, which
//! converts C's arguments to these types; below is `oxmpi-core`, which has the objects behind
//! handles and all waiting. User functions are passed as closures or traits, and are called without
//! a guard.

pub mod args;
pub mod coll;
pub mod comm;
pub mod datatype;
pub mod dynamic;
pub mod extra_state;
pub mod file;
pub mod ft;
pub mod group;
pub mod hardware;
pub mod memory;
pub mod p2p;
mod record;
pub mod rma;
pub mod tool;
