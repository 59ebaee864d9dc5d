//! A lock in shared memory for the time of a few copies: one of many, each for a part of some rank's memory. Who waits for
//! it spins, ever more seldom, so that its line stays with those who work, and hands the CPU over when that takes too long
//! for the holder to be running.

use crate::sync::{AtomicU32, Ordering};

/// Zeroes are a lock that nobody holds.
#[repr(C, align(64))]
pub struct Stripe(AtomicU32);

impl Stripe {
    /// Takes the lock if nobody holds it.
    #[inline]
    pub fn try_take(&self) -> bool {
        self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the lock that somebody holds; looks after so many pauses at most.
    #[cold]
    pub fn wait(&self, longest: u32) {
        let (mut pauses, mut waited) = (1, 0);
        loop {
            if self.0.load(Ordering::Relaxed) == 0 && self.try_take() {
                return;
            }
            waited += pauses;
            if waited > PATIENCE {
                yield_cpu();
                (pauses, waited) = (1, 0);
            } else {
                pause(pauses);
                pauses = (pauses * 2).min(longest);
            }
        }
    }

    #[inline]
    pub fn give_back(&self) {
        self.0.store(0, Ordering::Release);
    }
}

/// Pauses between two looks where the lock is held for moments: half a microsecond, in which somebody else does a dozen
/// operations with the line at hand.
pub const SELDOM: u32 = 32;

/// The same where holders make system calls, and all else is quick: who looks seldom comes too late.
pub const OFTEN: u32 = 1;

/// Pauses before the CPU is handed over.
#[cfg(not(loom))]
const PATIENCE: u32 = 256;
#[cfg(loom)]
const PATIENCE: u32 = 0;

fn pause(pauses: u32) {
    for _ in 0..pauses {
        std::hint::spin_loop();
    }
}

#[cfg(not(loom))]
fn yield_cpu() {
    std::thread::yield_now();
}
#[cfg(loom)]
fn yield_cpu() {
    loom::thread::yield_now();
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;

    struct Guarded(Stripe, UnsafeCell<i32>);
    // SAFETY: what loom is here to check.
    unsafe impl Sync for Guarded {}

    #[test]
    fn loom_a_stripe_excludes() {
        loom::model(|| {
            let shared = Arc::new(Guarded(Stripe(AtomicU32::new(0)), UnsafeCell::new(0)));
            let add = |shared: &Guarded| {
                if !shared.0.try_take() {
                    shared.0.wait(SELDOM);
                }
                // SAFETY: under the stripe, which loom checks.
                shared.1.with_mut(|value| unsafe { *value += 1 });
                shared.0.give_back();
            };
            let other = Arc::clone(&shared);
            let thread = loom::thread::spawn(move || [(); 2].map(|()| add(&other)));
            add(&shared);
            thread.join().unwrap();
            // SAFETY: the other thread is gone.
            shared.1.with(|value| assert_eq!(unsafe { *value }, 3));
        });
    }
}
