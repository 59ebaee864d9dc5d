//! What the library notes for `--check` around calls, and the names of objects in errors.

use crate::call::On;
use crate::check::{self, buffers, origins};
use crate::library::Library;
use oxmpi_abi::constants::{MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED};
use oxmpi_abi::functions::Fun;
use oxmpi_check::catalogue::THREAD_LEVEL;
use std::time::Duration;

impl Library {
    /// A call has made an object, and perhaps started an operation with it.
    #[cold]
    pub fn note_made(&self, made: usize, null: usize) {
        if made != null
            && let Some(fun) = self.last_call()
            && let Some(mut guard) = self.enter()
        {
            origins::note(made, fun);
            guard.bind_buffers(made, fun);
        }
    }

    /// A call that only some threads may make.
    #[cold]
    pub fn check_thread(&self, fun: Fun) {
        let level = self.thread_level();
        // A session may be used by a thread of its own; then calls take the lock.
        let is_allowed = level >= MPI_THREAD_SERIALIZED || self.is_threaded();
        if is_allowed || !self.has_main_thread() || self.is_main_thread() {
            return;
        }
        let level = if level == MPI_THREAD_FUNNELED { "MPI_THREAD_FUNNELED" } else { "MPI_THREAD_SINGLE" };
        let text = format!("{} called by another thread than the main one, but the level is {level}", fun.name());
        if let Some(guard) = self.enter() {
            check::tell(guard.engine.node(), &THREAD_LEVEL, text);
        }
    }

    /// A call has failed.
    pub fn note_failed(&self) {
        buffers::withdraw();
    }

    /// The job ends soon: this rank tells what it knows, and others, which may know of the same mistake, get a moment for it.
    pub fn tell_before_the_end(&self) {
        if !check::is_on() {
            return;
        }
        if let Some(mut guard) = self.enter() {
            guard.engine.drain_all();
            guard.compare_collectives();
            check::await_reader(guard.engine.node());
        }
        std::thread::sleep(Duration::from_millis(50));
    }

    /// The name of the object of an error, if it exists.
    pub fn describe(&self, on: On) -> Option<String> {
        match on {
            On::Comm(comm) => self.enter()?.comm(comm).ok().map(|comm| comm.describe()),
            On::Win(win) => self.enter()?.win(win).ok().map(|win| win.describe()),
            On::Session(session) => self.session(session, |_| String::from("a session")).ok(),
            On::File(file) => self.enter()?.file(file).ok().map(|file| file.describe()),
            On::Handler(..) | On::World => None,
        }
    }
}
