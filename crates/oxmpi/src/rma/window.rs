//! Making and freeing windows: agreement on their memory, synchronisation, release.

use super::far;
use super::hints::{GRANULARITY, NONCONTIGUOUS};
use crate::comm::{check_intra, own_peer, run_agreement};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Win as Handle};
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::address::ProcessId;
use oxmpi_base::arena::{Area, Mapping};
use oxmpi_base::ids::{Peer, Rank};
use oxmpi_base::limits::physical_memory;
use oxmpi_base::valgrind;
use oxmpi_core::attributes::Object;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check;
use oxmpi_core::group::Group;
use oxmpi_core::info::Info;
use oxmpi_core::ranks::Ranks;
use oxmpi_core::wait::window::Awaited;
use oxmpi_core::window::Win;
use oxmpi_rma::access_log::AccessLog;
use oxmpi_rma::far::origin::{AgentId, ServedBy};
use oxmpi_rma::far::wire::{Place, Registration};
use oxmpi_rma::{Control, Flavor, Window, WindowMember, WindowSpec};
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The arguments of a process for a window.
pub struct WindowArgs {
    pub flavor: Flavor,
    /// The address of memory from the program.
    pub address: usize,
    pub size: usize,
    pub unit: i64,
    pub hints: Info,
    /// The alignment of memory from the library.
    pub alignment: usize,
}

/// What a process tells the others about its arguments, and the number of words.
#[derive(Clone, Copy)]
struct MemberInfo {
    size: usize,
    unit: i64,
    address: usize,
    granularity: u64,
    contiguous: bool,
    alignment: usize,
    probe: usize,
    /// If the program's memory lies in the segment: the area, and the offset in it.
    area: Area,
    inside: usize,
    /// The number of the window in the own job, if this process is the one that gives it.
    number: u64,
    /// The number by which it is revoked, if this process is the first one.
    key: u64,
    /// It is checked.
    checked: bool,
}

const INFO_WORDS: usize = 12;

impl MemberInfo {
    fn words(self) -> [u64; INFO_WORDS] {
        let MemberInfo { size, unit, address, granularity, contiguous, alignment, probe, area, inside, .. } = self;
        let [size, address, alignment, probe, inside] =
            [size, address, alignment, probe, inside].map(|word| word as u64);
        let [start, length] = [area.offset, area.bytes].map(|word| word as u64);
        let flags = u64::from(contiguous) | u64::from(self.checked) << 1;
        let (number, key) = (self.number, self.key);
        [size, unit as u64, address, granularity, flags, alignment, probe, start, length, inside, number, key]
    }

    fn from_words(words: &[u64]) -> MemberInfo {
        let number = |index: usize| words[index] as usize;
        MemberInfo {
            size: number(0),
            unit: words[1] as i64,
            address: number(2),
            granularity: words[3],
            contiguous: words[4] & 1 != 0,
            alignment: number(5),
            probe: number(6),
            area: Area { offset: number(7), bytes: number(8) },
            inside: number(9),
            number: words[10],
            key: words[11],
            checked: words[4] & 2 != 0,
        }
    }
}

const PAGE: usize = 4096;

/// Read by other processes to test whether they can.
static PROBE: AtomicU64 = AtomicU64::new(PROBE_VALUE);
const PROBE_VALUE: u64 = 0x6f78_6d70_6972_6d61;

