//! Starts ranks on this machine: all those of a job, or those of one host. Everything that can fail is tried before
//! the first rank is started.

use std::ffi::{CString, OsStr};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use oxmpi_agent::door::Door;
use oxmpi_agent::one_sided::Workers;
use oxmpi_base::rest_record::Answer;
use oxmpi_base::segment::{RankBlock, Segment};
use oxmpi_base::wait_record::Waits;
use oxmpi_base::{descriptors, lifeline, limits, load, wait};
use oxmpi_boot::apps::App;
use oxmpi_boot::env::{NetworkEnv, RankEnv};
use oxmpi_boot::nodes::NodeTable;
use oxmpi_transport::tcp::connect::pair;
use oxmpi_verdict::Resting;

use crate::debug_options::Debugger;
use crate::environ;
use crate::hosts;
use crate::input::Input;
use crate::mailbox::Mailbox;
use crate::mpir;
use crate::nodes;
use crate::options::{Block, Request, Settings};
use crate::output::Outputs;
use crate::place::{self, Budget, Placement};
use crate::program;
use crate::spawn::{Image, Spawner};
use crate::sys::{self, Pid, SignalSet};
use crate::wires::{self, OwnWires, Wires};
use oxmpi_boot::compat;
use oxmpi_boot::elf::{self, Foreign};

/// Why nothing was started, and the exit status of `mpirun` for it.
#[derive(Debug)]
pub struct Refusal {
    pub text: String,
    pub status: i32,
}

pub struct Rank {
    /// Its rank in the job.
    pub number: usize,
    pub pid: Pid,
    /// As the user typed it.
    pub program: String,
    /// The number of its program in the job.
    pub app: usize,
}

/// The ranks of this machine.
pub struct Ranks {
    pub list: Vec<Rank>,
    segment: Arc<Segment>,
    /// The slots of the ranks in the segment.
    slots: Vec<usize>,
    /// How many ranks the job has on all machines.
    pub job_size: usize,
    /// The absolute paths of the programs of the job.
    pub paths: Vec<PathBuf>,
}

impl Ranks {
    pub fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// What a rank says of itself.
    pub fn block(&self, index: usize) -> &RankBlock {
        self.segment.rank(self.slots[index])
    }

    /// The slot of a rank in the segment.
    pub fn slot(&self, index: usize) -> usize {
        self.slots[index]
    }

    /// What a rank says that it waits for.
    pub fn waits(&self, index: usize) -> Option<Waits> {
        self.segment.wait_record(self.slots[index]).read()
    }

    /// Why a rank may wait in vain, in words.
    pub fn hint(&self, index: usize) -> Option<String> {
        Some(self.segment.hint(self.slots[index]).read()?.text)
    }

    /// What a rank has found wrong with the program since the last question, and how many findings it could not keep.
    pub fn findings(&self, index: usize) -> (Vec<Waits>, u64) {
        let log = self.segment.finding_log(self.slots[index]);
        (log.take(), log.take_lost())
    }

    // ---- ranks that can do nothing before others act ----

    /// Whether there are any.
    pub fn has_rest_records(&self) -> bool {
        self.segment.header().resting.load(Relaxed) > 0
    }

    /// The record of a rank; `None` if it has published none.
    pub fn resting(&self, index: usize) -> Option<Resting> {
        let rest = self.segment.rest_record(self.slots[index]).read()?;
        Some(Resting { number: rest.number, needs: rest.ranges, ended_only: rest.ended_only })
    }

    /// Says which ranks of the job the next question goes to, on all hosts.
    pub fn set_suspects(&self, ranges: &[(u32, u32)]) {
        let words = self.segment.suspects();
        words.iter().filter(|word| word.load(Relaxed) != 0).for_each(|word| word.store(0, Relaxed));
        let most = (words.len() * 64) as u32;
        let ranks = ranges.iter().flat_map(|&(first, count)| first.min(most)..first.saturating_add(count).min(most));
        // They are published by the question.
        for rank in ranks {
            words[rank as usize / 64].fetch_or(1 << (rank % 64), Relaxed);
        }
    }

