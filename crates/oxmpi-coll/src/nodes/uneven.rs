//! Operations in which ranks know only the lengths of their own blocks: gatherv, scatterv, alltoallv and alltoallw.
//!
//! Short blocks go through a rank of each node, packed; long ones go straight to where they belong. So the plan of a rank has
//! two parts: in the first, a [`Question`], it learns the lengths that it does not know; from the answers follows the second.
//! `Temp` counts bytes in both, and keeps what it holds between them.
//!
//! Which blocks are short depends on their lengths alone (`limit`). In gatherv and scatterv the lengths of the ranks that send
//! are told along the way of the data, and all others act on them: where arguments differ, the receiver gets an error and
//! nobody waits for ever. In alltoallv the two ends of a block decide each for itself.

use super::exchange::agent_for;
use super::{Here, NodeMap, Rooted};
use crate::choose::Kind;
use crate::gather::BATCH;
use crate::operation::Operation;
use crate::plan::{Blocks, Piece, Plan, Region};
use crate::rules::longest_over_nodes;
use crate::tree::{after, before};

/// The bytes of a unit of each buffer.
#[derive(Clone, Copy, Debug)]
pub struct UnitBytes {
    pub send: u64,
    pub recv: u64,
}

/// The first part of a rank's plan.
#[derive(Clone, Debug, Default)]
pub struct Question {
    pub plan: Plan,
    /// What `Temp` holds before.
    pub memory: Vec<u8>,
}

/// The question of a rank. `None` for operations of which all ranks know all lengths, and for exchanges in place.
pub fn question(operation: &Operation, units: UnitBytes, rank: u32, map: &NodeMap) -> Option<Question> {
    let here = Here::new(map, rank, 1);
    Some(match *operation {
        Operation::Gatherv { root, send, .. } => gatherv_question(&Rooted::new(&here, root), send * units.send),
        Operation::Scatterv { root, send, .. } => {
            scatterv_question(&Rooted::new(&here, root), Lengths(send, units.send))
        }
        Operation::Alltoallv { in_place: false, send, recv } => {
            alltoallv_question(&here, Lengths(send, units.send), Lengths(recv, units.recv))
        }
        _ => return None,
    })
}

/// The second part of the plan of a rank whose `Temp` holds `told` after the first.
pub fn answer(operation: &Operation, units: UnitBytes, rank: u32, map: &NodeMap, told: &[u8]) -> Plan {
    let here = Here::new(map, rank, 1);
    let told = Told(told);
    match *operation {
        Operation::Gatherv { root, in_place, send, recv } => {
            let own = (!(in_place && rank == root)).then_some(Region::Send.at(0, send));
            gatherv(&Rooted::new(&here, root), own, Lengths(recv, units.recv), &told, send * units.send)
        }
        Operation::Scatterv { root, in_place, send, recv } => {
            let own = (!(in_place && rank == root)).then_some(Region::Recv.at(0, recv));
            scatterv(&Rooted::new(&here, root), own, Lengths(send, units.send), &told)
        }
        Operation::Alltoallv { send, recv, .. } => {
            alltoallv(&here, Lengths(send, units.send), Lengths(recv, units.recv), &told)
        }
        _ => unreachable!("only operations that have a question have an answer"),
    }
}

/// The bytes of a length that is told.
const WORD: u64 = 8;
/// Bytes behind the lengths of a node, for each of its ranks: short blocks travel there, without a message of their own.
const INLINE: u64 = 64;

/// Blocks and the bytes of their units.
#[derive(Clone, Copy)]
struct Lengths<'a>(Blocks<'a>, u64);

impl Lengths<'_> {
    fn of(&self, i: u32) -> u64 {
        match self.0 {
            Blocks::Each { bytes } => bytes[i as usize],
            blocks => blocks.at(Region::Send, i).count * self.1,
        }
    }
}

/// What ranks have told each other.
struct Told<'a>(&'a [u8]);

impl Told<'_> {
    fn word(&self, at: u64) -> u64 {
        let bytes = self.0.get(at as usize..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |word| u64::from_ne_bytes(*word))
    }
}

/// The bytes of a block that pass through a rank between: none of a long one.
fn carried(kind: Kind, bytes: u64) -> u64 {
    if bytes <= longest_over_nodes(kind) { bytes } else { 0 }
}

fn bytes(at: u64, count: u64) -> Piece {
    Region::Temp.at(at, count)
}

