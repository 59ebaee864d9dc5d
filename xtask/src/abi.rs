//! `cargo xtask abi [LIBRARY]`: checks the standard ABI from the outside. It compiles the programs
//! of `tests/abi/` with `include/mpi.h` in the common dialects of C and C++, with all warnings as
//! errors, and runs them; compares the header with the standard's list of prototypes; and, with
//! `libmpi_abi.so` given, looks for every symbol in it.

use crate::api::Api;
use crate::{Outcome, read, root};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

const C: &[&str] = &["c89", "gnu89", "c99", "c11", "c17", "gnu17", "c2x"];
const CXX: &[&str] = &["c++98", "c++11", "c++17", "c++20"];
/// Texts of what only tests use, and its names: the simulated network of `oxmpi_transport::sim`, which a build of several packages
/// at once may enable, and the atomics of a build with `--cfg crash_points`.
const FOR_TESTS: [(&[u8], &str); 2] =
    [(b"simulated network, seed", "the simulated network"), (b"OXMPI_CRASH_AT", "crash points")];
const STRICT: &[&str] = &["-pedantic", "-Wall", "-Wextra", "-Werror"];

pub fn run(args: &[String]) -> Outcome {
    let library = match args {
        [] => None,
        [path] if !path.starts_with('-') => Some(Path::new(path)),
        _ => return Err("usage: cargo xtask abi [path of libmpi_abi.so]".into()),
    };
    let scratch = std::env::temp_dir().join(format!("oxmpi-abi-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).map_err(|e| format!("cannot make {}: {e}", scratch.display()))?;
    let outcome = programs(&scratch).and_then(|()| prototypes(&scratch)).and_then(|()| library.map_or(Ok(()), symbols));
    // A leftover directory in the temporary folder is not worth an error.
    let _ = std::fs::remove_dir_all(&scratch);
    outcome
}

/// The programs, in every dialect.
fn programs(scratch: &Path) -> Outcome {
    let dir = root().join("tests/abi");
    let program = scratch.join("program");
    let mut runs = 0;
    for source in ["values.c", "by_hand.c"] {
        let dialects = C.iter().map(|std| ("cc", "c", std)).chain(CXX.iter().map(|std| ("c++", "c++", std)));
        for (compiler, language, std) in dialects {
            let mut command = Command::new(compiler);
            command.args(["-x", language, &format!("-std={std}")]).args(STRICT);
            // The objects of the C++ interface need the library, which is not linked here.
            command.arg("-DOXMPI_SKIP_MPICXX");
            command.arg(dir.join(source)).arg("-o").arg(&program);
            compile(&mut command)?;
            run_quietly(&mut Command::new(&program)).map_err(|e| format!("{source} as {std}: {e}"))?;
            runs += 1;
        }
    }
    println!("abi: {runs} programs compiled and run, {} and {}", C.join(" "), CXX.join(" "));
    Ok(())
}

/// A redeclaration of every function, from the standard's own list: the compiler rejects one that
/// differs. Taking its address shows that a function is in the header.
fn prototypes(scratch: &Path) -> Outcome {
    let mut text = String::from("#include <mpi.h>\ntypedef void (*fn)(void);\nextern fn all[];\nfn all[] = {\n");
    let list = standard_prototypes()?;
    for (_, prototype) in &list {
        let name = name_of(prototype);
        text.push_str(&format!("    (fn){name}, (fn)P{name},\n"));
    }
    text.push_str("};\n");
    for (_, prototype) in &list {
        text.push_str(&format!("{prototype};\n{};\n", prototype.replacen(" MPI_", " PMPI_", 1)));
    }
    let source = scratch.join("prototypes.c");
    std::fs::write(&source, text).map_err(|e| format!("cannot write {}: {e}", source.display()))?;
    let object = scratch.join("prototypes.o");
    compile(Command::new("cc").args(["-std=c17", "-c"]).args(STRICT).arg(&source).arg("-o").arg(object))?;
    println!("abi: mpi.h declares the standard's {} functions and their PMPI twins", list.len());
    Ok(())
}

/// Chapter and prototype of the functions of the standard ABI.
fn standard_prototypes() -> Result<Vec<(u8, String)>, String> {
    let path = root().join("tests/abi/prototypes.txt");
    let mut list = Vec::new();
    for line in read(&path)?.lines().filter(|l| !l.starts_with('#')) {
        let parsed = line.split_once('\t').and_then(|(ch, p)| Some((ch.parse().ok()?, p.to_string())));
        list.push(parsed.ok_or_else(|| format!("{}: '{line}' is no chapter and prototype", path.display()))?);
    }
    Ok(list)
}

/// The name of the function in a prototype.
fn name_of(prototype: &str) -> &str {
    let head = prototype.split('(').next().unwrap_or_default();
    head.rsplit(' ').next().unwrap_or_default()
}

/// Checks that every function is exported under both names, and every variable, and that the soname
/// is that of the ABI.
fn symbols(library: &Path) -> Outcome {
    let api = Api::read(&root().join("api"))?;
    let listing = run_quietly(Command::new("nm").args(["-D", "--defined-only"]).arg(library))?;
    let exported: BTreeSet<&str> = listing.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let functions = api.functions.iter().flat_map(|f| [f.name.clone(), format!("P{}", f.name)]);
    let variables = api.types.variables.iter().map(|v| crate::ctype::parse(v).name.to_string());
    let wanted: Vec<String> = functions.chain(variables).collect();
    let missing: Vec<&str> = wanted.iter().map(String::as_str).filter(|name| !exported.contains(name)).collect();
    if !missing.is_empty() {
        return Err(format!("{} lacks {} symbols: {}", library.display(), missing.len(), missing.join(" ")));
    }
    let bytes = std::fs::read(library).map_err(|e| format!("cannot read {}: {e}", library.display()))?;
    for (text, name) in FOR_TESTS {
        if bytes.windows(text.len()).any(|part| part == text) {
            return Err(format!("{} contains {name}, for tests only", library.display()));
        }
    }
    let dynamic = run_quietly(Command::new("readelf").arg("-d").arg(library))?;
    if !dynamic.contains("[libmpi_abi.so.1]") {
        return Err(format!("{}: the soname is not libmpi_abi.so.1", library.display()));
    }
    let standard = api.functions.iter().filter(|f| !f.is_extra).count();
    println!("abi: {} exports {standard} standard functions, {standard} PMPI twins and all others", library.display());
    Ok(())
}

fn compile(command: &mut Command) -> Outcome {
    let include: PathBuf = root().join("include");
    run_quietly(command.arg("-I").arg(include)).map(|_| ())
}

/// Runs a command to its end; its output, or an error with what it said.
pub fn run_quietly(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("cannot start {command:?}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The prototypes from the tables, twins included, are exactly those of the standard's list.
    #[test]
    fn the_tables_give_the_standards_prototypes() {
        let api = Api::read(&root().join("api")).unwrap();
        let derived: BTreeSet<(u8, String)> =
            api.functions.iter().filter(|f| !f.is_extra).map(|f| (f.chapter, f.prototype())).collect();
        let standard: BTreeSet<(u8, String)> = standard_prototypes().unwrap().into_iter().collect();
        assert_eq!(standard.len(), 664);
        let wrong: Vec<_> = derived.symmetric_difference(&standard).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
