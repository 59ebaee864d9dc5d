//! Every option that `mpirun` knows, in both dialects, with its help: the parser and `--help` read the same table, so
//! that neither can know one that the other does not.

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
    Mca,
    /// Asks for what OxMPI does anyway, or speaks of machinery that it does not have: nothing to do, nothing to say.
    Moot,
    Help,
    Version,
}

pub struct Spec {
    pub key: Key,
    /// Without dashes: one or two are taken in front of any name. The first is the one that help shows first.
    pub names: &'static [&'static str],
    /// What the values are called, which also says how many there are.
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

pub const GROUPS: [Group; 6] = [
    Group {
        title: "What to start",
        specs: &[
            spec(
                Key::Count,
                &["n", "np", "c"],
                &["N"],
                "start N ranks of the program that follows; without it: the slots that hosts were given, else one rank \
                 for each CPU that may be used (in a list with `:`, one)",
            ),
            spec(Key::Wdir, &["wdir", "wd", "gwdir"], &["DIR"], "start the program in DIR"),
            spec(
                Key::Pset,
                &["pset"],
                &["NAME"],
                "call the process set of the ranks that follow app://NAME instead of app://PROGRAM; they are also \
                 app://0, those after a `:` app://1 and so on",
            ),
            spec(
                Key::Appnum,
                &["appnum"],
                &["N"],
                "the value of MPI_APPNUM for the ranks that follow (default: 0, after a `:` 1 and so on)",
            ),
            spec(Key::Path, &["path"], &["DIRS"], "look for the program in DIRS (separated by `:`) first"),
            spec(
                Key::ConfigFile,
                &["configfile", "app"],
                &["FILE"],
                "read the command lines from FILE, one a line, instead of separating them with `:`",
            ),
            spec(
                Key::Host,
                &["host", "hosts", "H"],
                &["LIST"],
                "where to run, `HOST[:SLOTS],…`; for now every host must be this machine",
            ),
            spec(
                Key::HostFile,
                &["hostfile", "f", "machinefile", "default-hostfile"],
                &["FILE"],
                "the same from a file: `HOST`, `HOST:SLOTS` or `HOST slots=N` on each line",
            ),
            spec(Key::PerHost, &["ppn", "perhost", "npernode", "N"], &["N"], "ranks on each host"),
            spec(
                Key::Timeout,
                &["timeout"],
                &["SECONDS"],
                "stop the job after that time, say where each rank was, and end with status 124; the variable \
                 MPIEXEC_TIMEOUT does the same",
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
                "when a rank dies, let the others go on",
            ),
            spec(
                Key::InitialErrhandler,
                &["initial-errhandler"],
                &["NAME"],
                "mpi_errors_are_fatal, mpi_errors_abort or mpi_errors_return",
            ),
            spec(Key::MemoryAllocKinds, &["memory-alloc-kinds"], &["LIST"], "memory kinds that the program asks for"),
        ],
    },
    Group {
        title: "Environment of the ranks (by default all of mpirun's own)",
        specs: &[
            spec(Key::Genv, &["genv"], &["VAR", "VALUE"], "set a variable for every program; also `VAR=VALUE`"),
            spec(
                Key::Env,
                &["env"],
                &["VAR", "VALUE"],
                "set a variable for the program that follows; also `VAR=VALUE`",
            ),
            spec(Key::Export, &["x"], &["VAR[=VALUE]"], "pass a variable on, or set it"),
            spec(Key::GenvList, &["genvlist"], &["A,B,…"], "pass on only these; -envlist for one program"),
            spec(Key::EnvList, &["envlist"], &["A,B,…"], ""),
            spec(Key::GenvNone, &["genvnone"], &[], "pass nothing on; -envnone for one program"),
            spec(Key::EnvNone, &["envnone"], &[], ""),
            spec(Key::GenvAll, &["genvall"], &[], "pass everything on (the default); -envall for one program"),
            spec(Key::EnvAll, &["envall"], &[], ""),
        ],
    },
    Group {
        title: "Input and output",
        specs: &[
            spec(Key::Label, &["l", "prepend-rank", "tag-output"], &[], "put `[rank] ` before every line"),
            spec(
                Key::Output,
                &["output"],
                &["HOW"],
                "`tag`, `merge`, `dir=DIR` or several of them with commas, as Open MPI has it",
            ),
            spec(
                Key::OutFile,
                &["outfile-pattern", "outfile"],
                &["PATTERN"],
                "write each rank's stdout to a file; %r is the rank, %h the host, %a the number of the program",
            ),
            spec(Key::ErrFile, &["errfile-pattern", "errfile"], &["PATTERN"], "the same for stderr"),
            spec(
                Key::OutputDir,
                &["output-filename", "output-directory"],
                &["DIR"],
                "also write to DIR/rank.N/stdout and stderr; `DIR:nocopy` writes there only",
            ),
            spec(
                Key::MergeStderr,
                &["merge-stderr-to-stdout", "stderr-to-stdout"],
                &[],
                "send the ranks' stderr to mpirun's stdout",
            ),
            spec(
                Key::Stdin,
                &["stdin", "s"],
                &["WHO"],
                "which ranks read mpirun's stdin: a rank (default 0), a list such as 0,2-3, `all` or `none`",
            ),
            spec(Key::Quiet, &["q", "quiet"], &[], "no remarks; a job that fails is still reported"),
            spec(Key::Verbose, &["v", "verbose"], &[], "say what is started, where"),
        ],
    },
    Group {
        title: "Placement",
        specs: &[
            spec(
                Key::BindTo,
                &["bind-to", "binding"],
                &["WHAT"],
                "none, hwthread, core, l3cache, numa, socket; by default each rank gets a core when there are enough \
                 cores that no other job of OxMPI holds, and none is bound otherwise",
            ),
            spec(
                Key::MapBy,
                &["map-by"],
                &["WHAT"],
                "go through core (default), hwthread, l3cache, numa or socket in turn; `:PE=N` for N cores a rank; \
                 `ppr:N:socket` for N ranks on each",
            ),
            spec(
                Key::RankBy,
                &["rank-by"],
                &["WHAT"],
                "number the ranks in that order (core, slot) instead of the order of map-by",
            ),
            spec(
                Key::CpuList,
                &["cpu-list", "cpu-set"],
                &["LIST"],
                "use only these CPUs, such as 0-3,8; the other CPUs are not counted",
            ),
            spec(Key::CpusPerRank, &["cpus-per-rank", "cpus-per-proc"], &["N"], "as -map-by core:PE=N"),
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
                "refuse to start more ranks than slots or CPUs (by default any number may run)",
            ),
        ],
    },
    Group {
        title: "Accepted for existing scripts, without effect",
        specs: &[
            spec(Key::Moot, &["oversubscribe"], &[], "more ranks than CPUs are always allowed"),
            spec(Key::Moot, &["allow-run-as-root"], &[], "root is a user like any other"),
            spec(
                Key::Mca,
                &["mca", "gmca", "omca", "prtemca", "pmixmca"],
                &["NAME", "VALUE"],
                "tuning of Open MPI's components",
            ),
            spec(Key::Moot, &["soft", "arch", "file"], &["VALUE"], ""),
            spec(
                Key::Moot,
                &[
                    "launcher",
                    "bootstrap",
                    "launcher-exec",
                    "bootstrap-exec",
                    "rmk",
                    "iface",
                    "topolib",
                    "demux",
                    "membind",
                    "prefix",
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
            spec(Key::Help, &["help", "h", "?"], &[], "this text"),
            spec(Key::Version, &["version", "V", "info"], &[], "the version"),
        ],
    },
];

pub fn specs() -> impl Iterator<Item = &'static Spec> {
    GROUPS.iter().flat_map(|group| group.specs)
}

/// The option of that name. Case matters where both cases exist (`-h`, `-H`; `-n`, `-N`), nowhere else.
pub fn find(name: &str) -> Option<&'static Spec> {
    let by = |same: fn(&str, &str) -> bool| specs().find(|spec| spec.names.iter().any(|known| same(known, name)));
    by(|known, name| known == name).or_else(|| by(|known, name| name.len() > 1 && known.eq_ignore_ascii_case(name)))
}

/// The known name nearest to a mistyped one, if it is near.
pub fn nearest(name: &str) -> Option<&'static str> {
    let names = specs().flat_map(|spec| spec.names).filter(|known| known.len() > 1);
    let (distance, best) = names.map(|known| (edits(known, name), *known)).min_by_key(|&(distance, _)| distance)?;
    (distance <= 1 + name.len() / 4).then_some(best)
}

/// How a name is written: short ones with one dash, long ones with two.
pub fn dashed(name: &str) -> String {
    format!("{}{name}", if name.len() < 4 { "-" } else { "--" })
}

/// Single-character insertions, deletions, replacements and swaps of neighbours between two words.
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
