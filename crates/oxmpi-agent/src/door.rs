//! The one listening port of a node: accepts connections for all its ranks, lets both sides prove the job's key, and
//! hands the socket to the rank. A port scan, garbage and half-open connections change nothing for the job: an unproven
//! caller gets no answer but the challenge, little time, and one of few places.
//!
//! The agent says GO, not the rank, so that a small message to a rank that computes is on its way at once.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use oxmpi_base::ids::{NodeId, Slot};
use oxmpi_boot::handshake::{End, HELLO_BYTES, Hello, Key, Kind, PROOF_BYTES, Server, verdict};
use oxmpi_boot::network::BUILD;
use oxmpi_transport::tcp::connect::{Arrival, hand_over};

use crate::one_sided::Caller as OneSided;

/// Time for a caller to prove the key.
const PATIENCE: Duration = Duration::from_secs(5);
/// Callers that have not proven it. The oldest makes room for a new one.
const MOST_UNPROVEN: usize = 64;

pub struct Door {
    listener: TcpListener,
    port: u16,
    key: Key,
    job: [u8; 16],
    node: u32,
    host: String,
    /// The agent's ends of the sockets of its ranks, by slot.
    ranks: Vec<OwnedFd>,
    callers: Vec<Caller>,
    /// Proven connections that a rank has no room for at the moment.
    proven: Vec<(Arrival, usize, TcpStream)>,
    /// Proven connections for the agent itself.
    one_sided: Vec<OneSided>,
}

struct Caller {
    stream: TcpStream,
    since: Instant,
    got: Vec<u8>,
    /// The hello that was read, and what checks its proof.
    hello: Option<(Hello, Server)>,
}

/// Where a node listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Processes of this machine only.
    ThisMachine,
    Everyone,
}

