//! What the ranks of a node ask their agent for (`oxmpi_boot::requests`): whom the [`Door`] lets in, and news for processes
//! of other jobs. Requests that concern the whole job are given to the owner of the door.
//!
//! A rank is trusted no more than its socket, which a program may inherit: a record that makes no sense is ignored, and
//! no rank can ask in the name of another one.

use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use oxmpi_base::socket::{self, Ready};
use oxmpi_boot::handshake::{End, Key, MOST_TEXT};
use oxmpi_boot::requests::{self, Answer, MOST_BYTES, NameRequest, Purpose, Request, SentBallot, Stage, VoteId};
use oxmpi_transport::tcp::connect::answer;

use crate::door::{Admission, Door};
use crate::one_sided::Caller;

/// Keys that one rank may have at a time.
const MOST_ADMISSIONS: usize = 1 << 16;

/// Connections from nodes that cannot be reached, which the ranks of a node await at a time.
const MOST_AWAITED: usize = 4096;

/// A request of the rank in a slot that the door cannot carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankRequest {
    pub slot: usize,
    pub kind: RequestKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestKind {
    /// Other hosts shall find this node.
    Listen {
        ticket: u32,
    },
    Names {
        ticket: u32,
        what: NameRequest,
    },
    /// A process or the agent of another node shall connect to this node, for a connection of this number.
    ConnectBack {
        number: u32,
        to: End,
    },
    /// A ballot in a vote of processes of several nodes.
    Vote {
        vote: VoteId,
        members: Vec<(u32, u32)>,
        ballot: SentBallot,
    },
    /// A context that processes of other nodes have, too.
    Revoke {
        context: u32,
    },
    /// The rank aborts a communicator of these world ranks, in runs.
    Abort {
        members: Vec<(u32, u32)>,
    },
    /// The link to this world rank is broken.
    LinkBroken {
        rank: u32,
        why: String,
    },
}

/// A connection that a rank awaits from a node that it cannot reach.
pub(crate) struct Awaited {
    slot: usize,
    pub from: End,
    /// Where the rank takes it.
    pub socket: OwnedFd,
}

