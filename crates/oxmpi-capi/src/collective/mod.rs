//! Collective operations at the C boundary: every function is written once, for its blocking, nonblocking and persistent
//! [`Form`], which the bodies name.
//!
//! A function here checks the arguments, asks for a plan and binds it to the user's memory. What decides which plan is taken
//! is the same on every rank: sizes in bytes, the operation, the communicator; never a layout or an address.

mod coll_shape;
mod data;
mod neighbors;
mod plans;
mod reductions;

pub use data::{
    allgather, allgatherv, alltoall, alltoallv, alltoallw, barrier, bcast, gather, gatherv, scatter, scatterv,
};
pub use neighbors::{
    neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv, neighbor_alltoallw,
};
pub use reductions::{Operands, allreduce, exscan, reduce, reduce_scatter, reduce_scatter_block, scan};

use crate::args::Ints;
use crate::bodies::{check_place, store};
use crate::call::Call;
use crate::infos;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Datatype, Info, Request};
use oxmpi_abi::{Result, bail};
use oxmpi_core::collective::{BoundPlan, Place, Units};
use oxmpi_core::guard::Guard;
use oxmpi_core::process::Process;
use oxmpi_core::request::{Active, Body, Request as Made, Start};
use oxmpi_core::wait::mismatch::MismatchCheck;
use oxmpi_datatype::{Region, Source, Target};
use std::ffi::c_void;
use std::sync::Arc;

/// How a collective operation is to be carried out.
#[derive(Clone, Copy)]
pub enum Form {
    /// The call returns when it is done.
    Now,
    Later(*mut Request),
    /// It is only made ready.
    Kept(Info, *mut Request),
}

impl Form {
    #[inline(always)]
    pub fn is_blocking(self) -> bool {
        matches!(self, Form::Now)
    }

    /// Looks at the arguments that the form adds; before anything is started.
    fn check(self) -> Result<()> {
        match self {
            Form::Now => Ok(()),
            Form::Later(request) => check_place(request, "request"),
            Form::Kept(info, request) => {
                if info != MPI_INFO_NULL {
                    infos::read(info, |_| Ok(()))?;
                }
                check_place(request, "request")
            }
        }
    }

    /// Carries the operation out, starts it, or keeps it.
    ///
    /// # Safety
    /// The bound plan's memory is the user's, for as long as the standard says for this form.
    unsafe fn perform(self, cx: &Call, guard: &mut Guard, comm: Comm, mut bound_plan: BoundPlan) -> Result<()> {
        let stage = bound_plan.stage();
        let check = MismatchCheck::new(cx.fun, comm, stage.root);
        let calls = &mut guard.comm_mut(comm)?.calls;
        calls.count(check.call());
        calls.by_messages(check.call().word());
        stage.calls = *calls;
        let bound_plan = Arc::new(bound_plan);
        match self {
            Form::Now => cx.perform(guard, bound_plan, &check.counted()),
            Form::Later(request) => {
                let promise = guard.perform_later(bound_plan);
                let handle = guard.once(comm, Active::Promise(promise));
                // SAFETY: checked.
                unsafe { store(request, handle, "request") }
            }
            Form::Kept(_, request) => {
                let body = Body::Persistent(Box::new(Start::Collective(bound_plan)), None);
                let handle = guard.requests.insert(Made { comm, body });
                // SAFETY: checked.
                unsafe { store(request, Request(handle), "request") }
            }
        }
    }
}

/// A buffer argument: elements of one type, one rank's block or a block for every rank.
#[derive(Clone, Copy)]
pub struct Block {
    pub address: *const c_void,
    pub count: i64,
    pub datatype: Datatype,
}

impl Block {
    pub fn new(address: *const c_void, count: i64, datatype: Datatype) -> Block {
        Block { address, count, datatype }
    }

    fn is_in_place(&self) -> bool {
        self.address as usize == MPI_IN_PLACE
    }

