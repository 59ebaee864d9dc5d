//! A program or a library: its debug information and its symbols.

use crate::{Found, maps};
use addr2line::Context;
use gimli::{Dwarf, EndianRcSlice, RunTimeEndian, SectionId};
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSegment, ObjectSymbol, ReadCache, SymbolKind};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

type Slice = EndianRcSlice<RunTimeEndian>;

pub struct Module {
    /// Parts of the file and where they are loaded: position, bytes, address.
    segments: Vec<(u64, u64, u64)>,
    /// Functions: address, bytes, name.
    symbols: Vec<(u64, u64, String)>,
    context: Option<Context<Slice>>,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module").field("segments", &self.segments).finish_non_exhaustive()
    }
}

/// Debug information beyond this is not read.
const MOST_BYTES: u64 = 4 << 30;
/// Where distributions keep debug information that they took out of a file.
const SEPARATE: &str = "/usr/lib/debug/.build-id";
/// The clocks of a file server and of this machine may differ by so much.
const CLOCKS: Duration = Duration::from_secs(2);

impl Module {
    /// Reads the first of some files that is the one that a process has mapped.
    pub fn open(candidates: &[PathBuf], file: &maps::File, pid: u32) -> Option<Module> {
        if file.is_deleted {
            return None;
        }
        let started = start_of(pid)?;
        let opened =
            candidates.iter().filter_map(|path| File::open(path).ok()).find(|opened| is_same(opened, file, started));
        Module::read(opened?)
    }

    /// Reads a file that a process has mapped which started at that time and may have ended.
    pub fn open_of_past(file: &maps::File, started: SystemTime) -> Option<Module> {
        let opened = File::open(&file.path).ok().filter(|opened| !file.is_deleted && is_same(opened, file, started));
        Module::read(opened?)
    }

    fn read(file: File) -> Option<Module> {
        let cache = ReadCache::new(file);
        let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
        let segments = elf.segments().map(|segment| {
            let (position, bytes) = segment.file_range();
            (position, bytes, segment.address())
        });
        let symbols = elf
            .symbols()
            .chain(elf.dynamic_symbols())
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition() && symbol.address() != 0);
        let symbols =
            symbols.filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?.to_owned())));
        let mut symbols: Vec<(u64, u64, String)> = symbols.collect();
        symbols.sort_by_key(|(address, ..)| *address);
        let context = context(&elf).or_else(|| {
            let id = elf.build_id().ok()??;
            let cache = ReadCache::new(File::open(separate(id)?).ok()?);
            context(&ElfFile64::<Endianness, _>::parse(&cache).ok()?)
        });
        Some(Module { segments: segments.collect(), symbols, context })
    }

    #[cfg(test)]
    pub fn read_path(path: &Path) -> Option<Module> {
        Module::read(File::open(path).ok()?)
    }

    /// What is known of a position in the file.
    pub fn find(&self, position: u64) -> Found {
        let segment = self.segments.iter().find(|(start, bytes, _)| position >= *start && position - start < *bytes);
        let Some(address) = segment.map(|(start, _, address)| position - start + address) else {
            return Found::default();
        };
        let (line, is_ours) = self.line(address).map_or((None, false), |(line, is_ours)| (Some(line), is_ours));
        let function = if line.is_none() { self.function(address) } else { None };
        Found { address: Some(address), function, line, is_ours }
    }

    /// The line of an address; of functions that were inlined there, the innermost one that is not ours.
    fn line(&self, address: u64) -> Option<((String, u32), bool)> {
        let mut frames = self.context.as_ref()?.find_frames(address).skip_all_loads().ok()?;
        let mut ours = None;
        while let Ok(Some(frame)) = frames.next() {
            let Some(location) = frame.location else { continue };
            let (Some(file), Some(line)) = (location.file, location.line) else { continue };
            if !is_our_header(file) {
                return Some(((file.to_owned(), line), false));
            }
            ours = Some(((file.to_owned(), line), true));
        }
        ours
    }

    pub fn function_of(&self, address: u64) -> Option<String> {
        self.function(address).map(|(name, _)| name)
    }

    fn function(&self, address: u64) -> Option<(String, u64)> {
        let last = self.symbols.partition_point(|(start, ..)| *start <= address).checked_sub(1)?;
        let (start, bytes, name) = &self.symbols[last];
        let from = address - start;
        // Some assemblers leave the length out.
        (from < *bytes || *bytes == 0).then(|| (addr2line::demangle_auto(name.into(), None).into_owned(), from))
    }
}

/// The interface of C++ is a header: its functions are compiled into the program.
fn is_our_header(file: &str) -> bool {
    file.ends_with("/mpicxx.h") || file.contains("/oxmpi/cxx/")
}

/// The debug information of a file, if it has any.
fn context<'a, R: object::ReadRef<'a>>(elf: &ElfFile64<'a, Endianness, R>) -> Option<Context<Slice>> {
    let bytes: u64 = elf.sections().filter(|section| is_debug(section.name().unwrap_or(""))).map(|s| s.size()).sum();
    if bytes == 0 || bytes > MOST_BYTES {
        return None;
    }
    let endian = if elf.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let load = |id: SectionId| -> Result<Slice, gimli::Error> {
        let section = elf.section_by_name(id.name());
        let data = section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default();
        Ok(EndianRcSlice::new(Rc::from(&*data), endian))
    };
    Context::from_dwarf(Dwarf::load(load).ok()?).ok()
}

fn is_debug(section: &str) -> bool {
    section == ".debug_info" || section == ".debug_line" || section == ".zdebug_info"
}

/// The file with the debug information of the file with a build id.
fn separate(id: &[u8]) -> Option<PathBuf> {
    let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest) = hex.split_at_checked(2)?;
    Some(Path::new(SEPARATE).join(first).join(format!("{rest}.debug")))
}

/// Whether an open file is the one that a process has mapped: it was not changed since the process started, and has the same
/// inode. Some file systems tell another inode for mappings; there a file that is older than the process is believed.
fn is_same(file: &File, mapped: &maps::File, started: SystemTime) -> bool {
    let Ok(found) = file.metadata() else { return false };
    let time = |seconds: i64, nanoseconds: i64| {
        UNIX_EPOCH + Duration::new(seconds.max(0).unsigned_abs(), nanoseconds.clamp(0, 999_999_999) as u32)
    };
    let written = time(found.mtime(), found.mtime_nsec());
    let changed = time(found.ctime(), found.ctime_nsec());
    found.is_file() && written <= started + CLOCKS && (found.ino() == mapped.inode || changed <= started)
}

/// When a process started.
fn start_of(pid: u32) -> Option<SystemTime> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain anything; the numbers follow its last bracket.
    let ticks: u64 = stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()?;
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot: u64 = boot.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    /// The kernel counts the time of processes in hundredths of a second on all our machines.
    const TICKS: u64 = 100;
    Some(UNIX_EPOCH + Duration::from_secs(boot) + Duration::from_millis(ticks * 1000 / TICKS))
}
