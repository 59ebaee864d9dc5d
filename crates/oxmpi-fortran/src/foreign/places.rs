//! The constants that Fortran knows by their addresses (`MPI_BOTTOM`, `MPI_STATUS_IGNORE` …): variables of
//! common blocks that the other MPI's `mpif.h` and modules declare.
//!
//! The program has the blocks too, and the dynamic linker merges both into the program's. So the
//! addresses must be taken each time through the linker's table. A library that the program loads
//! later, with `RTLD_LOCAL`, has blocks of its own, which are not known here.

use crate::addresses;
use crate::c_names::*;
use std::ptr::without_provenance_mut;

/// The constants of MPICH, and what they are in C.
#[cfg(mpich)]
mod constants {
    use crate::modules;
    use std::ffi::c_int;
    use std::sync::atomic::{AtomicI32, AtomicU8};

    macro_rules! blocks {
        ($($name:ident $type:ident $count:expr)*) => {$(
            #[unsafe(no_mangle)]
            static $name: [$type; $count] = [const { $type::new(0) }; $count];
        )*};
    }

    blocks! {
        // MPI_BOTTOM, MPI_IN_PLACE, MPI_STATUS_IGNORE(5)
        mpipriv1_ AtomicI32 7
        // MPI_STATUSES_IGNORE(5, 1), MPI_ERRCODES_IGNORE(1)
        mpipriv2_ AtomicI32 6
        // MPI_ARGVS_NULL(1, 1), MPI_ARGV_NULL(1)
        mpiprivc_ AtomicU8 2
        mpifcmb5_ AtomicI32 1
        mpifcmb9_ AtomicI32 1
        mpifcmba_ AtomicI32 1
    }

    unsafe extern "C" {
        static MPIR_F08_MPI_BOTTOM: c_int;
        static MPIR_F08_MPI_IN_PLACE: c_int;
        static MPIR_F08_MPI_STATUS_IGNORE_OBJ: [c_int; 5];
        static MPIR_F08_MPI_STATUSES_IGNORE_OBJ: [c_int; 5];
    }

    fn first() -> usize {
        (&raw const mpipriv1_) as usize
    }

    pub fn bottom() -> usize {
        first()
    }

    pub fn is_bottom(address: usize) -> bool {
        address == first() || address == (&raw const MPIR_F08_MPI_BOTTOM) as usize
    }

    pub fn is_in_place(address: usize) -> bool {
        address == first() + 4 || address == (&raw const MPIR_F08_MPI_IN_PLACE) as usize
    }

    pub fn is_buffer_automatic(address: usize) -> bool {
        address == (&raw const mpifcmba_) as usize
    }

    pub fn is_ignored(address: usize) -> bool {
        address == first() + 8
            || address.wrapping_sub((&raw const mpipriv2_) as usize) < 24
            || address == (&raw const MPIR_F08_MPI_STATUS_IGNORE_OBJ) as usize
            || address == (&raw const MPIR_F08_MPI_STATUSES_IGNORE_OBJ) as usize
            || modules::is_errcodes_ignore(address)
    }

    pub fn is_unweighted(address: usize) -> bool {
        address == (&raw const mpifcmb5_) as usize || modules::is_unweighted(address)
    }

    pub fn is_weights_empty(address: usize) -> bool {
        address == (&raw const mpifcmb9_) as usize || modules::is_weights_empty(address)
    }

    pub fn is_null_argv(address: usize) -> bool {
        address.wrapping_sub((&raw const mpiprivc_) as usize) < 2 || modules::is_null_argv(address)
    }

    pub const IN_PLACE: usize = usize::MAX;
    pub const BUFFER_AUTOMATIC: usize = usize::MAX - 1;
    /// Those of OxMPI, which are in MPICH's variables, too.
    pub const UNWEIGHTED: usize = oxmpi_abi::constants::MPI_UNWEIGHTED;
    pub const WEIGHTS_EMPTY: usize = oxmpi_abi::constants::MPI_WEIGHTS_EMPTY;

    pub extern "C" fn tell_c() {
        crate::tell_c::store(&[
            (c"MPI_F_STATUS_IGNORE", first() + 8),
            (c"MPI_F_STATUSES_IGNORE", (&raw const mpipriv2_) as usize),
        ]);
    }
}

