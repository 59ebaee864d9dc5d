//! Making, committing and freeing datatypes, and queries of size and bounds.

use crate::args::{Array, IntArray, OutInt, reserved};
use crate::call::{Call, Guard};
use oxmpi::datatype as types;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Datatype;
use oxmpi_abi::types::Aint;
use oxmpi_abi::{Result, Status, bail};
use oxmpi_core::attributes::Object;
use oxmpi_datatype::{Datatype as Layout, match_size};
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// Runs a constructor on an old type; returns a handle of the new type.
fn derive(cx: &Call, oldtype: Datatype, make: impl FnOnce(&Arc<Layout>) -> Result<Arc<Layout>>) -> Result<Datatype> {
    let mut guard = cx.enter()?;
    let new = make(guard.datatype(oldtype)?)?;
    add(cx, &mut guard, new)
}

/// A handle for a new type, which records whether a large-count form made it.
fn add(cx: &Call, guard: &mut Guard, new: Arc<Layout>) -> Result<Datatype> {
    let new = if cx.fun.name().ends_with("_c") { new.as_large() } else { new };
    types::add(guard, new)
}

/// An array argument, copied.
fn list<T: Copy>(array: Array<T>, name: &str) -> Result<Vec<T>> {
    let elements = array.elements(name, "the count", MPI_ERR_COUNT)?;
    let mut all = reserved(array.count(), name)?;
    all.extend_from_slice(elements);
    Ok(all)
}

pub fn type_contiguous(cx: &Call, count: i64, oldtype: Datatype) -> Result<Datatype> {
    derive(cx, oldtype, |old| Layout::contiguous(count, old))
}

pub fn type_vector(cx: &Call, count: i64, blocklength: i64, stride: i64, oldtype: Datatype) -> Result<Datatype> {
    derive(cx, oldtype, |old| Layout::vector(count, blocklength, stride, old))
}

pub fn type_create_hvector(
    cx: &Call,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: Datatype,
) -> Result<Datatype> {
    derive(cx, oldtype, |old| Layout::hvector(count, blocklength, stride, old))
}

pub fn type_indexed(
    cx: &Call,
    array_of_blocklengths: IntArray,
    array_of_displacements: IntArray,
    oldtype: Datatype,
) -> Result<Datatype> {
    derive(cx, oldtype, |old| {
        let lens = array_of_blocklengths.to_vec("array_of_blocklengths")?;
        Layout::indexed(lens, array_of_displacements.to_vec("array_of_displacements")?, old)
    })
}

pub fn type_create_hindexed(
    cx: &Call,
    array_of_blocklengths: IntArray,
    array_of_displacements: IntArray,
    oldtype: Datatype,
) -> Result<Datatype> {
    derive(cx, oldtype, |old| {
        let lens = array_of_blocklengths.to_vec("array_of_blocklengths")?;
        Layout::hindexed(lens, array_of_displacements.to_vec("array_of_displacements")?, old)
    })
}

pub fn type_create_indexed_block(
    cx: &Call,
    blocklength: i64,
    array_of_displacements: IntArray,
    oldtype: Datatype,
) -> Result<Datatype> {
    derive(cx, oldtype, |old| {
        Layout::indexed_block(blocklength, array_of_displacements.to_vec("array_of_displacements")?, old)
    })
}

pub fn type_create_hindexed_block(
    cx: &Call,
    blocklength: i64,
    array_of_displacements: IntArray,
    oldtype: Datatype,
) -> Result<Datatype> {
    derive(cx, oldtype, |old| {
        Layout::hindexed_block(blocklength, array_of_displacements.to_vec("array_of_displacements")?, old)
    })
}

pub fn type_create_struct(
    cx: &Call,
    array_of_blocklengths: IntArray,
    array_of_displacements: IntArray,
    array_of_types: Array<Datatype>,
) -> Result<Datatype> {
    let mut guard = cx.enter()?;
    let lens = array_of_blocklengths.to_vec("array_of_blocklengths")?;
    let disps = array_of_displacements.to_vec("array_of_displacements")?;
    let handles = list(array_of_types, "array_of_types")?;
    let mut members = Vec::with_capacity(handles.len());
    for (i, handle) in handles.into_iter().enumerate() {
        // No other constructor takes the markers of MPI-1.
        let member = types::asked(&guard, handle);
        members.push(member.map_err(|error| error.within(format_args!("array_of_types[{i}]")))?.clone());
    }
    let new = Layout::create_struct(lens, disps, members)?;
    add(cx, &mut guard, new)
}

pub fn type_create_subarray(
    cx: &Call,
    ndims: c_int,
    array_of_sizes: IntArray,
    array_of_subsizes: IntArray,
    array_of_starts: IntArray,
    order: c_int,
    oldtype: Datatype,
) -> Result<Datatype> {
    derive(cx, oldtype, |old| {
        dimensions(ndims)?;
        let sizes = array_of_sizes.to_vec("array_of_sizes")?;
        let subsizes = array_of_subsizes.to_vec("array_of_subsizes")?;
        Layout::subarray(sizes, subsizes, array_of_starts.to_vec("array_of_starts")?, order, old)
    })
}

