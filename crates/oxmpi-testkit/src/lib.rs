//! Ranks as threads of one process, each with an engine of its own, so that tests in Rust can send
//! messages without C and without `mpirun`. Only tests depend on this crate.
//!
//! [`run`] starts the ranks over one of the [`Link`]s; [`suite`] has what every link must do. Over
//! the simulated network a failure prints its seed: `OXMPI_SIM_SEED=N` runs only that seed,
//! `OXMPI_SIM_SEEDS=N` so many instead of a few. [`program`] has random programs of messages;
//! [`model`] compares their results with those of a serial run. [`mixed`] has random programs of the
//! whole interface, in which each rank is a whole library ([`world`]).
//!
//! The tests were tested: the product was broken on purpose, and each time one of them failed.
//!
//! | what was broken | which test failed |
//! |---|---|
//! | of two messages that wait, a receive takes the later one | `sim::many_cancels`, `sim::matched_probe`, random messages |
//! | a message passes others to the same rank that wait for room | `sim::ordering`, random messages |
//! | a withdrawn message is not withdrawn at its receiver | `sim::many_cancels`, random messages |
//! | a part of a message with gaps begins one byte late | `types_with_gaps` |
//! | the operands of an operation that does not commute are swapped | mixed programs on both grounds |
//! | a fence of a window does not wait | mixed programs in shared memory |
//! | the two copies of a window's memory are not compared | mixed programs in shared memory |
//! | the death of a rank is not looked for | mixed programs on a simulated network |
//! | messages are stored without limit | `flood_with_bounded_memory` |
//! | a view of a file begins at 0 instead of its displacement | mixed programs on both grounds |

pub mod mixed;
pub mod model;
pub mod numbered;
pub mod program;
pub mod random;
pub mod runner;
pub mod suite;
pub mod tcp;
pub mod world;

use oxmpi_abi::Error;
use oxmpi_abi::constants::MPI_ERR_PROC_ABORTED;
use oxmpi_base::address::JobId;
use oxmpi_base::segment::Segment;
use oxmpi_core::engine::{Engine, Mode, OpId, Outcome, Route};
use oxmpi_core::matching::Pattern;
use oxmpi_datatype::{Signature, Source, Target};
use oxmpi_transport::sim::{Faults, Killed, Network, Stopped};
use oxmpi_transport::{Links, Peer, Slot};
use std::any::Any;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;

pub const ANY_SOURCE: i32 = -1;
pub const ANY_TAG: i32 = -2;

/// How the ranks of a test reach each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// One rank that sends to itself.
    Loopback,
    /// Shared memory, with long messages copied from process to process.
    Shm,
    /// Shared memory where the kernel forbids such copies, so that long messages are streamed.
    ShmStreamed,
    /// TCP over the loopback interface: each rank is on a node of its own.
    Tcp,
    /// Streams over a provider of libfabric, which TCP links go on to.
    Fabric(&'static str),
    /// A simulated network with random faults from a seed.
    Sim(u64),
}

impl Link {
    /// As many ranks as asked for, where the link connects several.
    pub fn ranks(self, wanted: usize) -> usize {
        if self == Link::Loopback { 1 } else { wanted }
    }

    /// The longest message in a test of many messages: a simulated network is slow.
    pub fn most(self) -> usize {
        if let Link::Sim(_) = self { 30_000 } else { 600_000 }
    }

    /// How often to repeat something that is repeated `usual` times on fast links.
    pub fn times(self, usual: usize) -> usize {
        if let Link::Sim(_) = self { usual.div_ceil(10) } else { usual }
    }
}

/// The providers of libfabric that are there: `tcp`, or those that the environment names, with commas between them.
pub fn fabrics() -> impl Iterator<Item = Link> {
    let names = std::env::var("OXMPI_TEST_PROVIDERS").unwrap_or_else(|_| "tcp".into());
    let names: Vec<&'static str> = names.split(',').map(|name| &*String::from(name).leak()).collect();
    names.into_iter().filter_map(|name| match oxmpi_fabric::Endpoint::open(Some(name), &oxmpi_fabric::Seat::own(0)) {
        Ok(_) => Some(Link::Fabric(name)),
        Err(error) => {
            println!("skipped, because {error}");
            None
        }
    })
}

