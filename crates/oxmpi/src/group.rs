//! Handles for new groups. `group.rs` of `oxmpi-core` has the groups.

use oxmpi_abi::constants::{MPI_ERR_NO_SPACE, MPI_GROUP_EMPTY};
use oxmpi_abi::handle::Group as Handle;
use oxmpi_abi::{Result, bail};
use oxmpi_core::call::Guard;
use oxmpi_core::group::Group;
use std::sync::Arc;

/// The handle of a new group. All empty groups have the same one.
pub fn add(guard: &mut Guard, group: Group) -> Result<Handle> {
    if group.is_empty() {
        return Ok(MPI_GROUP_EMPTY);
    }
    match guard.groups.try_insert(Arc::new(group)) {
        Ok(handle) => Ok(Handle(handle)),
        Err(_) => bail!(MPI_ERR_NO_SPACE, "no handles are left for groups"),
    }
}
