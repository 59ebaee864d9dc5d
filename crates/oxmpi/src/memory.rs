//! Memory from `MPI_Alloc_mem`. It lies in the job's segment, so that a window over it is as fast
//! as one that the library allocated: other ranks map it.

use oxmpi_abi::constants::*;
use oxmpi_abi::{Result, bail};
use oxmpi_base::arena::Mapping;
use oxmpi_base::limits::physical_memory;
use oxmpi_core::call::Guard;
use oxmpi_core::info::Info;
use oxmpi_core::memory::Origin;
use oxmpi_core::process::Process;
use std::alloc::Layout;

/// Enough for every predefined type, and no two allocations share a cache line.
const DEFAULT_ALIGNMENT: usize = 64;
const PAGE: usize = 4096;

/// Each allocation is a mapping of its own, and the kernel allows some ten thousand.
const MOST_IN_SEGMENT: usize = 8192;

/// Allocates memory for the program, with an alignment from [`minimum_alignment`].
pub fn allocate(guard: &mut Guard, bytes: usize, alignment: usize) -> Result<*mut u8> {
    let shared = if guard.memory.len() < MOST_IN_SEGMENT && alignment <= PAGE {
        guard.memory.reuse(bytes).or_else(|| in_segment(guard, bytes))
    } else {
        None
    };
    if let Some(mapping) = shared {
        let base = mapping.base().as_ptr();
        guard.memory.give(base.addr(), Origin::Segment(mapping));
        return Ok(base);
    }
    // At least one byte, so that every allocation has its own address.
    if let Ok(layout) = Layout::from_size_align(bytes.max(1), alignment) {
        // SAFETY: the layout has at least one byte.
        let base = unsafe { std::alloc::alloc(layout) };
        if !base.is_null() {
            guard.memory.give(base.expose_provenance(), Origin::Heap(layout));
            return Ok(base);
        }
    }
    bail!(MPI_ERR_NO_MEM, "no memory for {bytes} bytes aligned to {alignment}")
}

/// Frees memory from [`allocate`], by its address.
///
/// # Safety
/// Nobody uses the memory any more.
pub unsafe fn free(guard: &mut Guard, address: usize) -> Result<()> {
    match guard.memory.take_back(address) {
        None => bail!(MPI_ERR_BASE, "{address:#x} was not allocated by MPI_Alloc_mem, or is free already"),
        Some(Origin::Segment(mapping)) => {
            if let Some(mapping) = guard.memory.keep(mapping) {
                let area = mapping.area();
                drop(mapping);
                guard.engine.node_mut().release(area);
            }
        }
        // SAFETY: `allocate` allocated it with this layout and recorded it once; the record is gone
        // now, so it is not freed again.
        Some(Origin::Heap(layout)) => unsafe {
            std::alloc::dealloc(std::ptr::with_exposed_provenance_mut(address), layout);
        },
    }
    Ok(())
}

fn in_segment(process: &mut Process, bytes: usize) -> Option<Mapping> {
    if bytes as u64 > physical_memory() {
        return None;
    }
    let area = process.engine.node_mut().allocate(bytes).ok()?;
    match process.engine.node().map(process.engine.node().own(), area) {
        Ok(mapping) => Some(mapping),
        Err(_) => {
            process.engine.node_mut().release(area);
            None
        }
    }
}

/// The alignment that the hints of an allocation request.
pub fn minimum_alignment(info: &Info) -> Result<usize> {
    const KEY: &str = "mpi_minimum_memory_alignment";
    let Some(wanted) = info.text(KEY) else { return Ok(DEFAULT_ALIGNMENT) };
    match wanted.parse::<usize>() {
        Ok(bytes) if bytes.is_power_of_two() => Ok(bytes.max(DEFAULT_ALIGNMENT)),
        _ => bail!(MPI_ERR_INFO_VALUE, "{KEY} is \"{wanted}\"; it must be a power of two"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alignments() {
        let with = |value: &str| {
            let mut info = Info::new();
            info.set(b"mpi_minimum_memory_alignment", value.as_bytes()).unwrap();
            minimum_alignment(&info).map_err(|error| error.class())
        };
        assert_eq!(minimum_alignment(&Info::new()), Ok(64));
        assert_eq!([with("1"), with("64"), with(" 4096 ")], [Ok(64), Ok(64), Ok(4096)]);
        for wrong in ["", "0", "48", "-64", "many"] {
            assert_eq!(with(wrong), Err(MPI_ERR_INFO_VALUE));
        }
    }
}
