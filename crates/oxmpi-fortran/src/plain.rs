//! Small procedures that cannot be generated: functions, procedures that only Fortran has, and
//! those about Fortran itself.

use crate::entry::*;
use crate::section::element_size;
use std::sync::atomic::Ordering::Relaxed;

/// Functions. Old programs also pass an argument, which is ignored.
macro_rules! function {
    ([$($name:ident)+] $c:ident $params:tt -> $result:ty $body:block) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name $params -> $result {
            // SAFETY: the caller's arguments are what the standard asks of a caller of the
            // function.
            unsafe { $body }
        }
    )+};
}

function! { [mpi_wtime_ mpi_wtime_f08_] MPI_Wtime () -> f64 { c::MPI_Wtime() } }
function! { [pmpi_wtime_ pmpi_wtime_f08_] PMPI_Wtime () -> f64 { c::PMPI_Wtime() } }
function! { [mpi_wtick_ mpi_wtick_f08_] MPI_Wtick () -> f64 { c::MPI_Wtick() } }
function! { [pmpi_wtick_ pmpi_wtick_f08_] PMPI_Wtick () -> f64 { c::PMPI_Wtick() } }
function! {
    [mpi_aint_add_ mpi_aint_add_f08_] MPI_Aint_add (base: *mut i64, disp: *mut i64) -> i64 {
        c::MPI_Aint_add(*base, *disp)
    }
}
function! {
    [pmpi_aint_add_ pmpi_aint_add_f08_] PMPI_Aint_add (base: *mut i64, disp: *mut i64) -> i64 {
        c::PMPI_Aint_add(*base, *disp)
    }
}
function! {
    [mpi_aint_diff_ mpi_aint_diff_f08_] MPI_Aint_diff (addr1: *mut i64, addr2: *mut i64) -> i64 {
        c::MPI_Aint_diff(*addr1, *addr2)
    }
}
function! {
    [pmpi_aint_diff_ pmpi_aint_diff_f08_] PMPI_Aint_diff (addr1: *mut i64, addr2: *mut i64) -> i64 {
        c::PMPI_Aint_diff(*addr1, *addr2)
    }
}

entry! {
    [mpi_pcontrol_ pmpi_pcontrol_ mpi_pcontrol_f08_ pmpi_pcontrol_f08_] MPI_Pcontrol PMPI_Pcontrol
    (level: *mut Fint) |call| {
        call(short(*level));
    }
}

// ---- comparison of handles, which the modules declare as operators ----

macro_rules! operators {
    ($($equal:ident $unequal:ident)*) => {$(
        function! {
            [$equal] $equal (a: *mut Fint, b: *mut Fint) -> Fint { logical(*a == *b) }
        }
        function! {
            [$unequal] $unequal (a: *mut Fint, b: *mut Fint) -> Fint { logical(*a != *b) }
        }
    )*};
}

operators! {
    oxmpi_comm_eq_ oxmpi_comm_ne_
    oxmpi_datatype_eq_ oxmpi_datatype_ne_
    oxmpi_errhandler_eq_ oxmpi_errhandler_ne_
    oxmpi_file_eq_ oxmpi_file_ne_
    oxmpi_group_eq_ oxmpi_group_ne_
    oxmpi_info_eq_ oxmpi_info_ne_
    oxmpi_message_eq_ oxmpi_message_ne_
    oxmpi_op_eq_ oxmpi_op_ne_
    oxmpi_request_eq_ oxmpi_request_ne_
    oxmpi_session_eq_ oxmpi_session_ne_
    oxmpi_win_eq_ oxmpi_win_ne_
}

fn logical(value: bool) -> Fint {
    if value { TRUE.load(Relaxed) } else { FALSE.load(Relaxed) }
}

// ---- what only Fortran has ----

/// The call itself keeps a compiler from moving accesses to the buffer across it.
macro_rules! sync_reg {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(_buf: *mut c_void) {}
    )*};
}

sync_reg! { mpi_f_sync_reg_ pmpi_f_sync_reg_ mpi_f_sync_reg_f08ts_ pmpi_f_sync_reg_f08ts_ }

macro_rules! size_of_variable {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(x: *mut Descriptor, size: *mut Fint, ierror: *mut Fint) {
            // SAFETY: a descriptor, and places to write to; `ierror` may be null.
            unsafe {
                let bytes = element_size(x);
                *size = Fint::try_from(bytes).unwrap_or(wide(MPI_UNDEFINED));
                set(ierror, MPI_SUCCESS);
            }
        }
    )*};
}

size_of_variable! { mpi_sizeof_ pmpi_sizeof_ mpi_sizeof_f08_ pmpi_sizeof_f08_ }

// ---- statuses, which have one layout in all forms ----

macro_rules! copy_status {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(from: *mut FortranStatus, to: *mut FortranStatus, ierror: *mut Fint) {
            // SAFETY: two statuses; `ierror` may be null.
            unsafe {
                if unless_ignored(from).is_null() || unless_ignored(to).is_null() {
                    let text = "MPI_Status_f2f08, MPI_Status_f082f: MPI_STATUS_IGNORE is no status";
                    return set(ierror, fail(MPI_ERR_ARG, text));
                }
                to.copy_from(from, 1);
                set(ierror, MPI_SUCCESS);
            }
        }
    )*};
}

