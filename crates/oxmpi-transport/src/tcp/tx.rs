//! The sending end of a link: packets become frames. Long messages go straight from the user's memory; what is short is
//! copied to a queue, which the socket takes at once but for the last frame that it has no room for.
//!
//! A frame that has begun is finished before another one begins. If the socket takes a part of a long one, the rest stays
//! with its message ([`Unfinished`]): other packets find the link full until the message has sent it.

use super::burst::{Burst, Change};
use super::fabric::FabricEnd;
use super::frame::*;
use super::joint::{Connection, Joint};
use crate::end::Full;
use crate::packet::{CONTROL_WORDS, Head, MORE};
use oxmpi_base::cma::Piece;
use oxmpi_base::socket::PIECES_A_CALL;
use oxmpi_datatype::{Cursor, Source};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) struct TcpTx {
    joint: Arc<Joint>,
    /// `None` until there is one.
    connection: Option<Arc<Connection>>,
    /// A connection of the peer's, should our own not come to be.
    fallback: Option<Arc<Connection>>,
    /// This process makes one, or has made it.
    has_connected: bool,
    /// The connection that this one is given up for.
    next: Option<Arc<Connection>>,
    said_switch: bool,
    /// What the peer is told of our endpoint, as the first frame.
    offer: Option<Vec<u8>>,
    /// The stream over a fabric, once the peer has told of its endpoint: it is the last one that is switched to.
    fabric: Option<Arc<Connection>>,
    /// Bytes that wait for the socket, of which it has taken some.
    queue: Vec<u8>,
    sent: usize,
    unfinished: Option<Unfinished>,
    /// Of the next frame.
    sequence: u32,
    said_leave: bool,
    said_bye: bool,
    /// The peer was asked to let the link rest, and nothing was sent since.
    asked_for_rest: bool,
    bye_at: Option<Instant>,
    /// The socket took nothing of a frame that was to begin.
    is_refused: bool,
    burst: Burst,
    pieces: Vec<Piece>,
}

/// The frame that has begun, behind what is queued.
struct Unfinished {
    /// [`MORE`] for the rest of a message, else the receiver's operation that gets the bytes.
    word: Option<u64>,
    left: usize,
}

/// Time for a provider to send the last frame to a peer that has said farewell.
const PATIENCE: Duration = Duration::from_secs(1);
/// Up to here a message is copied to the queue.
const SHORT: usize = 4 << 10;
/// Blocks shorter than this are packed: a piece costs the kernel more than the copy.
pub(super) const SHORT_BLOCK: usize = 512;
/// What is packed of such blocks at a time.
const PACKED: usize = 64 << 10;
const _: () = assert!(MOST_WITH_BYTES <= SHORT);

impl TcpTx {
    pub fn new(joint: Arc<Joint>, offer: Option<Vec<u8>>) -> TcpTx {
        TcpTx {
            joint,
            offer,
            fabric: None,
            connection: None,
            fallback: None,
            has_connected: false,
            next: None,
            said_switch: false,
            queue: Vec::new(),
            sent: 0,
            unfinished: None,
            sequence: 0,
            said_leave: false,
            said_bye: false,
            asked_for_rest: false,
            bye_at: None,
            is_refused: false,
            burst: Burst::default(),
            pieces: Vec::new(),
        }
    }

    pub fn joint(&self) -> &Arc<Joint> {
        &self.joint
    }

    pub fn connection(&self) -> Option<&Arc<Connection>> {
        self.connection.as_ref()
    }

    /// From now on frames go over this connection.
    pub fn use_connection(&mut self, connection: Arc<Connection>) {
        self.connection = Some(connection);
        self.fallback = None;
        if let Some(offer) = self.offer.take() {
            let header = Header { length: offer.len() as u32, ..Header::link(FABRIC, self.next_sequence()) };
            self.queue.extend_from_slice(&header.to_bytes());
            self.queue.extend_from_slice(&offer);
        }
        self.flush();
    }

    /// From now on frames go over this connection, which this process has made. The peer hears something at once.
    pub fn use_own_connection(&mut self, connection: Arc<Connection>) {
        if self.offer.is_none() {
            self.append_link(EASE);
        }
        self.use_connection(connection);
    }

