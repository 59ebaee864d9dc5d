//! Accumulates of every kind. As with puts and gets, what is common takes a short way.

use super::check_place;
use super::win_access::{check_passive, store_done};
use crate::call::Call;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::types::Aint;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_core::guard::Guard;
use oxmpi_datatype::{Source, Target as Written};
use oxmpi_rma::{Combine, SHORTEST_MAPPED};
use std::ffi::{c_int, c_void};

// The short way is inlined into the entry points: handing arguments on through the stack would cost more than it does.

/// A buffer argument: address, count and type.
#[derive(Clone, Copy)]
struct Argument {
    address: *mut c_void,
    count: i64,
    datatype: Datatype,
}

/// Where at the target.
#[derive(Clone, Copy)]
struct Target {
    rank: c_int,
    disp: Aint,
    count: i64,
    datatype: Datatype,
}

impl Argument {
    #[inline(always)]
    fn is_like(self, target: Target) -> bool {
        self.datatype == target.datatype && self.count == target.count && self.address as usize >= 4096
    }
}

/// Combines elements of a predefined type without gaps; false when something is unusual or wrong. The address of a result
/// that nobody wants is null.
///
/// # Safety
/// The arguments are what the standard asks for.
#[inline(always)]
unsafe fn quick(
    guard: &mut Guard,
    origin: Argument,
    result: *mut c_void,
    target: Target,
    op: Op,
    win: Win,
) -> Result<bool> {
    let Some(with) = oxmpi_rma::quick_combine(op.0, target.datatype.0) else { return Ok(false) };
    if !(1..1 << 31).contains(&target.count) || !(op == MPI_NO_OP || origin.is_like(target)) {
        return Ok(false);
    }
    let Some(found) = guard.windows.get_mut(win.0) else { return Ok(false) };
    let count = target.count as usize;
    let (from, to, bytes) = (origin.address.cast(), result.cast(), count * with.extent);
    if let Some(at) = found.window.quick(target.rank, target.disp, bytes) {
        let rank = target.rank as usize;
        // SAFETY: the target is in its window and may be accessed; the rest is the caller's.
        unsafe {
            if bytes >= SHORTEST_MAPPED {
                return long(guard, &with, (rank, at), from, to, count, win);
            }
            found.window.combine(rank, &with, at, from, to, count);
        }
        return Ok(true);
    }
    let Some(far) = found.window.quick_far(target.rank, target.disp, bytes) else { return Ok(false) };
    // SAFETY: as above.
    unsafe { guard.win(win)?.window.combine_far(guard.engine.node(), &with, far, from, to, count)? };
    Ok(true)
}

/// # Safety
/// As for [`quick`]; the rank's memory is mapped there.
#[cold]
unsafe fn long(
    guard: &Guard,
    with: &Combine,
    (rank, at): (usize, *mut u8),
    from: *const u8,
    to: *mut u8,
    count: usize,
    win: Win,
) -> Result<bool> {
    let (window, node) = (&guard.win(win)?.window, guard.engine.node());
    // SAFETY: as the caller says.
    unsafe { window.combine_mapped(node, rank, with, at, (from, to), count)? };
    Ok(true)
}

#[inline(never)]
fn slowly(
    guard: &mut Guard,
    origin: Argument,
    result: Option<Argument>,
    target: Target,
    op: Op,
    win: Win,
) -> Result<()> {
    guard.win(win)?;
    let handle = op;
    let op = check_op(op)?;
    let Target { rank, disp, count, datatype } = target;
    let mut types = vec![datatype];
    let mut from = None;
    if op != oxmpi_ops::Op::NoOp {
        let buf = guard.buffer(origin.address.cast(), origin.count, origin.datatype)?;
        // SAFETY: the program keeps the origin's buffer until the operation is complete, which is before this returns.
        from = Some(unsafe { Source::new(buf) });
        types.push(origin.datatype);
    } else if result.is_none() {
        bail!(MPI_ERR_OP, "MPI_NO_OP is for operations that return what was there; use MPI_Get_accumulate");
    }
    let mut to = None;
    if let Some(result) = result {
        let buf = guard.target(result.address.cast(), result.count, result.datatype)?;
        // SAFETY: the program keeps the result's buffer until the operation is complete, which is before this returns.
        to = Some(unsafe { Written::new(buf) });
        types.push(result.datatype);
    }
    let Some(spot) = guard.spot(win, rank, disp, count, datatype)? else { return Ok(()) };
    if spot.buf.is_empty() && from.as_ref().is_none_or(|from| from.is_empty()) {
        return Ok(());
    }
    let types = types.into_iter().map(|datatype| guard.datatype(datatype)).collect::<Result<Vec<_>>>()?;
    let element = oxmpi_rma::only_element(&types)?;
    let handles = [handle.0 as u32, element.handle.into()];
    let with = Combine { op, kernel: oxmpi_ops::kernel(op, element)?, extent: element.extent(), handles };
    let window = &guard.win(win)?.window;
    let target = (&**types[0], count as u64);
    window.accumulate(guard.engine.node(), (&with, element), from.as_ref(), to.as_ref(), &spot, target)
}

