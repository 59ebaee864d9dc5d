//! What old C++ programs (`MPI::COMM_WORLD.Send(…)`) import from Open MPI's `libmpi_cxx.so.40`. Nearly
//! all of those bindings is inline code in the program, with the virtual tables; left are a few
//! functions, the constants, and the reductions of the program, which get a `MPI::Datatype`.
//!
//! An object of these classes is the address of its virtual table and an MPI handle. Exceptions
//! (`MPI::ERRORS_THROW_EXCEPTIONS`), attributes and error handlers of the program in C++ are not here:
//! a program that needs them does not start, and the dynamic linker names the function.

use crate::entry::*;
use oxmpi_abi::callback_table::MOST;
use oxmpi_abi::function_at;
use std::cell::Cell;
use std::ffi::CStr;
use std::mem::transmute;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// An object of C++: the virtual table and the handle.
#[repr(C)]
struct Object {
    table: AtomicUsize,
    handle: AtomicUsize,
}

// ---- functions of classes ----

/// `MPI::Comm::Comm()`: a base class, so the program sets the virtual table afterwards.
#[unsafe(export_name = "_ZN3MPI4CommC2Ev")]
unsafe extern "C" fn comm(this: *mut Object) {
    // SAFETY: a constructor gets the place of the object.
    unsafe { (*this).handle.store(Comm::theirs(MPI_COMM_NULL), Relaxed) };
}

#[unsafe(export_name = "_ZN3MPI4CommC1Ev")]
unsafe extern "C" fn comm_complete(this: *mut Object) {
    // SAFETY: a constructor gets the place of the object.
    unsafe { comm(this) };
}

/// `MPI::Comm::Comm(const MPI::Comm_Null &)`.
#[unsafe(export_name = "_ZN3MPI4CommC2ERKNS_9Comm_NullE")]
unsafe extern "C" fn comm_of(this: *mut Object, other: *const Object) {
    // SAFETY: a constructor gets the place of the object, and this one another communicator.
    unsafe { (*this).handle.store((*other).handle.load(Relaxed), Relaxed) };
}

#[unsafe(export_name = "_ZN3MPI4CommC1ERKNS_9Comm_NullE")]
unsafe extern "C" fn comm_of_complete(this: *mut Object, other: *const Object) {
    // SAFETY: a constructor gets the place of the object, and this one another communicator.
    unsafe { comm_of(this, other) };
}

macro_rules! frees {
    ($($symbol:literal $name:ident $handle:ident $private:ident)*) => {$(
        #[unsafe(export_name = $symbol)]
        unsafe extern "C" fn $name(this: *mut Object) {
            // SAFETY: the function gets its object, which has a handle that may be changed.
            unsafe {
                let mut handle = Place::<$handle>::inout((&raw mut (*this).handle).cast());
                c::$private(handle.ptr());
                handle.put();
            }
        }
    )*};
}

frees! {
    "_ZN3MPI8Datatype4FreeEv" datatype_free Datatype oxmpi_Type_free
    "_ZN3MPI3Win4FreeEv" win_free Win oxmpi_Win_free
    "_ZN3MPI4File5CloseEv" file_close File oxmpi_File_close
}

/// `MPI::InitializeIntercepts()`, which `MPI::Init` of the program calls: nothing is left to do.
#[unsafe(export_name = "_ZN3MPI20InitializeInterceptsEv")]
extern "C" fn initialize_intercepts() {}

// ---- reductions ----

/// `MPI::Op::Init` calls `MPI_Op_create` with this function, and then `ompi_op_set_cxx_callback`. So it is
/// never called, only known by its address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_mpi_cxx_op_intercept(
    _input: *mut c_void,
    _inout: *mut c_void,
    _length: *mut c_int,
    _datatype: *mut TheirHandle,
    _function: *mut c_void,
) {
}

type Reduction = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, *const Object);

/// The functions of the program, a place for each operation.
static REDUCTIONS: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
static MADE: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The place of the operation that this thread has made last.
    static LATEST: Cell<usize> = const { Cell::new(MOST) };
}

/// The function for an operation that will get one of C++, if there is a place left.
pub fn reduction() -> Option<*mut c_void> {
    let place = MADE.fetch_update(Relaxed, Relaxed, |made| (made < MOST).then_some(made + 1)).ok()?;
    LATEST.set(place);
    Some(function_at!(reduce, place))
}

#[unsafe(no_mangle)]
extern "C" fn ompi_op_set_cxx_callback(_op: TheirHandle, function: *mut c_void) {
    if let Some(place) = REDUCTIONS.get(LATEST.get()) {
        place.store(function as usize, Relaxed);
    }
}

unsafe extern "C" fn reduce<const PLACE: usize>(
    input: *mut c_void,
    inout: *mut c_void,
    length: *mut c_int,
    datatype: *mut Datatype,
) {
    let function = REDUCTIONS[PLACE].load(Relaxed);
    if function == 0 {
        return;
    }
    // SAFETY: the address is that of a reduction in C++, which the program has given for this place. OxMPI
    // passes what a reduction gets.
    unsafe {
        let datatype = Object {
            table: AtomicUsize::new(virtual_table(c"_ZTVN3MPI8DatatypeE")),
            handle: AtomicUsize::new(Datatype::theirs(*datatype)),
        };
        transmute::<usize, Reduction>(function)(input, inout, *length, &datatype);
    }
}