/// Makes a window. Collective over the communicator.
pub fn make(call: &Call, guard: &mut Guard, comm: Comm, args: WindowArgs) -> Result<Handle> {
    let own = own_peer(guard);
    let found = guard.comm(comm)?;
    check_intra(found)?;
    let (members, rank, session) = (found.group.clone(), found.rank as usize, found.session);
    let WindowArgs { flavor, address, size, unit, hints, alignment } = args;
    let has_nodes = check_nodes(guard, comm, flavor)?;
    let places = if has_nodes { Some(Places::new(guard, &members)) } else { None };
    let shared = if flavor == Flavor::Create && size > 0 { guard.memory.area_of(address, size) } else { None };
    let (area, inside) = shared.unwrap_or((Area { offset: 0, bytes: 0 }, 0));
    let own_info = MemberInfo {
        size,
        unit,
        address,
        granularity: hints.integer(GRANULARITY).unwrap_or(0) as u64,
        contiguous: flavor == Flavor::Shared && hints.boolean(NONCONTIGUOUS) != Some(true),
        alignment,
        probe: (&raw const PROBE).expose_provenance(),
        area,
        inside,
        number: if places.as_ref().is_some_and(|places| places.firsts[rank] == rank) { new_number(guard) } else { 0 },
        key: if rank == 0 { guard.contexts.draw_for_window().into() } else { 0 },
        checked: check::is_on() && !guard.engine.node().goes_on(),
    };
    let participants = guard.comm_mut(comm)?.participants(own)?;
    let words = run_agreement(call, guard, |io| async move { io.gather(&participants, &own_info.words()).await })?;
    let all: Vec<MemberInfo> = words.chunks_exact(INFO_WORDS).map(MemberInfo::from_words).collect();
    let number_of = |other: usize| places.as_ref().map(|places| all[places.firsts[other]].number);
    let number = number_of(rank);
    let served = |other: usize| {
        let (agent, window) = (places.as_ref()?.agents[other]?, number_of(other)?);
        Some(ServedBy { agent, window })
    };
    let agents: Vec<Option<ServedBy>> = (0..all.len()).map(served).collect();

    // The program's own memory is accessed with system calls, unless a process is not allowed to.
    let mut separate = false;
    let reached = |one: &MemberInfo| one.area.bytes > 0 || one.size == 0;
    if flavor == Flavor::Dynamic || (flavor == Flavor::Create && !all.iter().all(reached)) {
        let next = (1..=all.len()).map(|step| (rank + step) % all.len()).find(|&next| agents[next].is_none());
        let next = next.unwrap_or(rank);
        let mut can = next == rank || can_reach(guard, members.peer(Rank::new(next)), all[next].probe);
        if has_nodes {
            // The agent must reach it, too. What it cannot tell is told by the registration below.
            let reaches = far::can_be_reached(guard, own_info.probe, PROBE_VALUE).unwrap_or(false);
            can = can && guard.engine.may_copy() && reaches;
        }
        let participants = guard.comm_mut(comm)?.participants(own)?;
        separate = !run_agreement(call, guard, |io| async move { io.all(&participants, can).await })?;
    }
    if separate && flavor == Flavor::Dynamic {
        bail!(
            MPI_ERR_RMA_ATTACH,
            "memory of other processes cannot be reached here: process_vm_readv is forbidden or was switched off; \
             use MPI_Win_allocate or MPI_Win_create"
        );
    }

    let is_logged = !has_nodes && !separate && all.iter().all(|one| one.checked);
    let plan = MemoryLayout::new(flavor, &all, &agents, (separate, is_logged))?;
    let leader = agents.iter().position(Option::is_none).unwrap_or(rank);
    let mapping = match has_nodes {
        false => map_together(call, guard, comm, rank, plan.bytes)?,
        true => map_on_each_node(call, guard, comm, (rank, leader), plan.bytes)?,
    };
    let mapped =
        mapping.and_then(|mapping| Ok((mapping, map_others(guard, &members, &all, &agents, (rank, separate))?)));
    let (offset, mapped) = match mapped {
        Ok(mapped) => (plan.aligned(rank, &mapped.0), Ok(mapped)),
        Err(error) => (0, Err(error)),
    };
    // The control words are at offset zero, so zero means that the memory could not be mapped.
    let participants = guard.comm_mut(comm)?.participants(own)?;
    let offsets = run_agreement(call, guard, |io| async move { io.gather(&participants, &[offset as u64]).await })?;
    let (mapping, others) = mapped?;
    if offsets.contains(&0) {
        if rank == leader {
            guard.engine.node_mut().release(mapping.area());
        }
        bail!(MPI_ERR_NO_MEM, "another process cannot map the window's memory");
    }
    let member = |number: usize| {
        let MemberInfo { size, unit, address, area, .. } = all[number];
        let (offset, process) = (plan.offset(number, &offsets), members.peer(Rank::new(number)));
        let (shared, agent) = (area.bytes > 0, agents[number]);
        WindowMember { process, size, unit, address, offset, shared, agent }
    };
    let granularity = all[0].granularity as usize;
    let agreed = granularity > 0 && all.iter().all(|one| one.granularity == all[0].granularity);
    let granularity = agreed.then(|| granularity.clamp(64, 1 << 20));
    let no_locks = hints.boolean("no_locks") == Some(true);
    let window_members = (0..all.len()).map(member).collect();
    // Valgrind sees what this process writes, and not what a target writes for it.
    let single_copy = guard.engine.may_copy() && !valgrind::is_on();
    let node = guard.engine.node();
    let ends = node.goes_on().then(|| node.ends_of(members.iter()));
    let spec = WindowSpec {
        flavor,
        rank,
        no_locks,
        members: window_members,
        separate,
        granularity,
        single_copy,
        mapping,
        others,
        number,
        ends,
        log: plan.log,
    };
    // SAFETY: the mapping is as large as the layout requires, and fresh, so it is all zeroes.
    let window = unsafe { Window::new(spec) };
    if let Some(number) = number {
        let place = match flavor {
            Flavor::Create | Flavor::Dynamic if separate => Place::InArea(offset as u64),
            Flavor::Create if area.bytes > 0 => {
                Place::InOther { area: (area.offset as u64, area.bytes as u64), inside: inside as u64 }
            }
            Flavor::Create | Flavor::Dynamic => Place::InProcess(address as u64),
            Flavor::Allocate | Flavor::Shared => Place::InArea(offset as u64),
        };
        let registered = register(call, guard, comm, &window, (number, size, place));
        if let Err(error) = registered {
            // Where a rank has failed, others may have the window, and use its memory: then it stays.
            if rank == leader && !error.is_survivable() {
                guard.engine.node_mut().release(window.area());
            }
            return Err(error);
        }
    }
    let group = Arc::new(Group::new(members, session));
    let context = all[0].key as u32;
    let made = Win { window, group, errhandler: MPI_ERRORS_ARE_FATAL, name: Vec::new(), hints, context };
    guard.add_window(made)
}

