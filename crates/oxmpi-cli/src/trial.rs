//! Runs a complete MPI program: `oxmpi doctor` starts `mpirun -n 2 oxmpi __rank`, and each rank
//! loads the installed library and calls MPI_Init, MPI_Barrier and MPI_Finalize.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use oxmpi_abi::constants::MPI_COMM_WORLD;

use crate::info;

pub const RANK: &str = "__rank";

/// Whether a program was started and succeeded; if it failed, its messages and those of `mpirun`.
pub fn run() -> Result<bool, String> {
    let Some(prefix) = info::prefix() else { return Ok(false) };
    let (mpirun, own) = (prefix.join("bin/mpirun"), prefix.join("bin/oxmpi"));
    if !mpirun.exists() || !own.exists() || !prefix.join("lib/libmpi_abi.so.1").exists() {
        return Ok(false);
    }
    let mut command = Command::new(mpirun);
    command.args(["-n", "2", "--timeout", "20"]).arg(own).arg(RANK).stdin(Stdio::null());
    // The user's time limit is not meant for this test.
    command.env_remove("MPIEXEC_TIMEOUT");
    let output = command.output().map_err(|error| format!("mpirun cannot be run: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(true);
    }
    // Both ranks may print the same lines.
    let mut lines: Vec<&str> = Vec::new();
    for line in said.lines().map(str::trim) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    Err(if lines.is_empty() { format!("mpirun ended with {}", output.status) } else { lines.join(" ") })
}

/// One of the two ranks.
pub fn rank() -> (String, i32) {
    match try_library() {
        Ok(()) => (String::new(), 0),
        Err(text) => {
            eprintln!("{text}");
            (String::new(), 1)
        }
    }
}

fn try_library() -> Result<(), String> {
    let path = info::prefix().ok_or("the folder of the installation is unknown")?.join("lib/libmpi_abi.so.1");
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: a NUL-terminated path; the library is OxMPI's own, and its initialisers may run at
    // any time.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
    if library.is_null() {
        return Err(format!("the library cannot be loaded: {}", linker_error()));
    }
    let find = |name: &CStr| {
        // SAFETY: the library is loaded and never unloaded; the name is NUL-terminated.
        let found = unsafe { libc::dlsym(library, name.as_ptr()) };
        if found.is_null() { Err(format!("the library has no {}", name.to_string_lossy())) } else { Ok(found) }
    };
    type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int;
    type OfComm = unsafe extern "C" fn(*mut c_void) -> c_int;
    type Finalize = unsafe extern "C" fn() -> c_int;
    let (init, barrier, finalize) = (find(c"MPI_Init")?, find(c"MPI_Barrier")?, find(c"MPI_Finalize")?);
    // SAFETY: these are the signatures that the standard's ABI gives the three functions.
    let (init, barrier, finalize) = unsafe {
        (
            std::mem::transmute::<*mut c_void, Init>(init),
            std::mem::transmute::<*mut c_void, OfComm>(barrier),
            std::mem::transmute::<*mut c_void, Finalize>(finalize),
        )
    };
    let world = std::ptr::without_provenance_mut(MPI_COMM_WORLD.0);
    // SAFETY: called once each, in the order that the standard asks for, by the only thread.
    // MPI_Init takes null pointers.
    let codes = unsafe { [init(std::ptr::null_mut(), std::ptr::null_mut()), barrier(world), finalize()] };
    match codes {
        [0, 0, 0] => Ok(()),
        codes => Err(format!("MPI_Init, MPI_Barrier and MPI_Finalize returned {codes:?}")),
    }
}

fn linker_error() -> String {
    // SAFETY: the text is valid until the next call of the dynamic linker by this thread.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { "no reason is given".into() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}
