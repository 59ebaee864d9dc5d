//! Votes whose members send messages to each other (`votes/talk.rs`): takes what has come, and sends what there is to say.

use super::Process;
use super::voting::Counted;
use crate::contexts::{VOTE_TAG, VOTES};
use crate::engine::{BY_PROCESS, Route};
use crate::matching::Pattern;
use crate::votes::talk::{self, Message, Talk};
use crate::votes::{Aim, Conversation, Said, Vote, Way};
use oxmpi_abi::constants::MPI_ANY_SOURCE;
use oxmpi_base::ids::Peer;
use oxmpi_boot::requests::VoteId;
use oxmpi_datatype::{OwnedBytes, Signature};

/// Words in front of a message: the context, the hash of the members, the number of the vote.
const HEAD: usize = 3;

impl Process {
    /// Begins a vote by messages; its number.
    pub(super) fn begin_talk(&mut self, vote: &mut Vote, members: u64) -> u64 {
        let number = self.next_vote(vote.context, members);
        let comm = self.comm(vote.comm).ok();
        let place = |failed: &Peer| vote.members.iter().position(|member| member.peer == *failed);
        let known = self.failures.failed.iter().filter_map(|failed| {
            let is_acked = comm.is_some_and(|comm| self.is_acknowledged(comm, *failed));
            Some((place(failed)? as u32, is_acked))
        });
        let ballot = talk::Ballot {
            kind: vote.ballot.kind,
            flag: vote.ballot.flag,
            proposal: vote.ballot.proposal,
            failed: known.collect(),
        };
        let talk = Talk::new(vote.own, vote.members.len(), ballot);
        vote.way = Way::ByMessages(members, Some(Box::new(Conversation { talk, sending: Vec::new(), result: None })));
        vote.seq = Some(number);
        number
    }

    /// Goes on with a vote as far as possible; its result, once that is final and all others have been told.
    pub(super) fn talk_to_members(&mut self, vote: &mut Vote, number: u64) -> Option<Counted> {
        let Way::ByMessages(members, conversation) = &mut vote.way else { return None };
        let (members, mut conversation) = (*members, conversation.take()?);
        let id = VoteId { context: vote.context, members, number };
        let is_over = self.go_on_talking(vote, id, &mut conversation);
        if !is_over {
            vote.way = Way::ByMessages(members, Some(conversation));
            return None;
        }
        conversation.sending.iter().for_each(|(_, op)| self.engine.detach(*op));
        vote.way = Way::ByMessages(members, None);
        self.vote_mail.over.insert((id.context, id.members), number);
        self.vote_mail.kept.remove(&id);
        let (said, decision, known) = talk::conclude(conversation.result?);
        for (member, said) in said.iter().enumerate() {
            if *said == Said::Absent(Some(0)) {
                // Some member has seen it in a log.
                self.note_failed(vote.members[member].peer);
            }
        }
        let survives = |member: usize| matches!(said[member], Said::Present(_)) && !known[member];
        let survivors = match vote.aim {
            Aim::Agree(_) => Vec::new(),
            Aim::Shrink(_) => (0..said.len()).map(survives).collect(),
        };
        Some(Counted { said, decision, survivors })
    }

    fn go_on_talking(&mut self, vote: &Vote, id: VoteId, conversation: &mut Conversation) -> bool {
        self.take_vote_mail();
        let mut out: Vec<(usize, Message)> = Vec::new();
        for (from, message) in self.vote_mail.kept.remove(&id).unwrap_or_default() {
            if let Some(member) = vote.members.iter().position(|member| member.peer == from) {
                conversation.talk.hear(member, message, |to, message| out.push((to, message)));
            }
        }
        if conversation.result.is_none() {
            let end_of = |member: usize| self.end_in_talk(vote, member);
            conversation.result = conversation.talk.advance(end_of, |to, message| out.push((to, message)));
        }
        for (to, message) in out {
            let route = Route {
                peer: vote.members[to].peer,
                context: VOTES,
                source: BY_PROCESS,
                tag: VOTE_TAG,
                signature: Signature::NONE,
            };
            let head = [u64::from(id.context), id.members, id.number];
            let bytes: Vec<u8> = head.into_iter().chain(message.to_words()).flat_map(u64::to_ne_bytes).collect();
            let op = self.engine.send_stored(&route, OwnedBytes::from(&bytes[..]));
            conversation.sending.extend(op.map(|op| (to, op)));
        }
        conversation.sending.retain(|(_, op)| self.engine.take_outcome(*op).is_none());
        // A member that is told of the result by this one alone waits until the message is sent.
        let needs = |to: usize| !conversation.talk.has_result(to) && self.end_in_talk(vote, to).is_none();
        conversation.result.is_some() && !conversation.sending.iter().any(|(to, _)| needs(*to))
    }

    /// Whether a member has ended, and whether it has failed.
    fn end_in_talk(&self, vote: &Vote, member: usize) -> Option<bool> {
        let (node, peer) = (self.engine.node(), vote.members[member].peer);
        if peer == node.own() {
            return None;
        }
        if node.has_ended(peer) {
            return Some(node.has_died(peer));
        }
        match node.home(peer) {
            Some(_) => self.end_of_member(vote, member).map(|(_, failed)| failed),
            None => self.engine.has_finalized(peer).then_some(false),
        }
    }

    /// Takes the messages of votes that have come, of this vote or of others.
    pub(crate) fn take_vote_mail(&mut self) {
        let pattern = Pattern { context: VOTES, source: MPI_ANY_SOURCE, tag: VOTE_TAG };
        while let Some((envelope, message)) = self.engine.take_message(&pattern) {
            let (from, bytes) = (message.from(), OwnedBytes::zeroed(message.bytes() as usize));
            // SAFETY: the bytes are kept with the operation until it has ended.
            #[expect(unsafe_code, reason = "lends memory of the library's own to an operation")]
            let op = self.engine.recv_message(&envelope, message, unsafe { bytes.lend_to_write() });
            self.vote_mail.arriving.push((op, from, bytes));
        }
        if self.vote_mail.arriving.is_empty() {
            return;
        }
        for (op, from, mut bytes) in std::mem::take(&mut self.vote_mail.arriving) {
            match self.engine.take_outcome(op) {
                None => self.vote_mail.arriving.push((op, from, bytes)),
                Some(outcome) if outcome.error.is_none() => self.keep_vote_mail(from, bytes.as_slice()),
                // Its sender has ended in the middle of it.
                Some(_) => {}
            }
        }
    }

    fn keep_vote_mail(&mut self, from: Peer, bytes: &[u8]) {
        let words: Vec<u64> = bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let Some((&[context, members, number], words)) = words.split_first_chunk::<HEAD>() else { return };
        let (Ok(context), Some(message)) = (u32::try_from(context), Message::from_words(words)) else { return };
        if self.vote_mail.over.get(&(context, members)).is_some_and(|last| number <= *last) {
            return;
        }
        self.vote_mail.kept.entry(VoteId { context, members, number }).or_default().push((from, message));
    }
}
