//! A node whose ranks another launcher has started: its segment and its port, and the watch over its ranks.
//!
//! When a rank ends without having finalized, the job has failed. The launcher is given a moment, because it knows the
//! status that it shall end with; then the lifeline breaks, which ends the other ranks of the node. The other nodes hear
//! of it at once.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

use oxmpi_abi::constants::MPI_ERR_NAME;
use oxmpi_agent::door::Door;
use oxmpi_agent::one_sided::Workers;
use oxmpi_agent::requests::{RankRequest, RequestKind};
use oxmpi_base::cpus::{self, CpuSet};
use oxmpi_base::ids::WorldRank;
use oxmpi_base::segment::{STATE_ABORTED, STATE_FINALIZED, Segment};
use oxmpi_base::{descriptors, dial, lifeline, limits};
use oxmpi_boot::handshake::{End, Key, Kind};
use oxmpi_boot::manager::record::NodeRecord;
use oxmpi_boot::network::{Attempt, Network, describe};
use oxmpi_boot::node_helper::{FromHelper, Handed, Table, ToHelper};
use oxmpi_boot::nodes::{NodeBlock, NodeTable};
use oxmpi_boot::requests::{self, Answer};

use super::gather::{Arrived, Heard, hear};
use crate::hosts;
use crate::node_port;
use crate::reach::Listening;
use crate::sys;

/// Time for the launcher to end a job that has failed.
const GRACE: Duration = Duration::from_secs(1);
/// Time to tell the other nodes of it.
const HERALDING: Duration = Duration::from_secs(5);
/// Nodes that are told at the same time.
const MOST_CALLS: usize = 64;
/// Between two looks at processes that cannot be watched.
const LOOK: Duration = Duration::from_millis(200);

/// A node whose ranks have come, and whose place in the job is not known yet.
pub struct Preparing {
    ranks: Vec<Arrived>,
    /// Which of them has said `Complete`.
    said: usize,
    listening: Listening,
}

/// What is there before the ranks can start.
struct Made {
    nodes: NodeTable,
    table: Table,
    segment_fd: OwnedFd,
    segment: Segment,
    door: Door,
}

/// A node that serves its ranks.
pub struct Node {
    host: String,
    listening: Listening,
    door: Door,
    workers: Workers,
    segment: Arc<Segment>,
    ranks: Vec<Rank>,
    /// Broken to end the ranks.
    lifeline: Option<OwnedFd>,
    own: u32,
    nodes: u32,
    description: Option<OwnedFd>,
    herald: Option<Herald>,
    ends_at: Option<Instant>,
    _segment_fd: OwnedFd,
}

struct Rank {
    number: u32,
    pid: u32,
    watch: Option<OwnedFd>,
    has_ended: bool,
}

impl Node {
    pub fn prepare((ranks, said): (Vec<Arrived>, usize), listening: Listening) -> Preparing {
        Preparing { ranks, said, listening }
    }
}

impl Preparing {
    /// Makes the node; `None` if its ranks have ended before.
    pub fn start(self) -> Result<Option<Node>, String> {
        let made = self.make();
        if let Err(text) = &made {
            self.ranks.iter().for_each(|rank| rank.say(&FromHelper::Failed(text.clone())));
        }
        match made? {
            Some(made) => self.hand_out(made).map(Some),
            None => Ok(None),
        }
    }

    /// Makes the segment and opens the port, and waits for the table of nodes.
    fn make(&self) -> Result<Option<Made>, String> {
        let host = hosts::own_name();
        let sets = self.ranks.iter().map(|rank| CpuSet::parse(&rank.joining.cpus));
        let sets: Vec<Option<CpuSet>> = sets.collect();
        let mut all = CpuSet::default();
        sets.iter().flatten().flat_map(CpuSet::iter).for_each(|cpu| all.insert(cpu));
        // The first rank may be bound to one CPU, and this process with it.
        let _ = all.confine();
        descriptors::allow(16 * self.ranks.len() as u64 + 256);
        let count = self.ranks.len();
        let (fd, segment) = Segment::create(count, cpus::available()).map_err(|error| {
            format!("cannot create the shared memory of {count} ranks: {}", limits::explain(&error))
        })?;
        let fd = descriptors::keep(fd.as_fd()).map_err(|error| limits::explain(&error))?;
        for (slot, set) in sets.iter().enumerate() {
            // A rank that may use all CPUs of the job is not bound.
            let bound = set.as_ref().filter(|set| set.len() < all.len()).and_then(|set| set.iter().next());
            segment.rank(slot).cpu.store(bound.map_or(0, |cpu| cpu as u32 + 1), Relaxed);
        }
        let numbers: Vec<u32> = self.ranks.iter().map(|rank| rank.joining.rank).collect();
        let mut record = NodeRecord::new(host.clone(), &numbers);
        let mut door = Door::new(&host);
        if count < self.ranks[0].joining.size as usize {
            (record.port, record.addresses) = node_port::listen(&mut door, false, &self.listening)?;
        }
        let Some(file) = self.await_table(&record) else { return Ok(None) };
        let damaged = |what: String| format!("the table of nodes that rank {} gave is damaged: {what}", numbers[0]);
        let table = file.and_then(Table::from_file).ok_or_else(|| damaged("it cannot be read".into()))?;
        let blocks = table.blocks.iter().map(|&words| NodeBlock::from_words(words)).collect::<Result<_, _>>();
        let own = WorldRank::new(numbers[0] as usize).ok_or_else(|| damaged("a rank is too large".into()))?;
        let nodes = blocks.and_then(|blocks| NodeTable::new(blocks, own, false)).map_err(damaged)?;
        let here: Vec<u32> = nodes.on_this_node().map(|(rank, _)| rank.index() as u32).collect();
        if here != numbers || nodes.nodes() != table.nodes.len() {
            return Err(damaged("it has other ranks on this node".into()));
        }
        nodes.store(&segment)?;
        Ok(Some(Made { nodes, table, segment_fd: fd, segment, door }))
    }

