//! Processes of other jobs. Each job has a segment of its own. On one machine, a packet to a foreign
//! process goes into a ring in the *receiver's* segment, where its sender is a foreign sender
//! (`oxmpi_base::foreign_senders`). Between hosts it goes over TCP (`tcp/jobs.rs`), as all packets
//! from and to a job on several hosts do. Which of both is decided by the names of the two jobs, so
//! that both sides agree, and never changes.
//!
//! In this process all others are [`Peer`]s: the ranks of the own job are local ones, foreign
//! processes far ones, from the first contact until nothing names them any more. Peers are valid
//! only in this process; messages carry [`ProcessId`]s.
//!
//! Nothing here is on the path of messages: once a ring is open, it is used like those of the own
//! job.

use crate::incoming::Incoming;
use crate::node_memory::NodeMemory;
use crate::outgoing::Outgoing;
use oxmpi_base::address::{JobId, ProcessId};
use oxmpi_base::arena::{Area, Mapping};
use oxmpi_base::death_log::{End, Who};
use oxmpi_base::foreign_senders::{FOREIGN_SENDERS, Phase};
use oxmpi_base::ids::{NodeId, Peer, Slot};
use oxmpi_base::lifeline;
use oxmpi_base::ring::{Consumer, Producer};
use oxmpi_base::segment::{RankBlock, STATE_ABORTED, STATE_FINALIZED, Segment};
use oxmpi_base::wait;
use oxmpi_boot::requests::Stage;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// All that is known of other jobs.
pub(crate) struct ForeignProcesses {
    own: JobId,
    /// Foreign processes by the index of their peer, less the size of the own job.
    known: Vec<Option<Known>>,
    /// Indexes that are not used again: those of processes that have died, which are remembered as failed by their peer.
    spent: BTreeSet<usize>,
    peers: HashMap<ProcessId, Peer>,
    jobs: HashMap<JobId, Job>,
}

#[derive(Clone, Copy)]
struct Known {
    id: ProcessId,
    ended: Option<Ended>,
    /// For a process that is reached over TCP: what is known of its end.
    stage: Option<Stage>,
    /// It was seen to have ended well. Its last connection may still be on its way from the agent, so
    /// that counts at the next look only.
    is_ending: bool,
}

/// How a foreign process has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It had called `MPI_Finalize`: operations with it may be complete.
    Finalized,
    /// It died, aborted, or wrote something that is no packet.
    Died,
}

/// Another job that this process knows.
enum Job {
    /// It shares this machine.
    Memory {
        segment: Segment,
        /// While connected: this process's slot among the foreign senders there, and its rings to the
        /// ranks.
        visit: Option<(usize, Arc<Mapping>)>,
    },
    /// It is reached over TCP.
    Network {
        /// Nothing here names it any more.
        left: bool,
    },
}

impl Job {
    fn has_been_left(&self) -> bool {
        matches!(self, Job::Memory { visit: None, .. } | Job::Network { left: true })
    }
}

/// A foreign sender that has a ring to this rank.
pub(crate) struct SenderRing {
    foreign_sender: usize,
    /// `None` if its job cannot be reached, so that it cannot be answered.
    peer: Option<Peer>,
}

impl ForeignProcesses {
    pub(crate) fn new(own: JobId) -> ForeignProcesses {
        ForeignProcesses { own, known: Vec::new(), spent: BTreeSet::new(), peers: HashMap::new(), jobs: HashMap::new() }
    }
}

impl NodeMemory {
    /// The identity of this process for processes of any job.
    pub fn own_id(&self) -> ProcessId {
        self.id_of(self.own())
    }

    /// The identity of any process that is known here.
    pub fn id_of(&self, peer: Peer) -> ProcessId {
        match peer.slot() {
            Some(slot) => ProcessId { job: self.foreign.own, node: self.nodes().own_node(), slot },
            None => match self.nodes().rank_of(peer).and_then(|rank| self.nodes().place(rank)) {
                Some((node, slot)) => ProcessId { job: self.foreign.own, node, slot },
                None => self.known(peer).id,
            },
        }
    }

    /// Whether a job is known that this process has left.
    pub fn knows_deserted(&self) -> bool {
        self.foreign.jobs.values().any(Job::has_been_left)
    }

