//! A call of the library: what all code that serves a call knows about it. `wait/` has its waits.

use crate::guard::Guard;
use crate::library::{Library, World};
use crate::operation::UserCall;
use oxmpi_abi::constants::MPI_ERR_OTHER;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{self, Comm, Errhandler, File, Session, Win};
use oxmpi_abi::{Error, Result};
use std::cell::Cell;
use std::sync::Arc;

/// The object whose error handler gets an error.
#[derive(Clone, Copy, Debug)]
pub enum On {
    Comm(Comm),
    Win(Win),
    File(File),
    Session(Session),
    /// The handler itself, for an object that is being made: the null handle stands for it.
    Handler(Errhandler, usize),
    /// No object: see [`Library::comm_of_no_object`].
    World,
}

/// What a function of the library knows about the call that it serves.
pub struct Call<'l> {
    pub fun: Fun,
    library: &'l Library,
    on: Cell<On>,
}

impl<'l> Call<'l> {
    #[inline(always)]
    pub fn new(library: &'l Library, fun: Fun, on: On) -> Call<'l> {
        Call { fun, library, on: Cell::new(on) }
    }

    #[inline]
    pub fn library(&self) -> &'l Library {
        self.library
    }

    /// Exclusive access to the process's MPI state until the guard is dropped.
    #[inline(always)]
    pub fn enter(&self) -> Result<Guard<'l>> {
        self.library.enter_active()
    }

    /// As [`Call::enter`], for functions that exist only in the world model.
    pub fn enter_world(&self) -> Result<Guard<'l>> {
        self.enter().and_then(|guard| if guard.has_world { Ok(guard) } else { Err(not_active(self.library)) })
    }

    /// The object whose error handler gets an error of this call.
    #[inline(always)]
    pub fn on(&self) -> On {
        self.on.get()
    }

    /// Raises an error of this call on another object than its arguments name.
    pub fn raise_on(&self, on: On) {
        self.on.set(on);
    }

    /// Moves all messages that can move, and calls the user functions that collective operations
    /// wait for. `true` when something may have completed.
    #[inline]
    pub fn progress(&self, guard: &mut Guard) -> bool {
        let moved = guard.progress();
        if moved {
            guard.shared().occupancy.found();
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

    /// Calls the user's function for a reduction, without the lock.
    #[expect(unsafe_code, reason = "the function gets the user's memory")]
    pub fn make_call(&self, guard: &mut Guard, call: &UserCall) {
        let live = guard.datatype(call.datatype).is_ok_and(|found| Arc::ptr_eq(found, &call.held));
        // The user may have freed the type in the meantime; the function gets a handle that is
        // valid during the call.
        let lent = if live { None } else { guard.types.try_insert(Arc::clone(&call.held)).ok() };
        let datatype = lent.map_or(call.datatype, handle::Datatype);
        // SAFETY: the operands are those of a collective operation under way, which holds their memory until its end.
        guard.call_user(|| unsafe { call.make(datatype) });
        if let Some(lent) = lent {
            guard.types.remove(lent);
        }
    }
}

impl Library {
    /// As [`Call::enter`], for functions that need nothing else from their call.
    #[inline(always)]
    pub fn enter_active(&self) -> Result<Guard<'_>> {
        match self.enter() {
            Some(mut guard) => {
                // Background collective operations advance in every call.
                if guard.has_runs() {
                    guard.progress();
                }
                Ok(guard)
            }
            None => Err(not_active(self)),
        }
    }
}

#[cold]
fn not_active(library: &Library) -> Error {
    let text = match library.world() {
        World::NotYet => "called before MPI_Init or MPI_Init_thread",
        World::Active => "called while nothing is initialised",
        World::Finalized => "called after MPI_Finalize",
    };
    Error::new(MPI_ERR_OTHER, text)
}
