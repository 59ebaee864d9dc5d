//! The part of `cargo xtask tidy` that counts what must become less. `xtask/ratchets.txt` has the
//! current numbers; they may only go down. It counts text, not syntax, so a number is an indicator
//! and not a proof.

use crate::{Outcome, read, root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const TABLE: &str = "xtask/ratchets.txt";

/// The names of the numbers, and what to do instead of adding one.
const RATCHETS: &[(&str, &str)] = &[
    ("shm-calls", "`.shm()` outside oxmpi-transport: ask the links or the node table instead"),
    (
        "capi-lines",
        "lines written by hand in oxmpi-capi: it parses, calls and reports errors; put the operation below it",
    ),
    ("capi-loops", "loops over `progress` or `sleep` in oxmpi-capi: wait through the one wait of the library"),
    ("vague-safety", "SAFETY lines that no reviewer can check (\"passed on\", \"checked\"): say what holds, and why"),
    ("env-reads", "`env::var` in the library: `trust::variable` knows when the environment is not to be trusted"),
    ("libc-mentions", "`libc::` outside oxmpi-base: put the system call into that crate, behind a safe function"),
];

/// Beginnings of SAFETY lines that say nothing.
const VAGUE: &[&str] = &["passed on", "as the caller says", "checked", "as above", "as the caller promised"];

/// Crates that MPI programs do not load.
const PROGRAMS: &[&str] = &["oxmpi-agent", "oxmpi-cli", "oxmpi-launch", "oxmpi-testkit", "oxmpi-wrap"];

/// The largest cycle of files that a crate may have without an entry in the table.
const CIRCLE: usize = 4;

type Numbers = BTreeMap<String, usize>;

/// The numbers that have grown.
pub fn complaints(files: &[PathBuf]) -> Result<Vec<String>, String> {
    let (limits, now) = (parse(&read(&root().join(TABLE))?)?, count(files)?);
    let lower = lowered(&limits, &now);
    if lower != limits {
        let names: Vec<&str> =
            limits.iter().filter(|(n, v)| lower.get(*n) != Some(v)).map(|(n, _)| n.as_str()).collect();
        println!("tidy: {} can be lowered: run `cargo xtask tidy --lower` and commit {TABLE}", names.join(", "));
    }
    Ok(exceeded(&limits, &now))
}

/// Writes the table with the numbers that have become smaller.
pub fn lower(files: &[PathBuf]) -> Outcome {
    let path = root().join(TABLE);
    let limits = parse(&read(&path)?)?;
    let numbers = lowered(&limits, &count(files)?);
    for (name, before) in limits.iter().filter(|(name, before)| numbers.get(*name) != Some(before)) {
        println!("tidy: {name}: {before} -> {}", numbers.get(name).map_or("gone".into(), usize::to_string));
    }
    std::fs::write(&path, render(&numbers)).map_err(|e| format!("cannot write {}: {e}", path.display()))
}

fn limit(limits: &Numbers, name: &str) -> usize {
    limits.get(name).copied().unwrap_or(if name.starts_with("circle ") { CIRCLE } else { 0 })
}

fn exceeded(limits: &Numbers, now: &Numbers) -> Vec<String> {
    let mut list = Vec::new();
    for (name, number) in now {
        let limit = limit(limits, name);
        if *number > limit {
            let what = match name.strip_prefix("circle ") {
                Some(name) => {
                    format!("files of {name} that use each other in a circle: move what both need into a third")
                }
                None => RATCHETS.iter().find(|(n, _)| n == name).map(|(_, what)| what.to_string()).unwrap_or_default(),
            };
            list.push(format!("{name}: {number}, and {TABLE} allows {limit}. {what}"));
        }
    }
    list
}

/// The smaller one of the number in the table and the counted number. A cycle that needs no entry
/// any more is removed.
fn lowered(limits: &Numbers, now: &Numbers) -> Numbers {
    let number = |name: &str, before: usize| before.min(now.get(name).copied().unwrap_or(0));
    let all = limits.iter().map(|(name, before)| (name.clone(), number(name, *before)));
    all.filter(|(name, number)| !name.starts_with("circle ") || *number > CIRCLE).collect()
}

fn parse(text: &str) -> Result<Numbers, String> {
    let mut numbers = Numbers::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let parsed = line.rsplit_once(' ').and_then(|(name, n)| Some((name.trim().to_string(), n.parse().ok()?)));
        let (name, number) = parsed.ok_or_else(|| format!("{TABLE}: `{line}` is not a name and a number"))?;
        numbers.insert(name, number);
    }
    Ok(numbers)
}

fn render(numbers: &Numbers) -> String {
    let mut text = String::from(
        "# Numbers that may only go down; `cargo xtask tidy` counts, `cargo xtask tidy --lower` writes the smaller ones.\n\
         # What they mean is told in xtask/src/ratchets.rs.\n",
    );
    for (name, number) in numbers {
        text += &format!("{name} {number}\n");
    }
    text
}

