//! The program's callbacks of attribute keys, as `oxmpi-core` calls them. The functions for the three kinds of object differ in
//! the type of the handle alone, which is as wide as a pointer in each.

use oxmpi_abi::constants::*;
use oxmpi_core::attributes::{AttributeCall, Callbacks, OnCopy};
use std::ffi::{c_int, c_void};
use std::ptr::with_exposed_provenance_mut as pointer;

type CopyFn = unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type DeleteFn = unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void) -> c_int;

/// The values that stand for the predefined callbacks, the same for each kind of object.
const NULL_COPY: usize = MPI_TYPE_NULL_COPY_FN;
const DUP: usize = MPI_TYPE_DUP_FN;
const NULL_DELETE: usize = MPI_TYPE_NULL_DELETE_FN;
const _: () = assert!(NULL_COPY == MPI_COMM_NULL_COPY_FN && DUP == MPI_COMM_DUP_FN && NULL_DELETE == 0);

/// The functions come as their addresses, or as the numbers of predefined ones.
///
/// # Safety
/// An address is that of a copy or delete callback for the kind of object that the key is for, which takes this extra state.
pub unsafe fn callbacks(copy: usize, delete: usize, extra_state: *mut c_void) -> Callbacks {
    let extra = extra_state.expose_provenance();
    let copy = match copy {
        NULL_COPY => OnCopy::Nothing,
        DUP => OnCopy::Same,
        function => OnCopy::Ask(Box::new(move |AttributeCall { object, key, value }| {
            let (mut out, mut flag) = (0usize, 0);
            let place: *mut usize = &mut out;
            // SAFETY: the address of a copy callback, says the caller of `callbacks`; it writes a pointer and a flag.
            let code = unsafe {
                let function = std::mem::transmute::<usize, CopyFn>(function);
                function(object, key, pointer(extra), pointer(value), place.cast(), &mut flag)
            };
            if code == MPI_SUCCESS { Ok((flag != 0).then_some(out)) } else { Err(code) }
        })),
    };
    let delete = (delete != NULL_DELETE).then(|| {
        let call = move |AttributeCall { object, key, value }| {
            // SAFETY: the address of a delete callback, says the caller of `callbacks`.
            let code = unsafe {
                let function = std::mem::transmute::<usize, DeleteFn>(delete);
                function(object, key, pointer(value), pointer(extra))
            };
            if code == MPI_SUCCESS { Ok(()) } else { Err(code) }
        };
        Box::new(call) as _
    });
    Callbacks { copy, delete }
}
