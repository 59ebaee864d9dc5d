//! The MPI state of this process: every object that a handle can name, and the engine that moves messages.
//!
//! There are no globals here, so that a test can run several processes as threads. Nothing here waits or calls the user:
//! see `wait/` and `call.rs`.

use crate::buffer::BufferPool;
use crate::collective::Run;
use crate::comm::{Comm, Ranks};
use crate::contexts::Contexts;
use crate::engine::{Engine, OpId, Outcome, Route};
use crate::file::File;
use crate::foreign;
use crate::group::Group;
use crate::making::Making;
use crate::matching::{Envelope, Pattern};
use crate::names::Names;
use crate::operation::{UserCall, UserFunction};
use crate::partitioned::Receiving;
use crate::request::{Active, Body, PoolId, Request, Start};
use crate::window::Win;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle;
use oxmpi_abi::{Error, Result, Status, bail};
use oxmpi_base::address::JobId;
use oxmpi_base::ids::{Peer, Slot};
use oxmpi_base::slots::{Kind, Lookup, SlotTable};
use oxmpi_base::{huge, lifeline, limits};
use oxmpi_boot::apps::ProcessSet;
use oxmpi_boot::{Member, Start as Boot};
use oxmpi_datatype::{Datatype, OwnedBytes, Region, Source};
use oxmpi_transport::Links;
use oxmpi_transport::node::Node;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex};

/// The largest tag: `MPI_TAG_UB`. Tags below zero are the library's own.
pub const TAG_UB: i32 = i32::MAX;

pub struct Process {
    pub engine: Engine,
    /// The world model is active: there are `MPI_COMM_WORLD` and `MPI_COMM_SELF`.
    pub has_world: bool,
    pub world: Comm,
    pub own: Comm,
    pub comms: SlotTable<Comm>,
    pub groups: SlotTable<Arc<Group>>,
    pub no_members: Arc<Group>,
    pub contexts: Contexts,
    /// Joins of two groups under way, in which processes may be known that nothing names yet.
    pub joining: usize,
    /// Names that this process has published.
    pub names: Names,
    /// Communicators that come to be while the program does other things.
    pub(crate) making: Vec<Making>,
    /// Collective operations that go on while the program does other things.
    pub(crate) runs: Vec<Run>,
    /// Partitioned receives that do not know yet what will come.
    pub(crate) receiving: Vec<Arc<Mutex<Receiving>>>,
    /// How many partitions there have been to send.
    pub(crate) partitions: u64,
    /// Those of them that wait for a call of the user's function.
    pub(crate) calls: Vec<(Run, UserCall)>,
    pub requests: SlotTable<Request>,
    /// The request of every send that was complete at once.
    pub sent: handle::Request,
    pub messages: SlotTable<(Envelope, crate::engine::Message, handle::Comm)>,
    pub types: SlotTable<Arc<Datatype>>,
    pub windows: SlotTable<Box<Win>>,
    /// Those in which this rank may be asked for assist requests.
    pub(crate) serving_windows: Vec<handle::Win>,
    pub files: SlotTable<Box<File>>,
    /// Reduction operations that the user made.
    pub operations: SlotTable<Arc<UserFunction>>,
    pub buffer: Option<BufferPool>,
    /// The buffers of sessions that have or had one.
    pub session_buffers: BTreeMap<handle::Session, Option<BufferPool>>,
    /// How many boards this process takes part in.
    pub(crate) boards: usize,
    /// Boards of this process's own that it has left, and maybe others have not.
    pub(crate) left_boards: Vec<Node>,
    pub appnum: Option<i32>,
    pub universe_size: i32,
    /// Where the processes that spawned this job wait for it, until this one has joined them.
    pub parent_port: Option<String>,
    /// Their job, as long as this process is connected to it.
    pub(crate) parent_job: Option<JobId>,
    /// That job and those that this process has spawned, as long as it is connected to them.
    pub(crate) family: BTreeSet<JobId>,
    /// The intercommunicator with them; it may have been freed since.
    pub parent: handle::Comm,
    /// Those that `mpirun` defined.
    process_sets: Vec<ProcessSet>,
    _lifeline: Option<OwnedFd>,
}

