//! Collective calls, compared. Each rank of a communicator sends a record of its call to the first rank before data moves,
//! and of each block to the rank that gets it, where lengths and types need not be the same on all ranks. Nobody waits for
//! a record: they are compared when they arrive, at the latest in `MPI_Finalize`.

use super::order::Orders;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::Comm;
use oxmpi_base::callers::CALLERS;
use oxmpi_base::ids::Peer;
use oxmpi_check::catalogue::{COLL_ARGS, COLL_CALL, COLL_COUNT, COLL_OP, COLL_ROOT, Entry, TYPE_COLL};
use oxmpi_datatype::{Classes, NAMED};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A number for the operation of a call without one.
pub const NO_OPERATION: u16 = 0;
/// All operations of the program's own.
pub const USERS: u16 = u16::MAX;

/// On an intercommunicator: an operation or a root that this rank does not name.
pub const ANY_OPERATION: u16 = u16::MAX - 1;
pub const ANY_ROOT: i32 = -3;

/// In place of the name of a type: these are other arguments.
const ARGUMENTS: u16 = u16::MAX;

/// What a rank says about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Without the suffix of large counts.
    pub fun: u16,
    pub root: i32,
    /// A predefined operation, by its handle.
    pub op: u16,
    pub data: Data,
}

/// The elements of a call or of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Equal for equal sequences of classes; 0 for what matches everything.
    pub(super) hash: u32,
    /// At most [`u32::MAX`].
    pub(super) bytes: u32,
    /// The predefined type, by its handle, for people.
    pub(super) name: u16,
}

impl Data {
    pub const NONE: Data = Data { hash: 0, bytes: 0, name: 0 };

    pub fn new(classes: Classes, bytes: u128) -> Data {
        let hash = classes.whole().map_or(0, |hash| (hash as u32 ^ (hash >> 32) as u32) | 1);
        Data { hash, bytes: u32::try_from(bytes).unwrap_or(u32::MAX), name: classes.name() }
    }

    /// The same elements in blocks of certain lengths.
    pub fn with(self, lengths: u64) -> Data {
        let hash = if self.hash == 0 { 0 } else { self.hash ^ (lengths >> 32) as u32 | 1 };
        Data { hash, ..self }
    }

    /// Arguments that all ranks must give alike.
    pub fn arguments(all: &[i64]) -> Data {
        let mix = |hash: u64, one: &i64| (hash.rotate_left(7) ^ *one as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = all.iter().fold(all.len() as u64, mix);
        Data { hash: (hash as u32 ^ (hash >> 32) as u32) | 1, bytes: 0, name: ARGUMENTS }
    }

    /// The members of a group. Ranks may give different groups if those have no common member.
    pub fn group(members: &[i64]) -> Data {
        match members.iter().min() {
            Some(&first) => Data { bytes: u32::try_from(first + 1).unwrap_or(0), ..Data::arguments(members) },
            None => Data::NONE,
        }
    }

    /// What is wrong when the other end has this data.
    pub(super) fn differs(self, other: Data) -> Option<&'static Entry> {
        if self.name == ARGUMENTS || other.name == ARGUMENTS {
            let both = self.name == other.name;
            // Groups with another first member have perhaps nothing in common.
            return (both && self.hash != other.hash && self.bytes == other.bytes).then_some(&COLL_ARGS);
        }
        if self.bytes != other.bytes {
            return Some(&COLL_COUNT);
        }
        let is_known = self.hash != 0 && other.hash != 0 && self.bytes != 0;
        // Elements of one predefined type differ only in the lengths of blocks.
        let is_one_type = self.name == other.name && NAMED.iter().any(|named| named.handle == self.name);
        (is_known && self.hash != other.hash).then_some(if is_one_type { &COLL_COUNT } else { &TYPE_COLL })
    }

    pub(super) fn describe(self) -> String {
        let name = NAMED.iter().find(|named| named.handle == self.name).map(|named| named.name);
        let of = name.map_or_else(|| " of a derived type".into(), |name| format!(" of {name}"));
        format!("{} bytes{}", self.bytes, if self.bytes == 0 { String::new() } else { of })
    }
}

