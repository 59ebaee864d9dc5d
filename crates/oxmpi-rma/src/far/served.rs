//! The windows of the ranks of a node, as its agent knows them. Every rank registers its part of a window before the call
//! that makes it returns, and takes it back before it is freed.
//!
//! The agent uses the same words as the ranks: their locks, stripes and counters. What a rank registers is checked against
//! the segment, so that a wrong number is an error of that rank and never a fault of the agent.

use super::wire::{Place, Registration};
use crate::Control;
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::arena::{Area, Mapping};
use oxmpi_base::cma::{self, Piece};
use oxmpi_base::pid::Pid;
use oxmpi_base::segment::{PAGE, Segment};
use oxmpi_base::wait::{self, WakeFence};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError, RwLock};

/// The ranks of a node and their windows.
pub struct ServedNode {
    segment: Arc<Segment>,
    fence: WakeFence,
    windows: RwLock<HashMap<u64, Arc<ServedWindow>>>,
}

/// A window, as far as ranks of this node have registered it.
pub struct ServedWindow {
    pub(super) control: Control,
    pub(super) dynamic: bool,
    pub(super) block_shift: u32,
    ranks: usize,
    members: RwLock<HashMap<u32, Arc<ServedMember>>>,
    /// Whether the processes of the job go on when some of them die.
    goes_on: bool,
    /// Ranks of the window, of any node, that have ended and left locks or memory behind, in a job that goes on.
    lost: RwLock<BTreeSet<u32>>,
    mapping: Mapping,
}

/// The memory of one rank.
pub struct ServedMember {
    pub(super) slot: usize,
    pub(super) memory: Memory,
    pub(super) size: usize,
    _mapping: Option<Mapping>,
}

#[derive(Clone, Copy)]
pub(super) enum Memory {
    /// The address of the window's first byte here.
    Mapped(*mut u8),
    /// The address in the rank's process.
    Process(usize),
}

// SAFETY: addresses of shared memory that the mappings beside them keep; it is accessed with raw copies and atomics only.
unsafe impl Send for ServedMember {}
// SAFETY: nothing changes through `&ServedMember`; accesses to its memory are raw copies, as those of ranks are.
unsafe impl Sync for ServedMember {}

/// More ranks than any window has.
const MOST_RANKS: u32 = 1 << 16;

impl ServedNode {
    /// The agent of the node whose segment this is. Registers the process for the barriers of sleepers.
    pub fn new(segment: Arc<Segment>) -> ServedNode {
        ServedNode { segment, fence: wait::register(), windows: RwLock::default() }
    }

    pub(super) fn window(&self, number: u64) -> Result<Arc<ServedWindow>> {
        let windows = self.windows.read().unwrap_or_else(PoisonError::into_inner);
        windows.get(&number).cloned().ok_or_else(|| {
            if self.goes_on() {
                // Freeing waits for nobody then, so the origin may not have heard yet why the others have freed it.
                return Error::new(
                    MPIX_ERR_PROC_FAILED,
                    "all ranks of the window on the node of the target have ended, or have freed it after a failure",
                );
            }
            Error::new(MPI_ERR_WIN, "the window does not exist on the node of the target; it may have been freed")
        })
    }

    /// A rank tells about its part of a window.
    pub(super) fn register(&self, number: u64, rank: u32, slot: u32, told: &Registration) -> Result<()> {
        let slot = slot as usize;
        if slot >= self.segment.ranks() || rank >= told.ranks || told.ranks > MOST_RANKS || told.block_shift >= 64 {
            bail!(MPI_ERR_WIN, "rank {rank} of {} in slot {slot} cannot have a window here", told.ranks);
        }
        let mut windows = self.windows.write().unwrap_or_else(PoisonError::into_inner);
        let window = match windows.get(&number) {
            Some(window) => Arc::clone(window),
            None => Arc::new(ServedWindow::new(&self.segment, told)?),
        };
        window.add(&self.segment, rank, slot, told)?;
        windows.insert(number, window);
        Ok(())
    }

