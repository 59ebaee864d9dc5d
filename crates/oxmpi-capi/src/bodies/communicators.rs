//! Communicators: making from others, comparing, queries, freeing.

use crate::call::{Call, Guard, On};
use crate::library::LIBRARY;
use crate::raise;
use oxmpi::comm::{self, hints};
use oxmpi::group;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Group as GroupHandle, Info as InfoHandle, Request};
use oxmpi_abi::{Result, bail};
use oxmpi_core::attributes::{Attributes, Object};
use oxmpi_core::check::{self, calls::Data};
use oxmpi_core::contexts::{self, NOT_YET, SplitArgs};
use oxmpi_core::group::Group;
use oxmpi_core::request::Active;
use oxmpi_core::wait::waiting::Leaving;
use oxmpi_core::{comm::Comm as Made, ranks::Ranks};
use std::cell::Cell;
use std::ffi::c_int;

// ---- queries ----

pub fn comm_test_inter(cx: &Call, comm: Comm) -> Result<bool> {
    let inter = cx.enter()?.comm(comm)?.is_inter();
    Ok(inter)
}

pub fn comm_remote_size(cx: &Call, comm: Comm) -> Result<c_int> {
    let guard = cx.enter()?;
    let found = inter(&guard, comm)?;
    Ok(found.size())
}

pub fn comm_group(cx: &Call, comm: Comm) -> Result<GroupHandle> {
    let mut guard = cx.enter()?;
    let found = guard.comm(comm)?;
    let made = Group::new(found.local_group().clone(), found.session);
    group::add(&mut guard, made)
}

pub fn comm_remote_group(cx: &Call, comm: Comm) -> Result<GroupHandle> {
    let mut guard = cx.enter()?;
    let found = inter(&guard, comm)?;
    let made = Group::new(found.group.clone(), found.session);
    group::add(&mut guard, made)
}

pub(super) fn inter<'g>(guard: &'g Guard, comm: Comm) -> Result<&'g Made> {
    let found = guard.comm(comm)?;
    if !found.is_inter() {
        bail!(MPI_ERR_COMM, "{} is not an intercommunicator", found.describe());
    }
    Ok(found)
}

pub fn comm_compare(cx: &Call, comm1: Comm, comm2: Comm) -> Result<c_int> {
    let guard = cx.enter()?;
    let first = guard.comm(comm1)?;
    cx.raise_on(On::Comm(comm1));
    let second = guard.comm(comm2)?;
    let groups = |a: &Ranks, b: &Ranks| Group::new(a.clone(), None).compare(&Group::new(b.clone(), None));
    let verdict = if comm1 == comm2 {
        MPI_IDENT
    } else if first.is_inter() != second.is_inter() {
        MPI_UNEQUAL
    } else {
        let near = groups(first.local_group(), second.local_group());
        let far = groups(&first.group, &second.group);
        match (near, far) {
            (MPI_UNEQUAL, _) | (_, MPI_UNEQUAL) => MPI_UNEQUAL,
            (MPI_IDENT, MPI_IDENT) => MPI_CONGRUENT,
            _ => MPI_SIMILAR,
        }
    };
    Ok(verdict)
}

pub fn comm_set_info(cx: &Call, comm: Comm, info: InfoHandle) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = guard.comm_mut(comm)?;
    hints::update(cx.library(), &mut found.hints, &LIBRARY.info(info)?, found.session)
}

pub fn comm_get_info(cx: &Call, comm: Comm) -> Result<InfoHandle> {
    let guard = cx.enter()?;
    let found = guard.comm(comm)?;
    let used = hints::in_force(cx.library(), &found.hints, found.session)?;
    LIBRARY.add_info(used)
}

// ---- duplicates ----

/// What a duplicate is made from.
struct Original {
    made: Made,
    attributes: Attributes,
}

fn original(cx: &Call, comm: Comm, info: InfoHandle) -> Result<Original> {
    let given = LIBRARY.info(info)?;
    let mut made = {
        let guard = cx.enter()?;
        let found = guard.comm(comm)?;
        let made = Made::new(NOT_YET, found.rank, found.group.clone(), found.local.clone(), found.errhandler);
        Made { session: found.session, from_group: found.from_group, topology: found.topology.clone(), ..made }
    };
    hints::update(cx.library(), &mut made.hints, &given, made.session)?;
    let attributes = cx.library().copy_attributes(Object::Comm(comm))?;
    Ok(Original { made, attributes })
}

pub fn comm_dup(cx: &Call, comm: Comm) -> Result<Comm> {
    comm_dup_with_info(cx, comm, MPI_INFO_NULL)
}

pub fn comm_dup_with_info(cx: &Call, comm: Comm, info: InfoHandle) -> Result<Comm> {
    cx.note(comm);
    cx.enter()?.comm(comm)?;
    let original = original(cx, comm, info);
    // Also when a callback refused: the others must not wait for this process.
    let mut guard = cx.enter()?;
    let own = comm::own_peer(&guard);
    let participants = guard.comm_mut(comm)?.participants(own)?;
    let context = comm::run_agreement(cx, &mut guard, |io| contexts::agree(io, participants, 0))?;
    let Original { made, attributes } = original?;
    LIBRARY.errhandlers().share(made.errhandler);
    let handle = guard.add_comm(Made { context, ..made })?;
    cx.library().adopt_attributes(Object::Comm(handle), attributes);
    Ok(handle)
}

pub fn comm_idup(cx: &Call, comm: Comm) -> Result<(Comm, Request)> {
    comm_idup_with_info(cx, comm, MPI_INFO_NULL)
}