copy_status! {
    mpi_status_f2f08_ pmpi_status_f2f08_ mpi_status_f2f08_f08_ pmpi_status_f2f08_f08_
    mpi_status_f082f_ pmpi_status_f082f_ mpi_status_f082f_f08_ pmpi_status_f082f_f08_
}

// ---- what LOGICAL looks like ----

entry! {
    [
        mpi_abi_set_fortran_booleans_ pmpi_abi_set_fortran_booleans_
        mpi_abi_set_fortran_booleans_f08_ pmpi_abi_set_fortran_booleans_f08_
    ]
    MPI_Abi_set_fortran_booleans PMPI_Abi_set_fortran_booleans
    (size: *mut Fint, yes: *mut Fint, no: *mut Fint, ierror: *mut Fint) |call| {
        let code = call(short(*size), yes.cast(), no.cast());
        // LOGICAL arguments of this library are of the default kind.
        if code == MPI_SUCCESS && usize::try_from(*size) == Ok(size_of::<Fint>()) {
            TRUE.store(*yes, Relaxed);
            FALSE.store(*no, Relaxed);
        }
        set(ierror, code);
    }
}

entry! {
    [
        mpi_abi_get_fortran_booleans_ pmpi_abi_get_fortran_booleans_
        mpi_abi_get_fortran_booleans_f08_ pmpi_abi_get_fortran_booleans_f08_
    ]
    MPI_Abi_get_fortran_booleans PMPI_Abi_get_fortran_booleans
    (size: *mut Fint, yes: *mut Fint, no: *mut Fint, is_set: *mut Fint, ierror: *mut Fint) |call| {
        let mut known = 0;
        let code = call(short(*size), yes.cast(), no.cast(), &mut known);
        put_truth(is_set, known);
        set(ierror, code);
    }
}

// ---- the lengths of types ----

entry! {
    [
        mpi_abi_set_fortran_info_ pmpi_abi_set_fortran_info_
        mpi_abi_set_fortran_info_f08_ pmpi_abi_set_fortran_info_f08_
    ]
    MPI_Abi_set_fortran_info PMPI_Abi_set_fortran_info
    (info: *mut Fint, ierror: *mut Fint) |call| {
        #[cfg(not(integer8))]
        let code = call(get(info));
        #[cfg(integer8)]
        let code = match lengths::exchanged(get(info), b'8', b'4') {
            Ok(mut shorter) => {
                let code = call(shorter);
                c::PMPI_Info_free(&mut shorter);
                code
            }
            Err(code) => code,
        };
        set(ierror, code);
    }
}

entry! {
    [
        mpi_abi_get_fortran_info_ pmpi_abi_get_fortran_info_
        mpi_abi_get_fortran_info_f08_ pmpi_abi_get_fortran_info_f08_
    ]
    MPI_Abi_get_fortran_info PMPI_Abi_get_fortran_info
    (info: *mut Fint, ierror: *mut Fint) |call| {
        let mut found = Info(0);
        let code = call(&mut found);
        #[cfg(integer8)]
        if code == MPI_SUCCESS && found != MPI_INFO_NULL {
            let shorter = found;
            found = lengths::exchanged(shorter, b'4', b'8').unwrap_or(shorter);
        }
        put(info, found);
        set(ierror, code);
    }
}

/// The C library knows of INTEGERs and LOGICALs of four bytes only; the programs of this library have
/// eight, and are told so.
#[cfg(integer8)]
mod lengths {
    use super::*;

    /// A copy of an info object with another length of INTEGER and LOGICAL, or the code of the
    /// error.
    pub fn exchanged(info: Info, from: u8, to: u8) -> Result<Info, c_int> {
        let mut copy = MPI_INFO_NULL;
        // SAFETY: the function takes any handle; the pointer leads to a variable of this function.
        match unsafe { c::PMPI_Info_dup(info, &mut copy) } {
            MPI_SUCCESS => {}
            code => return Err(code),
        }
        for key in [c"mpi_integer_size", c"mpi_logical_size"] {
            let (mut value, mut length, mut found) = ([0_u8; 32], 32, 0);
            let key = key.as_ptr().cast_mut();
            // SAFETY: a text that ends with NUL, and variables of this function of these lengths.
            unsafe {
                c::PMPI_Info_get_string(copy, key, &mut length, value.as_mut_ptr().cast(), &mut found);
                if found != 0 && value[..2] != [from, 0] {
                    let text = "MPI_Abi_set_fortran_info: INTEGER and LOGICAL have 8 bytes in this program";
                    c::PMPI_Info_free(&mut copy);
                    return Err(fail(MPI_ERR_ABI, text));
                }
                if found != 0 {
                    c::PMPI_Info_set(copy, key, [to, 0].as_mut_ptr().cast());
                }
            }
        }
        Ok(copy)
    }
}
