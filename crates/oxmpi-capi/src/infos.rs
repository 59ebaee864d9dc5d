//! The info objects of the process, for functions that have no call in hand: see `infos.rs` of `oxmpi-core`.

use crate::library::LIBRARY;
use oxmpi_abi::Result;
use oxmpi_abi::handle::Info as Handle;
use oxmpi_base::slots::SlotTable;
use oxmpi_core::info::Info;
use std::sync::MutexGuard;

pub fn table() -> MutexGuard<'static, SlotTable<Info>> {
    LIBRARY.infos()
}

pub fn add(info: Info) -> Result<Handle> {
    LIBRARY.add_info(info)
}

pub fn get(handle: Handle) -> Result<Info> {
    LIBRARY.info(handle)
}

pub fn read<R>(handle: Handle, with: impl FnOnce(&Info) -> Result<R>) -> Result<R> {
    LIBRARY.read_info(handle, with)
}

pub fn change<R>(handle: Handle, with: impl FnOnce(&mut Info) -> Result<R>) -> Result<R> {
    LIBRARY.change_info(handle, with)
}