    /// Whether a foreign process is reached over TCP.
    pub fn is_networked(&self, peer: Peer) -> bool {
        self.stage_of(peer).is_some()
    }

    /// What is known of the end of a process that is reached over TCP.
    pub(crate) fn stage_of(&self, peer: Peer) -> Option<Stage> {
        self.place(peer).and_then(|index| self.foreign.known.get(index)?.as_ref())?.stage
    }

    /// Whether any process of another job is known.
    pub fn knows_foreign(&self) -> bool {
        !self.foreign.jobs.is_empty()
    }

    /// Whether processes are known whose end this one has to look for by itself, or ranks have ended in a job that goes on:
    /// otherwise `mpirun` ends the job when a rank of it ends on this node.
    pub fn may_lose_peers(&self) -> bool {
        #[cfg(feature = "sim")]
        if self.sim.is_some() {
            return true;
        }
        self.knows_foreign() || self.handled.any()
    }

    /// The index of a foreign process among those that are known.
    fn place(&self, peer: Peer) -> Option<usize> {
        peer.far_index()?.checked_sub(self.nodes().size())
    }

    fn foreign_process(&self, index: usize) -> Peer {
        Peer::far(self.nodes().size() + index)
    }

    fn known(&self, peer: Peer) -> &Known {
        match self.place(peer).and_then(|index| self.foreign.known.get(index)) {
            Some(Some(known)) => known,
            _ => unreachable!("{peer} is not known"),
        }
    }

    /// The segment and the slot of a far process.
    #[cold]
    fn home_of_far(&self, peer: Peer) -> Option<(&Segment, Slot)> {
        if let Some(slot) = self.pretended_slot(peer) {
            return Some((self.segment(), slot));
        }
        let known = self.place(peer).and_then(|index| self.foreign.known.get(index)?.as_ref())?;
        match self.foreign.jobs.get(&known.id.job)? {
            Job::Memory { segment, .. } => Some((segment, known.id.slot)),
            Job::Network { .. } => None,
        }
    }

    /// The segment that holds the offer cells and rings of a process, and its slot there; `None`
    /// for a process that is reached only by packets. A process with a segment need not [share
    /// memory](NodeMemory::shares_memory): nodes may be pretended.
    pub fn home(&self, peer: Peer) -> Option<(&Segment, Slot)> {
        match peer.slot() {
            Some(slot) => Some((self.segment(), slot)),
            None => self.home_of_far(peer),
        }
    }

    #[cold]
    pub(crate) fn block_of_foreign(&self, peer: Peer) -> &RankBlock {
        match self.home_of_far(peer) {
            Some((segment, slot)) => segment.rank(slot.index()),
            None => unreachable!("{peer} shares no memory with this process"),
        }
    }

    #[cold]
    pub(crate) fn wake_foreign(&self, peer: Peer) {
        if let Some((segment, slot)) = self.home_of_far(peer) {
            wait::wake(segment.header(), segment.rank(slot.index()), self.barrier());
        }
    }

    pub(crate) fn wake_all_foreign(&self) {
        self.foreign_processes().for_each(|peer| self.wake_foreign(peer));
    }

    /// The known foreign processes.
    pub(crate) fn foreign_processes(&self) -> impl Iterator<Item = Peer> {
        let known = self.foreign.known.iter().enumerate().filter(|(_, known)| known.is_some());
        known.map(|(index, _)| self.foreign_process(index))
    }

    // ---- connecting ----

