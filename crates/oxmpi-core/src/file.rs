//! Files as objects with handles. `oxmpi-io` accesses them.

use crate::comm::Comm;
use crate::group::Group;
use crate::info::Info;
use crate::ranks::Ranks;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Errhandler, Request};
use oxmpi_abi::{Result, bail};
use oxmpi_io::{SharedPointer, Staging, View};
use std::ops::Range;
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
    pub buffering: Buffering,
    /// Staging memory that was replaced; it is kept until the file is closed.
    pub old_staging: Vec<Arc<NodeStaging>>,
    pub split: Option<Split>,
    /// With `--check`: the bytes of the file that this process has written since the last synchronisation, as long as they
    /// are known.
    pub written: Option<Vec<Range<u64>>>,
    /// The same of what it has read.
    pub read: Option<Vec<Range<u64>>>,
    /// With `--check`: a process whose view differs from this one's.
    pub other_view: Option<usize>,
}

/// How collective accesses are buffered; equal on all processes of the file.
#[derive(Clone)]
pub struct Buffering {
    pub write: Switch,
    pub read: Switch,
    /// The shortest average length of the runs of a process's view; 0 if one is not known yet.
    pub run: usize,
    /// The number of processes.
    pub processes: usize,
    /// The number of processes that access the file for the others.
    pub aggregators: usize,
    /// Bytes of the file that are gathered at a time.
    pub window: usize,
    /// Where windows begin is a multiple of this.
    pub unit: u64,
    /// Where the pieces are gathered, once there was a reason to make it.
    pub staging: Option<Arc<NodeStaging>>,
}

/// So many processes wait for each other rather than that each of them reads the pieces of all.
const MANY_READERS: usize = 8;

/// Whether something is done.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Switch {
    /// Where it is expected to be faster.
    #[default]
    Automatic,
    Enabled,
    Disabled,
}

impl Default for Buffering {
    fn default() -> Buffering {
        let (write, read) = (Switch::Automatic, Switch::Automatic);
        Buffering { write, read, run: usize::MAX, processes: 1, aggregators: 1, window: 0, unit: 1, staging: None }
    }
}

impl Buffering {
    pub fn switch(&self, writes: bool) -> Switch {
        if writes { self.write } else { self.read }
    }

    /// The staging memory, if the processes exchange facts in each collective access to decide
    /// whether it is used.
    pub fn candidate(&self, writes: bool) -> Option<&Arc<NodeStaging>> {
        self.staging.as_ref().filter(|_| self.is_wanted(writes))
    }

    /// Whether collective accesses may be buffered.
    pub fn is_wanted(&self, writes: bool) -> bool {
        match self.switch(writes) {
            Switch::Automatic => self.run < self.long_run(writes),
            Switch::Enabled => self.processes > 1,
            Switch::Disabled => false,
        }
    }

    /// Runs of the file that are at least so long on average are not gathered: a system call for
    /// each of them costs less than the copies and the waiting. Short runs that are read alone are
    /// read together with the gaps between them, that is with the pieces of the others, which is
    /// slower the more of them there are.
    pub fn long_run(&self, writes: bool) -> usize {
        match writes {
            true => 1024,
            false if self.processes < MANY_READERS => 32,
            false => 16 << 10,
        }
    }
}

/// The staging memory of this process's node, and the nodes of the file's processes.
pub struct NodeStaging {
    pub memory: Arc<Staging>,
    /// The ranks of the first process of each node.
    pub leaders: Vec<usize>,
    /// This process's node among them.
    pub own: usize,
    /// The processes of this node, and this process among them.
    pub locals: Ranks,
    pub rank: usize,
}

/// A split collective access whose end call is still to come.
#[derive(Clone, Copy)]
pub struct Split {
    pub access: SplitAccess,
    /// Completes with the access; the program does not know it.
    pub request: Request,
    /// The address of its buffer.
    pub buffer: usize,
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

    /// Ends the split collective access; the caller completes its request.
    pub fn end_split(&mut self, access: SplitAccess) -> Result<Split> {
        match self.split.take_if(|split| split.access == access) {
            Some(split) => Ok(split),
            None => {
                self.check_idle()?;
                bail!(MPI_ERR_IO, "{}_begin has not been called", access.name());
            }
        }
    }
}
