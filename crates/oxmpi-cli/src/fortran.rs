//! `oxmpi fortran`: makes the modules `mpi` and `mpi_f08` for a Fortran compiler. Each compiler has
//! its own format of module files. Their sources are part of the installation; the library is the
//! same for all compilers. Programs whose INTEGERs have eight bytes have modules and
//! a library of their own.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::info::prefix;

/// Flags for old programs, which pass variables of several types to one procedure. A flag is used
/// if the compiler accepts it.
const WANTED: &[&str] = &["-fallow-argument-mismatch"];

/// The text to print, and the exit status.
pub fn build(compiler: Option<&str>) -> (String, i32) {
    match make(compiler) {
        Ok(text) => (text, 0),
        Err(text) => {
            eprintln!("oxmpi fortran: {text}");
            (String::new(), 1)
        }
    }
}

fn make(compiler: Option<&str>) -> Result<String, String> {
    let prefix = prefix().ok_or("the folder of the installation is unknown (is /proc mounted?)")?;
    let choice = compiler.map(|name| format!("-fc={name}"));
    let command = ask(&prefix, choice.as_deref(), &[], "--showme:command")?;
    let words: Vec<&str> = command.split_whitespace().collect();
    let [program, rest @ ..] = &words[..] else { return Err("the compiler has no name".to_owned()) };
    let compiler = Compiler { program, rest, integers: &[] };
    let text = place(&prefix, choice.as_deref(), &compiler)?;
    let long = EIGHT_BYTES.iter().map(|integers| Compiler { integers, ..compiler });
    let Some(long) = long.into_iter().find(|long| knows_long_integers(&prefix, long)) else {
        return Ok(format!("{text}No option of {program} is known that gives INTEGERs of 8 bytes.\n"));
    };
    match place(&prefix, choice.as_deref(), &long) {
        Ok(more) => Ok(text + &more),
        Err(error) => Ok(format!("{text}Programs with INTEGERs of 8 bytes cannot have the modules: {error}\n")),
    }
}

/// The options of compilers that make INTEGER and LOGICAL eight bytes long; the wrapper knows them too.
const EIGHT_BYTES: &[&[&str]] = &[&["-fdefault-integer-8"], &["-i8"], &["-s", "integer64"]];

/// Both kinds are 0, which there is not, unless they are 8.
const LONG_INTEGERS: &str = "program trial
  integer(kind=2*kind(0)-8) :: i
  logical(kind=2*kind(.true.)-8) :: l
  i = 0
  l = i == 0
end program trial
";

fn knows_long_integers(prefix: &Path, compiler: &Compiler) -> bool {
    let work = prefix.join("include/oxmpi").join(format!(".new-{}", std::process::id()));
    let written = fs::create_dir_all(&work).and_then(|()| fs::write(work.join("trial.f90"), LONG_INTEGERS));
    let knows = written.is_ok() && compiler.compile(&work.join("trial.f90"), "", &work).is_ok();
    let _ = fs::remove_dir_all(&work);
    knows
}

/// Makes the modules and puts them where the wrapper looks for them.
fn place(prefix: &Path, choice: Option<&str>, compiler: &Compiler) -> Result<String, String> {
    let folder = PathBuf::from(ask(prefix, choice, compiler.integers, "--showme:modules")?.replace('"', ""));
    let work = folder.with_file_name(format!(".new-{}", std::process::id()));
    fs::create_dir_all(&work).map_err(|error| format!("cannot write {}: {error}", work.display()))?;
    let built = build_in(&work, prefix, compiler);
    let placed = built.and_then(|text| {
        let _ = fs::remove_dir_all(&folder);
        let moved = fs::rename(&work, &folder);
        moved.map_err(|error| format!("cannot write {}: {error}", folder.display()))?;
        Ok(format!("{text} in {}\n", folder.display()))
    });
    let _ = fs::remove_dir_all(&work);
    placed
}

/// A compiler, the arguments that are part of its name, and the option for INTEGERs of eight bytes
/// where they are wanted.
#[derive(Clone, Copy)]
struct Compiler<'a> {
    program: &'a str,
    rest: &'a [&'a str],
    integers: &'a [&'a str],
}

impl Compiler<'_> {
    /// Compiles a file in the folder `at`.
    fn compile(&self, source: &Path, flag: &str, at: &Path) -> Result<(), String> {
        let mut command = self.command(at);
        command.args(Some(flag).filter(|f| !f.is_empty()));
        command.args([OsStr::new("-c"), source.as_os_str(), OsStr::new("-o"), OsStr::new("object.o")]);
        let output = command.output().map_err(|error| {
            let program = self.program;
            format!("cannot run {program} ({error}); install a Fortran compiler (on Debian: apt-get install gfortran)")
        })?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    fn command(&self, at: &Path) -> Command {
        let mut command = Command::new(self.program);
        command.current_dir(at).args(self.rest).args(self.integers);
        command
    }

    /// The folder of the sources, the library, and a word for messages.
    fn kind(&self) -> (&'static str, &'static str, &'static str) {
        match self.integers {
            [] => ("share/oxmpi/fortran", "-lmpifort_abi", ""),
            _ => ("share/oxmpi/fortran/i8", "-lmpifort_abi_i8", " with INTEGERs of 8 bytes"),
        }
    }
}