impl Facts {
    pub(crate) fn name(self) -> &'static str {
        Fun::from_u16(self.fun).map_or("a function", Fun::name)
    }

    fn describe(self, with_data: bool) -> String {
        let mut parts = Vec::new();
        if self.root >= 0 {
            parts.push(format!("root {}", self.root));
        }
        if self.op != NO_OPERATION && self.op != ANY_OPERATION {
            parts.push(match oxmpi_ops::predefined(self.op.into()) {
                Some(op) => op.name().into(),
                None => "an operation of the program".into(),
            });
        }
        if with_data {
            parts.push(self.data.describe());
        }
        if parts.is_empty() { self.name().into() } else { format!("{} ({})", self.name(), parts.join(", ")) }
    }

    /// What is wrong when another rank has these facts.
    fn differs(self, other: Facts) -> Option<&'static Entry> {
        if self.fun != other.fun {
            Some(&COLL_CALL)
        } else if self.root != other.root && self.root != ANY_ROOT && other.root != ANY_ROOT {
            Some(&COLL_ROOT)
        } else if self.op != other.op && self.op != ANY_OPERATION && other.op != ANY_OPERATION {
            Some(&COLL_OP)
        } else {
            self.data.differs(other.data)
        }
    }
}

/// A record as it arrives.
#[derive(Clone, Copy, Debug)]
pub struct CallRecord {
    pub(crate) from: Peer,
    pub(crate) context: u32,
    pub(crate) number: u32,
    pub(crate) rank: u32,
    pub(crate) facts: Facts,
    /// It is about a block for this rank, not about the whole call.
    pub(crate) is_block: bool,
    /// It names the call before this one (`order.rs`), in place of the data.
    pub(crate) is_order: bool,
}

impl CallRecord {
    pub(crate) fn words(&self) -> [u64; 4] {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let Facts { fun, root, op, data } = self.facts;
        let flags = u32::from(self.is_block) | u32::from(self.is_order) << 1;
        let names = pair(u32::from(fun) << 16 | u32::from(op), u32::from(data.name) << 16 | flags);
        [pair(self.context, self.number), pair(self.rank, root as u32), pair(data.hash, data.bytes), names]
    }

    /// From the words of another process, which may be anything.
    pub(crate) fn read(from: Peer, words: [u64; 4]) -> CallRecord {
        let halves = |word: u64| ((word >> 32) as u32, word as u32);
        let ((context, number), (rank, root)) = (halves(words[0]), halves(words[1]));
        let ((hash, bytes), (high, low)) = (halves(words[2]), halves(words[3]));
        let data = Data { hash, bytes, name: (low >> 16) as u16 };
        let facts = Facts { fun: (high >> 16) as u16, root: root as i32, op: high as u16, data };
        CallRecord { from, context, number, rank, facts, is_block: low & 1 != 0, is_order: low & 2 != 0 }
    }
}

/// A call of this process.
pub struct Own {
    pub facts: Facts,
    /// The blocks that it sends to other ranks.
    pub sent: Vec<(u32, Data)>,
    /// The blocks that it gets from other ranks.
    pub expected: BTreeMap<u32, Data>,
}

impl Own {
    /// A call of which only the function is compared.
    pub fn without_data(fun: Fun) -> Own {
        Own::with_arguments(fun, Data::NONE)
    }

    /// A call of which the function is compared, and other arguments than data.
    pub fn with_arguments(fun: Fun, data: Data) -> Own {
        let facts = Facts { fun: fun.without_large_counts() as u16, root: -1, op: NO_OPERATION, data };
        Own { facts, sent: Vec::new(), expected: BTreeMap::new() }
    }
}

/// The number of a start of a persistent request, from that of the call that made it: starts may come in any order. `None`
/// beyond the numbers that there are.
pub(crate) fn number_of_start(made: u32, start: u32) -> Option<u32> {
    (made < 1 << 15 && start < 1 << 16).then_some(STARTS | made << 16 | start)
}

