//! Reads and writes of files that the program completes later: with a request, or with a second call.

use super::store_status;
use crate::call::Call;
use crate::files::{Access, At, begin, start};
use oxmpi_abi::handle::{Datatype, File, Request};
use oxmpi_abi::types::Offset;
use oxmpi_abi::{Result, Status};
use oxmpi_core::file::SplitAccess;
use std::ffi::c_void;

pub unsafe fn file_iread_at(
    cx: &Call,
    fh: File,
    offset: Offset,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    request: *mut Request,
) -> Result<()> {
    let access = Access { fh, at: At::Offset(offset), writes: false, together: false, buf, count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or may be written.
    unsafe { start(cx, access, request) }
}

pub unsafe fn file_iread_at_all(
    cx: &Call,
    fh: File,
    offset: Offset,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    request: *mut Request,
) -> Result<()> {
    let access = Access { fh, at: At::Offset(offset), writes: false, together: true, buf, count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or may be written.
    unsafe { start(cx, access, request) }
}

pub unsafe fn file_iread(
    cx: &Call,
    fh: File,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    request: *mut Request,
) -> Result<()> {
    let access = Access { fh, at: At::Own, writes: false, together: false, buf, count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or may be written.
    unsafe { start(cx, access, request) }
}

pub unsafe fn file_iread_all(
    cx: &Call,
    fh: File,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    request: *mut Request,
) -> Result<()> {
    let access = Access { fh, at: At::Own, writes: false, together: true, buf, count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or may be written.
    unsafe { start(cx, access, request) }
}

pub unsafe fn file_iread_shared(
    cx: &Call,
    fh: File,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
    request: *mut Request,
) -> Result<()> {
    let access = Access { fh, at: At::Shared, writes: false, together: false, buf, count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or may be written.
    unsafe { start(cx, access, request) }
}

pub unsafe fn file_iwrite_at(
    cx: &Call,
    fh: File,
    offset: Offset,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    request: *mut Request,
) -> Result<()> {
    let access =
        Access { fh, at: At::Offset(offset), writes: true, together: false, buf: buf.cast_mut(), count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or may be written.
    unsafe { start(cx, access, request) }
}

pub unsafe fn file_iwrite_at_all(
    cx: &Call,
    fh: File,
    offset: Offset,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    request: *mut Request,
) -> Result<()> {
    let access =
        Access { fh, at: At::Offset(offset), writes: true, together: true, buf: buf.cast_mut(), count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or may be written.
    unsafe { start(cx, access, request) }
}

pub unsafe fn file_iwrite(
    cx: &Call,
    fh: File,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    request: *mut Request,
) -> Result<()> {
    let access = Access { fh, at: At::Own, writes: true, together: false, buf: buf.cast_mut(), count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or may be written.
    unsafe { start(cx, access, request) }
}

pub unsafe fn file_iwrite_all(
    cx: &Call,
    fh: File,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    request: *mut Request,
) -> Result<()> {
    let access = Access { fh, at: At::Own, writes: true, together: true, buf: buf.cast_mut(), count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or may be written.
    unsafe { start(cx, access, request) }
}

pub unsafe fn file_iwrite_shared(
    cx: &Call,
    fh: File,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
    request: *mut Request,
) -> Result<()> {
    let access = Access { fh, at: At::Shared, writes: true, together: false, buf: buf.cast_mut(), count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it; null or may be written.
    unsafe { start(cx, access, request) }
}

// ---- in two calls ----

pub unsafe fn file_read_at_all_begin(
    cx: &Call,
    fh: File,
    offset: Offset,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
) -> Result<()> {
    let access = Access { fh, at: At::Offset(offset), writes: false, together: true, buf, count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it.
    unsafe { begin(cx, access, SplitAccess::ReadAt) }
}

pub unsafe fn file_read_at_all_end(cx: &Call, fh: File, _buf: *mut c_void, status: *mut Status) -> Result<()> {
    // SAFETY: null or a status.
    unsafe { end(cx, fh, SplitAccess::ReadAt, status) }
}

pub unsafe fn file_read_all_begin(cx: &Call, fh: File, buf: *mut c_void, count: i64, datatype: Datatype) -> Result<()> {
    let access = Access { fh, at: At::Own, writes: false, together: true, buf, count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it.
    unsafe { begin(cx, access, SplitAccess::Read) }
}

pub unsafe fn file_read_all_end(cx: &Call, fh: File, _buf: *mut c_void, status: *mut Status) -> Result<()> {
    // SAFETY: null or a status.
    unsafe { end(cx, fh, SplitAccess::Read, status) }
}

pub unsafe fn file_read_ordered_begin(
    cx: &Call,
    fh: File,
    buf: *mut c_void,
    count: i64,
    datatype: Datatype,
) -> Result<()> {
    let access = Access { fh, at: At::Ordered, writes: false, together: true, buf, count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it.
    unsafe { begin(cx, access, SplitAccess::ReadOrdered) }
}

pub unsafe fn file_read_ordered_end(cx: &Call, fh: File, _buf: *mut c_void, status: *mut Status) -> Result<()> {
    // SAFETY: null or a status.
    unsafe { end(cx, fh, SplitAccess::ReadOrdered, status) }
}

pub unsafe fn file_write_at_all_begin(
    cx: &Call,
    fh: File,
    offset: Offset,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
) -> Result<()> {
    let access =
        Access { fh, at: At::Offset(offset), writes: true, together: true, buf: buf.cast_mut(), count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it.
    unsafe { begin(cx, access, SplitAccess::WriteAt) }
}

pub unsafe fn file_write_at_all_end(cx: &Call, fh: File, _buf: *const c_void, status: *mut Status) -> Result<()> {
    // SAFETY: null or a status.
    unsafe { end(cx, fh, SplitAccess::WriteAt, status) }
}

pub unsafe fn file_write_all_begin(
    cx: &Call,
    fh: File,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
) -> Result<()> {
    let access = Access { fh, at: At::Own, writes: true, together: true, buf: buf.cast_mut(), count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it.
    unsafe { begin(cx, access, SplitAccess::Write) }
}

pub unsafe fn file_write_all_end(cx: &Call, fh: File, _buf: *const c_void, status: *mut Status) -> Result<()> {
    // SAFETY: null or a status.
    unsafe { end(cx, fh, SplitAccess::Write, status) }
}

pub unsafe fn file_write_ordered_begin(
    cx: &Call,
    fh: File,
    buf: *const c_void,
    count: i64,
    datatype: Datatype,
) -> Result<()> {
    let access = Access { fh, at: At::Ordered, writes: true, together: true, buf: buf.cast_mut(), count, datatype };
    // SAFETY: the caller's buffer, as the arguments describe it.
    unsafe { begin(cx, access, SplitAccess::WriteOrdered) }
}

pub unsafe fn file_write_ordered_end(cx: &Call, fh: File, _buf: *const c_void, status: *mut Status) -> Result<()> {
    // SAFETY: null or a status.
    unsafe { end(cx, fh, SplitAccess::WriteOrdered, status) }
}

/// # Safety
/// `status` is null or a status.
unsafe fn end(cx: &Call, fh: File, access: SplitAccess, status: *mut Status) -> Result<()> {
    let moved = cx.enter()?.file_mut(fh)?.end_split(access)?;
    // SAFETY: as the caller says.
    unsafe { store_status(status, &moved) };
    Ok(())
}
