//! The one listening port of a node: accepts connections for all its ranks, lets both sides prove a key, and hands the
//! socket to the rank. A port scan, garbage and half-open connections change nothing for the job: an unproven caller
//! gets no answer but the challenge, little time, and one of few places.
//!
//! There are several keys, each with a number (`KeyId`): that of the job, and those that its ranks ask for, for ports and
//! for connected jobs. A rank asks before
//! it tells anybody whom that could concern, so a caller with a key that is unknown after the requests were read is
//! nobody's. `requests.rs` reads the requests.
//!
//! The agent says GO, not the rank, so that a small message to a rank that computes is on its way at once.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use oxmpi_base::address::JobId;
use oxmpi_base::ids::{NodeId, Slot};
use oxmpi_base::socket::{Interest, ReadySet};
use oxmpi_boot::handshake::{End, HELLO_BYTES, Hello, Key, KeyId, Kind, PROOF_BYTES, Server, verdict};
use oxmpi_boot::network::BUILD;
use oxmpi_boot::requests::Purpose;
use oxmpi_transport::tcp::connect::{Arrival, hand_over};

use crate::one_sided::Caller as OneSided;
use crate::requests::{Awaited, Watchers};

/// Time for a caller to prove the key.
const PATIENCE: Duration = Duration::from_secs(5);
/// Callers that have said nothing yet, where no number of agents is expected. The oldest makes room for a new one.
const MOST_SILENT: usize = 64;
/// Callers that have not proven the key. As many ranks may call at once.
const MOST_UNPROVEN: usize = 1024;

pub struct Door {
    /// `None` while nobody of another host has to come in.
    listener: Option<TcpListener>,
    port: u16,
    node: u32,
    host: String,
    pub(crate) admissions: HashMap<KeyId, Admission>,
    /// The agent's ends of the sockets of its ranks, by slot.
    pub(crate) ranks: Vec<OwnedFd>,
    /// Says which of them have sent something.
    pub(crate) asking: Option<ReadySet>,
    callers: Vec<Caller>,
    /// Proven connections that a rank has no room for at the moment.
    proven: Vec<(Arrival, usize, TcpStream)>,
    /// Answers that a rank has no room for at the moment.
    pub(crate) unsent: Vec<(usize, Vec<u8>)>,
    /// Proven connections for the agent itself.
    pub(crate) one_sided: Vec<OneSided>,
    /// Proven connections of processes that want news of the ranks.
    pub(crate) watchers: Watchers,
    /// Connections from nodes that ranks cannot reach, by their numbers.
    pub(crate) awaited: HashMap<u32, Awaited>,
    pub(crate) next_awaited: u32,
    /// Agents that connect to this process, the `mpirun` above them.
    agents: Option<Agents>,
    /// Processes of which another node has said that they have died.
    failed: Vec<End>,
}

/// Agents that are expected.
struct Agents {
    key_id: KeyId,
    /// How many: all may call at once.
    count: usize,
    came: Vec<TcpStream>,
}

/// Who is let in with a key.
pub(crate) struct Admission {
    pub key: Key,
    pub purpose: Purpose,
    /// The ranks that want it; `None`: all.
    pub slots: Option<Vec<usize>>,
}

struct Caller {
    stream: TcpStream,
    since: Instant,
    got: Vec<u8>,
    /// The hello that was read, and what checks its proof.
    hello: Option<(Hello, Server)>,
    /// Its key was unknown when the hello came.
    is_unknown: bool,
}

/// Where a node listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Processes of this machine only.
    ThisMachine,
    /// Those that reach this address.
    Address(IpAddr),
    Everyone,
}

impl Door {
    /// A door that nobody comes in by, until it [listens](Door::listen).
    pub fn new(host: &str) -> Door {
        Door {
            listener: None,
            port: 0,
            node: 0,
            host: host.into(),
            admissions: HashMap::new(),
            ranks: Vec::new(),
            asking: None,
            callers: Vec::new(),
            proven: Vec::new(),
            unsent: Vec::new(),
            one_sided: Vec::new(),
            watchers: Watchers::default(),
            awaited: HashMap::new(),
            next_awaited: 0,
            agents: None,
            failed: Vec::new(),
        }
    }

