//! Moves buffers that are communicated repeatedly to huge pages.
//!
//! A copy between processes makes the kernel look up each page: 512 of them for the range of one
//! huge page. So a buffer that is used again is moved to huge pages (`MADV_COLLAPSE`), once, in
//! whole regions of 2 MiB. Only regions qualify whose pages are nearly all present and private to
//! this process: so the process hardly grows, and other data in such a region is not affected. If
//! the kernel cannot report this (Linux before 6.7), or its administrator forbids huge pages,
//! nothing is moved.
//!
//! The table is global, unlike MPI's objects, because it describes memory of the whole process.

use crate::segment::HUGE_PAGE;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, TryLockError};

/// Buffers of fewer bytes are ignored.
pub const LONG: usize = 512 << 10;

/// The use of a buffer at which its pages are examined for the first time.
const FIRST_LOOK: u16 = 3;
/// Uses between the first and the second examination; after that the number doubles. Examinations
/// are repeated because the buffer may have been freed and a new one lie there. Moving a page takes
/// as long as a few copies of it, so short-lived buffers must not be moved often.
const SECOND_LOOK: u16 = 16;
const LAST_PAUSE: u16 = 256;

/// Bytes of a region that may be missing: allocators leave a page between two buffers.
const MISSING: usize = HUGE_PAGE / 16;
/// Maximum number of runs of present pages in a region.
const RUNS: usize = 8;

/// Maximum number of regions of a buffer that are examined: 1 GiB, which takes a third of a second
/// to move, once.
const REGIONS: usize = 512;

/// Number of buffers that are remembered.
const TRACKED: usize = 1024;

static ALLOWED: AtomicBool = AtomicBool::new(false);
static TABLE: Mutex<Table> = Mutex::new(Table::EMPTY);

struct Table {
    buffers: [TrackedBuffer; TRACKED],
}

#[derive(Clone, Copy)]
struct TrackedBuffer {
    address: usize,
    bytes: usize,
    /// Uses since the last examination, and uses until the next one.
    uses: u16,
    pause: u16,
}

/// The kernel's information about a region.
#[derive(Debug, PartialEq, Eq)]
enum Pages {
    /// Nearly all pages are present, and small.
    Small,
    Huge,
    /// Too few pages are present, or they are shared.
    Other,
    /// The kernel gives no information.
    Unknown,
}

/// Turns moving on or off. It stays off where the kernel cannot do it or its administrator forbids
/// it.
pub fn allow(wanted: bool) {
    let is_never = || {
        let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        setting.is_ok_and(|setting| setting.contains("[never]"))
    };
    let some_region = &raw const TABLE as usize / HUGE_PAGE;
    ALLOWED.store(wanted && !is_never() && pages_of(some_region) != Pages::Unknown, Relaxed);
}

/// Whether buffers are moved.
pub fn is_allowed() -> bool {
    ALLOWED.load(Relaxed)
}

/// Called when a buffer of at least [`LONG`] bytes is communicated.
#[cold]
pub fn used(address: usize, bytes: usize) {
    if !is_allowed() || bytes == 0 {
        return;
    }
    // Another thread uses the table: skip this use.
    let mut table = match TABLE.try_lock() {
        Ok(table) => table,
        Err(TryLockError::Poisoned(table)) => table.into_inner(),
        Err(TryLockError::WouldBlock) => return,
    };
    if table.count(address, bytes) {
        let last = address.saturating_add(bytes - 1) / HUGE_PAGE;
        for region in (address / HUGE_PAGE..=last).take(REGIONS) {
            if pages_of(region) == Pages::Small {
                collapse(region);
            }
        }
    }
}

impl Table {
    const EMPTY: Table = Table { buffers: [TrackedBuffer { address: 0, bytes: 0, uses: 0, pause: 0 }; TRACKED] };