    /// The peer for an id. For a foreign process on this machine, this process becomes a foreign
    /// sender of its job; one elsewhere must be [known](NodeMemory::meet). An error says why it cannot
    /// be reached.
    pub fn peer_at(&mut self, id: ProcessId) -> io::Result<Peer> {
        if id.job == self.foreign.own {
            let rank = self.nodes().world_rank(id.node, id.slot);
            return rank.map(|rank| self.nodes().peer(rank)).ok_or_else(no_such_slot);
        }
        if !self.shares_machine(&id.job) {
            return self.foreign.peers.get(&id).copied().ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, "it is on another host, and its address is not known")
            });
        }
        self.connect(id)?;
        Ok(self.add_known(id, None))
    }

    /// Whether processes of a job share memory with this one.
    pub fn shares_machine(&self, job: &JobId) -> bool {
        self.foreign.own.shares_machine(job)
    }

    /// The peer for a process that is reached over TCP.
    pub(crate) fn meet(&mut self, id: ProcessId) -> Peer {
        self.foreign.jobs.insert(id.job, Job::Network { left: false });
        let peer = self.add_known(id, Some(Stage::Running));
        if let Some(index) = self.place(peer)
            && let Some(Some(known)) = self.foreign.known.get_mut(index)
            && known.stage == Some(Stage::Leaving)
        {
            // It had said farewell, and is back.
            known.stage = Some(Stage::Running);
        }
        peer
    }

    fn add_known(&mut self, id: ProcessId, stage: Option<Stage>) -> Peer {
        if let Some(&peer) = self.foreign.peers.get(&id) {
            return peer;
        }
        let ForeignProcesses { known, spent, .. } = &mut *self.foreign;
        let is_free = |index: &usize| known[*index].is_none() && !spent.contains(index);
        let index = (0..known.len()).find(is_free).unwrap_or(known.len());
        if index == known.len() {
            known.push(None);
        }
        known[index] = Some(Known { id, ended: None, stage, is_ending: false });
        let peer = self.foreign_process(index);
        self.foreign.peers.insert(id, peer);
        peer
    }

    /// The peer for a process that connects over TCP, if it is known and its job was not left.
    pub(crate) fn far_peer(&self, id: ProcessId) -> Option<Peer> {
        if id.job == self.foreign.own {
            let rank = self.nodes().world_rank(id.node, id.slot)?;
            return Some(self.nodes().peer(rank)).filter(|peer| peer.is_far());
        }
        match self.foreign.jobs.get(&id.job)? {
            Job::Network { left: false } => self.foreign.peers.get(&id).copied(),
            _ => None,
        }
    }

    /// Whether a process of another job is known and its job was not left.
    pub fn is_known(&self, id: ProcessId) -> bool {
        id.job == self.foreign.own
            || self.foreign.peers.contains_key(&id)
                && self.foreign.jobs.get(&id.job).is_some_and(|job| !job.has_been_left())
    }

    /// Notes what the agent of a process says of its end.
    pub(crate) fn note_stage(&mut self, job: JobId, node: NodeId, slot: u32, stage: Stage) {
        let is_it =
            |known: &&mut Known| (known.id.job, known.id.node, known.id.slot.index()) == (job, node, slot as usize);
        if let Some(known) = self.foreign.known.iter_mut().flatten().find(is_it) {
            known.stage = Some(stage);
        }
    }

    /// The agent of a node of another job has ended, and with it all processes there.
    pub(crate) fn node_has_ended(&mut self, job: JobId, node: NodeId) {
        for known in self.foreign.known.iter_mut().flatten() {
            if (known.id.job, known.id.node) == (job, node) {
                known.stage = known.stage.map(|stage| match stage {
                    Stage::Finalized | Stage::Ended => Stage::Ended,
                    _ => Stage::Died,
                });
            }
        }
    }

    /// A process that is reached over TCP has said farewell.
    pub(crate) fn note_farewell(&mut self, peer: Peer) {
        if let Some(index) = self.place(peer)
            && let Some(Some(known)) = self.foreign.known.get_mut(index)
        {
            known.stage = known.stage.map(|stage| stage.max(Stage::Leaving));
        }
    }

    /// Makes this process a foreign sender of the job of a process, if it is not one yet.
    fn connect(&mut self, id: ProcessId) -> io::Result<()> {
        let own = self.own_id();
        let job = match self.foreign.jobs.entry(id.job) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Job::Memory { segment: id.job.open()?, visit: None }),
        };
        let Job::Memory { segment, visit } = job else { return Err(no_such_slot()) };
        let result = if id.slot.index() >= segment.ranks() {
            Err(no_such_slot())
        } else if visit.is_some() {
            return Ok(());
        } else {
            make_visit(segment, own)
        };
        match result {
            Ok(made) => {
                *visit = Some(made);
                Ok(())
            }
            Err(error) => {
                if !self.foreign.peers.keys().any(|known| known.job == id.job) {
                    self.foreign.jobs.remove(&id.job);
                }
                Err(error)
            }
        }
    }

    /// Opens the ring to a foreign process; `None` while this process can have no rings in that job.
    ///
    /// It may have left the job while the other process still names this one, and go on to send: the other
    /// process then needs no new ring to ask at a port, and waits for the answer.
    pub(crate) fn open_to_foreign(&mut self, peer: Peer) -> Option<Box<Producer>> {
        let id @ ProcessId { job, slot, .. } = self.known(peer).id;
        if matches!(self.foreign.jobs.get(&job)?, Job::Memory { visit: None, .. }) {
            self.connect(id).ok()?;
        }
        let Job::Memory { segment, visit: Some((foreign_sender, rings)) } = self.foreign.jobs.get(&job)? else {
            return None;
        };
        let (foreign_sender, rank) = (*foreign_sender, slot.index());
        // SAFETY: `visit` claimed the foreign sender for this process, and a peer's ring is opened
        // only while it has none.
        let producer = Box::new(unsafe { Producer::of_foreign_sender(rings, rank) });
        segment.foreign_sender(foreign_sender).add_share();
        segment.foreign_bits(rank)[foreign_sender / 64].fetch_or(1 << (foreign_sender % 64), AcqRel);
        // Release: a rank that sees the doorbell sees the bit.
        segment.foreign_bell(rank).fetch_add(1, Release);
        Some(producer)
    }

    // ---- ended processes ----

    /// Searches for foreign processes that have ended or aborted, or that the caller knows to have
    /// written something that is no packet; returns all of them, including those found before.
    fn find_ended(&mut self, is_broken: impl Fn(Peer) -> bool) -> Vec<(Peer, Ended)> {
        let mut all = Vec::new();
        for index in 0..self.foreign.known.len() {
            let Some(Known { ended, .. }) = self.foreign.known[index] else { continue };
            let peer = self.foreign_process(index);
            if let Some(Known { stage: Some(Stage::Ended), is_ending: is_ending @ false, .. }) =
                &mut self.foreign.known[index]
            {
                *is_ending = true;
                continue;
            }
            let found = ended.or_else(|| self.look_at(peer, &is_broken));
            if let (Some(found), Some(known)) = (found, &mut self.foreign.known[index]) {
                known.ended = Some(found);
                all.push((peer, found));
            }
        }
        all
    }

    fn look_at(&self, peer: Peer, is_broken: impl Fn(Peer) -> bool) -> Option<Ended> {
        match self.stage_of(peer) {
            Some(Stage::Ended) => return Some(Ended::Finalized),
            Some(Stage::Died) => return Some(Ended::Died),
            Some(_) => return is_broken(peer).then_some(Ended::Died),
            None => {}
        }
        if let Some((segment, slot)) = self.home(peer)
            && segment.goes_on()
        {
            let told = || {
                let (_, end) = segment.end_of(Who::Here(slot.index()))?;
                Some(if end == End::Failed { Ended::Died } else { Ended::Finalized })
            };
            let broken = is_broken(peer).then_some(Ended::Died);
            return broken.or_else(told).or_else(|| self.vanished(peer));
        }
        let block = self.block_of_foreign(peer);
        // In this order: a process that finalizes says so before it ends.
        let lives = lifeline::process_lives(block.pid.load(Relaxed));
        let state = block.state.load(Acquire);
        match state {
            STATE_ABORTED => Some(Ended::Died),
            _ if is_broken(peer) => Some(Ended::Died),
            _ if lives => None,
            STATE_FINALIZED => Some(Ended::Finalized),
            _ => Some(Ended::Died),
        }
    }

    /// How a process of another job has ended that its `mpirun` did not tell of, because that has ended, too. Both leave a process
    /// that nobody has reaped.
    fn vanished(&self, peer: Peer) -> Option<Ended> {
        let block = self.block_of_foreign(peer);
        let pid = block.pid.load(Relaxed);
        if pid == 0 || lifeline::process_exists(pid) {
            return None;
        }
        Some(if block.state.load(Acquire) == STATE_FINALIZED { Ended::Finalized } else { Ended::Died })
    }

    /// Whether the `mpirun` of another job has ended without a word about the end of this process. Then nobody will write into
    /// the log of that job any more, and all its processes end with their `mpirun`.
    pub fn is_of_lost_job(&self, peer: Peer) -> bool {
        let known = self.place(peer).and_then(|index| self.foreign.known.get(index)?.as_ref());
        known.is_some_and(|known| {
            known.stage.is_none() && known.ended == Some(Ended::Died) && !lifeline::process_lives(known.id.job.holder)
        })
    }

    fn ended(&self, peer: Peer) -> Option<Ended> {
        #[cfg(feature = "sim")]
        if let Some(sim) = &self.sim {
            return (peer.is_far() && sim.life(peer) == crate::Life::Dead).then_some(Ended::Died);
        }
        match self.place(peer) {
            Some(index) => self.foreign.known.get(index)?.as_ref()?.ended,
            None => self.handled.end_of(peer),
        }
    }

    /// Whether a process is known to have ended.
    pub fn has_ended(&self, peer: Peer) -> bool {
        self.ended(peer).is_some()
    }

    /// Whether a process is known to have ended without `MPI_Finalize`.
    pub fn has_died(&self, peer: Peer) -> bool {
        self.ended(peer) == Some(Ended::Died)
    }

    /// Whether a process that shares memory with this one is still running, according to the
    /// kernel.
    pub(crate) fn is_alive(&self, peer: Peer) -> bool {
        let block = self.home(peer).filter(|_| !self.has_ended(peer)).map(|(segment, slot)| segment.rank(slot.index()));
        block.is_some_and(|block| lifeline::process_lives(block.pid.load(Relaxed)))
    }

    // ---- memory ----

    /// Maps an area that `owner` allocated, a process of this node.
    pub fn map(&self, owner: Peer, area: Area) -> io::Result<Mapping> {
        match self.home(owner) {
            Some((segment, _)) if self.shares_memory(owner) => Mapping::new(segment, area),
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, "its owner is on another node")),
        }
    }
}

