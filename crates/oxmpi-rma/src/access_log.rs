//! For `--check`: the accesses to each rank's memory that are not complete, in the shared memory of the window. The origin of
//! an access compares it with those of the log before it performs it, and adds it.
//!
//! An access of a fence epoch is open until the next fence; one of a start until the exposure ends; one under a lock until
//! its origin flushes or unlocks, and stays until that communicates: before, no other rank can know that it is over, so one
//! that accesses the same memory does so by chance. An exclusive lock ends what came before it. Each entry has the number of its epoch, so that none is compared with a later one.
//! The target keeps a copy of the beginning of its memory as it was when the epoch began: what differs from that and was not
//! accessed was stored by the target.
//!
//! Windows with ranks on several nodes, or with public copies, have no log.

use crate::epoch::{Access, Open};
use crate::{Flavor, Reach, Window};
use oxmpi_base::stripe::{SELDOM, Stripe};
use oxmpi_base::sync::shared::{AtomicU8, AtomicU32, AtomicU64};
use oxmpi_datatype::Region;
use oxmpi_transport::NodeMemory;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

/// When an access is complete at the target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Epoch {
    Fence(u32),
    Exposure(u32),
    Lock,
}

impl Epoch {
    fn word(self) -> u64 {
        match self {
            Epoch::Fence(number) => 1 << 32 | u64::from(number),
            Epoch::Exposure(number) => 2 << 32 | u64::from(number),
            Epoch::Lock => 3 << 32,
        }
    }
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Put,
    Get,
    /// The handles of operation and element.
    Accumulate(u32, u32),
}

impl Kind {
    fn words(self) -> [u64; 2] {
        match self {
            Kind::Put => [1, 0],
            Kind::Get => [2, 0],
            Kind::Accumulate(op, element) => [3, u64::from(op) << 32 | u64::from(element)],
        }
    }

    fn read(words: [u64; 2]) -> Option<Kind> {
        match words[0] {
            1 => Some(Kind::Put),
            2 => Some(Kind::Get),
            3 => Some(Kind::Accumulate((words[1] >> 32) as u32, words[1] as u32)),
            _ => None,
        }
    }

    /// As the name of what an origin has called.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Put => "put",
            Kind::Get => "get",
            Kind::Accumulate(..) => "accumulate",
        }
    }

    pub fn with_article(self) -> &'static str {
        match self {
            Kind::Put => "a put",
            Kind::Get => "a get",
            Kind::Accumulate(..) => "an accumulate",
        }
    }
}

/// Consecutive bytes of a target that an origin accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    pub origin: usize,
    pub kind: Kind,
    /// From the start of the window.
    pub from: u64,
    pub to: u64,
    pub epoch: Epoch,
    /// The hash of what is put there, if it is known.
    pub hash: Option<u64>,
    /// It has a request, whose completion may order it before another access of its origin.
    pub by_request: bool,
    /// It is complete, which only its origin knows.
    pub over: bool,
}

impl Entry {
    pub fn overlaps(&self, other: &Entry) -> bool {
        self.from < other.to && other.from < self.to
    }
}

const WORDS: usize = 7;
const HASH: usize = 6;
/// Beside the rank of the origin.
const BY_REQUEST: u64 = 1 << 32;
const OVER: u64 = 1 << 33;
const SLOTS: usize = 512;
/// So much of a rank's memory is copied.
const COPIED: usize = 16 << 10;

/// The log of one target. All fields but the stripe are only used while the stripe is held.
#[repr(C, align(64))]
pub struct TargetLog {
    stripe: Stripe,
    /// Exposures of `MPI_Win_post` that have ended.
    exposures: AtomicU32,
    /// Slots in use; those behind it are empty.
    used: AtomicU32,
    /// The epoch at whose beginning the copy was made; zero if there is none.
    copied: AtomicU64,
    /// The epoch of the last copy, also when others may know what has been stored since.
    content: AtomicU64,
    /// The assertion of this rank's last fence.
    asserted: AtomicU32,
    slots: [[AtomicU64; WORDS]; SLOTS],
    copy: [AtomicU8; COPIED],
}

