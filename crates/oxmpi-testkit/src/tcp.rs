//! Ranks that reach each other over TCP connections of the loopback interface, without agents: whoever connects makes
//! both ends, and hands the other one over as an agent does.

use crate::{AbortOnPanic, Rank};
use oxmpi_base::address::ProcessId;
use oxmpi_base::ids::NodeId;
use oxmpi_base::socket;
use oxmpi_core::engine::Engine;
use oxmpi_transport::tcp::connect::{Arrival, Arrivals, ConnectError, Connector, Pending, hand_over, pair};
use oxmpi_transport::{Links, Slot};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

const JOB: [u8; 16] = *b"a job of a test.";

/// The sockets of the ranks to which connections are handed over.
pub struct Mesh {
    agents: Vec<OwnedFd>,
    /// Steps that a connection takes at most, and that handing it over takes.
    pub delay: usize,
}

/// Makes the connections of one rank.
struct Loopback {
    mesh: Arc<Mesh>,
    me: usize,
}

/// A connection that comes to be after some steps.
struct Made {
    mesh: Arc<Mesh>,
    me: usize,
    to: usize,
    /// Our end, until it is taken, and the other one, until it is handed over.
    ours: Option<OwnedFd>,
    theirs: Option<OwnedFd>,
    steps: usize,
    /// Always readable, since every step counts.
    ready: OwnedFd,
}

impl Connector for Loopback {
    fn connect(&self, to: ProcessId) -> Result<Box<dyn Pending>, ConnectError> {
        let failed = |error: std::io::Error| ConnectError(error.to_string());
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let ours = TcpStream::connect(listener.local_addr().map_err(failed)?).map_err(failed)?;
        let (theirs, _) = listener.accept().map_err(failed)?;
        let (ready, writer) = socket::pipe().map_err(failed)?;
        drop(writer);
        let to = to.node.number() as usize;
        let steps = if self.mesh.delay == 0 { 0 } else { (self.me * 7 + to * 3) % self.mesh.delay };
        let (mesh, ours, theirs) = (Arc::clone(&self.mesh), Some(ours.into()), Some(theirs.into()));
        Ok(Box::new(Made { mesh, me: self.me, to, ours, theirs, steps, ready }))
    }
}

impl Pending for Made {
    fn step(&mut self) -> Result<Option<OwnedFd>, ConnectError> {
        if self.steps > 0 {
            self.steps -= 1;
            return Ok(None);
        }
        if let Some(theirs) = &self.theirs {
            let arrival = Arrival { job: JOB, node: NodeId::new(self.me as u32), slot: Slot::FIRST };
            match hand_over(self.mesh.agents[self.to].as_fd(), &arrival, theirs.as_fd()) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(None),
                other => other.map_err(|error| ConnectError(error.to_string()))?,
            }
            self.theirs = None;
        }
        Ok(self.ours.take())
    }

    fn readiness(&self) -> BorrowedFd<'_> {
        self.ready.as_fd()
    }
}

impl Mesh {
    /// Hands a connection over to a rank, as if another one had made it.
    pub fn hand(&self, to: usize, from: usize, connection: BorrowedFd<'_>) {
        let arrival = Arrival { job: JOB, node: NodeId::new(from as u32), slot: Slot::FIRST };
        hand_over(self.agents[to].as_fd(), &arrival, connection).expect("room in a socket");
    }
}

/// The sockets of so many ranks, and each rank's end.
pub fn mesh(ranks: usize, delay: usize) -> (Arc<Mesh>, Vec<OwnedFd>) {
    let (agents, ends) = (0..ranks).map(|_| pair().expect("sockets for a test")).unzip();
    (Arc::new(Mesh { agents, delay }), ends)
}

/// The links of one rank.
pub fn links(mesh: &Arc<Mesh>, me: usize, end: OwnedFd) -> Links {
    let mut links = Links::attach_alone(mesh.agents.len(), me).expect("shared memory for a test");
    let connector = Box::new(Loopback { mesh: Arc::clone(mesh), me });
    links.use_tcp(connector, Arrivals::new(end), JOB).expect("descriptors for a test");
    links
}

pub(crate) fn run(ranks: usize, body: impl Fn(&mut Rank) + Sync) {
    run_delayed(ranks, 0, body);
}

/// One rank of several, for a test that is the others itself.
pub fn rank(mesh: &Arc<Mesh>, me: usize, end: OwnedFd) -> Rank {
    let engine = Engine::new(links(mesh, me, end), true);
    Rank { me, ranks: mesh.agents.len(), engine, is_alone: true, network: None }
}

/// Runs `body` for every rank; a connection takes up to so many steps, so that some cross each other.
pub fn run_delayed(ranks: usize, delay: usize, body: impl Fn(&mut Rank) + Sync) {
    let (mesh, ends) = mesh(ranks, delay);
    let (mesh, body, barrier, at_work) = (&mesh, &body, &Barrier::new(ranks), &AtomicUsize::new(ranks));
    std::thread::scope(|scope| {
        for (me, end) in ends.into_iter().enumerate() {
            scope.spawn(move || {
                let mut rank = rank(mesh, me, end);
                barrier.wait();
                let failure = AbortOnPanic(me);
                body(&mut rank);
                at_work.fetch_sub(1, Ordering::Relaxed);
                while !rank.engine.is_flushed() || at_work.load(Ordering::Relaxed) > 0 {
                    rank.engine.progress();
                    std::thread::yield_now();
                }
                while !rank.engine.part() {
                    rank.engine.progress();
                    std::thread::yield_now();
                }
                drop(failure);
            });
        }
    });
}
