//! A false `libpmix.so.2`, compiled for each case, that does one thing wrong: each is told, and nothing else happens.

use std::path::{Path, PathBuf};
use std::process::Command;

use oxmpi_pmix::{Client, Functions, NAME};

/// A folder with a false library that was compiled with these definitions.
fn folder(name: &str, definitions: &[&str]) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pmix-{name}"));
    std::fs::create_dir_all(&dir).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/false_pmix.c");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"]).arg(dir.join(NAME)).arg(source);
    let status = cc.args(definitions.iter().map(|text| format!("-D{text}"))).status().unwrap();
    assert!(status.success());
    dir
}

fn client(name: &str, definitions: &[&str]) -> Result<Client, String> {
    Functions::load(&[folder(name, definitions).into()]).and_then(Client::connect)
}

fn error<T>(result: Result<T, String>, parts: &[&str]) {
    let Err(text) = result else { panic!("no error, {parts:?} was expected") };
    assert!(parts.iter().all(|part| text.contains(part)), "{text}");
}

#[test]
fn what_was_put_is_found() {
    let mut client = client("good", &[]).unwrap();
    assert_eq!((client.namespace(), client.rank(), client.version()), ("false.job", 0, "9.8.7"));
    assert_eq!(client.number_of_job("pmix.job.size"), Ok(4));
    assert_eq!(client.own_number("pmix.appnum"), Ok(7));
    client.put("key", "a value").unwrap();
    client.fence().unwrap();
    assert_eq!(client.get(0, "key").as_deref(), Ok("a value"));
    error(client.get(1, "key"), &["PMIx_Get of key", "SOME-ERROR (-46)"]);
    error(client.put("key", "a\0b"), &["zero byte"]);
    error(client.get(0, "pmix.job.size"), &["value of type 14"]);
    client.abort(3, "goes on\0");
    error(client.finish(), &["PMIx_Finalize", "(-61)"]);
}

#[test]
fn every_error_is_told() {
    error(client("init", &["INIT=-25"]), &["PMIx_Init fails: UNREACHABLE (-25)"]);
    error(client("unnamed", &["INIT=-1000"]), &["PMIx_Init fails: an error without a name (-1000)"]);
    error(client("nameless", &["NAME=\"\""]), &["PMIx_Init gives the job no name"]);
    error(client("put", &["PUT=-27"]).unwrap().put("k", "v"), &["PMIx_Put", "-27"]);
    error(client("commit", &["COMMIT=-61"]).unwrap().put("k", "v"), &["PMIx_Commit", "-61"]);
    error(client("fence", &["FENCE=-24"]).unwrap().fence(), &["PMIx_Fence", "-24"]);
    error(client("get", &["GET=-46"]).unwrap().number_of_job("pmix.job.size"), &["PMIx_Get of pmix.job.size", "-46"]);
    error(client("nothing", &["NOTHING"]).unwrap().get(0, "k"), &["PMIx_Get gives nothing for k"]);
    error(client("type", &["TYPE=3"]).unwrap().own_number("pmix.appnum"), &["value of type 3"]);
    error(client("old", &["WITHOUT_GET"]), &[NAME, "no PMIx library that OxMPI knows", "PMIx_Get"]);
}

/// A file of that name that is no library does not hide a good one.
#[test]
fn a_file_that_is_no_library_is_passed_over() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pmix-empty");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join(NAME), b"").unwrap();
    let good = folder("second", &[]);
    let found = Functions::load(&[dir.clone().into(), "/nonexistent".into(), good.into()]).and_then(Client::connect);
    assert_eq!(found.unwrap().version(), "9.8.7");
}
