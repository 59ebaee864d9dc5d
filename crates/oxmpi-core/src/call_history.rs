//! The collective calls that a program has made on a communicator, by name, number and hash. Ranks that wait in vain compare them
//! (`wait/mismatch.rs`), and tags of messages carry their hash (`call_tag.rs`). Nothing here waits or sends.

use crate::call_tag::CallTag;
use oxmpi_abi::functions::Fun;
use oxmpi_base::seq_record::SeqRecord;

/// The collective calls on a communicator, the same on all ranks.
#[derive(Clone, Copy, Default, Debug)]
pub struct Calls {
    /// The number of calls.
    pub number: u32,
    /// The name of the last call.
    pub last: CallName,
    /// The name of the call before it.
    pub before: CallName,
    /// A hash of all calls that went by messages.
    pub history: u64,
    /// The tag of the last of them, if tags say on this communicator which call they are of.
    pub tag: Option<CallTag>,
    /// The hash before the last of them.
    pub(crate) prior: u64,
    /// This process has reported that ranks made different calls.
    pub differed: bool,
    /// The number of calls that were compared for `--check`.
    pub checked: u32,
}

impl Calls {
    #[inline]
    pub fn count(&mut self, call: CallName) {
        self.number = self.number.wrapping_add(1);
        self.before = std::mem::replace(&mut self.last, call);
    }

    /// Marks that the last call goes by messages. `word`: what all ranks must agree on.
    pub fn by_messages(&mut self, word: u64) {
        self.prior = self.history;
        self.history = extended(self.prior, word);
    }

    /// Lets a tag of the last call by messages say which call that was, and all before it.
    pub fn sign(&mut self, tag: i32) -> i32 {
        let tag = CallTag::new(tag, self.history);
        self.tag = Some(tag);
        tag.tag()
    }

    /// Whether another rank, which made the same calls before, has this call in place of the last one by messages,
    /// according to its tag.
    pub fn may_be(&self, theirs: CallTag, call: CallName) -> bool {
        theirs.has_signature_of(extended(self.prior, call.word()))
    }

    /// Publishes the position of this rank among the calls on a communicator, for ranks that wait
    /// in another call to compare.
    #[cold]
    pub fn publish(&self, record: &SeqRecord<2>, context: u32) {
        let place = u64::from(context) << 32 | u64::from(self.number);
        record.put(place, [self.last.word(), self.before.word()]);
    }
}

/// A hash of calls, and one more.
fn extended(history: u64, word: u64) -> u64 {
    (history.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What waiting ranks compare about a collective call: its function, by number, and its root plus
/// one.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct CallName {
    pub function: u16,
    pub root: u32,
}

impl CallName {
    #[inline]
    pub fn new(function: u16, root: Option<usize>) -> CallName {
        CallName { function, root: root.map_or(0, |root| root as u32 + 1) }
    }

    /// As one word. It is the same for a function and its large-count twin, which match each other.
    pub fn word(self) -> u64 {
        let function = Fun::from_u16(self.function).map_or(self.function, |fun| fun.without_large_counts() as u16);
        u64::from(function) | u64::from(self.root) << 16
    }
}
