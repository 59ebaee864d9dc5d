//! Accesses with any datatypes, and to ranks of other nodes. The C boundary handles the most common case itself (one
//! predefined type, mapped memory) and calls these functions for all others.
//!
//! The functions take the parts of their arguments, not structs. A struct is passed in memory, and
//! the compiler would store it also for the common case, where each store delays the next flush.

use super::far;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Datatype, Op, Request, Win};
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::valgrind;
use oxmpi_core::args::{Access, At, SourceArg, TargetArg};
use oxmpi_core::call::Guard;
use oxmpi_core::check;
use oxmpi_datatype::{Region, Source, Target};
use oxmpi_rma::far::origin::FarRank;
use oxmpi_rma::{Combine, Flavor, RemoteRun, TargetRegion};

/// Writes to a window. `origin` and the last pair are count and datatype at the origin and at the
/// target; the pair between them is the rank and the displacement of the target.
///
/// # Safety
/// `address` and `origin` are the parts of a [`SourceArg`].
#[inline(never)]
pub unsafe fn put(
    guard: &mut Guard,
    address: *const u8,
    origin: (i64, Datatype),
    (rank, disp): (i32, i64),
    (count, datatype): (i64, Datatype),
    win: Win,
) -> Result<()> {
    // SAFETY: the parts of such an argument, by this function's condition.
    let origin = unsafe { SourceArg::new(address.cast(), origin.0, origin.1) };
    let target = At::new(rank, disp, count, datatype);
    look_at(guard, win, || Access(Some(origin), None, target));
    if let Some((remote, bytes)) =
        try_remote_run(guard, origin.plain_bytes(), (origin.count, origin.datatype), target, win)
    {
        // SAFETY: a plain source and memory of the target's window, `bytes` long both.
        return unsafe { guard.win(win)?.window.put_run(guard.engine.node(), address, bytes, remote) };
    }
    guard.win(win)?;
    let from = guard.source_of(origin)?;
    if valgrind::is_on() {
        from.check_defined();
    }
    match guard.target_region(win, rank, disp, count, datatype)? {
        Some(TargetRegion { far: Some(there), buf, .. }) => put_far(guard, there, &from, &buf, win),
        Some(region) => guard.win(win)?.window.put(guard.engine.node(), &from, &region),
        None => Ok(()),
    }
}

/// Reads from a window, with arguments as for [`put`].
///
/// # Safety
/// `address` and `origin` are the parts of a [`TargetArg`].
#[inline(never)]
pub unsafe fn get(
    guard: &mut Guard,
    address: *mut u8,
    origin: (i64, Datatype),
    (rank, disp): (i32, i64),
    (count, datatype): (i64, Datatype),
    win: Win,
) -> Result<()> {
    // SAFETY: the parts of such an argument, by this function's condition.
    let origin = unsafe { TargetArg::new(address.cast(), origin.0, origin.1) };
    let target = At::new(rank, disp, count, datatype);
    look_at(guard, win, || Access(None, Some(origin), target));
    if let Some((remote, bytes)) =
        try_remote_run(guard, origin.plain_bytes(), (origin.count, origin.datatype), target, win)
    {
        // SAFETY: a plain origin and memory of the target's window, `bytes` long both.
        return unsafe { guard.win(win)?.window.get_run(guard.engine.node(), address, bytes, remote) };
    }
    guard.win(win)?;
    let to = guard.target_of(origin)?;
    match guard.target_region(win, rank, disp, count, datatype)? {
        Some(TargetRegion { far: Some(there), buf, .. }) => get_far(guard, there, &to, &buf, win)?,
        Some(region) => guard.win(win)?.window.get(guard.engine.node(), &to, &region)?,
        None => {}
    }
    guard.access_done()
}

/// The target's bytes in its own process, and their number, if both sides have the same dense type and length.
#[inline]
fn try_remote_run(
    guard: &mut Guard,
    plain_bytes: Option<usize>,
    origin: (i64, Datatype),
    target: At,
    win: Win,
) -> Option<(RemoteRun, usize)> {
    let bytes = plain_bytes.filter(|_| (target.count, target.datatype) == origin)?;
    let window = &mut guard.windows.get_mut(win.0)?.window;
    Some((window.try_remote_run(target.rank, target.disp, bytes)?, bytes))
}

/// For `--check` and a recorder, with which all puts and gets come here.
#[inline(always)]
fn look_at(guard: &mut Guard, win: Win, access: impl FnOnce() -> Access) {
    if check::is_watched()
        && let Some(fun) = guard.library().last_call()
    {
        guard.check_access(fun, MPI_OP_NULL, win, access);
    }
}

/// Combines elements of a window with those of the origin, of any datatypes; `old`, if given, gets the previous elements.
#[inline(always)]
pub fn accumulate(
    guard: &mut Guard,
    from: SourceArg,
    old: Option<TargetArg<'static>>,
    target: At,
    op: Op,
    win: Win,
) -> Result<()> {
    let At { rank, disp, count, datatype } = target;
    let origin = (from.count, from.datatype);
    // SAFETY: the parts of `from`.
    unsafe { accumulate_any(guard, from.address(), origin, old, (rank, disp), (count, datatype), (op, win)) }
}

