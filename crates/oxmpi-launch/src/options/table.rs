//! All options of `mpirun`, in both dialects, with their help. The parser and `--help` read the
//! same table.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Count,
    PerHost,
    Host,
    HostFile,
    Wdir,
    Path,
    ConfigFile,
    Timeout,
    UniverseSize,
    Appnum,
    Pset,
    KeepGoing,
    WithFt,
    AsyncProgress,
    InitialErrhandler,
    MemoryAllocKinds,
    Env,
    Genv,
    Export,
    EnvList,
    GenvList,
    EnvAll,
    GenvAll,
    EnvNone,
    GenvNone,
    Label,
    LabelHost,
    Output,
    MergeStderr,
    Stdin,
    OutFile,
    ErrFile,
    OutputDir,
    Quiet,
    Verbose,
    BindTo,
    MapBy,
    RankBy,
    CpuList,
    CpusPerRank,
    HwThreads,
    ReportBindings,
    NoOversubscribe,
    VariableTimeout,
    PretendNodes,
    PretendHosts,
    SpawnHosts,
    Launcher,
    LauncherExec,
    FanOut,
    Prefix,
    HostTimeout,
    PortRange,
    Net,
    NetInterface,
    CheckHosts,
    Check,
    CheckReport,
    Debug,
    Profile,
    Trace,
    CheckSuppress,
    StageIn,
    Mca,
    /// Accepted and ignored: asks for what OxMPI does anyway, or for machinery that it does not
    /// have.
    Moot,
    Help,
    Version,
}

impl Key {
    /// Options that an agent needs to know of.
    pub fn concerns_agents(self) -> bool {
        matches!(
            self,
            Key::BindTo
                | Key::MapBy
                | Key::RankBy
                | Key::CpuList
                | Key::CpusPerRank
                | Key::HwThreads
                | Key::ReportBindings
                | Key::MergeStderr
                | Key::KeepGoing
                | Key::WithFt
                | Key::Quiet
                | Key::Verbose
        )
    }
}

pub struct Spec {
    pub key: Key,
    /// Without dashes: the user may type one or two. `--help` shows this order.
    pub names: &'static [&'static str],
    /// Names of the values, which also give their number.
    pub values: &'static [&'static str],
    pub help: &'static str,
}

pub struct Group {
    pub title: &'static str,
    pub specs: &'static [Spec],
}

const fn spec(key: Key, names: &'static [&'static str], values: &'static [&'static str], help: &'static str) -> Spec {
    Spec { key, names, values, help }
}

