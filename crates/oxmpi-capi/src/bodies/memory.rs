//! Memory that the library gives to the program. It lies in the job's segment, so that a window over it is as good as one
//! that the library allocated: other ranks map it.

use super::{check_place, store};
use crate::call::Call;
use crate::infos;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Info as InfoHandle;
use oxmpi_abi::types::Aint;
use oxmpi_abi::{Result, bail};
use oxmpi_base::arena::{Area, Mapping};
use oxmpi_core::info::Info;
use oxmpi_core::process::Process;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where a piece of memory comes from.
enum Origin {
    Segment(Mapping),
    /// From the C library, where the segment has nothing that fits.
    Heap,
}

struct Memory {
    /// By address: what `MPI_Alloc_mem` gave and `MPI_Free_mem` has not taken back.
    given: BTreeMap<usize, Origin>,
    kept: Kept,
}

static MEMORY: Mutex<Memory> =
    Mutex::new(Memory { given: BTreeMap::new(), kept: Kept { by_size: BTreeMap::new(), bytes: 0 } });

fn memory() -> MutexGuard<'static, Memory> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory that was freed and is given again: programs that allocate for every operation would spend their time in the kernel,
/// which clears the pages each time.
struct Kept {
    by_size: BTreeMap<usize, Vec<Mapping>>,
    bytes: usize,
}

/// What is kept at most, in all.
const MOST_KEPT: usize = 16 << 20;

impl Kept {
    /// One that has so many bytes and not many more.
    fn take(&mut self, bytes: usize) -> Option<Mapping> {
        let bytes = bytes.max(1).checked_next_multiple_of(PAGE)?;
        let (_, found) =
            self.by_size.range_mut(bytes..=bytes.saturating_add(bytes / 4)).find(|(_, all)| !all.is_empty())?;
        let mapping = found.pop()?;
        self.bytes -= mapping.area().bytes;
        Some(mapping)
    }

    /// Gives it back to the caller where there is no room.
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

/// Enough for every predefined type, and no two allocations share a cache line.
const DEFAULT_ALIGNMENT: usize = 64;
const PAGE: usize = 4096;

/// Each is a mapping of its own, of which the kernel allows some ten thousand.
const MOST_IN_SEGMENT: usize = 8192;

pub unsafe fn alloc_mem(cx: &Call, size: Aint, info: InfoHandle, baseptr: *mut c_void) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(baseptr, "baseptr")?;
    let Ok(bytes) = usize::try_from(size) else {
        bail!(MPI_ERR_ARG, "the size is {size}, which is negative");
    };
    let alignment = minimum_alignment(&infos::get(info)?)?;
    let mut memory = memory();
    let shared = if memory.given.len() < MOST_IN_SEGMENT && alignment <= PAGE {
        memory.kept.take(bytes).or_else(|| in_segment(&mut guard, bytes))
    } else {
        None
    };
    let (base, origin) = match shared {
        Some(mapping) => (mapping.base().as_ptr().cast(), Origin::Segment(mapping)),
        None => {
            let mut base = std::ptr::null_mut();
            // SAFETY: the alignment is a power of two and at least that of a pointer. One byte at least, so that every
            // allocation has an address of its own.
            let failed = unsafe { libc::posix_memalign(&mut base, alignment, bytes.max(1)) };
            if failed != 0 || base.is_null() {
                bail!(MPI_ERR_NO_MEM, "no memory for {size} bytes aligned to {alignment}");
            }
            (base, Origin::Heap)
        }
    };
    memory.given.insert(base as usize, origin);
    // SAFETY: a pointer to a pointer, checked not to be null.
    unsafe { store(baseptr.cast::<*mut c_void>(), base, "baseptr") }
}

fn in_segment(process: &mut Process, bytes: usize) -> Option<Mapping> {
    if bytes as u64 > physical() {
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

/// What the machine has: more would only be found missing when it is used, by a signal.
pub(crate) fn physical() -> u64 {
    // SAFETY: plain old data, filled in by the call.
    unsafe {
        let mut info = std::mem::zeroed::<libc::sysinfo>();
        if libc::sysinfo(&mut info) != 0 {
            return u64::MAX;
        }
        (info.totalram + info.totalswap).saturating_mul(u64::from(info.mem_unit.max(1)))
    }
}

pub(super) fn minimum_alignment(info: &Info) -> Result<usize> {
    const KEY: &str = "mpi_minimum_memory_alignment";
    let Some(wanted) = info.text(KEY) else { return Ok(DEFAULT_ALIGNMENT) };
    match wanted.parse::<usize>() {
        Ok(bytes) if bytes.is_power_of_two() => Ok(bytes.max(DEFAULT_ALIGNMENT)),
        _ => bail!(MPI_ERR_INFO_VALUE, "{KEY} is \"{wanted}\"; it must be a power of two"),
    }
}

pub unsafe fn free_mem(cx: &Call, base: *mut c_void) -> Result<()> {
    let mut guard = cx.enter()?;
    if base.is_null() {
        return Ok(());
    }
    let mut memory = memory();
    match memory.given.remove(&(base as usize)) {
        None => bail!(MPI_ERR_BASE, "{base:p} was not allocated by MPI_Alloc_mem, or is free already"),
        Some(Origin::Segment(mapping)) => {
            if let Some(mapping) = memory.kept.keep(mapping) {
                let area = mapping.area();
                drop(mapping);
                guard.engine.node_mut().release(area);
            }
        }
        // SAFETY: came from `posix_memalign`, and nobody freed it before.
        Some(Origin::Heap) => unsafe { libc::free(base) },
    }
    Ok(())
}

/// The area of the segment in which a run of memory lies, and where in it, when `MPI_Alloc_mem` gave it.
pub(crate) fn area_of(address: usize, bytes: usize) -> Option<(Area, usize)> {
    let memory = memory();
    let (base, origin) = memory.given.range(..=address).next_back()?;
    let Origin::Segment(mapping) = origin else { return None };
    let (area, offset) = (mapping.area(), address - base);
    (offset <= area.bytes && area.bytes - offset >= bytes).then_some((area, offset))
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
