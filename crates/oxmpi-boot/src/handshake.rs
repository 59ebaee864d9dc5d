//! How two processes prove to each other that they know a key, before a byte of a connection is believed. A [`KeyId`] is the
//! public name of one key: that of the processes of a job, those of jobs that are connected, those who know a port.
//!
//! ```text
//! client  ->  hello                        who calls whom, what for, a nonce
//! server  ->  nonce, HMAC(key, "S" hello nonce)
//! client  ->  HMAC(key, "C" hello nonce)
//! server  ->  verdict                      go on, or why not
//! ```
//!
//! Both nonces, both ends and the kind of the connection are part of both proofs, and each proof has a letter for its
//! side, so that a proof can be neither replayed nor sent back to its maker. A server closes the connection without a
//! word when the key is unknown or a proof is wrong: it tells an unproven caller nothing. There is no encryption.
//!
//! Nothing here reads or writes a socket; the functions take and give fixed numbers of bytes. Deadlines and the number of
//! unproven connections are the business of the caller.

use hmac::{Hmac, Mac};
use oxmpi_base::address::JobId;
use sha2::{Digest, Sha256};
use std::fmt;
use std::io;

/// The secret of a job, 256 random bits. It never appears in arguments, environments, files or messages of this library.
#[derive(Clone)]
pub struct Key([u8; KEY_BYTES]);

pub const KEY_BYTES: usize = 32;
pub const HELLO_BYTES: usize = 120;
pub const CHALLENGE_BYTES: usize = 64;
pub const PROOF_BYTES: usize = 32;
/// A verdict without its text.
pub const VERDICT_BYTES: usize = 4;
/// The longest text of a verdict.
pub const MOST_TEXT: usize = 512;

/// Changes with every change of what goes over the wire.
pub const WIRE_VERSION: u32 = 2;

const MAGIC: [u8; 8] = *b"OxMPI\r\n\0";
/// Reads as itself only where the byte order is the same.
const BYTE_ORDER: u32 = 0x0102_0304;

type Nonce = [u8; 32];

/// The public name of a key.
pub type KeyId = [u8; 16];

/// What the name of a port contains to prove the first contact.
pub type Secret = [u8; 16];

/// One end of a connection: a process of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    pub node: u32,
    /// [`End::AGENT`]: the agent of the node.
    pub slot: u32,
}

impl End {
    pub const AGENT: u32 = u32::MAX;
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.slot {
            End::AGENT => write!(f, "the agent of node {}", self.node),
            slot => write!(f, "process {slot} of node {}", self.node),
        }
    }
}

/// What a connection is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Kind {
    /// Messages between two ranks.
    Link = 1,
    /// One-sided work for the ranks of a node, done by its agent.
    OneSided = 2,
    /// An agent and the one above it, or `mpirun`.
    Control = 3,
    /// The first contact with the owner of a port.
    Port = 4,
    /// News of the processes of a node, for those of another job.
    Watch = 5,
    /// Published names, with a name server.
    Names = 6,
    /// A connection that the agent of the called node makes for a caller that cannot reach it.
    Back = 7,
    /// The caller says that it has died, or its node says so for it: the job has failed. For jobs that another launcher has
    /// started; nothing follows.
    Failed = 8,
}

impl Kind {
    fn from_number(number: u32) -> Option<Kind> {
        use Kind::*;
        let all = [Link, OneSided, Control, Port, Watch, Names, Back, Failed];
        all.into_iter().find(|&kind| kind as u32 == number)
    }
}

/// The first thing that a client says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hello {
    pub version: u32,
    pub byte_order: u32,
    pub kind: Kind,
    /// Whose key is proven: 128 random bits.
    pub key_id: KeyId,
    /// A hash of the build, since two builds of one version may differ.
    pub build: u64,
    /// The job of the caller, and its process there.
    pub job: JobId,
    pub from: End,
    pub to: End,
    nonce: Nonce,
}

/// Why a connection does not come to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// The bytes are not a hello, or the proof is wrong: no process of this job has sent them.
    NotOurs,
    /// The server knows the key and does not want the connection.
    Told(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::NotOurs => f.write_str("the other side does not know the key"),
            Refused::Told(why) => f.write_str(why),
        }
    }
}

impl Key {
    pub fn random() -> io::Result<Key> {
        Ok(Key(random()?))
    }

    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Key {
        Key(bytes)
    }

