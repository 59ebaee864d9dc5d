//! Carries out the plans of collective operations: the one executor for blocking, nonblocking and persistent ones.
//!
//! A [`BoundPlan`] is a plan bound to a communicator and to memory; a [`Run`] is one performance of it. Who has to wait drives
//! a run in a wait; who may not wait leaves it to [`Process::progress`]. Messages carry the communicator's inner context and a
//! tag that the bound plan alone uses.
//!
//! A reduction by the user's own function is not carried out here: the run stops with [`Turn::Call`], and goes on once the
//! C boundary has made the call, unlocked.

mod perform;

use crate::comm::{Calls, Comm, Ranks};
use crate::engine::{OpId, Route};
use crate::matching::Pattern;
use crate::operation::{Reducer, UserCall};
use crate::request::Promise;
use oxmpi_abi::{Error, Result};
use oxmpi_base::ids::{Peer, Rank};
use oxmpi_coll::plan::{Piece, Plan, Region};
use oxmpi_datatype::{Datatype, OwnedBytes, Region as Memory, Source, Target};
use oxmpi_transport::local;
use std::sync::Arc;

/// Where the messages of a collective operation go.
#[derive(Clone)]
pub struct Stage {
    pub context: u32,
    pub tag: i32,
    /// This process's rank in its own group.
    pub rank: i32,
    /// Whom ranks in the plan mean: the communicator's group, or the remote group.
    pub group: Ranks,
    /// The group that this process is in.
    pub local: Ranks,
    /// The root, where all ranks name the same one.
    pub root: Option<usize>,
    /// There are two groups.
    pub is_inter: bool,
    /// The communicator's calls, this one the last, once it has been counted.
    pub calls: Calls,
}

impl Stage {
    /// For the next collective operation of a communicator.
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
        }
    }

    fn pattern(&self, from: u32, local: bool) -> Pattern {
        Pattern { context: self.context, source: from as i32, tag: self.tag(local) }
    }

    /// Within the group a message has another tag, since a rank of the other group may have the same number.
    fn tag(&self, local: bool) -> i32 {
        if local { self.tag | LOCAL } else { self.tag }
    }
}

/// The one bit that tags of collective operations leave.
const LOCAL: i32 = 1 << 30;

/// What a region of a plan is in memory.
pub enum Place {
    /// The plan does not name it.
    Nowhere,
    Units(Units),
    /// Blocks that each have a layout of their own, to be read.
    Sources(Vec<Source<'static>>),
    /// The same, to be written.
    Targets(Vec<Target<'static>>),
}

/// Units one behind the other, each of so many elements of a type. The value is the proof that those are there which the
/// plan names that it is bound to.
pub struct Units {
    base: *mut u8,
    elements: u64,
    datatype: Arc<Datatype>,
}

#[expect(unsafe_code, reason = "an address of memory may go from thread to thread")]
// SAFETY: an address and a shared datatype; nothing in it belongs to a thread.
unsafe impl Send for Units {}
#[expect(unsafe_code, reason = "an address of memory may go from thread to thread")]
// SAFETY: nothing changes through `&Units`; who may touch the memory when is the plan's order of steps.
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

    /// The memory that so many units from the first on span, as offsets from `base`.
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
        // Elements keep the alignment that they have in the user's memory, whatever the type's lower bound is.
        let base = memory.as_ptr().wrapping_offset(-low);
        Scratch {
            _memory: memory,
            units: Place::Units(Units { base, elements: like.elements, datatype: Arc::clone(&like.datatype) }),
        }
    }

    fn units(&self) -> &Units {
        match &self.units {
            Place::Units(units) => units,
            _ => unreachable!("scratch memory is made of units"),
        }
    }
}

/// A user's buffer that goes through packed bytes, since the plan cuts where the buffer's type cannot be cut.
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

/// A plan bound to a communicator and to memory; to be performed any number of times, one at a time.
pub struct BoundPlan {
    plan: Arc<Plan>,
    stage: Stage,
    send: Place,
    recv: Place,
    temp: Option<Scratch>,
    reducer: Option<Reducer>,
    packing: Option<Packing>,
}

