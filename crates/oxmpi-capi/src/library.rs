//! The one instance of the library in a process: its state, its lock, and what exists before and after the world does.

use crate::settings::{HUGE_PAGES, SINGLE_COPY};
use oxmpi_abi::Result;
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{self, Comm, Errhandler};
use oxmpi_base::lock::Lock;
use oxmpi_base::segment::IN_CALL;
use oxmpi_base::slots::{Kind, SlotTable};
use oxmpi_base::wait::{self, Occupancy};
use oxmpi_core::errhandler::Errhandlers;
use oxmpi_core::errors::ErrorRegistry;
use oxmpi_core::info::Info;
use oxmpi_core::process::{Process, bad_handle};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;

/// Error codes and classes, which may be asked for at any time.
static ERRORS: LazyLock<Mutex<ErrorRegistry>> = LazyLock::new(|| Mutex::new(ErrorRegistry::new()));

pub fn errors() -> MutexGuard<'static, ErrorRegistry> {
    ERRORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changes what the user added to the error codes, and keeps the value of `MPI_LASTUSEDCODE` up to date.
pub fn change_errors<R>(change: impl FnOnce(&mut ErrorRegistry) -> Result<R>) -> Result<R> {
    let mut errors = errors();
    let result = change(&mut errors);
    LAST_USED_CODE.store(errors.last_used_code(), Ordering::Relaxed);
    result
}

/// The value of the attribute `MPI_LASTUSEDCODE`, which C reads through its address.
pub static LAST_USED_CODE: AtomicI32 = AtomicI32::new(MPI_ERR_LASTCODE);

/// What mpirun was asked to tell the library.
pub const INITIAL_ERRHANDLER: &str = "OXMPI_INITIAL_ERRHANDLER";
pub const MEMORY_ALLOC_KINDS: &str = "OXMPI_MEMORY_ALLOC_KINDS";

/// Error handlers that the program made, which may be made and freed at any time.
static ERRHANDLERS: Mutex<Errhandlers> = Mutex::new(Errhandlers::new());

pub fn errhandlers() -> MutexGuard<'static, Errhandlers> {
    ERRHANDLERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The handler for errors that belong to no object while there is no `MPI_COMM_SELF`: what the launch asked for.
pub fn initial_errhandler() -> Errhandler {
    static INITIAL: LazyLock<Errhandler> = LazyLock::new(|| {
        let name = std::env::var(INITIAL_ERRHANDLER).unwrap_or_default().to_ascii_lowercase();
        match name.as_str() {
            "mpi_errors_return" => MPI_ERRORS_RETURN,
            "mpi_errors_abort" => MPI_ERRORS_ABORT,
            _ => MPI_ERRORS_ARE_FATAL,
        }
    });
    *INITIAL
}

/// Sessions, which may be opened from any thread.
static SESSIONS: Mutex<SlotTable<Session>> = Mutex::new(SlotTable::new(Kind::Session));

pub struct Session {
    pub errhandler: Errhandler,
    /// The hints that it was opened with and that mean something here.
    pub hints: Info,
}

pub fn sessions() -> MutexGuard<'static, SlotTable<Session>> {
    SESSIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads or changes a session.
pub fn session<R>(handle: handle::Session, with: impl FnOnce(&mut Session) -> R) -> Result<R> {
    let mut sessions = sessions();
    match sessions.get_mut(handle.0) {
        Some(session) => Ok(with(session)),
        None => {
            let (null, name) = (MPI_SESSION_NULL.0, "MPI_SESSION_NULL");
            Err(bad_handle(&sessions, MPI_ERR_SESSION, handle.0, "session", null, name))
        }
    }
}

/// The error handler of files that are not open: what a new file gets, and what hears of a failed opening.
static FILE_ERRHANDLER: Mutex<Errhandler> = Mutex::new(MPI_ERRORS_RETURN);

pub fn file_errhandler() -> MutexGuard<'static, Errhandler> {
    FILE_ERRHANDLER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the program has chosen an error handler for `MPI_COMM_SELF`.
static SELF_CHOSEN: AtomicBool = AtomicBool::new(false);

pub fn choose_self() {
    SELF_CHOSEN.store(true, Ordering::Relaxed);
}

