//! Which other processes this one trusts: those of the same user, and root's. The environment is
//! not trusted in a program with more rights than the user who started it may have.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;

/// The effective user of this process.
pub fn user() -> u32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

/// Whether objects of this owner are trusted: own ones, and root's.
pub fn believes(owner: u32) -> bool {
    owner == user() || owner == 0
}

/// Whether the program is setuid, setgid or has file capabilities: then its environment comes from
/// a user with fewer rights.
pub fn has_extra_rights() -> bool {
    // SAFETY: reads the auxiliary vector, which every process has.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// An environment variable; `None` if the environment is not trusted.
pub fn variable(name: &str) -> Option<OsString> {
    if has_extra_rights() { None } else { std::env::var_os(name) }
}

/// As [`variable`], of text.
pub fn text(name: &str) -> Option<String> {
    variable(name).and_then(|value| value.into_string().ok())
}

/// The inodes of the open sockets of a process of this user; empty for a process of another user.
pub fn sockets_of(pid: u32) -> Vec<u64> {
    let owner = std::fs::metadata(format!("/proc/{pid}")).map(|found| found.uid());
    if owner.map_or(true, |owner| owner != user()) {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let inode = |link: std::path::PathBuf| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok();
    entries.flatten().filter_map(|entry| inode(std::fs::read_link(entry.path()).ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_sockets_are_found() {
        let before = sockets_of(std::process::id());
        let socket = std::os::unix::net::UnixDatagram::unbound().unwrap();
        let after = sockets_of(std::process::id());
        assert!(after.len() > before.len());
        drop(socket);
        assert!(sockets_of(0).is_empty());
    }

    #[test]
    fn this_test_has_no_extra_rights() {
        assert!(!has_extra_rights() && believes(user()) && believes(0) && !believes(user() + 1));
        assert!(variable("PATH").is_some());
    }
}