/// Where the lengths and short blocks of nodes lie in the root's `Temp`: for each node but its own, in their order from there.
struct Letters<'a>(&'a Rooted<'a>);

impl Letters<'_> {
    fn size(&self, node: u32) -> u64 {
        self.0.here.map.size(node).into()
    }

    /// The nodes, with the places of their letters.
    fn all(&self) -> impl Iterator<Item = (u32, Piece)> {
        (1..self.0.here.nodes()).scan(0, |at, relative| {
            let node = self.0.node(relative);
            let letter = bytes(*at, self.size(node) * (WORD + INLINE));
            *at += letter.count;
            Some((node, letter))
        })
    }

    fn total(&self) -> u64 {
        self.all().map(|(_, letter)| letter.count).sum()
    }
}

// ---- gatherv ----

/// Each rank tells the leader of its node its length; the root receives the letters of all leaders.
fn gatherv_question(tree: &Rooted, own: u64) -> Question {
    let here = tree.here;
    let mut question = Question::default();
    if tree.is_root() {
        for (node, letter) in Letters(tree).all() {
            question.plan.recv(tree.leader(node), letter);
        }
        question.memory = vec![0; Letters(tree).total() as usize];
    } else if here.node != tree.home {
        question.memory = own.to_ne_bytes().to_vec();
        if tree.leads() {
            question.memory.resize((u64::from(here.size) * (WORD + INLINE)) as usize, 0);
            for index in 1..here.size {
                question.plan.recv(here.map.rank(here.node, index), bytes(u64::from(index) * WORD, WORD));
            }
        } else {
            question.plan.send(tree.leader(here.node), bytes(0, WORD));
        }
    }
    question
}

fn gatherv(tree: &Rooted, own: Option<Piece>, recv: Lengths, told: &Told, own_bytes: u64) -> Plan {
    let here = tree.here;
    let mut plan = Plan::default();
    let pass = |bytes: u64| carried(Kind::Gatherv, bytes);
    if tree.is_root() {
        return gatherv_root(tree, own, recv, told);
    }
    let own = own.unwrap_or(Region::Send.at(0, 0));
    if here.node == tree.home || pass(own_bytes) < own_bytes {
        plan.send(tree.root, own);
    }
    if here.node == tree.home {
        return plan;
    }
    if !tree.leads() {
        if pass(own_bytes) > 0 {
            plan.send(tree.leader(here.node), own);
        }
        return plan;
    }
    // The letter goes first, so that the root knows what else comes.
    let straight = std::mem::take(&mut plan.steps);
    let lengths: Vec<u64> = (0..u64::from(here.size)).map(|index| pass(told.word(index * WORD))).collect();
    let total: u64 = lengths.iter().sum();
    let letter = bytes(0, u64::from(here.size) * (WORD + INLINE));
    let fits = total <= u64::from(here.size) * INLINE;
    let start = if fits { u64::from(here.size) * WORD } else { letter.count };
    if !fits {
        plan.send(tree.root, letter);
    }
    let mut at = start;
    for (rank, length) in here.map.members(here.node).zip(lengths) {
        let place = bytes(at, length);
        match rank == here.rank {
            true if length > 0 => plan.copy(own, place),
            true => {}
            false => plan.recv(rank, place),
        }
        at += length;
    }
    plan.received();
    plan.send(tree.root, if fits { letter } else { bytes(start, total) });
    plan.steps.extend(straight);
    plan.temp = plan.temp.max(letter.count);
    plan
}

fn gatherv_root(tree: &Rooted, own: Option<Piece>, recv: Lengths, told: &Told) -> Plan {
    let here = tree.here;
    let mut plan = Plan::default();
    let place = |rank: u32| recv.0.at(Region::Recv, rank);
    for rank in here.map.members(tree.home).filter(|rank| *rank != tree.root) {
        plan.recv(rank, place(rank));
    }
    if let Some(own) = own {
        plan.copy(own, place(tree.root));
    }
    let mut free = Letters(tree).total();
    let (mut copies, mut straight) = (Vec::new(), Vec::new());
    for (turn, (node, letter)) in Letters(tree).all().enumerate() {
        let words = letter.offset as u64;
        let length = |index: u32| told.word(words + u64::from(index) * WORD);
        let pass = |index: u32| carried(Kind::Gatherv, length(index));
        let total = (0..here.map.size(node)).map(pass).sum::<u64>();
        let fits = total <= u64::from(here.map.size(node)) * INLINE;
        let mut at = if fits { words + u64::from(here.map.size(node)) * WORD } else { free };
        if !fits {
            if turn % BATCH == 0 {
                plan.received();
            }
            plan.recv(tree.leader(node), bytes(free, total));
            free += total;
        }
        for (index, rank) in (0..).zip(here.map.members(node)) {
            match length(index) > pass(index) {
                true => straight.push(rank),
                false => copies.push((bytes(at, pass(index)), place(rank))),
            }
            at += pass(index);
        }
    }
    for batch in straight.chunks(BATCH) {
        plan.received();
        for rank in batch {
            plan.expect(*rank, place(*rank));
        }
    }
    plan.received();
    for (from, to) in copies {
        plan.deliver(from, to);
    }
    plan.temp = plan.temp.max(free);
    plan
}

