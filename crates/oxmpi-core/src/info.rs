//! The content of an info object: pairs of a key and a value, in the order of insertion.
//!
//! Keys and values are bytes, as C passes them: a hint may be a file name in any encoding. Layers
//! above handle handles, languages and padding; nothing here interprets a hint.

use oxmpi_abi::constants::*;
use oxmpi_abi::{Result, bail};
use std::borrow::Cow;

const LONGEST_KEY: usize = MPI_MAX_INFO_KEY as usize - 1;
const LONGEST_VALUE: usize = MPI_MAX_INFO_VAL as usize;

/// `clone` is `MPI_Info_dup`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Info {
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The result of `MPI_Info_get_string` for a key that exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fetched<'a> {
    /// The part of the value that fits, without a terminator; `None` when the caller's buffer must not be touched.
    pub text: Option<&'a [u8]>,
    /// The size of the buffer that the whole value needs.
    pub needed: i32,
}

impl Info {
    pub const fn new() -> Info {
        Info { pairs: Vec::new() }
    }

    /// Adds a pair, or replaces the value of a key, which keeps its position.
    pub fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check_key(key)?;
        if value.len() > LONGEST_VALUE {
            let (key, length) = (show(key), value.len());
            bail!(
                MPI_ERR_INFO_VALUE,
                "the value for info key \"{key}\" is {length} characters long; the limit is {LONGEST_VALUE}"
            );
        }
        match self.pairs.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value.to_vec(),
            None => self.pairs.push((key.to_vec(), value.to_vec())),
        }
        Ok(())
    }

    pub fn get(&self, key: &[u8]) -> Result<Option<&[u8]>> {
        check_key(key)?;
        Ok(self.find(key))
    }

    /// `MPI_Info_get_string` with a buffer of `buflen`, of which `terminator` are for the end of the string: 1 in C,
    /// 0 in Fortran.
    pub fn get_string(&self, key: &[u8], buflen: i32, terminator: usize) -> Result<Option<Fetched<'_>>> {
        let Ok(room) = usize::try_from(buflen) else {
            bail!(MPI_ERR_ARG, "buflen is {buflen}; it must not be negative");
        };
        let Some(value) = self.get(key)? else { return Ok(None) };
        let text = (room > 0).then(|| &value[..value.len().min(room.saturating_sub(terminator))]);
        Ok(Some(Fetched { text, needed: (value.len() + terminator) as i32 }))
    }

    pub fn delete(&mut self, key: &[u8]) -> Result<()> {
        check_key(key)?;
        let Some(place) = self.pairs.iter().position(|(known, _)| known == key) else {
            bail!(MPI_ERR_INFO_NOKEY, "the info object has no key \"{}\"", show(key));
        };
        self.pairs.remove(place);
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// The key with number `n`, from 0 in the order of insertion.
    pub fn nth_key(&self, n: i32) -> Result<&[u8]> {
        match usize::try_from(n).ok().and_then(|n| self.pairs.get(n)) {
            Some((key, _)) => Ok(key),
            None => bail!(MPI_ERR_ARG, "key number {n} is out of range: the info object has {} keys", self.len()),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.pairs.iter().map(|(key, value)| (key.as_slice(), value.as_slice()))
    }

    /// The value of a hint as text without surrounding spaces; `None` when it is missing or not
    /// UTF-8.
    pub fn text(&self, key: &str) -> Option<&str> {
        Some(std::str::from_utf8(self.find(key.as_bytes())?).ok()?.trim_matches(' '))
    }

    /// The value of a boolean hint; `None` when it is missing or invalid.
    pub fn boolean(&self, key: &str) -> Option<bool> {
        match self.text(key)? {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    }

    /// The value of an integer hint; `None` when it is missing or invalid.
    pub fn integer(&self, key: &str) -> Option<i64> {
        self.text(key)?.parse().ok()
    }

    /// The elements of a comma-separated hint; none when it is missing or empty.
    pub fn list(&self, key: &str) -> impl Iterator<Item = &str> {
        let text = self.text(key).filter(|text| !text.is_empty());
        text.into_iter().flat_map(|text| text.split(',')).map(|element| element.trim_matches(' '))
    }

    fn find(&self, key: &[u8]) -> Option<&[u8]> {
        self.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
    }
}

impl std::fmt::Debug for Info {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter().map(|(key, value)| (show(key), show(value)))).finish()
    }
}