impl TargetLog {
    pub fn exposures(&self) -> u32 {
        self.exposures.load(Relaxed)
    }

    /// The exposure has ended: no access of it is open.
    pub fn end_exposure(&self) {
        self.exposures.fetch_add(1, Relaxed);
    }

    fn read(&self, slot: usize) -> Option<(Entry, u64)> {
        let [kind, with, origin, from, to, epoch, hash] = self.slots[slot].each_ref().map(|word| word.load(Relaxed));
        let entry = Entry {
            origin: origin as u32 as usize,
            kind: Kind::read([kind, with])?,
            from,
            to,
            epoch: match epoch >> 32 {
                1 => Epoch::Fence(epoch as u32),
                2 => Epoch::Exposure(epoch as u32),
                _ => Epoch::Lock,
            },
            hash: (hash != 0).then_some(hash),
            by_request: origin & BY_REQUEST != 0,
            over: origin & OVER != 0,
        };
        Some((entry, epoch))
    }

    /// The open accesses of an epoch.
    pub fn entries(&self, epoch: Epoch) -> Vec<Entry> {
        let used = (self.used.load(Relaxed) as usize).min(SLOTS);
        (0..used)
            .filter_map(|slot| self.read(slot))
            .filter(|found| found.1 == epoch.word())
            .map(|found| found.0)
            .collect()
    }

    /// Adds an access; one that finds no room is not known to others.
    pub fn push(&self, entry: &Entry) {
        let used = self.used.load(Relaxed) as usize;
        let Some(slot) = self.slots.get(used) else { return self.lose() };
        let [kind, with] = entry.kind.words();
        let flag = |set: bool, bit: u64| if set { bit } else { 0 };
        let origin = entry.origin as u64 | flag(entry.by_request, BY_REQUEST) | flag(entry.over, OVER);
        let words = [kind, with, origin, entry.from, entry.to, entry.epoch.word(), entry.hash.unwrap_or(0)];
        slot.iter().zip(words).for_each(|(word, value)| word.store(value, Relaxed));
        self.used.store(used as u32 + 1, Relaxed);
    }

    /// An access is not in the log: who has changed memory is no longer known.
    pub fn lose(&self) {
        self.forget_copy();
        self.slots.iter().for_each(|slot| slot[HASH].store(0, Relaxed));
    }

    pub fn forget_copy(&self) {
        self.copied.store(0, Relaxed);
    }

    /// Others may know what this rank has stored under locks, or its memory is no longer what the accesses of the log explain.
    pub fn forget_locked_copy(&self) {
        if self.copied.load(Relaxed) == Epoch::Lock.word() {
            self.forget_copy();
        }
    }

    /// Notes what a rank asserts at a fence, and reads it again.
    pub fn assert(&self, assertion: i32) {
        self.asserted.store(assertion as u32, Relaxed);
    }

    pub fn asserted(&self) -> i32 {
        self.asserted.load(Relaxed) as i32
    }

    /// Whether memory differs from the copy of an epoch's beginning where no access of the log has changed it.
    pub fn was_stored(&self, epoch: Epoch, memory: &[u8]) -> bool {
        if self.content.load(Relaxed) != epoch.word() {
            return false;
        }
        let changes = |entry: &Entry| entry.kind != Kind::Get;
        let changed: Vec<Entry> = self.entries(epoch).into_iter().filter(changes).collect();
        let is_own = |at: usize| changed.iter().all(|entry| !(entry.from..entry.to).contains(&(at as u64)));
        let bytes = self.copy.iter().zip(memory).enumerate();
        bytes.into_iter().any(|(at, (old, new))| old.load(Relaxed) != *new && is_own(at))
    }

    /// Keeps the accesses for which `stays` holds.
    pub fn retain(&self, stays: impl Fn(&Entry) -> bool) {
        self.change(|entry| stays(&entry).then_some(entry));
    }

