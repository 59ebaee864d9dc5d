//! An allocation of Slurm, as its environment describes it. Nothing of it is believed without a check. `srun.rs` starts
//! agents there.

use crate::hosts::{self, Host};

/// The name of the node where a process runs.
pub const NODE_NAME: &str = "SLURMD_NODENAME";

/// The most components of a heterogeneous job that make sense.
const MOST_COMPONENTS: usize = 1024;

/// An allocation, from the environment.
#[derive(Debug, PartialEq, Eq)]
pub struct Allocation {
    pub job: String,
    /// In the order of Slurm, with the numbers of tasks as slots.
    pub hosts: Vec<Host>,
    /// The CPUs of each host, if Slurm says them.
    cpus: Vec<Option<usize>>,
    /// The component of a heterogeneous job that each host belongs to; empty for other jobs.
    components: Vec<usize>,
}

impl Allocation {
    /// The allocation that this process runs in; an error where there is none.
    pub fn from_env() -> Result<Allocation, String> {
        Allocation::read(|name| std::env::var(name).ok().filter(|text| !text.is_empty()))
    }

    /// Whether the environment is that of an allocation.
    pub fn is_there(get: &impl Fn(&str) -> Option<String>) -> bool {
        let has = |names: &[&str]| names.iter().any(|name| get(name).is_some());
        has(&["SLURM_JOB_ID", "SLURM_JOBID"]) && (has(&["SLURM_JOB_NODELIST"]) || components(get).is_some())
    }

    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Allocation, String> {
        let Some(job) = get("SLURM_JOB_ID").or_else(|| get("SLURM_JOBID")) else { return Err(nowhere()) };
        let mut allocation = Allocation { job, hosts: Vec::new(), cpus: Vec::new(), components: Vec::new() };
        let Some((count, suffix)) = components(&get) else {
            (allocation.hosts, allocation.cpus) = read_hosts(&get, "")?.ok_or_else(nowhere)?;
            return Ok(allocation);
        };
        let number = count.parse().ok().filter(|count| (1..=MOST_COMPONENTS).contains(count));
        let number: usize =
            number.ok_or_else(|| format!("SLURM_HET_SIZE is `{count}`, which is no number of components"))?;
        for component in 0..number {
            let suffix = format!("{suffix}{component}");
            let found = read_hosts(&get, &suffix)?;
            let (hosts, cpus) = found.ok_or_else(|| {
                format!("the job has {number} components (SLURM_HET_SIZE), and SLURM_JOB_NODELIST{suffix} is not set")
            })?;
            for (host, cpus) in hosts.into_iter().zip(cpus) {
                // Two components may share a host; its agent then runs in the first one.
                if let Some(known) = allocation.hosts.iter_mut().find(|known| known.name == host.name) {
                    known.slots += host.slots;
                    continue;
                }
                allocation.hosts.push(host);
                allocation.cpus.push(cpus);
                allocation.components.push(component);
            }
        }
        Ok(allocation)
    }

    /// These hosts, with the component that they belong to; one group without a number if the job is not heterogeneous.
    pub fn by_component<'h>(&self, hosts: &[&'h str]) -> Vec<(Option<usize>, Vec<&'h str>)> {
        if self.components.is_empty() {
            return vec![(None, hosts.to_vec())];
        }
        let mut groups: Vec<(Option<usize>, Vec<&str>)> = Vec::new();
        for &host in hosts {
            let at = self.hosts.iter().position(|known| known.name == host);
            let component = at.map_or(0, |at| self.components[at]);
            match groups.iter_mut().find(|(known, _)| *known == Some(component)) {
                Some((_, group)) => group.push(host),
                None => groups.push((Some(component), vec![host])),
            }
        }
        groups.sort_by_key(|(component, _)| *component);
        groups
    }

    /// The hosts of a job: those that the user names, under the names that Slurm has for them, or all.
    pub fn choose(&self, named: &[Host]) -> Result<Vec<Host>, String> {
        if named.is_empty() {
            return Ok(self.hosts.clone());
        }
        let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
        let known = |name: &str| {
            let exact = self.hosts.iter().find(|host| host.name.eq_ignore_ascii_case(name));
            exact.or_else(|| self.hosts.iter().find(|host| short(&host.name) == short(name)))
        };
        let renamed = |host: &Host| match known(&host.name) {
            Some(known) => Ok(Host { name: known.name.clone(), ..host.clone() }),
            None => {
                let all: Vec<&str> = self.hosts.iter().map(|host| host.name.as_str()).collect();
                let (job, all) = (&self.job, all.join(", "));
                Err(format!("host {} is not in the allocation of Slurm job {job}, which has: {all}", host.name))
            }
        };
        named.iter().map(renamed).collect()
    }

    /// The CPUs that the job has on a host.
    pub fn cpus_of(&self, host: &str) -> Option<usize> {
        let at = self.hosts.iter().position(|known| known.name == host)?;
        self.cpus.get(at).copied().flatten()
    }
}

