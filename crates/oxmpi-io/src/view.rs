//! Which bytes of a file a process sees, and in which order: a displacement, then the filetype
//! repeated. Offsets count etypes.
//!
//! The datatype engine walks the filetype like a buffer in memory: the view is a buffer whose
//! addresses are positions in the file. These addresses are never dereferenced.

use crate::datarep::UserDatarep;
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_datatype::{Cursor, Datatype, Region, predefined};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A data representation: how data is stored in a file.
#[derive(Clone)]
pub enum Representation {
    /// As in memory.
    Native,
    /// The representation `internal`: as in memory.
    Internal,
    External32,
    Users(Arc<UserDatarep>),
}

impl Representation {
    /// A representation that every MPI library has.
    pub fn predefined(name: &[u8]) -> Option<Representation> {
        match name {
            b"native" => Some(Representation::Native),
            b"internal" => Some(Representation::Internal),
            b"external32" => Some(Representation::External32),
            _ => None,
        }
    }

    pub fn name(&self) -> &[u8] {
        match self {
            Representation::Native => b"native",
            Representation::Internal => b"internal",
            Representation::External32 => b"external32",
            Representation::Users(users) => &users.name,
        }
    }

    /// A number that is different for each representation.
    pub fn key(&self) -> u64 {
        self.name().iter().fold(0xcbf2_9ce4_8422_2325, |key, byte| {
            (key ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(29)
        })
    }

    /// A type as stored in the file. May call the program, if the representation is its own.
    pub fn lay_out(&self, datatype: &Arc<Datatype>) -> Result<Arc<Datatype>> {
        match self {
            Representation::Native | Representation::Internal => Ok(datatype.clone()),
            Representation::External32 => datatype.restated(&mut |named| Ok(named.external_size() as i64)),
            Representation::Users(users) => datatype.restated(&mut |named| users.length(named)),
        }
    }
}

pub struct View {
    pub disp: i64,
    pub etype: Arc<Datatype>,
    pub filetype: Arc<Datatype>,
    pub representation: Representation,
    /// Whether the file may be written.
    writes: bool,
    layout: OnceLock<Layout>,
}

/// Positions in the file.
struct Layout {
    /// Bytes per etype in the file.
    unit: u64,
    /// All bytes that are visible.
    stream: Region,
    /// The filetype as it is stored, and how often it is repeated; none for a file seen as bytes.
    repeated: Option<(Arc<Datatype>, u64)>,
    /// A power of two that divides the beginning and the length of each run of the stream.
    granule: usize,
    /// Whether positions only increase along the stream.
    ordered: bool,
}

impl View {
    /// The whole file as bytes: the view of a file that was just opened.
    pub fn bytes() -> View {
        let byte = predefined(MPI_BYTE.0).unwrap_or_else(|| unreachable!("bytes are predefined"));
        let stream = Region::dense(std::ptr::null_mut(), isize::MAX as usize);
        View {
            disp: 0,
            etype: byte.clone(),
            filetype: byte.clone(),
            representation: Representation::Native,
            writes: true,
            layout: Layout { unit: 1, stream, repeated: None, granule: LARGEST_GRANULE, ordered: true }.into(),
        }
    }

    /// `writes`: the file may be written, so no byte may be visible twice.
    pub fn new(
        disp: i64,
        etype: &Arc<Datatype>,
        filetype: &Arc<Datatype>,
        representation: Representation,
        writes: bool,
    ) -> Result<View> {
        if disp < 0 {
            bail!(MPI_ERR_ARG, "the displacement is {disp}, which is negative");
        }
        for (name, datatype) in [("etype", etype), ("filetype", filetype)] {
            if !datatype.is_committed() {
                bail!(MPI_ERR_TYPE, "the {name} has not been committed (MPI_Type_commit)");
            }
        }
        if etype.size() == 0 {
            bail!(MPI_ERR_TYPE, "the etype has no data");
        }
        if filetype.size() % etype.size() != 0 {
            let (whole, unit) = (filetype.size(), etype.size());
            bail!(MPI_ERR_TYPE, "the filetype has {whole} bytes of data, not a multiple of the etype's {unit}");
        }
        check_order(etype, "etype", writes)?;
        check_order(filetype, "filetype", writes)?;
        let (etype, filetype, layout) = (etype.clone(), filetype.clone(), OnceLock::new());
        let view = View { disp, etype, filetype, representation, writes, layout };
        if !matches!(view.representation, Representation::Users(_)) {
            view.lay_out()?;
        }
        Ok(view)
    }

    /// Whether the positions are known. If not, call [`View::lay_out`] first.
    pub fn is_laid_out(&self) -> bool {
        self.layout.get().is_some()
    }

