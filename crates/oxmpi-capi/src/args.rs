//! Converts C's pointers to the values that bodies take, and their results to C's output arguments.
//! The entry points call these functions, with the arguments that `xtask/src/typed.rs` chooses.
//! Their contract is what a program promises when it calls MPI, and the values of
//! [`oxmpi_core::args`] carry it on. Nothing here knows what an argument means.

use crate::call::{Call, On};
pub use oxmpi::args::Ints;
use oxmpi_abi::constants::{MPI_ERR_ARG, MPI_FILE_NULL};
use oxmpi_abi::handle::Handle;
use oxmpi_abi::{Error, Result, Status};
pub use oxmpi_core::args::*;
pub use oxmpi_core::callback::Callback;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};

/// The handle that a pointer argument points to, or an invalid one when the pointer is null.
///
/// # Safety
/// The pointer is null or points to a handle.
#[inline]
pub unsafe fn peek<H: Handle>(ptr: *const H) -> H {
    if ptr.is_null() {
        return H::from_raw(0);
    }
    // SAFETY: not null, so it points to a handle.
    unsafe { ptr.read() }
}

/// The length of an array from an INOUT argument; 0 when it is null.
///
/// # Safety
/// The pointer is null or points to an integer.
#[inline]
pub unsafe fn peek_int(ptr: *const c_int) -> i64 {
    // SAFETY: null or an integer, and an integer is `Copy`.
    unsafe { ptr.as_ref() }.map_or(0, |&int| int.into())
}

/// An INOUT argument.
///
/// # Safety
/// `at` is null or points to a value, which nobody else uses until `'m` ends.
#[inline(always)]
pub unsafe fn cell<'m, T>(at: *mut T, name: &str) -> Result<&'m Cell<T>> {
    // SAFETY: null or a value; a cell has the layout of its content.
    unsafe { at.cast::<Cell<T>>().as_ref() }.ok_or_else(|| null_pointer(name))
}

/// A status to be read.
///
/// # Safety
/// `at` is null or points to a status, which nobody changes until `'m` ends.
#[inline]
pub unsafe fn read_status<'m>(at: *const Status) -> Result<&'m Status> {
    // SAFETY: null or a status.
    unsafe { at.as_ref() }.ok_or_else(no_status)
}

/// A status to be changed.
///
/// # Safety
/// As for [`cell`].
#[inline]
pub unsafe fn status_cell<'m>(at: *mut Status) -> Result<&'m Cell<Status>> {
    // SAFETY: null or a status; a cell has the layout of its content.
    unsafe { at.cast::<Cell<Status>>().as_ref() }.ok_or_else(no_status)
}

#[cold]
fn no_status() -> Error {
    Error::new(MPI_ERR_ARG, "the status is MPI_STATUS_IGNORE (a null pointer)")
}

/// A string.
///
/// # Safety
/// `string` is null or ends with a null character, and nobody changes it until `'m` ends.
pub unsafe fn text<'m>(string: *const c_char, name: &str) -> Result<&'m [u8]> {
    if string.is_null() {
        return Err(null_pointer(name));
    }
    // SAFETY: not null, so a string that ends.
    Ok(unsafe { CStr::from_ptr(string) }.to_bytes())
}

// ---- results of bodies ----

#[inline(always)]
fn check<T>((at, name): (*mut T, &str)) -> Result<()> {
    if at.is_null() { Err(null_pointer(name)) } else { Ok(()) }
}

#[inline(always)]
fn check_made<T>(cx: &Call, (at, name): (*mut T, &str)) -> Result<()> {
    if at.is_null() { Err(no_place(cx, name)) } else { Ok(()) }
}

/// No place for the new object. Errors of the object of the call come first, as everywhere.
#[cold]
fn no_place(cx: &Call, name: &str) -> Error {
    let concerned = match cx.on() {
        On::Comm(comm) => cx.enter().and_then(|guard| guard.comm(comm).map(drop)),
        On::Win(win) => cx.enter().and_then(|guard| guard.win(win).map(drop)),
        On::File(file) if file != MPI_FILE_NULL => cx.enter().and_then(|guard| guard.file(file).map(drop)),
        On::Session(session) => cx.library().session(session, |_| ()),
        On::File(_) | On::Handler(..) | On::World => Ok(()),
    };
    concerned.err().unwrap_or_else(|| null_pointer(name))
}

