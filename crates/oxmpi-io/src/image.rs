//! Collective buffering: a window of a file as an image in memory that the processes of a node
//! share. To write, each process copies its pieces into the image and marks them, and a few
//! processes write what is marked in long runs. To read, a few processes read the window, and each
//! process copies its pieces out of the image.
//!
//! Bytes that nobody marked are never written: another process may write them at the same time
//! through another open file. This module never communicates: the crate `oxmpi` synchronises the
//! processes between these steps (`oxmpi/src/file/together.rs`).

use crate::staging::Staging;
use crate::transfer::{Memory, Mover};
use crate::view::granule_of;
use crate::{File, View};
use oxmpi_abi::Result;
use oxmpi_datatype::{Cursor, Region, Source, Target};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes of memory with gaps that are packed at a time.
const PACKED: usize = 64 << 10;
/// Runs of a file that are listed at a time.
const LISTED: usize = 1024;
/// The shortest part of a window that processes fill in turns.
const LEAST_STEP: u64 = 32 << 10;
/// Eight marked granules.
const MARKED: u64 = 0x0101_0101_0101_0101;

/// What one process accesses: some bytes of its view's stream.
#[derive(Clone)]
pub struct Part {
    view: Arc<View>,
    start: usize,
    bytes: usize,
}

impl Part {
    /// `bytes` bytes of a view from an etype on.
    pub fn new(view: Arc<View>, offset: i64, bytes: usize) -> Result<Part> {
        let start = if bytes == 0 { 0 } else { view.start_of(offset, bytes)? };
        Ok(Part { view, start, bytes })
    }

    pub fn nothing() -> Part {
        Part { view: Arc::new(View::bytes()), start: 0, bytes: 0 }
    }

    /// Its bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The positions in the file from its first to its last byte; empty if it has none.
    pub fn range(&self) -> Range<u64> {
        match self.bytes {
            0 => 0..0,
            bytes => self.place(0)..self.place(bytes - 1) + 1,
        }
    }

    /// About how many runs of the file it has.
    pub fn runs(&self) -> usize {
        match self.view.average_run() {
            Some(average) => self.bytes.div_ceil(average.max(1)),
            None => usize::from(self.bytes > 0),
        }
    }

    /// A power of two that divides the beginning and the length of each run.
    pub fn granule(&self) -> usize {
        // Only the first and the last run may be shorter than those of the view.
        let Range { start, end } = self.range();
        self.view.granule().min(granule_of(start | end))
    }

    /// Whether positions in the file increase with each byte, as an image needs it.
    pub fn is_ordered(&self) -> bool {
        self.bytes == 0 || self.view.is_ordered()
    }

    /// The position in the file of one of its bytes.
    fn place(&self, at: usize) -> u64 {
        // It was checked that the part lies in the view.
        self.view.place(self.start + at).map_or(u64::MAX, |place| place as u64)
    }

    /// The number of its bytes, from byte `from` on, that lie before a position in the file.
    fn before(&self, from: usize, position: u64) -> usize {
        if from == self.bytes || self.place(from) >= position {
            return 0;
        }
        if self.place(self.bytes - 1) < position {
            return self.bytes - from;
        }
        let (mut low, mut high) = (from, self.bytes - 1);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.place(middle) < position {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low - from
    }
}

/// A process's way through its part, window by window.
pub struct Walk {
    pub part: Part,
    /// The memory of the part.
    memory: Region,
    done: usize,
}

// SAFETY: the memory is accessed by one thread at a time, which the owner of the value is.
unsafe impl Send for Walk {}

impl Walk {
    /// # Safety
    /// The memory has at least the bytes of the part. Until the walk is dropped it may be read; if
    /// [`Image::fetch`] is used, written.
    pub unsafe fn new(part: Part, memory: Region) -> Walk {
        assert!(memory.len() >= part.bytes);
        Walk { part, memory, done: 0 }
    }

