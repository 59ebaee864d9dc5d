//! The connection of one origin to this node, as the agent serves it: reads requests, executes them in their order, and
//! writes answers. It holds locks on behalf of the origin, and releases them when the connection ends.
//!
//! Memory is bounded: requests are read only while their answers have room, so an origin that asks faster than it reads
//! is stopped by TCP. A request that needs a stripe that is held stops its connection until it is tried again. A lock that is
//! not free stops nothing: other threads of the origin may go on.

use super::buffer::Buffer;
use super::execute::{Done, Programs, Scratch, execute};
use super::served::{ServedNode, ServedWindow};
use super::wire::*;
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_datatype::Program;
use std::collections::HashMap;
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::{Duration, Instant};

/// Unsent bytes of answers above which no request is executed.
const MOST_UNSENT: usize = 256 << 10;
/// Bytes that are read at a time: a few requests of the longest kind.
const READ: usize = 256 << 10;
/// Programs of types that an origin may have here, and their bytes.
const MOST_PROGRAMS: usize = 1024;
/// Bytes of the text of an error.
const MOST_TEXT: usize = 1024;
/// How often a lock is tried politely, so that waiting writers go first.
const POLITE_TRIES: u32 = 1000;
/// Requests that are executed before another connection has its turn.
const TURN: usize = 64;

/// A connection to an origin, or of a rank of this node.
pub struct Connection {
    stream: TcpStream,
    /// The origin's slot, if it is a rank of this node.
    local_slot: Option<u32>,
    input: Buffer,
    output: Vec<u8>,
    sent: usize,
    programs: Programs,
    /// The program of which some parts have come.
    partial: Option<(u32, Vec<u8>)>,
    scratch: Scratch,
    /// The first error of a request that has no answer; the next flush brings it.
    failure: Option<Error>,
    /// Locks that are waited for.
    waiting: Vec<Waiting>,
    /// Locks that are held.
    held: Vec<HeldLock>,
    /// Windows that this rank of the node has registered, with its rank.
    registered: Vec<(u64, u32)>,
    /// The next request needs something that another process holds.
    is_stopped: bool,
}

struct Waiting {
    request: Request,
    tries: u32,
    /// When it began, or when the origin was last told who holds the lock.
    since: Instant,
    told: Option<Held>,
}

/// A lock of a rank of a window that the origin, another one, holds.
struct HeldLock {
    window: u64,
    rank: u32,
    exclusive: bool,
    origin: u32,
}

/// A lock that is not free after this time is worth a word about who holds it.
const WORTH_A_WORD: Duration = Duration::from_millis(100);

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// It must be worked on again soon, whether or not its socket is ready.
    pub again: bool,
    /// At once: it has requests that were read and not executed.
    pub at_once: bool,
    /// Its socket has no room for answers.
    pub wants_room: bool,
    /// Requests can be read. Otherwise the socket stays ready to be read, and must not be watched for it.
    pub reads: bool,
}

impl State {
    /// Of a new connection.
    pub const NEW: State = State { again: false, at_once: false, wants_room: false, reads: true };
}

