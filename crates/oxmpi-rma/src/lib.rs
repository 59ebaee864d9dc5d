//! One-sided communication: memory of each rank that the other ranks of a group can access.
//!
//! No access needs the help of the target. Memory that the library allocated lies in the job's
//! segment and is mapped by all ranks: an access is a copy. The program's own memory is reached
//! with single-copy system calls. Where the kernel forbids those, every rank has a public copy of
//! its memory in the segment, which is synchronised in its own synchronisation calls: that is the
//! standard's separate memory model, and the window reports it.
//!
//! `control.rs` has the words that ranks share beside the memory, `epoch.rs` the epochs,
//! `target_region.rs` finds the memory that an access names, `transfer.rs` and `accumulate.rs`
//! perform accesses. All accesses are complete when they return. `assist.rs` makes small ones
//! faster while the target is in the library, `cooperative.rs` long ones. Nothing here waits; the
//! caller does. `access_log.rs` is for `--check`.

pub mod access_log;
mod accumulate;
mod assist;
mod control;
mod cooperative;
mod epoch;
pub mod far;
mod request;
mod scattered;
mod target_region;
mod transfer;

use access_log::AccessLog;
pub use accumulate::{Combine, check_comparable, only_element, predefined_combine};
pub use control::{Control, WindowLock};
pub use cooperative::SHORTEST_MAPPED;
pub use epoch::Unlocked;
use far::origin::{FarRank, ServedBy};
pub use target_region::TargetRegion;

use assist::ResponseHistory;
use control::STRIPES;
use epoch::{Access, Exposure, Open};
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result};
use oxmpi_base::arena::{Area, Mapping};
use oxmpi_base::message_queues::slice_len_place;
use oxmpi_base::{stripe, valgrind};
use oxmpi_transport::{NodeMemory, Peer};
use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, AtomicU32};

/// Where the memory of a window comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub enum Flavor {
    Create = MPI_WIN_FLAVOR_CREATE,
    Allocate = MPI_WIN_FLAVOR_ALLOCATE,
    Dynamic = MPI_WIN_FLAVOR_DYNAMIC,
    Shared = MPI_WIN_FLAVOR_SHARED,
}

pub struct Window {
    // ---- read by every operation ----
    targets: Box<[Target]>,
    /// Every rank can be accessed: after a fence, or between `MPI_Win_lock_all` and
    /// `MPI_Win_unlock_all`.
    all_open: bool,
    /// Operations were issued since the last fence.
    touched: bool,
    // ---- the rest ----
    pub flavor: Flavor,
    pub rank: usize,
    /// The program promised to use no locks.
    pub no_locks: bool,
    /// The values of predefined attributes that C reads through an address.
    pub facts: Box<Facts>,
    /// The address of this rank's memory in the program.
    pub base: usize,
    access: Access,
    /// `MPI_PROC_NULL` is among the locked ranks.
    proc_null_locked: bool,
    exposure: Exposure,
    /// How often each rank was the target of a start, and how often this rank's memory was exposed
    /// to each rank.
    started: Box<[u32]>,
    exposed: Box<[u32]>,
    /// Others have not mapped this rank's memory, and may send it assist requests.
    is_remote: bool,
    /// All ranks have mapped this rank's memory, but may offer it parts of long operations and ring
    /// its work doorbell.
    has_work_doorbell: bool,
    /// The value of the work doorbell that this rank has seen.
    heard: AtomicU32,
    /// Accesses by this rank before it polls for assist requests again.
    passing: AtomicU32,
    /// The kernel does not let targets help.
    helpless: AtomicBool,
    /// How each rank has answered assist requests.
    history: Box<[ResponseHistory]>,
    /// Pauses before the first poll for the answer to an assist request.
    answering_pauses: u32,
    /// Pauses between polls for a stripe that another rank holds.
    stripe_pauses: u32,
    /// Accumulates on addresses that are equal after this shift exclude each other.
    block_shift: u32,
    /// The public copy of this rank's memory, if there is one, and its content when both copies
    /// were last equal.
    copies: Option<Copies>,
    pub control: Control,
    /// The memory allocated for the window; its first rank frees it.
    pub mapping: Mapping,
    /// For `--check`: the accesses that are not complete.
    pub log: Option<AccessLog>,
    /// Memory of programs in other ranks that lies in the segment.
    _others: Vec<Option<(Mapping, usize)>>,
    /// The number that the agents of the own job know the window by, if it has ranks on several nodes.
    number: Option<u64>,
    /// The agents of all ranks that are elsewhere, each once.
    far: Box<[ServedBy]>,
    ends: Option<Ends>,
    /// No rank may be accessed any more.
    is_revoked: bool,
}