    /// The bytes of the part in a window. Windows come in the order of the file.
    fn within(&self, window: Range<u64>) -> Range<usize> {
        let left = |from: usize, position| if self.part.is_empty() { 0 } else { self.part.before(from, position) };
        let from = self.done + left(self.done, window.start);
        from..from + left(from, window.end)
    }
}

/// A window of a file in memory, and a mark per granule. Clones are the same memory.
#[derive(Clone)]
pub struct Image {
    _memory: Arc<Staging>,
    bytes: *mut u8,
    marks: *mut u8,
    /// Where the window begins in the file.
    at: u64,
    length: usize,
    /// The logarithm of the granule.
    granule: u32,
}

// SAFETY: memory that the value keeps, accessed by raw copies of processes and threads that
// synchronise: the condition of `Image::new`.
unsafe impl Send for Image {}
// SAFETY: as for `Send`: nothing in it belongs to a thread.
unsafe impl Sync for Image {}

impl Image {
    /// # Safety
    /// `bytes` has `length` bytes and `marks` one for each granule of them, in the memory of
    /// `memory`. Processes that use the same memory synchronise
    /// between filling and saving, and between loading and fetching. The granule is a power of two
    /// that divides the granule of each part.
    pub(crate) unsafe fn new(
        memory: Arc<Staging>,
        bytes: *mut u8,
        marks: *mut u8,
        at: u64,
        length: usize,
        granule: usize,
    ) -> Image {
        assert!(granule.is_power_of_two() && at.is_multiple_of(granule as u64) && length.is_multiple_of(granule));
        Image { _memory: memory, bytes, marks, at, length, granule: granule.trailing_zeros() }
    }

    /// Its positions in the file.
    pub fn window(&self) -> Range<u64> {
        self.at..self.at + self.length as u64
    }

    /// Copies what a process writes in this window into the image and marks it. `turn`: this process
    /// among those of the node. Each begins at another place, so that they do not write to the same
    /// cache lines at the same time.
    pub fn fill(&self, walk: &mut Walk, (turn, turns): (usize, usize)) {
        let Range { start, end } = self.window();
        let step = ((end - start) / turns as u64).max(LEAST_STEP).next_multiple_of(1 << self.granule.max(12));
        let steps = (end - start).div_ceil(step);
        for number in 0..steps {
            let from = start + (turn as u64 + number) % steps * step;
            let range = walk.within(from..(from + step).min(end));
            if !range.is_empty() {
                self.mark(&walk.part, &range);
                // SAFETY: the memory may be read, and is not the image's: the condition of `Walk::new`.
                let source = unsafe { Source::new(walk.memory.part(range.start, range.len())) };
                copy(&source, &self.target(&walk.part, &range));
            }
        }
        walk.done = walk.within(start..end).end;
    }

    /// Marks what a process reads in this window, which it fetches later.
    pub fn want(&self, walk: &Walk) {
        let range = walk.within(self.window());
        self.mark(&walk.part, &range);
    }

    /// Copies what a process reads in this window out of the image, up to a position in the file
    /// where the data ends. Returns whether all was there, and how many bytes were.
    pub fn fetch(&self, walk: &mut Walk, end: u64) -> (bool, usize) {
        let range = walk.within(self.window());
        walk.done = range.end;
        if range.is_empty() {
            return (true, 0);
        }
        let there =
            if end >= self.window().end { range.len() } else { walk.part.before(range.start, end).min(range.len()) };
        let found = range.start..range.start + there;
        let from = self.target(&walk.part, &found);
        // SAFETY: the memory may be written, and is not the image's: the condition of `Walk::new`.
        unsafe {
            let to = Target::new(walk.memory.part(found.start, there));
            copy(&from, &to);
        }
        (there == range.len(), there)
    }

