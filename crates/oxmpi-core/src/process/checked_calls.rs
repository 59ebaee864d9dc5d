//! The collective calls of this process and the records of others, for `--check` (`check/calls.rs`).

use super::Process;
use crate::check;
use crate::check::calls::{
    ANY_ROOT, CallRecord, Facts, Kept, MOST_EARLY, Open, Own, compare, name_of_call, number_of_start,
};
use crate::check::order::Crossed;
use crate::comm::Comm as Communicator;
use crate::ranks::Ranks;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Comm, File};
use oxmpi_base::callers::{CALLERS, callers};
use oxmpi_base::ids::{Peer, Rank};
use oxmpi_check::Finding;
use oxmpi_check::catalogue::{COLL_CALL, COLL_ORDER};
use oxmpi_transport::CALL_RECORD;
use oxmpi_transport::transfer::Control;
use std::collections::{BTreeMap, BTreeSet};

impl Process {
    /// This rank makes a collective call on a communicator, as `number` among them.
    #[cold]
    pub fn note_collective(&mut self, handle: Comm, own: Own) {
        let Ok(comm) = self.comm_mut(handle) else { return };
        comm.calls.checked = comm.calls.checked.wrapping_add(1);
        let (made, fun, who) = (comm.calls.checked, own.facts.fun, Members::of(comm, comm.describe()));
        self.call_table.last = Some(Kept { comm: handle, fun, made, starts: 0 });
        self.note_call(who, made, own);
    }

    /// This rank makes a collective call on a file.
    #[cold]
    pub fn note_file_call(&mut self, fh: File, fun: Fun) {
        let Ok(file) = self.file_mut(fh) else { return };
        file.comm.calls.checked = file.comm.calls.checked.wrapping_add(1);
        let (number, who) = (file.comm.calls.checked, Members::of(&file.comm, file.describe()));
        self.note_call(who, number, Own::without_data(fun));
    }

    /// A persistent request has got its handle.
    #[cold]
    pub(crate) fn keep_call(&mut self, handle: usize, fun: Fun) {
        if let Some(last) = self.call_table.last.take().filter(|last| last.fun == fun.without_large_counts() as u16) {
            self.call_table.kept.insert(handle, last);
        }
    }

    /// A persistent request was started.
    #[cold]
    pub fn note_start(&mut self, handle: usize) {
        let Some(kept) = self.call_table.kept.get_mut(&handle) else { return };
        kept.starts = kept.starts.saturating_add(1);
        let (comm, number) = (kept.comm, number_of_start(kept.made, kept.starts));
        let own = Fun::from_u16(kept.fun).map(Own::without_data);
        if let (Some(number), Some(own), Ok(comm)) = (number, own, self.comm(comm)) {
            let who = Members::of(comm, comm.describe());
            self.note_call(who, number, own);
        }
    }

    /// A file is about to be closed. All ranks have come, and on one host their records with them.
    #[cold]
    pub fn end_file_calls(&mut self, fh: File) {
        let Ok(context) = self.file(fh).map(|file| file.comm.context) else { return };
        if !self.engine.has_network() {
            self.engine.drain_all();
            self.compare_collectives();
            self.tell_missing_calls(|of| of == context);
        }
        self.forget_collectives(context);
    }

