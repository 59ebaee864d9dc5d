//! Ranks as threads of one process, each with an engine of its own, so that tests in Rust can send messages without C
//! and without `mpirun`. Only tests depend on this crate.
//!
//! [`run`] starts the ranks over one of the [`Link`]s; [`suite`] is what every link must do.

pub mod random;
pub mod suite;

use oxmpi_base::address::JobId;
use oxmpi_base::segment::Segment;
use oxmpi_core::engine::{Engine, Mode, OpId, Outcome, Route};
use oxmpi_core::matching::Pattern;
use oxmpi_datatype::{Source, Target};
use oxmpi_transport::{Links, Peer, Slot};
use std::os::fd::AsFd;
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
}

impl Link {
    /// As many ranks as asked for, where the link connects several.
    pub fn ranks(self, wanted: usize) -> usize {
        if self == Link::Loopback { 1 } else { wanted }
    }
}

/// One rank of a test.
pub struct Rank {
    pub me: usize,
    pub ranks: usize,
    pub engine: Engine,
}

/// Runs `body` once for every rank, each on a thread. Ends when all have ended and all messages have left.
pub fn run(link: Link, ranks: usize, body: impl Fn(&mut Rank) + Sync) {
    let (fd, _keep) = Segment::create(ranks, 2).expect("shared memory for a test");
    let (fd, body, barrier) = (&fd, &body, &Barrier::new(ranks));
    std::thread::scope(|scope| {
        for me in 0..ranks {
            scope.spawn(move || {
                let segment = Segment::attach(fd.as_fd()).expect("the segment was just made");
                let job = JobId { inode: 1, holder: 1, fd: 1 };
                let slot = Slot::new(me).expect("a slot of the segment");
                let links = Links::attach(segment, job, slot).expect("a free slot");
                let mut rank = Rank { me, ranks, engine: Engine::new(links, link != Link::ShmStreamed) };
                barrier.wait();
                let failure = AbortOnPanic(me);
                body(&mut rank);
                drop(failure);
                rank.engine.node().prepare_to_leave();
                while !rank.engine.is_flushed() {
                    rank.engine.progress();
                    std::thread::yield_now();
                }
                // Nobody unmaps what a peer may still read.
                barrier.wait();
            });
        }
    });
}

/// The other ranks would wait for ever for one that has panicked.
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
        Peer::at_slot(rank)
    }

    /// Starts a send; `None`: it is complete. The bytes must stay until it is.
    pub fn send(&mut self, mode: Mode, to: usize, tag: i32, bytes: &[u8]) -> Option<OpId> {
        // SAFETY: the tests keep the bytes, and do not change them, until the send has ended.
        let source = unsafe { Source::dense(bytes.as_ptr(), bytes.len()) };
        self.send_buf(mode, to, tag, source)
    }

    pub fn send_buf(&mut self, mode: Mode, to: usize, tag: i32, buf: Source<'static>) -> Option<OpId> {
        let route = Route { peer: self.peer(to), context: 0, source: self.me as i32, tag };
        self.engine.send(mode, &route, buf)
    }

    /// Starts a receive. The bytes must stay until it is complete.
    pub fn recv(&mut self, source: i32, tag: i32, bytes: &mut [u8]) -> OpId {
        // SAFETY: the tests keep the bytes, and do not look at them, until the receive has ended.
        let target = unsafe { Target::dense(bytes.as_mut_ptr(), bytes.len()) };
        self.recv_buf(source, tag, target)
    }

    pub fn recv_buf(&mut self, source: i32, tag: i32, buf: Target<'static>) -> OpId {
        self.engine.recv(Pattern { context: 0, source, tag }, buf)
    }

    pub fn wait(&mut self, op: OpId) -> Outcome {
        loop {
            if let Some(outcome) = self.engine.take_outcome(op) {
                return outcome;
            }
            if !self.engine.progress() {
                std::thread::yield_now();
            }
        }
    }

    pub fn wait_send(&mut self, op: Option<OpId>) {
        if let Some(op) = op {
            let outcome = self.wait(op);
            assert!(outcome.error.is_none(), "rank {}: {:?}", self.me, outcome.error);
        }
    }

    /// Moves messages for a while, as a rank does that computes between its calls.
    pub fn progress_for(&mut self, turns: usize) {
        for _ in 0..turns {
            self.engine.progress();
            std::thread::yield_now();
        }
    }
}
