//! What a plan is made of.

/// Where data lies. A planner counts in *units*; the executor knows what a unit of each region is:
///
/// | operation | unit |
/// |---|---|
/// | broadcast, reductions | one element of the datatype (one byte where the data is dense and nothing is computed) |
/// | gather, scatter, allgather, alltoall and their neighbourhood forms | one rank's block; of `Send` in the send type, of `Recv` in the receive type, packed in `Temp` |
/// | forms with counts and displacements (`v`) | one element of the datatype; there is no `Temp` |
/// | forms with a datatype for every block (`w`) | one block: `offset` is its index, `count` is 1; there is no `Temp` |
///
/// With `MPI_IN_PLACE` a planner never names the buffer that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// The buffer that the user sends from: never written.
    Send,
    /// The buffer that the user receives into.
    Recv,
    /// The library's own memory, [`Plan::temp`] units long, nothing in it at first.
    Temp,
}

/// `count` units from `offset` on. Of no units, a piece stands for an empty message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    pub region: Region,
    pub offset: i64,
    pub count: u64,
}

/// The side from which an operand comes to what is there. An operation that does not commute needs it: what came from lower
/// ranks stands on the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    Left,
    Right,
}

/// A step. Sends and receives are only started; copies and reductions are over when the next step begins, and find what
/// was received only behind a [`Step::Received`] or [`Step::Fence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// To a rank of the communicator (of the remote group in an intercommunicator). The messages of a plan from one
    /// rank to another arrive in the order in which they were sent.
    Send {
        to: u32,
        piece: Piece,
    },
    Recv {
        from: u32,
        piece: Piece,
    },
    /// The same between ranks of one group of an intercommunicator.
    SendLocal {
        to: u32,
        piece: Piece,
    },
    RecvLocal {
        from: u32,
        piece: Piece,
    },
    Copy {
        from: Piece,
        to: Piece,
    },
    /// Left: `into = with op into`. Right: `into = into op with`.
    Reduce {
        with: Piece,
        into: Piece,
        side: Side,
    },
    /// Waits until every receive that was started is complete. What is being sent must stay as it is until a `Fence`.
    Received,
    /// Waits until everything that was started is complete.
    Fence,
}

/// What one rank does. At the end everything that was started is waited for, as if a [`Step::Fence`] came last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// Units of [`Region::Temp`].
    pub temp: u64,
}
