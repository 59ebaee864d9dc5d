//! Collective operations that compute: reduce, allreduce, reduce-scatter, scans.

use super::args::check_count;
use super::mode::Mode;
use super::plans;
use super::shape::{CollShape, Role, refuse_alias, refuse_in_place, rooted_stage, stage};
use crate::args::Ints;
use crate::comm::check_intra;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Datatype, Op, Request};
use oxmpi_abi::{Result, bail};
use oxmpi_coll::reduce_scatter::Counts;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::collective::{BoundPlan, Place, Units};
use oxmpi_core::operation::Reducer;
use std::ffi::c_void;

/// The shape of a reduction: what plans are chosen by.
#[derive(Clone, Copy)]
pub(super) struct Vector {
    /// Elements per process.
    pub count: u64,
    /// Bytes of an element.
    pub size: usize,
    pub commutes: bool,
}

/// The operands and the result of a reduction in memory, and its operation.
#[derive(Clone, Copy)]
pub struct Operands {
    pub send: *const c_void,
    pub recv: *mut c_void,
    pub datatype: Datatype,
    pub op: Op,
}

impl Operands {
    pub fn new(send: *const c_void, recv: *mut c_void, datatype: Datatype, op: Op) -> Operands {
        Operands { send, recv, datatype, op }
    }

    fn in_place(&self) -> bool {
        self.send as usize == MPI_IN_PLACE
    }

    /// The send buffer of so many elements, checked.
    fn source(&self, guard: &Guard, count: i64) -> Result<Place> {
        refuse_in_place(self.send, "the send buffer")?;
        guard.buffer(self.send.cast(), count, self.datatype)?;
        self.place(guard, self.send)
    }

    fn target(&self, guard: &Guard, count: i64) -> Result<Place> {
        refuse_in_place(self.recv, "the receive buffer")?;
        guard.target(self.recv.cast(), count, self.datatype)?;
        self.place(guard, self.recv)
    }

    fn place(&self, guard: &Guard, address: *const c_void) -> Result<Place> {
        Ok(Place::Units(self.units(guard, address)?))
    }

    fn units(&self, guard: &Guard, address: *const c_void) -> Result<Units> {
        let datatype = guard.datatype(self.datatype)?;
        // SAFETY: the program keeps the vectors that the call's arguments describe until the operation is complete, and a
        // plan names no other elements.
        Ok(unsafe { Units::new(address.cast_mut().cast(), 1, datatype) })
    }

    /// The operation on the type, checked, and the shape of the vectors.
    fn prepare(&self, guard: &Guard, count: i64) -> Result<(Reducer, Vector)> {
        let reducer = guard.reducer(self.op, self.datatype)?;
        if count < 0 {
            bail!(MPI_ERR_COUNT, "the count is {count}, which is negative");
        }
        let size = guard.datatype(self.datatype)?.size() as usize;
        let vector = Vector { count: count as u64, size, commutes: reducer.commutes() };
        Ok((reducer, vector))
    }

    fn check_apart(&self, bytes: usize) -> Result<()> {
        if oxmpi_datatype::dense_size(self.datatype.0).is_some() {
            refuse_alias(self.send, self.recv, bytes)
        } else {
            Ok(())
        }
    }
}

