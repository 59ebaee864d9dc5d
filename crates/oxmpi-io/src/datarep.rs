//! A data representation that the program defines: functions of its own convert data and say how long elements are in the
//! file. They may call MPI, so no lock may be held where one of them is called.

use oxmpi_abi::constants::*;
use oxmpi_abi::handle;
use oxmpi_abi::{Result, bail};
use oxmpi_datatype::Named;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The program's functions. An error is the code that one of them returned.
pub trait Functions: Send + Sync {
    /// The number of bytes of a predefined type in the file.
    fn length(&self, datatype: handle::Datatype) -> Result<i64, i32>;

    /// Whether data is converted when it is written or read; if not, it lies in the file as in memory.
    fn converts(&self, writes: bool) -> bool;

    /// How many entries of type maps one conversion can count.
    fn most_entries(&self) -> u64;

    /// Converts data.
    ///
    /// # Safety
    /// `data.memory` and `data.file` lead to memory for `data.position + data.entries` entries of the elements' type maps,
    /// the one laid out as the datatype says, the other as long as [`Functions::length`] says. What is converted from may be
    /// read, what is converted to may be written, and no other thread uses either meanwhile.
    unsafe fn convert(&self, writes: bool, data: &Conversion) -> Result<(), i32>;
}

/// What a conversion function is given.
pub struct Conversion {
    /// Where the elements begin in memory.
    pub memory: *mut u8,
    pub datatype: handle::Datatype,
    /// How many entries of the elements' type maps are converted.
    pub entries: u64,
    /// The data in the form of the file, from the first entry of this conversion on.
    pub file: *mut u8,
    /// How many entries of the elements come before.
    pub position: u64,
}

/// A representation that the program has registered.
pub struct UserDatarep {
    pub name: Vec<u8>,
    pub functions: Box<dyn Functions>,
    /// Lengths that the program has told.
    lengths: Mutex<BTreeMap<u16, i64>>,
}

impl UserDatarep {
    pub fn new(name: Vec<u8>, functions: Box<dyn Functions>) -> UserDatarep {
        UserDatarep { name, functions, lengths: Mutex::new(BTreeMap::new()) }
    }

    /// The number of bytes of a predefined type in the file. May call the program.
    pub fn length(&self, named: &'static Named) -> Result<i64> {
        let lengths = || self.lengths.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&length) = lengths().get(&named.handle) {
            return Ok(length);
        }
        let told = self.functions.length(handle::Datatype(usize::from(named.handle)));
        let (name, of) = (String::from_utf8_lossy(&self.name), named.name);
        match told {
            Err(code) => bail!(MPI_ERR_CONVERSION, "the extent function of \"{name}\" returned {code} for {of}"),
            Ok(length) if length == i64::from(MPI_UNDEFINED) => {
                bail!(MPI_ERR_VALUE_TOO_LARGE, "the extent function of \"{name}\" does not know the length of {of}");
            }
            Ok(length) if length < 0 => {
                bail!(MPI_ERR_CONVERSION, "the extent function of \"{name}\" says that {of} has {length} bytes");
            }
            Ok(length) => {
                lengths().insert(named.handle, length);
                Ok(length)
            }
        }
    }
}
