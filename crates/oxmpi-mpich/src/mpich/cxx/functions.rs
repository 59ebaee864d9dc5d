//! Functions that follow no rule, and those between MPI and functions of the program in C++.

use super::objects::{Object, StatusObject};
use crate::entry::*;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
    fn PMPI_Comm_create_keyval(copy: *const (), delete: *const (), key: *mut c_int, state: *mut Key) -> c_int;
    fn PMPI_Win_create_keyval(copy: *const (), delete: *const (), key: *mut c_int, state: *mut Key) -> c_int;
    fn PMPI_Type_create_keyval(copy: *const (), delete: *const (), key: *mut c_int, state: *mut Key) -> c_int;
    fn PMPI_Grequest_start(
        query: *const (),
        free: *const (),
        cancel: *const (),
        state: *mut Grequest,
        request: *mut c_int,
    ) -> c_int;
    fn PMPI_Register_datarep(
        name: *const c_char,
        read: *const (),
        write: *const (),
        extent: *const (),
        state: *mut Representation,
    ) -> c_int;
    fn PMPI_Wtime() -> f64;
    fn PMPI_Wtick() -> f64;
}

// ---- facts for `call` ----

/// The dimensions of a Cartesian topology.
pub fn dimensions(comm: c_int) -> c_int {
    let mut count = 0;
    // SAFETY: the place is that of a variable; an error leaves it as it is.
    unsafe { c::oxmpi_Cartdim_get(Comm::ours(comm), &mut count) };
    count
}

/// The processes that an operation of this communicator exchanges data with.
pub fn members(comm: c_int) -> c_int {
    let (mut count, mut is_inter) = (0, 0);
    let comm = Comm::ours(comm);
    // SAFETY: the places are those of variables; an error leaves them as they are.
    unsafe {
        c::oxmpi_Comm_test_inter(comm, &mut is_inter);
        match is_inter != 0 {
            true => c::oxmpi_Comm_remote_size(comm, &mut count),
            false => c::oxmpi_Comm_size(comm, &mut count),
        };
    }
    count
}

/// The class of a communicator that a function of the program gets.
fn class_of(comm: c_int) -> u8 {
    let (mut is_inter, mut topology) = (0, MPI_UNDEFINED);
    let comm = Comm::ours(comm);
    // SAFETY: the places are those of variables; an error leaves them as they are.
    unsafe {
        c::oxmpi_Comm_test_inter(comm, &mut is_inter);
        c::oxmpi_Topo_test(comm, &mut topology);
    }
    match topology {
        _ if is_inter != 0 => b'N',
        MPI_CART => b'C',
        MPI_GRAPH => b'H',
        _ => b'I',
    }
}

// ---- functions without rules ----

/// A destructor: there is nothing to do.
pub unsafe extern "C" fn destroy(_this: *mut Object) {}

/// A destructor for `delete`, of an object that a `Clone` here has made.
pub unsafe extern "C" fn delete(this: *mut Object) {
    // SAFETY: the program deletes what it has got from a `Clone`, whose memory comes from `malloc`.
    unsafe { free(this.cast()) };
}

macro_rules! clones {
    ($($name:ident $class:literal)*) => {$(
        pub unsafe extern "C" fn $name(this: *const Object) -> *mut Object {
            let mut copy = MPI_COMM_NULL;
            // SAFETY: the function gets its object; the new one has room for it, and a null pointer is not written to.
            unsafe {
                c::oxmpi_Comm_dup(Comm::ours((*this).handle as c_int), &mut copy);
                let object = malloc(size_of::<Object>()).cast::<Object>();
                if !object.is_null() {
                    object.write(Object::new($class, Comm::theirs(copy) as u32 as usize));
                }
                object
            }
        }
    )*};
}

clones! {
    clone_intracomm b'I'
    clone_intercomm b'N'
    clone_cartcomm b'C'
    clone_graphcomm b'H'
}

/// The null communicator has no copy of its own.
pub unsafe extern "C" fn clone_nullcomm(this: *mut Object) -> *mut Object {
    this
}

#[unsafe(export_name = "_ZN3MPI5WtimeEv")]
unsafe extern "C" fn wtime() -> f64 {
    // SAFETY: the function has no conditions.
    unsafe { PMPI_Wtime() }
}

