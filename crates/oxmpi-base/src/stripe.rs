//! A lock in shared memory that is held for a few copies: one of many, each for a part of some
//! rank's memory. A waiting rank spins with growing pauses, so that the cache line stays with the
//! ranks that work, and yields the CPU if it waits so long that the holder is probably not running.

use crate::sync::{AtomicU32, Ordering};

/// Zero: the lock is free. Otherwise one more than the number of its holder.
#[repr(C, align(64))]
pub struct Stripe(AtomicU32);

impl Stripe {
    /// Takes the lock for a holder if it is free.
    #[inline]
    pub fn try_take(&self, own: usize) -> bool {
        self.0.compare_exchange(0, own as u32 + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Waits for the lock and takes it, also from a holder that is gone. `longest` limits the pauses between two loads.
    #[cold]
    pub fn wait(&self, own: usize, longest: u32, is_gone: impl Fn(usize) -> bool) {
        let (mut pauses, mut waited) = (1, 0);
        loop {
            let held = self.0.load(Ordering::Relaxed);
            if held == 0 && self.try_take(own) {
                return;
            }
            waited += pauses;
            if waited > PATIENCE {
                if held != 0
                    && is_gone(held as usize - 1)
                    && self.0.compare_exchange(held, own as u32 + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
                {
                    return;
                }
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

/// Longest pause where the lock is held briefly: half a microsecond, in which another rank can do a
/// dozen operations with the line in its cache.
pub const SELDOM: u32 = 32;

/// Longest pause where holders make system calls and other holders are quick: a rank that polls
/// rarely would come too late.
pub const OFTEN: u32 = 1;

/// Pauses before the CPU is yielded.
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
            let add = |shared: &Guarded, number: usize| {
                if !shared.0.try_take(number) {
                    shared.0.wait(number, SELDOM, |_| false);
                }
                // SAFETY: under the stripe, which loom checks.
                shared.1.with_mut(|value| unsafe { *value += 1 });
                shared.0.give_back();
            };
            let other = Arc::clone(&shared);
            let thread = loom::thread::spawn(move || [(); 2].map(|()| add(&other, 1)));
            add(&shared, 0);
            thread.join().unwrap();
            // SAFETY: the other thread is gone.
            shared.1.with(|value| assert_eq!(unsafe { *value }, 3));
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_stripe_is_taken_from_a_holder_that_is_gone() {
        let stripe = Stripe(AtomicU32::new(0));
        assert!(stripe.try_take(4) && !stripe.try_take(2));
        stripe.wait(2, SELDOM, |holder| holder == 4);
        assert!(!stripe.try_take(4));
        stripe.give_back();
        assert!(stripe.try_take(4));
    }
}
