//! Waiting for accesses and synchronisation of other ranks on a window.

use super::Waiting;
use super::needs::Needs;
use crate::call::{Call, Guard};
use crate::process::Process;
use oxmpi_abi::constants::MPI_ERR_OTHER;
use oxmpi_abi::handle::Win;
use oxmpi_abi::{Error, Result};
use oxmpi_base::wait;
use oxmpi_rma::Window;
use oxmpi_rma::far::origin::AgentId;
use std::cell::Cell;

/// Polls of a peer's word before the general wait. Few where another rank may need this CPU, or
/// another thread the lock.
fn first_polls(guard: &Guard) -> usize {
    if guard.is_shared() || wait::is_oversubscribed(guard.shared().job()) { 4 } else { 2000 }
}

/// How often a reader lets waiting writers go first: not for ever, since another holder may wait
/// for it.
const POLITE_POLLS: u32 = 1000;

/// Counts a poll of a reader; whether it lets writers go first.
fn is_polite(polls: &Cell<u32>) -> bool {
    polls.set(polls.get().saturating_add(1));
    polls.get() < POLITE_POLLS
}

/// The ranks of a window that a call waits for.
#[derive(Clone, Copy)]
pub enum Awaited {
    /// All of them.
    All,
    /// Those whose arrival at a round of a fence this rank waits for.
    Round(u32, u64),
    /// Those that the epoch of `MPI_Win_start` accesses, and that have not exposed their memory.
    Targets,
    /// Those that `MPI_Win_post` has exposed this rank's memory to, and that have not completed.
    Origins,
    /// The holders of a rank's lock.
    Holders(usize),
    /// The holders of locks of another node, that its agent was asked for with a request of this tag. Of one rank, if it is
    /// given.
    Far(AgentId, u32, Option<usize>),
}

/// A wait for ranks of a window.
struct WindowWait<'a> {
    win: Win,
    whom: Awaited,
    /// How often a reader has let waiting writers go first.
    polls: Option<&'a Cell<u32>>,
}

impl WindowWait<'_> {
    /// Why the wait is in vain, because a rank that it waits for has died.
    fn dead(&self, state: &Process) -> Option<Error> {
        let win = state.win(self.win).ok()?;
        if let Err(error) = state.check_window(self.win) {
            return Some(error);
        }
        let node = state.engine.node();
        let has_died = |rank: &usize| node.has_died(win.window.process_of(*rank));
        let dead = match self.whom {
            // The agent there looks for holders that have died.
            Awaited::Far(.., rank) if node.goes_on() => rank.filter(has_died),
            // Who holds a lock elsewhere may be known too late to judge by it.
            Awaited::All | Awaited::Round(..) | Awaited::Far(..) => (0..win.window.size()).find(has_died),
            Awaited::Targets => win.window.unexposed_targets().find(has_died),
            Awaited::Origins => win.window.incomplete_origins().find(has_died),
            Awaited::Holders(rank) if node.goes_on() => {
                let take = |dead: &usize| win.window.control.take_from_dead(rank, *dead).is_err();
                (0..win.window.size()).filter(has_died).find(take)
            }
            Awaited::Holders(rank) => match win.window.control.lock(rank).owner() {
                Some(owner) => Some(owner).filter(has_died),
                // The readers are unknown.
                None => (0..win.window.size()).find(has_died),
            },
        };
        dead.map(|rank| win.died(node, rank))
    }
}

impl Waiting for WindowWait<'_> {
    fn describe(&self, state: &Process) -> String {
        let Ok(win) = state.win(self.win) else { return String::new() };
        let ranks = |ranks: &mut dyn Iterator<Item = usize>| match ranks.next() {
            Some(rank) => format!("for rank {rank}, "),
            None => String::new(),
        };
        let whom = match self.whom {
            Awaited::All => String::new(),
            Awaited::Round(round, goal) => ranks(&mut win.window.missing(round, goal)),
            Awaited::Targets => ranks(&mut win.window.unexposed_targets()),
            Awaited::Origins => ranks(&mut win.window.incomplete_origins()),
            Awaited::Holders(rank) => lock_of(rank, win.window.control.lock(rank).owner()),
            Awaited::Far(agent, tag, rank) => {
                let held = state.agents.as_ref().and_then(|agents| agents.held(agent, tag));
                match (held, rank) {
                    (Some(held), _) => lock_of(held.rank as usize, held.owner.map(|owner| owner as usize)),
                    (None, Some(rank)) => lock_of(rank, None),
                    (None, None) => String::new(),
                }
            }
        };
        format!("{whom}on {}", win.describe())
    }

    fn failed(&self, state: &mut Process) -> Option<Error> {
        let win = state.win(self.win).ok()?;
        if let Some(error) = self.dead(state) {
            return Some(error);
        }
        let is_gone = |rank: &usize| state.gone.contains(win.window.process_of(*rank));
        let gone = match self.whom {
            // A rank that has left the window may have finalized.
            Awaited::All | Awaited::Far(..) => None,
            Awaited::Round(round, goal) => win.window.missing(round, goal).find(is_gone),
            Awaited::Targets => win.window.unexposed_targets().find(is_gone),
            Awaited::Origins => win.window.incomplete_origins().find(is_gone),
            Awaited::Holders(rank) => win.window.control.lock(rank).owner().filter(is_gone),
        };
        gone.map(|rank| win.absent(rank))
    }

    fn lost(&self, state: &mut Process) -> Option<Error> {
        self.dead(state)
    }

    fn needs(&self, state: &Process, needs: &mut Needs) {
        let Ok(win) = state.win(self.win) else { return needs.unknown() };
        let window = &win.window;
        let process = |rank: usize| window.process_of(rank);
        // A reader that is polite no more may take the lock by itself.
        if self.polls.is_some_and(|polls| polls.replace(POLITE_POLLS) < POLITE_POLLS) {
            needs.unknown();
        }
        match self.whom {
            Awaited::Round(round, goal) => needs.peers(window.missing(round, goal).map(process)),
            Awaited::Targets => needs.peers(window.unexposed_targets().map(process)),
            Awaited::Origins => needs.peers(window.incomplete_origins().map(process)),
            // Who reads is not known, and a rank that waits for the lock may come first.
            Awaited::All | Awaited::Holders(_) => needs.peers((0..window.size()).map(process)),
            // The request may wait at the agent.
            Awaited::Far(..) => needs.unknown(),
        }
        // Agents of other nodes change the words that this one waits for.
        if (0..window.size()).any(|rank| process(rank).slot().is_none()) {
            needs.unknown();
        }
    }
}

