//! Parses the command line: the options of MPICH's and Open MPI's launchers, and the form that the
//! standard suggests for `mpiexec`. Parsing starts nothing and reads no files except `-configfile`
//! and host files. `table.rs` lists the options.

mod help;
mod table;
mod values;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use oxmpi_base::cpus::CpuSet;

use crate::allocation::Found;
use crate::check_options::Check;
use crate::deadlock_mode::Mode;
use crate::debug_options::{self, Debugger, Screens};
use crate::hosts::{self, Host};
use crate::nodes::PretendNodes;
use crate::output::Label;
use crate::profile_options::Wanted;
use crate::reach::Listening;
use crate::share;
use crate::slurm::Allocation;
use oxmpi_boot::net::{self, Net};
use table::{Key, Spec, dashed};
pub use values::{BindTo, Level, MapBy, shell_words};

/// A mistake on the command line, as a text.
#[derive(Debug, PartialEq, Eq)]
pub struct Mistake(pub String);

type Result<T> = std::result::Result<T, Mistake>;

pub enum Command {
    Run(Box<Request>),
    Help(String),
    Version,
}

/// A job as the user asked for it.
#[derive(Debug, Default)]
pub struct Request {
    pub blocks: Vec<Block>,
    pub settings: Settings,
}

/// One program and its arguments: the part between two `:`.
#[derive(Debug, Default)]
pub struct Block {
    pub count: Option<usize>,
    pub program: OsString,
    pub arguments: Vec<OsString>,
    pub wdir: Option<PathBuf>,
    /// The name of its process set.
    pub pset: Option<OsString>,
    /// Directories to search before PATH.
    pub path: Option<OsString>,
    /// `MPI_APPNUM` of its ranks, if it is not the number of the block.
    pub appnum: Option<i32>,
    pub env: Env,
}

/// How the environment is built.
#[derive(Debug, Default)]
pub struct Env {
    pub pass: Option<Pass>,
    pub set: Vec<(OsString, OsString)>,
    /// Passed on even if `pass` excludes them.
    pub export: Vec<OsString>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pass {
    All,
    Nothing,
    Only(Vec<OsString>),
}

/// Settings of the whole job.
#[derive(Debug, Default)]
pub struct Settings {
    pub env: Env,
    /// Slots of this machine from the host lists.
    pub slots: Option<usize>,
    /// More ranks must not be started, as the host file says.
    pub max_slots: Option<usize>,
    pub per_host: Option<usize>,
    pub universe_size: Option<usize>,
    pub timeout: Option<Duration>,
    /// The time limit comes from the environment.
    pub timeout_of_variable: bool,
    /// What happens in a deadlock.
    pub deadlock: Mode,
    pub check: Check,
    /// The ranks that shall run in gdb, where they are seen, and which of them are started by this process.
    pub debug: Option<debug_options::Wanted>,
    pub screens: Option<Screens>,
    pub debugger: Option<Debugger>,
    /// What the user wants to see of the job.
    pub recorded: Wanted,
    /// The ranks go on when some of them die, and are told of it.
    pub keep_going: bool,
    pub label: Label,
    pub merge_stderr: bool,
    pub stdin: Stdin,
    pub outfile: Option<OsString>,
    pub errfile: Option<OsString>,
    pub output_dir: Option<OutputDir>,
    pub quiet: bool,
    pub verbose: bool,
    pub bind_to: Option<BindTo>,
    pub map_by: Option<MapBy>,
    pub rank_by_core: bool,
    pub cpus: Option<CpuSet>,
    pub report_bindings: bool,
    pub no_oversubscribe: bool,
    /// Check the hosts instead of starting programs.
    pub check_hosts: bool,
    /// Where a job of one machine listens, if one of its programs opens a port for other jobs.
    pub listening: Listening,
    /// The nodes that the ranks shall believe in, for a test.
    pub pretend_nodes: Option<PretendNodes>,
    /// The job has agents on these hosts.
    pub cluster: Option<Cluster>,
    /// Where the hosts come from, if the user named none.
    pub allocation: Option<Found>,
    /// Options that the agents parse again.
    pub agent_options: Vec<String>,
    /// Options for spawned jobs that follow from the hosts of this one.
    pub spawn_options: Vec<String>,
    /// Names of Open MPI's component parameters on the command line; `mpirun` says once that they
    /// are ignored.
    pub mca: Vec<String>,
}

/// The hosts of a job that is not on this machine alone, and how they are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    pub hosts: Vec<Host>,
    /// All hosts are this machine, for a test.
    pub pretended: bool,
    /// If the user named one, it is used for this machine too.
    pub launcher: Option<Launcher>,
    /// A command with arguments, instead of `ssh` or `rsh`.
    pub command: Option<String>,
    /// The most agents that one process starts.
    pub fan_out: Option<usize>,
    /// Where OxMPI is installed on the hosts, if not where it is here.
    pub prefix: Option<PathBuf>,
    /// Seconds after which a silent host is given up; 0: never.
    pub host_timeout: Option<u32>,
    /// The ports that hosts may listen on.
    pub port_range: Option<(u16, u16)>,
    /// The interface or network between the hosts.
    pub net_interface: Option<String>,
    pub stage_in: StageIn,
}

