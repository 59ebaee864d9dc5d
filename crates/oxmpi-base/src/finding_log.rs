//! What a rank has found wrong with the program (`--check`), for `mpirun` to read while the job runs and after its end, so
//! that a crash right after a finding loses nothing.
//!
//! The rank appends lines, and `mpirun` takes them. The reader believes nothing: the bytes may be anything.

use crate::callers::CALLERS;
use crate::sync::{AtomicU64, Ordering};
use crate::wait_record::{WaitRecord, Waits};

/// Lines that are kept until they are read; more are counted.
pub const ENTRIES: usize = 64;

/// Zeroes are an empty log.
#[repr(C, align(64))]
pub struct FindingLog {
    /// Lines that were ever written.
    written: AtomicU64,
    /// Lines that were ever read.
    read: AtomicU64,
    /// Lines that found no room.
    lost: AtomicU64,
    _pad: [u64; 5],
    entries: [WaitRecord; ENTRIES],
}

impl FindingLog {
    /// Appends a line with the return addresses of a call, or counts it as lost. Only the owner does, one thread at a time.
    pub fn push(&self, line: &str, callers: [u64; CALLERS]) {
        let written = self.written.load(Ordering::Relaxed);
        // Acquire: what the reader has read may be overwritten.
        if written.wrapping_sub(self.read.load(Ordering::Acquire)) >= ENTRIES as u64 {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.entries[(written % ENTRIES as u64) as usize].write(line, callers);
        self.written.store(written.wrapping_add(1), Ordering::Release);
    }

    /// The lines that were not read before. Only one process does, one thread at a time.
    pub fn take(&self) -> Vec<Waits> {
        let written = self.written.load(Ordering::Acquire);
        let read = self.read.load(Ordering::Relaxed);
        let new = written.wrapping_sub(read).min(ENTRIES as u64);
        let line = |number: u64| self.entries[(read.wrapping_add(number) % ENTRIES as u64) as usize].read();
        let lines = (0..new).filter_map(line).collect();
        self.read.store(written, Ordering::Release);
        lines
    }

    /// Whether all lines were taken.
    pub fn is_read(&self) -> bool {
        self.read.load(Ordering::Acquire) == self.written.load(Ordering::Relaxed)
    }

    /// How many lines found no room since the last question.
    pub fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::alloc::{Layout, alloc_zeroed};

    fn empty() -> Box<FindingLog> {
        // SAFETY: zeroes are an empty log, and the memory has its layout.
        unsafe { Box::from_raw(alloc_zeroed(Layout::new::<FindingLog>()).cast()) }
    }

    #[test]
    fn lines_are_taken_once_and_in_order() {
        let log = empty();
        assert_eq!(log.take(), Vec::new());
        for round in 0..3 {
            for line in 0..50 {
                log.push(&format!("{round} {line}"), [line, 7]);
            }
            let taken = log.take();
            assert_eq!((taken.len(), &taken[49]), (50, &Waits { text: format!("{round} 49"), callers: [49, 7] }));
        }
        assert_eq!(log.take_lost(), 0);
        assert!(log.is_read());
        log.push("more", [0, 0]);
        assert!(!log.is_read());
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let log = empty();
        (0..ENTRIES + 3).for_each(|line| log.push(&line.to_string(), [0, 0]));
        assert_eq!(log.take().len(), ENTRIES);
        assert_eq!((log.take_lost(), log.take_lost()), (3, 0));
        log.push("more", [0, 0]);
        assert_eq!(log.take().len(), 1);
    }

    #[test]
    fn any_words_can_be_read() {
        let log = empty();
        log.written.store(u64::MAX, Ordering::Relaxed);
        assert_eq!(log.take(), Vec::new());
        log.written.store(3, Ordering::Relaxed);
        assert_eq!(log.take().len(), 0);
    }
}
