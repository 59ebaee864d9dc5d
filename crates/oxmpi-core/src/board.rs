//! The board of a communicator: shared memory of its ranks for collective operations.
//!
//! A communicator gets its board with one of its first collective operations. All ranks call these
//! in the same order, so they agree on which one. Persistent operations have boards of their own
//! (`collective/board.rs`). `process/boards.rs` makes and releases boards.

use oxmpi_transport::board::SharedBoard;

/// The state of a communicator's board.
pub enum Board {
    /// None yet; the number of operations that would have used one.
    Wanted(u32),
    Ready(Box<SharedBoard>),
    /// A blocking operation is using it.
    Busy,
    /// Operations go on in the background; their queue has the board (`collective/board.rs`).
    Queued,
    /// It has none, and will get none.
    Refused,
}

/// What a board is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BoardUse {
    /// All operations of a communicator.
    Communicator,
    /// One persistent operation.
    Operation,
}

/// Collective operations before a communicator gets its board, so that a communicator for a single
/// use stays cheap. Not for `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
pub const BOARD_AFTER_CALLS: u32 = 2;
