//! Deadlocks of a job on several hosts: what the agents say of their ranks, for the judge, and the report.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use oxmpi_agent::frame::EVERY_NODE;
use oxmpi_agent::message::{Down, RankAnswer, RankPlace, RankRest, RestState, Stop};
use oxmpi_base::rest_record::Answer;
use oxmpi_verdict::{Job, Resting, State};

use super::Root;
use super::ending::{LAST_ANSWERS, Verdict};
use crate::deadlock::{Deadlocks, Facts, Found, Look};
use crate::deadlock_mode::Mode;
use crate::report::printable;

/// What is known of the ranks of all hosts.
pub(super) struct HostRests {
    deadlocks: Deadlocks,
    known: Known,
    /// Ranks that are stuck, and what was known of all; until then the agents may say where they are.
    found: Option<(Vec<usize>, Vec<State>, Instant)>,
}

/// What the judge sees.
struct Known {
    states: Vec<State>,
    /// The last question that a rank has answered, and its answer.
    answers: HashMap<usize, (u64, Answer)>,
    /// A question to the agents that was not sent.
    asks: RefCell<Option<(u64, Vec<usize>)>>,
}

impl HostRests {
    pub fn new(mode: Mode, ranks: usize, now: Instant) -> HostRests {
        let known = Known { states: vec![State::Free; ranks], answers: HashMap::new(), asks: RefCell::new(None) };
        HostRests { deadlocks: Deadlocks::new(mode, now), known, found: None }
    }

    /// A rank has died, and the others go on.
    pub(super) fn forget(&mut self) {
        self.deadlocks.forget();
    }

    /// The ranks of a node that may not act; all other ranks of it may do anything.
    pub fn set(&mut self, ranks: &[u32], rests: Vec<RankRest>) {
        let states = &mut self.known.states;
        for &rank in ranks {
            if let Some(state) = states.get_mut(rank as usize) {
                *state = State::Free;
            }
        }
        let mut set = |RankRest { rank, state }| {
            // An agent speaks of its own ranks only.
            if ranks.contains(&rank)
                && let Some(known) = states.get_mut(rank as usize)
            {
                *known = match state {
                    RestState::Ended => State::Ended,
                    RestState::Finalized => State::Finalized,
                    RestState::Resting { number, needs, ended_only } => {
                        State::Resting(Resting { number, needs, ended_only })
                    }
                };
            }
        };
        rests.into_iter().for_each(&mut set);
    }

    pub fn answered(&mut self, ranks: &[u32], question: u64, answers: &[RankAnswer]) {
        for &RankAnswer { rank, number, sent, received } in answers.iter().filter(|answer| ranks.contains(&answer.rank))
        {
            self.known.answers.insert(rank as usize, (question, Answer { number, sent, received }));
        }
    }

    pub fn deadline(&self) -> Option<Instant> {
        match &self.found {
            Some((.., until)) => Some(*until),
            None => self.deadlocks.deadline(),
        }
    }
}

impl Job for Known {
    fn has_records(&self) -> bool {
        self.states.iter().any(|state| matches!(state, State::Resting(_)))
    }

    fn states(&self) -> Vec<State> {
        self.states.clone()
    }

    fn ask(&self, ranks: &[usize], question: u64) {
        *self.asks.borrow_mut() = Some((question, ranks.to_vec()));
    }

    fn answer(&self, rank: usize, question: u64) -> Option<Answer> {
        let (answered, answer) = self.answers.get(&rank)?;
        (*answered == question).then_some(*answer)
    }
}

impl Root<'_> {
    /// Looks for a deadlock; tells it when the agents have said where the ranks are.
    pub(super) fn look_for_deadlock(&mut self, now: Instant) {
        if self.verdict.is_some() || self.stopped_at.is_some() || self.live() == 0 {
            return;
        }
        if let Some((stuck, _, until)) = &self.rests.found {
            // Of two that ask where the ranks are, one waits.
            let is_known = |rank: &usize| self.places.iter().any(|place| place.rank as usize == *rank);
            if self.shows_places.is_some() || now < *until && !stuck.iter().all(is_known) {
                return;
            }
            let Some((stuck, states, _)) = self.rests.found.take() else { return };
            let facts = self.facts(stuck, states);
            self.places.clear();
            let found = self.rests.deadlocks.report(facts);
            return self.tell_deadlock(found);
        }
        let look = self.rests.deadlocks.look(&self.rests.known, now);
        if let Some((question, ranks)) = self.rests.known.asks.take() {
            let _ = self.branches.send(EVERY_NODE, &Down::Ask { question, ranks: ranges(&ranks) });
        }
        match look {
            None => {}
            Some(Look::NobodyElse(found)) => self.tell_deadlock(found),
            Some(Look::Stuck(stuck, states)) => {
                self.rests.found = Some((stuck, states, now + LAST_ANSWERS));
                if self.shows_places.is_none() {
                    self.places.clear();
                    let _ = self.branches.send(EVERY_NODE, &Down::Where);
                }
            }
        }
    }

    fn tell_deadlock(&mut self, Found { text, ends, sends }: Found) {
        self.findings.add_sends(sends, Instant::now());
        match ends {
            true => self.fail(Verdict::Deadlock(text), Stop::Failure),
            false => self.say(&text),
        }
    }

    fn facts(&self, stuck: Vec<usize>, states: Vec<State>) -> Facts {
        let mut told: Vec<&RankPlace> =
            self.places.iter().filter(|place| stuck.binary_search(&(place.rank as usize)).is_ok()).collect();
        told.sort_by_key(|place| place.rank);
        told.dedup_by_key(|place| place.rank);
        let hint = told.iter().find_map(|place| Some((place.rank as usize, printable(place.hint.as_deref()?))));
        Facts {
            places: told.iter().map(|place| super::ending::place(place)).collect(),
            hint,
            since: told.iter().filter_map(|place| place.rests).max().map(Duration::from_millis),
            is_traced: told.iter().any(|place| place.is_traced),
            stuck,
            states,
        }
    }
}

/// Ranks in ascending order, as ranges.
fn ranges(ranks: &[usize]) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match ranges.last_mut() {
            Some((first, count)) if (*first + *count) as usize == rank => *count += 1,
            _ => ranges.push((rank as u32, 1)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_become_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), [(0, 3), (5, 1), (7, 2)]);
        assert_eq!(ranges(&[]), []);
    }

    #[test]
    fn an_agent_speaks_of_its_own_ranks() {
        let mut rests = HostRests::new(Mode::End, 4, Instant::now());
        let ended = |rank| RankRest { rank, state: RestState::Ended };
        rests.set(&[1, 2], vec![ended(1), ended(3), ended(9)]);
        assert_eq!(rests.known.states, [State::Free, State::Ended, State::Free, State::Free]);
        rests.set(&[1, 2], vec![ended(2)]);
        assert_eq!(rests.known.states, [State::Free, State::Free, State::Ended, State::Free]);
        let answer = |rank| RankAnswer { rank, number: 3, sent: 1, received: 2 };
        rests.answered(&[1, 2], 7, &[answer(1), answer(3)]);
        assert_eq!(rests.known.answer(1, 7), Some(Answer { number: 3, sent: 1, received: 2 }));
        assert_eq!((rests.known.answer(1, 6), rests.known.answer(3, 7)), (None, None));
    }
}
