//! The tool information interface, `MPI_T_*`: what a tool may see of the library, and change in it.
//!
//! ```text
//! cvars.rs       settings                 values are read when they are asked for; nothing that
//! pvars.rs       counters and levels      a message or a collective passes counts for a tool
//! events.rs      calls of the tool's functions
//! enums.rs       names of values
//! categories.rs  what belongs together
//! ```
//!
//! It lives beside the world and the sessions, before and after them, so it has a state and a lock of its own. Whoever holds
//! that lock may take the library's ([`Guard`](oxmpi_core::guard::Guard)), never the other way round; no function of a tool runs
//! while it is held. The answers are codes without a text, and no error handler hears of them.

pub mod categories;
pub mod cvars;
pub mod enums;
pub mod events;
pub mod pvars;

use crate::library::LIBRARY;
use cvars::Cvar;
use events::{Instance, Registration};
use oxmpi_abi::constants::*;
use oxmpi_base::slots::{Kind, SlotTable};
use pvars::Pvar;
use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a call answers that did not succeed: one of `MPI_T_ERR_*`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code(pub c_int);

pub type Answer<T = ()> = Result<T, Code>;

pub const INVALID: Code = Code(MPI_T_ERR_INVALID);
pub const INVALID_HANDLE: Code = Code(MPI_T_ERR_INVALID_HANDLE);
pub const INVALID_INDEX: Code = Code(MPI_T_ERR_INVALID_INDEX);
const INVALID_NAME: Code = Code(MPI_T_ERR_INVALID_NAME);
const NOT_INITIALIZED: Code = Code(MPI_T_ERR_NOT_INITIALIZED);

static STATE: Mutex<State> = Mutex::new(State { users: 0, objects: SlotTable::new(Kind::Tool) });

pub struct State {
    /// How often it was initialised and not finalised.
    users: u64,
    /// All that tools have handles of, but enumerations, which are always there.
    objects: SlotTable<Object>,
}

enum Object {
    Cvar(&'static Cvar),
    Session,
    Pvar(Pvar),
    Registration(Registration),
    Instance(Instance),
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state for a call that needs the interface initialised, as all do but two.
pub fn enter() -> Answer<MutexGuard<'static, State>> {
    let state = state();
    if state.users == 0 { Err(NOT_INITIALIZED) } else { Ok(state) }
}

/// For a call that needs nothing else.
pub fn check_initialized() -> Answer {
    enter().map(|_| ())
}

/// Initialises it once more. A tool that may call from several threads gets the library's lock, which a program below
/// `MPI_THREAD_MULTIPLE` does without.
pub fn initialize(required: c_int) -> Answer {
    if ![MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE].contains(&required) {
        return Err(INVALID);
    }
    state().users += 1;
    if required == MPI_THREAD_MULTIPLE {
        LIBRARY.want_lock();
    }
    Ok(())
}

/// Undoes one initialisation; with the last one all handles are gone.
pub fn finalize() -> Answer {
    let mut state = enter()?;
    state.users -= 1;
    if state.users == 0 {
        state.objects.drain();
        events::forget();
    }
    Ok(())
}

impl State {
    fn add(&mut self, object: Object, full: c_int) -> Answer<usize> {
        self.objects.try_insert(object).map_err(|_| Code(full))
    }
}

/// One of a list, by its index.
pub fn at<T>(list: &[T], index: c_int) -> Answer<&T> {
    usize::try_from(index).ok().and_then(|index| list.get(index)).ok_or(INVALID_INDEX)
}

/// The index of the one of a list that is meant by a name.
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

/// Stores an output that must be wanted.
///
/// # Safety
/// The place is null or may be written.
pub unsafe fn store<T>(to: *mut T, value: T) -> Answer {
    place(to)?;
    // SAFETY: not null.
    unsafe { to.write(value) };
    Ok(())
}

/// Stores an output that may be ignored.
///
/// # Safety
/// The place is null or may be written.
pub unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: not null.
        unsafe { to.write(value) };
    }
}

pub fn place<T>(to: *const T) -> Answer {
    if to.is_null() { Err(INVALID) } else { Ok(()) }
}

/// Stores as much of a string as there is room for, with its end, and the room that all of it needs. Where there is no
/// place for the string it is only the latter, where there is none for the length it is nothing.
///
/// # Safety
/// `length` is null or may be read and written; `to` is null or has room for so many characters.
pub unsafe fn put_text(to: *mut c_char, length: *mut c_int, text: &str) -> Answer {
    if length.is_null() {
        return Ok(());
    }
    if !to.is_null() {
        // SAFETY: not null.
        let room = usize::try_from(unsafe { length.read() }).map_err(|_| INVALID)?;
        if room > 0 {
            let shown = text.len().min(room - 1);
            // SAFETY: within the room that the caller says there is.
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
        // SAFETY: the room is no more than there is.
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
