//! A thread's calls. A call within a call, such as one of a callback or of a binding, belongs to the outer one.
//!
//! Reading the clock costs more than all the rest. So where many calls in a row were short, some are timed for all, until one is
//! not short. What waits, moves many bytes or is a collective operation is always timed, from the moment when that is known.
//!
//! The sites of a thread are written by it alone, but the bytes that receives get: those are added when a message matches,
//! perhaps in another thread, so they are atomic.

use crate::clock::ticks;
use crate::finish;
use crate::messages::{End, Messages};
use crate::real;
use crate::stubs::NAMES;
use oxmpi_profile::hooks::{Message, Recorder};
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Places of calls that a thread tells apart; the last one is for all others.
const SITES: usize = 4096;
/// Threads whose calls are recorded.
const THREADS: usize = 64;
/// Pairs of functions and algorithms that a thread tells apart.
const ALGORITHMS: usize = 256;

/// So many short calls of a place in a row are timed before some are timed for all.
const TIMED: u32 = 64;
/// A call of fewer ticks is short: half a microsecond or more.
const SHORT: u64 = 2048;
/// At least so many calls follow without a look at the clock, and at most twice as many.
const UNTIMED: u64 = 8;
/// A call that moves so many bytes is timed.
const MANY_BYTES: u64 = 4096;

#[derive(Default)]
pub struct Site {
    /// The return address of the call, 0 for the sum of what found no place.
    pub caller: u64,
    pub function: u32,
    pub count: u64,
    pub bytes: AtomicU64,
    pub ticks: u64,
    pub waited: u64,
    pub longest: u64,
    /// The program may end after such a call.
    is_last: bool,
    /// Not each call must be timed.
    may_skip: bool,
    /// Short calls in a row, at most [`TIMED`].
    short: u32,
    /// So many calls are not timed now.
    skip: u32,
    /// Calls that were not timed, for which the next one stands.
    untimed: u64,
}

pub struct Algorithm {
    pub function: u32,
    pub name: &'static str,
    pub count: u64,
    pub bytes: u64,
    pub ticks: u64,
}

/// Times are ticks here.
#[derive(Clone, Copy)]
pub enum Event {
    Call { site: u32, begin: u64, ticks: u64, waited: u64 },
    Sent { at: u64, flow: u64, bytes: u64, tag: i32 },
    Matched { at: u64, flow: u64, bytes: u64, tag: i32 },
}

pub struct Thread {
    pub number: u8,
    pub sites: Vec<Site>,
    /// Where in `sites` a caller is, plus one.
    index: Box<[u16; 2 * SITES]>,
    pub algorithms: Vec<Algorithm>,
    pub events: Vec<Event>,
    /// Events are kept.
    traces: bool,
    /// The frame of the call that the thread is in, or 0.
    frame: u64,
    site: u32,
    /// 0 while the call is not timed.
    begin: u64,
    /// The call does more than a short one.
    is_noticed: bool,
    waited: u64,
    /// When it began to wait, or 0.
    waits: u64,
    algorithm: Option<&'static str>,
    bytes: u64,
}

impl Thread {
    fn new(number: u8) -> Thread {
        // Never moved: other threads add bytes to its sites.
        let mut sites = Vec::with_capacity(SITES);
        sites.push(Site::default());
        Thread {
            number,
            sites,
            index: Box::new([0; 2 * SITES]),
            algorithms: Vec::new(),
            events: Vec::new(),
            traces: STATE.most_events.load(Relaxed) > 0,
            frame: 0,
            site: 0,
            begin: 0,
            is_noticed: false,
            waited: 0,
            waits: 0,
            algorithm: None,
            bytes: 0,
        }
    }

    /// The number of a place, or where in the index it would be.
    #[inline(always)]
    fn known_site(&self, caller: u64, function: u32) -> Result<u32, usize> {
        let mut at = (caller.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 51) as usize;
        loop {
            match self.index[at] {
                0 => return Err(at),
                known => {
                    let site = &self.sites[usize::from(known)];
                    if site.caller == caller && site.function == function {
                        return Ok(known.into());
                    }
                }
            }
            at = (at + 1) % (2 * SITES);
        }
    }

