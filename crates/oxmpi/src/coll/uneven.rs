//! `MPI_Gatherv` and `MPI_Scatterv` over the board of a communicator (`oxmpi_transport::board`): short blocks go over the
//! board, and each long one as a message afterwards. Which are short depends on their lengths alone, which the root and the
//! rank of a block know; all others need not know.
//!
//! As in `board.rs`, `None` means that the whole operation must use messages, and all ranks decide that alike.

use super::Form;
use super::args::{Block, Blocks};
use super::board::{is_in_place, perform, place, rank_of};
use super::data::check_apart_from;
use super::shape::{Role, rooted_stage};
use oxmpi_abi::Result;
use oxmpi_abi::handle::Comm;
use oxmpi_coll::choose::Kind;
use oxmpi_coll::plan::{Piece, Plan, Region};
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::collective::{BoundPlan, Place, unequal};
use oxmpi_core::wait::mismatch::MismatchCheck;
use oxmpi_datatype::{Datatype, Region as Memory, Source, Target};
use oxmpi_transport::board::Delivery;
use oxmpi_transport::local;
use std::sync::Arc;

pub(super) unsafe fn gatherv<F: Form>(
    call: &Call,
    _form: F,
    send: Block,
    recv: Blocks,
    root: i32,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((rank, root)) = places::<F>(&guard, comm, root) else { return Ok(None) };
    let shape = (Kind::Gatherv, 0);
    if rank != root {
        if is_in_place(send.address) {
            return Ok(None);
        }
        let Ok(from) = send.whole(&guard, 1, false) else { return Ok(None) };
        // SAFETY: the program keeps the send buffer until the call returns.
        let from = unsafe { Source::new(from) };
        let mut delivery = Delivery::Done;
        let output = perform::<F>(call, &mut guard, comm, Some(root), shape, |board, wait| {
            delivery = board.give_to_root(wait, root, &from)?;
            Ok(())
        })?;
        if output.is_none() {
            return Ok(None);
        }
        let mut messages = Messages::new(&mut guard, comm, delivery == Delivery::AsMessage)?;
        if let Some(plan) = messages.plan() {
            let (from, count) = send.elements(&guard, false)?;
            plan.send(root as u32, Region::Send.at(0, count));
            messages.perform(call, &mut guard, root, from, Place::Nowhere)?;
        }
        return Ok(output);
    }
    // SAFETY: the root's arrays have an entry for every rank, as the module `coll` says.
    let Some(to) = (unsafe { Spread::new(&guard, comm, recv, &send, (rank, true)) }) else { return Ok(None) };
    // SAFETY: the program keeps the receive buffer until the call returns, and uses it for nothing else.
    let room = |from: usize| unsafe { Target::new(to.block(from)) };
    let (mut long, mut differs) = (Vec::new(), None);
    let output = perform::<F>(call, &mut guard, comm, Some(root), shape, |board, wait| {
        board.take_from_all(wait, room, |from, delivery| match delivery {
            Delivery::Differs(bytes) => differs = differs.or(Some((from, bytes))),
            _ => long.push(from),
        })
    })?;
    if output.is_none() {
        return Ok(None);
    }
    let mut messages = Messages::new(&mut guard, comm, !long.is_empty())?;
    if let Some(plan) = messages.plan() {
        for from in long {
            plan.recv(from as u32, to.piece(Region::Recv, from));
        }
        let mut own = Place::Nowhere;
        if !is_in_place(send.address) {
            // While the others send.
            let (from, count) = send.elements(&guard, false)?;
            plan.copy(Region::Send.at(0, count), to.piece(Region::Recv, rank));
            own = from;
        }
        let place = recv.place(&guard)?;
        messages.perform(call, &mut guard, root, own, place)?;
    } else if !is_in_place(send.address) {
        // SAFETY: the program keeps the send buffer until the call returns; `Spread::new` has compared the lengths.
        let own = unsafe { Source::new(send.whole(&guard, 1, false)?) };
        local::copy(&own, &room(rank));
    }
    let expected = |from| to.block(from).len();
    differs.map_or(Ok(output), |(from, bytes)| Err(unequal(from as i32, bytes, expected(from))))
}

