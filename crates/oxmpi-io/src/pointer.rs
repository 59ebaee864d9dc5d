//! The shared file pointer: a word in memory that all processes of an open file map.

use oxmpi_base::arena::Mapping;
use std::sync::atomic::{AtomicI64, Ordering};

/// Counts etypes of the view. A process that adds to it owns the range between the old and the new
/// value, so no process waits for another. The word publishes no other data, so relaxed orderings
/// are enough.
pub enum SharedPointer {
    /// The pointer of a file that one process has opened alone.
    Own(AtomicI64),
    /// The first word of an area that all processes have mapped.
    Mapped(Mapping),
}

impl SharedPointer {
    fn word(&self) -> &AtomicI64 {
        match self {
            SharedPointer::Own(word) => word,
            // SAFETY: a mapping has at least one page and is page-aligned; all ranks access the
            // word as an atomic.
            SharedPointer::Mapped(mapping) => unsafe { mapping.base().cast::<AtomicI64>().as_ref() },
        }
    }

    pub fn get(&self) -> i64 {
        self.word().load(Ordering::Relaxed)
    }

    pub fn set(&self, position: i64) {
        self.word().store(position, Ordering::Relaxed);
    }

    /// Takes the next etypes; returns where they begin.
    pub fn take(&self, etypes: i64) -> i64 {
        self.word().fetch_add(etypes, Ordering::Relaxed)
    }

    /// Gives back what could not be read, unless another process has moved the pointer since.
    pub fn give_back(&self, position: i64, taken: i64, used: i64) {
        let (from, to) = (position + taken, position + used);
        let _ = self.word().compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    }
}
