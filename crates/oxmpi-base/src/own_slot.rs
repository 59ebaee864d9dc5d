//! A process's own slot in the segment, and the ends of the shared structures that belong to it.
//!
//! An end of a ring counts in private memory what it has produced or consumed, and the book of
//! offer cells keeps private free lists. A second copy of an end would overwrite cells that a reader
//! still uses. So each end is created here, once in the life of the segment: the word `ends` of the
//! slot allows one [`OwnSlot`], which remembers the ends that it gave out. Each end keeps the
//! segment mapped.

use crate::offer_cell::OfferCells;
use crate::ring::{Consumer, Producer};
use crate::segment::Segment;
use std::sync::Arc;
use std::sync::atomic::Ordering::AcqRel;

/// The proof that only this process uses the ends of a slot.
pub struct OwnSlot {
    segment: Arc<Segment>,
    slot: usize,
    producers: Given,
    consumers: Given,
    offer_cells: bool,
}

impl OwnSlot {
    /// Takes the ends of a slot; `None` if the segment has no such slot, or if its ends were taken
    /// before.
    pub fn claim(segment: Arc<Segment>, slot: usize) -> Option<OwnSlot> {
        let block = segment.get(slot)?;
        if block.ends.swap(1, AcqRel) != 0 {
            return None;
        }
        let ranks = segment.ranks();
        Some(OwnSlot {
            segment,
            slot,
            producers: Given::none(ranks),
            consumers: Given::none(ranks),
            offer_cells: false,
        })
    }

    pub fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// The sending end of the ring to a slot; `None` if there is no such slot, or if the end was
    /// given out before.
    pub fn producer(&mut self, to: usize) -> Option<Producer> {
        self.producers.give(to).then(|| Producer::new(Arc::clone(&self.segment), self.slot, to))
    }

    /// The receiving end of the ring from a slot; `None` if there is no such slot, or if the end
    /// was given out before.
    pub fn consumer(&mut self, from: usize) -> Option<Consumer> {
        self.consumers.give(from).then(|| Consumer::new(Arc::clone(&self.segment), from, self.slot))
    }

    /// The slot's offer cells; `None` if they were given out before.
    pub fn offer_cells(&mut self) -> Option<OfferCells> {
        let first = !std::mem::replace(&mut self.offer_cells, true);
        first.then(|| OfferCells::new(Arc::clone(&self.segment), self.slot))
    }
}

/// One bit for each peer.
struct Given {
    peers: usize,
    bits: Box<[u64]>,
}

impl Given {
    fn none(peers: usize) -> Given {
        Given { peers, bits: vec![0; peers.div_ceil(64)].into() }
    }

    /// Marks a peer. Returns whether it exists and was not marked before.
    fn give(&mut self, peer: usize) -> bool {
        if peer >= self.peers {
            return false;
        }
        let (word, bit) = (&mut self.bits[peer / 64], 1 << (peer % 64));
        let first = *word & bit == 0;
        *word |= bit;
        first
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn every_end_is_given_out_once() {
        let (fd, segment) = Segment::create(70, 1).unwrap();
        let segment = Arc::new(segment);
        let mut own = OwnSlot::claim(Arc::clone(&segment), 69).unwrap();
        assert!(OwnSlot::claim(Arc::clone(&segment), 69).is_none());
        let again = Arc::new(Segment::attach(fd.as_fd()).unwrap());
        assert!(OwnSlot::claim(Arc::clone(&again), 69).is_none(), "a second mapping is the same slot");
        assert!(OwnSlot::claim(Arc::clone(&again), 70).is_none(), "there is no such slot");
        for peer in [0, 63, 64, 69] {
            assert!(own.producer(peer).is_some());
            assert!(own.producer(peer).is_none());
            assert!(own.consumer(peer).is_some());
            assert!(own.consumer(peer).is_none());
        }
        assert!(own.producer(70).is_none() && own.consumer(70).is_none());
        assert!(own.offer_cells().is_some());
        assert!(own.offer_cells().is_none());
        drop(own);
        assert!(OwnSlot::claim(segment, 69).is_none(), "its counters are lost, so the slot cannot be used again");
    }

    #[test]
    fn an_end_keeps_the_segment_mapped() {
        let (_fd, segment) = Segment::create(2, 1).unwrap();
        let segment = Arc::new(segment);
        let mut sender = OwnSlot::claim(Arc::clone(&segment), 0).unwrap();
        let mut receiver = OwnSlot::claim(segment, 1).unwrap();
        let (mut tx, mut rx) = (sender.producer(1).unwrap(), receiver.consumer(0).unwrap());
        drop((sender, receiver));
        assert!(tx.reserve(1).is_some());
        tx.publish(1, 7);
        assert_eq!(rx.peek().unwrap().user, 7);
    }
}
