//! Entering and leaving the library: every entry point runs its body through [`call`].

use crate::bodies::ops;
use crate::library::{self, Guard, OCCUPANCY, World};
use crate::raise::raise;
use crate::tool::{self, events};
use crate::types;
use crate::watch;
use oxmpi_abi::constants::{MPI_ERR_OTHER, MPI_ERR_UNSUPPORTED_OPERATION, MPI_SUCCESS};
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Comm, Errhandler, File, Session, Win};
use oxmpi_abi::{Error, Result};
use oxmpi_base::cpus::Stay;
use oxmpi_base::segment::IN_CALL;
use oxmpi_base::wait::{self, Patience, Step};
use oxmpi_core::engine::{OpId, Outcome};
use oxmpi_core::operation::UserCall;
use oxmpi_core::process::Process;
use std::cell::Cell;
use std::convert::Infallible;
use std::ffi::c_int;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The object whose error handler hears of an error.
#[derive(Clone, Copy, Debug)]
pub enum On {
    Comm(Comm),
    Win(Win),
    File(File),
    Session(Session),
    /// The handler itself, of an object that is about to be: the null handle stands for it.
    Handler(Errhandler, usize),
    /// No object: see [`library::comm_of_no_object`].
    World,
}

/// What a body knows of the call it serves.
pub struct Cx {
    pub fun: Fun,
    on: Cell<On>,
}

/// Runs a body; an error goes to the error handler, and what that answers is returned.
#[inline(always)]
pub fn call(fun: Fun, on: On, body: impl FnOnce(&Cx) -> Result<()>) -> c_int {
    let cx = Cx { fun, on: Cell::new(on) };
    library::note_call(fun as u32 | IN_CALL);
    let code = match body(&cx) {
        Ok(()) => MPI_SUCCESS,
        Err(error) => raise(fun, cx.on.get(), &error),
    };
    library::note_call(fun as u32);
    code
}

/// Runs a body of the tool information interface: its code is the answer, and no error handler hears of it. The call is not
/// noted, since tools call from within other calls, too.
pub fn answer(body: impl FnOnce() -> tool::Answer) -> c_int {
    match body() {
        Ok(()) => MPI_SUCCESS,
        Err(tool::Code(code)) => code,
    }
}

/// The code of a call that was to make an object: where it failed the handle is null, and not what happened to be there.
///
/// # Safety
/// `place` is null or may be written.
#[inline(always)]
pub unsafe fn or_null<H>(code: c_int, place: *mut H, null: H) -> c_int {
    if code != MPI_SUCCESS && !place.is_null() {
        // SAFETY: as the caller says.
        unsafe { place.write(null) };
    }
    code
}

/// What a function that is not built yet answers.
#[allow(dead_code, reason = "all functions are built; the generator calls this in one without a body")]
#[cold]
pub fn unsupported(fun: Fun, on: On) -> c_int {
    library::note_call(fun as u32 | IN_CALL);
    let text = "not built yet in this version of OxMPI (`oxmpi info --missing` lists what is not)";
    raise(fun, on, &Error::new(MPI_ERR_UNSUPPORTED_OPERATION, text))
}

impl Cx {
    /// The process's MPI state, for this thread alone until the guard is dropped.
    #[inline(always)]
    pub fn process(&self) -> Result<Guard> {
        match Guard::enter() {
            Some(mut guard) => {
                // Collective operations that nobody waits for go on in every call.
                if guard.has_runs() {
                    guard.progress();
                }
                Ok(guard)
            }
            None => Err(not_active()),
        }
    }

    /// As [`Cx::process`], for what exists in the world model only.
    pub fn world(&self) -> Result<Guard> {
        self.process().and_then(|guard| if guard.has_world { Ok(guard) } else { Err(not_active()) })
    }

    /// An error of this call concerns another object than its arguments say.
    pub fn raise_on(&self, on: On) {
        self.on.set(on);
    }

    /// Moves everything that can move, and calls the user's functions that collective operations wait for. `true` when
    /// something may have completed.
    #[inline]
    pub fn progress(&self, guard: &mut Guard) -> bool {
        let moved = guard.progress();
        if moved {
            OCCUPANCY.found();
        }
        if guard.wants_calls() { self.make_calls(guard) } else { moved }
    }

    #[cold]
    fn make_calls(&self, guard: &mut Guard) -> bool {
        while let Some((run, call)) = guard.next_call() {
            self.make_call(guard, &call);
            guard.called(run);
        }
        true
    }