#[unsafe(export_name = "_ZN3MPI5WtickEv")]
unsafe extern "C" fn wtick() -> f64 {
    // SAFETY: the function has no conditions.
    unsafe { PMPI_Wtick() }
}

/// Programs call it before they ask for the name of a type, and the types have their names.
#[unsafe(export_name = "_ZN3MPI26MPIR_CXX_InitDatatypeNamesEv")]
extern "C" fn init_datatype_names() {}

// ---- reductions and error handlers, with the function of the program as the extra state ----

type Reduction = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, *const Object);

pub unsafe extern "C" fn reduce(
    input: *mut c_void,
    inout: *mut c_void,
    length: i64,
    datatype: c_int,
    function: Reduction,
) {
    let datatype = Object::new(b'D', datatype as u32 as usize);
    // SAFETY: `MPI::Op::Init` has got this function, and it gets what a reduction gets.
    unsafe { function(input, inout, length as c_int, &datatype) };
}

type ErrorHandler = unsafe extern "C" fn(*mut Object, *mut c_int, ...);

pub unsafe extern "C" fn comm_error(comm: c_int, mut code: c_int, function: ErrorHandler) {
    let mut object = Object::new(class_of(comm), comm as u32 as usize);
    // SAFETY: `MPI::Comm::Create_errhandler` has got this function, and it gets what an error handler gets.
    unsafe { function(&mut object, &mut code) };
}

pub unsafe extern "C" fn win_error(win: c_int, mut code: c_int, function: ErrorHandler) {
    let mut object = Object::new(b'W', win as u32 as usize);
    // SAFETY: `MPI::Win::Create_errhandler` has got this function, and it gets what an error handler gets.
    unsafe { function(&mut object, &mut code) };
}

pub unsafe extern "C" fn file_error(file: usize, mut code: c_int, function: ErrorHandler) {
    let mut object = Object::new(b'F', file);
    // SAFETY: `MPI::File::Create_errhandler` has got this function, and it gets what an error handler gets.
    unsafe { function(&mut object, &mut code) };
}

// ---- attributes ----

type Copy = unsafe extern "C" fn(*const Object, c_int, *mut c_void, *mut c_void, *mut c_void, *mut bool) -> c_int;
type Delete = unsafe extern "C" fn(*mut Object, c_int, *mut c_void, *mut c_void) -> c_int;

/// What the program gave for a key; kept for ever, because MPI does not say when a key is used for the last time.
#[repr(C)]
pub struct Key {
    copy: Option<Copy>,
    delete: Option<Delete>,
    state: *mut c_void,
    /// The class of the objects; 0 for a communicator, which may be of several.
    class: u8,
}

impl Key {
    fn object(&self, handle: c_int) -> Object {
        Object::new(if self.class == 0 { class_of(handle) } else { self.class }, handle as u32 as usize)
    }
}

unsafe extern "C" fn copied(
    handle: c_int,
    number: c_int,
    key: *const Key,
    value: *mut c_void,
    new: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: MPI passes the state of the key, and what a copy function gets.
    unsafe {
        let Some(copy) = (*key).copy else { return MPI_SUCCESS };
        let mut is_copied = false;
        let code = copy(&(*key).object(handle), number, (*key).state, value, new, &mut is_copied);
        *flag = c_int::from(is_copied);
        code
    }
}

unsafe extern "C" fn deleted(handle: c_int, number: c_int, value: *mut c_void, key: *const Key) -> c_int {
    // SAFETY: MPI passes the state of the key, and what a delete function gets.
    unsafe {
        let Some(delete) = (*key).delete else { return MPI_SUCCESS };
        delete(&mut (*key).object(handle), number, value, (*key).state)
    }
}

macro_rules! keys {
    ($($name:ident $function:ident $class:literal)*) => {$(
        pub unsafe extern "C" fn $name(
            copy: Option<Copy>,
            delete: Option<Delete>,
            state: *mut c_void,
            number: *mut c_int,
        ) -> c_int {
            let copied = if copy.is_some() { copied as *const () } else { std::ptr::null() };
            let deleted = if delete.is_some() { deleted as *const () } else { std::ptr::null() };
            let key = Box::into_raw(Box::new(Key { copy, delete, state, class: $class }));
            // SAFETY: the functions take what MPI passes to such ones; the place is the caller's.
            unsafe { $function(copied, deleted, number, key) }
        }
    )*};
}