    /// How long a resting rank has waited.
    pub fn rests_since(&self, index: usize) -> Option<Duration> {
        let since = self.segment.rest_record(self.slots[index]).read()?.since;
        Some(Duration::from_nanos(load::now().saturating_sub(since)))
    }

    /// Asks a rank whether it still rests, and wakes it.
    pub fn ask(&self, index: usize, question: u64) {
        self.segment.rest_record(self.slots[index]).ask(question);
        wait::full_fence();
        wait::wake_now(self.segment.header(), self.block(index));
    }

    /// The answer to a question, once the rank has given it.
    pub fn answer(&self, index: usize, question: u64) -> Option<Answer> {
        self.segment.rest_record(self.slots[index]).answer_to(question)
    }
}

/// A running job, or, when `trouble` is set, the ranks that were started before the failure.
pub struct Started {
    pub ranks: Ranks,
    pub trouble: Option<Refusal>,
    pub outputs: Outputs,
    pub input: Input,
    pub mailbox: Mailbox,
    pub host: String,
    pub kept: Kept,
    /// Lets in processes of other jobs, when a rank asks for it.
    pub door: Door,
    /// Execute their one-sided requests.
    pub workers: Workers,
}

/// Resources that live as long as the job: the other end of the lifeline, the reserved cores, the
/// descriptors that ranks may open again through `/proc`.
pub struct Kept {
    _segment: OwnedFd,
    _lifeline: (OwnedFd, OwnedFd),
    _placement: Placement,
}

/// Starts a job on this machine alone. `parent` is the port at which the processes that spawned the
/// job wait.
pub fn start(request: &Request, mask: SignalSet, parent: Option<&str>) -> Result<Started, Refusal> {
    let settings = &request.settings;
    let budget = Budget::count(settings).map_err(|text| Refusal { text, status: 1 })?;
    let mut programs = Vec::new();
    let mut foreign = Vec::new();
    for block in &request.blocks {
        let path = program::find(block).map_err(|error| Refusal { text: error.text, status: error.status })?;
        foreign.extend(foreign_warning(block, &path));
        programs.push(Program::prepare(settings, block, path)?);
    }
    let counts = counts(request, &budget);
    let size: usize = counts.iter().sum();
    let slots = settings.slots.unwrap_or(budget.cpus);
    if settings.no_oversubscribe && size > slots {
        let text = format!("--nooversubscribe was given, and {size} ranks are more than the {slots} slots");
        return Err(Refusal { text, status: 1 });
    }
    if let Some(most) = settings.max_slots.filter(|&most| size > most) {
        let text = format!("{size} ranks are more than the {most} that max_slots allows in the host file");
        return Err(Refusal { text, status: 1 });
    }
    let nodes = nodes::table(size, settings.pretend_nodes.as_ref()).map_err(|text| Refusal { text, status: 2 })?;
    let apps = counts.iter().enumerate().flat_map(|(app, &count)| std::iter::repeat_n(app, count));
    let seats = nodes::places(&nodes)
        .into_iter()
        .zip(apps)
        .enumerate()
        .map(|(rank, (place, app))| Seat { rank, app, place })
        .collect();
    let work = Work {
        programs,
        appnums: appnums(request),
        apps: apps_of(request, &counts),
        seats,
        nodes,
        universe_size: settings.universe_size.unwrap_or(size),
        parent: parent.map(String::from),
        network: None,
        is_held: mpir::is_debugged(),
    };
    let host = hosts::own_name();
    let mut door = Door::new(&host);
    // Without it, the ranks reach other jobs of this machine only. A small limit is for what every job needs.
    let mut work = work;
    if descriptors_for(work.seats.len()) <= limits::most_open_files() {
        work.network = RankNetwork::sockets(&mut door, 0, work.seats.len(), None).ok();
    }
    let mut outputs =
        Outputs::new(settings.label, settings.merge_stderr).map_err(cannot("watch the output of the ranks"))?;
    foreign.iter().filter(|_| !settings.quiet).for_each(|warning| outputs.say(warning));
    let (input, sources) = Input::plan(&settings.stdin, size).map_err(cannot("make a pipe for stdin"))?;
    let mut wires = OwnWires::new(settings, outputs, sources, &host)?;
    let prepared = Prepared::new(&work, settings, &budget)?;
    let workers = Workers::new(prepared.segment());
    let Running { ranks, trouble, mailbox, kept, said } = prepared.start(&work, settings, mask, &mut wires)?;
    let mut outputs = wires.outputs;
    warn_of_mca(&mut outputs, settings);
    said.iter().for_each(|text| outputs.say(text));
    Ok(Started { ranks, trouble, outputs, input, mailbox, host, kept, door, workers })
}

