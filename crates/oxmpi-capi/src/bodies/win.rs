//! Windows: making, queries, freeing; attaching memory.

use crate::args::OutInt;
use crate::call::Call;
use crate::library::LIBRARY;
use oxmpi::group;
use oxmpi::memory::minimum_alignment;
use oxmpi::rma::{WindowArgs, hints, window};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Group as GroupHandle, Info as InfoHandle, Win};
use oxmpi_abi::types::Aint;
use oxmpi_abi::{Result, bail};
use oxmpi_core::group::Group;
use oxmpi_core::info::Info;
use oxmpi_rma::Flavor;
use std::cell::Cell;
use std::ffi::c_int;

pub fn win_create(cx: &Call, base: usize, size: Aint, disp_unit: i64, info: InfoHandle, comm: Comm) -> Result<Win> {
    let size_given = window::check_size(size)?;
    if base == 0 && size > 0 || base.checked_add(size_given).is_none() {
        bail!(MPI_ERR_BASE, "{base:#x} is not the address of {size} bytes");
    }
    make(cx, Flavor::Create, base, size, disp_unit, info, comm).map(|(_, win)| win)
}

pub fn win_allocate(cx: &Call, size: Aint, disp_unit: i64, info: InfoHandle, comm: Comm) -> Result<(usize, Win)> {
    make(cx, Flavor::Allocate, 0, size, disp_unit, info, comm)
}

pub fn win_allocate_shared(
    cx: &Call,
    size: Aint,
    disp_unit: i64,
    info: InfoHandle,
    comm: Comm,
) -> Result<(usize, Win)> {
    make(cx, Flavor::Shared, 0, size, disp_unit, info, comm)
}

pub fn win_create_dynamic(cx: &Call, info: InfoHandle, comm: Comm) -> Result<Win> {
    make(cx, Flavor::Dynamic, 0, 0, 1, info, comm).map(|(_, win)| win)
}

/// A window, and the address of its memory here.
fn make(
    cx: &Call,
    flavor: Flavor,
    address: usize,
    size: Aint,
    unit: i64,
    info: InfoHandle,
    comm: Comm,
) -> Result<(usize, Win)> {
    cx.note(comm);
    let mut guard = cx.enter()?;
    window::check_comm(&guard, comm)?;
    let size = window::check_size(size)?;
    window::check_unit(unit)?;
    let given = LIBRARY.info(info)?;
    let alignment = minimum_alignment(&given)?;
    let mut hints = Info::new();
    hints::update(&mut hints, &given, true)?;
    let made = window::make(cx, &mut guard, comm, WindowArgs { flavor, address, size, unit, hints, alignment })?;
    Ok((guard.win(made)?.window.base, made))
}

pub fn win_free(cx: &Call, win: &Cell<Win>) -> Result<()> {
    window::remove(cx, win.get())?;
    win.set(MPI_WIN_NULL);
    Ok(())
}

pub fn win_shared_query(cx: &Call, win: Win, rank: c_int, disp_unit: OutInt) -> Result<(Aint, usize)> {
    let guard = cx.enter()?;
    let found = guard.win(win)?;
    let (bytes, unit, mut base) = found.window.shared_memory(rank)?;
    if bytes == 0 && found.hints.boolean(hints::NONCONTIGUOUS) == Some(true) {
        // Without memory, and without contiguous memory around it, an address has no meaning.
        base = 0;
    }
    if !disp_unit.set(unit, "disp_unit")? {
        bail!(MPI_ERR_VALUE_TOO_LARGE, "the displacement unit {unit} does not fit an int; use the _c function");
    }
    Ok((bytes as Aint, base))
}

pub fn win_attach(cx: &Call, win: Win, base: usize, size: Aint) -> Result<()> {
    let mut guard = cx.enter()?;
    let window = &mut guard.win_mut(win)?.window;
    let size = window::check_size(size)?;
    window.attach(base, size)
}

pub fn win_detach(cx: &Call, win: Win, base: usize) -> Result<()> {
    cx.enter()?.win_mut(win)?.window.detach(base)
}

pub fn win_get_group(cx: &Call, win: Win) -> Result<GroupHandle> {
    let mut guard = cx.enter()?;
    let of = &guard.win(win)?.group;
    let copy = Group::new(of.ranks().clone(), of.session);
    group::add(&mut guard, copy)
}

pub fn win_set_info(cx: &Call, win: Win, info: InfoHandle) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = guard.win_mut(win)?;
    hints::update(&mut found.hints, &LIBRARY.info(info)?, false)?;
    found.window.no_locks = found.hints.boolean("no_locks") == Some(true);
    Ok(())
}

pub fn win_get_info(cx: &Call, win: Win) -> Result<InfoHandle> {
    let guard = cx.enter()?;
    let used = hints::in_force(guard.win(win)?)?;
    LIBRARY.add_info(used)
}
