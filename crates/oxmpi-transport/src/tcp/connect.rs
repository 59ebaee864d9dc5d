//! How connections between nodes come to be, as far as links know it.
//!
//! A rank that has something to send asks its [`Connector`] for a connection. One that is sent to gets the connection
//! from the agent of its node, which has accepted and proven it: a record ([`Arrival`]) and the descriptor come through
//! a Unix socket of type `SOCK_SEQPACKET`, of which the agent keeps one end ([`hand_over`]) and the rank the other
//! ([`Arrivals`]). Addresses, ports, keys and retries are the business of those who implement the two sides
//! (`oxmpi-boot`, the agent); only proven connections come here.
//!
//! Nothing here blocks. What comes from the agent's socket is validated, since a program may inherit that socket.

use oxmpi_base::address::{JobId, ProcessId};
use oxmpi_base::ids::{NodeId, Slot};
use oxmpi_base::socket;
use oxmpi_boot::requests::MOST_BYTES;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Makes connections to processes of other nodes and jobs.
pub trait Connector: Send {
    /// Begins a connection to a process; returns at once. An error is final: there is no way to the process.
    fn connect(&self, to: ProcessId) -> Result<Box<dyn Pending>, ConnectError>;

    /// Begins a connection that brings news of the processes of a node of another job: records of a slot and a
    /// `oxmpi_boot::requests::Stage`, 4 bytes each.
    fn watch(&self, job: JobId, node: NodeId) -> Result<Box<dyn Pending>, ConnectError>;

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
    /// The process that connects.
    pub job: JobId,
    pub node: NodeId,
    pub slot: Slot,
    /// It is the first contact with the owner of the port of this number, and no link.
    pub port: Option<u32>,
}

/// What the agent says: a connection, or an answer.
#[derive(Debug)]
pub enum Record {
    Connection(Arrival, OwnedFd),
    /// As `oxmpi_boot::requests` defines it; not validated.
    Answer(Vec<u8>),
}

/// A record of a connection: kind, node, slot, whether it is for a port, its number, job.
const ARRIVAL_BYTES: usize = 1 + 4 * 4 + 8 * JobId::WORDS;
const CONNECTION: u8 = 1;
const ANSWER: u8 = 2;

impl Arrival {
    pub fn id(&self) -> ProcessId {
        ProcessId { job: self.job, node: self.node, slot: self.slot }
    }

    fn to_bytes(self) -> [u8; ARRIVAL_BYTES] {
        let mut bytes = [0; ARRIVAL_BYTES];
        bytes[0] = CONNECTION;
        let slot = self.slot.index() as u32;
        let numbers = [self.node.number(), slot, u32::from(self.port.is_some()), self.port.unwrap_or(0)];
        for (to, number) in bytes[1..].chunks_exact_mut(4).zip(numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        for (to, word) in bytes[17..].chunks_exact_mut(8).zip(self.job.words()) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Arrival> {
        let bytes: &[u8; ARRIVAL_BYTES] = bytes.try_into().ok()?;
        let number = |at: usize| Some(u32::from_le_bytes(*bytes[1 + 4 * at..].first_chunk()?));
        let word = |at: usize| Some(u64::from_le_bytes(*bytes[17 + 8 * at..].first_chunk()?));
        let slot = Slot::new(number(1)? as usize)?;
        let port = match number(2)? {
            0 => None,
            1 => Some(number(3)?),
            _ => return None,
        };
        let job = JobId::from_words([word(0)?, word(1)?, word(2)?]);
        (bytes[0] == CONNECTION).then_some(Arrival { job, node: NodeId::new(number(0)?), slot, port })
    }
}

/// The rank's end of the socket that it shares with its agent.
pub struct Arrivals {
    socket: OwnedFd,
    bytes: Vec<u8>,
}

impl Arrivals {
    /// Takes the rank's end of a `SOCK_SEQPACKET` pair; from now on reading it never makes a caller wait.
    pub fn new(socket: OwnedFd) -> Arrivals {
        Arrivals { socket, bytes: vec![0; MOST_BYTES + 1] }
    }

    /// The next record; `None` while there is none. One that makes no sense is an error, and so is the end of the agent,
    /// once all that it has handed over is taken.
    pub fn take(&mut self) -> io::Result<Option<Record>> {
        let (count, fds) = loop {
            match socket::receive_with_fds(self.socket.as_fd(), &mut self.bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                other => break other?,
            }
        };
        if count == 0 && fds.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the agent of this node has ended"));
        }
        let bytes = &self.bytes[..count];
        let mut fds = fds.into_iter();
        match (bytes, Arrival::from_bytes(bytes), fds.next(), fds.next()) {
            (_, Some(arrival), Some(fd), None) => Ok(Some(Record::Connection(arrival, fd))),
            ([ANSWER, answer @ ..], _, None, _) => Ok(Some(Record::Answer(answer.to_vec()))),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "what came is no record of an agent")),
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

/// Gives an answer to a rank; never waits. `WouldBlock` while the rank has too many to take.
pub fn answer(to: BorrowedFd<'_>, answer: &[u8]) -> io::Result<()> {
    socket::send(to, &[&[ANSWER], answer].concat()).map(drop)
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

    const ARRIVAL: Arrival = Arrival {
        job: JobId { inode: 7, holder: 6, fd: 5, host: 4 },
        node: NodeId::new(3),
        slot: Slot::FIRST,
        port: Some(9),
    };

    #[test]
    fn a_connection_is_handed_over_with_its_record() {
        let (agent, rank) = pair().unwrap();
        let mut arrivals = Arrivals::new(rank);
        assert!(arrivals.take().unwrap().is_none());
        let (mut near, far) = UnixStream::pair().unwrap();
        hand_over(agent.as_fd(), &ARRIVAL, far.as_fd()).unwrap();
        drop(far);
        let Some(Record::Connection(arrival, fd)) = arrivals.take().unwrap() else { panic!() };
        assert_eq!(arrival, ARRIVAL);
        answer(agent.as_fd(), b"yes").unwrap();
        assert!(matches!(arrivals.take().unwrap(), Some(Record::Answer(said)) if said == b"yes"));
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
        let mut kind = whole;
        kind[0] = 9;
        let mut slot = whole;
        slot[5..9].fill(0xff);
        let mut port = whole;
        port[9] = 2;
        let long = [whole.as_slice(), &[0]].concat();
        for bytes in [&whole[..27], &kind, &slot, &port, &long, &whole] {
            assert_eq!(socket::send(agent.as_fd(), bytes).unwrap(), bytes.len());
            assert_eq!(arrivals.take().unwrap_err().kind(), io::ErrorKind::InvalidData, "without a descriptor too");
        }
        for (bytes, expected) in [(&whole, Some(ARRIVAL)), (&slot, None), (&port, None), (&kind, None)] {
            assert_eq!(Arrival::from_bytes(bytes), expected);
        }
    }
}
