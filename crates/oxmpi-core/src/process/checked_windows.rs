//! One-sided accesses, for `--check`: the types of the two sides; accesses of one epoch that conflict at the target
//! (`oxmpi-rma/access_log.rs`), also with what the target stores; and buffers of the origin that are used too early.
//!
//! In the unified memory model loads of what a put changes are right, and so are stores to what a get reads; the latter are
//! told in strict mode.

use super::Process;
use crate::args::{Access, At};
use crate::check;
use crate::check::buffers::{LocalUse, MOST, Use};
use crate::record;
use oxmpi_abi::constants::{
    MPI_MODE_NOPRECEDE, MPI_MODE_NOPUT, MPI_MODE_NOSUCCEED, MPI_NO_OP, MPI_OP_NULL, MPI_REPLACE,
};
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Datatype, Op, Win as Handle};
use oxmpi_check::Finding;
use oxmpi_check::catalogue::{RMA_ASSERT, RMA_CONFLICT, RMA_ORIGIN, RMA_STORE, TYPE_RMA};
use oxmpi_datatype::{Classes, Cursor, Signature, Source};
use oxmpi_rma::access_log::{Entry, Epoch, Kind, TargetLog};
use oxmpi_rma::{Flavor, TargetRegion, Window};
use std::time::Duration;

/// So many updates under locks of a window wait for their targets.
const FIRST_UPDATES: u32 = 3;

/// With more pieces an access is not compared.
const MOST_PIECES: usize = 32;

/// So many flushes and unlocks of a window wait so long for others' accesses, which they would otherwise never meet.
const MOST_WAITS: u32 = 100;
const WAIT: Duration = Duration::from_millis(2);
/// The first ones wait longer: small programs make no others.
const FIRST_WAITS: u32 = 10;
const FIRST_WAIT: Duration = Duration::from_millis(10);

impl Process {
    /// This rank holds the exclusive lock of a target: what others have completed there came first.
    #[cold]
    pub fn note_exclusive(&mut self, win: Handle, target: usize) {
        if let Ok(Some(log)) = self.win(win).map(|found| &found.window.log) {
            log.with(target, |log| log.retain(|entry| !entry.over));
        }
    }

    /// A call is about to access a window. `op` is `MPI_OP_NULL` for a put or a get. `access` is a closure because the
    /// compiler would store its result in memory also when nobody looks at it.
    #[inline(always)]
    pub fn check_access(&mut self, fun: Fun, op: Op, win: Handle, access: impl FnOnce() -> Access) {
        if check::is_watched() {
            self.look_at_access(fun, access(), op, win);
        }
    }

    /// The access that was just looked at has been performed. Always a success.
    #[inline(always)]
    pub fn access_done(&mut self) -> oxmpi_abi::Result<()> {
        if check::is_on() {
            self.hash_results();
        }
        Ok(())
    }

