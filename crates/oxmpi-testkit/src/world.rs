//! Ranks as threads, each with a complete library: MPI without C and without `mpirun`.
//!
//! [`run`] starts them on a [`Ground`]: a simulated network on which every rank is a node of its
//! own, or shared memory, where the node table may pretend that there are several. A run that does
//! not end is stopped: on a simulated network when nothing moves any more, in shared memory after
//! [`LONGEST_RUN`], with the name of the test.

use crate::{AbortOnPanic, text_of};
use oxmpi_abi::constants::{MPI_COMM_WORLD, MPI_THREAD_MULTIPLE, MPI_THREAD_SINGLE};
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::Comm;
use oxmpi_base::address::JobId;
use oxmpi_base::ids::WorldRank;
use oxmpi_base::segment::Segment;
use oxmpi_boot::deal;
use oxmpi_boot::nodes::NodeTable;
use oxmpi_core::call::{Call, On};
use oxmpi_core::library::Library;
use oxmpi_core::process::Process;
use oxmpi_core::wait::waiting::Unending;
use oxmpi_transport::Links;
use oxmpi_transport::sim::{Killed, Network, Stopped};
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Barrier, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// What the ranks of a test run on.
#[derive(Clone, Debug)]
pub enum Ground {
    /// Only packets connect them.
    Sim(Network),
    Shm {
        /// The node of every rank.
        nodes: Vec<u32>,
        /// Whether long messages are copied directly between processes.
        single_copy: bool,
    },
}

/// A rank.
pub struct Rank<'l> {
    pub me: usize,
    pub size: usize,
    pub library: &'l Library,
    network: Option<&'l Network>,
}

/// A run in shared memory that lasts longer hangs.
pub const LONGEST_RUN: Duration = Duration::from_secs(120);

impl<'l> Rank<'l> {
    pub(crate) fn new(me: usize, size: usize, library: &'l Library) -> Rank<'l> {
        Rank { me, size, library, network: None }
    }
}

impl Rank<'_> {
    /// A call on the world.
    pub fn call(&self, fun: Fun) -> Call<'_> {
        self.call_on(fun, MPI_COMM_WORLD)
    }

    pub fn call_on(&self, fun: Fun, comm: Comm) -> Call<'_> {
        Call::new(self.library, fun, On::Comm(comm))
    }

    /// Records where the rank is, for the report of a failed run.
    pub fn set_place(&self, place: impl FnOnce() -> String) {
        if let Some(network) = self.network {
            network.set_place(self.me, place());
        }
    }
}

/// Runs `body` once for every rank, each on a thread of its own, with the world active. An error is the first failure of
/// a rank on a simulated network; in shared memory a failure ends the process.
pub fn run(name: &str, ground: &Ground, size: usize, body: impl Fn(&Rank<'_>) + Sync) -> Result<(), String> {
    match ground {
        Ground::Sim(network) => run_sim(network, size, body),
        Ground::Shm { nodes, single_copy } => {
            run_shm(name, nodes, *single_copy, body);
            Ok(())
        }
    }
}

/// The same on one node, in shared memory.
pub fn run_on_one_node(size: usize, body: impl Fn(&Rank<'_>) + Sync) {
    run_shm("a test", &vec![0; size], true, body);
}

pub(crate) fn begin(library: &Library, thread_level: i32, process: impl FnOnce() -> Process) {
    let joined = library.join(|| Ok(process())).expect("a library that nobody uses yet");
    library.enter().expect("it was just joined").comms.has_world = true;
    library.begin_world(thread_level);
    if thread_level == MPI_THREAD_SINGLE {
        // SAFETY: the library belongs to one rank of a test, which is one thread.
        unsafe { library.assume_serialized(joined) };
    }
}

fn run_sim(network: &Network, size: usize, body: impl Fn(&Rank<'_>) + Sync) -> Result<(), String> {
    let body = &body;
    std::thread::scope(|scope| {
        for me in 0..size {
            scope.spawn(move || {
                let run = || run_sim_rank(network, me, size, body);
                if let Err(payload) = catch_unwind(AssertUnwindSafe(run))
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

fn run_sim_rank(network: &Network, me: usize, size: usize, body: &(impl Fn(&Rank<'_>) + Sync)) {
    network.start(me);
    let library = Library::new();
    begin(&library, MPI_THREAD_SINGLE, || {
        let links = Links::attach_sim(network, me).expect("shared memory for a test");
        // Waits poll a fixed number of times before they would sleep, whatever else the machine
        // does: a seed determines the run.
        links.node().job().cpus.store(0, Ordering::Relaxed);
        // A rank that would sleep ends its turn instead, so it can check each time whether it waits
        // in vain.
        let mut process = Process::of(links, true);
        process.longest_sleep = Duration::ZERO;
        process
    });
    body(&Rank { me, size, library: &library, network: Some(network) });
    network.set_place(me, "it has left".into());
    network.leave(me);
    // The others may still need its answers.
    let mut turns = 0;
    loop {
        let mut guard = library.enter().expect("the library is still in use");
        guard.progress();
        turns += 1;
        if turns % 32 == 0 {
            guard.look_around(true);
        }
        if network.is_over() && guard.engine.is_flushed() {
            break;
        }
    }
}

fn run_shm(name: &str, nodes: &[u32], single_copy: bool, body: impl Fn(&Rank<'_>) + Sync) {
    let size = nodes.len();
    let (fd, segment) = Segment::create(size, 2).expect("shared memory for a test");
    let places = deal::slots_of_one_segment(nodes);
    let is_pretended = nodes.iter().any(|&node| node != nodes[0]);
    let table = NodeTable::new(deal::blocks(&places), WorldRank::FIRST, is_pretended).expect("a table of nodes");
    table.store(&segment).expect("room for the table");
    let (fd, body, barrier, ended) = (&fd, &body, &Barrier::new(size), &(Mutex::new(0), Condvar::new()));
    std::thread::scope(|scope| {
        for me in 0..size {
            scope.spawn(move || {
                let library = Library::new();
                begin(&library, MPI_THREAD_MULTIPLE, || {
                    let mapped = Segment::attach(fd.as_fd()).expect("the segment was just made");
                    let rank = WorldRank::new(me).expect("a rank of the table");
                    let nodes = NodeTable::load(&mapped, rank).expect("the table was just stored");
                    let links = Links::attach_on(mapped, JobId { inode: 1, holder: 1, fd: 1, host: 0 }, nodes);
                    Process::of(links.expect("a free slot"), single_copy)
                });
                barrier.wait();
                let failure = AbortOnPanic(me);
                body(&Rank { me, size, library: &library, network: None });
                let call = Call::new(&library, Fun::Finalize, On::World);
                let mut guard = call.enter().expect("the world is active");
                guard.engine.node().prepare_to_leave();
                let flushed = |process: &mut Process| process.engine.is_flushed().then_some(());
                call.wait(&mut guard, &Unending, flushed).expect("nothing fails that cannot");
                drop((guard, failure));
                assert!(library.retire());
                library.leave();
                // No rank unmaps what a peer may still read.
                barrier.wait();
                *ended.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
                ended.1.notify_all();
            });
        }
        let all = ended.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_all, timeout) =
            ended.1.wait_timeout_while(all, LONGEST_RUN, |all| *all < size).unwrap_or_else(PoisonError::into_inner);
        if timeout.timed_out() {
            eprintln!("{name} on nodes {nodes:?} does not end");
            std::process::abort();
        }
    });
}
