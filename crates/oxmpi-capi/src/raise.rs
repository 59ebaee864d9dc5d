//! Errors at the C boundary: an error becomes a code, and the error handler of the object decides.

use crate::call::{Call, On};
use crate::library::{self, LIBRARY};
use crate::tool::TOOL;
use oxmpi_abi::Error;
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Comm, Errhandler};
use std::ffi::c_int;
use std::io::Write;
use std::time::Duration;

/// Time for the program's output to be flushed before an abort.
const FLUSHING: Duration = Duration::from_secs(1);

/// Passes an error to its handler; returns the code of the call, if the handler returns. A handler may leave with `longjmp`, so
/// nothing is held then that would have to be dropped.
#[cold]
pub fn raise(call: &Call, error: Error) -> c_int {
    LIBRARY.note_failed();
    let code = LIBRARY.errors().code_for(&error, call.fun.name());
    TOOL.failed(call.fun, error.class());
    let given = error.code_for_handler().unwrap_or(code);
    match call_handler(call.fun, call.on(), given, error) {
        left if left == given => code,
        changed => changed,
    }
}

/// Passes an error to the handler of an object that the call frees nevertheless; the call ends with
/// the error, and no handler gets it again.
#[cold]
pub fn tell(cx: &Call, on: On, error: Error) -> Error {
    cx.raise_on(on);
    raise(cx, error.clone());
    cx.raise_on(On::Handler(MPI_ERRORS_RETURN, MPI_COMM_NULL.0));
    error
}

/// Calls the handler of an object with the code of an error; returns the code that the handler leaves.
#[cold]
pub fn call_handler(fun: Fun, on: On, code: c_int, error: Error) -> c_int {
    let (handler, object) = target(on);
    match handler {
        MPI_ERRORS_RETURN => code,
        MPI_ERRORS_ARE_FATAL | MPI_ERRORS_ABORT => fatal(fun, code, error.text(), on),
        users => {
            // The lock is not held during the call: the function may call MPI.
            let Some(function) = LIBRARY.errhandlers().function(users) else { fatal(fun, code, error.text(), on) };
            drop(error);
            LIBRARY.call_user(|| function.call(object, code))
        }
    }
}

/// The handler for an error on an object, and the object's handle for it.
fn target(on: On) -> (Errhandler, usize) {
    let of_comm = |comm: Comm| {
        let guard = library::enter()?;
        guard.comm(comm).ok().map(|found| (found.errhandler, comm.0))
    };
    let found = match on {
        On::Comm(comm) => of_comm(comm),
        On::Session(session) => {
            LIBRARY.session(session, |found| found.errhandler).ok().map(|handler| (handler, session.0))
        }
        On::Win(win) => library::enter().and_then(|guard| guard.win(win).ok().map(|found| (found.errhandler, win.0))),
        On::File(file) => library::enter().map(|guard| match guard.file(file) {
            Ok(found) => (found.errhandler, file.0),
            Err(_) => (*LIBRARY.file_errhandler(), MPI_FILE_NULL.0),
        }),
        On::Handler(handler, null) => Some((handler, null)),
        On::World => None,
    };
    found.or_else(|| of_comm(LIBRARY.comm_of_no_object())).unwrap_or((LIBRARY.initial_errhandler(), MPI_COMM_SELF.0))
}

/// Prints one message and stops the job. Its first line has the process, the call, the object and
/// the class; a line for each cause follows.
#[cold]
fn fatal(fun: Fun, code: c_int, text: &str, on: On) -> ! {
    LIBRARY.tell_before_the_end();
    let class = LIBRARY.errors().class_of(code).unwrap_or(MPI_ERR_UNKNOWN);
    let name = error_class_name(class).unwrap_or("an error class of the program's");
    let place = LIBRARY.describe(on).map(|object| format!(" on {object}")).unwrap_or_default();
    let causes: String = text.lines().map(|cause| format!("    {cause}\n")).collect();
    say(&format!("{}: {}{place} failed: {name}\n{causes}", process_name(), fun.name()));
    abort(if (1..=125).contains(&class) { class } else { 1 })
}

/// The name of this process in messages.
pub fn process_name() -> String {
    match library::enter_late() {
        Some(guard) => format!("OxMPI: rank {} of {}", guard.comms.world.rank, guard.comms.world.size()),
        None => String::from("OxMPI"),
    }
}

pub fn say(text: &str) {
    // One write, so that lines of several ranks do not mix; a closed stderr is ignored.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Ends this process and with it the job.
pub fn abort(code: c_int) -> ! {
    if let Some(guard) = library::enter_late() {
        guard.engine.node().abort(code);
    }
    let status = if code & 0xff == 0 { 1 } else { code & 0xff };
    flush(status);
    // May end this process at once.
    oxmpi_boot::manager::abort(status, "MPI_Abort or a fatal error");
    // SAFETY: ends this process.
    unsafe { libc::_exit(status) }
}

/// The program's output is flushed, but no destructor runs: it might wait for the others. Another thread of the program may hold a
/// stream for ever, such as one that reads from a terminal: then what is behind that stream is given up.
fn flush(status: c_int) {
    let (done, flushed) = std::sync::mpsc::channel();
    let flusher = move || {
        flush_fortran(status);
        // SAFETY: a plain call into the C library.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        let _ = done.send(());
    };
    if std::thread::Builder::new().spawn(flusher).is_ok() {
        let _ = flushed.recv_timeout(FLUSHING);
    }
}

/// A Fortran program has buffers of its own; the Fortran library, if there is one, flushes them.
fn flush_fortran(status: c_int) {
    // SAFETY: searches the symbols of the process; the one of that name is such a function.
    unsafe {
        let flush = libc::dlsym(libc::RTLD_DEFAULT, c"oxmpi_fortran_flush".as_ptr());
        let flush = std::mem::transmute::<*mut libc::c_void, Option<unsafe extern "C" fn(c_int)>>(flush);
        if let Some(flush) = flush {
            flush(status);
        }
    }
}
