//! Arguments whose type differs between a function and its large-count twin, in one form that holds either, so that
//! both share a body. Nothing here checks what the caller passed beyond a null pointer.

pub use oxmpi::args::Ints;
use oxmpi_abi::handle::Handle;
use std::ffi::c_int;

/// The place for one output (or input and output) integer, an `int` or an `MPI_Count`/`MPI_Aint`.
#[derive(Clone, Copy)]
pub struct OutInt {
    ptr: *mut u8,
    wide: bool,
}

impl OutInt {
    #[inline]
    pub fn narrow(ptr: *mut c_int) -> OutInt {
        OutInt { ptr: ptr.cast(), wide: false }
    }

    #[inline]
    pub fn wide(ptr: *mut i64) -> OutInt {
        OutInt { ptr: ptr.cast(), wide: true }
    }

    #[inline]
    pub fn is_null(self) -> bool {
        self.ptr.is_null()
    }

    /// # Safety
    /// The place is not null and holds a value.
    #[inline]
    pub unsafe fn get(self) -> i64 {
        // SAFETY: the constructor fixed the type; the caller knows that the place holds a value.
        unsafe { if self.wide { self.ptr.cast::<i64>().read() } else { self.ptr.cast::<c_int>().read().into() } }
    }

    /// Stores the value; false, and nothing stored, when it does not fit.
    ///
    /// # Safety
    /// The place is not null and may be written.
    #[inline]
    #[must_use]
    pub unsafe fn set(self, value: i64) -> bool {
        // SAFETY: the constructor fixed the type; the caller knows that the place may be written.
        unsafe {
            if self.wide {
                self.ptr.cast::<i64>().write(value);
            } else if let Ok(value) = c_int::try_from(value) {
                self.ptr.cast::<c_int>().write(value);
            } else {
                return false;
            }
        }
        true
    }
}

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
