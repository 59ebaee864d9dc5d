//! Functions between C and the reductions and error handlers of a program whose INTEGERs have eight
//! bytes: C passes ints and handles by reference, and the procedure must get INTEGERs.
//!
//! C passes no extra state to these, so each procedure gets a function of its own, from a table as
//! long as [`oxmpi_abi::callback_table::MOST`]. A procedure keeps its function for ever: MPI does not say when an operation or
//! an error handler is used for the last time.

use crate::c_names::*;
use crate::handles::{FortranHandle, int};
use oxmpi_abi::callback_table::CallbackTable;
use oxmpi_abi::function_at;
use std::mem::transmute;

pub const TOO_MANY: &str = "a program whose INTEGERs have eight bytes, or that was built for Open MPI, can give MPI at most 256 \
                            different reductions and 256 different error handlers";

// ---- reductions ----

/// The length is an INTEGER, and passed on as it came.
type Reduction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut Fint, *mut Fint);

static REDUCTIONS: CallbackTable = CallbackTable::new();

/// The function for a reduction. Its length is that of a large one: an INTEGER is as wide.
pub fn reduction(procedure: *mut c_void) -> Option<*mut c_void> {
    REDUCTIONS.place_of(procedure).map(|place| function_at!(reduce, place))
}

unsafe extern "C" fn reduce<const PLACE: usize>(
    input: *mut c_void,
    inout: *mut c_void,
    length: *mut Fint,
    datatype: *mut Datatype,
) {
    // SAFETY: MPI passes a length and a datatype as it does to a large reduction of C. Only the
    // functions of places that have a procedure were given to MPI, and that procedure is a
    // reduction of the program.
    unsafe {
        let mut datatype = int(*datatype);
        transmute::<usize, Reduction>(REDUCTIONS.at(PLACE))(input, inout, length, &mut datatype);
    }
}

// ---- error handlers ----

type ErrorHandler = unsafe extern "C" fn(*mut Fint, *mut Fint);

static HANDLERS: CallbackTable = CallbackTable::new();

/// The function for an error handler of objects with such handles.
pub fn error_handler<H: FortranHandle>(procedure: *mut c_void) -> Option<*mut c_void> {
    HANDLERS.place_of(procedure).map(|place| function_at!(handle::<H>, place))
}

unsafe extern "C" fn handle<const PLACE: usize, H: FortranHandle>(object: *mut H, code: *mut c_int) {
    // SAFETY: MPI passes an object and a code as it does to an error handler of C. Only the
    // functions of places that have a procedure were given to MPI, and that procedure is an error
    // handler of the program.
    unsafe {
        let (mut object, mut integer) = (int(*object), wide(*code));
        transmute::<usize, ErrorHandler>(HANDLERS.at(PLACE))(&mut object, &mut integer);
        *code = short(integer);
    }
}
