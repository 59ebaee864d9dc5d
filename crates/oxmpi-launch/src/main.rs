//! `mpirun`, also called `mpiexec`: starts the ranks of a job on this machine, carries their input and output, and sees to
//! it that all of them end when one fails.
//!
//! ```text
//! options -> start (program, environ, place, spawn) -> job: one loop over output, input, signals, deaths
//! ```
//!
//! It must leave nothing behind: no process, no file, no segment, however it ends itself.

mod elf;
mod environ;
mod hosts;
mod input;
mod job;
mod mailbox;
mod options;
mod output;
mod place;
mod program;
mod record;
mod report;
mod sink;
mod spawn;
mod spawned;
mod start;
mod strays;
mod sys;
mod topology;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use options::{Command, Mistake};
use spawned::Spawned;

fn main() {
    sys::survive_file_size_limit();
    let mut arguments = std::env::args_os();
    let called = arguments
        .next()
        .and_then(|path| Some(Path::new(&path).file_name()?.to_string_lossy().into_owned()))
        .unwrap_or_else(|| "mpirun".into());
    let arguments: Vec<OsString> = arguments.collect();
    if Spawned::is_meant(&arguments) {
        std::process::exit(spawn(arguments));
    }
    // As if it were the first option: one on the command line counts more.
    let limit = std::env::var_os("MPIEXEC_TIMEOUT").filter(|limit| !limit.is_empty());
    let limit = limit.into_iter().flat_map(|limit| [OsString::from("--timeout"), limit]);
    let status = match options::parse(&called, limit.chain(arguments)) {
        Ok(Command::Run(request)) => job::run(&request, None),
        Ok(Command::Help(text)) => print(&text),
        Ok(Command::Version) => print(&format!("{called} (OxMPI) {}\n", env!("CARGO_PKG_VERSION"))),
        Err(Mistake(text)) => {
            eprintln!("{called}: {text}");
            2
        }
    };
    std::process::exit(status);
}

/// As an `mpirun` that a process started in `MPI_Comm_spawn`. What its root hears of is no failure of ours.
fn spawn(arguments: Vec<OsString>) -> i32 {
    let (mut spawned, arguments) = match Spawned::begin(arguments) {
        Ok(begun) => begun,
        Err(error) => {
            eprintln!("mpirun: {error}");
            return 2;
        }
    };
    match options::parse("mpirun", arguments) {
        Ok(Command::Run(mut request)) => {
            Spawned::unquote(&mut request);
            job::run(&request, Some(spawned))
        }
        Ok(_) => spawned.refuse("there is no program to start"),
        Err(Mistake(text)) => spawned.refuse(&text),
    }
}

/// Somebody may have closed our output already; that is no reason to panic.
fn print(text: &str) -> i32 {
    i32::from(io::stdout().write_all(text.as_bytes()).is_err())
}
