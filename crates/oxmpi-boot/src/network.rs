//! How a rank reaches the ports of other nodes: the description that its agent writes for all ranks of the node, and the
//! connections that it begins.
//!
//! ```text
//! agent  ->  a file in memory: job, key, and for each node its port and addresses
//! rank   ->  connect to an address, prove the key (`handshake.rs`), wait for GO: a connection to one process there
//! ```
//!
//! The file has records of one length, and a rank reads the record of a node when it first connects to it: a rank's memory
//! does not grow with the number of hosts. The key is in no environment and on no command line. Nothing here waits.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use oxmpi_base::dial;
use oxmpi_base::socket::{Interest, ReadySet};

use crate::handshake::{
    CHALLENGE_BYTES, Client, End, Hello, KEY_BYTES, Key, Kind, VERDICT_BYTES, read_verdict, verdict_text_bytes,
};

/// Both ends of a connection must have the same build.
pub const BUILD: u64 = fnv(concat!(env!("CARGO_PKG_VERSION"), " wire 1").as_bytes());

/// The most addresses of a node.
pub const MOST_ADDRESSES: usize = 4;
const ADDRESS: usize = 17;
/// The most bytes of the name of a host; the rest is cut off.
const NAME: usize = 60;
/// Port, numbers of addresses and of bytes of the name, name, addresses.
const RECORD: usize = 4 + NAME + MOST_ADDRESSES * ADDRESS;
/// Job and key.
const HEAD: usize = 16 + KEY_BYTES;

/// A further address is tried after this time.
const STAGGER: Duration = Duration::from_millis(250);
/// No attempt takes longer.
const LIMIT: Duration = Duration::from_secs(10);

/// The port of a node and its addresses, the best first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePort {
    pub port: u16,
    pub addresses: Vec<IpAddr>,
    /// The host as the user named it, for messages.
    pub host: String,
}

/// The description, as an agent writes it to the file.
pub fn describe(job: [u8; 16], key: &Key, nodes: &[NodePort]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEAD + nodes.len() * RECORD);
    bytes.extend(job);
    bytes.extend(key.as_bytes());
    for node in nodes {
        let mut record = [0; RECORD];
        record[..2].copy_from_slice(&node.port.to_le_bytes());
        record[2] = node.addresses.len().min(MOST_ADDRESSES) as u8;
        let name = cut(&node.host);
        record[3] = name.len() as u8;
        record[4..4 + name.len()].copy_from_slice(name.as_bytes());
        for (place, address) in record[4 + NAME..].chunks_exact_mut(ADDRESS).zip(&node.addresses) {
            match address {
                IpAddr::V4(address) => place[1..5].copy_from_slice(&address.octets()),
                IpAddr::V6(address) => place[1..].copy_from_slice(&address.octets()),
            }
            place[0] = if address.is_ipv4() { 4 } else { 6 };
        }
        bytes.extend(record);
    }
    bytes
}

/// The network of a job, as one rank knows it.
pub struct Network {
    job: [u8; 16],
    key: Key,
    own: End,
    file: File,
}

impl Network {
    pub fn open(file: OwnedFd, own: End) -> io::Result<Network> {
        let file = File::from(file);
        let mut head = [0; HEAD];
        file.read_exact_at(&mut head, 0)?;
        let (job, key) = head.split_at(16);
        let mut network = Network { job: [0; 16], key: Key::from_bytes([0; KEY_BYTES]), own, file };
        network.job.copy_from_slice(job);
        if let Some(key) = key.first_chunk() {
            network.key = Key::from_bytes(*key);
        }
        Ok(network)
    }

    /// 128 random bits that name the job.
    pub fn job(&self) -> [u8; 16] {
        self.job
    }

    /// The port of a node; an error for a record that no agent writes.
    pub fn port(&self, node: u32) -> io::Result<NodePort> {
        let mut record = [0; RECORD];
        self.file.read_exact_at(&mut record, (HEAD + node as usize * RECORD) as u64)?;
        let bad = || io::Error::new(io::ErrorKind::InvalidData, format!("the description of node {node} is damaged"));
        let (count, length) = (usize::from(record[2]), usize::from(record[3]));
        if count > MOST_ADDRESSES || length > NAME {
            return Err(bad());
        }
        let host = String::from_utf8_lossy(&record[4..4 + length]).into_owned();
        let address = |place: &[u8]| match (place[0], place[1..5].first_chunk::<4>(), place[1..].first_chunk::<16>()) {
            (4, Some(octets), _) => Ok(IpAddr::V4(Ipv4Addr::from(*octets))),
            (6, _, Some(octets)) => Ok(IpAddr::V6(Ipv6Addr::from(*octets))),
            _ => Err(bad()),
        };
        let addresses = record[4 + NAME..].chunks_exact(ADDRESS).take(count).map(address).collect::<Result<_, _>>()?;
        Ok(NodePort { port: u16::from_le_bytes([record[0], record[1]]), addresses, host })
    }

