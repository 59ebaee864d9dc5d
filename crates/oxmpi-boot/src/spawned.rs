//! The protocol of spawning a job, between the process that spawns (the *root*), the `mpirun` that
//! it starts for the new job, and the outer `mpirun`, if there is one.
//!
//! ```text
//!   outer mpirun  <--- mailbox: one line per message ---  mpirun --spawned LINE PORT KIND
//!        |                                                       options a : options b …
//!      ranks; one is the root of MPI_Comm_spawn  <--- line: one packet each --->  mpirun --spawned
//! ```
//!
//! The *line* is a socket pair that the root creates. The new `mpirun` sends at most one packet on
//! it, [why](Report) the job could not be started. The root sends at most one packet: it has
//! [`TAKEN`] the job, so that their processes are connected. After that, a failure concerns the
//! outer `mpirun`, if there is one, which reads about it from its *mailbox*, a pipe. If the root
//! closes the line without a packet, it does not want the job any more.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

use crate::env::{self, Mailbox};
use crate::reach;
use oxmpi_base::trust;

/// The option of an `mpirun` that was started to spawn a job. Its values are the descriptor of the
/// line, the port of the parents and the [`Kind`] of the process that spawns.
pub const OPTION: &str = "--spawned";

/// The packet with which the root says that the job is connected to it.
pub const TAKEN: &[u8] = b"taken";

/// Maximum length of a packet or a message in the mailbox: a pipe transfers so many bytes in one
/// piece.
pub const LONGEST: usize = 4096;

/// The kind of process that spawns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A rank of a job with an `mpirun` that watches it.
    Rank,
    /// A process that was started without `mpirun`.
    Alone,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Kind::Rank => "rank",
            Kind::Alone => "alone",
        }
    }

    pub fn parse(word: &str) -> Option<Kind> {
        [Kind::Rank, Kind::Alone].into_iter().find(|kind| kind.word() == word)
    }
}

/// Why a job could not be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The number of its processes that were started.
    pub started: usize,
    pub text: String,
}

impl Report {
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = format!("{} {}", self.started, self.text).into_bytes();
        bytes.truncate(LONGEST);
        bytes
    }

    pub fn read(bytes: &[u8]) -> Option<Report> {
        let text = String::from_utf8_lossy(bytes);
        let (started, text) = text.split_once(' ')?;
        Some(Report { started: started.parse().ok()?, text: text.into() })
    }
}

/// An argument for the command line of the new `mpirun`, where a `:` alone separates programs.
pub fn quote(word: &[u8]) -> Vec<u8> {
    if is_separator(word) { [b"\\", word].concat() } else { word.to_vec() }
}

/// The inverse of [`quote`].
pub fn unquote(word: &[u8]) -> &[u8] {
    match word.strip_prefix(b"\\") {
        Some(rest) if is_separator(rest) => rest,
        _ => word,
    }
}

/// `:`, or a quoted one.
fn is_separator(word: &[u8]) -> bool {
    word.strip_suffix(b":").is_some_and(|rest| rest.iter().all(|&byte| byte == b'\\'))
}

/// A message from the `mpirun` of a spawned job to the outer one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Announces this `mpirun`, by its process id, as a child that belongs to the job.
    Here(u32),
    /// Its job failed, with this status, while it was connected to the ranks of the outer job.
    Failed { mpirun: u32, status: i32, text: String },
    /// A process of its job has ended well; told for a job that goes on when processes die.
    Well(u32),
}

impl Message {
    /// One line, short enough for a pipe to transfer it in one piece.
    pub fn write(&self) -> Vec<u8> {
        let mut line = match self {
            Message::Here(pid) => format!("here {pid}"),
            Message::Well(pid) => format!("well {pid}"),
            Message::Failed { mpirun, status, text } => format!("failed {mpirun} {status} {}", text.replace('\n', " ")),
        }
        .into_bytes();
        line.truncate(LONGEST - 1);
        line.push(b'\n');
        line
    }

    pub fn read(line: &[u8]) -> Option<Message> {
        let line = String::from_utf8_lossy(line);
        let (kind, rest) = line.split_once(' ')?;
        match kind {
            "here" => Some(Message::Here(rest.parse().ok()?)),
            "well" => Some(Message::Well(rest.parse().ok()?)),
            "failed" => {
                let mut words = rest.splitn(3, ' ');
                let (mpirun, status) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
                // It is printed on the user's terminal.
                let text = words.next()?.replace(char::is_control, " ");
                Some(Message::Failed { mpirun, status, text })
            }
            _ => None,
        }
    }
}

/// The outer `mpirun`, as the `mpirun` of a spawned job sees it.
pub struct Outer {
    pub mpirun: u32,
    /// When held, it ends this process when the outer `mpirun` ends.
    pub lifeline: OwnedFd,
    /// Options that also apply to this job.
    pub options: Vec<String>,
    mailbox: File,
}

impl Outer {
    /// The `mpirun` whose variables this process inherited; `None` if there is none, or if it has
    /// ended.
    pub fn from_env() -> Option<Outer> {
        let var = |name: &str| trust::variable(name)?.into_string().ok();
        let job = var(env::JOB)?;
        let mut numbers = job.split(':');
        let mpirun = numbers.next()?.parse().ok()?;
        let lifeline_inode = numbers.nth(1)?.parse().ok()?;
        let lifeline = reach(var(env::LIFELINE)?.parse().ok()?, lifeline_inode, mpirun, false)?;
        let Mailbox { fd, inode, options } = Mailbox::read(&var(env::SPAWN)?)?;
        let mailbox = reach(fd, inode, mpirun, true)?.into();
        Some(Outer { mpirun, lifeline, options, mailbox })
    }

    /// Writes a message to its mailbox. If no process reads it, the lifeline has broken.
    pub fn tell(&mut self, message: &Message) {
        let _ = self.mailbox.write_all(&message.write());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in ["", "cannot find `x`: no such file", "two\nlines"] {
            let report = Report { started: 3, text: text.into() };
            assert_eq!(Report::read(&report.write()), Some(report));
        }
        let failed = Message::Failed { mpirun: 77, status: 5, text: "rank 0 (a b) failed".into() };
        for message in [Message::Here(4711), Message::Well(4712), failed] {
            let line = message.write();
            assert_eq!(Message::read(line.strip_suffix(b"\n").unwrap()), Some(message));
        }
        for line in ["", "here", "here x", "failed 1", "failed 1 2", "what 1"] {
            assert_eq!(Message::read(line.as_bytes()), None, "{line}");
        }
        let long = Message::Failed { mpirun: 1, status: 1, text: "x\n".repeat(LONGEST) };
        assert_eq!(long.write().iter().filter(|&&byte| byte == b'\n').count(), 1);
        assert_eq!(long.write().len(), LONGEST);
    }

    #[test]
    fn arguments_that_look_like_separators() {
        for word in ["", ":", "\\:", "\\\\:", "a:", "\\", ":a", "\\a:"] {
            let quoted = quote(word.as_bytes());
            assert_ne!(quoted, b":");
            assert_eq!(unquote(&quoted), word.as_bytes());
        }
    }

    #[test]
    fn kinds() {
        for kind in [Kind::Rank, Kind::Alone] {
            assert_eq!(Kind::parse(kind.word()), Some(kind));
        }
        assert_eq!(Kind::parse("other"), None);
    }
}
