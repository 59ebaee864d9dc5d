//! Operations under way: what each is waiting for, and in the end how it went.

use super::recv::RecvOp;
use super::send::SendOp;
use oxmpi_abi::{Error, Status};

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
    Free { next: u32 },
    Send(SendOp),
    Recv(RecvOp),
    Done(Outcome),
}

struct Entry {
    op: Op,
    detached: bool,
}

/// All operations of this process. A free entry is found in constant time; memory is kept for the next one.
pub(super) struct Ops {
    entries: Vec<Entry>,
    free: u32,
}

const NONE: u32 = u32::MAX;

impl Default for Ops {
    fn default() -> Ops {
        Ops { entries: Vec::new(), free: NONE }
    }
}

impl Ops {
    #[inline]
    pub fn insert(&mut self, op: Op) -> OpId {
        let id = self.free;
        if id == NONE {
            self.entries.push(Entry { op, detached: false });
            return (self.entries.len() - 1) as OpId;
        }
        let entry = &mut self.entries[id as usize];
        if let Op::Free { next } = entry.op {
            self.free = next;
        }
        *entry = Entry { op, detached: false };
        id
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

    pub fn get(&self, id: OpId) -> &Op {
        &self.entries[id as usize].op
    }

    /// Takes an operation out of the table for a moment; [`Ops::put_back`] follows.
    pub fn lift(&mut self, id: OpId) -> Op {
        std::mem::replace(&mut self.entries[id as usize].op, Op::Done(Outcome::sent()))
    }

    pub fn put_back(&mut self, id: OpId, op: Op) {
        self.entries[id as usize].op = op;
    }

    #[inline]
    pub fn complete(&mut self, id: OpId, outcome: Outcome) {
        let entry = &mut self.entries[id as usize];
        debug_assert!(!matches!(entry.op, Op::Free { .. } | Op::Done(_)));
        if entry.detached {
            self.remove(id);
        } else {
            entry.op = Op::Done(outcome);
        }
    }

    #[inline]
    pub fn is_done(&self, id: OpId) -> bool {
        matches!(self.entries[id as usize].op, Op::Done(_))
    }

    pub fn outcome(&self, id: OpId) -> Option<&Outcome> {
        match &self.entries[id as usize].op {
            Op::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    #[inline]
    pub fn take_outcome(&mut self, id: OpId) -> Option<Outcome> {
        if !self.is_done(id) {
            return None;
        }
        match self.remove(id) {
            Op::Done(outcome) => Some(outcome),
            _ => None,
        }
    }

    pub fn detach(&mut self, id: OpId) {
        if self.is_done(id) {
            self.remove(id);
        } else {
            self.entries[id as usize].detached = true;
        }
    }

    #[inline]
    pub fn remove(&mut self, id: OpId) -> Op {
        let next = std::mem::replace(&mut self.free, id);
        std::mem::replace(&mut self.entries[id as usize].op, Op::Free { next })
    }

    /// The peers of sends that are not done, one for each.
    pub fn pending_sends(&self) -> impl Iterator<Item = usize> + '_ {
        self.entries.iter().filter_map(|entry| match &entry.op {
            Op::Send(send) => Some(send.peer()),
            _ => None,
        })
    }
}
