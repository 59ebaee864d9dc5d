//! What programs of the other MPI's modules (`mpi`, `mpi_f08`) need beside the procedures of MPI: further names of these, and
//! what the modules define themselves. A compiler derives those names from module and entity; these are gfortran's.

#![allow(non_snake_case, non_upper_case_globals, reason = "compilers make these names")]

use crate::entry::*;

/// A name for a procedure that has another one here, too.
macro_rules! aliases {
    ($($target:ident: $($alias:literal)*)*) => {$(
        const _: () = {
            unsafe extern "C" {
                fn $target();
            }

            $(const _: () = {
                // SAFETY: a jump leaves all arguments to the procedure that this is a name of.
                #[unsafe(naked)]
                #[unsafe(export_name = $alias)]
                unsafe extern "C" fn alias() {
                    #[cfg(target_arch = "x86_64")]
                    std::arch::naked_asm!("jmp {target}@PLT", target = sym $target);
                    #[cfg(target_arch = "aarch64")]
                    std::arch::naked_asm!("b {target}", target = sym $target);
                }
            };)*
        };
    )*};
}

pub(crate) use aliases;

/// `MPI_Sizeof`, which has a procedure for each kind of variable.
macro_rules! sizes {
    ($($name:literal $size:literal)*) => {$(
        const _: () = {
            #[unsafe(export_name = $name)]
            unsafe extern "C" fn size_of_variable(_x: *mut c_void, size: *mut Fint, ierror: *mut Fint) {
                // SAFETY: the caller passes the places of two INTEGERs; the second one may be absent.
                unsafe {
                    *size = $size;
                    set(ierror, MPI_SUCCESS);
                }
            }
        };
    )*};
}

#[cfg(openmpi)]
pub(crate) use sizes;

/// The table of a derived type, to which a variable of `class(*)` refers.
#[repr(C)]
pub struct TypeTable {
    pub hash: c_int,
    pub size: usize,
    pub extends: usize,
    pub initial: *const c_void,
    pub copy: unsafe extern "C" fn(*const c_int, *mut c_int),
    pub finalize: usize,
    pub deallocate: usize,
}

// SAFETY: it is never changed, and what it points to lives as long as the library.
unsafe impl Sync for TypeTable {}

/// What a module has for each derived type: the table, a variable with its initial value, and a procedure that copies one.
macro_rules! types {
    ($($ints:literal $hash:literal $table:ident $initial:ident $copy:ident)*) => {$(
        #[unsafe(no_mangle)]
        static $initial: [c_int; $ints] = [0; $ints];

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $copy(from: *const c_int, to: *mut c_int) {
            // SAFETY: both are variables of this type.
            unsafe { to.copy_from(from, $ints) };
        }

        #[unsafe(no_mangle)]
        static $table: TypeTable = TypeTable {
            hash: $hash,
            size: 4 * $ints,
            extends: 0,
            initial: (&raw const $initial).cast(),
            copy: $copy,
            finalize: 0,
            deallocate: 0,
        };
    )*};
}

pub(crate) use types;

unsafe extern "C" {
    #[link_name = "__mpi_f08_callbacks_MOD_mpi_conversion_fn_null"]
    fn no_conversion();
    #[cfg(mpich)]
    #[link_name = "__mpi_f08_callbacks_MOD_mpi_conversion_fn_null_c"]
    fn no_large_conversion();
}

/// `MPI_CONVERSION_FN_NULL`, of which a module has its own.
pub fn is_null_conversion(address: usize) -> bool {
    #[cfg(mpich)]
    if address == no_large_conversion as *const () as usize {
        return true;
    }
    address == no_conversion as *const () as usize
}

#[cfg(mpich)]
pub use mpich::{is_errcodes_ignore, is_null_argv, is_unweighted, is_weights_empty};

#[cfg(mpich)]
mod mpich {
    use super::*;
    use std::sync::atomic::{AtomicI32, AtomicU8};

    /// Constants of the module `mpi_f08_link_constants`, of which only the addresses matter.
    macro_rules! constants {
        ($($is:ident: $($name:ident $type:ident)*;)*) => {$(
            $(
                #[unsafe(no_mangle)]
                static $name: $type = $type::new(0);
            )*

            pub fn $is(address: usize) -> bool {
                [$((&raw const $name) as usize),*].contains(&address)
            }
        )*};
    }

    constants! {
        is_null_argv: __mpi_f08_link_constants_MOD_mpi_argv_null AtomicU8
            __mpi_f08_link_constants_MOD_mpi_argvs_null AtomicU8;
        is_errcodes_ignore: __mpi_f08_link_constants_MOD_mpi_errcodes_ignore AtomicI32;
        is_unweighted: __mpi_f08_link_constants_MOD_mpi_unweighted AtomicI32;
        is_weights_empty: __mpi_f08_link_constants_MOD_mpi_weights_empty AtomicI32;
    }

