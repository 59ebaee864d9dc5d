//! Events of the tool information interface. There are no hints; those of a tool are ignored.

use crate::library::LIBRARY;
use crate::tool::{Answer, Code, INVALID, TOOL, at, check_initialized, enter, index_of, place, put, put_text, store};
use oxmpi::tool::events::{DroppedFn, EVENTS, EventFn, FreedFn};
use oxmpi_abi::callbacks::{TEventCbFn, TEventDroppedCbFn, TEventFreeCbFn};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Datatype, Info, TEnum, TEventInstance, TEventRegistration};
use oxmpi_abi::types::{Aint, Count, TCbSafety};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::with_exposed_provenance_mut as pointer;
use std::sync::Arc;

pub unsafe fn t_event_get_num(num_events: *mut c_int) -> Answer {
    check_initialized()?;
    // SAFETY: null or may be written.
    unsafe { store(num_events, EVENTS.len() as c_int) }
}

pub unsafe fn t_event_get_info(
    event_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    verbosity: *mut c_int,
    array_of_datatypes: *mut Datatype,
    array_of_displacements: *mut Aint,
    num_elements: *mut c_int,
    enumtype: *mut TEnum,
    info: *mut Info,
    desc: *mut c_char,
    desc_len: *mut c_int,
    bind: *mut c_int,
) -> Answer {
    check_initialized()?;
    let event = at(&EVENTS, event_index)?;
    // SAFETY: outputs are null or can be written; arrays are null or as long as the number says.
    unsafe {
        put_text(name, name_len, event.name)?;
        put_text(desc, desc_len, event.description)?;
        if !num_elements.is_null() {
            let room = usize::try_from(num_elements.read()).map_err(|_| INVALID)?;
            for (i, &(datatype, displacement)) in event.elements.iter().enumerate().take(room) {
                put(offset(array_of_datatypes, i), datatype);
                put(offset(array_of_displacements, i), displacement);
            }
            num_elements.write(event.elements.len() as c_int);
        }
        put(verbosity, MPI_T_VERBOSITY_TUNER_BASIC);
        put(enumtype, event.names.handle());
        put(bind, MPI_T_BIND_NO_OBJECT);
        put_no_hints(info)
    }
}

/// The address of an element; null if the array is null.
///
/// # Safety
/// The array is null or has the element.
unsafe fn offset<T>(array: *mut T, i: usize) -> *mut T {
    // SAFETY: not null, so it has the element: this function's condition.
    if array.is_null() { array } else { unsafe { array.add(i) } }
}

/// A new info object without hints, if it is wanted.
///
/// # Safety
/// The address is null or can be written.
pub(super) unsafe fn put_no_hints(info: *mut Info) -> Answer {
    if info.is_null() {
        return Ok(());
    }
    // SAFETY: not null.
    unsafe { store_no_hints(info) }
}

/// # Safety
/// The address is null or can be written.
unsafe fn store_no_hints(info: *mut Info) -> Answer {
    place(info)?;
    let made = LIBRARY
        .info(MPI_INFO_NULL)
        .and_then(|info| LIBRARY.add_info(info))
        .map_err(|_| Code(MPI_T_ERR_OUT_OF_HANDLES))?;
    // SAFETY: not null, by the check above.
    unsafe { store(info, made) }
}

fn check_info(info: Info) -> Answer {
    LIBRARY.info(info).map(|_| ()).map_err(|_| INVALID)
}

pub unsafe fn t_event_get_index(name: *const c_char, event_index: *mut c_int) -> Answer {
    check_initialized()?;
    // SAFETY: null or a string; null or may be written.
    unsafe { store(event_index, index_of(&EVENTS, name, |event, name| event.name.as_bytes() == name)?) }
}

pub unsafe fn t_event_handle_alloc(
    event_index: c_int,
    _obj_handle: *mut c_void,
    info: Info,
    event_registration: *mut TEventRegistration,
) -> Answer {
    let mut state = enter()?;
    at(&EVENTS, event_index)?;
    check_info(info)?;
    place(event_registration)?;
    // SAFETY: not null, by the check above.
    unsafe { store(event_registration, state.add_registration(&TOOL.subject, event_index)?) }
}

pub unsafe fn t_event_handle_set_info(event_registration: TEventRegistration, info: Info) -> Answer {
    enter()?.check_registration(event_registration)?;
    check_info(info)
}

