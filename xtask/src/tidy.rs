//! `cargo xtask tidy`: checks that a reviewer should not have to make: the direction of
//! dependencies between crates, fresh generated files, the length of files, `forbid(unsafe_code)`
//! where it belongs, stray files, the numbers of `ratchets.rs`, and the atomics of `shared_atomics.rs`. rustfmt checks formatting, and clippy SAFETY
//! comments.

use crate::{Outcome, codegen, ratchets, read, root, shared_atomics};
use std::path::{Path, PathBuf};

/// The crates from the bottom up: a crate depends only on crates before it. The bool: unsafe code
/// is forbidden.
const STACK: &[(&str, bool)] = &[
    ("oxmpi-abi", true),
    ("oxmpi-base", false),
    ("oxmpi-pmix", false),
    ("oxmpi-fabric", false),
    ("oxmpi-boot", true),
    ("oxmpi-datatype", false),
    ("oxmpi-ops", false),
    ("oxmpi-coll", true),
    ("oxmpi-lines", true),
    ("oxmpi-verdict", true),
    ("oxmpi-check", true),
    ("oxmpi-profile", true),
    ("oxmpi-transport", false),
    ("oxmpi-rma", false),
    ("oxmpi-agent", true),
    ("oxmpi-io", false),
    ("oxmpi-core", false),
    ("oxmpi", false),
    ("oxmpi-capi", false),
    ("oxmpi-fortran", false),
    ("oxmpi-fortran-i8", false),
    ("oxmpi-fortran-mpich", false),
    ("oxmpi-fortran-openmpi", false),
    ("oxmpi-mpich", false),
    ("oxmpi-openmpi", false),
    ("oxmpi-recorder", false),
    ("oxmpi-msgq", false),
];

/// The crates beside the stack, and the last crate of the stack that each may depend on.
const BESIDE: &[(&str, &str)] = &[
    ("oxmpi-launch", "oxmpi-agent"),
    ("oxmpi-cli", "oxmpi-check"),
    ("oxmpi-wrap", "oxmpi-abi"),
    ("oxmpi-testkit", "oxmpi"),
    ("xtask", ""),
];

/// The files that lie in the root; others were left there by a program.
const IN_ROOT: &[&str] = &[
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "Makefile",
    "README.md",
    "rust-toolchain.toml",
    "rustfmt.toml",
];

/// Maximum length of a handwritten file.
const LINES: usize = 800;

pub fn run(args: &[String]) -> Outcome {
    match args {
        [] => {}
        [flag] if flag == "--lower" => return ratchets::lower(&tracked_files()?),
        _ => return Err("usage: cargo xtask tidy [--lower]".into()),
    }
    let mut complaints = Vec::new();
    for path in codegen::stale()? {
        complaints.push(format!("{} is stale: run `cargo xtask codegen`", path.display()));
    }
    for (name, manifest) in manifests()? {
        complaints.extend(direction(&name, &manifest));
    }
    complaints.extend(forbidden()?);
    let files = tracked_files()?;
    for path in &files {
        complaints.extend(length(path)?);
    }
    complaints.extend(
        files.iter().filter(|path| is_stray(path)).map(|path| format!("{} is no file for the root", path.display())),
    );
    complaints.extend(ratchets::complaints(&files)?);
    complaints.extend(shared_atomics::complaints(&files)?);
    if complaints.is_empty() {
        println!("tidy: {} files", files.len());
        return Ok(());
    }
    Err(format!("{} things to put right\n  {}", complaints.len(), complaints.join("\n  ")))
}

fn is_stray(path: &Path) -> bool {
    path.components().count() == 1 && !path.to_str().is_some_and(|name| IN_ROOT.contains(&name))
}

/// The name and the text of the manifest of every crate.
fn manifests() -> Result<Vec<(String, String)>, String> {
    let crates = root().join("crates");
    let entries = std::fs::read_dir(&crates).map_err(|e| format!("cannot list {}: {e}", crates.display()))?;
    let mut dirs: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    dirs.push(root().join("xtask"));
    dirs.sort();
    let mut list = Vec::new();
    for dir in dirs {
        let manifest = dir.join("Cargo.toml");
        if manifest.exists() {
            let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
            list.push((name, read(&manifest)?));
        }
    }
    Ok(list)
}

