//! Connects the stdin, stdout and stderr of the ranks: to pipes that `mpirun` reads, to files, or to its own.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use oxmpi_base::{limits, terminal};

use crate::input::Source;
use crate::options::Settings;
use crate::output::{Channel, Destination, Label, Outputs};
use crate::record::Record;
use crate::start::Refusal;
use crate::sys;

/// The number of pseudo-terminals of a system is limited (some thousands for all users).
const MOST_TERMINALS: usize = 256;

/// What connects the ranks while they are being started.
pub trait Wires {
    /// The stdin, stdout and stderr of a rank, by its number among those that are started here.
    /// They stay open until the next call.
    fn open(&mut self, rank: &Place) -> Result<[RawFd; 3], Refusal>;

    /// The rank of the last call runs.
    fn connected(&mut self, rank: &Place) -> Result<(), Refusal>;
}

/// The values that file names are made from.
pub struct Place {
    /// Its number among the ranks that are started here.
    pub index: usize,
    pub rank: usize,
    pub app: usize,
}

/// The wires of a job on this machine alone.
pub struct OwnWires<'a> {
    pub outputs: Outputs,
    settings: &'a Settings,
    host: String,
    sources: Vec<Source>,
    nothing: File,
    files: Files,
    alone: bool,
    /// Give the ranks a terminal as stdout, because `mpirun` has one.
    terminal: bool,
    current: Vec<Outlet>,
}

impl<'a> OwnWires<'a> {
    pub fn new(settings: &'a Settings, outputs: Outputs, sources: Vec<Source>, host: &str) -> Result<Self, Refusal> {
        let nothing = File::open("/dev/null").map_err(|error| Refusal {
            text: format!("cannot open /dev/null: {}", limits::explain(&error)),
            status: 1,
        })?;
        let size = sources.len();
        Ok(OwnWires {
            outputs,
            settings,
            host: host.into(),
            sources,
            nothing,
            files: Files::default(),
            alone: size == 1,
            terminal: size <= MOST_TERMINALS && sys::is_terminal(1),
            current: Vec::new(),
        })
    }

    fn outlet(&mut self, channel: Channel, place: &Place) -> Result<Outlet, Refusal> {
        let mut outlet = Outlet { channel, write: None, read: None, record: None, shown: true };
        if let Some((path, shown)) = file_of(channel, self.settings, place, &self.host) {
            let file = self.files.open(&path)?;
            outlet.shown = shown;
            if !shown && may_block(&file) {
                // A pipe or a terminal: only the rank may block on its reader.
                outlet.write = Some(file.into());
                return Ok(outlet);
            }
            outlet.record = Some(Record::new(file, path, place.rank));
        }
        // A single rank needs no line merging: it gets the stdout and stderr of `mpirun`.
        if self.alone && self.settings.label == Label::None && !self.settings.merge_stderr && outlet.record.is_none() {
            return Ok(outlet);
        }
        // On a terminal, a program flushes each line; into a pipe, often only at its end.
        let terminal = match channel {
            Channel::Stdout if self.terminal && outlet.shown => terminal::raw_pair(1).ok(),
            _ => None,
        };
        let (read, write) = terminal.map_or_else(sys::pipe, Ok).map_err(no_pipe)?;
        (outlet.read, outlet.write) = (Some(read), Some(write));
        Ok(outlet)
    }
}

impl Wires for OwnWires<'_> {
    fn open(&mut self, place: &Place) -> Result<[RawFd; 3], Refusal> {
        let stdin = match &self.sources[place.index] {
            Source::Nothing => self.nothing.as_raw_fd(),
            Source::Inherited => 0,
            Source::Pipe(read) => read.as_raw_fd(),
        };
        self.current.clear();
        let stdout = self.outlet(Channel::Stdout, place)?;
        let out = stdout.to();
        self.current.push(stdout);
        // One pipe for both channels keeps the order of what is written to the same file.
        let file = |channel| file_of(channel, self.settings, place, &self.host).map(|(file, _)| file);
        let out_file = file(Channel::Stdout);
        let same_file = out_file.is_some() && out_file == file(Channel::Stderr);
        if self.settings.merge_stderr || same_file {
            return Ok([stdin, out, out]);
        }
        let stderr = self.outlet(Channel::Stderr, place)?;
        let err = stderr.to();
        self.current.push(stderr);
        Ok([stdin, out, err])
    }

    fn connected(&mut self, place: &Place) -> Result<(), Refusal> {
        for outlet in self.current.drain(..) {
            if let Some(from) = outlet.read {
                let to = Destination { record: outlet.record, shown: outlet.shown, host: self.host.clone() };
                self.outputs.add(place.rank, outlet.channel, from, to).map_err(|error| {
                    let text = format!("cannot connect the output of rank {}: {}", place.rank, limits::explain(&error));
                    Refusal { text, status: 1 }
                })?;
            }
        }
        Ok(())
    }
}

pub fn no_pipe(error: io::Error) -> Refusal {
    Refusal { text: format!("cannot make a pipe: {}", limits::explain(&error)), status: 1 }
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
    fn to(&self) -> RawFd {
        match (&self.write, self.channel) {
            (Some(fd), _) => fd.as_raw_fd(),
            (None, Channel::Stdout) => 1,
            (None, Channel::Stderr) => 2,
        }
    }
}

/// The file that gets the output of a channel, and whether it is also shown.
pub fn file_of(channel: Channel, settings: &Settings, place: &Place, host: &str) -> Option<(PathBuf, bool)> {
    let (pattern, name) = match channel {
        Channel::Stdout => (&settings.outfile, "stdout"),
        Channel::Stderr => (&settings.errfile, "stderr"),
    };
    match (pattern, &settings.output_dir) {
        (Some(pattern), _) => Some((expand(pattern, place, host).into(), false)),
        (None, Some(output)) => Some((output.dir.join(format!("rank.{}", place.rank)).join(name), output.copy)),
        (None, None) => None,
    }
}

/// Opens the output files. Several channels or ranks may share a file: only the first one empties
/// it.
#[derive(Default)]
pub struct Files {
    opened: HashSet<PathBuf>,
}

impl Files {
    pub fn open(&mut self, path: &Path) -> Result<File, Refusal> {
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
pub fn may_block(file: &File) -> bool {
    let kind = file.metadata().map(|found| found.file_type());
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket()) || sys::is_terminal(file.as_raw_fd())
}

/// Replaces `%r`, `%h` and `%a` by the rank, the host and the number of the program.
fn expand(pattern: &OsString, place: &Place, host: &str) -> OsString {
    let mut out = Vec::new();
    let mut bytes = pattern.as_bytes().iter();
    while let Some(&byte) = bytes.next() {
        match (byte, bytes.as_slice().first()) {
            (b'%', Some(b'r')) => out.extend_from_slice(place.rank.to_string().as_bytes()),
            (b'%', Some(b'h')) => out.extend_from_slice(host.as_bytes()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let place = Place { index: 0, rank: 3, app: 1 };
        assert_eq!(expand(&"o-%r.%a@%h%%%x".into(), &place, "h"), "o-3.1@h%%x");
        assert_eq!(expand(&"100%".into(), &place, "h"), "100%");
    }
}
