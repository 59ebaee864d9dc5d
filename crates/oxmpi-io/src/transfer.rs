//! Reads and writes: bytes between memory and the places in a file that a view shows.
//!
//! A run of the file is moved by one system call for all pieces of memory that belong to it. Short pieces of memory are packed
//! first, and short runs of a file that is read are read together with what lies between them. Short runs that are written
//! are written one by one: to write what lies between them, too, would undo what another process writes there.

use crate::lock::Lock;
use crate::{File, View, failed};
use oxmpi_abi::constants::*;
use oxmpi_abi::{Result, bail};
use oxmpi_datatype::{Buf, Cursor};
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

/// The most pieces of memory that the kernel takes in one call.
const MAX_PIECES: usize = 1024;
/// The most bytes of one call; the kernel's own limit is a little higher.
const MAX_BYTES: usize = 1 << 30;
/// Pieces of memory that are shorter on average are packed.
const SHORT: usize = 512;
/// Runs of a file that are shorter on average may be read together.
const SHORT_RUN: usize = 16 << 10;
/// How far apart they may be.
const GAP: usize = 32 << 10;
/// What is packed, or read together, at a time.
const STAGE: usize = 1 << 20;

/// Reads what a view shows from an etype on. Returns how many bytes there were: fewer than asked for at the end of the file.
///
/// # Safety
/// The memory that `to` describes is valid to write.
pub unsafe fn read(file: &File, view: &View, offset: i64, to: &Buf, atomic: bool) -> Result<usize> {
    // SAFETY: as the caller says.
    unsafe { access(file, view, offset, to, Way::Read, atomic) }
}

/// Writes all of a buffer to what a view shows from an etype on.
///
/// # Safety
/// The memory that `from` describes is valid to read.
pub unsafe fn write(file: &File, view: &View, offset: i64, from: &Buf, atomic: bool) -> Result<usize> {
    file.written.store(true, Ordering::Relaxed);
    // SAFETY: as the caller says.
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
        // SAFETY: as the caller says.
        return unsafe { mover.run(0, None, bytes) };
    }
    let stream = view.stream();
    let beyond = || view.beyond(format!("the end of {bytes} bytes at offset {offset}"));
    let start = view.position(offset).filter(|start| bytes <= stream.len() - start).ok_or_else(beyond)?;
    let _lock = match atomic {
        true => Some(lock(file, view, start, bytes, way)?),
        false => None,
    };
    // SAFETY: as the caller says.
    unsafe {
        match stream.as_dense() {
            Some(base) => mover.run(0, Some(base.addr() + start), bytes),
            None if way == Way::Read && stream.average_block() < SHORT_RUN => mover.together(stream, start),
            None => mover.one_by_one(stream, start),
        }
    }
}

/// Keeps others out of all that lies between the first and the last byte.
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
    /// Moves each run of the file by itself.
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
                // SAFETY: as the caller says.
                let moved = unsafe { self.run(at, Some(place), length)? };
                at += moved;
                if moved < length {
                    return Ok(at);
                }
            }
        }
        Ok(done)
    }

    /// Reads runs of the file that are close to each other with one call.
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
                    // Copies of a type that is only read may overlap, and so go back.
                    let (start, behind) = (pair[0].0, pair[0].0 + pair[0].1);
                    let (next, end) = (pair[1].0, pair[1].0 + pair[1].1);
                    next >= start && end >= behind && next <= behind.saturating_add(GAP) && end - first <= STAGE
                };
                let count = 1 + rest.windows(2).take_while(|pair| near(pair)).count();
                let (group, others) = rest.split_at(count);
                rest = others;
                if count == 1 {
                    // SAFETY: as the caller says.
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
                    // SAFETY: as the caller says; the stage has so many bytes from there on.
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

    /// Reads a run of the file into a stage; how much there was.
    fn fill(&self, stage: &mut [u8], place: usize) -> Result<usize> {
        let mover = Mover { file: self.file, memory: &Buf::dense(stage.as_mut_ptr(), stage.len()), way: Way::Read };
        // SAFETY: memory of our own, which nobody else uses.
        unsafe { mover.dense(stage.as_mut_ptr(), Some(place), stage.len()) }
    }

    /// Moves one run of the file from or to the buffer's byte `at` on; without a place, what comes next in a pipe. Returns how
    /// much was moved: less at the end of the file.
    ///
    /// # Safety
    /// As for [`access`].
    unsafe fn run(&self, at: usize, place: Option<usize>, length: usize) -> Result<usize> {
        // SAFETY: as the caller says.
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
            // SAFETY: as the caller says.
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
            // SAFETY: as the caller says; the stage is memory of our own.
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
            // SAFETY: as the caller says.
            let moved = unsafe { self.call(&pieces, place.map(|place| place + done))? };
            done += moved;
            if moved == 0 {
                break;
            }
        }
        Ok(done)
    }

    /// One system call, which may move less than it is asked to; nothing only at the end of a file that is read.
    ///
    /// # Safety
    /// The pieces are memory that may be read, or written.
    unsafe fn call(&self, pieces: &[(usize, usize)], place: Option<usize>) -> Result<usize> {
        let piece = |&(base, length): &(usize, usize)| libc::iovec {
            iov_base: std::ptr::with_exposed_provenance_mut(base),
            iov_len: length,
        };
        // One piece, as it mostly is, needs no list.
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
            // SAFETY: as the caller says, and the list is as long as it is said to be.
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
