//! The receiving end of a link: frames become packets in the layout that all links share, so that the engine handles
//! them with one code. A long frame arrives as several packets, as its bytes come; where its message has found its
//! receive, the bytes go straight to the user's memory ([`TcpRx::pull`]).
//!
//! While both sides connect at once there are two connections ([`Stream`]s). Frames are handled in the order of their
//! sequence numbers, whichever connection brings them; the first one out of order waits in its stream.

use super::frame::*;
use super::joint::{Connection, Joint};
use super::tx::SHORT_BLOCK;
use crate::packet::{BULK_OFFSET, HEAD_BYTES, MORE, PART_UNIT, write_head};
use oxmpi_base::ring;
use oxmpi_base::socket::PIECES_A_CALL;
use oxmpi_datatype::{Cursor, Target};
use std::io::{self, ErrorKind};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) struct TcpRx {
    joint: Arc<Joint>,
    streams: Vec<Stream>,
    /// The sequence number of the next frame.
    expected: u32,
    /// Connections that are read no more, until they are asked for.
    dropped: Vec<Arc<Connection>>,
    /// The stream of the packet that was looked at, and how many bytes of it the packet is.
    looked: Option<(usize, usize)>,
    /// The peer has given up a connection for another one.
    has_switched: bool,
}

struct Stream {
    connection: Arc<Connection>,
    /// Empty while it is lent to other links.
    buffer: Box<[u8]>,
    /// The bytes in the buffer that were not taken yet.
    start: usize,
    end: usize,
    body: Option<Body>,
    /// The socket had nothing when it was last asked.
    is_dry: bool,
    /// The last frame with data was a long one, of which as little as possible shall go through the buffer.
    is_bulk: bool,
    /// Something has come.
    is_used: bool,
    /// The peer's kernel may wait for an acknowledgement of what was read.
    owes_acknowledgement: bool,
}

/// The frame whose bytes come.
struct Body {
    header: Header,
    form: Form,
    left: usize,
    /// A part of a message was handed out.
    begun: bool,
    /// It is not to be pulled.
    is_packets: bool,
    /// It was pulled in part: the rest may not fill whole cells, and is pulled, too.
    is_pulled: bool,
}

/// Long bytes that may go straight to their place.
pub(crate) struct Pullable {
    /// The receiver's operation; `None`: the rest of the message that the last packet began.
    pub word: Option<u64>,
    pub left: usize,
}

/// Bytes in front of what arrives, where the head of a packet is put together.
const FRONT: usize = 64;
/// And behind it, since packets have whole cells.
const SLACK: usize = 64;
const BUFFER: usize = 64 << 10;
/// Longer frames go straight to their place, as far as possible: what follows a header of one is read in another call.
/// For shorter ones the copy costs less than that call.
const MOST_STAGED: usize = 16 << 10;
/// Of a long frame, what is read with its header.
const BULK_READ: usize = 1 << 10;
/// Shorter rests go through the buffer.
const PULL: usize = 4 << 10;
/// Messages up to here are handed out whole.
const WHOLE: usize = MOST_WITH_BYTES + OFFER_BYTES;
const _: () = assert!(FRONT >= BULK_OFFSET && WHOLE < BUFFER);

/// Buffers that links have lent, for the next link that is read.
static SPARE: Mutex<Vec<Box<[u8]>>> = Mutex::new(Vec::new());
const MOST_SPARE: usize = 2;

