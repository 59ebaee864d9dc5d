//! Runs a [`Program`] over a simulated network. Each rank logs what it sends and receives at once,
//! so that the log of a rank that dies is complete.

use crate::program::{Action, Key, Program};
use crate::{Rank, try_run};
use oxmpi_abi::constants::MPI_BYTE;
use oxmpi_core::engine::{Mode, OpId, Outcome, Route};
use oxmpi_datatype::{Datatype, Region, Signature, Source, Target};
use oxmpi_transport::Life;
use oxmpi_transport::sim::Network;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a rank did and saw.
#[derive(Default, Debug)]
pub struct Log {
    /// In the order of sending.
    pub sent: Vec<Sent>,
    /// In the order of posting.
    pub received: Vec<Received>,
    /// All its actions are done.
    pub ended: bool,
}

#[derive(Debug)]
pub struct Sent {
    pub message: usize,
    pub state: Certainty,
    pub outcome: Option<Outcome>,
}

/// Whether a message may be received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    Sent,
    /// It was being withdrawn when its sender died.
    Perhaps,
    Withdrawn,
}

#[derive(Debug)]
pub struct Received {
    pub key: Key,
    pub room: usize,
    /// How it ended, and the bytes that it got.
    pub outcome: Option<(Outcome, Vec<u8>)>,
}

