//! The hints that files know.

use super::agree::{Among, agree};
use super::buffering::settle;
use oxmpi_abi::Result;
use oxmpi_abi::constants::MPI_MAX_INFO_VAL;
use oxmpi_abi::handle::File as Handle;
use oxmpi_core::call::Call;
use oxmpi_core::file::{Buffering, File, Switch};
use oxmpi_core::info::Info;

/// Hints about collective buffering that have an effect here.
const AGGREGATORS: &str = "cb_nodes";
const WINDOW: &str = "cb_buffer_size";
const UNIT: &str = "striping_unit";
const WRITES: &str = "romio_cb_write";
const READS: &str = "romio_cb_read";
/// Hints that are stored and reported, and change nothing.
const INTEGERS: [&str; 7] = ["cb_block_size", WINDOW, AGGREGATORS, "nb_proc", "num_io_nodes", "striping_factor", UNIT];
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
    for key in [WRITES, READS] {
        if let Some(value) = given.text(key).and_then(switch) {
            hints.set(key.as_bytes(), name_of(value))?;
        }
    }
    for key in WORDS {
        if let Some(value) = given.text(key) {
            hints.set(key.as_bytes(), value.as_bytes())?;
        }
    }
    Ok(())
}

/// Adds hints to those of an open file. Collective.
pub fn set(call: &Call, fh: Handle, given: Result<Info>) -> Result<()> {
    let mut guard = call.enter()?;
    guard.file(fh)?;
    let given = agree(call, &mut guard, Among::File(fh), given, [])?;
    update(&mut guard.file_mut(fh)?.hints, &given)?;
    settle(call, &mut guard, fh)
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

/// The largest window for collective buffering.
const LARGEST_WINDOW: i64 = 1 << 30;
/// The default window: it and the image before it fit into the cache of a processor.
const DEFAULT_WINDOW: i64 = 1 << 20;

fn switch(text: &str) -> Option<Switch> {
    match text.to_ascii_lowercase().as_str() {
        "automatic" => Some(Switch::Automatic),
        "enable" => Some(Switch::Enabled),
        "disable" => Some(Switch::Disabled),
        _ => None,
    }
}

fn name_of(switch: Switch) -> &'static [u8] {
    match switch {
        Switch::Automatic => b"automatic",
        Switch::Enabled => b"enable",
        Switch::Disabled => b"disable",
    }
}

/// What the hints of one process say about collective buffering among so many processes.
pub(super) fn buffering(hints: &Info, processes: usize) -> Buffering {
    let all = match hints.boolean(COLLECTIVE_BUFFERING) {
        Some(true) => Switch::Enabled,
        Some(false) => Switch::Disabled,
        None => Switch::Automatic,
    };
    let one = |key| hints.text(key).and_then(switch).unwrap_or(all);
    let number = |key, default: i64| hints.integer(key).filter(|value| *value > 0).unwrap_or(default);
    let processes = i64::try_from(processes).unwrap_or(i64::MAX);
    let window = number(WINDOW, DEFAULT_WINDOW).clamp(4096, LARGEST_WINDOW) as usize;
    Buffering {
        write: one(WRITES),
        read: one(READS),
        aggregators: number(AGGREGATORS, processes).min(processes) as usize,
        window: window.next_multiple_of(4096),
        unit: number(UNIT, 1) as u64,
        ..Buffering::default()
    }
}

/// All hints with their current values.
pub fn in_force(file: &File) -> Result<Info> {
    let mut all = file.hints.clone();
    let Buffering { write, read, aggregators, window, .. } = &file.buffering;
    all.set(WRITES.as_bytes(), name_of(*write))?;
    all.set(READS.as_bytes(), name_of(*read))?;
    all.set(AGGREGATORS.as_bytes(), aggregators.to_string().as_bytes())?;
    all.set(WINDOW.as_bytes(), window.to_string().as_bytes())?;
    // A name may be longer than an info value.
    let name = file.io.name();
    all.set(b"filename", &name[..name.len().min(MPI_MAX_INFO_VAL as usize)])?;
    Ok(all)
}
