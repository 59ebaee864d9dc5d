//! Callbacks: procedures of the program that MPI calls.
//!
//! Reductions and error handlers get the same arguments as in C, all by reference, so they are
//! passed to C unchanged: the INTEGER of a handle is its low word. (INTEGERs of eight bytes, and Open
//! MPI's ABI, need [`crate::trampolines`] between.) The others are called by functions of this module, which find
//! them through the extra state.

use crate::entry::*;

/// A procedure of the program; its arguments depend on its purpose.
pub type Code = *mut c_void;

/// The function that C calls for a procedure of the program.
#[cfg(not(any(integer8, openmpi)))]
macro_rules! called {
    ($make:ident $(::<$handle:ty>)?, $procedure:ident, $ierror:ident) => {
        $procedure
    };
}
#[cfg(any(integer8, openmpi))]
macro_rules! called {
    ($make:ident $(::<$handle:ty>)?, $procedure:ident, $ierror:ident) => {
        match crate::trampolines::$make $(::<$handle>)? ($procedure) {
            Some(function) => function,
            None => return set($ierror, fail(MPI_ERR_OTHER, crate::trampolines::TOO_MANY)),
        }
    };
}

macro_rules! handed_on {
    ($($handle:ty: [$($name:ident)+] $c:ident $pc:ident)*) => {$(
        entry! {
            [$($name)+] $c $pc (procedure: Code, errhandler: *mut Fint, ierror: *mut Fint) |call| {
                let mut made = Errhandler(0);
                let code = call(called!(error_handler::<$handle>, procedure, ierror), &mut made);
                put(errhandler, made);
                set(ierror, code);
            }
        }
    )*};
}

handed_on! {
    Comm: [
        mpi_comm_create_errhandler_ pmpi_comm_create_errhandler_
        mpi_comm_create_errhandler_f08_ pmpi_comm_create_errhandler_f08_
        mpi_errhandler_create_ pmpi_errhandler_create_
    ] MPI_Comm_create_errhandler PMPI_Comm_create_errhandler
    Win: [
        mpi_win_create_errhandler_ pmpi_win_create_errhandler_
        mpi_win_create_errhandler_f08_ pmpi_win_create_errhandler_f08_
    ] MPI_Win_create_errhandler PMPI_Win_create_errhandler
    File: [
        mpi_file_create_errhandler_ pmpi_file_create_errhandler_
        mpi_file_create_errhandler_f08_ pmpi_file_create_errhandler_f08_
    ] MPI_File_create_errhandler PMPI_File_create_errhandler
    Session: [
        mpi_session_create_errhandler_ pmpi_session_create_errhandler_
        mpi_session_create_errhandler_f08_ pmpi_session_create_errhandler_f08_
    ] MPI_Session_create_errhandler PMPI_Session_create_errhandler
}

macro_rules! reductions {
    ($([$($name:ident)+] $($functions:ident)+;)*) => {$(
        entry! {
            [$($name)+] $($functions)+ (procedure: Code, commute: *mut Fint, op: *mut Fint, ierror: *mut Fint) |call| {
                let mut made = Op(0);
                let code = call(called!(reduction, procedure, ierror), truth(commute), &mut made);
                put(op, made);
                set(ierror, code);
            }
        }
    )*};
}

reductions! {
    [mpi_op_create_ pmpi_op_create_ mpi_op_create_f08_ pmpi_op_create_f08_]
        MPI_Op_create PMPI_Op_create or MPI_Op_create_c PMPI_Op_create_c;
    [mpi_op_create_c_f08_ pmpi_op_create_c_f08_] MPI_Op_create_c PMPI_Op_create_c;
}

// ---- generalized requests ----

type Query = unsafe extern "C" fn(*mut i64, *mut FortranStatus, *mut Fint);
type Free = unsafe extern "C" fn(*mut i64, *mut Fint);
type Cancel = unsafe extern "C" fn(*mut i64, *mut Fint, *mut Fint);

