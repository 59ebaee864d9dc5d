//! Error handlers: made, attached to objects, called, freed.

use super::{check_place, null_pointer, store};
use crate::call::{Call, On};
use crate::generated::callbacks::*;
use crate::library::LIBRARY;
use crate::raise;
use oxmpi_abi::Result;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_core::errhandler::Target;
use std::ffi::c_int;

/// # Safety
/// `errhandler` is null or may be written.
unsafe fn create(function: Option<usize>, target: Target, errhandler: *mut Errhandler) -> Result<()> {
    check_place(errhandler, "errhandler")?;
    let Some(function) = function else { return Err(null_pointer("error handling function")) };
    // SAFETY: checked.
    unsafe { store(errhandler, LIBRARY.errhandlers().create(function, target)?, "errhandler") }
}

/// Attaches a handler in the place of another.
fn exchange(place: &mut Errhandler, new: Errhandler, target: Target) -> Result<()> {
    let mut handlers = LIBRARY.errhandlers();
    handlers.attach(new, target)?;
    handlers.detach(std::mem::replace(place, new));
    Ok(())
}

/// Gives the program a handle of the handler that an object has.
///
/// # Safety
/// `to` is null or may be written.
unsafe fn hand_out(handler: Errhandler, to: *mut Errhandler) -> Result<()> {
    check_place(to, "errhandler")?;
    LIBRARY.errhandlers().hand_out(handler);
    // SAFETY: checked.
    unsafe { store(to, handler, "errhandler") }
}

/// The program calls a handler itself.
fn invoke(cx: &Call, on: On, code: c_int) {
    let text = LIBRARY.errors().string_of(code).unwrap_or_else(|| format!("error code {code}, which is not known"));
    raise::call_handler(cx.fun, on, code, &text);
}

pub unsafe fn errhandler_free(_cx: &Call, errhandler: *mut Errhandler) -> Result<()> {
    check_place(errhandler, "errhandler")?;
    // SAFETY: checked.
    unsafe {
        LIBRARY.errhandlers().free(errhandler.read())?;
        errhandler.write(MPI_ERRHANDLER_NULL);
    }
    Ok(())
}

// ---- communicators ----

pub unsafe fn comm_create_errhandler(
    cx: &Call,
    comm_errhandler_fn: CommErrhandlerFn,
    errhandler: *mut Errhandler,
) -> Result<()> {
    cx.enter()?;
    // SAFETY: passed on.
    unsafe { create(comm_errhandler_fn.map(|function| function as usize), Target::Comm, errhandler) }
}

pub unsafe fn comm_set_errhandler(cx: &Call, comm: Comm, errhandler: Errhandler) -> Result<()> {
    let mut guard = cx.enter()?;
    exchange(&mut guard.comm_mut(comm)?.errhandler, errhandler, Target::Comm)?;
    if comm == MPI_COMM_SELF {
        LIBRARY.choose_self();
    }
    Ok(())
}

pub unsafe fn comm_get_errhandler(cx: &Call, comm: Comm, errhandler: *mut Errhandler) -> Result<()> {
    let guard = cx.enter()?;
    // SAFETY: passed on.
    unsafe { hand_out(guard.comm(comm)?.errhandler, errhandler) }
}

pub unsafe fn comm_call_errhandler(cx: &Call, comm: Comm, errorcode: c_int) -> Result<()> {
    cx.enter()?.comm(comm)?;
    invoke(cx, On::Comm(comm), errorcode);
    Ok(())
}

pub unsafe fn errhandler_create(cx: &Call, handler_fn: HandlerFn, errhandler: *mut Errhandler) -> Result<()> {
    // SAFETY: passed on.
    unsafe { comm_create_errhandler(cx, handler_fn, errhandler) }
}

pub unsafe fn errhandler_set(cx: &Call, comm: Comm, errhandler: Errhandler) -> Result<()> {
    // SAFETY: passed on.
    unsafe { comm_set_errhandler(cx, comm, errhandler) }
}

