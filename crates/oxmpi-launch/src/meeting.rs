//! Where an agent finds its `mpirun`, if it connects to it, and how it does that. `step.rs` is the other end.

use std::io::{self, Write};
use std::net::{IpAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use oxmpi_boot::handshake::{End, Key, KeyId};
use oxmpi_boot::network::{Network, NodePort};

use crate::sys;

/// Where agents find `mpirun`, and the number of the key that they prove. Nothing of it is secret.
#[derive(Debug, PartialEq, Eq)]
pub struct Meeting {
    pub key_id: KeyId,
    pub port: u16,
    pub addresses: Vec<IpAddr>,
}

impl Meeting {
    /// As words of a command.
    pub fn words(&self) -> [String; 3] {
        let addresses: Vec<String> = self.addresses.iter().map(IpAddr::to_string).collect();
        [to_hex(&self.key_id), self.port.to_string(), addresses.join(",")]
    }

    pub fn parse([id, port, addresses]: [&str; 3]) -> Option<Meeting> {
        Some(Meeting {
            key_id: from_hex(id)?,
            port: port.parse().ok()?,
            addresses: addresses.split(',').map(|text| text.parse().ok()).collect::<Option<_>>()?,
        })
    }
}

/// Connects an agent to its `mpirun`, which knows its host by this name, and greets it.
pub fn meet(at: Meeting, key: &Key, host: &str, greeting: &str) -> io::Result<(OwnedFd, OwnedFd)> {
    // Ranks inherit neither the launcher's stdin nor its stdout.
    sys::leave_stdio()?;
    let Meeting { key_id, port, addresses } = at;
    let at = NodePort { port, addresses, host: "mpirun".into() };
    let own = End { node: 0, slot: End::AGENT };
    let mut attempt = Network::connect_control((key_id, key), &at, own).map_err(io::Error::other)?;
    let stream = loop {
        if let Some(socket) = attempt.step().map_err(io::Error::other)? {
            break TcpStream::from(socket);
        }
        let mut fds = [sys::pollfd(attempt.readiness().as_raw_fd(), sys::POLLIN)];
        sys::poll(&mut fds, Some(Duration::from_millis(100)))?;
    };
    // A new connection has room for two lines.
    (&stream).write_all(format!("{host}\n{greeting}").as_bytes())?;
    Ok((stream.try_clone()?.into(), stream.into()))
}

pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn from_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.is_ascii() {
        return None;
    }
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}
