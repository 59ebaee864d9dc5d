//! The C boundary: every entry point runs its body through [`call`].

use crate::args::null_pointer;
use crate::library::LIBRARY;
use crate::raise::raise;
use crate::tool;
use oxmpi::coll::Form;
use oxmpi_abi::constants::{MPI_ERR_UNSUPPORTED_OPERATION, MPI_SUCCESS};
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Handle, Request};
use oxmpi_abi::{Error, Result};
use oxmpi_base::segment::IN_CALL;
pub use oxmpi_core::call::{Call, Guard, On};
use oxmpi_core::check;
use std::ffi::c_int;

/// Runs a body; the error handler gets a copy of the call, so that it can stay in registers.
#[inline(always)]
pub fn call(fun: Fun, on: On, body: impl FnOnce(&Call<'static>) -> Result<()>) -> c_int {
    let call = Call::new(&LIBRARY, fun, on);
    LIBRARY.note_call(fun as u32 | IN_CALL);
    let code = match body(&call) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(&Call::new(&LIBRARY, fun, call.on()), error),
    };
    LIBRARY.note_call(fun as u32);
    code
}

/// Runs a body of the tool information interface: returns its code, and calls no error handler. The
/// call is not recorded, since tools also call from within other calls.
pub fn answer(body: impl FnOnce() -> tool::Answer) -> c_int {
    match body() {
        Ok(()) => MPI_SUCCESS,
        Err(tool::Code(code)) => code,
    }
}

/// The code of a call that makes an object: after an error the handle is null.
///
/// # Safety
/// `place` is null or can be written.
#[inline(always)]
pub unsafe fn or_null<H: Handle>(code: c_int, place: *mut H, null: H) -> c_int {
    if code != MPI_SUCCESS && !place.is_null() {
        // SAFETY: not null, so it can be written.
        unsafe { place.write(null) };
    } else if check::is_on() && !place.is_null() {
        // SAFETY: not null, and the call has succeeded, so the object is in it.
        LIBRARY.note_made(unsafe { place.read() }.raw(), null.raw());
    }
    code
}

/// Starts or prepares an operation, and stores its request.
///
/// # Safety
/// `to` is null or can be written.
#[inline(always)]
pub unsafe fn started(
    cx: &Call,
    form: impl Form,
    to: *mut Request,
    make: impl FnOnce() -> Result<Request>,
) -> Result<()> {
    if to.is_null() {
        // Other errors of the call come first.
        let checked = cx.enter().and_then(|_| form.mode().check(cx));
        return Err(checked.err().unwrap_or_else(|| null_pointer("request")));
    }
    let made = make()?;
    // SAFETY: not null, so it can be written: this function's condition.
    unsafe { to.write(made) };
    Ok(())
}

/// An entry point, its twin for profiling libraries, and its private name for the libraries of other ABIs.
macro_rules! entry {
    ($name:ident $profiling:ident $private:ident($($argument:ident: $type:ty),*) -> $returns:ty => $value:expr) => {
        entry! { @one $name($($argument: $type),*) -> $returns => $value }
        entry! { @one $profiling($($argument: $type),*) -> $returns => $value }
        entry! { @one $private($($argument: $type),*) -> $returns => $value }
    };
    (@one $name:ident($($argument:ident: $type:ty),*) -> $returns:ty => $value:expr) => {
        /// # Safety
        /// The arguments are what the standard requires of a caller of this function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: <$type as $crate::passed::Passed>::C),*) -> $returns {
            let returned: $returns = {
                $(let $argument = <$type as $crate::passed::Passed>::value($argument);)*
                // SAFETY: the program promises with its call that the standard's text on this function holds: pointers
                // are null or point to what the text says, arrays and buffers have the lengths of their counts and
                // types, strings end, and nobody else uses the memory until the call returns or its operation is
                // complete. Each value is made from the argument that the text describes.
                unsafe { $value }
            };
            if $crate::passed::Returned::is_impossible(&returned) {
                $($crate::passed::kept!($argument);)*
            }
            returned
        }
    };
}
pub(crate) use entry;

/// The result of a function that is not implemented.
#[allow(dead_code, reason = "all functions are built; the generator calls this in one without a body")]
#[cold]
pub fn unsupported(fun: Fun, on: On) -> c_int {
    LIBRARY.note_call(fun as u32 | IN_CALL);
    let text = "not built yet in this version of OxMPI (`oxmpi info --missing` lists what is not)";
    raise(&Call::new(&LIBRARY, fun, on), Error::new(MPI_ERR_UNSUPPORTED_OPERATION, text))
}