    /// Accesses by this rank of one target or of all are complete, or only their part here.
    #[inline(always)]
    pub fn check_completion(&mut self, win: Handle, target: Option<i32>, is_remote: bool) {
        if check::is_on() {
            self.complete_accesses(win, target, is_remote);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_at_access(&mut self, fun: Fun, access: Access, op: Op, win: Handle) {
        let Access(reads, writes, target) = access;
        let reads = reads.filter(|_| op != MPI_NO_OP);
        let own = writes.map(|to| (to.count, to.datatype)).or(reads.map(|from| (from.count, from.datatype)));
        if let Some(own) = own {
            self.compare_access(fun, own, target);
        }
        if !check::is_on() {
            return;
        }
        self.forget_copies();
        let Ok(reads) = reads.map(|from| self.source_of(from)).transpose() else { return };
        let Ok(writes) = writes.map(|to| self.target_of(to)).transpose() else { return };
        let Ok(Some(region)) = self.target_region(win, target.rank, target.disp, target.count, target.datatype) else {
            return;
        };
        let Some(epoch) = self.win(win).ok().and_then(|found| found.window.logged_epoch(region.rank)) else { return };
        let element = || {
            let classes = Classes::of_named(self.datatype(target.datatype).ok()?.only()?);
            classes.whole().map(|hash| hash as u32)
        };
        let kind = match (op, &writes) {
            (MPI_OP_NULL, None) => Kind::Put,
            (MPI_OP_NULL, Some(_)) => Kind::Get,
            (op, _) => Kind::Accumulate(op.0 as u32, element().unwrap_or(0)),
        };
        // Lengths that differ are an error of the call, which then reads nothing.
        let bytes = region.buf.len();
        if reads.as_ref().is_some_and(|from| from.len() != bytes) || writes.as_ref().is_some_and(|to| to.len() != bytes)
        {
            return;
        }
        let hash = reads.as_ref().filter(|_| kind == Kind::Put).map(Source::checksum);
        if kind != Kind::Get && op != MPI_NO_OP && epoch == Epoch::Lock {
            self.hesitate(win);
        }
        self.compare_with_others(fun, (kind, hash, epoch), &region, win);
        // The local part of an operation with a request ends with that. Many programs look at what a fetching operation has
        // returned before they complete it.
        let is_fetching = writes.is_some() && kind != Kind::Get;
        if is_fetching && !check::is_strict() {
            let result = writes.map(|buffer| Use::writes(fun, (*buffer).clone()));
            self.buffers.accesses.retain(|other| !result.as_ref().is_some_and(|result| result.overlaps(&other.one)));
            reads.into_iter().for_each(|buffer| self.use_locally(win, region.rank, Use::reads(fun, buffer)));
        } else {
            let reads = reads.map(|buffer| Use::reads(fun, buffer));
            let writes = writes.map(|buffer| Use::writes(fun, (*buffer).clone()));
            if has_request(fun) {
                // Others may change memory of a window at any time.
                let uses = reads.into_iter().chain(writes).filter(|one| !self.is_in_window(one)).collect();
                return self.propose_buffers(uses, true);
            }
            reads.into_iter().chain(writes).for_each(|one| self.use_locally(win, region.rank, one));
        }
    }

    /// Tells it when the elements of the two sides are of different kinds. Different lengths are errors of the call. A recorder
    /// hears how many bytes there are.
    fn compare_access(&self, fun: Fun, (count, datatype): (i64, Datatype), target: At) {
        let classes = |count: i64, datatype: Datatype| -> Option<(Classes, i128)> {
            let (found, count) = (self.datatype(datatype).ok()?, u128::try_from(count).ok()?);
            Some((found.classes().repeat(count), found.size().checked_mul(count as i128)?))
        };
        let (Some((own, bytes)), Some((theirs, others))) =
            (classes(count, datatype), classes(target.count, target.datatype))
        else {
            return;
        };
        record::accessed(bytes.max(others).try_into().unwrap_or(0));
        if !check::is_on() {
            return;
        }
        let (Some(one), Some(two)) = (own.whole(), theirs.whole()) else { return };
        if bytes == others && one != two {
            let describe = |classes: Classes| Signature::new(classes).describe();
            let text = format!(
                "{} of {bytes} bytes: the memory of the origin is {}, and that of the target is {}",
                fun.name(),
                describe(own),
                describe(theirs)
            );
            check::tell(self.engine.node(), &TYPE_RMA, text);
        }
    }

    // ---- at the target ----

    fn compare_with_others(
        &self,
        fun: Fun,
        (kind, hash, epoch): (Kind, Option<u64>, Epoch),
        region: &TargetRegion,
        win: Handle,
    ) {
        let Ok(found) = self.win(win) else { return };
        let (window, node, target) = (&found.window, self.engine.node(), region.rank);
        let Some(log) = &window.log else { return };
        let mut pieces = Vec::new();
        Cursor::new().iovecs(&region.buf, &mut pieces, MOST_PIECES + 1, usize::MAX);
        if pieces.len() > MOST_PIECES {
            return log.with(target, TargetLog::lose);
        }
        let hash = hash.filter(|_| pieces.len() == 1);
        let entry = |&(address, bytes): &(usize, usize)| {
            let from = address.wrapping_sub(region.origin) as u64;
            let (origin, to, by_request) = (window.rank, from + bytes as u64, has_request(fun));
            Entry { origin, kind, from, to, epoch, hash, by_request, over: false }
        };
        let pieces: Vec<Entry> = pieces.iter().map(entry).collect();
        let may_compare = match kind {
            Kind::Put => true,
            Kind::Get => check::is_strict(),
            Kind::Accumulate(op, _) => op as usize != MPI_NO_OP.0,
        };
        let (mut clash, mut stored) = (None, None);
        let is_exclusive = window.is_exclusive(target);
        log.with(target, |log| {
            // What was over before an exclusive lock was taken came first.
            log.retain(|entry| !(is_exclusive && entry.over));
            let open = log.entries(epoch);
            for piece in &pieces {
                clash =
                    clash.or_else(|| open.iter().find(|other| conflict(piece, other)).map(|other| (*piece, *other)));
                if may_compare && !open.iter().any(|other| other.overlaps(piece)) {
                    let before = log.copied(epoch, piece.from, piece.to);
                    let differs = before.is_some_and(|before| {
                        window.peek(node, target, piece.from, piece.to).is_some_and(|now| now != before)
                    });
                    stored = stored.or(differs.then_some(*piece));
                }
            }
            // What a get with a request has read is there when that is complete.
            if !(kind == Kind::Get && has_request(fun)) {
                pieces.iter().for_each(|piece| log.push(piece));
            }
            // The origin may hear of what the target has stored.
            if kind != Kind::Put {
                log.forget_locked_copy();
            }
        });
        let name = found.describe();
        if let Some((piece, other)) = clash {
            let (from, to) = (piece.from.max(other.from), piece.to.min(other.to));
            let how = match (kind, other.kind) {
                (Kind::Accumulate(one, _), Kind::Accumulate(two, _)) if one != two => ", with different operations",
                (Kind::Accumulate(..), Kind::Accumulate(..)) => ", with different types",
                _ => "",
            };
            let text = format!(
                "{} of rank {} and {} of rank {} access bytes {from} to {to} of the memory of rank {target} on {name} \
                 in one epoch{how}",
                fun.name(),
                window.rank,
                other.kind.name(),
                other.origin
            );
            check::tell(node, &RMA_CONFLICT, text);
        }
        if let Some(piece) = stored {
            self.tell_store(win, target, &piece);
        }
    }

    /// The target has stored where an origin accesses its memory.
    fn tell_store(&self, win: Handle, target: usize, access: &Entry) {
        let Ok(found) = self.win(win) else { return };
        let text = format!(
            "rank {target} has stored to bytes {} to {} of its memory on {}, which {} of rank {} accesses in the same \
             epoch",
            access.from,
            access.to,
            found.describe(),
            access.kind.with_article(),
            access.origin
        );
        check::tell(self.engine.node(), &RMA_STORE, text);
    }

    /// The first updates under locks wait for stores of their targets, which they would otherwise come before.
    fn hesitate(&mut self, win: Handle) {
        if let Ok(Some(log)) = self.win_mut(win).map(|found| &mut found.window.log)
            && log.hesitated < FIRST_UPDATES
        {
            log.hesitated += 1;
            std::thread::sleep(FIRST_WAIT);
        }
    }

    /// This rank unlocks a window. What it has stored since it locked it, others may put to at the same time.
    #[cold]
    pub fn end_locked(&mut self, win: Handle) {
        let Ok(found) = self.win_mut(win) else { return };
        let own = found.window.rank;
        let Some(log) = &mut found.window.log else { return };
        if log.waited >= MOST_WAITS {
            return;
        }
        log.waited += 1;
        let Ok(found) = self.win(win) else { return };
        let (window, node) = (&found.window, self.engine.node());
        let Some(log) = &window.log else { return };
        let memory = window.own_start(node);
        let has_stored = log.with(own, |log| {
            log.copied(Epoch::Lock, 0, memory.len() as u64).is_some() && log.was_stored(Epoch::Lock, &memory)
        });
        if has_stored {
            // Longer than those who put hesitate.
            std::thread::sleep(3 * FIRST_WAIT);
        }
    }

    /// Tells what is not as this rank has asserted. `stored`: nothing, it says now, was stored since the last fence.
    #[cold]
    pub fn check_assertions(&self, win: Handle, epoch: Epoch, stored: bool) {
        let Ok(found) = self.win(win) else { return };
        let (window, node) = (&found.window, self.engine.node());
        let Some(log) = &window.log else { return };
        let memory = if stored { window.own_start(node) } else { Vec::new() };
        let (puts, stores) = log.with(window.rank, |log| {
            let changes = |entry: &Entry| match entry.kind {
                Kind::Put => true,
                Kind::Get => false,
                Kind::Accumulate(op, _) => op as usize != MPI_NO_OP.0,
            };
            (log.entries(epoch).into_iter().find(changes), stored && log.was_stored(epoch, &memory))
        });
        if let Some(put) = puts.filter(|_| log.promised & MPI_MODE_NOPUT != 0) {
            let text = format!(
                "gave MPI_MODE_NOPUT for {}, but rank {} has changed bytes {} to {} of its memory with {}",
                found.describe(),
                put.origin,
                put.from,
                put.to,
                put.kind.with_article()
            );
            check::tell(node, &RMA_ASSERT, text);
        }
        if stores {
            let text = format!(
                "gave MPI_MODE_NOSTORE for {}, but has stored to its memory since the last fence",
                found.describe()
            );
            check::tell(node, &RMA_ASSERT, text);
        }
    }

    /// Tells when this rank's last fence has assertions that all ranks must give, and rank 0 does not give, or the other way
    /// round. All ranks are in the fence.
    #[cold]
    pub fn compare_fences(&self, win: Handle) {
        let Ok(found) = self.win(win) else { return };
        let Some(log) = &found.window.log else { return };
        let common = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
        let of = |rank: usize| log.with(rank, TargetLog::asserted) & common;
        if of(found.window.rank) != of(0) {
            let text = format!(
                "gave other assertions to MPI_Win_fence on {} than rank 0: MPI_MODE_NOPRECEDE and MPI_MODE_NOSUCCEED must be \
                 given by all or by none",
                found.describe()
            );
            check::tell(self.engine.node(), &RMA_ASSERT, text);
        }
    }

    /// All accesses of an epoch to this rank's memory are complete, and none of the next has begun.
    #[cold]
    pub fn end_logged_epoch(&mut self, win: Handle, epoch: Epoch) {
        let Ok(found) = self.win(win) else { return };
        let (window, node) = (&found.window, self.engine.node());
        let Some(log) = &window.log else { return };
        let stored = log.with(window.rank, |log| {
            let all = log.entries(epoch);
            let is_alone = |one: &&Entry| all.iter().filter(|other| other.overlaps(one)).count() == 1;
            let was_stored = |one: &&Entry| {
                let now = window.peek(node, window.rank, one.from, one.to);
                match one.kind {
                    Kind::Put => one.hash.zip(now).is_some_and(|(hash, now)| hash_of(&now) != hash),
                    Kind::Get if check::is_strict() => {
                        log.copied(epoch, one.from, one.to).zip(now).is_some_and(|(before, now)| before != now)
                    }
                    _ => false,
                }
            };
            let stored = all.iter().filter(is_alone).find(was_stored).copied();
            log.retain(|entry| entry.epoch != epoch);
            if let Epoch::Exposure(_) = epoch {
                log.end_exposure();
            }
            stored
        });
        if let Some(stored) = stored {
            self.tell_store(win, window.rank, &stored);
        }
    }

    /// An epoch begins in which others access this rank's memory.
    #[cold]
    pub fn begin_logged_epoch(&mut self, win: Handle, epoch: Epoch) {
        let Ok(found) = self.win(win) else { return };
        if let Some(log) = &found.window.log {
            let memory = found.window.own_start(self.engine.node());
            log.with(found.window.rank, |log| log.copy(epoch, &memory));
        }
    }

    /// This process communicates: what it has stored before may be known to others, who may put there.
    #[cold]
    pub fn forget_copies(&mut self) {
        self.forget_copies_but(None);
    }

    /// The same by a fence of a window, which tells others nothing before the epoch has ended.
    fn forget_copies_but(&mut self, fenced: Option<usize>) {
        for (handle, found) in self.windows.iter_mut() {
            let own = found.window.rank;
            if let Some(log) = &mut found.window.log {
                log.with(own, |log| {
                    // The target may have seen that an access is over, and tell others.
                    log.retain(|entry| !entry.over);
                    if fenced != Some(handle) {
                        log.forget_copy();
                    }
                });
                log.forget_over();
            }
        }
    }

    // ---- at the origin ----

    fn use_locally(&mut self, win: Handle, target: usize, one: Use) {
        let pending = &mut self.buffers.accesses;
        if pending.len() >= MOST || one.buffer.is_empty() {
            return;
        }
        let clash = pending.iter().find(|other| (one.writes || other.one.writes) && one.overlaps(&other.one));
        if let Some(other) = clash {
            let text = format!(
                "{} a buffer while {} it, which is not complete before the next synchronisation of its window",
                one.what(),
                other.one.what()
            );
            check::tell(self.engine.node(), &RMA_ORIGIN, text);
        }
        let is_private = !self.is_in_window(&one);
        let hash = (!one.writes && is_private).then(|| one.buffer.checksum());
        let mut one = Use { hash, ..one };
        if one.writes && is_private {
            one.watch(self.buffers.watchpoints());
        }
        self.buffers.accesses.push(LocalUse { win: win.0, target, one });
    }

    /// Others may change memory of a window at any time.
    fn is_in_window(&self, one: &Use) -> bool {
        self.windows.iter().any(|(_, found)| found.window.may_contain(&one.buffer))
    }

    /// What was read from windows is there now.
    #[cold]
    fn hash_results(&mut self) {
        let mut pending = std::mem::take(&mut self.buffers.accesses);
        for found in pending.iter_mut().filter(|found| found.one.writes && found.one.hash.is_none()) {
            if !self.is_in_window(&found.one) {
                found.one.hash = Some(found.one.buffer.checksum());
            }
        }
        self.buffers.accesses = pending;
    }

    #[cold]
    fn complete_accesses(&mut self, win: Handle, target: Option<i32>, is_remote: bool) {
        let is_meant = |rank: usize| target.is_none_or(|target| i32::try_from(rank) == Ok(target));
        // The operations of requests may be complete now, whatever the program does with the requests.
        self.buffers.pending.retain(|(_, one)| !has_request(one.fun));
        let pending = std::mem::take(&mut self.buffers.accesses);
        let (done, left) = pending.into_iter().partition(|found| found.win == win.0 && is_meant(found.target));
        self.buffers.accesses = left;
        let done: Vec<LocalUse> = done;
        for LocalUse { one, .. } in &done {
            // Two that use one buffer were told already.
            let is_alone = done.iter().filter(|other| other.one.overlaps(one)).count() <= 1;
            if is_alone && one.hash.is_some_and(|hash| hash != one.buffer.checksum()) {
                let text = format!(
                    "the buffer of {} was changed by the program before the operation was complete",
                    one.fun.name()
                );
                check::tell(self.engine.node(), &RMA_ORIGIN, text);
            } else if let Some(address) = one.used_at() {
                let text = format!(
                    "the buffer of {} was used by the program before the operation was complete",
                    one.fun.name()
                );
                check::tell_finding(self.engine.node(), Finding::new(&RMA_ORIGIN, text), Some([address, 0]));
            }
        }
        let epoch = self.win(win).ok().and_then(|found| found.window.logged_epoch(found.window.rank));
        self.forget_copies_but(matches!(epoch, Some(Epoch::Fence(_))).then_some(win.0));
        if is_remote {
            self.close_locked(win, target);
        }
    }

    /// Flushes and unlocks complete the accesses of this rank.
    fn close_locked(&mut self, win: Handle, target: Option<i32>) {
        let Ok(window) = self.win_mut(win).map(|found| &mut found.window) else { return };
        let targets = match target {
            Some(rank) => window.check_rank(rank).ok().into_iter().collect(),
            None => (0..window.size()).collect::<Vec<usize>>(),
        };
        let Some(log) = &mut window.log else { return };
        let (mut stored, own) = (Vec::new(), window.rank);
        let mut open = Vec::new();
        for &target in &targets {
            let all = log.with(target, |log| log.entries(Epoch::Lock));
            let mine: Vec<Entry> = all.iter().filter(|entry| entry.origin == own).copied().collect();
            if !mine.is_empty() {
                open.push((target, all, mine));
            }
        }
        if open.is_empty() {
            return;
        }
        log.waited += 1;
        let wait = if log.waited <= FIRST_WAITS { FIRST_WAIT } else { WAIT };
        let is_early = log.waited <= MOST_WAITS;
        // Through shared memory others may hear of it without a call.
        let is_shared = |window: &Window| window.flavor == Flavor::Shared;
        let shares = self.windows.iter().any(|(_, found)| is_shared(&found.window));
        let Ok(found) = self.win(win) else { return };
        let (window, node) = (&found.window, self.engine.node());
        let is_exclusive = open.iter().all(|(target, ..)| window.is_exclusive(*target));
        for (target, all, mine) in &open {
            // Under a shared lock the target may have seen the new value and answered with another one.
            if !window.is_exclusive(*target) && !check::is_strict() {
                continue;
            }
            let is_alone = |one: &&Entry| all.iter().filter(|other| other.overlaps(one)).count() == 1;
            for one in mine.iter().filter(is_alone) {
                let now = window.peek(node, *target, one.from, one.to);
                if one.hash.zip(now).is_some_and(|(hash, now)| hash_of(&now) != hash) {
                    stored.push((*target, *one));
                }
            }
        }
        if is_early && !is_exclusive {
            std::thread::sleep(wait);
        }
        let over: Vec<(usize, bool)> =
            open.iter().map(|(target, ..)| (*target, !shares && !window.is_exclusive(*target))).collect();
        if let Ok(Some(log)) = self.win_mut(win).map(|found| &mut found.window.log) {
            for (target, stays) in over {
                log.has_over |= stays;
                let end = |entry: Entry| match entry.epoch == Epoch::Lock && entry.origin == own {
                    true => stays.then_some(Entry { over: true, hash: None, ..entry }),
                    false => Some(entry),
                };
                log.with(target, |log| {
                    log.change(end);
                    if !stays {
                        log.forget_locked_copy();
                    }
                });
            }
        }
        for (target, one) in stored {
            self.tell_store(win, target, &one);
        }
    }
}

/// The hash of bytes, as [`Source::checksum`] makes it.
fn hash_of(bytes: &[u8]) -> u64 {
    Source::of(bytes).checksum()
}

fn has_request(fun: Fun) -> bool {
    ["MPI_Rput", "MPI_Rget", "MPI_Raccumulate"].iter().any(|name| fun.name().starts_with(name))
}

/// Whether two accesses of one epoch may not use the same memory.
fn conflict(one: &Entry, two: &Entry) -> bool {
    let is_ordered = one.by_request || two.by_request || two.over;
    if !one.overlaps(two) || (one.origin == two.origin && is_ordered) {
        return false;
    }
    // An accumulate is an update only by its operation; a compare and swap goes with all.
    let is_free = |op: u32| [MPI_NO_OP.0, MPI_REPLACE.0, MPI_OP_NULL.0].contains(&(op as usize));
    match (one.kind, two.kind) {
        (Kind::Get, Kind::Get) => false,
        (Kind::Accumulate(op, element), Kind::Accumulate(other, theirs)) => {
            let types_differ = element != theirs && element != 0 && theirs != 0;
            let ops_differ = op != other && !is_free(op) && !is_free(other);
            one.origin != two.origin && (types_differ || ops_differ)
        }
        // A get and an accumulate that changes nothing.
        (Kind::Get, Kind::Accumulate(op, _)) | (Kind::Accumulate(op, _), Kind::Get) => op as usize != MPI_NO_OP.0,
        _ => true,
    }
}
