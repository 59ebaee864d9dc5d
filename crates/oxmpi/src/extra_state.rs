//! Reduction operations and error handlers from functions with an extra state, as MPICH has them for languages whose functions
//! carry data: `MPIX_Op_create_x` and its kin. A destructor gets the state when the operation or the handler is neither held by
//! the program nor in use by the library.

use oxmpi_abi::callbacks::*;
use oxmpi_abi::constants::MPI_ERR_NO_SPACE;
use oxmpi_abi::handle::{Datatype as Handle, Errhandler, Op};
use oxmpi_abi::{Result, bail};
use oxmpi_core::args::null_pointer;
use oxmpi_core::call::Call;
use oxmpi_core::callback::{Callback, ErrorFunction, ExtraState, take_unused};
use oxmpi_core::library::Library;
use oxmpi_core::operation::{Reduce, UserFunction};
use oxmpi_datatype::Datatype;
use oxmpi_ops::Operands;
use std::sync::Arc;

/// The end of a call with which an operation or a handler may have come to its end; passes the call's code on.
#[inline]
pub fn after(library: &Library, code: i32) -> i32 {
    for unused in take_unused() {
        library.call_user(|| unused.destroy());
    }
    code
}

struct Reduction {
    function: Callback<UserFnX>,
    state: ExtraState,
}

impl Reduce for Reduction {
    #[expect(unsafe_code, reason = "the function gets the user's memory")]
    unsafe fn reduce(&self, operands: &Operands, _datatype: &Datatype, handle: Handle) {
        // SAFETY: this function's own condition.
        unsafe { self.function.call(operands, handle, &self.state) };
    }
}

pub fn op_create_x(
    cx: &Call,
    user_fn_x: Callback<UserFnX>,
    destructor_fn: Callback<DestructorFn>,
    commute: bool,
    extra_state: usize,
) -> Result<Op> {
    let mut guard = cx.enter()?;
    if user_fn_x.is_none() {
        return Err(null_pointer("user_fn_x"));
    }
    let function = Reduction { function: user_fn_x, state: ExtraState::new(extra_state, destructor_fn) };
    let function = Arc::new(UserFunction { function: Box::new(function), commutes: commute });
    match guard.operations.try_insert(function) {
        Ok(handle) => Ok(Op(handle)),
        Err(_) => bail!(MPI_ERR_NO_SPACE, "no handles are left for reduction operations"),
    }
}

/// A handler of the function that `with` makes of the state.
fn handler(
    cx: &Call,
    with: impl FnOnce(Arc<ExtraState>) -> ErrorFunction,
    is_null: bool,
    destructor: Callback<DestructorFn>,
    extra_state: usize,
) -> Result<Errhandler> {
    if is_null {
        return Err(null_pointer("error handling function"));
    }
    let function = with(Arc::new(ExtraState::new(extra_state, destructor)));
    cx.library().errhandlers().create(function)
}

pub fn comm_create_errhandler_x(
    cx: &Call,
    comm_errhandler_fn_x: Callback<CommErrhandlerFnX>,
    destructor_fn: Callback<DestructorFn>,
    extra_state: usize,
) -> Result<Errhandler> {
    cx.enter()?;
    let with = |state| ErrorFunction::CommX(comm_errhandler_fn_x, state);
    handler(cx, with, comm_errhandler_fn_x.is_none(), destructor_fn, extra_state)
}

pub fn file_create_errhandler_x(
    cx: &Call,
    file_errhandler_fn_x: Callback<FileErrhandlerFnX>,
    destructor_fn: Callback<DestructorFn>,
    extra_state: usize,
) -> Result<Errhandler> {
    cx.enter()?;
    let with = |state| ErrorFunction::FileX(file_errhandler_fn_x, state);
    handler(cx, with, file_errhandler_fn_x.is_none(), destructor_fn, extra_state)
}

/// Also without MPI being initialised, as `MPI_Session_create_errhandler`.
pub fn session_create_errhandler_x(
    cx: &Call,
    session_errhandler_fn_x: Callback<SessionErrhandlerFnX>,
    destructor_fn: Callback<DestructorFn>,
    extra_state: usize,
) -> Result<Errhandler> {
    let with = |state| ErrorFunction::SessionX(session_errhandler_fn_x, state);
    handler(cx, with, session_errhandler_fn_x.is_none(), destructor_fn, extra_state)
}

pub fn win_create_errhandler_x(
    cx: &Call,
    win_errhandler_fn_x: Callback<WinErrhandlerFnX>,
    destructor_fn: Callback<DestructorFn>,
    extra_state: usize,
) -> Result<Errhandler> {
    cx.enter()?;
    let with = |state| ErrorFunction::WinX(win_errhandler_fn_x, state);
    handler(cx, with, win_errhandler_fn_x.is_none(), destructor_fn, extra_state)
}
