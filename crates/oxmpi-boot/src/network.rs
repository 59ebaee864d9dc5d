//! How a rank reaches the ports of other nodes: the description that its agent writes for all ranks of the node, what it
//! has heard of other jobs ([`Introduction`]), and the connections that it begins.
//!
//! ```text
//! agent  ->  a file in memory: job, key, and for each node its port and addresses
//! rank   ->  connect to an address, prove the key (`handshake.rs`), wait for GO: a connection to one process there
//! ```
//!
//! The file has records of one length, and a rank reads the record of a node when it first connects to it: a rank's memory
//! does not grow with the number of hosts. The key is in no environment and on no command line. Nothing here waits.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use oxmpi_base::address::{JobId, ProcessId};
use oxmpi_base::dial;
use oxmpi_base::limits;
use oxmpi_base::socket::{self, Interest, ReadySet};

use crate::handshake::{
    CHALLENGE_BYTES, Client, End, Hello, KEY_BYTES, Key, KeyId, Kind, MOST_TEXT, Secret, VERDICT_BYTES, random,
    read_verdict, verdict_text_bytes,
};
use crate::requests::{self, Request};

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
/// A node that has not answered after this time is asked to connect to this one.
const BACK_AFTER: Duration = Duration::from_secs(1);
/// What failed, in words.
const BACK: &str = "a connection from there";
/// No attempt takes longer.
const LIMIT: Duration = Duration::from_secs(10);
/// An agent that many processes call at once lets go of some that have proven nothing yet. They call again after this
/// time, so often.
const AGAIN: Duration = Duration::from_millis(50);
const MOST_AGAIN: usize = 12;

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
            write_address(place, address);
        }
        bytes.extend(record);
    }
    bytes
}

/// The network as one process knows it: its own job, and the jobs that were introduced to it.
pub struct Network {
    job: JobId,
    own: End,
    /// The key of the job, its number, and the description of the nodes, where it is on several hosts.
    description: Option<(KeyId, Key, File)>,
    /// Where this node is reached, if it is known and not in the description.
    here: Option<NodePort>,
    others: HashMap<JobId, OtherJob>,
    /// The socket to the agent of this node.
    agent: Option<OwnedFd>,
}

/// Another job, as it was introduced last.
struct OtherJob {
    key_id: KeyId,
    key: Key,
    nodes: HashMap<u32, NodePort>,
}

