//! A machine without a transport: it runs the plans of all ranks over symbolic data and says what
//! went wrong.
//!
//! Nothing is buffered: a send is over when its receive was started, which is the worst that can
//! happen to a plan. What does not depend on when things happen is checked as each rank goes along:
//! no step reads what was never written or is being received, none writes what is being sent or
//! received, none leaves its buffers. A second mode takes the data when a send is started and lets
//! it be over at once: unlimited buffers.

use oxmpi_coll::nodes::Question;
use oxmpi_coll::plan::{Piece, Plan, Region, Side, Step};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

/// What one atom of memory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Which atom of the operation: whose and which, or the index of an element that is reduced.
    pub what: u64,
    /// The ranks whose operands are in it: a bit for each, or for many ranks the sum of a number
    /// for each.
    pub who: u128,
    /// If these are a range of ranks in order, which.
    pub order: Option<(u32, u32)>,
    /// How it was computed: the same number, the same operations in the same order.
    pub tree: u64,
}

/// What memory holds before anything is written to it.
pub const NOTHING: Value = Value { what: u64::MAX, who: 0, order: None, tree: 0 };

impl Value {
    /// The atom `index` of what `rank` gives.
    pub fn data(rank: u32, index: u64) -> Value {
        Value { what: u64::from(rank) << 32 | index, ..NOTHING }
    }

    /// A byte of the planners' own.
    pub fn byte(byte: u8) -> Value {
        Value { what: 1 << 63 | u64::from(byte), ..NOTHING }
    }

    /// The operand of `rank` for element `index`.
    pub fn operand(rank: u32, index: u64, size: u32) -> Value {
        Value {
            what: index,
            who: everyone(rank..rank + 1, size),
            order: Some((rank, rank + 1)),
            tree: mix(rank.into()),
        }
    }

    pub fn combine(left: Value, right: Value, exact: bool) -> Result<Value, String> {
        if left.what != right.what {
            return Err(format!("elements {} and {} are combined", left.what, right.what));
        }
        if exact && left.who & right.who != 0 {
            return Err(format!("an operand is combined twice: {left:?} with {right:?}"));
        }
        let order = match (left.order, right.order) {
            (Some(a), Some(b)) if a.1 == b.0 => Some((a.0, b.1)),
            _ => None,
        };
        let tree = mix(left.tree.rotate_left(1) ^ mix(right.tree));
        Ok(Value { what: left.what, who: left.who.wrapping_add(right.who), order, tree })
    }
}

/// What `who` is when these ranks are in it. Exact up to 128 ranks.
pub fn everyone(ranks: Range<u32>, size: u32) -> u128 {
    ranks.fold(0, |sum, rank| {
        let one = if size <= 128 {
            1 << rank
        } else {
            u128::from(mix(rank.into())) << 64 | u128::from(mix(!u64::from(rank)))
        };
        sum.wrapping_add(one)
    })
}

fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// What a unit of a region is, in atoms.
#[derive(Clone, Debug)]
pub enum Units {
    Even(u64),
    /// Unit `i` has a place of its own.
    Table(Vec<Range<usize>>),
}

#[derive(Clone, Debug)]
pub struct Store {
    pub units: Units,
    pub atoms: Vec<Value>,
}

impl Store {
    pub fn new(unit: u64, atoms: Vec<Value>) -> Store {
        Store { units: Units::Even(unit), atoms }
    }

    pub fn empty(unit: u64, units: u64) -> Store {
        Store::new(unit, vec![NOTHING; (unit * units) as usize])
    }

    fn range(&self, piece: Piece) -> Result<Range<usize>, String> {
        let out = || format!("{piece:?} is outside of its buffer of {} atoms", self.atoms.len());
        let offset = usize::try_from(piece.offset).map_err(|_| out())?;
        let range = match &self.units {
            Units::Even(unit) => {
                let unit = *unit as usize;
                offset * unit..(offset + piece.count as usize) * unit
            }
            _ if piece.count == 0 => 0..0,
            _ if piece.count != 1 => return Err(format!("{piece:?} is more than one block")),
            Units::Table(table) => table.get(offset).ok_or_else(out)?.clone(),
        };
        if range.end > self.atoms.len() { Err(out()) } else { Ok(range) }
    }
}

