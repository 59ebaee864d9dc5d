//! Names that servers publish for their ports, without any daemon or file: a published name is a
//! few abstract Unix sockets that the publishing process has bound, so that it vanishes with the
//! process. Their names contain the port in pieces, and are found in `/proc/net/unix`.
//!
//! So a name is known on its node, within a network namespace, and to processes of the same user.
//! Any user can bind any abstract name, so a piece names the process that bound it, and counts only
//! if that process belongs to this user and has the socket open. Sockets of other users can neither
//! fake, hide nor occupy a name. The published text need not be a port of OxMPI: the connecting
//! process finds out.

use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::trust;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The names that a process has published.
#[derive(Default)]
pub struct Names {
    published: BTreeMap<Vec<u8>, Published>,
}

struct Published {
    port: Vec<u8>,
    _lock: Option<UnixDatagram>,
    _sockets: Vec<UnixDatagram>,
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
        let pieces = pieces_of(port);
        // Other processes cannot predict these names and bind them first.
        let nonce = RandomState::new().hash_one(0) as u32;
        let publisher = format!("{name}={:x}.{nonce:x}", std::process::id());
        let numbered = pieces.iter().enumerate();
        let bound = numbered.map(|(at, piece)| bind(&format!("{publisher}={at:x}/{:x}:{piece}", pieces.len())));
        let sockets = bound.collect::<io::Result<_>>().map_err(cannot)?;
        let published = Published { port: port.to_vec(), _lock: lock, _sockets: sockets };
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
    let mut publishers: BTreeMap<&str, Vec<(u64, Piece<'_>)>> = BTreeMap::new();
    for line in sockets.split(|&byte| byte == b'\n') {
        let Some((inode, name)) = std::str::from_utf8(line).ok().and_then(inode_and_name) else { continue };
        let found = name.strip_prefix(&wanted).and_then(|rest| rest.split_once('='));
        if let Some((publisher, piece)) = found.and_then(|(publisher, rest)| Some((publisher, read_piece(rest)?))) {
            publishers.entry(publisher).or_default().push((inode, piece));
        }
    }
    let mut sockets_of: HashMap<u32, Vec<u64>> = HashMap::new();
    for (publisher, mut pieces) in publishers {
        let Some(pid) = publisher.split_once('.').and_then(|(pid, _)| u32::from_str_radix(pid, 16).ok()) else {
            continue;
        };
        let own = sockets_of.entry(pid).or_insert_with(|| trust::sockets_of(pid));
        pieces.retain(|(inode, _)| own.contains(inode));
        pieces.sort_unstable_by_key(|&(_, (index, ..))| index);
        let is_all =
            pieces.iter().enumerate().all(|(at, &(_, (index, count, _)))| (index, count) == (at, pieces.len()));
        if is_all && !pieces.is_empty() {
            return Ok(Some(read_plain(&pieces.into_iter().map(|(_, (.., piece))| piece).collect::<String>())));
        }
    }
    Ok(None)
}

/// The inode and the name of a socket in a line of `/proc/net/unix`.
fn inode_and_name(line: &str) -> Option<(u64, &str)> {
    let mut words = line.split_ascii_whitespace().skip(6);
    Some((words.next()?.parse().ok()?, words.next()?))
}

/// The index of a piece, the number of pieces, and the piece.
type Piece<'a> = (usize, usize, &'a str);

/// Characters of a port in the name of one socket, which has 107 including its prefix.
const PIECE: usize = 34;

/// A port in characters that socket names allow, in pieces that fit.
fn pieces_of(port: &[u8]) -> Vec<String> {
    let plain = |byte: &u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b':' | b'.' | b'-' => char::from(*byte).to_string(),
        other => format!("%{other:02x}"),
    };
    let text: String = port.iter().map(plain).collect();
    let pieces = text.as_bytes().chunks(PIECE).map(|piece| String::from_utf8_lossy(piece).into_owned());
    if text.is_empty() { vec![text] } else { pieces.collect() }
}

fn read_piece(text: &str) -> Option<Piece<'_>> {
    let (place, piece) = text.split_once(':')?;
    let (at, count) = place.split_once('/')?;
    Some((usize::from_str_radix(at, 16).ok()?, usize::from_str_radix(count, 16).ok()?, piece))
}

fn read_plain(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut bytes: Vec<u8> = parts.next().unwrap_or_default().into();
    for part in parts {
        let (code, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        bytes.extend(u8::from_str_radix(code, 16).ok());
        bytes.extend(rest.bytes());
    }
    bytes
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
        let _false_answer = bind(&format!("{name}={other:x}.1=0/1:false")).unwrap();
        let _in_old_form = bind(&format!("{name}=0/1:false")).unwrap();
        let _of_nobody = bind(&format!("{name}=x.1=0/1:false")).unwrap();
        assert_eq!(look_up(service).unwrap_err().class(), MPI_ERR_NAME);
        let mut names = Names::default();
        names.publish(service, b"true").unwrap();
        let _more_pieces = bind(&format!("{name}={other:x}.2=1/2:false")).unwrap();
        assert_eq!(look_up(service).unwrap(), b"true");
        assert!(is_bound_by_this_user(&format!("{name}#0")).unwrap());
        assert!(!is_bound_by_this_user(&format!("{name}#1")).unwrap());
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
