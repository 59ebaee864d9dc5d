//! The header of a test program: `// key: value` lines in the comment at its top.
//!
//! A key is one word in lower case; other lines are prose. An unknown key is an error, so that a
//! typing mistake cannot switch a check off. CONTRIBUTING.md describes the keys.

use std::time::Duration;

#[derive(Debug, PartialEq)]
pub struct Header {
    pub ranks: Vec<usize>,
    pub timeout: Duration,
    /// A run has failed when so many in a row failed. More than one only for a program that measures time.
    pub attempts: usize,
    /// One run for each; at least one.
    pub args: Vec<Vec<String>>,
    /// What stderr must contain in the run with these arguments.
    pub says: Vec<(Vec<String>, String)>,
    pub env: Vec<(String, String)>,
    pub cflags: Vec<String>,
    pub launch: Vec<String>,
    pub expect_exit: Exit,
    pub expect_stdout: Vec<String>,
    pub expect_stderr: Vec<String>,
    pub min_cpus: usize,
    /// Why the program may run beside others of this kind: its ranks wait most of the time.
    pub sleeps: Option<String>,
    /// Why the program is not run on several hosts.
    pub one_host: Option<String>,
    /// Why the program is not run in valgrind.
    pub no_valgrind: Option<String>,
    /// Why the program is not run by `--check`.
    pub no_check: Option<String>,
    /// The kernel must let programs watch memory.
    pub needs_watchpoints: bool,
}

/// A sample of runs on several hosts has no larger ones, where there are smaller ones.
const SAMPLE_RANKS: usize = 5;

/// Runs in valgrind have no more ranks, where there are smaller sizes.
const VALGRIND_RANKS: usize = 3;

#[derive(Debug, PartialEq)]
pub enum Exit {
    Is(i32),
    NotZero,
}

impl Header {
    pub fn parse(text: &str) -> Result<Header, String> {
        let mut header = Header {
            ranks: vec![1, 2, 4],
            timeout: Duration::from_secs(60),
            attempts: 1,
            args: Vec::new(),
            says: Vec::new(),
            env: Vec::new(),
            cflags: Vec::new(),
            launch: Vec::new(),
            expect_exit: Exit::Is(0),
            expect_stdout: Vec::new(),
            expect_stderr: Vec::new(),
            min_cpus: 1,
            sleeps: None,
            one_host: None,
            no_valgrind: None,
            no_check: None,
            needs_watchpoints: false,
        };
        for (number, line) in (1..).zip(text.lines()) {
            let Some(comment) = line.strip_prefix("//").or_else(|| line.strip_prefix('!')) else { break };
            if let Some((key, value)) = key_and_value(comment) {
                header.set(key, value).map_err(|error| format!("line {number}: {error}"))?;
            }
        }
        if header.args.is_empty() {
            header.args.push(Vec::new());
        }
        Ok(header)
    }

    /// The runs that the header asks for: every size with every list of arguments.
    pub fn runs(&self) -> impl Iterator<Item = (usize, &[String])> {
        self.ranks.iter().flat_map(|&ranks| self.args.iter().map(move |args| (ranks, args.as_slice())))
    }

    /// Reduces it to runs on several hosts, with only the largest of the small sizes if a `sample` is enough.
    /// `false`: there are none, because the program is about one host, or chooses hosts itself.
    pub fn on_hosts(&mut self, sample: bool) -> bool {
        let places = self.launch.iter().any(|word| word.starts_with("--pretend") || word.starts_with("--host"));
        self.ranks.retain(|ranks| *ranks > 1);
        if sample && let Some(largest) = self.ranks.iter().copied().filter(|ranks| *ranks <= SAMPLE_RANKS).max() {
            self.ranks = vec![largest];
        }
        self.timeout *= 2;
        self.one_host.is_none() && !places && !self.ranks.is_empty()
    }

