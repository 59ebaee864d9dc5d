//! Files as objects with handles. `oxmpi-io` accesses them.

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
    /// The processes that opened it, for the library's own messages; it has no handle.
    pub comm: Comm,
    pub group: Arc<Group>,
    pub errhandler: Errhandler,
    /// The hints of the program that have an effect here.
    pub hints: Info,
    pub view: Arc<View>,
    /// This process's file pointer, in etypes.
    pub position: i64,
    pub shared: Arc<SharedPointer>,
    pub atomic: bool,
    pub split: Option<Split>,
}

/// A split collective access that is complete, and whose end call is still to come.
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
    /// The common part of the names of its begin and end functions.
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
    /// Its name in error texts.
    pub fn describe(&self) -> String {
        format!("file \"{}\"", self.io.show())
    }

    /// An error if a split collective access has begun and not ended.
    pub fn check_idle(&self) -> Result<()> {
        if let Some(Split { access, .. }) = self.split {
            bail!(MPI_ERR_IO, "{}_begin has been called, and {0}_end has not", access.name());
        }
        Ok(())
    }

    /// Ends the split collective access.
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
