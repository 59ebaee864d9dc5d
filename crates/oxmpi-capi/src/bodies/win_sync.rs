//! Synchronisation of windows: fences, post and start, locks, flushes.

use crate::call::Call;
use oxmpi::rma::sync;
use oxmpi_abi::Result;
use oxmpi_abi::handle::{Group, Win};
use oxmpi_base::wait::full_fence;
use std::ffi::c_int;

pub fn win_fence(cx: &Call, assert: c_int, win: Win) -> Result<()> {
    sync::fence(cx, assert, win)
}

pub fn win_post(cx: &Call, group: Group, assert: c_int, win: Win) -> Result<()> {
    sync::post(cx, group, assert, win)
}

pub fn win_start(cx: &Call, group: Group, assert: c_int, win: Win) -> Result<()> {
    sync::start(cx, group, assert, win)
}

pub fn win_complete(cx: &Call, win: Win) -> Result<()> {
    sync::complete(cx, win)
}

pub fn win_wait(cx: &Call, win: Win) -> Result<()> {
    sync::wait(cx, win)
}

pub fn win_test(cx: &Call, win: Win) -> Result<c_int> {
    sync::test(cx, win).map(c_int::from)
}

pub fn win_lock(cx: &Call, lock_type: c_int, rank: c_int, assert: c_int, win: Win) -> Result<()> {
    sync::lock(cx, lock_type, rank, assert, win)
}

pub fn win_lock_all(cx: &Call, assert: c_int, win: Win) -> Result<()> {
    sync::lock_all(cx, assert, win)
}

pub fn win_unlock(cx: &Call, rank: c_int, win: Win) -> Result<()> {
    sync::unlock(cx, rank, win)
}

pub fn win_unlock_all(cx: &Call, win: Win) -> Result<()> {
    sync::unlock_all(cx, win)
}

// ---- flushes: on this node operations are complete when they return, only their order is left ----

pub fn win_flush(cx: &Call, rank: c_int, win: Win) -> Result<()> {
    complete(cx, Some(rank), true, win)
}

pub fn win_flush_all(cx: &Call, win: Win) -> Result<()> {
    complete(cx, None, true, win)
}

pub fn win_flush_local(cx: &Call, rank: c_int, win: Win) -> Result<()> {
    complete(cx, Some(rank), false, win)
}

pub fn win_flush_local_all(cx: &Call, win: Win) -> Result<()> {
    complete(cx, None, false, win)
}

#[inline(always)]
fn complete(cx: &Call, rank: Option<c_int>, is_remote: bool, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    guard.check_completion(win, rank, is_remote);
    let window = &guard.win(win)?.window;
    match (rank.map_or_else(|| window.check_any_passive(), |rank| window.check_passive_call(rank))?, is_remote) {
        (true, true) => return sync::flush_far(&mut guard, rank, win),
        (true, false) => return sync::flush_local_far(&mut guard, rank, win),
        (false, true) => full_fence(),
        (false, false) => {}
    }
    Ok(())
}

pub fn win_sync(cx: &Call, win: Win) -> Result<()> {
    sync::sync(cx, win)
}