pub fn comm_idup_with_info(cx: &Call, comm: Comm, info: InfoHandle) -> Result<(Comm, Request)> {
    cx.note(comm);
    cx.enter()?.comm(comm)?;
    let original = original(cx, comm, info);
    let mut guard = cx.enter()?;
    let own = comm::own_peer(&guard);
    let participants = guard.comm_mut(comm)?.participants(own)?;
    let Original { made, attributes } = match original {
        Ok(original) => original,
        Err(error) => {
            // A callback refused. The others must not wait, so this process agrees and drops the
            // result.
            let unwanted = Made::new(NOT_YET, 0, Ranks::one_node(0), None, MPI_ERRORS_RETURN);
            let (handle, _) = guard.add_comm_later(unwanted, participants)?;
            guard.remove_comm(handle)?;
            return Err(error);
        }
    };
    LIBRARY.errhandlers().share(made.errhandler);
    let (handle, promise) = guard.add_comm_later(made, participants)?;
    cx.library().adopt_attributes(Object::Comm(handle), attributes);
    let started = guard.once(comm, Active::Promise(promise));
    Ok((handle, started))
}

// ---- parts ----

/// A group argument that must be within a communicator; whether this process is in it.
fn part_of(guard: &Guard, comm: &Made, group: GroupHandle) -> Result<(Ranks, Option<usize>)> {
    let found = guard.group(group)?;
    let all = Group::new(comm.local_group().clone(), None);
    if let Some(foreign_process) = found.iter().position(|process| all.rank_of(process).is_none()) {
        bail!(MPI_ERR_GROUP, "rank {foreign_process} of the group is a process outside {}", comm.describe());
    }
    Ok((found.ranks().clone(), found.rank_of(comm::own_peer(guard))))
}

/// The ranks that the members of a group have in a communicator.
fn group_in(guard: &Guard, comm: Comm, group: GroupHandle) -> Result<Vec<i64>> {
    let all = Group::new(guard.comm(comm)?.local_group().clone(), None);
    let rank_of = |process| all.rank_of(process).map_or(-1, |rank| rank as i64);
    Ok(guard.group(group)?.iter().map(rank_of).collect())
}

pub fn comm_create(cx: &Call, comm: Comm, group: GroupHandle) -> Result<Comm> {
    let mut guard = cx.enter()?;
    if check::is_on() {
        let members = group_in(&guard, comm, group)?;
        cx.note_in(&mut guard, comm, Data::group(&members));
    }
    let found = guard.comm(comm)?;
    let (ranks, rank) = part_of(&guard, found, group)?;
    let handle = if found.is_inter() {
        // The group of the other side is unknown, so the processes must find each other.
        let args = SplitArgs { color: rank.map(|_| 0), key: rank.unwrap_or_default() as i32 };
        comm::split(cx, &mut guard, comm, args)?
    } else {
        comm::create(cx, &mut guard, comm, rank.map(|_| ranks))?
    };
    Ok(handle)
}

pub fn comm_create_group(cx: &Call, comm: Comm, group: GroupHandle, tag: c_int) -> Result<Comm> {
    let mut guard = cx.enter()?;
    let found = guard.comm(comm)?;
    comm::check_intra(found)?;
    if tag < 0 {
        bail!(MPI_ERR_TAG, "the tag is {tag}; it must not be negative");
    }
    let (ranks, rank) = part_of(&guard, found, group)?;
    let context = found.inner_context();
    let handle = match rank {
        None => MPI_COMM_NULL,
        Some(_) => comm::create_among(cx, &mut guard, comm, ranks, context, tag)?,
    };
    Ok(handle)
}

pub fn comm_split(cx: &Call, comm: Comm, color: c_int, key: c_int) -> Result<Comm> {
    cx.note(comm);
    let mut guard = cx.enter()?;
    guard.comm(comm)?;
    let color = match color {
        MPI_UNDEFINED => None,
        0.. => Some(color as u32),
        _ => bail!(MPI_ERR_ARG, "the color is {color}; it must be MPI_UNDEFINED or not negative"),
    };
    let handle = comm::split(cx, &mut guard, comm, SplitArgs { color, key })?;
    Ok(handle)
}

// ---- freeing ----

pub fn comm_free(cx: &Call, comm: &Cell<Comm>) -> Result<()> {
    let handle = ending(cx, comm.get())?;
    let mismatch = comm::remove(cx, handle, |error| raise::tell(cx, On::Comm(handle), error))?;
    comm.set(MPI_COMM_NULL);
    mismatch.map_or(Ok(()), Err)
}

pub fn comm_disconnect(cx: &Call, comm: &Cell<Comm>) -> Result<()> {
    let handle = ending(cx, comm.get())?;
    let mut guard = cx.enter()?;
    let context = guard.comm(handle)?.context;
    // Messages that matched a receive no longer know their context, but their request does.
    let leaving = Leaving::of(&guard, handle);
    cx.wait(&mut guard, &leaving, |process| {
        let done = leaving.is_done(process);
        let at_work = process.engine.is_at_work_on(context) || process.performs_on(context);
        (done && !process.engine.is_busy() && !at_work).then_some(())
    })?;
    comm::part(cx, &mut guard, handle)?;
    drop(guard);
    let mismatch = comm::remove(cx, handle, |error| raise::tell(cx, On::Comm(handle), error))?;
    comm.set(MPI_COMM_NULL);
    let mut guard = cx.enter()?;
    guard.leave_related_jobs();
    guard.leave_foreign();
    mismatch.map_or(Ok(()), Err)
}

/// The communicator to be freed, checked.
fn ending(cx: &Call, handle: Comm) -> Result<Comm> {
    let guard = cx.enter()?;
    cx.raise_on(On::Comm(handle));
    guard.comm(handle)?;
    if handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF {
        bail!(MPI_ERR_COMM, "{} cannot be freed", guard.comm(handle)?.describe());
    }
    Ok(handle)
}
