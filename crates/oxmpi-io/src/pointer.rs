//! The shared file pointer: a word in memory that all processes of an open file map, where they are on one node; else
//! a word in a small file beside the opened one.

use crate::{failed, lock};
use oxmpi_abi::Result;
use oxmpi_base::arena::Mapping;
use oxmpi_base::sync::shared::{AtomicI64, AtomicU64};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// Counts etypes of the view. A process that adds to it owns the range between the old and the new
/// value, so no process waits for another. The word publishes no other data, so relaxed orderings
/// are enough.
pub enum SharedPointer {
    /// The pointer of a file that one process has opened alone.
    Own(AtomicI64),
    /// The first word of an area that all processes have mapped.
    Mapped(Mapping),
    /// The first word of a file, for processes that share no memory.
    Beside(Beside),
}

impl SharedPointer {
    /// What the first process tells the others so that they all mean the same [file](SharedPointer::beside).
    pub fn new_name() -> [u64; 2] {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        [std::process::id().into(), NEXT.fetch_add(1, Ordering::Relaxed)]
    }

    /// The pointer of a file that processes on several nodes have opened.
    pub fn beside(name: &[u8], [process, number]: [u64; 2]) -> SharedPointer {
        let name = PathBuf::from(OsStr::from_bytes(name));
        let mut path = std::path::absolute(&name).unwrap_or(name).into_os_string();
        path.push(format!(".oxmpi-pointer-{process}-{number}"));
        SharedPointer::Beside(Beside { path: path.into(), opened: Mutex::new(None) })
    }

    fn word(&self) -> std::result::Result<&AtomicI64, &Beside> {
        match self {
            SharedPointer::Own(word) => Ok(word),
            // SAFETY: a mapping has at least one page and is page-aligned; all ranks access the
            // word as an atomic.
            SharedPointer::Mapped(mapping) => Ok(unsafe { mapping.base().cast::<AtomicI64>().as_ref() }),
            SharedPointer::Beside(beside) => Err(beside),
        }
    }

    pub fn get(&self) -> Result<i64> {
        match self.word() {
            Ok(word) => Ok(word.load(Ordering::Relaxed)),
            Err(beside) => beside.change(false, |_| None),
        }
    }

    pub fn set(&self, position: i64) -> Result<()> {
        match self.word() {
            Ok(word) => word.store(position, Ordering::Relaxed),
            // A file that does not exist says zero.
            Err(beside) => drop(beside.change(position != 0, |_| Some(position))?),
        }
        Ok(())
    }

    /// Takes the next etypes; returns where they begin.
    pub fn take(&self, etypes: i64) -> Result<i64> {
        match self.word() {
            Ok(word) => Ok(word.fetch_add(etypes, Ordering::Relaxed)),
            Err(beside) => beside.change(true, |position| Some(position.wrapping_add(etypes))),
        }
    }

    /// Gives back what could not be read, unless another process has moved the pointer since.
    pub fn give_back(&self, position: i64, taken: i64, used: i64) -> Result<()> {
        let (from, to) = (position + taken, position + used);
        match self.word() {
            Ok(word) => drop(word.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed)),
            Err(beside) => drop(beside.change(true, |position| (position == from).then_some(to))?),
        }
        Ok(())
    }

    /// The file is closed everywhere: one of the processes removes what lies beside it.
    pub fn remove(&self) {
        if let SharedPointer::Beside(beside) = self {
            // Nobody may have used it.
            let _ = fs::remove_file(&beside.path);
        }
    }
}

/// A file with the pointer, made when it is first moved.
pub struct Beside {
    path: PathBuf,
    opened: Mutex<Option<fs::File>>,
}

impl Beside {
    /// Replaces the position by what is made of it, if anything is; returns the one before. `create`: the file shall
    /// exist; one that does not says zero.
    fn change(&self, create: bool, to: impl FnOnce(i64) -> Option<i64>) -> Result<i64> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let fail =
            |error: std::io::Error| failed(&error, "used as the shared file pointer", self.path.as_os_str().as_bytes());
        let file = match &mut *opened {
            Some(file) => file,
            none => match fs::File::options().read(true).write(true).create(create).truncate(false).open(&self.path) {
                Ok(file) => none.insert(file),
                Err(error) if !create && error.kind() == ErrorKind::NotFound => return Ok(0),
                Err(error) => return Err(fail(error)),
            },
        };
        lock::exclusively(file, || {
            let mut word = [0; 8];
            let position = match file.read_at(&mut word, 0)? {
                8 => i64::from_le_bytes(word),
                _ => 0,
            };
            if let Some(next) = to(position) {
                file.write_all_at(&next.to_le_bytes(), 0)?;
            }
            Ok(position)
        })
        .map_err(fail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_share_a_pointer_beside_the_file() {
        let name = std::env::temp_dir().join(format!("oxmpi-pointer-test-{}", std::process::id()));
        let name = name.as_os_str().as_bytes();
        let told = SharedPointer::new_name();
        assert_ne!(told, SharedPointer::new_name());
        let (a, b) = (SharedPointer::beside(name, told), SharedPointer::beside(name, told));
        let exists = |pointer: &SharedPointer| matches!(pointer, SharedPointer::Beside(file) if file.path.exists());
        assert_eq!(a.get().unwrap(), 0);
        a.set(0).unwrap();
        assert!(!exists(&a), "a pointer that nobody moves needs no file");
        assert_eq!((a.take(5).unwrap(), b.take(3).unwrap(), a.get().unwrap()), (0, 5, 8));
        b.give_back(5, 3, 1).unwrap();
        assert_eq!(a.get().unwrap(), 6);
        a.give_back(0, 5, 1).unwrap();
        assert_eq!(b.get().unwrap(), 6, "another process has moved it since");
        b.set(0).unwrap();
        assert_eq!(a.get().unwrap(), 0);
        let counts: i64 = std::thread::scope(|scope| {
            let threads = [&a, &b, &a, &b]
                .map(|pointer| scope.spawn(|| (0..50).map(|_| pointer.take(1).unwrap()).max().unwrap()));
            threads.into_iter().map(|thread| thread.join().unwrap()).max().unwrap()
        });
        assert_eq!((counts, a.get().unwrap()), (199, 200));
        a.remove();
        assert!(!exists(&a));
        let nowhere = SharedPointer::beside(b"/nowhere/at/all", told);
        assert!(nowhere.take(1).unwrap_err().text().contains("/nowhere/at/all"));
    }
}
