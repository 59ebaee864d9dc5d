//! The state of a tool interface: its library, and all objects that tools have handles of.

use super::answer::{Answer, Code, INVALID, NOT_INITIALIZED};
use super::cvars::Cvar;
use super::events::{Instance, Registration};
use super::pvars::Pvar;
use oxmpi_abi::constants::*;
use oxmpi_base::slots::{Kind, SlotTable};
use oxmpi_core::library::{Library, Tally};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The tool interface of a library.
pub struct Tool {
    pub subject: Subject,
    state: Mutex<State>,
}

/// What tools inspect.
pub struct Subject {
    pub library: &'static Library,
    /// Calls that have failed.
    pub(super) errors: Tally,
    /// The number of event registrations: a hint, which may be outdated.
    pub(super) watchers: AtomicUsize,
}

pub struct State {
    /// Initialisations that were not finalised.
    users: u64,
    /// All objects that tools have handles of, except enumerations, which always exist.
    pub(super) objects: SlotTable<Object>,
}

pub(super) enum Object {
    Cvar(&'static Cvar),
    Session,
    Pvar(Pvar),
    Registration(Registration),
    Instance(Instance),
}

impl Tool {
    pub const fn new(library: &'static Library) -> Tool {
        Tool {
            subject: Subject { library, errors: Tally::new(), watchers: AtomicUsize::new(0) },
            state: Mutex::new(State::new()),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state for a call that requires the interface to be initialised, as all but two do.
    pub fn enter(&self) -> Answer<MutexGuard<'_, State>> {
        let state = self.state();
        if state.users == 0 { Err(NOT_INITIALIZED) } else { Ok(state) }
    }

    /// Initialises it once more. If a tool may call from several threads, the library's lock is
    /// turned on, even for a program below `MPI_THREAD_MULTIPLE`.
    pub fn initialize(&'static self, required: i32) -> Answer {
        if ![MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE].contains(&required) {
            return Err(INVALID);
        }
        self.state().users += 1;
        self.subject.library.observe(self);
        if required == MPI_THREAD_MULTIPLE {
            self.subject.library.want_lock();
        }
        Ok(())
    }

    /// Undoes one initialisation; the last one frees all handles.
    pub fn finalize(&self) -> Answer {
        let mut state = self.enter()?;
        state.users -= 1;
        if state.users == 0 {
            state.objects.drain();
            self.subject.watchers.store(0, Relaxed);
        }
        Ok(())
    }
}

impl State {
    pub(super) const fn new() -> State {
        State { users: 0, objects: SlotTable::new(Kind::Tool) }
    }

    pub(super) fn add(&mut self, object: Object, full: i32) -> Answer<usize> {
        self.objects.try_insert(object).map_err(|_| Code(full))
    }
}
