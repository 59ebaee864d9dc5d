//! The tool information interface at the C boundary: the one tool interface of the process, and how
//! outputs are stored. `tool/` of the crate `oxmpi` implements it.

use crate::library::LIBRARY;
pub use oxmpi::tool::{Answer, Code, INVALID, INVALID_INDEX, Tool, Value, at};
use oxmpi::tool::{INVALID_NAME, State};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::MutexGuard;

pub static TOOL: Tool = Tool::new(&LIBRARY);

/// The state for a call that requires the interface to be initialised, as all but two do.
pub fn enter() -> Answer<MutexGuard<'static, State>> {
    TOOL.enter()
}

/// For a call that needs nothing else.
pub fn check_initialized() -> Answer {
    enter().map(|_| ())
}

/// The index in a list of the element with a name.
///
/// # Safety
/// The name is null or a string.
pub unsafe fn index_of<T>(list: &[T], name: *const c_char, is: impl Fn(&T, &[u8]) -> bool) -> Answer<c_int> {
    if name.is_null() {
        return Err(INVALID);
    }
    // SAFETY: not null, so a string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    list.iter().position(|one| is(one, name)).map(|index| index as c_int).ok_or(INVALID_NAME)
}

/// Stores a required output.
///
/// # Safety
/// The address is null or can be written.
pub unsafe fn store<T>(to: *mut T, value: T) -> Answer {
    place(to)?;
    // SAFETY: not null.
    unsafe { to.write(value) };
    Ok(())
}

/// Stores an optional output.
///
/// # Safety
/// The address is null or can be written.
pub unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: not null.
        unsafe { to.write(value) };
    }
}

pub fn place<T>(to: *const T) -> Answer {
    if to.is_null() { Err(INVALID) } else { Ok(()) }
}

/// Stores as much of a string as there is room for, with its terminator, and the room that it
/// needs. Without an address for the string only the latter, without one for the length nothing.
///
/// # Safety
/// `length` is null or can be read and written; `to` is null or has room for so many characters.
pub unsafe fn put_text(to: *mut c_char, length: *mut c_int, text: &str) -> Answer {
    if length.is_null() {
        return Ok(());
    }
    if !to.is_null() {
        // SAFETY: not null.
        let room = usize::try_from(unsafe { length.read() }).map_err(|_| INVALID)?;
        if room > 0 {
            let shown = text.len().min(room - 1);
            // SAFETY: within the room that `length` gives.
            unsafe {
                to.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), shown);
                to.add(shown).write(0);
            }
        }
    }
    // SAFETY: not null.
    unsafe { length.write(text.len() as c_int + 1) };
    Ok(())
}

/// Stores the value of a variable.
///
/// # Safety
/// `to` is null or has room for a value of the variable's type.
pub unsafe fn put_value(to: *mut c_void, value: Value) -> Answer {
    place(to)?;
    // SAFETY: not null, so there is room for a value of this type: this function's condition.
    unsafe {
        match value {
            Value::Int(value) => to.cast::<c_int>().write(value),
            Value::Number(number) => to.cast::<u64>().write(number),
            Value::Seconds(seconds) => to.cast::<f64>().write(seconds),
            Value::Numbers(numbers) => to.cast::<u64>().copy_from_nonoverlapping(numbers.as_ptr(), numbers.len()),
            Value::Text(text) => {
                to.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
                to.cast::<c_char>().add(text.len()).write(0);
            }
        }
    }
    Ok(())
}

/// Stores the indices of a category's members, as many as there is room for.
///
/// # Safety
/// `to` has room for `length` indices.
pub unsafe fn put_indices(to: *mut c_int, length: c_int, members: impl Iterator<Item = c_int>) -> Answer {
    let length = usize::try_from(length).map_err(|_| INVALID)?;
    if length == 0 {
        return Ok(());
    }
    place(to)?;
    for (i, member) in members.take(length).enumerate() {
        // SAFETY: `i` is below the length.
        unsafe { to.add(i).write(member) };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(room: c_int) -> (Answer, String, c_int) {
        let mut to = [b'#'; 8];
        let mut length = room;
        // SAFETY: the buffer has the room that `length` gives.
        let answer = unsafe { put_text(to.as_mut_ptr().cast(), &mut length, "word") };
        (answer, String::from_utf8_lossy(&to).replace('\0', "."), length)
    }

    #[test]
    fn strings_are_cut_to_the_room_and_the_length_says_what_was_needed() {
        assert_eq!(texts(8), (Ok(()), "word.###".into(), 5));
        assert_eq!(texts(5), (Ok(()), "word.###".into(), 5));
        assert_eq!(texts(4), (Ok(()), "wor.####".into(), 5));
        assert_eq!(texts(1), (Ok(()), ".#######".into(), 5));
        assert_eq!(texts(0), (Ok(()), "########".into(), 5));
        assert_eq!(texts(-1), (Err(INVALID), "########".into(), -1));
    }
}
