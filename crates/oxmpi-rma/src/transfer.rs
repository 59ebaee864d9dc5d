//! Puts and gets: copies between a buffer of this process and a rank's window, mapped here or not.

use crate::cooperative::SHORTEST_MAPPED;
use crate::request::{SHORTEST, What};
use crate::{RemoteRun, TargetRegion, Window};
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_datatype::{Cursor, Region, Source, Target};
use oxmpi_transport::{MAX_PIECES, NodeMemory, Peer, Piece, local};
use std::io;

/// Bytes moved at a time if neither side is contiguous.
const STAGE: usize = 64 << 10;

impl Window {
    /// Puts a whole buffer into the memory of a rank. Entries of the target's type may overlap: the standard forbids
    /// it, but programs do it, and the last entry stays.
    pub fn put(&self, node: &NodeMemory, from: &Source<'_>, to: &TargetRegion) -> Result<()> {
        let bytes = from.len();
        if bytes > to.buf.len() {
            bail!(MPI_ERR_TRUNCATE, "{bytes} bytes do not fit into the {} bytes at the target", to.buf.len());
        }
        if bytes >= SHORTEST_MAPPED
            && to.far.is_none()
            && let (Some(from), Some(at)) = (from.as_dense(), to.buf.as_dense())
        {
            // SAFETY: a contiguous buffer, and the same number of bytes in the window of the rank.
            return unsafe {
                match to.remote_run() {
                    Some(run) => self.put_run(node, from, bytes, run),
                    None => self.put_mapped(node, to.rank, from, at, bytes),
                }
            };
        }
        match (to.near_target(), to.process) {
            (Some(to), _) => local::copy_part(from, 0, &to, 0, bytes),
            (None, Some(process)) => write(node, process, from, &to.buf, bytes)?,
            (None, None) => return Err(not_here()),
        }
        Ok(())
    }

    /// Gets a region of the memory of a rank.
    pub fn get(&self, node: &NodeMemory, to: &Target<'_>, from: &TargetRegion) -> Result<()> {
        let bytes = from.buf.len();
        if bytes > to.len() {
            bail!(MPI_ERR_TRUNCATE, "the {bytes} bytes at the target do not fit into {} bytes", to.len());
        }
        if bytes >= SHORTEST_MAPPED
            && from.far.is_none()
            && let (Some(to), Some(at)) = (to.as_dense(), from.buf.as_dense())
        {
            // SAFETY: as in `put`.
            return unsafe {
                match from.remote_run() {
                    Some(run) => self.get_run(node, to, bytes, run),
                    None => self.get_mapped(node, from.rank, to, at, bytes),
                }
            };
        }
        match (from.near_source(), from.process) {
            (Some(from), _) => local::copy_part(&from, 0, to, 0, bytes),
            (None, Some(process)) => read(node, process, &from.buf, to, bytes)?,
            (None, None) => return Err(not_here()),
        }
        Ok(())
    }

    /// Puts a run of bytes into memory of another process.
    ///
    /// # Safety
    /// `bytes` bytes at `from` may be read until this returns.
    pub unsafe fn put_run(&self, node: &NodeMemory, from: *const u8, bytes: usize, to: RemoteRun) -> Result<()> {
        let nothing = (std::ptr::null(), 0);
        // SAFETY: `bytes` bytes at `from` may be read, and nothing comes back.
        if unsafe { self.ask(node, to, What::Put, bytes, [(from, bytes), nothing], std::ptr::null_mut()) } {
            return Ok(());
        }
        if bytes < SHORTEST {
            return put_remote(node, from, bytes, to);
        }
        self.share(node, to, What::Put, bytes, [from.expose_provenance(), 0], |at, count| {
            put_remote(node, from.wrapping_add(at), count, to.behind(at))
        })
    }

    /// Gets a run of bytes from memory of another process.
    ///
    /// # Safety
    /// `bytes` bytes at `to` may be written until this returns.
    pub unsafe fn get_run(&self, node: &NodeMemory, to: *mut u8, bytes: usize, from: RemoteRun) -> Result<()> {
        let nothing = (std::ptr::null(), 0);
        // SAFETY: nothing is given, and `to` has room for the run.
        if unsafe { self.ask(node, from, What::Get, bytes, [nothing, nothing], to) } {
            return Ok(());
        }
        if bytes < SHORTEST {
            return get_remote(node, to, bytes, from);
        }
        self.share(node, from, What::Get, bytes, [0, to.expose_provenance()], |at, count| {
            get_remote(node, to.wrapping_add(at), count, from.behind(at))
        })
    }
}

/// The caller sends operations on other nodes to their agents.
#[cold]
fn not_here() -> Error {
    Error::new(MPI_ERR_INTERN, "memory of another node was accessed as if it were here")
}

/// Puts with a system call.
#[inline]
pub(crate) fn put_remote(node: &NodeMemory, from: *const u8, bytes: usize, to: RemoteRun) -> Result<()> {
    transfer_run(|local, remote| node.copy_to(to.process, local, remote), from.expose_provenance(), to.address, bytes)
}

