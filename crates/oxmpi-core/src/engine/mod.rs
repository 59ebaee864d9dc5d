//! Point-to-point messages: how a send becomes packets and how packets find their receive.
//!
//! ```text
//! send.rs       small: one packet, or a first and some more      EAGER, MORE
//!               large or synchronous: an offer that waits        OFFER
//! protocol.rs   which of the two, decided in one place
//! recv.rs       packets meet posted receives, or are kept        (matching/)
//! here.rs       short messages that are here when they are received
//! transfers.rs  messages that were offered: the links move their bytes, the engine says when and tells the peer
//! loopback.rs   messages to oneself
//! long.rs       what may need this process while its program computes
//! network.rs    messages between nodes
//! calls.rs      in which collective call processes of other nodes wait
//! foreign.rs    processes of other jobs come and go
//! ended.rs      what is left of processes that have ended, and of contexts that were revoked
//! quiet.rs      whether anything moves by itself
//! ops.rs        operations under way, and how they ended
//! ```
//!
//! [`Engine::progress`] drives everything here. It never blocks and never calls a function of the
//! user. The caller waits, so that it can let other threads in.

mod calls;
mod ended;
mod foreign;
mod here;
mod long;
mod loopback;
mod network;
mod ops;
mod protocol;
mod quiet;
mod recv;
mod send;
mod transfers;

use crate::check;
use crate::check::calls::{CallRecord, MOST_EARLY};
use crate::matching::{Envelope, MessageId, PostedQueue, UnexpectedQueue};
use crate::settings;
use long::Long;
use ops::Ops;
use oxmpi_abi::constants::MPI_ERR_INTERN;
use oxmpi_abi::{Error, Status};
use oxmpi_base::message_queues::{OpsPlace, PostedPlace, UnexpectedPlace};
use oxmpi_base::valgrind;
use oxmpi_coll::tuning::Limit;
use oxmpi_datatype::Signature;
use oxmpi_transport::transfer::{self, Control};
use oxmpi_transport::{
    ASK_CALL, Armed, CALL_RECORD, EAGER, Incoming, Life, Links, MORE, NodeMemory, OFFER, Outgoing, Packet, Peer,
    PeerTable, REVOKED, SIGNATURE, TELL_CALL,
};
use std::collections::VecDeque;
use std::mem::offset_of;
use std::ops::{Deref, DerefMut};

pub use calls::{News, Position};
pub use foreign::{BY_PROCESS, Pending};
pub use ops::{OpId, Outcome};
pub use protocol::Mode;
pub use recv::Message;
pub use send::Route;

/// The flag of an EAGER packet that is also an offer.
const SYNC: u8 = 1;

/// Packets that one call of `progress` takes from one peer before it goes on to the next.
const BATCH: usize = 64;

/// Bytes of stored messages from one peer beyond which it is asked to offer messages instead of sending them.
pub const STORE_LIMIT: usize = 64 << 20;

/// A peer of another node may send so many bytes in any case.
const LEAST_SHARE: usize = 256 << 10;

/// The messages of a process. The receiving half of its links is separate from the rest, so that a
/// packet can be read in place while it is matched and answered.
pub struct Engine {
    rx: Incoming,
    messages: Messages,
    /// Peers of the job on other nodes whose links have broken, and who may live.
    broken_links: Vec<(Peer, Error)>,
    /// Those that were told of, while both ends live.
    lost_links: Vec<Peer>,
    /// The sender that `progress` serves first.
    first_sender: usize,
    last_sender: here::LastSender,
}

/// All of an [`Engine`] but the receiving half of the links.
pub struct Messages {
    tx: Outgoing,
    ops: Ops,
    posted: PostedQueue<OpId>,
    unexpected: UnexpectedQueue<Message>,
    peers: PeerTable<PeerState>,
    /// Peers with something in `PeerState::queue`.
    waiting_queues: Vec<Peer>,
    /// Operations whose transfers need steps by this rank.
    transfers: Vec<OpId>,
    /// Messages that were offered to other hosts and given up since; their receivers have not answered.
    given_up: Vec<transfers::GivenUp>,
    /// Peers that must be told that they shall send offers only, or that they need not any more.
    pressure_news: Vec<Peer>,
    /// Which collective calls processes of other nodes wait in.
    calls: calls::CallNews,
    /// Collective calls of others that have arrived, for `--check`.
    call_records: Vec<CallRecord>,
    /// The number of packets about transfers.
    told: u64,
    /// Processes have ended, or contexts were revoked, and the caller has not been told.
    has_news: bool,
    /// Contexts of which others have said so in a message.
    revoked: Vec<u32>,
    long: Long,
}

