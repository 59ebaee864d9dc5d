//! Info objects. All of it may be called at any time, from any thread.

use crate::args::{Out, OutText, Strings, null_pointer};
use crate::library::LIBRARY;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Info as Handle;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_core::info::Info;
use std::cell::Cell;
use std::ffi::c_int;

/// A key, which has an error class of its own when it is missing.
fn key_of(key: Option<&[u8]>) -> Result<&[u8]> {
    key.ok_or_else(|| Error::new(MPI_ERR_INFO_KEY, null_pointer("key").text()))
}

pub fn info_create() -> Result<Handle> {
    LIBRARY.add_info(Info::new())
}

pub fn info_dup(info: Handle) -> Result<Handle> {
    LIBRARY.add_info(LIBRARY.read_info(info, |info| Ok(info.clone()))?)
}

pub fn info_free(info: &Cell<Handle>) -> Result<()> {
    LIBRARY.remove_info(info.get())?;
    info.set(MPI_INFO_NULL);
    Ok(())
}

pub fn info_create_env(argc: c_int, argv: Strings) -> Result<Handle> {
    if argc < 0 {
        bail!(MPI_ERR_ARG, "argc is {argc}, which is negative");
    }
    let given = argv.first(argc as usize, "argv")?;
    LIBRARY.add_info(LIBRARY.environment(&given))
}

pub fn info_set(info: Handle, key: Option<&[u8]>, value: Option<&[u8]>) -> Result<()> {
    let value = value.ok_or_else(|| Error::new(MPI_ERR_INFO_VALUE, null_pointer("value").text()));
    let (key, value) = (key_of(key)?, value?);
    LIBRARY.change_info(info, |info| info.set(key, value))
}

pub fn info_delete(info: Handle, key: Option<&[u8]>) -> Result<()> {
    let key = key_of(key)?;
    LIBRARY.change_info(info, |info| info.delete(key))
}

pub fn info_get_nkeys(info: Handle) -> Result<c_int> {
    LIBRARY.read_info(info, |info| Ok(info.len() as c_int))
}

pub fn info_get_nthkey(info: Handle, n: c_int) -> Result<Vec<u8>> {
    LIBRARY.read_info(info, |info| Ok(info.nth_key(n)?.to_vec()))
}

pub fn info_get_string(info: Handle, key: Option<&[u8]>, buflen: &Cell<c_int>, value: OutText) -> Result<bool> {
    let key = key_of(key)?;
    LIBRARY.read_info(info, |info| {
        let found = info.get_string(key, buflen.get(), 1)?;
        if let Some(found) = &found {
            if let Some(words) = found.text {
                value.check("value")?;
                value.set(words);
            }
            buflen.set(found.needed);
        }
        Ok(found.is_some())
    })
}

pub fn info_get(info: Handle, key: Option<&[u8]>, valuelen: c_int, value: OutText) -> Result<bool> {
    if valuelen < 0 {
        bail!(MPI_ERR_ARG, "valuelen is {valuelen}, which is negative");
    }
    let key = key_of(key)?;
    LIBRARY.read_info(info, |info| {
        let found = info.get(key)?;
        if let Some(words) = found {
            value.check("value")?;
            value.set(words);
        }
        Ok(found.is_some())
    })
}

pub fn info_get_valuelen(info: Handle, key: Option<&[u8]>, valuelen: Out<c_int>) -> Result<bool> {
    valuelen.check("valuelen")?;
    let key = key_of(key)?;
    LIBRARY.read_info(info, |info| {
        let found = info.get(key)?;
        if let Some(words) = found {
            valuelen.set(words.len() as c_int);
        }
        Ok(found.is_some())
    })
}
