//! Communicators between two groups, and communicators from groups without a parent.

use super::communicators::inter;
use crate::args::{Out, null_pointer};
use crate::call::{Call, Guard, On};
use crate::library::LIBRARY;
use oxmpi::comm::{self, hints};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Errhandler, Group as GroupHandle, Info as InfoHandle, Session};
use oxmpi_abi::{Result, bail};
use oxmpi_base::ids::{Peer, Rank};
use oxmpi_core::agreement::Participants;
use oxmpi_core::contexts::{self, Joined, MEETING};
use oxmpi_core::errhandler::Target;
use oxmpi_core::info::Info;
use oxmpi_core::{comm::Comm as Made, ranks::Ranks};
use std::ffi::c_int;

/// The messages between two leaders use the program's context, with tags of the library.
const BRIDGE_TAGS: i32 = (1 << 30) - 1;

pub fn intercomm_create(
    cx: &Call,
    local_comm: Comm,
    local_leader: c_int,
    peer_comm: Comm,
    remote_leader: c_int,
    tag: c_int,
) -> Result<Comm> {
    cx.note(local_comm);
    let mut guard = cx.enter()?;
    let found = guard.comm(local_comm)?;
    comm::check_intra(found)?;
    let group = found.group.clone();
    let leader = rank_in(&group, local_leader, "local_leader")?;
    if tag < 0 {
        bail!(MPI_ERR_TAG, "the tag is {tag}; it must not be negative");
    }
    let leads = found.rank == local_leader;
    let own = comm::own_peer(&guard);
    let bridge = leads.then(|| bridge(cx, &guard, own, peer_comm, remote_leader, tag)).transpose();
    let near = guard.comm_mut(local_comm)?.participants(own)?.led_by(leader);
    let Joined { context, far } = comm::join(cx, &mut guard, near, group.clone(), bridge)?;
    let handle = comm::add(&mut guard, local_comm, context, far.into(), Some(group))?;
    Ok(handle)
}

fn rank_in(group: &Ranks, rank: c_int, name: &str) -> Result<usize> {
    match usize::try_from(rank) {
        Ok(rank) if rank < group.len() => Ok(rank),
        _ => bail!(MPI_ERR_RANK, "{name} is {rank}, which does not exist in a group of {} processes", group.len()),
    }
}

/// The connection from a leader to the other one.
fn bridge(
    cx: &Call,
    guard: &Guard,
    own: Peer,
    peer_comm: Comm,
    remote_leader: c_int,
    tag: c_int,
) -> Result<Participants> {
    let peers = guard.comm(peer_comm)?;
    cx.raise_on(On::Comm(peer_comm));
    let other = peers.group.peer(Rank::new(rank_in(&peers.group, remote_leader, "remote_leader")?));
    if other == own {
        bail!(MPI_ERR_RANK, "remote_leader is {remote_leader}, which is this process itself");
    }
    Ok(Participants::between(own, other, peers.context, i32::MIN | (tag & BRIDGE_TAGS)))
}

pub fn intercomm_merge(cx: &Call, intercomm: Comm, high: c_int) -> Result<Comm> {
    let mut guard = cx.enter()?;
    let found = inter(&guard, intercomm)?;
    let (near, far) = (found.local_group().clone(), found.group.clone());
    let own = comm::own_peer(&guard);
    let participants = guard.comm_mut(intercomm)?.participants(own)?;
    let first_is_near = participants.members.peer(Rank::new(0)) == near.peer(Rank::new(0));
    let all = participants.members.clone();
    let (context, said) =
        comm::run_agreement(cx, &mut guard, |io| contexts::agree_and_gather(io, participants, u64::from(high != 0)))?;
    comm::checked::high(&guard, &said, if first_is_near { 0 } else { far.len() }, high != 0);
    let (first, second) = if first_is_near { (near, far) } else { (far, near) };
    // In the order that all know, unless the first group wants to be high and the second does not.
    let group = match (said[0] != 0, said[first.len()] != 0) {
        (true, false) => Ranks::from_list(second.iter().chain(first.iter()).collect()),
        _ => all,
    };
    comm::add(&mut guard, intercomm, context, group, None)
}

// ---- without a parent ----

/// For communicators from groups: the handler gets errors, and becomes the communicator's.
struct Start {
    errhandler: Errhandler,
    given: Info,
}

impl Start {
    /// An attached handler is detached when the communicator cannot be made.
    fn begin(cx: &Call, info: InfoHandle, errhandler: Errhandler) -> Result<Start> {
        LIBRARY.errhandlers().attach(errhandler, Target::Comm)?;
        cx.raise_on(On::Handler(errhandler, MPI_COMM_NULL.0));
        let mut start = Start { errhandler, given: Info::new() };
        start.given = LIBRARY.info(info)?;
        Ok(start)
    }

