//! How many descriptors this process may open, and which numbers it takes for its own: a program expects the low
//! numbers for itself. Every copy that is made here is close-on-exec.

use crate::limits;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Descriptors below this number are left to the program: its `select` knows no others.
const OF_PROGRAM: i32 = 1024;

/// Descriptors for ranks get numbers from here on if the limit allows it: above those that shell scripts
/// and programs use, and low enough not to enlarge the kernel's descriptor table in each rank.
const FIRST_KEPT: i32 = 50;

/// Raises the limit of open descriptors to `count`, as far as the hard limit allows. The previous limit, if it was raised.
pub fn allow(count: u64) -> Option<libc::rlimit> {
    let (soft, hard) = limits::of(libc::RLIMIT_NOFILE);
    let wanted = count.min(hard);
    if wanted <= soft {
        return None;
    }
    let raised = libc::rlimit { rlim_cur: wanted, rlim_max: hard };
    // SAFETY: `raised` is valid during the call.
    let done = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raised) };
    (done == 0).then_some(libc::rlimit { rlim_cur: soft, rlim_max: hard })
}

/// The same for so many descriptors [out of the program's way](out_of_the_way).
pub fn allow_out_of_the_way(count: u64) {
    allow(count.saturating_add(OF_PROGRAM as u64));
}

/// The same descriptor with a number that no `select` of the program needs, where the limit allows that.
pub fn out_of_the_way(fd: OwnedFd) -> OwnedFd {
    copy_from(fd.as_fd(), OF_PROGRAM).unwrap_or(fd)
}

/// Duplicates a descriptor that ranks inherit, under a high number.
pub fn keep(fd: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut result = Err(io::Error::from_raw_os_error(libc::EMFILE));
    // `ulimit -n` may not allow such a high number.
    for least in [FIRST_KEPT, 10, 3] {
        match copy_from(fd, least) {
            Ok(copy) => return Ok(copy),
            // The number is above the limit, so there is no such descriptor either.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {}
            Err(error) => result = Err(error),
        }
    }
    result
}

/// Duplicates a descriptor to the first free number from `least` on.
fn copy_from(fd: BorrowedFd<'_>, least: i32) -> io::Result<OwnedFd> {
    // SAFETY: the descriptor is open.
    match unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, least) } {
        // SAFETY: just created and owned here alone.
        copy if copy >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(copy) }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_lie_above_the_numbers_of_programs() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(keep(file.as_fd()).unwrap().as_raw_fd() >= FIRST_KEPT);
        allow_out_of_the_way(16);
        let (soft, hard) = limits::of(libc::RLIMIT_NOFILE);
        assert!(soft >= hard.min(OF_PROGRAM as u64 + 16));
        assert_eq!(out_of_the_way(file.into()).as_raw_fd() >= OF_PROGRAM, soft > OF_PROGRAM as u64);
        assert!(allow(soft).is_none(), "the limit is so high already");
    }
}
