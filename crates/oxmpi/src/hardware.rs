//! The parts of the machine that a process can be confined to, from sysfs. A part that sysfs does
//! not list does not exist here.

use crate::comm;
use oxmpi_abi::Result;
use oxmpi_abi::handle::Comm;
use oxmpi_base::cpus::CpuSet;
use oxmpi_base::ids::Peer;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::ranks::Ranks;
use oxmpi_core::topology::order::{LEVELS, Position};
use oxmpi_transport::NodeMemory;
use std::collections::BTreeMap;
use std::fs;
use std::sync::{Mutex, PoisonError};

/// A kind of hardware resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resource {
    Machine,
    Package,
    NumaNode,
    Cache(u8),
    Core,
    HwThread,
}

/// All kinds by name; a kind that contains others comes before them.
pub const RESOURCES: [(&str, Resource); 8] = [
    ("hwloc://Machine", Resource::Machine),
    ("hwloc://Package", Resource::Package),
    ("hwloc://NUMANode", Resource::NumaNode),
    ("hwloc://L3Cache", Resource::Cache(3)),
    ("hwloc://L2Cache", Resource::Cache(2)),
    ("hwloc://L1Cache", Resource::Cache(1)),
    ("hwloc://Core", Resource::Core),
    ("hwloc://PU", Resource::HwThread),
];

impl Resource {
    /// By name, with or without the provider, in upper or lower case; some have a second name.
    pub fn named(name: &str) -> Option<Resource> {
        let strip = |name: &str| name.rsplit("://").next().unwrap_or_default().to_ascii_lowercase();
        let wanted = match strip(name).as_str() {
            "socket" => String::from("package"),
            "numa" => String::from("numanode"),
            "hwthread" => String::from("pu"),
            // hwloc counts data caches.
            other => other.replace("dcache", "cache"),
        };
        RESOURCES.iter().find(|(known, _)| strip(known) == wanted).map(|(_, resource)| *resource)
    }

    /// The CPUs of the instance that contains a CPU; `None` if the machine has none of this kind.
    fn around(self, cpu: usize) -> Option<CpuSet> {
        match self {
            Resource::Machine => read("/sys/devices/system/cpu/online"),
            Resource::Package => of_cpu(cpu, "topology/package_cpus_list"),
            Resource::Core => of_cpu(cpu, "topology/thread_siblings_list"),
            Resource::HwThread => Some(CpuSet::from_iter([cpu])),
            Resource::NumaNode => {
                let nodes = read("/sys/devices/system/node/online")?;
                let cpus = |node: usize| read(&format!("/sys/devices/system/node/node{node}/cpulist"));
                nodes.iter().filter_map(cpus).find(|cpus| cpus.contains(cpu))
            }
            Resource::Cache(level) => (0..8).find_map(|index| {
                let cache = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
                let is = |name: &str| fs::read_to_string(format!("{cache}/{name}")).unwrap_or_default();
                let fits = is("level").trim() == level.to_string() && is("type").trim() != "Instruction";
                if fits { read(&format!("{cache}/shared_cpu_list")) } else { None }
            }),
        }
    }

    /// The instance that contains all of these CPUs, by the number of its first CPU; `None` if
    /// there are several. Other nodes have instances with the same numbers.
    pub fn instance(self, cpus: &CpuSet) -> Option<u32> {
        let around = self.around(cpus.iter().next()?)?;
        let first = around.iter().next()?;
        cpus.iter().all(|cpu| around.contains(cpu)).then_some(first as u32)
    }

    /// Whether the machine has a resource of this kind.
    pub fn exists(self, cpus: &CpuSet) -> bool {
        cpus.iter().next().is_some_and(|cpu| self.around(cpu).is_some())
    }
}

/// A number for an instance that is unique among all nodes, whose instances have equal numbers. `node`:
/// see [`node_number`].
pub fn on_node(node: u32, instance: u32) -> u32 {
    /// More CPUs than a node has.
    const INSTANCE_BITS: u32 = 13;
    node << INSTANCE_BITS | instance
}

