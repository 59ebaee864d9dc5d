//! `oxmpi`: what this installation is (`info`), whether this machine lets it work well (`doctor`), and the modules for a
//! Fortran compiler (`fortran`), which alone changes anything. Only
//! `doctor` starts a job, of two ranks, to see whether jobs run.

mod doctor;
mod fortran;
mod info;
mod man;
mod peers;
mod trial;

use std::io::{self, Write};

const HELP: &str = "\
oxmpi tells about OxMPI, an implementation of the Message Passing Interface (MPI).

Usage: oxmpi info             version, place, and how much of MPI is built, by chapter of the standard
       oxmpi info --missing   the functions that are not built yet, one a line
       oxmpi doctor           look at this machine and say in plain words what it means for MPI programs
       oxmpi man MPI_Send     the manual page of a function, in C and Fortran, or of a command (oxmpi man mpirun)
       oxmpi fortran          make the modules mpi and mpi_f08 for your Fortran compiler
       oxmpi fortran --fc COMPILER   the same for another one
       oxmpi --version
       oxmpi --help

To compile a program, use mpicc, mpicxx or mpifort; to run it, mpirun.
";

fn main() {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (text, status) = match words[..] {
        ["info"] => (info::text(), 0),
        ["info", "--missing"] => (info::missing(), 0),
        ["doctor"] => doctor::examine(),
        ["man", name] if !name.starts_with('-') => man::page(name),
        ["fortran"] => fortran::build(None),
        ["fortran", "--fc", compiler] => fortran::build(Some(compiler)),
        ["--version" | "-V" | "version"] => (format!("oxmpi (OxMPI) {}\n", env!("CARGO_PKG_VERSION")), 0),
        ["--help" | "-h" | "help"] | ["info" | "doctor" | "fortran" | "man", "--help" | "-h"] => (HELP.into(), 0),
        // Not for people: what `doctor` starts to try things out between processes.
        [peers::HOST] => peers::host(),
        [trial::RANK] => trial::rank(),
        [peers::VISITOR, pid, address] => peers::visitor(pid, address),
        [] => {
            eprint!("{HELP}");
            std::process::exit(2);
        }
        [first, ..] => {
            let what = match words.last() {
                Some(last) if matches!(first, "info" | "doctor" | "fortran" | "man") => {
                    format!("`oxmpi {first}` does not take `{last}`")
                }
                _ => format!("there is no command `{first}`; the commands are info, doctor, man and fortran"),
            };
            eprintln!("oxmpi: {what} (oxmpi --help tells more)");
            std::process::exit(2);
        }
    };
    // Somebody may have closed our output already; that is no reason to panic.
    let written = io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush());
    std::process::exit(if written.is_ok() { status } else { 1 });
}
