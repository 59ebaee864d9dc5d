//! Groups: handles for new ones. What groups are is in `group.rs` of `oxmpi-core`.

use oxmpi_abi::constants::{MPI_ERR_NO_SPACE, MPI_GROUP_EMPTY};
use oxmpi_abi::handle::Group as Handle;
use oxmpi_abi::{Result, bail};
use oxmpi_core::group::Group;
use oxmpi_core::guard::Guard;
use std::sync::Arc;

/// The handle of a new group. There is one empty group.
pub fn add(guard: &mut Guard, group: Group) -> Result<Handle> {
    if group.is_empty() {
        return Ok(MPI_GROUP_EMPTY);
    }
    match guard.groups.try_insert(Arc::new(group)) {
        Ok(handle) => Ok(Handle(handle)),
        Err(_) => bail!(MPI_ERR_NO_SPACE, "no handles are left for groups"),
    }
}
