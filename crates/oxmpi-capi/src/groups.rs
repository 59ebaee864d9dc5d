//! Groups at the C boundary.

use crate::bodies::check_place;
use oxmpi_abi::constants::{MPI_ERR_NO_SPACE, MPI_GROUP_EMPTY};
use oxmpi_abi::handle::Group as Handle;
use oxmpi_abi::{Result, bail};
use oxmpi_core::group::Group;
use oxmpi_core::guard::Guard;
use std::sync::Arc;

/// Stores the handle of a new group. There is one empty group.
///
/// # Safety
/// `to` is null or may be written.
pub unsafe fn give(guard: &mut Guard, group: Group, to: *mut Handle, name: &str) -> Result<()> {
    check_place(to, name)?;
    let handle = match group.is_empty() {
        true => MPI_GROUP_EMPTY,
        false => match guard.groups.try_insert(Arc::new(group)) {
            Ok(handle) => Handle(handle),
            Err(_) => bail!(MPI_ERR_NO_SPACE, "no handles are left for groups"),
        },
    };
    // SAFETY: checked.
    unsafe { to.write(handle) };
    Ok(())
}
