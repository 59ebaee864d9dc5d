//! Names that servers publish for their ports, without any daemon: a published name is an abstract Unix socket that the
//! publishing process has bound, so that it vanishes with the process. The name of the socket, which is found in
//! `/proc/net/unix`, says where the text is: in a file in memory that only processes of the same user can open. So the
//! secret in the name of a port is not shown to others.
//!
//! A name is known on its node, within a network namespace, and to processes of the same user. Any user can bind any
//! abstract name, so a socket names the process that bound it, and counts only if that process belongs to this user and
//! has the socket open. Sockets of other users can neither fake, hide nor occupy a name. The published text need not be
//! a port of OxMPI: the connecting process finds out.

use crate::spawned::LONGEST;
use oxmpi_abi::constants::{MPI_ERR_NAME, MPI_ERR_SERVICE};
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::{dial, lifeline, trust};
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The names that a process has published.
#[derive(Default)]
pub struct Names {
    published: BTreeMap<Vec<u8>, Published>,
}

struct Published {
    port: Vec<u8>,
    _lock: Option<UnixDatagram>,
    _text: File,
    _socket: UnixDatagram,
}

impl Names {
    pub fn publish(&mut self, service: &[u8], port: &[u8]) -> Result<()> {
        let cannot = |error: io::Error| {
            let text = format!("the name \"{}\" cannot be published: {error}", show(service));
            Error::new(MPI_ERR_SERVICE, text)
        };
        let name = socket_name(service);
        let taken = || format!("the name \"{}\" has been published already", show(service));
        let lock = match take_turn(&name).map_err(cannot)? {
            Turn::Ours(lock) => Some(lock),
            Turn::Nobody => None,
            Turn::Another => bail!(MPI_ERR_SERVICE, "{}", taken()),
        };
        if find(&name).map_err(cannot)?.is_some() {
            bail!(MPI_ERR_SERVICE, "{}", taken());
        }
        let mut text = File::from(dial::memory_file(c"oxmpi-name").map_err(cannot)?);
        text.write_all(port).map_err(cannot)?;
        let inode = lifeline::inode(text.as_fd()).map_err(cannot)?;
        // Other processes cannot predict this name and bind it first.
        let nonce = RandomState::new().hash_one(0) as u32;
        let publisher = format!("{name}={:x}.{nonce:x}", std::process::id());
        let socket = bind(&format!("{publisher}={:x}.{inode:x}", text.as_raw_fd())).map_err(cannot)?;
        let published = Published { port: port.to_vec(), _lock: lock, _text: text, _socket: socket };
        self.published.insert(service.to_vec(), published);
        Ok(())
    }

    pub fn unpublish(&mut self, service: &[u8], port: &[u8]) -> Result<()> {
        match self.published.get(service) {
            None => bail!(MPI_ERR_SERVICE, "this process has not published the name \"{}\"", show(service)),
            Some(found) if found.port != port => {
                let (service, port) = (show(service), show(&found.port));
                bail!(MPI_ERR_SERVICE, "the name \"{service}\" was published for the port {port}")
            }
            Some(_) => self.published.remove(service),
        };
        Ok(())
    }

    /// Unpublishes all names of this process.
    pub fn clear(&mut self) {
        self.published.clear();
    }
}

/// The port that is published under a name.
pub fn look_up(service: &[u8]) -> Result<Vec<u8>> {
    match find(&socket_name(service)) {
        Ok(Some(port)) => Ok(port),
        Ok(None) => bail!(MPI_ERR_NAME, "no process has published the name \"{}\" on this node", show(service)),
        Err(error) => {
            bail!(MPI_ERR_NAME, "names cannot be looked up, since /proc/net/unix cannot be read: {error}")
        }
    }
}

/// How many names are tried for the lock, if other users have bound the first ones.
const LOCKS: usize = 8;

/// The right to publish a name.
enum Turn {
    Ours(UnixDatagram),
    /// Other users have bound all names of the lock. It matters only to processes that publish at
    /// the same moment.
    Nobody,
    /// A process of this user has published it, or is about to.
    Another,
}

/// Keeps two processes of this user from publishing a name at the same time.
fn take_turn(name: &str) -> io::Result<Turn> {
    for number in 0..LOCKS {
        let lock = format!("{name}#{number}");
        match bind(&lock) {
            Ok(socket) => return Ok(Turn::Ours(socket)),
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => return Err(error),
            Err(_) if is_bound_by_this_user(&lock)? => return Ok(Turn::Another),
            Err(_) => {}
        }
    }
    Ok(Turn::Nobody)
}

