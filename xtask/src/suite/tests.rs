//! Tests of the runner with an installation of shell scripts: does it detect what it must detect?

use super::*;
use std::os::unix::fs::PermissionsExt;
use std::sync::{MutexGuard, PoisonError};

/// "Compiles" by copying, so that a test program is itself a shell script.
const COMPILER: &str = r#"while [ "$1" != -o ]; do case $1 in -*) ;; *) source=$1;; esac; shift; done
grep -q SYNTAX "$source" && { echo "no such word" >&2; exit 1; }
cp "$source" "$2""#;

/// Runs so many copies one after the other, each with its rank.
const LAUNCHER: &str = r#"shift; ranks=$1; shift; for rank in $(seq $ranks); do RANK=$rank sh "$@" || exit; done"#;

/// One at a time: a script that another thread's child still has open for writing cannot be
/// executed.
struct Folder(PathBuf, #[expect(dead_code, reason = "held for its drop")] MutexGuard<'static, ()>);

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl Folder {
    fn new(name: &str) -> Folder {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = std::env::temp_dir().join(format!("xtask-suite-{name}-{}", std::process::id()));
        for (path, body) in [("bin/mpicc", COMPILER), ("bin/mpirun", LAUNCHER), ("include/mpi.h", "")] {
            let path = folder.join("prefix").join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("make the prefix");
            fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("write a script");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("make it a program");
        }
        fs::create_dir_all(folder.join("programs/deep")).expect("make a folder for programs");
        Folder(folder, turn)
    }

    fn program(&self, name: &str, body: &str) {
        fs::write(self.0.join("programs").join(name), body).expect("write a program");
    }

    fn suite(&self, repeat: usize) -> Suite {
        Suite::new(self.options(repeat, &[])).expect("a suite")
    }

    fn options(&self, repeat: usize, filters: &[&str]) -> Options {
        Options {
            filters: filters.iter().map(|&filter| filter.to_owned()).collect(),
            prefix: self.0.join("prefix"),
            programs: self.0.join("programs"),
            build: self.0.join("build"),
            no_build: false,
            repeat,
            jobs: 2,
            hosts: None,
            launcher: None,
            sample: false,
            valgrind: false,
            check: false,
            list: false,
        }
    }

    fn run(&self, repeat: usize) -> (usize, usize, usize) {
        let total = self.suite(repeat).run();
        (total.passed, total.failed, total.skipped)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn good_programs_pass_at_every_size_and_turn() {
    let folder = Folder::new("good");
    folder.program("plain.c", "// ranks: 1 2\nexit 0\n");
    folder.program("deep/args.c", "// ranks: 3\n// args: x y\n// args: x z\n[ $1 = x ]\n");
    folder.program(
        "deep/says.c",
        "// ranks: 1\n// env: WORD=hi\n// expect-exit: 3\n// expect-stdout: hi 1\n// expect-stderr: bad\n\
         echo $WORD $RANK; echo bad >&2; exit 3\n",
    );
    folder.program("files.c", "// ranks: 1\nwc /dev/null > mine\n");
    folder.program("big.c", "// min-cpus: 100000\nexit 1\n");
    assert_eq!(folder.run(1), (6, 0, 1));
    assert_eq!(folder.run(3), (18, 0, 1));
}

#[test]
fn a_program_that_measures_time_may_fail_once() {
    let folder = Folder::new("attempts");
    let counts = folder.0.join("count");
    let third = format!("echo x >> {}; [ $(wc -l < {}) = 3 ]\n", counts.display(), counts.display());
    folder.program("time.c", &format!("// ranks: 1\n// attempts: 3\n{third}"));
    assert_eq!(folder.run(1), (1, 0, 0));
    fs::remove_file(&counts).expect("the program counted");
    folder.program("time.c", &format!("// ranks: 1\n// attempts: 2\n{third}"));
    assert_eq!(folder.run(1), (0, 1, 0));
}

#[test]
fn programs_that_sleep_run_at_the_same_time_and_after_the_others() {
    let folder = Folder::new("sleeps");
    let here = folder.0.display().to_string();
    let meets = |other: &str| {
        format!(
            "// ranks: 1\n// timeout: 20\n// sleeps: always\n[ -e {here}/busy ] || exit 1\n\
                 echo > {here}/{other}.is-here\nwhile [ $(ls {here}/*.is-here | wc -l) -lt 2 ]; do sleep 0.01; done\n"
        )
    };
    folder.program("a.c", &meets("a"));
    folder.program("b.c", &meets("b"));
    folder.program("z.c", &format!("// ranks: 1\necho > {here}/busy\n"));
    let total = Suite::new(Options { jobs: 1, ..folder.options(1, &[]) }).expect("a suite").run();
    assert_eq!((total.passed, total.failed), (3, 0));
}

#[test]
fn every_kind_of_failure_is_seen() {
    let failures = [
        ("status", "// ranks: 1\nexit 1\n"),
        ("signal", "// ranks: 1\n// expect-exit: nonzero\nkill -9 $PPID\n"),
        ("expected", "// ranks: 1\n// expect-exit: nonzero\nexit 0\n"),
        ("silent", "// ranks: 1\n// expect-stdout: hello\necho hell\n"),
        ("stderr", "// ranks: 1\n// expect-stderr: hello\necho hello\n"),
        ("header", "// rangs: 1\nexit 0\n"),
        ("compile", "// ranks: 1\nSYNTAX\n"),
        ("file", "// ranks: 1\necho x > $TMPDIR/forgotten\n"),
        ("process", "// ranks: 1\nsetsid sleep 1000 &\nexit 0\n"),
    ];
    for (name, body) in failures {
        let folder = Folder::new(name);
        folder.program("bad.c", body);
        folder.program("good.c", "// ranks: 1\nexit 0\n");
        let suite = folder.suite(1);
        let total = suite.run();
        assert_eq!((total.passed, total.failed), (1, 1), "{name}");
        assert!(processes::marked(&suite.mark).is_empty(), "{name}");
    }
}

#[test]
fn a_hanging_job_is_killed_whole() {
    let folder = Folder::new("hang");
    folder.program("hang.c", "// ranks: 1\n// timeout: 1\ntrap '' TERM\nsetsid sleep 1000 &\nsleep 1000\nsleep 1000\n");
    let begin = Instant::now();
    let suite = folder.suite(1);
    let total = suite.run();
    assert_eq!((total.passed, total.failed), (0, 1));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    assert!(processes::marked(&suite.mark).is_empty());
}

#[test]
fn only_what_changed_is_compiled_again() {
    let folder = Folder::new("fresh");
    folder.program("a.c", "// ranks: 1\nexit 0\n");
    folder.program("common.h", "");
    let built = || fs::metadata(folder.0.join("build/a_c")).and_then(|file| file.modified()).expect("a binary");
    let pause = || thread::sleep(Duration::from_millis(20));
    pause();
    folder.run(1);
    let first = built();
    pause();
    folder.run(1);
    assert_eq!(built(), first, "nothing changed");
    for change in ["a.c", "common.h"] {
        let before = built();
        pause();
        folder.program(change, "// ranks: 1\nexit 0\n");
        pause();
        folder.run(1);
        assert!(built() > before, "{change} changed");
    }
    let before = built();
    folder.program("a.c", "// ranks: 1\n// cflags: -DX\nexit 0\n");
    pause();
    folder.run(1);
    assert!(built() > before, "the command changed");
}

#[test]
fn filters_choose_and_leave_out() {
    let folder = Folder::new("filters");
    for name in ["ab.c", "b.c", "deep/a.c"] {
        folder.program(name, "// ranks: 1\nexit 0\n");
    }
    let chosen = |filters: &[&str]| {
        let suite = Suite::new(folder.options(1, filters)).expect("a suite");
        suite.programs.iter().map(|program| program.name.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(chosen(&[]), "ab.c b.c deep/a.c");
    assert_eq!(chosen(&["a"]), "ab.c deep/a.c");
    assert_eq!(chosen(&["!deep"]), "ab.c b.c");
    assert_eq!(chosen(&["a", "!b"]), "deep/a.c");
}

#[test]
fn compiled_programs_run_without_a_compiler() {
    let folder = Folder::new("no-build");
    folder.program("a.c", "// ranks: 1 2\nexit 0\n");
    let run = || {
        let suite = Suite::new(Options { no_build: true, ..folder.options(1, &[]) }).expect("a suite");
        let total = suite.run();
        (total.passed, total.failed)
    };
    assert_eq!(run(), (0, 1), "there is no binary yet");
    folder.run(1);
    // A source that no longer compiles does not matter.
    folder.program("a.c", "// ranks: 1 2\nSYNTAX\n");
    assert_eq!(run(), (2, 0));
}

#[test]
fn hosts_are_pretended_or_named() {
    let words = |text: &str, ranks| Hosts::parse(text).map(|hosts| hosts.words(ranks).join(" "));
    assert_eq!(words("3", 7).as_deref(), Ok("--pretend-hosts 3"));
    assert_eq!(words("a,b,c", 7).as_deref(), Ok("--host a:2,b:2,c:3"));
    assert_eq!(words("a,b,c,d", 2).as_deref(), Ok("--host b:1,d:1"));
    assert_eq!(words("a", 2).as_deref(), Ok("--host a:2"));
    for text in ["0", "", "a,,b"] {
        assert!(words(text, 2).is_err(), "{text}");
    }
}
