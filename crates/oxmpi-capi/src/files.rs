//! Files at the C boundary: what their processes agree on, and the accesses, of which the many functions of the interface are
//! variations: where, in which direction, alone or together.

use crate::bodies::{check_place, store};
use crate::call::Call;
use crate::comms::{check_intra, key_of, own_peer, run_agreement};
use crate::datareps::{self, Conversion};
use crate::library::LIBRARY;
use crate::windows::map_together;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{self, Comm, Datatype, File as Handle};
use oxmpi_abi::{Error, Result, Status, bail};
use oxmpi_core::agreement::Participants;
use oxmpi_core::comm::Comm as Made;
use oxmpi_core::contexts;
use oxmpi_core::engine::Outcome;
use oxmpi_core::file::{File, Split, SplitAccess};
use oxmpi_core::group::Group;
use oxmpi_core::guard::Guard;
use oxmpi_core::info::Info;
use oxmpi_core::request::Active;
use oxmpi_datatype::{Datatype as Type, Region, Source, Target, pack_external, unpack_external_part};
use oxmpi_io::{Identity, Mode, Representation, SharedPointer, View};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

// ---- agreeing ----

/// Who agrees: the processes of a communicator, or those that have a file open.
#[derive(Clone, Copy)]
pub enum Among {
    Comm(Comm),
    File(Handle),
}

fn participants(guard: &mut Guard, among: Among) -> Result<Participants> {
    let own = own_peer(guard);
    Ok(match among {
        Among::Comm(comm) => guard.comm_mut(comm)?.participants(own),
        Among::File(fh) => guard.file_mut(fh)?.comm.participants(own),
    })
}

/// What each process says.
pub fn gather<const N: usize>(cx: &Call, guard: &mut Guard, among: Among, words: [u64; N]) -> Result<Vec<[u64; N]>> {
    let participants = participants(guard, among)?;
    let all = run_agreement(cx, guard, |line| async move { line.gather(&participants, &words).await })?;
    Ok(all.chunks_exact(N).map(|words| std::array::from_fn(|index| words[index])).collect())
}

/// What the first process says.
pub fn tell<const N: usize>(cx: &Call, guard: &mut Guard, among: Among, mut words: [u64; N]) -> Result<[u64; N]> {
    let participants = participants(guard, among)?;
    run_agreement(cx, guard, |line| async move {
        line.tell(&participants, &mut words).await?;
        Ok(words)
    })
}

/// All processes say how it went and what they were given: where one has failed, all fail, and so they do where they were not
/// given the same.
pub fn agree<T, const N: usize>(
    cx: &Call,
    guard: &mut Guard,
    among: Among,
    own: Result<T>,
    same: [(&str, u64); N],
) -> Result<T> {
    let class = own.as_ref().err().map_or(0, Error::class);
    let classes = gather(cx, guard, among, [class as u32 as u64])?;
    let own = own?;
    if let Some(rank) = classes.iter().position(|class| class[0] != 0) {
        let class = classes[rank][0] as i32;
        bail!(class, "the call failed on rank {rank}; its error there says why");
    }
    if N > 0 {
        let given = gather(cx, guard, among, same.map(|(_, value)| value))?;
        for (index, (name, value)) in same.into_iter().enumerate() {
            if let Some(rank) = given.iter().position(|words| words[index] != value) {
                bail!(MPI_ERR_NOT_SAME, "rank {rank} gave another {name} than this rank");
            }
        }
    }
    Ok(own)
}

/// Does what may take long while other threads of the process go on.
pub fn unlocked<T>(guard: &mut Guard, work: impl FnOnce() -> Result<T>) -> Result<T> {
    guard.unlocked(|_| work())
}

// ---- opening and closing ----

/// What a process wants to open, and how.
pub struct Wish<'a> {
    pub name: &'a [u8],
    pub mode: Mode,
    pub hints: Info,
    /// Of a file that is created.
    pub permissions: u32,
}

