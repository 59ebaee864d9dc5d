//! What a Fortran program has printed lies in buffers of its compiler's runtime, which only a regular end empties. The C library
//! calls this before it ends a process in the middle of it, if this library is there.
//!
//! It must never keep a job from ending: the runtime may be in the middle of printing, with its locks held.

use crate::entry::*;
use std::arch::global_asm;
use std::sync::mpsc::channel;
use std::thread::Builder;
use std::time::Duration;

// References to whichever runtime the program has: the linker leaves zero for the others.
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
    /// Empties all buffers when the number of a unit is not given.
    gfortran_flush: Option<unsafe extern "C" fn(*const c_int)>,
    /// That of flang, which has nothing less than the end of the process.
    flang_exit: Option<unsafe extern "C" fn(c_int)>,
}

unsafe extern "C" {
    safe static oxmpi_fortran_runtimes: Runtimes;
}

/// Longer than any output takes whose reader is there.
const PATIENCE: Duration = Duration::from_millis(500);

/// The process is about to end with this status.
#[unsafe(no_mangle)]
extern "C" fn oxmpi_fortran_flush(status: c_int) {
    let (done, wait) = channel();
    let flush = move || {
        // SAFETY: functions of the runtime, called as it says.
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
