//! What the two ends of a link know of each other, and the connection that they share.

use super::fabric::FabricEnd;
use super::traffic::Traffic;
use oxmpi_abi::Error;
use oxmpi_abi::constants::MPI_ERR_OTHER;
use oxmpi_base::cma::Piece;
use oxmpi_base::{descriptors, socket};
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
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
    /// The peer has made a connection that it has not given up.
    arrived: AtomicBool,
    /// The peer has made the connection, and has sent nothing yet.
    awaits_greeting: AtomicBool,
    /// The peer has closed such a connection: it has another one, or none.
    given_up: AtomicBool,
    /// The peer has said BYE only because the link was not used.
    rests: AtomicBool,
    /// The peer asks for a BYE that lets the link rest.
    rest_asked: AtomicBool,
    /// The turn in which the link was used last.
    last_use: AtomicU32,
    failure: OnceLock<Error>,
    /// Why nothing can be sent any more. What the peer sent before may still be read: its farewell, perhaps.
    unsendable: OnceLock<String>,
    /// The peer has closed the connection and never sent anything: it has ended.
    ended: AtomicBool,
    /// When a connection broke, was closed, or could not be made.
    broke_at: OnceLock<Instant>,
    /// How long the program is not told of a broken connection: see [`super::connect::Connector::verdict`].
    verdict: Duration,
    /// A stream over a fabric that this side is ready to read.
    fabric: Option<Arc<Connection>>,
    /// What the peer has told of its endpoint.
    offer: Mutex<Option<Vec<u8>>>,
    /// The link goes on over the fabric, and does not rest.
    on_fabric: AtomicBool,
}

const NOTHING: u8 = 0;
const TELL_PRESS: u8 = 1;
const TELL_EASE: u8 = 2;

impl Joint {
    pub fn new(name: String, verdict: Duration, traffic: Arc<Traffic>, fabric: Option<Arc<Connection>>) -> Joint {
        Joint {
            fabric,
            offer: Mutex::new(None),
            on_fabric: AtomicBool::new(false),
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
            arrived: AtomicBool::new(false),
            awaits_greeting: AtomicBool::new(false),
            given_up: AtomicBool::new(false),
            rests: AtomicBool::new(false),
            rest_asked: AtomicBool::new(false),
            last_use: AtomicU32::new(0),
            failure: OnceLock::new(),
            unsendable: OnceLock::new(),
            ended: AtomicBool::new(false),
            broke_at: OnceLock::new(),
            verdict,
        }
    }

    /// The stream over a fabric that this side is ready to read.
    pub fn fabric(&self) -> Option<&Arc<Connection>> {
        self.fabric.as_ref()
    }

    fn offer(&self) -> MutexGuard<'_, Option<Vec<u8>>> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The peer tells of its endpoint.
    pub fn set_offer(&self, offer: Vec<u8>) {
        self.on_fabric.store(self.fabric.is_some(), Relaxed);
        *self.offer() = Some(offer);
    }

    pub fn take_offer(&self) -> Option<Vec<u8>> {
        self.offer().take()
    }

    /// The endpoint of the peer cannot be reached.
    pub fn stay_on_sockets(&self) {
        self.on_fabric.store(false, Relaxed);
    }

    /// Whether both sides have an endpoint, so that the link goes on there.
    pub fn is_on_fabric(&self) -> bool {
        self.on_fabric.load(Relaxed)
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
        self.leaves() || self.has_bye() && !self.rests() || self.is_void()
    }

    /// Whether the peer has said LEAVE: its process receives nothing more.
    pub fn leaves(&self) -> bool {
        self.leaves.load(Relaxed)
    }

    /// Notes that the peer has made a connection; `false` if there is another one of it.
    pub fn note_arrival(&self) -> bool {
        !self.arrived.swap(true, Relaxed)
    }

    /// The peer has given up the connection that it made.
    pub fn forget_arrival(&self) {
        self.arrived.store(false, Relaxed);
    }

    pub fn has_arrived(&self) -> bool {
        self.arrived.load(Relaxed)
    }

    /// A connection that the peer has made counts only when something has come over it.
    pub fn set_awaits_greeting(&self, on: bool) {
        self.awaits_greeting.store(on, Relaxed);
    }

    pub fn awaits_greeting(&self) -> bool {
        self.awaits_greeting.load(Relaxed)
    }

    pub fn set_given_up(&self) {
        self.given_up.store(true, Relaxed);
    }

    /// Whether the peer has closed the connection before it sent anything, so that this link is none.
    pub fn is_given_up(&self) -> bool {
        self.given_up.load(Relaxed)
    }

    pub fn set_rests(&self) {
        self.rests.store(true, Relaxed);
    }

    /// Whether the peer's BYE lets the link rest: the peer goes on.
    pub fn rests(&self) -> bool {
        self.rests.load(Relaxed)
    }

    pub fn ask_for_rest(&self) {
        self.rest_asked.store(true, Relaxed);
    }

