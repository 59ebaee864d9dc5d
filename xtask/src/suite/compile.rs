//! Compiles test programs with the wrappers of the installation under test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use super::header::Header;
use super::{Options, Program};

/// Strict, so that `mpi.h` must comply too.
const FLAGS: &[&str] = &["-g", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-pthread"];

/// Fortran warnings concern old style; that such programs compile without a flag is part of the
/// test.
const FORTRAN_FLAGS: &[&str] = &["-g", "-O1"];

pub struct Language {
    wrapper: &'static str,
    flags: &'static [&'static str],
    standard: Option<&'static str>,
}

/// `None`: not a test program.
pub fn language(source: &Path) -> Option<Language> {
    match source.extension()?.to_str()? {
        "c" => Some(Language { wrapper: "mpicc", flags: FLAGS, standard: Some("-std=gnu11") }),
        "cpp" => Some(Language { wrapper: "mpicxx", flags: FLAGS, standard: Some("-std=c++17") }),
        "f" => Some(Language { wrapper: "mpif77", flags: FORTRAN_FLAGS, standard: None }),
        "f90" | "F90" => Some(Language { wrapper: "mpifort", flags: FORTRAN_FLAGS, standard: None }),
        _ => None,
    }
}

/// The binary. It is compiled again only when the source, a header, the installation's `mpi.h` or
/// the command changed.
pub fn compile(options: &Options, program: &Program, header: &Header) -> Result<PathBuf, String> {
    let language = language(&program.source).ok_or("not a source file that a wrapper compiles")?;
    // sizes.c becomes sizes_c: programs in two languages may have the same name.
    let binary = options.build.join(program.name.replace('.', "_"));
    if options.no_build {
        let missing = || format!("it was not compiled: there is no {}", binary.display());
        return if binary.exists() { Ok(binary.clone()) } else { Err(missing()) };
    }
    let mut command = Command::new(options.prefix.join("bin").join(language.wrapper));
    command
        .args(language.standard)
        .args(language.flags)
        .arg(&program.source)
        .args(&header.cflags)
        .arg("-o")
        .arg(&binary);
    let description = format!("{command:?}");
    let record = options.build.join(format!("{}.command", program.name));
    if is_fresh(options, program, &binary) && fs::read_to_string(&record).is_ok_and(|old| old == description) {
        return Ok(binary);
    }
    // Fortran compilers write modules to the current folder, and other programs with modules of the
    // same names are compiled at the same time.
    let modules = options.build.join("modules").join(&program.name);
    for folder in binary.parent().into_iter().chain([modules.as_path()]) {
        fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    }
    command.current_dir(&modules);
    let _ = fs::remove_file(&record);
    let output = command.output().map_err(|error| format!("cannot run {description}: {error}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("does not compile ({})\n$ {description}\n{text}", output.status));
    }
    fs::write(&record, description).map_err(|error| format!("cannot write {}: {error}", record.display()))?;
    Ok(binary)
}

fn is_fresh(options: &Options, program: &Program, binary: &Path) -> bool {
    let Some(built) = modified(binary) else { return false };
    let mut inputs = vec![program.source.clone()];
    // The Fortran files do not exist without a Fortran compiler.
    let installed = ["mpi.h", "mpif.h", "oxmpi/gfortran/mpi_f08.mod", "oxmpi/gfortran-i8/mpi_f08.mod"]
        .map(|name| options.prefix.join("include").join(name));
    inputs.extend(installed.into_iter().filter(|path| path.exists()));
    headers_under(&options.programs, &mut inputs);
    headers_under(&options.prefix.join("include/oxmpi/cxx"), &mut inputs);
    // Equal times do not count as fresh: the clock of a file system may be coarse.
    inputs.iter().all(|input| modified(input).is_some_and(|changed| changed < built))
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|file| file.modified()).ok()
}

fn headers_under(folder: &Path, headers: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            headers_under(&path, headers);
        } else if path.extension().is_some_and(|extension| extension == "h" || extension == "inc") {
            headers.push(path);
        }
    }
}
