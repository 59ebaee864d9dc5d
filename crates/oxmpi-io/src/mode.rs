//! How a file may be accessed.

use oxmpi_abi::constants::*;
use oxmpi_abi::{Result, bail};

/// A valid access mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mode {
    bits: i32,
}

const ACCESS: i32 = MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR;
const KNOWN: i32 = ACCESS
    | MPI_MODE_CREATE
    | MPI_MODE_EXCL
    | MPI_MODE_DELETE_ON_CLOSE
    | MPI_MODE_UNIQUE_OPEN
    | MPI_MODE_SEQUENTIAL
    | MPI_MODE_APPEND;

impl Mode {
    pub fn new(bits: i32) -> Result<Mode> {
        if bits & !KNOWN != 0 {
            bail!(MPI_ERR_AMODE, "the access mode {bits:#x} has bits that no MPI_MODE_ of files has");
        }
        let mode = Mode { bits };
        if (bits & ACCESS).count_ones() != 1 {
            bail!(
                MPI_ERR_AMODE,
                "the access mode {bits:#x} must have exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR"
            );
        }
        if !mode.writes() && mode.has(MPI_MODE_CREATE | MPI_MODE_EXCL) {
            bail!(MPI_ERR_AMODE, "MPI_MODE_RDONLY cannot be combined with MPI_MODE_CREATE or MPI_MODE_EXCL");
        }
        if mode.has(MPI_MODE_RDWR) && mode.is_sequential() {
            bail!(MPI_ERR_AMODE, "MPI_MODE_SEQUENTIAL cannot be combined with MPI_MODE_RDWR");
        }
        Ok(mode)
    }

    /// The value that the program gave.
    pub fn bits(self) -> i32 {
        self.bits
    }

    pub fn reads(self) -> bool {
        !self.has(MPI_MODE_WRONLY)
    }

    pub fn writes(self) -> bool {
        !self.has(MPI_MODE_RDONLY)
    }

    pub fn creates(self) -> bool {
        self.has(MPI_MODE_CREATE)
    }

    /// The file must not exist before (`MPI_MODE_EXCL`).
    pub fn is_exclusive(self) -> bool {
        self.has(MPI_MODE_EXCL)
    }

    pub fn is_sequential(self) -> bool {
        self.has(MPI_MODE_SEQUENTIAL)
    }

    pub fn appends(self) -> bool {
        self.has(MPI_MODE_APPEND)
    }

    pub fn deletes(self) -> bool {
        self.has(MPI_MODE_DELETE_ON_CLOSE)
    }

    fn has(self, any: i32) -> bool {
        self.bits & any != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_of_access_and_nothing_that_contradicts_it() {
        for good in [
            MPI_MODE_RDONLY,
            MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL,
            MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_APPEND,
            MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE | MPI_MODE_UNIQUE_OPEN,
        ] {
            assert_eq!(Mode::new(good).unwrap().bits(), good);
        }
        for bad in [
            0,
            MPI_MODE_CREATE,
            MPI_MODE_RDONLY | MPI_MODE_WRONLY,
            MPI_MODE_RDWR | MPI_MODE_RDONLY,
            MPI_MODE_RDONLY | MPI_MODE_CREATE,
            MPI_MODE_RDONLY | MPI_MODE_EXCL,
            MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL,
            MPI_MODE_RDONLY | 1 << 20,
            -1,
        ] {
            assert_eq!(Mode::new(bad).unwrap_err().class(), MPI_ERR_AMODE, "{bad:#x}");
        }
    }
}
