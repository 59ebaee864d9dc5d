//! A file that gets the output of a rank. `mpirun` writes it itself, even if nothing is shown on
//! its stdout, because programs rarely check whether their output could be written. A full disk is
//! reported with a message and a status; no byte is lost silently.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use crate::sys;

pub struct Record {
    /// `None` after it is closed.
    file: Option<File>,
    path: PathBuf,
    rank: usize,
    lost: u64,
}

/// Output that a file did not get.
#[derive(Debug)]
pub struct Loss {
    pub path: PathBuf,
    pub rank: usize,
    pub bytes: u64,
}

impl Record {
    pub fn new(file: File, path: PathBuf, rank: usize) -> Record {
        Record { file: Some(file), path, rank, lost: 0 }
    }

    /// Writes the bytes. Returns a message when output is lost for the first time. Later output is
    /// tried again, because there may be room by then.
    pub fn write(&mut self, mut bytes: &[u8]) -> Option<String> {
        let file = self.file.as_ref()?.as_raw_fd();
        while !bytes.is_empty() {
            match sys::write(file, bytes) {
                Ok(n @ 1..) => bytes = &bytes[n..],
                Ok(_) => return self.lose(bytes.len(), &io::ErrorKind::WriteZero.into()),
                Err(error) => return self.lose(bytes.len(), &error),
            }
        }
        None
    }

    /// Closes the file. Some file systems report a full disk only now.
    pub fn close(mut self) -> (Option<String>, Option<Loss>) {
        let closed = self.file.take().map_or(Ok(()), |file| sys::close(file.into()));
        // The number of missing bytes is unknown; count one.
        let said = closed.err().and_then(|error| self.lose(1, &error));
        let loss = (self.lost > 0).then_some(Loss { path: self.path, rank: self.rank, bytes: self.lost });
        (said, loss)
    }

    fn lose(&mut self, bytes: usize, error: &io::Error) -> Option<String> {
        let first = self.lost == 0;
        self.lost += bytes as u64;
        let (path, rank) = (self.path.display(), self.rank);
        first.then(|| format!("cannot write the output of rank {rank} to {path}: {error}; the job goes on"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_counted_and_said_once() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut record = Record::new(full, "/dev/full".into(), 3);
        let said = record.write(b"four").unwrap();
        assert!(said.contains("rank 3 to /dev/full") && said.contains("No space left"), "{said}");
        assert_eq!(record.write(b"three"), None);
        assert_eq!(record.write(b""), None);
        let (said, loss) = record.close();
        assert_eq!((said, loss.unwrap().bytes), (None, 9));
        let null = File::options().write(true).open("/dev/null").unwrap();
        let mut record = Record::new(null, "/dev/null".into(), 0);
        assert_eq!(record.write(b"four"), None);
        assert!(matches!(record.close(), (None, None)));
    }
}