fn lock_of(rank: usize, owner: Option<usize>) -> String {
    match owner {
        Some(owner) => format!("for the lock of rank {rank}, which rank {owner} holds, "),
        None => format!("for the lock of rank {rank}, "),
    }
}

impl Call<'_> {
    /// Waits for a condition of a window: in a tight loop for a moment, then like every call. A
    /// window that another thread has freed in the meantime is not waited for.
    pub fn wait_window(
        &self,
        guard: &mut Guard,
        win: Win,
        whom: Awaited,
        ready: impl FnMut(&mut Window) -> bool,
    ) -> Result<()> {
        self.wait_politely(guard, win, whom, None, ready)
    }

    fn wait_politely(
        &self,
        guard: &mut Guard,
        win: Win,
        whom: Awaited,
        polls: Option<&Cell<u32>>,
        mut ready: impl FnMut(&mut Window) -> bool,
    ) -> Result<()> {
        let first = first_polls(guard);
        if let Ok((window, node)) = guard.win_and_node(win) {
            for _ in 0..first {
                if ready(window) {
                    return Ok(());
                }
                window.serve(Some(node));
                std::hint::spin_loop();
            }
        }
        self.wait(guard, &WindowWait { win, whom, polls }, |process| match process.win_mut(win) {
            Ok(found) => ready(&mut found.window).then_some(()),
            Err(_) => Some(()),
        })
    }

    /// Waits for the lock of a rank's memory, which is held by another rank.
    pub fn wait_for_lock(&self, guard: &mut Guard, win: Win, rank: usize, exclusive: bool) -> Result<()> {
        guard.win(win)?.window.control.lock(rank).begin_waiting(exclusive);
        let polls = Cell::new(0);
        let taken = self.wait_politely(guard, win, Awaited::Holders(rank), Some(&polls), |window| {
            window.control.try_take(rank, window.rank, exclusive, is_polite(&polls))
        });
        guard.win(win)?.window.control.lock(rank).end_waiting(exclusive);
        taken
    }

    /// Takes the locks of all ranks of this node, shared. Waits for any lock that is not free, holding none.
    pub fn take_near_locks(&self, guard: &mut Guard, win: Win) -> Result<()> {
        let polls = Cell::new(0);
        loop {
            let window = &guard.win(win)?.window;
            let Err(rank) = window.try_lock_all(guard.engine.node(), polls.get() < POLITE_POLLS) else { return Ok(()) };
            guard.win(win)?.window.control.lock(rank).begin_waiting(false);
            let free = self.wait_politely(guard, win, Awaited::Holders(rank), Some(&polls), |window| {
                window.control.lock(rank).is_free_to_read(is_polite(&polls))
            });
            guard.win(win)?.window.control.lock(rank).end_waiting(false);
            free?;
        }
    }

    /// Waits for the answer of an agent that may take long, since it depends on other ranks: for the lock of a rank, or of all
    /// of its ranks. Returns an error
    /// class, or what the answer says instead.
    pub fn wait_for_agent(
        &self,
        guard: &mut Guard,
        win: Win,
        (agent, tag): (AgentId, u32),
        rank: Option<usize>,
    ) -> Result<(i32, String)> {
        let waiting = WindowWait { win, whom: Awaited::Far(agent, tag, rank), polls: None };
        let Some(link) = guard.agents.as_mut().and_then(|agents| agents.known(agent)) else {
            return Err(Error::new(MPI_ERR_OTHER, "there is no connection to the agent of a lock"));
        };
        // A moment of polling, as for a lock of this node.
        let polls = if link.may_spin { POLITE_POLLS } else { 4 };
        for _ in 0..polls {
            if let Some(answer) = link.take_answer(tag)? {
                return Ok(answer);
            }
            std::hint::spin_loop();
        }
        guard.watch_agent(agent, true);
        let answer = self.wait(guard, &waiting, |process| {
            let link = process.agents.as_mut().and_then(|agents| agents.known(agent))?;
            link.take_answer(tag).transpose()
        });
        guard.watch_agent(agent, false);
        answer?
    }
}

impl Guard<'_> {
    /// A sleep ends from now on, or does not any more, when the agent of a node answers.
    fn watch_agent(&mut self, agent: AgentId, watch: bool) {
        let process: &mut Process = self;
        let Some(link) = process.agents.as_mut().and_then(|agents| agents.known(agent)) else { return };
        if link.count_watcher(watch) {
            // Where it cannot be watched, the wait goes on after the longest sleep.
            let _ = process.engine.watch(link.descriptor(), watch);
        }
    }

    /// A program tested in vain whether ranks of a window have done something; an error when they
    /// never will.
    pub fn asked_window_in_vain(&mut self, win: Win, whom: Awaited) -> Result<()> {
        self.polled_in_vain();
        self.yield_cpu();
        WindowWait { win, whom, polls: None }.failed(self).map_or(Ok(()), Err)
    }
}
