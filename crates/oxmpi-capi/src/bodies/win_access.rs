//! Puts and gets. What is common, one predefined type without gaps on both sides and memory that is mapped here, is a copy
//! and little else; whatever is unusual or wrong takes the long way, where the texts of the errors are.

use super::check_place;
use crate::call::Call;
use oxmpi_abi::Result;
use oxmpi_abi::handle::*;
use oxmpi_abi::types::Aint;
use oxmpi_core::guard::Guard;
use oxmpi_datatype::{Source, Target};
use oxmpi_rma::{Far, SHORTEST_MAPPED};
use std::ffi::{c_int, c_void};

/// Where plain bytes lie at the target.
enum Plain {
    Here(*mut u8),
    Far(Far),
}

/// How many bytes, and where they lie at the target, if all is plain.
#[inline(always)]
fn quick(
    guard: &mut Guard,
    origin_addr: *const c_void,
    origin: (i64, Datatype),
    target_rank: c_int,
    target_disp: Aint,
    target: (i64, Datatype),
    win: Win,
) -> Option<(usize, Plain)> {
    let (count, datatype) = origin;
    let size = oxmpi_datatype::dense_size(datatype.0)?;
    // Counts beyond this take the long way, so that the product cannot overflow.
    if target != origin || !(0..1 << 31).contains(&count) || ((origin_addr as usize) < 4096 && count > 0) {
        return None;
    }
    let bytes = count as usize * size;
    let window = &mut guard.windows.get_mut(win.0)?.window;
    let plain = match window.quick(target_rank, target_disp, bytes) {
        Some(at) => Plain::Here(at),
        None => Plain::Far(window.quick_far(target_rank, target_disp, bytes)?),
    };
    Some((bytes, plain))
}

/// # Safety
/// Both runs are memory of that length; they may overlap.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: as the caller says. Small sizes are one move, so that nobody sees half of a word.
    unsafe {
        match bytes {
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            4 => to.cast::<u32>().write_unaligned(from.cast::<u32>().read_unaligned()),
            _ => to.copy_from(from, bytes),
        }
    }
}

#[inline(always)]
pub unsafe fn put(
    cx: &Call,
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: i64,
    target_datatype: Datatype,
    win: Win,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let (origin, target) = ((origin_count, origin_datatype), (target_count, target_datatype));
    match quick(&mut guard, origin_addr, origin, target_rank, target_disp, target, win) {
        // SAFETY: the origin is the caller's, the target is in its window and may be accessed.
        Some((bytes, Plain::Here(at))) if bytes < SHORTEST_MAPPED => unsafe { copy(origin_addr.cast(), at, bytes) },
        // SAFETY: as above.
        Some((bytes, Plain::Here(at))) => unsafe {
            let (window, node) = (&guard.win(win)?.window, guard.engine.node());
            window.put_mapped(node, target_rank as usize, origin_addr.cast(), at, bytes)?;
        },
        // SAFETY: as above.
        Some((bytes, Plain::Far(far))) => unsafe {
            guard.win(win)?.window.put_run(guard.engine.node(), origin_addr.cast(), bytes, far)?;
        },
        None => put_slowly(&mut guard, origin_addr, origin, target_rank, target_disp, target, win)?,
    }
    Ok(())
}

#[inline(never)]
fn put_slowly(
    guard: &mut Guard,
    origin_addr: *const c_void,
    origin: (i64, Datatype),
    target_rank: c_int,
    target_disp: Aint,
    target: (i64, Datatype),
    win: Win,
) -> Result<()> {
    guard.win(win)?;
    let from = guard.buffer(origin_addr.cast(), origin.0, origin.1)?;
    // SAFETY: the program keeps the origin's buffer until the operation is complete, which is before this returns.
    let from = unsafe { Source::new(from) };
    match guard.spot(win, target_rank, target_disp, target.0, target.1)? {
        Some(spot) => oxmpi_rma::put(guard.engine.node(), &from, &spot),
        None => Ok(()),
    }
}