/// One rank: its plan and its buffers.
pub struct Process {
    pub plan: Plan,
    pub send: Store,
    pub recv: Store,
    /// What a unit of `Temp` is; the machine makes the memory.
    pub temp: Units,
}

/// What takes time, in any unit. A rank sends one message and receives one at a time.
#[derive(Clone, Copy)]
pub struct Model {
    pub message: f64,
    pub atom: f64,
    pub reduce: f64,
}

/// With this one, the time is the number of rounds.
pub const ROUNDS: Model = Model { message: 1.0, atom: 0.0, reduce: 0.0 };

#[derive(Default, Debug)]
pub struct Outcome {
    pub send: Vec<Vec<Value>>,
    pub recv: Vec<Vec<Value>>,
    /// When the last rank is done.
    pub time: f64,
    /// For each rank: messages sent, atoms sent, atoms received, atoms reduced, units of `Temp`.
    pub messages: Vec<u64>,
    pub sent: Vec<u64>,
    pub received: Vec<u64>,
    pub reduced: Vec<u64>,
    pub temp: Vec<u64>,
    /// For each rank, the ranks that had begun when it was done, as far as it can know: a bit each,
    /// of up to 128.
    pub heard: Vec<u128>,
}

/// Runs all. `first`: the ranks from here on are the second group of an intercommunicator (all of
/// one group: the number of ranks). `exact`: `who` is a bit for each rank.
pub fn run(processes: Vec<Process>, first: usize, eager: bool, model: Model) -> Result<Outcome, String> {
    let ranks = processes.into_iter().map(|p| {
        let room = match &p.temp {
            Units::Even(unit) => (p.plan.temp * unit) as usize,
            Units::Table(_) => 0,
        };
        let temp = Store { units: p.temp, atoms: vec![NOTHING; room] };
        (Rank { plan: p.plan, memory: [p.send, p.recv, temp], ..Rank::default() }, None)
    });
    Machine::new(ranks.collect(), first, eager, model).run()
}

/// The second part of a plan, from what `Temp` holds after the first.
pub type Answer<'a> = Box<dyn Fn(&[u8]) -> Plan + 'a>;

