//! The memory of the node, as one of its processes uses it: facts about every rank, shared memory,
//! wake-ups and liveness. `foreign.rs` handles the segments of other jobs on the node.
//!
//! No message goes through this type: it has no ring. Boards, windows and waits use it for facts
//! and memory of the node; the engine sends messages through [`Links`](crate::Links).

use crate::foreign::{Ended, ForeignProcesses};
use oxmpi_base::arena::{Area, Arena};
use oxmpi_base::finding_log::FindingLog;
use oxmpi_base::ids::{Peer, Slot};
use oxmpi_base::pid::Pid;
use oxmpi_base::rest_record::RestRecord;
use oxmpi_base::segment::{
    DOOMED_JOB, DOOMED_PART, IN_CALL, JobHeader, RankBlock, STATE_ABORTED, STATE_FINALIZED, STATE_RUNNING, Segment,
};
use oxmpi_base::wait::{self, WakeFence};
use oxmpi_base::wait_record::WaitRecord;
use oxmpi_base::{address::JobId, cma, cma::Piece};
use oxmpi_boot::nodes::NodeTable;
use oxmpi_boot::requests::Stage;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

pub struct NodeMemory {
    me: Slot,
    nodes: Arc<NodeTable>,
    /// If several nodes are pretended: the processes by slot.
    slots: Box<[Peer]>,
    barrier: WakeFence,
    arena: Arena,
    segment: Arc<Segment>,
    pub(crate) foreign: Box<ForeignProcesses>,
    pub(crate) handled: Handled,
    /// The simulated network that this process is on.
    #[cfg(feature = "sim")]
    pub(crate) sim: Option<crate::sim::SimNode>,
}

/// The deaths and revoked contexts that this process has handled; see `deaths.rs`.
pub(crate) struct Handled {
    pub(crate) deaths: usize,
    /// How the process of each slot has ended; empty before the first death.
    pub(crate) ends: Box<[Option<Ended>]>,
    /// How processes of the job on other nodes have.
    pub(crate) far: BTreeMap<Peer, Ended>,
    pub(crate) revoked: usize,
}

impl Handled {
    pub(crate) fn nothing() -> Handled {
        Handled { deaths: 0, ends: Box::default(), far: BTreeMap::new(), revoked: 0 }
    }

    /// Whether any process has ended.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.deaths > 0
    }

    pub(crate) fn end_of(&self, peer: Peer) -> Option<Ended> {
        match peer.slot() {
            Some(slot) => self.ends.get(slot.index()).copied().flatten(),
            None => self.far.get(&peer).copied(),
        }
    }
}

impl NodeMemory {
    /// Attaches to a job's segment. The caller has claimed the slot.
    pub(crate) fn attach(segment: Arc<Segment>, job: JobId, nodes: NodeTable) -> NodeMemory {
        let me = nodes.own_slot();
        let barrier = wait::register();
        cma::permit_peers();
        let block = segment.rank(me.index());
        block.pid.store(std::process::id(), Relaxed);
        let arena = Arena::new(&segment, me.index());
        let slots = nodes.pretended_slots().into();
        let foreign = Box::new(ForeignProcesses::new(job));
        let node = NodeMemory {
            me,
            nodes: Arc::new(nodes),
            slots,
            barrier,
            arena,
            segment,
            foreign,
            handled: Handled::nothing(),
            #[cfg(feature = "sim")]
            sim: None,
        };
        node.rejoin();
        node
    }

    /// This process.
    #[inline]
    pub fn own(&self) -> Peer {
        Peer::local(self.me)
    }

    pub fn slot(&self) -> Slot {
        self.me
    }

    /// The nodes of all ranks of the job.
    pub fn nodes(&self) -> &Arc<NodeTable> {
        &self.nodes
    }

    /// The process in a slot of the segment, which may be one of another pretended node.
    pub(crate) fn peer_in_slot(&self, slot: usize) -> Peer {
        self.slots.get(slot).copied().unwrap_or(Peer::at_slot(slot))
    }

    /// The slot of a process of another pretended node.
    pub(crate) fn pretended_slot(&self, peer: Peer) -> Option<Slot> {
        if !self.nodes.is_pretended() || peer.slot().is_some() {
            return None;
        }
        self.nodes.rank_of(peer).and_then(|rank| self.nodes.place(rank)).map(|(_, slot)| slot)
    }

