//! C functions that other libraries of the standard ABI may lack. They are looked up at their first call, so that programs of
//! this interface start with such a library, too. (The first text of MPI-5.0 gave the plain functions of partitioned messages
//! an `MPI_Count` and had none of these.)

use crate::abi::{Comm, Datatype, Info, MPI_ERR_UNSUPPORTED_OPERATION, Request};
use crate::error_codes;
use crate::generated::c;
use crate::symbols;
use std::ffi::{CStr, c_int, c_void};

type Init = unsafe extern "C" fn(*mut c_void, c_int, i64, Datatype, c_int, c_int, Comm, Info, *mut Request) -> c_int;

fn find(name: &CStr) -> Option<Init> {
    // SAFETY: what has the name of one of these functions is such a function; null is no function.
    unsafe { std::mem::transmute(symbols::find(name)) }
}

#[cold]
pub fn lacks(comm: Comm, name: &str) -> c_int {
    let text = format!("{name}: the MPI library that this program has found does not have this function");
    let code = error_codes::code(MPI_ERR_UNSUPPORTED_OPERATION, &text);
    // SAFETY: the function takes any handle: it reports a bad one.
    unsafe { c::PMPI_Comm_call_errhandler(comm, code) };
    code
}

macro_rules! late {
    ($($function:ident $name:literal)*) => {$(
        /// # Safety
        /// As for the C function.
        #[allow(clippy::too_many_arguments, non_snake_case)]
        pub unsafe fn $function(
            buf: *mut c_void,
            partitions: c_int,
            count: i64,
            datatype: Datatype,
            rank: c_int,
            tag: c_int,
            comm: Comm,
            info: Info,
            request: *mut Request,
        ) -> c_int {
            match find($name) {
                // SAFETY: this function's own condition.
                Some(call) => unsafe { call(buf, partitions, count, datatype, rank, tag, comm, info, request) },
                None => lacks(comm, stringify!($function)),
            }
        }
    )*};
}

late! {
    MPI_Psend_init_c c"MPI_Psend_init_c"
    PMPI_Psend_init_c c"PMPI_Psend_init_c"
    MPI_Precv_init_c c"MPI_Precv_init_c"
    PMPI_Precv_init_c c"PMPI_Precv_init_c"
}