impl Process {
    /// Takes this process's place in its job. `single_copy`: peers' memory may be copied to and from, if the kernel agrees.
    pub fn start(single_copy: bool) -> Result<Process> {
        let ((segment, job), rank, size, appnum, universe, process_sets, parent_port, lifeline) =
            match oxmpi_boot::start_from_env()? {
                Boot::Alone => {
                    let made = oxmpi_boot::alone().map_err(|error| {
                        Error::new(MPI_ERR_OTHER, format!("cannot make shared memory: {}", limits::explain(&error)))
                    })?;
                    (made, 0, 1, None, 1, Vec::new(), None, None)
                }
                Boot::Member(member) => {
                    let Member {
                        rank, size, appnum, universe_size, process_sets, parent, job, mapped, lifeline, ..
                    } = *member;
                    ((mapped, job), rank, size, Some(appnum), universe_size as i32, process_sets, parent, lifeline)
                }
            };
        if let Some(lifeline) = &lifeline {
            lifeline::hold(lifeline.as_fd()).map_err(|error| {
                Error::new(
                    MPI_ERR_OTHER,
                    format!("cannot watch mpirun: {error} (is /proc mounted? `oxmpi doctor` tells)"),
                )
            })?;
        }
        let slot = Slot::new(rank)
            .filter(|slot| slot.index() < segment.ranks())
            .ok_or_else(|| Error::new(MPI_ERR_OTHER, format!("the job's memory has no place for rank {rank}")))?;
        let links = Links::attach(segment, job, slot)
            .map_err(|error| Error::new(MPI_ERR_OTHER, format!("cannot join the job: {error}")))?;
        Ok(Process {
            appnum,
            universe_size: universe,
            parent_port,
            process_sets,
            _lifeline: lifeline,
            ..Process::of(links, rank, size, single_copy)
        })
    }

    /// One of `size` processes of a job, of which nothing else is known.
    pub fn of(links: Links, rank: usize, size: usize, single_copy: bool) -> Process {
        let mut requests = SlotTable::new(Kind::Request);
        let sent = handle::Request(requests.insert(Request { comm: MPI_COMM_SELF, body: Body::Sent }));
        Process {
            engine: Engine::new(links, single_copy),
            has_world: false,
            world: Comm::world(rank, size),
            own: Comm::own(rank),
            comms: SlotTable::new(Kind::Comm),
            groups: SlotTable::new(Kind::Group),
            no_members: Arc::new(Group::empty()),
            contexts: Contexts::new(rank, size),
            joining: 0,
            names: Names::default(),
            making: Vec::new(),
            runs: Vec::new(),
            receiving: Vec::new(),
            partitions: 0,
            calls: Vec::new(),
            requests,
            sent,
            messages: SlotTable::new(Kind::Message),
            types: SlotTable::new(Kind::Datatype),
            windows: SlotTable::new(Kind::Win),
            serving_windows: Vec::new(),
            files: SlotTable::new(Kind::File),
            operations: SlotTable::new(Kind::Op),
            buffer: None,
            session_buffers: BTreeMap::new(),
            boards: 0,
            left_boards: Vec::new(),
            appnum: None,
            universe_size: size as i32,
            parent_port: None,
            parent_job: None,
            family: BTreeSet::new(),
            parent: MPI_COMM_NULL,
            process_sets: Vec::new(),
            _lifeline: None,
        }
    }

    // ---- process sets ----

    /// The names of the process sets that this process is in, always in the same order.
    pub fn process_sets(&self) -> impl Iterator<Item = &str> {
        let own = self.world.rank as u32;
        let others = self.process_sets.iter().filter(move |set| set.ranks.binary_search(&own).is_ok());
        ["mpi://WORLD", "mpi://SELF"].into_iter().chain(others.map(|set| set.name.as_str()))
    }

    /// The members of a process set, which this process need not be in.
    pub fn process_set(&self, name: &[u8]) -> Result<Ranks> {
        // They are URIs: neither scheme nor host is sensitive to case.
        if name.eq_ignore_ascii_case(b"mpi://WORLD") {
            return Ok(self.world.group.clone());
        }
        if name.eq_ignore_ascii_case(b"mpi://SELF") {
            return Ok(self.own.group.clone());
        }
        match self.process_sets.iter().find(|set| set.name.as_bytes() == name) {
            Some(set) => Ok(Ranks::from_list(set.ranks.iter().map(|&rank| Peer::at_slot(rank as usize)).collect())),
            None => {
                let known: Vec<&str> = self.process_sets().collect();
                bail!(
                    MPI_ERR_ARG,
                    "there is no process set \"{}\"; this process is in {}",
                    String::from_utf8_lossy(name),
                    known.join(", ")
                );
            }
        }
    }

