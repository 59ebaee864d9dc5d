//! What has travelled between this process and a peer of another node, for tools. It counts over all links that the two
//! have had.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One thread at a time counts, so that a load and a store are enough.
#[derive(Default)]
pub(crate) struct Traffic {
    sent: Direction,
    received: Direction,
}

#[derive(Default)]
struct Direction {
    bytes: AtomicU64,
    packets: AtomicU64,
}

/// What has gone in one direction.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct Travelled {
    /// With the headers of packets.
    pub bytes: u64,
    pub packets: u64,
}

impl Traffic {
    /// What was sent, and what was received.
    pub fn travelled(&self) -> (Travelled, Travelled) {
        (self.sent.travelled(), self.received.travelled())
    }

    pub fn sent_bytes(&self, bytes: usize) {
        add(&self.sent.bytes, bytes as u64);
    }

    pub fn sent_packet(&self) {
        add(&self.sent.packets, 1);
    }

    pub fn received_bytes(&self, bytes: usize) {
        add(&self.received.bytes, bytes as u64);
    }

    pub fn received_packet(&self) {
        add(&self.received.packets, 1);
    }
}

impl Direction {
    fn travelled(&self) -> Travelled {
        Travelled { bytes: self.bytes.load(Relaxed), packets: self.packets.load(Relaxed) }
    }
}

fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}