    /// Listens on a port of the range, or on any.
    pub fn listen(&mut self, reach: &Reach, range: Option<RangeInclusive<u16>>) -> io::Result<()> {
        let addresses: &[IpAddr] = match reach {
            Reach::ThisMachine => &[IpAddr::V4(Ipv4Addr::LOCALHOST)],
            Reach::Address(address) => std::slice::from_ref(address),
            // Listens for IPv4 too, or alone where IPv6 is off.
            Reach::Everyone => &[IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)],
        };
        let mut last = io::Error::from(io::ErrorKind::AddrInUse);
        let ports = range.clone().unwrap_or(0..=0);
        for port in ports {
            for &address in addresses {
                match TcpListener::bind(SocketAddr::new(address, port)) {
                    Ok(listener) => {
                        listener.set_nonblocking(true)?;
                        self.port = listener.local_addr()?.port();
                        self.listener = Some(listener);
                        return Ok(());
                    }
                    Err(error) => last = error,
                }
            }
        }
        let host = &self.host;
        let text = match range {
            Some(range) => {
                format!("none of the ports {} to {} is free on host {host}: {last}", range.start(), range.end())
            }
            None => format!("cannot listen on host {host}: {last}"),
        };
        Err(io::Error::new(last.kind(), text))
    }

    /// The port on which it listens; `None` while it does not.
    pub fn port(&self) -> Option<u16> {
        self.listener.as_ref().map(|_| self.port)
    }

    /// From now on connections are for these ranks. Those that came before, from a node that was faster, have waited.
    pub fn serve(&mut self, node: u32, ranks: Vec<OwnedFd>) -> io::Result<()> {
        let asking = ReadySet::new()?;
        for (slot, rank) in ranks.iter().enumerate() {
            asking.add(rank.as_fd(), slot as u64, Interest::Read)?;
        }
        self.watchers.expect(ranks.len());
        (self.node, self.ranks, self.asking) = (node, ranks, Some(asking));
        Ok(())
    }

    /// Lets in the processes of the own job, for all ranks.
    pub fn admit_job(&mut self, key_id: KeyId, key: Key) {
        self.admissions.insert(key_id, Admission { key, purpose: Purpose::Links, slots: None });
    }

    /// Lets in so many agents that know this key; for an `mpirun`, which has no ranks itself.
    pub fn admit_agents(&mut self, key_id: KeyId, key: Key, count: usize) {
        self.admissions.insert(key_id, Admission { key, purpose: Purpose::Links, slots: None });
        self.agents = Some(Agents { key_id, count, came: Vec::new() });
    }

    /// Agents that have come.
    pub fn take_agents(&mut self) -> Vec<TcpStream> {
        self.agents.as_mut().map(|agents| std::mem::take(&mut agents.came)).unwrap_or_default()
    }

    /// Whether there is somebody whom callers may reach.
    fn is_open(&self) -> bool {
        !self.ranks.is_empty() || self.agents.is_some()
    }

    /// The descriptors whose readiness matters.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> + '_ {
        let listener = self.listener.as_ref().filter(|_| self.is_open()).map(|listener| listener.as_raw_fd());
        let asking = self.asking.as_ref().map(|asking| asking.as_fd().as_raw_fd());
        listener.into_iter().chain(asking).chain(self.callers.iter().map(|caller| caller.stream.as_raw_fd()))
    }

    /// When something has to be done even if no descriptor is ready.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        let late = self.callers.iter().map(|caller| caller.since + PATIENCE).min();
        let unknown = self.callers.iter().any(|caller| caller.is_unknown).then_some(now);
        let again = (!self.proven.is_empty() || !self.unsent.is_empty() || self.watchers.is_waiting())
            .then(|| now + Duration::from_millis(10));
        [late, unknown, again].into_iter().flatten().min()
    }

    /// This node has connected to another one for `from`, a process there that cannot reach it: the connection is what it
    /// would be if that process had called `to`.
    pub fn take_back_connection(&mut self, job: JobId, from: End, to: u32, stream: TcpStream) {
        if to == End::AGENT {
            return self.one_sided.push(OneSided { stream, local_slot: None });
        }
        if let (Some(slot), true) = (Slot::new(from.slot as usize), (to as usize) < self.ranks.len()) {
            self.hand(Arrival { job, node: NodeId::new(from.node), slot, port: None }, to as usize, stream);
        }
    }

    /// Connections for one-sided work that have come.
    pub fn take_one_sided(&mut self) -> Vec<OneSided> {
        std::mem::take(&mut self.one_sided)
    }

    /// Processes of the job that have died, as other nodes have said since the last call.
    pub fn take_failed(&mut self) -> Vec<End> {
        std::mem::take(&mut self.failed)
    }

    /// Does what can be done without waiting. The requests of the ranks have just been read.
    pub fn work(&mut self, now: Instant) {
        if !self.is_open() {
            return;
        }
        let most_silent = self.agents.as_ref().map_or(0, |agents| 2 * agents.count).max(MOST_SILENT);
        while let Some(Ok((stream, _))) = self.listener.as_ref().map(TcpListener::accept) {
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            let _ = stream.set_nodelay(true);
            self.make_room(now, most_silent);
            self.callers.push(Caller { stream, since: now, got: Vec::new(), hello: None, is_unknown: false });
        }
        self.hear_callers(now, true);
        let waiting = std::mem::take(&mut self.proven);
        waiting.into_iter().for_each(|(arrival, slot, stream)| self.hand(arrival, slot, stream));
        self.watchers.work();
        self.send_answers();
    }

    /// Makes room for one more caller, if there is none: of those that have said nothing, once all were heard.
    fn make_room(&mut self, now: Instant, most_silent: usize) {
        if self.callers.len() < most_silent {
            return;
        }
        self.hear_callers(now, false);
        let is_silent = |caller: &Caller| caller.hello.is_none();
        let too_many_silent = self.callers.iter().filter(|caller| is_silent(caller)).count() >= most_silent;
        if too_many_silent || self.callers.len() >= MOST_UNPROVEN.max(most_silent) {
            let may_go = self.callers.iter().enumerate().filter(|(_, caller)| is_silent(caller) || !too_many_silent);
            if let Some((oldest, _)) = may_go.min_by_key(|(_, caller)| caller.since) {
                self.callers.swap_remove(oldest);
            }
        }
    }

    /// `again`: those with an unknown key have their second look; the requests of the ranks have been read since the first.
    fn hear_callers(&mut self, now: Instant, again: bool) {
        let mut index = 0;
        while index < self.callers.len() {
            if self.callers[index].is_unknown && !again {
                index += 1;
                continue;
            }
            match self.hear(index) {
                Heard::More if now < self.callers[index].since + PATIENCE => index += 1,
                Heard::More | Heard::Refused => drop(self.callers.swap_remove(index)),
                Heard::Proven(hello) => {
                    let caller = self.callers.swap_remove(index);
                    self.admit(&hello, caller.stream);
                }
            }
        }
    }

    fn hear(&mut self, index: usize) -> Heard {
        let caller = &mut self.callers[index];
        if caller.hello.is_none() {
            let Some(bytes) = (match caller.read::<HELLO_BYTES>() {
                Ok(bytes) => bytes,
                Err(_) => return Heard::Refused,
            }) else {
                return Heard::More;
            };
            let hello = Hello::from_bytes(&bytes).filter(|hello| hello.to.node == self.node);
            let Some(hello) = hello else { return Heard::Refused };
            let Some(Admission { key, .. }) = self.admissions.get(&hello.key_id) else {
                // The request of a rank may have come after the requests were read.
                let is_second_look = std::mem::replace(&mut caller.is_unknown, true);
                return if is_second_look { Heard::Refused } else { Heard::More };
            };
            caller.is_unknown = false;
            let Ok(server) = Server::new(key, &hello) else { return Heard::Refused };
            // A new connection has room for so few bytes.
            if (&caller.stream).write_all(&server.challenge()).is_err() {
                return Heard::Refused;
            }
            caller.got.clear();
            caller.hello = Some((hello, server));
        }
        match caller.read::<PROOF_BYTES>() {
            Ok(None) => Heard::More,
            Ok(Some(proof)) => match &caller.hello {
                Some((hello, server)) if server.check(&proof).is_ok() => Heard::Proven(*hello),
                _ => Heard::Refused,
            },
            Err(_) => Heard::Refused,
        }
    }

    /// The caller knows the key that it has named: it hears GO, or why not.
    fn admit(&mut self, hello: &Hello, stream: TcpStream) {
        let to = hello.to.slot as usize;
        let difference = hello.differs_from(BUILD, &self.host, &format!("the host of {}", hello.from));
        let (why_not, port) = match difference {
            Some(difference) => (Some(difference), None),
            None => self.why_not(hello, to),
        };
        if (&stream).write_all(&verdict(why_not.as_deref())).is_err() || why_not.is_some() {
            return;
        }
        let End { node, slot } = hello.from;
        match hello.kind {
            Kind::Control => {
                if let Some(agents) = &mut self.agents {
                    agents.came.push(stream);
                }
                return;
            }
            Kind::Back => {
                if let Some(Awaited { socket, .. }) = self.awaited.remove(&hello.to.slot) {
                    // A rank that has given up sees nothing of it, and the caller the end of the connection.
                    let _ = oxmpi_base::socket::send_with_fd(socket.as_fd(), b"!", stream.as_fd());
                }
                return;
            }
            Kind::Watch => return self.watchers.add(stream),
            Kind::Failed => return self.failed.push(hello.from),
            Kind::OneSided => {
                // The ranks of this node come by their own sockets, which say who they are.
                return self.one_sided.push(OneSided { stream, local_slot: None });
            }
            _ => {}
        }
        if let Some(slot) = Slot::new(slot as usize) {
            self.hand(Arrival { job: hello.job, node: NodeId::new(node), slot, port }, to, stream);
        }
    }

    /// Why a proven caller does not come in, and the port that it calls at.
    fn why_not(&self, hello: &Hello, to: usize) -> (Option<String>, Option<u32>) {
        let Some(Admission { purpose, slots, .. }) = self.admissions.get(&hello.key_id) else {
            return (Some("what it asks for has ended".into()), None);
        };
        if let Some(Agents { key_id, .. }) = &self.agents {
            let is_agent = *key_id == hello.key_id && hello.kind == Kind::Control;
            return ((!is_agent).then(|| "only agents are expected".into()), None);
        }
        let serves = to < self.ranks.len() && slots.as_ref().is_none_or(|slots| slots.contains(&to));
        let nobody = || Some(format!("there is no process {to} on host {} that expects it", self.host));
        match (hello.kind, purpose) {
            (Kind::Link, Purpose::Links) | (Kind::Port, Purpose::Port { .. }) if !serves => (nobody(), None),
            (Kind::Link, Purpose::Links) | (Kind::Watch, Purpose::Links) => (None, None),
            // A window may have processes of several jobs that know each other. Those of another job are trusted as the own ones
            // are: they name a window by its number.
            (Kind::OneSided, Purpose::Links) if hello.to.slot == End::AGENT => (None, None),
            (Kind::Failed, Purpose::Links) if slots.is_none() && hello.to.slot == End::AGENT => (None, None),
            (Kind::Back, Purpose::Links) if slots.is_none() => {
                let is_awaited = self.awaited.get(&hello.to.slot).is_some_and(|awaited| {
                    awaited.from == hello.from && !oxmpi_base::socket::is_closed(awaited.socket.as_fd())
                });
                ((!is_awaited).then(|| "it is not awaited any more".into()), None)
            }
            (Kind::Port, Purpose::Port { number }) => (None, Some(*number)),
            (kind, _) => (Some(format!("connections of kind {kind:?} are not served")), None),
        }
    }

    fn hand(&mut self, arrival: Arrival, to: usize, stream: TcpStream) {
        match hand_over(self.ranks[to].as_fd(), &arrival, stream.as_fd()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.proven.push((arrival, to, stream)),
            // A rank that has ended takes none: the caller sees the end of the connection.
            _ => {}
        }
    }
}

