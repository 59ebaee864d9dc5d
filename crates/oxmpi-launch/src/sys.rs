//! System calls that the standard library does not offer, each as a safe function. No policy here.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileTypeExt;
use std::time::Duration;

pub use libc::{
    POLLERR, POLLIN, POLLOUT, SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGKILL, SIGPIPE, SIGQUIT, SIGSTOP, SIGTERM, SIGTSTP,
    SIGUSR1, SIGUSR2, pollfd as PollFd,
};

pub type Pid = i32;

/// Makes a close-on-exec pipe: read end, write end.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two descriptors; both are ours alone.
    unsafe {
        check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

pub fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: flags of a descriptor that we own.
    unsafe {
        let flags = check(libc::fcntl(fd.as_raw_fd(), libc::F_GETFL))?;
        check(libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK))?;
    }
    Ok(())
}

pub fn read(fd: RawFd, into: &mut [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the kernel writes at most the slice's length.
        match check_size(unsafe { libc::read(fd, into.as_mut_ptr().cast(), into.len()) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

pub fn write(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the kernel reads at most the slice's length.
        match check_size(unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) }) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Closes a descriptor and reports write errors that the kernel delayed.
pub fn close(fd: OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor was ours alone, and is not used again, whatever the answer.
    check(unsafe { libc::close(fd.into_raw_fd()) }).map(drop)
}

/// Makes a write beyond the file size limit an error instead of the end of this process.
pub fn survive_file_size_limit() {
    // SAFETY: no handler runs; the call is made before there are other threads.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Writes to a socket without blocking, whatever its own flags are.
pub fn send(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the kernel reads at most the slice's length.
    check_size(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// Takes over a socket that the parent left open under this number, and marks it close-on-exec.
pub fn adopt_socket(fd: RawFd) -> Option<OwnedFd> {
    if fd < 3 {
        return None;
    }
    let (mut kind, mut length) = (0i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: the kernel writes at most the given number of bytes. The number was handed to us to
    // own, if it is a socket.
    unsafe {
        let place = (&raw mut kind).cast();
        check(libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, place, &mut length)).ok()?;
        check(libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC)).ok()?;
        Some(OwnedFd::from_raw_fd(fd))
    }
}

/// The process that made a socket pair.
pub fn peer(socket: &OwnedFd) -> io::Result<Pid> {
    // SAFETY: the zero pattern is a valid value, and the kernel writes at most the given number of
    // bytes.
    unsafe {
        let mut peer: libc::ucred = std::mem::zeroed();
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        let place = (&raw mut peer).cast();
        check(libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, place, &mut length))?;
        Ok(peer.pid)
    }
}

/// A descriptor that becomes readable when a process ends; needs Linux 5.3.
pub fn watch_process(pid: Pid) -> io::Result<OwnedFd> {
    // SAFETY: plain numbers; the descriptor is ours alone, and close-on-exec.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::syscall(libc::SYS_pidfd_open, pid, 0) as i32)?)) }
}

/// Sends a signal to a watched process. It never reaches another process, even after the watched
/// one has ended.
pub fn signal_process(watch: &OwnedFd, signal: i32) {
    // SAFETY: plain numbers and no further information.
    unsafe { libc::syscall(libc::SYS_pidfd_send_signal, watch.as_raw_fd(), signal, 0, 0) };
}

pub fn pollfd(fd: RawFd, events: i16) -> libc::pollfd {
    libc::pollfd { fd, events, revents: 0 }
}

/// Waits until a descriptor is ready; `None` waits without a limit.
pub fn poll(fds: &mut [libc::pollfd], timeout: Option<Duration>) -> io::Result<()> {
    // Rounded up: otherwise a wait could end just before its deadline, again and again.
    let timeout = timeout.map_or(-1, |left| left.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32);
    // SAFETY: the slice is valid for its length.
    match check(unsafe { libc::poll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, timeout) }) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// The events of a descriptor that are ready now.
pub fn ready(fd: RawFd, events: i16) -> i16 {
    let mut one = [pollfd(fd, events)];
    match poll(&mut one, Some(Duration::ZERO)) {
        Ok(()) => one[0].revents,
        Err(_) => 0,
    }
}

/// An epoll instance for reading; each descriptor has a number.
pub struct Epoll(OwnedFd);

impl Epoll {
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: the descriptor is ours alone.
        unsafe { Ok(Epoll(OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?))) }
    }

    pub fn add(&self, fd: RawFd, number: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number };
        // SAFETY: the event is valid during the call.
        check(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) }).map(drop)
    }

    /// Returns the numbers of descriptors that can be read now, as many as fit.
    pub fn ready(&self, into: &mut Vec<u64>) -> io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
        // SAFETY: the kernel writes at most as many events as the array has.
        let n = check(unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), events.len() as i32, 0) })?;
        into.clear();
        into.extend(events[..n as usize].iter().map(|event| event.u64));
        Ok(())
    }

    pub fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

pub type SignalSet = libc::sigset_t;

/// Receives signals through a descriptor from now on. Also returns the previous signal mask.
pub fn take_signals(signals: &[i32]) -> io::Result<(OwnedFd, SignalSet)> {
    // SAFETY: a zeroed set is then initialised; all pointers are valid during the calls.
    unsafe {
        let mut set: SignalSet = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for &signal in signals {
            libc::sigaddset(&mut set, signal);
        }
        let mut before: SignalSet = std::mem::zeroed();
        check(libc::sigprocmask(libc::SIG_BLOCK, &set, &mut before))?;
        // The parent may have left it ignored; then the kernel would reap our children.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        let fd = check(libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok((OwnedFd::from_raw_fd(fd), before))
    }
}

