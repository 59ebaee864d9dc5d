//! Random point-to-point programs. A [`Program`] is a list of messages with times. Every such list
//! is a program that ends, so a failing one can be shrunk by leaving messages out.
//!
//! ```text
//! program.rs   what a program is, and the actions of each rank
//! runner.rs    the ranks run it over a simulated network and note what they see
//! model.rs     a serial model says whether they may have seen that
//! ```
//!
//! *Why a program ends.* The times put all sends, receives and waits into one serial order, and
//! each rank performs its own actions in that order. A wait is in it only where enough of what it
//! waits for comes earlier; everything else is waited for at the end. Messages of different
//! [`Key`]s never compete for a receive, and each key has as many receives as messages.

use crate::{ANY_SOURCE, ANY_TAG};
use oxmpi_core::matching::Pattern;
use oxmpi_transport::sim::Faults;

#[derive(Clone, Debug)]
pub struct Program {
    pub ranks: usize,
    /// Determines the faults of the network.
    pub seed: u64,
    /// A rank that dies, and when.
    pub death: Option<(usize, u64)>,
    pub messages: Vec<Message>,
}

/// A message, and the receive that its receiver posts for it (which may get another message of the
/// same key).
#[derive(Clone, Debug)]
pub struct Message {
    pub from: usize,
    pub to: usize,
    /// Its context, which determines how its receiver asks for it: see [`Key`].
    pub class: u32,
    pub tag: i32,
    pub length: usize,
    pub synchronous: bool,
    /// The block length of the sender's buffer, with gaps between blocks; 0: dense.
    pub sender_block: usize,
    pub receiver_block: usize,
    /// Cancelled after so many turns, and sent again if that succeeded.
    pub cancel: Option<usize>,
    /// The receive is cancelled after so many turns, and posted again if that succeeded.
    pub cancel_receive: Option<usize>,
    /// Probed for and received by a matched receive.
    pub probe: bool,
    /// The receive has room for only half of the message.
    pub short: bool,
    /// When it is sent, and when its receive is posted.
    pub sent_at: usize,
    pub received_at: usize,
    /// How much later the program waits for the send and the receive.
    pub wait_send: Option<usize>,
    pub wait_receive: Option<usize>,
}

/// Messages that the same receives accept: with the same receiver and class; with the same source
/// unless the class is for any source, and the same tag unless it is for any tag.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    pub to: usize,
    pub class: u32,
    pub source: i32,
    pub tag: i32,
}

/// An action of a rank, by the number of the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Send(usize),
    Receive(usize),
    /// As [`Action::Receive`], but waits for the message first and takes it.
    Probe(usize),
    WaitSend(usize),
    WaitReceive(usize),
}

impl Message {
    /// The length that is sent: whole blocks if the buffer has blocks.
    pub fn sent_length(&self) -> usize {
        if self.sender_block == 0 { self.length } else { self.length.next_multiple_of(self.sender_block) }
    }
}

impl Key {
    pub fn pattern(&self) -> Pattern {
        Pattern { context: 2 * self.class, source: self.source, tag: self.tag }
    }
}

impl Program {
    pub fn faults(&self) -> Faults {
        Faults { death: self.death, ..Faults::from_seed(self.seed) }
    }

    pub fn key(&self, message: usize) -> Key {
        let Message { from, to, class, tag, .. } = self.messages[message];
        // A receive from any source cannot complete when a rank dies; that is another test.
        let class = if self.death.is_some() { class & !1 } else { class };
        let source = if class & 1 != 0 { ANY_SOURCE } else { from as i32 };
        let tag = if class & 2 != 0 { ANY_TAG } else { tag };
        Key { to, class, source, tag }
    }

    /// The longest message of a key, which every receive has room for.
    pub fn longest(&self, key: Key) -> usize {
        let of_key = (0..self.messages.len()).filter(|&n| self.key(n) == key);
        of_key.map(|n| self.messages[n].sent_length()).max().unwrap_or(0)
    }

    /// What each rank does, in order.
    pub fn actions(&self) -> Vec<Vec<Action>> {
        let mut times = Vec::new();
        for (n, message) in self.messages.iter().enumerate() {
            let (sent_at, received_at) = (n + message.sent_at, n + message.received_at);
            times.push((sent_at, Action::Send(n)));
            times.push((received_at, if message.probe { Action::Probe(n) } else { Action::Receive(n) }));
            times.extend(message.wait_send.map(|later| (sent_at + later, Action::WaitSend(n))));
            times.extend(message.wait_receive.map(|later| (received_at + later, Action::WaitReceive(n))));
        }
        // Stable, so that a wait comes after what it waits for.
        times.sort_by_key(|&(time, _)| time);
        let mut ranks = vec![Vec::new(); self.ranks];
        let mut earlier: Vec<Action> = Vec::new();
        for (_, action) in times {
            if let Some((rank, action)) = self.place(action, &earlier) {
                ranks[rank].push(action);
                earlier.push(action);
            }
        }
        ranks
    }

    /// The rank of an action, and the action itself: a wait that might never end is left out, and a
    /// probe that might not is a plain receive.
    fn place(&self, action: Action, earlier: &[Action]) -> Option<(usize, Action)> {
        let is_receive = |other: &&Action| matches!(other, Action::Receive(_) | Action::Probe(_));
        let of_key = |key: Key| move |other: &&Action| self.key(other.message()) == key;
        let receives = |key: Key| earlier.iter().filter(is_receive).filter(of_key(key)).count();
        let sends =
            |key: Key| earlier.iter().filter(|other| matches!(other, Action::Send(_))).filter(of_key(key)).count();
        let n = action.message();
        let (message, key) = (&self.messages[n], self.key(n));
        match action {
            Action::Send(_) => Some((message.from, action)),
            Action::Receive(_) => Some((message.to, action)),
            Action::Probe(_) => {
                let enough = sends(key) > receives(key);
                Some((message.to, if enough { action } else { Action::Receive(n) }))
            }
            Action::WaitReceive(_) => {
                let before = earlier.iter().take_while(|other| !(is_receive(other) && other.message() == n));
                let index = before.filter(is_receive).filter(of_key(key)).count();
                (sends(key) > index).then_some((message.to, action))
            }
            // Which of the key's receives gets the message is unknown: all must be posted.
            Action::WaitSend(_) => {
                let all = (0..self.messages.len()).filter(|&other| self.key(other) == key).count();
                (receives(key) == all).then_some((message.from, action))
            }
        }
    }
}

impl Action {
    pub fn message(self) -> usize {
        match self {
            Action::Send(n) | Action::Receive(n) | Action::Probe(n) | Action::WaitSend(n) | Action::WaitReceive(n) => n,
        }
    }
}
