//! Keeps track of the jobs that ranks spawn (`MPI_Comm_spawn`). Each has its own `mpirun`, whose
//! parent process ends at once, so that it becomes a child of this `mpirun` (the subreaper of its
//! descendants). It announces itself through the mailbox, a pipe, and reports there if its job
//! fails while it is connected to the ranks here.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use oxmpi_base::lifeline;
use oxmpi_base::pid as process;
use oxmpi_boot::env;
use oxmpi_boot::spawned::{LONGEST, Message};

use crate::options::Settings;
use crate::strays;
use crate::sys::{self, Pid};

pub struct Mailbox {
    read: OwnedFd,
    /// Other processes open it through `/proc`. While it is open here, the pipe does not end.
    write: OwnedFd,
    unread: Vec<u8>,
    jobs: Vec<Pid>,
}

impl Mailbox {
    pub fn open() -> io::Result<Mailbox> {
        let (read, write) = sys::pipe()?;
        sys::set_nonblocking(&read)?;
        Ok(Mailbox { read, write, unread: Vec::new(), jobs: Vec::new() })
    }

    /// The description of the mailbox for the environment of the ranks.
    pub fn describe(&self, settings: &Settings) -> io::Result<env::Mailbox> {
        let inode = lifeline::inode(self.write.as_fd())?;
        Ok(env::Mailbox { fd: self.write.as_raw_fd(), inode, options: settings.handed_down() })
    }

    pub fn as_raw_fd(&self) -> RawFd {
        self.read.as_raw_fd()
    }

    /// Reads the mailbox. Registers new jobs and returns the other messages.
    pub fn hear(&mut self) -> Vec<Message> {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = sys::read(self.read.as_raw_fd(), &mut buffer) {
            self.unread.extend_from_slice(&buffer[..n]);
        }
        if self.unread.len() > LONGEST && !self.unread.contains(&b'\n') {
            self.unread.clear();
        }
        let mut heard = Vec::new();
        while let Some(end) = self.unread.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            match Message::read(&line[..end]) {
                // Every rank can write here, so announcements of processes that are not descendants
                // are ignored.
                Some(Message::Here(pid)) => {
                    let pid = process::Pid::new(pid)
                        .map(process::Pid::get)
                        .filter(|&pid| strays::is_descendant(pid) && !self.jobs.contains(&pid));
                    self.jobs.extend(pid);
                }
                Some(message) => heard.push(message),
                None => {}
            }
        }
        heard
    }

    /// The `mpirun` processes of the spawned jobs that have not ended.
    pub fn jobs(&self) -> &[Pid] {
        &self.jobs
    }

    /// Removes an ended process. Returns whether it was the `mpirun` of a spawned job.
    pub fn ended(&mut self, pid: Pid) -> bool {
        let before = self.jobs.len();
        self.jobs.retain(|&job| job != pid);
        self.jobs.len() < before
    }

    /// Sends a signal to the `mpirun`s of all spawned jobs, which forward it to their ranks.
    pub fn signal(&self, signal: i32) {
        for &job in &self.jobs {
            sys::kill(job, signal);
        }
    }
}
