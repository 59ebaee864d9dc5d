//! The `mpirun` of a spawned job, and the helper of a process that has no `mpirun`. Both are started as orphans
//! (`oxmpi_base::orphan`), and speak with this process over a socket.

use oxmpi_abi::constants::{MPI_ERR_OTHER, MPI_ERR_SPAWN};
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::address::JobId;
use oxmpi_base::orphan::{self, run};
use oxmpi_base::socket::seqpacket_pair;
use oxmpi_boot::helper;
use oxmpi_boot::spawned::{Kind, LONGEST, OPTION, Report, TAKEN};
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The `mpirun` of a spawned job, until its job is taken; if dropped before, the job is abandoned.
pub struct Child {
    line: OwnedFd,
    started: usize,
}

impl Child {
    pub fn start(port: &str, kind: Kind, words: &[Vec<u8>]) -> Result<Child> {
        let mpirun = find_mpirun()?;
        let cannot = |what: &str, error: io::Error| Error::new(MPI_ERR_SPAWN, format!("cannot {what}: {error}"));
        let (line, far) = seqpacket_pair().map_err(|error| cannot("make a socket", error))?;
        let nothing = File::open("/dev/null").map_err(|error| cannot("open /dev/null", error))?;
        let number = far.as_raw_fd().to_string();
        let head = [mpirun.as_os_str().as_bytes(), OPTION.as_bytes(), number.as_bytes(), port.as_bytes()];
        let words = head.into_iter().chain([kind.word().as_bytes()]).chain(words.iter().map(Vec::as_slice));
        let arguments: Vec<CString> = words.map(CString::new).collect::<Result<_, _>>().unwrap_or_default();
        let Some(path) = arguments.first() else { bail!(MPI_ERR_SPAWN, "an argument holds a NUL character") };
        run(path, &arguments, nothing.as_raw_fd(), far.as_raw_fd())
            .map_err(|error| cannot(&format!("start {}", mpirun.display()), error))?;
        Ok(Child { line, started: 0 })
    }

    /// An error when the job will not start.
    pub fn check(&mut self) -> Result<()> {
        let mut packet = vec![0u8; LONGEST];
        // SAFETY: the kernel writes at most as many bytes as there is room for.
        let got =
            unsafe { libc::recv(self.line.as_raw_fd(), packet.as_mut_ptr().cast(), packet.len(), libc::MSG_DONTWAIT) };
        match got {
            0 => bail!(MPI_ERR_SPAWN, "the mpirun that was started for the new processes has ended without a report"),
            // No message yet, so nothing is wrong.
            ..0 => Ok(()),
            got => {
                let report = Report::read(&packet[..got as usize]);
                let Report { started, text } = report.unwrap_or(Report { started: 0, text: "no reason given".into() });
                self.started = started;
                bail!(MPI_ERR_SPAWN, "{text}");
            }
        }
    }

    /// How many processes could be started, if the job failed.
    pub fn started(&self) -> usize {
        self.started
    }

    /// Tells `mpirun` that the job is connected to this process.
    pub fn take(&self) {
        // SAFETY: the kernel reads the given number of bytes. If nobody receives it, the job has
        // ended, which will be noticed.
        unsafe { libc::send(self.line.as_raw_fd(), TAKEN.as_ptr().cast(), TAKEN.len(), libc::MSG_NOSIGNAL) };
    }
}

/// Starts a helper for this process, which has no `mpirun` and is its job alone; returns the socket to it.
pub fn start_helper(job: JobId) -> Result<OwnedFd> {
    let mpirun = find_mpirun()?;
    let cannot =
        |error: io::Error| Error::new(MPI_ERR_OTHER, format!("cannot start {} as a helper: {error}", mpirun.display()));
    let (near, far) = seqpacket_pair().map_err(cannot)?;
    let nothing = File::open("/dev/null").map_err(cannot)?;
    let number = far.as_raw_fd().to_string();
    let segment = helper::name_segment(&job);
    let words = [mpirun.as_os_str().as_bytes(), helper::OPTION.as_bytes(), number.as_bytes(), segment.as_bytes()];
    let arguments: Vec<CString> = words.into_iter().map(CString::new).collect::<Result<_, _>>().unwrap_or_default();
    let Some(path) = arguments.first() else { bail!(MPI_ERR_OTHER, "the path of mpirun holds a NUL character") };
    run(path, &arguments, nothing.as_raw_fd(), far.as_raw_fd()).map_err(cannot)?;
    Ok(near)
}

fn find_mpirun() -> Result<PathBuf> {
    let job = oxmpi_base::trust::text(oxmpi_boot::env::JOB);
    let near = job.and_then(|job| job.split(':').next()?.parse().ok());
    orphan::find_mpirun(near).map_err(|text| Error::new(MPI_ERR_SPAWN, text))
}