    /// The peer reads the stream over a fabric: from the next frame on everything goes there.
    pub fn use_fabric(&mut self, connection: Arc<Connection>) {
        self.fabric = Some(connection);
        self.try_switch();
    }

    pub fn set_fallback(&mut self, connection: Arc<Connection>) {
        self.fallback = Some(connection);
    }

    pub fn take_fallback(&mut self) -> Option<Arc<Connection>> {
        self.fallback.take()
    }

    /// Whether the peer has made a connection.
    pub fn has_arrived(&self) -> bool {
        self.joint.has_arrived()
    }

    /// Notes that this process makes a connection.
    pub fn note_connecting(&mut self) {
        self.has_connected = true;
    }

    pub fn has_connected(&self) -> bool {
        self.has_connected
    }

    /// Gives the present connection up for another one, as soon as a frame that has begun is finished. Nothing else is sent
    /// until then.
    pub fn switch_to(&mut self, connection: Arc<Connection>) {
        match &self.connection {
            None => return self.use_connection(connection),
            // The peer's connection came late.
            Some(present) if present.fabric().is_some() => return,
            Some(_) => {}
        }
        self.next = Some(connection);
        self.try_switch();
    }

    fn try_switch(&mut self) {
        if self.next.is_none() && self.connection.is_some() && !self.said_bye && !self.joint.has_bye() {
            self.next = self.fabric.take();
        }
        if self.next.is_none() || self.unfinished.is_some() {
            return;
        }
        if !self.said_switch {
            self.append_link(SWITCH);
            self.said_switch = true;
        }
        self.flush();
        if self.queue.is_empty() {
            self.release();
            self.connection = self.next.take();
            self.said_switch = false;
        }
    }

    /// Whether the peer asks for no more messages that it would have to store.
    pub fn under_pressure(&self) -> bool {
        self.joint.is_pressed()
    }

    /// Whether something waits for the socket.
    pub fn is_waiting(&self) -> bool {
        !self.joint.is_shut()
            && (!self.queue.is_empty() || self.unfinished.is_some() || self.next.is_some() || self.joint.has_wanted())
    }

    /// Whether a frame has begun that its message must finish.
    pub fn is_mid_frame(&self) -> bool {
        self.unfinished.is_some()
    }

    /// Whether the peer may be reading the bytes of this transfer where they lie, so that they must stay there.
    pub fn is_lending(&self, word: u64) -> bool {
        let is_begun = self.unfinished.as_ref().is_some_and(|unfinished| unfinished.word == Some(word));
        is_begun
            && self.connection.as_ref().and_then(|connection| connection.fabric()).is_some_and(FabricEnd::is_lending)
    }

    /// Whether something could be sent if the socket had room.
    pub fn wants_room(&self) -> bool {
        let owes_bye = self.joint.has_bye() && !self.said_bye && self.unfinished.is_none();
        !self.joint.is_shut() && (self.is_waiting() || self.is_refused || owes_bye)
    }

    /// Moves what can move without waiting.
    pub fn push(&mut self) {
        self.flush();
        self.try_switch();
        if self.joint.has_bye() {
            self.say_bye();
        }
        if self.unfinished.is_none()
            && !self.said_bye
            && self.next.is_none()
            && self.connection.is_some()
            && let Some(on) = self.joint.take_wanted()
        {
            self.append_link(if on { PRESS } else { EASE });
            self.flush();
        }
    }

    /// Tells the peer that this process receives nothing more, as soon as that is possible, and whether it has finalized the
    /// world.
    pub fn say_leave(&mut self, finalized: bool) {
        if !self.said_leave && self.has_room() {
            self.append_link_with(LEAVE, if finalized { FINALIZED } else { 0 });
            self.said_leave = true;
            self.flush();
        }
    }