    /// Computes the positions. This may call the program: no lock may be held.
    pub fn lay_out(&self) -> Result<()> {
        let (in_file, etype) =
            (self.representation.lay_out(&self.filetype)?, self.representation.lay_out(&self.etype)?);
        check_order(&in_file, "filetype", self.writes)?;
        if etype.size() == 0 {
            bail!(MPI_ERR_TYPE, "the etype has no data in the file");
        }
        let copies = copies(self.disp, &in_file, self.writes);
        let stream = Region::typed(std::ptr::without_provenance_mut(self.disp as usize), copies, &in_file);
        let bits = self.disp as u64 | bits_of(&in_file, copies);
        let ordered = self.writes
            || (copies <= 1 || in_file.extent() >= in_file.true_extent()) && check_order(&in_file, "", true).is_ok();
        let granule = granule_of(bits);
        let unit = etype.size() as u64;
        let _ = self.layout.set(Layout { unit, stream, repeated: Some((in_file, copies)), granule, ordered });
        Ok(())
    }

    fn layout(&self) -> &Layout {
        self.layout.get().unwrap_or_else(|| unreachable!("a view is laid out before it is used"))
    }

    /// The same view from another displacement on.
    pub fn moved(&self, disp: i64) -> Result<View> {
        View::new(disp, &self.etype, &self.filetype, self.representation.clone(), self.writes)
    }

    /// Whether there are no gaps.
    pub fn is_dense(&self) -> bool {
        Region::typed(std::ptr::null_mut(), 2, &self.filetype).as_dense().is_some()
    }

    /// The number of etypes in `bytes` bytes of the file; an error if it is not a whole number.
    pub fn etypes(&self, bytes: usize) -> Result<i64> {
        if !(bytes as u64).is_multiple_of(self.layout().unit) {
            let unit = self.layout().unit;
            bail!(MPI_ERR_TYPE, "{bytes} bytes are accessed, which are not whole etypes of {unit} bytes");
        }
        if bytes > 0 && self.layout().stream.is_empty() {
            bail!(MPI_ERR_TYPE, "the filetype of this process's view has no data; nothing can be accessed");
        }
        Ok((bytes as u64 / self.layout().unit) as i64)
    }

    /// The bytes of the file that so many etypes have.
    pub fn bytes_of(&self, etypes: i64) -> usize {
        (etypes as u64).saturating_mul(self.layout().unit) as usize
    }

    /// The number of whole etypes in `bytes` bytes of the file.
    pub fn whole_etypes(&self, bytes: usize) -> i64 {
        (bytes as u64 / self.layout().unit) as i64
    }

    /// Where in the file an etype begins.
    pub fn byte_offset(&self, offset: i64) -> Result<i64> {
        if offset < 0 {
            bail!(MPI_ERR_ARG, "the offset is {offset}, which is negative");
        }
        if self.layout().stream.is_empty() {
            return Ok(self.disp);
        }
        match self.position(offset).and_then(|at| self.place(at)) {
            Some(place) => Ok(place),
            None => Err(self.beyond(format!("the offset {offset}"))),
        }
    }

    /// Tells the ranges of the file that an access of so many bytes from an etype on uses; at most `most` of them. Returns
    /// whether these are all.
    pub fn pieces(&self, offset: i64, bytes: usize, most: usize, each: impl FnMut(Range<u64>)) -> bool {
        let Some(at) = self.position(offset) else { return bytes == 0 };
        let (mut cursor, mut found) = (Cursor::new(), Vec::new());
        cursor.seek(self.stream(), at);
        let known = cursor.iovecs(self.stream(), &mut found, most, bytes);
        found.into_iter().map(|(from, length)| from as u64..(from + length) as u64).for_each(each);
        known == bytes
    }

    /// The error for a position that is not in the view.
    #[cold]
    pub(crate) fn beyond(&self, what: String) -> Error {
        let (extent, bytes) = (self.filetype.extent(), self.filetype.true_extent());
        let why = match extent < bytes {
            true => format!("the filetype, whose copies would overlap: {bytes} bytes with an extent of {extent}"),
            false => String::from("what a file can hold"),
        };
        Error::new(MPI_ERR_ARG, format!("{what} lies beyond {why}"))
    }

    /// The first etype that begins at or after the end of a file of that size.
    pub fn end(&self, size: u64) -> i64 {
        let behind = |offset: i64| self.byte_offset(offset).is_ok_and(|place| place as u64 >= size);
        if self.layout().stream.is_empty() || behind(0) {
            return 0;
        }
        let (mut low, mut high) = (0, (self.layout().stream.len() as u64 / self.layout().unit) as i64);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if behind(middle) {
                high = middle;
            } else {
                low = middle;
            }
        }
        high
    }