/// # Safety
/// `address` and `origin` are the parts of a [`SourceArg`].
#[inline(never)]
unsafe fn accumulate_any(
    guard: &mut Guard,
    address: *const u8,
    origin: (i64, Datatype),
    old: Option<TargetArg<'static>>,
    (rank, disp): (i32, i64),
    (count, datatype): (i64, Datatype),
    (op, win): (Op, Win),
) -> Result<()> {
    guard.win(win)?;
    // SAFETY: the parts of such an argument, by this function's condition.
    let origin = unsafe { SourceArg::new(address.cast(), origin.0, origin.1) };
    let handle = op;
    let op = check_op(op)?;
    let mut types = vec![datatype];
    let mut from = None;
    if op != oxmpi_ops::Op::NoOp {
        from = Some(guard.source_of(origin)?);
        types.push(origin.datatype);
    } else if old.is_none() {
        bail!(MPI_ERR_OP, "MPI_NO_OP is only for operations that return the old value; use MPI_Get_accumulate");
    }
    let mut to = None;
    if let Some(old) = old {
        to = Some(guard.target_of(old)?);
        types.push(old.datatype);
    }
    let Some(region) = guard.target_region(win, rank, disp, count, datatype)? else { return Ok(()) };
    if region.buf.is_empty() && from.as_ref().is_none_or(|from| from.is_empty()) {
        return Ok(());
    }
    let types = types.into_iter().map(|datatype| guard.datatype(datatype)).collect::<Result<Vec<_>>>()?;
    let element = oxmpi_rma::only_element(&types)?;
    let handles = [handle.0 as u32, element.handle.into()];
    let with = Combine { op, kernel: oxmpi_ops::kernel(op, element)?, extent: element.extent(), handles };
    let target = (&**types[0], count as u64);
    if let Some(there) = region.far {
        let link = far::link(guard, there.by.agent)?;
        there.accumulate(link, (&with, element), from.as_ref(), to.as_ref(), &region.buf)?;
        return finish_dynamic(guard, there, win);
    }
    let window = &guard.win(win)?.window;
    window.accumulate(guard.engine.node(), (&with, element), from.as_ref(), to.as_ref(), &region, target)
}

/// Compares and swaps an element of a window that is on another node, or that does not take the short path; whether it was
/// swapped, as far as that is known yet.
///
/// # Safety
/// The three addresses are those of one element of the type, which has `bytes` bytes; `old` may be written until the
/// operation is complete.
pub unsafe fn compare_and_swap(
    guard: &mut Guard,
    (new, compare, old): (*const u8, *const u8, *mut u8),
    bytes: usize,
    target: At,
    win: Win,
) -> Result<bool> {
    let At { rank, disp, datatype, .. } = target;
    let Some(region) = guard.target_region(win, rank, disp, 1, datatype)? else { return Ok(true) };
    if let Some(there) = region.far {
        let Some(element) = guard.datatype(datatype)?.only() else {
            bail!(MPI_ERR_TYPE, "the datatype is not predefined");
        };
        // SAFETY: both are one element, which may be read during this call: this function's condition.
        let both =
            unsafe { [std::slice::from_raw_parts(new, bytes), std::slice::from_raw_parts(compare, bytes)].concat() };
        // SAFETY: the result may be written until the operation is complete, which the next synchronisation waits for.
        let old = unsafe { Target::dense(old, bytes) };
        there.compare_and_swap(far::link(guard, there.by.agent)?, element, &both, &old, &region.buf)?;
        finish_dynamic(guard, there, win)?;
        return Ok(true);
    }
    let window = &guard.win(win)?.window;
    // SAFETY: the target is in its window and may be accessed; the other three are one element of the type each.
    unsafe {
        match (region.remote_run(), region.buf.as_dense()) {
            (None, Some(at)) => Ok(window.compare_and_swap(region.rank, at, bytes, new, compare, old)),
            (Some(run), _) => window.compare_and_swap_remote(guard.engine.node(), run, bytes, new, compare, old),
            (None, None) => Ok(true),
        }
    }
}

// Apart from the rest, so that the paths on one node stay short.

#[cold]
fn put_far(guard: &mut Guard, there: FarRank, from: &Source<'_>, to: &Region, win: Win) -> Result<()> {
    there.put(far::link(guard, there.by.agent)?, from, to)?;
    finish_dynamic(guard, there, win)
}

#[cold]
fn get_far(guard: &mut Guard, there: FarRank, to: &Target<'static>, from: &Region, win: Win) -> Result<()> {
    there.get(far::link(guard, there.by.agent)?, to, from)?;
    finish_dynamic(guard, there, win)
}

/// Completes an operation on a dynamic window. Only the agent knows what the target has attached, and a program should
/// hear of memory that is not attached from the call that names it.
fn finish_dynamic(guard: &mut Guard, there: FarRank, win: Win) -> Result<()> {
    match guard.win(win)?.window.flavor {
        Flavor::Dynamic => far::flush(guard, &[there.by.agent]),
        _ => Ok(()),
    }
}

/// The request of an operation that was just called: its local part is complete.
pub fn request(guard: &mut Guard, rank: i32, win: Win) -> Result<Request> {
    let agents = far::agents_of(guard, win, Some(rank))?;
    far::flush_local(guard, &agents)?;
    Ok(guard.send_request(MPI_COMM_SELF, None))
}

pub fn check_op(op: Op) -> Result<oxmpi_ops::Op> {
    oxmpi_ops::predefined(op.0).ok_or_else(|| bad_op(op))
}

#[cold]
fn bad_op(op: Op) -> Error {
    let text = match op {
        MPI_OP_NULL => String::from("the operation is MPI_OP_NULL"),
        _ => format!("{:#x} is not a predefined operation; accumulates allow no others", op.0),
    };
    Error::new(MPI_ERR_OP, text)
}
