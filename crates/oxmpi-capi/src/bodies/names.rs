//! The names of communicators and windows.

use super::{store_text, text};
use crate::call::Call;
use oxmpi_abi::Result;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Win};
use std::ffi::{c_char, c_int};

pub unsafe fn comm_set_name(cx: &Call, comm: Comm, comm_name: *const c_char) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = guard.comm_mut(comm)?;
    // SAFETY: null or a string.
    let name = unsafe { text(comm_name, "comm_name")? };
    found.name = name[..name.len().min(MPI_MAX_OBJECT_NAME as usize - 1)].to_vec();
    Ok(())
}

pub unsafe fn comm_get_name(cx: &Call, comm: Comm, comm_name: *mut c_char, resultlen: *mut c_int) -> Result<()> {
    let guard = cx.enter()?;
    let name = if comm == MPI_COMM_NULL { b"MPI_COMM_NULL" } else { guard.comm(comm)?.name.as_slice() };
    // SAFETY: null or room for MPI_MAX_OBJECT_NAME characters; null or may be written.
    unsafe { store_text(comm_name, resultlen, name, "comm_name") }
}

pub unsafe fn win_set_name(cx: &Call, win: Win, win_name: *const c_char) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = guard.win_mut(win)?;
    // SAFETY: null or a string.
    let name = unsafe { text(win_name, "win_name")? };
    found.name = name[..name.len().min(MPI_MAX_OBJECT_NAME as usize - 1)].to_vec();
    Ok(())
}

pub unsafe fn win_get_name(cx: &Call, win: Win, win_name: *mut c_char, resultlen: *mut c_int) -> Result<()> {
    let guard = cx.enter()?;
    let name = if win == MPI_WIN_NULL { b"MPI_WIN_NULL" } else { guard.win(win)?.name.as_slice() };
    // SAFETY: null or room for MPI_MAX_OBJECT_NAME characters; null or may be written.
    unsafe { store_text(win_name, resultlen, name, "win_name") }
}
