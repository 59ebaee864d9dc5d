//! User-defined data representations: the program's functions, as `oxmpi` calls them.

use crate::args::null_pointer;
use crate::call::Call;
use oxmpi::file::datarep;
use oxmpi_abi::Result;
use oxmpi_abi::callbacks::{DatarepConversionFn, DatarepConversionFnC, DatarepExtentFn};
use oxmpi_abi::constants::MPI_SUCCESS;
use oxmpi_abi::handle::Datatype;
use oxmpi_core::callback::{Callback, ConversionFunction};
use oxmpi_io::{Conversion, Functions};

/// The program's functions.
struct Users {
    read: ConversionFunction,
    write: ConversionFunction,
    extent: Callback<DatarepExtentFn>,
    extra_state: usize,
}

impl Users {
    fn conversion(&self, writes: bool) -> ConversionFunction {
        if writes { self.write } else { self.read }
    }
}

impl Functions for Users {
    fn length(&self, datatype: Datatype) -> Result<i64, i32> {
        match self.extent.call(datatype, self.extra_state) {
            (length, MPI_SUCCESS) => Ok(length),
            (_, code) => Err(code),
        }
    }

    fn converts(&self, writes: bool) -> bool {
        !self.conversion(writes).is_null()
    }

    fn most_entries(&self) -> u64 {
        self.read.most()
    }

    unsafe fn convert(&self, writes: bool, data: &Conversion) -> Result<(), i32> {
        let Conversion { memory, datatype, entries, file, position } = *data;
        let function = self.conversion(writes);
        // SAFETY: memory and file are as large as the entries need: this function's condition.
        let code = unsafe { function.call(memory, datatype, entries, file, position as i64, self.extra_state) };
        if code == MPI_SUCCESS { Ok(()) } else { Err(code) }
    }
}

pub fn register_datarep(
    cx: &Call,
    datarep: &[u8],
    read_conversion_fn: Callback<DatarepConversionFn>,
    write_conversion_fn: Callback<DatarepConversionFn>,
    dtype_file_extent_fn: Callback<DatarepExtentFn>,
    extra_state: usize,
) -> Result<()> {
    let conversions = [read_conversion_fn, write_conversion_fn].map(ConversionFunction::Int);
    register(cx, datarep, conversions, dtype_file_extent_fn, extra_state)
}

pub fn register_datarep_c(
    cx: &Call,
    datarep: &[u8],
    read_conversion_fn: Callback<DatarepConversionFnC>,
    write_conversion_fn: Callback<DatarepConversionFnC>,
    dtype_file_extent_fn: Callback<DatarepExtentFn>,
    extra_state: usize,
) -> Result<()> {
    let conversions = [read_conversion_fn, write_conversion_fn].map(ConversionFunction::Count);
    register(cx, datarep, conversions, dtype_file_extent_fn, extra_state)
}

fn register(
    cx: &Call,
    name: &[u8],
    [read, write]: [ConversionFunction; 2],
    extent: Callback<DatarepExtentFn>,
    extra_state: usize,
) -> Result<()> {
    cx.enter()?;
    if extent.is_null() {
        return Err(null_pointer("dtype_file_extent_fn"));
    }
    datarep::register(cx.library(), name.to_vec(), Box::new(Users { read, write, extent, extra_state }))
}
