//! The participants of a collective operation, and the role of this process.

use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Comm;
use oxmpi_abi::{Result, bail};
use oxmpi_coll::nodes::NodeMap;
use oxmpi_core::call::Guard;
use oxmpi_core::collective::Stage;
use oxmpi_core::explain::Speaker;
use oxmpi_core::plan_cache::PlanCache;
use std::sync::Arc;

/// What plans need to know about the communicator of a collective operation.
#[derive(Debug)]
pub(super) struct CollShape<'a> {
    /// This process's rank in its own group.
    pub rank: usize,
    /// The number of ranks that can be addressed: of the group, or of the remote group.
    pub size: usize,
    /// The size of the group that this process is in.
    pub local: usize,
    pub inter: bool,
    /// Where the ranks run, if that is on several nodes.
    pub nodes: Option<&'a Arc<NodeMap>>,
    /// Plans of the last operations.
    pub plans: &'a PlanCache,
    /// Explains the chosen algorithms, if the user asked for that.
    pub speaker: Option<Speaker>,
}

/// The role of this process in an operation with a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Intracommunicator: all ranks take part, and this rank is the root.
    Among(usize),
    /// Intercommunicator: this process is the root.
    Root,
    /// In the root's group, but not the root: nothing to do.
    Idle,
    /// In the other group: the root's rank.
    Facing(usize),
}

impl<'a> CollShape<'a> {
    pub fn new(guard: &'a Guard<'_>, comm: Comm) -> Result<CollShape<'a>> {
        let nodes = guard.node_map(comm)?;
        let comm = guard.comm(comm)?;
        Ok(CollShape {
            rank: comm.rank as usize,
            size: comm.size() as usize,
            local: comm.local_group().len(),
            inter: comm.is_inter(),
            nodes,
            plans: comm.plans.get_or_init(Arc::default),
            speaker: comm.speaker(),
        })
    }

    /// Checks the argument `root`.
    pub fn role(&self, root: i32) -> Result<Role> {
        let size = self.size;
        match (self.inter, root) {
            (false, root) if (root as u32 as usize) < size && root >= 0 => Ok(Role::Among(root as usize)),
            (true, MPI_ROOT) => Ok(Role::Root),
            (true, MPI_PROC_NULL) => Ok(Role::Idle),
            (true, root) if root >= 0 && (root as usize) < size => Ok(Role::Facing(root as usize)),
            (false, MPI_ROOT) => {
                bail!(MPI_ERR_ROOT, "MPI_ROOT is for intercommunicators; the root must be a rank here")
            }
            (false, _) => bail!(MPI_ERR_ROOT, "the root is {root}; it must lie between 0 and {}", size - 1),
            (true, _) => bail!(
                MPI_ERR_ROOT,
                "the root is {root}; in an intercommunicator it must be a rank of the other group (0 to {}), MPI_ROOT or \
                 MPI_PROC_NULL",
                size - 1
            ),
        }
    }
}

/// The context of the next collective operation. Take it after all arguments have been checked.
#[inline]
pub(super) fn stage(guard: &mut Guard, comm: Comm) -> Result<Stage> {
    guard.comm_mut(comm).map(Stage::new)
}

/// The same for an operation with a root.
#[inline]
pub(super) fn rooted_stage(guard: &mut Guard, comm: Comm, role: Role) -> Result<Stage> {
    let mut stage = stage(guard, comm)?;
    // On an intercommunicator, ranks name different roots.
    if let Role::Among(root) = role {
        stage.root = Some(root);
    }
    Ok(stage)
}

/// An error where `MPI_IN_PLACE` has no meaning.
pub(super) fn refuse_in_place(address: *const std::ffi::c_void, what: &str) -> Result<()> {
    if address as usize == MPI_IN_PLACE {
        bail!(MPI_ERR_BUFFER, "MPI_IN_PLACE is not allowed as {what} here");
    }
    Ok(())
}

/// An error where the same memory is sent from and received into.
pub(super) fn refuse_alias(send: *const std::ffi::c_void, recv: *const std::ffi::c_void, bytes: usize) -> Result<()> {
    if send == recv && bytes > 0 && !send.is_null() {
        bail!(MPI_ERR_BUFFER, "the send buffer and the receive buffer are the same memory; MPI_IN_PLACE is for that");
    }
    Ok(())
}