pub(super) unsafe fn reduce(
    call: &Call,
    mode: Mode,
    operands: Operands,
    count: i64,
    root: i32,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    let role = shape.role(root)?;
    if role == Role::Idle {
        // At the other ranks of the root's group no further argument is significant.
        let nothing = Vector { count: 0, size: 1, commutes: true };
        let plan = plans::reduce(call, &shape, role, false, &nothing);
        let bound_plan =
            BoundPlan::new(plan, rooted_stage(&mut guard, comm, role)?, Place::Nowhere, Place::Nowhere, None);
        // SAFETY: no memory is involved.
        return unsafe { mode.perform(call, &mut guard, comm, bound_plan) };
    }
    let at_root = role == Role::Root || role == Role::Among(shape.rank);
    let in_place = role == Role::Among(shape.rank) && operands.in_place();
    let (reducer, vector) = operands.prepare(&guard, count)?;
    let (mut from, mut to) = (Place::Nowhere, Place::Nowhere);
    if at_root {
        to = operands.target(&guard, count)?;
    }
    if !in_place && role != Role::Root {
        from = operands.source(&guard, count)?;
        if at_root {
            operands.check_apart(vector.count as usize * vector.size)?;
        }
    }
    let plan = plans::reduce(call, &shape, role, in_place, &vector);
    let temp = operands.units(&guard, std::ptr::null())?;
    let bound_plan =
        BoundPlan::new(plan, rooted_stage(&mut guard, comm, role)?, from, to, Some(&temp)).with_reducer(reducer);
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn allreduce(
    call: &Call,
    mode: Mode,
    operands: Operands,
    count: i64,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    let in_place = !shape.inter && operands.in_place();
    let (reducer, vector) = operands.prepare(&guard, count)?;
    let to = operands.target(&guard, count)?;
    let mut from = Place::Nowhere;
    if !in_place {
        from = operands.source(&guard, count)?;
        operands.check_apart(vector.count as usize * vector.size)?;
    }
    let plan = plans::allreduce(call, &shape, in_place, &vector);
    let temp = operands.units(&guard, std::ptr::null())?;
    let bound_plan = BoundPlan::new(plan, stage(&mut guard, comm)?, from, to, Some(&temp)).with_reducer(reducer);
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}

pub(super) unsafe fn reduce_scatter_block(
    call: &Call,
    mode: Mode,
    operands: Operands,
    recvcount: i64,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    check_count(shape.rank, recvcount)?;
    // Between groups every process sends as much as its own group receives altogether.
    let total = recvcount.checked_mul(shape.local as i64);
    let dealt = Dealt { counts: Counts::Equal(recvcount as u64), own: recvcount, total };
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { scatter(call, mode, &mut guard, &operands, &dealt, comm) }
}

pub(super) unsafe fn reduce_scatter(
    call: &Call,
    mode: Mode,
    operands: Operands,
    recvcounts: Ints,
    comm: Comm,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    let shape = CollShape::new(&guard, comm)?;
    if recvcounts.is_null() {
        bail!(MPI_ERR_ARG, "the array of counts is a null pointer");
    }
    let mut counts = Vec::with_capacity(shape.local);
    for index in 0..shape.local {
        // SAFETY: the array has an entry for every process of the local group.
        let count = unsafe { recvcounts.get(index) };
        check_count(index, count)?;
        counts.push(count as u64);
    }
    let total = counts.iter().try_fold(0i64, |sum, &count| sum.checked_add_unsigned(count));
    let dealt = Dealt { counts: Counts::Given(&counts), own: counts[shape.rank] as i64, total };
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { scatter(call, mode, &mut guard, &operands, &dealt, comm) }
}

/// How the result of a reduction is distributed.
struct Dealt<'a> {
    counts: Counts<'a>,
    /// Elements for this process.
    own: i64,
    /// Elements for all of its group; `None` when the sum overflows.
    total: Option<i64>,
}

unsafe fn scatter(
    call: &Call,
    mode: Mode,
    guard: &mut Guard,
    operands: &Operands,
    dealt: &Dealt,
    comm: Comm,
) -> Result<Option<Request>> {
    let shape = CollShape::new(guard, comm)?;
    let in_place = !shape.inter && operands.in_place();
    let Some(total) = dealt.total else { bail!(MPI_ERR_COUNT, "the sum of the counts is too large") };
    let (reducer, vector) = operands.prepare(guard, total)?;
    let to = operands.target(guard, if in_place { total } else { dealt.own })?;
    let mut from = Place::Nowhere;
    if !in_place {
        from = operands.source(guard, total)?;
        operands.check_apart(dealt.own as usize * vector.size)?;
    }
    let counts = dealt.counts;
    let plan = plans::reduce_scatter(call, &shape, in_place, counts, &vector);
    let temp = operands.units(guard, std::ptr::null())?;
    let bound_plan = BoundPlan::new(plan, stage(guard, comm)?, from, to, Some(&temp)).with_reducer(reducer);
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, guard, comm, bound_plan) }
}

pub(super) unsafe fn scan(
    call: &Call,
    mode: Mode,
    operands: Operands,
    count: i64,
    comm: Comm,
) -> Result<Option<Request>> {
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { prefix(call, mode, &operands, count, comm, true) }
}

pub(super) unsafe fn exscan(
    call: &Call,
    mode: Mode,
    operands: Operands,
    count: i64,
    comm: Comm,
) -> Result<Option<Request>> {
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { prefix(call, mode, &operands, count, comm, false) }
}

/// The scan over the ranks up to this one, inclusive or exclusive.
unsafe fn prefix(
    call: &Call,
    mode: Mode,
    operands: &Operands,
    count: i64,
    comm: Comm,
    inclusive: bool,
) -> Result<Option<Request>> {
    let mut guard = call.enter()?;
    mode.check(call)?;
    check_intra(guard.comm(comm)?)?;
    let shape = CollShape::new(&guard, comm)?;
    let in_place = operands.in_place();
    let (reducer, vector) = operands.prepare(&guard, count)?;
    // The first rank of an exclusive scan receives nothing, so its receive buffer is checked only
    // if it is also the send buffer.
    let receives = inclusive || in_place || shape.rank > 0;
    let to = if receives { operands.target(&guard, count)? } else { Place::Nowhere };
    let mut from = Place::Nowhere;
    if !in_place {
        from = operands.source(&guard, count)?;
        operands.check_apart(vector.count as usize * vector.size)?;
    }
    let plan = plans::scan(call, &shape, in_place, inclusive, &vector);
    let temp = operands.units(&guard, std::ptr::null())?;
    let bound_plan = BoundPlan::new(plan, stage(&mut guard, comm)?, from, to, Some(&temp)).with_reducer(reducer);
    // SAFETY: the caller of the operation promises its memory, as the module `coll` says.
    unsafe { mode.perform(call, &mut guard, comm, bound_plan) }
}
