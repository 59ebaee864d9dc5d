//! `cargo xtask codegen`: writes all files that are generated from `api/`. `--check` writes nothing
//! and fails if a file on disk differs, so that a stale file cannot be committed unnoticed.

use crate::api::Api;
use crate::generated_file::Output;
use crate::{Outcome, gen_abi, gen_abi_test, gen_capi, gen_cxx, gen_foreign, gen_fortran, gen_header, root};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub fn run(args: &[String]) -> Outcome {
    let check = match args {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => return Err("usage: cargo xtask codegen [--check]".into()),
    };
    if check { stale().and_then(complain) } else { write() }
}

/// The generated files that are not up to date, or that nothing generates any more.
pub fn stale() -> Result<Vec<PathBuf>, String> {
    let outputs = outputs()?;
    let mut stale = left_over(&outputs)?;
    for output in outputs {
        let on_disk = std::fs::read_to_string(root().join(&output.path)).unwrap_or_default();
        if on_disk != output.text {
            stale.push(output.path);
        }
    }
    Ok(stale)
}

fn complain(stale: Vec<PathBuf>) -> Outcome {
    if stale.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = stale.iter().map(|p| p.display().to_string()).collect();
    Err(format!("stale: {}; run `cargo xtask codegen` and commit the result", list.join(", ")))
}

fn write() -> Outcome {
    let outputs = outputs()?;
    for path in left_over(&outputs)? {
        std::fs::remove_file(root().join(&path)).map_err(|e| format!("cannot remove {}: {e}", path.display()))?;
        println!("removed {}", path.display());
    }
    for output in outputs {
        let path = root().join(&output.path);
        if std::fs::read_to_string(&path).is_ok_and(|on_disk| on_disk == output.text) {
            continue;
        }
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir).map_err(|e| format!("cannot make {}: {e}", dir.display()))?;
        }
        std::fs::write(&path, &output.text).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
        println!("wrote {}", output.path.display());
    }
    Ok(())
}

fn outputs() -> Result<Vec<Output>, String> {
    let api = Api::read(&root().join("api"))?;
    let bodies = gen_capi::Bodies::scan()?;
    let mut outputs = vec![gen_header::mpi_h(&api, env!("CARGO_PKG_VERSION")), gen_abi_test::output(&api)];
    outputs.push(gen_cxx::constants_h(&api, &root().join("api/cxx.txt"))?);
    outputs.extend(gen_abi::outputs(&api, &bodies)?);
    outputs.extend(gen_capi::outputs(&api, &bodies)?);
    outputs.extend(gen_fortran::outputs(&api));
    outputs.extend(gen_foreign::outputs(&api, &root().join("api"))?);
    let rust = outputs.iter_mut().filter(|o| o.path.extension().is_some_and(|e| e == "rs"));
    for output in rust {
        output.text = rustfmt(&output.text).map_err(|e| format!("{}: {e}", output.path.display()))?;
    }
    Ok(outputs)
}

/// Files in the `generated` directories that are not among the outputs.
fn left_over(outputs: &[Output]) -> Result<Vec<PathBuf>, String> {
    let mut extra = Vec::new();
    let mut dirs: Vec<&Path> = outputs.iter().filter_map(|o| o.path.parent()).collect();
    dirs.retain(|dir| dir.ends_with("generated"));
    dirs.sort();
    dirs.dedup();
    for dir in dirs {
        let Ok(entries) = std::fs::read_dir(root().join(dir)) else { continue };
        for entry in entries.flatten() {
            let path = dir.join(entry.file_name());
            if !outputs.iter().any(|o| o.path == path) {
                extra.push(path);
            }
        }
    }
    Ok(extra)
}

fn rustfmt(text: &str) -> Result<String, String> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--config-path"])
        .arg(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start rustfmt: {e}"))?;
    let mut stdin = child.stdin.take().ok_or("rustfmt has no stdin")?;
    let input = text.to_string();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().map_err(|e| format!("rustfmt: {e}"))?;
    writer.join().map_err(|_| "the writer to rustfmt failed")?.map_err(|e| format!("rustfmt: {e}"))?;
    if !output.status.success() {
        return Err(format!("rustfmt refused the text: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|e| format!("rustfmt: {e}"))
}
