//! The access and exposure epochs of this rank, and the errors of calls that do not fit them. An
//! operation reads two bytes of the window; the calls that open and close epochs do the rest.

use crate::control::MAX_ATTACHED;
use crate::far::origin::FarRank;
use crate::{Flavor, Window};
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::wait::full_fence;
use oxmpi_transport::NodeMemory;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// The epoch in which this rank accesses others.
pub(crate) enum Access {
    Closed,
    /// From a fence to the next.
    Fenced,
    /// From `MPI_Win_start` to `MPI_Win_complete`: the targets.
    Started(Box<[u32]>),
    /// The number of ranks that are locked, each by its own call.
    Locked(usize),
    /// All ranks are locked; without taking the locks, if the program promised that there are no
    /// conflicts.
    LockedAll {
        truly: bool,
    },
    /// The same, in a window with ranks on several nodes. Apart, so that a flush in any other window need not ask.
    LockedAllNodes {
        truly: bool,
    },
}

impl Access {
    fn is_locked_all(&self) -> bool {
        matches!(self, Access::LockedAll { .. } | Access::LockedAllNodes { .. })
    }
}

/// What is left to do after an unlock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unlocked {
    Nothing,
    /// Other ranks wait for the lock.
    Wake,
    /// The agent of the rank's node must complete what was sent.
    CompleteFar,
    /// It must also release the lock.
    ReleaseFar,
}

/// The epoch in which others access this rank's memory.
pub(crate) enum Exposure {
    Closed,
    /// To these origins.
    Posted(Box<[u32]>),
}

/// Why one rank may be accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Open {
    Shut,
    Started,
    Shared,
    Exclusive,
    /// Locked without taking the lock: the program promised that there are no conflicts.
    Unchecked,
}

const ASSERTIONS: i32 = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;

pub fn check_assertion(assertion: i32) -> Result<()> {
    if assertion & !ASSERTIONS != 0 {
        bail!(MPI_ERR_ASSERT, "the assertion is {assertion:#x}; it must be a combination of MPI_MODE_ constants, or 0");
    }
    Ok(())
}

impl Window {
    // ---- checks of operations ----

    /// An error unless a rank may be accessed now.
    #[inline]
    pub fn check_open(&mut self, rank: usize) -> Result<()> {
        if self.all_open || self.targets[rank].open != Open::Shut {
            self.touched = true;
            return Ok(());
        }
        Err(self.not_open(rank))
    }

    /// No rank may be accessed from now on.
    pub fn revoke(&mut self) {
        self.is_revoked = true;
        self.all_open = false;
        self.targets.iter_mut().for_each(|target| target.open = Open::Shut);
    }

    /// An exposure ends although some origins will never complete their accesses.
    pub fn end_exposure(&mut self) {
        self.exposure = Exposure::Closed;
    }

    #[cold]
    fn not_open(&self, rank: usize) -> Error {
        if self.is_revoked {
            return Error::new(MPIX_ERR_REVOKED, "the window was revoked");
        }
        let why = match &self.access {
            Access::Started(_) => format!("rank {rank} is not in the group that was given to MPI_Win_start"),
            Access::Locked(_) => format!("rank {rank} is not locked, others are"),
            _ => String::from("no epoch is open: call MPI_Win_fence, MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all"),
        };
        Error::new(MPI_ERR_RMA_SYNC, format!("rank {rank} cannot be accessed now: {why}"))
    }

    /// An error unless an operation with a request may access a rank; whether that is locked.
    pub fn check_for_request(&mut self, rank: i32) -> Result<bool> {
        let Err(error) = self.check_passive_rank(rank) else { return Ok(true) };
        let rank = if rank == MPI_PROC_NULL { self.rank } else { self.check_rank(rank)? };
        match self.check_open(rank) {
            Ok(()) => Ok(false),
            Err(_) => Err(error.within("an operation with a request needs an epoch of locks")),
        }
    }

    /// An error unless a rank is locked, as flushes require.
    pub fn check_passive(&self, rank: usize) -> Result<()> {
        let locked = matches!(self.targets[rank].open, Open::Shared | Open::Exclusive | Open::Unchecked);
        if locked || self.access.is_locked_all() {
            return Ok(());
        }
        bail!(MPI_ERR_RMA_SYNC, "rank {rank} is not locked (MPI_Win_lock or MPI_Win_lock_all)")
    }

