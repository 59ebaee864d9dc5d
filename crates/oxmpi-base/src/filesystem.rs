//! What the kernel says about the file system of a file.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// How a file system shares its files between hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// Other hosts do not see its files.
    Local,
    /// All hosts see the same bytes at all times.
    Coherent,
    /// Hosts keep copies of what they have read and written: what one has written is on the server
    /// after a synchronisation, and another one sees it when it locks or opens the file.
    Cached,
}

/// Numbers of file systems in `statfs`, from the kernel's headers and the documents of those outside
/// the kernel.
const COHERENT: [u32; 7] = [
    0x0bd0_0bd0, // Lustre
    0x4750_4653, // GPFS
    0x1983_0326, // BeeGFS
    0x00c3_6400, // Ceph
    0x2003_0528, // OrangeFS
    0x0116_1970, // GFS2
    0x7461_636f, // OCFS2
];
const CACHED: [u32; 8] = [
    0x6969,      // NFS
    0x517b,      // SMB
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB 2
    0x6573_5546, // FUSE
    0x0102_1997, // 9P
    0x5346_414f, // AFS
    0x7375_7245, // Coda
];

/// How the file system of an open file shares it.
pub fn sharing(file: &File) -> io::Result<Sharing> {
    // SAFETY: `statfs` is a structure of integers, for which zero is valid.
    let mut about: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and `about` is alive and of the kernel's type.
    if unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut about) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(sharing_of(about.f_type as u32))
}

fn sharing_of(number: u32) -> Sharing {
    if COHERENT.contains(&number) {
        Sharing::Coherent
    } else if CACHED.contains(&number) {
        Sharing::Cached
    } else {
        Sharing::Local
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_systems_are_told_apart() {
        assert_eq!(sharing_of(libc::NFS_SUPER_MAGIC as u32), Sharing::Cached);
        assert_eq!(sharing_of(0x0bd0_0bd0), Sharing::Coherent);
        for number in [libc::EXT4_SUPER_MAGIC, libc::TMPFS_MAGIC, libc::XFS_SUPER_MAGIC] {
            assert_eq!(sharing_of(number as u32), Sharing::Local);
        }
        let proc = File::open("/proc/self/status").unwrap();
        assert_eq!(sharing(&proc).unwrap(), Sharing::Local);
    }
}