fn nowhere() -> String {
    "--launcher slurm works inside an allocation, and there is none here (SLURM_JOB_ID and SLURM_JOB_NODELIST are not set): \
     start mpirun with `salloc` or in a script for `sbatch`"
        .into()
}

/// What the environment says for the number of components of a heterogeneous job, and what follows the names of variables
/// for each, without its number. Versions before 20.02 say PACK.
fn components(get: &impl Fn(&str) -> Option<String>) -> Option<(String, &'static str)> {
    let new = get("SLURM_HET_SIZE").map(|count| (count, "_HET_GROUP_"));
    new.or_else(|| get("SLURM_PACK_SIZE").map(|count| (count, "_PACK_GROUP_")))
}

type Hosts = (Vec<Host>, Vec<Option<usize>>);

/// The hosts of an allocation or of one component, with their CPUs; `None` if there is no list of them.
fn read_hosts(get: &impl Fn(&str) -> Option<String>, suffix: &str) -> Result<Option<Hosts>, String> {
    let list = get(&format!("SLURM_JOB_NODELIST{suffix}")).or_else(|| get(&format!("SLURM_NODELIST{suffix}")));
    let Some(list) = list else { return Ok(None) };
    let mut hosts =
        hosts::parse_list(&list).map_err(|error| format!("SLURM_JOB_NODELIST{suffix} is `{list}`: {error}"))?;
    let per_host = |name: &str| -> Result<Vec<Option<usize>>, String> {
        let name = format!("{name}{suffix}");
        let Some(text) = get(&name) else { return Ok(vec![None; hosts.len()]) };
        let numbers = repeated(&text).filter(|numbers| numbers.len() == hosts.len());
        let wrong = || format!("{name} is `{text}`, which is no list of numbers for {} hosts", hosts.len());
        Ok(numbers.ok_or_else(wrong)?.into_iter().map(Some).collect())
    };
    let tasks = per_host("SLURM_TASKS_PER_NODE")?;
    let cpus = per_host("SLURM_JOB_CPUS_PER_NODE")?;
    for (host, tasks) in hosts.iter_mut().zip(tasks) {
        host.slots = tasks.unwrap_or(host.slots);
    }
    Ok(Some((hosts, cpus)))
}