/// A crate of the project that this one must not depend on.
fn direction(name: &str, manifest: &str) -> Vec<String> {
    let place = |crate_name: &str| STACK.iter().position(|(c, _)| *c == crate_name);
    // The number of crates at the bottom of the stack that this one may use.
    let below = match (place(name), BESIDE.iter().find(|(c, _)| *c == name)) {
        (Some(place), _) => place,
        (None, Some((_, last))) => place(last).map_or(0, |p| p + 1),
        (None, None) => return vec![format!("{name} has no place in the design: give it one in xtask/src/tidy.rs")],
    };
    let mut complaints = Vec::new();
    for dependency in dependencies(manifest) {
        let allowed = match place(&dependency) {
            Some(place) => place < below,
            None => !BESIDE.iter().any(|(c, _)| *c == dependency),
        };
        if !allowed {
            complaints.push(format!("{name} must not depend on {dependency}, which is not below it"));
        }
    }
    complaints
}

/// The names in the tables of dependencies of a manifest, without dev-dependencies, which do not
/// reach users.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut list = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(table) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            inside = table.ends_with("dependencies") && !table.ends_with("dev-dependencies");
            if let Some((_, name)) = table.split_once("dependencies.") {
                list.push(name.to_string());
            }
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            list.push(line.split(['.', '=', ' ']).next().unwrap_or_default().to_string());
        }
    }
    list
}

fn forbidden() -> Result<Vec<String>, String> {
    let mut complaints = Vec::new();
    for (name, _) in STACK.iter().filter(|(_, forbid)| *forbid) {
        let lib = root().join("crates").join(name).join("src/lib.rs");
        if lib.exists() && !read(&lib)?.lines().any(|line| line == "#![forbid(unsafe_code)]") {
            complaints.push(format!("{name} must say #![forbid(unsafe_code)]"));
        }
    }
    Ok(complaints)
}

fn length(path: &Path) -> Result<Option<String>, String> {
    const SOURCES: &[&str] = &["rs", "c", "h", "cc", "cpp", "f90", "f", "sh", "py"];
    let is_source = path.extension().and_then(|e| e.to_str()).is_some_and(|e| SOURCES.contains(&e));
    let is_generated = path.components().any(|c| c.as_os_str() == "generated") || path == Path::new("include/mpi.h");
    if !is_source || is_generated {
        return Ok(None);
    }
    let lines = read(&root().join(path))?.lines().count();
    Ok((lines > LINES)
        .then(|| format!("{} has {lines} lines, more than {LINES}: find the second idea", path.display())))
}

/// The files of the repository, without those that git ignores and deleted ones.
pub fn tracked_files() -> Result<Vec<PathBuf>, String> {
    let output = std::process::Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .map_err(|e| format!("cannot start git: {e}"))?;
    if !output.status.success() {
        // Not a repository (a source archive): walk the tree instead.
        return Ok(walk(Path::new("")));
    }
    let list = String::from_utf8_lossy(&output.stdout);
    Ok(list.lines().map(PathBuf::from).filter(|path| root().join(path).is_file()).collect())
}

fn walk(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let Ok(entries) = std::fs::read_dir(root().join(dir)) else { return files };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let path = dir.join(&name);
        if entry.path().is_dir() {
            if name != "target" && !name.to_string_lossy().starts_with('.') {
                files.extend(walk(&path));
            }
        } else {
            files.push(path);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = "[dependencies]\nlibc.workspace = true\noxmpi-core = { path = \"x\" }\n\n[dev-dependencies]\noxmpi-testkit = \"1\"\n[target.'cfg(unix)'.dependencies.oxmpi-io]\n";

    #[test]
    fn dependencies_are_read_in_all_their_forms() {
        assert_eq!(dependencies(MANIFEST), ["libc", "oxmpi-core", "oxmpi-io"]);
    }

    #[test]
    fn a_crate_may_use_only_what_is_below_it() {
        assert_eq!(direction("oxmpi-capi", MANIFEST), Vec::<String>::new());
        assert_eq!(direction("oxmpi-io", MANIFEST).len(), 2);
        assert_eq!(direction("oxmpi-core", MANIFEST).len(), 1);
        assert_eq!(direction("oxmpi-launch", MANIFEST).len(), 2);
        assert_eq!(direction("oxmpi-nobody", "").len(), 1);
    }

    #[test]
    fn long_files_are_named_unless_generated() {
        assert_eq!(length(Path::new("include/mpi.h")).unwrap(), None);
        assert_eq!(length(Path::new("xtask/src/tidy.rs")).unwrap(), None);
    }
}
