//! Objects with functions of the program: they get handles, statuses and codes of its ABI.

use crate::abi::{for_comm, for_file, for_win};
use crate::entry::*;
use crate::trampolines::{error_handler, on_dropped, on_event, on_free, reduction, too_many_text};
use oxmpi_abi::Status;
use std::mem::transmute;

/// The error of a table of functions that is full.
#[cold]
fn too_many() -> c_int {
    let mut code = MPI_ERR_NO_SPACE;
    let text = std::ffi::CString::new(too_many_text()).unwrap_or_default();
    // SAFETY: the pointers lead to variables of this function, and the text ends.
    unsafe {
        if c::oxmpi_Add_error_code(MPI_ERR_NO_SPACE, &mut code) == MPI_SUCCESS {
            c::oxmpi_Add_error_string(code, text.as_ptr().cast_mut());
        }
        c::oxmpi_Comm_call_errhandler(MPI_COMM_SELF, code);
    }
    Code::theirs(code)
}

macro_rules! operations {
    ($($name:ident $profiling:ident $private:ident)*) => {$(
        entry! {
            $name $profiling(function: *mut c_void, commute: c_int, op: *mut TheirHandle) -> c_int {
                let function_c = if function.is_null() { Some(function) } else { reduction(function) };
                let Some(function_c) = function_c else { return too_many() };
                let mut op_c = Place::<Op>::out(op);
                let code = c::$private(function_c, commute, op_c.ptr());
                op_c.put();
                answer(code)
            }
        }
    )*};
}

operations! {
    MPI_Op_create PMPI_Op_create oxmpi_Op_create
    MPI_Op_create_c PMPI_Op_create_c oxmpi_Op_create_c
}

macro_rules! error_handlers {
    ($($name:ident $profiling:ident $private:ident $handle:ident)*) => {$(
        entry! {
            $name $profiling(function: *mut c_void, errhandler: *mut TheirHandle) -> c_int {
                let function_c = if function.is_null() { Some(function) } else { error_handler::<$handle>(function) };
                let Some(function_c) = function_c else { return too_many() };
                let mut errhandler_c = Place::<Errhandler>::out(errhandler);
                let code = c::$private(function_c, errhandler_c.ptr());
                errhandler_c.put();
                answer(code)
            }
        }
    )*};
}

error_handlers! {
    MPI_Comm_create_errhandler PMPI_Comm_create_errhandler oxmpi_Comm_create_errhandler Comm
    MPI_Errhandler_create PMPI_Errhandler_create oxmpi_Errhandler_create Comm
    MPI_File_create_errhandler PMPI_File_create_errhandler oxmpi_File_create_errhandler File
    MPI_Session_create_errhandler PMPI_Session_create_errhandler oxmpi_Session_create_errhandler Session
    MPI_Win_create_errhandler PMPI_Win_create_errhandler oxmpi_Win_create_errhandler Win
}

macro_rules! set_error_handlers {
    ($($name:ident $profiling:ident $private:ident $handle:ident $theirs:ty, $throwing:ident)*) => {$(
        entry! {
            $name $profiling(object: $theirs, errhandler: TheirHandle) -> c_int {
                let errhandler_c = $throwing(errhandler).unwrap_or_else(|| Errhandler::ours(errhandler));
                answer(c::$private($handle::ours(object), errhandler_c))
            }
        }
    )*};
}

set_error_handlers! {
    MPI_Comm_set_errhandler PMPI_Comm_set_errhandler oxmpi_Comm_set_errhandler Comm TheirHandle, for_comm
    MPI_File_set_errhandler PMPI_File_set_errhandler oxmpi_File_set_errhandler File usize, for_file
    MPI_Win_set_errhandler PMPI_Win_set_errhandler oxmpi_Win_set_errhandler Win TheirHandle, for_win
}

// ---- functions with an extra state ----

