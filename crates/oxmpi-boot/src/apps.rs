//! The programs of a job, `mpirun a : b : c`, and their process sets: the ranks of the second
//! program are `app://1`, and also `app://b`, together with the ranks of all other programs of that
//! name.
//!
//! Each rank knows all sets, so that `a` can form a group of the ranks of `b`. In the environment
//! the programs are words `COUNT:NAME`. Names are converted to characters of a URI here, once.

/// One program of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    pub ranks: usize,
    /// The second part of the name of its process set; empty if it has only a number.
    pub name: String,
}

/// A set of ranks with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSet {
    pub name: String,
    /// In ascending order.
    pub ranks: Vec<u32>,
}

/// Longer names are cut, so that no name of a set exceeds the limit of the standard ABI.
const LONGEST: usize = 255;

impl App {
    /// A program of so many ranks. Characters of the name that a URI does not allow are written
    /// `%XX`.
    pub fn new(ranks: usize, name: &[u8]) -> App {
        let mut safe = String::new();
        for &byte in name.iter().take(LONGEST) {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b'+' => {
                    safe.push(byte.into());
                }
                _ => safe.push_str(&format!("%{byte:02X}")),
            }
        }
        // A name that is a number would be confused with the program of that number.
        if safe.bytes().all(|byte| byte.is_ascii_digit()) {
            safe.clear();
        }
        App { ranks, name: safe }
    }
}

pub fn write(apps: &[App]) -> String {
    let words: Vec<String> = apps.iter().map(|app| format!("{}:{}", app.ranks, app.name)).collect();
    words.join(" ")
}

/// `None` if the text was not written by [`write`] for a job of that size.
pub fn read(text: &str, size: usize) -> Option<Vec<App>> {
    let app = |word: &str| {
        let (ranks, name) = word.split_once(':')?;
        let ranks = ranks.parse().ok().filter(|&ranks| ranks <= size)?;
        Some(App { ranks, name: name.into() })
    };
    let apps: Vec<App> = text.split(' ').map(app).collect::<Option<_>>()?;
    (apps.iter().map(|app| app.ranks).sum::<usize>() == size).then_some(apps)
}

/// The sets of a job: first those by number, then those by name.
pub fn process_sets(apps: &[App]) -> Vec<ProcessSet> {
    let mut first = 0;
    let mut sets = Vec::new();
    let mut named: Vec<ProcessSet> = Vec::new();
    for (number, app) in apps.iter().enumerate() {
        let ranks = first..first + app.ranks as u32;
        first = ranks.end;
        sets.push(ProcessSet { name: format!("app://{number}"), ranks: ranks.clone().collect() });
        if app.name.is_empty() {
            continue;
        }
        let name = format!("app://{}", app.name);
        match named.iter_mut().find(|known| known.name == name) {
            Some(known) => known.ranks.extend(ranks),
            None => named.push(ProcessSet { name, ranks: ranks.collect() }),
        }
    }
    sets.extend(named);
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let apps = [App::new(2, b"ocean"), App::new(3, b"my model:x=\xff"), App::new(1, b"7"), App::new(0, b"")];
        let text = write(&apps);
        assert_eq!(text, "2:ocean 3:my%20model%3Ax%3D%FF 1: 0:");
        assert_eq!(read(&text, 6).unwrap(), apps);
        for (text, size) in [("", 1), ("2", 2), ("2:a", 3), ("2:a 2:b", 3), ("x:a", 1), ("-1:a", 0), ("1:a  1:b", 2)] {
            assert_eq!(read(text, size), None, "{text}");
        }
    }

    #[test]
    fn sets_by_number_and_by_name() {
        let sets = process_sets(&[App::new(2, b"a"), App::new(1, b"b"), App::new(1, b"a"), App::new(1, b"1")]);
        let shown: Vec<_> = sets.iter().map(|set| (set.name.as_str(), set.ranks.as_slice())).collect();
        let expected: [(&str, &[u32]); 6] = [
            ("app://0", &[0, 1]),
            ("app://1", &[2]),
            ("app://2", &[3]),
            ("app://3", &[4]),
            ("app://a", &[0, 1, 3]),
            ("app://b", &[2]),
        ];
        assert_eq!(shown, expected);
    }
}
