//! The part of `cargo xtask tidy` that keeps changes of memory which ranks share where `cargo xtask crash-points` finds them: their
//! atomics come from `oxmpi_base::sync`, and copies between processes are made by `oxmpi_base::cma`.

use crate::{read, root};
use std::path::{Path, PathBuf};

/// The crates with structures in shared memory, and those that use them.
pub const CRATES: &[&str] =
    &["oxmpi-base", "oxmpi-boot", "oxmpi-ops", "oxmpi-transport", "oxmpi-rma", "oxmpi-io", "oxmpi-core", "oxmpi"];

/// Files whose atomics of the standard library are seen by their process alone.
const PRIVATE: &[&str] = &[
    "oxmpi-base/src/huge.rs",
    "oxmpi-base/src/load.rs",
    "oxmpi-base/src/message_queues.rs",
    "oxmpi-base/src/thread_checker.rs",
    "oxmpi-base/src/thread_number.rs",
    "oxmpi-base/src/valgrind.rs",
    "oxmpi-base/src/wake_pipe.rs",
    "oxmpi-base/src/watchpoint.rs",
    "oxmpi-transport/src/tcp/joint.rs",
    "oxmpi-transport/src/tcp/traffic.rs",
    "oxmpi-rma/src/assist.rs",
    "oxmpi-rma/src/lib.rs",
    "oxmpi-io/src/lib.rs",
    "oxmpi-core/src/args.rs",
    "oxmpi-core/src/attributes.rs",
    "oxmpi-core/src/call.rs",
    "oxmpi-core/src/check/message.rs",
    "oxmpi-core/src/check/mod.rs",
    "oxmpi-core/src/check/origins.rs",
    "oxmpi-core/src/checked.rs",
    "oxmpi-core/src/debugger.rs",
    "oxmpi-core/src/explain.rs",
    "oxmpi-core/src/helper.rs",
    "oxmpi-core/src/library.rs",
    "oxmpi-core/src/request.rs",
    "oxmpi-core/src/settings.rs",
    "oxmpi-core/src/wait/debugger.rs",
    "oxmpi-ops/src/logical.rs",
    "oxmpi/src/dynamic/ports.rs",
    "oxmpi/src/rma/window.rs",
    "oxmpi/src/tool/state.rs",
];

/// The shim itself.
const SHIM: &str = "oxmpi-base/src/sync";
const COPIES: &str = "oxmpi-base/src/cma.rs";

/// The path in `crates/` of a source of one of [`CRATES`], if it is none of the shim or of tests.
pub fn source(path: &Path) -> Option<&str> {
    let name = path.to_str()?.strip_prefix("crates/")?;
    let (krate, file) = name.split_once("/src/")?;
    let is_source = CRATES.contains(&krate) && file.ends_with(".rs") && !file.ends_with("tests.rs");
    (is_source && !name.starts_with(SHIM)).then_some(name)
}

/// A source without the tests at its end.
pub fn without_tests(text: &str) -> &str {
    let ends = ["\n#[cfg(test)]", "\n#[cfg(all(test"].iter().filter_map(|begin| text.find(begin));
    ends.min().map_or(text, |end| &text[..end])
}

pub fn complaints(files: &[PathBuf]) -> Result<Vec<String>, String> {
    let mut complaints = Vec::new();
    for path in files {
        let Some(name) = source(path) else { continue };
        complaints.extend(complaint(name, &read(&root().join(path))?));
    }
    Ok(complaints)
}

fn complaint(name: &str, text: &str) -> Option<String> {
    let text = without_tests(text);
    let is_listed = PRIVATE.contains(&name);
    match names_atomics(text) {
        true if !is_listed => Some(format!(
            "crates/{name} uses atomics of the standard library: take them from oxmpi_base::sync::shared, so that crash \
             points find their changes, or list the file in xtask/src/shared_atomics.rs if no other process sees them"
        )),
        false if is_listed => Some(format!("crates/{name} needs no entry in xtask/src/shared_atomics.rs")),
        _ if name != COPIES && text.contains("libc::process_vm_") => {
            Some(format!("crates/{name} copies between processes: call oxmpi_base::cma"))
        }
        _ => None,
    }
}

/// Whether the text names a type of `std::sync::atomic` or of `core::sync::atomic`.
fn names_atomics(text: &str) -> bool {
    text.match_indices("sync::atomic").any(|(at, found)| {
        let rest = &text[at + found.len()..];
        // The list in braces, or the path until it ends.
        let end = rest.find(if rest.starts_with("::{") { ['}', ';'] } else { [';', '\n'] }).unwrap_or(rest.len());
        rest.starts_with(';') || rest[..end].contains("Atomic") || rest[..end].contains("self")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomics_of_the_standard_library_are_found() {
        let new = "oxmpi-base/src/new.rs";
        for text in [
            "use std::sync::atomic::AtomicU32;",
            "use std::sync::atomic::{\n    AtomicU32, Ordering,\n};",
            "static X: core::sync::atomic::AtomicU8 = y;",
            "use std::sync::atomic::{self, Ordering};",
            "use std::sync::atomic;",
        ] {
            assert!(complaint(new, text).is_some(), "{text}");
        }
        for text in [
            "use std::sync::atomic::Ordering::{Acquire, Relaxed};\nstruct X(AtomicU32);",
            "use std::sync::atomic::{Ordering, fence};\nuse crate::sync::shared::AtomicU32;",
            "fn f() {}\n#[cfg(test)]\nmod tests {\n    use std::sync::atomic::AtomicU32;\n}",
        ] {
            assert_eq!(complaint(new, text), None, "{text}");
        }
        assert!(complaint(new, "libc::process_vm_readv").is_some());
        assert!(complaint(PRIVATE[0], "nothing").is_some(), "a stale entry");
    }

    #[test]
    fn only_sources_of_crates_with_shared_memory_count() {
        assert_eq!(source(Path::new("crates/oxmpi-rma/src/lib.rs")), Some("oxmpi-rma/src/lib.rs"));
        for other in
            ["crates/oxmpi-cli/src/main.rs", "crates/oxmpi-base/src/sync.rs", "crates/oxmpi-core/src/a/tests.rs"]
        {
            assert_eq!(source(Path::new(other)), None);
        }
    }
}