/// The extra state is kept here, since the argument of the start may be a constant, or no longer
/// exist when a callback runs.
struct Generalized {
    query: Query,
    free: Free,
    cancel: Cancel,
    extra_state: i64,
    argument: *mut i64,
}

impl Generalized {
    /// Passes the state to a callback. A callback that changes it changes the variable that the
    /// program passed at the start.
    fn with_state(&mut self, callback: impl FnOnce(&Self, *mut i64)) {
        let before = self.extra_state;
        let mut state = before;
        callback(self, &mut state);
        self.extra_state = state;
        if state != before {
            change(self.argument, before, state);
        }
    }
}

/// Stores a value where another one still is. The kernel does it, because it refuses memory that
/// cannot be written.
fn change(at: *mut i64, from: i64, to: i64) {
    let (mut seen, mut to) = (0i64, to);
    let piece = |at: *mut i64| libc::iovec { iov_base: at.cast(), iov_len: size_of::<i64>() };
    // SAFETY: the local pieces are variables of this function; for a bad remote address the kernel
    // returns an error.
    unsafe {
        let own = libc::getpid();
        let read = libc::process_vm_readv(own, &piece(&mut seen), 1, &piece(at), 1, 0);
        if read == size_of::<i64>() as isize && seen == from {
            // What cannot be written is not changed, like any input argument.
            let _written = libc::process_vm_writev(own, &piece(&mut to), 1, &piece(at), 1, 0);
        }
    }
}

entry! {
    [mpi_grequest_start_ pmpi_grequest_start_ mpi_grequest_start_f08_ pmpi_grequest_start_f08_]
    MPI_Grequest_start PMPI_Grequest_start
    (query: Query, free: Free, cancel: Cancel, argument: *mut i64, request: *mut Fint, ierror: *mut Fint) |call| {
        let state = Generalized { query, free, cancel, extra_state: *argument, argument };
        let mut made = Request(0);
        let code = call(
            query_request as *mut c_void,
            free_request as *mut c_void,
            cancel_request as *mut c_void,
            Box::into_raw(Box::new(state)).cast(),
            &mut made,
        );
        put(request, made);
        set(ierror, code);
    }
}

unsafe extern "C" fn query_request(state: *mut Generalized, status: *mut Status) -> c_int {
    let mut code = wide(MPI_SUCCESS);
    // SAFETY: MPI passes the state of the request, which lives until `free_request`, and a status.
    unsafe {
        #[cfg(not(integer8))]
        (*state).with_state(|of, extra| (of.query)(extra, status, &mut code));
        #[cfg(integer8)]
        FortranStatus::with(status, |status| (*state).with_state(|of, extra| (of.query)(extra, status, &mut code)));
    }
    short(code)
}

unsafe extern "C" fn free_request(state: *mut Generalized) -> c_int {
    let mut code = wide(MPI_SUCCESS);
    // SAFETY: MPI passes the state of the request; this is the last call that uses it.
    unsafe { Box::from_raw(state).with_state(|of, extra| (of.free)(extra, &mut code)) };
    short(code)
}

unsafe extern "C" fn cancel_request(state: *mut Generalized, complete: c_int) -> c_int {
    let (mut code, mut logical) = (wide(MPI_SUCCESS), 0);
    // SAFETY: MPI passes the state of the request, which lives until `free_request`.
    unsafe {
        put_truth(&mut logical, complete);
        (*state).with_state(|of, extra| (of.cancel)(extra, &mut logical, &mut code));
    }
    short(code)
}

// ---- data representations ----

type Convert = unsafe extern "C" fn(*mut c_void, *mut Fint, *mut c_void, *mut c_void, *mut i64, *mut i64, *mut Fint);
type Extent = unsafe extern "C" fn(*mut Fint, *mut i64, *mut i64, *mut Fint);

/// A representation is registered until the process ends, so this is never freed.
struct Representation {
    read: Convert,
    write: Convert,
    extent: Extent,
    extra_state: i64,
}