type Destructor = unsafe extern "C" fn(*mut c_void);
type ReductionX = unsafe extern "C" fn(*mut c_void, *mut c_void, i64, TheirHandle, *mut c_void);
type ErrorHandlerX<T> = unsafe extern "C" fn(T, c_int, *mut c_void);

/// What the program gave; freed by [`destroy`].
struct WithState {
    function: usize,
    destructor: Option<Destructor>,
    extra_state: *mut c_void,
}

/// The arguments of OxMPI's function: `ours`, which calls the program's one, a destructor, and a state that the destructor
/// frees. Without a function of the program there is nothing to free.
fn with_state(
    function: *mut c_void,
    destructor: Option<Destructor>,
    extra_state: *mut c_void,
    ours: *mut c_void,
) -> (*mut c_void, *mut c_void, *mut WithState) {
    if function.is_null() {
        return (function, std::ptr::null_mut(), std::ptr::null_mut());
    }
    let state = Box::into_raw(Box::new(WithState { function: function as usize, destructor, extra_state }));
    (ours, destroy as unsafe extern "C" fn(_) as *mut c_void, state)
}

unsafe extern "C" fn destroy(state: *mut WithState) {
    // SAFETY: OxMPI calls this once for an object, and no other function of it later.
    unsafe {
        let state = Box::from_raw(state);
        if let Some(destructor) = state.destructor {
            destructor(state.extra_state);
        }
    }
}

unsafe extern "C" fn reduce_x(
    input: *mut c_void,
    inout: *mut c_void,
    length: i64,
    datatype: Datatype,
    state: *mut WithState,
) {
    // SAFETY: OxMPI passes the state of an operation that is in use, whose function is a reduction, and what such a one gets.
    unsafe {
        let function = transmute::<usize, ReductionX>((*state).function);
        function(input, inout, length, Datatype::theirs(datatype), (*state).extra_state);
    }
}

unsafe extern "C" fn handle_x<H: Converts<Ours = H> + Copy>(object: H, code: c_int, state: *mut WithState) {
    // SAFETY: OxMPI passes the state of a handler that is in use, whose function is a handler of such objects.
    unsafe {
        let function = transmute::<usize, ErrorHandlerX<H::Theirs>>((*state).function);
        function(H::theirs(object), Code::theirs(code), (*state).extra_state);
    }
}

entry! {
    MPIX_Op_create_x PMPIX_Op_create_x(
        function: *mut c_void,
        destructor: Option<Destructor>,
        commute: c_int,
        extra_state: *mut c_void,
        op: *mut TheirHandle,
    ) -> c_int {
        let ours = reduce_x as unsafe extern "C" fn(_, _, _, _, _) as *mut c_void;
        let (function, destructor, state) = with_state(function, destructor, extra_state, ours);
        let mut op_c = Place::<Op>::out(op);
        let code = c::oxmpi_MPIX_Op_create_x(function, destructor, commute, state.cast(), op_c.ptr());
        op_c.put();
        answer(code)
    }
}

macro_rules! error_handlers_x {
    ($($name:ident $profiling:ident $private:ident $handle:ident)*) => {$(
        entry! {
            $name $profiling(
                function: *mut c_void,
                destructor: Option<Destructor>,
                extra_state: *mut c_void,
                errhandler: *mut TheirHandle,
            ) -> c_int {
                let ours = handle_x::<$handle> as unsafe extern "C" fn(_, _, _) as *mut c_void;
                let (function, destructor, state) = with_state(function, destructor, extra_state, ours);
                let mut errhandler_c = Place::<Errhandler>::out(errhandler);
                let code = c::$private(function, destructor, state.cast(), errhandler_c.ptr());
                errhandler_c.put();
                answer(code)
            }
        }
    )*};
}

