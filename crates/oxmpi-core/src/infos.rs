//! The info objects of this process. They exist independently of any world or session and for any
//! thread, so they have a table and a lock of their own. Nothing here takes a guard, since most
//! callers hold one.

use crate::checks::bad_handle;
use crate::info::{Environment, Info};
use crate::library::{self, Library, World};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::Info as Handle;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::slots::SlotTable;
use oxmpi_base::trust;
use std::os::unix::ffi::OsStrExt;

impl Library {
    /// Adds an info object.
    pub fn add_info(&self, info: Info) -> Result<Handle> {
        match self.infos().try_insert(info) {
            Ok(handle) => Ok(Handle(handle)),
            Err(_) => bail!(MPI_ERR_NO_SPACE, "no handles are left for info objects"),
        }
    }

    /// The hints of an info argument; none for `MPI_INFO_NULL`.
    pub fn info(&self, handle: Handle) -> Result<Info> {
        if handle == MPI_INFO_NULL { Ok(Info::new()) } else { self.read_info(handle, |info| Ok(info.clone())) }
    }

    /// Reads an info object, which may be `MPI_INFO_ENV`.
    pub fn read_info<R>(&self, handle: Handle, with: impl FnOnce(&Info) -> Result<R>) -> Result<R> {
        if handle == MPI_INFO_ENV {
            if self.world() == World::NotYet {
                bail!(MPI_ERR_INFO, "MPI_INFO_ENV has no content before MPI_Init");
            }
            return with(&self.environment(&[]));
        }
        let table = self.infos();
        match table.get(handle.0) {
            Some(info) => with(info),
            None => Err(not_info(&table, handle)),
        }
    }

    /// Changes an info object.
    pub fn change_info<R>(&self, handle: Handle, with: impl FnOnce(&mut Info) -> Result<R>) -> Result<R> {
        let mut table = self.infos();
        match table.get_mut(handle.0) {
            Some(info) => with(info),
            None => Err(not_info(&table, handle)),
        }
    }

    /// Removes an info object.
    pub fn remove_info(&self, handle: Handle) -> Result<()> {
        let mut table = self.infos();
        match table.remove(handle.0) {
            Some(_) => Ok(()),
            None => Err(not_info(&table, handle)),
        }
    }

    /// How this process was started. Without `argv`, uses the arguments of the process.
    pub fn environment(&self, argv: &[&[u8]]) -> Info {
        let own: Vec<_> = std::env::args_os().collect();
        let own: Vec<&[u8]> = own.iter().map(|argument| argument.as_bytes()).collect();
        let wdir = std::env::current_dir().ok();
        let var = trust::text;
        // A program that a rank started inherits the rank's environment.
        let alone = self.shared().is_some_and(|shared| !shared.is_launched);
        let kinds = var(library::MEMORY_ALLOC_KINDS);
        let errhandler = var(library::INITIAL_ERRHANDLER);
        Environment {
            argv: if argv.is_empty() { &own } else { argv },
            maxprocs: var(oxmpi_boot::env::APP_SIZE).filter(|_| !alone).and_then(|count| count.parse().ok()),
            initial_errhandler: errhandler.as_deref(),
            memory_alloc_kinds: kinds.as_deref(),
            arch: Some(std::env::consts::ARCH),
            wdir: wdir.as_ref().map(|path| path.as_os_str().as_bytes()),
            ..Environment::default()
        }
        .to_info()
    }
}

/// The error for a handle that is no info object of the program.
#[cold]
fn not_info(table: &SlotTable<Info>, handle: Handle) -> Error {
    if handle == MPI_INFO_ENV {
        return Error::new(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed or freed");
    }
    bad_handle(table, MPI_ERR_INFO, handle.0, "info object", MPI_INFO_NULL.0, "MPI_INFO_NULL")
}