pub fn type_create_darray(
    cx: &Call,
    size: c_int,
    rank: c_int,
    ndims: c_int,
    array_of_gsizes: IntArray,
    array_of_distribs: Array<c_int>,
    array_of_dargs: Array<c_int>,
    array_of_psizes: Array<c_int>,
    order: c_int,
    oldtype: Datatype,
) -> Result<Datatype> {
    derive(cx, oldtype, |old| {
        dimensions(ndims)?;
        let gsizes = array_of_gsizes.to_vec("array_of_gsizes")?;
        let distribs = list(array_of_distribs, "array_of_distribs")?;
        let dargs = list(array_of_dargs, "array_of_dargs")?;
        let psizes = list(array_of_psizes, "array_of_psizes")?;
        Layout::darray(size, rank, gsizes, distribs, dargs, psizes, order, old)
    })
}

fn dimensions(ndims: c_int) -> Result<()> {
    if ndims < 1 {
        bail!(MPI_ERR_ARG, "ndims is {ndims}; an array has at least one dimension");
    }
    Ok(())
}

pub fn type_create_resized(cx: &Call, oldtype: Datatype, lb: i64, extent: i64) -> Result<Datatype> {
    derive(cx, oldtype, |old| Layout::resized(old, lb, extent))
}

pub fn type_dup(cx: &Call, oldtype: Datatype) -> Result<Datatype> {
    let new = {
        let guard = cx.enter()?;
        let old = guard.datatype(oldtype)?;
        Layout::dup(old)
    };
    // The copy callbacks run without the lock.
    let attributes = cx.library().copy_attributes(Object::Datatype(oldtype))?;
    let handle = types::add(&mut cx.enter()?, new)?;
    cx.library().adopt_attributes(Object::Datatype(handle), attributes);
    Ok(handle)
}

pub fn type_commit(cx: &Call, datatype: &Cell<Datatype>) -> Result<()> {
    let guard = cx.enter()?;
    guard.datatype(datatype.get())?.commit()
}

pub fn type_free(cx: &Call, datatype: &Cell<Datatype>) -> Result<()> {
    let handle = datatype.get();
    if cx.enter()?.datatype(handle)?.is_predefined() {
        bail!(MPI_ERR_TYPE, "the datatype is predefined; it cannot be freed");
    }
    // Its callbacks run without the lock.
    cx.library().delete_attributes(Object::Datatype(handle))?;
    let mut guard = cx.enter()?;
    guard.type_names.remove(&handle);
    // Types and messages under way that use the type keep it alive.
    guard.types.remove(handle.0);
    datatype.set(MPI_DATATYPE_NULL);
    Ok(())
}

pub fn type_size(cx: &Call, datatype: Datatype, size: OutInt) -> Result<()> {
    let guard = cx.enter()?;
    size.set_or_undefined(Some(types::asked(&guard, datatype)?.size()), "size")
}

pub fn type_get_extent(cx: &Call, datatype: Datatype, lb: OutInt, extent: OutInt) -> Result<()> {
    let guard = cx.enter()?;
    let found = types::asked(&guard, datatype)?;
    lb.set_or_undefined(Some(found.lb()), "lb")?;
    extent.set_or_undefined(Some(found.extent()), "extent")
}

pub fn type_get_true_extent(cx: &Call, datatype: Datatype, true_lb: OutInt, true_extent: OutInt) -> Result<()> {
    let guard = cx.enter()?;
    let found = types::asked(&guard, datatype)?;
    true_lb.set_or_undefined(Some(found.true_lb()), "true_lb")?;
    true_extent.set_or_undefined(Some(found.true_extent()), "true_extent")
}

pub fn get_elements(cx: &Call, status: &Status, datatype: Datatype, count: OutInt) -> Result<()> {
    let guard = cx.enter()?;
    count.set_or_undefined(guard.datatype(datatype)?.elements_of(status.bytes()), "count")
}

pub fn type_match_size(cx: &Call, typeclass: c_int, size: c_int) -> Result<Datatype> {
    cx.enter()?;
    let found = match_size(typeclass, size)?;
    Ok(Datatype(found.handle.into()))
}

pub fn type_create_f90_real(cx: &Call, p: c_int, r: c_int) -> Result<Datatype> {
    predefined_unnamed(cx, Layout::f90_real(p, r))
}

pub fn type_create_f90_complex(cx: &Call, p: c_int, r: c_int) -> Result<Datatype> {
    predefined_unnamed(cx, Layout::f90_complex(p, r))
}

pub fn type_create_f90_integer(cx: &Call, r: c_int) -> Result<Datatype> {
    predefined_unnamed(cx, Layout::f90_integer(r))
}

fn predefined_unnamed(cx: &Call, found: Result<Arc<Layout>>) -> Result<Datatype> {
    types::handle_of(&mut cx.enter()?, &found?)
}

pub fn type_get_value_index(cx: &Call, value_type: Datatype, index_type: Datatype) -> Result<Datatype> {
    let mut guard = cx.enter()?;
    let pair = Layout::value_index(guard.datatype(value_type)?, guard.datatype(index_type)?);
    let handle = match pair {
        Some(pair) => types::handle_of(&mut guard, &pair)?,
        None => MPI_DATATYPE_NULL,
    };
    Ok(handle)
}

pub fn get_address(location: *const c_void) -> Result<Aint> {
    Ok(location.addr() as Aint)
}

pub fn aint_add(base: Aint, disp: Aint) -> Aint {
    base.wrapping_add(disp)
}

pub fn aint_diff(addr1: Aint, addr2: Aint) -> Aint {
    addr1.wrapping_sub(addr2)
}
