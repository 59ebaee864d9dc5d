//! Performance variables of the tool information interface.

use crate::tool::{
    Answer, INVALID, TOOL, Value, at, check_initialized, enter, index_of, place, put, put_text, put_value, store,
};
use oxmpi::tool::pvars::PVARS;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Datatype, TEnum, TPvarHandle, TPvarSession};
use std::ffi::{c_char, c_int, c_void};

pub unsafe fn t_pvar_get_num(num_pvar: *mut c_int) -> Answer {
    check_initialized()?;
    // SAFETY: null or may be written.
    unsafe { store(num_pvar, PVARS.len() as c_int) }
}

pub unsafe fn t_pvar_get_info(
    pvar_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    var_class: *mut c_int,
    datatype: *mut Datatype,
    enumtype: *mut TEnum,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
    readonly: *mut c_int,
    continuous: *mut c_int,
    atomic: *mut c_int,
) -> Answer {
    check_initialized()?;
    let pvar = at(&PVARS, pvar_index)?;
    // SAFETY: each output is null or can be written; strings have the room that their length says.
    unsafe {
        put_text(name, name_len, pvar.name)?;
        put_text(desc, desc_len, pvar.description)?;
        put(verbosity, pvar.verbosity);
        put(var_class, pvar.class);
        put(datatype, pvar.datatype());
        put(enumtype, pvar.enumeration().map_or(MPI_T_ENUM_NULL, |names| names.handle()));
        put(bind, pvar.bind());
        put(readonly, c_int::from(!pvar.is_counted()));
        put(continuous, c_int::from(!pvar.is_counted()));
        put(atomic, c_int::from(pvar.is_counted()));
    }
    Ok(())
}

pub unsafe fn t_pvar_get_index(name: *const c_char, var_class: c_int, pvar_index: *mut c_int) -> Answer {
    check_initialized()?;
    // SAFETY: null or a string; null or may be written.
    unsafe {
        let index = index_of(&PVARS, name, |pvar, name| pvar.class == var_class && pvar.name.as_bytes() == name)?;
        store(pvar_index, index)
    }
}

pub unsafe fn t_pvar_session_create(session: *mut TPvarSession) -> Answer {
    let mut state = enter()?;
    place(session)?;
    // SAFETY: not null, by the check above.
    unsafe { store(session, state.add_session()?) }
}

pub unsafe fn t_pvar_session_free(session: *mut TPvarSession) -> Answer {
    let mut state = enter()?;
    place(session)?;
    // SAFETY: not null, by the check above.
    unsafe {
        state.free_session(session.read())?;
        store(session, MPI_T_PVAR_SESSION_NULL)
    }
}

pub unsafe fn t_pvar_handle_alloc(
    session: TPvarSession,
    pvar_index: c_int,
    obj_handle: *mut c_void,
    handle: *mut TPvarHandle,
    count: *mut c_int,
) -> Answer {
    let mut state = enter()?;
    state.session(session)?;
    let pvar = at(&PVARS, pvar_index)?;
    place(handle)?;
    place(count)?;
    // SAFETY: not null if it is read, and then the address of a communicator's handle.
    let comm = || if obj_handle.is_null() { Err(INVALID) } else { Ok(unsafe { obj_handle.cast::<Comm>().read() }) };
    let (made, elements) = state.add_pvar(&TOOL.subject, session, pvar, comm)?;
    // SAFETY: not null, by the check above.
    unsafe {
        store(count, elements)?;
        store(handle, made)
    }
}

pub unsafe fn t_pvar_handle_free(session: TPvarSession, handle: *mut TPvarHandle) -> Answer {
    let mut state = enter()?;
    state.session(session)?;
    place(handle)?;
    // SAFETY: not null, by the check above.
    unsafe {
        state.free_pvar(session, handle.read())?;
        store(handle, MPI_T_PVAR_HANDLE_NULL)
    }
}

pub unsafe fn t_pvar_start(session: TPvarSession, handle: TPvarHandle) -> Answer {
    enter()?.start_pvar(&TOOL.subject, session, handle)
}

pub unsafe fn t_pvar_stop(session: TPvarSession, handle: TPvarHandle) -> Answer {
    enter()?.stop_pvar(&TOOL.subject, session, handle)
}

pub unsafe fn t_pvar_read(session: TPvarSession, handle: TPvarHandle, buf: *mut c_void) -> Answer {
    let value = enter()?.read_pvar(&TOOL.subject, session, handle)?;
    // SAFETY: the tool promises room for a value, or null.
    unsafe { put_value(buf, value) }
}

pub unsafe fn t_pvar_write(session: TPvarSession, handle: TPvarHandle, buf: *const c_void) -> Answer {
    enter()?.write_pvar(&TOOL.subject, session, handle, |datatype| {
        place(buf)?;
        // SAFETY: not null, so a value of the variable's type, as the tool promises.
        unsafe {
            Ok(match datatype {
                MPI_DOUBLE => Value::Seconds(buf.cast::<f64>().read()),
                _ => Value::Number(buf.cast::<u64>().read()),
            })
        }
    })
}

pub unsafe fn t_pvar_reset(session: TPvarSession, handle: TPvarHandle) -> Answer {
    enter()?.reset_pvar(&TOOL.subject, session, handle)
}

pub unsafe fn t_pvar_readreset(session: TPvarSession, handle: TPvarHandle, buf: *mut c_void) -> Answer {
    let value = enter()?.readreset_pvar(&TOOL.subject, session, handle, || place(buf))?;
    // SAFETY: the tool promises room for a value, or null.
    unsafe { put_value(buf, value) }
}
