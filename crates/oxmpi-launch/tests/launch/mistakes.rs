//! The messages of `mpirun` about wrong command lines and low limits.

use std::process::{Command, Stdio};

use crate::support::{mpirun, run};

#[track_caller]
fn refuses(line: &str, status: i32, words: &[&str]) {
    let done = mpirun(line);
    assert_eq!((done.status, done.stdout.as_str()), (status, ""), "{line}: {}", done.stderr);
    assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    for word in words {
        assert!(done.stderr.contains(word), "{line}: no `{word}` in: {}", done.stderr);
    }
}

#[test]
fn limits_are_named_and_small_ones_do() {
    let limited = |limit: &str, line: &str| {
        let shell = format!("ulimit {limit}; exec \"$0\" {line}");
        run(Command::new("sh")
            .args(["-c", &shell, env!("CARGO_BIN_EXE_mpirun")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped()))
    };
    // `mpirun` prefers high descriptor numbers, but must not need them.
    assert_eq!(limited("-n 50", "-n 4 echo x").clean().lines().len(), 4);
    assert_eq!(limited("-n 64", "-n 16 echo x").clean().lines().len(), 16);
    for (limit, line, name) in
        [("-n 64", "-n 200 echo x", "`ulimit -n` allows 64 open files"), ("-f 1024", "-n 2 echo x", "`ulimit -f`")]
    {
        let done = limited(limit, line);
        assert_eq!(done.status, 1, "{}", done.stderr);
        assert!(done.stderr.contains(name) && done.stderr.contains("oxmpi doctor"), "{}", done.stderr);
    }
    // The rank must not inherit how `mpirun` handles the signal of that limit.
    let done = limited("-n 1000", "-n 1 sh -c 'kill -XFSZ $$'");
    assert_eq!(done.status, 128 + libc::SIGXFSZ);
}

#[test]
fn on_the_command_line() {
    refuses("--bnid-to core echo x", 2, &["mpirun: ", "`--bnid-to`", "did you mean `--bind-to`"]);
    refuses("-hostflie x echo x", 2, &["`-hostflie`", "`--hostfile`"]);
    refuses("-n many echo x", 2, &["`-n`", "`many`", "not a number"]);
    refuses("-n 0 echo x", 2, &["at least 1"]);
    refuses("-n 2", 2, &["no program"]);
    refuses("-n 2 : echo", 2, &["no program"]);
    refuses("-n 2 echo :", 2, &["`:`"]);
    refuses("--bind-to moon echo", 2, &["moon", "core"]);
    refuses("--launcher pigeon -host a echo", 2, &["pigeon", "ssh, rsh, slurm, pbs, local"]);
    refuses("-f /nonexistent echo", 2, &["/nonexistent"]);
}

#[test]
fn in_the_program() {
    refuses("-n 2 no-such-program", 127, &["no-such-program", "PATH"]);
    refuses("-n 2 ./no-such-program", 127, &["./no-such-program", "no such file"]);
    refuses("-n 2 echo : -n 1 no-such-program", 127, &["no-such-program"]);
    refuses("-n 2 /etc/passwd", 126, &["/etc/passwd", "not executable"]);
    refuses("-n 2 /etc", 126, &["/etc is a directory"]);
    refuses("-n 2 -wdir /nonexistent echo", 1, &["/nonexistent"]);
}

#[test]
fn a_program_for_another_machine() {
    let dir = crate::support::Dir::new();
    let path = dir.path("odd");
    std::fs::write(&path, "#!/no/such/interpreter\n").unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    refuses(&format!("-n 2 {path}"), 126, &["rank 0", "interpreter"]);
}

#[test]
fn host_files_that_do_not_fit() {
    let dir = crate::support::Dir::new();
    let path = dir.path("hosts");
    std::fs::write(&path, "localhost slots=1 max_slots=2\n").unwrap();
    mpirun(&format!("--hostfile {path} -n 2 echo x")).clean();
    refuses(&format!("--hostfile {path} -n 3 echo x"), 1, &["3 ranks", "max_slots"]);
    std::fs::write(&path, "localhost\nlocalhost slot=2\n").unwrap();
    refuses(&format!("--hostfile {path} -n 3 echo x"), 2, &["hosts:2", "slot=2"]);
    refuses("--host localhost[1- -n 3 echo x", 2, &["localhost[1-", "missing"]);
}

#[test]
fn help_and_version() {
    let help = mpirun("--help").clean();
    for must in ["Usage: mpirun", "--bind-to", "--hostfile", "-genv", "Exit status"] {
        assert!(help.stdout.contains(must), "{must}");
    }
    assert!(mpirun("--version").clean().stdout.starts_with("mpirun (OxMPI) "));
}

#[test]
fn foreign_tuning_is_ignored_and_said_once() {
    let done = mpirun("--mca btl self --mca pml ob1 -n 2 echo x");
    assert_eq!((done.status, done.lines().len()), (0, 2));
    assert_eq!(done.messages().len(), 1);
    assert!(done.stderr.contains("btl, pml"), "{}", done.stderr);
    mpirun("-q --mca btl self -n 2 echo x").clean();
}
