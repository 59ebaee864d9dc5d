//! Memory from `MPI_Alloc_mem`: what the program has now, and freed memory for reuse. Only the
//! bookkeeping; `memory.rs` of the crate `oxmpi` allocates.

use oxmpi_base::arena::{Area, Mapping};
use std::alloc::Layout;
use std::collections::BTreeMap;

/// Where a piece of memory comes from.
pub enum Origin {
    /// The job's segment: other ranks can map it.
    Segment(Mapping),
    /// The heap, if the segment has no room.
    Heap(Layout),
}

#[derive(Default)]
pub struct Allocations {
    /// By address.
    given: BTreeMap<usize, Origin>,
    kept: Kept,
}

impl Allocations {
    /// The number of pieces that the program has.
    pub fn len(&self) -> usize {
        self.given.len()
    }

    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Records memory for the program at this address.
    pub fn give(&mut self, address: usize, origin: Origin) {
        self.given.insert(address, origin);
    }

    /// Removes memory that the program frees; `None` when it does not have it.
    pub fn take_back(&mut self, address: usize) -> Option<Origin> {
        self.given.remove(&address)
    }

    /// Freed memory of at least so many bytes, and not many more.
    pub fn reuse(&mut self, bytes: usize) -> Option<Mapping> {
        self.kept.take(bytes)
    }

    /// Keeps memory for [`reuse`](Allocations::reuse); returns it if too much is already kept.
    pub fn keep(&mut self, mapping: Mapping) -> Option<Mapping> {
        self.kept.keep(mapping)
    }

    /// The area of the segment that contains a run of the program's memory, and the offset in it.
    pub fn area_of(&self, address: usize, bytes: usize) -> Option<(Area, usize)> {
        let (base, origin) = self.given.range(..=address).next_back()?;
        let Origin::Segment(mapping) = origin else { return None };
        let (area, offset) = (mapping.area(), address - base);
        (offset <= area.bytes && area.bytes - offset >= bytes).then_some((area, offset))
    }
}

/// Freed memory for reuse: programs that allocate for every operation would spend their time in the
/// kernel, which clears the pages each time.
#[derive(Default)]
struct Kept {
    by_size: BTreeMap<usize, Vec<Mapping>>,
    bytes: usize,
}

/// The most bytes that are kept in all.
const MOST_KEPT: usize = 16 << 20;
const PAGE: usize = 4096;

impl Kept {
    fn take(&mut self, bytes: usize) -> Option<Mapping> {
        let bytes = bytes.max(1).checked_next_multiple_of(PAGE)?;
        let (_, found) =
            self.by_size.range_mut(bytes..=bytes.saturating_add(bytes / 4)).find(|(_, all)| !all.is_empty())?;
        let mapping = found.pop()?;
        self.bytes -= mapping.area().bytes;
        Some(mapping)
    }

    fn keep(&mut self, mapping: Mapping) -> Option<Mapping> {
        let bytes = mapping.area().bytes;
        if self.bytes + bytes > MOST_KEPT {
            return Some(mapping);
        }
        self.bytes += bytes;
        self.by_size.entry(bytes).or_default().push(mapping);
        None
    }
}
