//! Making, committing and freeing datatypes, and asking them for their size and bounds.

use super::{check_place, null_pointer, store};
use crate::args::{Ints, OutInt, peek};
use crate::call::Call;
use oxmpi::datatype as types;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Datatype;
use oxmpi_abi::types::{Aint, Count};
use oxmpi_abi::{Result, Status, bail};
use oxmpi_core::attributes::Object;
use oxmpi_core::guard::Guard;
use oxmpi_datatype::{Datatype as Layout, Wide, match_size};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// Runs a constructor with its old type, and stores a handle for what it made.
///
/// # Safety
/// `newtype` is null or may be written.
unsafe fn derive(
    cx: &Call,
    oldtype: Datatype,
    newtype: *mut Datatype,
    make: impl FnOnce(&Arc<Layout>) -> Result<Arc<Layout>>,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let old = guard.datatype(oldtype)?;
    check_place(newtype, "newtype")?;
    let new = make(old)?;
    // SAFETY: checked not to be null.
    unsafe { give(cx, &mut guard, new, newtype) }
}

/// Stores a handle for a new type, which remembers whether it was made by a large-count form.
///
/// # Safety
/// `newtype` may be written.
unsafe fn give(cx: &Call, guard: &mut Guard, new: Arc<Layout>, newtype: *mut Datatype) -> Result<()> {
    let new = if cx.fun.name().ends_with("_c") { new.as_large() } else { new };
    let handle = types::add(guard, new)?;
    // SAFETY: as the caller says.
    unsafe { newtype.write(handle) };
    Ok(())
}

/// An array argument, in 64 bits.
///
/// # Safety
/// The array is null or has `count` elements.
unsafe fn list(array: Ints, count: i64, name: &str) -> Result<Vec<i64>> {
    // SAFETY: the elements are there, as the caller says.
    unsafe { collect(array.is_null(), count, name, |i| array.get(i)) }
}

/// # Safety
/// As for [`list`].
unsafe fn int_list(array: *const c_int, count: i64, name: &str) -> Result<Vec<c_int>> {
    // SAFETY: the elements are there, as the caller says.
    unsafe { collect(array.is_null(), count, name, |i| array.add(i).read()) }
}

/// # Safety
/// `get` may be called with every number below `count` unless the array is null.
unsafe fn collect<T>(null: bool, count: i64, name: &str, get: impl Fn(usize) -> T) -> Result<Vec<T>> {
    if count < 0 {
        bail!(MPI_ERR_COUNT, "the count is {count}, which is negative");
    }
    if count > 0 && null {
        return Err(null_pointer(name));
    }
    let mut all = Vec::new();
    if all.try_reserve_exact(count as usize).is_err() {
        bail!(MPI_ERR_NO_MEM, "there is no memory for the {count} elements of {name}");
    }
    all.extend((0..count as usize).map(get));
    Ok(all)
}

pub unsafe fn type_contiguous(cx: &Call, count: i64, oldtype: Datatype, newtype: *mut Datatype) -> Result<()> {
    // SAFETY: passed on, here and in the other constructors.
    unsafe { derive(cx, oldtype, newtype, |old| Layout::contiguous(count, old)) }
}

pub unsafe fn type_vector(
    cx: &Call,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: Datatype,
    newtype: *mut Datatype,
) -> Result<()> {
    // SAFETY: as above.
    unsafe { derive(cx, oldtype, newtype, |old| Layout::vector(count, blocklength, stride, old)) }
}

pub unsafe fn type_create_hvector(
    cx: &Call,
    count: i64,
    blocklength: i64,
    stride: i64,
    oldtype: Datatype,
    newtype: *mut Datatype,
) -> Result<()> {
    // SAFETY: as above.
    unsafe { derive(cx, oldtype, newtype, |old| Layout::hvector(count, blocklength, stride, old)) }
}

pub unsafe fn type_indexed(
    cx: &Call,
    count: i64,
    array_of_blocklengths: Ints,
    array_of_displacements: Ints,
    oldtype: Datatype,
    newtype: *mut Datatype,
) -> Result<()> {
    // SAFETY: as above; the arrays have `count` elements.
    unsafe {
        derive(cx, oldtype, newtype, |old| {
            let lens = list(array_of_blocklengths, count, "array_of_blocklengths")?;
            Layout::indexed(lens, list(array_of_displacements, count, "array_of_displacements")?, old)
        })
    }
}

