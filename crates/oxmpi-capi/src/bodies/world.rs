//! The world model: initialising, finalising, aborting, and ranks in communicators.

use crate::call::{Call, On};
use crate::library::{self, LIBRARY};
use crate::raise;
use oxmpi::comm;
use oxmpi::dynamic::{leaving, spawn};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Result, bail};
use oxmpi_core::attributes::Object;
use oxmpi_core::library::World;
use std::ffi::{c_char, c_int};

pub fn init(cx: &Call, _argc: *mut c_int, _argv: *mut *mut *mut c_char) -> Result<()> {
    start(cx, MPI_THREAD_SINGLE)
}

pub fn init_thread(cx: &Call, _argc: *mut c_int, _argv: *mut *mut *mut c_char, required: c_int) -> Result<c_int> {
    let levels = [MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE];
    if !levels.contains(&required) {
        bail!(
            MPI_ERR_ARG,
            "the required thread level {required} is not one of MPI_THREAD_SINGLE … MPI_THREAD_MULTIPLE"
        );
    }
    start(cx, required)?;
    Ok(required)
}

fn start(cx: &Call, level: c_int) -> Result<()> {
    match LIBRARY.world() {
        World::NotYet => {}
        World::Active => bail!(MPI_ERR_OTHER, "MPI is already initialised"),
        World::Finalized => bail!(MPI_ERR_OTHER, "MPI has been finalised, and the world cannot be initialised again"),
    }
    library::join(level, false)?;
    if let Some(mut guard) = library::enter() {
        guard.comms.has_world = true;
        guard.comms.world.errhandler = LIBRARY.initial_errhandler();
        guard.comms.own.errhandler = LIBRARY.initial_errhandler();
    }
    LIBRARY.begin_world(level);
    spawn::join_parents(cx)
}

pub fn finalize(cx: &Call) -> Result<()> {
    drop(cx.enter_world()?);
    // MPI_COMM_SELF is freed first, so that the program's callbacks run while MPI still works.
    cx.library().delete_attributes(Object::Comm(MPI_COMM_SELF))?;
    leaving::tell_what_is_left(cx);
    let mismatch = comm::compare_at_end(cx)?.map(|error| raise::tell(cx, On::Comm(MPI_COMM_WORLD), error));
    let mut guard = cx.enter_world()?;
    guard.end_world();
    for handler in [guard.comms.world.errhandler, guard.comms.own.errhandler] {
        LIBRARY.errhandlers().detach(handler);
    }
    LIBRARY.end_world();
    drop(guard);
    if LIBRARY.retire() {
        flush_and_leave(cx);
    }
    mismatch.map_or(Ok(()), Err)
}

/// The last user of the library in this process has ended.
pub(super) fn flush_and_leave(cx: &Call) {
    // If another thread has joined and left in the meantime, it has flushed.
    if let Some(mut guard) = library::enter() {
        leaving::part_from_all(cx, &mut guard);
    }
    LIBRARY.leave();
}

pub fn initialized() -> Result<bool> {
    Ok(LIBRARY.world() != World::NotYet)
}

pub fn finalized() -> Result<bool> {
    Ok(LIBRARY.world() == World::Finalized)
}

pub fn is_thread_main(cx: &Call) -> Result<bool> {
    cx.enter_world()?;
    Ok(LIBRARY.is_main_thread())
}

pub fn query_thread(cx: &Call) -> Result<c_int> {
    cx.enter_world()?;
    Ok(LIBRARY.thread_level())
}

pub fn abort(comm: Comm, errorcode: c_int) -> Result<()> {
    let of = library::enter().and_then(|mut guard| guard.doom(comm)).unwrap_or_else(|| String::from("the program"));
    raise::say(&format!("{}: MPI_Abort({of}, {errorcode})\n", raise::process_name()));
    raise::abort(errorcode)
}

pub fn comm_rank(cx: &Call, comm: Comm) -> Result<c_int> {
    let guard = cx.enter()?;
    Ok(guard.comm(comm)?.rank)
}

pub fn comm_size(cx: &Call, comm: Comm) -> Result<c_int> {
    let guard = cx.enter()?;
    Ok(guard.comm(comm)?.local_group().len() as c_int)
}