/// Opens a file. Collective over the communicator.
pub fn open(cx: &Call, guard: &mut Guard, comm: Comm, wish: Result<Wish>) -> Result<Handle> {
    let found = guard.comm(comm)?;
    let (members, rank, session) = (found.group.clone(), found.rank, found.session);
    let among = Among::Comm(comm);
    let bits = wish.as_ref().map_or(0, |wish| wish.mode.bits() as u64);
    let Wish { name, mode, hints, permissions } = agree(cx, guard, among, wish, [("access mode", bits)])?;

    // The first process opens the file before the others, so that one of them creates it.
    let first = (rank == 0).then(|| oxmpi_io::File::open(name, mode, true, permissions)).transpose();
    let said = match &first {
        Ok(Some(file)) => identify(file),
        Ok(None) => [0; 3],
        Err(error) => [error.class() as u64, 0, 0],
    };
    let said = tell(cx, guard, among, said)?;
    let first = first?;
    if said[0] != 0 {
        let shown = String::from_utf8_lossy(name);
        bail!(said[0] as i32, "\"{shown}\" cannot be opened on rank 0, which was told why");
    }
    let opened = match first {
        Some(file) => Ok(file),
        None => oxmpi_io::File::open(name, mode, false, permissions).and_then(|file| {
            if identify(&file) == said {
                return Ok(file);
            }
            bail!(MPI_ERR_NOT_SAME, "\"{}\" is not the file that rank 0 has opened", file.show());
        }),
    };
    let io = agree(cx, guard, among, opened, [])?;

    let alone = members.len() == 1;
    let shared = match alone {
        true => SharedPointer::Own(AtomicI64::new(0)),
        false => {
            let mapped = map_together(cx, guard, comm, rank as usize, size_of::<AtomicI64>())?;
            SharedPointer::Mapped(agree(cx, guard, among, mapped, [])?)
        }
    };
    let mut position = 0;
    if mode.appends() && io.seekable {
        let end = if rank == 0 { io.size().unwrap_or(0) } else { 0 };
        position = tell(cx, guard, among, [end])?[0] as i64;
        // All store the same; who is done first cannot have moved it.
        shared.set(position);
        gather(cx, guard, among, [0])?;
    }
    // From here on they have messages of their own.
    let (participants, key) = (participants(guard, among)?, key_of(guard, &members, b""));
    let context = run_agreement(cx, guard, |line| contexts::agree(line, participants, key))?;
    let errhandler = *LIBRARY.file_errhandler();
    LIBRARY.errhandlers().share(errhandler);
    guard.add_file(File {
        io: Arc::new(io),
        comm: Made::new(context, rank, members.clone(), None, MPI_ERRORS_RETURN),
        group: Arc::new(Group::new(members, session)),
        errhandler,
        hints,
        view: Arc::new(View::bytes()),
        position,
        shared: Arc::new(shared),
        atomic: false,
        split: None,
    })
}

/// No error, and by what the file is known.
fn identify(file: &oxmpi_io::File) -> [u64; 3] {
    match file.identity() {
        Ok(Identity { device, inode }) => [0, device, inode],
        Err(error) => [error.class() as u64, 0, 0],
    }
}

/// The communicator is for what files need.
pub fn check_comm(guard: &Guard, comm: Comm) -> Result<()> {
    check_intra(guard.comm(comm)?)
}

/// Closes a file. Collective. It is closed, too, when its last bytes could not be brought to the device.
pub fn close(cx: &Call, fh: Handle) -> Result<()> {
    let mut guard = cx.enter()?;
    let file = guard.file(fh)?;
    let (among, io, rank) = (Among::File(fh), Arc::clone(&file.io), file.comm.rank);
    let idle = file.check_idle();
    agree(cx, &mut guard, among, idle, [])?;
    // What is deleted need not be brought to the device.
    let synced = if io.mode.deletes() { Ok(()) } else { unlocked(&mut guard, || io.sync()) };
    let mut ended = agree(cx, &mut guard, among, synced, []);
    if io.mode.deletes() {
        let deleted = if rank == 0 { oxmpi_io::delete(io.name()) } else { Ok(()) };
        ended = ended.and(agree(cx, &mut guard, among, deleted, []));
    }
    let Some(removed) = guard.files.remove(fh.0) else { return ended };
    let File { shared, errhandler, .. } = *removed;
    // All have come this far, so that nobody uses the shared pointer any more.
    if let SharedPointer::Mapped(mapping) = &*shared
        && rank == 0
    {
        let area = mapping.area();
        guard.engine.node_mut().release(area);
    }
    LIBRARY.errhandlers().detach(errhandler);
    ended
}

