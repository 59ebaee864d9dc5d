//! Shared memory of the ranks of a node beyond the rings: windows, and the boards of collective
//! operations.
//!
//! Each rank has an arena, a part of the segment's file, and only this rank allocates areas from
//! it. A rank that receives an [`Area`] can map it. Nothing is mapped before it is needed, and an
//! area uses memory only where it has been written. A new area reads as zeroes.

use crate::segment::{HUGE_PAGE, PAGE, Segment, map_shared};
use std::collections::BTreeMap;
use std::io;
use std::ptr::NonNull;

/// A range of whole pages in the segment's file. Ranks send each other its two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    pub offset: usize,
    pub bytes: usize,
}

/// The allocator of a rank's own arena.
pub struct Arena {
    /// Free ranges by offset, no two of them adjacent.
    free: BTreeMap<usize, usize>,
    bytes: usize,
}

impl Arena {
    pub fn new(segment: &Segment, rank: usize) -> Arena {
        let (start, end) = segment.layout().arena(rank);
        Arena { free: BTreeMap::from([(start, end - start)]), bytes: end - start }
    }

    /// Bytes of the allocated areas.
    pub fn given_out(&self) -> usize {
        self.bytes - self.free.values().sum::<usize>()
    }

    /// Allocates at least so many bytes; `None` when the arena is full.
    pub fn take(&mut self, bytes: usize) -> Option<Area> {
        // Align large areas so that the kernel can use huge pages.
        let align = if bytes >= HUGE_PAGE { HUGE_PAGE } else { PAGE };
        let bytes = bytes.max(1).checked_next_multiple_of(PAGE)?;
        let (start, length, offset) = self.free.iter().find_map(|(&start, &length)| {
            let offset = start.next_multiple_of(align);
            (offset - start <= length && length - (offset - start) >= bytes).then_some((start, length, offset))
        })?;
        self.free.remove(&start);
        if offset > start {
            self.free.insert(start, offset - start);
        }
        if start + length > offset + bytes {
            self.free.insert(offset + bytes, start + length - (offset + bytes));
        }
        Some(Area { offset, bytes })
    }

    /// Frees an area that is no longer in use and returns its memory to the kernel.
    pub fn give_back(&mut self, segment: &Segment, area: Area) {
        if !segment.clear(area) {
            // It may not read as zeroes, so it is never allocated again.
            return;
        }
        let Area { mut offset, mut bytes } = area;
        if let Some((&before, &length)) = self.free.range(..offset).next_back()
            && before + length == offset
        {
            self.free.remove(&before);
            (offset, bytes) = (before, length + bytes);
        }
        if let Some(length) = self.free.remove(&(offset + bytes)) {
            bytes += length;
        }
        self.free.insert(offset, bytes);
    }
}

/// An area mapped into this process; unmapped on drop.
pub struct Mapping {
    base: NonNull<u8>,
    area: Area,
}

// SAFETY: shared memory that lives until drop and is accessed through raw pointers only.
unsafe impl Send for Mapping {}
// SAFETY: `&Mapping` gives out raw pointers only, which are used under the caller's responsibility.
unsafe impl Sync for Mapping {}

impl Mapping {
    pub fn new(segment: &Segment, area: Area) -> io::Result<Mapping> {
        Ok(Mapping { base: map_shared(segment.file(), area.offset, area.bytes)?, area })
    }

    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    pub fn area(&self) -> Area {
        self.area
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and pointers into it are not used beyond it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.area.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_apart_and_come_back_as_zeroes() {
        let (_fd, segment) = Segment::create(3, 2).unwrap();
        let mut arena = Arena::new(&segment, 1);
        let before = arena.free.clone();
        let areas: Vec<Area> = [1, 4096, 3 << 20, 5000, 0].iter().map(|&bytes| arena.take(bytes).unwrap()).collect();
        let (start, end) = segment.layout().arena(1);
        for (index, a) in areas.iter().enumerate() {
            assert!(a.offset >= start && a.offset + a.bytes <= end && a.bytes > 0);
            assert!(areas[..index].iter().all(|b| a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset));
        }
        assert_eq!(areas[2].offset % HUGE_PAGE, 0);
        let mapping = Mapping::new(&segment, areas[3]).unwrap();
        // SAFETY: mapped, and two pages long.
        unsafe {
            mapping.base().add(5000).write(7);
            let again = Mapping::new(&segment, areas[3]).unwrap();
            assert_eq!(again.base().add(5000).read(), 7);
        }
        for index in [1, 3, 0, 4, 2] {
            arena.give_back(&segment, areas[index]);
        }
        assert_eq!(arena.free, before, "all in one piece again");
        // SAFETY: still mapped.
        assert_eq!(unsafe { mapping.base().add(5000).read() }, 0);
        assert!(arena.take(usize::MAX).is_none());
    }
}
