//! The node agent: one process per node that starts the ranks of a job there, watches them, and speaks with the agent
//! above it, or with `mpirun`, over the launcher's stdin and stdout.
//!
//! ```text
//! frame.rs     bytes of the channel to frames and back; control frames pass waiting data
//! message.rs   what the two sides say to each other
//! ```
//!
//! Bytes of the channel come from another process: every length and every number is checked before it is used, and a bad
//! frame is an error that ends the channel, never a panic.
#![forbid(unsafe_code)]

pub mod frame;
pub mod message;
