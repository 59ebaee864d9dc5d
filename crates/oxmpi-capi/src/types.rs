//! What the C boundary knows of datatypes beside their layout: handles of those that are predefined without a name, and
//! the names and attributes that the user hung on a handle.
//!
//! Few types have either, so they are kept by handle beside the table of types; a handle that another call returns for
//! the same type has a name and attributes of its own.

use crate::keyvals::{Callbacks, Holder};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle;
use oxmpi_abi::{Result, bail};
use oxmpi_core::attributes::{Attributes, Owner};
use oxmpi_core::guard::Guard;
use oxmpi_datatype::{Datatype, predefined_or_marker};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub struct Extras {
    pub name: Option<Vec<u8>>,
    pub attributes: Attributes<Callbacks>,
}

static EXTRAS: Mutex<Option<HashMap<usize, Extras>>> = Mutex::new(None);

/// How many types have any: mostly none, and then nobody need lock or look.
static WITH_EXTRAS: AtomicUsize = AtomicUsize::new(0);

/// The handles of predefined types without a name, by the address of the type, which lives for ever.
static UNNAMED: Mutex<Option<HashMap<usize, handle::Datatype>>> = Mutex::new(None);

fn locked<T>(mutex: &'static Mutex<T>) -> MutexGuard<'static, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A type that is only asked about itself: the markers of MPI-1 may be, too. They come out of `MPI_Type_get_contents`.
pub fn asked<'g>(guard: &'g Guard, handle: handle::Datatype) -> Result<&'g Arc<Datatype>> {
    match predefined_or_marker(handle.0) {
        Some(found) => Ok(found),
        None => guard.datatype(handle),
    }
}

/// A handle for a type that was just made.
pub fn add(guard: &mut Guard, new: Arc<Datatype>) -> Result<handle::Datatype> {
    match guard.types.try_insert(new) {
        Ok(handle) => Ok(handle::Datatype(handle)),
        Err(_) => bail!(MPI_ERR_NO_SPACE, "no handles are left for datatypes"),
    }
}

/// The handle of a predefined type, the same each time; a new one for any other type.
pub fn handle_of(guard: &mut Guard, of: &Arc<Datatype>) -> Result<handle::Datatype> {
    if let Some(handle) = of.predefined_handle() {
        return Ok(handle::Datatype(handle));
    }
    if !of.is_predefined() {
        return add(guard, of.clone());
    }
    let mut unnamed = locked(&UNNAMED);
    let unnamed = unnamed.get_or_insert_default();
    let address = Arc::as_ptr(of).addr();
    if let Some(handle) = unnamed.get(&address) {
        return Ok(*handle);
    }
    let handle = add(guard, of.clone())?;
    unnamed.insert(address, handle);
    Ok(handle)
}

/// What hangs on a type, to be read or changed.
pub fn extras<R>(of: handle::Datatype, with: impl FnOnce(&mut Extras) -> R) -> R {
    let mut all = locked(&EXTRAS);
    let all = all.get_or_insert_default();
    let result = with(all.entry(of.0).or_default());
    WITH_EXTRAS.store(all.len(), Relaxed);
    result
}

/// The name that the user gave a type.
pub fn name(of: handle::Datatype) -> Option<Vec<u8>> {
    locked(&EXTRAS).as_ref()?.get(&of.0)?.name.clone()
}

/// Whether the type may hold attributes; most hold none, and this is cheap to see.
pub fn has_extras(of: handle::Datatype) -> bool {
    // Relaxed: a handle that another thread gave extras to comes from there by the user's synchronisation.
    WITH_EXTRAS.load(Relaxed) > 0 && locked(&EXTRAS).as_ref().is_some_and(|extras| extras.contains_key(&of.0))
}

pub fn forget(of: handle::Datatype) {
    if let Some(extras) = locked(&EXTRAS).as_mut() {
        extras.remove(&of.0);
        WITH_EXTRAS.store(extras.len(), Relaxed);
    }
}

/// A type as a holder of attributes; the handle has been checked.
pub struct Type(pub handle::Datatype);

impl Holder for Type {
    const OWNER: Owner = Owner::Datatype;

    fn handle(&self) -> usize {
        self.0.0
    }

    fn attributes<R>(&self, with: impl FnOnce(&mut Attributes<Callbacks>) -> R) -> Result<R> {
        Ok(extras(self.0, |extras| with(&mut extras.attributes)))
    }
}
