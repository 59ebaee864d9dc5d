//! Files as objects that handles name. What is done with them is in `oxmpi-io`.

use crate::comm::Comm;
use crate::group::Group;
use crate::info::Info;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Errhandler;
use oxmpi_abi::{Result, Status, bail};
use oxmpi_io::{SharedPointer, View};
use std::sync::Arc;

pub struct File {
    pub io: Arc<oxmpi_io::File>,
    /// Of the processes that have opened it, for the library's own messages: no handle names it.
    pub comm: Comm,
    pub group: Arc<Group>,
    pub errhandler: Errhandler,
    /// The hints that the program gave and that mean something here.
    pub hints: Info,
    pub view: Arc<View>,
    /// This process's file pointer, in etypes.
    pub position: i64,
    pub shared: Arc<SharedPointer>,
    pub atomic: bool,
    pub split: Option<Split>,
}

/// A collective access that has begun, and is done, and whose end the program has yet to ask for.
#[derive(Clone, Copy)]
pub struct Split {
    pub access: SplitAccess,
    pub status: Status,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SplitAccess {
    ReadAt,
    Read,
    ReadOrdered,
    WriteAt,
    Write,
    WriteOrdered,
}

impl SplitAccess {
    /// How the functions of its begin and end are called, but for their endings.
    pub fn name(self) -> &'static str {
        match self {
            SplitAccess::ReadAt => "MPI_File_read_at_all",
            SplitAccess::Read => "MPI_File_read_all",
            SplitAccess::ReadOrdered => "MPI_File_read_ordered",
            SplitAccess::WriteAt => "MPI_File_write_at_all",
            SplitAccess::Write => "MPI_File_write_all",
            SplitAccess::WriteOrdered => "MPI_File_write_ordered",
        }
    }
}

impl File {
    /// How an error text calls it.
    pub fn describe(&self) -> String {
        format!("file \"{}\"", self.io.show())
    }

    /// No collective access has begun and not ended.
    pub fn check_idle(&self) -> Result<()> {
        if let Some(Split { access, .. }) = self.split {
            bail!(MPI_ERR_IO, "{}_begin has been called, and {0}_end has not", access.name());
        }
        Ok(())
    }

    /// The access that began last ends.
    pub fn end_split(&mut self, access: SplitAccess) -> Result<Status> {
        match self.split.take_if(|split| split.access == access) {
            Some(split) => Ok(split.status),
            None => {
                self.check_idle()?;
                bail!(MPI_ERR_IO, "{}_begin has not been called", access.name());
            }
        }
    }
}
