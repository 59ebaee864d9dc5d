//! The hints that files know.

use oxmpi_abi::Result;
use oxmpi_abi::constants::MPI_MAX_INFO_VAL;
use oxmpi_core::file::File;
use oxmpi_core::info::Info;

/// Hints about a file. They are stored and reported; all accesses go through the page cache of one
/// machine, so none of them would make an access faster.
const INTEGERS: [&str; 7] =
    ["cb_block_size", "cb_buffer_size", "cb_nodes", "nb_proc", "num_io_nodes", "striping_factor", "striping_unit"];
const WORDS: [&str; 6] =
    ["access_style", "chunked", "chunked_item", "chunked_size", "io_node_list", "mpi_assert_memory_alloc_kinds"];
const COLLECTIVE_BUFFERING: &str = "collective_buffering";
const PERMISSIONS: &str = "file_perm";

/// Takes the hints that are known and valid; drops the rest.
pub fn update(hints: &mut Info, given: &Info) -> Result<()> {
    if let Some(value) = given.boolean(COLLECTIVE_BUFFERING) {
        hints.set(COLLECTIVE_BUFFERING.as_bytes(), if value { b"true" } else { b"false" })?;
    }
    for key in INTEGERS {
        if let Some(value) = given.integer(key).filter(|value| *value > 0) {
            hints.set(key.as_bytes(), value.to_string().as_bytes())?;
        }
    }
    for key in WORDS {
        if let Some(value) = given.text(key) {
            hints.set(key.as_bytes(), value.as_bytes())?;
        }
    }
    Ok(())
}

/// The hints for opening a file, and its permissions if it is created.
pub fn opening(given: &Info) -> Result<(Info, u32)> {
    let mut hints = Info::new();
    update(&mut hints, given)?;
    let octal = |text| u32::from_str_radix(text, 8).ok().filter(|bits| *bits <= 0o7777);
    let permissions = given.text(PERMISSIONS).and_then(octal);
    if let (Some(_), Some(text)) = (permissions, given.text(PERMISSIONS)) {
        hints.set(PERMISSIONS.as_bytes(), text.as_bytes())?;
    }
    Ok((hints, permissions.unwrap_or(0o666)))
}

/// All hints with their current values.
pub fn in_force(file: &File) -> Result<Info> {
    let mut all = file.hints.clone();
    // A name may be longer than an info value.
    let name = file.io.name();
    all.set(b"filename", &name[..name.len().min(MPI_MAX_INFO_VAL as usize)])?;
    Ok(all)
}
