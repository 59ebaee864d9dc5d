//! All TCP links of a process: who makes connections, and when sockets are looked at. What happens then is in `poll.rs`.

use super::attention::Attention;
use super::capacity::Capacity;
use super::connect::{Arrivals, Connector, Pending};
use super::fabric::Fabric;
use super::joint::{Connection, Joint};
use super::traffic::Traffic;
use super::tx::TcpTx;
use super::watch::JobWatch;
use oxmpi_base::address::{JobId, ProcessId};
use oxmpi_base::ids::{NodeId, Peer};
use oxmpi_base::load::now;
use oxmpi_base::segment::RankBlock;
use oxmpi_base::socket::{Interest, Ready};
use oxmpi_base::wake_pipe::Sleeper;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// How a process reaches other nodes.
pub(crate) struct Network {
    pub connector: Box<dyn Connector>,
    pub arrivals: Arrivals,
    /// Watches the sockets.
    pub sleeper: Arc<Sleeper>,
    /// Sockets that are watched for room, too, until a thread has slept.
    pub writing: Vec<(Peer, Arc<Connection>)>,
    pub pending: Vec<(Peer, Box<dyn Pending>)>,
    /// Connections for the next links of peers, until the last ones are over.
    pub early: Vec<Early>,
    /// Connections of processes that this one does not know yet: it may be the last one to learn of a new communicator.
    pub strangers: Vec<(ProcessId, Arc<Connection>)>,
    /// First contacts at ports of this process, in the order in which they came.
    pub contacts: Vec<Contact>,
    /// Answers of the agent that nobody has taken.
    pub answers: Vec<Vec<u8>>,
    /// Connections that bring news of the processes of other jobs.
    pub watches: Vec<JobWatch>,
    /// Links that were opened here and have no receiving end yet.
    pub opened: Vec<(Peer, Arc<Joint>)>,
    /// Peers with a link, in the order in which they came.
    pub peers: Vec<Peer>,
    /// What has travelled between this process and each of them.
    pub traffic: BTreeMap<Peer, Arc<Traffic>>,
    /// Peers that said farewell and have not connected again.
    pub parted: Vec<Peer>,
    /// Peers that have finalized the world, on a link before the present one.
    pub finalized: Vec<Peer>,
    /// Those whose sending end has something that waits.
    pub busy: Vec<Peer>,
    /// Those who were sent short messages since the last turn, which the kernel may keep.
    pub bursts: Vec<Peer>,
    pub attention: Attention,
    pub capacity: Capacity,
    /// Links that are being closed because they rest.
    pub resting: Vec<Peer>,
    /// A connection could not be made for want of descriptors.
    pub wants_descriptors: bool,
    /// Connections that others have made stay with the agent for now.
    pub holds_arrivals: bool,
    /// The endpoint of this process, where messages to other nodes go over a fabric.
    pub fabric: Option<Arc<Fabric>>,
    turn: u32,
    looked_at: u64,
    pub ready: Vec<Ready>,
}

/// A connection for a new link.
pub(crate) struct Early {
    pub peer: Peer,
    pub connection: Arc<Connection>,
    /// The peer has made it by itself, and may have given it up.
    pub is_arrival: bool,
}

/// A process has called at a port of this one. The connection is proven by the port's secret.
pub struct Contact {
    pub port: u32,
    pub from: ProcessId,
    pub connection: OwnedFd,
}

/// Numbers in the set of descriptors: peers have their own.
pub const ARRIVALS: u64 = u64::MAX;
pub const PENDING: u64 = 1 << 40;
/// Descriptors of others: nothing is done for them here.
pub const WATCHED: u64 = PENDING | 1 << 41;

/// Between two looks at all sockets, in turns while one is read in each, else in nanoseconds.
const TURNS: u32 = 16;
const INTERVAL: u64 = 25_000;
impl Network {
    pub fn new(connector: Box<dyn Connector>, arrivals: Arrivals, me: &RankBlock) -> io::Result<Network> {
        let sleeper = Arc::new(Sleeper::new(me)?);
        sleeper.set().add(arrivals.as_fd(), ARRIVALS, Interest::Read)?;
        Ok(Network {
            connector,
            arrivals,
            sleeper,
            writing: Vec::new(),
            pending: Vec::new(),
            early: Vec::new(),
            strangers: Vec::new(),
            contacts: Vec::new(),
            answers: Vec::new(),
            watches: Vec::new(),
            opened: Vec::new(),
            peers: Vec::new(),
            traffic: BTreeMap::new(),
            parted: Vec::new(),
            finalized: Vec::new(),
            busy: Vec::new(),
            bursts: Vec::new(),
            attention: Attention::default(),
            capacity: Capacity::of_process(),
            resting: Vec::new(),
            wants_descriptors: false,
            holds_arrivals: false,
            fabric: None,
            turn: 0,
            looked_at: 0,
            ready: Vec::new(),
        })
    }

