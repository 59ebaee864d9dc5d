//! A rank runs a program: it performs the steps that concern it, and logs its results.
//!
//! A rank that gets an error stops there and leaves, like a program with a fatal error handler; an
//! expected error is logged, and the rank continues.

use super::perform_coll;
use super::program::{Make, Message, Program};
use super::resolve::{CommSpec, Task, View, chosen, part, resolve, side};
use super::strip::{Layout, Strip, UNTOUCHED, block};
use crate::world::{self, Rank};
use oxmpi::comm;
use oxmpi_abi::constants::*;
use oxmpi_abi::functions::Fun;
use oxmpi_abi::handle::{Comm, Datatype as Type, Op, Request};
use oxmpi_abi::{Error, Result};
use oxmpi_base::ids;
use oxmpi_core::agreement::Participants;
use oxmpi_core::comm::Comm as Made;
use oxmpi_core::contexts::{self, Joined, SplitArgs};
use oxmpi_core::engine::Mode;
use oxmpi_core::ranks::Ranks;
use oxmpi_core::request::{Active, Body};
use oxmpi_core::wait::waiting::Requests;
use oxmpi_datatype::{Datatype, Region, Source, Target};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a rank has seen of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    Numbers(Vec<i32>),
    /// The call fails on all ranks, with this class.
    Refused(i32),
}

/// What a rank has seen.
#[derive(Default, Debug)]
pub struct Log {
    /// By step.
    pub seen: BTreeMap<usize, Seen>,
    /// The step at which an error has stopped it, and the error.
    pub stopped: Option<(usize, Error)>,
    pub ended: bool,
}

