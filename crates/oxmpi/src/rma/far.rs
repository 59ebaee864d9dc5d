//! Windows with ranks on several nodes: what this process asks of the agents of the other nodes, and of its own.
//!
//! Operations are sent when they are called and complete with the next flush, fence, unlock or complete. `oxmpi-rma` makes
//! the requests and waits for what an agent does alone; a wait that depends on other ranks is a [`Call::wait_for_agent`].

use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Win as Handle;
use oxmpi_abi::{Error, Result};
use oxmpi_base::wait::is_oversubscribed;
use oxmpi_core::agents::Agents;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::wait::window::Awaited;
use oxmpi_rma::far::link::Link;
use oxmpi_rma::far::origin::FarRank;
use oxmpi_rma::far::wire::{EXCLUSIVE, Kind, PATIENT, REFUSED, Registration, Request};

fn agents<'a>(guard: &'a mut Guard) -> Result<&'a mut Agents> {
    let lost = || Error::new(MPI_ERR_OTHER, "this process has no connection to agents of other nodes");
    guard.agents.as_mut().ok_or_else(lost)
}

/// The connection to the agent of a node.
pub fn link<'a>(guard: &'a mut Guard, node: u32) -> Result<&'a mut Link> {
    let may_spin = !guard.is_shared() && !is_oversubscribed(guard.shared().job());
    let link = agents(guard)?.link(node)?;
    link.may_spin = may_spin;
    Ok(link)
}

// ---- completion ----

/// Completes, here and there, everything that was sent to some nodes.
pub fn flush(guard: &mut Guard, nodes: &[u32]) -> Result<()> {
    let mut asked = Vec::new();
    for &node in nodes {
        if is_unfinished(guard, node)? {
            asked.push((node, link(guard, node)?.ask(Request::new(Kind::Flush, 0, 0), &[])?));
        }
    }
    await_all(guard, &asked)
}

/// Waits until all agents have acknowledged what they were asked. Every answer is taken, whether or not one is an error.
fn await_all(guard: &mut Guard, asked: &[(u32, u32)]) -> Result<()> {
    let mut result = Ok(());
    for &(node, tag) in asked {
        let link = link(guard, node)?;
        let answered = link.await_success(tag);
        link.set_clean();
        result = result.and(answered);
        wake_threads(guard, node)?;
    }
    result
}

/// Another thread of this process may sleep until its lock is granted, and this one has read the answer.
fn wake_threads(guard: &mut Guard, node: u32) -> Result<()> {
    if link(guard, node)?.has_answers() {
        guard.wake_siblings();
    }
    Ok(())
}

/// Waits until everything that was asked of some nodes has come, so that all local buffers can be used again.
pub fn flush_local(guard: &mut Guard, nodes: &[u32]) -> Result<()> {
    for &node in nodes {
        if is_unfinished(guard, node)? {
            let done = link(guard, node)?.await_data();
            wake_threads(guard, node)?;
            done?;
        }
    }
    Ok(())
}

/// Without a connection nothing was sent.
fn is_unfinished(guard: &mut Guard, node: u32) -> Result<bool> {
    Ok(agents(guard)?.known(node).is_some_and(|link| link.needs_flush()))
}

/// The node of a rank that is on another one, and of all such ranks for `None`.
pub fn nodes_of(guard: &Guard, win: Handle, rank: Option<i32>) -> Result<Vec<u32>> {
    let window = &guard.win(win)?.window;
    Ok(match rank {
        None if window.number().is_none() => Vec::new(),
        None => window.far_nodes(),
        Some(MPI_PROC_NULL) => Vec::new(),
        Some(rank) => window.far_rank(window.check_rank(rank)?).map(|there| there.node).into_iter().collect(),
    })
}

// ---- counters of fences, posts and completions ----

/// Tells ranks of other nodes that this one has exposed its memory to them, or completed its accesses.
pub fn notify(guard: &mut Guard, kind: Kind, there: &[FarRank]) -> Result<()> {
    for there in there {
        let request = Request { target: there.target, ..Request::new(kind, there.window, there.origin) };
        link(guard, there.node)?.tell(&request, &[])?;
    }
    Ok(())
}

/// Tells other nodes that this rank has reached a round of a fence.
pub fn tell_round(guard: &mut Guard, win: Handle, round: u32, goal: u64) -> Result<()> {
    let window = &guard.win(win)?.window;
    let Some(number) = window.number() else { return Ok(()) };
    let (nodes, origin) = (window.waiting_nodes(round), window.rank as u32);
    let request = Request { offset: goal, ..Request::new(Kind::Round, number, origin) };
    nodes.into_iter().try_for_each(|node| link(guard, node)?.tell(&request, &[]))
}

// ---- locks ----

