//! Reduction operations: making, queries, freeing, and applying to two vectors of this process.

use crate::args::{SourceArg, TargetArg, null_pointer};
use crate::call::Call;
use oxmpi_abi::callbacks::{UserFn, UserFnC};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Datatype as Handle, Op};
use oxmpi_abi::{Result, bail};
use oxmpi_core::operation::{Operation, Reduce, UserFunction};
use oxmpi_datatype::Datatype;
use oxmpi_ops::Operands;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;

pub fn op_create(cx: &Call, user_fn: UserFn, commute: c_int) -> Result<Op> {
    create(cx, user_fn.is_some().then_some(Function::Int(user_fn)), commute)
}

pub fn op_create_c(cx: &Call, user_fn: UserFnC, commute: c_int) -> Result<Op> {
    create(cx, user_fn.is_some().then_some(Function::Count(user_fn)), commute)
}

fn create(cx: &Call, function: Option<Function>, commute: c_int) -> Result<Op> {
    let mut guard = cx.enter()?;
    let Some(function) = function else { return Err(null_pointer("user_fn")) };
    let function = Arc::new(UserFunction { function: Box::new(function), commutes: commute != 0 });
    match guard.operations.try_insert(function) {
        Ok(handle) => Ok(Op(handle)),
        Err(_) => bail!(MPI_ERR_NO_SPACE, "no handles are left for reduction operations"),
    }
}

pub fn op_free(cx: &Call, op: &Cell<Op>) -> Result<()> {
    let mut guard = cx.enter()?;
    let handle = op.get();
    if let Operation::Predefined(predefined) = guard.operation(handle)? {
        bail!(MPI_ERR_OP, "{} is predefined; it cannot be freed", predefined.name());
    }
    // A reduction that still uses the operation keeps it alive.
    guard.operations.remove(handle.0);
    op.set(MPI_OP_NULL);
    Ok(())
}

pub fn op_commutative(cx: &Call, op: Op) -> Result<bool> {
    Ok(cx.enter()?.operation(op)?.commutes())
}

pub fn reduce_local(cx: &Call, inbuf: SourceArg, inoutbuf: TargetArg, op: Op) -> Result<()> {
    let guard = cx.enter()?;
    let datatype = inbuf.datatype;
    let reducer = guard.reducer(op, datatype)?;
    let data = guard.source_of(inbuf)?;
    guard.target_of(inoutbuf)?;
    if inbuf.address() == inoutbuf.address().cast_const() && !data.is_empty() {
        bail!(MPI_ERR_BUFFER, "inbuf and inoutbuf are the same memory");
    }
    // Others may use the library in the meantime.
    drop(guard);
    // SAFETY: a source and a target hold `count` elements of the type each, and they are not the same memory.
    if let Some(call) = unsafe { reducer.apply(inbuf.address(), inoutbuf.address(), inbuf.count as u64) } {
        // SAFETY: the operands are those of the source and the target.
        cx.library().call_user(|| unsafe { call.make(datatype) });
    }
    Ok(())
}

/// A user's reduction function.
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
                    // SAFETY: the program passed it as a function of this type, and the operands
                    // are valid: this function's condition.
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
                        // SAFETY: the program passed it as a function of this type, and these are
                        // part of the valid operands.
                        unsafe { function(left.cast(), inout.cast(), &mut len, &mut handle) };
                    }
                }
            }
        }
    }
}
