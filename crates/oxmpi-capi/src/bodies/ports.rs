//! Ports, connections and published names: communicators between processes that share none.

use super::{check_place, store, text};
use crate::call::Call;
use crate::infos;
use oxmpi::comm;
use oxmpi::dynamic::ports;
use oxmpi::dynamic::sockets::Socket;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Info};
use oxmpi_abi::{Result, bail};
use oxmpi_core::guard::Guard;
use oxmpi_core::names;
use std::ffi::{c_char, c_int};
use std::time::Duration;

pub unsafe fn open_port(cx: &Call, info: Info, port_name: *mut c_char) -> Result<()> {
    let mut guard = cx.enter()?;
    // No key means anything here: all ports are of this node.
    infos::get(info)?;
    check_place(port_name, "port_name")?;
    let name = ports::open_port(&mut guard)?;
    // SAFETY: room for MPI_MAX_PORT_NAME characters.
    unsafe { store_name(port_name, name.as_bytes()) }
}

pub unsafe fn close_port(cx: &Call, port_name: *const c_char) -> Result<()> {
    let mut guard = cx.enter()?;
    // SAFETY: null or a string.
    let name = unsafe { name_of(port_name, "port_name")? };
    ports::close_port(&mut guard, &name)
}

pub unsafe fn comm_accept(
    cx: &Call,
    port_name: *const c_char,
    info: Info,
    root: c_int,
    comm: Comm,
    newcomm: *mut Comm,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let root = comm::root_of(guard.comm(comm)?, root)?;
    check_place(newcomm, "newcomm")?;
    // SAFETY: null or a string, at the root.
    let handle = match unsafe { at_root(&guard, comm, root, port_name, info) } {
        Ok(port) => ports::accept(cx, &mut guard, &port.name, comm, root, &mut || Ok(()))?,
        Err(error) => ports::refuse(cx, &mut guard, comm, root, error)?,
    };
    // SAFETY: checked.
    unsafe { store(newcomm, handle, "newcomm") }
}

pub unsafe fn comm_connect(
    cx: &Call,
    port_name: *const c_char,
    info: Info,
    root: c_int,
    comm: Comm,
    newcomm: *mut Comm,
) -> Result<()> {
    let mut guard = cx.enter()?;
    let root = comm::root_of(guard.comm(comm)?, root)?;
    check_place(newcomm, "newcomm")?;
    // SAFETY: null or a string, at the root.
    let handle = match unsafe { at_root(&guard, comm, root, port_name, info) } {
        Ok(port) => {
            let patience = Some(port.patience.unwrap_or(PATIENCE));
            ports::connect(cx, &mut guard, &port.name, comm, root, patience, &mut || Ok(()))?
        }
        Err(error) => ports::refuse(cx, &mut guard, comm, root, error)?,
    };
    // SAFETY: checked.
    unsafe { store(newcomm, handle, "newcomm") }
}

pub unsafe fn comm_join(cx: &Call, fd: c_int, intercomm: *mut Comm) -> Result<()> {
    let mut guard = cx.enter()?;
    check_place(intercomm, "intercomm")?;
    let socket = Socket::new(fd)?;
    let handle = ports::join(cx, &mut guard, &socket)?;
    // SAFETY: checked.
    unsafe { store(intercomm, handle, "intercomm") }
}

/// What counts at the root only; empty elsewhere.
#[derive(Default)]
struct AtRoot {
    name: String,
    patience: Option<Duration>,
}

/// The key of an info that says how many seconds a connection is waited for, and how long that is without it.
const TIMEOUT: &str = "timeout";
const PATIENCE: Duration = Duration::from_secs(120);

/// # Safety
/// At the root, `port_name` is null or a string.
unsafe fn at_root(guard: &Guard, comm: Comm, root: usize, port_name: *const c_char, info: Info) -> Result<AtRoot> {
    if guard.comm(comm)?.rank as usize != root {
        return Ok(AtRoot::default());
    }
    // SAFETY: as the caller says.
    let name = unsafe { name_of(port_name, "port_name")? };
    let patience = match infos::get(info)?.text(TIMEOUT) {
        None => None,
        Some(value) => match value.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
            Some(patience) => Some(patience),
            None => bail!(MPI_ERR_INFO_VALUE, "the value \"{value}\" of the key {TIMEOUT} is not a number of seconds"),
        },
    };
    Ok(AtRoot { name, patience })
}

// ---- names ----

pub unsafe fn publish_name(cx: &Call, service_name: *const c_char, info: Info, port_name: *const c_char) -> Result<()> {
    let mut guard = cx.enter()?;
    infos::get(info)?;
    // SAFETY: null or strings.
    let (service, port) = unsafe { (text(service_name, "service_name")?, text(port_name, "port_name")?) };
    let (length, most) = (port.len(), MPI_MAX_PORT_NAME - 1);
    if length > most as usize {
        bail!(MPI_ERR_PORT, "port_name has {length} characters; the name of a port has at most {most}");
    }
    guard.names.publish(service, port)
}

pub unsafe fn unpublish_name(
    cx: &Call,
    service_name: *const c_char,
    info: Info,
    port_name: *const c_char,
) -> Result<()> {
    let mut guard = cx.enter()?;
    infos::get(info)?;
    // SAFETY: null or strings.
    let (service, port) = unsafe { (text(service_name, "service_name")?, text(port_name, "port_name")?) };
    guard.names.unpublish(service, port)
}

pub unsafe fn lookup_name(cx: &Call, service_name: *const c_char, info: Info, port_name: *mut c_char) -> Result<()> {
    let guard = cx.enter()?;
    infos::get(info)?;
    check_place(port_name, "port_name")?;
    // SAFETY: null or a string.
    let service = unsafe { text(service_name, "service_name")? };
    drop(guard);
    let mut port = names::look_up(service)?;
    port.truncate(MPI_MAX_PORT_NAME as usize - 1);
    // SAFETY: room for MPI_MAX_PORT_NAME characters.
    unsafe { store_name(port_name, &port) }
}

/// # Safety
/// `string` is null or a string.
unsafe fn name_of(string: *const c_char, name: &str) -> Result<String> {
    // SAFETY: as the caller says.
    Ok(String::from_utf8_lossy(unsafe { text(string, name)? }).into_owned())
}

/// # Safety
/// `to` has room for the name and a null character.
unsafe fn store_name(to: *mut c_char, name: &[u8]) -> Result<()> {
    debug_assert!(name.len() < MPI_MAX_PORT_NAME as usize);
    // SAFETY: as the caller says.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(name.as_ptr(), name.len());
        to.add(name.len()).write(0);
    }
    Ok(())
}
