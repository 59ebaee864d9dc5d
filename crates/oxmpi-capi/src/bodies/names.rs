//! The names of communicators and windows.

use crate::call::Call;
use oxmpi_abi::Result;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Win};

pub fn comm_set_name(cx: &Call, comm: Comm, comm_name: &[u8]) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = guard.comm_mut(comm)?;
    found.name = comm_name[..comm_name.len().min(MPI_MAX_OBJECT_NAME as usize - 1)].to_vec();
    Ok(())
}

pub fn comm_get_name(cx: &Call, comm: Comm) -> Result<Vec<u8>> {
    let guard = cx.enter()?;
    Ok(if comm == MPI_COMM_NULL { b"MPI_COMM_NULL".to_vec() } else { guard.comm(comm)?.name.clone() })
}

pub fn win_set_name(cx: &Call, win: Win, win_name: &[u8]) -> Result<()> {
    let mut guard = cx.enter()?;
    let found = guard.win_mut(win)?;
    found.name = win_name[..win_name.len().min(MPI_MAX_OBJECT_NAME as usize - 1)].to_vec();
    Ok(())
}

pub fn win_get_name(cx: &Call, win: Win) -> Result<Vec<u8>> {
    let guard = cx.enter()?;
    Ok(if win == MPI_WIN_NULL { b"MPI_WIN_NULL".to_vec() } else { guard.win(win)?.name.clone() })
}