    /// Changes each access, or drops it.
    pub fn change(&self, change: impl Fn(Entry) -> Option<Entry>) {
        let used = (self.used.load(Relaxed) as usize).min(SLOTS);
        let all = (0..used).filter_map(|slot| self.read(slot));
        let kept: Vec<Entry> = all.filter_map(|found| change(found.0)).collect();
        self.used.store(0, Relaxed);
        kept.iter().for_each(|entry| self.push(entry));
    }

    /// Keeps a copy of memory at the beginning of an epoch.
    pub fn copy(&self, epoch: Epoch, memory: &[u8]) {
        self.copy.iter().zip(memory).for_each(|(to, from)| to.store(*from, Relaxed));
        self.copied.store(epoch.word(), Relaxed);
        self.content.store(epoch.word(), Relaxed);
    }

    /// Bytes as they were when the epoch began, if they were copied.
    pub fn copied(&self, epoch: Epoch, from: u64, to: u64) -> Option<Vec<u8>> {
        let copy = self.copy.get(from as usize..to as usize)?;
        (self.copied.load(Relaxed) == epoch.word()).then(|| copy.iter().map(|byte| byte.load(Relaxed)).collect())
    }
}

/// The logs of all ranks of a window.
pub struct AccessLog {
    base: NonNull<u8>,
    ranks: usize,
    /// The number of this rank.
    own: usize,
    /// Fences that this rank has left.
    pub fences: u32,
    /// Flushes and unlocks that have waited for others' accesses.
    pub waited: u32,
    /// This rank has accesses in the log that are over.
    pub has_over: bool,
    /// Accesses that have waited for stores of their targets.
    pub hesitated: u32,
    /// The assertion with which this rank's memory was exposed last.
    pub promised: i32,
}

// SAFETY: shared memory that is only ever touched through atomics.
unsafe impl Send for AccessLog {}
// SAFETY: `&AccessLog` gives access to atomics only.
unsafe impl Sync for AccessLog {}

impl AccessLog {
    pub fn bytes(ranks: usize) -> usize {
        ranks * size_of::<TargetLog>()
    }

    /// # Safety
    /// `base` is aligned to a page and has [`AccessLog::bytes`] of shared memory, which was all zeroes at first, for as long
    /// as this value lives.
    pub unsafe fn new(base: NonNull<u8>, ranks: usize, own: usize) -> AccessLog {
        AccessLog { base, ranks, own, fences: 0, waited: 0, has_over: false, hesitated: 0, promised: 0 }
    }

    /// This rank communicates: others may know now that its accesses are over.
    pub fn forget_over(&mut self) {
        let own = self.own;
        if std::mem::take(&mut self.has_over) {
            for target in 0..self.ranks {
                self.with(target, |log| {
                    log.retain(|entry| !(entry.over && entry.origin == own));
                    log.forget_locked_copy();
                });
            }
        }
    }

    /// Looks at the log of a rank while no other does.
    pub fn with<T>(&self, target: usize, does: impl FnOnce(&TargetLog) -> T) -> T {
        assert!(target < self.ranks);
        // SAFETY: `new` was promised memory for a log of each rank, and a log is made of atomics.
        let log = unsafe { self.base.add(target * size_of::<TargetLog>()).cast::<TargetLog>().as_ref() };
        if !log.stripe.try_take(self.own) {
            // Jobs that go on after deaths have no logs.
            log.stripe.wait(self.own, SELDOM, |_| false);
        }
        let done = does(log);
        log.stripe.give_back();
        done
    }
}

impl Window {
    /// The epoch in which this rank accesses another one now.
    pub fn logged_epoch(&self, target: usize) -> Option<Epoch> {
        let log = self.log.as_ref()?;
        match &self.access {
            Access::Closed => None,
            Access::Fenced => Some(Epoch::Fence(log.fences)),
            Access::Started(_) => Some(Epoch::Exposure(log.with(target, TargetLog::exposures))),
            Access::Locked(_) | Access::LockedAll { .. } | Access::LockedAllNodes { .. } => Some(Epoch::Lock),
        }
    }

