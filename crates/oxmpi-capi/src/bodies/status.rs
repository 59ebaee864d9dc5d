//! What a status says: its fields, how much arrived, whether the operation was cancelled.

use super::{null_pointer, store};
use crate::args::OutInt;
use crate::call::Call;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Datatype;
use oxmpi_abi::types::Count;
use oxmpi_abi::{Error, Result, Status, bail};
use std::ffi::c_int;

/// # Safety
/// `status` is null or points to a status.
unsafe fn read<'a>(status: *const Status) -> Result<&'a Status> {
    // SAFETY: as the caller says.
    unsafe { status.as_ref() }.ok_or_else(no_status)
}

/// # Safety
/// `status` is null or points to a status, which nobody else uses meanwhile.
unsafe fn change<'a>(status: *mut Status) -> Result<&'a mut Status> {
    // SAFETY: as the caller says.
    unsafe { status.as_mut() }.ok_or_else(no_status)
}

#[cold]
fn no_status() -> Error {
    Error::new(MPI_ERR_ARG, "the status is MPI_STATUS_IGNORE (a null pointer)")
}

pub unsafe fn get_count(cx: &Call, status: *const Status, datatype: Datatype, count: OutInt) -> Result<()> {
    let guard = cx.enter()?;
    if count.is_null() {
        return Err(null_pointer("count"));
    }
    // SAFETY: null or a status.
    let bytes = unsafe { read(status)? }.bytes();
    let entries = guard.datatype(datatype)?.count_of(bytes).and_then(|entries| i64::try_from(entries).ok());
    // SAFETY: checked not to be null.
    unsafe {
        if !entries.is_some_and(|entries| count.set(entries)) {
            // Not a whole number of entries, or more than fit; this always does.
            let _fits = count.set(MPI_UNDEFINED.into());
        }
    }
    Ok(())
}

pub unsafe fn status_set_elements(cx: &Call, status: *mut Status, datatype: Datatype, count: i64) -> Result<()> {
    let guard = cx.enter()?;
    // SAFETY: null or a status.
    let status = unsafe { change(status)? };
    let found = guard.datatype(datatype)?;
    let Ok(elements) = u64::try_from(count) else {
        bail!(MPI_ERR_COUNT, "the count is {count}, which is negative");
    };
    match found.bytes_of(elements) {
        Some(bytes) if bytes <= i64::MAX.into() => status.set_bytes(bytes as u64),
        Some(_) => bail!(MPI_ERR_COUNT, "{count} elements of this datatype are more bytes than a status can hold"),
        None => bail!(MPI_ERR_COUNT, "the count is {count}, but the datatype has no elements"),
    }
    Ok(())
}

pub unsafe fn status_set_elements_x(cx: &Call, status: *mut Status, datatype: Datatype, count: Count) -> Result<()> {
    // SAFETY: passed on.
    unsafe { status_set_elements(cx, status, datatype, count) }
}

pub unsafe fn test_cancelled(_cx: &Call, status: *const Status, flag: *mut c_int) -> Result<()> {
    // SAFETY: null or a status; null or may be written.
    unsafe { store(flag, c_int::from(read(status)?.is_cancelled()), "flag") }
}

pub unsafe fn status_set_cancelled(_cx: &Call, status: *mut Status, flag: c_int) -> Result<()> {
    // SAFETY: null or a status.
    unsafe { change(status)? }.set_cancelled(flag != 0);
    Ok(())
}

pub unsafe fn status_get_source(_cx: &Call, status: *const Status, source: *mut c_int) -> Result<()> {
    // SAFETY: null or a status; null or may be written.
    unsafe { store(source, read(status)?.source, "source") }
}

pub unsafe fn status_get_tag(_cx: &Call, status: *const Status, tag: *mut c_int) -> Result<()> {
    // SAFETY: as above.
    unsafe { store(tag, read(status)?.tag, "tag") }
}

pub unsafe fn status_get_error(_cx: &Call, status: *const Status, error: *mut c_int) -> Result<()> {
    // SAFETY: as above.
    unsafe { store(error, read(status)?.error, "error") }
}

pub unsafe fn status_set_source(_cx: &Call, status: *mut Status, source: c_int) -> Result<()> {
    // SAFETY: null or a status.
    unsafe { change(status)? }.source = source;
    Ok(())
}

pub unsafe fn status_set_tag(_cx: &Call, status: *mut Status, tag: c_int) -> Result<()> {
    // SAFETY: null or a status.
    unsafe { change(status)? }.tag = tag;
    Ok(())
}

pub unsafe fn status_set_error(_cx: &Call, status: *mut Status, error: c_int) -> Result<()> {
    // SAFETY: null or a status.
    unsafe { change(status)? }.error = error;
    Ok(())
}
