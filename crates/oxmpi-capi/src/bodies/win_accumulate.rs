//! Accumulates of all kinds. As with puts and gets, the common case takes a short path.

use super::win_access::check_epoch;
use crate::args::{Access, At, SourceArg, TargetArg};
use crate::call::{Call, Guard};
use oxmpi::rma::access;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_core::process::Process;
use oxmpi_rma::{Combine, SHORTEST_MAPPED};

// The short path is inlined into the entry points: passing arguments through the stack would cost
// more than the path itself.

/// Whether an origin or a result has the same elements as the target.
#[inline(always)]
fn is_like(address: *const u8, count: i64, datatype: Datatype, target: At) -> bool {
    datatype == target.datatype && count == target.count && address as usize >= 4096
}

/// Combines elements of a predefined type without gaps; false for everything unusual or wrong.
/// `result` is null when it is not wanted.
///
/// # Safety
/// A result that is not null has room for the elements of the target.
#[inline(always)]
unsafe fn try_op(
    process: &mut Process,
    origin: SourceArg,
    result: *mut u8,
    target: At,
    op: Op,
    win: Win,
) -> Result<bool> {
    let Some(with) = oxmpi_rma::predefined_combine(op.0, target.datatype.0) else { return Ok(false) };
    let from = origin.address();
    let has_operand = op == MPI_NO_OP || is_like(from, origin.count, origin.datatype, target);
    if !(1..1 << 31).contains(&target.count) || !has_operand {
        return Ok(false);
    }
    let Some(found) = process.windows.get_mut(win.0) else { return Ok(false) };
    let count = target.count as usize;
    let bytes = count * with.extent;
    if let Some(at) = found.window.try_mapped(target.rank, target.disp, bytes) {
        let rank = target.rank as usize;
        // SAFETY: the target is in its window and may be accessed; the origin holds as many elements of the same type, or is
        // not read, and so does a result.
        unsafe {
            if bytes >= SHORTEST_MAPPED {
                return long(process, &with, (rank, at), from, result, count, win);
            }
            found.window.combine(rank, &with, at, from, result, count);
        }
        return Ok(true);
    }
    let Some(remote) = found.window.try_remote_run(target.rank, target.disp, bytes) else { return Ok(false) };
    // SAFETY: the target is in its window; origin and result hold as many elements of the same type.
    unsafe { process.win(win)?.window.combine_remote(process.engine.node(), &with, remote, from, result, count)? };
    Ok(true)
}

/// # Safety
/// As for [`try_op`]; the rank's memory is mapped there.
#[cold]
unsafe fn long(
    process: &Process,
    with: &Combine,
    (rank, at): (usize, *mut u8),
    from: *const u8,
    to: *mut u8,
    count: usize,
    win: Win,
) -> Result<bool> {
    let (window, node) = (&process.win(win)?.window, process.engine.node());
    // SAFETY: `at` is the rank's memory, mapped here; `from` and `to` hold `count` elements of the type.
    unsafe { window.combine_mapped(node, rank, with, at, (from, to), count)? };
    Ok(true)
}

#[inline(always)]
pub fn accumulate(cx: &Call, origin_addr: SourceArg<'static>, target: At, op: Op, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    guard.check_access(cx.fun, op, win, || Access(Some(origin_addr), None, target));
    // SAFETY: there is no result.
    if op != MPI_NO_OP && unsafe { try_op(&mut guard, origin_addr, std::ptr::null_mut(), target, op, win)? } {
        return Ok(());
    }
    access::accumulate(&mut guard.for_slow_path(), origin_addr, None, target, op, win)
}

#[inline(always)]
pub fn get_accumulate(
    cx: &Call,
    origin_addr: SourceArg<'static>,
    result_addr: TargetArg<'static>,
    target: At,
    op: Op,
    win: Win,
) -> Result<()> {
    let mut guard = cx.enter()?;
    guard.check_access(cx.fun, op, win, || Access(Some(origin_addr), Some(result_addr), target));
    let (result, count) = (result_addr.address(), result_addr.count);
    let fits = is_like(result, count, result_addr.datatype, target);
    // SAFETY: the result has as many elements of the same type as the target.
    if fits && unsafe { try_op(&mut guard, origin_addr, result, target, op, win)? } {
        return guard.access_done();
    }
    let mut guard = guard.for_slow_path();
    access::accumulate(&mut guard, origin_addr, Some(result_addr), target, op, win)?;
    guard.access_done()
}

