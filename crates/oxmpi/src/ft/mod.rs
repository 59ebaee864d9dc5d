//! Going on after processes have failed: what a program does to communicators, windows and files of which members are gone.
//! `oxmpi-core/src/failures.rs` and `votes.rs` do the work.

use crate::comm;
use crate::group;
use oxmpi_abi::constants::{MPI_COMM_NULL, MPI_ERR_ARG, MPI_GROUP_EMPTY, MPIX_ERR_PROC_FAILED};
use oxmpi_abi::handle::{Comm, File, Group, Request, Win};
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::ids::Peer;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::group::Group as Members;
use oxmpi_core::ranks::Ranks;
use oxmpi_core::request::{Active, Promise};
use oxmpi_core::wait::waiting::Unending;
use std::cell::Cell;
use std::ffi::c_int;

/// Whether the job goes on after failures.
pub fn query_ulfm_support(cx: &Call) -> Result<bool> {
    Ok(cx.enter()?.engine.node().goes_on())
}

pub fn comm_revoke(cx: &Call, comm: Comm) -> Result<()> {
    let mut guard = cx.enter()?;
    guard.revoke(comm)?;
    guard.wake_siblings();
    Ok(())
}

pub fn comm_is_revoked(cx: &Call, comm: Comm) -> Result<bool> {
    let mut guard = cx.enter()?;
    guard.look_for_news();
    Ok(guard.comm(comm)?.is_revoked())
}

pub fn comm_get_failed(cx: &Call, comm: Comm) -> Result<Group> {
    let mut guard = cx.enter()?;
    let failed = guard.failed_members(comm)?;
    group_of(&mut guard, failed)
}

pub fn comm_ack_failed(cx: &Call, comm: Comm, num_to_ack: c_int) -> Result<c_int> {
    let mut guard = cx.enter()?;
    let Ok(count) = usize::try_from(num_to_ack) else {
        guard.comm(comm)?;
        bail!(MPI_ERR_ARG, "num_to_ack is {num_to_ack}, which is negative");
    };
    Ok(guard.acknowledge(comm, count)? as c_int)
}

pub fn comm_failure_ack(cx: &Call, comm: Comm) -> Result<()> {
    cx.enter()?.acknowledge(comm, usize::MAX).map(drop)
}

pub fn comm_failure_get_acked(cx: &Call, comm: Comm) -> Result<Group> {
    let mut guard = cx.enter()?;
    let acknowledged = guard.acknowledged(comm)?;
    group_of(&mut guard, acknowledged)
}

/// Some processes as a group; without any it is the empty group that all programs know.
fn group_of(guard: &mut Guard, processes: Vec<Peer>) -> Result<Group> {
    if processes.is_empty() {
        return Ok(MPI_GROUP_EMPTY);
    }
    group::add(guard, Members::new(Ranks::from_list(processes), None))
}

pub fn comm_agree(cx: &Call, comm: Comm, flag: &Cell<c_int>) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: the word outlives this call, which returns when the promise is complete.
    let promise = unsafe { guard.begin_agree(comm, flag.as_ptr())? };
    await_vote(cx, &mut guard, &promise)
}

/// # Safety
/// `flag` can be read now, and be written until the request is complete.
pub unsafe fn comm_iagree(cx: &Call, comm: Comm, flag: *mut c_int) -> Result<Request> {
    let mut guard = cx.enter()?;
    if flag.is_null() {
        bail!(MPI_ERR_ARG, "flag is a null pointer");
    }
    // SAFETY: this function's condition.
    let promise = unsafe { guard.begin_agree(comm, flag)? };
    Ok(guard.once(comm, Active::Promise(promise)))
}

pub fn comm_shrink(cx: &Call, comm: Comm) -> Result<Comm> {
    let mut guard = cx.enter()?;
    let (made, promise) = begin_shrink(&mut guard, comm)?;
    let ended = await_vote(cx, &mut guard, &promise);
    // Without members where one of two groups is empty.
    let has_members = guard.comm(made).is_ok_and(|made| !made.group.is_empty());
    if ended.is_ok() && has_members {
        return Ok(made);
    }
    drop(guard);
    comm::remove(cx, made, |error| error)?;
    ended.map(|()| MPI_COMM_NULL)
}

pub fn comm_ishrink(cx: &Call, comm: Comm) -> Result<(Comm, Request)> {
    let mut guard = cx.enter()?;
    let (made, promise) = begin_shrink(&mut guard, comm)?;
    Ok((made, guard.once(comm, Active::Promise(promise))))
}

fn begin_shrink(guard: &mut Guard, comm: Comm) -> Result<(Comm, Promise)> {
    let (made, promise) = guard.begin_shrink(comm)?;
    let errhandler = guard.comm(made)?.errhandler;
    guard.library().errhandlers().share(errhandler);
    Ok((made, promise))
}

/// A vote ends by itself: when all members have voted, or have ended.
fn await_vote(cx: &Call, guard: &mut Guard, promise: &Promise) -> Result<()> {
    match cx.wait(guard, &Unending, |_| promise.has_ended().then(|| promise.error()))? {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

/// The end of a step of a collective call that either all members of a communicator take that live, or none: one that has taken
/// it alone takes it back. Only jobs that go on after failures need that. Votes of the program's own do not mix with it.
pub fn all_or_none<T, E: From<Error>>(
    cx: &Call,
    guard: &mut Guard,
    comm: Comm,
    taken: Result<T, E>,
    take_back: impl FnOnce(&mut Guard, T) -> Result<()>,
) -> Result<T, E> {
    if !guard.engine.node().goes_on() {
        return taken;
    }
    let flag = Cell::new(c_int::from(taken.is_ok()));
    // SAFETY: the word outlives this call, which returns when the promise is complete.
    let promise = unsafe { guard.begin_settling(comm, flag.as_ptr())? };
    let agreed = await_vote(cx, guard, &promise);
    let taken = taken?;
    if agreed.is_ok() && flag.get() != 0 {
        return Ok(taken);
    }
    take_back(guard, taken)?;
    agreed?;
    let dead = guard.dead_member(guard.comm(comm)?);
    let failed = || Error::new(MPIX_ERR_PROC_FAILED, "the call has failed at another process, because one has ended");
    Err(dead.unwrap_or_else(failed).into())
}

pub fn win_revoke(cx: &Call, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    let (context, members) = {
        let found = guard.win(win)?;
        (found.context, found.group.iter().collect::<Vec<Peer>>())
    };
    guard.revoke_context(context, members.into_iter(), true)?;
    guard.wake_siblings();
    Ok(())
}

pub fn win_get_failed(cx: &Call, win: Win) -> Result<Group> {
    let mut guard = cx.enter()?;
    let members = guard.win(win)?.group.clone();
    let failed = guard.failed_of(|peer| members.rank_of(peer).is_some());
    group_of(&mut guard, failed)
}

pub fn file_revoke(cx: &Call, file: File) -> Result<()> {
    let mut guard = cx.enter()?;
    let (context, members) = {
        let found = &guard.file(file)?.comm;
        (found.context, found.everybody())
    };
    guard.revoke_context(context, members.iter(), true)?;
    guard.wake_siblings();
    Ok(())
}
