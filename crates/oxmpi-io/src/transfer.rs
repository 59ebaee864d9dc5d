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
use oxmpi_datatype::{Buf, Cursor};
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
///
/// # Safety
/// The memory that `to` describes is valid to write.
pub unsafe fn read(file: &File, view: &View, offset: i64, to: &Buf, atomic: bool) -> Result<usize> {
    // SAFETY: the caller promises that the memory of the buffer is valid for this access.
    unsafe { access(file, view, offset, to, Way::Read, atomic) }
}

/// Writes all of a buffer to what a view shows from an etype on.
///
/// # Safety
/// The memory that `from` describes is valid to read.
pub unsafe fn write(file: &File, view: &View, offset: i64, from: &Buf, atomic: bool) -> Result<usize> {
    file.written.store(true, Ordering::Relaxed);
    // SAFETY: the caller promises that the memory of the buffer is valid for this access.
    unsafe { access(file, view, offset, from, Way::Write, atomic) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Read,
    Write,
}

/// # Safety
/// As for [`read`] or [`write`].
unsafe fn access(file: &File, view: &View, offset: i64, memory: &Buf, way: Way, atomic: bool) -> Result<usize> {
    if offset < 0 {
        bail!(MPI_ERR_ARG, "the offset is {offset}, which is negative");
    }
    let bytes = memory.len();
    if bytes == 0 {
        return Ok(0);
    }
    let mover = Mover { file, memory, way };
    if !file.seekable {
        // SAFETY: the caller promises that the memory of the buffer is valid for this access.
        return unsafe { mover.run(0, None, bytes) };
    }
    let stream = view.stream();
    let beyond = || view.beyond(format!("the end of {bytes} bytes at offset {offset}"));
    let start = view.position(offset).filter(|start| bytes <= stream.len() - start).ok_or_else(beyond)?;
    let _lock = match atomic {
        true => Some(lock(file, view, start, bytes, way)?),
        false => None,
    };
    // SAFETY: the caller promises that the memory of the buffer is valid for this access.
    unsafe {
        match stream.as_dense() {
            Some(base) => mover.run(0, Some(base.addr() + start), bytes),
            None if way == Way::Read && stream.average_block() < SHORT_RUN => mover.together(stream, start),
            None => mover.one_by_one(stream, start),
        }
    }
}

/// Locks the range from the first to the last byte.
fn lock<'a>(file: &'a File, view: &View, start: usize, bytes: usize, way: Way) -> Result<Lock<'a>> {
    match (view.place(start), view.place(start + bytes - 1)) {
        (Some(first), Some(last)) => Lock::take(file, first, last - first + 1, way == Way::Write),
        _ => bail!(MPI_ERR_ARG, "{bytes} bytes are more than a file can hold"),
    }
}

struct Mover<'a> {
    file: &'a File,
    memory: &'a Buf,
    way: Way,
}

