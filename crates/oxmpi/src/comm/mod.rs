//! Making and freeing communicators.
//!
//! To make one: [`create`] when every process knows the members, [`split`] when they must find each
//! other, [`add`] when the context is agreed on. `contexts.rs` and `agreement.rs` of `oxmpi-core`
//! have the agreements.

pub mod checked;
pub mod hints;

use oxmpi_abi::constants::{MPI_COMM_NULL, MPI_COMM_WORLD, MPI_ERR_COMM, MPI_ERR_ROOT};
use oxmpi_abi::handle::Comm;
use oxmpi_abi::{Error, Result, bail};
use oxmpi_base::ids::{Peer, Rank};
use oxmpi_core::agreement::Participants;
use oxmpi_core::attributes::Object;
use oxmpi_core::call::{Call, Guard};
use oxmpi_core::check;
use oxmpi_core::comm::Comm as Made;
use oxmpi_core::contexts::{self, SplitArgs, SplitResult};
use oxmpi_core::process::Process;
use oxmpi_core::ranks::Ranks;
pub use oxmpi_core::wait::agreement::{run_agreement, run_agreement_watched};
use oxmpi_core::wait::waiting::Asking;
use std::time::{Duration, Instant};

/// This process, as agreements name it.
pub fn own_peer(guard: &Guard) -> Peer {
    guard.engine.node().own()
}

/// Adds a communicator that its members agreed on. It inherits the error handler and the session of
/// its parent.
pub fn add(guard: &mut Guard, parent: Comm, context: u32, group: Ranks, local: Option<Ranks>) -> Result<Comm> {
    let own = own_peer(guard);
    let Some(rank) = local.as_ref().unwrap_or(&group).position(own) else { unreachable!("made for its members") };
    let from = guard.comm(parent)?;
    let made = Made {
        session: from.session,
        from_group: from.from_group,
        ..Made::new(context, rank as i32, group, local, from.errhandler)
    };
    guard.library().errhandlers().share(made.errhandler);
    guard.add_comm(made)
}

/// Makes a communicator from some processes of another one, each of which passes the same group;
/// processes that pass none get `MPI_COMM_NULL`. Collective over the parent, but processes without
/// a group do not wait.
pub fn create(call: &Call, guard: &mut Guard, parent: Comm, group: Option<Ranks>) -> Result<Comm> {
    let found = guard.comm_mut(parent)?;
    found.check_whole()?;
    let (context, tag) = (found.inner_context(), found.collective_tag());
    match group {
        None => Ok(MPI_COMM_NULL),
        Some(group) => create_among(call, guard, parent, group, context, tag),
    }
}

/// As [`create`], only between the members, with a context and a tag that the caller chooses.
pub fn create_among(
    call: &Call,
    guard: &mut Guard,
    parent: Comm,
    group: Ranks,
    context: u32,
    tag: i32,
) -> Result<Comm> {
    if let Some(error) = guard.dead_among(context & !1, [&group]) {
        return Err(error);
    }
    let key = key_of(guard, &group, b"");
    let participants = Participants::new(group.clone(), own_peer(guard), context, tag);
    let context = run_agreement(call, guard, |io| contexts::agree(io, participants, key))?;
    add(guard, parent, context, group, None)
}

/// A hash of the members of a group and of some bytes, the same on every process.
pub fn key_of(guard: &Guard, group: &Ranks, words: &[u8]) -> u64 {
    let node = guard.engine.node();
    let processes = group.iter().flat_map(|process| node.id_of(process).words());
    mix(processes.chain(words.iter().map(|&byte| u64::from(byte))))
}

/// A hash of numbers.
pub fn mix(values: impl Iterator<Item = u64>) -> u64 {
    let step = |key: u64, value: u64| (key ^ value.wrapping_add(1)).wrapping_mul(0x0100_0000_01b3).rotate_left(29);
    values.fold(0xcbf2_9ce4_8422_2325, step)
}

/// Makes an intercommunicator from a communicator's group and another one that it
/// [joins](contexts::join). Only the leader has `bridge`: the connection to the other leader, or
/// why there is none, which the others are told.
pub fn join(
    call: &Call,
    guard: &mut Guard,
    near: Participants,
    group: Ranks,
    bridge: Result<Option<Participants>>,
) -> Result<contexts::Joined> {
    match bridge {
        Ok(bridge) => {
            guard.joining += 1;
            let joined = run_agreement(call, guard, |io| contexts::join(io, near, group, bridge));
            guard.joining -= 1;
            joined
        }
        Err(error) => {
            let class = error.class();
            run_agreement(call, guard, |io| contexts::refuse(io, near, class))?;
            Err(error)
        }
    }
}