    /// Whether the peer has asked since the last call.
    pub fn take_rest_asked(&self) -> bool {
        self.rest_asked.swap(false, Relaxed)
    }

    /// The link is used in this turn.
    pub fn note_use(&self, turn: u32) {
        self.last_use.store(turn, Relaxed);
    }

    pub fn last_use(&self) -> u32 {
        self.last_use.load(Relaxed)
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

/// A proven connection, with both addresses as they were when it came: one that breaks has none any more. Or a stream
/// over a fabric, for which a connection has brought the addresses.
pub(crate) struct Connection {
    way: Way,
    here: String,
    there: String,
}

enum Way {
    Socket(TcpStream),
    Fabric(FabricEnd),
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
        Ok(Connection { way: Way::Socket(socket), here, there })
    }

    /// A stream over a fabric.
    pub fn over(end: FabricEnd) -> Connection {
        let (here, there) = ("its endpoint".into(), "an endpoint of libfabric".into());
        Connection { way: Way::Fabric(end), here, there }
    }

    /// The stream over a fabric that this is, if so.
    pub fn fabric(&self) -> Option<&FabricEnd> {
        match &self.way {
            Way::Fabric(end) => Some(end),
            Way::Socket(_) => None,
        }
    }

    /// The socket that this is, if so.
    pub fn socket(&self) -> Option<BorrowedFd<'_>> {
        match &self.way {
            Way::Socket(socket) => Some(socket.as_fd()),
            Way::Fabric(_) => None,
        }
    }

    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.way {
            Way::Socket(socket) => socket::send(socket.as_fd(), bytes),
            // SAFETY: the bytes are borrowed.
            Way::Fabric(end) => unsafe { end.send_pieces(&[(bytes.as_ptr().expose_provenance(), bytes.len())], false) },
        }
    }

    /// How many bytes were taken. `stays`: if none were, the caller comes again with the same pieces, which a fabric may read
    /// while it waits.
    ///
    /// # Safety
    /// The pieces may be read; if they stay, until they were taken or the connection is dropped.
    pub unsafe fn send_pieces(&self, pieces: &[Piece], stays: bool) -> io::Result<usize> {
        // SAFETY: the pieces may be read, by the contract of this function.
        unsafe {
            match &self.way {
                Way::Socket(socket) => socket::send_pieces(socket.as_fd(), pieces),
                Way::Fabric(end) => end.send_pieces(pieces, stays),
            }
        }
    }

    pub fn receive(&self, bytes: &mut [u8]) -> io::Result<usize> {
        match &self.way {
            Way::Socket(socket) => socket::receive(socket.as_fd(), bytes),
            Way::Fabric(end) => {
                let piece = (bytes.as_mut_ptr().expose_provenance(), bytes.len());
                // SAFETY: the bytes are borrowed, and nobody else uses them.
                unsafe { end.receive_pieces(&[piece], false) }
            }
        }
    }

    /// How many bytes have come. If none have, the caller comes again with the same pieces: a fabric may write to the first
    /// one while it waits.
    ///
    /// # Safety
    /// The pieces may be written, the first one until something has come or the connection is dropped, and no reference
    /// covers them.
    pub unsafe fn receive_pieces(&self, pieces: &[Piece]) -> io::Result<usize> {
        // SAFETY: the pieces may be written, by the contract of this function.
        unsafe {
            match &self.way {
                Way::Socket(socket) => socket::receive_pieces(socket.as_fd(), pieces),
                Way::Fabric(end) => end.receive_pieces(pieces, true),
            }
        }
    }

    /// Whether all that was sent is with the kernel of the peer, or cannot get there.
    pub fn has_delivered(&self) -> bool {
        match &self.way {
            Way::Socket(socket) => matches!(socket::unacknowledged(socket.as_fd()), Ok(0) | Err(_)),
            Way::Fabric(end) => !end.is_sending(),
        }
    }

    /// Whether the peer has closed it.
    pub fn is_closed(&self) -> bool {
        self.socket().is_some_and(socket::is_closed)
    }

    /// Whether the kernel may keep short segments until those before them are acknowledged.
    pub fn hold_short(&self, on: bool) -> io::Result<()> {
        match &self.way {
            Way::Socket(socket) => socket.set_nodelay(!on),
            Way::Fabric(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Fewer bytes do not make it ready.
    pub fn set_low_water(&self, bytes: i32) -> io::Result<()> {
        self.socket().map_or(Err(io::ErrorKind::Unsupported.into()), |socket| socket::set_low_water(socket, bytes))
    }

    pub fn acknowledge_now(&self) -> io::Result<()> {
        self.socket().map_or(Ok(()), socket::acknowledge_now)
    }

    /// Packets that had to be sent again.
    pub fn retransmits(&self) -> u32 {
        self.socket().and_then(|socket| socket::retransmits(socket).ok()).unwrap_or(0)
    }
}
