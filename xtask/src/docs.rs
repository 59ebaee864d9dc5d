//! `cargo xtask docs`: checks the Markdown files of the repository and the book in `docs/`: links
//! and anchors, that each page is in the table of contents, and that the commands, options and
//! environment variables on the pages exist. It never opens a network connection: links to other
//! sites are not followed. It builds the book if `mdbook` is installed. `docs_text.rs` reads
//! Markdown.

use crate::docs_text::{Link, Page};
use crate::{COMMANDS, Outcome, read, root, tidy};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The pages of the book, and its table of contents.
pub const BOOK: &str = "docs/src";
const SUMMARY: &str = "docs/src/SUMMARY.md";
/// Where mdBook writes the book (`docs/book.toml`).
const BUILT: &str = "build/book";

/// Code in this page that begins with a dash is an option of mpirun.
const OPTIONS_PAGE: &str = "docs/src/users/mpirun.md";

pub fn run(args: &[String]) -> Outcome {
    if !args.is_empty() {
        return Err("usage: cargo xtask docs".into());
    }
    let files = tidy::tracked_files()?;
    let mut pages = BTreeMap::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|e| e == "md")) {
        pages.insert(path.clone(), Page::parse(&included(path)?));
    }
    let facts = Facts::collect(&files)?;
    let mut complaints = contents(&files, &pages);
    for (path, page) in &pages {
        let named = |text: String| format!("{}: {text}", path.display());
        complaints.extend(page.links.iter().filter_map(|link| broken(path, link, &pages)).map(named));
        complaints.extend(page.commands.iter().filter_map(|line| facts.unknown(line)).map(named));
        complaints
            .extend(page.variables.difference(&facts.variables).map(|v| format!("no source reads {v}")).map(named));
        if path == Path::new(OPTIONS_PAGE) {
            let options = page.code.iter().filter(|code| code.starts_with('-'));
            complaints.extend(options.filter_map(|code| facts.unknown(&format!("mpirun {code} x"))).map(named));
        }
    }
    if !complaints.is_empty() {
        return Err(format!("{} mistakes\n  {}", complaints.len(), complaints.join("\n  ")));
    }
    let links: usize = pages.values().map(|page| page.links.len()).sum();
    println!("docs: {} pages, {links} links", pages.len());
    build_book(pages.keys().filter(|page| page.starts_with(BOOK) && **page != Path::new(SUMMARY)))
}

/// The text of a page with the files that it includes (`{{#include path}}` alone on a line, as in
/// mdBook).
pub fn included(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    for line in read(&root().join(path))?.lines() {
        match line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) {
            Some(other) => text += &read(&root().join(relative(path, other)))?,
            None => text += line,
        }
        text.push('\n');
    }
    Ok(text)
}

/// The path in the repository that a link on a page leads to.
pub fn relative(page: &Path, target: &str) -> PathBuf {
    let mut path = page.parent().unwrap_or(Path::new("")).to_path_buf();
    for part in Path::new(target).components() {
        match part {
            Component::ParentDir if path.file_name().is_some_and(|name| name != "..") => {
                path.pop();
            }
            Component::CurDir => {}
            part => path.push(part),
        }
    }
    path
}

