//! Single-copy access to another process's memory (`process_vm_readv`, `process_vm_writev`). The
//! kernel or a container may forbid it; the caller then copies through the segment.

use crate::pid::Pid;
use crate::sync::shared::changing;
use std::io;

/// A piece of memory: address and length.
pub type Piece = (usize, usize);

/// Limit of the kernel on the pieces of one side in one call.
pub const MAX_PIECES: usize = 1024;

/// Allows any process of this user to access our memory, where the Yama security module would allow
/// it to descendants only. It has no effect elsewhere, so its result does not matter.
pub fn permit_peers() {
    // SAFETY: takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
}

/// Copies from the peer's pieces to ours. Returns the number of bytes copied, which may be fewer
/// than requested.
///
/// # Safety
/// `local` is memory of this process that may be written during the call, and that no Rust
/// reference covers.
pub unsafe fn read(pid: Pid, local: &[Piece], remote: &[Piece]) -> io::Result<usize> {
    // SAFETY: `read` writes to `local`, which may be written; the kernel checks the remote side.
    changing(|| unsafe { transfer(libc::process_vm_readv, pid, local, remote) })
}

/// Copies from our pieces to the peer's. Returns the number of bytes copied, which may be fewer
/// than requested.
///
/// # Safety
/// `local` is memory of this process that may be read; the peer has named `remote` as its receive
/// buffer.
pub unsafe fn write(pid: Pid, local: &[Piece], remote: &[Piece]) -> io::Result<usize> {
    // SAFETY: `write` reads `local`, which may be read, and changes memory of another process
    // alone.
    changing(|| unsafe { transfer(libc::process_vm_writev, pid, local, remote) })
}

/// An error of a copy, for ranks that outlive others: a process that is not there any more has aborted its connections.
pub fn ended(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ESRCH) => io::ErrorKind::ConnectionAborted.into(),
        _ => error,
    }
}

type Call = unsafe extern "C" fn(
    libc::pid_t,
    *const libc::iovec,
    libc::c_ulong,
    *const libc::iovec,
    libc::c_ulong,
    libc::c_ulong,
) -> libc::ssize_t;

/// # Safety
/// `local` is memory that `call` may read or write, whichever it does.
unsafe fn transfer(call: Call, pid: Pid, local: &[Piece], remote: &[Piece]) -> io::Result<usize> {
    // The field order of a `Piece` is not defined, so it is converted to an iovec. One piece per
    // side, the usual case, needs no allocation.
    let convert = |pieces: &[Piece]| -> Vec<libc::iovec> {
        pieces.iter().map(|&(base, len)| libc::iovec { iov_base: base as *mut _, iov_len: len }).collect()
    };
    let one = |&(base, len): &Piece| [libc::iovec { iov_base: base as *mut _, iov_len: len }];
    let (local_one, remote_one, local_many, remote_many);
    let local: &[libc::iovec] = if let [piece] = local {
        local_one = one(piece);
        &local_one
    } else {
        local_many = convert(local);
        &local_many
    };
    let remote: &[libc::iovec] = if let [piece] = remote {
        remote_one = one(piece);
        &remote_one
    } else {
        remote_many = convert(remote);
        &remote_many
    };
    // SAFETY: both arrays live until the call returns and have the lengths given; the local pieces
    // may be accessed.
    let moved = unsafe { call(pid.get(), local.as_ptr(), local.len() as u64, remote.as_ptr(), remote.len() as u64, 0) };
    if moved < 0 { Err(io::Error::last_os_error()) } else { Ok(moved as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_our_own_memory() {
        let source = [1u8, 2, 3, 4, 5, 6];
        let mut target = [0u8; 6];
        let at = |slice: &[u8], from: usize, len: usize| (slice.as_ptr() as usize + from, len);
        let t = target.as_mut_ptr() as usize;
        let pid = Pid::own();
        // SAFETY: both arrays are alive and not otherwise borrowed during the calls.
        unsafe {
            assert_eq!(read(pid, &[(t, 2), (t + 4, 2)], &[at(&source, 0, 3), at(&source, 5, 1)]).unwrap(), 4);
            assert_eq!(write(pid, &[at(&source, 3, 2)], &[(t + 2, 2)]).unwrap(), 2);
        }
        assert_eq!(target, [1, 2, 4, 5, 3, 6]);
    }

    #[test]
    fn a_missing_process_is_an_error() {
        let mut byte = 0u8;
        // SAFETY: one byte of ours, named twice.
        let result = unsafe {
            read(Pid::new(u32::MAX >> 1).unwrap(), &[(&raw mut byte as usize, 1)], &[(&raw mut byte as usize, 1)])
        };
        assert!(result.is_err());
    }
}
