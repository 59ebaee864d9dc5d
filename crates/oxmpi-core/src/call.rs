//! A call of the library: what all code that serves a call knows about it, and how a thread gets
//! exclusive access to the state, with a lock or by the program's promise. `wait/` has its waits.
//!
//! Programs below `MPI_THREAD_MULTIPLE` promise to make one call at a time, and pay for no lock: a
//! call only marks itself as `inside` with a plain store, and then checks whether the library is
//! `THREADED` by now. A second session, whose calls may come from another thread, sets that mode,
//! makes every processor see that (`membarrier`), and waits until no call is inside without the
//! lock. A call that waits checks again after every unsuccessful poll, and continues with the lock.
//! So the two sides cannot miss each other, and only the rare side pays. Where the kernel has no
//! such barrier the lock is always used.
//!
//! With asynchronous progress the library has a thread of its own (`helper.rs`), so calls take the lock, but the program
//! still makes one call at a time: `HELPED`. A call that waits then keeps the lock until it sleeps, as it would without one.
//!
//! Guards never nest: with the lock the second one would deadlock, and without it be a second
//! `&mut`. Debug builds check for that.

use crate::check;
use crate::library::{Library, World};
use crate::matching::Pattern;
use crate::operation::UserCall;
use crate::process::Process;
use oxmpi_abi::constants::{MPI_ANY_SOURCE, MPI_ERR_OTHER};
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{self, Comm, Errhandler, File, Session, Win};
use oxmpi_abi::{Error, Result};
use oxmpi_base::load;
use oxmpi_base::lock::Lock;
use oxmpi_base::segment::{IN_CALL, JobHeader, RankBlock};
use oxmpi_base::thread_checker;
use oxmpi_base::wait::{self, PollYieldPolicy, WakeFence};
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering, compiler_fence};

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

    /// The same call, for code that is seldom reached; see [`Guard::for_slow_path`].
    #[inline(always)]
    pub fn for_slow_path(&self) -> Call<'l> {
        Call::new(self.library, self.fun, self.on())
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
        self.enter().and_then(|guard| if guard.comms.has_world { Ok(guard) } else { Err(not_active(self.library)) })
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
            guard.shared().poll_yield.found();
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

impl Library {
    /// Exclusive access to the state; `None` while neither the world nor a session is active.
    #[inline(always)]
    pub fn enter(&self) -> Option<Guard<'_>> {
        Guard::enter(self)
    }

    /// As [`enter`](Library::enter), but also after everything has ended.
    pub fn enter_late(&self) -> Option<Guard<'_>> {
        self.kept.get().map(|started| self.guard_over(started))
    }

    // ---- the current call ----

    /// Stores for mpirun which call this process is in.
    #[inline(always)]
    #[expect(unsafe_code, reason = "the word lies in the segment")]
    pub fn note_call(&self, number: u32) {
        // SAFETY: points to NOWHERE or into the segment, which `kept` maps as long as `self` lives.
        unsafe { (*self.call.load(Ordering::Relaxed)).store(number, Ordering::Relaxed) }
    }

    /// The call that this process is in; with several threads, the one that began or ended last.
    #[expect(unsafe_code, reason = "the word lies in the segment")]
    pub fn current_call(&self) -> Option<Fun> {
        // SAFETY: points to NOWHERE or into the segment, which `kept` maps as long as `self` lives.
        let noted = unsafe { (*self.call.load(Ordering::Relaxed)).load(Ordering::Relaxed) };
        if noted & IN_CALL == 0 { None } else { Fun::from_u16((noted & !IN_CALL) as u16) }
    }

    /// The call that this process is in, or the last one.
    #[expect(unsafe_code, reason = "the word lies in the segment")]
    pub fn last_call(&self) -> Option<Fun> {
        // SAFETY: points to NOWHERE or into the segment, which `kept` maps as long as `self` lives.
        let noted = unsafe { (*self.call.load(Ordering::Relaxed)).load(Ordering::Relaxed) };
        Fun::from_u16((noted & !IN_CALL) as u16)
    }
}

/// Exclusive access to the state; ends with the value.
pub struct Guard<'l> {
    library: &'l Library,
    started: &'l Started,
    locked: bool,
    /// The thread that took the lock must release it.
    _not_send: PhantomData<*const ()>,
}

