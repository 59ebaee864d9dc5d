//! Requests and windows of a rank, read with the description that its library has published.

use crate::memory::{Elements, Memory, Result, Trouble, at, byte, fill, half, word};
use crate::queues::{Comm, NAME, Operation, Rank, objects};
use oxmpi_abi::constants::*;
use oxmpi_base::message_queues::{OperationKind, RequestKind};

/// A request.
pub struct Request {
    pub handle: u64,
    pub is_persistent: bool,
    pub state: State,
}

/// What a request stands for.
pub enum State {
    /// A send or a receive under way, and the communicator; without what is no longer kept, or belongs to the library itself.
    Message(bool, Option<(usize, Operation)>),
    Complete,
    Inactive,
    /// An operation with a name of its own.
    Other(&'static str),
}

pub struct Window {
    pub handle: u64,
    pub name: Vec<u8>,
    pub rank: u64,
    pub ranks: u64,
    pub base: u64,
    pub bytes: u64,
    pub unit: i32,
    pub made_by: &'static str,
}

impl Rank {
    pub fn requests(&self, memory: &dyn Memory, comms: &[Comm]) -> Result<Vec<Request>> {
        let place = self.layout().requests;
        let mut found = Vec::new();
        for (handle, address) in self.handles(memory, &place.table)? {
            let kind = byte(memory, at(address, place.kind)?)?;
            let (is_persistent, operation) = match kind {
                kind if kind == RequestKind::Once as u8 => (false, place.once),
                kind if kind == RequestKind::Persistent as u8 => (true, place.persistent),
                kind if kind == RequestKind::Generalized as u8 => {
                    found.push(Request { handle, is_persistent: false, state: State::Other("generalized request") });
                    continue;
                }
                // The one that stands for all sends which were complete at once.
                kind if kind == RequestKind::Sent as u8 => continue,
                _ => return Err(Trouble::Damaged),
            };
            let state = self.operation(memory, comms, at(address, operation)?)?;
            found.push(Request { handle, is_persistent, state });
        }
        Ok(found)
    }

    fn operation(&self, memory: &dyn Memory, comms: &[Comm], address: u64) -> Result<State> {
        const NAMES: [(OperationKind, &str); 6] = [
            (OperationKind::Exchange, "send and receive"),
            (OperationKind::Flush, "buffered sends that leave their buffer"),
            (OperationKind::Promise, "collective operation or access to a window"),
            (OperationKind::Sending, "partitioned send"),
            (OperationKind::Receiving, "partitioned receive"),
            (OperationKind::File, "access to a file"),
        ];
        let kind = byte(memory, address)?;
        if kind == OperationKind::Done as u8 {
            return Ok(State::Complete);
        }
        let is_send = kind == OperationKind::Send as u8;
        if !is_send && kind != OperationKind::Recv as u8 {
            let name = NAMES.iter().find(|(other, _)| kind == *other as u8);
            return Ok(name.map_or(State::Inactive, |(_, name)| State::Other(name)));
        }
        let number = word(memory, at(address, self.layout().requests.operation)?)?;
        let place = &self.layout().ops;
        let entry = Elements::of(memory, self.layout().process, place.entries)?.get(number >> 32)?;
        let state = u32::from(byte(memory, at(entry, place.kind)?)?);
        if state != place.send && state != place.recv {
            return Ok(State::Complete);
        }
        let mut message = None;
        for (index, comm) in comms.iter().enumerate() {
            let all = if is_send { self.sends(memory, comm)? } else { self.receives(memory, comm)? };
            if let Some(operation) = all.into_iter().find(|operation| operation.number == number >> 32) {
                message = Some((index, operation));
            }
        }
        Ok(State::Message(is_send, message))
    }

    pub fn windows(&self, memory: &dyn Memory) -> Result<Vec<Window>> {
        let place = self.layout().windows;
        let mut found = Vec::new();
        for (handle, object) in self.handles(memory, &place.table)? {
            let window = word(memory, object)?;
            let facts = word(memory, at(window, place.facts)?)?;
            let letters = Elements::of(memory, window, place.name)?;
            let mut name = vec![0; letters.len().min(NAME) as usize];
            if !name.is_empty() {
                fill(memory, letters.get(0)?, &mut name)?;
            }
            found.push(Window {
                handle,
                name,
                rank: word(memory, at(window, place.rank)?)?,
                ranks: word(memory, at(window, place.ranks)?)?,
                base: word(memory, at(window, place.base)?)?,
                bytes: word(memory, facts)?,
                unit: half(memory, at(facts, 8)?)? as i32,
                made_by: match half(memory, at(facts, 12)?)? as i32 {
                    MPI_WIN_FLAVOR_CREATE => "MPI_Win_create",
                    MPI_WIN_FLAVOR_ALLOCATE => "MPI_Win_allocate",
                    MPI_WIN_FLAVOR_DYNAMIC => "MPI_Win_create_dynamic",
                    MPI_WIN_FLAVOR_SHARED => "MPI_Win_allocate_shared",
                    _ => return Err(Trouble::Damaged),
                },
            });
        }
        Ok(found)
    }

    /// The live objects of a table: their handles and addresses.
    fn handles(&self, memory: &dyn Memory, place: &oxmpi_base::message_queues::TablePlace) -> Result<Vec<(u64, u64)>> {
        let slots = Elements::of(memory, self.layout().process, place.slots)?;
        let live = objects(memory, self.layout().process, place)?;
        live.into_iter().map(|(slot, object)| Ok((word(memory, at(slots.get(slot)?, place.key)?)?, object))).collect()
    }
}
