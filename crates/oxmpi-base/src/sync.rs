//! The atomics that the lock-free parts are written against: the real ones, or loom's when a test explores every
//! interleaving (`RUSTFLAGS="--cfg loom" cargo test -p oxmpi-base --release loom`).

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