pub unsafe fn t_event_handle_get_info(event_registration: TEventRegistration, info_used: *mut Info) -> Answer {
    enter()?.check_registration(event_registration)?;
    // SAFETY: null or may be written.
    unsafe { store_no_hints(info_used) }
}

pub unsafe fn t_event_register_callback(
    event_registration: TEventRegistration,
    cb_safety: TCbSafety,
    info: Info,
    user_data: *mut c_void,
    event_cb_function: TEventCbFn,
) -> Answer {
    let mut state = enter()?;
    state.check_registration(event_registration)?;
    check_info(info)?;
    let function = event_cb_function.map(|function| {
        // SAFETY: the tool's function for this purpose, with its own data.
        let call =
            move |event, registration, safety, data| unsafe { function(event, registration, safety, pointer(data)) };
        Arc::new(call) as EventFn
    });
    state.set_callback(event_registration, cb_safety, function, user_data.expose_provenance())
}

pub unsafe fn t_event_callback_set_info(
    event_registration: TEventRegistration,
    cb_safety: TCbSafety,
    info: Info,
) -> Answer {
    enter()?.check_callback(event_registration, cb_safety)?;
    check_info(info)
}

pub unsafe fn t_event_callback_get_info(
    event_registration: TEventRegistration,
    cb_safety: TCbSafety,
    info_used: *mut Info,
) -> Answer {
    enter()?.check_callback(event_registration, cb_safety)?;
    // SAFETY: null or may be written.
    unsafe { store_no_hints(info_used) }
}

pub unsafe fn t_event_handle_free(
    event_registration: TEventRegistration,
    user_data: *mut c_void,
    free_cb_function: TEventFreeCbFn,
) -> Answer {
    let function = free_cb_function.map(|function| {
        // SAFETY: the tool's function for this purpose, with its own data.
        let call = move |registration, safety, data| unsafe { function(registration, safety, pointer(data)) };
        Arc::new(call) as FreedFn
    });
    let data = user_data.expose_provenance();
    let idle = enter()?.free_registration(&TOOL.subject, event_registration, function, data)?;
    if let Some(function) = free_cb_function.filter(|_| idle) {
        // SAFETY: the tool's function for this purpose; no lock is held.
        unsafe { function(event_registration, MPI_T_CB_REQUIRE_NONE, user_data) };
    }
    Ok(())
}

pub unsafe fn t_event_set_dropped_handler(
    event_registration: TEventRegistration,
    dropped_cb_function: TEventDroppedCbFn,
) -> Answer {
    let function = dropped_cb_function.map(|function| {
        // SAFETY: the tool's function for this purpose, with its own data.
        let call = move |count, registration, source, safety, data| unsafe {
            function(count, registration, source, safety, pointer(data))
        };
        Arc::new(call) as DroppedFn
    });
    enter()?.set_dropped(event_registration, function)
}

pub unsafe fn t_event_read(event_instance: TEventInstance, element_index: c_int, buffer: *mut c_void) -> Answer {
    let state = enter()?;
    // SAFETY: null or room for the element.
    unsafe { copy(state.element_of(event_instance, element_index)?, buffer) }
}

pub unsafe fn t_event_copy(event_instance: TEventInstance, buffer: *mut c_void) -> Answer {
    let state = enter()?;
    // SAFETY: null or room for all elements.
    unsafe { copy(state.data_of(event_instance)?, buffer) }
}

/// # Safety
/// `to` is null or has room for the bytes.
unsafe fn copy(bytes: &[u8], to: *mut c_void) -> Answer {
    place(to)?;
    // SAFETY: not null, so it has room for the bytes: this function's condition.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Ok(())
}

pub unsafe fn t_event_get_timestamp(event_instance: TEventInstance, event_timestamp: *mut Count) -> Answer {
    let timestamp = enter()?.timestamp_of(event_instance)?;
    // SAFETY: null or may be written.
    unsafe { store(event_timestamp, timestamp) }
}

pub unsafe fn t_event_get_source(event_instance: TEventInstance, source_index: *mut c_int) -> Answer {
    let source = enter()?.source_of(event_instance)?;
    // SAFETY: null or may be written.
    unsafe { store(source_index, source) }
}
