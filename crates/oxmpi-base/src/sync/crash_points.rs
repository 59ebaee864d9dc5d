//! Atomics for a test build: each place in the sources that changes one can be told to kill the process, before or after the
//! change. `cargo xtask crash-points` uses it.
//!
//! `OXMPI_CRASH_RECORD=FOLDER`: each rank writes, when it ends, the places that it has come by, with the number of attempts and of
//! changes. `OXMPI_CRASH_AT="RANK MOMENT COUNT FILE:LINE:COLUMN"`: that rank is killed there, `before` or `after` the change, when
//! it comes by for the COUNTth time. A rank of a spawned job is called `child-RANK`.

use crate::trust;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::panic::Location;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{self, AtomicPtr, Ordering, Ordering::Relaxed};

type Place = Location<'static>;

/// What this process does at its places.
enum Task {
    Nothing,
    Record(PathBuf),
    Die { place: String, line: u32, column: u32, after: bool, count: u64 },
}

static TASK: OnceLock<Task> = OnceLock::new();

/// Times that this process has come by the place where it is to die.
static PASSED: atomic::AtomicU64 = atomic::AtomicU64::new(0);

/// Room for the places of all instances of generic code.
const SLOTS: usize = 1 << 13;

struct Slot {
    place: AtomicPtr<Place>,
    attempts: atomic::AtomicU64,
    changes: atomic::AtomicU64,
}

static SLOT: [Slot; SLOTS] = [const {
    Slot { place: AtomicPtr::new(null_mut()), attempts: atomic::AtomicU64::new(0), changes: atomic::AtomicU64::new(0) }
}; SLOTS];

/// Only ranks have a task.
fn read_task() -> Task {
    let Some(rank) = trust::text("OXMPI_RANK") else { return Task::Nothing };
    // The `mpirun` that a rank starts to spawn others has its environment.
    if std::env::current_exe().is_ok_and(|program| program.ends_with("mpirun")) {
        return Task::Nothing;
    }
    let rank = if trust::text("OXMPI_PARENT").is_some() { format!("child-{rank}") } else { rank };
    if let Some(task) = trust::text("OXMPI_CRASH_AT").and_then(|order| task_of(&order, &rank)) {
        return task;
    }
    let Some(folder) = trust::text("OXMPI_CRASH_RECORD") else { return Task::Nothing };
    // SAFETY: the function takes nothing, does not unwind, and is there until the process ends: the library is never unloaded.
    unsafe { libc::atexit(write_record) };
    Task::Record(PathBuf::from(folder).join(format!("{rank}.{}", std::process::id())))
}

/// What the order makes of a rank; nothing if it is for another one.
fn task_of(order: &str, rank: &str) -> Option<Task> {
    let parts: Vec<_> = order.split(' ').collect();
    let [whose, moment, count, place] = parts[..] else { panic!("OXMPI_CRASH_AT: `{order}` is no order") };
    let mut numbers = place.rsplit(':').map(|number| number.parse().expect("OXMPI_CRASH_AT: a line and a column"));
    let (column, line) = (numbers.next()?, numbers.next()?);
    let count = count.parse().expect("OXMPI_CRASH_AT: a count");
    (whose == rank).then(|| Task::Die { place: place.to_owned(), line, column, after: moment == "after", count })
}

/// One change of memory that others see, by the caller of the caller. `changed` tells whether it happened.
fn pass<T>(place: &'static Place, change: impl FnOnce() -> T, changed: impl FnOnce(&T) -> bool) -> T {
    match TASK.get_or_init(read_task) {
        Task::Nothing => change(),
        Task::Record(_) => {
            let slot = slot_of(place);
            slot.attempts.fetch_add(1, Relaxed);
            let result = change();
            slot.changes.fetch_add(u64::from(changed(&result)), Relaxed);
            result
        }
        Task::Die { place: name, line, column, after, count } => {
            let is_here = place.line() == *line && place.column() == *column && place.to_string() == *name;
            let is_last = || PASSED.fetch_add(1, Relaxed) + 1 == *count;
            if is_here && !after && is_last() {
                die();
            }
            let result = change();
            if is_here && *after && changed(&result) && is_last() {
                die();
            }
            result
        }
    }
}

