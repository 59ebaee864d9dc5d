//! The constructor of a type and its arguments; names and attributes of types.

use crate::args::OutArray;
use crate::call::Call;
use crate::keyvals::callbacks;
use oxmpi::datatype as types;
use oxmpi_abi::callbacks::{TypeCopyAttrFn, TypeDeleteAttrFn};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Datatype;
use oxmpi_abi::types::{Aint, Count};
use oxmpi_abi::{Result, bail};
use oxmpi_core::attributes::{Object, Owner, Value};
use oxmpi_core::callback::{AttributeFunctions, Callback};
use oxmpi_datatype::{Combiner, Contents, Envelope};
use std::cell::Cell;
use std::ffi::c_int;

pub fn type_get_envelope(cx: &Call, datatype: Datatype) -> Result<(c_int, c_int, c_int, c_int)> {
    let envelope = types::asked(&cx.enter()?, datatype)?.envelope();
    check_small(&envelope, "MPI_Type_get_envelope_c")?;
    // The arguments of a type of small counts fit into an int: they came in two arrays up to 2^31.
    let narrow = |n: usize| c_int::try_from(n).unwrap_or(MPI_UNDEFINED);
    Ok((narrow(envelope.integers), narrow(envelope.addresses), narrow(envelope.datatypes), envelope.combiner as c_int))
}

pub fn type_get_envelope_c(cx: &Call, datatype: Datatype) -> Result<(Count, Count, Count, Count, c_int)> {
    let envelope = types::asked(&cx.enter()?, datatype)?.envelope();
    Ok((
        envelope.integers as Count,
        envelope.addresses as Count,
        envelope.large_counts as Count,
        envelope.datatypes as Count,
        envelope.combiner as c_int,
    ))
}

fn check_small(envelope: &Envelope, instead: &str) -> Result<()> {
    if envelope.large_counts > 0 {
        bail!(MPI_ERR_TYPE, "the datatype was made with large counts; {instead} can show them");
    }
    Ok(())
}

pub fn type_get_contents(
    cx: &Call,
    datatype: Datatype,
    array_of_integers: OutArray<c_int>,
    array_of_addresses: OutArray<Aint>,
    array_of_datatypes: OutArray<Datatype>,
) -> Result<()> {
    let contents = contents(cx, datatype)?;
    check_small(&cx.enter()?.datatype(datatype)?.envelope(), "MPI_Type_get_contents_c")?;
    fill(array_of_integers, &contents.integers, "integers")?;
    fill(array_of_addresses, &contents.addresses, "addresses")?;
    fill_types(cx, array_of_datatypes, &contents)
}

pub fn type_get_contents_c(
    cx: &Call,
    datatype: Datatype,
    array_of_integers: OutArray<c_int>,
    array_of_addresses: OutArray<Aint>,
    array_of_large_counts: OutArray<Count>,
    array_of_datatypes: OutArray<Datatype>,
) -> Result<()> {
    let contents = contents(cx, datatype)?;
    fill(array_of_integers, &contents.integers, "integers")?;
    fill(array_of_addresses, &contents.addresses, "addresses")?;
    fill(array_of_large_counts, &contents.large_counts, "large_counts")?;
    fill_types(cx, array_of_datatypes, &contents)
}

fn contents(cx: &Call, datatype: Datatype) -> Result<Contents> {
    let guard = cx.enter()?;
    let found = guard.datatype(datatype)?;
    if found.combiner() == Combiner::Named {
        bail!(MPI_ERR_TYPE, "{found:?} is a predefined datatype with a name; it has no contents");
    }
    Ok(found.contents())
}

fn fill<T: Copy>(array: OutArray<T>, values: &[T], what: &str) -> Result<()> {
    check_room(array, values.len(), what)?;
    values.iter().enumerate().for_each(|(i, &value)| array.set(i, value));
    Ok(())
}

/// Stores handles: for a predefined type its own, for another a new one.
fn fill_types(cx: &Call, array: OutArray<Datatype>, contents: &Contents) -> Result<()> {
    check_room(array, contents.datatypes.len(), "datatypes")?;
    let mut guard = cx.enter()?;
    for (i, ty) in contents.datatypes.iter().enumerate() {
        array.set(i, types::handle_of(&mut guard, ty)?);
    }
    Ok(())
}

fn check_room<T: Copy>(array: OutArray<T>, need: usize, what: &str) -> Result<()> {
    let max = array.room();
    if max < 0 || (max as u64) < need as u64 {
        bail!(MPI_ERR_ARG, "max_{what} is {max}, but the constructor of the datatype had {need}");
    }
    if need > 0 { array.check(&format!("array_of_{what}")) } else { Ok(()) }
}

pub fn type_get_name(cx: &Call, datatype: Datatype) -> Result<Vec<u8>> {
    let guard = cx.enter()?;
    Ok(match datatype {
        MPI_DATATYPE_NULL => b"MPI_DATATYPE_NULL".to_vec(),
        MPI_LB => b"MPI_LB".to_vec(),
        MPI_UB => b"MPI_UB".to_vec(),
        _ => {
            let found = guard.datatype(datatype)?;
            let predefined = || found.named().map_or_else(Vec::new, |named| named.name.as_bytes().to_vec());
            guard.type_names.get(&datatype).cloned().unwrap_or_else(predefined)
        }
    })
}

pub fn type_set_name(cx: &Call, datatype: Datatype, type_name: &[u8]) -> Result<()> {
    let mut guard = cx.enter()?;
    guard.datatype(datatype)?;
    let kept = &type_name[..type_name.len().min(MPI_MAX_OBJECT_NAME as usize - 1)];
    guard.type_names.insert(datatype, kept.to_vec());
    Ok(())
}

pub fn type_create_keyval(
    cx: &Call,
    type_copy_attr_fn: Callback<TypeCopyAttrFn>,
    type_delete_attr_fn: Callback<TypeDeleteAttrFn>,
    extra_state: usize,
) -> Result<c_int> {
    cx.enter()?;
    let functions = AttributeFunctions::Type(type_copy_attr_fn, type_delete_attr_fn);
    let (owner, callbacks) = callbacks(functions, extra_state);
    cx.library().create_key(owner, callbacks)
}

pub fn type_free_keyval(cx: &Call, type_keyval: &Cell<c_int>) -> Result<()> {
    cx.enter()?;
    cx.library().free_key(Owner::Datatype, type_keyval.get())?;
    type_keyval.set(MPI_KEYVAL_INVALID);
    Ok(())
}

pub fn type_set_attr(cx: &Call, datatype: Datatype, type_keyval: c_int, attribute_val: usize) -> Result<()> {
    cx.enter()?.datatype(datatype)?;
    cx.library().set_attribute(Object::Datatype(datatype), type_keyval, Value::Pointer(attribute_val))
}

pub fn type_get_attr(cx: &Call, datatype: Datatype, type_keyval: c_int) -> Result<Option<usize>> {
    cx.enter()?.datatype(datatype)?;
    cx.library().attribute(Object::Datatype(datatype), type_keyval)
}

pub fn type_delete_attr(cx: &Call, datatype: Datatype, type_keyval: c_int) -> Result<()> {
    cx.enter()?.datatype(datatype)?;
    cx.library().delete_attribute(Object::Datatype(datatype), type_keyval)
}