pub const GROUPS: [Group; 7] = [
    Group {
        title: "Programs and ranks",
        specs: &[
            spec(
                Key::Count,
                &["n", "np", "c"],
                &["N"],
                "start N ranks of the program; default: the number of slots of --host or --hostfile, else one rank for \
                 each CPU that may be used (one rank for each program of a list with `:`)",
            ),
            spec(Key::Wdir, &["wdir", "wd", "gwdir"], &["DIR"], "start the program in DIR"),
            spec(
                Key::Pset,
                &["pset"],
                &["NAME"],
                "name the process set of the program's ranks app://NAME instead of app://PROGRAM; the ranks are also in \
                 app://0, those of the next program after a `:` in app://1, and so on",
            ),
            spec(
                Key::Appnum,
                &["appnum"],
                &["N"],
                "the value of MPI_APPNUM for the program's ranks (default: 0 for the first program, 1 for the next, and so on)",
            ),
            spec(Key::Path, &["path"], &["DIRS"], "search DIRS (separated by `:`) for the program first"),
            spec(
                Key::ConfigFile,
                &["configfile", "app"],
                &["FILE"],
                "read the programs from FILE, one command line per line, instead of separating them with `:`",
            ),
            spec(
                Key::Host,
                &["host", "hosts", "H"],
                &["LIST"],
                "the hosts to run on, `HOST[:SLOTS],…`; one-sided communication, spawning and ports do not work between \
                 hosts yet",
            ),
            spec(
                Key::HostFile,
                &["hostfile", "f", "machinefile", "default-hostfile"],
                &["FILE"],
                "read the hosts from FILE: `HOST`, `HOST:SLOTS` or `HOST slots=N` on each line",
            ),
            spec(Key::PerHost, &["ppn", "perhost", "npernode", "N"], &["N"], "start N ranks on each host"),
            spec(
                Key::Timeout,
                &["timeout"],
                &["SECONDS"],
                "stop the job after that time, print the MPI call that each rank is in, and exit with status 124; the \
                 environment variable MPIEXEC_TIMEOUT does the same",
            ),
            spec(
                Key::Check,
                &["check"],
                &[],
                "look for what is wrong with the program although it works; `--check=error` gives status 122 if something was \
                 found (`oxmpi explain NAME` explains a finding)",
            ),
            spec(
                Key::CheckReport,
                &["check-report"],
                &["FILE"],
                "with --check, write the findings to FILE.json or FILE.html",
            ),
            spec(
                Key::CheckSuppress,
                &["check-suppress"],
                &["FILE"],
                "with --check, do not tell the findings that FILE names, one on each line",
            ),
            spec(
                Key::Debug,
                &["debug"],
                &[],
                "run each rank in gdb, in panes of tmux, windows of xterm or this terminal; `--debug=RANKS` only these, such as \
                 0,2-3, while the others run on",
            ),
            spec(
                Key::Profile,
                &["profile"],
                &[],
                "at the end show where the program spent its time in MPI, by place in the source; `--profile=FILE.html` or \
                 `.json` writes all of it, with sizes of messages, who sends to whom, and algorithms",
            ),
            spec(
                Key::Trace,
                &["trace"],
                &["FILE"],
                "write a timeline of all calls and messages to FILE.json, for ui.perfetto.dev",
            ),
            spec(
                Key::UniverseSize,
                &["usize"],
                &["N"],
                "the value of MPI_UNIVERSE_SIZE (default: the number of ranks)",
            ),
            spec(
                Key::KeepGoing,
                &["disable-auto-cleanup", "enable-recovery"],
                &[],
                "when a rank fails, let the other ranks continue: the same as --with-ft ulfm",
            ),
            spec(
                Key::WithFt,
                &["with-ft"],
                &["ulfm"],
                "when ranks die, the others go on: their calls that need a dead rank raise MPIX_ERR_PROC_FAILED, and the status \
                 is 0 if they end well",
            ),
            spec(
                Key::AsyncProgress,
                &["async-progress"],
                &[],
                "a thread of each rank brings long messages and nonblocking operations forward while the program computes: \
                 OXMPI_ASYNC_PROGRESS=1 for all ranks",
            ),
            spec(
                Key::InitialErrhandler,
                &["initial-errhandler"],
                &["NAME"],
                "the initial error handler: mpi_errors_are_fatal (default), mpi_errors_abort or mpi_errors_return",
            ),
            spec(
                Key::MemoryAllocKinds,
                &["memory-alloc-kinds"],
                &["LIST"],
                "the memory kinds that the program requests",
            ),
        ],
    },
    Group {
        title: "Environment of the ranks (default: that of mpirun)",
        specs: &[
            spec(Key::Genv, &["genv"], &["VAR", "VALUE"], "set a variable for all programs; also `VAR=VALUE`"),
            spec(Key::Env, &["env"], &["VAR", "VALUE"], "set a variable for this program; also `VAR=VALUE`"),
            spec(Key::Export, &["x"], &["VAR[=VALUE]"], "pass a variable to this program, or set it"),
            spec(Key::GenvList, &["genvlist"], &["A,B,…"], "pass only these variables; -envlist for this program only"),
            spec(Key::EnvList, &["envlist"], &["A,B,…"], ""),
            spec(Key::GenvNone, &["genvnone"], &[], "pass no variables; -envnone for this program only"),
            spec(Key::EnvNone, &["envnone"], &[], ""),
            spec(Key::GenvAll, &["genvall"], &[], "pass all variables (the default); -envall for this program only"),
            spec(Key::EnvAll, &["envall"], &[], ""),
        ],
    },
    Group {
        title: "Input and output",
        specs: &[
            spec(Key::Label, &["l", "prepend-rank", "tag-output"], &[], "print `[rank] ` before every line"),
            spec(Key::LabelHost, &["label-host"], &[], "print `[rank host] ` before every line"),
            spec(
                Key::Output,
                &["output"],
                &["LIST"],
                "Open MPI's form of these options: `tag`, `merge`, `dir=DIR`, or several separated by commas",
            ),
            spec(
                Key::OutFile,
                &["outfile-pattern", "outfile"],
                &["PATTERN"],
                "write the stdout of each rank to a file; in PATTERN, %r is the rank, %h the host, %a the number of the program",
            ),
            spec(Key::ErrFile, &["errfile-pattern", "errfile"], &["PATTERN"], "the same for the stderr of each rank"),
            spec(
                Key::OutputDir,
                &["output-filename", "output-directory"],
                &["DIR"],
                "also write the output of rank N to DIR/rank.N/stdout and stderr; with `DIR:nocopy`, only there",
            ),
            spec(
                Key::MergeStderr,
                &["merge-stderr-to-stdout", "stderr-to-stdout"],
                &[],
                "write the stderr of the ranks to the stdout of mpirun",
            ),
            spec(
                Key::Stdin,
                &["stdin", "s"],
                &["RANKS"],
                "the ranks that read the stdin of mpirun: a rank (default 0), a list such as 0,2-3, `all` or `none`",
            ),
            spec(Key::Quiet, &["q", "quiet"], &[], "print no warnings; failures are still reported"),
            spec(
                Key::Verbose,
                &["v", "verbose"],
                &[],
                "print each rank with its process and its CPUs, and the hosts of an allocation",
            ),
        ],
    },
    Group {
        title: "Placement",
        specs: &[
            spec(
                Key::BindTo,
                &["bind-to", "binding"],
                &["LEVEL"],
                "bind each rank to: none, hwthread, core, l3cache, numa or socket; default: an equal share of the cores \
                 that no other OxMPI job uses if there is one for each rank, else none",
            ),
            spec(
                Key::MapBy,
                &["map-by"],
                &["LEVEL"],
                "place successive ranks on successive: core (default), hwthread, l3cache, numa or socket; `core:PE=N` \
                 gives each rank N cores; `ppr:N:socket` starts N ranks on each socket",
            ),
            spec(
                Key::RankBy,
                &["rank-by"],
                &["ORDER"],
                "number the ranks in the order of core or slot, instead of that of --map-by",
            ),
            spec(Key::CpuList, &["cpu-list", "cpu-set"], &["LIST"], "use only these CPUs, such as 0-3,8"),
            spec(Key::CpusPerRank, &["cpus-per-rank", "cpus-per-proc"], &["N"], "the same as --map-by core:PE=N"),
            spec(Key::HwThreads, &["use-hwthread-cpus"], &[], "bind to hardware threads instead of cores"),
            spec(
                Key::ReportBindings,
                &["report-bindings", "display-map", "display-devel-map", "print-rank-map"],
                &[],
                "print the CPUs of each rank",
            ),
            spec(
                Key::NoOversubscribe,
                &["nooversubscribe", "no-oversubscribe"],
                &[],
                "refuse to start more ranks than slots or CPUs (default: any number of ranks is allowed)",
            ),
            // MPIEXEC_TIMEOUT in the environment.
            spec(Key::VariableTimeout, &["MPIEXEC_TIMEOUT"], &["SECONDS"], ""),
            // For tests of OxMPI itself: CONTRIBUTING.md tells what it does.
            spec(Key::PretendNodes, &["pretend-nodes"], &["NODES"], ""),
            spec(Key::PretendHosts, &["pretend-hosts"], &["N"], ""),
            // For the mpirun of a spawned job.
            spec(Key::SpawnHosts, &["spawn-hosts"], &["HOSTS"], ""),
        ],
    },
    Group {
        title: "Several hosts",
        specs: &[
            spec(
                Key::Launcher,
                &["launcher", "bootstrap"],
                &["NAME"],
                "start ranks on other hosts with `ssh` (default), `rsh`, or inside an allocation with `slurm` (srun) or `pbs` (pbs_tmrsh)",
            ),
            spec(
                Key::LauncherExec,
                &["launcher-exec", "bootstrap-exec", "rsh-agent"],
                &["COMMAND"],
                "the command that runs a program on a host, with arguments, such as `ssh -F FILE`; also OXMPI_RSH",
            ),
            spec(
                Key::FanOut,
                &["fan-out"],
                &["N"],
                "mpirun and each host start programs on at most N further hosts (default: 32; 512 with --with-ft)",
            ),
            spec(Key::Prefix, &["prefix"], &["DIR"], "OxMPI is in DIR on the other hosts"),
            spec(
                Key::HostTimeout,
                &["host-timeout"],
                &["SECONDS"],
                "a host that is silent for about this long has failed (default: 6; 0: wait for ever)",
            ),
            spec(
                Key::PortRange,
                &["port-range"],
                &["FIRST-LAST"],
                "each host listens on one of these ports (default: any free one); also OXMPI_PORT_RANGE",
            ),
            spec(
                Key::Net,
                &["net"],
                &["NETWORK"],
                "what messages between hosts go over: `tcp` (default), `auto`, `ofi` (libfabric) or `ofi:PROVIDER`; also OXMPI_NET",
            ),
            spec(
                Key::NetInterface,
                &["net-interface", "iface"],
                &["NAME"],
                "use this network interface, or the one with an address in ADDRESS/BITS, between hosts",
            ),
            spec(
                Key::StageIn,
                &["stage-in"],
                &["WHAT"],
                "copy the `program` to hosts that do not have it, or `all`: the installation of OxMPI too; the copies stay",
            ),
            spec(
                Key::CheckHosts,
                &["check-hosts"],
                &[],
                "start no program, but check all that a job on these hosts needs: logins, OxMPI and its version, users, \
                 clocks, the program if one is given, and connections between all hosts; print a table",
            ),
        ],
    },
    Group {
        title: "Accepted for existing scripts, without effect",
        specs: &[
            spec(Key::Moot, &["oversubscribe"], &[], "more ranks than CPUs are always allowed"),
            spec(Key::Moot, &["allow-run-as-root"], &[], "root may always run jobs"),
            spec(
                Key::Mca,
                &["mca", "gmca", "omca", "prtemca", "pmixmca"],
                &["NAME", "VALUE"],
                "parameters of Open MPI's components",
            ),
            spec(Key::Moot, &["soft", "arch", "file"], &["VALUE"], ""),
            spec(
                Key::Moot,
                &[
                    "rmk",
                    "topolib",
                    "demux",
                    "membind",
                    "personality",
                    "pmi-port",
                    "am",
                    "tune",
                    "display",
                    "order-nodes",
                    "nameserver",
                    "forward-signals",
                ],
                &["VALUE"],
                "",
            ),
            spec(
                Key::Moot,
                &[
                    "noprefix",
                    "novm",
                    "disable-recovery",
                    "enable-auto-cleanup",
                    "disable-hostname-propagation",
                    "leave-session-attached",
                    "display-allocation",
                    "show-progress",
                    "localonly",
                    "local",
                    "overload-allowed",
                    "do-not-launch-daemons",
                ],
                &[],
                "",
            ),
        ],
    },
    Group {
        title: "About mpirun",
        specs: &[
            spec(Key::Help, &["help", "h", "?"], &[], "print this text"),
            spec(Key::Version, &["version", "V", "info"], &[], "print the version"),
        ],
    },
];