/// What is to be started on this machine.
pub struct Work {
    pub programs: Vec<Program>,
    /// `MPI_APPNUM` of the ranks of each program.
    pub appnums: Vec<i32>,
    /// The programs of the whole job.
    pub apps: Vec<App>,
    pub seats: Vec<Seat>,
    /// Where all ranks of the job are.
    pub nodes: NodeTable,
    pub universe_size: usize,
    pub parent: Option<String>,
    pub network: Option<RankNetwork>,
    /// A debugger holds the ranks in `MPI_Init` until they are released.
    pub is_held: bool,
}

/// The descriptors that this process opens for so many ranks, generously.
fn descriptors_for(ranks: usize) -> u64 {
    8 * ranks as u64 + 256
}

/// What the ranks inherit to reach other hosts.
pub struct RankNetwork {
    /// For a job on several hosts.
    description: Option<OwnedFd>,
    /// The ends of the ranks, in the order of their slots, of the sockets that they share with this process.
    agents: Vec<OwnedFd>,
}

impl RankNetwork {
    /// Makes the sockets; from now on the door serves the other ends.
    pub fn sockets(door: &mut Door, node: u32, ranks: usize, description: Option<&OwnedFd>) -> io::Result<RankNetwork> {
        let (mut ours, mut agents) = (Vec::new(), Vec::new());
        for _ in 0..ranks {
            let (near, far) = pair()?;
            ours.push(near);
            agents.push(descriptors::keep(far.as_fd())?);
        }
        let description = description.map(|file| descriptors::keep(file.as_fd())).transpose()?;
        door.serve(node, ours)?;
        Ok(RankNetwork { description, agents })
    }

    /// The file that describes the network of a job on several hosts.
    pub fn description(&self) -> Option<&OwnedFd> {
        self.description.as_ref()
    }
}

/// A rank to be started here.
pub struct Seat {
    pub rank: usize,
    pub app: usize,
    pub place: nodes::Place,
}

/// All that is made before the first rank is started.
pub struct Prepared {
    descriptors: Option<libc::rlimit>,
    placement: Placement,
    segment_fd: OwnedFd,
    segment: Arc<Segment>,
    lifeline: (OwnedFd, OwnedFd),
    mailbox: Mailbox,
}

/// Ranks that were started.
pub struct Running {
    pub ranks: Ranks,
    pub trouble: Option<Refusal>,
    pub mailbox: Mailbox,
    pub kept: Kept,
    /// What `-v` or `--report-bindings` asks for.
    pub said: Vec<String>,
}

impl Prepared {
    pub fn segment(&self) -> Arc<Segment> {
        Arc::clone(&self.segment)
    }

    pub fn new(work: &Work, settings: &Settings, budget: &Budget) -> Result<Prepared, Refusal> {
        let count = work.seats.len();
        let placement = place::place(count, settings, budget).map_err(|text| Refusal { text, status: 1 })?;
        let descriptors = descriptors::allow(descriptors_for(count));
        let (segment_fd, segment) = Segment::create(count, placement.cpus)
            .map_err(cannot(&format!("create the shared memory of {count} ranks")))?;
        work.nodes.store(&segment).map_err(|text| Refusal { text, status: 1 })?;
        if settings.keep_going {
            segment.go_on_after_deaths();
        }
        if work.is_held {
            segment.header().hold_ranks();
        }
        for (seat, cpus) in work.seats.iter().zip(&placement.sets) {
            let first = cpus.as_ref().and_then(|cpus| cpus.iter().next());
            segment.rank(seat.place.slot).cpu.store(first.map_or(0, |cpu| cpu as u32 + 1), Relaxed);
        }
        let segment_fd =
            descriptors::keep(segment_fd.as_fd()).map_err(cannot("duplicate the descriptor of the shared memory"))?;
        let (near, far) = lifeline::create().map_err(cannot("make a pipe"))?;
        let near = descriptors::keep(near.as_fd()).map_err(cannot("duplicate the descriptor of the lifeline pipe"))?;
        let mailbox = Mailbox::open().map_err(cannot("make a pipe"))?;
        Ok(Prepared { descriptors, placement, segment_fd, segment: Arc::new(segment), lifeline: (near, far), mailbox })
    }

