//! Synchronisation of windows: fences, post and start, locks, flushes. Operations on ranks of this node are complete when
//! they return; those on other nodes are completed here, by their agents.
//!
//! Assertions: with NOPRECEDE and NOSUCCEED a fence does not synchronise; with NOCHECK a start does not wait, and a lock
//! takes nothing. The others save nothing where memory is coherent.

use super::{far, synchronize};
use oxmpi_abi::Result;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Group, Win};
use oxmpi_base::wait::full_fence;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check;
use oxmpi_core::wait::window::Awaited;
use oxmpi_rma::Unlocked;
use oxmpi_rma::access_log::{Epoch, TargetLog};
use oxmpi_rma::far::origin::AgentId;
use oxmpi_rma::far::wire::Kind;

pub fn fence(call: &Call, assertion: i32, win: Win) -> Result<()> {
    let mut guard = call.enter()?;
    guard.check_window(win)?;
    let window = &mut guard.win_mut(win)?.window;
    window.check_fence(assertion)?;
    window.synchronize_copies();
    let is_on_nodes = window.number().is_some();
    guard.check_completion(win, None, false);
    // Also after an error all ranks synchronise: the others wait for this one.
    let flushed = if is_on_nodes { far::flush_all(&mut guard, win) } else { Ok(()) };
    let alone = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
    if assertion & alone == alone {
        full_fence();
    } else {
        if check::is_on() {
            note_assertion(&guard, win, assertion)?;
        }
        synchronize(call, &mut guard, win).inspect_err(|error| {
            if let (true, Ok(found)) = (error.is_of_others(), guard.win_mut(win)) {
                found.window.end_fence(MPI_MODE_NOSUCCEED);
            }
        })?;
        if check::is_on() {
            end_checked_epoch(call, &mut guard, win, assertion)?;
        }
    }
    let window = &mut guard.win_mut(win)?.window;
    window.synchronize_copies();
    window.end_fence(assertion);
    flushed
}

#[cold]
fn note_assertion(guard: &Guard, win: Win, assertion: i32) -> Result<()> {
    let window = &guard.win(win)?.window;
    if let Some(log) = &window.log {
        log.with(window.rank, |log| log.assert(assertion));
    }
    Ok(())
}

/// Between two fences a program may store where nobody puts: what it has stored is compared before anyone goes on.
#[cold]
fn end_checked_epoch(call: &Call, guard: &mut Guard, win: Win, assertion: i32) -> Result<()> {
    let Some(log) = &guard.win(win)?.window.log else { return Ok(()) };
    let number = log.fences;
    guard.compare_fences(win);
    guard.check_assertions(win, Epoch::Fence(number), assertion & MPI_MODE_NOSTORE != 0);
    let Some(log) = &mut guard.win_mut(win)?.window.log else { return Ok(()) };
    log.fences = number.wrapping_add(1);
    log.promised = assertion;
    let next = Epoch::Fence(log.fences);
    guard.end_logged_epoch(win, Epoch::Fence(number));
    guard.begin_logged_epoch(win, next);
    synchronize(call, guard, win)
}

/// This rank exposes its memory.
#[cold]
fn begin_checked_exposure(guard: &mut Guard, win: Win, assertion: i32) -> Result<()> {
    guard.forget_copies();
    if let Some(log) = &mut guard.win_mut(win)?.window.log {
        log.promised = assertion;
    }
    let window = &guard.win(win)?.window;
    let Some(log) = &window.log else { return Ok(()) };
    let number = log.with(window.rank, TargetLog::exposures);
    guard.begin_logged_epoch(win, Epoch::Exposure(number));
    Ok(())
}

/// The exposure of this rank's memory has ended.
#[cold]
fn end_checked_exposure(guard: &mut Guard, win: Win) -> Result<()> {
    let window = &guard.win(win)?.window;
    let Some(log) = &window.log else { return Ok(()) };
    let number = log.with(window.rank, TargetLog::exposures);
    guard.check_assertions(win, Epoch::Exposure(number), false);
    guard.end_logged_epoch(win, Epoch::Exposure(number));
    Ok(())
}

