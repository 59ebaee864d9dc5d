//! Finds ranks that wait for each other for ever. Pure: records of ranks come in, ranks that are stuck and the reason come out.
//!
//! A rank is *resting* when it sleeps in MPI and the library can say exactly which ranks can end its wait. It is *gone* when
//! its process has ended or has finalized. All others are *free*: they may do anything. A rank is *stuck* when every rank that
//! could end its wait is stuck or gone ([`stuck`]).
//!
//! Records are read one after the other while ranks run, so what they say together need not have been true at any moment.
//! Therefore [`Judge`] asks all ranks that seem to be stuck, twice, and believes them only if all answer both times that since
//! the publication of their record they have only looked. Take a moment after the last answer to the first question and before
//! the second one is asked: at that moment all of them slept, and what they had sent before was there for all to see when they
//! looked for the second answer. So nothing that could end a wait is under way among them, and nobody else can end one. Time
//! is no part of the argument, nor is load.
//!
//! What goes over a network between hosts is not there for all to see. So the answers also count the frames that each
//! rank has sent to the others that are asked, and those that it has received from them. Let R be the sum of those received, in the
//! first answers, and S of those sent, in the second ones. Up to that moment at least R were received and at most S sent: if R is
//! S, nothing was on the network then, and what had come was looked at for the second answers.

#![forbid(unsafe_code)]

mod cause;
mod judge;
pub mod whereabouts;

pub use cause::{Cause, cause};
pub use judge::{Job, Judge};

/// What is known of a rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Its process has ended.
    Ended,
    /// It has called `MPI_Finalize`, and may open a session.
    Finalized,
    /// It may do anything.
    Free,
    Resting(Resting),
}

/// A rank that can do nothing before others act.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Resting {
    /// The number of its record.
    pub number: u64,
    /// The ranks that can end its wait: the first, and how many.
    pub needs: Vec<(u32, u32)>,
    /// A rank that has finalized can end it, too.
    pub ended_only: bool,
}

impl Resting {
    /// The ranks that can end the wait.
    pub fn ranks(&self, ranks: usize) -> impl Iterator<Item = usize> + '_ {
        self.needs.iter().flat_map(move |&range| clip(range, ranks))
    }
}

/// A range as indices: the words come from another process.
fn clip((first, count): (u32, u32), ranks: usize) -> std::ops::Range<usize> {
    let first = (first as usize).min(ranks);
    first..first.saturating_add(count as usize).min(ranks)
}

/// Ranges up to this length are searched rank by rank.
const SHORT: usize = 16;