    /// The same for the rank argument of a call, which may be `MPI_PROC_NULL`. The usual case is
    /// inlined: a flush takes a few nanoseconds, and its fence waits for every store of the call.
    /// Returns whether operations may have been sent to another node.
    #[inline(always)]
    pub fn check_passive_call(&self, rank: i32) -> Result<bool> {
        if matches!(self.access, Access::LockedAll { .. }) && (rank as u32 as usize) < self.targets.len() {
            return Ok(false);
        }
        self.check_passive_rank(rank)?;
        Ok(self.number.is_some())
    }

    #[inline(never)]
    fn check_passive_rank(&self, rank: i32) -> Result<()> {
        match rank {
            MPI_PROC_NULL => self.check_any_passive().map(|_| ()),
            rank => self.check_passive(self.check_rank(rank)?),
        }
    }

    /// The same for at least one rank.
    #[inline]
    pub fn check_any_passive(&self) -> Result<bool> {
        match self.access {
            Access::LockedAll { .. } => Ok(false),
            Access::Locked(_) | Access::LockedAllNodes { .. } => Ok(self.number.is_some()),
            _ => bail!(MPI_ERR_RMA_SYNC, "nothing is locked (MPI_Win_lock or MPI_Win_lock_all)"),
        }
    }

    /// An error unless this rank has no open epoch: before the window is freed.
    pub fn check_idle(&self) -> Result<()> {
        self.check_closed("the window cannot be freed")?;
        self.check_not_posted("the window cannot be freed")
    }

    /// An error when another access epoch is open. An epoch of fences without operations counts as
    /// closed.
    fn check_closed(&self, what: &str) -> Result<()> {
        let why = match &self.access {
            Access::Closed => return Ok(()),
            Access::Fenced if !self.touched => return Ok(()),
            Access::Fenced => "operations were issued since the last MPI_Win_fence; call it to complete them",
            Access::Started(_) => "the epoch of MPI_Win_start is open; call MPI_Win_complete first",
            Access::Locked(_) => "ranks are locked; call MPI_Win_unlock first",
            Access::LockedAll { .. } | Access::LockedAllNodes { .. } => {
                "all ranks are locked; call MPI_Win_unlock_all first"
            }
        };
        bail!(MPI_ERR_RMA_SYNC, "{what}: {why}")
    }

    fn check_not_posted(&self, what: &str) -> Result<()> {
        match self.exposure {
            Exposure::Closed => Ok(()),
            Exposure::Posted(_) => {
                bail!(MPI_ERR_RMA_SYNC, "{what}: the window is exposed; call MPI_Win_wait or MPI_Win_test first")
            }
        }
    }

    fn set(&mut self, access: Access) {
        self.all_open = (matches!(access, Access::Fenced) || access.is_locked_all()) && !self.is_revoked;
        self.touched = false;
        self.access = access;
    }

    // ---- fences ----

    pub fn check_fence(&self, assertion: i32) -> Result<()> {
        check_assertion(assertion)?;
        if !matches!(self.access, Access::Fenced) {
            self.check_closed("no fence is possible now")?;
        }
        if assertion & MPI_MODE_NOPRECEDE != 0 && self.touched {
            bail!(MPI_ERR_RMA_SYNC, "MPI_MODE_NOPRECEDE is wrong: operations were issued since the last fence");
        }
        self.check_not_posted("no fence is possible now")
    }

    /// Every rank has reached the fence.
    pub fn end_fence(&mut self, assertion: i32) {
        let next = if assertion & MPI_MODE_NOSUCCEED == 0 { Access::Fenced } else { Access::Closed };
        self.set(next);
    }

    // ---- post, start, complete, wait ----

