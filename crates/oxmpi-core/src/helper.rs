//! Asynchronous progress: a thread that brings forward what is under way while the program computes. There is one only where
//! the user asks for it (`OXMPI_ASYNC_PROGRESS`).
//!
//! The thread is in one of three states. *Parked*: nothing can move without the program, or a call of the program waits and
//! therefore moves everything itself; nobody but a call of the program wakes it. *Asleep*: something is under way, but others
//! must act first; they wake it as they wake any sleeping thread of the rank. Or it serves. It never polls: a turn that moves
//! nothing ends in one of the sleeps. The state changes only under the lock of the process, except that a sleeper that wakes
//! up serves.
//!
//! Here are the states, and what a call does when it ends; `wait/helper.rs` has the thread. It calls no function of the program:
//! below `MPI_THREAD_MULTIPLE` those need not bear to be called beside the program's own code.

use crate::call::{Shared, wake_sleeping_threads};
use crate::explain;
use crate::library::Library;
use crate::process::Process;
use oxmpi_base::{signals, thread_checker, wait};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder, JoinHandle};

/// The name of the thread, which tools show.
const NAME: &str = "oxmpi-progress";
/// It calls nothing that needs more.
const STACK: usize = 1 << 20;

/// There is no thread.
const OFF: u32 = 0;
const PARKED: u32 = 1;
const SERVES: u32 = 2;
const ASLEEP: u32 = 3;

pub(crate) struct Helper {
    state: AtomicU32,
    shall_end: AtomicBool,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Helper {
    pub(crate) const fn new() -> Helper {
        Helper { state: AtomicU32::new(OFF), shall_end: AtomicBool::new(false), thread: Mutex::new(None) }
    }

    /// Whether there is a thread.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.state.load(Ordering::Relaxed) != OFF
    }

    /// Whether it does nothing until a call of the program ends. The caller holds the lock.
    pub(crate) fn is_parked(&self) -> bool {
        matches!(self.state.load(Ordering::Relaxed), OFF | PARKED)
    }

    // ---- for calls of the program, which hold the lock ----

    /// A call of the program ends.
    #[inline(never)]
    pub(crate) fn after_call(&self, process: &mut Process, shared: &Shared) {
        if process.waiters > 0 {
            // Another thread waits, and moves everything.
            return wake_sleeping_threads(shared);
        }
        match self.state.load(Ordering::Relaxed) {
            PARKED if process.has_movable() => self.unpark(),
            // It watches sockets for what they bring, and not yet for room.
            ASLEEP if process.engine.wants_room() => self.wake(shared),
            _ => {}
        }
    }

    #[cold]
    fn unpark(&self) {
        // Release: the thread sees everything that came before; it also takes the lock.
        self.state.store(SERVES, Ordering::Release);
        if let Some(thread) = &*self.thread() {
            thread.thread().unpark();
        }
    }

    #[cold]
    fn wake(&self, shared: &Shared) {
        self.state.store(SERVES, Ordering::Release);
        wait::wake_now(shared.job(), shared.block());
    }

    /// A call is about to sleep, on the word that the thread may sleep on: it parks instead. Otherwise nobody would wake it when
    /// the call has slept for long enough.
    pub(crate) fn make_room(&self, shared: &Shared) {
        if self.state.load(Ordering::Relaxed) == ASLEEP {
            self.wake(shared);
        }
    }

    /// Asks the thread to end, which needs the lock for that.
    pub(crate) fn ask_to_end(&self, shared: &Shared) {
        self.shall_end.store(true, Ordering::Release);
        match self.state.load(Ordering::Relaxed) {
            PARKED => self.unpark(),
            ASLEEP => self.wake(shared),
            _ => {}
        }
    }

    /// Waits until the thread has ended, without the lock.
    pub(crate) fn await_end(&self) {
        let thread = self.thread().take();
        if let Some(thread) = thread {
            // It has ended, or panicked, which the panic has reported.
            let _ = thread.join();
        }
        self.state.store(OFF, Ordering::Release);
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // ---- for the thread ----

    /// Sleeps while there is nothing to do; `false` when the thread shall end.
    pub(crate) fn await_work(&self) -> bool {
        while self.state.load(Ordering::Acquire) == PARKED {
            thread::park();
        }
        !self.shall_end.load(Ordering::Acquire)
    }

    /// With the lock: the thread is about to park.
    pub(crate) fn park(&self) {
        if !self.shall_end.load(Ordering::Acquire) {
            self.state.store(PARKED, Ordering::Relaxed);
        }
    }

    /// With the lock: the thread is armed and about to sleep; `false` when it shall end instead.
    pub(crate) fn fall_asleep(&self) -> bool {
        let sleeps = !self.shall_end.load(Ordering::Acquire);
        if sleeps {
            self.state.store(ASLEEP, Ordering::Relaxed);
        }
        sleeps
    }

    /// Without the lock: the sleep is over.
    pub(crate) fn woke_up(&self) {
        self.state.store(SERVES, Ordering::Relaxed);
    }
}

impl Library {
    /// Starts the thread; whether there is one now.
    pub(crate) fn start_helper(&'static self) -> bool {
        let helper = &self.helper;
        let Some(mut guard) = self.enter() else { return false };
        helper.shall_end.store(false, Ordering::Relaxed);
        thread_checker::ignore(std::ptr::from_ref(helper).addr(), size_of::<Helper>());
        // The thread begins when it has the lock.
        helper.state.store(PARKED, Ordering::Relaxed);
        let started =
            signals::blocked(|| Builder::new().name(NAME.into()).stack_size(STACK).spawn(move || self.help()));
        let process = guard.comms.world.rank as usize;
        match started {
            Ok(thread) => {
                *helper.thread() = Some(thread);
                guard.help();
                if explain::is_on() {
                    explain::of_process(process, "asynchronous progress", "it was asked for", || {
                        String::from("a thread moves what is under way while the program computes")
                    });
                }
                true
            }
            Err(error) => {
                helper.state.store(OFF, Ordering::Relaxed);
                drop(guard);
                eprintln!("oxmpi: there is no asynchronous progress: cannot start a thread: {error}");
                false
            }
        }
    }
}

impl Process {
    /// From now on the process remembers what a helper thread can bring forward.
    fn help(&mut self) {
        self.engine.remember_long();
    }

    pub(crate) fn help_no_more(&mut self) {
        self.engine.forget_long();
    }

    /// Whether something is under way that may move without a call of the program. A reduction that waits for a function of the
    /// program does not.
    pub(crate) fn has_movable(&mut self) -> bool {
        !(self.runs.is_empty()
            && self.pending_comms.is_empty()
            && self.receiving.is_empty()
            && self.file_tasks.is_empty()
            && self.votes.is_empty())
            || self.engine.has_long()
    }

    /// A turn of progress in which long copies and reductions advance by a part: a call of the program may wait for its end.
    pub(crate) fn progress_by_a_part(&mut self) -> bool {
        self.engine.set_by_parts(true);
        let moved = self.progress();
        self.engine.set_by_parts(false);
        moved
    }
}