/// A rank's memory, as this process accesses it.
pub(crate) struct Target {
    /// The address where it is mapped here; null if it is not.
    pub base: *mut u8,
    pub size: usize,
    pub unit: i64,
    pub open: Open,
    pub reach: Reach,
    /// If the rank is on another node: its agent, among those of the window.
    pub agent: u32,
    /// The address in its own process.
    pub address: usize,
    pub process: Peer,
}

/// How a rank's memory is accessed, which does not change while the window exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Reach {
    /// It is mapped here, or is this process's own.
    Here,
    /// With system calls.
    Process,
    /// By the agent of its node.
    Agent,
}

// SAFETY: an address of shared memory; epochs decide when it is accessed.
unsafe impl Send for Target {}
// SAFETY: nothing changes through `&Target`.
unsafe impl Sync for Target {}

/// Consecutive bytes of another process in a rank's window.
#[derive(Clone, Copy)]
pub struct RemoteRun {
    pub rank: usize,
    pub process: Peer,
    pub address: usize,
    /// Bytes from the start of the window.
    pub offset: usize,
}

impl RemoteRun {
    /// The run that begins so many bytes later.
    pub(crate) fn behind(self, bytes: usize) -> RemoteRun {
        RemoteRun { address: self.address + bytes, offset: self.offset + bytes, ..self }
    }
}

#[repr(C)]
pub struct Facts {
    pub size: i64,
    pub disp_unit: i32,
    pub flavor: i32,
    pub model: i32,
}

struct Copies {
    public: *mut u8,
    twin: Vec<u8>,
}

// SAFETY: addresses of memory of this process and of the segment; nothing in it belongs to a
// thread.
unsafe impl Send for Copies {}
// SAFETY: nothing changes through `&Copies`.
unsafe impl Sync for Copies {}

/// What the ranks agreed on about one member.
#[derive(Clone, Copy, Debug)]
pub struct WindowMember {
    pub process: Peer,
    pub size: usize,
    pub unit: i64,
    /// In its own process: the address of memory that the program provided.
    pub address: usize,
    /// In the mapping: the offset of memory that the library provided, or of a public copy.
    pub offset: usize,
    /// The program's memory lies in the segment, and others map it.
    pub shared: bool,
    /// The agent of the rank's node, if this process accesses its memory through that.
    pub agent: Option<ServedBy>,
}

/// How much memory an accumulate locks at a time unless the program asks otherwise. More in long
/// windows: all locks are in use there anyway, and long runs then take few of them.
const BLOCK: usize = 4 << 10;
const LONG_BLOCK: usize = 32 << 10;

/// The arguments of [`Window::new`].
pub struct WindowSpec {
    pub flavor: Flavor,
    pub rank: usize,
    pub no_locks: bool,
    pub members: Vec<WindowMember>,
    /// The program's memory is accessed through public copies.
    pub separate: bool,
    /// How much memory an accumulate locks at a time, if the program says so.
    pub granularity: Option<usize>,
    /// Whether single copies with other processes are possible.
    pub single_copy: bool,
    pub mapping: Mapping,
    /// Where memory of other ranks' programs that lies in the segment is mapped here, and the
    /// offset in that mapping.
    pub others: Vec<Option<(Mapping, usize)>>,
    /// The number of a window that has ranks on several nodes.
    pub number: Option<u64>,
    /// Tells whether a rank has ended, if the others go on then.
    pub ends: Option<Ends>,
    /// Where in the mapping the log of accesses is, if there is one.
    pub log: Option<usize>,
}

/// Tells whether a rank of a window has ended.
pub type Ends = Box<dyn Fn(usize) -> bool + Send + Sync>;

