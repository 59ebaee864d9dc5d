//! A rank that a debugger has started waits in `MPI_Init` until it is let go on.

use oxmpi_base::segment::Segment;
use std::sync::atomic::{AtomicI32, Ordering::Acquire};
use std::time::Duration;

/// A debugger may also set it to a value other than 0 in the process of a rank, to release this rank alone. `mpirun`
/// releases all ranks when its `MPIR_Breakpoint` returns.
#[expect(unsafe_code, reason = "debuggers find it by this name")]
#[used]
#[unsafe(no_mangle)]
pub static MPIR_debug_gate: AtomicI32 = AtomicI32::new(0);

/// Nobody wakes a rank of which the gate is opened.
const LOOK: Duration = Duration::from_millis(50);

/// Waits until this rank is released, if it is held.
pub fn wait_for_debugger(segment: &Segment) {
    let job = segment.header();
    while job.holds_ranks() && MPIR_debug_gate.load(Acquire) == 0 {
        job.sleep_while_held(LOOK);
    }
}