impl Deref for Engine {
    type Target = Messages;

    #[inline(always)]
    fn deref(&self) -> &Messages {
        &self.messages
    }
}

impl DerefMut for Engine {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Messages {
        &mut self.messages
    }
}

/// What is under way between this rank and one peer.
#[derive(Default)]
struct PeerState {
    /// Messages and controls that found no room in the ring, in order.
    queue: VecDeque<Queued>,
    assembly: Assembly,
    /// Bytes of this peer's messages that are stored here.
    stored: usize,
    pressed: bool,
    /// What the next message of this peer says about its type.
    signature: Signature,
}

enum Queued {
    Message(OpId),
    Control(Control),
    /// The peer has ended: nothing is sent to it any more. It stays first in the queue, so that no send takes the short way.
    Ended,
}

/// The destination of the rest of a message that comes in parts.
#[derive(Default, Clone, Copy)]
enum Assembly {
    #[default]
    None,
    Receive(OpId, u64),
    Store(MessageId, u64),
    /// The message was withdrawn in the meantime.
    Discard(u64),
}

impl Engine {
    pub fn new(links: Links, single_copy: bool) -> Engine {
        let Links { mut tx, rx } = links;
        tx.limit_eager(settings::tuning().bytes(Limit::Eager) as usize);
        if !single_copy {
            tx.forbid_copies();
        }
        if valgrind::is_on() {
            // It does not see what other processes write into this one.
            tx.stream_messages();
        }
        tx.on_open(protocol::explain_link);
        let ranks = tx.node().ranks();
        let messages = Messages {
            tx,
            ops: Ops::default(),
            posted: PostedQueue::new(),
            unexpected: UnexpectedQueue::new(),
            peers: PeerTable::new(ranks),
            waiting_queues: Vec::new(),
            transfers: Vec::new(),
            given_up: Vec::new(),
            pressure_news: Vec::new(),
            calls: calls::CallNews::default(),
            call_records: Vec::new(),
            told: 0,
            has_news: false,
            revoked: Vec::new(),
            long: Long::OFF,
        };
        Engine {
            rx,
            messages,
            broken_links: Vec::new(),
            lost_links: Vec::new(),
            first_sender: 0,
            last_sender: here::LastSender::default(),
        }
    }

    /// Where a debugger finds the queues of an engine at `offset`.
    pub fn places(offset: usize) -> (PostedPlace, UnexpectedPlace, OpsPlace) {
        let messages = offset + offset_of!(Engine, messages);
        let unexpected = messages + offset_of!(Messages, unexpected);
        (
            PostedQueue::<OpId>::place(messages + offset_of!(Messages, posted)),
            UnexpectedQueue::<Message>::place(unexpected, offset_of!(Message, bytes)),
            Ops::place_of_all(messages + offset_of!(Messages, ops)),
        )
    }

    /// Moves all messages that can move. `true` when an operation may have completed.
    #[inline]
    pub fn progress(&mut self) -> bool {
        let mut moved = false;
        if self.rx.has_foreign_news(self.messages.tx.node()) {
            moved = self.see_foreign_senders();
        }
        let mut matched = false;
        let senders = self.rx.senders(&mut self.messages.tx);
        // The first place rotates, so that no sender starves behind another's flood of packets.
        let next = |index: usize| if index + 1 < senders { index + 1 } else { 0 };
        self.first_sender = next(self.first_sender);
        let mut index = self.first_sender;
        for _ in 0..senders {
            // A sender that has been refused is gone from the list.
            let Some(peer) = self.rx.sender(index) else { break };
            if !self.rx.is_empty(peer) {
                matched |= self.drain(peer, matched);
            }
            index = next(index);
        }
        let Messages { transfers, waiting_queues, pressure_news, .. } = &self.messages;
        if !(transfers.is_empty() && waiting_queues.is_empty() && pressure_news.is_empty()) {
            moved |= self.progress_slow();
        }
        moved | matched
    }

