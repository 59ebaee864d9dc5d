//! The threads of an agent that execute one-sided requests of other nodes. Each owns some connections, and serves each of
//! them in turn; a connection stays with its thread, so its requests keep their order.
//!
//! The agent's control thread only hands over new connections: it must answer heartbeats and never copies memory of a
//! window. What a request needs is in `oxmpi_rma::far`.

use oxmpi_base::segment::Segment;
use oxmpi_base::socket::{Interest, Ready, ReadySet, pipe};
use oxmpi_rma::far::connection::{Connection, State};
use oxmpi_rma::far::served::ServedNode;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Threads at most.
const MOST_WORKERS: usize = 4;
/// The shortest and the longest pause before a request is tried again that needs what another process holds.
const FIRST_PAUSE: Duration = Duration::from_micros(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(1);
/// A thread with nothing to do looks up at this interval.
const IDLE: Duration = Duration::from_secs(60);
/// The number of the pipe among the descriptors of a thread.
const NEWS: u64 = u64::MAX;

/// A connection of a rank of this node, or one whose caller has proven to be a process of the job or of one that its ranks
/// have met.
pub struct Caller {
    /// A Unix socket, if it is a rank of this node.
    pub stream: TcpStream,
    /// Its slot, if it is a rank of this node.
    pub local_slot: Option<u32>,
}

/// All threads of an agent. They end with its process.
pub struct Workers {
    attach: Attach,
    /// The ranks, once there was a caller.
    node: Option<Arc<ServedNode>>,
    workers: Vec<Worker>,
    most: usize,
    next: usize,
}

/// Maps the segment of the ranks.
type Attach = Box<dyn Fn() -> io::Result<Arc<Segment>>>;

struct Worker {
    new: Arc<Mutex<Vec<Caller>>>,
    bell: File,
}

impl Workers {
    /// For the ranks of a node's segment.
    pub fn new(segment: Arc<Segment>) -> Workers {
        Workers::of(Box::new(move || Ok(Arc::clone(&segment))))
    }

    /// For the ranks of the segment that a function maps.
    pub fn of(attach: Attach) -> Workers {
        Workers { attach, node: None, workers: Vec::new(), most: 0, next: 0 }
    }

    /// Serves a connection from now on. The segment is mapped and threads are started when they are needed.
    pub fn serve(&mut self, caller: Caller) -> io::Result<()> {
        let node = match &self.node {
            Some(node) => node,
            None => {
                let segment = (self.attach)()?;
                // A thread for every four CPUs is enough, since the network is slower.
                self.most = (segment.header().cpus.load(Relaxed) as usize / 4).clamp(1, MOST_WORKERS);
                self.node.insert(Arc::new(ServedNode::new(segment)))
            }
        };
        if self.workers.len() < self.most {
            let worker = Worker::start(node)?;
            self.workers.push(worker);
        }
        let index = self.next % self.workers.len();
        self.next += 1;
        self.workers[index].hand(caller);
        Ok(())
    }
}

impl Worker {
    fn start(node: &Arc<ServedNode>) -> io::Result<Worker> {
        let (reader, writer) = pipe()?;
        let new = Arc::new(Mutex::new(Vec::new()));
        let set = ReadySet::new()?;
        set.add(reader.as_fd(), NEWS, Interest::Read)?;
        let mut turn = Turn {
            node: Arc::clone(node),
            new: Arc::clone(&new),
            bell: reader.into(),
            set,
            connections: HashMap::new(),
            next: 0,
        };
        thread::Builder::new().name("one-sided".into()).spawn(move || turn.run())?;
        Ok(Worker { new, bell: writer.into() })
    }

    fn hand(&mut self, caller: Caller) {
        self.new.lock().unwrap_or_else(PoisonError::into_inner).push(caller);
        // A pipe that is full rings anyhow.
        let _ = self.bell.write(&[1]);
    }
}

/// What a thread has.
struct Turn {
    node: Arc<ServedNode>,
    new: Arc<Mutex<Vec<Caller>>>,
    bell: File,
    set: ReadySet,
    connections: HashMap<u64, Served>,
    next: u64,
}

struct Served {
    connection: Connection,
    state: State,
}

impl Turn {
    fn run(&mut self) {
        let (mut ready, mut pause) = (Vec::new(), FIRST_PAUSE);
        loop {
            let again: Vec<u64> = self.of(|state| state.again || state.at_once);
            let at_once = self.connections.values().any(|served| served.state.at_once);
            let limit = if again.is_empty() { IDLE } else { Duration::ZERO };
            ready.clear();
            if self.set.wait(limit, &mut ready).is_err() {
                thread::sleep(LONGEST_PAUSE);
            }
            let found: Vec<u64> = ready.iter().map(|&Ready(number)| number).collect();
            if found.is_empty() && !again.is_empty() && !at_once {
                thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            } else {
                pause = FIRST_PAUSE;
            }
            if found.contains(&NEWS) {
                self.take_new();
            }
            // One that has something to do again may be ready, too: it has its turn once.
            let mut turns = found;
            turns.extend(again);
            turns.sort_unstable();
            turns.dedup();
            turns.into_iter().filter(|&number| number != NEWS).for_each(|number| self.work(number));
        }
    }

    fn of(&self, what: impl Fn(&State) -> bool) -> Vec<u64> {
        self.connections.iter().filter(|(_, served)| what(&served.state)).map(|(&number, _)| number).collect()
    }

    fn take_new(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.bell.read(&mut bytes), Ok(count) if count == bytes.len()) {}
        let new = std::mem::take(&mut *self.new.lock().unwrap_or_else(PoisonError::into_inner));
        for Caller { stream, local_slot } in new {
            // A connection that cannot be served is closed: its caller sees that.
            let Ok(connection) = Connection::new(stream, local_slot) else { continue };
            let number = self.next;
            if self.set.add(connection.descriptor(), number, Interest::Read).is_err() {
                continue;
            }
            self.next += 1;
            self.connections.insert(number, Served { connection, state: State::NEW });
            self.work(number);
        }
    }

    fn work(&mut self, number: u64) {
        let Some(served) = self.connections.get_mut(&number) else { return };
        let before = interest(served.state);
        match served.connection.work(&self.node) {
            Ok(state) => {
                served.state = state;
                if interest(state) != before {
                    let _ = self.set.change(served.connection.descriptor(), number, interest(state));
                }
            }
            Err(_) => {
                if let Some(served) = self.connections.remove(&number) {
                    self.set.remove(served.connection.descriptor());
                    served.connection.end(&self.node);
                }
            }
        }
    }
}

/// What a connection's socket is watched for.
fn interest(state: State) -> Interest {
    match (state.reads, state.wants_room) {
        (true, false) => Interest::Read,
        (true, true) => Interest::ReadAndWrite,
        (false, true) => Interest::Write,
        (false, false) => Interest::Nothing,
    }
}
