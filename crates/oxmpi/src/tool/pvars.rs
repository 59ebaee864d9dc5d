//! Performance variables. A level, a size or a state is computed when it is read; a counter counts
//! events that are rare or slow anyway. No variable may slow down a message or a collective
//! operation.
//!
//! Counters and timers run for the whole process. A handle stores their value when it was started,
//! so that sessions are independent of each other.

use super::answer::{Answer, Code, INVALID, INVALID_HANDLE, Value};
use super::category::Category;
use super::enums::{Enumeration, NO_CALL};
use super::state::{Object, State, Subject};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm as CommHandle, Datatype, TPvarHandle, TPvarSession};
use oxmpi_base::wait;
use oxmpi_core::board::Board;
use oxmpi_core::comm::Comm;
use oxmpi_core::library::Library;
use oxmpi_core::process::Process;
use oxmpi_transport::tcp::traffic::Travelled;
use std::sync::atomic::Ordering::Relaxed;

pub struct Variable {
    pub name: &'static str,
    pub description: &'static str,
    pub verbosity: i32,
    pub class: i32,
    pub category: Category,
    source: Source,
}

/// The source of the value; it implies the type, the bound object and the allowed operations.
enum Source {
    /// 0 while neither the world nor a session is active.
    Process(fn(&Process) -> u64),
    Anytime(fn(&Library) -> u64),
    State(Enumeration, fn(&Library) -> i32),
    OnComm(fn(&Process, &Comm) -> u64),
    /// A number for every rank that can send on the communicator.
    ByRank(fn(&Process, &Comm) -> Vec<u64>),
    StateOfComm(Enumeration, fn(&Comm) -> i32),
    Counter(fn(&Subject) -> u64),
    /// In nanoseconds here, in seconds for the tool.
    Timer(fn(&Subject) -> u64),
}

const fn level(name: &'static str, category: Category, source: Source, description: &'static str) -> Variable {
    let (verbosity, class) = (MPI_T_VERBOSITY_TUNER_BASIC, MPI_T_PVAR_CLASS_LEVEL);
    Variable { name, description, verbosity, class, category, source }
}

const fn other(
    class: i32,
    name: &'static str,
    category: Category,
    source: Source,
    description: &'static str,
) -> Variable {
    Variable { name, description, verbosity: MPI_T_VERBOSITY_TUNER_BASIC, class, category, source }
}

/// The number of objects that the program made and has not freed.
const fn objects(name: &'static str, source: Source, description: &'static str) -> Variable {
    let (verbosity, class) = (MPI_T_VERBOSITY_USER_BASIC, MPI_T_PVAR_CLASS_LEVEL);
    Variable { name, description, verbosity, class, category: Category::Objects, source }
}