// ---- constants ----

unsafe extern "C" {
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// The address of a virtual table's first function; zero if the program has none.
fn virtual_table(name: &CStr) -> usize {
    // SAFETY: the name ends with a zero; a null handle stands for all libraries and the program.
    let table = unsafe { dlsym(std::ptr::null_mut(), name.as_ptr()) } as usize;
    // The distance to the whole object and the type information come first.
    if table == 0 { 0 } else { table + 2 * size_of::<usize>() }
}

/// The constants are variables, of which the program may have copies: `fill` writes to the address that the
/// dynamic linker has found.
macro_rules! constants {
    ($($class:literal $handle:ident { $($symbol:literal $name:ident $value:ident)* })*) => {
        $($(
            #[unsafe(export_name = $symbol)]
            static $name: Object = Object { table: AtomicUsize::new(0), handle: AtomicUsize::new(0) };
        )*)*

        extern "C" fn fill() {
            $(
                let table = virtual_table($class);
                $(
                    $name.table.store(table, Relaxed);
                    $name.handle.store($handle::theirs($value), Relaxed);
                )*
            )*
        }
    };
}

#[used]
#[unsafe(link_section = ".init_array")]
static FILL: extern "C" fn() = fill;

constants! {
    c"_ZTVN3MPI10ErrhandlerE" Errhandler {
        "_ZN3MPI16ERRORS_ARE_FATALE" ERRORS_ARE_FATAL MPI_ERRORS_ARE_FATAL
        "_ZN3MPI13ERRORS_RETURNE" ERRORS_RETURN MPI_ERRORS_RETURN
        "_ZN3MPI15ERRHANDLER_NULLE" ERRHANDLER_NULL MPI_ERRHANDLER_NULL
    }
    c"_ZTVN3MPI8DatatypeE" Datatype {
        "_ZN3MPI4CHARE" CHAR MPI_CHAR
        "_ZN3MPI5SHORTE" SHORT MPI_SHORT
        "_ZN3MPI3INTE" INT MPI_INT
        "_ZN3MPI4LONGE" LONG MPI_LONG
        "_ZN3MPI11SIGNED_CHARE" SIGNED_CHAR MPI_SIGNED_CHAR
        "_ZN3MPI13UNSIGNED_CHARE" UNSIGNED_CHAR MPI_UNSIGNED_CHAR
        "_ZN3MPI14UNSIGNED_SHORTE" UNSIGNED_SHORT MPI_UNSIGNED_SHORT
        "_ZN3MPI8UNSIGNEDE" UNSIGNED MPI_UNSIGNED
        "_ZN3MPI13UNSIGNED_LONGE" UNSIGNED_LONG MPI_UNSIGNED_LONG
        "_ZN3MPI5FLOATE" FLOAT MPI_FLOAT
        "_ZN3MPI6DOUBLEE" DOUBLE MPI_DOUBLE
        "_ZN3MPI11LONG_DOUBLEE" LONG_DOUBLE MPI_LONG_DOUBLE
        "_ZN3MPI4BYTEE" BYTE MPI_BYTE
        "_ZN3MPI6PACKEDE" PACKED MPI_PACKED
        "_ZN3MPI5WCHARE" WCHAR MPI_WCHAR
        "_ZN3MPI9FLOAT_INTE" FLOAT_INT MPI_FLOAT_INT
        "_ZN3MPI10DOUBLE_INTE" DOUBLE_INT MPI_DOUBLE_INT
        "_ZN3MPI8LONG_INTE" LONG_INT MPI_LONG_INT
        "_ZN3MPI6TWOINTE" TWOINT MPI_2INT
        "_ZN3MPI9SHORT_INTE" SHORT_INT MPI_SHORT_INT
        "_ZN3MPI15LONG_DOUBLE_INTE" LONG_DOUBLE_INT MPI_LONG_DOUBLE_INT
        "_ZN3MPI7INTEGERE" INTEGER MPI_INTEGER
        "_ZN3MPI4REALE" REAL MPI_REAL
        "_ZN3MPI16DOUBLE_PRECISIONE" DOUBLE_PRECISION MPI_DOUBLE_PRECISION
        "_ZN3MPI9F_COMPLEXE" F_COMPLEX MPI_COMPLEX
        "_ZN3MPI7LOGICALE" LOGICAL MPI_LOGICAL
        "_ZN3MPI9CHARACTERE" CHARACTER MPI_CHARACTER
        "_ZN3MPI7TWOREALE" TWOREAL MPI_2REAL
        "_ZN3MPI19TWODOUBLE_PRECISIONE" TWODOUBLE_PRECISION MPI_2DOUBLE_PRECISION
        "_ZN3MPI10TWOINTEGERE" TWOINTEGER MPI_2INTEGER
        "_ZN3MPI8INTEGER1E" INTEGER1 MPI_INTEGER1
        "_ZN3MPI8INTEGER2E" INTEGER2 MPI_INTEGER2
        "_ZN3MPI8INTEGER4E" INTEGER4 MPI_INTEGER4
        "_ZN3MPI5REAL2E" REAL2 MPI_REAL2
        "_ZN3MPI5REAL4E" REAL4 MPI_REAL4
        "_ZN3MPI5REAL8E" REAL8 MPI_REAL8
        "_ZN3MPI9LONG_LONGE" LONG_LONG MPI_LONG_LONG
        "_ZN3MPI13LONG_LONG_INTE" LONG_LONG_INT MPI_LONG_LONG
        "_ZN3MPI18UNSIGNED_LONG_LONGE" UNSIGNED_LONG_LONG MPI_UNSIGNED_LONG_LONG
        "_ZN3MPI4BOOLE" BOOL MPI_CXX_BOOL
        "_ZN3MPI7COMPLEXE" COMPLEX MPI_CXX_FLOAT_COMPLEX
        "_ZN3MPI14DOUBLE_COMPLEXE" DOUBLE_COMPLEX MPI_CXX_DOUBLE_COMPLEX
        "_ZN3MPI16F_DOUBLE_COMPLEXE" F_DOUBLE_COMPLEX MPI_DOUBLE_COMPLEX
        "_ZN3MPI19LONG_DOUBLE_COMPLEXE" LONG_DOUBLE_COMPLEX MPI_CXX_LONG_DOUBLE_COMPLEX
        "_ZN3MPI2UBE" UB MPI_UB
        "_ZN3MPI2LBE" LB MPI_LB
        "_ZN3MPI13DATATYPE_NULLE" DATATYPE_NULL MPI_DATATYPE_NULL
    }
    c"_ZTVN3MPI9IntracommE" Comm {
        "_ZN3MPI10COMM_WORLDE" COMM_WORLD MPI_COMM_WORLD
        "_ZN3MPI9COMM_SELFE" COMM_SELF MPI_COMM_SELF
    }
    c"_ZTVN3MPI2OpE" Op {
        "_ZN3MPI3MAXE" MAX MPI_MAX
        "_ZN3MPI3MINE" MIN MPI_MIN
        "_ZN3MPI3SUME" SUM MPI_SUM
        "_ZN3MPI4PRODE" PROD MPI_PROD
        "_ZN3MPI6MAXLOCE" MAXLOC MPI_MAXLOC
        "_ZN3MPI6MINLOCE" MINLOC MPI_MINLOC
        "_ZN3MPI4BANDE" BAND MPI_BAND
        "_ZN3MPI3BORE" BOR MPI_BOR
        "_ZN3MPI4BXORE" BXOR MPI_BXOR
        "_ZN3MPI4LANDE" LAND MPI_LAND
        "_ZN3MPI3LORE" LOR MPI_LOR
        "_ZN3MPI4LXORE" LXOR MPI_LXOR
        "_ZN3MPI7REPLACEE" REPLACE MPI_REPLACE
        "_ZN3MPI7OP_NULLE" OP_NULL MPI_OP_NULL
    }
    c"_ZTVN3MPI5GroupE" Group {
        "_ZN3MPI10GROUP_NULLE" GROUP_NULL MPI_GROUP_NULL
        "_ZN3MPI11GROUP_EMPTYE" GROUP_EMPTY MPI_GROUP_EMPTY
    }
    c"_ZTVN3MPI3WinE" Win {
        "_ZN3MPI8WIN_NULLE" WIN_NULL MPI_WIN_NULL
    }
    c"_ZTVN3MPI4InfoE" Info {
        "_ZN3MPI9INFO_NULLE" INFO_NULL MPI_INFO_NULL
    }
    c"_ZTVN3MPI9Comm_NullE" Comm {
        "_ZN3MPI9COMM_NULLE" COMM_NULL MPI_COMM_NULL
    }
    c"_ZTVN3MPI7RequestE" Request {
        "_ZN3MPI12REQUEST_NULLE" REQUEST_NULL MPI_REQUEST_NULL
    }
    c"_ZTVN3MPI4FileE" File {
        "_ZN3MPI9FILE_NULLE" FILE_NULL MPI_FILE_NULL
    }
}

/// `MPI::BOTTOM`, `MPI::IN_PLACE`, and the arguments of `Spawn` that stand for none.
macro_rules! addresses {
    ($($symbol:literal $name:ident $value:expr;)*) => {$(
        #[unsafe(export_name = $symbol)]
        static $name: usize = $value;
    )*};
}

addresses! {
    "_ZN3MPI6BOTTOME" BOTTOM 0;
    "_ZN3MPI8IN_PLACEE" IN_PLACE crate::abi::THEIR_IN_PLACE;
    "_ZN3MPI9ARGV_NULLE" ARGV_NULL 0;
    "_ZN3MPI10ARGVS_NULLE" ARGVS_NULL 0;
}
