//! Ranks as threads of this process, each with a library of its own: MPI without C.

use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::Comm;
use oxmpi_base::address::JobId;
use oxmpi_base::ids::Slot;
use oxmpi_base::segment::Segment;
use oxmpi_core::call::{Call, On};
use oxmpi_core::library::Library;
use oxmpi_core::process::Process;
use oxmpi_core::wait::waiting::Unending;
use oxmpi_transport::Links;
use std::os::fd::AsFd;
use std::sync::Barrier;

/// A rank of the world that a test runs.
#[allow(dead_code, reason = "not every test needs all of it")]
pub struct Rank<'l> {
    pub rank: usize,
    pub size: usize,
    pub library: &'l Library,
}

impl Rank<'_> {
    /// A call on the world.
    pub fn call(&self, fun: Fun) -> Call<'_> {
        self.call_on(fun, MPI_COMM_WORLD)
    }

    pub fn call_on(&self, fun: Fun, comm: Comm) -> Call<'_> {
        Call::new(self.library, fun, On::Comm(comm))
    }
}

/// Runs `body` once for every rank, each on a thread of its own, with the world active.
pub fn with_ranks(size: usize, body: impl Fn(Rank<'_>) + Sync) {
    let (fd, _keep) = Segment::create(size, 2).unwrap();
    let (fd, body, barrier) = (&fd, &body, &Barrier::new(size));
    std::thread::scope(|scope| {
        for rank in 0..size {
            scope.spawn(move || {
                let library = Library::new();
                let job = JobId { inode: 1, holder: 1, fd: 1, host: 0 };
                let slot = Slot::new(rank).unwrap();
                let links = || Links::attach(Segment::attach(fd.as_fd()).unwrap(), job, slot).unwrap();
                library.join(|| Ok(Process::of(links(), true))).unwrap();
                library.enter().unwrap().comms.has_world = true;
                library.begin_world(MPI_THREAD_MULTIPLE);
                barrier.wait();
                body(Rank { rank, size, library: &library });
                let call = Call::new(&library, Fun::Finalize, On::World);
                let mut guard = call.enter().unwrap();
                guard.engine.node().prepare_to_leave();
                call.wait(&mut guard, &Unending, |process| process.engine.is_flushed().then_some(())).unwrap();
                drop(guard);
                assert!(library.retire());
                library.leave();
                // No rank unmaps what a peer may still read.
                barrier.wait();
            });
        }
    });
}
