//! Attribute keys with the program's functions, and attributes whose values are constants.
//!
//! A key's functions and its pointer are remembered for ever, once for all keys that have the same:
//! MPI does not say when a key is used for the last time.

use crate::entry::*;
use crate::generated::tables::{FLAVORS, MODELS};
use std::mem::transmute;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

type Copy<H> = unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type Delete<H> = unsafe extern "C" fn(H, c_int, *mut c_void, *mut c_void) -> c_int;

/// What the program gave for a key: two functions, which may be null, and its pointer.
#[derive(PartialEq, Eq, Clone, Copy)]
struct Functions {
    copy: usize,
    delete: usize,
    extra_state: usize,
}

static ALL: Mutex<Vec<&'static Functions>> = Mutex::new(Vec::new());

impl Functions {
    fn remembered(self) -> *mut c_void {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().copied().find(|known| **known == self);
        let kept = known.unwrap_or_else(|| {
            let new: &'static Functions = Box::leak(Box::new(self));
            all.push(new);
            new
        });
        std::ptr::from_ref(kept).cast_mut().cast()
    }
}

unsafe extern "C" fn copied<H: Converts<Ours = H, Theirs = TheirHandle>>(
    object: H,
    key: c_int,
    functions: *mut c_void,
    value: *mut c_void,
    copy: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the pointer of the key is one that `remembered` has made, and its functions are what the
    // standard requires of them.
    unsafe {
        let functions = &*functions.cast::<Functions>();
        let call = transmute::<usize, Copy<TheirHandle>>(functions.copy);
        let extra_state = functions.extra_state as *mut c_void;
        Code::ours(call(H::theirs(object), Keyval::theirs(key), extra_state, value, copy, flag))
    }
}

unsafe extern "C" fn deleted<H: Converts<Ours = H, Theirs = TheirHandle>>(
    object: H,
    key: c_int,
    value: *mut c_void,
    functions: *mut c_void,
) -> c_int {
    // SAFETY: the pointer of the key is one that `remembered` has made, and its functions are what the
    // standard requires of them.
    unsafe {
        let functions = &*functions.cast::<Functions>();
        let call = transmute::<usize, Delete<TheirHandle>>(functions.delete);
        Code::ours(call(H::theirs(object), Keyval::theirs(key), value, functions.extra_state as *mut c_void))
    }
}

macro_rules! keys {
    ($($name:ident $profiling:ident $private:ident $handle:ident)*) => {$(
        entry! {
            $name $profiling(
                copy: *mut c_void,
                delete: *mut c_void,
                keyval: *mut c_int,
                extra_state: *mut c_void,
            ) -> c_int {
                let functions =
                    Functions { copy: copy as usize, delete: delete as usize, extra_state: extra_state as usize };
                let copy_c = if copy.is_null() { copy } else { copied::<$handle> as Copy<$handle> as *mut c_void };
                let delete_c =
                    if delete.is_null() { delete } else { deleted::<$handle> as Delete<$handle> as *mut c_void };
                let mut keyval_c = Place::<Keyval>::out(keyval);
                let code = c::$private(copy_c, delete_c, keyval_c.ptr(), functions.remembered());
                keyval_c.put();
                answer(code)
            }
        }
    )*};
}

keys! {
    MPI_Comm_create_keyval PMPI_Comm_create_keyval oxmpi_Comm_create_keyval Comm
    MPI_Type_create_keyval PMPI_Type_create_keyval oxmpi_Type_create_keyval Datatype
    MPI_Win_create_keyval PMPI_Win_create_keyval oxmpi_Win_create_keyval Win
    MPI_Keyval_create PMPI_Keyval_create oxmpi_Keyval_create Comm
}

// ---- values ----

macro_rules! values {
    ($($name:ident $profiling:ident $private:ident $handle:ident)*) => {$(
        entry! {
            $name $profiling(object: TheirHandle, keyval: c_int, value: *mut c_void, flag: *mut c_int) -> c_int {
                let key = Keyval::ours(keyval);
                let code = c::$private($handle::ours(object), key, value, flag);
                if code == MPI_SUCCESS && *flag != 0 {
                    put_value(key, value.cast());
                }
                answer(code)
            }
        }
    )*};
}

values! {
    MPI_Comm_get_attr PMPI_Comm_get_attr oxmpi_Comm_get_attr Comm
    MPI_Type_get_attr PMPI_Type_get_attr oxmpi_Type_get_attr Datatype
    MPI_Win_get_attr PMPI_Win_get_attr oxmpi_Win_get_attr Win
    MPI_Attr_get PMPI_Attr_get oxmpi_Attr_get Comm
}

/// Ranks and codes that attributes point to. They are the same at each call, or the latest is right.
static HOST: AtomicI32 = AtomicI32::new(0);
static IO: AtomicI32 = AtomicI32::new(0);
static LAST_USED_CODE: AtomicI32 = AtomicI32::new(0);

/// After a call that adds or removes an error class or code: the attribute changes for those who have
/// its place already.
pub fn codes_changed() {
    let (mut place, mut flag) = (std::ptr::null::<c_int>(), 0);
    // SAFETY: the places are those of variables, and the attribute points to an int.
    unsafe {
        let is_up = c::oxmpi_Initialized(&mut flag) == MPI_SUCCESS && flag != 0;
        if !is_up || c::oxmpi_Finalized(&mut flag) != MPI_SUCCESS || flag != 0 {
            return;
        }
        let code = c::oxmpi_Comm_get_attr(MPI_COMM_SELF, MPI_LASTUSEDCODE, (&raw mut place).cast(), &mut flag);
        if code == MPI_SUCCESS && flag != 0 {
            put_value(MPI_LASTUSEDCODE, &mut place);
        }
    }
}

/// Replaces the pointer to a constant of the standard by one to theirs.
///
/// # Safety
/// `place` is that of a pointer, which points to an int if the key is one of these.
unsafe fn put_value(key: c_int, place: *mut *const c_int) {
    // SAFETY: the keys below have pointers to ints, and `place` is that of a pointer: this function's
    // condition.
    unsafe {
        let kept = |variable: &'static AtomicI32, value: c_int| {
            variable.store(value, Relaxed);
            variable.as_ptr().cast_const()
        };
        *place = match key {
            MPI_HOST => kept(&HOST, Rank::theirs(**place)),
            MPI_IO => kept(&IO, Rank::theirs(**place)),
            MPI_LASTUSEDCODE => kept(&LAST_USED_CODE, Code::theirs(**place)),
            MPI_WIN_CREATE_FLAVOR => listed(FLAVORS, *place),
            MPI_WIN_MODEL => listed(MODELS, *place),
            _ => *place,
        };
    }
}

/// The place of their constant in a table.
///
/// # Safety
/// `ours` may be read.
unsafe fn listed(table: &'static [(c_int, c_int)], ours: *const c_int) -> *const c_int {
    // SAFETY: it may be read, by this function's condition.
    let value = unsafe { *ours };
    table.iter().find(|(_, ours)| *ours == value).map_or(ours, |(theirs, _)| theirs)
}
