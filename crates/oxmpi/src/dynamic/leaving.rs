//! The end of MPI in a process, towards all others.

use super::{LOOK, names};
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::wait::Waiting;
use oxmpi_core::wait::waiting::{Asking, Unending};

/// Parts from all processes. Everything sent must arrive, even if nobody waited for it, unless its receiver leaves without
/// receiving it.
pub fn part_from_all(call: &Call, guard: &mut Guard) {
    guard.prepare_to_leave_all();
    let looking = Asking::new(LOOK, |_| None);
    // No event says that the kernel of another host has got everything.
    let how: &dyn Waiting = if guard.engine.has_network() { &looking } else { &Unending };
    // Neither wait can fail: processes that have ended are not waited for.
    let _ = call.wait(guard, how, |process| process.engine.part().then_some(()));
    // Connected parents and children end together, even when everything has arrived.
    let _ = call.wait(guard, &looking, |process| (!process.awaits_related_jobs()).then_some(()));
    names::clear(guard);
    guard.engine.node().close_ports();
    guard.leave_all_jobs();
}
