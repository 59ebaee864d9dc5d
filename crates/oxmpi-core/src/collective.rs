//! Performs the plans of collective operations: one executor for blocking, nonblocking and
//! persistent forms.
//!
//! A [`BoundPlan`] is a plan bound to a communicator and to memory; a [`Run`] performs it once. A
//! blocking call drives a run in a wait; otherwise [`Process::progress`] drives it. Messages carry
//! the communicator's inner context and a tag that only the bound plan uses.
//!
//! A reduction by a user function is not performed here: the run stops with [`Turn::Call`] and
//! continues after the C boundary has called the function, without the lock.

mod board;
mod perform;

pub use board::{BoardOperation, BoardQueue};
pub use perform::unequal;

use crate::call_history::Calls;
use crate::call_tag::LOCAL;
use crate::comm::Comm;
use crate::engine::{OpId, Route};
use crate::matching::Pattern;
use crate::operation::{Reducer, UserCall};
use crate::ranks::Ranks;
use crate::request::Promise;
use oxmpi_abi::constants::MPI_BYTE;
use oxmpi_abi::{Error, Result};
use oxmpi_base::ids::{Peer, Rank};
use oxmpi_coll::nodes::Question;
use oxmpi_coll::plan::{Piece, Plan, Region};
use oxmpi_datatype::{Datatype, OwnedBytes, Region as Memory, Signature, Source, Target};
use oxmpi_transport::board::{Exchange, Remainder};
use oxmpi_transport::local;
use smallvec::SmallVec;
use std::sync::Arc;

/// The communicator and the context of one collective operation.
#[derive(Clone)]
pub struct Stage {
    pub context: u32,
    pub tag: i32,
    /// This process's rank in its own group.
    pub rank: i32,
    /// The processes that ranks in the plan name: the communicator's group, or the remote group.
    pub group: Ranks,
    /// The size of the group that this process is in.
    pub local: Ranks,
    /// The root, where all ranks name the same one.
    pub root: Option<usize>,
    /// Whether there are two groups.
    pub is_inter: bool,
    /// The communicator's calls up to this one, once it has been counted.
    pub calls: Calls,
}

impl Stage {
    /// For the next collective operation of a communicator.
    #[inline]
    pub fn new(comm: &mut Comm) -> Stage {
        let (context, tag) = (comm.inner_context(), comm.collective_tag());
        let (group, local) = (comm.group.clone(), comm.local_group().clone());
        Stage { context, tag, rank: comm.rank, group, local, root: None, is_inter: comm.is_inter(), calls: comm.calls }
    }

    /// The communicator's own context.
    pub fn comm_context(&self) -> u32 {
        self.context & !1
    }

    fn route(&self, to: u32, local: bool) -> Route {
        let group = if local { &self.local } else { &self.group };
        Route {
            peer: group.peer(Rank::new(to as usize)),
            context: self.context,
            source: self.rank,
            tag: self.tag(local),
            signature: Signature::NONE,
        }
    }

    fn pattern(&self, from: u32, local: bool) -> Pattern {
        Pattern { context: self.context, source: from as i32, tag: self.tag(local) }
    }

    /// The process whose message a pattern of this operation accepts.
    pub fn sender(&self, pattern: &Pattern) -> Option<Peer> {
        let group = if pattern.tag & LOCAL != 0 { &self.local } else { &self.group };
        let rank = usize::try_from(pattern.source).ok().filter(|&rank| rank < group.len())?;
        Some(group.peer(Rank::new(rank)))
    }

    /// Messages within the own group of an intercommunicator have another tag, since a rank of the
    /// other group may have the same number.
    fn tag(&self, local: bool) -> i32 {
        if local { self.tag | LOCAL } else { self.tag }
    }
}

/// What a bound plan is made of.
pub enum Planned {
    Whole(Arc<Plan>),
    /// Ranks tell each other lengths first; what `Temp` holds then gives the rest of the plan.
    Asks(Question, Answer),
}

pub type Answer = Arc<dyn Fn(&[u8]) -> Plan + Send + Sync>;

impl From<Arc<Plan>> for Planned {
    fn from(plan: Arc<Plan>) -> Planned {
        Planned::Whole(plan)
    }
}

