//! The hints that communicators know. All are assertions of the program; they are stored and
//! reported, and none changes what a message does, because nothing would become faster. No
//! communicator inherits any.
//!
//! Memory kinds are here, too, since every object reports those that it supports: communicators
//! those of their session, or of the world.

use oxmpi_abi::Result;
use oxmpi_abi::handle::Session;
use oxmpi_base::trust;
use oxmpi_core::info::Info;
use oxmpi_core::library::{Library, MEMORY_ALLOC_KINDS};

/// Booleans that are false unless the program sets them.
const ASSERTIONS: [&str; 5] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
];

/// The memory that the program will use on an object.
const ASSERTED_KINDS: &str = "mpi_assert_memory_alloc_kinds";
/// The memory that an object or a session supports.
pub const MEMORY_KINDS: &str = "mpi_memory_alloc_kinds";

/// With this key a session asks for asynchronous progress, and hears whether it has it.
pub const ASYNC_PROGRESS: &str = "oxmpi_async_progress";

/// Takes the hints that are known and valid for an object of that session, or of the world; drops
/// the rest.
pub fn update(library: &Library, hints: &mut Info, given: &Info, session: Option<Session>) -> Result<()> {
    for key in ASSERTIONS {
        if let Some(value) = given.boolean(key) {
            hints.set(key.as_bytes(), if value { b"true" } else { b"false" })?;
        }
    }
    if let Some(kinds) = given.get(ASSERTED_KINDS.as_bytes())? {
        let supported = supported_kinds(library, session);
        // A kind that we do not support makes the assertion void.
        if given.list(ASSERTED_KINDS).all(|kind| is_part_of(kind, &supported)) {
            hints.set(ASSERTED_KINDS.as_bytes(), kinds)?;
        }
    }
    Ok(())
}

/// All hints with their current values, including defaults.
pub fn in_force(library: &Library, hints: &Info, session: Option<Session>) -> Result<Info> {
    let mut all = Info::new();
    for key in ASSERTIONS {
        all.set(key.as_bytes(), hints.text(key).unwrap_or("false").as_bytes())?;
    }
    all.set(MEMORY_KINDS.as_bytes(), supported_kinds(library, session).as_bytes())?;
    if let Some(kinds) = hints.get(ASSERTED_KINDS.as_bytes())? {
        all.set(ASSERTED_KINDS.as_bytes(), kinds)?;
    }
    Ok(all)
}

/// The memory kinds that the objects of a session, or of the world, support.
fn supported_kinds(library: &Library, session: Option<Session>) -> String {
    let of_session = |session| library.session(session, |found| found.hints.text(MEMORY_KINDS).map(String::from));
    session.and_then(|session| of_session(session).ok().flatten()).unwrap_or_else(|| memory_kinds(None))
}

/// The memory kinds that buffers may have: those that always exist, and the known ones of those
/// that were requested, here or from `mpirun`.
pub fn memory_kinds(asked: Option<&str>) -> String {
    let launched = trust::text(MEMORY_ALLOC_KINDS);
    let mut kinds = String::from("mpi,system");
    for kind in asked.or(launched.as_deref()).unwrap_or_default().split(',').map(|kind| kind.trim_matches(' ')) {
        if kind.starts_with("mpi:") && is_part_of(kind, "mpi") {
            kinds = format!("{kinds},{kind}");
        }
    }
    kinds
}

/// Whether memory of a kind belongs to one of the supported kinds: a restrictor only narrows a
/// kind.
fn is_part_of(kind: &str, supported: &str) -> bool {
    const RESTRICTORS: [&str; 3] = ["alloc_mem", "win_allocate", "win_allocate_shared"];
    let (name, restrictors) = kind.split_once(':').map_or((kind, None), |(name, rest)| (name, Some(rest)));
    supported.split(',').any(|known| known == name)
        && restrictors.is_none_or(|rest| name == "mpi" && rest.split(':').all(|word| RESTRICTORS.contains(&word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_memory_kinds_come_back_as_they_were_asked_for() {
        assert_eq!(memory_kinds(Some("system,mpi")), "mpi,system");
        assert_eq!(memory_kinds(Some("gpu, mpi:alloc_mem ,mpi:tape,x")), "mpi,system,mpi:alloc_mem");
        assert_eq!(memory_kinds(Some("mpi:alloc_mem:win_allocate")), "mpi,system,mpi:alloc_mem:win_allocate");
    }

    #[test]
    fn an_assertion_counts_if_all_kinds_are_known() {
        let given = |value: &str| {
            let (mut info, mut hints) = (Info::new(), Info::new());
            info.set(ASSERTED_KINDS.as_bytes(), value.as_bytes()).unwrap();
            update(&Library::new(), &mut hints, &info, None).unwrap();
            hints.get(ASSERTED_KINDS.as_bytes()).unwrap().map(<[u8]>::to_vec)
        };
        for known in ["system", "mpi", " mpi:alloc_mem, system", "", "mpi:win_allocate:alloc_mem"] {
            assert_eq!(given(known), Some(known.as_bytes().to_vec()));
        }
        for unknown in ["gpu", "system,gpu", "system:fast", "mpi:tape", "mpi:"] {
            assert_eq!(given(unknown), None, "{unknown}");
        }
    }
}
