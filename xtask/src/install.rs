//! `cargo xtask install --prefix P [--profile release]`: builds OxMPI and writes an installation.
//!
//! An installation can be moved: the wrappers and the pkg-config file find the prefix from their
//! own path, so no file here may contain an absolute path. Files are replaced by renaming, never
//! overwritten, because programs may be running from the old ones.

use crate::gen_fortran_text::{Integers, texts};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A product of the build: its file name, and its path in the prefix.
type Product = (&'static str, &'static str);

/// Packages that are built with one profile, and their products.
struct Part {
    packages: &'static [&'static str],
    products: &'static [Product],
}

/// The core, built with the profile that was asked for.
const CORE: Part = Part {
    packages: &["oxmpi-capi", "oxmpi-launch", "oxmpi-cli", "oxmpi-wrap"],
    products: &[
        ("libmpi_abi.so", "lib/libmpi_abi.so.1"),
        ("mpirun", "bin/mpirun"),
        ("oxmpi", "bin/oxmpi"),
        ("mpicc", "bin/mpicc"),
    ],
};

/// The libraries over the C functions of libmpi_abi.so.1. Optimising them as a whole gains nothing and takes minutes, so a
/// release builds them with the profile [`LAYER`].
const LAYERS: Part = Part {
    packages: &[
        "oxmpi-fortran",
        "oxmpi-fortran-i8",
        "oxmpi-fortran-mpich",
        "oxmpi-fortran-openmpi",
        "oxmpi-mpich",
        "oxmpi-openmpi",
        "oxmpi-recorder",
        "oxmpi-msgq",
    ],
    products: &[
        ("libmpifort_abi.so", "lib/libmpifort_abi.so.1"),
        ("libmpifort_abi_i8.so", "lib/libmpifort_abi_i8.so.1"),
        ("libmpi_mpich.so", "lib/compat/libmpi.so.12"),
        ("libmpi_openmpi.so", "lib/compat/libmpi.so.40"),
        ("libmpifort_mpich.so", "lib/compat/libmpifort.so.12"),
        ("libmpifort_openmpi.so", "lib/compat/libmpi_mpifh.so.40"),
        ("liboxmpi_recorder.so", "lib/oxmpi/liboxmpi_recorder.so"),
        ("liboxmpi_msgq.so", "lib/oxmpi/liboxmpi_msgq.so"),
    ],
};

/// The profile of [`LAYERS`] in a release.
const LAYER: &str = "layer";

/// A symbolic link in the prefix, and its target relative to the link.
const LINKS: &[(&str, &str)] = &[
    ("lib/libmpi_abi.so", "libmpi_abi.so.1"),
    ("lib/libmpifort_abi.so", "libmpifort_abi.so.1"),
    ("lib/libmpifort_abi_i8.so", "libmpifort_abi_i8.so.1"),
    ("lib/compat/libmpich.so.12", "libmpi.so.12"),
    ("lib/compat/libmpichfort.so.12", "libmpifort.so.12"),
    ("lib/compat/libmpicxx.so.12", "libmpi.so.12"),
    ("lib/compat/libmpichcxx.so.12", "libmpi.so.12"),
    ("lib/compat/libmpi_usempi_ignore_tkr.so.40", "libmpi_mpifh.so.40"),
    ("lib/compat/libmpi_usempif08.so.40", "libmpi_mpifh.so.40"),
    ("lib/compat/libmpi_cxx.so.40", "libmpi.so.40"),
    ("lib/pkgconfig/mpi.pc", "oxmpi.pc"),
    ("bin/mpiexec", "mpirun"),
    ("bin/mpicxx", "mpicc"),
    ("bin/mpic++", "mpicc"),
    ("bin/mpiCC", "mpicc"),
    ("bin/mpifort", "mpicc"),
    ("bin/mpif77", "mpicc"),
    ("bin/mpif90", "mpicc"),
    ("share/doc/oxmpi/examples", "../../oxmpi/examples"),
];

/// For build systems that say `-lmpi`: a script of the linker. No program needs the library by this name.
const USUAL_NAME: &str =
    "/* The library of the standard ABI, by the usual name of an MPI library. */\nINPUT(-lmpi_abi)\n";