    /// The key, and its number, of those who know the secret of a port.
    pub fn of_secret(secret: &Secret) -> (KeyId, Key) {
        let hash =
            |what: &[u8]| -> [u8; 32] { Sha256::new().chain_update(what).chain_update(secret).finalize().into() };
        let mut key_id = [0; 16];
        key_id.copy_from_slice(&hash(b"OxMPI key id of a port")[..16]);
        (key_id, Key(hash(b"OxMPI key of a port")))
    }

    /// The key of this number of those who know a secret that others have made: all that a batch system has started for a job.
    pub fn of_job(secret: &[u8], key_id: &KeyId) -> Key {
        // Every length of key is right for this function.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { unreachable!("HMAC takes any key") };
        mac.update(b"OxMPI key of the agents of a job");
        mac.update(key_id);
        Key(mac.finalize().into_bytes().into())
    }

    /// For the launcher's own channel only.
    pub fn as_bytes(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    fn mac(&self, side: u8, hello: &[u8; HELLO_BYTES], nonce: &Nonce) -> Hmac<Sha256> {
        // Every length of key is right for this function.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { unreachable!("HMAC takes any key") };
        mac.update(&[side]);
        mac.update(hello);
        mac.update(nonce);
        mac
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(secret)")
    }
}

/// Random bytes for keys, secrets and names.
pub fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(format!("no random bytes: {error}")))?;
    Ok(bytes)
}

impl Hello {
    pub fn new(kind: Kind, key_id: KeyId, build: u64, (job, from): (JobId, End), to: End) -> io::Result<Hello> {
        let (version, byte_order) = (WIRE_VERSION, BYTE_ORDER);
        Ok(Hello { version, byte_order, kind, key_id, build, job, from, to, nonce: random()? })
    }

    pub fn to_bytes(self) -> [u8; HELLO_BYTES] {
        let mut bytes = [0; HELLO_BYTES];
        let numbers = [self.kind as u32, self.from.node, self.from.slot, self.to.node, self.to.slot];
        let mut at = 0;
        let mut put = |part: &[u8]| {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        };
        put(&MAGIC);
        put(&self.version.to_le_bytes());
        // In the sender's own order: the reader sees whether it is its own.
        put(&self.byte_order.to_ne_bytes());
        numbers.iter().for_each(|number| put(&number.to_le_bytes()));
        put(&[0; 4]);
        put(&self.build.to_le_bytes());
        put(&self.key_id);
        self.job.words().iter().for_each(|word| put(&word.to_le_bytes()));
        put(&self.nonce);
        bytes
    }

    /// `None` for bytes that no process of any job sends.
    pub fn from_bytes(bytes: &[u8; HELLO_BYTES]) -> Option<Hello> {
        let word = |at: usize| -> [u8; 4] { [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]] };
        let number = |at: usize| u32::from_le_bytes(word(at));
        let long = |at: usize| u64::from(number(at)) | u64::from(number(at + 4)) << 32;
        if bytes[..8] != MAGIC || number(36) != 0 {
            return None;
        }
        Some(Hello {
            version: number(8),
            byte_order: u32::from_ne_bytes(word(12)),
            kind: Kind::from_number(number(16))?,
            from: End { node: number(20), slot: number(24) },
            to: End { node: number(28), slot: number(32) },
            build: long(40),
            key_id: *bytes[48..64].first_chunk()?,
            job: JobId::from_words([long(64), long(72), long(80)]),
            nonce: *bytes[88..].first_chunk()?,
        })
    }

    /// What keeps two proven processes from understanding each other, in words that name both hosts.
    pub fn differs_from(&self, build: u64, this_host: &str, that_host: &str) -> Option<String> {
        if self.byte_order != BYTE_ORDER {
            return Some(format!("{this_host} and {that_host} have different byte orders"));
        }
        if self.version != WIRE_VERSION {
            return Some(format!(
                "{this_host} speaks version {WIRE_VERSION} of OxMPI's protocol and {that_host} version {}: install the \
                 same OxMPI on both",
                self.version
            ));
        }
        (self.build != build).then(|| {
            format!("{this_host} and {that_host} have different builds of OxMPI: install the same OxMPI on both")
        })
    }
}

/// The side that connects, between hello and verdict.
pub struct Client {
    key: Key,
    hello: [u8; HELLO_BYTES],
}

