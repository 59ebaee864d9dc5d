//! Control variables of the tool information interface.

use crate::tool::{Answer, TOOL, at, check_initialized, enter, index_of, place, put, put_text, put_value, store};
use oxmpi::tool::cvars::CVARS;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Datatype, TCvarHandle, TEnum};
use std::ffi::{c_char, c_int, c_void};

pub unsafe fn t_cvar_get_num(num_cvar: *mut c_int) -> Answer {
    check_initialized()?;
    // SAFETY: null or may be written.
    unsafe { store(num_cvar, CVARS.len() as c_int) }
}

pub unsafe fn t_cvar_get_info(
    cvar_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    datatype: *mut Datatype,
    enumtype: *mut TEnum,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
    scope: *mut c_int,
) -> Answer {
    check_initialized()?;
    let cvar = at(&CVARS, cvar_index)?;
    // SAFETY: each output is null or can be written; strings have the room that their length says.
    unsafe {
        put_text(name, name_len, cvar.name)?;
        put_text(desc, desc_len, cvar.description)?;
        put(verbosity, cvar.verbosity);
        put(datatype, cvar.datatype());
        put(enumtype, cvar.enumeration().map_or(MPI_T_ENUM_NULL, |names| names.handle()));
        put(bind, MPI_T_BIND_NO_OBJECT);
        put(scope, cvar.scope);
    }
    Ok(())
}

pub unsafe fn t_cvar_get_index(name: *const c_char, cvar_index: *mut c_int) -> Answer {
    check_initialized()?;
    // SAFETY: null or a string; null or may be written.
    unsafe { store(cvar_index, index_of(&CVARS, name, |cvar, name| cvar.name.as_bytes() == name)?) }
}

pub unsafe fn t_cvar_handle_alloc(
    cvar_index: c_int,
    _obj_handle: *mut c_void,
    handle: *mut TCvarHandle,
    count: *mut c_int,
) -> Answer {
    let mut state = enter()?;
    let cvar = at(&CVARS, cvar_index)?;
    place(handle)?;
    // SAFETY: `count` is null or can be written; the handle is not null, by the check above.
    unsafe {
        store(count, cvar.count())?;
        store(handle, state.add_cvar(cvar)?)
    }
}

pub unsafe fn t_cvar_handle_free(handle: *mut TCvarHandle) -> Answer {
    let mut state = enter()?;
    place(handle)?;
    // SAFETY: not null, by the check above.
    unsafe {
        state.free_cvar(handle.read())?;
        store(handle, MPI_T_CVAR_HANDLE_NULL)
    }
}

pub unsafe fn t_cvar_read(handle: TCvarHandle, buf: *mut c_void) -> Answer {
    let value = enter()?.cvar(handle)?.read(&TOOL.subject);
    // SAFETY: the tool promises room for a value, or null.
    unsafe { put_value(buf, value) }
}

pub unsafe fn t_cvar_write(handle: TCvarHandle, buf: *const c_void) -> Answer {
    let cvar = enter()?.cvar(handle)?;
    place(buf)?;
    // SAFETY: the tool promises a value; a variable that can be set is an int.
    cvar.write(&TOOL.subject, || Ok(unsafe { buf.cast::<c_int>().read() }))
}
