//! Finds the program before any rank is started, so that a wrong name gives one message instead of
//! one from each rank.

use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::options::Block;
use crate::sys;

/// Why a program cannot be run, and the exit status for it, as a shell has it.
#[derive(Debug, PartialEq, Eq)]
pub struct Unrunnable {
    pub text: String,
    pub status: i32,
}

/// The path to run: absolute, or relative to the block's working directory.
pub fn find(block: &Block) -> Result<PathBuf, Unrunnable> {
    let name = Path::new(&block.program);
    let wdir = block.wdir.as_deref().unwrap_or(Path::new(""));
    if let Some(dir) = &block.wdir
        && !dir.is_dir()
    {
        let text = format!("the working directory {} does not exist or is no directory", dir.display());
        return Err(Unrunnable { text, status: 1 });
    }
    let candidates = if block.program.as_bytes().contains(&b'/') {
        // A path is relative to the working directory of the program, or else to that of `mpirun`.
        vec![wdir.join(name), absolute(name)]
    } else {
        let path = search_path(block);
        let mut dirs: Vec<PathBuf> = env::split_paths(&path).map(|dir| wdir.join(dir)).collect();
        dirs.push(wdir.join("."));
        dirs.into_iter().map(|dir| dir.join(name)).collect()
    };
    let mut unfit = None;
    for candidate in candidates {
        match fitness(&candidate) {
            // `wdir` is relative to the directory of `mpirun`, but the child has already changed to
            // it when it runs the program.
            Fitness::Runs => return Ok(if block.wdir.is_some() { absolute(&candidate) } else { candidate }),
            Fitness::Absent => {}
            fitness => unfit = unfit.or(Some((candidate, fitness))),
        }
    }
    Err(complaint(name, unfit))
}

fn search_path(block: &Block) -> OsString {
    let mut path = block.path.clone().unwrap_or_default();
    if let Some(rest) = env::var_os("PATH") {
        if !path.is_empty() {
            path.push(":");
        }
        path.push(rest);
    }
    path
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fitness {
    Runs,
    Absent,
    Directory,
    NotExecutable,
}

fn fitness(path: &Path) -> Fitness {
    let Ok(found) = path.metadata() else { return Fitness::Absent };
    if found.is_dir() {
        return Fitness::Directory;
    }
    match CString::new(path.as_os_str().as_bytes()) {
        Ok(path) if sys::may_execute(&path) => Fitness::Runs,
        _ => Fitness::NotExecutable,
    }
}

fn complaint(name: &Path, unfit: Option<(PathBuf, Fitness)>) -> Unrunnable {
    let shown = name.display();
    let Some((path, fitness)) = unfit else {
        let is_path = name.as_os_str().as_bytes().contains(&b'/');
        let place =
            if is_path { "there is no such file" } else { "it is neither in PATH nor in the working directory" };
        return Unrunnable {
            text: format!("cannot find the program `{shown}`: {place}{}", similar(name)),
            status: 127,
        };
    };
    let path = path.display();
    let text = match fitness {
        Fitness::Directory => format!("cannot run `{shown}`: {path} is a directory"),
        _ => {
            let hint = match name.extension().and_then(OsStr::to_str) {
                Some("py") => format!("; did you mean `python3 {shown}`?"),
                Some("c" | "cc" | "cpp" | "f90" | "rs") => "; it is a source file: compile it first".into(),
                _ => format!("; make it executable with `chmod +x {path}`"),
            };
            format!("cannot run `{shown}`: {path} is not executable{hint}")
        }
    };
    Unrunnable { text, status: 126 }
}

/// Suggests a program of the same name in this directory.
fn similar(name: &Path) -> String {
    let Some(file) = name.file_name() else { return String::new() };
    let here = Path::new(".").join(file);
    if here != name && fitness(&here) == Fitness::Runs {
        format!("; did you mean `{}`?", here.display())
    } else {
        String::new()
    }
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn block(program: &str, wdir: Option<&Path>) -> Block {
        Block { program: program.into(), wdir: wdir.map(PathBuf::from), ..Block::default() }
    }

    #[test]
    fn where_programs_are_found() {
        let dir = env::temp_dir().join(format!("oxmpi-program-{}", std::process::id()));
        fs::create_dir_all(dir.join("sub")).unwrap();
        let file = |name: &str, mode| {
            fs::write(dir.join(name), "#!/bin/sh\n").unwrap();
            fs::set_permissions(dir.join(name), fs::Permissions::from_mode(mode)).unwrap();
        };
        file("tool", 0o755);
        file("plain.txt", 0o644);
        file("script.py", 0o644);
        assert!(find(&block("sh", None)).unwrap().is_absolute());
        assert_eq!(find(&block("./tool", Some(&dir))).unwrap(), dir.join("./tool"));
        assert_eq!(find(&block("tool", Some(&dir))).unwrap(), dir.join("./tool"));
        let with_path = Block { path: Some(dir.clone().into()), ..block("tool", None) };
        assert_eq!(find(&with_path).unwrap(), dir.join("tool"));

        let missing = find(&block("no-such-tool", None)).unwrap_err();
        assert!(missing.status == 127 && missing.text.contains("`no-such-tool`"), "{missing:?}");
        let missing = find(&block("./no-such-tool", None)).unwrap_err();
        assert!(missing.status == 127 && missing.text.contains("no such file"), "{missing:?}");
        let plain = find(&block("./plain.txt", Some(&dir))).unwrap_err();
        assert!(plain.status == 126 && plain.text.contains("chmod +x"), "{plain:?}");
        assert!(find(&block("./script.py", Some(&dir))).unwrap_err().text.contains("python3 ./script.py"));
        assert!(find(&block("./sub", Some(&dir))).unwrap_err().text.contains("directory"));
        let nowhere = find(&block("sh", Some(Path::new("/nonexistent")))).unwrap_err();
        assert!(nowhere.text.contains("/nonexistent"));
        fs::remove_dir_all(&dir).unwrap();
    }
}
