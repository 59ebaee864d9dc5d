//! Packing into and out of the user's buffers, in native format or `external32`.

use crate::args::{OutInt, PackedSource, PackedTarget, SourceArg, TargetArg};
use crate::call::Call;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Datatype};
use oxmpi_abi::{Result, bail};
use oxmpi_datatype::{pack_external as encode, unpack_external as decode};
use oxmpi_transport::local::copy;

/// The offset in a packed buffer where a call begins, and the bytes left there.
fn place(position: OutInt, size: i64, size_name: &str) -> Result<(usize, usize)> {
    position.check("position")?;
    if size < 0 {
        bail!(MPI_ERR_ARG, "{size_name} is {size}, which is negative");
    }
    let at = position.get("position")?;
    if at < 0 || at > size {
        bail!(MPI_ERR_ARG, "position is {at}; in a buffer of {size} bytes it must be between 0 and {size}");
    }
    Ok((at as usize, (size - at) as usize))
}

/// Advances the position behind the bytes that were packed or unpacked.
fn advance(position: OutInt, to: usize) -> Result<()> {
    // It fits, because the size of the buffer has the same type.
    position.set(to as i64, "position").map(drop)
}

pub fn pack(cx: &Call, inbuf: SourceArg, outbuf: PackedTarget, position: OutInt, comm: Comm) -> Result<()> {
    let guard = cx.enter()?;
    guard.comm(comm)?;
    let from = guard.source_of(inbuf)?;
    let (at, room) = place(position, outbuf.size, "outsize")?;
    if from.len() > room {
        bail!(MPI_ERR_TRUNCATE, "the packed data needs {} bytes; outbuf has {room} left", from.len());
    }
    let to = outbuf.from(at, from.len(), "outbuf")?;
    drop(guard);
    copy(&from, &to.part(0, from.len()));
    advance(position, at + from.len())
}

pub fn unpack(cx: &Call, inbuf: PackedSource, position: OutInt, outbuf: TargetArg, comm: Comm) -> Result<()> {
    let guard = cx.enter()?;
    guard.comm(comm)?;
    let to = guard.target_of(outbuf)?;
    let (at, left) = place(position, inbuf.size, "insize")?;
    if to.len() > left {
        bail!(MPI_ERR_TRUNCATE, "the elements need {} bytes; inbuf has {left} left", to.len());
    }
    let from = inbuf.from(at, to.len(), "inbuf")?;
    drop(guard);
    copy(&from.part(0, to.len()), &to);
    advance(position, at + to.len())
}

pub fn pack_size(cx: &Call, incount: i64, datatype: Datatype, comm: Comm, size: OutInt) -> Result<()> {
    let guard = cx.enter()?;
    guard.comm(comm)?;
    let found = guard.datatype(datatype)?;
    check_count(incount)?;
    size.set_or_undefined(found.size().checked_mul(incount.into()), "size")
}

pub fn pack_external(
    cx: &Call,
    datarep: &[u8],
    inbuf: SourceArg,
    outbuf: PackedTarget,
    position: OutInt,
) -> Result<()> {
    let guard = cx.enter()?;
    check_datarep(datarep)?;
    // Count, type and address are checked as for a send.
    guard.source_of(inbuf)?;
    let found = guard.datatype(inbuf.datatype)?.clone();
    let (at, _) = place(position, outbuf.size, "outsize")?;
    let to = outbuf.from(at, usize::from(found.external_size() > 0 && inbuf.count > 0), "outbuf")?;
    drop(guard);
    let (room, to) = (to.len(), to.as_dense().unwrap_or(std::ptr::null_mut()));
    // SAFETY: `count` elements of the type lie at the address of a source; `to` is a run of `room` bytes.
    let moved = unsafe { encode(inbuf.address(), inbuf.count as u64, &found, to, room)? };
    advance(position, at + moved)
}

pub fn unpack_external(
    cx: &Call,
    datarep: &[u8],
    inbuf: PackedSource,
    position: OutInt,
    outbuf: TargetArg,
) -> Result<()> {
    let guard = cx.enter()?;
    check_datarep(datarep)?;
    // Count, type and address are checked as for a receive.
    guard.target_of(outbuf)?;
    let found = guard.datatype(outbuf.datatype)?.clone();
    let (at, _) = place(position, inbuf.size, "insize")?;
    let from = inbuf.from(at, usize::from(found.external_size() > 0 && outbuf.count > 0), "inbuf")?;
    drop(guard);
    let (left, from) = (from.len(), from.as_dense().unwrap_or(std::ptr::null_mut()));
    // SAFETY: there is room for `count` elements of the type at the address of a target; `from` is a run of `left` bytes.
    let moved = unsafe { decode(outbuf.address(), outbuf.count as u64, &found, from, left)? };
    advance(position, at + moved)
}

pub fn pack_external_size(cx: &Call, datarep: &[u8], incount: i64, datatype: Datatype, size: OutInt) -> Result<()> {
    let guard = cx.enter()?;
    check_datarep(datarep)?;
    let found = guard.datatype(datatype)?;
    check_count(incount)?;
    size.set_or_undefined(found.external_size().checked_mul(incount.into()), "size")
}

fn check_count(count: i64) -> Result<()> {
    if count < 0 {
        bail!(MPI_ERR_COUNT, "the count is {count}, which is negative");
    }
    Ok(())
}

fn check_datarep(datarep: &[u8]) -> Result<()> {
    match datarep {
        b"external32" => Ok(()),
        other => bail!(
            MPI_ERR_ARG,
            "the data representation is \"{}\"; the only one for packing is \"external32\"",
            String::from_utf8_lossy(other)
        ),
    }
}