    /// Forgets the part of a rank, and the window with its last rank.
    pub(super) fn unregister(&self, number: u64, rank: u32) {
        let mut windows = self.windows.write().unwrap_or_else(PoisonError::into_inner);
        let Some(window) = windows.get(&number) else { return };
        let mut members = window.members.write().unwrap_or_else(PoisonError::into_inner);
        members.remove(&rank);
        // The living may use the memory of a window again once they have freed it. A dead rank's part keeps nothing of it, although
        // the agent may not have heard yet that its connection has ended.
        let has_gone = |member: &Arc<ServedMember>| self.goes_on() && self.segment.has_ended(member.slot);
        let is_empty = members.values().all(has_gone);
        drop(members);
        if is_empty {
            windows.remove(&number);
        }
    }

    /// Whether the processes of the job go on when some of them die.
    pub(super) fn goes_on(&self) -> bool {
        self.segment.goes_on()
    }

    /// The process of a rank has ended without taking back its part of a window.
    pub(super) fn lose(&self, number: u64, rank: u32) {
        if self.goes_on()
            && let Ok(window) = self.window(number)
        {
            window.note_lost(rank);
        }
        self.unregister(number, rank);
    }

    /// Whether the agent can read a word of a rank's memory.
    pub(super) fn can_read(&self, slot: u32, address: u64, expected: u64) -> bool {
        let mut word = [0u64];
        let local = [(word.as_mut_ptr().expose_provenance(), 8)];
        let Ok(pid) = self.pid(slot as usize) else { return false };
        // SAFETY: the word is this function's own, and no reference to it is used during the call.
        let read = unsafe { cma::read(pid, &local, &[(address as usize, 8)]) };
        matches!(read, Ok(8)) && word[0] == expected
    }

    fn pid(&self, slot: usize) -> io::Result<Pid> {
        let block = self.segment.get(slot).ok_or(io::ErrorKind::NotFound)?;
        Pid::new(block.pid.load(Relaxed)).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Copies from the memory of a rank's process; may move fewer bytes than asked for.
    ///
    /// # Safety
    /// The local pieces are memory of this process that may be written and that no reference covers.
    pub(super) unsafe fn read(&self, slot: usize, local: &[Piece], remote: &[Piece]) -> io::Result<usize> {
        // SAFETY: the local pieces may be written: this function's condition.
        unsafe { cma::read(self.pid(slot)?, local, remote) }.map_err(|error| self.why_no_copy(error))
    }

    /// Copies to the memory of a rank's process; may move fewer bytes than asked for.
    ///
    /// # Safety
    /// The local pieces are memory of this process that may be read; the rank has registered the remote ones.
    pub(super) unsafe fn write(&self, slot: usize, local: &[Piece], remote: &[Piece]) -> io::Result<usize> {
        // SAFETY: the local pieces may be read, and the rank gave the others to its window: this function's condition.
        unsafe { cma::write(self.pid(slot)?, local, remote) }.map_err(|error| self.why_no_copy(error))
    }

    /// In a job that goes on after deaths, a process that is not there any more has aborted its connections.
    #[cold]
    fn why_no_copy(&self, error: io::Error) -> io::Error {
        if self.goes_on() { cma::ended(error) } else { error }
    }

    pub(super) fn wake(&self, slot: usize) {
        if let Some(block) = self.segment.get(slot) {
            wait::wake(self.segment.header(), block, self.fence);
        }
    }

    /// Wakes all ranks of the node that are in a window.
    pub(super) fn wake_all(&self, window: &ServedWindow) {
        let members = window.members.read().unwrap_or_else(PoisonError::into_inner);
        members.values().for_each(|member| self.wake(member.slot));
    }
}

impl ServedWindow {
    fn new(segment: &Segment, told: &Registration) -> Result<ServedWindow> {
        let ranks = told.ranks as usize;
        let area = area(segment, told.area)?;
        if Control::bytes(ranks, told.dynamic) > area.bytes {
            bail!(MPI_ERR_WIN, "the area of the window is too small for {ranks} ranks");
        }
        let mapping = map(segment, area)?;
        // SAFETY: the area has room for the words of so many ranks, as was just checked; it is shared memory that only atomics
        // and the ranks' own copies access, and the mapping lives as long as the window.
        let control = unsafe { Control::new(mapping.base(), ranks, told.dynamic) };
        let (dynamic, block_shift) = (told.dynamic, u32::from(told.block_shift));
        Ok(ServedWindow {
            control,
            dynamic,
            block_shift,
            ranks,
            members: RwLock::default(),
            goes_on: segment.goes_on(),
            lost: RwLock::default(),
            mapping,
        })
    }

