//! The helper of a node whose ranks another launcher has started: `mpirun` under another option. It is what an agent is for
//! the ranks of our own `mpirun`: it makes the node's segment, listens for other nodes, serves one-sided requests, and
//! outlives every rank of the node. This module has the words that it exchanges with the ranks, and the side of a rank;
//! the helper itself is in `oxmpi-launch`.
//!
//! The first rank that comes starts it. All ranks of a node find it at an abstract Unix socket whose name holds the user
//! and the job; both sides check that the other has the same user. A rank in a process namespace of its own is refused,
//! because processes name each other by number in the segment: such a rank is a node of its own.
//!
//! ```text
//! rank    ->  Join          who I am                         (then all ranks meet at a fence of the manager)
//! rank    ->  Complete      all ranks of this node have come
//! helper  ->  First         to the lowest rank: the record of this node, for the other nodes; Wait to the others
//! rank    ->  Table         from the lowest rank: all nodes of the job, in a file
//! helper  ->  Hand…, Start  descriptors for every rank
//! ```
//!
//! The socket of the two then is the one that a rank shares with its agent ([`crate::requests`]).

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

use oxmpi_base::cpus::CpuSet;
use oxmpi_base::socket::{self, Interest, ReadySet};
use oxmpi_base::{dial, orphan, trust};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::manager::Told;
use crate::manager::record::{NodeRecord, Secret};
use crate::network::{BUILD, NodePort};
use crate::nodes::BLOCK_WORDS;
use crate::requests::{self, MOST_BYTES};

/// The option of `mpirun`; its value is the descriptor of the listening socket.
pub const OPTION: &str = "--node-helper";

/// Time for the helper to answer a rank that comes.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between two attempts to reach it.
const AGAIN: Duration = Duration::from_millis(10);
/// A longer table is a damaged one.
const MOST_TABLE: u64 = 1 << 30;

/// From a rank to the helper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToHelper {
    Join(Joining),
    Complete,
    /// A file with a [`Table`] comes along.
    Table,
}

/// A rank that comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joining {
    pub build: u64,
    pub rank: u32,
    pub size: u32,
    /// As the rank's own namespace numbers it.
    pub pid: u32,
    /// The CPUs that it may use, as a list; empty if that is not known.
    pub cpus: String,
}

/// From the helper to a rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromHelper {
    Welcome,
    /// It must be a node of its own.
    NotHere,
    Failed(String),
    /// To the lowest rank of the node.
    First(NodeRecord),
    Wait,
    /// A descriptor that comes along.
    Hand(Handed),
    /// This process, and the number under which it holds the segment.
    Start {
        helper: u32,
        segment: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Handed {
    Segment,
    Lifeline,
    /// The description of the network, in a job on several nodes.
    Network,
}

/// All nodes of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The blocks of the [table of nodes](crate::nodes::NodeTable).
    pub blocks: Vec<[u32; BLOCK_WORDS]>,
    /// Where the nodes listen, with their hosts.
    pub nodes: Vec<(u16, Vec<std::net::IpAddr>, String)>,
    pub secret: Secret,
}

impl Table {
    /// Where the nodes listen.
    pub fn ports(&self) -> Vec<NodePort> {
        let port = |(port, addresses, host): &(u16, Vec<std::net::IpAddr>, String)| NodePort {
            port: *port,
            addresses: addresses.clone(),
            host: host.clone(),
        };
        self.nodes.iter().map(port).collect()
    }

    fn to_file(&self) -> io::Result<OwnedFd> {
        let mut file = File::from(dial::memory_file(c"oxmpi-table")?);
        file.write_all(&postcard::to_stdvec(self).map_err(io::Error::other)?)?;
        Ok(file.into())
    }

    /// The table in a file that a rank gave.
    pub fn from_file(file: OwnedFd) -> Option<Table> {
        let (mut file, mut bytes) = (File::from(file), Vec::new());
        file.rewind().ok()?;
        (&mut file).take(MOST_TABLE).read_to_end(&mut bytes).ok()?;
        requests::read(&bytes)
    }
}

/// What a rank has from its helper.
pub struct Given {
    pub helper: u32,
    /// The number of the segment's descriptor in the helper.
    pub number: u32,
    pub segment: OwnedFd,
    pub lifeline: OwnedFd,
    pub network: Option<OwnedFd>,
    /// The socket that the two share.
    pub socket: OwnedFd,
}

/// A helper that this process has joined.
pub struct NodeHelper {
    socket: OwnedFd,
    bytes: Vec<u8>,
}