    /// The sending end of a new link, for which a connection is made.
    pub fn open(&mut self, peer: Peer, name: String, id: ProcessId, own: ProcessId) -> TcpTx {
        let is_lower = own < id;
        let (joint, offer) = self.joint(peer, name, own.job != id.job);
        match self.connector.connect(id) {
            Ok(pending) => {
                // What cannot be watched is looked at with everything else.
                let _ = self.sleeper.set().add(pending.readiness(), number(peer) | PENDING, Interest::Read);
                joint.set_connecting(true);
                joint.set_awaits_second(is_lower);
                self.pending.push((peer, pending));
            }
            Err(error) => joint.fail(&error.to_string()),
        }
        self.opened.push((peer, Arc::clone(&joint)));
        let mut tcp = TcpTx::new(joint, offer);
        tcp.note_connecting();
        tcp
    }

    /// From now on there are news of a node of another job.
    pub fn watch(&mut self, job: JobId, node: NodeId) {
        if !self.watches.iter().any(|known| (known.job, known.node) == (job, node)) {
            let begun = self.connector.watch(job, node).ok();
            self.watches.push(JobWatch::new(job, node, begun, &self.sleeper));
        }
    }

    /// No more news of a job.
    pub fn watch_no_more(&mut self, job: JobId) {
        self.watches.iter().filter(|known| known.job == job).for_each(|known| known.close(&self.sleeper));
        self.watches.retain(|known| known.job != job);
    }

    /// Nothing more is known of a peer: its number may be another's soon.
    pub fn forget(&mut self, peer: Peer) {
        self.let_go(peer);
        self.resting.retain(|&known| known != peer);
        self.opened.retain(|(known, _)| *known != peer);
        self.early.retain(|early| early.peer != peer);
        self.parted.retain(|&known| known != peer);
        self.finalized.retain(|&known| known != peer);
        self.abandon(peer);
    }

    /// There is no link to a peer any more.
    pub fn let_go(&mut self, peer: Peer) {
        self.peers.retain(|&known| known != peer);
        self.busy.retain(|&known| known != peer);
        self.bursts.retain(|&known| known != peer);
        self.writing.retain(|(known, _)| *known != peer);
        self.attention.forget(peer);
    }

    /// Notes that a link is being closed because it rests.
    pub fn note_resting(&mut self, peer: Peer) {
        if !self.resting.contains(&peer) {
            self.resting.push(peer);
        }
    }

    /// The present turn.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// Whether there is a connection for the next link of a peer.
    pub fn has_early(&self, peer: Peer) -> bool {
        self.early.iter().any(|early| early.peer == peer)
    }

    /// Gives up a connection that is being made.
    pub fn abandon(&mut self, peer: Peer) {
        self.pending.retain(|(known, pending)| {
            if *known == peer {
                self.sleeper.set().remove(pending.readiness());
            }
            *known != peer
        });
    }

    /// What the two ends of a new link share. The agents of the own job have the first word about its end; those of another
    /// job (`is_foreign`) have nothing to say to this process.
    /// Also what the peer is told of our endpoint, where there is one.
    pub fn joint(&mut self, peer: Peer, name: String, is_foreign: bool) -> (Arc<Joint>, Option<Vec<u8>>) {
        if !self.peers.contains(&peer) {
            self.peers.push(peer);
        }
        let verdict = if is_foreign { Duration::ZERO } else { self.connector.verdict() };
        let traffic = Arc::clone(self.traffic.entry(peer).or_default());
        // Processes of other jobs may not know of the fabric.
        let stream = self.fabric.as_ref().filter(|_| !is_foreign).and_then(|fabric| fabric.open(number(peer)).ok());
        let (end, offer) = stream.unzip();
        let fabric = end.map(|end| Arc::new(Connection::over(end)));
        (Arc::new(Joint::new(name, verdict, traffic, fabric)), offer)
    }

    /// Notes that the sending end of a peer may have something that waits, and that the peer may answer.
    pub fn note_sent(&mut self, peer: Peer, is_waiting: bool, may_be_burst: bool) {
        if is_waiting && !self.busy.contains(&peer) {
            self.busy.push(peer);
        }
        if may_be_burst && !self.bursts.contains(&peer) {
            self.bursts.push(peer);
        }
        self.attention.turn_to(peer);
    }

    /// Whether it is time to ask the kernel which sockets are ready.
    pub fn is_due(&mut self) -> bool {
        self.turn = self.turn.wrapping_add(1);
        if !self.turn.is_multiple_of(TURNS) {
            return false;
        }
        if self.attention.has_peer() {
            return true;
        }
        let now = now();
        let is_due = now.saturating_sub(self.looked_at) >= INTERVAL;
        if is_due {
            self.looked_at = now;
        }
        is_due
    }
}

pub fn number(peer: Peer) -> u64 {
    peer.as_source() as u64
}
