//! The names of communicators and windows, and what two communicators have in common.

use super::errhandlers::not_window;
use super::{store, store_text, text};
use crate::call::{Cx, On};
use oxmpi_abi::Result;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Win};
use std::ffi::{c_char, c_int};

pub unsafe fn comm_set_name(cx: &Cx, comm: Comm, comm_name: *const c_char) -> Result<()> {
    let mut guard = cx.process()?;
    let found = guard.comm_mut(comm)?;
    // SAFETY: null or a string.
    let name = unsafe { text(comm_name, "comm_name")? };
    found.name = name[..name.len().min(MPI_MAX_OBJECT_NAME as usize - 1)].to_vec();
    Ok(())
}

pub unsafe fn comm_get_name(cx: &Cx, comm: Comm, comm_name: *mut c_char, resultlen: *mut c_int) -> Result<()> {
    let guard = cx.process()?;
    let name = if comm == MPI_COMM_NULL { b"MPI_COMM_NULL" } else { guard.comm(comm)?.name.as_slice() };
    // SAFETY: null or room for MPI_MAX_OBJECT_NAME characters; null or may be written.
    unsafe { store_text(comm_name, resultlen, name, "comm_name") }
}

pub unsafe fn win_set_name(cx: &Cx, win: Win, _win_name: *const c_char) -> Result<()> {
    cx.process()?;
    Err(not_window(win))
}

pub unsafe fn win_get_name(cx: &Cx, win: Win, win_name: *mut c_char, resultlen: *mut c_int) -> Result<()> {
    cx.process()?;
    if win != MPI_WIN_NULL {
        return Err(not_window(win));
    }
    // SAFETY: null or room for MPI_MAX_OBJECT_NAME characters; null or may be written.
    unsafe { store_text(win_name, resultlen, b"MPI_WIN_NULL", "win_name") }
}

pub unsafe fn comm_test_inter(cx: &Cx, comm: Comm, flag: *mut c_int) -> Result<()> {
    cx.process()?.comm(comm)?;
    // SAFETY: null or may be written. Intercommunicators cannot be made yet.
    unsafe { store(flag, 0, "flag") }
}

pub unsafe fn comm_compare(cx: &Cx, comm1: Comm, comm2: Comm, result: *mut c_int) -> Result<()> {
    let guard = cx.process()?;
    let first = guard.comm(comm1)?;
    cx.raise_on(On::Comm(comm1));
    let second = guard.comm(comm2)?;
    let members = |comm: &oxmpi_core::comm::Comm| -> Vec<usize> {
        (0..comm.group.len()).map(|rank| comm.group.get(rank)).collect()
    };
    let verdict = if comm1 == comm2 {
        MPI_IDENT
    } else {
        let (mut ours, mut theirs) = (members(first), members(second));
        if ours == theirs {
            MPI_CONGRUENT
        } else {
            ours.sort_unstable();
            theirs.sort_unstable();
            if ours == theirs { MPI_SIMILAR } else { MPI_UNEQUAL }
        }
    };
    // SAFETY: null or may be written.
    unsafe { store(result, verdict, "result") }
}
