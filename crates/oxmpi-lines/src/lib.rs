//! From the return address of a call in another process to the line of its source: for `mpirun` and `oxmpi where`, never for
//! the ranks.
//!
//! ```text
//! lib.rs       questions, answers, and the thread that works them out
//! maps.rs      which file of a process an address lies in
//! module.rs    a file: its debug information and its symbols
//! ```
//!
//! The debug information of a large program takes seconds to read. A thread does that, and whoever asks waits a limited time
//! for it; what is not found by then is told by file and offset. The files and the processes may be anything: a file that
//! was replaced since the process started gives no line, and a damaged one gives no more than it has.

#![forbid(unsafe_code)]

mod maps;
mod module;

use maps::Map;
use module::Module;
use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// The time that a report may take until it has its first line.
pub const LIMIT: Duration = Duration::from_secs(1);
/// Once there is one, the next ones come soon: the debug information of the program has been read.
const NEXT: Duration = Duration::from_millis(250);

/// Return addresses that a call has: of the call itself, and of the function that made it. 0 is none.
pub const CALLERS: usize = 2;

/// A call in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    pub pid: u32,
    pub callers: [u64; CALLERS],
}

/// Where a call was made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The name of the file that the code is in, and the place within it as `addr2line` takes it.
    pub module: String,
    pub offset: u64,
    /// The code is not the program itself, but in a library, such as a tool or the binding of another language.
    pub is_library: bool,
    /// The function, and the bytes from its start, where no line is known.
    pub function: Option<(String, u64)>,
    /// The source file as the compiler knew it, and the line.
    pub line: Option<(String, u32)>,
    /// The call of that library in the program, where its line is known.
    pub outer: Option<(String, u32)>,
}

/// `main.c:41`; without debug information `solve+0x1f (prog)` or `prog+0x11c9`.
impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Site { module, offset, is_library, function, line, outer } = self;
        match (line, function) {
            (Some((file, line)), _) if *is_library => write!(f, "{}:{line} ({module})", base_name(file))?,
            (Some((file, line)), _) => write!(f, "{}:{line}", base_name(file))?,
            (None, Some((function, from))) => write!(f, "{function}+{from:#x} ({module})")?,
            (None, None) => write!(f, "{module}+{offset:#x}")?,
        }
        outer.iter().try_for_each(|(file, line)| write!(f, ", called at {}:{line}", base_name(file)))
    }
}

/// The last part of a path, without characters that a terminal would act on.
fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).replace(|c: char| c.is_control(), "?")
}

/// Finds lines. Keeps what it has read for the next question.
#[derive(Debug, Default)]
pub struct Lines {
    worker: Mutex<Option<Sender<Order>>>,
}

/// A place in a file, and the process whose file it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Place {
    pid: u32,
    file: maps::File,
    /// The position in the file of the call, which is before its return address.
    position: u64,
}

#[derive(Debug)]
struct Order {
    places: Vec<Place>,
    answers: Sender<(usize, Found)>,
}

/// What a file says of a place in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Found {
    /// The address as the file counts them.
    address: Option<u64>,
    function: Option<(String, u64)>,
    line: Option<(String, u32)>,
    /// The line is in a header of ours: the program called the function there.
    is_ours: bool,
}

impl Lines {
    pub fn new() -> Lines {
        Lines::default()
    }

