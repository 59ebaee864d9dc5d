//! Decides on which CPUs each rank runs.
//!
//! By default, if there are at least as many cores as ranks, each rank gets an equal share of
//! neighbouring cores: ranks stay near their memory, and a threaded program has several cores. With
//! more ranks, no rank is bound.
//!
//! Jobs that run side by side must not all use the first cores. So a job reserves each core that it
//! binds to, by an abstract socket with the core's name. The kernel releases it when `mpirun` ends,
//! however it ends.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use oxmpi_base::cpus::{self, CpuSet};

use crate::options::{BindTo, Level, MapBy, Settings};
use crate::topology::{Core, Topology};

pub struct Placement {
    /// The CPUs of each rank; `None`: not bound.
    pub sets: Vec<Option<CpuSet>>,
    /// The number of CPUs that the job can use.
    pub cpus: u32,
    _held: Vec<UnixDatagram>,
}

/// The CPUs that the job may use.
pub struct Budget {
    allowed: CpuSet,
    /// Set where the system does not tell which CPUs may be used: why ranks cannot be bound.
    unknown: Option<String>,
    pub cpus: usize,
}

impl Budget {
    pub fn count(settings: &Settings) -> Result<Budget, String> {
        let (affinity, unknown) = match CpuSet::affinity() {
            Ok(affinity) => (affinity, None),
            Err(error) => (
                cpus::online().unwrap_or_else(|| [0].into_iter().collect()),
                Some(format!("ranks cannot be bound, since sched_getaffinity fails here: {error}")),
            ),
        };
        let allowed = match &settings.cpus {
            None => affinity,
            Some(wanted) => {
                let both = wanted.intersection(&affinity);
                if both.is_empty() {
                    return Err(format!("none of the CPUs {wanted} may be used here; those that may are {affinity}"));
                }
                both
            }
        };
        let cpus = (cpus::available() as usize).min(allowed.len());
        Ok(Budget { allowed, unknown, cpus })
    }
}

/// The number of ranks that `-map-by ppr:N:level` asks for.
pub fn ranks_for(map: &MapBy, budget: &Budget) -> Option<usize> {
    let per = map.ranks_per?;
    Some(per * Topology::read(&budget.allowed).objects(map.level.unwrap_or(Level::Machine)).len())
}

pub fn place(ranks: usize, settings: &Settings, budget: &Budget) -> Result<Placement, String> {
    let free = |cpus| Placement { sets: vec![None; ranks], cpus, _held: Vec::new() };
    let all = budget.cpus as u32;
    let map = settings.map_by.clone().unwrap_or_default();
    if let Some(unknown) = &budget.unknown {
        let asked = !matches!(settings.bind_to, None | Some(BindTo::None)) || settings.cpus.is_some();
        return if asked { Err(unknown.clone()) } else { Ok(free(all)) };
    }
    let placement = match &settings.bind_to {
        Some(BindTo::None) => free(all),
        Some(BindTo::Sets(sets)) => {
            let sets: Vec<CpuSet> = sets.iter().map(|set| set.intersection(&budget.allowed)).collect();
            if sets.iter().any(CpuSet::is_empty) {
                return Err(format!("a rank would have no CPU; those that may be used are {}", budget.allowed));
            }
            bound((0..ranks).map(|rank| sets[rank % sets.len()].clone()).collect(), Vec::new(), all)
        }
        Some(BindTo::Level(level)) => explicit(ranks, *level, &map, settings, budget),
        None if map.cores_per_rank.is_some()
            || matches!(map.level, Some(Level::HwThread | Level::L3Cache | Level::Numa | Level::Socket)) =>
        {
            let needed = ranks * map.cores_per_rank.unwrap_or(1);
            let level = if map.level == Some(Level::HwThread) { Level::HwThread } else { Level::Core };
            if needed <= budget.cpus { explicit(ranks, level, &map, settings, budget) } else { free(all) }
        }
        // A single rank gets the whole machine. With more ranks than CPUs, binding would hurt.
        None if ranks == 1 || ranks > budget.cpus => free(all),
        None => shares(ranks, budget).unwrap_or_else(|| free(all)),
    };
    Ok(match &settings.cpus {
        // Ranks that are not bound are still confined to the CPUs that the user named.
        Some(_) => Placement {
            sets: placement.sets.into_iter().map(|set| set.or(Some(budget.allowed.clone()))).collect(),
            ..placement
        },
        None => placement,
    })
}

