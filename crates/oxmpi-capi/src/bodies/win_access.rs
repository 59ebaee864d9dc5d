//! Puts and gets. The common case, one predefined type without gaps on both sides and mapped
//! memory, is little more than a copy. The general path handles everything else, and errors.

use crate::args::{At, SourceArg, TargetArg};
use crate::call::{Call, Guard};
use oxmpi::rma::access;
use oxmpi_abi::Result;
use oxmpi_abi::handle::*;
use oxmpi_rma::RemoteRun;
use std::ffi::c_int;

/// The location of dense bytes at the target.
enum Plain {
    Here(*mut u8),
    Remote(RemoteRun),
}

/// The location of the target's bytes, if both sides have the same dense type and length.
#[inline(always)]
fn try_plain(guard: &mut Guard, origin: (i64, Datatype), bytes: usize, target: At, win: Win) -> Option<Plain> {
    if (target.count, target.datatype) != origin {
        return None;
    }
    let window = &mut guard.windows.get_mut(win.0)?.window;
    match window.try_mapped(target.rank, target.disp, bytes) {
        Some(at) => Some(Plain::Here(at)),
        None => Some(Plain::Remote(window.try_remote_run(target.rank, target.disp, bytes)?)),
    }
}

/// # Safety
/// Both runs have `bytes` bytes; they may overlap.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: `from` can be read and `to` written for `bytes`. Small sizes are one move, so that
    // nobody sees half of a word.
    unsafe {
        match bytes {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            _ => to.copy_from(from, bytes),
        }
    }
}

#[inline(always)]
pub fn put(cx: &Call, origin_addr: SourceArg<'static>, target: At, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    let from = origin_addr.address();
    let Some(bytes) = origin_addr.plain_bytes() else { return put_general(&mut guard, origin_addr, target, win) };
    match try_plain(&mut guard, (origin_addr.count, origin_addr.datatype), bytes, target, win) {
        // SAFETY: a plain source is `bytes` long; so is the target, which is in its window and may be accessed.
        Some(Plain::Here(at)) => unsafe { copy(from, at, bytes) },
        // SAFETY: a plain source and memory of the target's window, `bytes` long both.
        Some(Plain::Remote(remote)) => unsafe {
            guard.win(win)?.window.put_run(guard.engine.node(), from, bytes, remote)?;
        },
        None => put_general(&mut guard, origin_addr, target, win)?,
    }
    Ok(())
}

#[inline(always)]
fn put_general(guard: &mut Guard, origin: SourceArg, target: At, win: Win) -> Result<()> {
    let At { rank, disp, count, datatype } = target;
    // SAFETY: the parts of `origin`, which is such memory for as long as the call lasts.
    unsafe {
        access::put(guard, origin.address(), (origin.count, origin.datatype), (rank, disp), (count, datatype), win)
    }
}

#[inline(always)]
pub fn get(cx: &Call, origin_addr: TargetArg<'static>, target: At, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    let to = origin_addr.address();
    let Some(bytes) = origin_addr.plain_bytes() else { return get_general(&mut guard, origin_addr, target, win) };
    match try_plain(&mut guard, (origin_addr.count, origin_addr.datatype), bytes, target, win) {
        // SAFETY: a plain origin is `bytes` long; so is the target, which is in its window and may be accessed.
        Some(Plain::Here(at)) => unsafe { copy(at, to, bytes) },
        // SAFETY: a plain origin and memory of the target's window, `bytes` long both.
        Some(Plain::Remote(remote)) => unsafe {
            guard.win(win)?.window.get_run(guard.engine.node(), to, bytes, remote)?;
        },
        None => get_general(&mut guard, origin_addr, target, win)?,
    }
    Ok(())
}

#[inline(always)]
fn get_general(guard: &mut Guard, origin: TargetArg, target: At, win: Win) -> Result<()> {
    let At { rank, disp, count, datatype } = target;
    // SAFETY: the parts of `origin`, which is such memory for as long as the call lasts.
    unsafe {
        access::get(guard, origin.address(), (origin.count, origin.datatype), (rank, disp), (count, datatype), win)
    }
}

// ---- with a request: the buffers can be used again when the call returns ----

/// An error unless the target is locked, as request-based operations require.
pub(super) fn check_passive(guard: &Guard, types: &[Datatype], target_rank: c_int, win: Win) -> Result<()> {
    let window = &guard.win(win)?.window;
    for datatype in types {
        guard.datatype(*datatype)?;
    }
    window.check_passive_call(target_rank).map(|_| ())
}

pub fn rput(cx: &Call, origin_addr: SourceArg<'static>, target: At, win: Win) -> Result<Request> {
    check_passive(&cx.enter()?, &[origin_addr.datatype, target.datatype], target.rank, win)?;
    put(cx, origin_addr, target, win)?;
    access::request(&mut cx.enter()?, target.rank, win)
}

pub fn rget(cx: &Call, origin_addr: TargetArg<'static>, target: At, win: Win) -> Result<Request> {
    check_passive(&cx.enter()?, &[origin_addr.datatype, target.datatype], target.rank, win)?;
    get(cx, origin_addr, target, win)?;
    access::request(&mut cx.enter()?, target.rank, win)
}