    /// Queues the last frame of all, once there is nothing before it; `true` when it is on its way.
    pub fn say_bye(&mut self) -> bool {
        if self.joint.is_shut() {
            self.give_up();
        }
        self.try_switch();
        if !self.said_bye && self.unfinished.is_none() && self.next.is_none() && self.connection.is_some() {
            let flags = if self.joint.rests() && !self.said_leave { RESTS } else { 0 };
            self.append_link_with(BYE, flags);
            self.said_bye = true;
            self.bye_at = Some(Instant::now());
        }
        self.flush();
        self.connection.is_none() || self.said_bye && self.queue.is_empty() || self.joint.is_shut()
    }

    /// Whether nothing is under way in this direction, and the link goes on, over a socket: a fabric takes no descriptors.
    pub fn is_idle(&self) -> bool {
        let is_free = self.connection.is_some() && self.fallback.is_none() && !self.wants_room();
        is_free
            && !self.joint.awaits_greeting()
            && !self.said_leave
            && !self.is_closed()
            && !self.joint.has_bye()
            && !self.joint.is_connecting()
            && !self.joint.is_on_fabric()
    }

    /// Says BYE on an idle link that rests.
    pub fn rest(&mut self) {
        self.append_link_with(BYE, RESTS);
        self.said_bye = true;
        self.flush();
    }

    /// Says it because the peer has asked; `false` if that cannot be now. A process that has connected, too, does not: the
    /// peer will hear of it.
    pub fn rest_if_asked(&mut self) -> bool {
        let may = !self.has_connected && self.is_idle();
        if may {
            self.rest();
        }
        may
    }

    /// Asks the peer to say it.
    pub fn ask_for_rest(&mut self) {
        if !self.asked_for_rest {
            self.append_link(REST);
            self.asked_for_rest = true;
            self.flush();
        }
    }

    pub fn has_asked_for_rest(&self) -> bool {
        self.asked_for_rest
    }

    /// Nothing can be sent any more, so nothing waits for being sent.
    #[cold]
    fn give_up(&mut self) {
        self.queue.clear();
        self.sent = 0;
        self.unfinished = None;
        self.next = None;
        self.fabric = None;
    }

    pub fn has_said_bye(&self) -> bool {
        self.said_bye
    }

    /// Whether both sides have said BYE: the next packet needs a new link.
    pub fn is_over(&self) -> bool {
        self.said_bye && self.queue.is_empty() && self.joint.has_bye()
    }

    /// Whether the kernel of the peer has all that was sent, or the peer wants no more, so that this process may end.
    pub fn has_delivered(&self) -> bool {
        if self.joint.is_shut() {
            return true;
        }
        // A provider does not notice that a peer has ended, and would try to reach it for ever: nobody leaves a peer whose
        // farewell has not come. Nor does a provider go on when this process has ended.
        if self.joint.fabric().is_some() && self.connection.is_some() {
            let is_sent = |connection: &Arc<Connection>| connection.has_delivered();
            let is_late = self.bye_at.is_some_and(|at| at.elapsed() > PATIENCE);
            return self.joint.has_bye() && (is_late || self.connection.as_ref().is_none_or(is_sent));
        }
        if self.joint.has_bye() {
            return true;
        }
        self.queue.is_empty() && self.connection.as_ref().is_none_or(|connection| connection.has_delivered())
    }

    fn is_closed(&self) -> bool {
        self.said_bye || self.joint.is_shut()
    }

    /// Whether a short packet could be sent now: given to the socket, so that it arrives even if this process does not
    /// come back for long.
    pub fn has_room(&mut self) -> bool {
        if self.next.is_some() || self.fabric.is_some() {
            self.try_switch();
        }
        if !self.queue.is_empty() {
            self.flush();
        }
        let is_free = self.unfinished.is_none() && self.next.is_none() && self.queue.is_empty();
        let may_send = !self.is_closed() && !self.joint.awaits_greeting();
        is_free && self.connection.is_some() && may_send || self.joint.is_void()
    }

