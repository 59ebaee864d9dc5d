//! Objects of C++: the virtual table and the handle. The constants among them are variables, of which the program may have copies.

use super::tables::*;
use crate::entry::*;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// An object of MPI's classes. A handle is an int, or a pointer for a file; nothing else is in the rest.
#[repr(C)]
pub struct Object {
    table: usize,
    pub handle: usize,
}

impl Object {
    /// An object of the class that has this letter.
    pub fn new(class: u8, handle: usize) -> Object {
        let table = match class {
            b'C' => CARTCOMM.address(),
            b'D' => DATATYPE.address(),
            b'E' => ERRHANDLER.address(),
            b'F' => FILE.address(),
            b'G' => GROUP.address(),
            b'H' => GRAPHCOMM.address(),
            b'I' => INTRACOMM.address(),
            b'J' => INFO.address(),
            b'N' => INTERCOMM.address(),
            b'P' => PREQUEST.address(),
            b'Q' => GREQUEST.address(),
            b'R' => REQUEST.address(),
            b'W' => WIN.address(),
            b'V' => OP.address(),
            b'X' => EXCEPTION.address(),
            _ => NULLCOMM.address(),
        };
        Object { table, handle }
    }
}

/// A status: the virtual table and the status of C.
#[repr(C)]
pub struct StatusObject {
    table: usize,
    pub status: TheirStatus,
}

impl StatusObject {
    pub fn new(status: TheirStatus) -> StatusObject {
        StatusObject { table: STATUS.address(), status }
    }
}

/// The null handle of a class: what an object has that a failed call should have made.
pub fn empty(class: u8) -> usize {
    let handle = match class {
        b'D' => Datatype::theirs(MPI_DATATYPE_NULL),
        b'E' => Errhandler::theirs(MPI_ERRHANDLER_NULL),
        b'G' => Group::theirs(MPI_GROUP_NULL),
        b'J' => Info::theirs(MPI_INFO_NULL),
        b'P' | b'Q' | b'R' => Request::theirs(MPI_REQUEST_NULL),
        _ => Comm::theirs(MPI_COMM_NULL),
    };
    handle as u32 as usize
}

/// A variable with an object.
#[repr(C)]
struct Variable {
    table: AtomicUsize,
    handle: AtomicUsize,
}

/// `fill` writes to the addresses that the dynamic linker has found.
macro_rules! variables {
    ($($class:literal { $($symbol:literal $name:ident $value:expr;)* })*) => {
        $($(
            #[unsafe(export_name = $symbol)]
            static $name: Variable = Variable { table: AtomicUsize::new(0), handle: AtomicUsize::new(0) };
        )*)*

        extern "C" fn fill() {
            $($(
                let object = Object::new($class, $value as u32 as usize);
                $name.table.store(object.table, Relaxed);
                $name.handle.store(object.handle, Relaxed);
            )*)*
        }
    };
}

#[used]
#[unsafe(link_section = ".init_array")]
static FILL: extern "C" fn() = fill;

