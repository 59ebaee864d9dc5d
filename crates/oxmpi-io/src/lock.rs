//! Keeps other processes out of a part of a file, for atomic mode. These are locks of the open file
//! description: other ranks, and other programs that use such locks, respect them, and they vanish
//! with the descriptor.

use crate::{File, failed};
use oxmpi_abi::Result;
use std::os::fd::AsRawFd;
use std::sync::{MutexGuard, PoisonError};
use std::{fs, io};

const WRITE: i32 = libc::F_WRLCK;
const READ: i32 = libc::F_RDLCK;
const UNLOCK: i32 = libc::F_UNLCK;

/// A lock, held until it is dropped.
pub(crate) struct Lock<'a> {
    file: &'a File,
    start: i64,
    length: i64,
    /// Needed beside the system's lock, which does not distinguish threads of a process.
    _alone: MutexGuard<'a, ()>,
}

impl Lock<'_> {
    /// Waits until this process may read (or write) the bytes.
    pub fn take(file: &File, start: i64, length: i64, write: bool) -> Result<Lock<'_>> {
        let alone = file.atomic.lock().unwrap_or_else(PoisonError::into_inner);
        let kind = if write { WRITE } else { READ };
        set(&file.file, start, length, kind).map_err(|error| failed(&error, "locked", file.name()))?;
        Ok(Lock { file, start, length, _alone: alone })
    }
}

impl Drop for Lock<'_> {
    fn drop(&mut self) {
        // Cannot fail: the range is the one that was locked.
        let _ = set(&self.file.file, self.start, self.length, UNLOCK);
    }
}

/// Runs a function while this process alone may use a file.
pub(crate) fn exclusively<T>(file: &fs::File, run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    set(file, 0, 0, WRITE)?;
    let result = run();
    set(file, 0, 0, UNLOCK)?;
    result
}

/// Waits until no process has locked any of a file for writing.
pub(crate) fn share(file: &fs::File) -> io::Result<()> {
    set(file, 0, 0, READ)?;
    set(file, 0, 0, UNLOCK)
}

fn set(file: &fs::File, start: i64, length: i64, kind: i32) -> io::Result<()> {
    // SAFETY: `flock` is a structure of integers, for which zero is valid; the kernel wants the
    // fields that are not set below to be zero.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = start;
    lock.l_len = length;
    loop {
        // SAFETY: `lock` is a complete `flock` structure that outlives the call; the descriptor is
        // open.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLKW, &raw const lock) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
