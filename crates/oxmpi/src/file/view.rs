//! Views of files. A view is laid out before it is used.

use oxmpi_abi::Result;
use oxmpi_abi::handle::File as Handle;
use oxmpi_core::call::Guard;
use oxmpi_datatype::Datatype as Type;
use oxmpi_io::{Representation, View};
use std::sync::Arc;

/// The view of a file, laid out.
pub fn view(guard: &mut Guard, fh: Handle) -> Result<Arc<View>> {
    let view = Arc::clone(&guard.file(fh)?.view);
    lay_out(guard, &view)?;
    Ok(view)
}

/// Lays a view out; user functions are called without the lock.
pub fn lay_out(guard: &mut Guard, view: &View) -> Result<()> {
    if view.is_laid_out() { Ok(()) } else { guard.call_user(|| view.lay_out()) }
}

/// The layout of a type in the file of a view.
pub fn in_file(guard: &mut Guard, view: &View, datatype: &Arc<Type>) -> Result<Arc<Type>> {
    match &view.representation {
        Representation::Users(_) => guard.call_user(|| view.representation.lay_out(datatype)),
        other => other.lay_out(datatype),
    }
}
