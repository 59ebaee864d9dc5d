//! Votes of simulated processes, which die at every point.

use super::*;

const VOTES: u64 = 3;

/// Two lines, as in the segment.
type Lines = [(u64, Ballot); 2];

/// What all processes see.
struct World {
    lines: Vec<Lines>,
    log: Vec<usize>,
}

impl Booth for World {
    fn ballot(&self, member: usize, seq: u64) -> Option<Ballot> {
        let (written, ballot) = self.lines[member][(seq & 1) as usize];
        assert!(written <= seq, "member {member} has overwritten its ballot of vote {seq}");
        (written == seq).then_some(ballot)
    }

    fn end_of(&self, member: usize) -> Option<(usize, bool)> {
        self.log.iter().position(|dead| *dead == member).map(|place| (place, true))
    }
}

/// A process, which does one thing at a time.
struct Voter {
    me: usize,
    seq: u64,
    has_written: bool,
    acked: u32,
    said: Vec<Option<Said>>,
    steps: usize,
    results: Vec<(Decision, Vec<Said>)>,
}

impl Voter {
    fn is_done(&self) -> bool {
        self.seq > VOTES
    }

    fn step(&mut self, world: &mut World) {
        self.steps += 1;
        if !self.has_written {
            let known = world.log.len() as u32;
            let mut ballot = Ballot { kind: AGREE, flag: !(1 << self.me), ..Ballot::default() };
            (ballot.known[0], ballot.acked[0]) = (known, self.acked);
            world.lines[self.me][(self.seq & 1) as usize] = (self.seq, ballot);
            self.has_written = true;
            return;
        }
        // Whoever is missing is looked at in turn.
        let missing = (0..self.said.len()).filter(|member| self.said[*member].is_none()).collect::<Vec<_>>();
        if let Some(&member) = missing.get(self.steps % missing.len().max(1)) {
            self.said[member] = listen(world, member, self.seq);
        }
        if let Some(said) = self.said.iter().copied().collect::<Option<Vec<Said>>>() {
            let decision = decide(&said, |_| 0);
            // The program acknowledges what it was told.
            self.acked = decision.known[0];
            self.results.push((decision, said));
            (self.seq, self.has_written) = (self.seq + 1, false);
            self.said.fill(None);
        }
    }
}

/// A generator of numbers that look random.
pub(super) struct Dice(pub u64);

