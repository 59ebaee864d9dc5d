//! Ranks that reach each other over TCP connections of the loopback interface, without agents: whoever connects makes
//! both ends, and hands the other one over as an agent does.

use crate::{AbortOnPanic, Rank, world};
use oxmpi_abi::constants::MPI_THREAD_MULTIPLE;
use oxmpi_abi::functions::Fun;
use oxmpi_base::address::JobId;
use oxmpi_base::address::ProcessId;
use oxmpi_base::ids::{NodeId, WorldRank};
use oxmpi_base::segment::Segment;
use oxmpi_base::socket;
use oxmpi_boot::deal;
use oxmpi_boot::nodes::NodeTable;
use oxmpi_core::call::{Call, On};
use oxmpi_core::engine::Engine;
use oxmpi_core::library::Library;
use oxmpi_core::process::Process;
use oxmpi_core::wait::waiting::Unending;
use oxmpi_transport::tcp::connect::{Arrival, Arrivals, ConnectError, Connector, Pending, hand_over, pair};
use oxmpi_transport::{Links, Slot};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// The job that links of a test have.
const JOB: JobId = JobId { inode: 1, holder: 1, fd: 1, host: 0 };

/// The sockets of the ranks to which connections are handed over.
pub struct Mesh {
    agents: Vec<OwnedFd>,
    /// Node and slot of each.
    places: Vec<(u32, u32)>,
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
        let place = (to.node.number(), to.slot.index() as u32);
        let to = self.mesh.places.iter().position(|&known| known == place);
        let to = to.ok_or_else(|| ConnectError("no such rank".into()))?;
        let steps = if self.mesh.delay == 0 { 0 } else { (self.me * 7 + to * 3) % self.mesh.delay };
        let (mesh, ours, theirs) = (Arc::clone(&self.mesh), Some(ours.into()), Some(theirs.into()));
        Ok(Box::new(Made { mesh, me: self.me, to, ours, theirs, steps, ready }))
    }

    fn host(&self, _: ProcessId) -> Option<String> {
        None
    }

    fn verdict(&self) -> Duration {
        Duration::ZERO
    }

    fn watch(&self, _: JobId, _: NodeId) -> Result<Box<dyn Pending>, ConnectError> {
        Err(ConnectError("there are no other jobs".into()))
    }
}