/// Compiles the modules and tries the flags. A compiler without the array descriptors of Fortran
/// 2018 gets only the module `mpi`.
fn build_in(work: &Path, prefix: &Path, compiler: &Compiler) -> Result<String, String> {
    let (sources, _, kind) = compiler.kind();
    let program = format!("{}{kind}", compiler.program);
    let source = |name: &str| prefix.join(sources).join(name);
    compiler
        .compile(&source("mpi.f90"), "", work)
        .map_err(|text| format!("{program} cannot compile the module mpi:\n{text}"))?;
    let newer = compiler.compile(&source("mpi_f08.f90"), "", work);
    let newer = newer.or_else(|text| {
        let other = work.join("other.f90");
        let written =
            fs::read_to_string(source("mpi_f08.f90")).and_then(|text| fs::write(&other, without_texts(&text)));
        written.map_err(|error| format!("cannot write {}: {error}", other.display()))?;
        compiler.compile(&other, "", work).map_err(|_| text)
    });
    let newer = newer.and_then(|()| try_descriptors(work, prefix, compiler));
    if newer.is_err() {
        let _ = fs::remove_file(work.join("mpi_f08.mod"));
    }
    let trial = work.join("trial.f");
    let written = fs::write(&trial, "      program trial\n      end\n");
    written.map_err(|error| format!("cannot write {}: {error}", trial.display()))?;
    let flags: Vec<&str> = WANTED.iter().copied().filter(|flag| compiler.compile(&trial, flag, work).is_ok()).collect();
    let written = fs::write(work.join("flags"), flags.join(" "));
    written.map_err(|error| format!("cannot write the flags: {error}"))?;
    for name in ["trial", "trial.f", "trial.f90", "other.f90", "object.o"] {
        let _ = fs::remove_file(work.join(name));
    }
    match newer {
        Ok(()) => Ok(format!("The modules mpi and mpi_f08 for {program} are")),
        Err(text) => {
            eprintln!("oxmpi fortran: {program} cannot compile or use the module mpi_f08:\n{text}");
            Ok(format!("The module mpi, without mpi_f08, for {program} is"))
        }
    }
}

/// A program that asks the library for the size of a variable; the library reads it from the
/// descriptor.
const DESCRIPTOR: &str = "program trial
  use mpi_f08
  integer :: size
  character(len=3) :: x(9)
  call MPI_Sizeof(x(1:9:2), size)
  if (size /= 3) error stop 1
end program trial
";

/// Checks that the compiler passes arrays by the descriptors of the Fortran standard. If the test
/// program cannot be run here (cross-compilation), the check passes.
fn try_descriptors(work: &Path, prefix: &Path, compiler: &Compiler) -> Result<(), String> {
    let source = work.join("trial.f90");
    fs::write(&source, DESCRIPTOR).map_err(|error| format!("cannot write {}: {error}", source.display()))?;
    let lib = prefix.join("lib");
    let mut command = compiler.command(work);
    command.arg("trial.f90").arg("-L").arg(&lib).args([compiler.kind().1, "-lmpi_abi", "-o", "trial"]);
    let is_linked = command.output().is_ok_and(|output| output.status.success());
    let run = Command::new(work.join("trial")).env("LD_LIBRARY_PATH", &lib).output();
    match run {
        Ok(output) if is_linked && !output.status.success() => {
            Err("it does not pass arrays by the descriptors of Fortran 2018 (gfortran does from version 9 on)"
                .to_owned())
        }
        _ => Ok(()),
    }
}

/// Rewrites the module for gfortran before version 12, which accepts no CHARACTER arguments in
/// procedures that take descriptors. It accepts `type(*)`, and the library gets a descriptor either
/// way.
fn without_texts(source: &str) -> String {
    let lines = source.lines().map(|line| match line.strip_suffix(" ! by descriptor") {
        Some(declaration) => declaration.replace("character(len=*)", "type(*), dimension(..)"),
        None => line.to_owned(),
    });
    lines.map(|line| line + "\n").collect()
}

/// Asks the wrapper, which knows the compiler and the folder of its modules.
fn ask(prefix: &Path, choice: Option<&str>, options: &[&str], question: &str) -> Result<String, String> {
    let wrapper = prefix.join("bin/mpifort");
    let output = Command::new(&wrapper).args(choice).args(options).arg(question).output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", wrapper.display()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_compilers_get_no_texts_beside_descriptors() {
        let source = include_str!("../../../fortran/generated/mpi_f08.f90");
        let other = without_texts(source);
        let texts = |text: &str| {
            let procedures: Vec<&str> = text.split("    subroutine ").filter(|p| p.contains("bind(C")).collect();
            procedures.iter().filter(|p| p.contains("character(")).count()
        };
        assert!(texts(source) > 0 && texts(&other) == 0);
        assert_eq!(source.lines().count(), other.lines().count());
    }
}
