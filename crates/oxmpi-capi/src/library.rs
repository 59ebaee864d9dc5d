//! The one instance of the library in a process.

use oxmpi_abi::Result;
use oxmpi_abi::constants::{MPI_THREAD_MULTIPLE, MPI_THREAD_SINGLE};
use oxmpi_core::call::Guard;
use oxmpi_core::library::Library;
use oxmpi_core::process::Process;
use std::ffi::c_int;

pub static LIBRARY: Library = Library::new();

/// Joins the job, for the world or for a session with this thread level. Safe from any thread.
///
/// A second user requires the lock at all levels except `MPI_THREAD_SINGLE`.
/// `asks_for_helper`: a thread is to bring forward what is under way; the setting of the process asks for it, too.
pub fn join(thread_level: c_int, asks_for_helper: bool) -> Result<()> {
    let joined = LIBRARY.join(Process::start_as_set)?;
    LIBRARY.help_if_asked(asks_for_helper);
    let serialized = thread_level != MPI_THREAD_MULTIPLE && joined.is_first
        || thread_level == MPI_THREAD_SINGLE && !joined.was_locked;
    if serialized {
        // SAFETY: the program promises so with a thread level below MPI_THREAD_MULTIPLE; with
        // MPI_THREAD_SINGLE for all users, since there is one thread.
        unsafe { LIBRARY.assume_serialized(joined) };
    }
    Ok(())
}

/// `None` while neither the world nor a session is active.
pub fn enter() -> Option<Guard<'static>> {
    LIBRARY.enter()
}

/// As [`enter`], but also after everything has ended.
pub fn enter_late() -> Option<Guard<'static>> {
    LIBRARY.enter_late()
}
