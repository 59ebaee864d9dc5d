//! Bytes of the library itself that an operation reads or writes while their owner may be moved.
//!
//! A `Box` or a `Vec` promises the compiler that its bytes are not aliased, and moving it renews
//! the promise. So memory that an operation holds a pointer to is a raw allocation: [`OwnedBytes`]
//! frees it and promises nothing else.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use crate::buf::{Cursor, Region, Source, Target};

/// Bytes on the heap, aligned for any scalar. Their address does not change when this value is
/// moved.
pub struct OwnedBytes {
    at: NonNull<u8>,
    len: usize,
}

/// Alignment of the largest scalar.
const ALIGN: usize = 16;

// SAFETY: an allocation that one value owns; nothing in it belongs to a thread.
unsafe impl Send for OwnedBytes {}
// SAFETY: through `&OwnedBytes` the bytes are only read, but for targets, whose making is unsafe.
unsafe impl Sync for OwnedBytes {}

impl OwnedBytes {
    pub fn zeroed(len: usize) -> OwnedBytes {
        let layout = layout(len);
        // SAFETY: the layout has at least one byte.
        let at = unsafe { alloc_zeroed(layout) };
        match NonNull::new(at) {
            Some(at) => OwnedBytes { at, len },
            None => handle_alloc_error(layout),
        }
    }

    /// A packed copy of a source.
    pub fn packed(from: &Source<'_>) -> OwnedBytes {
        let bytes = OwnedBytes::zeroed(from.len());
        // SAFETY: just made, with room for all of the stream.
        unsafe { Cursor::new().pack(from, bytes.at.as_ptr(), bytes.len) };
        bytes
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of the first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.at.as_ptr()
    }

    /// All bytes; not while an operation uses them.
    pub fn as_slice(&mut self) -> &[u8] {
        // SAFETY: initialised when allocated; the caller of `lend_to_write` promises not to look
        // while a target is in use.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.len) }
    }

    /// A source for an operation that outlives every borrow of this value.
    ///
    /// # Safety
    /// This value is not dropped before the operation that gets the source has reported its
    /// completion.
    pub unsafe fn lend(&self) -> Source<'static> {
        // SAFETY: the allocation lives until this is dropped, which is after the operation.
        unsafe { Source::new(Region::dense(self.at.as_ptr(), self.len)) }
    }

    /// The same for an operation that writes.
    ///
    /// # Safety
    /// This value is not dropped, nor its bytes read, before the operation that gets the target has
    /// reported its completion.
    pub unsafe fn lend_to_write(&self) -> Target<'static> {
        // SAFETY: the allocation lives until this is dropped, which is after the operation, and its
        // bytes are not read meanwhile.
        unsafe { Target::new(Region::dense(self.at.as_ptr(), self.len)) }
    }
}

impl From<&[u8]> for OwnedBytes {
    fn from(bytes: &[u8]) -> OwnedBytes {
        OwnedBytes::packed(&Source::of(bytes))
    }
}

impl Drop for OwnedBytes {
    fn drop(&mut self) {
        // SAFETY: allocated with the same layout, and dropped once.
        unsafe { dealloc(self.at.as_ptr(), layout(self.len)) };
    }
}

fn layout(len: usize) -> Layout {
    match Layout::from_size_align(len.max(1), ALIGN) {
        Ok(layout) => layout,
        Err(_) => unreachable!("no buffer is longer than the address space"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_where_they_are_when_their_owner_moves() {
        let bytes = OwnedBytes::zeroed(24);
        // SAFETY: `bytes` lives to the end of the test and is read after the last use of the
        // target.
        let target = unsafe { bytes.lend_to_write() };
        let mut moved = Box::new(Some(bytes));
        assert_eq!(Cursor::new().unpack_from(&target, &[7; 30]), 24);
        assert_eq!(moved.take().unwrap().as_slice(), [7; 24]);
    }

    #[test]
    fn a_copy_of_a_slice_and_nothing() {
        assert_eq!(OwnedBytes::from(&b"abc"[..]).as_slice(), b"abc");
        assert!(OwnedBytes::zeroed(0).is_empty());
        assert_eq!(OwnedBytes::zeroed(3).as_ptr().addr() % ALIGN, 0);
    }
}
