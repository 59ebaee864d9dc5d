//! Accesses to files. The many functions of the interface are variations: position, direction,
//! alone or collective.

use super::agree::{Among, gather, note_call, participants, tell_pointer};
use super::checked;
use super::datarep::Elements;
use super::together::{self, Moving};
use super::view::{in_file, view};
use crate::p2p::completion::wait;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Datatype, File as Handle, Request};
use oxmpi_abi::{Error, Result, Status, bail};
use oxmpi_core::agreement::Agreement;
use oxmpi_core::args::OutStatus;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check;
use oxmpi_core::engine::Outcome;
use oxmpi_core::file::{File, Split, SplitAccess};
use oxmpi_core::file_tasks::{FileAccess, FileTask};
use oxmpi_core::jobs::Jobs;
use oxmpi_core::request::Active;
use oxmpi_core::wait::agreement::run_agreement_with_jobs;
use oxmpi_core::wait::waiting::InBackground;
use oxmpi_datatype::{Datatype as Type, Region, pack_external, unpack_external_part};
use oxmpi_io::{Representation, SharedPointer, View};
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

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

impl Data {
    /// About how many bytes of memory it has.
    fn memory(&self) -> usize {
        match self {
            Data::Plain(buf) => buf.len(),
            Data::External(_, count, datatype) => (datatype.size() * i128::from(*count)) as usize,
            Data::Converted(elements) => elements.whole().1,
        }
    }
}

/// Performs an access; the status has the number of bytes moved.
///
/// # Safety
/// The buffer has the elements of its count and type.
pub unsafe fn perform(call: &Call, access: Access) -> Result<Status> {
    let mut guard = call.enter()?;
    let (prepared, start) = begin_access(call, &mut guard, &access)?;
    if check::is_on() && prepared.is_ok() {
        // SAFETY: the buffer has the elements of its count and type: this function's condition.
        unsafe { checked::propose(call, &mut guard, &access, false) };
    }
    let together = access.is_buffered(guard.file(access.fh)?);
    // SAFETY: the buffer has the elements of its count and type: this function's condition.
    unsafe { carry_out(call, guard, &access, prepared, start, together) }
}