    /// The byte of the stream at which an etype begins; `None` beyond all files.
    pub(crate) fn position(&self, offset: i64) -> Option<usize> {
        let at = u64::try_from(offset).ok()?.checked_mul(self.layout().unit)?;
        usize::try_from(at).ok().filter(|at| *at < self.layout().stream.len())
    }

    /// The byte of the stream at which an access of `bytes` bytes begins; an error if not all of
    /// them are in the view.
    pub(crate) fn start_of(&self, offset: i64, bytes: usize) -> Result<usize> {
        let fits = |start: &usize| bytes <= self.stream().len() - start;
        let beyond = || self.beyond(format!("the end of {bytes} bytes at offset {offset}"));
        self.position(offset).filter(fits).ok_or_else(beyond)
    }

    pub(crate) fn stream(&self) -> &Region {
        &self.layout().stream
    }

    /// The stream in memory that has byte 0 of the file at this address.
    pub(crate) fn stream_at(&self, zero: *mut u8) -> Region {
        let Layout { stream, repeated, .. } = self.layout();
        let base = zero.wrapping_add(self.disp as usize);
        match repeated {
            None => Region::dense(base, stream.len()),
            Some((in_file, copies)) => Region::typed(base, *copies, in_file),
        }
    }

    /// A power of two that divides the beginning and the length of each run of the stream.
    pub(crate) fn granule(&self) -> usize {
        self.layout().granule
    }

    /// Whether positions in the file only increase along the stream.
    pub(crate) fn is_ordered(&self) -> bool {
        self.layout().ordered
    }

    /// The average length of a run of the stream; `None` when it is contiguous, or not known yet.
    pub fn average_run(&self) -> Option<usize> {
        let stream = &self.layout.get()?.stream;
        stream.as_dense().is_none().then(|| stream.average_block())
    }

    /// The position in the file of a byte of the stream.
    pub(crate) fn place(&self, at: usize) -> Option<i64> {
        let (mut cursor, mut pieces) = (Cursor::new(), Vec::with_capacity(1));
        cursor.seek(&self.layout().stream, at);
        cursor.iovecs(&self.layout().stream, &mut pieces, 1, 1);
        pieces.first().and_then(|piece| i64::try_from(piece.0).ok())
    }
}

/// The largest granule.
const LARGEST_GRANULE: usize = 4096;

/// The largest power of two that divides all numbers whose bits these are, up to a limit.
pub(crate) fn granule_of(bits: u64) -> usize {
    1 << bits.trailing_zeros().min(LARGEST_GRANULE.trailing_zeros())
}

/// All bits that are set in the beginning or the length of a run of some copies of a type.
fn bits_of(datatype: &Arc<Datatype>, copies: u64) -> u64 {
    let one = Region::typed(std::ptr::null_mut(), 1, datatype);
    let (mut cursor, mut pieces) = (Cursor::new(), Vec::new());
    let mut bits = if copies > 1 { datatype.extent() as u64 } else { 0 };
    while cursor.iovecs(&one, &mut pieces, 1024, usize::MAX) > 0 {
        bits = pieces.drain(..).fold(bits, |bits, (place, length)| bits | place as u64 | length as u64);
    }
    bits
}

/// As many copies as fit into a file, from a displacement on; only one if the file is written and
/// copies would overlap.
fn copies(disp: i64, filetype: &Arc<Datatype>, writes: bool) -> u64 {
    let (extent, last) = (filetype.extent(), filetype.true_lb() + filetype.true_extent());
    let room = i128::from(i64::MAX) - i128::from(disp) - last;
    let once = extent <= 0 || writes && extent < filetype.true_extent();
    let copies = if once { i128::from(room >= 0) } else { room.max(0) / extent };
    u64::try_from(copies).unwrap_or(u64::MAX)
}

