//! Reads and writes of files: at an offset, at the file pointer of the process or at the shared one. The generator tells from
//! the name of a function which access it makes, and in which form; `file/access.rs` of the crate `oxmpi` makes it.

use super::store_status;
use crate::call::{Call, started};
use oxmpi::coll::Nonblocking;
use oxmpi::file::access::{Access, begin, perform, start};
use oxmpi_abi::handle::{File, Request};
use oxmpi_abi::{Result, Status};
use oxmpi_core::file::SplitAccess;

/// How an access is to be carried out.
pub enum FileForm {
    /// The call returns when it is done.
    Blocking(*mut Status),
    Nonblocking(*mut Request),
    /// A second call ends it.
    Split(SplitAccess),
}

pub unsafe fn file_access(cx: &Call, form: FileForm, access: Access) -> Result<()> {
    // SAFETY: the caller of MPI promises that the buffer is as the access says, for as long as the form needs it, and that
    // the places for a status and a request are null or may be written.
    unsafe {
        match form {
            FileForm::Blocking(status) => {
                let moved = perform(cx, access)?;
                store_status(status, &moved);
                Ok(())
            }
            FileForm::Nonblocking(request) => started(cx, Nonblocking, request, || start(cx, access)),
            FileForm::Split(split) => begin(cx, access, split),
        }
    }
}

/// Ends an access that was begun as this one.
pub unsafe fn file_access_end(cx: &Call, fh: File, split: SplitAccess, status: *mut Status) -> Result<()> {
    let moved = cx.enter()?.file_mut(fh)?.end_split(split)?;
    // SAFETY: the caller of MPI promises that `status` is null or may be written.
    unsafe { store_status(status, &moved) };
    Ok(())
}