impl Library {
    /// A guard over a state that may not be active.
    pub(crate) fn guard_over<'l>(&'l self, started: &'l Started) -> Guard<'l> {
        Guard { library: self, started, locked: self.entry.enter(self), _not_send: PhantomData }
    }
}

impl<'l> Guard<'l> {
    #[inline(always)]
    #[expect(unsafe_code, reason = "the pointer is what the library keeps")]
    pub(crate) fn enter(library: &'l Library) -> Option<Guard<'l>> {
        let started = library.entry.active.load(Ordering::Acquire);
        // SAFETY: null, or in the box that `library.kept` holds as long as the library lives.
        let started = unsafe { started.as_ref() }?;
        Some(Guard { library, started, locked: library.entry.enter(library), _not_send: PhantomData })
    }

    /// The same guard, for code that is seldom reached. A function that gets a reference to a guard makes the compiler keep
    /// the guard in memory from the beginning of the call on; with this it does so from here on.
    #[inline(always)]
    pub fn for_slow_path(self) -> Guard<'l> {
        let guard = ManuallyDrop::new(self);
        Guard { library: guard.library, started: guard.started, locked: guard.locked, _not_send: PhantomData }
    }

    #[inline]
    pub fn library(&self) -> &'l Library {
        self.library
    }

    #[inline]
    pub fn shared(&self) -> &'l Shared {
        &self.started.shared
    }

    /// Whether other threads of the program may want to enter.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.locked && self.library.entry.is_for_threads()
    }

    /// Whether the lock is to be given back between two polls. A program that promises to make one call at a time gets it when
    /// another thread has come nevertheless.
    #[inline]
    pub fn lets_others_in(&self) -> bool {
        let entry = &self.library.entry;
        self.locked && (entry.is_threaded() || entry.is_for_threads() && entry.is_awaited())
    }

    /// Whether this guard holds the lock, for threads of the program or for the helper thread.
    #[inline]
    pub(crate) fn is_locked(&self) -> bool {
        self.locked
    }

    /// Lets other threads in while `pause` runs. References into the state end before, and their
    /// targets may be gone afterwards.
    #[inline]
    pub fn unlocked<R>(&mut self, pause: impl FnOnce(&Shared) -> R) -> R {
        struct Back<'g, 'l>(&'g mut Guard<'l>);
        impl Drop for Back<'_, '_> {
            #[inline]
            fn drop(&mut self) {
                self.0.locked = self.0.library.entry.enter(self.0.library);
            }
        }
        self.library.entry.leave(self.locked);
        let back = Back(self);
        pause(back.0.shared())
    }

    /// Calls a user function, which may call the library.
    #[inline(never)]
    pub fn call_user<R>(&mut self, function: impl FnOnce() -> R) -> R {
        let library = self.library;
        if check::is_on() {
            self.buffers.unwatch();
        }
        self.unlocked(|_| library.call_user(function))
    }

    /// Takes the lock if it is needed by now. Calls that stay inside for long use this.
    #[inline]
    pub(crate) fn follow_lock(&mut self) {
        if !self.locked && self.library.is_threaded() {
            self.begin_locking();
        }
    }

    #[cold]
    fn begin_locking(&mut self) {
        self.unlocked(|_| ());
    }

    /// For a call without result that a program repeats until another rank has acted: if ranks
    /// outnumber CPUs, that rank may need this CPU.
    #[inline]
    pub fn yield_cpu(&mut self) {
        if wait::is_oversubscribed(self.shared().job()) {
            self.yield_unlocked();
        }
    }

    #[inline(never)]
    fn yield_unlocked(&mut self) {
        self.unlocked(|_| wait::yield_cpu());
    }

    /// As [`Guard::yield_cpu`], for calls that programs also make between pieces of work.
    #[inline]
    pub fn yield_cpu_at_times(&mut self) {
        self.polled_in_vain();
        if wait::is_oversubscribed(self.shared().job()) {
            self.yield_unlocked_at_times();
        } else {
            load::polled_in_vain();
        }
    }

    #[inline(never)]
    fn yield_unlocked_at_times(&mut self) {
        self.unlocked(|shared| shared.poll_yield.ask_in_vain());
    }

    /// A program probed for a message in vain; an error when it can never come.
    pub fn probed_in_vain(&mut self, pattern: Option<Pattern>) -> Result<()> {
        self.yield_cpu_at_times();
        let Some(pattern) = pattern else { return Ok(()) };
        // One source is looked at each time; all of them, which takes longer, from time to time.
        if pattern.source == MPI_ANY_SOURCE && !self.failures.any() && !self.polls.is_turn() {
            return Ok(());
        }
        self.dead_source(&pattern).map_or(Ok(()), Err)
    }

    /// Wakes threads of this process that sleep, after something that one of them may wait for.
    #[inline]
    pub fn wake_siblings(&self) {
        if self.is_shared() {
            wake_sleeping_threads(self.shared());
        }
    }
}