impl Dice {
    pub fn throw(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

/// Runs votes of so many processes, of which some die after so many steps of their own. All others must see the same.
fn run(size: usize, victims: &[(usize, usize)], seed: u64) {
    let mut dice = Dice(seed);
    let mut world = World { lines: vec![[(0, Ballot::default()); 2]; size], log: Vec::new() };
    let new =
        |me| Voter { me, seq: 1, has_written: false, acked: 0, said: vec![None; size], steps: 0, results: Vec::new() };
    let mut voters: Vec<Voter> = (0..size).map(new).collect();
    let end_of = |me: usize| victims.iter().find(|victim| victim.0 == me).map_or(usize::MAX, |victim| victim.1);
    let mut turns = 0;
    loop {
        let lives = |voter: &Voter| voter.steps < end_of(voter.me);
        let open: Vec<usize> =
            voters.iter().filter(|voter| lives(voter) && !voter.is_done()).map(|voter| voter.me).collect();
        if open.is_empty() {
            break;
        }
        // The log hears of a death at any time later.
        let untold: Vec<usize> = voters
            .iter()
            .filter(|voter| !lives(voter) && !world.log.contains(&voter.me))
            .map(|voter| voter.me)
            .collect();
        match dice.throw(open.len() * 3 + 1) {
            0 if !untold.is_empty() => world.log.push(untold[dice.throw(untold.len())]),
            choice => voters[open[choice % open.len()]].step(&mut world),
        }
        turns += 1;
        assert!(turns < 100_000, "the votes of {size} processes do not end: victims {victims:?}, seed {seed}");
    }
    let survivors: Vec<&Voter> = voters.iter().filter(|voter| voter.is_done()).collect();
    for voter in &survivors {
        assert_eq!(voter.results.len() as u64, VOTES);
        assert_eq!(voter.results, survivors[0].results, "victims {victims:?}, seed {seed}");
    }
    // A process that died in the middle had seen the same until then.
    for voter in &voters {
        let whole = survivors.first().map_or(&voter.results, |survivor| &survivor.results);
        assert_eq!(voter.results[..], whole[..voter.results.len()], "victims {victims:?}, seed {seed}");
    }
}

#[test]
fn all_survivors_see_the_same_wherever_one_dies() {
    for size in 2..=9 {
        for point in 0..(size + 2) * VOTES as usize {
            for victim in [0, size / 2, size - 1] {
                (0..8).for_each(|seed| run(size, &[(victim, point)], seed));
            }
        }
    }
}

#[test]
fn all_survivors_see_the_same_wherever_two_die() {
    for size in 3..=9 {
        for first in 0..(size + 2) * 2 {
            for second in 0..(size + 2) * 2 {
                run(size, &[(0, first), (size - 1, second)], (first * 31 + second) as u64);
            }
        }
    }
}

#[test]
fn the_last_one_decides_alone() {
    run(4, &[(0, 0), (1, 3), (2, 9)], 5);
    run(4, &[(0, 1), (1, 1), (2, 1)], 6);
}

#[test]
fn a_death_counts_as_an_error_until_all_have_acknowledged_it() {
    let ballot = |acked| {
        let mut ballot = Ballot { kind: AGREE, flag: 6, ..Ballot::default() };
        (ballot.acked[0], ballot.known[0]) = (acked, 1);
        Said::Present(ballot)
    };
    let dead = Said::Absent(Some(0));
    assert!(decide(&[ballot(1), dead, ballot(0)], |_| 0).unacknowledged);
    assert!(!decide(&[ballot(1), dead, ballot(1)], |_| 0).unacknowledged);
    let left = decide(&[ballot(0), Said::Absent(None)], |_| 0);
    assert!(!left.unacknowledged && left.alike);
    let other = Said::Present(Ballot { kind: SHRINK, flag: 3, ..Ballot::default() });
    assert!(!decide(&[ballot(0), other], |_| 0).alike);
    assert_eq!(all_bits(&[ballot(0), dead, other], |_| true), 2);
    assert_eq!(all_bits(&[ballot(0), dead, other], |member| member == 2), 3);
}

/// One of two processes of the second job had said something when the `mpirun` of that job was killed.
#[test]
fn a_job_without_its_mpirun_is_lost_as_a_whole() {
    let ballot = |acked| {
        let mut ballot = Ballot { kind: SHRINK, ..Ballot::default() };
        ballot.acked[1] = acked;
        Said::Present(ballot)
    };
    let job_of = |member: usize| member / 2;
    let (said, lost) = (Said::Present(Ballot { kind: SHRINK, ..Ballot::default() }), Said::Absent(Some(LOST)));
    let open = decide(&[ballot(u32::MAX), ballot(0), said, lost], job_of);
    assert!(open.unacknowledged && open.is_lost(1) && !open.is_lost(0));
    assert!(!decide(&[ballot(u32::MAX), ballot(u32::MAX), lost, lost], job_of).unacknowledged);
    assert!(!decide(&[ballot(0), ballot(0), said, Said::Absent(Some(7))], job_of).is_lost(1));
}

#[test]
fn a_ballot_that_came_before_the_death_counts() {
    /// The ballot is seen only after the log.
    struct Late(std::cell::Cell<bool>);
    impl Booth for Late {
        fn ballot(&self, _: usize, _: u64) -> Option<Ballot> {
            self.0.replace(true).then_some(Ballot::default())
        }

        fn end_of(&self, _: usize) -> Option<(usize, bool)> {
            Some((0, true))
        }
    }
    let found = listen(&Late(std::cell::Cell::new(false)), 0, 1);
    assert_eq!(found, Some(Said::Present(Ballot::default())));
}