/// Whether the ranks are on several nodes, and an error if they cannot have a window there. All ranks find the same, since
/// all know the nodes of all.
fn check_nodes(guard: &Guard, comm: Comm, flavor: Flavor) -> Result<bool> {
    let found = guard.comm(comm)?;
    if guard.is_on_this_node(&found.group) {
        return Ok(false);
    }
    let name = found.describe();
    if flavor == Flavor::Shared {
        bail!(
            MPI_ERR_RMA_SHARED,
            "the processes of {name} are on several nodes and share no memory; MPI_Comm_split_type with \
             MPI_COMM_TYPE_SHARED makes communicators whose processes do"
        );
    }
    if guard.agents.is_none() {
        bail!(MPI_ERR_OTHER, "the processes of {name} are on several nodes; a window needs the agents of these nodes");
    }
    Ok(true)
}

/// Where the ranks of a window on several nodes are. An agent serves the ranks of one job on one node, so ranks of another
/// job are elsewhere, on the same machine too.
struct Places {
    /// The agent of each rank that is not of this job and node.
    agents: Vec<Option<AgentId>>,
    /// The first rank of the job of each rank, which gives the window its number there.
    firsts: Vec<usize>,
}

impl Places {
    fn new(guard: &mut Guard, members: &Ranks) -> Places {
        let node = guard.engine.node();
        let ids: Vec<ProcessId> = members.iter().map(|process| node.id_of(process)).collect();
        let own = node.own_id();
        let mut first_of = BTreeMap::new();
        let firsts = ids.iter().enumerate().map(|(rank, id)| *first_of.entry(id.job).or_insert(rank)).collect();
        let mut agent = |id: &ProcessId| {
            let is_here = (id.job, id.node) == (own.job, own.node);
            guard.agents.as_mut().filter(|_| !is_here).map(|agents| agents.id_of(id.job, id.node.number()))
        };
        Places { agents: ids.iter().map(&mut agent).collect(), firsts }
    }
}