impl Incoming {
    /// Foreign senders connected or disconnected: opens the rings of new ones, and closes those of
    /// senders that left, once their rings are empty.
    pub fn see_foreign_senders(&mut self, node: &mut NodeMemory) {
        let me = node.slot().index();
        let rung = node.segment().foreign_bell(me).load(Acquire);
        // Deaths and revocations ring the same bell. The process sees to them later, wherever this was called.
        let mut look_again = node.has_news();
        for index in (0..self.sender_rings.len()).rev() {
            look_again |= !self.close_sender_ring(node, index);
        }
        for word in 0..FOREIGN_SENDERS / 64 {
            let mut bits = node.segment().foreign_bits(me)[word].load(Acquire);
            while bits != 0 {
                let foreign_sender = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if !self.sender_rings.iter().any(|visit| visit.foreign_sender == foreign_sender) {
                    look_again |= !self.open_sender_ring(node, foreign_sender);
                }
            }
        }
        self.heard_foreign(if look_again { rung.wrapping_sub(1) } else { rung });
    }

    /// Opens the ring of a foreign sender; `false` while an earlier ring of the same process is not
    /// empty yet.
    fn open_sender_ring(&mut self, node: &mut NodeMemory, foreign_sender: usize) -> bool {
        let area = node.segment().layout().foreign_ring(foreign_sender, node.slot().index());
        let id = node.segment().foreign_sender(foreign_sender).process();
        let peer = id.and_then(|id| node.peer_at(id).ok());
        if peer.is_some_and(|peer| self.has_receiver(peer)) {
            return false;
        }
        let mapped = peer.and_then(|peer| Some((peer, Mapping::new(node.segment(), area).ok()?)));
        let peer = mapped.map(|(peer, ring)| {
            // SAFETY: the ring from this foreign sender to this rank; `see_foreign_senders` opens
            // one only if none is open.
            self.receive_from(peer, Box::new(unsafe { Consumer::of_foreign_sender(ring) }));
            peer
        });
        self.sender_rings.push(SenderRing { foreign_sender, peer });
        true
    }