/// The communicator whose handler hears of errors that concern no object. The standard says `MPI_COMM_SELF`; it said
/// `MPI_COMM_WORLD` before MPI-4.0, and programs of that time set a handler for that one alone.
pub fn comm_of_no_object() -> Comm {
    if SELF_CHOSEN.load(Ordering::Relaxed) { MPI_COMM_SELF } else { MPI_COMM_WORLD }
}

/// The process's MPI state while the world or a session is active, null otherwise.
static PROCESS: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// The same from the first time on: it is made once and kept until the process ends, with what outlives a session.
static KEPT: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// How many use it: the world and each session.
static USERS: Mutex<usize> = Mutex::new(0);
/// Taken around every use of the state once the program asked for `MPI_THREAD_MULTIPLE`.
static LOCK: Lock = Lock::new();
/// When this rank lets others have its CPU while it asks for what they do.
pub static OCCUPANCY: Occupancy = Occupancy::new();
static THREADED: AtomicBool = AtomicBool::new(false);
/// A tool will look at the state from any thread, whatever the program asks for.
static LOCK_WANTED: AtomicBool = AtomicBool::new(false);

/// Where the world model stands.
static WORLD: AtomicU8 = AtomicU8::new(World::NotYet as u8);
static THREAD_LEVEL: AtomicI32 = AtomicI32::new(0);
static MAIN_THREAD: Mutex<Option<ThreadId>> = Mutex::new(None);

/// Where the number of the current call is noted for mpirun; a dummy until there is a segment.
static NOWHERE: AtomicU32 = AtomicU32::new(0);
static CALL: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const NOWHERE).cast_mut());

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum World {
    NotYet = 0,
    Active = 1,
    Finalized = 2,
}

pub fn world() -> World {
    match WORLD.load(Ordering::Acquire) {
        0 => World::NotYet,
        1 => World::Active,
        _ => World::Finalized,
    }
}

pub fn set_world(state: World) {
    WORLD.store(state as u8, Ordering::Release);
}

/// Takes part in the job from now on, for the world or for a session. Safe from any thread.
///
/// Two users may each call from a thread of their own, so with the second the lock is needed at any level but
/// `MPI_THREAD_SINGLE`. A call that is under way in another thread meanwhile still ends without the lock.
pub fn join(thread_level: i32) -> Result<()> {
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    let threaded = thread_level == MPI_THREAD_MULTIPLE
        || *users > 0 && thread_level != MPI_THREAD_SINGLE
        || LOCK_WANTED.load(Ordering::Relaxed);
    if *users == 0 && PROCESS.load(Ordering::Acquire).is_null() {
        let mut process = KEPT.load(Ordering::Acquire);
        if process.is_null() {
            process = Box::into_raw(Box::new(Process::start(SINGLE_COPY.is_on())?));
            oxmpi_base::huge::allow(HUGE_PAGES.is_on());
            // SAFETY: just made, and never freed.
            let call = unsafe { &raw const (*process).engine.shm().block().call };
            CALL.store(call.cast_mut(), Ordering::Relaxed);
            KEPT.store(process, Ordering::Release);
        } else {
            // SAFETY: never freed; nobody uses it while there are no users.
            unsafe { (*process).engine.shm().rejoin() };
        }
        THREADED.store(threaded, Ordering::Relaxed);
        PROCESS.store(process, Ordering::Release);
    } else if threaded || *users == 0 {
        // Without users, another thread is about to leave.
        THREADED.store(true, Ordering::Relaxed);
    }
    *users += 1;
    Ok(())
}

/// A tool will call from any thread, beside the program's calls. False when it must not: the state is in use without the
/// lock, which a call under way would not notice.
pub fn want_lock() -> bool {
    let _users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    let may = is_threaded() || PROCESS.load(Ordering::Acquire).is_null();
    LOCK_WANTED.fetch_or(may, Ordering::Relaxed);
    may
}

/// Whether several threads may be in the library.
pub fn is_threaded() -> bool {
    THREADED.load(Ordering::Relaxed)
}

/// Whether the process's state has been made, with the settings of that moment.
pub fn has_started() -> bool {
    !KEPT.load(Ordering::Acquire).is_null()
}

/// The world or a session has ended. True when nobody is left: then, once what was sent has arrived, [`leave`].
#[must_use]
pub fn retire() -> bool {
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    *users -= 1;
    *users == 0
}