/// The error of a link, if there is one.
fn broken(page: &Path, link: &Link, pages: &BTreeMap<PathBuf, Page>) -> Option<String> {
    let target = &link.target;
    if ["http://", "https://", "mailto:"].iter().any(|start| target.starts_with(start)) {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { page.to_path_buf() } else { relative(page, file) };
    if !root().join(&path).exists() {
        return Some(format!("the link to `{target}` leads to no file"));
    }
    if page.starts_with(BOOK) && !path.starts_with(BOOK) {
        return Some(format!("the link to `{target}` leaves the book"));
    }
    match pages.get(&path) {
        Some(other) if !anchor.is_empty() && !other.anchors.contains(anchor) => {
            Some(format!("the link to `{target}` leads to no heading of {}", path.display()))
        }
        None if !anchor.is_empty() => Some(format!("the link to `{target}` has an anchor, but is no page")),
        _ => None,
    }
}

/// Pages of the book that are not exactly once in the table of contents, and pictures that no page
/// shows.
fn contents(files: &[PathBuf], pages: &BTreeMap<PathBuf, Page>) -> Vec<String> {
    let summary = Path::new(SUMMARY);
    let targets = |page: &Path| -> Vec<PathBuf> {
        pages.get(page).map_or(Vec::new(), |p| p.links.iter().map(|link| relative(page, &link.target)).collect())
    };
    let named = targets(summary);
    let shown: BTreeSet<PathBuf> = pages.keys().flat_map(|page| targets(page)).collect();
    let mut complaints = Vec::new();
    for path in files.iter().filter(|path| path.starts_with(BOOK) && *path != summary) {
        let times = named.iter().filter(|name| *name == path).count();
        match path.extension().and_then(|e| e.to_str()) {
            Some("md") if times != 1 => complaints.push(format!("{SUMMARY} names {} {times} times", path.display())),
            Some("svg" | "png") if !shown.contains(path) => {
                complaints.push(format!("no page shows {}", path.display()));
            }
            _ => {}
        }
    }
    complaints
}

/// The names that pages may use, taken from the sources, so that a wrong page is found with the
/// change that makes it wrong.
struct Facts {
    /// The names of mpirun's options, without dashes, and the number of values of each.
    options: BTreeMap<String, usize>,
    /// The first words that the command `oxmpi` accepts.
    subcommands: BTreeSet<String>,
    targets: BTreeSet<String>,
    variables: BTreeSet<String>,
}

impl Facts {
    fn collect(files: &[PathBuf]) -> Result<Facts, String> {
        let text = |path: &str| read(&root().join(path));
        let mut variables = BTreeSet::new();
        let is_source = |path: &&PathBuf| {
            let is_rust = path.starts_with("crates") && path.extension().is_some_and(|e| e == "rs");
            is_rust || path.starts_with("include")
        };
        for path in files.iter().filter(is_source) {
            variables.extend(crate::docs_text::variables(&read(&root().join(path))?));
        }
        let makefile = text("Makefile")?;
        let rules = makefile.lines().filter(|line| !line.starts_with(['\t', '#']) && !line.contains('='));
        let targets = rules.filter_map(|line| line.split_once(':')).map(|(name, _)| name.to_owned()).collect();
        Ok(Facts {
            options: options(&text("crates/oxmpi-launch/src/options/table.rs")?),
            subcommands: first_words(&text("crates/oxmpi-cli/src/main.rs")?),
            targets,
            variables,
        })
    }

    /// The error of a command line on a page, if there is one. Commands of other projects are
    /// ignored.
    fn unknown(&self, line: &str) -> Option<String> {
        let line = line.split(" #").next().unwrap_or_default();
        line.split("&&").find_map(|command| self.unknown_command(command))
    }

    fn unknown_command(&self, command: &str) -> Option<String> {
        let is_prefix = |word: &&str| word.contains('=') || *word == "sudo" || *word == "timeout";
        let words: Vec<&str> = command.split_whitespace().skip_while(is_prefix).collect();
        let [program, rest @ ..] = &words[..] else { return None };
        let first = rest.first().copied().unwrap_or_default();
        let wrong = |what: &str, name: &str| Some(format!("`{}` names no {what}: `{name}`", command.trim()));
        match program.rsplit('/').next().unwrap_or_default() {
            "mpirun" | "mpiexec" => self.unknown_option(rest).and_then(|name| wrong("option of mpirun", name)),
            "oxmpi" if !self.subcommands.contains(first) => wrong("command of oxmpi", first),
            "make" if !first.is_empty() && !self.targets.contains(first) => wrong("target of the Makefile", first),
            "cargo" if first == "xtask" => match rest.get(1) {
                Some(name) if !COMMANDS.iter().any(|c| c.0 == *name) => wrong("command of xtask", name),
                _ => None,
            },
            _ => None,
        }
    }

    /// The first unknown option of mpirun, up to the program; after a `:` the options of the next
    /// program follow.
    fn unknown_option<'a>(&self, words: &[&'a str]) -> Option<&'a str> {
        for block in words.split(|word| *word == ":") {
            let mut at = 0;
            while let Some(word) = block.get(at).filter(|word| word.starts_with('-')) {
                let (name, value) = word
                    .trim_start_matches('-')
                    .split_once('=')
                    .map_or_else(|| (word.trim_start_matches('-'), None), |(name, value)| (name, Some(value)));
                let values = *match self.options.get(name) {
                    Some(values) => values,
                    None => return Some(word),
                };
                at += 1 + if value.is_some() { 0 } else { values };
            }
        }
        None
    }
}

/// The options in the text of the launcher's table: `spec(Key::X, &["name", …], &["VALUE", …], …)`.
fn options(table: &str) -> BTreeMap<String, usize> {
    let mut options = BTreeMap::new();
    for spec in table.split("spec(").skip(1).filter(|spec| spec.trim_start().starts_with("Key::")) {
        let mut lists = spec.split("&[").skip(1).map(|list| list.split(']').next().unwrap_or_default());
        // A value may have brackets in its name (`VAR[=VALUE]`), so quotes are counted, not names.
        let (names, values) = (lists.next().unwrap_or_default(), lists.next().unwrap_or_default());
        let count = values.matches('"').count().div_ceil(2);
        let names = names.split('"').skip(1).step_by(2);
        options.extend(names.map(|name| (name.to_owned(), count)));
    }
    options
}

