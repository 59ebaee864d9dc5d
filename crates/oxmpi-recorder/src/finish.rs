//! The beginning and the end: who this process is, and what it writes when the program has finished with MPI, or ends without
//! that.

use crate::calls::{self, Event as Kept, STATE, Site, Thread};
use crate::clock::{Moment, Scale};
use crate::stubs::{COUNT, NAMES};
use oxmpi_base::{real_symbol, trust};
use oxmpi_profile::hooks::{Recorder, SYMBOL, VERSION};
use oxmpi_profile::record::{self, Algorithm, EVENTS, Event, FOLDER, Rank};
use std::ffi::{CString, c_int, c_uint};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The variables of a rank, as `mpirun` writes them (`oxmpi-boot/src/env.rs`).
const RANK: &str = "OXMPI_RANK";
const SIZE: &str = "OXMPI_SIZE";
const JOB: &str = "OXMPI_JOB";
const PARENT: &str = "OXMPI_PARENT";

struct Start {
    folder: PathBuf,
    rank: u32,
    size: u32,
    /// The process that has started the ranks of this machine.
    job: u32,
    is_spawned: bool,
    pid: u32,
    moment: Moment,
}

static START: OnceLock<Start> = OnceLock::new();
/// The program has called `MPI_Finalize`, or closed a session.
static IS_FINALIZED: AtomicBool = AtomicBool::new(false);

/// For each function whether it may be the last one of the program.
pub static IS_LAST: [bool; COUNT] = {
    let mut all = [false; COUNT];
    let mut at = 0;
    while at < all.len() {
        all[at] =
            ends(NAMES[at].1.as_bytes(), b"MPI_Finalize") || ends(NAMES[at].1.as_bytes(), b"MPI_Session_finalize");
        at += 1;
    }
    all
};

const fn ends(name: &[u8], with: &[u8]) -> bool {
    if name.len() != with.len() {
        return false;
    }
    let mut at = 0;
    while at < with.len() && name[at] == with[at] {
        at += 1;
    }
    at == with.len()
}

/// Whether this process is a rank that shall be recorded; the library then tells the recorder of everything.
pub fn begin(recorder: &'static Recorder) -> bool {
    let number = |name: &str| trust::text(name)?.parse::<u32>().ok();
    let Some(folder) = trust::variable(FOLDER).filter(|folder| !folder.is_empty()) else { return false };
    let (Some(rank), Some(size)) = (number(RANK), number(SIZE)) else { return false };
    let job = trust::text(JOB).unwrap_or_default();
    let job = job.split(':').next().and_then(|pid| pid.parse().ok()).unwrap_or(0);
    if !attach(recorder) {
        eprintln!("OxMPI: rank {rank} uses another version of OxMPI than mpirun, and cannot be recorded");
        return false;
    }
    STATE.most_events.store(trust::text(EVENTS).and_then(|text| text.parse().ok()).unwrap_or(0), Relaxed);
    let is_spawned = trust::variable(PARENT).is_some();
    let start =
        Start { folder: folder.into(), rank, size, job, is_spawned, pid: std::process::id(), moment: Moment::now() };
    START.set(start).is_ok()
}

fn attach(recorder: &'static Recorder) -> bool {
    let Some(found) = CString::new(SYMBOL).ok().and_then(|name| real_symbol::find(&name)) else { return false };
    type Attach = unsafe extern "C" fn(*const Recorder, c_uint) -> c_int;
    // SAFETY: the function of this name has this type, in all versions.
    let attach: Attach = unsafe { std::mem::transmute(found) };
    // SAFETY: the recorder lives for ever, and says of which version it is.
    unsafe { attach(recorder, VERSION) == 0 }
}

/// This process's rank in its job.
pub fn own_rank() -> u32 {
    START.get().map_or(0, |start| start.rank)
}

/// The program has called the last function of MPI, or of a session: sessions may follow.
#[cold]
pub fn finalized(function: &str) {
    IS_FINALIZED.store(true, Relaxed);
    if function == "MPI_Finalize" {
        write();
    }
}

