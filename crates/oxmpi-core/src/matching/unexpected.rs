//! Messages that wait for a receive.

use super::index::{Index, NIL};
use super::{ANY_SOURCE, ANY_TAG, Envelope, Pattern};
use oxmpi_base::message_queues::{UnexpectedPlace, VecPlace};
use oxmpi_base::slots::{Kind, SlotTable};
use std::mem::offset_of;

/// Names a waiting message until it is taken; it is never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MessageId(u64);

/// With so few messages a wildcard search visits each of them instead of building an index.
const FEW: usize = 8;

/// Messages in the order they arrived.
///
/// Every message is listed under its exact envelope. A wildcard search needs other lists: by
/// source, by tag, by context alone. Each of these three is built at the first search that needs it
/// and maintained until the queue is empty again, so that programs without wildcards never pay for
/// them.
pub struct UnexpectedQueue<T> {
    table: SlotTable<T>,
    /// The slots that arrived first and last: the ends of the list of all messages.
    oldest: u32,
    newest: u32,
    order: Vec<Neighbours>,
    /// Contains every message; its patterns are the envelopes.
    exact: Index,
    wild: [Wild; 3],
    /// How many of the three are maintained now.
    kept: u32,
}

/// A message's neighbours in the order of arrival.
#[derive(Clone, Copy)]
struct Neighbours {
    older: u32,
    newer: u32,
}

struct Wild {
    index: Index,
    /// Whether the index contains the messages that wait now.
    kept: bool,
    class: Class,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    AnyTag = 0,
    AnySource = 1,
    Any = 2,
}

impl Class {
    fn of(pattern: &Pattern) -> Option<Class> {
        match (pattern.source == ANY_SOURCE, pattern.tag == ANY_TAG) {
            (false, false) => None,
            (false, true) => Some(Class::AnyTag),
            (true, false) => Some(Class::AnySource),
            (true, true) => Some(Class::Any),
        }
    }

    /// The pattern of this class that accepts the envelope, if one does.
    #[inline]
    fn pattern(self, envelope: &Envelope) -> Option<Pattern> {
        let Envelope { context, source, tag } = *envelope;
        match self {
            Class::AnyTag if tag >= 0 => Some(Pattern { context, source, tag: ANY_TAG }),
            Class::AnySource => Some(Pattern { context, source: ANY_SOURCE, tag }),
            Class::Any if tag >= 0 => Some(Pattern { context, source: ANY_SOURCE, tag: ANY_TAG }),
            Class::AnyTag | Class::Any => None,
        }
    }
}