    /// Closes the ring of a foreign sender that has left; `false` while it still has packets.
    fn close_sender_ring(&mut self, node: &NodeMemory, index: usize) -> bool {
        let SenderRing { foreign_sender, peer, .. } = self.sender_rings[index];
        if node.segment().foreign_sender(foreign_sender).phase() != Phase::Left {
            return true;
        }
        if peer.is_some_and(|peer| self.next(peer).is_some()) {
            return false;
        }
        if let Some(peer) = peer {
            self.receive_no_more_from(peer);
        }
        self.sender_rings.swap_remove(index);
        let (segment, me) = (node.segment(), node.slot().index());
        let cleared = segment.clear(segment.layout().foreign_ring(foreign_sender, me));
        segment.foreign_bits(me)[foreign_sender / 64].fetch_and(!(1 << (foreign_sender % 64)), AcqRel);
        // A ring that cannot be reset is never used again.
        if cleared {
            segment.foreign_sender(foreign_sender).give_up_share();
        }
        true
    }

    /// Searches for far processes that have ended or aborted, or sent something that is no packet;
    /// returns all of them.
    pub fn find_ended(&self, tx: &mut Outgoing) -> Vec<(Peer, Ended)> {
        #[cfg_attr(not(feature = "sim"), expect(unused_mut, reason = "far processes without memory in common"))]
        let mut ended = tx.node_mut().find_ended(|peer| self.is_ring_broken(peer));
        #[cfg(feature = "sim")]
        ended.extend(tx.find_dead_far().into_iter().map(|peer| (peer, Ended::Died)));
        ended
    }

