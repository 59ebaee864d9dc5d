//! The origin's connection to the agent of another node, or of its own. Requests go out in order; puts and accumulates have
//! no answer until a flush asks for one, and data that come back go to their place when they are read.
//!
//! A wait here is for the agent alone, which needs no rank's help, so it blocks the process for a round trip and moves no
//! messages. Only locks may take long: their answers are asked for with [`Link::take_answer`].

use super::buffer::Buffer;
use super::wire::*;
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result};
use oxmpi_base::socket::{Interest, ReadySet};
use oxmpi_datatype::{Cursor, Datatype, Source, Target};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Unsent bytes above which an operation waits.
const MOST_UNSENT: usize = 1 << 20;
/// Answers with data that may be awaited at a time.
const MOST_SINKS: usize = 256;
/// Bytes that are read at a time: some answers of the longest kind.
const READ: usize = 256 << 10;
/// Types that the agent knows by a number; then all are forgotten.
const MOST_TYPES: usize = 512;
/// A waiting process polls its socket for so long before it sleeps.
const SPIN: Duration = Duration::from_micros(60);
/// A sleep ends after this time, and the wait goes on.
const NAP: Duration = Duration::from_millis(100);

/// Time for the agents to say why a connection has ended.
const FIRST_WORD: Duration = Duration::from_secs(3);
/// In a job that goes on, a host that is lost is known within this time.
const LAST_WORD: Duration = Duration::from_secs(12);

pub struct Link {
    stream: TcpStream,
    /// The agent's name in error texts.
    name: String,
    ready: ReadySet,
    watches_room: bool,
    output: Vec<u8>,
    sent: usize,
    input: Buffer,
    last_tag: u32,
    /// Where the data of the next answers go, in their order.
    sinks: VecDeque<Sink>,
    /// Answers without data that were not asked for yet: tag, class, text.
    answers: Vec<(u32, i32, String)>,
    /// Why locks are not granted yet, by the tags of the requests.
    held: BTreeMap<u32, Held>,
    types: HashMap<*const Datatype, (Arc<Datatype>, u32)>,
    /// Something was sent that the agent has not acknowledged.
    is_dirty: bool,
    /// The first error that an answer with data had.
    failure: Option<Error>,
    broken: Option<Error>,
    /// Threads that sleep until the socket can be read.
    watchers: u32,
    /// Whether a wait may poll before it sleeps.
    pub may_spin: bool,
    /// Whether all processes that the agent serves have ended, in a job that goes on when some do.
    pub is_deserted: Option<IsDeserted>,
}

/// Whether nobody is left on a node.
pub type IsDeserted = Box<dyn Fn() -> bool + Send + Sync>;

// SAFETY: the keys of `types` are addresses that are compared and never dereferenced; all else is `Send` already.
unsafe impl Send for Link {}

/// The part of a buffer that an answer fills.
struct Sink {
    tag: u32,
    to: Target<'static>,
    from: usize,
    bytes: usize,
}