impl Network {
    /// The network of a job on several hosts.
    pub fn open(file: OwnedFd, own: End) -> io::Result<Network> {
        let file = File::from(file);
        let mut head = [0; HEAD];
        file.read_exact_at(&mut head, 0)?;
        let (Some(key_id), Some(key)) = (head.first_chunk::<16>(), head.last_chunk::<KEY_BYTES>()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let description = Some((*key_id, Key::from_bytes(*key), file));
        Ok(Network { job: JobId::on_hosts(*key_id), own, description, here: None, others: HashMap::new(), agent: None })
    }

    /// That of a process of a job on one machine, which needs it for other jobs only.
    pub fn of_one_machine(job: JobId, own: End) -> Network {
        Network { job, own, description: None, here: None, others: HashMap::new(), agent: None }
    }

    /// The socket to the agent of this node. From now on, nodes of the job that cannot be reached are asked, through it, to
    /// connect to this one.
    pub fn ask_through(&mut self, agent: OwnedFd) {
        self.agent = Some(agent);
    }

    pub fn job(&self) -> JobId {
        self.job
    }

    /// From now on others find this node there.
    pub fn set_here(&mut self, here: NodePort) {
        self.here = Some(here);
    }

    /// Where others find this node; `None` while that is not known.
    pub fn here(&self) -> Option<NodePort> {
        self.here.clone().or_else(|| self.port(self.own.node).ok())
    }

    /// The name of this host, if it is one of several that are pretended on one machine: such hosts have addresses of the
    /// machine itself only.
    pub fn pretended_host(&self) -> Option<String> {
        self.description.as_ref()?;
        let NodePort { addresses, host, .. } = self.port(self.own.node).ok()?;
        let is_pretended = !addresses.is_empty() && addresses.iter().all(|address| address.is_loopback());
        is_pretended.then_some(host)
    }

    /// The port of a node of the own job; an error for a record that no agent writes.
    pub fn port(&self, node: u32) -> io::Result<NodePort> {
        let Some((_, _, file)) = &self.description else {
            return self.here.clone().filter(|_| node == self.own.node).ok_or_else(|| io::ErrorKind::NotFound.into());
        };
        let mut record = [0; RECORD];
        file.read_exact_at(&mut record, (HEAD + node as usize * RECORD) as u64)?;
        let bad = || io::Error::new(io::ErrorKind::InvalidData, format!("the description of node {node} is damaged"));
        let (count, length) = (usize::from(record[2]), usize::from(record[3]));
        if count > MOST_ADDRESSES || length > NAME {
            return Err(bad());
        }
        let address = |place: &[u8]| read_address(place).ok_or_else(bad);
        let addresses = record[4 + NAME..].chunks_exact(ADDRESS).take(count).map(address).collect::<Result<_, _>>()?;
        let host = String::from_utf8_lossy(&record[4..4 + length]).into_owned();
        Ok(NodePort { port: u16::from_le_bytes([record[0], record[1]]), addresses, host })
    }

    /// This process.
    pub fn own(&self) -> End {
        self.own
    }

    /// Where a node of any known job is found.
    pub fn place(&self, job: JobId, node: u32) -> Option<NodePort> {
        match job == self.job {
            true => self.port(node).ok(),
            false => self.others.get(&job)?.nodes.get(&node).cloned(),
        }
    }

    /// From now on the jobs of an introduction can be reached, where they are not known already.
    pub fn meet(&mut self, introduction: &Introduction) {
        let Introduction { key_id, key, places } = introduction;
        for (job, node, port) in places.iter().filter(|(job, ..)| *job != self.job) {
            let new = || OtherJob { key_id: *key_id, key: key.clone(), nodes: HashMap::new() };
            let known = self.others.entry(*job).or_insert_with(new);
            (known.key_id, known.key) = (*key_id, key.clone());
            known.nodes.insert(*node, port.clone());
        }
    }

    /// Forgets a job.
    pub fn forget(&mut self, job: JobId) {
        self.others.remove(&job);
    }

    /// Whether some job was introduced with a key of this number.
    pub fn uses(&self, key_id: &KeyId) -> bool {
        self.others.values().any(|other| other.key_id == *key_id)
    }

    /// Begins a connection to a process of another node or job.
    pub fn connect(&self, to: ProcessId) -> Result<Attempt, String> {
        self.begin(Kind::Link, to.job, End { node: to.node.number(), slot: to.slot.index() as u32 })
    }

    /// Begins a connection to the agent of a node of the own job.
    pub fn connect_agent(&self, to: End, kind: Kind) -> Result<Attempt, String> {
        self.begin(kind, self.job, to)
    }

    /// Begins a connection to the agent of a node of any known job, which executes one-sided operations there.
    pub fn connect_one_sided(&self, job: JobId, node: u32) -> Result<Attempt, String> {
        self.begin(Kind::OneSided, job, End { node, slot: End::AGENT })
    }

    /// A socket to the agent of this node, over which this process tells it about its windows. `None` while the agent has too
    /// many requests to read.
    pub fn tell_windows(&self) -> Result<Option<OwnedFd>, String> {
        let Some(agent) = &self.agent else { return Err("this process has no agent".into()) };
        let cannot = |error: io::Error| format!("the agent of this node cannot be asked: {}", limits::explain(&error));
        let (ours, theirs) = socket::stream_pair().map_err(cannot)?;
        match requests::send_with_fd(agent.as_fd(), &Request::Windows, theirs.as_fd()) {
            Ok(()) => Ok(Some(ours)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(cannot(error)),
        }
    }

    /// Begins the connection of an agent to the `mpirun` that listens for it.
    pub fn connect_control(key: (KeyId, &Key), at: &NodePort, own: End) -> Result<Attempt, String> {
        let mpirun = End { node: 0, slot: End::AGENT };
        Network::of_one_machine(JobId::on_hosts(key.0), own).call(Kind::Control, key, at, mpirun)
    }

    /// Begins a connection that brings news of the processes of a node of another job.
    pub fn watch(&self, job: JobId, node: u32) -> Result<Attempt, String> {
        self.begin(Kind::Watch, job, End { node, slot: End::AGENT })
    }

    fn begin(&self, kind: Kind, job: JobId, to: End) -> Result<Attempt, String> {
        let (key_id, key, port) = match (&self.description, self.others.get(&job)) {
            (Some((key_id, key, _)), _) if job == self.job => {
                (key_id, key, self.port(to.node).map_err(|error| error.to_string())?)
            }
            (_, Some(OtherJob { key_id, key, nodes })) => {
                let port = nodes.get(&to.node).ok_or_else(|| format!("the address of {to} is not known"))?;
                (key_id, key, port.clone())
            }
            _ => return Err(format!("the job of {to} is not known")),
        };
        let mut attempt = self.call(kind, (*key_id, key), &port, to)?;
        if let Some(agent) = self.agent.as_ref().filter(|_| job == self.job) {
            attempt.back = Back::Possible(agent.try_clone().map_err(|error| limits::explain(&error))?, to);
        }
        Ok(attempt)
    }

    /// Begins the first contact with the owner of a port of another job or node.
    pub fn contact(&self, secret: &Secret, at: &NodePort, owner: End) -> Result<Attempt, String> {
        let (key_id, key) = Key::of_secret(secret);
        self.call(Kind::Port, (key_id, &key), at, owner)
    }

    pub(crate) fn call(
        &self,
        kind: Kind,
        (key_id, key): (KeyId, &Key),
        at: &NodePort,
        to: End,
    ) -> Result<Attempt, String> {
        let cannot = |error: io::Error| format!("cannot begin a connection: {}", limits::explain(&error));
        let hello = Hello::new(kind, key_id, BUILD, (self.job, self.own), to).map_err(cannot)?;
        let ready = ReadySet::new().map_err(cannot)?;
        let timer = dial::interval_timer(STAGGER).map_err(cannot)?;
        ready.add(timer.as_fd(), 0, Interest::Read).map_err(cannot)?;
        let left: Vec<SocketAddr> =
            at.addresses.iter().rev().map(|&address| SocketAddr::new(address, at.port)).collect();
        let now = Instant::now();
        let mut attempt = Attempt {
            client: Client::new(key, hello),
            to: if at.host.is_empty() { to.to_string() } else { format!("{to} ({})", at.host) },
            ready,
            timer: timer.into(),
            addresses: left.clone(),
            left,
            callers: Vec::new(),
            failures: Vec::new(),
            again: Vec::new(),
            closed: 0,
            next: now,
            until: now + LIMIT,
            back: Back::No,
            back_at: now + BACK_AFTER,
        };
        attempt.call_next(now);
        Ok(attempt)
    }
}

fn write_address(place: &mut [u8], address: &IpAddr) {
    match address {
        IpAddr::V4(address) => place[1..5].copy_from_slice(&address.octets()),
        IpAddr::V6(address) => place[1..].copy_from_slice(&address.octets()),
    }
    place[0] = if address.is_ipv4() { 4 } else { 6 };
}

fn read_address(place: &[u8]) -> Option<IpAddr> {
    match (place[0], place[1..5].first_chunk::<4>(), place[1..].first_chunk::<16>()) {
        (4, Some(octets), _) => Some(IpAddr::V4(Ipv4Addr::from(*octets))),
        (6, _, Some(octets)) => Some(IpAddr::V6(Ipv6Addr::from(*octets))),
        _ => None,
    }
}

/// What processes need to know to reach those of other jobs: a key for all of them, and where their nodes are.
#[derive(Clone, Debug)]
pub struct Introduction {
    pub key_id: KeyId,
    pub key: Key,
    pub places: Vec<Place>,
}

/// A node of a job, and where it is found.
pub type Place = (JobId, u32, NodePort);

/// Words of a key and its number in a message.
pub const KEY_WORDS: usize = 6;
/// Words of a place in a message: job, node and port, number of addresses, addresses of three words each.
pub const PLACE_WORDS: usize = JobId::WORDS + 2 + 3 * MOST_ADDRESSES;

impl Introduction {
    /// A new key with its number.
    pub fn fresh() -> io::Result<[u64; KEY_WORDS]> {
        let bytes: [u8; 8 * KEY_WORDS] = random()?;
        Ok(std::array::from_fn(|at| bytes[8 * at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))))
    }

    /// Places as words for a message.
    pub fn words_of(places: &[Place]) -> Vec<u64> {
        let mut words = Vec::with_capacity(places.len() * PLACE_WORDS);
        for (job, node, NodePort { port, addresses, .. }) in places {
            words.extend(job.words());
            words.push(u64::from(*node) << 32 | u64::from(*port));
            words.push(addresses.len().min(MOST_ADDRESSES) as u64);
            let mut bytes = [0; 24 * MOST_ADDRESSES];
            for (place, address) in bytes.chunks_exact_mut(24).zip(addresses) {
                write_address(&mut place[..ADDRESS], address);
            }
            words.extend(
                bytes.chunks_exact(8).map(|word| word.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))),
            );
        }
        words
    }

    /// A key with its number, and the places after it; `None` for words that no process sends.
    pub fn from_words(words: &[u64]) -> Option<Introduction> {
        let (head, rest) = words.split_first_chunk::<KEY_WORDS>()?;
        let bytes: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (key_id, key) = (*bytes.first_chunk()?, Key::from_bytes(*bytes.last_chunk()?));
        if !rest.len().is_multiple_of(PLACE_WORDS) {
            return None;
        }
        let place = |words: &[u64]| {
            let job = JobId::from_words(*words.first_chunk()?);
            let (at, count) = (words[JobId::WORDS], usize::try_from(words[JobId::WORDS + 1]).ok()?);
            let bytes: Vec<u8> = words[JobId::WORDS + 2..].iter().flat_map(|word| word.to_le_bytes()).collect();
            if count > MOST_ADDRESSES || at >> 16 & 0xffff != 0 {
                return None;
            }
            let addresses = bytes.chunks_exact(24).take(count).map(|place| read_address(&place[..ADDRESS]));
            let addresses = addresses.collect::<Option<_>>()?;
            Some((job, (at >> 32) as u32, NodePort { port: at as u16, addresses, host: String::new() }))
        };
        let places = rest.chunks_exact(PLACE_WORDS).map(place).collect::<Option<_>>()?;
        Some(Introduction { key_id, key, places })
    }
}

