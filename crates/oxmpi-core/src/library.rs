//! One instance of the library: its state, what exists before and after the state, and its users.
//!
//! The product has one instance, which `oxmpi-capi` holds; a test has one for each rank that it runs as a thread. The state
//! itself is reached through a [`Guard`](crate::call::Guard) only (`call.rs`). Nothing here waits.

use crate::attributes::Tables;
use crate::call::{Entry, Shared, Started};
use crate::checks::bad_handle;
use crate::debugger;
use crate::errhandler::Errhandlers;
use crate::errors::ErrorRegistry;
use crate::helper::Helper;
use crate::info::Info;
use crate::process::Process;
use crate::settings::ASYNC_PROGRESS;
use oxmpi_abi::Result;
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{self, Comm, Errhandler};
use oxmpi_base::cpus::CpuPin;
use oxmpi_base::slots::{Kind, SlotTable};
use oxmpi_base::sync::shared::AtomicU32;
use oxmpi_base::thread_number::thread_number;
use oxmpi_base::trust;
use oxmpi_boot::requests::Stage;
use oxmpi_io::UserDatarep;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// Environment variables by which mpirun passes options of its user to the library.
pub const INITIAL_ERRHANDLER: &str = "OXMPI_INITIAL_ERRHANDLER";
pub const MEMORY_ALLOC_KINDS: &str = "OXMPI_MEMORY_ALLOC_KINDS";

pub struct Library {
    pub(crate) entry: Entry,
    /// Where the number of the current call is stored for mpirun; an unused word until there is a
    /// segment.
    pub(crate) call: AtomicPtr<AtomicU32>,
    /// The state, made at the first use and kept for ever, with what outlives a session.
    pub(crate) kept: OnceLock<Box<Started>>,
    /// The thread of asynchronous progress.
    pub(crate) helper: Helper,
    users: Mutex<Users>,
    observer: OnceLock<&'static dyn Observer>,
    sleeps: Tally,
    user_calls: AtomicU64,
    world: WorldModel,
    sessions: Mutex<SlotTable<Session>>,
    errors: LazyLock<Mutex<ErrorRegistry>>,
    last_used_code: AtomicI32,
    errhandlers: Mutex<Errhandlers>,
    initial_errhandler: OnceLock<Errhandler>,
    file_errhandler: Mutex<Errhandler>,
    infos: Mutex<SlotTable<Info>>,
    attributes: Tables,
    datareps: Mutex<Vec<Arc<UserDatarep>>>,
}

/// Gets the sleeps of calls; `oxmpi-capi` reports them to tools.
pub trait Observer: Sync {
    /// Whether anybody is interested now.
    fn is_watching(&self) -> bool;

    /// A call has slept for this time. No lock is held.
    fn slept(&self, fun: Fun, time: Duration);
}