error_handlers_x! {
    MPIX_Comm_create_errhandler_x PMPIX_Comm_create_errhandler_x oxmpi_MPIX_Comm_create_errhandler_x Comm
    MPIX_File_create_errhandler_x PMPIX_File_create_errhandler_x oxmpi_MPIX_File_create_errhandler_x File
    MPIX_Session_create_errhandler_x PMPIX_Session_create_errhandler_x oxmpi_MPIX_Session_create_errhandler_x Session
    MPIX_Win_create_errhandler_x PMPIX_Win_create_errhandler_x oxmpi_MPIX_Win_create_errhandler_x Win
}

// ---- generalized requests ----

type Query = unsafe extern "C" fn(*mut c_void, *mut TheirStatus) -> c_int;
type Free = unsafe extern "C" fn(*mut c_void) -> c_int;
type Cancel = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;

/// What the program gave for a request; freed with it.
struct Grequest {
    query: Option<Query>,
    free: Option<Free>,
    cancel: Option<Cancel>,
    extra_state: *mut c_void,
}

entry! {
    MPI_Grequest_start PMPI_Grequest_start(
        query: Option<Query>,
        free: Option<Free>,
        cancel: Option<Cancel>,
        extra_state: *mut c_void,
        request: *mut TheirHandle,
    ) -> c_int {
        let state = Box::into_raw(Box::new(Grequest { query, free, cancel, extra_state }));
        let mut request_c = Place::<Request>::out(request);
        let (query, free, cancel) = (
            queried as unsafe extern "C" fn(_, _) -> _ as *mut c_void,
            freed as unsafe extern "C" fn(_) -> _ as *mut c_void,
            cancelled as unsafe extern "C" fn(_, _) -> _ as *mut c_void,
        );
        let code = c::oxmpi_Grequest_start(query, free, cancel, state.cast(), request_c.ptr());
        request_c.put();
        if code != MPI_SUCCESS {
            drop(Box::from_raw(state));
        }
        answer(code)
    }
}

unsafe extern "C" fn queried(state: *mut Grequest, status: *mut Status) -> c_int {
    // SAFETY: OxMPI passes the state of a request that was not freed, and a status.
    unsafe {
        let Some(query) = (*state).query else { return MPI_SUCCESS };
        let mut theirs = TheirStatus::new(&*status);
        let code = query((*state).extra_state, &mut theirs);
        *status = theirs.ours();
        Code::ours(code)
    }
}

unsafe extern "C" fn freed(state: *mut Grequest) -> c_int {
    // SAFETY: OxMPI calls this once for a request, and no other function of it later.
    unsafe {
        let state = Box::from_raw(state);
        state.free.map_or(MPI_SUCCESS, |free| Code::ours(free(state.extra_state)))
    }
}

unsafe extern "C" fn cancelled(state: *mut Grequest, is_complete: c_int) -> c_int {
    // SAFETY: OxMPI passes the state of a request that was not freed.
    unsafe { (*state).cancel.map_or(MPI_SUCCESS, |cancel| Code::ours(cancel((*state).extra_state, is_complete))) }
}

// ---- data representations ----

type Extent = unsafe extern "C" fn(TheirHandle, *mut i64, *mut c_void) -> c_int;
type Convert<N> = unsafe extern "C" fn(*mut c_void, TheirHandle, N, *mut c_void, i64, *mut c_void) -> c_int;

/// A representation is registered until the process ends, so this is freed only if that fails.
struct Representation {
    read: usize,
    write: usize,
    extent: Option<Extent>,
    extra_state: *mut c_void,
}

