//! Point-to-point communication: sends, receives, probes, exchanges, and the completion of requests of every kind.
//!
//! ```text
//! send.rs  recv.rs  exchange.rs  probe.rs     one message, or one each way
//! persistent.rs  partitioned.rs               operations that are started again and again
//! completion.rs  several.rs  request_status.rs   waiting for requests, testing, asking
//! generalized.rs  buffers.rs                  requests of the program's own; memory for buffered sends
//! ```
//!
//! A function is named like its MPI function; `cargo xtask codegen` finds it by that name.
#![allow(clippy::too_many_arguments, reason = "MPI's functions have many")]

pub mod buffers;
pub mod completion;
pub mod exchange;
pub mod generalized;
pub mod partitioned;
pub mod persistent;
pub mod probe;
pub mod recv;
pub mod request_status;
pub mod send;
pub mod several;

use oxmpi_abi::Result;
use oxmpi_core::args::OutStatus;
use oxmpi_core::engine::Outcome;

/// Ends a call with the outcome of its one operation: stores the status, returns the error.
#[inline(always)]
pub(crate) fn finish(outcome: Outcome, status: OutStatus) -> Result<()> {
    status.set(&outcome.status);
    match outcome.error {
        None => Ok(()),
        Some(error) => Err(error),
    }
}