impl Link {
    pub fn new(socket: OwnedFd, name: String) -> io::Result<Link> {
        let stream = TcpStream::from(socket);
        stream.set_nonblocking(true)?;
        let _ = stream.set_nodelay(true);
        let ready = ReadySet::new()?;
        ready.add(stream.as_fd(), 0, Interest::Read)?;
        Ok(Link {
            stream,
            name,
            ready,
            watches_room: false,
            output: Vec::new(),
            sent: 0,
            input: Buffer::new(READ),
            last_tag: 0,
            sinks: VecDeque::new(),
            answers: Vec::new(),
            held: BTreeMap::new(),
            types: HashMap::new(),
            is_dirty: false,
            failure: None,
            broken: None,
            watchers: 0,
            may_spin: true,
            is_deserted: None,
        })
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// One thread more, or less, sleeps until the socket can be read; whether it is the first, or was the last.
    pub fn count_watcher(&mut self, more: bool) -> bool {
        let before = self.watchers;
        self.watchers = if more { before + 1 } else { before.saturating_sub(1) };
        (before == 0) != (self.watchers == 0)
    }

    // ---- sending ----

    /// Sends a request that has an answer; its tag.
    pub fn ask(&mut self, request: Request, payload: &[u8]) -> Result<u32> {
        let tag = self.next_tag();
        self.queue(&Request { tag, payload: payload.len() as u32, ..request });
        self.output.extend_from_slice(payload);
        self.push()?;
        Ok(tag)
    }

    /// Sends a request without an answer.
    pub fn tell(&mut self, request: &Request, payload: &[u8]) -> Result<()> {
        self.queue(&Request { payload: payload.len() as u32, ..*request });
        self.output.extend_from_slice(payload);
        self.is_dirty = true;
        self.push_soon()
    }

    /// The same, with the next bytes of a buffer.
    pub fn tell_part(&mut self, request: &Request, from: &Source<'_>, cursor: &mut Cursor, bytes: usize) -> Result<()> {
        self.queue(&Request { payload: bytes as u32, ..*request });
        self.append(from, cursor, bytes);
        self.is_dirty = true;
        self.push_soon()
    }

    /// Sends a request that is answered with data, which go to bytes `at` and following of the packed stream of a buffer.
    pub fn fetch(&mut self, request: Request, payload: &[u8], to: &Target<'static>, at: usize) -> Result<()> {
        let tag = self.next_tag();
        self.queue(&Request { tag, payload: payload.len() as u32, ..request });
        self.output.extend_from_slice(payload);
        self.sink(tag, to, at, request.length as usize)
    }

    /// The same, with the next bytes of a buffer as payload.
    pub fn fetch_part(
        &mut self,
        request: Request,
        (from, cursor): (&Source<'_>, &mut Cursor),
        to: &Target<'static>,
        at: usize,
    ) -> Result<()> {
        let (tag, bytes) = (self.next_tag(), request.length as usize);
        self.queue(&Request { tag, payload: bytes as u32, ..request });
        self.append(from, cursor, bytes);
        self.sink(tag, to, at, bytes)
    }

    /// The number of a type, whose program is sent when the agent does not know it; `None` when it is too long.
    pub fn number_of(&mut self, ty: &Arc<Datatype>) -> Result<Option<u32>> {
        if let Some((_, number)) = self.types.get(&Arc::as_ptr(ty)) {
            return Ok(Some(*number));
        }
        let program = ty.program();
        if program.len() > MOST_PROGRAM {
            return Ok(None);
        }
        if self.types.len() >= MOST_TYPES {
            // Requests are executed in order, so a number may get another meaning.
            self.types.clear();
        }
        let number = self.types.len() as u32 + 1;
        for (index, part) in program.chunks(MOST_BYTES).enumerate() {
            let position = (index * MOST_BYTES) as u64;
            let request =
                Request { program: number, length: program.len() as u64, position, ..Request::new(Kind::Type, 0, 0) };
            self.tell(&request, part)?;
        }
        self.types.insert(Arc::as_ptr(ty), (Arc::clone(ty), number));
        Ok(Some(number))
    }

    fn next_tag(&mut self) -> u32 {
        self.last_tag = self.last_tag.wrapping_add(1);
        self.last_tag
    }

    fn queue(&mut self, request: &Request) {
        self.output.extend_from_slice(&request.to_bytes());
    }

    fn append(&mut self, from: &Source<'_>, cursor: &mut Cursor, bytes: usize) {
        let start = self.output.len();
        self.output.resize(start + bytes, 0);
        cursor.pack_into(from, &mut self.output[start..]);
    }

    fn sink(&mut self, tag: u32, to: &Target<'static>, from: usize, bytes: usize) -> Result<()> {
        self.sinks.push_back(Sink { tag, to: to.clone(), from, bytes });
        self.push_soon()?;
        if self.sinks.len() > MOST_SINKS {
            self.wait(|link| link.sinks.len() <= MOST_SINKS / 2)?;
        }
        Ok(())
    }

    /// Sends what the socket takes; waits when too much is left.
    fn push_soon(&mut self) -> Result<()> {
        self.push()?;
        if self.unsent() > MOST_UNSENT {
            self.wait(|link| link.unsent() <= MOST_UNSENT / 2)?;
        }
        Ok(())
    }

    fn unsent(&self) -> usize {
        self.output.len() - self.sent
    }

    fn push(&mut self) -> Result<()> {
        self.check()?;
        while self.sent < self.output.len() {
            match self.stream.write(&self.output[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.sent >= MOST_UNSENT {
                        self.output.drain(..self.sent);
                        self.sent = 0;
                    }
                    return Ok(());
                }
                Err(error) => return Err(self.lost(&error)),
            }
        }
        self.output.clear();
        self.sent = 0;
        Ok(())
    }

    // ---- answers ----

    /// The answer to a request, if it has come: an error class, or 0, or [`REFUSED`], and a text.
    pub fn take_answer(&mut self, tag: u32) -> Result<Option<(i32, String)>> {
        self.push()?;
        self.receive()?;
        let found = self.answers.iter().position(|answer| answer.0 == tag);
        Ok(found.map(|index| self.answers.swap_remove(index)).map(|(_, class, text)| (class, text)))
    }

    /// Why the lock that a request asks for is not granted yet, as far as the agent has said it.
    pub fn held(&self, tag: u32) -> Option<Held> {
        self.held.get(&tag).copied()
    }

    /// Whether answers have come that another thread waits for.
    pub fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Waits for the answer to a request.
    pub fn await_answer(&mut self, tag: u32) -> Result<(i32, String)> {
        self.wait(|link| link.answers.iter().any(|answer| answer.0 == tag))?;
        match self.take_answer(tag)? {
            Some(answer) => Ok(answer),
            None => Err(self.lost(&io::Error::other("an answer was lost"))),
        }
    }

    /// The same for a request that has no other answer than success.
    pub fn await_success(&mut self, tag: u32) -> Result<()> {
        match self.await_answer(tag)? {
            (MPI_SUCCESS, _) => self.check_failure(),
            (class, text) => Err(Error::new(class, text)),
        }
    }

    /// Whether anything was sent that may not have been done yet.
    pub fn needs_flush(&self) -> bool {
        self.is_dirty || !self.sinks.is_empty() || self.failure.is_some()
    }

    /// The agent has acknowledged everything.
    pub fn set_clean(&mut self) {
        self.is_dirty = false;
    }

    /// Waits until all data have come that were asked for.
    pub fn await_data(&mut self) -> Result<()> {
        self.wait(|link| link.sinks.is_empty())?;
        self.check_failure()
    }

    fn check_failure(&mut self) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)
    }