impl NodeHelper {
    /// Joins the helper of this node, which is started if there is none.
    pub fn join(told: &Told) -> Result<NodeHelper, String> {
        if let Some(joined) = NodeHelper::join_at(&name(&told.job, None), told)? {
            return Ok(joined);
        }
        let alone = NodeHelper::join_at(&name(&told.job, Some(told.rank)), told)?;
        alone.ok_or_else(|| "the helper of this node refuses its only rank".into())
    }

    /// `None` if this rank cannot be one of that node.
    fn join_at(name: &str, told: &Told) -> Result<Option<NodeHelper>, String> {
        let cannot = |error: io::Error| format!("the helper of this node cannot be reached: {error}");
        let address = SocketAddr::from_abstract_name(name).map_err(cannot)?;
        let until = Instant::now() + PATIENCE;
        let late = || Err(format!("the helper of this node has not answered for {} s", PATIENCE.as_secs()));
        let mut helper = loop {
            match UnixListener::bind_addr(&address) {
                Ok(listener) => start(&listener)?,
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(cannot(error)),
            }
            match UnixStream::connect_addr(&address) {
                Ok(stream) => match take_socket(&stream, until) {
                    Ok(socket) => break NodeHelper { socket, bytes: vec![0; MOST_BYTES + 1] },
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
                    Err(error) => return Err(cannot(error)),
                },
                // It is about to listen, or has just ended.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(cannot(error)),
            }
            if Instant::now() >= until {
                return late();
            }
            std::thread::sleep(AGAIN);
        };
        let cpus = CpuSet::affinity().map(|set| set.to_string()).unwrap_or_default();
        let joining =
            Joining { build: BUILD, rank: told.rank as u32, size: told.size as u32, pid: std::process::id(), cpus };
        helper.say(&ToHelper::Join(joining))?;
        match helper.hear(Some(until))?.0 {
            FromHelper::Welcome => Ok(Some(helper)),
            FromHelper::NotHere => Ok(None),
            FromHelper::Failed(text) => Err(text),
            _ => Err(nonsense()),
        }
    }

    /// All ranks of the node have joined. The record of the node, if this is its lowest rank.
    pub fn complete(&mut self) -> Result<Option<NodeRecord>, String> {
        self.say(&ToHelper::Complete)?;
        match self.hear(None)?.0 {
            FromHelper::First(record) => Ok(Some(record)),
            FromHelper::Wait => Ok(None),
            FromHelper::Failed(text) => Err(text),
            _ => Err(nonsense()),
        }
    }

    /// The lowest rank tells what all nodes have told each other.
    pub fn tell(&mut self, table: &Table) -> Result<(), String> {
        let file = table.to_file().map_err(|error| format!("the table of nodes cannot be stored: {error}"))?;
        requests::send_with_fd(self.socket.as_fd(), &ToHelper::Table, file.as_fd()).map_err(|error| lost(&error))
    }

    /// Waits until the node is ready.
    pub fn await_start(mut self) -> Result<Given, String> {
        let (mut segment, mut lifeline, mut network) = (None, None, None);
        loop {
            match self.hear(None)? {
                (FromHelper::Hand(Handed::Segment), fd) => segment = fd,
                (FromHelper::Hand(Handed::Lifeline), fd) => lifeline = fd,
                (FromHelper::Hand(Handed::Network), fd) => network = fd,
                (FromHelper::Failed(text), _) => return Err(text),
                (FromHelper::Start { helper, segment: number }, _) => {
                    let (Some(segment), Some(lifeline)) = (segment, lifeline) else { return Err(nonsense()) };
                    return Ok(Given { helper, number, segment, lifeline, network, socket: self.socket });
                }
                _ => return Err(nonsense()),
            }
        }
    }

    fn say(&self, word: &ToHelper) -> Result<(), String> {
        requests::send(self.socket.as_fd(), word).map_err(|error| lost(&error))
    }

    fn hear(&mut self, until: Option<Instant>) -> Result<(FromHelper, Option<OwnedFd>), String> {
        let (count, mut fds) = match receive(self.socket.as_fd(), &mut self.bytes, until) {
            Ok((0, _)) => return Err("the helper of this node has ended".into()),
            Ok(read) => read,
            Err(error) => return Err(lost(&error)),
        };
        let word = requests::read(&self.bytes[..count]).ok_or_else(nonsense)?;
        Ok((word, fds.pop()))
    }
}

/// The name of the socket at which ranks of one node, or one of them alone, find their helper. It holds no secret: the
/// owner of the other end is checked.
fn name(job: &str, alone: Option<usize>) -> String {
    let hash = Sha256::digest(job.as_bytes());
    let hash: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let alone = alone.map_or(String::new(), |rank| format!("-{rank}"));
    format!("oxmpi-{}-{hash}{alone}", trust::user())
}

