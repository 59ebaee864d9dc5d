//! Members of several jobs that vote by messages, and die at every point. What a member had sent before its death may arrive or
//! get lost, message by message; messages of one pair keep their order.

use super::*;
use crate::votes::tests::Dice;
use std::collections::{BTreeMap, VecDeque};

struct Member {
    talk: Talk,
    steps: usize,
    result: Option<Vec<Heard>>,
    /// Those whose end it has noticed: each member by itself.
    ended: Vec<bool>,
}

/// What one step of a member does.
enum Step {
    Hear(usize),
    Advance,
    Notice(usize),
}

/// Runs a vote of `size` members; each victim dies in its step of that number, before the message of that number of the step.
fn run(size: usize, victims: &[(usize, usize, usize)], seed: u64) {
    let mut dice = Dice(seed);
    let ballot = |me: usize| Ballot { kind: 1, flag: !(1 << (me % 31)), proposal: me as u64, failed: Vec::new() };
    let new = |me| Member { talk: Talk::new(me, size, ballot(me)), steps: 0, result: None, ended: vec![false; size] };
    let mut members: Vec<Member> = (0..size).map(new).collect();
    let mut wires: BTreeMap<(usize, usize), VecDeque<Message>> = BTreeMap::new();
    let mut dead = vec![false; size];
    let mut turns = 0;
    loop {
        // A member that has its result goes on: it hears nothing more, and still its death can be noticed.
        let busy: Vec<usize> = (0..size).filter(|me| !dead[*me] && members[*me].result.is_none()).collect();
        let Some(&me) = busy.get(dice.throw(busy.len().max(1))) else { break };
        let full: Vec<usize> =
            wires.iter().filter(|((_, to), wire)| *to == me && !wire.is_empty()).map(|((from, _), _)| *from).collect();
        let unnoticed: Vec<usize> = (0..size).filter(|other| dead[*other] && !members[me].ended[*other]).collect();
        let step = match dice.throw(4) {
            0 if !unnoticed.is_empty() => Step::Notice(unnoticed[dice.throw(unnoticed.len())]),
            1 | 2 if !full.is_empty() => Step::Hear(full[dice.throw(full.len())]),
            _ => Step::Advance,
        };
        let mut sent = Vec::new();
        let Member { talk, ended, result, steps, .. } = &mut members[me];
        match step {
            Step::Notice(other) => {
                ended[other] = true;
                // What is on its way from there is lost, or has arrived just before, up to some message.
                let left = wires.entry((other, me)).or_default();
                let arrives = dice.throw(left.len() + 1);
                for message in left.drain(..).take(arrives) {
                    talk.hear(other, message, |to, message| sent.push((to, message)));
                }
            }
            Step::Hear(from) => {
                let message = wires.get_mut(&(from, me)).and_then(VecDeque::pop_front).unwrap();
                let message = Message::from_words(&message.to_words()).unwrap();
                talk.hear(from, message, |to, message| sent.push((to, message)));
            }
            Step::Advance => {
                let end_of = |member: usize| ended[member].then_some(true);
                *result = talk.advance(end_of, |to, message| sent.push((to, message)));
            }
        }
        *steps += 1;
        let point = victims.iter().find(|victim| victim.0 == me && victim.1 == *steps);
        if let Some((_, _, messages)) = point {
            dead[me] = true;
            sent.truncate(*messages);
        }
        sent.into_iter().for_each(|(to, message)| wires.entry((me, to)).or_default().push_back(message));
        turns += 1;
        assert!(turns < 200_000, "a vote of {size} does not end: victims {victims:?}, seed {seed}");
    }
    let mut results = members.iter().filter_map(|member| member.result.as_ref());
    let Some(first) = results.next() else { return };
    assert!(results.all(|other| other == first), "two results: victims {victims:?}, seed {seed}");
    for (member, heard) in first.iter().enumerate() {
        assert!(dead[member] || *heard == Heard::Ballot(ballot(member)), "{member} lives and is absent");
    }
    assert!((0..size).all(|me| dead[me] || members[me].result.is_some()));
}

#[test]
fn all_members_see_the_same_wherever_one_dies() {
    for size in 2..=9 {
        for victim in [0, 1, size - 1] {
            for step in 1..30 {
                (0..=size).for_each(|messages| {
                    (0..2).for_each(|seed| run(size, &[(victim, step, messages)], seed * 7919 + step as u64));
                });
            }
        }
    }
}

#[test]
fn all_members_see_the_same_when_leader_after_leader_dies() {
    for seed in 0..10_000 {
        let mut dice = Dice(seed);
        let size = 3 + dice.throw(6);
        let most = size - 1;
        let count = 1 + dice.throw(most);
        let victims: Vec<(usize, usize, usize)> =
            (0..count).map(|victim| (victim, 1 + dice.throw(40), dice.throw(size + 1))).collect();
        run(size, &victims, seed ^ 0x5bd1);
    }
}

#[test]
fn words_that_make_no_sense_are_no_message() {
    let shown = Shown { leader: 3, heard: vec![Heard::Failed, Heard::Left, Heard::Ballot(Ballot::default())] };
    let ballot = Ballot { kind: 2, flag: 9, proposal: u64::MAX, failed: vec![(1, true), (4, false)] };
    let message = Message::Ballot(ballot, Some(shown));
    let words = message.to_words();
    assert_eq!(Message::from_words(&words), Some(message));
    (0..words.len()).for_each(|end| assert_eq!(Message::from_words(&words[..end]), None));
    assert_eq!(Message::from_words(&[words, vec![0]].concat()), None);
    assert_eq!(Message::from_words(&[SHOW, 0, u64::MAX]), None);
}

#[test]
fn a_failure_that_one_member_has_not_acknowledged_is_told() {
    let said = |failed: &[(u32, bool)]| Heard::Ballot(Ballot { kind: 1, failed: failed.to_vec(), ..Ballot::default() });
    let (_, decision, known) = conclude(vec![said(&[(2, true)]), said(&[(2, true)]), Heard::Failed]);
    assert!(decision.alike && !decision.unacknowledged);
    assert_eq!(known, [false, false, true]);
    let (_, decision, _) = conclude(vec![said(&[(2, true)]), said(&[(2, false)]), Heard::Failed]);
    assert!(decision.unacknowledged);
    let (_, decision, known) = conclude(vec![said(&[(1, false)]), said(&[]), Heard::Left]);
    assert!(!decision.unacknowledged, "its ballot was there");
    assert_eq!(known, [false, true, false]);
}