/// Performs an access that has its position. `together`: the processes may gather their pieces.
///
/// # Safety
/// As for [`perform`].
unsafe fn carry_out(
    call: &Call,
    guard: Guard,
    access: &Access,
    prepared: Result<Prepared>,
    start: i64,
    together: bool,
) -> Result<Status> {
    let file = guard.file(access.fh)?;
    let (shared, io, buffering) = (Arc::clone(&file.shared), Arc::clone(&file.io), file.buffering.clone());
    // Only the calling thread waits for the device.
    drop(guard);
    // SAFETY: the buffer has the elements of its count and type: this function's condition.
    let staged = prepared.and_then(|prepared| unsafe { prepared.stage(call, access.writes) });
    let (staged, moved) = if together {
        let own = staged.as_ref().map(|staged| staged.moving(start, access.writes)).map_err(Error::clone);
        let mut guard = call.enter()?;
        let who = participants(&mut guard, Among::File(access.fh))?;
        // Those that were started before use the staging memory first.
        call.wait(&mut guard, &InBackground, |process| (!process.has_buffered_tasks(access.fh)).then_some(()))?;
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
    // SAFETY: the buffer has the elements of its count and type: this function's condition.
    moved.and_then(|moved| unsafe { staged.unstage(call, access.writes, moved) }).map(status_of)
}

/// The status of an access that has moved so many bytes of memory.
fn status_of(bytes: usize) -> Status {
    let mut status = Status::empty();
    status.set_bytes(bytes as u64);
    status
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
    if access.together {
        // The processes may have nothing to say to each other, so that no wait would notice it.
        guard.look_for_news();
        guard.file(access.fh)?.comm.check_whole()?;
    } else {
        guard.file(access.fh)?.comm.check_not_revoked()?;
    }
    let shared = Arc::clone(&guard.file(access.fh)?.shared);
    if access.together {
        note_call(call, guard, access.fh);
    }
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
    if check::is_on()
        && let Ok(Prepared { view, io, etypes, .. }) = &prepared
    {
        let (view, bytes) = (Arc::clone(view), view.bytes_of(*etypes));
        if io.seekable {
            checked::note_access(guard, access, &view, start, bytes);
        }
    }
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
                Data::Converted(elements) if writes => Ok(elements.whole().1),
                Data::Converted(elements) => {
                    let (items, in_memory) =
                        if in_file == self.stage.len() { elements.whole() } else { elements.part(call, in_file)? };
                    elements.convert(call, false, self.stage.as_mut_ptr(), items)?;
                    Ok(in_memory)
                }
                _ => Ok(self.unstage_quietly(writes, in_file)),
            }
        }
    }

    /// The same for data that no user function converts.
    ///
    /// # Safety
    /// As for [`perform`].
    unsafe fn unstage_quietly(&self, writes: bool, in_file: usize) -> usize {
        match &self.prepared.data {
            Data::External(_, count, datatype) if writes => (datatype.size() * i128::from(*count)) as usize,
            // SAFETY: the buffer has the elements of its count and type, and the stage those bytes
            // of them that were read.
            Data::External(base, count, datatype) => unsafe {
                unpack_external_part(*base, *count, datatype, self.stage.as_ptr(), in_file)
            },
            Data::Plain(_) | Data::Converted(_) => in_file,
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

/// Accesses of so many bytes are complete when they have been started: a copy to or from the page
/// cache takes less time than waking a thread.
const AT_ONCE: usize = 64 << 10;

/// Starts an access that the program completes with a request. A helper thread performs it; user
/// functions are called by this thread, so accesses with conversions are complete when this returns.
///
/// # Safety
/// The buffer has the elements of its count and type until the request is complete.
pub unsafe fn start(call: &Call, access: Access) -> Result<Request> {
    let mut guard = call.enter()?;
    let (prepared, start) = begin_access(call, &mut guard, &access)?;
    if check::is_on() && prepared.is_ok() {
        // SAFETY: the program leaves the buffer alone until the request is complete: this function's condition.
        unsafe { checked::propose(call, &mut guard, &access, true) };
    }
    let file = guard.file(access.fh)?;
    let converts = matches!(file.view.representation, Representation::Users(_));
    let together = access.is_buffered(file) && !converts;
    let short = prepared.as_ref().is_ok_and(|prepared| prepared.data.memory() <= AT_ONCE);
    if !together && (prepared.is_err() || short || converts || !file.io.seekable) {
        // SAFETY: the buffer has the elements of its count and type: this function's condition.
        let status = unsafe { carry_out(call, guard, &access, prepared, start, false)? };
        return Ok(call.enter()?.once(MPI_COMM_SELF, Active::Done(Outcome { status, error: None })));
    }
    let (io, buffering) = (Arc::clone(&file.io), file.buffering.clone());
    if let (Ok(prepared), false) = (&prepared, access.writes) {
        end_at_the_last(&mut guard, &access, prepared, start)?;
    }
    drop(guard);
    // SAFETY: the buffer has the elements of its count and type: this function's condition.
    let staged = prepared.and_then(|prepared| unsafe { prepared.stage(call, access.writes) });
    let own = staged.as_ref().map(|staged| staged.moving(start, access.writes)).map_err(Error::clone);
    let (failed, writes, jobs) = (staged.as_ref().err().cloned(), access.writes, Jobs::default());
    let parcel = staged.ok().map(Parcel);
    let mut guard = call.enter()?;
    let who = if together { Some(participants(&mut guard, Among::File(access.fh))?) } else { None };
    let of_task = jobs.clone();
    let agreement = Agreement::new(move |messages| async move {
        let jobs = of_task;
        let moved = match (who, own) {
            (Some(who), own) => {
                // SAFETY: the program leaves the buffer alone until the request is complete, and the
                // parcel has the stage.
                let gathered = unsafe { together::access(messages, who, buffering, jobs.clone(), io, own, writes) };
                gathered.await
            }
            // SAFETY: the program leaves the buffer alone until the request is complete, and the
            // parcel has the stage.
            (None, Ok(own)) => jobs.run(move || unsafe { own.alone() }).await,
            (None, Err(error)) => Err(error),
        };
        match (moved, parcel) {
            (Ok(in_file), Some(parcel)) => {
                // SAFETY: the program leaves the buffer alone until the request is complete.
                let bytes = jobs.run(move || unsafe { parcel.unstage(writes, in_file) }).await;
                Outcome { status: status_of(bytes), error: None }
            }
            (moved, _) => Outcome { status: status_of(0), error: moved.err() },
        }
    });
    let task_access = Arc::new(FileAccess { file: access.fh, end: OnceLock::new() });
    let task = FileTask { agreement, jobs, access: task_access, buffered: together };
    let started = guard.start_file_task(task);
    // The other processes go on without this one's data.
    match failed {
        Some(error) => Err(error),
        None => Ok(guard.once(MPI_COMM_SELF, Active::File(started))),
    }
}

/// The file pointer moves to the etype after the last one that will be read.
fn end_at_the_last(guard: &mut Guard, access: &Access, prepared: &Prepared, start: i64) -> Result<()> {
    let file = guard.file_mut(access.fh)?;
    let there = (prepared.view.end(file.io.size()?) - start).clamp(0, prepared.etypes);
    if there < prepared.etypes {
        match access.at {
            At::Own if file.position == start + prepared.etypes => file.position = start + there,
            At::Shared => file.shared.give_back(start, prepared.etypes, there)?,
            At::Own | At::Offset(_) | At::Ordered => {}
        }
    }
    Ok(())
}

/// An access on its way to the helper thread.
struct Parcel(Staged);

// SAFETY: what its pointers lead to belongs to the access until it is complete, and one thread at a
// time uses it.
unsafe impl Send for Parcel {}

impl Parcel {
    /// # Safety
    /// As for [`perform`].
    unsafe fn unstage(self, writes: bool, in_file: usize) -> usize {
        // SAFETY: the buffer has the elements of its count and type: this function's condition.
        unsafe { self.0.unstage_quietly(writes, in_file) }
    }
}

/// Begins a split collective access, which another call ends.
///
/// # Safety
/// As for [`start`], until the access is ended.
pub unsafe fn begin(call: &Call, access: Access, split: SplitAccess) -> Result<()> {
    let (fh, buffer) = (access.fh, access.buf.addr());
    // SAFETY: the buffer has the elements of its count and type: this function's condition.
    let request = unsafe { start(call, access)? };
    let mut guard = call.enter()?;
    if check::is_on() {
        guard.bind_buffers(request.0, call.fun);
    }
    guard.file_mut(fh)?.split = Some(Split { access: split, request, buffer });
    Ok(())
}

/// Ends a split collective access. The buffer at `address` shall be the one that it has begun with.
pub fn end(call: &Call, fh: Handle, split: SplitAccess, address: usize, status: OutStatus) -> Result<()> {
    let mut guard = call.enter()?;
    let Split { request, buffer, .. } = guard.file_mut(fh)?.end_split(split)?;
    if check::is_on() && address != buffer {
        checked::tell_other_buffer(call, &guard, fh, split);
    }
    drop(guard);
    wait(call, &Cell::new(request), status)
}