/// A number that all processes of a communicator have in common that share memory, and no others.
/// Collective.
pub fn node_number(call: &Call, guard: &mut Guard, comm: Comm) -> Result<u32> {
    if !guard.knows_foreign(&guard.comm(comm)?.everybody()) {
        return Ok(guard.engine.node().nodes().own_node().number());
    }
    let id = guard.engine.node().own_id();
    // Jobs on one machine each share it; a job on several hosts shares its nodes with no other.
    let place = match id.job.is_on_hosts() {
        true => comm::mix(id.job.words().into_iter().chain([u64::from(id.node.number())])),
        false => comm::mix([id.job.host, u64::from(id.node.number())].into_iter()),
    };
    let own = comm::own_peer(guard);
    let participants = guard.comm_mut(comm)?.participants(own)?;
    let places = comm::run_agreement(call, guard, |io| async move { io.gather(&participants, &[place]).await })?;
    Ok(places.iter().position(|&other| other == place).unwrap_or(0) as u32)
}

/// Where the processes of a group run; empty when not all are bound. Positions inside a node are
/// used only if all processes are on one node: other nodes do not know where its processes are
/// bound, and all must compute the same positions.
pub fn positions(node: &NodeMemory, group: &Ranks) -> Vec<Position> {
    let on = |process: Peer| node.id_of(process).node.number();
    let first = group.iter().next().map(on);
    if group.iter().any(|process| Some(on(process)) != first) {
        return group
            .iter()
            .map(|process| std::array::from_fn(|level| if level == 0 { on(process) } else { 0 }))
            .collect();
    }
    let cpus: Option<Vec<usize>> = group.iter().map(|process| node.cpu_of(process)).collect();
    cpus.map_or_else(Vec::new, |cpus| positions_of(&cpus))
}

/// The positions of processes of one node, by the CPU of each.
fn positions_of(cpus: &[usize]) -> Vec<Position> {
    const KINDS: [Resource; LEVELS - 1] =
        [Resource::Package, Resource::NumaNode, Resource::Cache(3), Resource::Cache(2), Resource::Core];
    // CPUs are queried repeatedly, and sysfs is read from files.
    static KNOWN: Mutex<BTreeMap<usize, Position>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut position = |cpu: usize| {
        *known.entry(cpu).or_insert_with(|| {
            let one = CpuSet::from_iter([cpu]);
            let inside = KINDS.map(|kind| kind.instance(&one).unwrap_or(0));
            std::array::from_fn(|level| if level == 0 { 0 } else { inside[level - 1] })
        })
    };
    cpus.iter().map(|&cpu| position(cpu)).collect()
}

fn of_cpu(cpu: usize, name: &str) -> Option<CpuSet> {
    read(&format!("/sys/devices/system/cpu/cpu{cpu}/{name}"))
}

fn read(path: &str) -> Option<CpuSet> {
    CpuSet::parse(fs::read_to_string(path).ok()?.trim())
}

/// The CPUs that this process may use now.
pub fn own_cpus() -> CpuSet {
    CpuSet::affinity().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_by_name() {
        assert_eq!(Resource::named("hwloc://NUMANode"), Some(Resource::NumaNode));
        assert_eq!(Resource::named("l3cache"), Some(Resource::Cache(3)));
        assert_eq!(Resource::named("hwloc://L1dCache"), Some(Resource::Cache(1)));
        assert_eq!(Resource::named("Socket"), Some(Resource::Package));
        assert_eq!(Resource::named("hwloc://Rack"), None);
        assert_eq!(Resource::named(""), None);
    }

    #[test]
    fn one_cpu_is_in_one_hardware_thread() {
        let cpus = own_cpus();
        let first = CpuSet::from_iter(cpus.iter().take(1));
        assert_eq!(Resource::HwThread.instance(&first), first.iter().next().map(|cpu| cpu as u32));
        if cpus.len() > 1 {
            assert_eq!(Resource::HwThread.instance(&cpus), None);
        }
    }
}
