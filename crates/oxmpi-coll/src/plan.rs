//! The elements of a plan: steps over pieces of symbolic buffers. The executor binds the pieces to
//! memory.

/// Where data lies. A planner counts in *units*; the executor knows what a unit of each region is:
///
/// | operation | unit |
/// |---|---|
/// | broadcast | one byte of the packed data: ranks may describe it with different types and counts |
/// | reductions | one element of the datatype |
/// | gather, scatter, allgather, alltoall and their neighbourhood forms | one rank's block; of `Send` in the send type, of `Recv` in the receive type, packed in `Temp` |
/// | forms with counts and displacements (`v`) | one element: of `Send` in the send type, of `Recv` in the receive type, of `Temp` in the receive type and packed |
/// | forms with a datatype for every block (`w`) | one block: `offset` is its index, `count` is 1; one byte of `Temp` |
/// | forms that begin with a question ([`crate::nodes::question`]) | as `v` and `w`; one byte of `Temp` |
///
/// With `MPI_IN_PLACE` a planner never uses the missing buffer. The one buffer of a broadcast is
/// `Send` at the root and `Recv` elsewhere. Where a reduction is in place, the operands are in
/// `Recv`, and no more of it is written than the result.
///
/// Messages without units are omitted where both sides know it; counts of `v` forms are therefore 0
/// wherever there are no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// The buffer that the user sends from: never written.
    Send,
    /// The buffer that the user receives into.
    Recv,
    /// Memory of the library, [`Plan::temp`] units long, uninitialised at first.
    Temp,
}

/// `count` units from `offset` on. A piece without units stands for an empty message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    pub region: Region,
    pub offset: i64,
    pub count: u64,
}

/// The side of an operand in a reduction. An operation that does not commute needs it: operands of
/// lower ranks are on the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    Left,
    Right,
}

/// A step. Sends and receives are only started. Copies and reductions are complete when the next
/// step begins; they see received data only after a [`Step::Received`] or [`Step::Fence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// To a rank of the communicator (of the remote group in an intercommunicator). The messages of
    /// a plan from one rank to another arrive in the order in which they were sent.
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
    /// An error where the lengths differ: the ranks' arguments do not match each other.
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
    /// Waits until every receive that was started is complete. Data that is being sent must not
    /// change until a `Fence`.
    Received,
    /// Waits until everything that was started is complete.
    Fence,
}

/// The steps of one rank. At the end the executor waits for everything that was started, as if a
/// [`Step::Fence`] came last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// Units of [`Region::Temp`].
    pub temp: u64,
}

/// The blocks of one buffer, by the index of the rank (or the neighbour) that they come from or go
/// to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocks<'a> {
    /// All blocks are the same piece: this many units from the start.
    Whole(u64),
    /// Block `i` is unit `i`.
    Units,
    /// Counts and displacements, in elements.
    Spread { counts: &'a [u64], displs: &'a [i64] },
    /// Block `i` is unit `i`, with a length in bytes.
    Each { bytes: &'a [u64] },
}

impl Blocks<'_> {
    /// Block `i` of `region`; without units if it is empty.
    pub(crate) fn at(&self, region: Region, i: u32) -> Piece {
        let (offset, count) = match self {
            Blocks::Whole(count) => (0, *count),
            Blocks::Units => (i64::from(i), 1),
            Blocks::Spread { counts, displs } => (displs[i as usize], counts[i as usize]),
            Blocks::Each { bytes } => (i64::from(i), u64::from(bytes[i as usize] != 0)),
        };
        Piece { region, offset, count }
    }
}

impl Region {
    /// `count` units from `offset` on.
    pub fn at(self, offset: u64, count: u64) -> Piece {
        Piece { region: self, offset: offset as i64, count }
    }
}

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// The functions with which planners write plans. Steps without units are omitted, except
/// [`Plan::signal`] and [`Plan::await_signal`].
impl Plan {
    pub fn send(&mut self, to: u32, piece: Piece) {
        if piece.count > 0 {
            self.touch(piece);
            self.steps.push(Step::Send { to, piece });
        }
    }

    pub fn recv(&mut self, from: u32, piece: Piece) {
        if piece.count > 0 {
            self.touch(piece);
            self.steps.push(Step::Recv { from, piece });
        }
    }

    pub fn copy(&mut self, from: Piece, to: Piece) {
        if from.count > 0 {
            self.touch(from);
            self.touch(to);
            self.steps.push(Step::Copy { from, to });
        }
    }

