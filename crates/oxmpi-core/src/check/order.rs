//! Blocking collective calls on several communicators, in different orders on two ranks: each waits for the other where the
//! calls synchronise. A rank whose last blocking call was on another communicator tells that to the first rank of this one,
//! which has perhaps made both calls too.

use super::calls::{CallRecord, Data, Facts};
use oxmpi_abi::functions::Fun;
use oxmpi_base::ids::Peer;
use std::collections::VecDeque;
use std::thread::{self, ThreadId};

/// A call: the context and its number there.
pub(crate) type Place = (u32, u32);

/// So many calls are remembered, and so many records that wait for calls of this rank.
const MOST: usize = 1024;

/// A blocking collective call that this process has made.
#[derive(Clone)]
pub(crate) struct Made {
    pub place: Place,
    pub fun: u16,
    /// The communicator or file.
    pub on: String,
    thread: ThreadId,
}

/// Another rank has made two calls in this order.
#[derive(Clone, Copy)]
struct Told {
    from: Peer,
    first: Place,
    second: Place,
}

/// The blocking collective calls of this process, the last one at the end, and what others say about theirs.
#[derive(Default)]
pub(crate) struct Orders {
    made: VecDeque<Made>,
    told: Vec<Told>,
}

/// Two calls that this rank has made in one order, and another rank in the other one.
pub(crate) struct Crossed {
    pub from: Peer,
    /// As the other rank has made them.
    pub first: Made,
    pub second: Made,
}

impl Orders {
    /// This process makes a call. What the first rank of its communicator should know: the call before it, on another one.
    pub fn note(&mut self, place: Place, fun: u16, on: &str) -> Option<Data> {
        if !Fun::from_u16(fun).is_some_and(is_blocking) {
            return None;
        }
        let thread = thread::current().id();
        let last = self.made.iter().rev().find(|made| made.thread == thread);
        let before = last.map(|made| made.place).filter(|before| before.0 != place.0);
        if self.made.len() == MOST {
            self.made.pop_front();
        }
        self.made.push_back(Made { place, fun, on: on.into(), thread });
        before.map(|(context, number)| Data { hash: context, bytes: number, ..Data::NONE })
    }

    /// Another rank says which call it has made before one on a communicator of which this rank is the first.
    pub fn hear(&mut self, record: &CallRecord) {
        let Facts { data, .. } = record.facts;
        let (first, second) = ((data.hash, data.bytes), (record.context, record.number));
        if self.told.len() < MOST {
            self.told.push(Told { from: record.from, first, second });
        }
    }

    /// What has turned out to be wrong. Records about calls that were made in one order are forgotten.
    pub fn take_crossed(&mut self) -> Vec<Crossed> {
        let made = &self.made;
        let at = |place: Place| made.iter().position(|made| made.place == place);
        let mut crossed = Vec::new();
        self.told.retain(|told| {
            let (Some(first), Some(second)) = (at(told.first), at(told.second)) else { return true };
            if second < first && made[first].thread == made[second].thread {
                crossed.push(Crossed { from: told.from, first: made[first].clone(), second: made[second].clone() });
            }
            false
        });
        crossed
    }

    /// The context is that of another communicator from now on.
    pub fn forget(&mut self, context: u32) {
        self.made.retain(|made| made.place.0 != context);
        self.told.retain(|told| told.first.0 != context && told.second.0 != context);
    }
}

/// Whether a collective function ends only when its work is done.
fn is_blocking(fun: Fun) -> bool {
    let name = fun.name();
    let starts_only = name.starts_with("MPI_I") && !name.starts_with("MPI_Intercomm") || name.contains("_idup");
    !starts_only && !name.ends_with("_init")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(first: Place, second: Place) -> CallRecord {
        let data = Data { hash: first.0, bytes: first.1, ..Data::NONE };
        let facts = Facts { fun: Fun::Gather as u16, root: 0, op: 0, data };
        let (from, context, number) = (Peer::at_slot(1), second.0, second.1);
        CallRecord { from, context, number, rank: 1, facts, is_block: false, is_order: true }
    }

    #[test]
    fn crossed_calls() {
        let (one, two) = ((0, 4), (20, 1));
        let mut orders = Orders::default();
        assert!(orders.note(one, Fun::Gather as u16, "x").is_none());
        orders.hear(&record(two, one));
        orders.hear(&record(one, two));
        assert!(orders.take_crossed().is_empty(), "the other call was not made here");
        assert_eq!(orders.note(two, Fun::Bcast as u16, "x"), Some(Data { hash: 0, bytes: 4, ..Data::NONE }));
        let crossed = orders.take_crossed();
        assert_eq!(crossed.len(), 1);
        assert_eq!((crossed[0].first.place, crossed[0].first.fun), (two, Fun::Bcast as u16));
        assert_eq!((crossed[0].second.place, crossed[0].second.fun), (one, Fun::Gather as u16));
        assert!(orders.take_crossed().is_empty(), "told once");
        assert!(orders.note((20, 2), Fun::Bcast as u16, "x").is_none(), "the same communicator");
    }

    #[test]
    fn calls_that_do_not_wait() {
        for fun in [Fun::Ibcast, Fun::Ireduce, Fun::CommIdup, Fun::BcastInit] {
            assert!(!is_blocking(fun), "{}", fun.name());
        }
        assert!(is_blocking(Fun::IntercommMerge) && is_blocking(Fun::Barrier));
        let mut orders = Orders::default();
        orders.note((0, 1), Fun::Gather as u16, "x");
        assert!(orders.note((20, 1), Fun::Igather as u16, "x").is_none());
        orders.hear(&record((20, 1), (0, 1)));
        orders.forget(20);
        orders.note((20, 1), Fun::Gather as u16, "x");
        assert!(orders.take_crossed().is_empty(), "another communicator with this context");
    }
}