    /// The file that the first rank sends once it knows all nodes; `None` if a rank has ended.
    fn await_table(&self, record: &NodeRecord) -> Option<Option<OwnedFd>> {
        let answer = |slot: usize| match slot {
            0 => FromHelper::First(record.clone()),
            _ => FromHelper::Wait,
        };
        self.ranks[self.said].say(&answer(self.said));
        let mut fds = Vec::new();
        loop {
            for (slot, rank) in self.ranks.iter().enumerate() {
                loop {
                    match hear(&rank.socket) {
                        Heard::Nothing => break,
                        Heard::Word(ToHelper::Complete, _) => rank.say(&answer(slot)),
                        Heard::Word(ToHelper::Table, file) if slot == 0 => return Some(file),
                        Heard::Word(..) | Heard::End => return None,
                    }
                }
            }
            fds.clear();
            fds.extend(self.ranks.iter().map(|rank| sys::pollfd(rank.socket.as_raw_fd(), sys::POLLIN)));
            sys::poll(&mut fds, None).ok()?;
        }
    }

    /// Gives all ranks what they need.
    fn hand_out(self, made: Made) -> Result<Node, String> {
        let Made { nodes, table, segment_fd, segment, mut door } = made;
        let cannot = |error: io::Error| limits::explain(&error);
        let (near, far) = lifeline::create().map_err(cannot)?;
        let (own, count) = (nodes.own_node().number(), nodes.nodes());
        let segment = Arc::new(segment);
        let workers = Workers::new(Arc::clone(&segment));
        let mut description = None;
        if count > 1 {
            let key = Key::from_bytes(table.secret.key);
            let mut file = File::from(dial::memory_file(c"oxmpi-network").map_err(cannot)?);
            file.write_all(&describe(table.secret.job, &key, &table.ports())).map_err(cannot)?;
            description = Some(OwnedFd::from(file));
            door.admit_job(table.secret.job, key);
        }
        let (mut ranks, mut sockets) = (Vec::new(), Vec::new());
        for Arrived { joining, socket, watch } in self.ranks {
            let hand = |what: Handed, fd: &OwnedFd| {
                requests::send_with_fd(socket.as_fd(), &FromHelper::Hand(what), fd.as_fd())
            };
            let given = hand(Handed::Segment, &segment_fd)
                .and_then(|()| hand(Handed::Lifeline, &near))
                .and_then(|()| description.as_ref().map_or(Ok(()), |file| hand(Handed::Network, file)));
            let start = FromHelper::Start { helper: std::process::id(), segment: segment_fd.as_raw_fd() as u32 };
            // A rank that has ended meanwhile is noticed like any other.
            let _ = given.and_then(|()| requests::send(socket.as_fd(), &start));
            ranks.push(Rank { number: joining.rank, pid: joining.pid, watch, has_ended: false });
            sockets.push(socket);
        }
        door.serve(own, sockets).map_err(cannot)?;
        Ok(Node {
            host: hosts::own_name(),
            listening: self.listening,
            door,
            workers,
            segment,
            ranks,
            lifeline: Some(far),
            own,
            nodes: count as u32,
            description,
            herald: None,
            ends_at: None,
            _segment_fd: segment_fd,
        })
    }
}