// ---- scatterv ----

/// The root tells the leaders the lengths of their nodes, and each leader its ranks.
fn scatterv_question(tree: &Rooted, send: Lengths) -> Question {
    let here = tree.here;
    let mut question = Question::default();
    if tree.is_root() {
        for (node, _) in Letters(tree).all() {
            let lengths = here.map.members(node).flat_map(|rank| send.of(rank).to_ne_bytes());
            question.memory.extend(lengths);
            question.memory.resize(question.memory.len() + (Letters(tree).size(node) * INLINE) as usize, 0);
        }
    } else if here.node != tree.home {
        let leads = tree.leads();
        let letter = if leads { u64::from(here.size) * (WORD + INLINE) } else { WORD };
        question.memory = vec![0; letter as usize];
        question.plan.recv(if leads { tree.root } else { tree.leader(here.node) }, bytes(0, letter));
    }
    question
}

fn scatterv(tree: &Rooted, own: Option<Piece>, send: Lengths, told: &Told) -> Plan {
    let here = tree.here;
    let mut plan = Plan::default();
    let pass = |bytes: u64| carried(Kind::Scatterv, bytes);
    if tree.is_root() {
        return scatterv_root(tree, own, send);
    }
    let own = own.unwrap_or(Region::Recv.at(0, 0));
    if here.node == tree.home {
        plan.recv(tree.root, own);
        return plan;
    }
    let own_bytes = told.word(0);
    let is_straight = pass(own_bytes) < own_bytes;
    if !tree.leads() {
        match (is_straight, own_bytes) {
            (true, _) => plan.expect(tree.root, own),
            (false, 0) => plan.deliver(bytes(0, 0), own),
            (false, _) => plan.expect(tree.leader(here.node), own),
        }
        return plan;
    }
    let lengths: Vec<u64> = (0..u64::from(here.size)).map(|index| pass(told.word(index * WORD))).collect();
    let total: u64 = lengths.iter().sum();
    let letter = u64::from(here.size) * (WORD + INLINE);
    let fits = total <= u64::from(here.size) * INLINE;
    let mut at = if fits { u64::from(here.size) * WORD } else { letter };
    if !fits {
        plan.recv(tree.root, bytes(at, total));
    }
    for (index, rank) in (0..).zip(here.map.members(here.node)).skip(1) {
        plan.send(rank, bytes(index * WORD, WORD));
    }
    plan.received();
    for (rank, length) in here.map.members(here.node).zip(lengths) {
        match rank == here.rank {
            true if is_straight => plan.expect(tree.root, own),
            true => plan.deliver(bytes(at, length), own),
            false => plan.send(rank, bytes(at, length)),
        }
        at += length;
    }
    plan.temp = plan.temp.max(letter);
    plan
}

fn scatterv_root(tree: &Rooted, own: Option<Piece>, send: Lengths) -> Plan {
    let here = tree.here;
    let mut plan = Plan::default();
    let block = |rank: u32| send.0.at(Region::Send, rank);
    let pass = |rank: u32| carried(Kind::Scatterv, send.of(rank));
    let mut free = Letters(tree).total();
    for (node, letter) in Letters(tree).all() {
        let total = here.map.members(node).map(pass).sum::<u64>();
        let fits = total <= Letters(tree).size(node) * INLINE;
        let start = if fits { letter.offset as u64 + Letters(tree).size(node) * WORD } else { free };
        let mut at = start;
        for rank in here.map.members(node).filter(|rank| pass(*rank) > 0) {
            plan.copy(block(rank), bytes(at, pass(rank)));
            at += pass(rank);
        }
        plan.send(tree.leader(node), letter);
        if !fits {
            plan.send(tree.leader(node), bytes(start, total));
            free += total;
        }
    }
    for rank in here.map.members(tree.home).filter(|rank| *rank != tree.root) {
        plan.send(rank, block(rank));
    }
    if let Some(own) = own {
        plan.copy(block(tree.root), own);
    }
    let far = (1..here.nodes()).flat_map(|relative| here.map.members(tree.node(relative)));
    for rank in far.filter(|rank| pass(*rank) < send.of(*rank)) {
        plan.send(rank, block(rank));
    }
    plan.temp = plan.temp.max(free);
    plan
}