fn spare_buffers() -> MutexGuard<'static, Vec<Box<[u8]>>> {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TcpRx {
    pub fn new(joint: Arc<Joint>) -> TcpRx {
        TcpRx { joint, streams: Vec::new(), expected: 0, dropped: Vec::new(), looked: None, has_switched: false }
    }

    pub fn joint(&self) -> &Arc<Joint> {
        &self.joint
    }

    /// From now on frames come over this connection, too.
    pub fn use_connection(&mut self, connection: Arc<Connection>) {
        self.streams.push(Stream {
            connection,
            buffer: Box::default(),
            start: FRONT,
            end: FRONT,
            body: None,
            is_dry: false,
            is_bulk: false,
            is_used: false,
            owes_acknowledgement: false,
        });
    }

    /// The connection over which all frames come, if there is one.
    pub fn only_connection(&self) -> Option<&Arc<Connection>> {
        match self.streams.as_slice() {
            [stream] => Some(&stream.connection),
            _ => None,
        }
    }

    /// Whether a frame has come.
    pub fn has_heard(&self) -> bool {
        self.expected != 0
    }

    /// Whether no frame has begun.
    pub fn is_idle(&self) -> bool {
        let is_idle = |stream: &Stream| stream.body.is_none() && stream.start == stream.end;
        self.looked.is_none() && self.streams.iter().all(is_idle)
    }

    /// Whether nothing is here, and the sockets had nothing when they were last asked.
    pub fn is_dry(&self) -> bool {
        self.streams.iter().all(|stream| stream.is_dry && !stream.has_next(self.expected))
    }

    /// The kernel says that there is something to read.
    pub fn set_ready(&mut self) {
        self.streams.iter_mut().for_each(|stream| stream.is_dry = false);
    }

    /// The sockets are not read in every turn any more.
    pub fn acknowledge(&mut self) {
        self.streams.iter_mut().for_each(Stream::acknowledge);
    }

    /// Lends the buffers in which nothing is to the links that are read next: memory does not grow with the number of links.
    pub fn lend_buffers(&mut self) {
        self.streams.iter_mut().for_each(Stream::lend_buffer);
    }

    pub fn set_pressure(&self, on: bool) {
        self.joint.want_pressure(on);
    }

    /// The next packet.
    pub fn peek(&mut self) -> Option<ring::Packet> {
        if let Some((index, _)) = self.looked {
            return self.streams[index].packet().map(|(packet, _)| packet);
        }
        if self.joint.failure().is_some() {
            return None;
        }
        let mut index = 0;
        while index < self.streams.len() {
            let is_one_of_two = self.streams.len() > 1;
            match self.streams[index].advance_to_packet(&self.joint, &mut self.expected, is_one_of_two) {
                Ok(true) => {
                    let (packet, bytes) = self.streams[index].packet()?;
                    self.looked = Some((index, bytes));
                    return Some(packet);
                }
                Ok(false) => index += 1,
                Err(end) => {
                    self.end_stream(index, end);
                    if self.joint.failure().is_some() {
                        return None;
                    }
                    // The other one may have waited for the frames of this one.
                    index = 0;
                }
            }
        }
        None
    }

    fn end_stream(&mut self, index: usize, end: End) {
        let connection = Arc::clone(&self.streams[index].connection);
        match end {
            End::Over => self.has_switched = true,
            // A peer that gets our connection gives up its own before it has sent anything. (It may not have read what the
            // handshake said last; then its end is a reset.)
            End::Closed | End::Unused(_) if self.sockets() > 1 || self.is_on_fabric() || self.joint.is_connecting() => {
                self.joint.forget_arrival();
            }
            End::Closed | End::Unused(_) if self.joint.awaits_greeting() => self.joint.set_given_up(),
            End::Closed if self.expected == 0 => self.joint.set_ended(),
            End::Closed => {
                let why = self.joint.unsendable().unwrap_or("the peer has closed it without a farewell");
                self.joint.fail_on(&connection, why);
            }
            End::Unused(why) | End::Broken(why) => self.joint.fail_on(&connection, &why),
        }
        self.streams.remove(index);
        self.dropped.push(connection);
    }

    /// Whether the peer may have gone on to a stream over a fabric: a socket that it does not use any more just ends.
    fn is_on_fabric(&self) -> bool {
        self.has_switched && self.sockets() < self.streams.len()
    }

    /// The sockets over which frames come.
    pub fn sockets(&self) -> usize {
        self.streams.iter().filter(|stream| stream.connection.socket().is_some()).count()
    }

    /// The connections that are read no more since the last call.
    pub fn take_dropped(&mut self) -> Vec<Arc<Connection>> {
        std::mem::take(&mut self.dropped)
    }

    /// Gives the packet back that was looked at.
    pub fn advance(&mut self) {
        let Some((index, bytes)) = self.looked.take() else { return };
        let stream = &mut self.streams[index];
        stream.start += bytes;
        if stream.take(bytes) {
            self.count_frame();
        }
    }

    /// A whole frame was taken.
    fn count_frame(&mut self) {
        self.expected = self.expected.wrapping_add(1);
        self.joint.traffic.received_packet();
    }

    /// Long bytes that are next, and that may go straight to their place.
    pub fn pullable(&self) -> Option<Pullable> {
        let body = self.streams[self.begun_stream()?].body.as_ref()?;
        let word = (body.form == Form::Bulk).then_some(body.header.total);
        (self.looked.is_none() && body.is_for_pulling()).then_some(Pullable { word, left: body.left })
    }

    /// Where the next frame has begun. The other connection may have begun a later one.
    fn begun_stream(&self) -> Option<usize> {
        let is_next = |body: &Body| body.header.sequence == self.expected;
        self.streams.iter().position(|stream| stream.body.as_ref().is_some_and(is_next))
    }

    /// What [`TcpRx::pullable`] says comes as packets.
    pub fn read_as_packets(&mut self) {
        self.streams.iter_mut().for_each(Stream::read_as_packets);
    }

    /// Reads what [`TcpRx::pullable`] said, at most so many bytes, to the next bytes of a buffer; how many came. A buffer of
    /// short blocks gets them as packets.
    pub fn pull(&mut self, buf: &Target<'_>, cursor: &mut Cursor, most: usize) -> usize {
        let Some(index) = self.begun_stream() else { return 0 };
        let stream = &mut self.streams[index];
        let Some(body) = &stream.body else { return 0 };
        if buf.average_block() < SHORT_BLOCK {
            stream.read_as_packets();
            return 0;
        }
        let most = most.min(body.left);
        if let Some(body) = &mut stream.body {
            body.is_pulled = true;
        }
        if stream.start < stream.end {
            let here = most.min(stream.end - stream.start);
            cursor.unpack_from(buf, &stream.buffer[stream.start..stream.start + here]);
            stream.start += here;
            if stream.take(here) {
                self.count_frame();
            }
            return here;
        }
        let start = cursor.position();
        let mut pieces = Vec::new();
        cursor.iovecs(buf, &mut pieces, PIECES_A_CALL, most);
        // SAFETY: a target may be written, and no reference covers it.
        let read = retry(|| unsafe { stream.connection.receive_pieces(&pieces) });
        let read = stream.read(read);
        let count = *read.as_ref().unwrap_or(&0);
        self.joint.traffic.received_bytes(count);
        stream.is_dry |= count < pieces.iter().map(|piece| piece.1).sum();
        cursor.seek(buf, start + count);
        if count > 0 && stream.take(count) {
            self.count_frame();
        }
        if let Err(end) = read {
            self.end_stream(index, end);
        }
        count
    }
}

