//! The C interface below, where it is that of another ABI: handles, the status, and constants of the
//! same names as the standard's. `libmpi.so.12` and `libmpi.so.40` convert everything, so the numbers
//! that a Fortran program passes go there as they are, except its handles.

#[cfg(mpich)]
pub use crate::generated::mpich::*;
#[cfg(openmpi)]
pub use crate::generated::openmpi::*;
pub use oxmpi_abi::handle::Handle;

use std::ffi::c_int;

/// A handle in C, except that of a file, which is a pointer.
#[cfg(mpich)]
pub type Raw = c_int;
#[cfg(openmpi)]
pub type Raw = usize;

/// The number of ints of a status, which is the same in C and in Fortran.
#[cfg(mpich)]
const STATUS: usize = 5;
#[cfg(openmpi)]
const STATUS: usize = 6;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Status([c_int; STATUS]);

macro_rules! handles {
    ($($name:ident $raw:ty)*) => {$(
        #[repr(transparent)]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub $raw);

        impl Handle for $name {
            #[inline]
            fn from_raw(raw: usize) -> $name {
                $name(raw as $raw)
            }

            #[inline]
            fn raw(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

handles! {
    Comm Raw
    Datatype Raw
    Errhandler Raw
    File usize
    Group Raw
    Info Raw
    Message Raw
    Op Raw
    Request Raw
    Session Raw
    Win Raw
}
