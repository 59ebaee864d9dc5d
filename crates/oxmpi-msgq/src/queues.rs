//! The communicators and the message queues of a rank, read with the description that its library has published.

use crate::memory::{Elements, Memory, Result, Trouble, at, byte, fill, half, read, word};
use oxmpi_base::ids::Peer;
use oxmpi_base::message_queues::{BufferPlace, Layout, MAGIC, TablePlace, VERSION};
use std::collections::BTreeMap;
use std::mem::size_of;

const ANY_SOURCE: i32 = oxmpi_abi::constants::MPI_ANY_SOURCE;
const ANY_TAG: i32 = oxmpi_abi::constants::MPI_ANY_TAG;

/// Bytes of a name that are shown.
pub const NAME: u64 = 63;

pub struct Comm {
    pub handle: u64,
    pub context: u32,
    pub rank: i32,
    pub name: Vec<u8>,
    /// The processes that ranks in messages name.
    pub members: Vec<Peer>,
}

impl Comm {
    pub fn position(&self, peer: Peer) -> Option<usize> {
        self.members.iter().position(|&member| member == peer)
    }
}

/// One message or receive; nothing for any rank or tag.
pub struct Operation {
    /// Among the operations under way; 0 for a message that has arrived.
    pub number: u64,
    pub rank: Option<i32>,
    pub tag: Option<i32>,
    pub bytes: u64,
    /// The memory of the program; `None`: the library has the message.
    pub buffer: Option<u64>,
}

/// The rank as a whole: what its library has published.
pub struct Rank {
    layout: Layout,
    slot_ranks: Vec<u32>,
}

impl Rank {
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Reads the description. `None`: MPI has not started, or the library has another version than this one.
    pub fn read(memory: &dyn Memory, symbol: u64) -> Result<Option<Rank>> {
        let head: [u8; 24] = read(memory, symbol)?;
        let word_at = |at: usize| u64::from_ne_bytes(std::array::from_fn(|index| head[at + index]));
        let expected = u64::from(VERSION) | (size_of::<Layout>() as u64) << 32;
        let address = word_at(16);
        if word_at(0) != MAGIC || word_at(8) != expected || address == 0 {
            return Ok(None);
        }
        let layout = read_layout(memory, address)?;
        let mut slot_ranks = Vec::new();
        let slots = Elements::new(layout.slot_ranks, u64::from(layout.slots), 4)?;
        slots.each(memory, |_, slot| {
            slot_ranks.push(slot.half(0)?);
            Ok(())
        })?;
        Ok(Some(Rank { layout, slot_ranks }))
    }

    /// The rank in `MPI_COMM_WORLD` of a process of the job.
    pub fn world_rank(&self, peer: Peer) -> Option<u32> {
        let rank = match peer.slot() {
            Some(slot) => *self.slot_ranks.get(slot.index())?,
            None => peer.far_index()? as u32,
        };
        (rank < self.layout.world_size).then_some(rank)
    }

    /// All communicators of the rank.
    pub fn comms(&self, memory: &dyn Memory) -> Result<Vec<Comm>> {
        let (process, place) = (self.layout.process, &self.layout.comms);
        let mut comms = Vec::new();
        if byte(memory, at(process, place.has_world)?)? != 0 {
            for predefined in [place.world, place.own] {
                comms.push(self.comm(memory, at(process, predefined)?)?);
            }
        }
        for (_, address) in objects(memory, process, &place.made)? {
            comms.push(self.comm(memory, address)?);
        }
        Ok(comms)
    }

    fn comm(&self, memory: &dyn Memory, address: u64) -> Result<Comm> {
        let place = &self.layout.comms;
        let context = half(memory, at(address, place.context)?)?;
        let rank = half(memory, at(address, place.rank)?)? as i32;
        let members = self.members(memory, at(address, place.group)?)?;
        let letters = Elements::of(memory, address, place.name)?;
        let mut name = vec![0; letters.len().min(NAME) as usize];
        if !name.is_empty() {
            fill(memory, letters.get(0)?, &mut name)?;
        }
        if name.is_empty() {
            name = format!("context {context}").into_bytes();
        }
        Ok(Comm { handle: word(memory, at(address, place.handle)?)?, context, rank, name, members })
    }

    fn members(&self, memory: &dyn Memory, address: u64) -> Result<Vec<Peer>> {
        let place = &self.layout.comms.ranks;
        let kind = u32::from(byte(memory, address)?);
        if kind == place.list {
            let (list, len) = (word(memory, at(address, place.address)?)?, word(memory, at(address, place.len)?)?);
            let list = Elements::new(at(list, place.skip)?, len, size_of::<Peer>() as u32)?;
            let mut members = Vec::new();
            list.each(memory, |_, member| {
                members.push(Peer::from_source(member.half(0)? as i32).ok_or(Trouble::Damaged)?);
                Ok(())
            })?;
            return Ok(members);
        }
        if kind == place.world {
            return Ok((0..self.layout.world_size).map(|rank| self.peer_of(rank)).collect());
        }
        let count = half(memory, at(address, place.count)?)?;
        if kind != place.one_node || count as usize > self.slot_ranks.len() {
            return Err(Trouble::Damaged);
        }
        Ok((0..count as usize).map(Peer::at_slot).collect())
    }

