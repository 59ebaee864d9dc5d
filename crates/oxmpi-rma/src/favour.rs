//! Favours: a rank that happens to wait in the library carries out small operations of others on its own memory, which takes
//! less time than the system calls by which they would reach it. Nobody depends on that: what is not taken up at once is
//! taken back, and the origin does it itself. Only for memory that is not mapped everywhere.
//!
//! ```text
//!          origin            target           origin
//!  FREE ----------> ASKED ----------> TAKEN            TAKEN ----------> DONE ----------> FREE
//!                     |                                        target           origin
//!                     +--> FREE   the origin takes it back
//! ```
//!
//! The origin writes what it asks for before `ASKED`, the target what comes of it before `DONE`; nobody else looks at it.

use crate::accumulate::quick_combine;
use crate::{Far, Flavor, Window};
use oxmpi_base::prefetch;
use oxmpi_base::wait;
use oxmpi_transport::Shm;
use std::cell::UnsafeCell;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Among more ranks, looking for favours would cost more than they save.
pub const MOST_FRIENDS: usize = 16;

/// The most bytes that an operation may have.
pub const MOST_BYTES: usize = 512;

const FREE: u32 = 0;
const ASKED: u32 = 1;
const TAKEN: u32 = 2;
const DONE: u32 = 3;

/// What one rank asks another for. The first cache line has all of an operation on a few bytes.
#[repr(C, align(64))]
pub struct Favour {
    state: AtomicU32,
    order: UnsafeCell<Order>,
    bytes: UnsafeCell<[u8; MOST_BYTES]>,
}

/// An operation on a run of bytes of the target's memory.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Order {
    what: What,
    length: u32,
    offset: u64,
}

#[derive(Clone, Copy)]
#[repr(C, u32)]
pub enum What {
    Put,
    Get,
    /// Handles of a predefined operation and datatype.
    Combine {
        op: u32,
        datatype: u32,
        fetch: bool,
    },
    /// The bytes are those to put there and, behind them, those to compare with.
    CompareAndSwap,
}

/// How it went with a target lately, so that one which never waits is not asked again and again.
#[derive(Default)]
pub struct Manners {
    failures: AtomicU32,
    skip: AtomicU32,
}

/// How often the origin looks for the answer before it takes the question back: for about as long as a system call takes.
const LOOKS: u32 = 20;

impl Window {
    /// Asks the target to do something with a run of its memory; true when it was done. `given` goes along, and `back`, where
    /// it is not null, gets what comes back.
    ///
    /// # Safety
    /// All that is given and `back` are memory; `back` has room for the run.
    #[inline]
    pub(crate) unsafe fn ask(
        &self,
        shm: &Shm,
        at: Far,
        what: What,
        length: usize,
        given: [(*const u8, usize); 2],
        back: *mut u8,
    ) -> bool {
        if length > MOST_BYTES || given[0].1 + given[1].1 > MOST_BYTES || !shm.is_waiting(at.process) {
            return false;
        }
        let manners = &self.manners[at.rank];
        let skip = manners.skip.load(Relaxed);
        if skip > 0 {
            manners.skip.store(skip - 1, Relaxed);
            return false;
        }
        let Some(favour) = self.control.favour(at.rank, self.rank) else { return false };
        if wait::is_crowded(shm.job()) {
            return false;
        }
        // SAFETY: nobody else looks at it before it is asked; the caller vouches for what is given.
        unsafe {
            *favour.order.get() = Order { what, length: length as u32, offset: at.offset as u64 };
            let mut to = favour.bytes.get().cast::<u8>();
            for (from, bytes) in given {
                to.copy_from_nonoverlapping(from, bytes);
                to = to.add(bytes);
            }
        }
        favour.state.store(ASKED, Release);
        for look in 0..LOOKS {
            if favour.state.load(Acquire) == DONE {
                break;
            }
            // The target may be asking us. Not too often, or the answer's line is taken away while it is written.
            if look % 2 == 1 {
                self.serve();
            }
            std::hint::spin_loop();
        }
        if favour.state.load(Acquire) != DONE {
            if favour.state.compare_exchange(ASKED, FREE, Relaxed, Relaxed).is_ok() {
                let failures = (manners.failures.load(Relaxed) + 1).min(8);
                manners.failures.store(failures, Relaxed);
                manners.skip.store(1 << failures, Relaxed);
                return false;
            }
            // The target is at it, and its program cannot keep it from ending.
            let mut looks = 0u32;
            while favour.state.load(Acquire) != DONE {
                looks += 1;
                if looks % 256 == 0 {
                    std::thread::yield_now();
                } else {
                    std::hint::spin_loop();
                }
            }
        }
        if !back.is_null() {
            // SAFETY: done, so that the bytes are ours again; the caller vouches for the room.
            unsafe { back.copy_from_nonoverlapping(favour.bytes.get().cast(), length) };
        }
        favour.state.store(FREE, Relaxed);
        manners.failures.store(0, Relaxed);
        true
    }

