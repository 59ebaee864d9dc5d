//! A vote of processes that have neither memory nor an `mpirun` in common: members of several jobs on several hosts, or of a job
//! that nobody watches. They send messages to each other.
//!
//! The lowest member that has not ended *leads*. All send it their ballots; when each member has sent one or has ended, the
//! leader knows the result and shows it to the others. They keep it and confirm; when each has confirmed or has ended, the
//! result is final, and whoever learns that says so to all others before it goes on. If the leader ends, all begin again with the
//! next one, and say what they have been shown: that is what the new leader shows. So
//!
//! - a result is final only when every living member has been shown it, and no other one can be shown later;
//! - nobody waits for a member that has gone on: that one has told all others that the result is final.
//!
//! A message of a member that ends may get lost, at each receiver or at some. A member that has ended stays so.

use super::Said;
use std::collections::BTreeSet;

/// What a member says: as [`super::Ballot`], but members of other jobs have no log in common.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ballot {
    pub kind: u32,
    pub flag: u32,
    pub proposal: u64,
    /// The members that it knows to have failed, and whether it has acknowledged each.
    pub failed: Vec<(u32, bool)>,
}

/// What became of a member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    Ballot(Ballot),
    Failed,
    Left,
}

/// A message to another member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// To a leader: the own ballot, and what an earlier leader has shown.
    Ballot(Ballot, Option<Shown>),
    Show(Shown),
    /// To the leader with this number: what it has shown is kept.
    Kept(u32),
    Final,
}

/// A result, and the leader that has shown it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shown {
    pub leader: u32,
    pub heard: Vec<Heard>,
}

/// One member's part of a vote.
pub struct Talk {
    own: usize,
    ballot: Ballot,
    /// To whom the ballot was sent last.
    leader: Option<usize>,
    shown: Option<Shown>,
    /// Of a leader: what each member has sent, and who has confirmed.
    ballots: Vec<Option<(Ballot, Option<Shown>)>>,
    kept: Option<BTreeSet<usize>>,
    /// Who has said that the result is final.
    told_final: BTreeSet<usize>,
    is_final: bool,
}

impl Talk {
    pub fn new(own: usize, members: usize, ballot: Ballot) -> Talk {
        Talk {
            own,
            ballot,
            leader: None,
            shown: None,
            ballots: vec![None; members],
            kept: None,
            told_final: BTreeSet::new(),
            is_final: false,
        }
    }

    /// Whether a member needs nothing more of this one: it has the result.
    pub fn has_result(&self, member: usize) -> bool {
        self.told_final.contains(&member)
    }

    /// A message has come. Those that make no sense are dropped.
    pub fn hear(&mut self, from: usize, message: Message, mut send: impl FnMut(usize, Message)) {
        match message {
            Message::Ballot(ballot, shown) => self.ballots[from] = Some((ballot, shown)),
            Message::Show(shown) => {
                // A leader before the one that this member has sent its ballot to has ended.
                let is_current = self.leader.is_none_or(|leader| shown.leader as usize >= leader);
                if is_current && shown.leader as usize == from && shown.heard.len() == self.ballots.len() {
                    send(from, Message::Kept(shown.leader));
                    self.shown = Some(shown);
                }
            }
            Message::Kept(leader) => {
                if let Some(kept) = self.kept.as_mut().filter(|_| leader as usize == self.own) {
                    kept.insert(from);
                }
            }
            Message::Final => {
                self.told_final.insert(from);
                self.is_final |= self.shown.is_some();
            }
        }
    }

    /// Goes on as far as possible; the result, once, when it is final. `end_of`: whether a member has ended, and has failed.
    pub fn advance(
        &mut self,
        end_of: impl Fn(usize) -> Option<bool>,
        mut send: impl FnMut(usize, Message),
    ) -> Option<Vec<Heard>> {
        let members = self.ballots.len();
        let (own, is_own) = (self.own, |member: usize| member == self.own);
        let lives = |member: &usize| is_own(*member) || end_of(*member).is_none();
        let leader = (0..members).find(lives).unwrap_or(own);
        if !self.is_final && self.leader != Some(leader) {
            self.leader = Some(leader);
            let own_part = (self.ballot.clone(), self.shown.clone());
            match leader == own {
                true => self.ballots[own] = Some(own_part),
                false => send(leader, Message::Ballot(own_part.0, own_part.1)),
            }
        }
        let has_all = (0..members).all(|member| self.ballots[member].is_some() || !lives(&member));
        if !self.is_final && leader == own && self.kept.is_none() && has_all {
            let shown = Shown { leader: own as u32, heard: self.combine(&end_of) };
            let others = (0..members).filter(|member| *member != own).filter(lives);
            others.for_each(|member| send(member, Message::Show(shown.clone())));
            self.shown = Some(shown);
            self.kept = Some(BTreeSet::from([own]));
        }
        if let Some(kept) = &self.kept {
            self.is_final |= (0..members).all(|member| kept.contains(&member) || !lives(&member));
        }
        if !self.is_final {
            return None;
        }
        let shown = self.shown.take()?;
        let others = (0..members).filter(|member| *member != own && !self.told_final.contains(member)).filter(lives);
        others.for_each(|member| send(member, Message::Final));
        Some(shown.heard)
    }