    /// Reduces it to a run in valgrind, which takes long: at the largest of the smallest sizes. `false`: there is none,
    /// because ranks are killed on purpose, or the program says so.
    pub fn in_valgrind(&mut self) -> bool {
        let size = |ranks: &[usize]| {
            let small = ranks.iter().copied().filter(|ranks| *ranks <= VALGRIND_RANKS).max();
            small.or_else(|| ranks.iter().copied().min())
        };
        self.ranks = size(&self.ranks).into_iter().collect();
        self.args.truncate(1);
        self.timeout *= 10;
        self.no_valgrind.is_none() && self.expect_exit == Exit::Is(0)
    }

    /// Reduces it to a run with `--check`, with only the largest of the small sizes if a `sample` is enough. `false`: there is
    /// none, because the program is wrong on purpose, or checks already.
    pub fn in_check(&mut self, sample: bool) -> bool {
        if sample && let Some(largest) = self.ranks.iter().copied().filter(|ranks| *ranks <= SAMPLE_RANKS).max() {
            self.ranks = vec![largest];
        }
        self.timeout *= 3;
        let checks = self.launch.iter().any(|word| word.starts_with("--check"));
        self.no_check.is_none() && !checks && self.expect_exit == Exit::Is(0)
    }

    pub fn sizes(&self) -> String {
        let sizes: Vec<_> = self.ranks.iter().map(usize::to_string).collect();
        format!("n = {}", sizes.join(", "))
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let words = || value.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        match key {
            "ranks" => {
                self.ranks = value.split_whitespace().map(|word| number(key, word)).collect::<Result<_, _>>()?;
                if self.ranks.is_empty() {
                    return Err("ranks: names no size".to_owned());
                }
            }
            "timeout" => self.timeout = Duration::from_secs(number(key, value)? as u64),
            "attempts" => self.attempts = number(key, value)?,
            "args" => {
                let (words, says) = match value.split_once(" => ") {
                    Some((words, says)) => (words, Some(says.to_owned())),
                    None => (value, None),
                };
                let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
                self.says.extend(says.map(|says| (words.clone(), says)));
                self.args.push(words);
            }
            "env" => match value.split_once('=') {
                Some((name, value)) => self.env.push((name.to_owned(), value.to_owned())),
                None => return Err(format!("env: `{value}` is not NAME=VALUE")),
            },
            "cflags" => self.cflags.extend(words()),
            "launch" => self.launch.extend(words()),
            "expect-exit" if value == "nonzero" => self.expect_exit = Exit::NotZero,
            "expect-exit" => match value.parse() {
                Ok(status) => self.expect_exit = Exit::Is(status),
                Err(_) => return Err(format!("expect-exit: `{value}` is neither a status nor `nonzero`")),
            },
            "expect-stdout" => self.expect_stdout.push(value.to_owned()),
            "expect-stderr" => self.expect_stderr.push(value.to_owned()),
            "min-cpus" => self.min_cpus = number(key, value)?,
            "sleeps" if value.is_empty() => return Err("sleeps: gives no reason".to_owned()),
            "sleeps" => self.sleeps = Some(value.to_owned()),
            "one-host" if value.is_empty() => return Err("one-host: gives no reason".to_owned()),
            "one-host" => self.one_host = Some(value.to_owned()),
            "no-valgrind" if value.is_empty() => return Err("no-valgrind: gives no reason".to_owned()),
            "no-valgrind" => self.no_valgrind = Some(value.to_owned()),
            "no-check" if value.is_empty() => return Err("no-check: gives no reason".to_owned()),
            "no-check" => self.no_check = Some(value.to_owned()),
            "needs" if value == "watchpoints" => self.needs_watchpoints = true,
            "needs" => return Err(format!("needs: `{value}` is not `watchpoints`")),
            _ => return Err(format!("unknown key `{key}:` in the header (see CONTRIBUTING.md)")),
        }
        Ok(())
    }
}

fn key_and_value(comment: &str) -> Option<(&str, &str)> {
    let (key, value) = comment.trim().split_once(':')?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    is_key.then(|| (key, value.trim()))
}

