//! Reduction operations, predefined or user-defined, and their application to a datatype.
//!
//! Nothing here calls the user's function: the call is returned as a [`UserCall`], which
//! [`Call`](crate::call::Call) makes while no lock is held.

use oxmpi_abi::handle;
use oxmpi_datatype::Datatype;
use oxmpi_ops::{Op, Operands, Reduction};
use std::sync::Arc;

/// The operation behind a handle.
#[derive(Clone)]
pub enum Operation {
    Predefined(Op),
    User(Arc<UserFunction>),
}

/// A user-defined operation. It lives as long as an operation under way uses it, freed or not.
pub struct UserFunction {
    pub function: Box<dyn Reduce>,
    pub commutes: bool,
}

/// A user's reduction function.
pub trait Reduce: Send + Sync {
    /// Computes `inout = left op inout`. `handle` is valid for the datatype during the call.
    ///
    /// # Safety
    /// The operands are memory of as many elements of this type as they say, which nobody else uses
    /// during the call.
    #[expect(unsafe_code, reason = "the function gets the user's memory")]
    unsafe fn reduce(&self, operands: &Operands, datatype: &Datatype, handle: handle::Datatype);
}

impl Operation {
    pub fn commutes(&self) -> bool {
        match self {
            Operation::Predefined(op) => !matches!(op, Op::Replace | Op::NoOp),
            Operation::User(function) => function.commutes,
        }
    }
}

/// An operation on elements of a datatype, both checked.
#[derive(Clone)]
pub enum Reducer {
    Predefined(Reduction),
    User {
        function: Arc<UserFunction>,
        /// The handle that the user passed, which the function gets.
        datatype: handle::Datatype,
        /// The type behind it at that time. The user may have freed the handle when the function is
        /// called.
        held: Arc<Datatype>,
    },
}

/// A pending call of a user function.
pub struct UserCall {
    pub function: Arc<UserFunction>,
    pub operands: Operands,
    pub datatype: handle::Datatype,
    pub held: Arc<Datatype>,
}

#[expect(unsafe_code, reason = "a token for memory may go from thread to thread")]
// SAFETY: only `make` accesses the operands, and its caller promises that they are valid; the rest
// is `Send`.
unsafe impl Send for UserCall {}

impl UserCall {
    /// Makes the call, while no guard is in hand: see [`Guard::call_user`](crate::call::Guard::call_user).
    ///
    /// # Safety
    /// The operands' memory is as valid as when `Reducer::apply` returned the call.
    #[expect(unsafe_code, reason = "the function gets the user's memory")]
    pub unsafe fn make(&self, handle: handle::Datatype) {
        // SAFETY: `Reducer::apply` made the call for operands of this type, which are still valid:
        // this function's condition.
        unsafe { self.function.function.reduce(&self.operands, &self.held, handle) }
    }
}

impl Reducer {
    pub fn commutes(&self) -> bool {
        match self {
            Reducer::Predefined(_) => true,
            Reducer::User { function, .. } => function.commutes,
        }
    }

    /// Computes `inout = left op inout` over so many elements, or returns the call of the user's
    /// function that does.
    ///
    /// # Safety
    /// Both have `count` elements of the reducer's datatype; `left` may be read and `inout` written
    /// now and, if a call of the user's function is returned, until it has been made. They do not
    /// overlap, unless they are the same.
    #[inline]
    #[must_use]
    #[expect(unsafe_code, reason = "elements of a reduction are raw memory")]
    pub unsafe fn apply(&self, left: *const u8, inout: *mut u8, count: u64) -> Option<UserCall> {
        let operands = Operands { left, inout, count };
        match self {
            Reducer::Predefined(reduction) => {
                // SAFETY: `left` and `inout` have `count` elements of the reducer's type, by this function's condition.
                unsafe { reduction.apply(&operands) };
                None
            }
            Reducer::User { .. } if count == 0 => None,
            Reducer::User { function, datatype, held } => {
                Some(UserCall { function: Arc::clone(function), operands, datatype: *datatype, held: Arc::clone(held) })
            }
        }
    }
}
