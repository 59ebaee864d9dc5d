//! What the library notes for `--check` around calls, and the names of objects in errors.

use crate::args::Array;
use crate::call::{Call, Guard, On};
use crate::check::calls::{Data, Own};
use crate::check::{self, buffers, origins};
use crate::library::Library;
use oxmpi_abi::constants::{MPI_ERR_DIMS, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_UNDEFINED};
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::Comm;
use oxmpi_base::thread_number::thread_number;
use oxmpi_check::catalogue::{THREAD_CONCURRENT, THREAD_LEVEL};
use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
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
            origins::prune(|handle| guard.has_object(handle));
            guard.bind_buffers(made, fun);
        }
    }

    /// A thread is in a call, below `MPI_THREAD_MULTIPLE`. `before` is the thread that was in one when this one came, and
    /// `visitor` the one that is still there, if any. Called with the lock, but without the state: what is found is told later.
    #[cold]
    pub(crate) fn check_thread(&self, before: u64, visitor: &AtomicU64) {
        let own = thread_number();
        let now = visitor.swap(own, Relaxed);
        let is_other = |thread: u64| thread != 0 && thread != own;
        let level = self.thread_level();
        let is_right = match level >= MPI_THREAD_SERIALIZED {
            true => !is_other(before) && !is_other(now),
            false => !self.has_main_thread() || self.is_main_thread(),
        };
        if is_right {
            return;
        }
        let Some(fun) = self.current_call().filter(|fun| !is_for_all_threads(*fun)) else { return };
        if level >= MPI_THREAD_SERIALIZED {
            let text = format!(
                "{} called while another thread is in a call of MPI, but the level is MPI_THREAD_SERIALIZED",
                fun.name()
            );
            check::tell_later(&THREAD_CONCURRENT, text);
        } else {
            let level = if level == MPI_THREAD_FUNNELED { "MPI_THREAD_FUNNELED" } else { "MPI_THREAD_SINGLE" };
            let text = format!("{} called by another thread than the main one, but the level is {level}", fun.name());
            check::tell_later(&THREAD_LEVEL, text);
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
            check::tell_now(guard.engine.node());
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

impl Call<'_> {
    /// For `--check`: this is a collective call on a communicator, which makes something else than data.
    pub fn note(&self, comm: Comm) {
        self.note_arguments(comm, || Data::NONE);
    }

    /// The same, with a grid that all ranks must give alike.
    pub fn note_grid(&self, comm: Comm, dims: Array<c_int>, periods: Array<c_int>) {
        self.note_arguments(comm, || {
            let dims = dims.elements("dims", "ndims", MPI_ERR_DIMS).unwrap_or_default();
            let periods = periods.elements("periods", "ndims", MPI_ERR_DIMS).unwrap_or_default();
            let periods = periods.iter().map(|&period| i64::from(period != 0));
            Data::arguments(&dims.iter().map(|&dim| i64::from(dim)).chain(periods).collect::<Vec<i64>>())
        });
    }

    /// The same, with a kind that those ranks must give alike which do not stay outside.
    pub fn note_kind(&self, comm: Comm, kind: c_int) {
        self.note_arguments(comm, || match kind {
            MPI_UNDEFINED => Data::NONE,
            _ => Data::arguments(&[i64::from(kind)]),
        });
    }

    fn note_arguments(&self, comm: Comm, arguments: impl FnOnce() -> Data) {
        if !check::is_on() {
            return;
        }
        if let Ok(mut guard) = self.enter() {
            self.note_in(&mut guard, comm, arguments());
        }
    }

    /// The same in a call that has entered, with arguments that all ranks must give alike.
    pub fn note_in(&self, guard: &mut Guard, comm: Comm, arguments: Data) {
        if guard.comm(comm).is_ok_and(|found| !found.is_inter()) {
            guard.note_collective(comm, Own::with_arguments(self.fun, arguments));
        }
    }
}

/// Functions that every thread may call at any time.
fn is_for_all_threads(fun: Fun) -> bool {
    const NAMES: [&str; 9] = [
        "MPI_Init", // also MPI_Initialized
        "MPI_Finalized",
        "MPI_Query_thread",
        "MPI_Is_thread_main",
        "MPI_Get_",
        "MPI_Info_",
        "MPI_Session_",
        "MPI_Error_",
        "MPI_Add_error_",
    ];
    NAMES.iter().any(|name| fun.name().starts_with(name))
}
