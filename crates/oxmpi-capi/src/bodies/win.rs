//! Windows: made, asked about, freed; memory attached to them.

use super::groups;
use super::{check_place, store};
use crate::args::OutInt;
use crate::call::Call;
use crate::infos;
use oxmpi::memory::minimum_alignment;
use oxmpi::rma::{WindowArgs, hints, window};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Group as GroupHandle, Info as InfoHandle, Win};
use oxmpi_abi::types::Aint;
use oxmpi_abi::{Result, bail};
use oxmpi_core::group::Group;
use oxmpi_core::info::Info;
use oxmpi_rma::Flavor;
use std::ffi::{c_int, c_void};

pub unsafe fn win_create(
    cx: &Call,
    base: *mut c_void,
    size: Aint,
    disp_unit: i64,
    info: InfoHandle,
    comm: Comm,
    win: *mut Win,
) -> Result<()> {
    let size_given = window::check_size(size)?;
    if base.is_null() && size > 0 || (base as usize).checked_add(size_given).is_none() {
        bail!(MPI_ERR_BASE, "{size} bytes at {base:p} are not memory");
    }
    // SAFETY: passed on; the program keeps the memory for the window.
    unsafe { make(cx, Flavor::Create, base.expose_provenance(), size, disp_unit, info, comm, None, win) }
}

pub unsafe fn win_allocate(
    cx: &Call,
    size: Aint,
    disp_unit: i64,
    info: InfoHandle,
    comm: Comm,
    baseptr: *mut c_void,
    win: *mut Win,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe { make(cx, Flavor::Allocate, 0, size, disp_unit, info, comm, Some(baseptr), win) }
}

pub unsafe fn win_allocate_shared(
    cx: &Call,
    size: Aint,
    disp_unit: i64,
    info: InfoHandle,
    comm: Comm,
    baseptr: *mut c_void,
    win: *mut Win,
) -> Result<()> {
    // SAFETY: passed on.
    unsafe { make(cx, Flavor::Shared, 0, size, disp_unit, info, comm, Some(baseptr), win) }
}

pub unsafe fn win_create_dynamic(cx: &Call, info: InfoHandle, comm: Comm, win: *mut Win) -> Result<()> {
    // SAFETY: passed on.
    unsafe { make(cx, Flavor::Dynamic, 0, 0, 1, info, comm, None, win) }
}

/// # Safety
/// `baseptr` is null or the address of a pointer, `win` is null or may be written.
unsafe fn make(
    cx: &Call,
    flavor: Flavor,
    address: usize,
    size: Aint,
    unit: i64,
    info: InfoHandle,
    comm: Comm,
    baseptr: Option<*mut c_void>,
    win: *mut Win,
) -> Result<()> {
    let mut guard = cx.enter()?;
    window::check_comm(&guard, comm)?;
    check_place(win, "win")?;
    if let Some(baseptr) = baseptr {
        check_place(baseptr, "baseptr")?;
    }
    let size = window::check_size(size)?;
    window::check_unit(unit)?;
    let given = infos::get(info)?;
    let alignment = minimum_alignment(&given)?;
    let mut hints = Info::new();
    hints::update(&mut hints, &given, true)?;
    let made = window::make(cx, &mut guard, comm, WindowArgs { flavor, address, size, unit, hints, alignment })?;
    // SAFETY: checked.
    unsafe {
        if let Some(baseptr) = baseptr {
            baseptr.cast::<usize>().write(guard.win(made)?.window.base);
        }
        store(win, made, "win")
    }
}

pub unsafe fn win_free(cx: &Call, win: *mut Win) -> Result<()> {
    check_place(win, "win")?;
    // SAFETY: checked; the callbacks are the user's, as promised when their keys were made.
    unsafe {
        window::remove(cx, win.read())?;
        store(win, MPI_WIN_NULL, "win")
    }
}

pub unsafe fn win_shared_query(
    cx: &Call,
    win: Win,
    rank: c_int,
    size: *mut Aint,
    disp_unit: OutInt,
    baseptr: *mut c_void,
) -> Result<()> {
    let guard = cx.enter()?;
    let found = guard.win(win)?;
    let (bytes, unit, mut base) = found.window.shared_memory(rank)?;
    if bytes == 0 && found.hints.boolean(hints::NONCONTIGUOUS) == Some(true) {
        // Nothing, which lies beside nothing: other than in contiguous memory, its address tells nobody anything.
        base = 0;
    }
    check_place(size, "size")?;
    check_place(baseptr, "baseptr")?;
    if disp_unit.is_null() {
        return Err(super::null_pointer("disp_unit"));
    }
    // SAFETY: checked.
    unsafe {
        if !disp_unit.set(unit) {
            bail!(MPI_ERR_VALUE_TOO_LARGE, "the displacement unit {unit} does not fit an int; use the _c function");
        }
        baseptr.cast::<usize>().write(base);
        store(size, bytes as Aint, "size")
    }
}

pub unsafe fn win_attach(cx: &Call, win: Win, base: *mut c_void, size: Aint) -> Result<()> {
    let mut guard = cx.enter()?;
    let window = &mut guard.win_mut(win)?.window;
    let size = window::check_size(size)?;
    window.attach(base.expose_provenance(), size)
}

pub unsafe fn win_detach(cx: &Call, win: Win, base: *const c_void) -> Result<()> {
    cx.enter()?.win_mut(win)?.window.detach(base.addr())
}

pub unsafe fn win_get_group(cx: &Call, win: Win, group: *mut GroupHandle) -> Result<()> {
    let mut guard = cx.enter()?;
    let of = &guard.win(win)?.group;
    let copy = Group::new(of.ranks().clone(), of.session);
    // SAFETY: null or may be written.
    unsafe { groups::give(&mut guard, copy, group, "group") }
}

pub unsafe fn win_set_info(cx: &Call, win: Win, info: InfoHandle) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = guard.win_mut(win)?;
    hints::update(&mut found.hints, &infos::get(info)?, false)?;
    found.window.no_locks = found.hints.boolean("no_locks") == Some(true);
    Ok(())
}

pub unsafe fn win_get_info(cx: &Call, win: Win, info_used: *mut InfoHandle) -> Result<()> {
    let guard = cx.enter()?;
    let used = hints::in_force(guard.win(win)?)?;
    check_place(info_used, "info_used")?;
    // SAFETY: checked.
    unsafe { store(info_used, infos::add(used)?, "info_used") }
}