impl std::ops::Deref for Guard<'_> {
    type Target = Process;

    #[inline(always)]
    #[expect(unsafe_code, reason = "the guard makes the state exclusive")]
    fn deref(&self) -> &Process {
        // SAFETY: one guard exists at a time: by the lock, or by the promise of
        // `Library::assume_serialized`, which ends with `turn_lock_on`; `self` is borrowed for as
        // long as the reference lives.
        unsafe { &*self.started.state.get() }
    }
}

impl std::ops::DerefMut for Guard<'_> {
    #[inline(always)]
    #[expect(unsafe_code, reason = "the guard makes the state exclusive")]
    fn deref_mut(&mut self) -> &mut Process {
        // SAFETY: one guard exists at a time, as for `deref`, and `self` is borrowed mutably for as
        // long as the reference lives.
        unsafe { &mut *self.started.state.get() }
    }
}

impl Drop for Guard<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.locked {
            end_locked(self.library, self.started);
        } else {
            self.library.entry.leave(false);
        }
    }
}

/// Ends a guard that holds the lock. Not inlined, and without the guard itself, so that calls
/// without the lock stay short and keep their guard in registers.
#[inline(never)]
#[expect(unsafe_code, reason = "the lock makes the state exclusive")]
fn end_locked(library: &Library, started: &Started) {
    if library.helper.is_on() {
        // SAFETY: this thread holds the lock until `leave`, and the guard, which is being dropped, lends nothing any more.
        library.helper.after_call(unsafe { &mut *started.state.get() }, &started.shared);
    } else {
        wake_sleeping_threads(&started.shared);
    }
    library.entry.end_visit();
    library.entry.leave(true);
}

/// A turn of the helper thread: exclusive access to the state, which is no call of the program.
pub(crate) struct HelperTurn<'l>(ManuallyDrop<Guard<'l>>);

impl<'l> HelperTurn<'l> {
    /// `None` while a thread of the program is inside, or nothing is active.
    #[expect(unsafe_code, reason = "the pointer is what the library keeps")]
    pub(crate) fn try_begin(library: &'l Library) -> Option<HelperTurn<'l>> {
        let started = library.entry.active.load(Ordering::Acquire);
        // SAFETY: null, or in the box that `library.kept` holds as long as the library lives.
        let started = unsafe { started.as_ref() }?;
        let guard = || Guard { library, started, locked: true, _not_send: PhantomData };
        library.entry.try_enter().then(|| HelperTurn(ManuallyDrop::new(guard())))
    }
}

impl<'l> std::ops::Deref for HelperTurn<'l> {
    type Target = Guard<'l>;

    fn deref(&self) -> &Guard<'l> {
        &self.0
    }
}

impl std::ops::DerefMut for HelperTurn<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl Drop for HelperTurn<'_> {
    fn drop(&mut self) {
        self.0.library.entry.leave(true);
    }
}

#[inline]
pub(crate) fn wake_sleeping_threads(shared: &Shared) {
    if shared.block().sleep.load(Ordering::Relaxed) != 0 {
        wait::wake_now(shared.job(), shared.block());
    }
}

/// The words that a call reads when it enters.
pub(crate) struct Entry {
    /// The state while the world or a session is active, null otherwise.
    active: AtomicPtr<Started>,
    /// A call is inside without the lock.
    inside: AtomicU32,
    /// Whether calls take the lock: one of the constants below.
    mode: AtomicU8,
    lock: Lock,
    /// With `CHECKED`: the thread that is in a call, 0 for none.
    pub(crate) visitor: AtomicU64,
    #[cfg(debug_assertions)]
    holder: std::sync::Mutex<Option<std::thread::ThreadId>>,
}

/// They take no lock: the program makes one call at a time.
const SERIALIZED: u8 = 0;
/// They take it.
const THREADED: u8 = 1;
/// They take it to find out whether the program keeps its promise to make one call at a time.
const CHECKED: u8 = 2;
/// Added to these two: a checker of threads is told who has the lock.
const TOLD: u8 = 4;
/// They take it because of the helper thread. Alone, or beside `CHECKED`.
const HELPED: u8 = 8;

