//! Votes among simulated nodes, of which ranks and whole hosts die at every step. Ranks, agents and `mpirun` pass on messages
//! in the order in which each link carries them, and otherwise in any order.

use super::*;
use crate::votes::tests::Dice;
use oxmpi_boot::polls::{Ended, Polls};
use oxmpi_boot::requests::VoteId;
use std::collections::VecDeque;

const VOTES: u64 = 3;

/// From an agent to `mpirun`.
enum Up {
    Ballot(usize, u64, SentBallot),
    Death(usize),
}

/// From `mpirun` to an agent.
#[derive(Clone)]
enum Down {
    Deaths(Vec<usize>),
    /// The vote, and the ranks that wait for it.
    Voted(u64, Vec<usize>, Vec<Option<SentBallot>>),
}

struct Rank {
    node: usize,
    lives: bool,
    seq: u64,
    has_cast: bool,
    acked: u32,
    steps: usize,
    /// To its agent, and from it.
    requests: VecDeque<(u64, SentBallot)>,
    inbox: VecDeque<(u64, Vec<Option<SentBallot>>)>,
    is_end_noticed: bool,
}

#[derive(Default)]
struct Node {
    is_lost: bool,
    lives: bool,
    log: Vec<usize>,
    up: VecDeque<Up>,
    down: VecDeque<Down>,
    steps: usize,
    ranks: Vec<usize>,
}

/// What dies, and after how many steps of its own.
#[derive(Clone, Copy, Debug)]
enum Victim {
    Rank(usize, usize),
    Node(usize, usize),
}

struct Job {
    ranks: Vec<Rank>,
    nodes: Vec<Node>,
    polls: Polls,
    /// What the first rank that ended a vote has concluded.
    results: Vec<(Decision, Vec<Said>)>,
}

impl Job {
    fn new(size: usize, nodes: usize) -> Job {
        let rank = |rank: usize| Rank {
            node: rank % nodes,
            lives: true,
            seq: 1,
            has_cast: false,
            acked: 0,
            steps: 0,
            requests: VecDeque::new(),
            inbox: VecDeque::new(),
            is_end_noticed: false,
        };
        Job {
            ranks: (0..size).map(rank).collect(),
            nodes: (0..nodes)
                .map(|node| Node { lives: true, ranks: (node..size).step_by(nodes).collect(), ..Node::default() })
                .collect(),
            polls: Polls::default(),
            results: Vec::new(),
        }
    }

    /// One step of a rank: it votes, or takes the result.
    fn step(&mut self, me: usize) {
        let rank = &mut self.ranks[me];
        let log = &self.nodes[rank.node].log;
        if !rank.has_cast {
            let mut ballot = Ballot { kind: AGREE, flag: !(1 << (me % 32)), ..Ballot::default() };
            (ballot.known[0], ballot.acked[0]) = (log.len() as u32, rank.acked);
            rank.requests.push_back((rank.seq, sent(&ballot)));
            (rank.has_cast, rank.steps) = (true, rank.steps + 1);
            return;
        }
        let Some((seq, ballots)) = rank.inbox.pop_front() else { return };
        rank.steps += 1;
        assert_eq!(seq, rank.seq, "rank {me} is told of another vote");
        let end_of = |member: usize| {
            let place = log.iter().position(|dead| *dead == member);
            Some((place.unwrap_or_else(|| panic!("rank {me} misses {member}, whose end it does not know")), true))
        };
        let said = heard(ballots, end_of);
        let decision = decide(&said, |_| 0);
        rank.acked = decision.known[0];
        match self.results.get(seq as usize - 1) {
            Some(first) => assert_eq!((&decision, &said), (&first.0, &first.1), "rank {me} differs in vote {seq}"),
            None => self.results.push((decision, said)),
        }
        (rank.seq, rank.has_cast) = (seq + 1, false);
    }

    /// One step of an agent; `choice` says which of those that it could do.
    fn step_agent(&mut self, me: usize, dice: &mut Dice) {
        let node = &mut self.nodes[me];
        node.steps += 1;
        let rank = node.ranks[dice.throw(node.ranks.len())];
        match dice.throw(3) {
            0 => match node.down.pop_front() {
                Some(Down::Deaths(dead)) => node.log.extend(dead),
                Some(Down::Voted(seq, listeners, said)) => {
                    for rank in listeners {
                        self.ranks[rank].inbox.push_back((seq, said.clone()));
                    }
                }
                None => node.steps -= 1,
            },
            1 => match self.ranks[rank].requests.pop_front() {
                Some((seq, ballot)) => node.up.push_back(Up::Ballot(rank, seq, ballot)),
                None => node.steps -= 1,
            },
            _ if !self.ranks[rank].lives && !self.ranks[rank].is_end_noticed => {
                self.ranks[rank].is_end_noticed = true;
                node.up.push_back(Up::Death(rank));
            }
            _ => node.steps -= 1,
        }
    }