fn new_number(guard: &mut Guard) -> u64 {
    let own = guard.engine.node().nodes().own().index();
    guard.agents.as_mut().map_or(0, |agents| agents.new_window(own))
}

/// Tells the agent of each node about the window. No rank goes on before all agents know it.
fn register(
    call: &Call,
    guard: &mut Guard,
    comm: Comm,
    window: &Window,
    (number, size, memory): (u64, usize, Place),
) -> Result<()> {
    let area = window.area();
    let told = Registration {
        ranks: window.size() as u32,
        dynamic: window.flavor == Flavor::Dynamic,
        block_shift: window.block_shift() as u8,
        area: (area.offset as u64, area.bytes as u64),
        memory,
        size: size as u64,
    };
    let registered = far::register(guard, number, window.rank, &told);
    let own = own_peer(guard);
    let participants = guard.comm_mut(comm)?.participants(own)?;
    let can = registered.is_ok();
    let all = run_agreement(call, guard, |io| async move { io.all(&participants, can).await });
    if !matches!(all, Ok(true)) && can {
        far::unregister(guard, number, window.rank)?;
    }
    registered?;
    if !all? {
        bail!(MPI_ERR_OTHER, "the agent of another node cannot serve the window");
    }
    Ok(())
}

/// Maps memory from `MPI_Alloc_mem` of other ranks.
fn map_others(
    guard: &Guard,
    members: &Ranks,
    all: &[MemberInfo],
    agents: &[Option<ServedBy>],
    (rank, separate): (usize, bool),
) -> Result<Vec<Option<(Mapping, usize)>>> {
    let map = |(number, one): (usize, &MemberInfo)| {
        let process = members.peer(Rank::new(number));
        if separate || number == rank || one.area.bytes == 0 || agents[number].is_some() {
            return Ok(None);
        }
        match guard.engine.node().map(process, one.area) {
            Ok(mapping) => Ok(Some((mapping, one.inside))),
            Err(error) => bail!(MPI_ERR_NO_MEM, "the memory of rank {number} cannot be mapped: {error}"),
        }
    };
    all.iter().enumerate().map(map).collect()
}

/// Whether another process's memory can be read.
fn can_reach(guard: &Guard, process: Peer, address: usize) -> bool {
    let mut word = [0u64];
    let local = word.as_mut_ptr().expose_provenance();
    let read = guard.engine.node().copy_from(process, &[(local, 8)], &[(address, 8)]);
    // One that is not there any more cannot be read either. The ranks find that out when they agree next.
    let has_died = read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionAborted);
    guard.engine.may_copy() && (has_died || read.is_ok() && word[0] == PROBE_VALUE)
}

/// The layout of a window's memory: one area, behind the control words.
struct MemoryLayout {
    bytes: usize,
    alignments: Vec<usize>,
    /// The earliest offset of each rank's memory, before alignment.
    starts: Vec<usize>,
    /// The memory of all ranks is contiguous; the first rank that has memory decides where it
    /// begins.
    contiguous: bool,
    first: usize,
    /// The log of accesses.
    log: Option<usize>,
}

