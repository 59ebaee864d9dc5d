//! Opening and closing files.

use super::agree::{Among, agree, note_call, participants, tell};
use super::buffering::{free, settle};
use super::checked::{compare_accesses, tell_open_requests};
use crate::comm::{check_intra, key_of, run_agreement};
use crate::rma::map_together;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, File as Handle};
use oxmpi_abi::{Result, bail};
use oxmpi_base::sync::shared::AtomicI64;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check;
use oxmpi_core::comm::Comm as Made;
use oxmpi_core::contexts;
use oxmpi_core::file::{Buffering, File};
use oxmpi_core::group::Group;
use oxmpi_core::info::Info;
use oxmpi_core::wait::waiting::InBackground;
use oxmpi_io::{Identity, Mode, SharedPointer, View};
use std::sync::Arc;

/// The arguments of a process for opening a file.
pub struct OpenArgs<'a> {
    pub name: &'a [u8],
    pub mode: Mode,
    pub hints: Info,
    /// The permissions of a file that is created.
    pub permissions: u32,
}

/// Opens a file. Collective over the communicator.
pub fn open(call: &Call, guard: &mut Guard, comm: Comm, args: Result<OpenArgs>) -> Result<Handle> {
    let found = guard.comm(comm)?;
    let (members, rank, session) = (found.group.clone(), found.rank, found.session);
    let among = Among::Comm(comm);
    let bits = args.as_ref().map_or(0, |args| args.mode.bits() as u64);
    let OpenArgs { name, mode, hints, permissions } = agree(call, guard, among, args, [("access mode", bits)])?;

    // The first process opens the file before the others, so that only one of them creates it.
    let first = (rank == 0).then(|| oxmpi_io::File::open(name, mode, true, permissions)).transpose();
    let said = match &first {
        Ok(Some(file)) => identify(file),
        Ok(None) => [0; 5],
        Err(error) => [error.class() as u64, 0, 0, 0, 0],
    };
    let said = tell(call, guard, among, said)?;
    let first = first?;
    if said[0] != 0 {
        let shown = String::from_utf8_lossy(name);
        bail!(said[0] as i32, "\"{shown}\" cannot be opened on rank 0; its error there says why");
    }
    let opened = match first {
        Some(file) => Ok(file),
        None => oxmpi_io::File::open(name, mode, false, permissions).and_then(|file| {
            if is_same(identify(&file), said) {
                return Ok(file);
            }
            if check::is_on() {
                let text = format!("gives another file to {} than rank 0: \"{}\"", call.fun.name(), file.show());
                check::tell_other_argument(guard.engine.node(), text);
            }
            bail!(MPI_ERR_NOT_SAME, "\"{}\" is not the file that rank 0 has opened", file.show());
        }),
    };
    let io = agree(call, guard, among, opened, [])?;

    let shared = if members.len() == 1 {
        SharedPointer::Own(AtomicI64::new(0))
    } else if guard.is_on_this_node(&members) {
        let mapped = map_together(call, guard, comm, rank as usize, size_of::<AtomicI64>())?;
        SharedPointer::Mapped(agree(call, guard, among, mapped, [])?)
    } else {
        SharedPointer::beside(io.name(), tell(call, guard, among, SharedPointer::new_name())?)
    };
    let mut position = 0;
    if mode.appends() && io.seekable {
        let end = if rank == 0 { io.size().unwrap_or(0) } else { 0 };
        position = tell(call, guard, among, [end])?[0] as i64;
        // All store the same value; a process that is done first cannot have moved it.
        let stored = shared.set(position);
        agree(call, guard, among, stored, [])?;
    }
    // From here on the file has a context of its own.
    let (participants, key) = (participants(guard, among)?, key_of(guard, &members, b""));
    let context = run_agreement(call, guard, |io| contexts::agree(io, participants, key))?;
    let errhandler = *call.library().file_errhandler();
    call.library().errhandlers().share(errhandler);
    let fh = guard.add_file(File {
        io: Arc::new(io),
        comm: Made::new(context, rank, members.clone(), None, MPI_ERRORS_RETURN),
        group: Arc::new(Group::new(members, session)),
        errhandler,
        hints,
        view: Arc::new(View::bytes()),
        position,
        shared: Arc::new(shared),
        atomic: false,
        buffering: Buffering::default(),
        old_staging: Vec::new(),
        split: None,
        written: check::is_on().then(Vec::new),
        read: check::is_on().then(Vec::new),
        other_view: None,
    })?;
    settle(call, guard, fh)?;
    Ok(fh)
}

