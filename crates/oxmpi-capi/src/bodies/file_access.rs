//! Reads and writes of files that are done when the call returns: at an offset, at the file pointer of the process or at the one
//! of all.

use super::store_status;
use crate::call::Call;
use crate::files::{Access, At, perform};
use oxmpi_abi::handle::{Datatype, File};
use oxmpi_abi::types::Offset;
use oxmpi_abi::{Result, Status};
use std::ffi::c_void;

/// # Safety
/// The buffer is as the access says; `status` is null or a status.
unsafe fn now(cx: &Call, access: Access, status: *mut Status) -> Result<()> {
    // SAFETY: as the caller says.
    unsafe {
        let moved = perform(cx, access)?;
        store_status(status, &moved);
    }
    Ok(())
}

pub unsafe fn file_read_at(
    cx: &Call,
    fh: File,
    offset: Offset,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    status: *mut Status,
) -> Result<()> {
    let access = Access { fh, at: At::Offset(offset), writes: false, together: false, buf, count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or a status.
    unsafe { now(cx, access, status) }
}

pub unsafe fn file_read_at_all(
    cx: &Call,
    fh: File,
    offset: Offset,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    status: *mut Status,
) -> Result<()> {
    let access = Access { fh, at: At::Offset(offset), writes: false, together: true, buf, count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or a status.
    unsafe { now(cx, access, status) }
}

pub unsafe fn file_read(
    cx: &Call,
    fh: File,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    status: *mut Status,
) -> Result<()> {
    let access = Access { fh, at: At::Own, writes: false, together: false, buf, count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or a status.
    unsafe { now(cx, access, status) }
}

pub unsafe fn file_read_all(
    cx: &Call,
    fh: File,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    status: *mut Status,
) -> Result<()> {
    let access = Access { fh, at: At::Own, writes: false, together: true, buf, count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or a status.
    unsafe { now(cx, access, status) }
}

pub unsafe fn file_read_shared(
    cx: &Call,
    fh: File,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    status: *mut Status,
) -> Result<()> {
    let access = Access { fh, at: At::Shared, writes: false, together: false, buf, count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or a status.
    unsafe { now(cx, access, status) }
}

pub unsafe fn file_read_ordered(
    cx: &Call,
    fh: File,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    status: *mut Status,
) -> Result<()> {
    let access = Access { fh, at: At::Ordered, writes: false, together: true, buf, count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or a status.
    unsafe { now(cx, access, status) }
}

pub unsafe fn file_write_at(
    cx: &Call,
    fh: File,
    offset: Offset,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    status: *mut Status,
) -> Result<()> {
    let access =
        Access { fh, at: At::Offset(offset), writes: true, together: false, buf: buf.cast_mut(), count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or a status.
    unsafe { now(cx, access, status) }
}

pub unsafe fn file_write_at_all(
    cx: &Call,
    fh: File,
    offset: Offset,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    status: *mut Status,
) -> Result<()> {
    let access =
        Access { fh, at: At::Offset(offset), writes: true, together: true, buf: buf.cast_mut(), count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or a status.
    unsafe { now(cx, access, status) }
}

pub unsafe fn file_write(
    cx: &Call,
    fh: File,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    status: *mut Status,
) -> Result<()> {
    let access = Access { fh, at: At::Own, writes: true, together: false, buf: buf.cast_mut(), count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or a status.
    unsafe { now(cx, access, status) }
}

pub unsafe fn file_write_all(
    cx: &Call,
    fh: File,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    status: *mut Status,
) -> Result<()> {
    let access = Access { fh, at: At::Own, writes: true, together: true, buf: buf.cast_mut(), count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or a status.
    unsafe { now(cx, access, status) }
}

pub unsafe fn file_write_shared(
    cx: &Call,
    fh: File,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    status: *mut Status,
) -> Result<()> {
    let access = Access { fh, at: At::Shared, writes: true, together: false, buf: buf.cast_mut(), count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or a status.
    unsafe { now(cx, access, status) }
}

pub unsafe fn file_write_ordered(
    cx: &Call,
    fh: File,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    status: *mut Status,
) -> Result<()> {
    let access = Access { fh, at: At::Ordered, writes: true, together: true, buf: buf.cast_mut(), count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or a status.
    unsafe { now(cx, access, status) }
}
