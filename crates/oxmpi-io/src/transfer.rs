//! Reads and writes: moves bytes between memory and the positions in a file that a view shows.
//!
//! One system call moves a run of the file from or to all pieces of memory that belong to it. Short
//! pieces of memory are packed first. Short runs that are read are read together with the gaps
//! between them. Short runs that are written are written one by one: writing the gaps would
//! overwrite what another process writes there.

use crate::lock::Lock;
use crate::{File, View, failed};
use oxmpi_abi::constants::*;
use oxmpi_abi::{Result, bail};
use oxmpi_datatype::{Cursor, Region, Source, Target};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

/// The largest number of pieces of memory that the kernel accepts in one call.
const MAX_PIECES: usize = 1024;
/// The largest number of bytes in one call; the limit of the kernel is slightly higher.
const MAX_BYTES: usize = 1 << 30;
/// Pieces of memory with a shorter average length are packed.
const SHORT: usize = 512;
/// Runs of a file with a shorter average length may be read together.
const SHORT_RUN: usize = 16 << 10;
/// The largest gap between runs that are read together.
const GAP: usize = 32 << 10;
/// Bytes that are packed, or read together, at a time.
const STAGE: usize = 1 << 20;

/// Reads what a view shows from an etype on. Returns the number of bytes read: fewer than asked for
/// at the end of the file.
pub fn read(file: &File, view: &View, offset: i64, to: &Target<'_>, atomic: bool) -> Result<usize> {
    access(file, view, offset, Memory::Read(to), atomic)
}

/// Writes all of a buffer to what a view shows from an etype on.
pub fn write(file: &File, view: &View, offset: i64, from: &Source<'_>, atomic: bool) -> Result<usize> {
    file.written.store(true, Ordering::Relaxed);
    access(file, view, offset, Memory::Written(from), atomic)
}

/// Where bytes go to or come from.
#[derive(Clone, Copy)]
pub(crate) enum Memory<'a> {
    /// What is read of the file goes here.
    Read(&'a Target<'a>),
    /// What is written to the file comes from here.
    Written(&'a Source<'a>),
}

impl<'a> Memory<'a> {
    fn region(self) -> &'a Region {
        match self {
            Memory::Read(to) => to,
            Memory::Written(from) => from,
        }
    }

    fn writes(self) -> bool {
        matches!(self, Memory::Written(_))
    }
}

fn access(file: &File, view: &View, offset: i64, memory: Memory<'_>, atomic: bool) -> Result<usize> {
    if offset < 0 {
        bail!(MPI_ERR_ARG, "the offset is {offset}, which is negative");
    }
    let bytes = memory.region().len();
    if bytes == 0 {
        return Ok(0);
    }
    let mover = Mover { file, memory };
    if !file.seekable {
        return mover.run(0, None, bytes);
    }
    let stream = view.stream();
    let start = view.start_of(offset, bytes)?;
    let _lock = match atomic {
        true => Some(lock(file, view, start, bytes, memory.writes())?),
        false => None,
    };
    match (stream.as_dense(), memory) {
        (Some(base), _) => mover.run(0, Some(base.addr() + start), bytes),
        (None, Memory::Read(to)) if stream.average_block() < SHORT_RUN => mover.together(to, stream, start),
        (None, _) => mover.one_by_one(stream, start),
    }
}

/// Locks the range from the first to the last byte.
fn lock<'a>(file: &'a File, view: &View, start: usize, bytes: usize, writes: bool) -> Result<Lock<'a>> {
    match (view.place(start), view.place(start + bytes - 1)) {
        (Some(first), Some(last)) => Lock::take(file, first, last - first + 1, writes),
        _ => bail!(MPI_ERR_ARG, "{bytes} bytes are more than a file can hold"),
    }
}

pub(crate) struct Mover<'a> {
    pub file: &'a File,
    pub memory: Memory<'a>,
}

