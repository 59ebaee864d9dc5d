//! The constants that Fortran knows by their addresses (`MPI_BOTTOM`, `MPI_STATUS_IGNORE` …):
//! variables of two common blocks that `mpif.h` and the modules declare alike.
//!
//! The program has the blocks too, and the dynamic linker merges both into the program's. So the
//! addresses must be taken each time through the linker's table, as those of an exported static
//! are.

use crate::addresses;
use crate::c_names::*;
use crate::integer::AtomicFint;
use std::arch::global_asm;
use std::ptr::without_provenance_mut;
use std::sync::atomic::AtomicU8;

/// The integers of the block, in the order of `xtask/src/gen_fortran_text.rs`; the statuses have
/// eight each. Both blocks are a multiple of their alignment long, which is that of the compilers,
/// or the linker warns.
const INTEGERS: usize = 24;
const INTEGER: usize = size_of::<Fint>();
const SIZE: usize = INTEGER * INTEGERS;
const CHARACTERS: usize = 32;

const BOTTOM: usize = 0;
const IN_PLACE: usize = INTEGER;
const BUFFER_AUTOMATIC: usize = 2 * INTEGER;
const UNWEIGHTED: usize = 3 * INTEGER;
const WEIGHTS_EMPTY: usize = 4 * INTEGER;
const STATUS_IGNORE: usize = 6 * INTEGER;
const STATUSES_IGNORE: usize = 14 * INTEGER;

#[repr(C, align(32))]
struct Integers([AtomicFint; INTEGERS]);

#[repr(C, align(32))]
struct Texts([AtomicU8; CHARACTERS]);

/// The names differ, so that a program with objects of both kinds can be noticed.
#[cfg_attr(not(integer8), unsafe(export_name = "oxmpic_"))]
#[cfg_attr(integer8, unsafe(export_name = "oxmpi8_"))]
static BLOCK: Integers = Integers([const { AtomicFint::new(0) }; INTEGERS]);

#[unsafe(no_mangle)]
static oxmpis_: Texts = Texts([const { AtomicU8::new(b' ') }; CHARACTERS]);

#[inline]
fn start() -> usize {
    (&raw const BLOCK) as usize
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
#[cfg(not(integer8))]
pub fn weights_of(weights: *mut Fint) -> *mut c_int {
    special_weights(weights).unwrap_or(weights)
}

/// The number that is `MPI_UNWEIGHTED` or `MPI_WEIGHTS_EMPTY` in C.
pub fn special_weights(weights: *mut Fint) -> Option<*mut c_int> {
    match offset(weights) {
        UNWEIGHTED => Some(without_provenance_mut(10)),
        WEIGHTS_EMPTY => Some(without_provenance_mut(11)),
        _ => None,
    }
}

/// `MPI_ARGV_NULL` or `MPI_ARGVS_NULL`.
pub fn is_null_argv(argument: *mut c_char) -> bool {
    (argument as usize).wrapping_sub((&raw const oxmpis_) as usize) < CHARACTERS
}

// The block of the programs of the other kind. The reference is weak: the linker leaves zero where
// no object has such a block, which is the rule.
#[cfg(not(integer8))]
global_asm!(
    ".weak oxmpi8_",
    ".globl oxmpi_other_kind",
    ".hidden oxmpi_other_kind",
    ".pushsection .data.rel.oxmpi_other_kind, \"aw\"",
    ".balign 8",
    "oxmpi_other_kind:",
    ".8byte oxmpi8_",
    ".popsection",
);
#[cfg(integer8)]
global_asm!(
    ".weak oxmpic_",
    ".globl oxmpi_other_kind",
    ".hidden oxmpi_other_kind",
    ".pushsection .data.rel.oxmpi_other_kind, \"aw\"",
    ".balign 8",
    "oxmpi_other_kind:",
    ".8byte oxmpic_",
    ".popsection",
);

unsafe extern "C" {
    safe static oxmpi_other_kind: usize;
}

/// Ends a program whose objects, or whose library, disagree about the length of an INTEGER: every
/// call would read and write wrong memory.
pub fn check_kind() {
    if oxmpi_other_kind != 0 {
        let (here, other) = if INTEGER == 4 { (4, 8) } else { (8, 4) };
        eprintln!(
            "OxMPI: a part of this program was compiled with INTEGERs of {other} bytes, but it runs with MPI's library for \
             INTEGERs of {here} bytes. Compile all files that call MPI with -fdefault-integer-8, or none, and link with \
             mpifort and the same option."
        );
        std::process::exit(1);
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static TELL_C: extern "C" fn() = tell_c;

extern "C" fn tell_c() {
    crate::tell_c::store(&[
        (c"MPI_F_STATUS_IGNORE", start() + STATUS_IGNORE),
        (c"MPI_F_STATUSES_IGNORE", start() + STATUSES_IGNORE),
        (c"MPI_F08_STATUS_IGNORE", start() + STATUS_IGNORE),
        (c"MPI_F08_STATUSES_IGNORE", start() + STATUSES_IGNORE),
    ]);
}