/// Starts a helper that accepts at this socket.
fn start(listener: &UnixListener) -> Result<(), String> {
    let mpirun = orphan::find_mpirun(None)?;
    let cannot = |error: io::Error| format!("cannot start {} as the helper of this node: {error}", mpirun.display());
    let nothing = File::open("/dev/null").map_err(cannot)?;
    let number = listener.as_raw_fd().to_string();
    let words = [mpirun.as_os_str().as_bytes(), OPTION.as_bytes(), number.as_bytes()];
    let arguments: Vec<CString> = words.into_iter().map(CString::new).collect::<Result<_, _>>().unwrap_or_default();
    let Some(path) = arguments.first() else { return Err("the path of mpirun holds a NUL character".into()) };
    orphan::run(path, &arguments, nothing.as_raw_fd(), listener.as_raw_fd()).map_err(cannot)
}

/// The socket that the helper gives to a rank which has connected; `UnexpectedEof` if it has ended.
fn take_socket(stream: &UnixStream, until: Instant) -> io::Result<OwnedFd> {
    let owner = socket::peer_process(stream.as_fd())?.user;
    if owner != trust::user() {
        let text = format!("its name is in use by another user ({owner})");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    let (_, mut fds) = receive(stream.as_fd(), &mut [0], Some(until))?;
    fds.pop().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

/// Waits for a record.
fn receive(from: BorrowedFd<'_>, bytes: &mut [u8], until: Option<Instant>) -> io::Result<(usize, Vec<OwnedFd>)> {
    const LOOK: Duration = Duration::from_secs(60);
    let set = ReadySet::new()?;
    set.add(from, 0, Interest::Read)?;
    let mut ready = Vec::new();
    loop {
        match socket::receive_with_fds(from, bytes) {
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok((0, Vec::new())),
            other => return other,
        }
        let left = until.map_or(LOOK, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not answer"));
        }
        set.wait(left, &mut ready)?;
        ready.clear();
    }
}

fn nonsense() -> String {
    "the helper of this node says what makes no sense".into()
}

fn lost(error: &io::Error) -> String {
    format!("the helper of this node cannot be asked: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_differ_by_job_and_rank() {
        let all = [name("a", None), name("b", None), name("a", Some(1)), name("a", Some(2))];
        assert!(all.iter().enumerate().all(|(at, one)| !all[..at].contains(one)));
        assert!(all[0].contains(&format!("oxmpi-{}-", trust::user())));
    }

    #[test]
    fn a_table_goes_through_a_file() {
        let table = Table {
            blocks: vec![[1; BLOCK_WORDS]],
            nodes: vec![(7, vec!["10.0.0.1".parse().unwrap()], "a".into())],
            secret: Secret { job: [1; 16], key: [2; 32] },
        };
        assert_eq!(Table::from_file(table.to_file().unwrap()), Some(table.clone()));
        assert_eq!(table.ports()[0].host, "a");
        let nothing = File::open("/dev/null").unwrap();
        assert_eq!(Table::from_file(nothing.into()), None);
    }

    /// A rank that has joined a helper which says these words.
    fn helper_that_says(words: &[FromHelper]) -> NodeHelper {
        let (ours, theirs) = socket::seqpacket_pair().unwrap();
        for word in words {
            match word {
                FromHelper::Hand(_) => {
                    requests::send_with_fd(ours.as_fd(), word, File::open("/dev/null").unwrap().as_fd()).unwrap()
                }
                _ => requests::send(ours.as_fd(), word).unwrap(),
            }
        }
        NodeHelper { socket: theirs, bytes: vec![0; MOST_BYTES + 1] }
    }

    #[test]
    fn a_helper_that_fails_is_told() {
        let start = FromHelper::Start { helper: 1, segment: 2 };
        let failed = FromHelper::Failed("no memory".into());
        let fails = |words: &[FromHelper], part: &str| {
            let error = helper_that_says(words).await_start().map(drop).unwrap_err();
            assert!(error.contains(part), "{error}");
        };
        fails(&[], "has ended");
        fails(&[failed], "no memory");
        fails(std::slice::from_ref(&start), "makes no sense");
        fails(&[FromHelper::Wait], "makes no sense");
        let given = [FromHelper::Hand(Handed::Segment), FromHelper::Hand(Handed::Lifeline), start];
        let given = helper_that_says(&given).await_start().unwrap();
        assert!(given.network.is_none() && given.helper == 1 && given.number == 2);
        assert!(helper_that_says(&[FromHelper::Welcome]).complete().unwrap_err().contains("cannot be asked"));
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_readers(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = requests::read::<ToHelper>(&bytes);
            let _ = requests::read::<FromHelper>(&bytes);
            let mut file = File::from(dial::memory_file(c"test").unwrap());
            file.write_all(&bytes).unwrap();
            let _ = Table::from_file(file.into());
        }
    }
}
