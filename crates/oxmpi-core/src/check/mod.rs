//! `--check`: what is wrong with the program although it works here.
//!
//! ```text
//! mod.rs      whether it is on; findings go to the rank's log, which `mpirun` reads
//! message.rs  the types of a message and of its receive
//! buffers.rs  buffers of operations under way
//! calls.rs    the collective calls of the ranks, compared by the first rank of the communicator
//! order.rs    the order of their calls on several communicators
//! origins.rs  which call has made an object
//! process/checked_*.rs   what the process does with them, and what is left at `MPI_Finalize`
//! ```
//!
//! Off, the fast paths test one byte together with their other conditions. A finding is a report and never an error: the
//! program goes on. A right program must never be accused; what cannot be known is not told.

pub mod buffers;
pub mod calls;
pub mod message;
pub mod order;
pub mod origins;

use crate::settings;
use calls::Data;
use oxmpi_abi::functions::Fun;
use oxmpi_base::callers::{CALLERS, callers};
pub use oxmpi_check::catalogue;
use oxmpi_check::catalogue::{COLL_ARGS, COLL_NEIGHBORS, Entry, FILE_CONFLICT};
use oxmpi_check::{Finding, Mode};
use oxmpi_transport::NodeMemory;
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bits of [`STATE`].
const ON: u8 = 1;
/// Nobody reads the log: findings are printed.
const PRINTS: u8 = 2;
/// A recorder hears of messages (`record.rs`).
const RECORDS: u8 = 4;
/// Also what works here and elsewhere.
const STRICT: u8 = 8;

static STATE: AtomicU8 = AtomicU8::new(0);

/// What was told: the same is not told twice.
static TOLD: Mutex<BTreeSet<(Finding, Option<[u64; CALLERS]>)>> = Mutex::new(BTreeSet::new());

/// Findings that are kept in mind; after so many the process tells nothing more.
const MOST: usize = 1000;

/// Whether programs are checked.
#[inline(always)]
pub fn is_on() -> bool {
    STATE.load(Relaxed) & ON != 0
}

/// Whether a recorder hears of messages.
#[inline(always)]
pub fn records() -> bool {
    STATE.load(Relaxed) & RECORDS != 0
}

/// Whether either is so: the short ways are not taken then.
#[inline(always)]
pub fn is_watched() -> bool {
    STATE.load(Relaxed) != 0
}

/// From now on a recorder hears of messages.
pub(crate) fn record() {
    STATE.fetch_or(RECORDS, Relaxed);
}

/// Whether they are checked against the text of the standard.
pub fn is_strict() -> bool {
    STATE.load(Relaxed) & STRICT != 0
}

/// Called when the process joins its job. `is_watched`: an `mpirun` reads the log.
pub(crate) fn begin(is_watched: bool) {
    // `mpirun` has refused words that mean nothing.
    let Mode { on, strict, .. } = settings::check_words();
    let prints = if is_watched { 0 } else { PRINTS };
    let records = STATE.load(Relaxed) & RECORDS;
    let strict = if strict { STRICT } else { 0 };
    STATE.store(records | if on { ON | prints | strict } else { 0 }, Relaxed);
}

/// Tells a finding, once.
#[cold]
pub fn tell(node: &NodeMemory, entry: &'static Entry, text: String) {
    tell_finding(node, Finding::new(entry, text), Some(callers()));
}

/// Tells that several processes have written the same bytes of a file.
#[cold]
pub fn tell_common_writes(node: &NodeMemory, what: &str) {
    let text = format!("{what} without MPI_File_sync in between");
    tell_finding(node, Finding::new(&FILE_CONFLICT, text), None);
}

/// Tells that a rank gives another argument to a collective call than the first one.
#[cold]
pub fn tell_other_argument(node: &NodeMemory, text: String) {
    tell(node, &COLL_ARGS, text);
}

/// Tells when what a rank gives to a collective call for itself is not what it expects from itself.
#[cold]
pub fn tell_own_block(node: &NodeMemory, fun: Fun, sent: Data, expected: Data) {
    if let Some(entry) = sent.differs(expected) {
        let (sent, expected) = (sent.describe(), expected.describe());
        tell(node, entry, format!("called {} to send {sent} and to receive {expected} for each rank", fun.name()));
    }
}

/// Tells that two ranks of a distributed graph give different edges between them.
#[cold]
pub fn tell_other_edges(node: &NodeMemory, text: String) {
    tell(node, &COLL_NEIGHBORS, text);
}

/// What was found where it could not be told, with its callers.
static LATER: Mutex<Vec<(Finding, [u64; CALLERS])>> = Mutex::new(Vec::new());

/// Tells a finding as soon as [`tell_now`] is called.
#[cold]
pub(crate) fn tell_later(entry: &'static Entry, text: String) {
    let mut later = LATER.lock().unwrap_or_else(PoisonError::into_inner);
    if later.len() < MOST {
        later.push((Finding::new(entry, text), callers()));
    }
}

/// Tells what was found by [`tell_later`].
#[cold]
pub(crate) fn tell_now(node: &NodeMemory) {
    let later = std::mem::take(&mut *LATER.lock().unwrap_or_else(PoisonError::into_inner));
    later.into_iter().for_each(|(finding, callers)| tell_finding(node, finding, Some(callers)));
}

/// Waits until `mpirun` has read what this process has told, which it does soon: afterwards the process may end, and
/// nobody could find the source lines.
#[cold]
pub fn await_reader(node: &NodeMemory) {
    let end = Instant::now() + LONGEST;
    while STATE.load(Relaxed) & PRINTS == 0 && !node.finding_log().is_read() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Longer than `mpirun` and agents take to look.
const LONGEST: Duration = Duration::from_millis(1200);

/// The same with other callers than those of the call that this thread is in, or none.
#[cold]
pub fn tell_finding(node: &NodeMemory, finding: Finding, callers: Option<[u64; CALLERS]>) {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.len() >= MOST || !told.insert((finding.clone(), callers)) {
        return;
    }
    if STATE.load(Relaxed) & PRINTS != 0 {
        // One write, so that lines of several processes do not mix; a closed stderr is ignored.
        let line = format!("OxMPI: {}: {}\n", finding.name, finding.text);
        let _ = std::io::stderr().write_all(line.as_bytes());
    } else {
        node.finding_log().push(&finding.line(), callers.unwrap_or_default());
    }
}
