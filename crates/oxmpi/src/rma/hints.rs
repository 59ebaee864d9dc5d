//! The hints that windows know.

use oxmpi_abi::Result;
use oxmpi_core::info::Info;
use oxmpi_core::window::Win;
use oxmpi_rma::Flavor;

/// Booleans that are false unless the program sets them.
const ASSERTIONS: [&str; 3] = ["no_locks", "same_size", "same_disp_unit"];
pub const NONCONTIGUOUS: &str = "alloc_shared_noncontig";
pub(super) const GRANULARITY: &str = "mpi_accumulate_granularity";
const ORDERING: (&str, &str) = ("accumulate_ordering", "rar,raw,war,waw");
const OPS: (&str, &str) = ("accumulate_ops", "same_op_no_op");
/// Stored as they are, without a default.
const AS_THEY_ARE: [&str; 2] = ["mpi_assert_memory_alloc_kinds", "mpi_minimum_memory_alignment"];

/// Takes the hints that are known and valid; drops the rest. Some hints are used only when a window
/// is made.
pub fn update(hints: &mut Info, given: &Info, making: bool) -> Result<()> {
    let boolean = |hints: &mut Info, key: &str| match given.boolean(key) {
        Some(value) => hints.set(key.as_bytes(), if value { b"true" } else { b"false" }),
        None => Ok(()),
    };
    for key in ASSERTIONS {
        boolean(hints, key)?;
    }
    let orders = ["rar", "raw", "war", "waw"];
    if let Some(value) = given.text(ORDERING.0) {
        let is_list = given.list(ORDERING.0).all(|order| orders.contains(&order));
        if value == "none" || !value.is_empty() && is_list {
            hints.set(ORDERING.0.as_bytes(), value.as_bytes())?;
        }
    }
    if let Some(value) = given.text(OPS.0).filter(|value| ["same_op", "same_op_no_op"].contains(value)) {
        hints.set(OPS.0.as_bytes(), value.as_bytes())?;
    }
    if making {
        boolean(hints, NONCONTIGUOUS)?;
        if let Some(bytes) = given.integer(GRANULARITY).filter(|bytes| *bytes >= 0) {
            hints.set(GRANULARITY.as_bytes(), bytes.to_string().as_bytes())?;
        }
        for key in AS_THEY_ARE {
            if let Some(value) = given.text(key) {
                hints.set(key.as_bytes(), value.as_bytes())?;
            }
        }
    }
    Ok(())
}

/// All hints with their current values, including defaults.
pub fn in_force(win: &Win) -> Result<Info> {
    let mut all = Info::new();
    let mut add = |key: &str, default: Option<&str>| match win.hints.text(key).or(default) {
        Some(value) => all.set(key.as_bytes(), value.as_bytes()),
        None => Ok(()),
    };
    for key in ASSERTIONS {
        add(key, Some("false"))?;
    }
    add(ORDERING.0, Some(ORDERING.1))?;
    add(OPS.0, Some(OPS.1))?;
    add(GRANULARITY, Some("0"))?;
    if win.window.flavor == Flavor::Shared {
        add(NONCONTIGUOUS, Some("false"))?;
    }
    for key in AS_THEY_ARE {
        add(key, None)?;
    }
    Ok(all)
}
