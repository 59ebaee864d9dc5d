//! Operations under way: what each waits for, and its outcome in the end.

use super::recv::RecvOp;
use super::send::{Route, SendOp};
use oxmpi_abi::{Error, Status};
use oxmpi_base::message_queues::{OpsPlace, VecPlace};
use oxmpi_datatype::{Source, Target};
use oxmpi_transport::Peer;
use oxmpi_transport::transfer::Quiet;
use std::mem::offset_of;
use std::num::{NonZeroU32, NonZeroU64};

/// Names one operation: its index in the table (high 32 bits), which is used again once the outcome
/// was taken, and its generation (from 1). Peers send it back in packets, where it may be stale or
/// invented: [`Ops::named`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpId(NonZeroU64);

impl OpId {
    #[inline]
    fn new(index: u32, generation: NonZeroU32) -> OpId {
        OpId(NonZeroU64::from(generation) | u64::from(index) << 32)
    }

    #[inline]
    fn index(self) -> usize {
        (self.0.get() >> 32) as usize
    }

    /// The form in packets.
    #[inline]
    pub(super) fn word(self) -> u64 {
        self.0.get()
    }
}

/// How an operation ended. With an error the status still has what is known.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub status: Status,
    pub error: Option<Error>,
}

impl Outcome {
    /// The outcome of a send, which has an empty status.
    pub fn sent() -> Outcome {
        Outcome { status: Status::empty(), error: None }
    }

    pub fn cancelled() -> Outcome {
        let mut status = Status::empty();
        status.set_cancelled(true);
        Outcome { status, error: None }
    }
}

/// The kind is the first byte, so that a debugger can read it.
#[repr(u8)]
pub(super) enum Op {
    Free {
        next: u32,
    } = 0,
    Send(SendOp) = OP_SEND,
    Recv(RecvOp) = OP_RECV,
    /// Complete; the outcome waits to be taken.
    Over = 3,
}

const OP_SEND: u8 = 1;
const OP_RECV: u8 = 2;

struct Entry {
    op: Op,
    /// How often the entry was used, this use included.
    generation: NonZeroU32,
    detached: bool,
    /// The outcome, as far as it is known. It stays in the entry from the match to the end: copying
    /// it from one state of the operation to the next cost more than the rest of a small receive.
    outcome: Outcome,
    /// Position in the order of completion.
    place: u64,
}

impl Entry {
    /// Frees the entry.
    #[inline]
    fn free(&mut self, first: &mut u32, id: OpId) {
        debug_assert!(matches!(self.op, Op::Over));
        let free = Op::Free { next: std::mem::replace(first, id.index() as u32) };
        // `forget`: an entry that is over has nothing to drop, but the compiler would check.
        std::mem::forget(std::mem::replace(&mut self.op, free));
        self.generation = self.generation.checked_add(1).unwrap_or(NonZeroU32::MIN);
    }
}

/// All operations of this process. A free entry is found in constant time; its memory is used
/// again.
pub(super) struct Ops {
    entries: Vec<Entry>,
    free: u32,
    /// The number of operations that ever completed.
    over: u64,
}

const NONE: u32 = u32::MAX;

impl Default for Ops {
    fn default() -> Ops {
        Ops { entries: Vec::new(), free: NONE, over: 0 }
    }
}

impl Ops {
    /// How many operations have ended.
    pub fn over(&self) -> u64 {
        self.over
    }

    #[inline]
    pub fn insert(&mut self, op: Op) -> OpId {
        let id = self.next_id();
        self.fill(id, op);
        id
    }

    /// The number that the next operation gets, for callers that need it before [`Ops::fill`].
    #[inline]
    pub fn next_id(&mut self) -> OpId {
        match self.entries.get(self.free as usize) {
            Some(entry) => OpId::new(self.free, entry.generation),
            None => self.grow(),
        }
    }

    #[cold]
    fn grow(&mut self) -> OpId {
        self.free = self.entries.len() as u32;
        let (op, outcome, generation) = (Op::Free { next: NONE }, Outcome::sent(), NonZeroU32::MIN);
        self.entries.push(Entry { op, generation, detached: false, outcome, place: 0 });
        OpId::new(self.free, generation)
    }

    /// Stores an operation at the number from [`Ops::next_id`]. Inlined, so that it is built in
    /// place.
    #[inline(always)]
    pub fn fill(&mut self, id: OpId, op: Op) {
        let entry = &mut self.entries[id.index()];
        debug_assert!(matches!(entry.op, Op::Free { .. }));
        if let Op::Free { next } = entry.op {
            self.free = next;
        }
        // `forget`: a free entry has nothing to drop, but the compiler would check.
        std::mem::forget(std::mem::replace(&mut entry.op, op));
        entry.detached = false;
    }

    #[inline]
    pub fn send_mut(&mut self, id: OpId) -> Option<&mut SendOp> {
        match &mut self.entries[id.index()].op {
            Op::Send(send) => Some(send),
            _ => None,
        }
    }

    #[inline]
    pub fn recv_mut(&mut self, id: OpId) -> Option<&mut RecvOp> {
        match &mut self.entries[id.index()].op {
            Op::Recv(recv) => Some(recv),
            _ => None,
        }
    }