// ---- views ----

/// The view of a file, laid out.
pub fn view(guard: &mut Guard, fh: Handle) -> Result<Arc<View>> {
    let view = Arc::clone(&guard.file(fh)?.view);
    lay_out(guard, &view)?;
    Ok(view)
}

/// Lays a view out; the program, where it has to be asked, is asked unlocked.
pub fn lay_out(guard: &mut Guard, view: &View) -> Result<()> {
    if view.is_laid_out() { Ok(()) } else { unlocked(guard, || view.lay_out()) }
}

/// A type as it lies in the file of a view.
pub fn in_file(guard: &mut Guard, view: &View, datatype: &Arc<Type>) -> Result<Arc<Type>> {
    unlocked(guard, || view.representation.lay_out(datatype))
}

// ---- accesses ----

/// Where in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum At {
    Offset(i64),
    /// At the process's own file pointer.
    Own,
    Shared,
    /// At the shared one, in the order of ranks.
    Ordered,
}

/// An access as a function of the interface describes it.
pub struct Access {
    pub fh: Handle,
    pub at: At,
    pub writes: bool,
    /// All processes of the file make it.
    pub together: bool,
    pub buf: *mut c_void,
    pub count: i64,
    pub datatype: Datatype,
}

/// An access whose arguments are good.
struct Plan {
    io: Arc<oxmpi_io::File>,
    view: Arc<View>,
    atomic: bool,
    data: Data,
    etypes: i64,
}

enum Data {
    /// Lies in the file as in memory.
    Plain(Region),
    External(*mut u8, u64, Arc<Type>),
    Converted(Conversion),
}

/// Makes an access; the status says how much was moved.
///
/// # Safety
/// The buffer is as its count and type say.
pub unsafe fn perform(cx: &Call, access: Access) -> Result<Status> {
    let mut guard = cx.enter()?;
    let file = guard.file(access.fh)?;
    let shared = Arc::clone(&file.shared);
    let mut plan = plan(&mut guard, &access);
    let start = match access.at {
        At::Ordered => line_up(cx, &mut guard, access.fh, &shared, &plan)?,
        At::Offset(offset) => offset,
        At::Own => {
            let etypes = plan.as_ref().map_or(0, |plan| plan.etypes);
            let position = &mut guard.file_mut(access.fh)?.position;
            let start = *position;
            match start.checked_add(etypes) {
                Some(end) => *position = end,
                None => plan = Err(Error::new(MPI_ERR_ARG, format!("the file pointer cannot go beyond {start}"))),
            }
            start
        }
        At::Shared => plan.as_ref().map_or(0, |plan| shared.take(plan.etypes)),
    };
    let plan = plan?;
    // Nobody need wait for the device but who has asked for it.
    drop(guard);
    // SAFETY: as the caller says.
    let moved = unsafe { transfer(&plan, start, access.writes) };
    let used = moved.as_ref().map_or(0, |moved| plan.view.whole_etypes(moved.in_file));
    if used < plan.etypes {
        match access.at {
            At::Own => {
                let mut guard = cx.enter()?;
                let position = &mut guard.file_mut(access.fh)?.position;
                // Unless another thread has moved it on.
                if *position == start + plan.etypes {
                    *position = start + used;
                }
            }
            At::Shared => shared.give_back(start, plan.etypes, used),
            At::Offset(_) | At::Ordered => {}
        }
    }
    let mut status = Status::empty();
    status.set_bytes(moved?.in_memory as u64);
    Ok(status)
}

