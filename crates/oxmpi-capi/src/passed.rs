//! Arguments as C passes them and as debuggers show them: gdb's `bt` prints numbers and pointers, but of a structure only dots, so
//! a handle is a pointer in the signature of an entry point. Nothing here costs an instruction but [`kept`].

use oxmpi_abi::handle::*;
use std::ffi::c_int;
use std::marker::PhantomData;

/// A type of arguments.
pub trait Passed {
    type C: Copy;
    fn value(passed: Self::C) -> Self;
}

/// What a handle points to for a debugger: its printers find the kind of the handle in the name of the type.
pub struct Object<H>(PhantomData<H>);

macro_rules! handles {
    ($($handle:ident)*) => {$(
        impl Passed for $handle {
            type C = *mut Object<$handle>;

            #[inline(always)]
            fn value(passed: Self::C) -> Self {
                Self::from_raw(passed.addr())
            }
        }
    )*};
}

macro_rules! numbers {
    ($($number:ident)*) => {$(
        impl Passed for $number {
            type C = $number;

            #[inline(always)]
            fn value(passed: $number) -> $number {
                passed
            }
        }
    )*};
}

macro_rules! others {
    ($($other:ty)*) => {$(
        impl<T> Passed for $other
        where
            $other: Copy,
        {
            type C = $other;

            #[inline(always)]
            fn value(passed: $other) -> $other {
                passed
            }
        }
    )*};
}

handles! { Comm Datatype Errhandler File Group Info Message Op Request Session Win }
handles! { TEnum TCvarHandle TPvarHandle TPvarSession TEventRegistration TEventInstance }
numbers! { c_int i64 }
others! { *const T *mut T Option<T> }

/// What a function of MPI returns.
pub trait Returned {
    /// Whether it is what no function returns. The compiler knows that success is something else, so it asks only after errors.
    /// Functions without an error code have arguments that need not be kept.
    fn is_impossible(&self) -> bool {
        false
    }
}

impl Returned for c_int {
    #[inline(always)]
    fn is_impossible(&self) -> bool {
        *self == c_int::MIN
    }
}

macro_rules! other_results {
    ($($result:ident)*) => {$(
        impl Returned for $result {}
    )*};
}

other_results! { f64 i64 Comm Datatype Errhandler File Group Info Message Op Request Session Win }

/// Keeps an argument in the frame of its function until that returns: there a debugger finds it, when the registers have long been
/// used for something else. A volatile access, which need not be executed, keeps the compiler from removing its place. So it costs
/// one store, where the function begins, and breakpoints are after it.
macro_rules! kept {
    ($argument:ident) => {
        // SAFETY: the place is the argument itself.
        _ = unsafe { (&raw const $argument).read_volatile() }
    };
}
pub(crate) use kept;