impl Client {
    pub fn new(key: &Key, hello: Hello) -> Client {
        Client { key: key.clone(), hello: hello.to_bytes() }
    }

    pub fn hello(&self) -> &[u8; HELLO_BYTES] {
        &self.hello
    }

    /// Our proof, if the server has given a right one.
    pub fn prove(&self, challenge: &[u8; CHALLENGE_BYTES]) -> Result<[u8; PROOF_BYTES], Refused> {
        let (Some(nonce), Some(proof)) = (challenge.first_chunk::<32>(), challenge.last_chunk::<32>()) else {
            unreachable!("a challenge has two parts of 32 bytes")
        };
        self.key.mac(b'S', &self.hello, nonce).verify_slice(proof).map_err(|_| Refused::NotOurs)?;
        Ok(self.key.mac(b'C', &self.hello, nonce).finalize().into_bytes().into())
    }
}

/// The side that accepts, between hello and verdict.
pub struct Server {
    key: Key,
    hello: [u8; HELLO_BYTES],
    nonce: Nonce,
}

impl Server {
    /// For a hello that names this key.
    pub fn new(key: &Key, hello: &Hello) -> io::Result<Server> {
        Ok(Server { key: key.clone(), hello: hello.to_bytes(), nonce: random()? })
    }

    pub fn challenge(&self) -> [u8; CHALLENGE_BYTES] {
        let mut bytes = [0; CHALLENGE_BYTES];
        bytes[..32].copy_from_slice(&self.nonce);
        bytes[32..].copy_from_slice(&self.key.mac(b'S', &self.hello, &self.nonce).finalize().into_bytes());
        bytes
    }

    /// Whether the client knows the key.
    pub fn check(&self, proof: &[u8; PROOF_BYTES]) -> Result<(), Refused> {
        self.key.mac(b'C', &self.hello, &self.nonce).verify_slice(proof).map_err(|_| Refused::NotOurs)
    }
}

