//! What a link can do for a pair of processes, and the decisions that follow from it. Every limit on how messages go is
//! here and nowhere else: fixed per kind of link, so that both sides of a pair agree on it. Only direct copies may be
//! lost later, when the kernel refuses one.
//!
//! Nothing here sends. The engine asks [`Outgoing::caps`](crate::Outgoing::caps) and decides how a message begins (`engine/protocol.rs` in
//! oxmpi-core); [`bulk`] decides how the bytes of an offer come to their receiver.

use crate::packet::{BULK_OFFSET, PART_UNIT};
use crate::tcp::frame;
use oxmpi_base::ring;
use oxmpi_coll::tuning::Limit;

/// Why something was decided, in words that follow "because".
pub type Why = &'static str;

/// What is the same for all messages of a pair of processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caps {
    /// The link, in words.
    pub link: &'static str,
    /// The longest part of a message that one packet takes: a multiple of [`PART_UNIT`].
    pub part: usize,
    /// The longest message that is sent without asking its receiver.
    pub eager: usize,
    /// The longest message whose bytes travel with its announcement.
    pub with_bytes: usize,
    /// The same while the receiver stores as many bytes of ours as it wants to.
    pub with_bytes_pressed: usize,
    /// How an eager message is cut into packets.
    pub cut: Cut,
    /// Bytes of a packet of a stream; `None`: that follows from the length of the stream.
    pub bulk: Option<usize>,
    pub direct: Direct,
}

/// How an eager message is cut into packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    /// Up to here it is not worth cutting.
    pub whole: usize,
    /// The first packet: enough to be worth it, little enough that the receiver starts soon.
    pub first: usize,
    /// The packets after the first.
    pub next: usize,
}

/// Whether the two processes may copy between their memories.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direct {
    Allowed,
    /// Switched off, or the kernel has refused a copy.
    Forbidden,
    /// They are on different nodes.
    Apart,
}

/// Through shared memory a message of at most this length goes through the ring at once; the limit of a machine may be lower.
/// Beyond, two copies cost more than asking the receiver and copying from both sides.
pub const RING_EAGER: usize = Limit::Eager.most() as usize;
/// Of a message through a ring, the first packet and the ones after it. Packets but the last fill their cells, since a
/// receiver takes what a packet has room for.
pub const RING_PART: usize = 4096;
const RING_CUT: Cut = Cut { whole: RING_PART + 2048, first: RING_PART, next: RING_PART };
const _: () = assert!(RING_PART.is_multiple_of(PART_UNIT));

/// What a TCP link can do.
pub(crate) const TCP: Caps = Caps {
    link: "a TCP connection",
    part: frame::MOST_EAGER,
    eager: frame::MOST_EAGER,
    with_bytes: frame::MOST_WITH_BYTES,
    with_bytes_pressed: 64,
    cut: Cut { whole: frame::MOST_EAGER, first: frame::MOST_EAGER, next: frame::MOST_EAGER },
    bulk: Some(frame::MOST_BULK),
    direct: Direct::Apart,
};

/// What a link over libfabric can do: it is a TCP link in all but what carries the bytes.
pub(crate) const FABRIC: Caps = Caps { link: "a stream over libfabric", ..TCP };

/// The links of a process by their kinds.
pub(crate) struct CapsTable {
    /// A ring in memory that both share.
    pub ring: Caps,
    /// A ring, though the two are on different pretended nodes.
    pub pretended: Caps,
    #[cfg(feature = "sim")]
    pub sim: Caps,
}

impl CapsTable {
    pub fn new(ring_cells: usize) -> CapsTable {
        // Parts of a message may not fill the ring, or two ranks that send to each other would wait for each other.
        let part = ring::bytes_in(ring::max_packet(ring_cells)) - BULK_OFFSET;
        let ring = Caps {
            link: "a ring in shared memory",
            part,
            // Several of them have room in a ring.
            eager: RING_EAGER.min(ring::bytes_in(ring_cells) / 3),
            with_bytes: RING_PART.min(part),
            with_bytes_pressed: RING_PART.min(part),
            cut: Cut {
                whole: RING_CUT.whole.min(part),
                first: RING_CUT.first.min(part),
                next: RING_CUT.next.min(part),
            },
            bulk: None,
            direct: Direct::Allowed,
        };
        let pretended = Caps { link: "a ring between pretended nodes", direct: Direct::Apart, ..ring };
        CapsTable {
            ring,
            pretended,
            #[cfg(feature = "sim")]
            sim: Caps { link: "a simulated network", direct: Direct::Apart, ..ring },
        }
    }

    /// The same with packets of another length, as a simulated network has them.
    #[cfg(feature = "sim")]
    pub fn set_sim_part(&mut self, part: usize) {
        let Caps { cut, with_bytes, .. } = self.ring;
        self.sim.part = part;
        self.sim.with_bytes = with_bytes.min(part);
        self.sim.with_bytes_pressed = with_bytes.min(part);
        self.sim.cut = Cut { whole: cut.whole.min(part), first: cut.first.min(part), next: cut.next.min(part) };
    }
}

/// How the bytes of an offer come to their receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bulk {
    /// Both sides copy between their memories.
    Copy,
    /// The sender sends them as packets.
    Stream,
}

/// Decides between the two. `sender`, `receiver`: whether the bytes of that side lie where the other can find them.
pub(crate) fn bulk(caps: &Caps, sender: bool, receiver: impl FnOnce() -> bool) -> (Bulk, Why) {
    match caps.direct {
        Direct::Apart => (Bulk::Stream, "the two processes are on different nodes"),
        Direct::Forbidden => (Bulk::Stream, "direct copies are switched off, or the kernel refuses them"),
        Direct::Allowed if !sender => (Bulk::Stream, "the sender's buffer has many short pieces, or it may not copy"),
        Direct::Allowed if !receiver() => (Bulk::Stream, "the receiver's buffer has many short pieces"),
        Direct::Allowed => (Bulk::Copy, "each side can reach the memory of the other"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_a_ring_follow_its_size() {
        let CapsTable { ring, pretended, .. } = CapsTable::new(1024);
        assert_eq!(CapsTable::new(2047).ring.eager, RING_EAGER, "with few ranks");
        assert_eq!((ring.eager, ring.with_bytes, ring.cut), (21842, 4096, RING_CUT));
        assert_eq!((pretended.eager, pretended.direct), (21842, Direct::Apart));
        let small = CapsTable::new(64).ring;
        assert!(small.part < RING_PART && small.part.is_multiple_of(PART_UNIT));
        assert_eq!((small.with_bytes, small.cut.first), (small.part, small.part));
        assert!(small.eager < 64 * 64 / 2, "two have room in the ring");
    }

    #[test]
    fn bytes_are_copied_directly_only_where_both_sides_can() {
        let caps = CapsTable::new(1024).ring;
        let of = |direct, sender, receiver| bulk(&Caps { direct, ..caps }, sender, || receiver).0;
        assert_eq!(of(Direct::Allowed, true, true), Bulk::Copy);
        for (direct, sender, receiver) in [
            (Direct::Forbidden, true, true),
            (Direct::Apart, true, true),
            (Direct::Allowed, false, true),
            (Direct::Allowed, true, false),
        ] {
            assert_eq!(of(direct, sender, receiver), Bulk::Stream);
        }
        bulk(&Caps { direct: Direct::Apart, ..caps }, true, || unreachable!("no list is made in vain"));
    }
}