fn plan(guard: &mut Guard, access: &Access) -> Result<Plan> {
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
    // Also where a type that is read into overlaps itself: the standard forbids it, programs do it all the same, and what is
    // read last stays.
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
            let functions = datareps::functions(users);
            if (if access.writes { functions.write } else { functions.read }) == 0 {
                plain(buf)
            } else {
                let (handle, datatype) = (access.datatype, Arc::clone(guard.datatype(access.datatype)?));
                let bytes = in_file(guard, &view, &datatype)?.size();
                let all = in_all(bytes, count)?;
                let bytes = bytes as usize;
                (all, Data::Converted(Conversion { functions, base, count: count as u64, handle, datatype, bytes }))
            }
        }
    };
    let etypes = view.etypes(bytes)?;
    Ok(Plan { io, view, atomic, data, etypes })
}

/// The bytes of all elements in the file.
fn in_all(bytes: i128, count: i64) -> Result<usize> {
    match usize::try_from(bytes * i128::from(count)).ok().filter(|bytes| *bytes <= isize::MAX as usize) {
        Some(bytes) => Ok(bytes),
        None => bail!(MPI_ERR_COUNT, "{count} elements of {bytes} bytes in the file are more than memory can hold"),
    }
}

/// Where this process's part of an ordered access begins.
fn line_up(cx: &Call, guard: &mut Guard, fh: Handle, shared: &SharedPointer, plan: &Result<Plan>) -> Result<i64> {
    let (class, etypes) = match plan {
        Ok(plan) => (0, plan.etypes),
        Err(error) => (error.class(), 0),
    };
    let (rank, among) = (guard.file(fh)?.comm.rank as usize, Among::File(fh));
    let all = gather(cx, guard, among, [class as u32 as u64, etypes as u64])?;
    if class == 0
        && let Some(failed) = all.iter().position(|words| words[0] != 0)
    {
        bail!(all[failed][0] as i32, "the call has failed on rank {failed}, which was told why");
    }
    let wanted = |ranks: &[[u64; 2]]| ranks.iter().map(|words| words[1] as i64).sum::<i64>();
    // The pointer has moved before anybody can return and use it again.
    let failed = all.iter().any(|words| words[0] != 0);
    let start = if rank == 0 && !failed { shared.take(wanted(&all)) } else { 0 };
    let [start] = if failed { [0] } else { tell(cx, guard, among, [start as u64])? };
    Ok(start as i64 + wanted(&all[..rank]))
}

/// Bytes.
struct Moved {
    in_file: usize,
    in_memory: usize,
}

/// # Safety
/// As for [`perform`].
unsafe fn transfer(plan: &Plan, start: i64, writes: bool) -> Result<Moved> {
    let Plan { io, view, atomic, .. } = plan;
    // SAFETY: the buffer of the access is as its count and type say until this returns; a stage is memory of this
    // function's own, of the length given.
    unsafe {
        let transfer = |buf: Region| match writes {
            true => oxmpi_io::write(io, view, start, &Source::new(buf), *atomic),
            false => oxmpi_io::read(io, view, start, &Target::new(buf), *atomic),
        };
        match &plan.data {
            Data::Plain(buf) => transfer(buf.clone()).map(|bytes| Moved { in_file: bytes, in_memory: bytes }),
            Data::External(base, count, datatype) => {
                let mut stage = stage((datatype.external_size() * i128::from(*count)) as usize)?;
                if writes {
                    pack_external(*base, *count, datatype, stage.as_mut_ptr(), stage.len())?;
                }
                let in_file = transfer(Region::dense(stage.as_mut_ptr(), stage.len()))?;
                let in_memory = match writes {
                    true => (datatype.size() * i128::from(*count)) as usize,
                    false => unpack_external_part(*base, *count, datatype, stage.as_ptr(), in_file),
                };
                Ok(Moved { in_file, in_memory })
            }
            Data::Converted(conversion) => {
                let mut stage = stage(conversion.bytes * conversion.count as usize)?;
                let (all, size) = conversion.whole();
                if writes {
                    conversion.convert(true, stage.as_mut_ptr(), all)?;
                    let in_file = transfer(Region::dense(stage.as_mut_ptr(), stage.len()))?;
                    return Ok(Moved { in_file, in_memory: size });
                }
                let in_file = transfer(Region::dense(stage.as_mut_ptr(), stage.len()))?;
                let (items, in_memory) = if in_file == stage.len() { (all, size) } else { conversion.part(in_file)? };
                conversion.convert(false, stage.as_mut_ptr(), items)?;
                Ok(Moved { in_file, in_memory })
            }
        }
    }
}

