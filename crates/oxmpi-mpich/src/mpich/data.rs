//! Variables that MPICH's `mpi.h` declares. Programs may have copies of them, which the dynamic
//! linker fills with these values at the start.

use crate::abi::ALL_HANDLES;
use crate::entry::*;
use std::sync::atomic::{AtomicI32, AtomicUsize};

/// Variables that hold an address with a meaning: OxMPI's own, so nothing has to be converted.
macro_rules! constants {
    ($($name:ident $value:ident)*) => {$(
        #[unsafe(no_mangle)]
        static $name: usize = $value;
    )*};
}

constants! {
    MPI_UNWEIGHTED MPI_UNWEIGHTED_ADDRESS
    MPI_WEIGHTS_EMPTY MPI_WEIGHTS_EMPTY_ADDRESS
    MPI_T_PVAR_ALL_HANDLES ALL_HANDLES
}

const MPI_UNWEIGHTED_ADDRESS: usize = oxmpi_abi::constants::MPI_UNWEIGHTED;
const MPI_WEIGHTS_EMPTY_ADDRESS: usize = oxmpi_abi::constants::MPI_WEIGHTS_EMPTY;

/// `MPIR_Dup_fn`, which is `MPI_DUP_FN` and its kin: the copy has the same value.
#[unsafe(no_mangle)]
unsafe extern "C" fn MPIR_Dup_fn(
    _object: c_int,
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

/// The statuses and buffers of `mpi_f08` with a meaning. Nothing is stored here: only the addresses matter. The lengths are
/// MPICH's: a program has copies, and the dynamic linker reports longer originals.
#[unsafe(no_mangle)]
static MPIR_F08_MPI_STATUS_IGNORE_OBJ: [AtomicI32; 5] = [const { AtomicI32::new(0) }; 5];
#[unsafe(no_mangle)]
static MPIR_F08_MPI_STATUSES_IGNORE_OBJ: [AtomicI32; 5] = [const { AtomicI32::new(0) }; 5];
#[unsafe(no_mangle)]
static MPIR_F08_MPI_BOTTOM: AtomicI32 = AtomicI32::new(0);
#[unsafe(no_mangle)]
static MPIR_F08_MPI_IN_PLACE: AtomicI32 = AtomicI32::new(0);

/// A pointer in a variable.
#[repr(transparent)]
pub struct Pointer(*const AtomicUsize);

// SAFETY: it is the address of a variable that lives as long as the library.
unsafe impl Sync for Pointer {}

#[unsafe(no_mangle)]
static MPI_F08_STATUS_IGNORE: Pointer = Pointer((&raw const MPIR_F08_MPI_STATUS_IGNORE_OBJ).cast());
#[unsafe(no_mangle)]
static MPI_F08_STATUSES_IGNORE: Pointer = Pointer((&raw const MPIR_F08_MPI_STATUSES_IGNORE_OBJ).cast());

/// The Fortran library stores the addresses of its own constants here.
#[unsafe(no_mangle)]
pub static MPI_F_STATUS_IGNORE: AtomicUsize = AtomicUsize::new(0);
#[unsafe(no_mangle)]
pub static MPI_F_STATUSES_IGNORE: AtomicUsize = AtomicUsize::new(0);
