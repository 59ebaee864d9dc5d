//! Which ranks can end a wait: the obligation of each [`Waiting`](super::Waiting) that describes itself is to name all ranks
//! of which an action can end it, or let it go a step further. To name more is allowed; a deadlock is then found later, when
//! those wait or have ended, too. A wait that does not say may be ended by anything.

use crate::agreement::Agreement;
use crate::collective::{Background, Run};
use crate::engine::{OpId, Pending};
use crate::matching::Pattern;
use crate::partitioned;
use crate::process::Process;
use crate::request::{Active, Body};
use oxmpi_abi::constants::MPI_ANY_SOURCE;
use oxmpi_abi::handle::Request;
use oxmpi_base::ids::{Peer, Rank};
use oxmpi_base::rest_record::RANGES;

/// With more requests than this, all messages that are under way are looked at instead of each request's.
const MOST_REQUESTS: usize = 64;

/// The processes that a wait needs.
#[derive(Default)]
pub struct Needs {
    peers: Vec<Peer>,
    unknown: bool,
}

impl Needs {
    /// Anything may end the wait.
    pub fn unknown(&mut self) {
        self.unknown = true;
    }

    /// This process can end the wait.
    pub fn peer(&mut self, peer: Peer) {
        self.peers.push(peer);
    }

    /// All of these can.
    pub fn peers(&mut self, peers: impl IntoIterator<Item = Peer>) {
        peers.into_iter().for_each(|peer| self.peer(peer));
    }

    /// The ranges of ranks, without the own one: this thread sleeps. `None` if anything may end the wait, also a process that
    /// has no rank here: nobody sees what processes of other jobs do.
    pub fn ranges(self, own: u32, rank_of: impl Fn(Peer) -> Option<u32>) -> Option<Vec<(u32, u32)>> {
        if self.unknown {
            return None;
        }
        let mut ranks: Vec<u32> = self.peers.into_iter().map(rank_of).collect::<Option<_>>()?;
        ranks.sort_unstable();
        ranks.dedup();
        ranks.retain(|&rank| rank != own);
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for rank in ranks {
            match ranges.last_mut() {
                Some((first, count)) if *first + *count == rank => *count += 1,
                _ => ranges.push((rank, 1)),
            }
        }
        while ranges.len() > RANGES {
            // The two with the smallest gap become one: too many ranks are no mistake.
            let gap = |pair: &[(u32, u32)]| pair[1].0 - (pair[0].0 + pair[0].1);
            let at = (0..ranges.len() - 1).min_by_key(|&at| gap(&ranges[at..at + 2])).unwrap_or(0);
            let (first, count) = ranges.remove(at + 1);
            ranges[at].1 = first + count - ranges[at].0;
        }
        Some(ranges)
    }
}

impl Process {
    /// A receive of the program's, or a probe.
    pub(super) fn pattern_needs(&self, pattern: &Pattern, needs: &mut Needs) {
        let comm = self.comm_of(pattern.context).filter(|comm| comm.context == pattern.context);
        match (comm, usize::try_from(pattern.source)) {
            (Some(comm), Ok(rank)) if rank < comm.group.len() => needs.peer(comm.group.peer(Rank::new(rank))),
            (Some(comm), _) if pattern.source == MPI_ANY_SOURCE => needs.peers(comm.group.iter()),
            _ => needs.unknown(),
        }
    }

    /// A message of the program's.
    pub(super) fn operation_needs(&self, op: OpId, needs: &mut Needs) {
        match self.engine.pending(op) {
            Some(Pending::Send(route)) => needs.peer(route.peer),
            Some(Pending::Recv(pattern)) => self.pattern_needs(&pattern, needs),
            // Only another thread of this process can receive it.
            None if self.engine.is_to_itself(op) => {}
            None => needs.unknown(),
        }
    }

    pub(super) fn active_needs(&self, active: &Active, needs: &mut Needs) {
        match active {
            Active::Send(op) | Active::Recv(op) => self.operation_needs(*op, needs),
            Active::Exchange(exchange) => {
                let not_done = |op: &OpId| !self.engine.is_done(*op);
                let both = [exchange.send, exchange.recv].into_iter().flatten().filter(not_done);
                both.for_each(|op| self.operation_needs(op, needs));
            }
            Active::Flush(..) => needs.peers(self.engine.awaited_receivers()),
            // What the promise is of goes on in the background, which is always looked at.
            Active::Promise(_) => {}
            Active::Sending(sending) => match sending.receiver() {
                Some(peer) => needs.peer(peer),
                None => needs.unknown(),
            },
            Active::Receiving(receiving) => {
                let (context, rank) = partitioned::lock(receiving).sender();
                match self.comm_of(context).filter(|comm| rank < comm.group.len()) {
                    Some(comm) => needs.peer(comm.group.peer(Rank::new(rank))),
                    None => needs.unknown(),
                }
            }
            // As above: it is a task in the background.
            Active::File(_) => {}
            Active::Done(_) => needs.unknown(),
        }
    }