#[inline(always)]
pub fn fetch_and_op(
    cx: &Call,
    origin_addr: SourceArg<'static>,
    result_addr: TargetArg<'static>,
    target: At,
    op: Op,
    win: Win,
) -> Result<()> {
    let mut guard = cx.enter()?;
    guard.check_access(cx.fun, op, win, || Access(Some(origin_addr), Some(result_addr), target));
    let result = result_addr.address();
    // SAFETY: the result is one element of the type that the target has.
    if result as usize >= 4096 && unsafe { try_op(&mut guard, origin_addr, result, target, op, win)? } {
        guard.access_done()?;
        if op == MPI_NO_OP {
            guard.for_slow_path().yield_cpu();
        }
        return Ok(());
    }
    let mut guard = guard.for_slow_path();
    guard.win(win)?;
    check_predefined(&guard, target.datatype)?;
    access::accumulate(&mut guard, origin_addr, Some(result_addr), target, op, win)?;
    if op == MPI_NO_OP {
        guard.yield_cpu();
    }
    guard.access_done()
}

fn check_predefined(process: &Process, datatype: Datatype) -> Result<()> {
    let found = process.datatype(datatype)?;
    if !found.is_predefined() {
        bail!(MPI_ERR_TYPE, "{found:?} is not a predefined datatype, which this function requires");
    }
    Ok(())
}

pub fn compare_and_swap(
    cx: &Call,
    origin_addr: SourceArg<'static>,
    compare_addr: SourceArg<'static>,
    result_addr: TargetArg<'static>,
    target: At,
    win: Win,
) -> Result<()> {
    let mut guard = cx.enter()?;
    guard.win(win)?;
    let At { rank, disp, datatype, .. } = target;
    let Some(bytes) = comparable_size(datatype) else {
        check_predefined(&guard, datatype)?;
        let found = guard.datatype(datatype)?;
        return Err(found.only().map_or_else(not_comparable, |element| match oxmpi_rma::check_comparable(element) {
            Err(error) => error,
            Ok(()) => not_comparable(),
        }));
    };
    guard.source_of(origin_addr)?;
    guard.source_of(compare_addr)?;
    guard.target_of(result_addr)?;
    guard.check_access(cx.fun, MPI_REPLACE, win, || Access(Some(origin_addr), Some(result_addr), target));
    let (new, compare, old) = (origin_addr.address(), compare_addr.address(), result_addr.address());
    let window = &mut guard.win_mut(win)?.window;
    // SAFETY: the target is in its window and may be accessed; the other three are one element of the type each.
    let swapped = unsafe {
        if let Some(at) = window.try_mapped(rank, disp, bytes) {
            window.compare_and_swap(rank as usize, at, bytes, new, compare, old)
        } else if let Some(remote) = window.try_remote_run(rank, disp, bytes) {
            guard.win(win)?.window.compare_and_swap_remote(guard.engine.node(), remote, bytes, new, compare, old)?
        } else {
            let mut guard = guard.for_slow_path();
            let swapped = access::compare_and_swap(&mut guard, (new, compare, old), bytes, target, win)?;
            return end_swap(guard, swapped);
        }
    };
    end_swap(guard, swapped)
}

#[inline(always)]
fn end_swap(mut guard: Guard, swapped: bool) -> Result<()> {
    guard.access_done()?;
    if !swapped {
        guard.for_slow_path().yield_cpu();
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

// ---- with a request: the buffers can be used again when the call returns ----

pub fn raccumulate(cx: &Call, origin_addr: SourceArg<'static>, target: At, op: Op, win: Win) -> Result<Request> {
    access::check_op(op)?;
    check_epoch(cx, &[origin_addr.datatype, target.datatype], target.rank, win)?;
    accumulate(cx, origin_addr, target, op, win)?;
    access::request(&mut cx.enter()?, target.rank, win)
}

pub fn rget_accumulate(
    cx: &Call,
    origin_addr: SourceArg<'static>,
    result_addr: TargetArg<'static>,
    target: At,
    op: Op,
    win: Win,
) -> Result<Request> {
    access::check_op(op)?;
    // MPI_NO_OP does not use the origin.
    let origin = if op == MPI_NO_OP { target.datatype } else { origin_addr.datatype };
    check_epoch(cx, &[origin, result_addr.datatype, target.datatype], target.rank, win)?;
    get_accumulate(cx, origin_addr, result_addr, target, op, win)?;
    access::request(&mut cx.enter()?, target.rank, win)
}
