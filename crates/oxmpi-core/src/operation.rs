//! Reduction operations behind their handles, predefined or made by the user, and their application to a datatype.
//!
//! Nothing here calls the user's function: what has to be called is handed out as a [`UserCall`], which
//! [`Call`](crate::call::Call) makes while no lock is held.

use oxmpi_abi::handle;
use oxmpi_datatype::Datatype;
use oxmpi_ops::{Op, Operands, Reduction};
use std::sync::Arc;

/// What a handle of an operation stands for.
#[derive(Clone)]
pub enum Operation {
    Predefined(Op),
    User(Arc<UserFunction>),
}

/// An operation that the user made. It lives as long as something under way uses it, freed or not.
pub struct UserFunction {
    pub function: Box<dyn Reduce>,
    pub commutes: bool,
}

/// A reduction function of the user's.
pub trait Reduce: Send + Sync {
    /// Computes `inout = left op inout`. `handle` names the datatype for as long as the call lasts.
    ///
    /// # Safety
    /// Operands are memory of as many elements of this type as they say, which nobody else uses meanwhile.
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
        /// As the user passed it, which is how the function gets it.
        datatype: handle::Datatype,
        /// What it stood for then. The user may have freed the handle when the function is called.
        held: Arc<Datatype>,
    },
}

/// A call of a user's function that is due.
pub struct UserCall {
    pub function: Arc<UserFunction>,
    pub operands: Operands,
    pub datatype: handle::Datatype,
    pub held: Arc<Datatype>,
}

#[expect(unsafe_code, reason = "a token for memory may go from thread to thread")]
// SAFETY: the operands are read and written by `make` alone, whose caller vouches for them; the rest is `Send`.
unsafe impl Send for UserCall {}

impl UserCall {
    /// Makes the call, while no guard is in hand: see [`Guard::call_user`](crate::guard::Guard::call_user).
    ///
    /// # Safety
    /// The operands' memory is still what it was when the call became due.
    #[expect(unsafe_code, reason = "the function gets the user's memory")]
    pub unsafe fn make(&self, handle: handle::Datatype) {
        // SAFETY: `Reducer::apply` made the call for operands of this type, which the caller vouches for.
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

    /// Computes `inout = left op inout` over so many elements, or says which call of the user's function does.
    ///
    /// # Safety
    /// Both have so many elements of the reducer's datatype; `left` may be read and `inout` written now and, where a
    /// call of the user's function is due, until it has been made. They do not overlap, unless they are the same.
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
