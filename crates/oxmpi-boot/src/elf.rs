//! Reads from a program file which MPI library it was linked with. Under this `mpirun`, a program
//! that uses the library of another MPI would silently run as separate jobs of one rank each;
//! `start` warns about it.
//!
//! Only 64-bit little-endian ELF files are understood. Any other file, such as a script, is treated
//! as a program that needs no MPI. The file is untrusted: every number in it is checked.

use crate::compat;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The start of a library's name, and the MPI that it belongs to.
const FOREIGN: &[(&str, &str)] = &[
    ("libmpi.so.40", "Open MPI"),
    ("libmpi_mpifh.so.", "Open MPI"),
    ("libmpi_usempi", "Open MPI"),
    ("libmpi_cxx.so.40", "Open MPI"),
    ("libmpi.so.12", "MPICH or one of its kind (Intel MPI, MVAPICH, Cray MPICH)"),
    ("libmpifort.so.12", "MPICH or one of its kind (Intel MPI, MVAPICH, Cray MPICH)"),
    ("libmpicxx.so.12", "MPICH or one of its kind (Intel MPI, MVAPICH, Cray MPICH)"),
    ("libmpich.so.", "MPICH"),
    ("libmpichcxx.so.", "MPICH"),
    ("libmpichfort.so.", "MPICH"),
    ("libmpi_cray.so.", "Cray MPICH"),
    ("libmpi_gnu", "Cray MPICH"),
    ("libmpi_ibm.so.", "IBM Spectrum MPI"),
    ("libmpi_ilp64.so.", "Intel MPI with INTEGERs of eight bytes"),
    ("libmpi.so.20", "Open MPI 2"),
    ("libmpi.so.1.", "Open MPI 1"),
    ("libmpi.so.0", "Open MPI 1"),
    ("libmpi.so.4", "Intel MPI 4"),
    ("libmpi.so", "another MPI"),
];

/// Limit on the files that are read for one program.
const MOST_FILES: usize = 40;

/// The library of the standard ABI, which several MPIs have.
const STANDARD: &str = "libmpi_abi.so.1";

/// The library of another MPI that a program uses.
#[derive(Debug, PartialEq, Eq)]
pub enum Foreign {
    /// It was linked with that of another ABI, and does not find OxMPI's library of that name.
    Linked { library: String, of: &'static str },
    /// It was linked with that of the standard ABI, and finds this file, which is not OxMPI's.
    Found(PathBuf),
}

/// A library of MPI that a program needs.
#[derive(Debug, PartialEq, Eq)]
pub struct Needed {
    pub library: String,
    /// The MPI whose ABI it has; none if it is the library of the standard ABI.
    pub of: Option<&'static str>,
    /// The file that the loader finds in the folders of the program and of the environment.
    pub file: Option<PathBuf>,
    /// Whether that file is OxMPI's.
    pub is_oxmpi: bool,
}

/// Returns the libraries of MPI that a program needs, directly or through libraries beside it. `search`: the value of
/// `LD_LIBRARY_PATH`.
pub fn needed(program: &Path, search: Option<&OsStr>) -> Vec<Needed> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut waiting = vec![program.to_path_buf()];
    while let Some(path) = waiting.pop() {
        if seen.len() >= MOST_FILES || !seen.insert(path.clone()) {
            continue;
        }
        let Some(needs) = File::open(&path).ok().and_then(|file| Needs::read(&file)) else { continue };
        for library in &needs.libraries {
            let of = FOREIGN.iter().find(|(start, _)| library.starts_with(start)).map(|(_, of)| *of);
            if library.starts_with("libmpi_abi.so") {
                let file = needs.find(STANDARD, &path, search);
                let is_oxmpi = file.as_deref().is_none_or(is_oxmpi);
                found.push(Needed { library: library.clone(), of: None, file, is_oxmpi });
            } else if of.is_some() {
                let file = needs.find(library, &path, search);
                let is_oxmpi = file.as_deref().is_some_and(has_name);
                found.push(Needed { library: library.clone(), of, file, is_oxmpi });
            } else {
                // Look in the program's own library folders only: system libraries need no MPI.
                let folders = needs.folders.iter().map(|folder| at_origin(folder, &path));
                waiting.extend(folders.map(|folder| folder.join(library)).find(|file| file.is_file()));
            }
        }
    }
    found
}

/// Returns the library of another MPI that a program uses; none if it finds OxMPI's.
pub fn foreign_mpi(program: &Path, search: Option<&OsStr>) -> Option<Foreign> {
    let needed = needed(program, search);
    if let Some(standard) = needed.iter().find(|needed| needed.of.is_none()) {
        return standard.file.clone().filter(|_| !standard.is_oxmpi).map(Foreign::Found);
    }
    if needed.iter().any(|needed| needed.is_oxmpi) {
        return None;
    }
    let first = needed.into_iter().next()?;
    Some(Foreign::Linked { library: first.library, of: first.of? })
}

