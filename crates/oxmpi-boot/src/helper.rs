//! The helper of a process that was started without `mpirun`: `mpirun` itself under another option, as its agent.

/// The option; its value is the descriptor of the socket that the two share.
pub const OPTION: &str = "--helper";
