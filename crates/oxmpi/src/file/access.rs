//! Accesses to files. The many functions of the interface are variations: position, direction,
//! alone or collective.

use super::agree::{Among, gather, participants, tell_pointer};
use super::datarep::Elements;
use super::together::{self, Moving};
use super::view::{in_file, view};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Datatype, File as Handle, Request};
use oxmpi_abi::{Error, Result, Status, bail};
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::engine::Outcome;
use oxmpi_core::file::{File, Split, SplitAccess};
use oxmpi_core::jobs::Jobs;
use oxmpi_core::request::Active;
use oxmpi_core::wait::agreement::run_agreement_with_jobs;
use oxmpi_datatype::{Datatype as Type, Region, pack_external, unpack_external_part};
use oxmpi_io::{Representation, SharedPointer, View};
use std::ffi::c_void;
use std::sync::Arc;

/// The position of an access.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum At {
    Offset(i64),
    /// At the individual file pointer.
    Own,
    Shared,
    /// At the shared file pointer, in rank order.
    Ordered,
}

/// An access as a function of the interface describes it.
pub struct Access {
    pub fh: Handle,
    pub at: At,
    pub writes: bool,
    /// Whether the access is collective.
    pub together: bool,
    pub buf: *mut c_void,
    pub count: i64,
    pub datatype: Datatype,
}

/// An access with checked arguments.
struct Prepared {
    io: Arc<oxmpi_io::File>,
    view: Arc<View>,
    atomic: bool,
    data: Data,
    etypes: i64,
}

enum Data {
    /// The layout in the file is that in memory.
    Plain(Region),
    External(*mut u8, u64, Arc<Type>),
    Converted(Elements),
}

/// Performs an access; the status has the number of bytes moved.
///
/// # Safety
/// The buffer has the elements of its count and type.
pub unsafe fn perform(call: &Call, access: Access) -> Result<Status> {
    // SAFETY: the buffer has the elements of its count and type: this function's condition.
    unsafe { perform_so(call, access, true) }
}

/// `may_wait`: the call may wait for other processes.
///
/// # Safety
/// As for [`perform`].
unsafe fn perform_so(call: &Call, access: Access, may_wait: bool) -> Result<Status> {
    let mut guard = call.enter()?;
    let (prepared, start) = begin_access(call, &mut guard, &access)?;
    let file = guard.file(access.fh)?;
    let (shared, io, buffering) = (Arc::clone(&file.shared), Arc::clone(&file.io), file.buffering.clone());
    let together = may_wait && access.is_buffered(file);
    // Only the calling thread waits for the device.
    drop(guard);
    // SAFETY: the buffer has the elements of its count and type: this function's condition.
    let staged = prepared.and_then(|prepared| unsafe { prepared.stage(call, access.writes) });
    let (staged, moved) = if together {
        let own = staged.as_ref().map(|staged| staged.moving(start, access.writes)).map_err(Error::clone);
        let mut guard = call.enter()?;
        let who = participants(&mut guard, Among::File(access.fh))?;
        let jobs = Jobs::default();
        // SAFETY: the buffer and the stage are there until this function returns.
        let moved = run_agreement_with_jobs(call, &mut guard, &jobs, |messages| unsafe {
            together::access(messages, who, buffering, jobs.clone(), io, own, access.writes)
        });
        (staged?, moved)
    } else {
        let staged = staged?;
        // SAFETY: the buffer has the elements of its count and type, and the stage is there.
        let moved = unsafe { staged.moving(start, access.writes).alone() };
        (staged, moved)
    };
    let used = moved.as_ref().map_or(0, |moved| staged.prepared.view.whole_etypes(*moved));
    let etypes = staged.prepared.etypes;
    if used < etypes {
        match access.at {
            At::Own => {
                let mut guard = call.enter()?;
                let position = &mut guard.file_mut(access.fh)?.position;
                // Unless another thread has moved it.
                if *position == start + etypes {
                    *position = start + used;
                }
            }
            At::Shared => shared.give_back(start, etypes, used)?,
            At::Offset(_) | At::Ordered => {}
        }
    }
    let mut status = Status::empty();
    // SAFETY: the buffer has the elements of its count and type: this function's condition.
    status.set_bytes(unsafe { staged.unstage(call, access.writes, moved?)? } as u64);
    Ok(status)
}

