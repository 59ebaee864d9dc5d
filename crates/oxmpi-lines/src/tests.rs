//! The lines of programs that are compiled here.

use super::*;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

/// A program that prints the return address of a call, and waits until its stdin ends.
const SOURCE: &str = r#"
#include <stdio.h>
__attribute__((noinline)) void *here(void) { return __builtin_return_address(0); }
__attribute__((noinline)) int work(void) {
    void *address = here(); /* line 5 */
    printf("%p\n", address);
    fflush(stdout);
    return address != NULL;
}
int main(void) {
    int result = work();
    return getchar() == 1 || !result;
}
"#;

struct Program {
    folder: PathBuf,
    child: Child,
    caller: Caller,
}

impl Program {
    fn run(name: &str, flags: &[&str], strip: bool) -> Program {
        let folder = std::env::temp_dir().join(format!("oxmpi-lines-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = |file: &str| folder.join(file);
        fs::write(path("prog.c"), SOURCE).unwrap();
        let compile = |arguments: &mut Command| assert!(arguments.status().unwrap().success());
        compile(Command::new("cc").args(flags).arg("-o").arg(path("prog")).arg(path("prog.c")));
        if strip {
            compile(Command::new("strip").arg(path("prog")));
        }
        let mut child = Command::new(path("prog")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = u64::from_str_radix(line.trim().trim_start_matches("0x"), 16).unwrap();
        let caller = Caller { pid: child.id(), callers: [address, 0] };
        Program { folder, child, caller }
    }

    fn site(&self) -> Option<Site> {
        Lines::new().sites(&[self.caller], Duration::from_secs(20)).remove(0)
    }

    fn text(&self) -> String {
        self.site().expect("a site").to_string()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.stdin.take().map(|mut stdin| stdin.write_all(b"\n"));
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn the_line_of_a_call() {
    for (name, flags) in
        [("plain", &["-g", "-O0"] as &[&str]), ("fixed", &["-g", "-O2", "-no-pie"]), ("old", &["-gdwarf-3"])]
    {
        let program = Program::run(name, flags, false);
        assert_eq!(program.text(), "prog.c:5", "{flags:?}");
        assert!(!program.site().unwrap().is_library);
    }
    assert_eq!(Program::run("packed", &["-g", "-gz=zlib"], false).text(), "prog.c:5");
}

#[test]
fn without_debug_information() {
    let text = Program::run("symbols", &["-O1"], false).text();
    assert!(text.starts_with("work+0x") && text.ends_with(" (prog)"), "{text}");
    let text = Program::run("stripped", &["-O1"], true).text();
    assert!(text.starts_with("prog+0x"), "{text}");
}

#[test]
fn a_file_that_was_replaced_gives_no_wrong_line() {
    let program = Program::run("replaced", &["-g"], false);
    let path = program.folder.join("prog");
    let bytes = fs::read(&path).unwrap();
    // As a linker does it: another file gets the name.
    fs::remove_file(&path).unwrap();
    fs::write(&path, &bytes).unwrap();
    assert!(program.text().starts_with("prog+0x"), "{}", program.text());
}

#[test]
fn addresses_and_processes_that_are_nothing() {
    let program = Program::run("nothing", &["-g"], false);
    let lines = Lines::new();
    let of = |pid: u32, first: u64| Caller { pid, callers: [first, 0] };
    let calls = [of(program.child.id(), 0), of(program.child.id(), 1), of(u32::MAX, 77), program.caller];
    let sites = lines.sites(&calls, Duration::from_secs(20));
    assert_eq!(sites[..3], [None, None, None]);
    assert_eq!(sites[3].as_ref().unwrap().to_string(), "prog.c:5");
    // No time: the file, and the place in it.
    let hurried = lines.sites(&[program.caller], Duration::ZERO).remove(0).unwrap();
    assert!(hurried.to_string().starts_with("prog"), "{hurried}");
    assert_eq!(lines.sites(&[], LIMIT), []);
}

#[test]
fn damaged_files_give_what_they_have() {
    let program = Program::run("damaged", &["-g"], false);
    let bytes = fs::read(program.folder.join("prog")).unwrap();
    let mut seed = 7_u64;
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let bad = program.folder.join("bad");
    for _ in 0..300 {
        let mut bytes = bytes.clone();
        let length = bytes.len();
        (0..1 + next(40)).for_each(|_| bytes[next(length)] = next(256) as u8);
        bytes.truncate(if next(4) == 0 { next(length) } else { length });
        fs::write(&bad, &bytes).unwrap();
        // No panic; the answer may be anything.
        if let Some(module) = Module::read_path(&bad) {
            (0..0x2000).step_by(64).for_each(|position| drop(module.find(position)));
        }
    }
}

#[test]
fn texts() {
    let plain = Site { module: "prog".into(), offset: 16, is_library: false, function: None, line: None, outer: None };
    assert_eq!(plain.to_string(), "prog+0x10");
    let line = Some((String::from("/home/me/src/wrap\u{1b}.c"), 12));
    let tool = Site { is_library: true, line, outer: Some(("../main.c".into(), 3)), ..plain };
    assert_eq!(tool.to_string(), "wrap?.c:12 (prog), called at main.c:3");
}