impl Window {
    /// Where a debugger finds, in a window, its own rank, the number of ranks, the address of its memory, and the address of
    /// its facts.
    pub fn places() -> [u32; 4] {
        let ranks = slice_len_place(offset_of!(Window, targets));
        let word = |place: usize| place as u32;
        [word(offset_of!(Window, rank)), ranks, word(offset_of!(Window, base)), word(offset_of!(Window, facts))]
    }

    /// Whether a rank has ended, in a job that goes on.
    #[cold]
    pub(crate) fn is_gone(&self, rank: usize) -> bool {
        self.ends.as_ref().is_some_and(|has_ended| rank < self.size() && has_ended(rank))
    }

    /// # Safety
    /// The mapping begins with [`Control::bytes`] zeroes for this window alone, and the memory of
    /// the members follows, and the zeroes of the log; the program's memory stays valid until the window is freed.
    pub unsafe fn new(spec: WindowSpec) -> Window {
        let WindowSpec { flavor, rank, no_locks, members, separate, granularity, single_copy, .. } = spec;
        let WindowSpec { mapping, others, number, ends, log, .. } = spec;
        let size = members.len();
        // SAFETY: the mapping begins with that many zeroes for this window alone, and the window keeps it.
        let control =
            unsafe { Control::new(mapping.base(), size, flavor == Flavor::Dynamic) }.recovering(ends.is_some());
        // SAFETY: the mapping has zeroes for the log at that offset, in whole pages, and the window keeps it.
        let log = log.map(|at| unsafe { AccessLog::new(mapping.base().add(at), size, rank) });
        let at = |member: &WindowMember| mapping.base().as_ptr().wrapping_add(member.offset);
        let library_gave = matches!(flavor, Flavor::Allocate | Flavor::Shared);
        let mut far: Vec<ServedBy> = members.iter().filter_map(|member| member.agent).collect();
        far.sort_unstable_by_key(|by| by.agent);
        far.dedup();
        let targets = members.iter().enumerate().map(|(number, member)| {
            let base = match flavor {
                _ if member.agent.is_some() => std::ptr::null_mut(),
                _ if library_gave || separate => at(member),
                _ if number == rank => std::ptr::with_exposed_provenance_mut(member.address),
                _ => match &others[number] {
                    Some((mapping, inside)) => mapping.base().as_ptr().wrapping_add(*inside),
                    None => std::ptr::null_mut(),
                },
            };
            let WindowMember { process, size, unit, address, agent, .. } = *member;
            let reach = match agent {
                Some(_) => Reach::Agent,
                None if number == rank || !base.is_null() => Reach::Here,
                None => Reach::Process,
            };
            // Requests name bytes of the window, or addresses in a dynamic one.
            let address = if agent.is_some() { 0 } else { address };
            let agent = far.iter().position(|&by| Some(by) == agent).unwrap_or(0) as u32;
            Target { base, size, unit, open: Open::Shut, reach, agent, address, process }
        });
        let targets: Box<[Target]> = targets.collect();
        let own = members[rank];
        let base = if library_gave { at(&own) as usize } else { own.address };
        let facts = Facts {
            size: own.size as i64,
            disp_unit: i32::try_from(own.unit).unwrap_or(MPI_UNDEFINED),
            flavor: flavor as i32,
            model: if separate { MPI_WIN_SEPARATE } else { MPI_WIN_UNIFIED },
        };
        let longest = members.iter().map(|member| member.size).max().unwrap_or(0);
        let block = granularity.unwrap_or((longest / STRIPES).clamp(BLOCK, LONG_BLOCK));
        let near = members.iter().filter(|member| member.agent.is_none()).count();
        let is_long = longest >= SHORTEST_MAPPED;
        let mut window = Window {
            targets,
            all_open: false,
            touched: false,
            flavor,
            rank,
            no_locks,
            facts: Box::new(facts),
            base,
            access: Access::Closed,
            proc_null_locked: false,
            exposure: Exposure::Closed,
            started: vec![0; size].into(),
            exposed: vec![0; size].into(),
            is_remote: !library_gave && !separate && !own.shared && near > 1,
            has_work_doorbell: (library_gave || own.shared) && single_copy && !separate && is_long && near > 1,
            heard: AtomicU32::new(0),
            passing: AtomicU32::new(0),
            helpless: AtomicBool::new(!single_copy),
            answering_pauses: assist::answering_pauses(),
            history: (0..size).map(|_| ResponseHistory::default()).collect(),
            stripe_pauses: if library_gave || separate { stripe::SELDOM } else { stripe::OFTEN },
            block_shift: block.next_power_of_two().trailing_zeros(),
            copies: separate.then(|| Copies { public: at(&own), twin: vec![0; own.size] }),
            control,
            mapping,
            log,
            _others: others,
            number,
            far: far.into(),
            ends,
            is_revoked: false,
        };
        window.synchronize_copies();
        window
    }