    // ---- disconnecting ----

    /// Leaves the jobs of which the caller names no process any more; returns those that were reached
    /// over TCP.
    pub fn leave_jobs(&mut self, tx: &mut Outgoing, is_named: impl Fn(Peer) -> bool) -> Vec<JobId> {
        // Foreign senders whose processes died never say that they leave.
        self.sender_rings.iter().for_each(|visit| dismiss_if_dead(tx.node().segment(), visit.foreign_sender));
        let barrier = tx.node().barrier();
        let ForeignProcesses { peers, jobs, .. } = &mut *tx.node_mut().foreign;
        let named: Vec<JobId> = peers.iter().filter(|(_, peer)| is_named(**peer)).map(|(id, _)| id.job).collect();
        let (mut left, mut networked) = (Vec::new(), Vec::new());
        for (id, job) in jobs.iter_mut().filter(|(id, _)| !named.contains(id)) {
            match job {
                Job::Memory { segment, visit } => {
                    let Some((foreign_sender, rings)) = visit.take() else { continue };
                    announce_departure(segment, foreign_sender, std::process::id(), barrier);
                    left.push((*id, rings));
                }
                Job::Network { left } if !*left => {
                    *left = true;
                    networked.push(*id);
                }
                Job::Network { .. } => {}
            }
        }
        let peers: Vec<(ProcessId, Peer)> = peers.iter().map(|(&id, &peer)| (id, peer)).collect();
        // The rings are unmapped when nothing here sends into them any more.
        for (id, _) in &left {
            let gone = peers.iter().filter(|(process, _)| process.job == *id);
            gone.for_each(|&(_, peer)| tx.close(peer));
        }
        for &id in &networked {
            tx.watch_no_more(id);
            let gone = peers.iter().filter(|(process, _)| process.job == id);
            gone.for_each(|&(_, peer)| tx.say_bye(peer));
        }
        networked
    }

    /// Drops jobs that this process has left, once their foreign senders have left, too, or their
    /// links are over, and the caller holds nothing of them. Returns their peers, which may name other
    /// processes later.
    pub fn drop_deserted(&mut self, tx: &mut Outgoing, is_held: impl Fn(Peer) -> bool) -> Vec<Peer> {
        let ForeignProcesses { peers, jobs, .. } = &*tx.node().foreign;
        let mut freed = Vec::new();
        let mut gone = Vec::new();
        for (id, job) in jobs.iter().filter(|(_, job)| job.has_been_left()) {
            let of_job = || peers.iter().filter(|(process, _)| process.job == *id).map(|(_, &peer)| peer);
            let in_use = match job {
                Job::Memory { .. } => {
                    let mut visitors = self.sender_rings.iter().filter_map(|visit| visit.peer);
                    visitors.any(|visitor| of_job().any(|peer| peer == visitor))
                }
                Job::Network { .. } => of_job().any(|peer| !tx.is_link_over(peer)),
            };
            if !in_use && !of_job().any(&is_held) {
                freed.extend(of_job());
                gone.push(*id);
            }
        }
        let node = tx.node_mut();
        gone.iter().for_each(|id| drop(node.foreign.jobs.remove(id)));
        node.foreign.peers.retain(|_, peer| !freed.contains(peer));
        for &peer in &freed {
            if let Some(index) = tx.node().place(peer) {
                let ForeignProcesses { known, spent, .. } = &mut *tx.node_mut().foreign;
                if known[index].take().is_some_and(|known| known.ended == Some(Ended::Died)) {
                    spent.insert(index);
                }
            }
            tx.forget(peer);
            self.forget(peer);
        }
        freed
    }
}

