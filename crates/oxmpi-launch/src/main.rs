//! `mpirun`, also called `mpiexec`: starts the ranks of a job on this machine, forwards their input
//! and output, and ends all of them when one fails.
//!
//! ```text
//! options -> start (program, environ, place, spawn) -> job: one loop over output, input,
//!                                                         signals, ended processes
//! ```
//!
//! It must leave nothing behind, however it ends: no process, no file, no segment. `job.rs` is the
//! centre of it; `docs/src/users/mpirun.md` describes it for users.

mod agent;
mod allocation;
mod back;
mod branch;
mod check;
mod check_options;
mod deadlock;
mod deadlock_mode;
mod deaths;
mod debug;
mod debug_options;
mod diagnose;
mod environ;
mod findings;
mod forward;
mod hosts;
mod input;
mod job;
mod job_names;
mod launcher;
mod mailbox;
mod meeting;
mod mpir;
mod node_helper;
mod node_port;
mod nodes;
mod options;
mod order;
mod output;
mod pbs;
mod place;
mod probe;
mod profile;
mod profile_options;
mod program;
mod reach;
mod record;
mod report;
mod root;
mod share;
mod sink;
mod slurm;
mod spawn;
mod spawned;
mod srun;
mod stage;
mod start;
mod step;
mod strays;
mod sys;
mod tools;
mod topology;
mod tuning;
mod watch;
mod wires;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use debug::Next;
use options::{Command, Mistake, Request};
use profile::Recording;
use reach::Listening;
use spawned::Spawned;

/// The environment variable with the interface for ranks that another launcher starts; ours has an option.
const NET_INTERFACE: &str = "OXMPI_NET_INTERFACE";

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
    // A range that is none is told where a job is started; a helper has nobody to tell it to.
    let port_range = || options::port_range_from_env().unwrap_or_default();
    if node_port::is_meant(&arguments) {
        std::process::exit(node_port::help(&arguments, &Listening { port_range: port_range(), interface: None }));
    }
    if node_helper::is_meant(&arguments) {
        let interface = std::env::var(NET_INTERFACE).ok().filter(|name| !name.is_empty());
        std::process::exit(node_helper::help(&arguments, Listening { port_range: port_range(), interface }));
    }
    if arguments.first().is_some_and(|first| first == launcher::OPTION) {
        std::process::exit(agent::run(agent::Start::OverStream));
    }
    if arguments.first().is_some_and(|first| first == srun::OPTION) {
        std::process::exit(agent::run(agent::Start::InStep));
    }
    if arguments.first().is_some_and(|first| first == pbs::OPTION) {
        std::process::exit(agent::run(agent::Start::OfJob));
    }
    if arguments.first().is_some_and(|first| first == debug_options::RANK) {
        std::process::exit(debug::rank::run(&arguments));
    }
    if arguments.first().is_some_and(|first| first == debug_options::VIEW) {
        std::process::exit(debug::view::run(&arguments));
    }
    if arguments.first().is_some_and(|first| first == debug_options::RELAY) {
        std::process::exit(debug::far::relay(&arguments));
    }
    // Treated as the first option, so that an option on the command line overrides it.
    let limit = std::env::var_os("MPIEXEC_TIMEOUT").filter(|limit| !limit.is_empty());
    let limit = limit.into_iter().flat_map(|limit| [OsString::from("--MPIEXEC_TIMEOUT"), limit]);
    let status = match options::parse_in(&called, limit.chain(arguments), &allocation::from_env) {
        Ok(Command::Run(request)) => {
            reach_allocation(&request);
            run(*request)
        }
        Ok(Command::Help(text)) => print(&text),
        Ok(Command::Version) => print(&format!("{called} (OxMPI) {}\n", env!("CARGO_PKG_VERSION"))),
        Err(Mistake(text)) => {
            eprintln!("{called}: {text}");
            2
        }
    };
    std::process::exit(status);
}

/// Runs a job, or only looks at its hosts.
fn run(mut request: Request) -> i32 {
    if let Some(cluster) = &request.settings.cluster
        && request.settings.check_hosts
    {
        return check::run(&request, cluster);
    }
    if let Err(text) = tuning::prepare(&mut request.settings) {
        eprintln!("mpirun: {text}");
        return 2;
    }
    match debug::prepare(&mut request) {
        Ok(Next::Run) => {}
        Ok(Next::HasRun(status)) => return status,
        Err(refusal) => {
            eprintln!("mpirun: {}", refusal.text);
            return refusal.status;
        }
    }
    let recording = match Recording::begin(&mut request.settings) {
        Ok(recording) => recording,
        Err(text) => {
            eprintln!("mpirun: {text}");
            return 2;
        }
    };
    let status = match &request.settings.cluster {
        None => job::run(&request, None),
        Some(cluster) => root::run(&request, cluster, None),
    };
    let is_good = recording.is_none_or(Recording::conclude);
    if status == 0 && !is_good { 1 } else { status }
}

/// Says which hosts a batch system has given, and waits for those that may not be there yet.
fn reach_allocation(request: &Request) {
    let Some(found) = &request.settings.allocation else { return };
    if request.settings.verbose {
        eprintln!("mpirun: the hosts are those of {}", allocation::describe(found));
    }
    if let (true, Some(cluster)) = (found.must_wait, &request.settings.cluster)
        && let Ok(order) = launcher::plan(cluster)
    {
        allocation::wait_for(&cluster.hosts, &order.command);
    }
}

/// Runs as the `mpirun` of a spawned job (`MPI_Comm_spawn`). A failure that the root hears of does
/// not set the exit status.
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
            match &request.settings.cluster {
                Some(cluster) => root::run(&request, cluster, Some(spawned)),
                None => job::run(&request, Some(spawned)),
            }
        }
        Ok(_) => spawned.refuse("there is no program to start"),
        Err(Mistake(text)) => spawned.refuse(&text),
    }
}

/// Prints without panicking when the reader has closed stdout.
fn print(text: &str) -> i32 {
    i32::from(io::stdout().write_all(text.as_bytes()).is_err())
}
