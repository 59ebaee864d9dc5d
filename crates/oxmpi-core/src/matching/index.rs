//! A hash table from pattern to a first-in-first-out list of slots.
//!
//! The slots belong to the caller's table; the index holds only links, in an array beside it. A
//! list has no node of its own: its first member represents it in the hash table, so an empty list
//! costs nothing and a list of one, the common case, is a single write. Lists are doubly linked, so
//! any member can be removed in constant time.

use super::Pattern;
use oxmpi_base::message_queues::{IndexPlace, VecPlace};
use std::mem::offset_of;

/// No slot.
pub const NIL: u32 = u32::MAX;

const FIRST_BUCKETS: usize = 16;

pub struct Index {
    /// The first list of each bucket; the number of buckets is a power of two, or zero.
    buckets: Vec<u32>,
    /// 32 minus the logarithm of the number of buckets.
    shift: u32,
    lists: usize,
    links: Vec<Link>,
}

/// Half a cache line. Written and read word by word: a record that is assembled from small stores
/// and copied with wide loads makes the processor wait for the stores.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Link {
    context_and_source: u64,
    tag: i32,
    hash: u32,
    /// [`NIL`] in the first member of a list.
    prev: u32,
    next: u32,
    /// In the first member: the last one.
    last: u32,
    /// In the first member: the next list in the same bucket.
    chain: u32,
}

const _: () = assert!(size_of::<Link>() == 32);

const UNUSED: Link = Link { context_and_source: 0, tag: 0, hash: 0, prev: NIL, next: NIL, last: NIL, chain: NIL };

/// A pattern and its hash.
#[derive(Clone, Copy)]
struct Key {
    context_and_source: u64,
    tag: i32,
    hash: u32,
}

impl Key {
    /// Two multiplications, the top bits of the second: neighbouring ranks, tags and contexts, and
    /// strides of them, spread evenly. A peer that picks its tags to collide slows down only its
    /// own receiver.
    #[inline]
    fn new(pattern: &Pattern) -> Key {
        let context_and_source = u64::from(pattern.context) << 32 | u64::from(pattern.source as u32);
        let mut hash = context_and_source.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash ^= hash >> 32;
        hash = (hash ^ u64::from(pattern.tag as u32) << 1).wrapping_mul(0xd6e8_feb8_6659_fd93);
        Key { context_and_source, tag: pattern.tag, hash: (hash >> 32) as u32 }
    }
}

impl Link {
    #[inline]
    fn key(&self) -> Key {
        Key { context_and_source: self.context_and_source, tag: self.tag, hash: self.hash }
    }

    #[inline]
    fn is(&self, key: Key) -> bool {
        self.context_and_source == key.context_and_source && self.tag == key.tag
    }

    #[inline]
    fn write(&mut self, key: Key, prev: u32, last: u32, chain: u32) {
        self.context_and_source = key.context_and_source;
        self.tag = key.tag;
        self.hash = key.hash;
        self.prev = prev;
        self.next = NIL;
        self.last = last;
        self.chain = chain;
    }
}

impl Index {
    pub const fn new() -> Index {
        Index { buckets: Vec::new(), shift: 31, lists: 0, links: Vec::new() }
    }

    /// The first slot of the list of `pattern`, or [`NIL`].
    #[inline]
    pub fn first(&self, pattern: &Pattern) -> u32 {
        self.find(Key::new(pattern))
    }

    /// The pattern under which `slot` is listed.
    #[inline]
    pub fn pattern(&self, slot: u32) -> Pattern {
        let Link { context_and_source, tag, .. } = self.links[slot as usize];
        Pattern { context: (context_and_source >> 32) as u32, source: context_and_source as u32 as i32, tag }
    }

    #[inline]
    fn find(&self, key: Key) -> u32 {
        let mut slot = match self.buckets.get((key.hash >> self.shift) as usize) {
            Some(&slot) => slot,
            None => return NIL,
        };
        while let Some(link) = self.links.get(slot as usize) {
            if link.is(key) {
                return slot;
            }
            slot = link.chain;
        }
        NIL
    }

