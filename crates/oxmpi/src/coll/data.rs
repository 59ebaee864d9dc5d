//! Collective operations that move data: barrier, broadcast, gather, scatter, allgather, all-to-all.

use super::args::{Block, Blocks, Mixed, Spans, sources, targets};
use super::mode::Mode;
use super::plans;
use super::shape::{CollShape, Role, refuse_alias, refuse_in_place, rooted_stage, stage};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Request};
use oxmpi_abi::{Result, bail};
use oxmpi_coll::nodes::UnitBytes;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::collective::{BoundPlan, Packing, Place, Units};
use oxmpi_datatype::{Datatype, OwnedBytes, Region, Source, Target};
use std::sync::Arc;

pub(super) unsafe fn barrier(call: &Call, mode: Mode, comm: Comm) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    let plan = plans::barrier(call, &shape);
    let bound_plan = BoundPlan::new(plan, stage(&mut guard, comm)?, Place::Nowhere, Place::Nowhere, None);
    // SAFETY: no memory is involved.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn bcast(call: &Call, mode: Mode, buffer: Block, root: i32, comm: Comm) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    let role = shape.role(root)?;
    let sends = matches!(role, Role::Root) || role == Role::Among(shape.rank);
    let idle = role == Role::Idle;
    let buf = if idle { Region::dense(std::ptr::null_mut(), 0) } else { buffer.whole(&guard, 1, !sends)? };
    let plan = plans::bcast(call, &shape, role, buf.len());
    let stage = rooted_stage(&mut guard, comm, role)?;
    // SAFETY: the program keeps the buffer until the operation is complete; where it sends the plan only reads it.
    let bound_plan = unsafe {
        match buf.as_dense() {
            Some(base) => {
                let at = || Place::Units(byte_blocks(base, 1));
                BoundPlan::new(plan, stage, at(), at(), None)
            }
            None => match plans::in_one_piece(&plan, buf.len() as u64) {
                Some(plan) => {
                    let blocks = || Place::Targets(vec![Target::new(buf.clone())]);
                    BoundPlan::new(plan, stage, blocks(), blocks(), None)
                }
                None => {
                    let packed = OwnedBytes::zeroed(buf.len());
                    let packing = match sends {
                        true => Packing::First { user: Source::new(buf), packed },
                        false => Packing::Last { user: Target::new(buf), packed },
                    };
                    let at = || Place::Units(packing.units(1, byte()));
                    BoundPlan::new(plan, stage, at(), at(), None).with_packing(packing)
                }
            },
        }
    };
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

/// Blocks of so many bytes.
///
/// # Safety
/// As for [`Units::new`].
unsafe fn byte_blocks(base: *mut u8, bytes: usize) -> Units {
    // SAFETY: the blocks that a plan names are there: this function's own condition.
    unsafe { Units::new(base, bytes as u64, byte()) }
}

fn byte() -> &'static Arc<Datatype> {
    oxmpi_datatype::predefined(MPI_BYTE.0).unwrap_or_else(|| unreachable!("bytes are predefined"))
}

/// Describes packed blocks.
pub(super) fn packed(bytes: usize) -> Units {
    // SAFETY: the value only describes a unit; the bound plan allocates the memory.
    unsafe { byte_blocks(std::ptr::null_mut(), bytes) }
}

/// A process's block to itself must fit what it receives from itself.
fn check_own(sent: usize, received: usize) -> Result<()> {
    if sent != received {
        bail!(MPI_ERR_TRUNCATE, "this process sends {sent} bytes to itself, but receives {received} from itself");
    }
    Ok(())
}

/// Refuses one block that begins where the many blocks begin, or that is this process's block among
/// them: programs pass that when they mean `MPI_IN_PLACE`. Every rank must detect it, or only one
/// would fail.
fn check_apart(guard: &Guard, one: &Block, many: &Block, own: usize) -> Result<()> {
    let plain = |block: &Block| oxmpi_datatype::dense_size(block.datatype.0).is_some();
    if plain(one) && plain(many) {
        let bytes = one.bytes(guard)?;
        refuse_alias(one.address, many.address, bytes)?;
        refuse_alias(one.address, many.address.wrapping_byte_add(own.wrapping_mul(bytes)), bytes)?;
    }
    Ok(())
}

