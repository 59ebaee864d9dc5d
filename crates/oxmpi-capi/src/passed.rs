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

/// The value of an argument. The argument itself stays in the frame of its function until that returns: there a debugger finds it,
/// when the registers have long been used for something else. It costs one store.
macro_rules! kept {
    ($argument:ident: $type:ty) => {{
        let passed = $argument;
        // SAFETY: the place is the argument itself. A volatile store keeps it in memory; nobody reads it there.
        unsafe { (&raw mut $argument).write_volatile(passed) };
        <$type as $crate::passed::Passed>::value(passed)
    }};
}
pub(crate) use kept;
