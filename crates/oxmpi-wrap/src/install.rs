//! Where the installation is, and the flags that follow from it.
//!
//! Nothing is fixed at build time: the prefix is the folder above the `bin` that holds this program, after
//! links are followed.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::Failure;

/// The library that the standard ABI names.
pub const LIBRARY: &str = "mpi_abi";

pub struct Install {
    pub include: PathBuf,
    pub lib: PathBuf,
}

impl Install {
    pub fn of_this_program() -> Result<Install, Failure> {
        let program = env::current_exe().map_err(|error| {
            Failure::new(format!("cannot find out where this wrapper is installed ({error}); is /proc mounted?"))
        })?;
        match program.parent().and_then(Path::parent) {
            Some(prefix) => Ok(Install { include: prefix.join("include"), lib: prefix.join("lib") }),
            None => Err(Failure::new(format!(
                "this wrapper must be in the bin folder of an OxMPI installation, but it is {}",
                program.display()
            ))),
        }
    }

    /// A wrapper copied out of its prefix would send the compiler after whatever `mpi.h` it finds; say so
    /// instead.
    pub fn check(&self) -> Result<(), Failure> {
        if self.include.join("mpi.h").exists() {
            return Ok(());
        }
        Err(Failure::new(format!(
            "there is no mpi.h in {}: the installation is not complete, or the wrapper was copied out of it \
             (a symbolic link to the wrapper is fine)",
            self.include.display()
        )))
    }

    pub fn compile_flags(&self) -> Vec<OsString> {
        vec![joined("-I", self.include.as_os_str())]
    }

    /// The library by path and name, and its folder in the program, so that it runs without LD_LIBRARY_PATH.
    pub fn link_flags(&self) -> Vec<OsString> {
        let lib = self.lib.as_os_str();
        let mut flags = vec![joined("-L", lib)];
        // -Wl, splits its value at commas.
        if lib.as_bytes().contains(&b',') {
            flags.extend(["-Xlinker", "-rpath", "-Xlinker"].map(OsString::from));
            flags.push(lib.to_owned());
        } else {
            flags.extend([OsString::from("-Wl,-rpath"), joined("-Wl,", lib)]);
        }
        flags.push(joined("-l", OsStr::new(LIBRARY)));
        flags
    }
}

/// Build systems look for `-Ix`, `-Lx` and `-lx` as one word each.
fn joined(flag: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(flag);
    word.push(value);
    word
}
