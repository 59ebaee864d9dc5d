//! The atomics of the lock-free code: those of the standard library, or loom's in tests that
//! explore all interleavings (`RUSTFLAGS="--cfg loom" cargo test -p oxmpi-base --release loom`).
//!
//! Whatever lies in memory that ranks share takes its atomics from here, those that loom does not explore from [`shared`]:
//! `cargo xtask crash-points` builds a library in which each place that changes them has a name, and kills a rank before and
//! after each (`RUSTFLAGS="--cfg crash_points"`). `cargo xtask tidy` fails where other atomics are used.

#[cfg(crash_points)]
mod crash_points;

/// The atomics of memory that ranks share.
pub mod shared {
    #[cfg(crash_points)]
    pub use super::crash_points::{AtomicI32, AtomicI64, AtomicU8, AtomicU32, AtomicU64, changing};
    #[cfg(not(crash_points))]
    pub use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU8, AtomicU32, AtomicU64};

    /// Changes memory that other ranks see, without an atomic.
    #[cfg(not(crash_points))]
    #[inline(always)]
    pub fn changing<T>(change: impl FnOnce() -> T) -> T {
        change()
    }
}

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use {
    shared::{AtomicU32, AtomicU64},
    std::sync::atomic::{Ordering, fence},
};