/// How often something has happened in this process, and how long it took.
#[derive(Default)]
pub struct Tally {
    times: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Tally {
    pub const fn new() -> Tally {
        Tally { times: AtomicU64::new(0), nanoseconds: AtomicU64::new(0) }
    }

    pub fn count(&self, took: Duration) {
        self.times.fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
    }

    pub fn times(&self) -> u64 {
        self.times.load(Ordering::Relaxed)
    }

    pub fn nanoseconds(&self) -> u64 {
        self.nanoseconds.load(Ordering::Relaxed)
    }
}

/// The world and the sessions of this process.
struct Users {
    count: usize,
    /// The number of users there have ever been.
    joined: u64,
    /// A tool will access the state from any thread, whatever the program promises.
    lock_wanted: bool,
    /// There is a helper thread.
    helped: bool,
}

/// What [`Library::join`] returns to the new user.
#[derive(Clone, Copy, Debug)]
pub struct Joined {
    number: u64,
    /// No other user is active, though one may be about to leave.
    pub is_first: bool,
    /// The lock was already in use.
    pub was_locked: bool,
}

/// The state of the world model.
struct WorldModel {
    state: AtomicU8,
    thread_level: AtomicI32,
    /// The number of its main thread; 0 before there is one.
    main_thread: AtomicU64,
    /// Whether the program has set an error handler for `MPI_COMM_SELF`.
    self_chosen: AtomicBool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum World {
    NotYet = 0,
    Active = 1,
    Finalized = 2,
}

pub struct Session {
    pub errhandler: Errhandler,
    /// The hints that it was opened with and that have an effect here.
    pub hints: Info,
}

/// A word that is never read.
static NOWHERE: AtomicU32 = AtomicU32::new(0);

impl Default for Library {
    fn default() -> Library {
        Library::new()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Library {
    pub const fn new() -> Library {
        Library {
            entry: Entry::new(),
            call: AtomicPtr::new((&raw const NOWHERE).cast_mut()),
            kept: OnceLock::new(),
            helper: Helper::new(),
            users: Mutex::new(Users { count: 0, joined: 0, lock_wanted: false, helped: false }),
            observer: OnceLock::new(),
            sleeps: Tally::new(),
            user_calls: AtomicU64::new(0),
            world: WorldModel {
                state: AtomicU8::new(World::NotYet as u8),
                thread_level: AtomicI32::new(0),
                main_thread: AtomicU64::new(0),
                self_chosen: AtomicBool::new(false),
            },
            sessions: Mutex::new(SlotTable::new(Kind::Session)),
            errors: LazyLock::new(|| Mutex::new(ErrorRegistry::new())),
            last_used_code: AtomicI32::new(MPI_ERR_LASTCODE),
            errhandlers: Mutex::new(Errhandlers::new()),
            initial_errhandler: OnceLock::new(),
            file_errhandler: Mutex::new(MPI_ERRORS_RETURN),
            infos: Mutex::new(SlotTable::new(Kind::Info)),
            attributes: Tables::new(),
            datareps: Mutex::new(Vec::new()),
        }
    }

    // ---- joining and leaving ----

    /// Joins the job for the world or for a session; `make` makes the state, the first time. Safe
    /// from any thread; every later use of the state takes the lock.
    ///
    /// Must not be called while holding a guard.
    pub fn join(&self, make: impl FnOnce() -> Result<Process>) -> Result<Joined> {
        let mut users = locked(&self.users);
        let was_locked = self.entry.is_threaded();
        let is_first = users.count == 0 && !self.entry.is_active();
        if is_first {
            let started = match self.kept.get() {
                Some(started) => {
                    self.entry.set_threaded();
                    let mut guard = self.guard_over(started);
                    guard.engine.node().rejoin();
                    guard.tell_stage(Stage::Running);
                    drop(guard);
                    started
                }
                None => {
                    let made = Box::new(Started::new(make()?));
                    made.hide_from_checker();
                    self.call.store((&raw const made.shared.block().call).cast_mut(), Ordering::Relaxed);
                    self.entry.set_threaded();
                    let started = self.kept.get_or_init(|| made);
                    debugger::publish(&self.guard_over(started), started.state_address());
                    started
                }
            };
            self.entry.activate(started);
        } else if !was_locked {
            // The other users rely on being alone. Without users, another thread is about to leave.
            self.turn_lock_on();
        }
        users.count += 1;
        users.joined += 1;
        Ok(Joined { number: users.joined, is_first, was_locked })
    }

    /// The program promises to serialize its calls: they need no lock until another user joins. Has
    /// no effect when that has already happened, when a tool wants the lock, or when the lock could
    /// not be turned on again.
    ///
    /// # Safety
    /// Until the next [`join`](Library::join) or [`want_lock`](Library::want_lock) no two threads
    /// are in calls of this library at the same time; a call that waits or runs a user function
    /// counts, too.
    #[expect(unsafe_code, reason = "the one place where the program's thread level is believed")]
    pub unsafe fn assume_serialized(&self, joined: Joined) {
        let users = locked(&self.users);
        if users.joined == joined.number && !users.lock_wanted && self.shared().is_some_and(Shared::can_turn_lock_on) {
            self.entry.set_serialized(users.helped);
        }
    }

    /// Starts the helper thread if the caller or the setting of the process asks for it.
    pub fn help_if_asked(&'static self, is_asked: bool) {
        if is_asked || ASYNC_PROGRESS.is_on() {
            self.begin_helping();
        }
    }

    /// From now on a helper thread brings forward what is under way while the program computes, until the last user
    /// [leaves](Library::leave). Whether there is one: the system may refuse it.
    fn begin_helping(&'static self) -> bool {
        let mut users = locked(&self.users);
        if !users.helped {
            if !self.entry.is_locking() {
                self.turn_lock_on();
            }
            users.helped = self.start_helper();
        }
        users.helped
    }

    /// A tool will call from any thread, concurrently with the program.
    pub fn want_lock(&self) {
        let mut users = locked(&self.users);
        users.lock_wanted = true;
        if self.entry.is_active() && !self.entry.is_threaded() {
            self.turn_lock_on();
        }
    }

    /// Whether there is a helper thread.
    pub fn has_helper(&self) -> bool {
        self.helper.is_on()
    }

    /// Whether several threads of the program may be in the library.
    pub fn is_threaded(&self) -> bool {
        self.entry.is_threaded()
    }

    /// Whether the state has been made, with the settings of that moment.
    pub fn has_started(&self) -> bool {
        self.kept.get().is_some()
    }

    /// What any thread may read, once the state has been made.
    pub fn shared(&self) -> Option<&Shared> {
        self.kept.get().map(|started| &started.shared)
    }

    /// The world or a session has ended. True when no user is left: then, once everything sent has
    /// arrived, call [`leave`](Library::leave).
    #[must_use]
    pub fn retire(&self) -> bool {
        let mut users = locked(&self.users);
        users.count -= 1;
        users.count == 0
    }

    /// Leaves the job, unless another thread [joined](Library::join) again in the meantime.
    pub fn leave(&self) {
        let mut users = locked(&self.users);
        if users.count == 0
            && self.entry.deactivate()
            && let Some(mut guard) = self.enter_late()
        {
            if std::mem::take(&mut users.helped) {
                self.helper.ask_to_end(guard.shared());
                guard.unlocked(|_| self.helper.await_end());
                guard.help_no_more();
            }
            guard.engine.node().leave();
            guard.tell_stage(Stage::Finalized);
            if guard.is_managed {
                oxmpi_boot::manager::finish();
            }
        }
    }

    // ---- user functions ----

    /// Calls a user function: restores the CPU affinity of the thread and counts the call. The
    /// caller must not hold a guard; otherwise use [`Guard::call_user`](crate::call::Guard::call_user).
    pub fn call_user<R>(&self, function: impl FnOnce() -> R) -> R {
        self.user_calls.fetch_add(1, Ordering::Relaxed);
        CpuPin::interrupted(function)
    }

    /// The number of user functions that have been called.
    pub fn user_calls(&self) -> u64 {
        self.user_calls.load(Ordering::Relaxed)
    }

    // ---- sleeps ----

    /// Sets the observer of sleeps, for good; a second one is ignored.
    pub fn observe(&self, observer: &'static dyn Observer) {
        self.observer.get_or_init(|| observer);
    }

    pub(crate) fn observer(&self) -> Option<&'static dyn Observer> {
        self.observer.get().copied().filter(|observer| observer.is_watching())
    }

    /// The sleeps of calls that waited.
    pub fn sleeps(&self) -> &Tally {
        &self.sleeps
    }

    // ---- the world model ----

    pub fn world(&self) -> World {
        match self.world.state.load(Ordering::Acquire) {
            0 => World::NotYet,
            1 => World::Active,
            _ => World::Finalized,
        }
    }

    /// The world has begun; the calling thread is its main thread.
    pub fn begin_world(&self, thread_level: i32) {
        self.world.thread_level.store(thread_level, Ordering::Relaxed);
        self.world.main_thread.store(thread_number(), Ordering::Relaxed);
        self.world.state.store(World::Active as u8, Ordering::Release);
    }

    pub fn end_world(&self) {
        self.world.state.store(World::Finalized as u8, Ordering::Release);
    }

    pub fn thread_level(&self) -> i32 {
        self.world.thread_level.load(Ordering::Relaxed)
    }

    /// Whether the world has begun.
    pub fn has_main_thread(&self) -> bool {
        self.world.main_thread.load(Ordering::Relaxed) != 0
    }

    pub fn is_main_thread(&self) -> bool {
        self.world.main_thread.load(Ordering::Relaxed) == thread_number()
    }

    pub fn choose_self(&self) {
        self.world.self_chosen.store(true, Ordering::Relaxed);
    }

    /// The communicator whose handler gets errors that concern no object. The standard says
    /// `MPI_COMM_SELF`; before MPI-4.0 it said `MPI_COMM_WORLD`, and programs of that time set a
    /// handler only for that one.
    pub fn comm_of_no_object(&self) -> Comm {
        if self.world.self_chosen.load(Ordering::Relaxed) { MPI_COMM_SELF } else { MPI_COMM_WORLD }
    }

    // ---- objects that exist at any time, for any thread ----

    /// Error codes and classes.
    pub fn errors(&self) -> MutexGuard<'_, ErrorRegistry> {
        locked(&self.errors)
    }