    /// Handles every packet that has arrived, however many there are: for a caller that is about to
    /// conclude that no more will come.
    #[cold]
    pub fn drain_all(&mut self) {
        if self.rx.has_foreign_news(self.messages.tx.node()) {
            self.see_foreign_senders();
        }
        if self.rx.has_network() {
            while self.progress_network(true) {}
        }
        let senders = self.rx.senders(&mut self.messages.tx);
        let senders: Vec<Peer> = (0..senders).filter_map(|index| self.rx.sender(index)).collect();
        for peer in senders {
            while self.rx.next(peer).is_some() {
                self.drain(peer, false);
            }
        }
    }

    #[inline(never)]
    fn progress_slow(&mut self) -> bool {
        for peer in std::mem::take(&mut self.messages.pressure_news) {
            let pressed = self.messages.peers.at(peer).pressed;
            self.rx.set_pressure(peer, pressed);
            self.messages.tx.note_pressure(peer);
        }
        self.push_queues() | self.push_transfers()
    }

    /// Handles packets from one peer. Once a packet has matched a receive (`matched`: one of another peer in the same turn),
    /// a later packet that would have to be stored is left in the ring: its receive is probably about to be posted.
    #[inline(never)]
    fn drain(&mut self, peer: Peer, mut matched: bool) -> bool {
        let messages = &mut self.messages;
        for _ in 0..BATCH {
            let Some(packet) = self.rx.next(peer) else { break };
            let arrived = match packet.kind() {
                EAGER => messages.arrive_eager(peer, &packet, matched),
                OFFER => messages.arrive_offer(peer, &packet, matched),
                _ => messages.arrive_other(peer, &packet),
            };
            match arrived {
                Arrived::Done(found) => matched |= found,
                Arrived::Deferred => break,
                Arrived::Wrong(why) => return self.refuse(peer, why),
            }
            let size = packet.size();
            self.rx.pop(peer, size, messages.tx.node());
        }
        matched
    }
}

impl Engine {
    /// A peer sent an invalid packet. Nothing more is read from it. All operations with it end with
    /// an error, and so do the posted receives that it might have matched.
    #[cold]
    fn refuse(&mut self, peer: Peer, why: &'static str) -> bool {
        self.break_link(peer, Error::new(MPI_ERR_INTERN, format!("{peer} sent a packet that makes no sense: {why}")))
    }
}

/// The result of handling a packet.
enum Arrived {
    /// Handled; `true` when an operation may have completed.
    Done(bool),
    /// It would have to be stored, and stays in the ring for now.
    Deferred,
    /// A peer that follows the protocol never sends it.
    Wrong(&'static str),
}

impl Messages {
    /// Facts and memory of the node. No message goes through it.
    #[inline]
    pub fn node(&self) -> &NodeMemory {
        self.tx.node()
    }

    /// Facts and memory of the node, to allocate from its segment.
    pub fn node_mut(&mut self) -> &mut NodeMemory {
        self.tx.node_mut()
    }

    /// Tells all peers that this thread is about to sleep; `alone`: it is the only one of the process
    /// in the library.
    pub fn arm(&mut self, alone: bool) -> Armed {
        self.tx.arm(alone)
    }

    /// Whether a process is still running, as far as its link knows.
    pub fn life(&self, peer: Peer) -> Life {
        self.tx.life(peer)
    }

    /// Whether single copies are allowed, as far as is known.
    pub fn may_copy(&self) -> bool {
        self.tx.may_copy()
    }

    #[inline(never)]
    fn arrive_other(&mut self, peer: Peer, packet: &Packet<'_>) -> Arrived {
        match packet.kind() {
            MORE => self.arrive_more(peer, packet),
            transfer::DATA => self.arrive_data(peer, packet),
            transfer::CLAIMED | transfer::STREAM | transfer::WITHDRAWN => self.arrive_answer(peer, packet),
            transfer::WITHDRAW => self.arrive_withdraw(peer, packet),
            transfer::CUT => self.arrive_cut(peer, packet),
            REVOKED => match u32::try_from(packet.word(0)) {
                Ok(context) => self.arrive_revoked(context),
                Err(_) => Arrived::Wrong("it revokes a context that cannot be"),
            },
            ASK_CALL => self.arrive_question(peer, packet),
            TELL_CALL => self.arrive_call(peer, packet),
            SIGNATURE => {
                self.peers.at(peer).signature = Signature::from_word(packet.word(0));
                Arrived::Done(false)
            }
            CALL_RECORD => {
                let record = CallRecord::read(peer, [0, 1, 2, 3].map(|index| packet.word(index)));
                self.note_call_record(record);
                Arrived::Done(true)
            }
            _ => Arrived::Wrong("a kind that does not exist"),
        }
    }