/// Marks the numbers of starts.
const STARTS: u32 = 1 << 31;

/// A call in words.
pub(crate) fn name_of_call(number: u32) -> String {
    match number & STARTS {
        0 => format!("collective call {number}"),
        _ => format!("start {} of the request of collective call {}", number & 0xffff, (number & !STARTS) >> 16),
    }
}

/// A persistent request of a collective call.
pub(crate) struct Kept {
    pub comm: Comm,
    pub fun: u16,
    /// The number of the call that made it.
    pub made: u32,
    pub starts: u32,
}

/// A call that not all others have been compared with.
pub(crate) struct Open {
    pub own: Own,
    /// The communicator or file.
    pub comm: String,
    pub size: usize,
    /// Of this process on it.
    pub rank: u32,
    /// Records that will come.
    pub left: usize,
    /// On the first rank: those that have told their call.
    pub heard: BTreeSet<u32>,
    /// Where the program has called.
    pub callers: [u64; CALLERS],
}

/// The calls of this process, and the records of others that came before them.
#[derive(Default)]
pub struct CallTable {
    pub(crate) open: BTreeMap<(u32, u32), Open>,
    pub(crate) early: Vec<CallRecord>,
    /// Contexts on which calls have differed: what comes later says nothing new.
    pub(crate) differed: Vec<u32>,
    /// Contexts of communicators that were freed: a record that has come too late may be of one of those.
    pub(crate) freed: BTreeSet<u32>,
    /// The last call, whose request has no handle yet.
    pub(crate) last: Option<Kept>,
    /// Persistent requests, by their handles.
    pub(crate) kept: HashMap<usize, Kept>,
    pub(crate) orders: Orders,
}

/// Records that are kept until the call comes; a program that is so far ahead is not checked further.
pub(crate) const MOST_EARLY: usize = 1 << 16;

