//! Groups: made from others and from process sets, compared, asked, freed.

use super::{check_place, null_pointer, store, text};
use crate::call::{Call, On};
use crate::library::LIBRARY;
use oxmpi::comm;
use oxmpi::group;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Group as Handle, Session};
use oxmpi_abi::{Result, bail};
use oxmpi_core::group::{Group, range};
use oxmpi_core::guard::Guard;
use std::ffi::{c_char, c_int};
use std::sync::Arc;

/// A group argument. An error that follows concerns its session, if it has one.
pub(super) fn get(cx: &Call, guard: &Guard, group: Handle) -> Result<Arc<Group>> {
    let found = Arc::clone(guard.group(group)?);
    if let Some(session) = found.session {
        cx.raise_on(On::Session(session));
    }
    Ok(found)
}

/// An array of inputs.
///
/// # Safety
/// A pointer that is not null points to `n` elements.
unsafe fn inputs<'a, T>(array: *const T, n: c_int, name: &str) -> Result<&'a [T]> {
    match usize::try_from(n) {
        Err(_) => bail!(MPI_ERR_ARG, "n, the length of {name}, is {n}, which is negative"),
        Ok(0) => Ok(&[]),
        Ok(_) if array.is_null() => Err(null_pointer(name)),
        // SAFETY: as the caller says.
        Ok(n) => Ok(unsafe { std::slice::from_raw_parts(array, n) }),
    }
}

// ---- asking ----

/// Stores the handle of a new group.
///
/// # Safety
/// `to` is null or may be written.
pub(super) unsafe fn give(guard: &mut Guard, group: Group, to: *mut Handle, name: &str) -> Result<()> {
    check_place(to, name)?;
    // SAFETY: not null, so it may be written: this function's own condition.
    unsafe { store(to, group::add(guard, group)?, name) }
}

pub unsafe fn group_size(cx: &Call, group: Handle, size: *mut c_int) -> Result<()> {
    let found = get(cx, &cx.enter()?, group)?;
    // SAFETY: null or may be written.
    unsafe { store(size, found.len() as c_int, "size") }
}

pub unsafe fn group_rank(cx: &Call, group: Handle, rank: *mut c_int) -> Result<()> {
    let guard = cx.enter()?;
    let found = get(cx, &guard, group)?.rank_of(comm::own_peer(&guard));
    // SAFETY: null or may be written.
    unsafe { store(rank, found.map_or(MPI_UNDEFINED, |rank| rank as c_int), "rank") }
}

pub unsafe fn group_compare(cx: &Call, group1: Handle, group2: Handle, result: *mut c_int) -> Result<()> {
    let guard = cx.enter()?;
    let verdict = get(cx, &guard, group1)?.compare(&*get(cx, &guard, group2)?);
    // SAFETY: null or may be written.
    unsafe { store(result, verdict, "result") }
}

pub unsafe fn group_translate_ranks(
    cx: &Call,
    group1: Handle,
    n: c_int,
    ranks1: *const c_int,
    group2: Handle,
    ranks2: *mut c_int,
) -> Result<()> {
    let guard = cx.enter()?;
    let (from, to) = (get(cx, &guard, group1)?, get(cx, &guard, group2)?);
    // SAFETY: null or `n` elements.
    let ranks = unsafe { inputs(ranks1, n, "ranks1")? };
    if n > 0 {
        check_place(ranks2, "ranks2")?;
    }
    for (index, &rank) in ranks.iter().enumerate() {
        let translated = match rank {
            MPI_PROC_NULL => MPI_PROC_NULL,
            _ if rank < 0 || rank as usize >= from.len() => bail!(
                MPI_ERR_RANK,
                "ranks1[{index}] is {rank}, which does not exist in the first group of {} processes",
                from.len()
            ),
            _ => to.rank_of(from.member(rank)).map_or(MPI_UNDEFINED, |rank| rank as c_int),
        };
        // SAFETY: checked; it has as many elements.
        unsafe { ranks2.add(index).write(translated) };
    }
    Ok(())
}

// ---- making ----