pub static PVARS: [Variable; 33] = [
    level(
        "oxmpi_unexpected_messages",
        Category::Messages,
        Source::Process(|process| process.engine.unexpected() as u64),
        "Messages that have arrived and that no receive was posted for, as of the last call that looked for messages",
    ),
    level(
        "oxmpi_unexpected_messages_on_comm",
        Category::Messages,
        Source::OnComm(|process, comm| process.engine.unexpected_on(comm.context).count() as u64),
        "Those of oxmpi_unexpected_messages that the program sent on one communicator",
    ),
    level(
        "oxmpi_unexpected_messages_by_rank",
        Category::Messages,
        Source::ByRank(|process, comm| {
            let mut counts = vec![0; comm.group.len()];
            for source in process.engine.unexpected_on(comm.context) {
                if let Some(count) = counts.get_mut(source as usize) {
                    *count += 1;
                }
            }
            counts
        }),
        "Those of oxmpi_unexpected_messages_on_comm by the rank that they come from, in its remote group for an intercommunicator",
    ),
    level(
        "oxmpi_unexpected_memory",
        Category::Messages,
        Source::Process(|process| process.engine.stored() as u64),
        "Bytes of memory that messages take up until they are received",
    ),
    level(
        "oxmpi_posted_receives",
        Category::Messages,
        Source::Process(|process| process.engine.posted() as u64),
        "Receives that wait for a message",
    ),
    level(
        "oxmpi_posted_receives_on_comm",
        Category::Messages,
        Source::OnComm(|process, comm| process.engine.posted_on(comm.context) as u64),
        "Those of oxmpi_posted_receives that the program posted on one communicator",
    ),
    other(
        MPI_T_PVAR_CLASS_STATE,
        "oxmpi_single_copy",
        Category::Messages,
        Source::State(Enumeration::Switch, |library| {
            library.enter().is_some_and(|process| process.engine.may_copy()).into()
        }),
        "Whether the kernel copies bytes between the memories of two processes, as far as is known",
    ),
    level(
        "oxmpi_boards",
        Category::Collectives,
        Source::Process(|process| process.boards() as u64),
        "Communicators and persistent operations whose ranks share memory for collective operations",
    ),
    other(
        MPI_T_PVAR_CLASS_STATE,
        "oxmpi_board",
        Category::Collectives,
        Source::StateOfComm(Enumeration::Board, |comm| match comm.board {
            Board::Wanted(_) => 0,
            Board::Ready(_) | Board::Busy | Board::Queued => 1,
            Board::Refused => 2,
        }),
        "Whether the ranks of a communicator share memory for their collective operations",
    ),
    other(
        MPI_T_PVAR_CLASS_STATE,
        "oxmpi_call",
        Category::Waiting,
        Source::State(Enumeration::Call, |library| library.current_call().map_or(NO_CALL, |fun| fun as i32)),
        "The MPI function that the process is in, with several threads the one that was called or returned last; calls of the tool \
         information interface do not count",
    ),
    other(
        MPI_T_PVAR_CLASS_COUNTER,
        "oxmpi_sleeps",
        Category::Waiting,
        Source::Counter(|subject| subject.library.sleeps().times()),
        "How often a call that waits has gone to sleep",
    ),
    other(
        MPI_T_PVAR_CLASS_TIMER,
        "oxmpi_time_asleep",
        Category::Waiting,
        Source::Timer(|subject| subject.library.sleeps().nanoseconds()),
        "Seconds that calls have been asleep, those of all threads together",
    ),
    level(
        "oxmpi_awake_ranks",
        Category::Waiting,
        Source::Process(|process| process.engine.node().job().awake.load(Relaxed).max(0) as u64),
        "Processes of the job on this node that are not asleep in a call",
    ),
    other(
        MPI_T_PVAR_CLASS_SIZE,
        "oxmpi_cpus",
        Category::Waiting,
        Source::Process(|process| process.engine.node().job().cpus.load(Relaxed).into()),
        "CPUs that the job may use on this node",
    ),
    other(
        MPI_T_PVAR_CLASS_STATE,
        "oxmpi_oversubscribed",
        Category::Waiting,
        Source::State(Enumeration::Switch, |library| {
            library.enter().is_some_and(|process| wait::is_oversubscribed(process.engine.node().job())).into()
        }),
        "Whether more processes are awake than there are CPUs for them, so that a waiting rank yields its CPU",
    ),
    level(
        "oxmpi_shared_memory",
        Category::Memory,
        Source::Process(|process| process.engine.node().segment_memory()),
        "Bytes of memory that the processes of the job share on this node and that are in use",
    ),
    level(
        "oxmpi_shared_areas",
        Category::Memory,
        Source::Process(|process| process.engine.node().allocated() as u64),
        "Bytes of the areas for windows, MPI_Alloc_mem and collective operations that this process provides to the others",
    ),
    level(
        "oxmpi_network_connections",
        Category::Network,
        Source::Process(|process| process.engine.connections().0 as u64),
        "Connections to processes of other nodes",
    ),
    level(
        "oxmpi_network_retransmits",
        Category::Network,
        Source::Process(|process| process.engine.connections().1),
        "Packets of TCP that had to be sent again on those connections, because they were lost or late",
    ),
    level(
        "oxmpi_network_bytes_sent_by_rank",
        Category::Network,
        Source::ByRank(|process, comm| by_peer(process, comm, |(sent, _)| sent.bytes)),
        "Bytes that this process has sent over the network to each rank of a communicator, with the headers of packets",
    ),
    level(
        "oxmpi_network_bytes_received_by_rank",
        Category::Network,
        Source::ByRank(|process, comm| by_peer(process, comm, |(_, received)| received.bytes)),
        "Bytes that this process has received over the network from each rank of a communicator, with the headers of packets",
    ),
    level(
        "oxmpi_network_packets_sent_by_rank",
        Category::Network,
        Source::ByRank(|process, comm| by_peer(process, comm, |(sent, _)| sent.packets)),
        "Packets that this process has sent over the network to each rank of a communicator: a short message is one, a long \
         one is announced and follows in several",
    ),
    level(
        "oxmpi_network_packets_received_by_rank",
        Category::Network,
        Source::ByRank(|process, comm| by_peer(process, comm, |(_, received)| received.packets)),
        "Packets that this process has received over the network from each rank of a communicator",
    ),
    objects(
        "oxmpi_communicators",
        Source::Process(|process| process.comms.made.len() as u64),
        "Communicators except predefined ones",
    ),
    objects("oxmpi_groups", Source::Process(|process| process.groups.len() as u64), "Groups except the predefined one"),
    objects(
        "oxmpi_datatypes",
        Source::Process(|process| process.types.len() as u64),
        "Datatypes except predefined ones",
    ),
    objects(
        "oxmpi_operations",
        Source::Process(|process| process.operations.len() as u64),
        "Reduction operations except predefined ones",
    ),
    objects(
        "oxmpi_requests",
        // One of them is the common request of all sends that were complete at once.
        Source::Process(|process| process.requests.len() as u64 - 1),
        "Requests; sends that were complete when they began share one that is not counted",
    ),
    objects("oxmpi_windows", Source::Process(|process| process.windows.len() as u64), "Windows"),
    objects("oxmpi_files", Source::Process(|process| process.files.len() as u64), "Files"),
    objects("oxmpi_info_objects", Source::Anytime(|library| library.infos().len() as u64), "Info objects"),
    objects("oxmpi_sessions", Source::Anytime(|library| library.sessions().len() as u64), "Sessions"),
    other(
        MPI_T_PVAR_CLASS_COUNTER,
        "oxmpi_failed_calls",
        Category::Errors,
        Source::Counter(|subject| subject.errors.times()),
        "How often a call has failed, whether or not its error was handled",
    ),
];