impl Entry {
    pub(crate) const fn new() -> Entry {
        Entry {
            active: AtomicPtr::new(std::ptr::null_mut()),
            inside: AtomicU32::new(0),
            mode: AtomicU8::new(THREADED),
            lock: Lock::new(),
            visitor: AtomicU64::new(0),
            #[cfg(debug_assertions)]
            holder: std::sync::Mutex::new(None),
        }
    }

    pub(crate) fn is_active(&self) -> bool {
        !self.active.load(Ordering::Acquire).is_null()
    }

    /// `started` must live as long as the library that this belongs to.
    pub(crate) fn activate(&self, started: &Started) {
        self.active.store(std::ptr::from_ref(started).cast_mut(), Ordering::Release);
    }

    /// Deactivates the library; whether it was active.
    pub(crate) fn deactivate(&self) -> bool {
        !self.active.swap(std::ptr::null_mut(), Ordering::AcqRel).is_null()
    }

    #[inline]
    pub(crate) fn is_threaded(&self) -> bool {
        self.mode.load(Ordering::Relaxed) & THREADED != 0
    }

    /// Called while no call is inside.
    pub(crate) fn set_threaded(&self) {
        self.mode.store(THREADED | Entry::told(), Ordering::SeqCst);
    }

    fn told() -> u8 {
        if thread_checker::is_on() { TOLD } else { 0 }
    }

    /// Called while no call is inside, and no two calls will be at the same time. `helped`: there is a helper thread.
    pub(crate) fn set_serialized(&self, helped: bool) {
        let mode = if check::is_on() { CHECKED } else { SERIALIZED } | if helped { HELPED } else { SERIALIZED };
        self.mode.store(if mode == SERIALIZED { mode } else { mode | Entry::told() }, Ordering::SeqCst);
    }

    /// Whether calls take the lock because the program may have threads in several calls, allowed or by mistake.
    #[inline]
    fn is_for_threads(&self) -> bool {
        self.mode.load(Ordering::Relaxed) & (THREADED | CHECKED) != 0
    }

    /// Whether calls take the lock, for whatever reason.
    pub(crate) fn is_locking(&self) -> bool {
        self.mode.load(Ordering::Relaxed) != SERIALIZED
    }

    /// Whether a thread sleeps until the lock is free.
    pub(crate) fn is_awaited(&self) -> bool {
        self.lock.is_awaited()
    }

    /// Takes the lock for the helper thread, if it is free.
    fn try_enter(&self) -> bool {
        if !self.lock.try_take() {
            return false;
        }
        if self.mode.load(Ordering::Relaxed) & TOLD != 0 {
            thread_checker::acquired((&raw const self.lock).addr());
        }
        #[cfg(debug_assertions)]
        self.note_holder(Some(std::thread::current().id()));
        true
    }

    pub(crate) fn is_inside(&self) -> bool {
        self.inside.load(Ordering::Acquire) != 0
    }

    /// Enters; whether with the lock.
    #[inline(always)]
    fn enter(&self, library: &Library) -> bool {
        #[cfg(debug_assertions)]
        self.check_not_nested();
        self.inside.store(1, Ordering::Relaxed);
        // A compiler fence is enough: the thread that changes `mode` uses `membarrier`.
        compiler_fence(Ordering::SeqCst);
        let locked = self.mode.load(Ordering::Relaxed) != SERIALIZED;
        if locked {
            self.take_lock(library);
        }
        #[cfg(debug_assertions)]
        self.note_holder(Some(std::thread::current().id()));
        locked
    }

    /// Not inlined, so that calls without the lock stay short.
    #[inline(never)]
    fn take_lock(&self, library: &Library) {
        self.inside.store(0, Ordering::Release);
        // A thread that is in a call without pausing is about to end it, when this one gets the lock.
        let visitor = self.visitor.load(Ordering::Relaxed);
        self.lock.take();
        let mode = self.mode.load(Ordering::Relaxed);
        if mode & (CHECKED | TOLD) != 0 {
            self.look_at_owner(mode, visitor, library);
        }
    }

    #[cold]
    fn look_at_owner(&self, mode: u8, visitor: u64, library: &Library) {
        if mode & TOLD != 0 {
            thread_checker::acquired((&raw const self.lock).addr());
        }
        if mode & CHECKED != 0 {
            library.check_thread(visitor, &self.visitor);
        }
    }

