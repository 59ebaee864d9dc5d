//! Sockets, as links and the agent use them: no call here waits or raises a signal, and every descriptor that is made is
//! close-on-exec.

use crate::cma::Piece;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Two connected sockets that keep the boundaries of records.
pub fn seqpacket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    pair(libc::SOCK_SEQPACKET)
}

/// Two connected sockets for bytes.
pub fn stream_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    pair(libc::SOCK_STREAM)
}

fn pair(kind: libc::c_int) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    let kind = kind | libc::SOCK_CLOEXEC;
    // SAFETY: the array has room for two descriptors.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made both descriptors, and nothing else owns them.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// A copy of a socket that the program which started this one left open under this number; `None` if the number is no
/// open socket. Programs that this one starts do not inherit it.
pub fn inherited(fd: RawFd) -> Option<OwnedFd> {
    if fd < 0 {
        return None;
    }
    let (mut kind, mut length) = (0i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: the kernel writes at most `length` bytes to `kind`; a number that is not open is an error. The copy that
    // `fcntl` makes is owned by nobody else.
    unsafe {
        if libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, (&raw mut kind).cast(), &mut length) != 0 {
            return None;
        }
        libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        let copy = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3);
        (copy >= 0).then(|| OwnedFd::from_raw_fd(copy))
    }
}

/// The process at the other end of a Unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerProcess {
    /// As this process's namespace numbers it: 0 if it is not in there.
    pub pid: u32,
    pub user: u32,
}