/// Takes part in nothing any more, unless somebody [joined](join) again in the meantime.
pub fn leave() {
    let users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    if *users == 0 {
        let process = PROCESS.swap(std::ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: null or kept to the end; only atomics of the segment are used.
        if let Some(process) = unsafe { process.as_ref() } {
            process.engine.shm().leave();
        }
    }
}

/// The world has begun; the calling thread is its main thread.
pub fn begin_world(thread_level: i32) {
    THREAD_LEVEL.store(thread_level, Ordering::Relaxed);
    *MAIN_THREAD.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current().id());
    set_world(World::Active);
}

pub fn thread_level() -> i32 {
    THREAD_LEVEL.load(Ordering::Relaxed)
}

pub fn is_main_thread() -> bool {
    *MAIN_THREAD.lock().unwrap_or_else(PoisonError::into_inner) == Some(std::thread::current().id())
}

#[inline(always)]
pub fn note_call(number: u32) {
    // SAFETY: points to NOWHERE or into the segment of the kept process; both live to the end.
    unsafe { (*CALL.load(Ordering::Relaxed)).store(number, Ordering::Relaxed) }
}

/// The call that this process is in, of several threads' the one that began or ended last.
pub fn current_call() -> Option<Fun> {
    // SAFETY: as above.
    let noted = unsafe { (*CALL.load(Ordering::Relaxed)).load(Ordering::Relaxed) };
    if noted & IN_CALL == 0 { None } else { Fun::from_u16((noted & !IN_CALL) as u16) }
}

/// Exclusive use of the process's state; ends with the value.
pub struct Guard {
    process: *mut Process,
    locked: bool,
}

impl Guard {
    /// `None` while neither the world nor a session is active.
    #[inline(always)]
    pub fn enter() -> Option<Guard> {
        Guard::over(PROCESS.load(Ordering::Acquire))
    }

    /// As [`Guard::enter`], but also after all has ended: for the last words.
    pub fn enter_late() -> Option<Guard> {
        Guard::over(KEPT.load(Ordering::Acquire))
    }

    #[inline(always)]
    fn over(process: *mut Process) -> Option<Guard> {
        if process.is_null() {
            return None;
        }
        let locked = THREADED.load(Ordering::Relaxed);
        if locked {
            LOCK.take();
        }
        Some(Guard { process, locked })
    }

    /// Whether other threads may want in.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.locked
    }

    /// Lets other threads in while `pause` runs.
    pub fn unlocked(&mut self, pause: impl FnOnce(&Process)) {
        if self.locked {
            LOCK.give_back();
        }
        // SAFETY: only atomics of the segment are used by `pause`, by shared reference.
        pause(unsafe { &*self.process });
        if self.locked {
            LOCK.take();
        }
    }

    /// What a call does that found nothing and that a program makes again and again until another rank has done something:
    /// where ranks outnumber CPUs, that rank may need this one's.
    #[inline]
    pub fn hand_over(&mut self) {
        if wait::is_crowded(self.engine.shm().job()) {
            self.unlocked(|_| wait::hand_over());
        }
    }

    /// The same for calls that programs also make between pieces of work.
    #[inline]
    pub fn hand_over_at_times(&mut self) {
        if wait::is_crowded(self.engine.shm().job()) {
            self.unlocked(|_| OCCUPANCY.ask_in_vain());
        }
    }

    /// Wakes threads of ours that sleep: something was done that one of them may wait for.
    #[inline]
    pub fn rouse(&self) {
        let block = self.engine.shm().block();
        if self.locked && block.sleep.load(Ordering::Relaxed) != 0 {
            oxmpi_base::wait::wake_now(self.engine.shm().job(), block);
        }
    }
}

impl std::ops::Deref for Guard {
    type Target = Process;

    #[inline(always)]
    fn deref(&self) -> &Process {
        // SAFETY: made by `join` and never freed; exclusive by the lock, or by the thread level that the user promised.
        unsafe { &*self.process }
    }
}

impl std::ops::DerefMut for Guard {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Process {
        // SAFETY: as above.
        unsafe { &mut *self.process }
    }
}

impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) {
        if self.locked {
            self.rouse();
            LOCK.give_back();
        }
    }
}
