//! Deaths among the ranks of the job, and contexts that were revoked, as far as this process has handled them.
//! Both stand in the segment (`oxmpi_base::death_log`), where `mpirun` and the ranks write them.

use crate::foreign::Ended;
use crate::node_memory::NodeMemory;
use oxmpi_base::death_log::{Death, End, Revoking, Who};
use oxmpi_base::ids::{NodeId, Peer, Slot, WorldRank};
use std::collections::BTreeSet;
use std::sync::Arc;

impl NodeMemory {
    /// Whether there are deaths or revoked contexts that this process has not handled.
    pub fn has_news(&self) -> bool {
        self.segment().deaths() > self.handled.deaths || self.segment().revoked(self.handled.revoked).is_some()
    }

    /// The deaths that this process has not handled, in the order of the log. From now on they are known.
    pub fn take_deaths(&mut self) -> Vec<(Peer, Ended)> {
        let (known, all) = (self.handled.deaths, self.segment().deaths());
        let new: Vec<Death> = (known..all).filter_map(|index| self.segment().death(index)).collect();
        if self.handled.ends.is_empty() && !new.is_empty() {
            self.handled.ends = vec![None; self.ranks()].into();
        }
        self.handled.deaths = all;
        let mut taken = Vec::with_capacity(new.len());
        for Death { who, end, .. } in new {
            let ended = if end == End::Failed { Ended::Died } else { Ended::Finalized };
            let peer = match who {
                Who::Here(slot) => {
                    self.handled.ends[slot] = Some(ended);
                    self.peer_in_slot(slot)
                }
                Who::Elsewhere(rank) => match WorldRank::new(rank).filter(|rank| rank.index() < self.nodes().size()) {
                    Some(rank) => self.nodes().peer(rank),
                    None => continue,
                },
            };
            if peer.is_far() {
                self.handled.far.insert(peer, ended);
            }
            taken.push((peer, ended));
        }
        taken
    }

    /// Where a process stands in the log of its job, and whether it has failed; `None` also for one whose log is not here.
    pub fn end_in_log(&self, peer: Peer) -> Option<(usize, bool)> {
        let found = match (self.home(peer), self.nodes().rank_of(peer)) {
            (Some((segment, slot)), _) => segment.end_of(Who::Here(slot.index())),
            (None, Some(rank)) => self.segment().end_of(Who::Elsewhere(rank.index())),
            (None, None) => None,
        };
        found.map(|(place, end)| (place, end == End::Failed))
    }

    /// How many deaths stand in the log of the own job.
    pub fn deaths(&self) -> usize {
        self.segment().deaths()
    }

    /// Tells `mpirun` that this process does nothing any more to those whose deaths it has taken.
    pub fn confirm_deaths(&self) {
        self.segment().has_seen(self.slot().index(), self.handled.deaths);
    }

    /// Tells whether a process of a list has ended, for code that does not know this node. Only those of the own job are known.
    pub fn ends_of(&self, members: impl Iterator<Item = Peer>) -> Box<dyn Fn(usize) -> bool + Send + Sync> {
        let segment = self.shared_segment();
        let who = |member: Peer| match member.slot() {
            Some(slot) => Some(Who::Here(slot.index())),
            None => self.nodes().rank_of(member).map(|rank| Who::Elsewhere(rank.index())),
        };
        let members: Vec<Option<Who>> = members.map(who).collect();
        Box::new(move |index| members[index].is_some_and(|who| segment.end_of(who).is_some()))
    }

    /// Tells whether all processes of another node of the job have ended, for code that does not know this node.
    pub fn deserted_nodes(&self) -> Arc<dyn Fn(u32) -> bool + Send + Sync> {
        let (segment, nodes) = (self.shared_segment(), Arc::clone(self.nodes()));
        Arc::new(move |node| {
            let slots = (0..).map_while(Slot::new);
            let mut ranks = slots.map_while(|slot| nodes.world_rank(NodeId::new(node), slot));
            segment.deaths() > 0 && ranks.all(|rank| segment.end_of(Who::Elsewhere(rank.index())).is_some())
        })
    }

    /// The contexts that were revoked since the last call.
    pub fn take_revoked(&mut self) -> Vec<u32> {
        let mut taken = Vec::new();
        while let Some(context) = self.segment().revoked(self.handled.revoked) {
            self.handled.revoked += 1;
            taken.push(context);
        }
        taken
    }

    /// Revokes a context for some processes, and wakes them. Each job has a table of its own. `false` if one of them has no room.
    pub fn revoke(&self, context: u32, members: impl Iterator<Item = Peer>) -> bool {
        let mut has_room = true;
        let mut jobs = BTreeSet::new();
        let members: Vec<Peer> = members.collect();
        for &member in &members {
            let Some((segment, _)) = self.home(member) else { continue };
            if !jobs.insert(self.id_of(member).job) {
                continue;
            }
            has_room &= segment.revoke(context) != Revoking::NoRoom;
            let job = self.id_of(member).job;
            let of_job = members.iter().filter(|other| self.id_of(**other).job == job);
            let slots: Vec<usize> =
                of_job.filter_map(|other| self.home(*other)).map(|(_, slot)| slot.index()).collect();
            segment.ring_and_wake(slots.into_iter());
        }
        has_room
    }
}
