//! Puts and gets of any datatype, to any target that may be accessed. What is common is done before they are called.
//!
//! They take the parts of their arguments and not structs, since structs would go through memory, and the calls that do
//! without them would store them, too: a flush waits for every store.

use oxmpi_abi::Result;
use oxmpi_abi::handle::{Datatype, Win};
use oxmpi_core::args::{SourceArg, TargetArg};
use oxmpi_core::guard::Guard;

/// Writes to a window: at the rank and displacement of the second pair, elements as the third says.
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
    match guard.spot(win, rank, disp, count, datatype)? {
        Some(spot) => oxmpi_rma::put(guard.engine.node(), &from, &spot),
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
    match guard.spot(win, rank, disp, count, datatype)? {
        Some(spot) => oxmpi_rma::get(guard.engine.node(), &to, &spot),
        None => Ok(()),
    }
}