macro_rules! representations {
    ($([$($name:ident)+] $c:ident $pc:ident $count:ty)*) => {$(
        entry! {
            [$($name)+] $c $pc
            (
                datarep: *mut c_char,
                read: Convert,
                write: Convert,
                extent: Extent,
                extra_state: *mut i64,
                ierror: *mut Fint,
                datarep_len: usize
            ) |call| {
                let mut datarep = text((datarep, datarep_len));
                let state = Box::into_raw(Box::new(Representation { read, write, extent, extra_state: *extra_state }));
                let reader = read_converted::<$count> as *mut c_void;
                let writer = write_converted::<$count> as *mut c_void;
                let code = call(
                    datarep.as_mut_ptr().cast(),
                    if is_none(read) { null_mut() } else { reader },
                    if is_none(write) { null_mut() } else { writer },
                    extent_of as *mut c_void,
                    state.cast(),
                );
                set(ierror, code);
            }
        }
    )*};
}

representations! {
    [mpi_register_datarep_ pmpi_register_datarep_ mpi_register_datarep_f08_ pmpi_register_datarep_f08_]
    MPI_Register_datarep PMPI_Register_datarep c_int
    [mpi_register_datarep_c_f08_ pmpi_register_datarep_c_f08_]
    MPI_Register_datarep_c PMPI_Register_datarep_c i64
}

fn is_none(convert: Convert) -> bool {
    let address = convert as *const () as usize;
    #[cfg(any(mpich, openmpi))]
    if crate::modules::is_null_conversion(address) {
        return true;
    }
    [mpi_conversion_fn_null_ as *const () as usize, mpi_conversion_fn_null_c_ as *const () as usize].contains(&address)
}

/// Only their addresses matter: they are never called.
#[unsafe(no_mangle)]
extern "C" fn mpi_conversion_fn_null_() {}

#[unsafe(no_mangle)]
extern "C" fn mpi_conversion_fn_null_c_() {
    // The bodies differ, so that no linker merges the two functions.
    std::hint::black_box(());
}

/// A count of C, and what the program's procedure gets for it.
trait Count {
    type Integer;
    fn integer(self) -> Self::Integer;
}

impl Count for c_int {
    type Integer = Fint;
    fn integer(self) -> Fint {
        wide(self)
    }
}

impl Count for i64 {
    type Integer = i64;
    fn integer(self) -> i64 {
        self
    }
}

unsafe extern "C" fn read_converted<N: Count>(
    user: *mut c_void,
    datatype: Datatype,
    count: N,
    file: *mut c_void,
    mut position: i64,
    state: *mut Representation,
) -> c_int {
    let (mut code, mut datatype) = (wide(MPI_SUCCESS), int(datatype));
    let mut count = count.integer();
    let count = (&raw mut count).cast();
    // SAFETY: MPI passes the state of the registration, which is never freed, and buffers of the
    // right length.
    unsafe {
        ((*state).read)(user, &mut datatype, count, file, &mut position, &mut (*state).extra_state, &mut code);
    }
    short(code)
}

unsafe extern "C" fn write_converted<N: Count>(
    user: *mut c_void,
    datatype: Datatype,
    count: N,
    file: *mut c_void,
    mut position: i64,
    state: *mut Representation,
) -> c_int {
    let (mut code, mut datatype) = (wide(MPI_SUCCESS), int(datatype));
    let mut count = count.integer();
    let count = (&raw mut count).cast();
    // SAFETY: MPI passes the state of the registration, which is never freed, and
    // buffers of the right length.
    unsafe {
        ((*state).write)(user, &mut datatype, count, file, &mut position, &mut (*state).extra_state, &mut code);
    }
    short(code)
}

unsafe extern "C" fn extent_of(datatype: Datatype, extent: *mut i64, state: *mut Representation) -> c_int {
    let (mut code, mut datatype) = (wide(MPI_SUCCESS), int(datatype));
    // SAFETY: MPI passes the state of the registration, which is never freed.
    unsafe { ((*state).extent)(&mut datatype, extent, &mut (*state).extra_state, &mut code) };
    short(code)
}
