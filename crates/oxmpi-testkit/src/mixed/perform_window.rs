//! The windows of a program.

use super::perform::{Runner, Seen};
use super::resolve::View;
use super::window::{Access, EpochKind, Memory, Planned, SLOTS, What, WindowUse, initial, plan};
use oxmpi::coll::{self, Blocking};
use oxmpi::rma::{self, sync};
use oxmpi_abi::Result;
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Comm, Datatype as Type, Win};
use oxmpi_core::args::{SourceArg, TargetArg};
use oxmpi_core::call::{Call, Guard, On};
use oxmpi_core::info::Info;
use oxmpi_core::wait::window::Awaited;
use oxmpi_datatype::Datatype;
use oxmpi_rma::{Combine, Flavor};

impl Runner<'_> {
    pub(super) fn window(&mut self, step: usize, comm: Comm, what: &WindowUse, view: &View) -> Result<()> {
        let mut own = initial(step, view.me);
        let (flavor, address) = match what.memory {
            Memory::Allocated => (Flavor::Allocate, 0),
            Memory::Shared => (Flavor::Shared, 0),
            Memory::Own => (Flavor::Create, own.as_mut_ptr().expose_provenance()),
        };
        let call = self.rank.call_on(Fun::WinCreate, comm);
        let args = rma::WindowArgs { flavor, address, size: SLOTS * 4, unit: 4, hints: Info::new(), alignment: 64 };
        let made = rma::make(&call, &mut call.enter()?, comm, args);
        let win = match made {
            Err(error) if [MPI_ERR_OTHER, MPI_ERR_RMA_SHARED].contains(&error.class()) => {
                self.note(step, Seen::Refused(error.class()));
                return Ok(());
            }
            made => made?,
        };
        let window = Used { call: Call::new(self.rank.library, Fun::Put, On::Win(win)), win, me: view.me };
        let numbers = window.run(step, what, view, || self.barrier(comm));
        let removed = numbers.and_then(|numbers| rma::remove(&window.call, win).map(|()| numbers));
        if removed.is_err() {
            // Other ranks may still write to it.
            std::mem::forget(own);
        }
        self.note(step, Seen::Numbers(removed?));
        Ok(())
    }

    pub(super) fn barrier(&self, comm: Comm) -> Result<()> {
        // SAFETY: no memory is involved.
        unsafe { coll::barrier(&self.rank.call_on(Fun::Barrier, comm), Blocking, comm) }
    }
}

struct Used<'l> {
    call: Call<'l>,
    win: Win,
    me: usize,
}

impl Used<'_> {
    fn run(&self, step: usize, what: &WindowUse, view: &View, barrier: impl Fn() -> Result<()>) -> Result<Vec<i32>> {
        self.write_own(&initial(step, self.me))?;
        let mut seen = Vec::new();
        let epochs = plan(step, what, view.near.len()).epochs;
        for (index, (kind, planned)) in epochs.iter().enumerate() {
            // Epochs in which the target takes part need no other synchronization: it is theirs that is tested.
            if kind.is_passive() {
                barrier()?;
            }
            let mine: Vec<Planned> = planned.iter().filter(|one| one.access.origin == self.me).cloned().collect();
            self.epoch(*kind, &mine, view.near.len(), &mut seen)?;
            if kind.is_passive() {
                barrier()?;
            }
            seen.extend(self.read_own()?);
            if index + 1 == epochs.len() {
                barrier()?;
            }
        }
        Ok(seen)
    }

    fn own(&self) -> Result<*mut i32> {
        Ok(std::ptr::with_exposed_provenance_mut(self.call.enter()?.win(self.win)?.window.base))
    }

    fn write_own(&self, numbers: &[i32]) -> Result<()> {
        let own = self.own()?;
        // SAFETY: this rank's part of the window, of `SLOTS` numbers, which no other rank accesses
        // before the barrier.
        unsafe { std::ptr::copy_nonoverlapping(numbers.as_ptr(), own, SLOTS) };
        self.synchronize()
    }

    /// What `MPI_Win_sync` does.
    fn synchronize(&self) -> Result<()> {
        self.call.enter()?.win_mut(self.win)?.window.synchronize_copies();
        Ok(())
    }

    fn read_own(&self) -> Result<Vec<i32>> {
        self.synchronize()?;
        let own = self.own()?;
        // SAFETY: this rank's part of the window; the others access it in the next epoch, which this rank has not begun.
        Ok((0..SLOTS).map(|slot| unsafe { own.add(slot).read() }).collect())
    }

    fn epoch(&self, kind: EpochKind, mine: &[Planned], ranks: usize, seen: &mut Vec<i32>) -> Result<()> {
        match kind {
            EpochKind::Fence => {
                sync::fence(&self.call, 0, self.win)?;
                self.access_all(mine, seen)?;
                sync::fence(&self.call, 0, self.win)
            }
            EpochKind::PostStart => {
                let everybody = || (0..ranks as u32).collect::<Box<[u32]>>();
                let mut guard = self.call.enter()?;
                let (window, node) = guard.win_and_node(self.win)?;
                window.synchronize_copies();
                window.post(node, everybody(), 0)?;
                let window = &mut guard.win_mut(self.win)?.window;
                window.check_start(0)?;
                window.start(everybody());
                self.call.wait_window(&mut guard, self.win, Awaited::Targets, |window| window.is_exposed_to_us())?;
                drop(guard);
                self.access_all(mine, seen)?;
                let mut guard = self.call.enter()?;
                let (window, node) = guard.win_and_node(self.win)?;
                window.complete(node);
                self.call.wait_window(&mut guard, self.win, Awaited::Origins, |window| window.try_wait())
            }
            EpochKind::LockAll => {
                sync::lock_all(&self.call, 0, self.win)?;
                self.access_all(mine, seen)?;
                sync::unlock_all(&self.call, self.win)
            }
            EpochKind::Lock { exclusive } => {
                // The results are in the order of the accesses.
                for planned in mine {
                    let target = planned.access.target as i32;
                    let kind = if exclusive { MPI_LOCK_EXCLUSIVE } else { MPI_LOCK_SHARED };
                    sync::lock(&self.call, kind, target, 0, self.win)?;
                    self.access_all(std::slice::from_ref(planned), seen)?;
                    sync::unlock(&self.call, target, self.win)?;
                }
                Ok(())
            }
        }
    }

    fn access_all(&self, mine: &[Planned], seen: &mut Vec<i32>) -> Result<()> {
        for planned in mine {
            let mut guard = self.call.enter()?;
            seen.extend(access(&mut guard, self.win, planned)?);
        }
        Ok(())
    }
}