pub unsafe fn errhandler_get(cx: &Call, comm: Comm, errhandler: *mut Errhandler) -> Result<()> {
    // SAFETY: passed on.
    unsafe { comm_get_errhandler(cx, comm, errhandler) }
}

// ---- sessions ----

pub unsafe fn session_create_errhandler(
    _cx: &Call,
    session_errhandler_fn: SessionErrhandlerFn,
    errhandler: *mut Errhandler,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe { create(session_errhandler_fn.map(|function| function as usize), Target::Session, errhandler) }
}

pub unsafe fn session_set_errhandler(_cx: &Call, session: Session, errhandler: Errhandler) -> Result<()> {
    LIBRARY.session(session, |found| exchange(&mut found.errhandler, errhandler, Target::Session))?
}

pub unsafe fn session_get_errhandler(_cx: &Call, session: Session, errhandler: *mut Errhandler) -> Result<()> {
    let handler = LIBRARY.session(session, |found| found.errhandler)?;
    // SAFETY: passed on.
    unsafe { hand_out(handler, errhandler) }
}

pub unsafe fn session_call_errhandler(cx: &Call, session: Session, errorcode: c_int) -> Result<()> {
    LIBRARY.session(session, |_| ())?;
    invoke(cx, On::Session(session), errorcode);
    Ok(())
}

// ---- files; `MPI_FILE_NULL` stands for the handler of those that are not open, or not yet ----

pub unsafe fn file_create_errhandler(
    cx: &Call,
    file_errhandler_fn: FileErrhandlerFn,
    errhandler: *mut Errhandler,
) -> Result<()> {
    cx.enter()?;
    // SAFETY: passed on.
    unsafe { create(file_errhandler_fn.map(|function| function as usize), Target::File, errhandler) }
}

pub unsafe fn file_set_errhandler(cx: &Call, file: File, errhandler: Errhandler) -> Result<()> {
    let mut guard = cx.enter()?;
    match file {
        MPI_FILE_NULL => exchange(&mut LIBRARY.file_errhandler(), errhandler, Target::File),
        open => exchange(&mut guard.file_mut(open)?.errhandler, errhandler, Target::File),
    }
}

pub unsafe fn file_get_errhandler(cx: &Call, file: File, errhandler: *mut Errhandler) -> Result<()> {
    let guard = cx.enter()?;
    let handler = match file {
        MPI_FILE_NULL => *LIBRARY.file_errhandler(),
        open => guard.file(open)?.errhandler,
    };
    // SAFETY: passed on.
    unsafe { hand_out(handler, errhandler) }
}

pub unsafe fn file_call_errhandler(cx: &Call, fh: File, errorcode: c_int) -> Result<()> {
    if fh != MPI_FILE_NULL {
        cx.enter()?.file(fh)?;
    }
    cx.enter()?;
    invoke(cx, On::File(fh), errorcode);
    Ok(())
}

// ---- windows ----

pub unsafe fn win_create_errhandler(
    cx: &Call,
    win_errhandler_fn: WinErrhandlerFn,
    errhandler: *mut Errhandler,
) -> Result<()> {
    cx.enter()?;
    // SAFETY: passed on.
    unsafe { create(win_errhandler_fn.map(|function| function as usize), Target::Win, errhandler) }
}

pub unsafe fn win_set_errhandler(cx: &Call, win: Win, errhandler: Errhandler) -> Result<()> {
    let mut guard = cx.enter()?;
    exchange(&mut guard.win_mut(win)?.errhandler, errhandler, Target::Win)
}

pub unsafe fn win_get_errhandler(cx: &Call, win: Win, errhandler: *mut Errhandler) -> Result<()> {
    let guard = cx.enter()?;
    // SAFETY: passed on.
    unsafe { hand_out(guard.win(win)?.errhandler, errhandler) }
}

pub unsafe fn win_call_errhandler(cx: &Call, win: Win, errorcode: c_int) -> Result<()> {
    cx.enter()?.win(win)?;
    invoke(cx, On::Win(win), errorcode);
    Ok(())
}
