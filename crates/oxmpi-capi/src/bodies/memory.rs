//! Memory that the library gives to the program.

use super::{check_place, store};
use crate::call::Call;
use crate::infos;
use oxmpi::memory;
use oxmpi_abi::constants::MPI_ERR_ARG;
use oxmpi_abi::handle::Info;
use oxmpi_abi::types::Aint;
use oxmpi_abi::{Result, bail};
use std::ffi::c_void;

pub unsafe fn alloc_mem(cx: &Call, size: Aint, info: Info, baseptr: *mut c_void) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(baseptr, "baseptr")?;
    let Ok(bytes) = usize::try_from(size) else {
        bail!(MPI_ERR_ARG, "the size is {size}, which is negative");
    };
    let alignment = memory::minimum_alignment(&infos::get(info)?)?;
    let base = memory::allocate(&mut guard, bytes, alignment)?;
    // SAFETY: not null, so the address of a pointer, as the caller of MPI promises.
    unsafe { store(baseptr.cast(), base, "baseptr") }
}

pub unsafe fn free_mem(cx: &Call, base: *mut c_void) -> Result<()> {
    let mut guard = cx.enter()?;
    if base.is_null() {
        return Ok(());
    }
    // SAFETY: the caller of MPI promises that nobody uses the memory any more.
    unsafe { memory::free(&mut guard, base.addr()) }
}
