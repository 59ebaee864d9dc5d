//! The file pointer that all processes of an open file share: a word in memory that all of them map.

use oxmpi_base::arena::Mapping;
use std::sync::atomic::{AtomicI64, Ordering};

/// In etypes of the view. Whoever has added to it owns what lies between the old and the new value, so that nobody has to
/// wait for anybody; the word carries nothing but itself, and orderings are relaxed.
pub enum SharedPointer {
    /// Of a file that one process has opened alone.
    Own(AtomicI64),
    /// In memory that was mapped together, of which it is the first word.
    Mapped(Mapping),
}

impl SharedPointer {
    fn word(&self) -> &AtomicI64 {
        match self {
            SharedPointer::Own(word) => word,
            // SAFETY: a mapping begins with a page at least, aligned; all ranks use the word as an atomic.
            SharedPointer::Mapped(mapping) => unsafe { mapping.base().cast::<AtomicI64>().as_ref() },
        }
    }

    pub fn get(&self) -> i64 {
        self.word().load(Ordering::Relaxed)
    }

    pub fn set(&self, position: i64) {
        self.word().store(position, Ordering::Relaxed);
    }

    /// Takes the next etypes; where they begin.
    pub fn take(&self, etypes: i64) -> i64 {
        self.word().fetch_add(etypes, Ordering::Relaxed)
    }

    /// Gives back what was not there to be read, unless somebody has taken more since.
    pub fn give_back(&self, position: i64, taken: i64, used: i64) {
        let (from, to) = (position + taken, position + used);
        let _ = self.word().compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed);
    }
}