    // ---- from handles to objects ----

    #[inline]
    pub fn comm(&self, handle: handle::Comm) -> Result<&Comm> {
        if self.has_world {
            if handle == MPI_COMM_WORLD {
                return Ok(&self.world);
            }
            if handle == MPI_COMM_SELF {
                return Ok(&self.own);
            }
        }
        self.comms.get(handle.0).ok_or_else(|| self.bad_comm(handle))
    }

    pub fn comm_mut(&mut self, handle: handle::Comm) -> Result<&mut Comm> {
        if self.has_world && handle == MPI_COMM_WORLD {
            return Ok(&mut self.world);
        }
        if self.has_world && handle == MPI_COMM_SELF {
            return Ok(&mut self.own);
        }
        match self.comms.get(handle.0) {
            None => Err(self.bad_comm(handle)),
            Some(_) => self.comms.get_mut(handle.0).ok_or_else(|| unreachable!("just found")),
        }
    }

    #[cold]
    pub(crate) fn bad_comm(&self, handle: handle::Comm) -> Error {
        if handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF {
            let name = if handle == MPI_COMM_WORLD { "MPI_COMM_WORLD" } else { "MPI_COMM_SELF" };
            return Error::new(MPI_ERR_COMM, format!("{name} exists between MPI_Init and MPI_Finalize only"));
        }
        bad_handle(&self.comms, MPI_ERR_COMM, handle.0, "communicator", MPI_COMM_NULL.0, "MPI_COMM_NULL")
    }

    pub fn group(&self, handle: handle::Group) -> Result<&Arc<Group>> {
        match self.groups.get(handle.0) {
            Some(found) => Ok(found),
            None if handle == MPI_GROUP_EMPTY => Ok(&self.no_members),
            None => Err(bad_handle(&self.groups, MPI_ERR_GROUP, handle.0, "group", MPI_GROUP_NULL.0, "MPI_GROUP_NULL")),
        }
    }

    pub fn request(&self, handle: handle::Request) -> Result<&Request> {
        self.requests.get(handle.0).ok_or_else(|| self.bad_request(handle))
    }

    #[cold]
    pub fn bad_request(&self, handle: handle::Request) -> Error {
        bad_handle(&self.requests, MPI_ERR_REQUEST, handle.0, "request", MPI_REQUEST_NULL.0, "MPI_REQUEST_NULL")
    }

    /// A type, predefined or made by the user.
    pub fn datatype(&self, handle: handle::Datatype) -> Result<&Arc<Datatype>> {
        if let Some(found) = self.types.get(handle.0) {
            return Ok(found);
        }
        match oxmpi_datatype::predefined(handle.0) {
            Some(found) => Ok(found),
            None => {
                let (null, name) = (MPI_DATATYPE_NULL.0, "MPI_DATATYPE_NULL");
                Err(bad_handle(&self.types, MPI_ERR_TYPE, handle.0, "datatype", null, name))
            }
        }
    }

    /// A buffer argument: pointer, count and type as the user gave them, checked as far as can be. That the memory is
    /// there is the program's promise, which the C boundary takes up when it makes a source or a target of the region.
    #[inline]
    pub fn buffer(&self, address: *const u8, count: i64, datatype: handle::Datatype) -> Result<Region> {
        check_count(count)?;
        if let Some(size) = oxmpi_datatype::dense_size(datatype.0)
            && let Some(bytes) = (count as usize).checked_mul(size).filter(|&bytes| bytes <= isize::MAX as usize)
        {
            if bytes > 0 && (address as usize) < FIRST_ADDRESS {
                return Err(bad_address(address as usize));
            }
            if bytes >= huge::LONG {
                huge::used(address as usize, bytes);
            }
            return Ok(Region::dense(address.cast_mut(), bytes));
        }
        self.buffer_typed(address, count, datatype)
    }

