//! Packing into and out of the user's own buffers, as they are in memory or in `external32`.

use super::datatype::store_wide;
use super::{null_pointer, text};
use crate::args::OutInt;
use crate::call::Call;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Datatype};
use oxmpi_abi::{Result, bail};
use oxmpi_datatype::{Cursor, Source, Target, pack_external as encode, unpack_external as decode};
use std::ffi::{c_char, c_void};

/// The place in a packed buffer where a call begins, and how much of the buffer is left there.
///
/// # Safety
/// `position` is null or holds a value.
unsafe fn place(position: OutInt, size: i64, size_name: &str) -> Result<(usize, usize)> {
    if position.is_null() {
        return Err(null_pointer("position"));
    }
    if size < 0 {
        bail!(MPI_ERR_ARG, "{size_name} is {size}, which is negative");
    }
    // SAFETY: not null, so it holds a value.
    let at = unsafe { position.get() };
    if at < 0 || at > size {
        bail!(MPI_ERR_ARG, "position is {at}; in a buffer of {size} bytes it must be between 0 and {size}");
    }
    Ok((at as usize, (size - at) as usize))
}

/// Moves the position behind the bytes that were packed or unpacked.
///
/// # Safety
/// `position` may be written.
unsafe fn advance(position: OutInt, to: usize) {
    // SAFETY: as the caller says; it fits, because the size of the buffer came in the same type.
    let _fits = unsafe { position.set(to as i64) };
}

fn check_packed(buffer: *const c_void, bytes: usize, name: &str) -> Result<()> {
    if buffer.is_null() && bytes > 0 {
        bail!(MPI_ERR_BUFFER, "{name} is a null pointer, but {bytes} bytes are to be moved");
    }
    Ok(())
}

pub unsafe fn pack(
    cx: &Call,
    inbuf: *const c_void,
    incount: i64,
    datatype: Datatype,
    outbuf: *mut c_void,
    outsize: i64,
    position: OutInt,
    comm: Comm,
) -> Result<()> {
    let guard = cx.enter()?;
    guard.comm(comm)?;
    let buf = guard.buffer(inbuf.cast(), incount, datatype)?;
    // SAFETY: null or holds a value.
    let (at, room) = unsafe { place(position, outsize, "outsize")? };
    if buf.len() > room {
        bail!(MPI_ERR_TRUNCATE, "the packed data needs {} bytes; outbuf has {room} left", buf.len());
    }
    check_packed(outbuf, buf.len(), "outbuf")?;
    drop(guard);
    // SAFETY: the program keeps `incount` elements at `inbuf` during the call; `outbuf` has `outsize` bytes, of which
    // the packed data needs no more than are left; `position` may be written.
    unsafe {
        Cursor::new().pack(&Source::new(buf.clone()), outbuf.cast::<u8>().wrapping_add(at), buf.len());
        advance(position, at + buf.len());
    }
    Ok(())
}

pub unsafe fn unpack(
    cx: &Call,
    inbuf: *const c_void,
    insize: i64,
    position: OutInt,
    outbuf: *mut c_void,
    outcount: i64,
    datatype: Datatype,
    comm: Comm,
) -> Result<()> {
    let guard = cx.enter()?;
    guard.comm(comm)?;
    let buf = guard.target(outbuf.cast_const().cast(), outcount, datatype)?;
    // SAFETY: null or holds a value.
    let (at, left) = unsafe { place(position, insize, "insize")? };
    if buf.len() > left {
        bail!(MPI_ERR_TRUNCATE, "the elements need {} bytes; inbuf has {left} left", buf.len());
    }
    check_packed(inbuf, buf.len(), "inbuf")?;
    drop(guard);
    // SAFETY: the program keeps `outcount` elements at `outbuf` during the call; `inbuf` has `insize` bytes, of which
    // at least those of the elements are left; `position` may be written.
    unsafe {
        Cursor::new().unpack(&Target::new(buf.clone()), inbuf.cast::<u8>().wrapping_add(at), buf.len());
        advance(position, at + buf.len());
    }
    Ok(())
}