/// The last word of a server to a proven client: go on, or why not.
pub fn verdict(why_not: Option<&str>) -> Vec<u8> {
    let text = why_not.map_or("", |why| cut(why, MOST_TEXT));
    let mut bytes = vec![u8::from(why_not.is_some()), 0];
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

/// How many bytes of text follow the first bytes of a verdict.
pub fn verdict_text_bytes(head: &[u8; VERDICT_BYTES]) -> Result<usize, Refused> {
    let length = usize::from(u16::from_le_bytes([head[2], head[3]]));
    match (head[0], head[1], length) {
        (0, 0, 0) => Ok(0),
        (1, 0, length) if length <= MOST_TEXT => Ok(length),
        _ => Err(Refused::NotOurs),
    }
}

/// What a whole verdict says.
pub fn read_verdict(head: &[u8; VERDICT_BYTES], text: &[u8]) -> Result<(), Refused> {
    if verdict_text_bytes(head)? != text.len() {
        return Err(Refused::NotOurs);
    }
    match head[0] {
        0 => Ok(()),
        _ => Err(Refused::Told(String::from_utf8_lossy(text).escape_debug().to_string())),
    }
}

/// The beginning of a text that has at most so many bytes.
fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: End = End { node: 0, slot: 3 };
    const B: End = End { node: 7, slot: End::AGENT };

    fn key(byte: u8) -> Key {
        Key::from_bytes([byte; KEY_BYTES])
    }

    fn hello() -> Hello {
        Hello::new(Kind::Link, [9; 16], 77, (JobId { inode: 1, holder: 2, fd: 3, host: 4 }, A), B).unwrap()
    }

    #[test]
    fn both_sides_know_the_key() {
        let (key, hello) = (key(1), hello());
        let client = Client::new(&key, hello);
        let heard = Hello::from_bytes(client.hello()).unwrap();
        assert_eq!(heard, hello);
        let server = Server::new(&key, &heard).unwrap();
        let proof = client.prove(&server.challenge()).unwrap();
        assert_eq!(server.check(&proof), Ok(()));
        let go = verdict(None);
        assert_eq!(read_verdict(go[..4].try_into().unwrap(), &go[4..]), Ok(()));
    }

    #[test]
    fn another_key_proves_nothing() {
        let (ours, theirs, hello) = (key(1), key(2), hello());
        let (client, server) = (Client::new(&ours, hello), Server::new(&theirs, &hello).unwrap());
        assert_eq!(client.prove(&server.challenge()), Err(Refused::NotOurs));
        let server = Server::new(&ours, &hello).unwrap();
        let proof = Client::new(&theirs, hello).prove(&Server::new(&theirs, &hello).unwrap().challenge()).unwrap();
        assert_eq!(server.check(&proof), Err(Refused::NotOurs));
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let (key, hello) = (key(1), hello());
        let client = Client::new(&key, hello);
        for bit in 0..8 * HELLO_BYTES {
            let mut bytes = *client.hello();
            bytes[bit / 8] ^= 1 << (bit % 8);
            // What the server reads is another hello or none; then its proof is of another one.
            if let Some(heard) = Hello::from_bytes(&bytes) {
                let challenge = Server::new(&key, &heard).unwrap().challenge();
                assert_eq!(client.prove(&challenge), Err(Refused::NotOurs), "bit {bit}");
            }
        }
        let server = Server::new(&key, &hello).unwrap();
        let (challenge, proof) = (server.challenge(), client.prove(&server.challenge()).unwrap());
        for bit in 0..8 * CHALLENGE_BYTES {
            let mut bytes = challenge;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(client.prove(&bytes), Err(Refused::NotOurs), "bit {bit}");
        }
        for bit in 0..8 * PROOF_BYTES {
            let mut bytes = proof;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(server.check(&bytes), Err(Refused::NotOurs), "bit {bit}");
        }
    }

    #[test]
    fn proofs_are_for_one_connection_and_one_side() {
        let (key, hello) = (key(1), hello());
        let client = Client::new(&key, hello);
        let first = Server::new(&key, &hello).unwrap();
        let proof = client.prove(&first.challenge()).unwrap();
        let second = Server::new(&key, &hello).unwrap();
        assert_eq!(second.check(&proof), Err(Refused::NotOurs), "replayed");
        let reflected = *first.challenge().last_chunk::<32>().unwrap();
        assert_eq!(first.check(&reflected), Err(Refused::NotOurs), "sent back to its maker");
        let for_another_kind = Client::new(&key, Hello { kind: Kind::Control, ..hello });
        assert_eq!(for_another_kind.prove(&first.challenge()), Err(Refused::NotOurs));
        let for_another_end = Client::new(&key, Hello { to: A, ..hello });
        assert_eq!(for_another_end.prove(&first.challenge()), Err(Refused::NotOurs));
    }

    #[test]
    fn differences_name_both_hosts() {
        let hello = hello();
        assert_eq!(hello.differs_from(77, "a", "b"), None);
        for (other, part) in [
            (Hello { version: 7, ..hello }, "version 7"),
            (Hello { byte_order: BYTE_ORDER.swap_bytes(), ..hello }, "byte orders"),
            (Hello { build: 1, ..hello }, "different builds"),
        ] {
            let text = other.differs_from(77, "hosta", "hostb").unwrap();
            assert!(text.contains(part) && text.contains("hosta") && text.contains("hostb"), "{text}");
        }
    }

    #[test]
    fn verdicts_are_bounded_and_printable() {
        let told = verdict(Some(&"\u{1b}[31mé".repeat(200)));
        assert!(told.len() <= VERDICT_BYTES + MOST_TEXT);
        let Err(Refused::Told(text)) = read_verdict(told[..4].try_into().unwrap(), &told[4..]) else { panic!() };
        assert!(!text.contains('\u{1b}'), "{text}");
        for head in [[2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 1, 255]] {
            assert_eq!(verdict_text_bytes(&head), Err(Refused::NotOurs));
        }
        assert_eq!(read_verdict(&[1, 0, 5, 0], b"four"), Err(Refused::NotOurs));
    }

    #[test]
    fn a_secret_gives_a_key_id_and_a_key_that_does_not_show_it() {
        let ((key_id, key), (same, _), (other, _)) =
            (Key::of_secret(&[1; 16]), Key::of_secret(&[1; 16]), Key::of_secret(&[2; 16]));
        assert!(key_id == same && key_id != other && key_id != [1; 16]);
        assert!(!key.as_bytes().starts_with(&key_id));
    }

    #[test]
    fn the_key_is_not_printed() {
        assert_eq!(format!("{:?}", key(65)), "Key(secret)");
    }
}
