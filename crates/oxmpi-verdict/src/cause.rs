//! Why ranks are stuck.

use crate::State;
use std::collections::VecDeque;

/// Why ranks are stuck, the most telling reason of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A rank waits for others, all of which have finalized or ended: the rank, the first of them, and whether it has ended.
    Gone(usize, usize, bool),
    /// A rank waits for something that only it could do.
    Itself(usize),
    /// Each of these ranks waits for the next one, and the last for the first.
    Cycle(Vec<usize>),
}

/// Ranks from which a cycle is searched, and ranks that a search visits: a report needs one short cycle, not the shortest.
const STARTS: usize = 64;
const VISITS: usize = 20_000;

/// Why ranks are stuck, of which there is at least one.
pub fn cause(states: &[State], stuck: &[usize]) -> Option<Cause> {
    let needs = |rank: usize| match &states[rank] {
        State::Resting(resting) => Some(resting),
        _ => None,
    };
    for &rank in stuck {
        let Some(resting) = needs(rank) else { continue };
        let mut gone = None;
        let mut is_any = false;
        for other in resting.ranks(states.len()) {
            is_any = true;
            match &states[other] {
                State::Ended => gone = gone.or(Some((other, true))),
                State::Finalized => gone = gone.or(Some((other, false))),
                _ => {
                    gone = None;
                    break;
                }
            }
        }
        match gone {
            Some((other, ended)) => return Some(Cause::Gone(rank, other, ended)),
            None if !is_any => return Some(Cause::Itself(rank)),
            None => {}
        }
    }
    let mut is_stuck = vec![false; states.len()];
    stuck.iter().for_each(|&rank| is_stuck[rank] = true);
    let cycles = stuck.iter().take(STARTS).filter_map(|&start| cycle(states, &is_stuck, start));
    cycles.min_by_key(Vec::len).map(Cause::Cycle)
}

/// The shortest cycle of stuck ranks through one of them.
fn cycle(states: &[State], is_stuck: &[bool], start: usize) -> Option<Vec<usize>> {
    let mut from: Vec<Option<usize>> = vec![None; states.len()];
    let mut queue = VecDeque::from([start]);
    let mut visits = 0;
    while let Some(rank) = queue.pop_front() {
        let State::Resting(resting) = &states[rank] else { continue };
        for other in resting.ranks(states.len()) {
            if other == start {
                let mut cycle = vec![rank];
                while let Some(before) = from[*cycle.last()?].filter(|_| *cycle.last().unwrap_or(&start) != start) {
                    cycle.push(before);
                }
                cycle.reverse();
                return Some(cycle);
            }
            visits += 1;
            if visits > VISITS {
                return None;
            }
            if is_stuck[other] && from[other].is_none() {
                from[other] = Some(rank);
                queue.push_back(other);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::rests;

    fn of(states: &[State]) -> Option<Cause> {
        cause(states, &crate::stuck(states))
    }

    #[test]
    fn the_most_telling_reason() {
        let two = [rests(&[(1, 1)]), rests(&[(0, 1)])];
        assert_eq!(of(&two), Some(Cause::Cycle(vec![0, 1])));
        assert_eq!(of(&[rests(&[(1, 1)]), State::Finalized]), Some(Cause::Gone(0, 1, false)));
        assert_eq!(of(&[rests(&[(1, 2)]), State::Finalized, State::Ended]), Some(Cause::Gone(0, 1, false)));
        assert_eq!(of(&[rests(&[])]), Some(Cause::Itself(0)));
        let three = [rests(&[(1, 1)]), rests(&[(2, 1)]), rests(&[(0, 1)]), rests(&[(0, 1)])];
        assert_eq!(of(&three), Some(Cause::Cycle(vec![0, 1, 2])));
        // The first waits only for the two that wait for each other.
        let knot = [rests(&[(1, 2)]), rests(&[(2, 1)]), rests(&[(1, 1)])];
        assert_eq!(of(&knot), Some(Cause::Cycle(vec![1, 2])));
    }
}
