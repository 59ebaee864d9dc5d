//! A rank that can do nothing before certain others act says so (`oxmpi_base::rest_record`), so that `mpirun` can find ranks
//! that wait for each other for ever. The rank is then *resting*.
//!
//! A record is published when a wait has been in vain for a while, after everything that has arrived was taken and the checks
//! of `look` have found no error. It is withdrawn as soon as anything moves. `mpirun` asks twice; each time the rank looks
//! again, and answers if since the record was published it has only looked. What it looks at is complete: see
//! [`Needs`].

use super::needs::Needs;
use super::{Looks, Waiting};
use crate::call::{Call, Guard};
use crate::resting::Published;
use crate::settings;
use oxmpi_abi::functions::Fun;
use oxmpi_base::bystanders;
use oxmpi_base::ids::{Peer, WorldRank};
use oxmpi_base::rest_record::{Answer, Rest, UNCERTAIN};
use std::sync::atomic::Ordering::Relaxed;

/// Turns of progress before a rank that finds more in each of them is not said to rest.
const TURNS: usize = 1000;

impl Call<'_> {
    /// Takes everything that has arrived, until nothing moves any more; whether something has moved.
    #[cold]
    pub(super) fn look_to_the_end(&self, guard: &mut Guard) -> bool {
        for turn in 0..TURNS {
            guard.engine.drain_all();
            if !self.progress(guard) {
                return turn > 0;
            }
        }
        true
    }

    /// After a look in vain: publishes a record, or answers the question of `mpirun` if one is up.
    #[cold]
    pub(super) fn rest(&self, guard: &mut Guard, what: &dyn Waiting, looks: &mut Looks) {
        let found = self.needs_of(guard, what, looks);
        let (Some((ranges, threads)), activity) = (found, guard.engine.activity()) else {
            return withdraw(guard);
        };
        // Another thread may have withdrawn it.
        let known = guard.published.as_ref().filter(|known| known.rest.number == looks.record);
        if let Some(known) = known {
            if known.rest.ranges != ranges || known.activity != activity || known.threads != threads {
                return withdraw(guard);
            }
            if let Some(question) = looks.question {
                guard.engine.node().rest_record().answer(question, self.answer(guard, &known.rest));
            }
            return;
        }
        // Another thread waits, too.
        if guard.published.is_some() {
            return withdraw(guard);
        }
        guard.rests += 1;
        looks.record = guard.rests;
        let ended_only = self.may_meet_finalized(guard);
        let rest = Rest { number: guard.rests, since: looks.since, ranges, ended_only };
        guard.engine.node().rest_record().publish(&rest);
        guard.shared().job().resting.fetch_add(1, Relaxed);
        guard.published = Some(Published { rest, activity, threads });
    }

    /// The answer to a question that goes to all ranks that seem to be stuck. A message of one of them on a network shows in
    /// the sums of their frames. One of a rank of another node that is not asked, because it has finalized, may still come
    /// until this rank has heard its farewell.
    fn answer(&self, guard: &Guard, rest: &Rest) -> Answer {
        let node = guard.engine.node();
        let nodes = node.nodes();
        let is_suspect = |peer: Peer| nodes.rank_of(peer).is_some_and(|rank| node.is_suspect(rank.index()));
        let needed = rest.ranges.iter().flat_map(|&(first, count)| first..first + count);
        let mut peers = needed.filter_map(|rank| Some(nodes.peer(WorldRank::new(rank as usize)?)));
        let may_come = |peer: Peer| peer.is_far() && !is_suspect(peer) && !guard.engine.has_finalized(peer);
        let number = if peers.any(may_come) { UNCERTAIN } else { rest.number };
        let (sent, received) = guard.engine.frames_with(is_suspect);
        Answer { number, sent, received }
    }

    /// The ranks that can end the wait, and a number for the other threads; `None` if something else may end it,
    /// or it is not known what.
    fn needs_of(&self, guard: &Guard, what: &dyn Waiting, looks: &Looks) -> Option<(Vec<(u32, u32)>, u64)> {
        // A difference between calls is found when each of the background operations has had its turn twice.
        let has_compared = looks.count > 2 * guard.runs().len();
        if !settings::DEADLOCK.is_on() || !has_compared || self.library().observer().is_some() {
            return None;
        }
        // The helper thread may still be about to do something.
        if !self.library().helper.is_parked() {
            return None;
        }
        if !guard.engine.is_quiet() || guard.engine.awaits_verdict() {
            return None;
        }
        let mut needs = Needs::default();
        what.needs(guard, &mut needs);
        guard.background_needs(&mut needs);
        let nodes = guard.engine.node().nodes();
        // Between pretended nodes, whose ranks share memory, and over a fabric nobody counts the messages.
        let is_reached = |peer: Peer| !peer.is_far() || guard.engine.counts_frames_with(peer);
        let rank_of = |peer: Peer| Some(nodes.rank_of(peer).filter(|_| is_reached(peer))?.index() as u32);
        let ranges = needs.ranges(nodes.own().index() as u32, rank_of)?;
        if bystanders::has_timer() {
            return None;
        }
        let threads = if self.library().is_threaded() { bystanders::other_threads()? } else { 0 };
        Some((ranges, threads))
    }

    /// Whether a process that has finalized may still take part: it can open a session and make a communicator from a group.
    fn may_meet_finalized(&self, guard: &Guard) -> bool {
        matches!(self.fun, Fun::CommCreateFromGroup | Fun::IntercommCreateFromGroups)
            || guard.comms.made.iter().any(|(_, comm)| comm.from_group)
    }
}

/// The question of `mpirun` to a resting rank that it has not answered.
pub(super) fn question(guard: &Guard) -> Option<u64> {
    guard.published.as_ref().and_then(|_| guard.engine.node().rest_record().question())
}

/// The rank does something, or the wait is over.
#[cold]
pub(super) fn withdraw(guard: &mut Guard) {
    if guard.published.take().is_some() {
        guard.engine.node().rest_record().withdraw();
        guard.shared().job().resting.fetch_sub(1, Relaxed);
    }
}
