//! Starts the ranks of a request. Everything that can fail is tried before the first rank is
//! started.

use std::collections::HashSet;
use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use oxmpi_base::segment::{self, RankBlock, Segment};
use oxmpi_base::{lifeline, limits};
use oxmpi_boot::apps::App;
use oxmpi_boot::env::RankEnv;

use crate::elf;
use crate::environ;
use crate::hosts;
use crate::input::{Input, Source};
use crate::mailbox::Mailbox;
use crate::nodes;
use crate::options::{Block, Request, Settings};
use crate::output::{Channel, Destination, Outputs};
use crate::place::{self, Budget, Placement};
use crate::program;
use crate::record::Record;
use crate::spawn::{Image, Spawner};
use crate::sys::{self, Pid, SignalSet};

/// The number of pseudo-terminals of a system is limited (some thousands for all users).
const MOST_TERMINALS: usize = 256;

/// Why nothing was started, and the exit status of `mpirun` for it.
#[derive(Debug)]
pub struct Refusal {
    pub text: String,
    pub status: i32,
}

pub struct Rank {
    pub pid: Pid,
    /// As the user typed it.
    pub program: String,
}

/// A running job, or, when `trouble` is set, the ranks that were started before the failure.
pub struct Started {
    pub ranks: Vec<Rank>,
    pub trouble: Option<Refusal>,
    pub outputs: Outputs,
    pub input: Input,
    segment: Segment,
    /// The slots of the ranks in the segment.
    slots: Vec<usize>,
    pub mailbox: Mailbox,
    pub host: String,
    /// Resources that live as long as the job: the other end of the lifeline, the reserved cores,
    /// the descriptors that ranks may open again through `/proc`.
    pub _kept: Kept,
}

impl Started {
    /// What a rank says of itself.
    pub fn block(&self, rank: usize) -> &RankBlock {
        self.segment.rank(self.slots[rank])
    }

    /// What a rank says that it waits for.
    pub fn wait_record(&self, rank: usize) -> Option<String> {
        self.segment.wait_record(self.slots[rank]).read()
    }
}

pub struct Kept {
    _segment: OwnedFd,
    _lifeline: (OwnedFd, OwnedFd),
    _placement: Placement,
}

