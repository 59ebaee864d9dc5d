//! Links between ranks on several hosts that have broken although nobody is known to have died, in a job that goes on. Of two
//! ranks without a link one must end, since nothing that they have sent each other can be relied on.
//!
//! A claim is no proof. Before anything is decided, the agent of the other rank must say that its process lives: a rank that has
//! died, or whose host is lost, ends the question. Then the other rank has some time to say the same. If both say so, the one
//! ends that has lost more links, else the higher one. If the other one is silent, the rank that has made the claim ends, so none
//! can have another one ended by what it says alone; unless ranks of several hosts say so of the silent one.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Time for both ranks to say that their link is broken, and for the news of a death to come.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Default)]
pub struct BrokenLinks {
    claims: Vec<Claim>,
    /// Ranks that are being ended.
    condemned: BTreeSet<u32>,
}

/// What a rank says of its link to another one.
struct Claim {
    by: u32,
    /// The node of that rank.
    node: u32,
    other: u32,
    why: String,
    since: Instant,
    /// The agent of the other rank has said that it lives.
    lives: bool,
}

/// A rank that is to be ended, and why.
#[derive(Debug, PartialEq, Eq)]
pub struct Sentence {
    pub rank: u32,
    pub text: String,
}

impl BrokenLinks {
    /// A rank says that its link to another one is broken. Returns whether it says so for the first time: then the agent of the
    /// other one is asked whether that lives.
    pub fn claim(&mut self, (node, by): (u32, u32), other: u32, why: String, now: Instant) -> bool {
        let is_new = self.find(by, other).is_none();
        if is_new {
            self.claims.push(Claim { by, node, other, why, since: now, lives: false });
        }
        is_new
    }

    /// The agent of a rank says that it lives.
    pub fn lives(&mut self, rank: u32) {
        self.claims.iter_mut().filter(|claim| claim.other == rank).for_each(|claim| claim.lives = true);
    }

    /// The ranks that are to be ended now, each once.
    pub fn judge(&mut self, now: Instant, has_ended: impl Fn(u32) -> bool) -> Vec<Sentence> {
        let mut sentences = Vec::new();
        loop {
            let is_gone = |rank: u32| self.condemned.contains(&rank) || has_ended(rank);
            self.claims.retain(|claim| !is_gone(claim.by) && !is_gone(claim.other));
            let is_due = |claim: &&Claim| claim.lives && now >= claim.since + PATIENCE;
            let Some(claim) = self.claims.iter().find(is_due) else { return sentences };
            let sentence = self.decide(claim);
            self.condemned.insert(sentence.rank);
            sentences.push(sentence);
        }
    }

    fn decide(&self, claim: &Claim) -> Sentence {
        let Claim { by, other, why, .. } = claim;
        if self.find(*other, *by).is_some() {
            let (lower, higher) = (*by.min(other), *by.max(other));
            let ends = if self.lost_links(lower) > self.lost_links(higher) { lower } else { higher };
            let stays = lower + higher - ends;
            return Sentence { rank: ends, text: format!("it has no connection to rank {stays} any more: {why}") };
        }
        let accusers = self.accusers(*other);
        if accusers > 1 && accusers > self.accusers(*by) {
            let text = format!("ranks of {accusers} other hosts have no connection to it any more: {why}");
            return Sentence { rank: *other, text };
        }
        let text = format!("it alone says that it has no connection to rank {other} any more: {why}");
        Sentence { rank: *by, text }
    }

    /// The number of nodes with ranks that say that they have lost their link to a rank.
    fn accusers(&self, rank: u32) -> usize {
        let nodes = self.claims.iter().filter(|claim| claim.other == rank).map(|claim| claim.node);
        nodes.collect::<BTreeSet<u32>>().len()
    }

    fn find(&self, by: u32, other: u32) -> Option<&Claim> {
        self.claims.iter().find(|claim| (claim.by, claim.other) == (by, other))
    }

