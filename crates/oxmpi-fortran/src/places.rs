//! The constants that Fortran knows by their addresses (`MPI_BOTTOM`, `MPI_STATUS_IGNORE` …):
//! variables of two common blocks that `mpif.h` and the modules declare alike.
//!
//! The program has the blocks too, and the dynamic linker merges both into the program's. So the
//! addresses must be taken each time through the linker's table, as those of an exported static
//! are.

use crate::addresses;
use crate::c_names::*;
use std::ptr::without_provenance_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU8, Ordering::Relaxed};

/// The integers of the block, in the order of `xtask/src/gen_fortran_text.rs`; the statuses have
/// eight each. Both blocks are a multiple of their alignment long, which is that of the compilers,
/// or the linker warns.
const INTEGERS: usize = 24;
const SIZE: usize = 4 * INTEGERS;
const CHARACTERS: usize = 32;

const BOTTOM: usize = 0;
const IN_PLACE: usize = 4;
const BUFFER_AUTOMATIC: usize = 8;
const UNWEIGHTED: usize = 12;
const WEIGHTS_EMPTY: usize = 16;
const STATUS_IGNORE: usize = 24;
const STATUSES_IGNORE: usize = 56;

#[repr(C, align(32))]
struct Integers([AtomicI32; INTEGERS]);

#[repr(C, align(32))]
struct Texts([AtomicU8; CHARACTERS]);

#[unsafe(no_mangle)]
static oxmpic_: Integers = Integers([const { AtomicI32::new(0) }; INTEGERS]);

#[unsafe(no_mangle)]
static oxmpis_: Texts = Texts([const { AtomicU8::new(b' ') }; CHARACTERS]);

#[inline]
fn start() -> usize {
    (&raw const oxmpic_) as usize
}

/// The offset of an address in the block; [`SIZE`] or more for an address outside.
#[inline]
fn offset<T>(address: *mut T) -> usize {
    (address as usize).wrapping_sub(start())
}

/// The address of Fortran's `MPI_BOTTOM`.
pub fn bottom() -> usize {
    start() + BOTTOM
}

/// The address of a buffer for C, in which special addresses are numbers.
#[inline]
pub fn buffer_at(buffer: *mut c_void, datatype: Datatype) -> *mut c_void {
    match offset(buffer) {
        at if at >= SIZE => buffer,
        at => special(at, buffer, datatype),
    }
}

#[cold]
fn special(at: usize, buffer: *mut c_void, datatype: Datatype) -> *mut c_void {
    match at {
        BOTTOM => without_provenance_mut(addresses::origin(datatype)),
        IN_PLACE => without_provenance_mut(1),
        BUFFER_AUTOMATIC => without_provenance_mut(2),
        _ => buffer,
    }
}

/// Whether the buffer is `MPI_IN_PLACE`.
pub fn is_in_place(buffer: *mut c_void) -> bool {
    offset(buffer) == IN_PLACE
}

/// Null for `MPI_STATUS_IGNORE`, `MPI_STATUSES_IGNORE` and `MPI_ERRCODES_IGNORE`.
#[inline]
pub fn unless_ignored<T>(argument: *mut T) -> *mut T {
    if offset(argument) < SIZE { null_mut() } else { argument }
}

/// The weights of a graph, where `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY` are numbers in C.
pub fn weights_of(weights: *mut Fint) -> *mut c_int {
    match offset(weights) {
        UNWEIGHTED => without_provenance_mut(10),
        WEIGHTS_EMPTY => without_provenance_mut(11),
        _ => weights,
    }
}

/// `MPI_ARGV_NULL` or `MPI_ARGVS_NULL`.
pub fn is_null_argv(argument: *mut c_char) -> bool {
    (argument as usize).wrapping_sub((&raw const oxmpis_) as usize) < CHARACTERS
}

/// C programs compare Fortran's statuses with these variables of the C library, which are no part
/// of the ABI.
#[used]
#[unsafe(link_section = ".init_array")]
static TELL_C: extern "C" fn() = tell_c;

extern "C" fn tell_c() {
    let variables = [
        (c"MPI_F_STATUS_IGNORE", STATUS_IGNORE),
        (c"MPI_F_STATUSES_IGNORE", STATUSES_IGNORE),
        (c"MPI_F08_STATUS_IGNORE", STATUS_IGNORE),
        (c"MPI_F08_STATUSES_IGNORE", STATUSES_IGNORE),
    ];
    for (name, at) in variables {
        // SAFETY: `dlsym` with a text that ends with NUL; a symbol of that name is a pointer
        // variable.
        unsafe {
            let variable = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).cast::<AtomicPtr<c_void>>();
            if let Some(variable) = variable.as_ref() {
                variable.store((start() + at) as *mut c_void, Relaxed);
            }
        }
    }
}
