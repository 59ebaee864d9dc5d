//! Processes that this job did not start with: other jobs that connect through ports or sockets,
//! and spawned jobs.

mod contact;
pub mod leaving;
pub mod names;
pub mod ports;
pub mod sockets;
pub mod spawn;

use std::time::Duration;

/// The interval at which a process that waits for another job checks whether it still makes sense.
pub const LOOK: Duration = Duration::from_millis(10);