/// What is copied to hosts that lack it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StageIn {
    #[default]
    Nothing,
    Program,
    /// The program and the installation.
    All,
}

impl Cluster {
    /// The options with which a spawned job gets to the same hosts in the same way.
    pub fn spawn_options(&self) -> Vec<String> {
        let hosts: Vec<String> = self.hosts.iter().map(|host| format!("{}:{}", host.name, host.slots)).collect();
        let mut words = vec!["--spawn-hosts".into(), hosts.join(",")];
        let mut add = |name: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [name.to_string(), value]));
        };
        if self.pretended {
            add("--pretend-hosts", Some(self.hosts.len().to_string()));
        } else {
            add("--launcher", self.launcher.map(|launcher| launcher.name().into()));
        }
        add("--launcher-exec", self.command.clone());
        add("--fan-out", self.fan_out.map(|count| count.to_string()));
        add("--prefix", self.prefix.as_ref().map(|prefix| prefix.to_string_lossy().into_owned()));
        add("--port-range", self.port_range.map(|(first, last)| format!("{first}-{last}")));
        add("--net-interface", self.net_interface.clone());
        add("--host-timeout", self.host_timeout.map(|seconds| seconds.to_string()));
        words
    }
}

impl Launcher {
    fn name(self) -> &'static str {
        match self {
            Launcher::Ssh => "ssh",
            Launcher::Rsh => "rsh",
            Launcher::Local => "local",
            Launcher::Slurm => "slurm",
            Launcher::Pbs => "pbs",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Launcher {
    #[default]
    Ssh,
    Rsh,
    /// Agents are started directly, on this machine.
    Local,
    /// One `srun` starts all agents, inside an allocation of Slurm.
    Slurm,
    /// A `pbs_tmrsh` starts each agent, inside a job of PBS.
    Pbs,
}

impl Settings {
    /// Options that also apply to jobs that the ranks spawn. Options for output and time limit are
    /// not among them: the output goes where the spawning rank's output goes, and this job's time
    /// limit also ends the spawned jobs.
    pub fn handed_down(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        let mut add = |word: &str| words.push(word.into());
        self.label.option().into_iter().for_each(&mut add);
        if self.quiet {
            add("-q");
        }
        if self.bind_to == Some(BindTo::None) {
            ["--bind-to", "none"].into_iter().for_each(&mut add);
        }
        if let Some(cpus) = &self.cpus {
            ["--cpu-list", &cpus.to_string()].into_iter().for_each(&mut add);
        }
        if let Some(size) = self.universe_size {
            ["-usize", &size.to_string()].into_iter().for_each(&mut add);
        }
        if self.keep_going {
            words.extend(["--with-ft", "ulfm"].map(String::from));
        }
        words.extend(self.spawn_options.iter().cloned());
        words
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct OutputDir {
    pub dir: PathBuf,
    /// Also forward the output to `mpirun`'s own stdout and stderr.
    pub copy: bool,
}

/// Which ranks read `mpirun`'s stdin.
#[derive(Debug, PartialEq, Eq)]
pub enum Stdin {
    None,
    All,
    Ranks(Vec<usize>),
}

impl Default for Stdin {
    fn default() -> Stdin {
        Stdin::Ranks(vec![0])
    }
}

/// Parses the arguments. `called` is the name under which the program was called.
pub fn parse(called: &str, arguments: impl IntoIterator<Item = OsString>) -> Result<Command> {
    parse_in(called, arguments, &|| Ok(None))
}

/// Finds the allocation of a batch system that this process runs in.
pub type Detect<'a> = &'a dyn Fn() -> std::result::Result<Option<Found>, String>;

/// The same where the job gets the hosts of an allocation, if the user names none.
pub fn parse_in(
    called: &str,
    arguments: impl IntoIterator<Item = OsString>,
    allocation: Detect<'_>,
) -> Result<Command> {
    let mut lines = vec![Vec::new()];
    for argument in arguments {
        if argument == ":" {
            lines.push(Vec::new());
        } else if let Some(line) = lines.last_mut() {
            line.push(argument);
        }
    }
    let several = lines.len() > 1;
    let mut parser = Parser::default();
    for line in lines {
        let empty = line.is_empty();
        match parser.block(line)? {
            Done::Block => {}
            Done::Help => return Ok(Command::Help(help::text(called))),
            Done::Version => return Ok(Command::Version),
            Done::ConfigFile => {}
            Done::NoProgram if empty && several => {
                return Err(Mistake("a program is missing before or after a `:`".into()));
            }
            // Only hosts are to be checked.
            Done::NoProgram if parser.request.settings.check_hosts => {}
            Done::NoProgram => {
                return Err(Mistake(format!("no program to start; for example: {called} -n 4 ./program")));
            }
        }
    }
    parser.finish(allocation)
}

/// The environment variable that says what `--port-range` does.
const PORT_RANGE: &str = "OXMPI_PORT_RANGE";

/// What the environment says of it.
pub fn port_range_from_env() -> Result<Option<(u16, u16)>> {
    let Some(text) = std::env::var_os(PORT_RANGE).filter(|text| !text.is_empty()) else { return Ok(None) };
    let text = text.to_string_lossy();
    let wrong = || Mistake(format!("{PORT_RANGE} is `{text}`, which is no range of ports such as 20000-20099"));
    values::port_range(&text).map(Some).ok_or_else(wrong)
}

#[derive(Default)]
struct Parser {
    request: Request,
    hosts: Vec<Host>,
    pretend_hosts: Option<usize>,
    /// The hosts of the job that spawned this one.
    job_hosts: Vec<Host>,
    /// Without its hosts.
    cluster: Cluster,
}

enum Done {
    Block,
    ConfigFile,
    NoProgram,
    Help,
    Version,
}

impl Parser {
    /// The hosts of the allocation, and how they are reached, unless the user says something else.
    fn take_allocation(&mut self, allocation: Detect<'_>) -> Result<()> {
        let launcher = self.cluster.launcher;
        let has_hosts = !self.hosts.is_empty() || !self.job_hosts.is_empty() || self.pretend_hosts.is_some();
        let is_local = matches!(launcher, Some(Launcher::Local | Launcher::Slurm));
        if has_hosts || is_local || self.request.settings.pretend_nodes.is_some() {
            return Ok(());
        }
        let Some(found) = allocation().map_err(|text| Mistake(format!("{text}; --host or --hostfile overrides it")))?
        else {
            return Ok(());
        };
        self.hosts = found.hosts.clone();
        if launcher.is_none() && !hosts::all_here(&self.hosts) {
            // The user's own command reaches hosts as ssh does, so it cannot stand for that of PBS.
            self.cluster.launcher =
                found.launcher.filter(|&found| found != Launcher::Pbs || self.cluster.command.is_none());
            self.cluster.command = self.cluster.command.take().or_else(|| found.command.clone());
        }
        self.request.settings.allocation = Some(found);
        Ok(())
    }

    fn finish(mut self, allocation: Detect<'_>) -> Result<Command> {
        self.take_allocation(allocation)?;
        let Parser { mut request, mut hosts, pretend_hosts, job_hosts, mut cluster } = self;
        if cluster.port_range.is_none() {
            cluster.port_range = port_range_from_env()?;
        }
        let deadlock = std::env::var_os("OXMPI_DEADLOCK").unwrap_or_default();
        request.settings.deadlock = Mode::parse(&deadlock.to_string_lossy()).map_err(Mistake)?;
        request
            .settings
            .check
            .complete(&std::env::var(oxmpi_check::mode::VARIABLE).unwrap_or_default())
            .map_err(Mistake)?;
        request.settings.env.set.extend(request.settings.check.variable());
        request.settings.listening =
            Listening { port_range: cluster.port_range, interface: cluster.net_interface.clone() };
        if cluster.launcher == Some(Launcher::Slurm) {
            let allocation = Allocation::from_env().map_err(Mistake)?;
            if cluster.stage_in != StageIn::Nothing {
                return Err(Mistake("--stage-in cannot copy with --launcher slurm; `sbcast` does that".into()));
            }
            if pretend_hosts.is_none() && job_hosts.is_empty() {
                hosts = allocation.choose(&hosts).map_err(Mistake)?;
            }
        }
        if !job_hosts.is_empty() {
            hosts = hosts_of_job(hosts, job_hosts, pretend_hosts.is_some())?;
            if pretend_hosts.is_some() {
                let slots = pretended_hosts(hosts.len(), &request);
                hosts.iter_mut().zip(slots).for_each(|(host, pretended)| host.slots = pretended.slots);
                (cluster.pretended, cluster.launcher) = (true, Some(Launcher::Local));
            }
            cluster.hosts = share::merge(&hosts);
            request.settings.cluster = Some(cluster);
        } else if let Some(count) = pretend_hosts {
            if !hosts.is_empty() || request.settings.pretend_nodes.is_some() {
                return Err(Mistake(
                    "--pretend-hosts stands for the hosts of a job: give neither --host, --hostfile nor --pretend-nodes".into(),
                ));
            }
            cluster.hosts = pretended_hosts(count, &request);
            (cluster.pretended, cluster.launcher) = (true, Some(Launcher::Local));
            request.settings.cluster = Some(cluster);
        } else if !hosts.is_empty() {
            if cluster.launcher.is_none() && !request.settings.check_hosts && hosts::all_here(&hosts) {
                request.settings.slots = Some(hosts.iter().map(|host| host.slots).sum());
                request.settings.max_slots = hosts.iter().map(|host| host.max_slots).sum();
            } else {
                cluster.hosts = share::merge(&hosts);
                request.settings.cluster = Some(cluster);
            }
        }
        if request.settings.check_hosts {
            if request.settings.cluster.is_none() {
                return Err(Mistake("--check-hosts needs hosts: --host LIST or --hostfile FILE".into()));
            }
            // Something that every host has.
            if request.blocks.is_empty() {
                request.blocks.push(Block { program: "/bin/sh".into(), ..Block::default() });
            }
            // One place on every host, however many ranks the job will have.
            request.settings.per_host = Some(1);
            request.blocks.truncate(1);
            request.blocks.iter_mut().for_each(|block| block.count = None);
        }
        Ok(Command::Run(Box::new(request)))
    }

    /// Reads one command line: options, then a program and its arguments.
    fn block(&mut self, line: Vec<OsString>) -> Result<Done> {
        let mut words = line.into_iter();
        let mut block = Block::default();
        let mut done = Done::NoProgram;
        while let Some(word) = words.next() {
            let option = word.to_str().filter(|word| word.len() > 1).and_then(|word| word.strip_prefix('-'));
            let Some(option) = option else {
                block.program = word;
                break;
            };
            if option == "-" {
                match words.next() {
                    Some(program) => block.program = program,
                    None => return Ok(Done::NoProgram),
                }
                break;
            }
            let (spec, joined) = recognise(option)?;
            let mut values = Values { spec, joined, words: &mut words, taken: Vec::new() };
            match spec.key {
                Key::Help => return Ok(Done::Help),
                Key::Version => return Ok(Done::Version),
                Key::ConfigFile => {
                    let file = values.next()?;
                    self.config_file(file)?;
                    done = Done::ConfigFile;
                }
                _ => self.option(&mut block, &mut values)?,
            }
            values.finish()?;
            if spec.key.concerns_agents() {
                let agent_options = &mut self.request.settings.agent_options;
                agent_options.push(values.name());
                agent_options.extend(values.taken.iter().map(|word| word.to_string_lossy().into_owned()));
            }
        }
        if block.program.is_empty() {
            return Ok(done);
        }
        block.arguments = words.collect();
        self.request.blocks.push(block);
        Ok(Done::Block)
    }

    fn option(&mut self, block: &mut Block, values: &mut Values<'_>) -> Result<()> {
        let settings = &mut self.request.settings;
        match values.spec.key {
            Key::Count => block.count = Some(values.count()?),
            Key::PerHost => settings.per_host = Some(values.count()?),
            Key::UniverseSize => settings.universe_size = Some(values.count()?),
            Key::Host => {
                let list = values.text()?;
                self.hosts.extend(hosts::parse_list(&list).map_err(Mistake)?);
            }
            Key::HostFile => {
                let file = PathBuf::from(values.next()?);
                self.hosts.extend(hosts::parse_file(&file).map_err(Mistake)?);
            }
            Key::Appnum => block.appnum = Some(values.number()?),
            Key::Pset => block.pset = Some(values.pset()?),
            Key::Wdir => block.wdir = Some(values.next()?.into()),
            Key::Path => block.path = Some(values.next()?),
            Key::Check => settings.check.set_words(&values.joined.take().unwrap_or_default()).map_err(Mistake)?,
            Key::Debug => settings.debug = Some(debug_options::Wanted::parse(values.joined.take()).map_err(Mistake)?),
            Key::Profile => settings.recorded.set_profile(values.joined.take()).map_err(Mistake)?,
            Key::Trace => settings.recorded.set_trace(values.next()?.into()).map_err(Mistake)?,
            Key::CheckReport => settings.check.set_report(values.next()?.into()).map_err(Mistake)?,
            Key::CheckSuppress => settings.check.read_suppressions(&PathBuf::from(values.next()?)).map_err(Mistake)?,
            Key::Timeout | Key::VariableTimeout => {
                settings.timeout = Some(values.seconds()?);
                settings.timeout_of_variable = values.spec.key == Key::VariableTimeout;
            }
            Key::KeepGoing => settings.keep_going = true,
            Key::WithFt => {
                // Open MPI knows both names.
                values.one_of(&["ulfm", "mpi"])?;
                settings.keep_going = true;
            }
            Key::AsyncProgress => settings.env.set.push(("OXMPI_ASYNC_PROGRESS".into(), "1".into())),
            Key::InitialErrhandler => {
                let name = values.one_of(&["mpi_errors_are_fatal", "mpi_errors_abort", "mpi_errors_return"])?;
                block.env.set.push(("OXMPI_INITIAL_ERRHANDLER".into(), name.into()));
            }
            Key::MemoryAllocKinds => {
                let kinds = values.next()?;
                block.env.set.push(("OXMPI_MEMORY_ALLOC_KINDS".into(), kinds));
            }
            Key::Env => block.env.set.push(values.assignment()?),
            Key::Genv => settings.env.set.push(values.assignment()?),
            Key::Export => {
                let word = values.next()?;
                match split_at_equals(&word) {
                    Some(pair) => block.env.set.push(pair),
                    None => block.env.export.push(word),
                }
            }
            Key::EnvList => block.env.pass = Some(Pass::Only(values.names()?)),
            Key::GenvList => settings.env.pass = Some(Pass::Only(values.names()?)),
            Key::EnvAll => block.env.pass = Some(Pass::All),
            Key::GenvAll => settings.env.pass = Some(Pass::All),
            Key::EnvNone => block.env.pass = Some(Pass::Nothing),
            Key::GenvNone => settings.env.pass = Some(Pass::Nothing),
            Key::Label => settings.label = Label::Rank,
            Key::LabelHost => settings.label = Label::RankAndHost,
            Key::Output => values.output(settings)?,
            Key::MergeStderr => settings.merge_stderr = true,
            Key::Stdin => settings.stdin = values.stdin()?,
            Key::OutFile => settings.outfile = Some(values.next()?),
            Key::ErrFile => settings.errfile = Some(values.next()?),
            Key::OutputDir => settings.output_dir = Some(values.output_dir()?),
            Key::Quiet => settings.quiet = true,
            Key::Verbose => {
                settings.verbose = true;
                settings.env.set.push((net::SAY.into(), "1".into()));
            }
            Key::BindTo => settings.bind_to = Some(values.bind_to()?),
            Key::MapBy => {
                let map = values.map_by()?;
                settings.no_oversubscribe |= map.no_oversubscribe;
                settings.map_by = Some(map);
            }
            Key::RankBy => {
                let by = values.text()?;
                settings.rank_by_core =
                    matches!(by.split(':').next().unwrap_or_default(), "core" | "slot" | "hwthread" | "fill");
            }
            Key::CpuList => settings.cpus = Some(values.cpus()?),
            Key::CpusPerRank => settings.map_by.get_or_insert_default().cores_per_rank = Some(values.count()?),
            Key::HwThreads => settings.bind_to = Some(BindTo::Level(Level::HwThread)),
            Key::ReportBindings => settings.report_bindings = true,
            Key::NoOversubscribe => settings.no_oversubscribe = true,
            Key::StageIn => {
                self.cluster.stage_in = match values.one_of(&["program", "all"])? {
                    "all" => StageIn::All,
                    _ => StageIn::Program,
                };
            }
            Key::CheckHosts => settings.check_hosts = true,
            Key::PretendNodes => settings.pretend_nodes = Some(values.pretend_nodes()?),
            Key::PretendHosts => self.pretend_hosts = Some(values.count()?),
            Key::SpawnHosts => self.job_hosts = hosts::parse_list(&values.text()?).map_err(Mistake)?,
            Key::Launcher => self.cluster.launcher = Some(values.launcher()?),
            Key::LauncherExec => self.cluster.command = Some(values.text()?),
            Key::FanOut => self.cluster.fan_out = Some(values.count()?),
            Key::Prefix => self.cluster.prefix = Some(values.next()?.into()),
            Key::PortRange => self.cluster.port_range = Some(values.port_range()?),
            Key::Net => {
                let text = values.text()?;
                Net::parse(&text).map_err(|error| Mistake(format!("--net: {error}")))?;
                settings.env.set.push((net::VARIABLE.into(), text.into()));
            }
            Key::NetInterface => self.cluster.net_interface = Some(values.text()?),
            Key::HostTimeout => self.cluster.host_timeout = Some(values.number()? as u32),
            Key::Mca => {
                settings.mca.push(values.text()?);
                values.next()?;
            }
            Key::Moot => {
                for _ in values.spec.values {
                    values.next()?;
                }
            }
            Key::Help | Key::Version | Key::ConfigFile => unreachable!("taken by the caller"),
        }
        Ok(())
    }

    /// One command line per line; `#` starts a comment line, a backslash at the end continues a
    /// line.
    fn config_file(&mut self, file: OsString) -> Result<()> {
        let name = file.to_string_lossy().into_owned();
        let bytes = std::fs::read(&file).map_err(|error| Mistake(format!("cannot read the file {name}: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|_| Mistake(format!("the file {name} is not text")))?;
        for line in text.replace("\\\n", " ").lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let words =
                values::shell_words(line).ok_or_else(|| Mistake(format!("{name}: a quote is left open: {line}")))?;
            // A line with options only sets the options of the whole job.
            self.block(words.into_iter().map(OsString::from).collect())?;
        }
        if self.request.blocks.is_empty() {
            return Err(Mistake(format!("the file {name} names no program to start")));
        }
        Ok(())
    }
}

/// The hosts of a spawned job: those that it names, which must be hosts of the job that spawns it, or all of that. A name
/// of this machine stands for the host of the job that it is; pretended hosts are all this machine.
fn hosts_of_job(named: Vec<Host>, of_job: Vec<Host>, pretended: bool) -> Result<Vec<Host>> {
    let is_meant = |known: &Host, name: &str| {
        known.name == name || hosts::is_here(name) && (pretended || hosts::is_here(&known.name))
    };
    if let Some(other) = named.iter().find(|host| !of_job.iter().any(|known| is_meant(known, &host.name))) {
        let known: Vec<&str> = of_job.iter().map(|host| host.name.as_str()).collect();
        let known = known.join(", ");
        return Err(Mistake(format!("host {} is not one of the hosts of the job that spawns: {known}", other.name)));
    }
    let is_chosen = |known: &Host| named.is_empty() || named.iter().any(|host| is_meant(known, &host.name));
    Ok(of_job.into_iter().filter(is_chosen).collect())
}

/// So many hosts, whose slots add up to the ranks of the job.
fn pretended_hosts(count: usize, request: &Request) -> Vec<Host> {
    let ranks: Option<usize> = request.blocks.iter().map(|block| block.count).sum();
    let ranks = ranks.unwrap_or(count);
    let slots = |host: usize| ((ranks + count - 1 - host) / count).max(1);
    let own = hosts::own_name();
    (0..count).map(|host| Host { name: format!("{own}-node{host}"), slots: slots(host), max_slots: None }).collect()
}

/// Finds the option that a word names (its first dash is removed), and the value joined to it with
/// `=`.
fn recognise(word: &str) -> Result<(&'static Spec, Option<String>)> {
    let bare = word.strip_prefix('-').unwrap_or(word);
    let (name, joined) = match bare.split_once('=') {
        Some((name, value)) => (name, Some(value.to_string())),
        None => (bare, None),
    };
    if let Some(spec) = table::find(name) {
        return Ok((spec, joined));
    }
    // `-n4`, `-np4`
    let letters = bare.trim_end_matches(|c: char| c.is_ascii_digit());
    if let (true, Some(spec)) = (letters.len() < bare.len(), table::find(letters).filter(|spec| spec.key == Key::Count))
    {
        return Ok((spec, Some(bare[letters.len()..].to_string())));
    }
    let known = match table::nearest(name) {
        Some(near) => format!("did you mean `{}`?", dashed(near)),
        None => "`--help` lists them".to_string(),
    };
    Err(Mistake(format!("unknown option `-{word}`; {known}")))
}

/// The values of the current option.
struct Values<'a> {
    spec: &'static Spec,
    joined: Option<String>,
    words: &'a mut std::vec::IntoIter<OsString>,
    /// Values that were read.
    taken: Vec<OsString>,
}

impl Values<'_> {
    fn name(&self) -> String {
        dashed(self.spec.names[0])
    }

    fn next(&mut self) -> Result<OsString> {
        let value = match self.joined.take() {
            Some(value) => Some(value.into()),
            None => self.words.next(),
        };
        self.taken.extend(value.clone());
        value.ok_or_else(|| Mistake(format!("`{}` needs a value: {}", self.name(), self.spec.values.join(" "))))
    }

    fn finish(&mut self) -> Result<()> {
        match self.joined.take() {
            Some(value) => Err(Mistake(format!("`{}` takes no value, but has `{value}`", self.name()))),
            None => Ok(()),
        }
    }

    fn text(&mut self) -> Result<String> {
        let name = self.name();
        self.next()?.into_string().map_err(|value| Mistake(format!("`{name}`: {value:?} is not text")))
    }

    /// `VAR VALUE`, or `VAR=VALUE` as one word.
    fn assignment(&mut self) -> Result<(OsString, OsString)> {
        let first = self.next()?;
        match split_at_equals(&first) {
            Some(pair) => Ok(pair),
            None => Ok((first, self.next()?)),
        }
    }
}

fn split_at_equals(word: &OsStr) -> Option<(OsString, OsString)> {
    let bytes = word.as_bytes();
    let at = bytes.iter().position(|&byte| byte == b'=')?;
    Some((OsString::from_vec(bytes[..at].to_vec()), OsString::from_vec(bytes[at + 1..].to_vec())))
}

#[cfg(test)]
mod tests;
