//! Memory that `MPI_Alloc_mem` gave to the program: what it has now, and what it gave back and may get again. Here is only
//! the account; `memory.rs` of the crate `oxmpi` allocates.

use oxmpi_base::arena::{Area, Mapping};
use std::alloc::Layout;
use std::collections::BTreeMap;

/// Where a piece of memory comes from.
pub enum Origin {
    /// The job's segment: other ranks can map it.
    Segment(Mapping),
    /// The heap, where the segment has nothing that fits.
    Heap(Layout),
}

#[derive(Default)]
pub struct Allocations {
    /// By address.
    given: BTreeMap<usize, Origin>,
    kept: Kept,
}

impl Allocations {
    /// How many pieces the program has.
    pub fn len(&self) -> usize {
        self.given.len()
    }

    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// The program gets memory at this address.
    pub fn give(&mut self, address: usize, origin: Origin) {
        self.given.insert(address, origin);
    }

    /// The program gives memory back; `None` when it does not have it.
    pub fn take_back(&mut self, address: usize) -> Option<Origin> {
        self.given.remove(&address)
    }

    /// Memory that was given back and has so many bytes and not many more.
    pub fn reuse(&mut self, bytes: usize) -> Option<Mapping> {
        self.kept.take(bytes)
    }

    /// Keeps memory for [`reuse`](Allocations::reuse); returns it where too much is kept already.
    pub fn keep(&mut self, mapping: Mapping) -> Option<Mapping> {
        self.kept.keep(mapping)
    }

    /// The area of the segment in which a run of the program's memory lies, and where in it.
    pub fn area_of(&self, address: usize, bytes: usize) -> Option<(Area, usize)> {
        let (base, origin) = self.given.range(..=address).next_back()?;
        let Origin::Segment(mapping) = origin else { return None };
        let (area, offset) = (mapping.area(), address - base);
        (offset <= area.bytes && area.bytes - offset >= bytes).then_some((area, offset))
    }
}

/// Memory that was freed and is given again: programs that allocate for every operation would spend their time in the kernel,
/// which clears the pages each time.
#[derive(Default)]
struct Kept {
    by_size: BTreeMap<usize, Vec<Mapping>>,
    bytes: usize,
}

/// What is kept at most, in all.
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
