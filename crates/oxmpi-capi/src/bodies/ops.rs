//! Reduction operations: made, asked, freed, and applied to two vectors of this process.

use super::{check_place, null_pointer, store};
use crate::args::peek;
use crate::call::Call;
use crate::generated::callbacks::{UserFn, UserFnC};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Datatype as Handle, Op};
use oxmpi_abi::{Result, bail};
use oxmpi_core::operation::{Operation, Reduce, UserFunction};
use oxmpi_datatype::Datatype;
use oxmpi_ops::Operands;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

pub unsafe fn op_create(cx: &Call, user_fn: UserFn, commute: c_int, op: *mut Op) -> Result<()> {
    // SAFETY: passed on.
    unsafe { create(cx, user_fn.map(|_| Function::Int(user_fn)), commute, op) }
}

pub unsafe fn op_create_c(cx: &Call, user_fn: UserFnC, commute: c_int, op: *mut Op) -> Result<()> {
    // SAFETY: passed on.
    unsafe { create(cx, user_fn.map(|_| Function::Count(user_fn)), commute, op) }
}

/// # Safety
/// `op` is null or may be written.
unsafe fn create(cx: &Call, function: Option<Function>, commute: c_int, op: *mut Op) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(op, "op")?;
    let Some(function) = function else { return Err(null_pointer("user_fn")) };
    let function = Arc::new(UserFunction { function: Box::new(function), commutes: commute != 0 });
    match guard.operations.try_insert(function) {
        // SAFETY: checked.
        Ok(handle) => unsafe { store(op, Op(handle), "op") },
        Err(_) => bail!(MPI_ERR_NO_SPACE, "no handles are left for reduction operations"),
    }
}

pub unsafe fn op_free(cx: &Call, op: *mut Op) -> Result<()> {
    let mut guard = cx.enter()?;
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

pub unsafe fn op_commutative(cx: &Call, op: Op, commute: *mut c_int) -> Result<()> {
    let commutes = cx.enter()?.operation(op)?.commutes();
    // SAFETY: passed on.
    unsafe { store(commute, commutes.into(), "commute") }
}

pub unsafe fn reduce_local(
    cx: &Call,
    inbuf: *const c_void,
    inoutbuf: *mut c_void,
    count: i64,
    datatype: Handle,
    op: Op,
) -> Result<()> {
    let guard = cx.enter()?;
    let reducer = guard.reducer(op, datatype)?;
    let data = guard.buffer(inbuf.cast(), count, datatype)?;
    guard.target(inoutbuf.cast(), count, datatype)?;
    if inbuf == inoutbuf && !data.is_empty() {
        bail!(MPI_ERR_BUFFER, "inbuf and inoutbuf are the same memory");
    }
    // Others may use the library meanwhile.
    drop(guard);
    // SAFETY: the program keeps `count` elements in both buffers during the call, and they are not
    // the same.
    if let Some(call) = unsafe { reducer.apply(inbuf.cast(), inoutbuf.cast(), count as u64) } {
        // SAFETY: the buffers are the user's for this call.
        cx.library().call_user(|| unsafe { call.make(datatype) });
    }
    Ok(())
}

/// A reduction function of the program's.
#[derive(Clone, Copy)]
enum Function {
    Int(UserFn),
    Count(UserFnC),
}

impl Reduce for Function {
    /// In pieces where an `int` cannot hold the number of elements.
    unsafe fn reduce(&self, operands: &Operands, datatype: &Datatype, mut handle: Handle) {
        let (left, inout) = (operands.left.cast_mut(), operands.inout);
        match *self {
            Function::Count(function) => {
                let mut len = operands.count as i64;
                if let Some(function) = function {
                    // SAFETY: the program gave it as a function of this type, which keeps the standard's contract; the caller
                    // vouches for the operands.
                    unsafe { function(left.cast(), inout.cast(), &mut len, &mut handle) };
                }
            }
            Function::Int(function) => {
                let mut done = 0;
                while done < operands.count {
                    let mut len = (operands.count - done).min(c_int::MAX as u64) as c_int;
                    let shift = datatype.extent() as isize * done as isize;
                    done += len as u64;
                    let (left, inout) = (left.wrapping_offset(shift), inout.wrapping_offset(shift));
                    if let Some(function) = function {
                        // SAFETY: the program gave it as a function of this type, which keeps the standard's contract; the
                        // caller vouches for the operands, of which these are a part.
                        unsafe { function(left.cast(), inout.cast(), &mut len, &mut handle) };
                    }
                }
            }
        }
    }
}