impl Access {
    /// Whether the processes exchange facts to decide whether their pieces are gathered. Equal on
    /// all of them: in atomic mode each takes a lock of its own, and the parts of an ordered access
    /// follow each other.
    fn is_buffered(&self, file: &File) -> bool {
        let random = matches!(self.at, At::Offset(_) | At::Own) && file.io.seekable;
        self.together && random && !file.atomic && file.buffering.candidate(self.writes).is_some()
    }
}

/// Checks an access and takes its position. The outer error is one of a call that all processes make
/// together.
fn begin_access(call: &Call, guard: &mut Guard, access: &Access) -> Result<(Result<Prepared>, i64)> {
    let shared = Arc::clone(&guard.file(access.fh)?.shared);
    let mut prepared = prepare(guard, access);
    let start = match access.at {
        At::Ordered => line_up(call, guard, access.fh, &shared, &prepared)?,
        At::Offset(offset) => offset,
        At::Own => {
            let etypes = prepared.as_ref().map_or(0, |prepared| prepared.etypes);
            let position = &mut guard.file_mut(access.fh)?.position;
            let start = *position;
            match start.checked_add(etypes) {
                Some(end) => *position = end,
                None => prepared = Err(Error::new(MPI_ERR_ARG, format!("the file pointer cannot go beyond {start}"))),
            }
            start
        }
        At::Shared => prepared.as_ref().map_or(Ok(0), |prepared| shared.take(prepared.etypes))?,
    };
    Ok((prepared, start))
}

fn prepare(guard: &mut Guard, access: &Access) -> Result<Prepared> {
    let view = view(guard, access.fh)?;
    let file = guard.file(access.fh)?;
    file.io.check_access(access.writes)?;
    if matches!(access.at, At::Offset(_) | At::Own) {
        file.io.check_random()?;
    }
    if access.together {
        file.check_idle()?;
    }
    if let At::Offset(offset) = access.at
        && offset < 0
    {
        bail!(MPI_ERR_ARG, "the offset is {offset}, which is negative");
    }
    let (base, count) = (access.buf.cast::<u8>(), access.count);
    // Also allowed if a type that is read into overlaps itself: the standard forbids it, but
    // programs do it, and the last element stays.
    let buf = guard.buffer(base, count, access.datatype)?;
    let (io, atomic) = (Arc::clone(&file.io), file.atomic);
    let plain = |buf: Region| (buf.len(), Data::Plain(buf));
    let (bytes, data) = match &view.representation {
        Representation::Native | Representation::Internal => plain(buf),
        Representation::External32 => {
            let datatype = Arc::clone(guard.datatype(access.datatype)?);
            (in_all(datatype.external_size(), count)?, Data::External(base, count as u64, datatype))
        }
        Representation::Users(users) => {
            let users = Arc::clone(users);
            if !users.functions.converts(access.writes) {
                plain(buf)
            } else {
                let (handle, datatype) = (access.datatype, Arc::clone(guard.datatype(access.datatype)?));
                let bytes = in_file(guard, &view, &datatype)?.size();
                let all = in_all(bytes, count)?;
                let bytes = bytes as usize;
                (all, Data::Converted(Elements { users, base, count: count as u64, handle, datatype, bytes }))
            }
        }
    };
    let etypes = view.etypes(bytes)?;
    Ok(Prepared { io, view, atomic, data, etypes })
}

/// The bytes of all elements in the file.
fn in_all(bytes: i128, count: i64) -> Result<usize> {
    match usize::try_from(bytes * i128::from(count)).ok().filter(|bytes| *bytes <= isize::MAX as usize) {
        Some(bytes) => Ok(bytes),
        None => bail!(MPI_ERR_COUNT, "{count} elements of {bytes} bytes in the file are more than memory can hold"),
    }
}

/// The start of this process's part of an ordered access.
fn line_up(
    call: &Call,
    guard: &mut Guard,
    fh: Handle,
    shared: &SharedPointer,
    prepared: &Result<Prepared>,
) -> Result<i64> {
    let (class, etypes) = match prepared {
        Ok(prepared) => (0, prepared.etypes),
        Err(error) => (error.class(), 0),
    };
    let (rank, among) = (guard.file(fh)?.comm.rank as usize, Among::File(fh));
    let all = gather(call, guard, among, [class as u32 as u64, etypes as u64])?;
    if class == 0
        && let Some(failed) = all.iter().position(|words| words[0] != 0)
    {
        bail!(all[failed][0] as i32, "the call failed on rank {failed}; its error there says why");
    }
    let wanted = |ranks: &[[u64; 2]]| ranks.iter().map(|words| words[1] as i64).sum::<i64>();
    // The pointer moves before any process can return and use it again.
    let failed = all.iter().any(|words| words[0] != 0);
    let start = if rank == 0 && !failed { shared.take(wanted(&all)) } else { Ok(0) };
    let start = if failed { 0 } else { tell_pointer(call, guard, among, start)? };
    Ok(start + wanted(&all[..rank]))
}