/// The numbers of `2(x3),1`: 2, 2, 2, 1.
fn repeated(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for word in text.split(',') {
        let (number, times) = match word.split_once("(x") {
            Some((number, times)) => (number, times.strip_suffix(')')?.parse().ok()?),
            None => (word, 1),
        };
        let number: usize = number.parse().ok().filter(|&number| number > 0)?;
        if times > hosts::MOST - numbers.len().min(hosts::MOST) {
            return None;
        }
        numbers.extend(std::iter::repeat_n(number, times));
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: &[(&str, &str)]) -> Result<Allocation, String> {
        Allocation::read(|name| list.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string()))
    }

    #[test]
    fn the_hosts_of_an_allocation() {
        let all = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_JOB_NODELIST", "n[01-03],x"),
            ("SLURM_TASKS_PER_NODE", "2(x3),1"),
            ("SLURM_JOB_CPUS_PER_NODE", "4(x2),8,2"),
        ];
        let found = read(&all).unwrap();
        let short: Vec<_> = found.hosts.iter().map(|host| (host.name.as_str(), host.slots)).collect();
        assert_eq!(short, [("n01", 2), ("n02", 2), ("n03", 2), ("x", 1)]);
        assert_eq!((found.cpus_of("n03"), found.cpus_of("y")), (Some(8), None));
        let names = |text: &str| found.choose(&hosts::parse_list(text).unwrap());
        assert_eq!(names("X.example.org,n02:5").unwrap()[0].name, "x");
        assert_eq!(names("n02:5").unwrap()[0].slots, 5);
        let error = names("n02,other").unwrap_err();
        assert!(error.contains("host other is not in the allocation of Slurm job 7"), "{error}");
        assert_eq!(found.choose(&[]).unwrap().len(), 4);
    }

    /// As `salloc -N1 : -N2` of Slurm 22.05 sets them: without a list of all hosts. A batch script has that of the first
    /// component, too.
    #[test]
    fn a_heterogeneous_job() {
        let salloc = [
            ("SLURM_JOB_ID", "41"),
            ("SLURM_HET_SIZE", "2"),
            ("SLURM_PACK_SIZE", "2"),
            ("SLURM_NTASKS", "5"),
            ("SLURM_JOB_NODELIST_HET_GROUP_0", "big1"),
            ("SLURM_TASKS_PER_NODE_HET_GROUP_0", "1"),
            ("SLURM_JOB_CPUS_PER_NODE_HET_GROUP_0", "32"),
            ("SLURM_JOB_NODELIST_HET_GROUP_1", "thin[2-3]"),
            ("SLURM_TASKS_PER_NODE_HET_GROUP_1", "3,1"),
            ("SLURM_JOB_CPUS_PER_NODE_HET_GROUP_1", "4(x2)"),
        ];
        let sbatch = [("SLURM_JOB_NODELIST", "big1"), ("SLURM_TASKS_PER_NODE", "1")];
        for list in [&salloc[..], &[&salloc[..], &sbatch[..]].concat()] {
            let found = read(list).unwrap();
            let short: Vec<_> = found.hosts.iter().map(|host| (host.name.as_str(), host.slots)).collect();
            assert_eq!(short, [("big1", 1), ("thin2", 3), ("thin3", 1)]);
            assert_eq!((found.cpus_of("big1"), found.cpus_of("thin3")), (Some(32), Some(4)));
            let groups = found.by_component(&["thin3", "big1", "thin2"]);
            assert_eq!(groups, [(Some(0), vec!["big1"]), (Some(1), vec!["thin3", "thin2"])]);
            let known = |name: &str| list.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
            assert!(Allocation::is_there(&known));
        }
        // The names of older versions, and a host that two components share.
        let old = [
            ("SLURM_JOBID", "7"),
            ("SLURM_PACK_SIZE", "2"),
            ("SLURM_JOB_NODELIST_PACK_GROUP_0", "a,b"),
            ("SLURM_TASKS_PER_NODE_PACK_GROUP_0", "2(x2)"),
            ("SLURM_JOB_NODELIST_PACK_GROUP_1", "b"),
            ("SLURM_TASKS_PER_NODE_PACK_GROUP_1", "5"),
        ];
        let found = read(&old).unwrap();
        assert_eq!(found.hosts.iter().map(|host| host.slots).collect::<Vec<_>>(), [2, 7]);
        assert_eq!(found.by_component(&["a", "b"]), [(Some(0), vec!["a", "b"])]);
        // One group for all other jobs.
        let plain = read(&[("SLURM_JOB_ID", "7"), ("SLURM_JOB_NODELIST", "a,b")]).unwrap();
        assert_eq!(plain.by_component(&["a", "b"]), [(None, vec!["a", "b"])]);
    }

    #[test]
    fn a_heterogeneous_job_with_a_part_missing() {
        let job = ("SLURM_JOB_ID", "7");
        let first = ("SLURM_JOB_NODELIST_HET_GROUP_0", "a");
        let error = read(&[job, first, ("SLURM_HET_SIZE", "2")]).unwrap_err();
        assert!(error.contains("2 components") && error.contains("SLURM_JOB_NODELIST_HET_GROUP_1"), "{error}");
        for wrong in ["0", "x", "99999999"] {
            assert!(read(&[job, first, ("SLURM_HET_SIZE", wrong)]).unwrap_err().contains(wrong));
        }
        let tasks = ("SLURM_TASKS_PER_NODE_HET_GROUP_0", "1,1");
        let error = read(&[job, first, tasks, ("SLURM_HET_SIZE", "1")]).unwrap_err();
        assert!(error.contains("SLURM_TASKS_PER_NODE_HET_GROUP_0 is `1,1`"), "{error}");
    }

    #[test]
    fn what_slurm_does_not_say_is_told() {
        assert!(read(&[]).unwrap_err().contains("salloc"));
        assert!(read(&[("SLURM_JOB_ID", "7")]).unwrap_err().contains("SLURM_JOB_NODELIST"));
        let with = |name, value| read(&[("SLURM_JOBID", "7"), ("SLURM_NODELIST", "a,b"), (name, value)]);
        assert_eq!(with("X", "").unwrap().hosts.len(), 2);
        for wrong in ["2", "2(x3)", "x", "0(x2)", "2(x99999999999)", "1,,"] {
            let error = with("SLURM_TASKS_PER_NODE", wrong).unwrap_err();
            assert!(error.contains(wrong) && error.contains("SLURM_TASKS_PER_NODE"), "{error}");
        }
    }
}
