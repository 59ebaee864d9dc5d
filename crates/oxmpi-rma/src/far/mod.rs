//! One-sided communication between nodes. An origin sends requests over a TCP connection to the agent of the target's node,
//! which executes them in the memory of its ranks: the target's program never helps.
//!
//! ```text
//! buffer.rs        bytes that were read
//! wire.rs          requests and answers as bytes
//! link.rs          the origin: its connection to the agent of one node
//! origin.rs        the origin: operations as requests
//! served.rs        the agent: the windows of its ranks, and their memory
//! execute.rs       the agent: one request on the memory of a rank
//! connection.rs    the agent: the connection of one origin; locks on its behalf
//! ```
//!
//! Requests of one connection are executed in their order, so the accumulates of an origin on one target keep theirs. An
//! agent's thread must never wait here: what cannot be done at once is parked and tried again.

mod buffer;
pub mod connection;
mod execute;
pub mod link;
pub mod origin;
pub mod served;
pub mod wire;