/// Runs plans that begin with a question. An atom is a byte.
pub fn run_asking(ranks: Vec<(Question, Answer<'_>, [Store; 2])>, eager: bool) -> Result<Outcome, String> {
    let size = ranks.len();
    let ranks = ranks.into_iter().map(|(question, answer, [send, recv])| {
        let mut atoms: Vec<Value> = question.memory.iter().map(|byte| Value::byte(*byte)).collect();
        atoms.resize(atoms.len().max(question.plan.temp as usize), NOTHING);
        (Rank { plan: question.plan, memory: [send, recv, Store::new(1, atoms)], ..Rank::default() }, Some(answer))
    });
    Machine::new(ranks.collect(), size, eager, ROUNDS).run()
}

impl<'a> Machine<'a> {
    fn new(ranks: Vec<(Rank, Option<Answer<'a>>)>, first: usize, eager: bool, model: Model) -> Machine<'a> {
        let size = ranks.len();
        let (ranks, answers): (Vec<Rank>, Vec<_>) = ranks.into_iter().unzip();
        let ranks = ranks
            .into_iter()
            .enumerate()
            .map(|(i, rank)| Rank { heard: 1u128.checked_shl(i as u32).unwrap_or(0), ..rank })
            .collect();
        let channels = vec![VecDeque::new(); size * size];
        let events = (0..size).map(|rank| Reverse(Event { when: 0, turn: 0, index: rank })).collect();
        let transfers = Vec::new();
        Machine { ranks, answers, channels, size, first, eager, exact: size <= 128, model, events, transfers }
    }

    fn run(mut self) -> Result<Outcome, String> {
        while let Some(Reverse(event)) = self.events.pop() {
            match event {
                Event { turn: 0, index: rank, .. } => {
                    self.go(rank).map_err(|e| format!("rank {rank}, step {}: {e}", self.ranks[rank].next))?
                }
                Event { index, .. } => self.transfer(index),
            }
        }
        self.end()
    }
}

#[derive(Default)]
struct Rank {
    plan: Plan,
    /// The step it is at.
    next: usize,
    memory: [Store; 3],
    sending: Vec<(usize, Range<usize>)>,
    receiving: Vec<(usize, Range<usize>)>,
    /// Started and not over.
    sends: usize,
    recvs: usize,
    now: f64,
    /// When the last of what it waits for is over.
    sends_over: f64,
    recvs_over: f64,
    out_free: f64,
    in_free: f64,
    messages: u64,
    sent: u64,
    received: u64,
    reduced: u64,
    blocked: bool,
    /// Whom it has heard of, and whom it will have when it has waited for what comes.
    heard: u128,
    hearing: u128,
}

impl Default for Store {
    fn default() -> Store {
        Store::empty(1, 0)
    }
}

#[derive(Clone)]
struct Pending {
    is_send: bool,
    region: usize,
    range: Range<usize>,
    when: f64,
    taken: Option<Vec<Value>>,
    heard: u128,
    /// How many its rank had sent before.
    turn: u64,
}

struct Machine<'a> {
    ranks: Vec<Rank>,
    answers: Vec<Option<Answer<'a>>>,
    /// Messages or receives that wait, by `from * size + to`.
    channels: Vec<VecDeque<Pending>>,
    size: usize,
    first: usize,
    eager: bool,
    exact: bool,
    model: Model,
    events: BinaryHeap<Reverse<Event>>,
    /// Sends and receives that found each other, with their ranks.
    transfers: Vec<Option<(usize, usize, Pending, Pending)>>,
}

/// What happens next: in the order of time (as bits: times are not negative); of what happens at
/// one time, ranks go on before anything is sent, and the first message of each rank is sent before
/// the second of any.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    when: u64,
    /// 0: the rank `index` goes on. Otherwise the transfer `index`, of this message of its rank,
    /// counted from 1.
    turn: u64,
    index: usize,
}

impl Machine<'_> {
    /// Runs a rank until it waits.
    fn go(&mut self, me: usize) -> Result<(), String> {
        loop {
            let rank = &mut self.ranks[me];
            rank.blocked = false;
            let step = rank.plan.steps.get(rank.next).copied();
            match step {
                Some(Step::Send { to, piece }) => self.start_send(me, self.peer(me, to, false)?, piece)?,
                Some(Step::SendLocal { to, piece }) => self.start_send(me, self.peer(me, to, true)?, piece)?,
                Some(Step::Recv { from, piece }) => self.start_recv(me, self.peer(me, from, false)?, piece)?,
                Some(Step::RecvLocal { from, piece }) => self.start_recv(me, self.peer(me, from, true)?, piece)?,
                Some(Step::Copy { from, to }) => rank.copy(from, to)?,
                Some(Step::Reduce { with, into, side }) => {
                    let atoms = rank.reduce(with, into, side, self.exact)?;
                    rank.reduced += atoms;
                    rank.now += atoms as f64 * self.model.reduce;
                }
                Some(Step::Received) | Some(Step::Fence) | None => {
                    let all = step != Some(Step::Received);
                    if rank.recvs > 0 || (all && rank.sends > 0) {
                        rank.blocked = true;
                        return Ok(());
                    }
                    rank.receiving.clear();
                    rank.heard |= rank.hearing;
                    rank.now = rank.now.max(rank.recvs_over);
                    if all {
                        rank.sending.clear();
                        rank.now = rank.now.max(rank.sends_over);
                    }
                    if step.is_none() {
                        let Some(answer) = self.answers[me].take() else { return Ok(()) };
                        rank.answered(answer);
                        continue;
                    }
                }
            }
            self.ranks[me].next += 1;
        }
    }

    fn peer(&self, me: usize, rank: u32, local: bool) -> Result<usize, String> {
        let (low, high) = (0..self.first, self.first..self.size);
        if self.first == self.size && local {
            return Err("a local step within one group".into());
        }
        let group = if self.first == self.size || (me < self.first) == local { low } else { high };
        let peer = group.start + rank as usize;
        if group.contains(&peer) { Ok(peer) } else { Err(format!("there is no rank {rank}")) }
    }

    fn start_send(&mut self, me: usize, to: usize, piece: Piece) -> Result<(), String> {
        let eager = self.eager;
        let rank = &mut self.ranks[me];
        let (region, range) = rank.reading(piece)?;
        rank.messages += 1;
        rank.sent += range.len() as u64;
        rank.sending.push((region, range.clone()));
        let taken = eager.then(|| rank.memory[region].atoms[range.clone()].to_vec());
        if !eager {
            rank.sends += 1;
        }
        let send =
            Pending { is_send: true, region, range, when: rank.now, taken, heard: rank.heard, turn: rank.messages };
        self.meet(me, to, send)
    }

    fn start_recv(&mut self, me: usize, from: usize, piece: Piece) -> Result<(), String> {
        let rank = &mut self.ranks[me];
        let (region, range) = rank.writing(piece)?;
        rank.received += range.len() as u64;
        rank.receiving.push((region, range.clone()));
        rank.recvs += 1;
        let recv = Pending { is_send: false, region, range, when: rank.now, taken: None, heard: 0, turn: 0 };
        self.meet(from, me, recv)
    }

    /// Pairs a send with the oldest receive of its channel, or the other way round, or lets it
    /// wait.
    fn meet(&mut self, from: usize, to: usize, new: Pending) -> Result<(), String> {
        let channel = &mut self.channels[from * self.size + to];
        let old = match channel.front() {
            Some(old) if old.is_send != new.is_send => channel.pop_front(),
            _ => None,
        };
        let Some(old) = old else {
            channel.push_back(new);
            return Ok(());
        };
        let (send, recv) = if new.is_send { (new, old) } else { (old, new) };
        if send.range.len() != recv.range.len() {
            return Err(format!("{} atoms from {from} to {to}, who expects {}", send.range.len(), recv.range.len()));
        }
        let when = send.when.max(recv.when).to_bits();
        self.events.push(Reverse(Event { when, turn: send.turn, index: self.transfers.len() }));
        self.transfers.push(Some((from, to, send, recv)));
        Ok(())
    }

    fn transfer(&mut self, index: usize) {
        let Some((from, to, send, recv)) = self.transfers[index].take() else { return };
        let cost = self.model.message + send.range.len() as f64 * self.model.atom;
        // Out of the sender, and then, as soon as there is nothing else, into the receiver.
        let leaves = send.when.max(recv.when).max(self.ranks[from].out_free);
        let end = leaves.max(self.ranks[to].in_free) + cost;
        let data = match send.taken {
            Some(data) => data,
            None => {
                let sender = &mut self.ranks[from];
                sender.sends -= 1;
                sender.sends_over = sender.sends_over.max(end);
                self.ranks[from].memory[send.region].atoms[send.range].to_vec()
            }
        };
        self.ranks[from].out_free = leaves + cost;
        let receiver = &mut self.ranks[to];
        receiver.memory[recv.region].atoms[recv.range].copy_from_slice(&data);
        receiver.recvs -= 1;
        receiver.hearing |= send.heard;
        receiver.recvs_over = receiver.recvs_over.max(end);
        receiver.in_free = end;
        for rank in [from, to] {
            let r = &mut self.ranks[rank];
            let fence = r.plan.steps.get(r.next) != Some(&Step::Received);
            if r.blocked && r.recvs == 0 && (!fence || r.sends == 0) {
                r.blocked = false;
                let when = r.now.max(r.recvs_over).max(if fence { r.sends_over } else { 0.0 });
                self.events.push(Reverse(Event { when: when.to_bits(), turn: 0, index: rank }));
            }
        }
    }

    fn end(self) -> Result<Outcome, String> {
        let stuck: Vec<String> = self
            .ranks
            .iter()
            .enumerate()
            .filter(|(_, r)| r.next < r.plan.steps.len() || r.blocked)
            .map(|(i, r)| format!("rank {i} at step {} with {} sends and {} receives", r.next, r.sends, r.recvs))
            .collect();
        if !stuck.is_empty() {
            return Err(format!("deadlock: {}", stuck.join("; ")));
        }
        if let Some(at) = self.channels.iter().position(|c| !c.is_empty()) {
            return Err(format!("a message from {} to {} is never received", at / self.size, at % self.size));
        }
        let mut outcome = Outcome::default();
        for rank in self.ranks {
            let [send, recv, _] = rank.memory;
            outcome.send.push(send.atoms);
            outcome.recv.push(recv.atoms);
            outcome.time = outcome.time.max(rank.now);
            outcome.messages.push(rank.messages);
            outcome.sent.push(rank.sent);
            outcome.received.push(rank.received);
            outcome.reduced.push(rank.reduced);
            outcome.temp.push(rank.plan.temp);
            outcome.heard.push(rank.heard);
        }
        Ok(outcome)
    }
}