/// Makes an access, which is complete when this returns; returns its results.
fn access(guard: &mut Guard, win: Win, planned: &Planned) -> Result<Vec<i32>> {
    let Planned { access, operands, compare } = planned;
    let Access { target, slot, count, what, .. } = *access;
    let (count, mut results) = (count as i64, vec![0; operands.len()]);
    let (datatype, elements) = match access.strided {
        false => (MPI_INT, count),
        true => (strided(guard, count)?, 1),
    };
    let (given, got) = (operands.as_ptr().cast::<u8>(), results.as_mut_ptr().cast::<u8>());
    let place = (target as i32, slot as i64);
    // SAFETY: operands and results have `count` numbers each and live until the access is complete.
    unsafe {
        match what {
            What::Put => rma::access::put(guard, given, (count, MPI_INT), place, (elements, datatype), win)?,
            What::Get => rma::access::get(guard, got, (count, MPI_INT), place, (elements, datatype), win)?,
            What::CompareAndSwap { .. } => {
                let Some(region) = guard.target_region(win, place.0, place.1, 1, MPI_INT)? else { return Ok(results) };
                let (window, compare) = (&guard.win(win)?.window, (&raw const *compare).cast());
                match (region.remote_run(), region.buf.as_dense()) {
                    (Some(run), _) => {
                        window.compare_and_swap_remote(guard.engine.node(), run, 4, given, compare, got)?;
                    }
                    (None, Some(at)) => {
                        window.compare_and_swap(region.rank, at, 4, given, compare, got);
                    }
                    (None, None) => {}
                }
            }
            What::Sum | What::Max | What::GetAndSum | What::FetchAndSum => {
                let handle = if what == What::Max { MPI_MAX } else { MPI_SUM };
                let from = guard.source_of(SourceArg::new(given.cast(), count, MPI_INT))?;
                let to = match what {
                    What::Sum | What::Max => None,
                    _ => Some(guard.target_of(TargetArg::new(got.cast(), count, MPI_INT))?),
                };
                let Some(region) = guard.target_region(win, place.0, place.1, elements, datatype)? else {
                    return Ok(results);
                };
                let op = if what == What::Max { oxmpi_ops::Op::Max } else { oxmpi_ops::Op::Sum };
                let of_target = std::sync::Arc::clone(guard.datatype(datatype)?);
                let element = oxmpi_rma::only_element(&[&of_target])?;
                let handles = [handle.0 as u32, element.handle.into()];
                let kernel = oxmpi_ops::kernel(op, element)?;
                let with = Combine { op, kernel, extent: element.extent(), handles };
                let target = (&*of_target, elements as u64);
                let window = &guard.win(win)?.window;
                window.accumulate(guard.engine.node(), (&with, element), Some(&from), to.as_ref(), &region, target)?;
            }
        }
    }
    if access.strided {
        guard.types.remove(datatype.0);
    }
    Ok(if matches!(what, What::Put | What::Sum | What::Max) { Vec::new() } else { results })
}

/// A type of every second number.
fn strided(guard: &mut Guard, count: i64) -> Result<Type> {
    let made = Datatype::vector(count, 1, 2, guard.datatype(MPI_INT)?)?;
    made.commit()?;
    oxmpi::datatype::add(guard, made)
}
