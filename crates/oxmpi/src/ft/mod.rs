//! Going on after processes have failed: what a program does to communicators, windows and files of which members are gone.

use oxmpi_abi::constants::MPI_ERR_UNSUPPORTED_OPERATION;
use oxmpi_abi::handle::{Comm, File, Group, Request, Win};
use oxmpi_abi::{Error, Result};
use oxmpi_core::call::Call;
use std::cell::Cell;
use std::ffi::c_int;

#[cold]
fn not_built<T>() -> Result<T> {
    Err(Error::new(MPI_ERR_UNSUPPORTED_OPERATION, "not built yet"))
}

/// Whether the job goes on after failures.
pub fn query_ulfm_support(cx: &Call) -> Result<bool> {
    Ok(cx.enter()?.engine.node().goes_on())
}

pub fn comm_revoke(_cx: &Call, _comm: Comm) -> Result<()> {
    not_built()
}

pub fn comm_is_revoked(_cx: &Call, _comm: Comm) -> Result<bool> {
    not_built()
}

pub fn comm_get_failed(_cx: &Call, _comm: Comm) -> Result<Group> {
    not_built()
}

pub fn comm_ack_failed(_cx: &Call, _comm: Comm, _num_to_ack: c_int) -> Result<c_int> {
    not_built()
}

pub fn comm_failure_ack(_cx: &Call, _comm: Comm) -> Result<()> {
    not_built()
}

pub fn comm_failure_get_acked(_cx: &Call, _comm: Comm) -> Result<Group> {
    not_built()
}

pub fn comm_agree(_cx: &Call, _comm: Comm, _flag: &Cell<c_int>) -> Result<()> {
    not_built()
}

/// # Safety
/// `flag` can be read now, and be written until the request is complete.
pub unsafe fn comm_iagree(_cx: &Call, _comm: Comm, _flag: *mut c_int) -> Result<Request> {
    not_built()
}

pub fn comm_shrink(_cx: &Call, _comm: Comm) -> Result<Comm> {
    not_built()
}

pub fn comm_ishrink(_cx: &Call, _comm: Comm) -> Result<(Comm, Request)> {
    not_built()
}

pub fn win_revoke(_cx: &Call, _win: Win) -> Result<()> {
    not_built()
}

pub fn win_get_failed(_cx: &Call, _win: Win) -> Result<Group> {
    not_built()
}

pub fn file_revoke(_cx: &Call, _file: File) -> Result<()> {
    not_built()
}
