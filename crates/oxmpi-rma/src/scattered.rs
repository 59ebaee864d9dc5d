//! Accumulates in the general case: elements of derived types, which may be scattered at origin,
//! result and target; part by part. In between, elements of origin and result lie one extent apart,
//! so that the loops of `accumulate.rs` can work on them; elements that already lie so are used in
//! place.

use crate::accumulate::STAGE_BYTES;
use crate::transfer::transfer_pieces;
use crate::{Combine, TargetRegion, Window};
use oxmpi_abi::constants::*;
use oxmpi_abi::{Result, bail};
use oxmpi_datatype::{Cursor, Datatype, Named, Region, Source, Target};
use oxmpi_ops::Op;
use oxmpi_transport::{MAX_PIECES, NodeMemory, Peer, Piece};

/// The address of some elements of the target, and how many there are.
type Run = (usize, usize);

impl Window {
    /// `origin` is `None` for `MPI_NO_OP`; `result`, if given, gets the previous elements.
    pub fn accumulate(
        &self,
        node: &NodeMemory,
        (with, element): (&Combine, &Named),
        origin: Option<&Source<'_>>,
        result: Option<&Target<'_>>,
        region: &TargetRegion,
        target: (&Datatype, u64),
    ) -> Result<()> {
        let (size, room) = (element.size(), region.buf.len());
        let given = origin.map_or(0, |origin| origin.len());
        if given > room {
            bail!(MPI_ERR_TRUNCATE, "{given} bytes do not fit into the {room} bytes at the target");
        }
        if let Some(result) = result.filter(|result| result.len() < room) {
            bail!(MPI_ERR_TRUNCATE, "the {room} bytes at the target do not fit into {} bytes", result.len());
        }
        if region.buf.overlaps() {
            bail!(MPI_ERR_TYPE, "entries of the target's datatype overlap; nothing can be accumulated there");
        }
        let (combined, touched) = (given / size, if result.is_some() { room / size } else { given / size });
        let mut source = Elements::new(origin, None, element);
        let mut old = Elements::new(result.map(|result| &**result), result, element);
        let mut places = Places::new(region, element, target, touched);
        let nothing = Combine { op: Op::NoOp, ..*with };
        let (mut runs, mut stage) = (Vec::new(), Vec::new());
        let most = (STAGE_BYTES / with.extent).max(1);
        let mut done = 0;
        while done < touched {
            // Elements that the origin has, too, are combined; further ones of the target are only
            // read.
            let both = done < combined;
            let (with, left) = if both { (with, combined - done) } else { (&nothing, touched - done) };
            let count = left.min(most);
            let from = if both { source.load(count) } else { std::ptr::null() };
            let to = old.room(count);
            runs.clear();
            places.next(count, &mut runs);
            match region.process {
                None => self.combine_runs(region, with, &runs, from, to),
                Some(process) => {
                    let plain = element.size() == element.extent();
                    let remote = RemoteRuns { node, process, region, plain };
                    self.combine_remote_runs(&remote, with, &runs, from, to, &mut stage)?;
                }
            }
            old.store(count);
            done += count;
        }
        Ok(())
    }

    /// In memory that is mapped here.
    fn combine_runs(&self, region: &TargetRegion, with: &Combine, runs: &[Run], mut from: *const u8, mut to: *mut u8) {
        for &(address, count) in runs {
            // SAFETY: the run is in the window; where they are not null, source and old have as many elements.
            unsafe {
                let at = std::ptr::with_exposed_provenance_mut(address);
                self.combine(region.rank, with, at, from, to, count);
            }
            from = behind(from.cast_mut(), count * with.extent);
            to = behind(to, count * with.extent);
        }
    }

