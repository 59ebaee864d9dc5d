//! `--stage-in`: copies the program to hosts that lack it, and with `--stage-in all` the installation of OxMPI too. The
//! copies have the paths of the originals and stay there. What a host has already is not compared or changed.
//!
//! It needs nothing on the other host but a shell and `tar`: it goes through the launcher's command, before any agent.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::hosts::{self, Host};
use crate::launcher;
use crate::options::{Cluster, Request, StageIn};
use crate::order;
use crate::start::Refusal;

/// Hosts that are served at the same time.
const MOST: usize = 16;
/// What the script of the other host says when it needs a copy.
const NEED: &str = "OXMPI-NEEDS-IT";
/// Unpacks an archive in a folder unless a file is there. It has no apostrophes, because it stands between them. A copy that
/// was cut off leaves no file under the name that counts.
const SCRIPT: &str =
    "if test -e \"$2\"; then exit 0; fi; mkdir -p \"$1\" && cd \"$1\" && echo OXMPI-NEEDS-IT && tar -xf -";

/// Copies what hosts lack.
pub fn stage_in(request: &Request, cluster: &Cluster) -> Result<(), Refusal> {
    let wrong = |text: String| Refusal { text, status: 2 };
    let order = launcher::plan(cluster).map_err(wrong)?;
    let mut files = Vec::new();
    if cluster.stage_in == StageIn::All {
        let agent = PathBuf::from(OsString::from_vec(order.agent.clone()));
        match agent.parent().and_then(Path::parent) {
            // The agent is what a host lacks if it lacks the installation.
            Some(prefix) => files.push((prefix.to_path_buf(), PathBuf::from("."), agent.clone())),
            None => return Err(wrong(format!("{} is in no installation", agent.display()))),
        }
    }
    for block in &request.blocks {
        let path = order::program_here(block)?;
        match (path.parent(), path.file_name()) {
            (Some(folder), Some(name)) => files.push((folder.to_path_buf(), PathBuf::from(name), path.clone())),
            _ => return Err(wrong(format!("{} is no program", path.display()))),
        }
    }
    let elsewhere: Vec<&Host> = cluster.hosts.iter().filter(|host| !hosts::is_here(&host.name)).collect();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..elsewhere.len().min(MOST) {
            scope.spawn(|| {
                while let Some(host) = elsewhere.get(next.fetch_add(1, Relaxed)) {
                    for (folder, name, file) in &files {
                        if let Err(text) = copy(&order.command, &host.name, folder, name, file)
                            && let Ok(mut failures) = failures.lock()
                        {
                            failures.push(format!("cannot copy {} to host {}: {text}", file.display(), host.name));
                        }
                    }
                }
            });
        }
    });
    match failures.into_inner().unwrap_or_default().first() {
        Some(text) => Err(Refusal { text: text.clone(), status: 1 }),
        None => Ok(()),
    }
}

/// Copies `name` in `folder` to a host that has no `file`.
fn copy(command: &[String], host: &str, folder: &Path, name: &Path, file: &Path) -> Result<(), String> {
    let Some((program, words)) = command.split_first() else { return Ok(()) };
    let mut text = b"exec sh -c ".to_vec();
    for word in [SCRIPT.as_bytes(), b"sh", folder.as_os_str().as_bytes(), file.as_os_str().as_bytes()] {
        launcher::quote(&mut text, word);
        text.push(b' ');
    }
    let mut there = launcher::remote(program, words, host, &text);
    there.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut there = there.spawn().map_err(|error| format!("cannot start `{program}`: {error}"))?;
    let input = there.stdin.take();
    let mut answer = BufReader::new(there.stdout.take().ok_or("a pipe is missing")?);
    let mut line = Vec::new();
    // A start file of the shell may print before.
    while answer.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
        if line.trim_ascii_end().ends_with(NEED.as_bytes()) {
            let input = input.ok_or("a pipe is missing")?;
            let packed = Command::new("tar")
                .arg("-C")
                .arg(folder)
                .arg("-cf")
                .arg("-")
                .arg("--")
                .arg(name)
                .stdout(input)
                .status();
            match packed {
                Ok(status) if status.success() => {}
                Ok(status) => return Err(format!("tar ended with {status}")),
                Err(error) => return Err(format!("cannot start `tar`: {error}")),
            }
            break;
        }
        line.clear();
    }
    let _ = io::copy(&mut answer, &mut io::sink());
    let mut said = String::new();
    if let Some(mut stderr) = there.stderr.take() {
        let _ = stderr.read_to_string(&mut said);
    }
    match there.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{status}: {}", crate::report::printable(said.trim()))),
        Err(error) => Err(error.to_string()),
    }
}