    /// Changes the user's error codes, and updates `MPI_LASTUSEDCODE`.
    pub fn change_errors<R>(&self, change: impl FnOnce(&mut ErrorRegistry) -> Result<R>) -> Result<R> {
        let mut errors = self.errors();
        let result = change(&mut errors);
        self.last_used_code.store(errors.last_used_code(), Ordering::Relaxed);
        result
    }

    /// The value of the attribute `MPI_LASTUSEDCODE`, which C reads through its address.
    pub fn last_used_code(&self) -> &AtomicI32 {
        &self.last_used_code
    }

    /// Error handlers that the program made.
    pub fn errhandlers(&self) -> MutexGuard<'_, Errhandlers> {
        locked(&self.errhandlers)
    }

    /// The handler for errors that concern no object while there is no `MPI_COMM_SELF`, as
    /// requested at the launch.
    pub fn initial_errhandler(&self) -> Errhandler {
        *self.initial_errhandler.get_or_init(|| {
            let name = trust::text(INITIAL_ERRHANDLER).unwrap_or_default().to_ascii_lowercase();
            match name.as_str() {
                "mpi_errors_return" => MPI_ERRORS_RETURN,
                "mpi_errors_abort" => MPI_ERRORS_ABORT,
                _ => MPI_ERRORS_ARE_FATAL,
            }
        })
    }