/// `MPI_Comm_split`: `MPI_COMM_NULL` for a process without a color, or if the other group has no
/// process of that color.
pub fn split(call: &Call, guard: &mut Guard, parent: Comm, args: SplitArgs) -> Result<Comm> {
    let own = own_peer(guard);
    let found = guard.comm_mut(parent)?;
    let participants = found.participants(own)?;
    let is_near = found.local.as_ref().map(|local| {
        let (near, first) = (local.len(), local.peer(Rank::new(0)) == participants.members.peer(Rank::new(0)));
        (0..participants.len())
            .map(|rank| if first { rank < near } else { rank >= participants.len() - near })
            .collect()
    });
    let inter = found.is_inter();
    match run_agreement(call, guard, |io| contexts::split(io, participants, is_near, args))? {
        None => Ok(MPI_COMM_NULL),
        Some(SplitResult { context, near, far }) if inter => add(guard, parent, context, far.into(), Some(near.into())),
        Some(SplitResult { context, near, .. }) => add(guard, parent, context, near.into(), None),
    }
}

/// An error for intercommunicators.
pub fn check_intra(comm: &Made) -> Result<()> {
    if comm.is_inter() {
        bail!(MPI_ERR_COMM, "{} is an intercommunicator; this function needs an intracommunicator", comm.describe());
    }
    Ok(())
}

/// The root of a function that is only for intracommunicators.
pub fn root_of(comm: &Made, root: i32) -> Result<usize> {
    check_intra(comm)?;
    match usize::try_from(root) {
        Ok(root) if root < comm.group.len() => Ok(root),
        _ => bail!(MPI_ERR_ROOT, "root is {root}; it must be a rank of {}, 0 to {}", comm.describe(), comm.size() - 1),
    }
}

/// What differs between the calls of the ranks on `MPI_COMM_WORLD`, at the end. What they sent to each other while all of
/// them came here has arrived then, as far as a moment is enough.
pub fn compare_at_end(call: &Call) -> Result<Option<Error>> {
    if check::is_on() {
        // It has told what differs, and the program works.
        return Ok(None);
    }
    let mut guard = call.enter()?;
    if guard.comm(MPI_COMM_WORLD)?.calls.tag.is_some() {
        let end = Instant::now() + MOMENT;
        let is_over = |process: &mut Process| process.engine.has_delivered() || Instant::now() > end;
        call.wait(&mut guard, &Asking::new(MOMENT, |_| None), |process| is_over(process).then_some(()))?;
    }
    Ok(guard.compare_before_leaving(MPI_COMM_WORLD))
}

/// Longer than messages take between hosts that share a network.
const MOMENT: Duration = Duration::from_millis(10);

/// Parts from the processes of other jobs on a communicator that this process disconnects.
pub fn part(call: &Call, guard: &mut Guard, comm: Comm) -> Result<()> {
    let found = guard.comm(comm)?;
    let (context, everybody) = (found.context, found.everybody());
    if found.trouble.is_some() || !guard.knows_foreign(&everybody) {
        return Ok(());
    }
    // No process forgets the other job before all have received their messages.
    let own = own_peer(guard);
    let participants = guard.comm_mut(comm)?.participants(own)?;
    guard.prepare_to_leave(context);
    match run_agreement(call, guard, |io| async move { io.part(&participants).await }) {
        // In a job that goes on, nobody waits for a process that has failed.
        Err(error) if error.is_survivable() => Ok(()),
        parted => parted,
    }
}

/// Frees a communicator on this process: first its attributes, whose callbacks may still use it,
/// then the rest. If the collective calls of the ranks differed, `tell` passes the error to its
/// error handler before the communicator is freed; the call must return that error.
pub fn remove(call: &Call, comm: Comm, tell: impl FnOnce(Error) -> Error) -> Result<Option<Error>> {
    call.library().delete_attributes(Object::Comm(comm))?;
    // The handler may call MPI: the state is not held then.
    let mismatch = call.enter()?.compare_before_leaving(comm);
    let mismatch = mismatch.map(tell);
    let removed = call.enter()?.remove_comm(comm)?;
    call.library().errhandlers().detach(removed.errhandler);
    Ok(mismatch)
}