    /// Counts a use. Returns whether the buffer must be examined now.
    fn count(&mut self, address: usize, bytes: usize) -> bool {
        // Addresses and lengths of buffers have many zero bits at their ends.
        let mixed = ((address ^ bytes.rotate_left(32)) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let buffer = &mut self.buffers[(mixed >> 32) as usize % TRACKED];
        if (buffer.address, buffer.bytes) != (address, bytes) {
            *buffer = TrackedBuffer { address, bytes, uses: 0, pause: FIRST_LOOK };
        }
        buffer.uses += 1;
        let due = buffer.uses >= buffer.pause;
        if due {
            buffer.uses = 0;
            buffer.pause = (buffer.pause * 2).clamp(SECOND_LOOK, LAST_PAUSE);
        }
        due
    }
}

/// Moves a region to a huge page. It is not an error if there is no huge page, or if the region has
/// several kinds of memory.
fn collapse(region: usize) {
    // SAFETY: neither the content of the memory nor its protection changes.
    unsafe { libc::madvise((region * HUGE_PAGE) as *mut _, HUGE_PAGE, libc::MADV_COLLAPSE) };
}

/// The kernel's structure for `PAGEMAP_SCAN`.
#[repr(C)]
#[derive(Default)]
struct Scan {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    found: u64,
    found_len: u64,
    max_pages: u64,
    inverted: u64,
    mask: u64,
    any_of: u64,
    returned: u64,
}

#[repr(C)]
struct Found {
    start: u64,
    end: u64,
    categories: u64,
}

const IS_FILE: u64 = 1 << 2;
const IS_PRESENT: u64 = 1 << 3;
const IS_ZERO: u64 = 1 << 5;
const IS_HUGE: u64 = 1 << 6;

const PAGEMAP_SCAN: libc::Ioctl = (3 << 30 | (size_of::<Scan>() as u32) << 16 | (b'f' as u32) << 8 | 16) as libc::Ioctl;

fn pages_of(region: usize) -> Pages {
    let Ok(map) = File::open("/proc/self/pagemap") else { return Pages::Unknown };
    let mut found = [const { Found { start: 0, end: 0, categories: 0 } }; RUNS];
    let mut scan = Scan {
        size: size_of::<Scan>() as u64,
        start: (region * HUGE_PAGE) as u64,
        end: ((region + 1) * HUGE_PAGE) as u64,
        found: found.as_mut_ptr() as u64,
        found_len: RUNS as u64,
        // Present pages that belong neither to a file (which includes shared memory) nor are the
        // common zero page.
        mask: IS_PRESENT | IS_FILE | IS_ZERO,
        inverted: IS_FILE | IS_ZERO,
        returned: IS_HUGE,
        ..Scan::default()
    };
    // SAFETY: the structure is as the kernel wants it, with room for so many answers.
    let answers = unsafe { libc::ioctl(map.as_raw_fd(), PAGEMAP_SCAN, &raw mut scan) };
    let Some(found) = usize::try_from(answers).ok().and_then(|answers| found.get(..answers)) else {
        return Pages::Unknown;
    };
    let bytes: u64 = found.iter().map(|run| run.end - run.start).sum();
    if found.iter().any(|run| run.categories & IS_HUGE != 0) {
        Pages::Huge
    } else if bytes as usize >= HUGE_PAGE - MISSING {
        Pages::Small
    } else {
        Pages::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// New memory, aligned to huge pages, whose pages are not touched.
    fn memory(regions: usize, shared: i32) -> usize {
        let bytes = (regions + 1) * HUGE_PAGE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel picks the address.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, shared | libc::MAP_ANONYMOUS, -1, 0) };
        assert_ne!(base, libc::MAP_FAILED);
        (base as usize).next_multiple_of(HUGE_PAGE)
    }

    fn fill(address: usize, bytes: usize) {
        for page in (address..address + bytes).step_by(4096) {
            // SAFETY: the test's own memory.
            unsafe { (page as *mut u8).write(page as u8 | 1) };
        }
    }

    /// Whether this machine supports it.
    fn is_possible() -> bool {
        let at = memory(1, libc::MAP_PRIVATE);
        fill(at, HUGE_PAGE);
        if pages_of(at / HUGE_PAGE) == Pages::Unknown {
            return false;
        }
        collapse(at / HUGE_PAGE);
        pages_of(at / HUGE_PAGE) == Pages::Huge
    }

    #[test]
    fn what_comes_again_is_moved_and_stays_as_it_is() {
        if !is_possible() {
            return;
        }
        allow(true);
        let at = memory(3, libc::MAP_PRIVATE);
        let filled = 3 * HUGE_PAGE - MISSING - 4096;
        fill(at, HUGE_PAGE - 4096);
        fill(at + HUGE_PAGE, filled - HUGE_PAGE);
        // The buffer starts and ends within regions. In the first one a page is missing, in the
        // last one too many.
        let (buffer, bytes) = (at + HUGE_PAGE / 2, 2 * HUGE_PAGE);
        for _ in 0..FIRST_LOOK {
            assert_eq!(pages_of(at / HUGE_PAGE), Pages::Small);
            used(buffer, bytes);
        }
        assert_eq!([0, 1, 2].map(|region| pages_of(at / HUGE_PAGE + region)), [Pages::Huge, Pages::Huge, Pages::Other]);
        for page in (at..at + filled).step_by(4096).filter(|&page| page != at + HUGE_PAGE - 4096) {
            // SAFETY: the test's own memory.
            assert_eq!(unsafe { (page as *const u8).read() }, page as u8 | 1);
        }
    }

    #[test]
    fn shared_memory_and_none_are_let_alone() {
        if !is_possible() {
            return;
        }
        let at = memory(1, libc::MAP_SHARED);
        fill(at, HUGE_PAGE);
        assert_eq!(pages_of(at / HUGE_PAGE), Pages::Other);
        let untouched = memory(1, libc::MAP_PRIVATE);
        assert_eq!(pages_of(untouched / HUGE_PAGE), Pages::Other);
        assert_eq!(pages_of(1), Pages::Other);
    }

    #[test]
    fn looks_become_rare() {
        let mut table = Table::EMPTY;
        let mut looks = Vec::new();
        for uses in 1..5000u32 {
            if table.count(0x7000_0000, LONG) {
                looks.push(uses);
            }
            // Other buffers have their own counts.
            table.count(0x7000_0000 + 64 * LONG, LONG + uses as usize % 2);
        }
        assert_eq!(looks[..5], [3, 19, 51, 115, 243]);
        assert!(looks.windows(2).all(|pair| pair[1] - pair[0] <= u32::from(LAST_PAUSE)));
    }
}