    fn note_call(&mut self, who: Members, number: u32, own: Own) {
        self.forget_copies();
        let Members { context, rank, size, group, name } = who;
        // Where a failure or a revocation ends calls, those of some ranks fail and those of others do not.
        if size < 2 || self.engine.node().goes_on() {
            return;
        }
        let (from, facts) = (Peer::at_slot(0), own.facts);
        let record = CallRecord { from, context, number, rank, facts, is_block: false, is_order: false };
        let mut to: Vec<(Peer, CallRecord)> = Vec::new();
        let before = self.call_table.orders.note((context, number), facts.fun, &name);
        if rank != 0 {
            let first = group.peer(Rank::new(0));
            to.push((first, record));
            let order = |data| CallRecord { facts: Facts { data, ..facts }, is_order: true, ..record };
            to.extend(before.map(|data| (first, order(data))));
        }
        for &(other, data) in own.sent.iter().filter(|(other, _)| *other != rank) {
            let facts = Facts { data, ..own.facts };
            to.push((group.peer(Rank::new(other as usize)), CallRecord { facts, is_block: true, ..record }));
        }
        for (peer, record) in to {
            self.engine.tell_record(peer, Control::new(CALL_RECORD, record.words()));
        }
        let blocks = own.expected.keys().filter(|&&other| other != rank).count();
        let left = blocks + if rank == 0 { size - 1 } else { 0 };
        if left > 0 {
            let (heard, callers) = (BTreeSet::new(), callers());
            self.call_table.open.insert((context, number), Open { own, comm: name, size, rank, left, heard, callers });
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
            if record.is_order {
                self.call_table.orders.hear(&record);
                continue;
            }
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
                let (found, callers) = (compare(open, &record), Some(open.callers));
                if open.own.facts.root == ANY_ROOT {
                    open.own.facts.root = record.facts.root;
                }
                if let Some((entry, text)) = found {
                    if entry.name == COLL_CALL.name {
                        self.call_table.differed.push(record.context);
                    }
                    let rank = self.engine.node().nodes().rank_of(record.from).map(|rank| rank.index());
                    check::tell_finding(self.engine.node(), Finding { rank, ..Finding::new(entry, text) }, callers);
                }
            }
            if self.call_table.open.get(&key).is_some_and(|open| open.left == 0) {
                self.call_table.open.remove(&key);
            }
        }
        self.tell_crossed_calls();
    }

    /// Tells calls on two communicators that another rank has made in another order.
    fn tell_crossed_calls(&mut self) {
        for Crossed { from, first, second } in self.call_table.orders.take_crossed() {
            let differed = &self.call_table.differed;
            if differed.contains(&first.place.0) || differed.contains(&second.place.0) {
                continue;
            }
            let name = |fun: u16| Fun::from_u16(fun).map_or("a function", Fun::name);
            let text = format!(
                "called {} ({} on {}) before {} ({} on {}); rank 0 of the latter communicator called them the other way round",
                name(first.fun),
                name_of_call(first.place.1),
                first.on,
                name(second.fun),
                name_of_call(second.place.1),
                second.on
            );
            let rank = self.engine.node().nodes().rank_of(from).map(|rank| rank.index());
            check::tell_finding(self.engine.node(), Finding { rank, ..Finding::new(&COLL_ORDER, text) }, None);
        }
    }

    /// A communicator or file is gone. Records of its last calls may still come.
    pub fn forget_collectives(&mut self, context: u32) {
        self.compare_collectives();
        self.call_table.freed.insert(context);
        if self.call_table.open.len() > MOST_EARLY {
            let freed = &self.call_table.freed;
            self.call_table.open.retain(|(of, _), _| !freed.contains(of));
        }
    }

    /// The context of a communicator that is gone is used again.
    pub(crate) fn renew_collectives(&mut self, context: u32) {
        let table = &mut self.call_table;
        if table.freed.remove(&context) {
            table.open.retain(|(of, _), _| *of != context);
            table.orders.forget(context);
            table.differed.retain(|of| *of != context);
        }
    }

    /// Tells calls that only some ranks have made. Every record has arrived.
    pub(crate) fn tell_missing_calls(&mut self, is_meant: impl Fn(u32) -> bool) {
        let is_told = |context: &u32| {
            let table = &self.call_table;
            is_meant(*context) && !table.differed.contains(context) && !table.freed.contains(context)
        };
        let mut found: BTreeMap<(u32, u32), Missing> = BTreeMap::new();
        for ((context, number), open) in self.call_table.open.iter().filter(|((context, _), _)| is_told(context)) {
            let is_first =
                self.comm_of(*context).is_some_and(|comm| comm.rank == 0 && (comm.is_first || !comm.is_inter()));
            let missing = (1..open.size as u32).filter(|rank| is_first && !open.heard.contains(rank));
            for rank in missing {
                let (name, comm) = (open.own.facts.name(), &open.comm);
                found.entry((*context, rank)).or_insert_with(|| {
                    let number = name_of_call(*number);
                    let text = format!("never made {number} on {comm}, which is {name} on rank 0 of the communicator");
                    (text, Some(open.callers))
                });
            }
        }
        for record in self.call_table.early.iter().filter(|record| !record.is_block && is_told(&record.context)) {
            let Some(comm) = self.name_of(record.context) else { continue };
            found.entry((record.context, record.rank)).or_insert_with(|| {
                let name = record.facts.name();
                let number = name_of_call(record.number);
                let text = format!("called {name} as {number} on {comm}, which rank 0 of the communicator never made");
                (text, None)
            });
        }
        for ((context, rank), (text, callers)) in found {
            let peer = self.comm_of(context).map(|comm| comm.everybody().peer(Rank::new(rank as usize)));
            let rank = peer.and_then(|peer| self.engine.node().nodes().rank_of(peer)).map(|rank| rank.index());
            check::tell_finding(self.engine.node(), Finding { rank, ..Finding::new(&COLL_CALL, text) }, callers);
        }
    }

    /// The communicator or file of a context, in words.
    fn name_of(&self, context: u32) -> Option<String> {
        let file = self.files.iter().find(|(_, file)| file.comm.context == context).map(|(_, file)| file.describe());
        file.or_else(|| self.comm_of(context).map(|comm| comm.describe()))
    }
}

/// What is said about a call that only some ranks have made, and where it was made here.
type Missing = (String, Option<[u64; CALLERS]>);

/// Those who make a call together.
struct Members {
    context: u32,
    rank: u32,
    size: usize,
    group: Ranks,
    /// What the call is on, in words.
    name: String,
}

impl Members {
    fn of(comm: &Communicator, name: String) -> Members {
        let group = comm.everybody();
        // The group of this process may come behind the other one.
        let before = if comm.is_inter() && !comm.is_first { comm.group.len() } else { 0 };
        Members { context: comm.context, rank: comm.rank as u32 + before as u32, size: group.len(), group, name }
    }
}
