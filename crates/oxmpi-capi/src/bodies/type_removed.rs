//! Constructors and queries that MPI removed and old programs call: other names for those that took their place.

use super::datatype::*;
use super::store;
use crate::args::Ints;
use crate::call::Call;
use oxmpi::datatype as types;
use oxmpi_abi::Result;
use oxmpi_abi::constants::MPI_UNDEFINED;
use oxmpi_abi::handle::Datatype;
use oxmpi_abi::types::Aint;
use oxmpi_datatype::Wide;
use std::ffi::{c_int, c_void};

pub unsafe fn address(cx: &Call, location: *mut c_void, address: *mut Aint) -> Result<()> {
    // SAFETY: passed on, here and below.
    unsafe { get_address(cx, location, address) }
}

pub unsafe fn type_hvector(
    cx: &Call,
    count: c_int,
    blocklength: c_int,
    stride: Aint,
    oldtype: Datatype,
    newtype: *mut Datatype,
) -> Result<()> {
    // SAFETY: as above.
    unsafe { type_create_hvector(cx, count.into(), blocklength.into(), stride, oldtype, newtype) }
}

pub unsafe fn type_hindexed(
    cx: &Call,
    count: c_int,
    array_of_blocklengths: *mut c_int,
    array_of_displacements: *mut Aint,
    oldtype: Datatype,
    newtype: *mut Datatype,
) -> Result<()> {
    let (lens, disps) = (Ints::narrow(array_of_blocklengths), Ints::wide(array_of_displacements));
    // SAFETY: as above.
    unsafe { type_create_hindexed(cx, count.into(), lens, disps, oldtype, newtype) }
}

pub unsafe fn type_struct(
    cx: &Call,
    count: c_int,
    array_of_blocklengths: *mut c_int,
    array_of_displacements: *mut Aint,
    array_of_types: *mut Datatype,
    newtype: *mut Datatype,
) -> Result<()> {
    let (lens, disps) = (Ints::narrow(array_of_blocklengths), Ints::wide(array_of_displacements));
    // SAFETY: as above.
    unsafe { type_create_struct(cx, count.into(), lens, disps, array_of_types, newtype) }
}

/// What fits into an address, or `MPI_UNDEFINED`.
fn narrowed(value: Wide) -> Aint {
    Aint::try_from(value).unwrap_or(MPI_UNDEFINED.into())
}

pub unsafe fn type_extent(cx: &Call, datatype: Datatype, extent: *mut Aint) -> Result<()> {
    let value = narrowed(types::asked(&cx.enter()?, datatype)?.extent());
    // SAFETY: null or may be written, here and below.
    unsafe { store(extent, value, "extent") }
}

pub unsafe fn type_lb(cx: &Call, datatype: Datatype, displacement: *mut Aint) -> Result<()> {
    let value = narrowed(types::asked(&cx.enter()?, datatype)?.lb());
    // SAFETY: as above.
    unsafe { store(displacement, value, "displacement") }
}

pub unsafe fn type_ub(cx: &Call, datatype: Datatype, displacement: *mut Aint) -> Result<()> {
    let value = narrowed(types::asked(&cx.enter()?, datatype)?.ub());
    // SAFETY: as above.
    unsafe { store(displacement, value, "displacement") }
}