impl Body {
    /// Whether the bytes shall go straight to their place, if they have one.
    fn is_for_pulling(&self) -> bool {
        let has_place = match self.form {
            Form::Bulk => true,
            Form::Message { .. } => self.begun,
            Form::Link | Form::Control => false,
        };
        has_place && !self.is_packets && (self.left >= PULL || self.is_pulled)
    }
}

/// Why a stream ends.
enum End {
    /// The peer has said so.
    Over,
    /// The peer has closed it between two frames, or reset it before anything came.
    Closed,
    /// It broke before anything came.
    Unused(String),
    Broken(String),
}

impl Stream {
    /// Reads until there is a packet; `false` when there is none now.
    fn advance_to_packet(&mut self, joint: &Joint, expected: &mut u32, is_one_of_two: bool) -> Result<bool, End> {
        loop {
            match &self.body {
                Some(body) => {
                    if body.header.sequence != *expected {
                        return Ok(false);
                    }
                    if body.form == Form::Link && self.end - self.start >= body.left {
                        *expected = expected.wrapping_add(1);
                        joint.traffic.received_packet();
                        self.link_frame(joint)?;
                        continue;
                    }
                    if body.is_for_pulling() {
                        return Ok(false);
                    }
                    if body.form != Form::Link && self.end - self.start >= self.wanted() {
                        return Ok(true);
                    }
                }
                None => {
                    if let Some(bytes) = self.unread().first_chunk::<HEADER_BYTES>() {
                        let (header, form) = Header::from_bytes(bytes).map_err(nonsense)?;
                        // Another connection may bring the frames before this one.
                        if header.sequence != *expected && !is_one_of_two && !joint.awaits_second() {
                            return Err(nonsense("a frame out of order"));
                        }
                        self.start += HEADER_BYTES;
                        joint.set_awaits_greeting(false);
                        // Between the parts of a long transfer come the words that control it.
                        if !matches!(form, Form::Control | Form::Link) {
                            self.is_bulk = header.length as usize > MOST_STAGED;
                        }
                        self.owes_acknowledgement = header.is_held;
                        self.body = Some(Body {
                            header,
                            form,
                            left: header.length as usize,
                            begun: false,
                            is_packets: false,
                            is_pulled: false,
                        });
                        continue;
                    }
                }
            }
            if self.is_dry || !self.fill(joint)? {
                return Ok(false);
            }
        }
    }

