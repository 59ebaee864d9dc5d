//! `oxmpi explain PROGRAM`: which MPI a program was built for, and how it will run under `mpirun`.

use oxmpi_boot::compat;
use oxmpi_boot::elf::{self, Needed};
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The text, and the exit status: 1 if the program will not run with OxMPI.
pub fn program(name: &str) -> (String, i32) {
    let Some(path) = find(name, std::env::var_os("PATH").as_deref()) else {
        return (format!("oxmpi explain: there is no program {name}\n"), 1);
    };
    let (switch, given) = (std::env::var_os(compat::SWITCH), std::env::var_os(compat::SEARCH));
    let folder = compat::folder();
    let search = compat::search(folder.as_deref(), switch.as_deref(), given.as_deref());
    let is_off = switch.is_some_and(|value| value == "0");
    match elf::is_dynamic(&path) {
        None => (script(&path, is_off), 0),
        Some(false) => (
            format!(
                "{}: statically linked. If it uses MPI, that MPI is part of it and cannot be exchanged; link it again with \
                 the mpicc of OxMPI.\n",
                path.display()
            ),
            1,
        ),
        Some(true) => dynamic(&path, &elf::needed(&path, search.as_deref()), is_off),
    }
}

/// The file of a program: a path, or a name in one of the folders of `PATH`.
fn find(name: &str, folders: Option<&OsStr>) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_file());
    }
    let mut folders = folders.into_iter().flat_map(std::env::split_paths);
    folders.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file()))
}

fn script(path: &Path, is_off: bool) -> String {
    let after = match is_off {
        true => "OXMPI_COMPAT=0 is set, so libraries for MPICH or Open MPI that it loads will be those of the system.",
        false => {
            "Under mpirun the processes that it starts find OxMPI's libraries for the standard ABI, MPICH and Open MPI by \
             their names; a library that is loaded by its whole path stays what it is."
        }
    };
    format!("{}: no ELF program (a script, or for another kind of machine). {after}\n", path.display())
}

fn dynamic(path: &Path, needed: &[Needed], is_off: bool) -> (String, i32) {
    let mut out = String::new();
    let shown = path.display();
    let Some(first) = needed.first() else {
        let _ = writeln!(
            out,
            "{shown}: needs no MPI library itself. If it loads one later (as Python does), it finds OxMPI's under mpirun by name."
        );
        return (out, 0);
    };
    let _ = match first.of {
        None => writeln!(out, "{shown}: built for the standard ABI of MPI-5."),
        Some(of) => writeln!(out, "{shown}: built for {of}."),
    };
    let mut status = 0;
    for library in needed {
        let Needed { library: name, file, is_oxmpi, .. } = library;
        let _ = match (file, is_oxmpi) {
            (Some(file), true) => writeln!(out, "  {name} => {} (OxMPI)", file.display()),
            (None, true) => writeln!(out, "  {name} => that of the system's folders"),
            (Some(file), false) => {
                status = 1;
                writeln!(out, "  {name} => {} (another MPI)", file.display())
            }
            (None, false) => {
                status = 1;
                writeln!(out, "  {name}: OxMPI has no library of this name")
            }
        };
    }
    out.push_str(match (status, is_off) {
        (0, _) => "Under mpirun it runs with OxMPI.\n",
        (_, true) => "OXMPI_COMPAT=0 is set: it does not run with OxMPI. Unset it.\n",
        (_, false) if needed.iter().any(|needed| needed.file.is_some() && !needed.is_oxmpi) => {
            "It does not run with OxMPI: its own rpath or LD_LIBRARY_PATH leads to another MPI. Each rank would be a job of \
             one rank. Remove the rpath (patchelf --remove-rpath), or start it with the mpirun of that MPI.\n"
        }
        _ => {
            "It does not run with OxMPI, which does not have this ABI. Compile it again with the mpicc or mpifort of OxMPI, or \
             start it with the mpirun of that MPI.\n"
        }
    });
    (out, status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(library: &str, of: Option<&'static str>, file: Option<&str>, is_oxmpi: bool) -> Needed {
        Needed { library: library.into(), of, file: file.map(PathBuf::from), is_oxmpi }
    }

    #[test]
    fn each_kind_of_program_is_explained() {
        let path = Path::new("./a");
        let ours = needed("libmpi.so.12", Some("MPICH"), Some("/p/lib/compat/libmpi.so.12"), true);
        let (text, status) = dynamic(path, &[ours], false);
        assert!(text.contains("built for MPICH") && text.contains("runs with OxMPI"), "{text}");
        assert_eq!(status, 0);
        let theirs = needed("libmpi.so.40", Some("Open MPI"), Some("/usr/lib/libmpi.so.40"), false);
        let (text, status) = dynamic(path, &[theirs], false);
        assert!(text.contains("another MPI") && text.contains("rpath"), "{text}");
        assert_eq!(status, 1);
        let unknown = needed("libmpi_ilp64.so.4", Some("Intel MPI with INTEGERs of eight bytes"), None, false);
        let (text, status) = dynamic(path, &[unknown], false);
        assert!(text.contains("eight bytes") && text.contains("does not have this ABI"), "{text}");
        assert_eq!(status, 1);
        assert_eq!(dynamic(path, &[], false).1, 0);
        assert!(script(path, true).contains("OXMPI_COMPAT=0"));
        assert_eq!(find("no-such-program", Some(OsStr::new("/bin"))), None);
        assert_eq!(find("sh", Some(OsStr::new("/bin"))), Some(PathBuf::from("/bin/sh")));
    }
}