impl Node {
    /// Serves the ranks until all have ended.
    pub fn run(&mut self) -> io::Result<()> {
        let mut fds = Vec::new();
        loop {
            let now = Instant::now();
            self.hear_ranks();
            self.look_for_ended(now);
            self.door.work(now);
            for caller in self.door.take_one_sided() {
                // A caller that is not served sees the end of its connection.
                if let Err(error) = self.workers.serve(caller) {
                    eprintln!("mpirun: the helper of {} cannot serve one-sided requests: {error}", self.host);
                }
            }
            if !self.door.take_failed().is_empty() {
                self.end_soon(now);
            }
            if self.ends_at.is_some_and(|at| now >= at) {
                self.lifeline = None;
            }
            if self.herald.as_mut().is_some_and(|herald| !herald.work(now)) {
                self.herald = None;
            }
            if self.herald.is_none() && self.ranks.iter().all(|rank| rank.has_ended) {
                return Ok(());
            }
            fds.clear();
            fds.extend(self.door.descriptors().map(|fd| sys::pollfd(fd, sys::POLLIN)));
            let alive = self.ranks.iter().filter(|rank| !rank.has_ended);
            fds.extend(alive.filter_map(|rank| Some(sys::pollfd(rank.watch.as_ref()?.as_raw_fd(), sys::POLLIN))));
            self.herald.iter().for_each(|herald| herald.poll_for(&mut fds));
            sys::poll(&mut fds, self.deadline(now).map(|at| at.saturating_duration_since(now)))?;
        }
    }

    fn deadline(&self, now: Instant) -> Option<Instant> {
        let unwatched = self.ranks.iter().any(|rank| !rank.has_ended && rank.watch.is_none()).then(|| now + LOOK);
        let herald = self.herald.as_ref().map(|_| now + LOOK);
        let end = self.ends_at.filter(|_| self.lifeline.is_some());
        [unwatched, herald, end, self.door.deadline(now)].into_iter().flatten().min()
    }

    fn hear_ranks(&mut self) {
        for RankRequest { slot, kind } in self.door.hear_ranks() {
            let answer = match kind {
                RequestKind::Listen { ticket } => {
                    Answer::Listening { ticket, at: node_port::listen(&mut self.door, false, &self.listening) }
                }
                // Without an mpirun no job goes on after failures.
                RequestKind::Vote { .. }
                | RequestKind::Revoke { .. }
                | RequestKind::Abort { .. }
                | RequestKind::LinkBroken { .. } => continue,
                RequestKind::ConnectBack { number, .. } => {
                    self.door.give_up(number, "only OxMPI's mpirun can ask another host for that");
                    continue;
                }
                RequestKind::Names { ticket, .. } => {
                    let text =
                        "names of a job on several hosts need OxMPI's mpirun or a name server (`oxmpi nameserver`)";
                    Answer::Names { ticket, result: Err((MPI_ERR_NAME, text.into())) }
                }
            };
            self.door.answer(slot, &answer);
        }
    }

    fn look_for_ended(&mut self, now: Instant) {
        for slot in 0..self.ranks.len() {
            let Rank { number, pid, watch, has_ended } = &mut self.ranks[slot];
            let lives = match watch {
                Some(watch) => sys::ready(watch.as_raw_fd(), sys::POLLIN) == 0,
                None => lifeline::process_lives(*pid),
            };
            if *has_ended || lives {
                continue;
            }
            *has_ended = true;
            let state = self.segment.rank(slot).state.load(Acquire);
            let is_well = state == STATE_FINALIZED;
            // Of an abort the rank itself has told, and of those that this process has ended everybody knows.
            if !is_well && state != STATE_ABORTED && self.ends_at.is_none() {
                eprintln!(
                    "mpirun: rank {number} (pid {pid} on {}) has ended without MPI_Finalize, so the job is ended",
                    self.host
                );
            }
            self.door.rank_ended(slot, is_well);
            if !is_well && self.ends_at.is_none() {
                self.herald = self.herald_for(slot as u32, now);
                self.end_soon(now);
            }
        }
    }

    fn end_soon(&mut self, now: Instant) {
        self.ends_at.get_or_insert(now + GRACE);
    }

    /// Tells the other nodes that a rank has died.
    fn herald_for(&self, slot: u32, now: Instant) -> Option<Herald> {
        let description = self.description.as_ref()?.try_clone().ok()?;
        let network = Network::open(description, End { node: self.own, slot }).ok()?;
        let left = (0..self.nodes).filter(|&node| node != self.own).collect();
        Some(Herald { network, left, calls: Vec::new(), until: now + HERALDING })
    }
}

/// Calls all other nodes, for a rank that has died.
struct Herald {
    network: Network,
    left: Vec<u32>,
    calls: Vec<Attempt>,
    until: Instant,
}

impl Herald {
    /// Goes on; whether there is more to do.
    fn work(&mut self, now: Instant) -> bool {
        while self.calls.len() < MOST_CALLS
            && let Some(node) = self.left.pop()
        {
            self.calls.extend(self.network.connect_agent(End { node, slot: End::AGENT }, Kind::Failed));
        }
        // A node that cannot be reached has ended, or its launcher knows it.
        self.calls.retain_mut(|call| matches!(call.step(), Ok(None)));
        now < self.until && !(self.calls.is_empty() && self.left.is_empty())
    }

    fn poll_for(&self, fds: &mut Vec<sys::PollFd>) {
        fds.extend(self.calls.iter().map(|call| sys::pollfd(call.readiness().as_raw_fd(), sys::POLLIN)));
    }
}
