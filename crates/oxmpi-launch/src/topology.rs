//! The cores, caches, NUMA nodes and sockets of the machine, from sysfs. Where sysfs has no
//! information, each CPU counts as a core, and the machine as one object.

use std::fs;

use oxmpi_base::cpus::CpuSet;

use crate::options::Level;

pub struct Topology {
    allowed: CpuSet,
    /// Ordered by NUMA node, then by number, so that neighbours are adjacent.
    pub cores: Vec<Core>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    pub cpus: CpuSet,
}

impl Topology {
    pub fn read(allowed: &CpuSet) -> Topology {
        let nodes = nodes();
        let mut cores: Vec<(usize, Core)> = Vec::new();
        let mut seen = CpuSet::default();
        for cpu in allowed.iter() {
            if seen.contains(cpu) {
                continue;
            }
            let siblings = read_list(cpu, "topology/thread_siblings_list");
            let cpus: CpuSet = siblings.iter().filter(|&sibling| allowed.contains(sibling)).collect();
            cpus.iter().for_each(|sibling| seen.insert(sibling));
            let node = nodes.iter().position(|node| node.contains(cpu)).unwrap_or(0);
            cores.push((node, Core { cpus }));
        }
        cores.sort_by_key(|&(node, _)| node);
        Topology { allowed: allowed.clone(), cores: cores.into_iter().map(|(_, core)| core).collect() }
    }

    /// The objects of a level that contain allowed CPUs.
    pub fn objects(&self, level: Level) -> Vec<CpuSet> {
        match level {
            Level::Machine => vec![self.allowed.clone()],
            Level::Core => self.cores.iter().map(|core| core.cpus.clone()).collect(),
            Level::HwThread => self.allowed.iter().map(|cpu| CpuSet::from_iter([cpu])).collect(),
            _ => {
                let mut objects: Vec<CpuSet> = Vec::new();
                for core in &self.cores {
                    let object = self.around(core, level);
                    if !objects.contains(&object) {
                        objects.push(object);
                    }
                }
                objects
            }
        }
    }

    /// The object of a level that contains a core.
    pub fn around(&self, core: &Core, level: Level) -> CpuSet {
        let Some(cpu) = core.cpus.iter().next() else { return self.allowed.clone() };
        let whole = match level {
            Level::HwThread | Level::Core => core.cpus.clone(),
            Level::L3Cache => read_list(cpu, "cache/index3/shared_cpu_list"),
            Level::Numa => nodes().into_iter().find(|node| node.contains(cpu)).unwrap_or_else(|| self.allowed.clone()),
            Level::Socket => read_list(cpu, "topology/package_cpus_list"),
            Level::Machine => self.allowed.clone(),
        };
        self.allowed.iter().filter(|&cpu| whole.contains(cpu)).collect()
    }
}

/// A CPU list of one CPU in sysfs; the CPU alone if there is none.
fn read_list(cpu: usize, name: &str) -> CpuSet {
    fs::read_to_string(format!("/sys/devices/system/cpu/cpu{cpu}/{name}"))
        .ok()
        .and_then(|list| CpuSet::parse(&list))
        .filter(|list| list.contains(cpu))
        .unwrap_or_else(|| CpuSet::from_iter([cpu]))
}

fn nodes() -> Vec<CpuSet> {
    let read = |path: String| fs::read_to_string(path).ok().and_then(|list| CpuSet::parse(&list));
    let Some(online) = read("/sys/devices/system/node/online".into()) else { return Vec::new() };
    online.iter().filter_map(|node| read(format!("/sys/devices/system/node/node{node}/cpulist"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_allowed_cpu_is_in_one_core_and_one_object_of_each_level() {
        let allowed = CpuSet::affinity().unwrap();
        let topology = Topology::read(&allowed);
        for level in [Level::HwThread, Level::Core, Level::L3Cache, Level::Numa, Level::Socket, Level::Machine] {
            let mut cpus: Vec<usize> =
                topology.objects(level).iter().flat_map(|object| object.iter().collect::<Vec<_>>()).collect();
            cpus.sort();
            assert_eq!(cpus, allowed.iter().collect::<Vec<_>>(), "{level:?}");
        }
    }
}