pub unsafe fn pack_size(cx: &Call, incount: i64, datatype: Datatype, comm: Comm, size: OutInt) -> Result<()> {
    let guard = cx.enter()?;
    guard.comm(comm)?;
    let found = guard.datatype(datatype)?;
    check_count(incount)?;
    // SAFETY: null or may be written.
    unsafe { store_wide(size, found.size().checked_mul(incount.into()), "size") }
}

pub unsafe fn pack_external(
    cx: &Call,
    datarep: *const c_char,
    inbuf: *const c_void,
    incount: i64,
    datatype: Datatype,
    outbuf: *mut c_void,
    outsize: i64,
    position: OutInt,
) -> Result<()> {
    let guard = cx.enter()?;
    // SAFETY: null or a string.
    unsafe { check_datarep(datarep)? };
    // Checks count, type and address as for a send.
    guard.buffer(inbuf.cast(), incount, datatype)?;
    let found = guard.datatype(datatype)?.clone();
    // SAFETY: null or holds a value.
    let (at, room) = unsafe { place(position, outsize, "outsize")? };
    check_packed(outbuf, usize::from(found.external_size() > 0 && incount > 0), "outbuf")?;
    drop(guard);
    // SAFETY: the caller's buffers, as the arguments describe them; the room is checked there.
    unsafe {
        let n = encode(inbuf.cast(), incount as u64, &found, outbuf.cast::<u8>().wrapping_add(at), room)?;
        advance(position, at + n);
    }
    Ok(())
}

pub unsafe fn unpack_external(
    cx: &Call,
    datarep: *const c_char,
    inbuf: *const c_void,
    insize: i64,
    position: OutInt,
    outbuf: *mut c_void,
    outcount: i64,
    datatype: Datatype,
) -> Result<()> {
    let guard = cx.enter()?;
    // SAFETY: null or a string.
    unsafe { check_datarep(datarep)? };
    // Checks count, type and address as for a receive.
    guard.target(outbuf.cast_const().cast(), outcount, datatype)?;
    let found = guard.datatype(datatype)?.clone();
    // SAFETY: null or holds a value.
    let (at, left) = unsafe { place(position, insize, "insize")? };
    check_packed(inbuf, usize::from(found.external_size() > 0 && outcount > 0), "inbuf")?;
    drop(guard);
    // SAFETY: the caller's buffers, as the arguments describe them; the length of the input is checked there.
    unsafe {
        let n = decode(outbuf.cast(), outcount as u64, &found, inbuf.cast::<u8>().wrapping_add(at), left)?;
        advance(position, at + n);
    }
    Ok(())
}

pub unsafe fn pack_external_size(
    cx: &Call,
    datarep: *const c_char,
    incount: i64,
    datatype: Datatype,
    size: OutInt,
) -> Result<()> {
    let guard = cx.enter()?;
    // SAFETY: null or a string.
    unsafe { check_datarep(datarep)? };
    let found = guard.datatype(datatype)?;
    check_count(incount)?;
    // SAFETY: null or may be written.
    unsafe { store_wide(size, found.external_size().checked_mul(incount.into()), "size") }
}

fn check_count(count: i64) -> Result<()> {
    if count < 0 {
        bail!(MPI_ERR_COUNT, "the count is {count}, which is negative");
    }
    Ok(())
}

/// # Safety
/// `datarep` is null or a string.
unsafe fn check_datarep(datarep: *const c_char) -> Result<()> {
    // SAFETY: as the caller says.
    match unsafe { text(datarep, "datarep")? } {
        b"external32" => Ok(()),
        other => bail!(
            MPI_ERR_ARG,
            "the data representation is \"{}\"; the only one for packing is \"external32\"",
            String::from_utf8_lossy(other)
        ),
    }
}