pub(super) unsafe fn scatterv<F: Form>(
    call: &Call,
    _form: F,
    send: Blocks,
    recv: Block,
    root: i32,
    comm: Comm,
) -> Result<Option<F::Output>> {
    let mut guard = call.enter()?;
    let Some((rank, root)) = places::<F>(&guard, comm, root) else { return Ok(None) };
    let shape = (Kind::Scatterv, 0);
    if rank != root {
        if is_in_place(recv.address) {
            return Ok(None);
        }
        let Ok(to) = recv.whole(&guard, 1, true) else { return Ok(None) };
        // SAFETY: the program keeps the receive buffer until the call returns, and uses it for nothing else.
        let to = unsafe { Target::new(to) };
        let mut delivery = Delivery::Done;
        let output = perform::<F>(call, &mut guard, comm, Some(root), shape, |board, wait| {
            delivery = board.take_from_root(wait, root, &to)?;
            Ok(())
        })?;
        if output.is_none() {
            return Ok(None);
        }
        let mut messages = Messages::new(&mut guard, comm, delivery == Delivery::AsMessage)?;
        if let Some(plan) = messages.plan() {
            let (to, count) = recv.elements(&guard, true)?;
            plan.recv(root as u32, Region::Recv.at(0, count));
            messages.perform(call, &mut guard, root, Place::Nowhere, to)?;
        }
        return match delivery {
            Delivery::Differs(bytes) => Err(unequal(root as i32, bytes, to.len())),
            _ => Ok(output),
        };
    }
    // SAFETY: the root's arrays have an entry for every rank, as the module `coll` says.
    let Some(from) = (unsafe { Spread::new(&guard, comm, send, &recv, (rank, false)) }) else { return Ok(None) };
    // SAFETY: the program keeps the send buffer until the call returns.
    let block = |to: usize| unsafe { Source::new(from.block(to)) };
    let mut long = Vec::new();
    let output = perform::<F>(call, &mut guard, comm, Some(root), shape, |board, wait| {
        board.give_to_all(wait, block, |to| long.push(to))
    })?;
    if output.is_none() {
        return Ok(None);
    }
    let mut messages = Messages::new(&mut guard, comm, !long.is_empty())?;
    if let Some(plan) = messages.plan() {
        for to in long {
            plan.send(to as u32, from.piece(Region::Send, to));
        }
        let mut own = Place::Nowhere;
        if !is_in_place(recv.address) {
            // While the others receive.
            let (to, count) = recv.elements(&guard, true)?;
            plan.copy(from.piece(Region::Send, rank), Region::Recv.at(0, count));
            own = to;
        }
        let place = send.place(&guard)?;
        messages.perform(call, &mut guard, root, place, own)?;
    } else if !is_in_place(recv.address) {
        // SAFETY: the program keeps the receive buffer until the call returns; `Spread::new` has compared the lengths.
        let own = unsafe { Target::new(recv.whole(&guard, 1, true)?) };
        local::copy(&block(rank), &own);
    }
    Ok(output)
}

/// Our rank and the root, if the operation may go over a board.
fn places<F: Form>(guard: &Guard, comm: Comm, root: i32) -> Option<(usize, usize)> {
    let (rank, ranks) = place(guard, comm).filter(|_| F::BLOCKING)?;
    Some((rank, rank_of(root, ranks)?))
}

/// The root's blocks for all ranks, checked.
struct Spread {
    blocks: Blocks,
    datatype: Arc<Datatype>,
}

impl Spread {
    /// `None` if an argument is wrong, which the way by messages reports. `own` is the root's other buffer.
    ///
    /// # Safety
    /// The arrays of `blocks` have an entry for every rank.
    unsafe fn new(
        guard: &Guard,
        comm: Comm,
        blocks: Blocks,
        own: &Block,
        (rank, gathers): (usize, bool),
    ) -> Option<Spread> {
        let ranks = guard.comm(comm).ok()?.group.len();
        if blocks.is_in_place() {
            return None;
        }
        // SAFETY: there is an entry for every rank: this function's own condition.
        unsafe { blocks.check(guard, ranks, gathers) }.ok()?;
        let spread = Spread { blocks, datatype: Arc::clone(guard.datatype(blocks.datatype).ok()?) };
        if !is_in_place(own.address) {
            own.whole(guard, 1, !gathers).ok()?;
            check_apart_from(guard, own, &blocks, spread.displ(rank)).ok()?;
            if own.bytes(guard).ok()? != spread.block(rank).len() {
                return None;
            }
        }
        Some(spread)
    }

    fn count(&self, rank: usize) -> u64 {
        // SAFETY: `new` was promised an entry for every rank, and `check` found none that is negative.
        unsafe { self.blocks.counts.get(rank) as u64 }
    }

    fn displ(&self, rank: usize) -> i64 {
        // SAFETY: `new` was promised an entry for every rank.
        unsafe { self.blocks.displs.get(rank) }
    }

    fn piece(&self, region: Region, rank: usize) -> Piece {
        Piece { offset: self.displ(rank), ..region.at(0, self.count(rank)) }
    }

    fn block(&self, rank: usize) -> Memory {
        let offset = self.displ(rank).wrapping_mul(self.datatype.extent() as i64);
        let base = self.blocks.address.cast_mut().cast::<u8>().wrapping_offset(offset as isize);
        Memory::typed(base, self.count(rank), &self.datatype)
    }
}

/// The messages of an operation that has blocks too long for the board.
struct Messages {
    comm: Comm,
    plan: Option<Plan>,
}

impl Messages {
    /// All ranks must make this value, so that they agree on the tags of later operations.
    fn new(guard: &mut Guard, comm: Comm, are_needed: bool) -> Result<Messages> {
        if !are_needed {
            guard.comm_mut(comm)?.collective_tag();
        }
        Ok(Messages { comm, plan: are_needed.then(Plan::default) })
    }

    fn plan(&mut self) -> Option<&mut Plan> {
        self.plan.as_mut()
    }

    fn perform(self, call: &Call, guard: &mut Guard, root: usize, send: Place, recv: Place) -> Result<()> {
        let mut stage = rooted_stage(guard, self.comm, Role::Among(root))?;
        stage.calls = guard.comm(self.comm)?.calls;
        let bound_plan = BoundPlan::new(Arc::new(self.plan.unwrap_or_default()), stage, send, recv, None);
        let check = MismatchCheck::new(call.fun, self.comm, Some(root));
        call.perform(guard, Arc::new(bound_plan), &check.counted())
    }
}
