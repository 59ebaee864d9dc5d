//! Pending operations whose buffers are copies of array sections. Received data is stored in the
//! arrays of the program when a Fortran call completes the request; data to be sent is copied again
//! when a persistent request starts.
//!
//! Few programs have such operations; the others pay one load for this.

use crate::c_names::*;
use crate::section::Scratch;
use std::collections::BTreeMap;
use std::mem::forget;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

static COUNT: AtomicUsize = AtomicUsize::new(0);
static TABLE: LazyLock<Mutex<BTreeMap<Request, Operation>>> = LazyLock::new(Mutex::default);

struct Operation {
    /// Dropping it stores the received data.
    buffers: Vec<Scratch>,
    /// MPI may be reading and writing the buffers.
    is_active: bool,
}

fn table() -> MutexGuard<'static, BTreeMap<Request, Operation>> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether there are such operations.
#[inline]
fn any() -> bool {
    COUNT.load(Relaxed) != 0
}

/// Keeps the buffers of an operation until its request is complete.
#[inline]
pub fn keep<const N: usize>(request: Request, code: c_int, buffers: [Scratch; N]) {
    if buffers.iter().any(Scratch::is_copy) && code == MPI_SUCCESS {
        // A persistent request is not active yet, but this is not read before it starts.
        insert(request, Operation { buffers: buffers.into(), is_active: true });
    }
}

fn insert(request: Request, operation: Operation) {
    let mut table = table();
    table.insert(request, operation);
    COUNT.store(table.len(), Relaxed);
}

fn remove(request: Request) -> Option<Operation> {
    let mut table = table();
    let operation = table.remove(&request);
    COUNT.store(table.len(), Relaxed);
    operation
}

/// The operations that a call may complete, removed from the table while it runs: afterwards
/// another thread may have a new request with the same number.
pub struct Held(Vec<(usize, Request, Operation)>);

#[inline]
pub fn hold(requests: &[Request]) -> Held {
    if any() { Held::take(requests) } else { Held(Vec::new()) }
}

impl Held {
    #[cold]
    fn take(requests: &[Request]) -> Held {
        let held = requests.iter().enumerate().filter_map(|(i, request)| Some((i, *request, remove(*request)?)));
        Held(held.collect())
    }

    /// The result of the call: the requests now, and which of them are complete. Those that are
    /// still requests are persistent or not complete.
    #[inline]
    pub fn settle(self, after: &[Request], is_complete: impl Fn(usize) -> bool) {
        for (i, request, mut operation) in self.0 {
            if after.get(i) != Some(&request) {
                continue;
            }
            if is_complete(i) {
                operation.buffers.iter_mut().for_each(Scratch::store);
                operation.is_active = false;
            }
            insert(request, operation);
        }
    }
}

/// The request is complete but still exists.
#[inline]
pub fn seen(request: Request) {
    if any() {
        let mut table = table();
        table.get_mut(&request).into_iter().flat_map(|o| &mut o.buffers).for_each(Scratch::store);
    }
}

/// Persistent requests are about to start.
#[inline]
pub fn starting(requests: &[Request]) {
    if !any() {
        return;
    }
    let mut table = table();
    for request in requests {
        if let Some(operation) = table.get_mut(request) {
            operation.buffers.iter_mut().for_each(Scratch::load);
            operation.is_active = true;
        }
    }
}

/// The request was freed.
#[inline]
pub fn freed(held: Held) {
    for (_, _, mut operation) in held.0 {
        operation.buffers.iter_mut().for_each(Scratch::discard);
        if operation.is_active {
            // Leaked: no call will tell when MPI no longer uses the memory.
            forget(operation);
        }
    }
}