    /// Where each of some calls was made; `None` for an address that is in no file of its process, or if the process has
    /// ended. Waits at most `limit` for debug information to be read, and a little longer while answers come.
    pub fn sites(&self, calls: &[Caller], limit: Duration) -> Vec<Option<Site>> {
        let mut maps: HashMap<u32, Option<Map>> = HashMap::new();
        // The same program on many ranks: each place is looked up once.
        let mut numbers: HashMap<(maps::File, u64), usize> = HashMap::new();
        let mut places: Vec<Place> = Vec::new();
        let mut place_of = |call: &Caller, map: &Map, index: usize| {
            let before = call.callers[index].checked_sub(1)?;
            let (file, position) = map.find(before)?;
            let number = *numbers.entry((file.clone(), position)).or_insert_with(|| {
                places.push(Place { pid: call.pid, file: file.clone(), position });
                places.len() - 1
            });
            Some((number, map.is_program(file)))
        };
        let mut known: Vec<[Option<(usize, bool)>; CALLERS]> = Vec::with_capacity(calls.len());
        for call in calls {
            let map = maps.entry(call.pid).or_insert_with(|| Map::of(call.pid));
            known.push(std::array::from_fn(|index| place_of(call, map.as_ref()?, index)));
        }
        let mut found = vec![Found::default(); places.len()];
        if !places.is_empty() {
            let begin = Instant::now();
            let answers = self.order(places.clone());
            let (mut left, mut least) = (places.len(), Duration::ZERO);
            while left > 0
                && let until = (begin + limit).max((Instant::now() + least).min(begin + 2 * limit))
                && let Ok((index, answer)) = answers.recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                found[index] = answer;
                (left, least) = (left - 1, NEXT);
            }
        }
        let site = |places_of_call: &[Option<(usize, bool)>; CALLERS]| {
            let [first, second] = *places_of_call;
            // The program's line, instead of that of our header.
            let (first, second) = match (first, second) {
                (Some((number, _)), Some(_)) if found[number].is_ours => (second, None),
                _ => (first, second),
            };
            let (number, is_program) = first?;
            let (place, what) = (&places[number], &found[number]);
            let outer = second.filter(|(_, is_program_too)| !is_program && *is_program_too);
            Some(Site {
                module: base_name(&place.file.path),
                offset: what.address.unwrap_or(place.position) + 1,
                is_library: !is_program,
                function: what.function.clone(),
                line: what.line.clone(),
                outer: outer.and_then(|(number, _)| found[number].line.clone()),
            })
        };
        known.iter().map(site).collect()
    }

    /// Gives places to the thread; what it answers. Without a thread there are no answers.
    fn order(&self, places: Vec<Place>) -> Receiver<(usize, Found)> {
        let (answers, receiver) = mpsc::channel();
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = worker.get_or_insert_with(|| {
            let (sender, orders) = mpsc::channel();
            let made = std::thread::Builder::new().name("lines".into()).spawn(move || work(&orders));
            drop(made);
            sender
        });
        // If it could not be started, nobody has the other end: the answer is that there is none.
        let _ = sender.send(Order { places, answers });
        receiver
    }
}

/// The thread: answers orders until nobody can give any.
fn work(orders: &Receiver<Order>) {
    let mut modules: HashMap<maps::File, Option<Module>> = HashMap::new();
    for Order { places, answers } in orders {
        for (index, place) in places.iter().enumerate() {
            let open = || Module::open(&candidates(place), &place.file, place.pid);
            let module = modules.entry(place.file.clone()).or_insert_with(open);
            let found = module.as_ref().map(|module| module.find(place.position)).unwrap_or_default();
            if answers.send((index, found)).is_err() {
                // Nobody waits any longer.
                break;
            }
        }
    }
}

/// Where a file of a process can be: as the process sees it, and as we do.
fn candidates(place: &Place) -> [PathBuf; 2] {
    [format!("/proc/{}/root{}", place.pid, place.file.path).into(), place.file.path.clone().into()]
}

/// A place in a file that a process had mapped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Position {
    pub path: String,
    pub inode: u64,
    pub position: u64,
}

/// What the source says of a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The function that the place is in.
    pub function: Option<String>,
    pub line: Option<(String, u32)>,
}

/// Where places of processes that started at that time and have ended are in the source.
pub fn origins(positions: &[Position], started: SystemTime) -> Vec<Origin> {
    let mut modules: HashMap<maps::File, Option<Module>> = HashMap::new();
    let mut origin = |Position { path, inode, position }: &Position| {
        let (path, is_deleted) = path.strip_suffix(" (deleted)").map_or((&path[..], false), |path| (path, true));
        let file = maps::File { path: path.into(), inode: *inode, is_deleted };
        let module = modules.entry(file.clone()).or_insert_with(|| Module::open_of_past(&file, started));
        let Some(module) = module else { return Origin::default() };
        let found = module.find(*position);
        Origin { function: found.address.and_then(|address| module.function_of(address)), line: found.line }
    };
    positions.iter().map(&mut origin).collect()
}

#[cfg(test)]
mod tests;
