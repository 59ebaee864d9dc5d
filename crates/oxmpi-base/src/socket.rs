//! Sockets, as links and the agent use them: no call here waits or raises a signal, and every descriptor that is made is
//! close-on-exec.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Two connected sockets that keep the boundaries of records.
pub fn seqpacket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the array has room for two descriptors.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made both descriptors, and nothing else owns them.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// Sends bytes; how many the socket took.
pub fn send(to: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: the bytes may be read.
    let count = unsafe { libc::send(to.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
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
