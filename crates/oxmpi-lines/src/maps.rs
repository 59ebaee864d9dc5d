//! Which file of a process an address lies in: `/proc/PID/maps`.

use std::fs;
use std::os::unix::fs::MetadataExt;

/// A file that a process has mapped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct File {
    pub path: String,
    pub inode: u64,
    /// It was removed, or another one has its name.
    pub is_deleted: bool,
}

#[derive(Debug)]
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    file: File,
}

/// The files of a process, by address.
#[derive(Debug)]
pub struct Map {
    mappings: Vec<Mapping>,
    /// The inode of the program.
    program: Option<u64>,
    program_path: Option<String>,
}

/// A process with more mappings is not looked at.
const MOST: usize = 200_000;

impl Map {
    pub fn of(pid: u32) -> Option<Map> {
        // The program first: a process that ends meanwhile has no mappings either.
        let exe = format!("/proc/{pid}/exe");
        let program_path = fs::read_link(&exe).ok().map(|path| path.to_string_lossy().into_owned());
        let program = fs::metadata(exe).ok().map(|found| found.ino());
        let text = fs::read(format!("/proc/{pid}/maps")).ok()?;
        let mappings: Vec<Mapping> = String::from_utf8_lossy(&text).lines().take(MOST).filter_map(mapping).collect();
        Some(Map { mappings, program, program_path })
    }

    /// The file that an address lies in, and the position there.
    pub fn find(&self, address: u64) -> Option<(&File, u64)> {
        let found = self.mappings.iter().find(|mapping| (mapping.start..mapping.end).contains(&address))?;
        Some((&found.file, address - found.start + found.offset))
    }

    /// Whether a file is the program of the process.
    pub fn is_program(&self, file: &File) -> bool {
        self.program == Some(file.inode) || self.program_path.as_deref() == Some(&file.path)
    }
}

/// A line such as `7f2c5e000000-7f2c5e021000 r-xp 00001000 08:01 1234   /usr/lib/libm.so.6`.
fn mapping(line: &str) -> Option<Mapping> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let mut words = rest.splitn(5, ' ');
    let (_rights, offset, _device, inode) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let path = words.next()?.trim_start();
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let inode = inode.parse().ok()?;
    if !path.starts_with('/') {
        return None;
    }
    let (path, is_deleted) = path.strip_suffix(" (deleted)").map_or((path, false), |path| (path, true));
    let file = File { path: path.replace("\\012", "\n"), inode, is_deleted };
    Some(Mapping { start: hex(start)?, end: hex(end)?, offset: hex(offset)?, file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel() {
        let one = mapping("55d0a0001000-55d0a0002000 r-xp 00001000 08:01 77                  /tmp/a b").unwrap();
        assert_eq!((one.start, one.end, one.offset), (0x55d0_a000_1000, 0x55d0_a000_2000, 0x1000));
        assert_eq!(one.file, File { path: "/tmp/a b".into(), inode: 77, is_deleted: false });
        let gone = mapping("1000-2000 r-xp 00000000 08:01 9    /tmp/prog (deleted)").unwrap().file;
        assert_eq!((gone.path.as_str(), gone.is_deleted), ("/tmp/prog", true));
        assert!(mapping("1000-2000 rw-p 00000000 00:00 0 ").is_none());
        assert!(mapping("1000-2000 rw-p 00000000 00:00 0    [heap]").is_none());
        assert!(mapping("nonsense").is_none() && mapping("").is_none() && mapping("x-y a b c d e").is_none());
    }

    #[test]
    fn this_process() {
        let map = Map::of(std::process::id()).unwrap();
        let here = lines_of_the_kernel as fn() as usize as u64;
        let (file, _) = map.find(here).unwrap();
        assert!(map.is_program(file), "{file:?}");
        assert_eq!(map.find(0), None);
        assert!(Map::of(u32::MAX).is_none());
    }
}
