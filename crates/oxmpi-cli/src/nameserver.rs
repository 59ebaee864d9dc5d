//! `oxmpi nameserver`: keeps the names that processes of several jobs publish, on any machines, as long as the processes
//! are connected (`oxmpi_boot::nameserver` has the protocol). Whoever knows the key may publish, look up, and nothing
//! else; who does not gets no answer but the challenge.
//!
//! One thread serves one connection. It must never trust a byte before the proof, and never wait for a client that says
//! nothing before it.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use oxmpi_abi::constants::{MPI_ERR_NAME, MPI_ERR_SERVICE};
use oxmpi_base::dial;
use oxmpi_boot::handshake::{HELLO_BYTES, Hello, Key, Kind, PROOF_BYTES, Server, verdict};
use oxmpi_boot::nameserver::{self, KEY_ID, NameAnswer};
use oxmpi_boot::network::BUILD;
use oxmpi_boot::requests::NameRequest;

/// Where it listens if the user does not say it.
const PLACE: &str = "[::]:7117";
/// Time for a client to prove the key.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections at a time, proven or not. A server that has more takes no new one.
const MOST: usize = 4096;
/// Names of one connection.
const MOST_NAMES: usize = 4096;

/// Serves until it is ended by a signal; returns only with an error.
pub fn serve(options: &[&str]) -> (String, i32) {
    match begin(options) {
        Ok((listener, key)) => run(&listener, &key),
        Err((text, status)) => {
            eprintln!("oxmpi: {text}");
            (String::new(), status)
        }
    }
}

fn begin(options: &[&str]) -> Result<(TcpListener, Key), (String, i32)> {
    let (mut place, mut key_file) = (PLACE.to_string(), nameserver::default_key_file());
    let mut words = options.iter();
    while let Some(&option) = words.next() {
        let value = words.next().ok_or_else(|| (format!("`oxmpi nameserver`: {option} needs a value"), 2))?;
        match option {
            "--listen" => place = value.to_string(),
            "--key-file" => key_file = Some(PathBuf::from(value)),
            _ => return Err((format!("`oxmpi nameserver` does not take `{option}` (see oxmpi --help)"), 2)),
        }
    }
    let path = key_file.ok_or_else(|| ("a name server needs a key file: --key-file FILE".to_string(), 2))?;
    if !path.exists() {
        let cannot = |error: io::Error| (format!("the key file {} cannot be made: {error}", path.display()), 1);
        nameserver::make_key(&path).map_err(cannot)?;
        eprintln!("oxmpi: made the key file {}; copy it to the machines whose jobs use this server", path.display());
    }
    let key = nameserver::read_key(&path).map_err(|text| (text, 1))?;
    // Where IPv6 is off, the default place has none.
    let listener = match TcpListener::bind(&place) {
        Err(_) if place == PLACE => TcpListener::bind(place.replace("[::]", "0.0.0.0")),
        other => other,
    };
    let listener = listener.map_err(|error| (format!("cannot listen on {place}: {error}"), 1))?;
    Ok((listener, key))
}

fn run(listener: &TcpListener, key: &Key) -> (String, i32) {
    let state = Arc::new(State::default());
    match listener.local_addr() {
        Ok(place) => println!("oxmpi nameserver: listening on {place}"),
        Err(error) => eprintln!("oxmpi: cannot tell where the server listens: {error}"),
    }
    let _ = io::stdout().flush();
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // No descriptors are left: connections end meanwhile.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        if state.connections.fetch_add(1, Ordering::Relaxed) >= MOST {
            state.connections.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (state, key) = (Arc::clone(&state), key.clone());
        std::thread::spawn(move || {
            let number = state.next.fetch_add(1, Ordering::Relaxed);
            // A client that breaks the rules or leaves gets no more answers.
            let _ = attend(&state, &key, stream, number);
            state.forget(number);
            state.connections.fetch_sub(1, Ordering::Relaxed);
        });
    }
    (String::new(), 1)
}

#[derive(Default)]
struct State {
    names: Mutex<HashMap<Vec<u8>, Published>>,
    connections: AtomicUsize,
    next: AtomicU64,
}

struct Published {
    port: Vec<u8>,
    /// The connection over which it came.
    by: u64,
}

