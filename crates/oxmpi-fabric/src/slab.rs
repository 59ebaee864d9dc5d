//! Buffers of an endpoint, in pieces that are registered as a whole. A buffer has a context of its own, which the provider
//! may write to while an operation is under way.

use crate::PACKET;
use crate::memory::Region;
use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::ffi::c_void;
use std::ptr::NonNull;

/// Buffers of a slab.
pub const BUFFERS: usize = 8;
/// A context of a provider that wants one (`FI_CONTEXT2`): eight words.
const CONTEXT: usize = 64;
const BYTES: usize = BUFFERS * (PACKET + CONTEXT);

pub struct Slab {
    /// The buffers, then their contexts.
    memory: NonNull<u8>,
    /// Where the provider wants one.
    pub region: Option<Region>,
}

impl Slab {
    pub fn new() -> Slab {
        // SAFETY: the layout has a size.
        let memory = unsafe { alloc_zeroed(Slab::layout()) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(Slab::layout()));
        Slab { memory, region: None }
    }

    fn layout() -> Layout {
        const LAYOUT: Layout = match Layout::from_size_align(BYTES, 4096) {
            Ok(layout) => layout,
            Err(_) => panic!("the size of a slab"),
        };
        LAYOUT
    }

    /// All memory of it, to be registered.
    pub fn memory(&self) -> (*const c_void, usize) {
        (self.memory.as_ptr().cast(), BYTES)
    }

    /// The descriptor for operations on its buffers.
    pub fn descriptor(&self) -> *mut c_void {
        self.region.as_ref().map_or(std::ptr::null_mut(), Region::descriptor)
    }

    pub fn buffer(&self, index: usize) -> NonNull<u8> {
        assert!(index < BUFFERS);
        // SAFETY: the buffer lies within the memory.
        unsafe { self.memory.add(index * PACKET) }
    }

    pub fn context(&self, index: usize) -> *mut c_void {
        assert!(index < BUFFERS);
        // SAFETY: the context lies within the memory.
        unsafe { self.memory.add(BUFFERS * PACKET + index * CONTEXT) }.as_ptr().cast()
    }

    /// The buffer with this context.
    pub fn index_of(&self, context: *const c_void) -> Option<usize> {
        let distance = (context as usize).checked_sub(self.context(0) as usize)?;
        let index = distance / CONTEXT;
        (distance % CONTEXT == 0 && index < BUFFERS).then_some(index)
    }
}