/// An access whose data has the format of the file.
struct Staged {
    prepared: Prepared,
    /// The user's memory, or the stage.
    memory: Region,
    /// Data in the format of the file, if that is not the format in memory.
    stage: Vec<u8>,
}

impl Prepared {
    /// Converts what is written; makes room for what is read.
    ///
    /// # Safety
    /// As for [`perform`].
    unsafe fn stage(self, call: &Call, writes: bool) -> Result<Staged> {
        // SAFETY: the buffer has the elements of its count and type, and the stage has the bytes
        // that they have in the file.
        let stage = unsafe {
            match &self.data {
                Data::Plain(buf) => return Ok(Staged { memory: buf.clone(), stage: Vec::new(), prepared: self }),
                Data::External(base, count, datatype) => {
                    let mut stage = stage((datatype.external_size() * i128::from(*count)) as usize)?;
                    if writes {
                        pack_external(*base, *count, datatype, stage.as_mut_ptr(), stage.len())?;
                    }
                    stage
                }
                Data::Converted(elements) => {
                    let mut stage = stage(elements.bytes * elements.count as usize)?;
                    if writes {
                        elements.convert(call, true, stage.as_mut_ptr(), elements.whole().0)?;
                    }
                    stage
                }
            }
        };
        let mut staged = Staged { prepared: self, memory: Region::dense(std::ptr::null_mut(), 0), stage };
        staged.memory = Region::dense(staged.stage.as_mut_ptr(), staged.stage.len());
        Ok(staged)
    }
}

impl Staged {
    fn moving(&self, offset: i64, writes: bool) -> Moving {
        let Prepared { io, view, atomic, .. } = &self.prepared;
        let (io, view) = (Arc::clone(io), Arc::clone(view));
        Moving { io, view, offset, memory: self.memory.clone(), writes, atomic: *atomic }
    }

    /// Converts what was read. Returns the number of bytes in memory for those in the file.
    ///
    /// # Safety
    /// As for [`perform`].
    unsafe fn unstage(mut self, call: &Call, writes: bool, in_file: usize) -> Result<usize> {
        // SAFETY: the buffer has the elements of its count and type, and the stage those bytes of
        // them that were read.
        unsafe {
            match &self.prepared.data {
                Data::Plain(_) => Ok(in_file),
                Data::External(_, count, datatype) if writes => Ok((datatype.size() * i128::from(*count)) as usize),
                Data::External(base, count, datatype) => {
                    Ok(unpack_external_part(*base, *count, datatype, self.stage.as_ptr(), in_file))
                }
                Data::Converted(elements) if writes => Ok(elements.whole().1),
                Data::Converted(elements) => {
                    let (items, in_memory) =
                        if in_file == self.stage.len() { elements.whole() } else { elements.part(call, in_file)? };
                    elements.convert(call, false, self.stage.as_mut_ptr(), items)?;
                    Ok(in_memory)
                }
            }
        }
    }
}

/// Memory for data in the format of the file.
fn stage(bytes: usize) -> Result<Vec<u8>> {
    let mut stage = Vec::new();
    if stage.try_reserve_exact(bytes).is_err() {
        bail!(MPI_ERR_NO_MEM, "no memory for the {bytes} bytes that the data has in the file");
    }
    stage.resize(bytes, 0);
    Ok(stage)
}

/// Starts an access that the program completes with a request. It is complete when this returns:
/// nothing in the system would be faster while the data is mostly in the page cache.
///
/// # Safety
/// As for [`perform`].
pub unsafe fn start(call: &Call, access: Access) -> Result<Request> {
    // SAFETY: the buffer has the elements of its count and type: this function's condition.
    let status = unsafe { perform_so(call, access, false)? };
    let mut guard = call.enter()?;
    Ok(guard.once(MPI_COMM_SELF, Active::Done(Outcome { status, error: None })))
}

/// Begins a split collective access, which another call ends.
///
/// # Safety
/// As for [`perform`].
pub unsafe fn begin(call: &Call, access: Access, split: SplitAccess) -> Result<()> {
    let fh = access.fh;
    // SAFETY: the buffer has the elements of its count and type: this function's condition.
    let status = unsafe { perform(call, access)? };
    call.enter()?.file_mut(fh)?.split = Some(Split { access: split, status });
    Ok(())
}