enum Heard {
    More,
    Refused,
    Proven(Hello),
}

impl Caller {
    /// Exactly so many bytes: what follows them belongs to the rank.
    fn read<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        while self.got.len() < N {
            let mut buffer = [0; HELLO_BYTES];
            let most = (N - self.got.len()).min(buffer.len());
            match (&self.stream).read(&mut buffer[..most]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.got.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(self.got.first_chunk().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::{RankRequest, RequestKind};
    use oxmpi_base::address::ProcessId;
    use oxmpi_boot::network::Introduction;
    use oxmpi_boot::network::{Attempt, Network, NodePort, describe};
    use oxmpi_boot::requests::{self, Answer, NameRequest, Request, Stage};
    use oxmpi_transport::tcp::connect::{Arrivals, Record, pair};
    use std::fs::File;

    const JOB: [u8; 16] = [3; 16];

    struct Node {
        door: Door,
        arrivals: Vec<Arrivals>,
    }

    fn key() -> Key {
        Key::from_bytes([5; 32])
    }

    fn node(ranks: usize) -> Node {
        let mut door = Door::new("here");
        door.listen(&Reach::ThisMachine, None).unwrap();
        let (ours, theirs): (Vec<_>, Vec<_>) = (0..ranks).map(|_| pair().unwrap()).unzip();
        door.serve(1, ours).unwrap();
        door.admit_job(JOB, key());
        Node { door, arrivals: theirs.into_iter().map(Arrivals::new).collect() }
    }

    fn network(port: u16, key: &Key, job: [u8; 16]) -> Network {
        let here = NodePort { port, addresses: vec![Ipv4Addr::LOCALHOST.into()], host: "here".into() };
        let mut file = File::from(oxmpi_base::dial::memory_file(c"test").unwrap());
        file.write_all(&describe(job, key, &[here.clone(), here.clone(), here])).unwrap();
        Network::open(file.into(), End { node: 0, slot: 9 }).unwrap()
    }

    fn at(node: u32, slot: usize) -> ProcessId {
        ProcessId { job: JobId::on_hosts(JOB), node: NodeId::new(node), slot: Slot::new(slot).unwrap() }
    }

    fn taken(arrivals: &mut Arrivals) -> Option<(Arrival, OwnedFd)> {
        match arrivals.take().unwrap() {
            Some(Record::Connection(arrival, connection)) => Some((arrival, connection)),
            _ => None,
        }
    }

    fn finish(node: &mut Node, attempt: &mut Attempt) -> Result<OwnedFd, String> {
        loop {
            node.door.hear_ranks();
            node.door.work(Instant::now());
            if let Some(socket) = attempt.step()? {
                return Ok(socket);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_rank_gets_the_connection_that_was_made_to_it() {
        let mut node = node(3);
        let network = network(node.door.port().unwrap(), &key(), JOB);
        let mut attempt = network.connect(at(1, 2)).unwrap();
        let ours = finish(&mut node, &mut attempt).unwrap();
        let mut ours = TcpStream::from(ours);
        ours.write_all(b"first bytes of a link").unwrap();
        let theirs = taken(&mut node.arrivals[2]);
        let (arrival, theirs) = theirs.unwrap();
        assert_eq!((arrival.job, arrival.node.number(), arrival.slot.index()), (JobId::on_hosts(JOB), 0, 9));
        let mut text = [0; 21];
        let theirs = TcpStream::from(theirs);
        theirs.set_nonblocking(false).unwrap();
        (&theirs).read_exact(&mut text).unwrap();
        assert_eq!(&text, b"first bytes of a link");
        assert!(node.arrivals[0].take().unwrap().is_none());
    }

    #[test]
    fn another_node_says_that_a_process_has_died() {
        let mut node = node(1);
        let network = network(node.door.port().unwrap(), &key(), JOB);
        let to = End { node: 1, slot: End::AGENT };
        finish(&mut node, &mut network.connect_agent(to, Kind::Failed).unwrap()).unwrap();
        assert_eq!(node.door.take_failed(), [End { node: 0, slot: 9 }]);
        assert!(node.door.take_failed().is_empty() && node.arrivals[0].take().unwrap().is_none());
    }

    #[test]
    fn others_get_no_word() {
        let mut node = node(1);
        let port = node.door.port().unwrap();
        for (key, job, to) in [
            (Key::from_bytes([6; 32]), JOB, at(1, 0)),
            (key(), [4; 16], at(1, 0)),
            // The right job on the wrong host: two machines may have the same address.
            (key(), JOB, at(2, 0)),
        ] {
            let mut attempt = network(port, &key, job).connect(ProcessId { job: JobId::on_hosts(job), ..to }).unwrap();
            let error = finish(&mut node, &mut attempt).unwrap_err();
            assert!(error.contains("127.0.0.1"), "{error}");
        }
        let mut attempt = network(port, &key(), JOB).connect(at(1, 7)).unwrap();
        let error = finish(&mut node, &mut attempt).unwrap_err();
        assert!(error.contains("there is no process 7 on host here"), "{error}");
        assert!(node.arrivals[0].take().unwrap().is_none());
    }

    #[test]
    fn garbage_and_half_open_connections_change_nothing() {
        let mut node = node(1);
        let port = node.door.port().unwrap();
        let call = |_| {
            let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
            node.door.work(Instant::now());
            stream
        };
        let silent: Vec<TcpStream> = (0..200).map(call).collect();
        for stream in silent.iter().take(50) {
            let _ = (&*stream).write_all(b"GET / HTTP/1.1\r\nHost: nobody\r\n\r\n".repeat(4).as_slice());
        }
        let network = network(port, &key(), JOB);
        let mut attempt = network.connect(at(1, 0)).unwrap();
        assert!(finish(&mut node, &mut attempt).is_ok());
        assert!(node.arrivals[0].take().unwrap().is_some());
        assert!(node.door.callers.len() <= MOST_SILENT);
        node.door.work(Instant::now() + PATIENCE);
        assert!(node.door.callers.is_empty());
    }

    /// All ranks of a large job may have something for one of them at the same moment.
    #[test]
    fn many_callers_at_once_come_in() {
        let mut node = node(1);
        let network = network(node.door.port().unwrap(), &key(), JOB);
        let mut attempts: Vec<Attempt> = (0..3 * MOST_SILENT).map(|_| network.connect(at(1, 0)).unwrap()).collect();
        // All have said hello before the agent looks for the first time.
        attempts.iter_mut().for_each(|attempt| assert!(attempt.step().unwrap().is_none()));
        let start = Instant::now();
        while !attempts.is_empty() {
            assert!(start.elapsed() < Duration::from_secs(20), "{} wait", attempts.len());
            node.door.work(Instant::now());
            attempts.retain_mut(|attempt| attempt.step().unwrap().is_none());
            while taken(&mut node.arrivals[0]).is_some() {}
        }
    }

    /// The network of a process of another job that was introduced with a key.
    fn stranger(port: u16, key_id: [u8; 16], key: [u8; 32]) -> Network {
        let here = NodePort { port, addresses: vec![Ipv4Addr::LOCALHOST.into()], ..NodePort::default() };
        let mut network = Network::of_one_machine(JobId::here(1, 2, 3), End { node: 0, slot: 4 });
        let places = vec![(JobId::on_hosts(JOB), 1, here)];
        network.meet(&Introduction { key_id, key: Key::from_bytes(key), places });
        network
    }

    fn ask(node: &Node, slot: usize, request: &Request) {
        requests::send(node.arrivals[slot].as_fd(), request).unwrap();
    }

    #[test]
    fn other_jobs_come_in_as_long_as_a_rank_wants_it() {
        let mut node = node(2);
        let (key_id, key) = ([8; 16], [9; 32]);
        let network = stranger(node.door.port().unwrap(), key_id, key);
        assert!(finish(&mut node, &mut network.connect(at(1, 0)).unwrap()).is_err(), "not yet");
        ask(&node, 0, &Request::Admit { key_id, key, purpose: Purpose::Links });
        // A rank that does not know the key gets nothing by naming its number.
        ask(&node, 1, &Request::Admit { key_id, key: [1; 32], purpose: Purpose::Links });
        finish(&mut node, &mut network.connect(at(1, 0)).unwrap()).unwrap();
        let (arrival, _) = taken(&mut node.arrivals[0]).unwrap();
        assert_eq!((arrival.job, arrival.slot.index(), arrival.port), (JobId::here(1, 2, 3), 4, None));
        let error = finish(&mut node, &mut network.connect(at(1, 1)).unwrap()).unwrap_err();
        assert!(error.contains("no process 1"), "{error}");
        ask(&node, 0, &Request::Dismiss { key_id });
        assert!(finish(&mut node, &mut network.connect(at(1, 0)).unwrap()).is_err());
    }

    #[test]
    fn the_secret_of_a_port_leads_to_its_owner() {
        let mut node = node(2);
        let port = node.door.port().unwrap();
        let here = NodePort { port, addresses: vec![Ipv4Addr::LOCALHOST.into()], ..NodePort::default() };
        let network = Network::of_one_machine(JobId::here(1, 2, 3), End { node: 0, slot: 4 });
        let (key_id, key) = Key::of_secret(&[7; 16]);
        ask(&node, 1, &Request::Admit { key_id, key: *key.as_bytes(), purpose: Purpose::Port { number: 77 } });
        let owner = End { node: 1, slot: 1 };
        finish(&mut node, &mut network.contact(&[7; 16], &here, owner).unwrap()).unwrap();
        assert_eq!(taken(&mut node.arrivals[1]).unwrap().0.port, Some(77));
        assert!(finish(&mut node, &mut network.contact(&[6; 16], &here, owner).unwrap()).is_err(), "a wrong secret");
        let elsewhere = End { node: 1, slot: 0 };
        assert!(finish(&mut node, &mut network.contact(&[7; 16], &here, elsewhere).unwrap()).is_err());
        // It is good for nothing else.
        let network = stranger(here.port, key_id, *key.as_bytes());
        assert!(finish(&mut node, &mut network.connect(at(1, 1)).unwrap()).is_err());
        assert!(finish(&mut node, &mut network.watch(JobId::on_hosts(JOB), 1).unwrap()).is_err());
    }

    #[test]
    fn watchers_hear_how_ranks_end() {
        let mut node = node(3);
        let (key_id, key) = ([8; 16], [9; 32]);
        let network = stranger(node.door.port().unwrap(), key_id, key);
        ask(&node, 0, &Request::Admit { key_id, key, purpose: Purpose::Links });
        ask(&node, 1, &Request::Stage(Stage::Leaving));
        // No rank says such a thing of itself.
        ask(&node, 0, &Request::Stage(Stage::Died));
        let connection = finish(&mut node, &mut network.watch(JobId::on_hosts(JOB), 1).unwrap()).unwrap();
        let mut news = TcpStream::from(connection);
        news.set_nonblocking(false).unwrap();
        let mut hear = || {
            let mut record = [0; 8];
            news.read_exact(&mut record).unwrap();
            (record[0], record[4])
        };
        assert_eq!(hear(), (1, Stage::Leaving as u8));
        node.door.rank_ended(1, true);
        node.door.rank_ended(2, false);
        assert_eq!((hear(), hear()), ((1, Stage::Ended as u8), (2, Stage::Died as u8)));
    }

    /// Only a rank of the node may register memory there, and it is known by its own socket.
    #[test]
    fn one_sided_callers_are_ranks_of_the_node_or_of_any_known_job() {
        let mut node = node(2);
        let port = node.door.port().unwrap();
        let (key_id, key) = ([8; 16], [9; 32]);
        let other = stranger(port, key_id, key);
        let call = |network: &Network| network.connect_one_sided(JobId::on_hosts(JOB), 1).unwrap();
        assert!(finish(&mut node, &mut call(&other)).is_err(), "not yet");
        ask(&node, 0, &Request::Admit { key_id, key, purpose: Purpose::Links });
        finish(&mut node, &mut call(&other)).unwrap();
        finish(&mut node, &mut call(&network(port, &self::key(), JOB))).unwrap();
        let description = description(port);
        let _ours = rank_of_node_1(&node, &description).tell_windows().unwrap().unwrap();
        // Without a socket it asks for nothing.
        ask(&node, 1, &Request::Windows);
        assert!(node.door.hear_ranks().is_empty());
        let slots: Vec<Option<u32>> = node.door.take_one_sided().iter().map(|caller| caller.local_slot).collect();
        assert_eq!(slots, [None, None, Some(0)]);
    }

    #[test]
    fn requests_are_given_to_the_owner_and_answered() {
        let mut node = node(2);
        let what = NameRequest::LookUp { service: b"x".to_vec() };
        ask(&node, 1, &Request::Names { ticket: 5, what: what.clone() });
        let request = RankRequest { slot: 1, kind: RequestKind::Names { ticket: 5, what } };
        assert_eq!(node.door.hear_ranks(), [request]);
        let answer = Answer::Names { ticket: 5, result: Err((3, "no".into())) };
        node.door.answer(1, &answer);
        node.door.answer(7, &answer);
        let Some(Record::Answer(bytes)) = node.arrivals[1].take().unwrap() else { panic!() };
        assert_eq!(requests::read(&bytes), Some(answer));
        // A record that makes no sense, and the end of a rank.
        oxmpi_base::socket::send(node.arrivals[0].as_fd(), b"what?").unwrap();
        node.arrivals.remove(0);
        assert_eq!((node.door.hear_ranks(), node.door.hear_ranks()), (Vec::new(), Vec::new()));
    }

    /// A description where the door is node 1, and the port of node 2 is closed.
    fn description(door_port: u16) -> OwnedFd {
        let at = |port| NodePort { port, addresses: vec![Ipv4Addr::LOCALHOST.into()], host: "here".into() };
        let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut file = File::from(oxmpi_base::dial::memory_file(c"test").unwrap());
        file.write_all(&describe(JOB, &key(), &[at(closed), at(door_port), at(closed)])).unwrap();
        file.into()
    }

    /// Steps of a rank of node 1 that calls process 5 of node 2, until it has asked its agent: the number.
    fn asked_back(node: &mut Node, attempt: &mut Attempt) -> u32 {
        loop {
            assert!(attempt.step().unwrap().is_none());
            match node.door.hear_ranks()[..] {
                [RankRequest { slot: 0, kind: RequestKind::ConnectBack { number, to: End { node: 2, slot: 5 } } }] => {
                    return number;
                }
                [] => std::thread::sleep(Duration::from_millis(1)),
                ref other => panic!("{other:?}"),
            }
        }
    }

    fn rank_of_node_1(node: &Node, description: &OwnedFd) -> Network {
        let mut network = Network::open(description.try_clone().unwrap(), End { node: 1, slot: 0 }).unwrap();
        network.ask_through(node.arrivals[0].as_fd().try_clone_to_owned().unwrap());
        network
    }

    #[test]
    fn a_node_that_cannot_be_reached_connects_back() {
        let mut node = node(1);
        let description = description(node.door.port().unwrap());
        let mut attempt = rank_of_node_1(&node, &description).connect(at(2, 5)).unwrap();
        let number = asked_back(&mut node, &mut attempt);
        let far = |slot: u32, number: u32| {
            let network = Network::open(description.try_clone().unwrap(), End { node: 2, slot }).unwrap();
            network.connect_agent(End { node: 1, slot: number }, Kind::Back).unwrap()
        };
        // Another process, and another number, are not awaited.
        assert!(finish(&mut node, &mut far(6, number)).unwrap_err().contains("not awaited"));
        assert!(finish(&mut node, &mut far(5, number + 1)).unwrap_err().contains("not awaited"));
        let mut theirs = TcpStream::from(finish(&mut node, &mut far(5, number)).unwrap());
        let ours = TcpStream::from(attempt.step().unwrap().unwrap());
        theirs.write_all(b"first bytes").unwrap();
        ours.set_nonblocking(false).unwrap();
        let mut text = [0; 11];
        (&ours).read_exact(&mut text).unwrap();
        assert_eq!(&text, b"first bytes");
        assert!(finish(&mut node, &mut far(5, number)).is_err(), "once");
    }

    #[test]
    fn both_directions_are_named_when_both_fail() {
        let mut node = node(1);
        let description = description(node.door.port().unwrap());
        let mut attempt = rank_of_node_1(&node, &description).connect(at(2, 5)).unwrap();
        let number = asked_back(&mut node, &mut attempt);
        node.door.give_up(number, "a firewall");
        let error = finish(&mut node, &mut attempt).unwrap_err();
        assert!(error.contains("a connection from there: a firewall"), "{error}");
        assert!(error.contains("127.0.0.1") && error.contains("refused"), "{error}");
    }

    #[test]
    fn a_range_of_ports_may_be_taken() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = Door::new("far").listen(&Reach::ThisMachine, Some(port..=port)).unwrap_err().to_string();
        assert!(error.contains(&format!("none of the ports {port} to {port} is free on host far")), "{error}");
    }
}
