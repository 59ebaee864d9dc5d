//! Puts and gets of any datatype. The C boundary handles the most common case itself (one
//! predefined type, mapped memory) and calls these functions for all others.
//!
//! The functions take the parts of their arguments, not structs. A struct is passed in memory, and
//! the compiler would store it also for the common case, where each store delays the next flush.

use oxmpi_abi::Result;
use oxmpi_abi::handle::{Datatype, Win};
use oxmpi_core::args::{SourceArg, TargetArg};
use oxmpi_core::call::Guard;

/// Writes to a window. `origin` and the last pair are count and datatype at the origin and at the
/// target; the pair between them is the rank and the displacement of the target.
///
/// # Safety
/// `address` and `origin` are the parts of a [`SourceArg`].
#[inline(never)]
pub unsafe fn put(
    guard: &mut Guard,
    address: *const u8,
    origin: (i64, Datatype),
    (rank, disp): (i32, i64),
    (count, datatype): (i64, Datatype),
    win: Win,
) -> Result<()> {
    guard.win(win)?;
    // SAFETY: the parts of such an argument, by this function's condition.
    let from = guard.source_of(unsafe { SourceArg::new(address.cast(), origin.0, origin.1) })?;
    match guard.target_region(win, rank, disp, count, datatype)? {
        Some(region) => oxmpi_rma::put(guard.engine.node(), &from, &region),
        None => Ok(()),
    }
}

/// Reads from a window, with arguments as for [`put`].
///
/// # Safety
/// `address` and `origin` are the parts of a [`TargetArg`].
#[inline(never)]
pub unsafe fn get(
    guard: &mut Guard,
    address: *mut u8,
    origin: (i64, Datatype),
    (rank, disp): (i32, i64),
    (count, datatype): (i64, Datatype),
    win: Win,
) -> Result<()> {
    guard.win(win)?;
    // SAFETY: the parts of such an argument, by this function's condition.
    let to = guard.target_of(unsafe { TargetArg::new(address.cast(), origin.0, origin.1) })?;
    match guard.target_region(win, rank, disp, count, datatype)? {
        Some(region) => oxmpi_rma::get(guard.engine.node(), &to, &region),
        None => Ok(()),
    }
}