#[inline(always)]
pub unsafe fn get(
    cx: &Call,
    origin_addr: *mut c_void,
    origin_count: i64,
    origin_datatype: Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: i64,
    target_datatype: Datatype,
    win: Win,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let (origin, target) = ((origin_count, origin_datatype), (target_count, target_datatype));
    match quick(&mut guard, origin_addr, origin, target_rank, target_disp, target, win) {
        // SAFETY: the origin is the caller's, the target is in its window and may be accessed.
        Some((bytes, Plain::Here(at))) if bytes < SHORTEST_MAPPED => unsafe { copy(at, origin_addr.cast(), bytes) },
        // SAFETY: as above.
        Some((bytes, Plain::Here(at))) => unsafe {
            let (window, node) = (&guard.win(win)?.window, guard.engine.node());
            window.get_mapped(node, target_rank as usize, origin_addr.cast(), at, bytes)?;
        },
        // SAFETY: as above.
        Some((bytes, Plain::Far(far))) => unsafe {
            guard.win(win)?.window.get_run(guard.engine.node(), origin_addr.cast(), bytes, far)?;
        },
        None => get_slowly(&mut guard, origin_addr, origin, target_rank, target_disp, target, win)?,
    }
    Ok(())
}

#[inline(never)]
fn get_slowly(
    guard: &mut Guard,
    origin_addr: *mut c_void,
    origin: (i64, Datatype),
    target_rank: c_int,
    target_disp: Aint,
    target: (i64, Datatype),
    win: Win,
) -> Result<()> {
    guard.win(win)?;
    let to = guard.target(origin_addr.cast(), origin.0, origin.1)?;
    // SAFETY: the program keeps the origin's buffer until the operation is complete, which is before this returns.
    let to = unsafe { Target::new(to) };
    match guard.spot(win, target_rank, target_disp, target.0, target.1)? {
        Some(spot) => oxmpi_rma::get(guard.engine.node(), &to, &spot),
        None => Ok(()),
    }
}

// ---- with a request: the operation is complete when the call returns ----

/// An error unless the target is locked, as operations with requests need. Bad handles come first.
pub(super) fn check_passive(guard: &Guard, types: &[Datatype], target_rank: c_int, win: Win) -> Result<()> {
    let window = &guard.win(win)?.window;
    for datatype in types {
        guard.datatype(*datatype)?;
    }
    window.check_passive_call(target_rank)
}

/// # Safety
/// `request` is not null and may be written.
pub(super) unsafe fn store_done(cx: &Call, request: *mut Request) -> Result<()> {
    let done = cx.enter()?.sent;
    // SAFETY: as the caller says.
    unsafe { request.write(done) };
    Ok(())
}

pub unsafe fn rput(
    cx: &Call,
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: i64,
    target_datatype: Datatype,
    win: Win,
    request: *mut Request,
) -> Result<()> {
    check_passive(&cx.enter()?, &[origin_datatype, target_datatype], target_rank, win)?;
    check_place(request, "request")?;
    // SAFETY: passed on; checked.
    unsafe {
        put(
            cx,
            origin_addr,
            origin_count,
            origin_datatype,
            target_rank,
            target_disp,
            target_count,
            target_datatype,
            win,
        )?;
        store_done(cx, request)
    }
}

pub unsafe fn rget(
    cx: &Call,
    origin_addr: *mut c_void,
    origin_count: i64,
    origin_datatype: Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: i64,
    target_datatype: Datatype,
    win: Win,
    request: *mut Request,
) -> Result<()> {
    check_passive(&cx.enter()?, &[origin_datatype, target_datatype], target_rank, win)?;
    check_place(request, "request")?;
    // SAFETY: passed on; checked.
    unsafe {
        get(
            cx,
            origin_addr,
            origin_count,
            origin_datatype,
            target_rank,
            target_disp,
            target_count,
            target_datatype,
            win,
        )?;
        store_done(cx, request)
    }
}