impl Rank {
    /// Goes on with the second part of its plan.
    fn answered(&mut self, answer: Answer<'_>) {
        let atoms = &mut self.memory[index(Region::Temp)].atoms;
        self.plan = answer(&atoms.iter().map(|value| value.what as u8).collect::<Vec<u8>>());
        self.next = 0;
        atoms.resize(atoms.len().max(self.plan.temp as usize), NOTHING);
    }

    /// A piece that is read: all of it was written, and nothing is being received there.
    fn reading(&self, piece: Piece) -> Result<(usize, Range<usize>), String> {
        let region = index(piece.region);
        let range = self.memory[region].range(piece)?;
        if let Some(at) = self.memory[region].atoms[range.clone()].iter().position(|v| *v == NOTHING) {
            return Err(format!("{piece:?} is read; atom {} was never written", range.start + at));
        }
        free(&self.receiving, region, &range).map_err(|e| format!("{piece:?} is read while {e} is received"))?;
        Ok((region, range))
    }

    /// A piece that is written: not of the user's send buffer, and nothing is being sent or
    /// received there.
    fn writing(&self, piece: Piece) -> Result<(usize, Range<usize>), String> {
        let region = index(piece.region);
        let range = self.memory[region].range(piece)?;
        if piece.region == Region::Send {
            return Err(format!("{piece:?} is written"));
        }
        free(&self.sending, region, &range).map_err(|e| format!("{piece:?} is written while {e} is sent"))?;
        free(&self.receiving, region, &range).map_err(|e| format!("{piece:?} is written while {e} is received"))?;
        Ok((region, range))
    }

