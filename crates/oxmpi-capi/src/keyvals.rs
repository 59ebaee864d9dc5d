//! Attribute keys and their callbacks, for every kind of object that can hold attributes.
//!
//! A callback is the user's: it runs while no lock of the library is held, and it may change the very attributes that are
//! being walked. So one attribute at a time is taken out or read, the locks are let go, and the callback is called.

use crate::library::LIBRARY;
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result};
use oxmpi_core::attributes::{Attribute, Attributes, KeyvalRegistry, Owner, Value};
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the user gave with a key: two C functions and a pointer that goes back to them. The functions of the three kinds of
/// object differ in the type of the handle alone, which is a pointer in each.
#[derive(Clone, Copy, Debug)]
pub struct Callbacks {
    copy: usize,
    delete: usize,
    extra: usize,
}

type CopyFn = unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void, *mut c_void, *mut c_int) -> c_int;
type DeleteFn = unsafe extern "C" fn(usize, c_int, *mut c_void, *mut c_void) -> c_int;

/// The values that stand for the predefined callbacks, the same for each kind of object.
const NULL_COPY: usize = MPI_TYPE_NULL_COPY_FN;
const DUP: usize = MPI_TYPE_DUP_FN;
const NULL_DELETE: usize = MPI_TYPE_NULL_DELETE_FN;
const _: () = assert!(NULL_COPY == MPI_COMM_NULL_COPY_FN && DUP == MPI_COMM_DUP_FN && NULL_DELETE == 0);

static KEYVALS: Mutex<KeyvalRegistry<Callbacks>> = Mutex::new(KeyvalRegistry::new());

fn registry() -> MutexGuard<'static, KeyvalRegistry<Callbacks>> {
    KEYVALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An object with attributes, as this module needs to see it.
pub trait Holder {
    const OWNER: Owner;

    /// The handle that callbacks get.
    fn handle(&self) -> usize;

    /// The attributes, for a moment; an error when the object is gone.
    fn attributes<R>(&self, with: impl FnOnce(&mut Attributes<Callbacks>) -> R) -> Result<R>;
}

/// A new key. The functions come as their addresses, or as the numbers of predefined ones.
pub fn create(owner: Owner, copy: usize, delete: usize, extra: *mut c_void) -> Result<c_int> {
    registry().create(owner, Callbacks { copy, delete, extra: extra.addr() })
}

pub fn free(owner: Owner, number: c_int) -> Result<()> {
    registry().free(owner, number)
}

/// Sets an attribute; one that is there is deleted first, and stays when its callback refuses.
///
/// # Safety
/// The callbacks of the key are what the user promised of them when it was made.
pub unsafe fn set<H: Holder>(on: &H, number: c_int, value: Value) -> Result<()> {
    let key = registry().get(H::OWNER, number)?.clone();
    if let Some(old) = on.attributes(|attributes| attributes.take(number))? {
        // SAFETY: as the caller says.
        unsafe { release(on, old)? };
    }
    on.attributes(|attributes| attributes.set(key, value)).map(|_| ())
}

/// What C reads of an attribute; `None` when the key has none here.
pub fn get<H: Holder>(on: &H, number: c_int) -> Result<Option<usize>> {
    if let Some(value) = on.attributes(|attributes| attributes.get(number).map(|found| found.value.as_pointer()))? {
        return Ok(Some(value));
    }
    // A key that nobody made is an error, one without an attribute is not.
    registry().get(H::OWNER, number).map(|_| None)
}

/// # Safety
/// As for [`set`].
pub unsafe fn delete<H: Holder>(on: &H, number: c_int) -> Result<()> {
    match on.attributes(|attributes| attributes.take(number))? {
        // SAFETY: as the caller says.
        Some(found) => unsafe { release(on, found) },
        None => {
            registry().get(H::OWNER, number)?;
            Err(Error::new(MPI_ERR_KEYVAL, format!("there is no attribute with the key {number}")))
        }
    }
}

/// Deletes all attributes, the one that was set last first; stops at a callback that refuses.
///
/// # Safety
/// As for [`set`].
pub unsafe fn delete_all<H: Holder>(on: &H) -> Result<()> {
    while let Some(last) = on.attributes(Attributes::take_last)? {
        // SAFETY: as the caller says.
        unsafe { release(on, last)? };
    }
    Ok(())
}

/// What a duplicate of an object starts with: the copy callbacks decide.
///
/// # Safety
/// As for [`set`].
pub unsafe fn copy_all<H: Holder>(from: &H) -> Result<Attributes<Callbacks>> {
    let mut copies = Attributes::new();
    let originals: Vec<Attribute<Callbacks>> = from.attributes(|attributes| attributes.iter().cloned().collect())?;
    for original in originals {
        let Callbacks { copy, extra, .. } = original.key.callbacks;
        let value = match copy {
            NULL_COPY => continue,
            DUP => original.value.clone(),
            function => {
                let (mut out, mut flag) = (0usize, 0);
                let out_place: *mut usize = &mut out;
                // SAFETY: the user gave this function as the copy callback of a key for objects of this kind.
                let code = LIBRARY.call_user(|| unsafe {
                    std::mem::transmute::<usize, CopyFn>(function)(
                        from.handle(),
                        original.key.number,
                        std::ptr::with_exposed_provenance_mut(extra),
                        std::ptr::with_exposed_provenance_mut(original.value.as_pointer()),
                        out_place.cast(),
                        &mut flag,
                    )
                });
                if code != MPI_SUCCESS {
                    return Err(refused(code, "copy", original.key.number));
                }
                if flag == 0 {
                    continue;
                }
                Value::Pointer(out)
            }
        };
        copies.set(original.key, value);
    }
    Ok(copies)
}

/// Calls the delete callback of an attribute that was taken out; puts it back when the callback refuses.
///
/// # Safety
/// As for [`set`].
unsafe fn release<H: Holder>(on: &H, attribute: Attribute<Callbacks>) -> Result<()> {
    let Callbacks { delete, extra, .. } = attribute.key.callbacks;
    if delete == NULL_DELETE {
        return Ok(());
    }
    // SAFETY: the user gave this function as the delete callback of a key for objects of this kind.
    let code = LIBRARY.call_user(|| unsafe {
        std::mem::transmute::<usize, DeleteFn>(delete)(
            on.handle(),
            attribute.key.number,
            std::ptr::with_exposed_provenance_mut(attribute.value.as_pointer()),
            std::ptr::with_exposed_provenance_mut(extra),
        )
    });
    if code == MPI_SUCCESS {
        return Ok(());
    }
    let number = attribute.key.number;
    on.attributes(|attributes| attributes.put_back(attribute))?;
    Err(refused(code, "delete", number))
}

/// A callback's answer as an error: a code of the user's own stays what it is.
#[cold]
fn refused(code: c_int, which: &str, number: c_int) -> Error {
    let class = LIBRARY.errors().class_of(code).unwrap_or(MPI_ERR_OTHER);
    let class = if code > MPI_ERR_LASTCODE { code } else { class };
    Error::new(class, format!("the {which} callback of attribute key {number} returned {code}"))
}
