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
use oxmpi_rma::far::link::Link;
use oxmpi_rma::far::origin::{AgentId, FarRank, ServedBy};
use oxmpi_rma::far::wire::{EXCLUSIVE, Kind, PATIENT, REFUSED, Registration, Request};

fn agents<'a>(guard: &'a mut Guard) -> Result<&'a mut Agents> {
    let lost = || Error::new(MPI_ERR_OTHER, "this process has no connection to agents of other nodes");
    guard.agents.as_mut().ok_or_else(lost)
}

/// The connection to an agent.
pub fn link<'a>(guard: &'a mut Guard, agent: AgentId) -> Result<&'a mut Link> {
    let may_spin = may_spin(guard);
    let link = agents(guard)?.link(agent)?;
    link.may_spin = may_spin;
    Ok(link)
}

/// The connection to the agent of this node.
fn own_link<'a>(guard: &'a mut Guard) -> Result<&'a mut Link> {
    let may_spin = may_spin(guard);
    let link = agents(guard)?.own()?;
    link.may_spin = may_spin;
    Ok(link)
}

fn may_spin(guard: &Guard) -> bool {
    !guard.is_shared() && !is_oversubscribed(guard.shared().job())
}

// ---- completion ----

/// Completes, here and there, everything that was sent to some agents.
pub fn flush(guard: &mut Guard, agents: &[AgentId]) -> Result<()> {
    let mut asked = Vec::new();
    for &agent in agents {
        if is_unfinished(guard, agent)? {
            asked.push((agent, link(guard, agent)?.ask(Request::new(Kind::Flush, 0, 0), &[])?));
        }
    }
    await_all(guard, &asked)
}

/// As [`flush`], for all agents of a window.
#[cold]
pub fn flush_all(guard: &mut Guard, win: Handle) -> Result<()> {
    let agents = agents_of(guard, win, None)?;
    flush(guard, &agents)
}

/// Waits until all agents have acknowledged what they were asked. Every answer is taken, whether or not one is an error.
fn await_all(guard: &mut Guard, asked: &[(AgentId, u32)]) -> Result<()> {
    let mut result = Ok(());
    for &(agent, tag) in asked {
        let link = link(guard, agent)?;
        let answered = link.await_success(tag);
        link.set_clean();
        result = result.and(answered);
        wake_threads(guard, agent)?;
    }
    result
}

/// Another thread of this process may sleep until its lock is granted, and this one has read the answer.
fn wake_threads(guard: &mut Guard, agent: AgentId) -> Result<()> {
    if link(guard, agent)?.has_answers() {
        guard.wake_siblings();
    }
    Ok(())
}

/// Waits until everything that was asked of some agents has come, so that all local buffers can be used again.
pub fn flush_local(guard: &mut Guard, agents: &[AgentId]) -> Result<()> {
    for &agent in agents {
        if is_unfinished(guard, agent)? {
            let done = link(guard, agent)?.await_data();
            wake_threads(guard, agent)?;
            done?;
        }
    }
    Ok(())
}

/// Without a connection nothing was sent.
fn is_unfinished(guard: &mut Guard, agent: AgentId) -> Result<bool> {
    Ok(agents(guard)?.known(agent).is_some_and(|link| link.needs_flush()))
}

/// The agent of a rank that is on another node, and of all such ranks for `None`.
pub fn agents_of(guard: &Guard, win: Handle, rank: Option<i32>) -> Result<Vec<AgentId>> {
    let window = &guard.win(win)?.window;
    Ok(match rank {
        None => window.far_agents().iter().map(|by| by.agent).collect(),
        Some(MPI_PROC_NULL) => Vec::new(),
        Some(rank) => window.far_rank(window.check_rank(rank)?).map(|there| there.by.agent).into_iter().collect(),
    })
}

// ---- counters of fences, posts and completions ----

/// Tells ranks of other nodes that this one has exposed its memory to them, or completed its accesses.
pub fn notify(guard: &mut Guard, kind: Kind, there: &[FarRank]) -> Result<()> {
    for there in there {
        link(guard, there.by.agent)?.tell(&there.request(kind), &[])?;
    }
    Ok(())
}

