//! Where the installation is, and the flags that follow from it.
//!
//! Nothing is fixed at build time: the prefix is the folder above the `bin` that holds this
//! program, after links are followed.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::Failure;
use crate::integers::Integers;
use crate::language::Language;

pub struct Install {
    pub include: PathBuf,
    pub lib: PathBuf,
    /// What the program is compiled with, which decides on modules and library; C has no part in it.
    pub integers: Integers,
}

impl Install {
    pub fn of_this_program(integers: Integers) -> Result<Install, Failure> {
        let program = env::current_exe().map_err(|error| {
            Failure::new(format!("cannot find out where this wrapper is installed ({error}); is /proc mounted?"))
        })?;
        match program.parent().and_then(Path::parent) {
            Some(prefix) => Ok(Install { include: prefix.join("include"), lib: prefix.join("lib"), integers }),
            None => Err(Failure::new(format!(
                "this wrapper must be in the bin folder of an OxMPI installation, but it is {}",
                program.display()
            ))),
        }
    }

    /// With a wrapper that was copied out of its prefix, the compiler would use any `mpi.h` that it
    /// finds; report an error instead.
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

    /// The libraries that the standard ABI names, in the order of linking.
    pub fn libraries(&self, language: Language) -> Vec<String> {
        let fortran = format!("mpifort_abi{}", self.integers.suffix("_"));
        let fortran = Some(fortran).filter(|_| language == Language::Fortran);
        fortran.into_iter().chain(["mpi_abi".to_owned()]).collect()
    }

    /// For Fortran also the folder of the modules that `oxmpi fortran` has made for this compiler.
    pub fn compile_flags(&self, language: Language, compiler: &[OsString]) -> Vec<OsString> {
        let modules = self.modules_for(compiler).filter(|_| language == Language::Fortran);
        let mut flags: Vec<_> = modules.iter().map(|modules| joined("-I", modules.as_os_str())).collect();
        if language == Language::Fortran && self.integers == Integers::Eight {
            // Its mpif.h is found before the other one.
            flags.push(joined("-I", self.include.join("oxmpi/i8").as_os_str()));
        }
        flags.push(joined("-I", self.include.as_os_str()));
        flags
    }

    /// The flags that this Fortran compiler needs for old programs, as `oxmpi fortran` found out;
    /// they are in a file beside the modules. The answers to build systems omit them: CMake passes
    /// what it is told to every language of a target, and C compilers do not know them.
    pub fn dialect_flags(&self, language: Language, compiler: &[OsString]) -> Vec<OsString> {
        let modules = self.modules_for(compiler).filter(|_| language == Language::Fortran);
        let list = modules.and_then(|modules| fs::read_to_string(modules.join("flags")).ok()).unwrap_or_default();
        list.split_whitespace().map(OsString::from).collect()
    }

    /// The folder for the modules of a compiler. Each family, and perhaps each version, has its own
    /// format.
    pub fn modules(&self, compiler: &[OsString]) -> PathBuf {
        self.modules_of(family_and_name(compiler).1)
    }

    /// The folder of modules that the compiler can probably read: its own, else those of its
    /// family, because `gfortran` and `gfortran-14` are usually the same program.
    pub fn modules_for(&self, compiler: &[OsString]) -> Option<PathBuf> {
        let family = self.modules_of(family_and_name(compiler).0);
        [self.modules(compiler), family].into_iter().find(|folder| folder.exists())
    }

    fn modules_of(&self, name: String) -> PathBuf {
        self.include.join("oxmpi").join(name + &self.integers.suffix("-"))
    }

    /// The library, and its folder as rpath of the program, so that the program runs without
    /// LD_LIBRARY_PATH.
    pub fn link_flags(&self, language: Language) -> Vec<OsString> {
        let lib = self.lib.as_os_str();
        let mut flags = vec![joined("-L", lib)];
        // -Wl, splits its value at commas.
        if lib.as_bytes().contains(&b',') {
            flags.extend(["-Xlinker", "-rpath", "-Xlinker"].map(OsString::from));
            flags.push(lib.to_owned());
        } else {
            flags.extend([OsString::from("-Wl,-rpath"), joined("-Wl,", lib)]);
        }
        flags.extend(self.libraries(language).iter().map(|name| joined("-l", OsStr::new(name))));
        flags
    }
}

/// Build systems look for `-Ix`, `-Lx` and `-lx` as one word each.
fn joined(flag: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(flag);
    word.push(value);
    word
}

/// `gfortran` and `gfortran-12` for `/usr/bin/x86_64-linux-gnu-gfortran-12`.
fn family_and_name(compiler: &[OsString]) -> (String, String) {
    const FAMILIES: &[&str] = &["gfortran", "flang", "ifx", "ifort", "nvfortran", "nagfor", "crayftn"];
    let names = compiler.iter().map(|word| Path::new(word).file_name().unwrap_or_default().to_string_lossy());
    let names: Vec<_> = names.collect();
    let known = FAMILIES.iter().find_map(|family| {
        names.iter().find_map(|name| Some((family.to_string(), name[name.find(family)?..].to_owned())))
    });
    let first = names.first().map_or_else(String::new, |name| name.to_string());
    known.unwrap_or_else(|| (first.clone(), first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_have_a_family_and_a_name() {
        let check = |words: &[&str], family: &str, name: &str| {
            let words: Vec<_> = words.iter().map(OsString::from).collect();
            assert_eq!(family_and_name(&words), (family.to_owned(), name.to_owned()), "{words:?}");
        };
        check(&["gfortran"], "gfortran", "gfortran");
        check(&["/usr/bin/x86_64-linux-gnu-gfortran-12", "-O2"], "gfortran", "gfortran-12");
        check(&["ccache", "flang-new-19"], "flang", "flang-new-19");
        check(&["/opt/f77"], "f77", "f77");
    }
}