/// A number for every rank of a communicator, from what has travelled to and from it.
fn by_peer(process: &Process, comm: &Comm, number: fn((Travelled, Travelled)) -> u64) -> Vec<u64> {
    comm.group.iter().map(|peer| number(process.engine.travelled(peer))).collect()
}

impl Variable {
    pub fn datatype(&self) -> Datatype {
        match self.source {
            Source::State(..) | Source::StateOfComm(..) => MPI_INT,
            Source::Timer(_) => MPI_DOUBLE,
            _ => MPI_UNSIGNED_LONG_LONG,
        }
    }

    pub fn enumeration(&self) -> Option<Enumeration> {
        match self.source {
            Source::State(names, _) | Source::StateOfComm(names, _) => Some(names),
            _ => None,
        }
    }

    pub fn bind(&self) -> i32 {
        match self.source {
            Source::OnComm(_) | Source::ByRank(_) | Source::StateOfComm(..) => MPI_T_BIND_MPI_COMM,
            _ => MPI_T_BIND_NO_OBJECT,
        }
    }

    /// Whether a tool can start, stop, write and reset it, also atomically.
    pub fn is_counted(&self) -> bool {
        matches!(self.source, Source::Counter(_) | Source::Timer(_))
    }
}

/// A handle of a variable in a session.
pub struct Pvar {
    session: TPvarSession,
    variable: &'static Variable,
    comm: CommHandle,
    count: Count,
}

/// The counter of one handle.
#[derive(Clone, Copy, Default)]
struct Count {
    total: u64,
    /// While it runs: the process's counter when the total was last updated.
    since: Option<u64>,
}

impl Pvar {
    /// The process's counter; `None` for a variable that is not counted.
    fn counted(&self, subject: &Subject) -> Option<u64> {
        match self.variable.source {
            Source::Counter(counted) | Source::Timer(counted) => Some(counted(subject)),
            _ => None,
        }
    }