/// What is wrong with the call of another rank.
pub(crate) fn compare(open: &Open, record: &CallRecord) -> Option<(&'static Entry, String)> {
    let Open { own, comm, .. } = open;
    let (theirs, place) = (record.facts, format!("{} on {comm}", name_of_call(record.number)));
    if record.is_block {
        let expected = own.expected.get(&record.rank).filter(|_| theirs.fun == own.facts.fun)?;
        let entry = expected.differs(theirs.data)?;
        let (sent, got) = (theirs.data.describe(), expected.describe());
        let (name, rank) = (theirs.name(), open.rank);
        let text = format!(
            "{name} sends a block of {sent}, and rank {rank} of the communicator receives it as {got} ({place})"
        );
        return Some((entry, text));
    }
    let entry = own.facts.differs(theirs)?;
    if std::ptr::eq(entry, &COLL_ARGS) {
        return Some((
            entry,
            format!("called {} with other arguments than rank 0 of the communicator ({place})", theirs.name()),
        ));
    }
    if std::ptr::eq(entry, &COLL_COUNT) && own.facts.data.bytes == theirs.data.bytes {
        let what = theirs.data.describe();
        let text =
            format!("called {} with {what} in other blocks than rank 0 of the communicator ({place})", theirs.name());
        return Some((entry, text));
    }
    let with_data = std::ptr::eq(entry, &COLL_COUNT) || std::ptr::eq(entry, &TYPE_COLL);
    let (them, us) = (theirs.describe(with_data), own.facts.describe(with_data));
    Some((entry, format!("called {them} where rank 0 of the communicator called {us} ({place})")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_datatype::predefined;

    fn data(handle: usize, count: u128) -> Data {
        let found = predefined(handle).unwrap();
        Data::new(found.classes().repeat(count), found.size() as u128 * count)
    }

    const INT: usize = 0x209;
    const FLOAT: usize = 0x210;
    const BYTE: usize = 0x247;

    #[test]
    fn what_differs() {
        let facts = Facts { fun: Fun::Bcast as u16, root: 0, op: 0, data: data(INT, 5) };
        let entry = |other: Facts| facts.differs(other).map(|entry| entry.name);
        assert_eq!(entry(facts), None);
        assert_eq!(entry(Facts { fun: Fun::Reduce as u16, ..facts }), Some("OX-COLL-CALL"));
        assert_eq!(entry(Facts { root: 1, ..facts }), Some("OX-COLL-ROOT"));
        assert_eq!(entry(Facts { op: 7, ..facts }), Some("OX-COLL-OP"));
        assert_eq!(entry(Facts { root: ANY_ROOT, op: ANY_OPERATION, ..facts }), None, "what a rank does not name");
        assert_eq!(entry(Facts { data: data(INT, 6), ..facts }), Some("OX-COLL-COUNT"));
        assert_eq!(entry(Facts { data: data(FLOAT, 5), ..facts }), Some("OX-TYPE-COLL"));
        assert_eq!(entry(Facts { data: data(BYTE, 20), ..facts }), None);
        assert!(data(INT, 0).differs(data(FLOAT, 0)).is_none(), "no elements have no type");
        let grid = |dims: &[i64]| Facts { data: Data::arguments(dims), ..facts };
        assert_eq!(grid(&[2, 3]).differs(grid(&[3, 2])).map(|entry| entry.name), Some("OX-COLL-ARGS"));
        assert!(
            grid(&[2, 3]).differs(grid(&[2, 3])).is_none()
                && grid(&[2]).differs(Facts { data: Data::NONE, ..facts }).is_none()
        );
        let group = |members: &[i64]| Facts { data: Data::group(members), ..facts };
        assert_eq!(group(&[0, 1]).differs(group(&[1, 0])).map(|entry| entry.name), Some("OX-COLL-ARGS"));
        assert!(group(&[0, 1]).differs(group(&[2, 3])).is_none() && group(&[0]).differs(group(&[])).is_none());
        let blocks = |lengths: u64| Facts { data: data(INT, 5).with(lengths << 32), ..facts };
        assert_eq!(
            blocks(7).differs(blocks(8)).map(|entry| entry.name),
            Some("OX-COLL-COUNT"),
            "one type, other blocks"
        );
        assert_eq!(name_of_call(number_of_start(4, 2).unwrap()), "start 2 of the request of collective call 4");
        assert!(number_of_start(1 << 15, 1).is_none() && number_of_start(1, 1 << 16).is_none());
    }

    #[test]
    fn records_are_read_back() {
        let facts = Facts { fun: 300, root: -2, op: USERS, data: data(INT, 3) };
        for (is_block, is_order) in [(false, false), (true, false), (false, true)] {
            let (from, context, number, rank) = (Peer::at_slot(3), 70, 9, 5);
            let record = CallRecord { from, context, number, rank, facts, is_block, is_order };
            let read = CallRecord::read(record.from, record.words());
            assert_eq!((read.context, read.number, read.rank), (70, 9, 5));
            assert_eq!((read.facts, read.is_block, read.is_order), (facts, is_block, is_order));
        }
    }

    #[test]
    fn texts_name_both_calls() {
        let facts = Facts { fun: Fun::Reduce as u16, root: 1, op: 0, data: data(INT, 5) };
        let own = Own { facts: Facts { fun: Fun::Bcast as u16, ..facts }, sent: vec![], expected: BTreeMap::new() };
        let (comm, heard, callers) = ("MPI_COMM_WORLD".into(), BTreeSet::new(), [0; CALLERS]);
        let open = Open { own, comm, size: 3, rank: 0, left: 2, heard, callers };
        let (from, is_block, is_order) = (Peer::at_slot(1), false, false);
        let record = CallRecord { from, context: 0, number: 4, rank: 1, facts, is_block, is_order };
        let (entry, text) = compare(&open, &record).unwrap();
        assert_eq!(entry.name, "OX-COLL-CALL");
        assert_eq!(
            text,
            "called MPI_Reduce (root 1) where rank 0 of the communicator called MPI_Bcast (root 1) (collective call 4 on MPI_COMM_WORLD)"
        );
    }
}