impl Pending for Made {
    fn step(&mut self) -> Result<Option<OwnedFd>, ConnectError> {
        if self.steps > 0 {
            self.steps -= 1;
            return Ok(None);
        }
        if let Some(theirs) = &self.theirs {
            match self.mesh.try_hand(self.to, self.me, theirs.as_fd()) {
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
        self.try_hand(to, from, connection).expect("room in a socket");
    }

    fn try_hand(&self, to: usize, from: usize, connection: BorrowedFd<'_>) -> std::io::Result<()> {
        let (node, slot) = self.places[from];
        let slot = Slot::new(slot as usize).expect("a slot of a small node");
        hand_over(self.agents[to].as_fd(), &Arrival { job: JOB, node: NodeId::new(node), slot, port: None }, connection)
    }
}

/// The sockets of so many ranks, and each rank's end.
pub fn mesh(ranks: usize, delay: usize) -> (Arc<Mesh>, Vec<OwnedFd>) {
    mesh_of((0..ranks as u32).map(|node| (node, 0)).collect(), delay)
}

fn mesh_of(places: Vec<(u32, u32)>, delay: usize) -> (Arc<Mesh>, Vec<OwnedFd>) {
    let (agents, ends) = places.iter().map(|_| pair().expect("sockets for a test")).unzip();
    (Arc::new(Mesh { agents, places, delay }), ends)
}

/// The links of one rank.
pub fn links(mesh: &Arc<Mesh>, me: usize, end: OwnedFd) -> Links {
    let mut links = Links::attach_alone(mesh.agents.len(), me).expect("shared memory for a test");
    connect(&mut links, mesh, me, end);
    links
}

fn connect(links: &mut Links, mesh: &Arc<Mesh>, me: usize, end: OwnedFd) {
    let connector = Box::new(Loopback { mesh: Arc::clone(mesh), me });
    links.use_tcp(connector, Arrivals::new(end)).expect("descriptors for a test");
}

/// Runs `body` for every rank with a whole library, on nodes that share no memory: `nodes` has the node of each rank.
/// No wait of the library looks around by itself before `longest_sleep`.
pub fn run_world(nodes: &[u32], longest_sleep: Duration, body: impl Fn(&world::Rank<'_>) + Sync) {
    let places: Vec<(u32, u32)> = (0..nodes.len())
        .map(|rank| (nodes[rank], nodes[..rank].iter().filter(|&&node| node == nodes[rank]).count() as u32))
        .collect();
    let blocks = deal::blocks(&places);
    let count = |node: u32| nodes.iter().filter(|&&other| other == node).count();
    let most = nodes.iter().max().map_or(0, |&most| most + 1);
    let segments: Vec<_> = (0..most).map(|node| Segment::create(count(node).max(1), 2).expect("memory")).collect();
    let (mesh, ends) = mesh_of(places, 0);
    let size = nodes.len();
    let (mesh, body, barrier, blocks, segments) = (&mesh, &body, &Barrier::new(size), &blocks, &segments);
    std::thread::scope(|scope| {
        for (me, end) in ends.into_iter().enumerate() {
            scope.spawn(move || {
                let library = Library::new();
                world::begin(&library, MPI_THREAD_MULTIPLE, || {
                    let segment = Segment::attach(segments[nodes[me] as usize].0.as_fd()).expect("it was just made");
                    let rank = WorldRank::new(me).expect("a rank of the table");
                    let table = NodeTable::new(blocks.clone(), rank, false).expect("a table of nodes");
                    let mut links = Links::attach_on(segment, JOB, table).expect("a free slot");
                    connect(&mut links, mesh, me, end);
                    let mut process = Process::of(links, true);
                    process.longest_sleep = longest_sleep;
                    process
                });
                barrier.wait();
                let failure = AbortOnPanic(me);
                body(&world::Rank::new(me, size, &library));
                barrier.wait();
                let call = Call::new(&library, Fun::Finalize, On::World);
                let mut guard = call.enter().expect("the world is active");
                guard.engine.node().prepare_to_leave();
                let parted = |process: &mut Process| process.engine.part().then_some(());
                call.wait(&mut guard, &Unending, parted).expect("nothing fails that cannot");
                drop((guard, failure));
                assert!(library.retire());
                library.leave();
                // Nobody unmaps what a peer may still read.
                barrier.wait();
            });
        }
    });
}

pub(crate) fn run(ranks: usize, provider: Option<&str>, body: impl Fn(&mut Rank) + Sync) {
    run_over(ranks, 0, provider, body);
}

/// One rank of several, for a test that is the others itself.
pub fn rank(mesh: &Arc<Mesh>, me: usize, end: OwnedFd) -> Rank {
    let engine = Engine::new(links(mesh, me, end), true);
    Rank { me, ranks: mesh.agents.len(), engine, is_alone: true, network: None }
}

/// Runs `body` for every rank; a connection takes up to so many steps, so that some cross each other.
pub fn run_delayed(ranks: usize, delay: usize, body: impl Fn(&mut Rank) + Sync) {
    run_over(ranks, delay, None, body);
}

/// The same where links go on to a provider of libfabric.
pub fn run_over(ranks: usize, delay: usize, provider: Option<&str>, body: impl Fn(&mut Rank) + Sync) {
    let (mesh, ends) = mesh(ranks, delay);
    let (mesh, body, barrier, at_work) = (&mesh, &body, &Barrier::new(ranks), &AtomicUsize::new(ranks));
    std::thread::scope(|scope| {
        for (me, end) in ends.into_iter().enumerate() {
            scope.spawn(move || {
                let mut rank = rank(mesh, me, end);
                if let Some(provider) = provider {
                    rank.engine.use_fabric(Some(provider)).expect("an endpoint");
                }
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
