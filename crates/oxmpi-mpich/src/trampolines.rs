//! Functions between OxMPI and those of the program that get no pointer of their own: reductions,
//! error handlers, and callbacks of events. Each function of the program gets one from a table as
//! long as [`MOST`], and keeps it for ever: MPI does not say when it is used for the last time.

use crate::abi::TheirHandle;
use crate::values::{Code, Converts, Safety};
use oxmpi_abi::callback_table::{CallbackTable, MOST};
use oxmpi_abi::function_at;
use oxmpi_abi::handle::*;
use std::ffi::{c_int, c_void};
use std::mem::transmute;

pub fn too_many_text() -> String {
    let name = crate::abi::NAME;
    format!(
        "a program built for {name} can give OxMPI at most {MOST} reductions, and as many error handlers and event callbacks"
    )
}

// ---- reductions ----

/// The length is an int or an `MPI_Count`, and passed on as it came.
type Reduction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut TheirHandle);

static REDUCTIONS: CallbackTable = CallbackTable::new();

pub fn reduction(function: *mut c_void) -> Option<*mut c_void> {
    #[cfg(openmpi)]
    if function == crate::abi::cxx::ompi_mpi_cxx_op_intercept as *mut c_void {
        return crate::abi::cxx::reduction();
    }
    REDUCTIONS.place_of(function).map(|place| function_at!(reduce, place))
}

unsafe extern "C" fn reduce<const PLACE: usize>(
    input: *mut c_void,
    inout: *mut c_void,
    length: *mut c_void,
    datatype: *mut Datatype,
) {
    // SAFETY: only the functions of places that have one of the program's were given to OxMPI, and that
    // one is a reduction. OxMPI passes what a reduction gets.
    unsafe {
        let mut datatype = Datatype::theirs(*datatype);
        transmute::<usize, Reduction>(REDUCTIONS.at(PLACE))(input, inout, length, &mut datatype);
    }
}

// ---- error handlers ----

type ErrorHandler<T> = unsafe extern "C" fn(*mut T, *mut c_int, ...);

static HANDLERS: CallbackTable = CallbackTable::new();

/// The function for an error handler of objects with such handles.
pub fn error_handler<H: Converts<Ours = H> + Copy>(function: *mut c_void) -> Option<*mut c_void> {
    HANDLERS.place_of(function).map(|place| function_at!(handle::<H>, place))
}

unsafe extern "C" fn handle<const PLACE: usize, H: Converts<Ours = H> + Copy>(object: *mut H, code: *mut c_int) {
    // SAFETY: only the functions of places that have one of the program's were given to OxMPI, and that
    // one is an error handler. OxMPI passes an object and a code.
    unsafe {
        let given = Code::theirs(*code);
        let (mut object, mut left) = (H::theirs(*object), given);
        transmute::<usize, ErrorHandler<H::Theirs>>(HANDLERS.at(PLACE))(&mut object, &mut left);
        if left != given {
            *code = Code::ours(left);
        }
    }
}

// ---- events ----

type OnEvent = unsafe extern "C" fn(TEventInstance, TEventRegistration, c_int, *mut c_void);
type OnFree = unsafe extern "C" fn(TEventRegistration, c_int, *mut c_void);
type OnDropped = unsafe extern "C" fn(i64, TEventRegistration, c_int, c_int, *mut c_void);

static EVENTS: CallbackTable = CallbackTable::new();
static FREED: CallbackTable = CallbackTable::new();
static DROPPED: CallbackTable = CallbackTable::new();

pub fn on_event(function: *mut c_void) -> Option<*mut c_void> {
    EVENTS.place_of(function).map(|place| function_at!(event, place))
}

pub fn on_free(function: *mut c_void) -> Option<*mut c_void> {
    FREED.place_of(function).map(|place| function_at!(freed, place))
}

pub fn on_dropped(function: *mut c_void) -> Option<*mut c_void> {
    DROPPED.place_of(function).map(|place| function_at!(dropped, place))
}

unsafe extern "C" fn event<const PLACE: usize>(
    instance: TEventInstance,
    registration: TEventRegistration,
    safety: c_int,
    user_data: *mut c_void,
) {
    // SAFETY: the place has a function of the program, which is one for events.
    unsafe {
        transmute::<usize, OnEvent>(EVENTS.at(PLACE))(instance, registration, Safety::theirs(safety), user_data);
    }
}

unsafe extern "C" fn freed<const PLACE: usize>(
    registration: TEventRegistration,
    safety: c_int,
    user_data: *mut c_void,
) {
    // SAFETY: the place has a function of the program, which is one for freed registrations.
    unsafe { transmute::<usize, OnFree>(FREED.at(PLACE))(registration, Safety::theirs(safety), user_data) };
}

unsafe extern "C" fn dropped<const PLACE: usize>(
    count: i64,
    registration: TEventRegistration,
    source: c_int,
    safety: c_int,
    user_data: *mut c_void,
) {
    let safety = Safety::theirs(safety);
    // SAFETY: the place has a function of the program, which is one for dropped events.
    unsafe { transmute::<usize, OnDropped>(DROPPED.at(PLACE))(count, registration, source, safety, user_data) };
}