    /// Exposes this rank's memory. Returns the origins on other nodes, whose agents must be told.
    pub fn post(&mut self, node: &NodeMemory, origins: Box<[u32]>, assertion: i32) -> Result<Vec<FarRank>> {
        check_assertion(assertion)?;
        self.check_not_posted("the window cannot be exposed again")?;
        if matches!(self.access, Access::Fenced) {
            self.check_closed("the window cannot be exposed")?;
        }
        if self.check_passive(self.rank).is_ok() {
            bail!(MPI_ERR_RMA_SYNC, "the window cannot be exposed while this rank holds a lock on it");
        }
        let mut far = Vec::new();
        for &origin in &origins {
            self.exposed[origin as usize] = self.exposed[origin as usize].wrapping_add(1);
            if let Some(there) = self.far_rank(origin as usize) {
                far.push(there);
                continue;
            }
            let word = self.control.posts(origin as usize, self.rank);
            // Release: an origin that sees the number sees what this rank stored in its memory.
            word.store(word.load(Relaxed).wrapping_add(1), Release);
            node.wake(self.process_of(origin as usize));
        }
        self.exposure = Exposure::Posted(origins);
        Ok(far)
    }

    pub fn check_start(&self, assertion: i32) -> Result<()> {
        check_assertion(assertion)?;
        self.check_closed("no epoch can be started")
    }

    /// Opens the epoch of a start. The targets may not have exposed their memory yet.
    pub fn start(&mut self, targets: Box<[u32]>) {
        for &target in &targets {
            self.targets[target as usize].open = Open::Started;
            self.started[target as usize] = self.started[target as usize].wrapping_add(1);
        }
        self.set(Access::Started(targets));
    }

    /// Closes the epoch of a start that cannot begin because a target has died. The exposures of
    /// the other targets remain.
    pub fn take_back_start(&mut self) {
        if let Access::Started(targets) = std::mem::replace(&mut self.access, Access::Closed) {
            for &target in &targets {
                self.targets[target as usize].open = Open::Shut;
                self.started[target as usize] = self.started[target as usize].wrapping_sub(1);
            }
        }
        self.set(Access::Closed);
    }

    /// Whether all targets have exposed their memory.
    pub fn is_exposed_to_us(&self) -> bool {
        self.unexposed_targets().next().is_none()
    }

    /// The targets of the current start that have not exposed their memory yet.
    pub fn unexposed_targets(&self) -> impl Iterator<Item = usize> {
        let targets: &[u32] = if let Access::Started(targets) = &self.access { targets } else { &[] };
        targets.iter().map(|&target| target as usize).filter(|&target| {
            let posts = self.control.posts(self.rank, target).load(Acquire);
            (posts.wrapping_sub(self.started[target]) as i32) < 0
        })
    }

    /// The targets of the current start that are on other nodes; an error if there is no start.
    pub fn far_targets(&self) -> Result<Vec<FarRank>> {
        let Access::Started(targets) = &self.access else {
            bail!(MPI_ERR_RMA_SYNC, "there is nothing to complete: MPI_Win_start has not been called");
        };
        Ok(targets.iter().filter_map(|&target| self.far_rank(target as usize)).collect())
    }

    /// Closes the epoch of a start. Targets on other nodes have been told already.
    pub fn complete(&mut self, node: &NodeMemory) {
        let Access::Started(targets) = std::mem::replace(&mut self.access, Access::Closed) else { return };
        self.set(Access::Closed);
        for &target in &targets {
            self.targets[target as usize].open = Open::Shut;
            if !self.is_near(target as usize) {
                continue;
            }
            let word = self.control.completions(target as usize, self.rank);
            // Release: a target that sees the number sees everything that was put.
            word.store(word.load(Relaxed).wrapping_add(1), Release);
            node.wake(self.process_of(target as usize));
        }
    }

    pub fn check_posted(&self) -> Result<()> {
        match self.exposure {
            Exposure::Posted(_) => Ok(()),
            Exposure::Closed => bail!(MPI_ERR_RMA_SYNC, "the window is not exposed: MPI_Win_post has not been called"),
        }
    }

    /// Whether all origins have completed their accesses; then the exposure epoch ends.
    pub fn try_wait(&mut self) -> bool {
        if self.incomplete_origins().next().is_some() {
            return false;
        }
        self.exposure = Exposure::Closed;
        true
    }

    /// The origins of the current post that have not completed it yet.
    pub fn incomplete_origins(&self) -> impl Iterator<Item = usize> {
        let origins: &[u32] = if let Exposure::Posted(origins) = &self.exposure { origins } else { &[] };
        origins.iter().map(|&origin| origin as usize).filter(|&origin| {
            let completions = self.control.completions(self.rank, origin).load(Acquire);
            (completions.wrapping_sub(self.exposed[origin]) as i32) < 0
        })
    }

