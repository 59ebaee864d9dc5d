//! An allocation of Slurm, as its environment describes it. Nothing of it is believed without a check. `srun.rs` starts
//! agents there.

use crate::hosts::{self, Host};

/// The name of the node where a process runs.
pub const NODE_NAME: &str = "SLURMD_NODENAME";

/// An allocation, from the environment.
#[derive(Debug, PartialEq, Eq)]
pub struct Allocation {
    pub job: String,
    /// In the order of Slurm, with the numbers of tasks as slots.
    pub hosts: Vec<Host>,
    /// The CPUs of each host, if Slurm says them.
    pub cpus: Vec<usize>,
}

impl Allocation {
    /// The allocation that this process runs in; an error where there is none.
    pub fn from_env() -> Result<Allocation, String> {
        Allocation::read(|name| std::env::var(name).ok().filter(|text| !text.is_empty()))
    }

    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Allocation, String> {
        let either = |name: &str, old: &str| get(name).or_else(|| get(old));
        let (Some(job), Some(list)) =
            (either("SLURM_JOB_ID", "SLURM_JOBID"), either("SLURM_JOB_NODELIST", "SLURM_NODELIST"))
        else {
            return Err("--launcher slurm works inside an allocation, and there is none here (SLURM_JOB_ID and \
                        SLURM_JOB_NODELIST are not set): start mpirun with `salloc` or in a script for `sbatch`"
                .into());
        };
        let mut hosts = hosts::parse_list(&list).map_err(|error| format!("SLURM_JOB_NODELIST is `{list}`: {error}"))?;
        let per_host = |name: &str| -> Result<Option<Vec<usize>>, String> {
            let Some(text) = get(name) else { return Ok(None) };
            let numbers = repeated(&text).filter(|numbers| numbers.len() == hosts.len());
            let wrong = || format!("{name} is `{text}`, which is no list of numbers for {} hosts", hosts.len());
            numbers.map(Some).ok_or_else(wrong)
        };
        let tasks = per_host("SLURM_TASKS_PER_NODE")?;
        let cpus = per_host("SLURM_JOB_CPUS_PER_NODE")?.unwrap_or_default();
        for (host, tasks) in hosts.iter_mut().zip(tasks.into_iter().flatten()) {
            host.slots = tasks;
        }
        Ok(Allocation { job, hosts, cpus })
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
        self.cpus.get(at).copied()
    }
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