    /// In memory of another process.
    fn combine_remote_runs(
        &self,
        remote: &RemoteRuns,
        with: &Combine,
        runs: &[Run],
        mut from: *const u8,
        mut to: *mut u8,
        stage: &mut Vec<u8>,
    ) -> Result<()> {
        let region = remote.region;
        for runs in runs.chunks(MAX_PIECES) {
            let stripes = runs.iter().fold(0, |mask, &(address, count)| {
                mask | self.stripes_of(address.wrapping_sub(region.origin), count * with.extent, with.extent)
            });
            self.take_stripes(region.rank, stripes);
            // SAFETY: where they are not null, source and old have as many elements as the runs.
            let result = unsafe { remote.combine(with, runs, from, to, stage) };
            self.give_stripes_back(region.rank, stripes);
            result?;
            let bytes = runs.iter().map(|run| run.1 * with.extent).sum();
            from = behind(from.cast_mut(), bytes);
            to = behind(to, bytes);
        }
        Ok(())
    }
}

/// Null stays null.
fn behind(at: *mut u8, bytes: usize) -> *mut u8 {
    if at.is_null() { at } else { at.wrapping_add(bytes) }
}

/// Runs of elements in another process.
struct RemoteRuns<'a> {
    node: &'a NodeMemory,
    process: Peer,
    region: &'a TargetRegion,
    /// Whether elements have no gaps.
    plain: bool,
}

impl RemoteRuns<'_> {
    /// # Safety
    /// The stripes are held; `from` and `to`, where they are not null, have as many elements as the runs together.
    unsafe fn combine(
        &self,
        with: &Combine,
        runs: &[Run],
        from: *const u8,
        to: *mut u8,
        stage: &mut Vec<u8>,
    ) -> Result<()> {
        let pieces = || -> Vec<Piece> { runs.iter().map(|run| (run.0, run.1 * with.extent)).collect() };
        let read = |local: &[Piece], remote: &[Piece]| self.node.copy_from(self.process, local, remote);
        let write = |local: &[Piece], remote: &[Piece]| self.node.copy_to(self.process, local, remote);
        match with.op {
            Op::NoOp => return transfer_pieces(read, to.expose_provenance(), &mut pieces()),
            Op::Replace if to.is_null() && self.plain => {
                return transfer_pieces(write, from.expose_provenance(), &mut pieces());
            }
            _ => {}
        }
        let count: usize = runs.iter().map(|run| run.1).sum();
        let bytes = count * with.extent;
        if stage.len() < bytes {
            stage.resize(bytes, 0);
        }
        let at = stage.as_mut_ptr();
        let address = at.expose_provenance();
        transfer_pieces(read, address, &mut pieces())?;
        // SAFETY: the stage has the elements of all runs, `from` has as many, and so has `to` unless it is null.
        unsafe {
            if !to.is_null() {
                to.copy_from_nonoverlapping(at, bytes);
            }
            (with.kernel)(at, from, at, count);
        }
        transfer_pieces(write, address, &mut pieces())
    }
}

// ---- elements of the origin and of the result, one extent apart ----

/// Elements in order, some at a time.
struct Elements<'a> {
    buf: Option<&'a Source<'a>>,
    /// The same, to be written.
    target: Option<&'a Target<'a>>,
    element: &'a Named,
    /// The next elements in the program's own memory, if they lie one extent apart there.
    dense: Option<*mut u8>,
    cursor: Cursor,
    packed: Vec<u8>,
    /// Memory for elements with gaps.
    apart: Vec<u8>,
}