// ---- alltoallv ----

/// The ranks of the nodes that a rank of this node speaks with, each with its node.
fn far_ranks(here: &Here, agent: u32) -> impl Iterator<Item = (u32, u32)> {
    let nodes = (agent..here.nodes()).step_by(here.size as usize).filter(move |node| *node != here.node);
    nodes.flat_map(|node| here.map.members(node).map(move |rank| (node, rank)))
}

/// The bytes that a rank tells an agent: how much it gives to each rank that the agent speaks with, and gets from it.
fn report(here: &Here, agent: u32) -> u64 {
    far_ranks(here, agent).count() as u64 * 2 * WORD
}

/// Each rank tells the agents of its node what passes through them.
fn alltoallv_question(here: &Here, send: Lengths, recv: Lengths) -> Question {
    let mut question = Question::default();
    let own = report(here, here.index);
    let name = |index: u32| here.map.rank(here.node, index);
    // The reports to this rank come first, by the number of the rank that tells; its own is among them.
    let mut at = own * u64::from(here.size);
    question.memory = vec![0; at as usize];
    for agent in 0..here.size {
        let lengths = far_ranks(here, agent).flat_map(|(_, rank)| [send.of(rank), recv.of(rank)]);
        let report: Vec<u8> = lengths.flat_map(|bytes| carried(Kind::Alltoallv, bytes).to_ne_bytes()).collect();
        if agent == here.index {
            let start = own as usize * agent as usize;
            question.memory[start..start + report.len()].copy_from_slice(&report);
        } else {
            question.plan.recv(name(agent), bytes(own * u64::from(agent), own));
            question.plan.send(name(agent), bytes(at, report.len() as u64));
            at += report.len() as u64;
            question.memory.extend(report);
        }
    }
    question
}

/// The next free bytes of `Temp`.
struct Room(u64);

impl Room {
    fn take(&mut self, count: u64) -> Piece {
        self.0 += count;
        bytes(self.0 - count, count)
    }
}