    /// Sends a record of a collective call.
    pub(crate) fn tell_record(&mut self, peer: Peer, record: Control) {
        if peer == self.tx.own() {
            return;
        }
        self.tell(peer, record);
    }

    fn note_call_record(&mut self, record: CallRecord) {
        if check::is_on() && self.call_records.len() < MOST_EARLY {
            self.call_records.push(record);
        }
    }

    pub(crate) fn take_call_records(&mut self) -> Vec<CallRecord> {
        std::mem::take(&mut self.call_records)
    }

    /// Messages of programs that no receive has matched, and their lengths.
    pub(crate) fn unreceived(&self) -> impl Iterator<Item = (Envelope, u64)> {
        // Contexts of communicators are even; odd ones, and negative tags, are the library's own.
        let is_users = |envelope: &Envelope| envelope.context.is_multiple_of(2) && envelope.tag >= 0;
        let all = self.unexpected.iter().map(|(_, envelope, message)| (envelope, message.bytes()));
        all.filter(move |(envelope, _)| is_users(envelope))
    }

    /// Partitions that nobody has received. Announcements are not among them: making a request sends nothing yet.
    pub(crate) fn unreceived_parts(&self) -> impl Iterator<Item = (Envelope, u64)> {
        let all = self.unexpected.iter().map(|(_, envelope, message)| (envelope, message.bytes()));
        all.filter(|(envelope, _)| envelope.sender_of_part().is_some())
    }

    /// Sends a packet about a transfer, now or as soon as the link has room.
    fn tell(&mut self, peer: Peer, control: Control) {
        self.told += 1;
        self.send_control_packet(peer, control);
    }

    fn send_control_packet(&mut self, peer: Peer, control: Control) {
        if !self.peers.at(peer).queue.is_empty() || self.tx.tell(peer, &control).is_err() {
            self.enqueue_control(peer, control);
        }
    }

    /// Packets about transfers pass messages that wait, but for one that has begun: the peer of a long message shall not
    /// wait for short ones that find no room.
    fn enqueue_control(&mut self, peer: Peer, control: Control) {
        if self.has_queue_ended(peer) {
            return;
        }
        let queue = &mut self.peers.at(peer).queue;
        if queue.is_empty() {
            return self.enqueue(peer, Queued::Control(control));
        }
        let has_begun = match queue.front() {
            Some(Queued::Message(op)) => self.ops.send_mut(*op).is_some_and(|send| send.cursor.position() > 0),
            _ => false,
        };
        let first = usize::from(has_begun);
        let controls = queue.iter().skip(first).take_while(|item| matches!(item, Queued::Control(_))).count();
        queue.insert(first + controls, Queued::Control(control));
    }

    fn enqueue(&mut self, peer: Peer, item: Queued) {
        let queue = &mut self.peers.at(peer).queue;
        if queue.is_empty() {
            self.waiting_queues.push(peer);
        }
        queue.push_back(item);
    }

    /// Pushes what waits for room in a ring.
    fn push_queues(&mut self) -> bool {
        let mut moved = false;
        let mut index = 0;
        while index < self.waiting_queues.len() {
            let peer = self.waiting_queues[index];
            moved |= self.push_queue(peer);
            if self.peers.at(peer).queue.is_empty() {
                self.waiting_queues.swap_remove(index);
            } else {
                index += 1;
            }
        }
        moved
    }

    fn push_queue(&mut self, peer: Peer) -> bool {
        let mut moved = false;
        while let Some(item) = self.peers.at(peer).queue.front() {
            let sent = match *item {
                Queued::Control(control) => self.tx.tell(peer, &control).is_ok(),
                Queued::Message(op) => self.push_message(op),
                Queued::Ended => false,
            };
            if !sent {
                break;
            }
            moved = true;
            self.peers.at(peer).queue.pop_front();
        }
        moved
    }

