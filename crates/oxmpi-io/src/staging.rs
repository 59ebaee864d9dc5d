//! The memory in which the processes of a node gather what they write together: two images of a
//! window of the file (`image.rs`), and what was found when they were read.
//!
//! It is shared memory, or memory of the process if it is alone on its node. All processes of the
//! node choose the same windows, since they compute them from the same facts.

use crate::image::Image;
use oxmpi_base::arena::{Area, Mapping};
use oxmpi_base::sync::shared::AtomicU64;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The largest number of processes of a node that read or write for the others.
pub const MOST_AGGREGATORS: usize = 64;
/// Bytes before the images: what each aggregator found in either image.
const HEADER: usize = 4096;
/// Images of a staging area.
pub const IMAGES: usize = 2;

const _: () = assert!(size_of::<[[Found; MOST_AGGREGATORS]; IMAGES]>() <= HEADER);

pub struct Staging {
    memory: Memory,
    /// The longest window.
    window: usize,
}

enum Memory {
    Shared(Mapping),
    Own(Own),
}

/// Zeroed memory of this process.
struct Own(Box<[std::cell::UnsafeCell<u64>]>);

// SAFETY: accessed like shared memory: as atomics, or by raw copies of threads that synchronise.
unsafe impl Send for Own {}
// SAFETY: as for `Send`.
unsafe impl Sync for Own {}

/// What an aggregator found when it read its slice of a window.
#[repr(C)]
struct Found {
    bytes: AtomicU64,
    /// The class of its error, or 0.
    class: AtomicU64,
}

impl Staging {
    /// Bytes of memory for windows of this length. Marks are bytes; there is at least one granule
    /// per byte of the window.
    pub const fn bytes(window: usize) -> usize {
        HEADER + IMAGES * 2 * window
    }

    /// In memory that all processes of the node have mapped, and that was zero. `None` if it is too
    /// short for such windows.
    pub fn shared(mapping: Mapping, window: usize) -> Option<Staging> {
        (mapping.area().bytes >= Staging::bytes(window)).then_some(Staging { memory: Memory::Shared(mapping), window })
    }

    /// For a process that is alone on its node.
    pub fn own(window: usize) -> Staging {
        let words = std::iter::repeat_with(|| 0.into()).take(Staging::bytes(window).div_ceil(8)).collect();
        Staging { memory: Memory::Own(Own(words)), window }
    }

    pub fn window(&self) -> usize {
        self.window
    }

    /// Its shared memory, which the process that allocated it frees.
    pub fn area(&self) -> Option<Area> {
        match &self.memory {
            Memory::Shared(mapping) => Some(mapping.area()),
            Memory::Own(_) => None,
        }
    }

    fn base(&self) -> NonNull<u8> {
        match &self.memory {
            Memory::Shared(mapping) => mapping.base(),
            Memory::Own(own) => NonNull::from(&*own.0).cast(),
        }
    }

    fn found(&self, image: usize, aggregator: usize) -> &Found {
        assert!(image < IMAGES && aggregator < MOST_AGGREGATORS);
        // SAFETY: inside the header, at which the memory begins, aligned for words; all processes
        // access it as atomics.
        unsafe { &*self.base().as_ptr().cast::<Found>().add(image * MOST_AGGREGATORS + aggregator) }
    }

    /// Says what an aggregator found: the number of bytes, or the class of its error. Messages
    /// between the processes order this.
    pub fn tell(&self, image: usize, aggregator: usize, found: Result<u64, i32>) {
        let words = self.found(image, aggregator);
        words.bytes.store(found.unwrap_or(0), Ordering::Relaxed);
        words.class.store(found.err().unwrap_or(0) as u32 as u64, Ordering::Relaxed);
    }

    /// What an aggregator said.
    pub fn told(&self, image: usize, aggregator: usize) -> Result<u64, i32> {
        let words = self.found(image, aggregator);
        match words.class.load(Ordering::Relaxed) {
            0 => Ok(words.bytes.load(Ordering::Relaxed)),
            class => Err(class as i32),
        }
    }

    /// One of its images, for a window of the file. The granule divides the beginning and the length
    /// of the window and of all parts.
    ///
    /// # Safety
    /// Processes that use the same image synchronise between filling and saving, and between
    /// loading and fetching.
    pub unsafe fn image(self: &Arc<Staging>, image: usize, at: u64, length: usize, granule: usize) -> Image {
        assert!(image < IMAGES && length <= self.window);
        let bytes = self.base().as_ptr().wrapping_add(HEADER + image * 2 * self.window);
        // SAFETY: both lie in the memory, which the image keeps; the processes synchronise: this
        // function's condition.
        unsafe { Image::new(Arc::clone(self), bytes, bytes.wrapping_add(self.window), at, length, granule) }
    }
}