/// Takes a slot among the foreign senders of a segment, and maps its rings.
fn make_visit(segment: &Segment, own: ProcessId) -> io::Result<(usize, Arc<Mapping>)> {
    let pid = std::process::id();
    let find = || (0..FOREIGN_SENDERS).find(|&foreign_sender| segment.foreign_sender(foreign_sender).claim(pid, own));
    let mut found = find();
    if found.is_none() {
        (0..FOREIGN_SENDERS).for_each(|foreign_sender| dismiss_if_dead(segment, foreign_sender));
        found = find();
    }
    let Some(foreign_sender) = found else {
        return Err(io::Error::other(format!(
            "{FOREIGN_SENDERS} processes of other jobs are connected with it already"
        )));
    };
    // A foreign sender may need a CPU like the ranks.
    segment.header().awake.fetch_add(1, Relaxed);
    let rings = Mapping::new(segment, segment.layout().foreign_rings(foreign_sender))
        .inspect_err(|_| announce_departure(segment, foreign_sender, pid, wait::WakeFence::Symmetric))?;
    Ok((foreign_sender, Arc::new(rings)))
}

fn dismiss_if_dead(segment: &Segment, foreign_sender: usize) {
    let (found, pid) = (segment.foreign_sender(foreign_sender), segment.foreign_sender(foreign_sender).pid());
    if matches!(found.phase(), Phase::Present | Phase::Taken) && !lifeline::process_lives(pid) {
        announce_departure(segment, foreign_sender, pid, wait::WakeFence::Symmetric);
    }
}

/// Tells the ranks of a segment that a foreign sender leaves.
fn announce_departure(segment: &Segment, foreign_sender: usize, pid: u32, barrier: wait::WakeFence) {
    if !segment.foreign_sender(foreign_sender).leave(pid) {
        return;
    }
    segment.header().awake.fetch_sub(1, Relaxed);
    for rank in 0..segment.ranks() {
        if segment.foreign_bits(rank)[foreign_sender / 64].load(Acquire) & 1 << (foreign_sender % 64) != 0 {
            segment.foreign_bell(rank).fetch_add(1, Release);
            wait::wake(segment.header(), segment.rank(rank), barrier);
        }
    }
    segment.foreign_sender(foreign_sender).give_up_share();
}

