//! What a user can do about a host whose agent does not start, from what the launcher and the login shell there have
//! said. Guesses are added to their words and never replace them.

use std::path::Path;

/// How a launcher ended before there was an agent.
pub struct Attempt<'a> {
    pub host: &'a str,
    /// Its exit status, if it has ended by itself.
    pub status: Option<i32>,
    /// What it wrote to its stdout and stderr.
    pub said: &'a str,
    /// The program that it was to start.
    pub agent: &'a Path,
}

/// Advice, as a sentence; `None` where the words speak for themselves.
pub fn advice(attempt: &Attempt<'_>) -> Option<String> {
    let Attempt { host, status, said, agent } = attempt;
    let said = said.to_ascii_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
    let program = agent.display();
    let path_is_named = said.contains(&program.to_string().to_ascii_lowercase());
    Some(if has(&["could not resolve", "name or service not known", "unknown host", "nodename nor servname"]) {
        format!("the name {host} is unknown here; check its spelling, /etc/hosts or the name service")
    } else if has(&["host key verification failed", "remote host identification has changed"]) {
        format!("the key of the host is not the known one; `ssh {host}` shows it and asks")
    } else if has(&["permission denied (", "too many authentication failures", "no supported authentication"]) {
        format!(
            "ssh needs a login without a password there: `ssh-copy-id {host}` sets it up, `ssh {host} true` tests it"
        )
    } else if has(&["connection refused"]) {
        format!("{host} runs no ssh server on this port, or a firewall refuses it")
    } else if has(&["connection timed out", "operation timed out", "no route to host", "network is unreachable"]) {
        format!("{host} is switched off, or a firewall or a missing route keeps it from here")
    } else if *status == Some(126)
        || path_is_named && has(&["permission denied", "cannot execute", "exec format error"])
    {
        format!(
            "{program} cannot be executed there: it may be for another kind of machine, or on a file system without execution"
        )
    } else if *status == Some(127) || path_is_named && has(&["no such file", "not found", "unknown command"]) {
        format!(
            "OxMPI is not in {program} there: install it in the same folder on all hosts, or say with --prefix DIR where it is"
        )
    } else if has(&["libc.so", "glibc", "error while loading shared libraries"]) {
        "the system there lacks a library, or has an older one than the system where OxMPI was built".into()
    } else {
        return None;
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice_for(status: Option<i32>, said: &str) -> String {
        let agent = Path::new("/opt/oxmpi/bin/mpirun");
        advice(&Attempt { host: "far", status, said, agent }).unwrap_or_default()
    }

    /// The words of OpenSSH 9, bash, dash, tcsh and fish.
    #[test]
    fn what_launchers_say() {
        for (status, said, part) in [
            (255, "ssh: Could not resolve hostname far: Name or service not known", "unknown here"),
            (255, "root@far: Permission denied (publickey,password).", "ssh-copy-id far"),
            (255, "ssh: connect to host far port 22: Connection refused", "no ssh server"),
            (255, "ssh: connect to host far port 22: Connection timed out", "switched off"),
            (255, "ssh: connect to host far port 22: No route to host", "switched off"),
            (
                255,
                "No ED25519 host key is known for far and you have requested strict checking.\nHost key verification failed.",
                "asks",
            ),
            (127, "bash: line 1: /opt/oxmpi/bin/mpirun: No such file or directory", "--prefix"),
            (1, "/opt/oxmpi/bin/mpirun: Command not found.", "--prefix"),
            (127, "fish: Unknown command: /opt/oxmpi/bin/mpirun", "--prefix"),
            (126, "bash: line 1: /opt/oxmpi/bin/mpirun: Permission denied", "cannot be executed"),
            (126, "sh: 1: /opt/oxmpi/bin/mpirun: Exec format error", "another kind of machine"),
            (1, "mpirun: /lib/libc.so.6: version `GLIBC_2.38' not found", "older"),
        ] {
            let advice = advice_for(Some(status), said);
            assert!(advice.contains(part), "{said}: {advice}");
        }
        assert_eq!(advice_for(Some(1), "something else"), "");
        assert_eq!(advice_for(None, ""), "");
    }
}