    /// What the last leader before this one has shown, or else what the members have sent.
    fn combine(&self, end_of: impl Fn(usize) -> Option<bool>) -> Vec<Heard> {
        let shown = self.ballots.iter().flatten().filter_map(|(_, shown)| shown.as_ref());
        if let Some(last) = shown.max_by_key(|shown| shown.leader) {
            return last.heard.clone();
        }
        let heard = |(member, ballot): (usize, &Option<(Ballot, Option<Shown>)>)| match ballot {
            Some((ballot, _)) => Heard::Ballot(ballot.clone()),
            None if end_of(member) == Some(true) => Heard::Failed,
            None => Heard::Left,
        };
        self.ballots.iter().enumerate().map(heard).collect()
    }
}

/// A result in the form of the other votes, and the members that somebody has known to have failed.
pub fn conclude(heard: Vec<Heard>) -> (Vec<Said>, super::Decision, Vec<bool>) {
    let mut known = vec![false; heard.len()];
    let failed: Vec<usize> = (0..heard.len()).filter(|member| heard[*member] == Heard::Failed).collect();
    let (mut kind, mut alike, mut unacknowledged) = (None, true, false);
    let mut said = Vec::with_capacity(heard.len());
    for heard in heard {
        said.push(match heard {
            Heard::Failed => Said::Absent(Some(0)),
            Heard::Left => Said::Absent(None),
            Heard::Ballot(ballot) => {
                alike &= *kind.get_or_insert(ballot.kind) == ballot.kind;
                let acknowledged = |member: usize| ballot.failed.contains(&(member as u32, true));
                unacknowledged |= !failed.iter().all(|member| acknowledged(*member));
                for (member, _) in &ballot.failed {
                    if let Some(known) = known.get_mut(*member as usize) {
                        *known = true;
                    }
                }
                let Ballot { kind, flag, proposal, .. } = ballot;
                Said::Present(super::Ballot { kind, flag, proposal, ..super::Ballot::default() })
            }
        });
    }
    failed.iter().for_each(|member| known[*member] = true);
    (said, super::Decision { alike, known: Default::default(), unacknowledged }, known)
}

// ---- words ----

const BALLOT: u64 = 1;
const SHOW: u64 = 2;
const KEPT: u64 = 3;
const FINAL: u64 = 4;
const FAILED: u64 = 5;
const LEFT: u64 = 6;
const NOTHING: u64 = 7;

impl Message {
    pub fn to_words(&self) -> Vec<u64> {
        let mut words = Vec::new();
        match self {
            Message::Ballot(ballot, shown) => {
                words.push(BALLOT);
                put_ballot(&mut words, ballot);
                match shown {
                    Some(shown) => put_shown(&mut words, shown),
                    None => words.push(NOTHING),
                }
            }
            Message::Show(shown) => put_shown(&mut words, shown),
            Message::Kept(leader) => words.extend([KEPT, u64::from(*leader)]),
            Message::Final => words.push(FINAL),
        }
        words
    }

    /// `None`: words that no process of ours sends.
    pub fn from_words(words: &[u64]) -> Option<Message> {
        let mut words = words.iter().copied();
        let message = match words.next()? {
            BALLOT => {
                let ballot = take_ballot(&mut words)?;
                match words.next()? {
                    SHOW => Message::Ballot(ballot, Some(take_shown(&mut words)?)),
                    NOTHING => Message::Ballot(ballot, None),
                    _ => return None,
                }
            }
            SHOW => Message::Show(take_shown(&mut words)?),
            KEPT => Message::Kept(u32::try_from(words.next()?).ok()?),
            FINAL => Message::Final,
            _ => return None,
        };
        words.next().is_none().then_some(message)
    }
}

fn put_ballot(words: &mut Vec<u64>, ballot: &Ballot) {
    let Ballot { kind, flag, proposal, failed } = ballot;
    words.extend([u64::from(*kind) << 32 | u64::from(*flag), *proposal, failed.len() as u64]);
    words.extend(failed.iter().map(|(member, is_acked)| u64::from(*member) << 1 | u64::from(*is_acked)));
}

fn take_ballot(words: &mut impl Iterator<Item = u64>) -> Option<Ballot> {
    let (head, proposal, count) = (words.next()?, words.next()?, words.next()?);
    let mut failed = Vec::new();
    for _ in 0..count {
        let word = words.next()?;
        failed.push((u32::try_from(word >> 1).ok()?, word & 1 != 0));
    }
    Some(Ballot { kind: (head >> 32) as u32, flag: head as u32, proposal, failed })
}

fn put_shown(words: &mut Vec<u64>, shown: &Shown) {
    words.extend([SHOW, u64::from(shown.leader), shown.heard.len() as u64]);
    for heard in &shown.heard {
        match heard {
            Heard::Ballot(ballot) => {
                words.push(BALLOT);
                put_ballot(words, ballot);
            }
            Heard::Failed => words.push(FAILED),
            Heard::Left => words.push(LEFT),
        }
    }
}

fn take_shown(words: &mut impl Iterator<Item = u64>) -> Option<Shown> {
    let (leader, count) = (u32::try_from(words.next()?).ok()?, words.next()?);
    let mut heard = Vec::new();
    for _ in 0..count {
        heard.push(match words.next()? {
            BALLOT => Heard::Ballot(take_ballot(words)?),
            FAILED => Heard::Failed,
            LEFT => Heard::Left,
            _ => return None,
        });
    }
    Some(Shown { leader, heard })
}

#[cfg(test)]
mod tests;