    fn end(
        mut self,
        guard: &mut Guard,
        session: Option<Session>,
        context: u32,
        rank: usize,
        group: Ranks,
        local: Option<Ranks>,
    ) -> Result<Comm> {
        let mut hints = Info::new();
        // Taken out, because the value forgotten below is never freed.
        hints::update(guard.library(), &mut hints, &std::mem::take(&mut self.given), session)?;
        let made = Made::new(context, rank as i32, group, local, self.errhandler);
        let handle = guard.add_comm(Made { session, from_group: true, hints, ..made })?;
        std::mem::forget(self);
        Ok(handle)
    }
}

impl Drop for Start {
    fn drop(&mut self) {
        LIBRARY.errhandlers().detach(self.errhandler);
    }
}

/// The string that distinguishes concurrent creations, as a tag and as part of a key.
fn string_tag(words: &[u8]) -> Result<i32> {
    if words.len() >= MPI_MAX_STRINGTAG_LEN as usize {
        bail!(
            MPI_ERR_ARG,
            "the string tag is {} characters long; with its end it may have {MPI_MAX_STRINGTAG_LEN} (MPI_MAX_STRINGTAG_LEN)",
            words.len()
        );
    }
    Ok((comm::mix(words.iter().map(|&byte| u64::from(byte))) >> 33) as i32)
}

pub fn comm_create_from_group(
    cx: &Call,
    group: GroupHandle,
    stringtag: Option<&[u8]>,
    info: InfoHandle,
    errhandler: Errhandler,
    newcomm: Out<Comm>,
) -> Result<()> {
    drop(cx.enter()?);
    let start = Start::begin(cx, info, errhandler)?;
    let mut guard = cx.enter()?;
    let found = guard.group(group)?.clone();
    newcomm.check("newcomm")?;
    let stringtag = stringtag.ok_or_else(|| null_pointer("stringtag"))?;
    let tag = string_tag(stringtag)?;
    let own = comm::own_peer(&guard);
    let handle = match found.rank_of(own) {
        None if found.is_empty() => MPI_COMM_NULL,
        None => bail!(MPI_ERR_GROUP, "this process is not in the group"),
        Some(rank) => {
            let key = comm::key_of(&guard, found.ranks(), stringtag);
            let participants = Participants { members: found.ranks().clone(), rank, context: MEETING, tag };
            let context = comm::run_agreement(cx, &mut guard, |io| contexts::agree(io, participants, key))?;
            start.end(&mut guard, found.session, context, rank, found.ranks().clone(), None)?
        }
    };
    newcomm.set(handle);
    Ok(())
}

pub fn intercomm_create_from_groups(
    cx: &Call,
    local_group: GroupHandle,
    local_leader: c_int,
    remote_group: GroupHandle,
    remote_leader: c_int,
    stringtag: Option<&[u8]>,
    info: InfoHandle,
    errhandler: Errhandler,
    newintercomm: Out<Comm>,
) -> Result<()> {
    drop(cx.enter()?);
    let start = Start::begin(cx, info, errhandler)?;
    let mut guard = cx.enter()?;
    let found = guard.group(local_group)?.clone();
    newintercomm.check("newintercomm")?;
    let tag = string_tag(stringtag.ok_or_else(|| null_pointer("stringtag"))?)?;
    let own = comm::own_peer(&guard);
    let Some(rank) = found.rank_of(own) else {
        bail!(MPI_ERR_GROUP, "this process is not in the local group");
    };
    let leader = rank_in(found.ranks(), local_leader, "local_leader")?;
    let way = || {
        let other = guard.group(remote_group)?;
        if !found.intersection(other).is_empty() {
            bail!(MPI_ERR_GROUP, "the two groups have a process in common");
        }
        let other = other.ranks().peer(Rank::new(rank_in(other.ranks(), remote_leader, "remote_leader")?));
        Ok(Participants::between(own, other, MEETING, tag))
    };
    let bridge = (rank == leader).then(way).transpose();
    let near = Participants { members: found.ranks().clone(), rank, context: MEETING, tag }.led_by(leader);
    let Joined { context, far } = comm::join(cx, &mut guard, near, found.ranks().clone(), bridge)?;
    let local = Some(found.ranks().clone());
    newintercomm.set(start.end(&mut guard, found.session, context, rank, far.into(), local)?);
    Ok(())
}
