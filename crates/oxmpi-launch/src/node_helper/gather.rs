//! The ranks of a node come, each with a socket of its own, until one of them says that all are there: it has passed a
//! fence of the manager that each passes only when it is welcome here.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use oxmpi_base::socket::{self, PeerProcess};
use oxmpi_boot::network::BUILD;
use oxmpi_boot::node_helper::{FromHelper, Joining, ToHelper};
use oxmpi_boot::requests::{self, MOST_BYTES};

use crate::sys;

/// Time for the first rank to come: the one that has started this process.
const PATIENCE: Duration = Duration::from_secs(60);

/// A rank that has joined.
pub struct Arrived {
    pub joining: Joining,
    pub socket: OwnedFd,
    /// Readable once the process has ended, where the kernel has such a thing.
    pub watch: Option<OwnedFd>,
}

impl Arrived {
    pub fn say(&self, word: &FromHelper) {
        // One that has ended hears nothing; that is noticed.
        let _ = requests::send(self.socket.as_fd(), word);
    }
}

/// What came from a rank.
pub enum Heard {
    Word(ToHelper, Option<OwnedFd>),
    Nothing,
    /// It has ended, or said what makes no sense.
    End,
}

/// The next word of a rank.
pub fn hear(socket: &OwnedFd) -> Heard {
    let mut bytes = vec![0; MOST_BYTES + 1];
    match socket::receive_with_fds(socket.as_fd(), &mut bytes) {
        Ok((count @ 1.., mut fds)) => match requests::read(&bytes[..count]) {
            Some(word) => Heard::Word(word, fds.pop()),
            None => Heard::End,
        },
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Heard::Nothing,
        _ => Heard::End,
    }
}

/// A process that has connected and has not said who it is.
struct Newcomer {
    process: PeerProcess,
    socket: OwnedFd,
}

pub struct Gathering {
    listener: UnixListener,
    newcomers: Vec<Newcomer>,
    arrived: Vec<Arrived>,
    since: Instant,
    any_came: bool,
}

impl Gathering {
    pub fn new(listener: UnixListener) -> Result<Gathering, String> {
        listener.set_nonblocking(true).map_err(|error| error.to_string())?;
        Ok(Gathering { listener, newcomers: Vec::new(), arrived: Vec::new(), since: Instant::now(), any_came: false })
    }

    /// All ranks of the node in their order, the first word `Complete` of one of them taken; that one is the second
    /// result. `None` if all have ended before.
    pub fn run(mut self) -> Result<Option<(Vec<Arrived>, usize)>, String> {
        let mut fds = Vec::new();
        loop {
            while let Ok((stream, _)) = self.listener.accept() {
                self.admit(stream.into());
            }
            self.hear_newcomers();
            if let Some(said) = self.hear_arrived() {
                let rank = self.arrived[said].joining.rank;
                self.arrived.sort_by_key(|one| one.joining.rank);
                let said = self.arrived.iter().position(|one| one.joining.rank == rank).unwrap_or(0);
                return Ok(Some((self.arrived, said)));
            }
            let nobody = self.newcomers.is_empty() && self.arrived.is_empty();
            if nobody && (self.any_came || self.since.elapsed() >= PATIENCE) {
                return Ok(None);
            }
            fds.clear();
            fds.push(sys::pollfd(self.listener.as_raw_fd(), sys::POLLIN));
            fds.extend(self.newcomers.iter().map(|one| sys::pollfd(one.socket.as_raw_fd(), sys::POLLIN)));
            fds.extend(self.arrived.iter().map(|one| sys::pollfd(one.socket.as_raw_fd(), sys::POLLIN)));
            sys::poll(&mut fds, Some(PATIENCE)).map_err(|error| error.to_string())?;
        }
    }

    /// A process has connected: it gets a socket, if it belongs to this user.
    fn admit(&mut self, stream: OwnedFd) {
        let Ok(process) = socket::peer_process(stream.as_fd()) else { return };
        if process.user != sys::own_user() {
            return;
        }
        let Ok((ours, theirs)) = socket::seqpacket_pair() else { return };
        if socket::send_with_fd(stream.as_fd(), b"!", theirs.as_fd()).is_ok() {
            self.any_came = true;
            self.newcomers.push(Newcomer { process, socket: ours });
        }
    }

    fn hear_newcomers(&mut self) {
        let mut index = 0;
        while index < self.newcomers.len() {
            match hear(&self.newcomers[index].socket) {
                Heard::Nothing => index += 1,
                Heard::Word(ToHelper::Join(joining), _) => {
                    let newcomer = self.newcomers.swap_remove(index);
                    self.on_join(newcomer, joining);
                }
                Heard::Word(..) | Heard::End => drop(self.newcomers.swap_remove(index)),
            }
        }
    }

