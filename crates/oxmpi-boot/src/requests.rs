//! What a rank and the agent of its node say to each other, over the socket that they share. An `mpirun` that starts
//! ranks on its own machine is their agent, too; a process that was started alone has a helper process.
//!
//! ```text
//! rank   ->  Request   let these callers in; publish a name; this process finalizes; a ballot of a vote
//! agent  ->  a connection that was let in, with its record, or an Answer to a request with a ticket
//! ```
//!
//! Both sides validate what comes: a program may inherit the socket. A record has a bounded length.

use std::net::IpAddr;

use oxmpi_base::socket;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::BorrowedFd;

use crate::network::{MOST_ADDRESSES, NodePort};

/// The longest record.
pub const MOST_BYTES: usize = 64 << 10;

/// From a rank to its agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Processes of other hosts want to connect: where do they find this node?
    Listen { ticket: u32 },
    /// Callers that prove this key are let in.
    Admit { key_id: [u8; 16], key: [u8; 32], purpose: Purpose },
    /// They are not let in any more on behalf of this rank.
    Dismiss { key_id: [u8; 16] },
    /// How far this process is from its end, for processes of other jobs.
    Stage(Stage),
    /// About published names.
    Names { ticket: u32, what: NameRequest },
    /// This process cannot connect to a process, or to the agent, of another node of its job: may that node connect to
    /// it. A socket comes along, over which the agent hands the connection, or says why there is none.
    ConnectBack { node: u32, slot: u32 },
    /// A socket comes along: over it this process tells the agent about its windows (`oxmpi_rma::far`).
    Windows,
    /// A ballot of this process in a vote whose members, world ranks in runs of so many, are on several nodes.
    Vote { vote: VoteId, members: Vec<(u32, u32)>, ballot: SentBallot },
    /// A context that processes of other nodes have, too, is revoked.
    Revoke { context: u32 },
    /// This process aborts a communicator that processes of other nodes have, too: its members, world ranks in runs, are to end.
    Abort { members: Vec<(u32, u32)> },
    /// The link to a process of another node, a world rank, is broken, and nobody has said that the process has died.
    LinkBroken { rank: u32, why: String },
}

/// A vote among processes of several nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VoteId {
    /// Of the communicator.
    pub context: u32,
    /// A hash of its members.
    pub members: u64,
    /// How many votes they have had on it, with this one.
    pub number: u64,
}

/// What a process says in such a vote; all are of one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentBallot {
    pub kind: u32,
    pub flag: u32,
    pub proposal: u64,
    /// So many entries of the log of deaths are acknowledged, and known.
    pub acked: u32,
    pub known: u32,
}

/// What callers want.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// Links to all ranks that have asked for it, and news of the ranks of this node.
    Links,
    /// The port with this number of the rank that asked.
    Port { number: u32 },
}

/// How far a process is from its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Stage {
    Running = 0,
    /// It receives nothing more.
    Leaving = 1,
    /// It takes part in nothing, for now or for good.
    Finalized = 2,
    /// The process has ended after that.
    Ended = 3,
    /// It has ended otherwise.
    Died = 4,
}

impl Stage {
    pub fn from_number(number: u32) -> Option<Stage> {
        use Stage::*;
        [Running, Leaving, Finalized, Ended, Died].into_iter().find(|&stage| stage as u32 == number)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NameRequest {
    Publish {
        service: Vec<u8>,
        port: Vec<u8>,
    },
    Unpublish {
        service: Vec<u8>,
        port: Vec<u8>,
    },
    LookUp {
        service: Vec<u8>,
    },
    /// Unpublishes all names of the process.
    Clear,
}

/// From an agent to a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The port and the addresses of this node, or why it cannot be reached.
    Listening { ticket: u32, at: Result<(u16, Vec<IpAddr>), String> },
    /// The port that was looked up, or nothing; or the class and the text of an error.
    Names { ticket: u32, result: Result<Vec<u8>, (i32, String)> },
    /// The ballots of a vote, those of all members or a part of them.
    Voted { vote: VoteId, ballots: Ballots },
}

/// A part of the ballots of a vote, in the order of its members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ballots {
    /// The place of the first one among those of all members.
    pub first: u32,
    /// How many members there are.
    pub members: u32,
    /// Nothing from a process that has ended without one.
    pub said: Vec<Option<SentBallot>>,
}

/// So many ballots fit into a record.
pub const MOST_BALLOTS: usize = 1024;

/// The address of a node as it came from another process.
pub fn node_port((port, addresses): (u16, Vec<IpAddr>)) -> NodePort {
    NodePort { port, addresses: addresses.into_iter().take(MOST_ADDRESSES).collect(), host: String::new() }
}

/// Sends a record without waiting. `WouldBlock` while the other side has too many.
pub fn send(to: BorrowedFd<'_>, record: &impl Serialize) -> io::Result<()> {
    let bytes = postcard::to_stdvec(record).map_err(io::Error::other)?;
    if bytes.len() > MOST_BYTES {
        let text = format!("{} bytes are too many for one message to the agent", bytes.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    socket::send(to, &bytes).map(drop)
}

/// Sends a record with a descriptor, without waiting.
pub fn send_with_fd(to: BorrowedFd<'_>, record: &impl Serialize, fd: BorrowedFd<'_>) -> io::Result<()> {
    socket::send_with_fd(to, &postcard::to_stdvec(record).map_err(io::Error::other)?, fd)
}

/// A whole record and nothing after it.
pub fn read<'a, R: Deserialize<'a>>(bytes: &'a [u8]) -> Option<R> {
    match postcard::take_from_bytes(bytes) {
        Ok((record, [])) => Some(record),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::fd::AsFd;

    #[test]
    fn records_come_as_they_went() {
        let (a, b) = socket::seqpacket_pair().unwrap();
        let request = Request::Admit { key_id: [1; 16], key: [2; 32], purpose: Purpose::Port { number: 7 } };
        send(a.as_fd(), &request).unwrap();
        let mut bytes = vec![0; MOST_BYTES];
        let (count, _) = socket::receive_with_fds(b.as_fd(), &mut bytes).unwrap();
        assert_eq!(read(&bytes[..count]), Some(request));
        assert_eq!(read::<Request>(&bytes[..count + 1]), None, "a byte too many");
        let long = NameRequest::LookUp { service: vec![0; MOST_BYTES] };
        let error = send(a.as_fd(), &Request::Names { ticket: 1, what: long }).unwrap_err();
        assert!(error.to_string().contains("too many"));
        let ballot =
            SentBallot { kind: u32::MAX, flag: u32::MAX, proposal: u64::MAX, acked: u32::MAX, known: u32::MAX };
        let ballots = Ballots { first: 0, members: u32::MAX, said: vec![Some(ballot); MOST_BALLOTS] };
        let vote = VoteId { context: u32::MAX, members: u64::MAX, number: u64::MAX };
        send(a.as_fd(), &Answer::Voted { vote, ballots }).unwrap();
        assert_eq!(Stage::from_number(4), Some(Stage::Died));
        assert_eq!(Stage::from_number(5), None);
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read::<Request>(&bytes);
            let _ = read::<Answer>(&bytes);
        }
    }
}