/// As the all-to-all of equal blocks (`exchange.rs`): each pair of nodes has an agent on each side, which exchange what is
/// short; then long blocks go straight, a few at a time.
fn alltoallv(here: &Here, send: Lengths, recv: Lengths, told: &Told) -> Plan {
    let mut plan = Plan::default();
    let pass = |length: u64| carried(Kind::Alltoallv, length);
    let name = |index: u32| here.map.rank(here.node, index);
    let others = || (0..here.size).filter(|index| *index != here.index);
    let (out, into) = (|rank| send.0.at(Region::Send, rank), |rank| recv.0.at(Region::Recv, rank));
    let mine: Vec<(u32, u32)> = far_ranks(here, here.index).collect();
    let own_report = report(here, here.index);
    // What a rank of this node gives to, and gets from, one that this rank speaks with.
    let word =
        |index: u32, far: usize, which: u64| told.word(u64::from(index) * own_report + (far as u64 * 2 + which) * WORD);
    let gives = |index: u32, far: usize| pass(word(index, far, 0));
    let gets = |index: u32, far: usize| pass(word(index, far, 1));
    let to_others: u64 = others().map(|agent| report(here, agent)).sum();
    let mut room = Room(own_report * u64::from(here.size) + to_others);

    // To the agents of this node, and straight to its ranks.
    let rows: Vec<Piece> =
        (0..here.size).map(|index| room.take((0..mine.len()).map(|far| gives(index, far)).sum())).collect();
    for index in others() {
        plan.recv(name(index), rows[index as usize]);
        plan.recv(name(index), into(name(index)));
    }
    for agent in 0..here.size {
        let own = agent == here.index;
        let total = far_ranks(here, agent).map(|(_, rank)| pass(send.of(rank))).sum();
        let row = if own { rows[agent as usize] } else { room.take(total) };
        let mut at = row.offset as u64;
        for (_, rank) in far_ranks(here, agent).filter(|(_, rank)| pass(send.of(*rank)) > 0) {
            plan.copy(out(rank), bytes(at, send.of(rank)));
            at += send.of(rank);
        }
        match own {
            true => plan.copy(out(here.rank), into(here.rank)),
            false => {
                plan.send(name(agent), row);
                plan.send(name(agent), out(name(agent)));
            }
        }
    }
    plan.received();

    // Between the agents: the rows of all ranks, cut by node.
    let mut nodes: Vec<(u32, std::ops::Range<usize>)> = Vec::new();
    for (far, (node, _)) in mine.iter().enumerate() {
        match nodes.last_mut() {
            Some((last, range)) if last == node => range.end = far + 1,
            _ => nodes.push((*node, far..far + 1)),
        }
    }
    let peer = |node: u32| here.map.rank(node, agent_for(here.node, here.map.size(node)));
    let came: Vec<Piece> = nodes
        .iter()
        .map(|(node, range)| {
            let total = range.clone().flat_map(|far| (0..here.size).map(move |index| (index, far)));
            let piece = room.take(total.map(|(index, far)| gets(index, far)).sum());
            plan.recv(peer(*node), piece);
            piece
        })
        .collect();
    for (node, range) in &nodes {
        // With one other node the rows follow each other as they are.
        let total = |index: u32, range: std::ops::Range<usize>| range.map(|far| gives(index, far)).sum::<u64>();
        let all = (0..here.size).map(|index| total(index, range.clone())).sum();
        let going = match nodes.len() {
            1 => bytes(rows[0].offset as u64, all),
            _ => room.take(all),
        };
        let mut at = going.offset as u64;
        for index in (0..here.size).filter(|_| nodes.len() > 1) {
            let part = total(index, range.clone());
            let skip = total(index, 0..range.start);
            plan.copy(bytes(rows[index as usize].offset as u64 + skip, part), bytes(at, part));
            at += part;
        }
        plan.send(peer(*node), going);
    }
    plan.received();

    // From the agents to the ranks of this node: what came from each far rank, by the number of who gets it.
    let incoming: Vec<(u32, Piece)> = others()
        .map(|agent| (agent, room.take(far_ranks(here, agent).map(|(_, rank)| pass(recv.of(rank))).sum())))
        .collect();
    for (agent, piece) in &incoming {
        plan.recv(name(*agent), *piece);
    }
    let mut parts: Vec<Vec<Piece>> = vec![Vec::new(); here.size as usize];
    for ((_, range), piece) in nodes.iter().zip(&came) {
        let mut at = piece.offset as u64;
        for far in range.clone() {
            for index in 0..here.size {
                parts[index as usize].push(bytes(at, gets(index, far)));
                at += gets(index, far);
            }
        }
    }
    for (index, parts) in (0..).zip(parts) {
        if index == here.index {
            for (part, (_, rank)) in parts.into_iter().zip(&mine).filter(|(part, _)| part.count > 0) {
                plan.copy(part, into(*rank));
            }
            continue;
        }
        let going = room.take(parts.iter().map(|part| part.count).sum());
        let mut at = going.offset as u64;
        for part in parts {
            plan.copy(part, bytes(at, part.count));
            at += part.count;
        }
        plan.send(name(index), going);
    }
    plan.received();
    for (agent, piece) in incoming {
        let mut at = piece.offset as u64;
        for (_, rank) in far_ranks(here, agent).filter(|(_, rank)| pass(recv.of(*rank)) > 0) {
            plan.copy(bytes(at, recv.of(rank)), into(rank));
            at += recv.of(rank);
        }
    }

    // Long blocks.
    let size = here.map.ranks();
    let is_long = |rank: u32, bytes: u64| here.map.place(rank).0 != here.node && pass(bytes) < bytes;
    let steps: Vec<u32> = (1..size).collect();
    for batch in steps.chunks(BATCH) {
        let pairs = || batch.iter().map(|step| (before(here.rank, *step, size), after(here.rank, *step, size)));
        if pairs().all(|(from, to)| !is_long(from, recv.of(from)) && !is_long(to, send.of(to))) {
            continue;
        }
        plan.fence();
        pairs().filter(|(from, _)| is_long(*from, recv.of(*from))).for_each(|(from, _)| plan.recv(from, into(from)));
        pairs().filter(|(_, to)| is_long(*to, send.of(*to))).for_each(|(_, to)| plan.send(to, out(to)));
    }
    plan.temp = plan.temp.max(room.0);
    plan
}