    /// The error handler of files that are not open: new files inherit it, and it gets the errors
    /// of failed opens.
    pub fn file_errhandler(&self) -> MutexGuard<'_, Errhandler> {
        locked(&self.file_errhandler)
    }

    /// Sessions, which may be opened from any thread.
    pub fn sessions(&self) -> MutexGuard<'_, SlotTable<Session>> {
        locked(&self.sessions)
    }

    /// Reads or changes a session.
    pub fn session<R>(&self, handle: handle::Session, with: impl FnOnce(&mut Session) -> R) -> Result<R> {
        let mut sessions = self.sessions();
        match sessions.get_mut(handle.0) {
            Some(session) => Ok(with(session)),
            None => {
                let (null, name) = (MPI_SESSION_NULL.0, "MPI_SESSION_NULL");
                Err(bad_handle(&sessions, MPI_ERR_SESSION, handle.0, "session", null, name))
            }
        }
    }

    /// Info objects; `infos.rs` uses them.
    pub fn infos(&self) -> MutexGuard<'_, SlotTable<Info>> {
        locked(&self.infos)
    }

    /// Keys and attributes; `keyvals.rs` uses them.
    pub(crate) fn attribute_tables(&self) -> &Tables {
        &self.attributes
    }

    /// Data representations that the program has registered. None is ever removed.
    pub fn datareps(&self) -> MutexGuard<'_, Vec<Arc<UserDatarep>>> {
        locked(&self.datareps)
    }
}