/// How this process was started, as far as it is known: the content of `MPI_INFO_ENV` and of the
/// result of `MPI_Info_create_env`.
#[derive(Clone, Default, Debug)]
pub struct Environment<'a> {
    /// The program and its arguments; empty when they are not known.
    pub argv: &'a [&'a [u8]],
    /// The number of processes that were asked for, of this program.
    pub maxprocs: Option<usize>,
    pub initial_errhandler: Option<&'a str>,
    pub memory_alloc_kinds: Option<&'a str>,
    pub soft: Option<&'a str>,
    pub host: Option<&'a str>,
    pub arch: Option<&'a str>,
    pub wdir: Option<&'a [u8]>,
    pub file: Option<&'a [u8]>,
    /// The name of a thread level, such as `MPI_THREAD_MULTIPLE`, if one was asked for before the program started.
    pub thread_level: Option<&'a str>,
}

impl Environment<'_> {
    /// A value that is too long for an info object is left out: half a command line would mislead.
    pub fn to_info(&self) -> Info {
        let (command, arguments) = match self.argv.split_first() {
            Some((command, arguments)) => (Some(*command), Some(arguments.join(&b' '))),
            None => (None, None),
        };
        let maxprocs = self.maxprocs.map(|count| count.to_string());
        let text = |text: Option<&'_ str>| text.map(|text| text.as_bytes().to_vec());
        let pairs: [(&str, Option<Vec<u8>>); 11] = [
            ("command", command.map(<[u8]>::to_vec)),
            ("argv", arguments),
            ("maxprocs", text(maxprocs.as_deref())),
            ("mpi_initial_errhandler", text(self.initial_errhandler)),
            ("mpi_memory_alloc_kinds", text(self.memory_alloc_kinds)),
            ("soft", text(self.soft)),
            ("host", text(self.host)),
            ("arch", text(self.arch)),
            ("wdir", self.wdir.map(<[u8]>::to_vec)),
            ("file", self.file.map(<[u8]>::to_vec)),
            ("thread_level", text(self.thread_level)),
        ];
        let fits = |value: &Vec<u8>| value.len() <= LONGEST_VALUE;
        let pairs = pairs.into_iter().filter_map(|(key, value)| Some((key.as_bytes().to_vec(), value.filter(fits)?)));
        Info { pairs: pairs.collect() }
    }
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.is_empty() {
        bail!(MPI_ERR_INFO_KEY, "the info key is empty");
    }
    if key.len() > LONGEST_KEY {
        let (start, length) = (show(&key[..32]), key.len());
        bail!(
            MPI_ERR_INFO_KEY,
            "the info key that begins \"{start}\" is {length} characters long; the limit is {LONGEST_KEY}"
        );
    }
    Ok(())
}