    // ---- locks ----

    /// Checks the arguments of a lock. `None` for `MPI_PROC_NULL`, which opens an epoch without
    /// accesses.
    pub fn check_lock(&self, lock_type: i32, rank: i32, assertion: i32) -> Result<Option<usize>> {
        if lock_type != MPI_LOCK_EXCLUSIVE && lock_type != MPI_LOCK_SHARED {
            bail!(
                MPI_ERR_LOCKTYPE,
                "the type of the lock is {lock_type}; it must be MPI_LOCK_EXCLUSIVE ({MPI_LOCK_EXCLUSIVE}) or MPI_LOCK_SHARED ({MPI_LOCK_SHARED})"
            );
        }
        let rank = if rank == MPI_PROC_NULL { None } else { Some(self.check_rank(rank)?) };
        self.check_may_lock(assertion)?;
        if !matches!(self.access, Access::Locked(_)) {
            self.check_closed("no lock is possible now")?;
        }
        let Some(rank) = rank else {
            if self.proc_null_locked {
                bail!(MPI_ERR_RMA_SYNC, "MPI_PROC_NULL is locked by this process already");
            }
            return Ok(None);
        };
        if self.targets[rank].open != Open::Shut {
            bail!(MPI_ERR_RMA_SYNC, "rank {rank} is locked by this process already");
        }
        if rank == self.rank {
            self.check_not_posted("this rank cannot be locked")?;
        }
        Ok(Some(rank))
    }

    pub fn check_lock_all(&self, assertion: i32) -> Result<()> {
        self.check_may_lock(assertion)?;
        self.check_closed("not all can be locked now")?;
        self.check_not_posted("not all can be locked")
    }

    fn check_may_lock(&self, assertion: i32) -> Result<()> {
        check_assertion(assertion)?;
        if self.no_locks {
            bail!(MPI_ERR_RMA_SYNC, "the window was made with the hint no_locks: it cannot be locked");
        }
        Ok(())
    }

    fn one_more_locked(&mut self) {
        let held = if let Access::Locked(held) = self.access { held } else { 0 };
        self.set(Access::Locked(held + 1));
    }

    /// Locks `MPI_PROC_NULL`.
    pub fn lock_proc_null(&mut self) {
        self.one_more_locked();
        self.proc_null_locked = true;
    }

    /// Marks a rank as locked, with or without taking the lock.
    pub fn locked(&mut self, rank: usize, exclusive: bool, truly: bool) {
        self.one_more_locked();
        self.targets[rank].open = match (truly, exclusive) {
            (false, _) => Open::Unchecked,
            (true, true) => Open::Exclusive,
            (true, false) => Open::Shared,
        };
        if !truly {
            full_fence();
        }
    }

    /// Takes the lock of a rank of this node, if it is free.
    #[inline(always)]
    pub fn try_lock(&self, rank: usize, exclusive: bool) -> bool {
        self.is_near(rank) && self.control.try_take(rank, self.rank, exclusive, true)
    }

    /// Unlocks a rank, or `MPI_PROC_NULL`.
    pub fn unlock(&mut self, rank: i32) -> Result<Unlocked> {
        let target = if rank == MPI_PROC_NULL { None } else { Some(self.check_rank(rank)?) };
        let name = || if target.is_some() { format!("rank {rank}") } else { String::from("MPI_PROC_NULL") };
        let Access::Locked(held) = self.access else {
            let why = match self.access {
                Access::LockedAll { .. } | Access::LockedAllNodes { .. } => {
                    "all ranks are locked by MPI_Win_lock_all; MPI_Win_unlock_all ends that"
                }
                _ => "MPI_Win_lock has not been called",
            };
            bail!(MPI_ERR_RMA_SYNC, "{} is not locked by this process: {why}", name());
        };
        let open = match target {
            Some(rank) => std::mem::replace(&mut self.targets[rank].open, Open::Shut),
            None if std::mem::take(&mut self.proc_null_locked) => Open::Unchecked,
            None => Open::Shut,
        };
        if open == Open::Shut {
            bail!(MPI_ERR_RMA_SYNC, "{} is not locked by this process; other ranks are", name());
        }
        self.set(if held == 1 { Access::Closed } else { Access::Locked(held - 1) });
        if target.is_some_and(|rank| !self.is_near(rank)) {
            return Ok(if open == Open::Unchecked { Unlocked::CompleteFar } else { Unlocked::ReleaseFar });
        }
        match target.filter(|_| open != Open::Unchecked) {
            Some(rank) if self.control.give_back(rank, self.rank, open == Open::Exclusive) => Ok(Unlocked::Wake),
            Some(_) => Ok(Unlocked::Nothing),
            None => {
                // The fence that taking and releasing a lock would imply.
                full_fence();
                Ok(Unlocked::Nothing)
            }
        }
    }