    fn add(&self, segment: &Segment, rank: u32, slot: usize, told: &Registration) -> Result<()> {
        let own = (self.ranks, self.dynamic, self.block_shift, self.mapping.area());
        let area = area(segment, told.area)?;
        if own != (told.ranks as usize, told.dynamic, u32::from(told.block_shift), area) {
            bail!(MPI_ERR_WIN, "rank {rank} describes the window differently from another rank of its node");
        }
        let size = usize::try_from(told.size).unwrap_or(usize::MAX);
        let (memory, mapping) = match told.memory {
            Place::InArea(offset) => (Memory::Mapped(inside(&self.mapping, offset, size)?), None),
            Place::InProcess(address) => (Memory::Process(address as usize), None),
            Place::InOther { area: other, inside: offset } => {
                let mapping = map(segment, self::area(segment, other)?)?;
                (Memory::Mapped(inside(&mapping, offset, size)?), Some(mapping))
            }
        };
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        members.insert(rank, Arc::new(ServedMember { slot, memory, size, _mapping: mapping }));
        Ok(())
    }

    /// A rank of the window that is on this node.
    pub(super) fn member(&self, rank: u32) -> Result<Arc<ServedMember>> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        members.get(&rank).cloned().ok_or_else(|| {
            if self.goes_on {
                return Error::new(
                    MPIX_ERR_PROC_FAILED,
                    format!("rank {rank} of the window has ended, or has freed it after a failure"),
                );
            }
            Error::new(MPI_ERR_RANK, format!("rank {rank} of the window is not on the node that was asked"))
        })
    }

    /// A rank of the window on any node.
    pub(super) fn check_rank(&self, rank: u32) -> Result<usize> {
        if rank as usize >= self.ranks {
            bail!(MPI_ERR_RANK, "rank {rank} does not exist in the window, which has {} ranks", self.ranks);
        }
        Ok(rank as usize)
    }

    pub(super) fn note_lost(&self, rank: u32) {
        self.lost.write().unwrap_or_else(PoisonError::into_inner).insert(rank);
    }

    /// Takes the lock of a rank away from those that have ended. An error says that what one of them was changing may be half
    /// done.
    pub(super) fn take_from_lost(&self, target: usize) -> Result<()> {
        for &rank in self.lost.read().unwrap_or_else(PoisonError::into_inner).iter() {
            if self.control.take_from_dead(target, rank as usize).is_err() {
                bail!(MPIX_ERR_PROC_FAILED, "rank {rank} of the window has ended with the lock of rank {target}");
            }
        }
        Ok(())
    }

    /// The ranks on this node, in order.
    pub(super) fn local_ranks(&self) -> Vec<u32> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        let mut ranks: Vec<u32> = members.keys().copied().collect();
        ranks.sort_unstable();
        ranks
    }
}

/// An area that is one of the segment.
fn area(segment: &Segment, (offset, bytes): (u64, u64)) -> Result<Area> {
    let found = Area { offset: offset as usize, bytes: bytes as usize };
    let whole = found.offset.is_multiple_of(PAGE) && found.bytes.is_multiple_of(PAGE) && found.bytes > 0;
    if !whole || !segment.layout().is_in_arenas(found) {
        bail!(MPI_ERR_WIN, "{bytes} bytes at {offset:#x} are no memory of the node's segment");
    }
    Ok(found)
}

fn map(segment: &Segment, area: Area) -> Result<Mapping> {
    Mapping::new(segment, area)
        .map_err(|error| Error::new(MPI_ERR_NO_MEM, format!("the agent cannot map the window's memory: {error}")))
}

/// The address of `size` bytes at an offset of a mapping.
fn inside(mapping: &Mapping, offset: u64, size: usize) -> Result<*mut u8> {
    let end = usize::try_from(offset).ok().and_then(|offset| offset.checked_add(size));
    match end.filter(|&end| end <= mapping.area().bytes) {
        Some(end) => Ok(mapping.base().as_ptr().wrapping_add(end - size)),
        None => bail!(MPI_ERR_WIN, "{size} bytes at {offset} are not all in the window's memory"),
    }
}
