//! Which call has made an object, for the report of what was not freed.

use crate::check;
use oxmpi_abi::functions::Fun;
use oxmpi_base::callers::{CALLERS, callers};
use oxmpi_base::slots::{Kind, kind_of};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The call that made an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    pub fun: Fun,
    /// Where it returned to; nothing for requests, which are made too often.
    pub callers: Option<[u64; CALLERS]>,
}

/// Handles have their kind in them, so one table is enough. Only the entries of live handles mean something: a handle that
/// is made again has a new entry.
static ORIGINS: LazyLock<Mutex<BTreeMap<usize, Origin>>> = LazyLock::new(Mutex::default);

/// A call has made an object.
#[inline(always)]
pub fn note(handle: usize, fun: Fun) {
    if check::is_on() {
        let callers = (kind_of(handle) != Some(Kind::Request)).then(callers);
        insert(handle, Origin { fun, callers });
    }
}

#[cold]
fn insert(handle: usize, origin: Origin) {
    ORIGINS.lock().unwrap_or_else(PoisonError::into_inner).insert(handle, origin);
}

/// Forgets objects that do not exist any more, when there may be many of them.
#[cold]
pub(crate) fn prune(exists: impl Fn(usize) -> bool) {
    let mut all = ORIGINS.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() > LIMIT.load(Relaxed) {
        all.retain(|&handle, _| exists(handle));
        LIMIT.store(MANY.max(2 * all.len()), Relaxed);
    }
}

/// With more entries it is time to look for those that mean nothing.
static LIMIT: AtomicUsize = AtomicUsize::new(MANY);
const MANY: usize = 4096;

/// A request is gone.
#[cold]
pub fn forget(handle: usize) {
    ORIGINS.lock().unwrap_or_else(PoisonError::into_inner).remove(&handle);
}

/// The call that made an object, if it was the program's.
pub fn of(handle: usize) -> Option<Origin> {
    ORIGINS.lock().unwrap_or_else(PoisonError::into_inner).get(&handle).copied()
}