/// As [`check_apart`]; `displ` is the displacement of this process's block.
pub(super) fn check_apart_from(guard: &Guard, one: &Block, many: &Blocks, displ: i64) -> Result<()> {
    let size = oxmpi_datatype::dense_size(many.datatype.0);
    if let (Some(size), Some(_)) = (size, oxmpi_datatype::dense_size(one.datatype.0)) {
        let at = many.address.wrapping_byte_offset((displ as isize).wrapping_mul(size as isize));
        refuse_alias(one.address, at, one.bytes(guard)?)?;
    }
    Ok(())
}

pub(super) unsafe fn gather(
    call: &Call,
    mode: Mode,
    send: Block,
    recv: Block,
    root: i32,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    let role = shape.role(root)?;
    let at_root = role == Role::Root || role == Role::Among(shape.rank);
    let in_place = role == Role::Among(shape.rank) && send.is_in_place();
    let (mut from, mut to) = (Place::Nowhere, Place::Nowhere);
    let mut block = 0;
    if at_root {
        refuse_in_place(recv.address, "the receive buffer")?;
        to = recv.target(&guard, shape.size)?;
        block = recv.bytes(&guard)?;
    }
    if !in_place && !matches!(role, Role::Root | Role::Idle) {
        refuse_in_place(send.address, "the send buffer of a process that is not the root")?;
        from = send.source(&guard, 1)?;
        if at_root {
            check_own(send.bytes(&guard)?, block)?;
            check_apart(&guard, &send, &recv, shape.rank)?;
        }
        block = send.bytes(&guard)?;
    }
    let plan = plans::gather(call, &shape, role, in_place, block);
    let bound_plan = BoundPlan::new(plan, rooted_stage(&mut guard, comm, role)?, from, to, Some(&packed(block)));
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn gatherv(
    call: &Call,
    mode: Mode,
    send: Block,
    recv: Blocks,
    root: i32,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    let role = shape.role(root)?;
    let at_root = role == Role::Root || role == Role::Among(shape.rank);
    let in_place = role == Role::Among(shape.rank) && send.is_in_place();
    let (mut from, mut to, mut spans, mut count) = (Place::Nowhere, Place::Nowhere, Spans::default(), 0);
    let mut units = UnitBytes { send: 0, recv: 0 };
    if at_root {
        refuse_in_place(recv.address, "the receive buffer")?;
        // SAFETY: the arrays have an entry for every rank.
        spans = unsafe { recv.spans(&guard, shape.size, true)? };
        to = recv.place(&guard)?;
        units.recv = recv.bytes_of(&guard, 1)? as u64;
    }
    if !in_place && !matches!(role, Role::Root | Role::Idle) {
        refuse_in_place(send.address, "the send buffer of a process that is not the root")?;
        (from, count) = send.elements(&guard, false)?;
        units.send = Block { count: 1, ..send }.bytes(&guard)? as u64;
        if at_root {
            check_own(send.bytes(&guard)?, recv.bytes_of(&guard, spans.counts[shape.rank])?)?;
            check_apart_from(&guard, &send, &recv, spans.displs[shape.rank])?;
        }
    }
    let plan = plans::gatherv(call, &shape, role, in_place, count, spans, units);
    let bound_plan = BoundPlan::new(plan, rooted_stage(&mut guard, comm, role)?, from, to, None);
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn scatter(
    call: &Call,
    mode: Mode,
    send: Block,
    recv: Block,
    root: i32,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    let role = shape.role(root)?;
    let at_root = role == Role::Root || role == Role::Among(shape.rank);
    let in_place = role == Role::Among(shape.rank) && recv.is_in_place();
    let (mut from, mut to) = (Place::Nowhere, Place::Nowhere);
    let mut block = 0;
    if at_root {
        refuse_in_place(send.address, "the send buffer")?;
        from = send.source(&guard, shape.size)?;
        block = send.bytes(&guard)?;
    }
    if !in_place && !matches!(role, Role::Root | Role::Idle) {
        refuse_in_place(recv.address, "the receive buffer of a process that is not the root")?;
        to = recv.target(&guard, 1)?;
        if at_root {
            check_own(block, recv.bytes(&guard)?)?;
            check_apart(&guard, &recv, &send, shape.rank)?;
        }
        block = recv.bytes(&guard)?;
    }
    let plan = plans::scatter(call, &shape, role, in_place, block);
    let bound_plan = BoundPlan::new(plan, rooted_stage(&mut guard, comm, role)?, from, to, Some(&packed(block)));
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn scatterv(
    call: &Call,
    mode: Mode,
    send: Blocks,
    recv: Block,
    root: i32,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    let role = shape.role(root)?;
    let at_root = role == Role::Root || role == Role::Among(shape.rank);
    let in_place = role == Role::Among(shape.rank) && recv.is_in_place();
    let (mut from, mut to, mut spans, mut count) = (Place::Nowhere, Place::Nowhere, Spans::default(), 0);
    let mut units = UnitBytes { send: 0, recv: 0 };
    if at_root {
        refuse_in_place(send.address, "the send buffer")?;
        // SAFETY: the arrays have an entry for every rank.
        spans = unsafe { send.spans(&guard, shape.size, false)? };
        from = send.place(&guard)?;
        units.send = send.bytes_of(&guard, 1)? as u64;
    }
    if !in_place && !matches!(role, Role::Root | Role::Idle) {
        refuse_in_place(recv.address, "the receive buffer of a process that is not the root")?;
        (to, count) = recv.elements(&guard, true)?;
        units.recv = Block { count: 1, ..recv }.bytes(&guard)? as u64;
        if at_root {
            check_own(send.bytes_of(&guard, spans.counts[shape.rank])?, recv.bytes(&guard)?)?;
            check_apart_from(&guard, &recv, &send, spans.displs[shape.rank])?;
        }
    }
    let plan = plans::scatterv(call, &shape, role, in_place, spans, count, units);
    let bound_plan = BoundPlan::new(plan, rooted_stage(&mut guard, comm, role)?, from, to, None);
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn allgather(
    call: &Call,
    mode: Mode,
    send: Block,
    recv: Block,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    let in_place = !shape.inter && send.is_in_place();
    refuse_in_place(recv.address, "the receive buffer")?;
    let to = recv.target(&guard, shape.size)?;
    let mut from = Place::Nowhere;
    let received = recv.bytes(&guard)?;
    if !in_place {
        refuse_in_place(send.address, "the send buffer on an intercommunicator")?;
        from = send.source(&guard, 1)?;
        if !shape.inter {
            check_own(send.bytes(&guard)?, received)?;
            check_apart(&guard, &send, &recv, shape.rank)?;
        }
    }
    let plan = plans::allgather(call, &shape, in_place, received);
    let bound_plan = BoundPlan::new(plan, stage(&mut guard, comm)?, from, to, Some(&packed(received)));
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn allgatherv(
    call: &Call,
    mode: Mode,
    send: Block,
    recv: Blocks,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    let in_place = !shape.inter && send.is_in_place();
    refuse_in_place(recv.address, "the receive buffer")?;
    // SAFETY: the arrays have an entry for every rank.
    let spans = unsafe { recv.spans(&guard, shape.size, true)? };
    let mut from = Place::Nowhere;
    let mut count = 0;
    if !in_place {
        refuse_in_place(send.address, "the send buffer on an intercommunicator")?;
        (from, count) = send.elements(&guard, false)?;
        if !shape.inter {
            check_own(send.bytes(&guard)?, recv.bytes_of(&guard, spans.counts[shape.rank])?)?;
            check_apart_from(&guard, &send, &recv, spans.displs[shape.rank])?;
        }
    }
    let plan = plans::allgatherv(call, &shape, in_place, count, &spans, recv.bytes_of(&guard, 1)?);
    let element = packed(recv.bytes_of(&guard, 1)?);
    let bound_plan = BoundPlan::new(plan, stage(&mut guard, comm)?, from, recv.place(&guard)?, Some(&element));
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn alltoall(
    call: &Call,
    mode: Mode,
    send: Block,
    recv: Block,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    let in_place = !shape.inter && send.is_in_place();
    refuse_in_place(recv.address, "the receive buffer")?;
    let to = recv.target(&guard, shape.size)?;
    let received = recv.bytes(&guard)?;
    let mut from = Place::Nowhere;
    if !in_place {
        refuse_in_place(send.address, "the send buffer on an intercommunicator")?;
        from = send.source(&guard, shape.size)?;
        if !shape.inter {
            check_own(send.bytes(&guard)?, received)?;
            check_apart(&guard, &send, &recv, 0)?;
        }
    }
    let plan = plans::alltoall(call, &shape, in_place, received);
    let bound_plan = BoundPlan::new(plan, stage(&mut guard, comm)?, from, to, Some(&packed(received)));
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn alltoallv(
    call: &Call,
    mode: Mode,
    send: Blocks,
    recv: Blocks,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    let in_place = !shape.inter && send.is_in_place();
    refuse_in_place(recv.address, "the receive buffer")?;
    // SAFETY: the arrays have an entry for every rank.
    let to = unsafe { recv.spans(&guard, shape.size, true)? };
    let (mut from, mut spans) = (Place::Nowhere, None);
    if !in_place {
        refuse_in_place(send.address, "the send buffer on an intercommunicator")?;
        // SAFETY: the arrays have an entry for every rank.
        let found = unsafe { send.spans(&guard, shape.size, false)? };
        if !shape.inter {
            let own = shape.rank;
            let bytes = send.bytes_of(&guard, found.counts[own])?;
            check_own(bytes, recv.bytes_of(&guard, to.counts[own])?)?;
            // What this process sends to itself would already be in place.
            if found.displs[own] == to.displs[own] && send.datatype == recv.datatype {
                refuse_alias(send.address, recv.address, bytes)?;
            }
        }
        (from, spans) = (send.place(&guard)?, Some(found));
    }
    let send_unit = if in_place { 0 } else { send.bytes_of(&guard, 1)? };
    let element = packed(recv.bytes_of(&guard, 1)?);
    let units = UnitBytes { send: send_unit as u64, recv: recv.bytes_of(&guard, 1)? as u64 };
    let plan = plans::alltoallv(call, &shape, spans, to, units);
    let bound_plan = BoundPlan::new(plan, stage(&mut guard, comm)?, from, recv.place(&guard)?, Some(&element));
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn alltoallw(
    call: &Call,
    mode: Mode,
    send: Mixed,
    recv: Mixed,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    let in_place = !shape.inter && send.is_in_place();
    refuse_in_place(recv.address, "the receive buffer")?;
    // SAFETY: the arrays have an entry for every rank.
    let to = unsafe { recv.blocks(&guard, shape.size, true)? };
    let mut from = None;
    if !in_place {
        refuse_in_place(send.address, "the send buffer on an intercommunicator")?;
        // SAFETY: the arrays have an entry for every rank.
        let found = unsafe { send.blocks(&guard, shape.size, false)? };
        if !shape.inter {
            let (given, got) = (&found[shape.rank], &to[shape.rank]);
            check_own(given.len(), got.len())?;
            if let (Some(given), Some(got)) = (given.as_dense(), got.as_dense()) {
                refuse_alias(given.cast(), got.cast(), to[shape.rank].len())?;
            }
        }
        from = Some(found);
    }
    let plan = plans::alltoallw(call, &shape, from.as_deref().map(plans::lengths), plans::lengths(&to));
    // SAFETY: the program keeps all blocks until the operation is complete.
    let (from, to) = unsafe { (from.map_or(Place::Nowhere, |from| sources(from)), targets(to)) };
    let bound_plan = BoundPlan::new(plan, stage(&mut guard, comm)?, from, to, Some(&packed(1)));
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}