    /// A call begins.
    #[inline(always)]
    fn begin(&mut self, site: u32, frame: u64) {
        self.frame = frame;
        self.site = site;
        self.waited = 0;
        self.waits = 0;
        self.bytes = 0;
        self.algorithm = None;
        self.is_noticed = false;
        let skip = &mut self.sites[site as usize].skip;
        if *skip == 0 {
            self.begin = ticks();
        } else {
            *skip -= 1;
            self.begin = 0;
        }
    }

    /// The call does more than a short one: it is timed from now on, if it was not.
    fn notice(&mut self) {
        self.is_noticed = true;
        if self.begin == 0 {
            self.begin = ticks();
        }
    }

    /// The call moves so many bytes.
    fn moves(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_add(bytes);
        if bytes >= MANY_BYTES {
            self.notice();
        }
    }

    fn new_site(&mut self, at: usize, caller: u64, function: u32) -> u32 {
        if self.sites.len() == SITES {
            return 0;
        }
        self.index[at] = self.sites.len() as u16;
        let is_last = finish::IS_LAST[function as usize];
        let may_skip = !is_last && !self.traces;
        self.sites.push(Site { caller, function, is_last, may_skip, ..Site::default() });
        self.sites.len() as u32 - 1
    }

    fn note_algorithm(&mut self, name: &'static str, ticks: u64) {
        let function = self.sites[self.site as usize].function;
        let is_it = |one: &Algorithm| one.function == function && std::ptr::eq(one.name, name);
        match self.algorithms.iter().position(is_it) {
            Some(at) => {
                let one = &mut self.algorithms[at];
                one.count += 1;
                one.bytes = one.bytes.saturating_add(self.bytes);
                one.ticks += ticks;
            }
            None if self.algorithms.len() < ALGORITHMS => {
                self.algorithms.push(Algorithm { function, name, count: 1, bytes: self.bytes, ticks });
            }
            None => {}
        }
    }

    fn keep(&mut self, event: Event) {
        if STATE.events.fetch_add(1, Relaxed) < STATE.most_events.load(Relaxed) {
            self.events.push(event);
        }
    }
}

/// A thread's place. Its owner alone touches what is inside; whoever writes the record does so while no call runs, or after
/// the program's own rules for `MPI_Finalize`.
struct Place {
    owner: AtomicU64,
    /// The first of its sites, which other threads add bytes to.
    sites: AtomicPtr<Site>,
    thread: UnsafeCell<Option<Box<Thread>>>,
}

// SAFETY: a place is used by the thread whose number is in `owner`, which never changes again, and by the last call.
unsafe impl Sync for Place {}

static PLACES: [Place; THREADS] =
    [const { Place { owner: AtomicU64::new(0), sites: AtomicPtr::new(null_mut()), thread: UnsafeCell::new(None) } };
        THREADS];

/// What is the same for all threads.
pub struct State {
    /// One of the constants below.
    mode: AtomicU32,
    pub most_events: AtomicU64,
    /// Events that there were, also those that found no room.
    pub events: AtomicU64,
    pub lost_calls: AtomicU64,
}

/// The environment was not looked at.
const NEW: u32 = 0;
const ON: u32 = 1;
/// This process is no rank, or its record is written.
const OFF: u32 = 2;

pub static STATE: State = State {
    mode: AtomicU32::new(NEW),
    most_events: AtomicU64::new(0),
    events: AtomicU64::new(0),
    lost_calls: AtomicU64::new(0),
};

struct All(UnsafeCell<Option<Messages>>);

// SAFETY: the library tells of messages while it holds its lock, or makes one call at a time by the program's promise; the
// record is written when recording has ended.
unsafe impl Sync for All {}

static MESSAGES: All = All(UnsafeCell::new(None));

pub fn with_messages<R>(with: impl FnOnce(&mut Messages) -> R) -> R {
    // SAFETY: one thread at a time is here, as `All` says, and `with` does not come here again.
    with(unsafe { (*MESSAGES.0.get()).get_or_insert_with(Messages::new) })
}

static RECORDER: Recorder = Recorder { sent, posted, matched, waits, collective, algorithm, accessed };

