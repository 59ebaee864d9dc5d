//! Attributes: pointers in C, integers in Fortran. An integer that Fortran stores is in a box of
//! its own, and C sees the address of the box, as the standard demands; a pointer that C stored is
//! that number in Fortran.
//!
//! The procedures of a key are found through its extra state, which lives as long as the process,
//! because attributes may outlive the key.

use crate::addresses::long;
use crate::callbacks::Code;
use crate::entry::*;
use crate::handles::FortranHandle;
use std::collections::BTreeSet;
use std::mem::transmute;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// All boxes, to distinguish them from pointers of C.
static BOXES: LazyLock<Mutex<BTreeSet<usize>>> = LazyLock::new(Mutex::default);

fn boxes() -> MutexGuard<'static, BTreeSet<usize>> {
    BOXES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn boxed(value: i64) -> *mut c_void {
    let place = Box::into_raw(Box::new(value));
    boxes().insert(place as usize);
    place.cast()
}

/// What Fortran sees of an attribute that the program stored.
fn value_of(attribute: *mut c_void) -> i64 {
    match boxes().contains(&(attribute as usize)) {
        // SAFETY: the address is in the list of boxes, and a box lives until it is removed from the
        // list.
        true => unsafe { *attribute.cast::<i64>() },
        false => attribute as i64,
    }
}

fn unbox(attribute: *mut c_void) {
    if boxes().remove(&(attribute as usize)) {
        // SAFETY: the address was just removed from the list of boxes, so this is its only owner.
        drop(unsafe { Box::from_raw(attribute.cast::<i64>()) });
    }
}

// ---- storing and reading ----

macro_rules! accessors {
    ($($handle:ty: [$($set:ident)+] $c_set:ident $pc_set:ident, [$($get:ident)+] $c_get:ident $pc_get:ident;)*) => {$(
        entry! {
            [$($set)+] $c_set $pc_set
            (object: *mut Fint, keyval: *mut Fint, value: *mut i64, ierror: *mut Fint) |call| {
                let place = boxed(*value);
                let code = call(get::<$handle>(object), short(*keyval), place);
                if code != MPI_SUCCESS {
                    unbox(place);
                }
                set(ierror, code);
            }
        }

        entry! {
            [$($get)+] $c_get $pc_get
            (object: *mut Fint, keyval: *mut Fint, value: *mut i64, flag: *mut Fint, ierror: *mut Fint) |call| {
                let (mut attribute, mut found) = (null_mut::<c_void>(), 0);
                let key = key(*keyval);
                let code = call(get::<$handle>(object), key, (&raw mut attribute).cast(), &mut found);
                put_truth(flag, found);
                if code == MPI_SUCCESS && found != 0 {
                    *value = read(key, attribute);
                }
                set(ierror, code);
            }
        }
    )*};
}

accessors! {
    Comm:
        [mpi_comm_set_attr_ pmpi_comm_set_attr_ mpi_comm_set_attr_f08_ pmpi_comm_set_attr_f08_]
        MPI_Comm_set_attr PMPI_Comm_set_attr,
        [mpi_comm_get_attr_ pmpi_comm_get_attr_ mpi_comm_get_attr_f08_ pmpi_comm_get_attr_f08_]
        MPI_Comm_get_attr PMPI_Comm_get_attr;
    Datatype:
        [mpi_type_set_attr_ pmpi_type_set_attr_ mpi_type_set_attr_f08_ pmpi_type_set_attr_f08_]
        MPI_Type_set_attr PMPI_Type_set_attr,
        [mpi_type_get_attr_ pmpi_type_get_attr_ mpi_type_get_attr_f08_ pmpi_type_get_attr_f08_]
        MPI_Type_get_attr PMPI_Type_get_attr;
    Win:
        [mpi_win_set_attr_ pmpi_win_set_attr_ mpi_win_set_attr_f08_ pmpi_win_set_attr_f08_]
        MPI_Win_set_attr PMPI_Win_set_attr,
        [mpi_win_get_attr_ pmpi_win_get_attr_ mpi_win_get_attr_f08_ pmpi_win_get_attr_f08_]
        MPI_Win_get_attr PMPI_Win_get_attr;
}

// The functions of MPI-1 have INTEGERs.
entry! {
    [mpi_attr_put_ pmpi_attr_put_] MPI_Attr_put PMPI_Attr_put
    (comm: *mut Fint, keyval: *mut Fint, value: *mut Fint, ierror: *mut Fint) |call| {
        let place = boxed(long(*value));
        let code = call(get(comm), short(*keyval), place);
        if code != MPI_SUCCESS {
            unbox(place);
        }
        set(ierror, code);
    }
}

entry! {
    [mpi_attr_get_ pmpi_attr_get_] MPI_Attr_get PMPI_Attr_get
    (comm: *mut Fint, keyval: *mut Fint, value: *mut Fint, flag: *mut Fint, ierror: *mut Fint) |call| {
        let (mut attribute, mut found) = (null_mut::<c_void>(), 0);
        let key = key(*keyval);
        let code = call(get(comm), key, (&raw mut attribute).cast(), &mut found);
        put_truth(flag, found);
        if code == MPI_SUCCESS && found != 0 {
            *value = read(key, attribute) as Fint;
        }
        set(ierror, code);
    }
}

