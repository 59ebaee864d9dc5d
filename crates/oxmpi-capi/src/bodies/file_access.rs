//! Reads and writes of files: at an offset, at the individual or the shared file pointer. The
//! generator derives access and form from the name of a function; `oxmpi::file::access` performs
//! it.

use crate::args::{Out, OutStatus};
use crate::call::Call;
use oxmpi::file::access::{Access, begin, end, perform, start};
use oxmpi_abi::Result;
use oxmpi_abi::handle::{File, Request};
use oxmpi_core::file::SplitAccess;
use std::ffi::c_void;

/// The form of an access.
pub enum FileForm {
    /// The call returns when it is complete.
    Blocking(OutStatus<'static>),
    Nonblocking(Out<'static, Request>),
    /// A second call ends it.
    Split(SplitAccess),
}

pub unsafe fn file_access(cx: &Call, form: FileForm, access: Access) -> Result<()> {
    // SAFETY: the program promises that the buffer is as the access says, as long as it is used.
    unsafe {
        match form {
            FileForm::Blocking(status) => status.set(&perform(cx, access)?),
            FileForm::Nonblocking(request) => {
                request.check("request")?;
                request.set(start(cx, access)?);
            }
            FileForm::Split(split) => begin(cx, access, split)?,
        }
    }
    Ok(())
}

/// Ends a split collective access.
pub unsafe fn file_access_end(
    cx: &Call,
    fh: File,
    split: SplitAccess,
    buf: *mut c_void,
    status: OutStatus,
) -> Result<()> {
    end(cx, fh, split, buf.addr(), status)
}