/// The constants of Open MPI, which `libmpi.so.40` defines, and what they are in C.
#[cfg(openmpi)]
mod constants {
    macro_rules! addresses {
        ($($function:ident $name:ident)*) => {
            unsafe extern "C" {
                $(static $name: u8;)*
            }

            $(
                pub fn $function() -> usize {
                    (&raw const $name) as usize
                }
            )*
        };
    }

    addresses! {
        bottom mpi_fortran_bottom_
        in_place mpi_fortran_in_place_
        unweighted mpi_fortran_unweighted_
        weights_empty mpi_fortran_weights_empty_
        status_ignore mpi_fortran_status_ignore_
        statuses_ignore mpi_fortran_statuses_ignore_
        errcodes_ignore mpi_fortran_errcodes_ignore_
        argv_null mpi_fortran_argv_null_
        argvs_null mpi_fortran_argvs_null_
    }

    pub fn is_bottom(address: usize) -> bool {
        address == bottom()
    }

    pub fn is_in_place(address: usize) -> bool {
        address == in_place()
    }

    pub fn is_unweighted(address: usize) -> bool {
        address == unweighted()
    }

    pub fn is_weights_empty(address: usize) -> bool {
        address == weights_empty()
    }

    /// Open MPI has no such buffer.
    pub fn is_buffer_automatic(_address: usize) -> bool {
        false
    }

    pub fn is_ignored(address: usize) -> bool {
        [status_ignore(), statuses_ignore(), errcodes_ignore()].contains(&address)
    }

    pub fn is_null_argv(address: usize) -> bool {
        [argv_null(), argvs_null()].contains(&address)
    }

    pub const IN_PLACE: usize = 1;
    pub const BUFFER_AUTOMATIC: usize = 0;
    pub const UNWEIGHTED: usize = 2;
    pub const WEIGHTS_EMPTY: usize = 3;
}

/// `libmpi.so.40` knows the addresses from the linker.
#[cfg(mpich)]
#[used]
#[unsafe(link_section = ".init_array")]
static TELL_C: extern "C" fn() = constants::tell_c;

/// The address of Fortran's `MPI_BOTTOM`.
pub fn bottom() -> usize {
    constants::bottom()
}

/// The address of a buffer for C, in which special addresses are numbers.
#[inline]
pub fn buffer_at(buffer: *mut c_void, datatype: Datatype) -> *mut c_void {
    match buffer as usize {
        at if constants::is_bottom(at) => without_provenance_mut(addresses::origin(datatype)),
        at if constants::is_in_place(at) => without_provenance_mut(constants::IN_PLACE),
        at if constants::is_buffer_automatic(at) => without_provenance_mut(constants::BUFFER_AUTOMATIC),
        _ => buffer,
    }
}

/// Whether the buffer is `MPI_IN_PLACE`.
pub fn is_in_place(buffer: *mut c_void) -> bool {
    constants::is_in_place(buffer as usize)
}

/// Null for `MPI_STATUS_IGNORE`, `MPI_STATUSES_IGNORE` and `MPI_ERRCODES_IGNORE`.
#[inline]
pub fn unless_ignored<T>(argument: *mut T) -> *mut T {
    if constants::is_ignored(argument as usize) { null_mut() } else { argument }
}

/// The weights of a graph, where `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY` are numbers in C.
pub fn weights_of(weights: *mut Fint) -> *mut c_int {
    match weights as usize {
        at if constants::is_unweighted(at) => without_provenance_mut(constants::UNWEIGHTED),
        at if constants::is_weights_empty(at) => without_provenance_mut(constants::WEIGHTS_EMPTY),
        _ => weights,
    }
}

/// `MPI_ARGV_NULL` or `MPI_ARGVS_NULL`.
pub fn is_null_argv(argument: *mut c_char) -> bool {
    constants::is_null_argv(argument as usize)
}

/// There is one length of INTEGERs only.
pub fn check_kind() {}

/// By this text `mpirun` tells the library from the other MPI's.
#[used]
static NAME: [u8; 28] = *b"Fortran library of OxMPI\0\0\0\0";
