//! A simulated network for tests: ranks are threads, each on a "node" of its own, so that no two
//! share memory. A seed decides everything: which rank runs, how long a packet takes, which packets
//! are refused or split, and which rank dies when.
//!
//! ```text
//! mod.rs      the network: whose turn it is, deaths, and the end of a run in which nothing moves any more
//! faults.rs   what a seed makes the network do
//! link.rs     the two ends of a link
//! ```
//!
//! Only one rank runs at a time. It ends its turn when it polls for packets, and the seed chooses
//! the next rank; so a run with the same seed and the same program is the same run. Packets of a
//! pair keep their order; others overtake each other. This module waits only for turns, and is not
//! part of the product.

mod faults;
mod link;

pub use faults::{Faults, Random};
pub(crate) use link::{SimNode, SimRx, SimTx};

use crate::end::Life;
use link::Pair;
use oxmpi_base::ids::Peer;
use std::fmt::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The network between the ranks of a test.
#[derive(Clone)]
pub struct Network {
    inner: Arc<Inner>,
}

/// The panic payload of a rank's thread that the seed kills.
pub struct Killed;

/// The panic payload of a rank's thread after the run has failed elsewhere.
pub struct Stopped;

struct Inner {
    seed: u64,
    faults: Faults,
    state: Mutex<State>,
    /// For each rank: signals its turn.
    turns: Vec<Condvar>,
}

struct State {
    random: Random,
    /// Turns since the start.
    turns: u64,
    /// The time in turns. It runs ahead when all ranks wait for packets in flight.
    clock: u64,
    running: usize,
    ranks: Vec<RankState>,
    /// From one rank to another: `from * ranks + to`.
    pairs: Vec<Pair>,
    /// The turn in which a packet last moved.
    moved: u64,
    failure: Option<String>,
}

struct RankState {
    life: Life,
    /// Takes no turns any more.
    ended: bool,
    died: u64,
    /// Its position in the program, for the report.
    place: String,
}

/// After so many turns without a packet sent or received, the run is stuck.
const QUIET_TURNS: u64 = 30_000;

/// After so many turns per rank without a packet, all ranks seem to wait for packets in flight, and
/// the time runs ahead.
const IDLE_TURNS: u64 = 8;

/// A rank that keeps its turn longer than this does not poll for packets any more.
const LONGEST_TURN: Duration = Duration::from_secs(60);

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "simulated network of {} ranks, seed {}", self.ranks(), self.inner.seed)
    }
}

impl Network {
    /// A network with random faults from a seed.
    pub fn new(seed: u64, ranks: usize) -> Network {
        Network::with_faults(seed, ranks, Faults::from_seed(seed))
    }

    pub fn with_faults(seed: u64, ranks: usize, faults: Faults) -> Network {
        let state = State {
            random: Random(seed ^ 0x5eed),
            turns: 0,
            clock: 0,
            running: 0,
            ranks: (0..ranks)
                .map(|_| RankState { life: Life::Running, ended: false, died: 0, place: String::new() })
                .collect(),
            pairs: (0..ranks * ranks).map(|_| Pair::default()).collect(),
            moved: 0,
            failure: None,
        };
        let turns = (0..ranks).map(|_| Condvar::new()).collect();
        Network { inner: Arc::new(Inner { seed, faults, state: Mutex::new(state), turns }) }
    }

    pub(crate) fn ranks(&self) -> usize {
        self.inner.ranks()
    }

    pub(crate) fn node(&self, me: usize) -> SimNode {
        SimNode::new(Arc::clone(&self.inner), me)
    }

    pub(crate) fn receiver(&self, from: usize, me: usize) -> SimRx {
        SimRx::new(Arc::clone(&self.inner), from, me)
    }

    /// Rank `me`'s name for rank `other`.
    pub fn peer(&self, me: usize, other: usize) -> Peer {
        if me == other { Peer::at_slot(0) } else { Peer::far(other) }
    }

    /// Waits for the rank's first turn.
    pub fn start(&self, me: usize) {
        let state = self.inner.lock();
        self.inner.wait_for_turn(state, me);
    }

    /// The rank sends and receives nothing more, but still answers.
    pub fn leave(&self, me: usize) {
        let mut state = self.inner.lock();
        state.moved = state.turns;
        state.ranks[me].life = Life::Finalized;
    }

    /// Whether every rank has left or is dead.
    pub fn is_over(&self) -> bool {
        self.inner.lock().ranks.iter().all(|rank| rank.life != Life::Running)
    }

    /// The rank's thread ends and needs no turns any more.
    pub fn end(&self, me: usize) {
        let mut state = self.inner.lock();
        state.ranks[me].ended = true;
        self.inner.pass_on(&mut state, me);
    }

