//! Variables and functions of Open MPI's `mpi.h` beside those of the predefined handles.

use crate::entry::*;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// The constants of Fortran that C and Fortran know by their addresses. Nothing is stored here. They have the sizes of Open
/// MPI's: a program has copies, and the loader compares the sizes.
macro_rules! sentinels {
    ($($name:ident $type:ident)*) => {$(
        #[unsafe(no_mangle)]
        static $name: $type = $type::new(0);
    )*};
}

sentinels! {
    mpi_fortran_argv_null_ AtomicU8
    mpi_fortran_argvs_null_ AtomicU8
    mpi_fortran_bottom_ AtomicU32
    mpi_fortran_errcodes_ignore_ AtomicU32
    mpi_fortran_in_place_ AtomicU32
    mpi_fortran_status_ignore_ AtomicU64
    mpi_fortran_statuses_ignore_ AtomicU64
    mpi_fortran_unweighted_ AtomicU32
    mpi_fortran_weights_empty_ AtomicU32
}

/// The statuses of Fortran that stand for no status: the addresses of the constants, of which the
/// program may have copies, when the library is loaded.
#[unsafe(no_mangle)]
pub static MPI_F_STATUS_IGNORE: AddressOf = AddressOf(&raw const mpi_fortran_status_ignore_);
#[unsafe(no_mangle)]
pub static MPI_F_STATUSES_IGNORE: AddressOf = AddressOf(&raw const mpi_fortran_statuses_ignore_);
#[unsafe(no_mangle)]
static MPI_F08_STATUS_IGNORE: AddressOf = AddressOf(&raw const mpi_fortran_status_ignore_);
#[unsafe(no_mangle)]
static MPI_F08_STATUSES_IGNORE: AddressOf = AddressOf(&raw const mpi_fortran_statuses_ignore_);

#[repr(transparent)]
pub struct AddressOf(*const AtomicU64);

// SAFETY: it is the address of a variable that lives as long as the process.
unsafe impl Sync for AddressOf {}

impl AddressOf {
    pub fn load(&self, _: std::sync::atomic::Ordering) -> usize {
        self.0 as usize
    }
}

// ---- functions for attributes ----

macro_rules! functions {
    ($($copy:ident $dup:ident $delete:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $copy(
            _object: TheirHandle,
            _keyval: c_int,
            _extra_state: *mut c_void,
            _value: *mut c_void,
            _copy: *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            // SAFETY: a copy function gets the place of a flag.
            unsafe { *flag = 0 };
            MPI_SUCCESS
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $dup(
            _object: TheirHandle,
            _keyval: c_int,
            _extra_state: *mut c_void,
            value: *mut c_void,
            copy: *mut *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            // SAFETY: a copy function gets the places of a pointer and of a flag.
            unsafe {
                *copy = value;
                *flag = 1;
            }
            MPI_SUCCESS
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $delete(
            _object: TheirHandle,
            _keyval: c_int,
            _value: *mut c_void,
            _extra_state: *mut c_void,
        ) -> c_int {
            MPI_SUCCESS
        }
    )*};
}

functions! {
    OMPI_C_MPI_NULL_COPY_FN OMPI_C_MPI_DUP_FN OMPI_C_MPI_NULL_DELETE_FN
    OMPI_C_MPI_COMM_NULL_COPY_FN OMPI_C_MPI_COMM_DUP_FN OMPI_C_MPI_COMM_NULL_DELETE_FN
    OMPI_C_MPI_TYPE_NULL_COPY_FN OMPI_C_MPI_TYPE_DUP_FN OMPI_C_MPI_TYPE_NULL_DELETE_FN
    OMPI_C_MPI_WIN_NULL_COPY_FN OMPI_C_MPI_WIN_DUP_FN OMPI_C_MPI_WIN_NULL_DELETE_FN
}
