//! Statuses: their fields, the amount of data, whether the operation was cancelled.

use crate::args::OutInt;
use crate::call::Call;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Datatype;
use oxmpi_abi::{Result, Status, bail};
use std::cell::Cell;
use std::ffi::c_int;

pub fn get_count(cx: &Call, status: &Status, datatype: Datatype, count: OutInt) -> Result<()> {
    let guard = cx.enter()?;
    count.check("count")?;
    let entries = guard.datatype(datatype)?.count_of(status.bytes());
    count.set_or_undefined(entries, "count")
}

/// Changes fields of a status.
fn change(status: &Cell<Status>, with: impl FnOnce(&mut Status)) -> Result<()> {
    let mut changed = status.get();
    with(&mut changed);
    status.set(changed);
    Ok(())
}

pub fn status_set_elements(cx: &Call, status: &Cell<Status>, datatype: Datatype, count: i64) -> Result<()> {
    let guard = cx.enter()?;
    let found = guard.datatype(datatype)?;
    let Ok(elements) = u64::try_from(count) else {
        bail!(MPI_ERR_COUNT, "the count is {count}, which is negative");
    };
    match found.bytes_of(elements) {
        Some(bytes) if bytes <= i64::MAX.into() => change(status, |status| status.set_bytes(bytes as u64)),
        Some(_) => bail!(MPI_ERR_COUNT, "{count} elements of this datatype are more bytes than a status can hold"),
        None => bail!(MPI_ERR_COUNT, "the count is {count}, but the datatype has no elements"),
    }
}

pub fn test_cancelled(status: &Status) -> Result<bool> {
    Ok(status.is_cancelled())
}

pub fn status_set_cancelled(status: &Cell<Status>, flag: c_int) -> Result<()> {
    change(status, |status| status.set_cancelled(flag != 0))
}

pub fn status_get_source(status: &Status) -> Result<c_int> {
    Ok(status.source)
}

pub fn status_get_tag(status: &Status) -> Result<c_int> {
    Ok(status.tag)
}

pub fn status_get_error(status: &Status) -> Result<c_int> {
    Ok(status.error)
}

pub fn status_set_source(status: &Cell<Status>, source: c_int) -> Result<()> {
    change(status, |status| status.source = source)
}

pub fn status_set_tag(status: &Cell<Status>, tag: c_int) -> Result<()> {
    change(status, |status| status.tag = tag)
}

pub fn status_set_error(status: &Cell<Status>, error: c_int) -> Result<()> {
    change(status, |status| status.error = error)
}
