//! Names that servers publish for their ports, without any daemon or file: a published name is a pair of abstract Unix sockets that
//! the publishing process has bound, so that it vanishes with the process. One is named after the service alone, which nobody can bind
//! twice; the name of the other has the port in it, and is found in `/proc/net/unix`.
//!
//! So a name is known on its node, within a network namespace, and to processes of the same user.

use crate::connections::Port;
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
    port: Port,
    _sockets: [UnixDatagram; 2],
}

impl Names {
    pub fn publish(&mut self, service: &[u8], port: Port) -> Result<()> {
        let name = socket_name(service);
        let taken = match bind(&name) {
            Ok(taken) => taken,
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                bail!(MPI_ERR_SERVICE, "the name \"{}\" has been published already", show(service))
            }
            Err(error) => bail!(MPI_ERR_SERVICE, "the name \"{}\" cannot be published: {error}", show(service)),
        };
        match bind(&format!("{name}={port}")) {
            Ok(told) => {
                self.published.insert(service.to_vec(), Published { port, _sockets: [taken, told] });
                Ok(())
            }
            Err(error) => bail!(MPI_ERR_SERVICE, "the name \"{}\" cannot be published: {error}", show(service)),
        }
    }

    pub fn unpublish(&mut self, service: &[u8], port: Port) -> Result<()> {
        match self.published.get(service) {
            None => bail!(MPI_ERR_SERVICE, "this process has not published the name \"{}\"", show(service)),
            Some(found) if found.port != port => {
                bail!(MPI_ERR_SERVICE, "the name \"{}\" was published for the port {}", show(service), found.port)
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
pub fn look_up(service: &[u8]) -> Result<Port> {
    let sockets = match std::fs::read("/proc/net/unix") {
        Ok(sockets) => sockets,
        Err(error) => bail!(MPI_ERR_NAME, "names cannot be looked up, since /proc/net/unix cannot be read: {error}"),
    };
    let wanted = format!("@{}=", socket_name(service));
    let lines = sockets.split(|&byte| byte == b'\n');
    let names = lines.filter_map(|line| std::str::from_utf8(line.rsplit(|&byte| byte == b' ').next()?).ok());
    match names.filter_map(|name| name.strip_prefix(&wanted)).find_map(|port| port.parse().ok()) {
        Some(port) => Ok(port),
        None => bail!(MPI_ERR_NAME, "nobody has published the name \"{}\" on this node", show(service)),
    }
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
    use oxmpi_base::address::{Address, JobId};

    #[test]
    fn a_name_is_found_until_it_is_taken_back() {
        let job = JobId { inode: u64::MAX, holder: 4_194_304, fd: 1023 };
        let port = Port { owner: Address { job, slot: 65535 }, number: i32::MAX as u32 };
        let service = format!("a name of {} with blanks\n and more {}", std::process::id(), "x".repeat(300));
        let service = service.as_bytes();
        assert_eq!(look_up(service).unwrap_err().class(), MPI_ERR_NAME);
        let mut names = Names::default();
        names.publish(service, port).unwrap();
        assert_eq!(look_up(service).unwrap(), port);
        assert_eq!(Names::default().publish(service, port).unwrap_err().class(), MPI_ERR_SERVICE);
        assert_eq!(look_up(&service[..9]).unwrap_err().class(), MPI_ERR_NAME);
        let other = Port { number: 3, ..port };
        assert_eq!(names.unpublish(service, other).unwrap_err().class(), MPI_ERR_SERVICE);
        names.unpublish(service, port).unwrap();
        assert_eq!(names.unpublish(service, port).unwrap_err().class(), MPI_ERR_SERVICE);
        assert_eq!(look_up(service).unwrap_err().class(), MPI_ERR_NAME);
        names.publish(service, port).unwrap();
        drop(names);
        assert_eq!(look_up(service).unwrap_err().class(), MPI_ERR_NAME);
    }
}
