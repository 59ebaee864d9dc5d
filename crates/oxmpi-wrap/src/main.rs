//! `mpicc`, `mpicxx` and `mpifort`: the compiler, plus the flags that an MPI program needs.
//!
//! One program under several names; the name it is called by chooses the language. It finds the
//! installation from its own path, so a prefix can be moved or copied anywhere. It adds its flags
//! and becomes the compiler with `exec`: exit status, signals and output are the compiler's own.
//!
//! It must never change, drop or reorder what the user wrote, and never write anything but the
//! answer to a question (`-show`, `--showme:…`) on stdout: build systems parse it.
//!
//! Reading order: [`line`] understands the command line, [`install`] knows the flags, [`integers`]
//! looks for 8-byte INTEGERs, [`compiler`] chooses the compiler, [`show`] prints.
#![forbid(unsafe_code)]

mod compiler;
mod install;
mod integers;
mod language;
mod line;
mod show;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use install::Install;
use integers::Integers;
use language::Language;
use line::{Ask, Line};

/// What stopped the wrapper before the compiler could run, and the exit status a shell would give
/// it.
pub struct Failure {
    pub text: String,
    pub status: u8,
}

impl Failure {
    pub fn new(text: impl Into<String>) -> Self {
        Failure { text: text.into(), status: 1 }
    }
}

fn main() -> ExitCode {
    let mut argv = env::args_os();
    let called = argv.next().unwrap_or_else(|| OsString::from("mpicc"));
    let name = Path::new(&called).file_name().unwrap_or(OsStr::new("mpicc")).to_string_lossy().into_owned();
    match run(&name, argv.collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{name}: {}", failure.text);
            ExitCode::from(failure.status)
        }
    }
}

/// Answers a question about the flags, or becomes the compiler and does not return.
fn run(name: &str, args: Vec<OsString>) -> Result<(), Failure> {
    let language = Language::of_command(name);
    let line = Line::parse(language, args)?;
    if line.ask == Ask::Help {
        return print(&show::help(name, language));
    }
    let compiler = compiler::choose(language, line.compiler.as_deref())?;
    let integers = match language {
        Language::Fortran => Integers::of(&[&compiler[..], &line.rest].concat()),
        _ => Integers::Four,
    };
    let install = Install::of_this_program(integers)?;
    if let Ask::Show(what) = line.ask {
        return print(&show::answer(what, name, language, &compiler, &install, &line));
    }
    install.check()?;
    let (program, own_args) = compiler.split_first().ok_or_else(|| Failure::new("the compiler's name is empty"))?;
    let mut command = Command::new(program);
    command.args(own_args).args(install.dialect_flags(language, &compiler));
    command.args(install.compile_flags(language, &compiler)).args(&line.rest);
    if line.links() {
        command.args(install.link_flags(language));
    }
    if language == Language::Fortran && line.has_input && install.modules_for(&compiler).is_none() {
        let program = program.to_string_lossy();
        let kind = if integers == Integers::Eight { " with INTEGERs of 8 bytes" } else { "" };
        eprintln!(
            "{name}: the modules mpi and mpi_f08 are not there for {program}{kind} yet: run `oxmpi fortran --fc {program}`"
        );
    }
    let error = command.exec();
    Err(compiler::cannot_run(language, program, &error))
}

/// A closed pipe (`mpicc -show | head -0`) is the choice of the reader, not an error.
fn print(text: &str) -> Result<(), Failure> {
    match writeln!(io::stdout(), "{text}") {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}
