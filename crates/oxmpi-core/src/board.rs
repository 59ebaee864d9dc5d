//! The board that a communicator's ranks share for collective operations, as the communicator keeps it.
//!
//! A communicator gets its board with one of its first collective operations. All ranks call these in the same order, so
//! they agree on which one. How boards are made and given up is in `process/boards.rs`.

use oxmpi_transport::node::Node;

/// What a communicator has of a board.
pub enum Board {
    /// None yet; so many operations would have used one.
    Wanted(u32),
    Ready(Box<Node>),
    /// An operation is using it.
    Busy,
    /// It does without.
    Refused,
}

/// Collective operations before a communicator gets its board, so that one for a single use costs little. Not for
/// `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
pub const BOARD_AFTER_CALLS: u32 = 2;
