//! Error handlers: making, attaching to objects, calling, freeing.

use crate::args::null_pointer;
use crate::call::{Call, On};
use crate::library::LIBRARY;
use crate::raise;
use oxmpi_abi::callbacks::*;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Error, Result};
use oxmpi_core::callback::{Callback, ErrorFunction};
use oxmpi_core::errhandler::Target;
use std::cell::Cell;
use std::ffi::c_int;

/// A handle of a new handler.
fn create(function: ErrorFunction) -> Result<Errhandler> {
    if function.is_null() {
        return Err(null_pointer("error handling function"));
    }
    LIBRARY.errhandlers().create(function)
}

/// Attaches a handler in place of another one.
fn exchange(place: &mut Errhandler, new: Errhandler, target: Target) -> Result<()> {
    let mut handlers = LIBRARY.errhandlers();
    handlers.attach(new, target)?;
    handlers.detach(std::mem::replace(place, new));
    Ok(())
}

/// Gives the program a handle of an object's handler.
fn hand_out(handler: Errhandler) -> Errhandler {
    LIBRARY.errhandlers().hand_out(handler);
    handler
}

/// The program calls a handler itself.
fn invoke(cx: &Call, on: On, code: c_int) {
    let text = LIBRARY.errors().string_of(code).unwrap_or_else(|| format!("error code {code}, which is not known"));
    raise::call_handler(cx.fun, on, code, Error::new(MPI_SUCCESS, text));
}

pub fn errhandler_free(errhandler: &Cell<Errhandler>) -> Result<()> {
    LIBRARY.errhandlers().free(errhandler.get())?;
    errhandler.set(MPI_ERRHANDLER_NULL);
    Ok(())
}

// ---- communicators ----

pub fn comm_create_errhandler(cx: &Call, comm_errhandler_fn: Callback<CommErrhandlerFn>) -> Result<Errhandler> {
    cx.enter()?;
    create(ErrorFunction::Comm(comm_errhandler_fn))
}

pub fn comm_set_errhandler(cx: &Call, comm: Comm, errhandler: Errhandler) -> Result<()> {
    let mut guard = cx.enter()?;
    exchange(&mut guard.comm_mut(comm)?.errhandler, errhandler, Target::Comm)?;
    if comm == MPI_COMM_SELF {
        LIBRARY.choose_self();
    }
    Ok(())
}

pub fn comm_get_errhandler(cx: &Call, comm: Comm) -> Result<Errhandler> {
    let guard = cx.enter()?;
    Ok(hand_out(guard.comm(comm)?.errhandler))
}

pub fn comm_call_errhandler(cx: &Call, comm: Comm, errorcode: c_int) -> Result<()> {
    cx.enter()?.comm(comm)?;
    invoke(cx, On::Comm(comm), errorcode);
    Ok(())
}

// ---- sessions ----

pub fn session_create_errhandler(session_errhandler_fn: Callback<SessionErrhandlerFn>) -> Result<Errhandler> {
    create(ErrorFunction::Session(session_errhandler_fn))
}

pub fn session_set_errhandler(session: Session, errhandler: Errhandler) -> Result<()> {
    LIBRARY.session(session, |found| exchange(&mut found.errhandler, errhandler, Target::Session))?
}

pub fn session_get_errhandler(session: Session) -> Result<Errhandler> {
    let handler = LIBRARY.session(session, |found| found.errhandler)?;
    Ok(hand_out(handler))
}

pub fn session_call_errhandler(cx: &Call, session: Session, errorcode: c_int) -> Result<()> {
    LIBRARY.session(session, |_| ())?;
    invoke(cx, On::Session(session), errorcode);
    Ok(())
}

// ---- files; `MPI_FILE_NULL` stands for the handler of files that are not open ----

pub fn file_create_errhandler(cx: &Call, file_errhandler_fn: Callback<FileErrhandlerFn>) -> Result<Errhandler> {
    cx.enter()?;
    create(ErrorFunction::File(file_errhandler_fn))
}

pub fn file_set_errhandler(cx: &Call, file: File, errhandler: Errhandler) -> Result<()> {
    let mut guard = cx.enter()?;
    match file {
        MPI_FILE_NULL => exchange(&mut LIBRARY.file_errhandler(), errhandler, Target::File),
        open => exchange(&mut guard.file_mut(open)?.errhandler, errhandler, Target::File),
    }
}

pub fn file_get_errhandler(cx: &Call, file: File) -> Result<Errhandler> {
    let guard = cx.enter()?;
    let handler = match file {
        MPI_FILE_NULL => *LIBRARY.file_errhandler(),
        open => guard.file(open)?.errhandler,
    };
    Ok(hand_out(handler))
}

pub fn file_call_errhandler(cx: &Call, fh: File, errorcode: c_int) -> Result<()> {
    if fh != MPI_FILE_NULL {
        cx.enter()?.file(fh)?;
    }
    cx.enter()?;
    invoke(cx, On::File(fh), errorcode);
    Ok(())
}

// ---- windows ----

pub fn win_create_errhandler(cx: &Call, win_errhandler_fn: Callback<WinErrhandlerFn>) -> Result<Errhandler> {
    cx.enter()?;
    create(ErrorFunction::Win(win_errhandler_fn))
}

pub fn win_set_errhandler(cx: &Call, win: Win, errhandler: Errhandler) -> Result<()> {
    let mut guard = cx.enter()?;
    exchange(&mut guard.win_mut(win)?.errhandler, errhandler, Target::Win)
}

pub fn win_get_errhandler(cx: &Call, win: Win) -> Result<Errhandler> {
    let guard = cx.enter()?;
    Ok(hand_out(guard.win(win)?.errhandler))
}

pub fn win_call_errhandler(cx: &Call, win: Win, errorcode: c_int) -> Result<()> {
    cx.enter()?.win(win)?;
    invoke(cx, On::Win(win), errorcode);
    Ok(())
}