impl Mover<'_> {
    /// Moves each run of the file with calls of its own.
    fn one_by_one(&self, stream: &Region, start: usize) -> Result<usize> {
        let (mut runs, mut done) = (Vec::new(), 0);
        let mut cursor = Cursor::new();
        cursor.seek(stream, start);
        while cursor.iovecs(stream, &mut runs, MAX_PIECES, self.memory.region().len() - done) > 0 {
            done = cursor.position() - start;
            let mut at = done - runs.iter().map(|run| run.1).sum::<usize>();
            for (place, length) in runs.drain(..) {
                let moved = self.run(at, Some(place), length)?;
                at += moved;
                if moved < length {
                    return Ok(at);
                }
            }
        }
        Ok(done)
    }

    /// Reads runs of the file that are close together with one call.
    fn together(&self, to: &Target<'_>, stream: &Region, start: usize) -> Result<usize> {
        let mut stage = vec![0u8; STAGE];
        let (mut runs, mut cursor, mut memory) = (Vec::new(), Cursor::new(), Cursor::new());
        cursor.seek(stream, start);
        while cursor.iovecs(stream, &mut runs, MAX_PIECES, to.len() - (cursor.position() - start)) > 0 {
            let mut rest = &runs[..];
            while let Some(&(first, length)) = rest.first() {
                let near = |pair: &[(usize, usize)]| {
                    // Copies of a type that is only read may overlap, so positions may decrease.
                    let (start, behind) = (pair[0].0, pair[0].0 + pair[0].1);
                    let (next, end) = (pair[1].0, pair[1].0 + pair[1].1);
                    next >= start && end >= behind && next <= behind.saturating_add(GAP) && end - first <= STAGE
                };
                let count = 1 + rest.windows(2).take_while(|pair| near(pair)).count();
                let (group, others) = rest.split_at(count);
                rest = others;
                if count == 1 {
                    let moved = self.run(memory.position(), Some(first), length)?;
                    memory.seek(to, memory.position() + moved);
                    if moved < length {
                        return Ok(memory.position());
                    }
                    continue;
                }
                let (last, behind) = group[count - 1];
                let found = self.fill(&mut stage[..last + behind - first], first)?;
                for &(place, length) in group {
                    let at = place - first;
                    let there = found.saturating_sub(at).min(length);
                    memory.unpack_from(to, &stage[at..at + there]);
                    if there < length {
                        return Ok(memory.position());
                    }
                }
            }
            runs.clear();
        }
        Ok(memory.position())
    }

    /// Reads a run of the file into a stage; returns the number of bytes read.
    fn fill(&self, stage: &mut [u8], place: usize) -> Result<usize> {
        let length = stage.len();
        Mover { file: self.file, memory: Memory::Read(&Target::of(stage)) }.run(0, Some(place), length)
    }

    /// Moves one run of the file from or to byte `at` of the buffer; without a position, the next
    /// bytes of a pipe. Returns the number of bytes moved: fewer at the end of the file.
    pub fn run(&self, at: usize, place: Option<usize>, length: usize) -> Result<usize> {
        let region = self.memory.region();
        assert!(at + length <= region.len());
        match region.as_dense() {
            // SAFETY: asserted to be inside the buffer, which may be read or written, whichever is done.
            Some(base) => unsafe { self.dense(base.wrapping_add(at), place, length) },
            None if region.average_block() < SHORT => self.packed(at, place, length),
            None => self.pieces(at, place, length),
        }
    }

    /// # Safety
    /// `length` bytes at `memory` may be read, where the file is written; written, where it is read.
    unsafe fn dense(&self, memory: *mut u8, place: Option<usize>, length: usize) -> Result<usize> {
        let mut done = 0;
        while done < length {
            let piece = [(memory.expose_provenance() + done, (length - done).min(MAX_BYTES))];
            // SAFETY: a part of the `length` bytes at `memory`.
            let moved = unsafe { self.call(&piece, place.map(|place| place + done))? };
            done += moved;
            if moved == 0 {
                break;
            }
        }
        Ok(done)
    }

    fn packed(&self, at: usize, place: Option<usize>, length: usize) -> Result<usize> {
        let mut stage = vec![0u8; length.min(STAGE)];
        let (mut cursor, mut done) = (Cursor::new(), 0);
        cursor.seek(self.memory.region(), at);
        while done < length {
            let part = (length - done).min(STAGE);
            let next = place.map(|place| place + done);
            let moved = match self.memory {
                Memory::Written(from) => {
                    cursor.pack_into(from, &mut stage[..part]);
                    let packed = Memory::Written(&Source::of(&stage));
                    Mover { file: self.file, memory: packed }.run(0, next, part)?
                }
                Memory::Read(to) => {
                    let found =
                        Mover { file: self.file, memory: Memory::Read(&Target::of(&mut stage)) }.run(0, next, part)?;
                    cursor.unpack_from(to, &stage[..found])
                }
            };
            done += moved;
            if moved < part {
                break;
            }
        }
        Ok(done)
    }

    fn pieces(&self, at: usize, place: Option<usize>, length: usize) -> Result<usize> {
        let (mut pieces, mut done) = (Vec::new(), 0);
        while done < length {
            let mut cursor = Cursor::new();
            cursor.seek(self.memory.region(), at + done);
            pieces.clear();
            cursor.iovecs(self.memory.region(), &mut pieces, MAX_PIECES, (length - done).min(MAX_BYTES));
            // SAFETY: pieces of the buffer, which may be read or written, whichever is done.
            let moved = unsafe { self.call(&pieces, place.map(|place| place + done))? };
            done += moved;
            if moved == 0 {
                break;
            }
        }
        Ok(done)
    }

    /// One system call. It may move less than asked for; it moves nothing only at the end of a file
    /// that is read.
    ///
    /// # Safety
    /// The pieces are memory that may be read, where the file is written; written, where it is read.
    unsafe fn call(&self, pieces: &[(usize, usize)], place: Option<usize>) -> Result<usize> {
        let piece = |&(base, length): &(usize, usize)| libc::iovec {
            iov_base: std::ptr::with_exposed_provenance_mut(base),
            iov_len: length,
        };
        // One piece, the usual case, needs no list.
        let (one, many);
        let list: &[libc::iovec] = if let [only] = pieces {
            one = [piece(only)];
            &one
        } else {
            many = pieces.iter().map(piece).collect::<Vec<_>>();
            &many
        };
        let (fd, list, count) = (self.file.file.as_raw_fd(), list.as_ptr(), list.len() as libc::c_int);
        loop {
            // SAFETY: `list` has `count` entries and lives until the call returns; its pieces may be accessed so.
            let moved = unsafe {
                match (self.memory.writes(), place) {
                    (false, Some(place)) => libc::preadv(fd, list, count, place as libc::off_t),
                    (true, Some(place)) => libc::pwritev(fd, list, count, place as libc::off_t),
                    (false, None) => libc::readv(fd, list, count),
                    (true, None) => libc::writev(fd, list, count),
                }
            };
            if moved > 0 || moved == 0 && !self.memory.writes() {
                return Ok(moved as usize);
            }
            let error = if moved == 0 { io::ErrorKind::WriteZero.into() } else { io::Error::last_os_error() };
            if error.kind() != io::ErrorKind::Interrupted {
                let done = if self.memory.writes() { "written" } else { "read" };
                return Err(failed(&error, done, self.file.name()));
            }
        }
    }
}