impl BoundPlan {
    /// `temp`: what a unit of [`Region::Temp`] is like, where the plan has one.
    pub fn new(plan: Arc<Plan>, stage: Stage, send: Place, recv: Place, temp: Option<&Units>) -> BoundPlan {
        let temp = temp.filter(|_| plan.temp > 0).map(|like| Scratch::new(like, plan.temp));
        BoundPlan { plan, stage, send, recv, temp, reducer: None, packing: None }
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

    /// Everybody that it may send to.
    pub fn members(&self) -> impl Iterator<Item = Peer> + '_ {
        self.stage.group.iter().chain(self.stage.local.iter())
    }

    pub fn stage(&mut self) -> &mut Stage {
        &mut self.stage
    }

    /// What a step reads.
    fn source(&self, piece: &Piece) -> Source<'static> {
        if piece.count == 0 {
            return Source::empty();
        }
        if let Some(block) = self.block_in_temp(piece) {
            return Source::clone(&block);
        }
        match self.place(piece.region) {
            Place::Units(units) => units.source(piece),
            Place::Sources(blocks) => blocks[piece.offset as usize].clone(),
            Place::Targets(blocks) => Source::clone(&blocks[piece.offset as usize]),
            Place::Nowhere => unreachable!("a plan names only the buffers that there are"),
        }
    }

    /// What a step writes.
    fn target(&self, piece: &Piece) -> Target<'static> {
        if piece.count == 0 {
            return Target::empty();
        }
        if let Some(block) = self.block_in_temp(piece) {
            return block;
        }
        match self.place(piece.region) {
            Place::Units(units) => units.target(piece),
            Place::Targets(blocks) => blocks[piece.offset as usize].clone(),
            Place::Sources(_) => unreachable!("a plan does not write what is sent"),
            Place::Nowhere => unreachable!("a plan names only the buffers that there are"),
        }
    }

    /// A block of temporary memory that stands in for one of `Recv` and has its size.
    #[expect(unsafe_code, reason = "temporary memory is the bound_plan's own")]
    fn block_in_temp(&self, piece: &Piece) -> Option<Target<'static>> {
        match (piece.region, &self.recv, &self.temp) {
            (Region::Temp, Place::Targets(blocks), Some(temp)) => {
                let (bytes, units) = (blocks[piece.offset as usize].len(), temp.units());
                assert!(bytes as i128 <= units.datatype.size() * i128::from(units.elements));
                // SAFETY: a unit of the scratch memory, which the bound plan owns, is as large as the largest block.
                Some(unsafe { Target::dense(units.base, bytes) })
            }
            _ => None,
        }
    }

    fn place(&self, region: Region) -> &Place {
        match (region, &self.temp) {
            (Region::Send, _) => &self.send,
            (Region::Recv, _) => &self.recv,
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

/// One performance of a bound plan.
pub struct Run {
    bound_plan: Arc<BoundPlan>,
    next: usize,
    sends: Vec<OpId>,
    recvs: Vec<(OpId, usize)>,
    /// The first thing that went wrong. The rest is done nevertheless, so that nobody waits for ever.
    error: Option<Error>,
    /// What was handed out to be called, and what is to be done after it.
    called: Option<Called>,
    /// Who hears of the end of a run that nobody waits for.
    promise: Option<Promise>,
}

/// A call of the user's function that is under way.
struct Called {
    /// Where the result lies, when it has to be moved.
    result: Option<(Source<'static>, Target<'static>)>,
    _copy: Option<Scratch>,
}

/// How far a run has come.
pub enum Turn {
    Waiting,
    /// The user's function has to be called; then [`Process::advance`] again.
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
        Run { bound_plan, next: 0, sends: Vec::new(), recvs: Vec::new(), error: None, called: None, promise: None }
    }

    pub fn stage(&self) -> &Stage {
        &self.bound_plan.stage
    }

    /// Whether it keeps this promise when it ends.
    pub(crate) fn keeps(&self, promise: &Promise) -> bool {
        self.promise.as_ref().is_some_and(|own| Arc::ptr_eq(own, promise))
    }

    /// The messages that it waits for.
    pub(crate) fn operations(&self) -> impl Iterator<Item = OpId> {
        self.recvs.iter().map(|(op, _)| *op).chain(self.sends.iter().copied())
    }

    fn end(self, error: Option<Error>) {
        if let Some(promise) = self.promise {
            // Nobody else sets it.
            let _ = promise.set(error);
        }
    }
}

/// Of several errors the first is the one to tell.
pub(crate) fn note(error: &mut Option<Error>, new: Option<Error>) {
    if error.is_none() {
        *error = new;
    }
}
