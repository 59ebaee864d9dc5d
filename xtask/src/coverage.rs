//! `cargo xtask fortran-coverage`: finds the procedures that the Fortran programs under
//! `tests/programs` call. A library that is loaded before MPI's records every C function that is
//! called, and the programs are run with it, form by form. They must be compiled already (`cargo
//! xtask test-programs`).
//!
//! Every procedure of chapters 4 to 13 and 15, and every `MPIX_` one, must be called, in every form, or this fails. The
//! programs in `tests/programs/fortran/generated` check that all others link in every form.

use crate::api::{Api, Function};
use crate::gen_capi::{Bodies, is_built};
use crate::gen_fortran::{Form, procedures};
use crate::{Outcome, read, root};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How programs include a form, and which programs do.
const FORMS: &[(&str, Form, &[&str])] = &[
    ("mpif.h", Form::Old, &["fortran/mpif/", "fortran/textbook/"]),
    ("mpi", Form::Old, &["fortran/mpi/"]),
    ("mpi_f08", Form::F08, &["fortran/mpi_f08/"]),
];

pub fn run(args: &[String]) -> Outcome {
    let (mut prefix, mut build, mut list) = (root().join("build/prefix"), root().join("build/tests"), false);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().map(PathBuf::from).ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--prefix" => prefix = value()?,
            "--build" => build = value()?,
            "--list" => list = true,
            _ => return Err(format!("unknown argument `{arg}`; it takes --prefix P, --build B and --list")),
        }
    }
    let absolute = |path: PathBuf| std::path::absolute(&path).map_err(|error| format!("{}: {error}", path.display()));
    let (prefix, build) = (absolute(prefix)?, absolute(build)?);
    let api = Api::read(&root().join("api"))?;
    let bodies = Bodies::scan()?;
    let folder = build.join("coverage");
    let recorder = make_recorder(&api, &prefix, &folder)?;
    let mut missing = String::new();
    for (title, form, programs) in FORMS {
        let called = calls(&prefix, &build, &recorder, &folder.join(title), programs)?;
        let wanted = procedures(&api, *form);
        let is_wanted = |f: &Function| is_covered(f) && is_built(f, &api, &bodies).unwrap_or(false);
        let wanted: BTreeSet<&str> =
            wanted.iter().filter(|p| is_wanted(p.function)).map(|p| p.function.name.as_str()).collect();
        let (got, not): (Vec<&str>, Vec<&str>) = wanted.iter().partition(|name| called.contains(**name));
        println!(
            "{title}: {} of {} procedures of chapters 4 to 13, 15 and of the extensions are called",
            got.len(),
            wanted.len()
        );
        if list {
            println!("  {}", got.join("\n  "));
        }
        if !not.is_empty() {
            let _ = writeln!(missing, "no program of {title} calls {}", not.join(" "));
        }
    }
    if missing.is_empty() { Ok(()) } else { Err(missing) }
}

/// Whether a procedure must be called: those of chapters 4 to 13 and 15, and what OxMPI adds.
fn is_covered(function: &Function) -> bool {
    let chapter = function.chapter;
    function.is_extension() || !function.is_extra && ((4..=13).contains(&chapter) || chapter == 15)
}

/// A wrapper for every function of MPI that prints its name once and calls the PMPI function.
fn make_recorder(api: &Api, prefix: &Path, folder: &Path) -> Result<PathBuf, String> {
    let mut text = String::from(
        "#include <fcntl.h>\n#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
         static unsigned char called[NAMES];\n\
         static void note(int number, const char *name) {\n\
         \x20 const char *path = called[number] ? NULL : getenv(\"OXMPI_TEST_CALLS\");\n\
         \x20 int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;\n\
         \x20 called[number] = 1;\n\
         \x20 if (file >= 0) {\n    dprintf(file, \"%s\\n\", name);\n    close(file);\n  }\n}\n",
    );
    let functions: Vec<&Function> = api.functions.iter().filter(|f| is_covered(f)).collect();
    for (i, function) in functions.iter().enumerate() {
        let Function { name, returns, .. } = function;
        let params: Vec<&str> = function.fixed_params().map(|p| p.c_decl.as_str()).collect();
        let names: Vec<&str> = function.fixed_params().map(|p| p.name.as_str()).collect();
        let variadic = if function.params.len() > params.len() { ", ..." } else { "" };
        let params = if params.is_empty() { "void".to_owned() } else { params.join(", ") };
        let _ = writeln!(
            text,
            "{returns} {name}({params}{variadic}) {{ note({i}, \"{name}\"); return P{name}({}); }}",
            names.join(", ")
        );
    }
    let (source, library) = (folder.join("recorder.c"), folder.join("recorder.so"));
    let write = || fs::create_dir_all(folder).and_then(|()| fs::write(&source, &text));
    write().map_err(|error| format!("cannot write {}: {error}", source.display()))?;
    let mut compiler = Command::new(prefix.join("bin/mpicc"));
    compiler.args(["-O1", "-w", "-shared", "-fPIC"]).arg(format!("-DNAMES={}", functions.len()));
    let status = compiler.arg(&source).arg("-o").arg(&library).status();
    match status {
        Ok(status) if status.success() => Ok(library),
        Ok(status) => Err(format!("the recorder does not compile ({status})")),
        Err(error) => Err(format!("cannot run mpicc: {error}")),
    }
}

/// The names of the functions that these programs call.
fn calls(
    prefix: &Path,
    build: &Path,
    recorder: &Path,
    record: &Path,
    programs: &[&str],
) -> Result<BTreeSet<String>, String> {
    let _ = fs::remove_file(record);
    let this = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut tests = Command::new(this);
    tests.arg("test-programs").args(programs).arg("--no-build");
    tests.arg("--prefix").arg(prefix).arg("--build").arg(build);
    tests.env("LD_PRELOAD", recorder).env("OXMPI_TEST_CALLS", record).stdout(Stdio::piped());
    let output = tests.output().map_err(|error| format!("cannot run the tests: {error}"))?;
    if !output.status.success() {
        let text = [output.stdout, output.stderr].concat();
        return Err(format!("the programs fail with the recorder:\n{}", String::from_utf8_lossy(&text)));
    }
    Ok(read(record)?.lines().map(str::to_owned).collect())
}
