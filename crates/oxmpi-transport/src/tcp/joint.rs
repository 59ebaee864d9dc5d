//! What the two ends of a link know of each other, and the connection that they share.

use super::traffic::Traffic;
use oxmpi_abi::Error;
use oxmpi_abi::constants::MPI_ERR_OTHER;
use oxmpi_base::descriptors;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Shared by the sending and the receiving end of a link, which one thread at a time uses: all loads and stores are
/// relaxed.
pub(crate) struct Joint {
    /// The peer, in words.
    name: String,
    pub traffic: Arc<Traffic>,
    /// The peer asks for no more messages that it would have to store.
    pressed: AtomicBool,
    /// What the peer is to be told of our own store.
    wanted: AtomicU8,
    /// The peer has said LEAVE.
    leaves: AtomicBool,
    /// The peer has said with LEAVE that it has finalized `MPI_COMM_WORLD`.
    finalized: AtomicBool,
    /// The peer has said BYE.
    bye: AtomicBool,
    /// A connection of our own is being made.
    connecting: AtomicBool,
    /// The peer may have sent its first frames over a connection of its own that has not come yet.
    awaits_second: AtomicBool,
    /// Nothing can be sent any more, for one of the reasons that follow.
    shut: AtomicBool,
    failure: OnceLock<Error>,
    /// Why nothing can be sent any more. What the peer sent before may still be read: its farewell, perhaps.
    unsendable: OnceLock<String>,
    /// The peer has closed the connection and never sent anything: it has ended.
    ended: AtomicBool,
    /// When a connection broke, was closed, or could not be made.
    broke_at: OnceLock<Instant>,
    /// How long the program is not told of a broken connection: see [`super::connect::Connector::verdict`].
    verdict: Duration,
}

const NOTHING: u8 = 0;
const TELL_PRESS: u8 = 1;
const TELL_EASE: u8 = 2;

impl Joint {
    pub fn new(name: String, verdict: Duration, traffic: Arc<Traffic>) -> Joint {
        Joint {
            name,
            traffic,
            pressed: AtomicBool::new(false),
            wanted: AtomicU8::new(NOTHING),
            leaves: AtomicBool::new(false),
            finalized: AtomicBool::new(false),
            bye: AtomicBool::new(false),
            connecting: AtomicBool::new(false),
            awaits_second: AtomicBool::new(false),
            shut: AtomicBool::new(false),
            failure: OnceLock::new(),
            unsendable: OnceLock::new(),
            ended: AtomicBool::new(false),
            broke_at: OnceLock::new(),
            verdict,
        }
    }

    pub fn is_pressed(&self) -> bool {
        self.pressed.load(Relaxed)
    }

    pub fn set_pressed(&self, on: bool) {
        self.pressed.store(on, Relaxed);
    }

    /// Says what the peer shall be told of our store; the sending end does.
    pub fn want_pressure(&self, on: bool) {
        self.wanted.store(if on { TELL_PRESS } else { TELL_EASE }, Relaxed);
    }

    /// What is to be told: pressure, or none any more. It counts as told.
    pub fn take_wanted(&self) -> Option<bool> {
        match self.wanted.swap(NOTHING, Relaxed) {
            NOTHING => None,
            wanted => Some(wanted == TELL_PRESS),
        }
    }

    pub fn has_wanted(&self) -> bool {
        self.wanted.load(Relaxed) != NOTHING
    }

    pub fn set_leaves(&self) {
        self.leaves.store(true, Relaxed);
    }

    pub fn set_finalized(&self) {
        self.finalized.store(true, Relaxed);
    }

    /// Whether the peer takes no part in `MPI_COMM_WORLD` any more, and all that it sent has come.
    pub fn has_finalized(&self) -> bool {
        self.finalized.load(Relaxed) && self.has_bye() || self.has_ended()
    }

    /// Whether the peer receives nothing more on this link: it has said so, or has ended.
    pub fn takes_nothing(&self) -> bool {
        self.leaves() || self.has_bye() || self.is_void()
    }