    fn total(&self, subject: &Subject) -> u64 {
        match (self.count.since, self.counted(subject)) {
            (Some(since), Some(counted)) => self.count.total.wrapping_add(counted.wrapping_sub(since)),
            _ => self.count.total,
        }
    }

    fn set(&mut self, subject: &Subject, total: u64) {
        self.count = Count { total, since: self.count.since.and(self.counted(subject)) };
    }

    fn start(&mut self, subject: &Subject) {
        if self.count.since.is_none() {
            self.count.since = self.counted(subject);
        }
    }

    fn stop(&mut self, subject: &Subject) {
        self.count = Count { total: self.total(subject), since: None };
    }

    /// The value; an invalid handle once its communicator was freed.
    fn read(&self, subject: &Subject) -> Answer<Value> {
        let on_comm = |with: &dyn Fn(&Process, &Comm) -> Value| {
            let process = subject.library.enter().ok_or(INVALID_HANDLE)?;
            process.comm(self.comm).map(|comm| with(&process, comm)).map_err(|_| INVALID_HANDLE)
        };
        Ok(match self.variable.source {
            Source::Process(value) => Value::Number(subject.library.enter().map_or(0, |process| value(&process))),
            Source::Anytime(value) => Value::Number(value(subject.library)),
            Source::State(_, value) => Value::Int(value(subject.library)),
            Source::OnComm(value) => on_comm(&|process, comm| Value::Number(value(process, comm)))?,
            Source::ByRank(value) => on_comm(&|process, comm| Value::Numbers(value(process, comm)))?,
            Source::StateOfComm(_, value) => on_comm(&|_, comm| Value::Int(value(comm)))?,
            Source::Counter(_) => Value::Number(self.total(subject)),
            Source::Timer(_) => Value::Seconds(self.total(subject) as f64 * 1e-9),
        })
    }
}

impl State {
    pub fn add_session(&mut self) -> Answer<TPvarSession> {
        self.add(Object::Session, MPI_T_ERR_OUT_OF_SESSIONS).map(TPvarSession)
    }

    pub fn session(&self, session: TPvarSession) -> Answer {
        match self.objects.get(session.0) {
            Some(Object::Session) => Ok(()),
            _ => Err(Code(MPI_T_ERR_INVALID_SESSION)),
        }
    }

    /// Frees a session and its handles.
    pub fn free_session(&mut self, session: TPvarSession) -> Answer {
        self.session(session)?;
        let is_of_it = |object: &Object| matches!(object, Object::Pvar(pvar) if pvar.session == session);
        let handles: Vec<usize> = self.objects.iter().filter(|(_, o)| is_of_it(o)).map(|(handle, _)| handle).collect();
        for handle in handles {
            self.objects.remove(handle);
        }
        self.objects.remove(session.0);
        Ok(())
    }

    /// A handle of a variable, and the number of elements of its value. The communicator is
    /// significant if the variable is bound to one.
    pub fn add_pvar(
        &mut self,
        subject: &Subject,
        session: TPvarSession,
        variable: &'static Variable,
        comm: impl FnOnce() -> Answer<CommHandle>,
    ) -> Answer<(TPvarHandle, i32)> {
        self.session(session)?;
        let (mut bound, mut elements) = (MPI_COMM_NULL, 1);
        if variable.bind() == MPI_T_BIND_MPI_COMM {
            bound = comm()?;
            let process = subject.library.enter().ok_or(INVALID)?;
            let members = process.comm(bound).map_err(|_| INVALID)?.group.len();
            if let Source::ByRank(_) = variable.source {
                elements = members as i32;
            }
        }
        let pvar = Pvar { session, variable, comm: bound, count: Count::default() };
        let handle = self.add(Object::Pvar(pvar), MPI_T_ERR_OUT_OF_HANDLES)?;
        Ok((TPvarHandle(handle), elements))
    }

    fn pvar(&mut self, session: TPvarSession, handle: TPvarHandle) -> Answer<&mut Pvar> {
        self.session(session)?;
        match self.objects.get_mut(handle.0) {
            Some(Object::Pvar(pvar)) if pvar.session == session => Ok(pvar),
            _ => Err(INVALID_HANDLE),
        }
    }

