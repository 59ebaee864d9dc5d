//! Memory that the library allocates for the program.

use crate::call::Call;
use crate::library::LIBRARY;
use oxmpi::memory;
use oxmpi_abi::constants::MPI_ERR_ARG;
use oxmpi_abi::handle::Info;
use oxmpi_abi::types::Aint;
use oxmpi_abi::{Result, bail};
use std::ffi::c_void;

pub fn alloc_mem(cx: &Call, size: Aint, info: Info) -> Result<usize> {
    let mut guard = cx.enter()?;
    let Ok(bytes) = usize::try_from(size) else {
        bail!(MPI_ERR_ARG, "the size is {size}, which is negative");
    };
    let alignment = memory::minimum_alignment(&LIBRARY.info(info)?)?;
    memory::allocate(&mut guard, bytes, alignment).map(|base| base.expose_provenance())
}

/// # Safety
/// Nobody uses the memory any more.
pub unsafe fn free_mem(cx: &Call, base: *mut c_void) -> Result<()> {
    let mut guard = cx.enter()?;
    if base.is_null() {
        return Ok(());
    }
    // SAFETY: nobody uses the memory any more: this function's condition.
    unsafe { memory::free(&mut guard, base.addr()) }
}