// ---- post, start, complete, wait ----

pub fn post(call: &Call, group: Group, assertion: i32, win: Win) -> Result<()> {
    let mut guard = call.enter()?;
    guard.check_window(win)?;
    let origins = guard.win(win)?.ranks_of(guard.group(group)?)?;
    if check::is_on() {
        begin_checked_exposure(&mut guard, win, assertion)?;
    }
    let (window, node) = guard.win_and_node(win)?;
    window.synchronize_copies();
    let there = window.post(node, origins, assertion)?;
    far::notify(&mut guard, Kind::Post, &there)
}

pub fn start(call: &Call, group: Group, assertion: i32, win: Win) -> Result<()> {
    let mut guard = call.enter()?;
    guard.check_window(win)?;
    let targets = guard.win(win)?.ranks_of(guard.group(group)?)?;
    let window = &mut guard.win_mut(win)?.window;
    window.check_start(assertion)?;
    window.start(targets);
    if assertion & MPI_MODE_NOCHECK == 0 {
        let exposed = call.wait_window(&mut guard, win, Awaited::Targets, |window| window.is_exposed_to_us());
        if let Err(error) = exposed {
            guard.win_mut(win)?.window.take_back_start();
            return Err(error);
        }
    }
    Ok(())
}

pub fn complete(call: &Call, win: Win) -> Result<()> {
    let mut guard = call.enter()?;
    let there = guard.win(win)?.window.far_targets()?;
    guard.check_completion(win, None, false);
    let agents: Vec<AgentId> = there.iter().map(|there| there.by.agent).collect();
    // The agent counts the completion behind the operations that were sent before it.
    let told = far::notify(&mut guard, Kind::Complete, &there).and_then(|()| far::flush(&mut guard, &agents));
    let (window, node) = guard.win_and_node(win)?;
    window.complete(node);
    told
}

pub fn wait(call: &Call, win: Win) -> Result<()> {
    let mut guard = call.enter()?;
    guard.win(win)?.window.check_posted()?;
    call.wait_window(&mut guard, win, Awaited::Origins, |window| window.try_wait()).inspect_err(|error| {
        if let (true, Ok(found)) = (error.is_of_others(), guard.win_mut(win)) {
            found.window.end_exposure();
        }
    })?;
    guard.win_mut(win)?.window.synchronize_copies();
    if check::is_on() {
        end_checked_exposure(&mut guard, win)?;
    }
    Ok(())
}

pub fn test(call: &Call, win: Win) -> Result<bool> {
    let mut guard = call.enter()?;
    guard.win(win)?.window.check_posted()?;
    guard.progress();
    let window = &mut guard.win_mut(win)?.window;
    let done = window.try_wait();
    match done {
        true => window.synchronize_copies(),
        false => guard.asked_window_in_vain(win, Awaited::Origins)?,
    }
    if done && check::is_on() {
        end_checked_exposure(&mut guard, win)?;
    }
    Ok(done)
}

// ---- locks ----

#[inline(always)]
pub fn lock(call: &Call, lock_type: i32, rank: i32, assertion: i32, win: Win) -> Result<()> {
    let mut guard = call.enter()?;
    guard.check_window(win)?;
    let window = &mut guard.win_mut(win)?.window;
    let Some(rank) = window.check_lock(lock_type, rank, assertion)? else {
        window.lock_proc_null();
        return Ok(());
    };
    let exclusive = lock_type == MPI_LOCK_EXCLUSIVE;
    let truly = assertion & MPI_MODE_NOCHECK == 0;
    if check::is_on() || (truly && !window.try_lock(rank, exclusive)) {
        return lock_slowly(&call.for_slow_path(), guard.for_slow_path(), win, rank, (exclusive, truly));
    }
    window.locked(rank, exclusive, truly);
    window.synchronize_copies();
    Ok(())
}

