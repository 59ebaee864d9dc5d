//! Names that servers publish for their ports, without any daemon or file: a published name is a few abstract Unix sockets that
//! the publishing process has bound, so that it vanishes with the process. One is named after the service alone, which nobody can bind
//! twice; the names of the others have the port in them, piece by piece, and are found in `/proc/net/unix`.
//!
//! So a name is known on its node, within a network namespace, and to processes of the same user. What is published need not be
//! a port of OxMPI's: that is for those who connect to find out.

use oxmpi_abi::constants::*;
use oxmpi_abi::{Result, bail};
use std::collections::BTreeMap;
use std::io;
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
    _sockets: Vec<UnixDatagram>,
}

impl Names {
    pub fn publish(&mut self, service: &[u8], port: &[u8]) -> Result<()> {
        let name = socket_name(service);
        let taken = match bind(&name) {
            Ok(taken) => taken,
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                bail!(MPI_ERR_SERVICE, "the name \"{}\" has been published already", show(service))
            }
            Err(error) => bail!(MPI_ERR_SERVICE, "the name \"{}\" cannot be published: {error}", show(service)),
        };
        let pieces = pieces_of(port);
        let told =
            pieces.iter().enumerate().map(|(at, piece)| bind(&format!("{name}={at:x}/{:x}:{piece}", pieces.len())));
        match [Ok(taken)].into_iter().chain(told).collect() {
            Ok(sockets) => {
                self.published.insert(service.to_vec(), Published { port: port.to_vec(), _sockets: sockets });
                Ok(())
            }
            Err(error) => bail!(MPI_ERR_SERVICE, "the name \"{}\" cannot be published: {error}", show(service)),
        }
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

    /// Takes all of this process's names back.
    pub fn clear(&mut self) {
        self.published.clear();
    }
}

/// The port that somebody has published under a name.
pub fn look_up(service: &[u8]) -> Result<Vec<u8>> {
    let sockets = match std::fs::read("/proc/net/unix") {
        Ok(sockets) => sockets,
        Err(error) => bail!(MPI_ERR_NAME, "names cannot be looked up, since /proc/net/unix cannot be read: {error}"),
    };
    let wanted = format!("@{}=", socket_name(service));
    let lines = sockets.split(|&byte| byte == b'\n');
    let names = lines.filter_map(|line| std::str::from_utf8(line.rsplit(|&byte| byte == b' ').next()?).ok());
    let mut pieces: Vec<_> = names.filter_map(|name| name.strip_prefix(&wanted)).filter_map(read_piece).collect();
    pieces.sort_unstable();
    let is_all = pieces.iter().enumerate().all(|(at, &(index, count, _))| (index, count) == (at, pieces.len()));
    if pieces.is_empty() || !is_all {
        bail!(MPI_ERR_NAME, "nobody has published the name \"{}\" on this node", show(service));
    }
    Ok(read_plain(&pieces.into_iter().map(|(.., piece)| piece).collect::<String>()))
}

/// Characters of a port's name in the name of one socket, which has 107 with all that is before them.
const PIECE: usize = 50;

/// What a port is called, in characters that names of sockets can have, in pieces that they have room for.
fn pieces_of(port: &[u8]) -> Vec<String> {
    let plain = |byte: &u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b':' | b'.' | b'-' => char::from(*byte).to_string(),
        other => format!("%{other:02x}"),
    };
    let text: String = port.iter().map(plain).collect();
    let pieces = text.as_bytes().chunks(PIECE).map(|piece| String::from_utf8_lossy(piece).into_owned());
    if text.is_empty() { vec![text] } else { pieces.collect() }
}

/// The index of a piece, how many there are, and the piece.
fn read_piece(told: &str) -> Option<(usize, usize, &str)> {
    let (place, piece) = told.split_once(':')?;
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

/// What the socket of a service is called: service names may be longer than names of sockets, so it is a hash.
fn socket_name(service: &[u8]) -> String {
    // The owner of /proc/self is the user that this process acts for.
    let user = std::fs::metadata("/proc/self").map_or(0, |found| found.uid());
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
    fn a_name_is_found_until_it_is_taken_back() {
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
