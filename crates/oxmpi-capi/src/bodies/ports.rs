//! Ports, connections and published names: communicators between processes that share none.

use crate::args::Text;
use crate::call::{Call, Guard};
use crate::library::LIBRARY;
use oxmpi::comm;
use oxmpi::dynamic::sockets::Socket;
use oxmpi::dynamic::{names, ports};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Info};
use oxmpi_abi::{Result, bail};
use std::ffi::c_int;
use std::time::Duration;

pub fn open_port(cx: &Call, info: Info) -> Result<String> {
    let mut guard = cx.enter()?;
    // No key has an effect here.
    LIBRARY.info(info)?;
    ports::open_port(cx, &mut guard, true)
}

pub fn close_port(cx: &Call, port_name: &[u8]) -> Result<()> {
    let mut guard = cx.enter()?;
    ports::close_port(&mut guard, &String::from_utf8_lossy(port_name))
}

pub fn comm_accept(cx: &Call, port_name: Text, info: Info, root: c_int, comm: Comm) -> Result<Comm> {
    let mut guard = cx.enter()?;
    let root = comm::root_of(guard.comm(comm)?, root)?;
    match at_root(&guard, comm, root, port_name, info) {
        Ok(port) => ports::accept(cx, &mut guard, &port.name, comm, root, &mut || Ok(())),
        Err(error) => ports::refuse(cx, &mut guard, comm, root, error),
    }
}

pub fn comm_connect(cx: &Call, port_name: Text, info: Info, root: c_int, comm: Comm) -> Result<Comm> {
    let mut guard = cx.enter()?;
    let root = comm::root_of(guard.comm(comm)?, root)?;
    match at_root(&guard, comm, root, port_name, info) {
        Ok(port) => {
            let patience = Some(port.patience.unwrap_or(PATIENCE));
            ports::connect(cx, &mut guard, &port.name, comm, root, patience)
        }
        Err(error) => ports::refuse(cx, &mut guard, comm, root, error),
    }
}

pub fn comm_join(cx: &Call, fd: c_int) -> Result<Comm> {
    let mut guard = cx.enter()?;
    let socket = Socket::new(fd)?;
    ports::join(cx, &mut guard, &socket)
}

/// What is significant only at the root; empty elsewhere.
#[derive(Default)]
struct AtRoot {
    name: String,
    patience: Option<Duration>,
}

/// The info key for the seconds to wait for a connection, and the default.
const TIMEOUT: &str = "timeout";
const PATIENCE: Duration = Duration::from_secs(120);

fn at_root(guard: &Guard, comm: Comm, root: usize, port_name: Text, info: Info) -> Result<AtRoot> {
    if guard.comm(comm)?.rank as usize != root {
        return Ok(AtRoot::default());
    }
    // SAFETY: this is the root, where the argument is significant.
    let name = String::from_utf8_lossy(unsafe { port_name.get("port_name")? }).into_owned();
    let patience = match LIBRARY.info(info)?.text(TIMEOUT) {
        None => None,
        Some(value) => match value.trim().parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()) {
            Some(patience) => Some(patience),
            None => bail!(MPI_ERR_INFO_VALUE, "the value \"{value}\" of the key {TIMEOUT} is not a number of seconds"),
        },
    };
    Ok(AtRoot { name, patience })
}

// ---- names ----

pub fn publish_name(cx: &Call, service_name: &[u8], info: Info, port_name: &[u8]) -> Result<()> {
    let mut guard = cx.enter()?;
    LIBRARY.info(info)?;
    let (length, most) = (port_name.len(), MPI_MAX_PORT_NAME - 1);
    if length > most as usize {
        bail!(MPI_ERR_PORT, "port_name has {length} characters; the name of a port has at most {most}");
    }
    names::publish(cx, &mut guard, service_name, port_name)
}

pub fn unpublish_name(cx: &Call, service_name: &[u8], info: Info, port_name: &[u8]) -> Result<()> {
    let mut guard = cx.enter()?;
    LIBRARY.info(info)?;
    names::unpublish(cx, &mut guard, service_name, port_name)
}

pub fn lookup_name(cx: &Call, service_name: &[u8], info: Info) -> Result<Vec<u8>> {
    let mut guard = cx.enter()?;
    LIBRARY.info(info)?;
    names::look_up(cx, &mut guard, service_name)
}
