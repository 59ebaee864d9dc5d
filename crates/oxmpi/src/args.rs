//! The program's integer arrays, read in place.

/// An input array of `int` or of `MPI_Count`/`MPI_Aint`.
#[derive(Clone, Copy)]
pub struct Ints {
    ptr: *const u8,
    wide: bool,
}

impl Ints {
    #[inline]
    pub fn narrow(ptr: *const i32) -> Ints {
        Ints { ptr: ptr.cast(), wide: false }
    }

    #[inline]
    pub fn wide(ptr: *const i64) -> Ints {
        Ints { ptr: ptr.cast(), wide: true }
    }

    #[inline]
    pub fn is_null(self) -> bool {
        self.ptr.is_null()
    }

    /// # Safety
    /// The array has more than `i` elements.
    #[inline]
    pub unsafe fn get(self, i: usize) -> i64 {
        // SAFETY: the constructor fixed the type of the elements, and there are more than `i`: this
        // function's condition.
        unsafe {
            if self.wide { self.ptr.cast::<i64>().add(i).read() } else { self.ptr.cast::<i32>().add(i).read().into() }
        }
    }
}