/// The memory of a region of a plan.
pub enum Place {
    /// The plan does not use it.
    Nowhere,
    Units(Units),
    /// Blocks with a layout each, to be read.
    Sources(Vec<Source<'static>>),
    /// The same, to be written.
    Targets(Vec<Target<'static>>),
}

/// Consecutive units, each of so many elements of a type. The value is the proof that the units
/// exist that the plan bound to it names.
pub struct Units {
    base: *mut u8,
    elements: u64,
    datatype: Arc<Datatype>,
}

#[expect(unsafe_code, reason = "an address of memory may go from thread to thread")]
// SAFETY: an address and a shared datatype; nothing in it belongs to a thread.
unsafe impl Send for Units {}
#[expect(unsafe_code, reason = "an address of memory may go from thread to thread")]
// SAFETY: nothing changes through `&Units`; the order of the plan's steps says when the memory is
// accessed.
unsafe impl Sync for Units {}

impl Units {
    /// # Safety
    /// Until the last run of the bound plan that they are bound to has ended, every unit that its plan names may be read;
    /// where the plan receives, copies or reduces into units, they may be written, and nobody else uses them.
    #[expect(unsafe_code, reason = "takes up the promise of whoever calls a collective operation")]
    pub unsafe fn new(base: *mut u8, elements: u64, datatype: &Arc<Datatype>) -> Units {
        Units { base, elements, datatype: Arc::clone(datatype) }
    }

    fn at(&self, offset: i64) -> *mut u8 {
        let extent = self.datatype.extent() as isize;
        self.base.wrapping_offset((offset as isize).wrapping_mul(self.elements as isize).wrapping_mul(extent))
    }

    /// The bytes of a unit.
    fn bytes(&self) -> usize {
        self.elements as usize * self.datatype.size() as usize
    }

    fn region(&self, piece: &Piece) -> Memory {
        Memory::typed(self.at(piece.offset), piece.count * self.elements, &self.datatype)
    }

    #[expect(unsafe_code, reason = "units prove that their memory is there")]
    fn source(&self, piece: &Piece) -> Source<'static> {
        // SAFETY: a plan names the piece, so it may be read until the bound plan's last run has ended.
        unsafe { Source::new(self.region(piece)) }
    }

    #[expect(unsafe_code, reason = "units prove that their memory is there")]
    fn target(&self, piece: &Piece) -> Target<'static> {
        // SAFETY: a plan writes to the piece, so it may be written until the bound plan's last run has ended.
        unsafe { Target::new(self.region(piece)) }
    }

    /// The memory that the first `count` units span, as offsets from `base`.
    fn span(&self, count: u64) -> (isize, isize) {
        let last = self.datatype.extent() as isize * (count * self.elements).saturating_sub(1) as isize;
        let first = self.datatype.true_lb() as isize;
        (first + last.min(0), first + self.datatype.true_extent() as isize + last.max(0))
    }
}

/// The library's own memory for a bound plan.
struct Scratch {
    _memory: OwnedBytes,
    units: Place,
}

impl Scratch {
    /// Room for `count` units like these.
    fn new(like: &Units, count: u64) -> Scratch {
        let (low, high) = if count == 0 { (0, 0) } else { like.span(count) };
        let memory = OwnedBytes::zeroed((high - low) as usize);
        // Elements keep their alignment in the user's memory, whatever the lower bound of the type
        // is.
        let base = memory.as_ptr().wrapping_offset(-low);
        Scratch {
            _memory: memory,
            units: Place::Units(Units { base, elements: like.elements, datatype: Arc::clone(&like.datatype) }),
        }
    }

    /// Room for `count` bytes, and what the first of them hold.
    fn of_bytes(count: u64, first: &Source<'_>) -> Scratch {
        let byte = oxmpi_datatype::predefined(MPI_BYTE.0).unwrap_or_else(|| unreachable!("bytes are predefined"));
        let like = Units { base: std::ptr::null_mut(), elements: 1, datatype: Arc::clone(byte) };
        let scratch = Scratch::new(&like, count.max(first.len() as u64));
        local::copy(first, &scratch.units().target(&Region::Temp.at(0, first.len() as u64)));
        scratch
    }

    fn units(&self) -> &Units {
        match &self.units {
            Place::Units(units) => units,
            _ => unreachable!("scratch memory is made of units"),
        }
    }
}

