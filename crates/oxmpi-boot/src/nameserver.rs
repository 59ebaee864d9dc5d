//! The name server, `oxmpi nameserver`, for names that jobs on several machines publish for each other: how processes find
//! it, the key that both sides prove (`handshake.rs`), and what they say then. The server itself is in `oxmpi-cli`.
//!
//! ```text
//! client  ->  length u32, NameRequest     after the handshake, as often as it likes
//! server  ->  length u32, NameAnswer      to each of them
//! ```
//!
//! A name lives as long as the connection over which it was published: it vanishes with its process.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use oxmpi_base::address::JobId;
use oxmpi_base::trust;
use serde::{Deserialize, Serialize};

use crate::handshake::{End, KEY_BYTES, Key, KeyId, Kind};
use crate::network::{Attempt, Network, NodePort};

/// Names the server: `HOST:PORT`, or a file that names it and its key file.
pub const VARIABLE: &str = "OXMPI_NAMESERVER";
/// The key file, where [`VARIABLE`] does not name one.
pub const KEY_VARIABLE: &str = "OXMPI_NAMESERVER_KEY";
/// The key file below the home directory, where no variable names one.
const KEY_FILE: &str = ".oxmpi/nameserver.key";

/// Those who know the key of a name server.
pub const KEY_ID: KeyId = *b"OxMPI nameserver";

/// The longest request or answer.
pub const MOST_BYTES: usize = 16 << 10;

pub type NameAnswer = Result<Vec<u8>, (i32, String)>;

/// A name server as a process is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameServer {
    /// `HOST:PORT`.
    pub at: String,
    pub key_file: PathBuf,
}

impl NameServer {
    /// The server that the environment names, if it names one; an error says what is wrong with it.
    pub fn from_env() -> Result<Option<NameServer>, String> {
        let text = |name: &str| trust::text(name).filter(|text| !text.is_empty());
        let Some(value) = text(VARIABLE) else { return Ok(None) };
        let home = text("HOME").map(|home| Path::new(&home).join(KEY_FILE));
        let key_file = text(KEY_VARIABLE).map(PathBuf::from).or(home);
        NameServer::read(&value, key_file).map(Some)
    }

    fn read(value: &str, key_file: Option<PathBuf>) -> Result<NameServer, String> {
        let wrong = |text: &str| {
            format!(
                "{VARIABLE} is \"{value}\": {text}; it must be HOST:PORT, or the path of a file with the lines server HOST:PORT and key FILE"
            )
        };
        if !value.contains('/') {
            check_place(value).map_err(wrong)?;
            let key_file = key_file.ok_or_else(|| wrong(&format!("{KEY_VARIABLE} must name the key file")))?;
            return Ok(NameServer { at: value.into(), key_file });
        }
        let file = fs::read_to_string(value).map_err(|error| wrong(&format!("it cannot be read: {error}")))?;
        let (mut at, mut key_file) = (None, key_file);
        for line in file.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.split_once(char::is_whitespace) {
                Some(("server", place)) => at = Some(place.trim().to_string()),
                Some(("key", path)) => key_file = Some(path.trim().into()),
                _ => return Err(wrong(&format!("its line \"{line}\" makes no sense"))),
            }
        }
        let at = at.ok_or_else(|| wrong("it names no server"))?;
        check_place(&at).map_err(wrong)?;
        let key_file = key_file.ok_or_else(|| wrong("it names no key file"))?;
        Ok(NameServer { at, key_file })
    }

    /// Begins a connection to the server.
    pub fn connect(&self, job: JobId, own: End) -> Result<Attempt, String> {
        let cannot = |what: String| format!("the name server at {} cannot be asked: {what}", self.at);
        let key = read_key(&self.key_file).map_err(cannot)?;
        let found = self.at.to_socket_addrs().map_err(|error| cannot(error.to_string()))?;
        let found: Vec<SocketAddr> = found.collect();
        let port = found.first().map_or(0, SocketAddr::port);
        let at = NodePort { port, addresses: found.iter().map(SocketAddr::ip).collect(), host: self.at.clone() };
        let network = Network::of_one_machine(job, own);
        network.call(Kind::Names, (KEY_ID, &key), &at, End { node: 0, slot: End::AGENT }).map_err(cannot)
    }
}

fn check_place(at: &str) -> Result<(), &'static str> {
    match at.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0) => Ok(()),
        _ => Err("there is no host and port"),
    }
}