    pub fn send_control(&mut self, head: &Head, body: &[u64; CONTROL_WORDS]) -> Result<(), Full> {
        if !self.has_room() {
            return Err(Full);
        }
        if self.joint.is_shut() {
            return Ok(());
        }
        self.asked_for_rest = false;
        let header = Header::of(head, 8 * CONTROL_WORDS, self.next_sequence());
        self.queue.extend_from_slice(&header.to_bytes());
        body.iter().for_each(|word| self.queue.extend_from_slice(&word.to_le_bytes()));
        self.flush();
        self.release();
        Ok(())
    }

    /// Whether short messages were sent that may become a burst, or are one.
    pub fn may_be_burst(&self) -> bool {
        self.burst.has_begun()
    }

    /// The kernel sends what it has kept. What follows may be a burst again.
    pub fn release(&mut self) {
        self.burst.end();
        if self.burst.is_held {
            self.hold(false);
        }
    }

    #[cold]
    fn hold(&mut self, on: bool) {
        // A kernel that refuses it sends at once, as before.
        if let Some(connection) = &self.connection
            && connection.hold_short(on).is_ok()
        {
            self.burst.is_held = on;
        }
    }

    /// Sends a message, or a part of it: the cursor says how much. The rest is sent with [`TcpTx::send_bulk`].
    pub fn send_message(
        &mut self,
        head: &Head,
        prefix: &[u64],
        buf: &Source<'_>,
        cursor: &mut Cursor,
        bytes: usize,
    ) -> Result<(), Full> {
        if !self.has_room() {
            return Err(Full);
        }
        if self.joint.is_shut() {
            cursor.seek(buf, cursor.position() + bytes);
            return Ok(());
        }
        self.asked_for_rest = false;
        let length = 8 * prefix.len() + bytes;
        if bytes > SHORT {
            return self.begin(Header::of(head, length, self.sequence), None, buf, cursor, bytes);
        }
        match self.burst.next() {
            Change::None => {}
            change => self.hold(change == Change::Hold),
        }
        let is_held = self.burst.is_held;
        let header = Header { is_held, ..Header::of(head, length, self.next_sequence()) };
        self.queue.extend_from_slice(&header.to_bytes());
        prefix.iter().for_each(|word| self.queue.extend_from_slice(&word.to_le_bytes()));
        self.pack(buf, cursor, bytes);
        self.flush();
        Ok(())
    }

    /// Sends bulk bytes, or a part of them, or the rest of what has begun: the cursor says how much.
    pub fn send_bulk(
        &mut self,
        kind: u8,
        word: u64,
        buf: &Source<'_>,
        cursor: &mut Cursor,
        bytes: usize,
    ) -> Result<(), Full> {
        let word = (kind != MORE).then_some(word);
        if self.joint.is_void() {
            self.unfinished = None;
            cursor.seek(buf, cursor.position() + bytes);
            return Ok(());
        }
        if self.unfinished.as_ref().is_some_and(|unfinished| unfinished.word == word) {
            return self.go_on(buf, cursor);
        }
        match word {
            Some(to) if self.has_room() => {
                let header = Header::bulk(to, bytes, self.sequence);
                self.begin(header, word, buf, cursor, bytes)
            }
            _ => Err(Full),
        }
    }

    /// Begins a long frame, unless the socket takes nothing of it.
    fn begin(
        &mut self,
        header: Header,
        word: Option<u64>,
        buf: &Source<'_>,
        cursor: &mut Cursor,
        bytes: usize,
    ) -> Result<(), Full> {
        self.release();
        self.flush();
        self.is_refused = true;
        if !self.queue.is_empty() || self.connection.is_none() {
            return Err(Full);
        }
        let header = header.to_bytes();
        if buf.average_block() < SHORT_BLOCK {
            self.queue.extend_from_slice(&header);
            self.pack(buf, cursor, bytes.min(PACKED));
            self.next_sequence();
            self.is_refused = false;
            self.set_unfinished(word, bytes - bytes.min(PACKED));
            self.flush();
            return Ok(());
        }
        let start = cursor.position();
        let taken = self.send_pieces(Some(&header), word.is_some(), buf, cursor, bytes)?;
        self.is_refused = false;
        self.next_sequence();
        if taken < HEADER_BYTES {
            self.queue.extend_from_slice(&header[taken..]);
        }
        let mut data = taken.saturating_sub(HEADER_BYTES);
        cursor.seek(buf, start + data);
        if data == 0 {
            // A message that has begun is known by its cursor, so it must have moved.
            data = bytes.min(SHORT);
            self.pack(buf, cursor, data);
        }
        self.set_unfinished(word, bytes - data);
        Ok(())
    }

