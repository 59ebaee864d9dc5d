//! The project's own commands: `cargo xtask <command>`. Each is a module with a function from
//! arguments to a result; this file only selects it.

mod abi;
mod api;
mod codegen;
mod coverage;
mod crash_points;
mod ctype;
mod docs;
mod docs_text;
mod forms;
mod fuzz;
mod gen_abi;
mod gen_abi_test;
mod gen_capi;
mod gen_cxx;
mod gen_foreign;
mod gen_foreign_header;
mod gen_fortran;
mod gen_fortran_foreign;
mod gen_fortran_rust;
mod gen_fortran_test;
mod gen_fortran_text;
mod gen_header;
mod generated_file;
mod golden;
mod hot;
mod install;
mod man;
mod ratchets;
mod shared_atomics;
mod soak;
mod suite;
mod tidy;
mod typed;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The result of a command: an error is a text for the user.
pub type Outcome = Result<(), String>;

/// A command: name, purpose, function.
pub type Command = (&'static str, &'static str, fn(&[String]) -> Outcome);

pub const COMMANDS: &[Command] = &[
    ("codegen", "write the files that follow from api/; with --check, fail when one is stale", codegen::run),
    ("body", "print the signature of the body of an entry point: MPI_X", gen_capi::print_body),
    ("tidy", "dependency direction, fresh generated files, length of files, ratchets: [--lower]", tidy::run),
    ("docs", "links, contents and named commands of the Markdown files; builds the book where mdbook is", docs::run),
    ("abi", "check mpi.h from C and C++, and the symbols of a library: [path of libmpi_abi.so]", abi::run),
    ("hot", "count the instructions of the entry points that programs call most; see --help", hot::run),
    ("install", "build and lay out an installation: --prefix P [--profile release]", install::run),
    ("test-programs", "compile and run tests/programs with an installation; see --help", suite::run),
    ("fortran-coverage", "which procedures the Fortran programs call, form by form: [--list]", coverage::run),
    ("fuzz-handles", "call every function with bad handles; each answers with an error; see --help", fuzz::run),
    ("golden", "compare what every function answers to bad arguments with a list; see --help", golden::run),
    (
        "crash-points",
        "kill a rank before and after each change of shared memory; the others go on; see --help",
        crash_points::run,
    ),
    ("soak", "kill ranks and mpirun at random moments; nothing may hang or be left behind; see --help", soak::run),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(name) = args.first() else {
        eprint!("{}", usage());
        return ExitCode::from(2);
    };
    let Some((_, _, command)) = COMMANDS.iter().find(|c| c.0 == name) else {
        eprint!("xtask: there is no command '{name}'\n{}", usage());
        return ExitCode::from(2);
    };
    match command(&args[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("xtask {name}: {text}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let mut text = String::from("usage: cargo xtask <command>\n");
    for (name, what, _) in COMMANDS {
        text.push_str(&format!("  {name:16} {what}\n"));
    }
    text
}

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository").to_path_buf()
}

/// The text of a file, or an error that names it.
pub fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}
