//! Operations that outlast their call while their buffers lie in scratch memory: what came is stored in the program's arrays
//! when a call of Fortran's completes the request, and what goes is read again when it starts a persistent one.
//!
//! Nearly no program has such an operation, so everybody else pays for one load.

use crate::entry::*;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

static COUNT: AtomicUsize = AtomicUsize::new(0);
static TABLE: LazyLock<Mutex<HashMap<Request, Vec<Scratch>>>> = LazyLock::new(Mutex::default);

fn table() -> MutexGuard<'static, HashMap<Request, Vec<Scratch>>> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the buffers of an operation until its request is complete.
#[inline]
pub fn keep<const N: usize>(request: Request, code: c_int, buffers: [Scratch; N]) {
    if buffers.iter().any(Scratch::is_copy) && code == MPI_SUCCESS {
        let mut table = table();
        table.insert(request, buffers.into());
        COUNT.store(table.len(), Relaxed);
    }
}

/// There are such operations.
#[inline]
pub fn any() -> bool {
    COUNT.load(Relaxed) != 0
}

/// A request is complete; a persistent one is still there.
#[cold]
pub fn finished(before: Request, after: Request) {
    let mut table = table();
    if after == before {
        for buffer in table.get_mut(&before).into_iter().flatten() {
            buffer.store();
        }
    } else {
        // Dropping them stores what came.
        drop(table.remove(&before));
        COUNT.store(table.len(), Relaxed);
    }
}

/// A persistent request is about to start.
#[cold]
pub fn starting(request: Request) {
    for buffer in table().get_mut(&request).into_iter().flatten() {
        buffer.load();
    }
}

/// A request is given up.
#[cold]
pub fn freed(request: Request) {
    let mut table = table();
    for mut buffer in table.remove(&request).into_iter().flatten() {
        buffer.discard();
    }
    COUNT.store(table.len(), Relaxed);
}
