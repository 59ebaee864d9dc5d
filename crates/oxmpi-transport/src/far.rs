//! Links to peers that are not ranks of this job on this node. They are opened at first contact. To
//! add a kind of link, add a variant to [`Far`] and [`FarRx`] and implement [`End`]; nothing above
//! changes.

use crate::end::End;
#[cfg(feature = "sim")]
use crate::sim::{SimRx, SimTx};
use crate::tcp::{TcpRx, TcpTx};
use oxmpi_abi::Error;
use oxmpi_base::ring::{Consumer, Packet, Producer};
use std::ptr::NonNull;

/// How packets reach one far peer.
#[derive(Default)]
pub(crate) enum Far {
    #[default]
    Unopened,
    /// A process of another job on this node, through a ring in its job's memory.
    Foreign(Box<Producer>),
    /// A rank of another pretended node, through a ring of the segment that all pretended nodes
    /// share.
    Pretended(Box<Producer>),
    #[cfg(feature = "sim")]
    Sim(SimTx),
    /// A rank of another node.
    Tcp(Box<TcpTx>),
    /// The peer has died or its link is broken, for this reason: it takes no more packets.
    Dead(Error),
}

/// How packets of one far peer arrive.
#[derive(Default)]
pub(crate) enum FarRx {
    #[default]
    None,
    /// Through a ring: a process of another job on this node, or a rank of another pretended node.
    Ring(Box<Consumer>),
    #[cfg(feature = "sim")]
    Sim(SimRx),
    Tcp(Box<TcpRx>),
}

impl End for Producer {
    #[inline(always)]
    fn reserve(&mut self, cells: usize) -> Option<NonNull<u8>> {
        Producer::reserve(self, cells)
    }

    #[inline(always)]
    fn publish(&mut self, cells: usize, user: u16) {
        Producer::publish(self, cells, user);
    }
}

impl End for Far {
    fn reserve(&mut self, cells: usize) -> Option<NonNull<u8>> {
        match self {
            Far::Foreign(tx) | Far::Pretended(tx) => tx.reserve(cells),
            #[cfg(feature = "sim")]
            Far::Sim(tx) => tx.reserve(cells),
            _ => None,
        }
    }

    fn publish(&mut self, cells: usize, user: u16) {
        match self {
            Far::Foreign(tx) | Far::Pretended(tx) => tx.publish(cells, user),
            #[cfg(feature = "sim")]
            Far::Sim(tx) => tx.publish(cells, user),
            _ => {}
        }
    }

    fn publish_bulk(&mut self, cells: usize, user: u16) {
        match self {
            #[cfg(feature = "sim")]
            Far::Sim(tx) => tx.publish_bulk(cells, user),
            _ => self.publish(cells, user),
        }
    }
}

impl Far {
    /// Whether the peer asks for offers instead of messages that it would have to store.
    pub fn under_pressure(&self) -> bool {
        match self {
            Far::Foreign(tx) | Far::Pretended(tx) => tx.under_pressure(),
            #[cfg(feature = "sim")]
            Far::Sim(tx) => tx.under_pressure(),
            Far::Tcp(tx) => tx.under_pressure(),
            _ => false,
        }
    }

    /// The ring, where there is one.
    pub fn ring(&mut self) -> Option<&mut Producer> {
        match self {
            Far::Foreign(tx) | Far::Pretended(tx) => Some(tx),
            _ => None,
        }
    }
}

impl FarRx {
    pub fn is_open(&self) -> bool {
        !matches!(self, FarRx::None)
    }

    pub fn peek(&mut self) -> Option<Packet> {
        match self {
            FarRx::None => None,
            FarRx::Ring(rx) => rx.peek(),
            #[cfg(feature = "sim")]
            FarRx::Sim(rx) => rx.peek(),
            FarRx::Tcp(rx) => rx.peek(),
        }
    }

    /// Returns the cells of the last packet to the peer; `true` when the peer may wait for them and
    /// must be woken.
    pub fn advance(&mut self, cells: usize) -> bool {
        match self {
            FarRx::None => false,
            FarRx::Ring(rx) => rx.advance(cells),
            #[cfg(feature = "sim")]
            FarRx::Sim(rx) => rx.advance(cells),
            FarRx::Tcp(rx) => {
                rx.advance();
                false
            }
        }
    }

    pub fn set_pressure(&mut self, on: bool) {
        match self {
            FarRx::None => {}
            FarRx::Ring(rx) => rx.set_pressure(on),
            #[cfg(feature = "sim")]
            FarRx::Sim(rx) => rx.set_pressure(on),
            FarRx::Tcp(rx) => rx.set_pressure(on),
        }
    }

    /// Whether the peer wrote something that is no packet.
    pub fn is_broken(&self) -> bool {
        matches!(self, FarRx::Ring(rx) if rx.is_broken())
    }
}
