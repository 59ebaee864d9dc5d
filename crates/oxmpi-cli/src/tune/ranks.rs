//! The ranks of the jobs that `oxmpi tune` starts: each operation at each length, again and again. Rank 0 prints a line
//! with the name of the limit, the bytes, and the shortest time of a call in nanoseconds.

use crate::library::{Library, handle};
use oxmpi_abi::constants::{MPI_BYTE, MPI_COMM_WORLD, MPI_DOUBLE, MPI_STATUS_IGNORE, MPI_SUM};
use oxmpi_coll::tuning::Limit;
use std::ffi::{c_int, c_void};
use std::time::Instant;

pub const RANK: &str = "__tune";

/// Times of which the shortest counts.
const BATCHES: usize = 4;
/// Bytes that a batch moves at least, and its fewest and most calls.
const BATCH_BYTES: usize = 1 << 20;
const CALLS: (usize, usize) = (8, 100);

/// One of the ranks.
pub fn rank() -> (String, i32) {
    match Functions::find().and_then(|functions| functions.measure()) {
        Ok(text) => (text, 0),
        Err(text) => {
            eprintln!("{text}");
            (String::new(), 1)
        }
    }
}

type Buf = *mut c_void;
type Handle = *mut c_void;
type OfComm = unsafe extern "C" fn(Handle) -> c_int;
type Inquiry = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type Send = unsafe extern "C" fn(Buf, c_int, Handle, c_int, c_int, Handle) -> c_int;
type Recv = unsafe extern "C" fn(Buf, c_int, Handle, c_int, c_int, Handle, *mut c_void) -> c_int;
type Bcast = unsafe extern "C" fn(Buf, c_int, Handle, c_int, Handle) -> c_int;
type Rooted = unsafe extern "C" fn(Buf, c_int, Handle, Buf, c_int, Handle, c_int, Handle) -> c_int;
type Unrooted = unsafe extern "C" fn(Buf, c_int, Handle, Buf, c_int, Handle, Handle) -> c_int;
type Reduce = unsafe extern "C" fn(Buf, Buf, c_int, Handle, Handle, c_int, Handle) -> c_int;
type Allreduce = unsafe extern "C" fn(Buf, Buf, c_int, Handle, Handle, Handle) -> c_int;

struct Functions {
    library: Library,
    barrier: OfComm,
    rank: Inquiry,
    size: Inquiry,
    send: Send,
    recv: Recv,
    bcast: Bcast,
    gather: Rooted,
    scatter: Rooted,
    allgather: Unrooted,
    alltoall: Unrooted,
    reduce: Reduce,
    allreduce: Allreduce,
}

/// This rank, and its buffers: each has room for a block of every rank.
struct Place {
    rank: c_int,
    from: Vec<u8>,
    to: Vec<u8>,
}

impl Functions {
    fn find() -> Result<Functions, String> {
        let library = Library::load()?;
        // SAFETY: the types are the signatures that the standard's ABI gives these functions.
        unsafe {
            Ok(Functions {
                barrier: library.function(c"MPI_Barrier")?,
                rank: library.function(c"MPI_Comm_rank")?,
                size: library.function(c"MPI_Comm_size")?,
                send: library.function(c"MPI_Send")?,
                recv: library.function(c"MPI_Recv")?,
                bcast: library.function(c"MPI_Bcast")?,
                gather: library.function(c"MPI_Gather")?,
                scatter: library.function(c"MPI_Scatter")?,
                allgather: library.function(c"MPI_Allgather")?,
                alltoall: library.function(c"MPI_Alltoall")?,
                reduce: library.function(c"MPI_Reduce")?,
                allreduce: library.function(c"MPI_Allreduce")?,
                library,
            })
        }
    }

