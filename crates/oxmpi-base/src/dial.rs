//! System calls for connections between hosts: begin to connect, the addresses of this machine, a timer and a file for
//! ranks, each as a safe function. No policy here.

use crate::socket;
use std::ffi::CStr;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Begins to connect to an address; the socket is writable when that has succeeded or failed, as its pending error says.
pub fn begin_connect(to: &SocketAddr) -> io::Result<OwnedFd> {
    let family = if to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: takes plain numbers.
    let socket = unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0) };
    let socket = own(socket)?;
    let fd = socket.as_raw_fd();
    // SAFETY: the address is a local of the type and length that its family has, valid during the call.
    let done = unsafe {
        match to {
            SocketAddr::V4(to) => {
                let mut place: libc::sockaddr_in = zeroed();
                place.sin_family = libc::AF_INET as libc::sa_family_t;
                place.sin_port = to.port().to_be();
                place.sin_addr.s_addr = u32::from_ne_bytes(to.ip().octets());
                libc::connect(fd, (&raw const place).cast(), size_of::<libc::sockaddr_in>() as libc::socklen_t)
            }
            SocketAddr::V6(to) => {
                let mut place: libc::sockaddr_in6 = zeroed();
                place.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                place.sin6_port = to.port().to_be();
                place.sin6_addr.s6_addr = to.ip().octets();
                place.sin6_scope_id = to.scope_id();
                libc::connect(fd, (&raw const place).cast(), size_of::<libc::sockaddr_in6>() as libc::socklen_t)
            }
        }
    };
    let error = io::Error::last_os_error();
    if done < 0 && error.raw_os_error() != Some(libc::EINPROGRESS) {
        return Err(error);
    }
    Ok(socket)
}

/// Lets the kernel find out, within some minutes, that the other end of a connection is gone for good.
pub fn keep_alive(connection: BorrowedFd<'_>) -> io::Result<()> {
    socket::set_option(connection, libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1)?;
    for (option, value) in [(libc::TCP_KEEPIDLE, 60), (libc::TCP_KEEPINTVL, 20), (libc::TCP_KEEPCNT, 3)] {
        socket::set_option(connection, libc::IPPROTO_TCP, option, value)?;
    }
    Ok(())
}

/// A descriptor that becomes readable again and again, after each interval. It does not block.
pub fn interval_timer(interval: Duration) -> io::Result<OwnedFd> {
    // SAFETY: takes plain numbers.
    let timer = own(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC) })?;
    let each = libc::timespec { tv_sec: interval.as_secs() as libc::time_t, tv_nsec: interval.subsec_nanos() as _ };
    let times = libc::itimerspec { it_interval: each, it_value: each };
    // SAFETY: the times are valid during the call, and no old ones are asked for.
    match unsafe { libc::timerfd_settime(timer.as_raw_fd(), 0, &times, std::ptr::null_mut()) } {
        0 => Ok(timer),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A file in memory, close-on-exec.
pub fn memory_file(name: &CStr) -> io::Result<OwnedFd> {
    // SAFETY: the name is NUL-terminated.
    own(unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) })
}

/// An address of an interface that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    pub interface: String,
    pub address: IpAddr,
    /// A tunnel, or another link between two hosts only.
    pub is_tunnel: bool,
}

/// The addresses of this machine that other hosts may reach: neither loopback nor link-local ones.
pub fn interface_addresses() -> io::Result<Vec<InterfaceAddress>> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the kernel's list is stored at the place given, and freed below.
    if unsafe { libc::getifaddrs(&mut list) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    let mut entry = list;
    while !entry.is_null() {
        // SAFETY: a pointer that is not null leads to an entry of the list, which lives until it is freed.
        let this = unsafe { &*entry };
        entry = this.ifa_next;
        let flags = this.ifa_flags as libc::c_int;
        if this.ifa_addr.is_null() || flags & libc::IFF_UP == 0 || flags & libc::IFF_LOOPBACK != 0 {
            continue;
        }
        // SAFETY: the family says of which type the address is; names are NUL-terminated.
        let (address, name) = unsafe {
            let address = match i32::from((*this.ifa_addr).sa_family) {
                libc::AF_INET => {
                    let place = this.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned();
                    IpAddr::V4(Ipv4Addr::from(place.sin_addr.s_addr.to_ne_bytes()))
                }
                libc::AF_INET6 => {
                    let place = this.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned();
                    IpAddr::V6(Ipv6Addr::from(place.sin6_addr.s6_addr))
                }
                _ => continue,
            };
            (address, CStr::from_ptr(this.ifa_name))
        };
        let is_local = match address {
            IpAddr::V4(address) => address.is_link_local() || address.is_unspecified(),
            IpAddr::V6(address) => address.is_unicast_link_local() || address.is_unspecified(),
        };
        if !is_local {
            let interface = name.to_string_lossy().into_owned();
            found.push(InterfaceAddress { interface, address, is_tunnel: flags & libc::IFF_POINTOPOINT != 0 });
        }
    }
    // SAFETY: the list is the kernel's, and nothing refers to it any more.
    unsafe { libc::freeifaddrs(list) };
    Ok(found)
}

fn own(fd: i32) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the caller's system call has just made the descriptor, and nothing else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_comes_to_be() {
        for place in ["127.0.0.1:0", "[::1]:0"] {
            // The machine may have no IPv6.
            let Ok(listener) = TcpListener::bind(place) else { continue };
            let socket = TcpStream::from(begin_connect(&listener.local_addr().unwrap()).unwrap());
            let (mut there, _) = listener.accept().unwrap();
            there.write_all(b"x").unwrap();
            socket.set_nonblocking(false).unwrap();
            let mut byte = [0];
            (&socket).read_exact(&mut byte).unwrap();
            assert_eq!(socket.take_error().unwrap().map(|error| error.to_string()), None);
        }
    }

    #[test]
    fn a_timer_ticks() {
        let mut timer = std::fs::File::from(interval_timer(Duration::from_millis(5)).unwrap());
        let mut count = [0; 8];
        assert_eq!(timer.read(&mut count).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(timer.read(&mut count).unwrap(), 8);
    }

    #[test]
    fn addresses_are_those_of_this_machine() {
        for found in interface_addresses().unwrap() {
            assert!(!found.address.is_loopback(), "{found:?}");
        }
    }
}