/// A connection that is being made, perhaps over several addresses at once.
pub struct Attempt {
    client: Client,
    /// In words.
    to: String,
    ready: ReadySet,
    timer: File,
    /// All addresses, the best one last.
    addresses: Vec<SocketAddr>,
    /// Addresses that were not tried yet, the next one last.
    left: Vec<SocketAddr>,
    callers: Vec<Caller>,
    /// Addresses, and why they do not do.
    failures: Vec<(String, String)>,
    /// Addresses that are called again then.
    again: Vec<(SocketAddr, Instant)>,
    /// How often a connection was closed without a word.
    closed: usize,
    next: Instant,
    until: Instant,
    back: Back,
    /// When the other node is asked, if it has not answered before.
    back_at: Instant,
}

/// The other node may be asked to connect to this one, because a firewall may be open in one direction only.
enum Back {
    No,
    /// Through the agent behind this socket, for a connection to this process or agent.
    Possible(OwnedFd, End),
    /// The connection, or the reason why there is none, comes over this socket.
    Asked(OwnedFd),
}

/// One address.
struct Caller {
    to: SocketAddr,
    stream: TcpStream,
    state: CallState,
    /// What was read of the answer that is awaited.
    got: Vec<u8>,
    /// The connection was made, and closed without a word.
    is_closed: bool,
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
                    self.next = now;
                    self.closed += usize::from(caller.is_closed);
                    if caller.is_closed && self.closed <= MOST_AGAIN {
                        self.again.push((caller.to, now + AGAIN));
                    } else {
                        self.failures.push((caller.to.to_string(), why));
                    }
                }
            }
        }
        if now >= self.next {
            self.call_next(now);
        }
        let due: Vec<SocketAddr> = self.again.extract_if(.., |(_, at)| now >= *at).map(|(to, _)| to).collect();
        for to in due {
            self.call(to);
        }
        let has_failed = self.has_failed();
        let is_answered = self.closed > 0 || self.callers.iter().any(|caller| caller.state != CallState::Connecting);
        if (has_failed || now >= self.back_at && !is_answered) && matches!(self.back, Back::Possible(..)) {
            self.ask_back(now);
        }
        if let Some(connection) = self.hear_back() {
            return Ok(Some(connection));
        }
        if now >= self.until {
            self.failures.extend(self.again.drain(..).map(|(to, _)| (to.to_string(), CLOSED.into())));
            let late = self.callers.drain(..).map(|caller| (caller.to.to_string(), "no answer".into()));
            self.failures.extend(late);
            self.left.clear();
            if let Back::Asked(_) = std::mem::replace(&mut self.back, Back::No) {
                let all = self.addresses.iter().map(|to| (to.to_string(), "no answer".into()));
                self.failures.extend(all.chain([(BACK.into(), "no answer".into())]));
            }
        }
        let may_come = matches!(self.back, Back::Asked(_));
        if self.has_failed() && !may_come { Err(self.failure()) } else { Ok(None) }
    }

    /// Whether no address is left that could answer.
    fn has_failed(&self) -> bool {
        self.callers.is_empty() && self.left.is_empty() && self.again.is_empty()
    }

    /// Asks the other node to connect to this one, and stops calling it: it must get one connection, not two.
    fn ask_back(&mut self, now: Instant) {
        let Back::Possible(agent, to) = std::mem::replace(&mut self.back, Back::No) else { return };
        let request = Request::ConnectBack { node: to.node, slot: to.slot };
        let asked = socket::seqpacket_pair().and_then(|(ours, theirs)| {
            requests::send_with_fd(agent.as_fd(), &request, theirs.as_fd())?;
            self.ready.add(ours.as_fd(), 2, Interest::Read)?;
            Ok(ours)
        });
        match asked {
            Ok(ours) => {
                (self.back, self.until) = (Back::Asked(ours), now + LIMIT);
                self.left.clear();
                self.again.clear();
                self.callers.clear();
            }
            // The agent has much to do: once more at the next step.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && now < self.until => {
                self.back = Back::Possible(agent, to);
            }
            Err(error) => self.failures.push((BACK.into(), error.to_string())),
        }
    }

    /// The connection that the other node has made, if it has come.
    fn hear_back(&mut self) -> Option<OwnedFd> {
        let Back::Asked(socket) = &self.back else { return None };
        let mut text = [0; MOST_TEXT];
        let why = match socket::receive_with_fds(socket.as_fd(), &mut text) {
            Ok((_, mut fds)) if !fds.is_empty() => return fds.pop(),
            Ok((0, _)) => "the agent of this node has ended".into(),
            Ok((count, _)) => String::from_utf8_lossy(&text[..count]).into_owned(),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                return None;
            }
            Err(error) => error.to_string(),
        };
        self.ready.remove(socket.as_fd());
        self.back = Back::No;
        // The way there may only be slow, so it is tried once more, with more patience.
        let now = Instant::now();
        (self.left, self.until) = (self.addresses.clone(), now + LIMIT);
        self.failures = vec![(BACK.into(), why)];
        self.call_next(now);
        None
    }

    /// Readable when [`Attempt::step`] may have something to do.
    pub fn readiness(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }

    fn call_next(&mut self, now: Instant) {
        self.next = now + STAGGER;
        while let Some(to) = self.left.pop() {
            if self.call(to) {
                return;
            }
        }
    }

    /// Calls an address; `false` if that cannot even begin.
    fn call(&mut self, to: SocketAddr) -> bool {
        let begun = dial::begin_connect(&to).and_then(|socket| {
            self.ready.add(socket.as_fd(), 1, Interest::ReadAndWrite)?;
            Ok(TcpStream::from(socket))
        });
        match begun {
            Ok(stream) => {
                let state = CallState::Connecting;
                self.callers.push(Caller { to, stream, state, got: Vec::new(), is_closed: false });
                true
            }
            Err(error) => {
                self.failures.push((to.to_string(), limits::explain(&error)));
                false
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
        (&self.stream).write_all(bytes).map_err(|error| {
            self.is_closed = matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe);
            error.to_string()
        })
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
                Ok(0) => {
                    self.is_closed = true;
                    return Err(CLOSED.into());
                }
                Ok(got) => self.got.extend_from_slice(&buffer[..got]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => {
                    self.is_closed = error.kind() == io::ErrorKind::ConnectionReset;
                    return Err(error.to_string());
                }
            }
        }
        Ok(true)
    }
}