    /// Starts the ranks, as far as that goes.
    pub fn start(
        self,
        work: &Work,
        settings: &Settings,
        mask: SignalSet,
        wires: &mut dyn Wires,
    ) -> Result<Running, Refusal> {
        let Prepared { descriptors, placement, segment_fd, segment, lifeline, mailbox } = self;
        let inode = |fd: &OwnedFd| lifeline::inode(fd.as_fd()).map_err(cannot("examine a descriptor"));
        let near = &lifeline.0;
        let mut rank_env = RankEnv {
            rank: 0,
            size: work.nodes.size(),
            local_rank: 0,
            local_size: 0,
            appnum: 0,
            app_size: 0,
            apps: work.apps.clone(),
            universe_size: work.universe_size,
            mpirun: std::process::id(),
            segment: segment_fd.as_raw_fd(),
            segment_inode: inode(&segment_fd)?,
            lifeline: near.as_raw_fd(),
            lifeline_inode: inode(near)?,
            mailbox: mailbox.describe(settings).map_err(cannot("examine a descriptor"))?,
            parent: work.parent.clone(),
            network: None,
        };
        let mut spawner = Spawner::new(segment_fd.as_raw_fd(), near.as_raw_fd(), mask, descriptors);
        let mut list = Vec::with_capacity(work.seats.len());
        let mut trouble = None;
        for (index, seat) in work.seats.iter().enumerate() {
            let program = &work.programs[seat.app];
            let debugger = settings.debugger.as_ref().filter(|debugger| debugger.has(seat.rank));
            let in_debugger = debugger.map(|debugger| program.in_debugger(debugger, seat.rank)).transpose()?;
            let program = in_debugger.as_ref().unwrap_or(program);
            (rank_env.rank, rank_env.app_size) = (seat.rank, work.apps[seat.app].ranks);
            (rank_env.local_rank, rank_env.local_size) = (seat.place.local_rank, seat.place.local_size);
            rank_env.appnum = work.appnums[seat.app];
            let mut inherits = [-1; 2];
            if let Some(RankNetwork { description, agents }) = &work.network {
                let of = |fd: &OwnedFd| Ok::<_, Refusal>((fd.as_raw_fd(), inode(fd)?));
                let description = description.as_ref().map(of).transpose()?;
                let network = NetworkEnv { description, agent: of(&agents[seat.place.slot])? };
                inherits = [description.map_or(-1, |(fd, _)| fd), network.agent.0];
                rank_env.network = Some(network);
            }
            let place = wires::Place { index, rank: seat.rank, app: seat.app };
            match one(&mut spawner, program, &rank_env, placement.sets[index].as_ref(), inherits, &place, wires) {
                Ok(pid) => list.push(Rank { number: seat.rank, pid, program: program.shown.clone(), app: seat.app }),
                Err(refusal) => {
                    trouble = Some(refusal);
                    break;
                }
            }
        }
        let said = bindings(work, settings, &list, &placement);
        let slots = work.seats.iter().map(|seat| seat.place.slot).collect();
        let paths = work.programs.iter().map(Program::full_path).collect();
        let kept = Kept { _segment: segment_fd, _lifeline: lifeline, _placement: placement };
        Ok(Running {
            ranks: Ranks { list, segment, slots, job_size: work.nodes.size(), paths },
            trouble,
            mailbox,
            kept,
            said,
        })
    }
}