impl Mover<'_> {
    /// Moves each run of the file with calls of its own.
    ///
    /// # Safety
    /// As for [`access`].
    unsafe fn one_by_one(&self, stream: &Buf, start: usize) -> Result<usize> {
        let (mut runs, mut done) = (Vec::new(), 0);
        let mut cursor = Cursor::new();
        cursor.seek(stream, start);
        while cursor.iovecs(stream, &mut runs, MAX_PIECES, self.memory.len() - done) > 0 {
            done = cursor.position() - start;
            let mut at = done - runs.iter().map(|run| run.1).sum::<usize>();
            for (place, length) in runs.drain(..) {
                // SAFETY: the caller promises that the memory of the buffer is valid for this
                // access.
                let moved = unsafe { self.run(at, Some(place), length)? };
                at += moved;
                if moved < length {
                    return Ok(at);
                }
            }
        }
        Ok(done)
    }

    /// Reads runs of the file that are close together with one call.
    ///
    /// # Safety
    /// As for [`access`].
    unsafe fn together(&self, stream: &Buf, start: usize) -> Result<usize> {
        let mut stage = vec![0u8; STAGE];
        let (mut runs, mut cursor, mut memory) = (Vec::new(), Cursor::new(), Cursor::new());
        cursor.seek(stream, start);
        while cursor.iovecs(stream, &mut runs, MAX_PIECES, self.memory.len() - (cursor.position() - start)) > 0 {
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
                    // SAFETY: the caller promises that the memory of the buffer is valid for this
                    // access.
                    let moved = unsafe { self.run(memory.position(), Some(first), length)? };
                    memory.seek(self.memory, memory.position() + moved);
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
                    // SAFETY: the caller promises that the buffer may be written; `fill`
                    // has read these bytes of the stage.
                    unsafe { memory.unpack(self.memory, stage[at..].as_ptr(), there) };
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
        let mover = Mover { file: self.file, memory: &Buf::dense(stage.as_mut_ptr(), stage.len()), way: Way::Read };
        // SAFETY: the stage is borrowed mutably and has `stage.len()` bytes.
        unsafe { mover.dense(stage.as_mut_ptr(), Some(place), stage.len()) }
    }

    /// Moves one run of the file from or to byte `at` of the buffer; without a position, the next
    /// bytes of a pipe. Returns the number of bytes moved: fewer at the end of the file.
    ///
    /// # Safety
    /// As for [`access`].
    unsafe fn run(&self, at: usize, place: Option<usize>, length: usize) -> Result<usize> {
        // SAFETY: the caller promises that the memory of the buffer is valid for this access.
        unsafe {
            match self.memory.as_dense() {
                Some(base) => self.dense(base.wrapping_add(at), place, length),
                None if self.memory.average_block() < SHORT => self.packed(at, place, length),
                None => self.pieces(at, place, length),
            }
        }
    }

    /// # Safety
    /// As for [`access`]; the memory is of that length.
    unsafe fn dense(&self, memory: *mut u8, place: Option<usize>, length: usize) -> Result<usize> {
        let mut done = 0;
        while done < length {
            let piece = [(memory.expose_provenance() + done, (length - done).min(MAX_BYTES))];
            // SAFETY: the caller promises that the memory of the buffer is valid for this access.
            let moved = unsafe { self.call(&piece, place.map(|place| place + done))? };
            done += moved;
            if moved == 0 {
                break;
            }
        }
        Ok(done)
    }

    /// # Safety
    /// As for [`access`].
    unsafe fn packed(&self, at: usize, place: Option<usize>, length: usize) -> Result<usize> {
        let mut stage = vec![0u8; length.min(STAGE)];
        let (mut cursor, mut done) = (Cursor::new(), 0);
        cursor.seek(self.memory, at);
        while done < length {
            let part = (length - done).min(STAGE);
            let next = place.map(|place| place + done);
            // SAFETY: the caller promises that the buffer is valid; the stage belongs to this
            // function.
            let moved = unsafe {
                if self.way == Way::Write {
                    cursor.pack(self.memory, stage.as_mut_ptr(), part);
                    self.dense(stage.as_mut_ptr(), next, part)?
                } else {
                    let moved = self.dense(stage.as_mut_ptr(), next, part)?;
                    cursor.unpack(self.memory, stage.as_ptr(), moved)
                }
            };
            done += moved;
            if moved < part {
                break;
            }
        }
        Ok(done)
    }

    /// # Safety
    /// As for [`access`].
    unsafe fn pieces(&self, at: usize, place: Option<usize>, length: usize) -> Result<usize> {
        let (mut pieces, mut done) = (Vec::new(), 0);
        while done < length {
            let mut cursor = Cursor::new();
            cursor.seek(self.memory, at + done);
            pieces.clear();
            cursor.iovecs(self.memory, &mut pieces, MAX_PIECES, (length - done).min(MAX_BYTES));
            // SAFETY: the caller promises that the memory of the buffer is valid for this access.
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
    /// The pieces are memory that may be read, or written.
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
            // SAFETY: the caller promises that the pieces are valid memory; the length passed is
            // that of the list.
            let moved = unsafe {
                match (self.way, place) {
                    (Way::Read, Some(place)) => libc::preadv(fd, list, count, place as libc::off_t),
                    (Way::Write, Some(place)) => libc::pwritev(fd, list, count, place as libc::off_t),
                    (Way::Read, None) => libc::readv(fd, list, count),
                    (Way::Write, None) => libc::writev(fd, list, count),
                }
            };
            if moved > 0 || moved == 0 && self.way == Way::Read {
                return Ok(moved as usize);
            }
            let error = if moved == 0 { io::ErrorKind::WriteZero.into() } else { io::Error::last_os_error() };
            if error.kind() != io::ErrorKind::Interrupted {
                let done = if self.way == Way::Read { "read" } else { "written" };
                return Err(failed(&error, done, self.file.name()));
            }
        }
    }
}