    /// Appends `slot`, which is in no list of this index, to the list of `pattern`.
    #[inline]
    pub fn append(&mut self, slot: u32, pattern: &Pattern) {
        if slot as usize >= self.links.len() || self.lists >= self.buckets.len() {
            self.grow(slot);
        }
        let key = Key::new(pattern);
        let first = self.find(key);
        if let Some(link) = self.links.get_mut(first as usize) {
            let prev = std::mem::replace(&mut link.last, slot);
            self.links[prev as usize].next = slot;
            self.links[slot as usize].write(key, prev, NIL, NIL);
        } else {
            self.lists += 1;
            let head = &mut self.buckets[(key.hash >> self.shift) as usize];
            let chain = std::mem::replace(head, slot);
            self.links[slot as usize].write(key, NIL, slot, chain);
        }
    }

    /// Removes `slot` from its list.
    #[inline(always)]
    pub fn unlink(&mut self, slot: u32) {
        let link = &self.links[slot as usize];
        if link.prev != NIL {
            return self.unlink_later(slot);
        }
        // The first member: the second one now represents the list, or the list is removed.
        let (next, last, chain) = (link.next, link.last, link.chain);
        let bucket = (link.hash >> self.shift) as usize;
        let heir = if let Some(second) = self.links.get_mut(next as usize) {
            second.prev = NIL;
            second.last = last;
            second.chain = chain;
            next
        } else {
            self.lists -= 1;
            chain
        };
        let head = &mut self.buckets[bucket];
        if *head == slot {
            *head = heir;
            return;
        }
        let mut before = *head;
        while self.links[before as usize].chain != slot {
            before = self.links[before as usize].chain;
        }
        self.links[before as usize].chain = heir;
    }

    /// Removes a member that is not the first.
    fn unlink_later(&mut self, slot: u32) {
        let link = &self.links[slot as usize];
        let (key, prev, next) = (link.key(), link.prev, link.next);
        self.links[prev as usize].next = next;
        if next != NIL {
            self.links[next as usize].prev = prev;
        } else {
            let first = self.find(key);
            self.links[first as usize].last = prev;
        }
    }

    /// Makes room for `slot` and for one more list; buckets hold at most one list on average.
    #[cold]
    fn grow(&mut self, slot: u32) {
        if slot as usize >= self.links.len() {
            self.links.resize(slot as usize + 1, UNUSED);
        }
        if self.lists < self.buckets.len() {
            return;
        }
        let size = (self.buckets.len() * 2).max(FIRST_BUCKETS);
        let old = std::mem::replace(&mut self.buckets, vec![NIL; size]);
        self.shift = 32 - size.trailing_zeros();
        for mut slot in old {
            while slot != NIL {
                let link = &mut self.links[slot as usize];
                let head = &mut self.buckets[(link.hash >> self.shift) as usize];
                let chain = std::mem::replace(&mut link.chain, *head);
                *head = slot;
                slot = chain;
            }
        }
    }

    /// Where a debugger finds the patterns of an index at `offset`.
    pub fn place(offset: usize) -> IndexPlace {
        IndexPlace {
            links: VecPlace::at::<Link>(offset + offset_of!(Index, links)),
            context_and_source: offset_of!(Link, context_and_source) as u32,
            tag: offset_of!(Link, tag) as u32,
        }
    }

    /// The length of the longest chain of lists: the worst cost of a search.
    #[cfg(test)]
    pub fn longest_chain(&self) -> usize {
        let chain =
            |head: u32| std::iter::successors(self.links.get(head as usize), |l| self.links.get(l.chain as usize));
        self.buckets.iter().map(|&head| chain(head).count()).max().unwrap_or(0)
    }

    #[cfg(test)]
    pub fn lists(&self) -> usize {
        self.lists
    }
}