    /// Calls the user's function for a reduction, unlocked.
    pub fn make_call(&self, guard: &mut Guard, call: &UserCall) {
        let live = guard.datatype(call.datatype).is_ok_and(|found| Arc::ptr_eq(found, &call.held));
        // The user may have freed the type since; the function gets a handle that lasts as long as the call.
        let lent = if live { None } else { types::add(guard, Arc::clone(&call.held)).ok() };
        let datatype = lent.unwrap_or(call.datatype);
        // SAFETY: the operands are those of a collective operation under way, and no lock is held.
        guard.unlocked(|_| Stay::interrupted(|| unsafe { ops::make(call, datatype) }));
        if let Some(lent) = lent {
            guard.types.remove(lent.0);
        }
    }

    /// Waits until `ready` has something, moving messages meanwhile; other threads get their turn.
    #[inline]
    pub fn wait<R>(&self, guard: &mut Guard, ready: impl FnMut(&mut Process) -> Option<R>) -> R {
        let (mut said, mut turns) = (false, 0..);
        let Ok(result) = self.wait_unless(guard, ready, |guard| {
            said = watch::look_meanwhile(guard, turns.next().unwrap_or(0));
            None::<Infallible>
        });
        if said {
            watch::stop(guard);
        }
        result
    }

    /// The same, unless `never`, which is asked after every sleep in vain, says why nothing will come.
    #[inline]
    pub fn wait_unless<R, E>(
        &self,
        guard: &mut Guard,
        ready: impl FnMut(&mut Process) -> Option<R>,
        never: impl FnMut(&mut Guard) -> Option<E>,
    ) -> Result<R, E> {
        self.wait_looking(guard, SLEEP, ready, never)
    }

    /// The same with sleeps that are no longer than this.
    #[inline]
    pub fn wait_looking<R, E>(
        &self,
        guard: &mut Guard,
        longest: Duration,
        mut ready: impl FnMut(&mut Process) -> Option<R>,
        mut never: impl FnMut(&mut Guard) -> Option<E>,
    ) -> Result<R, E> {
        let mut patience = Patience::new(guard.engine.shm().job());
        loop {
            if let Some(result) = ready(guard) {
                return Ok(result);
            }
            if self.progress(guard) {
                guard.rouse();
                patience.renew();
                continue;
            }
            let mut step = Step::Again;
            if guard.is_shared() {
                // A hand-over to another rank must not keep our other threads out.
                guard.unlocked(|process| step = patience.pause(process.engine.shm().job()));
            } else {
                step = patience.pause(guard.engine.shm().job());
            }
            if step == Step::Sleep {
                if let Some(end) = self.sleep(guard, longest, &mut ready, &mut never) {
                    return end;
                }
                patience = Patience::new(guard.engine.shm().job());
            }
        }
    }

    /// Waits for an operation of the engine's.
    #[inline]
    pub fn wait_op(&self, guard: &mut Guard, op: OpId) -> Outcome {
        self.wait(guard, |process| process.engine.take_outcome(op))
    }

    /// Sleeps until something comes, unless it is there by now, or until it is time to ask whether it ever will.
    #[cold]
    fn sleep<R, E>(
        &self,
        guard: &mut Guard,
        longest: Duration,
        ready: &mut impl FnMut(&mut Process) -> Option<R>,
        never: &mut impl FnMut(&mut Guard) -> Option<E>,
    ) -> Option<Result<R, E>> {
        let alone = !guard.is_shared();
        let shm = guard.engine.shm();
        wait::prepare_to_sleep(shm.job(), shm.block(), shm.barrier(), alone);
        // The last look, now that every sender will see that we sleep.
        let moved = self.progress(guard) || guard.engine.has_copying_to_do();
        let result = ready(guard);
        if moved || result.is_some() {
            wait::wake_now(guard.engine.shm().job(), guard.engine.shm().block());
            return result.map(Ok);
        }
        let start = Instant::now();
        guard.unlocked(|process| {
            let shm = process.engine.shm();
            wait::sleep(shm.job(), shm.block(), longest, alone);
        });
        let slept = start.elapsed();
        events::SLEEP.count(slept);
        if events::are_watched() {
            guard.unlocked(|_| Stay::interrupted(|| events::slept(self.fun, slept)));
        }
        if slept < longest {
            return None;
        }
        if guard.engine.shm().has_strangers() {
            guard.look_for_dead();
        }
        never(guard).map(Err)
    }
}

/// A sleeper looks around by itself now and then, should a wake-up ever be lost to a rank that died.
const SLEEP: Duration = Duration::from_millis(500);

#[cold]
fn not_active() -> Error {
    let text = match library::world() {
        World::NotYet => "called before MPI_Init or MPI_Init_thread",
        World::Active => "called while nothing is initialised",
        World::Finalized => "called after MPI_Finalize",
    };
    Error::new(MPI_ERR_OTHER, text)
}
