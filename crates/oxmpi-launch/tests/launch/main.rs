//! Tests of `mpirun` as users see it: each starts the real binary. Most ranks are shell scripts;
//! where a rank must be an MPI process, this test binary acts as one (see `mpi.rs`). No MPI library
//! is needed.

mod deaths;
mod environment;
mod failures;
mod hosts;
mod input;
mod leftovers;
mod mistakes;
mod mpi;
mod output;
mod signals;
mod spawned;
mod support;
mod trust;