    /// Whether a buffer may lie in memory that other ranks access.
    pub fn may_contain(&self, buffer: &Region) -> bool {
        let Some(address) = buffer.as_dense().map(|start| start.addr()) else { return true };
        let within =
            |start: usize, bytes: usize| address < start.saturating_add(bytes) && start < address + buffer.len();
        let own = self.targets[self.rank].size;
        self.flavor == Flavor::Dynamic
            || within(self.base, own)
            || within(self.mapping.base().addr().get(), self.area().bytes)
    }

    /// Whether no other rank holds a lock of the target.
    pub fn is_exclusive(&self, target: usize) -> bool {
        self.targets[target].open == Open::Exclusive
    }

    /// Bytes of a rank's memory now, at most as many as are copied; `None` if they cannot be read here.
    pub fn peek(&self, node: &NodeMemory, rank: usize, from: u64, to: u64) -> Option<Vec<u8>> {
        let target = self.targets.get(rank)?;
        let (from, len) = (usize::try_from(from).ok()?, usize::try_from(to.checked_sub(from)?).ok()?);
        if len > COPIED || from.checked_add(len)? > target.size {
            return None;
        }
        let mut bytes = vec![0; len];
        match target.reach {
            Reach::Here => {
                // SAFETY: the range is inside the rank's memory, which is mapped here; others may change it, so it is copied.
                unsafe { bytes.as_mut_ptr().copy_from(target.base.wrapping_add(from), len) };
            }
            Reach::Process => {
                let local = (bytes.as_mut_ptr().expose_provenance(), len);
                let read = node.copy_from(target.process, &[local], &[(target.address + from, len)]).ok()?;
                (read == len).then_some(())?;
            }
            Reach::Agent => return None,
        }
        Some(bytes)
    }

    /// The bytes of this rank's memory of which a copy is kept.
    pub fn own_start(&self, node: &NodeMemory) -> Vec<u8> {
        let size = self.targets[self.rank].size.min(COPIED);
        self.peek(node, self.rank, 0, size as u64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(origin: usize, kind: Kind, epoch: Epoch) -> Entry {
        Entry { origin, kind, from: 4, to: 12, epoch, hash: Some(7), by_request: origin == 1, over: origin == 2 }
    }

    #[test]
    fn entries_are_read_back_by_epoch() {
        let layout = std::alloc::Layout::new::<TargetLog>();
        // SAFETY: the layout is that of a log, which may be all zeroes.
        let base = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) }).unwrap();
        // SAFETY: memory for one rank.
        let log = unsafe { AccessLog::new(base, 1, 0) };
        let kinds = [Kind::Put, Kind::Get, Kind::Accumulate(3, 0x20f)];
        let epochs = [Epoch::Fence(3), Epoch::Exposure(3), Epoch::Lock];
        log.with(0, |log| {
            for (number, (kind, epoch)) in kinds.into_iter().zip(epochs).enumerate() {
                log.push(&entry(number, kind, epoch));
            }
            for (number, (kind, epoch)) in kinds.into_iter().zip(epochs).enumerate() {
                assert_eq!(log.entries(epoch), [entry(number, kind, epoch)]);
            }
            assert_eq!(log.entries(Epoch::Fence(4)), []);
            log.retain(|entry| entry.epoch != Epoch::Exposure(3));
            assert_eq!((log.entries(Epoch::Exposure(3)).len(), log.entries(Epoch::Lock).len()), (0, 1));
            log.copy(Epoch::Fence(3), &[1, 2, 3, 4, 5]);
            assert_eq!(log.copied(Epoch::Fence(3), 1, 3), Some(vec![2, 3]));
            assert_eq!(log.copied(Epoch::Fence(4), 1, 3), None, "another epoch");
            for _ in 0..2 * SLOTS {
                log.push(&entry(0, Kind::Put, Epoch::Lock));
            }
            assert_eq!(log.entries(Epoch::Lock).len(), SLOTS - 1);
        });
        // SAFETY: allocated above with this layout.
        unsafe { std::alloc::dealloc(base.as_ptr(), layout) };
    }
}
