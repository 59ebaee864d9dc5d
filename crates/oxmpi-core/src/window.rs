//! Windows as objects that handles name. What they do is in `oxmpi-rma`.

use crate::group::Group;
use crate::info::Info;
use crate::process::{Process, bad_handle, check_count, check_usable};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{self, Errhandler};
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::ids::Peer;
use oxmpi_rma::{Spot, Window};
use oxmpi_transport::NodeMemory;
use std::sync::Arc;

pub struct Win {
    pub window: Window,
    pub group: Arc<Group>,
    pub errhandler: Errhandler,
    /// Bytes, as C gives them.
    pub name: Vec<u8>,
    /// The hints that the program gave and that mean something here.
    pub hints: Info,
}

impl Win {
    /// How an error text calls it.
    pub fn describe(&self) -> String {
        match self.name.is_empty() {
            false => String::from_utf8_lossy(&self.name).into_owned(),
            true => format!("a window of {} processes", self.window.size()),
        }
    }

    /// The ranks in this window of a group's processes.
    pub fn ranks_of(&self, group: &Group) -> Result<Box<[u32]>> {
        let rank = |process: Peer| match self.group.rank_of(process) {
            Some(rank) => Ok(rank as u32),
            None => bail!(MPI_ERR_GROUP, "the group has a process that is not in the group of {}", self.describe()),
        };
        group.iter().map(rank).collect()
    }
}

impl Process {
    #[inline]
    pub fn win(&self, handle: handle::Win) -> Result<&Win> {
        match self.windows.get(handle.0) {
            Some(found) => Ok(found),
            None => Err(self.bad_window(handle)),
        }
    }

    #[inline]
    pub fn win_mut(&mut self, handle: handle::Win) -> Result<&mut Win> {
        if !self.windows.contains(handle.0) {
            return Err(self.bad_window(handle));
        }
        self.windows.get_mut(handle.0).map(|found| &mut **found).ok_or_else(|| unreachable!("just found"))
    }

    /// A window, and what wakes its ranks.
    pub fn win_and_node(&mut self, handle: handle::Win) -> Result<(&mut Window, &NodeMemory)> {
        self.win(handle)?;
        match self.windows.get_mut(handle.0) {
            Some(found) => Ok((&mut found.window, self.engine.node())),
            None => unreachable!("just found"),
        }
    }

    #[cold]
    fn bad_window(&self, handle: handle::Win) -> Error {
        bad_handle(&self.windows, MPI_ERR_WIN, handle.0, "window", MPI_WIN_NULL.0, "MPI_WIN_NULL")
    }

    /// Does what other ranks ask for on this one's memory; true when something was done.
    pub(crate) fn serve_windows(&mut self) -> bool {
        let serve = |served, handle: &handle::Win| match self.windows.get(handle.0) {
            Some(found) => found.window.serve(Some(self.engine.node())) | served,
            None => served,
        };
        self.serving_windows.iter().fold(false, serve)
    }

    /// Takes a window in.
    pub fn add_window(&mut self, win: Win) -> Result<handle::Win> {
        let may_serve = win.window.may_serve();
        let Ok(number) = self.windows.try_insert(Box::new(win)) else {
            bail!(MPI_ERR_NO_SPACE, "no handles are left for windows");
        };
        if may_serve {
            self.serving_windows.push(handle::Win(number));
        }
        Ok(handle::Win(number))
    }

    pub fn remove_window(&mut self, handle: handle::Win) -> Option<Box<Win>> {
        self.serving_windows.retain(|serving| *serving != handle);
        self.windows.remove(handle.0)
    }

    /// The piece of a window that an operation is for, once the rank may be accessed; `None` for `MPI_PROC_NULL`.
    pub fn spot(
        &mut self,
        win: handle::Win,
        rank: i32,
        disp: i64,
        count: i64,
        datatype: handle::Datatype,
    ) -> Result<Option<Spot>> {
        self.win(win)?;
        self.datatype(datatype)?;
        let window = &mut self.win_mut(win)?.window;
        if rank == MPI_PROC_NULL {
            return Ok(None);
        }
        let rank = window.check_rank(rank)?;
        window.check_open(rank)?;
        check_count(count)?;
        let found = self.datatype(datatype)?;
        check_usable(found, count)?;
        self.win(win)?.window.spot(rank, disp, count as u64, found).map(Some)
    }
}
