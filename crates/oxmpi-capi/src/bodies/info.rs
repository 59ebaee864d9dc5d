//! Info objects. All of it may be called at any time, from any thread.

use super::{check_place, store, text};
use crate::call::Call;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Info as Handle;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_core::info::Info;
use std::ffi::{CStr, c_char, c_int};

/// # Safety
/// `key` is null or a string.
unsafe fn key_text<'a>(key: *const c_char) -> Result<&'a [u8]> {
    // SAFETY: as the caller says.
    unsafe { text(key, "key") }.map_err(|error| Error::new(MPI_ERR_INFO_KEY, error.text()))
}

pub unsafe fn info_create(cx: &Call, info: *mut Handle) -> Result<()> {
    check_place(info, "info")?;
    // SAFETY: checked.
    unsafe { store(info, cx.library().add_info(Info::new())?, "info") }
}

pub unsafe fn info_dup(cx: &Call, info: Handle, newinfo: *mut Handle) -> Result<()> {
    check_place(newinfo, "newinfo")?;
    let copy = cx.library().read_info(info, |info| Ok(info.clone()))?;
    // SAFETY: checked.
    unsafe { store(newinfo, cx.library().add_info(copy)?, "newinfo") }
}

pub unsafe fn info_free(cx: &Call, info: *mut Handle) -> Result<()> {
    check_place(info, "info")?;
    // SAFETY: checked.
    let handle = unsafe { info.read() };
    cx.library().remove_info(handle)?;
    // SAFETY: checked.
    unsafe { store(info, MPI_INFO_NULL, "info") }
}

pub unsafe fn info_create_env(cx: &Call, argc: c_int, argv: *mut *mut c_char, info: *mut Handle) -> Result<()> {
    check_place(info, "info")?;
    if argc < 0 {
        bail!(MPI_ERR_ARG, "argc is {argc}, which is negative");
    }
    let mut given: Vec<&[u8]> = Vec::new();
    for index in 0..argc as usize {
        check_place(argv, "argv")?;
        // SAFETY: `argv` has `argc` elements, each null or a string.
        unsafe {
            match argv.add(index).read() {
                argument if argument.is_null() => break,
                argument => given.push(CStr::from_ptr(argument).to_bytes()),
            }
        }
    }
    // SAFETY: checked.
    unsafe { store(info, cx.library().add_info(cx.library().environment(&given))?, "info") }
}

pub unsafe fn info_set(cx: &Call, info: Handle, key: *const c_char, value: *const c_char) -> Result<()> {
    // SAFETY: null or strings.
    let (key, value) = unsafe {
        let value = text(value, "value").map_err(|error| Error::new(MPI_ERR_INFO_VALUE, error.text()));
        (key_text(key)?, value?)
    };
    cx.library().change_info(info, |info| info.set(key, value))
}

pub unsafe fn info_delete(cx: &Call, info: Handle, key: *const c_char) -> Result<()> {
    // SAFETY: null or a string.
    let key = unsafe { key_text(key)? };
    cx.library().change_info(info, |info| info.delete(key))
}

pub unsafe fn info_get_nkeys(cx: &Call, info: Handle, nkeys: *mut c_int) -> Result<()> {
    let count = cx.library().read_info(info, |info| Ok(info.len() as c_int))?;
    // SAFETY: null or may be written.
    unsafe { store(nkeys, count, "nkeys") }
}

pub unsafe fn info_get_nthkey(cx: &Call, info: Handle, n: c_int, key: *mut c_char) -> Result<()> {
    check_place(key, "key")?;
    cx.library().read_info(info, |info| {
        // SAFETY: room for MPI_MAX_INFO_KEY characters, as the standard asks; no key is longer.
        unsafe { put(key, info.nth_key(n)?) };
        Ok(())
    })
}

pub unsafe fn info_get_string(
    cx: &Call,
    info: Handle,
    key: *const c_char,
    buflen: *mut c_int,
    value: *mut c_char,
    flag: *mut c_int,
) -> Result<()> {
    check_place(buflen, "buflen")?;
    check_place(flag, "flag")?;
    // SAFETY: null or a string; checked; room for as many characters as `buflen` says.
    unsafe {
        let (key, room) = (key_text(key)?, buflen.read());
        cx.library().read_info(info, |info| {
            let found = info.get_string(key, room, 1)?;
            if let Some(found) = found {
                if let Some(words) = found.text {
                    check_place(value, "value")?;
                    put(value, words);
                }
                buflen.write(found.needed);
            }
            flag.write(c_int::from(found.is_some()));
            Ok(())
        })
    }
}

pub unsafe fn info_get(
    cx: &Call,
    info: Handle,
    key: *const c_char,
    valuelen: c_int,
    value: *mut c_char,
    flag: *mut c_int,
) -> Result<()> {
    check_place(flag, "flag")?;
    let Ok(room) = usize::try_from(valuelen) else {
        bail!(MPI_ERR_ARG, "valuelen is {valuelen}, which is negative");
    };
    // SAFETY: null or a string; checked; room for `valuelen` characters and one more, as the standard asks.
    unsafe {
        let key = key_text(key)?;
        cx.library().read_info(info, |info| {
            let found = info.get(key)?;
            if let Some(words) = found {
                check_place(value, "value")?;
                put(value, &words[..words.len().min(room)]);
            }
            flag.write(c_int::from(found.is_some()));
            Ok(())
        })
    }
}

pub unsafe fn info_get_valuelen(
    cx: &Call,
    info: Handle,
    key: *const c_char,
    valuelen: *mut c_int,
    flag: *mut c_int,
) -> Result<()> {
    check_place(valuelen, "valuelen")?;
    check_place(flag, "flag")?;
    // SAFETY: null or a string; checked.
    unsafe {
        let key = key_text(key)?;
        cx.library().read_info(info, |info| {
            let found = info.get(key)?;
            if let Some(words) = found {
                valuelen.write(words.len() as c_int);
            }
            flag.write(c_int::from(found.is_some()));
            Ok(())
        })
    }
}

/// # Safety
/// `to` has room for the words and a null character.
unsafe fn put(to: *mut c_char, words: &[u8]) {
    // SAFETY: as the caller says.
    unsafe {
        to.cast::<u8>().copy_from_nonoverlapping(words.as_ptr(), words.len());
        to.add(words.len()).write(0);
    }
}