fn check_op(op: Op) -> Result<oxmpi_ops::Op> {
    oxmpi_ops::predefined(op.0).ok_or_else(|| bad_op(op))
}

#[cold]
fn bad_op(op: Op) -> Error {
    let text = match op {
        MPI_OP_NULL => String::from("the operation is MPI_OP_NULL"),
        _ => format!("{:#x} is not a predefined operation; windows know no others", op.0),
    };
    Error::new(MPI_ERR_OP, text)
}

#[inline(always)]
pub unsafe fn accumulate(
    cx: &Call,
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: i64,
    target_datatype: Datatype,
    op: Op,
    win: Win,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let origin = Argument { address: origin_addr.cast_mut(), count: origin_count, datatype: origin_datatype };
    let target = Target { rank: target_rank, disp: target_disp, count: target_count, datatype: target_datatype };
    // SAFETY: passed on.
    if op != MPI_NO_OP && unsafe { quick(&mut guard, origin, std::ptr::null_mut(), target, op, win)? } {
        return Ok(());
    }
    slowly(&mut guard, origin, None, target, op, win)
}

#[inline(always)]
pub unsafe fn get_accumulate(
    cx: &Call,
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Datatype,
    result_addr: *mut c_void,
    result_count: i64,
    result_datatype: Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: i64,
    target_datatype: Datatype,
    op: Op,
    win: Win,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let origin = Argument { address: origin_addr.cast_mut(), count: origin_count, datatype: origin_datatype };
    let result = Argument { address: result_addr, count: result_count, datatype: result_datatype };
    let target = Target { rank: target_rank, disp: target_disp, count: target_count, datatype: target_datatype };
    // SAFETY: passed on.
    if result.is_like(target) && unsafe { quick(&mut guard, origin, result_addr, target, op, win)? } {
        return Ok(());
    }
    slowly(&mut guard, origin, Some(result), target, op, win)
}

#[inline(always)]
pub unsafe fn fetch_and_op(
    cx: &Call,
    origin_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: Datatype,
    target_rank: c_int,
    target_disp: Aint,
    op: Op,
    win: Win,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let origin = Argument { address: origin_addr.cast_mut(), count: 1, datatype };
    let result = Argument { address: result_addr, count: 1, datatype };
    let target = Target { rank: target_rank, disp: target_disp, count: 1, datatype };
    // SAFETY: passed on.
    if !(result_addr as usize >= 4096 && unsafe { quick(&mut guard, origin, result_addr, target, op, win)? }) {
        guard.win(win)?;
        check_predefined(&guard, datatype)?;
        slowly(&mut guard, origin, Some(result), target, op, win)?;
    }
    if op == MPI_NO_OP {
        guard.yield_cpu();
    }
    Ok(())
}

fn check_predefined(guard: &Guard, datatype: Datatype) -> Result<()> {
    let found = guard.datatype(datatype)?;
    if !found.is_predefined() {
        bail!(MPI_ERR_TYPE, "{found:?} is not a predefined datatype, as this function needs");
    }
    Ok(())
}

