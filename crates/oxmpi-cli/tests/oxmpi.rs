//! Tests of the command `oxmpi` as users see it.

use std::process::{Command, Output};

fn oxmpi(arguments: &[&str]) -> (String, String, Option<i32>) {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_oxmpi")).args(arguments).output().unwrap();
    (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap(), status.code())
}

#[test]
fn info_counts_the_whole_standard() {
    let (out, err, status) = oxmpi(&["info"]);
    assert_eq!((err.as_str(), status), ("", Some(0)));
    assert!(out.contains("Point-to-point") && out.contains("of 664"), "{out}");
    let (missing, _, status) = oxmpi(&["info", "--missing"]);
    assert_eq!(status, Some(0));
    assert!(missing.lines().all(|line| line.starts_with("MPI")), "{missing}");
}

#[test]
fn doctor_tries_what_ranks_do() {
    let (out, err, _) = oxmpi(&["doctor"]);
    assert_eq!(err, "");
    for check in ["CPUs: ", "Single copy: ", "Shared memory: ", "Clean-up: ", "Installation: "] {
        assert!(out.contains(check), "{check} in {out}");
    }
    // The two processes ran: either the word was read, or the kernel said why not.
    assert!(out.contains("copied once") || out.contains("process_vm_readv: "), "{out}");
    assert!(!out.contains("sent no address") && !out.contains("with a wrong value"), "{out}");
}

#[test]
fn mistakes_are_named() {
    let (_, err, status) = oxmpi(&["inof"]);
    assert!(status == Some(2) && err.contains("`inof`"), "{err}");
    let (_, err, status) = oxmpi(&["info", "--mising"]);
    assert!(status == Some(2) && err.contains("`--mising`"), "{err}");
    assert_eq!(oxmpi(&[]).2, Some(2));
    assert!(oxmpi(&["--help"]).0.contains("oxmpi doctor"));
    assert!(oxmpi(&["--version"]).0.starts_with("oxmpi (OxMPI) "));
}