    /// Takes the locks of all ranks of this node, or none: ranks that hold some and wait for others could
    /// deadlock. Returns the rank whose lock was not free.
    pub fn try_lock_all(&self, node: &NodeMemory, polite: bool) -> std::result::Result<(), usize> {
        for rank in self.near_ranks() {
            if !self.control.try_take(rank, self.rank, false, polite) {
                if self.release_locks(rank) {
                    self.wake_all(node);
                }
                return Err(rank);
            }
        }
        Ok(())
    }

    /// Releases the locks of this node's ranks below `end`; true when a rank waits for one.
    pub fn release_locks(&self, end: usize) -> bool {
        let mut waited = false;
        for rank in self.near_ranks().take_while(|&rank| rank < end) {
            waited |= self.control.give_back(rank, self.rank, false);
        }
        waited
    }

    pub fn locked_all(&mut self, truly: bool) {
        self.set(match self.number {
            None => Access::LockedAll { truly },
            Some(_) => Access::LockedAllNodes { truly },
        });
        if !truly {
            full_fence();
        }
    }

    /// Whether the locks of all ranks were taken; an error when not all are locked.
    pub fn check_locked_all(&self) -> Result<bool> {
        match self.access {
            Access::LockedAll { truly } | Access::LockedAllNodes { truly } => Ok(truly),
            _ => bail!(MPI_ERR_RMA_SYNC, "not all ranks are locked: MPI_Win_lock_all has not been called"),
        }
    }

    /// Releases all locks of this node's ranks; true when a rank waits for one.
    pub fn unlock_all(&mut self) -> Result<bool> {
        let truly = self.check_locked_all()?;
        self.set(Access::Closed);
        if !truly {
            full_fence();
            return Ok(false);
        }
        Ok(self.release_locks(self.size()))
    }

    // ---- attached memory ----

    pub fn attach(&mut self, base: usize, size: usize) -> Result<()> {
        self.check_dynamic()?;
        let Some(end) = base.checked_add(size).filter(|_| base != 0 || size == 0) else {
            bail!(MPI_ERR_BASE, "{base:#x} is not the address of {size} bytes");
        };
        let table = self.control.attached(self.rank);
        let last = table.before((end.max(base + 1) - 1) as u64);
        if let Some((_, start, length)) =
            last.filter(|&(_, start, length)| start + length > base as u64 || start == base as u64)
        {
            bail!(
                MPI_ERR_RMA_ATTACH,
                "{size} bytes at {base:#x} overlap memory that is attached already ({length} bytes at {start:#x})"
            );
        }
        if table.len() >= MAX_ATTACHED {
            bail!(MPI_ERR_RMA_ATTACH, "{MAX_ATTACHED} pieces of memory are attached, no more are possible");
        }
        table.insert(last.map_or(0, |(number, ..)| number + 1), base as u64, size as u64);
        self.synchronize_copies();
        Ok(())
    }

    pub fn detach(&mut self, base: usize) -> Result<()> {
        self.check_dynamic()?;
        let table = self.control.attached(self.rank);
        match table.before(base as u64) {
            Some((number, start, _)) if start == base as u64 => table.remove(number),
            _ => bail!(MPI_ERR_BASE, "no memory is attached at {base:#x}"),
        }
        Ok(())
    }

    fn check_dynamic(&self) -> Result<()> {
        if self.flavor != Flavor::Dynamic {
            bail!(MPI_ERR_RMA_FLAVOR, "memory can be attached to a window of MPI_Win_create_dynamic only");
        }
        Ok(())
    }
}
