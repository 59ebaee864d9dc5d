//! Drives agreements: sends and receives their messages and answers their questions about the
//! state.

use super::{Agreement, Answer, Awaited, Order, Question, word};
use crate::liveness::{absent, died};
use crate::process::Process;
use oxmpi_abi::constants::MPI_ERR_OTHER;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::address::ProcessId;
use oxmpi_base::ids::Peer;
use oxmpi_datatype::OwnedBytes;
use std::task::{Context, Poll, Waker};

impl Process {
    /// Advances an agreement as far as possible; returns its result once it has ended.
    pub fn drive<T>(&mut self, agreement: &mut Agreement<T>) -> Option<T> {
        loop {
            if agreement.result.is_some() {
                agreement.sending.retain(|&op| self.engine.take_outcome(op).is_none());
                return if agreement.sending.is_empty() { agreement.result.take() } else { None };
            }
            if let Some(awaited) = &agreement.receiving {
                let op = awaited.op;
                let dead = self.dead_in(awaited);
                if dead.is_some() {
                    self.engine.cancel_recv(op);
                }
                let outcome = self.engine.take_outcome(op)?;
                let Awaited { mut bytes, failure, pattern, .. } = agreement.receiving.take()?;
                let expected = bytes.len() as u64;
                let answer = match outcome.error {
                    _ if outcome.status.is_cancelled() => {
                        let from = Peer::from_source(pattern.source).unwrap_or(self.engine.node().own());
                        let sender = || died(self.engine.node(), from, self.comm_of(pattern.context));
                        Err(dead.or(failure).unwrap_or_else(sender))
                    }
                    // The sender has died in the middle of it.
                    Some(error) if error.is_of_others() => Err(dead.unwrap_or(error)),
                    Some(error) => Err(garbled(error.text())),
                    None if outcome.status.bytes() != expected => Err(garbled("a message is too short")),
                    None => Ok(bytes.as_slice().chunks_exact(8).map(word).collect()),
                };
                agreement.io.pending().answer = Some(Answer::Words(answer));
            }
            let state = agreement.future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let orders = std::mem::take(&mut agreement.io.pending().orders);
            for order in orders {
                match order {
                    Order::Send(route, bytes) => {
                        agreement.sending.extend(self.engine.send_stored(&route, OwnedBytes::from(&bytes[..])));
                    }
                    Order::GiveBack(proposal) => self.contexts.give_back(proposal),
                    Order::Release(context) => self.contexts.release(context),
                }
            }
            if let Poll::Ready(result) = state {
                agreement.result = Some(result);
                continue;
            }
            let question = agreement.io.pending().question.take()?;
            let answer = match question {
                Question::Receive(pattern, count, members) => {
                    let bytes = OwnedBytes::zeroed(count * 8);
                    // SAFETY: an agreement that receives is driven to its end, and owns the bytes
                    // until then.
                    #[expect(unsafe_code, reason = "lends memory of the library's own to an operation")]
                    let op = self.engine.recv(pattern, unsafe { bytes.lend_to_write() });
                    agreement.receiving = Some(Awaited { op, pattern, bytes, members, failure: None });
                    continue;
                }
                Question::Draw { between_jobs } => Answer::Drawn(self.draw_context(between_jobs)),
                Question::Reserve(context) => Answer::Reserved(self.reserve_context(context)),
                Question::SpansJobs(members) => Answer::SpansJobs(self.knows_foreign(&members)),
                Question::IdsOf(members) => {
                    let node = self.engine.node();
                    Answer::Ids(members.iter().map(|process| node.id_of(process)).collect())
                }
                Question::PlacesOf(ids) => Answer::Places(self.fresh_key(), self.places_of(&ids)),
                Question::PeersAt(ids, introduction) => Answer::Peers(self.peers_at(&ids, &introduction)),
            };
            agreement.io.pending().answer = Some(answer);
        }
    }

    /// Ends a receive of an agreement whose sender takes part in nothing any more.
    pub fn fail_if_hopeless<T>(&mut self, agreement: &mut Agreement<T>) {
        let Some(Awaited { op, pattern, failure, .. }) = &mut agreement.receiving else { return };
        let Some(from) = Peer::from_source(pattern.source) else { return };
        if let Some(comm) = self.world_comm_of(pattern.context)
            && self.gone.contains(from)
        {
            *failure = Some(absent(self.engine.node(), from, comm));
            self.engine.cancel_recv(*op);
        }
    }

    /// The process that an agreement waits for, and on which context.
    pub fn awaited_by<T>(&self, agreement: &Agreement<T>) -> Option<(Peer, u32)> {
        let Awaited { pattern, .. } = agreement.receiving.as_ref()?;
        Some((Peer::from_source(pattern.source)?, pattern.context))
    }

    /// Why a receive will never complete, if the sender has ended or one of the members has died.
    fn dead_in(&self, awaited: &Awaited) -> Option<Error> {
        let node = self.engine.node();
        if !node.may_lose_peers() && !self.failures.any() {
            return None;
        }
        let Awaited { pattern, members, .. } = awaited;
        let from = Peer::from_source(pattern.source).filter(|&from| node.has_ended(from));
        self.dead_among(pattern.context, members)
            .or_else(|| from.map(|from| died(node, from, self.comm_of(pattern.context))))
    }

    /// The peers for ids that another process sent.
    fn peers_at(&mut self, ids: &[ProcessId], introduction: &[u64]) -> Result<Vec<Peer>> {
        self.meet(introduction, ids)?;
        let mut peers = Vec::with_capacity(ids.len());
        for id in ids {
            match self.engine.peer_at(*id) {
                Ok(peer) => peers.push(peer),
                Err(error) => bail!(
                    MPI_ERR_OTHER,
                    "process {} on node {} of another job cannot be reached: {error}",
                    id.slot.index(),
                    id.node
                ),
            }
        }
        Ok(peers)
    }
}

#[cold]
fn garbled(why: &str) -> Error {
    Error::new(
        MPI_ERR_OTHER,
        format!("the processes do not call the same collective operations in the same order ({why})"),
    )
}