    /// The bytes of a part of this window in the image.
    fn target(&self, part: &Part, range: &Range<usize>) -> Target<'static> {
        let zero = self.bytes.wrapping_sub(self.at as usize);
        // SAFETY: these bytes of the part lie in the window, so they are in the image, which the
        // caller keeps while it copies.
        unsafe { Target::new(part.view.stream_at(zero).part(part.start + range.start, range.len())) }
    }

    fn mark(&self, part: &Part, range: &Range<usize>) {
        let stream = part.view.stream().part(part.start + range.start, range.len());
        let (mut cursor, mut runs) = (Cursor::new(), Vec::with_capacity(LISTED));
        while cursor.iovecs(&stream, &mut runs, LISTED, usize::MAX) > 0 {
            for (place, length) in runs.drain(..) {
                let (first, count) = ((place - self.at as usize) >> self.granule, length >> self.granule);
                // SAFETY: the run lies in the window, and runs are whole granules, so the marks are
                // inside; nobody reads them before the processes have synchronised.
                unsafe {
                    match count {
                        1 => self.marks.add(first).write(1),
                        _ => self.marks.add(first).write_bytes(1, count),
                    }
                }
            }
        }
    }

    /// Writes what is marked in a slice of the window, and clears the marks. The slice begins and
    /// ends at whole granules, or at the end of the window.
    pub fn save(&self, file: &File, slice: Range<usize>) -> Result<()> {
        file.written.store(true, Ordering::Relaxed);
        let mut ended = Ok(());
        for run in self.marked(&slice) {
            if ended.is_ok() {
                // SAFETY: the run lies in the window.
                let from = unsafe { Source::dense(self.bytes.add(run.start), run.len()) };
                let mover = Mover { file, memory: Memory::Written(&from) };
                ended = mover.run(0, Some(self.at as usize + run.start), run.len()).map(|_| ());
            }
        }
        self.clear(&slice);
        ended
    }

    /// Reads a slice of the window. Returns the number of bytes that the file has there.
    pub fn load(&self, file: &File, slice: Range<usize>) -> Result<usize> {
        // SAFETY: the slice lies in the window.
        let to = unsafe { Target::dense(self.bytes.add(slice.start), slice.len()) };
        Mover { file, memory: Memory::Read(&to) }.run(0, Some(self.at as usize + slice.start), slice.len())
    }

    /// The granules of a slice.
    fn granules(&self, slice: &Range<usize>) -> Range<usize> {
        slice.start >> self.granule..slice.end.div_ceil(1 << self.granule)
    }

    fn clear(&self, slice: &Range<usize>) {
        let granules = self.granules(slice);
        // SAFETY: marks of the window.
        unsafe { self.marks.add(granules.start).write_bytes(0, granules.len()) }
    }

    /// The marked runs of a slice, in bytes of the window.
    fn marked(&self, slice: &Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let granules = self.granules(slice);
        // SAFETY: marks of the window; the processes have synchronised, so nobody writes them now.
        let marks = unsafe { std::slice::from_raw_parts(self.marks.add(granules.start), granules.len()) };
        let (shift, length, mut at) = (self.granule, self.length, 0);
        std::iter::from_fn(move || {
            let start = at + same(&marks[at..], 0);
            if start == marks.len() {
                return None;
            }
            at = start + same(&marks[start..], MARKED);
            let byte = |granule: usize| ((granules.start + granule) << shift).min(length);
            Some(byte(start)..byte(at))
        })
    }

    // ---- between nodes ----

    /// What is marked, as words: a bit per granule, then the bytes. Clears the marks. Empty when
    /// nothing is marked.
    pub fn pack(&self) -> Vec<u64> {
        let (mut words, runs) = self.pack_marks();
        if !words.is_empty() {
            self.append(&mut words, &runs);
        }
        words
    }