const CLOSED: &str = "it closed the connection";

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
    use oxmpi_base::ids::{NodeId, Slot};

    fn network(nodes: &[NodePort]) -> Network {
        let mut file = File::from(dial::memory_file(c"test").unwrap());
        file.write_all(&describe([7; 16], &Key::from_bytes([8; 32]), nodes)).unwrap();
        Network::open(file.into(), End { node: 0, slot: 0 }).unwrap()
    }

    fn process(network: &Network, node: u32, slot: usize) -> ProcessId {
        ProcessId { job: network.job(), node: NodeId::new(node), slot: Slot::new(slot).unwrap() }
    }

    #[test]
    fn introductions_are_written_and_read() {
        let at = |port, addresses| NodePort { port, addresses, host: String::new() };
        let a = at(1234, vec!["10.1.2.3".parse().unwrap(), "fd00::7".parse().unwrap()]);
        let b = at(65535, vec!["::1".parse().unwrap(); MOST_ADDRESSES]);
        let (one, two) = (JobId::on_hosts([3; 16]), JobId::here(1, 2, 3));
        let places = vec![(one, 5, a.clone()), (one, u32::MAX, b.clone()), (two, 0, b)];
        let key_id = Introduction::fresh().unwrap();
        let words: Vec<u64> = key_id.into_iter().chain(Introduction::words_of(&places)).collect();
        let heard = Introduction::from_words(&words).unwrap();
        assert_eq!(heard.places, places);
        let mut network = network(&[NodePort::default()]);
        network.meet(&heard);
        assert_eq!(network.place(one, 5), Some(a));
        assert!(network.uses(&heard.key_id) && network.place(one, 6).is_none());
        assert!(network.connect(ProcessId { job: one, node: NodeId::new(6), slot: Slot::FIRST }).is_err());
        network.forget(one);
        network.forget(two);
        assert!(!network.uses(&heard.key_id) && network.place(one, 5).is_none());
        // Too short, too many addresses, an address of no kind.
        assert!(Introduction::from_words(&words[..7]).is_none() && Introduction::from_words(&words[..3]).is_none());
        for (at, word) in [(KEY_WORDS + 4, 5), (KEY_WORDS + 5, 9), (KEY_WORDS + 3, 1 << 20)] {
            let mut bad = words.clone();
            bad[at] = word;
            assert!(Introduction::from_words(&bad).is_none(), "word {at}");
        }
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
        assert_eq!(network.job(), JobId::on_hosts([7; 16]));
        assert_eq!(network.here(), Some(a.clone()));
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
        let mut attempt = network.connect(process(&network, 1, 3)).unwrap();
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
        let mut nowhere = network.connect(process(&network, 0, 0)).unwrap();
        assert!(nowhere.step().unwrap_err().contains("no address"));
    }

    /// An agent that is called by many lets go of some, which must not fail for that.
    #[test]
    fn a_caller_that_is_let_go_without_a_word_calls_again() {
        let agent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        agent.set_nonblocking(true).unwrap();
        let port = agent.local_addr().unwrap().port();
        let addresses = vec!["127.0.0.1".parse().unwrap()];
        let network = network(&[NodePort::default(), NodePort { port, addresses, host: "far".into() }]);
        let mut attempt = network.connect(process(&network, 1, 3)).unwrap();
        let mut calls = 0;
        let error = loop {
            calls += usize::from(agent.accept().is_ok());
            match attempt.step() {
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Ok(Some(_)) => panic!("there is a connection"),
                Err(error) => break error,
            }
        };
        assert_eq!(calls, 1 + MOST_AGAIN);
        assert_eq!(error.matches("127.0.0.1").count(), 1, "{error}");
    }
}
