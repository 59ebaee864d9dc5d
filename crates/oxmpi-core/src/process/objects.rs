//! The objects behind handles, and how objects get and lose their handles.

use super::Process;
use crate::checks::{bad_handle, check_count, check_usable};
use crate::comm::Comm;
use crate::contexts::NOT_YET;
use crate::file::File;
use crate::group::Group;
use crate::operation::{Operation, Reducer};
use crate::request::Request;
use crate::window::Win;
use oxmpi_abi::constants::*;
use oxmpi_abi::handle;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_datatype::Datatype;
use oxmpi_ops::{Op, Reduction};
use oxmpi_rma::{TargetRegion, Window};
use oxmpi_transport::NodeMemory;
use std::sync::Arc;

impl Process {
    // ---- communicators, groups, requests, datatypes ----

    #[inline]
    pub fn comm(&self, handle: handle::Comm) -> Result<&Comm> {
        let found = self.comms.get(handle).filter(|comm| comm.context != NOT_YET || !self.is_awaited(handle));
        found.ok_or_else(|| self.bad_comm(handle))
    }

    /// Whether the request of the call that makes a communicator is not complete.
    #[cold]
    fn is_awaited(&self, handle: handle::Comm) -> bool {
        let mut pending = self.pending_comms.iter().map(|pending| pending.comm);
        let mut held = self.held_members.iter().map(|(members, _)| members.comm);
        pending.any(|comm| comm == handle) || held.any(|comm| comm == handle)
    }

    /// Says which processes the `MPI_Abort` of a communicator is to end, and returns its description.
    pub fn doom(&mut self, handle: handle::Comm) -> Option<String> {
        let comm = self.comm(handle).ok()?;
        let description = comm.describe();
        if !comm.is_inter() {
            let members: Vec<_> = comm.local_group().iter().collect();
            if self.engine.node().doom(&members) {
                self.abort_on_hosts(&members);
            }
        }
        Some(description)
    }

    pub fn comm_mut(&mut self, handle: handle::Comm) -> Result<&mut Comm> {
        match self.comms.get(handle) {
            None => Err(self.bad_comm(handle)),
            Some(_) => self.comms.get_mut(handle).ok_or_else(|| unreachable!("just found")),
        }
    }

    #[cold]
    pub(crate) fn bad_comm(&self, handle: handle::Comm) -> Error {
        if handle == MPI_COMM_WORLD || handle == MPI_COMM_SELF {
            let name = if handle == MPI_COMM_WORLD { "MPI_COMM_WORLD" } else { "MPI_COMM_SELF" };
            return Error::new(MPI_ERR_COMM, format!("{name} exists only between MPI_Init and MPI_Finalize"));
        }
        if self.comms.get(handle).is_some() {
            let text = "the communicator cannot be used yet: the request of the call that makes it is not complete";
            return Error::new(MPI_ERR_COMM, text);
        }
        bad_handle(&self.comms.made, MPI_ERR_COMM, handle.0, "communicator", MPI_COMM_NULL.0, "MPI_COMM_NULL")
    }

    pub fn group(&self, handle: handle::Group) -> Result<&Arc<Group>> {
        match self.groups.get(handle.0) {
            Some(found) => Ok(found),
            None if handle == MPI_GROUP_EMPTY => Ok(&self.no_members),
            None => Err(bad_handle(&self.groups, MPI_ERR_GROUP, handle.0, "group", MPI_GROUP_NULL.0, "MPI_GROUP_NULL")),
        }
    }

    pub fn request(&self, handle: handle::Request) -> Result<&Request> {
        self.requests.get(handle.0).ok_or_else(|| self.bad_request(handle))
    }

    #[cold]
    pub fn bad_request(&self, handle: handle::Request) -> Error {
        bad_handle(&self.requests, MPI_ERR_REQUEST, handle.0, "request", MPI_REQUEST_NULL.0, "MPI_REQUEST_NULL")
    }

