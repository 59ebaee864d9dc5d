//! Host lists (`--host`) and host files (`--hostfile`), in the dialects of MPICH and Open MPI.
//!
//! ```text
//! a:4,b,n[01-16]:2          a list; a host without a number has one slot
//! a slots=4 max_slots=8     a line of a host file, Open MPI's form
//! a:4                       the same, in MPICH's form; its other keys (binding=…) are ignored
//! # comment
//! ```
//!
//! Parsing resolves no names. [`all_here`] then tells whether the job needs other machines at all.

use std::fs;
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};
use std::path::Path;

type Result<T> = std::result::Result<T, String>;

/// A host as the user named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    pub slots: usize,
    /// More ranks than this must not be started there.
    pub max_slots: Option<usize>,
}

/// Maximum number of slots of a host, and of hosts in a list: a larger number is a typing mistake.
pub const MOST: usize = 1 << 20;

/// The hosts of `HOST[:SLOTS],…`.
pub fn parse_list(list: &str) -> Result<Vec<Host>> {
    let mut hosts = Vec::new();
    for word in split_outside_brackets(list).map(str::trim).filter(|word| !word.is_empty()) {
        add(&mut hosts, word, None, None)?;
    }
    if hosts.is_empty() {
        return Err("the host list is empty".into());
    }
    Ok(hosts)
}

/// The hosts of a host file. An error names the file and the line.
pub fn parse_file(file: &Path) -> Result<Vec<Host>> {
    let text =
        fs::read_to_string(file).map_err(|error| format!("cannot read the host file {}: {error}", file.display()))?;
    parse_text(&text, &file.display().to_string())
}

/// The hosts of the text of a host file of this name.
pub fn parse_text(text: &str, file: &str) -> Result<Vec<Host>> {
    let mut hosts = Vec::new();
    for (number, line) in text.lines().enumerate() {
        parse_line(&mut hosts, line).map_err(|error| format!("{file}:{}: {error}", number + 1))?;
    }
    if hosts.is_empty() {
        return Err(format!("the host file {file} names no host"));
    }
    Ok(hosts)
}

/// Whether all hosts are this machine.
pub fn all_here(hosts: &[Host]) -> bool {
    hosts.iter().all(|host| is_here(&host.name))
}

fn parse_line(hosts: &mut Vec<Host>, line: &str) -> Result<()> {
    let line = line.split('#').next().unwrap_or_default();
    let mut words = line.split_whitespace();
    let Some(host) = words.next() else { return Ok(()) };
    let (mut slots, mut max_slots) = (None, None);
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            return Err(format!("`{word}` after the host `{host}`: expected KEY=VALUE, for example slots=4"));
        };
        match key {
            "slots" => slots = Some(number(value, "slots=")?),
            "max_slots" | "max-slots" => max_slots = Some(number(value, "max_slots=")?),
            // Interfaces and bindings of MPICH's host files, which mpirun chooses by itself.
            "ifname" | "binding" | "user" => {}
            _ => return Err(format!("`{word}`: the keys of a host are slots and max_slots")),
        }
    }
    if let (Some(slots), Some(most)) = (slots, max_slots)
        && slots > most
    {
        return Err(format!("the host `{host}` has slots={slots}, more than its max_slots={most}"));
    }
    add(hosts, host, slots, max_slots)
}

/// Adds the hosts that a word stands for: one, or one for each number of a range.
fn add(hosts: &mut Vec<Host>, word: &str, slots: Option<usize>, max_slots: Option<usize>) -> Result<()> {
    let (pattern, inline) = split_slots(word);
    let inline = inline.map(|text| number(text, &format!("{pattern}:"))).transpose()?;
    let slots = slots.or(inline).or(max_slots.map(|most| most.min(1))).unwrap_or(1);
    for name in expand(pattern)? {
        check_name(&name)?;
        if hosts.len() == MOST {
            return Err(format!("more than {MOST} hosts"));
        }
        hosts.push(Host { name, slots, max_slots });
    }
    Ok(())
}

