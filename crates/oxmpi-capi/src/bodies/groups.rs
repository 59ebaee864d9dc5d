//! Groups: making from others and from process sets, comparing, queries, freeing.

use crate::args::{Array, OutArray};
use crate::call::{Call, Guard, On};
use crate::library::LIBRARY;
use oxmpi::comm;
use oxmpi::group::add;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Group as Handle, Session};
use oxmpi_abi::{Result, bail};
use oxmpi_core::group::{Group, range};
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;

/// A group argument. A later error of the call concerns its session, if it has one.
pub(super) fn get(cx: &Call, guard: &Guard, group: Handle) -> Result<Arc<Group>> {
    let found = Arc::clone(guard.group(group)?);
    if let Some(session) = found.session {
        cx.raise_on(On::Session(session));
    }
    Ok(found)
}

/// An array of inputs whose length is the argument `n`.
fn inputs<'m, T: Copy>(array: Array<'m, T>, name: &str) -> Result<&'m [T]> {
    array.elements(name, &format!("n, the length of {name},"), MPI_ERR_ARG)
}

// ---- queries ----

pub fn group_size(cx: &Call, group: Handle) -> Result<c_int> {
    let found = get(cx, &cx.enter()?, group)?;
    Ok(found.len() as c_int)
}

pub fn group_rank(cx: &Call, group: Handle) -> Result<c_int> {
    let guard = cx.enter()?;
    let found = get(cx, &guard, group)?.rank_of(comm::own_peer(&guard));
    Ok(found.map_or(MPI_UNDEFINED, |rank| rank as c_int))
}

pub fn group_compare(cx: &Call, group1: Handle, group2: Handle) -> Result<c_int> {
    let guard = cx.enter()?;
    let verdict = get(cx, &guard, group1)?.compare(&*get(cx, &guard, group2)?);
    Ok(verdict)
}

pub fn group_translate_ranks(
    cx: &Call,
    group1: Handle,
    ranks1: Array<c_int>,
    group2: Handle,
    ranks2: OutArray<c_int>,
) -> Result<()> {
    let guard = cx.enter()?;
    let (from, to) = (get(cx, &guard, group1)?, get(cx, &guard, group2)?);
    let ranks = inputs(ranks1, "ranks1")?;
    ranks2.check("ranks2")?;
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
        ranks2.set(index, translated);
    }
    Ok(())
}

// ---- making ----

fn combine(cx: &Call, group1: Handle, group2: Handle, how: impl FnOnce(&Group, &Group) -> Group) -> Result<Handle> {
    let mut guard = cx.enter()?;
    let (first, second) = (get(cx, &guard, group1)?, get(cx, &guard, group2)?);
    add(&mut guard, how(&first, &second))
}

pub fn group_union(cx: &Call, group1: Handle, group2: Handle) -> Result<Handle> {
    combine(cx, group1, group2, Group::union)
}

pub fn group_intersection(cx: &Call, group1: Handle, group2: Handle) -> Result<Handle> {
    combine(cx, group1, group2, Group::intersection)
}

pub fn group_difference(cx: &Call, group1: Handle, group2: Handle) -> Result<Handle> {
    combine(cx, group1, group2, Group::difference)
}

pub fn group_incl(cx: &Call, group: Handle, ranks: Array<c_int>) -> Result<Handle> {
    let mut guard = cx.enter()?;
    let found = get(cx, &guard, group)?;
    let ranks = inputs(ranks, "ranks")?.iter().map(|&rank| i64::from(rank));
    add(&mut guard, found.include(ranks)?)
}

pub fn group_excl(cx: &Call, group: Handle, ranks: Array<c_int>) -> Result<Handle> {
    let mut guard = cx.enter()?;
    let found = get(cx, &guard, group)?;
    let ranks = inputs(ranks, "ranks")?.iter().map(|&rank| i64::from(rank));
    add(&mut guard, found.exclude(ranks)?)
}

/// The ranks of all ranges.
fn in_ranges(ranges: Array<[c_int; 3]>) -> Result<impl Iterator<Item = i64>> {
    let ranges = inputs(ranges, "ranges")?;
    let all = ranges.iter().map(|&triplet| range(triplet)).collect::<Result<Vec<_>>>()?;
    Ok(all.into_iter().flatten())
}

pub fn group_range_incl(cx: &Call, group: Handle, ranges: Array<[c_int; 3]>) -> Result<Handle> {
    let mut guard = cx.enter()?;
    let found = get(cx, &guard, group)?;
    add(&mut guard, found.include(in_ranges(ranges)?)?)
}

pub fn group_range_excl(cx: &Call, group: Handle, ranges: Array<[c_int; 3]>) -> Result<Handle> {
    let mut guard = cx.enter()?;
    let found = get(cx, &guard, group)?;
    add(&mut guard, found.exclude(in_ranges(ranges)?)?)
}

pub fn group_from_session_pset(cx: &Call, session: Session, pset_name: &[u8]) -> Result<Handle> {
    LIBRARY.session(session, |_| ())?;
    let mut guard = cx.enter()?;
    let ranks = guard.process_set(pset_name)?;
    add(&mut guard, Group::new(ranks, Some(session)))
}

pub fn group_free(cx: &Call, group: &Cell<Handle>) -> Result<()> {
    let mut guard = cx.enter()?;
    let handle = group.get();
    get(cx, &guard, handle)?;
    // There is one empty group; every program that got it may free it.
    guard.groups.remove(handle.0);
    group.set(MPI_GROUP_NULL);
    Ok(())
}
