//! The variables and the function by which a parallel debugger finds the processes of a job: the MPIR process acquisition
//! interface. Their names and layouts are fixed, and a debugger reads and writes them in the memory of this process:
//!
//! - A debugger that has started `mpirun` sets `MPIR_being_debugged` and a breakpoint at `MPIR_Breakpoint`. The ranks then
//!   wait in `MPI_Init` until that function returns (`oxmpi_base::hold`).
//! - A debugger that attaches later finds the table when `MPIR_debug_state` is `SPAWNED`.
//! - When the job fails, `MPIR_Breakpoint` is called again, with `ABORTING`, before the other ranks are stopped.
//!
//! `build.rs` exports them, so that they are there also when symbols are stripped. Each spawned job has its own `mpirun`,
//! and so its own table: the index in a table is the rank in the `MPI_COMM_WORLD` of its job.

#![allow(non_upper_case_globals, non_snake_case, reason = "the names are those of the interface")]

use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int};
use std::ptr;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicI32, AtomicPtr};

/// A row of the table.
#[repr(C)]
pub struct ProcDesc {
    host_name: *const c_char,
    executable_name: *const c_char,
    pid: c_int,
}

/// Values of `MPIR_debug_state`.
const SPAWNED: i32 = 1;
const ABORTING: i32 = 2;

/// The debugger sets it.
#[used]
#[unsafe(no_mangle)]
pub static MPIR_being_debugged: AtomicI32 = AtomicI32::new(0);

#[used]
#[unsafe(no_mangle)]
pub static MPIR_debug_state: AtomicI32 = AtomicI32::new(0);

#[used]
#[unsafe(no_mangle)]
pub static MPIR_debug_abort_string: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

#[used]
#[unsafe(no_mangle)]
pub static MPIR_proctable: AtomicPtr<ProcDesc> = AtomicPtr::new(ptr::null_mut());

#[used]
#[unsafe(no_mangle)]
pub static MPIR_proctable_size: AtomicI32 = AtomicI32::new(0);

/// That it exists says: this process is no rank.
#[used]
#[unsafe(no_mangle)]
pub static MPIR_i_am_starter: AtomicI32 = AtomicI32::new(1);

/// That it exists says: this process releases the ranks, so a debugger need not attach to all of them.
#[used]
#[unsafe(no_mangle)]
pub static MPIR_partial_attach_ok: AtomicI32 = AtomicI32::new(1);

/// That it exists says: a debugger should show the program's `main`, not the place in `MPI_Init` where a rank is held.
#[used]
#[unsafe(no_mangle)]
pub static MPIR_force_to_main: AtomicI32 = AtomicI32::new(1);

/// Where a debugger has its breakpoint. The value keeps the call and the function from being removed.
#[inline(never)]
#[unsafe(no_mangle)]
pub extern "C" fn MPIR_Breakpoint() {
    std::hint::black_box(&MPIR_debug_state);
}

/// A rank as the table has it.
pub struct Process<'a> {
    pub host: &'a str,
    /// The absolute path of its program.
    pub executable: &'a [u8],
    pub pid: i32,
}

/// Whether a debugger has started this process: then the ranks are held in `MPI_Init` until [`publish`] returns.
pub fn is_debugged() -> bool {
    MPIR_being_debugged.load(SeqCst) != 0
}

/// Publishes the processes of a job in the order of their ranks. A debugger stops this process here.
pub fn publish<'a>(processes: impl Iterator<Item = Process<'a>>) {
    let mut texts: HashMap<Vec<u8>, *const c_char> = HashMap::new();
    let mut text = |bytes: &[u8]| *texts.entry(bytes.to_vec()).or_insert_with(|| kept(bytes));
    let row = |process: Process<'a>| ProcDesc {
        host_name: text(process.host.as_bytes()),
        executable_name: text(process.executable),
        pid: process.pid,
    };
    // The table stays as long as this process: a debugger may read it at any time.
    let table = Vec::leak(processes.map(row).collect());
    MPIR_proctable.store(table.as_mut_ptr(), Relaxed);
    MPIR_proctable_size.store(table.len() as i32, SeqCst);
    MPIR_debug_state.store(SPAWNED, SeqCst);
    MPIR_Breakpoint();
}

/// Tells a debugger that the job fails, while all ranks can still be looked at. Without a debugger it does nothing.
pub fn abort(why: &str) {
    if is_debugged() {
        MPIR_debug_abort_string.store(kept(why.as_bytes()).cast_mut(), Relaxed);
        MPIR_debug_state.store(ABORTING, SeqCst);
        MPIR_Breakpoint();
    }
}

/// The bytes as a string of C, for ever.
fn kept(bytes: &[u8]) -> *const c_char {
    let bytes = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    CString::new(bytes).unwrap_or_default().into_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn the_table_has_all_ranks() {
        assert_eq!((size_of::<ProcDesc>(), std::mem::offset_of!(ProcDesc, pid)), (24, 16));
        let process = |pid, host| Process { host, executable: b"/bin/a\0b", pid };
        publish([process(7, "here"), process(9, "there")].into_iter());
        assert_eq!(MPIR_debug_state.load(SeqCst), SPAWNED);
        assert_eq!(MPIR_proctable_size.load(SeqCst), 2);
        // SAFETY: the table has so many rows, and is never freed; the texts in it end.
        let rows = unsafe { std::slice::from_raw_parts(MPIR_proctable.load(SeqCst), 2) };
        // SAFETY: a text that `kept` has made.
        let text = |at| unsafe { CStr::from_ptr(at) }.to_str().unwrap();
        assert_eq!((rows[0].pid, text(rows[0].host_name), text(rows[0].executable_name)), (7, "here", "/bin/a"));
        assert_eq!((rows[1].pid, text(rows[1].host_name)), (9, "there"));
        assert_eq!(rows[0].executable_name, rows[1].executable_name, "equal texts are stored once");
    }
}