/// The handwritten sources of the crates, with the name of the crate.
fn sources(files: &[PathBuf]) -> Result<Vec<(String, PathBuf, String)>, String> {
    let mut list = Vec::new();
    for path in files {
        let parts: Vec<String> = path.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
        let is_source =
            parts.len() > 3 && parts[0] == "crates" && parts[2] == "src" && !parts.contains(&"generated".into());
        if is_source && path.extension().is_some_and(|e| e == "rs") {
            list.push((parts[1].clone(), path.clone(), read(&root().join(path))?));
        }
    }
    Ok(list)
}

fn count(files: &[PathBuf]) -> Result<Numbers, String> {
    let sources = sources(files)?;
    let mut numbers: Numbers = RATCHETS.iter().map(|(name, _)| (name.to_string(), 0)).collect();
    let mut add = |name: &str, n: usize| *numbers.entry(name.into()).or_default() += n;
    for (name, path, text) in &sources {
        if name != "oxmpi-transport" {
            add("shm-calls", text.matches(".shm()").count());
        }
        if name != "oxmpi-base" {
            add("libc-mentions", text.matches("libc::").count());
        }
        if !PROGRAMS.contains(&name.as_str()) && !path.ends_with("oxmpi-base/src/trust.rs") {
            add("env-reads", text.matches("env::var").count());
        }
        if name == "oxmpi-capi" {
            add("capi-lines", text.lines().count());
            add("capi-loops", waiting_loops(text));
        }
        add("vague-safety", text.lines().filter(|line| is_vague(line)).count());
    }
    let crates: BTreeSet<&String> = sources.iter().map(|(name, _, _)| name).collect();
    for name in crates {
        let of_crate =
            sources.iter().filter(|(n, _, _)| n == name).map(|(_, path, text)| (path.as_path(), text.as_str()));
        let largest = largest_circle(&uses(&of_crate.collect::<Vec<_>>()));
        numbers.insert(format!("circle {name}"), largest);
    }
    Ok(numbers)
}

fn is_vague(line: &str) -> bool {
    let Some((_, text)) = line.split_once("// SAFETY:") else { return false };
    let text = text.trim().to_lowercase();
    VAGUE.iter().any(|phrase| text.starts_with(phrase))
}

/// Loops that call `progress` or `sleep` in their own block or in one inside it; each counts once.
fn waiting_loops(text: &str) -> usize {
    // For each open brace: whether it opened a loop that has not been counted.
    let mut open: Vec<Option<bool>> = Vec::new();
    let mut found = 0;
    for line in text.lines().map(|line| line.split("//").next().unwrap_or_default()) {
        let starts_loop = line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| matches!(w, "loop" | "while"));
        let waits = [".progress(", ".sleep(", "::sleep("].iter().any(|call| line.contains(call));
        if waits && let Some(uncounted) = open.iter_mut().rev().find_map(|o| o.as_mut()) {
            found += usize::from(*uncounted);
            *uncounted = false;
        }
        let mut is_first = starts_loop;
        for c in line.chars() {
            if c == '{' {
                open.push(is_first.then_some(true));
                is_first = false;
            } else if c == '}' {
                open.pop();
            }
        }
    }
    found
}

/// The files of a crate by their module paths, each with the modules that it uses.
fn uses(files: &[(&Path, &str)]) -> BTreeMap<String, BTreeSet<String>> {
    let modules: BTreeSet<String> = files.iter().map(|(path, _)| module_of(path)).collect();
    let mut graph = BTreeMap::new();
    for (path, text) in files {
        let module = module_of(path);
        let mut used = BTreeSet::new();
        for wanted in paths_in(product_code(text), &module) {
            // The longest part of the path that is a file; the rest names an item in it.
            let mut name = wanted.as_str();
            while !modules.contains(name) && !name.is_empty() {
                name = name.rsplit_once("::").map_or("", |(parent, _)| parent);
            }
            if name != module {
                used.insert(name.to_string());
            }
        }
        graph.insert(module, used);
    }
    graph
}

/// `crates/x/src/a/b.rs` and `crates/x/src/a/b/mod.rs` are `a::b`; the root of a crate is the empty
/// name.
fn module_of(path: &Path) -> String {
    let parts: Vec<String> =
        path.with_extension("").components().skip(3).map(|c| c.as_os_str().to_string_lossy().into()).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|p| !matches!(*p, "mod" | "lib" | "main")).collect();
    parts.join("::")
}

/// The text up to its tests.
fn product_code(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default()
}

/// The module paths in `crate::…` and `super::…`, with lists in braces expanded, as paths from the
/// root of the crate.
fn paths_in(text: &str, module: &str) -> Vec<String> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or_default().to_string() + "\n").collect();
    let parent = module.rsplit_once("::").map_or("", |(parent, _)| parent);
    let mut list = Vec::new();
    for (word, base) in [("crate::", ""), ("super::", parent)] {
        for (at, _) in code.match_indices(word) {
            let is_whole = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$' || c == ':');
            if is_whole {
                expand(base, &code[at + word.len()..], &mut list);
            }
        }
    }
    list
}

