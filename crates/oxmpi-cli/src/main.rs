//! The command `oxmpi`: describes this installation (`info`), checks the machine (`doctor`), says how
//! a program will run (`explain`), lists jobs (`ps`) and says where their ranks are (`where`), attaches gdb to one (`gdb`), measures the machine (`tune`), shows manual pages (`man`), makes the Fortran modules for a compiler
//! (`fortran`), and serves published names to jobs on several machines (`nameserver`).
//!
//! Only `fortran` and `tune --site` change the installation. `doctor` starts a job of two ranks, to see
//! whether jobs run, or `mpirun --check-hosts`; `tune` starts jobs that measure.

mod doctor;
mod explain;
mod fabrics;
mod fortran;
mod gdb;
mod info;
mod jobs;
mod library;
mod man;
mod nameserver;
mod peers;
mod stacks;
mod trial;
mod tune;

use oxmpi_check::catalogue;
use std::io::{self, Write};

const HELP: &str = "\
oxmpi shows information about OxMPI, an implementation of the Message Passing Interface (MPI).

Usage: oxmpi info                    show the version, the folder and the functions by chapter of the standard
       oxmpi info --missing          list the functions that are not implemented
       oxmpi doctor                  check whether this machine runs MPI programs well, and say what to change
       oxmpi doctor --host a,b       check the same hosts as mpirun --check-hosts, with its options
       oxmpi explain PROGRAM         say which MPI a program was built for, and how it will run under mpirun
       oxmpi explain OX-NAME         explain a finding of mpirun --check, with a wrong and a right program
       oxmpi ps                      list the jobs of mpirun on this machine
       oxmpi where PID               say where the ranks of a job are: the process of its mpirun, or of a rank
       oxmpi where --stacks PID      also say which functions they are in (with gdb, which stops each for a moment)
       oxmpi gdb PID RANK            attach gdb to a rank of a job: the process of its mpirun, or of a rank, and the rank
       oxmpi tune                    measure which lengths of messages go which way on this machine, for you, in a minute
       oxmpi tune --site             the same, for all users of this installation
       oxmpi tune --show             show what was measured
       oxmpi man NAME                show the manual page of a function or command: oxmpi man MPI_Send
       oxmpi fortran                 make the modules mpi and mpi_f08 for your Fortran compiler
       oxmpi fortran --fc COMPILER   make the modules for another Fortran compiler
       oxmpi nameserver [--listen ADDRESS:PORT] [--key-file FILE]
                                     serve MPI_Publish_name and MPI_Lookup_name of jobs on several machines
       oxmpi --version               show the version
       oxmpi --help                  show this text

Exit status: 0 for success; 1 if the command failed, or if doctor found that MPI programs would fail;
2 if the command line is wrong.

To compile a program, use mpicc, mpicxx or mpifort. To run it, use mpirun.
";

/// The explanation of a finding, or the names of all.
fn finding(name: &str) -> (String, i32) {
    match catalogue::find(name) {
        Some(entry) => (entry.explain(), 0),
        None => {
            let names: String = catalogue::ALL.iter().map(|entry| format!("  {}\n", entry.name)).collect();
            (format!("oxmpi explain: there is no finding {name}; the findings are\n{names}"), 1)
        }
    }
}

fn main() {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (text, status) = match words[..] {
        ["info"] => (info::text(), 0),
        ["info", "--missing"] => (info::missing(), 0),
        ["doctor"] => doctor::examine(),
        ["doctor", option, ..] if option.starts_with('-') && !matches!(option, "--help" | "-h") => {
            doctor::examine_hosts(&arguments[1..])
        }
        ["explain", name] if name.to_ascii_uppercase().starts_with("OX-") => finding(name),
        ["explain", program] if !program.starts_with('-') => explain::program(program),
        ["ps"] => jobs::list(),
        ["where", pid] if !pid.starts_with('-') => jobs::whereabouts(pid, false),
        ["where", "--stacks", pid] | ["where", pid, "--stacks"] => jobs::whereabouts(pid, true),
        ["gdb", job, rank] if !job.starts_with('-') => gdb::attach(job, rank),
        ["man", name] if !name.starts_with('-') => man::page(name),
        ["fortran"] => fortran::build(None),
        ["fortran", "--fc", compiler] => fortran::build(Some(compiler)),
        ["tune"] => tune::measure(false),
        ["tune", "--site"] => tune::measure(true),
        ["tune", "--show"] => tune::show(),
        ["nameserver", ref options @ ..] if !matches!(options, ["--help" | "-h"]) => nameserver::serve(options),
        ["--version" | "-V" | "version"] => (format!("oxmpi (OxMPI) {}\n", env!("CARGO_PKG_VERSION")), 0),
        ["--help" | "-h" | "help"]
        | [
            "info" | "doctor" | "explain" | "fortran" | "gdb" | "man" | "nameserver" | "ps" | "tune" | "where",
            "--help" | "-h",
        ] => (HELP.into(), 0),
        // Internal: the processes that `doctor` starts for its tests.
        [peers::HOST] => peers::host(),
        [trial::RANK] => trial::rank(),
        [tune::RANK] => tune::rank(),
        [fabrics::LIST] => fabrics::list(),
        [peers::VISITOR, pid, address] => peers::visitor(pid, address),
        [] => {
            eprint!("{HELP}");
            std::process::exit(2);
        }
        [first, ..] => {
            let what = match words.last() {
                Some(last)
                    if matches!(
                        first,
                        "info" | "doctor" | "explain" | "fortran" | "gdb" | "man" | "ps" | "tune" | "where"
                    ) =>
                {
                    format!("`oxmpi {first}` does not take `{last}`")
                }
                _ => {
                    format!(
                        "there is no command `{first}`; the commands are info, doctor, explain, ps, where, gdb, tune, man, fortran and nameserver"
                    )
                }
            };
            eprintln!("oxmpi: {what} (see oxmpi --help)");
            std::process::exit(2);
        }
    };
    // Do not panic when the reader has closed stdout.
    let written = io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush());
    std::process::exit(if written.is_ok() { status } else { 1 });
}
