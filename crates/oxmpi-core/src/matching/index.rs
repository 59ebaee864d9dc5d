//! A hash from pattern to a first-in-first-out list of slots.
//!
//! The slots belong to the caller's table; the index holds only links, in an array beside it. A list has no node of
//! its own: its first member stands for it in the hash, so an empty list costs nothing and a list of one, the common
//! case, is a single write. The links of a list run both ways, so any member leaves in constant time.

use super::Pattern;

/// No slot.
pub const NIL: u32 = u32::MAX;

const FIRST_BUCKETS: usize = 16;

pub struct Index {
    /// The first list of each bucket. Empty, or a power of two long.
    buckets: Vec<u32>,
    /// 64 minus the logarithm of the number of buckets.
    shift: u32,
    lists: usize,
    links: Vec<Link>,
}

#[derive(Clone, Copy)]
struct Link {
    key: Pattern,
    /// [`NIL`] in the first member of a list.
    prev: u32,
    next: u32,
    /// In the first member: the last one.
    last: u32,
    /// In the first member: the next list in the same bucket.
    chain: u32,
}

const UNUSED: Link =
    Link { key: Pattern { context: 0, source: 0, tag: 0 }, prev: NIL, next: NIL, last: NIL, chain: NIL };

impl Index {
    pub const fn new() -> Index {
        Index { buckets: Vec::new(), shift: 63, lists: 0, links: Vec::new() }
    }

    /// The first slot of the list of `key`, or [`NIL`].
    #[inline]
    pub fn first(&self, key: &Pattern) -> u32 {
        let mut slot = match self.buckets.get(bucket(key, self.shift)) {
            Some(&slot) => slot,
            None => return NIL,
        };
        while slot != NIL {
            let link = &self.links[slot as usize];
            if link.key == *key {
                return slot;
            }
            slot = link.chain;
        }
        NIL
    }

    /// Puts `slot`, which is in no list of this index, at the end of the list of `key`.
    #[inline]
    pub fn append(&mut self, slot: u32, key: &Pattern) {
        if slot as usize >= self.links.len() {
            self.links.resize(slot as usize + 1, UNUSED);
        }
        let first = self.first(key);
        if first != NIL {
            let last = std::mem::replace(&mut self.links[first as usize].last, slot);
            self.links[last as usize].next = slot;
            self.links[slot as usize] = Link { key: *key, prev: last, ..UNUSED };
            return;
        }
        if self.lists >= self.buckets.len() {
            self.grow();
        }
        self.lists += 1;
        let head = &mut self.buckets[bucket(key, self.shift)];
        let chain = std::mem::replace(head, slot);
        self.links[slot as usize] = Link { key: *key, last: slot, chain, ..UNUSED };
    }

    /// Takes `slot`, which is in a list of this index, out of it.
    #[inline]
    pub fn unlink(&mut self, slot: u32) {
        let Link { key, prev, next, last, chain } = self.links[slot as usize];
        if prev != NIL {
            self.links[prev as usize].next = next;
            if next != NIL {
                self.links[next as usize].prev = prev;
            } else {
                let first = self.first(&key);
                self.links[first as usize].last = prev;
            }
            return;
        }
        // The first member: the second one stands for the list from now on, or the list goes.
        let heir = if next != NIL {
            let second = &mut self.links[next as usize];
            second.prev = NIL;
            second.last = last;
            second.chain = chain;
            next
        } else {
            self.lists -= 1;
            chain
        };
        let head = &mut self.buckets[bucket(&key, self.shift)];
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

    /// Doubles the buckets, so that a bucket holds one list on average or less.
    #[cold]
    fn grow(&mut self) {
        let size = (self.buckets.len() * 2).max(FIRST_BUCKETS);
        let old = std::mem::replace(&mut self.buckets, vec![NIL; size]);
        self.shift = 64 - size.trailing_zeros();
        for mut slot in old {
            while slot != NIL {
                let link = &mut self.links[slot as usize];
                let head = &mut self.buckets[bucket(&link.key, self.shift)];
                let chain = std::mem::replace(&mut link.chain, *head);
                *head = slot;
                slot = chain;
            }
        }
    }

    /// The length of the longest chain of lists: what a search costs at worst.
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

/// Two multiplications, the top bits of the second: neighbouring ranks, tags and contexts, and strides of them,
/// spread evenly. A peer that picks its tags to collide harms its own receiver's speed only.
#[inline]
fn bucket(key: &Pattern, shift: u32) -> usize {
    let mut hash = (u64::from(key.context) << 32 | u64::from(key.source as u32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^= hash >> 32;
    hash = (hash ^ u64::from(key.tag as u32) << 1).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (hash >> shift) as usize
}