    pub fn size(&self) -> usize {
        self.targets.len()
    }

    pub fn area(&self) -> Area {
        self.mapping.area()
    }

    pub fn disp_unit(&self) -> i64 {
        self.targets[self.rank].unit
    }

    /// The process of a rank.
    pub fn process_of(&self, rank: usize) -> Peer {
        self.targets[rank].process
    }

    /// Wakes all other ranks that sleep.
    pub fn wake_all(&self, node: &NodeMemory) {
        let is_near = |target: &&Target| target.process != node.own() && target.reach != Reach::Agent;
        for target in self.targets.iter().filter(is_near) {
            node.wake(target.process);
        }
    }

    /// The number that agents of the own job know the window by, if it has ranks on several nodes.
    pub fn number(&self) -> Option<u64> {
        self.number
    }

    /// How the bits of an address are shifted to find its stripe.
    pub fn block_shift(&self) -> u32 {
        self.block_shift
    }

    /// A rank of another node, as requests name it; `None` for one of this node.
    #[inline]
    pub fn far_rank(&self, rank: usize) -> Option<FarRank> {
        let target = &self.targets[rank];
        if target.reach != Reach::Agent {
            return None;
        }
        let by = *self.far.get(target.agent as usize)?;
        Some(FarRank { by, origin: self.rank as u32, target: rank as u32 })
    }

    /// The agents of ranks of the window on other nodes, each once.
    pub fn far_agents(&self) -> &[ServedBy] {
        &self.far
    }

    /// The ranks of this node, in order.
    pub fn near_ranks(&self) -> impl Iterator<Item = usize> {
        self.targets.iter().enumerate().filter(|(_, target)| target.reach != Reach::Agent).map(|(rank, _)| rank)
    }

    /// The address here of bytes in a rank's memory, if they are mapped, in the window and may be
    /// accessed now. `None` for everything unusual or wrong.
    #[inline(always)]
    pub fn try_mapped(&mut self, rank: i32, disp: i64, bytes: usize) -> Option<*mut u8> {
        // A negative rank becomes a large one.
        let target = self.targets.get(rank as usize)?;
        if target.base.is_null() || (!self.all_open && target.open == Open::Shut) {
            return None;
        }
        let start = usize::try_from(disp.checked_mul(target.unit)?).ok()?;
        if start > target.size || target.size - start < bytes {
            return None;
        }
        let at = target.base.wrapping_add(start);
        self.touched = true;
        self.poll_requests();
        Some(at)
    }

    /// The bytes of a rank's memory in its own process, if they are not mapped here, are in the
    /// window and may be accessed now. `None` for everything unusual or wrong.
    #[inline]
    pub fn try_remote_run(&mut self, rank: i32, disp: i64, bytes: usize) -> Option<RemoteRun> {
        let number = rank as usize;
        let target = self.targets.get(number)?;
        if target.reach != Reach::Process || (!self.all_open && target.open == Open::Shut) {
            return None;
        }
        let start = usize::try_from(disp.checked_mul(target.unit)?).ok()?;
        let inside = match self.flavor {
            Flavor::Dynamic => {
                self.control.attached(number).contains(start as u64, bytes as u64, || self.is_gone(number))
            }
            _ => start <= target.size && target.size - start >= bytes,
        };
        if !inside {
            return None;
        }
        self.touched = true;
        self.poll_requests();
        Some(RemoteRun { rank: number, process: target.process, address: target.address + start, offset: start })
    }

    /// Arrives at a round of a barrier; returns the number that others must reach.
    pub fn arrive(&self, node: &NodeMemory, round: u32) -> u64 {
        let goal = self.control.arrive(self.rank);
        for waiter in self.control.waiters(self.rank, round).filter(|&waiter| self.is_near(waiter)) {
            node.wake(self.process_of(waiter));
        }
        goal
    }