impl Door {
    /// Reads the requests that have come.
    pub fn hear_ranks(&mut self) -> Vec<RankRequest> {
        let (mut unserved, mut ready) = (Vec::new(), Vec::new());
        // A set of descriptors of this process fails for no reason that could be mended here.
        if self.asking.as_ref().is_none_or(|asking| asking.wait(Duration::ZERO, &mut ready).is_err()) {
            return unserved;
        }
        let mut bytes = vec![0; if ready.is_empty() { 0 } else { MOST_BYTES + 1 }];
        for slot in ready.into_iter().map(|Ready(slot)| slot as usize) {
            loop {
                let attached;
                let count = match socket::receive_with_fds(self.ranks[slot].as_fd(), &mut bytes) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Ok((count @ 1.., mut fds)) => {
                        attached = fds.pop();
                        count
                    }
                    // The rank has ended.
                    Err(_) | Ok(_) => {
                        if let Some(asking) = &self.asking {
                            asking.remove(self.ranks[slot].as_fd());
                        }
                        self.watchers.closed(slot);
                        break;
                    }
                };
                if let Some(request) = requests::read(&bytes[..count]) {
                    unserved.extend(self.on_request(slot, request, attached).map(|kind| RankRequest { slot, kind }));
                }
            }
        }
        unserved
    }

    fn on_request(&mut self, slot: usize, request: Request, attached: Option<OwnedFd>) -> Option<RequestKind> {
        match request {
            Request::Listen { ticket } => return Some(RequestKind::Listen { ticket }),
            Request::Names { ticket, what } => return Some(RequestKind::Names { ticket, what }),
            Request::Vote { vote, members, ballot } => return Some(RequestKind::Vote { vote, members, ballot }),
            Request::Revoke { context } => return Some(RequestKind::Revoke { context }),
            Request::Abort { members } => return Some(RequestKind::Abort { members }),
            Request::LinkBroken { rank, why } => return Some(RequestKind::LinkBroken { rank, why }),
            Request::ConnectBack { node, slot: to } => {
                let (socket, from) = (attached?, End { node, slot: to });
                // A rank that has ended, or has given up, has closed its socket.
                self.awaited.retain(|_, awaited| !socket::is_closed(awaited.socket.as_fd()));
                if self.awaited.len() >= MOST_AWAITED {
                    return None;
                }
                self.next_awaited = self.next_awaited.wrapping_add(1);
                self.awaited.insert(self.next_awaited, Awaited { slot, from, socket });
                return Some(RequestKind::ConnectBack { number: self.next_awaited, to: from });
            }
            Request::Windows => {
                // Whatever it is, it is read and written as a stream is; one that is none ends with the first error.
                self.one_sided.push(Caller { stream: attached?.into(), local_slot: Some(slot as u32) });
            }
            Request::Stage(stage) if stage <= Stage::Finalized => self.watchers.set(slot, stage),
            // Only the agent knows how a process has ended.
            Request::Stage(_) => {}
            Request::Admit { key_id, key, purpose } => {
                let wanted = |admission: &&Admission| admission.slots.as_ref().is_some_and(|all| all.contains(&slot));
                if self.admissions.values().filter(wanted).count() < MOST_ADMISSIONS {
                    self.admit_key(slot, key_id, key, purpose);
                }
            }
            Request::Dismiss { key_id } => {
                if let Some(Admission { slots: Some(slots), .. }) = self.admissions.get_mut(&key_id) {
                    slots.retain(|&known| known != slot);
                    if slots.is_empty() {
                        self.admissions.remove(&key_id);
                    }
                }
            }
        }
        None
    }

    fn admit_key(&mut self, slot: usize, key_id: [u8; 16], key: [u8; 32], purpose: Purpose) {
        let new = || Admission { key: Key::from_bytes(key), purpose, slots: Some(Vec::new()) };
        let known = self.admissions.entry(key_id).or_insert_with(new);
        // A rank that names the number of a key of others must know that key.
        let is_same = *known.key.as_bytes() == key && known.purpose == purpose;
        if let Some(slots) = known.slots.as_mut().filter(|slots| is_same && !slots.contains(&slot)) {
            slots.push(slot);
        }
    }

    /// A connection that a rank awaits will not come.
    pub fn give_up(&mut self, number: u32, why: &str) {
        if let Some(Awaited { socket, .. }) = self.awaited.remove(&number) {
            let text = &why.as_bytes()[..why.len().min(MOST_TEXT)];
            // A rank that is gone hears nothing.
            let _ = socket::send(socket.as_fd(), if text.is_empty() { b"?" } else { text });
        }
    }

    /// Answers a rank. One that does not read its answers gets none.
    pub fn answer(&self, slot: usize, said: &Answer) {
        if let (Some(rank), Ok(bytes)) = (self.ranks.get(slot), postcard::to_stdvec(said)) {
            let _ = answer(rank.as_fd(), &bytes);
        }
    }

    /// Gives a rank an answer that must not be lost: one that has no room for it gets it later.
    pub fn answer_surely(&mut self, slot: usize, said: &Answer) {
        if let Ok(bytes) = postcard::to_stdvec(said) {
            self.unsent.push((slot, bytes));
            self.send_answers();
        }
    }

    /// Gives the ranks the answers that they had no room for, in their order.
    pub(crate) fn send_answers(&mut self) {
        let mut full = Vec::new();
        let ranks = &self.ranks;
        self.unsent.retain(|(slot, bytes)| {
            let Some(rank) = ranks.get(*slot) else { return false };
            let sent =
                if full.contains(slot) { Err(io::ErrorKind::WouldBlock.into()) } else { answer(rank.as_fd(), bytes) };
            let waits = matches!(&sent, Err(error) if error.kind() == io::ErrorKind::WouldBlock);
            if waits {
                full.push(*slot);
            }
            waits
        });
    }

    /// Whether a rank has closed its socket.
    pub fn has_ended(&self, slot: usize) -> bool {
        self.watchers.closed.get(slot).is_none_or(|&closed| closed)
    }

    /// What a rank last said of its end.
    pub fn stage(&self, slot: usize) -> Option<Stage> {
        self.watchers.stages.get(slot).copied()
    }

    /// A rank's process has ended; `well`: after MPI had ended in it.
    pub fn rank_ended(&mut self, slot: usize, well: bool) {
        self.watchers.set(slot, if well { Stage::Ended } else { Stage::Died });
        self.awaited.retain(|_, awaited| awaited.slot != slot);
        self.admissions.retain(|_, admission| match &mut admission.slots {
            Some(slots) => {
                slots.retain(|&known| known != slot);
                !slots.is_empty()
            }
            None => true,
        });
    }
}

/// Connections of processes of other jobs that want to know how the ranks of this node end.
#[derive(Default)]
pub(crate) struct Watchers {
    stages: Vec<Stage>,
    closed: Vec<bool>,
    list: Vec<Watcher>,
}

struct Watcher {
    stream: TcpStream,
    unsent: Vec<u8>,
}

impl Watchers {
    pub fn expect(&mut self, ranks: usize) {
        self.stages = vec![Stage::Running; ranks];
        self.closed = vec![false; ranks];
    }

    fn closed(&mut self, slot: usize) {
        self.closed[slot] = true;
    }

    pub fn add(&mut self, stream: TcpStream) {
        let ended = self.stages.iter().enumerate().filter(|(_, stage)| **stage != Stage::Running);
        let unsent = ended.flat_map(|(slot, &stage)| record(slot, stage)).collect();
        self.list.push(Watcher { stream, unsent });
        self.work();
    }

    pub fn set(&mut self, slot: usize, stage: Stage) {
        let Some(known) = self.stages.get_mut(slot).filter(|known| **known != stage) else { return };
        *known = stage;
        for watcher in &mut self.list {
            watcher.unsent.extend(record(slot, stage));
        }
        self.work();
    }

    pub fn is_waiting(&self) -> bool {
        self.list.iter().any(|watcher| !watcher.unsent.is_empty())
    }

    /// Sends what can be sent; forgets watchers that have ended.
    pub fn work(&mut self) {
        self.list.retain_mut(|watcher| {
            while !watcher.unsent.is_empty() {
                match (&watcher.stream).write(&watcher.unsent) {
                    Ok(count) => drop(watcher.unsent.drain(..count)),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
                }
            }
            !socket::is_closed(watcher.stream.as_fd())
        });
    }
}

fn record(slot: usize, stage: Stage) -> [u8; 8] {
    let [a, b, c, d] = (slot as u32).to_le_bytes();
    let [e, f, g, h] = (stage as u32).to_le_bytes();
    [a, b, c, d, e, f, g, h]
}