/// The logs of all ranks; an error is a failure of the run itself.
pub fn run_program(name: &str, program: &Program) -> std::result::Result<Vec<Log>, String> {
    let logs: Vec<Mutex<Log>> = (0..program.ranks).map(|_| Mutex::default()).collect();
    let tasks = resolve(program);
    let dir = Dir::new(&tasks);
    world::run(name, &program.ground(), program.ranks, |rank| {
        let mut runner = match Runner::new(rank, &logs[rank.me], &dir.0) {
            Ok(runner) => runner,
            Err(error) => panic!("{error}"),
        };
        let result = runner.perform(&tasks);
        let mut log = logs[rank.me].lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(()) => log.ended = true,
            Err((step, error)) => {
                log.stopped = Some((step, error));
                // Operations under way may still use their memory until the rank has left.
                std::mem::forget(runner.pending);
            }
        }
    })?;
    Ok(logs.into_iter().map(|log| log.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
}

/// A directory for the files of a run, removed at its end; made only if there are any.
struct Dir(String);

impl Dir {
    fn new(tasks: &[Task]) -> Dir {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        // In memory: closing a file waits for the device.
        let memory = std::path::PathBuf::from("/dev/shm");
        let base = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let run = RUNS.fetch_add(1, Ordering::Relaxed);
        let path = format!("{}/random-programs-{}-{run}", base.display(), std::process::id());
        if tasks.iter().any(|task| matches!(task, Task::File { .. })) {
            std::fs::create_dir_all(&path).expect("a folder for a test");
        }
        Dir(path)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        // It may not exist.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An operation that was started.
pub(super) struct Pending {
    pub step: usize,
    /// The step before which it is waited for.
    pub due: usize,
    pub request: Request,
    /// Its memory; the last strip is the receive buffer.
    pub strips: Vec<Strip>,
    /// How many received numbers are compared; `None`: nothing is logged.
    pub compared: Option<usize>,
}

pub(super) struct Runner<'a> {
    pub rank: &'a Rank<'a>,
    log: &'a Mutex<Log>,
    /// Where its files are.
    pub dir: &'a str,
    comms: BTreeMap<usize, Comm>,
    pub pending: Vec<Pending>,
    types: [(Type, Arc<Datatype>); 4],
    pub user_sum: Op,
    pub compose: Op,
}

impl<'a> Runner<'a> {
    fn new(rank: &'a Rank<'a>, log: &'a Mutex<Log>, dir: &'a str) -> Result<Runner<'a>> {
        let call = rank.call(Fun::TypeCommit);
        let mut guard = call.enter()?;
        let int = Arc::clone(guard.datatype(MPI_INT)?);
        let gapped = Datatype::resized(&Datatype::vector(2, 1, 2, &int)?, 0, 16)?;
        let backward = Datatype::indexed(vec![1, 1], vec![1, 0], &int)?;
        let mut add = |made: Arc<Datatype>| {
            made.commit()?;
            Ok::<_, Error>((oxmpi::datatype::add(&mut guard, Arc::clone(&made))?, made))
        };
        let (pair, gapped) = (add(Datatype::contiguous(2, &int)?)?, add(gapped)?);
        let types = [(MPI_INT, int), pair, gapped, add(backward)?];
        let user_sum = perform_coll::operation(&mut guard, super::program::Op::UserSum);
        let compose = perform_coll::operation(&mut guard, super::program::Op::Compose);
        let comms = BTreeMap::from([(0, MPI_COMM_WORLD)]);
        Ok(Runner { rank, log, dir, comms, pending: Vec::new(), types, user_sum, compose })
    }

    fn perform(&mut self, tasks: &[Task]) -> std::result::Result<(), (usize, Error)> {
        for (step, task) in tasks.iter().enumerate() {
            self.complete(|pending| pending.due <= step)?;
            let Some(view) = task.comm().and_then(|comm| comm.view(self.rank.me)) else { continue };
            self.rank.set_place(|| format!("step {step}: {task:?}"));
            self.act(step, task, &view).map_err(|error| (step, error))?;
        }
        self.complete(|_| true)
    }

    fn act(&mut self, step: usize, task: &Task, view: &View) -> Result<()> {
        match task {
            Task::Nothing => Ok(()),
            Task::Message { comm, message, from, to, tag } => {
                let handle = self.comms[&comm.id];
                // Both sides, for a message to oneself. Messages go from the first group to the
                // second.
                if view.is_first || !view.is_inter {
                    let sends = view.me == *from;
                    self.start_message(step, handle, message, sends, (*from, *to, *tag), view)?;
                }
                if !view.is_first || !view.is_inter {
                    let receives = view.me == *to;
                    self.start_receive(step, handle, message, receives, (*from, *to, *tag))?;
                }
                Ok(())
            }
            Task::Collective { comm, collective } => self.collective(step, self.comms[&comm.id], collective, view),
            Task::Make { parent, how, made } => self.make(step, parent, how, made, view),
            Task::Window { comm, window, .. } => self.window(step, self.comms[&comm.id], window, view),
            Task::File { comm, file } => self.file(step, self.comms[&comm.id], file, view),
            Task::Free { comm } => {
                let Some(handle) = self.comms.remove(&comm.id) else { return Ok(()) };
                self.free(handle)
            }
        }
    }

    pub fn note(&self, step: usize, seen: Seen) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).seen.insert(step, seen);
    }

    pub fn datatype(&self, layout: Layout) -> Type {
        self.types[layout as usize].0
    }

    // ---- waiting ----

    /// Waits for operations that are due, and logs their results.
    fn complete(&mut self, is_due: impl Fn(&Pending) -> bool) -> std::result::Result<(), (usize, Error)> {
        while let Some(index) = self.pending.iter().position(&is_due) {
            let step = self.pending[index].step;
            self.rank.set_place(|| format!("it waits for what step {step} has started"));
            self.wait(self.pending[index].request).map_err(|error| (step, error))?;
            let Pending { strips, compared, .. } = self.pending.swap_remove(index);
            if let (Some(strip), Some(compared)) = (strips.last(), compared) {
                self.note_strip(step, strip, compared).map_err(|error| (step, error))?;
            }
        }
        Ok(())
    }

    pub fn note_strip(&self, step: usize, strip: &Strip, compared: usize) -> Result<()> {
        let mut numbers = strip.numbers().map_err(|why| Error::new(MPI_ERR_INTERN, why))?;
        numbers.truncate(compared);
        self.note(step, Seen::Numbers(numbers));
        Ok(())
    }

    /// Waits for a request as `MPI_Wait` does, and frees one that is not persistent.
    pub fn wait(&self, request: Request) -> Result<()> {
        let call = self.rank.call(Fun::Wait);
        let mut guard = call.enter()?;
        let requests = [request];
        let is_done = |process: &mut oxmpi_core::process::Process| process.is_request_done(request).unwrap_or(true);
        call.wait(&mut guard, &Requests(&requests), |process| is_done(process).then_some(()))?;
        let active = match guard.requests.get_mut(request.0).map(|request| &mut request.body) {
            Some(Body::Persistent(_, active)) => active.take(),
            Some(Body::Once(_)) => match guard.requests.remove(request.0).map(|request| request.body) {
                Some(Body::Once(active)) => Some(active),
                _ => None,
            },
            _ => None,
        };
        match active.and_then(|active| active.finish(&mut guard.engine).error) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    // ---- messages ----

    fn region(&self, strip: &mut Strip, units: usize) -> Region {
        let count = (units * strip.layout.elements()) as u64;
        Region::typed(strip.address().cast(), count, &self.types[strip.layout as usize].1)
    }

    fn start_message(
        &mut self,
        step: usize,
        comm: Comm,
        message: &Message,
        sends: bool,
        (from, to, tag): (usize, usize, i32),
        view: &View,
    ) -> Result<()> {
        if !sends {
            return Ok(());
        }
        let numbers = block(step, view.near[from], to, message.units);
        let mut strip = Strip::new(Layout::of(message.layouts, 0), &numbers);
        let region = self.region(&mut strip, message.units);
        let call = self.rank.call_on(Fun::Isend, comm);
        let mut guard = call.enter()?;
        let route = guard.route(guard.comm(comm)?, to as i32, tag)?;
        let mode = if message.synchronous { Mode::Synchronous } else { Mode::Standard };
        // SAFETY: the memory lives, unchanged, in `pending` until the send is complete, or for ever.
        let op = route.and_then(|route| guard.engine.send(mode, &route, unsafe { Source::new(region) }));
        let request = guard.send_request(comm, op);
        let due = step + 1 + message.later;
        self.pending.push(Pending { step, due, request, strips: vec![strip], compared: None });
        Ok(())
    }

    fn start_receive(
        &mut self,
        step: usize,
        comm: Comm,
        message: &Message,
        receives: bool,
        (from, _, tag): (usize, usize, i32),
    ) -> Result<()> {
        if !receives {
            return Ok(());
        }
        let untouched = vec![UNTOUCHED; 2 * message.units];
        let mut strip = Strip::new(Layout::of(message.layouts, 1), &untouched);
        let region = self.region(&mut strip, message.units);
        let call = self.rank.call_on(Fun::Irecv, comm);
        let mut guard = call.enter()?;
        let source = if message.any_source { MPI_ANY_SOURCE } else { from as i32 };
        let Some(pattern) = guard.pattern(guard.comm(comm)?, source, tag)? else { return Ok(()) };
        // SAFETY: the memory lives, and is not read, in `pending` until the receive is complete, or
        // for ever.
        let op = guard.engine.recv(pattern, unsafe { Target::new(region) });
        let request = guard.once(comm, Active::Recv(op));
        let (due, compared) = (step + 1 + message.later, Some(2 * message.units));
        self.pending.push(Pending { step, due, request, strips: vec![strip], compared });
        Ok(())
    }

    // ---- communicators ----

    fn make(&mut self, step: usize, parent: &CommSpec, how: &Make, made: &[CommSpec], view: &View) -> Result<()> {
        let handle = self.comms[&parent.id];
        let new = match how {
            Make::Dup => self.dup(handle)?,
            Make::Split { spread } => {
                let (color, key) = part(*spread, view.me);
                self.split(handle, SplitArgs { color, key })?
            }
            Make::Group { members } => self.create_group(step, handle, &chosen(*members, parent))?,
            Make::Inter { .. } if made.is_empty() => MPI_COMM_NULL,
            Make::Inter { spread } => self.join(step, handle, *spread, view)?,
        };
        let mine = made.iter().find_map(|spec| spec.view(self.rank.me).map(|view| (spec.id, view)));
        let mut numbers = vec![i32::from(new != MPI_COMM_NULL)];
        if new != MPI_COMM_NULL {
            let call = self.rank.call_on(Fun::CommRank, new);
            let guard = call.enter()?;
            let found = guard.comm(new)?;
            numbers.extend([found.rank, found.local_group().len() as i32, found.size()]);
            drop(guard);
            if let Some((id, _)) = mine {
                self.comms.insert(id, new);
            }
        }
        self.note(step, Seen::Numbers(numbers));
        Ok(())
    }

    fn dup(&self, comm: Comm) -> Result<Comm> {
        let call = self.rank.call_on(Fun::CommDup, comm);
        let mut guard = call.enter()?;
        let own = comm::own_peer(&guard);
        let participants = guard.comm_mut(comm)?.participants(own)?;
        let context = comm::run_agreement(&call, &mut guard, |line| contexts::agree(line, participants, 0))?;
        let found = guard.comm(comm)?;
        let made = Made::new(context, found.rank, found.group.clone(), found.local.clone(), found.errhandler);
        guard.add_comm(made)
    }

    fn split(&self, comm: Comm, args: SplitArgs) -> Result<Comm> {
        let call = self.rank.call_on(Fun::CommSplit, comm);
        let mut guard = call.enter()?;
        comm::split(&call, &mut guard, comm, args)
    }

    fn create_group(&self, step: usize, comm: Comm, members: &[usize]) -> Result<Comm> {
        if !members.contains(&self.rank.me) {
            return Ok(MPI_COMM_NULL);
        }
        let call = self.rank.call_on(Fun::CommCreateGroup, comm);
        let mut guard = call.enter()?;
        let world = guard.comm(MPI_COMM_WORLD)?.group.clone();
        let list = members.iter().map(|&rank| world.peer(ids::Rank::new(rank))).collect();
        let context = guard.comm(comm)?.inner_context();
        comm::create_among(&call, &mut guard, comm, Ranks::from_list(list), context, step as i32)
    }

    fn join(&self, step: usize, comm: Comm, spread: u32, view: &View) -> Result<Comm> {
        let of = |rank: usize| side(spread, view.near.len(), rank);
        let color = of(view.me);
        let near = self.split(comm, SplitArgs { color: Some(color as u32), key: 0 })?;
        let other = (0..view.near.len()).find(|&rank| of(rank) != color).unwrap_or(0);
        let call = self.rank.call_on(Fun::IntercommCreate, near);
        let mut guard = call.enter()?;
        let own = comm::own_peer(&guard);
        let (group, leads) = (guard.comm(near)?.group.clone(), guard.comm(near)?.rank == 0);
        let peers = guard.comm(comm)?;
        let leader = peers.group.peer(ids::Rank::new(other));
        let bridge = leads.then(|| Participants::between(own, leader, peers.context, i32::MIN | step as i32));
        let participants = guard.comm_mut(near)?.participants(own)?.led_by(0);
        let Joined { context, far } = comm::join(&call, &mut guard, participants, group.clone(), Ok(bridge))?;
        let made = comm::add(&mut guard, near, context, far.into(), Some(group))?;
        drop(guard);
        self.free(near)?;
        Ok(made)
    }

    fn free(&self, comm: Comm) -> Result<()> {
        match comm::remove(&self.rank.call_on(Fun::CommFree, comm), comm, |error| error)? {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
