//! Which constructor made a type and with which arguments; names and attributes of types.

use super::{check_place, store, store_text, text};
use crate::call::Call;
use crate::generated::callbacks::{TypeCopyAttrFn, TypeDeleteAttrFn};
use crate::keyvals::callbacks;
use oxmpi::datatype as types;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Datatype;
use oxmpi_abi::types::{Aint, Count};
use oxmpi_abi::{Result, bail};
use oxmpi_core::attributes::{Object, Owner, Value};
use oxmpi_datatype::{Combiner, Contents, Envelope};
use std::ffi::{c_char, c_int, c_void};

pub unsafe fn type_get_envelope(
    cx: &Call,
    datatype: Datatype,
    num_integers: *mut c_int,
    num_addresses: *mut c_int,
    num_datatypes: *mut c_int,
    combiner: *mut c_int,
) -> Result<()> {
    let envelope = types::asked(&cx.enter()?, datatype)?.envelope();
    check_small(&envelope, "MPI_Type_get_envelope_c")?;
    // A type of small counts has no more arguments than an int can count: they came in two arrays of at most 2^31.
    let narrow = |n: usize| c_int::try_from(n).unwrap_or(MPI_UNDEFINED);
    // SAFETY: null or may be written, each.
    unsafe {
        store(num_integers, narrow(envelope.integers), "num_integers")?;
        store(num_addresses, narrow(envelope.addresses), "num_addresses")?;
        store(num_datatypes, narrow(envelope.datatypes), "num_datatypes")?;
        store(combiner, envelope.combiner as c_int, "combiner")
    }
}

pub unsafe fn type_get_envelope_c(
    cx: &Call,
    datatype: Datatype,
    num_integers: *mut Count,
    num_addresses: *mut Count,
    num_large_counts: *mut Count,
    num_datatypes: *mut Count,
    combiner: *mut c_int,
) -> Result<()> {
    let envelope = types::asked(&cx.enter()?, datatype)?.envelope();
    // SAFETY: null or may be written, each.
    unsafe {
        store(num_integers, envelope.integers as Count, "num_integers")?;
        store(num_addresses, envelope.addresses as Count, "num_addresses")?;
        store(num_large_counts, envelope.large_counts as Count, "num_large_counts")?;
        store(num_datatypes, envelope.datatypes as Count, "num_datatypes")?;
        store(combiner, envelope.combiner as c_int, "combiner")
    }
}

fn check_small(envelope: &Envelope, instead: &str) -> Result<()> {
    if envelope.large_counts > 0 {
        bail!(MPI_ERR_TYPE, "the datatype was made with large counts; {instead} can show them");
    }
    Ok(())
}

pub unsafe fn type_get_contents(
    cx: &Call,
    datatype: Datatype,
    max_integers: c_int,
    max_addresses: c_int,
    max_datatypes: c_int,
    array_of_integers: *mut c_int,
    array_of_addresses: *mut Aint,
    array_of_datatypes: *mut Datatype,
) -> Result<()> {
    let contents = contents(cx, datatype)?;
    check_small(&cx.enter()?.datatype(datatype)?.envelope(), "MPI_Type_get_contents_c")?;
    // SAFETY: the arrays have as many elements as the arguments say.
    unsafe {
        fill(array_of_integers, max_integers.into(), &contents.integers, "integers")?;
        fill(array_of_addresses, max_addresses.into(), &contents.addresses, "addresses")?;
        fill_types(cx, array_of_datatypes, max_datatypes.into(), &contents)
    }
}

pub unsafe fn type_get_contents_c(
    cx: &Call,
    datatype: Datatype,
    max_integers: Count,
    max_addresses: Count,
    max_large_counts: Count,
    max_datatypes: Count,
    array_of_integers: *mut c_int,
    array_of_addresses: *mut Aint,
    array_of_large_counts: *mut Count,
    array_of_datatypes: *mut Datatype,
) -> Result<()> {
    let contents = contents(cx, datatype)?;
    // SAFETY: as above.
    unsafe {
        fill(array_of_integers, max_integers, &contents.integers, "integers")?;
        fill(array_of_addresses, max_addresses, &contents.addresses, "addresses")?;
        fill(array_of_large_counts, max_large_counts, &contents.large_counts, "large_counts")?;
        fill_types(cx, array_of_datatypes, max_datatypes, &contents)
    }
}

fn contents(cx: &Call, datatype: Datatype) -> Result<Contents> {
    let guard = cx.enter()?;
    let found = guard.datatype(datatype)?;
    if found.combiner() == Combiner::Named {
        bail!(MPI_ERR_TYPE, "{found:?} is a predefined datatype with a name; it has no contents");
    }
    Ok(found.contents())
}

/// # Safety
/// The array is null or has `max` elements.
unsafe fn fill<T: Copy>(array: *mut T, max: i64, values: &[T], what: &str) -> Result<()> {
    check_room(array, max, values.len(), what)?;
    // SAFETY: there is room, or nothing to copy to a place that may be null.
    unsafe {
        if !values.is_empty() {
            array.copy_from_nonoverlapping(values.as_ptr(), values.len());
        }
    }
    Ok(())
}

