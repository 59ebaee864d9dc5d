//! `MPI::ERRORS_THROW_EXCEPTIONS`: the error handler behind it notes the error, and the C++ function throws when the C function has
//! returned, because an exception cannot pass through the library. Programs do so, too: their inline functions call
//! `Call_errhandler` of an object when a C function returns an error.

use crate::entry::*;
use std::cell::Cell;
use std::sync::OnceLock;

/// The handle of `MPI::ERRORS_THROW_EXCEPTIONS`.
pub const THROWS: c_int = 0x54000002;

thread_local! {
    /// The error that the handler has noted; `MPI_SUCCESS` for none.
    static NOTED: Cell<c_int> = const { Cell::new(MPI_SUCCESS) };
}

/// An error handler of OxMPI.
unsafe extern "C" fn note<H>(_object: *mut H, code: *mut c_int) {
    // SAFETY: an error handler gets the place of a code.
    NOTED.set(Code::theirs(unsafe { *code }));
}

/// The handlers of OxMPI for communicators, windows and files, made at their first use.
static HANDLERS: [OnceLock<Errhandler>; 3] = [const { OnceLock::new() }; 3];

macro_rules! handlers {
    ($($name:ident $place:literal $handle:ident $create:ident)*) => {$(
        /// The handler for such an object, if the program gives the one that throws.
        pub fn $name(errhandler: c_int) -> Option<Errhandler> {
            (errhandler == THROWS).then(|| {
                *HANDLERS[$place].get_or_init(|| {
                    let mut made = MPI_ERRORS_RETURN;
                    // SAFETY: the function is an error handler of such objects; the place is a variable.
                    unsafe { c::$create(note::<$handle> as unsafe extern "C" fn(_, _) as *mut c_void, &mut made) };
                    made
                })
            })
        }
    )*};
}

handlers! {
    for_comm 0 Comm oxmpi_Comm_create_errhandler
    for_win 1 Win oxmpi_Win_create_errhandler
    for_file 2 File oxmpi_File_create_errhandler
}

/// Whether a handler of OxMPI is one of those.
pub fn throws(ours: Errhandler) -> bool {
    HANDLERS.iter().any(|made| made.get() == Some(&ours))
}

/// The error that the handler has noted, if any, which is not there any more then.
pub fn take() -> Option<c_int> {
    Some(NOTED.replace(MPI_SUCCESS)).filter(|code| *code != MPI_SUCCESS)
}

/// After a call: an error that was noted earlier, by a C function that the program has called, is not that of this call. For
/// `MPI_ERR_IN_STATUS` the handler gets the code of a request.
pub fn is_to_be_thrown(code: c_int) {
    if code == MPI_SUCCESS || (code != NOTED.get() && code != theirs_in_status()) {
        NOTED.set(MPI_SUCCESS);
    }
}

fn theirs_in_status() -> c_int {
    Code::theirs(MPI_ERR_IN_STATUS)
}

macro_rules! call_errhandlers {
    ($($name:ident $private:ident $handle:ident)*) => {$(
        /// Calls the handler of the object, if the C function that has failed has not just done that.
        pub unsafe extern "C" fn $name(object: <$handle as Converts>::Theirs, code: c_int) -> c_int {
            if code != NOTED.get() {
                // SAFETY: the function takes any numbers.
                unsafe { c::$private($handle::ours(object), Code::ours(code)) };
            }
            code
        }
    )*};
}

call_errhandlers! {
    call_comm oxmpi_Comm_call_errhandler Comm
    call_win oxmpi_Win_call_errhandler Win
    call_file oxmpi_File_call_errhandler File
}

/// An error of a function without an object.
pub unsafe extern "C" fn call_world(code: c_int) -> c_int {
    // SAFETY: the function takes any numbers.
    unsafe { call_comm(Comm::theirs(MPI_COMM_WORLD), code) }
}