/// A file of the repository, and the folder in the prefix that gets it.
const FILES: &[(&str, &str)] = &[
    ("include/mpi.h", "include"),
    ("include/mpi-ext.h", "include"),
    ("crates/oxmpi-msgq/gdb/libmpi_abi.so.1-gdb.py", "lib"),
    ("include/mpicxx.h", "include"),
    ("fortran/generated/mpif.h", "include"),
    ("fortran/generated/mpi.f90", "share/oxmpi/fortran"),
    ("fortran/generated/mpi_f08.f90", "share/oxmpi/fortran"),
];

/// Where the documents go. They keep the paths that they have in the repository, so that the links
/// between them also work in an installation.
const DOCUMENT_FOLDER: &str = "share/doc/oxmpi";

/// The documents outside the pages of the book.
const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "bench/README.md",
    "bench/NOTES.md",
    "docs/book.toml",
];

pub fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = crate::root();
    let layers = if options.profile == "release" { LAYER } else { &options.profile };
    for (part, profile) in [(CORE, options.profile.as_str()), (LAYERS, layers)] {
        build(&root, &part, profile)?;
        let products = target_directory(&root)?.join(if profile == "dev" { "debug" } else { profile });
        for (name, place) in part.products {
            put(&products.join(name), &options.prefix.join(place), 0o755)?;
        }
    }
    for (name, folder) in FILES {
        put(&root.join(name), &options.prefix.join(folder).join(file_name(Path::new(name))?), 0o644)?;
    }
    for header in files_in(&root.join("include/oxmpi/cxx"))? {
        put(&header, &options.prefix.join("include/oxmpi/cxx").join(file_name(&header)?), 0o644)?;
    }
    for (path, text) in documents(&root)? {
        write(&options.prefix.join(DOCUMENT_FOLDER).join(path), &text, 0o644)?;
    }
    for folder in ["examples", "examples/cluster"] {
        for example in files_in(&root.join(folder))? {
            put(&example, &options.prefix.join("share/oxmpi").join(folder).join(file_name(&example)?), 0o644)?;
        }
    }
    write(&options.prefix.join("lib/pkgconfig/oxmpi.pc"), pkg_config().as_bytes(), 0o644)?;
    write(&options.prefix.join("lib/libmpi.so"), USUAL_NAME.as_bytes(), 0o644)?;
    for (link, target) in LINKS {
        put_link(&options.prefix.join(link), target)?;
    }
    let api = crate::api::Api::read(&root.join("api"))?;
    for (name, text) in texts(&api, Integers::Eight) {
        let folder = if name.ends_with(".h") { "include/oxmpi/i8" } else { "share/oxmpi/fortran/i8" };
        write(&options.prefix.join(folder).join(name), text.as_bytes(), 0o644)?;
    }
    for (name, text) in crate::man::pages(&api)? {
        write(&options.prefix.join("share/man/man3").join(name), text.as_bytes(), 0o644)?;
    }
    modules(&options.prefix)?;
    for command in crate::man::COMMANDS {
        let program = options.prefix.join("bin").join(command.name);
        let output = Command::new(&program).arg(command.help).output();
        let help = output.map_err(|error| format!("cannot run {}: {error}", program.display()))?.stdout;
        for (name, text) in crate::man::command_pages(command, &String::from_utf8_lossy(&help)) {
            write(&options.prefix.join("share/man/man1").join(name), text.as_bytes(), 0o644)?;
        }
    }
    println!("OxMPI {} is installed in {}", env!("CARGO_PKG_VERSION"), options.prefix.display());
    Ok(())
}

/// Makes the Fortran modules for the compiler that is found. Without one, everything else works.
fn modules(prefix: &Path) -> Result<(), String> {
    let compiler = Command::new(prefix.join("bin/mpifort")).arg("--showme:command").output();
    let name = compiler.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let program = name.split_whitespace().next().unwrap_or("gfortran");
    if Command::new(program).arg("--version").output().is_err() {
        println!("No Fortran compiler ({name}) is here; when there is one, run {}/bin/oxmpi fortran", prefix.display());
        return Ok(());
    }
    if modules_are_fresh(prefix, program) {
        return Ok(());
    }
    let status = Command::new(prefix.join("bin/oxmpi")).arg("fortran").status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => Err("the Fortran modules could not be made".to_owned()),
    }
}

