//! Representations of data in files that the program defines: its functions, as `oxmpi` calls them.

use super::text;
use crate::call::Call;
use crate::generated::callbacks::{DatarepConversionFn, DatarepConversionFnC, DatarepExtentFn};
use oxmpi::file::datarep;
use oxmpi_abi::Result;
use oxmpi_abi::constants::MPI_SUCCESS;
use oxmpi_abi::handle::Datatype;
use oxmpi_io::{Conversion, Functions};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::with_exposed_provenance_mut as pointer;

/// The program's functions. The compiler's null pointer is `None`.
struct Users {
    read: ConversionFn,
    write: ConversionFn,
    extent: DatarepExtentFn,
    extra_state: usize,
}

/// A conversion function, which counts entries in an `int` or in an `MPI_Count`.
#[derive(Clone, Copy)]
enum ConversionFn {
    Int(DatarepConversionFn),
    Count(DatarepConversionFnC),
}

impl Users {
    fn conversion(&self, writes: bool) -> ConversionFn {
        if writes { self.write } else { self.read }
    }
}

impl Functions for Users {
    fn length(&self, datatype: Datatype) -> Result<i64, i32> {
        let mut length = 0;
        // SAFETY: the program registered a function of this type, which takes this extra state.
        let code = self
            .extent
            .map_or(MPI_SUCCESS, |function| unsafe { function(datatype, &mut length, pointer(self.extra_state)) });
        if code == MPI_SUCCESS { Ok(length) } else { Err(code) }
    }

    fn converts(&self, writes: bool) -> bool {
        match self.conversion(writes) {
            ConversionFn::Int(function) => function.is_some(),
            ConversionFn::Count(function) => function.is_some(),
        }
    }

    fn most_entries(&self) -> u64 {
        match self.read {
            ConversionFn::Int(_) => c_int::MAX as u64,
            ConversionFn::Count(_) => i64::MAX as u64,
        }
    }

    unsafe fn convert(&self, writes: bool, data: &Conversion) -> Result<(), i32> {
        let Conversion { memory, datatype, entries, file, position } = *data;
        let (memory, file, extra) = (memory.cast::<c_void>(), file.cast(), pointer(self.extra_state));
        // SAFETY: the program registered a function of this type, which takes this extra state; memory and file are as it
        // may expect: this function's own condition.
        let code = unsafe {
            match self.conversion(writes) {
                ConversionFn::Int(function) => function
                    .map_or(MPI_SUCCESS, |call| call(memory, datatype, entries as c_int, file, position as i64, extra)),
                ConversionFn::Count(function) => function
                    .map_or(MPI_SUCCESS, |call| call(memory, datatype, entries as i64, file, position as i64, extra)),
            }
        };
        if code == MPI_SUCCESS { Ok(()) } else { Err(code) }
    }
}

pub unsafe fn register_datarep(
    cx: &Call,
    datarep: *const c_char,
    read_conversion_fn: DatarepConversionFn,
    write_conversion_fn: DatarepConversionFn,
    dtype_file_extent_fn: DatarepExtentFn,
    extra_state: *mut c_void,
) -> Result<()> {
    let conversions = [read_conversion_fn, write_conversion_fn].map(ConversionFn::Int);
    // SAFETY: the caller of MPI promises that `datarep` is null or a string.
    unsafe { register(cx, datarep, conversions, dtype_file_extent_fn, extra_state) }
}

pub unsafe fn register_datarep_c(
    cx: &Call,
    datarep: *const c_char,
    read_conversion_fn: DatarepConversionFnC,
    write_conversion_fn: DatarepConversionFnC,
    dtype_file_extent_fn: DatarepExtentFn,
    extra_state: *mut c_void,
) -> Result<()> {
    let conversions = [read_conversion_fn, write_conversion_fn].map(ConversionFn::Count);
    // SAFETY: the caller of MPI promises that `datarep` is null or a string.
    unsafe { register(cx, datarep, conversions, dtype_file_extent_fn, extra_state) }
}

/// # Safety
/// `datarep` is null or a string.
unsafe fn register(
    cx: &Call,
    datarep: *const c_char,
    [read, write]: [ConversionFn; 2],
    extent: DatarepExtentFn,
    extra_state: *mut c_void,
) -> Result<()> {
    cx.enter()?;
    // SAFETY: null or a string: this function's own condition.
    let name = unsafe { text(datarep, "datarep")?.to_vec() };
    if extent.is_none() {
        return Err(super::null_pointer("dtype_file_extent_fn"));
    }
    let users = Users { read, write, extent, extra_state: extra_state.expose_provenance() };
    datarep::register(cx.library(), name, Box::new(users))
}