    /// A buffer argument that will be written to.
    #[inline]
    pub fn target(&self, address: *const u8, count: i64, datatype: handle::Datatype) -> Result<Region> {
        let buf = self.buffer(address, count, datatype)?;
        if buf.overlaps() { Err(overlapping()) } else { Ok(buf) }
    }

    #[inline(never)]
    fn buffer_typed(&self, address: *const u8, count: i64, datatype: handle::Datatype) -> Result<Region> {
        let found = self.datatype(datatype)?;
        check_usable(found, count)?;
        if address as usize == MPI_IN_PLACE {
            return Err(bad_address(address as usize));
        }
        // A null address is MPI_BOTTOM, right for a type of absolute addresses; for one whose data starts at or near
        // zero it can only be a mistake.
        let first = address as i128 + found.true_lb();
        if found.size() > 0 && count > 0 && first >= 0 && first < FIRST_ADDRESS as i128 {
            return Err(bad_address(address as usize));
        }
        Ok(Region::typed(address.cast_mut(), count as u64, found))
    }

    // ---- messages ----

    /// The route of a message to `dest`; `None` for `MPI_PROC_NULL`.
    #[inline]
    pub fn route(&self, comm: &Comm, dest: i32, tag: i32) -> Result<Option<Route>> {
        if tag < 0 {
            return Err(bad_tag(tag, false));
        }
        if (dest as u32) < comm.size() as u32 {
            let peer = comm.group.peer(dest as usize);
            return Ok(Some(Route { peer, context: comm.context, source: comm.rank, tag }));
        }
        if dest == MPI_PROC_NULL { Ok(None) } else { Err(bad_rank(comm, dest, false)) }
    }

    /// What a receive from `source` accepts; `None` for `MPI_PROC_NULL`.
    #[inline]
    pub fn pattern(&self, comm: &Comm, source: i32, tag: i32) -> Result<Option<Pattern>> {
        if tag < 0 && tag != MPI_ANY_TAG {
            return Err(bad_tag(tag, true));
        }
        if (source as u32) < comm.size() as u32 || source == MPI_ANY_SOURCE {
            return Ok(Some(Pattern { context: comm.context, source, tag }));
        }
        if source == MPI_PROC_NULL { Ok(None) } else { Err(bad_rank(comm, source, true)) }
    }

    /// The buffer that a buffered send on this communicator uses.
    fn pool_for(&self, comm: handle::Comm) -> PoolId {
        match self.comm(comm) {
            Ok(comm) if comm.buffer.is_some() => PoolId::Comm(comm.handle),
            Ok(Comm { session: Some(session), .. })
                if self.session_buffers.get(session).is_some_and(Option::is_some) =>
            {
                PoolId::Session(*session)
            }
            _ => PoolId::Process,
        }
    }

    /// The place where a buffer for buffered sends is or would be attached.
    pub fn pool_slot(&mut self, id: PoolId) -> Result<(&mut Option<BufferPool>, &mut Engine)> {
        // Checked first, so that the borrows below are of different fields.
        match id {
            PoolId::Process => return Ok((&mut self.buffer, &mut self.engine)),
            PoolId::Comm(handle) => {
                self.comm_mut(handle)?;
            }
            PoolId::Session(_) => {}
        }
        let engine = &mut self.engine;
        let slot = match id {
            PoolId::Comm(handle) if handle == MPI_COMM_WORLD => &mut self.world.buffer,
            PoolId::Comm(handle) if handle == MPI_COMM_SELF => &mut self.own.buffer,
            PoolId::Comm(handle) => match self.comms.get_mut(handle.0) {
                Some(comm) => &mut comm.buffer,
                None => unreachable!("checked above"),
            },
            PoolId::Session(handle) => self.session_buffers.entry(handle).or_default(),
            PoolId::Process => unreachable!("returned above"),
        };
        Ok((slot, engine))
    }