/// The seeds for a test over the simulated network: as many as usual, or as the environment says.
pub fn seeds(usual: u64) -> impl Iterator<Item = u64> {
    let number = |name| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    match number("OXMPI_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("OXMPI_SIM_SEEDS").unwrap_or(usual),
    }
}

/// One rank of a test.
pub struct Rank {
    pub me: usize,
    pub ranks: usize,
    pub engine: Engine,
    /// Every other rank is on another node.
    is_alone: bool,
    network: Option<Network>,
}

/// Runs `body` once for every rank, each on a thread. Ends when all have ended and all messages have left.
pub fn run(link: Link, ranks: usize, body: impl Fn(&mut Rank) + Sync) {
    match link {
        Link::Sim(seed) => run_sim(&Network::new(seed, ranks), ranks, body),
        Link::Tcp => tcp::run(ranks, None, body),
        Link::Fabric(provider) => tcp::run(ranks, Some(provider), body),
        Link::Loopback | Link::Shm | Link::ShmStreamed => run_shm(link != Link::ShmStreamed, ranks, body),
    }
}

/// As [`run`], on a network with chosen faults; on other links `change` is ignored.
pub fn run_with(link: Link, ranks: usize, change: impl Fn(&mut Faults), body: impl Fn(&mut Rank) + Sync) {
    let Link::Sim(seed) = link else { return run(link, ranks, body) };
    let mut faults = Faults::from_seed(seed);
    change(&mut faults);
    run_sim(&Network::with_faults(seed, ranks, faults), ranks, body);
}

fn run_sim(network: &Network, ranks: usize, body: impl Fn(&mut Rank) + Sync) {
    if let Err(text) = try_run(network, ranks, body) {
        panic!("{text}");
    }
}

/// Runs `body` over a simulated network. An error is the first failure of a rank, with the seed and
/// the position of each.
pub fn try_run(network: &Network, ranks: usize, body: impl Fn(&mut Rank) + Sync) -> Result<(), String> {
    let body = &body;
    std::thread::scope(|scope| {
        for me in 0..ranks {
            scope.spawn(move || {
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| run_rank(network, me, ranks, body)))
                    && !payload.is::<Killed>()
                    && !payload.is::<Stopped>()
                {
                    network.fail(&format!("rank {me} has failed: {}", text_of(&*payload)));
                }
                network.end(me);
            });
        }
    });
    network.failure().map_or(Ok(()), Err)
}

fn run_rank(network: &Network, me: usize, ranks: usize, body: &(impl Fn(&mut Rank) + Sync)) {
    network.start(me);
    let links = Links::attach_sim(network, me).expect("shared memory for a test");
    let mut rank = Rank { me, ranks, engine: Engine::new(links, true), is_alone: true, network: Some(network.clone()) };
    body(&mut rank);
    rank.set_place(|| "it has left".into());
    network.leave(me);
    while !network.is_over() || !rank.engine.is_flushed() {
        rank.engine.progress();
        rank.look_for_dead();
    }
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("it says nothing")
}

fn run_shm(single_copy: bool, ranks: usize, body: impl Fn(&mut Rank) + Sync) {
    let (fd, _keep) = Segment::create(ranks, 2).expect("shared memory for a test");
    let (fd, body, barrier) = (&fd, &body, &Barrier::new(ranks));
    std::thread::scope(|scope| {
        for me in 0..ranks {
            scope.spawn(move || {
                let segment = Segment::attach(fd.as_fd()).expect("the segment was just made");
                let job = JobId { inode: 1, holder: 1, fd: 1, host: 0 };
                let slot = Slot::new(me).expect("a slot of the segment");
                let links = Links::attach(segment, job, slot).expect("a free slot");
                let mut rank =
                    Rank { me, ranks, engine: Engine::new(links, single_copy), is_alone: false, network: None };
                barrier.wait();
                let failure = AbortOnPanic(me);
                body(&mut rank);
                drop(failure);
                rank.engine.node().prepare_to_leave();
                while !rank.engine.is_flushed() {
                    rank.engine.progress();
                    std::thread::yield_now();
                }
                // No rank unmaps what a peer may still read.
                barrier.wait();
            });
        }
    });
}