    /// The agents of other nodes with ranks that wait for this one in a round, each once.
    pub fn waiting_agents(&self, round: u32) -> Vec<ServedBy> {
        let waiters = self.control.waiters(self.rank, round).filter(|&waiter| !self.is_near(waiter));
        let mut agents: Vec<u32> = waiters.map(|waiter| self.targets[waiter].agent).collect();
        agents.sort_unstable();
        agents.dedup();
        agents.into_iter().filter_map(|agent| self.far.get(agent as usize).copied()).collect()
    }

    #[inline]
    pub(crate) fn is_near(&self, rank: usize) -> bool {
        self.targets[rank].reach != Reach::Agent
    }

    #[inline]
    pub fn has_arrived(&self, round: u32, goal: u64) -> bool {
        self.control.has_arrived(self.rank, round, goal)
    }

    /// The ranks that this one waits for in a round and that have not arrived.
    pub fn missing(&self, round: u32, goal: u64) -> impl Iterator<Item = usize> {
        self.control.missing(self.rank, round, goal)
    }

    /// The part of another process's memory that this process can load from and store to: size,
    /// displacement unit and address. The size is zero if there is none.
    pub fn shared_memory(&self, rank: i32) -> Result<(usize, i64, usize)> {
        if self.flavor == Flavor::Dynamic {
            let text = "a window of MPI_Win_create_dynamic has no memory that could be asked for";
            return Err(Error::new(MPI_ERR_RMA_FLAVOR, text));
        }
        let of = |number: usize| {
            let target = &self.targets[number];
            match (target.base.is_null(), self.copies.is_some()) {
                // The program's own memory is the one that its own process uses.
                (_, true) if number == self.rank => (target.size, target.unit, self.base),
                (false, false) => (target.size, target.unit, target.base as usize),
                _ => (0, target.unit, 0),
            }
        };
        if rank == MPI_PROC_NULL {
            // The first rank with any memory, whether or not it can be accessed.
            let first = (0..self.size()).find(|&number| self.targets[number].size > 0);
            return Ok(first.map_or((0, self.disp_unit(), 0), of));
        }
        self.check_rank(rank).map(of)
    }

    /// Checks a rank of the window's group.
    pub fn check_rank(&self, rank: i32) -> Result<usize> {
        match usize::try_from(rank) {
            Ok(number) if number < self.size() => Ok(number),
            _ => Err(self.bad_rank(rank)),
        }
    }

    #[cold]
    fn bad_rank(&self, rank: i32) -> Error {
        let size = self.size();
        let text = format!("rank {rank} does not exist in the window, which has {size} ranks (0 to {})", size - 1);
        Error::new(MPI_ERR_RANK, text)
    }

    /// Synchronises both copies of this rank's memory, if there are two: what changed in one since
    /// the last time is copied to the other. A correct program changes no byte in both.
    pub fn synchronize_copies(&mut self) {
        let Some(Copies { public, twin }) = &mut self.copies else {
            if valgrind::is_on() {
                self.show_to_valgrind();
            }
            return;
        };
        let private: *mut u8 = std::ptr::with_exposed_provenance_mut(self.base);
        for (index, known) in twin.iter_mut().enumerate() {
            // SAFETY: both copies are as long as the twin. Bytes are copied one by one and
            // volatile, since other ranks may change other bytes of the public copy.
            unsafe {
                let (own, shown) = (private.add(index), public.add(index));
                let (now, theirs) = (own.read_volatile(), shown.read_volatile());
                if now != *known {
                    shown.write_volatile(now);
                    *known = now;
                } else if theirs != *known {
                    own.write_volatile(theirs);
                    *known = theirs;
                }
            }
        }
    }

    /// Other ranks may have written to any byte of this rank's memory.
    #[cold]
    fn show_to_valgrind(&self) {
        match self.flavor {
            Flavor::Dynamic => self.control.attached(self.rank).regions().for_each(|(base, size)| {
                valgrind::make_defined(base as usize, size as usize);
            }),
            _ => valgrind::make_defined(self.base, self.facts.size as usize),
        }
    }

    /// Whether this rank may get [requests](Window::serve).
    pub fn may_serve(&self) -> bool {
        self.is_remote || self.has_work_doorbell
    }
}
