//! Sessions: opened and closed at any time and from any thread, beside the world, before it and after it; and what they
//! tell of the job.

use super::world::flush_and_leave;
use super::{check_place, store, text};
use crate::call::{Call, On};
use crate::infos;
use crate::library::{self, LIBRARY};
use oxmpi::comm::hints::{MEMORY_KINDS, memory_kinds};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Errhandler, Info as InfoHandle, Session};
use oxmpi_abi::{Result, bail};
use oxmpi_core::errhandler::Target;
use oxmpi_core::info::Info;
use oxmpi_core::library::{Session as Opened, World};
use oxmpi_core::request::PoolId;
use oxmpi_core::wait::waiting::Unending;
use std::ffi::{c_char, c_int};

const LEVELS: [(&str, c_int); 4] = [
    ("MPI_THREAD_SINGLE", MPI_THREAD_SINGLE),
    ("MPI_THREAD_FUNNELED", MPI_THREAD_FUNNELED),
    ("MPI_THREAD_SERIALIZED", MPI_THREAD_SERIALIZED),
    ("MPI_THREAD_MULTIPLE", MPI_THREAD_MULTIPLE),
];

pub unsafe fn session_init(cx: &Call, info: InfoHandle, errhandler: Errhandler, session: *mut Session) -> Result<()> {
    LIBRARY.errhandlers().attach(errhandler, Target::Session)?;
    cx.raise_on(On::Handler(errhandler, MPI_SESSION_NULL.0));
    // SAFETY: passed on.
    let opened = unsafe { open(info, errhandler, session) };
    if opened.is_err() {
        LIBRARY.errhandlers().detach(errhandler);
    }
    opened
}

/// # Safety
/// `session` is null or may be written.
unsafe fn open(info: InfoHandle, errhandler: Errhandler, session: *mut Session) -> Result<()> {
    check_place(session, "session")?;
    let asked = infos::get(info)?;
    let (name, level) = thread_level(asked.text("thread_level"))?;
    let mut hints = Info::new();
    hints.set(b"thread_level", name.as_bytes())?;
    hints.set(MEMORY_KINDS.as_bytes(), memory_kinds(asked.text(MEMORY_KINDS)).as_bytes())?;
    library::join(level)?;
    match LIBRARY.sessions().try_insert(Opened { errhandler, hints }) {
        // SAFETY: checked.
        Ok(handle) => unsafe { store(session, Session(handle), "session") },
        Err(_) => {
            if LIBRARY.retire() {
                LIBRARY.leave();
            }
            bail!(MPI_ERR_NO_SPACE, "no handles are left for sessions")
        }
    }
}

/// The thread level of a session. One that asks for none gets all there is, unless the world says that there are no
/// threads to be ready for.
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

pub unsafe fn session_finalize(cx: &Call, session: *mut Session) -> Result<()> {
    check_place(session, "session")?;
    // SAFETY: checked.
    let handle = unsafe { session.read() };
    cx.raise_on(On::Session(handle));
    LIBRARY.session(handle, |_| ())?;
    let mut guard = cx.enter()?;
    let mark = guard.pool_slot(PoolId::Session(handle))?.0.as_ref().map(|pool| pool.mark());
    if let Some(mark) = mark {
        cx.wait(&mut guard, &Unending, |process| match process.pool_slot(PoolId::Session(handle)) {
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
    // SAFETY: checked.
    unsafe { store(session, MPI_SESSION_NULL, "session") }
}

pub unsafe fn session_get_info(_cx: &Call, session: Session, info_used: *mut InfoHandle) -> Result<()> {
    check_place(info_used, "info_used")?;
    let hints = LIBRARY.session(session, |found| found.hints.clone())?;
    // SAFETY: checked.
    unsafe { store(info_used, infos::add(hints)?, "info_used") }
}

pub unsafe fn session_get_num_psets(
    cx: &Call,
    session: Session,
    info: InfoHandle,
    npset_names: *mut c_int,
) -> Result<()> {
    LIBRARY.session(session, |_| ())?;
    infos::get(info)?;
    let count = cx.enter()?.process_sets().count();
    // SAFETY: null or may be written.
    unsafe { store(npset_names, count as c_int, "npset_names") }
}

pub unsafe fn session_get_nth_pset(
    cx: &Call,
    session: Session,
    info: InfoHandle,
    n: c_int,
    pset_len: *mut c_int,
    pset_name: *mut c_char,
) -> Result<()> {
    LIBRARY.session(session, |_| ())?;
    infos::get(info)?;
    check_place(pset_len, "pset_len")?;
    let guard = cx.enter()?;
    let Some(name) = usize::try_from(n).ok().and_then(|n| guard.process_sets().nth(n)) else {
        let last = guard.process_sets().count() - 1;
        bail!(MPI_ERR_ARG, "n is {n}; this process is in the process sets number 0 to {last}");
    };
    // SAFETY: checked; the name has room for as many characters as the caller says.
    unsafe {
        let room = pset_len.read();
        if room < 0 {
            bail!(MPI_ERR_ARG, "pset_len is {room}, which is negative");
        }
        if room > 0 {
            check_place(pset_name, "pset_name")?;
            let fits = name.len().min(room as usize - 1);
            pset_name.cast::<u8>().copy_from_nonoverlapping(name.as_ptr(), fits);
            pset_name.add(fits).write(0);
        }
        pset_len.write(name.len() as c_int + 1);
    }
    Ok(())
}

pub unsafe fn session_get_pset_info(
    cx: &Call,
    session: Session,
    pset_name: *const c_char,
    info: *mut InfoHandle,
) -> Result<()> {
    LIBRARY.session(session, |_| ())?;
    check_place(info, "info")?;
    // SAFETY: null or a string.
    let name = unsafe { text(pset_name, "pset_name")? };
    let size = cx.enter()?.process_set(name)?.len();
    let mut facts = Info::new();
    facts.set(b"mpi_size", size.to_string().as_bytes())?;
    // SAFETY: checked.
    unsafe { store(info, infos::add(facts)?, "info") }
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
