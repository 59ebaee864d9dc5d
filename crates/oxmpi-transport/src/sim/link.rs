//! The two ends of a simulated link. A packet is copied out of the sender's staging buffer and
//! stays in the network until it arrives. It has the same layout as in a ring, so that the
//! receiving side is the same code.

use super::faults::Random;
use super::{Inner, State};
use crate::end::{End, Life};
use oxmpi_base::ids::Peer;
use oxmpi_base::ring;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Arc;

/// The packets in flight from one rank to another.
#[derive(Default)]
pub(super) struct Pair {
    queue: VecDeque<InFlight>,
    /// Cells of those packets, and of the packet that the receiver reads.
    cells: usize,
    /// The receiver asks for offers only.
    pressure: bool,
}

struct InFlight {
    /// The turn at which it arrives.
    ready: u64,
    user: u16,
    cells: Box<[Cell]>,
}

/// As in a ring: a word, which the network does not use, then the packet's bytes.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Cell([u8; 64]);

const WORD: usize = 8;

impl Pair {
    pub fn is_empty(&self) -> bool {
        self.cells == 0
    }

    /// When the next packet arrives.
    pub fn arrival(&self) -> Option<u64> {
        self.queue.front().map(|packet| packet.ready)
    }

    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// The sender has died: the packets from a random point on are lost.
    pub fn cut_off(&mut self, random: &mut Random) {
        self.lose_from(random.below(self.queue.len() + 1));
    }

    pub fn lose_all(&mut self) {
        self.lose_from(0);
    }

    fn lose_from(&mut self, first: usize) {
        let lost: usize = self.queue.drain(first..).map(|packet| packet.cells.len()).sum();
        self.cells -= lost;
    }
}

/// What the links of one rank know about the network.
pub(crate) struct SimNode {
    network: Arc<Inner>,
    me: usize,
}

impl SimNode {
    pub(super) fn new(network: Arc<Inner>, me: usize) -> SimNode {
        SimNode { network, me }
    }

    pub fn take_turn(&self) {
        self.network.take_turn(self.me);
    }

    pub fn max_part(&self) -> usize {
        self.network.faults.part
    }

    /// The link to another rank; `None` for a peer that does not exist.
    pub fn open(&self, peer: Peer) -> Option<SimTx> {
        let to = peer.far_index().filter(|&to| to < self.network.ranks() && to != self.me)?;
        Some(SimTx { network: Arc::clone(&self.network), me: self.me, to, staging: Vec::new() })
    }

    /// Whether a rank is running, as far as this one knows.
    pub fn life(&self, peer: Peer) -> Life {
        let state = self.network.lock();
        match peer.far_index().filter(|&rank| rank < self.network.ranks()) {
            Some(rank) if self.network.is_known_dead(&state, self.me, rank) => Life::Dead,
            Some(rank) if state.ranks[rank].life == Life::Finalized => Life::Finalized,
            _ => Life::Running,
        }
    }

    /// The ranks that this one knows to have left: everything that they sent has arrived.
    pub fn finalized(&self) -> Vec<Peer> {
        let state = self.network.lock();
        let ranks = self.network.ranks();
        let has_left =
            |&rank: &usize| state.ranks[rank].life == Life::Finalized && state.pairs[rank * ranks + self.me].is_empty();
        (0..ranks).filter(|&rank| rank != self.me).filter(has_left).map(Peer::far).collect()
    }

    /// The ranks that this one knows to be dead.
    pub fn dead(&self) -> Vec<Peer> {
        let state = self.network.lock();
        let others = (0..self.network.ranks()).filter(|&rank| rank != self.me);
        others.filter(|&rank| self.network.is_known_dead(&state, self.me, rank)).map(Peer::far).collect()
    }
}

/// The sending end.
pub(crate) struct SimTx {
    network: Arc<Inner>,
    me: usize,
    to: usize,
    staging: Vec<Cell>,
}

impl SimTx {
    fn pair<'a>(&self, state: &'a mut State) -> &'a mut Pair {
        &mut state.pairs[self.me * self.network.ranks() + self.to]
    }

    pub fn under_pressure(&self) -> bool {
        self.pair(&mut self.network.lock()).pressure
    }

    fn send(&self, user: u16, cells: Box<[Cell]>) {
        let mut state = self.network.lock();
        let faults = &self.network.faults;
        let most = if state.random.happens(20) { faults.long_delay } else { faults.delay };
        let ready = state.clock + state.random.below(most as usize + 1) as u64;
        state.moved = state.turns;
        let is_lost = state.ranks[self.to].life == Life::Dead;
        let pair = self.pair(&mut state);
        if !is_lost {
            pair.cells += cells.len();
            pair.queue.push_back(InFlight { ready, user, cells });
        }
    }
}

impl End for SimTx {
    fn reserve(&mut self, cells: usize) -> Option<NonNull<u8>> {
        let mut state = self.network.lock();
        let refused = state.random.happens(self.network.faults.refusals);
        let pair = self.pair(&mut state);
        if refused || (pair.cells > 0 && pair.cells + cells > self.network.faults.capacity) {
            return None;
        }
        drop(state);
        self.staging.clear();
        self.staging.resize(cells, Cell([0; 64]));
        NonNull::new(self.staging.as_mut_ptr().cast::<u8>().wrapping_add(WORD))
    }

    fn publish(&mut self, cells: usize, user: u16) {
        self.send(user, self.staging[..cells].into());
    }

    /// The receiver may get a part of the bytes first, as from a byte stream.
    fn publish_bulk(&mut self, cells: usize, user: u16) {
        let split = {
            let mut state = self.network.lock();
            let happens = cells > 2 && state.random.happens(self.network.faults.splits);
            happens.then(|| 2 + state.random.below(cells - 2))
        };
        match split {
            Some(at) => {
                let rest = [&self.staging[..1], &self.staging[at..cells]].concat();
                self.send(user, self.staging[..at].into());
                self.send(user, rest.into());
            }
            None => self.publish(cells, user),
        }
    }
}

/// The receiving end.
pub(crate) struct SimRx {
    network: Arc<Inner>,
    from: usize,
    me: usize,
    /// The packet that the receiver reads.
    current: Option<InFlight>,
}

impl SimRx {
    pub(super) fn new(network: Arc<Inner>, from: usize, me: usize) -> SimRx {
        SimRx { network, from, me, current: None }
    }

    fn pair<'a>(&self, state: &'a mut State) -> &'a mut Pair {
        &mut state.pairs[self.from * self.network.ranks() + self.me]
    }

    pub fn peek(&mut self) -> Option<ring::Packet> {
        if self.current.is_none() {
            let mut state = self.network.lock();
            let now = state.clock;
            let pair = self.pair(&mut state);
            if pair.arrival().is_some_and(|arrival| arrival <= now) {
                self.current = pair.queue.pop_front();
            }
        }
        let InFlight { user, cells, .. } = self.current.as_mut()?;
        let bytes = NonNull::new(cells.as_mut_ptr().cast::<u8>().wrapping_add(WORD))?;
        Some(ring::Packet { user: *user, cells: cells.len(), bytes })
    }

    /// Returns the packet that was read.
    pub fn advance(&mut self, cells: usize) -> bool {
        self.current = None;
        let mut state = self.network.lock();
        state.moved = state.turns;
        self.pair(&mut state).cells -= cells;
        false
    }

    pub fn set_pressure(&self, on: bool) {
        self.pair(&mut self.network.lock()).pressure = on;
    }
}