/// The process that has connected a Unix socket, or that listens for it.
pub fn peer_process(connection: BorrowedFd<'_>) -> io::Result<PeerProcess> {
    let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    let place = (&raw mut found).cast();
    // SAFETY: the kernel writes at most `length` bytes to `found`.
    let done =
        unsafe { libc::getsockopt(connection.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, place, &mut length) };
    match done {
        0 => Ok(PeerProcess { pid: found.pid.max(0) as u32, user: found.uid }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Sends bytes; how many the socket took.
pub fn send(to: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the bytes may be read.
    let count = unsafe { libc::send(to.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Bytes of a TCP connection that the peer's kernel has not acknowledged yet.
pub fn unacknowledged(connection: BorrowedFd<'_>) -> io::Result<usize> {
    let mut count: libc::c_int = 0;
    // SAFETY: the kernel writes one integer, for which there is room.
    if unsafe { libc::ioctl(connection.as_raw_fd(), libc::TIOCOUTQ, &raw mut count) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(usize::try_from(count).unwrap_or(0))
}

/// Bytes written to a pipe, a socket or a terminal that its reader has not taken yet; 0 for what has no reader, such as a
/// file.
pub fn unread(output: BorrowedFd<'_>) -> usize {
    if let Ok(count) = unacknowledged(output) {
        return count;
    }
    let mut count: libc::c_int = 0;
    // SAFETY: a `stat` consists of integers, for which all bits zero are valid, and the kernel fills it; FIONREAD writes one
    // integer, for which there is room.
    unsafe {
        let mut state: libc::stat = std::mem::zeroed();
        let is_pipe =
            libc::fstat(output.as_raw_fd(), &raw mut state) == 0 && state.st_mode & libc::S_IFMT == libc::S_IFIFO;
        if !is_pipe || libc::ioctl(output.as_raw_fd(), libc::FIONREAD, &raw mut count) != 0 {
            return 0;
        }
    }
    usize::try_from(count).unwrap_or(0)
}

/// How many packets of a TCP connection this side had to send again.
pub fn retransmits(connection: BorrowedFd<'_>) -> io::Result<u32> {
    // SAFETY: it consists of integers, for which all bits zero are valid.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of_val(&info) as libc::socklen_t;
    let (level, name, into) = (libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast());
    // SAFETY: the kernel writes at most so many bytes, for which there is room.
    if unsafe { libc::getsockopt(connection.as_raw_fd(), level, name, into, &raw mut length) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(info.tcpi_total_retrans)
}

/// Whether the peer has closed a connection of which nothing was read.
pub fn is_closed(connection: BorrowedFd<'_>) -> bool {
    let mut byte = [0u8; 1];
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: the kernel writes at most one byte, for which there is room.
    let count = unsafe { libc::recv(connection.as_raw_fd(), byte.as_mut_ptr().cast(), 1, flags) };
    match count {
        0 => true,
        ..0 => !matches!(io::Error::last_os_error().kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
        _ => false,
    }
}

/// Sends a record and a copy of a descriptor over a Unix socket.
pub fn send_with_fd(to: BorrowedFd<'_>, bytes: &[u8], fd: BorrowedFd<'_>) -> io::Result<()> {
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut control = ControlBuffer::new();
    let mut message = control.message(&mut part);
    // SAFETY: the control buffer is aligned and has room for a header and one descriptor, which `message` says; the
    // descriptor is open as long as it is borrowed. The kernel only reads.
    let sent = unsafe {
        let head = libc::CMSG_FIRSTHDR(&message);
        (*head).cmsg_level = libc::SOL_SOCKET;
        (*head).cmsg_type = libc::SCM_RIGHTS;
        (*head).cmsg_len = libc::CMSG_LEN(size_of::<i32>() as u32) as _;
        libc::CMSG_DATA(head).cast::<i32>().write_unaligned(fd.as_raw_fd());
        message.msg_controllen = libc::CMSG_SPACE(size_of::<i32>() as u32) as _;
        libc::sendmsg(to.as_raw_fd(), &message, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Receives a record with its descriptors.
pub fn receive_with_fds(from: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut control = ControlBuffer::new();
    let mut message = control.message(&mut part);
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the message names the caller's bytes and the control buffer, both writable with the lengths given.
    let count = unsafe { libc::recvmsg(from.as_raw_fd(), &mut message, flags) };
    let Ok(count) = usize::try_from(count) else { return Err(io::Error::last_os_error()) };
    let mut fds = Vec::new();
    // SAFETY: the kernel has written whole control messages into the buffer and said how long they are; each descriptor
    // in one of rights is new and owned by nobody.
    unsafe {
        let mut head = libc::CMSG_FIRSTHDR(&message);
        while !head.is_null() {
            if (*head).cmsg_level == libc::SOL_SOCKET && (*head).cmsg_type == libc::SCM_RIGHTS {
                let data = libc::CMSG_DATA(head);
                let length = (*head).cmsg_len as usize - (data.addr() - head.addr());
                for at in 0..length / size_of::<i32>() {
                    fds.push(OwnedFd::from_raw_fd(data.cast::<i32>().add(at).read_unaligned()));
                }
            }
            head = libc::CMSG_NXTHDR(&message, head);
        }
    }
    Ok((count, fds))
}

/// Room for the control messages of one record: aligned as the kernel wants it, and for more descriptors than one, so
/// that a second one is noticed.
#[repr(C, align(16))]
struct ControlBuffer([MaybeUninit<u8>; 64]);

impl ControlBuffer {
    fn new() -> ControlBuffer {
        ControlBuffer([MaybeUninit::zeroed(); 64])
    }

    fn message(&mut self, part: &mut libc::iovec) -> libc::msghdr {
        // SAFETY: a message without a name, parts or control data is all zeroes.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = part;
        message.msg_iovlen = 1;
        message.msg_control = self.0.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&self.0) as _;
        message
    }
}

/// Pieces that one call of [`send_pieces`] or [`receive_pieces`] uses; more are left for the next call.
pub const PIECES_A_CALL: usize = 64;

/// Sends what lies at some pieces of memory, in order; how many bytes the socket took.
///
/// # Safety
/// The pieces are memory of this process that may be read during the call.
pub unsafe fn send_pieces(to: BorrowedFd<'_>, pieces: &[Piece]) -> io::Result<usize> {
    let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; PIECES_A_CALL];
    let message = message_of(&mut parts, pieces);
    // SAFETY: the message names the caller's pieces, which may be read, and nothing else.
    let count = unsafe { libc::sendmsg(to.as_raw_fd(), &message, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Receives into some pieces of memory, in order; how many bytes came. 0 is the end of the stream.
///
/// # Safety
/// The pieces are memory of this process that may be written during the call, and that no Rust reference covers.
pub unsafe fn receive_pieces(from: BorrowedFd<'_>, pieces: &[Piece]) -> io::Result<usize> {
    let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; PIECES_A_CALL];
    let mut message = message_of(&mut parts, pieces);
    // SAFETY: the message names the caller's pieces, which may be written, and nothing else.
    let count = unsafe { libc::recvmsg(from.as_raw_fd(), &mut message, libc::MSG_DONTWAIT) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

fn message_of(parts: &mut [libc::iovec; PIECES_A_CALL], pieces: &[Piece]) -> libc::msghdr {
    for (part, &(base, len)) in parts.iter_mut().zip(pieces) {
        *part = libc::iovec { iov_base: base as *mut _, iov_len: len };
    }
    // SAFETY: a message without a name, parts or control data is all zeroes.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = pieces.len().min(PIECES_A_CALL) as _;
    message
}

/// Receives bytes; how many came. 0 is the end of the stream.
pub fn receive(from: BorrowedFd<'_>, bytes: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the bytes may be written.
    let count = unsafe { libc::recv(from.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), libc::MSG_DONTWAIT) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Acknowledges what has come over a TCP connection at once.
pub fn acknowledge_now(connection: BorrowedFd<'_>) -> io::Result<()> {
    set_option(connection, libc::IPPROTO_TCP, libc::TCP_QUICKACK, 1)
}

/// A connection is ready for reading only when so many bytes have come; what is here can be read all the same.
pub fn set_low_water(connection: BorrowedFd<'_>, bytes: i32) -> io::Result<()> {
    set_option(connection, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

/// Sets an option that is a number.
pub(crate) fn set_option(socket: BorrowedFd<'_>, level: i32, option: i32, value: i32) -> io::Result<()> {
    let length = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the value is an integer that lives during the call.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A set of descriptors of which some may be ready.
pub struct ReadySet {
    epoll: OwnedFd,
}

/// A descriptor of a [`ReadySet`] that is ready, by the number that it was added with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ready(pub u64);

/// What is waited for at a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interest {
    Read,
    /// And room to write.
    ReadAndWrite,
    /// Room to write alone.
    Write,
    /// Only that it has failed.
    Nothing,
}

impl ReadySet {
    pub fn new() -> io::Result<ReadySet> {
        // SAFETY: takes plain numbers.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just made the descriptor, and nothing else owns it.
        Ok(ReadySet { epoll: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    pub fn add(&self, fd: BorrowedFd<'_>, number: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, number, interest)
    }

    pub fn change(&self, fd: BorrowedFd<'_>, number: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, number, interest)
    }

    /// A descriptor that is not in the set is none to remove.
    pub fn remove(&self, fd: BorrowedFd<'_>) {
        let _ = self.control(libc::EPOLL_CTL_DEL, fd, 0, Interest::Read);
    }

    fn control(&self, what: i32, fd: BorrowedFd<'_>, number: u64, interest: Interest) -> io::Result<()> {
        let events = match interest {
            Interest::Read => libc::EPOLLIN | libc::EPOLLRDHUP,
            Interest::ReadAndWrite => libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLOUT,
            Interest::Write => libc::EPOLLOUT,
            Interest::Nothing => 0,
        };
        let mut event = libc::epoll_event { events: events as u32, u64: number };
        // SAFETY: both descriptors are open, and the event lives until the call returns.
        let done = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, fd.as_raw_fd(), &mut event) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Waits until a descriptor is ready, at most for the limit, or until a signal comes. Those that are ready are appended.
    pub fn wait(&self, limit: Duration, ready: &mut Vec<Ready>) -> io::Result<()> {
        const MOST: usize = 64;
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; MOST];
        // Rounded up, or a short wait would spin.
        let millis = limit.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as i32;
        // SAFETY: the array has room for as many events as are asked for.
        let count = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), MOST as i32, millis) };
        match usize::try_from(count) {
            Ok(count) => ready.extend(events[..count].iter().map(|event| Ready(event.u64))),
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Err(io::Error::last_os_error()),
        }
        Ok(())
    }
}

impl AsFd for ReadySet {
    /// Readable when a descriptor of the set is ready.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// The two ends of a pipe, to read and to write, of which neither makes a caller wait.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    // SAFETY: the array has room for two descriptors.
    if unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made both descriptors, and nothing else owns them.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}
