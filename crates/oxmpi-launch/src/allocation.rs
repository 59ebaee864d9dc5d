//! The hosts that a batch system or Kubernetes has given to the job that `mpirun` runs in, as the environment describes
//! them. They are used where the user names no host. Nothing of it is believed without a check; `slurm.rs` reads what Slurm
//! says.
//!
//! LSF and Grid Engine have a command that reaches the hosts of a job as `rsh` does, and counts what runs there; where that is
//! installed, agents are started with it, else with ssh. Those of Slurm and PBS are launchers of their own (`srun.rs`, `pbs.rs`).

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::hosts::{self, Host};
use crate::launcher;
use crate::options::Launcher;
use crate::pbs;
use crate::slurm;

/// Where the mpi-operator of Kubernetes writes the hosts.
const OPERATOR_FILE: &str = "/etc/mpi/hostfile";
/// Time for the sshd of a worker of Kubernetes to come up.
const PATIENCE: Duration = Duration::from_secs(60);
const AGAIN: Duration = Duration::from_millis(500);
/// ssh itself has failed, not the command.
const SSH_FAILED: i32 = 255;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The system and the source, for `-v`: `PBS (PBS_NODEFILE)`.
    pub what: String,
    pub hosts: Vec<Host>,
    pub launcher: Option<Launcher>,
    /// The system's own command that starts programs on its hosts.
    pub command: Option<String>,
    /// Hosts may not be there yet.
    pub must_wait: bool,
}

/// The allocation that this process runs in, if there is one; an error for one that makes no sense.
pub fn from_env() -> Result<Option<Found>, String> {
    let get = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
    read(&get, &|file| std::fs::read_to_string(file), &is_installed)
}

/// Whether a command is in a folder of `PATH`.
fn is_installed(command: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|dir| dir.join(command).is_file()))
}

type Get<'a> = &'a dyn Fn(&str) -> Option<String>;
type Open<'a> = &'a dyn Fn(&Path) -> std::io::Result<String>;

fn read(get: Get<'_>, open: Open<'_>, has: &dyn Fn(&str) -> bool) -> Result<Option<Found>, String> {
    let file = |name: &str, path: &str| {
        open(Path::new(path)).map_err(|error| format!("{name} is `{path}`, which cannot be read: {error}"))
    };
    let found = |what: String, hosts: Vec<Host>, own: &str| Found {
        what,
        hosts,
        launcher: None,
        command: Some(own).filter(|own| own.split(' ').next().is_some_and(has)).map(String::from),
        must_wait: false,
    };
    if slurm::Allocation::is_there(&get) {
        let allocation = slurm::Allocation::read(get)?;
        let what = format!("Slurm (job {})", allocation.job);
        return Ok(Some(Found { launcher: Some(Launcher::Slurm), ..found(what, allocation.hosts, "") }));
    }
    if let Some(path) = get("PBS_NODEFILE").filter(|_| get("PBS_JOBID").is_some()) {
        let hosts = one_line_a_slot(&file("PBS_NODEFILE", &path)?, &format!("PBS_NODEFILE ({path})"))?;
        let knows_secret = get(pbs::COOKIE).is_some_and(|cookie| pbs::is_cookie(&cookie));
        // The user's own command reaches hosts as ssh does.
        let is_wanted = get(launcher::COMMAND).is_none();
        let launcher = Some(Launcher::Pbs).filter(|_| is_wanted && has(pbs::COMMAND) && knows_secret);
        return Ok(Some(Found { launcher, ..found("PBS (PBS_NODEFILE)".into(), hosts, "") }));
    }
    if get("LSB_JOBID").is_some() {
        let read = match (get("LSB_DJOB_HOSTFILE"), get("LSB_MCPU_HOSTS"), get("LSB_HOSTS")) {
            (Some(path), ..) => {
                let text = file("LSB_DJOB_HOSTFILE", &path)?;
                Some((one_line_a_slot(&text, &format!("LSB_DJOB_HOSTFILE ({path})"))?, "LSB_DJOB_HOSTFILE"))
            }
            (_, Some(text), _) => Some((pairs(&text)?, "LSB_MCPU_HOSTS")),
            (_, _, Some(text)) => Some((one_line_a_slot(&text.replace(' ', "\n"), "LSB_HOSTS")?, "LSB_HOSTS")),
            _ => None,
        };
        return Ok(read.map(|(hosts, source)| found(format!("LSF ({source})"), hosts, "blaunch")));
    }
    if let Some(path) = get("PE_HOSTFILE").filter(|_| get("JOB_ID").is_some()) {
        let hosts = grid_engine(&file("PE_HOSTFILE", &path)?, &path)?;
        return Ok(Some(found("Grid Engine (PE_HOSTFILE)".into(), hosts, "qrsh -inherit")));
    }
    operator(get, open)
}

