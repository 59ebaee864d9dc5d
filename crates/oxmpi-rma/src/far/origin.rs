//! Operations of an origin on a rank of another node, as requests to the agent there. Long operations are cut into
//! requests of bounded length, at whole elements.

use super::link::Link;
use super::wire::*;
use crate::Combine;
use oxmpi_abi::constants::*;
use oxmpi_abi::{Result, bail};
use oxmpi_datatype::{Cursor, Named, Region, Source, Target, number_on_wire};
use oxmpi_ops::Op;

/// The agent of a node of any job, as this process numbers agents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct AgentId(pub u32);

/// A window, as one of the agents of its ranks knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServedBy {
    pub agent: AgentId,
    /// The window's number in the job of that agent.
    pub window: u64,
}

impl ServedBy {
    /// A request of a rank to that agent.
    pub fn request(self, kind: Kind, origin: u32) -> Request {
        Request::new(kind, self.window, origin)
    }
}

/// A rank of another node, as a window names it in requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FarRank {
    pub by: ServedBy,
    pub origin: u32,
    pub target: u32,
}

impl FarRank {
    pub fn request(&self, kind: Kind) -> Request {
        Request { target: self.target, ..self.by.request(kind, self.origin) }
    }

    /// Puts a whole buffer.
    pub fn put(&self, link: &mut Link, from: &Source<'_>, to: &Region) -> Result<()> {
        let bytes = from.len();
        if bytes > to.len() {
            bail!(MPI_ERR_TRUNCATE, "{bytes} bytes do not fit into the {} bytes at the target", to.len());
        }
        let mut cursor = Cursor::new();
        each_part(link, to, (0, bytes), 1, |link, part| {
            let request = part.on(self.request(Kind::Put));
            link.tell_part(&request, from, &mut cursor, part.bytes)
        })
    }

    /// Gets a whole region. The data are there after [`Link::await_data`].
    pub fn get(&self, link: &mut Link, to: &Target<'static>, from: &Region) -> Result<()> {
        let bytes = from.len();
        if bytes > to.len() {
            bail!(MPI_ERR_TRUNCATE, "the {bytes} bytes at the target do not fit into {} bytes", to.len());
        }
        each_part(link, from, (0, bytes), 1, |link, part| {
            link.fetch(part.on(self.request(Kind::Get)), &[], to, part.at)
        })
    }

    /// `origin` is `None` for `MPI_NO_OP`; `result`, if given, gets the previous elements.
    pub fn accumulate(
        &self,
        link: &mut Link,
        (with, element): (&Combine, &Named),
        origin: Option<&Source<'_>>,
        result: Option<&Target<'static>>,
        region: &Region,
    ) -> Result<()> {
        let room = region.len();
        let given = origin.map_or(0, |origin| origin.len());
        if given > room {
            bail!(MPI_ERR_TRUNCATE, "{given} bytes do not fit into the {room} bytes at the target");
        }
        if let Some(result) = result.filter(|result| result.len() < room) {
            bail!(MPI_ERR_TRUNCATE, "the {room} bytes at the target do not fit into {} bytes", result.len());
        }
        if region.overlaps() {
            bail!(MPI_ERR_TYPE, "entries of the target's datatype overlap; nothing can be accumulated there");
        }
        let flags = if result.is_some() { FETCH } else { 0 };
        let datatype = number_on_wire(element);
        let request = Request { flags, op: with.handles[0], datatype, ..self.request(Kind::Accumulate) };
        let size = element.size();
        let combined = if with.op == Op::NoOp { 0 } else { given };
        let mut cursor = Cursor::new();
        if let Some(origin) = origin {
            each_part(link, region, (0, combined), size, |link, part| match result {
                Some(result) => link.fetch_part(part.on(request), (origin, &mut cursor), result, part.at),
                None => link.tell_part(&part.on(request), origin, &mut cursor, part.bytes),
            })?;
        }
        let Some(result) = result else { return Ok(()) };
        // Elements that the origin does not have are only read.
        let reading = Request { op: MPI_NO_OP.0 as u32, ..request };
        each_part(link, region, (combined, room), size, |link, part| link.fetch(part.on(reading), &[], result, part.at))
    }

    /// Compares and swaps one element; `both` are the new element and the one to compare with.
    pub fn compare_and_swap(
        &self,
        link: &mut Link,
        element: &Named,
        both: &[u8],
        old: &Target<'static>,
        region: &Region,
    ) -> Result<()> {
        let datatype = number_on_wire(element);
        let request = Request { datatype, ..self.request(Kind::CompareAndSwap) };
        each_part(link, region, (0, region.len()), element.size(), |link, part| {
            link.fetch(part.on(request), both, old, part.at)
        })
    }
}

/// A part of an operation.
#[derive(Clone, Copy)]
struct Part {
    /// Its first byte in the packed stream, and its length.
    at: usize,
    bytes: usize,
    /// Where it is at the target, as a request says it.
    offset: u64,
    program: u32,
    count: u64,
    position: u64,
}

impl Part {
    fn on(&self, request: Request) -> Request {
        let Part { bytes, offset, program, count, position, .. } = *self;
        Request { offset, length: bytes as u64, program, count, position, ..request }
    }
}

/// Cuts bytes `from..to` of the packed stream of a region into parts of whole elements.
fn each_part(
    link: &mut Link,
    region: &Region,
    (from, to): (usize, usize),
    size: usize,
    mut does: impl FnMut(&mut Link, &Part) -> Result<()>,
) -> Result<()> {
    let most = MOST_BYTES / size * size;
    if let Some(base) = region.as_dense() {
        for at in (from..to).step_by(most) {
            let offset = base.addr().wrapping_add(at) as u64;
            does(link, &Part { at, bytes: (to - at).min(most), offset, program: 0, count: 0, position: 0 })?;
        }
        return Ok(());
    }
    let Some((ty, base, start)) = region.as_typed() else { return Ok(()) };
    if from == to {
        return Ok(());
    }
    if let Some(program) = link.number_of(ty)? {
        let count = ((start + region.len()) as u64).div_ceil(ty.size() as u64);
        for at in (from..to).step_by(most) {
            let (offset, position) = (base as u64, (start + at) as u64);
            does(link, &Part { at, bytes: (to - at).min(most), offset, program, count, position })?;
        }
        return Ok(());
    }
    // The program is longer than an agent stores: the pieces themselves go. A pair with a gap has two, which must not be
    // parted: they are too rare in such types to be worth more.
    let (mut cursor, mut pieces) = (Cursor::new(), Vec::new());
    cursor.seek(region, from);
    while cursor.position() < to {
        let mut at = cursor.position();
        pieces.clear();
        cursor.iovecs(region, &mut pieces, PIECES, to - at);
        for &(address, bytes) in &pieces {
            for inner in (0..bytes).step_by(most) {
                let offset = address.wrapping_add(inner) as u64;
                let bytes = (bytes - inner).min(most);
                does(link, &Part { at, bytes, offset, program: 0, count: 0, position: 0 })?;
                at += bytes;
            }
        }
    }
    Ok(())
}

const PIECES: usize = 1024;