    /// What is marked, a bit per granule. Clears the marks. Empty when nothing is marked.
    pub fn pack_marks(&self) -> (Vec<u64>, Vec<Range<usize>>) {
        let runs: Vec<Range<usize>> = self.marked(&(0..self.length)).collect();
        if runs.is_empty() {
            return (Vec::new(), runs);
        }
        let mut words = vec![0u64; self.mark_words()];
        for run in &runs {
            for granule in self.granules(run) {
                words[granule / 64] |= 1 << (granule % 64);
            }
        }
        self.clear(&(0..self.length));
        (words, runs)
    }

    /// The words that the bits of all granules need.
    fn mark_words(&self) -> usize {
        self.granules(&(0..self.length)).len().div_ceil(64)
    }

    /// The runs of bits from another process; none if they are not for this window.
    pub fn runs_of(&self, words: &[u64]) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        let granules = self.granules(&(0..self.length)).len();
        for granule in
            (0..granules.min(words.len() * 64)).filter(|granule| words[granule / 64] >> (granule % 64) & 1 != 0)
        {
            let (start, end) = (granule << self.granule, ((granule + 1) << self.granule).min(self.length));
            match runs.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ => runs.push(start..end),
            }
        }
        runs
    }

    /// Appends the bytes of runs, in whole words.
    pub fn append(&self, words: &mut Vec<u64>, runs: &[Range<usize>]) {
        let total: usize = runs.iter().map(Range::len).sum();
        let start = words.len();
        words.resize(start + total.div_ceil(8), 0);
        let mut to = words[start..].as_mut_ptr().cast::<u8>();
        for run in runs {
            // SAFETY: the run lies in the window, and the words have room for the bytes of all.
            unsafe {
                std::ptr::copy_nonoverlapping(self.bytes.add(run.start), to, run.len());
                to = to.add(run.len());
            }
        }
    }

    /// Copies the bytes of runs from words; stops where the words end.
    pub fn take(&self, words: &[u64], runs: &[Range<usize>]) {
        let (mut from, mut left) = (words.as_ptr().cast::<u8>(), words.len() * 8);
        for run in runs {
            let length = run.len().min(left);
            // SAFETY: the run lies in the window, and so many bytes are left of the words.
            unsafe {
                std::ptr::copy_nonoverlapping(from, self.bytes.add(run.start), length);
                from = from.add(length);
            }
            left -= length;
        }
    }

    /// Copies what another node has [packed](Image::pack) into the image and marks it.
    pub fn unpack(&self, words: &[u64]) {
        let bits = words.len().min(self.mark_words());
        let runs = self.runs_of(&words[..bits]);
        self.take(&words[bits..], &runs);
        for run in &runs {
            let granules = self.granules(run);
            // SAFETY: marks of the window.
            unsafe { self.marks.add(granules.start).write_bytes(1, granules.len()) }
        }
    }
}

/// The number of marks at the beginning that are as `word` says.
fn same(marks: &[u8], word: u64) -> usize {
    let whole = marks.chunks_exact(8).take_while(|eight| {
        u64::from_ne_bytes([eight[0], eight[1], eight[2], eight[3], eight[4], eight[5], eight[6], eight[7]]) == word
    });
    let start = whole.count() * 8;
    start + marks[start..].iter().take_while(|mark| u64::from(**mark) == word & 1).count()
}

/// Copies all bytes of one typed region to another of the same length.
fn copy(from: &Source<'_>, to: &Target<'_>) {
    let length = from.len().min(to.len());
    let (mut source, mut target) = (Cursor::new(), Cursor::new());
    // SAFETY: each side is a source or a target; a dense one has all bytes at its address; user
    // memory and image do not overlap.
    unsafe {
        match (from.as_dense(), to.as_dense()) {
            (Some(base), _) => {
                target.unpack(to, base, length);
            }
            (None, Some(base)) => {
                source.pack(from, base, length);
            }
            (None, None) => {
                let mut packed = vec![0; PACKED.min(length)];
                while source.position() < length {
                    let part = source.pack_into(from, &mut packed);
                    target.unpack_from(to, &packed[..part]);
                }
            }
        }
    }
}