pub fn cannot(what: &str) -> impl Fn(io::Error) -> Refusal + use<> {
    let what = what.to_string();
    move |error: io::Error| Refusal { text: format!("cannot {what}: {}", limits::explain(&error)), status: 1 }
}

/// The number of ranks of a job on this machine.
pub fn size(request: &Request) -> Result<usize, Refusal> {
    let budget = Budget::count(&request.settings).map_err(|text| Refusal { text, status: 1 })?;
    Ok(counts(request, &budget).iter().sum())
}

/// How many ranks of each program.
fn counts(request: &Request, budget: &Budget) -> Vec<usize> {
    let settings = &request.settings;
    let alone = request.blocks.len() == 1;
    let default = || {
        let mapped = settings.map_by.as_ref().and_then(|map| place::ranks_for(map, budget));
        match (mapped, settings.per_host, settings.slots) {
            (Some(n), _, _) | (None, Some(n), _) | (None, None, Some(n)) => n,
            (None, None, None) if alone => budget.cpus,
            (None, None, None) => 1,
        }
    };
    request.blocks.iter().map(|block| block.count.unwrap_or_else(default)).collect()
}

/// `MPI_APPNUM` of the ranks of each program.
pub fn appnums(request: &Request) -> Vec<i32> {
    request.blocks.iter().enumerate().map(|(app, block)| block.appnum.unwrap_or(app as i32)).collect()
}

/// The programs of a job as the ranks know them.
pub fn apps_of(request: &Request, counts: &[usize]) -> Vec<App> {
    request.blocks.iter().zip(counts).map(|(block, &count)| App::new(count, &set_name(block))).collect()
}

/// The name of the process set of a block's ranks: from `--pset`, else from the program.
fn set_name(block: &Block) -> Vec<u8> {
    let program = || std::path::Path::new(&block.program).file_name().unwrap_or(&block.program);
    block.pset.as_deref().unwrap_or_else(program).as_bytes().to_vec()
}

/// A block prepared for `execve`.
pub struct Program {
    pub shown: String,
    pub path: CString,
    pub arguments: Vec<CString>,
    pub environment: Vec<CString>,
    pub wdir: Option<CString>,
}

impl Program {
    pub fn prepare(settings: &Settings, block: &Block, path: PathBuf) -> Result<Program, Refusal> {
        let words = std::iter::once(&block.program).chain(&block.arguments);
        let wdir = block.wdir.as_deref().map(|dir| std::path::absolute(dir).unwrap_or_else(|_| dir.to_path_buf()));
        let mut environment = environ::of_block(settings, block);
        // Programs read their directory from PWD.
        if let Some(dir) = &wdir {
            environment.retain(|entry| !entry.as_bytes().starts_with(b"PWD="));
            environment.extend(environ::entry("PWD", dir));
        }
        Ok(Program {
            shown: block.program.to_string_lossy().into_owned(),
            path: text(path.as_os_str().as_bytes())?,
            arguments: words.map(|word| text(word.as_bytes())).collect::<Result<_, _>>()?,
            environment,
            wdir: wdir.map(|dir| text(dir.as_os_str().as_bytes())).transpose()?,
        })
    }

    /// The program of a rank that runs in gdb.
    fn in_debugger(&self, debugger: &Debugger, rank: usize) -> Result<Program, Refusal> {
        let own = std::env::current_exe().map_err(cannot("find the path of mpirun"))?;
        let words = debugger.arguments(rank);
        let mut arguments: Vec<CString> = words.iter().map(|word| text(word.as_bytes())).collect::<Result<_, _>>()?;
        arguments.push(self.path.clone());
        arguments.extend(self.arguments.iter().skip(1).cloned());
        let (shown, environment, wdir) = (self.shown.clone(), self.environment.clone(), self.wdir.clone());
        Ok(Program { shown, path: text(own.as_os_str().as_bytes())?, arguments, environment, wdir })
    }

