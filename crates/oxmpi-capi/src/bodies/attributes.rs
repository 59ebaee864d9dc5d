//! Attributes of communicators and windows: predefined ones, and those of the program.

use crate::call::{Call, Guard};
use crate::keyvals::callbacks;
use crate::library::LIBRARY;
use oxmpi_abi::callbacks::*;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::*;
use oxmpi_abi::{Result, bail};
use oxmpi_core::attributes::{Object, Owner, Value};
use oxmpi_core::callback::{AttributeFunctions, Callback};
use oxmpi_core::checks::TAG_UB;
use oxmpi_rma::Window;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

// ---- predefined attributes: C reads an int through its address, which is always valid ----

static TAG_BOUND: AtomicI32 = AtomicI32::new(TAG_UB);
/// Every process can use the I/O of its language.
static IO: AtomicI32 = AtomicI32::new(MPI_ANY_SOURCE);
static HOST: AtomicI32 = AtomicI32::new(MPI_PROC_NULL);
/// The processes of a node read one clock.
static WTIME_IS_GLOBAL: AtomicI32 = AtomicI32::new(1);
static APPNUM: AtomicI32 = AtomicI32::new(0);
static UNIVERSE_SIZE: AtomicI32 = AtomicI32::new(0);
/// Whether the job survives the failure of processes.
static FAULT_TOLERANT: AtomicI32 = AtomicI32::new(0);

const PREDEFINED: [c_int; 8] =
    [MPI_TAG_UB, MPI_IO, MPI_HOST, MPI_WTIME_IS_GLOBAL, MPI_APPNUM, MPI_LASTUSEDCODE, MPI_UNIVERSE_SIZE, MPIX_FT];

/// The address of a predefined attribute's value; `None` if it is not set.
fn predefined(guard: &Guard, keyval: c_int) -> Option<&'static AtomicI32> {
    let set = |place: &'static AtomicI32, value: c_int| {
        place.store(value, Relaxed);
        place
    };
    Some(match keyval {
        MPI_TAG_UB => &TAG_BOUND,
        MPI_IO => &IO,
        MPI_HOST => &HOST,
        MPI_WTIME_IS_GLOBAL => &WTIME_IS_GLOBAL,
        MPI_LASTUSEDCODE => LIBRARY.last_used_code(),
        MPIX_FT => set(&FAULT_TOLERANT, guard.engine.node().goes_on().into()),
        MPI_APPNUM => set(&APPNUM, guard.appnum?),
        _ => set(&UNIVERSE_SIZE, guard.universe_size),
    })
}

/// The program may read predefined attributes, but not change them.
fn check_own(keyval: c_int) -> Result<()> {
    if PREDEFINED.contains(&keyval) || OF_WINDOWS.contains(&keyval) {
        bail!(MPI_ERR_KEYVAL, "attribute key {keyval} is predefined; it cannot be set, deleted or freed");
    }
    Ok(())
}

// ---- keys ----

fn free(cx: &Call, owner: Owner, keyval: &Cell<c_int>) -> Result<()> {
    cx.enter()?;
    check_own(keyval.get())?;
    cx.library().free_key(owner, keyval.get())?;
    keyval.set(MPI_KEYVAL_INVALID);
    Ok(())
}

pub fn comm_create_keyval(
    cx: &Call,
    comm_copy_attr_fn: Callback<CommCopyAttrFn>,
    comm_delete_attr_fn: Callback<CommDeleteAttrFn>,
    extra_state: usize,
) -> Result<c_int> {
    cx.enter()?;
    let (owner, callbacks) = callbacks(AttributeFunctions::Comm(comm_copy_attr_fn, comm_delete_attr_fn), extra_state);
    cx.library().create_key(owner, callbacks)
}

pub fn comm_free_keyval(cx: &Call, comm_keyval: &Cell<c_int>) -> Result<()> {
    free(cx, Owner::Comm, comm_keyval)
}

pub fn win_create_keyval(
    cx: &Call,
    win_copy_attr_fn: Callback<WinCopyAttrFn>,
    win_delete_attr_fn: Callback<WinDeleteAttrFn>,
    extra_state: usize,
) -> Result<c_int> {
    cx.enter()?;
    let (owner, callbacks) = callbacks(AttributeFunctions::Win(win_copy_attr_fn, win_delete_attr_fn), extra_state);
    cx.library().create_key(owner, callbacks)
}

pub fn win_free_keyval(cx: &Call, win_keyval: &Cell<c_int>) -> Result<()> {
    free(cx, Owner::Win, win_keyval)
}

// ---- attributes ----

pub fn comm_set_attr(cx: &Call, comm: Comm, comm_keyval: c_int, attribute_val: usize) -> Result<()> {
    cx.enter()?.comm(comm)?;
    check_own(comm_keyval)?;
    let value = Value::Pointer(attribute_val);
    cx.library().set_attribute(Object::Comm(comm), comm_keyval, value)
}

pub fn comm_get_attr(cx: &Call, comm: Comm, comm_keyval: c_int) -> Result<Option<usize>> {
    let guard = cx.enter()?;
    guard.comm(comm)?;
    match PREDEFINED.contains(&comm_keyval) {
        true => Ok(predefined(&guard, comm_keyval).map(|value| value.as_ptr().expose_provenance())),
        false => cx.library().attribute(Object::Comm(comm), comm_keyval),
    }
}

pub fn comm_delete_attr(cx: &Call, comm: Comm, comm_keyval: c_int) -> Result<()> {
    cx.enter()?.comm(comm)?;
    check_own(comm_keyval)?;
    cx.library().delete_attribute(Object::Comm(comm), comm_keyval)
}

// ---- attributes of windows ----

const OF_WINDOWS: [c_int; 5] = [MPI_WIN_BASE, MPI_WIN_DISP_UNIT, MPI_WIN_SIZE, MPI_WIN_CREATE_FLAVOR, MPI_WIN_MODEL];

/// What C reads of a predefined attribute: the window's base, or the address of a number that lives
/// as long as the window.
fn of_window(window: &Window, keyval: c_int) -> usize {
    let facts = &*window.facts;
    match keyval {
        MPI_WIN_BASE => window.base,
        MPI_WIN_SIZE => (&raw const facts.size).expose_provenance(),
        MPI_WIN_DISP_UNIT => (&raw const facts.disp_unit).expose_provenance(),
        MPI_WIN_CREATE_FLAVOR => (&raw const facts.flavor).expose_provenance(),
        _ => (&raw const facts.model).expose_provenance(),
    }
}

pub fn win_set_attr(cx: &Call, win: Win, win_keyval: c_int, attribute_val: usize) -> Result<()> {
    cx.enter()?.win(win)?;
    check_own(win_keyval)?;
    let value = Value::Pointer(attribute_val);
    cx.library().set_attribute(Object::Win(win), win_keyval, value)
}

pub fn win_get_attr(cx: &Call, win: Win, win_keyval: c_int) -> Result<Option<usize>> {
    let guard = cx.enter()?;
    let found = guard.win(win)?;
    match OF_WINDOWS.contains(&win_keyval) {
        true => Ok(Some(of_window(&found.window, win_keyval))),
        false => cx.library().attribute(Object::Win(win), win_keyval),
    }
}

pub fn win_delete_attr(cx: &Call, win: Win, win_keyval: c_int) -> Result<()> {
    cx.enter()?.win(win)?;
    check_own(win_keyval)?;
    cx.library().delete_attribute(Object::Win(win), win_keyval)
}