impl<T> UnexpectedQueue<T> {
    pub const fn new() -> UnexpectedQueue<T> {
        const fn wild(class: Class) -> Wild {
            Wild { index: Index::new(), kept: false, class }
        }
        UnexpectedQueue {
            table: SlotTable::new(Kind::Internal),
            oldest: NIL,
            newest: NIL,
            order: Vec::new(),
            exact: Index::new(),
            wild: [wild(Class::AnyTag), wild(Class::AnySource), wild(Class::Any)],
            kept: 0,
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

    /// Appends a message.
    #[inline]
    pub fn push(&mut self, envelope: Envelope, value: T) -> MessageId {
        let id = self.table.insert(value);
        let slot = SlotTable::<T>::slot_of(id);
        if slot as usize >= self.order.len() {
            self.order.resize(slot as usize + 1, Neighbours { older: NIL, newer: NIL });
        }
        self.order[slot as usize].older = self.newest;
        self.order[slot as usize].newer = NIL;
        match self.order.get_mut(self.newest as usize) {
            Some(before) => before.newer = slot,
            None => self.oldest = slot,
        }
        self.newest = slot;
        self.exact.append(slot, &envelope.into());
        if self.kept != 0 {
            self.wild.iter_mut().filter(|wild| wild.kept).for_each(|wild| wild.add(slot, &envelope));
        }
        MessageId(id as u64)
    }

    /// The earliest arrived message that `pattern` accepts; it stays.
    #[inline]
    pub fn find(&mut self, pattern: &Pattern) -> Option<(MessageId, Envelope, &T)> {
        let slot = self.search(pattern);
        let (id, value) = self.table.at(slot)?;
        Some((MessageId(id as u64), self.envelope(slot), value))
    }

    /// Removes the earliest arrived message that `pattern` accepts.
    #[inline]
    pub fn take(&mut self, pattern: &Pattern) -> Option<(Envelope, T)> {
        let slot = self.search(pattern);
        if slot == NIL { None } else { self.take_slot(slot) }
    }

    /// Removes one message.
    #[inline]
    pub fn remove(&mut self, id: MessageId) -> Option<(Envelope, T)> {
        self.table.get(id.0 as usize)?;
        self.take_slot(SlotTable::<T>::slot_of(id.0 as usize))
    }

    #[inline]
    pub fn get(&self, id: MessageId) -> Option<(Envelope, &T)> {
        let value = self.table.get(id.0 as usize)?;
        Some((self.envelope(SlotTable::<T>::slot_of(id.0 as usize)), value))
    }

    #[inline]
    pub fn get_mut(&mut self, id: MessageId) -> Option<&mut T> {
        self.table.get_mut(id.0 as usize)
    }

    /// All messages in the order they arrived.
    pub fn iter(&self) -> impl Iterator<Item = (MessageId, Envelope, &T)> {
        let mut next = self.oldest;
        std::iter::from_fn(move || {
            let slot = next;
            let (id, value) = self.table.at(slot)?;
            next = self.order[slot as usize].newer;
            Some((MessageId(id as u64), self.envelope(slot), value))
        })
    }

    /// Removes all messages of a context, in the order they arrived. Visits every message.
    pub fn drain_context(&mut self, context: u32) -> Vec<(Envelope, T)> {
        let ids: Vec<MessageId> =
            self.iter().filter(|(_, envelope, _)| envelope.context == context).map(|(id, ..)| id).collect();
        ids.into_iter().filter_map(|id| self.remove(id)).collect()
    }

    /// Where a debugger finds the messages of a queue at `offset`; their length is at `bytes` in each.
    pub fn place(offset: usize, bytes: usize) -> UnexpectedPlace {
        UnexpectedPlace {
            table: SlotTable::<T>::place(offset + offset_of!(Self, table)),
            index: Index::place(offset + offset_of!(Self, exact)),
            oldest: (offset + offset_of!(Self, oldest)) as u32,
            order: VecPlace::at::<Neighbours>(offset + offset_of!(Self, order)),
            newer: offset_of!(Neighbours, newer) as u32,
            bytes: bytes as u32,
        }
    }

    #[inline]
    fn search(&mut self, pattern: &Pattern) -> u32 {
        if self.table.is_empty() {
            return NIL;
        }
        match Class::of(pattern) {
            None if self.exact.pattern(self.oldest) == *pattern => self.oldest,
            None => self.exact.first(pattern),
            Some(class) => self.search_wild(class, pattern),
        }
    }

    fn search_wild(&mut self, class: Class, pattern: &Pattern) -> u32 {
        let wild = &mut self.wild[class as usize];
        if wild.kept {
            return wild.index.first(pattern);
        }
        let few = self.table.len() <= FEW;
        let mut slot = self.oldest;
        while slot != NIL {
            let envelope = envelope_of(self.exact.pattern(slot));
            if !few {
                wild.add(slot, &envelope);
            } else if pattern.matches(&envelope) {
                return slot;
            }
            slot = self.order[slot as usize].newer;
        }
        if few {
            return NIL;
        }
        wild.kept = true;
        self.kept += 1;
        wild.index.first(pattern)
    }

    #[inline]
    fn take_slot(&mut self, slot: u32) -> Option<(Envelope, T)> {
        let value = self.table.remove_at(slot)?;
        let envelope = self.envelope(slot);
        let Neighbours { older, newer } = self.order[slot as usize];
        match self.order.get_mut(older as usize) {
            Some(neighbours) => neighbours.newer = newer,
            None => self.oldest = newer,
        }
        match self.order.get_mut(newer as usize) {
            Some(neighbours) => neighbours.older = older,
            None => self.newest = older,
        }
        self.exact.unlink(slot);
        if self.kept != 0 {
            self.drop_wild(slot, &envelope);
        }
        Some((envelope, value))
    }

    fn drop_wild(&mut self, slot: u32, envelope: &Envelope) {
        for wild in self.wild.iter_mut().filter(|wild| wild.kept) {
            wild.drop(slot, envelope);
            wild.kept = !self.table.is_empty();
        }
        if self.table.is_empty() {
            self.kept = 0;
        }
    }

    #[inline]
    fn envelope(&self, slot: u32) -> Envelope {
        envelope_of(self.exact.pattern(slot))
    }
}

impl<T> Default for UnexpectedQueue<T> {
    fn default() -> UnexpectedQueue<T> {
        UnexpectedQueue::new()
    }
}

impl Wild {
    #[inline]
    fn add(&mut self, slot: u32, envelope: &Envelope) {
        if let Some(pattern) = self.class.pattern(envelope) {
            self.index.append(slot, &pattern);
        }
    }

    #[inline]
    fn drop(&mut self, slot: u32, envelope: &Envelope) {
        if self.class.pattern(envelope).is_some() {
            self.index.unlink(slot);
        }
    }
}

/// The envelope that an exact pattern stands for.
#[inline]
fn envelope_of(exact: Pattern) -> Envelope {
    Envelope { context: exact.context, source: exact.source, tag: exact.tag }
}
