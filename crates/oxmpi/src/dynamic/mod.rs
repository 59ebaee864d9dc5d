//! Processes that this job did not start with: other jobs that connect at ports or over sockets, and jobs that are spawned.

pub mod ports;
pub mod sockets;
pub mod spawn;

use std::time::Duration;

/// How often a process that waits for another job looks whether it still makes sense.
pub const LOOK: Duration = Duration::from_millis(10);
