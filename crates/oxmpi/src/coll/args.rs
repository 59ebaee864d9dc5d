//! The buffer arguments of collective operations: the program's memory, checked before it is used.
//!
//! The caller that makes such a value promises the memory that it describes: see [the module's
//! contract](super).

use crate::args::Ints;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Datatype;
use oxmpi_abi::{Result, bail};
use oxmpi_core::call::Guard;
use oxmpi_core::collective::{Place, Units};
use oxmpi_core::process::Process;
use oxmpi_datatype::{Region, Source, Target};
use smallvec::SmallVec;
use std::ffi::c_void;

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

    pub(super) fn is_in_place(&self) -> bool {
        self.address as usize == MPI_IN_PLACE
    }

    /// The bytes of one block.
    pub(super) fn bytes(&self, guard: &Guard) -> Result<usize> {
        // With no elements any address is valid.
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

    /// `blocks` consecutive blocks to send, checked.
    pub(super) fn source(&self, guard: &Guard, blocks: usize) -> Result<Place> {
        self.whole(guard, blocks, false)?;
        self.units(guard)
    }

    /// `blocks` consecutive blocks to receive into, checked.
    pub(super) fn target(&self, guard: &Guard, blocks: usize) -> Result<Place> {
        self.whole(guard, blocks, true)?;
        self.units(guard)
    }

    /// The address and number of elements of one block, checked; no elements where there are no
    /// bytes.
    pub(super) fn elements(&self, guard: &Guard, written: bool) -> Result<(Place, u64)> {
        let whole = self.whole(guard, 1, written)?;
        let element = Block { count: 1, ..*self }.units(guard)?;
        Ok((element, if whole.is_empty() { 0 } else { self.count as u64 }))
    }

    /// One of consecutive blocks, checked.
    pub(super) fn unit(&self, guard: &Guard, index: usize, written: bool) -> Result<Region> {
        let extent = extent(guard, self.datatype)?.wrapping_mul(self.count).wrapping_mul(index as i64);
        let address = self.address.wrapping_byte_offset(extent as isize);
        Block { address, ..*self }.whole(guard, 1, written)
    }

    pub(super) fn units(&self, guard: &Guard) -> Result<Place> {
        let (base, datatype) = (self.address.cast_mut().cast(), guard.datatype(self.datatype)?);
        // SAFETY: the program keeps the blocks that the call's arguments describe until the operation is complete, and a
        // plan names no others.
        Ok(Place::Units(unsafe { Units::new(base, self.count as u64, datatype) }))
    }

    /// The whole buffer, checked.
    pub(super) fn whole(&self, guard: &Guard, blocks: usize, written: bool) -> Result<Region> {
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
    pub(super) address: *const c_void,
    pub(super) counts: Ints,
    pub(super) displs: Ints,
    pub(super) datatype: Datatype,
}

impl Blocks {
    pub fn new(address: *const c_void, counts: Ints, displs: Ints, datatype: Datatype) -> Blocks {
        Blocks { address, counts, displs, datatype }
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.address as usize == MPI_IN_PLACE
    }

    /// Checks the arrays and the memory of all blocks.
    ///
    /// # Safety
    /// The arrays have as many entries as there are blocks.
    pub(super) unsafe fn check(&self, guard: &Guard, blocks: usize, written: bool) -> Result<()> {
        check_arrays(blocks, self.counts, self.displs)?;
        let extent = guard.datatype(self.datatype)?.extent() as i64;
        for index in 0..blocks {
            // SAFETY: there are as many entries as blocks: this function's own condition.
            let (count, displ) = unsafe { (self.counts.get(index), self.displs.get(index)) };
            check_count(index, count)?;
            if count > 0 {
                let address = self.address.cast::<u8>().wrapping_offset(displ.wrapping_mul(extent) as isize);
                let check = if written { Process::target } else { Process::buffer };
                check(guard, address, count, self.datatype)?;
            }
        }
        Ok(())
    }

    /// One block, checked.
    ///
    /// # Safety
    /// The arrays have more entries than `index`, or are null pointers.
    pub(super) unsafe fn block(&self, guard: &Guard, index: usize, written: bool) -> Result<Region> {
        check_arrays(1, self.counts, self.displs)?;
        // SAFETY: the arrays are there and have an entry of this index: this function's own condition.
        let (count, displ) = unsafe { (self.counts.get(index), self.displs.get(index)) };
        let offset = displ.wrapping_mul(extent(guard, self.datatype)?);
        checked_block(guard, index, self.address.wrapping_byte_offset(offset as isize), count, self.datatype, written)
    }

    /// The memory of each block.
    ///
    /// # Safety
    /// The arrays have as many entries as there are blocks.
    pub(super) unsafe fn regions(&self, guard: &Guard, blocks: usize) -> Result<Vec<Region>> {
        check_arrays(blocks, self.counts, self.displs)?;
        let extent = guard.datatype(self.datatype)?.extent() as i64;
        let region = |index| {
            // SAFETY: there are as many entries as blocks: this function's own condition.
            let (count, displ) = unsafe { (self.counts.get(index), self.displs.get(index)) };
            check_count(index, count)?;
            let address = self.address.cast::<u8>().wrapping_offset(displ.wrapping_mul(extent) as isize);
            guard.buffer(address, count, self.datatype)
        };
        (0..blocks).filter(|&index| region(index).is_ok_and(|found| !found.is_empty())).map(region).collect()
    }

    /// The offset of each block, checked.
    ///
    /// # Safety
    /// The arrays have as many entries as there are blocks.
    pub(super) unsafe fn spans(&self, guard: &Guard, blocks: usize, written: bool) -> Result<Spans> {
        // SAFETY: there are as many entries as blocks: this function's own condition.
        unsafe { self.check(guard, blocks, written)? };
        let empty = guard.datatype(self.datatype)?.size() == 0;
        // SAFETY: each index is below `blocks`, and the arrays have so many entries.
        let (count, displ) = (|index| unsafe { self.counts.get(index) }, |index| unsafe { self.displs.get(index) });
        Ok(Spans {
            counts: (0..blocks).map(|index| if empty { 0 } else { count(index) as u64 }).collect(),
            displs: (0..blocks).map(displ).collect(),
        })
    }

    /// The bytes of so many elements of a checked block.
    pub(super) fn bytes_of(&self, guard: &Guard, count: u64) -> Result<usize> {
        Ok(guard.datatype(self.datatype)?.size() as usize * count as usize)
    }

    pub(super) fn place(&self, guard: &Guard) -> Result<Place> {
        let (base, datatype) = (self.address.cast_mut().cast(), guard.datatype(self.datatype)?);
        // SAFETY: the program keeps the elements that counts and displacements describe until the operation is complete,
        // and a plan names no others.
        Ok(Place::Units(unsafe { Units::new(base, 1, datatype) }))
    }
}

/// Counts and displacements of blocks, in elements. A count is 0 wherever there are no bytes.
#[derive(Default)]
pub(super) struct Spans {
    pub counts: SmallVec<[u64; 4]>,
    pub displs: SmallVec<[i64; 4]>,
}

impl Spans {
    pub(super) fn blocks(&self) -> oxmpi_coll::plan::Blocks<'_> {
        oxmpi_coll::plan::Blocks::Spread { counts: &self.counts, displs: &self.displs }
    }
}