variables! {
    b'I' {
        "_ZN3MPI10COMM_WORLDE" COMM_WORLD Comm::theirs(MPI_COMM_WORLD);
        "_ZN3MPI9COMM_SELFE" COMM_SELF Comm::theirs(MPI_COMM_SELF);
    }
    b'D' {
        "_ZN3MPI10DOUBLE_INTE" DOUBLE_INT Datatype::theirs(MPI_DOUBLE_INT);
        "_ZN3MPI10TWOINTEGERE" TWOINTEGER Datatype::theirs(MPI_2INTEGER);
        "_ZN3MPI11LONG_DOUBLEE" LONG_DOUBLE Datatype::theirs(MPI_LONG_DOUBLE);
        "_ZN3MPI11SIGNED_CHARE" SIGNED_CHAR Datatype::theirs(MPI_SIGNED_CHAR);
        "_ZN3MPI13DATATYPE_NULLE" DATATYPE_NULL Datatype::theirs(MPI_DATATYPE_NULL);
        "_ZN3MPI13LONG_LONG_INTE" LONG_LONG_INT Datatype::theirs(MPI_LONG_LONG);
        "_ZN3MPI13UNSIGNED_CHARE" UNSIGNED_CHAR Datatype::theirs(MPI_UNSIGNED_CHAR);
        "_ZN3MPI13UNSIGNED_LONGE" UNSIGNED_LONG Datatype::theirs(MPI_UNSIGNED_LONG);
        "_ZN3MPI14DOUBLE_COMPLEXE" DOUBLE_COMPLEX Datatype::theirs(MPI_CXX_DOUBLE_COMPLEX);
        "_ZN3MPI14UNSIGNED_SHORTE" UNSIGNED_SHORT Datatype::theirs(MPI_UNSIGNED_SHORT);
        "_ZN3MPI15LONG_DOUBLE_INTE" LONG_DOUBLE_INT Datatype::theirs(MPI_LONG_DOUBLE_INT);
        "_ZN3MPI16DOUBLE_PRECISIONE" DOUBLE_PRECISION Datatype::theirs(MPI_DOUBLE_PRECISION);
        "_ZN3MPI16F_DOUBLE_COMPLEXE" F_DOUBLE_COMPLEX Datatype::theirs(MPI_DOUBLE_COMPLEX);
        "_ZN3MPI18UNSIGNED_LONG_LONGE" UNSIGNED_LONG_LONG Datatype::theirs(MPI_UNSIGNED_LONG_LONG);
        "_ZN3MPI19LONG_DOUBLE_COMPLEXE" LONG_DOUBLE_COMPLEX Datatype::theirs(MPI_CXX_LONG_DOUBLE_COMPLEX);
        "_ZN3MPI19TWODOUBLE_PRECISIONE" TWODOUBLE_PRECISION Datatype::theirs(MPI_2DOUBLE_PRECISION);
        "_ZN3MPI2LBE" LB Datatype::theirs(MPI_LB);
        "_ZN3MPI2UBE" UB Datatype::theirs(MPI_UB);
        "_ZN3MPI3INTE" INT Datatype::theirs(MPI_INT);
        "_ZN3MPI4BOOLE" BOOL Datatype::theirs(MPI_CXX_BOOL);
        "_ZN3MPI4BYTEE" BYTE Datatype::theirs(MPI_BYTE);
        "_ZN3MPI4CHARE" CHAR Datatype::theirs(MPI_CHAR);
        "_ZN3MPI4LONGE" LONG Datatype::theirs(MPI_LONG);
        "_ZN3MPI4REALE" REAL Datatype::theirs(MPI_REAL);
        "_ZN3MPI5FLOATE" FLOAT Datatype::theirs(MPI_FLOAT);
        "_ZN3MPI5REAL4E" REAL4 Datatype::theirs(MPI_REAL4);
        "_ZN3MPI5REAL8E" REAL8 Datatype::theirs(MPI_REAL8);
        "_ZN3MPI5SHORTE" SHORT Datatype::theirs(MPI_SHORT);
        "_ZN3MPI5WCHARE" WCHAR Datatype::theirs(MPI_WCHAR);
        "_ZN3MPI6DOUBLEE" DOUBLE Datatype::theirs(MPI_DOUBLE);
        "_ZN3MPI6PACKEDE" PACKED Datatype::theirs(MPI_PACKED);
        "_ZN3MPI6REAL16E" REAL16 Datatype::theirs(MPI_REAL16);
        "_ZN3MPI6TWOINTE" TWOINT Datatype::theirs(MPI_2INT);
        "_ZN3MPI7COMPLEXE" COMPLEX Datatype::theirs(MPI_CXX_FLOAT_COMPLEX);
        "_ZN3MPI7INTEGERE" INTEGER Datatype::theirs(MPI_INTEGER);
        "_ZN3MPI7LOGICALE" LOGICAL Datatype::theirs(MPI_LOGICAL);
        "_ZN3MPI7TWOREALE" TWOREAL Datatype::theirs(MPI_2REAL);
        "_ZN3MPI8COMPLEX8E" COMPLEX8 Datatype::theirs(MPI_COMPLEX8);
        "_ZN3MPI8INTEGER1E" INTEGER1 Datatype::theirs(MPI_INTEGER1);
        "_ZN3MPI8INTEGER2E" INTEGER2 Datatype::theirs(MPI_INTEGER2);
        "_ZN3MPI8INTEGER4E" INTEGER4 Datatype::theirs(MPI_INTEGER4);
        "_ZN3MPI8INTEGER8E" INTEGER8 Datatype::theirs(MPI_INTEGER8);
        "_ZN3MPI8LONG_INTE" LONG_INT Datatype::theirs(MPI_LONG_INT);
        "_ZN3MPI8UNSIGNEDE" UNSIGNED Datatype::theirs(MPI_UNSIGNED);
        "_ZN3MPI9CHARACTERE" CHARACTER Datatype::theirs(MPI_CHARACTER);
        "_ZN3MPI9COMPLEX16E" COMPLEX16 Datatype::theirs(MPI_COMPLEX16);
        "_ZN3MPI9COMPLEX32E" COMPLEX32 Datatype::theirs(MPI_COMPLEX32);
        "_ZN3MPI9FLOAT_INTE" FLOAT_INT Datatype::theirs(MPI_FLOAT_INT);
        "_ZN3MPI9F_COMPLEXE" F_COMPLEX Datatype::theirs(MPI_COMPLEX);
        "_ZN3MPI9INTEGER16E" INTEGER16 Datatype::theirs(MPI_INTEGER16);
        "_ZN3MPI9LONG_LONGE" LONG_LONG Datatype::theirs(MPI_LONG_LONG);
        "_ZN3MPI9SHORT_INTE" SHORT_INT Datatype::theirs(MPI_SHORT_INT);
    }
    b'G' {
        "_ZN3MPI10GROUP_NULLE" GROUP_NULL Group::theirs(MPI_GROUP_NULL);
        "_ZN3MPI11GROUP_EMPTYE" GROUP_EMPTY Group::theirs(MPI_GROUP_EMPTY);
    }
    b'R' {
        "_ZN3MPI12REQUEST_NULLE" REQUEST_NULL Request::theirs(MPI_REQUEST_NULL);
    }
    b'E' {
        "_ZN3MPI13ERRORS_RETURNE" ERRORS_RETURN Errhandler::theirs(MPI_ERRORS_RETURN);
        "_ZN3MPI15ERRHANDLER_NULLE" ERRHANDLER_NULL Errhandler::theirs(MPI_ERRHANDLER_NULL);
        "_ZN3MPI16ERRORS_ARE_FATALE" ERRORS_ARE_FATAL Errhandler::theirs(MPI_ERRORS_ARE_FATAL);
        "_ZN3MPI23ERRORS_THROW_EXCEPTIONSE" ERRORS_THROW_EXCEPTIONS super::exceptions::THROWS;
    }
    b'V' {
        "_ZN3MPI3BORE" BOR Op::theirs(MPI_BOR);
        "_ZN3MPI3LORE" LOR Op::theirs(MPI_LOR);
        "_ZN3MPI3MAXE" MAX Op::theirs(MPI_MAX);
        "_ZN3MPI3MINE" MIN Op::theirs(MPI_MIN);
        "_ZN3MPI3SUME" SUM Op::theirs(MPI_SUM);
        "_ZN3MPI4BANDE" BAND Op::theirs(MPI_BAND);
        "_ZN3MPI4BXORE" BXOR Op::theirs(MPI_BXOR);
        "_ZN3MPI4LANDE" LAND Op::theirs(MPI_LAND);
        "_ZN3MPI4LXORE" LXOR Op::theirs(MPI_LXOR);
        "_ZN3MPI4PRODE" PROD Op::theirs(MPI_PROD);
        "_ZN3MPI6MAXLOCE" MAXLOC Op::theirs(MPI_MAXLOC);
        "_ZN3MPI6MINLOCE" MINLOC Op::theirs(MPI_MINLOC);
        "_ZN3MPI7OP_NULLE" OP_NULL Op::theirs(MPI_OP_NULL);
        "_ZN3MPI7REPLACEE" REPLACE Op::theirs(MPI_REPLACE);
    }
    b'W' {
        "_ZN3MPI8WIN_NULLE" WIN_NULL Win::theirs(MPI_WIN_NULL);
    }
    b'0' {
        "_ZN3MPI9COMM_NULLE" COMM_NULL Comm::theirs(MPI_COMM_NULL);
    }
    b'F' {
        "_ZN3MPI9FILE_NULLE" FILE_NULL File::theirs(MPI_FILE_NULL);
    }
    b'J' {
        "_ZN3MPI9INFO_NULLE" INFO_NULL Info::theirs(MPI_INFO_NULL);
    }
}
