//! Statuses of Fortran, which lie in memory like those of C in both ABIs.

use crate::abi::data::{MPI_F_STATUS_IGNORE, MPI_F_STATUSES_IGNORE};
use crate::entry::*;
use crate::generated::tables::theirs;
use std::sync::atomic::Ordering::Relaxed;

macro_rules! statuses {
    ($($name:ident $profiling:ident)*) => {$(
        entry! {
            $name $profiling(from: *mut TheirStatus, to: *mut TheirStatus) -> c_int {
                copied(from, to)
            }
        }
    )*};
}

statuses! {
    MPI_Status_c2f PMPI_Status_c2f
    MPI_Status_c2f08 PMPI_Status_c2f08
    MPI_Status_f082c PMPI_Status_f082c
    MPI_Status_f082f PMPI_Status_f082f
    MPI_Status_f2c PMPI_Status_f2c
    MPI_Status_f2f08 PMPI_Status_f2f08
}

/// # Safety
/// Each is null, stands for no status, or is the place of one.
unsafe fn copied(from: *mut TheirStatus, to: *mut TheirStatus) -> c_int {
    let ignored = [MPI_F_STATUS_IGNORE.load(Relaxed), MPI_F_STATUSES_IGNORE.load(Relaxed)];
    let is_none = |status: *mut TheirStatus| !crate::status::is_given(status) || ignored.contains(&(status as usize));
    if is_none(from) || is_none(to) {
        return theirs::MPI_ERR_ARG as c_int;
    }
    // SAFETY: both are places of statuses, by this function's condition.
    unsafe { *to = *from };
    MPI_SUCCESS
}
