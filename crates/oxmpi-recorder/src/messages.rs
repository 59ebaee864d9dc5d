//! Who gets how much from this rank, and the numbers of messages. The library calls these functions while it holds its lock,
//! so there is one at a time.

use oxmpi_profile::hooks::{ELSEWHERE, Message};
use oxmpi_profile::record::{Peer, Size};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Streams of messages that are told apart; messages of more have no arrows.
const MOST_STREAMS: usize = 1 << 16;
/// Lengths are told apart by their highest bit.
const POWERS: usize = 65;

#[derive(Clone, Copy, Default)]
struct Sum {
    messages: u64,
    bytes: u64,
}

impl Sum {
    fn add(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The end of a message that this process is; of one to itself it is both.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    Sender,
    Receiver,
}

/// All that one rank has sent.
pub struct Messages {
    /// To each rank: messages of the program, and of the library.
    peers: Vec<[Sum; 2]>,
    elsewhere: [Sum; 2],
    sizes: [Sum; POWERS],
    /// How many messages there were so far of the same end, receiver, context, tag and sender: messages of a stream do not
    /// overtake each other, so both ends count the same.
    streams: HashMap<(End, u32, u32, i32, i32), u64>,
}

impl Messages {
    pub fn new() -> Messages {
        let sizes = [Sum::default(); POWERS];
        Messages { peers: Vec::new(), elsewhere: [Sum::default(); 2], sizes, streams: HashMap::new() }
    }

    pub fn sent(&mut self, to: u32, message: &Message) {
        let kind = usize::from(message.is_internal());
        let index = to as usize;
        if to == ELSEWHERE {
            self.elsewhere[kind].add(message.bytes);
        } else {
            if index >= self.peers.len() {
                self.peers.resize(index + 1, [Sum::default(); 2]);
            }
            self.peers[index][kind].add(message.bytes);
        }
        if !message.is_internal() {
            self.sizes[(u64::BITS - message.bytes.leading_zeros()) as usize].add(message.bytes);
        }
    }

    /// The number that the sender and the receiver of a message make of it.
    pub fn flow(&mut self, end: End, receiver: u32, message: &Message) -> Option<u64> {
        if receiver == ELSEWHERE {
            return None;
        }
        let key = (end, receiver, message.context, message.tag, message.source);
        let is_full = self.streams.len() >= MOST_STREAMS;
        let number = match self.streams.entry(key) {
            Entry::Occupied(stream) => stream.into_mut(),
            Entry::Vacant(_) if is_full => return None,
            Entry::Vacant(stream) => stream.insert(0),
        };
        *number += 1;
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let words = [pair(receiver, message.context), pair(message.tag as u32, message.source as u32), *number];
        Some(words.into_iter().fold(0x9e37_79b9_7f4a_7c15, |hash, word| mix(hash ^ word)))
    }

    pub fn peers(&self) -> Vec<Peer> {
        let known = self.peers.iter().enumerate().map(|(to, sums)| (Some(to as u32), sums));
        let one = |(to, sums): (Option<u32>, &[Sum; 2])| [(to, false, sums[0]), (to, true, sums[1])];
        let all = known.chain([(None, &self.elsewhere)]).flat_map(one).filter(|(_, _, sum)| sum.messages > 0);
        all.map(|(to, is_internal, sum)| Peer { to, is_internal, messages: sum.messages, bytes: sum.bytes }).collect()
    }

    pub fn sizes(&self) -> Vec<Size> {
        let used = self.sizes.iter().enumerate().filter(|(_, sum)| sum.messages > 0);
        used.map(|(power, sum)| Size { power: power as u32, messages: sum.messages, bytes: sum.bytes }).collect()
    }
}

/// Spreads the bits of a word over all of it.
fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}