/// The default: an equal share of the cores that no other job has reserved.
fn shares(ranks: usize, budget: &Budget) -> Option<Placement> {
    let topology = Topology::read(&budget.allowed);
    let mut held = Vec::new();
    let mut cores: Vec<CpuSet> = Vec::new();
    for core in &topology.cores {
        // Another job has reserved this core if its name is in use.
        if let Some(hold) = hold(core) {
            held.push(hold);
            cores.push(core.cpus.clone());
        }
    }
    if cores.len() < ranks {
        // Too few cores; try one hardware thread for each rank.
        let mut threads: Vec<(usize, usize)> = Vec::new();
        for core in &cores {
            threads.extend(core.iter().enumerate());
        }
        // Use the first thread of every core before the second ones.
        threads.sort();
        if threads.len() < ranks {
            return None;
        }
        let sets = threads.into_iter().take(ranks).map(|(_, cpu)| CpuSet::from_iter([cpu])).collect();
        return Some(bound(sets, held, budget.cpus as u32));
    }
    let share = cores.len() / ranks;
    let sets = cores.chunks(share).take(ranks).map(|cores| cores.iter().flat_map(CpuSet::iter).collect()).collect();
    Some(bound(sets, held, budget.cpus as u32))
}

/// Placement by the user's options: `level` is the width of a binding, `map` the order in which
/// ranks take the cores.
fn explicit(ranks: usize, level: Level, map: &MapBy, settings: &Settings, budget: &Budget) -> Placement {
    let topology = Topology::read(&budget.allowed);
    let order = order(&topology, level, map);
    let wide = map.cores_per_rank.unwrap_or(1);
    let mut first: Vec<usize> = (0..ranks).map(|rank| rank * wide % order.len()).collect();
    if settings.rank_by_core {
        first.sort_by_key(|&at| order[at].cpus.iter().next());
    }
    let mut held = Vec::new();
    let sets: Vec<CpuSet> = first
        .into_iter()
        .map(|at| {
            let cores = (0..wide.min(order.len())).map(|next| &order[(at + next) % order.len()]);
            let set: CpuSet = match level {
                Level::HwThread | Level::Core => cores
                    .flat_map(|core| {
                        held.extend(hold(core));
                        core.cpus.iter()
                    })
                    .collect(),
                _ => cores.flat_map(|core| topology.around(core, level).iter().collect::<Vec<_>>()).collect(),
            };
            set
        })
        .collect();
    bound(sets, held, budget.cpus as u32)
}

/// The units in the order in which ranks take them: cores or hardware threads.
fn order(topology: &Topology, level: Level, map: &MapBy) -> Vec<Core> {
    let units = |cores: Vec<Core>| -> Vec<Core> {
        let threads = level == Level::HwThread || map.level == Some(Level::HwThread);
        if !threads {
            return cores;
        }
        let mut each: Vec<(usize, usize)> = Vec::new();
        for core in &cores {
            each.extend(core.cpus.iter().enumerate());
        }
        if map.level != Some(Level::HwThread) {
            each.sort_by_key(|&(nth, _)| nth);
        }
        each.into_iter().map(|(_, cpu)| Core { cpus: CpuSet::from_iter([cpu]) }).collect()
    };
    let over = match map.level {
        Some(level @ (Level::L3Cache | Level::Numa | Level::Socket)) => level,
        _ => return units(topology.cores.clone()),
    };
    let objects: Vec<Vec<Core>> = topology
        .objects(over)
        .iter()
        .map(|object| {
            units(
                topology
                    .cores
                    .iter()
                    .filter(|core| core.cpus.iter().any(|cpu| object.contains(cpu)))
                    .cloned()
                    .collect(),
            )
        })
        .collect();
    match map.ranks_per {
        // `per` ranks on the first object, then `per` on the second.
        Some(per) => objects.iter().flat_map(|object| object.iter().cycle().take(per).cloned()).collect(),
        None => {
            let longest = objects.iter().map(Vec::len).max().unwrap_or(0);
            (0..longest).flat_map(|nth| objects.iter().filter_map(move |object| object.get(nth).cloned())).collect()
        }
    }
}

