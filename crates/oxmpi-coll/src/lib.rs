//! Collective operations as plans: pure functions from a rank, a number of ranks and the shape of an operation to the
//! steps that this rank takes.
//!
//! Nothing here moves a byte or knows a transport, a datatype or a communicator: the executor in `oxmpi-core` carries
//! plans out, and the simulator among the tests of this crate proves them.
#![forbid(unsafe_code)]

pub mod plan;