    /// The links of a rank of which both ends say that they are broken.
    fn lost_links(&self, rank: u32) -> usize {
        let own = self.claims.iter().filter(|claim| claim.by == rank);
        own.filter(|claim| self.find(claim.other, rank).is_some()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Case {
        links: BrokenLinks,
        start: Instant,
    }

    impl Case {
        /// Each pair is a claim; all ranks live. Two ranks are on a node.
        fn new(claims: &[(u32, u32)]) -> Case {
            let (mut links, start) = (BrokenLinks::default(), Instant::now());
            for &(by, other) in claims {
                assert!(links.claim((by / 2, by), other, "reset".into(), start));
                assert!(!links.claim((by / 2, by), other, "again".into(), start));
            }
            claims.iter().for_each(|&(_, other)| links.lives(other));
            Case { links, start }
        }

        fn ended(&mut self, dead: &[u32]) -> Vec<u32> {
            let sentences = self.links.judge(self.start + PATIENCE, |rank| dead.contains(&rank));
            sentences.into_iter().map(|sentence| sentence.rank).collect()
        }
    }

    #[test]
    fn a_rank_whose_claim_nobody_shares_ends_itself() {
        let mut case = Case::new(&[(0, 3), (0, 2), (0, 1)]);
        assert!(case.links.judge(case.start, |_| false).is_empty(), "the others may still say so");
        let sentences = case.links.judge(case.start + PATIENCE, |_| false);
        let text = "it alone says that it has no connection to rank 3 any more: reset".to_owned();
        assert_eq!(sentences, [Sentence { rank: 0, text }]);
        assert!(case.ended(&[]).is_empty(), "once");
    }

    #[test]
    fn of_two_that_have_lost_their_link_the_higher_one_ends() {
        assert_eq!(Case::new(&[(1, 2), (2, 1)]).ended(&[]), [2]);
        assert_eq!(Case::new(&[(2, 1), (1, 2)]).ended(&[]), [2]);
    }

    #[test]
    fn the_one_that_has_lost_more_links_ends_and_nobody_else() {
        let mut case = Case::new(&[(0, 1), (1, 0), (1, 2), (2, 1), (3, 1), (1, 3)]);
        assert_eq!(case.ended(&[]), [1]);
        // Claims that the others do not share do not count.
        assert_eq!(Case::new(&[(0, 2), (2, 0), (0, 1), (0, 3)]).ended(&[]), [2, 0]);
    }

    #[test]
    fn a_silent_rank_ends_if_ranks_of_several_hosts_have_lost_it() {
        assert_eq!(Case::new(&[(0, 6), (2, 6), (4, 6)]).ended(&[]), [6]);
        assert_eq!(Case::new(&[(0, 6), (1, 6)]).ended(&[]), [0, 1], "they are on one host");
        assert_eq!(Case::new(&[(0, 6), (2, 6), (2, 0), (4, 0)]).ended(&[]), [0, 2], "it is accused by as many itself");
    }

    #[test]
    fn hosts_that_have_lost_each_other_end_on_one_side() {
        let all = [(0, 2), (0, 3), (1, 2), (1, 3)];
        let both: Vec<(u32, u32)> = all.iter().flat_map(|&(a, b)| [(a, b), (b, a)]).collect();
        assert_eq!(Case::new(&both).ended(&[]), [2, 3]);
    }

    #[test]
    fn a_death_ends_the_question() {
        assert!(Case::new(&[(0, 1), (1, 0)]).ended(&[1]).is_empty());
        assert!(Case::new(&[(0, 1)]).ended(&[0]).is_empty());
    }

    #[test]
    fn nobody_ends_before_the_agent_of_the_other_rank_has_answered() {
        let (mut links, start) = (BrokenLinks::default(), Instant::now());
        links.claim((0, 0), 1, "reset".into(), start);
        let late = start + 10 * PATIENCE;
        assert!(links.judge(late, |_| false).is_empty());
        links.lives(0);
        assert!(links.judge(late, |_| false).is_empty());
        links.lives(1);
        assert_eq!(links.judge(late, |_| false).len(), 1);
    }
}
