//! Synchronisation of windows: fences, post and start, locks, flushes.

use crate::call::{Call, Guard};
use oxmpi::rma;
use oxmpi_abi::Result;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Group, Win};
use oxmpi_base::wait::full_fence;
use oxmpi_core::wait::window::Awaited;
use std::ffi::c_int;

// Assertions: with NOPRECEDE and NOSUCCEED a fence does not synchronise; with NOCHECK a start does
// not wait, and a lock takes nothing. The others save nothing where memory is coherent.

pub fn win_fence(cx: &Call, assert: c_int, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    let window = &mut guard.win_mut(win)?.window;
    window.check_fence(assert)?;
    window.synchronize_copies();
    let alone = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
    if assert & alone == alone {
        full_fence();
    } else {
        rma::synchronize(cx, &mut guard, win)?;
    }
    let window = &mut guard.win_mut(win)?.window;
    window.synchronize_copies();
    window.end_fence(assert);
    Ok(())
}

// ---- post, start, complete, wait ----

pub fn win_post(cx: &Call, group: Group, assert: c_int, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    let origins = guard.win(win)?.ranks_of(guard.group(group)?)?;
    let (window, node) = guard.win_and_node(win)?;
    window.synchronize_copies();
    window.post(node, origins, assert)
}

pub fn win_start(cx: &Call, group: Group, assert: c_int, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    let targets = guard.win(win)?.ranks_of(guard.group(group)?)?;
    let window = &mut guard.win_mut(win)?.window;
    window.check_start(assert)?;
    window.start(targets);
    if assert & MPI_MODE_NOCHECK == 0 {
        let exposed = cx.wait_window(&mut guard, win, Awaited::Targets, |window| window.is_exposed_to_us());
        if let Err(error) = exposed {
            guard.win_mut(win)?.window.take_back_start();
            return Err(error);
        }
    }
    Ok(())
}

pub fn win_complete(cx: &Call, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    let (window, node) = guard.win_and_node(win)?;
    window.complete(node)
}

pub fn win_wait(cx: &Call, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    guard.win(win)?.window.check_posted()?;
    cx.wait_window(&mut guard, win, Awaited::Origins, |window| window.try_wait())?;
    guard.win_mut(win)?.window.synchronize_copies();
    Ok(())
}

pub fn win_test(cx: &Call, win: Win) -> Result<c_int> {
    let mut guard = cx.enter()?;
    guard.win(win)?.window.check_posted()?;
    guard.progress();
    let window = &mut guard.win_mut(win)?.window;
    let done = window.try_wait();
    match done {
        true => window.synchronize_copies(),
        false => guard.asked_window_in_vain(win, Awaited::Origins)?,
    }
    Ok(c_int::from(done))
}

// ---- locks ----

pub fn win_lock(cx: &Call, lock_type: c_int, rank: c_int, assert: c_int, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    let window = &mut guard.win_mut(win)?.window;
    let Some(rank) = window.check_lock(lock_type, rank, assert)? else {
        window.lock_proc_null();
        return Ok(());
    };
    let exclusive = lock_type == MPI_LOCK_EXCLUSIVE;
    let truly = assert & MPI_MODE_NOCHECK == 0;
    if truly && !window.control.lock(rank).try_take(window.rank, exclusive, true) {
        cx.wait_for_lock(&mut guard, win, rank, exclusive)?;
    }
    let window = &mut guard.win_mut(win)?.window;
    window.locked(rank, exclusive, truly);
    window.synchronize_copies();
    Ok(())
}

pub fn win_lock_all(cx: &Call, assert: c_int, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    let window = &mut guard.win_mut(win)?.window;
    window.check_lock_all(assert)?;
    let truly = assert & MPI_MODE_NOCHECK == 0;
    if truly {
        cx.take_all_locks(&mut guard, win)?;
    }
    let window = &mut guard.win_mut(win)?.window;
    window.locked_all(truly);
    window.synchronize_copies();
    Ok(())
}

pub fn win_unlock(cx: &Call, rank: c_int, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    let window = &mut guard.win_mut(win)?.window;
    window.synchronize_copies();
    if window.unlock(rank)? {
        wake_all(&guard, win)?;
    }
    Ok(())
}

pub fn win_unlock_all(cx: &Call, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    let window = &mut guard.win_mut(win)?.window;
    window.synchronize_copies();
    if window.unlock_all()? {
        wake_all(&guard, win)?;
    }
    Ok(())
}

fn wake_all(guard: &Guard, win: Win) -> Result<()> {
    guard.win(win)?.window.wake_all(guard.engine.node());
    // Another thread of this process may wait for the same lock.
    guard.wake_siblings();
    Ok(())
}

// ---- flushes: operations are complete when they return, only their order is left ----

pub fn win_flush(cx: &Call, rank: c_int, win: Win) -> Result<()> {
    let guard = cx.enter()?;
    guard.win(win)?.window.check_passive_call(rank)?;
    full_fence();
    Ok(())
}

pub fn win_flush_all(cx: &Call, win: Win) -> Result<()> {
    cx.enter()?.win(win)?.window.check_any_passive()?;
    full_fence();
    Ok(())
}

pub fn win_flush_local(cx: &Call, rank: c_int, win: Win) -> Result<()> {
    cx.enter()?.win(win)?.window.check_passive_call(rank)
}

pub fn win_flush_local_all(cx: &Call, win: Win) -> Result<()> {
    cx.enter()?.win(win)?.window.check_any_passive()
}

/// Also allowed outside an epoch. Programs that poll their own memory call this repeatedly.
pub fn win_sync(cx: &Call, win: Win) -> Result<()> {
    let mut guard = cx.enter()?;
    let window = &mut guard.win_mut(win)?.window;
    window.synchronize_copies();
    window.poll_requests();
    full_fence();
    Ok(())
}
