//! Names of processes, as types that the compiler keeps apart.
//!
//! A [`Rank`] is a process's number in a group or communicator, a [`WorldRank`] its number in its
//! job. A [`NodeId`] is a node of the job, and a [`Slot`] the index of a process in its node's
//! segment. A [`Peer`] is a process as this process knows it: its value means nothing elsewhere, so
//! it never leaves the process; messages name processes by their
//! [`ProcessId`](crate::address::ProcessId).
//!
//! Only `Ranks::peer` (oxmpi-core) converts a rank to a peer, and only `NodeTable::peer`
//! (oxmpi-boot) a world rank. The types have no arithmetic, and no conversions from plain numbers
//! except the functions here.

use std::fmt;

/// The number of a process in a group or a communicator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Rank(u32);

impl Rank {
    /// Groups have at most as many members as an `i32` counts, so every index of one is a rank.
    #[inline(always)]
    pub const fn new(index: usize) -> Rank {
        debug_assert!(index <= i32::MAX as usize);
        Rank(index as u32)
    }

    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The number of a process in its job: its rank in `MPI_COMM_WORLD`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct WorldRank(u32);

impl WorldRank {
    pub const FIRST: WorldRank = WorldRank(0);

    /// `None`: more ranks than a job can have.
    #[inline(always)]
    pub const fn new(index: usize) -> Option<WorldRank> {
        if index < FAR as usize { Some(WorldRank(index as u32)) } else { None }
    }

    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for WorldRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A node of a job: the processes of one node share memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct NodeId(u32);

impl NodeId {
    /// The node of a job that has only one.
    pub const FIRST: NodeId = NodeId(0);

    #[inline(always)]
    pub const fn new(number: u32) -> NodeId {
        NodeId(number)
    }

    #[inline(always)]
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The index of a process in the segment of its node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct Slot(u32);

impl Slot {
    pub const FIRST: Slot = Slot(0);

    /// `None`: more slots than a segment can have.
    #[inline(always)]
    pub const fn new(index: usize) -> Option<Slot> {
        if index < FAR as usize { Some(Slot(index as u32)) } else { None }
    }

    #[inline(always)]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A process that this process can name. One bit of the value says whether it is on this node (then
/// the value is its slot) or far (a number that the links assign), so that a message to a local
/// peer reads no table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Peer(u32);

/// Not bit 31: a peer must fit a nonnegative `i32`, because messages may be matched by it.
const FAR: u32 = 1 << 30;

impl Peer {
    /// The process of the own job with this slot of the node.
    #[inline(always)]
    pub const fn local(slot: Slot) -> Peer {
        Peer(slot.0)
    }

    /// The process with this slot of the node, by its index. Indices come from tables of the
    /// segment's ranks.
    #[inline(always)]
    pub const fn at_slot(index: usize) -> Peer {
        debug_assert!(index < FAR as usize);
        Peer(index as u32 & (FAR - 1))
    }

    /// A process that does not share the memory of the own job; the links choose the index.
    #[inline(always)]
    pub const fn far(index: usize) -> Peer {
        debug_assert!(index < FAR as usize);
        Peer(index as u32 & (FAR - 1) | FAR)
    }

    /// Its slot, if it is a process of the own job on this node.
    #[inline(always)]
    pub const fn slot(self) -> Option<Slot> {
        if self.0 < FAR { Some(Slot(self.0)) } else { None }
    }

    #[inline(always)]
    pub const fn is_far(self) -> bool {
        self.0 >= FAR
    }

    /// The index of a far peer.
    #[inline(always)]
    pub const fn far_index(self) -> Option<usize> {
        if self.0 >= FAR { Some((self.0 & (FAR - 1)) as usize) } else { None }
    }

    /// The source in a message's envelope, for messages that are matched by process instead of by
    /// rank.
    #[inline(always)]
    pub const fn as_source(self) -> i32 {
        self.0 as i32
    }

    /// The inverse of [`Peer::as_source`]; `None` for a wildcard.
    pub const fn from_source(source: i32) -> Option<Peer> {
        if source >= 0 { Some(Peer(source as u32)) } else { None }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.far_index() {
            None => write!(f, "process {} of this node", self.0),
            Some(index) => write!(f, "far process {index}"),
        }
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.far_index() {
            None => write!(f, "Peer({})", self.0),
            Some(index) => write!(f, "Peer(far {index})"),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn local_and_far_are_told_apart() {
        let near = Peer::local(Slot::new(7).unwrap());
        assert_eq!((near.slot().map(Slot::index), near.far_index(), near.is_far()), (Some(7), None, false));
        let far = Peer::far(7);
        assert_eq!((far.slot(), far.far_index(), far.is_far()), (None, Some(7), true));
        assert_ne!(near, far);
        assert_eq!(near, Peer::at_slot(7));
        assert_eq!(Slot::new(FAR as usize), None);
    }

    #[test]
    fn numbers_that_are_too_large_are_refused() {
        assert_eq!(WorldRank::new(FAR as usize), None);
        assert_eq!(WorldRank::new(FAR as usize - 1).map(WorldRank::index), Some(FAR as usize - 1));
        assert_eq!((Rank::new(3).index(), NodeId::new(u32::MAX).number()), (3, u32::MAX));
    }

    #[test]
    fn every_peer_is_a_source() {
        for peer in [Peer::at_slot(0), Peer::at_slot(FAR as usize - 1), Peer::far(0), Peer::far(FAR as usize - 1)] {
            assert!(peer.as_source() >= 0);
            assert_eq!(Peer::from_source(peer.as_source()), Some(peer));
        }
        assert_eq!(Peer::from_source(-1), None);
    }
}
