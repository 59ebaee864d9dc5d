//! The end of MPI in a process, towards all others.

use super::{LOOK, names};
use crate::coll::{self, Blocking};
use oxmpi_abi::constants::MPI_COMM_WORLD;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check;
use oxmpi_core::wait::Waiting;
use oxmpi_core::wait::waiting::{Asking, Receivers};

/// Tells what the program has left, for `--check`: objects, requests, and messages that others have sent. All ranks of the
/// world come here, as the standard says of `MPI_Finalize`, so they may wait for each other; but with sessions.
pub fn tell_what_is_left(call: &Call) {
    if !check::is_on() {
        return;
    }
    // A process that has had sessions may open another one afterwards, and others may wait for that before they come here.
    // Those of a job that goes on after deaths may wait for one that has come here, and get an error.
    let goes_on = call.enter().is_ok_and(|guard| guard.engine.node().goes_on());
    let meets = !goes_on && !call.library().sessions().was_used();
    // SAFETY: no memory is involved.
    let met = if meets { unsafe { coll::barrier(call, Blocking, MPI_COMM_WORLD) } } else { Ok(()) };
    if let (Ok(()), Ok(mut guard)) = (met, call.enter()) {
        guard.engine.drain_all();
        guard.tell_what_is_left(meets);
        check::await_reader(guard.engine.node());
    }
}

/// Parts from all processes. Everything sent must arrive, even if nobody waited for it, unless its receiver leaves without
/// receiving it.
pub fn part_from_all(call: &Call, guard: &mut Guard) {
    guard.prepare_to_leave_all();
    let looking = Asking::new(LOOK, |_| None);
    // No event says that the kernel of another host has got everything.
    let how: &dyn Waiting = if guard.engine.has_network() { &looking } else { &Receivers };
    // Neither wait can fail: processes that have ended are not waited for.
    let _ = call.wait(guard, how, |process| process.engine.part().then_some(()));
    // Connected parents and children end together, even when everything has arrived.
    let _ = call.wait(guard, &looking, |process| (!process.awaits_related_jobs()).then_some(()));
    names::clear(guard);
    guard.engine.node().close_ports();
    guard.leave_all_jobs();
}