/// A user's buffer that goes through packed bytes, because the plan splits it where its type cannot
/// be split.
pub enum Packing {
    /// Packed before the first step.
    First { user: Source<'static>, packed: OwnedBytes },
    /// Unpacked after the last.
    Last { user: Target<'static>, packed: OwnedBytes },
}

impl Packing {
    /// The packed bytes, as units of so many bytes.
    #[expect(unsafe_code, reason = "the packed bytes are the bound_plan's own")]
    pub fn units(&self, bytes: u64, byte: &Arc<Datatype>) -> Units {
        let (Packing::First { packed, .. } | Packing::Last { packed, .. }) = self;
        // SAFETY: the bound plan that has the packing owns the bytes until its last run has ended.
        unsafe { Units::new(packed.as_ptr(), bytes, byte) }
    }
}

/// A plan bound to a communicator and to memory. It can be performed any number of times, but only
/// one run at a time.
pub struct BoundPlan {
    plan: Arc<Plan>,
    stage: Stage,
    /// Of the first of several plans that follow each other; [`BoundPlan::first`] has them for the others.
    send: Place,
    recv: Place,
    first: Option<Arc<BoundPlan>>,
    temp: Option<Scratch>,
    /// What follows when the plan has been performed, from the bytes of `Temp`: so many.
    answer: Option<(Answer, u64)>,
    reducer: Option<Reducer>,
    packing: Option<Packing>,
}

impl BoundPlan {
    /// `temp` describes a unit of [`Region::Temp`], if the plan uses it.
    #[inline]
    pub fn new(planned: impl Into<Planned>, stage: Stage, send: Place, recv: Place, temp: Option<&Units>) -> BoundPlan {
        let (plan, temp, answer) = match planned.into() {
            Planned::Whole(plan) => {
                let temp = temp.filter(|_| plan.temp > 0).map(|like| Scratch::new(like, plan.temp));
                (plan, temp, None)
            }
            Planned::Asks(Question { plan, memory }, answer) => {
                let temp = Scratch::of_bytes(plan.temp, &Source::of(&memory));
                let bytes = plan.temp.max(memory.len() as u64);
                (Arc::new(plan), Some(temp), Some((answer, bytes)))
            }
        };
        BoundPlan { plan, stage, send, recv, first: None, temp, answer, reducer: None, packing: None }
    }

    /// The messages that a round on a board has left of an exchange.
    pub fn rest_of(exchange: &Exchange, left: &Remainder, stage: Stage) -> BoundPlan {
        let mut plan = Plan::default();
        for &index in &left.recvs {
            plan.recv(exchange.recvs[index].0 as u32, Region::Recv.at(index as u64, 1));
        }
        for &index in &left.sends {
            plan.send(exchange.sends[index].0 as u32, Region::Send.at(index as u64, 1));
        }
        let mut sends: Vec<_> = exchange.sends.iter().map(|(_, block)| block.clone()).collect();
        let mut recvs: Vec<_> = exchange.recvs.iter().map(|(_, block)| block.clone()).collect();
        if let Some((from, to)) = exchange.own.as_ref().filter(|_| left.own) {
            // While the others send.
            plan.copy(Region::Send.at(sends.len() as u64, 1), Region::Recv.at(recvs.len() as u64, 1));
            sends.push(from.clone());
            recvs.push(to.clone());
        }
        BoundPlan::new(Arc::new(plan), stage, Place::Sources(sends), Place::Targets(recvs), None)
    }

    /// What follows this plan, now that it has been performed.
    fn next(self: &Arc<BoundPlan>) -> Option<BoundPlan> {
        let ((answer, bytes), temp) = (self.answer.as_ref()?, self.temp.as_ref()?);
        let told = temp.units().source(&Region::Temp.at(0, *bytes));
        let plan = answer(OwnedBytes::packed(&told).as_slice());
        Some(BoundPlan {
            temp: Some(Scratch::of_bytes(plan.temp, &told)),
            plan: Arc::new(plan),
            stage: self.stage.clone(),
            send: Place::Nowhere,
            recv: Place::Nowhere,
            first: Some(Arc::clone(self.first.as_ref().unwrap_or(self))),
            answer: None,
            reducer: None,
            packing: None,
        })
    }

    #[must_use]
    pub fn with_reducer(self, reducer: Reducer) -> BoundPlan {
        BoundPlan { reducer: Some(reducer), ..self }
    }

    #[must_use]
    pub fn with_packing(self, packing: Packing) -> BoundPlan {
        BoundPlan { packing: Some(packing), ..self }
    }

    pub fn context(&self) -> u32 {
        self.stage.context
    }

    /// All processes that it may send to.
    pub fn members(&self) -> impl Iterator<Item = Peer> + '_ {
        self.stage.group.iter().chain(self.stage.local.iter())
    }

    pub fn stage(&mut self) -> &mut Stage {
        &mut self.stage
    }

    /// The memory that a step reads.
    fn source(&self, piece: &Piece) -> Source<'static> {
        if piece.count == 0 {
            return Source::empty();
        }
        match self.place(piece.region) {
            Place::Units(units) => units.source(piece),
            Place::Sources(blocks) => blocks[piece.offset as usize].clone(),
            Place::Targets(blocks) => Source::clone(&blocks[piece.offset as usize]),
            Place::Nowhere => unreachable!("a plan names only the buffers that there are"),
        }
    }

