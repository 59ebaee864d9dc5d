//! What build systems parse, and what reaches the compiler: against a prefix made for the test and
//! a compiler that only writes its arguments down.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An installation in a folder of its own, removed at the end.
///
/// One at a time: a test that forks while another still writes its wrapper would hold that file
/// open for writing, and then it cannot be run ("text file busy").
struct Prefix(PathBuf, #[expect(dead_code, reason = "held for its drop")] MutexGuard<'static, ()>);

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl Prefix {
    /// `name` may hold what a shell would split or expand.
    fn new(name: &str) -> Prefix {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        for folder in ["bin", "include", "lib"] {
            fs::create_dir_all(root.join(folder)).expect("make the prefix");
        }
        fs::copy(env!("CARGO_BIN_EXE_mpicc"), root.join("bin/mpicc")).expect("copy the wrapper");
        for link in ["mpicxx", "mpic++", "mpiCC"] {
            symlink("mpicc", root.join("bin").join(link)).expect("link the wrapper");
        }
        fs::write(root.join("include/mpi.h"), "").expect("write mpi.h");
        let prefix = Prefix(root, turn);
        prefix.script("fakecc", "printf '%s\\n' \"$@\"");
        prefix
    }

    fn script(&self, name: &str, body: &str) {
        let path = self.0.join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("write a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("make it a program");
    }

    fn path(&self, inside: &str) -> String {
        self.0.join(inside).to_string_lossy().into_owned()
    }

    /// The wrapper with no compiler named in the environment.
    fn wrapper(&self, name: &str) -> Command {
        let mut command = Command::new(self.0.join("bin").join(name));
        for variable in ["OXMPI_CC", "MPICH_CC", "OMPI_CC", "OXMPI_CXX", "MPICH_CXX", "OMPI_CXX"] {
            command.env_remove(variable);
        }
        command
    }

    /// The one line that a question prints; anything on stderr or a bad status is a failure.
    fn show<S: AsRef<OsStr>>(&self, name: &str, args: &[S]) -> String {
        let output = self.wrapper(name).args(args).output().expect("run the wrapper");
        assert!(output.status.success(), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
        let text = text(&output.stdout);
        assert_eq!(text.lines().count(), 1, "{text:?}");
        text.trim_end_matches('\n').to_owned()
    }

    /// The arguments that the compiler gets.
    fn compile<S: AsRef<OsStr>>(&self, args: &[S]) -> Vec<String> {
        let mut command = self.wrapper("mpicc");
        let output = command.env("OXMPI_CC", self.path("bin/fakecc")).args(args).output().expect("run the wrapper");
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout).lines().map(str::to_owned).collect()
    }

    fn link_flags(&self) -> Vec<String> {
        let lib = self.path("lib");
        vec![format!("-L{lib}"), "-Wl,-rpath".into(), format!("-Wl,{lib}"), "-lmpi_abi".into()]
    }
}

impl Drop for Prefix {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn failure(output: &Output, status: i32, words: &[&str]) {
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    for word in words {
        assert!(text(&output.stderr).contains(word), "no {word:?} in {output:?}");
    }
}

#[test]
fn show_is_one_line_of_joined_words() {
    let prefix = Prefix::new("show");
    let (include, lib) = (prefix.path("include"), prefix.path("lib"));
    let flags = format!("-I{include} -L{lib} -Wl,-rpath -Wl,{lib} -lmpi_abi");
    for option in ["-show", "--showme", "-showme"] {
        assert_eq!(prefix.show("mpicc", &[option]), format!("cc {flags}"), "{option}");
        for cxx in ["mpicxx", "mpic++", "mpiCC"] {
            assert_eq!(prefix.show(cxx, &[option]), format!("c++ {flags}"), "{cxx} {option}");
        }
    }
    for option in ["-compile_info", "-compile-info"] {
        assert_eq!(prefix.show("mpicc", &[option]), format!("cc -I{include}"));
    }
    for option in ["-link_info", "-link-info"] {
        assert_eq!(prefix.show("mpicc", &[option]), format!("cc -L{lib} -Wl,-rpath -Wl,{lib} -lmpi_abi"));
    }
}

#[test]
fn showme_answers_each_question() {
    let prefix = Prefix::new("showme");
    let (include, lib) = (prefix.path("include"), prefix.path("lib"));
    for dashes in ["-", "--"] {
        let ask = |what: &str| prefix.show("mpicc", &[format!("{dashes}showme:{what}")]);
        assert_eq!(ask("compile"), format!("-I{include}"));
        assert_eq!(ask("link"), format!("-L{lib} -Wl,-rpath -Wl,{lib} -lmpi_abi"));
        assert_eq!(ask("incdirs"), include);
        assert_eq!(ask("libdirs"), lib);
        assert_eq!(ask("libs"), "mpi_abi");
        assert_eq!(ask("command"), "cc");
        assert_eq!(ask("version"), format!("mpicc: OxMPI {} (Language: C)", env!("CARGO_PKG_VERSION")));
    }
    assert!(prefix.show("mpicxx", &["--showme:version"]).ends_with("(Language: C++)"));
    let output = prefix.wrapper("mpicc").arg("--showme:nothing").output().expect("run the wrapper");
    failure(&output, 1, &["mpicc:", "--showme:nothing", ":incdirs"]);
}

#[test]
fn show_includes_the_users_words() {
    let prefix = Prefix::new("words");
    let (include, lib) = (prefix.path("include"), prefix.path("lib"));
    assert_eq!(
        prefix.show("mpicc", &["-O2", "-show", "a b.c", "-DX=\"y\""]),
        format!("cc -I{include} -O2 'a b.c' '-DX=\"y\"' -L{lib} -Wl,-rpath -Wl,{lib} -lmpi_abi")
    );
    assert_eq!(prefix.show("mpicc", &["-show", "-c", "a.c"]), format!("cc -I{include} -c a.c"));
}

#[test]
fn the_compiler_gets_everything_and_our_flags() {
    let prefix = Prefix::new("run");
    let include = format!("-I{}", prefix.path("include"));
    let linked = |words: &[&str]| {
        let expected = [vec![include.clone()], words.iter().map(|w| (*w).to_owned()).collect(), prefix.link_flags()];
        assert_eq!(prefix.compile(words), expected.concat());
    };
    let not_linked = |words: &[&str]| {
        let expected = [vec![include.clone()], words.iter().map(|w| (*w).to_owned()).collect()];
        assert_eq!(prefix.compile(words), expected.concat());
    };
    linked(&["a.c", "-o", "a"]);
    linked(&["-shared", "-fPIC", "a.o", "-o", "liba.so"]);
    linked(&["@objects.rsp", "-O3"]);
    linked(&["-DGREETING=\"it's $HOME\"", "a file.c", ""]);
    linked(&["-v", "a.c"]);
    for compile_only in ["-c", "-S", "-E", "-M", "-MM"] {
        not_linked(&[compile_only, "a.c"]);
    }
    for question in ["-v", "--version", "-dumpversion", "-dumpmachine", "-print-search-dirs", "--help"] {
        not_linked(&[question]);
    }
    not_linked(&[]);
}

#[test]
fn the_environment_and_options_choose_the_compiler() {
    let prefix = Prefix::new("choice");
    let chosen = |name: &str, set: &[(&str, &str)], args: &[&str]| {
        let output = prefix.wrapper(name).envs(set.iter().copied()).arg("--showme:command").args(args).output();
        text(&output.expect("run the wrapper").stdout).trim_end().to_owned()
    };
    assert_eq!(chosen("mpicc", &[("OMPI_CC", "a")], &[]), "a");
    assert_eq!(chosen("mpicc", &[("OMPI_CC", "a"), ("MPICH_CC", "b")], &[]), "b");
    assert_eq!(chosen("mpicc", &[("OMPI_CC", "a"), ("MPICH_CC", "b"), ("OXMPI_CC", "c")], &[]), "c");
    assert_eq!(chosen("mpicc", &[("OXMPI_CC", ""), ("OMPI_CC", "a")], &[]), "a");
    assert_eq!(chosen("mpicc", &[("OXMPI_CC", "a")], &["-cc=d -m64"]), "d -m64");
    assert_eq!(chosen("mpicc", &[("OXMPI_CXX", "a")], &[]), "cc");
    assert_eq!(chosen("mpicxx", &[("OMPI_CXX", "a"), ("OXMPI_CC", "b")], &[]), "a");
    assert_eq!(chosen("mpicxx", &[("OXMPI_CXX", "a")], &["-cxx=d"]), "d");
    // CMake names the wrapper itself when the project is compiled by it.
    assert_eq!(chosen("mpicc", &[("MPICH_CC", &prefix.path("bin/mpicc"))], &[]), "cc");
    let own = prefix.wrapper("mpicc").arg(format!("-cc={}", prefix.path("bin/mpicxx"))).arg("a.c").output();
    failure(&own.expect("run the wrapper"), 1, &["this wrapper itself"]);
}

#[test]
fn the_status_is_the_compilers() {
    let prefix = Prefix::new("status");
    prefix.script("failing", "exit 42");
    prefix.script("killed", "kill -9 $$");
    let run = |compiler: &str| {
        prefix.wrapper("mpicc").arg(format!("-cc={}", prefix.path(compiler))).arg("a.c").status().expect("run")
    };
    assert_eq!(run("bin/failing").code(), Some(42));
    assert_eq!(run("bin/killed").code(), None);
}

#[test]
fn a_missing_compiler_or_header_is_named() {
    let prefix = Prefix::new("missing");
    let run = |name: &str, option: &str| prefix.wrapper(name).args([option, "a.c"]).output().expect("run the wrapper");
    failure(&run("mpicc", "-cc=no-such-cc"), 127, &["mpicc:", "`no-such-cc`", "OXMPI_CC", "apt-get install gcc"]);
    failure(&run("mpicxx", "-cxx=no-such-c++"), 127, &["mpicxx:", "`no-such-c++`", "OXMPI_CXX", "apt-get install g++"]);
    failure(&run("mpicc", &format!("-cc={}", prefix.path("include/mpi.h"))), 126, &["cannot run", "OXMPI_CC"]);
    fs::remove_file(prefix.path("include/mpi.h")).expect("remove the header");
    failure(&run("mpicc", "-O2"), 1, &["no mpi.h", &prefix.path("include")]);
}

#[test]
fn a_prefix_with_spaces_and_a_link_to_the_wrapper_work() {
    let prefix = Prefix::new("odd $place, here");
    let link = prefix.0.join("elsewhere");
    symlink("bin/mpicc", &link).expect("link to the wrapper");
    let (include, lib) = (prefix.path("include"), prefix.path("lib"));
    let output = Command::new(&link).env("OXMPI_CC", prefix.path("bin/fakecc")).arg("a.c").output().expect("run");
    let expected = format!("-I{include}\na.c\n-L{lib}\n-Xlinker\n-rpath\n-Xlinker\n{lib}\n-lmpi_abi\n");
    assert_eq!(text(&output.stdout), expected);
    // What is printed means the same to a shell.
    let shown = prefix.show("mpicc", &["-show", &format!("-cc={}", prefix.path("bin/fakecc")), "a.c"]);
    let again = Command::new("sh").arg("-c").arg(&shown).output().expect("run the shell");
    assert_eq!(text(&again.stdout), expected, "{shown}");
    assert!(shown.contains(&format!("-I\"{}\"", include.replace('$', "\\$"))), "{shown}");
}

#[test]
fn help_names_the_options() {
    let prefix = Prefix::new("help");
    for (name, option) in [("mpicc", "-cc="), ("mpicxx", "-cxx=")] {
        let output = prefix.wrapper(name).arg("-help").output().expect("run the wrapper");
        let help = text(&output.stdout);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        for word in [name, option, "-show", "--showme:compile", "OXMPI_C", "-compile_info"] {
            assert!(help.contains(word), "no {word} in {help}");
        }
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    }
}