/// The key in a file that nobody else may read.
pub fn read_key(path: &Path) -> Result<Key, String> {
    let shown = path.display();
    let file = File::open(path).map_err(|error| format!("the key file {shown} cannot be read: {error}"))?;
    let found = file.metadata().map_err(|error| format!("the key file {shown} cannot be examined: {error}"))?;
    if !found.is_file() || found.uid() != trust::user() || found.mode() & 0o077 != 0 {
        return Err(format!(
            "the key file {shown} must be a file of this user that nobody else can read (mode 600); its mode is {:o}",
            found.mode() & 0o7777
        ));
    }
    let mut text = String::new();
    let read = file.take(4096).read_to_string(&mut text);
    let digits = text.trim();
    let mut key = [0; KEY_BYTES];
    let is_key = read.is_ok() && digits.len() == 2 * KEY_BYTES && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !is_key {
        return Err(format!("the key file {shown} does not hold a key: {} hexadecimal digits", 2 * KEY_BYTES));
    }
    for (at, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap_or(0);
    }
    Ok(Key::from_bytes(key))
}

/// Makes a key file; an error when it exists.
pub fn make_key(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let key = Key::random()?;
    let digits: String = key.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{digits}")
}

/// The default place of a key file.
pub fn default_key_file() -> Option<PathBuf> {
    let text = |name: &str| trust::text(name).filter(|text| !text.is_empty());
    text(KEY_VARIABLE).map(PathBuf::from).or_else(|| text("HOME").map(|home| Path::new(&home).join(KEY_FILE)))
}

/// A message with its length in front.
pub fn write(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = postcard::to_stdvec(message).map_err(io::Error::other)?;
    if body.len() > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a name or a port is too long"));
    }
    let mut bytes = (body.len() as u32).to_le_bytes().to_vec();
    bytes.extend(body);
    Ok(bytes)
}

/// The length of a message that begins with these bytes, if it can be one.
pub fn length(head: [u8; 4]) -> Option<usize> {
    let length = u32::from_le_bytes(head) as usize;
    (1..=MOST_BYTES).contains(&length).then_some(length)
}

/// A whole message and nothing after it.
pub fn read<'a, M: Deserialize<'a>>(body: &'a [u8]) -> Option<M> {
    match postcard::take_from_bytes(body) {
        Ok((message, [])) => Some(message),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::NameRequest;
    use std::os::unix::fs::PermissionsExt;

    fn folder(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("oxmpi-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    #[test]
    fn a_server_is_named_by_a_place_or_a_file() {
        let key = Some(PathBuf::from("/k"));
        let plain = NameServer::read("host:77", key.clone()).unwrap();
        assert_eq!(plain, NameServer { at: "host:77".into(), key_file: "/k".into() });
        for wrong in ["host", "host:", ":77", "host:0", "host:x", "host:70000", "/nonexistent/file"] {
            let error = NameServer::read(wrong, key.clone()).unwrap_err();
            assert!(error.contains(wrong) && error.contains("HOST:PORT"), "{error}");
        }
        assert!(NameServer::read("host:77", None).unwrap_err().contains(KEY_VARIABLE));
        let folder = folder("places");
        let file = folder.join("server");
        let read = |text: &str| {
            fs::write(&file, text).unwrap();
            NameServer::read(file.to_str().unwrap(), key.clone())
        };
        let named = read("# ours\nserver [::1]:9\nkey /x y\n").unwrap();
        assert_eq!(named, NameServer { at: "[::1]:9".into(), key_file: "/x y".into() });
        assert_eq!(read("server a:1").unwrap().key_file, PathBuf::from("/k"));
        assert!(read("key /x").unwrap_err().contains("no server"));
        assert!(read("server a").unwrap_err().contains("no host and port"));
        assert!(read("nonsense").unwrap_err().contains("\"nonsense\""));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_key_file_is_for_its_user_alone() {
        let folder = folder("keys");
        let path = folder.join("new/key");
        assert!(read_key(&path).unwrap_err().contains("cannot be read"));
        make_key(&path).unwrap();
        assert!(make_key(&path).is_err(), "it exists");
        let key = read_key(&path).unwrap();
        assert_ne!(key.as_bytes(), &[0; KEY_BYTES]);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = read_key(&path).err().unwrap();
        assert!(error.contains("nobody else can read") && error.contains("640"), "{error}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for wrong in ["", "12", &"g".repeat(64), &"1".repeat(65)] {
            fs::write(&path, wrong).unwrap();
            assert!(read_key(&path).err().unwrap().contains("does not hold a key"));
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn messages_have_their_length_in_front() {
        let request = NameRequest::LookUp { service: b"x".to_vec() };
        let bytes = write(&request).unwrap();
        let (head, body) = bytes.split_first_chunk::<4>().unwrap();
        assert_eq!(length(*head), Some(body.len()));
        assert_eq!(read(body), Some(request));
        assert_eq!(read::<NameRequest>(&bytes), None);
        assert_eq!((length([0; 4]), length([255; 4])), (None, None));
        assert!(write(&NameRequest::LookUp { service: vec![0; MOST_BYTES] }).is_err());
    }
}