/// The number of this thread for its place: no two that live have the same.
#[inline(always)]
fn own_number() -> u64 {
    let number: u64;
    // SAFETY: the first word of a thread's own block holds the block's address.
    unsafe { std::arch::asm!("mov {}, fs:0", out(reg) number, options(pure, nomem, nostack, preserves_flags)) };
    number
}

/// This thread's calls.
#[inline(always)]
fn own() -> Option<&'static mut Thread> {
    let own = own_number();
    let place = if PLACES[0].owner.load(Relaxed) == own { &PLACES[0] } else { other_place(own)? };
    // SAFETY: the place belongs to this thread, and no reference of it lives: the functions here do not call each other
    // while they have one.
    unsafe { (*place.thread.get()).as_deref_mut() }
}

/// This thread's calls, if it was the first one to call.
#[inline(always)]
fn own_first() -> Option<&'static mut Thread> {
    let place = &PLACES[0];
    // SAFETY: as in `own`.
    if place.owner.load(Relaxed) == own_number() { unsafe { (*place.thread.get()).as_deref_mut() } } else { None }
}

#[cold]
fn other_place(own: u64) -> Option<&'static Place> {
    for (number, place) in PLACES.iter().enumerate() {
        match place.owner.compare_exchange(0, own, Relaxed, Relaxed) {
            Ok(_) => {
                let mut thread = Box::new(Thread::new(number as u8));
                place.sites.store(thread.sites.as_mut_ptr(), Relaxed);
                // SAFETY: the place is this thread's since a moment ago.
                unsafe { *place.thread.get() = Some(thread) };
                return Some(place);
            }
            Err(owner) if owner == own => return Some(place),
            Err(_) => {}
        }
    }
    None
}

/// The calls of all threads, for the record.
pub fn threads() -> impl Iterator<Item = &'static Thread> {
    // SAFETY: called once, when recording has ended.
    PLACES.iter().filter_map(|place| unsafe { (*place.thread.get()).as_deref() })
}

/// What a stub does: the function that it goes on to, and what it gives to `leave`, or null if the call is not recorded.
#[repr(C)]
pub struct Next {
    function: *mut c_void,
    thread: *mut Thread,
}

/// A call begins. The usual way has no calls of functions, so that it needs no registers of the caller.
pub extern "C" fn enter(number: u32, caller: u64, frame: u64) -> Next {
    let function = real::known(number as usize);
    if let Some(thread) = own_first()
        && !function.is_null()
        && STATE.mode.load(Relaxed) == ON
        && thread.frame <= frame
        && let Ok(site) = thread.known_site(caller, number)
    {
        thread.begin(site, frame);
        return Next { function, thread };
    }
    enter_slowly(number, caller, frame)
}

#[cold]
fn enter_slowly(number: u32, caller: u64, frame: u64) -> Next {
    let function = real::function(number as usize);
    let mode = STATE.mode.load(Relaxed);
    if mode != ON && (mode == OFF || !begin()) {
        return Next { function, thread: null_mut() };
    }
    let Some(thread) = own() else {
        STATE.lost_calls.fetch_add(1, Relaxed);
        return Next { function, thread: null_mut() };
    };
    // A frame that is not above ours is gone: the program has jumped out of it.
    if thread.frame > frame {
        return Next { function, thread: null_mut() };
    }
    let site = thread.known_site(caller, number).unwrap_or_else(|at| thread.new_site(at, caller, number));
    thread.begin(site, frame);
    Next { function, thread }
}

/// The call that `enter` has recorded ends.
///
/// # Safety
/// `thread` is what `enter` has given for this call, in the same thread.
pub unsafe extern "C" fn leave(thread: *mut Thread) {
    // SAFETY: it is this thread's own, stays where it is, and no reference of it lives.
    let thread = unsafe { &mut *thread };
    let site = &mut thread.sites[thread.site as usize];
    site.count += 1;
    if thread.bytes > 0 {
        site.bytes.fetch_add(thread.bytes, Relaxed);
    }
    thread.frame = 0;
    if thread.begin == 0 {
        site.untimed += 1;
        return;
    }
    let end = ticks();
    let (ticks, waited) = (end.saturating_sub(thread.begin), thread.waited);
    site.ticks += ticks;
    site.waited += waited;
    site.longest = site.longest.max(ticks);
    if ticks >= SHORT || thread.is_noticed {
        (site.short, site.skip) = (0, 0);
    } else {
        site.ticks += ticks * std::mem::take(&mut site.untimed);
        if site.short < TIMED {
            site.short += 1;
        } else if site.may_skip {
            // Not always the same number: the program's calls may have a rhythm.
            site.skip = (UNTIMED + (end >> 4) % UNTIMED) as u32;
        }
    }
    if site.is_last || thread.traces || thread.algorithm.is_some() {
        conclude(thread, ticks);
    }
}