/// Whether a program needs the dynamic linker at all: a static one has its MPI in itself.
pub fn is_dynamic(program: &Path) -> Option<bool> {
    let file = File::open(program).ok()?;
    let header = bytes(&file, 0, 64)?;
    header.starts_with(b"\x7fELF").then(|| Needs::read(&file).is_some())
}

/// Whether a library is that of this installation, or says in its text that it is OxMPI. One that cannot be read is given
/// the benefit of the doubt.
fn is_oxmpi(library: &Path) -> bool {
    let own = compat::own_libraries().join(STANDARD);
    if let (Ok(library), Ok(own)) = (library.canonicalize(), own.canonicalize())
        && library == own
    {
        return true;
    }
    has_name(library)
}

/// Whether a library says in its text that it is OxMPI, or cannot be read.
fn has_name(library: &Path) -> bool {
    const NAME: &[u8] = b"OxMPI";
    std::fs::read(library).map_or(true, |bytes| bytes.windows(NAME.len()).any(|part| part == NAME))
}

fn at_origin(folder: &str, of: &Path) -> PathBuf {
    let origin = of.parent().map_or_else(String::new, |parent| parent.display().to_string());
    PathBuf::from(folder.replace("${ORIGIN}", &origin).replace("$ORIGIN", &origin))
}

/// The entries of the dynamic section that matter here.
#[derive(Debug, Default, PartialEq, Eq)]
struct Needs {
    libraries: Vec<String>,
    /// Folders that the loader searches first (`DT_RPATH`, `DT_RUNPATH`).
    folders: Vec<String>,
    /// They come before those of `LD_LIBRARY_PATH`: there is no `DT_RUNPATH`.
    are_first: bool,
}

/// A loaded segment of the file: its address, its offset in the file, its length there.
type Part = (u64, u64, u64);

impl Needs {
    /// The file that the loader finds for a library in the folders of the file itself and of the environment.
    fn find(&self, library: &str, of: &Path, search: Option<&OsStr>) -> Option<PathBuf> {
        let own = self.folders.iter().map(|folder| at_origin(folder, of));
        let given = search.into_iter().flat_map(std::env::split_paths);
        let all: Vec<PathBuf> = if self.are_first { own.chain(given).collect() } else { given.chain(own).collect() };
        all.into_iter()
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(library))
            .find(|file| file.is_file())
    }

    fn read(file: &File) -> Option<Needs> {
        let header = bytes(file, 0, 64)?;
        // 64 bits, little-endian.
        if header[..6] != *b"\x7fELF\x02\x01" {
            return None;
        }
        let (at, size, count) = (word(&header, 32)?, half(&header, 54)?, half(&header, 56)?);
        if size < 56 || count > 1000 {
            return None;
        }
        let (mut parts, mut dynamic) = (Vec::<Part>::new(), None);
        for index in 0..u64::from(count) {
            let entry = bytes(file, at.checked_add(index * u64::from(size))?, 56)?;
            let (offset, address, length) = (word(&entry, 8)?, word(&entry, 16)?, word(&entry, 32)?);
            match entry[..4] {
                [1, 0, 0, 0] => parts.push((address, offset, length)),
                [2, 0, 0, 0] => dynamic = Some((offset, length)),
                _ => {}
            }
        }
        let (offset, length) = dynamic?;
        let section = bytes(file, offset, length.min(1 << 16))?;
        let entries: Vec<(u64, u64)> =
            section.chunks_exact(16).filter_map(|entry| Some((word(entry, 0)?, word(entry, 8)?))).collect();
        let entries = entries.split(|&(tag, _)| tag == 0).next()?;
        let strings = entries.iter().find(|&&(tag, _)| tag == 5)?.1;
        let strings = parts.iter().find_map(|&(address, offset, length)| {
            let into = strings.checked_sub(address).filter(|&into| into < length)?;
            offset.checked_add(into)
        })?;
        let texts = |wanted: &'static [u64]| {
            let places = entries.iter().filter(move |(tag, _)| wanted.contains(tag)).map(|&(_, place)| place);
            places.filter_map(move |place| text(file, strings.checked_add(place)?))
        };
        Some(Needs {
            libraries: texts(&[1]).collect(),
            are_first: entries.iter().all(|&(tag, _)| tag != 29),
            folders: texts(&[15, 29]).flat_map(|list| list.split(':').map(String::from).collect::<Vec<_>>()).collect(),
        })
    }
}

fn bytes(file: &File, at: u64, count: u64) -> Option<Vec<u8>> {
    let mut into = vec![0; count as usize];
    file.read_exact_at(&mut into, at).ok()?;
    Some(into)
}

