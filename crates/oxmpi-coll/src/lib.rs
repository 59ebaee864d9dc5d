//! Collective operations as plans: pure functions from a rank, a number of ranks and the shape of
//! an operation to the steps that this rank takes.
//!
//! This crate moves no bytes and knows no transport, datatype or communicator: the executor in
//! `oxmpi-core` executes plans, and the simulator in the tests of this crate checks them.
//!
//! Start with [`plan`], the elements of a plan; [`choose`] has the table and the step from an
//! operation to a plan. There is a module for each operation, [`inter`] for those between two
//! groups and [`neighbor`] for those of a topology.
#![forbid(unsafe_code)]

mod accumulate;
pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod bcast;
pub mod choose;
pub mod cost;
pub mod gather;
pub mod inter;
pub mod neighbor;
pub mod plan;
pub mod reduce;
pub mod reduce_scatter;
pub mod scan;
pub mod scatter;
mod tree;