fn number(key: &str, word: &str) -> Result<usize, String> {
    match word.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{key}: `{word}` is not a number above 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys() {
        let text = "// ranks: 1 8\n// Prose, with a colon: like this.\n// timeout: 5\n// attempts: 3\n// args: a b\n// args: c => C: d\n\
                    // env: X=a b=c\n// cflags: -O2 -lm\n// launch: --bind-to none\n// expect-exit: 3\n\
                    // expect-stdout: out\n// expect-stderr: err: or\n// min-cpus: 2\n#include <mpi.h>\n// ranks: 5\n";
        let header = Header::parse(text).expect("a good header");
        assert_eq!(
            header.runs().map(|(ranks, args)| (ranks, args.join(" "))).collect::<Vec<_>>(),
            [(1, "a b".to_owned()), (1, "c".to_owned()), (8, "a b".to_owned()), (8, "c".to_owned()),]
        );
        assert_eq!(header.says, [(vec!["c".to_owned()], "C: d".to_owned())]);
        assert_eq!(header.timeout, Duration::from_secs(5));
        assert_eq!(header.attempts, 3);
        assert_eq!(header.env, [("X".to_owned(), "a b=c".to_owned())]);
        assert_eq!(header.cflags, ["-O2", "-lm"]);
        assert_eq!(header.launch, ["--bind-to", "none"]);
        assert_eq!(header.expect_exit, Exit::Is(3));
        assert_eq!(header.expect_stdout, ["out"]);
        assert_eq!(header.expect_stderr, ["err: or"]);
        assert_eq!(header.min_cpus, 2);
    }

    #[test]
    fn runs_on_several_hosts() {
        let on_hosts = |text: &str, sample| {
            let mut header = Header::parse(text).expect("a good header");
            header.on_hosts(sample).then_some(header.ranks)
        };
        assert_eq!(on_hosts("// ranks: 1 2 5 8", false), Some(vec![2, 5, 8]));
        assert_eq!(on_hosts("// ranks: 1 2 5 8", true), Some(vec![5]));
        assert_eq!(on_hosts("// ranks: 16 8", true), Some(vec![16, 8]));
        assert_eq!(on_hosts("// ranks: 1", true), None);
        assert_eq!(on_hosts("// ranks: 2\n// one-host: it counts the CPUs", true), None);
        assert_eq!(on_hosts("// ranks: 2\n// launch: --pretend-nodes 2", true), None);
    }

    #[test]
    fn runs_that_are_checked() {
        let checked = |text: &str, sample| {
            let mut header = Header::parse(text).expect("a good header");
            header.in_check(sample).then_some(header.ranks)
        };
        assert_eq!(checked("// ranks: 1 2 8", false), Some(vec![1, 2, 8]));
        assert_eq!(checked("// ranks: 1 2 8", true), Some(vec![2]));
        assert_eq!(checked("// ranks: 2\n// no-check: it leaves a request", true), None);
        assert_eq!(checked("// ranks: 2\n// expect-exit: 3", true), None);
        assert_eq!(checked("// ranks: 2\n// launch: --check", true), None);
    }

    #[test]
    fn no_header_is_a_header() {
        let header = Header::parse("#include <mpi.h>\n").expect("an empty header");
        assert_eq!(header.runs().collect::<Vec<_>>(), [(1, [].as_slice()), (2, &[]), (4, &[])]);
    }

    #[test]
    fn mistakes_are_errors() {
        let bad = [
            "// rank: 2",
            "// ranks: two",
            "// ranks:",
            "// timeout: 0",
            "// attempts: 0",
            "// env: X",
            "// expect-exit: bad",
            "// one-host:",
            "// no-check:",
            "// needs: luck",
        ];
        for text in bad {
            assert!(Header::parse(text).is_err_and(|error| error.starts_with("line 1: ")), "{text}");
        }
    }

    #[test]
    fn one_small_run_in_valgrind() {
        let reduced = |text: &str| {
            let mut header = Header::parse(text).expect("a good header");
            header.in_valgrind().then_some((header.ranks, header.timeout.as_secs()))
        };
        assert_eq!(reduced("// ranks: 1 2 3 8\n// timeout: 5\n"), Some((vec![3], 50)));
        assert_eq!(reduced("// ranks: 8 5\n"), Some((vec![5], 600)));
        assert_eq!(reduced("// expect-exit: 3\n"), None);
        assert_eq!(reduced("// no-valgrind: it measures time\n"), None);
        assert!(Header::parse("// no-valgrind:\n").is_err());
    }
}