/// Gets with a system call.
#[inline]
pub(crate) fn get_remote(node: &NodeMemory, to: *mut u8, bytes: usize, from: RemoteRun) -> Result<()> {
    transfer_run(
        |local, remote| node.copy_from(from.process, local, remote),
        to.expose_provenance(),
        from.address,
        bytes,
    )
}

fn write(node: &NodeMemory, process: Peer, from: &Source<'_>, to: &Region, bytes: usize) -> Result<()> {
    let transfer = |local: &[Piece], remote: &[Piece]| node.copy_to(process, local, remote);
    if let (Some(from), Some(to)) = (from.as_dense(), to.as_dense()) {
        return transfer_run(transfer, from.expose_provenance(), to.addr(), bytes);
    }
    let mut stage = Stage::new(from, bytes);
    let (mut near, mut remote) = (Cursor::new(), Cursor::new());
    let mut pieces = Vec::new();
    while remote.position() < bytes {
        let at = remote.position();
        pieces.clear();
        let part = remote.iovecs(to, &mut pieces, MAX_PIECES, (bytes - at).min(stage.room));
        let local = stage.address(at);
        if stage.dense.is_none() {
            near.pack_into(from, &mut stage.memory[..part]);
        }
        transfer_pieces(transfer, local, &mut pieces)?;
    }
    Ok(())
}

fn read(node: &NodeMemory, process: Peer, from: &Region, to: &Target<'_>, bytes: usize) -> Result<()> {
    let transfer = |local: &[Piece], remote: &[Piece]| node.copy_from(process, local, remote);
    if let (Some(from), Some(to)) = (from.as_dense(), to.as_dense()) {
        return transfer_run(transfer, to.expose_provenance(), from.addr(), bytes);
    }
    let mut stage = Stage::new(to, bytes);
    let (mut near, mut remote) = (Cursor::new(), Cursor::new());
    let mut pieces = Vec::new();
    while remote.position() < bytes {
        let at = remote.position();
        pieces.clear();
        let part = remote.iovecs(from, &mut pieces, MAX_PIECES, (bytes - at).min(stage.room));
        let local = stage.address(at);
        transfer_pieces(transfer, local, &mut pieces)?;
        if stage.dense.is_none() {
            near.unpack_from(to, &stage.memory[..part]);
        }
    }
    Ok(())
}

/// The local side of a transfer: the buffer itself, or packed bytes.
struct Stage {
    dense: Option<usize>,
    memory: Vec<u8>,
    room: usize,
}

impl Stage {
    fn new(near: &Region, bytes: usize) -> Stage {
        match near.as_dense() {
            Some(base) => Stage { dense: Some(base.expose_provenance()), memory: Vec::new(), room: usize::MAX },
            None => Stage { dense: None, memory: vec![0; bytes.min(STAGE)], room: STAGE },
        }
    }

    fn address(&mut self, at: usize) -> usize {
        match self.dense {
            Some(base) => base + at,
            None => self.memory.as_mut_ptr().expose_provenance(),
        }
    }
}

/// Transfers one run.
pub(crate) fn transfer_run(
    transfer: impl Fn(&[Piece], &[Piece]) -> io::Result<usize>,
    local: usize,
    remote: usize,
    bytes: usize,
) -> Result<()> {
    let mut done = 0;
    while done < bytes {
        let rest = bytes - done;
        done += moved(transfer(&[(local + done, rest)], &[(remote + done, rest)]))?;
    }
    Ok(())
}

/// Transfers a run here from or to pieces in the other process.
pub(crate) fn transfer_pieces(
    transfer: impl Fn(&[Piece], &[Piece]) -> io::Result<usize>,
    mut local: usize,
    pieces: &mut [Piece],
) -> Result<()> {
    let mut first = 0;
    while first < pieces.len() {
        let bytes = pieces[first..].iter().map(|piece| piece.1).sum();
        let mut rest = moved(transfer(&[(local, bytes)], &pieces[first..]))?;
        local += rest;
        // The kernel may stop anywhere.
        while first < pieces.len() && rest >= pieces[first].1 {
            rest -= pieces[first].1;
            first += 1;
        }
        if rest > 0 {
            pieces[first] = (pieces[first].0 + rest, pieces[first].1 - rest);
        }
    }
    Ok(())
}

/// The number of bytes transferred; an error when it is none.
fn moved(result: io::Result<usize>) -> Result<usize> {
    let why = match result {
        Ok(bytes) if bytes > 0 => return Ok(bytes),
        Ok(_) => io::Error::from(io::ErrorKind::UnexpectedEof),
        Err(error) => error,
    };
    Err(refused(&why))
}

#[cold]
fn refused(why: &io::Error) -> Error {
    match why.raw_os_error() {
        Some(libc_fault) if libc_fault == FAULT => Error::new(
            MPI_ERR_RMA_RANGE,
            "the memory of the window is no longer mapped in its process, or the local buffer is not valid memory",
        ),
        None if why.kind() == io::ErrorKind::ConnectionAborted => {
            Error::new(MPIX_ERR_PROC_FAILED, "the target has ended, and its memory is gone")
        }
        _ => Error::new(MPI_ERR_OTHER, format!("the target's memory cannot be reached: {why}")),
    }
}

/// `EFAULT`.
const FAULT: i32 = 14;
