//! `oxmpi man NAME`: prints a manual page of the installation as plain text. The pages are ordinary
//! roff (`man MPI_Send` shows them too, with the installation's `share/man` in MANPATH). They use
//! only a few macros, and this module understands only those; `xtask/src/man.rs` writes them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::info::prefix;

/// The text to print, and the exit status.
pub fn page(name: &str) -> (String, i32) {
    match find(name).and_then(|path| read(&path)) {
        Ok(text) => (plain(&text), 0),
        Err(text) => {
            eprintln!("oxmpi man: {text}");
            (String::new(), 1)
        }
    }
}

/// Finds the page of a command by its name, or of a function in any letter case, with or without
/// `MPI_`, also by its profiling name or the names of Fortran's specific procedures.
fn find(name: &str) -> Result<PathBuf, String> {
    let prefix = prefix().ok_or("the folder of the installation is unknown (is /proc mounted?)")?;
    let command = prefix.join("share/man/man1").join(format!("{name}.1"));
    if !name.contains('/') && command.exists() {
        return Ok(command);
    }
    let folder = prefix.join("share/man/man3");
    let wanted = name.to_lowercase();
    let wanted = ["pmpi_", "mpi_"].iter().find_map(|start| wanted.strip_prefix(start)).unwrap_or(&wanted);
    let wanted = ["_f08ts", "_f08"].iter().find_map(|end| wanted.strip_suffix(end)).unwrap_or(wanted);
    let entries = fs::read_dir(&folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let fits = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
        stem == format!("mpi_{wanted}")
    };
    let found = entries.flatten().map(|entry| entry.path()).find(fits);
    found.ok_or_else(|| {
        format!("there is no page for `{name}`; the functions and commands of MPI have one, such as MPI_Send or mpirun")
    })
}

/// The text of the page, or of the page that it refers to.
fn read(path: &Path) -> Result<String, String> {
    let open =
        |path: &Path| fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
    let text = open(path)?;
    match text.strip_prefix(".so man3/").or_else(|| text.strip_prefix(".so man1/")) {
        Some(other) => open(&path.with_file_name(other.trim())),
        None => Ok(text),
    }
}

fn plain(page: &str) -> String {
    let mut out = String::new();
    let mut is_label = false;
    for line in page.lines() {
        if let Some(title) = line.strip_prefix(".SH ") {
            out += &format!("{}{title}\n", if out.is_empty() { "" } else { "\n" });
        } else if line == ".TP" {
            is_label = true;
        } else if !line.starts_with('.') {
            let indent = if is_label { "    " } else { "      " };
            out += &format!("{indent}{}\n", line.trim_start_matches("\\&").replace("\\-", "-").replace("\\e", "\\"));
            is_label = false;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_characters_are_shown() {
        let page = ".SH NAME\nmpirun \\- start\n.nf\n\\&.hidden \\-\\-x a\\eb\n.fi\n";
        assert_eq!(plain(page), "NAME\n      mpirun - start\n      .hidden --x a\\b\n");
    }

    #[test]
    fn macros_become_indents() {
        let page = ".TH MPI_X 3\n.SH NAME\nMPI_X \\- does it\n.SH ARGUMENTS\n.TP\nx\nin: a number\n";
        assert_eq!(plain(page), "NAME\n      MPI_X - does it\n\nARGUMENTS\n    x\n      in: a number\n");
    }
}