    /// Whether what has been read begins with something that can be handled now.
    fn has_next(&self, expected: u32) -> bool {
        let here = self.end - self.start;
        match &self.body {
            None => here >= HEADER_BYTES,
            Some(body) if body.header.sequence != expected => false,
            Some(body) if body.is_for_pulling() => here > 0,
            Some(_) => here >= self.wanted(),
        }
    }

    /// The bytes in the buffer that were not taken yet.
    fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    fn lend_buffer(&mut self) {
        if self.body.is_none() && self.start == self.end && !self.buffer.is_empty() {
            (self.start, self.end) = (FRONT, FRONT);
            let buffer = std::mem::take(&mut self.buffer);
            let mut spare = spare_buffers();
            if spare.len() < MOST_SPARE {
                spare.push(buffer);
            }
        }
    }

    fn read_as_packets(&mut self) {
        self.is_bulk = false;
        if let Some(body) = &mut self.body {
            body.is_packets = true;
        }
    }

    /// Bytes that a packet needs at least.
    fn wanted(&self) -> usize {
        let Some(body) = &self.body else { return HEADER_BYTES };
        match body.form {
            Form::Link | Form::Control => body.left,
            Form::Message { .. } if body.left <= WHOLE && !body.begun => body.left,
            _ => body.left.min(PART_UNIT),
        }
    }

    /// The packet at the front, and how many bytes of the stream it is. The head lies in front of them, where bytes are
    /// that were taken.
    fn packet(&mut self) -> Option<(ring::Packet, usize)> {
        let body = self.body.as_mut()?;
        let here = (self.end - self.start).min(body.left);
        let is_part = matches!(body.form, Form::Bulk | Form::Message { .. }) && here < body.left;
        let here = if is_part { here - here % PART_UNIT } else { here };
        let head = body.header.head();
        let mut user = u16::from(head.kind) | u16::from(head.flags) << 8;
        let (prefix, words) = match body.form {
            Form::Message { prefix } if !body.begun => (prefix, Some(head)),
            Form::Control => (0, Some(head)),
            Form::Message { .. } => {
                user = MORE.into();
                (0, None)
            }
            _ => (0, None),
        };
        let data = self.start + prefix;
        let is_one_cell = words.is_some() && HEAD_BYTES + here <= ring::FIRST_BYTES;
        let (cells, front) = match is_one_cell {
            true => (1, self.start - HEAD_BYTES),
            false => (1 + (here - prefix).max(1).div_ceil(PART_UNIT), data - BULK_OFFSET),
        };
        if !is_one_cell && prefix > 0 {
            let from = self.start;
            self.buffer.copy_within(from..from + prefix, front + HEAD_BYTES);
        }
        let at = NonNull::new(self.buffer[front..].as_mut_ptr())?;
        match words {
            // SAFETY: HEAD_BYTES lie between `front` and the data, in the buffer.
            Some(head) => unsafe { write_head(at, &head) },
            None => {
                let word = if user == u16::from(MORE) { 0 } else { body.header.total };
                self.buffer[front..front + 8].copy_from_slice(&word.to_ne_bytes());
            }
        }
        Some((ring::Packet { user, cells, bytes: at }, here))
    }

    /// Counts bytes of the frame as taken; `true` when they were the last.
    fn take(&mut self, bytes: usize) -> bool {
        if self.start == self.end {
            (self.start, self.end) = (FRONT, FRONT);
        }
        let Some(body) = &mut self.body else { return false };
        body.begun = true;
        body.left -= bytes;
        let is_over = body.left == 0;
        if is_over {
            self.body = None;
        }
        is_over
    }

    /// Acknowledges what was read, if the peer may wait for it.
    fn acknowledge(&mut self) {
        if std::mem::take(&mut self.owes_acknowledgement) {
            // One that cannot be sent now is sent by the kernel, if later.
            let _ = self.connection.acknowledge_now();
        }
    }