keys! {
    make_comm_key PMPI_Comm_create_keyval 0
    make_win_key PMPI_Win_create_keyval b'W'
    make_type_key PMPI_Type_create_keyval b'D'
}

// ---- generalized requests ----

type Query = unsafe extern "C" fn(*mut c_void, *mut StatusObject) -> c_int;
type Free = unsafe extern "C" fn(*mut c_void) -> c_int;
type Cancel = unsafe extern "C" fn(*mut c_void, bool) -> c_int;

/// What the program gave for a request; freed with it.
#[repr(C)]
pub struct Grequest {
    query: Query,
    free: Free,
    cancel: Cancel,
    state: *mut c_void,
}

pub unsafe extern "C" fn start_grequest(
    query: Query,
    free: Free,
    cancel: Cancel,
    state: *mut c_void,
    request: *mut c_int,
) -> c_int {
    let given = Box::into_raw(Box::new(Grequest { query, free, cancel, state }));
    // SAFETY: the functions take what MPI passes to such ones; the place is the caller's. After an error they are not called.
    unsafe {
        let (queried, freed, cancelled) = (queried as *const (), freed as *const (), cancelled as *const ());
        let code = PMPI_Grequest_start(queried, freed, cancelled, given, request);
        if code != MPI_SUCCESS {
            drop(Box::from_raw(given));
        }
        code
    }
}

unsafe extern "C" fn queried(given: *const Grequest, status: *mut TheirStatus) -> c_int {
    // SAFETY: MPI passes the state of a request that was not freed, and a status.
    unsafe {
        let mut object = StatusObject::new(*status);
        let code = ((*given).query)((*given).state, &mut object);
        *status = object.status;
        code
    }
}

unsafe extern "C" fn freed(given: *mut Grequest) -> c_int {
    // SAFETY: MPI calls this once for a request, and no other function of it later.
    unsafe {
        let given = Box::from_raw(given);
        (given.free)(given.state)
    }
}

unsafe extern "C" fn cancelled(given: *const Grequest, is_complete: c_int) -> c_int {
    // SAFETY: MPI passes the state of a request that was not freed.
    unsafe { ((*given).cancel)((*given).state, is_complete != 0) }
}

// ---- data representations ----

type Convert = unsafe extern "C" fn(*mut c_void, *mut Object, c_int, *mut c_void, i64, *mut c_void) -> c_int;
type Extent = unsafe extern "C" fn(*const Object, *mut i64, *mut c_void) -> c_int;

/// What the program gave for a representation, which lasts until the process ends.
#[repr(C)]
pub struct Representation {
    read: Option<Convert>,
    write: Option<Convert>,
    extent: Extent,
    state: *mut c_void,
}

pub unsafe extern "C" fn register(
    name: *const c_char,
    read: Option<Convert>,
    write: Option<Convert>,
    extent: Extent,
    state: *mut c_void,
) -> c_int {
    let reads = if read.is_some() { read_by as *const () } else { std::ptr::null() };
    let writes = if write.is_some() { written_by as *const () } else { std::ptr::null() };
    let given = Box::into_raw(Box::new(Representation { read, write, extent, state }));
    // SAFETY: the functions take what MPI passes to such ones; the name ends.
    unsafe { PMPI_Register_datarep(name, reads, writes, extent_by as *const (), given) }
}

macro_rules! conversions {
    ($($name:ident $field:ident)*) => {$(
        unsafe extern "C" fn $name(
            memory: *mut c_void,
            datatype: c_int,
            count: c_int,
            file: *mut c_void,
            position: i64,
            given: *const Representation,
        ) -> c_int {
            let mut datatype = Object::new(b'D', datatype as u32 as usize);
            // SAFETY: MPI passes the state of the representation, and what a conversion gets; without a function of the program
            // this one was not given.
            unsafe {
                let Some(convert) = (*given).$field else { return MPI_SUCCESS };
                convert(memory, &mut datatype, count, file, position, (*given).state)
            }
        }
    )*};
}

conversions! {
    read_by read
    written_by write
}

unsafe extern "C" fn extent_by(datatype: c_int, extent: *mut i64, given: *const Representation) -> c_int {
    let datatype = Object::new(b'D', datatype as u32 as usize);
    // SAFETY: MPI passes the state of the representation, and the place of an extent.
    unsafe { ((*given).extent)(&datatype, extent, (*given).state) }
}