/// Adds the paths of a tree like `a::{b, c::d}` below a base. Returns the text behind the tree.
fn expand<'t>(base: &str, tree: &'t str, list: &mut Vec<String>) -> &'t str {
    let mut path = base.to_string();
    let mut rest = tree.trim_start();
    loop {
        if let Some(inner) = rest.strip_prefix('{') {
            rest = inner;
            loop {
                rest = expand(&path, rest, list).trim_start();
                match rest.strip_prefix(',') {
                    Some(next) if !next.trim_start().starts_with('}') => rest = next,
                    Some(next) => return next.trim_start().trim_start_matches('}'),
                    None => return rest.strip_prefix('}').unwrap_or(""),
                }
            }
        }
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if !name.is_empty() && name != "self" {
            path = if path.is_empty() { name.to_string() } else { format!("{path}::{name}") };
        }
        match after.strip_prefix("::") {
            Some(next) if !name.is_empty() => rest = next,
            _ => {
                list.push(path);
                // ` as name`
                let end = after.find(['\n', ',', ';', '}', '{']).unwrap_or(after.len());
                return if after.trim_start().starts_with("as ") { &after[end..] } else { after };
            }
        }
    }
}

/// The size of the largest set of files that all use each other, directly or indirectly.
fn largest_circle(graph: &BTreeMap<String, BTreeSet<String>>) -> usize {
    let reach = |from: &String| -> BTreeSet<&String> {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![from]);
        while let Some(next) = todo.pop() {
            for used in graph.get(next).into_iter().flatten() {
                if seen.insert(used) {
                    todo.push(used);
                }
            }
        }
        seen
    };
    let reached: BTreeMap<&String, BTreeSet<&String>> = graph.keys().map(|name| (name, reach(name))).collect();
    let circle = |name: &&String| {
        reached[name].iter().filter(|other| reached.get(*other).is_some_and(|r| r.contains(name))).count()
    };
    reached.keys().map(|name| circle(name).max(1)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_may_only_decrease() {
        let limits = parse("# text\ncircle oxmpi-core 15\nshm-calls 99\n").unwrap();
        let now = |shm, circle| Numbers::from([("shm-calls".into(), shm), ("circle oxmpi-core".into(), circle)]);
        assert!(exceeded(&limits, &now(99, 15)).is_empty());
        assert!(exceeded(&limits, &now(100, 16)).iter().all(|text| text.contains("allows")));
        assert_eq!(exceeded(&limits, &now(100, 16)).len(), 2);
        assert_eq!(lowered(&limits, &now(100, 9)), parse("shm-calls 99\ncircle oxmpi-core 9").unwrap());
        assert_eq!(render(&lowered(&limits, &now(3, 4))).lines().last(), Some("shm-calls 3"));
        // A crate without an entry may have a small cycle.
        assert_eq!(exceeded(&limits, &[("circle new".into(), 4)].into()).len(), 0);
        assert_eq!(exceeded(&limits, &[("circle new".into(), 5)].into()).len(), 1);
    }

    #[test]
    fn vague_safety_lines_are_found() {
        assert!(is_vague("    // SAFETY: passed on."));
        assert!(is_vague("unsafe { x() } // SAFETY: Checked above"));
        assert!(!is_vague("    // SAFETY: `at` is below the length, which was checked in `new`."));
        assert!(!is_vague("// checked"));
    }

    #[test]
    fn loops_that_wait_are_found() {
        let text = "fn a() {\n loop {\n  if b { p.progress(); }\n  p.progress();\n }\n p.progress();\n while x {\n  thread::sleep(t);\n }\n}\n";
        assert_eq!(waiting_loops(text), 2);
        assert_eq!(waiting_loops("// loop { p.progress() }\nfn loops() {\n p.progress();\n}\n"), 0);
    }

    #[test]
    fn paths_are_taken_apart() {
        let text = "use crate::{a::{self, b::C}, d};\nuse super::e::F as G;\nfn x(y: crate::h::I) {} // crate::no\n";
        let paths = paths_in(text, "m::n");
        assert_eq!(paths, ["a", "a::b::C", "d", "h::I", "m::e::F"]);
    }

    #[test]
    fn circles_are_measured_in_files() {
        let files = [
            (Path::new("crates/x/src/lib.rs"), "mod a;\n"),
            (Path::new("crates/x/src/a.rs"), "use crate::b::Thing;\n"),
            (Path::new("crates/x/src/b/mod.rs"), "use crate::b::c::Other;\n"),
            (Path::new("crates/x/src/b/c.rs"), "use crate::a;\n#[cfg(test)]\nmod tests { use crate::d; }\n"),
            (Path::new("crates/x/src/d.rs"), "use crate::a;\n"),
        ];
        assert_eq!(largest_circle(&uses(&files)), 3);
    }
}