    fn measure(&self) -> Result<String, String> {
        self.library.init()?;
        let (mut rank, mut size) = (0, 0);
        // SAFETY: the library is initialised, and the two integers can be written.
        succeed("MPI_Comm_rank", unsafe { (self.rank)(handle(MPI_COMM_WORLD.0), &mut rank) })?;
        // SAFETY: the same.
        succeed("MPI_Comm_size", unsafe { (self.size)(handle(MPI_COMM_WORLD.0), &mut size) })?;
        let most = Limit::ALL.iter().map(|limit| limit.most()).max().unwrap_or(0) as usize * size as usize;
        let mut place = Place { rank, from: vec![1; most], to: vec![0; most] };
        let mut text = String::new();
        for limit in Limit::ALL.into_iter().filter(|limit| limit.ranks_fit(size as usize)) {
            for bytes in super::fit::lengths(limit) {
                let time = self.time(limit, bytes as usize, &mut place)?;
                if rank == 0 {
                    text.push_str(&format!("{} {bytes} {time}\n", limit.name()));
                }
            }
        }
        self.library.finalize()?;
        Ok(text)
    }

    /// The shortest time of a call, in nanoseconds.
    fn time(&self, limit: Limit, bytes: usize, place: &mut Place) -> Result<u128, String> {
        let calls = (BATCH_BYTES / bytes).clamp(CALLS.0, CALLS.1);
        let mut best = u128::MAX;
        for _ in 0..BATCHES {
            self.call_barrier()?;
            let start = Instant::now();
            for _ in 0..calls {
                succeed(limit.name(), self.call(limit, bytes, place))?;
            }
            self.call_barrier()?;
            best = best.min(start.elapsed().as_nanos() / calls as u128);
        }
        Ok(best)
    }

    fn call_barrier(&self) -> Result<(), String> {
        // SAFETY: the library is initialised.
        succeed("MPI_Barrier", unsafe { (self.barrier)(handle(MPI_COMM_WORLD.0)) })
    }

    /// One operation with blocks of so many bytes.
    fn call(&self, limit: Limit, bytes: usize, place: &mut Place) -> c_int {
        let (from, to): (Buf, Buf) = (place.from.as_mut_ptr().cast(), place.to.as_mut_ptr().cast());
        let (world, byte) = (handle(MPI_COMM_WORLD.0), handle(MPI_BYTE.0));
        let (double, sum) = (handle(MPI_DOUBLE.0), handle(MPI_SUM.0));
        let (count, doubles) = (bytes as c_int, bytes as c_int / 8);
        // SAFETY: the library is initialised, each buffer has room for a block of every rank, and all ranks make the same calls.
        unsafe {
            match limit {
                Limit::Eager => {
                    let status = std::ptr::without_provenance_mut(MPI_STATUS_IGNORE);
                    let other = 1 - place.rank;
                    let send = || (self.send)(from, count, byte, other, 0, world);
                    let recv = || (self.recv)(to, count, byte, other, 0, world, status);
                    match place.rank {
                        0 => and_then(send(), recv),
                        _ => and_then(recv(), send),
                    }
                }
                Limit::Bcast2 => (self.bcast)(from, count, byte, 0, world),
                Limit::Gather2 | Limit::Gather => (self.gather)(from, count, byte, to, count, byte, 0, world),
                Limit::Scatter2 | Limit::Scatter => (self.scatter)(from, count, byte, to, count, byte, 0, world),
                Limit::Allgather2 => (self.allgather)(from, count, byte, to, count, byte, world),
                Limit::Alltoall2 | Limit::Alltoall => (self.alltoall)(from, count, byte, to, count, byte, world),
                Limit::Reduce2 => (self.reduce)(from, to, doubles, double, sum, 0, world),
                Limit::Allreduce2 => (self.allreduce)(from, to, doubles, double, sum, world),
            }
        }
    }
}

/// The second call, if the first one succeeded.
fn and_then(code: c_int, next: impl FnOnce() -> c_int) -> c_int {
    if code == 0 { next() } else { code }
}

fn succeed(name: &str, code: c_int) -> Result<(), String> {
    if code == 0 { Ok(()) } else { Err(format!("{name} returned {code}")) }
}