pub unsafe fn type_create_hindexed(
    cx: &Call,
    count: i64,
    array_of_blocklengths: Ints,
    array_of_displacements: Ints,
    oldtype: Datatype,
    newtype: *mut Datatype,
) -> Result<()> {
    // SAFETY: as above.
    unsafe {
        derive(cx, oldtype, newtype, |old| {
            let lens = list(array_of_blocklengths, count, "array_of_blocklengths")?;
            Layout::hindexed(lens, list(array_of_displacements, count, "array_of_displacements")?, old)
        })
    }
}

pub unsafe fn type_create_indexed_block(
    cx: &Call,
    count: i64,
    blocklength: i64,
    array_of_displacements: Ints,
    oldtype: Datatype,
    newtype: *mut Datatype,
) -> Result<()> {
    // SAFETY: as above.
    unsafe {
        derive(cx, oldtype, newtype, |old| {
            Layout::indexed_block(blocklength, list(array_of_displacements, count, "array_of_displacements")?, old)
        })
    }
}

pub unsafe fn type_create_hindexed_block(
    cx: &Call,
    count: i64,
    blocklength: i64,
    array_of_displacements: Ints,
    oldtype: Datatype,
    newtype: *mut Datatype,
) -> Result<()> {
    // SAFETY: as above.
    unsafe {
        derive(cx, oldtype, newtype, |old| {
            Layout::hindexed_block(blocklength, list(array_of_displacements, count, "array_of_displacements")?, old)
        })
    }
}

pub unsafe fn type_create_struct(
    cx: &Call,
    count: i64,
    array_of_blocklengths: Ints,
    array_of_displacements: Ints,
    array_of_types: *const Datatype,
    newtype: *mut Datatype,
) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(newtype, "newtype")?;
    // SAFETY: the arrays have `count` elements.
    let (lens, disps, handles) = unsafe {
        (
            list(array_of_blocklengths, count, "array_of_blocklengths")?,
            list(array_of_displacements, count, "array_of_displacements")?,
            collect(array_of_types.is_null(), count, "array_of_types", |i| array_of_types.add(i).read())?,
        )
    };
    let mut members = Vec::with_capacity(handles.len());
    for (i, handle) in handles.into_iter().enumerate() {
        // No other constructor takes the markers of MPI-1.
        let member = types::asked(&guard, handle);
        members.push(member.map_err(|error| error.within(format_args!("array_of_types[{i}]")))?.clone());
    }
    let new = Layout::create_struct(lens, disps, members)?;
    // SAFETY: checked not to be null.
    unsafe { give(cx, &mut guard, new, newtype) }
}

pub unsafe fn type_create_subarray(
    cx: &Call,
    ndims: c_int,
    array_of_sizes: Ints,
    array_of_subsizes: Ints,
    array_of_starts: Ints,
    order: c_int,
    oldtype: Datatype,
    newtype: *mut Datatype,
) -> Result<()> {
    // SAFETY: the arrays have `ndims` elements; the rest is passed on.
    unsafe {
        derive(cx, oldtype, newtype, |old| {
            let ndims = dimensions(ndims)?;
            let sizes = list(array_of_sizes, ndims, "array_of_sizes")?;
            let subsizes = list(array_of_subsizes, ndims, "array_of_subsizes")?;
            Layout::subarray(sizes, subsizes, list(array_of_starts, ndims, "array_of_starts")?, order, old)
        })
    }
}

pub unsafe fn type_create_darray(
    cx: &Call,
    size: c_int,
    rank: c_int,
    ndims: c_int,
    array_of_gsizes: Ints,
    array_of_distribs: *const c_int,
    array_of_dargs: *const c_int,
    array_of_psizes: *const c_int,
    order: c_int,
    oldtype: Datatype,
    newtype: *mut Datatype,
) -> Result<()> {
    // SAFETY: as above.
    unsafe {
        derive(cx, oldtype, newtype, |old| {
            let ndims = dimensions(ndims)?;
            let gsizes = list(array_of_gsizes, ndims, "array_of_gsizes")?;
            let distribs = int_list(array_of_distribs, ndims, "array_of_distribs")?;
            let dargs = int_list(array_of_dargs, ndims, "array_of_dargs")?;
            let psizes = int_list(array_of_psizes, ndims, "array_of_psizes")?;
            Layout::darray(size, rank, gsizes, distribs, dargs, psizes, order, old)
        })
    }
}