    /// Records where a rank is, for the report of a failed run.
    pub fn set_place(&self, me: usize, place: String) {
        self.inner.lock().ranks[me].place = place;
    }

    /// Ends the run: all ranks unwind at their next turn. The first reason stays.
    pub fn fail(&self, why: &str) {
        let mut state = self.inner.lock();
        self.inner.fail(&mut state, why);
    }

    /// Why the run has failed, with the seed and the position of every rank.
    pub fn failure(&self) -> Option<String> {
        self.inner.lock().failure.clone()
    }

    /// How many turns the run took so far.
    pub fn turns(&self) -> u64 {
        self.inner.lock().turns
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A rank that panics with the lock has failed the test; the others only have to end.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ranks(&self) -> usize {
        self.turns.len()
    }

    /// The rank polls for packets: others may run.
    fn take_turn(&self, me: usize) {
        let mut state = self.lock();
        state.turns += 1;
        state.clock += 1;
        if state.ranks[me].ended {
            return;
        }
        if self.faults.death.is_some_and(|(rank, turn)| rank == me && state.turns >= turn) {
            self.die(state, me);
        }
        let quiet = state.turns - state.moved;
        if quiet > QUIET_TURNS {
            self.fail(&mut state, "nothing moves any more");
        } else if quiet > IDLE_TURNS * self.ranks() as u64 {
            let later = state.pairs.iter().filter_map(Pair::arrival).filter(|&arrival| arrival > state.clock);
            state.clock = later.min().unwrap_or(state.clock);
        }
        if state.failure.is_none() && !state.random.happens(self.faults.keep) {
            self.pass_on(&mut state, me);
        }
        self.wait_for_turn(state, me);
    }

    /// Gives the turn to a rank that the seed chooses.
    fn pass_on(&self, state: &mut State, me: usize) {
        let waiting: Vec<usize> = (0..self.ranks()).filter(|&rank| !state.ranks[rank].ended).collect();
        if waiting.is_empty() {
            return;
        }
        state.running = waiting[state.random.below(waiting.len())];
        if state.running != me {
            self.turns[state.running].notify_one();
        }
    }

    fn wait_for_turn(&self, mut state: MutexGuard<'_, State>, me: usize) {
        while state.running != me && state.failure.is_none() {
            let before = state.turns;
            let (again, timeout) =
                self.turns[me].wait_timeout(state, LONGEST_TURN).unwrap_or_else(PoisonError::into_inner);
            state = again;
            if timeout.timed_out() && state.turns == before && state.running != me {
                let holder = state.running;
                self.fail(&mut state, &format!("rank {holder} does not look for packets any more"));
            }
        }
        if state.failure.is_some() {
            drop(state);
            std::panic::resume_unwind(Box::new(Stopped));
        }
    }

    /// Kills the rank: packets in flight to it are lost, and so are some of those from it.
    fn die(&self, mut state: MutexGuard<'_, State>, me: usize) -> ! {
        let ranks = self.ranks();
        let State { random, pairs, .. } = &mut *state;
        for other in (0..ranks).filter(|&other| other != me) {
            pairs[me * ranks + other].cut_off(random);
            pairs[other * ranks + me].lose_all();
        }
        let clock = state.clock;
        state.moved = state.turns;
        let rank = &mut state.ranks[me];
        (rank.life, rank.died, rank.ended) = (Life::Dead, clock, true);
        self.pass_on(&mut state, me);
        drop(state);
        std::panic::resume_unwind(Box::new(Killed));
    }

    /// Whether `me` knows that a rank is dead. The packets that it sent before and that were not
    /// lost come first.
    fn is_known_dead(&self, state: &State, me: usize, rank: usize) -> bool {
        let RankState { life, died, .. } = state.ranks[rank];
        let told = state.clock >= died + u64::from(self.faults.delay);
        life == Life::Dead && told && state.pairs[rank * self.ranks() + me].is_empty()
    }

    fn fail(&self, state: &mut State, why: &str) {
        if state.failure.is_none() {
            let mut text = format!("simulated network, seed {}: {why} (turn {})", self.seed, state.turns);
            for (number, rank) in state.ranks.iter().enumerate() {
                let RankState { life, place, .. } = rank;
                // Writing to a string does not fail.
                let _ = write!(text, "\n  rank {number}: {life:?}, {place}");
                for to in 0..self.ranks() {
                    let pair = &state.pairs[number * self.ranks() + to];
                    if !pair.is_empty() {
                        let _ = write!(text, "; {} packets on their way to rank {to}", pair.len());
                    }
                }
            }
            let _ = write!(text, "\n  {:?}", self.faults);
            state.failure = Some(text);
        }
        self.turns.iter().for_each(Condvar::notify_all);
    }
}
