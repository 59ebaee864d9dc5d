//! The lifeline: a pipe whose write end only `mpirun` holds. When `mpirun` ends, however it ends,
//! the kernel closes that end and sends SIGKILL to every process that has armed a read end: also to
//! a rank that computes, to a grandchild of a shell, and to a sleeping process. No process has to
//! poll or cooperate.
//!
//! The owner of the signal belongs to an open file description, not to a descriptor, so each
//! process that arms the lifeline opens the pipe again through `/proc/self/fd`. [`arm`] also runs
//! between `clone` and `exec`: it must never allocate or lock.

use crate::pid::Pid;
use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;

/// Not in the `libc` crate for every target; the value is the kernel's.
const F_SETSIG: i32 = 10;

/// The processes that are killed when the lifeline breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    Process,
    ProcessGroup,
}

/// Makes a lifeline: the end to inherit and the end that `mpirun` keeps. Both are close-on-exec.
pub fn create() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both were just created and are owned here alone.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Ties the caller (or its process group) to the lifeline as long as the returned descriptor, or a
/// duplicate of it, is open in some process. Fails if the lifeline is already broken.
pub fn arm(lifeline: BorrowedFd<'_>, victim: Victim) -> io::Result<OwnedFd> {
    let own = reopen(lifeline.as_raw_fd())?;
    // SAFETY: plain system calls on a descriptor that we own.
    let armed = unsafe {
        let owner = match victim {
            Victim::Process => libc::getpid(),
            Victim::ProcessGroup => -libc::getpgrp(),
        };
        libc::fcntl(own.as_raw_fd(), libc::F_SETOWN, owner) == 0
            && libc::fcntl(own.as_raw_fd(), F_SETSIG, libc::SIGKILL) == 0
            && libc::fcntl(own.as_raw_fd(), libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK) == 0
    };
    if !armed {
        return Err(io::Error::last_os_error());
    }
    // Check after arming: if the other end was closed before, no signal comes. Check the inherited
    // descriptor: one that was opened after the last writer left does not report a hangup.
    if broken(lifeline) {
        return Err(io::Error::from_raw_os_error(libc::EPIPE));
    }
    Ok(own)
}

/// Ties this process to the lifeline until it ends.
pub fn hold(lifeline: BorrowedFd<'_>) -> io::Result<()> {
    let _stays_open = ManuallyDrop::new(arm(lifeline, Victim::Process)?);
    Ok(())
}

/// Whether `mpirun`'s end is closed.
pub fn broken(lifeline: BorrowedFd<'_>) -> bool {
    let mut poll = libc::pollfd { fd: lifeline.as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: one valid entry, no waiting.
    unsafe { libc::poll(&mut poll, 1, 0) > 0 && poll.revents & libc::POLLHUP != 0 }
}

/// Opens the pipe again for reading, whichever end `fd` is. Nonblocking: opening a pipe without a
/// writer must not block.
fn reopen(fd: RawFd) -> io::Result<OwnedFd> {
    let path = proc_fd(fd);
    // SAFETY: `path` is NUL-terminated.
    let own = unsafe { libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_NONBLOCK | libc::O_CLOEXEC) };
    if own < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `own` was just opened and is owned here alone.
    Ok(unsafe { OwnedFd::from_raw_fd(own) })
}

/// `/proc/self/fd/N` with its NUL, without allocating.
fn proc_fd(fd: RawFd) -> [u8; 32] {
    const HEAD: &[u8] = b"/proc/self/fd/";
    let mut path = [0; 32];
    path[..HEAD.len()].copy_from_slice(HEAD);
    let mut digits = [0u8; 10];
    let mut first = digits.len();
    let mut n = fd.unsigned_abs();
    loop {
        first -= 1;
        digits[first] = b'0' + (n % 10) as u8;
        n /= 10;
        if n == 0 {
            break;
        }
    }
    let tail = &digits[first..];
    path[HEAD.len()..HEAD.len() + tail.len()].copy_from_slice(tail);
    path
}