fn dimensions(ndims: c_int) -> Result<i64> {
    if ndims < 1 {
        bail!(MPI_ERR_ARG, "ndims is {ndims}; an array has at least one dimension");
    }
    Ok(ndims.into())
}

pub unsafe fn type_create_resized(
    cx: &Call,
    oldtype: Datatype,
    lb: i64,
    extent: i64,
    newtype: *mut Datatype,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe { derive(cx, oldtype, newtype, |old| Layout::resized(old, lb, extent)) }
}

pub unsafe fn type_dup(cx: &Call, oldtype: Datatype, newtype: *mut Datatype) -> Result<()> {
    let new = {
        let guard = cx.enter()?;
        let old = guard.datatype(oldtype)?;
        check_place(newtype, "newtype")?;
        Layout::dup(old)
    };
    // The copy callbacks run without the lock.
    let attributes = cx.library().copy_attributes(Object::Datatype(oldtype))?;
    let handle = types::add(&mut cx.enter()?, new)?;
    cx.library().adopt_attributes(Object::Datatype(handle), attributes);
    // SAFETY: checked not to be null.
    unsafe { newtype.write(handle) };
    Ok(())
}

pub unsafe fn type_commit(cx: &Call, datatype: *mut Datatype) -> Result<()> {
    let guard = cx.enter()?;
    check_place(datatype, "datatype")?;
    // SAFETY: not null, so it points to a handle.
    guard.datatype(unsafe { peek(datatype) })?.commit()
}

pub unsafe fn type_free(cx: &Call, datatype: *mut Datatype) -> Result<()> {
    check_place(datatype, "datatype")?;
    // SAFETY: not null, so it points to a handle.
    let handle = unsafe { peek(datatype) };
    if cx.enter()?.datatype(handle)?.is_predefined() {
        bail!(MPI_ERR_TYPE, "the datatype is predefined; it cannot be freed");
    }
    // Its callbacks run without the lock.
    cx.library().delete_attributes(Object::Datatype(handle))?;
    let mut guard = cx.enter()?;
    guard.type_names.remove(&handle);
    // What still uses the type, another type or a message under way, holds on to it.
    guard.types.remove(handle.0);
    // SAFETY: checked not to be null.
    unsafe { datatype.write(MPI_DATATYPE_NULL) };
    Ok(())
}

/// Stores a size or a bound; what the place cannot hold is `MPI_UNDEFINED`.
///
/// # Safety
/// The place is null or may be written.
pub(super) unsafe fn store_wide(to: OutInt, value: Option<Wide>, name: &str) -> Result<()> {
    if to.is_null() {
        return Err(null_pointer(name));
    }
    let value = value.and_then(|value| i64::try_from(value).ok());
    // SAFETY: checked not to be null.
    unsafe {
        if !value.is_some_and(|value| to.set(value)) {
            // This always fits.
            let _fits = to.set(MPI_UNDEFINED.into());
        }
    }
    Ok(())
}

pub unsafe fn type_size(cx: &Call, datatype: Datatype, size: OutInt) -> Result<()> {
    let guard = cx.enter()?;
    // SAFETY: null or may be written.
    unsafe { store_wide(size, Some(types::asked(&guard, datatype)?.size()), "size") }
}

pub unsafe fn type_size_x(cx: &Call, datatype: Datatype, size: *mut Count) -> Result<()> {
    // SAFETY: passed on.
    unsafe { type_size(cx, datatype, OutInt::wide(size)) }
}

pub unsafe fn type_get_extent(cx: &Call, datatype: Datatype, lb: OutInt, extent: OutInt) -> Result<()> {
    let guard = cx.enter()?;
    let found = types::asked(&guard, datatype)?;
    // SAFETY: null or may be written.
    unsafe {
        store_wide(lb, Some(found.lb()), "lb")?;
        store_wide(extent, Some(found.extent()), "extent")
    }
}

pub unsafe fn type_get_extent_x(cx: &Call, datatype: Datatype, lb: *mut Count, extent: *mut Count) -> Result<()> {
    // SAFETY: passed on.
    unsafe { type_get_extent(cx, datatype, OutInt::wide(lb), OutInt::wide(extent)) }
}

