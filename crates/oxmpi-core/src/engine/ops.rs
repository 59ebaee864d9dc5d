//! Operations under way: what each is waiting for, and in the end how it went.

use super::recv::{Phase, RecvOp};
use super::send::SendOp;
use oxmpi_abi::{Error, Status};
use oxmpi_transport::{Peer, TicketId};

/// An operation's number; used again once its outcome was taken.
pub type OpId = u32;

/// How an operation ended. With an error the status still says what is known.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub status: Status,
    pub error: Option<Error>,
}

impl Outcome {
    /// The end of a send: nothing to say.
    pub fn sent() -> Outcome {
        Outcome { status: Status::empty(), error: None }
    }

    pub fn cancelled() -> Outcome {
        let mut status = Status::empty();
        status.set_cancelled(true);
        Outcome { status, error: None }
    }
}

pub(super) enum Op {
    Free {
        next: u32,
    },
    Send(SendOp),
    Recv(RecvOp),
    /// Done; the outcome waits to be taken.
    Over,
}

struct Entry {
    op: Op,
    detached: bool,
    /// What will be reported, as far as it is known. It stays in its place from the match to the end: copying it from
    /// one state of the operation to the next cost more than the rest of a small receive.
    outcome: Outcome,
    /// The how many-th of all operations it was to be over.
    place: u64,
}

/// All operations of this process. A free entry is found in constant time; memory is kept for the next one.
pub(super) struct Ops {
    entries: Vec<Entry>,
    free: u32,
    /// How many were ever over.
    over: u64,
}

const NONE: u32 = u32::MAX;

impl Default for Ops {
    fn default() -> Ops {
        Ops { entries: Vec::new(), free: NONE, over: 0 }
    }
}

impl Ops {
    #[inline]
    pub fn insert(&mut self, op: Op) -> OpId {
        let id = self.next_id();
        self.fill(id, op);
        id
    }

    /// The number that the next operation gets, for who needs it before [`Ops::fill`].
    #[inline]
    pub fn next_id(&mut self) -> OpId {
        if self.free == NONE {
            self.grow();
        }
        self.free
    }

    #[cold]
    fn grow(&mut self) {
        self.free = self.entries.len() as OpId;
        self.entries.push(Entry { op: Op::Free { next: NONE }, detached: false, outcome: Outcome::sent(), place: 0 });
    }

    /// Puts an operation where [`Ops::next_id`] said. Inlined, so that it is made in its place.
    #[inline(always)]
    pub fn fill(&mut self, id: OpId, op: Op) {
        let entry = &mut self.entries[id as usize];
        if let Op::Free { next } = entry.op {
            self.free = next;
        }
        entry.op = op;
        entry.detached = false;
    }

    #[inline]
    pub fn send_mut(&mut self, id: OpId) -> Option<&mut SendOp> {
        match &mut self.entries[id as usize].op {
            Op::Send(send) => Some(send),
            _ => None,
        }
    }

    #[inline]
    pub fn recv_mut(&mut self, id: OpId) -> Option<&mut RecvOp> {
        match &mut self.entries[id as usize].op {
            Op::Recv(recv) => Some(recv),
            _ => None,
        }
    }

    /// The send that a peer means by a word that it got with an offer; `None` if that offer was not made to it.
    pub fn offered(&self, word: u64, peer: Peer, ticket: TicketId) -> Option<OpId> {
        let id = OpId::try_from(word).ok()?;
        match &self.entries.get(id as usize)?.op {
            Op::Send(send) if send.peer() == peer && send.phase.ticket() == Some(ticket) => Some(id),
            _ => None,
        }
    }

