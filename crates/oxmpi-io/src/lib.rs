//! Files: what one process does with a file that several processes have opened together. Each
//! process has its own descriptor; they share the page cache of their node.
//!
//! `mode.rs`: how a file may be accessed; `view.rs`: which bytes of it a process sees;
//! `transfer.rs`: moves them; `image.rs`: gathers the short pieces of several processes; `lock.rs`: keeps other processes out; `pointer.rs`: the shared file
//! pointer; `datarep.rs`: representations of the program. This crate never communicates: the crate
//! `oxmpi` makes the ranks agree where they must.

mod datarep;
mod image;
mod lock;
mod mode;
mod pointer;
mod staging;
mod transfer;
mod view;
mod worker;

pub use datarep::{Conversion, Functions, UserDatarep};
pub use image::{Image, Part, Walk};
pub use mode::Mode;
pub use pointer::SharedPointer;
pub use staging::{IMAGES, MOST_AGGREGATORS, Staging};
pub use transfer::{read, write};
pub use view::{Representation, View};
pub use worker::Worker;

use oxmpi_abi::constants::*;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::filesystem::{self, Sharing};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

/// An open file.
pub struct File {
    file: fs::File,
    name: Vec<u8>,
    pub mode: Mode,
    /// Whether it has positions; a pipe has none.
    pub seekable: bool,
    sharing: Sharing,
    /// Whether data was written since the last [`File::sync`].
    written: AtomicBool,
    /// Held by the thread that makes an atomic access.
    atomic: Mutex<()>,
}

/// Identifies a file, also to processes on other hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
    /// When it was made, in nanoseconds; 0 where the file system does not say.
    pub born: u64,
    /// Whether hosts share its file system.
    pub shared: bool,
}

impl Identity {
    /// Whether both are the same file. A host numbers its devices as it likes, so those of a shared
    /// file system are not compared; files on disks of different hosts may have equal numbers.
    pub fn is_same(&self, other: &Identity) -> bool {
        let anywhere = self.shared && other.shared;
        self.inode == other.inode && (anywhere || self.device == other.device && self.born == other.born)
    }
}

impl File {
    /// Opens a file; `create`: this process creates it if the mode asks for that.
    pub fn open(name: &[u8], mode: Mode, create: bool, permissions: u32) -> Result<File> {
        if name.is_empty() {
            bail!(MPI_ERR_BAD_FILE, "the file name is empty");
        }
        let create = create && mode.creates();
        let opened = fs::OpenOptions::new()
            .read(mode.reads())
            .write(mode.writes())
            .create(create)
            .create_new(create && mode.is_exclusive())
            .mode(permissions)
            .open(OsStr::from_bytes(name));
        let file = opened.map_err(|error| failed(&error, "opened", name))?;
        let about = file.metadata().map_err(|error| failed(&error, "asked for its properties", name))?;
        if about.is_dir() {
            bail!(MPI_ERR_BAD_FILE, "\"{}\" is a directory", show(name));
        }
        let kind = std::os::unix::fs::FileTypeExt::is_fifo;
        let stream = kind(&about.file_type()) || std::os::unix::fs::FileTypeExt::is_socket(&about.file_type());
        if stream && !mode.is_sequential() {
            let name = show(name);
            bail!(MPI_ERR_UNSUPPORTED_OPERATION, "\"{name}\" is a pipe; it must be opened with MPI_MODE_SEQUENTIAL");
        }
        // A file system that does not answer is treated as the most common ones.
        let sharing = filesystem::sharing(&file).unwrap_or(Sharing::Local);
        let (written, atomic) = (AtomicBool::new(false), Mutex::new(()));
        Ok(File { file, name: name.to_vec(), mode, seekable: !stream, sharing, written, atomic })
    }