/// A buffer argument with a count, a displacement in bytes and a type for every block.
#[derive(Clone, Copy)]
pub struct Mixed {
    pub(super) address: *const c_void,
    pub(super) counts: Ints,
    displs: Ints,
    pub(super) datatypes: *const Datatype,
}

impl Mixed {
    pub fn new(address: *const c_void, counts: Ints, displs: Ints, datatypes: *const Datatype) -> Mixed {
        Mixed { address, counts, displs, datatypes }
    }

    pub(super) fn is_in_place(&self) -> bool {
        self.address as usize == MPI_IN_PLACE
    }

    /// The blocks, checked.
    ///
    /// # Safety
    /// The arrays have as many entries as there are blocks.
    pub(super) unsafe fn blocks(&self, guard: &Guard, blocks: usize, written: bool) -> Result<Vec<Region>> {
        // SAFETY: there are as many entries as blocks: this function's own condition.
        (0..blocks).map(|index| unsafe { self.block(guard, index, written) }).collect()
    }

    /// One block, checked.
    ///
    /// # Safety
    /// The arrays have more entries than `index`, or are null pointers.
    pub(super) unsafe fn block(&self, guard: &Guard, index: usize, written: bool) -> Result<Region> {
        check_arrays(1, self.counts, self.displs)?;
        if self.datatypes.is_null() {
            bail!(MPI_ERR_ARG, "the argument the array of datatypes is a null pointer");
        }
        // SAFETY: the arrays are there and have an entry of this index: this function's own condition.
        let (count, displ, datatype) =
            unsafe { (self.counts.get(index), self.displs.get(index), self.datatypes.add(index).read()) };
        checked_block(guard, index, self.address.wrapping_byte_offset(displ as isize), count, datatype, written)
    }
}

/// A block of an operation with a count for each block, checked. One without elements may be anywhere.
#[inline]
fn checked_block(
    guard: &Guard,
    index: usize,
    address: *const c_void,
    count: i64,
    datatype: Datatype,
    written: bool,
) -> Result<Region> {
    check_count(index, count)?;
    if count == 0 {
        guard.datatype(datatype)?;
        return Ok(Region::dense(std::ptr::null_mut(), 0));
    }
    if written { guard.target(address.cast(), count, datatype) } else { guard.buffer(address.cast(), count, datatype) }
}

/// The extent of a type.
#[inline]
fn extent(guard: &Guard, datatype: Datatype) -> Result<i64> {
    match oxmpi_datatype::dense_size(datatype.0) {
        Some(size) => Ok(size as i64),
        None => Ok(guard.datatype(datatype)?.extent() as i64),
    }
}

/// Blocks that are sent.
///
/// # Safety
/// They may be read until the operation is complete.
pub(super) unsafe fn sources(blocks: Vec<Region>) -> Place {
    // SAFETY: every block may be read: this function's own condition.
    Place::Sources(blocks.into_iter().map(|block| unsafe { Source::new(block) }).collect())
}

/// Blocks that are received into.
///
/// # Safety
/// They may be written until the operation is complete.
pub(super) unsafe fn targets(blocks: Vec<Region>) -> Place {
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

pub(super) fn check_count(index: usize, count: i64) -> Result<()> {
    if count < 0 {
        bail!(MPI_ERR_COUNT, "the count for rank {index} is {count}, which is negative");
    }
    Ok(())
}