/// The mpi-operator of Kubernetes. It sets the variables of the MPI that the user says; all name one file.
fn operator(get: Get<'_>, open: Open<'_>) -> Result<Option<Found>, String> {
    const NAMES: [&str; 4] = [
        "OMPI_MCA_orte_default_hostfile",
        "PRTE_MCA_prte_default_hostfile",
        "I_MPI_HYDRA_HOST_FILE",
        "HYDRA_HOST_FILE",
    ];
    let named = NAMES.into_iter().find_map(get).filter(|path| path == OPERATOR_FILE);
    let is_launcher = get("K_MPI_JOB_ROLE").as_deref() == Some("launcher");
    if !is_launcher && named.is_none() {
        return Ok(None);
    }
    let Ok(text) = open(Path::new(OPERATOR_FILE)) else { return Ok(None) };
    let hosts = hosts::parse_text(&text, OPERATOR_FILE)?;
    let what = format!("Kubernetes' mpi-operator ({OPERATOR_FILE})");
    Ok(Some(Found { what, hosts, launcher: Some(Launcher::Ssh), command: None, must_wait: true }))
}

/// A host on each line, once for each of its slots; equal hosts need not follow each other.
fn one_line_a_slot(text: &str, source: &str) -> Result<Vec<Host>, String> {
    let mut found: Vec<Host> = Vec::new();
    for name in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match found.iter_mut().find(|host| host.name == name) {
            Some(host) => host.slots += 1,
            None => found.push(host(name, 1, source)?),
        }
    }
    if found.is_empty() {
        return Err(format!("{source} names no host"));
    }
    Ok(found)
}

/// `a 4 b 2`: hosts and their slots.
fn pairs(text: &str) -> Result<Vec<Host>, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let wrong = || format!("LSB_MCPU_HOSTS is `{text}`, which is no list of hosts and numbers");
    if words.is_empty() || !words.len().is_multiple_of(2) {
        return Err(wrong());
    }
    words.chunks(2).map(|pair| host(pair[0], slots(pair[1]).ok_or_else(wrong)?, "LSB_MCPU_HOSTS")).collect()
}

/// Lines `HOST SLOTS QUEUE PROCESSORS`; a host has a line for each of its queues.
fn grid_engine(text: &str, path: &str) -> Result<Vec<Host>, String> {
    let mut found: Vec<Host> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let (Some(name), Some(count)) = (words.next(), words.next().and_then(slots)) else {
            return Err(format!("{path}:{}: `{line}` is no host with its number of slots", number + 1));
        };
        match found.iter_mut().find(|host| host.name == name) {
            Some(host) => host.slots += count,
            None => found.push(host(name, count, path)?),
        }
    }
    if found.is_empty() {
        return Err(format!("{path} names no host"));
    }
    Ok(found)
}

fn slots(text: &str) -> Option<usize> {
    text.parse().ok().filter(|count| (1..=hosts::MOST).contains(count))
}

fn host(name: &str, slots: usize, source: &str) -> Result<Host, String> {
    hosts::check_name(name).map_err(|error| format!("{source}: {error}"))?;
    Ok(Host { name: name.into(), slots, max_slots: None })
}