/// A descriptor that an ancestor left open under this number. It is compared with the original
/// object, because a shell or an interpreter in between may have closed it and reused the number.
pub fn inherited(fd: RawFd, inode: u64) -> Option<OwnedFd> {
    if fd < 0 {
        return None;
    }
    // SAFETY: `fcntl` with a number that may be closed is harmless; the copy that comes back is
    // ours alone.
    let copy = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return None;
    }
    // SAFETY: `fcntl` just made the descriptor, and nothing else knows its number.
    let copy = unsafe { File::from_raw_fd(copy) };
    match copy.metadata() {
        Ok(found) if found.ino() == inode => Some(copy.into()),
        _ => None,
    }
}

/// Marks the descriptor close-on-exec, if it is still the original object, so that programs that
/// this process starts do not inherit it.
pub fn keep_from_children(fd: RawFd, inode: u64) {
    if inherited(fd, inode).is_some() {
        // SAFETY: a flag of a descriptor that is open.
        unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}

/// The inode behind a descriptor, for [`inherited`] to compare with.
pub fn inode(fd: BorrowedFd<'_>) -> io::Result<u64> {
    File::from(fd.try_clone_to_owned()?).metadata().map(|found| found.ino())
}

/// Whether a process exists and has not ended; a zombie has ended. Returns false for a number that
/// no process can have.
pub fn process_lives(pid: u32) -> bool {
    let Some(number) = Pid::new(pid) else { return false };
    let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else {
        // No /proc, or no such process.
        // SAFETY: takes plain numbers; signal 0 changes nothing.
        return unsafe { libc::kill(number.get(), 0) } == 0
            || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM);
    };
    // The command name is in parentheses and may contain any byte; the state follows the last
    // parenthesis.
    let state = stat.iter().rposition(|&byte| byte == b')').and_then(|at| stat.get(at + 2));
    !matches!(state, Some(b'Z' | b'X'))
}

/// Whether the kernel knows a process, be it a zombie. Where it does not, none of its threads will store anything any more.
pub fn process_exists(pid: u32) -> bool {
    let Some(number) = Pid::new(pid) else { return false };
    // SAFETY: takes plain numbers; signal 0 changes nothing.
    unsafe { libc::kill(number.get(), 0) == 0 || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Command, Stdio};

    fn spawn_armed(script: &str, lifeline: &OwnedFd) -> std::process::Child {
        let fd = lifeline.as_raw_fd();
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped()).process_group(0);
        // SAFETY: `arm` is made to run between fork and exec; the armed descriptor is left open for
        // the child.
        unsafe {
            command.pre_exec(move || {
                let armed = arm(BorrowedFd::borrow_raw(fd), Victim::ProcessGroup)?;
                libc::fcntl(armed.as_raw_fd(), libc::F_SETFD, 0);
                std::mem::forget(armed);
                Ok(())
            });
        }
        command.spawn().unwrap()
    }

    #[test]
    fn all_armed_groups_die_with_the_far_end() {
        let (near, far) = create().unwrap();
        let mut children: Vec<_> = ["while :; do :; done", "sleep 1000; true", "(while :; do :; done); true"]
            .map(|s| spawn_armed(s, &near))
            .into();
        assert!(!broken(near.as_fd()));
        for child in &mut children {
            assert!(child.try_wait().unwrap().is_none());
        }
        drop(far);
        for child in &mut children {
            assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
            // The pipe ends only when all processes of the group have ended.
            std::io::copy(child.stdout.as_mut().unwrap(), &mut std::io::sink()).unwrap();
        }
        assert!(broken(near.as_fd()));
        assert!(arm(near.as_fd(), Victim::Process).is_err());
    }

    #[test]
    fn a_reused_number_is_not_taken_for_what_was_inherited() {
        let (near, far) = create().unwrap();
        let (other, _far) = create().unwrap();
        let number = inode(near.as_fd()).unwrap();
        assert!(inherited(near.as_raw_fd(), number).is_some());
        assert!(inherited(far.as_raw_fd(), number).is_some());
        assert!(inherited(other.as_raw_fd(), number).is_none());
        assert!(inherited(-1, number).is_none());
    }

    #[test]
    fn the_dead_are_told_from_the_living() {
        assert!(process_lives(std::process::id()));
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        while process_lives(pid) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(!process_lives(pid));
        assert!(!process_lives(0) && !process_lives(u32::MAX), "these are groups of processes");
    }
}