fn show(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class<T>(result: Result<T>) -> i32 {
        result.err().map_or(MPI_SUCCESS, |error| error.class())
    }

    fn sample() -> Info {
        let mut info = Info::new();
        for (key, value) in [("one", "1"), ("two", "22"), ("Two", "222"), ("name", "\u{e9}"), ("empty", "")] {
            info.set(key.as_bytes(), value.as_bytes()).unwrap();
        }
        info
    }

    #[test]
    fn pairs_keep_their_order() {
        let mut info = sample();
        let keys = |info: &Info| {
            let all: Vec<Vec<u8>> = (0..info.len()).map(|n| info.nth_key(n as i32).unwrap().to_vec()).collect();
            all.iter().map(|key| show(key).into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(keys(&info), "one two Two name empty");
        info.set(b"two", b"another").unwrap();
        assert_eq!(keys(&info), "one two Two name empty");
        let copy = info.clone();
        info.delete(b"two").unwrap();
        assert_eq!(keys(&info), "one Two name empty");
        info.set(b"two", b"back").unwrap();
        assert_eq!(keys(&info), "one Two name empty two");
        assert_eq!(keys(&copy), "one two Two name empty");
        assert_eq!(copy.get(b"two").unwrap(), Some(&b"another"[..]));
        assert_eq!(info.get(b"two").unwrap(), Some(&b"back"[..]));
        assert_eq!(info.get(b"Two").unwrap(), Some(&b"222"[..]));
        assert_eq!(info.get(b"TWO").unwrap(), None);
        assert_eq!(class(info.delete(b"TWO")), MPI_ERR_INFO_NOKEY);
        for wrong in [-1, 5, i32::MAX, i32::MIN] {
            assert_eq!(class(info.nth_key(wrong)), MPI_ERR_ARG);
        }
    }

    #[test]
    fn limits() {
        let mut info = Info::new();
        info.set(&[b'k'; 255], &[0xff; 1024]).unwrap();
        assert_eq!(info.get(&[b'k'; 255]).unwrap(), Some(&[0xff; 1024][..]));
        assert_eq!(class(info.set(&[b'k'; 256], b"v")), MPI_ERR_INFO_KEY);
        assert_eq!(class(info.set(b"", b"v")), MPI_ERR_INFO_KEY);
        assert_eq!(class(info.set(b"k", &[b'v'; 1025])), MPI_ERR_INFO_VALUE);
        assert_eq!(class(info.get(&[b'k'; 256])), MPI_ERR_INFO_KEY);
        assert_eq!(class(info.get_string(&[b'k'; 300], 10, 1)), MPI_ERR_INFO_KEY);
        assert_eq!(class(info.delete(&[b'k'; 256])), MPI_ERR_INFO_KEY);
        assert_eq!(info.len(), 1);
    }

    #[test]
    fn get_string_cuts_and_says_what_is_needed() {
        let mut info = Info::new();
        info.set(b"key", b"12345").unwrap();
        let get = |buflen, terminator| {
            let fetched = info.get_string(b"key", buflen, terminator).unwrap().unwrap();
            (fetched.text, fetched.needed)
        };
        assert_eq!(get(0, 1), (None, 6));
        assert_eq!(get(1, 1), (Some(&b""[..]), 6));
        assert_eq!(get(5, 1), (Some(&b"1234"[..]), 6));
        assert_eq!(get(6, 1), (Some(&b"12345"[..]), 6));
        assert_eq!(get(100, 1), (Some(&b"12345"[..]), 6));
        assert_eq!(get(0, 0), (None, 5));
        assert_eq!(get(4, 0), (Some(&b"1234"[..]), 5));
        assert_eq!(get(5, 0), (Some(&b"12345"[..]), 5));
        assert_eq!(info.get_string(b"no", 10, 1).unwrap(), None);
        assert_eq!(class(info.get_string(b"key", -1, 1)), MPI_ERR_ARG);
    }

    #[test]
    fn hints_as_booleans_integers_and_lists() {
        let mut info = Info::new();
        for (key, value) in [
            ("t", " true "),
            ("f", "false"),
            ("x", "TRUE"),
            ("n", " +12"),
            ("m", "-7 "),
            ("b", "- 7"),
            ("l", "a, b ,,c"),
        ] {
            info.set(key.as_bytes(), value.as_bytes()).unwrap();
        }
        info.set(b"raw", &[0xff]).unwrap();
        assert_eq!(["t", "f", "x", "none"].map(|key| info.boolean(key)), [Some(true), Some(false), None, None]);
        assert_eq!(["n", "m", "b", "t"].map(|key| info.integer(key)), [Some(12), Some(-7), None, None]);
        assert_eq!(info.list("l").collect::<Vec<_>>(), ["a", "b", "", "c"]);
        assert_eq!(info.list("none").count(), 0);
        assert_eq!(info.text("raw"), None);
    }

    #[test]
    fn environment_holds_what_is_known() {
        let argv: [&[u8]; 3] = [b"./ocean", b"-n", b"two words"];
        let known = Environment { argv: &argv, maxprocs: Some(5), arch: Some("x86_64"), ..Environment::default() };
        let info = known.to_info();
        let get = |key: &str| info.text(key);
        assert_eq!(
            ["command", "argv", "maxprocs", "arch"].map(get).map(Option::unwrap),
            ["./ocean", "-n two words", "5", "x86_64"]
        );
        assert_eq!(info.len(), 4);
        assert!(Environment::default().to_info().is_empty());
        let alone: [&[u8]; 1] = [b"a.out"];
        let info = Environment { argv: &alone, ..Environment::default() }.to_info();
        assert_eq!(info.get(b"argv").unwrap(), Some(&b""[..]));
        let long = vec![b'x'; 2000];
        let argv: [&[u8]; 2] = [b"a.out", &long];
        let info = Environment { argv: &argv, ..Environment::default() }.to_info();
        assert_eq!(info.get(b"argv").unwrap(), None);
        assert!(info.get(b"command").unwrap().is_some());
    }
}
