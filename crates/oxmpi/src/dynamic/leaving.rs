//! The end of MPI in a process, towards all others.

use super::{LOOK, names};
use crate::comm::own_peer;
use oxmpi_abi::Result;
use oxmpi_abi::constants::MPI_COMM_WORLD;
use oxmpi_core::agreement::Participants;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check;
use oxmpi_core::contexts::MEETING;
use oxmpi_core::wait::Waiting;
use oxmpi_core::wait::agreement::run_agreement;
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
    if let Ok(mut guard) = call.enter() {
        let all_have_come = meets && meet(call, &mut guard).is_ok();
        guard.engine.drain_all();
        guard.tell_what_is_left(all_have_come);
        check::await_reader(guard.engine.node());
    }
}

/// Waits for all ranks of the world. A collective call would be taken for one of the program, if ranks have made different
/// numbers of them.
fn meet(call: &Call, guard: &mut Guard) -> Result<()> {
    let members = guard.comm(MPI_COMM_WORLD)?.group.clone();
    let participants = Participants::new(members, own_peer(guard), MEETING, AT_THE_END);
    run_agreement(call, guard, |io| async move { io.part(&participants).await })
}

/// A tag that no other agreement of [`MEETING`] has.
const AT_THE_END: i32 = i32::MIN;

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
