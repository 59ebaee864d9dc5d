//! `mpirun` as its users see it: every test starts the real binary. Most ranks are shell scripts; where a rank must be an
//! MPI process, this test binary plays it (see `mpi.rs`). No MPI library is needed.

mod environment;
mod failures;
mod input;
mod leftovers;
mod mistakes;
mod mpi;
mod output;
mod signals;
mod spawned;
mod support;
mod trust;