    /// Conversions between integers of Fortran and handles of C, which are the same numbers.
    macro_rules! integers {
        ($($name:literal)*) => {$(
            const _: () = {
                #[unsafe(export_name = $name)]
                extern "C" fn same(integer: c_int) -> c_int {
                    integer
                }
            };
        )*};
    }

    integers! {
        "__mpi_f08_types_MOD_mpi_comm_c2f" "__mpi_f08_types_MOD_mpi_comm_f2c"
        "__mpi_f08_types_MOD_mpi_datatype_c2f" "__mpi_f08_types_MOD_mpi_datatype_f2c"
        "__mpi_f08_types_MOD_mpi_errhandler_c2f" "__mpi_f08_types_MOD_mpi_errhandler_f2c"
        "__mpi_f08_types_MOD_mpi_group_c2f" "__mpi_f08_types_MOD_mpi_group_f2c"
        "__mpi_f08_types_MOD_mpi_info_c2f" "__mpi_f08_types_MOD_mpi_info_f2c"
        "__mpi_f08_types_MOD_mpi_message_c2f" "__mpi_f08_types_MOD_mpi_message_f2c"
        "__mpi_f08_types_MOD_mpi_op_c2f" "__mpi_f08_types_MOD_mpi_op_f2c"
        "__mpi_f08_types_MOD_mpi_request_c2f" "__mpi_f08_types_MOD_mpi_request_f2c"
        "__mpi_f08_types_MOD_mpi_session_c2f" "__mpi_f08_types_MOD_mpi_session_f2c"
        "__mpi_f08_types_MOD_mpi_win_c2f" "__mpi_f08_types_MOD_mpi_win_f2c"
    }

    /// Assignment between a status of Fortran and one of C, which are alike.
    macro_rules! assignments {
        ($($name:ident)*) => {$(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(to: *mut FortranStatus, from: *mut FortranStatus) {
                // SAFETY: the caller assigns one status to another.
                unsafe { to.copy_from(from, 1) };
            }
        )*};
    }

    assignments! { __mpi_f08_types_MOD_mpi_status_c_assign_f08 __mpi_f08_types_MOD_mpi_status_f08_assign_c }

    sizes! {
        "__mpi_sizeofs_MOD_mpi_sizeof_ch" 1 "__mpi_sizeofs_MOD_mpi_sizeof_chv" 1
        "__mpi_sizeofs_MOD_mpi_sizeof_i" 4 "__mpi_sizeofs_MOD_mpi_sizeof_iv" 4
        "__mpi_sizeofs_MOD_mpi_sizeof_i1" 1 "__mpi_sizeofs_MOD_mpi_sizeof_i1v" 1
        "__mpi_sizeofs_MOD_mpi_sizeof_i2" 2 "__mpi_sizeofs_MOD_mpi_sizeof_i2v" 2
        "__mpi_sizeofs_MOD_mpi_sizeof_i8" 8 "__mpi_sizeofs_MOD_mpi_sizeof_i8v" 8
        "__mpi_sizeofs_MOD_mpi_sizeof_r" 4 "__mpi_sizeofs_MOD_mpi_sizeof_rv" 4
        "__mpi_sizeofs_MOD_mpi_sizeof_d" 8 "__mpi_sizeofs_MOD_mpi_sizeof_dv" 8
        "__mpi_sizeofs_MOD_mpi_sizeof_cx" 8 "__mpi_sizeofs_MOD_mpi_sizeof_cxv" 8
        "__mpi_sizeofs_MOD_mpi_sizeof_l" 4 "__mpi_sizeofs_MOD_mpi_sizeof_lv" 4
        "__mpi_f08_types_MOD_mpi_sizeof_character" 1 "__mpi_f08_types_MOD_mpi_sizeof_logical" 4
        "__mpi_f08_types_MOD_mpi_sizeof_xint8" 1 "__mpi_f08_types_MOD_mpi_sizeof_xint16" 2
        "__mpi_f08_types_MOD_mpi_sizeof_xint32" 4 "__mpi_f08_types_MOD_mpi_sizeof_xint64" 8
        "__mpi_f08_types_MOD_mpi_sizeof_xreal32" 4 "__mpi_f08_types_MOD_mpi_sizeof_xreal64" 8
        "__mpi_f08_types_MOD_mpi_sizeof_xreal128" 16
        "__mpi_f08_types_MOD_mpi_sizeof_xcomplex32" 8 "__mpi_f08_types_MOD_mpi_sizeof_xcomplex64" 16
        "__mpi_f08_types_MOD_mpi_sizeof_xcomplex128" 32
    }
}
