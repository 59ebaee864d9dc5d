//! Handles: pointers in Open MPI's ABI. A predefined one is the address of a variable, of which a
//! program may have a copy; its first word is OxMPI's handle, which is copied along. Any other is OxMPI's own number, shifted by one, with bit 0 set: an odd number is no
//! address of a variable.

use crate::generated::tables::*;
use crate::values::Converts;
use oxmpi_abi::handle::*;
use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The variable of a predefined handle.
#[repr(transparent)]
pub struct Object(pub usize);

/// A predefined handle.
pub struct Predefined {
    /// The address that the dynamic linker has found: that of the program's copy, if it has one.
    object: *const Object,
    ours: usize,
    /// The handle in Fortran; -1 if there is none.
    integer: c_int,
}

// SAFETY: the pointer is the address of a variable that lives as long as the process and never changes.
unsafe impl Sync for Predefined {}

pub const fn object(object: &'static Object, ours: usize, integer: c_int) -> Predefined {
    Predefined { object, ours, integer }
}

/// Predefined handles of the standard are below this.
pub const FIRST_DYNAMIC: usize = 4096;
/// Makes a number that is no handle one that is none of ours.
const NO_HANDLE: usize = 1 << 63;

/// Addresses that are known to be those of variables, each in a place that follows from it.
static KNOWN: [AtomicUsize; 1 << KNOWN_BITS] = [const { AtomicUsize::new(0) }; 1 << KNOWN_BITS];
const KNOWN_BITS: u32 = 8;

#[inline]
fn decode(theirs: usize) -> usize {
    if theirs & 1 != 0 {
        return theirs >> 1;
    }
    let place = theirs.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (usize::BITS - KNOWN_BITS);
    if KNOWN[place].load(Relaxed) == theirs && theirs != 0 {
        // SAFETY: it was the address of one of the variables when it was put there, which live as long
        // as this library.
        return unsafe { (*(theirs as *const Object)).0 };
    }
    search(theirs, place)
}

/// Looks an address up for the first time. Any other becomes a number that is no handle.
#[cold]
fn search(theirs: usize, place: usize) -> usize {
    let tables =
        [COMMS, DATATYPES, ERRHANDLERS, FILES, GROUPS, INFOS, MESSAGES, OPS, REQUESTS, SESSIONS, WINS, FURTHER];
    match tables.iter().copied().flatten().find(|known| known.object as usize == theirs) {
        Some(known) => {
            KNOWN[place].store(theirs, Relaxed);
            known.ours
        }
        None => theirs | NO_HANDLE,
    }
}

#[inline]
fn encode(table: &'static [Predefined], ours: usize) -> usize {
    match ours >= FIRST_DYNAMIC {
        true => ours << 1 | 1,
        false => table.iter().find(|known| known.ours == ours).map_or(ours << 1 | 1, |known| known.object as usize),
    }
}

/// The integer of a handle in Fortran.
pub fn integer(table: &'static [Predefined], ours: usize) -> c_int {
    if ours >= FIRST_DYNAMIC {
        return ours as u32 as c_int;
    }
    let known = table.iter().find(|known| known.ours == ours && known.integer >= 0);
    known.map_or(ours as c_int, |known| known.integer)
}

macro_rules! handles {
    ($($name:ident $table:ident)*) => {$(
        impl Converts for $name {
            type Ours = $name;
            type Theirs = usize;
            const UNSET: $name = $name(usize::MAX >> 1);

            #[inline]
            fn ours(theirs: usize) -> $name {
                $name(decode(theirs))
            }

            #[inline]
            fn theirs(ours: $name) -> usize {
                encode($table, ours.0)
            }
        }
    )*};
}

handles! {
    Comm COMMS
    Datatype DATATYPES
    Errhandler ERRHANDLERS
    File FILES
    Group GROUPS
    Info INFOS
    Message MESSAGES
    Op OPS
    Request REQUESTS
    Session SESSIONS
    Win WINS
}