    /// Whether the peer has said LEAVE: its process receives nothing more.
    pub fn leaves(&self) -> bool {
        self.leaves.load(Relaxed)
    }

    pub fn set_bye(&self) {
        self.bye.store(true, Relaxed);
    }

    pub fn has_bye(&self) -> bool {
        self.bye.load(Relaxed)
    }

    pub fn is_connecting(&self) -> bool {
        self.connecting.load(Relaxed)
    }

    pub fn set_connecting(&self, on: bool) {
        self.connecting.store(on, Relaxed);
    }

    pub fn awaits_second(&self) -> bool {
        self.awaits_second.load(Relaxed)
    }

    pub fn set_awaits_second(&self, on: bool) {
        self.awaits_second.store(on, Relaxed);
    }

    /// The link is broken for good. The first reason stays. A peer that has said BYE may end as it likes.
    pub fn fail(&self, why: &str) {
        let _ = self.broke_at.set(Instant::now());
        if self.has_bye() {
            return;
        }
        let _ = self.failure.set(Error::new(MPI_ERR_OTHER, format!("the link to {} is broken: {why}", self.name)));
        self.shut.store(true, Relaxed);
    }

    /// The same where a connection broke.
    pub fn fail_on(&self, connection: &Connection, why: &str) {
        if self.has_bye() {
            return;
        }
        let _ = self.broke_at.set(Instant::now());
        let _ = self.failure.set(Error::new(
            MPI_ERR_OTHER,
            format!("the link to {} at {}, from {}, is broken: {why}", self.name, connection.there, connection.here),
        ));
        self.shut.store(true, Relaxed);
    }

    pub fn failure(&self) -> Option<&Error> {
        self.failure.get()
    }

    /// The same, for the program: only when the agents have had time to end the job for a better reason.
    pub fn failure_after_verdict(&self) -> Option<&Error> {
        self.failure.get().filter(|_| self.has_verdict())
    }

    fn has_verdict(&self) -> bool {
        self.broke_at.get().is_none_or(|at| at.elapsed() >= self.verdict)
    }

    /// The socket takes nothing any more. Reading finds out why.
    pub fn cannot_send(&self, why: &str) {
        let _ = self.unsendable.set(why.to_owned());
        self.shut.store(true, Relaxed);
    }

    /// Why it takes nothing, if so.
    pub fn unsendable(&self) -> Option<&str> {
        self.unsendable.get().map(String::as_str)
    }

    /// The peer has closed a connection and never sent anything. A process that takes part in the job says farewell, and the
    /// agents end the job of one that dies, so this one has finalized and ended without having taken the connection.
    pub fn set_ended(&self) {
        let _ = self.broke_at.set(Instant::now());
        self.ended.store(true, Relaxed);
        self.shut.store(true, Relaxed);
    }

    /// Whether the peer has ended like that, and the agents had time to say that it died.
    pub fn has_ended(&self) -> bool {
        self.ended.load(Relaxed) && self.has_verdict()
    }

    /// Whether what is sent vanishes, because the peer has ended like that.
    pub fn is_void(&self) -> bool {
        self.ended.load(Relaxed)
    }

    /// Whether nothing can be sent any more.
    pub fn is_shut(&self) -> bool {
        self.shut.load(Relaxed)
    }
}

/// A proven connection, with both addresses as they were when it came: one that breaks has none any more.
pub(crate) struct Connection {
    socket: TcpStream,
    here: String,
    there: String,
}

impl Connection {
    pub fn new(fd: OwnedFd) -> io::Result<Connection> {
        let socket = TcpStream::from(descriptors::out_of_the_way(fd));
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        let text = |address: io::Result<std::net::SocketAddr>| match address {
            Ok(address) => address.to_string(),
            Err(error) => format!("an unknown address ({error})"),
        };
        let (here, there) = (text(socket.local_addr()), text(socket.peer_addr()));
        Ok(Connection { socket, here, there })
    }

    /// Whether the kernel may keep short segments until those before them are acknowledged.
    pub fn hold_short(&self, on: bool) -> io::Result<()> {
        self.socket.set_nodelay(!on)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