/// A NUL-terminated text.
fn text(file: &File, at: u64) -> Option<String> {
    let mut buffer = [0; 4096];
    let got = file.read_at(&mut buffer, at).ok()?;
    let end = buffer[..got].iter().position(|&byte| byte == 0)?;
    Some(String::from_utf8_lossy(&buffer[..end]).into_owned())
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Builds a program that needs one library: a header, two program headers, a dynamic section
    /// and strings.
    fn program(library: &str, folder: &str) -> Vec<u8> {
        let texts = format!("\0{library}\0{folder}\0");
        let (dynamic, strings) = (64 + 2 * 56, 64 + 2 * 56 + 4 * 16);
        let mut file = b"\x7fELF\x02\x01\x01".to_vec();
        file.resize(64, 0);
        file[32..40].copy_from_slice(&64u64.to_le_bytes());
        file[54..56].copy_from_slice(&56u16.to_le_bytes());
        file[56..58].copy_from_slice(&2u16.to_le_bytes());
        let length = (strings + texts.len()) as u64;
        for (kind, offset, address, length) in [(1u32, 0u64, 0x400000u64, length), (2, dynamic as u64, 0, 64)] {
            let mut entry = kind.to_le_bytes().to_vec();
            entry.extend([0; 4]);
            for number in [offset, address, address, length, length, 0] {
                entry.extend(number.to_le_bytes());
            }
            file.extend(entry);
        }
        let places = [(5u64, 0x400000 + strings as u64), (1, 1), (29, 2 + library.len() as u64), (0, 0)];
        places.iter().for_each(|(tag, value)| file.extend([tag.to_le_bytes(), value.to_le_bytes()].concat()));
        file.extend(texts.bytes());
        file
    }

    #[test]
    fn libraries_of_other_mpis_are_found() {
        let folder = std::env::temp_dir().join(format!("oxmpi-elf-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, bytes: &[u8]| {
            fs::write(folder.join(name), bytes).unwrap();
            folder.join(name)
        };
        let of = |library: &str| match foreign_mpi(&write("a", &program(library, "/nowhere")), None) {
            Some(Foreign::Linked { of, .. }) => Some(of),
            _ => None,
        };
        assert_eq!(of("libmpi.so.40"), Some("Open MPI"));
        assert!(of("libmpi.so.12").unwrap().contains("MPICH"));
        assert_eq!(of("libmpi_abi.so.1"), None);
        assert_eq!(of("libc.so.6"), None);
        // The library of OxMPI for programs of MPICH.
        let compat = folder.join("compat");
        fs::create_dir_all(&compat).unwrap();
        fs::write(compat.join("libmpi.so.12"), b"it is OxMPI").unwrap();
        let mpich = write("e", &program("libmpi.so.12", "/nowhere"));
        assert_eq!(foreign_mpi(&mpich, Some(compat.as_os_str())), None);
        assert!(foreign_mpi(&write("e", &program("libmpi.so.40", "/nowhere")), Some(compat.as_os_str())).is_some());
        fs::write(compat.join("libmpi.so.12"), b"it is MPICH").unwrap();
        let mpich = write("e", &program("libmpi.so.12", "/nowhere"));
        assert!(foreign_mpi(&mpich, Some(compat.as_os_str())).is_some());
        // Needed by a library beside the program.
        write("libsolver.so", &program("libmpi.so.40", ""));
        assert_eq!(
            foreign_mpi(&write("b", &program("libsolver.so", "$ORIGIN")), None),
            Some(Foreign::Linked { library: "libmpi.so.40".into(), of: "Open MPI" })
        );
        // The library of the standard ABI, of another MPI and of OxMPI.
        let theirs = write(STANDARD, b"another MPI");
        let standard = write("d", &program(STANDARD, "$ORIGIN"));
        assert_eq!(foreign_mpi(&standard, None), Some(Foreign::Found(theirs)));
        let ours = folder.join("ours");
        fs::create_dir_all(&ours).unwrap();
        fs::write(ours.join(STANDARD), b"it is OxMPI").unwrap();
        assert_eq!(foreign_mpi(&standard, Some(ours.as_os_str())), None, "LD_LIBRARY_PATH comes before DT_RUNPATH");
        write(STANDARD, b"it is OxMPI, too");
        assert_eq!(foreign_mpi(&standard, None), None);
        // A damaged file is treated as a program without MPI.
        let whole = program("libmpi.so.40", "/nowhere");
        for cut in 0..whole.len() {
            foreign_mpi(&write("c", &whole[..cut]), None);
        }
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] = 0xff;
            foreign_mpi(&write("c", &damaged), None);
        }
        assert_eq!(foreign_mpi(Path::new("/bin/sh"), None), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
