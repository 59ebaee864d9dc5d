//! Views of files. A view is laid out before it is used.

use super::agree::{Among, agree, tell_pointer};
use super::buffering::settle;
use super::checked::compare_views;
use super::{datarep, hints};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Datatype, File as Handle};
use oxmpi_abi::{Result, bail};
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check;
use oxmpi_core::info::Info;
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

/// The arguments of a process for setting a view.
pub struct ViewArgs<'a> {
    pub disp: i64,
    pub etype: Datatype,
    pub filetype: Datatype,
    /// The name of the data representation.
    pub datarep: &'a [u8],
    pub hints: Result<Info>,
}

/// Sets the view of this process, and both file pointers to zero. Collective.
pub fn set(call: &Call, fh: Handle, args: ViewArgs) -> Result<()> {
    let ViewArgs { disp, etype, filetype, datarep, hints } = args;
    let mut guard = call.enter()?;
    let file = guard.file(fh)?;
    let (among, io, shared, before) =
        (Among::File(fh), Arc::clone(&file.io), Arc::clone(&file.shared), Arc::clone(&file.view));
    let sequential = io.mode.is_sequential();
    // For a sequential file, the displacement is known when all have arrived.
    let make = move |guard: &Guard| {
        let file = guard.file(fh)?;
        file.check_idle()?;
        match (disp, sequential) {
            (MPI_DISPLACEMENT_CURRENT, false) => {
                bail!(MPI_ERR_ARG, "MPI_DISPLACEMENT_CURRENT is for files that are opened with MPI_MODE_SEQUENTIAL");
            }
            (MPI_DISPLACEMENT_CURRENT, true) | (_, false) => {}
            (_, true) => bail!(
                MPI_ERR_UNSUPPORTED_OPERATION,
                "\"{}\" was opened with MPI_MODE_SEQUENTIAL; the displacement must be MPI_DISPLACEMENT_CURRENT",
                io.show()
            ),
        }
        let (etype, filetype) = (guard.datatype(etype)?, guard.datatype(filetype)?);
        let representation = datarep::find(call.library(), datarep)?;
        let hints = hints?;
        let view = View::new(if sequential { 0 } else { disp }, etype, filetype, representation, io.mode.writes())?;
        if sequential && !view.is_dense() {
            bail!(MPI_ERR_TYPE, "a file that is opened with MPI_MODE_SEQUENTIAL cannot have a filetype with gaps");
        }
        // User functions are not called before there is data to convert.
        let extent = match &view.representation {
            Representation::Users(_) => view.etype.extent(),
            other => other.lay_out(&view.etype)?.extent(),
        } as u64;
        Ok((view, hints, extent))
    };
    let made = make(&guard);
    let extent = made.as_ref().map_or(0, |(.., extent)| *extent);
    let name = made.as_ref().map_or(0, |(view, ..)| view.representation.key());
    let same = [("data representation", name), ("extent of the etype", extent)];
    let (mut view, hints, _) = agree(call, &mut guard, among, made, same)?;

    // The first process resets the shared pointer, and no process continues before.
    let first = guard.file(fh)?.comm.rank == 0;
    let at = if first { shared.get().and_then(|at| shared.set(0).map(|()| at)) } else { Ok(0) };
    let at = tell_pointer(call, &mut guard, among, at)?;
    if sequential {
        lay_out(&mut guard, &before)?;
        view = view.moved(before.byte_offset(at)?)?;
    }
    let file = guard.file_mut(fh)?;
    file.view = Arc::new(view);
    file.position = 0;
    hints::update(&mut file.hints, &hints)?;
    if check::is_on() {
        compare_views(call, &mut guard, fh);
    }
    settle(call, &mut guard, fh)
}