    /// Does what other ranks ask for; true when one did.
    #[inline]
    pub fn serve(&self) -> bool {
        if !self.is_far {
            return false;
        }
        let mut served = false;
        for origin in (0..self.size()).filter(|&origin| origin != self.rank) {
            match self.control.favour(self.rank, origin) {
                Some(favour) => {
                    // Looked at as if it were to be written, so that its line comes once.
                    prefetch::for_writing(&favour.state);
                    if favour.state.load(Relaxed) == ASKED {
                        served |= self.oblige(favour);
                    }
                }
                None => return false,
            }
        }
        served
    }

    #[inline(never)]
    fn oblige(&self, favour: &Favour) -> bool {
        if favour.state.compare_exchange(ASKED, TAKEN, Acquire, Relaxed).is_err() {
            return false;
        }
        // SAFETY: taken, so that nobody else looks at it.
        let Order { what, length, offset } = unsafe { *favour.order.get() };
        let (length, offset) = ((length as usize).min(MOST_BYTES), offset as usize);
        let bytes = favour.bytes.get().cast::<u8>();
        let target = &self.targets[self.rank];
        let inside = match self.flavor {
            Flavor::Dynamic => self.control.attached(self.rank).contains(offset as u64, length as u64),
            _ => offset <= target.size && target.size - offset >= length,
        };
        if inside {
            let at = target.base.wrapping_add(offset);
            // SAFETY: memory of this rank's window, which the origin may access in its epoch; the favour's bytes are ours.
            unsafe { self.carry_out(what, at, bytes, length) };
        }
        favour.state.store(DONE, Release);
        true
    }

    /// # Safety
    /// `at` is memory of this rank's window and has `length` bytes, `bytes` has [`MOST_BYTES`].
    unsafe fn carry_out(&self, what: What, at: *mut u8, bytes: *mut u8, length: usize) {
        let mut old = [0u8; MOST_BYTES];
        // SAFETY: as the caller says.
        unsafe {
            match what {
                What::Put => at.copy_from_nonoverlapping(bytes, length),
                What::Get => bytes.copy_from_nonoverlapping(at, length),
                What::Combine { op, datatype, fetch } => {
                    let Some(with) = quick_combine(op as usize, datatype as usize) else { return };
                    let kept = if fetch { old.as_mut_ptr() } else { std::ptr::null_mut() };
                    self.combine(self.rank, &with, at, bytes, kept, length / with.extent);
                    if fetch {
                        bytes.copy_from_nonoverlapping(kept, length);
                    }
                }
                What::CompareAndSwap => {
                    let length = length.min(MOST_BYTES / 2);
                    self.compare_and_swap(self.rank, at, length, bytes, bytes.add(length), old.as_mut_ptr());
                    bytes.copy_from_nonoverlapping(old.as_ptr(), length);
                }
            }
        }
    }
}