    /// Whether a process is on this node, so that memory can be shared with it and copied directly.
    #[inline]
    pub fn shares_memory(&self, peer: Peer) -> bool {
        peer.slot().is_some() || self.id_of(peer).node == self.nodes.own_node() && !self.is_networked(peer)
    }

    /// Whether a process belongs to another job.
    pub fn is_foreign(&self, peer: Peer) -> bool {
        peer.far_index().is_some_and(|index| index >= self.nodes.size())
    }

    /// The number of ranks of the own job on this node.
    #[inline]
    pub fn ranks(&self) -> usize {
        self.segment.ranks()
    }

    /// Whether the processes of the job go on when some of them die.
    pub fn goes_on(&self) -> bool {
        self.segment.goes_on()
    }

    pub(crate) fn shared_segment(&self) -> Arc<Segment> {
        Arc::clone(&self.segment)
    }

    pub(crate) fn segment(&self) -> &Segment {
        &self.segment
    }

    pub fn job(&self) -> &JobHeader {
        self.segment.header()
    }

    pub fn block(&self) -> &RankBlock {
        self.segment.rank(self.me.index())
    }

    /// The record in which this rank describes what it waits for.
    pub fn wait_record(&self) -> &WaitRecord {
        self.segment.wait_record(self.me.index())
    }

    /// Why this process may wait in vain, in words.
    pub fn hint(&self) -> &WaitRecord {
        self.segment.hint(self.me.index())
    }

    /// What this process has found wrong with the program.
    pub fn finding_log(&self) -> &FindingLog {
        self.segment.finding_log(self.me.index())
    }

    /// Which processes must act before this one can.
    pub fn rest_record(&self) -> &RestRecord {
        self.segment.rest_record(self.me.index())
    }

    /// Whether the last question to resting ranks goes to a rank of the job, too.
    pub fn is_suspect(&self, rank: usize) -> bool {
        let word = self.segment.suspects().get(rank / 64);
        word.is_some_and(|word| word.load(Relaxed) >> (rank % 64) & 1 != 0)
    }

    #[inline]
    pub fn block_of(&self, peer: Peer) -> &RankBlock {
        match peer.slot().and_then(|slot| self.segment.get(slot.index())) {
            Some(block) => block,
            None => self.block_of_foreign(peer),
        }
    }

    /// The CPU that `mpirun` bound a process to (the first of several); `None` when it is not
    /// bound.
    pub fn cpu_of(&self, peer: Peer) -> Option<usize> {
        if !self.shares_memory(peer) {
            return None;
        }
        (self.block_of(peer).cpu.load(Relaxed) as usize).checked_sub(1)
    }

    pub fn barrier(&self) -> WakeFence {
        self.barrier
    }