    /// `mpirun` takes a message of a node, or gives up one that has crashed.
    fn step_root(&mut self, from: usize) {
        if self.nodes[from].is_lost {
            return;
        }
        match self.nodes[from].up.pop_front() {
            Some(Up::Ballot(rank, number, ballot)) => {
                let (id, size) = (VoteId { context: 2, members: 1, number }, self.ranks.len());
                let ended = self.polls.vote(rank as u32, id, &[(0, size as u32)], ballot, size);
                ended.expect("the members are right").iter().for_each(|ended| self.tell(ended));
            }
            Some(Up::Death(rank)) => self.note_deaths(vec![rank]),
            None if !self.nodes[from].lives => {
                self.nodes[from].is_lost = true;
                self.note_deaths(self.nodes[from].ranks.clone());
            }
            None => {}
        }
    }

    fn note_deaths(&mut self, dead: Vec<usize>) {
        let polls = &mut self.polls;
        let new: Vec<usize> = dead.into_iter().filter(|&rank| polls.note_end(rank as u32)).collect();
        for node in self.nodes.iter_mut().filter(|node| node.lives && !new.is_empty()) {
            node.down.push_back(Down::Deaths(new.clone()));
        }
        self.polls.end().iter().for_each(|ended| self.tell(ended));
    }

    fn tell(&mut self, ended: &Ended) {
        for node in self.nodes.iter_mut().filter(|node| node.lives) {
            let listens = |rank: &usize| ended.listeners.contains(&(*rank as u32));
            let listeners: Vec<usize> = node.ranks.iter().copied().filter(listens).collect();
            if !listeners.is_empty() {
                node.down.push_back(Down::Voted(ended.vote.number, listeners, ended.said.clone()));
            }
        }
    }

    fn kill(&mut self, victim: Victim, dice: &mut Dice) {
        match victim {
            Victim::Rank(rank, at) if self.ranks[rank].steps >= at => self.ranks[rank].lives = false,
            Victim::Node(node, at) if self.nodes[node].steps >= at && self.nodes[node].lives => {
                let found = &mut self.nodes[node];
                found.lives = false;
                // What it has sent last is lost with it.
                let arrives = dice.throw(found.up.len() + 1);
                found.up.truncate(arrives);
                found.down.clear();
                for rank in self.ranks.iter_mut().filter(|rank| rank.node == node) {
                    rank.lives = false;
                }
            }
            _ => {}
        }
    }

    fn is_over(&self) -> bool {
        self.ranks.iter().all(|rank| !rank.lives || rank.seq > VOTES)
    }
}

/// All that survive conclude the same in all votes.
fn run(size: usize, nodes: usize, victims: &[Victim], seed: u64) {
    let mut dice = Dice(seed);
    let mut job = Job::new(size, nodes);
    let mut turns = 0;
    while turns % size != 0 || !job.is_over() {
        victims.iter().for_each(|&victim| job.kill(victim, &mut dice));
        match dice.throw(3) {
            0 => {
                let rank = dice.throw(size);
                if job.ranks[rank].lives && job.ranks[rank].seq <= VOTES {
                    job.step(rank);
                }
            }
            1 => {
                let node = dice.throw(nodes);
                if job.nodes[node].lives {
                    job.step_agent(node, &mut dice);
                }
            }
            _ => job.step_root(dice.throw(nodes)),
        }
        turns += 1;
        assert!(turns < 20_000 * size, "the votes of {size} ranks do not end: victims {victims:?}, seed {seed}");
    }
}

/// A rank has this many steps in all its votes.
const STEPS: usize = 2 * VOTES as usize;

#[test]
fn all_survivors_conclude_the_same_wherever_a_rank_dies() {
    for size in 2..=9usize {
        for nodes in 2..=size.min(4) {
            for victim in 0..size {
                for at in 0..=STEPS {
                    (0..4).for_each(|seed| run(size, nodes, &[Victim::Rank(victim, at)], seed));
                }
            }
        }
    }
}

#[test]
fn all_survivors_conclude_the_same_wherever_a_host_dies() {
    for size in 2..=9usize {
        for nodes in 2..=size.min(4) {
            for at in 0..size.div_ceil(nodes) * STEPS {
                for seed in 0..4 {
                    run(size, nodes, &[Victim::Node(at % nodes, at)], seed);
                    run(size, nodes, &[Victim::Node((at + 1) % nodes, at)], seed);
                }
            }
        }
    }
}

#[test]
fn all_survivors_conclude_the_same_wherever_two_ranks_or_a_rank_and_a_host_die() {
    for size in 3..=9 {
        for first in 0..=STEPS {
            for second in 0..=STEPS {
                let seed = (first * 31 + second) as u64;
                run(size, 3, &[Victim::Rank(0, first), Victim::Rank(size - 1, second)], seed);
                run(size, 3, &[Victim::Rank(0, first), Victim::Node(1, second)], seed);
                run(size, 3, &[Victim::Node(0, first), Victim::Node(2, second)], seed);
            }
        }
    }
}

#[test]
fn a_thousand_ranks_on_many_hosts_conclude_the_same() {
    for seed in 0..3 {
        let mut dice = Dice(seed + 77);
        let mut victims: Vec<Victim> = (0..20).map(|_| Victim::Rank(dice.throw(1000), dice.throw(STEPS + 1))).collect();
        victims.extend((0..4).map(|_| Victim::Node(dice.throw(40), dice.throw(100))));
        run(1000, 40, &victims, seed);
    }
}