fn number(text: &str, before: &str) -> Result<usize> {
    match text.parse::<usize>() {
        Ok(number) if (1..=MOST).contains(&number) => Ok(number),
        _ => Err(format!("`{before}{text}`: expected a number of slots from 1 to {MOST}")),
    }
}

/// A name reaches the command line of the launcher, so it must not look like an option or be split
/// into words there.
pub fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '@' | '%');
    if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
        return Err(format!("`{name}` is not a name of a host"));
    }
    Ok(())
}

/// The words between the commas of a list, but not those inside a range.
fn split_outside_brackets(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    list.split(move |c| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        c == ',' && depth <= 0
    })
}

/// Splits `host:slots`, `[v6]:slots` or a bare IPv6 address, which contains colons itself.
fn split_slots(word: &str) -> (&str, Option<&str>) {
    if let Some((name, tail)) = word.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        && name.contains(':')
    {
        return (name, tail.strip_prefix(':'));
    }
    match word.rsplit_once(':') {
        Some((name, slots)) if !name.contains(':') => (name, Some(slots)),
        _ => (word, None),
    }
}

/// The names of the pattern `n[01-03,7]x`: n01x, n02x, n03x, n7x. Numbers have the width of the
/// first one of their range.
fn expand(pattern: &str) -> Result<Vec<String>> {
    let Some((before, rest)) = pattern.split_once('[') else { return Ok(vec![pattern.to_string()]) };
    let bad = |what: &str| format!("`{pattern}`: {what}; a range of hosts is written like n[01-16] or n[1,3-5]");
    let Some((ranges, after)) = rest.split_once(']') else { return Err(bad("`]` is missing")) };
    let tails = expand(after)?;
    let mut names = Vec::new();
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let is_number = |text: &str| !text.is_empty() && text.len() <= 9 && text.bytes().all(|c| c.is_ascii_digit());
        if !is_number(first) || !is_number(last) {
            return Err(bad(&format!("`{range}` is not a number or a range of numbers")));
        }
        let (Ok(from), Ok(to)) = (first.parse::<usize>(), last.parse::<usize>()) else {
            return Err(bad(&format!("`{range}` is too large")));
        };
        if from > to {
            return Err(bad(&format!("`{range}` runs backwards")));
        }
        if (to - from).saturating_mul(tails.len()) >= MOST - names.len().min(MOST) {
            return Err(bad(&format!("more than {MOST} hosts")));
        }
        let width = first.len();
        for number in from..=to {
            names.extend(tails.iter().map(|tail| format!("{before}{number:0width$}{tail}")));
        }
    }
    Ok(names)
}

/// Whether a name means this machine.
pub fn is_here(name: &str) -> bool {
    let own = own_name();
    let name = name.rsplit_once('@').map_or(name, |(_, host)| host);
    let short = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    if name.eq_ignore_ascii_case("localhost") || name.eq_ignore_ascii_case(&own) {
        return true;
    }
    // An address is ours if a socket can be bound to it.
    let ours = |ip: IpAddr| UdpSocket::bind((ip, 0)).is_ok();
    if let Ok(ip) = name.parse() {
        return ours(ip);
    }
    // If only one of the two names has a domain, compare the host parts.
    if name.contains('.') != own.contains('.') && short(name) == short(&own) {
        return true;
    }
    (name, 0).to_socket_addrs().is_ok_and(|mut found| found.any(|address| ours(address.ip())))
}