macro_rules! representations {
    ($($name:ident $profiling:ident $private:ident $count:ty)*) => {$(
        entry! {
            $name $profiling(
                datarep: *mut c_char,
                read: *mut c_void,
                write: *mut c_void,
                extent: Option<Extent>,
                extra_state: *mut c_void,
            ) -> c_int {
                let state =
                    Box::into_raw(Box::new(Representation { read: read as usize, write: write as usize, extent, extra_state }));
                let reader = read_converted::<$count> as unsafe extern "C" fn(_, _, _, _, _, _) -> _ as *mut c_void;
                let writer = write_converted::<$count> as unsafe extern "C" fn(_, _, _, _, _, _) -> _ as *mut c_void;
                let asked = extent_of as unsafe extern "C" fn(_, _, _) -> _ as *mut c_void;
                let code = c::$private(
                    datarep,
                    if read.is_null() { read } else { reader },
                    if write.is_null() { write } else { writer },
                    if extent.is_none() { std::ptr::null_mut() } else { asked },
                    state.cast(),
                );
                if code != MPI_SUCCESS {
                    drop(Box::from_raw(state));
                }
                answer(code)
            }
        }
    )*};
}

representations! {
    MPI_Register_datarep PMPI_Register_datarep oxmpi_Register_datarep c_int
    MPI_Register_datarep_c PMPI_Register_datarep_c oxmpi_Register_datarep_c i64
}

unsafe extern "C" fn read_converted<N>(
    user: *mut c_void,
    datatype: Datatype,
    count: N,
    file: *mut c_void,
    position: i64,
    state: *mut Representation,
) -> c_int {
    // SAFETY: OxMPI passes the state of the registration, which has this function only if the program
    // gave one, and buffers of the right length.
    unsafe {
        let read = transmute::<usize, Convert<N>>((*state).read);
        Code::ours(read(user, Datatype::theirs(datatype), count, file, position, (*state).extra_state))
    }
}

unsafe extern "C" fn write_converted<N>(
    user: *mut c_void,
    datatype: Datatype,
    count: N,
    file: *mut c_void,
    position: i64,
    state: *mut Representation,
) -> c_int {
    // SAFETY: OxMPI passes the state of the registration, which has this function only if the program
    // gave one, and buffers of the right length.
    unsafe {
        let write = transmute::<usize, Convert<N>>((*state).write);
        Code::ours(write(user, Datatype::theirs(datatype), count, file, position, (*state).extra_state))
    }
}

unsafe extern "C" fn extent_of(datatype: Datatype, extent: *mut i64, state: *mut Representation) -> c_int {
    // SAFETY: OxMPI passes the state of the registration and the place of a number.
    unsafe {
        let Some(asked) = (*state).extent else { return MPI_ERR_ARG };
        Code::ours(asked(Datatype::theirs(datatype), extent, (*state).extra_state))
    }
}

// ---- events ----

entry! {
    MPI_T_event_register_callback PMPI_T_event_register_callback(
        registration: TEventRegistration,
        safety: c_int,
        info: TheirHandle,
        user_data: *mut c_void,
        function: *mut c_void,
    ) -> c_int {
        let function_c = if function.is_null() { Some(function) } else { on_event(function) };
        let Some(function_c) = function_c else { return Code::theirs(MPI_T_ERR_OUT_OF_HANDLES) };
        let (safety, info) = (Safety::ours(safety), Info::ours(info));
        answer(c::oxmpi_T_event_register_callback(registration, safety, info, user_data, function_c))
    }
}

entry! {
    MPI_T_event_handle_free PMPI_T_event_handle_free(
        registration: TEventRegistration,
        user_data: *mut c_void,
        function: *mut c_void,
    ) -> c_int {
        let function_c = if function.is_null() { Some(function) } else { on_free(function) };
        let Some(function_c) = function_c else { return Code::theirs(MPI_T_ERR_OUT_OF_HANDLES) };
        answer(c::oxmpi_T_event_handle_free(registration, user_data, function_c))
    }
}

entry! {
    MPI_T_event_set_dropped_handler PMPI_T_event_set_dropped_handler(
        registration: TEventRegistration,
        function: *mut c_void,
    ) -> c_int {
        let function_c = if function.is_null() { Some(function) } else { on_dropped(function) };
        let Some(function_c) = function_c else { return Code::theirs(MPI_T_ERR_OUT_OF_HANDLES) };
        answer(c::oxmpi_T_event_set_dropped_handler(registration, function_c))
    }
}