pub fn specs() -> impl Iterator<Item = &'static Spec> {
    GROUPS.iter().flat_map(|group| group.specs)
}

/// Finds an option by name. Case matters only where both cases exist (`-h`, `-H`; `-n`, `-N`).
pub fn find(name: &str) -> Option<&'static Spec> {
    let by = |same: fn(&str, &str) -> bool| specs().find(|spec| spec.names.iter().any(|known| same(known, name)));
    by(|known, name| known == name).or_else(|| by(|known, name| name.len() > 1 && known.eq_ignore_ascii_case(name)))
}

/// The known name that is most similar to a mistyped one, if it is similar enough.
pub fn nearest(name: &str) -> Option<&'static str> {
    let names = specs().flat_map(|spec| spec.names).filter(|known| known.len() > 1);
    let (distance, best) = names.map(|known| (edits(known, name), *known)).min_by_key(|&(distance, _)| distance)?;
    (distance <= 1 + name.len() / 4).then_some(best)
}

/// How a name is shown: short ones with one dash, long ones with two.
pub fn dashed(name: &str) -> String {
    format!("{}{name}", if name.len() < 4 { "-" } else { "--" })
}

/// The number of single-character insertions, deletions, replacements and swaps between two words.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replace = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replace.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_name_is_given_twice() {
        let mut seen = HashSet::new();
        for name in specs().flat_map(|spec| spec.names) {
            assert!(seen.insert(name), "{name}");
        }
    }

    #[test]
    fn a_slip_finds_what_was_meant() {
        assert_eq!(nearest("bnid-to"), Some("bind-to"));
        assert_eq!(nearest("oversubscibe"), Some("oversubscribe"));
        assert_eq!(nearest("hostfil"), Some("hostfile"));
        assert_eq!(nearest("frobnicate"), None);
    }

    #[test]
    fn case_matters_only_where_it_must() {
        assert_eq!(find("h").map(|spec| spec.key), Some(Key::Help));
        assert_eq!(find("H").map(|spec| spec.key), Some(Key::Host));
        assert_eq!(find("NP").map(|spec| spec.key), Some(Key::Count));
        assert!(find("L").is_none());
    }
}
