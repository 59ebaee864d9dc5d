//! Deadlocks, as an agent helps to find them: it tells `mpirun` which ranks of its host can do nothing before others act, and asks
//! them when `mpirun` does.

use std::time::{Duration, Instant};

use oxmpi_agent::message::{RankAnswer, RankRest, RestState, Up};
use oxmpi_base::rest_record::Answer;
use oxmpi_verdict::State;

use super::{Agent, Phase};
use crate::watch::Watch;

/// Between two looks at the records of the ranks.
const LOOK: Duration = Duration::from_millis(200);
/// Between two looks for answers.
const ANSWERS: Duration = Duration::from_millis(2);
/// `mpirun` does not wait for answers that come later.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was told and asked.
pub(super) struct Rests {
    next: Instant,
    told: Vec<RankRest>,
    asked: Option<Asked>,
}

/// Ranks of this host that are asked.
struct Asked {
    question: u64,
    /// By their numbers here.
    ranks: Vec<usize>,
    until: Instant,
}

impl Rests {
    pub fn new(now: Instant) -> Rests {
        Rests { next: now, told: Vec::new(), asked: None }
    }

    pub fn deadline(&self) -> Instant {
        self.next
    }
}

impl Agent {
    /// Tells what has changed, and collects answers.
    pub(super) fn look_at_rests(&mut self, now: Instant) {
        let Phase::Running(watch, _) = &self.phase else { return };
        if now < self.rests.next {
            return;
        }
        self.rests.next = now + LOOK;
        if let Some(asked) = &self.rests.asked {
            let answer = |&rank: &usize| {
                let Answer { number, sent, received } = watch.ranks.answer(rank, asked.question)?;
                Some(RankAnswer { rank: watch.number_of(rank) as u32, number, sent, received })
            };
            let answers: Option<Vec<RankAnswer>> = asked.ranks.iter().map(answer).collect();
            let question = asked.question;
            match answers {
                Some(answers) => {
                    self.rests.asked = None;
                    self.tell(&Up::Answers { question, answers });
                }
                None if asked.until < now => self.rests.asked = None,
                None => self.rests.next = now + ANSWERS,
            }
        }
        let Phase::Running(watch, _) = &self.phase else { return };
        let rests = rests(watch);
        if rests != self.rests.told {
            self.tell(&Up::Rest(rests.clone()));
            self.rests.told = rests;
        }
    }

    /// `mpirun` asks ranks, some of which are here.
    pub(super) fn ask(&mut self, question: u64, ranges: &[(u32, u32)], now: Instant) {
        let Phase::Running(watch, _) = &self.phase else { return };
        let is_meant = |rank: usize| {
            let number = watch.number_of(rank) as u32;
            ranges.iter().any(|&(first, count)| number >= first && number - first < count)
        };
        let ranks: Vec<usize> = (0..watch.ranks.list.len()).filter(|&rank| is_meant(rank)).collect();
        if ranks.is_empty() {
            return;
        }
        watch.ranks.set_suspects(ranges);
        ranks.iter().for_each(|&rank| watch.ranks.ask(rank, question));
        self.rests.asked = Some(Asked { question, ranks, until: now + PATIENCE });
        self.rests.next = now + ANSWERS;
    }
}

/// The ranks of this host that may not act.
fn rests(watch: &Watch) -> Vec<RankRest> {
    let state = |state: State| match state {
        State::Free => None,
        State::Ended => Some(RestState::Ended),
        State::Finalized => Some(RestState::Finalized),
        State::Resting(resting) => {
            Some(RestState::Resting { number: resting.number, needs: resting.needs, ended_only: resting.ended_only })
        }
    };
    let states = watch.rest_states().into_iter().enumerate();
    states
        .filter_map(|(rank, found)| Some(RankRest { rank: watch.number_of(rank) as u32, state: state(found)? }))
        .collect()
}