    /// The memory that a step writes.
    fn target(&self, piece: &Piece) -> Target<'static> {
        if piece.count == 0 {
            return Target::empty();
        }
        match self.place(piece.region) {
            Place::Units(units) => units.target(piece),
            Place::Targets(blocks) => blocks[piece.offset as usize].clone(),
            Place::Sources(_) => unreachable!("a plan does not write what is sent"),
            Place::Nowhere => unreachable!("a plan names only the buffers that there are"),
        }
    }

    fn place(&self, region: Region) -> &Place {
        match (region, &self.temp) {
            (Region::Send, _) => &self.first.as_deref().unwrap_or(self).send,
            (Region::Recv, _) => &self.first.as_deref().unwrap_or(self).recv,
            (Region::Temp, Some(scratch)) => &scratch.units,
            (Region::Temp, None) => unreachable!("the plan says how much it needs"),
        }
    }

    fn units(&self, region: Region) -> &Units {
        match self.place(region) {
            Place::Units(units) => units,
            _ => unreachable!("there are no reductions over blocks of different types"),
        }
    }

    fn address(&self, piece: &Piece) -> *mut u8 {
        self.units(piece.region).at(piece.offset)
    }
}

/// One execution of a bound plan.
pub struct Run {
    bound_plan: Arc<BoundPlan>,
    next: usize,
    /// So much of the next step is done: elements of a reduction, or bytes of a copy.
    part: u64,
    sends: SmallVec<[OpId; 2]>,
    recvs: SmallVec<[(OpId, usize); 2]>,
    /// The first error. The run continues nevertheless, so that no other rank waits for ever.
    error: Option<Error>,
    /// The user's function call that was handed out, and what follows it.
    called: Option<Box<Called>>,
    /// Completed at the end of a run that no call waits for.
    promise: Option<Promise>,
    /// Whether it has been given up, so that no answer follows.
    is_abandoned: bool,
}

/// What goes on while the program does other things.
pub enum Background {
    Plan(Run),
    Board(Box<BoardQueue>),
}

impl Background {
    /// Of the operation that is under way.
    pub fn stage(&self) -> &Stage {
        match self {
            Background::Plan(run) => run.stage(),
            Background::Board(queue) => queue.stage(),
        }
    }

    /// Whether it completes this promise when it ends.
    pub(crate) fn keeps(&self, promise: &Promise) -> bool {
        match self {
            Background::Plan(run) => run.promise.as_ref().is_some_and(|own| own.is(promise)),
            Background::Board(queue) => queue.keeps(promise),
        }
    }
}

/// A call of a user function under way.
struct Called {
    /// Where the result lies, if it must be moved.
    result: Option<(Source<'static>, Target<'static>)>,
    _copy: Option<Scratch>,
}

/// The result of advancing a run.
pub enum Turn {
    Waiting,
    /// There is more to do at once: the helper thread advances by parts.
    Part,
    /// The user's function must be called; then call [`Process::advance`] again.
    Call(UserCall),
    Done(Result<()>),
}

impl Run {
    #[expect(unsafe_code, reason = "the packed bytes are the bound_plan's own")]
    pub fn new(bound_plan: Arc<BoundPlan>) -> Run {
        if let Some(Packing::First { user, packed }) = &bound_plan.packing {
            // SAFETY: no run of the bound plan has begun to read the bytes: they are performed one at a time.
            local::copy(user, &unsafe { packed.lend_to_write() });
        }
        Run {
            bound_plan,
            next: 0,
            part: 0,
            sends: SmallVec::new(),
            recvs: SmallVec::new(),
            error: None,
            called: None,
            promise: None,
            is_abandoned: false,
        }
    }

    pub fn stage(&self) -> &Stage {
        &self.bound_plan.stage
    }

    /// The messages that it waits for.
    pub(crate) fn operations(&self) -> impl Iterator<Item = OpId> {
        self.recvs.iter().map(|(op, _)| *op).chain(self.sends.iter().copied())
    }

    fn end(self, error: Option<Error>) {
        if let Some(promise) = self.promise {
            promise.end(error);
        }
    }
}

/// Keeps the first of several errors.
pub(crate) fn note(error: &mut Option<Error>, new: Option<Error>) {
    if error.is_none() {
        *error = new;
    }
}