/// Starts the job. `parent` is the port at which the processes that spawned the job wait.
pub fn start(request: &Request, mask: SignalSet, parent: Option<&str>) -> Result<Started, Refusal> {
    let settings = &request.settings;
    let budget = Budget::count(settings).map_err(|text| Refusal { text, status: 1 })?;
    let mut programs = Vec::new();
    let mut foreign = Vec::new();
    for block in &request.blocks {
        let path = program::find(block).map_err(|error| Refusal { text: error.text, status: error.status })?;
        foreign.extend(elf::foreign_mpi(&path).map(|found| (block.program.to_string_lossy().into_owned(), found)));
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
    let placement = place::place(size, settings, &budget).map_err(|text| Refusal { text, status: 1 })?;
    let nodes = nodes::table(size, settings.pretend_nodes.as_ref()).map_err(|text| Refusal { text, status: 2 })?;
    let places = nodes::places(&nodes);

    let cannot = |what: &str| {
        let what = what.to_string();
        move |error: io::Error| Refusal { text: format!("cannot {what}: {}", limits::explain(&error)), status: 1 }
    };
    let descriptors = sys::want_descriptors(4 * size as u64 + 256);
    let (segment_fd, segment) =
        Segment::create(size, placement.cpus).map_err(cannot(&format!("create the shared memory of {size} ranks")))?;
    nodes.store(&segment).map_err(|text| Refusal { text, status: 1 })?;
    for (place, cpus) in places.iter().zip(&placement.sets) {
        let first = cpus.as_ref().and_then(|cpus| cpus.iter().next());
        segment.rank(place.slot).cpu.store(first.map_or(0, |cpu| cpu as u32 + 1), Relaxed);
    }
    let segment_fd =
        segment::keep(segment_fd.as_fd()).map_err(cannot("duplicate the descriptor of the shared memory"))?;
    let (near, far) = lifeline::create().map_err(cannot("make a pipe"))?;
    let near = segment::keep(near.as_fd()).map_err(cannot("duplicate the descriptor of the lifeline pipe"))?;
    let inode = |fd: &OwnedFd| lifeline::inode(fd.as_fd()).map_err(cannot("examine a descriptor"));
    let mailbox = Mailbox::open().map_err(cannot("make a pipe"))?;
    let mut rank_env = RankEnv {
        rank: 0,
        size,
        local_rank: 0,
        local_size: size,
        appnum: 0,
        app_size: 0,
        apps: request.blocks.iter().zip(&counts).map(|(block, &count)| App::new(count, &set_name(block))).collect(),
        universe_size: settings.universe_size.unwrap_or(size),
        mpirun: std::process::id(),
        segment: segment_fd.as_raw_fd(),
        segment_inode: inode(&segment_fd)?,
        lifeline: near.as_raw_fd(),
        lifeline_inode: inode(&near)?,
        mailbox: mailbox.describe(settings).map_err(cannot("examine a descriptor"))?,
        parent: parent.map(String::from),
    };

    let host = hosts::own_name();
    let mut outputs =
        Outputs::new(settings.label, settings.merge_stderr).map_err(cannot("watch the output of the ranks"))?;
    for (program, elf::Foreign { library, of }) in foreign.iter().filter(|_| !settings.quiet) {
        outputs.say(&format!(
            "{program} was built for {of}: it needs {library}. Its ranks will not find each other; each will be a job of one \
             rank. Compile it with the mpicc of OxMPI, or start it with the mpirun of {of}"
        ));
    }
    let (input, sources) = Input::plan(&settings.stdin, size).map_err(cannot("make a pipe for stdin"))?;
    let nothing = File::open("/dev/null").map_err(cannot("open /dev/null"))?;
    let terminal = size <= MOST_TERMINALS && sys::is_terminal(1);
    let mut spawner = Spawner::new(segment_fd.as_raw_fd(), near.as_raw_fd(), mask, descriptors);
    let mut ranks = Vec::with_capacity(size);
    let mut files = Files::default();
    let mut trouble = None;
    let apps = counts.iter().enumerate().flat_map(|(app, &count)| std::iter::repeat_n(app, count));
    for ((rank, app), source) in apps.enumerate().zip(&sources) {
        let program = &programs[app];
        (rank_env.rank, rank_env.app_size) = (rank, counts[app]);
        (rank_env.local_rank, rank_env.local_size) = (places[rank].local_rank, places[rank].local_size);
        rank_env.appnum = request.blocks[app].appnum.unwrap_or(app as i32);
        let stdin = match source {
            Source::Nothing => nothing.as_raw_fd(),
            Source::Inherited => 0,
            Source::Pipe(read) => read.as_raw_fd(),
        };
        let cpus = placement.sets[rank].as_ref();
        let place = Place { rank, app, host: &host, alone: size == 1, terminal };
        match one(&mut spawner, program, &rank_env, stdin, cpus, settings, &place, &mut outputs, &mut files) {
            Ok(pid) => ranks.push(Rank { pid, program: program.shown.clone() }),
            Err(refusal) => {
                trouble = Some(refusal);
                break;
            }
        }
    }
    report(&mut outputs, settings, &ranks, &placement, &places);
    let kept = Kept { _segment: segment_fd, _lifeline: (near, far), _placement: placement };
    let slots = places.iter().map(|place| place.slot).collect();
    Ok(Started { ranks, trouble, outputs, input, segment, slots, mailbox, host, _kept: kept })
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

/// The name of the process set of a block's ranks: from `--pset`, else from the program.
fn set_name(block: &Block) -> Vec<u8> {
    let program = || std::path::Path::new(&block.program).file_name().unwrap_or(&block.program);
    block.pset.as_deref().unwrap_or_else(program).as_bytes().to_vec()
}

/// A block prepared for `execve`.
struct Program {
    shown: String,
    path: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    wdir: Option<CString>,
}

impl Program {
    fn prepare(settings: &Settings, block: &Block, path: PathBuf) -> Result<Program, Refusal> {
        let text = |word: &[u8]| {
            CString::new(word).map_err(|_| Refusal { text: "an argument contains a NUL byte".into(), status: 2 })
        };
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
}

/// The values that file names are made from.
struct Place<'a> {
    rank: usize,
    app: usize,
    host: &'a str,
    alone: bool,
    /// Give the rank a terminal as stdout, because `mpirun` has one.
    terminal: bool,
}

#[allow(clippy::too_many_arguments)]
fn one(
    spawner: &mut Spawner,
    program: &Program,
    rank_env: &RankEnv,
    stdin: RawFd,
    cpus: Option<&oxmpi_base::cpus::CpuSet>,
    settings: &Settings,
    place: &Place<'_>,
    outputs: &mut Outputs,
    files: &mut Files,
) -> Result<Pid, Refusal> {
    let own: Vec<CString> = rank_env.write().iter().filter_map(|(name, value)| environ::entry(name, value)).collect();
    let refuse = |text: String, status| Refusal { text, status };
    let broken = |error: io::Error| {
        refuse(format!("cannot connect the output of rank {}: {}", place.rank, limits::explain(&error)), 1)
    };

    let mut stdout = Outlet::open(Channel::Stdout, settings, place, files)?;
    // One pipe for both channels keeps the order of what is written to the same file.
    let same_file = file_of(Channel::Stdout, settings, place)
        .is_some_and(|(file, _)| file_of(Channel::Stderr, settings, place).is_some_and(|(other, _)| other == file));
    let mut stderr = match settings.merge_stderr || same_file {
        true => None,
        false => Some(Outlet::open(Channel::Stderr, settings, place, files)?),
    };
    let (out, err) = (stdout.to(), stderr.as_ref().map_or(stdout.to(), Outlet::to));
    let image = Image {
        path: &program.path,
        arguments: &program.arguments,
        environment: program.environment.iter().chain(&own).map(CString::as_c_str).collect(),
        wdir: program.wdir.as_deref(),
        stdio: [stdin, out, err],
        cpus,
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
        refuse(text, 126)
    })?;
    for outlet in [Some(&mut stdout), stderr.as_mut()].into_iter().flatten() {
        if let Some(from) = outlet.read.take() {
            let to = Destination { record: outlet.record.take(), shown: outlet.shown };
            outputs.add(place.rank, outlet.channel, from, to).map_err(broken)?;
        }
    }
    Ok(pid)
}

/// The destination of a channel of a rank.
struct Outlet {
    channel: Channel,
    write: Option<OwnedFd>,
    read: Option<OwnedFd>,
    record: Option<Record>,
    shown: bool,
}

impl Outlet {
    fn open(channel: Channel, settings: &Settings, place: &Place<'_>, files: &mut Files) -> Result<Outlet, Refusal> {
        let mut outlet = Outlet { channel, write: None, read: None, record: None, shown: true };
        if let Some((path, shown)) = file_of(channel, settings, place) {
            let file = files.open(&path)?;
            outlet.shown = shown;
            if !shown && may_block(&file) {
                // A pipe or a terminal: only the rank may block on its reader.
                outlet.write = Some(file.into());
                return Ok(outlet);
            }
            outlet.record = Some(Record::new(file, path, place.rank));
        }
        // A single rank needs no line merging: it gets the stdout and stderr of `mpirun`.
        if place.alone && !settings.label && !settings.merge_stderr && outlet.record.is_none() {
            return Ok(outlet);
        }
        // On a terminal, a program flushes each line; into a pipe, often only at its end.
        let terminal = match channel {
            Channel::Stdout if place.terminal && outlet.shown => sys::pseudo_terminal(1).ok(),
            _ => None,
        };
        let (read, write) = match terminal.map_or_else(sys::pipe, Ok) {
            Ok(ends) => ends,
            Err(error) => {
                return Err(Refusal { text: format!("cannot make a pipe: {}", limits::explain(&error)), status: 1 });
            }
        };
        (outlet.read, outlet.write) = (Some(read), Some(write));
        Ok(outlet)
    }

    fn to(&self) -> RawFd {
        match (&self.write, self.channel) {
            (Some(fd), _) => fd.as_raw_fd(),
            (None, Channel::Stdout) => 1,
            (None, Channel::Stderr) => 2,
        }
    }
}

/// The file that gets the output of a channel, and whether it is also shown.
fn file_of(channel: Channel, settings: &Settings, place: &Place<'_>) -> Option<(PathBuf, bool)> {
    let (pattern, name) = match channel {
        Channel::Stdout => (&settings.outfile, "stdout"),
        Channel::Stderr => (&settings.errfile, "stderr"),
    };
    match (pattern, &settings.output_dir) {
        (Some(pattern), _) => Some((expand(pattern, place).into(), false)),
        (None, Some(output)) => Some((output.dir.join(format!("rank.{}", place.rank)).join(name), output.copy)),
        (None, None) => None,
    }
}

/// Opens the output files. Several channels or ranks may share a file: only the first one empties
/// it.
#[derive(Default)]
struct Files {
    opened: HashSet<PathBuf>,
}

impl Files {
    fn open(&mut self, path: &Path) -> Result<File, Refusal> {
        let dirs = path.parent().map_or(Ok(()), fs::create_dir_all);
        let emptied = dirs.and_then(|()| if self.opened.insert(path.into()) { truncate(path) } else { Ok(()) });
        // Append, so that no writer overwrites the lines of another.
        let opened = emptied.and_then(|()| File::options().create(true).append(true).open(path));
        opened.map_err(|error| Refusal {
            text: format!("cannot write to {}: {}", path.display(), limits::explain(&error)),
            status: 1,
        })
    }
}

fn truncate(path: &Path) -> io::Result<()> {
    match File::options().write(true).open(path) {
        Ok(file) if file.metadata()?.is_file() => file.set_len(0),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether a write may block on a reader.
fn may_block(file: &File) -> bool {
    let kind = file.metadata().map(|found| found.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket()) || sys::is_terminal(file.as_raw_fd())
}

/// Replaces `%r`, `%h` and `%a` by the rank, the host and the number of the program.
fn expand(pattern: &OsString, place: &Place<'_>) -> OsString {
    let mut out = Vec::new();
    let mut bytes = pattern.as_bytes().iter();
    while let Some(&byte) = bytes.next() {
        match (byte, bytes.as_slice().first()) {
            (b'%', Some(b'r')) => out.extend_from_slice(place.rank.to_string().as_bytes()),
            (b'%', Some(b'h')) => out.extend_from_slice(place.host.as_bytes()),
            (b'%', Some(b'a' | b'g' | b'p')) => out.extend_from_slice(place.app.to_string().as_bytes()),
            (b'%', Some(b'%')) => out.push(b'%'),
            _ => {
                out.push(byte);
                continue;
            }
        }
        bytes.next();
    }
    OsString::from_vec(out)
}

fn report(outputs: &mut Outputs, settings: &Settings, ranks: &[Rank], placement: &Placement, places: &[nodes::Place]) {
    if !settings.mca.is_empty() && !settings.quiet {
        outputs.say(&format!("-mca {}: OxMPI ignores parameters of Open MPI's components", settings.mca.join(", ")));
    }
    if !settings.verbose && !settings.report_bindings {
        return;
    }
    for (rank, (started, set)) in ranks.iter().zip(&placement.sets).enumerate() {
        let bound = match set {
            Some(cpus) => format!("bound to CPU {cpus}"),
            None => "not bound".into(),
        };
        let node = match settings.pretend_nodes {
            Some(_) => format!(" on node {}", places[rank].node),
            None => String::new(),
        };
        outputs.say(&format!("rank {rank}: {} (pid {}){node} {bound}", started.program, started.pid));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let place = Place { rank: 3, app: 1, host: "h", alone: false, terminal: false };
        assert_eq!(expand(&"o-%r.%a@%h%%%x".into(), &place), "o-3.1@h%%x");
        assert_eq!(expand(&"100%".into(), &place), "100%");
    }
}