    /// The receive that a peer streams to, by the word that it was given; `None` if it was given none such.
    pub fn streamed(&mut self, word: u64, peer: Peer) -> Option<(OpId, &mut RecvOp, u64)> {
        let id = OpId::try_from(word).ok()?;
        match &mut self.entries.get_mut(id as usize)?.op {
            Op::Recv(recv) => match recv.phase {
                Phase::Stream { from, left } if from == peer => Some((id, recv, left)),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn get(&self, id: OpId) -> &Op {
        &self.entries[id as usize].op
    }

    /// Takes an operation out of the table for a moment; [`Ops::put_back`] follows.
    pub fn lift(&mut self, id: OpId) -> Op {
        std::mem::replace(&mut self.entries[id as usize].op, Op::Over)
    }

    pub fn put_back(&mut self, id: OpId, op: Op) {
        self.entries[id as usize].op = op;
    }

    /// Notes what the operation will report when it is complete.
    #[inline]
    pub fn expect(&mut self, id: OpId, outcome: Outcome) {
        self.entries[id as usize].outcome = outcome;
    }

    /// The operation is done, a receive with the outcome that was expected of it, a send with nothing to say.
    #[inline]
    pub fn complete(&mut self, id: OpId) {
        let entry = &mut self.entries[id as usize];
        debug_assert!(!matches!(entry.op, Op::Free { .. } | Op::Over));
        if let Op::Send(_) = entry.op {
            entry.outcome.status = Status::empty();
        }
        entry.op = Op::Over;
        self.over += 1;
        entry.place = self.over;
        if entry.detached {
            self.take_outcome(id);
        }
    }

    /// The operation is over, with another outcome than expected.
    pub fn end(&mut self, id: OpId, outcome: Outcome) {
        let entry = &mut self.entries[id as usize];
        entry.outcome = outcome;
        entry.op = Op::Over;
        self.over += 1;
        entry.place = self.over;
        if entry.detached {
            self.take_outcome(id);
        }
    }

    #[inline]
    pub fn is_done(&self, id: OpId) -> bool {
        matches!(self.entries[id as usize].op, Op::Over)
    }

    /// Of operations that are done, the one that was done first has the lowest.
    pub fn place(&self, id: OpId) -> u64 {
        self.entries[id as usize].place
    }

    pub fn outcome(&self, id: OpId) -> Option<&Outcome> {
        let entry = &self.entries[id as usize];
        matches!(entry.op, Op::Over).then_some(&entry.outcome)
    }

    /// Ends an operation that is done: its status goes where it is wanted, its error is returned. `None` while it is not
    /// done.
    #[inline]
    pub fn finish(&mut self, id: OpId, status: Option<&mut Status>) -> Option<Option<Error>> {
        let entry = &mut self.entries[id as usize];
        if !matches!(entry.op, Op::Over) {
            return None;
        }
        entry.op = Op::Free { next: std::mem::replace(&mut self.free, id) };
        if let Some(status) = status {
            status.assign(&entry.outcome.status);
        }
        Some(entry.outcome.error.take())
    }

    /// The outcome of an operation that is done; its number is free then.
    #[inline]
    pub fn take_outcome(&mut self, id: OpId) -> Option<Outcome> {
        let entry = &mut self.entries[id as usize];
        if !matches!(entry.op, Op::Over) {
            return None;
        }
        entry.op = Op::Free { next: std::mem::replace(&mut self.free, id) };
        Some(Outcome { status: entry.outcome.status, error: entry.outcome.error.take() })
    }

    pub fn detach(&mut self, id: OpId) {
        self.entries[id as usize].detached = true;
        self.take_outcome(id);
    }

    pub fn all(&self) -> impl Iterator<Item = &Op> + '_ {
        self.entries.iter().map(|entry| &entry.op)
    }

    /// Those of which something is so.
    pub fn find(&self, is_so: impl Fn(&Op) -> bool) -> Vec<OpId> {
        let all = self.entries.iter().enumerate();
        all.filter(|(_, entry)| is_so(&entry.op)).map(|(id, _)| id as OpId).collect()
    }

    /// The contexts of sends that are not done, one for each.
    pub fn send_contexts(&self) -> impl Iterator<Item = u32> + '_ {
        self.entries.iter().filter_map(|entry| match &entry.op {
            Op::Send(send) => Some(send.context()),
            _ => None,
        })
    }

    /// The peers of sends that are not done, one for each.
    pub fn pending_sends(&self) -> impl Iterator<Item = Peer> + '_ {
        self.entries.iter().filter_map(|entry| match &entry.op {
            Op::Send(send) => Some(send.peer()),
            _ => None,
        })
    }
}