/// The process ends.
extern "C" fn at_exit() {
    write();
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

/// Writes the files of this rank, once, and not in a child that it has forked.
fn write() {
    let Some(start) = START.get() else { return };
    if start.pid != std::process::id() || !calls::end() {
        return;
    }
    if let Err(error) = write_files(start) {
        let folder = start.folder.display();
        eprintln!("OxMPI: rank {} cannot write its part of the profile into {folder}: {error}", start.rank);
    }
}

fn write_files(start: &Start) -> io::Result<()> {
    let end = Moment::now();
    let scale = Scale::new(start.moment, end);
    let modules = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let modules = Modules::read(&modules);
    let mut rank = Rank {
        rank: start.rank,
        size: start.size,
        job: start.job,
        is_spawned: start.is_spawned,
        host: host(),
        pid: start.pid,
        is_finalized: IS_FINALIZED.load(Relaxed),
        begin: start.moment.nanoseconds,
        end: end.nanoseconds,
        lost_calls: STATE.lost_calls.load(Relaxed),
        lost_events: STATE.events.load(Relaxed).saturating_sub(STATE.most_events.load(Relaxed)),
        ..Rank::default()
    };
    calls::with_messages(|messages| {
        rank.peers = messages.peers();
        rank.sizes = messages.sizes();
    });
    let events = start.folder.join(Rank::events_name(start.job, start.rank));
    let mut events =
        if STATE.most_events.load(Relaxed) > 0 { Some(BufWriter::new(File::create(events)?)) } else { None };
    for thread in calls::threads() {
        let first = rank.sites.len() as u32;
        rank.sites.extend(thread.sites.iter().map(|site| site_record(site, &modules, &scale)));
        for one in &thread.algorithms {
            rank.algorithms.push(Algorithm {
                function: NAMES[one.function as usize].1.into(),
                name: one.name.into(),
                count: one.count,
                bytes: one.bytes,
                time: scale.length(one.ticks),
            });
        }
        if let Some(file) = &mut events {
            write_events(file, thread, first, &scale)?;
        }
    }
    events.as_mut().map_or(Ok(()), BufWriter::flush)?;
    // Under its name only when it is whole.
    let path = start.folder.join(Rank::file_name(start.job, start.rank));
    let unfinished = path.with_extension("part");
    fs::write(&unfinished, rank.to_text())?;
    fs::rename(&unfinished, Path::new(&path))
}

fn site_record(site: &Site, modules: &Modules<'_>, scale: &Scale) -> record::Site {
    let found = modules.find(site.caller.wrapping_sub(1));
    let (module, inode, position) = found.map_or((String::new(), 0, 0), |(path, inode, at)| (path.into(), inode, at));
    record::Site {
        function: if site.caller == 0 { "other places".into() } else { NAMES[site.function as usize].1.into() },
        module,
        inode,
        position,
        count: site.count,
        bytes: site.bytes.load(Relaxed),
        time: scale.length(site.ticks),
        waited: scale.length(site.waited),
        longest: scale.length(site.longest),
    }
}

fn write_events(file: &mut impl Write, thread: &Thread, first: u32, scale: &Scale) -> io::Result<()> {
    let number = thread.number;
    for event in &thread.events {
        let event = match *event {
            Kept::Call { site, begin, ticks, waited } => Event::Call {
                thread: number,
                site: first + site,
                begin: scale.moment(begin),
                time: scale.length(ticks),
                waited: scale.length(waited),
            },
            Kept::Sent { at, flow, bytes, tag } => {
                Event::Sent { thread: number, at: scale.moment(at), flow, bytes, tag }
            }
            Kept::Matched { at, flow, bytes, tag } => {
                Event::Matched { thread: number, at: scale.moment(at), flow, bytes, tag }
            }
        };
        file.write_all(&event.to_bytes())?;
    }
    Ok(())
}

fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_string()
}

/// The files that this process has mapped: first and last address, position in the file, inode, path.
struct Modules<'t>(Vec<(u64, u64, u64, u64, &'t str)>);

impl<'t> Modules<'t> {
    fn read(maps: &'t str) -> Modules<'t> {
        let one = |line: &'t str| {
            let hex = |text: &str| u64::from_str_radix(text, 16).ok();
            let mut words = line.splitn(6, ' ');
            let (start, end) = words.next()?.split_once('-')?;
            let (_rights, offset, _device) = (words.next()?, words.next()?, words.next()?);
            let (inode, path) = (words.next()?.parse().ok()?, words.next()?.trim_start());
            path.starts_with('/').then_some((hex(start)?, hex(end)?, hex(offset)?, inode, path))
        };
        Modules(maps.lines().filter_map(one).collect())
    }

    fn find(&self, address: u64) -> Option<(&'t str, u64, u64)> {
        let found = self.0.iter().find(|(start, end, ..)| (*start..*end).contains(&address))?;
        Some((found.4, found.3, address - found.0 + found.2))
    }
}