    fn on_join(&mut self, Newcomer { process, socket }: Newcomer, joining: Joining) {
        let answer = self.answer_to(&joining, process);
        let is_welcome = answer == FromHelper::Welcome;
        let watch = i32::try_from(process.pid).ok().and_then(|pid| sys::watch_process(pid).ok());
        let arrived = Arrived { joining, socket, watch };
        arrived.say(&answer);
        if is_welcome {
            self.arrived.push(arrived);
        }
    }

    fn answer_to(&self, joining: &Joining, process: PeerProcess) -> FromHelper {
        let Joining { build, rank, size, pid, .. } = *joining;
        if build != BUILD {
            let text = "the ranks of this node have different versions of OxMPI; all must have the same".into();
            return FromHelper::Failed(text);
        }
        // In another namespace the process has another number: the ranks could not name each other.
        if pid != process.pid {
            return FromHelper::NotHere;
        }
        let sizes_differ = self.arrived.iter().any(|one| one.joining.size != size);
        if rank >= size || sizes_differ || self.arrived.iter().any(|one| one.joining.rank == rank) {
            let text = format!("the launcher has started two processes of this node as rank {rank} of {size}");
            return FromHelper::Failed(text);
        }
        FromHelper::Welcome
    }

    /// Which of the ranks says that all have come.
    fn hear_arrived(&mut self) -> Option<usize> {
        let mut index = 0;
        while index < self.arrived.len() {
            match hear(&self.arrived[index].socket) {
                Heard::Nothing => index += 1,
                Heard::Word(ToHelper::Complete, _) => return Some(index),
                Heard::Word(..) | Heard::End => drop(self.arrived.remove(index)),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixStream};
    use std::thread;

    fn joining(rank: u32) -> Joining {
        Joining { build: BUILD, rank, size: 3, pid: std::process::id(), cpus: String::new() }
    }

    /// A rank that connects and says who it is: its socket, and the answer.
    fn join(address: &SocketAddr, joining: Joining) -> (OwnedFd, FromHelper) {
        let stream = UnixStream::connect_addr(address).unwrap();
        let socket = loop {
            match socket::receive_with_fds(stream.as_fd(), &mut [0]) {
                Ok((_, mut fds)) => break fds.pop().unwrap(),
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        };
        requests::send(socket.as_fd(), &ToHelper::Join(joining)).unwrap();
        let mut bytes = [0; 1000];
        let answer = loop {
            match socket::receive_with_fds(socket.as_fd(), &mut bytes) {
                Ok((count, _)) => break requests::read(&bytes[..count]).unwrap(),
                Err(_) => thread::sleep(Duration::from_millis(1)),
            }
        };
        (socket, answer)
    }

    /// The ranks that a helper has found, and which of them has said that all are there.
    type Gathered = Option<(Vec<u32>, usize)>;

    fn gathering(name: &str) -> (SocketAddr, thread::JoinHandle<Gathered>) {
        let name = format!("oxmpi-test-{name}-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(name).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        let gathered = thread::spawn(|| {
            let (ranks, said) = Gathering::new(listener).unwrap().run().unwrap()?;
            Some((ranks.iter().map(|one| one.joining.rank).collect(), said))
        });
        (address, gathered)
    }

    #[test]
    fn ranks_come_in_any_order() {
        let (address, gathered) = gathering("order");
        let (two, answer) = join(&address, joining(2));
        assert_eq!(answer, FromHelper::Welcome);
        let (gone, _) = join(&address, joining(1));
        drop(gone);
        let (_zero, _) = join(&address, joining(0));
        // The same rank again, another size, another version, another namespace.
        let refused = |joining| join(&address, joining).1;
        assert!(matches!(refused(joining(0)), FromHelper::Failed(text) if text.contains("rank 0 of 3")));
        assert!(matches!(refused(Joining { size: 4, ..joining(3) }), FromHelper::Failed(_)));
        assert!(matches!(refused(joining(3)), FromHelper::Failed(_)));
        let other = refused(Joining { build: 1, ..joining(1) });
        assert!(matches!(other, FromHelper::Failed(text) if text.contains("versions")));
        assert_eq!(refused(Joining { pid: 1, ..joining(1) }), FromHelper::NotHere);
        requests::send(two.as_fd(), &ToHelper::Complete).unwrap();
        assert_eq!(gathered.join().unwrap(), Some((vec![0, 2], 1)));
    }

    #[test]
    fn a_helper_without_ranks_ends() {
        let (address, gathered) = gathering("nobody");
        let (socket, _) = join(&address, joining(0));
        socket::send(socket.as_fd(), b"what?").unwrap();
        assert_eq!(gathered.join().unwrap(), None);
    }
}