    /// The bytes of one block.
    fn bytes(&self, guard: &Guard) -> Result<usize> {
        // Any address will do.
        if self.count < 0 {
            bail!(MPI_ERR_COUNT, "the count is {}, which is negative", self.count);
        }
        let found = guard.datatype(self.datatype)?;
        match found.size().checked_mul(i128::from(self.count)) {
            Some(bytes) if bytes <= isize::MAX as i128 => Ok(bytes as usize),
            _ => {
                bail!(MPI_ERR_COUNT, "{} elements of {} bytes are more than memory can hold", self.count, found.size())
            }
        }
    }

    /// `blocks` of them one behind the other, checked, to be sent from.
    fn source(&self, guard: &Guard, blocks: usize) -> Result<Place> {
        self.whole(guard, blocks, false)?;
        self.units(guard)
    }

    /// `blocks` of them one behind the other, checked, to be received into.
    fn target(&self, guard: &Guard, blocks: usize) -> Result<Place> {
        self.whole(guard, blocks, true)?;
        self.units(guard)
    }

    /// One block in elements, checked: where it is and how many, none where there are no bytes.
    fn elements(&self, guard: &Guard, written: bool) -> Result<(Place, u64)> {
        let whole = self.whole(guard, 1, written)?;
        let element = Block { count: 1, ..*self }.units(guard)?;
        Ok((element, if whole.is_empty() { 0 } else { self.count as u64 }))
    }

    fn units(&self, guard: &Guard) -> Result<Place> {
        let (base, datatype) = (self.address.cast_mut().cast(), guard.datatype(self.datatype)?);
        // SAFETY: the program keeps the blocks that the call's arguments describe until the operation is complete, and a
        // plan names no others.
        Ok(Place::Units(unsafe { Units::new(base, self.count as u64, datatype) }))
    }

    /// The whole buffer, checked.
    fn whole(&self, guard: &Guard, blocks: usize, written: bool) -> Result<Region> {
        if self.count < 0 {
            bail!(MPI_ERR_COUNT, "the count is {}, which is negative", self.count);
        }
        let Some(count) = self.count.checked_mul(blocks as i64) else {
            bail!(MPI_ERR_COUNT, "{blocks} blocks of {} elements are more than can be counted", self.count);
        };
        if written {
            guard.target(self.address.cast(), count, self.datatype)
        } else {
            guard.buffer(self.address.cast(), count, self.datatype)
        }
    }
}

/// A buffer argument with a count and a displacement for every block.
#[derive(Clone, Copy)]
pub struct Blocks {
    address: *const c_void,
    counts: Ints,
    displs: Ints,
    datatype: Datatype,
}

impl Blocks {
    pub fn new(address: *const c_void, counts: Ints, displs: Ints, datatype: Datatype) -> Blocks {
        Blocks { address, counts, displs, datatype }
    }

    fn is_in_place(&self) -> bool {
        self.address as usize == MPI_IN_PLACE
    }

    /// Where each block lies; checked.
    ///
    /// # Safety
    /// The arrays have as many entries as there are blocks.
    unsafe fn spans(&self, guard: &Guard, blocks: usize, written: bool) -> Result<Spans> {
        check_arrays(blocks, self.counts, self.displs)?;
        let datatype = guard.datatype(self.datatype)?;
        let (extent, empty) = (datatype.extent() as i64, datatype.size() == 0);
        let mut spans = Spans { counts: Vec::with_capacity(blocks), displs: Vec::with_capacity(blocks) };
        for index in 0..blocks {
            // SAFETY: as the caller says.
            let (count, displ) = unsafe { (self.counts.get(index), self.displs.get(index)) };
            check_count(index, count)?;
            if count > 0 {
                let address = self.address.cast::<u8>().wrapping_offset(displ.wrapping_mul(extent) as isize);
                let check = if written { Process::target } else { Process::buffer };
                check(guard, address, count, self.datatype)?;
            }
            spans.counts.push(if empty { 0 } else { count as u64 });
            spans.displs.push(displ);
        }
        Ok(spans)
    }

