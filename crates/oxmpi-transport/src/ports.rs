//! Ports: numbers by which a process accepts connections. Open ports are listed in the segment, so
//! that others see them without the help of the owner.

use crate::node_memory::NodeMemory;
use oxmpi_base::ids::{Peer, Slot};
use oxmpi_base::segment::PORTS;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

/// A port's number consists of its index in the table and how often it was opened, so that a name
/// is not used again soon.
const PLACE_BITS: u32 = PORTS.trailing_zeros();
const TIMES: u64 = (1 << (31 - PLACE_BITS)) - 1;

impl NodeMemory {
    /// Opens a port of this process; `None` when the table of the job is full. Numbers have 31
    /// bits.
    pub fn open_port(&self) -> Option<u32> {
        let owner = self.slot().index() as u64 + 1;
        self.segment().ports().iter().enumerate().find_map(|(place, port)| {
            let word = port.load(Relaxed);
            let times = ((word >> 32) + 1) & TIMES;
            let opened = word as u32 == 0 && port.compare_exchange(word, times << 32 | owner, AcqRel, Relaxed).is_ok();
            opened.then_some((times << PLACE_BITS) as u32 | place as u32)
        })
    }

    /// Closes a port; `false` when it is not open, or belongs to another process.
    pub fn close_port(&self, number: u32) -> bool {
        let word = word(number, self.slot());
        let port = &self.segment().ports()[place(number)];
        port.compare_exchange(word, word >> 32 << 32, AcqRel, Relaxed).is_ok()
    }

    /// Closes all of this process's ports.
    pub fn close_ports(&self) {
        let owner = self.slot().index() as u32 + 1;
        for port in self.segment().ports() {
            let word = port.load(Relaxed);
            if word as u32 == owner {
                // Only this process closes it.
                port.store(word >> 32 << 32, Relaxed);
            }
        }
    }

    /// Whether a process has opened a port with that number.
    pub fn is_port_open(&self, owner: Peer, number: u32) -> bool {
        let Some((segment, slot)) = self.home(owner) else { return false };
        segment.ports()[place(number)].load(Acquire) == word(number, slot)
    }
}

fn place(number: u32) -> usize {
    number as usize % PORTS
}

/// The word in the table while the port is open.
fn word(number: u32, slot: Slot) -> u64 {
    u64::from(number >> PLACE_BITS) << 32 | (slot.index() as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxmpi_base::address::JobId;
    use oxmpi_base::ids::WorldRank;
    use oxmpi_base::segment::Segment;
    use oxmpi_boot::nodes::NodeTable;
    use std::sync::Arc;

    #[test]
    fn ports_open_and_close_and_numbers_are_new() {
        let (_fd, segment) = Segment::create(2, 1).unwrap();
        let nodes = NodeTable::one_node(WorldRank::new(1).unwrap(), segment.ranks());
        let node = NodeMemory::attach(Arc::new(segment), JobId { inode: 1, holder: 1, fd: 1, host: 0 }, nodes);
        let (a, b) = (node.open_port().unwrap(), node.open_port().unwrap());
        assert!(
            a != b
                && node.is_port_open(Peer::at_slot(1), a)
                && node.is_port_open(Peer::at_slot(1), b)
                && !node.is_port_open(Peer::at_slot(0), a)
        );
        assert!(node.close_port(a) && !node.close_port(a) && !node.is_port_open(Peer::at_slot(1), a));
        let c = node.open_port().unwrap();
        assert!(c != a && place(c) == place(a));
        assert!(!node.is_port_open(Peer::at_slot(1), a) && node.is_port_open(Peer::at_slot(1), c));
        let all: Vec<u32> = std::iter::from_fn(|| node.open_port()).collect();
        assert_eq!(all.len(), PORTS - 2);
        assert!(all.iter().all(|&number| number <= i32::MAX as u32));
        node.close_ports();
        assert!(
            !node.is_port_open(Peer::at_slot(1), b)
                && !node.is_port_open(Peer::at_slot(1), all[7])
                && node.open_port().is_some()
        );
    }
}