    fn link_frame(&mut self, joint: &Joint) -> Result<(), End> {
        let header = self.body.take().map(|body| body.header);
        let payload = self.start..self.start + header.map_or(0, |header| header.length as usize);
        self.start = payload.end;
        match header.map(|header| header.kind) {
            Some(FABRIC) => joint.set_offer(self.buffer[payload].to_vec()),
            Some(PRESS) => joint.set_pressed(true),
            Some(EASE) => joint.set_pressed(false),
            Some(LEAVE) => {
                joint.set_leaves();
                if header.is_some_and(|header| header.flags & FINALIZED != 0) {
                    joint.set_finalized();
                }
            }
            Some(SWITCH | BYE) if self.start < self.end => return Err(nonsense("bytes behind its last frame")),
            Some(SWITCH) => {
                joint.set_awaits_second(false);
                return Err(End::Over);
            }
            Some(REST) => joint.ask_for_rest(),
            Some(BYE) => {
                if header.is_some_and(|header| header.flags & RESTS != 0) {
                    joint.set_rests();
                }
                joint.set_bye();
                return Err(End::Over);
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads what the socket has; `false` when it has nothing now.
    fn fill(&mut self, joint: &Joint) -> Result<bool, End> {
        if self.buffer.is_empty() {
            let spare = spare_buffers().pop();
            self.buffer = spare.unwrap_or_else(|| vec![0; FRONT + BUFFER + SLACK].into_boxed_slice());
        }
        if self.start == self.end {
            (self.start, self.end) = (FRONT, FRONT);
        } else if FRONT + BUFFER - self.end < WHOLE.max(HEADER_BYTES) && self.start > FRONT {
            self.buffer.copy_within(self.start..self.end, FRONT);
            (self.start, self.end) = (FRONT, self.end - self.start + FRONT);
        }
        let most = if self.is_bulk { (self.end + BULK_READ).min(FRONT + BUFFER) } else { FRONT + BUFFER };
        let Stream { connection, buffer, end, .. } = self;
        let read = retry(|| connection.receive(&mut buffer[*end..most]));
        let room = most - *end;
        let count = self.read(read)?;
        joint.traffic.received_bytes(count);
        self.end += count;
        // Less than it had room for: the socket has no more, and need not be asked again at once.
        self.is_dry |= count < room;
        Ok(count > 0)
    }

    /// What a read from the socket means: how many bytes came.
    fn read(&mut self, result: io::Result<usize>) -> Result<usize, End> {
        match result {
            Ok(0) if self.body.is_none() && self.start == self.end => Err(End::Closed),
            Ok(0) => Err(End::Broken("the peer has closed it in the middle of a frame".into())),
            Ok(count) => {
                self.is_used = true;
                Ok(count)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.is_dry = true;
                self.acknowledge();
                Ok(0)
            }
            Err(error) if !self.is_used && error.kind() == ErrorKind::ConnectionReset => Err(End::Closed),
            Err(error) if !self.is_used => Err(End::Unused(error.to_string())),
            Err(error) => Err(End::Broken(error.to_string())),
        }
    }
}

fn nonsense(why: &str) -> End {
    End::Broken(format!("the peer sent what makes no sense: {why}"))
}

/// A call that a signal has ended is made again.
fn retry(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::DATA;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    /// A connection to write frames to, and the end of it that is read.
    fn connection() -> (TcpStream, Arc<Connection>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, Arc::new(Connection::new(listener.accept().unwrap().0.into()).unwrap()))
    }

    #[test]
    fn the_next_frame_is_pulled_though_the_other_connection_has_begun_a_later_one() {
        let joint = Arc::new(Joint::new("the peer".into(), Duration::ZERO, Arc::default(), None));
        let mut rx = TcpRx::new(Arc::clone(&joint));
        let [mut later, mut next] = [(); 2].map(|()| {
            let (near, far) = connection();
            rx.use_connection(far);
            near
        });
        let bulk = |sequence, word| Header { length: 64 << 10, total: word, ..Header::link(DATA, sequence) };
        later.write_all(&bulk(1, 11).to_bytes()).unwrap();
        next.write_all(&bulk(0, 10).to_bytes()).unwrap();
        let end = Instant::now() + Duration::from_secs(10);
        while rx.streams.iter().any(|stream| stream.body.is_none()) && Instant::now() < end {
            rx.set_ready();
            assert!(rx.peek().is_none());
        }
        let found = rx.pullable().expect("the frame that is next can be pulled");
        assert_eq!((found.word, found.left), (Some(10), 64 << 10));
    }
}
