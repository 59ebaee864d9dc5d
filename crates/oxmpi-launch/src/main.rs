//! `mpirun`, also called `mpiexec`: starts the ranks of a job on this machine, carries their input and output, and sees to
//! it that all of them end when one fails.
//!
//! ```text
//! options -> start (program, environ, place, spawn) -> job: one loop over output, input, signals, deaths
//! ```
//!
//! It must leave nothing behind: no process, no file, no segment, however it ends itself.

mod environ;
mod hosts;
mod input;
mod job;
mod options;
mod output;
mod place;
mod program;
mod report;
mod sink;
mod spawn;
mod start;
mod strays;
mod sys;
mod topology;

use std::io::{self, Write};
use std::path::Path;

use options::{Command, Mistake};

fn main() {
    let mut arguments = std::env::args_os();
    let called = arguments
        .next()
        .and_then(|path| Some(Path::new(&path).file_name()?.to_string_lossy().into_owned()))
        .unwrap_or_else(|| "mpirun".into());
    let status = match options::parse(&called, arguments) {
        Ok(Command::Run(request)) => job::run(&request),
        Ok(Command::Help(text)) => print(&text),
        Ok(Command::Version) => print(&format!("{called} (OxMPI) {}\n", env!("CARGO_PKG_VERSION"))),
        Err(Mistake(text)) => {
            eprintln!("{called}: {text}");
            2
        }
    };
    std::process::exit(status);
}

/// Somebody may have closed our output already; that is no reason to panic.
fn print(text: &str) -> i32 {
    i32::from(io::stdout().write_all(text.as_bytes()).is_err())
}
