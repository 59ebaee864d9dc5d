//! The collective calls of this process and the records of others, for `--check` (`check/calls.rs`).

use super::Process;
use crate::check;
use crate::check::calls::{CallRecord, Facts, MOST_EARLY, Open, Own, compare};
use oxmpi_abi::handle::Comm;
use oxmpi_base::ids::{Peer, Rank};
use oxmpi_check::Finding;
use oxmpi_check::catalogue::COLL_CALL;
use oxmpi_transport::CALL_RECORD;
use oxmpi_transport::transfer::Control;
use std::collections::{BTreeMap, BTreeSet};

impl Process {
    /// This rank makes a collective call on a communicator of one group, as `number` among them.
    #[cold]
    pub fn note_collective(&mut self, handle: Comm, own: Own) {
        self.forget_copies();
        let Ok(comm) = self.comm_mut(handle) else { return };
        let (context, rank, size) = (comm.context, comm.rank as u32, comm.size() as usize);
        comm.calls.checked = comm.calls.checked.wrapping_add(1);
        let number = comm.calls.checked;
        if size < 2 {
            return;
        }
        let record = CallRecord { from: Peer::at_slot(0), context, number, rank, facts: own.facts, is_block: false };
        let name = comm.describe();
        let mut to: Vec<(Peer, CallRecord)> = Vec::new();
        if rank != 0 {
            to.push((comm.group.peer(Rank::new(0)), record));
        }
        for &(other, data) in own.sent.iter().filter(|(other, _)| *other != rank) {
            let facts = Facts { data, ..own.facts };
            to.push((comm.group.peer(Rank::new(other as usize)), CallRecord { facts, is_block: true, ..record }));
        }
        for (peer, record) in to {
            self.engine.tell_record(peer, Control::new(CALL_RECORD, record.words()));
        }
        let blocks = own.expected.keys().filter(|&&other| other != rank).count();
        let left = blocks + if rank == 0 { size - 1 } else { 0 };
        if left > 0 {
            self.call_table
                .open
                .insert((context, number), Open { own, comm: name, size, left, heard: BTreeSet::new() });
        }
        self.engine.progress();
        self.compare_collectives();
    }

    /// Compares the records that have arrived.
    #[cold]
    pub fn compare_collectives(&mut self) {
        // A rank that sends more than can be kept is compared no further.
        let room = MOST_EARLY.saturating_sub(self.call_table.early.len());
        self.call_table.early.extend(self.engine.take_call_records().into_iter().take(room));
        for record in std::mem::take(&mut self.call_table.early) {
            let key = (record.context, record.number);
            let Some(open) = self.call_table.open.get_mut(&key) else {
                self.call_table.early.push(record);
                continue;
            };
            open.left = open.left.saturating_sub(1);
            if !record.is_block {
                open.heard.insert(record.rank);
            }
            if (record.rank as usize) < open.size && !self.call_table.differed.contains(&record.context) {
                let found = compare(open, &record);
                if let Some((entry, text)) = found {
                    if entry.name == COLL_CALL.name {
                        self.call_table.differed.push(record.context);
                    }
                    let rank = self.engine.node().nodes().rank_of(record.from).map(|rank| rank.index());
                    check::tell_finding(self.engine.node(), Finding { rank, ..Finding::new(entry, text) }, None);
                }
            }
            if self.call_table.open.get(&key).is_some_and(|open| open.left == 0) {
                self.call_table.open.remove(&key);
            }
        }
    }

    /// A communicator is freed: its context may come again.
    pub fn forget_collectives(&mut self, context: u32) {
        self.compare_collectives();
        let table = &mut self.call_table;
        table.open.retain(|(of, _), _| *of != context);
        table.differed.retain(|of| *of != context);
        table.freed.insert(context);
    }

    /// Tells calls that only some ranks have made. Every record has arrived.
    pub(crate) fn tell_missing_calls(&mut self) {
        let is_told =
            |context: &u32| !self.call_table.differed.contains(context) && !self.call_table.freed.contains(context);
        let mut found: BTreeMap<(u32, u32), String> = BTreeMap::new();
        for ((context, number), open) in self.call_table.open.iter().filter(|((context, _), _)| is_told(context)) {
            let is_first = self.comm_of(*context).is_some_and(|comm| comm.rank == 0);
            let missing = (1..open.size as u32).filter(|rank| is_first && !open.heard.contains(rank));
            for rank in missing {
                let (name, comm) = (open.own.facts.name(), &open.comm);
                found.entry((*context, rank)).or_insert_with(|| {
                    format!(
                        "never made collective call {number} on {comm}, which is {name} on rank 0 of the communicator"
                    )
                });
            }
        }
        for record in self.call_table.early.iter().filter(|record| !record.is_block && is_told(&record.context)) {
            let Some(comm) = self.comm_of(record.context).map(|comm| comm.describe()) else { continue };
            found.entry((record.context, record.rank)).or_insert_with(|| {
                let name = record.facts.name();
                format!(
                    "called {name} as collective call {} on {comm}, which rank 0 of the communicator never made",
                    record.number
                )
            });
        }
        for ((context, rank), text) in found {
            let peer = self.comm_of(context).map(|comm| comm.group.peer(Rank::new(rank as usize)));
            let rank = peer.and_then(|peer| self.engine.node().nodes().rank_of(peer)).map(|rank| rank.index());
            check::tell_finding(self.engine.node(), Finding { rank, ..Finding::new(&COLL_CALL, text) }, None);
        }
    }
}