fn bound(sets: Vec<CpuSet>, held: Vec<UnixDatagram>, all: u32) -> Placement {
    let used: CpuSet = sets.iter().flat_map(|set| set.iter()).collect();
    Placement { sets: sets.into_iter().map(Some).collect(), cpus: all.min(used.len() as u32).max(1), _held: held }
}

fn hold(core: &Core) -> Option<UnixDatagram> {
    let name = format!("oxmpi-cpu-{}", core.cpus.iter().next()?);
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(cpus: &str) -> Budget {
        let allowed = CpuSet::parse(cpus).unwrap();
        Budget { cpus: allowed.len(), allowed, unknown: None }
    }

    fn texts(placement: &Placement) -> Vec<String> {
        placement.sets.iter().map(|set| set.as_ref().map_or("free".into(), CpuSet::to_string)).collect()
    }

    // CPU numbers far above those of the machine: sysfs does not describe them, so each counts as a
    // core.
    #[test]
    fn equal_shares_and_no_binding_when_oversubscribed_or_alone() {
        let settings = Settings::default();
        assert_eq!(texts(&place(2, &settings, &budget("5000-5004")).unwrap()), ["5000-5001", "5002-5003"]);
        assert_eq!(texts(&place(3, &settings, &budget("5010-5012")).unwrap()), ["5010", "5011", "5012"]);
        assert_eq!(texts(&place(1, &settings, &budget("5020-5023")).unwrap()), ["free"]);
        assert_eq!(texts(&place(3, &settings, &budget("5020-5021")).unwrap()), ["free"; 3]);
    }

    #[test]
    fn jobs_side_by_side_do_not_pile_up() {
        let settings = Settings::default();
        let first = place(2, &settings, &budget("5100-5101")).unwrap();
        assert_eq!(texts(&first), ["5100", "5101"]);
        let second = place(2, &settings, &budget("5100-5103")).unwrap();
        assert_eq!(texts(&second), ["5102", "5103"]);
        assert_eq!(texts(&place(2, &settings, &budget("5100-5103")).unwrap()), ["free", "free"]);
        drop(first);
        assert_eq!(texts(&place(2, &settings, &budget("5100-5103")).unwrap()), ["5100", "5101"]);
    }

    #[test]
    fn what_the_user_asks_for() {
        let mut settings = Settings { bind_to: Some(BindTo::Level(Level::Core)), ..Settings::default() };
        assert_eq!(texts(&place(3, &settings, &budget("5200-5201")).unwrap()), ["5200", "5201", "5200"]);
        settings.map_by = Some(MapBy { cores_per_rank: Some(2), ..MapBy::default() });
        assert_eq!(texts(&place(2, &settings, &budget("5200-5203")).unwrap()), ["5200-5201", "5202-5203"]);
        let none = Settings { bind_to: Some(BindTo::None), ..Settings::default() };
        assert_eq!(texts(&place(2, &none, &budget("5200-5203")).unwrap()), ["free", "free"]);
        let sets = vec![CpuSet::parse("5200").unwrap(), CpuSet::parse("5202-5203").unwrap()];
        let user = Settings { bind_to: Some(BindTo::Sets(sets)), ..Settings::default() };
        assert_eq!(texts(&place(3, &user, &budget("5200-5203")).unwrap()), ["5200", "5202-5203", "5200"]);
        assert!(place(2, &user, &budget("5201")).is_err());
    }
}