/// Aborts if a rank panics: the others would wait for it for ever.
struct AbortOnPanic(usize);

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("rank {} has failed", self.0);
            std::process::abort();
        }
    }
}

impl Rank {
    pub fn peer(&self, rank: usize) -> Peer {
        match (self.is_alone, rank == self.me) {
            (true, true) => Peer::at_slot(0),
            (true, false) => Peer::far(rank),
            (false, _) => Peer::at_slot(rank),
        }
    }

    /// Records where the rank is, for the report of a failed run.
    pub fn set_place(&self, place: impl FnOnce() -> String) {
        if let Some(network) = &self.network {
            network.set_place(self.me, place());
        }
    }

    /// Ends operations with ranks that have died, as a waiting process does.
    pub fn look_for_dead(&mut self) {
        if self.network.is_none() {
            return;
        }
        for (dead, _) in self.engine.find_ended() {
            let Some(rank) = dead.far_index() else { continue };
            let error = Error::new(MPI_ERR_PROC_ABORTED, format!("rank {rank} has died"));
            self.engine.end_with_dead(dead, &error);
            self.engine.end_posted(|pattern| pattern.source == rank as i32 || pattern.source == ANY_SOURCE, &error);
        }
    }

    /// Starts a send; `None`: it is complete. The bytes must stay valid until it is.
    pub fn send(&mut self, mode: Mode, to: usize, tag: i32, bytes: &[u8]) -> Option<OpId> {
        // SAFETY: the tests keep the bytes, and do not change them, until the send has ended.
        let source = unsafe { Source::dense(bytes.as_ptr(), bytes.len()) };
        self.send_buf(mode, to, tag, source)
    }

    pub fn send_buf(&mut self, mode: Mode, to: usize, tag: i32, buf: Source<'static>) -> Option<OpId> {
        let route = Route { peer: self.peer(to), context: 0, source: self.me as i32, tag, signature: Signature::NONE };
        self.engine.send(mode, &route, buf)
    }

    /// Starts a receive. The bytes must stay valid until it is complete.
    pub fn recv(&mut self, source: i32, tag: i32, bytes: &mut [u8]) -> OpId {
        // SAFETY: the tests keep the bytes, and do not read them, until the receive has ended.
        let target = unsafe { Target::dense(bytes.as_mut_ptr(), bytes.len()) };
        self.recv_buf(source, tag, target)
    }

    pub fn recv_buf(&mut self, source: i32, tag: i32, buf: Target<'static>) -> OpId {
        self.engine.recv(Pattern { context: 0, source, tag }, buf)
    }

    pub fn wait(&mut self, op: OpId) -> Outcome {
        let mut turns = 0;
        loop {
            if let Some(outcome) = self.engine.take_outcome(op) {
                return outcome;
            }
            self.idle(&mut turns, || format!("it waits for {op:?}"));
        }
    }

    /// One iteration of a wait.
    pub fn idle(&mut self, turns: &mut usize, place: impl FnOnce() -> String) {
        if self.engine.progress() {
            return;
        }
        *turns += 1;
        if *turns == 500 {
            self.set_place(place);
        }
        if turns.is_multiple_of(32) {
            self.look_for_dead();
        }
        if self.network.is_none() {
            std::thread::yield_now();
        }
    }

    pub fn wait_send(&mut self, op: Option<OpId>) {
        if let Some(op) = op {
            let outcome = self.wait(op);
            assert!(outcome.error.is_none(), "rank {}: {:?}", self.me, outcome.error);
        }
    }

    /// Moves messages for a while, like a rank that computes between its calls.
    pub fn progress_for(&mut self, turns: usize) {
        for _ in 0..turns {
            self.engine.progress();
            if self.network.is_none() {
                std::thread::yield_now();
            }
        }
    }
}