impl Door {
    /// Listens on a port of the range, or on any.
    pub fn open(reach: &Reach, range: Option<RangeInclusive<u16>>, host: &str) -> io::Result<Door> {
        let addresses: &[IpAddr] = match reach {
            Reach::ThisMachine => &[IpAddr::V4(Ipv4Addr::LOCALHOST)],
            // Listens for IPv4 too, or alone where IPv6 is off.
            Reach::Everyone => &[IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)],
        };
        let mut last = io::Error::from(io::ErrorKind::AddrInUse);
        let ports = range.clone().unwrap_or(0..=0);
        for port in ports {
            for &address in addresses {
                match TcpListener::bind(SocketAddr::new(address, port)) {
                    Ok(listener) => return Door::on(listener, host),
                    Err(error) => last = error,
                }
            }
        }
        let text = match range {
            Some(range) => {
                format!("none of the ports {} to {} is free on host {host}: {last}", range.start(), range.end())
            }
            None => format!("cannot listen on host {host}: {last}"),
        };
        Err(io::Error::new(last.kind(), text))
    }

    fn on(listener: TcpListener, host: &str) -> io::Result<Door> {
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok(Door {
            listener,
            port,
            key: Key::from_bytes([0; 32]),
            job: [0; 16],
            node: 0,
            host: host.into(),
            ranks: Vec::new(),
            callers: Vec::new(),
            proven: Vec::new(),
            one_sided: Vec::new(),
        })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// From now on connections are for these ranks. Those that came before, from a node that was faster, have waited.
    pub fn serve(&mut self, job: [u8; 16], key: Key, node: u32, ranks: Vec<OwnedFd>) {
        (self.job, self.key, self.node, self.ranks) = (job, key, node, ranks);
    }

    /// The descriptors whose readiness matters.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> + '_ {
        let listener = (!self.ranks.is_empty()).then(|| self.listener.as_raw_fd());
        listener.into_iter().chain(self.callers.iter().map(|caller| caller.stream.as_raw_fd()))
    }

    /// When something has to be done even if no descriptor is ready.
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        let late = self.callers.iter().map(|caller| caller.since + PATIENCE).min();
        let again = (!self.proven.is_empty()).then(|| now + Duration::from_millis(10));
        [late, again].into_iter().flatten().min()
    }

    /// Connections for one-sided work that have come.
    pub fn take_one_sided(&mut self) -> Vec<OneSided> {
        std::mem::take(&mut self.one_sided)
    }

    /// Does what can be done without waiting.
    pub fn work(&mut self, now: Instant) {
        if self.ranks.is_empty() {
            return;
        }
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            let _ = stream.set_nodelay(true);
            if self.callers.len() >= MOST_UNPROVEN {
                self.callers.remove(0);
            }
            self.callers.push(Caller { stream, since: now, got: Vec::new(), hello: None });
        }
        let mut index = 0;
        while index < self.callers.len() {
            match self.hear(index) {
                Heard::More if now < self.callers[index].since + PATIENCE => index += 1,
                Heard::More | Heard::Refused => drop(self.callers.swap_remove(index)),
                Heard::Proven(hello) => {
                    let caller = self.callers.swap_remove(index);
                    self.admit(&hello, caller.stream);
                }
            }
        }
        let waiting = std::mem::take(&mut self.proven);
        waiting.into_iter().for_each(|(arrival, slot, stream)| self.hand(arrival, slot, stream));
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
            let hello = Hello::from_bytes(&bytes).filter(|hello| hello.job == self.job && hello.to.node == self.node);
            let Some(hello) = hello else { return Heard::Refused };
            let Ok(server) = Server::new(&self.key, &hello) else { return Heard::Refused };
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

    /// The caller is a process of the job: it hears GO, or why not.
    fn admit(&mut self, hello: &Hello, stream: TcpStream) {
        let End { node, slot } = hello.from;
        let to = hello.to.slot as usize;
        let why_not = match (hello.differs_from(BUILD, &self.host, &format!("the host of {}", hello.from)), hello.kind)
        {
            (Some(difference), _) => Some(difference),
            (None, Kind::Link) if to < self.ranks.len() => None,
            (None, Kind::OneSided) if hello.to.slot == End::AGENT => None,
            (None, Kind::Link) => Some(format!("there is no process {to} on host {}", self.host)),
            (None, _) => Some(format!("connections of kind {:?} are not served", hello.kind)),
        };
        if (&stream).write_all(&verdict(why_not.as_deref())).is_err() || why_not.is_some() {
            return;
        }
        if hello.kind == Kind::OneSided {
            let local_slot = (node == self.node).then_some(slot);
            return self.one_sided.push(OneSided { stream, local_slot });
        }
        if let Some(slot) = Slot::new(slot as usize) {
            self.hand(Arrival { job: self.job, node: NodeId::new(node), slot }, to, stream);
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
    use oxmpi_boot::network::{Attempt, Network, NodePort, describe};
    use oxmpi_transport::tcp::connect::{Arrivals, pair};
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
        let mut door = Door::open(&Reach::ThisMachine, None, "here").unwrap();
        let (ours, theirs): (Vec<_>, Vec<_>) = (0..ranks).map(|_| pair().unwrap()).unzip();
        door.serve(JOB, key(), 1, ours);
        Node { door, arrivals: theirs.into_iter().map(Arrivals::new).collect() }
    }

    fn network(port: u16, key: &Key, job: [u8; 16]) -> Network {
        let here = NodePort { port, addresses: vec![Ipv4Addr::LOCALHOST.into()], host: "here".into() };
        let mut file = File::from(oxmpi_base::dial::memory_file(c"test").unwrap());
        file.write_all(&describe(job, key, &[here.clone(), here.clone(), here])).unwrap();
        Network::open(file.into(), End { node: 0, slot: 9 }).unwrap()
    }

    fn finish(node: &mut Node, attempt: &mut Attempt) -> Result<OwnedFd, String> {
        loop {
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
        let network = network(node.door.port(), &key(), JOB);
        let mut attempt = network.connect(End { node: 1, slot: 2 }, Kind::Link).unwrap();
        let ours = finish(&mut node, &mut attempt).unwrap();
        let mut ours = TcpStream::from(ours);
        ours.write_all(b"first bytes of a link").unwrap();
        let (arrival, theirs) = node.arrivals[2].take().unwrap().unwrap();
        assert_eq!((arrival.job, arrival.node.number(), arrival.slot.index()), (JOB, 0, 9));
        let mut text = [0; 21];
        let theirs = TcpStream::from(theirs);
        theirs.set_nonblocking(false).unwrap();
        (&theirs).read_exact(&mut text).unwrap();
        assert_eq!(&text, b"first bytes of a link");
        assert!(node.arrivals[0].take().unwrap().is_none());
    }

    #[test]
    fn others_get_no_word() {
        let mut node = node(1);
        let port = node.door.port();
        for (key, job, to) in [
            (Key::from_bytes([6; 32]), JOB, End { node: 1, slot: 0 }),
            (key(), [4; 16], End { node: 1, slot: 0 }),
            // The right job on the wrong host: two machines may have the same address.
            (key(), JOB, End { node: 2, slot: 0 }),
        ] {
            let mut attempt = network(port, &key, job).connect(to, Kind::Link).unwrap();
            let error = finish(&mut node, &mut attempt).unwrap_err();
            assert!(error.contains("127.0.0.1"), "{error}");
        }
        let mut attempt = network(port, &key(), JOB).connect(End { node: 1, slot: 7 }, Kind::Link).unwrap();
        let error = finish(&mut node, &mut attempt).unwrap_err();
        assert!(error.contains("there is no process 7 on host here"), "{error}");
        assert!(node.arrivals[0].take().unwrap().is_none());
    }

    #[test]
    fn garbage_and_half_open_connections_change_nothing() {
        let mut node = node(1);
        let port = node.door.port();
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
        let mut attempt = network.connect(End { node: 1, slot: 0 }, Kind::Link).unwrap();
        assert!(finish(&mut node, &mut attempt).is_ok());
        assert!(node.arrivals[0].take().unwrap().is_some());
        assert!(node.door.callers.len() <= MOST_UNPROVEN);
        node.door.work(Instant::now() + PATIENCE);
        assert!(node.door.callers.is_empty());
    }

    #[test]
    fn a_range_of_ports_may_be_taken() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let error = Door::open(&Reach::ThisMachine, Some(port..=port), "far").err().unwrap().to_string();
        assert!(error.contains(&format!("none of the ports {port} to {port} is free on host far")), "{error}");
    }
}
