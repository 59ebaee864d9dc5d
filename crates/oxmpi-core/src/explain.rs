//! `OXMPI_EXPLAIN`: explains decisions on stderr, each one once.
//!
//! Nothing here decides anything. [`is_on`] is one relaxed load; it is used where a decision is
//! made for a communicator or a pair of processes, never where a short message is sent or in a
//! round of a board.

use oxmpi_base::trust;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, PoisonError};

const OFF: u8 = 0;
/// Rank 0 explains.
const ON: u8 = 1;
/// All ranks explain.
const ALL: u8 = 2;
/// The environment has not been read.
const UNKNOWN: u8 = 3;
/// The bits of these.
const WORDS: u8 = 3;
/// A bit beside them: a recorder hears of algorithms.
const RECORDS: u8 = 4;

static LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Whether anything is to be explained.
#[inline]
pub fn is_on() -> bool {
    is_heard() && LEVEL.load(Relaxed) & WORDS != OFF
}

/// Whether anybody wants to know of choices: a reader of explanations, or a recorder.
#[inline]
pub fn is_heard() -> bool {
    LEVEL.load(Relaxed) != OFF && is_wanted()
}

/// Sets the value from a tool.
pub fn set(on: bool) {
    let word = if on { ON } else { OFF };
    let _ = LEVEL.fetch_update(Relaxed, Relaxed, |level| Some(level & RECORDS | word));
}

/// From now on a recorder hears of algorithms.
pub(crate) fn record() {
    LEVEL.fetch_or(RECORDS, Relaxed);
}

/// Explains decisions about a communicator: on its rank 0, or on all ranks.
#[derive(Debug)]
pub struct Speaker {
    context: u32,
    rank: i32,
    comm: String,
}

impl Speaker {
    /// For a communicator with this context and name. `None` where nothing is to be explained.
    #[inline]
    pub fn new(context: u32, rank: i32, comm: impl FnOnce() -> String) -> Option<Speaker> {
        (is_on() && speaks(rank as usize)).then(|| Speaker { context, rank, comm: comm() })
    }

    /// `what` was decided and `why` name the decision; `details` describe its first instance.
    #[cold]
    pub fn say(&self, what: &str, why: &str, details: impl FnOnce() -> String) {
        let key = format!("{} {what} {why}", self.context);
        say(key, || format!("rank {} of {}: {what}: {}, because {why}", self.rank, self.comm, details()));
    }

    /// Explains a fact about the communicator.
    #[cold]
    pub fn tell(&self, fact: &str) {
        say(format!("{} {fact}", self.context), || format!("rank {} of {}: {fact}", self.rank, self.comm));
    }
}

/// Explains a decision about this process, or about it and a peer, on process 0 of the job (or on
/// all).
#[cold]
pub fn of_process(process: usize, what: &str, why: &str, details: impl FnOnce() -> String) {
    if speaks(process) {
        let key = format!("{what} {why}");
        say(key, || format!("process {process}: {what}: {}, because {why}", details()));
    }
}

#[cold]
fn speaks(rank: usize) -> bool {
    let word = LEVEL.load(Relaxed) & WORDS;
    word == ALL || word == ON && rank == 0
}

/// Prints a line, unless one with this key was printed.
fn say(key: String, line: impl FnOnce() -> String) {
    static SAID: LazyLock<Mutex<BTreeSet<String>>> = LazyLock::new(Mutex::default);
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.insert(key) {
        eprintln!("oxmpi: {}", line());
    }
}

#[cold]
fn is_wanted() -> bool {
    let known = LEVEL.load(Relaxed);
    if known & WORDS == UNKNOWN {
        let asked = level(trust::variable("OXMPI_EXPLAIN").as_deref());
        // Unless a tool has set it in the meantime.
        let _ = LEVEL.compare_exchange(known, known & RECORDS | asked, Relaxed, Relaxed);
    }
    LEVEL.load(Relaxed) != OFF
}

fn level(value: Option<&OsStr>) -> u8 {
    match value {
        Some(value) if value == "all" => ALL,
        Some(value) if !value.is_empty() && value != "0" => ON,
        _ => OFF,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_and_zero_are_off_and_all_means_all_ranks() {
        assert_eq!(level(None), OFF);
        assert_eq!(level(Some(OsStr::new(""))), OFF);
        assert_eq!(level(Some(OsStr::new("0"))), OFF);
        assert_eq!(level(Some(OsStr::new("1"))), ON);
        assert_eq!(level(Some(OsStr::new("all"))), ALL);
    }
}