    pub(super) fn requests_needs(&self, requests: &[Request], needs: &mut Needs) {
        let is_many = requests.len() > MOST_REQUESTS;
        if is_many {
            needs.peers(self.engine.awaited_receivers());
            self.engine.posted_patterns().for_each(|pattern| self.any_pattern_needs(&pattern, needs));
        }
        for request in requests {
            match self.requests.get(request.0).map(|request| &request.body) {
                Some(Body::Once(Active::Send(_) | Active::Recv(_) | Active::Promise(_))) if is_many => {}
                Some(Body::Once(active) | Body::Persistent(_, Some(active))) => self.active_needs(active, needs),
                // Null, or inactive: nothing to wait for.
                None | Some(Body::Persistent(_, None)) => {}
                Some(Body::Sent | Body::Generalized(_)) => needs.unknown(),
            }
        }
    }

    /// A receive of the program's or the library's: all members of its communicator.
    pub(super) fn any_pattern_needs(&self, pattern: &Pattern, needs: &mut Needs) {
        match self.comm_of(pattern.context) {
            Some(comm) => needs.peers(comm.group.iter().chain(comm.local_group().iter())),
            None => needs.unknown(),
        }
    }

    /// A collective operation by messages.
    pub(super) fn run_needs(&self, run: &Run, needs: &mut Needs) {
        for op in run.operations().filter(|op| !self.engine.is_done(*op)) {
            match self.engine.pending(op) {
                Some(Pending::Send(route)) => needs.peer(route.peer),
                Some(Pending::Recv(pattern)) => match run.stage().sender(&pattern) {
                    Some(peer) => needs.peer(peer),
                    None => needs.unknown(),
                },
                None if self.engine.is_to_itself(op) => {}
                None => needs.unknown(),
            }
        }
    }

    /// An agreement.
    pub(super) fn agreement_needs<T>(&self, agreement: &Agreement<T>, needs: &mut Needs) {
        match self.awaited_by(agreement) {
            Some((peer, _)) => needs.peer(peer),
            None if agreement.is_sending() => needs.peers(self.engine.awaited_receivers()),
            None => needs.unknown(),
        }
    }

    /// What goes on while the program waits for something else: it may pass data on to ranks that wait.
    pub(super) fn background_needs(&self, needs: &mut Needs) {
        for run in self.runs() {
            match run {
                Background::Plan(run) => self.run_needs(run, needs),
                Background::Board(_) => {
                    let stage = run.stage();
                    needs.peers(stage.group.iter().chain(stage.local.iter()));
                }
            }
        }
        self.pending_comms.iter().for_each(|pending| self.agreement_needs(&pending.agreement, needs));
        // Of the accesses that share the memory of a file, only the first one goes on. One that waits for a system call, not for
        // a message, ends by itself.
        let mut in_turn = Vec::new();
        for task in &self.file_tasks.list {
            if !task.buffered || !in_turn.contains(&task.access.file) {
                self.agreement_needs(&task.agreement, needs);
            }
            if task.buffered {
                in_turn.push(task.access.file);
            }
        }
        if self.wants_calls() {
            needs.unknown();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With ranks that are slots.
    fn ranges(slots: impl IntoIterator<Item = usize>, own: u32) -> Option<Vec<(u32, u32)>> {
        let mut needs = Needs::default();
        needs.peers(slots.into_iter().map(Peer::at_slot));
        needs.ranges(own, |peer| Some(peer.slot()?.index() as u32))
    }

    #[test]
    fn ranks_become_ranges_without_the_own_one() {
        assert_eq!(ranges([3, 1, 2, 3, 7], 9), Some(vec![(1, 3), (7, 1)]));
        assert_eq!(ranges([4], 4), Some(vec![]));
        assert_eq!(ranges(0..5, 2), Some(vec![(0, 2), (3, 2)]));
        let mut stranger = Needs::default();
        stranger.peer(Peer::far(1));
        assert_eq!(stranger.ranges(0, |_| None), None);
        let mut unknown = Needs::default();
        unknown.unknown();
        assert_eq!(unknown.ranges(0, |_| Some(1)), None);
    }

    #[test]
    fn too_many_ranges_are_joined_to_more_ranks() {
        let slots: Vec<usize> = (0..100).map(|index| index * 3).collect();
        let found = ranges(slots.iter().copied(), 500).unwrap();
        assert_eq!(found.len(), RANGES);
        let has = |slot: usize| found.iter().any(|&(first, count)| (first..first + count).contains(&(slot as u32)));
        assert!(slots.into_iter().all(has));
    }
}
