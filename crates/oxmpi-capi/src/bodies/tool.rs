//! The tool information interface: initialisation, enumerations, categories, event sources. `tool/`
//! of the crate `oxmpi` implements it.

use super::tool_event::put_no_hints;
use crate::tool::{
    Answer, INVALID_INDEX, TOOL, at, check_initialized, index_of, place, put, put_indices, put_text, store,
};
use oxmpi::tool::categories::{CATEGORIES, Category};
use oxmpi::tool::enums::Enumeration;
use oxmpi::tool::events::{self, SOURCES};
use oxmpi_abi::handle::{Info, TEnum};
use oxmpi_abi::types::{Count, TSourceOrder};
use std::ffi::{c_char, c_int};

pub unsafe fn t_init_thread(required: c_int, provided: *mut c_int) -> Answer {
    place(provided)?;
    TOOL.initialize(required)?;
    // SAFETY: the check above: not null.
    unsafe { store(provided, required) }
}

pub unsafe fn t_finalize() -> Answer {
    TOOL.finalize()
}

// ---- enumerations ----

pub unsafe fn t_enum_get_info(enumtype: TEnum, num: *mut c_int, name: *mut c_char, name_len: *mut c_int) -> Answer {
    check_initialized()?;
    let names = Enumeration::from_handle(enumtype)?;
    // SAFETY: each output is null or can be written; strings have the room that their length says.
    unsafe {
        put_text(name, name_len, names.name())?;
        put(num, names.items() as c_int);
    }
    Ok(())
}

pub unsafe fn t_enum_get_item(
    enumtype: TEnum,
    indx: c_int,
    value: *mut c_int,
    name: *mut c_char,
    name_len: *mut c_int,
) -> Answer {
    check_initialized()?;
    let names = Enumeration::from_handle(enumtype)?;
    let item = usize::try_from(indx).ok().and_then(|index| names.item(index)).ok_or(INVALID_INDEX)?;
    // SAFETY: each output is null or can be written; strings have the room that their length says.
    unsafe {
        put_text(name, name_len, item.1)?;
        put(value, item.0);
    }
    Ok(())
}

// ---- categories ----

fn category(index: c_int) -> Answer<Category> {
    check_initialized()?;
    at(&CATEGORIES, index).copied()
}

pub unsafe fn t_category_changed(update_number: *mut c_int) -> Answer {
    check_initialized()?;
    // SAFETY: null or may be written.
    unsafe { store(update_number, 0) }
}

pub unsafe fn t_category_get_num(num_cat: *mut c_int) -> Answer {
    check_initialized()?;
    // SAFETY: null or may be written.
    unsafe { store(num_cat, CATEGORIES.len() as c_int) }
}

pub unsafe fn t_category_get_index(name: *const c_char, cat_index: *mut c_int) -> Answer {
    check_initialized()?;
    // SAFETY: null or a string; null or may be written.
    unsafe { store(cat_index, index_of(&CATEGORIES, name, |category, name| category.name().as_bytes() == name)?) }
}

pub unsafe fn t_category_get_info(
    cat_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    desc: *mut c_char,
    desc_len: *mut c_int,
    num_cvars: *mut c_int,
    num_pvars: *mut c_int,
    num_categories: *mut c_int,
) -> Answer {
    let category = category(cat_index)?;
    // SAFETY: each output is null or can be written; strings have the room that their length says.
    unsafe {
        put_text(name, name_len, category.name())?;
        put_text(desc, desc_len, category.description())?;
        put(num_cvars, category.cvars().count() as c_int);
        put(num_pvars, category.pvars().count() as c_int);
        put(num_categories, category.categories().count() as c_int);
    }
    Ok(())
}

pub unsafe fn t_category_get_num_events(cat_index: c_int, num_events: *mut c_int) -> Answer {
    let category = category(cat_index)?;
    // SAFETY: null or may be written.
    unsafe { store(num_events, category.events().count() as c_int) }
}

pub unsafe fn t_category_get_cvars(cat_index: c_int, len: c_int, indices: *mut c_int) -> Answer {
    let category = category(cat_index)?;
    // SAFETY: `indices` has room for `len` of them.
    unsafe { put_indices(indices, len, category.cvars()) }
}

pub unsafe fn t_category_get_pvars(cat_index: c_int, len: c_int, indices: *mut c_int) -> Answer {
    let category = category(cat_index)?;
    // SAFETY: `indices` has room for `len` of them.
    unsafe { put_indices(indices, len, category.pvars()) }
}

pub unsafe fn t_category_get_events(cat_index: c_int, len: c_int, indices: *mut c_int) -> Answer {
    let category = category(cat_index)?;
    // SAFETY: `indices` has room for `len` of them.
    unsafe { put_indices(indices, len, category.events()) }
}

pub unsafe fn t_category_get_categories(cat_index: c_int, len: c_int, indices: *mut c_int) -> Answer {
    let category = category(cat_index)?;
    // SAFETY: `indices` has room for `len` of them.
    unsafe { put_indices(indices, len, category.categories()) }
}

// ---- sources of events ----

pub unsafe fn t_source_get_num(num_sources: *mut c_int) -> Answer {
    check_initialized()?;
    // SAFETY: null or may be written.
    unsafe { store(num_sources, SOURCES.len() as c_int) }
}

pub unsafe fn t_source_get_info(
    source_index: c_int,
    name: *mut c_char,
    name_len: *mut c_int,
    desc: *mut c_char,
    desc_len: *mut c_int,
    ordering: *mut TSourceOrder,
    ticks_per_second: *mut Count,
    max_ticks: *mut Count,
    info: *mut Info,
) -> Answer {
    check_initialized()?;
    let source = at(&SOURCES, source_index)?;
    // SAFETY: each output is null or can be written; strings have the room that their length says.
    unsafe {
        put_text(name, name_len, source.name)?;
        put_text(desc, desc_len, source.description)?;
        put(ordering, source.order);
        put(ticks_per_second, source.ticks_per_second);
        put(max_ticks, source.max_ticks);
        put_no_hints(info)
    }
}

pub unsafe fn t_source_get_timestamp(source_index: c_int, timestamp: *mut Count) -> Answer {
    check_initialized()?;
    at(&SOURCES, source_index)?;
    // SAFETY: null or may be written.
    unsafe { store(timestamp, events::timestamp()) }
}
