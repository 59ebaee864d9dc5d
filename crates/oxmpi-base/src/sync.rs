//! The atomics of the lock-free code: those of the standard library, or loom's in tests that
//! explore all interleavings (`RUSTFLAGS="--cfg loom" cargo test -p oxmpi-base --release loom`).

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
