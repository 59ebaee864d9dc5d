//! The channel between `mpirun` and the agents of a job on several hosts. An agent is one process per host that starts
//! the ranks of a job there, watches them, and speaks with the agent above it, or with `mpirun`, over the launcher's
//! stdin and stdout. The agent's program is `mpirun` itself (`oxmpi-launch/src/agent.rs`).
//!
//! ```text
//! frame.rs     bytes of the channel to frames and back; control frames pass waiting data; credits
//! message.rs   what the two sides say to each other
//! channel.rs   a stream with its frames in both directions
//! door.rs      the port of a node: proven connections for its ranks
//! one_sided.rs the threads that execute one-sided requests of other nodes
//! requests.rs      what the ranks ask for: who is let in, names, news for other jobs
//! tree.rs      which agent starts which
//! ```
//!
//! Bytes of the channel come from another process: every length and every number is checked before it is used, and a bad
//! frame is an error that ends the channel, never a panic.
#![forbid(unsafe_code)]

pub mod channel;
pub mod door;
pub mod frame;
pub mod message;
pub mod one_sided;
pub mod requests;
pub mod tree;