    /// The operation that a peer names by a word from a packet; `None` if the word is stale or
    /// invented.
    pub fn named(&mut self, word: u64) -> Option<(OpId, &mut Op)> {
        let id = OpId(NonZeroU64::new(word)?);
        let entry = self.entries.get_mut(id.index())?;
        let is_present = OpId::new(id.index() as u32, entry.generation) == id;
        (is_present && !matches!(entry.op, Op::Free { .. } | Op::Over)).then_some((id, &mut entry.op))
    }

    pub fn get(&self, id: OpId) -> &Op {
        &self.entries[id.index()].op
    }

    pub fn get_mut(&mut self, id: OpId) -> &mut Op {
        &mut self.entries[id.index()].op
    }

    /// Takes an operation out of the table for a moment; [`Ops::put_back`] follows.
    pub fn lift(&mut self, id: OpId) -> Op {
        std::mem::replace(&mut self.entries[id.index()].op, Op::Over)
    }

    pub fn put_back(&mut self, id: OpId, op: Op) {
        self.entries[id.index()].op = op;
    }

    /// Stores the outcome that the operation will have when it completes.
    #[inline]
    pub fn expect(&mut self, id: OpId, outcome: Outcome) {
        self.entries[id.index()].outcome = outcome;
    }

    /// Completes an operation: a receive with its expected outcome, a send with an empty status.
    #[inline]
    pub fn complete(&mut self, id: OpId) {
        let entry = &mut self.entries[id.index()];
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

    /// Ends an operation early, with an error. The proof says that nobody else writes to its memory.
    pub fn fail(&mut self, id: OpId, error: Error, _quiet: Quiet) {
        self.end(id, Outcome { status: Status::empty(), error: Some(error) });
    }

    /// Completes an operation with another outcome than the expected one.
    pub fn end(&mut self, id: OpId, outcome: Outcome) {
        let entry = &mut self.entries[id.index()];
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
        matches!(self.entries[id.index()].op, Op::Over)
    }

    /// The position of a completed operation in the order of completion.
    pub fn place(&self, id: OpId) -> u64 {
        self.entries[id.index()].place
    }

    pub fn outcome(&self, id: OpId) -> Option<&Outcome> {
        let entry = &self.entries[id.index()];
        matches!(entry.op, Op::Over).then_some(&entry.outcome)
    }

    /// Frees a completed operation: stores its status where it is wanted and returns its error.
    /// `None` while it is not complete.
    #[inline]
    pub fn finish(&mut self, id: OpId, status: Option<&mut Status>) -> Option<Option<Error>> {
        let entry = &mut self.entries[id.index()];
        if !matches!(entry.op, Op::Over) {
            return None;
        }
        entry.free(&mut self.free, id);
        if let Some(status) = status {
            status.assign(&entry.outcome.status);
        }
        Some(entry.outcome.error.take())
    }

    /// The outcome of a completed operation, whose number is freed.
    #[inline]
    pub fn take_outcome(&mut self, id: OpId) -> Option<Outcome> {
        let entry = &mut self.entries[id.index()];
        if !matches!(entry.op, Op::Over) {
            return None;
        }
        entry.free(&mut self.free, id);
        Some(Outcome { status: entry.outcome.status, error: entry.outcome.error.take() })
    }

    pub fn detach(&mut self, id: OpId) {
        self.entries[id.index()].detached = true;
        self.take_outcome(id);
    }

    pub fn all(&self) -> impl Iterator<Item = &Op> + '_ {
        self.entries.iter().map(|entry| &entry.op)
    }

    /// Where a debugger finds the operations of a table at `offset`.
    pub fn place_of_all(offset: usize) -> OpsPlace {
        let kind = offset_of!(Entry, op);
        // What `repr(u8)` promises: a variant is a structure of C that begins with the kind.
        let (send, recv) = (kind + align_of::<SendOp>(), kind + align_of::<RecvOp>());
        let route = send + offset_of!(SendOp, route);
        OpsPlace {
            entries: VecPlace::at::<Entry>(offset + offset_of!(Ops, entries)),
            kind: kind as u32,
            send: OP_SEND.into(),
            recv: OP_RECV.into(),
            peer: (route + offset_of!(Route, peer)) as u32,
            context: (route + offset_of!(Route, context)) as u32,
            tag: (route + offset_of!(Route, tag)) as u32,
            source: Source::place(send + offset_of!(SendOp, buf)),
            target: Target::place(recv + offset_of!(RecvOp, buf)),
        }
    }

    /// The operations that satisfy a condition.
    pub fn find(&self, is_so: impl Fn(&Op) -> bool) -> Vec<OpId> {
        let all = self.entries.iter().enumerate();
        all.filter(|(_, entry)| is_so(&entry.op))
            .map(|(index, entry)| OpId::new(index as u32, entry.generation))
            .collect()
    }

    /// The contexts of all incomplete sends.
    pub fn send_contexts(&self) -> impl Iterator<Item = u32> + '_ {
        self.entries.iter().filter_map(|entry| match &entry.op {
            Op::Send(send) => Some(send.context()),
            _ => None,
        })
    }

    /// The peers of all incomplete sends.
    pub fn pending_sends(&self) -> impl Iterator<Item = Peer> + '_ {
        self.entries.iter().filter_map(|entry| match &entry.op {
            Op::Send(send) => Some(send.peer()),
            _ => None,
        })
    }
}
