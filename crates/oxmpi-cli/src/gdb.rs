//! `oxmpi gdb JOB RANK`: attaches gdb to a rank that runs.

use crate::jobs;
use oxmpi_boot::gdb;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Becomes gdb. Returns only if that cannot be.
pub fn attach(job: &str, rank: &str) -> (String, i32) {
    let pid = match jobs::process_of(job, rank) {
        Ok(pid) => pid,
        Err(failure) => return failure,
    };
    let error = Command::new(gdb::PROGRAM).args(gdb::options(rank)).args(["-p", &pid.to_string()]).exec();
    match error.kind() {
        io::ErrorKind::NotFound => ("oxmpi gdb: gdb is not installed, or not in a folder of PATH\n".into(), 127),
        _ => (format!("oxmpi gdb: cannot run gdb: {error}\n"), 126),
    }
}