    /// The name under which it was opened.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// The name for error texts.
    pub fn show(&self) -> Cow<'_, str> {
        show(&self.name)
    }

    pub fn identity(&self) -> Result<Identity> {
        let about = self.about()?;
        let born = about.created().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(Identity {
            device: about.dev(),
            inode: about.ino(),
            born: born.map_or(0, |time| time.as_nanos() as u64),
            shared: self.sharing != Sharing::Local,
        })
    }

    /// Forgets what this host keeps of the file, where other hosts may have changed it: the next
    /// access asks the server. Locks do that: NFS asks when it gets one.
    pub fn refresh(&self) {
        if self.sharing == Sharing::Cached && self.mode.reads() {
            // Without locks of the server, the copy is as old as the mount options allow.
            let _ = lock::share(&self.file);
        }
    }

    /// Whether hosts may see different bytes of it, before they synchronise.
    pub fn is_cached(&self) -> bool {
        self.sharing == Sharing::Cached
    }

    pub fn size(&self) -> Result<u64> {
        Ok(self.about()?.len())
    }

    fn about(&self) -> Result<fs::Metadata> {
        self.file.metadata().map_err(|error| failed(&error, "asked for its properties", &self.name))
    }

    pub fn set_size(&self, size: u64) -> Result<()> {
        self.written.store(true, Ordering::Relaxed);
        self.file.set_len(size).map_err(|error| failed(&error, "resized", &self.name))
    }

    /// Reserves space for the first `size` bytes; the file then has at least this size.
    pub fn preallocate(&self, size: u64) -> Result<()> {
        if size == 0 {
            return Ok(());
        }
        let Ok(size) = i64::try_from(size) else { bail!(MPI_ERR_ARG, "no file can have {size} bytes") };
        self.written.store(true, Ordering::Relaxed);
        loop {
            // SAFETY: the call takes no pointers; the descriptor is open as long as `self` lives.
            match unsafe { libc::posix_fallocate(self.file.as_raw_fd(), 0, size) } {
                0 => return Ok(()),
                libc::EINTR => {}
                code => return Err(failed(&io::Error::from_raw_os_error(code), "allocated", &self.name)),
            }
        }
    }

    /// Returns when all data that this process has written is on the device.
    pub fn sync(&self) -> Result<()> {
        if !self.written.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
        match self.file.sync_data() {
            Ok(()) => Ok(()),
            // Pipes and some devices cannot be synchronised.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EROFS)) => Ok(()),
            Err(error) => Err(failed(&error, "synchronised", &self.name)),
        }
    }

    /// Fails if the file was not opened for reading, or for writing.
    pub fn check_access(&self, writes: bool) -> Result<()> {
        if writes && !self.mode.writes() {
            bail!(MPI_ERR_READ_ONLY, "\"{}\" was opened with MPI_MODE_RDONLY; it cannot be written", self.show());
        }
        if !writes && !self.mode.reads() {
            bail!(MPI_ERR_ACCESS, "\"{}\" was opened with MPI_MODE_WRONLY; it cannot be read", self.show());
        }
        Ok(())
    }

    /// Fails if the file was opened with `MPI_MODE_SEQUENTIAL`.
    pub fn check_random(&self) -> Result<()> {
        if self.mode.is_sequential() {
            bail!(
                MPI_ERR_UNSUPPORTED_OPERATION,
                "\"{}\" was opened with MPI_MODE_SEQUENTIAL; only its shared file pointer can be used",
                self.show()
            );
        }
        Ok(())
    }
}

/// Deletes a file.
pub fn delete(name: &[u8]) -> Result<()> {
    if name.is_empty() {
        bail!(MPI_ERR_BAD_FILE, "the file name is empty");
    }
    fs::remove_file(OsStr::from_bytes(name)).map_err(|error| failed(&error, "deleted", name))
}

fn show(name: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(name)
}

/// An error of the system as an MPI error with the matching class.
#[cold]
pub(crate) fn failed(error: &io::Error, done: &str, name: &[u8]) -> Error {
    let class = match error.raw_os_error().unwrap_or(0) {
        libc::ENOENT => MPI_ERR_NO_SUCH_FILE,
        libc::EEXIST => MPI_ERR_FILE_EXISTS,
        libc::EACCES | libc::EPERM => MPI_ERR_ACCESS,
        libc::ENAMETOOLONG | libc::ENOTDIR | libc::EISDIR | libc::ELOOP => MPI_ERR_BAD_FILE,
        libc::EROFS => MPI_ERR_READ_ONLY,
        libc::ENOSPC => MPI_ERR_NO_SPACE,
        libc::EDQUOT => MPI_ERR_QUOTA,
        libc::ETXTBSY | libc::EBUSY => MPI_ERR_FILE_IN_USE,
        libc::EFAULT => MPI_ERR_BUFFER,
        libc::ENOMEM => MPI_ERR_NO_MEM,
        libc::ESPIPE | libc::EOPNOTSUPP | libc::ENOLCK => MPI_ERR_UNSUPPORTED_OPERATION,
        _ => MPI_ERR_IO,
    };
    Error::new(class, format!("\"{}\" cannot be {done}: {error}", show(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_file_on_several_hosts() {
        let here = Identity { device: 5, inode: 77, born: 3, shared: false };
        assert!(here.is_same(&here));
        assert!(!here.is_same(&Identity { inode: 78, ..here }));
        assert!(!here.is_same(&Identity { device: 6, ..here }), "disks of two hosts");
        assert!(!here.is_same(&Identity { born: 4, ..here }), "disks with equal numbers");
        let nfs = Identity { shared: true, ..here };
        assert!(nfs.is_same(&Identity { device: 9, born: 0, ..nfs }), "each host numbers its mounts");
        assert!(!nfs.is_same(&Identity { device: 9, ..here }));
        assert!(!nfs.is_same(&Identity { inode: 78, ..nfs }));
    }
}