/// Serves one connection to its end.
fn attend(state: &State, key: &Key, mut stream: TcpStream, number: u64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut hello = [0; HELLO_BYTES];
    stream.read_exact(&mut hello)?;
    let Some(hello) = Hello::from_bytes(&hello).filter(|hello| hello.kind == Kind::Names && hello.key_id == KEY_ID)
    else {
        return Ok(());
    };
    let server = Server::new(key, &hello)?;
    stream.write_all(&server.challenge())?;
    let mut proof = [0; PROOF_BYTES];
    stream.read_exact(&mut proof)?;
    if server.check(&proof).is_err() {
        return Ok(());
    }
    let difference = hello.differs_from(BUILD, "the name server", "the client");
    stream.write_all(&verdict(difference.as_deref()))?;
    if difference.is_some() {
        return Ok(());
    }
    stream.set_read_timeout(None)?;
    dial::keep_alive(stream.as_fd())?;
    loop {
        let mut head = [0; 4];
        stream.read_exact(&mut head)?;
        let Some(length) = nameserver::length(head) else { return Ok(()) };
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        let Some(request) = nameserver::read(&body) else { return Ok(()) };
        stream.write_all(&nameserver::write(&state.answer(number, request))?)?;
    }
}

impl State {
    fn names(&self) -> MutexGuard<'_, HashMap<Vec<u8>, Published>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, by: u64, request: NameRequest) -> NameAnswer {
        let mut names = self.names();
        let show = |service: &[u8]| String::from_utf8_lossy(service).into_owned();
        match request {
            NameRequest::Publish { service, port } => {
                if names.contains_key(&service) {
                    return Err((
                        MPI_ERR_SERVICE,
                        format!("the name \"{}\" has been published already", show(&service)),
                    ));
                }
                if names.values().filter(|known| known.by == by).count() >= MOST_NAMES {
                    return Err((MPI_ERR_SERVICE, format!("this process has published {MOST_NAMES} names already")));
                }
                names.insert(service, Published { port, by });
                Ok(Vec::new())
            }
            NameRequest::Unpublish { service, port } => match names.get(&service).filter(|known| known.by == by) {
                None => {
                    Err((MPI_ERR_SERVICE, format!("this process has not published the name \"{}\"", show(&service))))
                }
                Some(known) if known.port != port => {
                    let (service, port) = (show(&service), show(&known.port));
                    Err((MPI_ERR_SERVICE, format!("the name \"{service}\" was published for the port {port}")))
                }
                Some(_) => {
                    names.remove(&service);
                    Ok(Vec::new())
                }
            },
            NameRequest::LookUp { service } => match names.get(&service) {
                Some(known) => Ok(known.port.clone()),
                None => Err((
                    MPI_ERR_NAME,
                    format!("no process has published the name \"{}\" at the name server", show(&service)),
                )),
            },
            NameRequest::Clear => {
                names.retain(|_, known| known.by != by);
                Ok(Vec::new())
            }
        }
    }

    /// A connection has ended, and with it its names.
    fn forget(&self, by: u64) {
        self.names().retain(|_, known| known.by != by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_belong_to_the_connection_that_published_them() {
        let state = State::default();
        let publish = |port: &str| NameRequest::Publish { service: b"s".to_vec(), port: port.into() };
        let unpublish = |port: &str| NameRequest::Unpublish { service: b"s".to_vec(), port: port.into() };
        let look_up = || NameRequest::LookUp { service: b"s".to_vec() };
        assert_eq!(state.answer(1, look_up()).unwrap_err().0, MPI_ERR_NAME);
        assert_eq!(state.answer(1, publish("a")), Ok(Vec::new()));
        assert_eq!(state.answer(2, publish("b")).unwrap_err().0, MPI_ERR_SERVICE);
        assert_eq!(state.answer(2, look_up()), Ok(b"a".to_vec()));
        assert!(state.answer(2, unpublish("a")).unwrap_err().1.contains("has not published"));
        assert!(state.answer(1, unpublish("b")).unwrap_err().1.contains("for the port a"));
        assert_eq!(state.answer(1, unpublish("a")), Ok(Vec::new()));
        state.answer(1, publish("a")).unwrap();
        state.forget(2);
        assert!(state.answer(2, look_up()).is_ok());
        state.forget(1);
        assert!(state.answer(2, look_up()).is_err());
    }

    #[test]
    fn options_are_checked() {
        assert_eq!(begin(&["--what", "x"]).err().unwrap().1, 2);
        assert_eq!(begin(&["--listen"]).err().unwrap().1, 2);
        let (text, status) = begin(&["--key-file", "/proc/none/key"]).err().unwrap();
        assert!(status == 1 && text.contains("/proc/none/key"), "{text}");
    }
}
