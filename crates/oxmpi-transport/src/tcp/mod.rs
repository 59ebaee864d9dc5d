//! Links between nodes over TCP.
//!
//! ```text
//! connect.rs   how connections come to be: what links ask for, and what the agent hands over
//! ```

pub mod connect;
