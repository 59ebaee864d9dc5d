//! Collective operations as plans: pure functions from a rank, a number of ranks and the shape of an operation to the
//! steps that this rank takes.
//!
//! Nothing here moves a byte or knows a transport, a datatype or a communicator: the executor in `oxmpi-core` carries
//! plans out, and the simulator among the tests of this crate proves them.
//!
//! Start with [`plan`], what a plan is made of; [`choose`] decides which algorithm an operation takes, over messages or over
//! the board of a node, by the rows in [`rules`] and the limits of the machine ([`tuning`]); [`operation`] leads from an operation and an algorithm to a plan. There is a
//! module for each operation, [`nodes`] composes them for ranks on several nodes, [`inter`] for those between two groups and [`neighbor`] for those of a topology.
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
pub mod nodes;
pub mod operation;
pub mod plan;
pub mod reduce;
pub mod reduce_scatter;
pub mod rules;
pub mod scan;
pub mod scatter;
mod tree;
pub mod tuning;