    /// Allocates zeroed memory that any process can [map](NodeMemory::map) by its area.
    pub fn allocate(&mut self, bytes: usize) -> io::Result<Area> {
        self.arena.take(bytes).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Frees memory from [`NodeMemory::allocate`] that nobody uses any more.
    pub fn release(&mut self, area: Area) {
        self.arena.give_back(&self.segment, area);
    }

    /// Bytes of the areas that this rank has [allocated](NodeMemory::allocate).
    pub fn allocated(&self) -> usize {
        self.arena.given_out()
    }

    /// Bytes of memory that the node's segment occupies.
    pub fn segment_memory(&self) -> u64 {
        self.segment.memory()
    }

    /// Marks this rank as running again after [`NodeMemory::leave`].
    pub fn rejoin(&self) {
        self.job().awake.fetch_add(1, Relaxed);
        self.block().leaving.store(0, Relaxed);
        // Release: a process that sees the rank running also sees its process id.
        self.block().state.store(STATE_RUNNING, Release);
    }

    /// Marks this rank as taking part in nothing, for now or for good.
    pub fn leave(&self) {
        self.block().state.store(STATE_FINALIZED, Release);
        self.job().awake.fetch_sub(1, Relaxed);
    }

    /// Marks that this rank ends the job, with this code.
    pub fn abort(&self, code: i32) {
        self.block().abort_code.store(code, Relaxed);
        // Release: mpirun reads the code once it sees the state.
        self.block().state.store(STATE_ABORTED, Release);
    }

    /// Says which processes of this node the end of this rank with [`NodeMemory::abort`] also ends, if the job goes on after
    /// failures: those of a communicator. `mpirun` ends ranks of its own job only, so a group with others says nothing, and all
    /// end. Returns whether processes of other nodes shall end, too.
    pub fn doom(&self, peers: &[Peer]) -> bool {
        if !self.goes_on() || peers.iter().any(|&peer| self.is_foreign(peer)) {
            return false;
        }
        if peers.len() == self.nodes.size() {
            self.block().doomed.store(DOOMED_JOB, Relaxed);
            return false;
        }
        let homes: Vec<_> = peers.iter().filter_map(|&peer| self.home(peer)).collect();
        homes.iter().for_each(|(segment, slot)| segment.rank(slot.index()).doomed.store(DOOMED_PART, Relaxed));
        homes.len() < peers.len()
    }

    /// Marks that this rank will receive nothing more, so that no rank waits for it in order to
    /// leave.
    pub fn prepare_to_leave(&self) {
        self.block().leaving.store(1, Release);
        for slot in 0..self.ranks() {
            self.wake(self.peer_in_slot(slot));
        }
        self.wake_all_foreign();
    }

    /// Whether `peer` is in a call of the library and awake at the moment.
    #[inline]
    pub fn is_waiting(&self, peer: Peer) -> bool {
        let block = self.block_of(peer);
        block.call.load(Relaxed) & IN_CALL != 0 && block.sleep.load(Relaxed) == 0
    }

    /// Whether `peer` sleeps in a call of the library at the moment.
    pub fn is_asleep(&self, peer: Peer) -> bool {
        let block = self.block_of(peer);
        block.call.load(Relaxed) & IN_CALL != 0 && block.sleep.load(Relaxed) != 0
    }

    /// This rank has called `MPI_Finalize`.
    pub fn end_world(&self) {
        self.block().world_ended.store(1, Relaxed);
    }

    /// The processes that have called `MPI_Finalize` and take part in nothing now.
    pub fn finalized(&self) -> Vec<Peer> {
        let local = (0..self.ranks()).map(|slot| self.peer_in_slot(slot));
        let is_final = |peer: &Peer| {
            if let Some(stage) = self.stage_of(*peer) {
                return stage >= Stage::Finalized;
            }
            let block = self.block_of(*peer);
            // In this order: the world ends first.
            block.state.load(Acquire) == STATE_FINALIZED && block.world_ended.load(Relaxed) != 0
        };
        #[cfg(feature = "sim")]
        if let Some(sim) = &self.sim {
            return sim.finalized();
        }
        let left = self.handled.far.iter().filter(|(_, end)| **end == Ended::Finalized).map(|(peer, _)| *peer);
        local.chain(self.foreign_processes()).filter(is_final).chain(left).collect()
    }

    /// Whether `peer` receives nothing more.
    pub fn has_left(&self, peer: Peer) -> bool {
        match self.stage_of(peer) {
            Some(stage) => stage >= Stage::Leaving || self.has_ended(peer),
            None => self.block_of(peer).leaving.load(Acquire) != 0 || self.has_ended(peer),
        }
    }

    #[inline]
    pub fn wake(&self, peer: Peer) {
        match peer.slot().and_then(|slot| self.segment.get(slot.index())) {
            Some(block) => wait::wake(self.segment.header(), block, self.barrier),
            None => self.wake_foreign(peer),
        }
    }

    #[inline]
    fn pid_of(&self, peer: Peer) -> io::Result<Pid> {
        if !self.shares_memory(peer) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the process is on another node"));
        }
        Pid::new(self.block_of(peer).pid.load(Relaxed)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Copies from `peer`'s memory to ours; may move fewer bytes than asked for.
    pub fn copy_from(&self, peer: Peer, local: &[Piece], remote: &[Piece]) -> io::Result<usize> {
        let pid = self.pid_of(peer)?;
        // SAFETY: `local` comes from the target of a pending receive.
        unsafe { cma::read(pid, local, remote) }.map_err(|error| self.why_no_copy(error))
    }

    /// Copies from our memory to `peer`'s; may move fewer bytes than asked for.
    pub fn copy_to(&self, peer: Peer, local: &[Piece], remote: &[Piece]) -> io::Result<usize> {
        let pid = self.pid_of(peer)?;
        // SAFETY: `local` comes from the source of a pending send; `remote` from the offer cell that its receiver took.
        unsafe { cma::write(pid, local, remote) }.map_err(|error| self.why_no_copy(error))
    }

    /// In a job that goes on after deaths, a process that is not there any more has aborted its connections.
    #[cold]
    fn why_no_copy(&self, error: io::Error) -> io::Error {
        if self.goes_on() { cma::ended(error) } else { error }
    }
}