/// Positions in a file must not decrease, and in a file that is written no byte may occur twice.
fn check_order(datatype: &Arc<Datatype>, name: &str, writes: bool) -> Result<()> {
    if datatype.size() == 0 {
        return Ok(());
    }
    if datatype.true_lb() < 0 {
        bail!(MPI_ERR_TYPE, "the {name} begins at {}; displacements must not be negative", datatype.true_lb());
    }
    // Treat the type as if it were in a file.
    let one = Region::typed(std::ptr::null_mut(), 1, datatype);
    let (mut cursor, mut pieces, mut behind) = (Cursor::new(), Vec::new(), 0);
    let mut last = 0;
    while cursor.iovecs(&one, &mut pieces, 1024, usize::MAX) > 0 {
        for (place, length) in pieces.drain(..) {
            if place < last || writes && place < behind {
                bail!(
                    MPI_ERR_TYPE,
                    "the {name}'s displacements must not {}: byte {place} comes after byte {}",
                    if place < last { "go backwards" } else { "overlap in a file that is written" },
                    behind - 1
                );
            }
            (last, behind) = (place, place + length);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int() -> &'static Arc<Datatype> {
        predefined(MPI_INT.0).unwrap()
    }

    fn committed(datatype: Result<Arc<Datatype>>) -> Arc<Datatype> {
        let datatype = datatype.unwrap();
        datatype.commit().unwrap();
        datatype
    }

    fn view(disp: i64, filetype: &Arc<Datatype>) -> View {
        View::new(disp, int(), filetype, Representation::Native, true).unwrap()
    }

    #[test]
    fn offsets_become_places() {
        let every_third = committed(Datatype::resized(int(), 0, 12));
        let view = view(100, &every_third);
        for (offset, place) in [(0, 100), (1, 112), (1 << 40, 100 + 12 * (1 << 40))] {
            assert_eq!(view.byte_offset(offset).unwrap(), place);
        }
        assert_eq!(view.byte_offset(-1).unwrap_err().class(), MPI_ERR_ARG);
        assert_eq!(view.byte_offset(i64::MAX / 8).unwrap_err().class(), MPI_ERR_ARG);
    }

    #[test]
    fn the_end_is_the_first_etype_behind_the_last_byte() {
        let filetype = committed(Datatype::vector(2, 2, 4, int()));
        let filetype = committed(Datatype::resized(&filetype, 0, 32));
        let view = view(8, &filetype);
        // Etypes begin at 8, 12, 24, 28, 40, 44, 56, 60 and so on.
        for (size, end) in [(0, 0), (8, 0), (9, 1), (12, 1), (13, 2), (24, 2), (25, 3), (40, 4), (41, 5), (61, 8)] {
            assert_eq!(view.end(size), end, "{size}");
        }
        assert_eq!(View::bytes().end(12345), 12345);
        let sparse = committed(Datatype::resized(int(), 0, 1 << 30));
        assert_eq!(super::View::new(0, int(), &sparse, Representation::Native, true).unwrap().end(5 << 30), 5);
    }

    #[test]
    fn what_goes_backwards_or_overlaps_is_refused() {
        let backwards = committed(Datatype::indexed_block(1, vec![4, 0], int()));
        let twice = committed(Datatype::indexed_block(1, vec![0, 0], int()));
        let negative = committed(Datatype::indexed_block(1, vec![-1, 2], int()));
        let odd = committed(Datatype::contiguous(3, predefined(MPI_BYTE.0).unwrap()));
        let class = |filetype: &Arc<Datatype>, writes| {
            View::new(0, int(), filetype, Representation::Native, writes).err().map(|error| error.class())
        };
        for filetype in [&backwards, &negative, &odd, &twice] {
            assert_eq!(class(filetype, true), Some(MPI_ERR_TYPE));
        }
        assert_eq!(class(&twice, false), None);
        assert_eq!(class(&Datatype::contiguous(2, int()).unwrap(), true), Some(MPI_ERR_TYPE));
        let nothing = committed(Datatype::contiguous(0, int()));
        let view = view(5, &nothing);
        assert_eq!((view.byte_offset(3).unwrap(), view.end(100)), (5, 0));
        assert_eq!(view.etypes(4).unwrap_err().class(), MPI_ERR_TYPE);
    }

    #[test]
    fn a_filetype_whose_copies_would_overlap_is_there_once() {
        let two = committed(Datatype::vector(2, 1, 4, int()));
        for extent in [12, 0, -8] {
            let short = committed(Datatype::resized(&two, 0, extent));
            let view = view(100, &short);
            assert_eq!((view.byte_offset(0).unwrap(), view.byte_offset(1).unwrap()), (100, 116));
            let error = view.byte_offset(2).unwrap_err();
            assert!(error.class() == MPI_ERR_ARG && error.text().contains("overlap"), "{error}");
        }
        // Reading a byte twice is allowed.
        let short = committed(Datatype::resized(&two, 0, 12));
        let view = View::new(0, int(), &short, Representation::Native, false).unwrap();
        assert_eq!(view.byte_offset(2).unwrap(), 12);
    }

    #[test]
    fn external_types_have_external_lengths() {
        let long = predefined(MPI_LONG.0).unwrap();
        let pairs = committed(Datatype::vector(1, 1, 1, long));
        let pairs = committed(Datatype::contiguous(2, &pairs));
        let view = View::new(0, long, &pairs, Representation::External32, true).unwrap();
        assert_eq!(view.byte_offset(3).unwrap(), 12);
        assert_eq!(view.etypes(12).unwrap(), 3);
    }
}