/// Takes the lock of a rank of another node.
pub fn lock(call: &Call, guard: &mut Guard, win: Handle, there: FarRank, exclusive: bool) -> Result<()> {
    let flags = if exclusive { EXCLUSIVE } else { 0 };
    let request = Request { flags, target: there.target, ..Request::new(Kind::Lock, there.window, there.origin) };
    let tag = link(guard, there.node)?.ask(request, &[])?;
    let whom = Awaited::Holders(there.target as usize);
    match call.wait_for_agent(guard, win, (there.node, tag), whom)? {
        (MPI_SUCCESS, _) => Ok(()),
        (class, text) => Err(Error::new(class, text)),
    }
}

/// Completes everything that was sent to the node of a rank, and releases its lock if it was taken.
pub fn unlock(guard: &mut Guard, there: FarRank, taken: bool) -> Result<()> {
    if !taken {
        return flush(guard, &[there.node]);
    }
    let request = Request { target: there.target, ..Request::new(Kind::Unlock, there.window, there.origin) };
    let tag = link(guard, there.node)?.ask(request, &[])?;
    await_all(guard, &[(there.node, tag)])
}

/// Takes the locks of all ranks of a window. What is not free is waited for while nothing else is held: processes that
/// hold some locks and wait for others could deadlock.
pub fn lock_all(call: &Call, guard: &mut Guard, win: Handle) -> Result<()> {
    let window = &guard.win(win)?.window;
    let Some(number) = window.number() else { return call.take_near_locks(guard, win) };
    let (origin, nodes) = (window.rank as u32, window.far_nodes());
    // The node whose locks were not free the last time.
    let mut first = None;
    loop {
        let mut taken = Vec::new();
        let mut refused = None;
        for node in first.into_iter().chain(nodes.iter().copied().filter(|&node| Some(node) != first)) {
            let flags = if taken.is_empty() { PATIENT } else { 0 };
            let request = Request { flags, ..Request::new(Kind::LockAll, number, origin) };
            let tag = link(guard, node)?.ask(request, &[])?;
            match call.wait_for_agent(guard, win, (node, tag), Awaited::All)? {
                (MPI_SUCCESS, _) => taken.push(node),
                (REFUSED, _) => {
                    refused = Some(node);
                    break;
                }
                (class, text) => {
                    unlock_nodes(guard, number, origin, &taken)?;
                    return Err(Error::new(class, text));
                }
            }
        }
        if refused.is_none() {
            let window = &guard.win(win)?.window;
            if window.try_lock_all(guard.engine.node(), true).is_ok() {
                return Ok(());
            }
        }
        unlock_nodes(guard, number, origin, &taken)?;
        first = refused;
        if refused.is_none() {
            // A lock of this node was not free: waits for it with nothing held, and lets it go again.
            call.take_near_locks(guard, win)?;
            let window = &guard.win(win)?.window;
            if window.release_locks(window.size()) {
                window.wake_all(guard.engine.node());
            }
        }
    }
}

/// Completes everything that was sent to other nodes, and releases the locks of all ranks there.
pub fn unlock_all(guard: &mut Guard, win: Handle, taken: bool) -> Result<()> {
    let window = &guard.win(win)?.window;
    let Some(number) = window.number() else { return Ok(()) };
    let (origin, nodes) = (window.rank as u32, window.far_nodes());
    if taken { unlock_nodes(guard, number, origin, &nodes) } else { flush(guard, &nodes) }
}

fn unlock_nodes(guard: &mut Guard, number: u64, origin: u32, nodes: &[u32]) -> Result<()> {
    let mut asked = Vec::new();
    for &node in nodes {
        asked.push((node, link(guard, node)?.ask(Request::new(Kind::UnlockAll, number, origin), &[])?));
    }
    await_all(guard, &asked)
}

// ---- making and freeing ----

/// Whether the agent of this node can read a word of this process's memory.
pub fn can_be_reached(guard: &mut Guard, address: usize, value: u64) -> Result<bool> {
    let own = agents(guard)?.own_node();
    let request = Request { offset: address as u64, position: value, ..Request::new(Kind::Probe, 0, 0) };
    let link = link(guard, own)?;
    let tag = link.ask(request, &[])?;
    Ok(link.await_answer(tag)?.0 == MPI_SUCCESS)
}

/// Tells the agent of this node about this rank's part of a window.
pub fn register(guard: &mut Guard, number: u64, rank: usize, told: &Registration) -> Result<()> {
    let own = agents(guard)?.own_node();
    let link = link(guard, own)?;
    let tag = link.ask(Request::new(Kind::Register, number, rank as u32), &told.to_bytes())?;
    link.await_success(tag)
}

/// Takes it back.
pub fn unregister(guard: &mut Guard, number: u64, rank: usize) -> Result<()> {
    let own = agents(guard)?.own_node();
    let link = link(guard, own)?;
    let tag = link.ask(Request::new(Kind::Unregister, number, rank as u32), &[])?;
    link.await_success(tag)
}
