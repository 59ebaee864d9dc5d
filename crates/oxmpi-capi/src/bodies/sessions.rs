//! Sessions: they are opened and closed at any time and from any thread, beside the world, before
//! it and after it; queries about the job.

use super::world::flush_and_leave;
use crate::args::{Out, OutText};
use crate::call::{Call, On};
use crate::library::{self, LIBRARY};
use oxmpi::comm::hints::{ASYNC_PROGRESS, MEMORY_KINDS, memory_kinds};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Errhandler, Info as InfoHandle, Session};
use oxmpi_abi::{Result, bail};
use oxmpi_core::errhandler::Target;
use oxmpi_core::info::Info;
use oxmpi_core::library::{Session as Opened, World};
use oxmpi_core::request::PoolId;
use oxmpi_core::wait::waiting::Receivers;
use std::cell::Cell;
use std::ffi::c_int;

const LEVELS: [(&str, c_int); 4] = [
    ("MPI_THREAD_SINGLE", MPI_THREAD_SINGLE),
    ("MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED),
    ("MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED),
    ("MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE),
];

pub fn session_init(cx: &Call, info: InfoHandle, errhandler: Errhandler, session: Out<Session>) -> Result<()> {
    LIBRARY.errhandlers().attach(errhandler, Target::Session)?;
    cx.raise_on(On::Handler(errhandler, MPI_SESSION_NULL.0));
    let opened = session.check("session").and_then(|()| open(info, errhandler)).map(|opened| session.set(opened));
    if opened.is_err() {
        LIBRARY.errhandlers().detach(errhandler);
    }
    opened
}

fn open(info: InfoHandle, errhandler: Errhandler) -> Result<Session> {
    let asked = LIBRARY.info(info)?;
    let (name, level) = thread_level(asked.text("thread_level"))?;
    let mut hints = Info::new();
    hints.set(b"thread_level", name.as_bytes())?;
    hints.set(MEMORY_KINDS.as_bytes(), memory_kinds(asked.text(MEMORY_KINDS)).as_bytes())?;
    library::join(level, asked.boolean(ASYNC_PROGRESS) == Some(true))?;
    hints.set(ASYNC_PROGRESS.as_bytes(), if LIBRARY.has_helper() { b"true" } else { b"false" })?;
    match LIBRARY.sessions().try_insert(Opened { errhandler, hints }) {
        Ok(handle) => Ok(Session(handle)),
        Err(_) => {
            if LIBRARY.retire() {
                LIBRARY.leave();
            }
            bail!(MPI_ERR_NO_SPACE, "no handles are left for sessions")
        }
    }
}

/// The thread level of a session. Without a request it gets the highest, unless the world promised
/// that there are no threads.
fn thread_level(asked: Option<&str>) -> Result<(&'static str, c_int)> {
    let found = match asked {
        Some(asked) => LEVELS.iter().find(|(name, _)| *name == asked),
        None if LIBRARY.world() == World::Active => LEVELS.iter().find(|(_, level)| *level == LIBRARY.thread_level()),
        None => LEVELS.last(),
    };
    match found {
        Some(found) => Ok(*found),
        None => bail!(
            MPI_ERR_INFO_VALUE,
            "thread_level is \"{}\"; it must be MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED or \
             MPI_THREAD_MULTIPLE",
            asked.unwrap_or_default()
        ),
    }
}

pub fn session_finalize(cx: &Call, session: &Cell<Session>) -> Result<()> {
    let handle = session.get();
    cx.raise_on(On::Session(handle));
    LIBRARY.session(handle, |_| ())?;
    let mut guard = cx.enter()?;
    let mark = guard.pool_slot(PoolId::Session(handle))?.0.as_ref().map(|pool| pool.mark());
    if let Some(mark) = mark {
        cx.wait(&mut guard, &Receivers, |process| match process.pool_slot(PoolId::Session(handle)) {
            Ok((Some(pool), engine)) => pool.is_flushed(engine, mark).then_some(()),
            _ => Some(()),
        })?;
    }
    guard.session_buffers.remove(&handle);
    drop(guard);
    let Some(ended) = LIBRARY.sessions().remove(handle.0) else {
        bail!(MPI_ERR_SESSION, "the session was finalized by another thread at the same time");
    };
    LIBRARY.errhandlers().detach(ended.errhandler);
    if LIBRARY.retire() {
        flush_and_leave(cx);
    }
    session.set(MPI_SESSION_NULL);
    Ok(())
}

pub fn session_get_info(session: Session) -> Result<InfoHandle> {
    let hints = LIBRARY.session(session, |found| found.hints.clone())?;
    LIBRARY.add_info(hints)
}

pub fn session_get_num_psets(cx: &Call, session: Session, info: InfoHandle) -> Result<c_int> {
    LIBRARY.session(session, |_| ())?;
    LIBRARY.info(info)?;
    let count = cx.enter()?.process_sets().count();
    Ok(count as c_int)
}

pub fn session_get_nth_pset(
    cx: &Call,
    session: Session,
    info: InfoHandle,
    n: c_int,
    pset_len: &Cell<c_int>,
    pset_name: OutText,
) -> Result<()> {
    LIBRARY.session(session, |_| ())?;
    LIBRARY.info(info)?;
    let guard = cx.enter()?;
    let Some(name) = usize::try_from(n).ok().and_then(|n| guard.process_sets().nth(n)) else {
        let last = guard.process_sets().count() - 1;
        bail!(MPI_ERR_ARG, "n is {n}; this process is in the process sets number 0 to {last}");
    };
    let room = pset_len.get();
    if room < 0 {
        bail!(MPI_ERR_ARG, "pset_len is {room}, which is negative");
    }
    if room > 0 {
        pset_name.check("pset_name")?;
        pset_name.set(name.as_bytes());
    }
    pset_len.set(name.len() as c_int + 1);
    Ok(())
}

pub fn session_get_pset_info(cx: &Call, session: Session, pset_name: &[u8]) -> Result<InfoHandle> {
    LIBRARY.session(session, |_| ())?;
    let size = cx.enter()?.process_set(pset_name)?.len();
    let mut facts = Info::new();
    facts.set(b"mpi_size", size.to_string().as_bytes())?;
    LIBRARY.add_info(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_levels_by_name() {
        assert_eq!(thread_level(Some("MPI_THREAD_SERIALIZED")).unwrap().1, MPI_THREAD_SERIALIZED);
        assert_eq!(thread_level(None).unwrap().1, MPI_THREAD_MULTIPLE);
        for wrong in ["", "MPI_THREAD_ANY", "mpi_thread_single", "3"] {
            assert_eq!(thread_level(Some(wrong)).unwrap_err().class(), MPI_ERR_INFO_VALUE);
        }
    }
}
