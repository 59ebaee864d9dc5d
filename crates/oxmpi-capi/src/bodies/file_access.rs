//! Reads and writes of files: at an offset, at the file pointer of the process or at the shared one. The generator tells from
//! the name of a function which access it makes, and in which form; `file/access.rs` of the crate `oxmpi` makes it.

use crate::args::{Out, OutStatus};
use crate::call::Call;
use oxmpi::file::access::{Access, begin, perform, start};
use oxmpi_abi::Result;
use oxmpi_abi::handle::{File, Request};
use oxmpi_core::file::SplitAccess;

/// How an access is to be carried out.
pub enum FileForm {
    /// The call returns when it is done.
    Blocking(OutStatus<'static>),
    Nonblocking(Out<'static, Request>),
    /// A second call ends it.
    Split(SplitAccess),
}

pub unsafe fn file_access(cx: &Call, form: FileForm, access: Access) -> Result<()> {
    // SAFETY: the caller of MPI promises that the buffer is as the access says, for as long as the form needs it.
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

/// Ends an access that was begun as this one.
pub unsafe fn file_access_end(cx: &Call, fh: File, split: SplitAccess, status: OutStatus) -> Result<()> {
    status.set(&cx.enter()?.file_mut(fh)?.end_split(split)?);
    Ok(())
}
