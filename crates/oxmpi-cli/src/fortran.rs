//! `oxmpi fortran`: makes the modules `mpi` and `mpi_f08` for a Fortran compiler. Every compiler has its own format of
//! module files; the sources are part of the installation, and the library is the same for all.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::info::prefix;

/// Flags that old programs need, each tried with the compiler: they pass variables of several types to one procedure.
const WANTED: &[&str] = &["-fallow-argument-mismatch"];

/// What to print, and the exit status.
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
    let prefix = prefix().ok_or("the place of the installation is unknown (is /proc mounted?)")?;
    let choice = compiler.map(|name| format!("-fc={name}"));
    let command = ask(&prefix, choice.as_deref(), "--showme:command")?;
    let folder = PathBuf::from(ask(&prefix, choice.as_deref(), "--showme:modules")?.replace('"', ""));
    let words: Vec<&str> = command.split_whitespace().collect();
    let [program, rest @ ..] = &words[..] else { return Err("the compiler has no name".to_owned()) };
    let compile = |source: &Path, flag: &str, at: &Path| -> Result<(), String> {
        let mut compiler = Command::new(program);
        compiler.current_dir(at).args(rest).args(Some(flag).filter(|f| !f.is_empty()));
        compiler.args([OsStr::new("-c"), source.as_os_str(), OsStr::new("-o"), OsStr::new("object.o")]);
        let output = compiler.output().map_err(|error| {
            format!("cannot run {program} ({error}); install a Fortran compiler (on Debian: apt-get install gfortran)")
        })?;
        match output.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    };
    let work = folder.with_file_name(format!(".new-{}", std::process::id()));
    fs::create_dir_all(&work).map_err(|error| format!("cannot write {}: {error}", work.display()))?;
    let built = build_in(&work, &prefix, program, compile);
    let placed = built.and_then(|text| {
        let _ = fs::remove_dir_all(&folder);
        let moved = fs::rename(&work, &folder);
        moved.map_err(|error| format!("cannot write {}: {error}", folder.display()))?;
        Ok(format!("{text} in {}\n", folder.display()))
    });
    let _ = fs::remove_dir_all(&work);
    placed
}

/// Compiles the modules and tries the flags. A compiler without descriptors of arrays still gets the module `mpi`.
fn build_in(
    work: &Path,
    prefix: &Path,
    program: &str,
    compile: impl Fn(&Path, &str, &Path) -> Result<(), String>,
) -> Result<String, String> {
    let source = |name: &str| prefix.join("share/oxmpi/fortran").join(name);
    compile(&source("mpi.f90"), "", work)
        .map_err(|text| format!("{program} cannot compile the module mpi:\n{text}"))?;
    let newer = compile(&source("mpi_f08.f90"), "", work).or_else(|text| {
        let other = work.join("other.f90");
        let written =
            fs::read_to_string(source("mpi_f08.f90")).and_then(|text| fs::write(&other, without_texts(&text)));
        written.map_err(|error| format!("cannot write {}: {error}", other.display()))?;
        compile(&other, "", work).map_err(|_| text)
    });
    let trial = work.join("trial.f");
    let written = fs::write(&trial, "      program trial\n      end\n");
    written.map_err(|error| format!("cannot write {}: {error}", trial.display()))?;
    let flags: Vec<&str> = WANTED.iter().copied().filter(|flag| compile(&trial, flag, work).is_ok()).collect();
    let written = fs::write(work.join("flags"), flags.join(" "));
    written.map_err(|error| format!("cannot write the flags: {error}"))?;
    for name in ["trial.f", "other.f90", "object.o"] {
        let _ = fs::remove_file(work.join(name));
    }
    match newer {
        Ok(()) => Ok(format!("The modules mpi and mpi_f08 for {program} are")),
        Err(text) => {
            eprintln!("oxmpi fortran: {program} cannot compile the module mpi_f08:\n{text}");
            Ok(format!("The module mpi, without mpi_f08, for {program} is"))
        }
    }
}

/// gfortran before version 12 takes no text in a procedure that takes descriptors, but anything at all by descriptor, which is
/// what the library gets in either case.
fn without_texts(source: &str) -> String {
    let lines = source.lines().map(|line| match line.strip_suffix(" ! by descriptor") {
        Some(declaration) => declaration.replace("character(len=*)", "type(*), dimension(..)"),
        None => line.to_owned(),
    });
    lines.map(|line| line + "\n").collect()
}

/// What the wrapper answers: it knows which compiler is meant and where its modules belong.
fn ask(prefix: &Path, choice: Option<&str>, question: &str) -> Result<String, String> {
    let wrapper = prefix.join("bin/mpifort");
    let output = Command::new(&wrapper).args(choice).arg(question).output();
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