/// # Safety
/// `newgroup` is null or may be written.
unsafe fn combine(
    cx: &Call,
    group1: Handle,
    group2: Handle,
    newgroup: *mut Handle,
    how: impl FnOnce(&Group, &Group) -> Group,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let (first, second) = (get(cx, &guard, group1)?, get(cx, &guard, group2)?);
    // SAFETY: passed on.
    unsafe { give(&mut guard, how(&first, &second), newgroup, "newgroup") }
}

pub unsafe fn group_union(cx: &Call, group1: Handle, group2: Handle, newgroup: *mut Handle) -> Result<()> {
    // SAFETY: passed on.
    unsafe { combine(cx, group1, group2, newgroup, Group::union) }
}

pub unsafe fn group_intersection(cx: &Call, group1: Handle, group2: Handle, newgroup: *mut Handle) -> Result<()> {
    // SAFETY: passed on.
    unsafe { combine(cx, group1, group2, newgroup, Group::intersection) }
}

pub unsafe fn group_difference(cx: &Call, group1: Handle, group2: Handle, newgroup: *mut Handle) -> Result<()> {
    // SAFETY: passed on.
    unsafe { combine(cx, group1, group2, newgroup, Group::difference) }
}

pub unsafe fn group_incl(cx: &Call, group: Handle, n: c_int, ranks: *const c_int, newgroup: *mut Handle) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = get(cx, &guard, group)?;
    // SAFETY: null or `n` elements; passed on.
    unsafe {
        let ranks = inputs(ranks, n, "ranks")?.iter().map(|&rank| i64::from(rank));
        give(&mut guard, found.include(ranks)?, newgroup, "newgroup")
    }
}

pub unsafe fn group_excl(cx: &Call, group: Handle, n: c_int, ranks: *const c_int, newgroup: *mut Handle) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = get(cx, &guard, group)?;
    // SAFETY: null or `n` elements; passed on.
    unsafe {
        let ranks = inputs(ranks, n, "ranks")?.iter().map(|&rank| i64::from(rank));
        give(&mut guard, found.exclude(ranks)?, newgroup, "newgroup")
    }
}

/// The ranks of all ranges.
///
/// # Safety
/// `ranges` is null or has `n` elements.
unsafe fn in_ranges<'a>(ranges: *const [c_int; 3], n: c_int) -> Result<impl Iterator<Item = i64> + 'a> {
    // SAFETY: as the caller says.
    let ranges = unsafe { inputs(ranges, n, "ranges")? };
    let all = ranges.iter().map(|&triplet| range(triplet)).collect::<Result<Vec<_>>>()?;
    Ok(all.into_iter().flatten())
}

pub unsafe fn group_range_incl(
    cx: &Call,
    group: Handle,
    n: c_int,
    ranges: *mut [c_int; 3],
    newgroup: *mut Handle,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = get(cx, &guard, group)?;
    // SAFETY: passed on.
    unsafe { give(&mut guard, found.include(in_ranges(ranges, n)?)?, newgroup, "newgroup") }
}

pub unsafe fn group_range_excl(
    cx: &Call,
    group: Handle,
    n: c_int,
    ranges: *mut [c_int; 3],
    newgroup: *mut Handle,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = get(cx, &guard, group)?;
    // SAFETY: passed on.
    unsafe { give(&mut guard, found.exclude(in_ranges(ranges, n)?)?, newgroup, "newgroup") }
}

pub unsafe fn group_from_session_pset(
    cx: &Call,
    session: Session,
    pset_name: *const c_char,
    newgroup: *mut Handle,
) -> Result<()> {
    LIBRARY.session(session, |_| ())?;
    // SAFETY: null or a string.
    let name = unsafe { text(pset_name, "pset_name")? };
    let mut guard = cx.enter()?;
    // SAFETY: null or may be written.
    unsafe {
        match guard.process_set(name) {
            Ok(ranks) => give(&mut guard, Group::new(ranks, Some(session)), newgroup, "newgroup"),
            Err(error) => store(newgroup, MPI_GROUP_NULL, "newgroup").and(Err(error)),
        }
    }
}

pub unsafe fn group_free(cx: &Call, group: *mut Handle) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(group, "group")?;
    // SAFETY: checked.
    let handle = unsafe { group.read() };
    get(cx, &guard, handle)?;
    // There is one empty group, which whoever got it may give back.
    guard.groups.remove(handle.0);
    // SAFETY: checked.
    unsafe { store(group, MPI_GROUP_NULL, "group") }
}