    /// The bytes of so many elements, of a block that has been checked.
    fn bytes_of(&self, guard: &Guard, count: u64) -> Result<usize> {
        Ok(guard.datatype(self.datatype)?.size() as usize * count as usize)
    }

    fn place(&self, guard: &Guard) -> Result<Place> {
        let (base, datatype) = (self.address.cast_mut().cast(), guard.datatype(self.datatype)?);
        // SAFETY: the program keeps the elements that counts and displacements describe until the operation is complete,
        // and a plan names no others.
        Ok(Place::Units(unsafe { Units::new(base, 1, datatype) }))
    }
}

/// Counts and displacements of blocks, in elements. A count is 0 wherever there are no bytes.
#[derive(Default)]
pub(super) struct Spans {
    pub counts: Vec<u64>,
    pub displs: Vec<i64>,
}

impl Spans {
    fn blocks(&self) -> oxmpi_coll::plan::Blocks<'_> {
        oxmpi_coll::plan::Blocks::Spread { counts: &self.counts, displs: &self.displs }
    }
}

/// A buffer argument with a count, a displacement in bytes and a type for every block.
#[derive(Clone, Copy)]
pub struct Mixed {
    address: *const c_void,
    counts: Ints,
    displs: Ints,
    datatypes: *const Datatype,
}

impl Mixed {
    pub fn new(address: *const c_void, counts: Ints, displs: Ints, datatypes: *const Datatype) -> Mixed {
        Mixed { address, counts, displs, datatypes }
    }

    fn is_in_place(&self) -> bool {
        self.address as usize == MPI_IN_PLACE
    }

    /// The blocks, checked.
    ///
    /// # Safety
    /// The arrays have as many entries as there are blocks.
    unsafe fn blocks(&self, guard: &Guard, blocks: usize, written: bool) -> Result<Vec<Region>> {
        check_arrays(blocks, self.counts, self.displs)?;
        if blocks > 0 {
            check_place(self.datatypes, "the array of datatypes")?;
        }
        let mut all = Vec::with_capacity(blocks);
        for index in 0..blocks {
            // SAFETY: as the caller says.
            let (count, displ, datatype) =
                unsafe { (self.counts.get(index), self.displs.get(index), self.datatypes.add(index).read()) };
            check_count(index, count)?;
            if count == 0 {
                guard.datatype(datatype)?;
                all.push(Region::dense(std::ptr::null_mut(), 0));
                continue;
            }
            let address = self.address.cast::<u8>().wrapping_offset(displ as isize);
            all.push(if written {
                guard.target(address, count, datatype)?
            } else {
                guard.buffer(address, count, datatype)?
            });
        }
        Ok(all)
    }
}

/// Blocks that are sent.
///
/// # Safety
/// They may be read until the operation is complete.
unsafe fn sources(blocks: Vec<Region>) -> Place {
    // SAFETY: every block may be read: this function's own condition.
    Place::Sources(blocks.into_iter().map(|block| unsafe { Source::new(block) }).collect())
}

/// Blocks that are received into.
///
/// # Safety
/// They may be written until the operation is complete.
unsafe fn targets(blocks: Vec<Region>) -> Place {
    // SAFETY: every block may be written: this function's own condition.
    Place::Targets(blocks.into_iter().map(|block| unsafe { Target::new(block) }).collect())
}

fn check_arrays(blocks: usize, counts: Ints, displs: Ints) -> Result<()> {
    if blocks > 0 && counts.is_null() {
        bail!(MPI_ERR_ARG, "the array of counts is a null pointer");
    }
    if blocks > 0 && displs.is_null() {
        bail!(MPI_ERR_ARG, "the array of displacements is a null pointer");
    }
    Ok(())
}

fn check_count(index: usize, count: i64) -> Result<()> {
    if count < 0 {
        bail!(MPI_ERR_COUNT, "the count for rank {index} is {count}, which is negative");
    }
    Ok(())
}
