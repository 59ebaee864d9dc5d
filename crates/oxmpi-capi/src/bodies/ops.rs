//! Reduction operations: made, asked, freed, and applied to two vectors of this process.

use super::{check_place, null_pointer, store};
use crate::args::peek;
use crate::call::Cx;
use crate::generated::callbacks::{UserFn, UserFnC};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Datatype, Op};
use oxmpi_abi::{Result, bail};
use oxmpi_core::operation::{Form, Operation, UserCall, UserFunction};
use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::sync::Arc;

pub unsafe fn op_create(cx: &Cx, user_fn: UserFn, commute: c_int, op: *mut Op) -> Result<()> {
    // SAFETY: passed on.
    unsafe { create(cx, user_fn.map(|function| function as usize), Form::Int, commute, op) }
}

pub unsafe fn op_create_c(cx: &Cx, user_fn: UserFnC, commute: c_int, op: *mut Op) -> Result<()> {
    // SAFETY: passed on.
    unsafe { create(cx, user_fn.map(|function| function as usize), Form::Count, commute, op) }
}

/// # Safety
/// The address is that of a function of this form; `op` is null or may be written.
unsafe fn create(cx: &Cx, address: Option<usize>, form: Form, commute: c_int, op: *mut Op) -> Result<()> {
    let mut guard = cx.process()?;
    check_place(op, "op")?;
    let Some(address) = address else { return Err(null_pointer("user_fn")) };
    let function = Arc::new(UserFunction { address, form, commutes: commute != 0 });
    match guard.operations.try_insert(function) {
        // SAFETY: checked.
        Ok(handle) => unsafe { store(op, Op(handle), "op") },
        Err(_) => bail!(MPI_ERR_NO_SPACE, "no handles are left for reduction operations"),
    }
}

pub unsafe fn op_free(cx: &Cx, op: *mut Op) -> Result<()> {
    let mut guard = cx.process()?;
    check_place(op, "op")?;
    // SAFETY: not null, so it points to a handle.
    let handle = unsafe { peek(op) };
    if let Operation::Predefined(predefined) = guard.operation(handle)? {
        bail!(MPI_ERR_OP, "{} is predefined; it cannot be freed", predefined.name());
    }
    // A reduction that still uses the operation holds on to it.
    guard.operations.remove(handle.0);
    // SAFETY: checked not to be null.
    unsafe { store(op, MPI_OP_NULL, "op") }
}

pub unsafe fn op_commutative(cx: &Cx, op: Op, commute: *mut c_int) -> Result<()> {
    let commutes = cx.process()?.operation(op)?.commutes();
    // SAFETY: passed on.
    unsafe { store(commute, commutes.into(), "commute") }
}

pub unsafe fn reduce_local(
    cx: &Cx,
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
) -> Result<()> {
    let guard = cx.process()?;
    let reducer = guard.reducer(op, datatype)?;
    let data = guard.buffer(inbuf.cast(), count, datatype)?;
    guard.target(inoutbuf.cast(), count, datatype)?;
    if inbuf == inoutbuf && !data.is_empty() {
        bail!(MPI_ERR_BUFFER, "inbuf and inoutbuf are the same memory");
    }
    // Others may use the library meanwhile.
    drop(guard);
    if let Some(call) = reducer.apply(inbuf.cast(), inoutbuf.cast(), count as u64) {
        // SAFETY: the buffers are the user's for this call, and no lock is held.
        unsafe { make(&call, datatype) };
    }
    Ok(())
}

/// Calls a user's function for a reduction with a handle of the datatype, in pieces where an `int` cannot hold the number of elements.
///
/// # Safety
/// The operands are valid, the function keeps the standard's contract, and no lock is held.
pub(crate) unsafe fn make(call: &UserCall, mut datatype: Datatype) {
    let (address, on) = (call.function.address as *const c_void, &call.operands);
    let (left, inout) = (on.left.cast_mut(), on.inout);
    let extent = call.held.extent() as isize;
    match call.function.form {
        Form::Count => {
            let mut len = on.count as i64;
            // SAFETY: `op_create_c` took it as a function of this type, and the caller vouches for the rest.
            unsafe {
                if let Some(function) = transmute::<*const c_void, UserFnC>(address) {
                    function(left.cast(), inout.cast(), &mut len, &mut datatype);
                }
            }
        }
        Form::Int => {
            let mut done = 0;
            while done < on.count {
                let mut len = (on.count - done).min(c_int::MAX as u64) as c_int;
                let shift = extent * done as isize;
                done += len as u64;
                // SAFETY: `op_create` took it as a function of this type, and the caller vouches for the rest.
                unsafe {
                    if let Some(function) = transmute::<*const c_void, UserFn>(address) {
                        let (left, inout) = (left.wrapping_offset(shift), inout.wrapping_offset(shift));
                        function(left.cast(), inout.cast(), &mut len, &mut datatype);
                    }
                }
            }
        }
    }
}