/// Stores handles: of a predefined type its own, of another a new one.
///
/// # Safety
/// As for [`fill`].
unsafe fn fill_types(cx: &Call, array: *mut Datatype, max: i64, contents: &Contents) -> Result<()> {
    check_room(array, max, contents.datatypes.len(), "datatypes")?;
    let mut guard = cx.enter()?;
    for (i, ty) in contents.datatypes.iter().enumerate() {
        let handle = types::handle_of(&mut guard, ty)?;
        // SAFETY: there is room.
        unsafe { array.add(i).write(handle) };
    }
    Ok(())
}

fn check_room<T>(array: *mut T, max: i64, need: usize, what: &str) -> Result<()> {
    if max < 0 || (max as u64) < need as u64 {
        bail!(MPI_ERR_ARG, "max_{what} is {max}, but the constructor of the datatype had {need}");
    }
    if need > 0 { check_place(array, &format!("array_of_{what}")) } else { Ok(()) }
}

pub unsafe fn type_get_name(
    cx: &Call,
    datatype: Datatype,
    type_name: *mut c_char,
    resultlen: *mut c_int,
) -> Result<()> {
    let guard = cx.enter()?;
    let name = match datatype {
        MPI_DATATYPE_NULL => b"MPI_DATATYPE_NULL".to_vec(),
        MPI_LB => b"MPI_LB".to_vec(),
        MPI_UB => b"MPI_UB".to_vec(),
        _ => {
            let found = guard.datatype(datatype)?;
            let predefined = || found.named().map_or_else(Vec::new, |named| named.name.as_bytes().to_vec());
            guard.type_names.get(&datatype).cloned().unwrap_or_else(predefined)
        }
    };
    // SAFETY: null or room for MPI_MAX_OBJECT_NAME characters; null or may be written.
    unsafe { store_text(type_name, resultlen, &name, "type_name") }
}

pub unsafe fn type_set_name(cx: &Call, datatype: Datatype, type_name: *const c_char) -> Result<()> {
    let mut guard = cx.enter()?;
    guard.datatype(datatype)?;
    // SAFETY: null or a string.
    let name = unsafe { text(type_name, "type_name")? };
    let kept = &name[..name.len().min(MPI_MAX_OBJECT_NAME as usize - 1)];
    guard.type_names.insert(datatype, kept.to_vec());
    Ok(())
}

pub unsafe fn type_create_keyval(
    cx: &Call,
    type_copy_attr_fn: TypeCopyAttrFn,
    type_delete_attr_fn: TypeDeleteAttrFn,
    type_keyval: *mut c_int,
    extra_state: *mut c_void,
) -> Result<()> {
    cx.enter()?;
    check_place(type_keyval, "type_keyval")?;
    let copy = type_copy_attr_fn.map_or(0, |function| function as usize);
    let delete = type_delete_attr_fn.map_or(0, |function| function as usize);
    // SAFETY: the caller of MPI promises callbacks for datatypes, which take this extra state.
    let callbacks = unsafe { callbacks(copy, delete, extra_state) };
    let number = cx.library().create_key(Owner::Datatype, callbacks)?;
    // SAFETY: checked not to be null.
    unsafe { type_keyval.write(number) };
    Ok(())
}

pub unsafe fn type_free_keyval(cx: &Call, type_keyval: *mut c_int) -> Result<()> {
    cx.enter()?;
    check_place(type_keyval, "type_keyval")?;
    // SAFETY: checked not to be null.
    unsafe {
        cx.library().free_key(Owner::Datatype, type_keyval.read())?;
        type_keyval.write(MPI_KEYVAL_INVALID);
    }
    Ok(())
}

pub unsafe fn type_set_attr(
    cx: &Call,
    datatype: Datatype,
    type_keyval: c_int,
    attribute_val: *mut c_void,
) -> Result<()> {
    cx.enter()?.datatype(datatype)?;
    let value = Value::Pointer(attribute_val.expose_provenance());
    cx.library().set_attribute(Object::Datatype(datatype), type_keyval, value)
}

pub unsafe fn type_get_attr(
    cx: &Call,
    datatype: Datatype,
    type_keyval: c_int,
    attribute_val: *mut c_void,
    flag: *mut c_int,
) -> Result<()> {
    cx.enter()?.datatype(datatype)?;
    check_place(attribute_val, "attribute_val")?;
    let value = cx.library().attribute(Object::Datatype(datatype), type_keyval)?;
    // SAFETY: `attribute_val` is the address of a pointer; `flag` is null or may be written.
    unsafe {
        store(flag, c_int::from(value.is_some()), "flag")?;
        if let Some(value) = value {
            attribute_val.cast::<usize>().write(value);
        }
    }
    Ok(())
}

pub unsafe fn type_delete_attr(cx: &Call, datatype: Datatype, type_keyval: c_int) -> Result<()> {
    cx.enter()?.datatype(datatype)?;
    cx.library().delete_attribute(Object::Datatype(datatype), type_keyval)
}