/// Whether a process of this user has bound a name.
fn is_bound_by_this_user(name: &str) -> io::Result<bool> {
    let sockets = std::fs::read("/proc/net/unix")?;
    let wanted = format!("@{name}");
    let lines = sockets.split(|&byte| byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    let inodes: Vec<u64> =
        lines.filter_map(inode_and_name).filter(|&(_, name)| name == wanted).map(|(inode, _)| inode).collect();
    let processes = std::fs::read_dir("/proc")?.flatten();
    let mut pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Ok(pids.any(|pid| trust::sockets_of(pid).iter().any(|inode| inodes.contains(inode))))
}

/// The port published by a process of this user under the socket name of a service.
fn find(name: &str) -> io::Result<Option<Vec<u8>>> {
    let sockets = std::fs::read("/proc/net/unix")?;
    let wanted = format!("@{name}=");
    for line in sockets.split(|&byte| byte == b'\n') {
        let Some((inode, name)) = std::str::from_utf8(line).ok().and_then(inode_and_name) else { continue };
        let Some(place) = name.strip_prefix(&wanted).and_then(read_place) else { continue };
        if trust::sockets_of(place.pid).contains(&inode)
            && let Some(text) = place.read()
        {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// Where a published text is.
struct Place {
    pid: u32,
    fd: u32,
    inode: u64,
}

/// `PID.NONCE=FD.INODE`.
fn read_place(text: &str) -> Option<Place> {
    let (publisher, file) = text.split_once('=')?;
    let ((pid, _), (fd, inode)) = (publisher.split_once('.')?, file.split_once('.')?);
    let number = |text: &str| u32::from_str_radix(text, 16).ok();
    Some(Place { pid: number(pid)?, fd: number(fd)?, inode: u64::from_str_radix(inode, 16).ok()? })
}

impl Place {
    fn read(&self) -> Option<Vec<u8>> {
        let path = format!("/proc/{}/fd/{}", self.pid, self.fd);
        // Opening a device or a pipe could block or have side effects: check first.
        let is_it = |found: &Metadata| found.is_file() && found.ino() == self.inode;
        std::fs::metadata(&path).ok().filter(is_it)?;
        let opened = File::open(path).ok()?;
        opened.metadata().ok().filter(is_it)?;
        let mut text = Vec::new();
        opened.take(LONGEST as u64).read_to_end(&mut text).ok()?;
        Some(text)
    }
}

/// The inode and the name of a socket in a line of `/proc/net/unix`.
fn inode_and_name(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_ascii_whitespace().skip(6);
    Some((words.next()?.parse().ok()?, words.next()?))
}

fn bind(name: &str) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// The socket name of a service: a hash, since service names may be longer than socket names.
fn socket_name(service: &[u8]) -> String {
    let user = trust::user();
    let hash = |seed: u64| {
        service.iter().fold(seed, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(23))
    };
    format!("oxmpi-{user:x}-{:x}{:x}", hash(0xcbf2_9ce4_8422_2325), hash(0x9e37_79b9_7f4a_7c15))
}

fn show(service: &[u8]) -> String {
    String::from_utf8_lossy(service).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_until_it_is_unpublished() {
        let port = b"oxmpi:4194304:1023:ffffffffffffffff:65535:7fffffff";
        let service = format!("a name of {} with blanks\n and more {}", std::process::id(), "x".repeat(300));
        let service = service.as_bytes();
        assert_eq!(look_up(service).unwrap_err().class(), MPI_ERR_NAME);
        let mut names = Names::default();
        names.publish(service, port).unwrap();
        assert_eq!(look_up(service).unwrap(), port);
        assert_eq!(Names::default().publish(service, port).unwrap_err().class(), MPI_ERR_SERVICE);
        assert_eq!(look_up(&service[..9]).unwrap_err().class(), MPI_ERR_NAME);
        assert_eq!(names.unpublish(service, b"another").unwrap_err().class(), MPI_ERR_SERVICE);
        names.unpublish(service, port).unwrap();
        assert_eq!(names.unpublish(service, port).unwrap_err().class(), MPI_ERR_SERVICE);
        assert_eq!(look_up(service).unwrap_err().class(), MPI_ERR_NAME);
        names.publish(service, port).unwrap();
        drop(names);
        assert_eq!(look_up(service).unwrap_err().class(), MPI_ERR_NAME);
    }

    /// A socket of another user is in no process of this user; this test names a process that has
    /// not bound it.
    #[test]
    fn sockets_of_other_users_are_ignored() {
        let service = format!("a name that others want of {}", std::process::id());
        let service = service.as_bytes();
        let name = socket_name(service);
        let other = std::os::unix::process::parent_id();
        let _false_answer = bind(&format!("{name}={other:x}.1=0.1")).unwrap();
        let _in_no_form = bind(&format!("{name}=0/1:false")).unwrap();
        let _of_nobody = bind(&format!("{name}=x.1=0.1")).unwrap();
        // A socket of this process that names a file that is none.
        let _of_no_file = bind(&format!("{name}={:x}.1=ffff.1", std::process::id())).unwrap();
        assert_eq!(look_up(service).unwrap_err().class(), MPI_ERR_NAME);
        let mut names = Names::default();
        names.publish(service, b"true").unwrap();
        let _another = bind(&format!("{name}={other:x}.2=1.2")).unwrap();
        assert_eq!(look_up(service).unwrap(), b"true");
        assert!(is_bound_by_this_user(&format!("{name}#0")).unwrap());
        assert!(!is_bound_by_this_user(&format!("{name}#1")).unwrap());
    }

    #[test]
    fn the_text_is_not_shown_to_others() {
        let service = format!("a name with a secret of {}", std::process::id());
        let mut names = Names::default();
        names.publish(service.as_bytes(), b"oxmpi:1;5ec2e75ec2e7;1").unwrap();
        let sockets = String::from_utf8_lossy(&std::fs::read("/proc/net/unix").unwrap()).into_owned();
        assert!(sockets.contains(&socket_name(service.as_bytes())) && !sockets.contains("5ec2e7"));
    }

    #[test]
    fn any_text_can_be_published() {
        let service = format!("any text of {}", std::process::id());
        let mut names = Names::default();
        for port in ["", "otherhost:122", "with blanks,\n%, \u{e9} and =", &"long ".repeat(204)] {
            names.publish(service.as_bytes(), port.as_bytes()).unwrap();
            assert_eq!(look_up(service.as_bytes()).unwrap(), port.as_bytes());
            names.unpublish(service.as_bytes(), port.as_bytes()).unwrap();
        }
    }
}
