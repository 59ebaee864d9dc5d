//! Handles of datatypes: for new ones, and for predefined ones without a name.

use oxmpi_abi::constants::MPI_ERR_NO_SPACE;
use oxmpi_abi::handle;
use oxmpi_abi::{Result, bail};
use oxmpi_core::call::Guard;
use oxmpi_datatype::{Datatype, predefined_or_marker};
use std::sync::Arc;

/// A type for queries about itself, which also accept the markers of MPI-1. `MPI_Type_get_contents`
/// returns them.
pub fn asked<'g>(guard: &'g Guard, handle: handle::Datatype) -> Result<&'g Arc<Datatype>> {
    match predefined_or_marker(handle.0) {
        Some(found) => Ok(found),
        None => guard.datatype(handle),
    }
}

/// A handle for a new type.
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
    let address = Arc::as_ptr(of).addr();
    if let Some(handle) = guard.unnamed_types.get(&address) {
        return Ok(*handle);
    }
    let handle = add(guard, of.clone())?;
    guard.unnamed_types.insert(address, handle);
    Ok(handle)
}