pub unsafe fn type_get_true_extent(cx: &Call, datatype: Datatype, true_lb: OutInt, true_extent: OutInt) -> Result<()> {
    let guard = cx.enter()?;
    let found = types::asked(&guard, datatype)?;
    // SAFETY: null or may be written.
    unsafe {
        store_wide(true_lb, Some(found.true_lb()), "true_lb")?;
        store_wide(true_extent, Some(found.true_extent()), "true_extent")
    }
}

pub unsafe fn type_get_true_extent_x(
    cx: &Call,
    datatype: Datatype,
    true_lb: *mut Count,
    true_extent: *mut Count,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe { type_get_true_extent(cx, datatype, OutInt::wide(true_lb), OutInt::wide(true_extent)) }
}

pub unsafe fn get_elements(cx: &Call, status: *const Status, datatype: Datatype, count: OutInt) -> Result<()> {
    let guard = cx.enter()?;
    // SAFETY: null or a status.
    let Some(status) = (unsafe { status.as_ref() }) else {
        bail!(MPI_ERR_ARG, "the status is MPI_STATUS_IGNORE (a null pointer)");
    };
    // SAFETY: null or may be written.
    unsafe { store_wide(count, guard.datatype(datatype)?.elements_of(status.bytes()), "count") }
}

pub unsafe fn get_elements_x(cx: &Call, status: *const Status, datatype: Datatype, count: *mut Count) -> Result<()> {
    // SAFETY: passed on.
    unsafe { get_elements(cx, status, datatype, OutInt::wide(count)) }
}

pub unsafe fn type_match_size(cx: &Call, typeclass: c_int, size: c_int, datatype: *mut Datatype) -> Result<()> {
    cx.enter()?;
    let found = match_size(typeclass, size)?;
    // SAFETY: null or may be written.
    unsafe { store(datatype, Datatype(found.handle.into()), "datatype") }
}

pub unsafe fn type_create_f90_real(cx: &Call, p: c_int, r: c_int, newtype: *mut Datatype) -> Result<()> {
    // SAFETY: passed on, here and below.
    unsafe { predefined_unnamed(cx, Layout::f90_real(p, r), newtype) }
}

pub unsafe fn type_create_f90_complex(cx: &Call, p: c_int, r: c_int, newtype: *mut Datatype) -> Result<()> {
    // SAFETY: as above.
    unsafe { predefined_unnamed(cx, Layout::f90_complex(p, r), newtype) }
}

pub unsafe fn type_create_f90_integer(cx: &Call, r: c_int, newtype: *mut Datatype) -> Result<()> {
    // SAFETY: as above.
    unsafe { predefined_unnamed(cx, Layout::f90_integer(r), newtype) }
}

/// # Safety
/// `newtype` is null or may be written.
unsafe fn predefined_unnamed(cx: &Call, found: Result<Arc<Layout>>, newtype: *mut Datatype) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(newtype, "newtype")?;
    let handle = types::handle_of(&mut guard, &found?)?;
    // SAFETY: checked not to be null.
    unsafe { newtype.write(handle) };
    Ok(())
}

pub unsafe fn type_get_value_index(
    cx: &Call,
    value_type: Datatype,
    index_type: Datatype,
    pair_type: *mut Datatype,
) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(pair_type, "pair_type")?;
    let pair = Layout::value_index(guard.datatype(value_type)?, guard.datatype(index_type)?);
    let handle = match pair {
        Some(pair) => types::handle_of(&mut guard, &pair)?,
        None => MPI_DATATYPE_NULL,
    };
    // SAFETY: checked not to be null.
    unsafe { pair_type.write(handle) };
    Ok(())
}

pub unsafe fn get_address(_cx: &Call, location: *const c_void, address: *mut Aint) -> Result<()> {
    // SAFETY: null or may be written.
    unsafe { store(address, location.addr() as Aint, "address") }
}

pub unsafe fn aint_add(base: Aint, disp: Aint) -> Aint {
    base.wrapping_add(disp)
}

pub unsafe fn aint_diff(addr1: Aint, addr2: Aint) -> Aint {
    addr1.wrapping_sub(addr2)
}
