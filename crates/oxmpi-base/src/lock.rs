//! A lock between threads of this process that fits into one word. Its guard is not a value: the
//! holder records in its own `bool` that it has the lock, which keeps the single-threaded path free
//! of it.

use crate::sync::{AtomicU32, Ordering};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and a thread sleeps until it is free.
const AWAITED: u32 = 2;

pub struct Lock {
    state: AtomicU32,
}

impl Lock {
    #[cfg(not(loom))]
    pub const fn new() -> Lock {
        Lock { state: AtomicU32::new(FREE) }
    }

    #[cfg(loom)]
    pub fn new() -> Lock {
        Lock { state: AtomicU32::new(FREE) }
    }

    #[inline]
    pub fn take(&self) {
        if self.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.take_contended();
        }
    }

    /// Takes the lock if it is free; whether it was.
    pub fn try_take(&self) -> bool {
        self.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Whether a thread sleeps until the lock is free, as far as is known.
    pub fn is_awaited(&self) -> bool {
        self.state.load(Ordering::Relaxed) == AWAITED
    }

    #[cold]
    fn take_contended(&self) {
        for _ in 0..SPINS {
            if self.state.load(Ordering::Relaxed) == FREE
                && self.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return;
            }
            pause();
        }
        // From here on the word says that a thread waits, also if this thread gets the lock: that
        // costs at most one needless wake-up.
        while self.state.swap(AWAITED, Ordering::Acquire) != FREE {
            sleep_while_awaited(&self.state);
        }
    }

    /// Releases the lock, which the caller holds.
    #[inline]
    pub fn give_back(&self) {
        if self.state.swap(FREE, Ordering::Release) == AWAITED {
            wake_one(&self.state);
        }
    }
}

impl Default for Lock {
    fn default() -> Lock {
        Lock::new()
    }
}

#[cfg(not(loom))]
const SPINS: u32 = 100;
#[cfg(loom)]
const SPINS: u32 = 0;

#[cfg(not(loom))]
fn pause() {
    std::hint::spin_loop();
}
#[cfg(loom)]
fn pause() {
    loom::thread::yield_now();
}

#[cfg(not(loom))]
fn sleep_while_awaited(word: &AtomicU32) {
    crate::wait::futex_wait(word, AWAITED, None);
}
#[cfg(loom)]
fn sleep_while_awaited(_word: &AtomicU32) {
    loom::thread::yield_now();
}

#[cfg(not(loom))]
#[cold]
fn wake_one(word: &AtomicU32) {
    crate::wait::futex_wake(word, 1);
}
#[cfg(loom)]
fn wake_one(_word: &AtomicU32) {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;

    #[test]
    fn a_taken_lock_is_not_waited_for() {
        let lock = Lock::new();
        assert!(lock.try_take() && !lock.try_take() && !lock.is_awaited());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                lock.take();
                lock.give_back();
            });
            while !lock.is_awaited() {
                std::thread::yield_now();
            }
            lock.give_back();
        });
        assert!(lock.try_take());
    }

    struct Counter(Lock, UnsafeCell<u64>);
    // SAFETY: the cell is touched under the lock only.
    unsafe impl Sync for Counter {}

    #[test]
    fn no_waiting_thread_is_lost() {
        let counter = Counter(Lock::new(), UnsafeCell::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    // Capture the whole value, which is `Sync`, not its fields.
                    let counter = &counter;
                    for _ in 0..50_000 {
                        counter.0.take();
                        // SAFETY: under the lock.
                        unsafe { *counter.1.get() += 1 };
                        counter.0.give_back();
                    }
                });
            }
        });
        assert_eq!(counter.1.into_inner(), 200_000);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    #[test]
    fn loom_lock_excludes() {
        loom::model(|| {
            let shared = Arc::new((Lock::new(), UnsafeCell::new(0)));
            let other = Arc::clone(&shared);
            let add = |shared: &(Lock, UnsafeCell<i32>)| {
                shared.0.take();
                // SAFETY: under the lock, which loom checks.
                shared.1.with_mut(|value| unsafe { *value += 1 });
                shared.0.give_back();
            };
            let thread = loom::thread::spawn(move || add(&other));
            add(&shared);
            thread.join().unwrap();
            // SAFETY: the other thread is gone.
            shared.1.with(|value| assert_eq!(unsafe { *value }, 2));
        });
    }
}