    /// Counts stored bytes of messages from `peer`, and sets or lifts its pressure at the limits.
    fn account_stored(&mut self, peer: Peer, add: usize, remove: usize) {
        let limit = self.store_limit(peer);
        let state = self.peers.at(peer);
        state.stored = state.stored + add - remove;
        let press = if state.pressed { state.stored > limit / 2 } else { state.stored > limit };
        if press != state.pressed {
            state.pressed = press;
            self.pressure_news.push(peer);
        }
    }

    /// Bytes of a peer's messages that are stored at most. All peers of other nodes share one limit.
    #[inline]
    fn store_limit(&self, peer: Peer) -> usize {
        if peer.is_far() { (STORE_LIMIT / self.tx.network_links().max(1)).max(LEAST_SHARE) } else { STORE_LIMIT }
    }

    /// Whether a transfer under way needs steps by this rank.
    pub fn is_busy(&self) -> bool {
        !self.transfers.is_empty()
    }

    // ---- for the owner of an operation ----

    #[inline]
    pub fn is_done(&self, op: OpId) -> bool {
        self.ops.is_done(op)
    }

    /// The position of a completed operation in the order of completion.
    pub fn place(&self, op: OpId) -> u64 {
        self.ops.place(op)
    }

    /// The outcome of a completed operation, which is freed.
    #[inline]
    pub fn take_outcome(&mut self, op: OpId) -> Option<Outcome> {
        self.ops.take_outcome(op)
    }

    /// Frees a completed operation: stores its status where it is wanted and returns its error.
    #[inline]
    pub fn finish(&mut self, op: OpId, status: Option<&mut Status>) -> Option<Option<Error>> {
        self.ops.finish(op, status)
    }

    /// The outcome of a completed operation, which stays.
    pub fn outcome(&self, op: OpId) -> Option<&Outcome> {
        self.ops.outcome(op)
    }

    /// Frees the operation when it completes; nobody will take its outcome.
    pub fn detach(&mut self, op: OpId) {
        self.ops.detach(op);
    }

    /// Whether an operation under way uses this context or its twin.
    pub fn is_at_work_on(&self, context: u32) -> bool {
        let ours = |other: u32| other & !1 == context;
        self.ops.send_contexts().any(ours) || self.posted.iter().any(|(_, pattern, _)| ours(pattern.context))
    }

    /// Whether an operation under way or a waiting message uses this context or its twin.
    pub fn uses_context(&self, context: u32) -> bool {
        let ours = |other: u32| other & !1 == context;
        self.is_at_work_on(context) || self.unexpected.iter().any(|(_, envelope, _)| ours(envelope.context))
    }

    // ---- for tools ----

    /// The longest message to another process of the node that is sent without asking its receiver.
    pub fn eager_limit(&self) -> usize {
        self.tx.caps(self.tx.own()).eager
    }

    /// Bytes of messages that are stored until they are received.
    pub fn stored(&self) -> usize {
        self.peers.iter().map(|(_, state)| state.stored).sum()
    }

    /// The number of messages that have arrived without a posted receive.
    pub fn unexpected(&self) -> usize {
        self.unexpected.len()
    }

    /// The ranks that sent such messages on a context.
    pub fn unexpected_on(&self, context: u32) -> impl Iterator<Item = i32> {
        let ours = self.unexpected.iter().filter(move |(_, envelope, _)| envelope.context == context);
        ours.map(|(_, envelope, _)| envelope.source)
    }

    /// The number of posted receives that no message has matched.
    pub fn posted(&self) -> usize {
        self.posted.len()
    }

    /// The number of those on a context.
    pub fn posted_on(&self, context: u32) -> usize {
        self.posted.iter().filter(|(_, pattern, _)| pattern.context == context).count()
    }

    /// Whether nothing that this rank sends is under way any more, except to ranks that have left.
    pub fn is_flushed(&self) -> bool {
        let mut peers = self.waiting_queues.iter().copied().chain(self.ops.pending_sends());
        peers.all(|peer| self.tx.life(peer) != Life::Running) && self.tx.is_network_flushed()
    }
}