/// The logs of all ranks; an error is a failure of the run itself.
pub fn run_program(program: &Program) -> Result<Vec<Log>, String> {
    let logs: Vec<Mutex<Log>> = (0..program.ranks).map(|_| Mutex::default()).collect();
    let actions = program.actions();
    let network = Network::with_faults(program.seed, program.ranks, program.faults());
    try_run(&network, program.ranks, |rank| {
        let log = &logs[rank.me];
        let mut runner = Runner { program, log, sends: BTreeMap::new(), receives: BTreeMap::new() };
        for (number, &action) in actions[rank.me].iter().enumerate() {
            rank.set_place(|| format!("action {number}: {action:?}"));
            runner.act(rank, action);
        }
        while let Some((&n, _)) = runner.receives.first_key_value() {
            rank.set_place(|| format!("it waits for the receive of message {n} at the end"));
            runner.end_receive(rank, n);
        }
        while let Some((&n, _)) = runner.sends.first_key_value() {
            rank.set_place(|| format!("it waits for the send of message {n} at the end"));
            runner.end_send(rank, n);
        }
        if program.death.is_none() {
            assert_eq!(rank.engine.unexpected(), 0, "messages are left that nobody receives");
            assert_eq!(rank.engine.posted(), 0, "receives are left that nothing meets");
        }
        runner.note().ended = true;
    })?;
    Ok(logs.into_iter().map(|log| log.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}

/// The bytes of a message.
pub fn content(message: usize, length: usize) -> Vec<u8> {
    (0..length).map(|i| (message * 31 + i * 7 + (i >> 8)) as u8).collect()
}

struct Runner<'a> {
    program: &'a Program,
    log: &'a Mutex<Log>,
    /// Sends under way: the operation, the buffer, and the index in the log.
    sends: BTreeMap<usize, (OpId, Buffer, usize)>,
    receives: BTreeMap<usize, (OpId, Buffer, usize)>,
}

impl Runner<'_> {
    fn note(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn act(&mut self, rank: &mut Rank, action: Action) {
        match action {
            Action::Send(n) => self.send(rank, n),
            Action::Receive(n) => self.receive(rank, n),
            Action::Probe(n) => self.probe(rank, n),
            Action::WaitSend(n) => self.end_send(rank, n),
            Action::WaitReceive(n) => self.end_receive(rank, n),
        }
        rank.engine.progress();
    }

    fn send(&mut self, rank: &mut Rank, n: usize) {
        self.start_send(rank, n);
        let Some(turns) = self.program.messages[n].cancel else { return };
        let Some((op, buffer, place)) = self.sends.remove(&n) else { return };
        self.note().sent[place].state = Certainty::Perhaps;
        rank.progress_for(turns);
        rank.engine.cancel_send(op);
        let outcome = rank.wait(op);
        drop(buffer);
        let withdrawn = outcome.status.is_cancelled();
        let state = if withdrawn { Certainty::Withdrawn } else { Certainty::Sent };
        self.note().sent[place] = Sent { message: n, state, outcome: Some(outcome) };
        if withdrawn {
            self.start_send(rank, n);
        }
    }

    fn start_send(&mut self, rank: &mut Rank, n: usize) {
        let message = &self.program.messages[n];
        let bytes = content(n, message.length);
        let mut buffer = Buffer::new(message.length, message.sender_block);
        buffer.put(&bytes);
        let mode = if message.synchronous { Mode::Synchronous } else { Mode::Standard };
        let context = self.program.key(n).pattern().context;
        let route = Route {
            peer: rank.peer(message.to),
            context,
            source: rank.me as i32,
            tag: message.tag,
            signature: Signature::NONE,
        };
        let place = self.note().sent.len();
        self.note().sent.push(Sent { message: n, state: Certainty::Sent, outcome: None });
        // SAFETY: the buffer lives, unchanged, until the send has ended: in `sends`, or beside it in `send`.
        let source = unsafe { Source::new(buffer.region()) };
        match rank.engine.send(mode, &route, source) {
            Some(op) => drop(self.sends.insert(n, (op, buffer, place))),
            None => self.note().sent[place].outcome = Some(Outcome::sent()),
        }
    }

    fn end_send(&mut self, rank: &mut Rank, n: usize) {
        let Some((op, _buffer, place)) = self.sends.remove(&n) else { return };
        let outcome = rank.wait(op);
        self.note().sent[place].outcome = Some(outcome);
    }

    /// The buffer of the receive for a message, and its index in the log.
    fn buffer(&self, n: usize) -> (Buffer, usize) {
        let message = &self.program.messages[n];
        let key = self.program.key(n);
        let room = if message.short { message.length / 2 } else { self.program.longest(key) };
        let buffer = Buffer::new(room, message.receiver_block);
        let mut log = self.note();
        log.received.push(Received { key, room: buffer.len, outcome: None });
        (buffer, log.received.len() - 1)
    }

    fn receive(&mut self, rank: &mut Rank, n: usize) {
        let (mut buffer, place) = self.buffer(n);
        let pattern = self.program.key(n).pattern();
        // SAFETY: the buffer lives, and is not read, until the receive has ended: in `receives`, or
        // here.
        let mut op = rank.engine.recv(pattern, unsafe { Target::new(buffer.region()) });
        if let Some(turns) = self.program.messages[n].cancel_receive {
            rank.progress_for(turns);
            rank.engine.cancel_recv(op);
            if rank.engine.outcome(op).is_some_and(|outcome| outcome.status.is_cancelled()) {
                rank.wait(op);
                // SAFETY: the buffer is not read until this receive has ended; the first one has.
                op = rank.engine.recv(pattern, unsafe { Target::new(buffer.region()) });
            }
        }
        self.receives.insert(n, (op, buffer, place));
    }

    fn probe(&mut self, rank: &mut Rank, n: usize) {
        let key = self.program.key(n);
        let mut turns = 0;
        let (envelope, message) = loop {
            let is_dead =
                self.program.death.is_some() && rank.engine.life(rank.peer(key.source as usize)) == Life::Dead;
            if let Some(found) = rank.engine.take_message(&key.pattern()) {
                break found;
            }
            // Nothing more comes from a dead rank.
            if is_dead {
                return;
            }
            rank.idle(&mut turns, || format!("it probes for {key:?}"));
        };
        let (mut buffer, place) = self.buffer(n);
        // SAFETY: the buffer lives, and is not read, until the receive has ended: in `receives`.
        let op = rank.engine.recv_message(&envelope, message, unsafe { Target::new(buffer.region()) });
        self.receives.insert(n, (op, buffer, place));
    }

    fn end_receive(&mut self, rank: &mut Rank, n: usize) {
        let Some((op, buffer, place)) = self.receives.remove(&n) else { return };
        let outcome = rank.wait(op);
        let bytes = buffer.get(outcome.status.bytes() as usize);
        self.note().received[place].outcome = Some((outcome, bytes));
    }
}

/// The memory of a message, dense or in blocks with gaps.
struct Buffer {
    memory: Vec<u8>,
    len: usize,
    block: usize,
    datatype: Option<Arc<Datatype>>,
}

/// The content of gaps.
const GAP: u8 = 0xa5;

impl Buffer {
    /// So many bytes, or a few more so that the last block is complete.
    fn new(bytes: usize, block: usize) -> Buffer {
        if block == 0 || bytes == 0 {
            return Buffer { memory: vec![GAP; bytes], len: bytes, block: 0, datatype: None };
        }
        let blocks = bytes.div_ceil(block);
        let byte = oxmpi_datatype::predefined(MPI_BYTE.0).expect("a predefined type");
        let ty = Datatype::vector(blocks as i64, block as i64, 2 * block as i64, byte).expect("a vector");
        ty.commit().expect("a type that can be used");
        Buffer { memory: vec![GAP; 2 * blocks * block], len: blocks * block, block, datatype: Some(ty) }
    }

    fn region(&mut self) -> Region {
        match &self.datatype {
            Some(ty) => Region::typed(self.memory.as_mut_ptr(), 1, ty),
            None => Region::dense(self.memory.as_mut_ptr(), self.len),
        }
    }

    fn place(&self, byte: usize) -> usize {
        match self.block {
            0 => byte,
            block => byte / block * 2 * block + byte % block,
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        for (i, &byte) in bytes.iter().enumerate() {
            let at = self.place(i);
            self.memory[at] = byte;
        }
    }

    /// The first bytes; the gaps must be unchanged.
    fn get(&self, bytes: usize) -> Vec<u8> {
        let gaps = (0..self.memory.len()).filter(|i| self.block != 0 && i / self.block % 2 == 1);
        for at in gaps {
            assert_eq!(self.memory[at], GAP, "a gap was written");
        }
        (0..bytes.min(self.len)).map(|i| self.memory[self.place(i)]).collect()
    }
}