    /// A buffered send: complete for the caller when this returns.
    pub fn send_buffered(&mut self, comm: handle::Comm, route: &Route, buf: &Source<'_>) -> Result<()> {
        let (slot, engine) = self.pool_slot(self.pool_for(comm))?;
        let Some(pool) = slot else {
            bail!(MPI_ERR_BUFFER, "no buffer is attached for buffered sends (MPI_Buffer_attach)");
        };
        pool.check_room(engine, buf.len())?;
        let bytes = OwnedBytes::packed(buf);
        let length = bytes.len();
        if let Some(op) = engine.send_stored(route, bytes) {
            pool.add(op, length);
        }
        Ok(())
    }

    /// Starts what a persistent request describes.
    pub fn begin(&mut self, start: &Start) -> Result<Active> {
        let done = || Active::Done(Outcome::sent());
        Ok(match start {
            Start::Send { mode, route, buf } => {
                self.engine.send(*mode, route, buf.clone()).map_or_else(done, Active::Send)
            }
            Start::Buffered { comm, route, buf } => {
                self.send_buffered(*comm, route, buf)?;
                done()
            }
            Start::Recv { pattern, buf } => Active::Recv(self.engine.recv(*pattern, buf.clone())),
            Start::Collective(bound_plan) => Active::Promise(self.perform_later(Arc::clone(bound_plan))),
            Start::Outgoing(plan) => Active::Sending(Box::new(plan.start())),
            Start::Incoming(plan) => {
                let started = Arc::new(Mutex::new(plan.start()));
                self.receiving.push(Arc::clone(&started));
                self.progress_partitioned();
                Active::Receiving(started)
            }
            Start::Nothing(status) => Active::Done(Outcome { status: *status, error: None }),
        })
    }

    /// Makes a request for a send that was started; a finished one costs no slot of its own.
    #[inline]
    pub fn send_request(&mut self, comm: handle::Comm, op: Option<OpId>) -> handle::Request {
        match op {
            Some(op) => self.once(comm, Active::Send(op)),
            None => self.sent,
        }
    }

    /// Ends a plain send or receive that is done, the common case of every wait: its status goes where it is wanted.
    #[inline]
    pub fn finish_plain(&mut self, handle: handle::Request, status: Option<&mut Status>) -> Plain {
        if handle == self.sent {
            if let Some(status) = status {
                status.assign(&Status::empty());
            }
            return Plain::Done;
        }
        let Some(request) = self.requests.get(handle.0) else { return Plain::Other };
        let Body::Once(Active::Send(op) | Active::Recv(op)) = request.body else { return Plain::Other };
        let comm = request.comm;
        match self.engine.finish(op, status) {
            None => Plain::Pending,
            Some(error) => {
                self.requests.remove(handle.0);
                error.map_or(Plain::Done, |error| Plain::Failed(error, comm))
            }
        }
    }

    #[inline]
    pub fn once(&mut self, comm: handle::Comm, active: Active) -> handle::Request {
        handle::Request(self.requests.insert(Request { comm, body: Body::Once(active) }))
    }

    /// Of sends and receives that are done, the one that was done first has the lowest; other requests have 0.
    pub fn place_of(&self, handle: handle::Request) -> u64 {
        match self.requests.get(handle.0).map(|request| &request.body) {
            Some(Body::Once(active) | Body::Persistent(_, Some(active))) => match active {
                Active::Send(op) | Active::Recv(op) => self.engine.place(*op),
                _ => 0,
            },
            _ => 0,
        }
    }

    /// Whether an active request is done; an inactive one counts as done.
    #[inline]
    pub fn is_request_done(&mut self, handle: handle::Request) -> Result<bool> {
        let Process { requests, engine, buffer, comms, session_buffers, world, own, .. } = self;
        let Some(request) = requests.get_mut(handle.0) else { return Err(self.bad_request(handle)) };
        Ok(match &mut request.body {
            Body::Generalized(generalized) => generalized.complete,
            Body::Sent | Body::Persistent(_, None) => true,
            Body::Once(active) | Body::Persistent(_, Some(active)) => active.is_done(engine, |engine, pool, mark| {
                let pool = match pool {
                    PoolId::Process => buffer.as_mut(),
                    PoolId::Comm(comm) if comm == MPI_COMM_WORLD => world.buffer.as_mut(),
                    PoolId::Comm(comm) if comm == MPI_COMM_SELF => own.buffer.as_mut(),
                    PoolId::Comm(comm) => comms.get_mut(comm.0).and_then(|comm| comm.buffer.as_mut()),
                    PoolId::Session(session) => session_buffers.get_mut(&session).and_then(Option::as_mut),
                };
                pool.is_none_or(|pool| pool.is_flushed(engine, mark))
            }),
        })
    }
}

