//! Receives that wait for a message.

use super::index::{Index, NIL};
use super::{ANY_SOURCE, ANY_TAG, Envelope, Pattern};
use oxmpi_base::message_queues::{PostedPlace, VecPlace};
use oxmpi_base::slots::{Kind, SlotTable};
use std::mem::offset_of;

/// Names a posted receive until it is matched or cancelled; it is never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PostedId(u64);

/// Receives in the order they were posted.
///
/// Wildcards are part of the key: a receive is listed under its own pattern, and a message is
/// looked up under the four patterns that would accept it. The lowest sequence number among the
/// heads of those lists wins.
pub struct PostedQueue<T> {
    table: SlotTable<T>,
    index: Index,
    /// When the receive in each slot was posted.
    sequence: Vec<u64>,
    /// The number of waiting receives of each class, so that an unused class costs one comparison.
    waiting: [u32; 4],
    next_sequence: u64,
}

const EXACT: usize = 0;
const TAG_WILD: usize = 1;
const SOURCE_WILD: usize = 2;
const BOTH_WILD: usize = TAG_WILD | SOURCE_WILD;

impl<T> PostedQueue<T> {
    pub const fn new() -> PostedQueue<T> {
        PostedQueue {
            table: SlotTable::new(Kind::Internal),
            index: Index::new(),
            sequence: Vec::new(),
            waiting: [0; 4],
            next_sequence: 0,
        }
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Appends a receive.
    #[inline]
    pub fn post(&mut self, pattern: Pattern, value: T) -> PostedId {
        let id = self.table.insert(value);
        let slot = SlotTable::<T>::slot_of(id);
        self.index.append(slot, &pattern);
        if slot as usize >= self.sequence.len() {
            self.sequence.resize(slot as usize + 1, 0);
        }
        self.sequence[slot as usize] = self.next_sequence;
        self.next_sequence += 1;
        self.waiting[class(&pattern)] += 1;
        PostedId(id as u64)
    }

    /// Removes the earliest posted receive that accepts `envelope`.
    #[inline]
    pub fn take_match(&mut self, envelope: &Envelope) -> Option<T> {
        let slot = self.find(envelope);
        if slot == NIL { None } else { Some(self.take_slot(slot)?.1) }
    }

    /// Whether a receive that accepts `envelope` waits, and which one [`PostedQueue::take_match`] would take.
    #[inline]
    pub fn peek_match(&self, envelope: &Envelope) -> Option<(PostedId, &T)> {
        let (id, value) = self.table.at(self.find(envelope))?;
        Some((PostedId(id as u64), value))
    }

    /// Removes a receive that was not matched.
    pub fn cancel(&mut self, id: PostedId) -> Option<T> {
        self.get(id)?;
        Some(self.take_slot(SlotTable::<T>::slot_of(id.0 as usize))?.1)
    }

    #[inline]
    pub fn get(&self, id: PostedId) -> Option<&T> {
        self.table.get(id.0 as usize)
    }

    #[inline]
    pub fn get_mut(&mut self, id: PostedId) -> Option<&mut T> {
        self.table.get_mut(id.0 as usize)
    }

    /// All receives in the order they were posted. Sorts: for reports, not for the fast path.
    pub fn iter(&self) -> impl Iterator<Item = (PostedId, Pattern, &T)> {
        let mut all: Vec<_> = self.table.iter().collect();
        all.sort_unstable_by_key(|(id, _)| self.sequence[SlotTable::<T>::slot_of(*id) as usize]);
        all.into_iter().map(|(id, value)| {
            let pattern = self.index.pattern(SlotTable::<T>::slot_of(id));
            (PostedId(id as u64), pattern, value)
        })
    }

    /// Removes all receives of a context, in the order they were posted. Visits every receive.
    pub fn drain_context(&mut self, context: u32) -> Vec<(Pattern, T)> {
        let ids: Vec<PostedId> =
            self.iter().filter(|(_, pattern, _)| pattern.context == context).map(|(id, ..)| id).collect();
        ids.into_iter().filter_map(|id| self.take_slot(SlotTable::<T>::slot_of(id.0 as usize))).collect()
    }

    /// Where a debugger finds the receives of a queue at `offset`.
    pub fn place(offset: usize) -> PostedPlace {
        PostedPlace {
            table: SlotTable::<T>::place(offset + offset_of!(Self, table)),
            index: Index::place(offset + offset_of!(Self, index)),
            sequence: VecPlace::at::<u64>(offset + offset_of!(Self, sequence)),
        }
    }

    #[inline(always)]
    fn find(&self, envelope: &Envelope) -> u32 {
        let Envelope { context, source, tag } = *envelope;
        // A wildcard's value in an envelope would look like a wildcard receive.
        if source == ANY_SOURCE || tag == ANY_TAG {
            return NIL;
        }
        let mut best = NIL;
        if self.waiting[EXACT] != 0 {
            best = self.index.first(&Pattern { context, source, tag });
        }
        if self.waiting[SOURCE_WILD] != 0 {
            best = self.earlier(best, &Pattern { context, source: ANY_SOURCE, tag });
        }
        if tag >= 0 {
            if self.waiting[TAG_WILD] != 0 {
                best = self.earlier(best, &Pattern { context, source, tag: ANY_TAG });
            }
            if self.waiting[BOTH_WILD] != 0 {
                best = self.earlier(best, &Pattern { context, source: ANY_SOURCE, tag: ANY_TAG });
            }
        }
        best
    }

    #[inline]
    fn earlier(&self, best: u32, pattern: &Pattern) -> u32 {
        let other = self.index.first(pattern);
        if best == NIL || other != NIL && self.sequence[other as usize] < self.sequence[best as usize] {
            other
        } else {
            best
        }
    }

    #[inline(always)]
    fn take_slot(&mut self, slot: u32) -> Option<(Pattern, T)> {
        let value = self.table.remove_at(slot)?;
        let pattern = self.index.pattern(slot);
        self.index.unlink(slot);
        self.waiting[class(&pattern)] -= 1;
        Some((pattern, value))
    }
}

impl<T> Default for PostedQueue<T> {
    fn default() -> PostedQueue<T> {
        PostedQueue::new()
    }
}

#[inline]
fn class(pattern: &Pattern) -> usize {
    usize::from(pattern.source == ANY_SOURCE) * SOURCE_WILD + usize::from(pattern.tag == ANY_TAG) * TAG_WILD
}