/// Tells other nodes that this rank has reached a round of a fence.
#[cold]
pub fn tell_round(guard: &mut Guard, win: Handle, round: u32, goal: u64) -> Result<()> {
    let window = &guard.win(win)?.window;
    let (agents, origin) = (window.waiting_agents(round), window.rank as u32);
    agents.into_iter().try_for_each(|by| {
        let request = Request { offset: goal, ..by.request(Kind::Round, origin) };
        link(guard, by.agent)?.tell(&request, &[])
    })
}

// ---- locks ----

/// Takes the lock of a rank of another node.
pub fn lock(call: &Call, guard: &mut Guard, win: Handle, there: FarRank, exclusive: bool) -> Result<()> {
    let flags = if exclusive { EXCLUSIVE } else { 0 };
    let request = Request { flags, ..there.request(Kind::Lock) };
    let tag = link(guard, there.by.agent)?.ask(request, &[])?;
    match call.wait_for_agent(guard, win, (there.by.agent, tag), Some(there.target as usize))? {
        (MPI_SUCCESS, _) => Ok(()),
        (class, text) => Err(Error::new(class, text)),
    }
}

/// Completes everything that was sent to the node of a rank, and releases its lock.
#[cold]
pub fn unlock(guard: &mut Guard, rank: i32, win: Handle) -> Result<()> {
    let window = &guard.win(win)?.window;
    let Some(there) = window.far_rank(window.check_rank(rank)?) else { return Ok(()) };
    let tag = link(guard, there.by.agent)?.ask(there.request(Kind::Unlock), &[])?;
    await_all(guard, &[(there.by.agent, tag)])
}

/// Takes the locks of all ranks of a window. What is not free is waited for while nothing else is held: processes that
/// hold some locks and wait for others could deadlock.
pub fn lock_all(call: &Call, guard: &mut Guard, win: Handle) -> Result<()> {
    let window = &guard.win(win)?.window;
    let (origin, far) = (window.rank as u32, window.far_agents().to_vec());
    if far.is_empty() {
        return call.take_near_locks(guard, win);
    }
    // The agent whose locks were not free the last time.
    let mut first = None;
    loop {
        let mut taken = Vec::new();
        let mut refused = None;
        for by in first.into_iter().chain(far.iter().copied().filter(|&by| Some(by) != first)) {
            let flags = if taken.is_empty() { PATIENT } else { 0 };
            let request = Request { flags, ..by.request(Kind::LockAll, origin) };
            let tag = link(guard, by.agent)?.ask(request, &[])?;
            match call.wait_for_agent(guard, win, (by.agent, tag), None)? {
                (MPI_SUCCESS, _) => taken.push(by),
                (REFUSED, _) => {
                    refused = Some(by);
                    break;
                }
                (class, text) => {
                    unlock_agents(guard, origin, &taken)?;
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
        unlock_agents(guard, origin, &taken)?;
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
    let (origin, far) = (window.rank as u32, window.far_agents().to_vec());
    if taken { unlock_agents(guard, origin, &far) } else { flush_all(guard, win) }
}

fn unlock_agents(guard: &mut Guard, origin: u32, agents: &[ServedBy]) -> Result<()> {
    let mut asked = Vec::new();
    for by in agents {
        asked.push((by.agent, link(guard, by.agent)?.ask(by.request(Kind::UnlockAll, origin), &[])?));
    }
    await_all(guard, &asked)
}

// ---- making and freeing ----

/// Whether the agent of this node can read a word of this process's memory.
pub fn can_be_reached(guard: &mut Guard, address: usize, value: u64) -> Result<bool> {
    let request = Request { offset: address as u64, position: value, ..Request::new(Kind::Probe, 0, 0) };
    let link = own_link(guard)?;
    let tag = link.ask(request, &[])?;
    Ok(link.await_answer(tag)?.0 == MPI_SUCCESS)
}

/// Tells the agent of this node about this rank's part of a window.
pub fn register(guard: &mut Guard, number: u64, rank: usize, told: &Registration) -> Result<()> {
    let link = own_link(guard)?;
    let tag = link.ask(Request::new(Kind::Register, number, rank as u32), &told.to_bytes())?;
    link.await_success(tag)
}

/// Takes it back.
pub fn unregister(guard: &mut Guard, number: u64, rank: usize) -> Result<()> {
    let link = own_link(guard)?;
    let tag = link.ask(Request::new(Kind::Unregister, number, rank as u32), &[])?;
    link.await_success(tag)
}