impl Connection {
    /// `local_slot`: the caller is this rank of the agent's own node, which may register windows.
    pub fn new(stream: TcpStream, local_slot: Option<u32>) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        // A small answer must not wait for the acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        Ok(Connection {
            stream,
            local_slot,
            input: Buffer::new(READ),
            output: Vec::new(),
            sent: 0,
            programs: HashMap::new(),
            partial: None,
            scratch: Scratch::default(),
            failure: None,
            waiting: Vec::new(),
            held: Vec::new(),
            registered: Vec::new(),
            is_stopped: false,
        })
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Does what can be done without waiting. An error means that the connection has ended.
    pub fn work(&mut self, node: &ServedNode) -> io::Result<State> {
        self.try_locks(node);
        let mut executed = 0;
        self.is_stopped = false;
        loop {
            let mut has_all = false;
            while executed < TURN && self.unsent() <= MOST_UNSENT && !has_all {
                has_all = !self.next(node)?;
                executed += 1;
            }
            self.push()?;
            // Requests that were read are executed before more are read: the socket would not tell of them.
            let must_stop = self.is_stopped || executed >= TURN || self.unsent() > MOST_UNSENT;
            if must_stop || (has_all && self.input.fill(&self.stream)? == 0) {
                break;
            }
        }
        let again = self.is_stopped || !self.waiting.is_empty();
        let reads = !self.is_stopped && self.unsent() <= MOST_UNSENT;
        Ok(State { again, at_once: executed >= TURN, wants_room: self.unsent() > 0, reads })
    }

    /// The connection has ended: what the origin held is released.
    pub fn end(mut self, node: &ServedNode) {
        for Waiting { request, .. } in std::mem::take(&mut self.waiting) {
            if let Ok(window) = node.window(request.window) {
                lock_words(&window, &request).for_each(|rank| {
                    window.control.lock(rank).end_waiting(request.flags & EXCLUSIVE != 0);
                });
            }
        }
        for HeldLock { window: number, rank, exclusive, origin } in std::mem::take(&mut self.held) {
            // The next one that wants the lock shall hear that what it protects may be half done.
            if exclusive && node.goes_on() {
                if let Ok(window) = node.window(number) {
                    window.note_lost(origin);
                    node.wake_all(&window);
                }
                continue;
            }
            release(node, number, rank, exclusive);
        }
        for (number, rank) in std::mem::take(&mut self.registered) {
            node.lose(number, rank);
        }
    }

    fn unsent(&self) -> usize {
        self.output.len() - self.sent
    }

    fn push(&mut self) -> io::Result<()> {
        while self.sent < self.output.len() {
            match self.stream.write(&self.output[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.output.clear();
        self.sent = 0;
        Ok(())
    }

    /// Executes the next request that has come whole; whether there was one.
    fn next(&mut self, node: &ServedNode) -> io::Result<bool> {
        let Some(head) = self.input.unused().first_chunk::<REQUEST>() else { return Ok(false) };
        let Some(request) = Request::from_bytes(head) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a request that no process of the job makes"));
        };
        let end = REQUEST + request.payload as usize;
        if self.input.unused().len() < end {
            return Ok(false);
        }
        // Taken out for the time of the call: the payload is borrowed from it.
        let input = std::mem::replace(&mut self.input, Buffer::new(0));
        let done = self.serve(node, &request, &input.unused()[REQUEST..end]);
        self.input = input;
        match done {
            Ok(Done::TryAgain) => {
                self.is_stopped = true;
                return Ok(false);
            }
            Ok(Done::Yes) => {}
            Err(error) => self.fail(&request, error),
        }
        self.input.consume(end);
        Ok(true)
    }

    fn serve(&mut self, node: &ServedNode, request: &Request, payload: &[u8]) -> Result<Done> {
        match request.kind {
            Kind::Put | Kind::Get | Kind::Accumulate | Kind::CompareAndSwap => {
                let start = self.output.len();
                self.output.resize(start + ANSWER, 0);
                let done = execute(node, request, payload, &self.programs, &mut self.scratch, &mut self.output);
                let bytes = self.output.len() - start - ANSWER;
                if bytes == 0 || !matches!(done, Ok(Done::Yes)) {
                    self.output.truncate(start);
                    return done;
                }
                let answer = Answer { is_data: true, payload: bytes as u32, tag: request.tag, class: MPI_SUCCESS };
                self.output[start..start + ANSWER].copy_from_slice(&answer.to_bytes());
                return done;
            }
            Kind::Flush => self.acknowledge(request)?,
            Kind::Lock | Kind::LockAll => self.lock(node, request)?,
            Kind::Unlock => {
                self.unlock(node, request.window, &[request.target])?;
                self.acknowledge(request)?;
            }
            Kind::UnlockAll => {
                let ranks = node.window(request.window)?.local_ranks();
                self.unlock(node, request.window, &ranks)?;
                self.acknowledge(request)?;
            }
            Kind::Round => {
                let window = node.window(request.window)?;
                window.control.has_reached(window.check_rank(request.origin)?, request.offset);
                node.wake_all(&window);
            }
            Kind::Post | Kind::Complete => {
                let window = node.window(request.window)?;
                let (from, member) = (window.check_rank(request.origin)?, window.member(request.target)?);
                let to = request.target as usize;
                let word = match request.kind {
                    Kind::Post => window.control.posts(to, from),
                    _ => window.control.completions(to, from),
                };
                // Release: a rank that sees the number sees what was written for it before.
                word.store(word.load(Relaxed).wrapping_add(1), Release);
                node.wake(member.slot);
            }
            Kind::Register => {
                let Some(slot) = self.local_slot else {
                    bail!(MPI_ERR_WIN, "a process of another node cannot register a window here");
                };
                let Some(told) = Registration::from_bytes(payload) else {
                    bail!(MPI_ERR_WIN, "a registration that no process of the job makes");
                };
                node.register(request.window, request.origin, slot, &told)?;
                self.registered.push((request.window, request.origin));
                self.answer(request, MPI_SUCCESS);
            }
            Kind::Unregister => {
                self.registered.retain(|&mine| mine != (request.window, request.origin));
                node.unregister(request.window, request.origin);
                self.answer(request, MPI_SUCCESS);
            }
            Kind::Probe => {
                let can = self.local_slot.is_some_and(|slot| node.can_read(slot, request.offset, request.position));
                self.answer(request, if can { MPI_SUCCESS } else { REFUSED });
            }
            Kind::Type => self.take_program(request, payload)?,
        }
        Ok(Done::Yes)
    }

    /// Answers that everything before has been done, or what went wrong.
    fn acknowledge(&mut self, request: &Request) -> Result<()> {
        self.failure.take().map_or(Ok(()), Err)?;
        self.answer(request, MPI_SUCCESS);
        Ok(())
    }

    /// An answer without data.
    fn answer(&mut self, request: &Request, class: i32) {
        let answer = Answer { is_data: false, payload: 0, tag: request.tag, class };
        self.output.extend_from_slice(&answer.to_bytes());
    }

    /// The answer to a request for a lock has to wait.
    fn not_yet(&mut self, request: &Request, held: Held) {
        let answer = Answer { is_data: false, payload: HELD as u32, tag: request.tag, class: NOT_YET };
        self.output.extend_from_slice(&answer.to_bytes());
        self.output.extend_from_slice(&held.to_bytes());
    }

    /// A request failed: its answer says why, or that of the next flush.
    fn fail(&mut self, request: &Request, error: Error) {
        let fetches = request.kind == Kind::Accumulate && request.flags & FETCH != 0;
        let is_data = fetches || matches!(request.kind, Kind::Get | Kind::CompareAndSwap);
        let has_no_answer = match request.kind {
            Kind::Accumulate => !fetches,
            kind => matches!(kind, Kind::Put | Kind::Round | Kind::Post | Kind::Complete | Kind::Type),
        };
        if has_no_answer {
            self.failure.get_or_insert(error);
            return;
        }
        let text = error.to_string();
        let text = &text.as_bytes()[..text.len().min(MOST_TEXT)];
        let answer = Answer { is_data, payload: text.len() as u32, tag: request.tag, class: error.class() };
        self.output.extend_from_slice(&answer.to_bytes());
        self.output.extend_from_slice(text);
    }

    /// A part of the program of a type; the last one makes it usable.
    fn take_program(&mut self, request: &Request, payload: &[u8]) -> Result<()> {
        let bytes = match &mut self.partial {
            Some((number, bytes)) if *number == request.program && bytes.len() as u64 == request.position => bytes,
            partial if request.position == 0 => &mut partial.insert((request.program, Vec::new())).1,
            _ => bail!(MPI_ERR_TYPE, "a part of a type came without the one before it"),
        };
        bytes.extend_from_slice(payload);
        if (bytes.len() as u64) < request.length {
            return Ok(());
        }
        let program = Program::decode(bytes);
        self.partial = None;
        let Some(program) = program else { bail!(MPI_ERR_TYPE, "a type that no process of the job makes") };
        if self.programs.len() >= MOST_PROGRAMS && !self.programs.contains_key(&request.program) {
            bail!(MPI_ERR_TYPE, "more than {MOST_PROGRAMS} types");
        }
        self.programs.insert(request.program, program);
        Ok(())
    }

    // ---- locks ----

    fn lock(&mut self, node: &ServedNode, request: &Request) -> Result<()> {
        let window = node.window(request.window)?;
        if request.kind == Kind::Lock {
            window.member(request.target)?;
        }
        window.check_rank(request.origin)?;
        if take(&window, request, true).is_ok() {
            self.granted(&window, request);
        } else if request.kind == Kind::Lock || request.flags & PATIENT != 0 {
            lock_words(&window, request)
                .for_each(|rank| window.control.lock(rank).begin_waiting(request.flags & EXCLUSIVE != 0));
            self.waiting.push(Waiting { request: *request, tries: 0, since: Instant::now(), told: None });
        } else {
            self.answer(request, REFUSED);
        }
        Ok(())
    }

    fn granted(&mut self, window: &ServedWindow, request: &Request) {
        let exclusive = request.flags & EXCLUSIVE != 0;
        let held =
            |rank: usize| HeldLock { window: request.window, rank: rank as u32, exclusive, origin: request.origin };
        self.held.extend(lock_words(window, request).map(held));
        self.answer(request, MPI_SUCCESS);
    }

    /// Tries the locks that were not free.
    fn try_locks(&mut self, node: &ServedNode) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain_mut(|Waiting { request, tries, since, told }| {
            let window = match node.window(request.window) {
                Ok(window) => window,
                Err(error) => {
                    self.fail(request, error);
                    return false;
                }
            };
            *tries = tries.saturating_add(1);
            if let Err(rank) = take(&window, request, *tries < POLITE_TRIES) {
                if node.goes_on()
                    && let Err(error) = window.take_from_lost(rank)
                {
                    lock_words(&window, request)
                        .for_each(|rank| window.control.lock(rank).end_waiting(request.flags & EXCLUSIVE != 0));
                    node.wake_all(&window);
                    self.fail(request, error);
                    return false;
                }
                if since.elapsed() >= WORTH_A_WORD && self.unsent() <= MOST_UNSENT {
                    let owner = window.control.lock(rank).owner().map(|owner| owner as u32);
                    let held = Held { rank: rank as u32, owner };
                    if *told != Some(held) {
                        self.not_yet(request, held);
                    }
                    (*since, *told) = (Instant::now(), Some(held));
                }
                return true;
            }
            lock_words(&window, request)
                .for_each(|rank| window.control.lock(rank).end_waiting(request.flags & EXCLUSIVE != 0));
            self.granted(&window, request);
            false
        });
        self.waiting = waiting;
    }

    fn unlock(&mut self, node: &ServedNode, number: u64, ranks: &[u32]) -> Result<()> {
        for &rank in ranks {
            let held = self.held.iter().position(|held| (held.window, held.rank) == (number, rank));
            let Some(index) = held else { bail!(MPI_ERR_RMA_SYNC, "rank {rank} is not locked by this process") };
            let HeldLock { exclusive, .. } = self.held.swap_remove(index);
            release(node, number, rank, exclusive);
        }
        Ok(())
    }
}

/// The ranks whose locks a request is for.
fn lock_words(window: &ServedWindow, request: &Request) -> std::vec::IntoIter<usize> {
    let ranks = match request.kind {
        Kind::Lock => vec![request.target],
        _ => window.local_ranks(),
    };
    ranks.into_iter().map(|rank| rank as usize).collect::<Vec<_>>().into_iter()
}

/// Takes the locks of a request, or none; then the first one that is not free.
fn take(window: &ServedWindow, request: &Request, polite: bool) -> std::result::Result<(), usize> {
    let exclusive = request.flags & EXCLUSIVE != 0;
    let mut taken = Vec::new();
    for rank in lock_words(window, request) {
        if !window.control.lock(rank).try_take(request.origin as usize, exclusive, polite) {
            for rank in taken {
                window.control.lock(rank).give_back(exclusive);
            }
            return Err(rank);
        }
        taken.push(rank);
    }
    Ok(())
}

fn release(node: &ServedNode, number: u64, rank: u32, exclusive: bool) {
    if let Ok(window) = node.window(number)
        && window.control.lock(rank as usize).give_back(exclusive)
    {
        node.wake_all(&window);
    }
}
