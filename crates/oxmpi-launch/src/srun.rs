//! The command that starts agents inside an allocation of Slurm, one on each host, in one step.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::Command;

use oxmpi_agent::message::LauncherOrder;

use crate::sys;

/// The option of an agent that is started together with all others. It is internal and not in `--help`.
pub const OPTION: &str = "--agent-in-step";

/// The command that starts an agent on each host, and its name. `groups`: the hosts, with their components in a
/// heterogeneous job. `input`: a file with what all agents read; `srun` copies its own stdin to the first component only.
pub fn command(order: &LauncherOrder, groups: &[(Option<usize>, Vec<&str>)], input: &Path) -> (String, Command) {
    let (program, words) = order.command.split_first().map_or(("srun", &[][..]), |(first, rest)| (first, rest));
    let mut command = Command::new(program);
    for (number, (component, hosts)) in groups.iter().enumerate() {
        if number > 0 {
            command.arg(":");
        }
        command.args(arguments(hosts, Path::new("/sys/class/cxi").exists()));
        if let Some(component) = component {
            command.arg(format!("--het-group={component}"));
            command.arg(format!("--input={}", input.display()));
        }
        // Those of the user come last, so that they win.
        command.args(words).arg(OsString::from_vec(order.agent.clone())).arg(OPTION);
    }
    // What a batch script asked for its own steps is not meant for the agents: one each, with all CPUs.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_for_steps(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    sys::end_with_parent(&mut command);
    (program.into(), command)
}

fn arguments(hosts: &[&str], has_slingshot: bool) -> Vec<String> {
    let count = hosts.len();
    let mut words = vec![
        // Beside the steps that run already, such as the shell of `salloc`.
        "--overlap".into(),
        "--cpu-bind=none".into(),
        "--kill-on-bad-exit=0".into(),
        "--wait=0".into(),
        "--chdir=/".into(),
        format!("--nodes={count}"),
        format!("--ntasks={count}"),
        "--ntasks-per-node=1".into(),
        format!("--nodelist={}", hosts.join(",")),
    ];
    if !has_slingshot {
        words.push("--mpi=none".into());
    }
    words
}

/// Variables that `srun` takes for options, and that would give the agents less than the job has.
fn is_for_steps(name: &str) -> bool {
    ["SLURM_CPU", "SLURM_MEM", "SLURM_NTASKS", "SLURM_NPROCS", "SLURM_TASKS_PER_NODE", "SLURM_DISTRIBUTION"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command() {
        let order = LauncherOrder {
            command: vec!["srun".into(), "-A".into(), "me".into()],
            agent: b"/m".to_vec(),
            also_here: true,
            step: None,
        };
        let words = |groups: &[(Option<usize>, Vec<&str>)]| {
            let (name, command) = command(&order, groups, Path::new("/in"));
            assert_eq!(name, "srun");
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<String>>()
        };
        let both = words(&[(Some(0), vec!["a"]), (Some(2), vec!["b", "c"])]);
        let parts: Vec<_> = both.split(|word| word == ":").collect();
        assert_eq!(parts.len(), 2);
        for (part, list, group) in [(parts[0], "a", 0), (parts[1], "b,c", 2)] {
            for word in [format!("--nodelist={list}"), format!("--het-group={group}"), "--input=/in".into()] {
                assert!(part.contains(&word), "{part:?}");
            }
            assert_eq!(part[part.len() - 4..], ["-A", "me", "/m", OPTION]);
        }
        let words = words(&[(None, vec!["a", "b"])]);
        assert!(!words.iter().any(|word| word.starts_with("--input") || word.starts_with("--het")));
        assert_eq!(words[words.len() - 4..], ["-A", "me", "/m", OPTION]);
        assert!(words.contains(&"--nodelist=a,b".into()) && words.contains(&"--overlap".into()));
        assert!(arguments(&["a"], false).contains(&"--mpi=none".into()));
        assert!(!arguments(&["a"], true).contains(&"--mpi=none".into()), "Slingshot needs its plugin");
        assert!(is_for_steps("SLURM_CPUS_PER_TASK") && is_for_steps("SLURM_NTASKS") && !is_for_steps("SLURM_JOB_ID"));
    }
}
