//! Recognises launchers of other MPI libraries and batch systems by their environment variables. Whether their process
//! manager can be spoken with is another question ([`crate::others`]).

/// A launcher that started this process as one of several.
#[derive(Debug, PartialEq, Eq)]
pub struct Launcher {
    pub name: &'static str,
    /// The variable that shows it.
    pub variable: &'static str,
    /// The number of processes that it started, if known.
    pub size: Option<u64>,
}

/// A launcher, the variable that marks a process as one of its tasks, and the variable with their
/// number.
struct Mark {
    name: &'static str,
    rank: &'static str,
    size: &'static str,
}

/// More specific marks come first: a PMIx job under Slurm is also a Slurm step.
const MARKS: [Mark; 9] = [
    Mark { name: "Open MPI's mpirun", rank: "OMPI_COMM_WORLD_RANK", size: "OMPI_COMM_WORLD_SIZE" },
    Mark { name: "MVAPICH's mpirun", rank: "MV2_COMM_WORLD_RANK", size: "MV2_COMM_WORLD_SIZE" },
    Mark { name: "Flux", rank: "FLUX_TASK_RANK", size: "FLUX_JOB_SIZE" },
    Mark { name: "Cray PALS", rank: "PALS_RANKID", size: "PALS_SIZE" },
    Mark { name: "IBM's jsrun", rank: "JSM_NAMESPACE_RANK", size: "JSM_NAMESPACE_SIZE" },
    // srun sets these for the tasks of a step; a batch script has no SLURM_STEP_NUM_TASKS above
    // one.
    Mark { name: "Slurm's srun", rank: "SLURM_PROCID", size: "SLURM_STEP_NUM_TASKS" },
    Mark { name: "a PMI launcher (MPICH's or Intel MPI's mpiexec, or srun)", rank: "PMI_RANK", size: "PMI_SIZE" },
    Mark { name: "a PMI-2 launcher", rank: "PMI_ID", size: "PMI_SIZE" },
    Mark { name: "a PMIx launcher", rank: "PMIX_RANK", size: "" },
];

/// The launcher that started this process as one of several, if there is one. If a launcher does
/// not tell the number of its processes, it is assumed to be more than one.
pub fn launcher(var: &impl Fn(&str) -> Option<String>) -> Option<Launcher> {
    let number = |name: &str| var(name)?.trim().parse::<u64>().ok();
    let seen: Vec<_> = MARKS.iter().filter(|mark| number(mark.rank).is_some()).collect();
    let counted = seen.iter().filter_map(|mark| Some((mark, number(mark.size)?)));
    if let Some((mark, size)) = counted.clone().find(|&(_, size)| size > 1) {
        return Some(Launcher { name: mark.name, variable: mark.rank, size: Some(size) });
    }
    if counted.count() > 0 {
        return None;
    }
    // SLURM_PROCID alone is also set in every batch script, which is one process.
    let silent = seen.into_iter().find(|mark| mark.rank != "SLURM_PROCID" || number(mark.rank) > Some(0))?;
    Some(Launcher { name: silent.name, variable: silent.rank, size: None })
}

/// The launcher behind a PMI manager, for people.
pub fn pmi_launcher(var: &impl Fn(&str) -> Option<String>) -> &'static str {
    const MARKS: [(&str, &str); 4] = [
        ("I_MPI_HYDRA_UUID", "Intel MPI's mpiexec"),
        ("HYDI_CONTROL_FD", "MPICH's mpiexec"),
        ("FLUX_JOB_ID", "Flux"),
        ("SLURM_STEP_ID", "Slurm's srun"),
    ];
    MARKS.into_iter().find(|(mark, _)| var(mark).is_some()).map_or("a PMI launcher", |(_, name)| name)
}

/// The launcher behind a PMIx server, for people.
pub fn pmix_launcher(var: &impl Fn(&str) -> Option<String>) -> &'static str {
    const MARKS: [(&str, &str); 5] = [
        ("OMPI_COMM_WORLD_RANK", "Open MPI's mpirun"),
        ("PRTE_LAUNCHED", "PRRTE's prterun"),
        ("FLUX_JOB_ID", "Flux"),
        ("JSM_NAMESPACE_RANK", "IBM's jsrun"),
        ("SLURM_STEP_ID", "Slurm's srun"),
    ];
    MARKS.into_iter().find(|(mark, _)| var(mark).is_some()).map_or("a PMIx launcher", |(_, name)| name)
}

impl Launcher {
    pub fn complaint(&self) -> String {
        let Launcher { name, variable, size } = self;
        let among = match size {
            Some(size) => format!("as one of {size} processes"),
            None => "as one of several processes".into(),
        };
        let cure = match *variable {
            // Slurm's default may be --mpi=none.
            "SLURM_PROCID" => "give srun the option --mpi=pmi2 or --mpi=pmix, or start the program",
            _ => "start it",
        };
        format!(
            "this program was started by {name} {among} ({variable} is set), without a process manager that OxMPI can \
             speak with (PMI_FD, PMI_PORT and PMIX_NAMESPACE are not set); {cure} with OxMPI's own mpirun, or unset {variable} to run \
             it alone"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(vars: &[(&str, &str)]) -> Option<(&'static str, Option<u64>)> {
        let var = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| v.to_string());
        launcher(&var).map(|found| (found.variable, found.size))
    }

    #[test]
    fn several_processes_are_seen() {
        assert_eq!(seen(&[("PMI_RANK", "0"), ("PMI_SIZE", "4")]), Some(("PMI_RANK", Some(4))));
        assert_eq!(seen(&[("PMI_ID", "0"), ("PMI_SIZE", "4")]), Some(("PMI_ID", Some(4))));
        assert_eq!(
            seen(&[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2"), ("PMIX_RANK", "1")]),
            Some(("OMPI_COMM_WORLD_RANK", Some(2)))
        );
        assert_eq!(seen(&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "2")]), Some(("SLURM_PROCID", Some(2))));
        assert_eq!(seen(&[("PMIX_RANK", "0")]), Some(("PMIX_RANK", None)));
    }

    #[test]
    fn one_process_is_alone() {
        assert_eq!(seen(&[]), None);
        assert_eq!(seen(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), None);
        assert_eq!(seen(&[("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1"), ("PMIX_RANK", "0")]), None);
        // A batch script of a job with 8 tasks, and an interactive step of one.
        assert_eq!(seen(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")]), None);
        assert_eq!(seen(&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1")]), None);
        assert_eq!(seen(&[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "1"), ("PMIX_RANK", "0")]), None);
    }

    #[test]
    fn launchers_with_a_manager_have_names() {
        let name = |mark: &'static str| pmi_launcher(&|name: &str| (name == mark).then(|| "1".into()));
        assert_eq!((name("I_MPI_HYDRA_UUID"), name("HYDI_CONTROL_FD")), ("Intel MPI's mpiexec", "MPICH's mpiexec"));
        assert_eq!((name("SLURM_STEP_ID"), name("X")), ("Slurm's srun", "a PMI launcher"));
    }

    #[test]
    fn the_complaint_says_what_to_do() {
        let text = launcher(&|name| (name == "SLURM_PROCID").then(|| "3".into())).unwrap().complaint();
        assert!(text.contains("--mpi=pmi2"));
        let text = launcher(&|name| (name == "PMIX_RANK").then(|| "3".into())).unwrap().complaint();
        assert!(text.contains("PMIX_RANK") && text.contains("OxMPI's own mpirun"));
    }
}