    /// The process with a rank in the world.
    fn peer_of(&self, rank: u32) -> Peer {
        match self.slot_ranks.iter().position(|&other| other == rank) {
            Some(slot) => Peer::at_slot(slot),
            None => Peer::far(rank as usize),
        }
    }

    /// Receives of a communicator that no message has matched, in the order in which they were posted.
    pub fn receives(&self, memory: &dyn Memory, comm: &Comm) -> Result<Vec<Operation>> {
        let (process, place) = (self.layout.process, &self.layout.posted);
        let patterns = Elements::of(memory, process, place.index.links)?;
        let sequence = Elements::of(memory, process, place.sequence)?;
        let entries = Elements::of(memory, process, self.layout.ops.entries)?;
        let mut found = BTreeMap::new();
        for (slot, address) in objects(memory, process, &place.table)? {
            let (context, source, tag) = self.pattern(memory, patterns.get(slot)?)?;
            if context != comm.context {
                continue;
            }
            let number = word(memory, address)? >> 32;
            let entry = entries.get(number)?;
            if u32::from(byte(memory, at(entry, self.layout.ops.kind)?)?) != self.layout.ops.recv {
                return Err(Trouble::Damaged);
            }
            let (buffer, bytes) = self.buffer(memory, entry, &self.layout.ops.target)?;
            let (rank, tag) = ((source != ANY_SOURCE).then_some(source), (tag != ANY_TAG).then_some(tag));
            let order = (word(memory, sequence.get(slot)?)?, slot);
            found.insert(order, Operation { number, rank, tag, bytes, buffer: Some(buffer) });
        }
        Ok(found.into_values().collect())
    }

    /// Messages of a communicator that no receive has matched, in the order of their arrival.
    pub fn unexpected(&self, memory: &dyn Memory, comm: &Comm) -> Result<Vec<Operation>> {
        let (process, place) = (self.layout.process, &self.layout.unexpected);
        let envelopes = Elements::of(memory, process, place.index.links)?;
        let order = Elements::of(memory, process, place.order)?;
        let messages: BTreeMap<u64, u64> = objects(memory, process, &place.table)?.into_iter().collect();
        let mut found = Vec::new();
        let mut slot = u64::from(half(memory, at(process, place.oldest)?)?);
        // As many steps as there are messages: a list that was damaged may have no end.
        for _ in 0..messages.len() {
            let Some(&message) = messages.get(&slot) else { return Err(Trouble::Damaged) };
            let (context, source, tag) = self.pattern(memory, envelopes.get(slot)?)?;
            if context == comm.context {
                let bytes = word(memory, at(message, place.bytes)?)?;
                found.push(Operation { number: 0, rank: Some(source), tag: Some(tag), bytes, buffer: None });
            }
            slot = u64::from(half(memory, at(order.get(slot)?, place.newer)?)?);
        }
        Ok(found)
    }

    /// Sends of a communicator that are under way.
    pub fn sends(&self, memory: &dyn Memory, comm: &Comm) -> Result<Vec<Operation>> {
        let place = &self.layout.ops;
        let mut found = Vec::new();
        Elements::of(memory, self.layout.process, place.entries)?.each(memory, |number, entry| {
            let is_send = u32::from(entry.byte(place.kind)?) == place.send;
            if !is_send || entry.half(place.context)? != comm.context {
                return Ok(());
            }
            let peer = Peer::from_source(entry.half(place.peer)? as i32).ok_or(Trouble::Damaged)?;
            found.push(Operation {
                number,
                rank: comm.position(peer).map(|rank| rank as i32),
                tag: Some(entry.half(place.tag)? as i32),
                bytes: entry.word(place.source.bytes)?,
                buffer: Some(entry.word(place.source.address)?),
            });
            Ok(())
        })?;
        Ok(found)
    }

    /// The context, the source and the tag that a slot of a queue is listed under.
    fn pattern(&self, memory: &dyn Memory, link: u64) -> Result<(u32, i32, i32)> {
        let place = &self.layout.posted.index;
        let both = word(memory, at(link, place.context_and_source)?)?;
        let tag = half(memory, at(link, place.tag)?)?;
        Ok(((both >> 32) as u32, both as u32 as i32, tag as i32))
    }

    fn buffer(&self, memory: &dyn Memory, entry: u64, place: &BufferPlace) -> Result<(u64, u64)> {
        Ok((word(memory, at(entry, place.address)?)?, word(memory, at(entry, place.bytes)?)?))
    }
}

/// The live objects of a table: their slots and their addresses.
pub fn objects(memory: &dyn Memory, holder: u64, place: &TablePlace) -> Result<Vec<(u64, u64)>> {
    let slots = Elements::of(memory, holder, place.slots)?;
    let mut live = Vec::new();
    slots.each(memory, |index, slot| {
        if slot.word(place.key)? & u64::from(place.live) == u64::from(place.live) {
            live.push((index, at(slots.get(index)?, place.value)?));
        }
        Ok(())
    })?;
    Ok(live)
}

fn read_layout(memory: &dyn Memory, address: u64) -> Result<Layout> {
    let bytes: [u8; size_of::<Layout>()] = read(memory, address)?;
    // SAFETY: a `Layout` consists of numbers, for which all bytes are valid.
    Ok(unsafe { std::mem::transmute::<[u8; size_of::<Layout>()], Layout>(bytes) })
}