/// Whether the modules were made after everything that they follow from: their sources, the compiler, what compiles and tries
/// them. The compiler counts from when it came to this machine.
fn modules_are_fresh(prefix: &Path, compiler: &str) -> bool {
    let folder = Command::new(prefix.join("bin/mpifort")).arg("--showme:modules").output();
    let folder = folder.map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())).unwrap_or_default();
    let mut eight = folder.clone().into_os_string();
    eight.push("-i8");
    let made = [folder.join("flags"), PathBuf::from(eight).join("flags")].map(|file| fs::metadata(file).ok());
    let [Some(made), Some(other)] = made else { return false };
    let made = made.mtime().min(other.mtime());
    let inputs = [
        "share/oxmpi/fortran/mpi.f90",
        "share/oxmpi/fortran/mpi_f08.f90",
        "share/oxmpi/fortran/i8/mpi.f90",
        "share/oxmpi/fortran/i8/mpi_f08.f90",
        "lib/libmpifort_abi.so.1",
        "lib/libmpifort_abi_i8.so.1",
        "bin/oxmpi",
    ];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let compiler = std::env::split_paths(&path).map(|folder| folder.join(compiler)).find(|file| file.is_file());
    compiler.and_then(|file| fs::metadata(file).ok()).is_some_and(|file| file.ctime() < made)
        && inputs.iter().all(|name| fs::metadata(prefix.join(name)).is_ok_and(|file| file.mtime() < made))
}

struct Options {
    prefix: PathBuf,
    profile: String,
}

impl Options {
    fn parse(args: &[String]) -> Result<Options, String> {
        let mut prefix = None;
        let mut profile = "release".to_owned();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().cloned().ok_or_else(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--prefix" => prefix = Some(value()?),
                "--profile" => profile = value()?,
                _ => return Err(format!("unknown argument `{arg}`; it takes --prefix P and --profile NAME")),
            }
        }
        let prefix = prefix.ok_or("--prefix P is missing: the folder to install into")?;
        let prefix = std::path::absolute(&prefix).map_err(|error| format!("{prefix}: {error}"))?;
        Ok(Options { prefix, profile })
    }
}

fn build(root: &Path, part: &Part, profile: &str) -> Result<(), String> {
    let packages = part.packages.iter().flat_map(|package| ["--package", package]);
    let mut command = Command::new(cargo());
    command.current_dir(root).args(["build", "--profile", profile]).args(packages);
    let status = command.status().map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() { Ok(()) } else { Err("the build failed".to_owned()) }
}

