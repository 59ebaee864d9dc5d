//! Checks of arguments, and the texts of their errors. Nothing here reads the state of the library.

use crate::comm::Comm;
use crate::foreign;
use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::slots::{Lookup, SlotTable};
use oxmpi_datatype::Datatype;

/// The largest tag: `MPI_TAG_UB`. The library uses negative tags.
pub const TAG_UB: i32 = i32::MAX;

/// Addresses below this are never valid: small numbers are constants of the ABI or null pointers.
pub(crate) const FIRST_ADDRESS: usize = 4096;

#[inline]
pub fn check_count(count: i64) -> Result<()> {
    if count < 0 { Err(negative_count(count)) } else { Ok(()) }
}

/// Whether so many elements of a type can be communicated.
pub fn check_usable(datatype: &Datatype, count: i64) -> Result<()> {
    if !datatype.is_committed() {
        bail!(MPI_ERR_TYPE, "the datatype has not been committed (MPI_Type_commit)");
    }
    let bytes = datatype.size().checked_mul(i128::from(count));
    if bytes.is_none_or(|bytes| bytes > isize::MAX as i128) {
        bail!(MPI_ERR_COUNT, "{count} elements of {} bytes are more than memory can hold", datatype.size());
    }
    Ok(())
}

#[cold]
fn negative_count(count: i64) -> Error {
    Error::new(MPI_ERR_COUNT, format!("the count is {count}, which is negative"))
}

#[cold]
pub(crate) fn overlapping() -> Error {
    Error::new(MPI_ERR_TYPE, "entries of the datatype overlap; nothing can be received into it")
}

#[cold]
pub(crate) fn bad_address(address: usize) -> Error {
    let text = match address {
        0 => "the buffer is a null pointer, but the count is not zero".into(),
        MPI_IN_PLACE => "MPI_IN_PLACE is not a buffer for this call".into(),
        _ => format!("the buffer's address {address:#x} is invalid"),
    };
    Error::new(MPI_ERR_BUFFER, text)
}

#[cold]
pub(crate) fn bad_tag(tag: i32, receive: bool) -> Error {
    let or = if receive { ", or be MPI_ANY_TAG" } else { "" };
    let text = match tag {
        MPI_ANY_TAG => "MPI_ANY_TAG is for receives; a send needs a tag of its own".into(),
        _ => format!("the tag is {tag}; it must lie between 0 and {TAG_UB} (MPI_TAG_UB){or}"),
    };
    Error::new(MPI_ERR_TAG, text)
}

#[cold]
pub(crate) fn bad_rank(comm: &Comm, rank: i32, receive: bool) -> Error {
    let (name, argument) = (comm.describe(), if receive { "source" } else { "dest" });
    let text = match rank {
        MPI_ANY_SOURCE => "dest is MPI_ANY_SOURCE, which is for receives; a send needs one destination".into(),
        MPI_ROOT => format!("{argument} is MPI_ROOT, which is not a rank to send to or receive from"),
        _ if comm.size() == 0 => format!("{argument} is {rank}; {name} has no ranks yet: its request is not complete"),
        _ => format!(
            "{argument} is {rank}; it must be a rank of {name}, 0 to {}, or {}MPI_PROC_NULL",
            comm.size() - 1,
            if receive { "MPI_ANY_SOURCE or " } else { "" }
        ),
    };
    Error::new(MPI_ERR_RANK, text)
}

fn with_article(what: &str) -> String {
    let article = if what.starts_with(['a', 'e', 'i', 'o']) { "an" } else { "a" };
    format!("{article} {what}")
}

/// The text of an error about an invalid handle.
#[cold]
pub fn bad_handle<T>(
    table: &SlotTable<T>,
    class: i32,
    handle: usize,
    what: &str,
    null: usize,
    null_name: &str,
) -> Error {
    let text = match table.diagnose(handle) {
        _ if handle == null => format!("the {what} is {null_name}"),
        _ if handle == 0 => format!("the {what} is 0, which is never a handle: was it initialised?"),
        Lookup::Freed => format!("the {what} {handle:#x} has been freed"),
        Lookup::WrongKind(kind) => {
            format!("{handle:#x} is {}, not {}", with_article(&kind.to_string()), with_article(what))
        }
        Lookup::Live | Lookup::Garbage => format!("{handle:#x} is not {}{}", with_article(what), foreign::hint(handle)),
    };
    Error::new(class, text)
}