fn die() -> ! {
    loop {
        // SAFETY: takes plain numbers.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
}

fn slot_of(place: &'static Place) -> &'static Slot {
    let wanted = std::ptr::from_ref(place).cast_mut();
    let first = (wanted as usize >> 3).wrapping_mul(0x9e37_79b9) >> 4;
    for slot in (first..first + SLOTS).map(|index| &SLOT[index % SLOTS]) {
        let found = slot.place.compare_exchange(null_mut(), wanted, Ordering::AcqRel, Ordering::Acquire);
        if found.is_ok() || found == Err(wanted) {
            return slot;
        }
    }
    panic!("more than {SLOTS} places change memory that ranks share");
}

extern "C" fn write_record() {
    let Some(Task::Record(path)) = TASK.get() else { return };
    let mut counts = BTreeMap::<String, [u64; 2]>::new();
    for slot in &SLOT {
        // SAFETY: `slot_of` stores references to places, which are constants.
        let Some(place) = (unsafe { slot.place.load(Ordering::Acquire).as_ref() }) else { continue };
        let count = counts.entry(place.to_string()).or_default();
        count[0] += slot.attempts.load(Relaxed);
        count[1] += slot.changes.load(Relaxed);
    }
    let mut text = String::new();
    for (place, [attempts, changes]) in counts {
        let _ = writeln!(text, "{place} {attempts} {changes}");
    }
    if let Err(error) = std::fs::write(path, text) {
        panic!("OXMPI_CRASH_RECORD: {}: {error}", path.display());
    }
}

/// Changes memory that other ranks see, without an atomic.
#[track_caller]
pub fn changing<T>(change: impl FnOnce() -> T) -> T {
    pass(Location::caller(), change, |_| true)
}

macro_rules! numbered {
    ($($name:ident $value:ty;)*) => {$(
        #[repr(transparent)]
        #[derive(Debug, Default)]
        pub struct $name(atomic::$name);

        impl $name {
            pub const fn new(value: $value) -> $name {
                $name(atomic::$name::new(value))
            }

            #[inline]
            pub fn load(&self, order: Ordering) -> $value {
                self.0.load(order)
            }

            pub const fn as_ptr(&self) -> *mut $value {
                self.0.as_ptr()
            }

            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                pass(Location::caller(), || self.0.store(value, order), |()| true)
            }

            #[track_caller]
            pub fn compare_exchange(&self, current: $value, new: $value, done: Ordering, failed: Ordering) -> Result<$value, $value> {
                pass(Location::caller(), || self.0.compare_exchange(current, new, done, failed), Result::is_ok)
            }

            #[track_caller]
            pub fn compare_exchange_weak(&self, current: $value, new: $value, done: Ordering, failed: Ordering) -> Result<$value, $value> {
                pass(Location::caller(), || self.0.compare_exchange_weak(current, new, done, failed), Result::is_ok)
            }

            #[track_caller]
            pub fn fetch_update(&self, done: Ordering, failed: Ordering, new: impl FnMut($value) -> Option<$value>) -> Result<$value, $value> {
                pass(Location::caller(), || self.0.fetch_update(done, failed, new), Result::is_ok)
            }

            numbered!(change $value; swap fetch_add fetch_sub fetch_and fetch_or fetch_max fetch_min);
        }
    )*};
    (change $value:ty; $($method:ident)*) => {$(
        #[track_caller]
        pub fn $method(&self, value: $value, order: Ordering) -> $value {
            pass(Location::caller(), || self.0.$method(value, order), |_| true)
        }
    )*};
}

numbered! {
    AtomicU8 u8;
    AtomicU32 u32;
    AtomicU64 u64;
    AtomicI32 i32;
    AtomicI64 i64;
}
