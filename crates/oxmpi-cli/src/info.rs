//! `oxmpi info`: the version, the folder, and the functions that are implemented.

use std::path::PathBuf;

use oxmpi_abi::functions::{ALL, Fun};

/// The functions for failed processes and those with an extra state, which are not in MPI-5.0, count as chapters after its last.
const FAILURES: u8 = 22;
const EXTRA_STATE: u8 = 23;

/// The chapters of MPI-5.0 that describe functions.
const CHAPTERS: [(u8, &str); 19] = [
    (4, "Point-to-point communication"),
    (5, "Partitioned communication"),
    (6, "Datatypes"),
    (7, "Collective communication"),
    (8, "Groups, communicators, caching"),
    (9, "Virtual topologies"),
    (10, "Environmental management"),
    (11, "Info objects"),
    (12, "Process initialisation and management"),
    (13, "One-sided communication"),
    (14, "External interfaces"),
    (15, "Files"),
    (16, "Tool support"),
    (17, "Deprecated functions"),
    (18, "Removed functions"),
    (20, "Language bindings"),
    (21, "Application binary interface"),
    (FAILURES, "Failed processes"),
    (EXTRA_STATE, "Functions with an extra state"),
];

pub fn text() -> String {
    let mut out =
        format!("OxMPI {}, the Message Passing Interface MPI-5.0 with its standard ABI\n", env!("CARGO_PKG_VERSION"));
    match prefix() {
        Some(prefix) => {
            out += &format!("Installed in {}\n", prefix.display());
            for part in ["bin/mpirun", "bin/mpicc", "include/mpi.h", "lib/libmpi_abi.so.1", "lib/libmpifort_abi.so.1"] {
                if !prefix.join(part).exists() {
                    out += &format!("  {part} is missing there\n");
                }
            }
        }
        None => out += "The folder of the installation is unknown (is /proc mounted?)\n",
    }
    out += "\nImplemented functions, by chapter of the standard:\n";
    let mut all = Count::default();
    for (chapter, title) in CHAPTERS {
        let count = Count::of(ALL.iter().filter(|fun| fun.is_standard() && fun.chapter() == chapter));
        if count.total > 0 {
            out += &format!("  {chapter:>2}  {title:<40} {:>4} of {:>3}\n", count.built, count.total);
            all = Count { built: all.built + count.built, total: all.total + count.total };
        }
    }
    out += &format!("      {:<40} {:>4} of {:>3}\n", "All", all.built, all.total);
    for (chapter, title) in
        [(FAILURES, "Failed processes (MPIX_, as in ULFM)"), (EXTRA_STATE, "Functions with an extra state (MPIX_)")]
    {
        let count = Count::of(ALL.iter().filter(|fun| fun.chapter() == chapter));
        out += &format!("      {title:<40} {:>4} of {:>3}\n", count.built, count.total);
    }
    let extra = Count::of(ALL.iter().filter(|fun| !fun.is_standard() && fun.chapter() < FAILURES));
    out += &format!("      {:<40} {:>4} of {:>3}\n", "Not in the ABI, for older programs", extra.built, extra.total);
    if all.built < all.total {
        out += "\nA function that is not implemented returns MPI_ERR_UNSUPPORTED_OPERATION; `oxmpi info --missing` lists them.\n";
    }
    out
}

pub fn missing() -> String {
    let mut names: Vec<&str> = ALL.iter().filter(|fun| !fun.is_built()).map(|fun| fun.name()).collect();
    names.sort_unstable();
    names.iter().map(|name| format!("{name}\n")).collect()
}

/// The folder above the `bin` that this program is in.
pub fn prefix() -> Option<PathBuf> {
    let own = std::env::current_exe().ok().or_else(called)?;
    Some(own.parent()?.parent()?.to_path_buf())
}

/// The path of this program from the name that it was called by; used without /proc.
fn called() -> Option<PathBuf> {
    let name = PathBuf::from(std::env::args_os().next()?);
    if name.components().count() > 1 {
        return name.canonicalize().ok();
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find_map(|folder| folder.join(&name).canonicalize().ok())
}

#[derive(Default)]
struct Count {
    built: usize,
    total: usize,
}

impl Count {
    fn of<'a>(funs: impl Iterator<Item = &'a Fun>) -> Count {
        funs.fold(Count::default(), |count, fun| Count {
            built: count.built + usize::from(fun.is_built()),
            total: count.total + 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_chapter_with_functions_is_told() {
        for fun in ALL {
            assert!(CHAPTERS.iter().any(|&(chapter, _)| chapter == fun.chapter()), "{}: {}", fun.name(), fun.chapter());
        }
        assert!(text().contains("of 664"));
    }

    #[test]
    fn missing_are_those_that_are_not_built() {
        let missing = missing();
        assert_eq!(missing.lines().count(), ALL.iter().filter(|fun| !fun.is_built()).count());
        assert!(missing.lines().all(|line| line.starts_with("MPI")));
    }
}
