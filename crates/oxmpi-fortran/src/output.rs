//! The output of a Fortran program is in buffers of its compiler's runtime, which only a regular
//! end of the process flushes. The C library calls this function, if this library is loaded, before
//! it ends a process early.
//!
//! It must never keep a job from ending: the runtime may be printing, with its locks held.

use crate::entry::*;
use std::arch::global_asm;
use std::sync::mpsc::channel;
use std::thread::Builder;
use std::time::Duration;

// Weak references to the runtimes: the linker leaves zero for those that the program does not have.
global_asm!(
    ".weak _gfortran_flush_i4",
    ".weak _FortranAExit",
    ".globl oxmpi_fortran_runtimes",
    ".hidden oxmpi_fortran_runtimes",
    ".pushsection .data.rel.oxmpi_fortran_runtimes, \"aw\"",
    ".balign 8",
    "oxmpi_fortran_runtimes:",
    ".8byte _gfortran_flush_i4",
    ".8byte _FortranAExit",
    ".popsection",
);

#[repr(C)]
struct Runtimes {
    /// Flushes all buffers when no unit is given.
    gfortran_flush: Option<unsafe extern "C" fn(*const c_int)>,
    /// The function of flang, which can only flush when it ends the process.
    flang_exit: Option<unsafe extern "C" fn(c_int)>,
}

unsafe extern "C" {
    safe static oxmpi_fortran_runtimes: Runtimes;
}

/// Longer than output takes while its reader still reads.
const PATIENCE: Duration = Duration::from_millis(500);

/// The process is about to end with this status.
#[unsafe(no_mangle)]
extern "C" fn oxmpi_fortran_flush(status: c_int) {
    let (done, wait) = channel();
    let flush = move || {
        // SAFETY: the functions of the runtime are called with their documented arguments.
        unsafe {
            if let Some(flush) = oxmpi_fortran_runtimes.gfortran_flush {
                flush(std::ptr::null());
            }
            if let Some(exit) = oxmpi_fortran_runtimes.flang_exit {
                exit(status);
            }
        }
        let _ = done.send(());
    };
    if Builder::new().spawn(flush).is_ok() {
        let _ = wait.recv_timeout(PATIENCE);
    }
}
