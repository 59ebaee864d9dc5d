//! Windows as objects with handles. `oxmpi-rma` accesses them.

use crate::group::Group;
use crate::info::Info;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Errhandler;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::ids::Peer;
use oxmpi_base::message_queues::{VecPlace, WindowsPlace};
use oxmpi_base::slots::SlotTable;
use oxmpi_rma::Window;
use oxmpi_transport::NodeMemory;
use std::mem::offset_of;
use std::sync::Arc;

pub struct Win {
    pub window: Window,
    pub group: Arc<Group>,
    pub errhandler: Errhandler,
    /// Bytes, as C passes them.
    pub name: Vec<u8>,
    /// The hints of the program that have an effect here.
    pub hints: Info,
    /// The number by which it is revoked: odd, as no communicator's.
    pub context: u32,
}

impl Win {
    /// Where a debugger finds the windows of a table at `offset`.
    pub fn place(offset: usize) -> WindowsPlace {
        let [rank, ranks, base, facts] = Window::places().map(|place| offset_of!(Win, window) as u32 + place);
        let (table, name) = (SlotTable::<Box<Win>>::place(offset), VecPlace::at::<u8>(offset_of!(Win, name)));
        WindowsPlace { table, name, rank, ranks, base, facts }
    }

    /// Its name in error texts.
    pub fn describe(&self) -> String {
        match self.name.is_empty() {
            false => String::from_utf8_lossy(&self.name).into_owned(),
            true => format!("a window of {} processes", self.window.size()),
        }
    }

    /// The error of a wait for a process that has died.
    pub fn died(&self, node: &NodeMemory, rank: usize) -> Error {
        let foreign = if node.is_foreign(self.window.process_of(rank)) { " a process of another job," } else { "" };
        let text = format!("rank {rank} of {},{foreign} has ended, so this call cannot complete", self.describe());
        Error::new(if node.goes_on() { MPIX_ERR_PROC_FAILED } else { MPI_ERR_PROC_ABORTED }, text)
    }

    /// The error of a wait for a rank that has finalized.
    pub fn absent(&self, rank: usize) -> Error {
        let text = format!("rank {rank} of {}, which this call waits for, has called MPI_Finalize", self.describe());
        Error::new(MPI_ERR_RMA_SYNC, text)
    }

    /// The ranks in this window of the processes of a group.
    pub fn ranks_of(&self, group: &Group) -> Result<Box<[u32]>> {
        let rank = |process: Peer| match self.group.rank_of(process) {
            Some(rank) => Ok(rank as u32),
            None => bail!(MPI_ERR_GROUP, "the group has a process that is not in the group of {}", self.describe()),
        };
        group.iter().map(rank).collect()
    }
}