/// A mask that blocks nothing.
pub fn no_signals() -> SignalSet {
    // SAFETY: a zeroed set is then initialised.
    unsafe {
        let mut set: SignalSet = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        set
    }
}

/// The next pending signal, if there is one.
pub fn next_signal(fd: &OwnedFd) -> Option<i32> {
    let mut info = [0u8; size_of::<libc::signalfd_siginfo>()];
    match read(fd.as_raw_fd(), &mut info) {
        // The number of the signal is the first field.
        Ok(n) if n == info.len() => Some(u32::from_ne_bytes([info[0], info[1], info[2], info[3]]) as i32),
        _ => None,
    }
}

/// The command's process gets SIGTERM when this process ends, however it ends.
pub fn end_with_parent(command: &mut std::process::Command) {
    use std::os::unix::process::{CommandExt, parent_id};
    let parent = std::process::id();
    // SAFETY: the closure makes two system calls with plain numbers; it neither allocates nor locks.
    unsafe {
        command.pre_exec(move || {
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM, 0, 0, 0))?;
            // A parent that ended before sends no signal.
            if parent_id() == parent { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
        });
    }
}

/// Replaces stdin and stdout by /dev/null, and returns what they were, close-on-exec and without
/// blocking.
pub fn take_stdio() -> io::Result<(OwnedFd, OwnedFd)> {
    // SAFETY: plain numbers; each descriptor that `fcntl` makes is ours alone.
    unsafe {
        let read = OwnedFd::from_raw_fd(check(libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3))?);
        let write = OwnedFd::from_raw_fd(check(libc::fcntl(1, libc::F_DUPFD_CLOEXEC, 3))?);
        leave_stdio()?;
        set_nonblocking(&read)?;
        set_nonblocking(&write)?;
        Ok((read, write))
    }
}

/// Replaces stdin and stdout by /dev/null. What they were is not changed: others may use the same streams.
pub fn leave_stdio() -> io::Result<()> {
    // SAFETY: plain numbers; the descriptor that `open` makes is ours alone.
    unsafe {
        let null = check(libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC))?;
        let null = OwnedFd::from_raw_fd(null);
        check(libc::dup2(null.as_raw_fd(), 0))?;
        check(libc::dup2(null.as_raw_fd(), 1))?;
    }
    Ok(())
}

/// The user of this process.
pub fn own_user() -> u32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// Makes orphaned descendants our children.
pub fn adopt_orphans() {
    // SAFETY: plain numbers. Where the kernel refuses, strays are only harder to find.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Reaps a child that has ended; its status.
pub fn reap(child: Pid) -> Option<i32> {
    let mut status = 0;
    // SAFETY: `status` is valid during the call.
    (unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == child).then_some(status)
}

/// A child that has ended, without reaping it: its entry in `/proc` stays.
pub fn ended_child() -> Option<Pid> {
    look_at_children().flatten()
}

/// Whether we have children, without reaping any.
pub fn have_children() -> bool {
    look_at_children().is_some()
}

/// `None` without children, else one that has ended, if any has.
fn look_at_children() -> Option<Option<Pid>> {
    // SAFETY: a zeroed siginfo is valid memory for the kernel to write to; where no child has ended
    // it stays zeroed, and the fields of an ended child are those that are read.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let found = libc::waitid(libc::P_ALL, 0, &mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT) == 0;
        found.then(|| Some(info.si_pid()).filter(|&pid| pid > 0))
    }
}

/// Sends a signal to a process, or, when `pid` is negative, to a process group. Returns false if it
/// does not exist.
pub fn kill(pid: Pid, signal: i32) -> bool {
    // 0 and -1 would mean our own group and all processes.
    if pid == 0 || pid == -1 {
        return false;
    }
    // SAFETY: plain numbers.
    unsafe { libc::kill(pid, signal) == 0 || *libc::__errno_location() == libc::EPERM }
}

pub fn stop_self() {
    // SAFETY: stops this process until it is continued.
    unsafe { libc::kill(libc::getpid(), libc::SIGSTOP) };
}

pub fn is_pipe(fd: RawFd) -> bool {
    std::fs::metadata(format!("/proc/self/fd/{fd}")).is_ok_and(|about| about.file_type().is_fifo())
}

pub fn is_terminal(fd: RawFd) -> bool {
    // SAFETY: asks about a descriptor, whatever it is.
    unsafe { libc::isatty(fd) == 1 }
}

/// Whether this process may read the terminal without being stopped.
pub fn in_foreground(fd: RawFd) -> bool {
    // SAFETY: plain numbers.
    unsafe { libc::tcgetpgrp(fd) == libc::getpgrp() }
}

pub fn may_execute(path: &std::ffi::CStr) -> bool {
    // SAFETY: a NUL-terminated path.
    unsafe { libc::access(path.as_ptr(), libc::X_OK) == 0 }
}

pub fn signal_text(signal: i32) -> String {
    // SAFETY: returns a static or thread-local NUL-terminated text.
    let text = unsafe {
        let text = libc::strsignal(signal);
        if text.is_null() { "unknown".into() } else { std::ffi::CStr::from_ptr(text).to_string_lossy().into_owned() }
    };
    format!("signal {signal} ({text})")
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn check_size(result: isize) -> io::Result<usize> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as usize) }
}