#[cfg(not(mpich))]
fn key(keyval: Fint) -> c_int {
    short(keyval)
}

/// The key in C. Those that MPICH predefines are greater by one in its Fortran modules and in its `mpif.h`.
#[cfg(mpich)]
fn key(keyval: Fint) -> c_int {
    const PREDEFINED: [c_int; 2] = [0x64400000, 0x66000000];
    let is_of_fortran = PREDEFINED.contains(&(keyval & !0x1f)) && keyval & 0x1f != 0 && keyval & 1 == 0;
    if is_of_fortran { keyval - 1 } else { keyval }
}

/// What Fortran sees of an attribute. For predefined ones C has the address of the number, except
/// for the base of a window.
unsafe fn read(keyval: c_int, attribute: *mut c_void) -> i64 {
    match keyval {
        // MPICH has no such attribute.
        #[cfg(not(mpich))]
        // SAFETY: our C library gives the address of an int.
        MPIX_FT => unsafe { *attribute.cast::<c_int>() }.into(),
        MPI_WIN_BASE => attribute as i64,
        // SAFETY: the standard defines these attributes as pointers to an integer.
        MPI_WIN_SIZE => unsafe { *attribute.cast::<i64>() },
        MPI_TAG_UB
        | MPI_HOST
        | MPI_IO
        | MPI_WTIME_IS_GLOBAL
        | MPI_APPNUM
        | MPI_LASTUSEDCODE
        | MPI_UNIVERSE_SIZE
        | MPI_WIN_DISP_UNIT
        | MPI_WIN_CREATE_FLAVOR
        | MPI_WIN_MODEL => {
            // SAFETY: the standard defines these attributes as pointers to an int.
            unsafe { *attribute.cast::<c_int>() }.into()
        }
        _ => value_of(attribute),
    }
}

// ---- keys ----

/// The procedures that are called when an attribute is copied or deleted.
struct Key {
    copy: Code,
    delete: Code,
    extra_state: i64,
}

macro_rules! keys {
    ($($handle:ty: [$($name:ident)+] $c:ident $pc:ident, $state:ty, $copy:ident, $delete:ident;)*) => {$(
        entry! {
            [$($name)+] $c $pc
            (copy: Code, delete: Code, keyval: *mut Fint, extra_state: *mut $state, ierror: *mut Fint) |call| {
                let key = Box::into_raw(Box::new(Key { copy, delete, extra_state: long(*extra_state) }));
                let mut made = Out::new(keyval);
                let (copy, delete) = ($copy::<$handle> as *mut c_void, $delete::<$handle> as *mut c_void);
                let code = call(copy, delete, made.place(), key.cast());
                made.put();
                set(ierror, code);
            }
        }
    )*};
}

keys! {
    Comm:
        [
            mpi_comm_create_keyval_ pmpi_comm_create_keyval_
            mpi_comm_create_keyval_f08_ pmpi_comm_create_keyval_f08_
        ] MPI_Comm_create_keyval PMPI_Comm_create_keyval, i64, copy, delete;
    Datatype:
        [
            mpi_type_create_keyval_ pmpi_type_create_keyval_
            mpi_type_create_keyval_f08_ pmpi_type_create_keyval_f08_
        ] MPI_Type_create_keyval PMPI_Type_create_keyval, i64, copy, delete;
    Win:
        [
            mpi_win_create_keyval_ pmpi_win_create_keyval_
            mpi_win_create_keyval_f08_ pmpi_win_create_keyval_f08_
        ] MPI_Win_create_keyval PMPI_Win_create_keyval, i64, copy, delete;
    Comm:
        [mpi_keyval_create_ pmpi_keyval_create_] MPI_Keyval_create PMPI_Keyval_create, Fint, copy_old, delete_old;
}

type Copy = unsafe extern "C" fn(*mut Fint, *mut Fint, *mut i64, *mut i64, *mut i64, *mut Fint, *mut Fint);
type Delete = unsafe extern "C" fn(*mut Fint, *mut Fint, *mut i64, *mut i64, *mut Fint);
type CopyOld = unsafe extern "C" fn(*mut Fint, *mut Fint, *mut Fint, *mut Fint, *mut Fint, *mut Fint, *mut Fint);
type DeleteOld = unsafe extern "C" fn(*mut Fint, *mut Fint, *mut Fint, *mut Fint, *mut Fint);