    fn check(&self) -> Result<()> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    #[cold]
    fn lost(&mut self, why: &io::Error) -> Error {
        let text =
            format!("the connection to {}, which executes one-sided operations there, has ended: {why}", self.name);
        let class = if self.is_deserted.is_some() { MPIX_ERR_PROC_FAILED } else { MPI_ERR_PROC_ABORTED };
        let error = Error::new(class, text);
        if self.broken.is_none() {
            self.await_first_word();
        }
        self.sinks.clear();
        self.broken.get_or_insert(error).clone()
    }

    /// Why the connection has ended, if it has and processes are left that the agent serves.
    pub fn cut_off(&self) -> Option<&Error> {
        let is_deserted = self.is_deserted.as_ref()?;
        self.broken.as_ref().filter(|_| !is_deserted())
    }

    /// The agents know why a connection has ended, and end the job; their word is better than an error. In a job that goes on
    /// they say who has died.
    fn await_first_word(&self) {
        let Some(is_deserted) = &self.is_deserted else { return std::thread::sleep(FIRST_WORD) };
        let since = Instant::now();
        while !is_deserted() && since.elapsed() < LAST_WORD {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the agent: polls for a moment, then sleeps for the socket.
    fn wait(&mut self, mut done: impl FnMut(&Link) -> bool) -> Result<()> {
        let mut start = None;
        loop {
            self.push()?;
            self.receive()?;
            if done(self) {
                return Ok(());
            }
            let start = *start.get_or_insert_with(Instant::now);
            if self.may_spin && start.elapsed() < SPIN {
                std::hint::spin_loop();
                continue;
            }
            self.sleep()?;
            if self.broken.is_none() && self.is_deserted.as_ref().is_some_and(|is_deserted| is_deserted()) {
                return Err(self.lost(&io::Error::other("its host is lost, or all processes there have ended")));
            }
        }
    }

    fn sleep(&mut self) -> Result<()> {
        let room = self.unsent() > 0;
        if room != self.watches_room {
            let interest = if room { Interest::ReadAndWrite } else { Interest::Read };
            let changed = self.ready.change(self.stream.as_fd(), 0, interest);
            changed.map_err(|error| self.lost(&error))?;
            self.watches_room = room;
        }
        self.ready.wait(NAP, &mut Vec::new()).map_err(|error| self.lost(&error))
    }

    /// Reads what has come, and does with it what was asked for.
    fn receive(&mut self) -> Result<()> {
        loop {
            let count = self.input.fill(&self.stream).map_err(|error| self.lost(&error))?;
            while self.next()? {}
            if count < READ / 2 {
                return Ok(());
            }
        }
    }

    /// Takes the next answer that has come whole; whether there was one.
    fn next(&mut self) -> Result<bool> {
        let Some(head) = self.input.unused().first_chunk::<ANSWER>() else { return Ok(false) };
        let Some(answer) = Answer::from_bytes(head) else { return Err(self.senseless()) };
        let end = ANSWER + answer.payload as usize;
        let Some(payload) = self.input.unused().get(ANSWER..end) else { return Ok(false) };
        if !answer.is_data && answer.class == NOT_YET {
            let Some(held) = Held::from_bytes(payload) else { return Err(self.senseless()) };
            self.held.insert(answer.tag, held);
        } else if !answer.is_data {
            self.held.remove(&answer.tag);
            let text = String::from_utf8_lossy(payload).into_owned();
            self.answers.push((answer.tag, answer.class, text));
        } else {
            let Some(sink) = self.sinks.pop_front() else { return Err(self.senseless()) };
            if answer.class != MPI_SUCCESS {
                let text = String::from_utf8_lossy(payload).into_owned();
                self.failure.get_or_insert(Error::new(answer.class, text));
            } else if sink.tag != answer.tag || sink.bytes != payload.len() {
                return Err(self.senseless());
            } else {
                let mut cursor = Cursor::new();
                cursor.seek(&sink.to, sink.from);
                cursor.unpack_from(&sink.to, payload);
            }
        }
        self.input.consume(end);
        Ok(true)
    }

    #[cold]
    fn senseless(&mut self) -> Error {
        self.lost(&io::Error::new(io::ErrorKind::InvalidData, "it sent an answer that makes no sense"))
    }
}
