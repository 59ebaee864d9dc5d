//! The one instance of the library in a process: its state, its lock, and what exists before and after the world does.

use oxmpi_abi::Result;
use oxmpi_abi::constants::MPI_ERR_LASTCODE;
use oxmpi_core::errors::ErrorRegistry;
use oxmpi_core::process::Process;
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
/// The number of processes that this program was started with: its `-n`.
pub const MAXPROCS: &str = "OXMPI_MAXPROCS";

/// The process's MPI state while there is one. Made once, kept until the process ends.
static PROCESS: AtomicPtr<Process> = AtomicPtr::new(std::ptr::null_mut());
/// Taken around every use of the state once the program asked for `MPI_THREAD_MULTIPLE`.
static LOCK: Mutex<()> = Mutex::new(());
static THREADED: AtomicBool = AtomicBool::new(false);

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

/// Makes a process's state the library's. It lives from now on.
pub fn install(process: Process, thread_level: i32, threaded: bool) {
    let process = Box::leak(Box::new(process));
    CALL.store((&raw const process.engine.shm().block().call).cast_mut(), Ordering::Relaxed);
    THREAD_LEVEL.store(thread_level, Ordering::Relaxed);
    *MAIN_THREAD.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current().id());
    THREADED.store(threaded, Ordering::Relaxed);
    PROCESS.store(process, Ordering::Release);
}

pub fn thread_level() -> i32 {
    THREAD_LEVEL.load(Ordering::Relaxed)
}

pub fn is_main_thread() -> bool {
    *MAIN_THREAD.lock().unwrap_or_else(PoisonError::into_inner) == Some(std::thread::current().id())
}

#[inline(always)]
pub fn note_call(number: u32) {
    // SAFETY: points to NOWHERE or into the segment of the leaked process; both live to the end.
    unsafe { (*CALL.load(Ordering::Relaxed)).store(number, Ordering::Relaxed) }
}

/// Exclusive use of the process's state; ends with the value.
pub struct Guard {
    process: *mut Process,
    lock: Option<MutexGuard<'static, ()>>,
}

impl Guard {
    /// `None` while there is no state.
    #[inline(always)]
    pub fn enter() -> Option<Guard> {
        let process = PROCESS.load(Ordering::Acquire);
        if process.is_null() {
            return None;
        }
        let lock = if THREADED.load(Ordering::Relaxed) { Some(lock()) } else { None };
        Some(Guard { process, lock })
    }

    /// Whether other threads may want in.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.lock.is_some()
    }

    /// Lets other threads in while `pause` runs.
    pub fn unlocked(&mut self, pause: impl FnOnce(&Process)) {
        let shared = self.lock.take().is_some();
        // SAFETY: only atomics of the segment are used by `pause`, by shared reference.
        pause(unsafe { &*self.process });
        if shared {
            self.lock = Some(lock());
        }
    }
}

#[cold]
fn lock() -> MutexGuard<'static, ()> {
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::ops::Deref for Guard {
    type Target = Process;

    #[inline(always)]
    fn deref(&self) -> &Process {
        // SAFETY: set and leaked by `install`; exclusive by the lock, or by the thread level that the user promised.
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
        if self.lock.is_some() {
            // What this thread did may be what another one of ours sleeps for.
            let block = self.engine.shm().block();
            if block.sleep.load(Ordering::Relaxed) != 0 {
                oxmpi_base::wait::wake_now(block);
            }
        }
    }
}
