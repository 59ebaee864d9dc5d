//! Watches a few bytes of memory for loads and stores by the program, with the debug registers of the CPU (`perf_event_open`).
//! For `--check` only. There are four of them for each thread; where the kernel does not lend them, or a debugger has them,
//! nothing is watched. Only the thread that sets a watchpoint is watched.
//!
//! The kernel notes the instruction that has used the bytes. Instructions of libraries are passed over: those of our own are
//! right, and functions of the C library may look at more bytes than the program has asked them for.

use crate::callers;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Acquire};

/// Bytes that are watched until the value is dropped.
pub struct Watchpoint {
    _event: File,
    ring: NonNull<u8>,
}

/// A watchpoint covers so many bytes, and begins at a multiple of them.
const MOST_BYTES: usize = 8;

/// A page for the head of the ring, and one for its records.
const PAGE: usize = 4096;
/// Where the kernel stores, in the first page, how much it has written.
const HEAD: usize = 1024;

/// What `perf_event_open` gets, in its second version.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    watches: u32,
    address: u64,
    len: u64,
}

const BREAKPOINT: u32 = 5;
const READ_AND_WRITE: u32 = 3;
const WITH_INSTRUCTION: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const SAMPLE: u32 = 9;

impl Watchpoint {
    /// Watches the first bytes from `start` on that one watchpoint can cover, of `bytes`. Also returns how many that are.
    pub fn new(start: usize, bytes: usize) -> Option<(Watchpoint, usize)> {
        if bytes == 0 {
            return None;
        }
        let mut len = MOST_BYTES;
        while len > bytes || !start.is_multiple_of(len) {
            len /= 2;
        }
        let attributes = Attributes {
            kind: BREAKPOINT,
            size: size_of::<Attributes>() as u32,
            sample_period: 1,
            sample_type: WITH_INSTRUCTION,
            flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            watches: READ_AND_WRITE,
            address: start as u64,
            len: len as u64,
            ..Attributes::default()
        };
        const CLOSE_ON_EXEC: libc::c_ulong = 8;
        // SAFETY: the kernel reads the attributes, of which it knows the size. This thread is watched, on every CPU.
        let event =
            unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, CLOSE_ON_EXEC) };
        if event < 0 {
            return None;
        }
        // SAFETY: a new descriptor, which nobody else has.
        let event = unsafe { File::from_raw_fd(event as i32) };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of memory of the kernel, at any place.
        let ring =
            unsafe { libc::mmap(std::ptr::null_mut(), 2 * PAGE, access, libc::MAP_SHARED, event.as_raw_fd(), 0) };
        if ring == libc::MAP_FAILED {
            return None;
        }
        Some((Watchpoint { _event: event, ring: NonNull::new(ring.cast())? }, len))
    }

    /// Behind the first instruction of the program that has used the bytes.
    pub fn used_at(&self) -> Option<u64> {
        // SAFETY: the head lies in the first page of the mapping; the kernel stores it as one word.
        let head = unsafe { self.ring.add(HEAD).cast::<AtomicU64>().as_ref() }.load(Acquire) as usize;
        let mut records = vec![0u8; head.min(PAGE)];
        // SAFETY: the second page has at least as many bytes, which the kernel does not write again: it stops when the page
        // is full, since nobody tells it that they were read.
        unsafe { self.ring.add(PAGE).copy_to_nonoverlapping(NonNull::from(&mut records[..]).cast(), records.len()) };
        let mut rest = &records[..];
        // A record is its kind, flags, its length, and here an address.
        while let Some((record, _)) = rest.split_first_chunk::<16>() {
            let [kind, len, address] = [0, 6, 8].map(|at| &record[at..]);
            let kind = u32::from_ne_bytes(*kind.first_chunk()?);
            let len = u16::from_ne_bytes(*len.first_chunk()?);
            let address = u64::from_ne_bytes(*address.first_chunk()?);
            if kind == SAMPLE && callers::is_program(address as usize) {
                return Some(address);
            }
            rest = rest.get(usize::from(len).max(8)..)?;
        }
        None
    }
}

impl Drop for Watchpoint {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` has made, which nobody uses any more.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), 2 * PAGE) };
    }
}

// SAFETY: the mapping belongs to the value, and any thread may read it.
unsafe impl Send for Watchpoint {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn uses_of_the_program_are_seen() {
        let mut memory = [0u64; 4];
        let start = memory.as_ptr().addr();
        let Some((watched, len)) = Watchpoint::new(start + 8, 16) else {
            eprintln!("the kernel lends no watchpoints here");
            return;
        };
        assert_eq!(len, 8);
        black_box(&mut memory)[0] = 1;
        black_box(&mut memory)[2] = 1;
        assert_eq!(watched.used_at(), None, "beside it");
        black_box(black_box(&memory)[1]);
        assert!(watched.used_at().is_some());
        let (short, len) = Watchpoint::new(start + 4, 3).expect("a second one");
        assert_eq!(len, 2);
        black_box(&mut memory)[0] = 7;
        assert!(short.used_at().is_some());
        assert!(Watchpoint::new(start, 0).is_none());
    }
}
