//! Ports: where processes of other jobs find this one, and how two groups that share no communicator become an
//! intercommunicator.
#![allow(dead_code, reason = "its users come next")]

use crate::call::Cx;
use crate::library::Guard;
use oxmpi_abi::constants::MPI_ERR_UNSUPPORTED_OPERATION;
use oxmpi_abi::handle::Comm;
use oxmpi_abi::{Result, bail};
use std::time::Duration;

/// What a root that waits asks now and then, about every 10 ms: an error ends the wait.
pub type StillThere<'a> = &'a mut dyn FnMut() -> Result<()>;

/// Opens a port of this process's own and says its name.
pub fn open_port(_guard: &mut Guard) -> Result<String> {
    bail!(MPI_ERR_UNSUPPORTED_OPERATION, "not built yet");
}

/// Closes a port that this process opened.
pub fn close_port(_guard: &mut Guard, _port: &str) -> Result<()> {
    bail!(MPI_ERR_UNSUPPORTED_OPERATION, "not built yet");
}

/// Waits for a group that [connects](connect). Collective over the intracommunicator `comm`; `port`, of which the root must be
/// the owner, and `still_there` count at the root only. An error at the root is an error everywhere.
pub fn accept(
    _cx: &Cx,
    _guard: &mut Guard,
    _port: &str,
    _comm: Comm,
    _root: usize,
    _still_there: StillThere<'_>,
) -> Result<Comm> {
    bail!(MPI_ERR_UNSUPPORTED_OPERATION, "not built yet");
}

/// Joins the group that [accepts](accept) at a port; waits for it no longer than `patience`, if that is given. Else as
/// [`accept`].
pub fn connect(
    _cx: &Cx,
    _guard: &mut Guard,
    _port: &str,
    _comm: Comm,
    _root: usize,
    _patience: Option<Duration>,
    _still_there: StillThere<'_>,
) -> Result<Comm> {
    bail!(MPI_ERR_UNSUPPORTED_OPERATION, "not built yet");
}
