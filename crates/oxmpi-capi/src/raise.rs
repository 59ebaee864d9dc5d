//! What happens to an error at the C boundary: it becomes a code, and the error handler of the object concerned decides.

use crate::call::On;
use crate::library::{self, Guard, World};
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Comm, Errhandler};
use oxmpi_abi::Error;
use oxmpi_base::segment::STATE_ABORTED;
use std::ffi::c_int;
use std::io::Write;
use std::sync::atomic::Ordering;

type Handler = unsafe extern "C" fn(*mut usize, *mut c_int, ...);

/// Hands an error to its handler; returns the code that the call returns, if it does.
#[cold]
pub fn raise(fun: Fun, on: On, error: &Error) -> c_int {
    let code = library::errors().code_for(error, fun.name());
    dispatch(fun.name(), on, code, &format!("{}: {}", fun.name(), error.text()))
}

/// Calls the handler for a code, as `MPI_Comm_call_errhandler` and its like do.
#[cold]
pub fn dispatch(call: &str, on: On, code: c_int, text: &str) -> c_int {
    if let On::Tool = on {
        return code;
    }
    let (handler, object) = match target(on) {
        Some(found) => found,
        None => fatal(call, code, text, None),
    };
    match handler {
        MPI_ERRORS_RETURN => code,
        MPI_ERRORS_ARE_FATAL | MPI_ERRORS_ABORT => fatal(call, code, text, Some(on)),
        user => {
            // The lock is not held while the user's function runs.
            let function = Guard::enter()
                .and_then(|guard| guard.errhandlers.get(user.0).map(|handler| handler.function))
                .unwrap_or(0);
            if function == 0 {
                fatal(call, code, text, Some(on));
            }
            let (mut object, mut given) = (object, code);
            // SAFETY: the user registered this function as an error handler for objects of this kind.
            unsafe {
                let function: Handler = std::mem::transmute::<usize, Handler>(function);
                function(&mut object, &mut given);
            }
            code
        }
    }
}

/// The handler for an object, and the object's handle; `None` when there is no world to ask.
fn target(on: On) -> Option<(Errhandler, usize)> {
    let guard = Guard::enter().filter(|_| library::world() == World::Active)?;
    let of_comm = |comm: Comm| guard.comm(comm).ok().map(|found| (found.errhandler, comm.0));
    let found = match on {
        On::Comm(comm) => of_comm(comm),
        On::Session(session) => guard.sessions.get(session.0).map(|found| (found.errhandler, session.0)),
        On::Win(_) | On::File(_) | On::World | On::Tool => None,
    };
    found.or_else(|| of_comm(MPI_COMM_SELF))
}

/// The end: one message, then the job stops.
#[cold]
fn fatal(call: &str, code: c_int, text: &str, on: Option<On>) -> ! {
    let class = library::errors().class_of(code).unwrap_or(MPI_ERR_UNKNOWN);
    let name = oxmpi_abi::constants::error_class_name(class).unwrap_or("an error class of the program's");
    let (mut who, mut place) = (String::from("OxMPI"), String::new());
    if let Some(guard) = Guard::enter() {
        who = format!("OxMPI: rank {} of {}", guard.world.rank, guard.world.size());
        if let Some(On::Comm(comm)) = on {
            if let Ok(comm) = guard.comm(comm) {
                place = format!(", on {}", comm.describe());
            }
        }
    }
    let text = if text.starts_with(call) { text.to_string() } else { format!("{call}: {text}") };
    say(&format!("{who}: {text} ({name}{place})\n"));
    abort(if (1..=125).contains(&class) { class } else { 1 })
}

pub fn say(text: &str) {
    // One write, so that lines of several ranks do not mix; when stderr is gone there is nobody to tell.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Ends this process and with it the job.
pub fn abort(code: c_int) -> ! {
    if let Some(guard) = Guard::enter() {
        let block = guard.engine.shm().block();
        block.abort_code.store(code, Ordering::Relaxed);
        // Release: mpirun reads the code once it sees the state.
        block.state.store(STATE_ABORTED, Ordering::Release);
    }
    // What the program has printed so far shall be seen; but no destructor of its runs, it might wait for the others.
    // SAFETY: plain calls into the C library.
    unsafe {
        libc::fflush(std::ptr::null_mut());
        libc::_exit(if code & 0xff == 0 { 1 } else { code & 0xff })
    }
}