/// This machine's name.
pub fn own_name() -> String {
    match fs::read_to_string("/proc/sys/kernel/hostname") {
        Ok(name) if !name.trim().is_empty() => name.trim().to_string(),
        _ => "localhost".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<Vec<(String, usize)>> {
        Ok(parse_list(text)?.into_iter().map(|host| (host.name, host.slots)).collect())
    }

    fn file(text: &str) -> Result<Vec<Host>> {
        let name = format!("oxmpi-hosts-{}-{:?}", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, text).unwrap();
        let hosts = parse_file(&path);
        fs::remove_file(&path).unwrap();
        hosts.map_err(|error| error.replace(&path.display().to_string(), "FILE"))
    }

    fn names(hosts: &[(&str, usize)]) -> Result<Vec<(String, usize)>> {
        Ok(hosts.iter().map(|&(name, slots)| (name.to_string(), slots)).collect())
    }

    #[test]
    fn lists() {
        assert_eq!(list("a:4, b ,c.example.org:2"), names(&[("a", 4), ("b", 1), ("c.example.org", 2)]));
        assert_eq!(list("n[09-11]:2,x"), names(&[("n09", 2), ("n10", 2), ("n11", 2), ("x", 1)]));
        assert_eq!(list("r[1,3]n[1-2]"), names(&[("r1n1", 1), ("r1n2", 1), ("r3n1", 1), ("r3n2", 1)]));
        assert_eq!(list("::1,[fe80::2]:3,user@a:2"), names(&[("::1", 1), ("fe80::2", 3), ("user@a", 2)]));
        assert_eq!(list("a,a:2"), names(&[("a", 1), ("a", 2)]), "a host may be named twice");
    }

    #[test]
    fn bad_lists_are_told_with_the_word() {
        for (text, part) in [
            (",", "empty"),
            ("a:x", "`a:x`"),
            ("a:0", "`a:0`"),
            ("a:99999999999999999999", "a number of slots"),
            ("n[1-", "`]` is missing"),
            ("n[3-1]", "runs backwards"),
            ("n[a-b]", "not a number"),
            ("n[]", "not a number"),
            ("n[0-99999999]", "more than"),
            ("n[0-999][0-999][0-999]", "more than"),
            ("-oProxyCommand=x", "not a name"),
            ("a b", "not a name"),
            ("a;reboot", "not a name"),
        ] {
            let error = list(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn files_of_both_dialects() {
        let hosts =
            file("# ours\na slots=2 max_slots=4\n\nb:3  # more\n  c ifname=eth0\nn[1-2] slots=8\r\nd max-slots=3\n")
                .unwrap();
        let short: Vec<_> = hosts.iter().map(|host| (host.name.as_str(), host.slots, host.max_slots)).collect();
        let expected =
            [("a", 2, Some(4)), ("b", 3, None), ("c", 1, None), ("n1", 8, None), ("n2", 8, None), ("d", 1, Some(3))];
        assert_eq!(short, expected);
    }

    #[test]
    fn bad_files_are_told_with_file_and_line() {
        for (text, part) in [
            ("# nothing\n", "names no host"),
            ("a\nb slot=2\n", "FILE:2: `slot=2`: the keys"),
            ("a 4\n", "FILE:1: `4` after the host `a`: expected KEY=VALUE"),
            ("a slots=four\n", "FILE:1: `slots=four`: expected a number"),
            ("\n\na slots=4 max_slots=2\n", "FILE:3: the host `a` has slots=4, more than"),
            ("a:\n", "FILE:1: `a:`: expected a number"),
        ] {
            let error = file(text).unwrap_err();
            assert!(error.contains(part), "{text:?}: {error}");
        }
        assert!(parse_file(Path::new("/nonexistent/hosts")).unwrap_err().contains("/nonexistent/hosts"));
    }

    #[test]
    fn this_machine_by_all_its_names() {
        for name in
            ["localhost", "127.0.0.1", "127.0.0.2", "::1", "[::1]", &own_name(), &format!("{}.example", own_name())]
        {
            // The machine may have no IPv6.
            if name.contains("::1") && UdpSocket::bind(("::1", 0)).is_err() {
                continue;
            }
            assert!(all_here(&parse_list(name).unwrap()), "{name}");
        }
        assert!(all_here(&parse_list("localhost:4,127.0.0.1:2").unwrap()));
    }

    #[test]
    fn another_machine() {
        assert!(!all_here(&parse_list("localhost,192.0.2.7").unwrap()));
    }
}