/// The documents by their paths in the repository. Pages of the book contain the files that they
/// include.
fn documents(root: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>, String> {
    let mut paths: Vec<PathBuf> = DOCUMENTS.iter().map(PathBuf::from).collect();
    let mut folders = vec![PathBuf::from(crate::docs::BOOK)];
    while let Some(folder) = folders.pop() {
        let files = files_in(&root.join(&folder))?;
        paths.extend(files.iter().filter_map(|file| Some(folder.join(file.file_name()?))));
        let entries = fs::read_dir(root.join(&folder)).map_err(|error| format!("cannot read {folder:?}: {error}"))?;
        let inner = entries.flatten().filter(|entry| entry.path().is_dir());
        folders.extend(inner.map(|entry| folder.join(entry.file_name())));
    }
    let read = |path: PathBuf| {
        let is_page = path.starts_with(crate::docs::BOOK) && path.extension().is_some_and(|end| end == "md");
        let bytes = match is_page {
            true => crate::docs::included(&path)?.into_bytes(),
            false => fs::read(root.join(&path)).map_err(|error| format!("cannot read {}: {error}", path.display()))?,
        };
        Ok((path, bytes))
    };
    paths.into_iter().map(read).collect()
}

/// Where cargo puts its products, whatever the environment and configuration files say.
pub fn target_directory(root: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new(cargo());
    command.current_dir(root).args(["metadata", "--format-version", "1", "--no-deps", "--offline"]);
    let output = command.output().map_err(|error| format!("cannot run cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let key = "\"target_directory\":\"";
    let value = text.split_once(key).and_then(|(_, rest)| rest.split_once('"')).map(|(value, _)| value);
    value.map(PathBuf::from).ok_or_else(|| {
        format!("cargo metadata does not say where the products are: {}", String::from_utf8_lossy(&output.stderr))
    })
}

fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// `pcfiledir` is the folder of the file itself, so the prefix can be moved.
fn pkg_config() -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         includedir=${{prefix}}/include\n\
         libdir=${{prefix}}/lib\n\
         \n\
         Name: OxMPI\n\
         Description: The Message Passing Interface, MPI-5.0, with the standard ABI\n\
         Version: {}\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -Wl,-rpath,${{libdir}} -lmpi_abi\n",
        env!("CARGO_PKG_VERSION")
    )
}

pub fn put(from: &Path, to: &Path, mode: u32) -> Result<(), String> {
    let bytes = fs::read(from).map_err(|error| format!("cannot read {}: {error}", from.display()))?;
    write(to, &bytes, mode)
}

/// A file that is the same already keeps its time, so that programs compiled with it stay fresh.
fn write(to: &Path, bytes: &[u8], mode: u32) -> Result<(), String> {
    let is_same = || {
        let old =
            fs::symlink_metadata(to).ok().filter(|old| old.is_file() && old.permissions().mode() & 0o7777 == mode);
        old.is_some_and(|old| old.len() == bytes.len() as u64) && fs::read(to).is_ok_and(|old| old == bytes)
    };
    if is_same() {
        return Ok(());
    }
    replace(to, |new| {
        fs::write(new, bytes)?;
        fs::set_permissions(new, fs::Permissions::from_mode(mode))
    })
}

pub fn put_link(link: &Path, target: &str) -> Result<(), String> {
    replace(link, |new| symlink(target, new))
}

/// Writes the file under a temporary name, then renames it over the old one.
fn replace(to: &Path, make: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<(), String> {
    let steps = || {
        fs::create_dir_all(to.parent().unwrap_or(to))?;
        let new = to.with_file_name(format!(".new-{}", std::process::id()));
        let _ = fs::remove_file(&new);
        make(&new).and_then(|()| fs::rename(&new, to)).inspect_err(|_| {
            let _ = fs::remove_file(&new);
        })
    };
    steps().map_err(|error| format!("cannot write {}: {error}", to.display()))
}

fn file_name(path: &Path) -> Result<&std::ffi::OsStr, String> {
    path.file_name().ok_or_else(|| format!("{} is not a file", path.display()))
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::docs::relative;
    use crate::docs_text::Page;
    use std::collections::BTreeSet;

    #[test]
    fn links_of_installed_documents_lead_to_installed_files() {
        let documents = documents(&crate::root()).unwrap();
        let links = LINKS.iter().filter_map(|(link, _)| Path::new(link).strip_prefix(DOCUMENT_FOLDER).ok());
        let installed: BTreeSet<&Path> = documents.iter().map(|(path, _)| path.as_path()).chain(links).collect();
        for (path, text) in documents.iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "md")) {
            let text = String::from_utf8(text.clone()).unwrap();
            assert!(!text.contains("{{#include"), "{}", path.display());
            for link in Page::parse(&text).links {
                let file = link.target.split('#').next().unwrap_or_default();
                let is_local = !file.is_empty() && !file.contains("://") && !file.starts_with("mailto:");
                let target = relative(path, file);
                assert!(!is_local || installed.contains(target.as_path()), "{}: {file}", path.display());
            }
        }
    }

    #[test]
    fn a_file_that_is_the_same_keeps_its_time() {
        let folder = std::env::temp_dir().join(format!("xtask-install-{}", std::process::id()));
        let file = folder.join("file");
        let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        let changed_by = |bytes: &[u8], mode: u32| {
            write(&file, b"some bytes", 0o644).expect("it can be written");
            fs::File::options().write(true).open(&file).and_then(|file| file.set_modified(long_ago)).expect("a time");
            write(&file, bytes, mode).expect("it can be written");
            let new = fs::metadata(&file).expect("it is there");
            assert_eq!((fs::read(&file).expect("bytes"), new.permissions().mode() & 0o7777), (bytes.to_vec(), mode));
            new.modified().expect("a time") != long_ago
        };
        assert!(!changed_by(b"some bytes", 0o644));
        assert!(changed_by(b"some bytes", 0o755));
        assert!(changed_by(b"other ones", 0o644));
        fs::remove_dir_all(&folder).expect("it can be removed");
    }
}