fn no_such_slot() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "its job has no such process")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::Links;
    use crate::packet::Head;
    use std::os::fd::AsRawFd;

    /// A job of one rank, held by this process.
    fn job() -> Links {
        let (_, segment) = Segment::create(1, 1).unwrap();
        let inode = lifeline::inode(segment.file()).unwrap();
        let id = JobId::here(inode, std::process::id(), segment.file().as_raw_fd() as u32);
        Links::attach(segment, id, Slot::new(0).unwrap()).unwrap()
    }

    const HEAD: Head = Head { kind: 1, flags: 0, context: 8, tag: 3, source: 5, aux: 0 };

    fn receive(links: &mut Links, peer: Peer) -> Option<u64> {
        let packet = links.rx.next(peer)?;
        assert_eq!(packet.head(), HEAD);
        let word = packet.word(2);
        let size = packet.size();
        links.rx.pop(peer, size, links.tx.node());
        Some(word)
    }

    #[test]
    fn two_jobs_connect_disconnect_and_connect_again() {
        let (mut a, mut b) = (job(), job());
        for turn in 0..20 {
            let to_b = a.tx.node_mut().peer_at(b.node().own_id()).unwrap();
            assert_eq!(to_b, Peer::far(1), "the index is used again");
            assert_eq!(a.node().id_of(to_b), b.node().own_id());
            assert!(to_b.is_far());
            assert!(!b.rx.has_foreign_news(b.tx.node()));
            assert_eq!(a.tx.send_control(to_b, &HEAD, &[0, 0, turn, 0]), Ok(()));
            assert!(b.rx.has_foreign_news(b.tx.node()));
            b.rx.see_foreign_senders(b.tx.node_mut());
            assert!(!b.rx.has_foreign_news(b.tx.node()));
            let to_a = b.tx.node_mut().peer_at(a.node().own_id()).unwrap();
            assert_eq!(b.rx.senders(&mut b.tx), 1);
            assert_eq!(b.rx.sender(0), Some(to_a));
            assert_eq!(receive(&mut b, to_a), Some(turn));
            // The last packet of a sender that has left is still received.
            assert_eq!(a.tx.send_control(to_b, &HEAD, &[0, 0, 100 + turn, 0]), Ok(()));
            a.rx.leave_jobs(&mut a.tx, |_| false);
            b.rx.see_foreign_senders(b.tx.node_mut());
            assert!(b.rx.has_foreign_news(b.tx.node()), "it is to look again");
            assert_eq!(receive(&mut b, to_a), Some(100 + turn));
            b.rx.see_foreign_senders(b.tx.node_mut());
            assert!(!b.rx.has_foreign_news(b.tx.node()));
            assert_eq!(b.rx.senders(&mut b.tx), 0);
            assert_eq!(b.node().segment().foreign_sender(0).phase(), Phase::Free);
            assert!(b.rx.drop_deserted(&mut b.tx, |_| false).is_empty(), "it is a foreign_sender there");
            b.rx.leave_jobs(&mut b.tx, |_| false);
            assert!(b.rx.drop_deserted(&mut b.tx, |peer| peer == to_a).is_empty(), "it is held");
            assert_eq!(b.rx.drop_deserted(&mut b.tx, |_| false), [to_a]);
            a.rx.see_foreign_senders(a.tx.node_mut());
            assert_eq!(a.rx.drop_deserted(&mut a.tx, |_| false), [to_b]);
            assert!(!a.node().knows_foreign() && !b.node().knows_foreign());
        }
    }

    /// `b` leaves, but `a` has a reason to stay, and asks `b` again through the same ring.
    #[test]
    fn a_process_that_has_left_answers_one_that_has_not() {
        let (mut a, mut b) = (job(), job());
        let to_b = a.tx.node_mut().peer_at(b.node().own_id()).unwrap();
        assert_eq!(a.tx.send_control(to_b, &HEAD, &[0, 0, 1, 0]), Ok(()));
        b.rx.see_foreign_senders(b.tx.node_mut());
        let to_a = b.rx.sender(0).unwrap();
        assert_eq!(receive(&mut b, to_a), Some(1));
        b.rx.leave_jobs(&mut b.tx, |_| false);
        assert!(b.rx.drop_deserted(&mut b.tx, |_| false).is_empty(), "a is still there");
        assert_eq!(a.tx.send_control(to_b, &HEAD, &[0, 0, 2, 0]), Ok(()));
        assert_eq!(receive(&mut b, to_a), Some(2));
        assert_eq!(b.tx.send_control(to_a, &HEAD, &[0, 0, 3, 0]), Ok(()));
        a.rx.see_foreign_senders(a.tx.node_mut());
        assert_eq!(receive(&mut a, to_b), Some(3));
        a.rx.leave_jobs(&mut a.tx, |_| false);
        b.rx.leave_jobs(&mut b.tx, |_| false);
        for links in [&mut a, &mut b] {
            links.rx.see_foreign_senders(links.tx.node_mut());
            assert_eq!(links.rx.drop_deserted(&mut links.tx, |_| false).len(), 1);
            assert!(!links.node().knows_foreign());
        }
    }

    #[test]
    fn unreachable_processes_are_unknown() {
        let (mut a, b) = (job(), job());
        let nobody = ProcessId { slot: Slot::new(7).unwrap(), ..b.node().own_id() };
        assert!(a.tx.node_mut().peer_at(nobody).is_err());
        let gone = b.node().own_id();
        drop(b);
        assert!(a.tx.node_mut().peer_at(gone).is_err());
        assert!(!a.node().knows_foreign());
    }

    #[test]
    fn a_dead_foreign_sender_frees_its_slot() {
        let a = job();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let foreign_sender = a.node().segment().foreign_sender(3);
        assert!(foreign_sender.claim(child.id(), a.node().own_id()));
        dismiss_if_dead(a.node().segment(), 3);
        assert_eq!(foreign_sender.phase(), Phase::Free);
        assert!(foreign_sender.claim(std::process::id(), a.node().own_id()));
        dismiss_if_dead(a.node().segment(), 3);
        assert_eq!(foreign_sender.phase(), Phase::Present);
    }
}
