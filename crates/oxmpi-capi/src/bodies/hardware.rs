//! The hardware of the machine, and communicators that follow it.

use crate::call::{Call, Guard};
use crate::library::LIBRARY;
use oxmpi::comm::{self, hints};
use oxmpi::hardware::{RESOURCES, Resource, node_number, on_node, own_cpus};
use oxmpi_abi::constants::*;
use oxmpi_abi::handle::{Comm, Info as InfoHandle};
use oxmpi_abi::{Result, bail};
use oxmpi_base::ids::{Peer, Rank};
use oxmpi_core::contexts::SplitArgs;
use oxmpi_core::info::Info;
use std::ffi::c_int;

const RESOURCE_KEY: &str = "mpi_hw_resource_type";
const PSET_KEY: &str = "mpi_pset_name";
const SHARED: &str = "mpi_shared_memory";

pub fn get_hw_resource_info(cx: &Call) -> Result<InfoHandle> {
    cx.enter()?;
    let cpus = own_cpus();
    let mut facts = Info::new();
    for (name, resource) in RESOURCES.iter().filter(|(_, resource)| resource.exists(&cpus)) {
        let confined = resource.instance(&cpus).is_some();
        facts.set(name.as_bytes(), if confined { b"true" } else { b"false" })?;
    }
    LIBRARY.add_info(facts)
}

pub fn comm_split_type(cx: &Call, comm: Comm, split_type: c_int, key: c_int, info: InfoHandle) -> Result<Comm> {
    cx.note_kind(comm, split_type);
    let mut guard = cx.enter()?;
    guard.comm(comm)?;
    let asked = LIBRARY.info(info)?;
    let node = node_number(cx, &mut guard, comm)?;
    let (color, resource) = match split_type {
        MPI_UNDEFINED => (None, None),
        MPI_COMM_TYPE_SHARED => (Some(on_node(node, 0)), None),
        MPI_COMM_TYPE_HW_GUIDED => (by_resource(node, asked.text(RESOURCE_KEY)), None),
        MPI_COMM_TYPE_RESOURCE_GUIDED => match (asked.text(RESOURCE_KEY), asked.text(PSET_KEY)) {
            (Some(_), Some(_)) => {
                bail!(MPI_ERR_INFO, "the info has both {RESOURCE_KEY} and {PSET_KEY}; one may be given")
            }
            (None, Some(name)) => (by_process_set(&guard, comm, name)?, None),
            (resource, None) => (by_resource(node, resource), None),
        },
        MPI_COMM_TYPE_HW_UNGUIDED => (None, Some(())),
        _ => bail!(
            MPI_ERR_ARG,
            "split_type is {split_type}; it must be MPI_COMM_TYPE_SHARED, MPI_COMM_TYPE_HW_GUIDED, \
             MPI_COMM_TYPE_HW_UNGUIDED, MPI_COMM_TYPE_RESOURCE_GUIDED or MPI_UNDEFINED"
        ),
    };
    // A process that passes MPI_UNDEFINED does not know the others' wish, so all exchange
    // positions.
    let found = by_what_divides(cx, &mut guard, comm, node)?;
    let (color, found) = match (resource, found) {
        (Some(()), Some((color, name))) => (Some(color), Some(name)),
        _ => (color, None),
    };
    let handle = comm::split(cx, &mut guard, comm, SplitArgs { color, key })?;
    if handle != MPI_COMM_NULL {
        let made = guard.comm_mut(handle)?;
        hints::update(cx.library(), &mut made.hints, &asked, made.session)?;
        if let (Some(name), true) = (found, info != MPI_INFO_NULL && info != MPI_INFO_ENV) {
            cx.library().change_info(info, |info| info.set(RESOURCE_KEY.as_bytes(), name.as_bytes()))?;
        }
    }
    Ok(handle)
}

/// The instance of a kind of resource that this process is confined to.
fn by_resource(node: u32, name: Option<&str>) -> Option<u32> {
    let instance = match name? {
        SHARED => 0,
        name => Resource::named(name)?.instance(&own_cpus())?,
    };
    Some(on_node(node, instance))
}

fn by_process_set(guard: &Guard, comm: Comm, name: &str) -> Result<Option<u32>> {
    if guard.comm(comm)?.session.is_none() {
        return Ok(None);
    }
    let own = comm::own_peer(guard);
    let members = guard.process_set(name.as_bytes()).ok().filter(|members| members.position(own).is_some());
    // Sets with the same name but different members, such as mpi://SELF or those of different jobs,
    // differ in their first member.
    let spans_jobs = guard.knows_foreign(&guard.comm(comm)?.everybody());
    let color = |first: Peer| match guard.engine.node().nodes().rank_of(first) {
        Some(rank) if !spans_jobs => rank.index() as u32,
        _ => (comm::mix(guard.engine.node().id_of(first).words().into_iter()) >> 33) as u32,
    };
    Ok(members.map(|members| color(members.peer(Rank::new(0)))))
}

/// The largest kind of resource that this process is confined to and that not all others share with
/// it: its instance as a color, and its name.
fn by_what_divides(cx: &Call, guard: &mut Guard, comm: Comm, node: u32) -> Result<Option<(u32, &'static str)>> {
    const NOWHERE: u64 = u64::MAX;
    let cpus = own_cpus();
    let here = |instance: u32| u64::from(on_node(node, instance));
    let place = RESOURCES.map(|(_, resource)| resource.instance(&cpus).map_or(NOWHERE, here));
    let own = comm::own_peer(guard);
    let participants = guard.comm_mut(comm)?.participants(own)?;
    let places = comm::run_agreement(cx, guard, |io| async move { io.gather(&participants, &place).await })?;
    for (level, (name, _)) in RESOURCES.iter().enumerate() {
        let mine = place[level];
        let shared_by_all = || places.chunks_exact(RESOURCES.len()).all(|place| place[level] == mine);
        if mine != NOWHERE && !shared_by_all() {
            return Ok(Some(((level as u32) << 28 | mine as u32, name)));
        }
    }
    Ok(None)
}
