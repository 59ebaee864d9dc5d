//! Handles: an int in MPICH's ABI, except a file's. Predefined ones are converted by tables. Any
//! other is the integer by which OxMPI knows the object (`MPI_Comm_toint`), which has the two highest
//! bits set: no predefined handle of MPICH has both.

use super::cxx::exceptions::{THROWS, throws};
use crate::generated::c;
use crate::generated::tables::*;
use crate::values::Converts;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use std::ffi::c_int;

/// Predefined handles of the standard are below this.
pub const FIRST_DYNAMIC: usize = 4096;
const MADE: u32 = 0xc000_0000;
/// Makes a number that is no handle of MPICH one that is none of ours.
const NO_HANDLE: usize = 1 << 63;

macro_rules! handles {
    ($($name:ident $table:ident $fromint:ident)*) => {$(
        impl Converts for $name {
            type Ours = $name;
            type Theirs = c_int;
            const UNSET: $name = $name(usize::MAX);

            #[inline]
            fn ours(theirs: c_int) -> $name {
                match theirs as u32 >= MADE {
                    // SAFETY: the function takes any number.
                    true => unsafe { c::$fromint(theirs) },
                    false => $name(predefined::<{ $table.len() }>($table, theirs)),
                }
            }

            #[inline]
            fn theirs(ours: $name) -> c_int {
                match ours.0 >= FIRST_DYNAMIC {
                    true => ours.0 as u32 as c_int,
                    false => shown($table, ours.0),
                }
            }
        }
    )*};
}

handles! {
    Comm COMMS oxmpi_Comm_fromint
    Group GROUPS oxmpi_Group_fromint
    Info INFOS oxmpi_Info_fromint
    Message MESSAGES oxmpi_Message_fromint
    Op OPS oxmpi_Op_fromint
    Request REQUESTS oxmpi_Request_fromint
    Session SESSIONS oxmpi_Session_fromint
    Win WINS oxmpi_Win_fromint
}

// ---- error handlers ----

/// That of C++ which throws is another handler of OxMPI for each kind of object; functions that give it to an object ask for that one.
impl Converts for Errhandler {
    type Ours = Errhandler;
    type Theirs = c_int;
    const UNSET: Errhandler = Errhandler(usize::MAX);

    fn ours(theirs: c_int) -> Errhandler {
        match theirs as u32 >= MADE {
            // SAFETY: the function takes any number.
            true => unsafe { c::oxmpi_Errhandler_fromint(theirs) },
            false if theirs == THROWS => MPI_ERRORS_RETURN,
            false => Errhandler(predefined::<{ ERRHANDLERS.len() }>(ERRHANDLERS, theirs)),
        }
    }

    fn theirs(ours: Errhandler) -> c_int {
        match ours.0 >= FIRST_DYNAMIC {
            true if throws(ours) => THROWS,
            true => ours.0 as u32 as c_int,
            false => shown(ERRHANDLERS, ours.0),
        }
    }
}

#[inline]
fn predefined<const N: usize>(table: &[(c_int, usize)], theirs: c_int) -> usize {
    let found = table[..N].iter().find(|(value, _)| *value == theirs);
    found.map_or_else(|| standard(table, theirs), |(_, ours)| *ours)
}

/// A predefined handle of the standard, which a library of that ABI gave as an integer of Fortran: in the headers of MPICH
/// `MPI_Comm_f2c` returns its argument.
#[cold]
fn standard(table: &[(c_int, usize)], theirs: c_int) -> usize {
    let word = theirs as u32 as usize;
    if table.iter().any(|(_, ours)| *ours == word) { word } else { word | NO_HANDLE }
}

#[cold]
fn shown(table: &[(c_int, usize)], ours: usize) -> c_int {
    table.iter().find(|(_, value)| *value == ours).map_or(ours as c_int, |(theirs, _)| *theirs)
}

// ---- datatypes ----

/// The datatypes by the low byte of MPICH's handle, which tells those apart that are not pairs.
static BY_LOW_BYTE: [(c_int, usize); 256] = {
    let mut table = [(0, 0); 256];
    let mut i = 0;
    while i < DATATYPES.len() {
        let (theirs, ours) = DATATYPES[i];
        if theirs > 0 {
            let place = (theirs & 0xff) as usize;
            assert!(table[place].0 == 0, "two datatypes of MPICH have the same low byte");
            table[place] = (theirs, ours);
        }
        i += 1;
    }
    table
};

impl Converts for Datatype {
    type Ours = Datatype;
    type Theirs = c_int;
    const UNSET: Datatype = Datatype(usize::MAX);

    #[inline]
    fn ours(theirs: c_int) -> Datatype {
        let (value, ours) = BY_LOW_BYTE[(theirs & 0xff) as usize];
        if value == theirs {
            return Datatype(ours);
        }
        match theirs as u32 >= MADE {
            // SAFETY: the function takes any number.
            true => unsafe { c::oxmpi_Type_fromint(theirs) },
            false => Datatype(predefined::<{ DATATYPES.len() }>(DATATYPES, theirs)),
        }
    }

    #[inline]
    fn theirs(ours: Datatype) -> c_int {
        match ours.0 >= FIRST_DYNAMIC {
            true => ours.0 as u32 as c_int,
            false => shown(DATATYPES, ours.0),
        }
    }
}

// ---- files ----

/// A file's handle is a pointer in MPICH, and OxMPI's own number fits into it.
impl Converts for File {
    type Ours = File;
    type Theirs = usize;
    const UNSET: File = File(usize::MAX);

    fn ours(theirs: usize) -> File {
        match theirs {
            0 => MPI_FILE_NULL,
            predefined if predefined < FIRST_DYNAMIC => File(predefined | NO_HANDLE),
            made => File(made),
        }
    }

    fn theirs(ours: File) -> usize {
        if ours == MPI_FILE_NULL { 0 } else { ours.0 }
    }
}