/// Takes a lock that is not free, or any under `--check`.
#[inline(never)]
fn lock_slowly(call: &Call, mut guard: Guard, win: Win, rank: usize, (exclusive, truly): (bool, bool)) -> Result<()> {
    let window = &guard.win(win)?.window;
    if truly && !window.try_lock(rank, exclusive) {
        match window.far_rank(rank) {
            None => call.wait_for_lock(&mut guard, win, rank, exclusive)?,
            Some(there) => far::lock(call, &mut guard, win, there, exclusive)?,
        }
    }
    let window = &mut guard.win_mut(win)?.window;
    window.locked(rank, exclusive, truly);
    window.synchronize_copies();
    if exclusive && truly && check::is_on() {
        guard.note_exclusive(win, rank);
    }
    Ok(())
}

pub fn lock_all(call: &Call, assertion: i32, win: Win) -> Result<()> {
    let mut guard = call.enter()?;
    guard.check_window(win)?;
    let window = &mut guard.win_mut(win)?.window;
    window.check_lock_all(assertion)?;
    let truly = assertion & MPI_MODE_NOCHECK == 0;
    if truly {
        far::lock_all(call, &mut guard, win)?;
    }
    let window = &mut guard.win_mut(win)?.window;
    window.locked_all(truly);
    window.synchronize_copies();
    if check::is_on() {
        guard.begin_logged_epoch(win, Epoch::Lock);
    }
    Ok(())
}

#[inline(always)]
pub fn unlock(call: &Call, rank: i32, win: Win) -> Result<()> {
    let mut guard = call.enter()?;
    guard.check_completion(win, Some(rank), true);
    let window = &mut guard.win_mut(win)?.window;
    window.synchronize_copies();
    match window.unlock(rank)? {
        Unlocked::Nothing => Ok(()),
        rest => end_unlock(guard.for_slow_path(), rank, win, rest),
    }
}

#[inline(never)]
fn end_unlock(mut guard: Guard, rank: i32, win: Win, rest: Unlocked) -> Result<()> {
    match rest {
        Unlocked::Nothing => Ok(()),
        Unlocked::Wake => wake_all(&guard, win),
        Unlocked::CompleteFar => flush_far(&mut guard, Some(rank), win),
        Unlocked::ReleaseFar => far::unlock(&mut guard, rank, win),
    }
}

pub fn unlock_all(call: &Call, win: Win) -> Result<()> {
    let mut guard = call.enter()?;
    if check::is_on() {
        guard.end_locked(win);
    }
    guard.check_completion(win, None, true);
    let window = &mut guard.win_mut(win)?.window;
    window.synchronize_copies();
    let taken = window.check_locked_all()?;
    // Also when an agent tells of an error, the epoch ends.
    let done = far::unlock_all(&mut guard, win, taken);
    if guard.win_mut(win)?.window.unlock_all()? {
        wake_all(&guard, win)?;
    }
    done
}

fn wake_all(guard: &Guard, win: Win) -> Result<()> {
    guard.win(win)?.window.wake_all(guard.engine.node());
    // Another thread of this process may wait for the same lock.
    guard.wake_siblings();
    Ok(())
}

// ---- flushes ----

/// `rank`: `None` for all ranks. The caller has checked that they are locked.
#[cold]
pub fn flush_far(guard: &mut Guard, rank: Option<i32>, win: Win) -> Result<()> {
    let agents = far::agents_of(guard, win, rank)?;
    full_fence();
    far::flush(guard, &agents)
}

#[cold]
pub fn flush_local_far(guard: &mut Guard, rank: Option<i32>, win: Win) -> Result<()> {
    let agents = far::agents_of(guard, win, rank)?;
    far::flush_local(guard, &agents)
}

/// Also allowed outside an epoch. Programs that poll their own memory call this repeatedly.
pub fn sync(call: &Call, win: Win) -> Result<()> {
    let mut guard = call.enter()?;
    let window = &mut guard.win_mut(win)?.window;
    window.synchronize_copies();
    window.poll_requests();
    full_fence();
    if check::is_on() {
        guard.forget_copies();
    }
    Ok(())
}