    /// This process.
    pub fn own(&self) -> End {
        self.own
    }

    /// Begins a connection to a process, or to the agent of a node.
    pub fn connect(&self, to: End, kind: Kind) -> Result<Attempt, String> {
        let port = self.port(to.node).map_err(|error| error.to_string())?;
        let cannot = |error: io::Error| format!("cannot begin a connection: {error}");
        let hello = Hello::new(kind, self.job, BUILD, self.own, to).map_err(cannot)?;
        let ready = ReadySet::new().map_err(cannot)?;
        let timer = dial::interval_timer(STAGGER).map_err(cannot)?;
        ready.add(timer.as_fd(), 0, Interest::Read).map_err(cannot)?;
        let left = port.addresses.iter().rev().map(|&address| SocketAddr::new(address, port.port)).collect();
        let now = Instant::now();
        let mut attempt = Attempt {
            client: Client::new(&self.key, hello),
            to: format!("{to} ({})", port.host),
            ready,
            timer: timer.into(),
            left,
            callers: Vec::new(),
            failures: Vec::new(),
            next: now,
            until: now + LIMIT,
        };
        attempt.call_next(now);
        Ok(attempt)
    }
}

/// A connection that is being made, perhaps over several addresses at once.
pub struct Attempt {
    client: Client,
    /// In words.
    to: String,
    ready: ReadySet,
    timer: File,
    /// Addresses that were not tried yet, the next one last.
    left: Vec<SocketAddr>,
    callers: Vec<Caller>,
    failures: Vec<(SocketAddr, String)>,
    next: Instant,
    until: Instant,
}

/// One address.
struct Caller {
    to: SocketAddr,
    stream: TcpStream,
    state: CallState,
    /// What was read of the answer that is awaited.
    got: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallState {
    Connecting,
    AwaitsChallenge,
    AwaitsVerdict,
}

impl Attempt {
    /// Does what can be done without waiting; the connection, once the agent there has said GO.
    pub fn step(&mut self) -> Result<Option<OwnedFd>, String> {
        let now = Instant::now();
        let _ = self.timer.read(&mut [0; 8]);
        let mut index = 0;
        while index < self.callers.len() {
            match self.callers[index].step(&self.client) {
                Ok(Progress::None) => index += 1,
                Ok(Progress::ReadNow) => {
                    let caller = &self.callers[index];
                    // A socket that has room to write would be ready all the time.
                    if let Err(error) = self.ready.change(caller.stream.as_fd(), 1, Interest::Read) {
                        return Err(error.to_string());
                    }
                }
                Ok(Progress::Done) => {
                    let caller = self.callers.swap_remove(index);
                    self.ready.remove(caller.stream.as_fd());
                    return Ok(Some(caller.stream.into()));
                }
                Err(why) => {
                    let caller = self.callers.swap_remove(index);
                    self.failures.push((caller.to, why));
                    self.next = now;
                }
            }
        }
        if now >= self.next {
            self.call_next(now);
        }
        if now >= self.until {
            let late = self.callers.drain(..).map(|caller| (caller.to, "no answer".into()));
            self.failures.extend(late);
            self.left.clear();
        }
        if self.callers.is_empty() && self.left.is_empty() { Err(self.failure()) } else { Ok(None) }
    }

    /// Readable when [`Attempt::step`] may have something to do.
    pub fn readiness(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }

    fn call_next(&mut self, now: Instant) {
        self.next = now + STAGGER;
        while let Some(to) = self.left.pop() {
            let begun = dial::begin_connect(&to).and_then(|socket| {
                self.ready.add(socket.as_fd(), 1, Interest::ReadAndWrite)?;
                Ok(TcpStream::from(socket))
            });
            match begun {
                Ok(stream) => {
                    self.callers.push(Caller { to, stream, state: CallState::Connecting, got: Vec::new() });
                    return;
                }
                Err(error) => self.failures.push((to, error.to_string())),
            }
        }
    }