    /// The absolute path, as the rank finds the program from its working directory.
    fn full_path(&self) -> PathBuf {
        let path = |text: &CString| PathBuf::from(OsStr::from_bytes(text.as_bytes()));
        let from_there = self.wdir.as_ref().map_or_else(PathBuf::new, path).join(path(&self.path));
        std::path::absolute(&from_there).unwrap_or(from_there)
    }
}

fn text(word: &[u8]) -> Result<CString, Refusal> {
    CString::new(word).map_err(|_| Refusal { text: "an argument contains a NUL byte".into(), status: 2 })
}

fn one(
    spawner: &mut Spawner,
    program: &Program,
    rank_env: &RankEnv,
    cpus: Option<&oxmpi_base::cpus::CpuSet>,
    inherits: [RawFd; 2],
    place: &wires::Place,
    wires: &mut dyn Wires,
) -> Result<Pid, Refusal> {
    let own: Vec<CString> = rank_env.write().iter().filter_map(|(name, value)| environ::entry(name, value)).collect();
    let stdio = wires.open(place)?;
    let image = Image {
        path: &program.path,
        arguments: &program.arguments,
        environment: program.environment.iter().chain(&own).map(CString::as_c_str).collect(),
        wdir: program.wdir.as_deref(),
        stdio,
        inherits,
        cpus,
        reads_terminal: sys::is_terminal(0) && sys::is_pipe(stdio[0]),
    };
    let pid = spawner.spawn(&image).map_err(|failure| {
        let hint = match failure.error.raw_os_error() {
            Some(libc::ENOENT) => " (the interpreter that its first line names, or its loader, does not exist)",
            Some(libc::ENOEXEC) => " (it was built for another kind of machine)",
            _ => "",
        };
        let text = format!(
            "cannot start rank {} ({}): cannot {}: {}{hint}",
            place.rank,
            program.shown,
            failure.step,
            limits::explain(&failure.error)
        );
        Refusal { text, status: 126 }
    })?;
    wires.connected(place)?;
    Ok(pid)
}

/// The warning about a program that uses the library of another MPI.
pub fn foreign_warning(block: &Block, path: &Path) -> Option<String> {
    const ALONE: &str = "Its ranks will not find each other; each will be a job of one rank.";
    let program = block.program.to_string_lossy();
    let (switch, given) = (std::env::var_os(compat::SWITCH), std::env::var_os(compat::SEARCH));
    let search = compat::search(compat::folder().as_deref(), switch.as_deref(), given.as_deref());
    Some(match elf::foreign_mpi(path, search.as_deref())? {
        Foreign::Linked { library, of } => format!(
            "{program} was built for {of}, and does not find OxMPI's {library}. {ALONE} Compile it with the mpicc of OxMPI, or start it with \
             the mpirun of {of}"
        ),
        Foreign::Found(file) => format!(
            "{program} finds the library of another MPI, {}. {ALONE} LD_LIBRARY_PATH={} makes it use OxMPI, or start it with \
             the mpirun of that MPI",
            file.display(),
            compat::own_libraries().display()
        ),
    })
}

pub fn warn_of_mca(outputs: &mut Outputs, settings: &Settings) {
    if !settings.mca.is_empty() && !settings.quiet {
        outputs.say(&format!("-mca {}: OxMPI ignores parameters of Open MPI's components", settings.mca.join(", ")));
    }
}

fn bindings(work: &Work, settings: &Settings, ranks: &[Rank], placement: &Placement) -> Vec<String> {
    if !settings.verbose && !settings.report_bindings {
        return Vec::new();
    }
    let line = |(rank, seat, set): (&Rank, &Seat, &Option<_>)| {
        let bound = match set {
            Some(cpus) => format!("bound to CPU {cpus}"),
            None => "not bound".into(),
        };
        let node = match work.nodes.nodes() {
            1 => String::new(),
            _ => format!(" on node {}", seat.place.node),
        };
        format!("rank {}: {} (pid {}){node} {bound}", rank.number, rank.program, rank.pid)
    };
    let lines = ranks.iter().zip(&work.seats).zip(&placement.sets);
    lines.map(|((rank, seat), set)| line((rank, seat, set))).collect()
}