impl MemoryLayout {
    /// `agents`: those of ranks that are not on this node, and have no memory here.
    fn new(
        flavor: Flavor,
        all: &[MemberInfo],
        agents: &[Option<ServedBy>],
        (separate, is_logged): (bool, bool),
    ) -> Result<MemoryLayout> {
        let control = Control::bytes(all.len(), flavor == Flavor::Dynamic);
        let contiguous = all.iter().all(|one| one.contiguous);
        let has_memory = separate || matches!(flavor, Flavor::Allocate | Flavor::Shared);
        let mut end = Some(control);
        let mut starts = Vec::with_capacity(all.len());
        for (one, agent) in all.iter().zip(agents) {
            starts.push(end.unwrap_or(0));
            if !has_memory || agent.is_some() {
                continue;
            }
            // Addresses are already aligned to pages; for larger alignments there is extra room.
            let extra = if one.alignment > PAGE { one.alignment } else { 0 };
            end = end.and_then(|end| match contiguous {
                true => end.checked_add(one.size)?.checked_add(extra),
                false => end.checked_add(one.size)?.checked_add(extra)?.checked_next_multiple_of(PAGE),
            });
        }
        let log = end.filter(|_| is_logged).and_then(|end| end.checked_next_multiple_of(PAGE));
        let end = log.map_or(end, |log| log.checked_add(AccessLog::bytes(all.len())));
        let Some(bytes) = end.filter(|bytes| *bytes <= isize::MAX as usize) else {
            bail!(MPI_ERR_NO_MEM, "the sizes of all processes together are more than memory can hold");
        };
        let first = all.iter().position(|one| one.size > 0).unwrap_or(0);
        let sizes: Vec<usize> = all.iter().map(|one| one.size).collect();
        if contiguous {
            // Relative to the start of the first rank's memory.
            starts = sizes.iter().scan(0, |sum, size| Some(std::mem::replace(sum, *sum + size))).collect();
            starts.iter_mut().for_each(|start| *start += control);
        }
        let alignments = all.iter().map(|one| one.alignment).collect();
        Ok(MemoryLayout { bytes, alignments, starts, contiguous, first, log })
    }

    /// The offset of this rank's memory, or of the first one, that is aligned here.
    fn aligned(&self, rank: usize, mapping: &Mapping) -> usize {
        let start = if self.contiguous { self.starts[0] } else { self.starts[rank] };
        let base = mapping.base().addr().get();
        (base + start).next_multiple_of(self.alignments[rank]) - base
    }

    /// The offset of a rank's memory, after all have exchanged theirs.
    fn offset(&self, rank: usize, offsets: &[u64]) -> usize {
        match self.contiguous {
            true => offsets[self.first] as usize + (self.starts[rank] - self.starts[0]),
            false => offsets[rank] as usize,
        }
    }
}

/// Shared memory that the first rank allocates and all map. All ranks get the same outer error.
pub fn map_together(call: &Call, guard: &mut Guard, comm: Comm, rank: usize, bytes: usize) -> Result<Result<Mapping>> {
    let mut words = [0; 2];
    if rank == 0
        && bytes as u64 <= physical_memory()
        && let Ok(area) = guard.engine.node_mut().allocate(bytes)
    {
        words = [area.offset as u64, area.bytes as u64];
    }
    let own = own_peer(guard);
    let participants = guard.comm_mut(comm)?.participants(own)?;
    let owner = participants.members.peer(Rank::new(0));
    let words = run_agreement(call, guard, |io| async move {
        io.tell(&participants, &mut words).await?;
        Ok::<_, Error>(words)
    })?;
    if words[1] == 0 {
        bail!(MPI_ERR_NO_MEM, "no shared memory for the {bytes} bytes of all processes together");
    }
    let area = Area { offset: words[0] as usize, bytes: words[1] as usize };
    let map = guard.engine.node().map(owner, area);
    Ok(map.map_err(|error| {
        Error::new(MPI_ERR_NO_MEM, format!("{bytes} bytes of shared memory cannot be mapped: {error}"))
    }))
}

/// As [`map_together`], for the ranks of each node: the first one of a node, `leader`, allocates.
fn map_on_each_node(
    call: &Call,
    guard: &mut Guard,
    comm: Comm,
    (rank, leader): (usize, usize),
    bytes: usize,
) -> Result<Result<Mapping>> {
    let mut words = [0; 2];
    if rank == leader
        && bytes as u64 <= physical_memory()
        && let Ok(area) = guard.engine.node_mut().allocate(bytes)
    {
        words = [area.offset as u64, area.bytes as u64];
    }
    let own = own_peer(guard);
    let participants = guard.comm_mut(comm)?.participants(own)?;
    let owner = participants.members.peer(Rank::new(leader));
    let all = run_agreement(call, guard, |io| async move { io.gather(&participants, &words).await })?;
    let none =
        || Error::new(MPI_ERR_NO_MEM, format!("no shared memory for the {bytes} bytes of this node's processes"));
    let area = match all.chunks_exact(2).nth(leader) {
        Some(&[offset, bytes]) if bytes > 0 => Area { offset: offset as usize, bytes: bytes as usize },
        _ => return Ok(Err(none())),
    };
    Ok(guard.engine.node().map(owner, area).map_err(|error| none().within(error)))
}