    /// A call that holds the lock ends, and does not only pause.
    fn end_visit(&self) {
        self.visitor.store(0, Ordering::Relaxed);
    }

    #[inline(always)]
    fn leave(&self, locked: bool) {
        #[cfg(debug_assertions)]
        self.note_holder(None);
        if locked {
            self.give_lock_back();
        } else {
            self.inside.store(0, Ordering::Release);
        }
    }

    /// Not inlined, as `take_lock`.
    #[inline(never)]
    fn give_lock_back(&self) {
        if self.mode.load(Ordering::Relaxed) & TOLD != 0 {
            self.tell_release();
        }
        self.lock.give_back();
    }

    #[cold]
    fn tell_release(&self) {
        if thread_checker::is_on() {
            thread_checker::releasing((&raw const self.lock).addr());
        }
    }

    /// Runs `body` with the lock, but not as a call: for the thread that turns the lock on.
    pub(crate) fn with_lock<R>(&self, body: impl FnOnce() -> R) -> R {
        self.lock.take();
        let result = body();
        self.lock.give_back();
        result
    }

    #[cfg(debug_assertions)]
    fn check_not_nested(&self) {
        let holder = *self.holder.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        assert_ne!(holder, Some(std::thread::current().id()), "a guard inside a guard");
    }

    #[cfg(debug_assertions)]
    fn note_holder(&self, holder: Option<std::thread::ThreadId>) {
        *self.holder.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = holder;
    }
}

/// The state, and what any thread may read at any time.
pub(crate) struct Started {
    pub(crate) shared: Shared,
    state: UnsafeCell<Process>,
}

#[expect(unsafe_code, reason = "the guard makes the state exclusive")]
// SAFETY: `state` is accessed only through a `Guard`, of which one exists at a time, and `Process`
// is `Send`, which `Started::new` requires; `shared` is `Sync` by itself.
unsafe impl Sync for Started {}

impl Started {
    pub(crate) fn new(process: Process) -> Started {
        fn sendable<T: Send>(value: T) -> T {
            value
        }
        let node = process.engine.node();
        let shared = Shared {
            job: NonNull::from(node.job()),
            block: NonNull::from(node.block()),
            barrier: node.barrier(),
            is_launched: process.appnum.is_some(),
            poll_yield: PollYieldPolicy::new(),
        };
        Started { shared, state: UnsafeCell::new(sendable(process)) }
    }

    /// Threads use some of it without the lock.
    pub(crate) fn hide_from_checker(&self) {
        thread_checker::ignore((&raw const self.shared).addr(), size_of::<Shared>());
    }

    /// The address of the state, which never moves.
    pub(crate) fn state_address(&self) -> usize {
        self.state.get().addr()
    }
}

/// The part of the state that every thread may use at any time: it is immutable or atomic.
pub struct Shared {
    job: NonNull<JobHeader>,
    block: NonNull<RankBlock>,
    pub barrier: WakeFence,
    /// mpirun started this process itself, not one of its ancestors.
    pub is_launched: bool,
    /// When a rank that polls yields its CPU to others.
    pub poll_yield: PollYieldPolicy,
}

#[expect(unsafe_code, reason = "pointers to words of the segment")]
// SAFETY: the pointers lead to atomics in the mapped segment.
unsafe impl Send for Shared {}
#[expect(unsafe_code, reason = "pointers to words of the segment")]
// SAFETY: the pointers lead to atomics in the mapped segment.
unsafe impl Sync for Shared {}

impl Shared {
    /// The header that the ranks of the node share.
    #[inline]
    #[expect(unsafe_code, reason = "a pointer to words of the segment")]
    pub fn job(&self) -> &JobHeader {
        // SAFETY: the state beside this value maps the segment as long as both live.
        unsafe { self.job.as_ref() }
    }

    /// This rank's block.
    #[inline]
    #[expect(unsafe_code, reason = "a pointer to words of the segment")]
    pub fn block(&self) -> &RankBlock {
        // SAFETY: the state beside this value maps the segment as long as both live.
        unsafe { self.block.as_ref() }
    }

    /// Whether calls that are inside without the lock will notice that it is turned on.
    pub fn can_turn_lock_on(&self) -> bool {
        self.barrier == WakeFence::Asymmetric
    }
}