/// The first texts in the patterns of a `match` over words: `["info", …] =>`.
fn first_words(source: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for pattern in source.lines().filter(|line| line.contains("=>")).flat_map(|line| line.split('[').skip(1)) {
        let first = pattern.split([',', ']']).next().unwrap_or_default();
        words.extend(first.split('"').skip(1).step_by(2).map(str::to_owned));
    }
    words
}

/// Builds the book. Each page must become a file of the same name, or links to it would be broken.
fn build_book<'a>(mut pages: impl Iterator<Item = &'a PathBuf>) -> Outcome {
    let mut command = Command::new("mdbook");
    match command.args(["build", "docs"]).current_dir(root()).output() {
        Ok(output) if output.status.success() => {
            let built =
                |page: &PathBuf| Some(root().join(BUILT).join(page.strip_prefix(BOOK).ok()?).with_extension("html"));
            if let Some(page) = pages.find(|page| !built(page).is_some_and(|file| file.exists())) {
                return Err(format!("{} is not a page of the book in {BUILT}", page.display()));
            }
            println!("docs: the book is in {BUILT}");
            Ok(())
        }
        Ok(output) => Err(format!("mdbook failed:\n{}", String::from_utf8_lossy(&output.stderr))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("docs: building the book is skipped, because mdbook is not installed (cargo install mdbook)");
            Ok(())
        }
        Err(error) => Err(format!("cannot run mdbook: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        let table = "const fn spec(key: Key)\nspec(Key::Count, &[\"n\", \"np\"], &[\"N\"], \"\"),\n\
                     spec(\n Key::Export,\n &[\"x\"],\n &[\"VAR[=VALUE]\"], \"\"), spec(Key::Label, &[\"l\"], &[], \"\")";
        let cli = "match words {\n [\"info\"] => 1,\n [\"man\", name] if true => 2,\n [\"--version\" | \"-V\"] => 3 }";
        Facts {
            options: options(table),
            subcommands: first_words(cli),
            targets: BTreeSet::from(["test".to_owned()]),
            variables: BTreeSet::new(),
        }
    }

    #[test]
    fn options_are_read_from_the_table() {
        let expected = [("l", 0), ("n", 1), ("np", 1), ("x", 1)];
        assert_eq!(facts().options, expected.map(|(name, values)| (name.to_owned(), values)).into());
        let real = options(&read(&root().join("crates/oxmpi-launch/src/options/table.rs")).unwrap());
        assert!(real.len() > 60 && real["genv"] == 2 && real["timeout"] == 1 && real["help"] == 0);
    }

    #[test]
    fn unknown_options_and_commands_are_found() {
        let facts = facts();
        for good in [
            "mpirun -n 4 ./a --any",
            "A=1 mpirun -n 2 -x B=c -l a : --np=3 b -q",
            "sudo /opt/x/bin/oxmpi man MPI_Send",
            "oxmpi --version",
            "make test && make test PREFIX=x",
            "make test # make nothing",
            "cargo xtask tidy",
            "ls -q",
        ] {
            assert_eq!(facts.unknown(good), None, "{good}");
        }
        for bad in [
            "mpirun -m 4 ./a",
            "mpirun -l a : -m b",
            "oxmpi dance",
            "make nothing",
            "make test && make nothing",
            "cargo xtask dance",
        ] {
            assert!(facts.unknown(bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn links_are_resolved_and_checked() {
        let page = Path::new("docs/src/SUMMARY.md");
        assert_eq!(relative(page, "../../README.md"), Path::new("README.md"));
        assert_eq!(relative(Path::new("README.md"), "./docs/book.toml"), Path::new("docs/book.toml"));
        let readme =
            Page::parse("# A title\n[x](#a-title) [y](#b) [z](Cargo.toml) [w](nothing.md) [v](https://a.b/c)\n");
        let pages = BTreeMap::from([(PathBuf::from("README.md"), readme)]);
        let here = Path::new("README.md");
        let wrong: Vec<bool> = pages[here].links.iter().map(|link| broken(here, link, &pages).is_some()).collect();
        assert_eq!(wrong, [false, true, false, true, false]);
        let out = Link { target: "../../README.md".into() };
        assert!(broken(page, &out, &pages).unwrap().contains("leaves the book"));
    }

    #[test]
    fn every_page_is_in_the_contents_once() {
        let files = ["docs/src/SUMMARY.md", "docs/src/a.md", "docs/src/b.md", "docs/src/c.svg"].map(PathBuf::from);
        let pages = BTreeMap::from([(PathBuf::from(SUMMARY), Page::parse("- [A](a.md)\n"))]);
        assert_eq!(contents(&files, &pages).len(), 2);
    }
}
