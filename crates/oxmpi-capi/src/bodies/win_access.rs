//! Puts and gets. The common case, one predefined type without gaps on both sides and mapped
//! memory, is little more than a copy. The general path handles everything else, and errors.

use crate::args::{At, SourceArg, TargetArg};
use crate::call::{Call, Guard};
use oxmpi::rma::access;
use oxmpi_abi::Result;
use oxmpi_abi::handle::*;
use oxmpi_core::check::{self, catalogue::RMA_EPOCH};
use std::ffi::c_int;

/// The target's bytes, if both sides have the same dense type and length and they are mapped here.
#[inline(always)]
fn try_plain(guard: &mut Guard, origin: (i64, Datatype), bytes: usize, target: At, win: Win) -> Option<*mut u8> {
    if (target.count, target.datatype) != origin {
        return None;
    }
    guard.windows.get_mut(win.0)?.window.try_mapped(target.rank, target.disp, bytes)
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
    let (from, origin) = (origin_addr.address(), (origin_addr.count, origin_addr.datatype));
    if let Some(bytes) = origin_addr.plain_bytes()
        && let Some(at) = try_plain(&mut guard, origin, bytes, target, win)
    {
        // SAFETY: a plain source is `bytes` long; so is the target, which is in its window and may be accessed.
        unsafe { copy(from, at, bytes) };
        return Ok(());
    }
    let At { rank, disp, count, datatype } = target;
    // SAFETY: the parts of `origin_addr`, which is such memory for as long as the call lasts.
    unsafe { access::put(&mut guard.for_slow_path(), from, origin, (rank, disp), (count, datatype), win) }
}

#[inline(always)]
pub fn get(cx: &Call, origin_addr: TargetArg<'static>, target: At, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    let (to, origin) = (origin_addr.address(), (origin_addr.count, origin_addr.datatype));
    if let Some(bytes) = origin_addr.plain_bytes()
        && let Some(at) = try_plain(&mut guard, origin, bytes, target, win)
    {
        // SAFETY: a plain origin is `bytes` long; so is the target, which is in its window and may be accessed.
        unsafe { copy(at, to, bytes) };
        return Ok(());
    }
    let At { rank, disp, count, datatype } = target;
    // SAFETY: the parts of `origin_addr`, which is such memory for as long as the call lasts.
    unsafe { access::get(&mut guard.for_slow_path(), to, origin, (rank, disp), (count, datatype), win) }
}

// ---- with a request: the buffers can be used again when the call returns ----

/// An error unless the target may be accessed. The standard wants it to be locked; elsewhere other epochs do, too.
pub(super) fn check_epoch(cx: &Call, types: &[Datatype], target_rank: c_int, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    guard.win(win)?;
    for datatype in types {
        guard.datatype(*datatype)?;
    }
    let is_locked = guard.win_mut(win)?.window.check_for_request(target_rank)?;
    if !is_locked && check::is_strict() {
        let found = guard.win(win)?;
        let text = format!("{} on {} in an epoch without a lock", cx.fun.name(), found.describe());
        check::tell(guard.engine.node(), &RMA_EPOCH, text);
    }
    Ok(())
}

pub fn rput(cx: &Call, origin_addr: SourceArg<'static>, target: At, win: Win) -> Result<Request> {
    check_epoch(cx, &[origin_addr.datatype, target.datatype], target.rank, win)?;
    put(cx, origin_addr, target, win)?;
    access::request(&mut cx.enter()?, target.rank, win)
}

pub fn rget(cx: &Call, origin_addr: TargetArg<'static>, target: At, win: Win) -> Result<Request> {
    check_epoch(cx, &[origin_addr.datatype, target.datatype], target.rank, win)?;
    get(cx, origin_addr, target, win)?;
    access::request(&mut cx.enter()?, target.rank, win)
}
