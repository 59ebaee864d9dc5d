//! The serial model: from what every rank sent, in order, and the source of each wildcard receive,
//! it computes which message each receive must have got, and compares.

use crate::program::{Key, Program};
use crate::runner::{Certainty, Log, Received, content};
use crate::{ANY_SOURCE, ANY_TAG};
use oxmpi_abi::constants::{MPI_ERR_PROC_ABORTED, MPI_ERR_TRUNCATE};
use std::collections::BTreeSet;

/// What is wrong with a run, if anything.
pub fn check(program: &Program, logs: &[Log]) -> Result<(), String> {
    // It may also die after its actions, while it waits for the others.
    let dead = program.death.map(|(rank, _)| rank);
    let mut received = BTreeSet::new();
    for (rank, log) in logs.iter().enumerate().filter(|(rank, _)| dead != Some(*rank)) {
        if !log.ended {
            return Err(format!("rank {rank} has not ended"));
        }
        check_sends(program, rank, log, dead)?;
        let mut keys: Vec<Key> = log.received.iter().map(|receive| receive.key).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let mut pending = Pending::new(program, logs, key, dead);
            for receive in log.received.iter().filter(|receive| receive.key == key) {
                let matched = pending.take(program, receive).map_err(|why| format!("rank {rank}, {key:?}: {why}"))?;
                received.extend(matched);
            }
        }
    }
    // Everything sent between living ranks was received.
    for (n, message) in program.messages.iter().enumerate() {
        if dead.is_none_or(|dead| message.from != dead && message.to != dead) && !received.contains(&n) {
            return Err(format!("message {n} was lost"));
        }
    }
    Ok(())
}

fn check_sends(program: &Program, rank: usize, log: &Log, dead: Option<usize>) -> Result<(), String> {
    for sent in &log.sent {
        let n = sent.message;
        let Some(outcome) = &sent.outcome else { return Err(format!("rank {rank}: send {n} has no end")) };
        match &outcome.error {
            Some(error) if dead == Some(program.messages[n].to) && error.class() == MPI_ERR_PROC_ABORTED => {}
            Some(error) => return Err(format!("rank {rank}: send {n}: {}", error.text())),
            None => {}
        }
    }
    Ok(())
}

/// Messages of a key that no receive has got yet, by source and in the order of sending.
struct Pending {
    key: Key,
    sources: Vec<Vec<(usize, Certainty)>>,
    dead: Option<usize>,
}

impl Pending {
    fn new(program: &Program, logs: &[Log], key: Key, dead: Option<usize>) -> Pending {
        let of_key = |log: &Log| {
            let sent = log.sent.iter().filter(|sent| sent.state != Certainty::Withdrawn);
            sent.filter(|sent| program.key(sent.message) == key).map(|sent| (sent.message, sent.state)).collect()
        };
        Pending { key, sources: logs.iter().map(of_key).collect(), dead }
    }

    /// The message that a receive must have got, if any; an error says how it differs from what it
    /// got.
    fn take(&mut self, program: &Program, receive: &Received) -> Result<Option<usize>, String> {
        let Some((outcome, bytes)) = &receive.outcome else { return Err("a receive has no end".into()) };
        let truncated = match &outcome.error {
            None => false,
            Some(error) if error.class() == MPI_ERR_TRUNCATE => true,
            Some(error) if error.class() == MPI_ERR_PROC_ABORTED && self.is_dead(self.key.source) => return Ok(None),
            Some(error) => return Err(error.text().into()),
        };
        let (source, tag) = (outcome.status.source, outcome.status.tag);
        if self.key.source != ANY_SOURCE && source != self.key.source {
            return Err(format!("a message from {source}"));
        }
        if self.key.tag != ANY_TAG && tag != self.key.tag {
            return Err(format!("a message with tag {tag}"));
        }
        let is_dead = self.is_dead(source);
        let Some(queue) = self.sources.get_mut(source as usize) else { return Err(format!("no rank {source}")) };
        loop {
            if queue.is_empty() {
                return Err(format!("a message from {source} more than it sent"));
            }
            let (n, certainty) = queue.remove(0);
            let result = compare(program, n, tag, receive.room, truncated, bytes);
            // A receive that failed with the death of a rank may have taken the message with it,
            // and a message that the dead rank was withdrawing may never have arrived.
            if result.is_ok() || !(is_dead || certainty == Certainty::Perhaps) {
                return result.map(|()| Some(n)).map_err(|why| format!("message {n} from {source}: {why}"));
            }
        }
    }

    fn is_dead(&self, source: i32) -> bool {
        self.dead.is_some_and(|dead| dead as i32 == source)
    }
}

fn compare(program: &Program, n: usize, tag: i32, room: usize, truncated: bool, bytes: &[u8]) -> Result<(), String> {
    let message = &program.messages[n];
    let length = message.sent_length();
    if tag != message.tag {
        return Err(format!("tag {tag} instead of {}", message.tag));
    }
    if truncated != (length > room) {
        return Err(format!("{length} bytes into {room}: truncated is {truncated}"));
    }
    if bytes.len() != length.min(room) {
        return Err(format!("{} bytes instead of {}", bytes.len(), length.min(room)));
    }
    let expected = content(n, message.length);
    match expected.iter().zip(bytes).position(|(expected, byte)| expected != byte) {
        Some(i) => Err(format!("byte {i} of {length} is damaged")),
        None => Ok(()),
    }
}
