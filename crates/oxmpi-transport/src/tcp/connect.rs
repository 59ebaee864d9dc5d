//! How connections between nodes come to be, as far as links know it.
//!
//! A rank that has something to send asks its [`Connector`] for a connection. One that is sent to gets the connection
//! from the agent of its node, which has accepted and proven it: a record ([`Arrival`]) and the descriptor come through
//! a Unix socket of type `SOCK_SEQPACKET`, of which the agent keeps one end ([`hand_over`]) and the rank the other
//! ([`Arrivals`]). Addresses, ports, keys and retries are the business of those who implement the two sides
//! (`oxmpi-boot`, the agent); only proven connections come here.
//!
//! Nothing here blocks. What comes from the agent's socket is validated, since a program may inherit that socket.

use oxmpi_base::address::ProcessId;
use oxmpi_base::ids::{NodeId, Slot};
use oxmpi_base::socket;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Makes connections to processes of other nodes.
pub trait Connector: Send {
    /// Begins a connection to a process; returns at once. An error is final: there is no way to the process.
    fn connect(&self, to: ProcessId) -> Result<Box<dyn Pending>, ConnectError>;

    /// The name of the host of a process, for messages.
    fn host(&self, of: ProcessId) -> Option<String>;

    /// A connection usually breaks because the process at its other end has died. Where agents watch the processes, they
    /// know the reason and end the job. For so long they have the first word, before the program is told.
    fn verdict(&self) -> Duration;
}

/// A connection that is being made.
pub trait Pending: Send {
    /// Does what can be done without waiting; `None` while that is not all. The connection is a stream socket on which the
    /// other side has proven to be the process that was asked for (after GO), and of which no byte of a frame was read.
    fn step(&mut self) -> Result<Option<OwnedFd>, ConnectError>;

    /// A descriptor that is readable whenever [`Pending::step`] may have something to do. One that has several sockets and
    /// timers gives an epoll descriptor with all of them. It may be another one after each step.
    fn readiness(&self) -> BorrowedFd<'_>;
}

/// Why a process cannot be reached, with a line for every address that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectError(pub String);

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConnectError {}

/// Whose connection the agent has accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// The 128 random bits that name the job of the process that connects.
    pub job: [u8; 16],
    pub node: NodeId,
    pub slot: Slot,
}

/// A record in the agent's socket: version, node, slot, job.
const ARRIVAL_BYTES: usize = 28;
const ARRIVAL_VERSION: u32 = 1;

impl Arrival {
    fn to_bytes(self) -> [u8; ARRIVAL_BYTES] {
        let mut bytes = [0; ARRIVAL_BYTES];
        let numbers = [ARRIVAL_VERSION, self.node.number(), self.slot.index() as u32];
        for (to, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        bytes[12..].copy_from_slice(&self.job);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Arrival> {
        let bytes: &[u8; ARRIVAL_BYTES] = bytes.try_into().ok()?;
        let number = |at: usize| Some(u32::from_le_bytes(*bytes[at..].first_chunk()?));
        if number(0)? != ARRIVAL_VERSION {
            return None;
        }
        let slot = Slot::new(number(8)? as usize)?;
        Some(Arrival { job: *bytes[12..].first_chunk()?, node: NodeId::new(number(4)?), slot })
    }
}

/// The rank's end of the agent's socket.
pub struct Arrivals {
    socket: OwnedFd,
}

impl Arrivals {
    /// Takes the rank's end of a `SOCK_SEQPACKET` pair; from now on reading it never makes a caller wait.
    pub fn new(socket: OwnedFd) -> Arrivals {
        Arrivals { socket }
    }

    /// The next connection; `None` while there is none. A record that makes no sense is an error, and so is the end of the
    /// agent, once all connections that it has handed over are taken.
    pub fn take(&mut self) -> io::Result<Option<(Arrival, OwnedFd)>> {
        let mut bytes = [0u8; ARRIVAL_BYTES + 1];
        let (count, fds) = loop {
            match socket::receive_with_fds(self.socket.as_fd(), &mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                other => break other?,
            }
        };
        if count == 0 && fds.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the agent of this node has ended"));
        }
        let arrival = Arrival::from_bytes(&bytes[..count]);
        let mut fds = fds.into_iter();
        match (arrival, fds.next(), fds.next()) {
            (Some(arrival), Some(fd), None) => Ok(Some((arrival, fd))),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "what came is no record of an accepted connection")),
        }
    }
}

impl AsFd for Arrivals {
    /// Readable when [`Arrivals::take`] has something.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The two ends of a socket for accepted connections: the agent's and the rank's. Both are close-on-exec.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    socket::seqpacket_pair()
}

/// Hands an accepted connection to a rank; the caller may close its copy then. Never waits: `WouldBlock` while the rank
/// has too many to take, which is tried again later.
pub fn hand_over(to: BorrowedFd<'_>, arrival: &Arrival, connection: BorrowedFd<'_>) -> io::Result<()> {
    socket::send_with_fd(to, &arrival.to_bytes(), connection)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    const ARRIVAL: Arrival = Arrival { job: [7; 16], node: NodeId::new(3), slot: Slot::FIRST };

    #[test]
    fn a_connection_is_handed_over_with_its_record() {
        let (agent, rank) = pair().unwrap();
        let mut arrivals = Arrivals::new(rank);
        assert!(arrivals.take().unwrap().is_none());
        let (mut near, far) = UnixStream::pair().unwrap();
        hand_over(agent.as_fd(), &ARRIVAL, far.as_fd()).unwrap();
        drop(far);
        let (arrival, fd) = arrivals.take().unwrap().unwrap();
        assert_eq!(arrival, ARRIVAL);
        near.write_all(b"ok").unwrap();
        let mut text = [0; 2];
        File::from(fd).read_exact(&mut text).unwrap();
        assert_eq!(&text, b"ok");
        assert!(arrivals.take().unwrap().is_none());
        drop(agent);
        assert_eq!(arrivals.take().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_full_socket_makes_nobody_wait() {
        let (agent, rank) = pair().unwrap();
        let (_near, far) = UnixStream::pair().unwrap();
        let mut sent = 0;
        let full = loop {
            match hand_over(agent.as_fd(), &ARRIVAL, far.as_fd()) {
                Ok(()) => sent += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
        let mut arrivals = Arrivals::new(rank);
        let taken = std::iter::from_fn(|| arrivals.take().unwrap()).count();
        assert_eq!(taken, sent);
    }

    /// Records that no agent sends are refused, and their descriptors closed.
    #[test]
    fn invalid_input_is_refused() {
        let (agent, rank) = pair().unwrap();
        let mut arrivals = Arrivals::new(rank);
        let whole = ARRIVAL.to_bytes();
        let mut version = whole;
        version[0] = 9;
        let mut slot = whole;
        slot[8..12].fill(0xff);
        let long = [whole.as_slice(), &[0]].concat();
        for bytes in [&whole[..27], &version, &slot, &long, &whole] {
            assert_eq!(socket::send(agent.as_fd(), bytes).unwrap(), bytes.len());
            assert_eq!(arrivals.take().unwrap_err().kind(), io::ErrorKind::InvalidData, "without a descriptor too");
        }
        assert_eq!(Arrival::from_bytes(&whole), Some(ARRIVAL));
    }
}