/// No error, and the identity of the file.
fn identify(file: &oxmpi_io::File) -> [u64; 5] {
    match file.identity() {
        Ok(Identity { device, inode, born, shared }) => [0, device, inode, born, u64::from(shared)],
        Err(error) => [error.class() as u64, 0, 0, 0, 0],
    }
}

/// Whether two processes have opened the same file.
fn is_same(one: [u64; 5], other: [u64; 5]) -> bool {
    let identity = |[_, device, inode, born, shared]: [u64; 5]| Identity { device, inode, born, shared: shared != 0 };
    one[0] == 0 && other[0] == 0 && identity(one).is_same(&identity(other))
}

/// Checks the communicator of a file.
pub fn check_comm(guard: &Guard, comm: Comm) -> Result<()> {
    check_intra(guard.comm(comm)?)
}

/// Closes a file. Collective. Also closes it when its last bytes could not be written to the
/// device, and, by this process alone, when a process that has it open has failed or it was revoked.
pub fn close(call: &Call, fh: Handle) -> Result<()> {
    let mut guard = call.enter()?;
    let file = guard.file(fh)?;
    let (among, io, rank) = (Among::File(fh), Arc::clone(&file.io), file.comm.rank);
    let idle = file.check_idle();
    if check::is_on() {
        tell_open_requests(&guard, fh);
    }
    // A program that has not completed them, or freed their requests, may not lose their data.
    call.wait(&mut guard, &InBackground, |process| (!process.has_file_tasks(fh)).then_some(()))?;
    let met = agree(call, &mut guard, among, idle, []);
    let mut alone = is_lost(&met);
    if !alone {
        met.clone()?;
    }
    if check::is_on() && !alone {
        compare_accesses(call, &mut guard, fh);
        guard.end_file_calls(fh);
    }
    // A file that is deleted need not be written to the device.
    let synced = if io.mode.deletes() { Ok(()) } else { guard.unlocked(|_| io.sync()) };
    let mut ended = if alone { met.and(synced) } else { agree(call, &mut guard, among, synced, []) };
    alone |= is_lost(&ended);
    // The first one that lives.
    let members = guard.file(fh)?.comm.group.iter().take(rank as usize);
    let is_first = members.into_iter().all(|member| guard.engine.node().has_died(member));
    if io.mode.deletes() {
        let deleted = if is_first { oxmpi_io::delete(io.name()) } else { Ok(()) };
        ended = ended.and(if alone { deleted } else { agree(call, &mut guard, among, deleted, []) });
        alone |= is_lost(&ended);
    }
    let Some(removed) = guard.files.remove(fh.0) else { return ended };
    let File { shared, errhandler, buffering, old_staging, .. } = *removed;
    // All processes have arrived, so nobody uses the shared pointer and the staging memory any more. After a failure others
    // may still use them; then they stay.
    for staging in old_staging.into_iter().chain(buffering.staging).filter(|_| !alone) {
        free(&mut guard, &staging.memory, staging.rank);
    }
    // A pointer beside the file must not be left behind; who still uses it after a failure has opened it.
    if is_first {
        shared.remove();
    }
    if rank == 0
        && !alone
        && let SharedPointer::Mapped(mapping) = &*shared
    {
        guard.engine.node_mut().release(mapping.area());
    }
    call.library().errhandlers().detach(errhandler);
    ended
}

fn is_lost(ended: &Result<()>) -> bool {
    matches!(ended, Err(error) if error.is_of_others())
}

/// What the processes have written reaches the device, and each sees what the others have written.
/// Collective.
pub fn sync(call: &Call, fh: Handle) -> Result<()> {
    let mut guard = call.enter()?;
    let file = guard.file(fh)?;
    let (among, io) = (Among::File(fh), Arc::clone(&file.io));
    let idle = file.check_idle();
    note_call(call, &mut guard, fh);
    let synced = idle.and_then(|()| guard.unlocked(|_| io.sync()));
    agree(call, &mut guard, among, synced, [])?;
    if check::is_on() {
        compare_accesses(call, &mut guard, fh);
    }
    // Now the data of all is on the server.
    guard.unlocked(|_| io.refresh());
    Ok(())
}
