//! Finds the names of all functions that programs call: in the entry points of C and of Fortran, which are generated from
//! `api/`. Each gets a stub; its class says how many words of arguments the caller has put on the stack.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

/// What costs less than a look at the clock, or is not for programs.
fn is_left_out(name: &str) -> bool {
    ["MPI_Wtime", "MPI_Wtick", "MPI_Pcontrol"].contains(&name)
        || name.starts_with("MPI_T_")
        || name.starts_with("MPI_Aint_")
        || name.contains("_c2")
        || name.contains("_f2")
        || name.contains("_f082")
}

/// Registers for arguments.
const REGISTERS: usize = 6;

fn main() {
    let mut c = BTreeMap::new();
    for text in sources("../oxmpi-capi/src/generated") {
        for (at, _) in text.match_indices("MPI_") {
            c.extend(entry_of_c(&text[at..]));
        }
    }
    let mut stubs = String::new();
    let mut names = String::new();
    let mut count = 0;
    let mut stub = |symbol: &str, shown: &str, class: &str| {
        let _ = writeln!(stubs, "stub! {{ {symbol} {count} call_{class} }}");
        let _ = writeln!(names, "(c\"{symbol}\", \"{shown}\"),");
        count += 1;
    };
    for (name, arguments) in &c {
        let class = if *arguments <= REGISTERS { "0" } else { "12" };
        stub(name, name, class);
        stub(&format!("P{name}"), name, class);
    }
    let lower: BTreeMap<String, &String> = c.keys().map(|name| (name.to_lowercase(), name)).collect();
    let mut fortran = BTreeMap::new();
    for text in sources("../oxmpi-fortran/src").into_iter().chain(sources("../oxmpi-fortran/src/generated")) {
        for word in text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
            if !word.starts_with("mpi_") || !word.ends_with('_') {
                continue;
            }
            let bare = word.trim_end_matches('_');
            let bare =
                ["_f08ts", "_f08", "_cptr"].iter().fold(bare, |name, end| name.strip_suffix(end).unwrap_or(name));
            if let Some(shown) = lower.get(bare) {
                fortran.insert(word.to_string(), *shown);
            }
        }
    }
    for (symbol, shown) in &fortran {
        // One more for the error code, and perhaps lengths of strings.
        let class = if c[*shown] <= REGISTERS { "4" } else { "12" };
        stub(symbol, shown, class);
    }
    assert!(count > 1000, "the names of the functions were not found: {count}");
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let text = format!(
        "{stubs}\npub const COUNT: usize = {count};\npub static NAMES: [(&CStr, &str); COUNT] = [\n{names}];\n"
    );
    fs::write(Path::new(&out).join("stubs.rs"), text).expect("OUT_DIR can be written");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,liboxmpi_recorder.so");
    for folder in ["../oxmpi-capi/src/generated", "../oxmpi-fortran/src"] {
        println!("cargo:rerun-if-changed={folder}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}

fn sources(folder: &str) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap_or_else(|error| panic!("cannot read {folder}: {error}"));
    let paths = files.filter_map(|file| file.ok().map(|file| file.path()));
    paths
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect()
}

/// `MPI_X PMPI_X oxmpi_X(name: type, …) -> c_int`: the name and the number of arguments.
fn entry_of_c(text: &str) -> Option<(String, usize)> {
    let (name, rest) = text.split_once(' ')?;
    let (arguments, rest) = rest.strip_prefix(&format!("P{name} "))?.split_once('(')?.1.split_once(") -> ")?;
    let is_status = rest.starts_with("c_int");
    (is_status && !is_left_out(name)).then(|| (name.to_string(), arguments.matches(": ").count()))
}