/// Waits until all hosts can be reached, or for some time: then the start says which cannot. `command`: ssh, or what
/// stands for it.
pub fn wait_for(hosts: &[Host], command: &[String]) {
    let Some((program, words)) = command.split_first() else { return };
    let until = Instant::now() + PATIENCE;
    std::thread::scope(|scope| {
        for host in hosts {
            scope.spawn(move || {
                while Instant::now() < until {
                    let mut ssh = launcher::remote(program, words, &host.name, b"true");
                    let status = ssh.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
                    match status {
                        Ok(status) if status.code() == Some(SSH_FAILED) => std::thread::sleep(AGAIN),
                        _ => return,
                    }
                }
            });
        }
    });
}

/// For messages.
pub fn describe(found: &Found) -> String {
    let slots: usize = found.hosts.iter().map(|host| host.slots).sum();
    let through = match (&found.command, found.launcher) {
        (Some(command), _) => format!(", reached with {command}"),
        (None, Some(Launcher::Slurm)) => ", reached with srun".into(),
        (None, Some(Launcher::Pbs)) => format!(", reached with {}", pbs::COMMAND),
        _ => String::new(),
    };
    let names: Vec<String> = found.hosts.iter().take(8).map(|host| format!("{}:{}", host.name, host.slots)).collect();
    let more = if found.hosts.len() > 8 { ",…" } else { "" };
    format!("{}: {} hosts, {slots} slots: {}{more}{through}", found.what, found.hosts.len(), names.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(vars: &[(&str, &str)], files: &[(&str, &str)], installed: &[&str]) -> Result<Option<Found>, String> {
        let get = |name: &str| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        let open = |path: &Path| {
            let found = files.iter().find(|(known, _)| Path::new(known) == path);
            found.map(|(_, text)| text.to_string()).ok_or_else(|| std::io::ErrorKind::NotFound.into())
        };
        read(&get, &open, &|command| installed.contains(&command))
    }

    fn short(found: &Found) -> Vec<(&str, usize)> {
        found.hosts.iter().map(|host| (host.name.as_str(), host.slots)).collect()
    }

    #[test]
    fn no_batch_system_is_none() {
        assert_eq!(detect(&[], &[], &[]), Ok(None));
        // Left over, or of something else.
        assert_eq!(detect(&[("PBS_NODEFILE", "/x"), ("PE_HOSTFILE", "/y"), ("LSB_HOSTS", "a")], &[], &[]), Ok(None));
        assert_eq!(detect(&[("K_MPI_JOB_ROLE", "worker")], &[(OPERATOR_FILE, "a")], &[]), Ok(None));
        assert_eq!(detect(&[("K_MPI_JOB_ROLE", "launcher")], &[], &[]), Ok(None), "there is no file");
        assert_eq!(detect(&[("HYDRA_HOST_FILE", "/home/me/hosts")], &[("/home/me/hosts", "a")], &[]), Ok(None));
    }

    #[test]
    fn slurm() {
        let vars = [
            ("SLURM_JOB_ID", "88"),
            ("SLURM_JOB_NODELIST", "gpu[001-003,010],login-1"),
            ("SLURM_TASKS_PER_NODE", "2(x3),1,4"),
            ("SLURM_JOB_CPUS_PER_NODE", "72(x5)"),
            ("SLURM_JOB_PARTITION", "a,b"),
        ];
        let found = detect(&vars, &[], &["srun"]).unwrap().unwrap();
        assert_eq!(short(&found), [("gpu001", 2), ("gpu002", 2), ("gpu003", 2), ("gpu010", 1), ("login-1", 4)]);
        assert_eq!(found.launcher, Some(Launcher::Slurm));
        assert!(describe(&found).contains("Slurm (job 88): 5 hosts, 11 slots: gpu001:2"), "{}", describe(&found));
        assert!(detect(&[("SLURM_JOB_ID", "8"), ("SLURM_JOB_NODELIST", "n[1-")], &[], &[]).is_err());
        let heterogeneous = [
            ("SLURM_JOB_ID", "41"),
            ("SLURM_HET_SIZE", "2"),
            ("SLURM_JOB_NODELIST_HET_GROUP_0", "big1"),
            ("SLURM_TASKS_PER_NODE_HET_GROUP_0", "1"),
            ("SLURM_JOB_NODELIST_HET_GROUP_1", "thin[2-3]"),
            ("SLURM_TASKS_PER_NODE_HET_GROUP_1", "3,1"),
        ];
        let found = detect(&heterogeneous, &[], &["srun"]).unwrap().unwrap();
        assert_eq!(short(&found), [("big1", 1), ("thin2", 3), ("thin3", 1)]);
    }

    /// As jobs of real clusters have them: numbers with many zeros, two dimensions, suffixes, nodes of several partitions.
    #[test]
    fn lists_of_slurm() {
        for (list, tasks, first, last, hosts, slots) in [
            ("c1-[2-3,7]", "2(x2),1", "c1-2", "c1-7", 3, 5),
            ("nid[001012-001015,001020]", "128(x5)", "nid001012", "nid001020", 5, 640),
            ("rack[0-1]n[08-10]", "4(x6)", "rack0n08", "rack1n10", 6, 24),
            ("gpu-[1-2]-ib,cn[0001-0003],fat1", "1(x2),40(x3),8", "gpu-1-ib", "fat1", 6, 130),
            ("login.cluster.example", "3", "login.cluster.example", "login.cluster.example", 1, 3),
            ("n[1-2,4],n[9-10]", "2,1(x2),2(x2)", "n1", "n10", 5, 8),
        ] {
            let vars = [
                ("SLURM_JOB_ID", "4242_7"),
                ("SLURM_JOB_NODELIST", list),
                ("SLURM_TASKS_PER_NODE", tasks),
                ("SLURM_JOB_PARTITION", "gpu,cpu,fat"),
            ];
            let found = detect(&vars, &[], &["srun"]).unwrap().unwrap();
            let found = short(&found);
            assert_eq!((found[0].0, found[found.len() - 1].0, found.len()), (first, last, hosts), "{list}");
            assert_eq!(found.iter().map(|(_, slots)| slots).sum::<usize>(), slots, "{list} {tasks}");
        }
    }

    #[test]
    fn pbs_and_torque() {
        let vars = [("PBS_JOBID", "4711.head"), ("PBS_NODEFILE", "/var/spool/pbs/aux/4711.head")];
        let with_cookie = [vars[0], vars[1], ("PBS_JOBCOOKIE", "7E3A5C1F09B2D4687E3A5C1F09B2D468")];
        // Dealt round: the same host comes back.
        let files =
            [("/var/spool/pbs/aux/4711.head", "n1.cluster\nn2.cluster\nn1.cluster\n\nn2.cluster\nn3.cluster\n")];
        let found = detect(&with_cookie, &files, &["pbs_tmrsh"]).unwrap().unwrap();
        assert_eq!(short(&found), [("n1.cluster", 2), ("n2.cluster", 2), ("n3.cluster", 1)]);
        assert_eq!((found.launcher, &found.command), (Some(Launcher::Pbs), &None));
        assert!(describe(&found).ends_with("n3.cluster:1, reached with pbs_tmrsh"), "{}", describe(&found));
        // Torque has no such command, and without a secret no agent can prove that it is one: ssh.
        let own = [&with_cookie[..], &[("OXMPI_RSH", "ssh -i key")]].concat();
        let both = ["pbs_tmrsh"];
        for (vars, installed) in [(&with_cookie[..], &[][..]), (&vars[..], &both[..]), (&own[..], &both[..])] {
            let found = detect(vars, &files, installed).unwrap().unwrap();
            assert_eq!((found.launcher, found.command), (None, None));
        }
        assert!(detect(&vars, &[], &[]).unwrap_err().contains("PBS_NODEFILE is `/var/spool/pbs/aux/4711.head`"));
        assert!(detect(&vars, &[(files[0].0, "\n")], &[]).unwrap_err().contains("names no host"));
        assert!(detect(&vars, &[(files[0].0, "-oProxyCommand=x\n")], &[]).unwrap_err().contains("not a name"));
    }

    #[test]
    fn lsf() {
        let job = ("LSB_JOBID", "9");
        let all = [job, ("LSB_DJOB_HOSTFILE", "/f"), ("LSB_MCPU_HOSTS", "x 1"), ("LSB_HOSTS", "y")];
        let found = detect(&all, &[("/f", "a\na\nb\n")], &["blaunch"]).unwrap().unwrap();
        assert_eq!((short(&found), found.command.as_deref()), (vec![("a", 2), ("b", 1)], Some("blaunch")));
        let found = detect(&[job, ("LSB_MCPU_HOSTS", "hostA 4 hostB 2 ")], &[], &[]).unwrap().unwrap();
        assert_eq!((short(&found), found.command.as_deref()), (vec![("hostA", 4), ("hostB", 2)], None));
        let found = detect(&[job, ("LSB_HOSTS", "hostA hostA hostB")], &[], &[]).unwrap().unwrap();
        assert_eq!(short(&found), [("hostA", 2), ("hostB", 1)]);
        for wrong in ["hostA", "hostA x", "hostA 0", " "] {
            assert!(detect(&[job, ("LSB_MCPU_HOSTS", wrong)], &[], &[]).unwrap_err().contains("LSB_MCPU_HOSTS"));
        }
        assert_eq!(detect(&[job], &[], &[]), Ok(None));
    }

    #[test]
    fn grid_engine() {
        let vars = [("JOB_ID", "12"), ("PE_HOSTFILE", "/sge/pe_hostfile")];
        let text = "n1 4 all.q@n1 UNDEFINED\nn2 2 all.q@n2 0,0:0,1\nn1 1 long.q@n1 <NULL>\n";
        let found = detect(&vars, &[("/sge/pe_hostfile", text)], &["qrsh"]).unwrap().unwrap();
        assert_eq!(short(&found), [("n1", 5), ("n2", 2)]);
        assert_eq!(found.command.as_deref(), Some("qrsh -inherit"));
        let error = detect(&vars, &[("/sge/pe_hostfile", "n1 4 q\nn2 many q\n")], &[]).unwrap_err();
        assert!(error.contains("/sge/pe_hostfile:2: `n2 many q`"), "{error}");
    }

    #[test]
    fn kubernetes() {
        let names = [
            ("K_MPI_JOB_ROLE", "launcher"),
            ("OMPI_MCA_orte_default_hostfile", OPERATOR_FILE),
            ("I_MPI_HYDRA_HOST_FILE", OPERATOR_FILE),
            ("HYDRA_HOST_FILE", OPERATOR_FILE),
        ];
        let both = [
            "pi-worker-0.pi.default.svc slots=2\npi-worker-1.pi.default.svc slots=2\n",
            "pi-worker-0.pi.default.svc:2\npi-worker-1.pi.default.svc:2\n",
        ];
        for (name, text) in names.into_iter().zip(both.into_iter().cycle()) {
            let found = detect(&[name], &[(OPERATOR_FILE, text)], &[]).unwrap().unwrap();
            assert_eq!(short(&found), [("pi-worker-0.pi.default.svc", 2), ("pi-worker-1.pi.default.svc", 2)]);
            assert!(found.must_wait);
        }
    }

    #[test]
    fn a_host_that_answers_late_is_awaited() {
        let dir = std::env::temp_dir().join(format!("oxmpi-wait-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        // A stand-in for ssh that fails the first time for each host.
        let script = format!("f={}/$1; [ -e $f ] && exit 0; : >$f; exit {SSH_FAILED}", dir.display());
        let command = ["sh", "-c", &script, "ssh"].map(String::from);
        let hosts = ["a", "b"].map(|name| Host { name: name.into(), slots: 1, max_slots: None });
        let start = Instant::now();
        wait_for(&hosts, &command);
        assert!(start.elapsed() >= AGAIN && dir.join("a").exists() && dir.join("b").exists());
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