unsafe extern "C" fn copy<H: FortranHandle>(
    object: H,
    keyval: c_int,
    key: *mut Key,
    attribute: *mut c_void,
    copied: *mut *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let (mut object, mut value, mut new) = (int(object), value_of(attribute), 0);
    let (mut keyval, mut wanted, mut code) = (wide(keyval), 0, wide(MPI_SUCCESS));
    // SAFETY: the program gave a procedure with this interface; MPI passes the extra state of the
    // key, which is never freed.
    unsafe {
        let procedure = transmute::<Code, Copy>((*key).copy);
        let mut extra_state = (*key).extra_state;
        procedure(&mut object, &mut keyval, &mut extra_state, &mut value, &mut new, &mut wanted, &mut code);
        *flag = truth(&mut wanted);
        if code == wide(MPI_SUCCESS) && *flag != 0 {
            *copied = boxed(new);
        }
    }
    short(code)
}

unsafe extern "C" fn delete<H: FortranHandle>(
    object: H,
    keyval: c_int,
    attribute: *mut c_void,
    key: *mut Key,
) -> c_int {
    let (mut object, mut value) = (int(object), value_of(attribute));
    let (mut keyval, mut code) = (wide(keyval), wide(MPI_SUCCESS));
    // SAFETY: the program gave a procedure with this interface for the key.
    // MPI passes the extra state of the key, which is never freed.
    unsafe {
        let procedure = transmute::<Code, Delete>((*key).delete);
        let mut extra_state = (*key).extra_state;
        procedure(&mut object, &mut keyval, &mut value, &mut extra_state, &mut code);
    }
    if code == wide(MPI_SUCCESS) {
        unbox(attribute);
    }
    short(code)
}

unsafe extern "C" fn copy_old<H: FortranHandle>(
    object: H,
    keyval: c_int,
    key: *mut Key,
    attribute: *mut c_void,
    copied: *mut *mut c_void,
    flag: *mut c_int,
) -> c_int {
    let (mut object, mut value, mut new) = (int(object), value_of(attribute) as Fint, 0);
    let (mut keyval, mut wanted, mut code) = (wide(keyval), 0, wide(MPI_SUCCESS));
    // SAFETY: the program gave a procedure with this interface for the key.
    // MPI passes the extra state of the key, which is never freed.
    unsafe {
        let procedure = transmute::<Code, CopyOld>((*key).copy);
        let mut extra_state = (*key).extra_state as Fint;
        procedure(&mut object, &mut keyval, &mut extra_state, &mut value, &mut new, &mut wanted, &mut code);
        *flag = truth(&mut wanted);
        if code == wide(MPI_SUCCESS) && *flag != 0 {
            *copied = boxed(long(new));
        }
    }
    short(code)
}

unsafe extern "C" fn delete_old<H: FortranHandle>(
    object: H,
    keyval: c_int,
    attribute: *mut c_void,
    key: *mut Key,
) -> c_int {
    let (mut object, mut value) = (int(object), value_of(attribute) as Fint);
    let (mut keyval, mut code) = (wide(keyval), wide(MPI_SUCCESS));
    // SAFETY: the program gave a procedure with this interface for the key.
    // MPI passes the extra state of the key, which is never freed.
    unsafe {
        let procedure = transmute::<Code, DeleteOld>((*key).delete);
        let mut extra_state = (*key).extra_state as Fint;
        procedure(&mut object, &mut keyval, &mut value, &mut extra_state, &mut code);
    }
    if code == wide(MPI_SUCCESS) {
        unbox(attribute);
    }
    short(code)
}

// ---- MPI's own procedures for this ----

macro_rules! predefined {
    ($value:ty: $null_copy:ident $dup:ident $null_delete:ident) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $null_copy(
            _object: *mut Fint,
            _keyval: *mut Fint,
            _extra_state: *mut $value,
            _value: *mut $value,
            _new: *mut $value,
            flag: *mut Fint,
            ierror: *mut Fint,
        ) {
            // SAFETY: called as the standard says.
            unsafe {
                put_truth(flag, 0);
                set(ierror, MPI_SUCCESS);
            }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $dup(
            _object: *mut Fint,
            _keyval: *mut Fint,
            _extra_state: *mut $value,
            value: *mut $value,
            new: *mut $value,
            flag: *mut Fint,
            ierror: *mut Fint,
        ) {
            // SAFETY: the caller passes variables as the standard asks; all may be written.
            unsafe {
                *new = *value;
                put_truth(flag, 1);
                set(ierror, MPI_SUCCESS);
            }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $null_delete(
            _object: *mut Fint,
            _keyval: *mut Fint,
            _value: *mut $value,
            _extra_state: *mut $value,
            ierror: *mut Fint,
        ) {
            // SAFETY: the caller passes the INTEGER `ierror`.
            unsafe { set(ierror, MPI_SUCCESS) };
        }
    };
}

predefined! { i64: mpi_comm_null_copy_fn_ mpi_comm_dup_fn_ mpi_comm_null_delete_fn_ }
predefined! { i64: mpi_type_null_copy_fn_ mpi_type_dup_fn_ mpi_type_null_delete_fn_ }
predefined! { i64: mpi_win_null_copy_fn_ mpi_win_dup_fn_ mpi_win_null_delete_fn_ }
predefined! { Fint: mpi_null_copy_fn_ mpi_dup_fn_ mpi_null_delete_fn_ }
