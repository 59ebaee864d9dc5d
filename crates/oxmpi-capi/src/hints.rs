//! The hints that communicators know. All are the program's assertions; they are kept and reported, and none changes what a
//! message does, because nothing would be faster for it.

use oxmpi_abi::Result;
use oxmpi_core::info::Info;

/// Booleans that are false unless the program says otherwise.
const ASSERTIONS: [&str; 5] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
];

const MEMORY_KINDS: &str = "mpi_assert_memory_alloc_kinds";

/// Takes over what is known and makes sense; the rest is dropped.
pub fn update(hints: &mut Info, given: &Info) -> Result<()> {
    for key in ASSERTIONS {
        if let Some(value) = given.boolean(key) {
            hints.set(key.as_bytes(), if value { b"true" } else { b"false" })?;
        }
    }
    if let Some(kinds) = given.text(MEMORY_KINDS) {
        hints.set(MEMORY_KINDS.as_bytes(), kinds.as_bytes())?;
    }
    Ok(())
}

/// All hints with their present values, defaults included.
pub fn in_force(hints: &Info) -> Result<Info> {
    let mut all = Info::new();
    for key in ASSERTIONS {
        all.set(key.as_bytes(), hints.text(key).unwrap_or("false").as_bytes())?;
    }
    if let Some(kinds) = hints.text(MEMORY_KINDS) {
        all.set(MEMORY_KINDS.as_bytes(), kinds.as_bytes())?;
    }
    Ok(all)
}