/// Memory for data as it lies in the file.
fn stage(bytes: usize) -> Result<Vec<u8>> {
    let mut stage = Vec::new();
    if stage.try_reserve_exact(bytes).is_err() {
        bail!(MPI_ERR_NO_MEM, "no memory for the {bytes} bytes that the data has in the file");
    }
    stage.resize(bytes, 0);
    Ok(stage)
}

/// Makes an access that the program completes with a request. It is done when this returns: the system has no other way that
/// would be faster where data mostly lies in the page cache.
///
/// # Safety
/// As for [`perform`]; `request` is null or may be written.
pub unsafe fn start(cx: &Call, access: Access, request: *mut handle::Request) -> Result<()> {
    check_place(request, "request")?;
    // SAFETY: as the caller says.
    let status = unsafe { perform(cx, access)? };
    let mut guard = cx.enter()?;
    let made = guard.once(MPI_COMM_SELF, Active::Done(Outcome { status, error: None }));
    // SAFETY: checked.
    unsafe { store(request, made, "request") }
}

/// Begins a collective access that another call ends.
///
/// # Safety
/// As for [`perform`].
pub unsafe fn begin(cx: &Call, access: Access, split: SplitAccess) -> Result<()> {
    let fh = access.fh;
    // SAFETY: as the caller says.
    let status = unsafe { perform(cx, access)? };
    cx.enter()?.file_mut(fh)?.split = Some(Split { access: split, status });
    Ok(())
}

// ---- hints ----

/// What the program may say about a file. It is kept and reported; all accesses go through the page cache of one machine, so
/// that none of it would make them faster.
const INTEGERS: [&str; 7] =
    ["cb_block_size", "cb_buffer_size", "cb_nodes", "nb_proc", "num_io_nodes", "striping_factor", "striping_unit"];
const WORDS: [&str; 6] =
    ["access_style", "chunked", "chunked_item", "chunked_size", "io_node_list", "mpi_assert_memory_alloc_kinds"];
const COLLECTIVE_BUFFERING: &str = "collective_buffering";
const PERMISSIONS: &str = "file_perm";

/// Takes over what is known and makes sense; the rest is dropped.
pub fn update_hints(hints: &mut Info, given: &Info) -> Result<()> {
    if let Some(value) = given.boolean(COLLECTIVE_BUFFERING) {
        hints.set(COLLECTIVE_BUFFERING.as_bytes(), if value { b"true" } else { b"false" })?;
    }
    for key in INTEGERS {
        if let Some(value) = given.integer(key).filter(|value| *value > 0) {
            hints.set(key.as_bytes(), value.to_string().as_bytes())?;
        }
    }
    for key in WORDS {
        if let Some(value) = given.text(key) {
            hints.set(key.as_bytes(), value.as_bytes())?;
        }
    }
    Ok(())
}

/// The hints of a file that is opened, and the permissions that it is created with.
pub fn opening_hints(given: &Info) -> Result<(Info, u32)> {
    let mut hints = Info::new();
    update_hints(&mut hints, given)?;
    let octal = |text| u32::from_str_radix(text, 8).ok().filter(|bits| *bits <= 0o7777);
    let permissions = given.text(PERMISSIONS).and_then(octal);
    if let (Some(_), Some(text)) = (permissions, given.text(PERMISSIONS)) {
        hints.set(PERMISSIONS.as_bytes(), text.as_bytes())?;
    }
    Ok((hints, permissions.unwrap_or(0o666)))
}

/// All hints with their present values.
pub fn hints_in_force(file: &File) -> Result<Info> {
    let mut all = file.hints.clone();
    // A name may be longer than a value.
    let name = file.io.name();
    all.set(b"filename", &name[..name.len().min(MPI_MAX_INFO_VAL as usize)])?;
    Ok(all)
}