    /// A type, predefined or derived.
    pub fn datatype(&self, handle: handle::Datatype) -> Result<&Arc<Datatype>> {
        if let Some(found) = self.types.get(handle.0) {
            return Ok(found);
        }
        match oxmpi_datatype::predefined(handle.0) {
            Some(found) => Ok(found),
            None => {
                let (null, name) = (MPI_DATATYPE_NULL.0, "MPI_DATATYPE_NULL");
                Err(bad_handle(&self.types, MPI_ERR_TYPE, handle.0, "datatype", null, name))
            }
        }
    }

    // ---- windows ----

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

    /// A window, and the node memory that wakes its ranks.
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

    /// Serves requests of other ranks for this one's memory; true when there was one.
    pub(crate) fn serve_windows(&mut self) -> bool {
        let serve = |served, handle: &handle::Win| match self.windows.get(handle.0) {
            Some(found) => found.window.serve(Some(self.engine.node())) | served,
            None => served,
        };
        self.serving_windows.iter().fold(false, serve)
    }

    /// Adds a window.
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

    /// The target region of an operation, once the rank may be accessed; `None` for
    /// `MPI_PROC_NULL`.
    pub fn target_region(
        &mut self,
        win: handle::Win,
        rank: i32,
        disp: i64,
        count: i64,
        datatype: handle::Datatype,
    ) -> Result<Option<TargetRegion>> {
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
        self.win(win)?.window.target_region(rank, disp, count as u64, found).map(Some)
    }

    // ---- files ----

    pub fn file(&self, handle: handle::File) -> Result<&File> {
        match self.files.get(handle.0) {
            Some(found) => Ok(found),
            None => Err(self.bad_file(handle)),
        }
    }

    pub fn file_mut(&mut self, handle: handle::File) -> Result<&mut File> {
        if !self.files.contains(handle.0) {
            return Err(self.bad_file(handle));
        }
        self.files.get_mut(handle.0).map(|found| &mut **found).ok_or_else(|| unreachable!("just found"))
    }

    #[cold]
    fn bad_file(&self, handle: handle::File) -> Error {
        bad_handle(&self.files, MPI_ERR_FILE, handle.0, "file", MPI_FILE_NULL.0, "MPI_FILE_NULL")
    }

    /// Adds a file.
    pub fn add_file(&mut self, file: File) -> Result<handle::File> {
        self.contexts.release(file.comm.context);
        match self.files.try_insert(Box::new(file)) {
            Ok(number) => Ok(handle::File(number)),
            Err(_) => bail!(MPI_ERR_NO_SPACE, "no handles are left for files"),
        }
    }

    // ---- reduction operations ----

    pub fn operation(&self, op: handle::Op) -> Result<Operation> {
        if let Some(found) = oxmpi_ops::predefined(op.0) {
            return Ok(Operation::Predefined(found));
        }
        match self.operations.get(op.0) {
            Some(found) => Ok(Operation::User(Arc::clone(found))),
            None => {
                Err(bad_handle(&self.operations, MPI_ERR_OP, op.0, "reduction operation", MPI_OP_NULL.0, "MPI_OP_NULL"))
            }
        }
    }

    /// The reduction for an operation and a type.
    pub fn reducer(&self, op: handle::Op, datatype: handle::Datatype) -> Result<Reducer> {
        let operation = self.operation(op)?;
        let found = self.datatype(datatype)?;
        check_usable(found, 1)?;
        match operation {
            Operation::Predefined(op @ (Op::Replace | Op::NoOp)) => {
                bail!(MPI_ERR_OP, "{} is for one-sided communication only; a reduction cannot use it", op.name())
            }
            Operation::Predefined(op) => Ok(Reducer::Predefined(Reduction::new(op, found)?)),
            Operation::User(function) => Ok(Reducer::User { function, datatype, held: Arc::clone(found) }),
        }
    }
}
