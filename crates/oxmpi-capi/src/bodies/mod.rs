//! The bodies of the C functions, by subject. `cargo xtask codegen` finds a body by its name (`MPI_Send` -> `send`), so a
//! function is built as soon as its body stands here.
#![allow(clippy::missing_safety_doc, reason = "a body's contract is the standard's text on its function")]
#![allow(clippy::too_many_arguments, reason = "MPI's functions have many")]

pub mod attributes;
pub mod buffers;
pub mod communicators;
pub mod completion;
pub mod datatype;
pub mod dist_graph;
pub mod environment;
pub mod errhandlers;
pub mod errors;
pub mod file;
pub mod file_access;
pub mod file_datarep;
pub mod groups;
pub mod handles;
pub mod hardware;
pub mod info;
pub mod intercomm;
pub mod memory;
pub mod names;
pub mod ops;
pub mod pack;
pub mod partitioned;
pub mod persistent;
pub mod ports;
pub mod probe;
pub mod pt2pt;
pub mod sessions;
pub mod spawn;
pub mod status;
pub mod tool;
pub mod tool_cvar;
pub mod tool_event;
pub mod tool_pvar;
pub mod topology;
pub mod type_contents;
pub mod type_removed;
pub mod win;
pub mod win_access;
pub mod win_accumulate;
pub mod win_sync;
pub mod world;

use oxmpi_abi::constants::MPI_ERR_ARG;
use oxmpi_abi::{Error, Result, Status, bail};
use oxmpi_core::engine::Outcome;
use std::ffi::{CStr, c_char, c_int};

/// Stores the status of one operation, if it is wanted; its error field stays as it is.
///
/// # Safety
/// `to` is null or points to a status.
#[inline(always)]
pub(crate) unsafe fn store_status(to: *mut Status, status: &Status) {
    if !to.is_null() {
        // SAFETY: not null, so a status; it may be uninitialised, but ints have no invalid values and the error field is
        // written back unread.
        unsafe {
            let error = (&raw const (*to).error).read();
            to.write(*status);
            (*to).error = error;
        }
    }
}

/// Stores the empty status, if it is wanted: what the completion of no operation gives, with no error in it either.
///
/// # Safety
/// `to` is null or points to a status.
pub(crate) unsafe fn store_empty(to: *mut Status) {
    if !to.is_null() {
        // SAFETY: not null, so a status.
        unsafe { to.write(Status::empty()) };
    }
}

/// The outcome of one operation: its status is stored, its error is the call's.
///
/// # Safety
/// As for [`store_status`].
#[inline(always)]
pub(crate) unsafe fn finish(outcome: Outcome, status: *mut Status) -> Result<()> {
    // SAFETY: as the caller says.
    unsafe { store_status(status, &outcome.status) };
    match outcome.error {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

/// Stores an output argument; `name` is for the error when there is no place for it.
///
/// # Safety
/// `to` is null or may be written.
#[inline(always)]
pub(crate) unsafe fn store<T>(to: *mut T, value: T, name: &str) -> Result<()> {
    check_place(to, name)?;
    // SAFETY: not null.
    unsafe { to.write(value) };
    Ok(())
}

#[inline(always)]
pub(crate) fn check_place<T>(to: *const T, name: &str) -> Result<()> {
    if to.is_null() { Err(null_pointer(name)) } else { Ok(()) }
}

#[cold]
pub(crate) fn null_pointer(name: &str) -> Error {
    Error::new(MPI_ERR_ARG, format!("the argument {name} is a null pointer"))
}

/// An array argument: its length must not be negative, and it may be null only when it is empty.
///
/// # Safety
/// A pointer that is not null points to `count` elements, which nobody else uses while the slice lives.
pub(crate) unsafe fn slice_mut<'a, T>(array: *mut T, count: i32, name: &str) -> Result<&'a mut [T]> {
    if count < 0 {
        bail!(oxmpi_abi::constants::MPI_ERR_COUNT, "the length of {name} is {count}, which is negative");
    }
    if count == 0 {
        return Ok(&mut []);
    }
    check_place(array, name)?;
    // SAFETY: as the caller says.
    Ok(unsafe { std::slice::from_raw_parts_mut(array, count as usize) })
}

/// A string argument.
///
/// # Safety
/// `string` is null or ends with a null character, and nobody changes it while the slice lives.
pub(crate) unsafe fn text<'a>(string: *const c_char, name: &str) -> Result<&'a [u8]> {
    check_place(string, name)?;
    // SAFETY: as the caller says.
    Ok(unsafe { CStr::from_ptr(string) }.to_bytes())
}

/// Stores an output string, its end and its length.
///
/// # Safety
/// `to` is null or has room for the string and a null character; `length` is null or may be written.
pub(crate) unsafe fn store_text(to: *mut c_char, length: *mut c_int, string: &[u8], name: &str) -> Result<()> {
    check_place(to, name)?;
    check_place(length, "resultlen")?;
    // SAFETY: as the caller says.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(string.as_ptr(), string.len());
        to.add(string.len()).write(0);
        length.write(string.len() as c_int);
    }
    Ok(())
}