/// What only some calls have at their end.
#[inline(never)]
fn conclude(thread: &mut Thread, ticks: u64) {
    let site = &thread.sites[thread.site as usize];
    let last = site.is_last.then_some(site.function);
    if let Some(name) = thread.algorithm {
        thread.note_algorithm(name, ticks);
    }
    if thread.traces {
        thread.keep(Event::Call { site: thread.site, begin: thread.begin, ticks, waited: thread.waited });
    }
    if let Some(function) = last {
        finish::finalized(NAMES[function as usize].1);
    }
}

/// The first call: looks whether this process is a rank that shall be recorded.
#[cold]
fn begin() -> bool {
    let is_on = finish::begin(&RECORDER);
    STATE.mode.store(if is_on { ON } else { OFF }, Relaxed);
    is_on
}

/// Nothing is recorded from now on; whether anything was.
pub fn end() -> bool {
    STATE.mode.swap(OFF, Relaxed) == ON
}

// ---- what the library tells ----

extern "C" fn sent(to: u32, message: Message) {
    let traces = !message.is_internal() && STATE.most_events.load(Relaxed) > 0;
    let flow = with_messages(|messages| {
        messages.sent(to, &message);
        if traces { messages.flow(End::Sender, to, &message) } else { None }
    });
    let Some(thread) = own() else { return };
    if !message.is_internal() {
        thread.moves(message.bytes);
    }
    if let Some(flow) = flow {
        // A short message is told after it has gone: it was not sent before the call began.
        thread.keep(Event::Sent { at: thread.begin, flow, bytes: message.bytes, tag: message.tag });
    }
}

/// The thread and the site of a receive.
extern "C" fn posted() -> u32 {
    own().map_or(0, |thread| u32::from(thread.number) << 16 | thread.site)
}

extern "C" fn matched(posted: u32, message: Message) {
    let sites = PLACES[(posted >> 16) as usize % THREADS].sites.load(Relaxed);
    if !sites.is_null() {
        // SAFETY: `posted` has given the number of a site that there was, sites stay where they are, and this field is atomic.
        unsafe { (*sites.add((posted & 0xffff) as usize)).bytes.fetch_add(message.bytes, Relaxed) };
    }
    if message.bytes >= MANY_BYTES
        && let Some(thread) = own()
    {
        thread.notice();
    }
    if !message.is_internal() && STATE.most_events.load(Relaxed) > 0 {
        let flow = with_messages(|messages| messages.flow(End::Receiver, finish::own_rank(), &message));
        if let (Some(flow), Some(thread)) = (flow, own()) {
            thread.keep(Event::Matched { at: ticks(), flow, bytes: message.bytes, tag: message.tag });
        }
    }
}

extern "C" fn waits(begins: u32) {
    let Some(thread) = own() else { return };
    match (begins, thread.waits) {
        (0, 0) => {}
        (0, since) => {
            thread.waited += ticks().saturating_sub(since);
            thread.waits = 0;
        }
        (_, 0) => {
            thread.notice();
            thread.waits = ticks();
        }
        _ => {}
    }
}

extern "C" fn collective(bytes: u64) {
    if let Some(thread) = own() {
        thread.notice();
        thread.moves(bytes);
    }
}

extern "C" fn algorithm(name: *const u8, length: usize) {
    // SAFETY: text of the library that lives for ever.
    let name = unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(name, length)) };
    if let Some(thread) = own() {
        thread.notice();
        thread.algorithm = Some(name);
    }
}

extern "C" fn accessed(bytes: u64) {
    if let Some(thread) = own() {
        thread.moves(bytes);
    }
}
