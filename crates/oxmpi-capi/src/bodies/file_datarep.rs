//! Representations of data in files that the program defines.

use super::text;
use crate::call::Call;
use crate::datareps::{self, Form, Functions};
use crate::generated::callbacks::{DatarepConversionFn, DatarepConversionFnC, DatarepExtentFn};
use oxmpi_abi::Result;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::sync::Mutex;

pub unsafe fn register_datarep(
    cx: &Call,
    datarep: *const c_char,
    read_conversion_fn: DatarepConversionFn,
    write_conversion_fn: DatarepConversionFn,
    dtype_file_extent_fn: DatarepExtentFn,
    extra_state: *mut c_void,
) -> Result<()> {
    let conversions =
        [read_conversion_fn, write_conversion_fn].map(|function| function.map_or(0, |call| call as usize));
    // SAFETY: passed on.
    unsafe { register(cx, datarep, Form::Int, conversions, dtype_file_extent_fn, extra_state) }
}

pub unsafe fn register_datarep_c(
    cx: &Call,
    datarep: *const c_char,
    read_conversion_fn: DatarepConversionFnC,
    write_conversion_fn: DatarepConversionFnC,
    dtype_file_extent_fn: DatarepExtentFn,
    extra_state: *mut c_void,
) -> Result<()> {
    let conversions =
        [read_conversion_fn, write_conversion_fn].map(|function| function.map_or(0, |call| call as usize));
    // SAFETY: passed on.
    unsafe { register(cx, datarep, Form::Count, conversions, dtype_file_extent_fn, extra_state) }
}

/// # Safety
/// `datarep` is null or a string; the functions are of the form that is said.
unsafe fn register(
    cx: &Call,
    datarep: *const c_char,
    form: Form,
    [read, write]: [usize; 2],
    extent: DatarepExtentFn,
    extra_state: *mut c_void,
) -> Result<()> {
    cx.enter()?;
    // SAFETY: as the caller says.
    let name = unsafe { text(datarep, "datarep")?.to_vec() };
    let Some(extent) = extent else { return Err(super::null_pointer("dtype_file_extent_fn")) };
    let (extent, extra_state) = (extent as usize, extra_state.expose_provenance());
    datareps::register(Functions { name, form, read, write, extent, extra_state, lengths: Mutex::new(BTreeMap::new()) })
}