impl<'a> Elements<'a> {
    fn new(buf: Option<&'a Source<'a>>, target: Option<&'a Target<'a>>, element: &'a Named) -> Elements<'a> {
        let plain = element.size() == element.extent();
        let dense = buf.and_then(|buf| buf.as_dense()).filter(|_| plain);
        Elements { buf, target, element, dense, cursor: Cursor::new(), packed: Vec::new(), apart: Vec::new() }
    }

    /// The next elements, to be read.
    fn load(&mut self, count: usize) -> *const u8 {
        let at = self.room(count);
        match (self.buf, self.dense) {
            (_, Some(_)) => self.skip(count),
            (Some(buf), None) => {
                self.cursor.pack_into(buf, &mut self.packed);
                if !self.apart.is_empty() {
                    spread(self.element, &mut self.packed, &mut self.apart, false);
                }
            }
            (None, None) => {}
        }
        at
    }

    /// Where to write the next elements, before [`Elements::store`]. Null when the result is not
    /// wanted.
    fn room(&mut self, count: usize) -> *mut u8 {
        let (size, extent) = (self.element.size(), self.element.extent());
        match (self.buf, self.dense) {
            (_, Some(at)) => return at,
            (None, None) => return std::ptr::null_mut(),
            (Some(_), None) => self.packed.resize(count * size, 0),
        }
        if size == extent {
            return self.packed.as_mut_ptr();
        }
        self.apart.resize(count * extent, 0);
        self.apart.as_mut_ptr()
    }

    fn store(&mut self, count: usize) {
        match (self.target, self.dense) {
            (_, Some(_)) => self.skip(count),
            (Some(target), None) => {
                if !self.apart.is_empty() {
                    spread(self.element, &mut self.packed, &mut self.apart, true);
                }
                self.cursor.unpack_from(target, &self.packed);
            }
            (None, None) => {}
        }
    }

    fn skip(&mut self, count: usize) {
        self.dense = self.dense.map(|at| at.wrapping_add(count * self.element.extent()));
    }
}

/// Copies elements from their packed form, in which pairs have no gaps, to one extent apart; or
/// back.
pub(crate) fn spread(element: &Named, packed: &mut [u8], apart: &mut [u8], back: bool) {
    let value = element.scalar.size();
    for (packed, apart) in packed.chunks_exact_mut(element.size()).zip(apart.chunks_exact_mut(element.extent())) {
        let (first, second) = packed.split_at_mut(value);
        let at = element.index.map_or(value, |index| index.at as usize);
        let (value, index) = (&mut apart[..], second.len());
        if back {
            first.copy_from_slice(&value[..first.len()]);
            second.copy_from_slice(&value[at..at + index]);
        } else {
            value[..first.len()].copy_from_slice(first);
            value[at..at + index].copy_from_slice(second);
        }
    }
}

// ---- elements of the target ----

enum Places<'a> {
    /// Elements without gaps, found as bytes.
    Plain { buf: &'a Region, cursor: Cursor, size: usize },
    /// Other elements one by one, from the last to the first.
    Apart { runs: Vec<Run>, extent: usize },
}

impl<'a> Places<'a> {
    fn new(
        region: &'a TargetRegion,
        element: &Named,
        (datatype, count): (&Datatype, u64),
        touched: usize,
    ) -> Places<'a> {
        let (size, extent) = (element.size(), element.extent());
        if size == extent {
            return Places::Plain { buf: &region.buf, cursor: Cursor::new(), size };
        }
        let mut runs = Vec::new();
        let mut left = touched;
        'all: for copy in 0..count {
            let start = i128::from(copy) * datatype.extent();
            for run in datatype.runs() {
                let elements = left.min(run.count as usize);
                if elements == 0 {
                    break 'all;
                }
                runs.push(((region.start as i128 + start + run.disp) as usize, elements));
                left -= elements;
            }
        }
        runs.reverse();
        Places::Apart { runs, extent }
    }

    /// Adds the next `count` elements, which must exist.
    fn next(&mut self, mut count: usize, out: &mut Vec<Run>) {
        match self {
            Places::Plain { buf, cursor, size } => {
                cursor.iovecs(buf, out, usize::MAX, count * *size);
                out.iter_mut().for_each(|run| run.1 /= *size);
            }
            Places::Apart { runs, extent } => {
                while count > 0 {
                    let Some(run) = runs.pop() else { return };
                    let now = count.min(run.1);
                    out.push((run.0, now));
                    count -= now;
                    if now < run.1 {
                        runs.push((run.0 + now * *extent, run.1 - now));
                    }
                }
            }
        }
    }
}