    fn failure(&self) -> String {
        let mut text = format!("{} cannot be reached", self.to);
        if self.failures.is_empty() {
            text.push_str(": its host has no address");
        }
        for (address, why) in &self.failures {
            text.push_str(&format!("; {address}: {why}"));
        }
        text
    }
}

enum Progress {
    None,
    /// From now on it is only read.
    ReadNow,
    Done,
}

impl Caller {
    fn step(&mut self, client: &Client) -> Result<Progress, String> {
        match self.state {
            CallState::Connecting => {
                if let Some(error) = self.stream.take_error().map_err(|error| error.to_string())? {
                    return Err(error.to_string());
                }
                match self.stream.peer_addr() {
                    Err(error) if error.kind() == io::ErrorKind::NotConnected => return Ok(Progress::None),
                    Err(error) => return Err(error.to_string()),
                    Ok(_) => {}
                }
                let _ = self.stream.set_nodelay(true);
                self.write(client.hello())?;
                self.state = CallState::AwaitsChallenge;
                Ok(Progress::ReadNow)
            }
            CallState::AwaitsChallenge => {
                let Some(challenge) = self.read::<CHALLENGE_BYTES>()? else { return Ok(Progress::None) };
                let proof = client.prove(&challenge).map_err(|refused| refused.to_string())?;
                self.write(&proof)?;
                self.got.clear();
                self.state = CallState::AwaitsVerdict;
                Ok(Progress::ReadNow)
            }
            CallState::AwaitsVerdict => {
                let Some(head) = self.read::<VERDICT_BYTES>()? else { return Ok(Progress::None) };
                let text = verdict_text_bytes(&head).map_err(|refused| refused.to_string())?;
                if !self.fill(VERDICT_BYTES + text)? {
                    return Ok(Progress::None);
                }
                read_verdict(&head, &self.got[VERDICT_BYTES..]).map_err(|refused| refused.to_string())?;
                Ok(Progress::Done)
            }
        }
    }

    /// A new connection has room for so few bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        (&self.stream).write_all(bytes).map_err(|error| error.to_string())
    }

    fn read<const N: usize>(&mut self) -> Result<Option<[u8; N]>, String> {
        Ok(if self.fill(N)? { self.got.first_chunk().copied() } else { None })
    }

    /// Reads until so many bytes are there, and not one more: what follows belongs to the link.
    fn fill(&mut self, count: usize) -> Result<bool, String> {
        while self.got.len() < count {
            let mut buffer = [0; CHALLENGE_BYTES];
            let most = (count - self.got.len()).min(buffer.len());
            match (&self.stream).read(&mut buffer[..most]) {
                Ok(0) => return Err("it closed the connection".into()),
                Ok(got) => self.got.extend_from_slice(&buffer[..got]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(true)
    }
}

/// A name of at most [`NAME`] bytes.
fn cut(name: &str) -> &str {
    let end = (0..=NAME.min(name.len())).rev().find(|&end| name.is_char_boundary(end));
    &name[..end.unwrap_or(0)]
}

const fn fnv(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut index = 0;
    while index < bytes.len() {
        hash = (hash ^ bytes[index] as u64).wrapping_mul(0x100_0000_01b3);
        index += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(nodes: &[NodePort]) -> Network {
        let mut file = File::from(dial::memory_file(c"test").unwrap());
        file.write_all(&describe([7; 16], &Key::from_bytes([8; 32]), nodes)).unwrap();
        Network::open(file.into(), End { node: 0, slot: 0 }).unwrap()
    }

    #[test]
    fn what_is_described_is_read() {
        let a = NodePort {
            port: 1234,
            addresses: vec!["10.1.2.3".parse().unwrap(), "fd00::7".parse().unwrap()],
            host: "a".into(),
        };
        let b =
            NodePort { port: 65535, addresses: vec!["::1".parse().unwrap(); MOST_ADDRESSES], host: "ü".repeat(30) };
        let long = NodePort { host: format!("a{}", "ü".repeat(50)), ..NodePort::default() };
        let network = network(&[a.clone(), b.clone(), long]);
        assert_eq!(network.job(), [7; 16]);
        assert_eq!((network.port(0).unwrap(), network.port(1).unwrap()), (a, b));
        assert_eq!(network.port(2).unwrap().host, format!("a{}", "ü".repeat(29)));
        assert!(network.port(3).is_err());
    }

    #[test]
    fn each_address_that_fails_is_named() {
        // A port that nobody listens to, on two addresses.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let addresses = vec!["127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap()];
        let network = network(&[NodePort::default(), NodePort { port, addresses, host: "far".into() }]);
        let mut attempt = network.connect(End { node: 1, slot: 3 }, Kind::Link).unwrap();
        let error = loop {
            match attempt.step() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Ok(Some(_)) => panic!("there is a connection"),
                Err(error) => break error,
            }
        };
        for part in ["process 3 of node 1 (far)", "127.0.0.1:", "127.0.0.2:", "refused"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        let mut nowhere = network.connect(End { node: 0, slot: 0 }, Kind::Link).unwrap();
        assert!(nowhere.step().unwrap_err().contains("no address"));
    }
}