    pub fn free_pvar(&mut self, session: TPvarSession, handle: TPvarHandle) -> Answer {
        self.pvar(session, handle)?;
        self.objects.remove(handle.0);
        Ok(())
    }

    /// Applies a function to a counted variable, or to all of a session. For one that is not
    /// counted, returns `not`; among all, such variables are skipped.
    fn with_counted(
        &mut self,
        session: TPvarSession,
        handle: TPvarHandle,
        not: i32,
        act: impl Fn(&mut Pvar),
    ) -> Answer {
        if handle != MPI_T_PVAR_ALL_HANDLES {
            let pvar = self.pvar(session, handle)?;
            if !pvar.variable.is_counted() {
                return Err(Code(not));
            }
            act(pvar);
            return Ok(());
        }
        self.session(session)?;
        for (_, object) in self.objects.iter_mut() {
            if let Object::Pvar(pvar) = object
                && pvar.session == session
                && pvar.variable.is_counted()
            {
                act(pvar);
            }
        }
        Ok(())
    }

    pub fn start_pvar(&mut self, subject: &Subject, session: TPvarSession, handle: TPvarHandle) -> Answer {
        self.with_counted(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, |pvar| pvar.start(subject))
    }

    pub fn stop_pvar(&mut self, subject: &Subject, session: TPvarSession, handle: TPvarHandle) -> Answer {
        self.with_counted(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, |pvar| pvar.stop(subject))
    }

    pub fn reset_pvar(&mut self, subject: &Subject, session: TPvarSession, handle: TPvarHandle) -> Answer {
        self.with_counted(session, handle, MPI_T_ERR_PVAR_NO_WRITE, |pvar| pvar.set(subject, 0))
    }

    pub fn read_pvar(&mut self, subject: &Subject, session: TPvarSession, handle: TPvarHandle) -> Answer<Value> {
        self.pvar(session, handle)?.read(subject)
    }

    /// Reads and resets a counted variable; `check` refuses before anything is changed.
    pub fn readreset_pvar(
        &mut self,
        subject: &Subject,
        session: TPvarSession,
        handle: TPvarHandle,
        check: impl FnOnce() -> Answer,
    ) -> Answer<Value> {
        let pvar = self.pvar(session, handle)?;
        if !pvar.variable.is_counted() {
            return Err(Code(MPI_T_ERR_PVAR_NO_ATOMIC));
        }
        check()?;
        // Stopped in between, so that no event is lost or counted twice.
        let running = pvar.count.since.is_some();
        pvar.stop(subject);
        let value = pvar.read(subject)?;
        pvar.count.total = 0;
        if running {
            pvar.start(subject);
        }
        Ok(value)
    }

    /// Sets a counted variable to the value from `given`, which gets its type.
    pub fn write_pvar(
        &mut self,
        subject: &Subject,
        session: TPvarSession,
        handle: TPvarHandle,
        given: impl FnOnce(Datatype) -> Answer<Value>,
    ) -> Answer {
        let pvar = self.pvar(session, handle)?;
        if !pvar.variable.is_counted() {
            return Err(Code(MPI_T_ERR_PVAR_NO_WRITE));
        }
        let total = match given(pvar.variable.datatype())? {
            Value::Seconds(seconds) if seconds >= 0.0 => (seconds * 1e9) as u64,
            Value::Number(number) => number,
            _ => return Err(INVALID),
        };
        pvar.set(subject, total);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_within_a_class_and_classes_fit_the_types() {
        let names: HashSet<_> = PVARS.iter().map(|variable| (variable.name, variable.class)).collect();
        assert_eq!(names.len(), PVARS.len());
        for variable in &PVARS {
            let is_state = variable.class == MPI_T_PVAR_CLASS_STATE;
            assert_eq!(is_state, variable.datatype() == MPI_INT, "{}", variable.name);
            assert_eq!(is_state, variable.enumeration().is_some(), "{}", variable.name);
            let counts = [MPI_T_PVAR_CLASS_COUNTER, MPI_T_PVAR_CLASS_TIMER].contains(&variable.class);
            assert_eq!(counts, variable.is_counted(), "{}", variable.name);
        }
    }
}