/// What [`Process::finish_plain`] found.
pub enum Plain {
    Done,
    Failed(Error, handle::Comm),
    Pending,
    /// Not a plain send or receive.
    Other,
}

/// Addresses below this belong to nobody: small numbers are constants of the ABI or null pointers.
const FIRST_ADDRESS: usize = 4096;

#[inline]
pub fn check_count(count: i64) -> Result<()> {
    if count < 0 { Err(negative_count(count)) } else { Ok(()) }
}

/// Whether so many elements of a type can be communicated.
pub fn check_usable(datatype: &Datatype, count: i64) -> Result<()> {
    if !datatype.is_committed() {
        bail!(MPI_ERR_TYPE, "the datatype has not been committed (MPI_Type_commit)");
    }
    let bytes = datatype.size().checked_mul(i128::from(count));
    if bytes.is_none_or(|bytes| bytes > isize::MAX as i128) {
        bail!(MPI_ERR_COUNT, "{count} elements of {} bytes are more than memory can hold", datatype.size());
    }
    Ok(())
}

#[cold]
fn negative_count(count: i64) -> Error {
    Error::new(MPI_ERR_COUNT, format!("the count is {count}, which is negative"))
}

#[cold]
fn overlapping() -> Error {
    Error::new(MPI_ERR_TYPE, "entries of the datatype overlap; nothing can be received into it")
}

#[cold]
fn bad_address(address: usize) -> Error {
    let text = match address {
        0 => "the buffer is a null pointer, but the count is not zero".into(),
        MPI_IN_PLACE => "MPI_IN_PLACE is not a buffer for this call".into(),
        _ => format!("the buffer's address {address:#x} is not memory"),
    };
    Error::new(MPI_ERR_BUFFER, text)
}

#[cold]
fn bad_tag(tag: i32, receive: bool) -> Error {
    let or = if receive { ", or be MPI_ANY_TAG" } else { "" };
    let text = match tag {
        MPI_ANY_TAG => "MPI_ANY_TAG is for receives; a send needs a tag of its own".into(),
        _ => format!("the tag is {tag}; it must lie between 0 and {TAG_UB} (MPI_TAG_UB){or}"),
    };
    Error::new(MPI_ERR_TAG, text)
}

#[cold]
fn bad_rank(comm: &Comm, rank: i32, receive: bool) -> Error {
    let (name, argument) = (comm.describe(), if receive { "source" } else { "dest" });
    let text = match rank {
        MPI_ANY_SOURCE => "dest is MPI_ANY_SOURCE, which is for receives; a send needs one destination".into(),
        MPI_ROOT => format!("{argument} is MPI_ROOT, which is not a rank to send to or receive from"),
        _ if comm.size() == 0 => format!("{argument} is {rank}; {name} has no ranks yet: its request is not complete"),
        _ => format!(
            "{argument} is {rank}; it must be a rank of {name}, 0 to {}, or {}MPI_PROC_NULL",
            comm.size() - 1,
            if receive { "MPI_ANY_SOURCE or " } else { "" }
        ),
    };
    Error::new(MPI_ERR_RANK, text)
}

fn with_article(what: &str) -> String {
    let article = if what.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {what}")
}

/// What is wrong with a handle, in words.
#[cold]
pub fn bad_handle<T>(
    table: &SlotTable<T>,
    class: i32,
    handle: usize,
    what: &str,
    null: usize,
    null_name: &str,
) -> Error {
    let text = match table.diagnose(handle) {
        _ if handle == null => format!("the {what} is {null_name}"),
        _ if handle == 0 => format!("the {what} is 0, which is never a handle: was it initialised?"),
        Lookup::Freed => format!("the {what} {handle:#x} has been freed"),
        Lookup::WrongKind(kind) => {
            format!("{handle:#x} is {}, not {}", with_article(&kind.to_string()), with_article(what))
        }
        Lookup::Live | Lookup::Garbage => format!("{handle:#x} is not {}{}", with_article(what), foreign::hint(handle)),
    };
    Error::new(class, text)
}