/// # Safety
/// The address is null or can be written.
#[inline(always)]
pub unsafe fn out1<A, V: Into<A>>(a: (*mut A, &str), body: impl FnOnce() -> Result<V>) -> Result<()> {
    let value = body()?;
    check(a)?;
    // SAFETY: not null, so it can be written.
    unsafe { a.0.write(value.into()) };
    Ok(())
}

/// As [`out1`], for a new object: checks the address before the body makes the object.
///
/// # Safety
/// As for [`out1`].
#[inline(always)]
pub unsafe fn made1<A, V: Into<A>>(cx: &Call, a: (*mut A, &str), body: impl FnOnce() -> Result<V>) -> Result<()> {
    check_made(cx, a)?;
    // SAFETY: this function's own condition.
    unsafe { out1(a, body) }
}

/// As [`made1`], for two objects.
///
/// # Safety
/// As for [`out1`], for each place.
#[inline(always)]
pub unsafe fn made2<A, B, V: Into<A>, W: Into<B>>(
    cx: &Call,
    a: (*mut A, &str),
    b: (*mut B, &str),
    body: impl FnOnce() -> Result<(V, W)>,
) -> Result<()> {
    check_made(cx, a)?;
    check_made(cx, b)?;
    // SAFETY: this function's own condition.
    unsafe { out2(a, b, body) }
}

macro_rules! several_outputs {
    ($name:ident: $($place:ident $value:ident $P:ident $V:ident),+) => {
        /// # Safety
        /// As for [`out1`], for each place.
        #[inline(always)]
        pub unsafe fn $name<$($P, $V: Into<$P>),+>(
            $($place: (*mut $P, &str),)+
            body: impl FnOnce() -> Result<($($V),+)>,
        ) -> Result<()> {
            let ($($value),+) = body()?;
            $(
                check($place)?;
                // SAFETY: not null, so it can be written.
                unsafe { $place.0.write($value.into()) };
            )+
            Ok(())
        }
    };
}

several_outputs!(out2: a v A V, b w B W);
several_outputs!(out3: a v A V, b w B W, c x C X);
several_outputs!(out4: a v A V, b w B W, c x C X, d y D Y);
several_outputs!(out5: a v A V, b w B W, c x C X, d y D Y, e z E Z);

/// A string whose maximum length is a constant of the standard.
///
/// # Safety
/// The address is null or has room for so many characters.
pub unsafe fn out_text<V: AsRef<[u8]>>(
    at: (*mut c_char, &str),
    room: c_int,
    body: impl FnOnce() -> Result<V>,
) -> Result<()> {
    check(at)?;
    let string = body()?;
    // SAFETY: there is room for `room` characters: this function's condition.
    unsafe { OutText::new(at.0, room.into()) }.set(string.as_ref());
    Ok(())
}

/// A string and its length.
///
/// # Safety
/// As for [`out_text`] and [`out1`].
pub unsafe fn out_text_length<V: AsRef<[u8]>>(
    at: (*mut c_char, &str),
    room: c_int,
    length: (*mut c_int, &str),
    body: impl FnOnce() -> Result<V>,
) -> Result<()> {
    let string = body()?;
    check(at)?;
    check(length)?;
    // SAFETY: there is room for `room` characters: this function's condition; `length` is not null.
    unsafe { length.0.write(OutText::new(at.0, room.into()).set(string.as_ref()) as c_int) };
    Ok(())
}

/// The value of an attribute, if it is set, and whether it is.
///
/// # Safety
/// Each address is null or can be written; that of the value has room for a pointer.
pub unsafe fn out_attribute(
    value: (*mut c_void, &str),
    flag: (*mut c_int, &str),
    body: impl FnOnce() -> Result<Option<usize>>,
) -> Result<()> {
    let found = body()?;
    check(value)?;
    check(flag)?;
    // SAFETY: neither is null, so both can be written.
    unsafe {
        if let Some(found) = found {
            value.0.cast::<usize>().write(found);
        }
        flag.0.write(found.is_some().into());
    }
    Ok(())
}