/// The ranks that are stuck, in ascending order. The work grows with the number of ranks, not with its square.
pub fn stuck(states: &[State]) -> Vec<usize> {
    let ranks = states.len();
    // Whether a rank may act: it is free, or somebody who may act can end its wait.
    let mut may_act: Vec<bool> = states.iter().map(|state| matches!(state, State::Free)).collect();
    let mut waiters: Vec<Vec<usize>> = vec![Vec::new(); ranks];
    let mut wide: Vec<usize> = Vec::new();
    let mut news: Vec<usize> = (0..ranks).filter(|&rank| may_act[rank]).collect();
    for (rank, state) in states.iter().enumerate() {
        let State::Resting(resting) = state else { continue };
        for range in resting.needs.iter().map(|&range| clip(range, ranks)) {
            if range.len() > SHORT {
                wide.push(rank);
                break;
            }
            range.for_each(|other| waiters[other].push(rank));
        }
        let revives = |other: usize| resting.ended_only && states[other] == State::Finalized;
        if resting.ended_only && resting.ranks(ranks).any(revives) && !may_act[rank] {
            may_act[rank] = true;
            news.push(rank);
        }
    }
    loop {
        while let Some(rank) = news.pop() {
            for &waiter in &waiters[rank] {
                if !may_act[waiter] {
                    may_act[waiter] = true;
                    news.push(waiter);
                }
            }
        }
        // Of long ranges only the number of those who may act is looked at.
        let mut before = Vec::with_capacity(ranks + 1);
        before.push(0usize);
        for (rank, may) in may_act.iter().enumerate() {
            before.push(before[rank] + usize::from(*may));
        }
        wide.retain(|&rank| {
            let State::Resting(resting) = &states[rank] else { return false };
            let has_way_out = |range: std::ops::Range<usize>| before[range.end] > before[range.start];
            if !may_act[rank] && resting.needs.iter().map(|&range| clip(range, ranks)).any(has_way_out) {
                may_act[rank] = true;
                news.push(rank);
            }
            !may_act[rank]
        });
        if news.is_empty() {
            break;
        }
    }
    (0..ranks).filter(|&rank| matches!(states[rank], State::Resting(_)) && !may_act[rank]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn rests(needs: &[(u32, u32)]) -> State {
        State::Resting(Resting { number: 1, needs: needs.to_vec(), ended_only: false })
    }

    /// The definition, word by word.
    fn slowly(states: &[State]) -> Vec<usize> {
        let mut stuck: Vec<bool> = states.iter().map(|state| matches!(state, State::Resting(_))).collect();
        loop {
            let before = stuck.clone();
            for (rank, state) in states.iter().enumerate() {
                let State::Resting(resting) = state else { continue };
                let acts = |other: usize| match &states[other] {
                    State::Free => true,
                    State::Finalized => resting.ended_only,
                    State::Ended => false,
                    State::Resting(_) => !stuck[other],
                };
                if resting.ranks(states.len()).any(acts) {
                    stuck[rank] = false;
                }
            }
            if stuck == before {
                return (0..states.len()).filter(|&rank| stuck[rank]).collect();
            }
        }
    }

    #[test]
    fn examples() {
        use State::{Ended, Finalized, Free};
        assert_eq!(stuck(&[rests(&[(1, 1)]), rests(&[(0, 1)])]), [0, 1], "each waits for the other");
        assert_eq!(stuck(&[rests(&[(1, 1)]), rests(&[(2, 1)]), Free]), [], "the last may do anything");
        assert_eq!(stuck(&[rests(&[(1, 1)]), rests(&[(0, 1)]), Free]), [0, 1], "whatever the last does");
        assert_eq!(stuck(&[rests(&[(1, 2)]), rests(&[(0, 1)]), Free]), [], "the first waits for any of two");
        assert_eq!(stuck(&[rests(&[(1, 1)]), Finalized, Ended]), [0]);
        assert_eq!(stuck(&[rests(&[])]), [0], "it waits for itself");
        let later = State::Resting(Resting { needs: vec![(1, 1)], ended_only: true, ..Resting::default() });
        assert_eq!(stuck(&[later.clone(), Finalized]), [], "it may open a session");
        assert_eq!(stuck(&[later, Ended]), [0]);
        assert_eq!(stuck(&[rests(&[(7, 9), (u32::MAX, u32::MAX)])]), [0], "ranks that do not exist do nothing");
    }

    #[test]
    fn random_states_agree_with_the_definition() {
        let mut seed = 1u64;
        let mut next = |below: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % below
        };
        for _ in 0..20_000 {
            let ranks = 1 + next(40);
            let mut state = |_| match next(12) {
                0 => State::Free,
                1 => State::Finalized,
                2 => State::Ended,
                _ => {
                    let needs = (0..next(3)).map(|_| {
                        let most = if next(4) == 0 { 30 } else { 2 };
                        (next(ranks) as u32, 1 + next(most) as u32)
                    });
                    State::Resting(Resting { number: 1, needs: needs.collect(), ended_only: false })
                }
            };
            let states: Vec<State> = (0..ranks).map(&mut state).collect();
            assert_eq!(stuck(&states), slowly(&states), "{states:?}");
        }
    }

    #[test]
    fn ten_thousand_ranks_take_no_time() {
        const RANKS: usize = 10_000;
        let circle: Vec<State> = (0..RANKS).map(|rank| rests(&[((rank as u32 + 1) % RANKS as u32, 1)])).collect();
        let all: Vec<State> = (0..RANKS).map(|_| rests(&[(0, RANKS as u32)])).collect();
        let mut chain = circle.clone();
        chain[RANKS - 1] = State::Free;
        let start = std::time::Instant::now();
        assert_eq!(stuck(&circle).len(), RANKS);
        assert_eq!(stuck(&all).len(), RANKS);
        assert_eq!(stuck(&chain).len(), 0);
        // Without optimisation, beside other tests: far from the seconds that a square would take.
        assert!(start.elapsed().as_secs() < 2);
    }
}
