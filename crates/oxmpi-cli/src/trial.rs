//! Runs a complete MPI program: `oxmpi doctor` starts `mpirun -n 2 oxmpi __rank`, and each rank
//! loads the installed library and calls MPI_Init, MPI_Barrier and MPI_Finalize.

use std::ffi::{c_int, c_void};
use std::process::{Command, Stdio};

use oxmpi_abi::constants::MPI_COMM_WORLD;

use crate::info;
use crate::library::{Library, handle};

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
    let library = Library::load()?;
    type OfComm = unsafe extern "C" fn(*mut c_void) -> c_int;
    // SAFETY: this is the signature that the standard's ABI gives MPI_Barrier.
    let barrier = unsafe { library.function::<OfComm>(c"MPI_Barrier")? };
    library.init()?;
    // SAFETY: the library is initialised, and the handle is that of MPI_COMM_WORLD.
    let code = unsafe { barrier(handle(MPI_COMM_WORLD.0)) };
    match code {
        0 => library.finalize(),
        code => Err(format!("MPI_Barrier returned {code}")),
    }
}
