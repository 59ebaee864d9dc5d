//! How a rank joins its job when another launcher has started it: the manager tells its rank, the helper of its node
//! (`node_helper.rs`) makes what our own `mpirun` would have made, and the nodes tell each other through the manager where
//! they are.
//!
//! What comes out is the same [`Member`] as for a rank of `mpirun`; nothing above knows the difference.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use oxmpi_base::address::JobId;
use oxmpi_base::ids::WorldRank;
use oxmpi_base::segment::Segment;
use oxmpi_base::{lifeline, limits};

use crate::handshake::{End, random};
use crate::manager::record::{self, Secret};
use crate::manager::{self, Manager, Told, pmi, pmix};
use crate::network::Network;
use crate::node_helper::{Given, NodeHelper, Table};
use crate::nodes::NodeTable;
use crate::{Claim, Member, Reached, Start, claim, deal, env, fail, foreign};

/// What has started a process, as its environment says.
#[derive(Debug, PartialEq, Eq)]
pub enum Identity {
    /// Nobody whom a program would join.
    None,
    /// Our own `mpirun`.
    Own,
    /// A launcher whose process manager can be spoken with.
    Manager(&'static str),
    /// Another launcher: why its processes cannot join.
    Unknown(String),
}

/// What has started this process, without joining anything.
pub fn identify(var: &impl Fn(&str) -> Option<String>) -> Identity {
    if var(env::JOB).is_some() {
        return Identity::Own;
    }
    if pmi::is_there(var) {
        return Identity::Manager(foreign::pmi_launcher(var));
    }
    match foreign::launcher(var) {
        None => Identity::None,
        Some(_) if pmix::is_there(var) => Identity::Manager(foreign::pmix_launcher(var)),
        // Our own `mpirun` has set what looks like another launcher's: a rank runs a program without its OXMPI_JOB.
        Some(_) if var(env::RANK).is_some() => Identity::None,
        Some(launcher) => Identity::Unknown(launcher.complaint()),
    }
}

/// What keeps programs from joining the job of the manager that has started this process, as far as that can be seen
/// without joining.
pub fn obstacle(var: &impl Fn(&str) -> Option<String>) -> Option<String> {
    if pmi::is_there(var) { None } else { pmix::library(var).err() }
}

/// How a process starts that no `mpirun` of ours has started.
pub(crate) fn start(var: &impl Fn(&str) -> Option<String>) -> oxmpi_abi::Result<Start> {
    let launcher = match identify(var) {
        Identity::None | Identity::Own => return Ok(Start::Alone),
        Identity::Unknown(complaint) => return Err(fail(complaint)),
        Identity::Manager(launcher) => launcher,
    };
    // A single process needs nobody's help, and may spawn others.
    if var("PMI_SIZE").is_some_and(|size| size.trim() == "1") {
        return Ok(Start::Alone);
    }
    let troubled = |text: String| fail(format!("{launcher} started this program, and {text}"));
    let silent =
        |text: String| troubled(format!("its process manager does not tell where the program belongs: {text}"));
    let mut manager: Box<dyn Manager> = if pmi::is_there(var) {
        Box::new(pmi::connect(var, launcher).map_err(silent)?)
    } else {
        Box::new(pmix::connect(var, launcher).map_err(silent)?)
    };
    // Not every environment says it.
    if manager.told().size == 1 {
        manager.finish();
        return Ok(Start::Alone);
    }
    manager::keep(manager, |manager| join(manager).map_err(troubled)).map(|member| Start::Member(Box::new(member)))
}

fn join(manager: &mut dyn Manager) -> Result<Member, String> {
    let told = manager.told().clone();
    let of_manager = |text: String| format!("its process manager fails: {text}");
    let mut helper = NodeHelper::join(&told)?;
    manager.fence().map_err(of_manager)?;
    let record = helper.complete()?;
    let is_first = record.is_some();
    if let Some(mut record) = record {
        if told.rank == 0 {
            let cannot = |error: io::Error| format!("there are no random bytes: {error}");
            record.secret = Some(Secret { job: random().map_err(cannot)?, key: random().map_err(cannot)? });
        }
        record::publish(manager, &record).map_err(of_manager)?;
    }
    manager.fence().map_err(of_manager)?;
    if is_first {
        helper.tell(&table(manager).map_err(of_manager)?)?;
    }
    become_member(&told, helper.await_start()?)
}

/// The table of all nodes, as their records say it.
fn table(manager: &mut dyn Manager) -> Result<Table, String> {
    let (records, node_of) = record::collect(manager)?;
    let secret = records.first().and_then(|record| record.secret);
    let secret = secret.ok_or("the record of the node of rank 0 has no key")?;
    let blocks = deal::blocks(&deal::slots(&node_of));
    Ok(Table {
        blocks: blocks.iter().map(|block| block.words()).collect(),
        nodes: records.into_iter().map(|record| (record.port, record.addresses, record.host)).collect(),
        secret,
    })
}

fn become_member(told: &Told, given: Given) -> Result<Member, String> {
    let Given { helper, number, segment, lifeline, network, socket } = given;
    let mapped = Segment::attach(segment.as_fd())
        .map_err(|error| format!("cannot map the segment of this node: {}", limits::explain(&error)))?;
    let own = WorldRank::new(told.rank).ok_or("the rank is too large")?;
    let nodes = NodeTable::load(&mapped, own).map_err(|what| format!("the table of nodes is damaged: {what}"))?;
    if nodes.size() != told.size {
        return Err(format!("the table of nodes has {} ranks, and the job has {}", nodes.size(), told.size));
    }
    let inode = lifeline::inode(segment.as_fd()).map_err(|error| format!("the segment of this node: {error}"))?;
    let here = JobId::here(inode, helper, number);
    let network = network_of(&nodes, here, network, &socket)?;
    if !matches!(claim(&mapped, nodes.own_slot().index()), Claim::Ours) {
        return Err(format!("another process is rank {} already", told.rank));
    }
    if lifeline::broken(lifeline.as_fd()) {
        return Err("the helper of this node has ended".into());
    }
    let on_node: Vec<WorldRank> = nodes.on_this_node().map(|(rank, _)| rank).collect();
    Ok(Member {
        rank: told.rank,
        size: told.size,
        local_rank: on_node.iter().position(|&rank| rank == own).unwrap_or(0),
        local_size: on_node.len(),
        launcher: told.launcher.clone(),
        is_managed: true,
        appnum: told.appnum,
        process_sets: Vec::new(),
        universe_size: told.universe_size.unwrap_or(told.size),
        parent: None,
        job: network.job(),
        nodes,
        segment,
        mapped,
        lifeline: Some(lifeline),
        network: Some(Reached { network, agent: socket }),
    })
}

/// How processes of other nodes and jobs are reached.
fn network_of(nodes: &NodeTable, here: JobId, file: Option<OwnedFd>, socket: &OwnedFd) -> Result<Network, String> {
    let own = End { node: nodes.own_node().number(), slot: nodes.own_slot().index() as u32 };
    let cannot = |error: io::Error| format!("the network cannot be used: {error}");
    let mut network = match nodes.nodes() {
        1 => Network::of_one_machine(here, own),
        _ => {
            let file = file.ok_or("the helper of this node gives no description of the network")?;
            Network::open(file, own).map_err(cannot)?
        }
    };
    network.ask_through(socket.try_clone().map_err(cannot)?);
    Ok(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_told_apart() {
        let of = |vars: &[(&str, &str)]| {
            identify(&|name: &str| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string()))
        };
        assert_eq!(of(&[]), Identity::None);
        assert_eq!(of(&[(env::JOB, "1:2:3"), ("PMI_FD", "9")]), Identity::Own, "ours wins");
        assert_eq!(of(&[("PMI_FD", "9"), ("HYDI_CONTROL_FD", "7")]), Identity::Manager("MPICH's mpiexec"));
        let step = [("SLURM_PROCID", "0"), ("SLURM_STEP_ID", "0"), ("SLURM_STEP_NUM_TASKS", "4")];
        assert!(matches!(of(&step), Identity::Unknown(text) if text.contains("srun") && text.contains("--mpi=pmi2")));
        let pmix = [("PMIX_RANK", "0"), ("PMIX_NAMESPACE", "n")];
        assert_eq!(of(&[&step[..], &pmix[..]].concat()), Identity::Manager("Slurm's srun"));
        assert_eq!(of(&[&pmix[..], &[("SLURM_STEP_NUM_TASKS", "1"), step[0]][..]].concat()), Identity::None);
        assert_eq!(of(&pmix), Identity::Manager("a PMIx launcher"));
        assert_eq!(of(&[pmix[0], pmix[1], ("PRTE_LAUNCHED", "1")]), Identity::Manager("PRRTE's prterun"));
        assert!(matches!(of(&pmix[..1]), Identity::Unknown(text) if text.contains("PMIX_NAMESPACE")));
        let as_open_mpi = [("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")];
        assert!(matches!(of(&as_open_mpi), Identity::Unknown(text) if text.contains("Open MPI")));
        // Our own `mpirun` sets these too; a manager that the program of a rank has started counts.
        assert_eq!(of(&[&as_open_mpi[..], &[(env::RANK, "1")]].concat()), Identity::None);
        assert_eq!(of(&[("PMI_FD", "9"), (env::RANK, "1")]), Identity::Manager("a PMI launcher"));
    }
}