/// Waits for all ranks of a window.
pub fn synchronize(call: &Call, guard: &mut Guard, win: Handle) -> Result<()> {
    let window = &guard.win(win)?.window;
    let (rounds, is_on_nodes) = (window.control.rounds(), window.number().is_some());
    for round in 0..rounds {
        let goal = guard.win(win)?.window.arrive(guard.engine.node(), round);
        if is_on_nodes {
            far::tell_round(guard, win, round, goal)?;
        }
        call.wait_window(guard, win, Awaited::Round(round, goal), |window| window.has_arrived(round, goal))?;
    }
    Ok(())
}

/// Frees a window: first its attributes, whose callbacks may still use it, then the rest.
/// Collective.
pub fn remove(call: &Call, win: Handle) -> Result<()> {
    call.enter()?.win(win)?.window.check_idle()?;
    call.library().delete_attributes(Object::Win(win))?;
    let mut guard = call.enter()?;
    guard.win_mut(win)?.window.synchronize_copies();
    // Also after an error the window is freed: the others wait for this rank.
    let flushed = far::flush_all(&mut guard, win);
    // In a job that goes on, it is freed by this rank alone after a failure.
    let synchronized = guard.check_window(win).and_then(|()| synchronize(call, &mut guard, win));
    let alone = matches!(&synchronized, Err(error) if error.is_survivable());
    if !alone {
        synchronized?;
    }
    guard.win_mut(win)?.window.synchronize_copies();
    let window = &guard.win(win)?.window;
    if let (Some(number), rank) = (window.number(), window.rank) {
        far::unregister(&mut guard, number, rank)?;
    }
    // The first rank of the node frees the memory when no rank uses it any more.
    let window = &guard.win(win)?.window;
    let leader = window.near_ranks().next().unwrap_or(window.rank);
    let others = window.near_ranks().count() as u32 - 1;
    let mut deserted = !alone;
    if window.rank == leader {
        let left = |window: &mut Window| window.control.left().load(Ordering::Acquire) == others;
        if !alone {
            let waited = call.wait_window(&mut guard, win, Awaited::All, left);
            deserted = !matches!(&waited, Err(error) if error.is_survivable());
            if deserted {
                waited?;
            }
        }
    } else {
        let first = window.process_of(leader);
        window.control.left().fetch_add(1, Ordering::SeqCst);
        guard.engine.node().wake(first);
    }
    let Some(removed) = guard.remove_window(win) else { return Ok(()) };
    let (area, is_first) = (removed.window.area(), removed.window.rank == leader);
    call.library().errhandlers().detach(removed.errhandler);
    drop(removed);
    // Where ranks have failed, others may still use it: then it stays.
    if is_first && deserted {
        guard.engine.node_mut().release(area);
    }
    match flushed {
        // Nobody waits for what the dead have not done.
        Err(error) if alone && error.is_survivable() => Ok(()),
        flushed => flushed,
    }
}

/// Checks a displacement unit.
pub fn check_unit(unit: i64) -> Result<()> {
    if unit <= 0 {
        bail!(MPI_ERR_DISP, "the displacement unit is {unit}; it must be positive");
    }
    Ok(())
}

pub fn check_size(size: i64) -> Result<usize> {
    match usize::try_from(size) {
        Ok(size) => Ok(size),
        Err(_) => bail!(MPI_ERR_SIZE, "the size is {size}, which is negative"),
    }
}

/// Checks the communicator of a window.
pub fn check_comm(guard: &Guard, comm: Comm) -> Result<()> {
    check_intra(guard.comm(comm)?)
}
