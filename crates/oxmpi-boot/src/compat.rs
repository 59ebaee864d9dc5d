//! The folder with the libraries of other ABIs, `lib/compat`. Ranks search it before all others of
//! `LD_LIBRARY_PATH`, so that a program that was built for MPICH or Open MPI finds OxMPI. This holds for scripts
//! and interpreters, too, which load MPI later. `OXMPI_COMPAT=0` prevents it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub const SWITCH: &str = "OXMPI_COMPAT";
pub const SEARCH: &str = "LD_LIBRARY_PATH";

/// Where this installation has its libraries; a path without them when there is no telling.
pub fn own_libraries() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.parent().and_then(Path::parent).unwrap_or(&own).join("lib")
}

/// The folder of this installation, if it has one.
pub fn folder() -> Option<PathBuf> {
    Some(own_libraries().join("compat")).filter(|folder| folder.is_dir())
}

/// The folders that a rank's loader searches: the given ones, after that of the compat libraries.
pub fn search(folder: Option<&Path>, switch: Option<&OsStr>, given: Option<&OsStr>) -> Option<OsString> {
    let Some(folder) = folder.filter(|_| switch.is_none_or(|value| value != "0")) else {
        return given.map(OsString::from);
    };
    let given = given.filter(|list| !list.is_empty()).into_iter().flat_map(std::env::split_paths);
    let others = given.filter(|other| other != folder).collect::<Vec<_>>();
    // A folder with a colon in its name cannot be in the list.
    std::env::join_paths(std::iter::once(folder.to_path_buf()).chain(others)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_comes_first_and_once() {
        let list = |switch: Option<&str>, given: Option<&str>| {
            search(Some(Path::new("/p/lib/compat")), switch.map(OsStr::new), given.map(OsStr::new))
        };
        assert_eq!(list(None, None), Some("/p/lib/compat".into()));
        assert_eq!(list(None, Some("")), Some("/p/lib/compat".into()));
        assert_eq!(list(Some("1"), Some("/a:/b")), Some("/p/lib/compat:/a:/b".into()));
        assert_eq!(list(None, Some("/a:/p/lib/compat")), Some("/p/lib/compat:/a".into()));
        assert_eq!(list(Some("0"), Some("/a:/b")), Some("/a:/b".into()));
        assert_eq!(list(Some("0"), None), None);
        assert_eq!(search(None, None, Some(OsStr::new("/a"))), Some("/a".into()));
    }
}
