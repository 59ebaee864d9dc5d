//! Jobs that go on when ranks die (`--with-ft`): a thread that waits for the ends of the ranks' processes and tells the other
//! ranks of them (`oxmpi_base::death_log`). It does nothing else, above all it never prints: the event loop, which says how
//! ranks end, may wait for a reader of its output. The event loop reaps these processes, later: nobody else gets the number
//! of a dead process while a rank may still act on it.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use oxmpi_base::death_log::{Death, End, Who};
use oxmpi_base::pid;
use oxmpi_base::segment::{RankBlock, STATE_ABSENT, STATE_FINALIZED, Segment};

use crate::start::{Rank, Ranks};
use crate::strays;
use crate::sys::{self, Pid};

/// Interval of looks for the MPI programs of ranks that `mpirun` started as something else, such as a shell.
const LOOK: Duration = Duration::from_millis(50);
/// A rank that has not heard of a death after this time may find the process's number in use again.
const UNHEARD: Duration = Duration::from_secs(10);

/// Starts the thread for a job on this machine: it tells the ranks. No rank has been reaped yet.
pub fn watch(ranks: &Ranks) -> io::Result<()> {
    let segment = Arc::clone(ranks.segment());
    start(ranks, move |deaths| segment.tell_of_deaths(&deaths))
}

/// Deaths on one of several hosts, for its agent: `mpirun` says in which order they count.
pub struct News {
    deaths: Receiver<Vec<Death>>,
    bell: UnixStream,
}

impl News {
    /// Starts the thread.
    pub fn of(ranks: &Ranks) -> io::Result<News> {
        let (bell, mut ringer) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        let (told, deaths) = mpsc::channel();
        start(ranks, move |some| {
            // An agent that has gone needs no news.
            let _ = told.send(some).map(|()| ringer.write_all(&[0]));
        })?;
        Ok(News { deaths, bell })
    }

    /// Readable when there are any.
    pub fn bell(&self) -> RawFd {
        self.bell.as_raw_fd()
    }

    /// Those since the last call.
    pub fn take(&mut self) -> Vec<Death> {
        while self.bell.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
        self.deaths.try_iter().flatten().collect()
    }
}

fn start(ranks: &Ranks, tell: impl FnMut(Vec<Death>) + Send + 'static) -> io::Result<()> {
    let follow = |(index, started): (usize, &Rank)| {
        let leader = started.pid;
        Ok(Follow { slot: ranks.slot(index), leader, end: sys::watch_process(leader)?, program: None })
    };
    let watched = ranks.list.iter().enumerate().map(follow).collect::<io::Result<Vec<_>>>()?;
    let segment = Arc::clone(ranks.segment());
    thread::Builder::new().name("deaths".into()).spawn(move || Watcher { segment, watched }.run(tell))?;
    Ok(())
}

struct Watcher {
    segment: Arc<Segment>,
    /// The ranks whose processes have not ended.
    watched: Vec<Follow>,
}

/// A rank whose end is waited for.
struct Follow {
    slot: usize,
    /// The process that `mpirun` started.
    leader: Pid,
    end: OwnedFd,
    /// Its MPI program, if that is another process.
    program: Option<OwnedFd>,
}

impl Watcher {
    fn run(mut self, mut tell: impl FnMut(Vec<Death>)) {
        while !self.watched.is_empty() {
            let looks = self.watched.iter_mut().fold(false, |looks, rank| rank.look(&self.segment) | looks);
            let waits = |rank: &Follow| sys::pollfd(rank.awaited().as_raw_fd(), sys::POLLIN);
            let mut fds: Vec<_> = self.watched.iter().map(waits).collect();
            if sys::poll(&mut fds, looks.then_some(LOOK)).is_err() {
                thread::sleep(LOOK);
                continue;
            }
            let mut deaths = Vec::new();
            let mut fds = fds.iter();
            self.watched.retain_mut(|rank| {
                let has_ended = fds.next().is_some_and(|fd| fd.revents != 0);
                let death = has_ended.then(|| rank.ended(&self.segment)).flatten();
                deaths.extend(death);
                death.is_none()
            });
            if !deaths.is_empty() {
                // All at once, so that nobody sees a part of those that died together.
                tell(deaths);
            }
        }
    }
}

impl Follow {
    /// The process whose end is awaited next.
    fn awaited(&self) -> &OwnedFd {
        self.program.as_ref().unwrap_or(&self.end)
    }

    /// Looks for the MPI program of the rank. Returns whether to look again.
    fn look(&mut self, segment: &Segment) -> bool {
        if self.program.is_some() {
            return false;
        }
        let Some(program) = pid::Pid::new(segment.rank(self.slot).pid.load(Relaxed)).map(pid::Pid::get) else {
            return true;
        };
        if program != self.leader && strays::belongs_here(program) {
            self.program = sys::watch_process(program).ok();
        }
        program != self.leader && self.program.is_none()
    }

    /// The awaited process has ended: how the rank has, unless another process counts.
    fn ended(&mut self, segment: &Segment) -> Option<Death> {
        let block = segment.rank(self.slot);
        // The program may have come and gone between two looks; one that lives is awaited now.
        self.look(segment);
        let is_program_alive =
            self.program.as_ref().is_some_and(|program| sys::ready(program.as_raw_fd(), sys::POLLIN) == 0);
        if is_program_alive {
            return None;
        }
        let status = if self.program.is_none() { pid::status_of_ended_child(self.leader).unwrap_or(0) } else { 0 };
        Some(Death { who: Who::Here(self.slot), end: end_of(block, status), status })
    }
}

fn end_of(block: &RankBlock, status: i32) -> End {
    match block.state.load(Acquire) {
        STATE_FINALIZED => End::Left,
        STATE_ABSENT if status == 0 => End::Left,
        _ => End::Failed,
    }
}

/// Processes of ranks that have ended and are not reaped.
#[derive(Default)]
pub struct Unreaped(Vec<Corpse>);

struct Corpse {
    pid: Pid,
    /// Of the rank, among those of this machine.
    index: usize,
    since: Instant,
}

impl Unreaped {
    pub fn add(&mut self, pid: Pid, index: usize) {
        self.0.push(Corpse { pid, index, since: Instant::now() });
    }

    pub fn has(&self, pid: Pid) -> bool {
        self.0.iter().any(|corpse| corpse.pid == pid)
    }

    pub fn deadline(&self) -> Option<Instant> {
        (!self.0.is_empty()).then(|| Instant::now() + LOOK)
    }

    /// Reaps those that all living ranks know to be dead; all, if no rank is left. Returns the ranks and processes.
    pub fn reap(&mut self, ranks: &Ranks, is_anybody_left: bool) -> Vec<(usize, Pid)> {
        let segment = ranks.segment();
        let have_all_seen = segment.have_all_seen(segment.deaths());
        // Also where nobody is left: processes of other jobs look at the log.
        let is_told = |corpse: &Corpse| segment.has_ended(ranks.slot(corpse.index));
        let may_go = |corpse: &mut Corpse| {
            is_told(corpse) && (!is_anybody_left || have_all_seen) || corpse.since.elapsed() > UNHEARD
        };
        let gone: Vec<Corpse> = self.0.extract_if(.., may_go).collect();
        let reap = |corpse: Corpse| {
            sys::reap(corpse.pid);
            (corpse.index, corpse.pid)
        };
        gone.into_iter().map(reap).collect()
    }
}

/// Whom an `MPI_Abort` of a rank ends, as that rank has written it down for itself and the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doom {
    /// It says nothing: an error without a handler ends all connected jobs.
    Nobody,
    Part,
    Job,
}