    fn copy(&mut self, from: Piece, to: Piece) -> Result<(), String> {
        let (source, read) = self.reading(from)?;
        let (target, write) = self.writing(to)?;
        if read.len() != write.len() {
            return Err(format!("{from:?} is copied to {to:?}: {} to {} atoms", read.len(), write.len()));
        }
        if source == target && read.start < write.end && write.start < read.end {
            return Err(format!("{from:?} is copied to {to:?}, which overlaps"));
        }
        let data = self.memory[source].atoms[read].to_vec();
        self.memory[target].atoms[write].copy_from_slice(&data);
        Ok(())
    }

    fn reduce(&mut self, with: Piece, into: Piece, side: Side, exact: bool) -> Result<u64, String> {
        let (source, read) = self.reading(with)?;
        self.reading(into)?;
        let (target, write) = self.writing(into)?;
        if read.len() != write.len() {
            return Err(format!("{with:?} is combined with {into:?}"));
        }
        for (from, to) in read.clone().zip(write) {
            let (a, b) = (self.memory[source].atoms[from], self.memory[target].atoms[to]);
            let (left, right) = if side == Side::Left { (a, b) } else { (b, a) };
            self.memory[target].atoms[to] = Value::combine(left, right, exact)?;
        }
        Ok(read.len() as u64)
    }
}

fn index(region: Region) -> usize {
    match region {
        Region::Send => 0,
        Region::Recv => 1,
        Region::Temp => 2,
    }
}

/// Nothing of this list overlaps; otherwise what does.
fn free(list: &[(usize, Range<usize>)], region: usize, range: &Range<usize>) -> Result<(), String> {
    let overlaps = |at: &&(usize, Range<usize>)| at.0 == region && at.1.start < range.end && range.start < at.1.end;
    match list.iter().filter(|_| !range.is_empty()).find(overlaps) {
        Some((_, range)) => Err(format!("{range:?}")),
        None => Ok(()),
    }
}