    /// A receive of a message that comes even if nothing is expected: lengths may differ.
    pub(crate) fn expect(&mut self, from: u32, piece: Piece) {
        self.touch(piece);
        self.steps.push(Step::Recv { from, piece });
    }

    /// A copy of what another rank has given: lengths may differ.
    pub(crate) fn deliver(&mut self, from: Piece, to: Piece) {
        if from.count > 0 || to.count > 0 {
            self.touch(from);
            self.touch(to);
            self.steps.push(Step::Copy { from, to });
        }
    }

    pub(crate) fn reduce(&mut self, with: Piece, into: Piece, side: Side) {
        if into.count > 0 {
            self.touch(with);
            self.touch(into);
            self.steps.push(Step::Reduce { with, into, side });
        }
    }

    /// An empty message.
    pub(crate) fn signal(&mut self, to: u32) {
        self.steps.push(Step::Send { to, piece: Region::Temp.at(0, 0) });
    }

    pub(crate) fn await_signal(&mut self, from: u32) {
        self.steps.push(Step::Recv { from, piece: Region::Temp.at(0, 0) });
    }

    pub(crate) fn received(&mut self) {
        if !matches!(self.steps.last(), None | Some(Step::Received | Step::Fence)) {
            self.steps.push(Step::Received);
        }
    }

    pub(crate) fn fence(&mut self) {
        if !matches!(self.steps.last(), None | Some(Step::Fence)) {
            self.steps.push(Step::Fence);
        }
    }

    fn touch(&mut self, piece: Piece) {
        if piece.region == Region::Temp {
            self.temp = self.temp.max(piece.offset as u64 + piece.count);
        }
    }

    /// This plan and then another one.
    pub(crate) fn then(mut self, next: Plan) -> Plan {
        if !next.steps.is_empty() {
            self.fence();
        }
        self.steps.extend(next.steps);
        self.temp = self.temp.max(next.temp);
        self
    }

    /// This plan and then another one that changes nothing of what this one sends.
    pub(crate) fn then_pass_on(mut self, next: Plan) -> Plan {
        self.received();
        self.steps.extend(next.steps);
        self.temp = self.temp.max(next.temp);
        self
    }

    /// The same plan among some ranks of a communicator, which has them by these names.
    pub(crate) fn among(mut self, name: impl Fn(u32) -> u32) -> Plan {
        for step in &mut self.steps {
            match step {
                Step::Send { to: peer, .. } | Step::Recv { from: peer, .. } => *peer = name(*peer),
                _ => {}
            }
        }
        self
    }

    /// The same plan with its own part of `Temp` after so many units.
    pub(crate) fn after_temp(self, units: u64) -> Plan {
        let temp = units + self.temp;
        Plan { temp, ..self.moved(Region::Temp, Region::Temp.at(units, 0)) }
    }

    /// The same plan among the ranks of one group of an intercommunicator.
    pub(crate) fn local(mut self) -> Plan {
        for step in &mut self.steps {
            *step = match *step {
                Step::Send { to, piece } => Step::SendLocal { to, piece },
                Step::Recv { from, piece } => Step::RecvLocal { from, piece },
                other => other,
            };
        }
        self
    }

    /// The same plan with `region` replaced.
    pub(crate) fn moved(self, region: Region, to: Piece) -> Plan {
        let place = |piece: Piece| match piece.region == region {
            true => Piece { region: to.region, offset: to.offset + piece.offset, count: piece.count },
            false => piece,
        };
        let mut plan = Plan { steps: Vec::with_capacity(self.steps.len()), temp: self.temp };
        for step in self.steps {
            plan.steps.push(match step {
                Step::Send { to, piece } => Step::Send { to, piece: place(piece) },
                Step::Recv { from, piece } => Step::Recv { from, piece: place(piece) },
                Step::SendLocal { to, piece } => Step::SendLocal { to, piece: place(piece) },
                Step::RecvLocal { from, piece } => Step::RecvLocal { from, piece: place(piece) },
                Step::Copy { from, to } => Step::Copy { from: place(from), to: place(to) },
                Step::Reduce { with, into, side } => Step::Reduce { with: place(with), into: place(into), side },
                Step::Received => Step::Received,
                Step::Fence => Step::Fence,
            });
        }
        plan.touch(to);
        plan
    }
}
