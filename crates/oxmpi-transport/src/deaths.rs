//! Deaths among the ranks of the job on this node, and contexts that were revoked, as far as this process has handled them.
//! Both stand in the segment (`oxmpi_base::death_log`), where `mpirun` and the ranks write them.

use crate::foreign::Ended;
use crate::node_memory::NodeMemory;
use oxmpi_base::death_log::{Death, End, Revoking};
use oxmpi_base::ids::Peer;
use std::collections::BTreeSet;

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
        for Death { slot, end, .. } in new {
            let ended = if end == End::Failed { Ended::Died } else { Ended::Finalized };
            self.handled.ends[slot] = Some(ended);
            taken.push((self.peer_in_slot(slot), ended));
        }
        taken
    }

    /// Tells `mpirun` that this process does nothing any more to those whose deaths it has taken.
    pub fn confirm_deaths(&self) {
        self.segment().has_seen(self.slot().index(), self.handled.deaths);
    }

    /// Tells whether a process of a list has ended, for code that does not know this node. Only those of the own job are known.
    pub fn ends_of(&self, members: impl Iterator<Item = Peer>) -> Box<dyn Fn(usize) -> bool + Send + Sync> {
        let segment = self.shared_segment();
        let slots: Vec<Option<usize>> = members.map(|member| member.slot().map(|slot| slot.index())).collect();
        Box::new(move |index| slots[index].is_some_and(|slot| segment.has_ended(slot)))
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