    /// Sends more of the frame that has begun.
    fn go_on(&mut self, buf: &Source<'_>, cursor: &mut Cursor) -> Result<(), Full> {
        self.flush();
        let Some(Unfinished { word, left }) = self.unfinished else { return Err(Full) };
        if !self.queue.is_empty() || self.joint.is_shut() {
            return Err(Full);
        }
        let start = cursor.position();
        let taken = if buf.average_block() < SHORT_BLOCK {
            let taken = left.min(PACKED);
            self.pack(buf, cursor, taken);
            self.flush();
            taken
        } else {
            self.send_pieces(None, word.is_some(), buf, cursor, left)?
        };
        cursor.seek(buf, start + taken);
        self.set_unfinished(word, left - taken);
        Ok(())
    }

    fn set_unfinished(&mut self, word: Option<u64>, left: usize) {
        self.unfinished = (left > 0).then_some(Unfinished { word, left });
    }

    /// Gives the socket a header and what lies at the cursor; how many bytes it took, [`Full`] for none. `stays`: the bytes
    /// stay where they are until they were sent. Those of a message that the receiver has not asked for may be copied away
    /// when it is cancelled.
    fn send_pieces(
        &mut self,
        header: Option<&[u8; HEADER_BYTES]>,
        stays: bool,
        buf: &Source<'_>,
        cursor: &mut Cursor,
        bytes: usize,
    ) -> Result<usize, Full> {
        let Some(connection) = self.connection.clone() else { return Err(Full) };
        self.pieces.clear();
        self.pieces.extend(header.map(|header| (header.as_ptr().expose_provenance(), header.len())));
        cursor.iovecs(buf, &mut self.pieces, PIECES_A_CALL, bytes);
        loop {
            // SAFETY: the header is borrowed, and a source may be read.
            match unsafe { connection.send_pieces(&self.pieces, stays) } {
                Ok(0) => return Err(Full),
                Ok(taken) => {
                    self.joint.traffic.sent_bytes(taken);
                    return Ok(taken);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    if error.kind() != ErrorKind::WouldBlock {
                        self.joint.cannot_send(&error.to_string());
                    }
                    let start = cursor.position() - self.pieces_bytes(header.is_some());
                    cursor.seek(buf, start);
                    return Err(Full);
                }
            }
        }
    }

    /// Bytes of the last pieces that are the message's.
    fn pieces_bytes(&self, has_header: bool) -> usize {
        self.pieces.iter().skip(usize::from(has_header)).map(|piece| piece.1).sum()
    }

    /// Appends packed bytes to the queue.
    fn pack(&mut self, buf: &Source<'_>, cursor: &mut Cursor, bytes: usize) {
        let at = self.queue.len();
        self.queue.resize(at + bytes, 0);
        cursor.pack_into(buf, &mut self.queue[at..]);
    }

    fn append_link(&mut self, kind: u8) {
        self.append_link_with(kind, 0);
    }

    fn append_link_with(&mut self, kind: u8, flags: u8) {
        let header = Header { flags, ..Header::link(kind, self.next_sequence()) };
        self.queue.extend_from_slice(&header.to_bytes());
    }

    fn next_sequence(&mut self) -> u32 {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        self.joint.traffic.sent_packet();
        sequence
    }

    /// Gives the socket what it takes of the queue.
    fn flush(&mut self) {
        let Some(connection) = &self.connection else { return };
        while self.sent < self.queue.len() && !self.joint.is_shut() {
            match connection.send(&self.queue[self.sent..]) {
                Ok(count) => {
                    self.sent += count;
                    self.joint.traffic.sent_bytes(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    self.joint.cannot_send(&error.to_string());
                    break;
                }
            }
        }
        self.queue.clear();
        self.sent = 0;
    }
}