pub unsafe fn compare_and_swap(
    cx: &Call,
    origin_addr: *const c_void,
    compare_addr: *const c_void,
    result_addr: *mut c_void,
    datatype: Datatype,
    target_rank: c_int,
    target_disp: Aint,
    win: Win,
) -> Result<()> {
    let mut guard = cx.enter()?;
    guard.win(win)?;
    let Some(bytes) = comparable_size(datatype) else {
        check_predefined(&guard, datatype)?;
        let found = guard.datatype(datatype)?;
        return Err(found.only().map_or_else(not_comparable, |element| match oxmpi_rma::check_comparable(element) {
            Err(error) => error,
            Ok(()) => not_comparable(),
        }));
    };
    guard.buffer(origin_addr.cast(), 1, datatype)?;
    guard.buffer(compare_addr.cast(), 1, datatype)?;
    guard.target(result_addr.cast(), 1, datatype)?;
    let (new, compare, old) = (origin_addr.cast(), compare_addr.cast(), result_addr.cast());
    let window = &mut guard.win_mut(win)?.window;
    // SAFETY: the target is in its window and may be accessed; the rest is the caller's.
    let swapped = unsafe {
        if let Some(at) = window.quick(target_rank, target_disp, bytes) {
            window.compare_and_swap(target_rank as usize, at, bytes, new, compare, old)
        } else if let Some(far) = window.quick_far(target_rank, target_disp, bytes) {
            guard.win(win)?.window.compare_and_swap_far(guard.engine.node(), far, bytes, new, compare, old)?
        } else {
            let Some(spot) = guard.spot(win, target_rank, target_disp, 1, datatype)? else { return Ok(()) };
            let window = &guard.win(win)?.window;
            match (spot.far(), spot.buf.as_dense()) {
                (None, Some(at)) => window.compare_and_swap(spot.rank, at, bytes, new, compare, old),
                (Some(far), _) => window.compare_and_swap_far(guard.engine.node(), far, bytes, new, compare, old)?,
                (None, None) => true,
            }
        }
    };
    if !swapped {
        guard.yield_cpu();
    }
    Ok(())
}

#[cold]
fn not_comparable() -> Error {
    Error::new(MPI_ERR_TYPE, "the datatype cannot be compared and swapped; integers, logicals and MPI_BYTE can")
}

/// The size of a type that can be compared and swapped.
#[inline]
fn comparable_size(datatype: Datatype) -> Option<usize> {
    static SIZES: std::sync::LazyLock<[u8; 256]> = std::sync::LazyLock::new(|| {
        let mut sizes = [0; 256];
        for named in oxmpi_datatype::NAMED.iter().filter(|named| oxmpi_rma::check_comparable(named).is_ok()) {
            sizes[named.handle as usize - oxmpi_datatype::NULL] = named.size() as u8;
        }
        sizes
    });
    let at = datatype.0.wrapping_sub(oxmpi_datatype::NULL);
    if at < 256 && SIZES[at] != 0 { Some(SIZES[at] as usize) } else { None }
}

// ---- with a request: the operation is complete when the call returns ----

pub unsafe fn raccumulate(
    cx: &Call,
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: i64,
    target_datatype: Datatype,
    op: Op,
    win: Win,
    request: *mut Request,
) -> Result<()> {
    check_op(op)?;
    check_passive(&cx.enter()?, &[origin_datatype, target_datatype], target_rank, win)?;
    check_place(request, "request")?;
    // SAFETY: passed on; checked.
    unsafe {
        accumulate(
            cx,
            origin_addr,
            origin_count,
            origin_datatype,
            target_rank,
            target_disp,
            target_count,
            target_datatype,
            op,
            win,
        )?;
        store_done(cx, request)
    }
}

pub unsafe fn rget_accumulate(
    cx: &Call,
    origin_addr: *const c_void,
    origin_count: i64,
    origin_datatype: Datatype,
    result_addr: *mut c_void,
    result_count: i64,
    result_datatype: Datatype,
    target_rank: c_int,
    target_disp: Aint,
    target_count: i64,
    target_datatype: Datatype,
    op: Op,
    win: Win,
    request: *mut Request,
) -> Result<()> {
    check_op(op)?;
    // MPI_NO_OP makes nothing of the origin.
    let origin = if op == MPI_NO_OP { target_datatype } else { origin_datatype };
    check_passive(&cx.enter()?, &[origin, result_datatype, target_datatype], target_rank, win)?;
    check_place(request, "request")?;
    // SAFETY: passed on; checked.
    unsafe {
        get_accumulate(
            cx,
            origin_addr,
            origin_count,
            origin_datatype,
            result_addr,
            result_count,
            result_datatype,
            target_rank,
            target_disp,
            target_count,
            target_datatype,
            op,
            win,
        )?;
        store_done(cx, request)
    }
}
